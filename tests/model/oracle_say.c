/* oracle_say.c - what is said, and who pays for it; see oracle.h. */
#include "model/oracle_inside.h"

static void spend(struct oracle_totals *t, const struct oracle_message *m)
{
	t->input += m->input;
	t->output += m->output;
	if (m->cost_milli < 0)
		t->unpriced++;
	else
		t->cost_milli += m->cost_milli;
}

/* A subagent's parent pays for it, and the parent's parent. */
static void pay(struct oracle *o, int session, const struct oracle_message *m)
{
	struct oracle_session *s = &o->sessions[session];

	if (!m->has_usage)
		return;
	spend(&s->own, m);
	spend(&s->total, m);
	while (s->start.subagent && !s->purged) {
		s = &o->sessions[s->start.parent];
		spend(&s->total, m);
	}
}

bool oracle_starts_turn(const struct oracle_message *m)
{
	return m->role == 'u' && !m->results_only;
}

static void set_previews(struct oracle_session *s,
			 const struct oracle_message *m)
{
	if (!*m->text)
		return;
	if (m->role == 'a') {
		oracle_cut(s->last_agent, sizeof(s->last_agent), m->text, 160);
		s->last_agent_at = s->n;
	} else if (m->role == 'u') {
		if (s->first_user_at == 0) {
			oracle_cut(s->first_user, sizeof(s->first_user),
				   m->text, 256);
			s->first_user_at = s->n;
		}
		oracle_cut(s->last_user, sizeof(s->last_user), m->text, 160);
		s->last_user_at = s->n;
	}
}

void oracle_speak(struct oracle *o, int session, const struct oracle_message *m,
		  int64_t now)
{
	struct oracle_session *s = &o->sessions[session];

	oracle_add_event(s, 'M', now)->message = *m;
	s->content = s->n;
	s->messages++;
	s->turns += oracle_starts_turn(m);
	if (!m->background)
		s->interaction = now;
	set_previews(s, m);
	pay(o, session, m);
}

static bool same_message(const struct oracle_message *a,
			 const struct oracle_message *b)
{
	return a->role == b->role && a->results_only == b->results_only &&
	       a->background == b->background &&
	       strcmp(a->text, b->text) == 0 &&
	       strcmp(a->image, b->image) == 0 &&
	       strcmp(a->from, b->from) == 0 && a->has_usage == b->has_usage &&
	       (!a->has_usage ||
		(a->input == b->input && a->output == b->output &&
		 a->cost_milli == b->cost_milli));
}

/* Whether the operation id at events[at] stands for these very messages. */
static int same_request(const struct oracle_session *s, int at,
			const struct oracle_words *x)
{
	int n = s->events[at].more + 1;

	for (int i = 0; i < x->n && at + i < s->n; i++) {
		const struct oracle_event *e = &s->events[at + i];

		/* What it was is not known any more, only that it was. */
		if (e->type == 'G' || e->type == 0)
			return ORACLE_DELETED;
		if (e->type != 'M' || i >= n ||
		    !same_message(&e->message, &x->v[i]))
			return ORACLE_OP_MISMATCH;
	}
	return x->n == n ? ORACLE_OK : ORACLE_OP_MISMATCH;
}

int oracle_append(struct oracle *o, int session, const struct oracle_words *x,
		  int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s = oracle_session(o, session);
	int r;

	if (!s)
		return ORACLE_NOT_FOUND;
	/* The id with which the session was made is another matter, and so are
	 * those of its parents. */
	for (int i = s->base + 1; *x->op && i < s->n; i++) {
		if (strcmp(s->events[i].op, x->op) != 0)
			continue;
		*ret = (struct oracle_answer){ .session = session,
					       .first = i + 1,
					       .count = x->n,
					       .replayed = true };
		return same_request(s, i, x);
	}
	if (s->deleted)
		return ORACLE_DELETED;
	r = oracle_check_lease(s, x->token, now);
	if (r != ORACLE_OK)
		return r;
	if (x->expect >= 0 && x->expect != s->content)
		return ORACLE_STALE;
	*ret = (struct oracle_answer){ .session = session,
				       .first = s->n + 1,
				       .count = x->n };
	for (int i = 0; i < x->n; i++) {
		oracle_speak(o, session, &x->v[i], now);
		s->events[s->n - 1].more = x->n - 1 - i;
		if (i == 0)
			SET(s->events[s->n - 1].op, x->op);
	}
	return ORACLE_OK;
}

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
	while (s->start.subagent) {
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
	       strcmp(a->text, b->text) == 0 &&
	       strcmp(a->image, b->image) == 0 &&
	       a->has_usage == b->has_usage &&
	       (!a->has_usage ||
		(a->input == b->input && a->output == b->output &&
		 a->cost_milli == b->cost_milli));
}

/* Whether the operation id at events[at] stands for these very messages. */
static bool same_request(const struct oracle_session *s, int at,
			 const struct oracle_message *m, int n)
{
	if (s->events[at].type != 'M' || s->events[at].more != n - 1)
		return false;
	for (int i = 0; i < n; i++) {
		if (!same_message(&s->events[at + i].message, &m[i]))
			return false;
	}
	return true;
}

int oracle_append(struct oracle *o, int session, const struct oracle_message *m,
		  int n, const char *op, int expect, int64_t now,
		  struct oracle_answer *ret)
{
	struct oracle_session *s;

	if (session < 0 || session >= o->n)
		return ORACLE_NOT_FOUND;
	s = &o->sessions[session];
	/* The id with which the session was made is another matter, and so are
	 * those of its parents. */
	for (int i = s->base + 1; *op && i < s->n; i++) {
		if (strcmp(s->events[i].op, op) != 0)
			continue;
		if (!same_request(s, i, m, n))
			return ORACLE_OP_MISMATCH;
		*ret = (struct oracle_answer){ .session = session,
					       .first = i + 1,
					       .count = n,
					       .replayed = true };
		return ORACLE_OK;
	}
	if (s->deleted)
		return ORACLE_DELETED;
	if (expect >= 0 && expect != s->content)
		return ORACLE_STALE;
	*ret = (struct oracle_answer){ .session = session,
				       .first = s->n + 1,
				       .count = n };
	for (int i = 0; i < n; i++) {
		oracle_speak(o, session, &m[i], now);
		s->events[s->n - 1].more = n - 1 - i;
		if (i == 0)
			SET(s->events[s->n - 1].op, op);
	}
	return ORACLE_OK;
}

/* oracle_view.c - what a session shows: forks and windows; see oracle.h. */
#include "model/oracle_inside.h"

/* ---- forks ---- */

bool oracle_hidden(const struct oracle *o, int session, int number)
{
	const struct oracle_session *s = &o->sessions[session];

	while (!s->events[number - 1].hidden) {
		if (number > s->base)
			return false;
		s = &o->sessions[s->parent];
	}
	return true;
}

bool oracle_is_shown(const struct oracle *o, int session, int number)
{
	return o->sessions[session].events[number - 1].type == 'M' &&
	       !oracle_hidden(o, session, number);
}

/* The n-th message from the end of first..last that is shown; 0: there are
 * fewer. */
int oracle_from_end(const struct oracle *o, int session, int first, int last,
		    int n)
{
	for (int i = last; i >= first && i >= 1; i--) {
		if (oracle_is_shown(o, session, i) && --n == 0)
			return i;
	}
	return 0;
}

/* How many messages up to `at` a fork of `session` has: those up to the last one
 * that is there, and what was dropped for its space before that. */
static int count_up_to(const struct oracle *o, int session, int at)
{
	const struct oracle_session *s = &o->sessions[session];
	int n;

	while (at <= s->base) {
		session = s->parent;
		s = &o->sessions[session];
	}
	n = s->inherited;
	while (at > s->base && s->events[at - 1].type != 'M')
		at--;
	for (int i = s->base + 1; i <= at; i++)
		n += oracle_is_shown(o, session, i) ||
		     (s->events[i - 1].was_message &&
		      !oracle_hidden(o, session, i));
	return n;
}

static bool hides_up_to(const struct oracle_session *s, int at)
{
	for (int i = 0; i < at; i++) {
		if (s->events[i].hidden)
			return true;
	}
	return false;
}

void oracle_inherit(struct oracle_session *s, const struct oracle_session *from,
		    int at)
{
	struct oracle_event *own = s->events;

	s->events = calloc((size_t)at + (size_t)s->n, sizeof(*s->events));
	assert(s->events);
	memcpy(s->events, from->events, (size_t)at * sizeof(*s->events));
	for (int i = 0; i < at; i++)
		s->events[i].hidden = false;
	memcpy(s->events + at, own, (size_t)s->n * sizeof(*s->events));
	free(own);
	s->n += at;
	s->base = at;
	s->content = at;
}

static void begin_fork(struct oracle *o, int session, int at, int inherited,
		       const char *slug, const char *op, int64_t now,
		       struct oracle_answer *ret)
{
	struct oracle_start start = {
		.is_fork = true,
		.forked_from = session,
		.book = o->sessions[session].start.book,
	};
	struct oracle_session *s, *from;
	int parent = session;

	memcpy(start.settings, o->sessions[session].settings,
	       sizeof(start.settings));
	SET(start.settings[SETTING_SLUG], slug);
	SET(start.settings[SETTING_PINNED], "");
	SET(start.op, op);
	oracle_begin(o, &start, now, ret);
	s = &o->sessions[ret->session];
	from = &o->sessions[session];
	oracle_inherit(s, from, at);
	s->inherited = inherited;
	s->marker = s->events[at - 1].marker;
	s->events[at].marker = s->marker;
	/* Who adds nothing is no parent: it has said nothing, or nothing up to
	 * there, and hides nothing. */
	if (at <= from->base && !hides_up_to(from, at))
		parent = from->parent;
	while (at <= o->sessions[parent].base &&
	       o->sessions[parent].n == o->sessions[parent].base + 1)
		parent = o->sessions[parent].parent;
	s->parent = parent;
	ret->first = at + 1;
}

int oracle_fork(struct oracle *o, int session, int at, const char *slug,
		const char *op, int64_t now, struct oracle_answer *ret)
{
	int known = oracle_made_by(o, op), point, inherited;
	const struct oracle_session *s;

	if (known >= 0) {
		s = &o->sessions[known];
		if (!s->start.is_fork || s->start.forked_from != session ||
		    s->start.asked_at != at ||
		    strcmp(s->start.settings[SETTING_SLUG], slug) != 0)
			return ORACLE_OP_MISMATCH;
		*ret = (struct oracle_answer){ .session = known,
					       .first = s->base + 1,
					       .count = 1,
					       .replayed = true,
					       .created = true };
		return ORACLE_OK;
	}
	s = oracle_session(o, session);
	if (!s)
		return ORACLE_NOT_FOUND;
	if (at > s->n)
		return ORACLE_NOT_FOUND;
	/* What is gone for good is not there. */
	if (at && (s->events[at - 1].type == 'G' || !s->events[at - 1].type))
		return ORACLE_NOT_FOUND;
	point = oracle_from_end(o, session, 1, at ? at : s->n, 1);
	if (!point)
		return ORACLE_INVALID;
	inherited =
		at ? count_up_to(o, session, at) : s->inherited + s->messages;
	begin_fork(o, session, point, inherited, slug, op, now, ret);
	o->sessions[ret->session].start.asked_at = at;
	return ORACLE_OK;
}

/* ---- windows ---- */

/* The window that marker `number` says; 0: everything. */
static void window_at(const struct oracle_session *s, int number, int *first,
		      char summary[64])
{
	*first = number ? s->events[number - 1].first : 1;
	oracle_set_text(summary, 64,
			number ? s->events[number - 1].summary : "");
}

/* Whether there is nothing to see between two beginnings. */
static bool same_beginning(const struct oracle *o, int session, int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	return oracle_from_end(o, session, low, high - 1, 1) == 0;
}

int oracle_window(struct oracle *o, int session, const struct oracle_change *c,
		  int token, int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	struct oracle_event *e;
	char summary[64], was[64];
	int r = oracle_find_live(o, session, &s, ret), first, begins;

	if (r == ORACLE_OK)
		r = oracle_check_lease(s, token, now);
	if (r != ORACLE_OK)
		return r;
	window_at(s, s->marker, &first, was);
	SET(summary, was);
	begins = s->n + 1;
	if (c->how == 'U' && !s->marker)
		return ORACLE_INVALID;
	if (c->how == 'U')
		window_at(s, s->events[s->marker - 1].marker, &begins, summary);
	else if (c->how == 'E')
		summary[0] = '\0';
	else if (c->how == 'C')
		SET(summary, c->summary);
	if ((c->how == 'C' || c->how == 'T') && c->keep) {
		begins = oracle_from_end(o, session, first, s->n, c->keep);
		begins = begins ? begins : first;
	}
	if (c->how != 'U' && c->how != 'H' && strcmp(was, summary) == 0 &&
	    same_beginning(o, session, first, begins))
		return ORACLE_OK;
	e = oracle_add_event(s, 'K', now);
	e->first = begins;
	SET(e->summary, summary);
	e->more = c->n;
	s->marker = s->n;
	s->content = s->n;
	ret->first = s->n;
	ret->count = 1 + c->n;
	for (int i = 0; i < c->n; i++) {
		oracle_speak(o, session, &c->messages[i], now);
		o->sessions[session].events[o->sessions[session].n - 1].more =
			c->n - 1 - i;
	}
	return ORACLE_OK;
}

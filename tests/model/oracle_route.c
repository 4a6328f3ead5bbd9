/* oracle_route.c - conversations under a key: begun, begun anew, taken over from
 * an older name; see oracle.h. */
#include "model/oracle_inside.h"

static void add_alias(struct oracle_start *start, const char *name)
{
	assert(start->n_aliases < ORACLE_ALIASES);
	SET(start->aliases[start->n_aliases], name);
	start->n_aliases++;
}

/* The names a session holds, its key first; it loses them, a line for each. */
static void lose_names(struct oracle *o, int session, int64_t now,
		       struct oracle_start *heir)
{
	struct oracle_session *s = &o->sessions[session];
	char aliases[ORACLE_ALIASES][96];
	int n = oracle_aliases(o, session, aliases, ORACLE_ALIASES);

	heir->key[0] = '\0';
	heir->n_aliases = 0;
	if (*s->key && oracle_holder(o, s->key) == session) {
		SET(heir->key, s->key);
		oracle_find_name(o, s->key)->holder = -1;
		(void)oracle_add_event(s, 'N', now);
		s->key[0] = '\0';
	}
	for (int i = 0; i < n; i++) {
		add_alias(heir, aliases[i]);
		oracle_find_name(o, aliases[i])->holder = -1;
		(void)oracle_add_event(s, 'N', now);
	}
}

/* A new session under the names of this one. */
static void begin_anew(struct oracle *o, int session, int64_t now,
		       struct oracle_answer *ret)
{
	struct oracle_start start = { .parent = -1 };
	bool scoped = o->sessions[session].scoped;

	memcpy(start.settings, o->sessions[session].settings,
	       sizeof(start.settings));
	start.settings[SETTING_SLUG][0] = '\0';
	start.settings[SETTING_PINNED][0] = '\0';
	lose_names(o, session, now, &start);
	oracle_begin(o, &start, now, ret);
	o->sessions[ret->session].previous = session + 1;
	o->sessions[ret->session].scoped = scoped;
}

int oracle_reset(struct oracle *o, int session, int token, int64_t now,
		 struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);

	if (r == ORACLE_OK)
		r = oracle_check_lease(s, token, now);
	if (r != ORACLE_OK)
		return r;
	if (!*s->key || s->start.subagent || s->start.book)
		return ORACLE_CONFLICT;
	begin_anew(o, session, now, ret);
	return ORACLE_OK;
}

/* The conversation that exists only under an older name, or -1. */
static int find_older(const struct oracle *o, const struct oracle_route *x)
{
	for (int i = 0; i < x->n_aliases; i++) {
		int holder = oracle_holder(o, x->aliases[i]);
		const struct oracle_session *s;

		if (holder < 0)
			continue;
		s = &o->sessions[holder];
		if (strcmp(s->key, x->aliases[i]) != 0 || s->scoped ||
		    s->start.subagent || s->start.book || s->deleted)
			continue;
		if (s->messages || s->inherited || s->marker)
			return holder;
	}
	return -1;
}

static void add_free_aliases(const struct oracle *o,
			     const struct oracle_route *x,
			     struct oracle_start *start)
{
	for (int i = 0; i < x->n_aliases; i++) {
		bool known = strcmp(start->key, x->aliases[i]) == 0;

		for (int k = 0; k < start->n_aliases; k++)
			known |= strcmp(start->aliases[k], x->aliases[i]) == 0;
		if (known || oracle_holder(o, x->aliases[i]) >= 0)
			continue;
		add_alias(start, x->aliases[i]);
	}
}

/* The new session goes on behind all that the old one has, and has its names,
 * all as aliases. */
static void promote(struct oracle *o, int old, const struct oracle_route *x,
		    int64_t now, struct oracle_answer *ret)
{
	struct oracle_start start = { .parent = -1 }, names = { .parent = -1 };
	struct oracle_session *s = &o->sessions[old], *fresh;
	int at = s->n, inherited = s->inherited + s->messages;

	add_free_aliases(o, x, &names);
	memcpy(start.settings, s->settings, sizeof(start.settings));
	start.settings[SETTING_PINNED][0] = '\0';
	lose_names(o, old, now, &start);
	if (*start.key) {
		memmove(start.aliases[1], start.aliases[0],
			(size_t)start.n_aliases * sizeof(start.aliases[0]));
		SET(start.aliases[0], start.key);
		start.n_aliases++;
	}
	for (int i = 0; i < names.n_aliases; i++)
		add_alias(&start, names.aliases[i]);
	SET(start.key, x->key);
	start.is_fork = true;
	start.forked_from = old;
	oracle_begin(o, &start, now, ret);
	fresh = &o->sessions[ret->session];
	oracle_inherit(fresh, &o->sessions[old], at);
	fresh->inherited = inherited;
	fresh->parent = old;
	fresh->marker = o->sessions[old].marker;
	fresh->expires = o->sessions[old].expires;
	for (int i = at; i < fresh->n; i++)
		fresh->events[i].marker = fresh->marker;
	ret->first = at + 1;
}

int oracle_route(struct oracle *o, const struct oracle_route *x, int64_t now,
		 struct oracle_answer *ret)
{
	struct oracle_start start = { .parent = -1 };
	int holder = oracle_holder(o, x->key), older = find_older(o, x);

	*ret = (struct oracle_answer){ .session = holder };
	if (holder >= 0) {
		if (oracle_is_over(o, holder, now))
			begin_anew(o, holder, now, ret);
		return ORACLE_OK;
	}
	if (older >= 0) {
		promote(o, older, x, now, ret);
	} else {
		SET(start.key, x->key);
		add_free_aliases(o, x, &start);
		oracle_begin(o, &start, now, ret);
	}
	o->sessions[ret->session].scoped = true;
	return ORACLE_OK;
}

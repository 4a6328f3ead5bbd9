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
static void begin_anew(struct oracle *o, int session, const char *op,
		       int64_t now, struct oracle_answer *ret)
{
	struct oracle_start start = { .parent = -1 };
	bool scoped = o->sessions[session].scoped;

	memcpy(start.settings, o->sessions[session].settings,
	       sizeof(start.settings));
	start.settings[SETTING_SLUG][0] = '\0';
	start.settings[SETTING_PINNED][0] = '\0';
	lose_names(o, session, now, &start);
	SET(start.op, op);
	oracle_begin(o, &start, now, ret);
	o->sessions[ret->session].previous = session + 1;
	o->sessions[ret->session].scoped = scoped;
}

/* Who asks once more, by whatever name, gets the session that was made. */
static int replay_reset(const struct oracle *o, int session, int known,
			struct oracle_answer *ret)
{
	const struct oracle_session *made = &o->sessions[known];
	const char *key = o->sessions[session].key;

	if (!made->previous ||
	    (made->previous != session + 1 && known != session &&
	     (!*key || strcmp(key, made->start.key) != 0)))
		return ORACLE_OP_MISMATCH;
	*ret = (struct oracle_answer){ .session = known,
				       .replayed = true,
				       .created = true };
	return ORACLE_OK;
}

int oracle_reset(struct oracle *o, int session, int token, const char *op,
		 int64_t now, struct oracle_answer *ret)
{
	int known = oracle_made_by(o, op), r;
	struct oracle_session *s;

	if (known >= 0 && oracle_session(o, session))
		return replay_reset(o, session, known, ret);
	r = oracle_find_live(o, session, &s, ret);
	if (r == ORACLE_OK)
		r = oracle_check_lease(s, token, now);
	if (r != ORACLE_OK)
		return r;
	if (!*s->key || s->start.subagent || s->start.book)
		return ORACLE_CONFLICT;
	begin_anew(o, session, op, now, ret);
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

/* Whether the session says that it is this person's. */
static bool is_theirs(const struct oracle_session *s,
		      const struct oracle_route *x)
{
	const char *channel = s->settings[SETTING_CHANNEL];
	char full[400];

	(void)snprintf(full, sizeof(full), "%s:%s",
		       *channel ? channel : x->channel,
		       s->settings[SETTING_USER]);
	return strcasecmp(s->settings[SETTING_USER], x->user) == 0 ||
	       strcasecmp(full, x->user) == 0;
}

/* The free ones of the older names, each a line that belongs to the last. */
static void take_free_aliases(struct oracle *o, int session,
			      const struct oracle_route *x, int64_t now)
{
	struct oracle_session *s = &o->sessions[session];
	struct oracle_start names = { .parent = -1 };
	int last = s->n - 1;

	add_free_aliases(o, x, &names);
	for (int i = 0; i < names.n_aliases; i++) {
		oracle_take_name(o, session, names.aliases[i], false);
		(void)oracle_add_event(s, 'N', now);
	}
	for (int i = last; i < s->n; i++)
		s->events[i].more = s->n - 1 - i;
}

/* What a session does not say yet is written down when a message finds it; who
 * is not the user makes it one of several people.  One that was given this key
 * by hand is of this conversation from now on. */
static void complete(struct oracle *o, int session,
		     const struct oracle_route *x, int64_t now)
{
	struct oracle_session *s = &o->sessions[session];
	char *user = s->settings[SETTING_USER];
	char *channel = s->settings[SETTING_CHANNEL];
	const char *becomes = x->user;

	if (!s->scoped && strcmp(s->key, x->key) != 0)
		return;
	if (strcmp(user, "*") == 0 || (*user && !is_theirs(s, x)))
		becomes = "*";
	if (s->scoped && *channel && strcmp(user, becomes) == 0)
		return;
	SET(s->settings[SETTING_USER], becomes);
	if (!*channel)
		SET(s->settings[SETTING_CHANNEL], x->channel);
	(void)oracle_add_event(s, 'P', now);
	if (!s->scoped)
		take_free_aliases(o, session, x, now);
	s->scoped = true;
}

/* What is somebody's own is given to nobody else. */
static bool is_others(const struct oracle_session *s,
		      const struct oracle_route *x)
{
	return !s->scoped && *s->settings[SETTING_USER] && !is_theirs(s, x);
}

int oracle_route(struct oracle *o, const struct oracle_route *x, int64_t now,
		 struct oracle_answer *ret)
{
	struct oracle_start start = { .parent = -1 };
	int holder = oracle_holder(o, x->key), older = find_older(o, x);
	struct oracle_session *s;

	*ret = (struct oracle_answer){ .session = holder };
	if (holder >= 0 && is_others(&o->sessions[holder], x))
		return ORACLE_CONFLICT;
	if (holder >= 0 && !oracle_is_over(o, holder, now)) {
		complete(o, holder, x, now);
		return ORACLE_OK;
	}
	if (holder >= 0) {
		begin_anew(o, holder, "", now, ret);
	} else if (older >= 0) {
		if (is_others(&o->sessions[older], x))
			return ORACLE_CONFLICT;
		promote(o, older, x, now, ret);
	} else {
		SET(start.key, x->key);
		add_free_aliases(o, x, &start);
		oracle_begin(o, &start, now, ret);
	}
	s = &o->sessions[ret->session];
	s->scoped = true;
	SET(s->settings[SETTING_USER], x->user);
	SET(s->settings[SETTING_CHANNEL], x->channel);
	return ORACLE_OK;
}

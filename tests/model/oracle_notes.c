/* oracle_notes.c - leases, todos, memories; see oracle.h. */
#include "model/oracle_inside.h"

/* ---- leases ---- */

bool oracle_is_leased(const struct oracle_session *s, int64_t now)
{
	return s->lease_token && now < s->lease_until;
}

int oracle_check_lease(const struct oracle_session *s, int token, int64_t now)
{
	if (oracle_is_leased(s, now))
		return token == s->lease_token ? ORACLE_OK : ORACLE_LEASED;
	return token ? ORACLE_STALE : ORACLE_OK;
}

static bool is_holder(const struct oracle_session *s, const char *owner,
		      int token)
{
	return (!token || token == s->lease_token) &&
	       (!*owner || strcmp(owner, s->lease_owner) == 0);
}

int oracle_lease(struct oracle *o, int session, char how, const char *owner,
		 int token, int64_t ms, int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);
	bool held;

	if (r == ORACLE_NOT_FOUND || (r != ORACLE_OK && how != 'R'))
		return r;
	held = oracle_is_leased(s, now);
	if (how == 'N' && !held)
		return ORACLE_STALE;
	if (how == 'A' && held)
		return ORACLE_LEASED;
	if (held && (how == 'N' || how == 'R') && !is_holder(s, owner, token))
		return ORACLE_LEASED;
	if (how == 'R' && !held)
		return ORACLE_OK;
	(void)oracle_add_event(s, 'L', now);
	oracle_answer_event(s, ret);
	if (how == 'A' || how == 'T') {
		SET(s->lease_owner, owner);
		s->lease_token = s->n;
	}
	s->lease_until = now + ms;
	if (how == 'R') {
		s->lease_owner[0] = '\0';
		s->lease_token = 0;
		s->lease_until = 0;
	}
	return ORACLE_OK;
}

/* ---- todos ---- */

int oracle_set_todos(struct oracle *o, int session, const char *statuses,
		     int token, int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);

	if (r == ORACLE_OK)
		r = oracle_check_lease(s, token, now);
	if (r != ORACLE_OK || strcmp(s->todos, statuses) == 0)
		return r;
	SET(s->todos, statuses);
	SET(oracle_add_event(s, 'T', now)->note, statuses);
	oracle_answer_event(s, ret);
	return ORACLE_OK;
}

/* ---- memories ---- */

int oracle_book(struct oracle *o, const char *key, const char *project,
		int64_t now)
{
	struct oracle_start start = { .book = true, .parent = -1 };
	struct oracle_answer made;
	int known = oracle_holder(o, key);

	if (known >= 0)
		return known;
	SET(start.key, key);
	SET(start.settings[SETTING_PROJECT], project);
	oracle_begin(o, &start, now, &made);
	return made.session;
}

int oracle_remember(struct oracle *o, int session, const char *text,
		    int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);

	if (r != ORACLE_OK)
		return r;
	SET(oracle_add_event(s, 'm', now)->note, text);
	oracle_answer_event(s, ret);
	return ORACLE_OK;
}

int oracle_forget(struct oracle *o, int session, int number, int64_t now,
		  struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);

	/* With the session it is gone, too. */
	if (r == ORACLE_NOT_FOUND)
		return ORACLE_MEMORY_NOT_FOUND;
	if (r != ORACLE_OK)
		return r;
	if (s->events[number - 1].type != 'm' ||
	    s->events[number - 1].forgotten)
		return ORACLE_MEMORY_NOT_FOUND;
	s->events[number - 1].forgotten = now;
	oracle_add_event(s, 'f', now)->target = number;
	oracle_answer_event(s, ret);
	return ORACLE_OK;
}

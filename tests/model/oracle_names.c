/* oracle_names.c - whose name is what; see oracle.h. */
#include "model/oracle_inside.h"

struct oracle_name *oracle_find_name(struct oracle *o, const char *name)
{
	for (int i = 0; i < o->n_names; i++) {
		if (strcmp(o->names[i].name, name) == 0)
			return &o->names[i];
	}
	return NULL;
}

static struct oracle_name *make_name(struct oracle *o, const char *name)
{
	struct oracle_name *found = oracle_find_name(o, name);

	if (found)
		return found;
	found = &o->names[o->n_names++];
	assert(o->n_names <= 128);
	SET(found->name, name);
	found->holder = -1;
	return found;
}

void oracle_take_name(struct oracle *o, int session, const char *text,
		      bool is_key)
{
	struct oracle_name *name = make_name(o, text);

	name->holder = session;
	name->is_key = is_key;
}

int oracle_holder(const struct oracle *o, const char *name)
{
	for (int i = 0; i < o->n_names; i++) {
		if (strcmp(o->names[i].name, name) == 0)
			return o->names[i].holder;
	}
	return -1;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(a, b);
}

int oracle_aliases(const struct oracle *o, int session, char out[][96], int max)
{
	int n = 0;

	for (int i = 0; i < o->n_names; i++) {
		if (o->names[i].holder != session || o->names[i].is_key)
			continue;
		assert(n < max);
		oracle_set_text(out[n++], 96, o->names[i].name);
	}
	qsort(out, (size_t)n, 96, by_bytes);
	return n;
}

int oracle_find(const struct oracle *o, const char *name, int *ret)
{
	int found = oracle_holder(o, name), hits = 0;

	if (found >= 0) {
		*ret = found;
		return ORACLE_OK;
	}
	for (int i = 0; i < o->n; i++) {
		const struct oracle_session *s = &o->sessions[i];

		if (s->purged || s->deleted ||
		    strcmp(s->settings[SETTING_SLUG], name) != 0)
			continue;
		found = i;
		hits++;
	}
	if (hits > 1)
		return ORACLE_AMBIGUOUS;
	if (hits == 0)
		return ORACLE_NOT_FOUND;
	*ret = found;
	return ORACLE_OK;
}

static int let_go(struct oracle_session *s, int session,
		  struct oracle_name *name, int64_t now,
		  struct oracle_answer *ret)
{
	if (!name || name->holder != session)
		return ORACLE_NOT_FOUND;
	if (name->is_key)
		return ORACLE_CONFLICT;
	name->holder = -1;
	(void)oracle_add_event(s, 'N', now);
	oracle_answer_event(s, ret);
	return ORACLE_OK;
}

int oracle_rename(struct oracle *o, int session, char how, const char *text,
		  int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	struct oracle_name *name = oracle_find_name(o, text);
	int r = oracle_find_live(o, session, &s, ret);

	if (r != ORACLE_OK)
		return r;
	if (how == '-')
		return let_go(s, session, name, now, ret);
	if (name && name->holder == session)
		return ORACLE_OK;
	if (name && name->holder >= 0) {
		if (how != '>')
			return ORACLE_EXISTS;
		if (name->is_key)
			return ORACLE_CONFLICT;
		(void)oracle_add_event(&o->sessions[name->holder], 'N', now);
	}
	oracle_take_name(o, session, text, false);
	(void)oracle_add_event(s, 'N', now);
	oracle_answer_event(s, ret);
	return ORACLE_OK;
}

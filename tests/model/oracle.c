/* oracle.c - what Weft should answer; see oracle.h. */
#include "model/oracle_inside.h"

struct oracle *oracle_new(void)
{
	struct oracle *o = calloc(1, sizeof(*o));

	assert(o);
	return o;
}

void oracle_free(struct oracle *o)
{
	for (int i = 0; i < o->n; i++)
		free(o->sessions[i].events);
	free(o->sessions);
	free(o);
}

void oracle_set_text(char *to, size_t room, const char *text)
{
	int n = snprintf(to, room, "%s", text);

	assert(n >= 0 && (size_t)n < room);
}

struct oracle_event *oracle_add_event(struct oracle_session *s, char type,
				      int64_t now)
{
	struct oracle_event *e;

	s->events = realloc(s->events, (size_t)(s->n + 1) * sizeof(*s->events));
	assert(s->events);
	e = &s->events[s->n++];
	memset(e, 0, sizeof(*e));
	e->type = type;
	e->ts = now;
	e->marker = s->marker;
	s->updated = now;
	return e;
}

/* The beginning of `text`: so many characters, which are all of one code
 * point here. */
void oracle_cut(char *to, size_t room, const char *text, int characters)
{
	size_t i = 0;

	while (text[i]) {
		if (((unsigned char)text[i] & 0xc0) != 0x80 &&
		    characters-- == 0)
			break;
		i++;
	}
	assert(i < room);
	memcpy(to, text, i);
	to[i] = '\0';
}

struct oracle_session *oracle_session(const struct oracle *o, int session)
{
	if (session < 0 || session >= o->n || o->sessions[session].purged)
		return NULL;
	return &o->sessions[session];
}

/* ---- creating ---- */

/* The session that was made with this operation id, or -1. */
int oracle_made_by(const struct oracle *o, const char *op)
{
	for (int i = 0; *op && i < o->n; i++) {
		if (!o->sessions[i].purged &&
		    strcmp(o->sessions[i].start.op, op) == 0)
			return i;
	}
	return -1;
}

static bool same_start(const struct oracle_start *a,
		       const struct oracle_start *b)
{
	bool same = a->subagent == b->subagent && a->book == b->book &&
		    a->is_fork == b->is_fork && strcmp(a->key, b->key) == 0 &&
		    (!a->subagent || a->parent == b->parent) &&
		    a->n_aliases == b->n_aliases;

	for (int i = 0; i < a->n_aliases && same; i++)
		same = strcmp(a->aliases[i], b->aliases[i]) == 0;
	for (int i = 0; i < SETTINGS && same; i++)
		same = strcmp(a->settings[i], b->settings[i]) == 0;
	return same;
}

static int check_start(struct oracle *o, const struct oracle_start *start)
{
	if (start->subagent) {
		const struct oracle_session *s =
			oracle_session(o, start->parent);

		if (!s)
			return ORACLE_NOT_FOUND;
		if (s->deleted)
			return ORACLE_DELETED;
	}
	for (int i = 0; i < start->n_aliases; i++) {
		if (oracle_holder(o, start->aliases[i]) >= 0)
			return ORACLE_EXISTS;
	}
	return ORACLE_OK;
}

void oracle_begin(struct oracle *o, const struct oracle_start *start,
		  int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	int id = o->n++, first;

	o->sessions = realloc(o->sessions, (size_t)o->n * sizeof(*o->sessions));
	assert(o->sessions);
	s = &o->sessions[id];
	memset(s, 0, sizeof(*s));
	s->start = *start;
	SET(s->key, start->key);
	memcpy(s->settings, start->settings, sizeof(s->settings));
	s->created = now;
	s->interaction = now;
	oracle_set_text(oracle_add_event(s, 'S', now)->op, 40, start->op);
	if (*start->key)
		oracle_take_name(o, id, start->key, true);
	/* A name given twice, or the key again, is one name. */
	for (int i = 0; i < start->n_aliases; i++) {
		if (oracle_holder(o, start->aliases[i]) == id)
			continue;
		oracle_take_name(o, id, start->aliases[i], false);
		(void)oracle_add_event(s, 'N', now);
	}
	first = s->n - 1;
	for (int i = 0; i < s->n; i++)
		s->events[i].more = first - i;
	*ret = (struct oracle_answer){
		.session = id, .first = 1, .count = s->n, .created = true
	};
}

int oracle_create(struct oracle *o, const struct oracle_start *start,
		  int64_t now, struct oracle_answer *ret)
{
	int known = oracle_made_by(o, start->op), r;

	if (known >= 0) {
		if (o->sessions[known].previous ||
		    !same_start(&o->sessions[known].start, start))
			return ORACLE_OP_MISMATCH;
		*ret = (struct oracle_answer){ .session = known,
					       .first = 1,
					       .count = 1,
					       .replayed = true,
					       .created = true };
		return ORACLE_OK;
	}
	if (*start->key && oracle_holder(o, start->key) >= 0) {
		*ret = (struct oracle_answer){ .session = oracle_holder(
						       o, start->key) };
		return ORACLE_OK;
	}
	r = check_start(o, start);
	if (r == ORACLE_OK)
		oracle_begin(o, start, now, ret);
	return r;
}

/* ---- everything else ---- */

/* What every change of a session begins with; nothing has changed yet. */
int oracle_find_live(struct oracle *o, int session, struct oracle_session **ret,
		     struct oracle_answer *answer)
{
	*ret = oracle_session(o, session);
	if (!*ret)
		return ORACLE_NOT_FOUND;
	*answer = (struct oracle_answer){ .session = session };
	return (*ret)->deleted ? ORACLE_DELETED : ORACLE_OK;
}

void oracle_answer_event(const struct oracle_session *s,
			 struct oracle_answer *ret)
{
	ret->first = s->n;
	ret->count = 1;
}

int oracle_patch(struct oracle *o, int session, int setting, const char *value,
		 int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);

	if (r != ORACLE_OK || strcmp(s->settings[setting], value) == 0)
		return r;
	SET(s->settings[setting], value);
	(void)oracle_add_event(s, 'P', now);
	oracle_answer_event(s, ret);
	return ORACLE_OK;
}

void oracle_hide(struct oracle_session *s, int target, bool hidden, int64_t now)
{
	struct oracle_event *e = &s->events[target - 1];
	const char *shown;

	e->hidden = hidden;
	if (target > s->base) {
		s->messages += hidden ? -1 : 1;
		if (oracle_starts_turn(&e->message))
			s->turns += hidden ? -1 : 1;
	}
	shown = hidden ? "" : e->message.text;
	if (s->first_user_at == target)
		oracle_cut(s->first_user, sizeof(s->first_user), shown, 256);
	if (s->last_user_at == target)
		oracle_cut(s->last_user, sizeof(s->last_user), shown, 160);
	if (s->last_agent_at == target)
		oracle_cut(s->last_agent, sizeof(s->last_agent), shown, 160);
	(void)oracle_add_event(s, 'R', now);
	s->content = s->n;
}

int oracle_redact(struct oracle *o, int session, const int *targets, int n,
		  bool undo, int token, int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret), before;

	if (r == ORACLE_OK)
		r = oracle_check_lease(s, token, now);
	if (r != ORACLE_OK)
		return r;
	for (int i = 0; i < n; i++) {
		if (targets[i] < 1 || targets[i] > s->n)
			return ORACLE_NOT_FOUND;
		if (s->events[targets[i] - 1].type != 'M')
			return ORACLE_INVALID;
	}
	before = s->n;
	for (int i = 0; i < n; i++) {
		if (undo ? s->events[targets[i] - 1].hidden :
			   !oracle_hidden(o, session, targets[i]))
			oracle_hide(s, targets[i], !undo, now);
	}
	if (s->n > before) {
		ret->first = before + 1;
		ret->count = s->n - before;
	}
	for (int i = before; i < s->n; i++)
		s->events[i].more = s->n - 1 - i;
	return ORACLE_OK;
}

int oracle_delete(struct oracle *o, int session, int token, int64_t now,
		  struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);

	if (r != ORACLE_OK)
		return r == ORACLE_DELETED ? ORACLE_OK : r;
	r = oracle_check_lease(s, token, now);
	if (r != ORACLE_OK)
		return r;
	s->n_freed = 0;
	for (int i = 0; i < o->n_names; i++) {
		if (o->names[i].holder != session)
			continue;
		s->freed[s->n_freed++] = o->names[i];
		o->names[i].holder = -1;
	}
	s->deleted = now;
	(void)oracle_add_event(s, 'D', now);
	ret->first = s->n;
	return ORACLE_OK;
}

int oracle_restore(struct oracle *o, int session, int64_t now,
		   struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = oracle_find_live(o, session, &s, ret);

	if (r != ORACLE_DELETED)
		return r;
	s->deleted = 0;
	s->key[0] = '\0';
	for (int i = 0; i < s->n_freed; i++) {
		const struct oracle_name *name = &s->freed[i];

		if (oracle_holder(o, name->name) >= 0)
			continue;
		oracle_take_name(o, session, name->name, name->is_key);
		if (name->is_key)
			SET(s->key, name->name);
	}
	(void)oracle_add_event(s, 'U', now);
	ret->first = s->n;
	return ORACLE_OK;
}

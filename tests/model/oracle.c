/* oracle.c - what Weft should answer; see oracle.h. */
#include "model/oracle.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void set_text(char *to, size_t room, const char *text)
{
	int n = snprintf(to, room, "%s", text);

	assert(n >= 0 && (size_t)n < room);
}

#define SET(to, text) set_text((to), sizeof(to), (text))

static struct oracle_event *add_event(struct oracle_session *s, char type,
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
static void cut(char *to, size_t room, const char *text, int characters)
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

/* ---- names ---- */

static struct oracle_name *find_name(struct oracle *o, const char *name)
{
	for (int i = 0; i < o->n_names; i++) {
		if (strcmp(o->names[i].name, name) == 0)
			return &o->names[i];
	}
	return NULL;
}

static struct oracle_name *make_name(struct oracle *o, const char *name)
{
	struct oracle_name *found = find_name(o, name);

	if (found)
		return found;
	found = &o->names[o->n_names++];
	assert(o->n_names <= 64);
	SET(found->name, name);
	found->holder = -1;
	return found;
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

int oracle_aliases(const struct oracle *o, int session, char out[][64], int max)
{
	int n = 0;

	for (int i = 0; i < o->n_names; i++) {
		if (o->names[i].holder != session || o->names[i].is_key)
			continue;
		assert(n < max);
		set_text(out[n++], 64, o->names[i].name);
	}
	qsort(out, (size_t)n, 64, by_bytes);
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

		if (s->deleted || strcmp(s->settings[SETTING_SLUG], name) != 0)
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

/* ---- creating ---- */

/* The session that was made with this operation id, or -1. */
static int made_by(const struct oracle *o, const char *op)
{
	for (int i = 0; *op && i < o->n; i++) {
		if (strcmp(o->sessions[i].start.op, op) == 0)
			return i;
	}
	return -1;
}

static bool same_start(const struct oracle_start *a,
		       const struct oracle_start *b)
{
	return a->subagent == b->subagent && a->is_fork == b->is_fork &&
	       strcmp(a->key, b->key) == 0 &&
	       (!a->subagent || a->parent == b->parent);
}

static int check_start(struct oracle *o, const struct oracle_start *start)
{
	if (start->subagent) {
		if (start->parent < 0 || start->parent >= o->n)
			return ORACLE_NOT_FOUND;
		if (o->sessions[start->parent].deleted)
			return ORACLE_DELETED;
	}
	for (int i = 0; i < start->n_aliases; i++) {
		if (oracle_holder(o, start->aliases[i]) >= 0)
			return ORACLE_EXISTS;
	}
	return ORACLE_OK;
}

static void take(struct oracle *o, int session, const char *text, bool is_key)
{
	struct oracle_name *name = make_name(o, text);

	name->holder = session;
	name->is_key = is_key;
}

static void begin(struct oracle *o, const struct oracle_start *start,
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
	set_text(add_event(s, 'S', now)->op, 40, start->op);
	if (*start->key)
		take(o, id, start->key, true);
	/* A name given twice, or the key again, is one name. */
	for (int i = 0; i < start->n_aliases; i++) {
		if (oracle_holder(o, start->aliases[i]) == id)
			continue;
		take(o, id, start->aliases[i], false);
		(void)add_event(s, 'N', now);
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
	int known = made_by(o, start->op), r;

	if (known >= 0) {
		if (!same_start(&o->sessions[known].start, start))
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
		begin(o, start, now, ret);
	return r;
}

/* ---- saying ---- */

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

static bool starts_turn(const struct oracle_message *m)
{
	return m->role == 'u' && !m->results_only;
}

static void set_previews(struct oracle_session *s,
			 const struct oracle_message *m)
{
	if (!*m->text)
		return;
	if (m->role == 'a') {
		cut(s->last_agent, sizeof(s->last_agent), m->text, 160);
		s->last_agent_at = s->n;
	} else if (m->role == 'u') {
		if (s->first_user_at == 0) {
			cut(s->first_user, sizeof(s->first_user), m->text, 256);
			s->first_user_at = s->n;
		}
		cut(s->last_user, sizeof(s->last_user), m->text, 160);
		s->last_user_at = s->n;
	}
}

static void speak(struct oracle *o, int session, const struct oracle_message *m,
		  int64_t now)
{
	struct oracle_session *s = &o->sessions[session];

	add_event(s, 'M', now)->message = *m;
	s->content = s->n;
	s->messages++;
	s->turns += starts_turn(m);
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
		speak(o, session, &m[i], now);
		s->events[s->n - 1].more = n - 1 - i;
		if (i == 0)
			SET(s->events[s->n - 1].op, op);
	}
	return ORACLE_OK;
}

/* ---- everything else ---- */

/* What every change of a session begins with; nothing has changed yet. */
static int find_live(struct oracle *o, int session, struct oracle_session **ret,
		     struct oracle_answer *answer)
{
	if (session < 0 || session >= o->n)
		return ORACLE_NOT_FOUND;
	*ret = &o->sessions[session];
	*answer = (struct oracle_answer){ .session = session };
	return (*ret)->deleted ? ORACLE_DELETED : ORACLE_OK;
}

static void answer_event(const struct oracle_session *s,
			 struct oracle_answer *ret)
{
	ret->first = s->n;
	ret->count = 1;
}

int oracle_patch(struct oracle *o, int session, int setting, const char *value,
		 int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = find_live(o, session, &s, ret);

	if (r != ORACLE_OK || strcmp(s->settings[setting], value) == 0)
		return r;
	SET(s->settings[setting], value);
	(void)add_event(s, 'P', now);
	answer_event(s, ret);
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
	(void)add_event(s, 'N', now);
	answer_event(s, ret);
	return ORACLE_OK;
}

int oracle_rename(struct oracle *o, int session, char how, const char *text,
		  int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	struct oracle_name *name = find_name(o, text);
	int r = find_live(o, session, &s, ret);

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
		(void)add_event(&o->sessions[name->holder], 'N', now);
	}
	take(o, session, text, false);
	(void)add_event(s, 'N', now);
	answer_event(s, ret);
	return ORACLE_OK;
}

static void hide(struct oracle_session *s, int target, bool hidden, int64_t now)
{
	struct oracle_event *e = &s->events[target - 1];
	const char *shown;

	e->hidden = hidden;
	if (target > s->base) {
		s->messages += hidden ? -1 : 1;
		if (starts_turn(&e->message))
			s->turns += hidden ? -1 : 1;
	}
	shown = hidden ? "" : e->message.text;
	if (s->first_user_at == target)
		cut(s->first_user, sizeof(s->first_user), shown, 256);
	if (s->last_user_at == target)
		cut(s->last_user, sizeof(s->last_user), shown, 160);
	if (s->last_agent_at == target)
		cut(s->last_agent, sizeof(s->last_agent), shown, 160);
	(void)add_event(s, 'R', now);
	s->content = s->n;
}

int oracle_redact(struct oracle *o, int session, const int *targets, int n,
		  bool undo, int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = find_live(o, session, &s, ret), before;

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
			hide(s, targets[i], !undo, now);
	}
	if (s->n > before) {
		ret->first = before + 1;
		ret->count = s->n - before;
	}
	for (int i = before; i < s->n; i++)
		s->events[i].more = s->n - 1 - i;
	return ORACLE_OK;
}

int oracle_delete(struct oracle *o, int session, int64_t now,
		  struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = find_live(o, session, &s, ret);

	if (r != ORACLE_OK)
		return r == ORACLE_DELETED ? ORACLE_OK : r;
	s->n_freed = 0;
	for (int i = 0; i < o->n_names; i++) {
		if (o->names[i].holder != session)
			continue;
		s->freed[s->n_freed++] = o->names[i];
		o->names[i].holder = -1;
	}
	s->deleted = now;
	(void)add_event(s, 'D', now);
	ret->first = s->n;
	return ORACLE_OK;
}

int oracle_restore(struct oracle *o, int session, int64_t now,
		   struct oracle_answer *ret)
{
	struct oracle_session *s;
	int r = find_live(o, session, &s, ret);

	if (r != ORACLE_DELETED)
		return r;
	s->deleted = 0;
	s->key[0] = '\0';
	for (int i = 0; i < s->n_freed; i++) {
		const struct oracle_name *name = &s->freed[i];

		if (oracle_holder(o, name->name) >= 0)
			continue;
		take(o, session, name->name, name->is_key);
		if (name->is_key)
			SET(s->key, name->name);
	}
	(void)add_event(s, 'U', now);
	ret->first = s->n;
	return ORACLE_OK;
}

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

static bool is_shown(const struct oracle *o, int session, int number)
{
	return o->sessions[session].events[number - 1].type == 'M' &&
	       !oracle_hidden(o, session, number);
}

/* The n-th message from the end of first..last that is shown; 0: there are
 * fewer. */
static int from_end(const struct oracle *o, int session, int first, int last,
		    int n)
{
	for (int i = last; i >= first && i >= 1; i--) {
		if (is_shown(o, session, i) && --n == 0)
			return i;
	}
	return 0;
}

/* How many messages up to `at` a fork of `session` has. */
static int count_up_to(const struct oracle *o, int session, int at)
{
	const struct oracle_session *s = &o->sessions[session];
	int n;

	while (at <= s->base) {
		session = s->parent;
		s = &o->sessions[session];
	}
	n = s->inherited;
	for (int i = s->base + 1; i <= at; i++)
		n += is_shown(o, session, i);
	return n;
}

static void begin_fork(struct oracle *o, int session, int at, int inherited,
		       const char *slug, const char *op, int64_t now,
		       struct oracle_answer *ret)
{
	struct oracle_start start = { .is_fork = true, .forked_from = session };
	struct oracle_session *s, *from;
	struct oracle_event *header;
	int parent = session;

	memcpy(start.settings, o->sessions[session].settings,
	       sizeof(start.settings));
	SET(start.settings[SETTING_SLUG], slug);
	SET(start.settings[SETTING_PINNED], "");
	SET(start.op, op);
	begin(o, &start, now, ret);
	s = &o->sessions[ret->session];
	from = &o->sessions[session];
	header = s->events;
	s->events = calloc((size_t)at + 1, sizeof(*s->events));
	assert(s->events);
	memcpy(s->events, from->events, (size_t)at * sizeof(*s->events));
	for (int i = 0; i < at; i++)
		s->events[i].hidden = false;
	s->events[at] = *header;
	free(header);
	s->n = at + 1;
	s->base = at;
	s->content = at;
	s->inherited = inherited;
	s->marker = s->events[at - 1].marker;
	s->events[at].marker = s->marker;
	/* Who has added nothing is no parent. */
	while (at <= o->sessions[parent].base &&
	       o->sessions[parent].n == o->sessions[parent].base + 1)
		parent = o->sessions[parent].parent;
	s->parent = parent;
	ret->first = at + 1;
}

int oracle_fork(struct oracle *o, int session, int at, const char *slug,
		const char *op, int64_t now, struct oracle_answer *ret)
{
	int known = made_by(o, op), point, inherited;
	const struct oracle_session *s;

	if (known >= 0) {
		s = &o->sessions[known];
		if (!s->start.is_fork || s->start.forked_from != session ||
		    (at && at < s->base))
			return ORACLE_OP_MISMATCH;
		*ret = (struct oracle_answer){ .session = known,
					       .first = s->base + 1,
					       .count = 1,
					       .replayed = true,
					       .created = true };
		return ORACLE_OK;
	}
	if (session < 0 || session >= o->n)
		return ORACLE_NOT_FOUND;
	s = &o->sessions[session];
	if (at > s->n)
		return ORACLE_NOT_FOUND;
	point = from_end(o, session, 1, at ? at : s->n, 1);
	if (!point)
		return ORACLE_INVALID;
	inherited =
		at ? count_up_to(o, session, at) : s->inherited + s->messages;
	begin_fork(o, session, point, inherited, slug, op, now, ret);
	return ORACLE_OK;
}

/* ---- windows ---- */

/* The window that marker `number` says; 0: everything. */
static void window_at(const struct oracle_session *s, int number, int *first,
		      char summary[64])
{
	*first = number ? s->events[number - 1].first : 1;
	set_text(summary, 64, number ? s->events[number - 1].summary : "");
}

/* Whether there is nothing to see between two beginnings. */
static bool same_beginning(const struct oracle *o, int session, int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	return from_end(o, session, low, high - 1, 1) == 0;
}

int oracle_window(struct oracle *o, int session, const struct oracle_change *c,
		  int64_t now, struct oracle_answer *ret)
{
	struct oracle_session *s;
	struct oracle_event *e;
	char summary[64], was[64];
	int r = find_live(o, session, &s, ret), first, begins;

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
		begins = from_end(o, session, first, s->n, c->keep);
		begins = begins ? begins : first;
	}
	if (c->how != 'U' && c->how != 'H' && strcmp(was, summary) == 0 &&
	    same_beginning(o, session, first, begins))
		return ORACLE_OK;
	e = add_event(s, 'K', now);
	e->first = begins;
	SET(e->summary, summary);
	e->more = c->n;
	s->marker = s->n;
	s->content = s->n;
	ret->first = s->n;
	ret->count = 1 + c->n;
	for (int i = 0; i < c->n; i++) {
		speak(o, session, &c->messages[i], now);
		o->sessions[session].events[o->sessions[session].n - 1].more =
			c->n - 1 - i;
	}
	return ORACLE_OK;
}

/* ---- lists ---- */

/* Lower case, and without the accents that the tests use. */
static void fold(char *to, size_t room, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; text[i]; i++) {
		char c = text[i];

		if (strncmp(text + i, "\xc3\xa9", 2) == 0 ||
		    strncmp(text + i, "\xc3\x89", 2) == 0) {
			c = 'e';
			i++;
		} else if (c >= 'A' && c <= 'Z') {
			c = (char)(c - 'A' + 'a');
		}
		assert(n + 1 < room);
		to[n++] = c;
	}
	to[n] = '\0';
}

static bool contains(const char *text, const char *wanted)
{
	char a[1200], b[200];

	fold(a, sizeof(a), text);
	fold(b, sizeof(b), wanted);
	return strstr(a, b) != NULL;
}

static bool matches(const struct oracle_session *s,
		    const struct oracle_query *q)
{
	bool all_kinds = q->primary == q->subagent;

	if (s->deleted && !q->deleted)
		return false;
	if (!all_kinds && s->start.subagent != q->subagent)
		return false;
	if (q->parent >= 0 &&
	    !(s->start.subagent && s->start.parent == q->parent) &&
	    !(s->start.is_fork && s->parent == q->parent))
		return false;
	for (int i = SETTING_SLUG; i <= SETTING_USER; i++) {
		if (*q->exact[i] && strcmp(q->exact[i], s->settings[i]) != 0)
			return false;
	}
	return !*q->text || contains(s->settings[SETTING_SLUG], q->text) ||
	       contains(s->settings[SETTING_PROJECT], q->text) ||
	       contains(s->first_user, q->text);
}

/* Whether session `a` stands before `b`: newer, or made later. */
static bool is_before(const struct oracle *o, bool by_creation, int a, int b)
{
	const struct oracle_session *x = &o->sessions[a], *y = &o->sessions[b];
	int64_t at_x = by_creation ? x->created : x->interaction;
	int64_t at_y = by_creation ? y->created : y->interaction;

	return at_x != at_y ? at_x > at_y : a > b;
}

int oracle_list(const struct oracle *o, const struct oracle_query *q, int *out)
{
	int n = 0;

	for (int i = 0; i < o->n; i++) {
		int at;

		if (!matches(&o->sessions[i], q))
			continue;
		for (at = n++; at > 0; at--) {
			if (is_before(o, q->by_creation, out[at - 1], i))
				break;
			out[at] = out[at - 1];
		}
		out[at] = i;
	}
	return n;
}

/* looks.c - does the store say what the oracle says? */
#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "base/json.h"
#include "base/text.h"
#include "model/world.h"

/* ---- events ---- */

static const char *type_name(char type)
{
	switch (type) {
	case 'S':
		return "session";
	case 'M':
		return "message";
	case 'P':
		return "patch";
	case 'N':
		return "name";
	case 'R':
		return "redact";
	case 'D':
		return "delete";
	case 'K':
		return "marker";
	case 'T':
		return "todos";
	case 'L':
		return "lease";
	case 'm':
		return "memory";
	case 'f':
		return "forget";
	case 'C':
		return "usage";
	case 'Z':
		return "purge";
	case 'G':
		return "gone";
	default:
		return "restore";
	}
}

static void compare_message(struct world *w, const struct weft_event *e,
			    const struct oracle_message *m)
{
	CLEANUP(buf_done) struct buf b;
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	yyjson_val *root, *text, *image;
	const char *role;

	buf_init(&b, MIB(1));
	buf_add_c(&b, '{');
	buf_add(&b, e->body, e->body_len);
	buf_add_c(&b, '}');
	if (json_parse(buf_str(&b), NULL, &doc, &w->err) < 0) {
		world_wrong(w, "message %llu: %s", (unsigned long long)e->seq,
			    w->err.message);
		return;
	}
	root = yyjson_doc_get_root(doc);
	role = yyjson_get_str(yyjson_obj_get(root, "role"));
	text = yyjson_obj_get(
		yyjson_arr_get_first(yyjson_obj_get(root, "parts")), "text");
	if (!role || role[0] != m->role)
		world_wrong(w, "message %llu: role %s",
			    (unsigned long long)e->seq, role ? role : "none");
	if (strcmp(*m->text ? m->text : "", text ? yyjson_get_str(text) : "") !=
	    0)
		world_wrong(w, "message %llu: another text",
			    (unsigned long long)e->seq);
	image = yyjson_obj_get(yyjson_arr_get(yyjson_obj_get(root, "parts"), 1),
			       "image_base64");
	if (strcmp(m->image, image ? yyjson_get_str(image) : "") != 0)
		world_wrong(w, "message %llu: another image",
			    (unsigned long long)e->seq);
}

static void compare_event(struct world *w, int session, int number,
			  const struct weft_event *e)
{
	const struct oracle_event *o =
		&w->oracle->sessions[session].events[number - 1];

	int last = o->type == 'G' ? o->to : number;

	if (e->seq != (uint64_t)number || e->last != (uint64_t)last) {
		world_wrong(w,
			    "session %d: event %llu to %llu, expected %d to %d",
			    session, (unsigned long long)e->seq,
			    (unsigned long long)e->last, number, last);
		return;
	}
	if (strcmp(e->type, type_name(o->type)) != 0)
		world_wrong(w, "session %d, event %d: %s, expected %s", session,
			    number, e->type, type_name(o->type));
	if (strcmp(e->state, o->type == 'G' ? "gone" : "ok") != 0)
		world_wrong(w, "session %d, event %d: %s", session, number,
			    e->state);
	if (e->ts_ms != o->ts || e->at_ms != o->ts)
		world_wrong(w, "session %d, event %d: another time", session,
			    number);
	if (e->redacted != oracle_hidden(w->oracle, session, number) ||
	    e->background != o->message.background)
		world_wrong(w,
			    "session %d, event %d: redacted %u background "
			    "%u",
			    session, number, e->redacted, e->background);
	if (o->type == 'M')
		compare_message(w, e, &o->message);
}

/* The numbers that a range should give, in their order. */
static int expected_numbers(const struct world *w, int session,
			    const struct weft_read_options *o, int *out)
{
	const struct oracle_session *s = &w->oracle->sessions[session];
	int n = 0;

	for (int i = 1; i <= s->n; i++) {
		const struct oracle_event *e = &s->events[i - 1];

		int end = e->type == 'G' ? e->to : i;

		if (!e->type || (uint64_t)end < o->first ||
		    (uint64_t)i > o->last)
			continue;
		/* What it was that is gone is not known to all. */
		if ((o->flags & WEFT_READ_MESSAGES) && e->type != 'M' &&
		    e->type != 'G')
			continue;
		if (!(o->flags & WEFT_READ_REDACTED) &&
		    oracle_hidden(w->oracle, session, i))
			continue;
		out[n++] = i;
	}
	for (int i = 0; (o->flags & WEFT_READ_BACKWARDS) && i < n / 2; i++) {
		int swap = out[i];

		out[i] = out[n - 1 - i];
		out[n - 1 - i] = swap;
	}
	return n;
}

/* Read page after page and compare; `options` is used up. */
static void read_and_compare(struct world *w, int session,
			     struct weft_read_options *o)
{
	const struct oracle_session *s = &w->oracle->sessions[session];
	int *expected = ARENA_ARRAY(&w->arena, int, (size_t)s->n + 1);
	int n = expected_numbers(w, session, o, expected), at = 0, done = 0;
	char text[WEFT_ID_CHARS + 1];

	id_format(&w->ids[session], text);
	while (!done && !w->why[0]) {
		struct weft_page *page;
		struct weft_event e;
		size_t count;

		if (weft_read(w->store, text, WEFT_ID_CHARS, o, &page,
			      &w->err) < 0) {
			world_wrong(w, "read: %s", w->err.message);
			return;
		}
		done = weft_page_done(page);
		count = weft_page_count(page);
		if (count == 0 && !done)
			world_wrong(w, "read: an empty page is not the last");
		if (o->max > 0 && count > o->max)
			world_wrong(w, "read: more than was asked for");
		for (size_t i = 0; i < count && !w->why[0]; i++) {
			(void)weft_page_event(page, i, &e);
			if (at >= n)
				world_wrong(w, "read: %llu is too much",
					    (unsigned long long)e.seq);
			else
				compare_event(w, session, expected[at++], &e);
			if (o->flags & WEFT_READ_BACKWARDS)
				o->last = e.seq - 1;
			else
				o->first = e.last + 1;
		}
		weft_page_free(page);
	}
	if (at < n && !w->why[0])
		world_wrong(w, "read: session %d ends before %d", session,
			    expected[at]);
}

void look_read(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]);
	struct weft_read_options o;
	uint32_t end;

	if (!oracle_session(w->oracle, session))
		return;
	weft_read_options_init(&o, sizeof(o));
	o.flags = r[1] % 8;
	end = (uint32_t)w->oracle->sessions[session].n;
	if (r[2] % 2)
		o.first = r[2] / 2 % (end + 2);
	if (r[3] % 2)
		o.last = o.first + r[3] / 2 % (end + 2);
	o.max = r[4] % 3 ? 0 : r[4] / 3 % 5 + 1;
	world_say(w, "read %d from %llu to %llu flags %u max %u", session,
		  (unsigned long long)o.first, (unsigned long long)o.last,
		  o.flags, o.max);
	read_and_compare(w, session, &o);
}

/* ---- records ---- */

static void same_number(struct world *w, int session, const char *what,
			int64_t is, int64_t expected)
{
	if (is != expected)
		world_wrong(w, "session %d: %s is %lld, expected %lld", session,
			    what, (long long)is, (long long)expected);
}

static void same_text(struct world *w, int session, const char *what,
		      struct weft_str is, const char *expected)
{
	if (!str_eq(is, str_of(expected)))
		world_wrong(w, "session %d: %s is '%.*s', expected '%s'",
			    session, what, STR_ARG(is), expected);
}

static void same_totals(struct world *w, int session, const char *what,
			const struct totals *is, const struct oracle_totals *o)
{
	same_number(w, session, what, (int64_t)is->input_tokens, o->input);
	same_number(w, session, what, (int64_t)is->output_tokens, o->output);
	same_number(w, session, what, (int64_t)is->cost_nano,
		    (int64_t)o->cost_milli * 1000000);
	same_number(w, session, what, (int64_t)is->unpriced, o->unpriced);
}

static void compare_settings(struct world *w, int n,
			     const struct session_rec *rec)
{
	const struct oracle_session *s = &w->oracle->sessions[n];

	same_text(w, n, "slug", rec->slug, s->settings[SETTING_SLUG]);
	same_text(w, n, "agent", rec->agent, s->settings[SETTING_AGENT]);
	same_text(w, n, "project_dir", rec->project_dir,
		  s->settings[SETTING_PROJECT]);
	same_text(w, n, "channel", rec->channel, s->settings[SETTING_CHANNEL]);
	same_text(w, n, "user", rec->user, s->settings[SETTING_USER]);
	same_text(w, n, "metadata", rec->metadata,
		  s->settings[SETTING_METADATA]);
	same_number(w, n, "pinned", (int64_t)rec->pinned,
		    *s->settings[SETTING_PINNED] ? 1 : 0);
	same_number(w, n, "expires_at", rec->expires_at, s->expires);
}

/* Where the window begins, and with which summary. */
static void compare_window(struct world *w, int n,
			   const struct session_rec *rec)
{
	const struct oracle_session *s = &w->oracle->sessions[n];
	const struct oracle_event *e =
		s->marker ? &s->events[s->marker - 1] : NULL;
	struct window found;

	if (engine_window(w->engine, rec, &w->arena, &found, &w->err) < 0) {
		world_wrong(w, "window of %d: %s", n, w->err.message);
		return;
	}
	same_number(w, n, "marker", (int64_t)found.marker, s->marker);
	same_number(w, n, "first_kept", (int64_t)found.first_kept,
		    e ? e->first : 1);
	same_text(w, n, "summary", found.summary, e ? e->summary : "");
}

static void compare_record(struct world *w, int n)
{
	const struct oracle_session *s = &w->oracle->sessions[n];
	struct weft_id parent = { { 0 } }, previous = { { 0 } };
	struct session_rec rec;

	if (s->previous)
		previous = world_id(w, s->previous - 1);
	if (engine_session(w->engine, &w->ids[n], &w->arena, &rec, &w->err) <
	    0) {
		world_wrong(w, "session %d: %s", n, w->err.message);
		return;
	}
	if (s->start.subagent)
		parent = world_id(w, s->start.parent);
	if (s->start.is_fork)
		parent = world_id(w, s->parent);
	if (!id_eq(&rec.id, &w->ids[n]) || !id_eq(&rec.parent, &parent))
		world_wrong(w, "session %d: another id or parent", n);
	if (!id_eq(&rec.previous, &previous))
		world_wrong(w, "session %d: another before it than %d", n,
			    s->previous - 1);
	same_text(w, n, "key", rec.key, s->key);
	same_text(w, n, "op", rec.op, s->start.op);
	compare_settings(w, n, &rec);
	same_number(w, n, "kind", (int64_t)rec.kind,
		    s->start.book     ? KIND_BOOK :
		    s->start.subagent ? KIND_SUBAGENT :
					KIND_PRIMARY);
	same_number(w, n, "head_seq", (int64_t)rec.head_seq, s->n);
	same_number(w, n, "content_seq", (int64_t)rec.content_seq, s->content);
	same_number(w, n, "message_count", (int64_t)rec.message_count,
		    s->messages);
	same_number(w, n, "turn_count", (int64_t)rec.turn_count, s->turns);
	same_number(w, n, "fork_seq", (int64_t)rec.fork_seq, s->base);
	same_number(w, n, "inherited_count", (int64_t)rec.inherited_count,
		    s->inherited);
	compare_window(w, n, &rec);
	same_totals(w, n, "own", &rec.own, &s->own);
	same_totals(w, n, "total", &rec.total, &s->total);
	same_text(w, n, "first_user", rec.first_user, s->first_user);
	same_text(w, n, "last_user", rec.last_user, s->last_user);
	same_text(w, n, "last_agent", rec.last_agent, s->last_agent);
	same_number(w, n, "created_at", rec.created_at, s->created);
	same_number(w, n, "updated_at", rec.updated_at, s->updated);
	same_number(w, n, "last_interaction_at", rec.last_interaction_at,
		    s->interaction);
	same_number(w, n, "deleted_at", rec.deleted_at, s->deleted);
	same_text(w, n, "lease_owner", rec.lease_owner, s->lease_owner);
	same_number(w, n, "lease_token", (int64_t)rec.lease_token,
		    s->lease_token);
	same_number(w, n, "lease_expires_at", rec.lease_expires_at,
		    s->lease_until);
}

/* A session that was purged is nobody's any more. */
static void compare_purged(struct world *w, int n)
{
	struct session_rec rec;
	int r = engine_session(w->engine, &w->ids[n], &w->arena, &rec, &w->err);

	(void)world_agree(w, "purged session", r, ORACLE_NOT_FOUND);
}

void look_record(struct world *w, const uint32_t *r)
{
	int session = world_pick(w, r[0]);

	if (session < 0)
		return;
	world_say(w, "record %d", session);
	if (w->oracle->sessions[session].purged)
		compare_purged(w, session);
	else
		compare_record(w, session);
}

/* ---- names ---- */

/* Whose name it is; that it has a holder says nothing about slugs. */
static void compare_holder(struct world *w, const char *text)
{
	struct store *s = engine_store(w->engine);
	struct weft_str wanted = str_of(text);
	int holder = oracle_holder(w->oracle, text);
	struct weft_id expected = { { 0 } };
	struct name_rec found;

	if (s->ops->get_names(s, &wanted, 1, &w->arena, &found, &w->err) < 0) {
		world_wrong(w, "name '%s': %s", text, w->err.message);
		return;
	}
	if (holder >= 0)
		expected = w->ids[holder];
	if (!id_eq(&found.session, &expected))
		world_wrong(w, "name '%s': not of session %d", text, holder);
}

static void compare_resolved(struct world *w, const char *text)
{
	struct weft_id found;
	int session = -1;
	int expected = oracle_find(w->oracle, text, &session);
	int r = engine_resolve(w->engine, str_of(text), &found, &w->err);

	if (world_agree(w, "resolve", r, expected) &&
	    !id_eq(&found, &w->ids[session]))
		world_wrong(w, "'%s' is not session %d", text, session);
}

static void compare_names_of(struct world *w, int session)
{
	struct store *s = engine_store(w->engine);
	const struct oracle_session *o = &w->oracle->sessions[session];
	char aliases[ORACLE_ALIASES][96];
	int n = oracle_aliases(w->oracle, session, aliases, ORACLE_ALIASES);
	size_t first = oracle_holder(w->oracle, o->key) == session && *o->key;
	struct session_names names;
	const struct name_rec *v;

	if (s->ops->get_names_of(s, &w->ids[session], 1, &w->arena, &names,
				 &w->err) < 0) {
		world_wrong(w, "names of %d: %s", session, w->err.message);
		return;
	}
	v = names.v;
	same_number(w, session, "count of names", (int64_t)names.n,
		    n + (int64_t)first);
	if (w->why[0])
		return;
	if (first) {
		same_text(w, session, "first name", v[0].name, o->key);
		same_number(w, session, "kind of name", (int64_t)v[0].kind,
			    NAME_KEY);
	}
	for (int i = 0; i < n; i++) {
		same_text(w, session, "name", v[first + (size_t)i].name,
			  aliases[i]);
		same_number(w, session, "kind of name",
			    (int64_t)v[first + (size_t)i].kind, NAME_ALIAS);
	}
}

void look_names(struct world *w, const uint32_t *r)
{
	(void)r;
	world_say(w, "names");
	for (size_t i = 0; i < n_world_names; i++) {
		compare_holder(w, world_names[i]);
		compare_resolved(w, world_names[i]);
	}
	for (int i = 0; i < w->oracle->n; i++)
		compare_names_of(w, i);
}

/* ---- lists ---- */

static struct oracle_query query_of(const struct world *w, const uint32_t *r)
{
	static const char *const texts[] = { "cafe", "Plan", "hi\" \\",
					     "nowhere", "E" };
	struct oracle_query q = { .parent = -1 };
	int setting = (int)(r[1] % (SETTING_USER + 1));

	if (r[0] % 4 == 0)
		(void)snprintf(q.exact[setting], sizeof(q.exact[setting]), "%s",
			       world_values[r[2] % n_world_values]);
	if (r[0] % 4 == 1)
		(void)snprintf(q.text, sizeof(q.text), "%s",
			       texts[r[1] % ARRAY_LEN(texts)]);
	if (r[0] % 8 == 2 && w->oracle->n > 0)
		q.parent = (int)(r[1] % (uint32_t)w->oracle->n);
	q.primary = r[3] & 1;
	q.subagent = r[3] & 2;
	q.deleted = r[3] & 4;
	q.by_creation = r[3] & 8;
	return q;
}

static struct list_query store_query(struct world *w,
				     const struct oracle_query *o)
{
	struct list_query q = { .slug = str_of(o->exact[SETTING_SLUG]),
				.agent = str_of(o->exact[SETTING_AGENT]),
				.project_dir =
					str_of(o->exact[SETTING_PROJECT]),
				.channel = str_of(o->exact[SETTING_CHANNEL]),
				.user = str_of(o->exact[SETTING_USER]) };

	if (text_fold(str_of(o->text), &w->arena, &q.folded, &w->err) < 0)
		world_wrong(w, "fold: %s", w->err.message);
	if (o->primary)
		q.kinds |= UINT64_C(1) << KIND_PRIMARY;
	if (o->subagent)
		q.kinds |= UINT64_C(1) << KIND_SUBAGENT;
	if (o->parent >= 0)
		q.parent = w->ids[o->parent];
	q.deleted = o->deleted ? LIST_WITH_DELETED : LIST_LIVE;
	q.sort = o->by_creation ? LIST_BY_CREATION : LIST_BY_INTERACTION;
	return q;
}

static void set_cursor(struct list_query *q, const struct session_rec *rec)
{
	q->cursor_id = rec->id;
	q->cursor_ms = q->sort == LIST_BY_CREATION ? rec->created_at :
						     rec->last_interaction_at;
}

/* One page, which must hold expected[from..to). */
static bool compare_page(struct world *w, const struct list_query *q,
			 const int *expected, int from, int to, bool more,
			 struct session_page *page)
{
	struct store *s = engine_store(w->engine);

	if (s->ops->list(s, q, &w->arena, page, &w->err) < 0) {
		world_wrong(w, "list: %s", w->err.message);
		return false;
	}
	if (page->n != (size_t)(to - from))
		world_wrong(w, "list: %zu of %d to %d", page->n, from, to);
	else if ((page->more != 0) != more)
		world_wrong(w, "list: more is %u at %d to %d", page->more, from,
			    to);
	for (int i = from; i < to && !w->why[0]; i++) {
		if (!id_eq(&page->v[i - from].id, &w->ids[expected[i]]))
			world_wrong(w, "list: another than %d at %d",
				    expected[i], i);
	}
	return !w->why[0];
}

/* Forwards to the end, and from there back to the top. */
static void walk_list(struct world *w, struct list_query q, const int *expected,
		      int n, int limit)
{
	struct session_page page = { 0 };
	int at = 0;

	q.limit = (uint32_t)limit;
	do {
		int to = at + limit < n ? at + limit : n;

		if (!compare_page(w, &q, expected, at, to, to < n, &page))
			return;
		if (page.n > 0)
			set_cursor(&q, &page.v[page.n - 1]);
		at = to;
	} while (at < n);
	if (n == 0)
		return;
	q.backwards = 1;
	for (at = n - 1; at > 0;) {
		int from = at > limit ? at - limit : 0;

		if (!compare_page(w, &q, expected, from, at, from > 0, &page))
			return;
		set_cursor(&q, &page.v[0]);
		at = from;
	}
}

void look_list(struct world *w, const uint32_t *r)
{
	struct oracle_query o = query_of(w, r);
	struct list_query q = store_query(w, &o);
	int *expected = ARENA_ARRAY(&w->arena, int, (size_t)w->oracle->n + 1);
	int n = oracle_list(w->oracle, &o, expected);

	world_say(w, "list: %d expected, by %s, text '%s'", n,
		  o.by_creation ? "creation" : "interaction", o.text);
	walk_list(w, q, expected, n, (int)(r[4] % 7) + 1);
}

void look_everything(struct world *w, const uint32_t *r)
{
	static const uint32_t all[ACT_NUMBERS] = { 3, 0, 0, 4 | 8, 6 };

	world_say(w, "everything");
	look_names(w, r);
	look_list(w, all);
	look_notes(w, r);
	for (int i = 0; i < w->oracle->n && !w->why[0]; i++) {
		struct weft_read_options o;

		if (w->oracle->sessions[i].purged) {
			compare_purged(w, i);
			continue;
		}
		compare_record(w, i);
		weft_read_options_init(&o, sizeof(o));
		o.flags = WEFT_READ_REDACTED;
		read_and_compare(w, i, &o);
	}
}

/* messages.c - methods that write, read and hide messages. */
#include "api/api.h"

#include "base/error.h"
#include "base/id.h"
#include "route/scope.h"

#define MESSAGES (UINT64_C(1) << EVENT_MESSAGE)

/* ---- append ---- */

/* The bytes to append: one message, or an array of them. */
static int append_json(struct call *c, struct weft_str *ret)
{
	bool one = call_has(c, "message"), many = call_has(c, "messages");

	if (one == many)
		return fail(c->err, WEFT_INVALID,
			    "%s: give either \"message\" or \"messages\"",
			    c->method->name);
	*ret = call_raw(c, one ? "message" : "messages");
	return WEFT_OK;
}

static int method_append(struct call *c)
{
	struct weft_str session = call_str(c, "session");
	struct weft_str op = call_str(c, "op"), json = { NULL, 0 };
	struct weft_append_options options;
	struct weft_receipt receipt;
	int r = append_json(c, &json);

	if (r != WEFT_OK)
		return r;
	weft_append_options_init(&options, sizeof(options));
	options.expect = call_u64(c, "expect", WEFT_NO_EXPECT);
	options.token = call_u64(c, "token", 0);
	if (op.len) {
		options.op = op.ptr;
		options.op_len = op.len;
	}
	r = weft_append(c->handle, session.ptr, session.len, json.ptr, json.len,
			&options, &receipt, c->err);
	if (r != WEFT_OK)
		return r;
	c->written = true;
	buf_add_lit(&c->out, "{\"seq\":");
	buf_add_u64(&c->out, receipt.seq);
	buf_printf(&c->out, ",\"id\":\"%s\",\"session\":\"%s\"", receipt.id,
		   receipt.session);
	buf_add_lit(&c->out, ",\"count\":");
	buf_add_u64(&c->out, receipt.count);
	if (receipt.replayed)
		buf_add_lit(&c->out, ",\"replayed\":true");
	buf_add_c(&c->out, '}');
	return WEFT_OK;
}

/* ---- reading pages ---- */

/* A range of a session being read, one page at a time. */
struct reading {
	struct event_range range;
	bool redacted;
	struct view_page page;
};

/* Has nothing readable: damaged or gone. */
static bool is_gap(const struct store_event *e)
{
	return e->state == STATE_DAMAGED || e->state == STATE_GONE;
}

static int read_page(struct call *c, struct reading *d, struct arena *a)
{
	int r = engine_read(c->engine, &d->range, d->redacted, a, &d->page,
			    c->err);

	/* An empty page that is not the last would be asked for for ever. */
	if (r == WEFT_OK && d->page.n == 0)
		d->page.done = 1;
	return r;
}

static uint32_t page_limit(const struct call *c)
{
	uint64_t most = u64_min(c->limits->page, UINT32_MAX);

	return (uint32_t)u64_min(call_u64(c, "limit", most), most);
}

/* Ranges that a caller asks for: "after", "limit", "redacted". */
static int reading_begin(struct call *c, struct reading *d,
			 struct session_rec *rec)
{
	int r = call_session(c, rec);

	if (r != WEFT_OK)
		return r;
	*d = (struct reading){
		.range = {
			.session = rec->id,
			.first = call_u64(c, "after", 0) + 1,
			.last = API_INTEGER_MAX,
			.max_events = page_limit(c),
		},
		.redacted = call_bool(c, "redacted"),
	};
	if (call_has(c, "limit") && d->range.max_events == 0)
		return fail(c->err, WEFT_INVALID,
			    "limit: expected 1 or more, found 0");
	return WEFT_OK;
}

/* ---- history ---- */

/* How a page of messages ends: where to go on, and what could not be read. */
static void history_end(struct call *c, const struct reading *d,
			uint64_t damaged)
{
	const struct view_page *p = &d->page;

	buf_add_lit(&c->out, "],\"next\":");
	if (p->done || p->n == 0)
		buf_add_lit(&c->out, "null");
	else
		buf_add_u64(&c->out, p->v[p->n - 1].event.last);
	buf_add_lit(&c->out, ",\"damaged\":");
	buf_add_u64(&c->out, damaged);
	buf_add_c(&c->out, '}');
}

static void history_answer(struct call *c, const struct reading *d,
			   struct weft_str summary)
{
	const struct view_page *p = &d->page;
	uint64_t damaged = 0;
	bool first = true;

	buf_add_c(&c->out, '{');
	if (summary.len) {
		buf_add_lit(&c->out, "\"summary\":");
		buf_add_json(&c->out, summary);
		buf_add_c(&c->out, ',');
	}
	buf_add_lit(&c->out, "\"messages\":[");
	for (size_t i = 0; i < p->n; i++) {
		const struct view_event *v = &p->v[i];

		damaged += v->event.state == STATE_DAMAGED;
		if (is_gap(&v->event) || v->event.type != EVENT_MESSAGE)
			continue;
		if (!first)
			buf_add_c(&c->out, ',');
		first = false;
		encode_message(&c->out, v);
	}
	history_end(c, d, damaged);
}

static void reverse(struct view_page *p)
{
	for (size_t i = 0; i < p->n / 2; i++) {
		struct view_event v = p->v[i];

		p->v[i] = p->v[p->n - 1 - i];
		p->v[p->n - 1 - i] = v;
	}
}

/*
 * Find where the last `n` messages begin.  If one page holds them all it is
 * left in d, ready to be answered; else d->range is set to go on from there.
 */
static int find_last(struct call *c, struct reading *d, uint64_t n,
		     bool *ret_ready)
{
	CLEANUP(arena_done) struct arena scratch = { 0 };
	uint64_t first = d->range.first;
	struct reading back = *d;
	bool single = true;

	arena_init(&scratch, c->arena.limit);
	back.range.backwards = 1;
	while (n > 0) {
		int r;

		back.range.max_events =
			(uint32_t)u64_min(n, d->range.max_events);
		r = read_page(c, &back, single ? &c->arena : &scratch);
		if (r != WEFT_OK)
			return r;
		for (size_t i = 0; i < back.page.n; i++) {
			const struct store_event *e = &back.page.v[i].event;

			first = e->seq;
			n -= n > 0 && !is_gap(e);
		}
		if (back.page.done || n == 0)
			break;
		single = false;
		back.range.last = first - 1;
		arena_reset(&scratch);
	}
	*ret_ready = single;
	d->range.first = first;
	if (single) {
		d->page = back.page;
		d->page.done = 1;
		reverse(&d->page);
	}
	return WEFT_OK;
}

/* Go to where the budget of tokens begins. */
static int find_kept(struct call *c, struct reading *d, struct render_query *q)
{
	uint64_t first;
	int r;

	q->options.format = RENDER_ANTHROPIC;
	r = engine_first_kept(c->engine, q, &first, c->err);
	if (r == WEFT_OK)
		d->range.first = u64_max(d->range.first, first);
	return r;
}

/* As a provider wants it: all at once. */
static int render_history(struct call *c, const struct render_query *q)
{
	if (call_has(c, "limit"))
		return fail(c->err, WEFT_INVALID,
			    "limit: what is rendered has no pages; use last "
			    "or tokens");
	return engine_render(c->engine, q, &c->out, c->err);
}

/* Where the view that was asked for begins, and what a window has besides. */
static int view_begin(struct call *c, const struct session_rec *rec,
		      struct reading *d, struct render_query *q)
{
	struct weft_str view = call_str(c, "view");
	struct window w = { .first_kept = 1 };
	int r = WEFT_OK;

	if (str_eq(view, STR("direct"))) {
		w.first_kept = rec->fork_seq + 1;
	} else if (str_eq(view, STR("window"))) {
		r = engine_window(c->engine, rec, &c->arena, &w, c->err);
		if (c->limits->window_messages < ID_SEQ_MAX)
			q->messages_max = u64_min(q->messages_max,
						  c->limits->window_messages);
	}
	d->range.first = u64_max(d->range.first, w.first_kept);
	q->summary = w.summary;
	return r;
}

static int method_history(struct call *c)
{
	struct render_query q = {
		.last = API_INTEGER_MAX,
		.messages_max = call_u64(c, "last", UINT64_MAX),
		.redacted = call_bool(c, "redacted"),
		.options = { .provider = call_str(c, "provider"),
			     .tokens = call_u64(c, "tokens", 0) },
	};
	struct session_rec rec;
	struct reading d;
	bool ready = false;
	int r = reading_begin(c, &d, &rec);

	if (r == WEFT_OK)
		r = view_begin(c, &rec, &d, &q);
	if (r != WEFT_OK)
		return r;
	d.range.types = MESSAGES;
	q.session = rec.id;
	q.first = d.range.first;
	q.options.shared = scope_text_is_shared(rec.scope, &c->arena);
	if (call_has(c, "tokens") && q.options.tokens == 0)
		return fail(c->err, WEFT_INVALID,
			    "tokens: expected 1 or more, found 0");
	if (render_format_parse(call_str(c, "format"), &q.options.format))
		return render_history(c, &q);
	if (q.options.tokens)
		r = find_kept(c, &d, &q);
	if (r == WEFT_OK && q.messages_max != UINT64_MAX)
		r = find_last(c, &d, q.messages_max, &ready);
	if (r == WEFT_OK && !ready)
		r = read_page(c, &d, &c->arena);
	if (r == WEFT_OK)
		history_answer(c, &d, q.summary);
	return r;
}

/* ---- events ---- */

static int method_events(struct call *c)
{
	struct session_rec rec;
	struct reading d;
	int r = reading_begin(c, &d, &rec);

	if (r == WEFT_OK)
		r = read_page(c, &d, &c->arena);
	if (r != WEFT_OK)
		return r;
	buf_add_lit(&c->out, "{\"events\":[");
	for (size_t i = 0; i < d.page.n; i++) {
		if (i > 0)
			buf_add_c(&c->out, ',');
		encode_event(&c->out, &d.page.v[i]);
	}
	buf_add_lit(&c->out, "],\"next\":");
	if (d.page.done)
		buf_add_lit(&c->out, "null");
	else
		buf_add_u64(&c->out, d.page.v[d.page.n - 1].event.last);
	buf_add_c(&c->out, '}');
	return WEFT_OK;
}

/* ---- one message ---- */

/* The event `seq` as `session` sees it; NOT_FOUND if there is none. */
static int read_one(struct call *c, const struct weft_id *session, uint64_t seq,
		    struct view_event *ret)
{
	struct reading d = {
		.range = { .session = *session,
			   .first = seq,
			   .last = seq,
			   .max_events = 1 },
		.redacted = true,
	};
	int r;

	if (seq == 0)
		return fail(c->err, WEFT_NOT_FOUND,
			    "no message 0: they are numbered from 1");
	r = read_page(c, &d, &c->arena);
	if (r != WEFT_OK)
		return r;
	if (d.page.n == 0)
		return fail(c->err, WEFT_NOT_FOUND,
			    "the session has no event %llu",
			    (unsigned long long)seq);
	*ret = d.page.v[0];
	return WEFT_OK;
}

/* What was found must be a message that can be shown. */
static int check_one(struct call *c, const struct view_event *v, uint64_t seq)
{
	if (v->event.state == STATE_DAMAGED)
		return fail(c->err, WEFT_CORRUPT,
			    "event %llu is damaged; weft verify says where",
			    (unsigned long long)seq);
	if (v->event.state == STATE_GONE)
		return fail(c->err, WEFT_NOT_FOUND,
			    "event %llu is gone for good",
			    (unsigned long long)seq);
	if (v->event.type != EVENT_MESSAGE)
		return fail(c->err, WEFT_NOT_FOUND, "event %llu is no message",
			    (unsigned long long)seq);
	return WEFT_OK;
}

/*
 * A message of a session that was purged, as a fork still shows it; NOT_FOUND.
 * Forks of forks are looked at where a fork was purged, too.
 */
static int find_in_forks(struct call *c, const struct weft_id *session,
			 const struct weft_id *id, uint64_t depth,
			 struct view_event *ret)
{
	struct list_query q = { .parent = *session,
				.deleted = LIST_WITH_PURGED,
				.sort = LIST_BY_CREATION };
	struct session_page page = { .more = 1 };
	int r = WEFT_OK;

	while (page.more && r == WEFT_OK && depth <= c->limits->fork_depth) {
		r = c->store->ops->list(c->store, &q, &c->arena, &page, c->err);
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++) {
			const struct session_rec *rec = &page.v[i];

			q.cursor_ms = rec->created_at;
			q.cursor_id = rec->id;
			if (rec->fork_seq < id_event_seq(id))
				continue;
			r = rec->purged_at ? find_in_forks(c, &rec->id, id,
							   depth + 1, ret) :
					     read_one(c, &rec->id,
						      id_event_seq(id), ret);
			if (r == WEFT_OK)
				return r;
			r = r == WEFT_NOT_FOUND ? WEFT_OK : r;
		}
		if (page.n == 0)
			break;
	}
	return r == WEFT_OK ? WEFT_NOT_FOUND : r;
}

/* Find a message by its id alone: the id says in which session to look. */
static int find_by_id(struct call *c, const struct weft_id *id,
		      struct view_event *ret)
{
	char text[WEFT_ID_CHARS + 1];
	struct weft_id *sessions;
	size_t n;
	int r;

	r = c->store->ops->find_tag(c->store, id_event_tag(id), &c->arena,
				    &sessions, &n, c->err);
	if (r != WEFT_OK)
		return r;
	for (size_t i = 0; i < n && id_event_seq(id) > 0; i++) {
		r = read_one(c, &sessions[i], id_event_seq(id), ret);
		if (r == WEFT_NOT_FOUND)
			r = find_in_forks(c, &sessions[i], id, 0, ret);
		if (r == WEFT_OK && id_eq(&ret->event.id, id))
			return WEFT_OK;
		if (r != WEFT_OK && r != WEFT_NOT_FOUND)
			return r;
	}
	id_format(id, text);
	return fail(c->err, WEFT_NOT_FOUND, "no message %s", text);
}

int call_ref(struct call *c, const struct session_rec *session, yyjson_val *ref,
	     uint64_t *ret)
{
	struct view_event v;
	struct weft_id id;
	uint64_t seq;
	bool by_id = yyjson_is_str(ref);
	int r;

	if (by_id && !id_parse(json_str(ref), &id))
		return fail(c->err, WEFT_INVALID, "\"%.*s\" is no message id",
			    STR_ARG(json_str(ref)));
	seq = by_id ? id_event_seq(&id) : yyjson_get_uint(ref);
	r = read_one(c, &session->id, seq, &v);
	if (r == WEFT_NOT_FOUND ||
	    (r == WEFT_OK && by_id && !id_eq(&v.event.id, &id))) {
		if (by_id)
			return fail(c->err, WEFT_NOT_FOUND,
				    "the session has no message %.*s",
				    STR_ARG(json_str(ref)));
		return fail(c->err, WEFT_NOT_FOUND,
			    "the session has no message %llu",
			    (unsigned long long)seq);
	}
	if (r == WEFT_OK)
		r = check_one(c, &v, seq);
	if (r == WEFT_OK)
		*ret = seq;
	return r;
}

static int method_message(struct call *c)
{
	yyjson_val *ref = call_val(c, "message");
	struct session_rec rec;
	struct view_event v = { 0 };
	struct weft_id id;
	uint64_t seq;
	int r;

	if (call_has(c, "session")) {
		r = call_session(c, &rec);
		if (r == WEFT_OK)
			r = call_ref(c, &rec, ref, &seq);
		if (r == WEFT_OK)
			r = read_one(c, &rec.id, seq, &v);
	} else if (!yyjson_is_str(ref)) {
		return fail(c->err, WEFT_INVALID,
			    "session: missing; a number counts within "
			    "one");
	} else {
		(void)id_parse(json_str(ref), &id);
		seq = id_event_seq(&id);
		r = find_by_id(c, &id, &v);
		if (r == WEFT_OK)
			r = check_one(c, &v, seq);
	}
	if (r != WEFT_OK)
		return r;
	if (v.redacted && !call_bool(c, "redacted"))
		return fail(c->err, WEFT_NOT_FOUND,
			    "message %llu is redacted; the option redacted "
			    "shows it",
			    (unsigned long long)seq);
	encode_message(&c->out, &v);
	return WEFT_OK;
}

/* ---- redact ---- */

static void redact_answer(struct call *c, const struct request *q)
{
	buf_add_lit(&c->out, "{\"session\":");
	encode_id(&c->out, &q->session);
	buf_add_lit(&c->out, ",\"messages\":[");
	for (size_t i = 0; i < q->n_targets; i++) {
		if (i > 0)
			buf_add_c(&c->out, ',');
		buf_add_u64(&c->out, q->targets[i]);
	}
	buf_add_lit(&c->out, "],\"redacted\":");
	buf_add_str(&c->out, q->undo ? STR("false") : STR("true"));
	buf_add_lit(&c->out, ",\"changed\":");
	buf_add_u64(&c->out, q->ret_changed);
	buf_add_c(&c->out, '}');
}

int call_refs(struct call *c, const struct session_rec *session,
	      struct arena *a, const uint64_t **ret, size_t *ret_n)
{
	yyjson_val *refs = call_val(c, "messages");
	size_t n = yyjson_arr_size(refs);
	uint64_t *targets = ARENA_ARRAY(a, uint64_t, n + 1);
	yyjson_arr_iter it;

	if (n == 0)
		return fail(c->err, WEFT_INVALID,
			    "messages: expected one or more");
	if (n > c->limits->batch_messages)
		return fail(c->err, WEFT_LIMIT,
			    "messages: %zu of them, the limit is %llu "
			    "(batch_messages)",
			    n, (unsigned long long)c->limits->batch_messages);
	if (!targets)
		return arena_error(a, c->err);
	yyjson_arr_iter_init(refs, &it);
	for (size_t i = 0; i < n; i++) {
		int r = call_ref(c, session, yyjson_arr_iter_next(&it),
				 &targets[i]);

		if (r != WEFT_OK)
			return r;
	}
	*ret = targets;
	*ret_n = n;
	return WEFT_OK;
}

static int method_redact(struct call *c)
{
	struct session_rec rec;
	struct request *q;
	int r = call_session(c, &rec);

	if (r != WEFT_OK)
		return r;
	q = request_new(REQUEST_REDACT, c->err);
	if (!q)
		return WEFT_NO_MEMORY;
	q->session = rec.id;
	q->expect = WEFT_NO_EXPECT;
	q->undo = call_bool(c, "undo");
	q->token = call_u64(c, "token", 0);
	r = call_refs(c, &rec, &q->arena, &q->targets, &q->n_targets);
	if (r != WEFT_OK) {
		request_free(q);
		return r;
	}
	r = call_run(c, q);
	if (r != WEFT_OK)
		return r;
	redact_answer(c, q);
	request_free(q);
	return WEFT_OK;
}

/* ---- the rows of the table ---- */

static const struct field fields_append[] = {
	FIELD_SESSION,
	{ .name = "message", .about = "one message", .type = TYPE_OBJECT },
	{ .name = "messages",
	  .about = "several, all or none; instead of message",
	  .type = TYPE_ARRAY },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

#define FIELD_REDACTED                                                 \
	{                                                              \
		.name = "redacted", .about = "also what was redacted", \
		.type = TYPE_BOOLEAN,                                  \
	}

#define FIELD_AFTER                                                        \
	{                                                                  \
		.name = "after", .about = "only what has a higher number", \
		.type = TYPE_INTEGER,                                      \
	}

#define FIELD_PAGE                                                     \
	{                                                              \
		.name = "limit",                                       \
		.about = "at most so many; default and maximum: page", \
		.type = TYPE_INTEGER,                                  \
	}

static const struct field fields_history[] = {
	FIELD_SESSION,
	{ .name = "view",
	  .about = "full: all that was said; direct: only in this session, "
		   "nothing inherited; window: what a model is given; "
		   "default full",
	  .type = TYPE_CHOICE,
	  .values = "full|direct|window" },
	{ .name = "last",
	  .about = "only the last so many messages",
	  .type = TYPE_INTEGER },
	{ .name = "tokens",
	  .about = "only as many of the last turns as are estimated to have "
		   "no more than so many tokens; the last turn always stays",
	  .type = TYPE_INTEGER },
	{ .name = "format",
	  .about = "weft: messages as they are stored; anthropic, openai, "
		   "responses: what that provider's model is sent, repaired "
		   "so that it is accepted; default weft",
	  .type = TYPE_CHOICE,
	  .values = "weft|anthropic|openai|responses" },
	{ .name = "provider",
	  .about = "with a provider's format: whose signatures and other "
		   "bound data are sent back; default anthropic or openai",
	  .type = TYPE_LINE },
	FIELD_AFTER,
	FIELD_PAGE,
	FIELD_REDACTED,
};

static const struct field fields_message[] = {
	{ .name = "message",
	  .about = "its id; or, with session, its number",
	  .type = TYPE_REF,
	  .required = 1 },
	{ .name = "session", .about = SESSION_ABOUT, .type = TYPE_LINE },
	FIELD_REDACTED,
};

static const struct field fields_redact[] = {
	FIELD_SESSION,
	{ .name = "messages",
	  .about = "which ones",
	  .type = TYPE_REFS,
	  .required = 1 },
	{ .name = "undo", .about = "show them again", .type = TYPE_BOOLEAN },
	FIELD_TOKEN,
};

static const struct field fields_events[] = {
	FIELD_SESSION,
	FIELD_AFTER,
	FIELD_PAGE,
	FIELD_REDACTED,
};

static const struct method rows[] = {
	{ .name = "append",
	  .about = "Append messages; durable when it answers.",
	  .answer = "`{\"seq\",\"id\",\"session\",\"count\"}` of the first, "
		    "and `\"replayed\":true` if the operation id was known",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_append),
	  .run = method_append },
	{ .name = "history",
	  .about = "Read messages, oldest first.",
	  .answer = "`{\"messages\":[...],\"next\",\"damaged\"}`; next is "
		    "the after of the next page, or null; damaged is how many "
		    "events could not be read; a window with a summary has "
		    "`\"summary\"` in front. With a provider's format all "
		    "at once: `{\"system\":text|null,\"messages\":[...]}` "
		    "(anthropic), `{\"messages\":[...]}` (openai), "
		    "`{\"items\":[...]}` (responses); see docs/RENDERING.md",
	  .right = RIGHT_READ,
	  FIELDS(fields_history),
	  .run = method_history },
	{ .name = "message",
	  .about = "Show one message.",
	  .answer = "the message",
	  .right = RIGHT_READ,
	  FIELDS(fields_message),
	  .run = method_message },
	{ .name = "redact",
	  .about = "Hide messages from a session and its forks; they stay in "
		   "the log.",
	  .answer = "`{\"session\",\"messages\":[numbers],\"redacted\","
		    "\"changed\"}`",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_redact),
	  .run = method_redact },
	{ .name = "events",
	  .about = "Read events of all types, oldest first.",
	  .answer = "`{\"events\":[{\"seq\",\"ts\",\"type\",\"id\",...}],"
		    "\"next\"}`; next is the after of the next page, or null",
	  .right = RIGHT_READ,
	  FIELDS(fields_events),
	  .run = method_events },
};

const struct method_group methods_messages = METHOD_GROUP(rows);

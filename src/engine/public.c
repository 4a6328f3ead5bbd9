/* public.c - appending, reading and waiting, as weft.h has them: arguments in,
 * checked and copied; answers out. */
#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/internal.h"
#include "model/event.h"

/* What a page may hold beyond the events that were asked for. */
#define PAGE_BYTES_EXTRA MIB(64)

struct weft_page {
	struct arena arena;
	struct seen_page seen;
};

/* ---- arguments ---- */

/* `len` bytes at `text`; `what` is named in the error. */
static int take_text(const char *text, size_t len, const char *what,
		     struct weft_str *ret, struct weft_error *err)
{
	if ((!text && len) || len > PTRDIFF_MAX)
		return fail(err, WEFT_INVALID, "%s: not a text", what);
	*ret = (struct weft_str){ text, len };
	return WEFT_OK;
}

/* ---- appending ---- */

void weft_append_options_init(struct weft_append_options *o, size_t size)
{
	const struct weft_append_options preset = {
		.size = size,
		.expect = WEFT_NO_EXPECT,
	};

	options_init(o, size, &preset, sizeof(preset));
}

static bool is_array(struct weft_str json)
{
	size_t i = 0;

	while (i < json.len && (json.ptr[i] == ' ' || json.ptr[i] == '\t' ||
				json.ptr[i] == '\r' || json.ptr[i] == '\n'))
		i++;
	return i < json.len && json.ptr[i] == '[';
}

/* Check a JSON array of messages; `json` is our own copy. */
static int take_array(struct request *q, struct weft_str json,
		      const struct store_limits *limits, struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_str raw;
	size_t pos = 0, n;
	int r = json_parse(json, NULL, &doc, err);

	if (r < 0)
		return r;
	n = yyjson_arr_size(yyjson_doc_get_root(doc));
	if (n > limits->batch_messages)
		return fail(err, WEFT_LIMIT,
			    "%zu messages at once, the limit is %llu (limit "
			    "batch_messages)",
			    n, (unsigned long long)limits->batch_messages);
	q->messages = ARENA_ARRAY(&q->arena, struct message, n);
	if (!q->messages)
		return arena_error(&q->arena, err);
	while (q->n_messages < n && json_next_element(json, &pos, &raw)) {
		r = message_check(raw, limits, &q->arena,
				  &q->messages[q->n_messages], err);
		if (r < 0)
			return fail_prefix(err, r, "message %zu",
					   q->n_messages + 1);
		q->n_messages++;
	}
	return WEFT_OK;
}

/* Check the caller's message or messages into the request. */
int request_take_messages(struct request *q, struct weft_str json,
			  const struct store_limits *limits,
			  struct weft_error *err)
{
	int r;

	if (is_array(json)) {
		if (json.len > limits->segment_bytes_max)
			return fail(
				err, WEFT_LIMIT,
				"%zu bytes at once, the limit is %llu "
				"(limit segment_bytes_max)",
				json.len,
				(unsigned long long)limits->segment_bytes_max);
		json = arena_str(&q->arena, json);
		if (!json.ptr)
			return arena_error(&q->arena, err);
		r = take_array(q, json, limits, err);
	} else {
		q->messages = ARENA_NEW(&q->arena, struct message);
		if (!q->messages)
			return arena_error(&q->arena, err);
		q->n_messages = 1;
		r = message_check(json, limits, &q->arena, q->messages, err);
	}
	for (size_t i = 0; i < q->n_messages; i++)
		q->bytes += q->messages[i].body.len;
	return r;
}

/* Each operation id is one message's. */
static int check_ops(const struct request *q, struct weft_error *err)
{
	for (size_t i = 1; i < q->n_messages; i++) {
		struct weft_str op = q->messages[i].op;

		for (size_t k = 0; k < i && op.len; k++) {
			if (str_eq(op, k ? q->messages[k].op : q->op))
				return fail(err, WEFT_INVALID,
					    "message %zu: op: '%.*s' is that "
					    "of message %zu already",
					    i + 1, STR_ARG(op), k + 1);
		}
	}
	return WEFT_OK;
}

/* What the messages themselves say about the request: op and expect.  Those of
 * the first are the request's. */
static int take_members(struct request *q, struct weft_error *err)
{
	const struct message *first = q->messages;

	if (!q->n_messages)
		return WEFT_OK;
	if (first->op.len && q->op.len && !str_eq(first->op, q->op))
		return fail(err, WEFT_INVALID,
			    "op: '%.*s' in the message, '%.*s' in the options",
			    STR_ARG(first->op), STR_ARG(q->op));
	if (first->has_expect && q->expect != WEFT_NO_EXPECT &&
	    q->expect != first->expect)
		return fail(err, WEFT_INVALID,
			    "expect: %llu in the message, %llu in the options",
			    (unsigned long long)first->expect,
			    (unsigned long long)q->expect);
	if (first->op.len)
		q->op = first->op;
	if (first->has_expect)
		q->expect = first->expect;
	return check_ops(q, err);
}

/* Whether the i-th message is for the session of the request. */
static int check_message_session(struct engine *e, const struct request *q,
				 size_t i, struct weft_error *err)
{
	struct weft_str said = q->messages[i].session;
	struct weft_id id;
	int r = resolve_quickly(e, said, &id, err);

	if (r == WEFT_OK && !id_eq(&id, &q->session))
		r = fail(err, WEFT_INVALID,
			 "session: the message is for '%.*s'", STR_ARG(said));
	/* Among several, which one it is. */
	return r < 0 && q->n_messages > 1 ?
		       fail_prefix(err, r, "message %zu", i + 1) :
		       r;
}

/*
 * Find the session: the one given, or else the one that the first message
 * names.  If both are there they must be the same.
 */
static int take_session(struct engine *e, struct request *q,
			struct weft_str name, struct weft_error *err)
{
	int r;

	if (!name.len && q->n_messages)
		name = q->messages[0].session;
	r = resolve_quickly(e, name, &q->session, err);
	for (size_t i = 0; i < q->n_messages && r == WEFT_OK; i++) {
		struct weft_str said = q->messages[i].session;

		if (said.len && !str_eq(said, name))
			r = check_message_session(e, q, i, err);
	}
	return r;
}

static int take_append_options(struct request *q,
			       const struct weft_append_options *options,
			       const struct store_limits *limits,
			       struct weft_error *err)
{
	struct weft_append_options o;
	struct weft_str op = { NULL, 0 };
	int r;

	if (!options)
		return WEFT_OK;
	r = options_take(&o, sizeof(o), options, err);
	if (r == WEFT_OK)
		r = take_text(o.op, o.op_len, "op", &op, err);
	/* Before it is copied: not all of it need be there. */
	if (r == WEFT_OK)
		r = text_check_line(op, (size_t)limits->op_bytes, "op", err);
	if (r < 0)
		return r;
	q->expect = o.expect;
	q->token = o.token;
	if (!op.len)
		return WEFT_OK;
	q->op = arena_str(&q->arena, op);
	return q->op.ptr ? WEFT_OK : arena_error(&q->arena, err);
}

/* The caller's arguments, as they came. */
struct append_args {
	const char *session;
	size_t session_len;
	const char *json;
	size_t json_len;
	const struct weft_append_options *options;
};

static int fill_append(struct engine *e, struct request *q,
		       const struct append_args *args, struct weft_error *err)
{
	struct weft_str session = { NULL, 0 }, json = { NULL, 0 };
	int r = take_text(args->session, args->session_len, "session", &session,
			  err);

	if (r == WEFT_OK)
		r = take_text(args->json, args->json_len, "message", &json,
			      err);
	if (r == WEFT_OK)
		r = take_append_options(q, args->options, engine_limits(e),
					err);
	if (r == WEFT_OK)
		r = request_take_messages(q, json, engine_limits(e), err);
	if (r == WEFT_OK)
		r = take_members(q, err);
	if (r == WEFT_OK)
		r = take_session(e, q, session, err);
	return r;
}

/* A request made of the arguments, everything copied and checked. */
static int new_append(struct engine *e, const struct append_args *args,
		      struct request **ret, struct weft_error *err)
{
	struct request *q = request_new(REQUEST_APPEND, err);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	r = fill_append(e, q, args, err);
	if (r < 0) {
		request_free(q);
		return r;
	}
	*ret = q;
	return WEFT_OK;
}

static void fill_receipt(const struct request *q, struct weft_receipt *ret)
{
	*ret = (struct weft_receipt){
		.seq = q->ret_seq,
		.count = q->ret_count,
		.replayed = q->ret_replayed,
	};
	id_format(&q->ret_id, ret->id);
	id_format(&q->ret_session, ret->session);
}

int weft_append(struct weft_store *store, const char *session,
		size_t session_len, const char *json, size_t json_len,
		const struct weft_append_options *options,
		struct weft_receipt *ret, struct weft_error *err)
{
	const struct append_args args = {
		session, session_len, json, json_len, options,
	};
	struct engine *e;
	struct request *q;
	int r = handle_engine(store, &e, err);

	if (r == WEFT_OK)
		r = new_append(e, &args, &q, err);
	if (r != WEFT_OK)
		return r;
	r = engine_run(e, q, err);
	if (r == WEFT_OK && ret)
		fill_receipt(q, ret);
	request_free(q);
	return r;
}

/* Whom to tell. */
struct submission {
	struct engine *engine;
	weft_done *done;
	void *ctx;
};

static void submission_done(struct request *q)
{
	const struct submission *s = q->ctx;
	struct weft_receipt receipt;

	if (q->status == WEFT_OK) {
		fill_receipt(q, &receipt);
		s->done(s->ctx, WEFT_OK, &receipt, NULL);
	} else {
		s->done(s->ctx, q->status, NULL, &q->err);
	}
	queue_spend(&s->engine->queue, q);
}

/* Whether there is somebody to tell. */
static int check_done(weft_done *done, const void *ctx, struct weft_error *err)
{
	const struct weft_ticket *ticket = ctx;

	if (!done)
		return fail(err, WEFT_INVALID, "no function to be called");
	if (done == weft_queue_done && (!ticket || !ticket->queue))
		return fail(err, WEFT_INVALID,
			    "ctx: expected a ticket with its queue set");
	return WEFT_OK;
}

/* NOLINTNEXTLINE(readability-function-size) */
int weft_submit(struct weft_store *store, const char *session,
		size_t session_len, const char *json, size_t json_len,
		const struct weft_append_options *options, weft_done *done,
		void *ctx, struct weft_error *err)
{
	const struct append_args args = {
		session, session_len, json, json_len, options,
	};
	struct submission *s;
	struct request *q;
	struct engine *e;
	int r = check_done(done, ctx, err);

	if (r == WEFT_OK)
		r = handle_engine(store, &e, err);
	if (r != WEFT_OK)
		return r;
	queue_clear(&e->queue);
	r = new_append(e, &args, &q, err);
	if (r != WEFT_OK)
		return r;
	s = ARENA_NEW(&q->arena, struct submission);
	if (s) {
		*s = (struct submission){ e, done, ctx };
		q->done = submission_done;
		q->ctx = s;
		r = engine_submit(e, q, err);
	} else {
		r = arena_error(&q->arena, err);
	}
	if (r < 0)
		request_free(q);
	return r;
}

/* ---- reading ---- */

void weft_read_options_init(struct weft_read_options *o, size_t size)
{
	const struct weft_read_options preset = {
		.size = size,
		.first = 1,
		.last = UINT64_MAX,
	};

	options_init(o, size, &preset, sizeof(preset));
}

/* A session that is there; its id needs no look-up here. */
static int find_session(struct engine *e, const char *session,
			size_t session_len, struct weft_id *ret,
			struct weft_error *err)
{
	struct weft_str name = { NULL, 0 };
	int r = take_text(session, session_len, "session", &name, err);

	if (r == WEFT_OK)
		r = resolve_quickly(e, name, ret, err);
	return r;
}

static int take_range(const struct weft_read_options *options,
		      struct event_range *ret, bool *ret_redacted,
		      struct weft_error *err)
{
	struct weft_read_options o;
	int r;

	weft_read_options_init(&o, sizeof(o));
	if (options) {
		r = options_take(&o, sizeof(o), options, err);
		if (r < 0)
			return r;
	}
	if (o.flags &
	    ~(WEFT_READ_BACKWARDS | WEFT_READ_MESSAGES | WEFT_READ_REDACTED))
		return fail(err, WEFT_INVALID, "unknown flags 0x%x for reading",
			    o.flags);
	ret->first = o.first;
	ret->last = o.last;
	ret->max_events = o.max;
	ret->backwards = (o.flags & WEFT_READ_BACKWARDS) != 0;
	if (o.flags & WEFT_READ_MESSAGES)
		ret->types = UINT64_C(1) << EVENT_MESSAGE;
	*ret_redacted = (o.flags & WEFT_READ_REDACTED) != 0;
	return WEFT_OK;
}

int weft_read(struct weft_store *store, const char *session, size_t session_len,
	      const struct weft_read_options *options, struct weft_page **ret,
	      struct weft_error *err)
{
	struct event_range range = { .first = 1 };
	struct weft_page *page;
	struct engine *e;
	bool redacted = false;
	int r;

	if (!ret)
		return fail(err, WEFT_INVALID, "no place for the page");
	r = handle_engine(store, &e, err);
	if (r == WEFT_OK)
		r = find_session(e, session, session_len, &range.session, err);
	if (r == WEFT_OK)
		r = take_range(options, &range, &redacted, err);
	if (r != WEFT_OK)
		return r;
	page = mem_zero(1, sizeof(*page));
	if (!page)
		return fail_no_memory(err);
	arena_init(&page->arena,
		   PAGE_BYTES_EXTRA +
			   4 * (size_t)engine_limits(e)->message_bytes);
	r = read_whole(e, &range, redacted, &page->arena, &page->seen, err);
	if (r < 0) {
		weft_page_free(page);
		return r;
	}
	*ret = page;
	return WEFT_OK;
}

size_t weft_page_count(const struct weft_page *page)
{
	return page ? page->seen.n : 0;
}

int weft_page_done(const struct weft_page *page)
{
	return !page || page->seen.done;
}

static const char *state_name(uint32_t state)
{
	switch ((enum event_state)state) {
	case STATE_OK:
		return "ok";
	case STATE_ALTERED:
		return "altered";
	case STATE_UNSEALED:
		return "unsealed";
	case STATE_DAMAGED:
		return "damaged";
	case STATE_GONE:
		return "gone";
	}
	return "unknown";
}

int weft_page_event(const struct weft_page *page, size_t i,
		    struct weft_event *ret)
{
	const struct store_event *e;
	bool readable;

	if (!page || !ret || i >= page->seen.n)
		return 0;
	e = &page->seen.v[i];
	readable = e->state != STATE_DAMAGED && e->state != STATE_GONE;
	*ret = (struct weft_event){
		.seq = e->seq,
		.last = e->last,
		.ts_ms = e->ts_ms,
		.at_ms = e->at_ms ? e->at_ms : e->ts_ms,
		.type = event_type_name(e->type),
		.state = state_name(e->state),
		.body = e->body.ptr,
		.body_len = e->body.len,
		.line = readable ? e->bytes.ptr : NULL,
		.line_len = readable ? e->bytes.len : 0,
		.redacted = page->seen.redacted && page->seen.redacted[i],
		.background = e->background,
	};
	id_format(&e->id, ret->id);
	return 1;
}

void weft_page_free(struct weft_page *page)
{
	if (!page)
		return;
	arena_done(&page->arena);
	mem_free(page);
}

int weft_wait(struct weft_store *store, const char *session, size_t session_len,
	      uint64_t seq, int64_t timeout_ms, uint64_t *ret_head,
	      struct weft_error *err)
{
	struct weft_id id;
	struct engine *e;
	int r = handle_engine(store, &e, err);

	if (r == WEFT_OK)
		r = find_session(e, session, session_len, &id, err);
	if (r == WEFT_OK)
		r = engine_wait(e, &id, seq, timeout_ms, ret_head, err);
	return r;
}

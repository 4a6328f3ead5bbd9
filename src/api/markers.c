/* markers.c - methods that change what a model is given of a session. */
#include "api/api.h"

#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "model/marker.h"

#define MARKERS (UINT64_C(1) << EVENT_MARKER)

static int encode_marker(struct call *c, const struct store_event *e)
{
	struct buf *b = &c->out;
	struct marker m;
	int r = marker_read(e->body, &c->arena, &m, c->err);

	if (r != WEFT_OK)
		return r;
	buf_add_lit(b, "{\"id\":");
	encode_id(b, &e->id);
	buf_add_lit(b, ",\"seq\":");
	buf_add_u64(b, e->seq);
	buf_add_lit(b, ",\"session\":");
	encode_id(b, &e->session);
	buf_add_lit(b, ",\"how\":");
	buf_add_json(b, str_of(marker_how_name(m.how)));
	buf_add_lit(b, ",\"first_kept\":");
	buf_add_u64(b, m.first_kept);
	buf_add_lit(b, ",\"summary\":");
	buf_add_json(b, m.summary);
	buf_add_lit(b, ",\"tokens_saved\":");
	buf_add_u64(b, m.tokens_saved);
	buf_add_lit(b, ",\"undoes\":");
	if (m.undoes)
		buf_add_u64(b, m.undoes);
	else
		buf_add_lit(b, "null");
	buf_add_lit(b, ",\"created_at\":");
	encode_time(b, e->ts_ms);
	buf_add_c(b, '}');
	return WEFT_OK;
}

/* The markers of a range as the session sees them, oldest first. */
static int encode_range(struct call *c, struct event_range range)
{
	bool first = true;

	range.types = MARKERS;
	while (range.first <= range.last) {
		struct view_page p;
		int r = engine_read(c->engine, &range, true, &c->arena, &p,
				    c->err);

		for (size_t i = 0; r == WEFT_OK && i < p.n; i++) {
			/* Damaged lines take their place among them. */
			if (p.v[i].event.type != EVENT_MARKER ||
			    p.v[i].event.state == STATE_DAMAGED)
				continue;
			if (!first)
				buf_add_c(&c->out, ',');
			first = false;
			r = encode_marker(c, &p.v[i].event);
		}
		if (r != WEFT_OK || p.done || p.n == 0)
			return r;
		range.first = p.v[p.n - 1].event.last + 1;
	}
	return WEFT_OK;
}

static int method_markers(struct call *c)
{
	struct event_range range = { .first = 1 };
	struct session_rec rec;
	int r = call_session(c, &rec);

	if (r != WEFT_OK)
		return r;
	range.session = rec.id;
	range.last = rec.head_seq;
	if (call_bool(c, "in_force")) {
		range.first = rec.window_seq;
		range.last = rec.window_seq;
	}
	buf_add_lit(&c->out, "{\"markers\":[");
	if (range.last)
		r = encode_range(c, range);
	buf_add_lit(&c->out, "]}");
	return r;
}

/* The marker in force, which is the one just written if there was need. */
static int answer_marker(struct call *c, const struct request *q)
{
	struct weft_id id = q->session;
	uint64_t seq = q->ret_seq;
	struct session_rec rec;
	size_t at;
	int r = engine_session(c->engine, &id, &c->arena, &rec, c->err);

	if (r != WEFT_OK)
		return r;
	if (!seq)
		seq = rec.window_seq;
	buf_add_lit(&c->out, "{\"marker\":");
	at = c->out.len;
	if (seq)
		r = encode_range(c, (struct event_range){ .session = id,
							  .first = seq,
							  .last = seq });
	if (c->out.len == at)
		buf_add_lit(&c->out, "null");
	buf_add_lit(&c->out, ",\"changed\":");
	buf_add_str(&c->out, q->ret_changed ? STR("true") : STR("false"));
	if (q->ret_replayed)
		buf_add_lit(&c->out, ",\"replayed\":true");
	buf_add_c(&c->out, '}');
	return r;
}

/* ---- changing the window ---- */

/* Fill in what these methods share. */
static int window_request(struct call *c, uint32_t how,
			  struct session_rec *ret_rec, struct request **ret)
{
	struct weft_str op = call_str(c, "op"), summary;
	struct request *q;
	int r = call_session(c, ret_rec);

	if (r != WEFT_OK)
		return r;
	q = request_new(REQUEST_MARKER, c->err);
	if (!q)
		return WEFT_NO_MEMORY;
	summary = call_str(c, "summary");
	q->session = ret_rec->id;
	q->expect = call_u64(c, "expect", WEFT_NO_EXPECT);
	q->token = call_u64(c, "token", 0);
	q->op = op.len ? arena_str(&q->arena, op) : op;
	q->marker = (struct marker_ask){
		.how = how,
		.keep = call_u64(c, "keep", WINDOW_NO_KEEP),
		.at_turn = call_bool(c, "turn"),
		.has_summary = call_has(c, "summary"),
		.summary =
			summary.len ? arena_str(&q->arena, summary) : summary,
		.tokens_saved = call_u64(c, "tokens_saved", 0),
	};
	q->bytes = summary.len;
	*ret = q;
	return WEFT_OK;
}

static int window_run(struct call *c, struct request *q, int r)
{
	if (r != WEFT_OK) {
		request_free(q);
		return r;
	}
	r = call_run(c, q);
	if (r != WEFT_OK)
		return r;
	r = answer_marker(c, q);
	request_free(q);
	return r;
}

/* Where the window is to begin: one of three, or nowhere before the end. */
static int compact_place(struct call *c, const struct session_rec *rec,
			 struct marker_ask *ask)
{
	bool after = call_has(c, "after");
	int r;

	if (call_has(c, "keep"))
		return WEFT_OK;
	if (!after && !call_has(c, "before")) {
		ask->keep = 0;
		return WEFT_OK;
	}
	r = call_ref(c, rec, call_val(c, after ? "after" : "before"),
		     &ask->before);
	ask->before += after && r == WEFT_OK;
	return r;
}

static int method_compact(struct call *c)
{
	int places = call_has(c, "keep") + call_has(c, "before") +
		     call_has(c, "after");
	struct session_rec rec;
	struct request *q;
	int r;

	if (places > 1)
		return fail(c->err, WEFT_INVALID,
			    "compact: give one of keep, before and after");
	if (places == 0 && !call_has(c, "summary"))
		return fail(c->err, WEFT_INVALID,
			    "compact: give keep, before or after, or a "
			    "summary of everything");
	/* Whoever was to write it has failed, and nobody looked. */
	if (call_has(c, "summary") && text_is_blank(call_str(c, "summary")))
		return fail(
			c->err, WEFT_INVALID,
			"summary: is blank, so nothing was changed; without "
			"one the last summary stays, and clear drops it");
	r = window_request(c, MARKER_COMPACT, &rec, &q);
	if (r != WEFT_OK)
		return r;
	r = compact_place(c, &rec, &q->marker);
	return window_run(c, q, r);
}

static int method_set_summary(struct call *c)
{
	struct session_rec rec;
	struct request *q;
	int r = window_request(c, MARKER_COMPACT, &rec, &q);

	if (r != WEFT_OK)
		return r;
	q->marker.keep = WINDOW_NO_KEEP;
	q->marker.before = WINDOW_AS_IT_IS;
	return window_run(c, q, r);
}

static int simple_change(struct call *c, uint32_t how, bool redo)
{
	struct session_rec rec;
	struct request *q;
	int r = window_request(c, how, &rec, &q);

	if (r != WEFT_OK)
		return r;
	q->marker.redo = redo;
	/* Those without a place of their own begin behind the last event. */
	if (!call_has(c, "keep"))
		q->marker.keep = 0;
	return window_run(c, q, r);
}

static int method_truncate(struct call *c)
{
	return simple_change(c, MARKER_TRUNCATE, false);
}

static int method_clear(struct call *c)
{
	return simple_change(c, MARKER_CLEAR, false);
}

static int method_undo(struct call *c)
{
	return simple_change(c, MARKER_UNDO, false);
}

static int method_redo(struct call *c)
{
	return simple_change(c, MARKER_UNDO, true);
}

static int method_set_history(struct call *c)
{
	struct session_rec rec;
	struct request *q;
	int r = window_request(c, MARKER_HISTORY, &rec, &q);

	if (r != WEFT_OK)
		return r;
	q->marker.keep = 0;
	if (yyjson_arr_size(call_val(c, "messages")) > 0)
		r = request_take_messages(q, call_raw(c, "messages"), c->limits,
					  c->err);
	return window_run(c, q, r);
}

/* ---- the rows of the table ---- */

static const struct field fields_compact[] = {
	FIELD_SESSION,
	{ .name = "keep",
	  .about = "keep so many messages from the end; with a summary, "
		   "default 0",
	  .type = TYPE_INTEGER },
	{ .name = "before",
	  .about = "the first message to keep, instead of keep",
	  .type = TYPE_REF },
	{ .name = "after",
	  .about = "the last message not to keep, instead of keep: what is "
		   "said while a summary is made stays",
	  .type = TYPE_REF },
	{ .name = "turn",
	  .about = "keep more, so that the window begins with a turn; if "
		   "that is all of it, nothing changes",
	  .type = TYPE_BOOLEAN },
	{ .name = "summary",
	  .about = "of what is not kept, not blank; without one the summary "
		   "before it is carried on",
	  .type = TYPE_TEXT,
	  FIELD_LIMIT(summary_bytes) },
	{ .name = "tokens_saved",
	  .about = "how many, if the caller knows",
	  .type = TYPE_INTEGER },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_truncate[] = {
	FIELD_SESSION,
	{ .name = "keep",
	  .about = "keep so many messages from the end",
	  .type = TYPE_INTEGER,
	  .required = 1 },
	{ .name = "turn",
	  .about = "let the window begin with a turn: keep more, or, if that "
		   "were all of it, less",
	  .type = TYPE_BOOLEAN },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_window[] = {
	FIELD_SESSION,
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_set_summary[] = {
	FIELD_SESSION,
	{ .name = "summary",
	  .about = "of what came before the window; empty: none",
	  .type = TYPE_TEXT,
	  .required = 1,
	  FIELD_LIMIT(summary_bytes) },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_set_history[] = {
	FIELD_SESSION,
	{ .name = "messages",
	  .about = "what the window is to be; may be empty",
	  .type = TYPE_ARRAY,
	  .required = 1 },
	{ .name = "summary",
	  .about = "of what came before; without one the summary in force is "
		   "carried on",
	  .type = TYPE_TEXT,
	  FIELD_LIMIT(summary_bytes) },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_markers[] = {
	FIELD_SESSION,
	{ .name = "in_force",
	  .about = "only the one that says what the window is",
	  .type = TYPE_BOOLEAN },
};

#define ANSWER_MARKER                                                      \
	"`{\"marker\":{\"id\",\"seq\",\"session\",\"how\",\"first_kept\"," \
	"\"summary\",\"tokens_saved\",\"undoes\",\"created_at\"},"         \
	"\"changed\"}`; the marker in force, or null if there is none"

static const struct method rows[] = {
	{ .name = "compact",
	  .about = "Let the window begin later, with a summary of what was "
		   "before.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_compact),
	  .run = method_compact },
	{ .name = "truncate",
	  .about = "Let the window be no more than the last messages.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_truncate),
	  .run = method_truncate },
	{ .name = "clear",
	  .about = "Empty the window, and drop the summary; the history "
		   "stays.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_window),
	  .run = method_clear },
	{ .name = "set_summary",
	  .about = "Change the summary alone; the window stays as it is.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_set_summary),
	  .run = method_set_summary },
	{ .name = "set_history",
	  .about = "Let the window be these messages, all or none.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_set_history),
	  .run = method_set_history },
	{ .name = "undo",
	  .about = "Undo the last change of the window; twice is redo.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_window),
	  .run = method_undo },
	{ .name = "redo",
	  .about = "Undo an undo.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_window),
	  .run = method_redo },
	{ .name = "markers",
	  .about = "List the changes of the window, oldest first, inherited "
		   "ones too.",
	  .answer = "`{\"markers\":[...]}`, each as compact answers it",
	  .right = RIGHT_READ,
	  FIELDS(fields_markers),
	  .run = method_markers },
};

const struct method_group methods_markers = METHOD_GROUP(rows);

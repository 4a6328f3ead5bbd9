/* usage.c - methods about what a session has spent. */
#include "model/usage.h"

#include "api/api.h"
#include "base/error.h"

static int answer_usage(struct call *c, const struct weft_id *id, bool replayed)
{
	struct session_rec rec;
	int r = engine_session(c->engine, id, &c->arena, &rec, c->err);

	if (r != WEFT_OK)
		return r;
	buf_add_lit(&c->out, "{\"own\":");
	encode_totals(&c->out, &rec.own);
	buf_add_lit(&c->out, ",\"total\":");
	encode_totals(&c->out, &rec.total);
	if (replayed)
		buf_add_lit(&c->out, ",\"replayed\":true");
	buf_add_c(&c->out, '}');
	return WEFT_OK;
}

static int method_usage(struct call *c)
{
	struct weft_id id;
	int r = call_session_id(c, &id);

	return r == WEFT_OK ? answer_usage(c, &id, false) : r;
}

static int method_usage_add(struct call *c)
{
	CLEANUP(buf_done) struct buf body = { 0 };
	struct weft_str raw = call_raw(c, "usage");
	struct request *q = NULL;
	struct totals spent;
	struct weft_id id;
	bool replayed;
	int r = call_session_id(c, &id);

	if (r == WEFT_OK)
		r = usage_read(call_val(c, "usage"), raw, &spent, c->err);
	if (r != WEFT_OK)
		return r;
	if (usage_is_nothing(&spent))
		return answer_usage(c, &id, false);
	buf_init(&body, SIZE_MAX);
	usage_body(&body, raw);
	r = buf_error(&body, c->err);
	if (r == WEFT_OK)
		r = call_plain(c, &id, EVENT_USAGE, buf_str(&body), &q);
	if (r != WEFT_OK)
		return r;
	replayed = q->ret_replayed != 0;
	request_free(q);
	return answer_usage(c, &id, replayed);
}

/* ---- the rows of the table ---- */

static const struct field fields_session[] = {
	FIELD_SESSION,
};

static const struct field fields_usage_add[] = {
	FIELD_SESSION,
	{ .name = "usage",
	  .about = "what was spent, as in a message: input_tokens, "
		   "output_tokens, cache_read_tokens, cache_write_tokens, "
		   "cost_usd (left out or null: not known)",
	  .type = TYPE_OBJECT,
	  .required = 1,
	  FIELD_LIMIT(metadata_bytes) },
	FIELD_OP,
	FIELD_TOKEN,
};

#define ANSWER_USAGE "`{\"own\":{...},\"total\":{...}}`, totals both"

static const struct method rows[] = {
	{ .name = "usage",
	  .about = "Say what a session has spent, by itself and with all that "
		   "worked for it.",
	  .answer = ANSWER_USAGE,
	  .right = RIGHT_READ,
	  FIELDS(fields_session),
	  .run = method_usage },
	{ .name = "usage_add",
	  .about = "Write down what was spent without a message.",
	  .answer = ANSWER_USAGE "; `\"replayed\":true` if the operation id "
				 "was known",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_usage_add),
	  .run = method_usage_add },
};

const struct method_group methods_usage = METHOD_GROUP(rows);

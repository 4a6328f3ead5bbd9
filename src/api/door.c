/* door.c - weft_call: JSON in, JSON out, one table of methods behind it. */
#include "api/answer.h"
#include "api/api.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/near.h"

#define ANSWER_BYTES_MAX MIB(512)
#define CALL_BYTES_MAX   MIB(1024)
/* What a request may have besides the messages in it. */
#define REQUEST_BYTES_SPARE MIB(1)

struct weft_answer {
	struct buf text;
};

static int fail_method(struct call *c, yyjson_val *name)
{
	struct weft_str s = json_str(name);
	const char *words[64];
	const char *near;
	size_t n = 0;

	if (!yyjson_is_str(name))
		return fail(c->err, WEFT_INVALID,
			    "method: expected a string, found %s",
			    name ? json_kind(name) : "nothing");
	for (; n < ARRAY_LEN(words) && method_at(n); n++)
		words[n] = method_at(n)->name;
	near = near_word(s, words, n);
	if (near)
		return fail(c->err, WEFT_INVALID,
			    "no method \"%.*s\"; did you mean \"%s\"?",
			    STR_ARG(s), near);
	return fail(c->err, WEFT_INVALID,
		    "no method \"%.*s\"; \"methods\" lists them all",
		    STR_ARG(s));
}

static int call_checked(struct call *c)
{
	struct weft_str name;
	yyjson_val *method;
	int r;

	if (!yyjson_is_obj(c->root))
		return fail(c->err, WEFT_INVALID,
			    "a request is an object, not %s",
			    json_kind(c->root));
	method = yyjson_obj_get(c->root, "method");
	name = json_str(method);
	c->method = yyjson_is_str(method) ? method_find(name) : NULL;
	if (!c->method)
		return fail_method(c, method);
	r = fields_check(c);
	if (r == WEFT_OK)
		r = c->method->run(c);
	if (r == WEFT_OK)
		r = buf_error(&c->out, c->err);
	return r;
}

static int call_parsed(struct call *c, struct weft_str request)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct json_limits limits = {
		.bytes_max = (size_t)c->limits->message_bytes * 2 +
			     REQUEST_BYTES_SPARE,
	};
	int r;

	if (request.len > limits.bytes_max)
		return fail(c->err, WEFT_LIMIT,
			    "a request of %zu bytes, the limit is %zu",
			    request.len, limits.bytes_max);
	c->request = arena_str(&c->arena, request);
	if (!c->request.ptr)
		return arena_error(&c->arena, c->err);
	r = json_parse(c->request, &limits, &doc, c->err);
	if (r != WEFT_OK)
		return r;
	c->root = yyjson_doc_get_root(doc);
	return call_checked(c);
}

static void call_done(struct call *c)
{
	arena_done(&c->arena);
	buf_done(&c->out);
}

/* Failures that do not come from what was asked for. */
static bool is_of_machine(int code)
{
	return code == WEFT_NO_MEMORY || code == WEFT_IO || code == WEFT_BUSY ||
	       code == WEFT_NO_SPACE || code == WEFT_CORRUPT;
}

/* Who hears of such a failure believes that nothing was done. */
static int settle(const struct call *c, int code)
{
	char why[sizeof(c->err->message)];

	if (!c->written || !is_of_machine(code))
		return code;
	memcpy(why, c->err->message, sizeof(why));
	return fail(c->err, WEFT_UNKNOWN,
		    "%s: written, but the answer could not be made: %s",
		    c->method->name, why);
}

int weft_call(struct weft_store *store, const char *request, size_t request_len,
	      struct weft_answer **ret, struct weft_error *err)
{
	struct weft_error unheard;
	CLEANUP(call_done)
	struct call c = {
		.handle = store,
		.err = err ? err : &unheard,
	};
	int r;

	if (!store || !request || !ret)
		return fail(err, WEFT_INVALID,
			    "weft_call: store, request and ret may not be "
			    "NULL");
	c.engine = weft_store_engine(store);
	if (!c.engine)
		return fail(err, WEFT_INVALID, "the store has been closed");
	arena_init(&c.arena, CALL_BYTES_MAX);
	buf_init(&c.out, ANSWER_BYTES_MAX);
	c.store = engine_store(c.engine);
	c.limits = engine_limits(c.engine);

	r = engine_check_process(c.engine, c.err);
	if (r == WEFT_OK)
		r = call_parsed(&c, (struct weft_str){ request, request_len });
	if (r == WEFT_OK)
		r = answer_take(&c.out, ret, c.err);
	return settle(&c, r);
}

int answer_take(struct buf *text, struct weft_answer **ret,
		struct weft_error *err)
{
	struct weft_answer *answer = mem_alloc(sizeof(*answer));
	int r;

	if (!answer)
		return fail_no_memory(err);
	/* End the text while it can still fail. */
	(void)buf_cstr(text);
	r = buf_error(text, err);
	if (r != WEFT_OK) {
		mem_free(answer);
		return r;
	}
	answer->text = *text;
	buf_init(text, 0);
	*ret = answer;
	return WEFT_OK;
}

const char *weft_answer_text(const struct weft_answer *answer, size_t *ret_len)
{
	if (ret_len)
		*ret_len = answer ? answer->text.len : 0;
	return answer ? answer->text.ptr : "";
}

void weft_answer_free(struct weft_answer *answer)
{
	if (!answer)
		return;
	buf_done(&answer->text);
	mem_free(answer);
}

int call_run(struct call *c, struct request *q)
{
	int r;

	if (q->arena.failed)
		r = arena_error(&q->arena, c->err);
	else
		r = engine_run(c->engine, q, c->err);
	if (r != WEFT_OK)
		request_free(q);
	else
		c->written = true;
	return r;
}

int call_plain(struct call *c, const struct weft_id *session, uint32_t type,
	       struct weft_str body, struct request **ret)
{
	struct request *q = request_new(REQUEST_PLAIN, c->err);
	struct weft_str op = call_str(c, "op");
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	q->session = *session;
	q->token = call_u64(c, "token", 0);
	q->event_type = type;
	q->body = arena_str(&q->arena, body);
	q->bytes = body.len;
	if (op.len)
		q->op = arena_str(&q->arena, op);
	r = call_run(c, q);
	if (r == WEFT_OK)
		*ret = q;
	return r;
}

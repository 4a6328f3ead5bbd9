/* public.c - a store opened as programs do it; see public.h. */
#include "conformance/public.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"

static int64_t now(void *ctx)
{
	return ((const struct desk *)ctx)->now_ms;
}

void desk_ok_(struct desk *d, int r, const char *file, int line)
{
	if (r < 0)
		print_error("%s: %s\n", weft_code_name(r), d->err.message);
	_assert_true(r >= 0, "succeeded", file, line);
}

void desk_fails_(struct desk *d, int r, int code, const char *part,
		 const char *file, int line)
{
	if (r != code || !strstr(d->err.message, part))
		print_error("%s instead of %s with '%s': %s\n",
			    weft_code_name(r), weft_code_name(code), part,
			    r < 0 ? d->err.message : "");
	_assert_true(r == code, "failed as it should", file, line);
	_assert_true(d->err.code == code, "err.code is the result", file, line);
	_assert_true(strstr(d->err.message, part) != NULL, "said why", file,
		     line);
	d->err = (struct weft_error){ 0 };
}

int desk_open_again(struct desk *d, const char *options, uint32_t flags,
		    struct weft_store **ret)
{
	struct weft_open_options o;
	char url[sizeof(d->url) + 256];

	weft_open_options_init(&o, sizeof(o));
	o.flags = flags;
	o.now_ms = now;
	o.now_ctx = d;
	(void)snprintf(url, sizeof(url), "%s", d->url);
	add_options(url, sizeof(url), options);
	return weft_open(url, &o, ret, &d->err);
}

void desk_reopen(struct desk *d, const char *options)
{
	desk_ok(d, weft_close(d->store, &d->err));
	d->store = NULL;
	desk_ok(d, desk_open_again(d, options, 0, &d->store));
	(void)snprintf(d->id, sizeof(d->id), "%s", desk_new(d, ""));
}

int desk_setup(void **state)
{
	struct desk *d = mem_zero(1, sizeof(*d));

	assert_non_null(d);
	arena_init(&d->arena, 0);
	d->now_ms = TEST_BEGIN_MS;
	make_place(d->dir, d->url);
	desk_ok(d, desk_open_again(d, NULL, 0, &d->store));
	(void)snprintf(d->id, sizeof(d->id), "%s", desk_new(d, ""));
	*state = d;
	return 0;
}

int desk_teardown(void **state)
{
	struct desk *d = *state;
	int r = weft_close(d->store, NULL);

	if (remove_place(d->dir) < 0)
		r = -1;
	arena_done(&d->arena);
	mem_free(d);
	return r;
}

/* ---- the door ---- */

static int call(struct desk *d, const char *request, const char **ret)
{
	struct weft_answer *answer = NULL;
	struct weft_str text;
	int r = weft_call(d->store, request, strlen(request), &answer, &d->err);

	if (r < 0) {
		assert_null(answer);
		return r;
	}
	text.ptr = weft_answer_text(answer, &text.len);
	assert_int_equal(text.ptr[text.len], '\0');
	*ret = arena_str(&d->arena, text).ptr;
	weft_answer_free(answer);
	return r;
}

const char *desk_call(struct desk *d, const char *format, ...)
{
	const char *answer = NULL;
	va_list args;
	char *request;

	va_start(args, format);
	assert_true(vasprintf(&request, format, args) >= 0);
	va_end(args);
	desk_ok(d, call(d, request, &answer));
	free(request);
	return answer;
}

int desk_try_call(struct desk *d, const char *format, ...)
{
	const char *answer = NULL;
	va_list args;
	char *request;
	int r;

	va_start(args, format);
	assert_true(vasprintf(&request, format, args) >= 0);
	va_end(args);
	r = call(d, request, &answer);
	free(request);
	return r;
}

/* The "id" of an answer. */
static const char *id_in(struct desk *d, const char *answer)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	yyjson_val *id;

	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	id = yyjson_obj_get(yyjson_doc_get_root(doc), "id");
	assert_int_equal(yyjson_get_len(id), WEFT_ID_CHARS);
	return arena_str(&d->arena, json_str(id)).ptr;
}

const char *desk_new(struct desk *d, const char *members)
{
	const char *answer = desk_call(d, "{\"method\":\"new\"%s%s}",
				       *members ? "," : "", members);

	return id_in(d, answer);
}

const char *desk_fork(struct desk *d, const char *session)
{
	const char *answer = desk_call(
		d, "{\"method\":\"fork\",\"session\":\"%s\"}", session);

	return id_in(d, answer);
}

/* ---- messages ---- */

int desk_try(struct desk *d, const char *session, const char *json,
	     const struct weft_append_options *o, struct weft_receipt *ret)
{
	struct weft_receipt receipt;
	int r;

	memset(&receipt, 0x5a, sizeof(receipt));
	r = weft_append(d->store, session, strlen(session), json, strlen(json),
			o, ret ? ret : &receipt, &d->err);
	/* Outputs are left untouched on failure. */
	if (!ret && r < 0)
		assert_int_equal(receipt.seq, UINT64_C(0x5a5a5a5a5a5a5a5a));
	return r;
}

uint64_t desk_say(struct desk *d, const char *session, const char *text)
{
	struct weft_receipt receipt;
	char *json;

	assert_true(asprintf(&json, "{\"role\":\"user\",\"content\":\"%s\"}",
			     text) >= 0);
	desk_ok(d, desk_try(d, session, json, NULL, &receipt));
	free(json);
	return receipt.seq;
}

static void add_text(struct desk *d, struct buf *b, const struct weft_event *e)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(buf_done) struct buf body;
	yyjson_val *parts;

	buf_init(&body, MIB(64));
	buf_add_c(&body, '{');
	buf_add(&body, e->body, e->body_len);
	buf_add_c(&body, '}');
	desk_ok(d, json_parse(buf_str(&body), NULL, &doc, &d->err));
	parts = yyjson_obj_get(yyjson_doc_get_root(doc), "parts");
	if (!parts)
		return; /* gone */
	if (b->len > 0)
		buf_add_c(b, ' ');
	buf_add_str(b, json_str(yyjson_obj_get(yyjson_arr_get_first(parts),
					       "text")));
}

const char *desk_texts(struct desk *d, const char *session)
{
	struct weft_read_options o;
	CLEANUP(buf_done) struct buf b;
	int done = 0;

	buf_init(&b, MIB(64));
	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES;
	while (!done) {
		struct weft_page *page;
		struct weft_event e;

		desk_ok(d, weft_read(d->store, session, strlen(session), &o,
				     &page, &d->err));
		for (size_t i = 0; weft_page_event(page, i, &e); i++) {
			add_text(d, &b, &e);
			o.first = e.last + 1;
		}
		done = weft_page_done(page);
		weft_page_free(page);
	}
	return arena_str(&d->arena, buf_str(&b)).ptr;
}

uint64_t desk_head(struct desk *d, const char *session)
{
	uint64_t head = 0;

	desk_ok(d, weft_wait(d->store, session, strlen(session), 0, 0, &head,
			     &d->err));
	return head;
}

const char *desk_show(struct desk *d, const char *session)
{
	return desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
			 session);
}

const char *desk_member(struct desk *d, const char *json, const char *name)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	yyjson_val *v;

	desk_ok(d, json_parse(str_of(json), NULL, &doc, &d->err));
	v = yyjson_obj_get(yyjson_doc_get_root(doc), name);
	return yyjson_is_str(v) ? arena_str(&d->arena, json_str(v)).ptr : "";
}

/* ---- routing ---- */

void desk_configure(struct desk *d, const char *text)
{
	desk_ok(d, weft_configure(d->store, text, strlen(text), &d->err));
}

struct weft_route_options desk_from(const char *channel, const char *sender)
{
	struct weft_route_options o;

	weft_route_options_init(&o, sizeof(o));
	o.channel = str_of(channel);
	o.chat_type = STR("direct");
	o.chat_id = str_of(sender);
	o.sender_id = str_of(sender);
	return o;
}

struct weft_routed desk_route(struct desk *d,
			      const struct weft_route_options *o)
{
	struct weft_routed ret = { 0 };

	desk_ok(d, weft_route(d->store, o, &ret, &d->err));
	return ret;
}

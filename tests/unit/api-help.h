/* api-help.h - a store in memory, called through the door. */
#ifndef TEST_API_HELP_H
#define TEST_API_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "weft/weft.h"

#define START_MS INT64_C(1794736800000) /* 2026-11-15T10:00:00Z */

struct lab {
	struct weft_store *store;
	int64_t now_ms;
	struct weft_error err;
	char *text; /* the last answer */
	yyjson_doc *doc;
};

static inline int64_t lab_now(void *ctx)
{
	struct lab *lab = ctx;

	return lab->now_ms;
}

static inline void lab_open(struct lab *lab, const char *url)
{
	struct weft_open_options o;

	weft_open_options_init(&o, sizeof(o));
	o.now_ms = lab_now;
	o.now_ctx = lab;
	assert_int_equal(weft_open(url, &o, &lab->store, &lab->err), WEFT_OK);
}

static inline int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	lab->now_ms = START_MS;
	lab_open(lab, "memory:");
	*state = lab;
	return 0;
}

static inline void lab_forget(struct lab *lab)
{
	yyjson_doc_free(lab->doc);
	lab->doc = NULL;
	mem_free(lab->text);
	lab->text = NULL;
}

static inline int tear_down(void **state)
{
	struct lab *lab = *state;

	lab_forget(lab);
	assert_int_equal(weft_close(lab->store, &lab->err), WEFT_OK);
	test_free(lab);
	return 0;
}

static inline int call_raw_request(struct lab *lab, struct weft_str request)
{
	struct weft_answer *answer = NULL;
	size_t len;
	int r;

	lab_forget(lab);
	lab->err = (struct weft_error){ .code = 0 };
	r = weft_call(lab->store, request.ptr, request.len, &answer, &lab->err);
	if (r == WEFT_OK) {
		const char *text = weft_answer_text(answer, &len);

		assert_int_equal(text[len], '\0');
		lab->text = mem_copy((struct weft_str){ text, len });
		assert_non_null(lab->text);
		/* Whatever the door says is strict JSON. */
		assert_int_equal(json_parse((struct weft_str){ lab->text, len },
					    NULL, &lab->doc, &lab->err),
				 WEFT_OK);
		assert_null(memchr(text, '\n', len));
	} else {
		assert_null(answer);
		assert_int_equal(lab->err.code, r);
		assert_true(lab->err.message[0]);
	}
	weft_answer_free(answer);
	return r;
}

/* A request as printf would write it, with ' for ". */
static inline __attribute__((format(printf, 3, 0))) struct weft_str request_of(
	char *to, size_t room, const char *format, va_list args)
{
	int n = vsnprintf(to, room, format, args);

	assert_true(n > 0 && (size_t)n < room);
	for (char *p = to; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	return (struct weft_str){ to, (size_t)n };
}

static inline __attribute__((format(printf, 2, 3))) int try_call(
	struct lab *lab, const char *format, ...)
{
	char text[8192];
	va_list args;
	struct weft_str request;

	va_start(args, format);
	request = request_of(text, sizeof(text), format, args);
	va_end(args);
	return call_raw_request(lab, request);
}

/* Call what must succeed. */
static inline __attribute__((format(printf, 2, 3))) yyjson_val *call(
	struct lab *lab, const char *format, ...)
{
	char text[8192];
	va_list args;
	struct weft_str request;
	int r;

	va_start(args, format);
	request = request_of(text, sizeof(text), format, args);
	va_end(args);
	r = call_raw_request(lab, request);
	if (r != WEFT_OK)
		print_message("# %s\n# refused: %s\n", text, lab->err.message);
	assert_int_equal(r, WEFT_OK);
	return yyjson_doc_get_root(lab->doc);
}

/* Call what must fail with this message. */
static inline void refuse(struct lab *lab, const char *request, int code,
			  const char *message)
{
	int r = try_call(lab, "%s", request);

	if (r != code || strcmp(lab->err.message, message) != 0)
		print_message("# %s\n# %d: %s\n", request, r, lab->err.message);
	assert_int_equal(r, code);
	assert_string_equal(lab->err.message, message);
}

static inline const char *get_str(yyjson_val *object, const char *name)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	if (!yyjson_is_str(v))
		print_message("# no text \"%s\"\n", name);
	assert_true(yyjson_is_str(v));
	return yyjson_is_str(v) ? yyjson_get_str(v) : "";
}

/* Keep a text of the last answer beyond the next call. */
static inline void keep(char *to, size_t room, yyjson_val *object,
			const char *name)
{
	const char *text = get_str(object, name);
	size_t n = strlen(text);

	assert_true(n < room);
	memcpy(to, text, n + 1);
}

static inline uint64_t get_u64(yyjson_val *object, const char *name)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	if (!yyjson_is_uint(v))
		print_message("# no number \"%s\"\n", name);
	assert_true(yyjson_is_uint(v));
	return yyjson_get_uint(v);
}

static inline bool is_null(yyjson_val *object, const char *name)
{
	return yyjson_is_null(yyjson_obj_get(object, name));
}

static inline bool is_true(yyjson_val *object, const char *name)
{
	return yyjson_is_true(yyjson_obj_get(object, name));
}

/* Begin a session under this key. */
static inline void begin(struct lab *lab, const char *key)
{
	(void)call(lab, "{'method':'new','key':'%s'}", key);
}

/* Say something in it; the number of what was said. */
static inline uint64_t say(struct lab *lab, const char *key, const char *text)
{
	return get_u64(call(lab,
			    "{'method':'append','session':'%s','message':"
			    "{'role':'user','content':'%s'}}",
			    key, text),
		       "seq");
}

#endif

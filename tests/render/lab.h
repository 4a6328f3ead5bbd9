/* lab.h - render messages and look at what comes out. */
#ifndef TESTS_RENDER_LAB_H
#define TESTS_RENDER_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/message.h"
#include "model/render.h"
#include "render/validity.h"

/* Literals with commas between them, up to six. */
#define JOIN_1(a)                           a
#define JOIN_2(a, b)                        a "," b
#define JOIN_3(a, b, c)                     a "," b "," c
#define JOIN_4(a, b, c, d)                  a "," b "," c "," d
#define JOIN_5(a, b, c, d, e)               a "," b "," c "," d "," e
#define JOIN_6(a, b, c, d, e, f)            a "," b "," c "," d "," e "," f
#define PICK_7(a, b, c, d, e, f, name, ...) name
#define JOIN(...)                                                           \
	PICK_7(__VA_ARGS__, JOIN_6, JOIN_5, JOIN_4, JOIN_3, JOIN_2, JOIN_1) \
	(__VA_ARGS__)

struct lab {
	struct arena a;
	struct buf out;
	yyjson_doc *doc;
	struct weft_str bodies[64];
	size_t n;
	struct weft_str summary;
	struct render_options options;
};

static inline int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	arena_init(&lab->a, 0);
	buf_init(&lab->out, 0);
	*state = lab;
	return 0;
}

static inline int tear_down(void **state)
{
	struct lab *lab = *state;

	yyjson_doc_free(lab->doc);
	buf_done(&lab->out);
	arena_done(&lab->a);
	test_free(lab);
	return 0;
}

/* Add a body as it is, also one that nobody would have been let write. */
static inline void add_body(struct lab *lab, struct weft_str body)
{
	assert_true(lab->n < ARRAY_LEN(lab->bodies));
	lab->bodies[lab->n] = arena_str(&lab->a, body);
	assert_non_null(lab->bodies[lab->n].ptr);
	lab->n++;
}

/* Add a message: its members, with ' for ". */
static inline void add(struct lab *lab, const char *members)
{
	struct weft_str body = arena_str(&lab->a, str_of(members));
	char *p = memcpy(arena_alloc(&lab->a, body.len + 1), body.ptr,
			 body.len + 1);

	for (size_t i = 0; i < body.len; i++)
		p[i] = (char)(p[i] == '\'' ? '"' : p[i]);
	add_body(lab, (struct weft_str){ p, body.len });
}

/* A message of one text. */
static inline void say(struct lab *lab, const char *role, const char *text)
{
	add_body(lab, arena_printf(&lab->a,
				   "\"role\":\"%s\",\"parts\":[{\"type\":"
				   "\"text\",\"text\":\"%s\"}]",
				   role, text));
}

static inline void say_call(struct lab *lab, const char *id, const char *input)
{
	add_body(lab, arena_printf(&lab->a,
				   "\"role\":\"assistant\",\"parts\":[{"
				   "\"type\":\"tool_use\",\"id\":\"%s\","
				   "\"name\":\"f\",\"input\":%s}]",
				   id, input));
}

static inline void say_result(struct lab *lab, const char *id,
			      const char *content)
{
	add_body(lab, arena_printf(&lab->a,
				   "\"role\":\"tool\",\"parts\":[{\"type\":"
				   "\"tool_result\",\"tool_use_id\":\"%s\","
				   "\"content\":\"%s\"}]",
				   id, content));
}

static inline void render_all(struct lab *lab, uint32_t format)
{
	CLEANUP(render_done) struct render r = { 0 };
	struct render_options o = lab->options;
	struct weft_error err;

	o.format = format;
	render_init(&r, &o, &lab->a);
	for (size_t i = 0; i < lab->n; i++) {
		size_t k = o.newest_first ? lab->n - 1 - i : i;

		if (render_enough(&r))
			break;
		assert_int_equal(render_add(&r, k + 1, lab->bodies[k], &err),
				 WEFT_OK);
	}
	buf_reset(&lab->out);
	assert_int_equal(render_write(&r, lab->summary, &lab->out, &err),
			 WEFT_OK);
}

/* Render, check that it is valid, and return it. */
static inline yyjson_val *render(struct lab *lab, uint32_t format)
{
	struct verdict v = { "not JSON" };
	bool valid = false;
	yyjson_val *root;

	render_all(lab, format);
	yyjson_doc_free(lab->doc);
	lab->doc = yyjson_read(lab->out.ptr, lab->out.len, 0);
	root = yyjson_doc_get_root(lab->doc);
	if (root && format == RENDER_ANTHROPIC)
		valid = valid_anthropic(root, &v);
	else if (root && format == RENDER_OPENAI)
		valid = valid_openai(root, &v);
	else if (root)
		valid = valid_responses(root, &v);
	if (!valid)
		print_message("# %s\n# %s\n", v.why, buf_cstr(&lab->out));
	assert_true(valid);
	return root;
}

/* The same, and it is exactly this, with ' for ". */
static inline void expect(struct lab *lab, uint32_t format, const char *json)
{
	char text[4096];
	size_t n = strlen(json);

	assert_true(n < sizeof(text));
	for (size_t i = 0; i <= n; i++)
		text[i] = (char)(json[i] == '\'' ? '"' : json[i]);
	(void)render(lab, format);
	if (!str_eq(buf_str(&lab->out), str_of(text)))
		print_message("# found    %s\n# expected %s\n",
			      buf_cstr(&lab->out), text);
	assert_string_equal(buf_cstr(&lab->out), text);
}

#endif

/* test-json-text.c - JSON as text: stepping, minifying, unescaping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"

/* The text in memory of its own size, with nothing behind it. */
struct exact {
	char *room;
	struct weft_str text;
};

static struct exact exactly(struct weft_str s)
{
	struct exact e = { .room = mem_alloc(s.len + 1) };

	if (s.len)
		memcpy(e.room + 1, s.ptr, s.len);
	e.text = (struct weft_str){ e.room + 1, s.len };
	return e;
}

/* All members as "key=raw;". */
static void list_members(struct weft_str text, struct buf *b)
{
	struct exact e = exactly(text);
	struct weft_str key, raw;
	size_t pos = 0;

	buf_reset(b);
	while (json_next_member(e.text, &pos, &key, &raw)) {
		buf_add_str(b, key);
		buf_add_c(b, '=');
		buf_add_str(b, raw);
		buf_add_c(b, ';');
	}
	mem_free(e.room);
}

static void members_come_in_order_with_their_own_bytes(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, KIB(4));
	list_members(STR("{}"), &b);
	assert_int_equal(b.len, 0);
	list_members(STR(" \n{ } "), &b);
	assert_int_equal(b.len, 0);
	list_members(STR("{\"a\":1}"), &b);
	assert_string_equal(buf_cstr(&b), "a=1;");
	list_members(STR(" { \"a\" : 1.50 ,\n\"b\\\"\\\\\":\"x\\\\\\\",}\" ,"
			 "\"\":[ {\"]\":\"}\"} , [] ] , \"d\":{\"a\": 1 },"
			 "\"e\":null , \"f\":-0e+1\t} "),
		     &b);
	assert_string_equal(buf_cstr(&b),
			    "a=1.50;b\\\"\\\\=\"x\\\\\\\",}\";"
			    "=[ {\"]\":\"}\"} , [] ];d={\"a\": 1 };"
			    "e=null;f=-0e+1;");
}

static void elements_come_in_order_with_their_own_bytes(void **state)
{
	const struct weft_str text =
		STR(" [ 1,\"a,]\" , [2,[3]] ,{\"x\":[4]},null\n] ");
	static const char *const expected[] = { "1", "\"a,]\"", "[2,[3]]",
						"{\"x\":[4]}", "null" };
	struct weft_str raw;
	size_t pos = 0, n = 0;

	(void)state;
	while (json_next_element(text, &pos, &raw)) {
		assert_true(str_eq(raw, str_of(expected[n])));
		n++;
	}
	assert_int_equal(n, ARRAY_LEN(expected));
	assert_false(json_next_element(text, &pos, &raw));
	pos = 0;
	assert_false(json_next_element(STR(" [ ] "), &pos, &raw));
	pos = 0;
	assert_false(json_next_element(STR("{}"), &pos, &raw));
	pos = 0;
	assert_false(json_next_element(STR(""), &pos, &raw));
}

static void text_that_is_no_json_ends_the_steps(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"{",
		"[",
		"{\"a",
		"{\"a\"",
		"{\"a\":",
		"{\"a\":\"",
		"{\"a\":[",
		"{\"a\":[}",
		"{a:1}",
		"{\"a\" 1}",
		"{\"a\":,}",
		"{\"a\":}",
		"\"a\":1",
		"{\"a\":\"\\\"}",
		"{\"a\":{\"b\":\"]}",
	};
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, KIB(4));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		list_members(str_of(bad[i]), &b);
		if (b.len && strcmp(buf_cstr(&b), "a=[};") != 0)
			fail_msg("%s: %s", bad[i], buf_cstr(&b));
	}
}

/* Bytes at random, most of them JSON's own: nothing is read that is not
 * there, and every step gets further. */
static void any_bytes_can_be_stepped_through(void **state)
{
	static const char set[] = "{}[]\",:\\ \n\t1ax";
	CLEANUP(buf_done) struct buf b;
	uint32_t x = 1;

	(void)state;
	buf_init(&b, KIB(4));
	for (int round = 0; round < 200000; round++) {
		size_t len = (size_t)(round % 24), pos = 0, before = 0;
		struct weft_str key, raw;
		char *text = mem_alloc(len + 1);
		struct weft_str s = { text + 1, len };

		for (size_t i = 1; i <= len; i++) {
			x = x * 1103515245 + 12345;
			text[i] = set[(x >> 16) % (sizeof(set) - 1)];
		}
		if (len)
			text[1] = round % 2 ? '{' : '[';
		while (json_next_member(s, &pos, &key, &raw)) {
			assert_true(pos > before && pos <= len);
			assert_true(raw.ptr + raw.len == s.ptr + pos);
			before = pos;
		}
		pos = before = 0;
		while (json_next_element(s, &pos, &raw)) {
			assert_true(pos > before && pos <= len);
			before = pos;
		}
		buf_reset(&b);
		buf_add_minified(&b, s);
		assert_true(b.len <= len && !b.error);
		mem_free(text);
	}
}

static void expect_minified(const char *text, const char *expected)
{
	CLEANUP(buf_done) struct buf b;
	struct exact e = exactly(str_of(text));

	buf_init(&b, KIB(4));
	buf_add_minified(&b, e.text);
	assert_string_equal(buf_cstr(&b), expected);
	mem_free(e.room);
}

static void white_space_between_tokens_is_dropped(void **state)
{
	(void)state;
	expect_minified("", "");
	expect_minified(" \n", "");
	expect_minified(" [ 1 , 2.50 , \"a b\\\" c \" ]\r\n",
			"[1,2.50,\"a b\\\" c \"]");
	expect_minified("{\n\t\"a b\": [ ],\n\t\"c\": { \"d\" : null }\n}\n",
			"{\"a b\":[],\"c\":{\"d\":null}}");
	expect_minified("\" \\\\\" ", "\" \\\\\"");
	expect_minified("[\"no end ] ", "[\"no end ] ");
}

static void minified_text_only_needs_the_room_it_takes(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, 5);
	buf_add_minified(&b, STR("[          1 ,          2        ]"));
	assert_int_equal(b.error, 0);
	assert_int_equal(b.len, 5);
	buf_reset(&b);
	buf_add_minified(&b, STR("[1,23]"));
	assert_int_equal(b.error, WEFT_LIMIT);
}

static void only_text_of_several_lines_is_minified(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, KIB(4));
	buf_add_one_line(&b, STR("[ 1, \"a\\n\" ]"));
	buf_add_c(&b, '|');
	buf_add_one_line(&b, STR("[ 1,\n \"a\\n b\" ]"));
	buf_add_c(&b, '|');
	buf_add_one_line(&b, STR("[ 1,\r2 ]"));
	buf_add_one_line(&b, (struct weft_str){ NULL, 0 });
	assert_string_equal(buf_cstr(&b),
			    "[ 1, \"a\\n\" ]|[1,\"a\\n b\"]|[1,2]");
}

static void a_value_is_written_compactly(void **state)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, KIB(4));
	assert_int_equal(
		json_parse(STR("{ \"a\" : [ 1, \"\\u00e9/\\n\", {} ] }"), NULL,
			   &doc, NULL),
		WEFT_OK);
	buf_add_val(&b, doc->root);
	assert_string_equal(buf_cstr(&b), "{\"a\":[1,\"\xc3\xa9/\\n\",{}]}");
	mem_fault(0, 0);
	buf_add_val(&b, doc->root);
	mem_fault(-1, 0);
	assert_int_equal(b.error, WEFT_NO_MEMORY);
	buf_done(&b);
	buf_init(&b, 5);
	buf_add_val(&b, doc->root);
	assert_int_equal(b.error, WEFT_LIMIT);
}

static void expect_unescaped(const char *raw, struct weft_str expected)
{
	CLEANUP(arena_done) struct arena a;
	struct exact e = exactly(str_of(raw));
	struct weft_str s;

	arena_init(&a, 0);
	assert_int_equal(json_unescape(e.text, &a, &s, NULL), WEFT_OK);
	assert_true(str_eq(s, expected));
	mem_free(e.room);
}

static void escapes_become_what_they_stand_for(void **state)
{
	(void)state;
	expect_unescaped("", STR(""));
	expect_unescaped("a\\\"\\\\\\/\\b\\f\\n\\r\\tz",
			 STR("a\"\\/\b\f\n\r\tz"));
	expect_unescaped("\\u0041\\u00e9\\u20AC\\u20ac",
			 STR("A\xc3\xa9\xe2\x82\xac\xe2\x82\xac"));
	expect_unescaped("x\\ud83d\\ude00y", STR("x\xf0\x9f\x98\x80y"));
	expect_unescaped("\\ud800\\udc00\\udbff\\udfff",
			 STR("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
	expect_unescaped("a\\u0000b", STR("a\0b"));
	expect_unescaped("\\uffff\\u07ff\\u0800\\u007f\\u0080",
			 STR("\xef\xbf\xbf\xdf\xbf\xe0\xa0\x80\x7f\xc2\x80"));
}

static void text_without_escapes_is_not_copied(void **state)
{
	const struct weft_str raw = STR("plain \xc3\xa9");
	struct weft_str s;
	struct arena a;

	(void)state;
	arena_init(&a, 1);
	assert_int_equal(json_unescape(raw, &a, &s, NULL), WEFT_OK);
	assert_ptr_equal(s.ptr, raw.ptr);
	assert_int_equal(s.len, raw.len);
	arena_done(&a);
}

static void broken_escapes_are_refused(void **state)
{
	static const char *const bad[] = {
		"\\",
		"a\\",
		"\\x41",
		"\\u",
		"\\u123",
		"\\u12g4",
		"\\ud800",
		"\\udc00",
		"\\ud800x",
		"\\ud800\\n",
		"\\ud800\\u",
		"\\ud800\\u0041",
		"\\ud800\\ud800",
		"\\ud83d\\ude0",
		"\\U0041",
		"\\'",
		"\\udc00\\udc00",
		"\\ud800\\ue000",

	};
	struct weft_error err;
	struct weft_str s;
	struct arena a;

	(void)state;
	arena_init(&a, 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct exact e = exactly(str_of(bad[i]));

		if (json_unescape(e.text, &a, &s, &err) != WEFT_INVALID)
			fail_msg("took %s", bad[i]);
		mem_free(e.room);
	}
	assert_int_equal(json_unescape(STR("\\\0"), &a, &s, &err),
			 WEFT_INVALID);
	arena_done(&a);
	arena_init(&a, 8);
	assert_int_equal(json_unescape(STR("\\n"), &a, &s, &err), WEFT_LIMIT);
	arena_done(&a);
}

/* The bytes of a value are found from the tree, escapes or not. */
static void a_value_of_the_tree_has_its_own_bytes(void **state)
{
	static const struct {
		const char *text, *raw;
	} cases[] = {
		{ "{\"k\":\"\"}", "\"\"" },
		{ "{\"k\" : \"a\" , \"l\":\"b\"}", "\"a\"" },
		{ "{\"k\":\"\\\"\"}", "\"\\\"\"" },
		{ "{\"k\":\"\\\\\"}", "\"\\\\\"" },
		{ "{\"k\":\"\\u0041\\\\\\\"x\"}", "\"\\u0041\\\\\\\"x\"" },
		{ "{\"k\":\"\\ud83d\\ude00\\\"\",\"l\":\"\"}",
		  "\"\\ud83d\\ude00\\\"\"" },
		{ "{\"\\u006b\" : { \"k\" : [ ] } }", "{ \"k\" : [ ] }" },
		{ "{\"k\":-1.50e+3}", "-1.50e+3" },
		{ "{\"k\": null }", "null" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct exact e = exactly(str_of(cases[i].text));
		yyjson_doc *doc = NULL;
		yyjson_obj_iter it;
		struct weft_str raw;

		assert_int_equal(json_parse(e.text, NULL, &doc, NULL), WEFT_OK);
		it = yyjson_obj_iter_with(yyjson_doc_get_root(doc));
		raw = json_raw_value(doc, e.text, yyjson_obj_iter_next(&it));
		if (!str_eq(raw, str_of(cases[i].raw)))
			fail_msg("found %.*s in %s", STR_ARG(raw),
				 cases[i].text);
		yyjson_doc_free(doc);
		mem_free(e.room);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_come_in_order_with_their_own_bytes),
		cmocka_unit_test(elements_come_in_order_with_their_own_bytes),
		cmocka_unit_test(text_that_is_no_json_ends_the_steps),
		cmocka_unit_test(any_bytes_can_be_stepped_through),
		cmocka_unit_test(white_space_between_tokens_is_dropped),
		cmocka_unit_test(minified_text_only_needs_the_room_it_takes),
		cmocka_unit_test(only_text_of_several_lines_is_minified),
		cmocka_unit_test(a_value_is_written_compactly),
		cmocka_unit_test(escapes_become_what_they_stand_for),
		cmocka_unit_test(text_without_escapes_is_not_copied),
		cmocka_unit_test(broken_escapes_are_refused),
		cmocka_unit_test(a_value_of_the_tree_has_its_own_bytes),
	};

	return cmocka_run_group_tests_name("json-text", tests, NULL, NULL);
}

/* test-json.c - strict reading: what is refused, and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
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

static int parse_with(struct weft_str text, const struct json_limits *limits,
		      struct weft_error *err)
{
	struct exact e = exactly(text);
	yyjson_doc *doc;
	int r = json_parse(e.text, limits, &doc, err);

	if (r == WEFT_OK)
		yyjson_doc_free(doc);
	mem_free(e.room);
	return r;
}

static void expect_good(const char *text)
{
	struct weft_error err;

	if (parse_with(str_of(text), NULL, &err) != WEFT_OK)
		fail_msg("%s: %s", text, err.message);
}

static void expect_bad(struct weft_str text, const char *message)
{
	struct weft_error err;

	if (parse_with(text, NULL, &err) != WEFT_INVALID)
		fail_msg("took %.*s", STR_ARG(text));
	assert_string_equal(err.message, message);
}

static void json_is_read(void **state)
{
	static const char *const good[] = {
		"{}",
		"[]",
		"null",
		" true ",
		"\"\"",
		"0",
		"-0",
		"1e999",
		"-1E+400",
		"123456789012345678901234567890",
		"0.1234567890123456789012345678901234567890",
		"\t\r\n[ 1 , {\"a\" : \"b\"} ]\n",
		"\"\\u0000\\ud83d\\ude00\\/\\\"\\\\\\b\\f\\n\\r\\t\"",
		"\"\xf0\x9f\x98\x80\x7f\"",
		"[\"]\",\"\\\"[{\"]",
		"{\"\":1,\"a\":{\"\":2}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		expect_good(good[i]);
}

static void what_is_no_json_is_refused_with_its_place(void **state)
{
	(void)state;
	expect_bad(STR(""), "not JSON: nothing there");
	expect_bad(STR(" \n\t"), "not JSON: nothing there at line 1, column 1");
	expect_bad(STR("{\"a\": x}"),
		   "not JSON: unexpected character at column 7");
	expect_bad(STR("[1]\n[2]"),
		   "not JSON: something behind the value at line 2, column 1");
	expect_bad(STR("[1"), "not JSON: unexpected end at column 3");
	expect_bad(STR("[1,\n2,]"),
		   "not JSON: trailing comma at line 2, column 2");
	expect_bad(STR("\n\n  [01]"),
		   "not JSON: invalid number at line 3, column 4");
	expect_bad(STR("{\"a\":nul0}"), "not JSON: invalid word at column 6");
	expect_bad(STR("\"\xc3\xa9\" x"),
		   "not JSON: something behind the value at column 6");
	expect_bad(STR("\xef\xbb\xbf{}"),
		   "not JSON: byte order mark at column 1");
	expect_bad(STR("[\"a\xff\"]"), "not JSON: not UTF-8 at column 4");
	expect_bad(STR("[\"\\ud800\"]"),
		   "not JSON: lone surrogate in a string at column 9");
	expect_bad(STR("[\"\\uD83D\\u0041\"]"),
		   "not JSON: lone surrogate in a string at column 9");
	expect_bad(STR("[\"\\udc00 b\"]"),
		   "not JSON: lone surrogate in a string at column 3");
	expect_bad(STR("[\"\\ud83d\\n\"]"),
		   "not JSON: lone surrogate in a string at column 9");
	expect_bad(
		STR("[\"a\nb\"]"),
		"not JSON: control character in a string at line 1, column 4");
	expect_bad(STR("[\"a\0b\"]"),
		   "not JSON: control character in a string at column 4");
	expect_bad(STR("[\"\\x41\"]"),
		   "not JSON: invalid escape in a string at column 4");
	expect_bad(STR("[\"\\u12g4\"]"),
		   "not JSON: invalid escape in a string at column 3");
}

static void other_dialects_are_refused(void **state)
{
	static const struct weft_str bad[] = {
		STR_INIT("{a:1}"),
		STR_INIT("{'a':1}"),
		STR_INIT("{\"a\" 1}"),
		STR_INIT("{\"a\":}"),
		STR_INIT("{\"a\"}"),
		STR_INIT("{,}"),
		STR_INIT("{1:2}"),
		STR_INIT("[1 2]"),
		STR_INIT("[1}"),
		STR_INIT("{\"a\":1]"),
		STR_INIT("[,1]"),
		STR_INIT("/* */ 1"),
		STR_INIT("[1] // x"),
		STR_INIT("NaN"),
		STR_INIT("[Infinity]"),
		STR_INIT("-"),
		STR_INIT("+1"),
		STR_INIT(".5"),
		STR_INIT("5."),
		STR_INIT("1e"),
		STR_INIT("0x1"),
		STR_INIT("-01"),
		STR_INIT("TRUE"),
		STR_INIT("]"),
		STR_INIT("\""),
		STR_INIT("\"a"),
		STR_INIT("\"\\\""),
		STR_INIT("\"\\x41\""),
		STR_INIT("\"\\u12g4\""),
		STR_INIT("\"\\u12\""),
		STR_INIT("\"a\nb\""),
		STR_INIT("\"a\tb\""),
		STR_INIT("\"\x1f\""),
		/* NUL bytes: inside, in a string, behind, alone. */
		STR_INIT("[1\0]"),
		STR_INIT("\"a\0b\""),
		STR_INIT("{}\0"),
		STR_INIT("\0"),
		/* White space of other kinds. */
		STR_INIT("\v1"),
		STR_INIT("\xc2\xa0"
			 "1"),
	};
	struct weft_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (parse_with(bad[i], NULL, &err) != WEFT_INVALID)
			fail_msg("took %.*s", STR_ARG(bad[i]));
		assert_memory_equal(err.message, "not JSON: ", 10);
	}
}

static void strings_must_be_unicode(void **state)
{
	static const char *const bad[] = {
		"\"\\ud800\"",        "\"\\udc00\"",
		"\"\\ud800\\ud800\"", "\"\\ud83dx\"",
		"\"\\ude00\\ud83d\"", "\"\\ud83d\\n\"",
		"\"\xff\"",           "\"\xc3\"",
		"\"\xc0\x80\"",       "\"\xc1\xbf\"",
		"\"\xe0\x80\xaf\"",   "\"\xf0\x80\x80\xaf\"",
		"\"\xed\xa0\x80\"",   "\"\xf4\x90\x80\x80\"",
		"\"\xe2\x82\"",       "{\"\xff\":1}",
		"{\"\\ud800\":1}",    "\xff",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (parse_with(str_of(bad[i]), NULL, NULL) != WEFT_INVALID)
			fail_msg("took number %zu", i);
	}
	expect_bad(STR("[\"a\",\n \"\xff\"]"),
		   "not JSON: not UTF-8 at line 2, column 3");
}

static void duplicate_members_are_refused_with_their_place(void **state)
{
	(void)state;
	expect_bad(STR("{\"a\":1,\"a\":1}"), "member \"a\" twice at column 8");
	expect_bad(STR("{\"role\":\"user\",\n\"x\":{},\n  \"role\":1}"),
		   "member \"role\" twice at line 3, column 3");
	expect_bad(STR("[{\"a\":[{\"b\":1,\"c\":2,\"b\":3}]}]"),
		   "member \"b\" twice at column 21");
	expect_bad(STR("{\"\":1,\"\":2}"), "member \"\" twice at column 7");
	/* The escapes before it turn into fewer bytes, one a newline. */
	expect_bad(STR("{\"x\\n\\u00e9\":0,\"a\":\"\\n\\n\",\"a\":1}"),
		   "member \"a\" twice at column 27");
}

static void names_are_compared_as_they_read(void **state)
{
	(void)state;
	expect_bad(STR("{\"a\":1,\"\\u0061\":2}"),
		   "member \"a\" twice at column 8");
	expect_bad(STR("{\"\\/\":1,\"/\":2}"),
		   "member \"/\" twice at column 9");
	expect_bad(STR("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"),
		   "member \"\xf0\x9f\x98\x80\" twice at column 19");
	expect_good("{\"a\":1,\"A\":2}");
	expect_good("{\"a\":1,\"a \":2}");
	/* Up to the NUL they are alike. */
	expect_good("{\"a\\u0000b\":1,\"a\\u0000c\":2,\"a\":3}");
	expect_bad(STR("{\"a\\u0000b\":1,\"a\\u0000b\":2}"),
		   "member \"a\" twice at column 15");
	/* Composed and decomposed are two names. */
	expect_good("{\"\xc3\xa9\":1,\"e\xcc\x81\":2}");
}

static void equal_names_in_different_objects_are_fine(void **state)
{
	(void)state;
	expect_good("[{\"a\":1},{\"a\":1},{\"b\":{\"a\":1},\"a\":{\"a\":2}}]");
	expect_good("{\"a\":[{\"a\":{}},{\"a\":[]}],\"b\":\"a\"}");
}

static void a_long_name_is_cut_in_the_message(void **state)
{
	struct weft_error err;
	struct buf b;

	(void)state;
	buf_init(&b, KIB(8));
	buf_add_c(&b, '{');
	for (int i = 0; i < 2; i++) {
		buf_add_lit(&b, "\"");
		for (int k = 0; k < 1000; k++)
			buf_add_lit(&b, "\xc3\xa9");
		buf_add_str(&b, i == 0 ? STR("\":1,") : STR("\":2}"));
	}
	assert_int_equal(parse_with(buf_str(&b), NULL, &err), WEFT_INVALID);
	assert_true(strlen(err.message) < 200);
	assert_non_null(strstr(err.message, "\xc3\xa9\" twice at column 2007"));
	buf_done(&b);
}

/* An object of n members in which the last has the name of number `again`;
 * none if it is n - 1. */
static void add_members(struct buf *b, int n, int again)
{
	buf_add_c(b, '{');
	for (int i = 0; i < n; i++)
		buf_printf(b, "%s\"n%d\":{\"n%d\":%d}", i ? "," : "",
			   i == n - 1 ? again : i, i, i);
	buf_add_c(b, '}');
}

/* Small objects and large ones are checked in different ways. */
static void duplicates_are_found_in_objects_of_any_size(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, MIB(1));
	for (int n = 2; n < 140; n += n < 40 ? 1 : 33) {
		for (int again = 0; again < n; again++) {
			int expected = again == n - 1 ? WEFT_OK : WEFT_INVALID;

			buf_reset(&b);
			add_members(&b, n, again);
			assert_int_equal(parse_with(buf_str(&b), NULL, NULL),
					 expected);
		}
	}
	buf_done(&b);
}

/* The table for large objects is used again: the names in it are not. */
static void large_objects_do_not_disturb_each_other(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, MIB(1));
	buf_add_c(&b, '[');
	for (int n = 500; n > 17; n -= 100) {
		add_members(&b, n, n - 1);
		buf_add_c(&b, ',');
	}
	add_members(&b, 900, 899);
	buf_add_c(&b, ']');
	assert_int_equal(parse_with(buf_str(&b), NULL, NULL), WEFT_OK);
	b.len--;
	buf_add_c(&b, ',');
	add_members(&b, 50, 7);
	buf_add_c(&b, ']');
	assert_int_equal(parse_with(buf_str(&b), NULL, NULL), WEFT_INVALID);
	buf_done(&b);
}

/* Pairwise this would take hours; the bound is far from the usual half
 * second. */
static void a_million_members_take_no_time(void **state)
{
	const int64_t start = clock_mono_us();
	struct weft_error err;
	struct buf b;

	(void)state;
	buf_init(&b, MIB(64));
	buf_add_c(&b, '{');
	for (int i = 0; i < 1000000; i++)
		buf_printf(&b, "\"k%d\":1,", i);
	buf_add_lit(&b, "\"k\\u0035\":1}");
	assert_int_equal(parse_with(buf_str(&b), NULL, &err), WEFT_INVALID);
	assert_non_null(strstr(err.message, "member \"k5\" twice at column"));
	assert_true(clock_mono_us() - start < 30 * 1000000);
	buf_done(&b);
}

static void add_nested(struct buf *b, int depth, bool objects)
{
	for (int i = 0; i < depth; i++)
		buf_add_str(b, objects ? STR("{\"a\":") : STR("["));
	buf_add_c(b, '1');
	for (int i = 0; i < depth; i++)
		buf_add_c(b, objects ? '}' : ']');
}

/* Short text and long text are checked in different ways. */
static void check_depth(bool objects, size_t padding)
{
	struct weft_error err;
	struct buf b;

	buf_init(&b, MIB(1));
	for (int depth = 126; depth <= 131; depth++) {
		int expected = depth <= JSON_DEPTH_MAX ? WEFT_OK : WEFT_LIMIT;

		buf_reset(&b);
		for (size_t i = 0; i < padding; i++)
			buf_add_c(&b, ' ');
		add_nested(&b, depth, objects);
		assert_int_equal(parse_with(buf_str(&b), NULL, &err), expected);
		if (!objects && padding == 0 && depth == 129)
			assert_string_equal(err.message,
					    "JSON more than 128 levels deep "
					    "at column 129");
	}
	buf_done(&b);
}

static void depth_128_is_read_and_129_is_not(void **state)
{
	(void)state;
	check_depth(false, 0);
	check_depth(true, 0);
	check_depth(false, KIB(70));
	check_depth(true, KIB(70));
}

static void a_lower_depth_can_be_asked_for(void **state)
{
	const struct json_limits three = { .depth_max = 3 };
	const struct json_limits more = { .depth_max = 100000 };
	struct weft_error err;
	struct buf b;

	(void)state;
	assert_int_equal(parse_with(STR("[[[1],[]],[[2]]]"), &three, &err), 0);
	assert_int_equal(parse_with(STR("[[[1]],\n[{}]]"), &three, &err), 0);
	assert_int_equal(parse_with(STR("[[[1]],\n[[{}]]]"), &three, &err),
			 WEFT_LIMIT);
	assert_string_equal(err.message, "JSON more than 3 levels deep at "
					 "line 2, column 3");
	/* JSON_DEPTH_MAX holds even then. */
	buf_init(&b, KIB(8));
	add_nested(&b, 129, false);
	assert_int_equal(parse_with(buf_str(&b), &more, &err), WEFT_LIMIT);
	buf_done(&b);
}

static void brackets_in_strings_are_not_depth(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, MIB(1));
	buf_add_lit(&b, "[\"\\\"");
	for (size_t i = 0; i < KIB(80); i++)
		buf_add_c(&b, '[');
	buf_add_lit(&b, "\\\\\",\"");
	for (size_t i = 0; i < KIB(80); i++)
		buf_add_c(&b, '{');
	buf_add_lit(&b, "\"]");
	assert_int_equal(parse_with(buf_str(&b), NULL, NULL), WEFT_OK);
	buf_done(&b);
}

/* A tree of it would be 16 times as large. */
static void hopeless_depth_costs_no_memory(void **state)
{
	uint64_t before;
	struct buf b;
	yyjson_doc *doc;
	int r;

	(void)state;
	buf_init(&b, MIB(4));
	for (size_t i = 0; i < MIB(4); i++)
		buf_add_c(&b, '[');
	before = mem_allocations();
	r = json_parse(buf_str(&b), NULL, &doc, NULL);
	assert_int_equal(r, WEFT_LIMIT);
	assert_int_equal(mem_allocations(), before);
	buf_done(&b);
}

static void the_limit_of_bytes_is_exact(void **state)
{
	const struct json_limits ten = { .bytes_max = 10 };
	struct weft_error err;

	(void)state;
	assert_int_equal(parse_with(STR("[\"123456\"]"), &ten, &err), 0);
	assert_int_equal(parse_with(STR("[\"1234567\"]"), &ten, &err),
			 WEFT_LIMIT);
	assert_string_equal(err.message, "JSON has 11 bytes, the limit is 10");
}

static void numbers_beyond_64_bits_are_kept_as_text(void **state)
{
	static const char text[] =
		"[1e999,123456789012345678901234567890,-1,1.5]";
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, KIB(1));
	assert_int_equal(json_parse(str_of(text), NULL, &doc, NULL), WEFT_OK);
	assert_string_equal(yyjson_get_raw(yyjson_arr_get(doc->root, 0)),
			    "1e999");
	assert_string_equal(json_kind(yyjson_arr_get(doc->root, 0)), "number");
	assert_int_equal(yyjson_get_int(yyjson_arr_get(doc->root, 2)), -1);
	buf_add_val(&b, doc->root);
	assert_string_equal(buf_cstr(&b), text);
}

static void the_document_owns_its_text(void **state)
{
	char text[] = "{\"name\":\"value\"}";
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;

	(void)state;
	assert_int_equal(json_parse(str_of(text), NULL, &doc, NULL), WEFT_OK);
	memset(text, 'x', sizeof(text));
	assert_true(str_eq(json_str(yyjson_obj_get(doc->root, "name")),
			   STR("value")));
}

static void without_memory_parsing_fails_cleanly(void **state)
{
	struct weft_error err;
	struct buf b;
	bool done = false;
	int rounds = 0;

	(void)state;
	buf_init(&b, KIB(64));
	buf_add_c(&b, '[');
	add_members(&b, 300, 299);
	buf_add_c(&b, ']');
	for (; !done; rounds++) {
		yyjson_doc *doc = NULL;
		int r;

		mem_fault(rounds, 1);
		r = json_parse(buf_str(&b), NULL, &doc, &err);
		mem_fault(-1, 0);
		done = mem_faults_hit() == 0;
		assert_int_equal(r, done ? WEFT_OK : WEFT_NO_MEMORY);
		yyjson_doc_free(doc);
	}
	assert_true(rounds > 3); /* the copy, the values, the table */
	buf_done(&b);
}

static void trusted_text_is_parsed_in_the_pool_if_it_fits(void **state)
{
	static char pool[KIB(4)];
	static const char text[] = "{\"a\":[1,2,{\"a\":1,\"a\":2}]}";
	uint64_t before = mem_allocations();
	yyjson_doc *doc = json_parse_trusted(str_of(text), pool, sizeof(pool));

	(void)state;
	assert_non_null(doc);
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(doc->root, "a")), 3);
	yyjson_doc_free(doc);
	assert_int_equal(mem_allocations(), before);

	for (size_t bytes = 0; bytes < 300; bytes += 10) {
		doc = json_parse_trusted(str_of(text), bytes ? pool : NULL,
					 bytes);
		assert_non_null(doc);
		yyjson_doc_free(doc);
	}
	assert_true(mem_allocations() > before);
	assert_null(json_parse_trusted(STR("{"), pool, sizeof(pool)));
	assert_null(json_parse_trusted(STR(""), pool, sizeof(pool)));
	assert_null(json_parse_trusted(STR("{"), NULL, 0));
}

static void kinds_have_names(void **state)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	static const char *const names[] = { "object",  "array",   "string",
					     "number",  "number",  "number",
					     "boolean", "boolean", "null" };
	size_t i, n;
	yyjson_val *v;

	(void)state;
	assert_int_equal(
		json_parse(STR("[{},[],\"\",1,-1.5,1e999,true,false,null]"),
			   NULL, &doc, NULL),
		WEFT_OK);
	yyjson_arr_foreach(doc->root, i, n, v)
		assert_string_equal(json_kind(v), names[i]);
	assert_string_equal(json_kind(NULL), "nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_read),
		cmocka_unit_test(what_is_no_json_is_refused_with_its_place),
		cmocka_unit_test(other_dialects_are_refused),
		cmocka_unit_test(strings_must_be_unicode),
		cmocka_unit_test(
			duplicate_members_are_refused_with_their_place),
		cmocka_unit_test(names_are_compared_as_they_read),
		cmocka_unit_test(equal_names_in_different_objects_are_fine),
		cmocka_unit_test(a_long_name_is_cut_in_the_message),
		cmocka_unit_test(duplicates_are_found_in_objects_of_any_size),
		cmocka_unit_test(large_objects_do_not_disturb_each_other),
		cmocka_unit_test(a_million_members_take_no_time),
		cmocka_unit_test(depth_128_is_read_and_129_is_not),
		cmocka_unit_test(a_lower_depth_can_be_asked_for),
		cmocka_unit_test(brackets_in_strings_are_not_depth),
		cmocka_unit_test(hopeless_depth_costs_no_memory),
		cmocka_unit_test(the_limit_of_bytes_is_exact),
		cmocka_unit_test(numbers_beyond_64_bits_are_kept_as_text),
		cmocka_unit_test(the_document_owns_its_text),
		cmocka_unit_test(without_memory_parsing_fails_cleanly),
		cmocka_unit_test(trusted_text_is_parsed_in_the_pool_if_it_fits),
		cmocka_unit_test(kinds_have_names),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

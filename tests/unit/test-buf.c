/* test-buf.c - buffers: limits from both sides, sticky errors, JSON text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

static void bytes_come_out_as_they_went_in(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, KIB(64));
	buf_add_lit(&b, "a\0b");
	buf_add_c(&b, '-');
	buf_add_str(&b, STR("xyz"));
	buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 7);
	assert_memory_equal(b.ptr, "a\0b-xyz", 7);
}

static void numbers_are_written_in_full(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, KIB(64));
	buf_add_u64(&b, 0);
	buf_add_c(&b, ' ');
	buf_add_u64(&b, UINT64_MAX);
	buf_add_c(&b, ' ');
	buf_add_i64(&b, INT64_MIN);
	buf_add_c(&b, ' ');
	buf_add_i64(&b, INT64_MAX);
	buf_add_c(&b, ' ');
	buf_add_i64(&b, -1);
	assert_string_equal(buf_cstr(&b),
			    "0 18446744073709551615 -9223372036854775808 "
			    "9223372036854775807 -1");
}

static void the_maximum_can_be_reached_but_not_passed(void **state)
{
	CLEANUP(buf_done) struct buf b;
	struct weft_error err;

	(void)state;
	buf_init(&b, 1000);
	for (int i = 0; i < 1000; i++)
		buf_add_c(&b, 'x');
	assert_int_equal(buf_error(&b, &err), WEFT_OK);
	assert_int_equal(strlen(buf_cstr(&b)), 1000);
	assert_true(b.room <= 1001);
	buf_add_c(&b, 'y');
	assert_int_equal(b.len, 1000);
	assert_int_equal(buf_error(&b, &err), WEFT_LIMIT);
	assert_string_equal(err.message, "more than 1000 bytes");
}

static void zero_is_no_maximum_also_after_done(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, 0);
	for (int i = 0; i < 2; i++) {
		assert_non_null(buf_reserve(&b, MIB(3)));
		buf_add_lit(&b, "x");
		assert_string_equal(buf_cstr(&b), "x");
		buf_done(&b);
	}
}

static void a_size_that_would_overflow_is_refused(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, SIZE_MAX);
	buf_add_c(&b, 'x');
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_int_equal(b.error, WEFT_LIMIT);
	buf_reset(&b);
	assert_null(buf_reserve(&b, SIZE_MAX - 10));
	assert_int_equal(b.error, WEFT_NO_MEMORY);
}

static void an_error_sticks_until_a_reset(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, 5);
	buf_add_lit(&b, "123456");
	buf_add_lit(&b, "1");
	buf_add_u64(&b, 1);
	buf_printf(&b, "1");
	buf_add_json(&b, STR(""));
	assert_int_equal(b.len, 0);
	assert_string_equal(buf_cstr(&b), "");
	assert_null(buf_reserve(&b, 0));
	buf_reset(&b);
	buf_add_lit(&b, "12345");
	assert_string_equal(buf_cstr(&b), "12345");
}

static void without_memory_the_bytes_so_far_stay(void **state)
{
	CLEANUP(buf_done) struct buf b;
	struct weft_error err;

	(void)state;
	buf_init(&b, MIB(1));
	buf_add_lit(&b, "abc");
	mem_fault(0, 1);
	assert_null(buf_reserve(&b, KIB(100)));
	mem_fault(-1, 0);
	assert_int_equal(buf_error(&b, &err), WEFT_NO_MEMORY);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.ptr, "abc", 3);
	buf_reset(&b);
	assert_non_null(buf_reserve(&b, KIB(100)));
}

static void reserved_room_counts_once_it_is_used(void **state)
{
	CLEANUP(buf_done) struct buf b;
	char *p;

	(void)state;
	buf_init(&b, KIB(64));
	assert_non_null(buf_reserve(&b, 0));
	p = buf_reserve(&b, 10);
	memset(p, 'z', 10);
	assert_int_equal(b.len, 0);
	b.len += 4;
	assert_string_equal(buf_cstr(&b), "zzzz");
}

static void printing_grows_and_keeps_the_maximum(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, 400);
	for (int width = 1; width <= 27; width++)
		buf_printf(&b, "%*d", width, 7);
	assert_int_equal(b.len, 378);
	for (size_t i = 0, at = 0; i < 27; i++) {
		at += i + 1;
		assert_int_equal(b.ptr[at - 1], '7');
	}
	buf_printf(&b, "%*d", 22, 7);
	assert_int_equal(b.len, 400);
	assert_int_equal(b.error, 0);
	buf_printf(&b, "x");
	assert_int_equal(b.error, WEFT_LIMIT);
	assert_int_equal(b.len, 400);
}

static void expect_json(const char *text, size_t len, const char *json)
{
	CLEANUP(buf_done) struct buf b;

	buf_init(&b, KIB(64));
	buf_add_json(&b, (struct weft_str){ text, len });
	assert_string_equal(buf_cstr(&b), json);
}

static void only_what_must_be_escaped_is(void **state)
{
	(void)state;
	expect_json(NULL, 0, "\"\"");
	expect_json("a/b", 3, "\"a/b\"");
	expect_json("\"\\", 2, "\"\\\"\\\\\"");
	expect_json("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
	expect_json("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\"");
	expect_json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		    "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

static void what_is_not_utf8_is_replaced(void **state)
{
	(void)state;
	expect_json("a\xff"
		    "b",
		    3,
		    "\"a\xef\xbf\xbd"
		    "b\"");
	expect_json("\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	expect_json("\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	expect_json("\xed\xa0\x80", 3,
		    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Whatever goes in is JSON when it comes out. */
static void every_pair_of_bytes_becomes_json(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, KIB(64));
	for (unsigned i = 0; i < 65536; i++) {
		char pair[2] = { (char)(i >> 8), (char)i };
		yyjson_doc *doc;

		buf_reset(&b);
		buf_add_json(&b, (struct weft_str){ pair, 2 });
		assert_int_equal(json_parse(buf_str(&b), NULL, &doc, NULL), 0);
		assert_true(yyjson_is_str(doc->root));
		yyjson_doc_free(doc);
	}
}

static void json_text_keeps_the_maximum(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, 5);
	buf_add_json(&b, STR("abc"));
	assert_int_equal(b.error, 0);
	assert_int_equal(b.len, 5);
	buf_reset(&b);
	buf_add_json(&b, STR("abcd"));
	assert_int_equal(b.error, WEFT_LIMIT);
	buf_reset(&b);
	buf_add_json(&b, STR("ab\n"));
	assert_int_equal(b.error, WEFT_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_as_they_went_in),
		cmocka_unit_test(numbers_are_written_in_full),
		cmocka_unit_test(the_maximum_can_be_reached_but_not_passed),
		cmocka_unit_test(zero_is_no_maximum_also_after_done),
		cmocka_unit_test(a_size_that_would_overflow_is_refused),
		cmocka_unit_test(an_error_sticks_until_a_reset),
		cmocka_unit_test(without_memory_the_bytes_so_far_stay),
		cmocka_unit_test(reserved_room_counts_once_it_is_used),
		cmocka_unit_test(printing_grows_and_keeps_the_maximum),
		cmocka_unit_test(only_what_must_be_escaped_is),
		cmocka_unit_test(what_is_not_utf8_is_replaced),
		cmocka_unit_test(every_pair_of_bytes_becomes_json),
		cmocka_unit_test(json_text_keeps_the_maximum),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}

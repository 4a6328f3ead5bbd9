/* test-base.c - text views, numbers in text, byte order, the table hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

static void a_number_takes_up_the_whole_text(void **state)
{
	static const char *const bad[] = { "",   "-1", "+1", " 1", "1 ",
					   "1a", "a",  "/",  ":",  "0x1" };
	uint64_t n = 77;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(str_to_u64(str_of(bad[i]), UINT64_MAX, &n));
	assert_int_equal(n, 77);
	assert_true(str_to_u64(STR("0"), 0, &n));
	assert_int_equal(n, 0);
	assert_true(str_to_u64(STR("0012"), 12, &n));
	assert_int_equal(n, 12);
}

static void a_number_is_held_against_its_maximum(void **state)
{
	uint64_t n;

	(void)state;
	assert_true(str_to_u64(STR("100"), 100, &n));
	assert_false(str_to_u64(STR("101"), 100, &n));
	assert_true(str_to_u64(STR("18446744073709551615"), UINT64_MAX, &n));
	assert_true(n == UINT64_MAX);
	assert_false(str_to_u64(STR("18446744073709551616"), UINT64_MAX, &n));
	assert_false(str_to_u64(STR("99999999999999999999"), UINT64_MAX, &n));
	assert_false(str_to_u64(STR("184467440737095516150"), UINT64_MAX, &n));
}

static void texts_compare_by_bytes(void **state)
{
	const struct weft_str none = { NULL, 0 };

	(void)state;
	assert_true(str_eq(none, STR("")));
	assert_true(str_eq(STR("ab"), STR("ab")));
	assert_false(str_eq(STR("ab"), STR("ac")));
	assert_false(str_eq(STR("ab"), STR("a")));
	assert_true(str_starts(STR("ab"), none));
	assert_true(str_starts(STR("ab"), STR("a")));
	assert_false(str_starts(STR("a"), STR("ab")));
	assert_true(str_cmp(none, STR("")) == 0);
	assert_true(str_cmp(STR("a"), STR("ab")) < 0);
	assert_true(str_cmp(STR("b"), STR("ab")) > 0);
	assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
	assert_int_equal(str_of(NULL).len, 0);
}

static void integers_are_written_lowest_byte_first(void **state)
{
	unsigned char b[8];

	(void)state;
	put_le32(b, 0x89abcdef);
	assert_memory_equal(b, "\xef\xcd\xab\x89", 4);
	assert_int_equal(get_le32(b), 0x89abcdef);
	put_le64(b, UINT64_C(0x8123456789abcdef));
	assert_memory_equal(b, "\xef\xcd\xab\x89\x67\x45\x23\x81", 8);
	assert_true(get_le64(b) == UINT64_C(0x8123456789abcdef));
}

static void rounding_up_keeps_multiples(void **state)
{
	(void)state;
	assert_int_equal(round_up(0, 4096), 0);
	assert_int_equal(round_up(1, 4096), 4096);
	assert_int_equal(round_up(4096, 4096), 4096);
	assert_int_equal(round_up(4097, 4096), 8192);
}

/* Every byte counts, and so does the length: n zero bytes are not n + 1. */
static void the_hash_sees_every_byte_and_the_length(void **state)
{
	unsigned char bytes[40] = { 0 };
	uint64_t seen[ARRAY_LEN(bytes) + 1];

	(void)state;
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		seen[len] = hash_bytes(bytes, len);
		assert_true(seen[len] == hash_bytes(bytes, len));
		for (size_t k = 0; k < len; k++)
			assert_true(seen[k] != seen[len]);
		for (size_t i = 0; i < len; i++) {
			bytes[i] = 1;
			assert_true(hash_bytes(bytes, len) != seen[len]);
			bytes[i] = 0;
		}
	}
	assert_true(hash_bytes(NULL, 0) == seen[0]);
}

/* 64 K names in 64 K buckets: by chance the fullest gets about 8. */
static void the_hash_spreads_similar_names(void **state)
{
	static unsigned char buckets[65536];
	unsigned char fullest = 0;

	(void)state;
	for (uint32_t i = 0; i < 65536; i++) {
		unsigned char name[8] = "k\0\0\0\0:x";
		unsigned char *n;

		put_le32(name + 1, i);
		n = &buckets[hash_bytes(name, sizeof(name)) & 65535];
		++*n;
		fullest = *n > fullest ? *n : fullest;
	}
	assert_true(fullest < 20);
}

/* Catalogues are ordered by it. */
static void the_stable_hash_is_the_same_for_ever(void **state)
{
	const char *name = "agent:main:telegram:direct:1";

	(void)state;
	assert_true(hash_stable(NULL, 0) == UINT64_C(0x2bd26a7fc08257a1));
	assert_true(hash_stable("a", 1) == UINT64_C(0x6b3773fec4d17722));
	assert_true(hash_stable(name, strlen(name)) ==
		    UINT64_C(0x83ca96da6dacda53));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stable_hash_is_the_same_for_ever),
		cmocka_unit_test(a_number_takes_up_the_whole_text),
		cmocka_unit_test(a_number_is_held_against_its_maximum),
		cmocka_unit_test(texts_compare_by_bytes),
		cmocka_unit_test(integers_are_written_lowest_byte_first),
		cmocka_unit_test(rounding_up_keeps_multiples),
		cmocka_unit_test(the_hash_sees_every_byte_and_the_length),
		cmocka_unit_test(the_hash_spreads_similar_names),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}

/* test-crc32c.c - the checksum: known values, and all ways to compute it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/mem.h"

#define BYTES KIB(40)

typedef uint32_t crc_fn(uint32_t crc, const void *data, size_t len);

static crc_fn *const ways[] = { crc32c, crc32c_portable };

static unsigned char *random_input(void)
{
	unsigned char *bytes = mem_alloc(BYTES);
	uint32_t x = 12345;

	for (size_t i = 0; i < BYTES; i++) {
		x = x * 1103515245 + 12345;
		bytes[i] = (unsigned char)(x >> 16);
	}
	return bytes;
}

/* One bit at a time, straight from the definition. */
static uint32_t crc_by_bits(uint32_t crc, const unsigned char *p, size_t len)
{
	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

/* The test vectors of RFC 3720, appendix B.4, and the usual nine digits. */
static void known_vectors_have_their_values(void **state)
{
	unsigned char bytes[32];

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		assert_int_equal(ways[w](0, "123456789", 9), 0xe3069283);
		assert_int_equal(ways[w](0, NULL, 0), 0);
		memset(bytes, 0, sizeof(bytes));
		assert_int_equal(ways[w](0, bytes, 32), 0x8a9136aa);
		memset(bytes, 0xff, sizeof(bytes));
		assert_int_equal(ways[w](0, bytes, 32), 0x62a8ab43);
		for (size_t i = 0; i < 32; i++)
			bytes[i] = (unsigned char)i;
		assert_int_equal(ways[w](0, bytes, 32), 0x46dd794e);
		for (size_t i = 0; i < 32; i++)
			bytes[i] = (unsigned char)(31 - i);
		assert_int_equal(ways[w](0, bytes, 32), 0x113fdb5c);
	}
}

static void every_length_and_alignment_agrees(void **state)
{
	unsigned char *bytes = random_input();

	(void)state;
	for (size_t at = 0; at < 9; at++) {
		for (size_t len = 0; len < 900; len++) {
			uint32_t crc = crc_by_bits(7, bytes + at, len);

			assert_int_equal(crc32c(7, bytes + at, len), crc);
			assert_int_equal(crc32c_portable(7, bytes + at, len),
					 crc);
		}
	}
	mem_free(bytes);
}

/* Around the sizes where long input changes from one way to another. */
static void long_input_agrees(void **state)
{
	unsigned char *bytes = random_input();

	(void)state;
	for (size_t len = 5900; len < BYTES - 8; len += len < 7000 ? 1 : 97) {
		size_t at = len % 8;

		assert_int_equal(crc32c(0, bytes + at, len),
				 crc32c_portable(0, bytes + at, len));
	}
	assert_int_equal(crc32c_portable(0, bytes, BYTES),
			 crc_by_bits(0, bytes, BYTES));
	mem_free(bytes);
}

static void going_on_is_the_same_as_all_at_once(void **state)
{
	unsigned char *bytes = random_input();

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		uint32_t whole = ways[w](0, bytes, BYTES);

		for (size_t cut = 0; cut <= BYTES; cut += 101) {
			uint32_t crc = ways[w](0, bytes, cut);

			crc = ways[w](crc, bytes + cut, BYTES - cut);
			assert_int_equal(crc, whole);
		}
	}
	mem_free(bytes);
}

static void every_bit_counts(void **state)
{
	unsigned char *bytes = random_input();
	uint32_t crc = crc32c(0, bytes, BYTES);

	(void)state;
	for (size_t bit = 0; bit < BYTES * 8; bit += 331) {
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		assert_true(crc32c(0, bytes, BYTES) != crc);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	mem_free(bytes);
}

/* Memory of exactly that size: a read behind it is seen by the sanitizer. */
static void nothing_behind_the_input_is_read(void **state)
{
	(void)state;
	for (size_t len = 0; len < 500; len++) {
		unsigned char *bytes = mem_zero(1, len + 1);

		assert_int_equal(crc32c(0, bytes + 1, len),
				 crc32c_portable(0, bytes + 1, len));
		mem_free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_vectors_have_their_values),
		cmocka_unit_test(every_length_and_alignment_agrees),
		cmocka_unit_test(long_input_agrees),
		cmocka_unit_test(going_on_is_the_same_as_all_at_once),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(nothing_behind_the_input_is_read),
	};

	return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}

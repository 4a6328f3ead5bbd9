/* test-hash.c - SHA-256, hexadecimal text, randomness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"

static void expect_sha256(struct weft_str data, const char *hex)
{
	unsigned char digest[SHA256_BYTES];
	char text[2 * SHA256_BYTES + 1];

	assert_int_equal(sha256(data, digest, NULL), WEFT_OK);
	hex_format(digest, sizeof(digest), text);
	assert_string_equal(text, hex);
}

/* FIPS 180-2, and the empty text. */
static void known_texts_have_their_digests(void **state)
{
	(void)state;
	expect_sha256((struct weft_str){ NULL, 0 },
		      "e3b0c44298fc1c149afbf4c8996fb924"
		      "27ae41e4649b934ca495991b7852b855");
	expect_sha256(STR("abc"), "ba7816bf8f01cfea414140de5dae2223"
				  "b00361a396177a9cb410ff61f20015ad");
	expect_sha256(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnop"
			  "nopq"),
		      "248d6a61d20638b8e5c026930c3e6039"
		      "a33ce45964ff2167f6ecedd419db06c1");
}

static void hex_goes_both_ways(void **state)
{
	unsigned char bytes[256], back[256];
	char text[513];

	(void)state;
	for (size_t i = 0; i < 256; i++)
		bytes[i] = (unsigned char)i;
	hex_format(bytes, 256, text);
	assert_int_equal(strlen(text), 512);
	assert_memory_equal(text, "000102", 6);
	assert_string_equal(text + 506, "fdfeff");
	assert_true(hex_parse(str_of(text), back, 256));
	assert_memory_equal(bytes, back, 256);
	hex_format(bytes, 0, text);
	assert_string_equal(text, "");
	assert_true(hex_parse(STR(""), back, 0));
}

static void only_lower_case_hex_of_the_right_length_is_read(void **state)
{
	unsigned char out[2] = { 1, 2 };

	(void)state;
	assert_false(hex_parse(STR("0aF0"), out, 2));
	assert_false(hex_parse(STR("0a0"), out, 2));
	assert_false(hex_parse(STR("0a00f"), out, 2));
	assert_false(hex_parse(STR("0a00ff"), out, 2));
	assert_false(hex_parse(STR("0a0g"), out, 2));
	assert_false(hex_parse(STR("0a0/"), out, 2));
	assert_false(hex_parse(STR("0a0:"), out, 2));
	assert_false(hex_parse(STR("0x0a"), out, 2));
	assert_false(hex_parse(STR("0a \n"), out, 2));
	assert_false(hex_parse(STR(""), out, 2));
	/* What is refused leaves the output alone. */
	assert_int_equal(out[0], 1);
	assert_int_equal(out[1], 2);
	assert_true(hex_parse(STR("0aff"), out, 2));
	assert_int_equal(out[0], 0x0a);
	assert_int_equal(out[1], 0xff);
}

static void randomness_fills_everything_and_differs(void **state)
{
	unsigned char a[1000] = { 0 }, b[1000] = { 0 };
	size_t zeros = 0;

	(void)state;
	assert_int_equal(random_bytes(a, sizeof(a), NULL), WEFT_OK);
	assert_int_equal(random_bytes(b, sizeof(b), NULL), WEFT_OK);
	assert_memory_not_equal(a, b, sizeof(a));
	for (size_t i = 0; i < sizeof(a); i++)
		zeros += a[i] == 0;
	assert_true(zeros < 50); /* about 4 by chance */
	assert_int_equal(random_bytes(NULL, 0, NULL), WEFT_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts_have_their_digests),
		cmocka_unit_test(hex_goes_both_ways),
		cmocka_unit_test(
			only_lower_case_hex_of_the_right_length_is_read),
		cmocka_unit_test(randomness_fills_everything_and_differs),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}

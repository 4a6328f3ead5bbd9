/* test-route-norm.c - text as keys are made of it, character by character. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <utf8proc.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "route/lower_table.h"
#include "route/norm.h"

/* Of all pairs as lines of two hexadecimal numbers, upper before lower: keys
 * depend on each of them, for ever. */
#define PAIRS_SHA256 \
	"f4944fbf8c952a5676c9b57b7707fa77b2238f620c41f6cce6f180532afe52f7"

#define CODES 0x110000

static bool is_surrogate(int32_t code)
{
	return code >= 0xd800 && code <= 0xdfff;
}

static struct weft_str encoded(int32_t code, char out[4])
{
	return (struct weft_str){ out, (size_t)utf8proc_encode_char(
					       code, (unsigned char *)out) };
}

static int32_t decoded(struct weft_str s)
{
	int32_t code = -1;

	assert_int_equal(utf8proc_iterate((const unsigned char *)s.ptr,
					  (utf8proc_ssize_t)s.len, &code),
			 s.len);
	return code;
}

static void every_letter_becomes_small_as_pinned(void **state)
{
	CLEANUP(buf_done) struct buf list = { 0 };
	CLEANUP(arena_done) struct arena a;
	unsigned char hash[SHA256_BYTES];
	char bytes[4], hex[2 * SHA256_BYTES + 1];
	size_t pairs = 0;

	(void)state;
	buf_init(&list, 0);
	arena_init(&a, 0);
	for (int32_t code = 0; code < CODES; code++) {
		int32_t small;

		if (is_surrogate(code))
			continue;
		arena_reset(&a);
		small = decoded(norm_lower(encoded(code, bytes), &a));
		if (small == code)
			continue;
		/* A later Unicode adds letters, and changes none. */
		assert_int_equal(small, utf8proc_tolower(code));
		buf_printf(&list, "%x %x\n", (unsigned)code, (unsigned)small);
		pairs++;
	}
	assert_int_equal(pairs, LOWER_PAIRS);
	assert_int_equal(pairs, 1433);
	assert_int_equal(sha256(buf_str(&list), hash, NULL), WEFT_OK);
	hex_format(hash, sizeof(hash), hex);
	assert_string_equal(hex, PAIRS_SHA256);
}

static void exactly_25_code_points_are_white_space(void **state)
{
	char bytes[4];
	size_t n = 0;

	(void)state;
	for (int32_t code = 0; code < CODES; code++) {
		char text[12];
		size_t len;

		if (is_surrogate(code))
			continue;
		len = encoded(code, bytes).len;
		memcpy(text, bytes, len);
		text[len] = 'x';
		memcpy(text + len + 1, bytes, len);
		if (norm_trim((struct weft_str){ text, 2 * len + 1 }).len ==
		    2 * len + 1)
			continue;
		assert_int_equal(
			norm_trim((struct weft_str){ text, 2 * len + 1 }).len,
			1);
		assert_int_equal(norm_trim((struct weft_str){ bytes, len }).len,
				 0);
		n++;
	}
	assert_int_equal(n, 25);
}

/* The text in memory of its own size, so that no read behind it goes unseen. */
static struct weft_str exact(const char *text, size_t len, char **ret)
{
	*ret = mem_alloc(len + 1);
	memcpy(*ret + 1, text, len);
	return (struct weft_str){ *ret + 1, len };
}

static void expect_clean(const char *text, size_t len, const char *expected)
{
	CLEANUP(arena_done) struct arena a;
	char *copy;
	struct weft_str s = exact(text, len, &copy);

	arena_init(&a, 0);
	s = norm_clean(s, &a);
	assert_int_equal(s.len, strlen(expected));
	assert_memory_equal(s.ptr, expected, s.len);
	mem_free(copy);
}

#define CLEAN(text, expected) expect_clean((text), sizeof(text) - 1, (expected))

static void text_that_is_not_utf8_is_no_accident(void **state)
{
	(void)state;
	/* Each bad byte is one replacement, if there is anything but ASCII. */
	CLEAN("A\xff\xfe", "a\xef\xbf\xbd\xef\xbf\xbd");
	CLEAN(" \xc3\x89\xe2\x82", "\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
	/* 0x85 and 0xa0 are white space as code points, not as bytes. */
	CLEAN("\x85x\xa0", "\xef\xbf\xbdx\xef\xbf\xbd");
	CLEAN("x\xc2", "x\xef\xbf\xbd");
	CLEAN("\xc2\xa0x\xc2\xa0", "x");
	CLEAN("x\xa0\x80", "x\xef\xbf\xbd\xef\xbf\xbd");
}

static void letters_that_other_rules_treat_apart(void **state)
{
	(void)state;
	CLEAN("\xce\xa3\xce\xa3", "\xcf\x83\xcf\x83"); /* no final sigma */
	CLEAN("\xc4\xb0", "i");                        /* U+0130 */
	CLEAN("\xc3\x9f", "\xc3\x9f");                 /* sharp s stays */
	CLEAN("\xc8\xba", "\xe2\xb1\xa5");             /* grows */
	CLEAN("\xe2\x80\x8bX\xef\xbb\xbf",
	      "\xe2\x80\x8bx\xef\xbb\xbf"); /* no spaces */
	CLEAN("\x1cX\x1f", "\x1cx\x1f");
	CLEAN("", "");
	CLEAN("\t\n\v\f\r ", "");
}

static void expect_ids(const char *text, const char *agent, const char *account)
{
	CLEANUP(arena_done) struct arena a;
	struct weft_str s;

	arena_init(&a, 0);
	s = norm_agent(str_of(text), &a);
	assert_int_equal(s.len, strlen(agent));
	assert_memory_equal(s.ptr, agent, s.len);
	s = norm_account(str_of(text), &a);
	assert_int_equal(s.len, strlen(account));
	assert_memory_equal(s.ptr, account, s.len);
}

static void ids_of_agents_and_accounts(void **state)
{
	static const struct {
		const char *text, *id; /* NULL: nothing is left */
	} v[] = {
		{ "", NULL },
		{ "  ", NULL },
		{ "@@@", NULL },
		{ "---", NULL },
		{ "\xe7\xbe\xa4\xe7\xbb\x84", NULL },
		{ "Main", "main" },
		{ "SALES", "sales" },
		{ "support-bot", "support-bot" },
		{ "agent_1", "agent_1" },
		{ "a", "a" },
		{ "0test", "0test" },
		{ "Hello World", "hello-world" },
		{ "agent@123", "agent-123" },
		{ "foo.bar.baz", "foo-bar-baz" },
		{ "--leading", "leading" },
		{ "--both--", "both" },
		{ "MyBot", "mybot" },
		{ "bot@home", "bot-home" },
		{ "_x", "_x" },
		{ "a - b", "a---b" },
		{ "a ..! b", "a-b" },
		{ "\xc3\x89t\xc3\xa9", "t" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		expect_ids(v[i].text, v[i].id ? v[i].id : "main",
			   v[i].id ? v[i].id : "default");
}

static void ids_have_at_most_64_bytes(void **state)
{
	CLEANUP(arena_done) struct arena a;
	char text[101];
	struct weft_str s;

	(void)state;
	arena_init(&a, 0);
	memset(text, 'a', 100);
	text[100] = '\0';
	assert_int_equal(norm_agent(str_of(text), &a).len, 64);
	/* The cut comes last: a dash may be left at the end. */
	text[63] = '.';
	s = norm_agent(str_of(text), &a);
	assert_int_equal(s.len, 64);
	assert_int_equal(s.ptr[63], '-');
	text[64] = '\0';
	assert_int_equal(norm_agent(str_of(text), &a).len, 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_letter_becomes_small_as_pinned),
		cmocka_unit_test(exactly_25_code_points_are_white_space),
		cmocka_unit_test(text_that_is_not_utf8_is_no_accident),
		cmocka_unit_test(letters_that_other_rules_treat_apart),
		cmocka_unit_test(ids_of_agents_and_accounts),
		cmocka_unit_test(ids_have_at_most_64_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

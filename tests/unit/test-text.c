/* test-text.c - UTF-8, cutting at characters, folding, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "base/text.h"

#define E_ACUTE         "\xc3\xa9"             /* U+00E9 */
#define E_MARK          "e\xcc\x81"            /* e and U+0301 */
#define EURO            "\xe2\x82\xac"         /* U+20AC */
#define SMILE           "\xf0\x9f\x98\x80"     /* U+1F600 */
#define ZWJ             "\xe2\x80\x8d"         /* U+200D */
#define MAN             "\xf0\x9f\x91\xa8"     /* U+1F468 */
#define WOMAN           "\xf0\x9f\x91\xa9"     /* U+1F469 */
#define GIRL            "\xf0\x9f\x91\xa7"     /* U+1F467 */
#define FAMILY          MAN ZWJ WOMAN ZWJ GIRL /* one character */
#define FLAG_D          "\xf0\x9f\x87\xa9"     /* U+1F1E9 */
#define FLAG_E          "\xf0\x9f\x87\xaa"     /* U+1F1EA */
#define FLAG_OF_GERMANY FLAG_D FLAG_E

/* The text in memory of its own size, so that no read behind it goes unseen. */
static bool is_utf8(const char *text, size_t len)
{
	char *copy = mem_alloc(len + 1);
	bool result;

	memcpy(copy + 1, text, len);
	result = text_is_utf8((struct weft_str){ copy + 1, len });
	mem_free(copy);
	return result;
}

/* All code points, encoded here by the definition: surrogates are out. */
static void every_code_point_is_utf8_but_surrogates(void **state)
{
	(void)state;
	for (uint32_t cp = 0; cp <= 0x1fffff; cp++) {
		bool good = cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff);
		char b[4];
		size_t n = 1;

		if (cp < 0x80) {
			b[0] = (char)cp;
		} else if (cp < 0x800) {
			b[0] = (char)(0xc0 | cp >> 6);
			n = 2;
		} else if (cp < 0x10000) {
			b[0] = (char)(0xe0 | cp >> 12);
			n = 3;
		} else {
			b[0] = (char)(0xf0 | cp >> 18);
			n = 4;
		}
		for (size_t i = 1; i < n; i++)
			b[i] = (char)(0x80 | (cp >> 6 * (n - 1 - i) & 0x3f));
		if (text_is_utf8((struct weft_str){ b, n }) != good ||
		    text_char_len((struct weft_str){ b, n }) != (good ? n : 0))
			fail_msg("U+%04X", cp);
	}
}

static void broken_sequences_are_not_utf8(void **state)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc3",
		"\xc3(",
		"\xe2\x82",
		"\xe2(\xac",
		"\xe2\x82(",
		"\xf0\x9f\x98",
		"\xf0(\x98\x80",
		"\xf0\x9f(\x80",
		"\xf0\x9f\x98(",
		"\xfe",
		"\xff",
		"\xf8\x88\x80\x80\x80",
		"\xc0\x80", /* overlong: NUL, '/', U+07FF, U+FFFF */
		"\xc0\xaf",
		"\xc1\xbf",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xed\xa0\x80", /* surrogates */
		"\xed\xbf\xbf",
		"\xf4\x90\x80\x80", /* over U+10FFFF */
		"\xf5\x80\x80\x80",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (is_utf8(bad[i], strlen(bad[i])))
			fail_msg("took number %zu", i);
	}
}

/* A bad byte anywhere in text of any length, whatever the words around it. */
static void a_bad_byte_is_found_at_any_place(void **state)
{
	char text[120];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t len = 1; len <= sizeof(text); len++) {
		assert_true(is_utf8(text, len));
		for (size_t at = 0; at < len; at++) {
			text[at] = (char)0xff;
			assert_false(is_utf8(text, len));
			text[at] = 'a';
		}
	}
	assert_true(is_utf8("", 0));
	assert_true(text_is_utf8((struct weft_str){ NULL, 0 }));
}

static void a_cut_sequence_at_the_end_is_bad_at_any_length(void **state)
{
	static const unsigned char smile[4] = { 0xf0, 0x9f, 0x98, 0x80 };
	char text[70];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t at = 0; at + 4 <= sizeof(text); at++) {
		memcpy(text + at, smile, sizeof(smile));
		assert_true(is_utf8(text, at + 4));
		for (size_t n = 1; n < 4; n++)
			assert_false(is_utf8(text, at + n));
		memset(text + at, 'a', 4);
	}
}

static void white_space_alone_is_blank(void **state)
{
	static const char *const blank[] = {
		"",
		" \t\n\v\f\r",
		"\x1c\x1d\x1e\x1f",
		"\xc2\x85\xc2\xa0\xe1\x9a\x80",
		"\xe2\x80\x80\xe2\x80\x8a\xe2\x80\xa8\xe2\x80\xa9",
		"\xe2\x80\xaf\xe2\x81\x9f\xe3\x80\x80\xef\xbb\xbf",
	};
	static const char *const seen[] = {
		"x",        "  x",           "\x01",
		"\x7f",     " \xe2\x80\x8b", /* joins, and takes no room: not a space */
		"\xe2\x80", "\xff",          "\xc2",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(blank); i++)
		assert_true(text_is_blank(str_of(blank[i])));
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		assert_false(text_is_blank(str_of(seen[i])));
	assert_false(text_is_blank(STR("\0")));
}

static void expect_cut(const char *text, size_t max, const char *expected)
{
	struct weft_str s = text_cut(str_of(text), max);

	assert_ptr_equal(s.ptr, text);
	if (s.len != strlen(expected) || memcmp(s.ptr, expected, s.len) != 0)
		fail_msg("%s, %zu: %.*s", text, max, STR_ARG(s));
}

static void ascii_is_cut_by_bytes(void **state)
{
	(void)state;
	expect_cut("hello", 0, "");
	expect_cut("hello", 4, "hell");
	expect_cut("hello", 5, "hello");
	expect_cut("hello", 100, "hello");
	expect_cut("", 0, "");
	expect_cut("a\nb", 2, "a\n");
}

static void a_line_end_of_two_bytes_is_one_character(void **state)
{
	(void)state;
	expect_cut("a\r\nb", 2, "a\r\n");
	expect_cut("a\n\rb", 2, "a\n");
}

static void characters_are_what_readers_count(void **state)
{
	(void)state;
	expect_cut(E_ACUTE EURO SMILE, 2, E_ACUTE EURO);
	expect_cut(E_MARK E_MARK "x", 1, E_MARK);
	expect_cut("x" E_MARK E_MARK, 2, "x" E_MARK);
	expect_cut(FAMILY FAMILY "x", 1, FAMILY);
	expect_cut(FAMILY FAMILY "x", 2, FAMILY FAMILY);
	expect_cut(FLAG_OF_GERMANY FLAG_OF_GERMANY, 1, FLAG_OF_GERMANY);
	expect_cut("a" FLAG_OF_GERMANY FLAG_OF_GERMANY "b", 2,
		   "a" FLAG_OF_GERMANY);
	/* Hangul of three parts, U+1112 U+1161 U+11AB. */
	expect_cut("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"
		   "a",
		   1, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
}

/* What ASCII in between does to the state: nothing that a run through
 * utf8proc alone would not do. */
static void the_short_way_through_ascii_changes_nothing(void **state)
{
	static const char *const parts[] = { "a",    "\r", "\n", FLAG_D,
					     FAMILY, ZWJ,  MAN,  E_MARK };
	const size_t n = ARRAY_LEN(parts);

	(void)state;
	for (size_t i = 0; i < n * n * n * n; i++) {
		const char *four[4] = { parts[i % n], parts[i / n % n],
					parts[i / n / n % n],
					parts[i / n / n / n] };
		int32_t before = -1, cp, state_of_break = 0;
		size_t breaks = 0, at = 0;
		char text[100];
		int len = snprintf(text, sizeof(text), "%s%s%s%s", four[0],
				   four[1], four[2], four[3]);

		while (at < (size_t)len) {
			at += (size_t)utf8proc_iterate((const uint8_t *)text +
							       at,
						       len - (long)at, &cp);
			breaks += before < 0 ||
				  utf8proc_grapheme_break_stateful(
					  before, cp, &state_of_break);
			before = cp;
		}
		assert_int_equal(text_cut(str_of(text), breaks).len, len);
		assert_true(text_cut(str_of(text), breaks - 1).len <
			    (size_t)len);
	}
}

static void expect_fold(const char *text, const char *expected)
{
	CLEANUP(arena_done) struct arena a;
	struct weft_str s;

	arena_init(&a, MIB(1));
	assert_int_equal(text_fold(str_of(text), &a, &s, NULL), WEFT_OK);
	assert_string_equal(s.ptr, expected);
	assert_int_equal(s.len, strlen(expected));
}

static void folding_ignores_case_marks_and_form(void **state)
{
	(void)state;
	expect_fold("", "");
	expect_fold("Hello, World! 123", "hello, world! 123");
	expect_fold("STRASSE", "strasse");
	expect_fold("Stra\xc3\x9f"
		    "e",
		    "strasse");
	expect_fold(E_ACUTE, "e");
	expect_fold(E_MARK, "e");
	expect_fold("\xc3\x89", "e");      /* E with acute */
	expect_fold("\xef\xac\x81", "fi"); /* ligature */
	expect_fold("\xef\xbc\xa1", "a");  /* full width A */
	expect_fold("\xc4\xb0", "i");      /* Turkish dotted I */
	expect_fold("\xce\xa3\xcf\x82", "\xcf\x83\xcf\x83"); /* sigma */
	expect_fold("\xcc\x81", ""); /* nothing but a mark */
	expect_fold(SMILE, SMILE);
}

static void what_is_not_utf8_stays_as_it_is(void **state)
{
	(void)state;
	expect_fold("A\xff\xc3\x89\xe2\x82Z", "a\xff"
					      "e\xe2\x82z");
}

/* Folding character by character relies on it: what could be put in another
 * order is dropped. */
static void marks_that_can_change_places_are_dropped(void **state)
{
	(void)state;
	for (int32_t cp = 0; cp <= 0x10ffff; cp++) {
		const utf8proc_property_t *p = utf8proc_get_property(cp);

		if (p->combining_class == 0)
			continue;
		assert_true(p->category == UTF8PROC_CATEGORY_MN ||
			    p->category == UTF8PROC_CATEGORY_MC ||
			    p->category == UTF8PROC_CATEGORY_ME);
	}
}

/* Folded text is a fixed point, or two equal texts might not meet. */
static void folding_twice_is_folding_once(void **state)
{
	CLEANUP(arena_done) struct arena a;

	(void)state;
	arena_init(&a, 0);
	for (int32_t cp = 1; cp <= 0x10ffff; cp++) {
		uint8_t bytes[4];
		utf8proc_ssize_t n = utf8proc_encode_char(cp, bytes);
		struct weft_str text = { (char *)bytes, (size_t)n };
		struct weft_str once, twice;

		if (!text_is_utf8(text))
			continue;
		arena_reset(&a);
		assert_int_equal(text_fold(text, &a, &once, NULL), 0);
		assert_int_equal(text_fold(once, &a, &twice, NULL), 0);
		assert_true(text_is_utf8(once));
		if (!str_eq(once, twice))
			fail_msg("U+%04X", (unsigned)cp);
	}
}

static void folding_reports_limits_and_missing_memory(void **state)
{
	struct weft_error err;
	struct weft_str s;
	struct arena a;

	(void)state;
	arena_init(&a, 100);
	assert_int_equal(text_fold(STR("a"), &a, &s, &err), WEFT_OK);
	arena_done(&a);
	arena_init(&a, 20);
	assert_int_equal(text_fold(STR("a"), &a, &s, &err), WEFT_LIMIT);
	arena_reset(&a);
	assert_int_equal(text_fold(STR(E_ACUTE), &a, &s, &err), WEFT_LIMIT);
	arena_done(&a);
	arena_init(&a, 0);
	for (int i = 0; i < 2; i++) {
		mem_fault(i, 1);
		assert_int_equal(text_fold(STR(E_ACUTE), &a, &s, &err),
				 WEFT_NO_MEMORY);
		mem_fault(-1, 0);
		arena_reset(&a);
	}
	arena_done(&a);
}

static int check_line(const char *text, size_t len, const char **ret_message)
{
	static struct weft_error err;
	int r = text_check_line((struct weft_str){ text, len }, 20, "slug",
				&err);

	*ret_message = r == WEFT_OK ? "" : err.message;
	return r;
}

static void a_line_is_short_and_has_no_controls(void **state)
{
	const char *message;

	(void)state;
	assert_int_equal(check_line(NULL, 0, &message), WEFT_OK);
	assert_int_equal(check_line("twenty bytes of text", 20, &message),
			 WEFT_OK);
	assert_int_equal(check_line("twenty-one bytes long", 21, &message),
			 WEFT_LIMIT);
	assert_string_equal(message, "slug has 21 bytes, the limit is 20");
	assert_int_equal(check_line("a\0b", 3, &message), WEFT_INVALID);
	assert_string_equal(message, "slug has a control character (U+0000)");
	assert_int_equal(check_line("a\n", 2, &message), WEFT_INVALID);
	assert_string_equal(message, "slug has a control character (U+000A)");
	assert_int_equal(check_line("\x7f", 1, &message), WEFT_INVALID);
	assert_int_equal(check_line("\xc2\x80", 2, &message), WEFT_INVALID);
	assert_int_equal(check_line("\xc2\x9f", 2, &message), WEFT_INVALID);
	assert_int_equal(check_line("\xc2\xa0", 2, &message), WEFT_OK);
	assert_int_equal(check_line(" ~" SMILE, 6, &message), WEFT_OK);
	assert_int_equal(check_line("ab\xff", 3, &message), WEFT_INVALID);
	assert_string_equal(message, "slug is not UTF-8 at byte 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point_is_utf8_but_surrogates),
		cmocka_unit_test(broken_sequences_are_not_utf8),
		cmocka_unit_test(a_bad_byte_is_found_at_any_place),
		cmocka_unit_test(
			a_cut_sequence_at_the_end_is_bad_at_any_length),
		cmocka_unit_test(white_space_alone_is_blank),
		cmocka_unit_test(ascii_is_cut_by_bytes),
		cmocka_unit_test(a_line_end_of_two_bytes_is_one_character),
		cmocka_unit_test(characters_are_what_readers_count),
		cmocka_unit_test(the_short_way_through_ascii_changes_nothing),
		cmocka_unit_test(folding_ignores_case_marks_and_form),
		cmocka_unit_test(what_is_not_utf8_stays_as_it_is),
		cmocka_unit_test(marks_that_can_change_places_are_dropped),
		cmocka_unit_test(folding_twice_is_folding_once),
		cmocka_unit_test(folding_reports_limits_and_missing_memory),
		cmocka_unit_test(a_line_is_short_and_has_no_controls),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}

/* test-words.c - the words of a text, as search compares them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <utf8proc.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/words.h"

/* The units of a text with a bar between them; signs have a dot in front. */
static const char *units(struct buf *b, struct weft_str text)
{
	struct word_reader r;
	struct word w;

	buf_reset(b);
	words_begin(&r, text);
	while (words_next(&r, &w)) {
		if (b->len)
			buf_add_c(b, '|');
		if (w.is_sign)
			buf_add_c(b, '.');
		buf_add_str(b, w.text);
	}
	return buf_cstr(b);
}

static const struct {
	const char *text, *units;
} table[] = {
	{ "", "" },
	{ " \t\n.,;", "" },
	{ "Hello, World", "hello|world" },
	{ "foo_bar a.b.c x-y", "foo|bar|a|b|c|x|y" },
	{ "v1.2 3.14 don't", "v1|2|3|14|don|t" },
	{ "Caf\u00e9 cafe\u0301 CAFE", "cafe|cafe|cafe" },
	{ "Stra\u00dfe STRASSE", "strasse|strasse" },
	{ "\u0130stanbul \u00c5ngstr\u00f6m \u0141\u00f3d\u017a",
	  "istanbul|angstrom|\u0142odz" },
	{ "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2",
	  "\u03c3\u03b9\u03c3\u03c5\u03c6\u03bf\u03c3" },
	{ "\u0419\u043e\u0433\u0443\u0440\u0442 \u0401\u043b\u043a\u0430",
	  "\u0438\u043e\u0433\u0443\u0440\u0442|\u0435\u043b\u043a\u0430" },
	/* wide letters, ligatures, signs that stand for several */
	{ "\uff21\uff22\uff23 \ufb01le \u2460 \u00b2", "abc|file|1|2" },
	{ "\u4f1a\u8bdd", ".\u4f1a|.\u8bdd" },
	{ "\u6771\u4eac tower2026\u6771", ".\u6771|.\u4eac|tower2026|.\u6771" },
	{ "\u6771\u3001\u4eac\u3002", ".\u6771|.\u4eac" },
	{ "\u0e44\u0e17\u0e22", ".\u0e44|.\u0e17|.\u0e22" },
	/* a Thai vowel and a tone mark are signs of their own */
	{ "\u0e17\u0e35\u0e48", ".\u0e17|.\u0e35|.\u0e48" },
	{ "\u0ea5\u0eb2\u0ea7", ".\u0ea5|.\u0eb2|.\u0ea7" },
	/* kana keep their voice, in one piece, two, or narrow */
	{ "\u30ac \u30ab\u3099 \uff76\uff9e \u30ab",
	  ".\u30ac|.\u30ac|.\u30ac|.\u30ab" },
	/* Hangul in pieces is the same as in one */
	{ "\ud55c\uae00 \u1112\u1161\u11ab\u1100\u1173\u11af",
	  ".\ud55c|.\uae00|.\ud55c|.\uae00" },
	/* vowel signs are letters, points are not */
	{ "\u0915\u093f\u0924\u093e\u092c", "\u0915\u093f\u0924\u093e\u092c" },
	{ "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd",
	  "\u05e9\u05dc\u05d5\u05dd" },
	{ "\u0643\u0650\u062a\u064e\u0627\u0628", "\u0643\u062a\u0627\u0628" },
	/* what is not seen does not part words; the space without width does */
	{ "wo\u00adrd a\u200db a\u200bb", "word|ab|a|b" },
	{ "go \U0001f680\U0001f468\u200d\U0001f469 now", "go|now" },
	{ "\u0301 \u0301a", "a" },
	/* no UTF-8 */
	{ "a\xff"
	  "b\xc3",
	  "a|b" },
	{ "\xe4\xbc", "" },
	{ "\xed\xa0\x80x", "x" },
};

static void reads_units(void **state)
{
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, 0);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_string_equal(units(&b, str_of(table[i].text)),
				    table[i].units);
}

static void says_where_they_are(void **state)
{
	static const char text[] = "\u00c9t\u00e9, \u6771\u4eac!";
	struct word_reader r;
	struct word w;

	(void)state;
	words_begin(&r, STR(text));
	assert_true(words_next(&r, &w));
	assert_int_equal(w.from, 0);
	assert_int_equal(w.to, 5);
	assert_true(words_next(&r, &w));
	assert_int_equal(w.from, 7);
	assert_int_equal(w.to, 10);
	assert_true(words_next(&r, &w));
	assert_int_equal(w.from, 10);
	assert_int_equal(w.to, 13);
	assert_false(words_next(&r, &w));
	assert_false(words_next(&r, &w));
}

/* However long a word is, a unit has its bounds and is whole characters. */
static void cuts_long_words(void **state)
{
	static const char *const letters[] = { "a", "\u00df", "\u0436",
					       "\U0001d400", "\ufdfa" };
	CLEANUP(buf_done) struct buf b;

	(void)state;
	buf_init(&b, 0);
	for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
		struct word_reader r;
		struct word w;

		buf_reset(&b);
		for (size_t k = 0; k < 1000; k++)
			buf_add_str(&b, str_of(letters[i]));
		words_begin(&r, buf_str(&b));
		assert_true(words_next(&r, &w));
		assert_in_range(w.text.len, 100, WORD_BYTES_MAX);
		assert_true(text_is_utf8(w.text));
		assert_int_equal(w.to, b.len);
		assert_false(words_next(&r, &w));
	}
}

/* What was folded once is not changed by folding it again. */
static void is_stable(void **state)
{
	(void)state;
	for (int32_t c = 0x80; c < 0x30000; c++) {
		unsigned char bytes[4];
		char kept[WORD_BYTES_MAX];
		struct word_reader r;
		struct word w, again;
		size_t n;

		if (c >= 0xd800 && c < 0xe000)
			continue;
		n = (size_t)utf8proc_encode_char(c, bytes);
		words_begin(&r, (struct weft_str){ (char *)bytes, n });
		while (words_next(&r, &w)) {
			struct word_reader r2;

			memcpy(kept, w.text.ptr, w.text.len);
			words_begin(&r2, (struct weft_str){ kept, w.text.len });
			if (!words_next(&r2, &again) ||
			    !str_eq(again.text,
				    (struct weft_str){ kept, w.text.len }))
				fail_msg("U+%04X", (unsigned)c);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_units),
		cmocka_unit_test(says_where_they_are),
		cmocka_unit_test(cuts_long_words),
		cmocka_unit_test(is_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

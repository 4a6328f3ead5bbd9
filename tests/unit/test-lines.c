/* test-lines.c - a stream of bytes cut into lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Part of the program, not of the library. */
#include "cli/lines.c"

#define MAX 8

/* Put `text` in, `step` bytes at a time, and compare what comes out: the
 * lines, each with "|" behind it; "N!" for one that had N bytes, too many. */
static void expect(const char *text, size_t step, const char *expected)
{
	struct lines l;
	struct line line;
	struct buf found;
	uint64_t number = 0;
	size_t len = strlen(text), at = 0;
	bool ended = false;

	lines_init(&l, MAX);
	buf_init(&found, KIB(4));
	while (!ended) {
		size_t n = len - at < step ? len - at : step;

		if (n > 0) {
			memcpy(lines_room(&l, n), text + at, n);
			lines_came(&l, n);
			at += n;
		} else {
			lines_end(&l);
			ended = true;
		}
		while (lines_next(&l, &line)) {
			assert_int_equal(line.number, ++number);
			if (line.too_long) {
				assert_int_equal(line.text.len, 0);
				buf_printf(&found, "%llu!",
					   (unsigned long long)line.too_long);
			}
			buf_add_str(&found, line.text);
			buf_add_c(&found, '|');
		}
		/* What is too long is not kept. */
		assert_true(l.b.len - l.taken <= MAX + step);
	}
	assert_false(lines_next(&l, &line));
	assert_string_equal(buf_cstr(&found), expected);
	buf_done(&found);
	lines_done(&l);
}

static void cuts_at_newlines(void **state)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "\n", "|" },
		{ "\n\n", "||" },
		{ "a", "a|" },
		{ "a\n", "a|" },
		{ "a\nb", "a|b|" },
		{ "a\n\nb\n", "a||b|" },
		{ "a\r\nb", "a\r|b|" },
		{ "12345678\n", "12345678|" },
		{ "12345678", "12345678|" },
		{ "123456789\n", "9!|" },
		{ "123456789", "9!|" },
		{ "a\n123456789012345678901234567890\nb\n", "a|30!|b|" },
		{ "123456789\n123456789\n", "9!|9!|" },
		{ "123456789\n\n", "9!||" },
		{ "a\n1234567890123456789012", "a|22!|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t step = 1; step < 40; step++)
			expect(cases[i][0], step, cases[i][1]);
	}
}

static void takes_any_bytes(void **state)
{
	static const char bytes[] = "\0\xff\n\0\n";
	struct lines l;
	struct line line = { .number = 0 };

	(void)state;
	lines_init(&l, MAX);
	memcpy(lines_room(&l, sizeof(bytes) - 1), bytes, sizeof(bytes) - 1);
	lines_came(&l, sizeof(bytes) - 1);
	assert_true(lines_next(&l, &line));
	assert_true(str_eq(line.text, STR("\0\xff")));
	assert_true(lines_next(&l, &line));
	assert_true(str_eq(line.text, STR("\0")));
	assert_false(lines_next(&l, &line));
	lines_end(&l);
	assert_false(lines_next(&l, &line));
	lines_done(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_at_newlines),
		cmocka_unit_test(takes_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

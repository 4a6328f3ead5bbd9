/* test-marker.c - where a window is cut that may not cut a turn in two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/marker.h"

/* Messages by their first letters: user, assistant, call, tool; the index of
 * the first one that is kept, of them all if they are cut at `at`. */
static int cut(const char *messages, size_t at, bool by_number, bool no_less)
{
	size_t n = strlen(messages);
	struct turn_cut c = {
		.keep = by_number ? UINT64_MAX : n - at,
		.before = by_number ? at + 1 : 0,
		.no_less = no_less,
	};
	uint64_t end;

	for (size_t i = n; i-- > 0;) {
		if (turn_cut_see(&c, i + 1, messages[i] == 'u'))
			break;
	}
	end = turn_cut_end(&c);
	return end == UINT64_MAX ? (int)n : (int)(end ? end - 1 : 0);
}

static void a_turn_is_not_cut_in_two(void **state)
{
	static const struct {
		const char *messages;
		size_t at;
		int expected;
	} cases[] = {
		{ "uaua", 2, 2 },
		{ "uauau", 3, 2 },
		{ "uaucttau", 4, 2 },
		{ "uaucttau", 5, 2 },
		{ "uauctctaua", 5, 2 },
		{ "uaua", 0, 0 },
		/* The first turn would keep everything: the next one. */
		{ "uauau", 1, 2 },
		{ "ctau", 1, 3 },
		{ "uctaua", 3, 4 },
		/* There is no next one. */
		{ "ucta", 2, 0 },
		/* Nobody begins a turn. */
		{ "aaa", 1, 1 },
		{ "aaa", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *v = cases[i].messages;
		size_t at = cases[i].at;
		int expected = cases[i].expected;

		assert_int_equal(cut(v, at, false, false), expected);
		assert_int_equal(cut(v, at, true, false), expected);
		expected = (size_t)expected > at ? 0 : expected;
		assert_int_equal(cut(v, at, false, true), expected);
	}
}

static void a_number_may_be_of_no_message(void **state)
{
	struct turn_cut c = { .keep = UINT64_MAX, .before = 11 };
	struct turn_cut end = { .keep = UINT64_MAX, .before = 11 };

	(void)state;
	/* 11 is something else; 12 begins a turn. */
	assert_false(turn_cut_see(&c, 12, true));
	assert_true(turn_cut_see(&c, 10, false));
	assert_int_equal(turn_cut_end(&c), 12);
	/* And nothing was said behind it. */
	assert_true(turn_cut_see(&end, 10, true));
	assert_int_equal(turn_cut_end(&end), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_is_not_cut_in_two),
		cmocka_unit_test(a_number_may_be_of_no_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

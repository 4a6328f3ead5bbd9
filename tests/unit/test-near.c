/* test-near.c - what a mistyped word was probably meant to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/near.h"

static void guesses_what_was_meant(void **state)
{
	static const char *const words[] = { "session", "slug", "op", "after" };

	(void)state;
#define NEAR(word) near_word(STR(word), words, ARRAY_LEN(words))
	assert_string_equal(NEAR("sesion"), "session");
	assert_string_equal(NEAR("sessoin"), "session");
	assert_string_equal(NEAR("SLUG") ? "?" : "none", "none");
	assert_string_equal(NEAR("slgu"), "slug");
	assert_string_equal(NEAR("po"), "op");
	assert_string_equal(NEAR("aftr"), "after");
	assert_null(NEAR(""));
	assert_null(NEAR("zzzz"));
	assert_null(NEAR("a word that is longer than any that there is"));
#undef NEAR
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guesses_what_was_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test-error.c - messages: their form, their length, their codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#undef fail /* cmocka's; ours is the one to test */

#include "base/error.h"
#include "base/text.h"

static void failing_fills_the_error_and_returns_its_code(void **state)
{
	struct weft_error err = { .os_error = 5 };

	(void)state;
	assert_int_equal(fail(&err, WEFT_LIMIT, "more than %d forks", 3),
			 WEFT_LIMIT);
	assert_int_equal(err.code, WEFT_LIMIT);
	assert_int_equal(err.os_error, 0);
	assert_string_equal(err.message, "more than 3 forks");
}

static void nobody_has_to_want_the_message(void **state)
{
	(void)state;
	assert_int_equal(fail(NULL, WEFT_BUSY, "x"), WEFT_BUSY);
	assert_int_equal(fail_errno(NULL, ENOSPC, "x"), WEFT_NO_SPACE);
	assert_int_equal(fail_prefix(NULL, WEFT_IO, "x"), WEFT_IO);
	assert_int_equal(fail_no_memory(NULL), WEFT_NO_MEMORY);
}

static void a_system_error_gives_code_and_text(void **state)
{
	struct weft_error err;

	(void)state;
	assert_int_equal(fail_errno(&err, ENOENT, "open %s", "x"), WEFT_IO);
	assert_int_equal(err.os_error, ENOENT);
	assert_string_equal(err.message, "open x: No such file or directory");
	assert_int_equal(fail_errno(&err, -ENOENT, "open %s", "x"), WEFT_IO);
	assert_int_equal(err.os_error, ENOENT);
	assert_string_equal(err.message, "open x: No such file or directory");
	assert_int_equal(fail_errno(&err, ENOSPC, "x"), WEFT_NO_SPACE);
	assert_int_equal(fail_errno(&err, EDQUOT, "x"), WEFT_NO_SPACE);
	assert_int_equal(fail_errno(&err, ENOMEM, "x"), WEFT_NO_MEMORY);
	assert_int_equal(fail_errno(&err, EROFS, "x"), WEFT_READ_ONLY);
	assert_int_equal(fail_errno(&err, EIO, "x"), WEFT_IO);
	assert_int_equal(err.code, WEFT_IO);
}

static void a_prefix_keeps_the_code_and_the_errno(void **state)
{
	struct weft_error err;

	(void)state;
	(void)fail_errno(&err, ENOSPC, "write");
	assert_int_equal(fail_prefix(&err, err.code, "session %d", 7),
			 WEFT_NO_SPACE);
	assert_int_equal(err.code, WEFT_NO_SPACE);
	assert_int_equal(err.os_error, ENOSPC);
	assert_string_equal(err.message,
			    "session 7: write: No space left on device");
}

static void a_message_may_be_made_from_the_one_before(void **state)
{
	struct weft_error err;

	(void)state;
	(void)fail(&err, WEFT_IO, "inner");
	(void)fail(&err, WEFT_IO, "outer (%s)", err.message);
	assert_string_equal(err.message, "outer (inner)");
}

static void control_characters_do_not_get_out(void **state)
{
	struct weft_error err;

	(void)state;
	(void)fail(&err, WEFT_INVALID, "a\nb\x1b[1m\x7f\t\xc2\x9b z\xc3\xa9");
	assert_string_equal(err.message, "a?b?[1m??\?\? z\xc3\xa9");
}

static void a_message_is_never_empty(void **state)
{
	struct weft_error err;

	(void)state;
	(void)fail(&err, WEFT_NOT_FOUND, "%s", "");
	assert_string_equal(err.message, "not found");
}

/* What is left of a message that ends in characters of n bytes is UTF-8 and
 * as long as it can be. */
static void check_message(const struct weft_error *err, size_t whole, size_t n)
{
	size_t room = sizeof(err->message) - 1;
	size_t len = strlen(err->message);

	assert_true(text_is_utf8(str_of(err->message)));
	if (whole <= room)
		assert_int_equal(len, whole);
	else
		assert_in_range(len, room - n + 1, room);
}

/* Messages of every length around the limit. */
static void check_cut(const char *character)
{
	struct weft_error err;
	size_t n = strlen(character);
	char text[600];

	for (size_t pad = 1; pad <= n; pad++) {
		size_t len = pad;

		memset(text, 'x', pad);
		for (; len + n < 540; len += n) {
			memcpy(text + len, character, n);
			text[len + n] = '\0';
			(void)fail(&err, WEFT_INVALID, "%s", text);
			check_message(&err, len + n, n);
			(void)fail_prefix(&err, WEFT_INVALID, "%s", "ab");
			check_message(&err, len + n + 4, n);
		}
	}
}

static void a_long_message_is_cut_between_characters(void **state)
{
	struct weft_error err;
	char text[600];

	(void)state;
	check_cut("y");
	check_cut("\xc3\xa9");
	check_cut("\xe2\x82\xac");
	check_cut("\xf0\x9f\x98\x80");

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)fail_errno(&err, EIO, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	(void)fail_prefix(&err, WEFT_IO, "before");
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_memory_equal(err.message, "before: xxx", 11);
}

static void codes_have_names_and_statuses(void **state)
{
	(void)state;
	assert_string_equal(weft_code_name(WEFT_OK), "ok");
	assert_string_equal(weft_code_name(WEFT_NOT_FOUND), "not_found");
	assert_string_equal(weft_code_name(WEFT_NO_MEMORY), "no_memory");
	assert_int_equal(weft_code_exit_status(WEFT_OK), 0);
	assert_int_equal(weft_code_exit_status(WEFT_STALE), 4);
	assert_int_equal(weft_code_http_status(WEFT_OK), 200);
	assert_int_equal(weft_code_http_status(WEFT_STALE), 412);
}

static void a_code_that_is_none_counts_as_unknown(void **state)
{
	(void)state;
	assert_string_equal(weft_code_name(1), "unknown");
	assert_string_equal(weft_code_name(-1000), "unknown");
	assert_int_equal(weft_code_exit_status(1), 7);
	assert_int_equal(weft_code_http_status(-1000), 503);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failing_fills_the_error_and_returns_its_code),
		cmocka_unit_test(nobody_has_to_want_the_message),
		cmocka_unit_test(a_system_error_gives_code_and_text),
		cmocka_unit_test(a_prefix_keeps_the_code_and_the_errno),
		cmocka_unit_test(a_message_may_be_made_from_the_one_before),
		cmocka_unit_test(control_characters_do_not_get_out),
		cmocka_unit_test(a_message_is_never_empty),
		cmocka_unit_test(a_long_message_is_cut_between_characters),
		cmocka_unit_test(codes_have_names_and_statuses),
		cmocka_unit_test(a_code_that_is_none_counts_as_unknown),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}

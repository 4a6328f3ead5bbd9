/* test-process.c - a child of fork() is told from its parent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"

static void a_child_has_another_number_and_the_parent_keeps_its_own(
	void **state)
{
	uint64_t mine = process_generation();
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(process_generation() == mine);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(process_generation(), mine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_child_has_another_number_and_the_parent_keeps_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* scenarios.c - run them all. */
#include "crash/scenarios.h"

struct weft_id begin_in(struct lab *l, unsigned process)
{
	struct weft_id s;

	lab_ok(l, lab_open(l, process));
	lab_start(l, process);
	s = lab_create(l, "key");
	lab_say(l, &s, 1000);
	lab_ok(l, lab_commit(l));
	return s;
}

int main(void)
{
	const struct suite *suites[] = { &log_scenarios, &file_scenarios,
					 &other_scenarios };
	int failed = 0;

	for (size_t i = 0; i < ARRAY_LEN(suites); i++)
		failed += _cmocka_run_group_tests("scenarios", suites[i]->tests,
						  suites[i]->n, NULL, NULL);
	return failed;
}

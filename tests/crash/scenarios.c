/* scenarios.c - run those of one subject: log, files, others,
 * behind, catalogue or room. */
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

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		const struct suite *suite;
	} suites[] = {
		{ "log", &log_scenarios },
		{ "files", &file_scenarios },
		{ "others", &other_scenarios },
		{ "behind", &behind_scenarios },
		{ "catalogue", &catalogue_scenarios },
		{ "room", &room_scenarios },
	};

	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(suites); i++)
		if (strcmp(argv[1], suites[i].name) == 0)
			return _cmocka_run_group_tests(
				suites[i].name, suites[i].suite->tests,
				suites[i].suite->n, NULL, NULL);
	(void)fprintf(stderr, "usage: crash-scenarios "
			      "log|files|others|behind|catalogue|room\n");
	return 2;
}

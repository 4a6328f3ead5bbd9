/*
 * conformance.c - does a store keep every promise of its contract?
 *
 * usage: weft-conformance URL [TEST]
 *
 * "memory:"; "jsonl:" or "sqlite:" for stores in a temporary directory,
 * "jsonl:DIR", "sqlite:DIR" for stores below DIR; "postgres://..." for stores
 * in schemas of their own, which stay there.  TEST is a pattern for the names
 * of tests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conformance/conformance.h"

static const struct suite *const suites[] = {
	&event_suite,
	&write_suite,
	&name_suite,
	&list_suite,
	&blob_suite,
	&wait_suite,
	&task_suite,
	&handle_suite,
	&thread_suite,
	&public_open_suite,
	&public_append_suite,
	&public_input_suite,
	&public_limit_suite,
	&public_submit_suite,
	&public_read_suite,
	&public_hostile_suite,
	&public_usage_suite,
	&public_route_suite,
	&public_lease_suite,
	&fence_suite,
	&public_todo_suite,
	&public_turn_suite,
	&public_promote_suite,
	&public_cleanup_suite,
	&public_memory_suite,
	&public_fork_suite,
	&public_marker_suite,
	&public_reset_suite,
	&compat_pico_suite,
	&compat_claw_suite,
	&public_blob_suite,
	&compat_hygge_session_suite,
	&compat_hygge_message_suite,
	&compat_hygge_note_suite,
};

int main(int argc, char **argv)
{
	struct CMUnitTest *all;
	size_t n = 0;
	int failed;

	if (argc < 2 || argc > 3 || !strchr(argv[1], ':')) {
		(void)fprintf(stderr, "usage: weft-conformance URL [TEST]\n");
		return 2;
	}
	conformance_url = argv[1];
	if (argc == 3)
		cmocka_set_test_filter(argv[2]);
	for (size_t i = 0; i < ARRAY_LEN(suites); i++)
		n += suites[i]->n;
	all = mem_zero(n, sizeof(*all));
	if (!all)
		return 1;
	n = 0;
	for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
		memcpy(all + n, suites[i]->tests, suites[i]->n * sizeof(*all));
		n += suites[i]->n;
	}
	failed = _cmocka_run_group_tests("conformance", all, n, NULL, NULL);
	mem_free(all);
	return failed > 0;
}

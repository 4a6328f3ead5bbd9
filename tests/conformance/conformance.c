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
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conformance/conformance.h"

static const struct suite *const suites[] = {
	&event_suite,
	&write_suite,
	&rewrite_suite,
	&name_suite,
	&list_suite,
	&word_suite,
	&blob_suite,
	&wait_suite,
	&task_suite,
	&handle_suite,
	&thread_suite,
	&public_open_suite,
	&public_append_suite,
	&public_op_suite,
	&public_input_suite,
	&public_limit_suite,
	&public_submit_suite,
	&public_load_suite,
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
	&public_agents_suite,
	&public_people_suite,
	&public_pains_suite,
	&public_memory_suite,
	&public_fork_suite,
	&public_drop_suite,
	&public_drop_random_suite,
	&drop_race_suite,
	&public_marker_suite,
	&public_render_suite,
	&public_reset_suite,
	&compat_pico_suite,
	&compat_pico_subturn_suite,
	&compat_pico_turn_suite,
	&compat_claw_suite,
	&public_blob_suite,
	&compat_hygge_basic_suite,
	&compat_hygge_session_suite,
	&compat_hygge_total_suite,
	&compat_hygge_fork_suite,
	&compat_hygge_note_suite,
	&compat_hygge_rest_suite,
	&public_search_suite,
};

/* One clear sentence now instead of hundreds of tests that cannot begin. */
static bool can_begin(void)
{
	char dir[256], url[512];
	struct store *s = NULL;
	struct weft_error err = { 0 };
	bool can = try_place(dir, url);

	if (!can)
		(void)snprintf(err.message, sizeof(err.message), "%s",
			       strerror(errno));
	else
		can = store_open_url(url, NULL, &s, &err) == WEFT_OK &&
		      store_close(s, &err) == WEFT_OK;
	(void)remove_place(dir);
	if (!can)
		(void)fprintf(stderr, "weft-conformance: %s: %s\n",
			      conformance_url, err.message);
	return can;
}

/* A pattern that selects nothing would make a run that proves nothing. */
static bool is_any_called(const struct CMUnitTest *all, size_t n,
			  const char *pattern)
{
	for (size_t i = 0; i < n; i++) {
		if (fnmatch(pattern, all[i].name, 0) == 0)
			return true;
	}
	(void)fprintf(stderr, "weft-conformance: no test is called '%s'\n",
		      pattern);
	return false;
}

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
	if (!can_begin())
		return 2;
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
	if (argc == 3 && !is_any_called(all, n, argv[2])) {
		mem_free(all);
		return 2;
	}
	if (argc == 3)
		cmocka_set_test_filter(argv[2]);
	failed = _cmocka_run_group_tests("conformance", all, n, NULL, NULL);
	mem_free(all);
	return failed > 0;
}

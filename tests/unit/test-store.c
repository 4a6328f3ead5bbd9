/* test-store.c - store URLs, limits, reports, and the decorators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "store/store.h"

static struct store *open_ok(const char *url)
{
	struct weft_error err = { 0 };
	struct store *s = NULL;
	int r = store_open_url(url, NULL, &s, &err);

	if (r < 0)
		print_error("%s\n", err.message);
	assert_int_equal(r, WEFT_OK);
	assert_non_null(s);
	return s;
}

/* The URL is refused, and the message says `said`. */
static void expect_refused(const char *url, const char *said)
{
	struct weft_error err = { 0 };
	struct store *s = NULL;

	assert_int_equal(store_open_url(url, NULL, &s, &err), WEFT_INVALID);
	assert_null(s);
	assert_int_equal(err.code, WEFT_INVALID);
	if (!strstr(err.message, said))
		print_error("'%s' is not in '%s'\n", said, err.message);
	assert_non_null(strstr(err.message, said));
}

/* ---- URLs ---- */

static void a_url_names_a_scheme_and_options(void **state)
{
	struct store *s = open_ok("memory:?page=7&queue=%31%32");

	(void)state;
	assert_string_equal(s->ops->scheme, "memory");
	assert_int_equal(s->limits.page, 7);
	assert_int_equal(s->limits.queue, 12);
	assert_int_equal(s->limits.op_bytes, 128);
	assert_int_equal(store_close(s, NULL), WEFT_OK);
}

static void an_empty_query_has_no_options(void **state)
{
	(void)state;
	assert_int_equal(store_close(open_ok("memory:"), NULL), WEFT_OK);
	assert_int_equal(store_close(open_ok("memory:?"), NULL), WEFT_OK);
}

static void what_the_url_says_goes_over_what_the_caller_says(void **state)
{
	struct store_open o = { .flags = STORE_CREATE | STORE_READ_ONLY,
				.limits = { .page = 3, .queue = 4 } };
	struct store_health health;
	struct store *s;

	(void)state;
	assert_int_equal(
		store_open_url("memory:?page=9&read_only=0", &o, &s, NULL),
		WEFT_OK);
	assert_int_equal(s->limits.page, 9);
	assert_int_equal(s->limits.queue, 4);
	assert_int_equal(s->ops->health(s, &health), WEFT_OK);
	assert_true(health.writable);
	assert_int_equal(store_close(s, NULL), WEFT_OK);
}

static void a_bad_url_is_refused_with_what_to_write(void **state)
{
	(void)state;
	expect_refused("", "jsonl:DIR");
	expect_refused("./dir", "write jsonl:./dir");
	expect_refused("/a/b", "write jsonl:/a/b");
	expect_refused("dir", "write jsonl:dir");
	expect_refused("./a:b", "write jsonl:./a:b");
	expect_refused("redis:x", "unknown scheme \"redis:\"");
	expect_refused("redis:x", "memory:");
	expect_refused("Memory:", "unknown scheme");
	expect_refused(":x", "unknown scheme");
	expect_refused("jsonl:", "write jsonl:DIR");
	expect_refused("jsonl:?page=1", "write jsonl:DIR");
}

static void a_bad_option_is_refused_with_its_name(void **state)
{
	(void)state;
	expect_refused("memory:?colour=red", "unknown option \"colour\"");
	expect_refused("memory:?colour=red", "read_only, single, create");
	expect_refused("memory:?colour=red", "busy_ms");
	expect_refused("memory:?page=many", "page=many: expected a number");
	expect_refused("memory:?page=", "page=: expected a number");
	expect_refused("memory:?page=-1", "expected a number");
	expect_refused("memory:?page=1e3", "expected a number");
	expect_refused("memory:?page=99999999999999999999", "a number");
	expect_refused("memory:?page=4294967296", "page=4294967296: expected");
	expect_refused("memory:?json_depth=129", "json_depth=129: expected");
	expect_refused("memory:?read_only=yes", "expected 0 or 1");
	expect_refused("memory:?read_only", "expected 0 or 1");
	expect_refused("memory:?page=1&&queue=1", "unknown option \"\"");
	expect_refused("memory:?segment_bytes=1048576&segment_bytes_max=65536",
		       "less than segment_bytes");
}

static void expect_taken(const char *url)
{
	assert_int_equal(store_close(open_ok(url), NULL), WEFT_OK);
}

static void a_limit_has_a_smallest_and_a_largest_value(void **state)
{
	(void)state;
	expect_refused("memory:?segment_bytes=65535", "segment_bytes=65535: ");
	expect_taken("memory:?segment_bytes=65536");
	expect_taken("memory:?segment_bytes=1073741824");
	expect_refused("memory:?segment_bytes=1073741825",
		       "segment_bytes=1073741825: expected");
	expect_taken("memory:?busy_ms=1");
	expect_taken("memory:?busy_ms=86400000");
	expect_refused("memory:?busy_ms=86400001", "busy_ms=86400001: ");
}

/* Whoever names one would look for it again. */
static void a_store_in_memory_has_no_name(void **state)
{
	(void)state;
	expect_refused("memory:x", "names a place, and memory: has none");
	expect_refused("memory:/tmp/x?page=7", "write memory:");
}

static void a_bad_escape_is_refused(void **state)
{
	(void)state;
	expect_refused("memory:%", "two hexadecimal digits");
	expect_refused("memory:a%2", "two hexadecimal digits");
	expect_refused("memory:a%zz", "two hexadecimal digits");
	expect_refused("memory:a%00", "%00");
	expect_refused("memory:?page=%", "two hexadecimal digits");
}

static void every_limit_has_a_default(void **state)
{
	struct store_limits l = { 0 };

	(void)state;
	assert_int_equal(store_limits_fill(&l, NULL), WEFT_OK);
	assert_int_equal(l.message_bytes, MIB(16));
	assert_int_equal(l.batch_messages, 1024);
	assert_int_equal(l.parts, 1024);
	assert_int_equal(l.json_depth, 128);
	assert_int_equal(l.name_bytes, 512);
	assert_int_equal(l.slug_bytes, 256);
	assert_int_equal(l.names, 64);
	assert_int_equal(l.metadata_bytes, KIB(64));
	assert_int_equal(l.op_bytes, 128);
	assert_int_equal(l.ops_remembered, 4096);
	assert_int_equal(l.queue, 4096);
	assert_int_equal(l.page, 1000);
	assert_int_equal(l.active_sessions, 10000);
	assert_int_equal(l.open_files, 512);
	assert_int_equal(l.idle_ms, 30 * 60 * 1000);
	assert_int_equal(l.fork_depth, 4096);
	assert_int_equal(l.subagent_depth, 32);
	assert_int_equal(l.segment_bytes, MIB(1));
	assert_int_equal(l.segment_bytes_max, MIB(64));
	assert_int_equal(l.busy_ms, 5000);
	assert_int_equal(l.lease_ms, 60000);
	assert_int_equal(l.lease_ms_min, 5000);
	assert_int_equal(l.lease_ms_max, 3600000);
	assert_int_equal(l.todos, 1000);
	assert_int_equal(l.memory_bytes, KIB(64));
}

static void a_first_segment_may_be_larger_than_the_default_maximum(void **state)
{
	struct store_limits l = { .segment_bytes = MIB(128) };

	(void)state;
	assert_int_equal(store_limits_fill(&l, NULL), WEFT_OK);
	assert_int_equal(l.segment_bytes_max, MIB(128));
}

/* ---- reports ---- */

static void a_report_takes_any_number_of_problems(void **state)
{
	struct arena arena;
	struct store_report report = { .arena = &arena };
	struct weft_id id = { { 1, 2, 3 } };

	(void)state;
	arena_init(&arena, 0);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(report_problem(&report, i ? &id : NULL,
						i ? "file" : NULL, i, 2 * i,
						NULL, "problem %u", i),
				 WEFT_OK);
	assert_int_equal(report.n_problems, 100);
	assert_int_equal(report.problems[0].file.len, 0);
	assert_int_equal(report.problems[99].line, 99);
	assert_int_equal(report.problems[99].offset, 198);
	assert_memory_equal(&report.problems[99].session, &id, sizeof(id));
	assert_string_equal(report.problems[99].file.ptr, "file");
	assert_string_equal(report.problems[42].reason.ptr, "problem 42");
	arena_done(&arena);
}

static void a_report_that_is_full_says_so(void **state)
{
	struct arena arena;
	struct store_report report = { .arena = &arena };
	int r = WEFT_OK;

	(void)state;
	arena_init(&arena, KIB(64));
	for (unsigned i = 0; i < 10000 && r == WEFT_OK; i++)
		r = report_problem(&report, NULL, NULL, i, 0, NULL, "one");
	assert_int_equal(r, WEFT_LIMIT);
	assert_string_equal(report.problems[report.n_problems - 1].reason.ptr,
			    "one");
	arena_done(&arena);
}

/* ---- decorators ---- */

static int plan_nothing(void *ctx, struct store_view *view, struct op_list *out,
			struct weft_error *err)
{
	(void)view;
	(void)out;
	(void)err;
	++*(unsigned *)ctx;
	return WEFT_OK;
}

static int write_nothing(struct store *s, unsigned *planned)
{
	const struct store_want want = { .n_sessions = 2, .bytes = 70 };

	return s->ops->write(s, &want, plan_nothing, planned, NULL);
}

static int read_nothing(struct store *s)
{
	return s->ops->get_sessions(s, NULL, 0, NULL, NULL, NULL);
}

static struct store *open_fault(void)
{
	struct store *s;

	assert_int_equal(store_fault(open_ok("memory:"), &s, NULL), WEFT_OK);
	return s;
}

static void a_fault_comes_when_it_is_due_and_goes(void **state)
{
	struct store *s = open_fault();
	struct store_health health;
	unsigned planned = 0;

	(void)state;
	assert_int_equal(write_nothing(s, &planned), WEFT_OK);
	store_fault_set(s, FAULT_WRITE, 1, 2, WEFT_NO_SPACE);
	assert_int_equal(write_nothing(s, &planned), WEFT_OK);
	assert_int_equal(write_nothing(s, &planned), WEFT_NO_SPACE);
	assert_int_equal(s->ops->health(s, &health), WEFT_OK);
	assert_false(health.writable);
	assert_false(health.failed);
	assert_int_equal(write_nothing(s, &planned), WEFT_NO_SPACE);
	assert_int_equal(write_nothing(s, &planned), WEFT_OK);
	assert_int_equal(store_fault_hits(s), 2);
	assert_int_equal(planned, 3);
	assert_int_equal(s->ops->health(s, &health), WEFT_OK);
	assert_true(health.writable);
	assert_int_equal(store_close(s, NULL), WEFT_OK);
}

static void a_late_fault_comes_after_the_write(void **state)
{
	struct store *s = open_fault();
	unsigned planned = 0;

	(void)state;
	store_fault_set(s, FAULT_WRITE_LATE, 0, 0, WEFT_UNKNOWN);
	assert_int_equal(write_nothing(s, &planned), WEFT_UNKNOWN);
	assert_int_equal(write_nothing(s, &planned), WEFT_UNKNOWN);
	assert_int_equal(planned, 2);
	assert_int_equal(store_close(s, NULL), WEFT_OK);
}

static void a_fault_hits_only_what_it_is_for(void **state)
{
	struct store *s = open_fault();
	struct store_report report = { 0 };
	struct blob_ref ref;
	unsigned planned = 0;

	(void)state;
	store_fault_set(s, FAULT_READ, 0, 0, WEFT_IO);
	assert_int_equal(write_nothing(s, &planned), WEFT_OK);
	assert_int_equal(s->ops->put_blob(s, STR("x"), &ref, NULL), WEFT_OK);
	assert_int_equal(read_nothing(s), WEFT_IO);
	store_fault_set(s, FAULT_BLOB | FAULT_MAINTAIN, 0, 0, WEFT_IO);
	assert_int_equal(read_nothing(s), WEFT_OK);
	assert_int_equal(s->ops->put_blob(s, STR("x"), &ref, NULL), WEFT_IO);
	assert_int_equal(s->ops->maintain(s, TASK_CHECKPOINT, &report, NULL),
			 WEFT_IO);
	store_fault_set(s, 0, 0, 0, WEFT_OK);
	assert_int_equal(read_nothing(s), WEFT_OK);
	assert_int_equal(store_close(s, NULL), WEFT_OK);
}

struct told {
	char lines[32][128];
	size_t n;
};

static void note_line(void *ctx, const char *line)
{
	struct told *told = ctx;

	(void)snprintf(told->lines[told->n++ % 32], 128, "%s", line);
}

static void a_trace_tells_of_every_call(void **state)
{
	struct told told = { .n = 0 };
	struct store_report report = { 0 };
	unsigned planned = 0;
	uint64_t stamp = 1;
	struct store *s;

	(void)state;
	assert_int_equal(store_trace(open_ok("memory:?page=3"), note_line,
				     &told, &s, NULL),
			 WEFT_OK);
	assert_int_equal(s->limits.page, 3);
	assert_int_equal(write_nothing(s, &planned), WEFT_OK);
	assert_int_equal(read_nothing(s), WEFT_OK);
	assert_int_equal(s->ops->wait(s, &stamp, 0, NULL), 0);
	assert_int_equal(s->ops->maintain(s, 99, &report, NULL), WEFT_INVALID);
	s->ops->wake(s);
	assert_int_equal(store_close(s, NULL), WEFT_OK);
	assert_int_equal(told.n, 6);
	assert_ptr_equal(strstr(told.lines[0],
				"write sessions=2 names=0 bytes=70 -> ok "),
			 told.lines[0]);
	assert_non_null(strstr(told.lines[0], "us"));
	assert_non_null(strstr(told.lines[1], "get_sessions n=0 -> ok "));
	assert_non_null(strstr(told.lines[3], "maintain task=99 -> invalid "));
	assert_non_null(strstr(told.lines[5], "close -> ok "));
}

/* So that nobody waits for others who cannot come. */
static void what_is_in_memory_has_one_writer(void **state)
{
	struct store *s = open_ok("memory:");
	struct told told = { .n = 0 };

	(void)state;
	assert_true(s->lone);
	assert_int_equal(store_trace(s, note_line, &told, &s, NULL), WEFT_OK);
	assert_true(s->lone);
	assert_int_equal(store_fault(s, &s, NULL), WEFT_OK);
	assert_true(s->lone);
	assert_int_equal(store_close(s, NULL), WEFT_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_names_a_scheme_and_options),
		cmocka_unit_test(an_empty_query_has_no_options),
		cmocka_unit_test(
			what_the_url_says_goes_over_what_the_caller_says),
		cmocka_unit_test(a_bad_url_is_refused_with_what_to_write),
		cmocka_unit_test(a_bad_option_is_refused_with_its_name),
		cmocka_unit_test(a_limit_has_a_smallest_and_a_largest_value),
		cmocka_unit_test(a_store_in_memory_has_no_name),
		cmocka_unit_test(a_bad_escape_is_refused),
		cmocka_unit_test(every_limit_has_a_default),
		cmocka_unit_test(
			a_first_segment_may_be_larger_than_the_default_maximum),
		cmocka_unit_test(a_report_takes_any_number_of_problems),
		cmocka_unit_test(a_report_that_is_full_says_so),
		cmocka_unit_test(a_fault_comes_when_it_is_due_and_goes),
		cmocka_unit_test(a_late_fault_comes_after_the_write),
		cmocka_unit_test(a_fault_hits_only_what_it_is_for),
		cmocka_unit_test(a_trace_tells_of_every_call),
		cmocka_unit_test(what_is_in_memory_has_one_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test-ahead.c - SQLite's way to a file with larger reads. */
#include "file-help.h"

#include <sqlite3.h>

#include "store/sqlite/ahead.h"

#define ROWS 600

/* A file with rows of about a page each, who writes it, and who reads it. */
struct pair {
	sqlite3 *writer, *reader;
};

static void must_run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static struct pair open_pair(void)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	struct pair p = { NULL, NULL };

	assert_non_null(ahead_vfs());
	assert_int_equal(sqlite3_open_v2(in_dir("db"), &p.writer, flags, NULL),
			 SQLITE_OK);
	assert_int_equal(
		sqlite3_open_v2(in_dir("db"), &p.reader, flags, ahead_vfs()),
		SQLITE_OK);
	must_run(p.writer, "PRAGMA journal_mode=WAL;"
			   "PRAGMA wal_autocheckpoint=0;"
			   "PRAGMA synchronous=OFF;"
			   "CREATE TABLE t(v, pad);"
			   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
			   " SELECT i+1 FROM n WHERE i<600)"
			   " INSERT INTO t SELECT 1,zeroblob(3000) FROM n;"
			   "PRAGMA wal_checkpoint(TRUNCATE)");
	/* So few that the file itself is asked again and again. */
	must_run(p.reader, "PRAGMA cache_size=10");
	return p;
}

static void close_pair(struct pair *p)
{
	assert_int_equal(sqlite3_close(p->reader), SQLITE_OK);
	assert_int_equal(sqlite3_close(p->writer), SQLITE_OK);
}

/* Read the next `n` rows, each of which has this value. */
static void expect_rows(sqlite3_stmt *s, int n, int v)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(sqlite3_step(s), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(s, 0), v);
	}
}

static sqlite3_stmt *select_all(sqlite3 *db)
{
	sqlite3_stmt *s;

	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT v,pad FROM t", -1, &s, NULL),
		SQLITE_OK);
	return s;
}

static void expect_all(sqlite3 *db, int v)
{
	sqlite3_stmt *s = select_all(db);

	expect_rows(s, ROWS, v);
	assert_int_equal(sqlite3_step(s), SQLITE_DONE);
	(void)sqlite3_finalize(s);
}

/* How many calls have read something; -1: the system does not say. */
static long reads_so_far(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	char line[80];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "syscr: %ld", &n);
	if (f)
		(void)fclose(f);
	return n;
}

static void a_scan_needs_few_calls(void **state)
{
	struct pair p = open_pair();
	long before = reads_so_far();

	(void)state;
	expect_all(p.reader, 1);
	if (before >= 0)
		assert_in_range(reads_so_far() - before, 1, ROWS / 4);
	close_pair(&p);
}

/* The last piece stays, until the lock is another. */
static void a_row_at_the_end_is_seen(void **state)
{
	struct pair p = open_pair();
	sqlite3_stmt *s;

	(void)state;
	for (int v = 2; v < 5; v++) {
		char sql[120];

		expect_all(p.reader, 1);
		(void)snprintf(sql, sizeof(sql),
			       "UPDATE t SET v=%d WHERE rowid=600;"
			       "PRAGMA wal_checkpoint(TRUNCATE)",
			       v);
		must_run(p.writer, sql);
		assert_int_equal(
			sqlite3_prepare_v2(p.reader,
					   "SELECT v FROM t WHERE rowid=600",
					   -1, &s, NULL),
			SQLITE_OK);
		expect_rows(s, 1, v);
		(void)sqlite3_finalize(s);
		must_run(p.writer, "UPDATE t SET v=1;"
				   "PRAGMA wal_checkpoint(TRUNCATE)");
	}
	close_pair(&p);
}

/* Who has begun to read sees one state to the end, whatever is written. */
static void a_transaction_sees_one_state(void **state)
{
	struct pair p = open_pair();
	sqlite3_stmt *s = select_all(p.reader);

	(void)state;
	expect_rows(s, 100, 1);
	must_run(p.writer, "UPDATE t SET v=2;PRAGMA wal_checkpoint(PASSIVE)");
	expect_rows(s, ROWS - 100, 1);
	assert_int_equal(sqlite3_step(s), SQLITE_DONE);
	(void)sqlite3_finalize(s);
	expect_all(p.reader, 2);
	close_pair(&p);
}

#define TEST(name) cmocka_unit_test_teardown(name, empty_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_scan_needs_few_calls),
		TEST(a_row_at_the_end_is_seen),
		TEST(a_transaction_sees_one_state),
	};

	return cmocka_run_group_tests_name("ahead", tests, make_dir,
					   remove_dir);
}

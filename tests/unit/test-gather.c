/* test-gather.c - SQLite's way to its log with larger writes. */
#include "file-help.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "store/sqlite/gather.h"

#define ROWS 600

static void must_run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static sqlite3 *open_db(const char *vfs)
{
	sqlite3 *db;

	assert_int_equal(
		sqlite3_open_v2(in_dir("db"), &db,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				vfs),
		SQLITE_OK);
	return db;
}

static sqlite3 *open_writer(void)
{
	sqlite3 *db;

	assert_non_null(gather_vfs());
	db = open_db(gather_vfs());
	gather_for(db);
	must_run(db, "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;"
		     "PRAGMA wal_autocheckpoint=0;CREATE TABLE t(v, pad)");
	return db;
}

/* Rows of about a page each. */
static const char insert_many[] =
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n"
	" WHERE i<600) INSERT INTO t SELECT i,zeroblob(3000) FROM n";

static int count(sqlite3 *db)
{
	sqlite3_stmt *s;
	int n;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(pad) FROM t", -1,
					    &s, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int(s, 0);
	(void)sqlite3_finalize(s);
	return n;
}

static bool is_sound(sqlite3 *db)
{
	sqlite3_stmt *s;
	bool sound;

	assert_int_equal(
		sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	sound = strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0;
	(void)sqlite3_finalize(s);
	return sound;
}

/* How many calls have written something; -1: the system does not say. */
static long writes_so_far(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	char line[80];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "syscw: %ld", &n);
	if (f)
		(void)fclose(f);
	return n;
}

static void a_transaction_needs_few_calls(void **state)
{
	sqlite3 *db = open_writer();
	long before = writes_so_far();

	(void)state;
	must_run(db, insert_many);
	if (before >= 0)
		assert_in_range(writes_so_far() - before, 1, ROWS / 4);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* What was committed is in the log, for others and for whoever comes later. */
static void others_see_what_was_committed(void **state)
{
	sqlite3 *db = open_writer(), *other = open_db(NULL);

	(void)state;
	for (int i = 1; i <= 3; i++) {
		must_run(db, "INSERT INTO t VALUES(1,'x')");
		assert_int_equal(count(other), i);
	}
	must_run(db, "PRAGMA wal_checkpoint(TRUNCATE);"
		     "INSERT INTO t VALUES(1,'x')");
	assert_int_equal(count(other), 4);
	assert_true(is_sound(other));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* What does not fit into the cache goes into the log before the end, and is
 * read from there. */
static void a_transaction_reads_what_it_wrote(void **state)
{
	sqlite3 *db = open_writer(), *other = open_db(NULL);

	(void)state;
	must_run(db, "PRAGMA cache_size=10;BEGIN");
	must_run(db, insert_many);
	assert_int_equal(count(db), ROWS);
	must_run(db, "SAVEPOINT s;UPDATE t SET v=v+1;ROLLBACK TO s;"
		     "UPDATE t SET pad=zeroblob(2000) WHERE v%7=0");
	assert_int_equal(count(db), ROWS);
	assert_int_equal(count(other), 0);
	must_run(db, "COMMIT");
	assert_int_equal(count(other), ROWS);
	assert_true(is_sound(other));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* As many pages with something else in them. */
static const char insert_others[] =
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n"
	" WHERE i<600) INSERT INTO t SELECT -i,randomblob(3000) FROM n";

/* What was gathered for a transaction that was rolled back is not written over
 * what somebody else has committed since. */
static void what_was_rolled_back_is_forgotten(void **state)
{
	sqlite3 *db = open_writer(), *other = open_db(NULL);

	(void)state;
	must_run(other, "PRAGMA wal_autocheckpoint=0");
	for (int i = 1; i <= 2; i++) {
		must_run(db, "PRAGMA wal_checkpoint(TRUNCATE);"
			     "PRAGMA cache_size=10;BEGIN");
		must_run(db, insert_many);
		must_run(db, "ROLLBACK");
		must_run(other, insert_others);
		if (i == 1)
			must_run(db, "INSERT INTO t VALUES(1,'x')");
		else
			assert_int_equal(sqlite3_close(db), SQLITE_OK);
		assert_int_equal(sqlite3_close(other), SQLITE_OK);
		other = open_db(NULL);
		assert_int_equal(count(other), 1 + i * ROWS);
		assert_true(is_sound(other));
	}
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* A log that may not grow: the transaction fails, and nothing is left of it. */
static void a_write_that_fails_fails_the_commit(void **state)
{
	sqlite3 *db = open_writer(), *other = open_db(NULL);
	struct rlimit old, small;
	int rc;

	(void)state;
	must_run(db, "INSERT INTO t VALUES(1,'x')");
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 100000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = sqlite3_exec(db, insert_many, NULL, NULL, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_not_equal(rc, SQLITE_OK);
	assert_int_equal(count(other), 1);
	assert_int_equal(count(db), 1);
	must_run(db, insert_many);
	assert_int_equal(count(other), 1 + ROWS);
	assert_true(is_sound(other));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

#define TEST(name) cmocka_unit_test_teardown(name, empty_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_transaction_needs_few_calls),
		TEST(others_see_what_was_committed),
		TEST(a_transaction_reads_what_it_wrote),
		TEST(what_was_rolled_back_is_forgotten),
		TEST(a_write_that_fails_fails_the_commit),
	};

	return cmocka_run_group_tests_name("gather", tests, make_dir,
					   remove_dir);
}

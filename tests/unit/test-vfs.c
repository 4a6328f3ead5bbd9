/*
 * test-vfs.c - SQLite over base/file.h: nothing torn, nobody in the way.
 *
 * The database under test has one table.  The n-th transaction sets v to n in
 * all its rows and adds rows, so that half a transaction shows.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sim/simdisk.h"
#include "store/jsonl/vfs.h"

#define DB           "/d/db"
#define ROWS_FIRST   40
#define ROWS_PER_RUN 3

/* A connection with a VFS of its own, as another process would have. */
struct conn {
	struct vfs *vfs;
	sqlite3 *db;
};

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void must_run(sqlite3 *db, const char *sql)
{
	if (run(db, sql) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* The first column of the first row, or -1. */
static int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;
	int64_t n = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return -1;
	if (sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s);
	return n;
}

static int open_db(const char *vfs, const char *path, sqlite3 **ret)
{
	int r = sqlite3_open_v2(
		path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);

	if (r == SQLITE_OK)
		r = run(*ret, "PRAGMA temp_store=MEMORY;"
			      "PRAGMA synchronous=FULL;"
			      /* So that pages are spilled amid transactions,
			       * and several share a sector. */
			      "PRAGMA page_size=1024; PRAGMA cache_size=8;"
			      "PRAGMA journal_mode=TRUNCATE;");
	return r;
}

static int connect_to(struct fs *fs, const char *path, struct conn *c)
{
	assert_int_equal(vfs_open(fs, &c->vfs, NULL), WEFT_OK);
	return open_db(vfs_name(c->vfs), path, &c->db);
}

static void disconnect(struct conn *c)
{
	(void)sqlite3_close(c->db);
	vfs_close(c->vfs);
	*c = (struct conn){ 0 };
}

static int create_table(sqlite3 *db)
{
	char sql[400];

	(void)snprintf(sql, sizeof(sql),
		       "BEGIN; CREATE TABLE t(k INTEGER PRIMARY KEY, v INT,"
		       " fill BLOB); CREATE INDEX i ON t(v, k);"
		       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
		       " SELECT i + 1 FROM n WHERE i < %d)"
		       "INSERT INTO t SELECT i, 0, randomblob(300) FROM n;"
		       "COMMIT",
		       ROWS_FIRST);
	return run(db, sql);
}

/* One more transaction; rolled back if it fails. */
static int run_one(sqlite3 *db)
{
	char sql[400];
	int64_t v = ask(db, "SELECT max(v) FROM t") + 1;
	int r;

	(void)snprintf(sql, sizeof(sql),
		       "BEGIN IMMEDIATE; UPDATE t SET v = %d;"
		       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
		       " SELECT i + 1 FROM n WHERE i < %d)"
		       "INSERT INTO t SELECT NULL, %d, randomblob(300) FROM n;"
		       "COMMIT",
		       (int)v, ROWS_PER_RUN, (int)v);
	r = run(db, sql);
	if (r != SQLITE_OK && !sqlite3_get_autocommit(db))
		(void)run(db, "ROLLBACK");
	return r;
}

/* The number of the last transaction; -1: not even the table is there. */
static int64_t check_db(sqlite3 *db)
{
	sqlite3_stmt *s;
	int64_t v;

	if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		fail_msg("integrity_check: %s", sqlite3_errmsg(db));
	assert_string_equal((const char *)sqlite3_column_text(s, 0), "ok");
	(void)sqlite3_finalize(s);
	if (ask(db, "SELECT count(*) FROM sqlite_master") == 0)
		return -1;
	v = ask(db, "SELECT max(v) FROM t");
	assert_int_equal(ask(db, "SELECT min(v) FROM t"), v);
	assert_int_equal(ask(db, "SELECT count(*) FROM t"),
			 ROWS_FIRST + ROWS_PER_RUN * v);
	return v;
}

/* The same, as a process that comes later finds it. */
static int64_t check_disk(struct simdisk *d)
{
	struct conn c;
	int64_t v;

	if (connect_to(simdisk_process(d), DB, &c) != SQLITE_OK)
		fail_msg("open: %s", sqlite3_errmsg(c.db));
	v = check_db(c.db);
	disconnect(&c);
	return v;
}

/* A disk with the database on it, durable, and no journal. */
static struct simdisk *make_disk(void)
{
	struct simdisk *d = simdisk_new();
	struct conn c;

	assert_int_equal(fs_mkdir(simdisk_process(d), "/d"), 0);
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	assert_int_equal(create_table(c.db), SQLITE_OK);
	disconnect(&c);
	assert_int_equal(simdisk_remove(d, DB "-journal"), 0);
	simdisk_sync(d);
	return d;
}

/* A disk as it was before each change, with what was acknowledged then. */
struct moments {
	struct simdisk *disk[1000];
	int64_t acked[1000];
	size_t n;
	int64_t acked_now;
};

static void note_moment(void *ctx, struct simdisk *d, unsigned calls,
			uint64_t n)
{
	struct moments *m = ctx;

	(void)calls;
	(void)n;
	assert_in_range(m->n, 0, ARRAY_LEN(m->disk) - 1);
	m->acked[m->n] = m->acked_now;
	m->disk[m->n++] = simdisk_clone(d);
}

static void check_cut(struct simdisk *at, enum simcut how, uint64_t seed,
		      int64_t acked, struct simset *seen)
{
	struct simdisk *d = simdisk_clone(at);
	int64_t v;

	simset_add(seen, simdisk_power_cut(d, how, seed, NULL));
	v = check_disk(d);
	if (v < acked || v > acked + 1)
		fail_msg("transaction %d done, found %d (cut %d, seed %d)",
			 (int)acked, (int)v, (int)how, (int)seed);
	simdisk_free(d);
}

/* Every moment, cut in several ways, is before or after a transaction. */
static void check_moments(struct moments *m, uint64_t seeds)
{
	struct simset seen = { 0 };

	for (size_t i = 0; i < m->n; i++) {
		check_cut(m->disk[i], SIM_LOSE_ALL, 0, m->acked[i], &seen);
		check_cut(m->disk[i], SIM_KEEP_ALL, 0, m->acked[i], &seen);
		for (uint64_t s = 0; s < seeds; s++)
			check_cut(m->disk[i], SIM_RANDOM, s + i * seeds,
				  m->acked[i], &seen);
		simdisk_free(m->disk[i]);
	}
	print_message("# %zu moments, %zu distinct states\n", m->n, seen.count);
	assert_in_range(seen.count, m->n, SIZE_MAX);
	simset_done(&seen);
}

static void a_power_cut_tears_no_transaction(void **state)
{
	static struct moments m;
	struct simdisk *d = make_disk();
	struct conn c;

	(void)state;
	m = (struct moments){ 0 };
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	simdisk_on_call(d, note_moment, &m);
	while (m.acked_now < 3) {
		assert_int_equal(run_one(c.db), SQLITE_OK);
		m.acked_now++;
	}
	simdisk_on_call(d, NULL, NULL);
	note_moment(&m, d, 0, 0);
	disconnect(&c);
	simdisk_free(d);
	check_moments(&m, 8);
}

static void a_power_cut_tears_no_new_database(void **state)
{
	static struct moments m;
	struct simdisk *d = simdisk_new();
	struct conn c;

	(void)state;
	m = (struct moments){ .acked_now = -1 };
	assert_int_equal(fs_mkdir(simdisk_process(d), "/d"), 0);
	simdisk_sync(d);
	simdisk_on_call(d, note_moment, &m);
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	assert_int_equal(create_table(c.db), SQLITE_OK);
	m.acked_now = 0;
	simdisk_on_call(d, NULL, NULL);
	note_moment(&m, d, 0, 0);
	disconnect(&c);
	simdisk_free(d);
	check_moments(&m, 8);
}

/* A journal that is removed must stay so; EXTRA is what asks for that. */
static void a_power_cut_tears_nothing_with_removed_journals(void **state)
{
	static struct moments m;
	struct simdisk *d = make_disk();
	struct conn c;

	(void)state;
	m = (struct moments){ 0 };
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	must_run(c.db, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA");
	simdisk_on_call(d, note_moment, &m);
	while (m.acked_now < 2) {
		assert_int_equal(run_one(c.db), SQLITE_OK);
		m.acked_now++;
	}
	simdisk_on_call(d, NULL, NULL);
	note_moment(&m, d, 0, 0);
	disconnect(&c);
	simdisk_free(d);
	check_moments(&m, 4);
}

static void a_dead_writer_s_journal_is_rolled_back(void **state)
{
	uint64_t hot = 0;
	int64_t v = 0;

	(void)state;
	for (uint64_t n = 1; v == 0; n++) {
		struct simdisk *d = make_disk();
		struct fs *fs = simdisk_process(d);
		struct conn c;
		int r;

		assert_int_equal(connect_to(fs, DB, &c), SQLITE_OK);
		simdisk_kill_in_write(fs, n, 700);
		r = run_one(c.db);
		v = check_disk(d);
		assert_in_range(v, 0, 1);
		assert_true(r != SQLITE_OK || v == 1);
		hot += r != SQLITE_OK && v == 0;
		disconnect(&c);
		assert_int_equal(simdisk_open_files(d), 0);
		simdisk_free(d);
	}
	assert_in_range(hot, 10, 1000);
}

/* Fails one call of `calls` after the other; returns how many there were. */
static uint64_t fail_each(unsigned calls, int error, bool forget)
{
	uint64_t n = 0;

	for (bool hit = true; hit;) {
		struct simdisk *d = make_disk();
		struct conn c;
		int64_t v;
		int r;

		n++;
		assert_int_equal(connect_to(simdisk_process(d), DB, &c),
				 SQLITE_OK);
		simdisk_fail_part(d, 300);
		if (forget)
			simdisk_fail_sync(d, n, error);
		else
			simdisk_fail_at(d, calls, n, error, false);
		r = run_one(c.db);
		hit = simdisk_faults_hit(d) > 0;
		simdisk_fail_at(d, 0, 0, 0, false);
		simdisk_fail_sync(d, 0, 0);
		assert_true((r == SQLITE_OK) == !hit);
		if (hit && error == -ENOSPC)
			assert_int_equal(r, SQLITE_FULL);
		else if (hit)
			assert_int_equal(r & 0xff, SQLITE_IOERR);
		v = check_disk(d);
		assert_in_range(v, r == SQLITE_OK, 1);

		for (uint64_t seed = 0; seed < 3; seed++) {
			struct simset seen = { 0 };

			check_cut(d, SIM_RANDOM, seed, r == SQLITE_OK, &seen);
			check_cut(d, SIM_LOSE_ALL, 0, r == SQLITE_OK, &seen);
			simset_done(&seen);
		}
		/* The connection is not ruined by it. */
		assert_int_equal(run_one(c.db), SQLITE_OK);
		assert_int_equal(check_db(c.db), v + 1);
		disconnect(&c);
		simdisk_free(d);
	}
	return n - 1;
}

static void a_failing_disk_gives_an_error_and_no_damage(void **state)
{
	(void)state;
	assert_in_range(fail_each(SIM_WRITE, -EIO, false), 10, 1000);
	assert_in_range(fail_each(SIM_WRITE, -ENOSPC, false), 10, 1000);
	assert_in_range(fail_each(SIM_TRUNCATE, -EIO, false), 1, 100);
	assert_in_range(fail_each(SIM_SYNCS, -EIO, false), 4, 100);
	assert_in_range(fail_each(SIM_SYNCS, -EIO, true), 4, 100);
}

static void a_full_disk_gives_full_and_no_damage(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	simdisk_set_free(d, 12288);
	assert_int_equal(run_one(c.db), SQLITE_FULL);
	assert_int_equal(check_db(c.db), 0);
	simdisk_set_free(d, MIB(10));
	assert_int_equal(run_one(c.db), SQLITE_OK);
	disconnect(&c);
	assert_int_equal(check_disk(d), 1);
	simdisk_free(d);
}

/* Whatever cannot be looked at may be a hot journal. */
static void an_unreadable_journal_is_not_taken_for_none(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	simdisk_fail_at(d, SIM_STAT, 1, -EIO, true);
	assert_int_equal(run(c.db, "SELECT * FROM t") & 0xff, SQLITE_IOERR);
	simdisk_fail_at(d, 0, 0, 0, false);
	assert_int_equal(check_db(c.db), 0);
	disconnect(&c);
	simdisk_free(d);
}

/* Three connections, wherever they are. */
static void check_exclusion(sqlite3 *a, sqlite3 *b, sqlite3 *c)
{
	sqlite3_stmt *s;

	assert_int_equal(check_db(c), 0); /* knows the table before it waits */
	/* Room for all of it: no page is written before the end. */
	must_run(a, "PRAGMA cache_size=1000");
	must_run(a, "BEGIN IMMEDIATE; UPDATE t SET v = v + 1");
	assert_int_equal(run(b, "BEGIN IMMEDIATE"), SQLITE_BUSY);
	assert_int_equal(check_db(b), 0); /* reading goes on */

	/* A reader keeps the writer from committing ... */
	assert_int_equal(sqlite3_prepare_v2(b, "SELECT k FROM t", -1, &s, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_int_equal(run(a, "COMMIT"), SQLITE_BUSY);
	/* ... which in turn lets no new readers in, so that it gets there. */
	assert_int_equal(run(c, "SELECT k FROM t"), SQLITE_BUSY);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	(void)sqlite3_finalize(s);
	assert_int_equal(run(c, "SELECT k FROM t"), SQLITE_BUSY);
	must_run(a, "COMMIT");
	assert_int_equal(ask(b, "SELECT min(v) FROM t"), 1);
	assert_int_equal(ask(c, "SELECT max(v) FROM t"), 1);

	must_run(b, "BEGIN EXCLUSIVE");
	assert_int_equal(run(a, "SELECT k FROM t"), SQLITE_BUSY);
	must_run(b, "ROLLBACK");
	must_run(c, "BEGIN IMMEDIATE; UPDATE t SET v = 0; COMMIT");
}

static void connections_of_three_processes_exclude_each_other(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(connect_to(simdisk_process(d), DB, &c[i]),
				 SQLITE_OK);
	check_exclusion(c[0].db, c[1].db, c[2].db);
	must_run(c[1].db, "BEGIN EXCLUSIVE");
	simdisk_kill(simdisk_process(d)); /* somebody else */
	assert_int_equal(run(c[0].db, "BEGIN IMMEDIATE"), SQLITE_BUSY);
	for (int i = 0; i < 3; i++)
		disconnect(&c[i]);
	simdisk_free(d);
}

static void connections_of_one_process_exclude_each_other(void **state)
{
	struct simdisk *d = make_disk();
	struct vfs *v;
	sqlite3 *db[3];

	(void)state;
	assert_int_equal(vfs_open(simdisk_process(d), &v, NULL), WEFT_OK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(open_db(vfs_name(v), DB, &db[i]), SQLITE_OK);
	check_exclusion(db[0], db[1], db[2]);
	/* Closing one does not loosen the locks of the other. */
	must_run(db[0], "BEGIN IMMEDIATE");
	assert_int_equal(sqlite3_close(db[1]), SQLITE_OK);
	assert_int_equal(run(db[2], "BEGIN IMMEDIATE"), SQLITE_BUSY);
	assert_int_equal(sqlite3_close(db[0]), SQLITE_OK);
	must_run(db[2], "BEGIN IMMEDIATE");
	assert_int_equal(sqlite3_close(db[2]), SQLITE_OK);
	vfs_close(v);
	simdisk_free(d);
}

static void waiting_sleeps_through_the_file_system(void **state)
{
	struct simdisk *d = make_disk();
	struct conn a, b;
	struct simcounts n;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &a), SQLITE_OK);
	assert_int_equal(connect_to(simdisk_process(d), DB, &b), SQLITE_OK);
	must_run(a.db, "BEGIN IMMEDIATE");
	(void)sqlite3_busy_timeout(b.db, 20);
	assert_int_equal(run(b.db, "BEGIN IMMEDIATE"), SQLITE_BUSY);
	simdisk_counts(d, &n);
	assert_in_range(simcounts_of(&n, SIM_SLEEP), 2, 30);
	disconnect(&a);
	disconnect(&b);
	simdisk_free(d);
}

static void a_read_only_disk_can_be_read(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c;

	(void)state;
	simdisk_set_kind(d, "iso9660", false, true);
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	assert_int_equal(check_db(c.db), 0);
	assert_int_equal(run_one(c.db), SQLITE_READONLY);
	disconnect(&c);
	assert_int_not_equal(connect_to(simdisk_process(d), "/d/none", &c),
			     SQLITE_OK);
	disconnect(&c);
	simdisk_free(d);
}

static void there_are_no_temporary_files(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c;
	sqlite3_vfs *v;
	sqlite3_file *f;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	must_run(c.db, "CREATE TEMP TABLE x AS SELECT * FROM t;"
		       "SELECT * FROM t ORDER BY fill; DROP TABLE x");
	v = sqlite3_vfs_find(vfs_name(c.vfs));
	f = malloc((size_t)v->szOsFile);
	assert_non_null(f);
	assert_int_equal(v->xOpen(v, NULL, f,
				  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
					  SQLITE_OPEN_DELETEONCLOSE |
					  SQLITE_OPEN_TEMP_DB,
				  NULL),
			 SQLITE_CANTOPEN);
	assert_null(f->pMethods);
	free(f);
	disconnect(&c);
	simdisk_free(d);
}

static void a_removed_database_shows(void **state)
{
	struct simdisk *d = make_disk();
	struct file_stat st, again;
	struct conn c;
	sqlite3 *plain;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	assert_int_equal(vfs_db_stat(c.db, &st), 0);
	assert_int_equal(fs_stat(simdisk_process(d), DB, &again), 0);
	assert_int_equal(st.ino, again.ino);
	assert_int_equal(st.links, 1);
	assert_int_equal(simdisk_remove(d, DB), 0);
	assert_int_equal(vfs_db_stat(c.db, &st), 0);
	assert_int_equal(st.links, 0);
	disconnect(&c);
	simdisk_free(d);

	assert_int_equal(sqlite3_open(":memory:", &plain), SQLITE_OK);
	assert_int_equal(vfs_db_stat(plain, &st), -EBADF);
	(void)sqlite3_close(plain);
}

static void each_has_a_name_and_gives_it_up(void **state)
{
	struct vfs *a, *b;
	struct weft_error err;
	char name[32];

	(void)state;
	assert_int_equal(vfs_open(fs_real(), &a, NULL), WEFT_OK);
	assert_int_equal(vfs_open(fs_real(), &b, NULL), WEFT_OK);
	assert_string_not_equal(vfs_name(a), vfs_name(b));
	(void)snprintf(name, sizeof(name), "%s", vfs_name(a));
	assert_non_null(sqlite3_vfs_find(name));
	assert_ptr_not_equal(sqlite3_vfs_find(NULL), sqlite3_vfs_find(name));
	vfs_close(a);
	assert_null(sqlite3_vfs_find(name));
	vfs_close(b);
	vfs_close(NULL);
	mem_fault(0, 1);
	assert_int_equal(vfs_open(fs_real(), &a, &err), WEFT_NO_MEMORY);
	mem_fault(-1, 0);
}

static void no_memory_for_the_directory_s_name_is_an_error(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c;
	uint64_t hit;
	int r;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	mem_fault(0, 1);
	r = run_one(c.db);
	hit = mem_faults_hit();
	mem_fault(-1, 0);
	assert_int_equal(hit, 1);
	assert_int_not_equal(r, SQLITE_OK);
	assert_int_equal(check_db(c.db), 0);
	assert_int_equal(run_one(c.db), SQLITE_OK);
	disconnect(&c);
	assert_int_equal(check_disk(d), 1);
	simdisk_free(d);
}

static void time_and_chance_are_the_machine_s(void **state)
{
	struct conn c;
	int64_t now = clock_now_ms(NULL) / 1000;
	char a[16] = "", b[16] = "";
	sqlite3_vfs *v;

	(void)state;
	assert_int_equal(vfs_open(fs_real(), &c.vfs, NULL), WEFT_OK);
	assert_int_equal(open_db(vfs_name(c.vfs), ":memory:", &c.db),
			 SQLITE_OK);
	assert_in_range(ask(c.db, "SELECT strftime('%s', 'now')"), now - 1,
			now + 5);
	v = sqlite3_vfs_find(vfs_name(c.vfs));
	assert_int_equal(v->xRandomness(v, 16, a), 16);
	assert_int_equal(v->xRandomness(v, 16, b), 16);
	assert_memory_not_equal(a, b, 16);
	disconnect(&c);
}

/* A directory of the machine's own, removed with what SQLite leaves there. */
struct real_dir {
	char dir[64], db[96], journal[112];
};

static int setup_real(void **state)
{
	struct real_dir *t = calloc(1, sizeof(*t));
	const char *tmp = getenv("TMPDIR");

	assert_non_null(t);
	if (!tmp || strlen(tmp) > 40)
		tmp = "/tmp";
	(void)snprintf(t->dir, sizeof(t->dir), "%s/vfs.XXXXXX", tmp);
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(t->db, sizeof(t->db), "%s/db", t->dir);
	(void)snprintf(t->journal, sizeof(t->journal), "%s-journal", t->db);
	*state = t;
	return 0;
}

static int teardown_real(void **state)
{
	struct real_dir *t = *state;

	(void)unlink(t->db);
	(void)unlink(t->journal);
	assert_int_equal(rmdir(t->dir), 0);
	free(t);
	return 0;
}

static void it_works_on_a_real_file_system(void **state)
{
	struct real_dir *t = *state;
	struct conn c[3];
	sqlite3 *other;

	for (int i = 0; i < 3; i++)
		assert_int_equal(connect_to(fs_real(), t->db, &c[i]),
				 SQLITE_OK);
	assert_int_equal(create_table(c[0].db), SQLITE_OK);
	check_exclusion(c[0].db, c[1].db, c[2].db);
	assert_int_equal(run_one(c[1].db), SQLITE_OK);
	assert_int_equal(run_one(c[2].db), SQLITE_OK);
	assert_int_equal(check_db(c[0].db), 2);

	/* SQLite's own VFS respects our locks, and we its. */
	assert_int_equal(open_db("unix", t->db, &other), SQLITE_OK);
	must_run(c[0].db, "BEGIN IMMEDIATE");
	assert_int_equal(run(other, "BEGIN IMMEDIATE"), SQLITE_BUSY);
	must_run(c[0].db, "ROLLBACK");
	must_run(other, "BEGIN EXCLUSIVE");
	assert_int_equal(run(c[0].db, "SELECT * FROM t"), SQLITE_BUSY);
	must_run(other, "ROLLBACK");
	assert_int_equal(check_db(other), 2);
	(void)sqlite3_close(other);
	for (int i = 0; i < 3; i++)
		disconnect(&c[i]);
}

/* Spill half a transaction into the database, say so, and wait for the end. */
static void write_half_and_wait(const char *path, int say)
{
	struct conn c;

	if (connect_to(fs_real(), path, &c) != SQLITE_OK ||
	    run(c.db, "BEGIN; UPDATE t SET v = 9, fill = zeroblob(900)") !=
		    SQLITE_OK ||
	    write(say, "x", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
}

static void a_killed_writer_is_rolled_back_on_a_real_one(void **state)
{
	struct real_dir *t = *state;
	struct conn c;
	int said[2], status;
	pid_t child;
	char x;

	assert_int_equal(connect_to(fs_real(), t->db, &c), SQLITE_OK);
	assert_int_equal(create_table(c.db), SQLITE_OK);
	disconnect(&c);
	assert_int_equal(pipe(said), 0);
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0)
		write_half_and_wait(t->db, said[1]);
	assert_int_equal(read(said[0], &x, 1), 1);

	assert_int_equal(vfs_open(fs_real(), &c.vfs, NULL), WEFT_OK);
	assert_int_equal(sqlite3_open_v2(t->db, &c.db, SQLITE_OPEN_READWRITE,
					 vfs_name(c.vfs)),
			 SQLITE_OK);
	assert_int_equal(run(c.db, "BEGIN IMMEDIATE"), SQLITE_BUSY);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(check_db(c.db), 0);
	assert_int_equal(run_one(c.db), SQLITE_OK);
	disconnect(&c);
	(void)close(said[0]);
	(void)close(said[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_power_cut_tears_no_transaction),
		cmocka_unit_test(a_power_cut_tears_no_new_database),
		cmocka_unit_test(
			a_power_cut_tears_nothing_with_removed_journals),
		cmocka_unit_test(a_dead_writer_s_journal_is_rolled_back),
		cmocka_unit_test(a_failing_disk_gives_an_error_and_no_damage),
		cmocka_unit_test(a_full_disk_gives_full_and_no_damage),
		cmocka_unit_test(an_unreadable_journal_is_not_taken_for_none),
		cmocka_unit_test(
			connections_of_three_processes_exclude_each_other),
		cmocka_unit_test(connections_of_one_process_exclude_each_other),
		cmocka_unit_test(waiting_sleeps_through_the_file_system),
		cmocka_unit_test(a_read_only_disk_can_be_read),
		cmocka_unit_test(there_are_no_temporary_files),
		cmocka_unit_test(a_removed_database_shows),
		cmocka_unit_test(each_has_a_name_and_gives_it_up),
		cmocka_unit_test(
			no_memory_for_the_directory_s_name_is_an_error),
		cmocka_unit_test(time_and_chance_are_the_machine_s),
		cmocka_unit_test_setup_teardown(it_works_on_a_real_file_system,
						setup_real, teardown_real),
		cmocka_unit_test_setup_teardown(
			a_killed_writer_is_rolled_back_on_a_real_one,
			setup_real, teardown_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

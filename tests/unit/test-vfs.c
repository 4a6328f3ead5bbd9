/* test-vfs.c - SQLite over base/file.h: locks, names, time, real files. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "unit/vfs-help.h"

static sqlite3_file *file_of(sqlite3 *db)
{
	sqlite3_file *f = NULL;

	(void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f);
	assert_non_null(f);
	return f;
}

static int lock(sqlite3 *db, int level)
{
	return file_of(db)->pMethods->xLock(file_of(db), level);
}

static int unlock(sqlite3 *db, int level)
{
	return file_of(db)->pMethods->xUnlock(file_of(db), level);
}

static int is_reserved(sqlite3 *db)
{
	int is = -1;
	sqlite3_file *f = file_of(db);

	assert_int_equal(f->pMethods->xCheckReservedLock(f, &is), SQLITE_OK);
	return is;
}

/* What SQLite does too seldom for its own use of it to show a mistake. */
static void locks_go_up_and_down(void **state)
{
	struct simdisk *d = make_disk();
	struct conn a, b;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &a), SQLITE_OK);
	assert_int_equal(connect_to(simdisk_process(d), DB, &b), SQLITE_OK);
	assert_int_equal(lock(a.db, SQLITE_LOCK_SHARED), SQLITE_OK);
	assert_int_equal(lock(b.db, SQLITE_LOCK_SHARED), SQLITE_OK);
	assert_int_equal(is_reserved(b.db), 0);
	assert_int_equal(lock(a.db, SQLITE_LOCK_RESERVED), SQLITE_OK);
	assert_int_equal(is_reserved(a.db), 1);
	assert_int_equal(is_reserved(b.db), 1);
	assert_int_equal(lock(b.db, SQLITE_LOCK_RESERVED), SQLITE_BUSY);
	assert_int_equal(lock(a.db, SQLITE_LOCK_EXCLUSIVE), SQLITE_BUSY);
	assert_int_equal(unlock(b.db, SQLITE_LOCK_NONE), SQLITE_OK);
	assert_int_equal(lock(b.db, SQLITE_LOCK_SHARED), SQLITE_BUSY);
	assert_int_equal(lock(a.db, SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);

	/* Down to sharing: others may read and mean to write, not write. */
	assert_int_equal(unlock(a.db, SQLITE_LOCK_SHARED), SQLITE_OK);
	assert_int_equal(is_reserved(a.db), 0);
	assert_int_equal(lock(b.db, SQLITE_LOCK_SHARED), SQLITE_OK);
	assert_int_equal(lock(b.db, SQLITE_LOCK_RESERVED), SQLITE_OK);
	assert_int_equal(lock(b.db, SQLITE_LOCK_EXCLUSIVE), SQLITE_BUSY);
	assert_int_equal(unlock(a.db, SQLITE_LOCK_NONE), SQLITE_OK);
	assert_int_equal(lock(b.db, SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
	assert_int_equal(unlock(b.db, SQLITE_LOCK_NONE), SQLITE_OK);
	assert_int_equal(lock(a.db, SQLITE_LOCK_SHARED), SQLITE_OK);
	assert_int_equal(lock(a.db, SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
	assert_int_equal(unlock(a.db, SQLITE_LOCK_NONE), SQLITE_OK);
	disconnect(&a);
	disconnect(&b);
	simdisk_free(d);
}

static void reads_beyond_the_end_are_zeros(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c;
	sqlite3_file *f;
	sqlite3_int64 size;
	char buf[16];

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	f = file_of(c.db);
	assert_int_equal(f->pMethods->xFileSize(f, &size), SQLITE_OK);
	memset(buf, 'x', sizeof(buf));
	assert_int_equal(f->pMethods->xRead(f, buf, 16, size - 4),
			 SQLITE_IOERR_SHORT_READ);
	assert_memory_equal(buf + 4, (char[12]){ 0 }, 12);
	assert_int_equal(f->pMethods->xSectorSize(f), 4096);
	assert_int_equal(f->pMethods->xDeviceCharacteristics(f), 0);
	disconnect(&c);
	simdisk_free(d);
}

/* Whatever cannot be looked at may be a hot journal. */
static void an_unreadable_journal_is_not_taken_for_none(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c;
	sqlite3_vfs *v;
	int is;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	simdisk_fail_at(d, SIM_STAT, 1, -EIO, true);
	assert_int_equal(run(c.db, "SELECT * FROM t") & 0xff, SQLITE_IOERR);
	v = sqlite3_vfs_find(vfs_name(c.vfs));
	assert_int_equal(v->xAccess(v, DB, SQLITE_ACCESS_EXISTS, &is),
			 SQLITE_IOERR_ACCESS);
	simdisk_fail_at(d, 0, 0, 0, false);
	assert_int_equal(v->xAccess(v, DB, SQLITE_ACCESS_EXISTS, &is),
			 SQLITE_OK);
	assert_int_equal(is, 1);
	assert_int_equal(v->xAccess(v, "/none/x", SQLITE_ACCESS_EXISTS, &is),
			 SQLITE_OK);
	assert_int_equal(is, 0);
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
		cmocka_unit_test(locks_go_up_and_down),
		cmocka_unit_test(reads_beyond_the_end_are_zeros),
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

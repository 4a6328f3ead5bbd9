/* test-vfs-crash.c - SQLite over a torn, failing or full disk. */
#include <errno.h>

#include "unit/vfs-help.h"

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

	(void)n;
	if (calls & SIM_LOCK)
		return;
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

struct holder {
	sqlite3 *db;
	bool inside;
	uint64_t looks;
};

/* What it has is what it had. */
static void look_at_it(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	struct holder *h = ctx;

	(void)d;
	(void)calls;
	(void)n;
	if (h->inside)
		return;
	h->inside = true;
	assert_int_equal(ask(h->db, "SELECT max(v) FROM t"), 0);
	h->looks++;
	h->inside = false;
}

/* B makes a new database of the same name and dies while it writes to it; A
 * has the old one open and reads on. */
static void a_removed_database_does_not_hurt_the_next(void **state)
{
	uint64_t looks = 0;
	int r = SQLITE_ERROR;

	(void)state;
	for (uint64_t n = 1; r != SQLITE_OK; n++) {
		struct simdisk *d = make_disk();
		struct fs *fs = simdisk_process(d);
		struct conn a, b;
		struct holder h = { 0 };

		assert_int_equal(connect_to(simdisk_process(d), DB, &a),
				 SQLITE_OK);
		h.db = a.db;
		assert_int_equal(check_db(a.db), 0);
		assert_int_equal(vfs_remove_db(fs, DB), 0);
		assert_int_equal(connect_to(fs, DB, &b), SQLITE_OK);
		assert_int_equal(create_table(b.db), SQLITE_OK);
		simdisk_kill_at(fs, n);
		simdisk_on_call(d, look_at_it, &h);
		r = run_one(b.db);
		simdisk_on_call(d, NULL, NULL);
		looks += h.looks;
		(void)sqlite3_extended_result_codes(a.db, 1);
		assert_int_equal(run_one(a.db), SQLITE_READONLY_DBMOVED);
		assert_int_equal(check_db(a.db), 0);
		disconnect(&b);
		assert_in_range(check_disk(d), r == SQLITE_OK, 1);
		disconnect(&a);
		assert_int_equal(simdisk_open_files(d), 0);
		simdisk_free(d);
	}
	assert_in_range(looks, 100, 100000);
}

/* Whoever removes a database waits until nobody is at it. */
static void a_database_is_not_removed_under_a_writer(void **state)
{
	struct simdisk *d = make_disk();
	struct conn c;
	struct file_stat st;

	(void)state;
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	must_run(c.db, "BEGIN IMMEDIATE; UPDATE t SET v = v + 1");
	/* Nobody else moves while one sleeps. */
	simdisk_fail_at(d, SIM_SLEEP, 1, -EINTR, true);
	assert_int_equal(vfs_remove_db(simdisk_process(d), DB), -EAGAIN);
	must_run(c.db, "ROLLBACK");
	assert_int_equal(run_one(c.db), SQLITE_OK);
	assert_int_equal(vfs_remove_db(simdisk_process(d), DB), 0);
	assert_int_equal(fs_stat(simdisk_process(d), DB, &st), -ENOENT);
	assert_int_equal(fs_stat(simdisk_process(d), DB "-journal", &st),
			 -ENOENT);
	assert_int_equal(vfs_remove_db(simdisk_process(d), DB), 0);
	disconnect(&c);
	simdisk_free(d);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_power_cut_tears_no_transaction),
		cmocka_unit_test(a_power_cut_tears_no_new_database),
		cmocka_unit_test(
			a_power_cut_tears_nothing_with_removed_journals),
		cmocka_unit_test(a_dead_writer_s_journal_is_rolled_back),
		cmocka_unit_test(a_removed_database_does_not_hurt_the_next),
		cmocka_unit_test(a_database_is_not_removed_under_a_writer),
		cmocka_unit_test(a_failing_disk_gives_an_error_and_no_damage),
		cmocka_unit_test(a_full_disk_gives_full_and_no_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test-catalog-write.c - the catalogue's transactions, beside other processes
 * and threads, and on disks that are full, failing or read-only.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/catalog-help.h"

/* One of everything. */
static void put_all(struct fixture *t, uint64_t n)
{
	struct catalog_row row = row_of(t, n, n);
	struct catalog_name name = name_of("x", n, n);
	struct store_hide h = { 1, n & 1, n };
	struct catalog_meta meta = { id_of(5), n, 1 };

	MUST(catalog_put(t->c, &row, &err));
	MUST(catalog_put_name(t->c, &name, &err));
	MUST(catalog_put_hide(t->c, &row.rec.id, &h, &err));
	MUST(catalog_set_meta(t->c, &meta, &err));
}

static void expect_all(struct catalog *c, uint64_t n)
{
	struct arena a;
	struct catalog_row row;
	struct catalog_name name;
	struct store_hide *v;
	struct weft_id id = id_of(n);
	size_t n_hidden;

	arena_init(&a, 0);
	assert_int_equal(applied_of(c), n);
	MUST(catalog_get(c, &id, &a, &row, &err));
	MUST(catalog_get_name(c, STR("x"), &a, &name, &err));
	assert_true(id_eq(&name.name.session, &id));
	MUST(catalog_hidden(c, &id, 1, 1, &a, &v, &n_hidden, &err));
	assert_int_equal(n_hidden, 1);
	assert_int_equal(count_of(c), n);
	arena_done(&a);
}

static void a_rollback_takes_everything_back(void **state)
{
	struct fixture *t = *state;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	catalog_rollback(t->c);
	expect_all(t->c, 1);
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_clear(t->c, &err));
	catalog_rollback(t->c);
	expect_all(t->c, 1);
	/* Harmless where there is nothing to take back. */
	catalog_rollback(t->c);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	MUST(catalog_commit(t->c, &err));
	catalog_rollback(t->c);
	expect_all(t->c, 2);
}

static void nothing_is_left_after_clearing(void **state)
{
	struct fixture *t = *state;
	struct catalog_name name;
	struct catalog_row row;
	struct weft_id id = id_of(1), *ids;
	struct store_hide *v;
	size_t n;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_clear(t->c, &err));
	MUST(catalog_commit(t->c, &err));
	assert_int_equal(catalog_get(t->c, &id, &t->a, &row, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(catalog_get_name(t->c, STR("x"), &t->a, &name, NULL),
			 WEFT_NOT_FOUND);
	MUST(catalog_hidden(t->c, &id, 0, 9, &t->a, &v, &n, &err));
	assert_int_equal(n, 0);
	MUST(catalog_find_tag(t->c, id_session_tag(&id), &t->a, &ids, &n,
			      &err));
	assert_int_equal(n, 0);
	assert_int_equal(count_of(t->c), 0);
	/* A lagging row is as good as any now. */
	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	expect_all(t->c, 1);
}

static void reads_see_what_was_there_before_a_transaction(void **state)
{
	struct fixture *t = *state;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_begin(t->c, &err));
	/* More than the cache holds, which would lock readers out. */
	for (uint64_t i = 2; i < 2000; i++)
		put_all(t, i);
	expect_all(t->c, 1);
	MUST(catalog_commit(t->c, &err));
	expect_all(t->c, 1999);
}

static void another_process_sees_what_was_committed(void **state)
{
	struct fixture *t = *state;
	struct catalog *mine = t->c;
	struct catalog *other = open_at(simdisk_process(t->disk), DB, 0);

	for (uint64_t i = 1; i <= 20; i++) {
		t->c = i & 1 ? mine : other;
		MUST(catalog_begin(t->c, &err));
		put_all(t, i);
		MUST(catalog_commit(t->c, &err));
		expect_all(mine, i);
		expect_all(other, i);
	}
	t->c = mine;
	catalog_close(other);
}

/* Waiting is not worth while where nobody else runs. */
static void do_not_sleep(struct simdisk *d)
{
	simdisk_fail_at(d, SIM_SLEEP, 1, -EINTR, true);
}

static void two_writers_wait_for_each_other(void **state)
{
	struct fixture *t = *state;
	struct catalog *other = open_at(simdisk_process(t->disk), DB, 0);
	struct weft_error busy;

	do_not_sleep(t->disk);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	assert_int_equal(catalog_begin(other, &busy), WEFT_BUSY);
	assert_non_null(strstr(busy.message, "catalog.db"));
	catalog_rollback(other);
	MUST(catalog_commit(t->c, &err));
	MUST(catalog_begin(other, &err));
	catalog_rollback(other);
	catalog_close(other);
}

static int close_the_other(void *ctx, const struct session_rec *rec)
{
	struct fixture *t = ctx;

	/* A list is under way in this process, so nobody can commit. */
	(void)rec;
	assert_int_equal(catalog_commit(t->c, NULL), WEFT_BUSY);
	return 42;
}

static void a_commit_that_has_to_wait_too_long_can_be_given_up(void **state)
{
	struct fixture *t = *state;
	struct catalog *other = open_at(simdisk_process(t->disk), DB, 0);
	struct list_query q = { .deleted = LIST_WITH_DELETED };
	struct catalog_row row = row_of(t, 1, 1);

	do_not_sleep(t->disk);
	put_row(t->c, &row);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	assert_int_equal(catalog_list(other, &q, close_the_other, t, NULL), 42);
	catalog_rollback(t->c);
	assert_int_equal(applied_of(other), 0);
	catalog_close(other);
}

static void a_removed_file_is_noticed(void **state)
{
	struct fixture *t = *state;
	struct file_stat before, after;

	assert_int_equal(catalog_file_stat(t->c, &before), 0);
	assert_int_equal(before.links, 1);
	assert_int_equal(simdisk_remove(t->disk, DB), 0);
	assert_int_equal(catalog_file_stat(t->c, &after), 0);
	assert_int_equal(after.links, 0);
	assert_int_equal(after.ino, before.ino);
}

static void a_catalogue_in_memory_does_the_same(void **state)
{
	struct fixture *t = *state;
	struct catalog *on_disk = t->c;
	struct catalog_row row = row_of(t, 7, 1);
	struct file_stat st;

	t->c = open_in_memory();
	put_row(t->c, &row);
	expect_row(t, &row);
	MUST(catalog_begin(t->c, &err));
	MUST(catalog_clear(t->c, &err));
	/* This thread's own reads go on, and see what it did. */
	assert_int_equal(count_of(t->c), 0);
	catalog_rollback(t->c);
	assert_int_equal(count_of(t->c), 1);
	MUST(catalog_check(t->c, &err));
	assert_int_equal(catalog_file_stat(t->c, &st), 0);
	assert_int_equal(st.links, 1);
	catalog_close(t->c);
	t->c = on_disk;
}

static void a_reader_reads_and_does_not_write(void **state)
{
	struct fixture *t = *state;
	struct catalog *reader;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	reader = open_at(simdisk_process(t->disk), DB, CATALOG_READ_ONLY);
	expect_all(reader, 1);
	assert_int_equal(catalog_begin(reader, NULL), WEFT_READ_ONLY);
	catalog_rollback(reader);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	MUST(catalog_commit(t->c, &err));
	expect_all(reader, 2);
	MUST(catalog_check(reader, &err));
	catalog_close(reader);
}

static void a_read_only_file_system_is_enough_for_reading(void **state)
{
	struct fixture *t = *state;
	struct fs *fs = simdisk_process(t->disk);
	struct catalog *reader;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	simdisk_set_kind(t->disk, "iso9660", false, true);
	reader = open_at(fs, DB, CATALOG_READ_ONLY);
	expect_all(reader, 1);
	catalog_close(reader);
	/* Also one without locks, by the name of this file alone. */
	simdisk_fail_at(t->disk, SIM_LOCK, 1, -ENOLCK, true);
	reader = open_at(fs, DB, CATALOG_READ_ONLY);
	expect_all(reader, 1);
	catalog_close(reader);
	/* But not while that would be half a transaction. */
	simdisk_set_kind(t->disk, "ext4", false, false);
	assert_int_equal(
		simdisk_append(t->disk, DB "-journal", STR("something")), 0);
	simdisk_set_kind(t->disk, "iso9660", false, true);
	assert_int_equal(catalog_open(fs, DB, CATALOG_READ_ONLY, &reader, NULL),
			 WEFT_CORRUPT);
	simdisk_fail_at(t->disk, 0, 0, 0, false);
	assert_int_equal(catalog_open(fs, DB, 0, &reader, NULL),
			 WEFT_READ_ONLY);
	simdisk_set_kind(t->disk, "ext4", false, false);
}

static void a_reader_does_not_make_a_file(void **state)
{
	struct fixture *t = *state;
	struct catalog *reader;
	struct file_stat st;

	assert_int_equal(catalog_open(t->fs, "/store/none", CATALOG_READ_ONLY,
				      &reader, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(fs_stat(t->fs, "/store/none", &st), -ENOENT);
	assert_int_equal(catalog_open(t->fs, "/none/c.db", 0, &reader, NULL),
			 WEFT_IO);
}

static void a_full_disk_is_said_and_survived(void **state)
{
	struct fixture *t = *state;
	int r = WEFT_OK;

	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	MUST(catalog_commit(t->c, &err));
	simdisk_set_free(t->disk, KIB(64));
	MUST(catalog_begin(t->c, &err));
	for (uint64_t i = 2; i < 200 && r == WEFT_OK; i++) {
		struct catalog_row row = row_of(t, i, i);

		r = catalog_put(t->c, &row, NULL);
	}
	if (r == WEFT_OK)
		r = catalog_commit(t->c, NULL);
	assert_int_equal(r, WEFT_NO_SPACE);
	catalog_rollback(t->c);
	expect_all(t->c, 1);
	MUST(catalog_check(t->c, &err));
	simdisk_set_free(t->disk, MIB(64));
	MUST(catalog_begin(t->c, &err));
	put_all(t, 2);
	MUST(catalog_commit(t->c, &err));
	expect_all(t->c, 2);
}

static void failing_reads_and_syncs_are_told(void **state)
{
	struct fixture *t = *state;
	struct catalog_meta meta;
	struct weft_error said;

	simdisk_fail_at(t->disk, SIM_READ, 1, -EIO, true);
	assert_int_equal(catalog_get_meta(t->c, &meta, &said), WEFT_IO);
	assert_string_equal(said.message, "catalog.db: disk I/O error while "
					  "reading: Input/output error");
	simdisk_fail_at(t->disk, SIM_LOCK, 1, -ENOLCK, true);
	assert_int_equal(catalog_get_meta(t->c, &meta, &said), WEFT_IO);
	assert_string_equal(said.message, "catalog.db: disk I/O error while "
					  "locking: No locks available");
	simdisk_fail_at(t->disk, 0, 0, 0, false);
	MUST(catalog_begin(t->c, &err));
	put_all(t, 1);
	simdisk_fail_at(t->disk, SIM_SYNC, 1, -EIO, true);
	assert_int_equal(catalog_commit(t->c, &said), WEFT_IO);
	assert_string_equal(said.message, "catalog.db: disk I/O error while "
					  "flushing: Input/output error");
	simdisk_fail_at(t->disk, 0, 0, 0, false);
	catalog_rollback(t->c);
	assert_int_equal(applied_of(t->c), 0);
}

/* ---- on real files, with threads ---- */

#define COMMITS 60

struct shared {
	struct catalog *c;
	atomic_bool done;
	atomic_int bad;
};

/* A transaction sets the meta and one row to the same number. */
static void *read_along(void *ctx)
{
	struct shared *s = ctx;
	struct weft_id id = id_of(1);
	struct arena a;
	uint64_t last = 0;

	arena_init(&a, 0);
	while (!atomic_load(&s->done)) {
		struct catalog_meta meta = { .applied = 0 };
		struct catalog_row row = { .lsn = 0 };

		arena_reset(&a);
		if (catalog_get_meta(s->c, &meta, NULL) != WEFT_OK ||
		    catalog_get(s->c, &id, &a, &row, NULL) != WEFT_OK ||
		    meta.applied < last || row.lsn < meta.applied)
			atomic_fetch_add(&s->bad, 1);
		last = row.lsn;
	}
	arena_done(&a);
	return NULL;
}

static void commit_number(struct catalog *c, uint64_t n)
{
	struct catalog_row row = { .rec = { .id = id_of(1) }, .lsn = n };
	struct catalog_meta meta = { .applied = n };

	MUST(catalog_begin(c, &err));
	MUST(catalog_put(c, &row, &err));
	MUST(catalog_set_meta(c, &meta, &err));
	MUST(catalog_commit(c, &err));
}

static void threads_read_while_one_writes(void **state)
{
	char dir[] = "/tmp/test-catalog-XXXXXX", path[64], journal[80];
	struct shared s = { .bad = 0 };
	pthread_t readers[2];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/file:a?b#c%%41", dir);
	(void)snprintf(journal, sizeof(journal), "%s-journal", path);
	s.c = open_at(fs_real(), path, 0);
	commit_number(s.c, 1);
	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		assert_int_equal(
			pthread_create(&readers[i], NULL, read_along, &s), 0);
	for (uint64_t i = 2; i < COMMITS; i++)
		commit_number(s.c, i);
	atomic_store(&s.done, true);
	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_int_equal(atomic_load(&s.bad), 0);
	catalog_close(s.c);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(journal), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_rollback_takes_everything_back),
		T(nothing_is_left_after_clearing),
		T(reads_see_what_was_there_before_a_transaction),
		T(another_process_sees_what_was_committed),
		T(two_writers_wait_for_each_other),
		T(a_commit_that_has_to_wait_too_long_can_be_given_up),
		T(a_removed_file_is_noticed),
		T(a_catalogue_in_memory_does_the_same),
		T(a_reader_reads_and_does_not_write),
		T(a_read_only_file_system_is_enough_for_reading),
		T(a_reader_does_not_make_a_file),
		T(a_full_disk_is_said_and_survived),
		T(failing_reads_and_syncs_are_told),
		cmocka_unit_test(threads_read_while_one_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

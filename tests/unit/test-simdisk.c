/* test-simdisk.c - the simulated disk does what crash tests rely on. */
#include <errno.h>
#include <unistd.h>

#include "unit/sim-help.h"

static void files_read_back_what_was_written(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f"), *g = open_file(t->b, "f", 0);
	struct iovec v[] = { { (char[]){ "ab" }, 2 },
			     { NULL, 0 },
			     { (char[]){ "cde" }, 3 } };
	char buf[10000];

	assert_int_equal(file_writev(f, v, 3, 4094), 5);
	assert_int_equal(file_read(g, buf, sizeof(buf), 4090), 9);
	assert_memory_equal(buf, "\0\0\0\0abcde", 9);
	assert_int_equal(file_read(g, buf, 3, 4095), 3);
	assert_memory_equal(buf, "bcd", 3);
	assert_int_equal(file_read(g, buf, 3, 4099), 0);
	assert_int_equal(put(g, 0, "x"), -EBADF);
	assert_int_equal(file_truncate(g, 0), -EBADF);

	/* What was cut off does not come back when the file grows. */
	assert_int_equal(file_truncate(f, 4095), 0);
	assert_int_equal(file_truncate(f, 4097), 0);
	assert_int_equal(file_read(g, buf, sizeof(buf), 4094), 3);
	assert_memory_equal(buf, "a\0\0", 3);
	file_close(f);
	file_close(g);
}

static void paths_name_what_they_should(void **state)
{
	struct disk *t = *state;
	struct file_stat st;
	struct file *f;

	assert_int_equal(fs_mkdir(t->a, "/d"), 0);
	assert_int_equal(fs_mkdir(t->a, "/d"), -EEXIST);
	assert_int_equal(fs_mkdir(t->a, "/x/y"), -ENOENT);
	file_close(make(t->a, "/d//./f"));
	assert_int_equal(fs_mkdir(t->a, "/d/f/y"), -ENOTDIR);
	assert_int_equal(fs_stat(t->b, "/d/f", &st), 0);
	assert_true(st.is_file && !st.is_dir);
	assert_int_equal(st.links, 1);
	assert_int_equal(st.uid, geteuid());
	assert_int_equal(st.mode, 0600);
	assert_int_equal(fs_stat(t->b, "/", &st), 0);
	assert_true(st.is_dir);
	assert_int_equal(fs_stat(t->b, "/d/../d", &st), -EINVAL);
	assert_int_equal(file_open(t->a, "/d/f",
				   FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE,
				   &f),
			 -EEXIST);
	assert_int_equal(file_open(t->a, "/d", FILE_WRITE, &f), -EISDIR);
	assert_int_equal(file_open(t->a, "/none", FILE_WRITE, &f), -ENOENT);
	assert_int_equal(fs_rmdir(t->a, "/d"), -ENOTEMPTY);
	assert_int_equal(fs_rmdir(t->a, "/d/f"), -ENOTDIR);
	assert_int_equal(fs_unlink(t->a, "/d"), -EISDIR);
	assert_int_equal(fs_rename(t->a, "/d", "/d/e"), -EINVAL);
	assert_int_equal(fs_rename(t->a, "/d/f", "/d/f"), 0);
	assert_int_equal(fs_unlink(t->a, "/d/f"), 0);
	assert_int_equal(fs_rmdir(t->a, "/d"), 0);
	assert_int_equal(fs_stat(t->a, "/d", &st), -ENOENT);
}

static int add_name(void *ctx, const char *name)
{
	char *all = ctx;
	size_t n = strlen(all);

	(void)snprintf(all + n, 64 - n, "%s ", name);
	return strcmp(name, "stop") == 0 ? 7 : 0;
}

static void lists_are_sorted_and_can_be_stopped(void **state)
{
	struct disk *t = *state;
	char all[64] = "";

	file_close(make(t->a, "/b"));
	file_close(make(t->a, "/a"));
	file_close(make(t->a, "/c"));
	assert_int_equal(fs_list(t->b, "/", add_name, all), 0);
	assert_string_equal(all, "a b c ");
	file_close(make(t->a, "/stop"));
	file_close(make(t->a, "/z"));
	assert_int_equal(fs_list(t->b, "/", add_name, all), 7);
	assert_string_equal(all, "a b c a b c stop ");
	assert_int_equal(fs_list(t->b, "/a", add_name, all), -ENOTDIR);
}

static void a_removed_file_lives_while_it_is_open(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");
	struct file_stat st;
	char c;

	must_put(f, 0, "x");
	assert_int_equal(simdisk_replace(t->sim, "/f", STR("new")), 0);
	assert_int_equal(file_stat(f, &st), 0);
	assert_int_equal(st.links, 0);
	assert_int_equal(file_read(f, &c, 1, 0), 1);
	assert_int_equal(c, 'x');
	file_close(f);
	expect_file(t->sim, "/f", "new");
}

static void content_is_durable_after_a_sync_and_not_before(void **state)
{
	struct disk *t = *state;
	struct file *f;

	keep_file(t->sim, "/f", "old");
	f = open_file(t->a, "/f", FILE_WRITE);
	must_put(f, 0, "new and longer");
	assert_int_equal(file_datasync(f), 0);
	must_put(f, 0, "NEW");
	assert_int_equal(file_truncate(f, 5), 0);
	expect_file(t->sim, "/f", "NEW a");
	lose_all(t->sim);
	expect_file(t->sim, "/f", "new and longer");
	file_close(f);
}

static void a_name_is_durable_after_a_sync_of_its_directory(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");

	must_put(f, 0, "x");
	assert_int_equal(file_sync(f), 0);
	file_close(f);
	lose_all(t->sim);
	expect_file(t->sim, "/f", NULL); /* content alone is not enough */

	t->a = simdisk_process(t->sim);
	f = make(t->a, "/f");
	must_put(f, 0, "x");
	assert_int_equal(fs_sync_dir(t->a, "/"), 0);
	lose_all(t->sim);
	expect_file(t->sim, "/f", ""); /* and the name alone is empty */
	file_close(f);
}

static void a_directory_is_lost_with_all_that_is_in_it(void **state)
{
	struct disk *t = *state;

	assert_int_equal(fs_mkdir(t->a, "/d"), 0);
	file_close(make(t->a, "/d/f"));
	assert_int_equal(fs_sync_dir(t->a, "/d"), 0);
	lose_all(t->sim);
	expect_file(t->sim, "/d/f", NULL);
}

static void unlink_and_rename_need_a_sync_too(void **state)
{
	struct disk *t = *state;
	struct file_stat st;

	keep_file(t->sim, "/x", "x");
	keep_file(t->sim, "/y", "y");
	assert_int_equal(fs_unlink(t->a, "/x"), 0);
	assert_int_equal(fs_rename(t->a, "/y", "/z"), 0);
	expect_file(t->sim, "/x", NULL);
	expect_file(t->sim, "/z", "y");
	lose_all(t->sim);
	expect_file(t->sim, "/x", "x");
	expect_file(t->sim, "/y", "y");
	expect_file(t->sim, "/z", NULL);
	assert_int_equal(fs_stat(simdisk_process(t->sim), "/x", &st), 0);
	assert_int_equal(st.links, 1);
}

static void a_directory_s_handle_syncs_its_names(void **state)
{
	struct disk *t = *state;
	struct file *dir = open_file(t->a, "/", FILE_READ);
	struct simcounts n;

	file_close(make(t->a, "/f"));
	assert_int_equal(file_sync(dir), 0);
	file_close(dir);
	simdisk_counts(t->sim, &n);
	assert_int_equal(simcounts_of(&n, SIM_SYNC_DIR), 1);
	lose_all(t->sim);
	expect_file(t->sim, "/f", "");
}

static void a_rename_between_directories_needs_both(void **state)
{
	struct disk *t = *state;

	assert_int_equal(fs_mkdir(t->a, "/p"), 0);
	assert_int_equal(fs_mkdir(t->a, "/q"), 0);
	keep_file(t->sim, "/p/f", "f");
	assert_int_equal(fs_rename(t->a, "/p/f", "/q/f"), 0);
	assert_int_equal(fs_sync_dir(t->a, "/q"), 0);
	lose_all(t->sim);
	expect_file(t->sim, "/p/f", "f");
	expect_file(t->sim, "/q/f", NULL);

	t->a = simdisk_process(t->sim);
	assert_int_equal(fs_rename(t->a, "/p/f", "/q/f"), 0);
	assert_int_equal(fs_sync_dir(t->a, "/q"), 0);
	assert_int_equal(fs_sync_dir(t->a, "/p"), 0);
	lose_all(t->sim);
	expect_file(t->sim, "/p/f", NULL);
	expect_file(t->sim, "/q/f", "f");
}

static void sync_all_makes_everything_durable(void **state)
{
	struct disk *t = *state;
	struct file *dir = open_file(t->a, "/", 0), *f = make(t->a, "/f");

	must_put(f, 0, "x");
	simdisk_set_sync_all(t->sim, false);
	assert_int_equal(file_sync_all(dir), -ENOSYS);
	simdisk_set_sync_all(t->sim, true);
	assert_int_equal(simdisk_pending(t->sim), 2);
	assert_int_equal(file_sync_all(dir), 0);
	assert_int_equal(simdisk_pending(t->sim), 0);
	lose_all(t->sim);
	expect_file(t->sim, "/f", "x");
	file_close(dir);
	file_close(f);
}

static void a_killed_process_changes_nothing_more(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f"), *g = open_file(t->b, "/f", 1);
	struct file_stat st;
	struct file *other;
	char c;

	must_put(f, 0, "one");
	assert_int_equal(file_lock(f, 0, 1, FILE_LOCKED), 0);
	assert_int_equal(file_lock(g, 0, 1, FILE_LOCKED), -EAGAIN);
	simdisk_kill(t->a);
	assert_true(simdisk_is_dead(t->a) && !simdisk_is_dead(t->b));
	assert_int_equal(put(f, 0, "two"), -EIO);
	assert_int_equal(file_read(f, &c, 1, 0), -EIO);
	assert_int_equal(file_truncate(f, 0), -EIO);
	assert_int_equal(file_sync(f), -EIO);
	assert_int_equal(file_sync_all(f), -EIO);
	assert_int_equal(file_stat(f, &st), -EIO);
	assert_int_equal(file_open(t->a, "/g", 3, &other), -EIO);
	assert_int_equal(fs_mkdir(t->a, "/d"), -EIO);
	assert_int_equal(fs_unlink(t->a, "/f"), -EIO);
	assert_int_equal(fs_rename(t->a, "/f", "/g"), -EIO);
	assert_int_equal(fs_sync_dir(t->a, "/"), -EIO);
	assert_int_equal(fs_stat(t->a, "/f", &st), -EIO);
	/* Its lock is gone, and the cache stays as it was. */
	assert_int_equal(file_lock(g, 0, 1, FILE_LOCKED), 0);
	expect_file(t->sim, "/f", "one");
	assert_int_equal(simdisk_pending(t->sim), 2);
	file_close(f);
	file_close(g);
}

static void a_process_dies_before_its_nth_change(void **state)
{
	struct disk *t = *state;
	struct file *f;

	simdisk_kill_at(t->a, 4);
	f = make(t->a, "/f");                      /* 1 */
	must_put(f, 0, "a");                       /* 2 */
	assert_int_equal(size_of(t->a, "/f"), 1);  /* no change */
	assert_int_equal(fs_mkdir(t->b, "/x"), 0); /* somebody else's */
	assert_int_equal(file_sync(f), 0);         /* 3 */
	assert_int_equal(put(f, 1, "b"), -EIO);    /* 4 */
	assert_true(simdisk_is_dead(t->a));
	expect_file(t->sim, "/f", "a");
	file_close(f);
}

static void a_process_dies_in_the_middle_of_a_write(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");

	simdisk_kill_in_write(t->a, 1, 3);
	assert_int_equal(put(f, 0, "abcdef"), -EIO);
	expect_file(t->sim, "/f", "abc");
	file_close(f);
}

static void a_power_cut_kills_everybody(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");

	assert_int_equal(file_lock(f, 0, 0, FILE_LOCKED), 0);
	keep_all(t->sim);
	assert_true(simdisk_is_dead(t->a) && simdisk_is_dead(t->b));
	assert_int_equal(put(f, 0, "x"), -EIO);
	assert_int_equal(simdisk_open_files(t->sim), 1);
	file_close(f);
	assert_int_equal(simdisk_open_files(t->sim), 0);

	f = open_file(simdisk_process(t->sim), "/f", FILE_WRITE);
	assert_int_equal(file_lock(f, 0, 0, FILE_LOCKED), 0);
	must_put(f, 0, "x");
	file_close(f);
}

static void a_failed_sync_forgets_what_it_had_to_write(void **state)
{
	struct disk *t = *state;
	struct file *f;

	keep_file(t->sim, "/f", "old....");
	f = open_file(t->a, "/f", FILE_WRITE);
	must_put(f, 0, "new");
	simdisk_fail_sync(t->sim, 1, -EIO);
	assert_int_equal(file_sync(f), -EIO);
	assert_int_equal(simdisk_faults_hit(t->sim), 1);
	expect_file(t->sim, "/f", "new....");
	must_put(f, 4, "xyz");
	assert_int_equal(file_sync(f), 0);
	file_close(f);
	keep_all(t->sim);
	expect_file(t->sim, "/f", "old.xyz");
}

static void what_a_failed_sync_lost_can_be_written_again(void **state)
{
	struct disk *t = *state;
	struct file *f;

	keep_file(t->sim, "/f", "");
	f = open_file(t->a, "/f", FILE_WRITE);
	must_put(f, 0, "new");
	simdisk_fail_sync(t->sim, 2, -EIO);
	assert_int_equal(fs_sync_dir(t->a, "/"), 0);
	assert_int_equal(file_sync(f), -EIO);
	must_put(f, 0, "new"); /* the same bytes: dirty again */
	assert_int_equal(file_sync(f), 0);
	file_close(f);
	lose_all(t->sim);
	expect_file(t->sim, "/f", "new");
}

static void a_failed_sync_of_a_directory_forgets_names(void **state)
{
	struct disk *t = *state;

	file_close(make(t->a, "/f"));
	simdisk_fail_sync(t->sim, 1, -EIO);
	assert_int_equal(fs_sync_dir(t->a, "/"), -EIO);
	assert_int_equal(fs_sync_dir(t->a, "/"), 0);
	expect_file(t->sim, "/f", "");
	keep_all(t->sim);
	expect_file(t->sim, "/f", NULL);
}

static void a_failed_sync_of_everything_forgets_everything(void **state)
{
	struct disk *t = *state;
	struct file *f;

	keep_file(t->sim, "/f", "old");
	file_close(make(t->a, "/g"));
	f = open_file(t->a, "/f", FILE_WRITE);
	must_put(f, 0, "new");
	simdisk_fail_sync(t->sim, 1, -EIO);
	assert_int_equal(file_sync_all(f), -EIO);
	assert_int_equal(file_sync_all(f), 0);
	file_close(f);
	expect_file(t->sim, "/f", "new");
	keep_all(t->sim);
	expect_file(t->sim, "/f", "old");
	expect_file(t->sim, "/g", NULL);
}

static void the_nth_call_fails(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f"), *g;
	struct file_stat st;
	char c;

	simdisk_fail_at(t->sim, SIM_WRITE, 2, -EIO, false);
	must_put(f, 0, "a");
	assert_int_equal(put(f, 1, "b"), -EIO);
	must_put(f, 1, "c");
	expect_file(t->sim, "/f", "ac");

	simdisk_fail_at(t->sim, SIM_WRITE, 1, -ENOSPC, true);
	simdisk_fail_part(t->sim, 2);
	assert_int_equal(put(f, 2, "defg"), -ENOSPC);
	assert_int_equal(put(f, 4, "hijk"), -ENOSPC);
	expect_file(t->sim, "/f", "acdehi");
	simdisk_fail_at(t->sim, 0, 0, 0, false);

	simdisk_fail_at(t->sim, SIM_OPEN, 1, -EMFILE, false);
	assert_int_equal(file_open(t->b, "/new", 3, &g), -EMFILE);
	expect_file(t->sim, "/new", NULL);
	simdisk_fail_at(t->sim, SIM_READ, 1, -EIO, false);
	assert_int_equal(file_read(f, &c, 1, 0), -EIO);
	simdisk_fail_at(t->sim, SIM_TRUNCATE, 1, -EIO, false);
	assert_int_equal(file_truncate(f, 0), -EIO);
	simdisk_fail_at(t->sim, SIM_RENAME | SIM_MKDIR, 2, -ENOSPC, false);
	assert_int_equal(fs_rename(t->a, "/f", "/g"), 0);
	assert_int_equal(fs_mkdir(t->a, "/d"), -ENOSPC);
	simdisk_fail_at(t->sim, SIM_UNLINK, 1, -EIO, false);
	assert_int_equal(fs_unlink(t->a, "/g"), -EIO);
	simdisk_fail_at(t->sim, SIM_LIST, 1, -EIO, false);
	assert_int_equal(fs_list(t->a, "/", add_name, (char[64]){ "" }), -EIO);
	simdisk_fail_at(t->sim, SIM_STAT, 1, -EIO, false);
	assert_int_equal(fs_stat(t->a, "/g", &st), -EIO);
	assert_int_equal(simdisk_faults_hit(t->sim), 10);

	/* A sync that fails like this leaves its writes for the next one. */
	simdisk_fail_at(t->sim, SIM_SYNC, 1, -EIO, false);
	assert_int_equal(file_sync(f), -EIO);
	assert_int_equal(file_sync(f), 0);
	assert_int_equal(fs_sync_dir(t->a, "/"), 0);
	file_close(f);
	lose_all(t->sim);
	expect_file(t->sim, "/g", "acdehi");
}

static void space_is_limited(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");
	struct fs_space s;

	assert_int_equal(put_many(f, 0, 'a', 4096), 4096);
	simdisk_set_free(t->sim, 8192);
	assert_int_equal(put_many(f, 100, 'b', 50), 50); /* needs none */
	assert_int_equal(fs_space(t->a, "/", &s), 0);
	assert_int_equal(s.free_bytes, 8192);
	assert_int_equal(put_many(f, 4000, 'c', 100), 100);
	assert_int_equal(fs_space(t->a, "/", &s), 0);
	assert_int_equal(s.free_bytes, 4096);
	/* What fits is written. */
	assert_int_equal(put_many(f, 8000, 'd', 9000), -ENOSPC);
	assert_int_equal(size_of(t->a, "/f"), 12288);
	assert_int_equal(put_many(f, 0, 'e', 12288), 12288);
	/* Space comes back. */
	assert_int_equal(file_truncate(f, 4096), 0);
	assert_int_equal(fs_space(t->a, "/", &s), 0);
	assert_int_equal(s.free_bytes, 8192);
	assert_int_equal(fs_unlink(t->a, "/f"), 0);
	assert_int_equal(fs_space(t->a, "/", &s), 0);
	assert_int_equal(s.free_bytes, 8192);
	file_close(f);
	assert_int_equal(fs_space(t->a, "/", &s), 0);
	assert_int_equal(s.free_bytes, 12288);
	lose_all(t->sim); /* the file never was on the disk */
	assert_int_equal(fs_space(simdisk_process(t->sim), "/", &s), 0);
	assert_int_equal(s.free_bytes, 12288);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(files_read_back_what_was_written),
		T(paths_name_what_they_should),
		T(lists_are_sorted_and_can_be_stopped),
		T(a_removed_file_lives_while_it_is_open),
		T(content_is_durable_after_a_sync_and_not_before),
		T(a_name_is_durable_after_a_sync_of_its_directory),
		T(a_directory_is_lost_with_all_that_is_in_it),
		T(unlink_and_rename_need_a_sync_too),
		T(a_directory_s_handle_syncs_its_names),
		T(a_rename_between_directories_needs_both),
		T(sync_all_makes_everything_durable),
		T(a_killed_process_changes_nothing_more),
		T(a_process_dies_before_its_nth_change),
		T(a_process_dies_in_the_middle_of_a_write),
		T(a_power_cut_kills_everybody),
		T(a_failed_sync_forgets_what_it_had_to_write),
		T(what_a_failed_sync_lost_can_be_written_again),
		T(a_failed_sync_of_a_directory_forgets_names),
		T(a_failed_sync_of_everything_forgets_everything),
		T(the_nth_call_fails),
		T(space_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

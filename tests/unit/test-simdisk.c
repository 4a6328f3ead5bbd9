/* test-simdisk.c - the simulated disk does what crash tests rely on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/simdisk.h"

/* A disk with two processes. */
struct disk {
	struct simdisk *sim;
	struct fs *a, *b;
};

static int setup(void **state)
{
	struct disk *t = malloc(sizeof(*t));

	assert_non_null(t);
	t->sim = simdisk_new();
	t->a = simdisk_process(t->sim);
	t->b = simdisk_process(t->sim);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct disk *t = *state;

	simdisk_free(t->sim);
	free(t);
	return 0;
}

static struct file *open_file(struct fs *fs, const char *path, unsigned flags)
{
	struct file *f = NULL;

	assert_int_equal(file_open(fs, path, flags, &f), 0);
	return f;
}

static struct file *make(struct fs *fs, const char *path)
{
	return open_file(fs, path, FILE_WRITE | FILE_CREATE);
}

static ssize_t put(struct file *f, uint64_t at, const char *text)
{
	struct iovec v = { (void *)(uintptr_t)text, strlen(text) };

	return file_writev(f, &v, 1, at);
}

static void must_put(struct file *f, uint64_t at, const char *text)
{
	assert_int_equal(put(f, at, text), strlen(text));
}

/* `n` bytes that all are `c`. */
static ssize_t put_many(struct file *f, uint64_t at, char c, size_t n)
{
	char *bytes = malloc(n);
	struct iovec v = { bytes, n };
	ssize_t r;

	assert_non_null(bytes);
	memset(bytes, c, n);
	r = file_writev(f, &v, 1, at);
	free(bytes);
	return r;
}

/* Make a durable file with `text` and a durable name. */
static void keep_file(struct simdisk *d, const char *path, const char *text)
{
	assert_int_equal(simdisk_replace(d, path, str_of(text)), 0);
	simdisk_sync(d);
}

static void expect_file(struct simdisk *d, const char *path, const char *text)
{
	char *is = simdisk_read(d, path, NULL);

	if (!text) {
		assert_null(is);
		return;
	}
	assert_non_null(is);
	assert_string_equal(is, text);
	free(is);
}

static void lose_all(struct simdisk *d)
{
	simdisk_power_cut(d, SIM_LOSE_ALL, 0, NULL);
}

static void keep_all(struct simdisk *d)
{
	simdisk_power_cut(d, SIM_KEEP_ALL, 0, NULL);
}

static uint64_t size_of(struct fs *fs, const char *path)
{
	struct file_stat st;

	assert_int_equal(fs_stat(fs, path, &st), 0);
	return st.size;
}

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

static void keeping_all_is_the_cache_as_it_was(void **state)
{
	struct disk *t = *state;
	struct file *f;
	uint64_t before;

	keep_file(t->sim, "/f", "old content");
	assert_int_equal(fs_mkdir(t->a, "/d"), 0);
	f = make(t->a, "/d/g");
	put_many(f, 0, 'g', 10000);
	assert_int_equal(file_truncate(f, 5000), 0);
	put_many(f, 8000, 'h', 10);
	file_close(f);
	assert_int_equal(fs_rename(t->a, "/f", "/d/f"), 0);
	before = simdisk_fingerprint(t->sim);
	assert_int_equal(simdisk_power_cut(t->sim, SIM_KEEP_ALL, 0, NULL),
			 before);
	assert_int_equal(size_of(simdisk_process(t->sim), "/d/g"), 8010);
}

/*
 * Cut the power of copies of `d` in every way there is, and look at each with
 * `look`; returns how many different outcomes there were.
 */
static uint64_t cut_every_way(struct simdisk *d,
			      void (*look)(void *ctx, struct simdisk *d),
			      void *ctx)
{
	struct simdisk *first = simdisk_clone(d);
	struct simset seen = { 0 };
	struct simcut_report r;
	uint64_t n;

	simdisk_power_cut(first, SIM_LOSE_ALL, 0, &r);
	simdisk_free(first);
	assert_in_range(r.questions, 1, 16);
	for (uint64_t i = 0; i < (uint64_t)1 << r.questions; i++) {
		struct simdisk *c = simdisk_clone(d);
		struct simcut_report now;

		simset_add(&seen, simdisk_power_cut(c, SIM_INDEX, i, &now));
		assert_int_equal(now.questions, r.questions);
		if (look)
			look(ctx, c);
		simdisk_free(c);
	}
	n = seen.count;
	simset_done(&seen);
	return n;
}

static void note_sectors(void *ctx, struct simdisk *d)
{
	unsigned *seen = ctx;
	size_t len;
	char *is = simdisk_read(d, "/f", &len);

	/* Every sector is all old or all new: 8 combinations. */
	assert_int_equal(len, 1536);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(is[i], is[i / 512 * 512]);
	*seen |= 1U << ((is[0] == 'n') + 2 * (is[512] == 'n') +
			4 * (is[1024] == 'n'));
	free(is);
}

static void a_write_is_torn_by_sectors(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");
	unsigned seen = 0;

	put_many(f, 0, 'o', 1536);
	simdisk_sync(t->sim);
	put_many(f, 0, 'n', 1536);
	file_close(f);
	assert_int_equal(cut_every_way(t->sim, note_sectors, &seen), 8);
	assert_int_equal(seen, 0xff);
}

struct sizes_seen {
	bool empty, zeros, half, whole;
};

static void note_size(void *ctx, struct simdisk *d)
{
	struct sizes_seen *s = ctx;
	size_t len;
	char *is = simdisk_read(d, "/f", &len);

	s->empty |= len == 0;
	s->zeros |= len == 1024 && is[0] == 0 && is[1023] == 0;
	s->half |= len == 1024 && is[0] == 0 && is[1023] == 'n';
	s->whole |= len == 1024 && is[0] == 'n' && is[1023] == 'n';
	free(is);
}

static void a_size_may_grow_over_zeros(void **state)
{
	struct disk *t = *state;
	struct sizes_seen seen = { 0 };
	struct file *f;

	keep_file(t->sim, "/f", "");
	f = open_file(t->a, "/f", FILE_WRITE);
	put_many(f, 0, 'n', 1024);
	file_close(f);
	/* No size, and four ways to fill it. */
	assert_int_equal(cut_every_way(t->sim, note_size, &seen), 5);
	assert_true(seen.empty && seen.zeros && seen.half && seen.whole);
}

static void note_second(void *ctx, struct simdisk *d)
{
	char *is = simdisk_read(d, "/f", NULL);
	bool *seen = ctx;

	/* The sector of the second write was never without the first. */
	assert_false(is[0] == '-' && is[3] == 'b');
	*seen |= is[0] == 'a' && is[3] == '-';
	free(is);
}

static void a_kept_sector_has_what_the_cache_had(void **state)
{
	struct disk *t = *state;
	bool first_only = false;
	struct file *f;

	keep_file(t->sim, "/f", "------");
	f = open_file(t->a, "/f", FILE_WRITE);
	must_put(f, 0, "aaa");
	must_put(f, 3, "bbb");
	file_close(f);
	assert_int_equal(cut_every_way(t->sim, note_second, &first_only), 3);
	assert_true(first_only);
}

static void note_names(void *ctx, struct simdisk *d)
{
	unsigned *seen = ctx;
	char *x = simdisk_read(d, "/x", NULL), *y = simdisk_read(d, "/y", NULL);
	char *g = simdisk_read(d, "/g", NULL);

	/* Moved or not, but in exactly one place. */
	assert_true((x == NULL) != (y == NULL));
	*seen |= 1U << ((y != NULL) + 2 * (g != NULL));
	free(x);
	free(y);
	free(g);
}

static void names_are_kept_or_lost_each_by_itself(void **state)
{
	struct disk *t = *state;
	unsigned seen = 0;

	keep_file(t->sim, "/x", "x");
	assert_int_equal(fs_rename(t->a, "/x", "/y"), 0);
	file_close(make(t->a, "/g"));
	assert_int_equal(cut_every_way(t->sim, note_names, &seen), 4);
	assert_int_equal(seen, 0xf);
}

static void note_moves(void *ctx, struct simdisk *d)
{
	char *x = simdisk_read(d, "/x", NULL), *y = simdisk_read(d, "/y", NULL);
	char *z = simdisk_read(d, "/z", NULL);

	(void)ctx;
	assert_int_equal((x != NULL) + (y != NULL) + (z != NULL), 1);
	free(x);
	free(y);
	free(z);
}

static void a_file_moved_twice_is_in_one_place(void **state)
{
	struct disk *t = *state;

	keep_file(t->sim, "/x", "x");
	assert_int_equal(fs_rename(t->a, "/x", "/y"), 0);
	assert_int_equal(fs_rename(t->a, "/y", "/z"), 0);
	assert_int_equal(cut_every_way(t->sim, note_moves, NULL), 3);
}

static void a_truncation_is_kept_or_lost(void **state)
{
	struct disk *t = *state;

	keep_file(t->sim, "/f", "abcdef");
	assert_int_equal(simdisk_resize(t->sim, "/f", 3), 0);
	assert_int_equal(cut_every_way(t->sim, NULL, NULL), 2);
	lose_all(t->sim);
	expect_file(t->sim, "/f", "abcdef");
}

/* How many different outcomes `n` random cuts have. */
static size_t cut_at_random(struct simdisk *d, uint64_t n)
{
	struct simset seen = { 0 };
	size_t count;

	for (uint64_t seed = 0; seed < n; seed++) {
		struct simdisk *c = simdisk_clone(d), *again = simdisk_clone(d);
		uint64_t is = simdisk_power_cut(c, SIM_RANDOM, seed, NULL);

		simset_add(&seen, is);
		/* A seed always does the same. */
		assert_int_equal(
			simdisk_power_cut(again, SIM_RANDOM, seed, NULL), is);
		simdisk_free(c);
		simdisk_free(again);
	}
	count = seen.count;
	simset_done(&seen);
	return count;
}

static void random_cuts_differ_and_can_be_repeated(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");
	uint64_t before;

	for (char i = 0; i < 10; i++)
		put_many(f, (uint64_t)i * 3000, (char)('a' + i), 3000);
	file_close(f);
	before = simdisk_fingerprint(t->sim);
	assert_in_range(cut_at_random(t->sim, 300), 100, 300);
	/* Clones leave what they were made of alone. */
	assert_int_equal(simdisk_fingerprint(t->sim), before);

	/* With two outcomes, both come. */
	simdisk_sync(t->sim);
	assert_int_equal(cut_at_random(t->sim, 20), 1);
	file_close(make(t->a, "/g"));
	assert_int_equal(cut_at_random(t->sim, 50), 2);
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

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
		T(a_rename_between_directories_needs_both),
		T(sync_all_makes_everything_durable),
		T(a_killed_process_changes_nothing_more),
		T(a_process_dies_before_its_nth_change),
		T(a_process_dies_in_the_middle_of_a_write),
		T(a_power_cut_kills_everybody),
		T(keeping_all_is_the_cache_as_it_was),
		T(a_write_is_torn_by_sectors),
		T(a_size_may_grow_over_zeros),
		T(a_kept_sector_has_what_the_cache_had),
		T(names_are_kept_or_lost_each_by_itself),
		T(a_file_moved_twice_is_in_one_place),
		T(a_truncation_is_kept_or_lost),
		T(random_cuts_differ_and_can_be_repeated),
		T(a_failed_sync_forgets_what_it_had_to_write),
		T(what_a_failed_sync_lost_can_be_written_again),
		T(a_failed_sync_of_a_directory_forgets_names),
		T(the_nth_call_fails),
		T(space_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

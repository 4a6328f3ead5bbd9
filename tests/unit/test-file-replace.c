/* test-file-replace.c - whole files: replaced at once, read at once. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "file-help.h"

static int replace(const char *name, struct weft_str text)
{
	return fs_replace(fs, dir, in_dir(name), text);
}

static void replacing_leaves_exactly_the_text(void **state)
{
	struct file_stat st;

	(void)state;
	assert_int_equal(replace("r", STR("first, and long")), 0);
	expect_content("r", STR("first, and long"));
	assert_int_equal(replace("r", STR("second")), 0);
	expect_content("r", STR("second"));
	assert_int_equal(replace("r", (struct weft_str){ NULL, 0 }), 0);
	expect_content("r", STR(""));
	assert_int_equal(fs_stat(fs, in_dir("r.new"), &st), -ENOENT);
	assert_int_equal(fs_stat(fs, in_dir("r"), &st), 0);
	assert_int_equal(st.mode, 0600);
}

static void a_temporary_file_of_a_crash_is_used_up(void **state)
{
	struct file *f = open_file("r.new", FILE_WRITE | FILE_CREATE);
	struct file_stat st;

	(void)state;
	assert_int_equal(file_write(f, "left by a crash", 15, 0), 15);
	file_close(f);
	assert_int_equal(replace("r", STR("text")), 0);
	expect_content("r", STR("text"));
	assert_int_equal(fs_stat(fs, in_dir("r.new"), &st), -ENOENT);
}

static void a_failed_replace_keeps_the_old_text(void **state)
{
	struct rlimit old, small;
	struct file_stat st;

	(void)state;
	assert_int_equal(replace("r", STR("old")), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ .rlim_cur = 4, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(replace("r", STR("longer than four")), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	expect_content("r", STR("old"));
	assert_int_equal(fs_stat(fs, in_dir("r.new"), &st), -ENOENT);
	for (int i = 0; i < 2; i++) {
		mem_fault(i, 1);
		assert_int_equal(replace("r", STR("new")), -ENOMEM);
		mem_fault(-1, 0);
	}
	expect_content("r", STR("old"));
	assert_int_equal(replace("no/r", STR("x")), -ENOENT);
}

static void a_new_name_is_flushed_with_its_directory(void **state)
{
	(void)state;
	/* The directory is what the caller says it is, and must be one. */
	assert_int_equal(fs_replace(fs, in_dir("no"), in_dir("r"), STR("x")),
			 -ENOENT);
}

/* A file system on which somebody else is done with the temporary file between
 * our open and our lock. */
static int lock_too_late(struct file *f, uint64_t at, uint64_t n,
			 enum file_lock_mode mode)
{
	struct file_stat st;

	if (fs_stat(fs, in_dir("r"), &st) == -ENOENT)
		(void)fs_rename(fs, in_dir("r.new"), in_dir("r"));
	return fs->ops->lock(f, at, n, mode);
}

static void a_temporary_file_of_somebody_else_is_left_alone(void **state)
{
	struct fs_ops ops = *fs->ops;
	struct fs late = { .ops = &ops };
	struct file_stat theirs, st;
	struct file *f;

	(void)state;
	ops.lock = lock_too_late;
	f = open_file("r.new", FILE_WRITE | FILE_CREATE);
	assert_int_equal(file_stat(f, &theirs), 0);
	assert_int_equal(fs_replace(&late, dir, in_dir("r"), STR("ours")), 0);
	expect_content("r", STR("ours"));
	assert_int_equal(fs_stat(fs, in_dir("r"), &st), 0);
	assert_true(st.ino != theirs.ino);
	assert_int_equal(file_stat(f, &theirs), 0);
	assert_int_equal(theirs.size, 0);
	file_close(f);
}

#define REPLACERS     4
#define REPLACE_TIMES 50
#define REPLACE_BYTES 5000

static void *replace_often(void *ctx)
{
	const char *path = ctx;
	static _Thread_local char text[REPLACE_BYTES];
	static int letter;
	int own = 'a' + __atomic_fetch_add(&letter, 1, __ATOMIC_RELAXED);

	memset(text, own, sizeof(text));
	for (int i = 0; i < REPLACE_TIMES; i++) {
		if (fs_replace(fs, dir, path,
			       (struct weft_str){ text, sizeof(text) }) != 0)
			return ctx;
	}
	return NULL;
}

static void check_is_whole(const char *path)
{
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(fs_read_whole(fs, path, MIB(1), &text, &len), 0);
	assert_int_equal(len, REPLACE_BYTES);
	for (size_t i = 1; i < len; i++)
		assert_int_equal(text[i], text[0]);
	mem_free(text);
}

static void readers_see_one_whole_text_whoever_writes(void **state)
{
	pthread_t threads[REPLACERS];
	char path[512];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/r", dir);
	assert_null(replace_often(path));
	for (int i = 0; i < REPLACERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, replace_often, path),
			0);
	for (int i = 0; i < 500; i++)
		check_is_whole(path);
	for (int i = 0; i < REPLACERS; i++) {
		void *failed = NULL;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	check_is_whole(path);
}

static void a_whole_file_is_read_up_to_a_maximum(void **state)
{
	char *text = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(replace("r", STR("12345")), 0);
	expect_content("r", STR("12345"));
	assert_int_equal(fs_read_whole(fs, in_dir("r"), 5, &text, &len), 0);
	assert_int_equal(len, 5);
	mem_free(text);
	text = NULL;
	assert_int_equal(fs_read_whole(fs, in_dir("r"), 4, &text, &len),
			 -EFBIG);
	assert_int_equal(fs_read_whole(fs, in_dir("no"), 4, &text, &len),
			 -ENOENT);
	assert_int_equal(fs_read_whole(fs, dir, KIB(64), &text, &len), -EISDIR);
	assert_null(text);
	assert_int_equal(fs_read_whole(fs, in_dir("r"), SIZE_MAX, &text, &len),
			 0);
	mem_free(text);
}

/* Files of /proc say that they have no bytes, and then have some. */
static void a_file_may_be_longer_than_it_says(void **state)
{
	char *text = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(
		fs_read_whole(fs, "/proc/self/maps", MIB(16), &text, &len), 0);
	assert_true(len > 100);
	assert_int_equal(strlen(text), len);
	mem_free(text);
	text = NULL;
	assert_int_equal(fs_read_whole(fs, "/proc/self/maps", 10, &text, &len),
			 -EFBIG);
	for (int i = 0; i < 3; i++) {
		mem_fault(i, 1);
		assert_int_equal(fs_read_whole(fs, "/proc/self/maps", MIB(16),
					       &text, &len),
				 -ENOMEM);
		mem_fault(-1, 0);
	}
	assert_null(text);
}

static void nothing_stays_open(void **state)
{
	int before = open_descriptors();
	struct file *f = NULL;
	struct watch *w = NULL;
	char *text = NULL;
	size_t len;

	(void)state;
	assert_int_equal(replace("r", STR("x")), 0);
	assert_int_equal(fs_replace(fs, in_dir("no"), in_dir("r"), STR("x")),
			 -ENOENT);
	assert_int_equal(fs_read_whole(fs, in_dir("r"), 0, &text, &len),
			 -EFBIG);
	assert_int_equal(file_open(fs, in_dir("no"), FILE_READ, &f), -ENOENT);
	assert_int_equal(watch_open(fs, in_dir("no"), &w), -ENOENT);
	assert_int_equal(fs_list(fs, dir, remove_name, NULL), 0);
	assert_int_equal(open_descriptors(), before);
}

#define T(test) cmocka_unit_test_teardown(test, empty_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(replacing_leaves_exactly_the_text),
		T(a_temporary_file_of_a_crash_is_used_up),
		T(a_failed_replace_keeps_the_old_text),
		T(a_new_name_is_flushed_with_its_directory),
		T(a_temporary_file_of_somebody_else_is_left_alone),
		T(readers_see_one_whole_text_whoever_writes),
		T(a_whole_file_is_read_up_to_a_maximum),
		T(a_file_may_be_longer_than_it_says),
		T(nothing_stays_open),
	};

	return cmocka_run_group_tests_name("file-replace", tests, make_dir,
					   remove_dir);
}

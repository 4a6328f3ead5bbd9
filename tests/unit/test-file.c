/* test-file.c - the real file system, in a directory that is thrown away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

static char dir[] = "/tmp/weft-test-file-XXXXXX";
static struct fs *fs;

/* The path of `name` in the directory; four of them at a time. */
static const char *in_dir(const char *name)
{
	static char paths[4][512];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static int make_dir(void **state)
{
	(void)state;
	fs = fs_real();
	(void)umask(022);
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_name(void *ctx, const char *name)
{
	(void)ctx;
	if (fs_unlink(fs, in_dir(name)) == 0)
		return 0;
	return fs_rmdir(fs, in_dir(name));
}

static int empty_dir(void **state)
{
	(void)state;
	return fs_list(fs, dir, remove_name, NULL);
}

static int remove_dir(void **state)
{
	return empty_dir(state) || fs_rmdir(fs, dir);
}

static struct file *open_file(const char *name, unsigned flags)
{
	struct file *f = NULL;

	assert_int_equal(file_open(fs, in_dir(name), flags, &f), 0);
	assert_non_null(f);
	return f;
}

static void expect_content(const char *name, struct weft_str expected)
{
	size_t len = 0;
	char *text = NULL;

	assert_int_equal(fs_read_whole(fs, in_dir(name), MIB(1), &text, &len),
			 0);
	assert_int_equal(len, expected.len);
	assert_memory_equal(text, expected.ptr, len);
	assert_int_equal(text[len], '\0');
	mem_free(text);
}

static int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

static void opening_says_what_is_in_the_way(void **state)
{
	struct file *f = NULL;

	(void)state;
	assert_int_equal(file_open(fs, in_dir("a"), FILE_READ, &f), -ENOENT);
	assert_int_equal(file_open(fs, in_dir("a"), FILE_WRITE, &f), -ENOENT);
	file_close(open_file("a", FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE));
	assert_int_equal(file_open(fs, in_dir("a"),
				   FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE,
				   &f),
			 -EEXIST);
	file_close(open_file("a", FILE_WRITE | FILE_CREATE));
	assert_int_equal(file_open(fs, dir, FILE_WRITE, &f), -EISDIR);
	assert_int_equal(file_open(fs, in_dir("a/b"), FILE_READ, &f), -ENOTDIR);
	assert_null(f);
	file_close(NULL);
}

static void without_memory_nothing_is_opened(void **state)
{
	int before = open_descriptors();
	struct file *f = NULL;
	struct watch *w = NULL;

	(void)state;
	mem_fault(0, 0);
	assert_int_equal(
		file_open(fs, in_dir("a"), FILE_WRITE | FILE_CREATE, &f),
		-ENOMEM);
	assert_int_equal(watch_open(fs, dir, &w), -ENOMEM);
	mem_fault(-1, 0);
	assert_int_equal(open_descriptors(), before);
}

static void only_the_owner_gets_at_it(void **state)
{
	struct file_stat st;

	(void)state;
	file_close(open_file("a", FILE_WRITE | FILE_CREATE));
	assert_int_equal(fs_stat(fs, in_dir("a"), &st), 0);
	assert_int_equal(st.mode, 0600);
	assert_true(st.is_file && !st.is_dir);
	assert_int_equal(st.uid, geteuid());
	assert_int_equal(st.links, 1);
	assert_int_equal(fs_mkdir(fs, in_dir("d")), 0);
	assert_int_equal(fs_stat(fs, in_dir("d"), &st), 0);
	assert_int_equal(st.mode, 0700);
	assert_true(st.is_dir && !st.is_file);
	assert_int_equal(fs_mkdir(fs, in_dir("d")), -EEXIST);
	assert_int_equal(fs_mkdir(fs, in_dir("x/y")), -ENOENT);
	assert_int_equal(fs_stat(fs, in_dir("x"), &st), -ENOENT);
}

static void what_is_open_is_closed_on_exec(void **state)
{
	struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);
	struct watch *w = NULL;
	int checked = 0;

	(void)state;
	assert_int_equal(watch_open(fs, in_dir("a"), &w), 0);
	for (int fd = 3; fd < 64; fd++) {
		char link[64], target[PATH_MAX];
		ssize_t n;

		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (!strstr(target, dir) && !strstr(target, "inotify") &&
		    !strstr(target, "eventfd"))
			continue;
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		checked++;
	}
	assert_int_equal(checked, 3);
	watch_close(w);
	file_close(f);
}

static void bytes_are_read_where_they_were_written(void **state)
{
	struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);
	struct file_stat st;
	char b[10];

	(void)state;
	assert_int_equal(file_write(f, "hello", 5, 0), 5);
	assert_int_equal(file_write(f, "J", 1, 0), 1);
	assert_int_equal(file_write(f, "end", 3, 10), 3);
	assert_int_equal(file_write(f, NULL, 0, 100), 0);
	expect_content("a", STR("Jello\0\0\0\0\0end"));
	assert_int_equal(file_read(f, b, 5, 8), 5);
	assert_memory_equal(b, "\0\0end", 5);
	/* Fewer only at the end. */
	assert_int_equal(file_read(f, b, 10, 8), 5);
	assert_int_equal(file_read(f, b, 10, 13), 0);
	assert_int_equal(file_read(f, b, 10, 1000), 0);
	assert_int_equal(file_read(f, b, 10, UINT64_MAX), -EINVAL);
	assert_true(file_write(f, "x", 1, UINT64_MAX) < 0);
	assert_int_equal(file_stat(f, &st), 0);
	assert_int_equal(st.size, 13);
	assert_in_range(st.mtime_ms, clock_now_ms(NULL) - 60000,
			clock_now_ms(NULL) + 60000);
	file_close(f);
}

static void many_pieces_are_written_in_order(void **state)
{
	enum { PIECES = 3000 };
	struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);
	static char text[PIECES];
	static struct iovec v[PIECES];
	struct buf expected;
	ssize_t total = 0;

	(void)state;
	buf_init(&expected, MIB(1));
	for (size_t i = 0; i < PIECES; i++)
		text[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < PIECES; i++) {
		/* Some are empty, the first and the last ones too. */
		v[i].iov_base = text + i / 2;
		v[i].iov_len = i < 2 || i > PIECES - 80 ? 0 : i * 7 % 40;
		buf_add(&expected, v[i].iov_base, v[i].iov_len);
		total += (ssize_t)v[i].iov_len;
	}
	assert_int_equal(file_writev(f, v, PIECES, 3), total);
	assert_int_equal(file_truncate(f, (uint64_t)total + 3), 0);
	assert_int_equal(file_writev(f, v, 0, 0), 0);
	assert_int_equal(file_writev(f, v, 2, 0), 0);
	assert_int_equal(file_write(f, "...", 3, 0), 3);
	buf_add_lit(&expected, "...");
	memmove(expected.ptr + 3, expected.ptr, (size_t)total);
	memcpy(expected.ptr, "...", 3);
	expect_content("a", buf_str(&expected));
	buf_done(&expected);
	file_close(f);
}

/* A limit on the size of files makes the kernel write a part only. */
static void a_part_that_was_written_is_not_written_again(void **state)
{
	struct rlimit old, small;
	struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);
	char text[] = "abcdefghij";
	struct iovec v[3] = { { NULL, 0 }, { text, 5 }, { text + 5, 5 } };

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ .rlim_cur = 7, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(file_writev(f, v, 3, 0), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	expect_content("a", STR("abcdefg"));
	file_close(f);
}

static void a_full_disk_is_reported(void **state)
{
	struct file *f = NULL;
	int r = file_open(fs, "/dev/full", FILE_WRITE, &f);

	(void)state;
	if (r < 0)
		skip();
	assert_int_equal(file_write(f, "x", 1, 0), -ENOSPC);
	file_close(f);
}

static void truncating_cuts_and_grows(void **state)
{
	struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);

	(void)state;
	assert_int_equal(file_write(f, "hello", 5, 0), 5);
	assert_int_equal(file_truncate(f, 2), 0);
	expect_content("a", STR("he"));
	assert_int_equal(file_truncate(f, 4), 0);
	expect_content("a", STR("he\0\0"));
	assert_int_equal(file_truncate(f, UINT64_MAX), -EFBIG);
	file_close(f);
	f = open_file("a", FILE_READ);
	assert_true(file_truncate(f, 0) < 0);
	assert_true(file_write(f, "x", 1, 0) < 0);
	file_close(f);
}

static void everything_can_be_flushed(void **state)
{
	struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);
	struct file *d = NULL;
	int r;

	(void)state;
	assert_int_equal(file_write(f, "x", 1, 0), 1);
	assert_int_equal(file_datasync(f), 0);
	assert_int_equal(file_sync(f), 0);
	/* A directory can be held open for syncfs. */
	assert_int_equal(file_open(fs, dir, FILE_READ, &d), 0);
	r = file_sync_all(d);
	assert_true(r == 0 || r == -ENOSYS);
	assert_int_equal(fs_sync_dir(fs, dir), 0);
	assert_int_equal(fs_sync_dir(fs, in_dir("no")), -ENOENT);
	assert_int_equal(fs_sync_dir(fs, in_dir("a")), -ENOTDIR);
	file_close(d);
	file_close(f);
}

static void a_failed_flush_is_reported(void **state)
{
	struct file *f = NULL;
	int r = file_open(fs, "/dev/null", FILE_WRITE, &f);

	(void)state;
	if (r < 0)
		skip();
	assert_int_equal(file_datasync(f), -EINVAL);
	assert_int_equal(file_sync(f), -EINVAL);
	file_close(f);
}

static void a_lock_excludes_another_open_of_the_same_process(void **state)
{
	struct file *a = open_file("l", FILE_WRITE | FILE_CREATE);
	struct file *b = open_file("l", FILE_WRITE);

	(void)state;
	assert_int_equal(file_lock(a, 0, 1, FILE_LOCKED), 0);
	assert_int_equal(file_lock(a, 0, 1, FILE_LOCKED), 0);
	assert_int_equal(file_lock(b, 0, 1, FILE_LOCKED), -EAGAIN);
	assert_int_equal(file_lock(b, 0, 1, FILE_SHARED), -EAGAIN);
	assert_int_equal(file_lock(b, 1, 1, FILE_LOCKED), 0);
	assert_int_equal(file_lock(a, 1, 1, FILE_LOCKED), -EAGAIN);
	assert_int_equal(file_lock(a, 0, 1, FILE_UNLOCK), 0);
	assert_int_equal(file_lock(b, 0, 1, FILE_LOCKED), 0);
	file_close(a);
	file_close(b);
}

static void shared_locks_exclude_only_exclusive_ones(void **state)
{
	struct file *a = open_file("l", FILE_WRITE | FILE_CREATE);
	struct file *b = open_file("l", FILE_WRITE);

	(void)state;
	assert_int_equal(file_lock(a, 0, 1, FILE_SHARED), 0);
	assert_int_equal(file_lock(b, 0, 1, FILE_SHARED), 0);
	assert_int_equal(file_lock(a, 0, 1, FILE_LOCKED), -EAGAIN);
	assert_int_equal(file_lock(b, 0, 1, FILE_UNLOCK), 0);
	assert_int_equal(file_lock(a, 0, 1, FILE_LOCKED), 0);
	file_close(a);
	file_close(b);
}

/* A POSIX lock would be gone with any other close of the same file. */
static void a_lock_ends_with_its_own_file_only(void **state)
{
	struct file *a = open_file("l", FILE_WRITE | FILE_CREATE);
	struct file *b = open_file("l", FILE_WRITE);

	(void)state;
	assert_int_equal(file_lock(a, 0, 1, FILE_LOCKED), 0);
	file_close(open_file("l", FILE_READ));
	assert_int_equal(file_lock(b, 0, 1, FILE_LOCKED), -EAGAIN);
	file_close(a);
	assert_int_equal(file_lock(b, 0, 1, FILE_LOCKED), 0);
	file_close(b);
}

/* What a child process finds out about the lock of its parent. */
static int try_lock(void)
{
	struct file *f;
	int r = 0;

	if (file_open(fs, in_dir("l"), FILE_WRITE, &f) != 0)
		return 1;
	if (file_lock(f, 5, 1, FILE_LOCKED) != -EAGAIN)
		r = 2;
	else if (file_lock(f, 6, 1, FILE_LOCKED) != 0)
		r = 3;
	file_close(f);
	return r;
}

static void a_lock_holds_against_another_process(void **state)
{
	struct file *a = open_file("l", FILE_WRITE | FILE_CREATE);
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(file_lock(a, 5, 1, FILE_LOCKED), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int r = try_lock();

		file_close(a); /* the lock is still its parent's */
		_exit(r);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	file_close(a);
}

static void a_file_can_be_renamed_over_another(void **state)
{
	struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);
	struct file_stat before, after;

	(void)state;
	assert_int_equal(file_write(f, "new", 3, 0), 3);
	assert_int_equal(file_stat(f, &before), 0);
	file_close(open_file("b", FILE_WRITE | FILE_CREATE));
	assert_int_equal(fs_rename(fs, in_dir("a"), in_dir("b")), 0);
	assert_int_equal(fs_stat(fs, in_dir("b"), &after), 0);
	assert_true(before.ino == after.ino && before.dev == after.dev);
	assert_int_equal(fs_rename(fs, in_dir("a"), in_dir("c")), -ENOENT);
	assert_int_equal(fs_unlink(fs, in_dir("b")), 0);
	assert_int_equal(fs_unlink(fs, in_dir("b")), -ENOENT);
	/* Still open, no longer named. */
	assert_int_equal(file_stat(f, &after), 0);
	assert_int_equal(after.links, 0);
	file_close(f);
}

static void only_an_empty_directory_is_removed(void **state)
{
	(void)state;
	assert_int_equal(fs_mkdir(fs, in_dir("d")), 0);
	file_close(open_file("d/x", FILE_WRITE | FILE_CREATE));
	assert_int_equal(fs_rmdir(fs, in_dir("d")), -ENOTEMPTY);
	assert_int_equal(fs_unlink(fs, in_dir("d/x")), 0);
	assert_int_equal(fs_rmdir(fs, in_dir("d")), 0);
	assert_int_equal(fs_rmdir(fs, in_dir("d")), -ENOENT);
}

struct listing {
	struct buf names;
	int stop_after; /* 0: never */
	int seen;
};

static int note_name(void *ctx, const char *name)
{
	struct listing *l = ctx;

	buf_printf(&l->names, "%s ", name);
	return ++l->seen == l->stop_after ? 77 : 0;
}

static void names_come_sorted_by_bytes(void **state)
{
	static const char *const names[] = { "b",   "a",        "B",
					     "a.b", "\xc3\xa9", ".hidden",
					     "aa",  "10",       "9" };
	struct listing l = { .seen = 0 };

	(void)state;
	buf_init(&l.names, KIB(4));
	assert_int_equal(fs_list(fs, dir, note_name, &l), 0);
	assert_int_equal(l.seen, 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		file_close(open_file(names[i], FILE_WRITE | FILE_CREATE));
	assert_int_equal(fs_list(fs, dir, note_name, &l), 0);
	assert_string_equal(buf_cstr(&l.names),
			    ".hidden 10 9 B a a.b aa b \xc3\xa9 ");
	buf_reset(&l.names);
	l.seen = 0;
	l.stop_after = 2;
	assert_int_equal(fs_list(fs, dir, note_name, &l), 77);
	assert_string_equal(buf_cstr(&l.names), ".hidden 10 ");
	assert_int_equal(fs_list(fs, in_dir("no"), note_name, &l), -ENOENT);
	assert_int_equal(fs_list(fs, in_dir("a"), note_name, &l), -ENOTDIR);
	buf_done(&l.names);
}

static int count_rising(void *ctx, const char *name)
{
	static char before[64];
	int *n = ctx;

	if (*n && strcmp(before, name) >= 0)
		return -1;
	(void)snprintf(before, sizeof(before), "%s", name);
	++*n;
	return 0;
}

/* More names than the kernel hands out at once, removed while listed. */
static void a_large_directory_is_listed_whole(void **state)
{
	int n = 0;

	(void)state;
	for (int i = 0; i < 1500; i++) {
		char name[40];

		(void)snprintf(name, sizeof(name), "a-file-number-%d",
			       i * 7919 % 1500);
		file_close(open_file(name, FILE_WRITE | FILE_CREATE));
	}
	assert_int_equal(fs_list(fs, dir, count_rising, &n), 0);
	assert_int_equal(n, 1500);
	assert_int_equal(fs_list(fs, dir, remove_name, NULL), 0);
	n = 0;
	assert_int_equal(fs_list(fs, dir, count_rising, &n), 0);
	assert_int_equal(n, 0);
}

static void the_space_and_kind_of_a_file_system_are_known(void **state)
{
	struct fs_space space;

	(void)state;
	assert_int_equal(fs_space(fs, dir, &space), 0);
	assert_true(space.total_bytes > 0);
	assert_true(space.free_bytes <= space.total_bytes);
	assert_false(space.is_read_only);
	assert_true(space.kind[0] != '\0');
	assert_int_equal(fs_space(fs, "/proc", &space), 0);
	assert_string_equal(space.kind, "0x9fa0");
	assert_false(space.is_network);
	assert_int_equal(fs_space(fs, in_dir("no"), &space), -ENOENT);
}

static void sleeping_takes_its_time(void **state)
{
	int64_t start = clock_mono_us();

	(void)state;
	fs_sleep_us(fs, 20000);
	assert_true(clock_mono_us() - start >= 20000);
	fs_sleep_us(fs, 0);
}

static void a_watch_sees_writes_since_the_last_wait(void **state)
{
	struct file *f = open_file("w", FILE_WRITE | FILE_CREATE);
	struct watch *w = NULL;

	(void)state;
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	assert_int_equal(watch_wait(w, 0), 0);
	assert_int_equal(file_write(f, "x", 1, 0), 1);
	assert_int_equal(file_write(f, "x", 1, 0), 1);
	assert_int_equal(watch_wait(w, 5000), 1);
	assert_int_equal(watch_wait(w, 0), 0);
	assert_int_equal(file_write(f, "x", 1, 0), 1);
	assert_int_equal(watch_wait(w, -1), 1);
	/* Another file of the directory is none of its business. */
	file_close(open_file("other", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_wait(w, 0), 0);
	watch_close(w);
	watch_close(NULL);
	file_close(f);
	assert_int_equal(watch_open(fs, in_dir("no"), &w), -ENOENT);
}

static void a_watch_can_be_woken(void **state)
{
	struct watch *w = NULL;

	(void)state;
	file_close(open_file("w", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	watch_wake(w);
	watch_wake(w);
	assert_int_equal(watch_wait(w, -1), 1);
	assert_int_equal(watch_wait(w, 0), 0);
	watch_close(w);
}

static void *wake_later(void *ctx)
{
	fs_sleep_us(fs, 20000);
	watch_wake(ctx);
	return NULL;
}

static void a_waiting_thread_is_woken_by_another(void **state)
{
	struct watch *w = NULL;
	pthread_t thread;

	(void)state;
	file_close(open_file("w", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	assert_int_equal(pthread_create(&thread, NULL, wake_later, w), 0);
	assert_int_equal(watch_wait(w, 30000), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	watch_close(w);
}

static void do_nothing(int signal_number)
{
	(void)signal_number;
}

/* Signals that interrupt the wait do not make it longer or shorter. */
static void a_wait_ends_at_its_time_out(void **state)
{
	struct sigaction action = { .sa_handler = do_nothing };
	const struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct watch *w = NULL;
	int64_t start, took;

	(void)state;
	file_close(open_file("w", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	start = clock_mono_us();
	assert_int_equal(watch_wait(w, 50), 0);
	took = clock_mono_us() - start;
	assert_true(took >= 48000);
	start = clock_mono_us();
	fs_sleep_us(fs, 50000);
	took = clock_mono_us() - start;
	assert_true(took >= 50000);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	watch_close(w);
}

static void the_end_of_a_watched_file_wakes(void **state)
{
	struct watch *w = NULL;

	(void)state;
	file_close(open_file("w", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	assert_int_equal(fs_unlink(fs, in_dir("w")), 0);
	assert_int_equal(watch_wait(w, 5000), 1);
	watch_close(w);
}

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
		T(opening_says_what_is_in_the_way),
		T(without_memory_nothing_is_opened),
		T(only_the_owner_gets_at_it),
		T(what_is_open_is_closed_on_exec),
		T(bytes_are_read_where_they_were_written),
		T(many_pieces_are_written_in_order),
		T(a_part_that_was_written_is_not_written_again),
		T(a_full_disk_is_reported),
		T(truncating_cuts_and_grows),
		T(everything_can_be_flushed),
		T(a_failed_flush_is_reported),
		T(a_lock_excludes_another_open_of_the_same_process),
		T(shared_locks_exclude_only_exclusive_ones),
		T(a_lock_ends_with_its_own_file_only),
		T(a_lock_holds_against_another_process),
		T(a_file_can_be_renamed_over_another),
		T(only_an_empty_directory_is_removed),
		T(names_come_sorted_by_bytes),
		T(a_large_directory_is_listed_whole),
		T(the_space_and_kind_of_a_file_system_are_known),
		T(sleeping_takes_its_time),
		T(a_watch_sees_writes_since_the_last_wait),
		T(a_watch_can_be_woken),
		T(a_waiting_thread_is_woken_by_another),
		T(a_wait_ends_at_its_time_out),
		T(the_end_of_a_watched_file_wakes),
		T(replacing_leaves_exactly_the_text),
		T(a_temporary_file_of_a_crash_is_used_up),
		T(a_failed_replace_keeps_the_old_text),
		T(a_new_name_is_flushed_with_its_directory),
		T(readers_see_one_whole_text_whoever_writes),
		T(a_whole_file_is_read_up_to_a_maximum),
		T(a_file_may_be_longer_than_it_says),
		T(nothing_stays_open),
	};

	return cmocka_run_group_tests_name("file", tests, make_dir, remove_dir);
}

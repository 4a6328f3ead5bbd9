/* test-file.c - the real file system, in a directory that is thrown away. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "file-help.h"

/*
 * These take the place of the C library's: the kernel may write and read less
 * than it was asked to, or nothing but a signal, and rarely does.  The offset
 * is one register on all 64-bit machines.
 */
static unsigned awkward; /* 0: as usual; else counts the calls */

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
	struct iovec part = v[0];

	if (!awkward)
		return syscall(SYS_pwritev, fd, v, n, at, 0);
	if (++awkward % 3 == 0) {
		errno = EINTR;
		return -1;
	}
	part.iov_len = part.iov_len < 3 ? part.iov_len : 3;
	return syscall(SYS_pwritev, fd, &part, 1, at, 0);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	if (awkward && ++awkward % 3 == 0) {
		errno = EINTR;
		return -1;
	}
	return syscall(SYS_pread64, fd, to, awkward && n > 3 ? 3 : n, at);
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

static void parts_and_interruptions_go_unnoticed(void **state)
{
	char first[] = "0123456789", second[] = "abcdefg";
	struct iovec v[4] = {
		{ first, 10 }, { NULL, 0 }, { second, 7 }, { first, 1 }
	};
	struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);
	char back[30];

	(void)state;
	awkward = 1;
	assert_int_equal(file_writev(f, v, 4, 2), 18);
	assert_int_equal(file_read(f, back, sizeof(back), 2), 18);
	assert_memory_equal(back, "0123456789abcdefg0", 18);
	awkward = 0;
	expect_content("a", STR("\0\0"
				"0123456789abcdefg0"));
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

	(void)state;
	assert_int_equal(file_open(fs, "/dev/full", FILE_WRITE, &f), 0);
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

	(void)state;
	assert_int_equal(file_open(fs, "/dev/null", FILE_WRITE, &f), 0);
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
		T(parts_and_interruptions_go_unnoticed),
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
	};

	return cmocka_run_group_tests_name("file", tests, make_dir, remove_dir);
}

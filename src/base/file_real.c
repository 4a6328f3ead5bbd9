/*
 * file_real.c - the machine's own file system.
 *
 * Locks are those of the open file description (F_OFD_SETLK): unlike the
 * older POSIX locks they do not vanish when some other part of the process
 * closes the same file, and two opens in one process exclude each other.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

#define IOV_STEP 64 /* pieces per system call */

struct real_file {
	struct file file; /* first: a struct file * is also ours */
	int fd;
};

struct real_watch {
	struct watch watch; /* first */
	int inotify;
	int wake;
};

static int fd_of(struct file *f)
{
	return ((struct real_file *)f)->fd;
}

static int real_open(struct fs *fs, const char *path, unsigned flags,
		     struct file **ret)
{
	int how = O_CLOEXEC;
	struct real_file *f;

	how |= flags & FILE_WRITE ? O_RDWR : O_RDONLY;
	if (flags & FILE_CREATE)
		how |= O_CREAT;
	if (flags & FILE_EXCLUSIVE)
		how |= O_EXCL;
	f = mem_alloc(sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->file.ops = fs->ops;
	do
		f->fd = open(path, how, 0600);
	while (f->fd < 0 && errno == EINTR);
	if (f->fd < 0) {
		int e = errno;

		mem_free(f);
		return -e;
	}
	*ret = &f->file;
	return 0;
}

static void real_close(struct file *f)
{
	/* Linux gives the number back even if close() is interrupted. */
	(void)close(fd_of(f));
	mem_free(f);
}

static ssize_t real_read(struct file *f, void *to, size_t n, uint64_t at)
{
	size_t done = 0;

	if (n > SSIZE_MAX || at > INT64_MAX - n)
		return -EINVAL;
	while (done < n) {
		ssize_t got = pread(fd_of(f), (char *)to + done, n - done,
				    (off_t)(at + done));

		/* A pipe has no places: what comes next is what is meant. */
		if (got < 0 && errno == ESPIPE)
			got = read(fd_of(f), (char *)to + done, n - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* What is left of the caller's pieces. */
struct pieces {
	const struct iovec *v;
	int n;
	size_t skip; /* bytes of v[0] that are done */
};

static int copy_pieces(const struct pieces *p, struct iovec step[IOV_STEP])
{
	int n = p->n < IOV_STEP ? p->n : IOV_STEP;

	memcpy(step, p->v, (size_t)n * sizeof(*step));
	step[0].iov_base = (char *)step[0].iov_base + p->skip;
	step[0].iov_len -= p->skip;
	return n;
}

static void advance(struct pieces *p, size_t bytes)
{
	p->skip += bytes;
	while (p->n && p->skip >= p->v[0].iov_len) {
		p->skip -= p->v[0].iov_len;
		p->v++;
		p->n--;
	}
}

static ssize_t real_write(struct file *f, const struct iovec *v, int n,
			  uint64_t at)
{
	struct pieces left = { .v = v, .n = n };
	uint64_t done = 0;

	advance(&left, 0); /* past empty pieces */
	while (left.n) {
		struct iovec step[IOV_STEP];
		int count = copy_pieces(&left, step);
		ssize_t put;

		if (at + done > INT64_MAX)
			return -EFBIG;
		put = pwritev(fd_of(f), step, count, (off_t)(at + done));
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO; /* would go on for ever */
		done += (uint64_t)put;
		advance(&left, (size_t)put);
	}
	return (ssize_t)done;
}

static int real_truncate(struct file *f, uint64_t size)
{
	int r;

	if (size > INT64_MAX)
		return -EFBIG;
	do
		r = ftruncate(fd_of(f), (off_t)size);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/* An interrupted flush is a failed one: nobody knows what it left out. */
static int flush_result(int r)
{
	if (r == 0)
		return 0;
	return errno == EINTR ? -EIO : -errno;
}

static int real_sync(struct file *f, bool data_only)
{
	return flush_result(data_only ? fdatasync(fd_of(f)) : fsync(fd_of(f)));
}

/* syncfs tells of failed writes since Linux 5.8 only. */
static bool syncfs_reports;
static pthread_once_t syncfs_once = PTHREAD_ONCE_INIT;

static void look_at_kernel(void)
{
	unsigned long major, minor;
	struct utsname name;
	char *end;

	if (uname(&name) < 0)
		return;
	major = strtoul(name.release, &end, 10);
	if (*end != '.')
		return;
	minor = strtoul(end + 1, &end, 10);
	syncfs_reports = major > 5 || (major == 5 && minor >= 8);
}

static int real_sync_all(struct file *f)
{
	(void)pthread_once(&syncfs_once, look_at_kernel);
	if (!syncfs_reports)
		return -ENOSYS;
	return flush_result(syncfs(fd_of(f)));
}

static int real_write_back(struct file *f)
{
	const unsigned flags = SYNC_FILE_RANGE_WAIT_BEFORE |
			       SYNC_FILE_RANGE_WRITE |
			       SYNC_FILE_RANGE_WAIT_AFTER;
	int r = sync_file_range(fd_of(f), 0, 0, flags);

	/* Not every file system has it. */
	return r < 0 && (errno == ENOSYS || errno == ESPIPE) ? 0 :
							       flush_result(r);
}

static void real_write_ahead(struct file *f, uint64_t at, uint64_t n)
{
	(void)sync_file_range(fd_of(f), (off_t)at, (off_t)n,
			      SYNC_FILE_RANGE_WRITE);
}

static void fill_stat(const struct stat *st, struct file_stat *ret)
{
	*ret = (struct file_stat){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.links = st->st_nlink,
		.mtime_ms = (int64_t)st->st_mtim.tv_sec * 1000 +
			    st->st_mtim.tv_nsec / 1000000,
		.uid = st->st_uid,
		.mode = st->st_mode & 07777,
		.is_dir = S_ISDIR(st->st_mode),
		.is_file = S_ISREG(st->st_mode),
	};
}

static int real_fstat(struct file *f, struct file_stat *ret)
{
	struct stat st;

	if (fstat(fd_of(f), &st) < 0)
		return -errno;
	fill_stat(&st, ret);
	return 0;
}

static int real_lock(struct file *f, uint64_t at, uint64_t n,
		     enum file_lock_mode mode)
{
	static const short types[] = {
		[FILE_UNLOCK] = F_UNLCK,
		[FILE_SHARED] = F_RDLCK,
		[FILE_LOCKED] = F_WRLCK,
		[FILE_LOCK_LOOK] = F_WRLCK,
	};
	const int what = mode == FILE_LOCK_LOOK ? F_OFD_GETLK : F_OFD_SETLK;
	struct flock lock = {
		.l_type = types[mode],
		.l_whence = SEEK_SET,
		.l_start = (off_t)at,
		.l_len = (off_t)n,
	};
	int r;

	do
		r = fcntl(fd_of(f), what, &lock);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == EACCES ? -EAGAIN : -errno;
	/* Who looks is told what is in the way. */
	return mode == FILE_LOCK_LOOK && lock.l_type != F_UNLCK ? -EAGAIN : 0;
}

static int real_stat(struct fs *fs, const char *path, struct file_stat *ret)
{
	struct stat st;

	(void)fs;
	if (stat(path, &st) < 0)
		return -errno;
	fill_stat(&st, ret);
	return 0;
}

static int real_mkdir(struct fs *fs, const char *path)
{
	(void)fs;
	return mkdir(path, 0700) < 0 ? -errno : 0;
}

static int real_rename(struct fs *fs, const char *from, const char *to)
{
	(void)fs;
	return rename(from, to) < 0 ? -errno : 0;
}

static int real_unlink(struct fs *fs, const char *path)
{
	(void)fs;
	return unlink(path) < 0 ? -errno : 0;
}

static int real_rmdir(struct fs *fs, const char *path)
{
	(void)fs;
	return rmdir(path) < 0 ? -errno : 0;
}

static int open_dir(const char *path)
{
	int fd;

	do
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static int real_sync_dir(struct fs *fs, const char *path)
{
	int fd = open_dir(path);
	int r;

	(void)fs;
	if (fd < 0)
		return fd;
	r = flush_result(fsync(fd));
	(void)close(fd);
	return r;
}

/* Add every name but . and .. to `names`, each with its NUL. */
static int read_names(int fd, struct buf *names, size_t *ret_count)
{
	_Alignas(struct dirent64) char room[KIB(16)];

	for (;;) {
		ssize_t n = getdents64(fd, room, sizeof(room));

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		for (ssize_t at = 0; at < n;) {
			/* The kernel aligns each entry. */
			const struct dirent64 *entry = (void *)(room + at);
			const char *name = entry->d_name;

			at += entry->d_reclen;
			if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
				continue;
			buf_add(names, name, strlen(name) + 1);
			if (names->error)
				return -ENOMEM;
			(*ret_count)++;
		}
	}
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int each_sorted(const struct buf *names, size_t count,
		       int (*each)(void *ctx, const char *name), void *ctx)
{
	CLEANUP(mem_cleanup) const char **sorted = NULL;
	const char *name = names->ptr;
	int r = 0;

	if (count == 0)
		return 0;
	sorted = mem_zero(count, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++, name += strlen(name) + 1)
		sorted[i] = name;
	SORT(sorted, count, compare_names);
	for (size_t i = 0; i < count && r == 0; i++)
		r = each(ctx, sorted[i]);
	return r;
}

static int real_list(struct fs *fs, const char *path,
		     int (*each)(void *ctx, const char *name), void *ctx)
{
	CLEANUP(buf_done) struct buf names;
	size_t count = 0;
	int fd, r;

	(void)fs;
	buf_init(&names, SIZE_MAX / 2);
	fd = open_dir(path);
	if (fd < 0)
		return fd;
	r = read_names(fd, &names, &count);
	(void)close(fd);
	return r < 0 ? r : each_sorted(&names, count, each, ctx);
}

static const struct fs_kind {
	const char *name;
	uint32_t magic;
	bool is_network;
} fs_kinds[] = {
	{ "ext4", 0xef53, false },        { "xfs", 0x58465342, false },
	{ "btrfs", 0x9123683e, false },   { "zfs", 0x2fc12fc1, false },
	{ "f2fs", 0xf2f52010, false },    { "tmpfs", 0x01021994, false },
	{ "overlay", 0x794c7630, false }, { "nfs", 0x6969, true },
	{ "smb", 0x517b, true },          { "cifs", 0xff534d42, true },
	{ "smb2", 0xfe534d42, true },     { "9p", 0x01021997, true },
	{ "fuse", 0x65735546, true },     { "afs", 0x5346414f, true },
	{ "afs", 0x6b414653, true }, /* the kernel's own */
	{ "ceph", 0x00c36400, true },     { "ncp", 0x564c, true },
	{ "coda", 0x73757245, true },
};

static uint64_t bytes_of_blocks(uint64_t blocks, uint64_t block_bytes)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(blocks, block_bytes, &bytes))
		return UINT64_MAX;
	return bytes;
}

static int real_space(struct fs *fs, const char *path, struct fs_space *ret)
{
	struct fs_space space = { .is_network = false };
	struct statfs st;
	uint64_t block;
	uint32_t magic;
	int r;

	(void)fs;
	do
		r = statfs(path, &st);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	block = (uint64_t)(st.f_frsize ? st.f_frsize : st.f_bsize);
	space.free_bytes = bytes_of_blocks(st.f_bavail, block);
	space.total_bytes = bytes_of_blocks(st.f_blocks, block);
	space.is_read_only = st.f_flags & ST_RDONLY;
	magic = (uint32_t)st.f_type;
	(void)snprintf(space.kind, sizeof(space.kind), "0x%x", magic);
	for (size_t i = 0; i < ARRAY_LEN(fs_kinds); i++) {
		if (fs_kinds[i].magic != magic)
			continue;
		(void)snprintf(space.kind, sizeof(space.kind), "%s",
			       fs_kinds[i].name);
		space.is_network = fs_kinds[i].is_network;
	}
	*ret = space;
	return 0;
}

static void real_sleep_us(struct fs *fs, unsigned us)
{
	struct timespec left = {
		.tv_sec = us / 1000000,
		.tv_nsec = (long)(us % 1000000) * 1000,
	};

	(void)fs;
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		continue;
}

static void real_watch_close(struct watch *watch)
{
	struct real_watch *w = (struct real_watch *)watch;

	if (w->inotify >= 0)
		(void)close(w->inotify);
	if (w->wake >= 0)
		(void)close(w->wake);
	mem_free(w);
}

static int real_watch_open(struct fs *fs, const char *path, struct watch **ret)
{
	/* Its end is a change, too: whoever waits had better look. */
	const uint32_t events = IN_MODIFY | IN_MOVE_SELF | IN_DELETE_SELF;
	struct real_watch *w = mem_alloc(sizeof(*w));
	int e;

	if (!w)
		return -ENOMEM;
	*w = (struct real_watch){ .watch.ops = fs->ops, .wake = -1 };
	w->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->inotify < 0)
		goto fail;
	w->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->wake < 0)
		goto fail;
	if (inotify_add_watch(w->inotify, path, events) < 0)
		goto fail;
	*ret = &w->watch;
	return 0;
fail:
	e = errno;
	real_watch_close(&w->watch);
	return -e;
}

/* Read what has come in, so that the next wait waits. */
static void drain(int fd)
{
	_Alignas(struct inotify_event) char room[KIB(4)];
	ssize_t n;

	do
		n = read(fd, room, sizeof(room));
	while (n > 0 || (n < 0 && errno == EINTR));
}

static int real_watch_wait(struct watch *watch, int64_t timeout_ms)
{
	struct real_watch *w = (struct real_watch *)watch;
	int64_t start = clock_mono_us() / 1000;
	int64_t left = timeout_ms;

	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = w->inotify, .events = POLLIN },
			{ .fd = w->wake, .events = POLLIN },
		};
		int wait_ms = left < INT_MAX ? (int)left : INT_MAX;
		int n = poll(fds, 2, timeout_ms < 0 ? -1 : wait_ms);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			drain(w->inotify);
			drain(w->wake);
			return 1;
		}
		if (timeout_ms < 0)
			continue;
		left = timeout_ms - (clock_mono_us() / 1000 - start);
		if (left <= 0)
			return 0;
	}
}

static void real_watch_wake(struct watch *watch)
{
	struct real_watch *w = (struct real_watch *)watch;
	uint64_t one = 1;
	ssize_t n;

	/* A full counter means that a wake-up is waiting already. */
	do
		n = write(w->wake, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

static const struct fs_ops real_ops = {
	.open = real_open,
	.close = real_close,
	.read = real_read,
	.write = real_write,
	.truncate = real_truncate,
	.sync = real_sync,
	.sync_all = real_sync_all,
	.write_back = real_write_back,
	.write_ahead = real_write_ahead,
	.fstat = real_fstat,
	.lock = real_lock,
	.stat = real_stat,
	.mkdir = real_mkdir,
	.rename = real_rename,
	.unlink = real_unlink,
	.rmdir = real_rmdir,
	.sync_dir = real_sync_dir,
	.list = real_list,
	.space = real_space,
	.sleep_us = real_sleep_us,
	.watch_open = real_watch_open,
	.watch_wait = real_watch_wait,
	.watch_wake = real_watch_wake,
	.watch_close = real_watch_close,
};

int fs_real_here(char *to, size_t n)
{
	return getcwd(to, n) ? 0 : -errno;
}

bool fs_real_may_write(const char *path)
{
	struct stat st;
	int how = W_OK;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		how |= X_OK;
	return faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0;
}

struct fs *fs_real(void)
{
	static struct fs real = { .ops = &real_ops };

	return &real;
}

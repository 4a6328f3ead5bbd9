/*
 * file.h - the only way to the file system, SQLite's included.
 *
 * A struct fs is a file system: the real one (fs_real), or a simulated disk
 * that a test can tear.  Calls return 0 (or a count) or a negative errno and
 * write no messages; callers know the context.  EINTR is dealt with inside.
 *
 * Paths are ordinary strings.  Files are created 0600, directories 0700, and
 * every open file is closed on exec.  A struct file may be read by many
 * threads at once; writes of one file are the caller's to order.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/uio.h>

#include "base/base.h"

struct fs;

enum file_flags {
	FILE_READ = 0,
	FILE_WRITE = 1,     /* read and write */
	FILE_CREATE = 2,    /* make it if it is not there */
	FILE_EXCLUSIVE = 4, /* with CREATE: -EEXIST if it is there */
};

enum file_lock_mode {
	FILE_UNLOCK,
	FILE_SHARED,
	FILE_LOCKED,
	FILE_LOCK_LOOK /* lock nothing: would FILE_LOCKED work? */
};

struct file_stat {
	uint64_t dev, ino, size, links;
	int64_t mtime_ms;
	uint32_t uid;
	uint32_t mode; /* permission bits */
	bool is_dir, is_file;
};

struct fs_space {
	uint64_t free_bytes; /* what this user may still write */
	uint64_t total_bytes;
	bool is_network; /* NFS, SMB, 9p, FUSE and the like */
	bool is_read_only;
	char kind[16]; /* "ext4", "nfs", or its magic number */
};

/* An open file; implementations put it first in their own. */
struct file {
	const struct fs_ops *ops;
};

/* Something to wait on for changes of one file; see watch_wait. */
struct watch {
	const struct fs_ops *ops;
};

struct fs_ops {
	int (*open)(struct fs *fs, const char *path, unsigned flags,
		    struct file **ret);
	void (*close)(struct file *f);
	ssize_t (*read)(struct file *f, void *to, size_t n, uint64_t at);
	ssize_t (*write)(struct file *f, const struct iovec *v, int n,
			 uint64_t at);
	int (*truncate)(struct file *f, uint64_t size);
	int (*sync)(struct file *f, bool data_only);
	int (*sync_all)(struct file *f); /* syncfs; -ENOSYS: not trustworthy */
	int (*write_back)(struct file *f); /* or NULL */
	void (*write_ahead)(struct file *f, uint64_t at, uint64_t n); /* too */
	int (*fstat)(struct file *f, struct file_stat *ret);
	int (*lock)(struct file *f, uint64_t at, uint64_t n,
		    enum file_lock_mode mode);

	int (*stat)(struct fs *fs, const char *path, struct file_stat *ret);
	int (*mkdir)(struct fs *fs, const char *path);
	int (*rename)(struct fs *fs, const char *from, const char *to);
	int (*unlink)(struct fs *fs, const char *path);
	int (*rmdir)(struct fs *fs, const char *path);
	int (*sync_dir)(struct fs *fs, const char *path);
	int (*list)(struct fs *fs, const char *path,
		    int (*each)(void *ctx, const char *name), void *ctx);
	int (*space)(struct fs *fs, const char *path, struct fs_space *ret);
	void (*sleep_us)(struct fs *fs, unsigned us);

	int (*watch_open)(struct fs *fs, const char *path, struct watch **ret);
	int (*watch_wait)(struct watch *w, int64_t timeout_ms);
	void (*watch_wake)(struct watch *w);
	void (*watch_close)(struct watch *w);
};

struct fs {
	const struct fs_ops *ops;
};

/* The machine's own file system. */
struct fs *fs_real(void);

/* The working directory, from which fs_real takes paths that do not begin with
 * a slash, into to[0..n). */
int fs_real_here(char *to, size_t n);

/* Whether a file of fs_real can be written to, or something be made in a
 * directory, as far as permissions tell. */
bool fs_real_may_write(const char *path);

/* Open or make a file. */
static inline int file_open(struct fs *fs, const char *path, unsigned flags,
			    struct file **ret)
{
	return fs->ops->open(fs, path, flags, ret);
}

/* Takes NULL. */
static inline void file_close(struct file *f)
{
	if (f)
		f->ops->close(f);
}
void file_cleanup(struct file **f); /* for CLEANUP */

/* Read up to n bytes at `at`; fewer only at the end of the file. */
static inline ssize_t file_read(struct file *f, void *to, size_t n, uint64_t at)
{
	return f->ops->read(f, to, n, at);
}

/* Write all of v[0..n) at `at`, or fail; after a failure any part may be
 * there. */
static inline ssize_t file_writev(struct file *f, const struct iovec *v, int n,
				  uint64_t at)
{
	return f->ops->write(f, v, n, at);
}
ssize_t file_write(struct file *f, const void *bytes, size_t n, uint64_t at);

static inline int file_truncate(struct file *f, uint64_t size)
{
	return f->ops->truncate(f, size);
}

/* fdatasync, fsync: never retry after a failure, the pages may be gone. */
static inline int file_datasync(struct file *f)
{
	return f->ops->sync(f, true);
}
static inline int file_sync(struct file *f)
{
	return f->ops->sync(f, false);
}

/*
 * Flush the whole file system that `f` is on, with the errors of everything
 * written since `f` was opened; -ENOSYS where that cannot be relied on.
 */
static inline int file_sync_all(struct file *f)
{
	return f->ops->sync_all(f);
}

/*
 * Have what was written to the file on its way to the disk, and wait for that,
 * so that a flush that follows has less to do.  It makes nothing durable; but
 * if it fails, a flush may not know of it any more.
 */
static inline int file_write_back(struct file *f)
{
	return f->ops->write_back ? f->ops->write_back(f) : 0;
}

/* Begin to write a part of it to the disk, and do not wait: the file_datasync
 * that follows has less to do, and tells what went wrong. */
static inline void file_write_ahead(struct file *f, uint64_t at, uint64_t n)
{
	if (f->ops->write_ahead)
		f->ops->write_ahead(f, at, n);
}

static inline int file_stat(struct file *f, struct file_stat *ret)
{
	return f->ops->fstat(f, ret);
}

/*
 * Lock, share, unlock or only look at n bytes at `at` without waiting: -EAGAIN
 * if somebody else is in the way.  The lock belongs to this struct file, not to the
 * process, and ends when it is closed.
 */
static inline int file_lock(struct file *f, uint64_t at, uint64_t n,
			    enum file_lock_mode mode)
{
	return f->ops->lock(f, at, n, mode);
}

static inline int fs_stat(struct fs *fs, const char *path,
			  struct file_stat *ret)
{
	return fs->ops->stat(fs, path, ret);
}
static inline int fs_mkdir(struct fs *fs, const char *path)
{
	return fs->ops->mkdir(fs, path);
}
static inline int fs_rename(struct fs *fs, const char *from, const char *to)
{
	return fs->ops->rename(fs, from, to);
}
static inline int fs_unlink(struct fs *fs, const char *path)
{
	return fs->ops->unlink(fs, path);
}
static inline int fs_rmdir(struct fs *fs, const char *path)
{
	return fs->ops->rmdir(fs, path);
}
/* Make the names in a directory durable. */
static inline int fs_sync_dir(struct fs *fs, const char *path)
{
	return fs->ops->sync_dir(fs, path);
}
/* Call `each` with every name but . and .., sorted; stops when it returns
 * other than 0 and returns that. */
static inline int fs_list(struct fs *fs, const char *path,
			  int (*each)(void *ctx, const char *name), void *ctx)
{
	return fs->ops->list(fs, path, each, ctx);
}
static inline int fs_space(struct fs *fs, const char *path,
			   struct fs_space *ret)
{
	return fs->ops->space(fs, path, ret);
}
static inline void fs_sleep_us(struct fs *fs, unsigned us)
{
	fs->ops->sleep_us(fs, us);
}

/*
 * Watch one file for writes.  watch_wait returns 1 when it was written or
 * watch_wake was called since the last wait, 0 at the time-out (< 0: never),
 * and makes no system calls in between.  watch_wake is for any thread.
 */
static inline int watch_open(struct fs *fs, const char *path,
			     struct watch **ret)
{
	return fs->ops->watch_open(fs, path, ret);
}
static inline int watch_wait(struct watch *w, int64_t timeout_ms)
{
	return w->ops->watch_wait(w, timeout_ms);
}
static inline void watch_wake(struct watch *w)
{
	w->ops->watch_wake(w);
}
static inline void watch_close(struct watch *w)
{
	if (w)
		w->ops->watch_close(w);
}

/*
 * Make `path` hold exactly `data`: temporary file, fsync, rename, fsync of
 * `dir`.  A crash leaves the old content or the new, never a mixture, and
 * perhaps the temporary file PATH.new, which the next call uses.  Two who
 * replace the same file wait for each other; -EAGAIN after two seconds.
 */
int fs_replace(struct fs *fs, const char *dir, const char *path,
	       struct weft_str data);

/* Read a whole file of at most `max` bytes into fresh memory (mem_free), with
 * a NUL behind it; -EFBIG if it is larger. */
int fs_read_whole(struct fs *fs, const char *path, size_t max, char **ret,
		  size_t *ret_len);

#endif

/* file.c - what is the same on every file system. */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"

/* How long fs_replace waits for somebody who replaces the same file. */
#define REPLACE_TRIES   1000
#define REPLACE_WAIT_US 2000
#define READ_STEP       KIB(64)

void file_cleanup(struct file **f)
{
	file_close(*f);
}

ssize_t file_write(struct file *f, const void *bytes, size_t n, uint64_t at)
{
	struct iovec v = { .iov_len = n };

	/* An iovec serves reading, too, and so its pointer is not const. */
	memcpy(&v.iov_base, &bytes, sizeof(bytes));
	return file_writev(f, &v, 1, at);
}

static bool is_same_file(struct fs *fs, struct file *f, const char *path)
{
	struct file_stat open_stat, path_stat;

	return file_stat(f, &open_stat) == 0 &&
	       fs_stat(fs, path, &path_stat) == 0 &&
	       open_stat.dev == path_stat.dev && open_stat.ino == path_stat.ino;
}

/*
 * Open the temporary file and lock it: its name is fixed, so that crashes
 * leave one at most, and two who replace a file must not write into the same.
 * Once it is locked it may already have been renamed by its last owner.
 */
static int open_temp(struct fs *fs, const char *temp, struct file **ret)
{
	for (int i = 0; i < REPLACE_TRIES; i++) {
		struct file *f;
		int r = file_open(fs, temp, FILE_WRITE | FILE_CREATE, &f);

		if (r < 0)
			return r;
		r = file_lock(f, 0, 1, FILE_LOCKED);
		if (r == 0 && is_same_file(fs, f, temp)) {
			*ret = f;
			return 0;
		}
		file_close(f);
		if (r < 0 && r != -EAGAIN)
			return r;
		if (r == -EAGAIN)
			fs_sleep_us(fs, REPLACE_WAIT_US);
	}
	return -EAGAIN;
}

static int fill_and_rename(struct fs *fs, struct file *f, const char *temp,
			   const char *path, struct weft_str data)
{
	ssize_t n;
	int r;

	r = file_truncate(f, 0);
	if (r < 0)
		return r;
	n = file_write(f, data.ptr, data.len, 0);
	if (n < 0)
		return (int)n;
	r = file_sync(f);
	if (r < 0)
		return r;
	return fs_rename(fs, temp, path);
}

int fs_replace(struct fs *fs, const char *dir, const char *path,
	       struct weft_str data)
{
	CLEANUP(mem_cleanup) char *temp = NULL;
	CLEANUP(file_cleanup) struct file *f = NULL;
	size_t bytes = strlen(path) + sizeof(".new");
	int r;

	temp = mem_alloc(bytes);
	if (!temp)
		return -ENOMEM;
	(void)snprintf(temp, bytes, "%s.new", path);
	r = open_temp(fs, temp, &f);
	if (r < 0)
		return r;
	r = fill_and_rename(fs, f, temp, path, data);
	if (r < 0) {
		(void)fs_unlink(fs, temp);
		return r;
	}
	/* The rename itself is only safe once the directory is. */
	return fs_sync_dir(fs, dir);
}

/* Read to the end of the file, whatever size it claims to have. */
static int read_to_end(struct file *f, size_t max, size_t expected, char **ret,
		       size_t *ret_len)
{
	/* One byte more than expected finds the end, one more is the NUL. */
	size_t room = (expected < max ? expected : max) + 2;
	char *bytes = mem_alloc(room);
	size_t len = 0;

	while (bytes) {
		ssize_t n = file_read(f, bytes + len, room - 1 - len, len);
		char *larger;

		if (n < 0) {
			mem_free(bytes);
			return (int)n;
		}
		len += (size_t)n;
		if (len > max) {
			mem_free(bytes);
			return -EFBIG;
		}
		if (len < room - 1) {
			bytes[len] = '\0';
			*ret = bytes;
			*ret_len = len;
			return 0;
		}
		room += room > READ_STEP ? room : READ_STEP;
		larger = mem_resize(bytes, room);
		if (!larger)
			mem_free(bytes);
		bytes = larger;
	}
	return -ENOMEM;
}

int fs_read_whole(struct fs *fs, const char *path, size_t max, char **ret,
		  size_t *ret_len)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	struct file_stat st;
	int r;

	r = file_open(fs, path, FILE_READ, &f);
	if (r < 0)
		return r;
	r = file_stat(f, &st);
	if (r < 0)
		return r;
	if (st.is_dir)
		return -EISDIR;
	/* Kept away from SIZE_MAX, so that sums with it do not wrap. */
	if (max > SIZE_MAX / 4)
		max = SIZE_MAX / 4;
	if (st.size > max)
		return -EFBIG;
	return read_to_end(f, max, (size_t)st.size, ret, ret_len);
}

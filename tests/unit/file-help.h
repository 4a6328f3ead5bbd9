/*
 * file-help.h - a directory for tests of the real file system; it is emptied
 * after each test and removed after the last.
 */
#ifndef UNIT_FILE_HELP_H
#define UNIT_FILE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

static char dir[] = "/tmp/weft-test-file-XXXXXX";
static struct fs *fs;

/* The path of `name` in the directory; four of them at a time. */
static inline const char *in_dir(const char *name)
{
	static char paths[4][512];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static inline int make_dir(void **state)
{
	(void)state;
	fs = fs_real();
	(void)umask(022);
	return mkdtemp(dir) ? 0 : -1;
}

static inline int remove_name(void *ctx, const char *name)
{
	(void)ctx;
	if (fs_unlink(fs, in_dir(name)) == 0)
		return 0;
	return fs_rmdir(fs, in_dir(name));
}

static inline int empty_dir(void **state)
{
	(void)state;
	return fs_list(fs, dir, remove_name, NULL);
}

static inline int remove_dir(void **state)
{
	return empty_dir(state) || fs_rmdir(fs, dir);
}

static inline struct file *open_file(const char *name, unsigned flags)
{
	struct file *f = NULL;

	assert_int_equal(file_open(fs, in_dir(name), flags, &f), 0);
	assert_non_null(f);
	return f;
}

static inline void expect_content(const char *name, struct weft_str expected)
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

static inline int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

#endif

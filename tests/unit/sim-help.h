/* sim-help.h - a disk with two processes, and short words for using it. */
#ifndef UNIT_SIM_HELP_H
#define UNIT_SIM_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/simdisk.h"

/* A disk with two processes. */
struct disk {
	struct simdisk *sim;
	struct fs *a, *b;
};

static inline int setup(void **state)
{
	struct disk *t = malloc(sizeof(*t));

	assert_non_null(t);
	t->sim = simdisk_new();
	t->a = simdisk_process(t->sim);
	t->b = simdisk_process(t->sim);
	*state = t;
	return 0;
}

static inline int teardown(void **state)
{
	struct disk *t = *state;

	simdisk_free(t->sim);
	free(t);
	return 0;
}

static inline struct file *open_file(struct fs *fs, const char *path,
				     unsigned flags)
{
	struct file *f = NULL;

	assert_int_equal(file_open(fs, path, flags, &f), 0);
	return f;
}

static inline struct file *make(struct fs *fs, const char *path)
{
	return open_file(fs, path, FILE_WRITE | FILE_CREATE);
}

static inline ssize_t put(struct file *f, uint64_t at, const char *text)
{
	struct iovec v = { (void *)(uintptr_t)text, strlen(text) };

	return file_writev(f, &v, 1, at);
}

static inline void must_put(struct file *f, uint64_t at, const char *text)
{
	assert_int_equal(put(f, at, text), strlen(text));
}

/* `n` bytes that all are `c`. */
static inline ssize_t put_many(struct file *f, uint64_t at, char c, size_t n)
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
static inline void keep_file(struct simdisk *d, const char *path,
			     const char *text)
{
	assert_int_equal(simdisk_replace(d, path, str_of(text)), 0);
	simdisk_sync(d);
}

static inline void expect_file(struct simdisk *d, const char *path,
			       const char *text)
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

static inline void lose_all(struct simdisk *d)
{
	simdisk_power_cut(d, SIM_LOSE_ALL, 0, NULL);
}

static inline void keep_all(struct simdisk *d)
{
	simdisk_power_cut(d, SIM_KEEP_ALL, 0, NULL);
}

static inline uint64_t size_of(struct fs *fs, const char *path)
{
	struct file_stat st;

	assert_int_equal(fs_stat(fs, path, &st), 0);
	return st.size;
}

/* A test with a disk of its own. */
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif

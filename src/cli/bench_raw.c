/* bench_raw.c - what the disk can do by itself. */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/bench.h"

#define MESSAGE_BYTES 1024u
#define LOG_BYTES     MIB(64)
#define UNIT          4096u

static int open_in(struct bench *b, const char *name, struct file **ret)
{
	char path[600];
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	r = file_open(fs_real(), path, FILE_WRITE | FILE_CREATE, ret);
	return r < 0 ? fail_errno(b->err, -r, "create %s", path) : WEFT_OK;
}

/* Write and flush until the time is up. */
static int write_for(struct bench *b, struct file *f, const char *bytes,
		     size_t n, uint64_t wrap, uint64_t messages,
		     struct sample *ret)
{
	int64_t start = now_ns(), until = start + (int64_t)(b->seconds * 1e9);
	uint64_t at = 0, done = 0;
	struct times t;
	int64_t now = start;
	int r = times_init(&t, 1000000, b->err);

	while (r == WEFT_OK && now < until) {
		int64_t before = now;
		ssize_t w = file_write(f, bytes, n, at);

		if (w >= 0)
			w = file_datasync(f);
		if (w < 0)
			r = fail_errno(b->err, (int)-w, "write");
		now = now_ns();
		times_add(&t, now - before);
		done += messages;
		at += n;
		if (wrap && at + n > wrap)
			at = 0;
	}
	if (r == WEFT_OK)
		*ret = times_sample(&t, done, now - start);
	times_done(&t);
	return r;
}

/* raw1: a growing file, one message and one flush at a time. */
int raw_appends(struct bench *b, struct sample *ret)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	char message[MESSAGE_BYTES];
	int r = open_in(b, "raw1", &f);

	memset(message, 'x', sizeof(message));
	if (r == WEFT_OK)
		r = file_truncate(f, 0) < 0 ? WEFT_IO : WEFT_OK;
	if (r == WEFT_OK)
		r = write_for(b, f, message, sizeof(message), 0, 1, ret);
	return r;
}

static int prezero(struct bench *b, struct file *f)
{
	CLEANUP(mem_cleanup) char *zeros = mem_zero(1, MIB(1));
	struct file_stat st;
	ssize_t w = 0;

	if (!zeros)
		return fail_no_memory(b->err);
	if (file_stat(f, &st) == 0 && st.size >= LOG_BYTES)
		return WEFT_OK;
	for (uint64_t at = 0; at < LOG_BYTES && w >= 0; at += MIB(1))
		w = file_write(f, zeros, MIB(1), at);
	if (w >= 0)
		w = file_sync(f);
	return w < 0 ? fail_errno(b->err, (int)-w, "write") : WEFT_OK;
}

/* RAW64: a log of written zeros, `batch` messages a flush. */
int raw_batches(struct bench *b, unsigned batch, struct sample *ret)
{
	size_t n = (size_t)round_up((uint64_t)batch * MESSAGE_BYTES, UNIT);
	CLEANUP(file_cleanup) struct file *f = NULL;
	CLEANUP(mem_cleanup) char *bytes = mem_zero(1, n);
	int r = open_in(b, "raw64", &f);

	if (!bytes)
		return fail_no_memory(b->err);
	memset(bytes, 'x', n);
	if (r == WEFT_OK)
		r = prezero(b, f);
	if (r == WEFT_OK)
		r = write_for(b, f, bytes, n, LOG_BYTES, batch, ret);
	return r;
}

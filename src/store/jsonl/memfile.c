/*
 * memfile.c - a file in memory.
 *
 * For readers of a store that crashed and may not be written to: the lines
 * that only the log has are put into a copy.
 */
#include <errno.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

struct memfile {
	struct file file; /* first */
	struct buf bytes;
};

static struct memfile *memfile_of(struct file *f)
{
	return (struct memfile *)(void *)f;
}

static void mem_close(struct file *f)
{
	buf_done(&memfile_of(f)->bytes);
	mem_free(f);
}

static ssize_t mem_read(struct file *f, void *to, size_t n, uint64_t at)
{
	const struct buf *b = &memfile_of(f)->bytes;

	if (at >= b->len)
		return 0;
	n = (size_t)u64_min(n, b->len - at);
	memcpy(to, b->ptr + at, n);
	return (ssize_t)n;
}

static ssize_t mem_write(struct file *f, const struct iovec *v, int n,
			 uint64_t at)
{
	struct buf *b = &memfile_of(f)->bytes;
	ssize_t total = 0;

	for (int i = 0; i < n; i++) {
		size_t end = (size_t)at + v[i].iov_len;

		if (end > b->len) {
			char *more = buf_reserve(b, end - b->len);

			if (!more)
				return -ENOMEM;
			memset(more, 0, end - b->len);
			b->len = end;
		}
		memcpy(b->ptr + at, v[i].iov_base, v[i].iov_len);
		at += v[i].iov_len;
		total += (ssize_t)v[i].iov_len;
	}
	return total;
}

static int mem_stat(struct file *f, struct file_stat *ret)
{
	*ret = (struct file_stat){
		.size = memfile_of(f)->bytes.len,
		.links = 1,
		.is_file = true,
	};
	return 0;
}

static const struct fs_ops memfile_ops = {
	.close = mem_close,
	.read = mem_read,
	.write = mem_write,
	.fstat = mem_stat,
};

int memfile_open(struct file *from, struct file **ret, struct weft_error *err)
{
	struct memfile *m = mem_zero(1, sizeof(*m));
	struct file_stat st = { 0 };
	ssize_t n = 0;

	if (!m)
		return fail_no_memory(err);
	m->file.ops = &memfile_ops;
	buf_init(&m->bytes, 0);
	if (from && file_stat(from, &st) == 0 && st.size > 0) {
		char *to = buf_reserve(&m->bytes, (size_t)st.size);

		n = to ? file_read(from, to, (size_t)st.size, 0) : -ENOMEM;
		if (n > 0)
			m->bytes.len = (size_t)n;
	}
	if (n < 0) {
		mem_close(&m->file);
		return fail_errno(err, (int)-n, "read a session's file");
	}
	*ret = &m->file;
	return WEFT_OK;
}

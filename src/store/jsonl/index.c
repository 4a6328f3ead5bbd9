/* index.c - see index.h. */
#include "store/jsonl/index.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/event.h"

void line_index_done(struct line_index *x)
{
	mem_free(x->bytes);
	mem_free(x->v);
	*x = (struct line_index){ 0 };
}

static int by_seq(const void *a, const void *b)
{
	const struct index_line *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->no < y->no ? -1 : x->no > y->no;
}

static size_t count_lines(struct weft_str s)
{
	size_t n = 1;

	for (size_t i = 0; i < s.len; i++)
		n += s.ptr[i] == '\n';
	return n;
}

/* The number a line has, or the one after its neighbour's. */
static uint64_t number_of(const struct weft_id *session, struct weft_str text,
			  uint64_t before, struct arena *a)
{
	struct store_event e;
	uint64_t seq;

	arena_reset(a);
	event_read(session, text, a, &e);
	if (e.seq != 0)
		return e.seq;
	seq = event_peek_seq(text);
	return seq > before ? seq : before + 1;
}

static void split(struct line_index *x, const struct weft_id *session,
		  struct weft_str bytes)
{
	struct arena a;
	uint64_t before = 0;
	size_t pos = 0;
	uint32_t no = 0;

	arena_init(&a, 0);
	x->sorted = true;
	while (pos < bytes.len) {
		char *nl = memchr(bytes.ptr + pos, '\n', bytes.len - pos);
		size_t end = nl ? (size_t)(nl - bytes.ptr) : bytes.len;
		struct weft_str text = { bytes.ptr + pos, end - pos };
		struct file_line head;

		no++;
		if (text.len > 0 &&
		    !(pos == 0 && file_line_read(text, &head))) {
			uint64_t seq = number_of(session, text, before, &a);

			x->sorted = x->sorted && seq > before;
			before = seq;
			x->v[x->n++] =
				(struct index_line){ seq, text, pos, no };
		}
		pos = end + 1;
	}
	arena_done(&a);
}

int line_index_read(struct line_index *x, const struct weft_id *session,
		    struct file *f, uint64_t size, struct weft_error *err)
{
	struct weft_str bytes;
	ssize_t n;

	x->bytes = mem_alloc((size_t)size + 1);
	if (!x->bytes)
		return fail_no_memory(err);
	n = file_read(f, x->bytes, (size_t)size, 0);
	if (n < 0)
		return fail_errno(err, (int)-n, "read a session's file");
	bytes = (struct weft_str){ x->bytes, (size_t)n };
	x->v = mem_zero(count_lines(bytes), sizeof(*x->v));
	if (!x->v)
		return fail_no_memory(err);
	split(x, session, bytes);
	SORT(x->v, x->n, by_seq);
	return WEFT_OK;
}

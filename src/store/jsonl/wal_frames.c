/* wal_frames.c - frames of the log: where they are, reading and writing them. */
#include "base/error.h"
#include "store/jsonl/wal.h"

static int segment_at(const struct wal *w, uint64_t lsn)
{
	for (uint32_t i = 0; i < w->control.n; i++) {
		const struct wal_segment *s = &w->control.seg[i];

		if (lsn >= s->base && lsn - s->base < s->size)
			return (int)i;
	}
	return -1;
}

/* The frame at exactly this place; 1, 0 or a negative code. */
static int read_frame_at(struct wal *w, uint64_t lsn, struct buf *b,
			 struct frame *ret, struct weft_error *err)
{
	int i = segment_at(w, lsn);
	const struct wal_segment *s;
	char head[FRAME_HEAD];
	size_t bytes;
	ssize_t n;

	if (i < 0 || !w->files[i])
		return 0;
	s = &w->control.seg[i];
	n = file_read(w->files[i], head, sizeof(head), lsn - s->base);
	if (n < 0)
		return fail_errno(err, (int)-n, "read log %s", w->dir);
	if ((size_t)n < sizeof(head) ||
	    !frame_read_head(head, w->control.salt, lsn, ret) ||
	    ret->end > s->base + s->size)
		return 0;
	bytes = (size_t)(ret->end - lsn);
	buf_reset(b);
	if (!buf_reserve(b, bytes))
		return buf_error(b, err);
	n = file_read(w->files[i], b->ptr, bytes, lsn - s->base);
	if (n < 0)
		return fail_errno(err, (int)-n, "read log %s", w->dir);
	/* The header may have changed since: look at what was read with it. */
	if ((size_t)n < bytes || memcmp(b->ptr, head, sizeof(head)) != 0)
		return 0;
	b->len = bytes;
	return frame_check(b->ptr, ret);
}

int wal_read_frame(struct wal *w, uint64_t at, struct buf *b, struct frame *ret,
		   struct weft_error *err)
{
	int r = read_frame_at(w, at, b, ret, err);
	uint64_t next = at;

	/* A frame that is too large for a segment goes to a later one. */
	while (r == 0 && wal_next_segment(w, next, &next) == WEFT_OK) {
		r = read_frame_at(w, next, b, ret, err);
		if (r == 1 && ret->prev > at)
			return 0; /* others came before it */
	}
	return r;
}

int wal_find_later(struct wal *w, uint64_t at, uint64_t *ret_lsn,
		   struct weft_error *err)
{
	CLEANUP(buf_done) struct buf b;
	uint64_t top = 0;

	buf_init(&b, 0);
	for (uint32_t i = 0; i < w->control.n; i++)
		top = u64_max(top,
			      w->control.seg[i].base + w->control.seg[i].size);
	for (uint64_t lsn = at + FRAME_UNIT; lsn < top; lsn += FRAME_UNIT) {
		struct frame f;
		int r = read_frame_at(w, lsn, &b, &f, err);

		if (r < 0)
			return r;
		if (r == 1) {
			*ret_lsn = lsn;
			return 1;
		}
	}
	return 0;
}

int wal_next_segment(const struct wal *w, uint64_t at, uint64_t *ret)
{
	/* They are in order. */
	for (uint32_t i = 0; i < w->control.n; i++) {
		if (w->control.seg[i].base > at) {
			*ret = w->control.seg[i].base;
			return WEFT_OK;
		}
	}
	return WEFT_BUSY;
}

int wal_place(const struct wal *w, const struct wal_state *st, uint64_t bytes,
	      uint64_t *ret)
{
	uint64_t at = st->end;
	int i = segment_at(w, at);

	while (i < 0 ||
	       at + bytes > w->control.seg[i].base + w->control.seg[i].size) {
		if (wal_next_segment(w, at, &at) < 0)
			return WEFT_BUSY;
		i = segment_at(w, at);
	}
	*ret = at;
	return WEFT_OK;
}

bool wal_has(const struct wal *w, uint64_t lsn)
{
	return segment_at(w, lsn) >= 0;
}

uint64_t wal_largest_segment(const struct wal *w)
{
	uint64_t max = 0;

	for (uint32_t i = 0; i < w->control.n; i++)
		max = u64_max(max, w->control.seg[i].size);
	return max;
}

uint64_t wal_total_bytes(const struct wal *w)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < w->control.n; i++)
		total += w->control.seg[i].size;
	return total;
}

int wal_put_frame(struct wal *w, uint64_t lsn, struct weft_str frame,
		  struct weft_error *err)
{
	int i = segment_at(w, lsn), r;
	uint64_t at = lsn - w->control.seg[i].base;
	ssize_t n = file_write(w->files[i], frame.ptr, frame.len, at);

	if (n >= 0)
		return WEFT_OK;
	r = fail_errno(err, (int)-n, "write log %s", w->dir);
	if (r != WEFT_NO_SPACE && err)
		err->code = WEFT_IO;
	return r == WEFT_NO_SPACE ? r : WEFT_IO;
}

void wal_begin_flush(struct wal *w, uint64_t lsn, uint64_t len)
{
	int i = segment_at(w, lsn);

	file_write_ahead(w->files[i], lsn - w->control.seg[i].base, len);
}

int wal_flush_frame(struct wal *w, uint64_t lsn, struct weft_error *err)
{
	int r = file_datasync(w->files[segment_at(w, lsn)]);

	w->flushes++;
	if (r < 0) {
		(void)fail_errno(err, -r, "flush log %s", w->dir);
		if (err)
			err->code = WEFT_UNKNOWN;
		return WEFT_UNKNOWN;
	}
	w->frames++;
	return WEFT_OK;
}

int wal_write_frame(struct wal *w, uint64_t lsn, struct weft_str frame,
		    struct weft_error *err)
{
	int r = wal_put_frame(w, lsn, frame, err);

	return r < 0 ? r : wal_flush_frame(w, lsn, err);
}

/*
 * extend.c - room for the next frame when every segment is full.
 *
 * DESIGN: under load a checkpoint takes longer than a small log lasts.  Rather
 * than let writers wait for it, the log gets another and larger segment, up to
 * a limit; the small ones leave at the next checkpoint.  The file is made
 * without any lock, and added with the log held.
 *
 * The same is done ahead of time where checkpoints follow each other closely:
 * one costs a flush for every session that was written to, so that the longer
 * the log, the fewer flushes a message costs.
 */
#include "base/error.h"
#include "store/jsonl/jsonl.h"

#define GROWTH    4u /* times the largest segment */
#define TOTAL_MAX 6u /* times the largest size of a segment */

/* How large the next segment should be; 0: there should be none. */
static uint64_t next_size(const struct jsonl *js, uint64_t need_bytes)
{
	uint64_t max = js->store.limits.segment_bytes_max;
	uint64_t size = u64_min(wal_largest_segment(&js->wal) * GROWTH, max);

	while (size < need_bytes)
		size *= 2;
	if (js->wal.control.n == WAL_SEGMENTS_MAX)
		return 0;
	/* A frame that fits nowhere is let in, whatever the total. */
	if (wal_total_bytes(&js->wal) + size > TOTAL_MAX * max &&
	    wal_largest_segment(&js->wal) >= need_bytes)
		return 0;
	return size;
}

static int add_segment(struct jsonl *js, uint32_t file, uint64_t size,
		       struct weft_error *err)
{
	struct wal_control c;
	int r;

	wal_add_segment(&js->wal, file, size, &c);
	r = wal_put_control(&js->wal, &c, err);
	if (r == WEFT_OK)
		r = wal_install(&js->wal, &c, err);
	if (r < 0)
		return r;
	js->st.control_no = c.no;
	return put_state(js, err);
}

static int extend(struct jsonl *js, uint64_t need_bytes, bool ahead,
		  struct weft_error *err)
{
	uint64_t size, place;
	uint32_t file;
	bool added = false, fits;
	int r = WEFT_OK;

	(void)pthread_mutex_lock(&js->writer);
	fits = wal_largest_segment(&js->wal) >= need_bytes;
	size = next_size(js, need_bytes);
	if (size)
		r = check_space(js, size, err);
	(void)pthread_mutex_unlock(&js->writer);
	/* Where the disk has no room to spare, a checkpoint makes it. */
	if (size == 0 || (r == WEFT_NO_SPACE && fits))
		return fail(err, WEFT_BUSY, "the log of %s is full", js->dir);
	if (r < 0)
		return r;
	r = wal_make_segment(&js->wal, size, &file, err);
	if (r < 0)
		return r;
	r = enter(js, err);
	if (r == WEFT_OK) {
		/* Meanwhile somebody else may have made room. */
		if ((ahead ||
		     wal_place(&js->wal, &js->st, need_bytes, &place) < 0) &&
		    js->wal.control.n < WAL_SEGMENTS_MAX) {
			r = add_segment(js, file, size, err);
			added = r == WEFT_OK;
		}
		leave(js);
	}
	if (!added)
		wal_remove_segment(&js->wal, file);
	return r;
}

int extend_log(struct jsonl *js, uint64_t need_bytes, struct weft_error *err)
{
	return extend(js, need_bytes, false, err);
}

int extend_log_ahead(struct jsonl *js, struct weft_error *err)
{
	return extend(js, 0, true, err);
}

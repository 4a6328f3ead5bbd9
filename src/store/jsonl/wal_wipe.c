/* wal_wipe.c - leave nothing in the log but what still matters. */
#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/wal.h"

#define CHUNK MIB(1)

static bool is_zero(const char *bytes, size_t n)
{
	return n == 0 ||
	       (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* Zeros from..to of a segment's file, where there are none yet. */
static int wipe_range(struct file *f, uint64_t from, uint64_t to, char *chunk)
{
	while (from < to) {
		size_t want = (size_t)u64_min(CHUNK, to - from);
		ssize_t n = file_read(f, chunk, want, from);

		if (n < 0)
			return (int)n;
		if (!is_zero(chunk, (size_t)n)) {
			memset(chunk, 0, want);
			n = file_write(f, chunk, want, from);
			if (n < 0)
				return (int)n;
		}
		from += want;
	}
	return 0;
}

static uint64_t clamp(uint64_t at, const struct wal_segment *s)
{
	return u64_min(u64_max(at, s->base), s->base + s->size) - s->base;
}

int wal_wipe(struct wal *w, const struct wal_state *st, struct weft_error *err)
{
	CLEANUP(mem_cleanup) char *chunk = mem_alloc(CHUNK);
	int r = 0;

	if (!chunk)
		return fail_no_memory(err);
	for (uint32_t i = 0; i < w->control.n && r == 0; i++) {
		const struct wal_segment *s = &w->control.seg[i];

		r = wipe_range(w->files[i], 0, clamp(st->ckpt, s), chunk);
		if (r == 0)
			r = wipe_range(w->files[i], clamp(st->end, s), s->size,
				       chunk);
		if (r == 0)
			r = file_datasync(w->files[i]);
	}
	return r < 0 ? fail_errno(err, -r, "wipe the log in %s", w->dir) :
		       WEFT_OK;
}

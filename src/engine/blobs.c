/*
 * blobs.c - what is large in messages: put away before they are written, and
 * put back when they are read (model/blob.h).
 *
 * Both happen in the caller's thread.  A blob that was put for a request that
 * is refused then is left to collection; one that collection or a purge takes
 * between the put and the commit makes the commit fail, and nothing is lost
 * but time.
 */
#include "base/error.h"
#include "engine/internal.h"

/* What a message may unpack to at least, whatever the limit is by now. */
#define UNPACKED_MIN MIB(32)

static int put(void *ctx, struct weft_str bytes, struct blob_ref *ret,
	       struct weft_error *err)
{
	struct store *s = ctx;

	return s->ops->put_blob(s, bytes, ret, err);
}

static int get(void *ctx, const struct blob_ref *ref, struct arena *a,
	       struct weft_str *ret, struct weft_error *err)
{
	struct store *s = ctx;

	return s->ops->get_blob(s, ref, a, ret, err);
}

struct blob_place engine_blobs(struct engine *e)
{
	return (struct blob_place){ put, get, e->store };
}

int request_pack(struct engine *e, struct request *q, struct weft_error *err)
{
	const struct blob_place place = engine_blobs(e);

	for (size_t i = 0; i < q->n_messages; i++) {
		struct message *m = &q->messages[i];
		int r;

		if (!m->is_large)
			continue;
		q->bytes -= m->body.len;
		r = message_pack(m, engine_limits(e), &place, &q->arena, err);
		q->bytes += m->body.len;
		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

/* How many bytes of the page an event is. */
static size_t size_of(const struct store_event *e)
{
	return e->body.len > e->bytes.len ? e->body.len : e->bytes.len;
}

int read_whole(struct engine *e, const struct event_range *range, bool redacted,
	       struct arena *a, struct seen_page *ret, struct weft_error *err)
{
	const struct blob_place place = engine_blobs(e);
	size_t max = (size_t)u64_max(2 * engine_limits(e)->message_bytes,
				     UNPACKED_MIN);
	size_t room = range->max_bytes ? range->max_bytes : READ_PAGE_BYTES;
	size_t bytes = 0;
	int r = read_seen(e, range, redacted, a, ret, err);

	for (size_t i = 0; i < ret->n && r == WEFT_OK; i++) {
		struct store_event *v = &ret->v[i];

		if (v->type != EVENT_MESSAGE || v->state == STATE_DAMAGED ||
		    !blob_is_packed(v->body, v->state)) {
			bytes += size_of(v);
			continue;
		}
		r = blob_unpack(v->body, max, &place, a, &v->body, err);
		bytes += size_of(v);
		/* The store has seen to the rest: only this may be too much. */
		if (r == WEFT_OK && i > 0 && bytes > room) {
			ret->n = i;
			ret->done = false;
		}
	}
	return r;
}

/* window.c - the window of a session, and what a fork inherits. */
#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"
#include "model/marker.h"
#include "model/record.h"

int engine_window(struct engine *e, const struct session_rec *rec,
		  struct arena *a, struct window *ret, struct weft_error *err)
{
	const struct event_range range = {
		.session = rec->id,
		.first = rec->window_seq,
		.last = rec->window_seq,
		.max_events = 1,
	};
	struct seen_page page = { 0 };
	struct marker m;
	int r;

	*ret = (struct window){ .first_kept = 1 };
	if (!rec->window_seq)
		return WEFT_OK;
	if (record_knows_window(rec)) {
		*ret = (struct window){
			.marker = rec->window_seq,
			.first_kept = rec->window_first,
			.summary = rec->summary,
		};
		return WEFT_OK;
	}
	r = read_seen(e, &range, true, a, &page, err);
	if (r < 0)
		return r;
	/* Damaged or gone: what it said is not known; show everything. */
	if (page.n == 0 || page.v[0].type != EVENT_MARKER)
		return WEFT_OK;
	r = marker_read(page.v[0].body, a, &m, err);
	if (r < 0)
		return r;
	*ret = (struct window){
		.marker = rec->window_seq,
		.first_kept = m.first_kept,
		.summary = m.summary,
	};
	return WEFT_OK;
}

/* The messages of first..last that the session sees. */
static int count_messages(struct engine *e, const struct weft_id *session,
			  uint64_t first, uint64_t last, uint64_t *ret,
			  struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a = { 0 };
	struct event_range range = {
		.session = *session,
		.first = first,
		.last = last,
		.types = UINT64_C(1) << EVENT_MESSAGE,
	};
	struct seen_page page = { 0 };

	arena_init(&a, 0);
	*ret = 0;
	while (!page.done && range.first <= range.last) {
		int r;

		arena_reset(&a);
		r = read_seen(e, &range, false, &a, &page, err);
		if (r < 0)
			return r;
		if (page.n == 0)
			break;
		for (size_t i = 0; i < page.n; i++)
			*ret += page.v[i].type == EVENT_MESSAGE &&
				page.v[i].state != STATE_DAMAGED;
		range.first = page.v[page.n - 1].last + 1;
	}
	return WEFT_OK;
}

/* Messages of a session up to one of them. */
struct said {
	uint64_t seq; /* of that one; 0: there is none */
	uint64_t n;   /* with those that are hidden or were reclaimed */
	bool known;   /* its line is not older than that number */
};

/* How many messages the session itself had said up to the last one before `at`
 * that is still there: a fork begins with no other. */
static int said_up_to(struct engine *e, const struct session_rec *rec,
		      uint64_t at, struct said *ret, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a = { 0 };
	struct event_range range = {
		.session = rec->id,
		.first = rec->fork_seq + 1,
		.last = at,
		.types = UINT64_C(1) << EVENT_MESSAGE,
		.backwards = 1,
		.max_events = 1,
	};

	arena_init(&a, 0);
	*ret = (struct said){ .known = true };
	while (range.first <= range.last) {
		struct event_page page = { 0 };
		int r = e->store->ops->read_events(e->store, &range, &a, &page,
						   err);

		if (r < 0)
			return r;
		if (page.n == 0)
			break;
		if (page.v[0].type == EVENT_MESSAGE) {
			*ret = (struct said){ page.v[0].seq, page.v[0].said,
					      page.v[0].said > 0 };
			break;
		}
		/* Damaged or gone. */
		range.last = page.v[0].seq - 1;
	}
	return WEFT_OK;
}

/* The messages that the session itself said up to `at` and has not hidden. */
static int count_own(struct engine *e, const struct session_rec *rec,
		     uint64_t at, uint64_t *ret, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a = { 0 };
	uint64_t *hidden;
	struct said said;
	size_t n;
	int r = said_up_to(e, rec, at, &said, err);

	if (r < 0)
		return r;
	if (!said.known)
		return count_messages(e, &rec->id, rec->fork_seq + 1, at, ret,
				      err);
	arena_init(&a, 0);
	r = e->store->ops->get_hidden(e->store, &rec->id, rec->fork_seq + 1,
				      said.seq, &a, &hidden, &n, err);
	if (r == WEFT_OK)
		*ret = said.n - u64_min(said.n, n);
	return r;
}

/* How many messages a fork of `rec` at `at` inherits. */
static int count_inherited(struct engine *e, const struct session_rec *rec,
			   uint64_t at, uint64_t *ret, struct weft_error *err)
{
	struct session_rec owner = *rec;
	CLEANUP(arena_done) struct arena a = { 0 };
	uint64_t n;
	int r;

	arena_init(&a, 0);
	while (at <= owner.fork_seq) {
		struct weft_id parent = owner.parent;

		r = engine_record(e, &parent, &a, &owner, err);
		if (r < 0)
			return r;
	}
	r = count_own(e, &owner, at, &n, err);
	if (r == WEFT_OK)
		*ret = owner.inherited_count + n;
	return r;
}

int engine_fork_at(struct engine *e, const struct session_rec *rec, uint64_t at,
		   struct request *q, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a = { 0 };
	uint64_t *hidden;
	size_t n = 0;
	int r = WEFT_OK;

	arena_init(&a, 0);
	q->fork_at = at;
	q->fork_content = rec->content_seq;
	if (rec->fork_seq)
		r = e->store->ops->get_hidden(e->store, &rec->id, 1,
					      rec->fork_seq, &a, &hidden, &n,
					      err);
	q->fork_hidden = n ? hidden[0] : UINT64_MAX;
	if (r == WEFT_OK && at)
		r = count_inherited(e, rec, at, &q->fork_inherited, err);
	return r;
}

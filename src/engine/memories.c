/*
 * memories.c - the memories of a session, without reading the session.
 *
 * DESIGN
 *
 * Memories are a chain: the record has the number of the last event about them,
 * and each says which one was before it.  The chain is followed backwards, a
 * window of events at a time, so that a book, in which there is hardly anything
 * else, takes few reads, and a long conversation one for each memory.  Where a
 * link cannot be read the rest is searched event by event.
 */
#include "base/error.h"
#include "engine/engine.h"

#define WINDOW 64u /* events */

/* A memory that was forgotten, and not met yet. */
struct forgotten {
	uint64_t target;
	int64_t at_ms;
};

struct walk {
	struct arena *arena;
	struct memory_list *list;
	size_t room;
	struct forgotten *forgotten;
	size_t n_forgotten, forgotten_room;
	uint64_t expect; /* the next link; 0: there is none */
	bool searching;  /* a link is missing: take all that comes */
};

/* Room for one more in an array of the arena; NULL without memory. */
static void *grow(struct arena *a, void *v, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 16;
	void *to;

	if (n < *room)
		return v;
	to = arena_alloc(a, more * size);
	if (to && n)
		memcpy(to, v, n * size);
	if (to)
		*room = more;
	return to;
}

static int note_forgotten(struct walk *w, uint64_t target, int64_t at_ms,
			  struct weft_error *err)
{
	w->forgotten = grow(w->arena, w->forgotten, w->n_forgotten,
			    &w->forgotten_room, sizeof(*w->forgotten));
	if (!w->forgotten)
		return arena_error(w->arena, err);
	w->forgotten[w->n_forgotten++] = (struct forgotten){ target, at_ms };
	return WEFT_OK;
}

/* When it was forgotten, or 0. */
static int64_t take_forgotten(struct walk *w, uint64_t seq)
{
	for (size_t i = 0; i < w->n_forgotten; i++) {
		int64_t at_ms = w->forgotten[i].at_ms;

		if (w->forgotten[i].target != seq)
			continue;
		w->forgotten[i] = w->forgotten[--w->n_forgotten];
		return at_ms;
	}
	return 0;
}

static int note_memory(struct walk *w, const struct store_event *e,
		       const struct memory *m, struct weft_error *err)
{
	struct memory_list *l = w->list;

	l->v = grow(w->arena, l->v, l->n, &w->room, sizeof(*l->v));
	if (!l->v)
		return arena_error(w->arena, err);
	l->v[l->n++] = (struct memory_rec){
		.id = e->id,
		.seq = e->seq,
		.created_at = e->ts_ms,
		.deleted_at = take_forgotten(w, e->seq),
		.memory = *m,
	};
	return WEFT_OK;
}

static int take_event(struct walk *w, const struct store_event *e,
		      struct weft_error *err)
{
	struct memory m;
	int r;

	/* What cannot be read is no link; that is noticed at the next one. */
	if (!memory_is_type(e->type) || e->state == STATE_DAMAGED)
		return WEFT_OK;
	r = memory_read(e->body, w->arena, &m, err);
	if (r != WEFT_OK)
		return r;
	w->searching = w->searching || e->seq != w->expect || m.prev >= e->seq;
	w->expect = m.prev;
	if (e->type == EVENT_FORGET)
		return note_forgotten(w, m.target, e->ts_ms, err);
	return note_memory(w, e, &m, err);
}

/* Take the events of first..last, or those of them that came in one page; all
 * from *ret_low on have been seen then. */
static int take_window(struct engine *e, struct walk *w,
		       const struct weft_id *session, uint64_t first,
		       uint64_t last, uint64_t *ret_low, struct weft_error *err)
{
	const struct event_range range = {
		.session = *session,
		.first = first,
		.last = last,
		.types = MEMORY_TYPES,
		.backwards = 1,
		.max_events = WINDOW,
	};
	struct store *store = engine_store(e);
	struct event_page page = { 0 };
	int r = store->ops->read_events(store, &range, w->arena, &page, err);

	for (size_t i = 0; i < page.n && r == WEFT_OK; i++)
		r = take_event(w, &page.v[i], err);
	*ret_low = page.n && !page.done ? page.v[page.n - 1].seq : first;
	return r;
}

int engine_memories(struct engine *e, const struct session_rec *rec,
		    struct arena *a, struct memory_list *ret,
		    struct weft_error *err)
{
	struct walk w = { .arena = a, .list = ret, .expect = rec->memory_seq };
	uint64_t lowest = rec->fork_seq + 1, last = rec->memory_seq;

	*ret = (struct memory_list){ 0 };
	while (last >= lowest) {
		uint64_t low, first = lowest;
		int r;

		if (last - lowest >= WINDOW)
			first = last - WINDOW + 1;
		r = take_window(e, &w, &rec->id, first, last, &low, err);
		if (r != WEFT_OK)
			return r;
		/* A link that should have been there was not. */
		w.searching = w.searching || w.expect >= low;
		last = w.searching ? low - 1 : w.expect;
	}
	return WEFT_OK;
}

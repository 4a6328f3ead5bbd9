/*
 * index.c - the words of what is new, into the store's index for search.
 *
 * A step asks what is behind, reads some of it, and puts its words; another
 * process may do the same at the same time, and then one of them has worked for
 * nothing.
 */
#include "base/error.h"
#include "engine/internal.h"

#define STEP_EVENTS   512
#define STEP_BYTES    MIB(4)
#define STEP_SESSIONS 256

/* What one step puts. */
struct step {
	struct arena arena;
	struct store *store;
	struct blob_place blobs;
	struct word_batch *batches;
	size_t n_batches;
	uint64_t events, bytes;
};

/* The words of a page of events. */
static int make_docs(struct step *s, const struct event_page *page,
		     struct word_batch *b, struct weft_error *err)
{
	struct word_doc *docs =
		ARENA_ARRAY(&s->arena, struct word_doc, page->n);
	CLEANUP(arena_done) struct arena scratch;
	CLEANUP(buf_done) struct buf words;
	int r = WEFT_OK;

	arena_init(&scratch, 0);
	buf_init(&words, 0);
	if (!docs)
		return arena_error(&s->arena, err);
	b->docs = docs;
	for (size_t i = 0; i < page->n && r == WEFT_OK; i++) {
		struct search_doc doc;

		arena_reset(&scratch);
		buf_reset(&words);
		r = search_doc_read(&page->v[i], &s->blobs, &scratch, &doc,
				    err);
		if (r == WEFT_OK)
			r = search_doc_tokens(&doc, &scratch, &words, err);
		if (r < 0 || !words.len)
			continue;
		docs[b->n++] = (struct word_doc){
			.seq = page->v[i].seq,
			.at_ms = search_time(&page->v[i]),
			.words = arena_str(&s->arena, buf_str(&words)),
		};
		s->bytes += words.len;
	}
	return s->arena.failed ? arena_error(&s->arena, err) : r;
}

/* Read some of what a session is behind by. */
static int read_some(struct step *s, const struct word_behind *b,
		     struct weft_error *err)
{
	const struct event_range range = {
		.session = b->session,
		.first = b->from + 1,
		.last = b->to,
		.types = SEARCH_TYPES,
		.max_events = (uint32_t)(STEP_EVENTS - s->events),
		.max_bytes = STEP_BYTES,
	};
	struct word_batch *batch = &s->batches[s->n_batches];
	CLEANUP(arena_done) struct arena events;
	struct event_page page = { 0 };
	int r;

	arena_init(&events, 0);
	r = s->store->ops->read_events(s->store, &range, &events, &page, err);
	if (r < 0)
		return r;
	*batch = (struct word_batch){ .session = b->session,
				      .from = b->from,
				      .to = b->to };
	if (!page.done && page.n)
		batch->to = u64_min(b->to, page.v[page.n - 1].last);
	s->n_batches++;
	s->events += page.n;
	return make_docs(s, &page, batch, err);
}

/*
 * What is behind.  Words that have to go are dropped first: whoever rewrote
 * their sessions may not have lived to do it.  If that fails it is left for
 * maintenance: what is found is judged by what is there, in any case.
 */
static int look(struct store *store, bool make, size_t max, struct arena *a,
		struct behind_page *ret, struct weft_error *err)
{
	int r = store->ops->get_behind(store, make, max, a, ret, err);

	if (r < 0 || !ret->doomed ||
	    store->ops->drop_words(store, NULL, 0, NULL) < 0)
		return r;
	return store->ops->get_behind(store, make, max, a, ret, err);
}

static int step(struct engine *e, bool make, bool only_look, uint64_t *ret_done,
		uint64_t *ret_behind, struct weft_error *err)
{
	struct store *store = e->store;
	struct step s = { .store = store, .blobs = engine_blobs(e) };
	struct behind_page behind;
	int r;

	*ret_done = 0;
	arena_init(&s.arena, 0);
	r = look(store, make, only_look ? 1 : STEP_SESSIONS, &s.arena, &behind,
		 err);
	if (r == WEFT_OK) {
		*ret_behind = behind.events;
		s.batches = ARENA_ARRAY(&s.arena, struct word_batch, behind.n);
		if (!s.batches)
			r = arena_error(&s.arena, err);
	}
	for (size_t i = 0; r == WEFT_OK && !only_look && i < behind.n; i++) {
		if (s.events >= STEP_EVENTS || s.bytes >= STEP_BYTES)
			break;
		r = read_some(&s, &behind.v[i], err);
	}
	if (r == WEFT_OK && s.n_batches)
		r = store->ops->put_words(store, behind.epoch, s.batches,
					  s.n_batches, err);
	for (size_t i = 0; r == WEFT_OK && i < s.n_batches; i++)
		*ret_done += s.batches[i].to - s.batches[i].from;
	arena_done(&s.arena);
	return r;
}

int engine_index(struct engine *e, bool make, uint64_t max,
		 uint64_t *ret_behind, struct weft_error *err)
{
	uint64_t left = max, done = 0;
	int r = engine_check_process(e, err);

	*ret_behind = 0;
	while (r == WEFT_OK && left) {
		r = step(e, make, false, &done, ret_behind, err);
		if (!done)
			break;
		left -= u64_min(done, left);
	}
	/* The last step has made it less. */
	if (r == WEFT_OK)
		r = step(e, make, true, &done, ret_behind, err);
	return r;
}

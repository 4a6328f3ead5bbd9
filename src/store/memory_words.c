/*
 * memory_words.c - search in a memory: store, which keeps no index: every
 * event is read.
 */
#include <stdlib.h>

#include "base/error.h"
#include "model/search.h"
#include "store/match.h"
#include "store/memory.h"

int memory_get_behind(struct store *s, uint32_t make, size_t max,
		      struct arena *a, struct behind_page *ret,
		      struct weft_error *err)
{
	int r = memory_check_process(memory_of(s), err);

	(void)make;
	(void)max;
	(void)a;
	if (r == WEFT_OK)
		*ret = (struct behind_page){ 0 };
	return r;
}

int memory_put_words(struct store *s, uint64_t epoch,
		     const struct word_batch *v, size_t n,
		     struct weft_error *err)
{
	(void)epoch;
	(void)v;
	(void)n;
	return memory_check_writable(memory_of(s), err);
}

int memory_drop_words(struct store *s, const struct weft_id *sessions, size_t n,
		      struct weft_error *err)
{
	(void)sessions;
	(void)n;
	return memory_check_writable(memory_of(s), err);
}

/* A walk over all events, and what it has found. */
struct walk {
	const struct word_query *query;
	struct arena *arena;
	struct arena scratch;
	struct word_hit *v;
	size_t n, room;
	int status;
	struct weft_error *err;
	struct blob_place blobs;
};

static int add_hit(struct walk *w, const struct word_hit *hit)
{
	if (w->n == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct word_hit *v = arena_alloc(w->arena, room * sizeof(*v));

		if (!v)
			return arena_error(w->arena, w->err);
		if (w->n)
			memcpy(v, w->v, w->n * sizeof(*v));
		w->v = v;
		w->room = room;
	}
	w->v[w->n++] = *hit;
	return WEFT_OK;
}

static int look_at(struct walk *w, const struct store_event *e)
{
	const struct word_query *q = w->query;
	struct word_hit hit = {
		.at_ms = search_time(e),
		.session = e->session,
		.seq = e->seq,
	};
	struct search_doc doc;
	bool has = false;
	int r;

	if (q->after && match_hit_order(q->after, &hit) >= 0)
		return WEFT_OK;
	arena_reset(&w->scratch);
	r = search_doc_read(e, &w->blobs, &w->scratch, &doc, w->err);
	if (r == WEFT_OK && doc.kind != SEARCH_NOTHING)
		r = search_doc_has(&doc, q->terms, q->n_terms, &w->scratch,
				   &has, w->err);
	return r == WEFT_OK && has ? add_hit(w, &hit) : r;
}

/* While the lock is held. */
static int get_blob(void *ctx, const struct blob_ref *ref, struct arena *a,
		    struct weft_str *ret, struct weft_error *err)
{
	const struct memory_blob *b = memory_blob_find(ctx, ref);

	(void)a;
	if (!b)
		return fail(err, WEFT_NOT_FOUND, "no such blob");
	*ret = (struct weft_str){ b->bytes, (size_t)b->ref.bytes };
	return WEFT_OK;
}

static void look_at_log(void *ctx, struct table_node *node)
{
	const struct memory_log *log =
		TABLE_ENTRY(node, struct memory_log, node);
	struct walk *w = ctx;

	if (!match_hit_session(w->query, &log->session))
		return;
	for (size_t i = 0; i < log->n && w->status == WEFT_OK; i++)
		w->status = look_at(w, &log->v[i]);
}

int memory_find_words(struct store *s, const struct word_query *q,
		      struct arena *a, struct word_page *ret,
		      struct weft_error *err)
{
	struct memory *m = memory_of(s);
	struct walk w = { .query = q,
			  .arena = a,
			  .err = err,
			  .blobs = { NULL, get_blob, m } };
	size_t limit = match_hit_limit(q, &s->limits);
	int r = memory_check_process(m, err);

	if (r < 0)
		return r;
	arena_init(&w.scratch, 0);
	(void)pthread_rwlock_rdlock(&m->lock);
	table_each(&m->logs, look_at_log, &w);
	(void)pthread_rwlock_unlock(&m->lock);
	arena_done(&w.scratch);
	if (w.status < 0)
		return w.status;
	SORT(w.v, w.n, match_hit_compare);
	*ret = (struct word_page){
		.v = w.v,
		.n = w.n < limit ? w.n : limit,
		.more = w.n > limit,
	};
	return WEFT_OK;
}

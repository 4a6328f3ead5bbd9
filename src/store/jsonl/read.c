/* read.c - the slots that read. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"
#include "store/match.h"

/* ---- sessions and names ---- */

/* A record from memory; false if it is not there. */
static bool copy_live(struct jsonl *js, const struct weft_id *id,
		      struct arena *a, struct session_rec *ret, int *status,
		      struct weft_error *err)
{
	const struct session_rec *found = NULL;
	struct live *l;

	(void)pthread_mutex_lock(&js->mutex);
	l = live_find(js, id);
	if (!l) {
		found = glimpse_find(js, id);
	} else if (!id_is_zero(&l->own.rec.id)) {
		live_use(js, l);
		found = &l->own.rec;
	}
	if (found)
		*status = record_copy(ret, found, a, err);
	(void)pthread_mutex_unlock(&js->mutex);
	return found != NULL;
}

static int get_session(struct jsonl *js, const struct weft_id *id,
		       struct arena *a, struct session_rec *ret,
		       struct weft_error *err)
{
	struct weft_error e;
	int r = WEFT_OK;

	if (copy_live(js, id, a, ret, &r, err))
		return r;
	r = lookup_record(js, id, a, ret, &e);
	if (r == WEFT_NOT_FOUND) {
		*ret = (struct session_rec){ 0 };
		return WEFT_OK;
	}
	if (r < 0 && err)
		*err = e;
	return r;
}

int jsonl_get_sessions(struct store *s, const struct weft_id *ids, size_t n,
		       struct arena *a, struct session_rec *out,
		       struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	int r = refresh(js, err);

	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = get_session(js, &ids[i], a, &out[i], err);
	return r;
}

int jsonl_get_names(struct store *s, const struct weft_str *names, size_t n,
		    struct arena *a, struct name_rec *out,
		    struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	int r = refresh(js, err);

	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = lookup_name(js, names[i], a, &out[i], err);
	return r;
}

int jsonl_get_names_of(struct store *s, const struct weft_id *ids, size_t n,
		       struct arena *a, struct session_names *out,
		       struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	int r = refresh(js, err);

	return r < 0 ? r : lookup_names_of(js, ids, n, a, out, err);
}

int jsonl_get_hidden(struct store *s, const struct weft_id *session,
		     uint64_t first, uint64_t last, struct arena *a,
		     uint64_t **ret, size_t *ret_n, struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	int r = refresh(js, err);

	return r < 0 ? r :
		       lookup_hidden(js, session, first, last, a, ret, ret_n,
				     err);
}

/* ---- events ---- */

int jsonl_read_events(struct store *s, const struct event_range *r,
		      struct arena *a, struct event_page *ret,
		      struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	int status = refresh(js, err);

	for (int tries = 0; status == WEFT_OK; tries++) {
		struct page_source src = { 0 };

		status = lookup_source(js, &r->session, &src, err);
		if (status == WEFT_NOT_FOUND) {
			*ret = (struct event_page){ .done = 1 };
			return WEFT_OK;
		}
		if (status < 0)
			break;
		status = page_read(&src, r, s->limits.page, a, ret, err);
		live_file_unref(src.file);
		/* Cut or replaced while it was read: look again. */
		if (status != WEFT_BUSY || tries == 3)
			break;
		status = WEFT_OK;
	}
	return status;
}

/* ---- lists ---- */

struct listing {
	struct jsonl *js;
	const struct list_query *q;
	struct arena *a;
	struct session_page *page;
	size_t limit;
	const struct session_rec **live; /* of the overlay, in list order */
	size_t n_live, next_live;
	struct weft_id
		*known; /* all of the overlay, whether they match or not */
	size_t n_known;
	struct weft_error *err;
};

/* In the direction of reading. */
static int order(const struct list_query *q, const struct session_rec *x,
		 const struct session_rec *y)
{
	int r = match_order(q->sort, x, y);

	return q->backwards ? -r : r;
}

static int by_order(const void *x, const void *y, void *q)
{
	const struct session_rec *const *a = x, *const *b = y;

	return order(q, *a, *b);
}

/* Copies of the overlay's records that match, in order. */
static int list_overlay(struct listing *g)
{
	struct jsonl *js = g->js;
	struct live *l = NULL;
	int r = WEFT_OK;
	size_t left;

	(void)pthread_mutex_lock(&js->mutex);
	g->live =
		ARENA_ARRAY(g->a, const struct session_rec *, js->n_dirty + 1);
	if (!g->live)
		r = arena_error(g->a, g->err);
	g->known = ARENA_ARRAY(g->a, struct weft_id, js->n_dirty + 1);
	if (!g->known)
		r = arena_error(g->a, g->err);
	left = js->n_dirty;
	while (r == WEFT_OK && (l = live_next_dirty(js, l, &left))) {
		const struct session_rec *rec = &l->own.rec;
		struct session_rec *copy;
		bool match;

		g->known[g->n_known++] = l->id;
		if (id_is_zero(&rec->id) || !match_cursor(g->q, rec))
			continue;
		r = match_record(g->q, rec, g->a, &match, g->err);
		if (r < 0 || !match)
			continue;
		copy = ARENA_NEW(g->a, struct session_rec);
		r = copy ? record_copy(copy, rec, g->a, g->err) :
			   arena_error(g->a, g->err);
		if (r == WEFT_OK)
			g->live[g->n_live++] = copy;
	}
	(void)pthread_mutex_unlock(&js->mutex);
	if (r == WEFT_OK && g->n_live) {
		struct list_query q = *g->q;

		qsort_r(g->live, g->n_live, sizeof(g->live[0]), by_order, &q);
	}
	return r;
}

/* 1 when the page is full. */
static int take(struct listing *g, const struct session_rec *rec, bool copy)
{
	struct session_page *p = g->page;

	if (p->n == g->limit) {
		p->more = 1;
		return 1;
	}
	if (copy) {
		int r = record_copy(&p->v[p->n], rec, g->a, g->err);

		if (r < 0)
			return r;
	} else {
		p->v[p->n] = *rec;
	}
	p->n++;
	return 0;
}

/* Those of the overlay that stand before `rec` (NULL: all that are left). */
static int take_overlay(struct listing *g, const struct session_rec *rec)
{
	int r = 0;

	while (r == 0 && g->next_live < g->n_live &&
	       (!rec || order(g->q, g->live[g->next_live], rec) < 0))
		r = take(g, g->live[g->next_live++], false);
	return r;
}

static int by_id(const void *x, const void *y)
{
	return memcmp(x, y, sizeof(struct weft_id));
}

/*
 * Of what the overlay held when we looked, it knows better, whether it still
 * matches or not.  What it holds by now does not count: a session that was
 * written into the catalogue since would be listed twice, and one that was
 * written to since not at all.
 */
static int take_row(void *ctx, const struct session_rec *rec)
{
	struct listing *g = ctx;
	int r;

	if (g->n_known &&
	    bsearch(&rec->id, g->known, g->n_known, sizeof(rec->id), by_id))
		return 0;
	r = take_overlay(g, rec);
	return r ? r : take(g, rec, true);
}

int jsonl_list(struct store *s, const struct list_query *q, struct arena *a,
	       struct session_page *ret, struct weft_error *err)
{
	struct session_page page = { 0 };
	struct listing g = {
		.js = jsonl_of(s),
		.q = q,
		.a = a,
		.page = &page,
		.limit = match_limit(q, &s->limits),
		.err = err,
	};
	int r = refresh(g.js, err);

	if (r == WEFT_OK)
		r = list_overlay(&g);
	if (r < 0)
		return r;
	SORT(g.known, g.n_known, by_id);
	page.v = ARENA_ARRAY(a, struct session_rec, g.limit + 1);
	if (!page.v)
		return arena_error(a, err);
	(void)pthread_rwlock_rdlock(&g.js->catalog_lock);
	r = catalog_list(g.js->catalog, q, take_row, &g, err);
	(void)pthread_rwlock_unlock(&g.js->catalog_lock);
	if (r == 0)
		r = take_overlay(&g, NULL);
	if (r < 0)
		return r;
	/* Newest first, also when read backwards. */
	for (size_t i = 0; q->backwards && i < page.n / 2; i++) {
		struct session_rec t = page.v[i];

		page.v[i] = page.v[page.n - 1 - i];
		page.v[page.n - 1 - i] = t;
	}
	*ret = page;
	return WEFT_OK;
}

/* ---- ids of events ---- */

int jsonl_find_tag(struct store *s, uint64_t tag, struct arena *a,
		   struct weft_id **ret, size_t *ret_n, struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	struct weft_id *rows, *v;
	struct live *l = NULL;
	size_t n, left;
	int r = refresh(js, err);

	if (r < 0)
		return r;
	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_find_tag(js->catalog, tag, a, &rows, &n, err);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&js->mutex);
	v = ARENA_ARRAY(a, struct weft_id, n + js->n_dirty + 1);
	if (v && n)
		memcpy(v, rows, n * sizeof(*v));
	left = js->n_dirty;
	while (v && (l = live_next_dirty(js, l, &left))) {
		size_t i = 0;

		if (id_session_tag(&l->id) != tag)
			continue;
		while (i < n && !id_eq(&v[i], &l->id))
			i++;
		if (i == n)
			v[n++] = l->id;
	}
	(void)pthread_mutex_unlock(&js->mutex);
	if (!v)
		return arena_error(a, err);
	*ret = v;
	*ret_n = n;
	return WEFT_OK;
}

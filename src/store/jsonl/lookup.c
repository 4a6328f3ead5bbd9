/* lookup.c - what is in the overlay goes over what is in the catalogue. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"
#include "store/match.h"

static void lock(struct jsonl *js)
{
	(void)pthread_mutex_lock(&js->mutex);
}

static void unlock(struct jsonl *js)
{
	(void)pthread_mutex_unlock(&js->mutex);
}

/* ---- names ---- */

static bool is_in_memory(struct jsonl *js, const struct weft_id *id)
{
	bool found;

	lock(js);
	found = live_find(js, id) != NULL;
	unlock(js);
	return found;
}

/* A name of the catalogue.  Who asks for it wants its session next. */
static int name_of_catalog(struct jsonl *js, struct weft_str name,
			   struct arena *a, struct name_rec *ret,
			   struct weft_error *err)
{
	struct glimpse *seen = glimpse_begin(js);
	struct catalog_name found;
	int r;

	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	{
		CLEANUP(catalog_release)
		struct catalog *c = catalog_hold(js->catalog);

		r = catalog_get_name(c, name, a, &found, err);
		if (r == WEFT_OK && seen && !id_is_zero(&found.name.session) &&
		    !is_in_memory(js, &found.name.session))
			glimpse_read(seen, c, &found.name.session);
	}
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	glimpse_end(js, seen);
	if (r == WEFT_OK)
		*ret = found.name;
	return r;
}

int lookup_name(struct jsonl *js, struct weft_str name, struct arena *a,
		struct name_rec *ret, struct weft_error *err)
{
	struct name_rec hit = { .name = name };
	struct live_name *n;
	int r;

	lock(js);
	n = name_find(js, name);
	if (n) {
		hit.session = n->session;
		hit.ver = n->ver;
		hit.kind = n->kind;
	}
	unlock(js);
	if (!n) {
		r = name_of_catalog(js, name, a, &hit, err);
		if (r < 0 && r != WEFT_NOT_FOUND)
			return r;
	}
	hit.name = arena_str(a, name);
	if (!hit.name.ptr)
		return arena_error(a, err);
	*ret = hit;
	return WEFT_OK;
}

struct gathering {
	struct arena *a;
	struct name_rec *v;
	size_t n, room;
	bool failed;
};

static void gather(struct gathering *g, const struct name_rec *name)
{
	if (g->n == g->room) {
		size_t room = g->room ? g->room * 2 : 8;
		struct name_rec *v = ARENA_ARRAY(g->a, struct name_rec, room);

		if (!v) {
			g->failed = true;
			return;
		}
		if (g->n)
			memcpy(v, g->v, g->n * sizeof(*v));
		g->v = v;
		g->room = room;
	}
	g->v[g->n] = *name;
	g->v[g->n].name = arena_str(g->a, name->name);
	g->failed = g->failed || !g->v[g->n].name.ptr;
	g->n++;
}

/* Names of one session as the catalogue has them. */
struct catalogued {
	struct catalog_name *v;
	size_t n;
};

static int by_kind(const void *x, const void *y)
{
	return match_name_order(x, y);
}

/* What the catalogue knows, all of one state of it. */
static int catalogued_names(struct jsonl *js, const struct weft_id *ids,
			    size_t n, struct arena *a, struct catalogued *ret,
			    struct weft_error *err)
{
	struct catalog *held;
	int r = WEFT_OK;

	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	held = catalog_hold(js->catalog);
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = catalog_names_of(held, &ids[i], a, &ret[i].v, &ret[i].n,
				     err);
	catalog_release(&held);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return r;
}

/* The names of one session, from the catalogue and from what is newer. */
static void merge_names(struct jsonl *js, const struct weft_id *id,
			const struct catalogued *c, struct gathering *g)
{
	for (size_t i = 0; i < c->n; i++) {
		if (!name_find(js, c->v[i].name.name))
			gather(g, &c->v[i].name);
	}
	for (struct live_name *n = name_first_of(js, id); n;
	     n = name_next_of(n))
		gather(g, &(struct name_rec){ n->name, n->session, n->ver,
					      n->kind });
	SORT(g->v, g->n, by_kind);
}

int lookup_names_of(struct jsonl *js, const struct weft_id *ids, size_t n,
		    struct arena *a, struct session_names *out,
		    struct weft_error *err)
{
	struct catalogued *c = ARENA_ARRAY(a, struct catalogued, n);
	int r = c ? catalogued_names(js, ids, n, a, c, err) :
		    arena_error(a, err);

	if (r < 0)
		return r;
	lock(js);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		struct gathering g = { .a = a };

		merge_names(js, &ids[i], &c[i], &g);
		if (g.failed)
			r = arena_error(a, err);
		out[i] = (struct session_names){ g.v, g.n };
	}
	unlock(js);
	return r;
}

/* ---- children ---- */

struct children {
	struct jsonl *js;
	struct arena *a;
	struct session_rec *v;
	size_t n, room;
	struct weft_error *err;
};

static int add_child(struct children *c, const struct session_rec *rec)
{
	if (c->n == c->room) {
		size_t room = c->room ? c->room * 2 : 16;
		struct session_rec *v =
			ARENA_ARRAY(c->a, struct session_rec, room);

		if (!v)
			return arena_error(c->a, c->err);
		if (c->n)
			memcpy(v, c->v, c->n * sizeof(*v));
		c->v = v;
		c->room = room;
	}
	return record_copy(&c->v[c->n++], rec, c->a, c->err);
}

/* The overlay knows better. */
static int child_row(void *ctx, const struct session_rec *rec)
{
	struct children *c = ctx;
	struct live *l;
	bool newer;

	lock(c->js);
	l = live_find(c->js, &rec->id);
	newer = l && l->is_dirty;
	unlock(c->js);
	return newer ? WEFT_OK : add_child(c, rec);
}

static int by_id(const void *x, const void *y)
{
	return id_cmp(&((const struct session_rec *)x)->id,
		      &((const struct session_rec *)y)->id);
}

int lookup_children(struct jsonl *js, const struct weft_id *id, struct arena *a,
		    struct session_rec **ret, size_t *ret_n,
		    struct weft_error *err)
{
	struct list_query q = { .parent = *id, .deleted = LIST_WITH_PURGED };
	struct children c = { .js = js, .a = a, .err = err };
	struct live *l = NULL;
	size_t left;
	int r;

	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_list(js->catalog, &q, child_row, &c, err);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	lock(js);
	left = js->n_dirty;
	while (r == WEFT_OK && (l = live_next_dirty(js, l, &left))) {
		if (id_eq(&l->own.rec.parent, id))
			r = add_child(&c, &l->own.rec);
	}
	unlock(js);
	SORT(c.v, c.n, by_id);
	*ret = c.v;
	*ret_n = c.n;
	return r;
}

/* ---- hidden events ---- */

static int by_target(const void *x, const void *y)
{
	const struct store_hide *a = x, *b = y;

	return a->target < b->target ? -1 : a->target > b->target;
}

/* Put the overlay's marks over the catalogue's. */
static size_t merge_hides(struct store_hide *v, size_t n, const struct live *l,
			  uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < l->n_hides; i++) {
		const struct store_hide *h = &l->hides[i];
		size_t k = 0;

		if (h->target < first || h->target > last)
			continue;
		while (k < n && v[k].target != h->target)
			k++;
		if (k == n || h->by > v[k].by)
			v[k] = *h;
		n += k == n;
	}
	return n;
}

int lookup_hidden(struct jsonl *js, const struct weft_id *id, uint64_t first,
		  uint64_t last, struct arena *a, uint64_t **ret, size_t *ret_n,
		  struct weft_error *err)
{
	struct store_hide *rows, *v = NULL;
	uint64_t *out;
	size_t n, n_out = 0;
	struct live *l;
	int r;

	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_hidden(js->catalog, id, first, last, a, &rows, &n, err);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	if (r < 0)
		return r;
	lock(js);
	l = live_find(js, id);
	v = ARENA_ARRAY(a, struct store_hide, n + (l ? l->n_hides : 0) + 1);
	if (v && n)
		memcpy(v, rows, n * sizeof(*v));
	if (v && l)
		n = merge_hides(v, n, l, first, last);
	unlock(js);
	out = v ? ARENA_ARRAY(a, uint64_t, n + 1) : NULL;
	if (!out)
		return arena_error(a, err);
	SORT(v, n, by_target);
	for (size_t i = 0; i < n; i++) {
		if (v[i].hidden)
			out[n_out++] = v[i].target;
	}
	*ret = out;
	*ret_n = n_out;
	return WEFT_OK;
}

/* ---- sessions ---- */

/*
 * A file that nobody knows, or that is other than known, may be one that
 * another process is writing to.  So the log is held while it is looked at,
 * and what others have written is worked in before; a store that has stopped
 * is only read.
 */
static bool hold_log(struct jsonl *js)
{
	struct weft_error ignored;

	if (!js->read_only && enter(js, &ignored) == WEFT_OK) {
		if (catch_up(js, &ignored) == WEFT_OK)
			return true;
		leave(js);
	}
	(void)pthread_mutex_lock(&js->writer);
	return false;
}

static void release_log(struct jsonl *js, bool held)
{
	if (held)
		leave(js);
	else
		(void)pthread_mutex_unlock(&js->writer);
}

static bool has_file(struct jsonl *js, const struct weft_id *id)
{
	char path[PATH_BYTES];

	return path_session(js, id, path, NULL) == WEFT_OK &&
	       !is_no_file(js, path);
}

int lookup_record(struct jsonl *js, const struct weft_id *id, struct arena *a,
		  struct session_rec *ret, struct weft_error *err)
{
	struct live *l;
	bool held;
	int r;

	(void)pthread_mutex_lock(&js->writer);
	r = live_load_known(js, id, &l, err);
	if (r == WEFT_OK)
		r = record_copy(ret, &l->own.rec, a, err);
	(void)live_evict(js, 0);
	(void)pthread_mutex_unlock(&js->writer);
	if ((r != WEFT_NOT_FOUND && r != WEFT_CORRUPT) || !has_file(js, id))
		return r;
	held = hold_log(js);
	r = live_load(js, id, &l, err);
	if (r == WEFT_OK)
		r = record_copy(ret, &l->own.rec, a, err);
	release_log(js, held);
	return r;
}

/* ---- where the lines are ---- */

/* Needs M. */
static void fill_source(struct live *l, struct page_source *ret)
{
	*ret = (struct page_source){
		.session = l->id,
		.file = live_file_ref(l->file),
		.end = l->end,
		.fork_seq = l->own.rec.fork_seq,
		.head_seq = l->own.rec.head_seq,
		.irregular = l->irregular,
	};
}

/* What memory has, if its file is as we know it. */
static bool source_from_memory(struct jsonl *js, const struct weft_id *id,
			       struct page_source *ret)
{
	struct file_stat st;
	struct live *l;
	bool good;

	lock(js);
	l = live_find(js, id);
	good = l && l->file && !id_is_zero(&l->own.rec.id) &&
	       !atomic_load(&l->odd) && !behind_has(js, l);
	if (good) {
		live_use(js, l);
		fill_source(l, ret);
	}
	unlock(js);
	if (!good)
		return false;
	/* A longer file is being written to right now: `end` is what counts. */
	if (file_stat(ret->file->f, &st) < 0 || st.links == 0 ||
	    st.size < ret->end) {
		live_file_unref(ret->file);
		return false;
	}
	return true;
}

/* Open the file of a session that is known; 1 unless it is as we know it. */
static int source_by_opening(struct jsonl *js, const struct weft_id *id,
			     struct page_source *ret, struct weft_error *err)
{
	struct file_stat st;
	struct live *l;
	int r;

	(void)pthread_mutex_lock(&js->writer);
	r = live_load_known(js, id, &l, err);
	if (r == WEFT_OK)
		r = behind_settle(js, id, err);
	if (r == WEFT_OK && !l->file) {
		r = live_open_file(js, l,
				   js->read_only ? FILE_READ : FILE_WRITE, err);
		if (r == WEFT_NOT_FOUND)
			r = 1;
	}
	if (r == WEFT_OK) {
		bool good = file_stat(l->file->f, &st) == 0 && st.links &&
			    st.size == l->end && !l->strange &&
			    !atomic_load(&l->odd) &&
			    !id_is_zero(&l->own.rec.id);

		lock(js);
		if (good)
			fill_source(l, ret);
		unlock(js);
		r = good ? WEFT_OK : 1;
	}
	(void)live_evict(js, 0);
	(void)pthread_mutex_unlock(&js->writer);
	return r == WEFT_CORRUPT ? 1 : r;
}

/* Read a file again that somebody has edited. */
static int source_again(struct jsonl *js, const struct weft_id *id,
			struct page_source *ret, struct weft_error *err)
{
	bool held = hold_log(js);
	struct live *l;
	int r;

	js->write_no++;
	r = live_load(js, id, &l, err);
	if (r == WEFT_OK)
		r = live_check_file(js, l, err);
	if (r == WEFT_OK) {
		lock(js);
		fill_source(l, ret);
		unlock(js);
	}
	(void)live_evict(js, 0);
	release_log(js, held);
	return r;
}

int lookup_source(struct jsonl *js, const struct weft_id *id,
		  struct page_source *ret, struct weft_error *err)
{
	int r = behind_settle(js, id, err);

	if (r < 0)
		return r;
	if (source_from_memory(js, id, ret))
		return WEFT_OK;
	r = source_by_opening(js, id, ret, err);
	if (r == 1 || (r == WEFT_NOT_FOUND && has_file(js, id)))
		r = source_again(js, id, ret, err);
	return r;
}

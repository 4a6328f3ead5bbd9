/*
 * search.c - the index of words of a JSONL store.
 *
 * DESIGN
 *
 * search.db has a mark for each session: up to which event its words are there.
 * What is behind is found without looking at all sessions: those of the overlay
 * are in memory, and of the others the catalogue knows the order in which they
 * were last changed.  search.db says up to where in that order nothing is
 * behind; that moves on with the words that are put.  Sessions whose words were
 * dropped are noted there by name.
 *
 * So are those whose words have to go: whoever rewrites a session's file notes it
 * first, with the log held.  Should it die anywhere after that, the note is there
 * for the next who looks.  Who finds one enters the log once, so that it is known
 * that the rewrite is over one way or the other, and drops the words then.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"
#include "store/match.h"
#include "store/sqlite/words.h"

#define CHANGES_AT_ONCE 1024
/* After so many rows of the catalogue it is known well enough how much is
 * behind. */
#define ROWS_MAX 200000

static int use(struct jsonl *js, bool make,
	       int (*act)(void *ctx, struct sqlite3 *db,
			  struct weft_error *err),
	       void *ctx, bool *ret_none, struct weft_error *err)
{
	char path[PATH_BYTES];
	struct search_use how = {
		.fs = js->fs,
		.path = path,
		.store = &js->id,
		.read_only = js->read_only,
		.make = make,
	};
	int r = path_join(path, js->dir, "search.db", err);

	if (r < 0)
		return r;
	return search_db_use(&js->search, &how, act, ctx, ret_none, err);
}

/* ---- what is behind ---- */

/* Sessions whose newest events only the overlay knows, and those whose words
 * were dropped; by their ids. */
struct overlay {
	struct word_behind *v;
	size_t n, room;
	bool failed;
};

static void overlay_add(struct overlay *o, const struct word_behind *b)
{
	if (o->failed)
		return;
	if (o->n == o->room) {
		size_t room = o->room ? 2 * o->room : 64;
		struct word_behind *v = mem_resize(o->v, room * sizeof(*v));

		if (!v) {
			o->failed = true;
			return;
		}
		o->v = v;
		o->room = room;
	}
	o->v[o->n++] = *b;
}

static void note_dirty(void *ctx, struct table_node *node)
{
	const struct live *l = TABLE_ENTRY(node, struct live, node);
	struct word_behind b = { l->id, l->own.rec.fork_seq,
				 l->own.rec.head_seq };

	if (l->is_dirty)
		overlay_add(ctx, &b);
}

static int compare_ids(const void *a, const void *b)
{
	const struct word_behind *x = a, *y = b;

	return id_cmp(&x->session, &y->session);
}

static int overlay_sort(struct overlay *o, struct weft_error *err)
{
	if (o->failed)
		return fail_no_memory(err);
	SORT(o->v, o->n, compare_ids);
	return WEFT_OK;
}

/* Before the catalogue is looked at: what leaves the one is in the other. */
static int read_overlay(struct jsonl *js, struct overlay *o,
			struct weft_error *err)
{
	(void)pthread_mutex_lock(&js->mutex);
	table_each(&js->sessions, note_dirty, o);
	(void)pthread_mutex_unlock(&js->mutex);
	return overlay_sort(o, err);
}

static void overlay_done(struct overlay *o)
{
	mem_free(o->v);
}

static bool overlay_has(const struct overlay *o, const struct weft_id *id)
{
	const struct word_behind key = { .session = *id };

	return o->n && bsearch(&key, o->v, o->n, sizeof(*o->v), compare_ids);
}

/* A look at what is behind. */
struct look {
	struct jsonl *js;
	struct overlay overlay;
	size_t max;
	struct behind_page page;
	struct search_place place; /* nothing is behind up to here */
	bool doomed;               /* words are there that have to go */
	struct catalog_change *changes;
	struct word_behind *marks;
};

/* Count a session, and name it if there is room. */
static void note_behind(struct look *l, const struct word_behind *b)
{
	l->page.events += b->to - b->from;
	if (l->page.n < l->max)
		l->page.v[l->page.n++] = *b;
}

/* Some rows of the catalogue; *blocked: one before them is behind. */
static int look_at_rows(struct look *l, struct sqlite3 *db, size_t n,
			bool *blocked, struct weft_error *err)
{
	int r;

	for (size_t i = 0; i < n; i++)
		l->marks[i] = (struct word_behind){
			.session = l->changes[i].id,
			.from = l->changes[i].fork_seq,
			.to = l->changes[i].head_seq,
		};
	r = search_db_get_marks(db, l->marks, n, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		const struct catalog_change *c = &l->changes[i];

		if (l->marks[i].from < l->marks[i].to) {
			*blocked = true;
			if (!overlay_has(&l->overlay, &c->id))
				note_behind(l, &l->marks[i]);
		}
		if (!*blocked)
			l->place = (struct search_place){ c->lsn, c->row,
							  l->place.epoch };
	}
	return r;
}

static int look_at_catalog(struct look *l, struct sqlite3 *db,
			   struct weft_error *err)
{
	struct catalog_change last = { .lsn = l->place.lsn,
				       .row = l->place.row };
	bool blocked = false;
	size_t rows = 0;
	int n;

	do {
		int r;

		(void)pthread_rwlock_rdlock(&l->js->catalog_lock);
		n = catalog_changes(l->js->catalog, &last, l->changes,
				    CHANGES_AT_ONCE, err);
		(void)pthread_rwlock_unlock(&l->js->catalog_lock);
		if (n <= 0)
			return n;
		last = l->changes[n - 1];
		rows += (size_t)n;
		r = look_at_rows(l, db, (size_t)n, &blocked, err);
		if (r < 0)
			return r;
	} while (n == CHANGES_AT_ONCE && rows < ROWS_MAX);
	return WEFT_OK;
}

/* Those whose words were dropped, as the catalogue knows them; who is not there
 * is in the overlay, or gone by now. */
static int add_dropped(struct look *l, struct sqlite3 *db,
		       struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a;
	size_t n = 0, had = l->overlay.n;
	struct weft_id *ids = NULL;
	int r;

	arena_init(&a, 0);
	r = search_db_get_dropped(db, &a, &ids, &n, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		struct overlay dirty = { .v = l->overlay.v, .n = had };
		struct catalog_row row;
		struct word_behind b;

		if (overlay_has(&dirty, &ids[i]))
			continue;
		(void)pthread_rwlock_rdlock(&l->js->catalog_lock);
		r = catalog_get(l->js->catalog, &ids[i], &a, &row, err);
		(void)pthread_rwlock_unlock(&l->js->catalog_lock);
		b = (struct word_behind){ ids[i], row.rec.fork_seq,
					  row.rec.head_seq };
		if (r == WEFT_OK)
			overlay_add(&l->overlay, &b);
		else if (r == WEFT_NOT_FOUND)
			r = WEFT_OK;
	}
	return r == WEFT_OK ? overlay_sort(&l->overlay, err) : r;
}

static int look_at_all(void *ctx, struct sqlite3 *db, struct weft_error *err)
{
	struct look *l = ctx;
	struct overlay *o = &l->overlay;
	int r = add_dropped(l, db, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < o->n; i++) {
		struct word_behind b = o->v[i];

		r = search_db_get_marks(db, &b, 1, err);
		if (r < 0)
			return r;
		if (b.from < b.to)
			note_behind(l, &b);
	}
	r = search_db_get_place(db, &l->place, err);
	if (r == WEFT_OK)
		r = look_at_catalog(l, db, err);
	if (r == WEFT_OK)
		r = search_db_has_doomed(db, &l->doomed, err);
	return r;
}

/* Without an index everything is behind, as far as anybody counts. */
static int look_without(struct look *l, struct weft_error *err)
{
	struct catalog_change last = { .lsn = 0 };
	size_t rows = 0;
	int n;

	for (size_t i = 0; i < l->overlay.n; i++)
		note_behind(l, &l->overlay.v[i]);
	do {
		(void)pthread_rwlock_rdlock(&l->js->catalog_lock);
		n = catalog_changes(l->js->catalog, &last, l->changes,
				    CHANGES_AT_ONCE, err);
		(void)pthread_rwlock_unlock(&l->js->catalog_lock);
		for (int i = 0; i < n; i++) {
			const struct catalog_change *c = &l->changes[i];
			struct word_behind b = { c->id, c->fork_seq,
						 c->head_seq };

			if (!overlay_has(&l->overlay, &c->id))
				note_behind(l, &b);
		}
		if (n > 0)
			last = l->changes[n - 1];
		rows += n > 0 ? (size_t)n : 0;
	} while (n == CHANGES_AT_ONCE && rows < ROWS_MAX);
	return n < 0 ? n : WEFT_OK;
}

int jsonl_get_behind(struct store *s, uint32_t make, size_t max,
		     struct arena *a, struct behind_page *ret,
		     struct weft_error *err)
{
	struct look l = { .js = jsonl_of(s), .max = max };
	bool none = false;
	int r = js_check(l.js, err);

	if (r == WEFT_OK)
		r = refresh(l.js, err);
	if (r < 0)
		return r;
	l.page.v = ARENA_ARRAY(a, struct word_behind, max);
	l.changes = ARENA_ARRAY(a, struct catalog_change, CHANGES_AT_ONCE);
	l.marks = ARENA_ARRAY(a, struct word_behind, CHANGES_AT_ONCE);
	if (!l.page.v || !l.changes || !l.marks)
		return arena_error(a, err);
	r = read_overlay(l.js, &l.overlay, err);
	if (r == WEFT_OK)
		r = use(l.js, make != 0, look_at_all, &l, &none, err);
	/* It was damaged and is gone: a new one has nothing in it. */
	if (r == WEFT_CORRUPT && make) {
		l.page.n = 0;
		l.page.events = 0;
		r = use(l.js, true, look_at_all, &l, &none, err);
	}
	if (r == WEFT_OK && none && make)
		r = look_without(&l, err);
	overlay_done(&l.overlay);
	if (r < 0)
		return r;
	l.page.none = none;
	l.page.epoch = l.place.epoch;
	l.page.doomed = l.doomed;
	if (!none) {
		(void)pthread_mutex_lock(&l.js->search.lock);
		l.js->search.place = l.place;
		(void)pthread_mutex_unlock(&l.js->search.lock);
	}
	*ret = l.page;
	return WEFT_OK;
}

/* ---- putting and finding ---- */

struct putting {
	struct jsonl *js;
	uint64_t epoch;
	const struct word_batch *v;
	size_t n;
};

static int put_all(void *ctx, struct sqlite3 *db, struct weft_error *err)
{
	const struct putting *p = ctx;
	const struct search_place *seen = &p->js->search.place;
	struct search_place now;
	int r = search_db_exec(db, "BEGIN IMMEDIATE", err);

	if (r < 0)
		return r;
	r = search_db_get_place(db, &now, err);
	for (size_t i = 0; i < p->n && r == WEFT_OK; i++) {
		if (now.epoch == p->epoch)
			r = search_db_put(db, &p->v[i], err);
	}
	if (r == WEFT_OK && now.epoch == seen->epoch)
		r = search_db_set_place(db, seen, err);
	if (r == WEFT_OK)
		r = search_db_exec(db, "COMMIT", err);
	if (r < 0)
		(void)search_db_exec(db, "ROLLBACK", NULL);
	return r;
}

static int check_writable(struct jsonl *js, struct weft_error *err)
{
	int r = js_check(js, err);

	if (r == WEFT_OK && js->read_only)
		r = fail(err, WEFT_READ_ONLY, "%s is open for reading only",
			 js->dir);
	return r;
}

int jsonl_put_words(struct store *s, uint64_t epoch, const struct word_batch *v,
		    size_t n, struct weft_error *err)
{
	struct putting p = { jsonl_of(s), epoch, v, n };
	bool none;
	int r = check_writable(p.js, err);

	if (r == WEFT_OK)
		r = use(p.js, true, put_all, &p, &none, err);
	return r;
}

struct finding {
	const struct word_query *query;
	size_t limit;
	struct arena *arena;
	struct word_page *page;
};

static int find(void *ctx, struct sqlite3 *db, struct weft_error *err)
{
	struct finding *f = ctx;
	int rc = words_find(db, f->query, f->limit, f->arena, f->page);

	return rc == 0 ? WEFT_OK : search_db_fail(db, rc, err);
}

int jsonl_find_words(struct store *s, const struct word_query *q,
		     struct arena *a, struct word_page *ret,
		     struct weft_error *err)
{
	struct word_page page = { 0 };
	struct finding f = { q, match_hit_limit(q, &s->limits), a, &page };
	bool none = false;
	int r = js_check(jsonl_of(s), err);

	if (r == WEFT_OK)
		r = use(jsonl_of(s), false, find, &f, &none, err);
	if (r == WEFT_OK && none && !jsonl_of(s)->read_only)
		r = fail(err, WEFT_CORRUPT, "search.db was removed meanwhile");
	if (r == WEFT_OK)
		*ret = page;
	return r;
}

/* ---- dropping ---- */

static int clear(void *ctx, struct sqlite3 *db, struct weft_error *err)
{
	int r = search_db_exec(db, "BEGIN IMMEDIATE", err);

	(void)ctx;
	if (r == WEFT_OK)
		r = search_db_clear(db, err);
	if (r == WEFT_OK)
		r = search_db_exec(db, "COMMIT", err);
	if (r < 0)
		(void)search_db_exec(db, "ROLLBACK", NULL);
	return r;
}

int search_clear(struct jsonl *js, struct weft_error *err)
{
	bool none;
	int r = use(js, false, clear, NULL, &none, err);

	/* One that cannot be emptied is gone. */
	return r == WEFT_CORRUPT ? WEFT_OK : r;
}

static int rescan(void *ctx, struct sqlite3 *db, struct weft_error *err)
{
	(void)ctx;
	return search_db_exec(db,
			      "UPDATE search_meta"
			      " SET lsn=0,row=0,epoch=epoch+1",
			      err);
}

void search_rescan(struct jsonl *js)
{
	bool none;

	/* One that cannot be written to is as good as damaged. */
	if (!js->read_only)
		(void)use(js, false, rescan, NULL, &none, NULL);
}

struct dropping {
	const struct weft_id *sessions;
	uint64_t *heads;
	size_t n;
	uint64_t last; /* of the notes that are among them */
	struct arena *arena;
};

static int in_transaction(struct sqlite3 *db,
			  int (*act)(struct sqlite3 *db, struct dropping *d,
				     struct weft_error *err),
			  struct dropping *d, struct weft_error *err)
{
	int r = search_db_exec(db, "BEGIN IMMEDIATE", err);

	if (r == WEFT_OK)
		r = act(db, d, err);
	if (r == WEFT_OK)
		r = search_db_exec(db, "COMMIT", err);
	if (r < 0)
		(void)search_db_exec(db, "ROLLBACK", NULL);
	return r;
}

static int doom(struct sqlite3 *db, struct dropping *d, struct weft_error *err)
{
	return search_db_doom(db, d->sessions, d->n, err);
}

static int use_doom(void *ctx, struct sqlite3 *db, struct weft_error *err)
{
	return in_transaction(db, doom, ctx, err);
}

int search_doom(struct jsonl *js, const struct weft_id *sessions, size_t n,
		struct weft_error *err)
{
	struct dropping d = { .sessions = sessions, .n = n };
	bool none;
	int r = use(js, false, use_doom, &d, &none, err);

	/* One that it cannot be noted in is gone, and all words with it. */
	return r == WEFT_CORRUPT ? WEFT_OK : r;
}

static int drop(struct sqlite3 *db, struct dropping *d, struct weft_error *err)
{
	int r = search_db_drop(db, d->sessions, d->heads, d->n, err);

	return r == WEFT_OK ? search_db_spare(db, d->last, err) : r;
}

static int use_drop(void *ctx, struct sqlite3 *db, struct weft_error *err)
{
	return in_transaction(db, drop, ctx, err);
}

static int join_doomed(void *ctx, struct sqlite3 *db, struct weft_error *err)
{
	struct dropping *d = ctx;
	struct weft_id *doomed = NULL;
	size_t n = 0;
	int r = search_db_get_doomed(db, d->arena, &doomed, &n, &d->last, err);

	if (r == WEFT_OK)
		r = match_join_sessions(d->sessions, d->n, doomed, n, d->arena,
					&d->sessions, err);
	if (r < 0)
		return r;
	d->n = (size_t)r;
	return WEFT_OK;
}

/* With the log held nobody is about to rewrite what was noted. */
static int add_doomed(struct jsonl *js, struct dropping *d, bool *ret_none,
		      struct weft_error *err)
{
	int r = enter(js, err);

	if (r < 0)
		return r;
	r = use(js, false, join_doomed, d, ret_none, err);
	leave(js);
	return r;
}

/* What a session says from here on has a later place in the order of changes
 * than anything that was looked through. */
static int get_heads(struct jsonl *js, struct dropping *d,
		     struct weft_error *err)
{
	struct session_rec *recs =
		ARENA_ARRAY(d->arena, struct session_rec, d->n);
	int r;

	d->heads = ARENA_ARRAY(d->arena, uint64_t, d->n);
	if (!recs || !d->heads)
		return arena_error(d->arena, err);
	r = jsonl_get_sessions(&js->store, d->sessions, d->n, d->arena, recs,
			       err);
	for (size_t i = 0; i < d->n && r == WEFT_OK; i++)
		d->heads[i] = recs[i].head_seq;
	return r;
}

int jsonl_drop_words(struct store *s, const struct weft_id *sessions, size_t n,
		     struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	CLEANUP(arena_done) struct arena a;
	struct dropping d = { .sessions = sessions, .n = n, .arena = &a };
	bool none = false;
	int r = check_writable(js, err);

	arena_init(&a, 0);
	if (r == WEFT_OK)
		r = add_doomed(js, &d, &none, err);
	if (r == WEFT_OK && !none && d.n) {
		r = get_heads(js, &d, err);
		if (r == WEFT_OK)
			r = use(js, false, use_drop, &d, &none, err);
	}
	/* One that it cannot be taken from is gone. */
	return r == WEFT_CORRUPT ? WEFT_OK : r;
}

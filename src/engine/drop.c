/*
 * drop.c - erase, reclaim and purge, step by step.
 *
 * DESIGN: first what everybody is to see (a redaction, a purge) is written as
 * events.  Then each session is rewritten in a write of its own, which decides
 * under the store's lock what goes.  Last, blobs that nothing refers to any more
 * are dropped, and the store forgets the bytes that it has freed.  Whatever is
 * interrupted can be done again, and a purge is gone on with by maintenance.
 */
#include "engine/drop.h"

#include "base/error.h"
#include "base/id.h"
#include "model/gone.h"

#include <stdlib.h>

void dropping_init(struct dropping *d, struct engine *e, struct arena *a,
		   struct drop_report *ret, struct weft_error *err)
{
	*d = (struct dropping){
		.engine = e, .arena = a, .ret = ret, .err = err
	};
	*ret = (struct drop_report){ .sessions = 0 };
}

void *dropping_grow(struct dropping *d, void *v, size_t n, size_t *room,
		    size_t bytes)
{
	void *fresh;

	if (n < *room)
		return v;
	*room = *room ? 2 * *room : 16;
	fresh = arena_alloc(d->arena, *room * bytes);
	if (fresh && n)
		memcpy(fresh, v, n * bytes);
	return fresh;
}

static bool has_id(const struct weft_id *v, size_t n, const struct weft_id *id)
{
	for (size_t i = 0; i < n; i++) {
		if (id_eq(&v[i], id))
			return true;
	}
	return false;
}

static int add_id(struct dropping *d, struct weft_id **v, size_t *n,
		  size_t *room, const struct weft_id *id)
{
	if (has_id(*v, *n, id))
		return WEFT_OK;
	*v = dropping_grow(d, *v, *n, room, sizeof(**v));
	if (!*v)
		return arena_error(d->arena, d->err);
	(*v)[(*n)++] = *id;
	return WEFT_OK;
}

int dropping_refuse(struct dropping *d, const struct weft_id *session,
		    const struct weft_error *why)
{
	struct drop_report *ret = d->ret;
	/* Few: each is asked for by somebody. */
	struct drop_refusal *v =
		ARENA_ARRAY(d->arena, struct drop_refusal, ret->n_refused + 1);

	if (!v)
		return arena_error(d->arena, d->err);
	if (ret->n_refused)
		memcpy(v, ret->refused, ret->n_refused * sizeof(*v));
	v[ret->n_refused++] = (struct drop_refusal){ *session, *why };
	ret->refused = v;
	return WEFT_OK;
}

int dropping_each(struct dropping *d, dropping_visit *visit, void *arg)
{
	struct list_query q = { .deleted = LIST_WITH_PURGED,
				.sort = LIST_BY_CREATION };
	struct session_page page = { .more = 1 };
	struct store *s = d->engine->store;
	CLEANUP(arena_done) struct arena a;
	int r = WEFT_OK;

	arena_init(&a, 0);
	while (page.more && r == WEFT_OK) {
		arena_reset(&a);
		r = s->ops->list(s, &q, &a, &page, d->err);
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++) {
			q.cursor_ms = page.v[i].created_at;
			q.cursor_id = page.v[i].id;
			r = visit(d, &page.v[i], arg);
		}
		if (page.n == 0)
			break;
	}
	return r;
}

/* A request about one session, as all of them are made here. */
static struct request *ask(struct dropping *d, uint32_t kind,
			   const struct weft_id *session)
{
	struct request *q = request_new(kind, d->err);

	if (q) {
		q->session = *session;
		q->expect = WEFT_NO_EXPECT;
		q->token = d->token;
		q->dry = d->dry;
	}
	return q;
}

/* ---- purging ---- */

int dropping_purge(struct dropping *d, const struct weft_id *session)
{
	struct request *q = ask(d, REQUEST_PURGE, session);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	r = engine_run(d->engine, q, d->err);
	for (size_t i = 0; i < q->n_ret_sessions && r == WEFT_OK; i++)
		r = add_id(d, &d->ids, &d->n_ids, &d->room_ids,
			   &q->ret_sessions[i]);
	request_free(q);
	return r;
}

/* ---- rewriting ---- */

static struct blob_use *find_use(struct dropping *d, const struct blob_ref *ref)
{
	for (size_t i = 0; i < d->n_blobs; i++) {
		if (memcmp(d->blobs[i].ref.sha256, ref->sha256,
			   sizeof(ref->sha256)) == 0)
			return &d->blobs[i];
	}
	return NULL;
}

static int note_blobs(struct dropping *d, const struct rewrite_answer *x)
{
	for (size_t i = 0; i < x->n_blobs; i++) {
		struct blob_use *known = find_use(d, &x->blobs[i].ref);

		if (known) {
			known->n += x->blobs[i].n;
			continue;
		}
		d->blobs = dropping_grow(d, d->blobs, d->n_blobs,
					 &d->room_blobs, sizeof(*d->blobs));
		if (!d->blobs)
			return arena_error(d->arena, d->err);
		d->blobs[d->n_blobs++] = x->blobs[i];
	}
	return WEFT_OK;
}

static int note_holds(struct dropping *d, const struct rewrite_answer *x,
		      bool all)
{
	struct drop_report *ret = d->ret;
	struct fork_hold *v = ARENA_ARRAY(d->arena, struct fork_hold,
					  ret->n_holds + x->n_holds);

	if (!v)
		return arena_error(d->arena, d->err);
	if (ret->n_holds)
		memcpy(v, ret->holds, ret->n_holds * sizeof(*v));
	ret->holds = v;
	for (size_t i = 0; i < x->n_holds; i++) {
		if (all || x->holds[i].events)
			v[ret->n_holds++] = x->holds[i];
	}
	return WEFT_OK;
}

static int note_swept(struct dropping *d, const struct request *q)
{
	d->swept = dropping_grow(d, d->swept, d->n_swept, &d->room_swept,
				 sizeof(*d->swept));
	if (!d->swept)
		return arena_error(d->arena, d->err);
	d->swept[d->n_swept++] =
		(struct swept){ q->session, q->ret_rewrite.inherited };
	return WEFT_OK;
}

uint64_t dropping_last(const struct dropping *d, const struct weft_id *session)
{
	if (has_id(d->gone, d->n_gone, session))
		return 0;
	for (size_t i = 0; i < d->n_swept; i++) {
		if (id_eq(&d->swept[i].id, session))
			return d->swept[i].inherited;
	}
	return UINT64_MAX;
}

static int take_answer(struct dropping *d, const struct request *q)
{
	const struct rewrite_answer *x = &q->ret_rewrite;
	int r = note_blobs(d, x);

	d->ret->events += x->events;
	d->ret->bytes += x->bytes;
	d->ret->sessions += x->all;
	d->changed = d->changed || x->events || x->all;
	d->names_shared = d->names_shared || x->names_shared;
	if (r == WEFT_OK)
		r = note_holds(d, x, q->why == GONE_PURGE);
	if (r == WEFT_OK && q->why == GONE_PURGE && !x->all)
		r = note_swept(d, q);
	if (r == WEFT_OK && x->all)
		r = add_id(d, &d->gone, &d->n_gone, &d->room_gone, &q->session);
	return r;
}

static int rewrite(struct dropping *d, const struct weft_id *session,
		   uint32_t why, const uint64_t *targets, size_t n)
{
	struct request *q = ask(d, REQUEST_REWRITE, session);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	q->why = why;
	q->targets = targets;
	q->n_targets = n;
	if (d->dry && why == GONE_PURGE) {
		q->purged = d->ids;
		q->n_purged = d->n_ids;
		q->ignored = d->gone;
		q->n_ignored = d->n_gone;
	}
	r = engine_run(d->engine, q, d->err);
	if (r == WEFT_OK)
		r = take_answer(d, q);
	request_free(q);
	return r;
}

/* A part of a session that was purged before may have been kept for this fork
 * alone. */
static int add_husk(struct dropping *d, const struct weft_id *fork)
{
	struct store *s = d->engine->store;
	struct session_rec rec = { .fork_seq = 0 }, parent = { .purged_at = 0 };
	int r = s->ops->get_sessions(s, fork, 1, d->arena, &rec, d->err);

	if (r < 0 || id_is_zero(&rec.id) || rec.fork_seq == 0)
		return r;
	r = s->ops->get_sessions(s, &rec.parent, 1, d->arena, &parent, d->err);
	if (r < 0 || id_is_zero(&parent.id) || !parent.purged_at)
		return r;
	return add_id(d, &d->ids, &d->n_ids, &d->room_ids, &parent.id);
}

int dropping_sweep(struct dropping *d)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < d->n_ids && r == WEFT_OK; i++) {
		const struct weft_id id = d->ids[i];

		r = add_husk(d, &id);
	}
	if (r == WEFT_OK)
		r = dropping_sort(d, d->ids, d->n_ids, false);
	for (size_t i = 0; i < d->n_ids && r == WEFT_OK; i++) {
		r = rewrite(d, &d->ids[i], GONE_PURGE, NULL, 0);
		/* Somebody else was faster. */
		if (r == WEFT_NOT_FOUND)
			r = WEFT_OK;
	}
	return r;
}

/* Hide them first, so that everybody sees at once that they are gone, and
 * counts and previews follow. */
static int redact(struct dropping *d, const struct weft_id *session,
		  const uint64_t *targets, size_t n)
{
	struct request *q = ask(d, REQUEST_REDACT, session);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	q->targets = targets;
	q->n_targets = n;
	q->erase = 1;
	r = engine_run(d->engine, q, d->err);
	request_free(q);
	return r;
}

int dropping_erase(struct dropping *d, const struct weft_id *session,
		   const uint64_t *targets, size_t n)
{
	int r = WEFT_OK;

	if (!d->dry)
		r = redact(d, session, targets, n);
	if (r == WEFT_OK)
		r = add_id(d, &d->ids, &d->n_ids, &d->room_ids, session);
	return r == WEFT_OK ? rewrite(d, session, GONE_ERASE, targets, n) : r;
}

/* ---- the end of it ---- */

static int maintain(struct dropping *d, uint32_t task,
		    struct store_report *report)
{
	struct store *s = d->engine->store;

	report->arena = d->arena;
	return s->ops->maintain(s, task, report, d->err);
}

/* The index for search must not know the words either. */
static int drop_words(struct dropping *d)
{
	struct store *s = d->engine->store;

	return s->ops->drop_words(s, d->ids, d->n_ids, d->err);
}

int dropping_end(struct dropping *d)
{
	struct store_report index = { .sessions = 0 };
	struct store_report forget = { .forget = d->ids, .n_forget = d->n_ids };
	int r = d->n_blobs ? dropping_blobs(d) : WEFT_OK;

	if (r < 0 || d->dry || !d->changed)
		return r;
	if (d->names_shared)
		r = maintain(d, TASK_REINDEX, &index);
	if (r == WEFT_OK)
		r = drop_words(d);
	return r == WEFT_OK ? maintain(d, TASK_FORGET, &forget) : r;
}

/* ---- what others call ---- */

int engine_reclaim(struct engine *e, const struct weft_id *session,
		   uint64_t token, bool dry, struct arena *a,
		   struct drop_report *ret, struct weft_error *err)
{
	struct dropping d;
	int r;

	dropping_init(&d, e, a, ret, err);
	d.token = token;
	d.dry = dry;
	r = add_id(&d, &d.ids, &d.n_ids, &d.room_ids, session);
	if (r == WEFT_OK)
		r = rewrite(&d, session, GONE_RECLAIM, NULL, 0);
	return r == WEFT_OK ? dropping_end(&d) : r;
}

int engine_purge(struct engine *e, const struct weft_id *sessions, size_t n,
		 uint64_t token, bool dry, struct arena *a,
		 struct drop_report *ret, struct weft_error *err)
{
	struct dropping d;
	int r = WEFT_OK;

	dropping_init(&d, e, a, ret, err);
	d.token = token;
	d.dry = dry;
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		struct weft_error why;

		d.err = n > 1 ? &why : err;
		r = dropping_purge(&d, &sessions[i]);
		d.err = err;
		if (n > 1 && r < 0 && r != WEFT_IO && r != WEFT_UNKNOWN)
			r = dropping_refuse(&d, &sessions[i], &why);
	}
	if (r == WEFT_OK)
		r = dropping_sweep(&d);
	return r == WEFT_OK ? dropping_end(&d) : r;
}

/* Those of which a part is left for forks are looked at again, and found to be
 * as they should be. */
static int add_purged(struct dropping *d, const struct session_rec *rec,
		      void *unused)
{
	(void)unused;
	return rec->purged_at ?
		       add_id(d, &d->ids, &d->n_ids, &d->room_ids, &rec->id) :
		       WEFT_OK;
}

int engine_finish_purges(struct engine *e, struct arena *a,
			 struct drop_report *ret, struct weft_error *err)
{
	struct dropping d;
	int r;

	dropping_init(&d, e, a, ret, err);
	/* An erase may have been cut short before its bytes were forgotten. */
	d.changed = true;
	r = dropping_each(&d, add_purged, NULL);
	if (r == WEFT_OK)
		r = dropping_sweep(&d);
	return r == WEFT_OK ? dropping_end(&d) : r;
}

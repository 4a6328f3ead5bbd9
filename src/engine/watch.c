/* watch.c - wait for what comes after an event; see watch.h. */
#include "engine/watch.h"

#include <errno.h>
#include <time.h>

#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"

/* How long closing waits before it wakes the thread once more. */
#define CLOSE_RETRY_US 10000

/* When news are looked at again that the store could not show. */
#define LOOK_AGAIN_MS 1000

/* How many waiters one look at the store serves; a bound for its memory. */
#define LOOK_MAX 256

static void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(cond, &attr);
	(void)pthread_condattr_destroy(&attr);
}

static struct timespec time_at(int64_t mono_us)
{
	return (struct timespec){
		.tv_sec = mono_us / 1000000,
		.tv_nsec = mono_us % 1000000 * 1000,
	};
}

void watchers_init(struct watchers *w, struct store *store)
{
	*w = (struct watchers){ .store = store };
	(void)pthread_mutex_init(&w->lock, NULL);
	cond_init(&w->changed);
}

void watchers_done(struct watchers *w)
{
	table_done(&w->table);
	(void)pthread_cond_destroy(&w->changed);
	(void)pthread_mutex_destroy(&w->lock);
}

size_t watchers_count(struct watchers *w)
{
	size_t n;

	(void)pthread_mutex_lock(&w->lock);
	n = w->n_waiters;
	(void)pthread_mutex_unlock(&w->lock);
	return n;
}

/* Called with the lock held. */
static void tell(struct watchers *w, const struct weft_id *id, uint64_t head)
{
	struct table_node *n = table_first(&w->table, id_hash(id));

	for (; n; n = table_next(n)) {
		struct waiter *x = TABLE_ENTRY(n, struct waiter, node);

		if (!id_eq(&x->session, id) || head <= x->head)
			continue;
		x->head = head;
		if (head > x->seq)
			(void)pthread_cond_signal(&x->wake);
	}
}

void watchers_tell(struct watchers *w, const struct weft_id *id, uint64_t head)
{
	(void)pthread_mutex_lock(&w->lock);
	if (w->n_waiters)
		tell(w, id, head);
	(void)pthread_mutex_unlock(&w->lock);
}

/* ---- the thread that notices other processes ---- */

/* The sessions that are waited for; NULL if there are none. */
static struct weft_id *list_sessions(struct watchers *w, struct arena *a,
				     size_t *ret_n)
{
	struct weft_id *v = NULL;
	size_t n = 0;

	(void)pthread_mutex_lock(&w->lock);
	if (w->n_waiters)
		v = ARENA_ARRAY(a, struct weft_id, w->n_waiters);
	for (const struct waiter *x = w->waiters; v && x; x = x->next)
		v[n++] = x->session;
	(void)pthread_mutex_unlock(&w->lock);
	*ret_n = n;
	return v;
}

/* Look at the records of all sessions that are waited for; false: that was not
 * possible. */
static bool look(struct watchers *w)
{
	CLEANUP(arena_done) struct arena ids_arena, arena;
	struct weft_id *ids;
	size_t n_ids, n;

	arena_init(&ids_arena, 0);
	arena_init(&arena, 0);
	ids = list_sessions(w, &ids_arena, &n_ids);
	for (size_t i = 0; i < n_ids; i += n) {
		struct session_rec *recs;

		arena_reset(&arena);
		n = n_ids - i < LOOK_MAX ? n_ids - i : LOOK_MAX;
		recs = ARENA_ARRAY(&arena, struct session_rec, n);
		if (!recs ||
		    w->store->ops->get_sessions(w->store, ids + i, n, &arena,
						recs, NULL) < 0)
			return false;
		(void)pthread_mutex_lock(&w->lock);
		for (size_t k = 0; k < n; k++)
			tell(w, &ids[i + k], recs[k].head_seq);
		(void)pthread_mutex_unlock(&w->lock);
	}
	return ids || n_ids == 0;
}

/* Sleep until somebody waits; false when closing. */
static bool has_waiters(struct watchers *w)
{
	bool closing;

	(void)pthread_mutex_lock(&w->lock);
	while (!w->n_waiters && !w->closing)
		(void)pthread_cond_wait(&w->changed, &w->lock);
	closing = w->closing;
	(void)pthread_mutex_unlock(&w->lock);
	return !closing;
}

static void *watch_main(void *arg)
{
	struct watchers *w = arg;
	uint64_t stamp = 0;
	bool missed = false;

	while (has_waiters(w)) {
		/* News that could not be looked at may be the last there are:
		 * they are looked at again. */
		int r = w->store->ops->wait(w->store, &stamp,
					    missed ? LOOK_AGAIN_MS : -1, NULL);

		/* Without it nobody hears of other processes, but waits and
		 * time-outs go on. */
		if (r < 0)
			break;
		if (r > 0 || missed)
			missed = !look(w);
	}
	(void)pthread_mutex_lock(&w->lock);
	w->ended = true;
	(void)pthread_cond_broadcast(&w->changed);
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Called with the lock held. */
static int start_thread(struct watchers *w, struct weft_error *err)
{
	int r;

	if (w->started || w->store->lone)
		return WEFT_OK;
	r = thread_start(&w->thread, watch_main, w, err);
	w->started = r == WEFT_OK;
	return r;
}

void watchers_close(struct watchers *w)
{
	bool started;

	(void)pthread_mutex_lock(&w->lock);
	w->closing = true;
	started = w->started;
	for (struct waiter *x = w->waiters; x; x = x->next)
		(void)pthread_cond_signal(&x->wake);
	(void)pthread_cond_broadcast(&w->changed);
	while (w->n_waiters || (started && !w->ended)) {
		struct timespec at;

		(void)pthread_mutex_unlock(&w->lock);
		/* Again and again: it may be just about to begin waiting. */
		if (started)
			w->store->ops->wake(w->store);
		(void)pthread_mutex_lock(&w->lock);
		at = time_at(clock_mono_us() + CLOSE_RETRY_US);
		if (w->n_waiters || (started && !w->ended))
			(void)pthread_cond_timedwait(&w->changed, &w->lock,
						     &at);
	}
	(void)pthread_mutex_unlock(&w->lock);
	if (started)
		(void)pthread_join(w->thread, NULL);
}

/* ---- waiting ---- */

/* Called with the lock held. */
static int join(struct watchers *w, struct waiter *x, struct weft_error *err)
{
	int r = WEFT_OK;

	if (w->closing)
		return fail(err, WEFT_IO, "the store is being closed");
	if (table_add(&w->table, &x->node, id_hash(&x->session)) < 0)
		return fail_no_memory(err);
	r = start_thread(w, err);
	if (r < 0) {
		table_remove(&w->table, &x->node);
		return r;
	}
	x->next = w->waiters;
	x->at = &w->waiters;
	if (x->next)
		x->next->at = &x->next;
	w->waiters = x;
	/* The thread sleeps while there is nobody. */
	if (w->n_waiters++ == 0)
		(void)pthread_cond_broadcast(&w->changed);
	return WEFT_OK;
}

/* Called with the lock held. */
static void leave(struct watchers *w, struct waiter *x)
{
	table_remove(&w->table, &x->node);
	*x->at = x->next;
	if (x->next)
		x->next->at = x->at;
	if (--w->n_waiters == 0 && w->closing)
		(void)pthread_cond_broadcast(&w->changed);
}

/* Called with the lock held: sleep until there is news or no more time. */
static int sleep_for_news(struct watchers *w, struct waiter *x,
			  int64_t deadline_us, struct weft_error *err)
{
	struct timespec at = time_at(deadline_us);
	int r = 0;

	while (x->head <= x->seq && !w->closing && r != ETIMEDOUT) {
		if (deadline_us < 0)
			(void)pthread_cond_wait(&x->wake, &w->lock);
		else
			r = pthread_cond_timedwait(&x->wake, &w->lock, &at);
	}
	if (x->head > x->seq)
		return WEFT_OK;
	if (w->closing)
		return fail(err, WEFT_IO, "the store is being closed");
	return fail(err, WEFT_BUSY, "no event after %llu within the time given",
		    (unsigned long long)x->seq);
}

/* The last event of a session, from the store. */
static int read_head(struct engine *e, const struct weft_id *id, uint64_t *ret,
		     struct weft_error *err)
{
	CLEANUP(arena_done) struct arena arena;
	struct session_rec rec;
	int r;

	arena_init(&arena, MIB(16));
	r = engine_session(e, id, &arena, &rec, err);
	if (r == WEFT_OK)
		*ret = rec.head_seq;
	return r;
}

static int64_t deadline_in(int64_t timeout_ms)
{
	int64_t now_us = clock_mono_us();

	if (timeout_ms < 0 || timeout_ms > (INT64_MAX - now_us) / 1000)
		return -1;
	return now_us + timeout_ms * 1000;
}

int engine_wait(struct engine *e, const struct weft_id *id, uint64_t seq,
		int64_t timeout_ms, uint64_t *ret_head, struct weft_error *err)
{
	struct watchers *w = &e->watchers;
	struct waiter x = { .session = *id, .seq = seq };
	int64_t deadline_us = deadline_in(timeout_ms);
	uint64_t head = 0;
	int r = engine_check_process(e, err);

	if (r < 0)
		return r;
	cond_init(&x.wake);
	(void)pthread_mutex_lock(&w->lock);
	r = join(w, &x, err);
	(void)pthread_mutex_unlock(&w->lock);
	if (r < 0)
		goto out;

	r = read_head(e, id, &head, err);
	(void)pthread_mutex_lock(&w->lock);
	if (head > x.head)
		x.head = head;
	if (r == WEFT_OK)
		r = sleep_for_news(w, &x, deadline_us, err);
	head = x.head;
	leave(w, &x);
	(void)pthread_mutex_unlock(&w->lock);
	if (r == WEFT_OK && ret_head)
		*ret_head = head;
out:
	(void)pthread_cond_destroy(&x.wake);
	return r;
}

/* engine.c - open and close, and the way into the queue. */
#include <signal.h>

#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/process.h"
#include "engine/internal.h"
#include "store/store.h"

int engine_check_process(const struct engine *e, struct weft_error *err)
{
	if (e->process == process_generation())
		return WEFT_OK;
	return fail(err, WEFT_IO,
		    "the store was opened before fork(): open it again in this "
		    "process");
}

int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx,
		 struct weft_error *err)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, run, ctx);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r ? fail_errno(err, r, "cannot start a thread") : WEFT_OK;
}

int engine_start(struct store *store, const struct clock_source *clock,
		 uint32_t flags, struct engine **ret, struct weft_error *err)
{
	struct engine *e = mem_zero(1, sizeof(*e));
	int r;

	if (!e) {
		(void)store_close(store, NULL);
		return fail_no_memory(err);
	}
	e->store = store;
	if (clock)
		e->clock = *clock;
	e->process = process_generation();
	e->read_only = (flags & WEFT_OPEN_READ_ONLY) || store->read_only;
	routing_init(&e->routing);
	queue_init(&e->queue, (size_t)store->limits.queue,
		   (int64_t)store->limits.idle_ms * 1000);
	watchers_init(&e->watchers, store);
	indexer_init(&e->indexer);
	r = committer_start(e, err);
	if (r < 0) {
		(void)engine_close(e, NULL);
		return r;
	}
	*ret = e;
	return WEFT_OK;
}

int engine_open(const char *url, const struct weft_open_options *o,
		struct engine **ret, struct weft_error *err)
{
	uint32_t flags = o ? o->flags : 0;
	struct clock_source clock = {
		.now_ms = o ? o->now_ms : NULL,
		.ctx = o ? o->now_ctx : NULL,
	};
	struct store_open how = { .clock = &clock };
	struct store *store;
	int r;

	if (!url)
		return fail(err, WEFT_INVALID, "no URL of a store given");
	if (flags & ~(WEFT_OPEN_READ_ONLY | WEFT_OPEN_NO_CREATE |
		      WEFT_OPEN_SINGLE | WEFT_OPEN_REPAIR))
		return fail(err, WEFT_INVALID, "unknown flags 0x%x for opening",
			    flags);
	if ((flags & WEFT_OPEN_READ_ONLY) && (flags & WEFT_OPEN_REPAIR))
		return fail(err, WEFT_INVALID,
			    "what is only read cannot be repaired");
	if (flags & WEFT_OPEN_READ_ONLY)
		how.flags |= STORE_READ_ONLY;
	else if (flags & WEFT_OPEN_REPAIR)
		how.flags |= STORE_UNCHECKED | STORE_SINGLE;
	else if (!(flags & WEFT_OPEN_NO_CREATE))
		how.flags |= STORE_CREATE;
	if (flags & WEFT_OPEN_SINGLE)
		how.flags |= STORE_SINGLE;
	r = store_open_url(url, &how, &store, err);
	if (r < 0)
		return r;
	return engine_start(store, &clock, flags, ret, err);
}

/*
 * After fork() the threads are not here and their locks may be held for ever:
 * only memory and descriptors can be given back.
 */
static int close_copy(struct engine *e, struct weft_error *err)
{
	int r = store_close(e->store, err);

	committer_done(e);
	routing_done(&e->routing);
	mem_free(e);
	return r;
}

int engine_close(struct engine *e, struct weft_error *err)
{
	int r;

	if (!e)
		return WEFT_OK;
	if (e->process != process_generation())
		return close_copy(e, err);
	committer_stop(e);
	watchers_close(&e->watchers);
	indexer_stop(e);
	r = store_close(e->store, err);
	committer_done(e);
	routing_done(&e->routing);
	watchers_done(&e->watchers);
	indexer_done(&e->indexer);
	queue_done(&e->queue);
	mem_free(e);
	return r;
}

struct store *engine_store(struct engine *e)
{
	return e->store;
}

const struct store_limits *engine_limits(const struct engine *e)
{
	return &e->store->limits;
}

int64_t engine_now_ms(const struct engine *e)
{
	return clock_now_ms(&e->clock);
}

/* What must be right before a request may join the queue. */
static int admit(struct engine *e, struct request *q, struct weft_error *err)
{
	int r = engine_check_process(e, err);

	if (r == WEFT_OK && e->read_only && !request_may_change_nothing(q))
		r = fail_read_only(err);
	if (r == WEFT_OK)
		r = committer_check(e, err);
	if (r == WEFT_OK)
		r = request_check(q, engine_limits(e), err);
	if (r == WEFT_OK)
		r = request_pack(e, q, err);
	return r;
}

int engine_submit(struct engine *e, struct request *q, struct weft_error *err)
{
	int r = e->read_only ? fail_read_only(err) : admit(e, q, err);

	return r < 0 ? r : queue_push(&e->queue, q, err);
}

int engine_run(struct engine *e, struct request *q, struct weft_error *err)
{
	bool leads;
	int r = admit(e, q, err);

	if (r < 0)
		return r;
	if (e->read_only)
		return engine_foresee(e, q, err);
	q->done = NULL;
	r = queue_join(&e->queue, q, &leads, err);
	if (r < 0)
		return r;
	if (leads) {
		committer_run(e, q);
		queue_release(&e->queue, 1);
	} else {
		queue_wait(&e->queue, q);
	}
	if (q->status < 0 && err)
		*err = q->err;
	return q->status;
}

static int no_session(const struct weft_id *id, struct weft_error *err)
{
	char text[WEFT_ID_CHARS + 1];

	id_format(id, text);
	return fail(err, WEFT_NOT_FOUND, "no session %s", text);
}

int engine_record(struct engine *e, const struct weft_id *id, struct arena *a,
		  struct session_rec *ret, struct weft_error *err)
{
	struct session_rec rec;
	int r = engine_check_process(e, err);

	if (r == WEFT_OK)
		r = e->store->ops->get_sessions(e->store, id, 1, a, &rec, err);
	if (r < 0)
		return r;
	if (id_is_zero(&rec.id))
		return no_session(id, err);
	*ret = rec;
	return WEFT_OK;
}

int engine_session(struct engine *e, const struct weft_id *id, struct arena *a,
		   struct session_rec *ret, struct weft_error *err)
{
	struct session_rec rec = { .kind = 0 };
	int r = engine_record(e, id, a, &rec, err);

	if (r < 0)
		return r;
	/* What is left of one that was purged is for its forks. */
	if (rec.purged_at)
		return no_session(id, err);
	*ret = rec;
	return WEFT_OK;
}

void engine_get_stats(struct engine *e, struct engine_stats *ret)
{
	struct engine_stats stats = {
		.requests = atomic_load(&e->committer.requests),
		.batches = atomic_load(&e->committer.batches),
		.events = atomic_load(&e->committer.events),
		.refused = atomic_load(&e->committer.refused),
		.watchers = watchers_count(&e->watchers),
	};

	(void)pthread_mutex_lock(&e->queue.lock);
	stats.queued = e->queue.pending;
	stats.queue_max = e->queue.pending_max;
	(void)pthread_mutex_unlock(&e->queue.lock);
	*ret = stats;
}

/*
 * committer.c - write what has gathered, all at once, again and again.
 *
 * DESIGN
 *
 * One thread holds the queue's baton at a time: this file's thread or, for a
 * single request, a thread in engine_run (queue.h).  It
 *
 *   1. takes what has gathered, up to a batch,
 *   2. calls the store's write() with plan_batch, which refuses bad requests
 *      one by one and plans the others,
 *   3. tells those who wait for events (watch.h),
 *   4. answers every request once, in order, holding no lock.
 *
 * While write() flushes, the next batch gathers; there is no timer.  What comes
 * while a batch is planned joins it: those who were just answered come back
 * then, and a flush costs nearly the same for more.
 *
 * If the write fails, nothing of the batch was written, or nobody knows
 * (UNKNOWN), and every request that was planned gets the store's error.  With
 * exceptions that concern single requests and not the store: if the plan broke,
 * or the store says LIMIT or NO_MEMORY, or NOT_FOUND of a blob that a request
 * refers to, the batch is cut in halves and tried again, so that one request
 * does not take others down.
 *
 * After IO and UNKNOWN the store takes no more writes, and neither do we: the
 * engine must be opened again.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"

/* A batch: so many requests or bytes, whatever comes first.  A quarter of the
 * smallest segment is the largest frame that always fits. */
#define BATCH_REQUESTS 1024
#define BATCH_FRACTION 4
#define SCRATCH_MAX    MIB(16)

/* ---- what a write will look at ---- */

/* Ids, each once; room for all is made before. */
struct id_set {
	struct weft_id *v;
	size_t n;
	uint32_t *slots; /* index + 1, or 0 */
	size_t mask;
};

static bool id_set_init(struct id_set *set, size_t max, struct arena *a)
{
	size_t slots = 4;

	while (slots < max * 2)
		slots *= 2;
	set->n = 0;
	set->v = ARENA_ARRAY(a, struct weft_id, max);
	set->slots = ARENA_ARRAY(a, uint32_t, slots);
	set->mask = slots - 1;
	return set->v && set->slots;
}

static void id_set_add(struct id_set *set, const struct weft_id *id)
{
	size_t i = hash_bytes(id, sizeof(*id)) & set->mask;

	if (id_is_zero(id))
		return;
	while (set->slots[i]) {
		if (id_eq(&set->v[set->slots[i] - 1], id))
			return;
		i = (i + 1) & set->mask;
	}
	set->v[set->n++] = *id;
	set->slots[i] = (uint32_t)set->n;
}

/* Add the names of one request to v[n..); returns how many there are then. */
static size_t add_names(const struct request *q, struct weft_str *v, size_t n)
{
	if (q->create.key.len)
		v[n++] = q->create.key;
	for (size_t i = 0; i < q->n_aliases; i++)
		v[n++] = q->aliases[i];
	if (q->name.len)
		v[n++] = q->name;
	return n;
}

/* The same with the operation id of a request. */
static size_t add_op(const struct request *q, struct store_want_op *v, size_t n)
{
	static const struct weft_id creation;
	bool creates = q->kind == REQUEST_CREATE || q->kind == REQUEST_FORK;

	if (q->op.len)
		v[n++] = (struct store_want_op){
			.session = creates ? creation : q->session,
			.op = q->op,
		};
	return n;
}

/* The hint for the store: sessions, names and operation ids that the batch
 * speaks of. */
static int make_want(const struct batch *b, struct arena *a,
		     struct store_want *ret, struct weft_error *err)
{
	struct weft_str *names;
	struct store_want_op *ops;
	struct id_set ids, shared;
	size_t n_names = 0, n_ops = 0;

	for (const struct request *q = b->first; q; q = q->next)
		n_names += q->n_aliases + (q->create.key.len != 0) +
			   (q->name.len != 0);
	arena_reset(a);
	names = ARENA_ARRAY(a, struct weft_str, n_names);
	ops = ARENA_ARRAY(a, struct store_want_op, b->n);
	if (!id_set_init(&ids, b->n * 2, a) || !id_set_init(&shared, b->n, a) ||
	    !names || !ops)
		return arena_error(a, err);
	n_names = 0;
	for (const struct request *q = b->first; q; q = q->next) {
		/* A fork looks at what was said before, and changes nothing
		 * of it. */
		id_set_add(q->kind == REQUEST_FORK ? &shared : &ids,
			   &q->session);
		id_set_add(&ids, &q->create.parent);
		n_names = add_names(q, names, n_names);
		n_ops = add_op(q, ops, n_ops);
	}
	*ret = (struct store_want){
		.sessions = ids.v,
		.n_sessions = ids.n,
		.names = names,
		.n_names = n_names,
		.ops = ops,
		.n_ops = n_ops,
		.bytes = b->bytes,
		.shared = shared.v,
		.n_shared = shared.n,
		.exclusive = b->first && b->first->kind == REQUEST_REWRITE,
	};
	return WEFT_OK;
}

/* ---- writing ---- */

static void stop_writing(struct committer *c, const struct weft_error *err)
{
	c->failure = *err;
	atomic_store_explicit(&c->failed, true, memory_order_release);
}

int committer_check(struct engine *e, struct weft_error *err)
{
	struct committer *c = &e->committer;

	if (!atomic_load_explicit(&c->failed, memory_order_acquire))
		return WEFT_OK;
	return fail(err, WEFT_IO,
		    "closed to writing after an error (%s); reopen the store",
		    c->failure.message);
}

/* Give the store's error to all that were planned. */
static void fail_all(const struct batch *b, int code,
		     const struct weft_error *err)
{
	for (struct request *q = b->first; q; q = q->next) {
		if (q->status < 0)
			continue;
		q->status = code;
		q->err = *err;
	}
}

static void count(struct committer *c, const struct batch *b, bool written)
{
	uint64_t refused = 0;

	for (const struct request *q = b->first; q; q = q->next)
		refused += q->status < 0;
	(void)atomic_fetch_add_explicit(&c->requests, b->n,
					memory_order_relaxed);
	(void)atomic_fetch_add_explicit(&c->batches, 1, memory_order_relaxed);
	if (refused)
		(void)atomic_fetch_add_explicit(&c->refused, refused,
						memory_order_relaxed);
	if (written)
		(void)atomic_fetch_add_explicit(&c->events, c->plan.n_events,
						memory_order_relaxed);
}

static void tell_watchers(struct engine *e)
{
	const struct plan_session *s = e->committer.plan.sessions;

	/* Who joins after this finds what was written in the store. */
	if (watchers_count(&e->watchers) == 0)
		return;
	for (; s; s = s->next) {
		if (s->changed)
			watchers_tell(&e->watchers, &s->rec.id,
				      s->rec.head_seq);
	}
}

/* Those who wait for events, and who makes them be found. */
static void tell_all(struct engine *e)
{
	tell_watchers(e);
	indexer_note(e);
}

static size_t bytes_max(const struct engine *e)
{
	return (size_t)(engine_limits(e)->segment_bytes / BATCH_FRACTION);
}

static struct request *take_more(struct plan *p)
{
	struct engine *e = p->engine;

	return queue_take_more(&e->queue, BATCH_REQUESTS, bytes_max(e),
			       e->committer.growing);
}

/*
 * Write a batch and fill in all answers; it may get more requests.  False if it
 * must be tried in smaller pieces; then nothing has happened.
 */
static bool write_batch(struct engine *e, struct batch *b)
{
	struct committer *c = &e->committer;
	struct weft_error err = { 0 };
	struct store_want want;
	int r = committer_check(e, &err);

	for (struct request *q = b->first; q; q = q->next)
		q->status = WEFT_OK;
	if (r == WEFT_OK) {
		c->plan.requests = b->first;
		c->plan.more = c->growing ? take_more : NULL;
		c->plan.broken = false;
		r = make_want(b, &c->scratch, &want, &err);
		if (r == WEFT_OK)
			r = e->store->ops->write(e->store, &want, plan_batch,
						 &c->plan, &err);
		if (r < 0 && b->n > 1 &&
		    (c->plan.broken || r == WEFT_LIMIT || r == WEFT_NO_MEMORY ||
		     r == WEFT_NOT_FOUND))
			return false;
		if (r == WEFT_NOT_FOUND)
			r = fail(&err, WEFT_BUSY,
				 "what was put away for this message has been "
				 "removed before it was written; try again");
		if (r == WEFT_IO || r == WEFT_UNKNOWN)
			stop_writing(c, &err);
	}
	if (r < 0)
		fail_all(b, r, &err);
	else
		tell_all(e);
	count(c, b, r == WEFT_OK);
	return true;
}

void committer_run(struct engine *e, struct request *q)
{
	struct batch b = { .first = q, .n = 1, .bytes = request_cost(q) };

	q->next = NULL;
	e->committer.growing = NULL;
	(void)write_batch(e, &b);
}

/* Take the first n requests off a batch. */
static struct batch split(struct batch *b, size_t n)
{
	struct batch head = { .first = b->first };
	struct request *last = b->first;

	for (;;) {
		head.n++;
		head.bytes += request_cost(last);
		/* A rewrite is in a batch of its own. */
		if (head.n == n || !last->next ||
		    last->kind == REQUEST_REWRITE ||
		    last->next->kind == REQUEST_REWRITE)
			break;
		last = last->next;
	}
	b->first = last->next;
	b->n -= head.n;
	b->bytes -= head.bytes;
	last->next = NULL;
	return head;
}

/* Put what was split off back in front. */
static void rejoin(struct batch *b, const struct batch *head)
{
	struct request *last = head->first;

	while (last->next)
		last = last->next;
	last->next = b->first;
	b->first = head->first;
	b->n += head->n;
	b->bytes += head->bytes;
}

/* The last piece may grow: what comes next is behind it. */
static bool may_grow(const struct engine *e, const struct batch *head,
		     const struct batch *rest)
{
	return e->store->unhinted && rest->n == 0 &&
	       head->first->kind != REQUEST_REWRITE;
}

/* Returns how many requests were answered. */
static size_t commit(struct engine *e, struct batch *b)
{
	size_t piece = b->n, n = 0;

	while (b->n) {
		struct batch head = split(b, piece);

		e->committer.growing = may_grow(e, &head, b) ? &head : NULL;
		if (write_batch(e, &head)) {
			n += head.n;
			queue_answer(&e->queue, &head);
		} else {
			piece = head.n / 2;
			rejoin(b, &head);
		}
	}
	return n;
}

/* ---- the thread ---- */

static void tidy_up(struct engine *e)
{
	CLEANUP(arena_done) struct arena arena;
	struct store_report report = {
		.arena = &arena,
		.idle_ms = atomic_load(&e->routing.suspend_ms),
	};

	queue_clear(&e->queue);
	arena_init(&arena, SCRATCH_MAX);
	/* If it cannot, memory stays in use: the next write will tell. */
	(void)e->store->ops->maintain(e->store, TASK_SUSPEND, &report, NULL);
}

static void *committer_main(void *arg)
{
	struct engine *e = arg;

	for (;;) {
		struct batch b;
		size_t n = 0;

		switch (queue_take(&e->queue, BATCH_REQUESTS, bytes_max(e),
				   &b)) {
		case QUEUE_BATCH:
			n = commit(e, &b);
			break;
		case QUEUE_TIDY:
			tidy_up(e);
			break;
		case QUEUE_CLOSED:
			queue_release(&e->queue, 0);
			return NULL;
		}
		queue_release(&e->queue, n);
	}
}

int committer_start(struct engine *e, struct weft_error *err)
{
	struct committer *c = &e->committer;
	int r;

	plan_init(&c->plan, e);
	arena_init(&c->scratch, SCRATCH_MAX);
	if (e->read_only)
		return WEFT_OK;
	r = thread_start(&c->thread, committer_main, e, err);
	c->started = r == WEFT_OK;
	return r;
}

void committer_stop(struct engine *e)
{
	queue_close(&e->queue);
	if (e->committer.started)
		(void)pthread_join(e->committer.thread, NULL);
	e->committer.started = false;
}

void committer_done(struct engine *e)
{
	plan_done(&e->committer.plan);
	arena_done(&e->committer.scratch);
}

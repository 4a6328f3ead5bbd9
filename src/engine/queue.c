/* queue.c - requests on their way to the committer, and who may commit. */
#include "engine/queue.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/completion.h"

/* Up to so many blocked threads are woken by who answers them.  Of more, only
 * the first is: it wakes one in each group, and that one the others. */
#define WAKE_ALONE 4
#define WAKE_GROUP 8

/* So many requests wait to be freed by who submits, if they are small. */
#define SPENT_MAX 256

/* What a line has besides its body and operation id, usually. */
#define LINE_HEAD_BYTES 160

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
	/* Any reason to return is good: the caller looks again. */
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL,
		      0);
}

static void futex_wake_all(_Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL,
		      0);
}

void queue_init(struct queue *q, size_t max, int64_t idle_us)
{
	pthread_condattr_t attr;

	*q = (struct queue){ .max = max, .idle_us = idle_us };
	q->tail = &q->head;
	q->ready_tail = &q->ready;
	(void)pthread_mutex_init(&q->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&q->work, &attr);
	(void)pthread_cond_init(&q->room, &attr);
	(void)pthread_condattr_destroy(&attr);
}

void queue_set_idle(struct queue *q, int64_t idle_us)
{
	(void)pthread_mutex_lock(&q->lock);
	q->idle_us = idle_us;
	(void)pthread_cond_signal(&q->work);
	(void)pthread_mutex_unlock(&q->lock);
}

void queue_done(struct queue *q)
{
	queue_clear(q);
	(void)pthread_cond_destroy(&q->room);
	(void)pthread_cond_destroy(&q->work);
	(void)pthread_mutex_destroy(&q->lock);
}

size_t request_cost(const struct request *r)
{
	size_t lines = r->n_messages + r->n_aliases + r->n_targets + 1;

	return r->bytes + r->patch.len + lines * LINE_HEAD_BYTES;
}

/* Called with the lock held; true if the committer is to be signalled. */
static bool has_work(const struct queue *q)
{
	return q->asleep && !q->busy && (q->head || q->ready);
}

static int fail_closing(struct weft_error *err)
{
	return fail(err, WEFT_IO, "the store is being closed");
}

/* Called with the lock held; true if the committer is to be signalled. */
static bool add_request(struct queue *q, struct request *r)
{
	bool wake;

	r->next = NULL;
	r->slot = q->slot++ % QUEUE_SLOTS;
	*q->tail = r;
	q->tail = &r->next;
	q->pending++;
	if (q->pending > q->pending_max)
		q->pending_max = q->pending;
	wake = has_work(q);
	/* Once is enough: it looks at everything when it comes. */
	if (wake)
		q->asleep = false;
	return wake;
}

int queue_push(struct queue *q, struct request *r, struct weft_error *err)
{
	bool wake = false;
	int code = WEFT_OK;

	(void)pthread_mutex_lock(&q->lock);
	if (q->closing)
		code = fail_closing(err);
	else if (q->pending >= q->max)
		code = fail(err, WEFT_BUSY,
			    "the queue is full: %zu requests are waiting "
			    "(limit queue)",
			    q->max);
	else
		wake = add_request(q, r);
	(void)pthread_mutex_unlock(&q->lock);
	if (wake)
		(void)pthread_cond_signal(&q->work);
	return code;
}

/* Called with the lock held: wait until the queue has room, or closes. */
static void wait_for_room(struct queue *q)
{
	q->waiting++;
	while (!q->closing && q->pending >= q->max)
		(void)pthread_cond_wait(&q->room, &q->lock);
	q->waiting--;
}

int queue_join(struct queue *q, struct request *r, bool *ret_leads,
	       struct weft_error *err)
{
	bool wake = false;
	int code = WEFT_OK;

	atomic_store(&r->answered, 0);
	(void)pthread_mutex_lock(&q->lock);
	/*
	 * After a batch of many the others are about to come back: who goes
	 * first alone makes them wait for a flush that served one.
	 */
	*ret_leads = !q->closing && !q->busy && !q->head && !q->ready &&
		     q->last_batch <= 1;
	if (*ret_leads) {
		q->busy = true;
	} else {
		if (q->pending >= q->max)
			wait_for_room(q);
		if (q->closing)
			code = fail_closing(err);
		else
			wake = add_request(q, r);
	}
	(void)pthread_mutex_unlock(&q->lock);
	if (wake)
		(void)pthread_cond_signal(&q->work);
	return code;
}

static void answer(struct queue *q, struct request *r)
{
	_Atomic uint32_t *word = &q->words[r->slot];

	/* It may be gone as soon as this is set. */
	atomic_store(&r->answered, 1);
	(void)atomic_fetch_add(word, 1);
	futex_wake_all(word);
}

static void answer_each(struct queue *q, struct request *first)
{
	for (struct request *r = first, *next; r; r = next) {
		next = r->next;
		answer(q, r);
	}
}

void queue_wait(struct queue *q, struct request *r)
{
	_Atomic uint32_t *word = &q->words[r->slot];

	for (;;) {
		/* Read before looking, so that a wake in between is seen. */
		uint32_t seen = atomic_load(word);

		if (atomic_load(&r->answered))
			break;
		futex_wait(word, seen);
	}
	answer_each(q, r->followers);
}

/* Called with the lock held. */
static void sleep_until(struct queue *q, int64_t deadline_us)
{
	struct timespec at = {
		.tv_sec = deadline_us / 1000000,
		.tv_nsec = deadline_us % 1000000 * 1000,
	};

	q->asleep = true;
	q->untimed = deadline_us == 0;
	if (deadline_us)
		(void)pthread_cond_timedwait(&q->work, &q->lock, &at);
	else
		(void)pthread_cond_wait(&q->work, &q->lock);
	q->asleep = false;
	q->untimed = false;
}

/*
 * When to tidy up next; 0: not before there is more work.  Called with the
 * lock held.  Something used at T may be let go of at T + idle_us, so there
 * is one more time after the last use, and then none.
 */
static int64_t tidy_at(const struct queue *q)
{
	if (!q->idle_us || !q->used_us || q->closing)
		return 0;
	if (q->rested_us >= q->used_us + q->idle_us)
		return 0;
	return (q->rested_us ? q->rested_us : q->used_us) + q->idle_us;
}

/* Move the first requests of `ready` into a batch. */
static void cut_batch(struct queue *q, size_t max_n, size_t max_bytes,
		      struct batch *ret)
{
	struct request *last = NULL;
	struct request *r = q->ready;

	*ret = (struct batch){ .first = r };
	while (r && ret->n < max_n) {
		size_t cost = request_cost(r);

		if (last && ret->bytes + cost > max_bytes)
			break;
		ret->bytes += cost;
		ret->n++;
		last = r;
		r = r->next;
	}
	if (last)
		last->next = NULL;
	q->ready = r;
	if (!r)
		q->ready_tail = &q->ready;
}

/* Called with the lock held: what has come waits for the holder of the baton. */
static void make_ready(struct queue *q)
{
	if (!q->head)
		return;
	*q->ready_tail = q->head;
	q->ready_tail = q->tail;
	q->head = NULL;
	q->tail = &q->head;
}

/* Called with the lock held: what there is to do, or sleep. */
static enum queue_what wait_for_work(struct queue *q)
{
	for (;;) {
		int64_t tidy_us = tidy_at(q);
		int64_t now_us = clock_mono_us();

		if (!q->busy && tidy_us && tidy_us <= now_us) {
			q->rested_us = now_us;
			return QUEUE_TIDY;
		}
		if (!q->busy && (q->head || q->ready))
			return QUEUE_BATCH;
		if (!q->busy && q->closing)
			return QUEUE_CLOSED;
		sleep_until(q, q->busy ? 0 : tidy_us);
	}
}

enum queue_what queue_take(struct queue *q, size_t max_n, size_t max_bytes,
			   struct batch *ret)
{
	enum queue_what what;

	(void)pthread_mutex_lock(&q->lock);
	what = wait_for_work(q);
	q->busy = true;
	if (what == QUEUE_BATCH)
		make_ready(q);
	(void)pthread_mutex_unlock(&q->lock);
	if (what == QUEUE_BATCH)
		cut_batch(q, max_n, max_bytes, ret);
	return what;
}

struct request *queue_take_more(struct queue *q, size_t max_n, size_t max_bytes,
				struct batch *b)
{
	struct request **end = &b->first, *first;

	(void)pthread_mutex_lock(&q->lock);
	make_ready(q);
	(void)pthread_mutex_unlock(&q->lock);
	first = q->ready;
	while (first && *end)
		end = &(*end)->next;
	while (q->ready && b->n < max_n && q->ready->kind != REQUEST_REWRITE &&
	       b->bytes + request_cost(q->ready) <= max_bytes) {
		struct request *r = q->ready;

		b->bytes += request_cost(r);
		b->n++;
		q->ready = r->next;
		r->next = NULL;
		*end = r;
		end = &r->next;
	}
	if (!q->ready)
		q->ready_tail = &q->ready;
	return first != q->ready ? first : NULL;
}

void queue_release(struct queue *q, size_t n)
{
	bool wake;

	(void)pthread_mutex_lock(&q->lock);
	q->busy = false;
	if (n) {
		q->last_batch = n;
		q->used_us = clock_mono_us();
	}
	wake = has_work(q) || (q->asleep && (q->untimed || q->closing));
	if (wake)
		q->asleep = false;
	(void)pthread_mutex_unlock(&q->lock);
	if (wake)
		(void)pthread_cond_signal(&q->work);
}

/* Put a blocked request in front of those to be woken; of a group, behind the
 * first one. */
static void add_blocked(struct request **list, struct request *r, size_t i,
			size_t group)
{
	struct request **to = i % group ? &(*list)->followers : list;

	r->followers = NULL;
	r->next = *to;
	*to = r;
}

/* Leave it to the first of the list to wake the others. */
static void hand_on(struct request *first)
{
	struct request **end = &first->next;

	while (*end)
		end = &(*end)->next;
	*end = first->followers;
	first->followers = first->next;
	first->next = NULL;
}

void queue_answer(struct queue *q, const struct batch *b)
{
	const size_t group = b->n > WAKE_ALONE ? WAKE_GROUP : 1;
	struct request *blocked = NULL;
	size_t n_blocked = 0;
	bool room;

	/* Before done(), which may want to submit the next one. */
	(void)pthread_mutex_lock(&q->lock);
	q->pending -= b->n;
	room = q->waiting > 0;
	(void)pthread_mutex_unlock(&q->lock);
	if (room)
		(void)pthread_cond_broadcast(&q->room);

	completion_begin();
	for (struct request *r = b->first, *next; r; r = next) {
		next = r->next;
		if (r->done)
			r->done(r);
		else
			add_blocked(&blocked, r, n_blocked++, group);
	}
	completion_end();
	if (n_blocked > WAKE_ALONE)
		hand_on(blocked);
	answer_each(q, blocked);
}

void queue_spend(struct queue *q, struct request *r)
{
	if (r->arena.used || atomic_load(&q->n_spent) >= SPENT_MAX) {
		request_free(r);
		return;
	}
	(void)atomic_fetch_add(&q->n_spent, 1);
	r->next = atomic_load(&q->spent);
	while (!atomic_compare_exchange_weak(&q->spent, &r->next, r))
		;
}

void queue_clear(struct queue *q)
{
	struct request *r;
	size_t n = 0;

	if (!atomic_load_explicit(&q->spent, memory_order_relaxed))
		return;
	/* All at once, so that none can come back in between. */
	r = atomic_exchange(&q->spent, NULL);
	for (struct request *next; r; r = next) {
		next = r->next;
		request_free(r);
		n++;
	}
	(void)atomic_fetch_sub(&q->n_spent, n);
}

void queue_close(struct queue *q)
{
	(void)pthread_mutex_lock(&q->lock);
	q->closing = true;
	(void)pthread_mutex_unlock(&q->lock);
	(void)pthread_cond_broadcast(&q->work);
	(void)pthread_cond_broadcast(&q->room);
}

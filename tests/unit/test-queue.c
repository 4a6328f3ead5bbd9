/* test-queue.c - who may join, who may commit, who is woken; completions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/completion.h"
#include "engine/queue.h"

#define MANY 64

static struct request *request_of(size_t bytes)
{
	struct request *r = request_new(REQUEST_APPEND, NULL);

	assert_non_null(r);
	r->bytes = bytes;
	return r;
}

static struct request *push(struct queue *q, size_t bytes)
{
	struct request *r = request_of(bytes);

	assert_int_equal(queue_push(q, r, NULL), WEFT_OK);
	return r;
}

static void free_batch(const struct batch *b)
{
	for (struct request *r = b->first, *next; r; r = next) {
		next = r->next;
		request_free(r);
	}
}

static size_t take(struct queue *q, size_t max_n, size_t max_bytes,
		   struct batch *ret)
{
	assert_int_equal(queue_take(q, max_n, max_bytes, ret), QUEUE_BATCH);
	return ret->n;
}

/* ---- batches ---- */

static void requests_come_out_in_order(void **state)
{
	struct request *v[5];
	struct queue q;
	struct batch b;

	(void)state;
	queue_init(&q, 10, 0);
	for (int i = 0; i < 5; i++)
		v[i] = push(&q, 1);
	assert_int_equal(take(&q, 3, SIZE_MAX, &b), 3);
	assert_ptr_equal(b.first, v[0]);
	assert_ptr_equal(b.first->next, v[1]);
	assert_null(v[2]->next);
	free_batch(&b);
	queue_release(&q, 3);
	/* Those left over come before those that joined since. */
	v[0] = push(&q, 1);
	assert_int_equal(take(&q, 100, SIZE_MAX, &b), 3);
	assert_ptr_equal(b.first, v[3]);
	assert_ptr_equal(v[4]->next, v[0]);
	free_batch(&b);
	queue_release(&q, 3);
	queue_done(&q);
}

static void a_batch_has_so_many_bytes(void **state)
{
	struct queue q;
	struct batch b;

	(void)state;
	queue_init(&q, 10, 0);
	(void)push(&q, 5000);
	(void)push(&q, 10);
	(void)push(&q, 10);
	(void)push(&q, 2000);
	/* The first is too large, and goes alone. */
	assert_int_equal(take(&q, 100, 2000, &b), 1);
	assert_true(b.bytes > 5000);
	free_batch(&b);
	queue_release(&q, 1);
	assert_int_equal(take(&q, 100, 2000, &b), 2);
	free_batch(&b);
	queue_release(&q, 1);
	assert_int_equal(take(&q, 100, 2000, &b), 1);
	free_batch(&b);
	queue_release(&q, 1);
	queue_done(&q);
}

static void what_comes_later_joins_as_far_as_there_is_room(void **state)
{
	struct request *v[4], *alone;
	struct queue q;
	struct batch b;

	(void)state;
	queue_init(&q, 10, 0);
	v[0] = push(&q, 1);
	assert_int_equal(take(&q, 3, SIZE_MAX, &b), 1);
	assert_null(queue_take_more(&q, 3, SIZE_MAX, &b));
	for (int i = 1; i < 4; i++)
		v[i] = push(&q, 1000);
	/* So many bytes, so many requests. */
	assert_null(queue_take_more(&q, 3, b.bytes + 1000, &b));
	assert_ptr_equal(queue_take_more(&q, 3, SIZE_MAX, &b), v[1]);
	assert_int_equal(b.n, 3);
	assert_true(b.bytes > 2000);
	assert_ptr_equal(v[0]->next, v[1]);
	assert_ptr_equal(v[1]->next, v[2]);
	assert_null(v[2]->next);
	free_batch(&b);
	queue_release(&q, 3);
	/* Those left over are the next, and one of its own kind is left. */
	alone = push(&q, 1);
	alone->kind = REQUEST_REWRITE;
	assert_int_equal(take(&q, 1, SIZE_MAX, &b), 1);
	assert_ptr_equal(b.first, v[3]);
	assert_null(queue_take_more(&q, 3, SIZE_MAX, &b));
	free_batch(&b);
	queue_release(&q, 1);
	assert_int_equal(take(&q, 3, SIZE_MAX, &b), 1);
	assert_ptr_equal(b.first, alone);
	free_batch(&b);
	queue_release(&q, 1);
	queue_done(&q);
}

/* ---- room ---- */

static void answer_all(struct queue *q, struct batch *b)
{
	queue_answer(q, b);
	queue_release(q, b->n);
}

static void done_counts(struct request *r)
{
	++*(int *)r->ctx;
	request_free(r);
}

static struct request *push_counted(struct queue *q, int *counter)
{
	struct request *r = request_of(1);

	r->done = done_counts;
	r->ctx = counter;
	if (queue_push(q, r, NULL) == WEFT_OK)
		return r;
	request_free(r);
	return NULL;
}

static void a_full_queue_says_so(void **state)
{
	struct request *extra = request_of(1);
	struct weft_error err;
	struct queue q;
	struct batch b;
	int answered = 0;

	(void)state;
	queue_init(&q, 2, 0);
	assert_non_null(push_counted(&q, &answered));
	assert_non_null(push_counted(&q, &answered));
	assert_int_equal(queue_push(&q, extra, &err), WEFT_BUSY);
	assert_non_null(strstr(err.message, "2 requests"));
	/* What is being written still counts. */
	assert_int_equal(take(&q, 1, SIZE_MAX, &b), 1);
	assert_int_equal(queue_push(&q, extra, NULL), WEFT_BUSY);
	answer_all(&q, &b);
	assert_int_equal(answered, 1);
	assert_non_null(push_counted(&q, &answered));
	assert_int_equal(queue_push(&q, extra, NULL), WEFT_BUSY);
	assert_int_equal(take(&q, 9, SIZE_MAX, &b), 2);
	answer_all(&q, &b);
	assert_int_equal(answered, 3);
	assert_int_equal(q.pending_max, 2);
	request_free(extra);
	queue_done(&q);
}

/* What done() needs to submit again. */
struct again {
	struct queue *queue;
	int answered;
	int pushed;
};

static void done_pushes(struct request *r)
{
	struct again *a = r->ctx;

	a->answered++;
	if (push_counted(a->queue, &a->answered))
		a->pushed++;
	request_free(r);
}

static void done_finds_room(void **state)
{
	struct request *r = request_of(1);
	struct queue q;
	struct batch b;
	struct again again = { .queue = &q };

	(void)state;
	queue_init(&q, 1, 0);
	r->done = done_pushes;
	r->ctx = &again;
	assert_int_equal(queue_push(&q, r, NULL), WEFT_OK);
	(void)take(&q, 1, SIZE_MAX, &b);
	answer_all(&q, &b);
	assert_int_equal(again.pushed, 1);
	(void)take(&q, 1, SIZE_MAX, &b);
	answer_all(&q, &b);
	assert_int_equal(again.answered, 2);
	queue_done(&q);
}

/* ---- the baton ---- */

/* Come to have something written; true if that is up to oneself. */
static bool leads(struct queue *q, struct request *r)
{
	bool result = false;

	assert_int_equal(queue_join(q, r, &result, NULL), WEFT_OK);
	return result;
}

static void one_leads_while_nothing_else_goes_on(void **state)
{
	struct request *one = request_of(1), *two = request_of(1);
	struct queue q;
	struct batch b;
	int answered = 0;

	(void)state;
	queue_init(&q, 10, 0);
	assert_true(leads(&q, one));
	assert_false(leads(&q, two));
	queue_release(&q, 1);
	/* Somebody is waiting: it is the committer's turn. */
	assert_non_null(push_counted(&q, &answered));
	assert_int_equal(take(&q, 9, SIZE_MAX, &b), 2);
	assert_ptr_equal(b.first, two);
	answer_all(&q, &b);
	assert_int_equal(atomic_load(&two->answered), 1);
	/* There were two: both may be back at once. */
	assert_false(leads(&q, one));
	assert_int_equal(take(&q, 9, SIZE_MAX, &b), 1);
	answer_all(&q, &b);
	/* There was one. */
	assert_true(leads(&q, two));
	queue_release(&q, 1);
	assert_int_equal(answered, 1);
	request_free(one);
	request_free(two);
	queue_done(&q);
}

static void *take_one(void *arg)
{
	struct queue *q = arg;
	struct batch b;

	if (queue_take(q, 9, SIZE_MAX, &b) == QUEUE_BATCH)
		answer_all(q, &b);
	return NULL;
}

static void the_committer_waits_for_who_leads(void **state)
{
	struct request *r = request_of(1);
	pthread_t thread;
	struct queue q;
	int answered = 0;

	(void)state;
	queue_init(&q, 10, 0);
	assert_true(leads(&q, r));
	assert_int_equal(pthread_create(&thread, NULL, take_one, &q), 0);
	assert_non_null(push_counted(&q, &answered));
	(void)usleep(20000);
	(void)pthread_mutex_lock(&q.lock);
	assert_int_equal(q.pending, 1);
	(void)pthread_mutex_unlock(&q.lock);
	queue_release(&q, 1);
	(void)pthread_join(thread, NULL);
	assert_int_equal(answered, 1);
	request_free(r);
	queue_done(&q);
}

/* ---- waiting for an answer ---- */

static void *push_and_wait(void *arg)
{
	struct queue *q = arg;
	struct request *r = request_of(1);
	bool first = false;
	int code = queue_join(q, r, &first, NULL);

	if (code == WEFT_OK && !first)
		queue_wait(q, r);
	request_free(r);
	return code == WEFT_OK ? arg : NULL;
}

/* Until so many have joined. */
static void await_pending(struct queue *q, size_t n)
{
	const struct timespec while_they_start = { .tv_nsec = 1000000 };
	size_t pending = 0;

	while (pending < n) {
		(void)nanosleep(&while_they_start, NULL);
		(void)pthread_mutex_lock(&q->lock);
		pending = q->pending;
		(void)pthread_mutex_unlock(&q->lock);
	}
}

static void everybody_who_waits_is_woken(void **state)
{
	pthread_t threads[MANY];
	size_t left = MANY;
	struct queue q;
	struct batch b;

	(void)state;
	/* Less room than threads, and batches smaller than that. */
	queue_init(&q, 16, 0);
	q.last_batch = 2; /* so that none of them leads */
	for (int i = 0; i < MANY; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, push_and_wait, &q),
			0);
	await_pending(&q, 16);
	while (left) {
		/* More than are woken one by one. */
		left -= take(&q, 13, SIZE_MAX, &b);
		queue_answer(&q, &b);
		queue_release(&q, 2);
	}
	for (int i = 0; i < MANY; i++) {
		void *result;

		(void)pthread_join(threads[i], &result);
		assert_ptr_equal(result, &q);
	}
	assert_int_equal(q.pending, 0);
	assert_int_equal(q.pending_max, 16);
	queue_done(&q);
}

static void closing_lets_nobody_in_and_drains(void **state)
{
	struct request *late = request_of(1);
	pthread_t thread;
	struct queue q;
	struct batch b;
	bool first;
	void *result;
	int answered = 0;

	(void)state;
	queue_init(&q, 1, 0);
	assert_non_null(push_counted(&q, &answered));
	assert_int_equal(pthread_create(&thread, NULL, push_and_wait, &q), 0);
	(void)usleep(10000);
	queue_close(&q);
	/* It waited for room, and is sent away. */
	(void)pthread_join(thread, &result);
	assert_null(result);
	assert_int_equal(queue_push(&q, late, NULL), WEFT_IO);
	assert_int_equal(queue_join(&q, late, &first, NULL), WEFT_IO);
	(void)take(&q, 9, SIZE_MAX, &b);
	answer_all(&q, &b);
	assert_int_equal(answered, 1);
	assert_int_equal(queue_take(&q, 9, SIZE_MAX, &b), QUEUE_CLOSED);
	request_free(late);
	queue_done(&q);
}

static bool has_rested(struct queue *q, int64_t idle_us)
{
	bool rested;

	(void)pthread_mutex_lock(&q->lock);
	rested = q->rested_us >= q->used_us + idle_us;
	(void)pthread_mutex_unlock(&q->lock);
	return rested;
}

static void there_is_tidying_up_after_work(void **state)
{
	const int64_t idle_us = 20000;
	int64_t start_us = clock_mono_us();
	struct request *r = request_of(1);
	struct queue q;
	struct batch b;
	int answered = 0;
	int tidied = 0;

	(void)state;
	queue_init(&q, 9, idle_us);
	assert_true(leads(&q, r));
	queue_release(&q, 1);
	request_free(r);
	assert_int_equal(queue_take(&q, 9, SIZE_MAX, &b), QUEUE_TIDY);
	assert_true(clock_mono_us() - start_us >= idle_us);
	/*
	 * Used shortly before: it is due once more, and again if that came
	 * too early for this use.  Then there is no reason to wake up.
	 */
	queue_release(&q, 1);
	while (!has_rested(&q, idle_us)) {
		assert_int_equal(queue_take(&q, 9, SIZE_MAX, &b), QUEUE_TIDY);
		queue_release(&q, 0);
		tidied++;
	}
	assert_in_range(tidied, 1, 2);
	assert_non_null(push_counted(&q, &answered));
	assert_int_equal(take(&q, 9, SIZE_MAX, &b), 1);
	answer_all(&q, &b);
	queue_done(&q);
}

/* ---- completions ---- */

static uint64_t ready(struct weft_queue *q)
{
	struct pollfd p = { .fd = weft_queue_fd(q), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void finish(struct weft_ticket *t, int code)
{
	struct weft_receipt receipt = { .seq = 7 };
	struct weft_error err = { .code = code };

	weft_queue_done(t, code, code ? NULL : &receipt, code ? &err : NULL);
}

static void tickets_come_back_in_order(void **state)
{
	struct weft_ticket t[3] = { 0 };
	struct weft_queue *q;

	(void)state;
	assert_int_equal(weft_queue_new(&q, NULL), WEFT_OK);
	assert_false(ready(q));
	for (int i = 0; i < 3; i++) {
		t[i].queue = q;
		finish(&t[i], i == 1 ? WEFT_STALE : WEFT_OK);
	}
	assert_true(ready(q));
	assert_ptr_equal(weft_queue_next(q), &t[0]);
	assert_ptr_equal(weft_queue_next(q), &t[1]);
	assert_ptr_equal(weft_queue_next(q), &t[2]);
	assert_null(weft_queue_next(q));
	assert_false(ready(q));
	assert_int_equal(t[0].receipt.seq, 7);
	assert_int_equal(t[1].code, WEFT_STALE);
	assert_int_equal(t[1].error.code, WEFT_STALE);
	assert_int_equal(t[1].receipt.seq, 0);
	finish(&t[0], WEFT_OK);
	assert_true(ready(q));
	assert_ptr_equal(weft_queue_next(q), &t[0]);
	weft_queue_free(q);
	weft_queue_free(NULL);
}

static void a_burst_wakes_once(void **state)
{
	struct weft_ticket t[10][2] = { 0 };
	struct weft_queue *q[10];

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(weft_queue_new(&q[i], NULL), WEFT_OK);
	completion_begin();
	for (int i = 0; i < 20; i++) {
		t[i % 10][i / 10].queue = q[i % 10];
		finish(&t[i % 10][i / 10], WEFT_OK);
	}
	/* All but a few are held back until the end. */
	assert_false(ready(q[1]));
	completion_end();
	for (int i = 0; i < 10; i++) {
		assert_true(ready(q[i]));
		assert_ptr_equal(weft_queue_next(q[i]), &t[i][0]);
		assert_ptr_equal(weft_queue_next(q[i]), &t[i][1]);
		assert_null(weft_queue_next(q[i]));
		assert_false(ready(q[i]));
		weft_queue_free(q[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_come_out_in_order),
		cmocka_unit_test(a_batch_has_so_many_bytes),
		cmocka_unit_test(
			what_comes_later_joins_as_far_as_there_is_room),
		cmocka_unit_test(a_full_queue_says_so),
		cmocka_unit_test(done_finds_room),
		cmocka_unit_test(one_leads_while_nothing_else_goes_on),
		cmocka_unit_test(the_committer_waits_for_who_leads),
		cmocka_unit_test(everybody_who_waits_is_woken),
		cmocka_unit_test(closing_lets_nobody_in_and_drains),
		cmocka_unit_test(there_is_tidying_up_after_work),
		cmocka_unit_test(tickets_come_back_in_order),
		cmocka_unit_test(a_burst_wakes_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

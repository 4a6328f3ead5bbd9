/*
 * room.c - scenarios of a log that is full and may not grow.
 *
 * A writer that finds no room makes a checkpoint, or waits for the one that is
 * under way, and goes on.  If it cannot be had in time the write is refused, and
 * that one alone.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "crash/scenarios.h"

/* The log may have six segments of the largest size. */
#define LOG_SEGMENTS 6
#define LOG_BYTES    (LOG_SEGMENTS * LAB_SEGMENT)
#define LINE_BYTES   KIB(8)
#define LINES        (3 * LOG_BYTES / LINE_BYTES) /* more than it can hold */

static struct lab *small_log(uint64_t busy_ms)
{
	struct lab *l = lab_new();

	l->limits.segment_bytes = LAB_SEGMENT;
	l->limits.segment_bytes_max = LAB_SEGMENT;
	l->limits.busy_ms = busy_ms;
	return l;
}

static struct store_health health_of(struct lab *l, unsigned process)
{
	struct store_health h;

	lab_ok(l, l->store[process]->ops->health(l->store[process], &h));
	return h;
}

static void add_segment(void *ctx, const char *path)
{
	size_t *n = ctx;

	*n += strncmp(path, LAB_DIR "/wal/0", strlen(LAB_DIR "/wal/0")) == 0;
}

static size_t segments_of(struct lab *l)
{
	size_t segments = 0;

	simdisk_each_path(l->disk, add_segment, &segments);
	return segments;
}

static void expect_small(struct lab *l)
{
	assert_in_range(segments_of(l), 1, LOG_SEGMENTS);
}

static void a_full_log_is_emptied_by_who_writes(void **state)
{
	struct lab *l = small_log(1000);
	struct weft_id s = begin_in(l, A);

	(void)state;
	for (size_t i = 0; i < LINES; i++) {
		lab_ok(l, lab_say_one(l, A, &s, LINE_BYTES));
		if (i % 16 == 0)
			expect_small(l);
	}
	assert_in_range(health_of(l, A).checkpoints, 2, LINES / 4);
	must_be_fine(l, check_cuts(l, 1));
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	lab_free(l);
}

/* What is in the log has to find room in the files, and so has what they are
 * found by: a longer log must not take that away. */
static void a_log_does_not_grow_into_the_last_of_a_disk(void **state)
{
	struct lab *l = lab_new();
	struct weft_id s;

	(void)state;
	l->limits.segment_bytes = LAB_SEGMENT;
	l->limits.segment_bytes_max = 16 * LAB_SEGMENT;
	/* Never so much that it need not be looked at. */
	simdisk_set_free(l->disk, MIB(64));
	s = begin_in(l, A);
	for (size_t i = 0; i < LINES; i++) {
		/* Enough for the log and its files, not for four times as
		 * much. */
		simdisk_set_free(l->disk, KIB(300) + 3 * LAB_SEGMENT);
		lab_ok(l, lab_say_one(l, A, &s, LINE_BYTES));
	}
	assert_in_range(segments_of(l), 1, 2);
	simdisk_set_free(l->disk, MIB(64));
	for (size_t i = 0; i < LINES; i++)
		lab_ok(l, lab_say_one(l, A, &s, LINE_BYTES));
	assert_in_range(segments_of(l), 3, LOG_SEGMENTS);
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	lab_free(l);
}

/* Whoever of several comes to the end of it does it for all of them. */
static void two_who_fill_a_log_lose_nothing(void **state)
{
	struct lab *l = small_log(1000);
	struct weft_id s = begin_in(l, A), t;

	(void)state;
	lab_ok(l, lab_open(l, B));
	lab_start(l, B);
	t = lab_create(l, "other");
	lab_ok(l, lab_commit(l));
	for (size_t i = 0; i < LINES; i++)
		lab_ok(l, lab_say_one(l, i % 3 ? A : B, i % 2 ? &s : &t,
				      LINE_BYTES));
	expect_small(l);
	assert_true(health_of(l, A).checkpoints > 0);
	assert_true(health_of(l, B).checkpoints > 0);
	must_be_fine(l, check_cuts(l, 1));
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	lab_free(l);
}

/* ---- somebody else has the right to it ---- */

/* A writes until it is refused, before one call of a checkpoint of B's. */
struct crowd {
	struct lab *l;
	struct weft_id session;
	unsigned at;
	bool begun, refused, inside;
	size_t written;
};

static void fill(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	struct crowd *c = ctx;

	(void)d;
	(void)n;
	if (!(calls & (SIM_MUTATING | SIM_LOCK)) || c->begun || c->at-- > 0)
		return;
	c->begun = true;
	while (!c->refused && c->written < LINES) {
		int r = lab_say_one(c->l, A, &c->session, LINE_BYTES);

		c->refused = r < 0;
		c->written += r == WEFT_OK;
		if (r < 0)
			assert_int_equal(r, WEFT_BUSY);
	}
}

/* False if the checkpoint does not make so many calls. */
static bool fill_during_checkpoint(unsigned at, size_t *ret_written)
{
	struct lab *l = small_log(2);
	struct crowd c = { .l = l, .at = at };

	(void)snprintf(l->where, sizeof(l->where), "full before call %u: ", at);
	/* Nobody else moves while one sleeps. */
	simdisk_fail_at(l->disk, SIM_SLEEP, 1, -EINTR, true);
	c.session = begin_in(l, A);
	lab_ok(l, lab_open(l, B));
	lab_ok(l, lab_say_one(l, B, &c.session, LINE_BYTES));
	simdisk_on_call(l->disk, fill, &c);
	lab_ok(l, lab_task(l, B, TASK_CHECKPOINT));
	simdisk_on_call(l->disk, NULL, NULL);
	if (c.begun) {
		/* Before B has the right to it, A makes its own. */
		assert_true(c.refused || c.written == LINES);
		must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
		lab_ok(l, lab_say_one(l, A, &c.session, LINE_BYTES));
		must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
		if (at % 8 == 0)
			must_be_fine(l, check_cuts(l, at));
		if (c.refused && c.written > *ret_written)
			*ret_written = c.written;
	}
	expect_small(l);
	lab_free(l);
	return c.begun;
}

static void who_cannot_have_a_checkpoint_is_refused_alone(void **state)
{
	size_t written = 0;
	unsigned at = 0;

	(void)state;
	while (fill_during_checkpoint(at, &written))
		at++;
	print_message("# %u times, %zu lines at most\n", at, written);
	/* It goes on for as long as there is room. */
	assert_in_range(written, LOG_BYTES / LINE_BYTES / 2, LINES - 1);
}

/* ---- a thread of ours is at it ---- */

struct waiter {
	struct lab *l;
	struct weft_id session;
	pthread_t thread;
	bool begun;
	int code;
	struct weft_error err;
};

static _Thread_local bool is_waiter;

static void *write_more(void *ctx)
{
	struct waiter *w = ctx;

	is_waiter = true;
	for (size_t i = 0; i < LINES && w->code == WEFT_OK; i++)
		w->code = lab_say_one(w->l, A, &w->session, LINE_BYTES);
	return NULL;
}

static void start_writer(void *ctx, struct simdisk *d, unsigned calls,
			 uint64_t n)
{
	struct waiter *w = ctx;
	const struct timespec moment = { .tv_nsec = 50000000 };

	(void)d;
	(void)n;
	if (is_waiter || w->begun || !(calls & SIM_SYNCS))
		return;
	w->begun = true;
	assert_int_equal(pthread_create(&w->thread, NULL, write_more, w), 0);
	/* Time for it to fill the log; if it takes longer all is well, too. */
	(void)nanosleep(&moment, NULL);
}

/* It waits for the checkpoint however long it takes, and is not refused. */
static void who_waits_for_our_own_checkpoint_goes_on(void **state)
{
	struct lab *l = small_log(1);
	struct waiter w = { .l = l };
	struct store_report report = { .arena = &l->f.arena };
	struct weft_error err;

	(void)state;
	w.session = begin_in(l, A);
	simdisk_on_call(l->disk, start_writer, &w);
	/* What the lab remembers is the writer's meanwhile. */
	assert_int_equal(l->store[A]->ops->maintain(
				 l->store[A], TASK_CHECKPOINT, &report, &err),
			 WEFT_OK);
	assert_true(w.begun);
	assert_int_equal(pthread_join(w.thread, NULL), 0);
	simdisk_on_call(l->disk, NULL, NULL);
	lab_ok(l, w.code);
	expect_small(l);
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	lab_free(l);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_full_log_is_emptied_by_who_writes),
	cmocka_unit_test(a_log_does_not_grow_into_the_last_of_a_disk),
	cmocka_unit_test(two_who_fill_a_log_lose_nothing),
	cmocka_unit_test(who_cannot_have_a_checkpoint_is_refused_alone),
	cmocka_unit_test(who_waits_for_our_own_checkpoint_goes_on),
};

const struct suite room_scenarios = { tests, ARRAY_LEN(tests) };

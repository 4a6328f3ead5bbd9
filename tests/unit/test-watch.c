/* test-watch.c - waiting for events: ours, and those of other processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "engine/internal.h"
#include "store/store.h"

#define MANY 64

struct bench {
	struct engine *engine;
	struct store *store;
	_Atomic uint64_t waits; /* calls of the store's wait() */
};

static void count_waits(void *ctx, const char *line)
{
	struct bench *b = ctx;

	if (strncmp(line, "wait", 4) == 0)
		(void)atomic_fetch_add(&b->waits, 1);
}

/* `lone`: the store says that nobody else can write it. */
static struct bench *bench_open(bool lone)
{
	static struct bench bench;
	struct store_open o = { .flags = STORE_CREATE };
	struct store *memory;

	bench = (struct bench){ 0 };
	assert_int_equal(store_open_url("memory:", &o, &memory, NULL), WEFT_OK);
	assert_int_equal(
		store_trace(memory, count_waits, &bench, &bench.store, NULL),
		WEFT_OK);
	bench.store->lone = lone;
	assert_int_equal(
		engine_start(bench.store, NULL, 0, &bench.engine, NULL),
		WEFT_OK);
	return &bench;
}

static void bench_close(struct bench *b)
{
	assert_int_equal(engine_close(b->engine, NULL), WEFT_OK);
}

static struct weft_id begin(struct bench *b)
{
	struct request *q = request_new(REQUEST_CREATE, NULL);
	struct weft_id id;

	assert_int_equal(engine_run(b->engine, q, NULL), WEFT_OK);
	id = q->ret_session;
	request_free(q);
	return id;
}

static struct request *message_for(struct bench *b, const struct weft_id *id)
{
	struct request *q = request_new(REQUEST_APPEND, NULL);

	q->session = *id;
	q->messages = ARENA_NEW(&q->arena, struct message);
	q->n_messages = 1;
	assert_int_equal(message_check(STR("{\"role\":\"user\","
					   "\"content\":\"hello\"}"),
				       engine_limits(b->engine), &q->arena,
				       q->messages, NULL),
			 WEFT_OK);
	return q;
}

static void say(struct bench *b, const struct weft_id *id)
{
	struct request *q = message_for(b, id);

	assert_int_equal(engine_run(b->engine, q, NULL), WEFT_OK);
	request_free(q);
}

/* The same behind the engine's back, as another process would. */
static void say_elsewhere(struct bench *b, const struct weft_id *id)
{
	struct request *q = message_for(b, id);
	struct store_want want = { 0 };
	struct plan plan;

	plan_init(&plan, b->engine);
	plan.requests = q;
	q->next = NULL;
	assert_int_equal(
		b->store->ops->write(b->store, &want, plan_batch, &plan, NULL),
		WEFT_OK);
	assert_int_equal(q->status, WEFT_OK);
	plan_done(&plan);
	request_free(q);
}

/* ---- somebody who waits ---- */

struct sleeper {
	pthread_t thread;
	struct bench *bench;
	struct weft_id id;
	uint64_t seq;
	int64_t timeout_ms;
	int code;
	uint64_t head;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *s = arg;

	s->code = engine_wait(s->bench->engine, &s->id, s->seq, s->timeout_ms,
			      &s->head, NULL);
	return NULL;
}

static void sleeper_start(struct sleeper *s, struct bench *b,
			  const struct weft_id *id, uint64_t seq,
			  int64_t timeout_ms)
{
	*s = (struct sleeper){
		.bench = b,
		.id = *id,
		.seq = seq,
		.timeout_ms = timeout_ms,
	};
	assert_int_equal(pthread_create(&s->thread, NULL, sleeper_main, s), 0);
}

static void sleeper_expect(struct sleeper *s, int code, uint64_t head)
{
	(void)pthread_join(s->thread, NULL);
	assert_int_equal(s->code, code);
	assert_int_equal(s->head, head);
}

static void until_waiting(struct bench *b, size_t n)
{
	while (watchers_count(&b->engine->watchers) < n)
		(void)usleep(1000);
}

/* ---- tests ---- */

static void what_is_there_is_not_waited_for(void **state)
{
	struct bench *b = bench_open(true);
	struct weft_id id = begin(b), other = id;
	uint64_t head = 0;

	(void)state;
	say(b, &id);
	assert_int_equal(engine_wait(b->engine, &id, 0, 0, &head, NULL),
			 WEFT_OK);
	assert_int_equal(head, 2);
	assert_int_equal(engine_wait(b->engine, &id, 1, -1, &head, NULL),
			 WEFT_OK);
	other.b[0] ^= 1;
	assert_int_equal(engine_wait(b->engine, &other, 0, -1, &head, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(watchers_count(&b->engine->watchers), 0);
	bench_close(b);
}

static void time_runs_out(void **state)
{
	struct bench *b = bench_open(true);
	struct weft_id id = begin(b);
	int64_t start_us = clock_mono_us();
	uint64_t head = 99;

	(void)state;
	assert_int_equal(engine_wait(b->engine, &id, 1, 0, &head, NULL),
			 WEFT_BUSY);
	assert_int_equal(engine_wait(b->engine, &id, 1, 50, &head, NULL),
			 WEFT_BUSY);
	assert_true(clock_mono_us() - start_us >= 50000);
	assert_int_equal(head, 99);
	bench_close(b);
}

static void our_own_events_wake_without_the_store(void **state)
{
	struct bench *b = bench_open(true);
	struct weft_id id = begin(b), other = begin(b);
	struct sleeper s, t;

	(void)state;
	sleeper_start(&s, b, &id, 2, -1);
	sleeper_start(&t, b, &other, 1, 2000);
	until_waiting(b, 2);
	say(b, &id);
	(void)usleep(10000);
	assert_int_equal(watchers_count(&b->engine->watchers), 2);
	say(b, &id);
	sleeper_expect(&s, WEFT_OK, 3);
	/* Nothing was said to the other. */
	sleeper_expect(&t, WEFT_BUSY, 0);
	assert_int_equal(atomic_load(&b->waits), 0);
	assert_false(b->engine->watchers.started);
	bench_close(b);
}

static void many_wait_and_all_are_woken(void **state)
{
	struct bench *b = bench_open(false);
	struct weft_id ids[4];
	struct sleeper s[MANY];

	(void)state;
	for (int i = 0; i < 4; i++)
		ids[i] = begin(b);
	for (int i = 0; i < MANY; i++)
		sleeper_start(&s[i], b, &ids[i % 4], 1, -1);
	until_waiting(b, MANY);
	for (int i = 0; i < 4; i++)
		say(b, &ids[i]);
	for (int i = 0; i < MANY; i++)
		sleeper_expect(&s[i], WEFT_OK, 2);
	assert_int_equal(watchers_count(&b->engine->watchers), 0);
	bench_close(b);
}

static void events_of_other_processes_wake(void **state)
{
	struct bench *b = bench_open(false);
	struct weft_id id = begin(b), other = begin(b);
	struct sleeper s[3];

	(void)state;
	sleeper_start(&s[0], b, &id, 1, -1);
	sleeper_start(&s[1], b, &id, 2, -1);
	sleeper_start(&s[2], b, &other, 1, -1);
	until_waiting(b, 3);
	say_elsewhere(b, &id);
	sleeper_expect(&s[0], WEFT_OK, 2);
	say_elsewhere(b, &id);
	sleeper_expect(&s[1], WEFT_OK, 3);
	say_elsewhere(b, &other);
	sleeper_expect(&s[2], WEFT_OK, 2);
	bench_close(b);
}

static void nobody_waits_and_nothing_wakes(void **state)
{
	struct bench *b = bench_open(false);
	struct weft_id id = begin(b);
	struct sleeper s;
	uint64_t before;

	(void)state;
	say(b, &id);
	assert_int_equal(atomic_load(&b->waits), 0);
	sleeper_start(&s, b, &id, 2, -1);
	until_waiting(b, 1);
	say_elsewhere(b, &id);
	sleeper_expect(&s, WEFT_OK, 3);
	/* Once more at most: the wait that was under way. */
	say(b, &id);
	(void)usleep(20000);
	before = atomic_load(&b->waits);
	for (int i = 0; i < 20; i++)
		say(b, &id);
	(void)usleep(20000);
	assert_int_equal(atomic_load(&b->waits), before);
	/* And it still works. */
	sleeper_start(&s, b, &id, 24, -1);
	until_waiting(b, 1);
	say_elsewhere(b, &id);
	sleeper_expect(&s, WEFT_OK, 25);
	bench_close(b);
}

static void closing_ends_every_wait(void **state)
{
	(void)state;
	for (int lone = 0; lone < 2; lone++) {
		struct bench *b = bench_open(lone);
		struct weft_id id = begin(b);
		struct sleeper s[3];

		for (int i = 0; i < 3; i++)
			sleeper_start(&s[i], b, &id, 1, -1);
		until_waiting(b, 3);
		bench_close(b);
		for (int i = 0; i < 3; i++)
			sleeper_expect(&s[i], WEFT_IO, 0);
	}
}

static void nothing_is_missed(void **state)
{
	struct bench *b = bench_open(false);
	struct weft_id id = begin(b);

	(void)state;
	/* The event may come before, while or after the waiter joins. */
	for (uint64_t seq = 1; seq < 500; seq++) {
		struct sleeper s;

		sleeper_start(&s, b, &id, seq, 10000);
		if (seq % 2)
			say(b, &id);
		else
			say_elsewhere(b, &id);
		sleeper_expect(&s, WEFT_OK, seq + 1);
	}
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_not_waited_for),
		cmocka_unit_test(time_runs_out),
		cmocka_unit_test(our_own_events_wake_without_the_store),
		cmocka_unit_test(many_wait_and_all_are_woken),
		cmocka_unit_test(events_of_other_processes_wake),
		cmocka_unit_test(nobody_waits_and_nothing_wakes),
		cmocka_unit_test(closing_ends_every_wait),
		cmocka_unit_test(nothing_is_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

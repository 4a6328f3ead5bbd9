/* waits.c - waiting for writes, and being woken. */
#include <pthread.h>
#include <unistd.h>

#include "conformance/conformance.h"

/* Long enough for a slow machine; nothing waits for so long if all is well. */
#define LONG_MS 20000

/* What a thread does after a moment, and what it found. */
struct helper {
	pthread_t thread;
	struct fixture *f;
	struct draft *draft;
	int r;
};

static void *write_soon(void *ctx)
{
	struct helper *h = ctx;

	(void)usleep(20000);
	h->r = draft_write(h->draft);
	return NULL;
}

static void *wake_soon(void *ctx)
{
	struct helper *h = ctx;

	(void)usleep(20000);
	h->f->store->ops->wake(h->f->store);
	return NULL;
}

static int wait_ms(struct fixture *f, uint64_t *stamp, int64_t ms)
{
	return f->store->ops->wait(f->store, stamp, ms, &f->err);
}

/* Wait until there is nothing new; the stamp of now. */
static uint64_t settle(struct fixture *f)
{
	uint64_t stamp = 0;

	for (int i = 0; i < 10 && wait_ms(f, &stamp, 10) == 1; i++)
		;
	return stamp;
}

static void a_wait_ends_at_once_if_something_was_written(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	uint64_t stamp = 0, before;

	assert_int_equal(wait_ms(f, &stamp, LONG_MS), 1);
	stamp = settle(f);
	before = stamp;
	say(f, &s, "news");
	assert_int_equal(wait_ms(f, &stamp, LONG_MS), 1);
	assert_true(stamp != before);
}

static void a_wait_ends_at_its_time(void **state)
{
	struct fixture *f = *state;
	uint64_t stamp;
	int64_t from;

	(void)begin(f);
	stamp = settle(f);
	assert_int_equal(wait_ms(f, &stamp, 0), 0);
	from = clock_mono_us();
	assert_int_equal(wait_ms(f, &stamp, 30), 0);
	assert_true(clock_mono_us() - from >= 29000);
}

static void a_write_ends_a_wait(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct helper h = { .f = f, .draft = draft_new(f) };
	uint64_t stamp = settle(f);

	(void)draft_say(h.draft, &s, "news");
	assert_int_equal(pthread_create(&h.thread, NULL, write_soon, &h), 0);
	while (wait_ms(f, &stamp, -1) != 1)
		;
	assert_int_equal(pthread_join(h.thread, NULL), 0);
	assert_int_equal(h.r, WEFT_OK);
	expect_texts(f, &s, "session news");
}

static void a_wake_ends_a_wait(void **state)
{
	struct fixture *f = *state;
	struct helper h = { .f = f };
	uint64_t stamp;

	(void)begin(f);
	stamp = settle(f);
	assert_int_equal(pthread_create(&h.thread, NULL, wake_soon, &h), 0);
	assert_true(wait_ms(f, &stamp, -1) >= 0);
	assert_int_equal(pthread_join(h.thread, NULL), 0);
}

static void a_wake_that_came_first_ends_the_next_wait(void **state)
{
	struct fixture *f = *state;
	uint64_t stamp;
	int64_t from = clock_mono_us();

	(void)begin(f);
	stamp = settle(f);
	f->store->ops->wake(f->store);
	assert_true(wait_ms(f, &stamp, LONG_MS) >= 0);
	assert_true(clock_mono_us() - from < LONG_MS * INT64_C(1000) / 2);
}

static void the_health_of_a_store_that_is_well(void **state)
{
	struct fixture *f = *state;
	struct store_health health;
	struct weft_id s = begin(f);

	say(f, &s, "hello");
	assert_int_equal(f->store->ops->health(f->store, &health), WEFT_OK);
	assert_true(health.writable);
	assert_false(health.failed);
	assert_true(health.complete);
	assert_true(health.active >= 1);
	assert_true(health.frames >= 2);
	assert_string_equal(health.reason, "");
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(a_wait_ends_at_once_if_something_was_written),
	STORE_TEST(a_wait_ends_at_its_time),
	STORE_TEST(a_write_ends_a_wait),
	STORE_TEST(a_wake_ends_a_wait),
	STORE_TEST(a_wake_that_came_first_ends_the_next_wait),
	STORE_TEST(the_health_of_a_store_that_is_well),
};

const struct suite wait_suite = { tests, ARRAY_LEN(tests) };

/*
 * busy.c - a process that always has much to write lets others have a turn.
 *
 * While what it has is flushed it plans more, and holds the log all the time.
 * Its own readers, of sessions that are not in memory, and other processes
 * come in between nevertheless.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "crash/place.h"

#define IN_FLIGHT 3000
#define HOT       8
#define COLD      300
#define ROUNDS    3
#define MOST_US   1000000

static struct shared {
	atomic_ullong writes, reads;
	atomic_llong longest_us; /* a reader waited */
	atomic_int ready;
} * shared;

static struct weft_store *busy;
static const char hello[] = "{\"role\":\"user\",\"content\":\"hello\"}";

static void submit_one(size_t i);

static void submit_next(void *ctx, int code, const struct weft_receipt *receipt,
			const struct weft_error *err)
{
	(void)receipt;
	if (code != WEFT_OK)
		(void)fprintf(stderr, "# %s\n", err->message);
	must(code == WEFT_OK);
	(void)atomic_fetch_add(&shared->writes, 1);
	submit_one((size_t)(uintptr_t)ctx);
}

static void submit_one(size_t i)
{
	char key[16];
	int n = snprintf(key, sizeof(key), "hot%zu", i % HOT);

	must(weft_submit(busy, key, (size_t)n, hello, strlen(hello), NULL,
			 submit_next, (void *)(uintptr_t)i, NULL) == WEFT_OK);
}

/* More sessions than are held in memory, one after the other. */
static void *read_cold(void *ctx)
{
	for (unsigned i = 0;; i++) {
		int64_t before = now_us(), took;
		struct weft_read_options o;
		struct weft_page *page;
		char key[16];
		int n = snprintf(key, sizeof(key), "cold%u", i % COLD);

		weft_read_options_init(&o, sizeof(o));
		must(weft_read(busy, key, (size_t)n, &o, &page, NULL) ==
		     WEFT_OK);
		must(weft_page_count(page) > 0);
		weft_page_free(page);
		took = now_us() - before;
		if (took > atomic_load(&shared->longest_us))
			atomic_store(&shared->longest_us, took);
		(void)atomic_fetch_add(&shared->reads, 1);
	}
	return ctx;
}

static void busy_main(void *ctx)
{
	pthread_t reader;

	busy = open_place(ctx, "active_sessions=16", 0);
	for (size_t i = 0; i < IN_FLIGHT; i++)
		submit_one(i);
	must(pthread_create(&reader, NULL, read_cold, NULL) == 0);
	atomic_store(&shared->ready, 1);
	for (;;)
		(void)pause();
}

static pid_t start_busy(void *place)
{
	pid_t pid;

	atomic_store(&shared->ready, 0);
	pid = start_child(busy_main, place);
	while (!atomic_load(&shared->ready))
		sleep_ms(1);
	sleep_ms(200);
	return pid;
}

static void readers_come_in_between(void **state)
{
	pid_t pid = start_busy(*state);

	for (int i = 0; i < ROUNDS; i++) {
		unsigned long long reads = atomic_load(&shared->reads);
		unsigned long long writes = atomic_load(&shared->writes);

		sleep_ms(1000);
		reads = atomic_load(&shared->reads) - reads;
		writes = atomic_load(&shared->writes) - writes;
		(void)printf("# %llu reads, %llu writes\n", reads, writes);
		assert_true(reads > 10);
		assert_true(writes > 10);
	}
	kill_child(pid);
	(void)printf("# the longest wait: %lld us\n",
		     (long long)atomic_load(&shared->longest_us));
	assert_true(atomic_load(&shared->longest_us) < MOST_US);
}

/* To open, to write and to read, each within a second. */
static void other_processes_come_in_between(void **state)
{
	pid_t pid = start_busy(*state);
	unsigned long long before;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t at[4] = { now_us() };
		struct weft_store *s = open_place(*state, NULL, 0);

		at[1] = now_us();
		(void)say_to(s, "hot0", "me too");
		at[2] = now_us();
		assert_true(count_said(s, "cold7", "cold") > 0);
		at[3] = now_us();
		for (int k = 0; k < 3; k++)
			assert_true(at[k + 1] - at[k] < MOST_US);
		(void)printf("# opened in %lld us, wrote in %lld us\n",
			     (long long)(at[1] - at[0]),
			     (long long)(at[2] - at[1]));
		/* It goes on beside us, and without us. */
		before = atomic_load(&shared->writes);
		sleep_ms(300);
		assert_true(atomic_load(&shared->writes) > before);
		close_place(s);
		before = atomic_load(&shared->writes);
		sleep_ms(300);
		assert_true(atomic_load(&shared->writes) > before);
	}
	kill_child(pid);
}

static int setup(void **state)
{
	struct weft_store *s;
	char key[16];

	shared = place_share(state, "hot0", sizeof(*shared));
	s = open_place(*state, NULL, 0);
	for (int i = 1; i < HOT; i++) {
		(void)snprintf(key, sizeof(key), "hot%d", i);
		begin_session(s, key);
	}
	for (int i = 0; i < COLD; i++) {
		(void)snprintf(key, sizeof(key), "cold%d", i);
		begin_session(s, key);
		(void)say_to(s, key, "cold");
	}
	close_place(s);
	return 0;
}

static int teardown(void **state)
{
	return place_unshare(state, shared, sizeof(*shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_come_in_between),
		cmocka_unit_test(other_processes_come_in_between),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

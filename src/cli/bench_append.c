/* bench_append.c - durable appends: one writer, many threads, many in flight. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/bench.h"

#define SESSIONS 1000u
#define THREADS  64u

struct load {
	struct bench *bench;
	struct weft_store *store;
	char url[700];
	char (*ids)[27];
	atomic_ullong next;
	int64_t until;
	atomic_int failed; /* a code */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct times times; /* mutex, or whoever lands */
	uint64_t done;      /* mutex */
	struct weft_error err;
	/* In flight: when each was submitted, how many have landed, and at
	 * which one the producer wants to be woken. */
	int64_t *begun;
	unsigned window;
	atomic_ullong landed, wake_at;
};

/* ---- blocking ---- */

static void *append_blocking(void *arg)
{
	struct load *l = arg;
	char text[1100];
	uint64_t done = 0;
	struct times t;

	if (times_init(&t, 100000, NULL) < 0)
		return NULL;
	while (now_ns() < l->until) {
		uint64_t i = atomic_fetch_add(&l->next, 1);
		struct weft_str m = bench_message(text, i);
		struct weft_receipt receipt;
		struct weft_error err;
		int64_t before = now_ns();

		if (weft_append(l->store, l->ids[i * 7919 % SESSIONS], 26,
				m.ptr, m.len, NULL, &receipt, &err) < 0) {
			l->err = err;
			atomic_store(&l->failed, err.code);
			break;
		}
		times_add(&t, now_ns() - before);
		done++;
	}
	(void)pthread_mutex_lock(&l->mutex);
	l->done += done;
	for (size_t i = 0; i < t.n; i++)
		times_add(&l->times, (int64_t)t.us10[i] * 100);
	(void)pthread_mutex_unlock(&l->mutex);
	times_done(&t);
	return NULL;
}

static void run_threads(struct load *l, unsigned n)
{
	pthread_t threads[THREADS];
	unsigned started = 0;

	if (n == 1) {
		(void)append_blocking(l);
		return;
	}
	while (started < n &&
	       pthread_create(&threads[started], NULL, append_blocking, l) == 0)
		started++;
	for (unsigned i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
}

/* ---- in flight ---- */

/* They land in the order in which they were submitted, one at a time. */
static void landed(void *ctx, int code, const struct weft_receipt *receipt,
		   const struct weft_error *err)
{
	struct load *l = ctx;
	uint64_t i = atomic_load_explicit(&l->landed, memory_order_relaxed);

	(void)receipt;
	if (code < 0) {
		l->err = *err;
		atomic_store(&l->failed, code);
	}
	times_add(&l->times, now_ns() - l->begun[i % l->window]);
	atomic_store(&l->landed, i + 1);
	if (i + 1 != atomic_load(&l->wake_at))
		return;
	(void)pthread_mutex_lock(&l->mutex);
	(void)pthread_cond_signal(&l->cond);
	(void)pthread_mutex_unlock(&l->mutex);
}

/* Sleep until so many have landed. */
static void wait_for(struct load *l, uint64_t n)
{
	(void)pthread_mutex_lock(&l->mutex);
	atomic_store(&l->wake_at, n);
	while (atomic_load(&l->landed) < n)
		(void)pthread_cond_wait(&l->cond, &l->mutex);
	(void)pthread_mutex_unlock(&l->mutex);
}

/* One producer that keeps `window` appends under way. */
static int run_flights(struct load *l, unsigned window)
{
	uint64_t sent = 0;
	int r = WEFT_OK;

	l->begun = mem_zero(window, sizeof(*l->begun));
	if (!l->begun)
		return fail_no_memory(&l->err);
	l->window = window;
	atomic_store(&l->landed, 0);
	while (now_ns() < l->until && r == WEFT_OK) {
		uint64_t i = atomic_fetch_add(&l->next, 1);
		char text[1100];
		struct weft_str m = bench_message(text, i);

		/* With room for some, so that it is not woken for each. */
		if (sent - atomic_load(&l->landed) == window)
			wait_for(l, sent - window + window / 8);
		l->begun[sent % window] = now_ns();
		r = weft_submit(l->store, l->ids[i * 7919 % SESSIONS], 26,
				m.ptr, m.len, NULL, landed, l, &l->err);
		sent += r == WEFT_OK;
	}
	wait_for(l, sent);
	l->done = sent;
	mem_free(l->begun);
	return r;
}

/* ---- rounds ---- */

enum { RAW1, RAW64, ONE_WRITER, THREADS64, IN_FLIGHT64, IN_FLIGHT256, LINES };

static int measure(struct load *l, int which, struct sample *ret)
{
	int64_t start = now_ns();
	int r = times_init(&l->times, 2000000, &l->err);

	if (r < 0)
		return r;
	l->done = 0;
	l->until = start + (int64_t)(l->bench->seconds * 1e9);
	if (which == ONE_WRITER || which == THREADS64)
		run_threads(l, which == ONE_WRITER ? 1 : THREADS);
	else
		r = run_flights(l, which == IN_FLIGHT64 ? 64 : 256);
	if (r == WEFT_OK)
		r = atomic_load(&l->failed);
	if (r == WEFT_OK)
		*ret = times_sample(&l->times, l->done, now_ns() - start);
	times_done(&l->times);
	return r;
}

/* A database has one limit: itself. */
static int measure_raw(struct load *l, struct sample *one, struct sample *many)
{
	struct bench *b = l->bench;
	int r = b->plain ? b->plain->appends(b, l->url, one) :
			   raw_appends(b, one);

	*many = *one;
	return r < 0 || b->plain ? r : raw_batches(b, 64, many);
}

static int measure_rounds(struct load *l,
			  struct sample v[LINES][BENCH_ROUNDS_MAX])
{
	struct bench *b = l->bench;
	int r = WEFT_OK;

	for (size_t i = 0; i < b->rounds && r == WEFT_OK; i++) {
		bench_show_round(b, i);
		r = measure_raw(l, &v[RAW1][i], &v[RAW64][i]);
		for (int k = ONE_WRITER; k < LINES && r == WEFT_OK; k++) {
			r = measure(l, k, &v[k][i]);
			if (r < 0)
				*b->err = l->err;
		}
	}
	bench_show_round(b, b->rounds);
	return r;
}

static void show(struct bench *b, struct sample v[LINES][BENCH_ROUNDS_MAX])
{
	static const char *const names[LINES] = {
		"raw1",      "raw64",      "one_writer",
		"threads64", "inflight64", "inflight256",
	};
	struct line_result lines[LINES];
	const char *note = NULL;

	for (int k = 0; k < LINES; k++) {
		const struct sample *raw =
			k == RAW1 || k == ONE_WRITER ? v[RAW1] : v[RAW64];

		lines[k] = bench_median(names[k], v[k], raw, b->rounds, false);
	}
	if (b->plain) {
		lines[RAW64].name = "plain";
		bench_print(b, &lines[RAW64], LINES - RAW64, NULL);
		return;
	}
	if (lines[RAW64].per_s < 20 * lines[RAW1].per_s)
		note = "raw64 is under 20 x raw1: this disk does not flush, or "
		       "the machine is busy; do not trust these ratios";
	bench_print(b, lines, LINES, note);
}

int bench_append(struct bench *b)
{
	static struct sample v[LINES][BENCH_ROUNDS_MAX];
	struct load l = { .bench = b };
	int r;

	(void)pthread_mutex_init(&l.mutex, NULL);
	(void)pthread_cond_init(&l.cond, NULL);
	bench_url(b, "store", l.url);
	l.ids = mem_zero(SESSIONS, sizeof(*l.ids));
	r = l.ids ? weft_open(l.url, NULL, &l.store, b->err) :
		    fail_no_memory(b->err);
	if (r == WEFT_OK)
		r = bench_sessions(l.store, SESSIONS, l.ids, b->err);
	if (r == WEFT_OK)
		r = measure_rounds(&l, v);
	(void)weft_close(l.store, NULL);
	if (r == WEFT_OK)
		show(b, v);
	mem_free(l.ids);
	(void)pthread_cond_destroy(&l.cond);
	(void)pthread_mutex_destroy(&l.mutex);
	return r;
}

/*
 * bench_build.c - a store of so many sessions, one of them so long.
 *
 * Made through the public functions, like any other: sessions by many threads
 * at once, so that they share flushes, and messages in batches.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/bench.h"

#define THREADS 32u
#define BATCH   500u

#define SHOW_FIRST_NS INT64_C(1000000000)
#define SHOW_THEN_NS  INT64_C(200000000)

struct building {
	struct weft_store *store;
	const struct bench_size *size;
	atomic_ullong next; /* session to be made */
	atomic_int failed;  /* a code; then `err`, of the first one */
	pthread_mutex_t mutex;
	struct weft_error err; /* mutex */
	pthread_t main;
	int64_t show_at; /* of the main thread: when to say how far it is */
	bool shown;
};

/* One line that is written over, if somebody looks and has waited. */
static void show(struct building *b, const char *what, uint64_t done,
		 uint64_t total)
{
	int64_t now = now_ns();

	if (now < b->show_at || isatty(STDERR_FILENO) != 1)
		return;
	b->show_at = now + SHOW_THEN_NS;
	b->shown = true;
	(void)fprintf(stderr, "\rweft: building: %llu of %llu %s\033[K",
		      (unsigned long long)done, (unsigned long long)total,
		      what);
}

static int make_session(struct building *b, const char *key,
			struct weft_error *err)
{
	struct weft_answer *answer;
	char request[100];
	int n = snprintf(request, sizeof(request),
			 "{\"method\":\"new\",\"key\":\"%s\"}", key);
	int r = weft_call(b->store, request, (size_t)n, &answer, err);

	if (r == WEFT_OK)
		weft_answer_free(answer);
	return r;
}

static void *make_sessions(void *ctx)
{
	struct building *b = ctx;
	/* The long one is one of them. */
	const uint64_t total = b->size->sessions - 1;

	while (atomic_load(&b->failed) == WEFT_OK) {
		uint64_t i = atomic_fetch_add(&b->next, 1);
		char key[BENCH_KEY_BYTES];
		struct weft_error err;

		if (i >= total)
			break;
		bench_key(key, i);
		if (make_session(b, key, &err) < 0) {
			(void)pthread_mutex_lock(&b->mutex);
			b->err = err;
			(void)pthread_mutex_unlock(&b->mutex);
			atomic_store(&b->failed, err.code);
		}
		if (pthread_equal(pthread_self(), b->main))
			show(b, "sessions", i, total);
	}
	return NULL;
}

static int build_sessions(struct building *b, struct weft_error *err)
{
	pthread_t threads[THREADS];
	unsigned started = 0;
	int r = make_session(b, BENCH_LONG, err);

	if (r < 0)
		return r;
	b->main = pthread_self();
	while (started < THREADS &&
	       pthread_create(&threads[started], NULL, make_sessions, b) == 0)
		started++;
	(void)make_sessions(b);
	for (unsigned i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	r = atomic_load(&b->failed);
	if (r < 0 && err)
		*err = b->err;
	return r;
}

static int build_messages(struct building *b, struct weft_error *err)
{
	const uint64_t total = b->size->messages;
	CLEANUP(buf_done) struct buf batch;
	int r = WEFT_OK;

	buf_init(&batch, 0);
	for (uint64_t i = 0; i < total && r == WEFT_OK; i += BATCH) {
		buf_reset(&batch);
		for (uint64_t k = i; k < i + BATCH && k < total; k++)
			buf_printf(&batch,
				   "%c{\"role\":\"%s\",\"content\":\"message "
				   "%llu of a long conversation\"}",
				   k == i ? '[' : ',',
				   k % 2 ? "assistant" : "user",
				   (unsigned long long)k);
		buf_add_c(&batch, ']');
		r = buf_error(&batch, err);
		if (r == WEFT_OK)
			r = weft_append(b->store, BENCH_LONG,
					strlen(BENCH_LONG), batch.ptr,
					batch.len, NULL, NULL, err);
		show(b, "messages", i, total);
	}
	return r;
}

/* How large it is; the door knows. */
static int count_bytes(struct weft_store *s, uint64_t *ret,
		       struct weft_error *err)
{
	static const char request[] = "{\"method\":\"stats\"}";
	CLEANUP(answer_done) struct answer a = { 0 };
	int r = weft_call(s, request, sizeof(request) - 1, &a.handle, err);

	if (r < 0)
		return r;
	a.text.ptr = weft_answer_text(a.handle, &a.text.len);
	a.doc = json_parse_trusted(a.text, NULL, 0);
	if (!a.doc)
		return fail_no_memory(err);
	*ret = val_u64(yyjson_doc_get_root(a.doc), "bytes");
	return WEFT_OK;
}

void bench_key(char out[BENCH_KEY_BYTES], uint64_t i)
{
	(void)snprintf(out, BENCH_KEY_BYTES, "bench:session:%llu",
		       (unsigned long long)i);
}

int bench_build(const char *url, const struct bench_size *size,
		struct bench_built *ret, struct weft_error *err)
{
	struct building b = {
		.size = size,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.show_at = now_ns() + SHOW_FIRST_NS,
	};
	int64_t start = now_ns();
	int r = weft_open(url, NULL, &b.store, err), closed;

	if (r == WEFT_OK)
		r = build_sessions(&b, err);
	if (r == WEFT_OK)
		r = build_messages(&b, err);
	if (r == WEFT_OK)
		r = count_bytes(b.store, &ret->bytes, err);
	closed = weft_close(b.store, r == WEFT_OK ? err : NULL);
	ret->seconds = (double)(now_ns() - start) / 1e9;
	if (b.shown)
		(void)fprintf(stderr, "\r\033[K");
	return r == WEFT_OK ? closed : r;
}

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

/* One call of the door, whose answer nobody looks at. */
static int ask(struct building *b, const char *request, struct weft_error *err)
{
	struct weft_answer *answer;
	int r = weft_call(b->store, request, strlen(request), &answer, err);

	if (r == WEFT_OK)
		weft_answer_free(answer);
	return r;
}

/* ---- sessions ---- */

static const char *channel_of(uint64_t i)
{
	static const char *const channels[] = { "telegram", "slack", "discord",
						"web", "matrix" };

	/* Few come through the last one. */
	return i % BENCH_RARE == 0 ? "sms" : channels[i % ARRAY_LEN(channels)];
}

/* One in ten is begun by hand, in a project; the others by routing. */
static bool is_by_hand(uint64_t i)
{
	return i % 10 == 9;
}

void bench_context(struct bench_context *c, uint64_t i)
{
	if (is_by_hand(i))
		i--;
	(void)snprintf(c->user, sizeof(c->user), "u%llu",
		       (unsigned long long)i);
	weft_route_options_init(&c->options, sizeof(c->options));
	c->options.channel = str_of(channel_of(i));
	c->options.chat_type = STR("direct");
	c->options.chat_id = str_of(c->user);
	c->options.sender_id = str_of(c->user);
}

void bench_alias(char out[BENCH_NAME_BYTES], uint64_t i)
{
	if (is_by_hand(i))
		(void)snprintf(out, BENCH_NAME_BYTES, "bench:%llu:a",
			       (unsigned long long)i);
	else
		(void)snprintf(out, BENCH_NAME_BYTES,
			       "agent:main:%s:default:direct:u%llu",
			       channel_of(i), (unsigned long long)i);
}

/* Each has a key and three aliases, and a person whose only one it is. */
static int make_session(struct building *b, uint64_t i, struct weft_error *err)
{
	unsigned long long n = i;
	struct bench_context c;
	struct weft_routed ret;
	char request[400];

	if (!is_by_hand(i)) {
		bench_context(&c, i);
		return weft_route(b->store, &c.options, &ret, err);
	}
	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"new\",\"key\":\"bench:%llu\",\"aliases\":"
		       "[\"bench:%llu:a\",\"bench:%llu:b\",\"bench:%llu:c\"],"
		       "\"user\":\"u%llu\",\"agent\":\"%s\",\"slug\":\"work "
		       "%llu\",\"project_dir\":\"/srv/bench/%llu\"}",
		       n, n, n, n, n, n % BENCH_RARE == 9 ? "rare" : "coder", n,
		       n / 1000);
	return ask(b, request, err);
}

static void *make_sessions(void *ctx)
{
	struct building *b = ctx;
	/* The long one is one of them. */
	const uint64_t total = b->size->sessions - 1;

	while (atomic_load(&b->failed) == WEFT_OK) {
		uint64_t i = atomic_fetch_add(&b->next, 1);
		struct weft_error err;

		if (i >= total)
			break;
		if (make_session(b, i, &err) < 0) {
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
	int r;

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

/* ---- messages, markers and forks ---- */

static int add_messages(struct building *b, const char *session, uint64_t from,
			uint64_t to, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf batch;
	int r;

	buf_init(&batch, 0);
	for (uint64_t k = from; k < to; k++)
		buf_printf(&batch,
			   "%c{\"role\":\"%s\",\"content\":\"message %llu of "
			   "a long conversation\"}",
			   k == from ? '[' : ',', k % 2 ? "assistant" : "user",
			   (unsigned long long)k);
	buf_add_c(&batch, ']');
	r = buf_error(&batch, err);
	return r == WEFT_OK ?
		       weft_append(b->store, session, strlen(session),
				   batch.ptr, batch.len, NULL, NULL, err) :
		       r;
}

static int add_marker(struct building *b, const char *session, uint64_t i,
		      struct weft_error *err)
{
	char request[200];

	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"compact\",\"session\":\"%s\",\"keep\":50,"
		       "\"summary\":\"what was said up to %llu\"}",
		       session, (unsigned long long)i);
	return ask(b, request, err);
}

/* The long session, with as many markers as it is to have, and one of the
 * forks at each. */
static int build_messages(struct building *b, struct weft_error *err)
{
	const uint64_t total = b->size->messages;
	const uint64_t part = u64_max(total / b->size->markers, 1);
	uint64_t next_marker = part, markers = 0;
	int r = ask(b, "{\"method\":\"new\",\"key\":\"" BENCH_LONG "\"}", err);

	for (uint64_t i = 0, to; i < total && r == WEFT_OK; i = to) {
		to = u64_min(u64_min(i + BATCH, total), next_marker);
		r = add_messages(b, BENCH_LONG, i, to, err);
		show(b, "messages", i, total);
		if (r < 0 || to < next_marker || markers == b->size->markers)
			continue;
		next_marker += part;
		markers++;
		r = add_marker(b, BENCH_LONG, to, err);
		if (r == WEFT_OK)
			r = ask(b,
				"{\"method\":\"fork\",\"session\":\"" BENCH_LONG
				"\"}",
				err);
	}
	return r;
}

/* A fork of a fork of ..., each with a message and a marker of its own. */
static int build_chain(struct building *b, struct weft_error *err)
{
	char request[200], name[BENCH_NAME_BYTES] = BENCH_LONG;
	int r = WEFT_OK;

	for (uint64_t i = 1; i <= b->size->forks && r == WEFT_OK; i++) {
		struct weft_answer *answer;

		(void)snprintf(request, sizeof(request),
			       "{\"method\":\"fork\",\"session\":\"%s\"}",
			       name);
		r = weft_call(b->store, request, strlen(request), &answer, err);
		if (r < 0)
			break;
		r = bench_id_of(answer, name, err);
		weft_answer_free(answer);
		if (r == WEFT_OK)
			r = add_messages(b, name, i, i + 1, err);
		if (r == WEFT_OK)
			r = add_marker(b, name, i, err);
		show(b, "forks", i, b->size->forks);
	}
	if (r < 0)
		return r;
	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"alias\",\"session\":\"%s\",\"alias\":"
		       "\"" BENCH_DEEP "\"}",
		       name);
	return ask(b, request, err);
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
		r = build_chain(&b, err);
	if (r == WEFT_OK)
		r = count_bytes(b.store, &ret->bytes, err);
	closed = weft_close(b.store, r == WEFT_OK ? err : NULL);
	ret->seconds = (double)(now_ns() - start) / 1e9;
	if (b.shown)
		(void)fprintf(stderr, "\r\033[K");
	return r == WEFT_OK ? closed : r;
}

/* test-engine.c - the engine under threads, at its limits, and in trouble. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"
#include "base/mem.h"
#include "engine/internal.h"
#include "store/store.h"

#define THREADS  64
#define SESSIONS 8

static const char hello[] = "{\"role\":\"user\",\"content\":\"hello\"}";

/* ---- helpers ---- */

static struct weft_store *open_store(const char *url)
{
	struct weft_error err = { 0 };
	struct weft_store *s = NULL;

	if (weft_open(url, NULL, &s, &err) < 0)
		fail_msg("%s", err.message);
	return s;
}

static void close_store(struct weft_store *s)
{
	assert_int_equal(weft_close(s, NULL), WEFT_OK);
}

struct id_text {
	char text[WEFT_ID_CHARS + 1];
};

static struct id_text begin_in(struct engine *e, const char *key)
{
	struct request *q = request_new(REQUEST_CREATE, NULL);
	struct id_text id;

	q->create.key = str_of(key);
	assert_int_equal(engine_run(e, q, NULL), WEFT_OK);
	id_format(&q->ret_session, id.text);
	request_free(q);
	return id;
}

static struct id_text begin(struct weft_store *s, const char *key)
{
	return begin_in(weft_store_engine(s), key);
}

static int append(struct weft_store *s, const char *session, const char *json,
		  struct weft_receipt *ret, struct weft_error *err)
{
	return weft_append(s, session, strlen(session), json, strlen(json),
			   NULL, ret, err);
}

static void expect_append(struct weft_store *s, const char *session,
			  const char *json, int code, const char *part)
{
	struct weft_error err = { 0 };

	assert_int_equal(append(s, session, json, NULL, &err), code);
	if (part && !strstr(err.message, part))
		fail_msg("'%s' has no '%s'", err.message, part);
}

static uint64_t head_of(struct weft_store *s, const char *session)
{
	uint64_t head = 0;

	assert_int_equal(
		weft_wait(s, session, strlen(session), 0, 0, &head, NULL),
		WEFT_OK);
	return head;
}

static int rounds(int n)
{
	const char *scale = getenv("WEFT_TEST_SCALE");

	return scale ? n * (int)strtol(scale, NULL, 10) : n;
}

/* ---- many threads ---- */

struct writer {
	pthread_t thread;
	struct weft_store *store;
	const struct id_text *sessions;
	int n;
	int failed;
	uint64_t last[SESSIONS]; /* seq of its last append */
	_Atomic int *seen;       /* per session and seq */
};

#define SEQS 100000

static void *write_many(void *arg)
{
	struct writer *w = arg;

	for (int i = 0; i < w->n; i++) {
		int at = i % SESSIONS;
		struct weft_receipt r;

		if (append(w->store, w->sessions[at].text, hello, &r, NULL) <
			    0 ||
		    r.seq <= w->last[at] || r.seq >= SEQS) {
			w->failed++;
			continue;
		}
		w->last[at] = r.seq;
		(void)atomic_fetch_add(&w->seen[at * SEQS + (int)r.seq], 1);
	}
	return NULL;
}

static void every_append_is_answered_once(void **state)
{
	struct weft_store *s = open_store("memory:?queue=16");
	_Atomic int *seen = mem_zero(SESSIONS * SEQS, sizeof(*seen));
	struct id_text ids[SESSIONS];
	struct writer w[THREADS];
	struct engine_stats stats;
	int each = rounds(40) / SESSIONS * SESSIONS;

	(void)state;
	for (int i = 0; i < SESSIONS; i++)
		ids[i] = begin(s, NULL);
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct writer){
			.store = s,
			.sessions = ids,
			.n = each,
			.seen = seen,
		};
		assert_int_equal(
			pthread_create(&w[i].thread, NULL, write_many, &w[i]),
			0);
	}
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].failed, 0);
	}
	for (int i = 0; i < SESSIONS; i++) {
		uint64_t head = head_of(s, ids[i].text);

		assert_int_equal(head, 1 + THREADS * each / SESSIONS);
		for (uint64_t seq = 2; seq <= head; seq++)
			assert_int_equal(seen[i * SEQS + (int)seq], 1);
	}
	engine_get_stats(weft_store_engine(s), &stats);
	assert_int_equal(stats.requests, SESSIONS + THREADS * each);
	assert_int_equal(stats.events, stats.requests);
	assert_int_equal(stats.queued, 0);
	assert_true(stats.queue_max <= 16);
	assert_int_equal(stats.refused, 0);
	mem_free(seen);
	close_store(s);
}

/* ---- submitting ---- */

/* Counts answers, and checks that the seqs of a session rise. */
struct tally {
	_Atomic int answered, failed, unordered;
	_Atomic int code; /* of the last failure */
	uint64_t last;    /* of the committer alone */
	sem_t *gate;      /* wait here before the first answer returns */
};

static void count_answer(void *ctx, int code, const struct weft_receipt *r,
			 const struct weft_error *err)
{
	struct tally *t = ctx;

	(void)err;
	if (code < 0) {
		atomic_store(&t->code, code);
		(void)atomic_fetch_add(&t->failed, 1);
	} else {
		if (r->seq <= t->last)
			(void)atomic_fetch_add(&t->unordered, 1);
		t->last = r->seq;
	}
	if (atomic_fetch_add(&t->answered, 1) == 0 && t->gate)
		(void)sem_wait(t->gate);
}

static int submit(struct weft_store *s, const char *session, struct tally *t,
		  struct weft_error *err)
{
	return weft_submit(s, session, strlen(session), hello, strlen(hello),
			   NULL, count_answer, t, err);
}

static void until_answered(struct tally *t, int n)
{
	while (atomic_load(&t->answered) < n)
		(void)usleep(500);
}

static void what_was_accepted_is_answered_in_order(void **state)
{
	struct weft_store *s = open_store("memory:");
	struct id_text id = begin(s, NULL);
	struct tally t = { 0 };

	(void)state;
	for (int i = 0; i < 2000; i++)
		assert_int_equal(submit(s, id.text, &t, NULL), WEFT_OK);
	/* Closing waits for all of them. */
	close_store(s);
	assert_int_equal(t.answered, 2000);
	assert_int_equal(t.failed, 0);
	assert_int_equal(t.unordered, 0);
}

/* A store whose committer is stuck in an answer until the gate is opened. */
struct stuck {
	struct weft_store *store;
	struct id_text id;
	struct tally first;
	sem_t gate;
};

static void stick(struct stuck *x, struct weft_store *s)
{
	*x = (struct stuck){ .store = s, .id = begin(s, NULL) };
	(void)sem_init(&x->gate, 0, 0);
	x->first.gate = &x->gate;
	assert_int_equal(submit(s, x->id.text, &x->first, NULL), WEFT_OK);
	until_answered(&x->first, 1);
}

static void unstick(struct stuck *x)
{
	(void)sem_post(&x->gate);
}

static void a_full_queue_is_busy(void **state)
{
	struct weft_store *s = open_store("memory:?queue=4");
	struct tally t = { 0 };
	struct weft_error err;
	struct stuck x;

	(void)state;
	stick(&x, s);
	for (int i = 0; i < 4; i++)
		assert_int_equal(submit(s, x.id.text, &t, NULL), WEFT_OK);
	assert_int_equal(submit(s, x.id.text, &t, &err), WEFT_BUSY);
	assert_non_null(strstr(err.message, "limit queue"));
	unstick(&x);
	until_answered(&t, 4);
	assert_int_equal(submit(s, x.id.text, &t, NULL), WEFT_OK);
	close_store(s);
	assert_int_equal(t.answered, 5);
}

static void an_event_loop_gets_its_tickets(void **state)
{
	struct weft_store *s = open_store("memory:");
	struct id_text id = begin(s, NULL);
	struct weft_ticket tickets[100] = { 0 };
	struct weft_queue *q;
	int n = 0, bad = 0;

	(void)state;
	assert_int_equal(weft_queue_new(&q, NULL), WEFT_OK);
	for (int i = 0; i < 100; i++) {
		const char *session = i == 50 ? "nobody's" : id.text;

		tickets[i].queue = q;
		if (weft_submit(s, session, strlen(session), hello,
				strlen(hello), NULL, weft_queue_done,
				&tickets[i], NULL) < 0)
			bad++;
	}
	while (n < 99) {
		struct pollfd p = { .fd = weft_queue_fd(q), .events = POLLIN };
		struct weft_ticket *t;

		assert_int_equal(poll(&p, 1, 10000), 1);
		while ((t = weft_queue_next(q))) {
			assert_int_equal(t->code, WEFT_OK);
			assert_int_equal(t->receipt.seq, 2 + n);
			assert_string_equal(t->receipt.session, id.text);
			n++;
		}
	}
	assert_int_equal(bad, 1);
	weft_queue_free(q);
	close_store(s);
}

/* ---- trouble ---- */

/* The public handle is only for what has one; see weft_store_engine. */
struct faulty {
	struct engine *engine;
	struct store *store;
	struct id_text id;
};

static void faulty_open(struct faulty *f)
{
	struct store_open o = { .flags = STORE_CREATE };
	struct store *memory;

	assert_int_equal(store_open_url("memory:", &o, &memory, NULL), WEFT_OK);
	assert_int_equal(store_fault(memory, &f->store, NULL), WEFT_OK);
	assert_int_equal(engine_start(f->store, NULL, 0, &f->engine, NULL),
			 WEFT_OK);
	f->id = begin_in(f->engine, "k");
}

static void faulty_close(struct faulty *f)
{
	assert_int_equal(engine_close(f->engine, NULL), WEFT_OK);
}

static struct request *message_to(struct engine *e, const char *session,
				  const char *op)
{
	struct request *q = request_new(REQUEST_APPEND, NULL);

	assert_non_null(q);
	assert_true(id_parse(str_of(session), &q->session));
	q->op = str_of(op);
	q->messages = ARENA_NEW(&q->arena, struct message);
	q->n_messages = 1;
	assert_int_equal(message_check(STR(hello), engine_limits(e), &q->arena,
				       q->messages, NULL),
			 WEFT_OK);
	q->bytes = q->messages->body.len;
	return q;
}

static int faulty_append(struct faulty *f, const char *op, uint32_t *replayed,
			 struct weft_error *err)
{
	struct request *q = message_to(f->engine, f->id.text, op);
	int r = engine_run(f->engine, q, err);

	if (replayed)
		*replayed = q->ret_replayed;
	request_free(q);
	return r;
}

static uint64_t faulty_head(struct faulty *f)
{
	CLEANUP(arena_done) struct arena a;
	struct session_rec rec;
	struct weft_id id;

	arena_init(&a, 0);
	assert_true(id_parse(str_of(f->id.text), &id));
	assert_int_equal(engine_session(f->engine, &id, &a, &rec, NULL),
			 WEFT_OK);
	return rec.head_seq;
}

static void after_a_failed_write_there_is_none(void **state)
{
	const int codes[] = { WEFT_IO, WEFT_UNKNOWN };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct weft_error err = { 0 };
		struct faulty f;

		faulty_open(&f);
		assert_int_equal(faulty_append(&f, "a", NULL, &err), WEFT_OK);
		store_fault_set(f.store,
				codes[i] == WEFT_IO ? FAULT_WRITE :
						      FAULT_WRITE_LATE,
				0, 1, codes[i]);
		assert_int_equal(faulty_append(&f, "b", NULL, &err), codes[i]);
		assert_string_equal(err.message, "a fault was asked for");
		/* The store would take it now; we do not. */
		assert_int_equal(faulty_append(&f, "c", NULL, &err), WEFT_IO);
		assert_non_null(strstr(err.message, "a fault was asked for"));
		assert_non_null(strstr(err.message, "reopen the store"));
		/* Reading goes on, and tells what happened. */
		assert_int_equal(faulty_head(&f), codes[i] == WEFT_IO ? 2 : 3);
		faulty_close(&f);
	}
}

static void a_refusal_of_the_store_is_no_end(void **state)
{
	const int codes[] = { WEFT_NO_SPACE, WEFT_BUSY, WEFT_LIMIT,
			      WEFT_NO_MEMORY };
	struct faulty f;

	(void)state;
	faulty_open(&f);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		uint32_t replayed = 9;

		store_fault_set(f.store, FAULT_WRITE, 0, 1, codes[i]);
		assert_int_equal(faulty_append(&f, "x", NULL, NULL), codes[i]);
		store_fault_set(f.store, 0, 0, 0, WEFT_OK);
		assert_int_equal(faulty_append(&f, NULL, &replayed, NULL),
				 WEFT_OK);
		assert_int_equal(replayed, 0);
		assert_int_equal(faulty_head(&f), 2 + i);
	}
	faulty_close(&f);
}

/* Many requests that are sure to be one batch. */
struct gathering {
	sem_t gate;
	sem_t answers;
	_Atomic int ok, failed;
};

static void stop_at_gate(struct request *q)
{
	struct gathering *g = q->ctx;

	(void)sem_post(&g->answers);
	(void)sem_wait(&g->gate);
	request_free(q);
}

static void note_answer(struct request *q)
{
	struct gathering *g = q->ctx;

	(void)atomic_fetch_add(q->status < 0 ? &g->failed : &g->ok, 1);
	request_free(q);
	(void)sem_post(&g->answers);
}

static void submit_to(struct faulty *f, struct gathering *g,
		      void (*done)(struct request *q))
{
	struct request *q = message_to(f->engine, f->id.text, NULL);

	q->done = done;
	q->ctx = g;
	assert_int_equal(engine_submit(f->engine, q, NULL), WEFT_OK);
}

/* Gather n requests behind the gate, set the fault, let them go. */
static void write_together(struct faulty *f, struct gathering *g, int n,
			   uint64_t failures, int code)
{
	*g = (struct gathering){ 0 };
	(void)sem_init(&g->gate, 0, 0);
	(void)sem_init(&g->answers, 0, 0);
	submit_to(f, g, stop_at_gate);
	(void)sem_wait(&g->answers);
	for (int i = 0; i < n; i++)
		submit_to(f, g, note_answer);
	store_fault_set(f->store, FAULT_WRITE, 0, failures, code);
	(void)sem_post(&g->gate);
	for (int i = 0; i < n; i++)
		(void)sem_wait(&g->answers);
	store_fault_set(f->store, 0, 0, 0, WEFT_OK);
}

static void a_batch_that_is_too_large_is_split(void **state)
{
	struct gathering g;
	struct faulty f;

	(void)state;
	faulty_open(&f);
	/* 64, then 32, then 16 are too many. */
	write_together(&f, &g, 64, 3, WEFT_LIMIT);
	assert_int_equal(g.ok, 64);
	assert_int_equal(faulty_head(&f), 1 + 65);
	write_together(&f, &g, 7, 2, WEFT_NO_MEMORY);
	assert_int_equal(g.ok, 7);
	/* Down to one that is still refused: only it. */
	write_together(&f, &g, 8, 4, WEFT_LIMIT);
	assert_int_equal(g.ok, 7);
	assert_int_equal(g.failed, 1);
	/* Any other error is everybody's. */
	write_together(&f, &g, 8, 1, WEFT_NO_SPACE);
	assert_int_equal(g.failed, 8);
	write_together(&f, &g, 8, 1, WEFT_UNKNOWN);
	assert_int_equal(g.failed, 8);
	faulty_close(&f);
}

static void no_memory_is_never_taken_for_success(void **state)
{
	struct weft_store *s = open_store("memory:");
	struct id_text id = begin(s, NULL);
	uint64_t expected = 1;
	uint64_t hits = 1;

	(void)state;
	for (int n = 0; hits; n++) {
		struct weft_receipt r = { 0 };
		int code;

		mem_fault(n, 1);
		code = append(s, id.text, hello, &r, NULL);
		hits = mem_faults_hit();
		mem_fault(-1, 0);
		if (code == WEFT_OK)
			assert_int_equal(r.seq, ++expected);
		else
			assert_int_equal(code, WEFT_NO_MEMORY);
		assert_int_equal(head_of(s, id.text), expected);
	}
	close_store(s);
}

static void appends_cost_a_constant_number_of_allocations(void **state)
{
	/* Keeps what it is given nowhere: what is counted is ours. */
	struct weft_store *s = open_store("memory:");
	struct id_text id = begin(s, NULL);
	uint64_t counts[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t before;

		for (int k = 0; k < 1000; k++)
			expect_append(s, id.text, hello, WEFT_OK, NULL);
		before = mem_allocations();
		for (int k = 0; k < 100; k++)
			expect_append(s, id.text, hello, WEFT_OK, NULL);
		counts[i] = mem_allocations() - before;
	}
	print_message("# %.2f allocations per append, the store's included\n",
		      (double)counts[1] / 100);
	assert_true(counts[1] <= counts[0] + 2);
	close_store(s);
}

static int child_of_fork(struct weft_store *s, const char *session)
{
	struct weft_page *page = NULL;
	struct weft_error err = { 0 };
	struct tally t = { 0 };
	int bad = 0;

	bad += submit(s, session, &t, &err) != WEFT_IO;
	bad += !strstr(err.message, "before fork()");
	bad += append(s, session, hello, NULL, &err) != WEFT_IO;
	bad += weft_read(s, session, strlen(session), NULL, &page, NULL) !=
	       WEFT_IO;
	bad += weft_wait(s, session, strlen(session), 9, -1, NULL, NULL) !=
	       WEFT_IO;
	bad += weft_close(s, NULL) != WEFT_OK;
	return bad;
}

static void a_store_does_not_survive_fork(void **state)
{
	struct weft_store *s = open_store("memory:");
	struct id_text id = begin(s, NULL);
	int status = -1;
	pid_t pid;

	(void)state;
	expect_append(s, id.text, hello, WEFT_OK, NULL);
	pid = fork();
	if (pid == 0)
		_exit(child_of_fork(s, id.text));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	expect_append(s, id.text, hello, WEFT_OK, NULL);
	close_store(s);
}

static void a_reader_writes_nothing(void **state)
{
	struct store_open o = { .flags = STORE_CREATE };
	struct weft_error err;
	struct engine *e;
	struct request *q = request_new(REQUEST_CREATE, NULL);
	struct store *memory;

	(void)state;
	assert_int_equal(store_open_url("memory:", &o, &memory, NULL), WEFT_OK);
	assert_int_equal(
		engine_start(memory, NULL, WEFT_OPEN_READ_ONLY, &e, NULL),
		WEFT_OK);
	assert_int_equal(engine_run(e, q, &err), WEFT_READ_ONLY);
	assert_int_equal(engine_submit(e, q, &err), WEFT_READ_ONLY);
	request_free(q);
	assert_int_equal(engine_close(e, NULL), WEFT_OK);
}

/* ---- tidying up ---- */

static void count_tidying(void *ctx, const char *line)
{
	if (strncmp(line, "maintain", 8) == 0)
		(void)atomic_fetch_add((_Atomic int *)ctx, 1);
}

static void idle_sessions_are_let_go_of(void **state)
{
	struct store_open o = { .flags = STORE_CREATE };
	_Atomic int tidied = 0;
	struct store *memory, *store;
	struct engine *e;
	int before;

	(void)state;
	assert_int_equal(
		store_open_url("memory:?idle_ms=30", &o, &memory, NULL),
		WEFT_OK);
	assert_int_equal(
		store_trace(memory, count_tidying, &tidied, &store, NULL),
		WEFT_OK);
	assert_int_equal(engine_start(store, NULL, 0, &e, NULL), WEFT_OK);
	(void)usleep(100000);
	/* Nothing was used. */
	assert_int_equal(atomic_load(&tidied), 0);
	(void)begin_in(e, NULL);
	while (atomic_load(&tidied) == 0)
		(void)usleep(1000);
	/* At most once more, and then never. */
	(void)usleep(300000);
	before = atomic_load(&tidied);
	assert_true(before <= 2);
	(void)usleep(200000);
	assert_int_equal(atomic_load(&tidied), before);
	assert_int_equal(engine_close(e, NULL), WEFT_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_append_is_answered_once),
		cmocka_unit_test(what_was_accepted_is_answered_in_order),
		cmocka_unit_test(a_full_queue_is_busy),
		cmocka_unit_test(an_event_loop_gets_its_tickets),
		cmocka_unit_test(after_a_failed_write_there_is_none),
		cmocka_unit_test(a_refusal_of_the_store_is_no_end),
		cmocka_unit_test(a_batch_that_is_too_large_is_split),
		cmocka_unit_test(no_memory_is_never_taken_for_success),
		cmocka_unit_test(appends_cost_a_constant_number_of_allocations),
		cmocka_unit_test(a_store_does_not_survive_fork),
		cmocka_unit_test(a_reader_writes_nothing),
		cmocka_unit_test(idle_sessions_are_let_go_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

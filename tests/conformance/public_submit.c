/* public_submit.c - appending without waiting, queues, many threads. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "conformance/public.h"

#define MANY 200

/* What the callbacks saw; asserted on afterwards, on the main thread. */
struct tally {
	sem_t all; /* posted once for each answer */
	atomic_int answers, refused;
	uint64_t seqs[MANY];
	int n_seqs; /* written by the library's thread only */
	pthread_t asker;
	atomic_bool on_asker; /* an answer came on the thread that asked */
	sem_t *gate;          /* the first answer waits for it, or NULL */
};

static void tally_init(struct tally *t)
{
	memset(t, 0, sizeof(*t));
	t->asker = pthread_self();
	assert_int_equal(sem_init(&t->all, 0, 0), 0);
}

static void count_answer(void *ctx, int code,
			 const struct weft_receipt *receipt,
			 const struct weft_error *err)
{
	struct tally *t = ctx;

	if (t->gate && atomic_load(&t->answers) == 0)
		while (sem_wait(t->gate) < 0)
			;
	if (code == WEFT_OK && t->n_seqs < MANY)
		t->seqs[t->n_seqs++] = receipt->seq;
	if (code != WEFT_OK && err && err->code == code)
		(void)atomic_fetch_add(&t->refused, 1);
	if (pthread_equal(pthread_self(), t->asker))
		atomic_store(&t->on_asker, true);
	(void)atomic_fetch_add(&t->answers, 1);
	(void)sem_post(&t->all);
}

static int submit(struct desk *d, const char *session, const char *json,
		  weft_done *done, void *ctx)
{
	return weft_submit(d->store, session, strlen(session), json,
			   strlen(json), NULL, done, ctx, &d->err);
}

static void wait_for(struct tally *t, int answers)
{
	for (int i = 0; i < answers; i++)
		while (sem_wait(&t->all) < 0)
			;
}

static void every_submission_is_answered_once_and_in_order(void **state)
{
	struct desk *d = *state;
	struct tally t;
	char json[128];

	tally_init(&t);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(json, sizeof(json),
			       "{\"role\":\"user\",\"content\":\"m%d\"}", i);
		desk_ok(d, submit(d, d->id, json, count_answer, &t));
	}
	wait_for(&t, MANY);
	assert_int_equal(atomic_load(&t.answers), MANY);
	assert_int_equal(t.n_seqs, MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(t.seqs[i], i + 2);
	assert_false(atomic_load(&t.on_asker));
	assert_int_equal(desk_head(d, d->id), MANY + 1);
}

static void what_is_refused_at_once_is_never_answered(void **state)
{
	struct desk *d = *state;
	struct tally t;

	tally_init(&t);
	desk_fails(d, submit(d, d->id, "no json", count_answer, &t),
		   WEFT_INVALID, "");
	desk_fails(d,
		   submit(d, "nobody", "{\"role\":\"user\",\"content\":\"x\"}",
			  count_answer, &t),
		   WEFT_NOT_FOUND, "nobody");
	desk_fails(d,
		   submit(d, d->id, "{\"role\":\"user\",\"content\":\"x\"}",
			  NULL, NULL),
		   WEFT_INVALID, "");
	desk_say(d, d->id, "x");
	assert_int_equal(atomic_load(&t.answers), 0);
}

static void bad_ones_are_refused_alone(void **state)
{
	struct desk *d = *state;
	struct tally t;

	tally_init(&t);
	for (int i = 0; i < 30; i++) {
		/* One in three expects what does not hold. */
		desk_ok(d, submit(d, d->id,
				  i % 3 ? "{\"role\":\"user\",\"content\":"
					  "\"good\"}" :
					  "{\"role\":\"user\",\"content\":"
					  "\"bad\",\"expect\":7777}",
				  count_answer, &t));
	}
	wait_for(&t, 30);
	assert_int_equal(atomic_load(&t.refused), 10);
	assert_int_equal(t.n_seqs, 20);
	assert_int_equal(desk_head(d, d->id), 21);
	assert_null(strstr(desk_texts(d, d->id), "bad"));
}

static void a_full_queue_says_busy_and_takes_nothing(void **state)
{
	struct desk *d = *state;
	const char *hello = "{\"role\":\"user\",\"content\":\"x\"}";
	struct tally t;
	sem_t gate;
	int taken = 0, r = WEFT_OK;

	desk_reopen(d, "queue=8");
	tally_init(&t);
	assert_int_equal(sem_init(&gate, 0, 0), 0);
	t.gate = &gate;
	/* Nothing goes on while the first answer is being heard. */
	while (taken < 1000 && r == WEFT_OK) {
		r = submit(d, d->id, hello, count_answer, &t);
		taken += r == WEFT_OK;
	}
	desk_fails(d, r, WEFT_BUSY, "");
	assert_true(taken >= 8);
	(void)sem_post(&gate);
	wait_for(&t, taken);
	assert_int_equal(atomic_load(&t.answers), taken);
	assert_int_equal(desk_head(d, d->id), taken + 1);
	desk_ok(d, submit(d, d->id, hello, count_answer, &t));
	wait_for(&t, 1);
}

struct chain {
	struct desk *d;
	struct weft_error err; /* not the desk's: that is the other thread's */
	atomic_int left;
	sem_t end;
	atomic_int failed;
};

static void submit_next(void *ctx, int code, const struct weft_receipt *receipt,
			const struct weft_error *err)
{
	static const char next[] = "{\"role\":\"user\",\"content\":\"n\"}";
	struct chain *c = ctx;

	(void)receipt;
	(void)err;
	if (code != WEFT_OK || atomic_fetch_sub(&c->left, 1) == 1) {
		atomic_store(&c->failed, code);
		(void)sem_post(&c->end);
		return;
	}
	code = weft_submit(c->d->store, c->d->id, WEFT_ID_CHARS, next,
			   strlen(next), NULL, submit_next, c, &c->err);
	if (code != WEFT_OK) {
		atomic_store(&c->failed, code);
		(void)sem_post(&c->end);
	}
}

static void an_answer_may_submit_the_next(void **state)
{
	struct chain c = { .d = *state, .left = 50 };

	assert_int_equal(sem_init(&c.end, 0, 0), 0);
	desk_ok(c.d, submit(c.d, c.d->id,
			    "{\"role\":\"user\",\"content\":\"first\"}",
			    submit_next, &c));
	while (sem_wait(&c.end) < 0)
		;
	assert_int_equal(atomic_load(&c.failed), WEFT_OK);
	assert_int_equal(desk_head(c.d, c.d->id), 51);
}

static void closing_waits_for_every_answer(void **state)
{
	struct desk *d = *state;
	struct tally t;

	tally_init(&t);
	for (int i = 0; i < MANY; i++)
		desk_ok(d, submit(d, d->id,
				  "{\"role\":\"user\",\"content\":\"x\"}",
				  count_answer, &t));
	desk_ok(d, weft_close(d->store, &d->err));
	assert_int_equal(atomic_load(&t.answers), MANY);
	assert_int_equal(t.n_seqs, MANY);
	d->store = NULL;
	desk_ok(d, desk_open_again(d, NULL, 0, &d->store));
	if (is_place(d->url))
		assert_int_equal(desk_head(d, d->id), MANY + 1);
}

/* ---- queues ---- */

static bool is_readable(const struct weft_queue *q, int timeout_ms)
{
	struct pollfd p = { .fd = weft_queue_fd(q), .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1 && (p.revents & POLLIN);
}

static void a_queue_hands_out_what_is_finished(void **state)
{
	struct desk *d = *state;
	struct weft_ticket tickets[20] = { 0 };
	struct weft_queue *q;
	int seen = 0, numbers[20];

	desk_ok(d, weft_queue_new(&q, &d->err));
	assert_true(weft_queue_fd(q) >= 0);
	assert_false(is_readable(q, 0));
	assert_null(weft_queue_next(q));
	for (int i = 0; i < 20; i++) {
		numbers[i] = i;
		tickets[i].queue = q;
		tickets[i].user = &numbers[i];
		desk_ok(d, submit(d, d->id,
				  i == 7 ? "{\"role\":\"user\",\"content\":"
					   "\"x\",\"expect\":999}" :
					   "{\"role\":\"user\",\"content\":"
					   "\"x\"}",
				  weft_queue_done, &tickets[i]));
	}
	while (seen < 20) {
		struct weft_ticket *ticket;

		assert_true(is_readable(q, 20000));
		while ((ticket = weft_queue_next(q))) {
			/* In the order in which the appends took place. */
			assert_int_equal(*(int *)ticket->user, seen);
			if (seen == 7) {
				assert_int_equal(ticket->code, WEFT_STALE);
				assert_int_equal(ticket->error.code,
						 WEFT_STALE);
			} else {
				assert_int_equal(ticket->code, WEFT_OK);
				assert_int_equal(ticket->receipt.seq,
						 seen + 2 - (seen > 7));
			}
			seen++;
		}
	}
	assert_false(is_readable(q, 0));
	weft_queue_free(q);
}

/* ---- threads ---- */

#define WRITERS 4
#define EACH    50

struct writer {
	pthread_t thread;
	struct desk *d;
	struct weft_error err;
	const char *own; /* a session that nobody else writes to */
	int r;
	bool out_of_order;
};

static void *write_on(void *ctx)
{
	static const char json[] = "{\"role\":\"user\",\"content\":\"x\"}";
	struct writer *w = ctx;
	uint64_t last = 0;

	for (int i = 0; i < EACH && w->r == WEFT_OK; i++) {
		struct weft_receipt shared, own;

		w->r = weft_append(w->d->store, w->d->id, WEFT_ID_CHARS, json,
				   strlen(json), NULL, &shared, &w->err);
		if (w->r == WEFT_OK)
			w->r = weft_append(w->d->store, w->own, WEFT_ID_CHARS,
					   json, strlen(json), NULL, &own,
					   &w->err);
		if (w->r == WEFT_OK &&
		    (shared.seq <= last || own.seq != (uint64_t)i + 2))
			w->out_of_order = true;
		last = shared.seq;
	}
	return NULL;
}

static void many_threads_may_write_at_once(void **state)
{
	struct desk *d = *state;
	struct writer writers[WRITERS] = { 0 };

	for (int i = 0; i < WRITERS; i++)
		writers[i] = (struct writer){ .d = d, .own = desk_new(d, "") };
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&writers[i].thread, NULL,
						write_on, &writers[i]),
				 0);
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
		assert_int_equal(writers[i].r, WEFT_OK);
		assert_false(writers[i].out_of_order);
		assert_int_equal(desk_head(d, writers[i].own), EACH + 1);
	}
	assert_int_equal(desk_head(d, d->id), WRITERS * EACH + 1);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(every_submission_is_answered_once_and_in_order),
	PUBLIC_TEST(what_is_refused_at_once_is_never_answered),
	PUBLIC_TEST(bad_ones_are_refused_alone),
	PUBLIC_TEST(a_full_queue_says_busy_and_takes_nothing),
	PUBLIC_TEST(an_answer_may_submit_the_next),
	PUBLIC_TEST(closing_waits_for_every_answer),
	PUBLIC_TEST(a_queue_hands_out_what_is_finished),
	PUBLIC_TEST(many_threads_may_write_at_once),
};

const struct suite public_submit_suite = { tests, ARRAY_LEN(tests) };

/*
 * public_load.c - much in flight, from several threads, over few sessions.
 *
 * What is submitted together may be written together, or planned while what
 * came before it is being written: whichever it is, every answer is the one
 * that it would be if each came alone.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "conformance/public.h"

#define THREADS  4
#define SESSIONS 3
#define EACH     400

enum deed_kind {
	PLAIN,
	WITH_OP,
	AGAIN, /* one that has an operation id */
	WRONG  /* expects what does not hold */
};

struct deed {
	struct talker *by;
	unsigned no; /* of its talker */
	enum deed_kind kind;
	unsigned session;
	struct deed *first; /* AGAIN: of what */
	bool erased, seen;

	/* The answer. */
	int code;
	uint64_t seq;
	uint32_t replayed;
};

struct talker {
	pthread_t thread;
	struct load *load;
	unsigned no;
	uint64_t random;
	struct deed deeds[EACH];
	unsigned answered; /* by the library's thread */
	bool in_disorder;
	atomic_uint heard; /* the same, for others to see */
	int r;             /* of a call that should not have failed */
	struct weft_error err;
};

struct load {
	struct weft_store *store;
	char sessions[SESSIONS][WEFT_ID_CHARS + 1];
	struct talker talkers[THREADS];
	unsigned each; /* how much each of them has to say */
};

static unsigned pick(struct talker *t, unsigned n)
{
	t->random = t->random * UINT64_C(6364136223846793005) +
		    UINT64_C(1442695040888963407);
	return (unsigned)(t->random >> 33) % n;
}

static void hear(void *ctx, int code, const struct weft_receipt *receipt,
		 const struct weft_error *err)
{
	struct deed *d = ctx;
	struct talker *t = d->by;

	d->code = code;
	if (code == WEFT_OK) {
		d->seq = receipt->seq;
		d->replayed = receipt->replayed;
	} else if (!err || err->code != code) {
		t->in_disorder = true;
	}
	if (d->no != t->answered++)
		t->in_disorder = true;
	(void)atomic_fetch_add(&t->heard, 1);
}

/* The last deed before this one that has an operation id, or NULL. */
static struct deed *last_with_op(struct talker *t, unsigned no)
{
	while (no-- > 0)
		if (t->deeds[no].kind == WITH_OP)
			return &t->deeds[no];
	return NULL;
}

static void think_of(struct talker *t, unsigned no)
{
	static const enum deed_kind kinds[] = { PLAIN, PLAIN,   PLAIN, PLAIN,
						PLAIN, WITH_OP, AGAIN, WRONG };
	struct deed *d = &t->deeds[no];

	*d = (struct deed){ .by = t, .no = no };
	d->kind = kinds[pick(t, ARRAY_LEN(kinds))];
	d->session = pick(t, SESSIONS);
	if (d->kind == AGAIN)
		d->first = last_with_op(t, no);
	if (d->kind == AGAIN && !d->first)
		d->kind = PLAIN;
	if (d->first)
		d->session = d->first->session;
}

static int submit_deed(struct talker *t, struct deed *d)
{
	const struct deed *said = d->first ? d->first : d;
	struct weft_append_options o;
	char json[96], op[32];
	int n;

	weft_append_options_init(&o, sizeof(o));
	n = snprintf(json, sizeof(json),
		     "{\"role\":\"user\",\"content\":\"<%u/%u>\"}", t->no,
		     said->no);
	if (said->kind == WITH_OP) {
		o.op = op;
		o.op_len = (size_t)snprintf(op, sizeof(op), "op %u/%u", t->no,
					    said->no);
	}
	if (d->kind == WRONG)
		o.expect = 77777777;
	return weft_submit(t->load->store, t->load->sessions[d->session],
			   WEFT_ID_CHARS, json, (size_t)n, &o, hear, d,
			   &t->err);
}

/* Things that are done one by one; the answer is not of interest. */
static int call(struct talker *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int call(struct talker *t, const char *format, ...)
{
	struct weft_answer *answer = NULL;
	char request[200];
	va_list args;
	int r, n;

	va_start(args, format);
	n = vsnprintf(request, sizeof(request), format, args);
	va_end(args);
	r = weft_call(t->load->store, request, (size_t)n, &answer, &t->err);
	weft_answer_free(answer);
	return r;
}

/* The last one of one's own that is known to be there, or NULL. */
static struct deed *last_heard(struct talker *t)
{
	for (unsigned i = atomic_load(&t->heard); i-- > 0;) {
		struct deed *d = &t->deeds[i];

		if (d->code == WEFT_OK && d->kind == PLAIN && !d->erased)
			return d;
	}
	return NULL;
}

static int do_something_else(struct talker *t)
{
	struct deed *d = last_heard(t);
	const char *id;

	if (!d)
		return WEFT_OK;
	id = t->load->sessions[d->session];
	switch (pick(t, 6)) {
	case 0:
		return call(t, "{\"method\":\"new\",\"key\":\"k%u-%u\"}", t->no,
			    d->no);
	case 1:
		return call(
			t,
			"{\"method\":\"fork\",\"session\":\"%s\",\"at\":%llu}",
			id, (unsigned long long)d->seq);
	case 2:
		return call(t,
			    "{\"method\":\"redact\",\"session\":\"%s\","
			    "\"messages\":[%llu]}",
			    id, (unsigned long long)d->seq);
	case 3:
		return call(t,
			    "{\"method\":\"alias\",\"session\":\"%s\","
			    "\"alias\":\"n%u-%u\"}",
			    id, t->no, d->no);
	case 4:
		return call(t,
			    "{\"method\":\"usage_add\",\"session\":\"%s\","
			    "\"usage\":{\"input_tokens\":1}}",
			    id);
	default:
		d->erased = true;
		return call(t,
			    "{\"method\":\"erase\",\"session\":\"%s\","
			    "\"messages\":[%llu]}",
			    id, (unsigned long long)d->seq);
	}
}

static void *talk(void *ctx)
{
	struct talker *t = ctx;

	for (unsigned i = 0; i < t->load->each && t->r == WEFT_OK; i++) {
		think_of(t, i);
		do {
			t->r = submit_deed(t, &t->deeds[i]);
			if (t->r == WEFT_BUSY)
				(void)sched_yield();
		} while (t->r == WEFT_BUSY);
		if (t->r == WEFT_OK && pick(t, 40) == 0)
			t->r = do_something_else(t);
	}
	return NULL;
}

static struct load *load_new(struct desk *d, unsigned each)
{
	struct load *load = calloc(1, sizeof(*load));

	assert_non_null(load);
	load->store = d->store;
	load->each = each;
	for (unsigned i = 0; i < SESSIONS; i++) {
		(void)snprintf(load->sessions[i], WEFT_ID_CHARS + 1, "%s",
			       desk_new(d, ""));
		/* So that it can be forked. */
		(void)desk_say(d, load->sessions[i], "first");
	}
	for (unsigned i = 0; i < THREADS; i++) {
		load->talkers[i].load = load;
		load->talkers[i].no = i;
		load->talkers[i].random = i + 1;
	}
	return load;
}

static void check_deed(const struct deed *d)
{
	if (d->kind == WRONG) {
		assert_int_equal(d->code, WEFT_STALE);
		return;
	}
	assert_int_equal(d->code, WEFT_OK);
	assert_int_equal(d->replayed, d->kind == AGAIN);
	if (d->kind == AGAIN)
		assert_int_equal(d->seq, d->first->seq);
}

/* A message of ours where its receipt says, once. */
static void check_message(struct load *load, unsigned session,
			  const struct weft_event *e)
{
	const char *at = memmem(e->body, e->body_len, "<", 1);
	char text[32] = ""; /* the body has no NUL at its end */
	unsigned who, no;
	struct deed *d;

	if (at)
		memcpy(text, at,
		       u64_min(sizeof(text) - 1,
			       e->body_len - (size_t)(at - e->body)));
	if (sscanf(text, "<%u/%u>", &who, &no) != 2)
		return;
	assert_true(who < THREADS && no < load->each);
	d = &load->talkers[who].deeds[no];
	assert_int_equal(d->session, session);
	assert_int_equal(d->seq, e->seq);
	assert_false(d->seen);
	d->seen = true;
}

static void check_session(struct desk *d, struct load *load, unsigned no)
{
	struct weft_read_options o;
	uint64_t next = 1;
	int done = 0;

	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_REDACTED;
	while (!done) {
		struct weft_page *page;
		struct weft_event e;

		desk_ok(d, weft_read(d->store, load->sessions[no],
				     WEFT_ID_CHARS, &o, &page, &d->err));
		for (size_t i = 0; weft_page_event(page, i, &e); i++) {
			assert_int_equal(e.seq, next);
			next = o.first = e.last + 1;
			if (strcmp(e.type, "message") == 0)
				check_message(load, no, &e);
		}
		done = weft_page_done(page);
		weft_page_free(page);
	}
	assert_int_equal(desk_head(d, load->sessions[no]), next - 1);
}

static void check_load(struct desk *d, struct load *load)
{
	for (unsigned i = 0; i < THREADS; i++) {
		const struct talker *t = &load->talkers[i];

		if (t->r < 0)
			print_error("%s\n", t->err.message);
		assert_int_equal(t->r, WEFT_OK);
		assert_int_equal(atomic_load(&t->heard), load->each);
		assert_false(t->in_disorder);
		for (unsigned k = 0; k < load->each; k++)
			check_deed(&t->deeds[k]);
	}
	for (unsigned i = 0; i < SESSIONS; i++)
		check_session(d, load, i);
	for (unsigned i = 0; i < THREADS; i++) {
		for (unsigned k = 0; k < load->each; k++) {
			const struct deed *x = &load->talkers[i].deeds[k];

			if (x->kind == PLAIN || x->kind == WITH_OP)
				assert_true(x->seen || x->erased);
		}
	}
}

static void talk_all(struct load *load)
{
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&load->talkers[i].thread, NULL,
						talk, &load->talkers[i]),
				 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(load->talkers[i].thread, NULL),
				 0);
}

/* Closing answers all of it, too. */
static void every_answer_is_right_under_load(void **state)
{
	struct desk *d = *state;
	struct load *load = load_new(d, EACH);

	talk_all(load);
	if (is_place(d->url)) {
		desk_ok(d, weft_close(d->store, &d->err));
		d->store = NULL;
		desk_ok(d, desk_open_again(d, NULL, 0, &d->store));
	}
	for (unsigned i = 0; i < THREADS; i++)
		while (load->talkers[i].r == WEFT_OK &&
		       atomic_load(&load->talkers[i].heard) < load->each)
			(void)sched_yield();
	check_load(d, load);
	free(load);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(every_answer_is_right_under_load),
};

const struct suite public_load_suite = { tests, ARRAY_LEN(tests) };

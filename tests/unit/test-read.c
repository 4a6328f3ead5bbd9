/* test-read.c - finding sessions, and reading what they see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/id.h"
#include "engine/internal.h"
#include "model/body.h"
#include "model/derive.h"
#include "model/event.h"
#include "store/store.h"

struct bench {
	struct engine *engine;
	struct store *store;
	_Atomic int records; /* calls of get_sessions */
};

static void count_records(void *ctx, const char *line)
{
	struct bench *b = ctx;

	if (strncmp(line, "get_sessions", 12) == 0)
		(void)atomic_fetch_add(&b->records, 1);
}

static struct bench *bench_open(const char *url)
{
	static struct bench bench;
	struct store_open o = { .flags = STORE_CREATE };
	struct store *memory;

	bench = (struct bench){ 0 };
	assert_int_equal(store_open_url(url, &o, &memory, NULL), WEFT_OK);
	assert_int_equal(
		store_trace(memory, count_records, &bench, &bench.store, NULL),
		WEFT_OK);
	assert_int_equal(
		engine_start(bench.store, NULL, 0, &bench.engine, NULL),
		WEFT_OK);
	return &bench;
}

static void bench_close(struct bench *b)
{
	assert_int_equal(engine_close(b->engine, NULL), WEFT_OK);
}

static struct weft_id run(struct bench *b, struct request *q)
{
	struct weft_error err = { 0 };
	struct weft_id id;

	if (engine_run(b->engine, q, &err) < 0)
		fail_msg("%s", err.message);
	id = q->ret_session;
	request_free(q);
	return id;
}

static struct weft_id begin(struct bench *b, const char *key, const char *slug)
{
	struct request *q = request_new(REQUEST_CREATE, NULL);

	q->create.key = str_of(key);
	q->create.slug = str_of(slug);
	return run(b, q);
}

static void say(struct bench *b, const struct weft_id *id, int n)
{
	while (n--) {
		struct request *q = request_new(REQUEST_APPEND, NULL);

		q->session = *id;
		q->messages = ARENA_NEW(&q->arena, struct message);
		q->n_messages = 1;
		assert_int_equal(message_check(STR("{\"role\":\"user\","
						   "\"content\":\"hello\"}"),
					       engine_limits(b->engine),
					       &q->arena, q->messages, NULL),
				 WEFT_OK);
		(void)run(b, q);
	}
}

static void redact(struct bench *b, const struct weft_id *id, uint64_t seq)
{
	struct request *q = request_new(REQUEST_REDACT, NULL);

	q->session = *id;
	q->targets = &seq;
	q->n_targets = 1;
	(void)run(b, q);
}

static void remove_session(struct bench *b, const struct weft_id *id)
{
	struct request *q = request_new(REQUEST_DELETE, NULL);

	q->session = *id;
	(void)run(b, q);
}

/* ---- forks, written by hand ---- */

struct fork {
	struct session_rec rec;
	struct arena arena;
	struct buf body;
};

static int plan_a_fork(void *ctx, struct store_view *view, struct op_list *out,
		       struct weft_error *err)
{
	struct fork *f = ctx;
	struct session_rec *rec = ARENA_NEW(&f->arena, struct session_rec);
	struct store_event *e = ARENA_NEW(&f->arena, struct store_event);

	(void)view;
	body_session(&f->body, &f->rec, 0);
	e->session = f->rec.id;
	e->seq = f->rec.fork_seq + 1;
	e->last = e->seq;
	e->type = EVENT_SESSION;
	e->ts_ms = 1;
	e->body = buf_str(&f->body);
	assert_int_equal(event_seal(e, &f->arena, err), WEFT_OK);
	op_list_add(out, OP_EVENT, &f->rec.id)->u.event = e;
	assert_int_equal(derive_event(rec, e, NULL, out, err), WEFT_OK);
	op_list_add(out, OP_SESSION, &f->rec.id)->u.rec = rec;
	return WEFT_OK;
}

/* A fork whose fork point belongs to `owner`. */
static struct weft_id fork_at(struct bench *b, const struct weft_id *owner,
			      uint64_t seq)
{
	struct fork f = {
		.rec = {
			.kind = KIND_PRIMARY,
			.parent = *owner,
			.forked_from = *owner,
			.fork_seq = seq,
		},
	};
	struct store_want want = { 0 };

	arena_init(&f.arena, 0);
	buf_init(&f.body, MIB(1));
	assert_int_equal(id_new(1, &f.rec.id, NULL), WEFT_OK);
	assert_int_equal(
		b->store->ops->write(b->store, &want, plan_a_fork, &f, NULL),
		WEFT_OK);
	arena_done(&f.arena);
	buf_done(&f.body);
	return f.rec.id;
}

/* ---- reading ---- */

/* Read a range page by page: "1 2 3 | 4x 5" with | between pages and x behind
 * what is redacted.  Events of `id` itself have a star. */
static void read_all(struct bench *b, struct event_range r, bool redacted,
		     char *out, size_t room)
{
	size_t len = 0;

	out[0] = '\0';
	for (;;) {
		CLEANUP(arena_done) struct arena a;
		struct weft_error err = { 0 };
		struct view_page page;

		arena_init(&a, 0);
		if (engine_read(b->engine, &r, redacted, &a, &page, &err) < 0)
			fail_msg("%s", err.message);
		for (size_t i = 0; i < page.n; i++) {
			const struct store_event *e = &page.v[i].event;

			len += (size_t)snprintf(
				out + len, room - len, "%s%d%s%s",
				len ? " " : "", (int)e->seq,
				id_eq(&e->session, &r.session) ? "*" : "",
				page.v[i].redacted ? "x" : "");
			if (r.backwards)
				r.last = e->seq - 1;
			else
				r.first = e->last + 1;
		}
		if (page.done)
			return;
		assert_true(page.n > 0);
		len += (size_t)snprintf(out + len, room - len, " |");
	}
}

static void expect_read(struct bench *b, const struct weft_id *id,
			uint32_t backwards, bool redacted, const char *expected)
{
	struct event_range r = {
		.session = *id,
		.first = 1,
		.last = UINT64_MAX,
		.backwards = backwards,
	};
	char text[512];

	read_all(b, r, redacted, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void a_session_is_read_in_pages(void **state)
{
	struct bench *b = bench_open("memory:?page=3");
	struct weft_id id = begin(b, "k", NULL);
	struct event_range r = { .session = id, .first = 2, .last = 4 };
	char text[64];

	(void)state;
	say(b, &id, 4);
	expect_read(b, &id, 0, false, "1* 2* 3* | 4* 5*");
	expect_read(b, &id, 1, false, "5* 4* 3* | 2* 1*");
	r.max_events = 2;
	read_all(b, r, false, text, sizeof(text));
	assert_string_equal(text, "2* 3* | 4*");
	r.max_events = 0;
	r.max_bytes = 1;
	read_all(b, r, false, text, sizeof(text));
	assert_string_equal(text, "2* | 3* | 4*");
	r = (struct event_range){
		.session = id,
		.last = UINT64_MAX,
		.types = UINT64_C(1) << EVENT_SESSION,
	};
	read_all(b, r, false, text, sizeof(text));
	assert_string_equal(text, "1*");
	bench_close(b);
}

static void hidden_messages_are_left_out(void **state)
{
	struct bench *b = bench_open("memory:?page=3");
	struct weft_id id = begin(b, "k", NULL);

	(void)state;
	say(b, &id, 5);
	redact(b, &id, 2);
	expect_read(b, &id, 0, true, "1* 2*x 3* | 4* 5* 6* | 7*");
	expect_read(b, &id, 0, false, "1* 3* | 4* 5* 6* | 7*");
	expect_read(b, &id, 1, true, "7* 6* 5* | 4* 3* 2*x | 1*");
	/* A page of which all is hidden is not the end. */
	redact(b, &id, 4);
	redact(b, &id, 5);
	redact(b, &id, 6);
	expect_read(b, &id, 0, false, "1* 3* | 7* 8* 9* | 10*");
	bench_close(b);
}

static void a_fork_sees_the_past_of_its_parents(void **state)
{
	struct bench *b = bench_open("memory:");
	struct weft_id root = begin(b, "k", NULL), one, two, early;
	struct event_range r;
	char text[64];

	(void)state;
	say(b, &root, 5);
	one = fork_at(b, &root, 4);
	say(b, &one, 2);
	two = fork_at(b, &one, 6);
	say(b, &two, 1);
	early = fork_at(b, &root, 3);
	expect_read(b, &root, 0, false, "1* 2* 3* 4* 5* 6*");
	expect_read(b, &one, 0, false, "1 2 3 4 5* 6* 7*");
	expect_read(b, &two, 0, false, "1 2 3 4 5 6 7* 8*");
	expect_read(b, &two, 1, false, "8* 7* 6 5 4 3 2 1");
	expect_read(b, &early, 1, false, "4* 3 2 1");
	r = (struct event_range){ .session = two, .first = 4, .last = 7 };
	read_all(b, r, false, text, sizeof(text));
	assert_string_equal(text, "4 5 6 7*");
	r.backwards = 1;
	read_all(b, r, false, text, sizeof(text));
	assert_string_equal(text, "7* 6 5 4");
	r.last = 2;
	r.first = 1;
	read_all(b, r, false, text, sizeof(text));
	assert_string_equal(text, "2 1");
	bench_close(b);
}

static void pages_go_across_fork_points(void **state)
{
	struct bench *b = bench_open("memory:?page=3");
	struct weft_id root = begin(b, "k", NULL), one, two;

	(void)state;
	say(b, &root, 3);
	one = fork_at(b, &root, 2);
	say(b, &one, 1);
	two = fork_at(b, &one, 4);
	say(b, &two, 2);
	expect_read(b, &two, 0, false, "1 2 3 | 4 5* 6* | 7*");
	expect_read(b, &two, 1, false, "7* 6* 5* | 4 3 2 | 1");
	bench_close(b);
}

static void redaction_reaches_the_forks(void **state)
{
	struct bench *b = bench_open("memory:");
	struct weft_id root = begin(b, "k", NULL), one, two;

	(void)state;
	say(b, &root, 5);
	one = fork_at(b, &root, 4);
	say(b, &one, 2);
	two = fork_at(b, &one, 6);
	redact(b, &root, 3);
	redact(b, &one, 2);
	/* The parent's own 6 is another message than its fork's. */
	redact(b, &root, 6);
	expect_read(b, &root, 0, true, "1* 2* 3*x 4* 5* 6*x 7* 8*");
	expect_read(b, &one, 0, true, "1 2x 3x 4 5* 6* 7* 8*");
	expect_read(b, &two, 0, true, "1 2x 3x 4 5 6 7*");
	expect_read(b, &two, 0, false, "1 4 5 6 7*");
	expect_read(b, &two, 1, false, "7* 6 5 4 1");
	/* Redacting what is redacted already is no event. */
	redact(b, &two, 2);
	expect_read(b, &two, 1, false, "7* 6 5 4 1");
	bench_close(b);
}

static void only_as_many_parents_are_asked_as_needed(void **state)
{
	struct bench *b = bench_open("memory:");
	struct weft_id id = begin(b, "k", NULL);
	struct event_range r = { .last = UINT64_MAX, .backwards = 1 };
	struct seen_page page;
	struct arena a;

	(void)state;
	arena_init(&a, 0);
	for (uint64_t i = 0; i < 200; i++) {
		say(b, &id, 1);
		id = fork_at(b, &id, 2 * i + 2);
	}
	r.session = id;
	r.max_events = 4;
	atomic_store(&b->records, 0);
	assert_int_equal(read_seen(b->engine, &r, false, &a, &page, NULL),
			 WEFT_OK);
	assert_int_equal(page.n, 4);
	assert_int_equal(page.v[3].seq, 398);
	assert_false(page.done);
	assert_true(atomic_load(&b->records) <= 4);
	r.backwards = 0;
	r.max_events = 0;
	assert_int_equal(read_seen(b->engine, &r, false, &a, &page, NULL),
			 WEFT_OK);
	assert_int_equal(page.n, 401);
	for (size_t i = 0; i < page.n; i++)
		assert_int_equal(page.v[i].seq, i + 1);
	arena_done(&a);
	bench_close(b);
}

/* The last `n` events that the session sees, and how many records that took. */
static int records_of_last(struct bench *b, const struct weft_id *id,
			   uint64_t first, uint32_t n)
{
	struct event_range r = {
		.session = *id,
		.first = first,
		.last = UINT64_MAX,
		.backwards = 1,
		.max_events = n,
		.types = UINT64_C(1) << EVENT_MESSAGE,
	};
	CLEANUP(arena_done) struct arena a;
	struct seen_page page;

	arena_init(&a, 0);
	atomic_store(&b->records, 0);
	assert_int_equal(read_seen(b->engine, &r, false, &a, &page, NULL),
			 WEFT_OK);
	assert_int_equal(page.n, n);
	return atomic_load(&b->records);
}

/* As deep as forks may be, each with a turn of some messages. */
static void the_depth_of_forks_costs_nothing(void **state)
{
	struct bench *b = bench_open("memory:");
	struct weft_id id = begin(b, "k", NULL);
	uint64_t head = 1;

	(void)state;
	for (int i = 0; i <= 4096; i++) {
		if (i)
			id = fork_at(b, &id, head++);
		say(b, &id, 3);
		head += 3;
	}
	assert_true(records_of_last(b, &id, 1, 50) <= 20);
	/* What a marker keeps is no more than that either. */
	assert_true(records_of_last(b, &id, head - 11, 9) <= 20);
	bench_close(b);
}

static void forks_are_only_so_deep(void **state)
{
	struct bench *b = bench_open("memory:?fork_depth=2");
	struct weft_id id = begin(b, "k", NULL);
	struct event_range r = { .first = 1, .last = UINT64_MAX };
	struct seen_page page;
	struct arena a;

	(void)state;
	arena_init(&a, 0);
	for (uint64_t i = 1; i <= 3; i++) {
		id = fork_at(b, &id, i);
		r.session = id;
		assert_int_equal(
			read_seen(b->engine, &r, false, &a, &page, NULL),
			i <= 2 ? WEFT_OK : WEFT_LIMIT);
	}
	arena_done(&a);
	bench_close(b);
}

/* ---- finding ---- */

static void expect_found(struct bench *b, const char *name,
			 const struct weft_id *id)
{
	struct weft_error err = { 0 };
	struct weft_id found;

	if (engine_resolve(b->engine, str_of(name), &found, &err) < 0)
		fail_msg("%s: %s", name, err.message);
	assert_true(id_eq(&found, id));
}

static void expect_not_found(struct bench *b, const char *name, int code,
			     const char *part)
{
	struct weft_error err = { 0 };
	struct weft_id found;

	assert_int_equal(engine_resolve(b->engine, str_of(name), &found, &err),
			 code);
	if (!strstr(err.message, part))
		fail_msg("'%s' has no '%s'", err.message, part);
}

static void a_session_has_many_names(void **state)
{
	struct bench *b = bench_open("memory:");
	struct weft_id one = begin(b, "key", "title");
	struct weft_id two = begin(b, "title", "other"), three;
	char text[WEFT_ID_CHARS + 1];

	(void)state;
	id_format(&one, text);
	expect_found(b, text, &one);
	expect_found(b, "key", &one);
	/* A key goes before a title. */
	expect_found(b, "title", &two);
	expect_found(b, "other", &two);
	expect_not_found(b, "nobody", WEFT_NOT_FOUND, "'nobody'");
	expect_not_found(b, "", WEFT_INVALID, "session: missing");
	expect_not_found(b, "a\nb", WEFT_INVALID, "session");
	text[0] = '7';
	expect_not_found(b, text, WEFT_NOT_FOUND, text);
	/* Two of the same title. */
	three = begin(b, NULL, "other");
	id_format(&three, text);
	expect_not_found(b, "other", WEFT_AMBIGUOUS, text);
	remove_session(b, &three);
	expect_found(b, "other", &two);
	expect_found(b, text, &three);
	bench_close(b);
}

static void the_beginning_of_an_id_will_do(void **state)
{
	struct bench *b = bench_open("memory:");
	struct weft_id one = begin(b, NULL, NULL), two;
	char text[WEFT_ID_CHARS + 1], prefix[WEFT_ID_CHARS + 1];

	(void)state;
	id_format(&one, text);
	(void)snprintf(prefix, sizeof(prefix), "%.6s", text);
	expect_found(b, prefix, &one);
	(void)snprintf(prefix, sizeof(prefix), "%.5s", text);
	expect_not_found(b, prefix, WEFT_NOT_FOUND, prefix);
	(void)snprintf(prefix, sizeof(prefix), "%.25s", text);
	expect_found(b, prefix, &one);
	(void)usleep(2000);
	two = begin(b, NULL, NULL);
	(void)snprintf(prefix, sizeof(prefix), "%.6s", text);
	expect_not_found(b, prefix, WEFT_AMBIGUOUS, text);
	remove_session(b, &two);
	expect_found(b, prefix, &one);
	bench_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_read_in_pages),
		cmocka_unit_test(hidden_messages_are_left_out),
		cmocka_unit_test(a_fork_sees_the_past_of_its_parents),
		cmocka_unit_test(pages_go_across_fork_points),
		cmocka_unit_test(redaction_reaches_the_forks),
		cmocka_unit_test(only_as_many_parents_are_asked_as_needed),
		cmocka_unit_test(the_depth_of_forks_costs_nothing),
		cmocka_unit_test(forks_are_only_so_deep),
		cmocka_unit_test(a_session_has_many_names),
		cmocka_unit_test(the_beginning_of_an_id_will_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * public_hostile.c - callers who make every mistake: what can be noticed is an
 * error, and nothing breaks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "conformance/public.h"

#define HELLO "{\"role\":\"user\",\"content\":\"hello\"}"
#define LIST  "{\"method\":\"list\"}"

/* What is handed to every function that takes a store. */
struct abuse {
	struct weft_store *store;
	const char *session;
	size_t session_len;
	const char *json;
	size_t json_len;
	const struct weft_append_options *append;
	const struct weft_read_options *read;
};

static struct abuse no_abuse(struct desk *d)
{
	return (struct abuse){
		.store = d->store,
		.session = d->id,
		.session_len = WEFT_ID_CHARS,
		.json = HELLO,
		.json_len = strlen(HELLO),
	};
}

static void note_call(void *ctx, int code, const struct weft_receipt *receipt,
		      const struct weft_error *err)
{
	(void)code;
	(void)receipt;
	(void)err;
	atomic_store((atomic_bool *)ctx, true);
}

/* ---- calling every function, and looking at its outputs ---- */

static int ask_append(const struct abuse *a, struct weft_error *err)
{
	struct weft_receipt receipt = { .seq = 77 };
	int r = weft_append(a->store, a->session, a->session_len, a->json,
			    a->json_len, a->append, &receipt, err);

	if (r < 0)
		assert_int_equal(receipt.seq, 77);
	return r;
}

static int ask_submit(const struct abuse *a, struct weft_error *err)
{
	/* Not on the stack: it would be told too late otherwise. */
	static atomic_bool called;
	int r;

	atomic_store(&called, false);
	r = weft_submit(a->store, a->session, a->session_len, a->json,
			a->json_len, a->append, note_call, &called, err);
	if (r < 0)
		assert_false(atomic_load(&called));
	return r;
}

static int ask_read(const struct abuse *a, struct weft_error *err)
{
	struct weft_page *page = NULL;
	int r = weft_read(a->store, a->session, a->session_len, a->read, &page,
			  err);

	if (r < 0)
		assert_null(page);
	weft_page_free(page);
	return r;
}

static int ask_wait(const struct abuse *a, struct weft_error *err)
{
	uint64_t head = 77;
	int r = weft_wait(a->store, a->session, a->session_len, 0, 0, &head,
			  err);

	if (r < 0)
		assert_int_equal(head, 77);
	return r;
}

static int ask_call(const struct abuse *a, struct weft_error *err)
{
	struct weft_answer *answer = NULL;
	int r = weft_call(a->store, a->json, a->json_len, &answer, err);

	if (r < 0)
		assert_null(answer);
	weft_answer_free(answer);
	return r;
}

enum { APPEND = 1, SUBMIT = 2, READ = 4, WAIT = 8, CALL = 16, ALL = 31 };

/* Each of the functions in `which` fails with `code` and says why, and fails
 * in the same way without a place for the error. */
static void expect_refused(struct desk *d, const struct abuse *a,
			   unsigned which, int code, const char *part)
{
	static int (*const ask[])(const struct abuse *a,
				  struct weft_error *err) = {
		ask_append, ask_submit, ask_read, ask_wait, ask_call,
	};

	for (size_t i = 0; i < ARRAY_LEN(ask); i++) {
		if (!(which & 1u << i))
			continue;
		desk_fails(d, ask[i](a, &d->err), code, part);
		assert_int_equal(ask[i](a, NULL), code);
	}
}

/* ---- mistakes ---- */

static void nothing_works_without_a_store(void **state)
{
	struct desk *d = *state;
	struct abuse a = no_abuse(d);

	a.store = NULL;
	expect_refused(d, &a, ALL, WEFT_INVALID, "store");
	assert_int_equal(weft_close(NULL, &d->err), WEFT_OK);
	assert_int_equal(weft_close(NULL, NULL), WEFT_OK);
}

static void text_that_is_not_there_is_refused(void **state)
{
	struct desk *d = *state;
	struct abuse a = no_abuse(d);

	a.session = NULL;
	expect_refused(d, &a, ALL & ~CALL, WEFT_INVALID, "session");
	a.session_len = 0;
	expect_refused(d, &a, ALL & ~CALL, WEFT_INVALID, "session");
	a = no_abuse(d);
	a.json = NULL;
	expect_refused(d, &a, APPEND | SUBMIT, WEFT_INVALID, "message");
	expect_refused(d, &a, CALL, WEFT_INVALID, "request");
	a.json_len = 0;
	expect_refused(d, &a, APPEND | SUBMIT | CALL, WEFT_INVALID, "");
}

static void places_that_are_not_there_are_refused(void **state)
{
	struct desk *d = *state;

	desk_fails(d, weft_open("memory:", NULL, NULL, &d->err), WEFT_INVALID,
		   "");
	desk_fails(d, weft_call(d->store, LIST, strlen(LIST), NULL, &d->err),
		   WEFT_INVALID, "");
	desk_fails(
		d,
		weft_read(d->store, d->id, WEFT_ID_CHARS, NULL, NULL, &d->err),
		WEFT_INVALID, "");
	desk_fails(d, weft_queue_new(NULL, &d->err), WEFT_INVALID, "");
	desk_fails(d,
		   weft_submit(d->store, d->id, WEFT_ID_CHARS, HELLO,
			       strlen(HELLO), NULL, NULL, NULL, &d->err),
		   WEFT_INVALID, "");
	/* These need none. */
	desk_ok(d, weft_append(d->store, d->id, WEFT_ID_CHARS, HELLO,
			       strlen(HELLO), NULL, NULL, &d->err));
	desk_ok(d,
		weft_wait(d->store, d->id, WEFT_ID_CHARS, 0, 0, NULL, &d->err));
}

/* Lengths that no text has: refused before a byte of it is looked at. */
static void huge_lengths_are_refused(void **state)
{
	static const size_t huge[] = {
		SIZE_MAX,    SIZE_MAX - 1,    (size_t)PTRDIFF_MAX + 1,
		PTRDIFF_MAX, (size_t)1 << 40,
	};
	struct desk *d = *state;

	for (size_t i = 0; i < ARRAY_LEN(huge); i++) {
		struct abuse a = no_abuse(d);
		struct weft_append_options o;

		a.session_len = huge[i];
		for (unsigned f = APPEND; f <= WAIT; f *= 2) {
			int code = huge[i] > PTRDIFF_MAX ? WEFT_INVALID :
							   WEFT_NOT_FOUND;

			expect_refused(d, &a, f, code, "");
		}
		a = no_abuse(d);
		a.json_len = huge[i];
		expect_refused(
			d, &a, APPEND | SUBMIT,
			huge[i] > PTRDIFF_MAX ? WEFT_INVALID : WEFT_LIMIT, "");
		expect_refused(d, &a, CALL, WEFT_LIMIT, "");
		a = no_abuse(d);
		weft_append_options_init(&o, sizeof(o));
		o.op = "op";
		o.op_len = huge[i];
		a.append = &o;
		expect_refused(d, &a, APPEND | SUBMIT,
			       huge[i] > PTRDIFF_MAX ? WEFT_INVALID :
						       WEFT_LIMIT,
			       "op");
	}
}

static void sessions_that_are_no_names_are_refused(void **state)
{
	static const struct weft_str bad[] = {
		STR_INIT("\xff\xfe"), STR_INIT("a\0b"),    STR_INIT("a\nb"),
		STR_INIT("%s%n%s%n"), STR_INIT("../../x"), STR_INIT("\x1b[2J"),
	};
	struct desk *d = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct abuse a = no_abuse(d);

		a.session = bad[i].ptr;
		a.session_len = bad[i].len;
		for (unsigned f = APPEND; f <= WAIT; f *= 2) {
			int r = f == APPEND ? ask_append(&a, &d->err) :
				f == SUBMIT ? ask_submit(&a, &d->err) :
				f == READ   ? ask_read(&a, &d->err) :
					      ask_wait(&a, &d->err);

			assert_true(r == WEFT_NOT_FOUND || r == WEFT_INVALID);
			/* One line, which no terminal obeys. */
			for (const char *p = d->err.message; *p; p++)
				assert_true((unsigned char)*p >= ' ');
		}
	}
}

static void urls_of_any_kind_are_refused(void **state)
{
	static char long_path[100000], long_option[100000];
	const char *const urls[] = {
		NULL,
		":",
		"?",
		"memory:x",
		"memory:?",
		"jsonl:a%zz",
		"jsonl:a%00b",
		"memory:?=",
		"memory:?queue",
		"memory:?queue=",
		"memory:?queue=-1",
		"memory:?queue=99999999999999999999",
		"\xff:",
		long_path,
		long_option,
	};
	struct desk *d = *state;
	struct weft_store *const none = (void *)d;
	struct weft_store *s = none;

	(void)snprintf(long_path, sizeof(long_path), "jsonl:/%099000d", 1);
	(void)snprintf(long_option, sizeof(long_option),
		       "memory:?queue=%099000d", 1);
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		int r = weft_open(urls[i], NULL, &s, &d->err);

		/* Some are only unusual. */
		if (r == WEFT_OK) {
			desk_ok(d, weft_close(s, &d->err));
			s = none;
			continue;
		}
		assert_ptr_equal(s, none);
		assert_true(strlen(d->err.message) > 0);
		for (const char *p = d->err.message; *p; p++)
			assert_true((unsigned char)*p >= ' ');
	}
}

static void flags_that_do_not_exist_are_refused(void **state)
{
	struct desk *d = *state;
	struct weft_open_options o;
	struct weft_store *s = NULL;

	for (unsigned bit = 4; bit < 32; bit++) {
		weft_open_options_init(&o, sizeof(o));
		o.flags = 1u << bit;
		desk_fails(d, weft_open("memory:", &o, &s, &d->err),
			   WEFT_INVALID, "flags");
	}
	weft_open_options_init(&o, sizeof(o));
	o.reserved = 1;
	desk_fails(d, weft_open("memory:", &o, &s, &d->err), WEFT_INVALID,
		   "reserved");
	assert_null(s);
}

/* ---- options ---- */

/* Sizes that no init function has set. */
static void options_of_a_wrong_size_are_refused(void **state)
{
	static const size_t sizes[] = { 0, 1, 8, 23, 4097, SIZE_MAX };
	struct desk *d = *state;
	struct weft_store *s = NULL;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct weft_open_options open;
		struct weft_append_options append;
		struct weft_read_options read;
		struct abuse a = no_abuse(d);

		weft_open_options_init(&open, sizeof(open));
		weft_append_options_init(&append, sizeof(append));
		weft_read_options_init(&read, sizeof(read));
		open.size = append.size = read.size = sizes[i];
		a.append = &append;
		a.read = &read;
		expect_refused(d, &a, APPEND | SUBMIT | READ, WEFT_INVALID,
			       "options of ");
		desk_fails(d, weft_open("memory:", &open, &s, &d->err),
			   WEFT_INVALID, "options of ");
		assert_null(s);
	}
}

/* What a later version may add, if it is used, is not known here. */
static void options_of_a_later_version_are_taken_if_unused(void **state)
{
	struct desk *d = *state;
	struct {
		struct weft_read_options known;
		uint64_t later;
	} o;
	struct abuse a = no_abuse(d);

	weft_read_options_init(&o.known, sizeof(o));
	assert_int_equal(o.known.last, UINT64_MAX);
	assert_int_equal(o.later, 0);
	a.read = &o.known;
	desk_ok(d, ask_read(&a, &d->err));
	o.later = 1;
	expect_refused(d, &a, READ, WEFT_INVALID, "does not know");
}

/* The init functions write what they were told is there, and no more. */
static void init_functions_stay_inside(void **state)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 12, 16, 20, 24 };
	unsigned char room[64], untouched[64];

	(void)state;
	memset(untouched, 0x5a, sizeof(untouched));
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		for (int which = 0; which < 3; which++) {
			memset(room, 0x5a, sizeof(room));
			if (which == 0)
				weft_open_options_init((void *)room, sizes[i]);
			else if (which == 1)
				weft_append_options_init((void *)room,
							 sizes[i]);
			else
				weft_read_options_init((void *)room, sizes[i]);
			assert_memory_equal(room + sizes[i], untouched,
					    sizeof(room) - sizes[i]);
		}
	}
	weft_open_options_init((void *)room, SIZE_MAX);
	weft_append_options_init((void *)room, SIZE_MAX);
	weft_read_options_init((void *)room, SIZE_MAX);
	weft_open_options_init(NULL, sizeof(struct weft_open_options));
	weft_append_options_init(NULL, sizeof(struct weft_append_options));
	weft_read_options_init(NULL, sizeof(struct weft_read_options));
}

/* ---- after the end ---- */

static void a_closed_store_says_so(void **state)
{
	struct desk *d = *state;
	struct abuse a = no_abuse(d);
	struct weft_store *others[100];

	desk_ok(d, weft_close(d->store, &d->err));
	expect_refused(d, &a, ALL, WEFT_INVALID, "closed");
	desk_ok(d, weft_close(d->store, &d->err));
	/* Also when others come and go. */
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		desk_ok(d, weft_open("memory:", NULL, &others[i], &d->err));
	expect_refused(d, &a, ALL, WEFT_INVALID, "closed");
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		desk_ok(d, weft_close(others[i], &d->err));
	expect_refused(d, &a, ALL, WEFT_INVALID, "closed");
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		desk_ok(d, weft_close(others[i], &d->err));
	/* What is left for the tear-down. */
	desk_ok(d, weft_close(d->store, &d->err));
	d->store = NULL;
}

static void things_that_are_not_there_are_empty(void **state)
{
	struct weft_ticket homeless = { .code = 77 };
	struct weft_event event = { .seq = 77 };
	size_t len = 77;

	(void)state;
	assert_int_equal(weft_page_count(NULL), 0);
	assert_int_equal(weft_page_done(NULL), 1);
	assert_int_equal(weft_page_event(NULL, 0, &event), 0);
	assert_int_equal(event.seq, 77);
	weft_page_free(NULL);
	assert_string_equal(weft_answer_text(NULL, &len), "");
	assert_int_equal(len, 0);
	assert_string_equal(weft_answer_text(NULL, NULL), "");
	weft_answer_free(NULL);
	assert_int_equal(weft_queue_fd(NULL), -1);
	assert_null(weft_queue_next(NULL));
	weft_queue_free(NULL);
	weft_queue_done(NULL, WEFT_OK, NULL, NULL);
	weft_queue_done(&homeless, WEFT_IO, NULL, NULL);
	assert_int_equal(homeless.code, 77);
}

static void codes_that_do_not_exist_have_a_name(void **state)
{
	static const int codes[] = { 1, 99, -99, INT32_MIN, INT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		assert_true(strlen(weft_code_name(codes[i])) > 0);
		assert_int_not_equal(weft_code_exit_status(codes[i]), 0);
		assert_true(weft_code_http_status(codes[i]) >= 400);
	}
}

static void a_ticket_needs_a_queue(void **state)
{
	struct desk *d = *state;
	struct weft_ticket t = { .queue = NULL };

	desk_fails(d,
		   weft_submit(d->store, d->id, WEFT_ID_CHARS, HELLO,
			       strlen(HELLO), NULL, weft_queue_done, NULL,
			       &d->err),
		   WEFT_INVALID, "ticket");
	desk_fails(d,
		   weft_submit(d->store, d->id, WEFT_ID_CHARS, HELLO,
			       strlen(HELLO), NULL, weft_queue_done, &t,
			       &d->err),
		   WEFT_INVALID, "ticket");
	assert_int_equal(desk_head(d, d->id), 1);
}

static void a_page_ends_where_it_ends(void **state)
{
	struct desk *d = *state;
	struct weft_event event = { .seq = 77 };
	struct weft_page *page;

	desk_ok(d, weft_read(d->store, d->id, WEFT_ID_CHARS, NULL, &page,
			     &d->err));
	assert_int_equal(weft_page_event(page, 0, NULL), 0);
	assert_int_equal(weft_page_event(page, weft_page_count(page), &event),
			 0);
	assert_int_equal(weft_page_event(page, SIZE_MAX, &event), 0);
	assert_int_equal(event.seq, 77);
	weft_page_free(page);
}

static void ranges_without_sense_are_empty_or_refused(void **state)
{
	static const uint64_t ends[] = { 0, 1, 2, UINT64_MAX - 1, UINT64_MAX };
	struct desk *d = *state;
	struct weft_read_options o;
	struct abuse a = no_abuse(d);

	desk_say(d, d->id, "hello");
	weft_read_options_init(&o, sizeof(o));
	a.read = &o;
	for (size_t i = 0; i < ARRAY_LEN(ends) * ARRAY_LEN(ends); i++) {
		o.first = ends[i / ARRAY_LEN(ends)];
		o.last = ends[i % ARRAY_LEN(ends)];
		for (uint32_t flags = 0; flags < 8; flags++) {
			o.flags = flags;
			o.max = flags ? UINT32_MAX : 0;
			desk_ok(d, ask_read(&a, &d->err));
		}
	}
	for (unsigned bit = 3; bit < 32; bit++) {
		o.flags = 1u << bit;
		expect_refused(d, &a, READ, WEFT_INVALID, "flags");
	}
}

/* ---- many at once ---- */

#define CROWD    24
#define WATCHERS 200

struct member {
	pthread_t thread;
	struct desk *d;
	const char *own;
	int r;
	unsigned i;
};

/* A bit of everything, in another order for everybody. */
static int do_anything(struct member *m, struct abuse *a, unsigned what)
{
	struct weft_error err;
	uint64_t head;

	switch (what % 6) {
	case 0:
		return ask_append(a, &err);
	case 1:
		return ask_read(a, &err);
	case 2:
		a->json = LIST;
		a->json_len = strlen(LIST);
		return ask_call(a, &err);
	case 3:
		return weft_wait(a->store, m->own, WEFT_ID_CHARS, 0, -1, &head,
				 &err);
	case 4:
		/* Nobody's event: this one waits in vain. */
		return weft_wait(a->store, m->own, WEFT_ID_CHARS, 1, 1, &head,
				 &err) == WEFT_BUSY ?
			       WEFT_OK :
			       WEFT_CORRUPT;
	default:
		a->session = "nobody";
		a->session_len = 6;
		return ask_append(a, &err) == WEFT_NOT_FOUND ? WEFT_OK :
							       WEFT_CORRUPT;
	}
}

static void *work(void *ctx)
{
	struct member *m = ctx;

	for (unsigned i = 0; i < 30 && m->r == WEFT_OK; i++) {
		struct abuse a = no_abuse(m->d);

		m->r = do_anything(m, &a, i * (m->i | 1) + m->i);
	}
	return NULL;
}

static void start(struct member *m, struct desk *d, unsigned i,
		  void *(*run)(void *ctx))
{
	*m = (struct member){ .d = d, .own = desk_new(d, ""), .i = i };
	assert_int_equal(pthread_create(&m->thread, NULL, run, m), 0);
}

static int child_is_refused(void *ctx)
{
	struct abuse a = no_abuse(ctx);

	return ask_append(&a, NULL) != WEFT_IO || ask_read(&a, NULL) != WEFT_IO;
}

/* Threads that use everything, and children that are made meanwhile. */
static void a_crowd_and_its_children_do_no_harm(void **state)
{
	struct desk *d = *state;
	struct member crowd[CROWD];

	for (unsigned i = 0; i < CROWD; i++)
		start(&crowd[i], d, i, work);
	for (int i = 0; i < 3; i++)
		assert_int_equal(call_in_child(child_is_refused, d), 0);
	for (unsigned i = 0; i < CROWD; i++) {
		assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
		assert_int_equal(crowd[i].r, WEFT_OK);
	}
	desk_say(d, d->id, "after");
}

static void *watch(void *ctx)
{
	struct member *m = ctx;
	uint64_t head = 0;

	m->r = weft_wait(m->d->store, m->d->id, WEFT_ID_CHARS, 1, -1, &head,
			 NULL);
	if (m->r == WEFT_OK && head < 2)
		m->r = WEFT_CORRUPT;
	return NULL;
}

static void many_watchers_are_all_woken(void **state)
{
	static struct member watchers[WATCHERS];
	struct desk *d = *state;

	for (unsigned i = 0; i < WATCHERS; i++) {
		watchers[i] = (struct member){ .d = d, .i = i };
		assert_int_equal(pthread_create(&watchers[i].thread, NULL,
						watch, &watchers[i]),
				 0);
		/* Some wait before the event, some come after it. */
		if (i == WATCHERS / 2)
			desk_say(d, d->id, "news");
	}
	for (unsigned i = 0; i < WATCHERS; i++) {
		assert_int_equal(pthread_join(watchers[i].thread, NULL), 0);
		assert_int_equal(watchers[i].r, WEFT_OK);
	}
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(nothing_works_without_a_store),
	PUBLIC_TEST(text_that_is_not_there_is_refused),
	PUBLIC_TEST(places_that_are_not_there_are_refused),
	PUBLIC_TEST(huge_lengths_are_refused),
	PUBLIC_TEST(sessions_that_are_no_names_are_refused),
	PUBLIC_TEST(urls_of_any_kind_are_refused),
	PUBLIC_TEST(flags_that_do_not_exist_are_refused),
	PUBLIC_TEST(options_of_a_wrong_size_are_refused),
	PUBLIC_TEST(options_of_a_later_version_are_taken_if_unused),
	PUBLIC_TEST(init_functions_stay_inside),
	PUBLIC_TEST(a_closed_store_says_so),
	PUBLIC_TEST(things_that_are_not_there_are_empty),
	PUBLIC_TEST(codes_that_do_not_exist_have_a_name),
	PUBLIC_TEST(a_ticket_needs_a_queue),
	PUBLIC_TEST(a_page_ends_where_it_ends),
	PUBLIC_TEST(ranges_without_sense_are_empty_or_refused),
	PUBLIC_TEST(a_crowd_and_its_children_do_no_harm),
	PUBLIC_TEST(many_watchers_are_all_woken),
};

const struct suite public_hostile_suite = { tests, ARRAY_LEN(tests) };

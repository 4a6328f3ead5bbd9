/* public_open.c - opening, closing, the door, fork(), and what is left alone. */
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "conformance/public.h"

#define HELLO "{\"role\":\"user\",\"content\":\"hello\"}"

static bool has_place(const struct desk *d)
{
	return is_place(d->url);
}

static void nothing_is_given_back_without_complaint(void **state)
{
	(void)state;
	assert_int_equal(weft_close(NULL, NULL), WEFT_OK);
	weft_answer_free(NULL);
	weft_page_free(NULL);
	weft_queue_free(NULL);
	assert_string_equal(weft_version(), "0.1.0");
}

static void a_bad_url_is_refused(void **state)
{
	struct desk *d = *state;
	const char *const urls[] = { "",       "dir",
				     "what:",  "memory:?x=1",
				     "jsonl:", "memory:?page=0x10" };
	struct weft_store *s = NULL;

	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		desk_fails(d, weft_open(urls[i], NULL, &s, &d->err),
			   WEFT_INVALID, "");
		assert_null(s);
		assert_int_equal(weft_open(urls[i], NULL, &s, NULL),
				 WEFT_INVALID);
		desk_fails(d, weft_check_url(urls[i], NULL, &d->err),
			   WEFT_INVALID, "");
	}
}

/* An open store is where one can be; a file is no directory for one. */
static void a_url_is_judged_without_opening_it(void **state)
{
	struct desk *d = *state;
	struct weft_error place = { .code = WEFT_IO };

	desk_ok(d, weft_check_url(d->url, &place, &d->err));
	assert_int_equal(place.code, 0);
	desk_ok(d, weft_check_url("jsonl:/dev/null", &place, &d->err));
	assert_int_equal(place.code, WEFT_INVALID);
	desk_ok(d, weft_check_url("jsonl:/dev/null/x", &place, &d->err));
	assert_int_equal(place.code, WEFT_INVALID);
	desk_ok(d, weft_check_url("sqlite:/", &place, &d->err));
	assert_int_equal(place.code, WEFT_INVALID);
	desk_ok(d, weft_check_url("memory:", &place, &d->err));
	assert_int_equal(place.code, 0);
}

static void options_must_have_been_set_up(void **state)
{
	struct desk *d = *state;
	struct weft_open_options o = { .size = 1 };
	struct weft_append_options a = { .size = 1 };
	struct weft_read_options r = { .size = 1 };
	struct weft_store *s = NULL;
	struct weft_page *page = NULL;

	desk_fails(d, weft_open(d->url, &o, &s, &d->err), WEFT_INVALID, "");
	desk_fails(d, desk_try(d, d->id, HELLO, &a, NULL), WEFT_INVALID, "");
	desk_fails(
		d,
		weft_read(d->store, d->id, WEFT_ID_CHARS, &r, &page, &d->err),
		WEFT_INVALID, "");
	assert_null(s);
	assert_null(page);
}

static void a_store_is_made_unless_that_is_forbidden(void **state)
{
	struct desk *d = *state;
	struct weft_store *s = NULL;
	char url[600];
	struct weft_open_options o;

	weft_open_options_init(&o, sizeof(o));
	o.flags = WEFT_OPEN_NO_CREATE;
	(void)snprintf(url, sizeof(url), "%s%s", d->url,
		       has_place(d) ? "-none" : "");
	desk_fails(d, weft_open(url, &o, &s, &d->err), WEFT_NOT_FOUND, "");
	assert_null(s);
	desk_ok(d, weft_open(url, NULL, &s, &d->err));
	desk_ok(d, weft_close(s, &d->err));
	if (!has_place(d))
		return;
	desk_ok(d, weft_open(url, &o, &s, &d->err));
	desk_ok(d, weft_close(s, &d->err));
}

static void what_was_appended_is_there_after_reopening(void **state)
{
	struct desk *d = *state;
	char id[WEFT_ID_CHARS + 1];

	if (!has_place(d))
		return;
	memcpy(id, d->id, sizeof(id));
	desk_say(d, id, "one");
	desk_say(d, id, "two");
	desk_reopen(d, NULL);
	assert_string_equal(desk_texts(d, id), "one two");
	assert_int_equal(desk_say(d, id, "three"), 4);
}

static void a_reader_reads_and_does_not_write(void **state)
{
	struct desk *d = *state;
	struct weft_store *writer = d->store;
	const char *before;

	desk_say(d, d->id, "hello");
	before = desk_texts(d, d->id);
	desk_ok(d, desk_open_again(d, NULL, WEFT_OPEN_READ_ONLY, &d->store));
	if (has_place(d)) {
		assert_string_equal(desk_texts(d, d->id), before);
		desk_fails(d, desk_try(d, d->id, HELLO, NULL, NULL),
			   WEFT_READ_ONLY, "");
	}
	desk_fails(d, desk_try_call(d, "{\"method\":\"new\"}"), WEFT_READ_ONLY,
		   "");
	desk_ok(d, weft_close(d->store, &d->err));
	d->store = writer;
	assert_string_equal(desk_texts(d, d->id), "hello");
}

static void who_opens_alone_keeps_everybody_out(void **state)
{
	struct desk *d = *state;
	struct weft_store *s = NULL;

	if (!has_place(d))
		return;
	/* A server is for everybody. */
	if (strncmp(d->url, "postgres", 8) == 0) {
		desk_fails(d, desk_open_again(d, NULL, WEFT_OPEN_SINGLE, &s),
			   WEFT_INVALID, "single");
		return;
	}
	/* Somebody has it open already. */
	desk_fails(d, desk_open_again(d, "busy_ms=50", WEFT_OPEN_SINGLE, &s),
		   WEFT_BUSY, "");
	desk_ok(d, weft_close(d->store, &d->err));
	desk_ok(d, desk_open_again(d, NULL, WEFT_OPEN_SINGLE, &d->store));
	desk_fails(d, desk_open_again(d, "busy_ms=50", 0, &s), WEFT_BUSY, "");
	desk_say(d, d->id, "alone");
	desk_ok(d, weft_close(d->store, &d->err));
	desk_ok(d, desk_open_again(d, NULL, 0, &d->store));
	assert_string_equal(desk_texts(d, d->id), "alone");
}

static void times_come_from_the_clock_that_was_given(void **state)
{
	struct desk *d = *state;
	struct weft_event e = { 0 };
	struct weft_page *page;

	d->now_ms = TEST_BEGIN_MS + 12345;
	desk_say(d, d->id, "hello");
	desk_ok(d, weft_read(d->store, d->id, WEFT_ID_CHARS, NULL, &page,
			     &d->err));
	assert_int_equal(weft_page_event(page, 1, &e), 1);
	assert_int_equal(e.ts_ms, TEST_BEGIN_MS + 12345);
	weft_page_free(page);
}

static void the_door_answers_in_json(void **state)
{
	struct desk *d = *state;
	const char *answer =
		desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}", d->id);
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	yyjson_val *root;

	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	root = yyjson_doc_get_root(doc);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "id")), d->id);
	assert_int_equal(yyjson_get_uint(yyjson_obj_get(root, "head_seq")), 1);
}

static void the_door_refuses_what_it_does_not_know(void **state)
{
	struct desk *d = *state;

	desk_fails(d, desk_try_call(d, "%s", ""), WEFT_INVALID, "");
	desk_fails(d, desk_try_call(d, "{\"method\":"), WEFT_INVALID, "JSON");
	desk_fails(d, desk_try_call(d, "[]"), WEFT_INVALID, "");
	desk_fails(d, desk_try_call(d, "{}"), WEFT_INVALID, "method");
	desk_fails(d, desk_try_call(d, "{\"method\":\"fly\"}"), WEFT_INVALID,
		   "fly");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"show\",\"sesion\":\"x\"}"),
		   WEFT_INVALID, "sesion");
	desk_fails(d, desk_try_call(d, "{\"method\":\"show\"}"), WEFT_INVALID,
		   "session");
	desk_fails(
		d,
		desk_try_call(d, "{\"method\":\"show\",\"session\":\"none\"}"),
		WEFT_NOT_FOUND, "none");
}

/* ---- fork() ---- */

static bool refused(int r, struct weft_error *err)
{
	bool said = r == WEFT_IO && strstr(err->message, "fork()");

	*err = (struct weft_error){ 0 };
	return said;
}

static void never_done(void *ctx, int code, const struct weft_receipt *receipt,
		       const struct weft_error *err)
{
	(void)ctx;
	(void)code;
	(void)receipt;
	(void)err;
	abort();
}

/* In the child: 0 if everything is refused, else what was not. */
static int call_everything(void *ctx)
{
	struct desk *d = ctx;
	static const char request[] = "{\"method\":\"list\"}";
	struct weft_error *err = &d->err;
	struct weft_answer *answer;
	struct weft_page *page;
	uint64_t head;

	if (!refused(weft_append(d->store, d->id, 26, HELLO, strlen(HELLO),
				 NULL, NULL, err),
		     err))
		return 1;
	if (!refused(weft_submit(d->store, d->id, 26, HELLO, strlen(HELLO),
				 NULL, never_done, NULL, err),
		     err))
		return 2;
	if (!refused(weft_read(d->store, d->id, 26, NULL, &page, err), err))
		return 3;
	if (!refused(weft_wait(d->store, d->id, 26, 9, -1, &head, err), err))
		return 4;
	if (!refused(
		    weft_call(d->store, request, strlen(request), &answer, err),
		    err))
		return 5;
	(void)weft_close(d->store, NULL);
	return 0;
}

static void in_a_child_every_call_fails_and_closing_works(void **state)
{
	struct desk *d = *state;

	desk_say(d, d->id, "before");
	assert_int_equal(call_in_child(call_everything, d), 0);
	desk_say(d, d->id, "after");
	assert_string_equal(desk_texts(d, d->id), "before after");
}

/* ---- what is not the library's ---- */

static void signals_locale_and_directory_are_left_alone(void **state)
{
	struct desk *d = *state;
	char before[512], after[512];
	const char *locale = setlocale(LC_ALL, NULL);
	struct sigaction was[32], is;
	struct weft_store *s;
	sigset_t was_masked, is_masked;

	/* Whoever started us may have left some of them ignored. */
	for (int i = 1; i < 32; i++)
		assert_int_equal(sigaction(i, NULL, &was[i]), 0);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &was_masked), 0);
	assert_non_null(getcwd(before, sizeof(before)));
	desk_ok(d, desk_open_again(d, NULL, 0, &s));
	desk_say(d, d->id, "hello");
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &is_masked), 0);
	for (int i = 1; i < 32; i++) {
		assert_int_equal(sigaction(i, NULL, &is), 0);
		assert_ptr_equal(is.sa_handler, was[i].sa_handler);
		assert_int_equal(sigismember(&is_masked, i),
				 sigismember(&was_masked, i));
	}
	desk_ok(d, weft_close(s, &d->err));
	assert_non_null(getcwd(after, sizeof(after)));
	assert_string_equal(before, after);
	assert_string_equal(setlocale(LC_ALL, NULL), locale);
}

/* A place that does not begin with a slash is taken from where the program is
 * when it opens the store, and stays there. */
static void a_program_may_go_elsewhere(void **state)
{
	struct desk *d = *state;
	char before[512], at[512], url[600];
	const char *place = strchr(d->url, ':') + 1;
	const char *slash = strrchr(d->url, '/');
	struct weft_store *s = NULL;

	if (!is_place(d->url) || place[0] != '/' || place[1] == '/')
		return;
	(void)snprintf(at, sizeof(at), "%.*s", (int)(slash - place), place);
	(void)snprintf(url, sizeof(url), "%.*s%s", (int)(place - d->url),
		       d->url, slash + 1);
	desk_ok(d, weft_close(d->store, &d->err));
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(at), 0);
	d->store = NULL;
	desk_ok(d, weft_open(url, NULL, &s, &d->err));
	d->store = s;
	assert_int_equal(chdir("/"), 0);
	desk_say(d, d->id, "one");
	desk_say(d, desk_new(d, "\"key\":\"elsewhere\""), "two");
	assert_string_equal(desk_texts(d, d->id), "one");
	assert_string_equal(desk_texts(d, "elsewhere"), "two");
	desk_call(d, "{\"method\":\"reindex\"}");
	assert_non_null(strstr(desk_call(d, "{\"method\":\"verify\"}"),
			       "\"sessions\":2,"));
	desk_reopen(d, "page=1000");
	assert_string_equal(desk_texts(d, "elsewhere"), "two");
	assert_int_equal(chdir(before), 0);
}

/* How many sessions the store holds in memory. */
static uint64_t active(struct desk *d)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	const char *stats = desk_call(d, "{\"method\":\"stats\"}");

	desk_ok(d, json_parse(str_of(stats), NULL, &doc, &d->err));
	return yyjson_get_uint(
		yyjson_ptr_get(yyjson_doc_get_root(doc), "/health/active"));
}

#define REST_US 1200000 /* sessions are in their files after a second */

/* A session that nobody uses leaves memory, and the next message brings it
 * back; so do all when a store is closed. */
static void what_rests_leaves_memory_and_comes_back(void **state)
{
	struct desk *d = *state;
	int tries = 0;

	/* The others hold none. */
	if (strncmp(d->url, "jsonl:", 6) != 0)
		return;
	desk_reopen(d, "idle_ms=500");
	(void)desk_new(d, "\"key\":\"k\"");
	(void)desk_say(d, "k", "one");
	assert_true(active(d) > 1);
	/* Maintenance itself uses its book. */
	while (active(d) > 1 && tries++ < 20) {
		(void)usleep(REST_US);
		(void)desk_call(d, "{\"method\":\"cleanup\"}");
	}
	assert_true(active(d) <= 1);
	(void)desk_say(d, "k", "two");
	assert_string_equal(desk_texts(d, "k"), "one two");
	desk_reopen(d, NULL);
	assert_string_equal(desk_texts(d, "k"), "one two");
	(void)desk_say(d, "k", "three");
	assert_string_equal(desk_texts(d, "k"), "one two three");
}

/* What would change nothing is answered, and is what it is where one may
 * write. */
static void who_may_only_read_may_ask_what_would_happen(void **state)
{
	static const char *const asked[] = {
		"{\"method\":\"purge\",\"session\":\"k\",\"dry_run\":true}",
		"{\"method\":\"reclaim\",\"session\":\"k\",\"dry_run\":true}",
		"{\"method\":\"purge\",\"user\":\"u\",\"dry_run\":true}",
		"{\"method\":\"cleanup\",\"dry_run\":true}",
		"{\"method\":\"new\",\"key\":\"k\",\"slug\":\"other\"}",
	};
	static const char *const refused[] = {
		"{\"method\":\"purge\",\"session\":\"k\"}",
		"{\"method\":\"reclaim\",\"session\":\"k\"}",
		"{\"method\":\"new\",\"key\":\"l\"}",
		"{\"method\":\"new\",\"key\":\"k\",\"op\":\"o\"}",
		"{\"method\":\"rename\",\"session\":\"k\",\"slug\":\"s\"}",
	};
	struct desk *d = *state;
	const char *expected[ARRAY_LEN(asked)];
	struct weft_store *writable = d->store;

	if (!is_place(d->url))
		return;
	(void)desk_new(d, "\"key\":\"k\",\"user\":\"u\"");
	(void)desk_say(d, "k", "a");
	(void)desk_say(d, "k", "b");
	(void)desk_new(d, "\"kind\":\"subagent\",\"parent\":\"k\"");
	(void)desk_fork(d, "k");
	(void)desk_say(d, "k", "c");
	(void)desk_call(d, "{\"method\":\"clear\",\"session\":\"k\"}");
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		expected[i] = desk_call(d, "%s", asked[i]);
	desk_ok(d, desk_open_again(d, NULL, WEFT_OPEN_READ_ONLY, &d->store));
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		assert_string_equal(desk_call(d, "%s", asked[i]), expected[i]);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		desk_fails(d, desk_try_call(d, "%s", refused[i]),
			   WEFT_READ_ONLY, "reading only");
	desk_ok(d, weft_close(d->store, &d->err));
	d->store = writable;
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(nothing_is_given_back_without_complaint),
	PUBLIC_TEST(a_bad_url_is_refused),
	PUBLIC_TEST(a_url_is_judged_without_opening_it),
	PUBLIC_TEST(options_must_have_been_set_up),
	PUBLIC_TEST(a_store_is_made_unless_that_is_forbidden),
	PUBLIC_TEST(what_was_appended_is_there_after_reopening),
	PUBLIC_TEST(a_reader_reads_and_does_not_write),
	PUBLIC_TEST(who_opens_alone_keeps_everybody_out),
	PUBLIC_TEST(times_come_from_the_clock_that_was_given),
	PUBLIC_TEST(the_door_answers_in_json),
	PUBLIC_TEST(the_door_refuses_what_it_does_not_know),
	PUBLIC_TEST(in_a_child_every_call_fails_and_closing_works),
	PUBLIC_TEST(signals_locale_and_directory_are_left_alone),
	PUBLIC_TEST(a_program_may_go_elsewhere),
	PUBLIC_TEST(what_rests_leaves_memory_and_comes_back),
	PUBLIC_TEST(who_may_only_read_may_ask_what_would_happen),
};

const struct suite public_open_suite = { tests, ARRAY_LEN(tests) };

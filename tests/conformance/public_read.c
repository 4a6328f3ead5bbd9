/* public_read.c - reading pages of events, and waiting for them. */
#include <pthread.h>
#include <unistd.h>

#include "conformance/public.h"

#define LONG_MS 20000

static struct weft_read_options options(uint32_t flags)
{
	struct weft_read_options o;

	weft_read_options_init(&o, sizeof(o));
	o.flags = flags;
	return o;
}

static struct weft_page *read_page(struct desk *d,
				   const struct weft_read_options *o)
{
	struct weft_page *page;

	desk_ok(d,
		weft_read(d->store, d->id, WEFT_ID_CHARS, o, &page, &d->err));
	return page;
}

/* The numbers that come: "1 2 3", redacted ones as "(2)". */
static const char *numbers(struct desk *d, const struct weft_read_options *o)
{
	struct weft_page *page = read_page(d, o);
	struct weft_event e;
	struct weft_str text;
	struct buf b;

	buf_init(&b, MIB(1));
	for (size_t i = 0; weft_page_event(page, i, &e); i++)
		buf_printf(&b, e.redacted ? "%s(%llu)" : "%s%llu", i ? " " : "",
			   (unsigned long long)e.seq);
	text = arena_str(&d->arena, buf_str(&b));
	buf_done(&b);
	weft_page_free(page);
	return text.ptr;
}

/* Events 1 to 7: the session, a, b, a new title, c, b redacted, d. */
static void talk(struct desk *d)
{
	desk_say(d, d->id, "a");
	desk_say(d, d->id, "b");
	(void)desk_call(d,
			"{\"method\":\"rename\",\"session\":\"%s\","
			"\"slug\":\"s\"}",
			d->id);
	desk_say(d, d->id, "c");
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[3]}",
			d->id);
	desk_say(d, d->id, "d");
}

static void everything_comes_by_default_but_what_is_redacted(void **state)
{
	struct desk *d = *state;

	talk(d);
	assert_string_equal(numbers(d, NULL), "1 2 4 5 6 7");
}

static void flags_choose_what_comes(void **state)
{
	struct desk *d = *state;
	struct weft_read_options o = options(WEFT_READ_MESSAGES);

	talk(d);
	assert_string_equal(numbers(d, &o), "2 5 7");
	o.flags |= WEFT_READ_REDACTED;
	assert_string_equal(numbers(d, &o), "2 (3) 5 7");
	o.flags |= WEFT_READ_BACKWARDS;
	assert_string_equal(numbers(d, &o), "7 5 (3) 2");
	o.flags = WEFT_READ_BACKWARDS;
	assert_string_equal(numbers(d, &o), "7 6 5 4 2 1");
	o.first = 2;
	o.last = 5;
	assert_string_equal(numbers(d, &o), "5 4 2");
	o.flags = 1u << 20;
	desk_fails(d,
		   weft_read(d->store, d->id, WEFT_ID_CHARS, &o,
			     &(struct weft_page *){ NULL }, &d->err),
		   WEFT_INVALID, "");
}

static void a_page_says_whether_it_is_the_last(void **state)
{
	struct desk *d = *state;
	struct weft_read_options o = options(WEFT_READ_REDACTED);
	struct weft_event e;
	struct weft_page *page;

	talk(d);
	o.max = 3;
	assert_string_equal(numbers(d, &o), "1 2 (3)");
	page = read_page(d, &o);
	assert_int_equal(weft_page_done(page), 0);
	assert_int_equal(weft_page_count(page), 3);
	assert_int_equal(weft_page_event(page, 2, &e), 1);
	assert_int_equal(weft_page_event(page, 3, &e), 0);
	weft_page_free(page);
	o.first = 5;
	o.max = 4;
	page = read_page(d, &o);
	assert_int_equal(weft_page_count(page), 3);
	assert_int_equal(weft_page_done(page), 1);
	weft_page_free(page);
	o.first = 100;
	page = read_page(d, &o);
	assert_int_equal(weft_page_count(page), 0);
	assert_int_equal(weft_page_done(page), 1);
	weft_page_free(page);
}

static void an_event_tells_all_about_itself(void **state)
{
	struct desk *d = *state;
	struct weft_event e = { 0 };
	struct weft_page *page;

	d->now_ms += 7000;
	desk_ok(d, desk_try(d, d->id,
			    "{\"role\":\"user\",\"content\":\"x\",\"at\":"
			    "\"2025-01-02T03:04:05.678Z\",\"background\":true}",
			    NULL, NULL));
	desk_say(d, d->id, "y");
	page = read_page(d, NULL);
	assert_int_equal(weft_page_event(page, 1, &e), 1);
	assert_int_equal(e.seq, 2);
	assert_int_equal(e.last, 2);
	assert_int_equal(e.ts_ms, TEST_BEGIN_MS + 7000);
	assert_int_equal(e.at_ms, INT64_C(1735787045678));
	assert_string_equal(e.type, "message");
	assert_string_equal(e.state, "ok");
	assert_int_equal(e.background, 1);
	assert_int_equal(e.redacted, 0);
	assert_int_equal(strlen(e.id), WEFT_ID_CHARS);
	assert_non_null(memmem(e.line, e.line_len, e.body, e.body_len));
	assert_int_equal(memcmp(e.body, "\"role\":\"user\",\"parts\":", 22), 0);
	assert_int_equal(memcmp(e.line, "{\"seq\":2,", 9), 0);
	assert_int_equal(weft_page_event(page, 2, &e), 1);
	assert_int_equal(e.at_ms, e.ts_ms);
	assert_int_equal(weft_page_event(page, 0, &e), 1);
	assert_string_equal(e.type, "session");
	weft_page_free(page);
}

static void a_page_outlives_the_store(void **state)
{
	struct desk *d = *state;
	struct weft_event e = { 0 };
	struct weft_page *page;

	talk(d);
	page = read_page(d, NULL);
	desk_ok(d, weft_close(d->store, &d->err));
	d->store = NULL;
	assert_int_equal(weft_page_event(page, 1, &e), 1);
	assert_non_null(memmem(e.body, e.body_len, "\"a\"", 3));
	weft_page_free(page);
}

static void an_unknown_session_cannot_be_read(void **state)
{
	struct desk *d = *state;
	struct weft_page *page = NULL;
	uint64_t head = 77;

	desk_fails(d, weft_read(d->store, "nobody", 6, NULL, &page, &d->err),
		   WEFT_NOT_FOUND, "nobody");
	assert_null(page);
	desk_fails(d,
		   weft_read(d->store, "01ARZ3NDEKTSV4RRFFQ69G5FAV", 26, NULL,
			     &page, &d->err),
		   WEFT_NOT_FOUND, "");
	desk_fails(d, weft_wait(d->store, "nobody", 6, 0, 0, &head, &d->err),
		   WEFT_NOT_FOUND, "nobody");
	assert_int_equal(head, 77);
}

/* ---- waiting ---- */

static void waiting_for_what_is_there_does_not_wait(void **state)
{
	struct desk *d = *state;
	uint64_t head = 0;

	desk_say(d, d->id, "a");
	desk_say(d, d->id, "b");
	desk_ok(d, weft_wait(d->store, d->id, WEFT_ID_CHARS, 0, -1, &head,
			     &d->err));
	assert_int_equal(head, 3);
	desk_ok(d, weft_wait(d->store, d->id, WEFT_ID_CHARS, 2, LONG_MS, &head,
			     &d->err));
	assert_int_equal(head, 3);
}

static void waiting_in_vain_ends_with_busy(void **state)
{
	struct desk *d = *state;
	int64_t from = clock_mono_us();
	uint64_t head = 77;

	desk_fails(
		d,
		weft_wait(d->store, d->id, WEFT_ID_CHARS, 1, 0, &head, &d->err),
		WEFT_BUSY, "");
	desk_fails(d,
		   weft_wait(d->store, d->id, WEFT_ID_CHARS, 1, 40, &head,
			     &d->err),
		   WEFT_BUSY, "");
	assert_true(clock_mono_us() - from >= 39000);
	assert_int_equal(head, 77);
}

/* Somebody who appends after a moment. */
struct speaker {
	pthread_t thread;
	struct weft_store *store;
	const char *session;
	int r;
};

static void *speak_soon(void *ctx)
{
	static const char json[] = "{\"role\":\"user\",\"content\":\"x\"}";
	struct speaker *s = ctx;

	(void)usleep(20000);
	s->r = weft_append(s->store, s->session, WEFT_ID_CHARS, json,
			   strlen(json), NULL, NULL, NULL);
	return NULL;
}

/* Wait on d->store for what is written to `writer`. */
static void expect_woken(struct desk *d, struct weft_store *writer)
{
	struct speaker s = { .store = writer, .session = d->id };
	uint64_t before = desk_head(d, d->id), head = 0;

	assert_int_equal(pthread_create(&s.thread, NULL, speak_soon, &s), 0);
	desk_ok(d, weft_wait(d->store, d->id, WEFT_ID_CHARS, before, -1, &head,
			     &d->err));
	assert_int_equal(pthread_join(s.thread, NULL), 0);
	assert_int_equal(s.r, WEFT_OK);
	assert_int_equal(head, before + 1);
}

static void an_append_ends_the_wait(void **state)
{
	struct desk *d = *state;

	for (int i = 0; i < 5; i++)
		expect_woken(d, d->store);
}

static void an_append_through_another_handle_ends_the_wait(void **state)
{
	struct desk *d = *state;
	struct weft_store *other;

	if (!is_place(d->url))
		return;
	desk_ok(d, desk_open_again(d, NULL, 0, &other));
	for (int i = 0; i < 5; i++)
		expect_woken(d, other);
	desk_ok(d, weft_close(other, &d->err));
}

static void an_append_elsewhere_does_not_end_the_wait(void **state)
{
	struct desk *d = *state;
	struct speaker s = { .store = d->store };
	uint64_t head = 0;

	s.session = desk_new(d, "");
	assert_int_equal(pthread_create(&s.thread, NULL, speak_soon, &s), 0);
	desk_fails(d,
		   weft_wait(d->store, d->id, WEFT_ID_CHARS, 1, 100, &head,
			     &d->err),
		   WEFT_BUSY, "");
	assert_int_equal(pthread_join(s.thread, NULL), 0);
	assert_int_equal(s.r, WEFT_OK);
}

static void redact(struct desk *d, unsigned message, bool undo)
{
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[%u],\"undo\":%s}",
			d->id, message, undo ? "true" : "false");
}

static void expect_previews(struct desk *d, const char *first, const char *last)
{
	const char *shown =
		desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}", d->id);
	char expected[128];

	(void)snprintf(expected, sizeof(expected),
		       "\"first_user\":\"%s\",\"last_user\":\"%s\"", first,
		       last);
	if (!strstr(shown, expected))
		fail_msg("'%s' is not in %s", expected, shown);
}

/* What is hidden is not found, neither now nor when all is derived again. */
static void previews_hide_and_show_with_their_message(void **state)
{
	struct desk *d = *state;
	static const char find[] = "{\"method\":\"list\",\"query\":\"alpha\"}";

	desk_say(d, d->id, "alpha");
	desk_say(d, d->id, "omega");
	redact(d, 2, false);
	redact(d, 3, false);
	expect_previews(d, "", "");
	assert_null(strstr(desk_call(d, "%s", find), d->id));
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	expect_previews(d, "", "");
	redact(d, 2, true);
	expect_previews(d, "alpha", "");
	redact(d, 3, true);
	expect_previews(d, "alpha", "omega");
	assert_non_null(strstr(desk_call(d, "%s", find), d->id));
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	expect_previews(d, "alpha", "omega");
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(everything_comes_by_default_but_what_is_redacted),
	PUBLIC_TEST(flags_choose_what_comes),
	PUBLIC_TEST(a_page_says_whether_it_is_the_last),
	PUBLIC_TEST(an_event_tells_all_about_itself),
	PUBLIC_TEST(a_page_outlives_the_store),
	PUBLIC_TEST(an_unknown_session_cannot_be_read),
	PUBLIC_TEST(previews_hide_and_show_with_their_message),
	PUBLIC_TEST(waiting_for_what_is_there_does_not_wait),
	PUBLIC_TEST(waiting_in_vain_ends_with_busy),
	PUBLIC_TEST(an_append_ends_the_wait),
	PUBLIC_TEST(an_append_through_another_handle_ends_the_wait),
	PUBLIC_TEST(an_append_elsewhere_does_not_end_the_wait),
};

const struct suite public_read_suite = { tests, ARRAY_LEN(tests) };

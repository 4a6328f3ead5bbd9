/* events.c - events: their numbers, their bytes, reading them in pages. */
#include "base/id.h"
#include "conformance/conformance.h"
#include "model/event.h"

/* A session with `n` messages "m2", "m3", ... behind its first event. */
static struct weft_id talk(struct fixture *f, unsigned n)
{
	struct weft_id s = begin(f);

	while (n > 0) {
		struct draft *d = draft_new(f);
		uint64_t seq = head(f, &s);

		for (; n > 0 && d->n < STEPS_MAX; n--) {
			char text[32];

			(void)snprintf(text, sizeof(text), "m%llu",
				       (unsigned long long)++seq);
			(void)draft_say(d, &s, text);
		}
		must_write(d);
	}
	return s;
}

static void numbers_rise_by_one_from_one(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct event_page page;

	assert_int_equal(head(f, &s), 1);
	assert_int_equal(say(f, &s, "one"), 2);
	assert_int_equal(say(f, &s, "two"), 3);
	page = read_all(f, &s);
	assert_string_equal(seqs(f, &page), "1 2 3");
	assert_string_equal(texts(f, &page), "session one two");
	assert_true(page.done);
}

static void sessions_number_their_events_apart(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f);

	say(f, &a, "one");
	say(f, &b, "other");
	say(f, &a, "two");
	expect_texts(f, &a, "session one two");
	expect_texts(f, &b, "session other");
}

static void a_session_may_begin_behind_a_fork_point(void **state)
{
	struct fixture *f = *state;
	struct weft_id parent = talk(f, 7);
	struct weft_id fork =
		begin_with(f, &(struct session_rec){ .parent = parent,
						     .forked_from = parent,
						     .fork_seq = 5 });
	struct event_page page;

	assert_int_equal(head(f, &fork), 6);
	assert_int_equal(say(f, &fork, "mine"), 7);
	page = read_all(f, &fork);
	assert_string_equal(seqs(f, &page), "6 7");
	assert_string_equal(texts(f, &page), "session mine");
}

static void an_event_comes_back_as_it_was_written(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);
	struct step *step = draft_say(d, &s, "h\\u00e9llo \\\" \xe2\x80\xa8");
	struct store_event again;
	const struct store_event *e;
	struct event_page page;

	step->event.op = STR("op \"quoted\" \xc3\xa9");
	step->event.at_ms = TEST_BEGIN_MS - 5;
	step->event.background = 1;
	must_write(d);
	page = read_range(f, &(struct event_range){ s, 2, 2, 0, 0, 0, 0 });
	assert_int_equal(page.n, 1);
	e = &page.v[0];
	assert_id_equal(&e->session, &s);
	assert_int_equal(e->seq, 2);
	assert_int_equal(e->last, 2);
	assert_int_equal(e->ts_ms, step->event.ts_ms);
	assert_int_equal(e->at_ms, TEST_BEGIN_MS - 5);
	assert_int_equal(e->type, EVENT_MESSAGE);
	assert_int_equal(e->state, STATE_OK);
	assert_int_equal(e->more, 0);
	assert_int_equal(e->background, 1);
	assert_true(str_eq(e->op, step->event.op));
	assert_true(str_eq(e->body, step->event.body));
	assert_int_equal(id_event_seq(&e->id), 2);
	assert_int_equal(id_event_tag(&e->id), id_session_tag(&s));

	/* The line says the same, and its checksum is right. */
	event_read(&s, e->bytes, &f->arena, &again);
	assert_int_equal(again.state, STATE_OK);
	assert_int_equal(again.seq, 2);
	assert_true(str_eq(again.body, step->event.body));
}

static void every_event_of_a_group_says_how_many_follow(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);
	struct event_page page;

	draft_say(d, &s, "a")->event.more = 2;
	draft_say(d, &s, "b")->event.more = 1;
	(void)draft_say(d, &s, "c");
	must_write(d);
	page = read_all(f, &s);
	assert_int_equal(page.v[1].more, 2);
	assert_int_equal(page.v[2].more, 1);
	assert_int_equal(page.v[3].more, 0);
}

static void a_range_is_inclusive_and_may_reach_past_the_ends(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = talk(f, 5);
	const struct {
		uint64_t first, last;
		const char *seqs;
	} ranges[] = {
		{ 1, 6, "1 2 3 4 5 6" },
		{ 0, UINT64_MAX, "1 2 3 4 5 6" },
		{ 3, 3, "3" },
		{ 2, 4, "2 3 4" },
		{ 5, 99, "5 6" },
		{ 7, 99, "" },
		{ UINT64_MAX, UINT64_MAX, "" },
		{ 4, 3, "" },
		{ 0, 0, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		struct event_range r = { .session = s,
					 .first = ranges[i].first,
					 .last = ranges[i].last };
		struct event_page page = read_range(f, &r);

		assert_string_equal(seqs(f, &page), ranges[i].seqs);
		assert_true(page.done);
	}
}

static void reading_backwards_gives_the_newest_first(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = talk(f, 5);
	struct event_range r = {
		.session = s, .first = 2, .last = UINT64_MAX, .backwards = 1
	};
	struct event_page page = read_range(f, &r);

	assert_string_equal(texts(f, &page), "m6 m5 m4 m3 m2");
	assert_true(page.done);
	r.last = 4;
	r.max_events = 2;
	page = read_range(f, &r);
	assert_string_equal(texts(f, &page), "m4 m3");
	assert_false(page.done);
}

/* Read a range page by page; the numbers that came, in their order. */
static const char *read_in_pages(struct fixture *f, struct event_range r,
				 size_t *ret_pages)
{
	struct event_page page = { 0 }, all = { 0 };

	all.v = ARENA_ARRAY(&f->arena, struct store_event, 4096);
	for (*ret_pages = 0; !page.done; ++*ret_pages) {
		page = read_range(f, &r);
		/* Or nobody would ever come to the end. */
		assert_true(page.done || page.n > 0);
		for (size_t i = 0; i < page.n; i++)
			all.v[all.n++] = page.v[i];
		if (page.n == 0)
			continue;
		if (r.backwards)
			r.last = page.v[page.n - 1].seq - 1;
		else
			r.first = page.v[page.n - 1].last + 1;
	}
	return seqs(f, &all);
}

static void pages_of_any_size_make_up_the_range(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = talk(f, 20);
	struct event_range all = { .session = s, .first = 3, .last = 17 };

	for (all.backwards = 0; all.backwards < 2; all.backwards++) {
		struct event_page whole = read_range(f, &all);
		const char *expected = seqs(f, &whole);
		struct event_range r = all;
		size_t pages;

		for (r.max_events = 1; r.max_events < 20; r.max_events++) {
			assert_string_equal(read_in_pages(f, r, &pages),
					    expected);
			/* One more is allowed: the end may be unknown. */
			assert_true(pages <= 15 / r.max_events + 1);
		}
		r.max_events = 0;
		for (r.max_bytes = 1; r.max_bytes < 4000; r.max_bytes += 97)
			assert_string_equal(read_in_pages(f, r, &pages),
					    expected);
	}
}

static void a_page_holds_no_more_events_than_asked_for(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = talk(f, 20);
	struct event_range r = { .session = s, .first = 1, .last = UINT64_MAX };

	for (r.max_events = 1; r.max_events <= 21; r.max_events++) {
		struct event_page page = read_range(f, &r);

		assert_int_equal(page.n, r.max_events);
		assert_true(r.max_events == 21 || !page.done);
	}
}

static void a_page_holds_no_more_bytes_than_asked_for(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = talk(f, 20);
	struct event_range r = { .session = s, .first = 2, .last = UINT64_MAX };
	size_t line = read_range(f, &r).v[0].bytes.len;

	r.max_bytes = 3 * line + line / 2;
	assert_int_equal(read_range(f, &r).n, 3);
	/* One event is always returned. */
	r.max_bytes = 1;
	assert_int_equal(read_range(f, &r).n, 1);
	r.backwards = 1;
	assert_int_equal(read_range(f, &r).n, 1);
}

static void the_page_limit_holds_whatever_is_asked_for(void **state)
{
	struct fixture *f = *state;
	struct event_range r = { .first = 1, .last = UINT64_MAX };

	reopen_with(f, "page=5");
	r.session = talk(f, 3);
	assert_int_equal(read_range(f, &r).n, 4);
	assert_true(read_range(f, &r).done);
	say(f, &r.session, "five");
	assert_int_equal(read_range(f, &r).n, 5);
	say(f, &r.session, "six");
	assert_int_equal(read_range(f, &r).n, 5);
	assert_false(read_range(f, &r).done);
	r.max_events = 6;
	assert_int_equal(read_range(f, &r).n, 5);
	r.max_events = 4;
	assert_int_equal(read_range(f, &r).n, 4);
}

static void only_the_types_asked_for_come(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct event_range r = { .session = s, .first = 1, .last = UINT64_MAX };
	struct event_page page;

	say(f, &s, "a");
	name(f, &s, "alias", 1);
	say(f, &s, "b");
	hide(f, &s, 2, true);
	say(f, &s, "c");

	r.types = UINT64_C(1) << EVENT_MESSAGE;
	page = read_range(f, &r);
	assert_string_equal(texts(f, &page), "a b c");
	assert_string_equal(seqs(f, &page), "2 4 6");
	r.max_events = 2;
	page = read_range(f, &r);
	assert_string_equal(texts(f, &page), "a b");
	assert_false(page.done);
	r.backwards = 1;
	page = read_range(f, &r);
	assert_string_equal(texts(f, &page), "c b");
	r.backwards = 0;
	r.max_events = 0;
	r.types = UINT64_C(1) << EVENT_NAME | UINT64_C(1) << EVENT_REDACT;
	page = read_range(f, &r);
	assert_string_equal(texts(f, &page), "name redact");
	assert_true(page.done);
	r.types = UINT64_C(1) << EVENT_TODOS;
	page = read_range(f, &r);
	assert_int_equal(page.n, 0);
	assert_true(page.done);
}

static void a_session_that_is_not_there_is_empty(void **state)
{
	struct fixture *f = *state;
	struct weft_id s;
	struct event_page page;

	(void)begin(f);
	assert_ok(f, id_new(f->now_ms, &s, &f->err));
	page = read_all(f, &s);
	assert_int_equal(page.n, 0);
	assert_true(page.done);
	assert_true(id_is_zero(&record(f, &s)->id));
}

static void records_come_in_the_order_asked_for(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f), nobody;
	struct session_rec out[4];

	assert_ok(f, id_new(f->now_ms, &nobody, &f->err));
	assert_ok(f, f->store->ops->get_sessions(
			     f->store, (struct weft_id[]){ b, nobody, a, b }, 4,
			     &f->arena, out, &f->err));
	assert_id_equal(&out[0].id, &b);
	assert_true(id_is_zero(&out[1].id));
	assert_id_equal(&out[2].id, &a);
	assert_id_equal(&out[3].id, &b);
}

static void long_lines_survive(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);
	size_t n = KIB(100);
	char *text = ARENA_ARRAY(&f->arena, char, n + 1);
	struct event_page page;

	memset(text, 'x', n);
	(void)draft_say(d, &s, text);
	must_write(d);
	say(f, &s, "short");
	page = read_all(f, &s);
	assert_int_equal(page.n, 3);
	assert_int_equal(page.v[1].state, STATE_OK);
	assert_true(str_eq(page.v[1].body, d->steps[0].event.body));
	assert_int_equal(page.v[2].seq, 3);
}

static void an_event_id_leads_to_its_session(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), *found, nobody;
	size_t n;

	(void)begin(f);
	assert_ok(f, f->store->ops->find_tag(f->store, id_session_tag(&a),
					     &f->arena, &found, &n, &f->err));
	assert_int_equal(n, 1);
	assert_id_equal(&found[0], &a);
	assert_ok(f, id_new(f->now_ms, &nobody, &f->err));
	assert_ok(f, f->store->ops->find_tag(f->store, id_session_tag(&nobody),
					     &f->arena, &found, &n, &f->err));
	assert_int_equal(n, 0);
}

static void what_is_read_belongs_to_the_reader(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = talk(f, 3);
	struct event_page page = read_all(f, &s);
	const struct session_rec *rec = record(f, &s);

	for (int i = 0; i < 50; i++)
		say(f, &s, "later");
	close_store(f, f->store);
	f->store = NULL;
	assert_string_equal(texts(f, &page), "session m2 m3 m4");
	assert_str_is(rec->first_user, "m2");
}

static void a_full_arena_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = talk(f, 20);
	struct event_range r = { .session = s, .first = 1, .last = UINT64_MAX };
	CLEANUP(arena_done) struct arena small;
	struct event_page page;

	arena_init(&small, 1024);
	assert_code(f,
		    f->store->ops->read_events(f->store, &r, &small, &page,
					       &f->err),
		    WEFT_LIMIT);
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(numbers_rise_by_one_from_one),
	STORE_TEST(sessions_number_their_events_apart),
	STORE_TEST(a_session_may_begin_behind_a_fork_point),
	STORE_TEST(an_event_comes_back_as_it_was_written),
	STORE_TEST(every_event_of_a_group_says_how_many_follow),
	STORE_TEST(a_range_is_inclusive_and_may_reach_past_the_ends),
	STORE_TEST(reading_backwards_gives_the_newest_first),
	STORE_TEST(pages_of_any_size_make_up_the_range),
	STORE_TEST(a_page_holds_no_more_events_than_asked_for),
	STORE_TEST(a_page_holds_no_more_bytes_than_asked_for),
	STORE_TEST(the_page_limit_holds_whatever_is_asked_for),
	STORE_TEST(only_the_types_asked_for_come),
	STORE_TEST(a_session_that_is_not_there_is_empty),
	STORE_TEST(records_come_in_the_order_asked_for),
	STORE_TEST(long_lines_survive),
	STORE_TEST(an_event_id_leads_to_its_session),
	STORE_TEST(what_is_read_belongs_to_the_reader),
	STORE_TEST(a_full_arena_is_an_error),
};

const struct suite event_suite = { tests, ARRAY_LEN(tests) };

/* words.c - the index of words: what is dropped goes alone, and goes for sure. */
#include "conformance/conformance.h"
#include "model/derive.h"
#include "model/event.h"
#include "model/record.h"

/* All words are the same but for a session's own. */
struct shelf {
	struct fixture *f;
	struct weft_id *ids;
	size_t n;
};

#define MESSAGES 3

static struct behind_page behind(struct fixture *f)
{
	struct behind_page page = { 0 };

	assert_ok(f, f->store->ops->get_behind(f->store, 1, 100, &f->arena,
					       &page, &f->err));
	return page;
}

/* Put the words of all that is behind; how many events that were. */
static uint64_t catch_up(struct shelf *s)
{
	struct fixture *f = s->f;
	struct behind_page page = behind(f);
	uint64_t events = 0;

	for (size_t i = 0; i < page.n; i++) {
		const struct word_behind *b = &page.v[i];
		struct word_doc docs[MESSAGES + 1];
		struct word_batch batch = {
			.session = b->session,
			.from = b->from,
			.to = b->to,
			.docs = docs,
		};

		for (uint64_t seq = b->from + 1; seq <= b->to; seq++)
			docs[batch.n++] = (struct word_doc){
				.seq = seq,
				.at_ms = TEST_BEGIN_MS + (int64_t)seq,
				.words = STR("common"),
			};
		assert_ok(f, f->store->ops->put_words(f->store, page.epoch,
						      &batch, 1, &f->err));
		events += b->to - b->from;
	}
	assert_int_equal(events, page.events);
	return events;
}

static size_t count_hits(struct fixture *f, const struct weft_id *session)
{
	const struct word_term term = { .word = STR("common") };
	const struct word_query q = {
		.terms = &term,
		.n_terms = 1,
		.sessions = session,
		.n_sessions = session ? 1 : 0,
	};
	struct word_page page;

	assert_ok(f, f->store->ops->find_words(f->store, &q, &f->arena, &page,
					       &f->err));
	return page.n;
}

static void drop(struct fixture *f, const struct weft_id *ids, size_t n)
{
	assert_ok(f, f->store->ops->drop_words(f->store, ids, n, &f->err));
}

/* So many sessions, all in the index. */
static struct shelf fill(struct fixture *f, size_t n)
{
	struct shelf s = { f, ARENA_ARRAY(&f->arena, struct weft_id, n), n };

	assert_non_null(s.ids);
	for (size_t i = 0; i < n; i++) {
		s.ids[i] = begin(f);
		for (size_t k = 0; k < MESSAGES; k++)
			say(f, &s.ids[i], "common");
	}
	assert_int_equal(catch_up(&s), n * (MESSAGES + 1));
	assert_int_equal(behind(f).events, 0);
	return s;
}

static bool has_index(const struct fixture *f)
{
	return strncmp(f->url, "memory:", 7) != 0;
}

/* However many others there are, none of them is to be read again. */
static void dropping_costs_others_nothing(void **state)
{
	struct fixture *f = *state;
	struct shelf s;

	if (!has_index(f))
		return;
	s = fill(f, 12);
	drop(f, &s.ids[5], 1);
	assert_int_equal(behind(f).n, 1);
	assert_int_equal(count_hits(f, NULL), 11 * (MESSAGES + 1));
	assert_int_equal(count_hits(f, &s.ids[5]), 0);
	assert_int_equal(catch_up(&s), MESSAGES + 1);
	assert_int_equal(count_hits(f, NULL), 12 * (MESSAGES + 1));
	assert_int_equal(behind(f).events, 0);
}

static void several_are_dropped_at_once(void **state)
{
	struct fixture *f = *state;
	struct shelf s;

	if (!has_index(f))
		return;
	s = fill(f, 4);
	drop(f, s.ids, 0);
	assert_int_equal(behind(f).events, 0);
	drop(f, &s.ids[1], 2);
	assert_int_equal(count_hits(f, NULL), 2 * (MESSAGES + 1));
	drop(f, s.ids, 4);
	assert_int_equal(count_hits(f, NULL), 0);
	assert_int_equal(catch_up(&s), 4 * (MESSAGES + 1));
	assert_int_equal(count_hits(f, NULL), 4 * (MESSAGES + 1));
}

/* It stays behind until all of it is there, also for who comes later. */
static void what_was_dropped_is_not_forgotten(void **state)
{
	struct fixture *f = *state;
	struct word_doc doc = { 1, TEST_BEGIN_MS, STR("common") };
	struct word_batch some = { .from = 0, .to = 1, .docs = &doc, .n = 1 };
	struct shelf s;

	if (!has_index(f))
		return;
	s = fill(f, 3);
	/* All that was looked through is known to be there. */
	reopen_with(f, NULL);
	say(f, &s.ids[2], "common");
	assert_int_equal(catch_up(&s), 1);
	drop(f, &s.ids[0], 1);
	some.session = s.ids[0];
	assert_ok(f, f->store->ops->put_words(f->store, behind(f).epoch, &some,
					      1, &f->err));
	reopen_with(f, NULL);
	assert_int_equal(behind(f).events, MESSAGES);
	say(f, &s.ids[0], "common");
	assert_int_equal(behind(f).n, 1);
	assert_int_equal(behind(f).events, MESSAGES + 1);
	assert_int_equal(catch_up(&s), MESSAGES + 1);
	assert_int_equal(count_hits(f, &s.ids[0]), MESSAGES + 2);
}

/* Who has read before the words were dropped puts none of them. */
static void words_read_before_a_drop_stay_out(void **state)
{
	struct fixture *f = *state;
	struct word_doc doc = { 5, TEST_BEGIN_MS, STR("common") };
	struct word_batch late = { .from = 4, .to = 5, .docs = &doc, .n = 1 };
	uint64_t epoch;
	struct shelf s;

	if (!has_index(f))
		return;
	s = fill(f, 2);
	say(f, &s.ids[1], "common");
	epoch = behind(f).epoch;
	drop(f, &s.ids[0], 1);
	late.session = s.ids[1];
	assert_ok(f,
		  f->store->ops->put_words(f->store, epoch, &late, 1, &f->err));
	assert_int_equal(count_hits(f, &s.ids[1]), MESSAGES + 1);
	assert_int_equal(catch_up(&s), 1 + MESSAGES + 1);
}

/* One write that takes a session away, and a line of another. */
struct taking {
	struct fixture *f;
	struct weft_id whole, part;
};

static int plan_taking(void *ctx, struct store_view *view, struct op_list *out,
		       struct weft_error *err)
{
	const struct taking *t = ctx;
	struct store_rewrite *x = ARENA_NEW(out->arena, struct store_rewrite);
	struct store_event *gone = ARENA_NEW(out->arena, struct store_event);
	struct session_rec *rec = ARENA_NEW(out->arena, struct session_rec);
	const struct session_rec *now = NULL;
	int r = view->ops->get_session(view, &t->part, &now, err);

	if (r == WEFT_OK)
		r = record_copy(rec, now, out->arena, err);
	if (r < 0)
		return r;
	*gone = (struct store_event){
		.session = t->part,
		.seq = 2,
		.last = 2,
		.ts_ms = t->f->now_ms,
		.type = EVENT_GONE,
		.state = STATE_GONE,
		.body = STR("\"why\":\"erase\""),
	};
	*x = (struct store_rewrite){ 2, 2, gone };
	op_list_add(out, OP_DROP, &t->whole);
	op_list_add(out, OP_REWRITE, &t->part)->u.rewrite = x;
	op_list_add(out, OP_SESSION, &t->part)->u.rec = rec;
	return event_seal(gone, out->arena, err);
}

static void take_away(struct fixture *f, const struct weft_id *whole,
		      const struct weft_id *part)
{
	struct taking t = { f, *whole, *part };
	const struct weft_id both[] = { *whole, *part };
	const struct store_want want = { .sessions = both,
					 .n_sessions = 2,
					 .exclusive = 1 };

	f->writing = true;
	assert_ok(f, f->store->ops->write(f->store, &want, plan_taking, &t,
					  &f->err));
	f->writing = false;
}

/* Whoever took it away did not get as far as dropping the words. */
static void words_of_what_is_gone_are_remembered(void **state)
{
	struct fixture *f = *state;
	struct shelf s;

	if (!has_index(f))
		return;
	s = fill(f, 4);
	assert_false(behind(f).doomed);
	take_away(f, &s.ids[1], &s.ids[2]);
	reopen_with(f, NULL);
	assert_true(behind(f).doomed);
	assert_int_equal(count_hits(f, &s.ids[1]), MESSAGES + 1);
	drop(f, NULL, 0);
	assert_int_equal(count_hits(f, &s.ids[1]), 0);
	assert_int_equal(count_hits(f, &s.ids[2]), 0);
	assert_int_equal(count_hits(f, NULL), 2 * (MESSAGES + 1));
	assert_false(behind(f).doomed);
	/* What is left of the one is read again; the other is no more. */
	assert_int_equal(behind(f).n, 1);
	assert_int_equal(behind(f).events, MESSAGES + 1);
}

/* Words that were read before and come after are dropped with the others. */
static void words_put_after_a_rewrite_go_with_it(void **state)
{
	struct fixture *f = *state;
	struct word_doc doc = { 5, TEST_BEGIN_MS, STR("common") };
	struct word_batch late = { .from = 4, .to = 5, .docs = &doc, .n = 1 };
	uint64_t epoch;
	struct shelf s;

	if (!has_index(f))
		return;
	s = fill(f, 2);
	say(f, &s.ids[1], "common");
	epoch = behind(f).epoch;
	take_away(f, &s.ids[0], &s.ids[1]);
	late.session = s.ids[1];
	assert_ok(f,
		  f->store->ops->put_words(f->store, epoch, &late, 1, &f->err));
	assert_true(behind(f).doomed);
	drop(f, NULL, 0);
	assert_int_equal(count_hits(f, NULL), 0);
	assert_int_equal(behind(f).events, MESSAGES + 2);
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(dropping_costs_others_nothing),
	STORE_TEST(several_are_dropped_at_once),
	STORE_TEST(what_was_dropped_is_not_forgotten),
	STORE_TEST(words_read_before_a_drop_stay_out),
	STORE_TEST(words_of_what_is_gone_are_remembered),
	STORE_TEST(words_put_after_a_rewrite_go_with_it),
};

const struct suite word_suite = { tests, ARRAY_LEN(tests) };

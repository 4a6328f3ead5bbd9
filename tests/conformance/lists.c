/* lists.c - lists of sessions: filters, order, cursors. */
#include "base/id.h"
#include "base/text.h"
#include "conformance/conformance.h"

static struct session_page list(struct fixture *f, const struct list_query *q)
{
	struct session_page page;

	assert_ok(f,
		  f->store->ops->list(f->store, q, &f->arena, &page, &f->err));
	return page;
}

/* The slugs of a page: "c b a". */
static const char *slugs(struct fixture *f, const struct session_page *page)
{
	struct weft_str text;
	struct buf b;

	buf_init(&b, MIB(1));
	for (size_t i = 0; i < page->n; i++)
		buf_printf(&b, "%s%.*s", i ? " " : "",
			   STR_ARG(page->v[i].slug));
	text = arena_str(&f->arena, buf_str(&b));
	buf_done(&b);
	return text.ptr;
}

static void expect_list(struct fixture *f, const struct list_query *q,
			const char *expected)
{
	struct session_page page = list(f, q);

	assert_string_equal(slugs(f, &page), expected);
}

static struct weft_id begin_slug(struct fixture *f, const char *slug)
{
	return begin_with(f, &(struct session_rec){ .slug = str_of(slug) });
}

static void the_last_interaction_comes_first(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin_slug(f, "a");
	struct weft_id b = begin_slug(f, "b");
	struct list_query by_creation = { .sort = LIST_BY_CREATION };

	(void)begin_slug(f, "c");
	say(f, &b, "hello");
	say(f, &a, "hello");
	expect_list(f, &(struct list_query){ 0 }, "a b c");
	expect_list(f, &by_creation, "c b a");
}

static void background_work_is_no_interaction(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin_slug(f, "a");
	struct draft *d = draft_new(f);

	(void)begin_slug(f, "b");
	draft_say(d, &a, "in the background")->event.background = 1;
	must_write(d);
	expect_list(f, &(struct list_query){ 0 }, "b a");
	say(f, &a, "hello");
	expect_list(f, &(struct list_query){ 0 }, "a b");
}

static void an_empty_store_has_an_empty_list(void **state)
{
	struct fixture *f = *state;
	struct session_page page = list(f, &(struct list_query){ 0 });

	assert_int_equal(page.n, 0);
	assert_false(page.more);
}

static void every_exact_filter_takes_what_is_equal(void **state)
{
	struct fixture *f = *state;
	const struct session_rec starts[] = {
		{ .slug = STR("1"), .agent = STR("main"), .user = STR("ann") },
		{ .slug = STR("2"), .agent = STR("main"), .user = STR("bob") },
		{ .slug = STR("3"), .agent = STR("Main"), .user = STR("ann") },
		{ .slug = STR("4"),
		  .project_dir = STR("/p"),
		  .channel = STR("cli") },
		{ .slug = STR("5"),
		  .project_dir = STR("/p/q"),
		  .channel = STR("slack") },
		{ .slug = STR("6"),
		  .project_dir = STR("/p"),
		  .channel = STR("slack") },
	};
	const struct {
		struct list_query q;
		const char *slugs;
	} lists[] = {
		{ { .agent = STR("main") }, "2 1" },
		{ { .agent = STR("Main") }, "3" },
		{ { .agent = STR("mai") }, "" },
		{ { .user = STR("ann") }, "3 1" },
		{ { .agent = STR("main"), .user = STR("ann") }, "1" },
		{ { .project_dir = STR("/p") }, "6 4" },
		{ { .channel = STR("slack") }, "6 5" },
		{ { .project_dir = STR("/p"), .channel = STR("slack") }, "6" },
		{ { .slug = STR("5") }, "5" },
		{ { .slug = STR("55") }, "" },
		{ { .slug = STR("5"), .agent = STR("main") }, "" },
		{ { .agent = STR("%") }, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		(void)begin_with(f, &starts[i]);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		expect_list(f, &lists[i].q, lists[i].slugs);
}

static void kinds_are_chosen_by_their_bits(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin_slug(f, "primary");
	const uint64_t primary = 1 << KIND_PRIMARY, book = 1 << KIND_BOOK,
		       subagent = 1 << KIND_SUBAGENT;

	(void)begin_with(f, &(struct session_rec){ .kind = KIND_SUBAGENT,
						   .parent = a,
						   .root = a,
						   .slug = STR("subagent") });
	(void)begin_with(f, &(struct session_rec){ .kind = KIND_BOOK,
						   .slug = STR("book") });
	expect_list(f, &(struct list_query){ 0 }, "book subagent primary");
	expect_list(f, &(struct list_query){ .kinds = primary }, "primary");
	expect_list(f, &(struct list_query){ .kinds = book }, "book");
	expect_list(f, &(struct list_query){ .kinds = primary | subagent },
		    "subagent primary");
}

static void children_are_found_by_their_parent(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin_slug(f, "a"), b = begin_slug(f, "b");
	struct session_rec start = {
		.kind = KIND_SUBAGENT, .parent = a, .root = a, .slug = STR("a1")
	};

	(void)begin_with(f, &start);
	start.slug = STR("a2");
	(void)begin_with(f, &start);
	expect_list(f, &(struct list_query){ .parent = a }, "a2 a1");
	expect_list(f, &(struct list_query){ .parent = b }, "");
}

static void text_is_found_folded_in_slug_project_and_first_words(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin_slug(f, "Caf\xc3\xa9");
	struct weft_id b = begin_with(
		f, &(struct session_rec){ .slug = STR("b"),
					  .project_dir = STR("/src/CAFE") });
	struct weft_id c = begin_slug(f, "c"), d = begin_slug(f, "d");
	const struct {
		const char *text, *slugs;
	} searches[] = {
		{ "cafe", "c b Caf\xc3\xa9" },
		{ "CAF\xc3\x89", "c b Caf\xc3\xa9" },
		{ "the", "d c" },
		{ "coffee", "" },
		{ "b/src", "" }, /* never across two fields */
		{ "%", "" },
		{ "_", "" },
	};

	(void)a;
	(void)b;
	say(f, &c, "to the Cafe\xcc\x81");
	say(f, &d, "the first words");
	say(f, &d, "and coffee in the second");
	for (size_t i = 0; i < ARRAY_LEN(searches); i++) {
		struct list_query q = { .sort = LIST_BY_CREATION };
		const char *expected = searches[i].slugs;

		assert_ok(f, text_fold(str_of(searches[i].text), &f->arena,
				       &q.folded, &f->err));
		expect_list(f, &q, expected);
	}
}

static void a_range_of_ids_is_inclusive(void **state)
{
	struct fixture *f = *state;
	struct weft_id ids[5];
	const char *names[] = { "a", "b", "c", "d", "e" };
	struct list_query q = { .sort = LIST_BY_CREATION };

	for (size_t i = 0; i < 5; i++)
		ids[i] = begin_slug(f, names[i]);
	q.id_low = ids[1];
	q.id_high = ids[3];
	expect_list(f, &q, "d c b");
	q.id_low = ids[2];
	q.id_high = ids[2];
	expect_list(f, &q, "c");
	q.id_low = ids[4];
	memset(&q.id_high, 0xff, sizeof(q.id_high));
	expect_list(f, &q, "e");
	q.id_low = (struct weft_id){ 0 };
	q.id_high = ids[0];
	expect_list(f, &q, "a");
}

static void deleted_sessions_are_listed_on_request(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin_slug(f, "a");
	struct draft *d = draft_new(f);

	(void)begin_slug(f, "b");
	(void)draft_event(d, &a, EVENT_DELETE, "\"names\":[]");
	must_write(d);
	assert_true(record(f, &a)->deleted_at != 0);
	expect_list(f, &(struct list_query){ 0 }, "b");
	expect_list(f,
		    &(struct list_query){ .deleted = LIST_WITH_DELETED,
					  .sort = LIST_BY_CREATION },
		    "b a");
	d = draft_new(f);
	(void)draft_event(d, &a, EVENT_RESTORE, "\"names\":[]");
	must_write(d);
	expect_list(f, &(struct list_query){ .sort = LIST_BY_CREATION }, "b a");
}

/* ---- pages ---- */

/* Sessions in groups of the same time, so that ids decide as well. */
static void begin_many(struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char slug[16];

		(void)snprintf(slug, sizeof(slug), "s%u", i);
		(void)begin_slug(f, slug);
		if (i % 3 != 0)
			f->now_ms -= 1000;
	}
}

static const char *walk_forwards(struct fixture *f, struct list_query q,
				 const struct session_page *whole)
{
	struct session_page page = { .more = 1 }, all = { 0 };

	all.v = ARENA_ARRAY(&f->arena, struct session_rec, whole->n);
	while (page.more) {
		page = list(f, &q);
		assert_true(page.n == q.limit || !page.more);
		for (size_t i = 0; i < page.n; i++)
			all.v[all.n++] = page.v[i];
		assert_true(page.n > 0);
		q.cursor_ms = q.sort == LIST_BY_CREATION ?
				      page.v[page.n - 1].created_at :
				      page.v[page.n - 1].last_interaction_at;
		q.cursor_id = page.v[page.n - 1].id;
	}
	return slugs(f, &all);
}

static const char *walk_backwards(struct fixture *f, struct list_query q,
				  const struct session_page *whole)
{
	struct session_page page = { .more = 1 }, all = { 0 };
	const struct session_rec *last = &whole->v[whole->n - 1];
	size_t from = whole->n - 1;

	all.v = ARENA_ARRAY(&f->arena, struct session_rec, whole->n);
	all.n = whole->n;
	all.v[from] = *last;
	q.backwards = 1;
	while (page.more) {
		q.cursor_ms = q.sort == LIST_BY_CREATION ?
				      all.v[from].created_at :
				      all.v[from].last_interaction_at;
		q.cursor_id = all.v[from].id;
		page = list(f, &q);
		assert_true(page.n == q.limit || !page.more);
		assert_true(page.n <= from);
		from -= page.n;
		memcpy(all.v + from, page.v, page.n * sizeof(*page.v));
	}
	assert_int_equal(from, 0);
	return slugs(f, &all);
}

static void pages_of_any_size_make_up_the_list_both_ways(void **state)
{
	struct fixture *f = *state;
	struct list_query q = { 0 };

	begin_many(f, 20);
	for (q.sort = 0; q.sort < 2; q.sort++) {
		struct session_page whole;
		const char *expected;

		q.limit = 100;
		whole = list(f, &q);
		assert_int_equal(whole.n, 20);
		assert_false(whole.more);
		expected = slugs(f, &whole);
		for (q.limit = 1; q.limit < 22; q.limit++) {
			assert_string_equal(walk_forwards(f, q, &whole),
					    expected);
			assert_string_equal(walk_backwards(f, q, &whole),
					    expected);
		}
	}
}

static void of_two_at_one_time_the_larger_id_comes_first(void **state)
{
	struct fixture *f = *state;
	struct session_page page;

	begin_many(f, 20);
	page = list(f, &(struct list_query){ .sort = LIST_BY_CREATION });
	for (size_t i = 1; i < page.n; i++) {
		const struct session_rec *a = &page.v[i - 1], *b = &page.v[i];

		assert_true(a->created_at > b->created_at ||
			    (a->created_at == b->created_at &&
			     id_cmp(&a->id, &b->id) > 0));
	}
}

static void a_cursor_need_not_be_a_session(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin_slug(f, "a");
	struct list_query q = { .sort = LIST_BY_CREATION };
	int64_t between;

	f->now_ms += 5000;
	between = f->now_ms - 2000;
	(void)begin_slug(f, "b");
	q.cursor_ms = between;
	q.cursor_id = a;
	expect_list(f, &q, "a");
	q.backwards = 1;
	expect_list(f, &q, "b");
}

static void nothing_is_before_the_top(void **state)
{
	struct fixture *f = *state;
	struct list_query q = { .backwards = 1 };
	struct session_page page;

	begin_many(f, 3);
	page = list(f, &q);
	assert_int_equal(page.n, 0);
	assert_false(page.more);
}

static void filters_and_pages_go_together(void **state)
{
	struct fixture *f = *state;
	struct list_query q = { .agent = STR("x"),
				.limit = 2,
				.sort = LIST_BY_CREATION };
	struct session_page page;

	for (int i = 0; i < 9; i++) {
		char slug[16];

		(void)snprintf(slug, sizeof(slug), "s%d", i);
		(void)begin_with(
			f, &(struct session_rec){ .slug = str_of(slug),
						  .agent = i % 2 ? STR("x") :
								   STR("y") });
	}
	page = list(f, &q);
	assert_string_equal(slugs(f, &page), "s7 s5");
	assert_true(page.more);
	q.cursor_ms = page.v[1].created_at;
	q.cursor_id = page.v[1].id;
	page = list(f, &q);
	assert_string_equal(slugs(f, &page), "s3 s1");
	/* More of the others is not more. */
	assert_false(page.more);
}

static void a_list_is_never_longer_than_a_page(void **state)
{
	struct fixture *f = *state;
	struct list_query q = { 0 };

	reopen_with(f, "page=5");
	begin_many(f, 5);
	assert_int_equal(list(f, &q).n, 5);
	assert_false(list(f, &q).more);
	(void)begin_slug(f, "six");
	assert_int_equal(list(f, &q).n, 5);
	assert_true(list(f, &q).more);
	q.limit = 6;
	assert_int_equal(list(f, &q).n, 5);
	q.limit = 4;
	assert_int_equal(list(f, &q).n, 4);
}

static void what_changes_moves_in_the_list(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin_slug(f, "old");
	struct draft *d = draft_new(f);

	(void)draft_event(d, &a, EVENT_PATCH, "\"slug\":\"new\"");
	must_write(d);
	expect_list(f, &(struct list_query){ .slug = STR("old") }, "");
	expect_list(f, &(struct list_query){ .slug = STR("new") }, "new");
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(the_last_interaction_comes_first),
	STORE_TEST(background_work_is_no_interaction),
	STORE_TEST(an_empty_store_has_an_empty_list),
	STORE_TEST(every_exact_filter_takes_what_is_equal),
	STORE_TEST(kinds_are_chosen_by_their_bits),
	STORE_TEST(children_are_found_by_their_parent),
	STORE_TEST(text_is_found_folded_in_slug_project_and_first_words),
	STORE_TEST(a_range_of_ids_is_inclusive),
	STORE_TEST(deleted_sessions_are_listed_on_request),
	STORE_TEST(pages_of_any_size_make_up_the_list_both_ways),
	STORE_TEST(of_two_at_one_time_the_larger_id_comes_first),
	STORE_TEST(a_cursor_need_not_be_a_session),
	STORE_TEST(nothing_is_before_the_top),
	STORE_TEST(filters_and_pages_go_together),
	STORE_TEST(a_list_is_never_longer_than_a_page),
	STORE_TEST(what_changes_moves_in_the_list),
};

const struct suite list_suite = { tests, ARRAY_LEN(tests) };

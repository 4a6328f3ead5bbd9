/*
 * test-catalog-list.c - the catalogue's lists are what store/match.h says.
 *
 * Random queries over random sessions, held against going through all of them.
 * Values are few, so that filters and equal times meet often.
 */
#include <sqlite3.h>

#include "base/text.h"
#include "store/jsonl/catalog_db.h"
#include "store/match.h"
#include "store/sql/list.h"
#include "unit/catalog-help.h"

#define SESSIONS 400
#define QUERIES  4000
#define DAY_MS   (24 * 60 * 60 * 1000)

/* xorshift: the same everywhere. */
static uint64_t draw(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % below;
}

static const struct weft_str words[] = {
	STR_INIT(""),
	STR_INIT("alpha"),
	STR_INIT("Beta"),
	STR_INIT("beta"),
	STR_INIT("a\0b"),
	STR_INIT("\xff\xfe"),
	STR_INIT("\xa9x"),
	STR_INIT("Stra\xc3\x9f"
		 "e"),
	STR_INIT("\xc3\xa9"),
	STR_INIT("x\ny"),
};

static struct weft_str word(uint64_t *seed)
{
	return words[draw(seed, ARRAY_LEN(words))];
}

static struct weft_id some_id(uint64_t *seed)
{
	struct weft_id id = id_of(1 + draw(seed, 50));

	/* Days apart, so that some ranges of ids are wide. */
	id.b[2] = (unsigned char)draw(seed, 4);
	return id;
}

static uint64_t some_kind(uint64_t *seed)
{
	static const uint64_t odd[] = { 0, 4, 62, 63, 64, UINT64_MAX };

	return draw(seed, 6) ? 1 + draw(seed, 3) :
			       odd[draw(seed, ARRAY_LEN(odd))];
}

static struct session_rec some_record(uint64_t *seed)
{
	struct session_rec rec = {
		.id = some_id(seed),
		.kind = some_kind(seed),
		.slug = word(seed),
		.project_dir = word(seed),
		.agent = word(seed),
		.channel = word(seed),
		.user = word(seed),
		.first_user = word(seed),
		.created_at = (int64_t)draw(seed, 20) - 3,
		.last_interaction_at = (int64_t)draw(seed, 20) - 3,
		.head_seq = draw(seed, 1000),
	};

	if (draw(seed, 2))
		rec.parent = some_id(seed);
	if (draw(seed, 4) == 0)
		rec.deleted_at = 5;
	if (draw(seed, 8) == 0)
		rec.purged_at = 6;
	return rec;
}

/* Each filter now and then: with all of them at once nothing would match. */
static struct list_query some_query(uint64_t *seed)
{
	struct list_query q = {
		.sort = (uint32_t)draw(seed, 2),
		.deleted = (uint32_t)draw(seed, 2),
		.backwards = draw(seed, 3) == 0,
	};
	struct weft_str *const texts[] = { &q.project_dir, &q.agent, &q.channel,
					   &q.user, &q.slug };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (draw(seed, 8) == 0)
			*texts[i] = word(seed);
	}
	if (draw(seed, 2))
		q.kinds = UINT64_C(1) << (draw(seed, 9) ? 1 + draw(seed, 3) :
							  draw(seed, 64));
	if (draw(seed, 4) == 0)
		q.kinds |= UINT64_C(1) << draw(seed, 64) | draw(seed, 16);
	if (draw(seed, 20) == 0)
		q.kinds = UINT64_MAX;
	if (draw(seed, 6) == 0)
		q.parent = some_id(seed);
	if (draw(seed, 4) == 0) {
		q.id_low = some_id(seed);
		q.id_high = some_id(seed);
	}
	if (draw(seed, 20) == 0)
		q.id_low = (struct weft_id){ .b = { 0 } };
	if (draw(seed, 2)) {
		q.cursor_ms = (int64_t)draw(seed, 22) - 4;
		q.cursor_id = some_id(seed);
	}
	return q;
}

struct all {
	struct session_rec v[SESSIONS];
	size_t n;
	struct arena a;
};

static uint32_t sort_by; /* qsort has no room for it */

static int by_order(const void *a, const void *b)
{
	return match_order(sort_by, a, b);
}

static void expected(const struct all *all, const struct list_query *q,
		     struct arena *a, struct all *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < all->n; i++) {
		bool matches;

		MUST(match_record(q, &all->v[i], a, &matches, &err));
		if (matches && match_cursor(q, &all->v[i]))
			ret->v[ret->n++] = all->v[i];
	}
	sort_by = q->sort;
	qsort(ret->v, ret->n, sizeof(ret->v[0]), by_order);
	for (size_t i = 0; q->backwards && i < ret->n / 2; i++) {
		struct session_rec swap = ret->v[i];

		ret->v[i] = ret->v[ret->n - 1 - i];
		ret->v[ret->n - 1 - i] = swap;
	}
}

static int take(void *ctx, const struct session_rec *rec)
{
	struct all *all = ctx;

	assert_true(all->n < SESSIONS);
	return record_copy(&all->v[all->n++], rec, &all->a, NULL);
}

static void fill(struct catalog *c, struct all *all, uint64_t *seed)
{
	all->n = 0;
	MUST(catalog_begin(c, &err));
	for (uint64_t i = 1; i <= SESSIONS; i++) {
		struct catalog_row row = { .rec = some_record(seed), .lsn = i };
		size_t at = 0;

		/* The later of two with one id replaces the first. */
		while (at < all->n && !id_eq(&all->v[at].id, &row.rec.id))
			at++;
		all->v[at] = row.rec;
		if (at == all->n)
			all->n++;
		MUST(catalog_put(c, &row, &err));
	}
	/* Some of them grow: what they are listed and found by changes. */
	for (size_t i = 0; i < all->n; i += 3) {
		struct catalog_row row = { all->v[i], SESSIONS + 1, 0, 0, 0 };

		row.rec.first_user = word(seed);
		row.rec.last_interaction_at += 4;
		row.rec.agent = word(seed);
		all->v[i] = row.rec;
		MUST(catalog_put(c, &row, &err));
	}
	MUST(catalog_commit(c, &err));
}

/*
 * So many sessions of one person, project, channel and agent that a list of
 * theirs goes another way than one of few.  They are purged: no list has them.
 */
static void crowd(struct catalog *c, struct weft_str name)
{
	MUST(catalog_begin(c, &err));
	for (uint64_t i = 0; i < LIST_FEW; i++) {
		struct catalog_row row = {
			.rec = { .id = id_of(100000 + i),
				 .user = name,
				 .project_dir = name,
				 .channel = name,
				 .agent = name,
				 .purged_at = 1 },
			.lsn = 1,
		};

		MUST(catalog_put(c, &row, &err));
	}
	MUST(catalog_commit(c, &err));
}

static void a_list_is_what_matches_in_order(void **state)
{
	static struct all all, want, got;
	const char *given = getenv("WEFT_TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : 88172645463325252u;
	unsigned rounds = QUERIES * test_scale();
	struct catalog *c = open_in_memory();
	size_t matched = 0;

	(void)state;
	arena_init(&got.a, 0);
	fill(c, &all, &seed);
	crowd(c, words[1]);
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t started = seed;
		struct list_query q = some_query(&seed);

		arena_reset(&got.a);
		if (draw(&seed, 5) == 0)
			MUST(text_fold(word(&seed), &got.a, &q.folded, &err));
		got.n = 0;
		expected(&all, &q, &got.a, &want);
		MUST(catalog_list(c, &q, take, &got, &err));
		if (got.n != want.n)
			fail_msg("%zu instead of %zu (seed %llu)", got.n,
				 want.n, (unsigned long long)started);
		for (size_t k = 0; k < want.n; k++) {
			if (!record_eq(&got.v[k], &want.v[k]))
				fail_msg("row %zu differs (seed %llu)", k,
					 (unsigned long long)started);
		}
		matched += want.n;
	}
	/* Or else nothing was tested. */
	assert_true(matched > rounds);
	arena_done(&got.a);
	catalog_close(c);
}

static int stop_at_three(void *ctx, const struct session_rec *rec)
{
	(void)rec;
	return ++*(int *)ctx == 3 ? -1000 : 0;
}

static void a_list_ends_when_told(void **state)
{
	static struct all all;
	struct catalog *c = open_in_memory();
	struct list_query q = { .kinds = 0, .limit = 1 };
	uint64_t seed = 42;
	int n = 0;

	(void)state;
	fill(c, &all, &seed);
	assert_int_equal(catalog_list(c, &q, stop_at_three, &n, NULL), -1000);
	assert_int_equal(n, 3);
	/* And nothing of it is left to hold up a transaction. */
	MUST(catalog_begin(c, &err));
	MUST(catalog_clear(c, &err));
	MUST(catalog_commit(c, &err));
	catalog_close(c);
}

/* Pages forwards to the end and backwards again give the same sessions. */
static int take_five(void *ctx, const struct session_rec *rec)
{
	struct all *all = ctx;

	(void)take(ctx, rec);
	return all->n % 5 == 0;
}

static void pages_fit_together(void **state)
{
	static struct all all, want, got, back;
	struct catalog *c = open_in_memory();
	struct list_query q = { .kinds = 1 << KIND_PRIMARY };
	uint64_t seed = 4242;
	int r;

	(void)state;
	arena_init(&got.a, 0);
	arena_init(&back.a, 0);
	fill(c, &all, &seed);
	expected(&all, &q, &got.a, &want);
	assert_true(want.n > 20);
	do {
		r = catalog_list(c, &q, take_five, &got, NULL);
		assert_true(r >= 0);
		q.cursor_ms = got.v[got.n - 1].last_interaction_at;
		q.cursor_id = got.v[got.n - 1].id;
	} while (r == 1);
	assert_int_equal(got.n, want.n);
	q.backwards = 1;
	do {
		r = catalog_list(c, &q, take_five, &back, NULL);
		assert_true(r >= 0);
		q.cursor_ms = back.v[back.n - 1].last_interaction_at;
		q.cursor_id = back.v[back.n - 1].id;
	} while (r == 1);
	/* All but the last one, which the cursor was at. */
	assert_int_equal(back.n, want.n - 1);
	for (size_t i = 0; i < want.n; i++)
		assert_true(record_eq(&got.v[i], &want.v[i]));
	for (size_t i = 0; i < back.n; i++)
		assert_true(record_eq(&back.v[i], &want.v[want.n - 2 - i]));
	arena_done(&got.a);
	arena_done(&back.a);
	catalog_close(c);
}

static int at_once(void *ctx, const struct session_rec *rec)
{
	(void)rec;
	return ++*(int *)ctx;
}

/* Sorts and steps through what is not wanted, of all lists so far. */
static int wasted(struct catalog *c)
{
	int n = 0;

	for (size_t i = 0; i < LIST_STATEMENTS; i++) {
		sqlite3_stmt *s = c->reads->lists[i].stmt;

		if (!s)
			continue;
		n += sqlite3_stmt_status(s, SQLITE_STMTSTATUS_SORT, 0);
		n += sqlite3_stmt_status(s, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0);
		n += sqlite3_stmt_status(s, SQLITE_STMTSTATUS_AUTOINDEX, 0);
		/* A hundred columns and little else: the first row only. */
		if (sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 0) > 300)
			n += 100000;
	}
	return n;
}

static void a_page_of_a_list_needs_no_sorting(void **state)
{
	static struct all all;
	struct catalog *c = open_in_memory();
	uint64_t seed = 7;

	(void)state;
	fill(c, &all, &seed);
	for (int i = 0; i < 16; i++) {
		struct list_query q = {
			.kinds = i & 8 ? 0 : 1 << KIND_PRIMARY,
			.sort = (uint32_t)i & 1,
			.backwards = (uint32_t)(i & 2),
			.deleted = i & 8 ? LIST_WITH_DELETED : LIST_LIVE,
		};
		int n = 0;

		if (i & 4 || q.backwards) {
			q.cursor_ms = 10;
			q.cursor_id = id_of(25);
		}
		assert_int_equal(catalog_list(c, &q, at_once, &n, NULL), 1);
		if (wasted(c))
			fail_msg("query %d costs %d", i, wasted(c));
	}
	catalog_close(c);
}

/* More shapes than there is room for, again and again. */
static void statements_are_kept_within_bounds(void **state)
{
	static struct all all, got;
	struct catalog *c = open_in_memory();
	uint64_t seed = 99;

	(void)state;
	arena_init(&got.a, 0);
	fill(c, &all, &seed);
	for (uint32_t i = 0; i < 200; i++) {
		struct list_query q = { .kinds = 1 << KIND_PRIMARY };
		size_t expect;

		if (i & 1)
			q.slug = STR("beta");
		if (i & 2)
			q.agent = STR("beta");
		if (i & 4)
			q.user = STR("beta");
		if (i & 8)
			q.sort = LIST_BY_CREATION;
		if (i & 16)
			q.deleted = LIST_WITH_DELETED;
		expected(&all, &q, &got.a, &got);
		expect = got.n;
		got.n = 0;
		MUST(catalog_list(c, &q, take, &got, &err));
		assert_int_equal(got.n, expect);
	}
	arena_done(&got.a);
	catalog_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_what_matches_in_order),
		cmocka_unit_test(a_list_ends_when_told),
		cmocka_unit_test(pages_fit_together),
		cmocka_unit_test(a_page_of_a_list_needs_no_sorting),
		cmocka_unit_test(statements_are_kept_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

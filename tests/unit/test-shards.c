/*
 * test-shards.c - an index of words in several shards finds what going through
 * all documents finds, and keeps nothing of what was dropped.
 *
 * Times are few, so that pages end in the middle of a millisecond, and in no
 * order, so that shards overlap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/id.h"
#include "store/match.h"
#include "store/sqlite/words.h"

#define SESSIONS 6
#define DOCS     400
#define BEGIN_MS INT64_C(1794736800000)

struct doc {
	struct word_hit hit;
	uint64_t words; /* word k if bit k is set */
	bool gone;
};

struct shelf {
	struct sqlite3 *db;
	struct arena arena;
	uint64_t seed;
	struct doc docs[DOCS];
};

static uint64_t draw(struct shelf *s, uint64_t below)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed % below;
}

static struct weft_id session(uint64_t i)
{
	struct weft_id id = { { 0 } };

	id.b[0] = 1;
	id.b[15] = (unsigned char)(7 * i % 64);
	return id;
}

static void exec(struct shelf *s, const char *sql)
{
	assert_int_equal(sqlite3_exec(s->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int64_t ask(struct shelf *s, const char *sql)
{
	struct sqlite3_stmt *stmt = NULL;
	int64_t n;

	assert_int_equal(sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	n = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	return n;
}

/* One word of each session is nobody else's. */
static void put_one(struct shelf *s, size_t i)
{
	struct doc *d = &s->docs[i];
	uint64_t who = draw(s, SESSIONS);
	struct word_doc doc;
	char text[256];
	int n;

	*d = (struct doc){
		.hit = { BEGIN_MS + (int64_t)draw(s, 40), session(who), i + 1 },
		.words = draw(s, 256),
	};
	n = snprintf(text, sizeof(text), "only%u", (unsigned)who);
	for (unsigned k = 0; k < 8; k++) {
		if (d->words & (UINT64_C(1) << k))
			n += snprintf(text + n, sizeof(text) - (size_t)n,
				      " word%u", k);
	}
	doc = (struct word_doc){ i + 1, d->hit.at_ms, { text, (size_t)n } };
	assert_int_equal(words_put(s->db, &d->hit.session, &doc, 1), SQLITE_OK);
}

/* A shard that says it is full is followed by another. */
static int setup(void **state)
{
	struct shelf *s = calloc(1, sizeof(*s));
	char full[64];

	(void)snprintf(full, sizeof(full), "UPDATE search_shards SET docs=%d",
		       WORDS_SHARD_DOCS);
	if (!s)
		return -1;
	s->seed = 7;
	arena_init(&s->arena, 0);
	if (sqlite3_open(":memory:", &s->db) != SQLITE_OK)
		return -1;
	exec(s, "PRAGMA secure_delete=ON;PRAGMA temp_store=MEMORY;" WORDS_TABLES
		"BEGIN");
	for (size_t i = 0; i < DOCS; i++) {
		put_one(s, i);
		if (i % 100 == 99)
			exec(s, full);
	}
	exec(s, "COMMIT");
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct shelf *s = *state;

	arena_done(&s->arena);
	(void)sqlite3_close(s->db);
	free(s);
	return 0;
}

/* What a page must have. */
static size_t expect(struct shelf *s, uint64_t words,
		     const struct word_query *q, struct word_hit *v)
{
	size_t n = 0;

	for (size_t i = 0; i < DOCS; i++) {
		const struct doc *d = &s->docs[i];

		if (d->gone || (d->words & words) != words ||
		    (q->after && match_hit_order(q->after, &d->hit) >= 0) ||
		    (q->n_sessions && id_cmp(q->sessions, &d->hit.session)))
			continue;
		v[n++] = d->hit;
	}
	qsort(v, n, sizeof(*v), match_hit_compare);
	return n;
}

static void look_once(struct shelf *s)
{
	struct word_term terms[2] = { { STR("word0"), 0 },
				      { STR("word0"), 0 } };
	uint64_t a = draw(s, 8), b = draw(s, 8);
	const char *const names[] = { "word0", "word1", "word2", "word3",
				      "word4", "word5", "word6", "word7" };
	struct weft_id in = session(draw(s, SESSIONS));
	struct word_hit from = s->docs[draw(s, DOCS)].hit, *v;
	struct word_query q = { .terms = terms, .n_terms = 1 + draw(s, 2) };
	uint64_t words = UINT64_C(1) << a;
	struct word_page page = { 0 };
	size_t n, limit = 1 + draw(s, 60);

	terms[0].word = str_of(names[a]);
	terms[1].word = str_of(names[b]);
	if (q.n_terms == 2)
		words |= UINT64_C(1) << b;
	if (draw(s, 2))
		q.after = &from;
	if (!draw(s, 3)) {
		q.sessions = &in;
		q.n_sessions = 1;
	}
	arena_reset(&s->arena);
	v = ARENA_ARRAY(&s->arena, struct word_hit, DOCS);
	n = expect(s, words, &q, v);
	assert_int_equal(words_find(s->db, &q, limit, &s->arena, &page),
			 SQLITE_OK);
	assert_int_equal(page.n, n < limit ? n : limit);
	assert_int_equal(page.more, n > limit);
	for (size_t i = 0; i < page.n; i++)
		assert_int_equal(match_hit_order(&page.v[i], &v[i]), 0);
}

static void pages_go_over_all_shards(void **state)
{
	struct shelf *s = *state;

	assert_int_equal(ask(s, "SELECT count(*) FROM search_shards"), 4);
	for (size_t i = 0; i < 400; i++)
		look_once(s);
}

static void drop(struct shelf *s, const struct weft_id *ids, size_t n)
{
	exec(s, "BEGIN");
	assert_int_equal(words_drop(s->db, ids, n), SQLITE_OK);
	exec(s, "COMMIT");
	for (size_t i = 0; i < DOCS; i++) {
		for (size_t k = 0; k < n; k++) {
			if (!id_cmp(&ids[k], &s->docs[i].hit.session))
				s->docs[i].gone = true;
		}
	}
}

/* Is it in any page of the file? */
static bool is_written(struct shelf *s, const char *word)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes = sqlite3_serialize(s->db, "main", &size, 0);
	bool is;

	assert_non_null(bytes);
	is = memmem(bytes, (size_t)size, word, strlen(word)) != NULL;
	sqlite3_free(bytes);
	return is;
}

/* FTS5 writes the beginning that words share once: look for the rest. */
static void what_is_dropped_leaves_nothing(void **state)
{
	struct shelf *s = *state;
	const struct weft_id ids[2] = { session(2), session(5) };
	const struct word_term prefix = { STR("only"), 1 };
	const struct word_query q = { .terms = &prefix, .n_terms = 1 };
	struct word_doc secret = { 1, BEGIN_MS, STR("zebra xylophone") };
	struct word_page page;
	size_t left = 0;

	/* Into a shard with others. */
	exec(s, "UPDATE search_shards SET docs=100");
	assert_int_equal(words_put(s->db, &ids[0], &secret, 1), SQLITE_OK);
	assert_true(is_written(s, "ylophone"));
	drop(s, ids, 2);
	assert_false(is_written(s, "ylophone"));
	assert_false(is_written(s, "ebra"));
	for (size_t i = 0; i < 200; i++)
		look_once(s);
	for (size_t i = 0; i < DOCS; i++)
		left += !s->docs[i].gone;
	assert_int_equal(ask(s, "SELECT count(*) FROM search_docs"), left);
	assert_int_equal(words_find(s->db, &q, DOCS, &s->arena, &page),
			 SQLITE_OK);
	assert_int_equal(page.n, left);
}

/* A shard that nothing is left of is gone, and the next words find room. */
static void an_empty_shard_goes(void **state)
{
	struct shelf *s = *state;
	struct weft_id all[SESSIONS];

	exec(s, "UPDATE search_shards SET docs=100");
	for (size_t i = 0; i < SESSIONS; i++)
		all[i] = session(i);
	drop(s, all, SESSIONS - 1);
	assert_int_equal(ask(s, "SELECT count(*) FROM search_shards"), 4);
	drop(s, all, SESSIONS);
	assert_int_equal(ask(s, "SELECT count(*) FROM search_shards"), 0);
	assert_int_equal(ask(s, "SELECT count(*) FROM search_docs"), 0);
	assert_false(is_written(s, "only"));
	put_one(s, 0);
	assert_int_equal(ask(s, "SELECT count(*) FROM search_shards"), 1);
	for (size_t i = 0; i < 20; i++)
		look_once(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pages_go_over_all_shards, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_dropped_leaves_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_shard_goes, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test-catalog-cache.c - the pages of a large catalogue that are kept: which,
 * and that nobody is told what was there before.
 */
#include "base/mem.h"
#include "store/jsonl/catalog_db.h"
#include "unit/catalog-help.h"

/* ---- pages ---- */

#define INNER 5
#define OUTER 13

static void fill(unsigned char *page, unsigned char kind, uint32_t number)
{
	memset(page, (int)(number & 255), CATALOG_PAGE_BYTES);
	page[0] = kind;
}

/* As if it had been read from the file; nobody looks at it. */
static void pass(struct page_cache *c, unsigned char kind, uint32_t number)
{
	unsigned char *page = page_cache_get(c, number);

	if (!page) {
		page = page_cache_add(c, number);
		assert_non_null(page);
		fill(page, kind, number);
		page = page_cache_keep(c, number, page);
	}
	assert_int_equal(page[0], kind);
	assert_int_equal(page[CATALOG_PAGE_BYTES - 1], number & 255);
	page_cache_release(c, page);
}

static bool has(struct page_cache *c, uint32_t number)
{
	unsigned char *page = page_cache_get(c, number);

	if (page)
		page_cache_release(c, page);
	return page != NULL;
}

static void inner_pages_outlast_outer_ones(void **state)
{
	struct page_cache *c = page_cache_new();
	unsigned inner = 0, outer = 0;

	(void)state;
	assert_non_null(c);
	for (uint32_t n = 2; n < 1002; n++)
		pass(c, INNER, n);
	for (uint32_t n = 100000; n < 200000; n++)
		pass(c, OUTER, n);
	for (uint32_t n = 2; n < 1002; n++)
		inner += has(c, n);
	for (uint32_t n = 100000; n < 199000; n++)
		outer += has(c, n);
	assert_int_equal(inner, 1000);
	assert_int_equal(outer, 0);
	page_cache_free(c);
}

static unsigned count_left(const struct page_cache *c, uint32_t from,
			   uint32_t to)
{
	unsigned n = 0;

	for (uint32_t number = from; number < to; number++)
		n += page_cache_leaves(c, number);
	return n;
}

/* But for a few that were taken for another one. */
static void what_is_read_again_soon_is_left(void **state)
{
	struct page_cache *c = page_cache_new();

	(void)state;
	assert_non_null(c);
	for (uint32_t n = 2; n < 202; n++)
		pass(c, OUTER, n);
	assert_int_equal(count_left(c, 2, 202), 0);
	for (uint32_t n = 2; n < 202; n++)
		pass(c, OUTER, n);
	assert_true(count_left(c, 2, 202) > 150);
	/* Too many were in between. */
	for (int again = 0; again < 2; again++) {
		for (uint32_t n = 100000; n < 200000; n++)
			pass(c, OUTER, n);
	}
	assert_true(count_left(c, 100000, 200000) < 100);
	page_cache_clear(c);
	assert_int_equal(count_left(c, 2, 200000), 0);
	page_cache_free(c);
}

static void an_inner_page_is_left_when_it_is_read_often(void **state)
{
	struct page_cache *c = page_cache_new();

	(void)state;
	assert_non_null(c);
	for (int i = 0; i < 10; i++)
		pass(c, INNER, 2);
	assert_false(page_cache_leaves(c, 2));
	for (int i = 0; i < 10; i++)
		pass(c, INNER, 2);
	assert_true(page_cache_leaves(c, 2));
	page_cache_free(c);
}

static void a_page_that_is_looked_at_stays(void **state)
{
	struct page_cache *c = page_cache_new();
	unsigned char *outer, *inner;

	(void)state;
	assert_non_null(c);
	outer = page_cache_add(c, 7);
	assert_non_null(outer);
	fill(outer, OUTER, 7);
	outer = page_cache_keep(c, 7, outer);
	inner = page_cache_add(c, 8);
	assert_non_null(inner);
	fill(inner, INNER, 8);
	inner = page_cache_keep(c, 8, inner);
	for (uint32_t n = 1000; n < 20000; n++)
		pass(c, n % 2 ? INNER : OUTER, n);
	assert_int_equal(outer[1], 7);
	assert_int_equal(inner[1], 8);
	assert_ptr_equal(page_cache_get(c, 7), outer);
	page_cache_release(c, outer);
	page_cache_release(c, outer);
	page_cache_release(c, inner);
	for (uint32_t n = 1000; n < 20000; n++)
		pass(c, n % 2 ? INNER : OUTER, n);
	assert_false(has(c, 7));
	page_cache_free(c);
}

static void who_looks_at_too_many_is_told(void **state)
{
	struct page_cache *c = page_cache_new();
	unsigned char *page = c ? page_cache_add(c, 2) : NULL;
	uint32_t n = 2;

	(void)state;
	assert_non_null(page);
	while (page && n < 1000)
		page = page_cache_add(c, ++n);
	assert_null(page);
	page_cache_free(c);
}

static void what_could_not_be_read_is_not_there(void **state)
{
	struct page_cache *c = page_cache_new();
	unsigned char *page;

	(void)state;
	assert_non_null(c);
	page = page_cache_add(c, 3);
	assert_non_null(page);
	page_cache_forget(c, page);
	assert_false(has(c, 3));
	pass(c, INNER, 4);
	pass(c, OUTER, 5);
	page_cache_clear(c);
	assert_false(has(c, 4));
	assert_false(has(c, 5));
	page_cache_free(c);
}

static void without_memory_there_is_none(void **state)
{
	(void)state;
	for (int64_t after = 0; after < 5; after++) {
		mem_fault(after, 1);
		assert_null(page_cache_new());
		assert_int_equal(mem_faults_hit(), 1);
	}
	mem_fault(-1, 0);
}

/* ---- a catalogue that SQLite's own cache is too small for ---- */

#define SESSIONS 3000

static void name_nth(char out[32], uint64_t n)
{
	unsigned long long scattered = n * 7919;

	(void)snprintf(out, 32, "name %llu", scattered);
}

static int put_nth(struct catalog *c, uint64_t n, uint64_t lsn)
{
	struct catalog_row row = { .rec.id = id_of(n), .lsn = lsn };
	struct catalog_name name;
	char text[3300], alias[32];
	int r;

	memset(text, 'm', sizeof(text));
	row.rec.kind = KIND_PRIMARY;
	row.rec.head_seq = lsn + n;
	row.rec.metadata = (struct weft_str){ text, sizeof(text) };
	r = catalog_put(c, &row, NULL);
	name_nth(alias, n);
	name = name_of(alias, n, lsn);
	return r < 0 ? r : catalog_put_name(c, &name, NULL);
}

static int try_to_put(struct catalog *c, uint64_t lsn)
{
	int r = catalog_begin(c, NULL);

	for (uint64_t n = 1; n <= SESSIONS && r == WEFT_OK; n++)
		r = put_nth(c, n, lsn);
	if (r == WEFT_OK)
		r = catalog_commit(c, NULL);
	if (r < 0)
		catalog_rollback(c);
	return r;
}

static void put_all(struct catalog *c, uint64_t lsn)
{
	assert_int_equal(try_to_put(c, lsn), WEFT_OK);
}

static int look_up(struct catalog *c, uint64_t n, uint64_t lsn, struct arena *a)
{
	struct catalog_name name;
	struct catalog_row row;
	char alias[32];
	int r;

	arena_reset(a);
	name_nth(alias, n);
	r = catalog_get_name(c, str_of(alias), a, &name, NULL);
	if (r == WEFT_OK)
		r = catalog_get(c, &name.name.session, a, &row, NULL);
	if (r < 0)
		return r;
	assert_int_equal(name.name.ver, lsn);
	assert_int_equal(row.lsn, lsn);
	assert_int_equal(row.rec.head_seq, lsn + n);
	return WEFT_OK;
}

static void expect_all(struct fixture *t, uint64_t lsn)
{
	for (uint64_t i = 0; i < 2 * SESSIONS; i++)
		assert_int_equal(
			look_up(t->c, i * 1009 % SESSIONS + 1, lsn, &t->a),
			WEFT_OK);
	assert_int_equal(count_of(t->c), SESSIONS);
}

static uint64_t size_of_file(struct fixture *t)
{
	struct file_stat st;

	assert_int_equal(fs_stat(t->fs, DB, &st), 0);
	return st.size;
}

static void a_large_catalogue_says_what_was_written(void **state)
{
	struct fixture *t = *state;

	put_all(t->c, 1);
	assert_true(size_of_file(t) > KIB(CATALOG_CACHE_KIB));
	expect_all(t, 1);
	MUST(catalog_check(t->c, &err));
}

static void what_others_write_is_seen(void **state)
{
	struct fixture *t = *state;
	struct catalog *other;

	put_all(t->c, 1);
	expect_all(t, 1);
	other = open_at(t->fs, DB, 0);
	put_all(other, 2);
	expect_all(t, 2);
	put_all(t->c, 3);
	expect_all(t, 3);
	catalog_close(other);
}

/* Pages that were read once, and last. */
static void what_others_write_is_seen_at_once(void **state)
{
	struct fixture *t = *state;
	struct catalog *other;

	put_all(t->c, 1);
	other = open_at(t->fs, DB, 0);
	for (uint64_t n = 1; n < 4; n++)
		assert_int_equal(look_up(other, n * 900, 1, &t->a), WEFT_OK);
	put_all(t->c, 2);
	for (uint64_t n = 1; n < 4; n++)
		assert_int_equal(look_up(other, n * 900, 2, &t->a), WEFT_OK);
	catalog_close(other);
}

/* How many calls that change something it takes to put all of them. */
static uint64_t calls_to_put(struct fixture *t, uint64_t lsn)
{
	struct fs *fs = simdisk_process(t->disk);
	struct catalog *c = open_at(fs, DB, 0);
	struct simcounts before, after;

	simdisk_process_counts(fs, &before);
	put_all(c, lsn);
	simdisk_process_counts(fs, &after);
	catalog_close(c);
	return simcounts_of(&after, SIM_MUTATING) -
	       simcounts_of(&before, SIM_MUTATING);
}

/* The one that reads has to roll back what another one has left, who was killed
 * while it wrote into the catalogue, which comes last. */
static void what_others_left_half_done_is_not_seen(void **state)
{
	struct fixture *t = *state;
	uint64_t calls;

	put_all(t->c, 1);
	calls = calls_to_put(t, 2);
	for (uint64_t i = 0; i < 10; i++) {
		struct fs *doomed = simdisk_process(t->disk);
		struct catalog *other = open_at(doomed, DB, 0);

		expect_all(t, 2);
		simdisk_kill_in_write(doomed, calls - i, KIB(100));
		assert_true(try_to_put(other, 3) < 0);
		catalog_close(other);
		expect_all(t, 2);
	}
}

/* Most of what a transaction writes are pages that follow each other. */
static void new_pages_are_written_together(void **state)
{
	struct fixture *t = *state;
	struct simcounts before, after;
	uint64_t n;

	simdisk_process_counts(t->fs, &before);
	put_all(t->c, 1);
	simdisk_process_counts(t->fs, &after);
	n = simcounts_of(&after, SIM_WRITE) - simcounts_of(&before, SIM_WRITE);
	assert_true(n < size_of_file(t) / CATALOG_PAGE_BYTES / 10);
}

static void a_damaged_page_is_told(void **state)
{
	struct fixture *t = *state;
	unsigned told = 0;

	put_all(t->c, 1);
	catalog_close(t->c);
	for (uint64_t page = 10; page < size_of_file(t) / CATALOG_PAGE_BYTES;
	     page += 10)
		assert_int_equal(simdisk_flip(t->disk, DB,
					      page * CATALOG_PAGE_BYTES + 4000,
					      1),
				 0);
	t->c = open_at(t->fs, DB, 0);
	for (uint64_t i = 0; i < 2 * SESSIONS; i++) {
		int r = look_up(t->c, i * 1009 % SESSIONS + 1, 1, &t->a);

		assert_true(r == WEFT_OK || r == WEFT_CORRUPT);
		told += r == WEFT_CORRUPT;
	}
	assert_true(told > SESSIONS / 10 && told < 2 * SESSIONS);
}

/* Cut while it is open: an error, and nobody dies of it. */
static void a_catalogue_that_was_cut_is_told(void **state)
{
	struct fixture *t = *state;
	unsigned told = 0;

	put_all(t->c, 1);
	assert_int_equal(look_up(t->c, 1, 1, &t->a), WEFT_OK);
	assert_int_equal(simdisk_resize(t->disk, DB, 100 * CATALOG_PAGE_BYTES),
			 0);
	for (uint64_t n = 1; n <= SESSIONS; n++) {
		int r = look_up(t->c, n, 1, &t->a);

		assert_true(r == WEFT_OK || r == WEFT_CORRUPT);
		told += r == WEFT_CORRUPT;
	}
	assert_true(told > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inner_pages_outlast_outer_ones),
		cmocka_unit_test(what_is_read_again_soon_is_left),
		cmocka_unit_test(an_inner_page_is_left_when_it_is_read_often),
		cmocka_unit_test(a_page_that_is_looked_at_stays),
		cmocka_unit_test(who_looks_at_too_many_is_told),
		cmocka_unit_test(what_could_not_be_read_is_not_there),
		cmocka_unit_test(without_memory_there_is_none),
		T(a_large_catalogue_says_what_was_written),
		T(what_others_write_is_seen),
		T(what_others_write_is_seen_at_once),
		T(what_others_left_half_done_is_not_seen),
		T(new_pages_are_written_together),
		T(a_damaged_page_is_told),
		T(a_catalogue_that_was_cut_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test-simcrash.c - power cuts leave what they may, and nothing else. */
#include "unit/sim-help.h"

static void keeping_all_is_the_cache_as_it_was(void **state)
{
	struct disk *t = *state;
	struct file *f;
	uint64_t before;

	keep_file(t->sim, "/f", "old content");
	assert_int_equal(fs_mkdir(t->a, "/d"), 0);
	f = make(t->a, "/d/g");
	put_many(f, 0, 'g', 10000);
	assert_int_equal(file_truncate(f, 5000), 0);
	put_many(f, 8000, 'h', 10);
	file_close(f);
	assert_int_equal(fs_rename(t->a, "/f", "/d/f"), 0);
	before = simdisk_fingerprint(t->sim);
	assert_int_equal(simdisk_power_cut(t->sim, SIM_KEEP_ALL, 0, NULL),
			 before);
	assert_int_equal(size_of(simdisk_process(t->sim), "/d/g"), 8010);
}

/*
 * Cut the power of copies of `d` in every way there is, and look at each with
 * `look`; returns how many different outcomes there were.
 */
static uint64_t cut_every_way(struct simdisk *d,
			      void (*look)(void *ctx, struct simdisk *d),
			      void *ctx)
{
	struct simdisk *first = simdisk_clone(d);
	struct simset seen = { 0 };
	struct simcut_report r;
	uint64_t n;

	simdisk_power_cut(first, SIM_LOSE_ALL, 0, &r);
	simdisk_free(first);
	assert_in_range(r.questions, 1, 16);
	for (uint64_t i = 0; i < (uint64_t)1 << r.questions; i++) {
		struct simdisk *c = simdisk_clone(d);
		struct simcut_report now;

		simset_add(&seen, simdisk_power_cut(c, SIM_INDEX, i, &now));
		assert_int_equal(now.questions, r.questions);
		if (look)
			look(ctx, c);
		simdisk_free(c);
	}
	n = seen.count;
	simset_done(&seen);
	return n;
}

static void note_sectors(void *ctx, struct simdisk *d)
{
	unsigned *seen = ctx;
	size_t len;
	char *is = simdisk_read(d, "/f", &len);

	/* Every sector is all old or all new: 8 combinations. */
	assert_int_equal(len, 1536);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(is[i], is[i / 512 * 512]);
	*seen |= 1U << ((is[0] == 'n') + 2 * (is[512] == 'n') +
			4 * (is[1024] == 'n'));
	free(is);
}

static void a_write_is_torn_by_sectors(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");
	unsigned seen = 0;

	put_many(f, 0, 'o', 1536);
	simdisk_sync(t->sim);
	put_many(f, 0, 'n', 1536);
	file_close(f);
	assert_int_equal(cut_every_way(t->sim, note_sectors, &seen), 8);
	assert_int_equal(seen, 0xff);
}

struct sizes_seen {
	bool empty, zeros, half, whole;
};

static void note_size(void *ctx, struct simdisk *d)
{
	struct sizes_seen *s = ctx;
	size_t len;
	char *is = simdisk_read(d, "/f", &len);

	s->empty |= len == 0;
	s->zeros |= len == 1024 && is[0] == 0 && is[1023] == 0;
	s->half |= len == 1024 && is[0] == 0 && is[1023] == 'n';
	s->whole |= len == 1024 && is[0] == 'n' && is[1023] == 'n';
	free(is);
}

static void a_size_may_grow_over_zeros(void **state)
{
	struct disk *t = *state;
	struct sizes_seen seen = { 0 };
	struct file *f;

	keep_file(t->sim, "/f", "");
	f = open_file(t->a, "/f", FILE_WRITE);
	put_many(f, 0, 'n', 1024);
	file_close(f);
	/* No size, and four ways to fill it. */
	assert_int_equal(cut_every_way(t->sim, note_size, &seen), 5);
	assert_true(seen.empty && seen.zeros && seen.half && seen.whole);
}

static void note_second(void *ctx, struct simdisk *d)
{
	char *is = simdisk_read(d, "/f", NULL);
	bool *seen = ctx;

	/* The sector of the second write was never without the first. */
	assert_false(is[0] == '-' && is[3] == 'b');
	*seen |= is[0] == 'a' && is[3] == '-';
	free(is);
}

static void a_kept_sector_has_what_the_cache_had(void **state)
{
	struct disk *t = *state;
	bool first_only = false;
	struct file *f;

	keep_file(t->sim, "/f", "------");
	f = open_file(t->a, "/f", FILE_WRITE);
	must_put(f, 0, "aaa");
	must_put(f, 3, "bbb");
	file_close(f);
	assert_int_equal(cut_every_way(t->sim, note_second, &first_only), 3);
	assert_true(first_only);
}

static void note_names(void *ctx, struct simdisk *d)
{
	unsigned *seen = ctx;
	char *x = simdisk_read(d, "/x", NULL), *y = simdisk_read(d, "/y", NULL);
	char *g = simdisk_read(d, "/g", NULL);

	/* Moved or not, but in exactly one place. */
	assert_true((x == NULL) != (y == NULL));
	*seen |= 1U << ((y != NULL) + 2 * (g != NULL));
	free(x);
	free(y);
	free(g);
}

static void names_are_kept_or_lost_each_by_itself(void **state)
{
	struct disk *t = *state;
	unsigned seen = 0;

	keep_file(t->sim, "/x", "x");
	assert_int_equal(fs_rename(t->a, "/x", "/y"), 0);
	file_close(make(t->a, "/g"));
	assert_int_equal(cut_every_way(t->sim, note_names, &seen), 4);
	assert_int_equal(seen, 0xf);
}

static void note_moves(void *ctx, struct simdisk *d)
{
	char *x = simdisk_read(d, "/x", NULL), *y = simdisk_read(d, "/y", NULL);
	char *z = simdisk_read(d, "/z", NULL);

	(void)ctx;
	assert_int_equal((x != NULL) + (y != NULL) + (z != NULL), 1);
	free(x);
	free(y);
	free(z);
}

static void a_file_moved_twice_is_in_one_place(void **state)
{
	struct disk *t = *state;

	keep_file(t->sim, "/x", "x");
	assert_int_equal(fs_rename(t->a, "/x", "/y"), 0);
	assert_int_equal(fs_rename(t->a, "/y", "/z"), 0);
	assert_int_equal(cut_every_way(t->sim, note_moves, NULL), 3);
}

static void a_truncation_is_kept_or_lost(void **state)
{
	struct disk *t = *state;

	keep_file(t->sim, "/f", "abcdef");
	assert_int_equal(simdisk_resize(t->sim, "/f", 3), 0);
	assert_int_equal(cut_every_way(t->sim, NULL, NULL), 2);
	lose_all(t->sim);
	expect_file(t->sim, "/f", "abcdef");
}

/* How many different outcomes `n` random cuts have. */
static size_t cut_at_random(struct simdisk *d, uint64_t n)
{
	struct simset seen = { 0 };
	size_t count;

	for (uint64_t seed = 0; seed < n; seed++) {
		struct simdisk *c = simdisk_clone(d), *again = simdisk_clone(d);
		uint64_t is = simdisk_power_cut(c, SIM_RANDOM, seed, NULL);

		simset_add(&seen, is);
		/* A seed always does the same. */
		assert_int_equal(
			simdisk_power_cut(again, SIM_RANDOM, seed, NULL), is);
		simdisk_free(c);
		simdisk_free(again);
	}
	count = seen.count;
	simset_done(&seen);
	return count;
}

static void random_cuts_differ_and_can_be_repeated(void **state)
{
	struct disk *t = *state;
	struct file *f = make(t->a, "/f");
	uint64_t before;

	for (char i = 0; i < 10; i++)
		put_many(f, (uint64_t)i * 3000, (char)('a' + i), 3000);
	file_close(f);
	before = simdisk_fingerprint(t->sim);
	assert_in_range(cut_at_random(t->sim, 300), 100, 300);
	/* Clones leave what they were made of alone. */
	assert_int_equal(simdisk_fingerprint(t->sim), before);

	/* With two outcomes, both come. */
	simdisk_sync(t->sim);
	assert_int_equal(cut_at_random(t->sim, 20), 1);
	file_close(make(t->a, "/g"));
	assert_int_equal(cut_at_random(t->sim, 50), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(keeping_all_is_the_cache_as_it_was),
		T(a_write_is_torn_by_sectors),
		T(a_size_may_grow_over_zeros),
		T(a_kept_sector_has_what_the_cache_had),
		T(names_are_kept_or_lost_each_by_itself),
		T(a_file_moved_twice_is_in_one_place),
		T(a_truncation_is_kept_or_lost),
		T(random_cuts_differ_and_can_be_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

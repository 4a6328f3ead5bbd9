/*
 * costs.c - what an append costs does not grow: flushes, calls of the file
 * system and allocations, counted on the simulated disk; what is read together is
 * read with one lock; and an event is found with few reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "crash/lab.h"

struct cost {
	uint64_t syncs, writes, reads, others, allocations;
};

/* What one more append to `s` costs. */
static struct cost append_cost(struct lab *l, const struct weft_id *s)
{
	struct simcounts before, after;
	uint64_t allocations = mem_allocations();

	simdisk_process_counts(l->fs[0], &before);
	assert_int_equal(lab_say_one(l, 0, s, 500), WEFT_OK);
	simdisk_process_counts(l->fs[0], &after);
	for (int i = 0; i < SIM_CALLS; i++)
		after.calls[i] -= before.calls[i];
	return (struct cost){
		.syncs = simcounts_of(&after, SIM_SYNCS),
		.writes = simcounts_of(&after, SIM_WRITE),
		.reads = simcounts_of(&after, SIM_READ),
		.others = simcounts_of(
			&after, SIM_OPEN | SIM_CREATE | SIM_TRUNCATE |
					SIM_STAT | SIM_LOCK | SIM_LIST |
					SIM_RENAME | SIM_UNLINK | SIM_MKDIR),
		.allocations = mem_allocations() - allocations,
	};
}

/* The usual one: not one that happens to grow a table, nor one that comes so long
 * after the last that it asks how much of the disk is free. */
static struct cost usual_cost(struct lab *l, const struct weft_id *s)
{
	struct cost least = append_cost(l, s);

	for (int i = 0; i < 20; i++) {
		struct cost c = append_cost(l, s);

		least.syncs = u64_min(least.syncs, c.syncs);
		least.writes = u64_min(least.writes, c.writes);
		least.reads = u64_min(least.reads, c.reads);
		least.others = u64_min(least.others, c.others);
		least.allocations = u64_min(least.allocations, c.allocations);
	}
	return least;
}

static void assert_same(const struct cost *a, const struct cost *b)
{
	assert_int_equal(a->syncs, b->syncs);
	assert_int_equal(a->writes, b->writes);
	assert_int_equal(a->reads, b->reads);
	assert_int_equal(a->others, b->others);
	assert_int_equal(a->allocations, b->allocations);
}

static void an_append_is_one_flush_and_three_writes(void **state)
{
	struct lab *l = *state;
	struct weft_id s;
	struct cost c;

	lab_start(l, 0);
	s = lab_create(l, NULL);
	assert_int_equal(lab_commit(l), WEFT_OK);
	c = usual_cost(l, &s);
	print_message("# an append: %d flush, %d writes, %d reads, %d other "
		      "calls, %d allocations\n",
		      (int)c.syncs, (int)c.writes, (int)c.reads, (int)c.others,
		      (int)c.allocations);
	assert_int_equal(c.syncs, 1);
	/* The frame, the line, the state; and who holds the lock. */
	assert_in_range(c.writes, 3, 4);
}

static void its_cost_does_not_grow_with_the_session(void **state)
{
	struct lab *l = *state;
	struct weft_id s;
	struct cost brief, lengthy;

	lab_start(l, 0);
	s = lab_create(l, NULL);
	assert_int_equal(lab_commit(l), WEFT_OK);
	brief = usual_cost(l, &s);
	for (int i = 0; i < 40; i++) {
		lab_start(l, 0);
		for (int k = 0; k < 50; k++)
			lab_say(l, &s, 100);
		assert_int_equal(lab_commit(l), WEFT_OK);
		assert_int_equal(lab_task(l, 0, TASK_CHECKPOINT), WEFT_OK);
	}
	lengthy = usual_cost(l, &s);
	assert_same(&brief, &lengthy);
}

static void its_cost_does_not_grow_with_the_store(void **state)
{
	struct lab *l = *state;
	struct weft_id s;
	struct cost lonely, crowded;

	lab_start(l, 0);
	s = lab_create(l, NULL);
	assert_int_equal(lab_commit(l), WEFT_OK);
	lonely = usual_cost(l, &s);
	for (int i = 0; i < 40; i++) {
		lab_start(l, 0);
		for (int k = 0; k < 25; k++)
			(void)lab_create(l, NULL);
		assert_int_equal(lab_commit(l), WEFT_OK);
		assert_int_equal(lab_task(l, 0, TASK_CHECKPOINT), WEFT_OK);
	}
	crowded = usual_cost(l, &s);
	assert_same(&lonely, &crowded);
}

/* Twenty sessions that only the catalogue knows, the third with this key. */
static struct weft_id put_away(struct lab *l, const char *key)
{
	struct weft_id id = { .b = { 0 } };

	lab_start(l, 0);
	for (int i = 0; i < 20; i++) {
		struct weft_id s = lab_create(l, i == 2 ? key : NULL);

		if (i == 2)
			id = s;
	}
	assert_int_equal(lab_commit(l), WEFT_OK);
	assert_int_equal(lab_close(l, 0), WEFT_OK);
	assert_int_equal(lab_open(l, 0), WEFT_OK);
	return id;
}

static uint64_t locks_so_far(struct lab *l)
{
	struct simcounts counts;

	simdisk_process_counts(l->fs[0], &counts);
	return simcounts_of(&counts, SIM_LOCK);
}

/* SQLite's way to share a file: two locks, and back with two calls. */
#define LOCKS_OF_A_READ 4

static void a_name_and_its_session_are_one_read(void **state)
{
	struct lab *l = *state;
	struct weft_id s = put_away(l, "k");
	const struct weft_str key = STR("k"), other = STR("other");
	struct store *store = l->store[0];
	struct session_rec rec;
	struct name_rec name;
	uint64_t locks;

	/* What is prepared once is prepared now. */
	assert_int_equal(store->ops->get_names(store, &other, 1, &l->f.arena,
					       &name, &l->f.err),
			 WEFT_OK);
	locks = locks_so_far(l);
	assert_int_equal(store->ops->get_names(store, &key, 1, &l->f.arena,
					       &name, &l->f.err),
			 WEFT_OK);
	assert_memory_equal(&name.session, &s, sizeof(s));
	assert_int_equal(store->ops->get_sessions(store, &s, 1, &l->f.arena,
						  &rec, &l->f.err),
			 WEFT_OK);
	assert_memory_equal(&rec.id, &s, sizeof(s));
	assert_int_equal(locks_so_far(l) - locks, LOCKS_OF_A_READ);
}

static void a_list_is_one_read(void **state)
{
	struct lab *l = *state;
	const struct list_query q = { .limit = 10 };
	struct store *store;
	struct session_page page;
	uint64_t locks;

	(void)put_away(l, "k");
	store = l->store[0];
	locks = locks_so_far(l);
	assert_int_equal(
		store->ops->list(store, &q, &l->f.arena, &page, &l->f.err),
		WEFT_OK);
	assert_int_equal(page.n, 10);
	assert_int_equal(locks_so_far(l) - locks, LOCKS_OF_A_READ);
}

/* A session of `n` messages, most of them short, some at its end long. */
static struct weft_id talk(struct lab *l, uint64_t n)
{
	struct weft_id s;

	lab_start(l, 0);
	s = lab_create(l, NULL);
	assert_int_equal(lab_commit(l), WEFT_OK);
	for (uint64_t i = 0; i < n;) {
		lab_start(l, 0);
		for (int k = 0; k < 20; k++, i++)
			lab_say(l, &s,
				i > n - n / 8 ? 3000 : 100 + i * 7919 % 1000);
		assert_int_equal(lab_commit(l), WEFT_OK);
		assert_int_equal(lab_task(l, 0, TASK_CHECKPOINT), WEFT_OK);
	}
	return s;
}

/* How many reads it takes to find the event `seq`. */
static uint64_t reads_to_find(struct lab *l, const struct weft_id *s,
			      uint64_t seq, bool backwards)
{
	const struct event_range r = {
		.session = *s,
		.first = backwards ? 1 : seq,
		.last = backwards ? seq : UINT64_MAX,
		.backwards = backwards,
		.max_events = 1,
	};
	struct store *store = l->store[0];
	struct simcounts before, after;
	struct event_page page;

	simdisk_process_counts(l->fs[0], &before);
	assert_int_equal(store->ops->read_events(store, &r, &l->f.arena, &page,
						 &l->f.err),
			 WEFT_OK);
	simdisk_process_counts(l->fs[0], &after);
	assert_int_equal(page.n, 1);
	assert_int_equal(page.v[0].seq, seq);
	return simcounts_of(&after, SIM_READ) - simcounts_of(&before, SIM_READ);
}

/* Five of them are no search.  Halving would take thirteen in all, and more in a
 * longer file. */
static void an_event_is_found_with_few_reads(void **state)
{
	const uint64_t n = 4000;
	struct lab *l = *state;
	struct weft_id s = talk(l, n);
	uint64_t reads = 0, most = 0, asked = 0;

	for (uint64_t seq = 1; seq <= n + 1; seq += 53) {
		for (int backwards = 0; backwards < 2; backwards++) {
			uint64_t took = reads_to_find(l, &s, seq, backwards);

			reads += took;
			most = took > most ? took : most;
			asked++;
		}
	}
	print_message("# an event: %.1f reads, at most %d\n",
		      (double)reads / (double)asked, (int)most);
	assert_in_range(reads, asked, 11 * asked);
	assert_in_range(most, 1, 32);
}

static int open_lab(void **state)
{
	struct lab *l = lab_new();

	*state = l;
	return l ? lab_open(l, 0) : -1;
}

static int close_lab(void **state)
{
	lab_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			an_append_is_one_flush_and_three_writes, open_lab,
			close_lab),
		cmocka_unit_test_setup_teardown(
			its_cost_does_not_grow_with_the_session, open_lab,
			close_lab),
		cmocka_unit_test_setup_teardown(
			its_cost_does_not_grow_with_the_store, open_lab,
			close_lab),
		cmocka_unit_test_setup_teardown(
			a_name_and_its_session_are_one_read, open_lab,
			close_lab),
		cmocka_unit_test_setup_teardown(a_list_is_one_read, open_lab,
						close_lab),
		cmocka_unit_test_setup_teardown(
			an_event_is_found_with_few_reads, open_lab, close_lab),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

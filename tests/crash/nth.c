/*
 * nth.c - let the n-th allocation, or call of the file system, fail.
 *
 * A story is told once to count, then again and again, with a failure at
 * another place each time.  Whatever fails: nobody is told "done" wrongly, an
 * answer is right or an error, the store can be opened afterwards, with the
 * page cache and without it, and holds all of each write or nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "base/mem.h"
#include "crash/lab.h"
#include "crash/sqlmem.h"

/* ---- failures ---- */

enum source { OURS, SQLITE, CALLS, LOST_SYNC };

struct failure {
	enum source source;
	unsigned calls; /* which, of CALLS */
	int error;
	bool repeat;
	uint64_t n; /* 0: none, only count */
	uint64_t seen, hits;
	struct lost_sync lost;
	struct lab *l;
};

/* The lab's own allocations are not meant. */
static void arm(void *ctx, bool on)
{
	struct failure *f = ctx;
	static uint64_t before;

	if (f->source == SQLITE)
		(void)sqlmem_count(on);
	if (f->source != OURS)
		return;
	if (on) {
		before = mem_allocations();
		if (f->n > f->seen)
			mem_fault((int64_t)(f->n - f->seen - 1), 1);
	} else {
		f->seen += mem_allocations() - before;
		f->hits += f->n ? mem_faults_hit() : 0;
		mem_fault(-1, 0);
	}
}

static void begin_failing(struct failure *f, struct lab *l)
{
	f->l = l;
	f->seen = f->hits = 0;
	l->arm = arm;
	l->arm_ctx = f;
	sqlmem_fail_at(f->source == SQLITE ? f->n : 0);
	if (f->source == CALLS && f->n)
		simdisk_fail_at(l->disk, f->calls, f->n, f->error, f->repeat);
	f->lost.n = f->n;
	if (f->source == LOST_SYNC)
		lab_lose_sync(l, &f->lost);
}

static void stop_failing(struct failure *f)
{
	struct simcounts c;

	f->l->arm = NULL;
	(void)sqlmem_count(false);
	simdisk_counts(f->l->disk, &c);
	if (f->source == SQLITE)
		f->seen = sqlmem_seen();
	if (f->source == CALLS)
		f->seen = simcounts_of(&c, f->calls);
	if (f->source == LOST_SYNC)
		f->seen = f->lost.seen;
	simdisk_fail_at(f->l->disk, 0, 0, 0, false);
	simdisk_fail_sync(f->l->disk, 0, 0);
	simdisk_on_call(f->l->disk, NULL, NULL);
}

/* ---- the story ---- */

/* Is it known what is in the store?  After "maybe" nothing more is asked. */
static bool is_sure(const struct lab *l)
{
	return l->n_deeds == 0 ||
	       l->deeds[l->n_deeds - 1].answer != ANSWER_MAYBE;
}

/* What can be read is right, or it is an error. */
static void read_all_of_it(struct failure *f)
{
	struct lab *l = f->l;
	const char *p;

	if (!l->store[0] || !is_sure(l))
		return;
	arm(f, true);
	p = check_store(l, l->store[0], lab_now(l), NULL);
	arm(f, false);
	if (p[0] && !check_met_error())
		must_be_fine(l, p);
}

static bool can_write(struct lab *l)
{
	return l->store[0] && is_sure(l);
}

static void write_some(struct lab *l, struct weft_id s[2])
{
	if (can_write(l)) {
		lab_start(l, 0);
		s[0] = lab_create(l, "key");
		s[1] = lab_create(l, NULL);
		lab_say(l, &s[0], 500);
		(void)lab_commit(l);
	}
	if (can_write(l) && lab_head(l, &s[0])) {
		lab_start(l, 0);
		l->grouped = true;
		lab_say(l, &s[0], 500);
		lab_say(l, &s[0], 9000);
		lab_name(l, &s[1], "key");
		lab_spend(l, &s[1], 3);
		(void)lab_commit(l);
	}
}

static void write_more(struct lab *l, struct weft_id s[2])
{
	for (int i = 0; i < 2; i++) {
		if (can_write(l) && lab_head(l, &s[i]))
			(void)lab_say_one(l, 0, &s[i], 3000);
	}
}

static void task(struct lab *l, enum store_task t)
{
	if (l->store[0])
		(void)lab_task(l, 0, t);
}

static void tell(struct failure *f)
{
	struct lab *l = f->l;
	struct weft_id s[2] = { 0 };

	(void)lab_open(l, 0);
	write_some(l, s);
	read_all_of_it(f);
	task(l, TASK_CHECKPOINT);
	write_more(l, s);
	if (can_write(l))
		(void)lab_blob(l, 0, "an attachment");
	if (l->store[0])
		(void)lab_close(l, 0);
	(void)lab_open(l, 0);
	read_all_of_it(f);
	write_more(l, s);
	task(l, TASK_REINDEX);
	task(l, TASK_VERIFY);
	read_all_of_it(f);
	if (l->store[0])
		(void)lab_close(l, 0);
}

/* With the page cache, then as after a power cut. */
static void check_afterwards(struct lab *l)
{
	struct simdisk *d = simdisk_clone(l->disk);

	assert_int_equal(simdisk_open_files(l->disk), 0);
	must_be_fine(l, check_disk(l, d, lab_now(l), true));
	simdisk_free(d);
	must_be_fine(l, check_cuts(l, 7));
}

static void tell_and_check(struct failure *f, const char *what)
{
	struct lab *l = lab_new();

	(void)snprintf(l->where, sizeof(l->where), "%s %llu fails: ", what,
		       (unsigned long long)f->n);
	l->limits.busy_ms = 5;
	begin_failing(f, l);
	tell(f);
	stop_failing(f);
	check_afterwards(l);
	lab_free(l);
}

/* Every place if there are few, else some of them, evenly. */
static void fail_everywhere(struct failure f, const char *what)
{
	uint64_t total, step, told = 0;
	unsigned most = rounds(300);

	f.n = 0;
	tell_and_check(&f, what);
	total = f.seen;
	step = (total + most - 1) / most;
	assert_true(total > 0);
	for (f.n = 1; f.n <= total; f.n += step) {
		uint64_t n = f.n;

		tell_and_check(&f, what);
		f.n = n;
		told++;
	}
	print_message("# %s: %llu of %llu\n", what, (unsigned long long)told,
		      (unsigned long long)total);
}

static void fail_calls(unsigned calls, int error, const char *what)
{
	struct failure f = { .source = CALLS, .calls = calls, .error = error };

	fail_everywhere(f, what);
	f.repeat = true;
	fail_everywhere(f, what);
}

static void any_allocation_may_fail(void **state)
{
	(void)state;
	fail_everywhere((struct failure){ .source = OURS }, "allocation");
}

static void any_allocation_of_the_catalogue_may_fail(void **state)
{
	(void)state;
	fail_everywhere((struct failure){ .source = SQLITE },
			"SQLite's allocation");
}

static void any_write_may_fail(void **state)
{
	(void)state;
	fail_calls(SIM_WRITE, -EIO, "write");
}

static void any_write_may_find_the_disk_full(void **state)
{
	(void)state;
	fail_calls(SIM_WRITE | SIM_CREATE | SIM_MKDIR | SIM_TRUNCATE, -ENOSPC,
		   "write on a full disk");
}

static void any_sync_may_fail(void **state)
{
	(void)state;
	fail_calls(SIM_SYNCS, -EIO, "sync");
}

static void any_sync_may_fail_and_lose_what_it_was_to_write(void **state)
{
	(void)state;
	fail_everywhere((struct failure){ .source = LOST_SYNC },
			"sync that loses");
}

static void any_open_may_fail(void **state)
{
	(void)state;
	fail_calls(SIM_OPEN | SIM_CREATE, -EIO, "open");
	fail_calls(SIM_OPEN | SIM_CREATE, -EMFILE, "open without descriptors");
}

static void any_read_may_fail(void **state)
{
	(void)state;
	fail_calls(SIM_READ, -EIO, "read");
}

static void any_change_of_names_may_fail(void **state)
{
	(void)state;
	fail_calls(SIM_RENAME, -EIO, "rename");
	fail_calls(SIM_UNLINK, -EIO, "unlink");
	fail_calls(SIM_MKDIR, -EIO, "mkdir");
}

static void any_truncation_may_fail(void **state)
{
	(void)state;
	fail_calls(SIM_TRUNCATE, -EIO, "truncate");
}

static void any_look_at_the_disk_may_fail(void **state)
{
	(void)state;
	fail_calls(SIM_STAT, -EIO, "stat");
	fail_calls(SIM_LIST, -EIO, "list");
	fail_calls(SIM_LOCK, -EIO, "lock");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(any_allocation_of_the_catalogue_may_fail),
		cmocka_unit_test(any_write_may_fail),
		cmocka_unit_test(any_write_may_find_the_disk_full),
		cmocka_unit_test(any_sync_may_fail),
		cmocka_unit_test(
			any_sync_may_fail_and_lose_what_it_was_to_write),
		cmocka_unit_test(any_open_may_fail),
		cmocka_unit_test(any_read_may_fail),
		cmocka_unit_test(any_change_of_names_may_fail),
		cmocka_unit_test(any_truncation_may_fail),
		cmocka_unit_test(any_look_at_the_disk_may_fail),
	};

	return cmocka_run_group_tests(tests, sqlmem_install, NULL);
}

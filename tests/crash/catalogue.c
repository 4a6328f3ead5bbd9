/* catalogue.c - scenarios of several processes at one catalogue. */
#include <errno.h>
#include <stdio.h>

#include "base/id.h"
#include "crash/scenarios.h"

#define SESSIONS 10

/* ---- two begin at once ---- */

/* B opens the store before a certain call of A's. */
struct interruption {
	struct lab *l;
	unsigned at; /* before which change or lock */
	bool done, inside;
	unsigned naps;
	uint64_t ino; /* of the catalogue, then */
};

static uint64_t catalogue_of(struct fs *fs)
{
	struct file_stat st;

	return fs_stat(fs, LAB_DIR "/catalog.db", &st) == 0 ? st.ino : 0;
}

static void open_the_other(void *ctx, struct simdisk *d, unsigned calls,
			   uint64_t n)
{
	struct interruption *i = ctx;
	struct lab *l = i->l;

	(void)d;
	(void)n;
	/* It cannot wait for A in the middle of a call of A's. */
	if (i->inside && calls & SIM_SLEEP && ++i->naps == 100)
		simdisk_kill(l->fs[B]);
	if (!(calls & (SIM_MUTATING | SIM_LOCK)) || i->done || i->at-- > 0)
		return;
	i->done = i->inside = true;
	i->ino = catalogue_of(l->fs[A]);
	if (lab_open(l, B) < 0)
		assert_true(l->f.err.code == WEFT_BUSY ||
			    simdisk_is_dead(l->fs[B]));
	i->inside = false;
}

/* A makes a store, and before one of its calls B opens it; false if A does not
 * make so many. */
static bool begin_both(struct lab *l, unsigned at)
{
	struct interruption i = { .l = l, .at = at };

	(void)snprintf(l->where, sizeof(l->where),
		       "opened before call %u: ", at);
	l->limits.busy_ms = 1;
	/* Nobody else moves while one sleeps. */
	simdisk_fail_at(l->disk, SIM_SLEEP, 1, -EINTR, true);
	simdisk_on_call(l->disk, open_the_other, &i);
	lab_ok(l, lab_open(l, A));
	simdisk_on_call(l->disk, NULL, NULL);
	/* Nobody takes it away from the other. */
	if (l->store[B] && i.ino)
		assert_int_equal(catalogue_of(l->fs[A]), i.ino);
	if (!l->store[B])
		lab_ok(l, lab_open(l, B));
	return i.done;
}

/* Many in one write, so that the catalogue has more than a page to change. */
static void begin_sessions(struct lab *l, unsigned process, const char *prefix)
{
	char key[24];

	lab_start(l, process);
	for (int i = 0; i < SESSIONS; i++) {
		(void)snprintf(key, sizeof(key), "%s-%d", prefix, i);
		(void)lab_create(l, key);
	}
	lab_ok(l, lab_commit(l));
}

/* What a process shows is right, whatever another is about. */
static void look(struct lab *l, unsigned process)
{
	const char *p = check_store(l, l->store[process], lab_now(l), NULL);

	if (p[0] && !(check_met_error() && l->f.err.code == WEFT_BUSY))
		must_be_fine(l, p);
}

/* Looked at by `who` at every call of somebody else's. */
struct onlooker {
	struct lab *l;
	unsigned who;
	bool inside;
};

static void look_all_the_time(void *ctx, struct simdisk *d, unsigned calls,
			      uint64_t n)
{
	struct onlooker *o = ctx;

	(void)d;
	(void)n;
	if (!(calls & (SIM_MUTATING | SIM_LOCK)) || o->inside)
		return;
	o->inside = true;
	look(o->l, o->who);
	o->inside = false;
}

static void expect_whole(struct lab *l)
{
	struct simdisk *d = simdisk_clone(l->disk);

	must_be_fine(l, check_disk(l, d, lab_now(l), true));
	simdisk_free(d);
}

/* B opens a new store while A does: both go on with the same catalogue. */
static void who_begins_a_store_at_once_shares_its_catalogue(void **state)
{
	bool met = true;

	(void)state;
	for (unsigned at = 0; met; at++) {
		struct lab *l = lab_new();
		struct onlooker a = { l, A, false };

		met = begin_both(l, at);
		begin_sessions(l, B, "one");
		if (at % 8 == 0)
			simdisk_on_call(l->disk, look_all_the_time, &a);
		lab_ok(l, lab_task(l, B, TASK_CHECKPOINT));
		simdisk_on_call(l->disk, NULL, NULL);
		look(l, A);
		begin_sessions(l, A, "two");
		lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
		look(l, B);
		if (at % 8 == 0)
			expect_whole(l);
		lab_free(l);
	}
}

/* ---- one dies, two look ---- */

/* A dies before its n-th change of a checkpoint; false if it has not so many.
 * B and C look at the same time: one of them mends what was left. */
static bool die_in_checkpoint(uint64_t n)
{
	struct lab *l = lab_new();
	struct onlooker c = { l, C, false };
	bool died;

	(void)snprintf(l->where, sizeof(l->where),
		       "dead before change %llu: ", (unsigned long long)n);
	simdisk_fail_at(l->disk, SIM_SLEEP, 1, -EINTR, true);
	for (unsigned i = A; i <= C; i++)
		lab_ok(l, lab_open(l, i));
	begin_sessions(l, A, "one");
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	begin_sessions(l, A, "two");
	look(l, B);
	look(l, C);
	simdisk_kill_at(l->fs[A], n);
	(void)lab_task(l, A, TASK_CHECKPOINT);
	died = simdisk_is_dead(l->fs[A]);
	simdisk_kill_at(l->fs[A], 0);
	simdisk_on_call(l->disk, look_all_the_time, &c);
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	simdisk_on_call(l->disk, NULL, NULL);
	must_be_fine(l, check_store(l, l->store[C], lab_now(l), NULL));
	(void)lab_close(l, A);
	lab_ok(l, lab_task(l, C, TASK_CHECKPOINT));
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	expect_whole(l);
	lab_free(l);
	return died;
}

static void two_who_look_after_a_death_see_the_same(void **state)
{
	uint64_t n = 1;

	(void)state;
	while (die_in_checkpoint(n))
		n++;
	print_message("# died before %llu changes\n",
		      (unsigned long long)(n - 1));
	assert_true(n > 20);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(who_begins_a_store_at_once_shares_its_catalogue),
	cmocka_unit_test(two_who_look_after_a_death_see_the_same),
};

const struct suite catalogue_scenarios = { tests, ARRAY_LEN(tests) };

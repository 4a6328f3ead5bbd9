/*
 * deaths.c - kill a process before any of its changes; the others go on.
 *
 * The page cache stays, so what the dead one wrote and did not sync is there
 * for everybody to see, and gone after a power cut.  Whatever the others show
 * must survive one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "crash/explore.h"

enum { A, B, C };

#define SESSIONS 3
#define SEVERAL  2 /* the deed that writes to several of them */

struct tale {
	struct lab *l;
	struct weft_id s[SESSIONS];
};

/* Both have every session in memory; the second one's first line is hurt. */
static void begin_tale(struct tale *t)
{
	struct lab *l = t->l;
	char path[128];
	size_t n = 0;

	lab_ok(l, lab_open(l, A));
	lab_start(l, A);
	for (int i = 0; i < SESSIONS; i++) {
		t->s[i] = lab_create(l, i == 0 ? "key" : NULL);
		lab_say(l, &t->s[i], 1000);
	}
	lab_ok(l, lab_commit(l));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	lab_path(l, &t->s[1], path);
	lab_hurt(l, &t->s[1], 2);
	/* A letter at the end of its text, where no preview has it: the line
	 * can still be read, and what is derived from it stays. */
	free(simdisk_read(l->disk, path, &n));
	assert_int_equal(simdisk_flip(l->disk, path, n - 40, 1), 0);
	simdisk_sync(l->disk);
}

static void join_tale(struct tale *t, unsigned process)
{
	lab_ok(t->l, lab_open(t->l, process));
	for (int i = 0; i < SESSIONS; i++)
		lab_ok(t->l, lab_say_one(t->l, process, &t->s[i], 100));
}

static bool is_alive(struct lab *l)
{
	return !simdisk_is_dead(l->fs[A]);
}

static void say_if_alive(struct tale *t, int session, size_t bytes)
{
	if (is_alive(t->l))
		(void)lab_say_one(t->l, A, &t->s[session], bytes);
}

static void task_if_alive(struct tale *t, enum store_task task)
{
	if (is_alive(t->l))
		(void)lab_task(t->l, A, task);
}

/* What A does until it dies. */
static void live_and_die(struct tale *t)
{
	struct lab *l = t->l;

	say_if_alive(t, 0, 3000);
	if (is_alive(l)) {
		struct weft_id fresh;

		lab_start(l, A);
		l->grouped = true;
		fresh = lab_create(l, "fresh");
		lab_say(l, &fresh, 100);
		lab_say(l, &t->s[0], 100);
		lab_say(l, &t->s[0], 5000);
		lab_name(l, &t->s[2], "key");
		(void)lab_commit(l);
	}
	for (int i = 0; i < 3; i++) {
		task_if_alive(t, TASK_CHECKPOINT);
		say_if_alive(t, i, 3000);
	}
	task_if_alive(t, TASK_REINDEX);
	if (is_alive(l))
		(void)lab_blob(l, A, "an attachment");
	say_if_alive(t, 2, 100);
	task_if_alive(t, TASK_REPAIR);
	say_if_alive(t, 1, 100);
	if (is_alive(l))
		(void)lab_close(l, A);
}

/* Enough to come to a segment that is used again. */
static void go_on(struct tale *t, unsigned process)
{
	struct lab *l = t->l;

	for (int i = 0; i < SESSIONS; i++)
		lab_ok(l, lab_say_one(l, process, &t->s[i], 100));
	for (int i = 0; i < 4; i++)
		lab_ok(l, lab_say_one(l, process, &t->s[0], 15000));
}

/* What is shown now must be there after a power cut, too. */
static void expect_what_is_shown(struct tale *t, unsigned process)
{
	struct lab *l = t->l;
	struct moment now = lab_now(l);
	struct simdisk *d;
	const char *p;
	bool more;

	p = check_store(l, l->store[process], now, &more);
	/* Looking for a session may have made it take the deed over. */
	if (p[0])
		p = check_store(l, l->store[process], now, &more);
	must_be_fine(l, p);
	if (!more)
		return;
	now.done++;
	now.under_way = false;
	d = simdisk_clone(l->disk);
	(void)simdisk_power_cut(d, SIM_LOSE_ALL, 0, NULL);
	must_be_fine(l, check_disk(l, d, now, false));
	simdisk_free(d);
}

static void survive(struct tale *t, unsigned process, uint64_t seed)
{
	struct lab *l = t->l;

	expect_what_is_shown(t, process);
	lab_ok(l, lab_touch(l, process));
	expect_what_is_shown(t, process);
	must_be_fine(l, lab_resolve(l, process));
	must_be_fine(l, check_cuts(l, seed));
	go_on(t, process);
	must_be_fine(l, check_cuts(l, seed + 1));
	lab_ok(l, lab_task(l, process, TASK_CHECKPOINT));
	lab_ok(l, lab_say_one(l, process, &t->s[1], 100));
}

/* ---- who is there when A dies ---- */

typedef void ending(struct tale *t, uint64_t seed);

static void the_other_goes_on(struct tale *t, uint64_t seed)
{
	survive(t, B, seed);
	lab_ok(t->l, lab_close(t->l, B));
	must_be_fine(t->l, check_cuts(t->l, seed + 2));
}

static void a_new_one_joins_the_other(struct tale *t, uint64_t seed)
{
	struct lab *l = t->l;

	lab_ok(l, lab_open(l, C));
	survive(t, C, seed);
	go_on(t, B);
	must_be_fine(l, check_store(l, l->store[C], lab_now(l), NULL));
	must_be_fine(l, check_cuts(l, seed + 2));
	lab_ok(l, lab_close(l, B));
	lab_ok(l, lab_close(l, C));
}

static void a_new_one_is_alone(struct tale *t, uint64_t seed)
{
	lab_ok(t->l, lab_open(t->l, C));
	survive(t, C, seed);
	lab_ok(t->l, lab_close(t->l, C));
}

/* The power fails while what the dead one left is being taken over. */
static void recovery_is_cut_short(struct tale *t, uint64_t seed)
{
	struct explorer x;

	/* Of interest is the write to several sessions. */
	if (t->l->n_deeds != SEVERAL + 1 || !lab_now(t->l).under_way)
		return;
	explore_start(&x, t->l, 2);
	x.first_seed = seed;
	lab_ok(t->l, lab_open(t->l, C));
	must_be_fine(t->l, x.problem);
	explore_stop(&x);
}

/* Let A die before its n-th change; false if it did not come to that. */
static bool die_once(uint64_t n, bool with_other, ending *end)
{
	struct tale t = { .l = lab_new() };
	bool died;

	(void)snprintf(t.l->where, sizeof(t.l->where),
		       "dead before change %llu: ", (unsigned long long)n);
	begin_tale(&t);
	if (with_other)
		join_tale(&t, B);
	simdisk_kill_at(t.l->fs[A], n);
	live_and_die(&t);
	died = !is_alive(t.l);
	if (t.l->store[A])
		(void)lab_close(t.l, A);
	if (died)
		end(&t, n * 10);
	lab_free(t.l);
	return died;
}

static void die_everywhere(bool with_other, ending *end)
{
	unsigned step = rounds(10) >= 10 ? 1 : 10;
	uint64_t n = 1;

	while (die_once(n, with_other, end))
		n += step;
	print_message("# died before %llu changes\n",
		      (unsigned long long)(n - 1));
	assert_true(n > 150);
}

static void what_a_dead_process_left_is_taken_over_or_dropped(void **state)
{
	(void)state;
	die_everywhere(true, the_other_goes_on);
}

static void who_joins_after_a_death_sees_what_the_others_see(void **state)
{
	(void)state;
	die_everywhere(true, a_new_one_joins_the_other);
}

static void who_comes_alone_after_a_death_recovers(void **state)
{
	(void)state;
	die_everywhere(false, a_new_one_is_alone);
}

static void recovery_can_be_cut_short(void **state)
{
	(void)state;
	die_everywhere(false, recovery_is_cut_short);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_a_dead_process_left_is_taken_over_or_dropped),
		cmocka_unit_test(
			who_joins_after_a_death_sees_what_the_others_see),
		cmocka_unit_test(who_comes_alone_after_a_death_recovers),
		cmocka_unit_test(recovery_can_be_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

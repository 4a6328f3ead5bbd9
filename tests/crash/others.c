/* others.c - scenarios of several processes at once, and of what is derived. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/scenarios.h"

#define DAY_MS INT64_C(86400000)

static uint32_t chance; /* of a small generator: every run is the same */

static unsigned pick(unsigned n)
{
	chance = chance * 1664525 + 1013904223;
	return (chance >> 8) % n;
}

/* ---- blobs ---- */

struct collecting {
	struct lab *l;
	unsigned at; /* before which change or lock of the collection */
	bool done;
};

static void put_it_again(void *ctx, struct simdisk *d, unsigned calls,
			 uint64_t n)
{
	struct collecting *c = ctx;

	(void)d;
	(void)n;
	if (!(calls & (SIM_MUTATING | SIM_LOCK)) || c->done || c->at-- > 0)
		return;
	c->done = true;
	/* It cannot wait for A in the middle of a call of A's. */
	if (lab_blob(c->l, B, "an attachment") != WEFT_OK)
		assert_int_equal(c->l->f.err.code, WEFT_BUSY);
}

/* B puts a blob again which A is about to remove as old and unused. */
static void collecting_blobs_spares_one_that_is_put_meanwhile(void **state)
{
	bool met = true;

	(void)state;
	for (unsigned at = 0; met; at++) {
		struct lab *l = lab_new();
		struct weft_id s = begin_in(l, A);
		struct collecting c = { l, at, false };

		lab_ok(l, lab_open(l, B));
		simdisk_set_time(l->disk, TEST_BEGIN_MS - 3 * DAY_MS);
		lab_ok(l, lab_blob(l, A, "an attachment"));
		simdisk_set_time(l->disk, TEST_BEGIN_MS);
		/* It was put long ago, and nobody has referred to it. */
		l->deeds[l->n_deeds - 1].answer = ANSWER_REFUSED;
		simdisk_on_call(l->disk, put_it_again, &c);
		lab_ok(l, lab_task(l, A, TASK_BLOBS));
		simdisk_on_call(l->disk, NULL, NULL);
		met = c.done;
		if (met && l->deeds[l->n_deeds - 1].answer != ANSWER_DONE)
			lab_ok(l, lab_blob(l, B, "an attachment"));
		if (met) {
			lab_start(l, B);
			lab_refer(l, &s, &l->deeds[l->n_deeds - 2].blob);
			lab_ok(l, lab_commit(l));
			must_be_fine(l, check_cuts(l, at));
		}
		lab_free(l);
		assert_true(met || at > 1);
	}
}

struct referring {
	struct lab *l;
	struct weft_id session;
	unsigned at; /* before which change or lock of the collection */
	bool done;
	int code;
};

static void refer_to_it(void *ctx, struct simdisk *d, unsigned calls,
			uint64_t n)
{
	struct referring *c = ctx;

	(void)d;
	(void)n;
	if (!(calls & (SIM_MUTATING | SIM_LOCK)) || c->done || c->at-- > 0)
		return;
	c->done = true;
	lab_start(c->l, B);
	lab_refer(c->l, &c->session, &c->l->deeds[1].blob);
	c->code = lab_commit(c->l);
}

/* A drops all that is old, or this blob alone however young it is. */
static int collect(struct lab *l, bool only)
{
	struct store_report report = { .arena = &l->f.arena };

	if (only) {
		report.only = &l->deeds[1].blob;
		report.n_only = 1;
	}
	return l->store[A]->ops->maintain(l->store[A], TASK_BLOBS, &report,
					  &l->f.err);
}

/*
 * B writes a line that refers to a blob which A is about to remove.  Whoever
 * comes first, there is never a line without its blob.
 */
static void refer_meanwhile(bool only)
{
	unsigned taken = 0, refused = 0;
	bool met = true;

	for (unsigned at = 0; met; at++) {
		struct lab *l = lab_new();
		struct referring c = { .l = l, .at = at };
		struct weft_str bytes;
		struct weft_id s = begin_in(l, A);
		int there;

		c.session = s;
		lab_ok(l, lab_open(l, B));
		if (!only)
			simdisk_set_time(l->disk, TEST_BEGIN_MS - 3 * DAY_MS);
		lab_ok(l, lab_blob(l, A, "an attachment"));
		simdisk_set_time(l->disk, TEST_BEGIN_MS);
		assert_true(l->deeds[1].is_blob);
		/* It may go: nobody has referred to it. */
		l->deeds[1].answer = ANSWER_REFUSED;
		simdisk_on_call(l->disk, refer_to_it, &c);
		lab_ok(l, collect(l, only));
		simdisk_on_call(l->disk, NULL, NULL);
		met = c.done;
		there = l->store[B]->ops->get_blob(l->store[B],
						   &l->deeds[1].blob,
						   &l->f.arena, &bytes, NULL);
		if (met && c.code == WEFT_OK) {
			assert_int_equal(there, WEFT_OK);
			l->deeds[1].answer = ANSWER_DONE;
			taken++;
		} else if (met) {
			assert_true(c.code == WEFT_NOT_FOUND ||
				    c.code == WEFT_BUSY);
			refused++;
		}
		if (met && at % 3 == 0)
			must_be_fine(l, check_cuts(l, at));
		lab_free(l);
	}
	/* Both came to pass. */
	assert_true(taken > 0 && refused > 0);
}

static void collecting_spares_what_a_write_refers_to_meanwhile(void **state)
{
	(void)state;
	refer_meanwhile(false);
}

static void dropping_spares_what_a_write_refers_to_meanwhile(void **state)
{
	(void)state;
	refer_meanwhile(true);
}

/* ---- several ---- */

static void four_processes_on_one_session_number_without_a_gap(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);

	for (unsigned i = B; i <= D; i++)
		lab_ok(l, lab_open(l, i));
	chance = 1;
	for (unsigned i = 0; i < 300; i++) {
		unsigned who = pick(LAB_PROCESSES);

		lab_ok(l, lab_say_one(l, who, &s, 100 + pick(3000)));
		if (pick(20) == 0)
			lab_ok(l, lab_task(l, pick(LAB_PROCESSES),
					   TASK_CHECKPOINT));
		if (pick(40) == 0) {
			lab_ok(l, lab_close(l, who));
			lab_ok(l, lab_open(l, who));
		}
		if (pick(30) == 0)
			must_be_fine(l, check_store(l, l->store[who],
						    lab_now(l), NULL));
	}
	for (unsigned i = A; i <= D; i++)
		must_be_fine(l, check_store(l, l->store[i], lab_now(l), NULL));
	must_be_fine(l, check_cuts(l, 1));
}

static void a_child_of_fork_is_told_to_open_its_own(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		struct store *store = l->store[A];
		bool refused = lab_touch(l, A) == WEFT_IO &&
			       strstr(l->f.err.message, "fork");

		(void)store->ops->close(store, NULL);
		_exit(refused ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	lab_ok(l, lab_say_one(l, A, &s, 100));
	must_be_fine(l, check_cuts(l, 1));
}

/* ---- what is derived ---- */

/* One of many things that change what is derived. */
static void change_something(struct lab *l, unsigned who, struct weft_id *s)
{
	static const char *const names[] = { "one", "two", "three" };
	struct weft_id *at = &s[pick(4)];

	lab_start(l, who);
	switch (pick(6)) {
	case 0:
		lab_event(l, at, EVENT_DELETE, "\"names\":[]");
		break;
	case 1:
		lab_event(l, at, EVENT_RESTORE, "\"names\":[]");
		break;
	case 2:
		lab_hide(l, at, 1 + pick((unsigned)lab_head(l, at)));
		break;
	case 3:
		lab_spend(l, at, pick(100));
		break;
	default:
		lab_name(l, at, names[pick(3)]);
	}
	lab_ok(l, lab_commit(l));
}

static void expect_same_when_indexed_again(struct lab *l)
{
	const char *p;
	uint64_t before = digest(l, l->store[A], &p);

	must_be_fine(l, p);
	assert_true(before == digest(l, l->store[B], &p));
	lab_ok(l, lab_task(l, pick(2) ? A : B, TASK_REINDEX));
	assert_true(before == digest(l, l->store[A], &p));
	assert_true(before == digest(l, l->store[B], &p));
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
}

static void indexing_again_gives_what_was_there(void **state)
{
	struct lab *l = *state;
	struct weft_id s[4];
	struct session_rec sub = { .kind = KIND_SUBAGENT };

	s[0] = begin_in(l, A);
	lab_ok(l, lab_open(l, B));
	for (int i = 1; i < 4; i++) {
		sub.parent = s[i - 1];
		lab_start(l, i % 2 ? A : B);
		s[i] = lab_create_with(l, &sub);
		lab_ok(l, lab_commit(l));
	}
	chance = 7;
	for (unsigned i = 0; i < rounds(200); i++) {
		if (pick(10) == 0) /* the clock jumps, also back */
			l->f.now_ms += ((int64_t)pick(2000) - 1000) * DAY_MS;
		change_something(l, pick(2) ? A : B, s);
		if (pick(15) == 0)
			lab_ok(l,
			       lab_task(l, pick(2) ? A : B, TASK_CHECKPOINT));
		if (pick(10) == 0)
			expect_same_when_indexed_again(l);
	}
	must_be_fine(l, check_cuts(l, 1));
}

static const struct CMUnitTest tests[] = {
	LAB_TEST(collecting_blobs_spares_one_that_is_put_meanwhile),
	LAB_TEST(collecting_spares_what_a_write_refers_to_meanwhile),
	LAB_TEST(dropping_spares_what_a_write_refers_to_meanwhile),
	LAB_TEST(four_processes_on_one_session_number_without_a_gap),
	LAB_TEST(a_child_of_fork_is_told_to_open_its_own),
	LAB_TEST(indexing_again_gives_what_was_there),
};

const struct suite other_scenarios = { tests, ARRAY_LEN(tests) };

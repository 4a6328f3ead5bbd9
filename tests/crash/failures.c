/*
 * failures.c - let the n-th allocation, or call of the file system, fail in
 * every operation.
 *
 * Each step of the story is taken once to count, then again from the same disk
 * with a failure at another place each time.  Whatever fails: who is told
 * "done" finds it done, also after a power cut; who is told of a failure finds
 * everything as it was; nothing is damaged, and no file stays open.
 */
#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "crash/sqlmem.h"
#include "crash/story.h"

enum source { OURS, SQLITE, CALLS };

struct kind {
	const char *name;
	enum source source;
	unsigned calls; /* which, of CALLS */
	int error;
};

static const struct kind kinds[] = {
	{ "allocation", OURS, 0, 0 },
	{ "SQLite's allocation", SQLITE, 0, 0 },
	{ "write", CALLS, SIM_WRITE, -EIO },
	{ "write on a full disk", CALLS, SIM_WRITE | SIM_CREATE | SIM_MKDIR,
	  -ENOSPC },
	{ "sync", CALLS, SIM_SYNCS, -EIO },
	{ "open", CALLS, SIM_OPEN | SIM_CREATE, -EMFILE },
	{ "rename or unlink", CALLS, SIM_RENAME | SIM_UNLINK, -EIO },
	{ "read", CALLS, SIM_READ, -EIO },
	{ "truncation", CALLS, SIM_TRUNCATE, -EIO },
};
#define KINDS ARRAY_LEN(kinds)

/* One step, from the disk before it. */
struct trial {
	struct lab *l;
	const struct scene *scene;
	struct simdisk *from;
	uint64_t before;   /* what was to be seen then */
	uint64_t n[KINDS]; /* how many there are of each kind */
};

static void open_on(struct stage *t, struct lab *l, struct simdisk *d)
{
	int r = stage_open(t, l, d);

	if (r < 0)
		print_error("%sopen: %s\n", l->where, t->err.message);
	assert_int_equal(r, WEFT_OK);
}

static void count(struct trial *x)
{
	struct simdisk *d = simdisk_clone(x->from);
	struct simcounts calls;
	struct stage t;
	uint64_t ours, was[KINDS];

	open_on(&t, x->l, d);
	simdisk_counts(d, &calls);
	for (size_t i = 0; i < KINDS; i++)
		was[i] = simcounts_of(&calls, kinds[i].calls);
	ours = mem_allocations();
	sqlmem_fail_at(0);
	(void)sqlmem_count(true);
	(void)stage_play(&t, x->scene);
	(void)sqlmem_count(false);
	ours = mem_allocations() - ours;
	simdisk_counts(d, &calls);
	for (size_t i = 0; i < KINDS; i++)
		x->n[i] = kinds[i].source == OURS ?
				  ours :
			  kinds[i].source == SQLITE ?
				  sqlmem_seen() :
				  simcounts_of(&calls, kinds[i].calls) - was[i];
	assert_int_equal(stage_close(&t), WEFT_OK);
	simdisk_free(d);
}

/* What the step says when the n-th of a kind fails. */
static int play_failing(struct stage *t, struct simdisk *d,
			const struct scene *scene, const struct kind *k,
			uint64_t n)
{
	int r;

	switch (k->source) {
	case OURS:
		mem_fault((int64_t)n - 1, 1);
		break;
	case SQLITE:
		sqlmem_fail_at(n);
		(void)sqlmem_count(true);
		break;
	case CALLS:
		simdisk_fail_at(d, k->calls, n, k->error, false);
	}
	r = stage_play(t, scene);
	mem_fault(-1, 0);
	(void)sqlmem_count(false);
	simdisk_fail_at(d, 0, 0, 0, false);
	return r;
}

/* What a disk shows to who opens it; it is whole. */
static uint64_t shown_by(struct lab *l, struct simdisk *d)
{
	struct stage t;
	uint64_t shown;

	open_on(&t, l, d);
	shown = stage_digest(&t);
	stage_verify(&t);
	assert_int_equal(stage_close(&t), WEFT_OK);
	return shown;
}

static void fail_once(const struct trial *x, const struct kind *k, uint64_t n)
{
	struct simdisk *d = simdisk_clone(x->from), *cut;
	uint64_t live = x->before, cached, left;
	struct stage t;
	int r;

	open_on(&t, x->l, d);
	r = play_failing(&t, d, x->scene, k, n);
	assert_true(r < 0 || !x->scene->refused);
	if (r >= 0)
		live = stage_digest(&t);
	else if (r == WEFT_NO_MEMORY && !x->scene->refused) {
		/* Nothing was done, and nothing is in the way. */
		int again = stage_play(&t, x->scene);

		if (again < 0)
			print_error("%sagain: %s\n", x->l->where,
				    t.err.message);
		assert_int_equal(again, WEFT_OK);
		live = stage_digest(&t);
		r = WEFT_OK;
	}
	cut = simdisk_clone(d);
	(void)simdisk_power_cut(cut, SIM_LOSE_ALL, 0, NULL);
	(void)stage_close(&t);
	assert_int_equal(simdisk_open_files(d), 0);
	cached = shown_by(x->l, d);
	left = shown_by(x->l, cut);
	if (r == WEFT_UNKNOWN || (r < 0 && x->scene->in_steps))
		; /* done, not done, or some steps of it */
	else if (cached != live || left != live) {
		print_error("%stold %s: %s\n", x->l->where, weft_code_name(r),
			    cached != live ? "another state is there" :
					     "a power cut changes it");
		assert_true(false);
	}
	simdisk_free(cut);
	simdisk_free(d);
}

static size_t fail_in_step(struct trial *x, size_t no, unsigned most)
{
	size_t told = 0;

	count(x);
	for (size_t i = 0; i < KINDS; i++) {
		uint64_t all = x->n[i], step = (all + most - 1) / most;

		if (all == 0)
			continue;
		/* Not the same places in every step. */
		for (uint64_t n = 1 + no % step; n <= all; n += step) {
			(void)snprintf(x->l->where, sizeof(x->l->where),
				       "step %zu, %.20s, %s %llu: ", no,
				       x->scene->call ? x->scene->call :
							"checkpoint",
				       kinds[i].name, (unsigned long long)n);
			fail_once(x, &kinds[i], n);
			told++;
		}
	}
	return told;
}

static void whatever_fails_nobody_is_told_a_lie(void **state)
{
	struct lab *l = lab_new();
	unsigned most = rounds(2);
	struct stage t;
	size_t told = 0;

	(void)state;
	open_on(&t, l, l->disk);
	for (size_t i = 0; i < story_n; i++) {
		struct trial x = { .l = l, .scene = &story[i] };

		l->f.now_ms += story[i].later_ms;
		x.from = simdisk_clone(l->disk);
		x.before = stage_digest(&t);
		told += fail_in_step(&x, i, most);
		simdisk_free(x.from);
		(void)stage_play(&t, &story[i]);
	}
	assert_int_equal(stage_close(&t), WEFT_OK);
	lab_free(l);
	print_message("# %zu failures\n", told);
	assert_true(told > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_fails_nobody_is_told_a_lie),
	};

	return cmocka_run_group_tests(tests, sqlmem_install, NULL);
}

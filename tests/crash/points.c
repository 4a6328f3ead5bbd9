/*
 * points.c - pull the plug at every change of every operation.
 *
 * Each step of the story is looked at before every change that it makes to the
 * disk: whatever a power cut leaves then is the state before the step or the
 * one after it, of the log and of what a search finds.  A step that is several
 * commits may also stop between two; asked for again, it comes to its end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "crash/story.h"

/* What can be seen: of the log, and by searching. */
struct sight {
	uint64_t log, found;
};

struct kept {
	struct simdisk **v;
	size_t n, room, seen, every;
};

static void keep(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	struct kept *k = ctx;

	(void)n;
	if (!(calls & SIM_MUTATING) || k->seen++ % k->every != 0)
		return;
	if (k->n == k->room) {
		k->room = k->room ? 2 * k->room : 64;
		k->v = realloc((void *)k->v, k->room * sizeof(*k->v));
		assert_non_null(k->v);
	}
	k->v[k->n++] = simdisk_clone(d);
}

static void must(struct stage *t, int r)
{
	if (r < 0)
		print_error("%s%s\n", t->l->where, t->err.message);
	assert_true(r >= 0);
}

static struct sight see(struct stage *t)
{
	struct sight s = { stage_digest(t), stage_found(t, true) };

	/* The index finds what reading finds. */
	assert_true(stage_found(t, false) == s.found);
	return s;
}

/* The same on a copy, without the index that was there. */
static struct sight see_anew(struct lab *l)
{
	struct simdisk *d = simdisk_clone(l->disk);
	struct stage t;
	struct sight s;

	(void)simdisk_remove(d, LAB_DIR "/search.db");
	(void)simdisk_remove(d, LAB_DIR "/search.db-journal");
	must(&t, stage_open(&t, l, d));
	s = see(&t);
	must(&t, stage_close(&t));
	simdisk_free(d);
	return s;
}

static bool is(const struct sight *a, const struct sight *b)
{
	return a->log == b->log && a->found == b->found;
}

static void check(struct lab *l, struct simdisk *d, const struct scene *scene,
		  const struct sight *before, const struct sight *after)
{
	struct sight now;
	struct stage t;

	must(&t, stage_open(&t, l, d));
	now = see(&t);
	if (scene->in_steps && !is(&now, before) && !is(&now, after)) {
		/* Told that there is nothing to do, or done. */
		(void)stage_play(&t, scene);
		now = see(&t);
		assert_true(scene->spares || now.found == after->found);
		stage_verify(&t);
	} else if (!is(&now, before) && !is(&now, after)) {
		print_error("%sneither before nor after: %s\n", l->where,
			    now.log == before->log || now.log == after->log ?
				    "search" :
				    "log");
		assert_true(false);
	}
	must(&t, stage_close(&t));
}

static size_t look_at_all(struct lab *l, struct kept *k,
			  const struct scene *scene, const struct sight *before,
			  const struct sight *after)
{
	struct simset seen = { .room = 0 };
	size_t n;

	for (size_t i = 0; i < k->n; i++) {
		enum simcut how = i % 3 == 0 ? SIM_LOSE_ALL : SIM_RANDOM;

		if (simset_add(&seen,
			       simdisk_power_cut(k->v[i], how, i * 7, NULL)))
			check(l, k->v[i], scene, before, after);
		simdisk_free(k->v[i]);
	}
	n = seen.count;
	simset_done(&seen);
	free((void *)k->v);
	return n;
}

static void a_power_cut_at_any_change_of_any_operation(void **state)
{
	struct lab *l = lab_new();
	unsigned every = rounds(10) >= 10 ? 4 : 40;
	struct sight before, after;
	size_t states = 0, changes = 0;
	struct stage t;

	(void)state;
	must(&t, stage_open(&t, l, l->disk));
	before = see_anew(l);
	for (size_t i = 0; i < story_n; i++) {
		struct kept k = { .every = every, .seen = i };
		int r;

		(void)snprintf(l->where, sizeof(l->where),
			       "step %zu, %.40s: ", i,
			       story[i].call ? story[i].call : "checkpoint");
		l->f.now_ms += story[i].later_ms;
		simdisk_on_call(l->disk, keep, &k);
		r = stage_play(&t, &story[i]);
		simdisk_on_call(l->disk, NULL, NULL);
		if (!story[i].refused)
			must(&t, r);
		assert_true(r < 0 || !story[i].refused);
		after = see_anew(l);
		assert_true(after.log == stage_digest(&t));
		assert_true(!story[i].refused || is(&before, &after));
		changes += k.seen - i;
		states += look_at_all(l, &k, &story[i], &before, &after);
		before = after;
	}
	must(&t, stage_close(&t));
	print_message("# %zu changes, %zu disks\n", changes, states);
	assert_true(changes > 500);
	lab_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_power_cut_at_any_change_of_any_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

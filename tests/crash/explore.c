/* explore.c - see explore.h. */
#include "crash/explore.h"

#include <stdio.h>
#include <stdlib.h>

#define DEEP 3 /* every so many states are looked at in depth */

bool explore_is_over(const struct explorer *x)
{
	return x->problem[0] ||
	       (x->max_checked && x->checked.count >= x->max_checked);
}

static void keep(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	struct explorer *x = ctx;

	if (!(calls & SIM_MUTATING) || explore_is_over(x))
		return;
	if (x->n == x->room) {
		x->room = x->room ? x->room * 2 : 64;
		x->v = realloc(x->v, x->room * sizeof(*x->v));
		assert_non_null(x->v);
	}
	x->v[x->n++] = (struct snapshot){ simdisk_clone(d), lab_now(x->l), n };
}

static void look(struct explorer *x, const struct snapshot *s, enum simcut how,
		 uint64_t seed)
{
	struct simdisk *d = simdisk_clone(s->disk);
	uint64_t state = simdisk_power_cut(d, how, seed, NULL);
	const char *p;

	(void)simset_add(&x->states, state);
	/* The same disk must hold more when more was promised. */
	state = (state + s->at.done) * UINT64_C(0x9e3779b97f4a7c15) +
		s->at.under_way;
	if (simset_add(&x->checked, state)) {
		p = check_disk(x->l, d, s->at, state % DEEP == 0);
		if (p[0])
			(void)snprintf(x->problem, sizeof(x->problem),
				       "before change %llu, cut %d, seed %llu, "
				       "deed %zu%s: %s",
				       (unsigned long long)s->no, (int)how,
				       (unsigned long long)seed, s->at.done,
				       s->at.under_way ? " under way" : "", p);
	}
	simdisk_free(d);
}

/* Check what was kept, now that the step is over. */
static void drain(void *ctx)
{
	struct explorer *x = ctx;

	for (size_t i = 0; i < x->n; i++) {
		const struct snapshot *s = &x->v[i];

		for (unsigned k = 0; k < x->seeds + 2; k++) {
			uint64_t seed = x->first_seed + s->no * 1000 + k;

			if (explore_is_over(x))
				break;
			look(x, s,
			     k == 0 ? SIM_LOSE_ALL :
			     k == 1 ? SIM_KEEP_ALL :
				      SIM_RANDOM,
			     seed);
		}
		simdisk_free(s->disk);
	}
	x->n = 0;
}

void explore_start(struct explorer *x, struct lab *l, unsigned seeds)
{
	*x = (struct explorer){ .l = l, .seeds = seeds };
	l->after = drain;
	l->after_ctx = x;
	simdisk_on_call(l->disk, keep, x);
}

void explore_stop(struct explorer *x)
{
	simdisk_on_call(x->l->disk, NULL, NULL);
	drain(x);
	x->l->after = NULL;
	free(x->v);
	simset_done(&x->states);
	simset_done(&x->checked);
}

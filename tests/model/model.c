/*
 * model.c - random acts, done to a store and to an oracle that shares no code
 * with it.
 *
 * usage: model URL [SEED [SEQUENCES]]
 *
 * On a difference it prints the seed, leaves out acts as long as what is left
 * still fails, and prints the rest.  WEFT_TEST_SCALE makes it longer.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/world.h"
#include "sim/sanitized.h"

#define SEQUENCES 100 /* and in memory, where they are cheap, more */
#define ACTS_MAX  160

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t random_kind(uint64_t *state)
{
	uint64_t total = 0, pick;

	for (size_t i = 0; i < n_act_kinds; i++)
		total += act_kinds[i].weight;
	assert(total > 0);
	pick = next_random(state) % total;
	for (uint32_t i = 0;; i++) {
		if (pick < act_kinds[i].weight)
			return i;
		pick -= act_kinds[i].weight;
	}
}

static size_t make_acts(uint64_t seed, struct act v[ACTS_MAX])
{
	uint64_t state = seed;
	size_t n = 20 + next_random(&state) % (ACTS_MAX - 20);

	for (size_t i = 0; i < n; i++) {
		v[i].kind = random_kind(&state);
		for (size_t k = 0; k < ACT_NUMBERS; k++)
			v[i].r[k] = (uint32_t)(next_random(&state) >> 32);
	}
	return n;
}

/* Take v[from..from + count) out. */
static size_t without(const struct act *v, size_t n, size_t from, size_t count,
		      struct act *out)
{
	memcpy(out, v, from * sizeof(*v));
	memcpy(out + from, v + from + count, (n - from - count) * sizeof(*v));
	return n - count;
}

/* Leave out what is not needed to fail: halves, quarters, single acts. */
static size_t shrink(const char *url, struct act *v, size_t n)
{
	struct act tried[ACTS_MAX];
	char why[2048];

	for (size_t step = n / 2; step > 0; step /= 2) {
		bool again = true;

		while (again) {
			again = false;
			for (size_t from = 0; from + step <= n;) {
				size_t m = without(v, n, from, step, tried);
				size_t at =
					world_run(url, tried, m, false, why);

				if (at == 0) {
					from += step;
					continue;
				}
				/* Nothing behind the failure is needed. */
				n = at < m ? at : m;
				memcpy(v, tried, n * sizeof(*v));
				again = true;
			}
		}
	}
	return n;
}

static int report(const char *url, uint64_t seed, struct act *v, size_t n,
		  const char *why)
{
	char shrunk_why[2048];

	(void)printf("# seed %llu: %s\n", (unsigned long long)seed, why);
	(void)fflush(stdout);
	n = shrink(url, v, n);
	(void)printf("# %zu acts are enough:\n", n);
	(void)world_run(url, v, n, true, shrunk_why);
	(void)printf("# %s\nnot ok 1 - agrees with the oracle\n", shrunk_why);
	return 1;
}

static uint64_t argument(const char *text, uint64_t otherwise)
{
	uint64_t n;

	return text && str_to_u64(str_of(text), UINT64_MAX, &n) ? n : otherwise;
}

/* A server makes a new schema for each sequence, which takes its time. */
static bool is_remote(const char *url)
{
	return strncmp(url, "postgres", 8) == 0;
}

int main(int argc, char **argv)
{
	struct act v[ACTS_MAX];
	uint64_t seed, n, acts = 0;
	char why[2048];

	if (argc < 2 || argc > 4 || !strchr(argv[1], ':')) {
		(void)fprintf(stderr, "usage: model URL [SEED [SEQUENCES]]\n");
		return 2;
	}
	/* The oracle knows no time zones; unit tests have those. */
	(void)setenv("TZ", "UTC0", 1);
	seed = argument(argc > 2 ? argv[2] : NULL,
			(uint64_t)clock_now_ms(NULL) * 1000);
	/* One seed, one sequence: to see it again. */
	n = argc > 2                        ? 1 :
	    is_remote(argv[1])              ? SEQUENCES / 4 :
	    strcmp(argv[1], "memory:") == 0 ? SEQUENCES * 10 :
					      SEQUENCES;
	/* They are others each time. */
	if (argc <= 2 && is_sanitized())
		n /= 4;
	n = argument(argc > 3 ? argv[3] : NULL,
		     n * argument(getenv("WEFT_TEST_SCALE"), 1));
	(void)printf("1..1\n# seed %llu, %llu sequences on %s\n",
		     (unsigned long long)seed, (unsigned long long)n, argv[1]);
	for (uint64_t i = 0; i < n; i++) {
		size_t m = make_acts(seed + i, v);
		size_t at = world_run(argv[1], v, m, false, why);

		if (at > 0)
			return report(argv[1], seed + i, v, at < m ? at : m,
				      why);
		acts += m;
	}
	(void)printf("# %llu acts\nok 1 - agrees with the oracle\n",
		     (unsigned long long)acts);
	return 0;
}

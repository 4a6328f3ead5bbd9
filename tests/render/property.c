/*
 * property.c - whatever a log holds, what is rendered from it can be sent.
 *
 * usage: property [SEED [LOGS]]
 *
 * A seed that fails is printed with its log; `property SEED 1` runs it alone.
 * WEFT_TEST_SCALE makes it longer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "crash/place.h"
#include "render/hostile.h"

#define LOGS 150000

static bool run_one(uint64_t seed, struct arena *a)
{
	static struct hostile_log log;
	struct dice d = { .state = seed };
	struct weft_str out = { NULL, 0 };
	const char *wrong;
	char why[300];

	hostile_make(&log, &d, a);
	wrong = hostile_check(&log, a, why, &out);
	if (!wrong)
		return true;
	printf("# seed %llu, format %u, tokens %llu, newest first %d: %s\n",
	       (unsigned long long)seed, log.options.format,
	       (unsigned long long)log.options.tokens, log.options.newest_first,
	       wrong);
	for (size_t i = 0; i < log.n; i++)
		printf("#   %.*s\n", (int)log.bodies[i].len, log.bodies[i].ptr);
	printf("# gave %.*s\n", (int)out.len, out.ptr);
	return false;
}

static uint64_t argument(const char *text, uint64_t otherwise)
{
	uint64_t n;

	return text && str_to_u64(str_of(text), UINT64_MAX, &n) ? n : otherwise;
}

int main(int argc, char **argv)
{
	uint64_t first = argument(argc > 1 ? argv[1] : NULL,
				  (uint64_t)clock_now_ms(NULL) * 1000000);
	uint64_t n = argument(argc > 2 ? argv[2] : NULL, scaled(LOGS));
	uint64_t failed = 0;
	struct arena a;

	printf("1..1\n# seeds %llu to %llu\n", (unsigned long long)first,
	       (unsigned long long)(first + n - 1));
	arena_init(&a, 0);
	for (uint64_t i = 0; i < n && failed < 3; i++) {
		failed += !run_one(first + i, &a);
		arena_reset(&a);
	}
	arena_done(&a);
	printf("%s 1 - %llu logs rendered\n", failed ? "not ok" : "ok",
	       (unsigned long long)n);
	return failed > 0;
}

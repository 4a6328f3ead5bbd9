/*
 * pace.c - how long a line stays behind, with the threads that a store has and
 * in the time that passes; the disk is a simulated one, which never slows down.
 *
 * The promise is a sixth of a second, and next to nothing when nobody writes.
 * What is asked here is far longer, for the sake of machines that are busy, and
 * far shorter than what it would be if nobody saw to it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "crash/lab.h"

enum { A };

#define SESSIONS   64
#define AT_ONCE    8 /* in a batch: enough to leave lines behind */
#define SAMPLES    3 /* sessions that are looked at */
#define LOAD_US    2500000
#define MAX_AGE_US 1000000
#define LINES_MAX  100000

#define LONG_MS      5 /* longer than what counts as a pause */
#define LONG_BATCHES 60

/* A session, and when each of its lines became durable. */
struct sample {
	char path[128];
	int64_t *at_us;
	size_t said, there;
};

static void open_with_threads(struct lab *l)
{
	struct store_open o = {
		.path = str_of(LAB_DIR),
		.flags = STORE_CREATE,
		.limits = l->limits,
		.clock = &l->f.clock,
	};

	o.fs = l->fs[A] = simdisk_process(l->disk);
	lab_ok(l, store_limits_fill(&o.limits, &l->f.err));
	lab_ok(l, store_jsonl.open(&o, &l->store[A], &l->f.err));
}

static size_t lines_in(struct lab *l, const char *path)
{
	size_t bytes = 0, n = 0;
	char *text = simdisk_read(l->disk, path, &bytes);

	assert_non_null(text);
	for (size_t i = 0; i < bytes; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

static void begin_all(struct lab *l, struct weft_id s[SESSIONS],
		      struct sample v[SAMPLES])
{
	l->limits.segment_bytes = MIB(1);
	l->limits.segment_bytes_max = MIB(64);
	open_with_threads(l);
	for (int i = 0; i < SESSIONS; i++) {
		lab_start(l, A);
		s[i] = lab_create(l, NULL);
		lab_ok(l, lab_commit(l));
	}
	for (int i = 0; i < SAMPLES; i++) {
		lab_path(l, &s[i], v[i].path);
		v[i].at_us = calloc(LINES_MAX, sizeof(*v[i].at_us));
		assert_non_null(v[i].at_us);
		v[i].said = v[i].there = lines_in(l, v[i].path);
	}
}

/* The age of the oldest line that is not in its file; -1: all are. */
static int64_t oldest_us(struct lab *l, struct sample v[SAMPLES])
{
	int64_t now = clock_mono_us(), oldest = -1;

	for (int i = 0; i < SAMPLES; i++) {
		struct sample *x = &v[i];

		if (x->there < x->said)
			x->there = lines_in(l, x->path);
		if (x->there < x->said && now - x->at_us[x->there] > oldest)
			oldest = now - x->at_us[x->there];
	}
	return oldest;
}

/* Lines for some of the sessions, sooner or later for all of them. */
static void say_some(struct lab *l, const struct weft_id s[SESSIONS],
		     struct sample v[SAMPLES], unsigned round)
{
	unsigned first = round * AT_ONCE % SESSIONS;

	lab_start(l, A);
	for (unsigned i = 0; i < AT_ONCE; i++)
		lab_say(l, &s[(first + i) % SESSIONS], 100);
	lab_ok(l, lab_commit(l));
	for (unsigned i = 0; i < SAMPLES && first == 0; i++) {
		assert_true(v[i].said < LINES_MAX);
		v[i].at_us[v[i].said++] = clock_mono_us();
	}
}

static void samples_free(struct sample v[SAMPLES])
{
	for (int i = 0; i < SAMPLES; i++)
		free(v[i].at_us);
}

static void under_load_no_line_gets_old(void **state)
{
	struct lab *l = *state;
	int64_t end, oldest = -1;
	struct sample v[SAMPLES];
	struct weft_id s[SESSIONS];
	unsigned rounds = 0;

	begin_all(l, s, v);
	end = clock_mono_us() + LOAD_US;
	for (; clock_mono_us() < end; rounds++) {
		say_some(l, s, v, rounds);
		/* To look takes longer than to write. */
		if (rounds % SESSIONS == 0) {
			int64_t age = oldest_us(l, v);

			oldest = age > oldest ? age : oldest;
		}
	}
	print_message("# %u batches, a line was behind for up to %lld ms\n",
		      rounds, (long long)oldest / 1000);
	/* Some are behind, or else this is about nothing. */
	assert_in_range(oldest, 0, MAX_AGE_US);
	samples_free(v);
}

static void take_long(struct draft *d, struct store_view *v, void *ctx)
{
	(void)d;
	(void)v;
	(void)ctx;
	(void)usleep(LONG_MS * 1000);
}

/* A batch that takes its time is no pause: its sessions get what is left behind
 * in few writes. */
static void a_long_batch_is_not_quiet(void **state)
{
	struct lab *l = *state;
	struct sample v[SAMPLES];
	struct weft_id s[SESSIONS];
	size_t writes = 0, seen;

	begin_all(l, s, v);
	seen = v[0].there;
	for (unsigned i = 0; i < LONG_BATCHES; i++) {
		size_t there;

		lab_start(l, A);
		draft_look(l->draft, take_long, NULL);
		for (unsigned k = 0; k < AT_ONCE; k++)
			lab_say(l, &s[k], 100);
		lab_ok(l, lab_commit(l));
		there = lines_in(l, v[0].path);
		writes += there > seen;
		seen = there;
	}
	print_message("# %d batches, %zu writes\n", LONG_BATCHES, writes);
	assert_in_range(writes, 0, LONG_BATCHES / 2);
	samples_free(v);
}

/* One batch, and nothing more: nobody has to ask for its lines. */
static void when_it_is_quiet_all_is_written(void **state)
{
	struct lab *l = *state;
	struct sample v[SAMPLES];
	struct weft_id s[SESSIONS];
	int64_t began, waited;

	begin_all(l, s, v);
	say_some(l, s, v, 0);
	began = clock_mono_us();
	do
		waited = clock_mono_us() - began;
	while (oldest_us(l, v) >= 0 && waited <= MAX_AGE_US);
	print_message("# waited for %lld us\n", (long long)waited);
	assert_in_range(waited, 0, MAX_AGE_US);
	samples_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(under_load_no_line_gets_old),
		LAB_TEST(when_it_is_quiet_all_is_written),
		LAB_TEST(a_long_batch_is_not_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

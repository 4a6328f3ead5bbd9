/*
 * behind.c - scenarios of lines that are durable and not yet in their files.
 *
 * A writes for itself and leaves its lines behind (STORE_LAGGING).  Whoever
 * comes then, whatever becomes of A, and whatever becomes of the machine: what
 * was acknowledged is there for everybody, at once.
 */
#include <stdlib.h>

#include "base/error.h"
#include "crash/scenarios.h"

#define SESSIONS 3

/* Sessions with a line each in their files, and some behind of each. */
static void leave_behind(struct lab *l, struct weft_id s[SESSIONS])
{
	l->flags = STORE_LAGGING;
	lab_ok(l, lab_open(l, A));
	lab_start(l, A);
	for (int i = 0; i < SESSIONS; i++) {
		s[i] = lab_create(l, i ? NULL : "key");
		lab_say(l, &s[i], 500);
	}
	lab_ok(l, lab_commit(l));
	for (int round = 0; round < 3; round++) {
		lab_start(l, A);
		for (int i = 0; i < SESSIONS; i++)
			lab_say(l, &s[i], 100 + (size_t)round);
		lab_ok(l, lab_commit(l));
	}
}

static size_t lines_in_file(struct lab *l, const struct weft_id *s)
{
	char path[128], *text;
	size_t bytes = 0, n = 0;

	lab_path(l, s, path);
	text = simdisk_read(l->disk, path, &bytes);
	assert_non_null(text);
	for (size_t i = 0; i < bytes; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

/* The scenarios are about something: lines do stay behind. */
static void lines_stay_behind_and_are_seen(void **state)
{
	struct lab *l = *state;
	struct weft_id s[SESSIONS];

	leave_behind(l, s);
	assert_int_equal(lines_in_file(l, &s[0]), 3);
	must_be_fine(l, check_cuts(l, 1));
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	assert_int_equal(lines_in_file(l, &s[0]), 6);
	lab_ok(l, lab_say_one(l, A, &s[0], 100));
	assert_int_equal(lines_in_file(l, &s[0]), 6);
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	assert_int_equal(lines_in_file(l, &s[0]), 7);
	must_be_fine(l, check_cuts(l, 2));
}

static void read_first(struct lab *l, const struct weft_id *s)
{
	struct event_range range = { .session = *s, .first = 1, .last = 1 };
	struct event_page page;

	lab_ok(l, l->store[A]->ops->read_events(l->store[A], &range,
						&l->f.arena, &page, &l->f.err));
	assert_int_equal(page.n, 1);
}

/* What others are told falls behind what is here; that is no reason to take
 * for another's what is our own. */
static void our_own_is_not_taken_from_the_log(void **state)
{
	struct lab *l = *state;
	struct weft_id s[SESSIONS];

	leave_behind(l, s);
	read_first(l, &s[0]);
	lab_ok(l, lab_say_one(l, A, &s[0], 100));
	for (int i = 1; i < SESSIONS; i++)
		read_first(l, &s[i]);
	for (int i = 0; i < 3; i++)
		lab_ok(l, lab_touch(l, A));
	assert_int_equal(lines_in_file(l, &s[0]), 6);
	must_be_fine(l, check_cuts(l, 1));
	/* It still is if we die. */
	simdisk_kill(l->fs[A]);
	lab_ok(l, lab_open(l, B));
	assert_int_equal(lines_in_file(l, &s[0]), 7);
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
}

static void who_joins_finds_all_of_it(void **state)
{
	struct lab *l = *state;
	struct weft_id s[SESSIONS];

	leave_behind(l, s);
	lab_ok(l, lab_open(l, B));
	for (int i = 0; i < SESSIONS; i++)
		assert_int_equal(lines_in_file(l, &s[i]), 6);
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	/* From now on nobody leaves anything behind. */
	lab_ok(l, lab_say_one(l, B, &s[0], 100));
	lab_ok(l, lab_say_one(l, A, &s[0], 100));
	lab_ok(l, lab_say_one(l, A, &s[1], 100));
	assert_int_equal(lines_in_file(l, &s[0]), 8);
	assert_int_equal(lines_in_file(l, &s[1]), 7);
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	must_be_fine(l, check_cuts(l, 1));
	/* And alone again it does. */
	lab_ok(l, lab_close(l, B));
	lab_ok(l, lab_say_one(l, A, &s[1], 100));
	assert_int_equal(lines_in_file(l, &s[1]), 7);
	lab_ok(l, lab_close(l, A));
	must_be_fine(l, check_cuts(l, 2));
	lab_ok(l, lab_open(l, B));
	assert_int_equal(lines_in_file(l, &s[1]), 8);
}

/* As a process of its own that only reads. */
static struct store *open_reader(struct lab *l)
{
	struct store_open o = {
		.path = str_of(LAB_DIR),
		.flags = STORE_READ_ONLY | STORE_BY_HAND,
		.clock = &l->f.clock,
		.fs = simdisk_process(l->disk),
	};
	struct store *reader;

	lab_ok(l, store_limits_fill(&o.limits, &l->f.err));
	lab_ok(l, store_jsonl.open(&o, &reader, &l->f.err));
	must_be_fine(l, check_store(l, reader, lab_now(l), NULL));
	return reader;
}

static void who_may_not_write_finds_all_of_it(void **state)
{
	struct lab *l = *state;
	struct weft_id s[SESSIONS];
	struct store *reader;

	leave_behind(l, s);
	reader = open_reader(l);
	lab_ok(l, lab_say_one(l, A, &s[0], 100));
	assert_int_equal(lines_in_file(l, &s[0]), 7);
	lab_ok(l, store_close(reader, &l->f.err));
}

/* For one that lives it waits two seconds. */
static void a_dead_writer_is_not_waited_for(void **state)
{
	struct lab *l = *state;
	struct weft_id s[SESSIONS];
	int64_t from_us;

	leave_behind(l, s);
	simdisk_kill(l->fs[A]);
	from_us = clock_mono_us();
	lab_ok(l, store_close(open_reader(l), &l->f.err));
	assert_true(clock_mono_us() - from_us < 1900000);
}

/* It dies before its n-th change from there on; somebody had joined, comes
 * later beside another, or is alone. */
static void whoever_dies_leaves_nothing_out(void **state)
{
	bool died = true;

	(void)state;
	for (uint64_t n = 1; died; n++) {
		for (int joined = 0; joined < 2; joined++) {
			struct lab *l = lab_new();
			struct weft_id s[SESSIONS];

			leave_behind(l, s);
			simdisk_kill_at(l->fs[A], n);
			if (joined)
				lab_ok(l, lab_open(l, B));
			(void)lab_say_one(l, A, &s[0], 100);
			if (!simdisk_is_dead(l->fs[A]))
				(void)lab_task(l, A, TASK_CHECKPOINT);
			died = simdisk_is_dead(l->fs[A]);
			simdisk_kill(l->fs[A]);
			if (!joined)
				lab_ok(l, lab_open(l, B));
			lab_ok(l, lab_touch(l, B));
			must_be_fine(l, lab_resolve(l, B));
			must_be_fine(l, check_store(l, l->store[B], lab_now(l),
						    NULL));
			lab_ok(l, lab_say_one(l, B, &s[0], 100));
			must_be_fine(l, check_cuts(l, n));
			lab_free(l);
		}
	}
}

/* Somebody saves a file while lines of it are behind. */
static void an_editor_loses_no_line(void **state)
{
	struct lab *l = *state;
	struct weft_id s[SESSIONS];
	char path[128];

	leave_behind(l, s);
	lab_path(l, &s[1], path);
	assert_int_equal(simdisk_append(l->disk, path, STR("by hand\n")), 0);
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	lab_ok(l, lab_say_one(l, A, &s[1], 100));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
}

/* A line that can be read is kept, wherever it was put. */
static void an_editor_s_own_line_is_not_written_over(void **state)
{
	static const char own[] = "{\"seq\":900,\"ts\":\"2026-11-15T10:00:00"
				  ".000Z\",\"type\":\"note\",\"x\":\"by "
				  "hand\"}\n";
	struct lab *l = *state;
	struct weft_id s[SESSIONS];
	char path[128], *text;
	size_t n, lines = 0;

	leave_behind(l, s);
	lab_path(l, &s[1], path);
	assert_int_equal(simdisk_append(l->disk, path, STR(own)), 0);
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	text = simdisk_read(l->disk, path, &n);
	assert_non_null(text);
	assert_non_null(strstr(text, own));
	for (const char *p = text; (p = strstr(p, "\"text\":\"deed ")); p++)
		lines++;
	assert_int_equal(lines, 4);
	free(text);
}

/* ---- how much may be behind ---- */

/* As behind.c has it. */
#define BEHIND_BYTES MIB(32)
#define LINE_BYTES   KIB(16)
#define BATCH_LINES  56u
#define BATCH_BYTES  (BATCH_LINES * LINE_BYTES)
#define MANY         256
#define FEW          6 /* so that each has less than a page of events */

/* What the files lack of `said` bytes of text; lines are longer than their text. */
static uint64_t bytes_behind(struct lab *l, const struct weft_id *s, size_t n,
			     uint64_t said)
{
	uint64_t there = 0;

	for (size_t i = 0; i < n; i++) {
		char path[128];
		struct file_stat st;

		lab_path(l, &s[i], path);
		assert_int_equal(fs_stat(l->fs[A], path, &st), 0);
		there += st.size;
	}
	return said > there ? said - there : 0;
}

static void begin_lagging(struct lab *l, struct weft_id *s, size_t n)
{
	l->flags = STORE_LAGGING;
	l->limits.segment_bytes_max = MIB(64);
	lab_ok(l, lab_open(l, A));
	for (size_t i = 0; i < n; i++) {
		if (i % 32 == 0)
			lab_start(l, A);
		s[i] = lab_create(l, NULL);
		if (i % 32 == 31 || i == n - 1)
			lab_ok(l, lab_commit(l));
	}
}

/* A batch of lines, one after the other to each of these. */
static void say_much(struct lab *l, const struct weft_id *s, size_t n)
{
	lab_start(l, A);
	for (size_t i = 0; i < BATCH_LINES; i++)
		lab_say(l, &s[i % n], LINE_BYTES);
	lab_ok(l, lab_commit(l));
}

/* The most that is ever behind while so much is said to them. */
static uint64_t most_behind(struct lab *l, const struct weft_id *s, size_t n)
{
	uint64_t most = 0;

	for (uint64_t said = BATCH_BYTES; said < 2 * BEHIND_BYTES;
	     said += BATCH_BYTES) {
		say_much(l, s, n);
		most = u64_max(most, bytes_behind(l, s, n, said));
	}
	return most;
}

/* Nobody writes them out here (BY_HAND), as if the thread could not keep up:
 * whoever adds more writes as much. */
static void memory_for_what_is_behind_is_bounded(void **state)
{
	struct lab *l = *state;
	struct weft_id s[8];

	begin_lagging(l, s, ARRAY_LEN(s));
	assert_in_range(most_behind(l, s, ARRAY_LEN(s)), BEHIND_BYTES / 2,
			BEHIND_BYTES + 2 * BATCH_BYTES);
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
}

/* Also where what is oldest is less than what comes. */
static void large_lines_behind_many_small_ones_are_bounded(void **state)
{
	struct lab *l = *state;
	struct weft_id s[MANY];

	begin_lagging(l, s, MANY);
	for (size_t i = 0; i < MANY - FEW; i++)
		lab_ok(l, lab_say_one(l, A, &s[i], 10));
	assert_in_range(most_behind(l, &s[MANY - FEW], FEW), BEHIND_BYTES / 2,
			BEHIND_BYTES + 2 * BATCH_BYTES);
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
}

static const struct CMUnitTest tests[] = {
	LAB_TEST(lines_stay_behind_and_are_seen),
	LAB_TEST(our_own_is_not_taken_from_the_log),
	LAB_TEST(who_joins_finds_all_of_it),
	LAB_TEST(who_may_not_write_finds_all_of_it),
	LAB_TEST(a_dead_writer_is_not_waited_for),
	LAB_TEST(whoever_dies_leaves_nothing_out),
	LAB_TEST(an_editor_loses_no_line),
	LAB_TEST(an_editor_s_own_line_is_not_written_over),
	LAB_TEST(memory_for_what_is_behind_is_bounded),
	LAB_TEST(large_lines_behind_many_small_ones_are_bounded),
};

const struct suite behind_scenarios = { tests, ARRAY_LEN(tests) };

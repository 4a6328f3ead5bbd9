/* log.c - scenarios of the log: frames, flushes, segments. */
#include <errno.h>
#include <stdlib.h>

#include "crash/scenarios.h"
#include "store/jsonl/frame.h"

/* Behind the new frame of a segment that is used again lie old ones of the
 * same size. */
static void a_segment_used_again_shows_no_old_frames(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);

	for (int round = 0; round < 5; round++) {
		struct explorer x;

		for (int i = 0; i < 3; i++)
			lab_ok(l, lab_say_one(l, A, &s, 3000));
		lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
		explore_start(&x, l, rounds(3));
		lab_ok(l, lab_say_one(l, A, &s, 3000));
		must_be_fine(l, x.problem);
		explore_stop(&x);
	}
}

/* ---- what a cut leaves of one frame ---- */

struct before_sync {
	struct simdisk *copy; /* before the first sync */
	bool kill;
	struct lab *l;
};

static void at_first_sync(void *ctx, struct simdisk *d, unsigned calls,
			  uint64_t n)
{
	struct before_sync *b = ctx;

	(void)n;
	if (!(calls & SIM_SYNCS) || b->copy)
		return;
	b->copy = simdisk_clone(d);
	if (b->kill)
		simdisk_kill(b->l->fs[A]);
}

static void write_to_two(struct lab *l, const struct weft_id *s)
{
	struct weft_id fresh;

	lab_start(l, A);
	l->grouped = true;
	fresh = lab_create(l, NULL);
	lab_say(l, &fresh, 2000);
	lab_say(l, s, 2000);
	lab_say(l, s, 2000);
	(void)lab_commit(l);
}

static void any_subset_of_sectors_of_a_frame_is_all_or_nothing(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);
	struct before_sync b = { .l = l };
	struct simset seen = { 0 };

	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	simdisk_sync(l->disk);
	simdisk_on_call(l->disk, at_first_sync, &b);
	write_to_two(l, &s);
	simdisk_on_call(l->disk, NULL, NULL);
	assert_non_null(b.copy);
	for (uint64_t i = 0; i < rounds(1500); i++) {
		struct simdisk *d = simdisk_clone(b.copy);
		struct moment at = { l->n_deeds - 1, true };

		uint64_t which = i * UINT64_C(0x9e3779b97f4a7c15);

		if (simset_add(&seen,
			       simdisk_power_cut(d, SIM_INDEX, which, NULL)))
			must_be_fine(l, check_disk(l, d, at, false));
		simdisk_free(d);
	}
	print_message("# %zu subsets\n", seen.count);
	simset_done(&seen);
	simdisk_free(b.copy);
}

/* ---- flushes that did not happen ---- */

static void what_a_dead_writer_did_not_flush_is_flushed_before_it_shows(
	void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);
	struct before_sync b = { .l = l, .kill = true };

	lab_ok(l, lab_open(l, B));
	simdisk_on_call(l->disk, at_first_sync, &b);
	write_to_two(l, &s);
	simdisk_on_call(l->disk, NULL, NULL);
	simdisk_free(b.copy);
	assert_true(simdisk_is_dead(l->fs[A]));
	(void)lab_close(l, A);
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	lab_ok(l, lab_touch(l, B));
	must_be_fine(l, lab_resolve(l, B));
	assert_int_equal(l->deeds[l->n_deeds - 1].answer, ANSWER_DONE);
	must_be_fine(l, check_cuts(l, 1));
	lab_ok(l, lab_say_one(l, B, &s, 100));
	must_be_fine(l, check_cuts(l, 2));
}

static void after_a_failed_flush_nobody_writes_until_one_is_alone(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);
	struct store_health health;

	lab_ok(l, lab_open(l, B));
	lab_ok(l, lab_say_one(l, B, &s, 100));
	simdisk_fail_sync(l->disk, 1, -EIO);
	assert_code(&l->f, lab_say_one(l, A, &s, 100), WEFT_UNKNOWN);
	assert_code(&l->f, lab_touch(l, B), WEFT_IO);
	assert_code(&l->f, lab_touch(l, A), WEFT_IO);
	lab_ok(l, lab_open(l, C));
	assert_code(&l->f, lab_touch(l, C), WEFT_IO);
	assert_int_equal(l->store[C]->ops->health(l->store[C], &health), 0);
	assert_true(health.failed && !health.writable);
	/* Reading goes on, without what may vanish. */
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	for (unsigned i = A; i <= C; i++)
		(void)lab_close(l, i);
	lab_ok(l, lab_open(l, D));
	must_be_fine(l, lab_resolve(l, D));
	must_be_fine(l, check_cuts(l, 3));
	lab_ok(l, lab_say_one(l, D, &s, 100));
	must_be_fine(l, check_cuts(l, 4));
}

/* The page cache shows lines that the disk does not have. */
static void a_checkpoint_whose_flush_failed_loses_nothing(void **state)
{
	struct lost_sync at = { .n = 1 };
	bool failed = true;

	(void)state;
	while (failed) {
		struct lab *l = lab_new();
		struct weft_id s = begin_in(l, A);

		lab_ok(l, lab_say_one(l, A, &s, 5000));
		lab_lose_sync(l, &at);
		failed = lab_task(l, A, TASK_CHECKPOINT) < 0;
		simdisk_on_call(l->disk, NULL, NULL);
		(void)lab_close(l, A);
		lab_ok(l, lab_open(l, B));
		must_be_fine(l, check_cuts(l, at.n));
		lab_ok(l, lab_say_one(l, B, &s, 100));
		lab_ok(l, lab_task(l, B, TASK_CHECKPOINT));
		lab_ok(l, lab_say_one(l, B, &s, 100));
		must_be_fine(l, check_cuts(l, at.n + 1));
		lab_free(l);
		at.n++;
	}
	assert_true(at.n > 3);
}

/* So many that one flush of the file system is made for all. */
#define MANY_FILES 256

static void lose_write_back(void *ctx, struct simdisk *d, unsigned calls,
			    uint64_t n)
{
	struct lost_sync *at = ctx;

	(void)n;
	if ((calls & SIM_WRITE_BACK) && ++at->seen == at->n)
		simdisk_fail_sync(d, 1, -EIO);
}

/* The flush of the file system that comes after it would not know of it. */
static void a_checkpoint_whose_write_back_failed_loses_nothing(void **state)
{
	struct lost_sync at = { .n = MANY_FILES / 2 };
	struct lab *l = *state;
	struct weft_id s[MANY_FILES];

	/* So long that there is no checkpoint before. */
	l->limits.segment_bytes = l->limits.segment_bytes_max = MIB(1);
	lab_ok(l, lab_open(l, A));
	/* The second line opens the file. */
	for (int i = 0; i < 2 * MANY_FILES; i++) {
		if (i % 32 == 0)
			lab_start(l, A);
		if (i < MANY_FILES)
			s[i] = lab_create(l, NULL);
		else
			lab_say(l, &s[i - MANY_FILES], 100);
		if (i % 32 == 31)
			lab_ok(l, lab_commit(l));
	}
	simdisk_on_call(l->disk, lose_write_back, &at);
	assert_int_equal(lab_task(l, A, TASK_CHECKPOINT), WEFT_IO);
	simdisk_on_call(l->disk, NULL, NULL);
	assert_int_equal(at.seen, at.n);
	/* Nobody writes before what was lost is there again. */
	assert_int_equal(lab_say_one(l, A, &s[0], 100), WEFT_IO);
	must_be_fine(l, check_cuts(l, 1));
	(void)lab_close(l, A);
	lab_ok(l, lab_open(l, B));
	lab_ok(l, lab_say_one(l, B, &s[0], 100));
	lab_ok(l, lab_task(l, B, TASK_CHECKPOINT));
	must_be_fine(l, check_cuts(l, 2));
}

/* ---- a message that imitates a frame ---- */

/* A frame for place `lsn` that would append a line; all is right but, unless
 * the salt is, the salt. */
static void forge(struct buf *b, const struct weft_id *s, uint64_t salt,
		  uint64_t lsn)
{
	static const char line[] = "{\"seq\":99,\"type\":\"evil\"}\n";
	size_t record;

	frame_begin(b);
	record = frame_record_begin(b, s, 1, 99, 1);
	buf_add(b, line, sizeof(line) - 1);
	frame_record_end(b, record, 1);
	frame_seal(b, salt, lsn, lsn, 1);
	assert_int_equal(b->error, 0);
}

/* A frame is as long as three units; `forged` stands where the second is. */
static void write_forged(struct lab *l, const struct weft_id *s,
			 const struct buf *forged, size_t before)
{
	struct buf body;
	struct step *step;

	lab_start(l, A);
	lab_say(l, s, 10);
	buf_init(&body, MIB(1));
	buf_add_lit(&body, "\"x\":\"");
	while (body.len < before)
		buf_add_c(&body, 'x');
	buf_add_str(&body, buf_str(forged));
	while (body.len < 2 * FRAME_UNIT + 100)
		buf_add_c(&body, 'x');
	buf_add_lit(&body, "\"");
	step = &l->draft->steps[0];
	step->event.body = buf_str(&body);
	(void)lab_commit(l);
	buf_done(&body);
}

static void a_message_that_holds_a_frame_is_not_taken_for_one(void **state)
{
	const char *segment = LAB_DIR "/wal/00000001";
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);
	struct before_sync b = { .l = l, .kill = true };
	static const char zeros[512];
	char *log = simdisk_read(l->disk, segment, NULL);
	/* Header of the frame and of its record, then what each line has. */
	const size_t line_at = FRAME_HEAD + FRAME_RECORD_HEAD;
	const size_t head = 98;
	uint64_t place = FRAME_UNIT, salt = get_le64(log + 8) ^ 1;
	struct buf forged;
	char *found;

	buf_init(&forged, MIB(1));
	forge(&forged, &s, salt, place + FRAME_UNIT);
	simdisk_on_call(l->disk, at_first_sync, &b);
	write_forged(l, &s, &forged, FRAME_UNIT - line_at - head);
	simdisk_on_call(l->disk, NULL, NULL);
	(void)lab_close(l, A);
	free(log);
	(void)simdisk_power_cut(b.copy, SIM_KEEP_ALL, 0, NULL);
	log = simdisk_read(b.copy, segment, NULL);
	found = memmem(log, LAB_SEGMENT, forged.ptr, forged.len);
	assert_non_null(found);
	/* `head` above must be what puts it into its place. */
	assert_int_equal(found - log, place + FRAME_UNIT);
	/* The true frame is torn; the scan for later ones meets the other. */
	assert_int_equal(simdisk_overwrite(b.copy, segment, place,
					   (struct weft_str){ zeros, 512 }),
			 0);
	l->deeds[l->n_deeds - 1].answer = ANSWER_REFUSED;
	must_be_fine(l, check_disk(l, b.copy, lab_now(l), true));
	simdisk_free(b.copy);
	buf_done(&forged);
	free(log);
}

static size_t size_of_segment(struct lab *l, unsigned number)
{
	char path[64];
	size_t size = 0;
	char *bytes;

	(void)snprintf(path, sizeof(path), LAB_DIR "/wal/%08u", number);
	bytes = simdisk_read(l->disk, path, &size);
	free(bytes);
	return bytes ? size : 0;
}

/* The first segments are as large as was asked for; what fits goes into them,
 * and more makes another one. */
static void a_log_begins_with_segments_of_segment_bytes(void **state)
{
	struct lab *l = *state;
	struct weft_id s;

	assert_int_equal(lab_open(l, 0), WEFT_OK);
	assert_int_equal(size_of_segment(l, 1), LAB_SEGMENT);
	assert_int_equal(size_of_segment(l, 2), LAB_SEGMENT);
	lab_start(l, 0);
	s = lab_create(l, NULL);
	assert_int_equal(lab_commit(l), WEFT_OK);
	for (size_t n = 0; n < LAB_SEGMENT / 2; n += 4000)
		assert_int_equal(lab_say_one(l, 0, &s, 4000), WEFT_OK);
	assert_int_equal(size_of_segment(l, 3), 0);
	for (size_t n = 0; n < 2 * LAB_SEGMENT; n += 4000)
		assert_int_equal(lab_say_one(l, 0, &s, 4000), WEFT_OK);
	assert_true(size_of_segment(l, 3) > 0);
}

static uint64_t head_seen_by(struct lab *l, unsigned process,
			     const struct weft_id *s)
{
	struct store *store = l->store[process];
	struct session_rec rec;

	assert_int_equal(store->ops->get_sessions(store, s, 1, &l->f.arena,
						  &rec, &l->f.err),
			 WEFT_OK);
	return rec.head_seq;
}

/* A checkpoint goes on in the next segment, and says so first to the catalogue
 * and then to the log.  Wherever it dies, what is written next is seen. */
static void after_a_checkpoint_that_died_everybody_sees_what_is_written(
	void **state)
{
	bool done = false;

	(void)state;
	for (uint64_t n = 1; !done; n++) {
		struct lab *l = lab_new();
		struct weft_id s = begin_in(l, A);

		for (int i = 0; i < 3; i++)
			lab_ok(l, lab_say_one(l, A, &s, 3000));
		simdisk_kill_at(l->fs[A], n);
		done = lab_task(l, A, TASK_CHECKPOINT) == WEFT_OK;
		simdisk_kill_at(l->fs[A], 0);
		(void)lab_close(l, A);
		lab_ok(l, lab_open(l, B));
		lab_ok(l, lab_say_one(l, B, &s, 3000));
		lab_ok(l, lab_open(l, C));
		assert_int_equal(head_seen_by(l, C, &s), lab_head(l, &s));
		lab_ok(l, lab_say_one(l, B, &s, 3000));
		assert_int_equal(head_seen_by(l, C, &s), lab_head(l, &s));
		lab_free(l);
	}
}

static const struct CMUnitTest tests[] = {
	LAB_TEST(a_log_begins_with_segments_of_segment_bytes),
	LAB_TEST(a_segment_used_again_shows_no_old_frames),
	LAB_TEST(any_subset_of_sectors_of_a_frame_is_all_or_nothing),
	LAB_TEST(what_a_dead_writer_did_not_flush_is_flushed_before_it_shows),
	LAB_TEST(after_a_failed_flush_nobody_writes_until_one_is_alone),
	LAB_TEST(a_checkpoint_whose_flush_failed_loses_nothing),
	LAB_TEST(a_checkpoint_whose_write_back_failed_loses_nothing),
	cmocka_unit_test(
		after_a_checkpoint_that_died_everybody_sees_what_is_written),
	LAB_TEST(a_message_that_holds_a_frame_is_not_taken_for_one),
};

const struct suite log_scenarios = { tests, ARRAY_LEN(tests) };

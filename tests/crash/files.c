/* files.c - scenarios of session files and the catalogue. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "crash/scenarios.h"

/* Where the last line of a file begins. */
static size_t last_line(const char *text, size_t n)
{
	size_t at = n - 1;

	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

/* A letter at the end of the first message, where no preview has it. */
static void alter_first_message(struct lab *l, const struct weft_id *s)
{
	char path[128];
	char *text, *end;
	size_t n;

	lab_path(l, s, path);
	text = simdisk_read(l->disk, path, &n);
	assert_non_null(text);
	end = strstr(text, "\"}],\"crc\"");
	assert_non_null(end);
	assert_int_equal(
		simdisk_flip(l->disk, path, (uint64_t)(end - text) - 5, 1), 0);
	free(text);
	lab_hurt(l, s, 2);
	simdisk_sync(l->disk);
}

/* ---- rewriting ---- */

static void a_rewrite_can_be_cut_at_every_step(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);
	struct explorer x;

	lab_ok(l, lab_open(l, B));
	lab_ok(l, lab_say_one(l, B, &s, 200));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	alter_first_message(l, &s);
	lab_ok(l, lab_say_one(l, A, &s, 200)); /* only the log has it */
	explore_start(&x, l, rounds(6));
	lab_ok(l, lab_task(l, A, TASK_REPAIR));
	lab_ok(l, lab_say_one(l, B, &s, 200));
	lab_ok(l, lab_say_one(l, A, &s, 200));
	must_be_fine(l, x.problem);
	explore_stop(&x);
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
}

/* ---- torn lines ---- */

/*
 * The power fails when some of a line is on the disk, and zeros or nothing
 * behind it: wherever it is torn, also within its number, the log has it.
 */
static void a_line_torn_at_any_byte_is_written_again(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);
	size_t from, to, n;
	char path[128];

	/* Numbers of two digits. */
	for (int i = 0; i < 12; i++)
		lab_ok(l, lab_say_one(l, A, &s, 30));
	lab_path(l, &s, path);
	free(simdisk_read(l->disk, path, &from));
	lab_ok(l, lab_say_one(l, A, &s, 30));
	lab_ok(l, lab_say_one(l, A, &s, 30));
	free(simdisk_read(l->disk, path, &to));
	simdisk_sync(l->disk);
	for (n = from; n < to; n++) {
		struct simdisk *d = simdisk_clone(l->disk);

		assert_int_equal(simdisk_resize(d, path, n), 0);
		if (n % 2)
			assert_int_equal(simdisk_resize(d, path, to), 0);
		(void)snprintf(l->where, sizeof(l->where),
			       "torn at %zu of %zu: ", n - from, to - from);
		must_be_fine(l, check_disk(l, d, lab_now(l), false));
		simdisk_free(d);
	}
	assert_true(to - from > 100);
}

/* ---- people ---- */

typedef void edit(struct lab *l, const struct weft_id *s, const char *path);

static void save_a_copy(struct lab *l, const struct weft_id *s,
			const char *path)
{
	size_t n;
	char *text = simdisk_read(l->disk, path, &n);

	(void)s;
	assert_int_equal(
		simdisk_replace(l->disk, path, (struct weft_str){ text, n }),
		0);
	free(text);
}

static void append_a_byte(struct lab *l, const struct weft_id *s,
			  const char *path)
{
	assert_int_equal(simdisk_append(l->disk, path, STR("x")), 0);
	lab_intrude(l, s);
}

static void cut(struct lab *l, const char *path, size_t bytes)
{
	size_t n;

	free(simdisk_read(l->disk, path, &n));
	assert_int_equal(simdisk_resize(l->disk, path, n - bytes), 0);
}

static void cut_a_byte(struct lab *l, const struct weft_id *s, const char *path)
{
	(void)s;
	cut(l, path, 1);
}

/* Of the last line, which the log has, too. */
static void cut_half_a_line(struct lab *l, const struct weft_id *s,
			    const char *path)
{
	(void)s;
	cut(l, path, 100);
}

static void alter_and_save(struct lab *l, const struct weft_id *s,
			   const char *path)
{
	alter_first_message(l, s);
	save_a_copy(l, s, path);
}

/* What was said last is in the file that has the name, for all to see. */
static void expect_in_file(struct lab *l, const char *path)
{
	char *text = simdisk_read(l->disk, path, NULL);
	char said[32];

	(void)snprintf(said, sizeof(said), "deed %zu ", l->n_deeds - 1);
	assert_non_null(text);
	assert_non_null(strstr(text, said));
	free(text);
}

/* While A and B have it open, with lines that only the log and the cache
 * have; then both go on, and the power fails. */
static void edit_under_writers(edit *e)
{
	struct lab *l = lab_new();
	struct weft_id s = begin_in(l, A);
	char path[128];

	lab_ok(l, lab_open(l, B));
	lab_ok(l, lab_say_one(l, B, &s, 200));
	lab_ok(l, lab_say_one(l, A, &s, 200));
	lab_path(l, &s, path);
	e(l, &s, path);
	lab_ok(l, lab_say_one(l, A, &s, 200));
	expect_in_file(l, path);
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	lab_ok(l, lab_say_one(l, B, &s, 200));
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	lab_ok(l, lab_open(l, C)); /* has none of the old files open */
	must_be_fine(l, check_store(l, l->store[C], lab_now(l), NULL));
	must_be_fine(l, check_cuts(l, 1));
	lab_ok(l, lab_task(l, B, TASK_CHECKPOINT));
	must_be_fine(l, check_cuts(l, 2));
	/* The first to look at it again is a checkpoint. */
	lab_ok(l, lab_say_one(l, A, &s, 200));
	e(l, &s, path);
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	must_be_fine(l, check_cuts(l, 3));
	lab_ok(l, lab_say_one(l, A, &s, 200));
	must_be_fine(l, check_cuts(l, 4));
	lab_free(l);
}

static void a_copy_saved_over_a_file_keeps_what_follows(void **state)
{
	(void)state;
	edit_under_writers(save_a_copy);
}

static void a_byte_appended_to_a_file_costs_one_number(void **state)
{
	(void)state;
	edit_under_writers(append_a_byte);
}

static void a_byte_cut_off_a_file_costs_nothing(void **state)
{
	(void)state;
	edit_under_writers(cut_a_byte);
}

static void half_a_line_cut_off_a_file_comes_back(void **state)
{
	(void)state;
	edit_under_writers(cut_half_a_line);
}

static void a_file_edited_in_place_keeps_what_follows(void **state)
{
	(void)state;
	edit_under_writers(alter_and_save);
}

/* The file of a session that has lost a name says so with an old version. */
static void an_edited_file_takes_back_no_name(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A), t;
	char path[128];

	lab_start(l, A);
	t = lab_create(l, NULL);
	lab_name(l, &s, "alias");
	lab_ok(l, lab_commit(l));
	lab_start(l, A);
	lab_name(l, &t, "alias");
	lab_ok(l, lab_commit(l));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	lab_path(l, &s, path);
	save_a_copy(l, &s, path);
	simdisk_sync(l->disk);
	lab_ok(l, lab_say_one(l, A, &s, 100));
	must_be_fine(l, check_store(l, l->store[A], lab_now(l), NULL));
	must_be_fine(l, check_cuts(l, 1));
}

/* ---- the catalogue ---- */

static void a_catalogue_of_an_earlier_time_is_made_again(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);
	char *was[4];
	size_t n[4];

	for (int i = 0; i < 4; i++) {
		was[i] = simdisk_read(l->disk, LAB_DIR "/catalog.db", &n[i]);
		lab_start(l, A);
		lab_name(l, &s, i % 2 ? "odd" : "even");
		(void)lab_create(l, i == 1 ? "another" : NULL);
		lab_ok(l, lab_commit(l));
		lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	}
	lab_ok(l, lab_close(l, A));
	for (int i = 0; i < 4; i++) {
		struct simdisk *d = simdisk_clone(l->disk);

		assert_int_equal(
			simdisk_replace(d, LAB_DIR "/catalog.db",
					(struct weft_str){ was[i], n[i] }),
			0);
		must_be_fine(l, check_disk(l, d, lab_now(l), true));
		simdisk_free(d);
		free(was[i]);
	}
}

static void a_catalogue_deleted_while_open_is_made_again(void **state)
{
	struct lab *l = *state;
	struct weft_id s = begin_in(l, A);

	lab_ok(l, lab_open(l, B));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	assert_int_equal(simdisk_remove(l->disk, LAB_DIR "/catalog.db"), 0);
	lab_start(l, A);
	lab_name(l, &s, "alias");
	lab_ok(l, lab_commit(l));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	lab_ok(l, lab_say_one(l, B, &s, 100));
	lab_ok(l, lab_open(l, C));
	for (unsigned i = A; i <= C; i++)
		must_be_fine(l, check_store(l, l->store[i], lab_now(l), NULL));
	must_be_fine(l, check_cuts(l, 1));
	lab_ok(l, lab_task(l, B, TASK_CHECKPOINT));
	for (unsigned i = A; i <= C; i++)
		must_be_fine(l, check_store(l, l->store[i], lab_now(l), NULL));
	must_be_fine(l, check_cuts(l, 2));
}

/* ---- damage at the end ---- */

/* Without the catalogue nothing but the line itself tells of its number. */
static void damage_last_line(bool keep_catalogue)
{
	struct lab *l = lab_new();
	struct weft_id s = begin_in(l, A);
	uint64_t stamp = 0;
	char path[128];
	char *text;
	size_t n;

	lab_ok(l, lab_say_one(l, A, &s, 100));
	lab_path(l, &s, path);
	lab_ok(l, lab_close(l, A));
	text = simdisk_read(l->disk, path, &n);
	assert_int_equal(simdisk_overwrite(l->disk, path, last_line(text, n),
					   STR("rotten")),
			 0);
	free(text);
	lab_hurt(l, &s, lab_head(l, &s));
	if (!keep_catalogue) {
		assert_int_equal(simdisk_remove(l->disk, LAB_DIR "/catalog.db"),
				 0);
		simdisk_sync(l->disk);
	}
	lab_ok(l, lab_open(l, B));
	assert_int_equal(l->store[B]->ops->wait(l->store[B], &stamp, 0, NULL),
			 1);
	assert_int_equal(l->store[B]->ops->wait(l->store[B], &stamp, 0, NULL),
			 0);
	lab_ok(l, lab_say_one(l, B, &s, 100));
	assert_int_equal(l->store[B]->ops->wait(l->store[B], &stamp, 0, NULL),
			 1);
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	must_be_fine(l, check_cuts(l, 1));
	lab_free(l);
}

static void a_damaged_last_line_keeps_its_number(void **state)
{
	(void)state;
	damage_last_line(true);
	damage_last_line(false);
}

/* ---- a full disk ---- */

struct filling {
	uint64_t n; /* writes after the flush until it is full */
	bool flushed;
};

static void fill_after_flush(void *ctx, struct simdisk *d, unsigned calls,
			     uint64_t n)
{
	struct filling *f = ctx;

	(void)n;
	if (!(calls & SIM_SYNC) || f->flushed)
		return;
	f->flushed = true;
	simdisk_fail_at(d, SIM_WRITE | SIM_CREATE | SIM_MKDIR, f->n, -ENOSPC,
			true);
}

/* `next`: who is the first to enter after that. */
static void fill_disk_after_flush(unsigned next)
{
	for (uint64_t n = 1; n < 12; n++) {
		struct lab *l = lab_new();
		struct weft_id s = begin_in(l, A), fresh;
		struct filling f = { .n = n };

		if (next != A)
			lab_ok(l, lab_open(l, next));
		simdisk_on_call(l->disk, fill_after_flush, &f);
		lab_start(l, A);
		l->f.now_ms += 86400000; /* in a directory of its own */
		fresh = lab_create(l, NULL);
		lab_say(l, &fresh, 6000);
		lab_say(l, &s, 6000);
		(void)lab_commit(l);
		simdisk_on_call(l->disk, NULL, NULL);
		assert_int_not_equal(l->deeds[l->n_deeds - 1].answer,
				     ANSWER_REFUSED);
		must_be_fine(l, check_cuts(l, n));
		simdisk_fail_at(l->disk, 0, 0, 0, false);
		lab_ok(l, lab_touch(l, next));
		must_be_fine(l, lab_resolve(l, next));
		assert_int_equal(l->deeds[l->n_deeds - 1].answer, ANSWER_DONE);
		lab_ok(l, lab_say_one(l, A, &s, 100));
		must_be_fine(l, check_cuts(l, n + 1));
		lab_free(l);
	}
}

static void a_disk_full_at_any_write_after_the_flush_loses_nothing(void **state)
{
	(void)state;
	fill_disk_after_flush(B);
	fill_disk_after_flush(A);
}

static const struct CMUnitTest tests[] = {
	LAB_TEST(a_rewrite_can_be_cut_at_every_step),
	LAB_TEST(a_line_torn_at_any_byte_is_written_again),
	LAB_TEST(a_copy_saved_over_a_file_keeps_what_follows),
	LAB_TEST(a_byte_appended_to_a_file_costs_one_number),
	LAB_TEST(a_byte_cut_off_a_file_costs_nothing),
	LAB_TEST(half_a_line_cut_off_a_file_comes_back),
	LAB_TEST(a_file_edited_in_place_keeps_what_follows),
	LAB_TEST(an_edited_file_takes_back_no_name),
	LAB_TEST(a_catalogue_of_an_earlier_time_is_made_again),
	LAB_TEST(a_catalogue_deleted_while_open_is_made_again),
	LAB_TEST(a_damaged_last_line_keeps_its_number),
	LAB_TEST(a_disk_full_at_any_write_after_the_flush_loses_nothing),
};

const struct suite file_scenarios = { tests, ARRAY_LEN(tests) };

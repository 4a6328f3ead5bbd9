/* cuts.c - pull the plug at every change of a long story. */
#include <stdio.h>

#include "base/id.h"
#include "crash/explore.h"

enum { A, B };

#define SEEDS  24
#define STATES 10000 /* that are distinct, at least */

/* ---- the story ---- */

/* Names, groups, several sessions in one write, marks, money. */
static void first_chapter(struct lab *l, struct weft_id s[4])
{
	struct session_rec sub = { .kind = KIND_SUBAGENT };

	lab_ok(l, lab_open(l, A));
	lab_start(l, A);
	s[0] = lab_create(l, "key/one");
	lab_say(l, &s[0], 40);
	lab_ok(l, lab_commit(l));
	lab_start(l, A);
	s[1] = lab_create(l, "key/two");
	s[2] = lab_create(l, NULL);
	lab_say(l, &s[1], 3000);
	lab_name(l, &s[0], "alias");
	lab_ok(l, lab_commit(l));
	lab_start(l, A);
	l->grouped = true;
	for (int i = 0; i < 5; i++)
		lab_say(l, &s[0], 200);
	lab_say(l, &s[1], 20);
	lab_ok(l, lab_commit(l));
	sub.parent = s[0];
	lab_start(l, A);
	s[3] = lab_create_with(l, &sub);
	lab_spend(l, &s[3], 100);
	lab_ok(l, lab_commit(l));
	lab_start(l, A);
	lab_hide(l, &s[0], 2);
	lab_name(l, &s[1], "alias");
	lab_ok(l, lab_commit(l));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
}

/* Segments are used again, with batches of one size. */
static void second_chapter(struct lab *l, struct weft_id s[4])
{
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++)
			lab_ok(l, lab_say_one(l, A, &s[i], 3000));
		lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	}
	/* More than both segments hold. */
	for (int i = 0; i < 9; i++)
		lab_ok(l, lab_say_one(l, A, &s[2], 15000));
}

/* Two processes write in turn, one checkpoints for both. */
static void third_chapter(struct lab *l, struct weft_id s[4])
{
	lab_ok(l, lab_open(l, B));
	lab_ok(l, lab_say_one(l, B, &s[0], 100));
	lab_ok(l, lab_say_one(l, A, &s[0], 100));
	lab_start(l, B);
	lab_name(l, &s[2], "alias");
	lab_spend(l, &s[3], 10);
	lab_event(l, &s[1], EVENT_DELETE, "\"names\":[]");
	lab_ok(l, lab_commit(l));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	lab_ok(l, lab_say_one(l, B, &s[0], 100));
	lab_ok(l, lab_blob(l, A, "an attachment"));
	lab_start(l, A);
	lab_refer(l, &s[0], &l->deeds[l->n_deeds - 2].blob);
	lab_say(l, &s[0], 50);
	lab_ok(l, lab_commit(l));
	lab_ok(l, lab_close(l, A));
	lab_start(l, B);
	lab_event(l, &s[1], EVENT_RESTORE, "\"names\":[]");
	lab_ok(l, lab_commit(l));
	lab_ok(l, lab_close(l, B));
}

/* Damage, repair, indexing again with something in the log. */
static void fourth_chapter(struct lab *l, struct weft_id s[4])
{
	char path[128];
	char *text;
	size_t n;

	lab_ok(l, lab_open(l, A));
	lab_ok(l, lab_say_one(l, A, &s[0], 100));
	lab_ok(l, lab_task(l, A, TASK_REINDEX));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	lab_ok(l, lab_say_one(l, A, &s[0], 100));
	lab_path(l, &s[1], path);
	text = simdisk_read(l->disk, path, &n);
	assert_non_null(text);
	/* Event 2 is the long one behind the file line and the header. */
	lab_hurt(l, &s[1], 2);
	assert_int_equal(simdisk_flip(l->disk, path, 1000, 4), 0);
	simdisk_sync(l->disk);
	free(text);
	lab_ok(l, lab_task(l, A, TASK_REPAIR));
	lab_ok(l, lab_say_one(l, A, &s[1], 100));
	lab_ok(l, lab_say_one(l, A, &s[0], 100));
	lab_ok(l, lab_close(l, A));
}

static void tell(struct lab *l)
{
	struct weft_id s[4];

	first_chapter(l, s);
	second_chapter(l, s);
	third_chapter(l, s);
	fourth_chapter(l, s);
}

static void a_power_cut_at_any_change_keeps_what_was_promised(void **state)
{
	struct lab *l = *state;
	struct explorer x;

	explore_start(&x, l, rounds(SEEDS));
	tell(l);
	print_message("# %zu distinct states recovered\n", x.states.count);
	must_be_fine(l, x.problem);
	/* Fewer only where a sanitizer makes each of them slow. */
	assert_true(rounds(SEEDS) < SEEDS || x.states.count >= STATES);
	explore_stop(&x);
}

/* The same while lines stay behind as long as they may. */
static void the_same_with_lines_left_behind(void **state)
{
	struct lab *l = *state;
	struct explorer x;

	l->flags = STORE_LAGGING;
	explore_start(&x, l, rounds(4));
	tell(l);
	print_message("# %zu distinct states recovered\n", x.states.count);
	must_be_fine(l, x.problem);
	explore_stop(&x);
}

/* ---- syncs that are forgotten ---- */

/* The checks are good for something: they miss what is not synced. */
static void expect_found(struct lab *l, const char *pattern)
{
	struct explorer x;

	simdisk_forget_syncs(l->disk, pattern);
	explore_start(&x, l, 1);
	x.max_checked = 1000;
	tell(l);
	print_message("# %s: found after %zu states: %s\n", pattern,
		      x.checked.count, x.problem);
	assert_string_not_equal(x.problem, "");
	explore_stop(&x);
}

static void a_log_that_is_not_synced_is_found(void **state)
{
	expect_found(*state, LAB_DIR "/wal/0*");
}

static void a_control_file_that_is_not_synced_is_found(void **state)
{
	expect_found(*state, LAB_DIR "/wal/control");
}

static void session_files_that_are_not_synced_are_found(void **state)
{
	expect_found(*state, LAB_DIR "/sessions/*.jsonl");
}

static void names_of_sessions_that_are_not_synced_are_found(void **state)
{
	expect_found(*state, LAB_DIR "/sessions/*/");
}

static void a_catalogue_that_is_not_synced_is_found(void **state)
{
	expect_found(*state, LAB_DIR "/catalog.db");
}

static void names_of_the_store_that_are_not_synced_are_found(void **state)
{
	expect_found(*state, LAB_DIR "/");
}

static void names_of_blobs_that_are_not_synced_are_found(void **state)
{
	expect_found(*state, LAB_DIR "/blobs/*");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(a_log_that_is_not_synced_is_found),
		LAB_TEST(a_control_file_that_is_not_synced_is_found),
		LAB_TEST(session_files_that_are_not_synced_are_found),
		LAB_TEST(names_of_sessions_that_are_not_synced_are_found),
		LAB_TEST(a_catalogue_that_is_not_synced_is_found),
		LAB_TEST(names_of_the_store_that_are_not_synced_are_found),
		LAB_TEST(names_of_blobs_that_are_not_synced_are_found),
		LAB_TEST(a_power_cut_at_any_change_keeps_what_was_promised),
		LAB_TEST(the_same_with_lines_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test-simtool.c - locks, watches, knobs and edits of the simulated disk. */
#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "unit/sim-help.h"

/* A disk on which both processes have "/f" open. */
struct shared {
	struct simdisk *sim;
	struct fs *a, *b;
	struct file *f, *g;
};

static int setup_shared(void **state)
{
	struct shared *t = malloc(sizeof(*t));

	assert_non_null(t);
	t->sim = simdisk_new();
	t->a = simdisk_process(t->sim);
	t->b = simdisk_process(t->sim);
	t->f = make(t->a, "/f");
	t->g = open_file(t->b, "/f", FILE_WRITE);
	*state = t;
	return 0;
}

static int teardown_shared(void **state)
{
	struct shared *t = *state;

	file_close(t->f);
	file_close(t->g);
	simdisk_free(t->sim);
	free(t);
	return 0;
}

static void locks_keep_others_out(void **state)
{
	struct shared *t = *state;
	struct file *same = open_file(t->a, "/f", FILE_READ);

	assert_int_equal(file_lock(t->f, 10, 10, FILE_SHARED), 0);
	assert_int_equal(file_lock(t->g, 10, 10, FILE_SHARED), 0);
	assert_int_equal(file_lock(t->f, 10, 10, FILE_LOCKED), -EAGAIN);
	/* Having failed, it still has the shared one. */
	assert_int_equal(file_lock(t->g, 19, 1, FILE_LOCKED), -EAGAIN);
	assert_int_equal(file_lock(t->g, 20, 1, FILE_LOCKED), 0);
	assert_int_equal(file_lock(t->g, 0, 10, FILE_LOCKED), 0);
	assert_int_equal(file_lock(t->g, 10, 10, FILE_UNLOCK), 0);
	assert_int_equal(file_lock(t->f, 10, 10, FILE_LOCKED), 0);
	assert_int_equal(file_lock(t->f, 9, 1, FILE_SHARED), -EAGAIN);
	/* The same process is somebody else, too. */
	assert_int_equal(file_lock(same, 15, 1, FILE_SHARED), -EAGAIN);
	assert_int_equal(file_lock(same, 30, 1, FILE_SHARED), 0);
	assert_int_equal(file_lock(same, 30, 1, FILE_LOCKED), -EBADF);
	file_close(same);
	/* What is taken out of the middle leaves both ends locked. */
	assert_int_equal(file_lock(t->f, 12, 2, FILE_UNLOCK), 0);
	assert_int_equal(file_lock(t->g, 12, 2, FILE_LOCKED), 0);
	assert_int_equal(file_lock(t->g, 11, 1, FILE_SHARED), -EAGAIN);
	assert_int_equal(file_lock(t->g, 14, 1, FILE_SHARED), -EAGAIN);
}

static void locks_end_with_their_file(void **state)
{
	struct shared *t = *state;
	struct file *other = open_file(t->a, "/f", FILE_WRITE);
	struct file *elsewhere = open_file(t->a, "/x", 3);

	assert_int_equal(file_lock(other, 0, 0, FILE_LOCKED), 0);
	assert_int_equal(file_lock(elsewhere, 0, 0, FILE_LOCKED), 0);
	assert_int_equal(file_lock(t->g, 1 << 30, 1, FILE_SHARED), -EAGAIN);
	file_close(t->f); /* another handle of the same process */
	t->f = NULL;
	assert_int_equal(file_lock(t->g, 1 << 30, 1, FILE_SHARED), -EAGAIN);
	file_close(other);
	assert_int_equal(file_lock(t->g, 1 << 30, 1, FILE_SHARED), 0);
	file_close(elsewhere);
}

static void watches_see_writes(void **state)
{
	struct shared *t = *state;
	struct file *other = open_file(t->a, "/other", 3);
	struct watch *w;
	int64_t begun;

	assert_int_equal(watch_open(t->b, "/none", &w), -ENOENT);
	assert_int_equal(watch_open(t->b, "/f", &w), 0);
	assert_int_equal(watch_wait(w, 0), 0);
	must_put(other, 0, "x");
	assert_int_equal(watch_wait(w, 0), 0);
	must_put(t->f, 0, "x");
	must_put(t->f, 1, "y");
	assert_int_equal(watch_wait(w, -1), 1);
	assert_int_equal(watch_wait(w, 0), 0);
	watch_wake(w);
	assert_int_equal(watch_wait(w, -1), 1);
	assert_int_equal(file_truncate(t->f, 0), 0);
	assert_int_equal(watch_wait(w, -1), 1);
	begun = clock_mono_us();
	assert_int_equal(watch_wait(w, 20), 0);
	assert_in_range(clock_mono_us() - begun, 19000, 5000000);
	simdisk_kill(t->b);
	assert_int_equal(watch_wait(w, -1), -EIO);
	watch_close(w);
	file_close(other);
}

static void *wait_for_it(void *arg)
{
	return (void *)(intptr_t)watch_wait(arg, -1);
}

static void a_write_wakes_a_waiting_thread(void **state)
{
	struct shared *t = *state;
	struct watch *w;
	pthread_t thread;
	void *r;

	assert_int_equal(watch_open(t->b, "/f", &w), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_it, w), 0);
	fs_sleep_us(t->a, 2000);
	must_put(t->f, 0, "x");
	assert_int_equal(pthread_join(thread, &r), 0);
	assert_int_equal((intptr_t)r, 1);
	watch_close(w);
}

static void calls_are_counted(void **state)
{
	struct shared *t = *state;
	struct simcounts a, b, all;
	char c;

	must_put(t->f, 0, "abc");
	must_put(t->g, 0, "de");
	assert_int_equal(file_read(t->f, &c, 1, 0), 1);
	assert_int_equal(file_datasync(t->f), 0);
	assert_int_equal(file_sync(t->f), 0);
	assert_int_equal(fs_sync_dir(t->a, "/"), 0);
	simdisk_process_counts(t->a, &a);
	simdisk_process_counts(t->b, &b);
	simdisk_counts(t->sim, &all);
	assert_int_equal(simcounts_of(&a, SIM_OPEN), 1);
	assert_int_equal(simcounts_of(&a, SIM_CREATE), 1);
	assert_int_equal(simcounts_of(&b, SIM_OPEN | SIM_CREATE), 1);
	assert_int_equal(simcounts_of(&a, SIM_WRITE), 1);
	assert_int_equal(simcounts_of(&all, SIM_WRITE), 2);
	assert_int_equal(simcounts_of(&all, SIM_READ), 1);
	assert_int_equal(simcounts_of(&a, SIM_SYNC), 2);
	assert_int_equal(simcounts_of(&a, SIM_SYNCS), 3);
	assert_int_equal(simcounts_of(&b, SIM_SYNCS), 0);
	assert_int_equal(a.bytes_written, 3);
	assert_int_equal(all.bytes_written, 5);
	assert_int_equal(all.bytes_read, 1);
}

static void a_disk_can_be_of_another_kind(void **state)
{
	struct shared *t = *state;
	struct file_stat st;
	struct fs_space s;
	struct file *f;

	assert_int_equal(fs_space(t->a, "/", &s), 0);
	assert_false(s.is_network || s.is_read_only);
	simdisk_set_kind(t->sim, "nfs", true, true);
	assert_int_equal(fs_space(t->a, "/", &s), 0);
	assert_true(s.is_network && s.is_read_only);
	assert_string_equal(s.kind, "nfs");
	assert_int_equal(file_open(t->a, "/f", FILE_WRITE, &f), -EROFS);
	assert_int_equal(file_open(t->a, "/x", FILE_CREATE, &f), -EROFS);
	assert_int_equal(fs_mkdir(t->a, "/d"), -EROFS);
	assert_int_equal(file_truncate(t->f, 0), -EROFS);
	file_close(open_file(t->a, "/f", FILE_READ));

	simdisk_set_time(t->sim, 1234);
	assert_int_equal(simdisk_set_owner(t->sim, "/f", 4711), 0);
	assert_int_equal(simdisk_set_owner(t->sim, "/", 4712), 0);
	assert_int_equal(simdisk_append(t->sim, "/f", STR("x")), 0);
	assert_int_equal(fs_stat(t->a, "/f", &st), 0);
	assert_int_equal(st.uid, 4711);
	assert_int_equal(st.mtime_ms, 1234);
	assert_int_equal(fs_stat(t->a, "/", &st), 0);
	assert_int_equal(st.uid, 4712);
}

static void note_path(void *ctx, const char *path)
{
	char *all = ctx;
	size_t n = strlen(all);

	(void)snprintf(all + n, 100 - n, "%s ", path);
}

static void people_edit_files(void **state)
{
	struct shared *t = *state;
	struct file_stat before, after;
	char all[100] = "", is[8];

	must_put(t->f, 0, "one");
	assert_int_equal(file_stat(t->f, &before), 0);
	assert_int_equal(simdisk_append(t->sim, "/f", STR(" two")), 0);
	expect_file(t->sim, "/f", "one two");
	assert_int_equal(simdisk_overwrite(t->sim, "/f", 4, STR("TWO")), 0);
	assert_int_equal(simdisk_flip(t->sim, "/f", 0, 0x20), 0);
	assert_int_equal(simdisk_flip(t->sim, "/f", 7, 0x20), -EINVAL);
	assert_int_equal(simdisk_resize(t->sim, "/f", 6), 0);
	expect_file(t->sim, "/f", "One TW");
	assert_int_equal(file_stat(t->f, &after), 0);
	assert_int_equal(before.ino, after.ino);
	assert_int_equal(file_read(t->f, is, sizeof(is), 0), 6);

	assert_int_equal(simdisk_replace(t->sim, "/f", STR("new")), 0);
	assert_int_equal(fs_stat(t->a, "/f", &after), 0);
	assert_int_not_equal(before.ino, after.ino);
	assert_int_equal(file_read(t->f, is, sizeof(is), 0), 6);
	assert_int_equal(fs_mkdir(t->a, "/d"), 0);
	assert_int_equal(simdisk_replace(t->sim, "/d/e", STR("")), 0);
	assert_int_equal(simdisk_replace(t->sim, "/d", STR("")), -EISDIR);
	simdisk_each_path(t->sim, note_path, all);
	assert_string_equal(all, "/ /d/ /d/e /f ");
	assert_int_equal(simdisk_remove(t->sim, "/f"), 0);
	expect_file(t->sim, "/f", NULL);
	assert_int_equal(simdisk_append(t->sim, "/f", STR("x")), -ENOENT);
}

struct calls_seen {
	unsigned calls[16];
	uint64_t n;
	uint64_t pending_at_sync;
	struct simdisk *at_sync;
};

static void note_call(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	struct calls_seen *s = ctx;

	assert_int_equal(n, s->n + 1);
	s->calls[s->n++] = calls;
	if (calls & SIM_SYNC) {
		s->pending_at_sync = simdisk_pending(d);
		s->at_sync = simdisk_clone(d);
	}
}

static void a_hook_sees_changes_before_they_happen(void **state)
{
	struct shared *t = *state;
	struct calls_seen s = { 0 };
	char c;

	simdisk_sync(t->sim);
	simdisk_on_call(t->sim, note_call, &s);
	must_put(t->f, 0, "a");
	assert_int_equal(file_read(t->f, &c, 1, 0), 1);
	assert_int_equal(file_sync(t->f), 0);
	file_close(open_file(t->a, "/f", FILE_CREATE)); /* it is there */
	file_close(open_file(t->a, "/g", FILE_CREATE));
	fs_sleep_us(t->a, 1);
	assert_int_equal(fs_rename(t->a, "/g", "/h"), 0);
	simdisk_on_call(t->sim, NULL, NULL);
	assert_int_equal(fs_rename(t->a, "/h", "/i"), 0);
	assert_int_equal(s.n, 5);
	assert_int_equal(s.calls[0], SIM_WRITE);
	assert_int_equal(s.calls[1], SIM_SYNC);
	assert_int_equal(s.calls[2], SIM_OPEN | SIM_CREATE);
	assert_int_equal(s.calls[3], SIM_SLEEP);
	assert_int_equal(s.calls[4], SIM_RENAME);
	assert_int_equal(s.pending_at_sync, 1);
	simdisk_power_cut(s.at_sync, SIM_LOSE_ALL, 0, NULL);
	expect_file(s.at_sync, "/f", "");
	simdisk_free(s.at_sync);
}

static void kill_it(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	(void)d;
	(void)calls;
	if (n == 2)
		simdisk_kill(ctx);
}

static void a_hook_may_kill(void **state)
{
	struct shared *t = *state;

	simdisk_on_call(t->sim, kill_it, t->a);
	must_put(t->f, 0, "a");
	assert_int_equal(file_truncate(t->f, 0), -EIO);
	expect_file(t->sim, "/f", "a");
}

static void clones_go_their_own_ways(void **state)
{
	struct shared *t = *state;
	struct simdisk *c;
	struct file *f;

	must_put(t->f, 0, "both");
	assert_int_equal(fs_mkdir(t->a, "/d"), 0);
	c = simdisk_clone(t->sim);
	assert_int_equal(simdisk_fingerprint(c), simdisk_fingerprint(t->sim));
	assert_int_equal(simdisk_pending(c), simdisk_pending(t->sim));
	f = open_file(simdisk_process(c), "/f", FILE_WRITE);
	/* Nobody holds a lock there. */
	assert_int_equal(file_lock(t->f, 0, 0, FILE_LOCKED), 0);
	assert_int_equal(file_lock(f, 0, 0, FILE_LOCKED), 0);
	must_put(f, 0, "copy");
	must_put(t->f, 1, "***");
	expect_file(t->sim, "/f", "b***");
	expect_file(c, "/f", "copy");
	assert_int_not_equal(simdisk_fingerprint(c),
			     simdisk_fingerprint(t->sim));
	file_close(f);
	simdisk_power_cut(c, SIM_LOSE_ALL, 0, NULL);
	assert_false(simdisk_is_dead(t->a));
	expect_file(c, "/f", NULL);
	simdisk_free(c);
	expect_file(t->sim, "/f", "b***");
}

static void a_clone_has_no_use_for_removed_files(void **state)
{
	struct shared *t = *state;
	struct fs_space here, there;
	struct simdisk *c;

	must_put(t->f, 0, "x");
	assert_int_equal(fs_unlink(t->a, "/f"), 0);
	c = simdisk_clone(t->sim);
	assert_int_equal(fs_space(t->a, "/", &here), 0);
	assert_int_equal(fs_space(simdisk_process(c), "/", &there), 0);
	assert_int_equal(there.free_bytes, here.free_bytes + 4096);
	simdisk_free(c);
}

static void fingerprints_tell_states_apart(void **state)
{
	struct shared *t = *state;
	struct simset seen = { 0 };

	assert_true(simset_add(&seen, simdisk_fingerprint(t->sim)));
	assert_int_equal(file_truncate(t->f, 5000), 0);
	assert_true(simset_add(&seen, simdisk_fingerprint(t->sim)));
	/* Zeros written over a hole change nothing that can be read. */
	assert_int_equal(simdisk_overwrite(t->sim, "/f", 10, STR("\0\0")), 0);
	assert_false(simset_add(&seen, simdisk_fingerprint(t->sim)));
	assert_int_equal(simdisk_flip(t->sim, "/f", 4999, 1), 0);
	assert_true(simset_add(&seen, simdisk_fingerprint(t->sim)));
	assert_int_equal(simdisk_flip(t->sim, "/f", 4999, 2), 0);
	assert_true(simset_add(&seen, simdisk_fingerprint(t->sim)));
	simdisk_sync(t->sim); /* what is durable does not count */
	assert_false(simset_add(&seen, simdisk_fingerprint(t->sim)));
	assert_int_equal(fs_rename(t->a, "/f", "/x"), 0);
	assert_true(simset_add(&seen, simdisk_fingerprint(t->sim)));
	assert_int_equal(fs_mkdir(t->a, "/d"), 0);
	assert_true(simset_add(&seen, simdisk_fingerprint(t->sim)));
	assert_int_equal(seen.count, 6);
	simset_done(&seen);
}

static void sets_hold_what_was_put_in(void **state)
{
	struct simset s = { 0 };

	(void)state;
	assert_false(simset_has(&s, 0));
	for (uint64_t i = 0; i < 5000; i++)
		assert_true(simset_add(&s, i * i));
	for (uint64_t i = 0; i < 5000; i++)
		assert_false(simset_add(&s, i * i));
	assert_int_equal(s.count, 5000);
	assert_false(simset_has(&s, 3));
	simset_done(&s);
}

/* A file that is written in place for ever and never synced. */
static void old_versions_are_forgotten_but_the_last_ones_are_not(void **state)
{
	struct shared *t = *state;
	struct simset seen = { 0 };
	char text[16];

	must_put(t->f, 0, "00000000");
	simdisk_sync(t->sim);
	for (int i = 1; i <= 5000; i++) {
		(void)snprintf(text, sizeof(text), "%08d", i);
		must_put(t->f, 0, text);
		if (i > 32)
			assert_in_range(simdisk_pending(t->sim), 32, 600);
	}
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct simdisk *c = simdisk_clone(t->sim);

		simset_add(&seen, simdisk_power_cut(c, SIM_RANDOM, seed, NULL));
		simdisk_free(c);
	}
	assert_in_range(seen.count, 10, 300);
	simdisk_power_cut(t->sim, SIM_KEEP_ALL, 0, NULL);
	expect_file(t->sim, "/f", "00005000");
	simset_done(&seen);
}

static void *churn(void *arg)
{
	struct fs *fs = arg;

	for (int i = 0; i < 300; i++) {
		struct file *f = open_file(fs, "/churn", 3);

		must_put(f, (uint64_t)i, "x");
		(void)file_lock(f, 0, 1, FILE_LOCKED);
		assert_int_equal(file_sync(f), 0);
		file_close(f);
		(void)fs_rename(fs, "/churn", "/churned");
		assert_int_equal(fs_sync_dir(fs, "/"), 0);
	}
	return NULL;
}

static void threads_share_a_disk(void **state)
{
	struct shared *t = *state;
	pthread_t one, two;

	assert_int_equal(pthread_create(&one, NULL, churn, t->a), 0);
	assert_int_equal(pthread_create(&two, NULL, churn, t->b), 0);
	for (int i = 0; i < 100; i++) {
		struct simdisk *c = simdisk_clone(t->sim);

		simdisk_power_cut(c, SIM_RANDOM, (uint64_t)i, NULL);
		simdisk_free(c);
	}
	assert_int_equal(pthread_join(one, NULL), 0);
	assert_int_equal(pthread_join(two, NULL), 0);
	assert_int_equal(simdisk_open_files(t->sim), 2);
}

#define S(name) \
	cmocka_unit_test_setup_teardown(name, setup_shared, teardown_shared)

int main(void)
{
	const struct CMUnitTest tests[] = {
		S(locks_keep_others_out),
		S(locks_end_with_their_file),
		S(watches_see_writes),
		S(a_write_wakes_a_waiting_thread),
		S(calls_are_counted),
		S(a_disk_can_be_of_another_kind),
		S(people_edit_files),
		S(a_hook_sees_changes_before_they_happen),
		S(a_hook_may_kill),
		S(clones_go_their_own_ways),
		S(a_clone_has_no_use_for_removed_files),
		S(fingerprints_tell_states_apart),
		S(sets_hold_what_was_put_in),
		S(old_versions_are_forgotten_but_the_last_ones_are_not),
		S(threads_share_a_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

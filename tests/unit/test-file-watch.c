/* test-file-watch.c - waiting: for a time, for a write, for a wake-up. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "file-help.h"

static void sleeping_takes_its_time(void **state)
{
	int64_t start = clock_mono_us();

	(void)state;
	fs_sleep_us(fs, 20000);
	assert_true(clock_mono_us() - start >= 20000);
	fs_sleep_us(fs, 0);
}

static void a_watch_sees_writes_since_the_last_wait(void **state)
{
	struct file *f = open_file("w", FILE_WRITE | FILE_CREATE);
	struct watch *w = NULL;

	(void)state;
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	assert_int_equal(watch_wait(w, 0), 0);
	assert_int_equal(file_write(f, "x", 1, 0), 1);
	assert_int_equal(file_write(f, "x", 1, 0), 1);
	assert_int_equal(watch_wait(w, 5000), 1);
	assert_int_equal(watch_wait(w, 0), 0);
	assert_int_equal(file_write(f, "x", 1, 0), 1);
	assert_int_equal(watch_wait(w, -1), 1);
	/* Another file of the directory is none of its business. */
	file_close(open_file("other", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_wait(w, 0), 0);
	watch_close(w);
	watch_close(NULL);
	file_close(f);
	assert_int_equal(watch_open(fs, in_dir("no"), &w), -ENOENT);
}

static void a_watch_can_be_woken(void **state)
{
	struct watch *w = NULL;

	(void)state;
	file_close(open_file("w", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	watch_wake(w);
	watch_wake(w);
	assert_int_equal(watch_wait(w, -1), 1);
	assert_int_equal(watch_wait(w, 0), 0);
	watch_close(w);
}

static void *wake_later(void *ctx)
{
	fs_sleep_us(fs, 20000);
	watch_wake(ctx);
	return NULL;
}

static void do_nothing(int signal_number)
{
	(void)signal_number;
}

/* A signal every 3 ms, or no more. */
static void send_signals(bool often)
{
	struct sigaction action = { .sa_handler = do_nothing };
	const int us = often ? 3000 : 0;
	const struct itimerval timer = { { 0, us }, { 0, us } };

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static void a_waiting_thread_is_woken_by_another(void **state)
{
	struct watch *w = NULL;
	pthread_t thread;

	(void)state;
	file_close(open_file("w", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	assert_int_equal(pthread_create(&thread, NULL, wake_later, w), 0);
	assert_int_equal(watch_wait(w, 30000), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* Interrupted or not, without a time-out it waits. */
	assert_int_equal(pthread_create(&thread, NULL, wake_later, w), 0);
	send_signals(true);
	assert_int_equal(watch_wait(w, -1), 1);
	send_signals(false);
	assert_int_equal(pthread_join(thread, NULL), 0);
	watch_close(w);
}

/* Signals that interrupt the wait do not make it longer or shorter. */
static void a_wait_ends_at_its_time_out(void **state)
{
	struct watch *w = NULL;
	int64_t start, waited, slept;

	(void)state;
	file_close(open_file("w", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	send_signals(true);
	start = clock_mono_us();
	assert_int_equal(watch_wait(w, 50), 0);
	waited = clock_mono_us() - start;
	start = clock_mono_us();
	fs_sleep_us(fs, 50000);
	slept = clock_mono_us() - start;
	send_signals(false);
	assert_in_range(waited, 48000, 10000000);
	assert_in_range(slept, 50000, 10000000);
	watch_close(w);
}

static void the_end_of_a_watched_file_wakes(void **state)
{
	struct watch *w = NULL;

	(void)state;
	file_close(open_file("w", FILE_WRITE | FILE_CREATE));
	assert_int_equal(watch_open(fs, in_dir("w"), &w), 0);
	assert_int_equal(fs_rename(fs, in_dir("w"), in_dir("v")), 0);
	assert_int_equal(watch_wait(w, 5000), 1);
	assert_int_equal(fs_unlink(fs, in_dir("v")), 0);
	assert_int_equal(watch_wait(w, 5000), 1);
	watch_close(w);
}

#define T(test) cmocka_unit_test_teardown(test, empty_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(sleeping_takes_its_time),
		T(a_watch_sees_writes_since_the_last_wait),
		T(a_watch_can_be_woken),
		T(a_waiting_thread_is_woken_by_another),
		T(a_wait_ends_at_its_time_out),
		T(the_end_of_a_watched_file_wakes),
	};

	return cmocka_run_group_tests_name("file-watch", tests, make_dir,
					   remove_dir);
}

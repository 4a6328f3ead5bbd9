/*
 * four.c - four processes on one directory: everybody gets a turn.
 *
 * One is idle, one is killed, one is stopped for a while: the others go on.
 * While nobody is stopped, no append waits for 50 ms.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "crash/place.h"

#define PROCESSES 4
#define ROUNDS    7
#define ROUND_MS  700
#define WAIT_US   50000

/* What each process is seen to do, in memory that all share. */
struct shared {
	atomic_ullong appends[PROCESSES];
	atomic_llong longest_us[PROCESSES];
	atomic_int ready;
	atomic_int go;
};

static struct shared *shared;

struct writer {
	const struct place *place;
	int no;
};

static void note_wait(struct shared *sh, int no, int64_t us)
{
	if (us > atomic_load(&sh->longest_us[no]))
		atomic_store(&sh->longest_us[no], us);
	(void)atomic_fetch_add(&sh->appends[no], 1);
}

static void writer_main(void *ctx)
{
	const struct writer *w = ctx;
	struct weft_store *s = open_place(w->place, NULL, 0);

	(void)atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go))
		sleep_ms(1);
	for (;;) {
		int64_t before = now_us();

		(void)say_to(s, "hot", "a message of some bytes");
		note_wait(shared, w->no, now_us() - before);
	}
}

static void idle_main(void *ctx)
{
	const struct writer *w = ctx;
	struct weft_store *s = open_place(w->place, NULL, 0);

	(void)s;
	(void)atomic_fetch_add(&shared->ready, 1);
	for (;;)
		(void)pause();
}

static void start_all(const struct place *p, int writers, pid_t pids[],
		      struct writer w[])
{
	memset((void *)shared, 0, sizeof(*shared));
	for (int i = 0; i < PROCESSES; i++) {
		w[i] = (struct writer){ p, i };
		pids[i] = start_child(i < writers ? writer_main : idle_main,
				      &w[i]);
	}
	while (atomic_load(&shared->ready) < PROCESSES)
		sleep_ms(1);
	atomic_store(&shared->go, 1);
}

static int by_size(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return x < y ? -1 : x > y;
}

/*
 * The machine may have other things to do, so that a single long wait says
 * little: in most rounds there must be none.
 */
static void nobody_waits_long_and_nobody_starves(void **state)
{
	long long longest[ROUNDS];
	unsigned long long total = 0;
	int unfair = 0;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned long long least = ~0ull, most = 0;
		struct writer w[PROCESSES];
		pid_t pids[PROCESSES];

		start_all(*state, PROCESSES, pids, w);
		sleep_ms(ROUND_MS);
		longest[round] = 0;
		for (int i = 0; i < PROCESSES; i++) {
			unsigned long long n = atomic_load(&shared->appends[i]);
			long long us = atomic_load(&shared->longest_us[i]);

			least = n < least ? n : least;
			most = n > most ? n : most;
			total += n;
			if (us > longest[round])
				longest[round] = us;
		}
		for (int i = 0; i < PROCESSES; i++)
			kill_child(pids[i]);
		(void)printf("# longest wait %lld us, %llu to %llu appends\n",
			     longest[round], least, most);
		unfair += most > 3 * least + 3;
	}
	qsort(longest, ROUNDS, sizeof(longest[0]), by_size);
	(void)printf("# median of the longest waits: %lld us; %llu appends/s\n",
		     longest[ROUNDS / 2], total * 1000 / (ROUNDS * ROUND_MS));
	assert_true(longest[ROUNDS / 2] < WAIT_US);
	assert_true(unfair <= ROUNDS / 2);
}

/* Each of those at work has written something since the last look. */
static void all_went_on(unsigned long long before[], int from, int to)
{
	for (int i = from; i < to; i++) {
		unsigned long long n = atomic_load(&shared->appends[i]);

		must(n > before[i]);
		before[i] = n;
	}
}

static void one_idle_one_killed_one_stopped(void **state)
{
	unsigned long long before[PROCESSES] = { 0 };
	struct writer w[PROCESSES];
	pid_t pids[PROCESSES];
	struct weft_store *s;

	/* 0 and 1 write to the end, 2 is stopped and killed, 3 is idle. */
	start_all(*state, 3, pids, w);
	sleep_ms(1000);
	all_went_on(before, 0, 3);
	for (unsigned i = 0; i < scaled(3); i++) {
		must(kill(pids[2], SIGSTOP) == 0);
		sleep_ms(500);
		must(kill(pids[2], SIGCONT) == 0);
		sleep_ms(500);
		all_went_on(before, 0, 3);
		kill_child(pids[2]);
		sleep_ms(1000);
		all_went_on(before, 0, 2);
		pids[2] = start_child(writer_main, &w[2]);
		sleep_ms(1000);
		all_went_on(before, 0, 3);
	}
	for (int i = 0; i < PROCESSES; i++)
		kill_child(pids[i]);
	s = open_place(*state, NULL, 0);
	must(is_clean(s, true));
	close_place(s);
}

/* ---- somebody is stopped with the lock in its hand ---- */

static bool is_busy_because_of(struct weft_store *s, pid_t pid)
{
	struct weft_receipt receipt;
	struct weft_error err = { 0 };
	char name[32];
	int64_t before = now_us();
	int r = try_say(s, "hot", "is anybody there?", NULL, &receipt, &err);

	if (r == WEFT_OK)
		return false;
	(void)snprintf(name, sizeof(name), "process %ld", (long)pid);
	if (r != WEFT_BUSY || !strstr(err.message, name))
		(void)fprintf(stderr, "# %s, but %s\n", name, err.message);
	must(r == WEFT_BUSY);
	must(strstr(err.message, name) != NULL);
	must(now_us() - before > 80 * 1000);
	return true;
}

static void a_busy_lock_names_its_holder(void **state)
{
	struct weft_store *s = open_place(*state, "busy_ms=100", 0);
	struct weft_receipt receipt;
	struct weft_error err;
	struct writer w[PROCESSES];
	pid_t pids[PROCESSES];
	bool seen = false;

	start_all(*state, 1, pids, w);
	for (int tries = 0; tries < 200 && !seen; tries++) {
		sleep_ms(5);
		must(kill(pids[0], SIGSTOP) == 0);
		must(waitpid(pids[0], NULL, WUNTRACED) == pids[0]);
		seen = is_busy_because_of(s, pids[0]);
		must(kill(pids[0], SIGCONT) == 0);
	}
	assert_true(seen);
	for (int i = 0; i < PROCESSES; i++)
		kill_child(pids[i]);
	/* Its end ends the waiting. */
	must(try_say(s, "hot", "at last", NULL, &receipt, &err) == WEFT_OK);
	close_place(s);
}

static int setup(void **state)
{
	shared = place_share(state, "hot", sizeof(*shared));
	return 0;
}

static int teardown(void **state)
{
	return place_unshare(state, shared, sizeof(*shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_long_and_nobody_starves),
		cmocka_unit_test(one_idle_one_killed_one_stopped),
		cmocka_unit_test(a_busy_lock_names_its_holder),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

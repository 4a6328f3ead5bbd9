/*
 * watch.c - one process hears of what another has written, at once; and while
 * nothing is written, nothing is done: not one system call.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "crash/place.h"

#define WAKES     200
#define TRIES     10
#define QUIET_MS  2000
#define SETTLE_MS 2500 /* the checkpoint of an idle process, and some */

struct shared {
	atomic_llong woken_us; /* when the last wait was over */
	atomic_ullong head;    /* what it said */
	atomic_int ready;
};

static struct shared *shared;

/* ---- hearing of others ---- */

static void watcher_main(void *ctx)
{
	struct weft_store *s = open_place(ctx, NULL, 0);
	uint64_t head = 1;

	for (;;) {
		struct weft_error err = { 0 };

		atomic_store(&shared->ready, 1);
		must(weft_wait(s, "w", 1, head, -1, &head, &err) == WEFT_OK);
		atomic_store(&shared->woken_us, now_us());
		atomic_store(&shared->head, head);
	}
}

static int by_size(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return x < y ? -1 : x > y;
}

/* How long the watcher takes to hear of a line, half of the times. */
static long long usual_wait(struct weft_store *s)
{
	const unsigned n = WAKES;
	long long waits[WAKES];

	for (unsigned i = 0; i < n; i++) {
		int64_t told;
		uint64_t seq;

		sleep_ms(2);
		seq = say_to(s, "w", "wake up");
		told = now_us();
		while (atomic_load(&shared->head) < seq)
			must(now_us() - told < 5000000);
		/* Before the writer itself was told is soon enough. */
		waits[i] = atomic_load(&shared->woken_us) - told;
		if (waits[i] < 0)
			waits[i] = 0;
	}
	qsort(waits, n, sizeof(waits[0]), by_size);
	(void)printf("# wake-up: p50 %lld us, p90 %lld us, longest %lld us\n",
		     waits[n / 2], waits[n * 9 / 10], waits[n - 1]);
	return waits[n / 2];
}

/* On a machine that has other things to do it may take several tries; who asks
 * for news every so often is not that quick in any. */
static void a_watcher_is_woken_within_a_millisecond(void **state)
{
	pid_t pid = start_child(watcher_main, *state);
	struct weft_store *s = open_place(*state, NULL, 0);
	long long usual;
	int tries = 0;

	while (!atomic_load(&shared->ready))
		sleep_ms(1);
	do
		usual = usual_wait(s);
	while (usual >= 1000 && ++tries < TRIES);
	kill_child(pid);
	close_place(s);
	assert_true(usual < 1000);
}

/* ---- doing nothing ---- */

/* How often the threads of a process went to sleep or were sent to. */
static unsigned long long count_switches(pid_t pid)
{
	unsigned long long sum = 0;
	char path[512];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
	dir = opendir(path);
	must(dir != NULL);
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		char name[512], line[256];
		unsigned long long n;
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name),
			       "/proc/%ld/task/%.32s/status", (long)pid,
			       e->d_name);
		f = fopen(name, "r");
		must(f != NULL);
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) ==
			    1)
				sum += n;
		}
		(void)fclose(f);
	}
	(void)closedir(dir);
	return sum;
}

static pid_t start_strace(pid_t pid, const char *log)
{
	char number[16];
	pid_t tracer = fork();

	must(tracer >= 0);
	if (tracer > 0)
		return tracer;
	(void)snprintf(number, sizeof(number), "%ld", (long)pid);
	(void)execlp("strace", "strace", "-f", "-ttt", "-qq", "-o", log, "-p",
		     number, (char *)NULL);
	_exit(127);
}

/* Lines of the log from after `from`, the time of day. */
static size_t count_calls(const char *log, double from)
{
	FILE *f = fopen(log, "r");
	char line[1024];
	size_t n = 0;

	must(f != NULL);
	while (fgets(line, sizeof(line), f)) {
		double at = 0;

		/* What it was in the middle of ends when strace leaves. */
		if (sscanf(line, "%*d %lf", &at) != 1 || at < from ||
		    strstr(line, "<detached ...>") || strstr(line, " resumed>"))
			continue;
		(void)fprintf(stderr, "# %s", line);
		n++;
	}
	(void)fclose(f);
	return n;
}

static double time_of_day(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_REALTIME, &t) == 0);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void assert_quiet(const struct place *p, pid_t pid)
{
	unsigned long long before, after;
	char log[512];
	double from;
	pid_t tracer;

	before = count_switches(pid);
	sleep_ms(QUIET_MS);
	after = count_switches(pid);
	(void)printf("# %llu wake-ups in %d ms\n", after - before, QUIET_MS);
	assert_int_equal(after - before, 0);

	join_path(log, p->root, "calls");
	tracer = start_strace(pid, log);
	sleep_ms(500);
	from = time_of_day();
	sleep_ms(QUIET_MS);
	(void)kill(tracer, SIGINT);
	must(waitpid(tracer, NULL, 0) == tracer);
	/* It was there, and saw what each thread sleeps in. */
	assert_true(access(log, R_OK) == 0);
	assert_int_equal(count_calls(log, from), 0);
}

static void a_watcher_does_nothing_while_nothing_happens(void **state)
{
	pid_t pid;

	atomic_store(&shared->ready, 0);
	pid = start_child(watcher_main, *state);
	while (!atomic_load(&shared->ready))
		sleep_ms(1);
	sleep_ms(SETTLE_MS);
	assert_quiet(*state, pid);
	kill_child(pid);
}

static void idle_main(void *ctx)
{
	struct weft_store *s = open_place(ctx, NULL, 0);

	(void)say_to(s, "w", "and now nothing");
	atomic_store(&shared->ready, 1);
	for (;;)
		(void)pause();
}

static void an_idle_writer_does_nothing(void **state)
{
	pid_t pid;

	atomic_store(&shared->ready, 0);
	pid = start_child(idle_main, *state);
	while (!atomic_load(&shared->ready))
		sleep_ms(1);
	sleep_ms(SETTLE_MS);
	assert_quiet(*state, pid);
	kill_child(pid);
}

static int setup(void **state)
{
	shared = place_share(state, "w", sizeof(*shared));
	return 0;
}

static int teardown(void **state)
{
	return place_unshare(state, shared, sizeof(*shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_watcher_is_woken_within_a_millisecond),
		cmocka_unit_test(a_watcher_does_nothing_while_nothing_happens),
		cmocka_unit_test(an_idle_writer_does_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

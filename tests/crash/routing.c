/*
 * routing.c [SCHEME] - four processes of 64 threads each route the same new
 * messages at once: each session is made once, and everybody finds it.  Every
 * other one goes on from a session that has only an older name.  Then all of
 * them want to do maintenance: one does.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "crash/place.h"

#define PROCESSES 4
#define THREADS   64
#define ROUTES    12
#define SWEEPERS  8 /* threads of each process */
#define DAYS      4
#define SWEPT     30
#define KEPT      3

#define DAY_MS INT64_C(86400000)

/* In memory that all share. */
struct shared {
	pthread_barrier_t together;
	atomic_uint created[ROUTES];
	atomic_uint errors;
	char found[PROCESSES][THREADS][ROUTES][WEFT_ID_CHARS + 2];
	pthread_barrier_t sweep;
	atomic_uint ran[DAYS], removed[DAYS];
	int64_t begin_ms;
};

static struct shared *shared;

struct thread {
	pthread_t id;
	struct weft_store *store;
	int process, no;
};

static void route_one(const struct thread *t, int i)
{
	struct weft_route_options o;
	struct weft_routed r = { 0 };
	struct weft_error err;
	char chat[16];
	int len = snprintf(chat, sizeof(chat), "chat-%d", i);

	weft_route_options_init(&o, sizeof(o));
	o.channel = (struct weft_str){ "telegram", 8 };
	o.chat_id = (struct weft_str){ chat, (size_t)len };
	if (weft_route(t->store, &o, &r, &err) != WEFT_OK) {
		(void)fprintf(stderr, "# %s\n", err.message);
		(void)atomic_fetch_add(&shared->errors, 1);
	}
	(void)atomic_fetch_add(&shared->created[i], r.created);
	memcpy(shared->found[t->process][t->no][i], r.session,
	       sizeof(r.session));
}

static void *thread_main(void *ctx)
{
	for (int i = 0; i < ROUTES; i++) {
		(void)pthread_barrier_wait(&shared->together);
		route_one(ctx, i);
	}
	return NULL;
}

struct child {
	const struct place *place;
	int no;
};

static void child_main(void *ctx)
{
	static struct thread threads[THREADS];
	const struct child *c = ctx;
	struct weft_store *s = open_place(c->place, NULL, 0);

	for (int i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .store = s,
					      .process = c->no,
					      .no = i };
		must(pthread_create(&threads[i].id, NULL, thread_main,
				    &threads[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		must(pthread_join(threads[i].id, NULL) == 0);
	close_place(s);
}

static void make_shared(void)
{
	pthread_barrierattr_t across;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED);
	must(pthread_barrierattr_init(&across) == 0);
	must(pthread_barrierattr_setpshared(&across, PTHREAD_PROCESS_SHARED) ==
	     0);
	must(pthread_barrier_init(&shared->together, &across,
				  PROCESSES * THREADS) == 0);
	must(pthread_barrier_init(&shared->sweep, &across,
				  PROCESSES * SWEEPERS) == 0);
	(void)pthread_barrierattr_destroy(&across);
}

/* Conversations from before routing knew them. */
static void make_older(const struct place *p)
{
	struct weft_store *s = open_place(p, NULL, 0);

	for (int i = 0; i < ROUTES; i += 2) {
		free(ask(s,
			 "{'method':'new','key':"
			 "'agent:main:telegram:unknown:chat-%d'}",
			 i));
		free(ask(s,
			 "{'method':'append','session':"
			 "'agent:main:telegram:unknown:chat-%d','message':"
			 "{'role':'user','content':'long ago'}}",
			 i));
	}
	close_place(s);
}

/* Every session has its history, and both its names. */
static void check_older(struct weft_store *s)
{
	for (int i = 0; i < ROUTES; i++) {
		char *shown = ask(s,
				  "{'method':'show','session':"
				  "'agent:main:telegram:unknown:chat-%d'}",
				  i);

		assert_non_null(strstr(shown, shared->found[0][0][i]));
		assert_non_null(strstr(shown, i % 2 ? "\"inherited_count\":0" :
						      "\"inherited_count\":1"));
		free(shown);
	}
}

static void each_session_is_made_once(void **state)
{
	struct child children[PROCESSES];
	pid_t pids[PROCESSES];
	struct weft_store *s;

	make_older(*state);
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = (struct child){ *state, i };
		pids[i] = start_child(child_main, &children[i]);
	}
	for (int i = 0; i < PROCESSES; i++)
		join_child(pids[i]);
	assert_int_equal(atomic_load(&shared->errors), 0);
	for (int i = 0; i < ROUTES; i++) {
		assert_int_equal(atomic_load(&shared->created[i]), 1);
		assert_int_equal(strlen(shared->found[0][0][i]), WEFT_ID_CHARS);
		for (int p = 0; p < PROCESSES; p++) {
			for (int t = 0; t < THREADS; t++)
				assert_string_equal(shared->found[p][t][i],
						    shared->found[0][0][i]);
		}
	}
	s = open_place(*state, NULL, 0);
	check_older(s);
	assert_true(is_clean(s, true));
	close_place(s);
}

/* ---- maintenance ---- */

/* In the middle between two runs, however late it is. */
static void configure(struct weft_store *s)
{
	time_t now = (time_t)(shared->begin_ms / 1000);
	struct weft_error err;
	struct tm tm;
	char text[200];

	must(localtime_r(&now, &tm) != NULL);
	(void)snprintf(text, sizeof(text),
		       "{\"retention\":{\"rules\":[{\"agent\":\"sweep\","
		       "\"max_sessions\":%d}]},\"lifecycle\":{"
		       "\"maintenance_hour\":%d}}",
		       KEPT, (tm.tm_hour + 12) % 24);
	must(weft_configure(s, text, strlen(text), &err) == WEFT_OK);
}

static void *sweeper_main(void *ctx)
{
	const struct thread *t = ctx;

	for (int i = 0; i < DAYS; i++) {
		struct weft_maintenance m = { 0 };
		struct weft_error err;

		(void)pthread_barrier_wait(&shared->sweep);
		if (weft_maintain(t->store, shared->begin_ms + i * DAY_MS, &m,
				  &err) != WEFT_OK) {
			(void)fprintf(stderr, "# %s\n", err.message);
			(void)atomic_fetch_add(&shared->errors, 1);
		}
		(void)atomic_fetch_add(&shared->ran[i], m.ran);
		(void)atomic_fetch_add(&shared->removed[i],
				       (unsigned)m.removed);
	}
	return NULL;
}

static void sweeping_child(void *ctx)
{
	static struct thread threads[SWEEPERS];
	const struct child *c = ctx;
	struct weft_store *s = open_place(c->place, NULL, 0);

	configure(s);
	for (int i = 0; i < SWEEPERS; i++) {
		threads[i] = (struct thread){ .store = s, .no = i };
		must(pthread_create(&threads[i].id, NULL, sweeper_main,
				    &threads[i]) == 0);
	}
	for (int i = 0; i < SWEEPERS; i++)
		must(pthread_join(threads[i].id, NULL) == 0);
	close_place(s);
}

static void make_swept(const struct place *p)
{
	struct weft_store *s = open_place(p, NULL, 0);

	shared->begin_ms = (int64_t)time(NULL) * 1000;
	for (int i = 0; i < SWEPT; i++)
		free(ask(s,
			 "{'method':'new','key':'swept-%d','agent':"
			 "'sweep'}",
			 i));
	close_place(s);
}

static void one_of_all_processes_does_maintenance(void **state)
{
	struct child children[PROCESSES];
	pid_t pids[PROCESSES];
	struct weft_store *s;

	make_swept(*state);
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = (struct child){ *state, i };
		pids[i] = start_child(sweeping_child, &children[i]);
	}
	for (int i = 0; i < PROCESSES; i++)
		join_child(pids[i]);
	assert_int_equal(atomic_load(&shared->errors), 0);
	for (int i = 0; i < DAYS; i++) {
		assert_int_equal(atomic_load(&shared->ran[i]), 1);
		assert_int_equal(atomic_load(&shared->removed[i]),
				 i ? 0 : SWEPT - KEPT);
	}
	s = open_place(*state, NULL, 0);
	assert_true(is_clean(s, true));
	close_place(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_session_is_made_once),
		cmocka_unit_test(one_of_all_processes_does_maintenance),
	};

	if (argc > 1)
		place_scheme = argv[1];
	make_shared();
	return cmocka_run_group_tests(tests, place_setup, place_teardown);
}

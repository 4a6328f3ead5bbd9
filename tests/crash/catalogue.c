/* catalogue.c - scenarios of several processes at one catalogue. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/id.h"
#include "crash/scenarios.h"

#define SESSIONS 10

/* ---- two begin at once ---- */

/* B opens the store before a certain call of A's. */
struct interruption {
	struct lab *l;
	unsigned at; /* before which change or lock */
	bool done, inside;
	unsigned naps;
	uint64_t ino; /* of the catalogue, then */
};

static uint64_t catalogue_of(struct fs *fs)
{
	struct file_stat st;

	return fs_stat(fs, LAB_DIR "/catalog.db", &st) == 0 ? st.ino : 0;
}

static void open_the_other(void *ctx, struct simdisk *d, unsigned calls,
			   uint64_t n)
{
	struct interruption *i = ctx;
	struct lab *l = i->l;

	(void)d;
	(void)n;
	/* It cannot wait for A in the middle of a call of A's. */
	if (i->inside && calls & SIM_SLEEP && ++i->naps == 100)
		simdisk_kill(l->fs[B]);
	if (!(calls & (SIM_MUTATING | SIM_LOCK)) || i->done || i->at-- > 0)
		return;
	i->done = i->inside = true;
	i->ino = catalogue_of(l->fs[A]);
	if (lab_open(l, B) < 0)
		assert_true(l->f.err.code == WEFT_BUSY ||
			    simdisk_is_dead(l->fs[B]));
	i->inside = false;
}

/* A makes a store, and before one of its calls B opens it; false if A does not
 * make so many. */
static bool begin_both(struct lab *l, unsigned at)
{
	struct interruption i = { .l = l, .at = at };

	(void)snprintf(l->where, sizeof(l->where),
		       "opened before call %u: ", at);
	l->limits.busy_ms = 1;
	/* Nobody else moves while one sleeps. */
	simdisk_fail_at(l->disk, SIM_SLEEP, 1, -EINTR, true);
	simdisk_on_call(l->disk, open_the_other, &i);
	lab_ok(l, lab_open(l, A));
	simdisk_on_call(l->disk, NULL, NULL);
	/* Nobody takes it away from the other. */
	if (l->store[B] && i.ino)
		assert_int_equal(catalogue_of(l->fs[A]), i.ino);
	if (!l->store[B])
		lab_ok(l, lab_open(l, B));
	return i.done;
}

/* Many in one write, so that the catalogue has more than a page to change. */
static void begin_sessions(struct lab *l, unsigned process, const char *prefix)
{
	char key[24];

	lab_start(l, process);
	for (int i = 0; i < SESSIONS; i++) {
		(void)snprintf(key, sizeof(key), "%s-%d", prefix, i);
		(void)lab_create(l, key);
	}
	lab_ok(l, lab_commit(l));
}

/* What a process shows is right, whatever another is about. */
static void look(struct lab *l, unsigned process)
{
	const char *p = check_store(l, l->store[process], lab_now(l), NULL);

	if (p[0] && !(check_met_error() && l->f.err.code == WEFT_BUSY))
		must_be_fine(l, p);
}

/* Looked at by `who` at every call of somebody else's. */
struct onlooker {
	struct lab *l;
	unsigned who;
	bool inside;
};

static void look_all_the_time(void *ctx, struct simdisk *d, unsigned calls,
			      uint64_t n)
{
	struct onlooker *o = ctx;

	(void)d;
	(void)n;
	if (!(calls & (SIM_MUTATING | SIM_LOCK)) || o->inside)
		return;
	o->inside = true;
	look(o->l, o->who);
	o->inside = false;
}

static void expect_whole(struct lab *l)
{
	struct simdisk *d = simdisk_clone(l->disk);

	must_be_fine(l, check_disk(l, d, lab_now(l), true));
	simdisk_free(d);
}

/* B opens a new store while A does: both go on with the same catalogue. */
static void who_begins_a_store_at_once_shares_its_catalogue(void **state)
{
	bool met = true;

	(void)state;
	for (unsigned at = 0; met; at++) {
		struct lab *l = lab_new();
		struct onlooker a = { l, A, false };

		met = begin_both(l, at);
		begin_sessions(l, B, "one");
		if (at % 8 == 0)
			simdisk_on_call(l->disk, look_all_the_time, &a);
		lab_ok(l, lab_task(l, B, TASK_CHECKPOINT));
		simdisk_on_call(l->disk, NULL, NULL);
		look(l, A);
		begin_sessions(l, A, "two");
		lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
		look(l, B);
		if (at % 8 == 0)
			expect_whole(l);
		lab_free(l);
	}
}

/* ---- one dies, two look ---- */

/* A dies before its n-th change of a checkpoint; false if it has not so many.
 * B and C look at the same time: one of them mends what was left. */
static bool die_in_checkpoint(uint64_t n)
{
	struct lab *l = lab_new();
	struct onlooker c = { l, C, false };
	bool died;

	(void)snprintf(l->where, sizeof(l->where),
		       "dead before change %llu: ", (unsigned long long)n);
	simdisk_fail_at(l->disk, SIM_SLEEP, 1, -EINTR, true);
	for (unsigned i = A; i <= C; i++)
		lab_ok(l, lab_open(l, i));
	begin_sessions(l, A, "one");
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	begin_sessions(l, A, "two");
	look(l, B);
	look(l, C);
	simdisk_kill_at(l->fs[A], n);
	(void)lab_task(l, A, TASK_CHECKPOINT);
	died = simdisk_is_dead(l->fs[A]);
	simdisk_kill_at(l->fs[A], 0);
	simdisk_on_call(l->disk, look_all_the_time, &c);
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	simdisk_on_call(l->disk, NULL, NULL);
	must_be_fine(l, check_store(l, l->store[C], lab_now(l), NULL));
	(void)lab_close(l, A);
	lab_ok(l, lab_task(l, C, TASK_CHECKPOINT));
	must_be_fine(l, check_store(l, l->store[B], lab_now(l), NULL));
	expect_whole(l);
	lab_free(l);
	return died;
}

static void two_who_look_after_a_death_see_the_same(void **state)
{
	uint64_t n = 1;

	(void)state;
	while (die_in_checkpoint(n))
		n++;
	print_message("# died before %llu changes\n",
		      (unsigned long long)(n - 1));
	assert_true(n > 20);
}

/* ---- a list takes two looks ---- */

/*
 * A list looks at what is in memory and then at the catalogue.  Something of the
 * same process comes between the two: the list stops where it first asks for a
 * lock, which is that of the catalogue's file.
 */
enum { IN_CATALOGUE, IN_BOTH, IN_MEMORY, PLACES };

static void one_of_each_place(struct lab *l, struct weft_id s[PLACES])
{
	lab_ok(l, lab_open(l, A));
	lab_start(l, A);
	s[IN_CATALOGUE] = lab_create(l, NULL);
	s[IN_BOTH] = lab_create(l, NULL);
	lab_ok(l, lab_commit(l));
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	lab_start(l, A);
	s[IN_MEMORY] = lab_create(l, NULL);
	lab_say(l, &s[IN_BOTH], 100);
	lab_ok(l, lab_commit(l));
}

static int list_all(struct lab *l, struct arena *a, struct session_page *page,
		    struct weft_error *err)
{
	const struct list_query q = { .sort = LIST_BY_INTERACTION };

	return l->store[A]->ops->list(l->store[A], &q, a, page, err);
}

static void is_each_there_once(const struct session_page *page,
			       const struct weft_id s[PLACES])
{
	for (int i = 0; i < PLACES; i++) {
		unsigned n = 0;

		for (size_t k = 0; k < page->n; k++)
			n += id_eq(&page->v[k].id, &s[i]);
		assert_int_equal(n, 1);
	}
	assert_int_equal(page->n, PLACES);
}

struct writing {
	struct lab *l;
	const struct weft_id *session;
	bool done;
};

static void write_between(void *ctx, struct simdisk *d, unsigned calls,
			  uint64_t n)
{
	struct writing *w = ctx;

	(void)d;
	(void)n;
	if (!(calls & SIM_LOCK) || w->done)
		return;
	w->done = true;
	lab_ok(w->l, lab_say_one(w->l, A, w->session, 100));
}

static void a_list_that_meets_a_write_shows_all(void **state)
{
	(void)state;
	for (int i = 0; i < PLACES; i++) {
		struct lab *l = lab_new();
		struct weft_id s[PLACES];
		struct writing w = { .l = l, .session = &s[i] };
		CLEANUP(arena_done) struct arena a;
		struct session_page page;

		arena_init(&a, 0);
		one_of_each_place(l, s);
		simdisk_on_call(l->disk, write_between, &w);
		lab_ok(l, list_all(l, &a, &page, &l->f.err));
		simdisk_on_call(l->disk, NULL, NULL);
		assert_true(w.done);
		is_each_there_once(&page, s);
		lab_free(l);
	}
}

/*
 * A checkpoint waits for lists before it looks whether the catalogue is still the
 * same file, so that here it is the checkpoint that is under way first: before
 * one of its calls the list begins, in a thread of its own, has its first look,
 * and has the second when the checkpoint is over.  Where one of them has to wait
 * for the other they do not meet, and go on after a moment.
 */
#define MOMENT_MS 50

struct meeting {
	struct lab *l;
	unsigned at; /* before which change or lock of the checkpoint */
	bool begun, looked, over, met;
	pthread_t lister;
	pthread_mutex_t mutex; /* protects what is above */
	pthread_cond_t changed;
	struct arena arena; /* the lister's, as are the next three */
	struct session_page page;
	struct weft_error err;
	int code;
};

static _Thread_local bool is_lister;

/* Wait until *flag, or a moment. */
static bool wait_for(struct meeting *m, const bool *flag)
{
	struct timespec end;
	int r = 0;

	(void)clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += MOMENT_MS * 1000000L;
	if (end.tv_nsec >= 1000000000L) {
		end.tv_nsec -= 1000000000L;
		end.tv_sec++;
	}
	while (!*flag && r == 0)
		r = pthread_cond_timedwait(&m->changed, &m->mutex, &end);
	return *flag;
}

static void *list_alone(void *ctx)
{
	struct meeting *m = ctx;

	is_lister = true;
	m->code = list_all(m->l, &m->arena, &m->page, &m->err);
	return NULL;
}

static void meet(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	struct meeting *m = ctx;

	(void)d;
	(void)n;
	if (!(calls & (SIM_MUTATING | SIM_LOCK)))
		return;
	(void)pthread_mutex_lock(&m->mutex);
	if (is_lister && !m->looked) {
		bool early = !m->over;

		m->looked = true;
		(void)pthread_cond_broadcast(&m->changed);
		m->met = wait_for(m, &m->over) && early;
	} else if (!is_lister && !m->begun && m->at-- == 0) {
		m->begun = true;
		assert_int_equal(
			pthread_create(&m->lister, NULL, list_alone, m), 0);
		(void)wait_for(m, &m->looked);
	}
	(void)pthread_mutex_unlock(&m->mutex);
}

/* False if the checkpoint does not make so many calls. */
static bool list_during_checkpoint(unsigned at, unsigned *met)
{
	struct lab *l = lab_new();
	struct meeting m = { .l = l,
			     .at = at,
			     .mutex = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };
	struct weft_id s[PLACES];

	(void)snprintf(l->where, sizeof(l->where),
		       "listed before call %u: ", at);
	arena_init(&m.arena, 0);
	one_of_each_place(l, s);
	simdisk_on_call(l->disk, meet, &m);
	lab_ok(l, lab_task(l, A, TASK_CHECKPOINT));
	(void)pthread_mutex_lock(&m.mutex);
	m.over = true;
	(void)pthread_cond_broadcast(&m.changed);
	(void)pthread_mutex_unlock(&m.mutex);
	if (m.begun) {
		assert_int_equal(pthread_join(m.lister, NULL), 0);
		assert_int_equal(m.code, WEFT_OK);
		is_each_there_once(&m.page, s);
	}
	simdisk_on_call(l->disk, NULL, NULL);
	*met += m.met;
	arena_done(&m.arena);
	lab_free(l);
	return m.begun;
}

static void a_list_that_meets_a_checkpoint_shows_each_once(void **state)
{
	unsigned at = 0, met = 0;

	(void)state;
	while (list_during_checkpoint(at, &met))
		at++;
	print_message("# met %u of %u times\n", met, at);
	assert_true(met > 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(who_begins_a_store_at_once_shares_its_catalogue),
	cmocka_unit_test(two_who_look_after_a_death_see_the_same),
	cmocka_unit_test(a_list_that_meets_a_write_shows_all),
	cmocka_unit_test(a_list_that_meets_a_checkpoint_shows_each_once),
};

const struct suite catalogue_scenarios = { tests, ARRAY_LEN(tests) };

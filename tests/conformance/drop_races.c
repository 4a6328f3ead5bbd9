/*
 * drop_races.c - somebody forks what another is about to take away.
 *
 * Both look before they write: one that nobody needs it, the other that it is
 * there.  Whoever has decided first is waited for, and the other one decides by
 * what it left: a fork has all that it inherits, or is refused.
 *
 * It takes two handles on one store, so that a store that is gone when it is
 * closed has nothing to show here.
 */
#include <stdio.h>
#include <time.h>

#include "conformance/stops.h"

/* A session of which "one two three" are before the window, and two handles. */
struct race {
	struct desk *d;
	struct weft_store *other;
	struct act drop, fork;
};

static void request(struct act *a, const char *method, const char *session,
		    const char *members)
{
	(void)snprintf(a->request, sizeof(a->request),
		       "{\"method\":\"%s\",\"session\":\"%s\"%s}", method,
		       session, members);
}

static void race_begin(struct race *r, struct desk *d)
{
	*r = (struct race){ .d = d };
	(void)desk_say(d, d->id, "one");
	(void)desk_say(d, d->id, "two");
	(void)desk_say(d, d->id, "three");
	(void)desk_say(d, d->id, "four");
	(void)desk_call(d,
			"{\"method\":\"compact\",\"session\":\"%s\",\"keep\":1,"
			"\"summary\":\"it began\"}",
			d->id);
	desk_ok(d, desk_open_again(d, "busy_ms=60000", 0, &r->other));
}

static void race_end(struct race *r)
{
	struct desk *d = r->d;
	const char *report = desk_call(d, "{\"method\":\"verify\"}");

	assert_non_null(strstr(report, "\"ok\":true"));
	desk_ok(d, weft_close(r->other, &d->err));
	if (strncmp(d->url, "jsonl:", 6) != 0)
		assert_non_null(strstr(desk_call(d, "{\"method\":\"reindex\"}"),
				       "\"changed\":0"));
}

/* The first one sleeps when it has decided, and the second one comes: has it
 * waited for the first? */
static bool run_in_turn(struct act *first, enum place place, struct act *second)
{
	const struct timespec a_while = { .tv_nsec = 50000000 };
	bool slept, waited;

	stop_writes_of(first->store);
	stop_at(place);
	act_begin(first, act_call);
	slept = stop_until_asleep(first);
	act_begin(second, act_call);
	(void)nanosleep(&a_while, NULL);
	waited = !second->done;
	stop_at(NOWHERE);
	act_end(first);
	act_end(second);
	stop_no_more();
	if (!slept)
		print_error("%s: %s\n", first->request, first->err.message);
	assert_true(slept);
	return waited;
}

static const char *id_of(struct race *r, const struct act *made)
{
	const char *id = strstr(made->answer, "\"id\":\"");

	assert_non_null(id);
	return arena_str(&r->d->arena,
			 (struct weft_str){ id + 6, WEFT_ID_CHARS })
		.ptr;
}

static void must_be_ok(const struct act *a)
{
	if (a->result != WEFT_OK)
		print_error("%s: %s\n", a->request, a->err.message);
	assert_int_equal(a->result, WEFT_OK);
}

/* The fork has decided when the other one comes. */
static void fork_first(struct desk *d, const char *how, const char *seen)
{
	struct race r;
	const char *id;

	race_begin(&r, d);
	r.fork.store = d->store;
	request(&r.fork, "fork", d->id, ",\"at\":3");
	r.drop.store = r.other;
	request(&r.drop, how, d->id, "");
	assert_true(run_in_turn(&r.fork, AFTER_THE_PLAN, &r.drop));
	must_be_ok(&r.fork);
	must_be_ok(&r.drop);
	id = id_of(&r, &r.fork);
	assert_string_equal(desk_texts(d, id), "one two");
	if (seen)
		assert_string_equal(desk_texts(d, d->id), seen);
	/* Again: it finds the same fork. */
	(void)desk_say(d, id, "on");
	if (seen)
		(void)desk_call(d,
				"{\"method\":\"reclaim\",\"session\":\"%s\"}",
				d->id);
	assert_string_equal(desk_texts(d, id), "one two on");
	race_end(&r);
}

/* What is to go is decided when the fork comes. */
static void reclaim_first(struct desk *d)
{
	struct race r;

	race_begin(&r, d);
	r.drop.store = d->store;
	request(&r.drop, "reclaim", d->id, "");
	r.fork.store = r.other;
	request(&r.fork, "fork", d->id, ",\"at\":3");
	assert_true(run_in_turn(&r.drop, AFTER_A_DROP, &r.fork));
	must_be_ok(&r.drop);
	assert_int_equal(r.fork.result, WEFT_NOT_FOUND);
	assert_string_equal(r.fork.err.message, "event 3 is gone for good");
	assert_string_equal(desk_texts(d, d->id), "four");
	(void)desk_fork(d, d->id);
	race_end(&r);
}

/* A purge is said before anything is taken away.  Whoever forks meanwhile has
 * all of it, or nothing; who comes later has nothing. */
static void purge_first(struct desk *d, enum place place)
{
	struct race r;

	race_begin(&r, d);
	r.drop.store = d->store;
	request(&r.drop, "purge", d->id, "");
	r.fork.store = r.other;
	request(&r.fork, "fork", d->id, ",\"at\":3");
	(void)run_in_turn(&r.drop, place, &r.fork);
	must_be_ok(&r.drop);
	if (place == AFTER_THE_PLAN && r.fork.result == WEFT_OK)
		assert_string_equal(desk_texts(d, id_of(&r, &r.fork)),
				    "one two");
	else
		assert_int_equal(r.fork.result, WEFT_NOT_FOUND);
	assert_int_equal(desk_try_call(d,
				       "{\"method\":\"show\",\"session\":"
				       "\"%s\"}",
				       d->id),
			 WEFT_NOT_FOUND);
	race_end(&r);
}

static void a_reclaim_keeps_what_a_fork_has_decided_on(void **state)
{
	struct desk *d = *state;

	if (is_place(d->url))
		fork_first(d, "reclaim", "one two four");
}

static void a_fork_of_what_is_being_reclaimed_is_refused(void **state)
{
	struct desk *d = *state;

	if (is_place(d->url))
		reclaim_first(d);
}

static void a_purge_keeps_what_a_fork_has_decided_on(void **state)
{
	struct desk *d = *state;

	if (is_place(d->url))
		fork_first(d, "purge", NULL);
}

static void a_fork_of_what_is_being_purged_is_refused(void **state)
{
	struct desk *d = *state;

	if (is_place(d->url))
		purge_first(d, AFTER_A_DROP);
}

static void a_fork_of_what_is_said_to_be_purged_has_all_or_nothing(void **state)
{
	struct desk *d = *state;

	if (is_place(d->url))
		purge_first(d, AFTER_THE_PLAN);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_reclaim_keeps_what_a_fork_has_decided_on),
	PUBLIC_TEST(a_fork_of_what_is_being_reclaimed_is_refused),
	PUBLIC_TEST(a_purge_keeps_what_a_fork_has_decided_on),
	PUBLIC_TEST(a_fork_of_what_is_being_purged_is_refused),
	PUBLIC_TEST(a_fork_of_what_is_said_to_be_purged_has_all_or_nothing),
};

const struct suite drop_race_suite = { tests, ARRAY_LEN(tests) };

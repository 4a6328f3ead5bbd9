/*
 * maintain.c - what is to be done once a day: let idle sessions go, put into
 * the trash what the rules of retention say, and purge what has been there long
 * enough.
 *
 * DESIGN: one runner among all threads, processes and machines: whoever holds
 * the lease on the book of maintenance.  The book also remembers when it last
 * ran.  Sessions are listed page by page, the latest first, so that memory does
 * not grow with the store, and purged in rounds.  What is listed may be in use again by the time it
 * is removed: the planner looks once more, under the lock (plan_names.c).
 */
#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "engine/internal.h"
#include "route/lifecycle.h"
#include "route/retention.h"

#define BOOK_KEY "book:maintenance"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

/* Nothing happens in a store for longer than this: the clock is wrong. */
#define LEAP_MS (366 * DAY_MS)

#define LEASE_MS   (INT64_C(10) * 60 * 1000)
#define PAGE       256u
#define PAGE_BYTES MIB(64)

/* So many are purged at once, for each time costs the store something; and
 * after so long the rest is left for the next day. */
#define ROUND         1000u
#define PURGE_TIME_US (INT64_C(60) * 60 * 1000000)

/* One run. */
struct run {
	struct engine *e;
	const struct maintain_ask *ask;
	struct maintain_report *report;
	struct arena *arena; /* of the report */
	struct upkeep upkeep;
	struct retention retention;
	int64_t now_ms;
	struct session_rec book; /* id zero: there is none yet */
	struct weft_id *doomed;  /* to be purged in this round */
	uint64_t *doomed_bytes;
	size_t n_doomed;
	int64_t began_us;
	uint64_t token; /* of our lease */
	int64_t renewed_at;
};

/* ---- the book ---- */

/* The book as it is now, and when it says that maintenance last ran. */
static int read_book(struct run *t, struct weft_error *err)
{
	const struct weft_str key = STR(BOOK_KEY);
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct store *s = t->e->store;
	struct name_rec name;
	yyjson_val *v;
	int r = s->ops->get_names(s, &key, 1, t->arena, &name, err);

	t->book = (struct session_rec){ .kind = 0 };
	t->report->last_run_at = 0;
	if (r < 0 || id_is_zero(&name.session))
		return r;
	r = engine_session(t->e, &name.session, t->arena, &t->book, err);
	if (r < 0 || !t->book.metadata.len)
		return r;
	/* What somebody has written there instead is no time. */
	if (json_parse(t->book.metadata, NULL, &doc, NULL) != WEFT_OK)
		return WEFT_OK;
	v = yyjson_obj_get(yyjson_doc_get_root(doc), "last_run");
	if (yyjson_is_str(v))
		(void)time_parse_rfc3339(json_str(v), &t->report->last_run_at);
	return WEFT_OK;
}

static int make_book(struct run *t, struct weft_error *err)
{
	struct request *q = request_new(REQUEST_CREATE, err);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	q->create.kind = KIND_BOOK;
	q->create.key = STR(BOOK_KEY);
	r = engine_run(t->e, q, err);
	t->book.id = q->ret_session;
	request_free(q);
	return r;
}

static int ask_lease(struct run *t, uint32_t how, struct weft_error *err)
{
	struct request *q = request_new(REQUEST_LEASE, err);
	const struct store_limits *limits = engine_limits(t->e);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	q->session = t->book.id;
	q->lease.how = how;
	q->lease.owner = STR("maintenance");
	q->token = t->token;
	q->lease_ms = (int64_t)u64_max(
		u64_min((uint64_t)LEASE_MS, limits->lease_ms_max),
		limits->lease_ms_min);
	r = engine_run(t->e, q, err);
	if (r == WEFT_OK) {
		t->token = q->ret_lease.token;
		t->renewed_at = engine_now_ms(t->e);
	}
	request_free(q);
	return r;
}

/* Keep what we hold, well before it runs out. */
static int keep_lease(struct run *t, struct weft_error *err)
{
	int64_t passed = engine_now_ms(t->e) - t->renewed_at;

	if (!t->token || (passed >= 0 && passed < LEASE_MS / 4))
		return WEFT_OK;
	return ask_lease(t, LEASE_RENEW, err);
}

static int write_book(struct run *t, struct weft_error *err)
{
	const struct maintain_report *p = t->report;
	struct request *q = request_new(REQUEST_PATCH, err);
	char now[TIME_CHARS + 1];
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	time_format(t->now_ms, now);
	q->session = t->book.id;
	q->patch = arena_printf(
		&q->arena,
		"{\"metadata\":{\"last_run\":\"%s\",\"looked\":%llu,"
		"\"removed\":%llu,\"purged\":%llu,\"spared\":%llu}}",
		now, (unsigned long long)p->looked,
		(unsigned long long)p->removed.count,
		(unsigned long long)p->purged.count,
		(unsigned long long)p->spared.count);
	r = q->patch.ptr ? engine_run(t->e, q, err) :
			   arena_error(&q->arena, err);
	request_free(q);
	return r;
}

/* ---- the report ---- */

static int note(struct run *t, struct maintain_list *l,
		const struct session_rec *rec, struct weft_str why,
		struct weft_error *err)
{
	struct arena *a = t->arena;

	l->count++;
	l->bytes += rec->bytes;
	if (l->n == MAINTAIN_ITEMS)
		return WEFT_OK;
	if (!l->v)
		l->v = ARENA_ARRAY(a, struct maintain_item, MAINTAIN_ITEMS);
	if (!l->v)
		return arena_error(a, err);
	l->v[l->n++] = (struct maintain_item){
		.session = rec->id,
		.key = arena_str(a, rec->key),
		.slug = arena_str(a, rec->slug),
		.why = arena_str(a, why),
		.bytes = rec->bytes,
		.last_use_at = retention_last_use(rec, t->now_ms),
	};
	return a->failed ? arena_error(a, err) : WEFT_OK;
}

/* ---- one session ---- */

/* Whether a living fork reads what this session has said. */
static int has_forks(struct run *t, const struct session_rec *rec,
		     struct arena *a, bool *ret, struct weft_error *err)
{
	struct store *s = t->e->store;
	struct list_query q = {
		.parent = rec->id,
		.sort = LIST_BY_CREATION,
		.limit = PAGE,
	};
	struct session_page page;

	*ret = false;
	do {
		int r = s->ops->list(s, &q, a, &page, err);

		if (r < 0)
			return r;
		for (size_t i = 0; i < page.n && !*ret; i++)
			*ret = page.v[i].fork_seq != 0;
		if (page.n) {
			q.cursor_ms = page.v[page.n - 1].created_at;
			q.cursor_id = page.v[page.n - 1].id;
		}
	} while (!*ret && page.more);
	return WEFT_OK;
}

/* Put it into the trash, unless it has come into use meanwhile. */
static int trash(struct run *t, const struct session_rec *rec, bool *ret,
		 struct weft_error *err)
{
	struct request *q = request_new(REQUEST_DELETE, err);
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	q->session = rec->id;
	q->expect = rec->content_seq;
	q->retire = 1;
	r = engine_run(t->e, q, err);
	*ret = r == WEFT_OK && q->ret_changed;
	request_free(q);
	return r == WEFT_STALE || r == WEFT_LEASED || r == WEFT_DELETED ?
		       WEFT_OK :
		       r;
}

static int spare(struct run *t, const struct session_rec *rec, const char *why,
		 struct arena *a, struct weft_error *err)
{
	retention_spare(&t->retention, rec, a);
	return note(t, &t->report->spared, rec, str_of(why), err);
}

static int remove_one(struct run *t, const struct session_rec *rec,
		      struct weft_str why, struct arena *a,
		      struct weft_error *err)
{
	const char *protected = retention_protects(rec, t->now_ms);
	bool forks = false, gone = true;
	int r = WEFT_OK;

	if (protected)
		return spare(t, rec, protected, a, err);
	r = has_forks(t, rec, a, &forks, err);
	if (r < 0)
		return r;
	if (forks)
		return spare(t, rec, "forked", a, err);
	if (!t->ask->dry)
		r = trash(t, rec, &gone, err);
	if (r < 0)
		return r;
	return gone ? note(t, &t->report->removed, rec, why, err) :
		      spare(t, rec, "in use", a, err);
}

/* Remember what is to be purged: that is done for many at once. */
static int note_purge(struct run *t, const struct session_rec *rec,
		      struct weft_str why, struct weft_error *err)
{
	if (t->ask->dry)
		return note(t, &t->report->purged, rec, why, err);
	if (clock_mono_us() - t->began_us > PURGE_TIME_US)
		return WEFT_OK;
	if (!t->doomed) {
		t->doomed = ARENA_ARRAY(t->arena, struct weft_id, ROUND);
		t->doomed_bytes = ARENA_ARRAY(t->arena, uint64_t, ROUND);
	}
	if (!t->doomed || !t->doomed_bytes)
		return arena_error(t->arena, err);
	assert(t->n_doomed < ROUND);
	t->doomed[t->n_doomed] = rec->id;
	t->doomed_bytes[t->n_doomed++] = rec->bytes;
	return note(t, &t->report->purged, rec, why, err);
}

static int judge_one(struct run *t, const struct session_rec *rec,
		     struct arena *a, struct weft_error *err)
{
	struct weft_str why;
	int r = WEFT_OK;

	t->report->looked++;
	if (id_eq(&rec->id, &t->book.id))
		return WEFT_OK;
	switch (retention_judge(&t->retention, rec, a, &why)) {
	case RETENTION_KEEP:
		break;
	case RETENTION_REMOVE:
		r = remove_one(t, rec, why, a, err);
		break;
	case RETENTION_PURGE:
		r = note_purge(t, rec, why, err);
		break;
	}
	return r;
}

/* ---- purging ---- */

/* It is not purged after all, and why. */
static void pardon(struct run *t, const struct weft_id *id, const char *why)
{
	struct maintain_list *from = &t->report->purged;
	struct maintain_list *to = &t->report->spared;
	uint64_t bytes = 0;
	size_t i = 0;

	for (size_t k = 0; k < t->n_doomed; k++) {
		if (id_eq(&t->doomed[k], id))
			bytes = t->doomed_bytes[k];
	}
	from->count--;
	from->bytes -= bytes;
	to->count++;
	to->bytes += bytes;
	while (i < from->n && !id_eq(&from->v[i].session, id))
		i++;
	/* Of many only the first are in the lists. */
	if (i == from->n)
		return;
	if (!to->v)
		to->v = ARENA_ARRAY(t->arena, struct maintain_item,
				    MAINTAIN_ITEMS);
	if (to->v && to->n < MAINTAIN_ITEMS) {
		to->v[to->n] = from->v[i];
		to->v[to->n++].why = arena_str(t->arena, str_of(why));
	}
	from->v[i] = from->v[--from->n];
}

/* Whether one session was refused, and nothing else went wrong. */
static bool is_refusal(int code)
{
	return code == WEFT_LEASED || code == WEFT_CONFLICT ||
	       code == WEFT_DELETED || code == WEFT_NOT_FOUND ||
	       code == WEFT_STALE;
}

/* Purge what was noted since the last time. */
static int purge_round(struct run *t, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a;
	struct weft_error problem = { 0 };
	struct drop_report report;
	int r;

	arena_init(&a, 0);
	if (!t->n_doomed)
		return WEFT_OK;
	r = engine_purge(t->e, t->doomed, t->n_doomed, 0, false, &a, &report,
			 &problem);
	if (r != WEFT_OK && t->n_doomed == 1 && is_refusal(r)) {
		pardon(t, &t->doomed[0], problem.message);
	} else if (r != WEFT_OK) {
		if (err)
			*err = problem;
		return r;
	} else {
		for (size_t i = 0; i < report.n_refused; i++)
			pardon(t, &report.refused[i].session,
			       report.refused[i].err.message);
	}
	t->n_doomed = 0;
	return t->arena->failed ? arena_error(t->arena, err) : WEFT_OK;
}

/* ---- all of them ---- */

static int judge_all(struct run *t, struct weft_error *err)
{
	struct store *s = t->e->store;
	struct list_query q = {
		.sort = LIST_BY_INTERACTION,
		.deleted = LIST_WITH_DELETED,
		.limit = PAGE,
	};
	bool more = true;
	int r = retention_begin(&t->retention, &t->upkeep.retention, t->now_ms,
				t->arena, err);

	/* Without a rule there is nothing to look for. */
	while (r == WEFT_OK && more && t->upkeep.retention.rules.n) {
		CLEANUP(arena_done) struct arena a;
		struct session_page page;

		arena_init(&a, PAGE_BYTES);
		r = s->ops->list(s, &q, &a, &page, err);
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++)
			r = judge_one(t, &page.v[i], &a, err);
		if (r != WEFT_OK)
			return r;
		more = page.more && page.n;
		if (more) {
			q.cursor_ms = page.v[page.n - 1].last_interaction_at;
			q.cursor_id = page.v[page.n - 1].id;
		}
		/* The next page must find room. */
		if (t->n_doomed + PAGE > ROUND)
			r = purge_round(t, err);
		if (r == WEFT_OK)
			r = keep_lease(t, err);
	}
	return r == WEFT_OK ? purge_round(t, err) : r;
}

/* Whether the clock says a time long after anything that is in the store. */
static int is_leap(struct run *t, bool *ret, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a;
	struct store *s = t->e->store;
	struct list_query q = {
		.sort = LIST_BY_INTERACTION,
		.limit = PAGE,
	};
	int64_t newest = t->report->last_run_at;
	struct session_page page;
	int r;

	arena_init(&a, PAGE_BYTES);
	r = s->ops->list(s, &q, &a, &page, err);
	if (r < 0)
		return r;
	if (newest > t->now_ms)
		newest = 0;
	for (size_t i = 0; i < page.n; i++) {
		int64_t use = retention_last_use(&page.v[i], t->now_ms);

		newest = use > newest ? use : newest;
	}
	*ret = newest > 0 && t->now_ms - newest > LEAP_MS;
	return WEFT_OK;
}

static void suspend(struct run *t)
{
	CLEANUP(arena_done) struct arena a;
	struct store *s = t->e->store;
	struct store_report report = {
		.arena = &a,
		.idle_ms = atomic_load(&t->e->routing.suspend_ms),
	};

	arena_init(&a, PAGE_BYTES);
	/* What cannot be let go stays in memory: nothing depends on it. */
	if (s->ops->maintain(s, TASK_SUSPEND, &report, NULL) == WEFT_OK)
		t->report->suspended = report.changed;
}

/* What cannot be dropped today can be tomorrow. */
static void collect(struct run *t)
{
	CLEANUP(arena_done) struct arena a;
	struct store *s = t->e->store;
	struct store_report report = { .arena = &a };

	arena_init(&a, PAGE_BYTES);
	if (s->ops->maintain(s, TASK_BLOBS, &report, NULL) == WEFT_OK)
		t->report->blobs = report.changed;
}

/* Whether there is anything to do now; the report says why not. */
static int is_time(struct run *t, bool *ret, struct weft_error *err)
{
	bool leap = false;
	int r;

	*ret = true;
	if (!t->ask->if_due)
		return WEFT_OK;
	*ret = lifecycle_is_maintenance_due(t->report->last_run_at, t->now_ms,
					    t->upkeep.hour,
					    lifecycle_local_offset);
	if (!*ret) {
		t->report->why_not = STR("it has run today");
		return WEFT_OK;
	}
	r = is_leap(t, &leap, err);
	if (r == WEFT_OK && leap) {
		*ret = false;
		t->report->why_not =
			STR("the clock is more than a year ahead of all that "
			    "is in the store");
	}
	return r;
}

/* Become the one that runs; false if somebody else is. */
static int enter(struct run *t, bool *ret, struct weft_error *err)
{
	int r = WEFT_OK;

	*ret = false;
	if (id_is_zero(&t->book.id))
		r = make_book(t, err);
	if (r == WEFT_OK)
		r = ask_lease(t, LEASE_ACQUIRE, err);
	if (r == WEFT_LEASED) {
		t->report->why_not = STR("somebody else is at it");
		return WEFT_OK;
	}
	/* Whoever had it before may have done it all. */
	if (r == WEFT_OK)
		r = read_book(t, err);
	return r == WEFT_OK ? is_time(t, ret, err) : r;
}

static int leave(struct run *t, int so_far, struct weft_error *err)
{
	struct weft_error ignored;
	int r;

	if (!t->token)
		return so_far;
	r = ask_lease(t, LEASE_RELEASE, so_far == WEFT_OK ? err : &ignored);
	return so_far == WEFT_OK ? r : so_far;
}

static int work(struct run *t, struct weft_error *err)
{
	struct drop_report finished;
	int r;

	t->report->ran = true;
	if (!t->ask->dry)
		suspend(t);
	r = judge_all(t, err);
	if (r == WEFT_OK && !t->ask->dry)
		r = engine_finish_purges(t->e, t->arena, &finished, err);
	if (r == WEFT_OK && !t->ask->dry) {
		collect(t);
		r = write_book(t, err);
		t->report->last_run_at = t->now_ms;
	}
	return r;
}

int engine_maintain(struct engine *e, const struct maintain_ask *ask,
		    struct arena *a, struct maintain_report *ret,
		    struct weft_error *err)
{
	struct run t = {
		.e = e,
		.ask = ask,
		.report = ret,
		.arena = a,
		.now_ms = ask->now_ms ? ask->now_ms : engine_now_ms(e),
		.began_us = clock_mono_us(),
	};
	bool go = false;
	int r = engine_check_process(e, err);

	*ret = (struct maintain_report){ 0 };
	if (r == WEFT_OK)
		r = routing_upkeep(e, a, &t.upkeep, err);
	if (r == WEFT_OK)
		r = read_book(&t, err);
	if (r == WEFT_OK)
		r = is_time(&t, &go, err);
	if (r == WEFT_OK && go && !ask->dry)
		r = enter(&t, &go, err);
	if (r == WEFT_OK && go)
		r = work(&t, err);
	r = leave(&t, r, err);
	ret->next_run_at = lifecycle_next_hour(t.now_ms, t.upkeep.hour,
					       lifecycle_local_offset);
	return r;
}

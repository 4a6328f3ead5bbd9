/* public_cleanup.c - what rules of retention remove, and what they leave. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "conformance/stops.h"

#define HOUR INT64_C(3600000)
#define DAY  (24 * HOUR)

static const char *cleanup(struct desk *d, bool dry)
{
	return desk_call(d, "{\"method\":\"cleanup\",\"dry_run\":%s}",
			 dry ? "true" : "false");
}

/* The ids of one list of a report, with a space between them. */
static const char *ids(struct desk *d, const char *report, const char *list)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_str all = STR("");
	yyjson_arr_iter it;
	yyjson_val *v, *l;

	desk_ok(d, json_parse(str_of(report), NULL, &doc, &d->err));
	l = yyjson_obj_get(yyjson_doc_get_root(doc), list);
	yyjson_arr_iter_init(yyjson_obj_get(l, "sessions"), &it);
	while ((v = yyjson_arr_iter_next(&it)))
		all = arena_printf(&d->arena, "%.*s%s%s", STR_ARG(all),
				   all.len ? " " : "",
				   yyjson_get_str(yyjson_obj_get(v, "id")));
	assert_int_equal(yyjson_get_uint(yyjson_obj_get(l, "count")),
			 yyjson_arr_size(yyjson_obj_get(l, "sessions")));
	return all.len ? all.ptr : "";
}

static const char *why(struct desk *d, const char *report, const char *id)
{
	const char *at = strstr(report, id), *end;

	assert_non_null(at);
	at = strstr(at, "\"why\":\"");
	assert_non_null(at);
	at += strlen("\"why\":\"");
	end = strchr(at, '"');
	return arena_str(&d->arena, (struct weft_str){ at, (size_t)(end - at) })
		.ptr;
}

static bool is_deleted(struct desk *d, const char *id)
{
	return strstr(desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
				id),
		      "\"deleted_at\":null") == NULL;
}

/* A session in which something is said now. */
static const char *spoken(struct desk *d, const char *members)
{
	const char *id = desk_new(d, members);

	(void)desk_say(d, id, "hello");
	return id;
}

#define IDLE_30 "{\"retention\":{\"rules\":[{\"idle_days\":30}]}}"

static void nothing_is_removed_unless_it_is_configured(void **state)
{
	struct desk *d = *state;
	const char *id = spoken(d, ""), *report;

	d->now_ms += 300 * DAY;
	report = cleanup(d, false);
	assert_string_equal(ids(d, report, "removed"), "");
	assert_false(is_deleted(d, id));
	/* A rule without a limit keeps what it is about. */
	desk_configure(d, "{\"retention\":{\"rules\":[{\"kind\":\"primary\"},"
			  "{\"idle_days\":1}]}}");
	assert_string_equal(ids(d, cleanup(d, false), "removed"), "");
}

static void what_is_idle_goes_into_the_trash(void **state)
{
	struct desk *d = *state;
	const char *old = spoken(d, "\"key\":\"old\""), *fresh, *report;
	int64_t then = d->now_ms;

	desk_configure(d, IDLE_30);
	d->now_ms = then + 20 * DAY;
	fresh = spoken(d, "");
	(void)desk_say(d, d->id, "and here");
	d->now_ms = then + 30 * DAY;
	assert_string_equal(ids(d, cleanup(d, false), "removed"), "");
	d->now_ms++;
	report = cleanup(d, true);
	assert_string_equal(ids(d, report, "removed"), old);
	assert_string_equal(why(d, report, old),
			    "rule 1: idle for more than 30 days");
	assert_false(is_deleted(d, old));
	report = cleanup(d, false);
	assert_string_equal(ids(d, report, "removed"), old);
	assert_true(is_deleted(d, old));
	assert_false(is_deleted(d, fresh));
	assert_string_equal(ids(d, cleanup(d, false), "removed"), "");
	/* It can be brought back, with its key. */
	(void)desk_call(d, "{\"method\":\"restore\",\"session\":\"%s\"}", old);
	assert_string_equal(desk_texts(d, "old"), "hello");
}

static bool is_there(struct desk *d, const char *id)
{
	int r = desk_try_call(d, "{\"method\":\"history\",\"session\":\"%s\"}",
			      id);

	return r == WEFT_OK;
}

static void what_was_long_in_the_trash_is_purged(void **state)
{
	struct desk *d = *state;
	const char *old = spoken(d, ""), *other, *thrown, *report;
	int64_t then;

	thrown = spoken(d, "\"channel\":\"slack\"");
	other = spoken(d, "");
	desk_configure(d, "{\"retention\":{\"rules\":[{\"channel\":\"slack\"},"
			  "{\"idle_days\":30}],\"trash_days\":7}}");
	d->now_ms += 31 * DAY;
	(void)desk_say(d, d->id, "here");
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}",
			thrown);
	(void)cleanup(d, false);
	assert_true(is_deleted(d, old));
	then = d->now_ms;
	d->now_ms = then + 7 * DAY;
	(void)desk_say(d, d->id, "here");
	(void)desk_call(d, "{\"method\":\"restore\",\"session\":\"%s\"}",
			other);
	(void)desk_say(d, other, "again");
	assert_string_equal(ids(d, cleanup(d, false), "purged"), "");
	d->now_ms++;
	report = cleanup(d, true);
	assert_string_equal(ids(d, report, "purged"), old);
	assert_string_equal(why(d, report, old),
			    "in the trash for more than 7 days");
	assert_true(is_there(d, old));
	assert_string_equal(ids(d, cleanup(d, false), "purged"), old);
	assert_false(is_there(d, old));
	/* What no rule is about stays where a person has put it. */
	assert_true(is_there(d, thrown));
	assert_true(is_there(d, other));
	assert_string_equal(ids(d, cleanup(d, false), "purged"), "");
	/* A clock that was wrong when it was thrown away purges nothing. */
	d->now_ms = INT64_C(4070908800000);
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", other);
	d->now_ms = then + 100 * DAY;
	(void)desk_say(d, d->id, "here");
	assert_string_equal(ids(d, cleanup(d, false), "purged"), "");
}

/* More than are purged at once, and than a report names. */
#define MANY 1030u

static void however_many_there_are_all_are_purged(void **state)
{
	struct desk *d = *state;
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	const char *report;
	yyjson_val *purged;

	/* What is done is the same in all stores, and takes its time. */
	if (strncmp(conformance_url, "memory:", 7) != 0)
		return;
	desk_configure(d, "{\"retention\":{\"rules\":[{\"idle_days\":30}],"
			  "\"trash_days\":7}}");
	for (unsigned i = 0; i < MANY; i++)
		(void)desk_new(d, "");
	d->now_ms += 31 * DAY;
	(void)desk_say(d, d->id, "here");
	(void)cleanup(d, false);
	d->now_ms += 8 * DAY;
	(void)desk_say(d, d->id, "here");
	for (int dry = 1; dry >= 0; dry--) {
		report = cleanup(d, dry);
		desk_ok(d, json_parse(str_of(report), NULL, &doc, &d->err));
		purged = yyjson_obj_get(yyjson_doc_get_root(doc), "purged");
		assert_int_equal(
			yyjson_get_uint(yyjson_obj_get(purged, "count")), MANY);
		assert_int_equal(
			yyjson_arr_size(yyjson_obj_get(purged, "sessions")),
			1000);
		yyjson_doc_free(doc);
		doc = NULL;
	}
	assert_string_equal(ids(d, cleanup(d, false), "purged"), "");
}

/* Time that only the machine has spent in a session keeps nothing alive. */
static void background_writes_do_not_count(void **state)
{
	struct desk *d = *state;
	const char *old = spoken(d, "");

	desk_configure(d, IDLE_30);
	d->now_ms += 31 * DAY;
	desk_ok(d, desk_try(d, old,
			    "{\"role\":\"user\",\"content\":\"tick\","
			    "\"background\":true}",
			    NULL, NULL));
	(void)desk_say(d, d->id, "here");
	assert_string_equal(ids(d, cleanup(d, false), "removed"), old);
}

static void what_is_in_use_is_spared(void **state)
{
	struct desk *d = *state;
	const char *pinned = spoken(d, ""), *forked = spoken(d, "");
	const char *leased = spoken(d, ""), *running = spoken(d, "");
	const char *report, *spared;

	desk_configure(d, IDLE_30);
	d->now_ms += 31 * DAY;
	(void)desk_call(d,
			"{\"method\":\"set\",\"session\":\"%s\","
			"\"changes\":{\"pinned\":true}}",
			pinned);
	(void)desk_say(d, desk_fork(d, forked), "on");
	(void)desk_call(d,
			"{\"method\":\"lease\",\"how\":\"acquire\","
			"\"session\":\"%s\",\"owner\":\"o\"}",
			leased);
	(void)desk_call(d,
			"{\"method\":\"turn\",\"session\":\"%s\","
			"\"state\":\"begun\"}",
			running);
	(void)desk_say(d, d->id, "here");
	report = cleanup(d, false);
	assert_string_equal(ids(d, report, "removed"), "");
	spared = ids(d, report, "spared");
	assert_int_equal(strlen(spared), 4 * WEFT_ID_CHARS + 3);
	assert_string_equal(why(d, report, pinned), "pinned");
	assert_string_equal(why(d, report, forked), "forked");
	assert_string_equal(why(d, report, leased), "leased");
	assert_string_equal(why(d, report, running), "running");
	/* When nobody uses them any more, they go. */
	d->now_ms += 25 * HOUR;
	report = cleanup(d, false);
	assert_non_null(strstr(ids(d, report, "removed"), leased));
	assert_non_null(strstr(ids(d, report, "removed"), running));
	assert_string_equal(why(d, report, forked), "forked");
}

static void caps_keep_the_latest(void **state)
{
	struct desk *d = *state;
	const char *v[4], *report;
	char two[64];

	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", d->id);
	for (int i = 0; i < 4; i++) {
		d->now_ms += HOUR;
		v[i] = spoken(d, "");
	}
	(void)snprintf(two, sizeof(two), "%s %s", v[1], v[0]);
	desk_configure(d, "{\"retention\":{\"rules\":[{\"max_sessions\":2}]}}");
	report = cleanup(d, true);
	assert_string_equal(ids(d, report, "removed"), two);
	assert_string_equal(why(d, report, v[0]),
			    "rule 1: more than 2 sessions");
	/* One message is about 200 bytes with its session. */
	desk_configure(d, "{\"retention\":{\"rules\":[{\"max_bytes\":1000}]}}");
	report = cleanup(d, true);
	assert_string_equal(why(d, report, v[0]),
			    "rule 1: more than 1000 bytes");
	assert_null(strstr(report, v[3]));
	/* What is spared takes a place. */
	(void)desk_call(d,
			"{\"method\":\"set\",\"session\":\"%s\","
			"\"changes\":{\"pinned\":true}}",
			v[2]);
	desk_configure(d, "{\"retention\":{\"rules\":[{\"max_sessions\":2}]}}");
	assert_string_equal(ids(d, cleanup(d, false), "removed"), two);
}

static void rules_are_about_kinds_agents_and_channels(void **state)
{
	struct desk *d = *state;
	const char *slack = spoken(d, "\"channel\":\"slack\"");
	const char *work = spoken(d, "\"agent\":\"work\"");
	const char *removed, *sub;
	char members[100];

	(void)snprintf(members, sizeof(members),
		       "\"kind\":\"subagent\",\"parent\":\"%s\"", d->id);
	sub = spoken(d, members);
	(void)desk_call(d, "{\"method\":\"memory_add\",\"content\":\"x\"}");
	d->now_ms += 3 * DAY;
	desk_configure(d, "{\"retention\":{\"rules\":[{\"channel\":\" Slack\"},"
			  "{\"agent\":\"work\",\"idle_days\":2},"
			  "{\"kind\":\"subagent\",\"idle_days\":1},"
			  "{\"idle_days\":30}]}}");
	removed = ids(d, cleanup(d, false), "removed");
	assert_null(strstr(removed, slack));
	assert_non_null(strstr(removed, work));
	assert_non_null(strstr(removed, sub));
	assert_int_equal(strlen(removed), 2 * WEFT_ID_CHARS + 1);
	/* Books are no conversations. */
	d->now_ms += 100 * DAY;
	(void)cleanup(d, false);
	assert_non_null(strstr(desk_call(d, "{\"method\":\"memories\"}"),
			       "\"content\":\"x\""));
}

static const char *routed(struct desk *d, const char *type, const char *account)
{
	const char *answer = desk_call(
		d,
		"{\"method\":\"route\",\"channel\":\"slack\",\"chat_type\":"
		"\"%s\",\"chat_id\":\"%s-%s\",\"sender_id\":\"u\","
		"\"account\":\"%s\"}",
		type, type, account, account);
	const char *at = strstr(answer, "\"session\":\"");

	assert_non_null(at);
	return arena_str(&d->arena,
			 (struct weft_str){ at + strlen("\"session\":\""),
					    WEFT_ID_CHARS })
		.ptr;
}

static void rules_are_about_scopes(void **state)
{
	struct desk *d = *state;
	const char *person = routed(d, "direct", "A.1");
	const char *group = routed(d, "Group", "A.1");
	const char *other = routed(d, "group", "b2");
	const char *plain = spoken(d, "\"channel\":\"slack\"");
	const char *report;
	char both[64];

	d->now_ms += 3 * DAY;
	desk_configure(d, "{\"retention\":{\"rules\":[{\"account\":\"a.1\","
			  "\"chat_type\":\" GROUP\",\"idle_days\":2}]}}");
	report = cleanup(d, true);
	assert_string_equal(ids(d, report, "removed"), group);
	desk_configure(d,
		       "{\"retention\":{\"rules\":[{\"chat_type\":\"direct\"},"
		       "{\"account\":\"A.1\",\"idle_days\":2}]}}");
	assert_string_equal(ids(d, cleanup(d, true), "removed"), group);
	desk_configure(d, "{\"retention\":{\"rules\":[{\"chat_type\":\"group\","
			  "\"max_sessions\":1}]}}");
	assert_string_equal(ids(d, cleanup(d, true), "removed"),
			    strcmp(group, other) < 0 ? group : other);
	desk_configure(d, "{\"retention\":{\"rules\":[{\"chat_type\":\"group\","
			  "\"idle_days\":2}]}}");
	(void)snprintf(both, sizeof(both), "%s %s", other, group);
	report = ids(d, cleanup(d, false), "removed");
	assert_int_equal(strlen(report), strlen(both));
	assert_non_null(strstr(report, group));
	assert_non_null(strstr(report, other));
	assert_false(is_deleted(d, person));
	assert_false(is_deleted(d, plain));
	/* By dm_scope the conversation of one person is a direct one, too. */
	desk_configure(d, "{\"session\":{\"dm_scope\":\"per-channel\"},"
			  "\"retention\":{\"rules\":[{\"chat_type\":\"direct\","
			  "\"idle_days\":2}]}}");
	person = routed(d, "direct", "c3");
	(void)routed(d, "group", "c3");
	d->now_ms += 3 * DAY;
	assert_non_null(strstr(ids(d, cleanup(d, true), "removed"), person));
	assert_null(strstr(ids(d, cleanup(d, true), "removed"),
			   routed(d, "group", "c3")));
}

static void what_has_expired_goes(void **state)
{
	struct desk *d = *state;
	const char *id = spoken(d, ""), *report;

	(void)desk_call(d,
			"{\"method\":\"set\",\"session\":\"%s\",\"changes\":"
			"{\"expires_at\":\"2099-01-01T00:00:00Z\"}}",
			id);
	desk_configure(d, IDLE_30);
	assert_string_equal(ids(d, cleanup(d, false), "removed"), "");
	d->now_ms = INT64_C(4070908800000);
	(void)desk_say(d, d->id, "that very moment");
	(void)desk_say(d, id, "that very moment");
	report = cleanup(d, false);
	assert_string_equal(ids(d, report, "removed"), id);
	assert_string_equal(why(d, report, id), "rule 1: it has expired");
}

/* ---- once a day ---- */

static struct weft_maintenance maintain(struct desk *d)
{
	struct weft_maintenance m = { 0 };

	desk_ok(d, weft_maintain(d->store, d->now_ms, &m, &d->err));
	return m;
}

/* 2027-03-01 at this hour, UTC, which is local time here. */
static int64_t at_hour(int64_t hour)
{
	(void)setenv("TZ", "UTC0", 1);
	tzset();
	return INT64_C(1803859200000) + hour * HOUR;
}

static void it_runs_once_after_its_hour(void **state)
{
	struct desk *d = *state;
	struct weft_maintenance m;

	d->now_ms = at_hour(1);
	(void)desk_say(d, d->id, "before");
	m = maintain(d); /* yesterday's was missed */
	assert_int_equal(m.ran, 1);
	assert_int_equal(m.next_run_ms, at_hour(3));
	assert_int_equal(maintain(d).ran, 0);
	d->now_ms = at_hour(3) - 1;
	assert_int_equal(maintain(d).ran, 0);
	d->now_ms = at_hour(3);
	m = maintain(d);
	assert_int_equal(m.ran, 1);
	assert_int_equal(m.last_run_ms, at_hour(3));
	assert_int_equal(m.next_run_ms, at_hour(27));
	assert_int_equal(maintain(d).ran, 0);
	/* Also after a restart, and with another hour from then on. */
	if (d->dir[0])
		desk_reopen(d, NULL);
	desk_configure(d, "{\"lifecycle\":{\"maintenance_hour\":5}}");
	d->now_ms = at_hour(5) - 1;
	assert_int_equal(maintain(d).ran, 0);
	d->now_ms = at_hour(5);
	assert_int_equal(maintain(d).ran, 1);
	/* A machine that was off for days does it once. */
	d->now_ms = at_hour(99);
	assert_int_equal(maintain(d).ran, 1);
	assert_int_equal(maintain(d).ran, 0);
}

/* An hour that there is twice, and one that there is not: once each day. */
static void it_runs_once_when_clocks_change(void **state)
{
	static const int64_t days[] = {
		INT64_C(1774652400000), /* 2026-03-28 00:00 in Berlin */
		INT64_C(1792792800000), /* 2026-10-24 00:00 */
	};
	struct desk *d = *state;

	desk_configure(d, "{\"lifecycle\":{\"maintenance_hour\":2}}");
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_LEN(days); i++) {
		unsigned ran = 0;

		d->now_ms = days[i] + HOUR;
		(void)desk_say(d, d->id, "here");
		(void)maintain(d); /* what was missed */
		/* Three days, in steps of half an hour. */
		for (int k = 0; k < 3 * 48 - 4; k++) {
			d->now_ms += HOUR / 2;
			ran += maintain(d).ran;
		}
		assert_int_equal(ran, 3);
	}
	(void)at_hour(0);
}

/* Whoever boots in 2099 removes nothing, and what was said then is not taken
 * for the latest for ever. */
static void a_clock_that_leaps_removes_nothing(void **state)
{
	struct desk *d = *state;
	const int64_t far = INT64_C(4070908800000);
	int64_t then = at_hour(12);
	const char *id, *late;
	struct weft_maintenance m;

	desk_configure(d, IDLE_30);
	d->now_ms = then;
	(void)desk_say(d, d->id, "here");
	id = spoken(d, "");
	late = spoken(d, "");
	assert_int_equal(maintain(d).ran, 1);
	d->now_ms = far;
	m = maintain(d);
	assert_int_equal(m.ran, 0);
	assert_int_equal(m.removed, 0);
	(void)desk_say(d, late, "is it that late?");
	assert_false(is_deleted(d, id));
	/* Back again. */
	d->now_ms = then + DAY;
	(void)desk_say(d, d->id, "no");
	assert_int_equal(maintain(d).ran, 1);
	assert_false(is_deleted(d, late));
	d->now_ms = then + 31 * DAY;
	(void)desk_say(d, d->id, "still here");
	m = maintain(d);
	assert_int_equal(m.ran, 1);
	assert_int_equal(m.removed, 2);
	assert_true(is_deleted(d, id));
	assert_true(is_deleted(d, late));
}

/* It ran once in 2099: that does not keep it from running for 70 years. */
static void a_leap_to_the_past_does_not_stop_it(void **state)
{
	struct desk *d = *state;

	d->now_ms = INT64_C(4070908800000);
	(void)desk_say(d, d->id, "x");
	assert_int_equal(maintain(d).ran, 1);
	d->now_ms = at_hour(12);
	(void)desk_new(d, "");
	assert_int_equal(maintain(d).ran, 1);
	assert_int_equal(maintain(d).ran, 0);
}

static void only_one_runs(void **state)
{
	struct desk *d = *state;
	const char *report;

	(void)cleanup(d, false);
	(void)desk_call(d, "{\"method\":\"lease\",\"how\":\"acquire\","
			   "\"session\":\"book:maintenance\",\"owner\":"
			   "\"another machine\"}");
	report = cleanup(d, false);
	assert_non_null(strstr(report, "\"ran\":false"));
	assert_non_null(strstr(report, "somebody else"));
	/* It may have died: its lease ends. */
	d->now_ms += HOUR;
	assert_non_null(strstr(cleanup(d, false), "\"ran\":true"));
}

/*
 * Two find that it is due; one gets the lease when the other is done.  It takes
 * two handles on one store.
 */
static void who_comes_second_does_not_run_again(void **state)
{
	struct desk *d = *state;
	struct weft_store *other = NULL;

	if (!is_place(d->url))
		return;
	desk_ok(d, desk_open_again(d, NULL, 0, &other));
	d->now_ms = at_hour(12);
	/* On the first day there is no book yet. */
	for (int day = 0; day < 2; day++, d->now_ms += DAY) {
		struct act second = { .store = other };
		struct weft_maintenance first = { 0 };

		(void)desk_say(d, d->id, "here");
		(void)snprintf(second.request, sizeof(second.request),
			       "{\"method\":\"cleanup\",\"if_due\":true}");
		stop_writes_of(other);
		stop_at(BEFORE_THE_WRITE);
		act_begin(&second, act_call);
		assert_true(stop_until_asleep(&second));
		desk_ok(d, weft_maintain(d->store, 0, &first, &d->err));
		stop_at(NOWHERE);
		act_end(&second);
		stop_no_more();

		assert_true(first.ran);
		assert_int_equal(second.result, WEFT_OK);
		assert_non_null(strstr(second.answer, "\"ran\":false"));
		assert_non_null(strstr(second.answer, "it has run today"));
		/* It gave the lease back. */
		assert_non_null(strstr(cleanup(d, false), "\"ran\":true"));
	}
	desk_ok(d, weft_close(other, &d->err));
}

#define THREADS 16

struct runner {
	pthread_t thread;
	pthread_barrier_t *together;
	struct weft_store *store;
	struct weft_maintenance m;
	int r;
};

static void *run(void *ctx)
{
	struct runner *x = ctx;

	(void)pthread_barrier_wait(x->together);
	x->r = weft_maintain(x->store, 0, &x->m, NULL);
	return NULL;
}

static void of_many_one_runs(void **state)
{
	static struct runner v[THREADS];
	struct desk *d = *state;
	pthread_barrier_t together;
	unsigned ran = 0, removed = 0;

	desk_configure(d, IDLE_30);
	for (int i = 0; i < 8; i++)
		(void)spoken(d, "");
	d->now_ms = at_hour(12);
	(void)desk_say(d, d->id, "here");
	d->now_ms += 40 * DAY;
	(void)desk_say(d, d->id, "here");
	assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++) {
		v[i] = (struct runner){ .together = &together,
					.store = d->store };
		assert_int_equal(pthread_create(&v[i].thread, NULL, run, &v[i]),
				 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(v[i].thread, NULL), 0);
		assert_int_equal(v[i].r, WEFT_OK);
		ran += v[i].m.ran;
		removed += (unsigned)v[i].m.removed;
	}
	(void)pthread_barrier_destroy(&together);
	assert_int_equal(ran, 1);
	assert_int_equal(removed, 8);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(nothing_is_removed_unless_it_is_configured),
	PUBLIC_TEST(what_is_idle_goes_into_the_trash),
	PUBLIC_TEST(what_was_long_in_the_trash_is_purged),
	PUBLIC_TEST(however_many_there_are_all_are_purged),
	PUBLIC_TEST(background_writes_do_not_count),
	PUBLIC_TEST(what_is_in_use_is_spared),
	PUBLIC_TEST(caps_keep_the_latest),
	PUBLIC_TEST(rules_are_about_kinds_agents_and_channels),
	PUBLIC_TEST(rules_are_about_scopes),
	PUBLIC_TEST(what_has_expired_goes),
	PUBLIC_TEST(it_runs_once_after_its_hour),
	PUBLIC_TEST(it_runs_once_when_clocks_change),
	PUBLIC_TEST(a_clock_that_leaps_removes_nothing),
	PUBLIC_TEST(a_leap_to_the_past_does_not_stop_it),
	PUBLIC_TEST(only_one_runs),
	PUBLIC_TEST(who_comes_second_does_not_run_again),
	PUBLIC_TEST(of_many_one_runs),
};

const struct suite public_cleanup_suite = { tests, ARRAY_LEN(tests) };

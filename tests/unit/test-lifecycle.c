/* test-lifecycle.c - when conversations begin anew, by clocks of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "route/lifecycle.h"

#define HOUR   INT64_C(3600000)
#define MINUTE INT64_C(60000)

static int64_t t(const char *text)
{
	int64_t ms;

	if (!time_parse_rfc3339(str_of(text), &ms))
		fail_msg("%s is no time", text);
	return ms;
}

static void expect_time(const char *expected, int64_t found)
{
	char text[TIME_CHARS + 1];

	time_format(found, text);
	if (t(expected) != found)
		fail_msg("expected %s, found %s", expected, text);
}

/* ---- zones ---- */

static int64_t utc(int64_t ms)
{
	(void)ms;
	return 0;
}

static int64_t tokyo(int64_t ms)
{
	(void)ms;
	return 9 * HOUR;
}

/* Central Europe in 2026: summer from 29 March to 25 October, 01:00 UTC. */
static int64_t berlin(int64_t ms)
{
	return ms >= t("2026-03-29T01:00:00Z") &&
			       ms < t("2026-10-25T01:00:00Z") ?
		       2 * HOUR :
		       HOUR;
}

static void the_hour_of_a_plain_day(void **state)
{
	(void)state;
	expect_time("2026-05-10T04:00:00Z",
		    lifecycle_last_hour(t("2026-05-10T04:00:00Z"), 4, utc));
	expect_time("2026-05-09T04:00:00Z",
		    lifecycle_last_hour(t("2026-05-10T03:59:59.999Z"), 4, utc));
	expect_time("2026-05-10T00:00:00Z",
		    lifecycle_last_hour(t("2026-05-10T23:59:00Z"), 0, utc));
	/* 04:00 in Tokyo is 19:00 of the day before. */
	expect_time("2026-05-09T19:00:00Z",
		    lifecycle_last_hour(t("2026-05-10T18:59:00Z"), 4, tokyo));
	expect_time("2026-05-10T19:00:00Z",
		    lifecycle_last_hour(t("2026-05-10T19:00:00Z"), 4, tokyo));
	/* Before 1970, too. */
	expect_time("1969-12-30T23:00:00Z",
		    lifecycle_last_hour(t("1969-12-31T22:59:00Z"), 23, utc));
}

static void an_hour_that_a_clock_change_leaves_out(void **state)
{
	(void)state;
	/* 29 March has no 02:00: it is where 03:00 begins. */
	expect_time("2026-03-29T01:00:00Z",
		    lifecycle_last_hour(t("2026-03-29T12:00:00Z"), 2, berlin));
	expect_time("2026-03-28T01:00:00Z",
		    lifecycle_last_hour(t("2026-03-29T00:59:59Z"), 2, berlin));
	expect_time("2026-03-29T01:00:00Z",
		    lifecycle_last_hour(t("2026-03-29T01:00:00Z"), 3, berlin));
	expect_time("2026-03-30T00:00:00Z",
		    lifecycle_last_hour(t("2026-03-30T12:00:00Z"), 2, berlin));
}

static void an_hour_that_comes_twice_counts_once(void **state)
{
	(void)state;
	/* 25 October has 02:00 at 00:00 and at 01:00 UTC. */
	expect_time("2026-10-25T00:00:00Z",
		    lifecycle_last_hour(t("2026-10-25T00:30:00Z"), 2, berlin));
	expect_time("2026-10-25T00:00:00Z",
		    lifecycle_last_hour(t("2026-10-25T01:30:00Z"), 2, berlin));
	expect_time("2026-10-25T00:00:00Z",
		    lifecycle_last_hour(t("2026-10-26T00:59:59Z"), 2, berlin));
	expect_time("2026-10-26T01:00:00Z",
		    lifecycle_last_hour(t("2026-10-26T01:00:00Z"), 2, berlin));
	expect_time("2026-10-25T02:00:00Z",
		    lifecycle_last_hour(t("2026-10-25T02:00:00Z"), 3, berlin));
}

static void the_next_time_is_the_first_after_now(void **state)
{
	(void)state;
	expect_time("2026-05-10T04:00:00Z",
		    lifecycle_next_hour(t("2026-05-10T03:59:59.999Z"), 4, utc));
	expect_time("2026-05-11T04:00:00Z",
		    lifecycle_next_hour(t("2026-05-10T04:00:00Z"), 4, utc));
	/* Days of 23 and of 25 hours. */
	expect_time("2026-03-29T01:00:00Z",
		    lifecycle_next_hour(t("2026-03-28T12:00:00Z"), 2, berlin));
	expect_time("2026-10-25T02:00:00Z",
		    lifecycle_next_hour(t("2026-10-24T01:00:00Z"), 3, berlin));
	expect_time("2026-10-26T01:00:00Z",
		    lifecycle_next_hour(t("2026-10-25T00:00:00Z"), 2, berlin));
}

/* Every minute of a year: the last time is never later than now, never more
 * than 25 hours ago, and there is one for each day. */
static void every_minute_of_a_year(void **state)
{
	int64_t first = t("2026-01-01T00:00:00Z"), seen = 0;
	unsigned days = 0;

	(void)state;
	for (int64_t now = first; now < first + 365 * 24 * HOUR;
	     now += MINUTE) {
		int64_t last = lifecycle_last_hour(now, 2, berlin);

		assert_true(last <= now);
		assert_true(now - last < 25 * HOUR);
		assert_true(last >= seen);
		days += last != seen;
		seen = last;
	}
	assert_int_equal(days, 366); /* the last of the year before as well */
}

static void the_day_ends_a_conversation(void **state)
{
	const struct config_reset daily = { .mode = RESET_DAILY, .at_hour = 4 };
	const struct config_reset both = { .mode = RESET_DAILY,
					   .at_hour = 4,
					   .idle_minutes = 60 };
	int64_t now = t("2026-05-10T04:00:00Z");

	(void)state;
	assert_true(lifecycle_is_stale(&daily, now - 1, now, utc));
	assert_false(lifecycle_is_stale(&daily, now, now, utc));
	assert_false(lifecycle_is_stale(&daily, now - 1, now - 1, utc));
	assert_true(lifecycle_is_stale(&daily, now, now + 24 * HOUR, utc));
	/* Whichever comes first. */
	assert_false(lifecycle_is_stale(&both, now, now + HOUR, utc));
	assert_true(lifecycle_is_stale(&both, now, now + HOUR + 1, utc));
}

static void a_pause_ends_a_conversation(void **state)
{
	const struct config_reset idle = { .mode = RESET_IDLE,
					   .idle_minutes = 30 };
	const struct config_reset never = { .mode = RESET_NONE,
					    .idle_minutes = 30 };
	const struct config_reset forgot = { .mode = RESET_IDLE };

	(void)state;
	assert_false(lifecycle_is_stale(&idle, 0, 30 * MINUTE, utc));
	assert_true(lifecycle_is_stale(&idle, 0, 30 * MINUTE + 1, utc));
	assert_false(lifecycle_is_stale(&never, 0, 300 * MINUTE, utc));
	assert_false(lifecycle_is_stale(&forgot, 0, 300 * MINUTE, utc));
	assert_false(lifecycle_is_stale(&(struct config_reset){ 0 }, 0,
					INT64_C(1) << 50, utc));
	/* A clock that was wrong once ends nothing. */
	assert_false(lifecycle_is_stale(&idle, t("2099-01-01T00:00:00Z"),
					t("2026-05-10T00:00:00Z"), utc));
}

static bool stale(const struct config_reset *p, int64_t last, int64_t now)
{
	return lifecycle_is_stale(p, last, now, berlin);
}

/* What is foretold is what happens: not a millisecond earlier or later. */
static void the_end_is_known_before(void **state)
{
	static const struct config_reset v[] = {
		{ .mode = RESET_DAILY, .at_hour = 4 },
		{ .mode = RESET_DAILY, .at_hour = 2 },
		{ .mode = RESET_DAILY, .at_hour = 4, .idle_minutes = 90 },
		{ .mode = RESET_IDLE, .idle_minutes = 30 },
	};
	static const char *const days[] = { "2026-03-28T00:00:00Z",
					    "2026-05-10T00:00:00Z",
					    "2026-10-24T00:00:00Z" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		for (size_t k = 0; k < 3 * 48 * ARRAY_LEN(days); k++) {
			int64_t last = t(days[k % ARRAY_LEN(days)]) +
				       (int64_t)k * 10 * MINUTE;
			int64_t end = lifecycle_stale_at(&v[i], last, berlin);

			assert_true(end > last);
			assert_false(stale(&v[i], last, end - 1));
			assert_true(stale(&v[i], last, end));
		}
	}
	assert_int_equal(
		lifecycle_stale_at(&(struct config_reset){ 0 }, 5, utc), 0);
	assert_int_equal(
		lifecycle_stale_at(&(struct config_reset){ .mode = RESET_NONE,
							   .idle_minutes = 5 },
				   5, utc),
		0);
}

static void a_session_expires_when_it_is_said_to(void **state)
{
	(void)state;
	assert_false(lifecycle_is_expired(0, 5));
	assert_false(lifecycle_is_expired(6, 5));
	assert_true(lifecycle_is_expired(5, 5));
}

static void maintenance_runs_once_a_day(void **state)
{
	int64_t run = t("2026-05-10T03:00:05Z");

	(void)state;
	assert_false(lifecycle_is_maintenance_due(
		run, t("2026-05-11T02:59:59Z"), 3, utc));
	assert_true(lifecycle_is_maintenance_due(run, t("2026-05-11T03:00:00Z"),
						 3, utc));
	/* The machine was off for a week: once, at the start. */
	assert_true(lifecycle_is_maintenance_due(run, t("2026-05-18T12:00:00Z"),
						 3, utc));
	assert_true(lifecycle_is_maintenance_due(0, t("2026-05-18T12:00:00Z"),
						 3, utc));
	/* A clock set back a little does not make it run twice. */
	assert_false(
		lifecycle_is_maintenance_due(run, run - 10 * MINUTE, 3, utc));
	/* One boot in 2099 does not end it for ever. */
	assert_true(lifecycle_is_maintenance_due(
		t("2099-01-01T00:00:00Z"), t("2026-05-11T02:00:00Z"), 3, utc));
}

/* On the days of the change of clocks it runs once, like on any other. */
static void maintenance_and_the_change_of_clocks(void **state)
{
	static const char *const days[] = { "2026-03-28T00:00:00Z",
					    "2026-10-24T00:00:00Z" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(days); i++) {
		for (unsigned hour = 0; hour < 24; hour++) {
			int64_t now = t(days[i]), last = now;
			int64_t day = (now + berlin(now)) / (24 * HOUR);
			unsigned runs[6] = { 0 };

			for (; now < t(days[i]) + 96 * HOUR; now += MINUTE) {
				if (!lifecycle_is_maintenance_due(last, now,
								  hour, berlin))
					continue;
				last = now;
				runs[(now + berlin(now)) / (24 * HOUR) - day]++;
			}
			/* The days that we have seen all of. */
			for (int k = 1; k <= 3; k++)
				assert_int_equal(runs[k], 1);
		}
	}
}

static void the_nearest_policy_counts(void **state)
{
	static const char text[] =
		"{\"lifecycle\":{\"reset\":{\"mode\":\"daily\"},"
		"\"reset_by_type\":{\"group\":{\"mode\":\"none\"}},"
		"\"reset_by_channel\":{\"Slack\":{\"mode\":\"idle\","
		"\"idle_minutes\":5}}}}";
	static const struct {
		struct route_context context;
		uint32_t mode;
	} v[] = {
		{ { .channel = STR_INIT("telegram") }, RESET_DAILY },
		{ { .channel = STR_INIT("telegram"),
		    .chat_type = STR_INIT("Direct ") },
		  RESET_DAILY },
		{ { .channel = STR_INIT("telegram"),
		    .chat_type = STR_INIT("channel") },
		  RESET_NONE },
		{ { .channel = STR_INIT("telegram"),
		    .chat_type = STR_INIT("group"),
		    .topic_id = STR_INIT("7") },
		  RESET_DAILY },
		{ { .channel = STR_INIT(" SLACK"),
		    .chat_type = STR_INIT("group") },
		  RESET_IDLE },
	};
	CLEANUP(arena_done) struct arena a;
	struct config c;

	(void)state;
	arena_init(&a, 0);
	assert_int_equal(
		config_read(&c, &(struct config_input){ .text = str_of(text) },
			    &a, NULL),
		WEFT_OK);
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		assert_int_equal(lifecycle_policy(&c, &v[i].context, &a).mode,
				 v[i].mode);
	assert_int_equal(config_read(&c, &(struct config_input){ 0 }, &a, NULL),
			 WEFT_OK);
	assert_int_equal(lifecycle_policy(&c, &v[0].context, &a).mode,
			 RESET_UNSET);
}

static void asking_for_a_new_conversation(void **state)
{
	static const struct {
		const char *text, *rest; /* NULL: no command */
	} v[] = {
		{ "/new", "" },         { " /NEW ", "" },
		{ "/reset", "" },       { "/new  hello ", "hello" },
		{ "/Reset\nhi", "hi" }, { "/newer", NULL },
		{ "/new-x", NULL },     { "new", NULL },
		{ "", NULL },           { "say /new", NULL },
		{ "/", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct weft_str rest = { NULL, 0 };
		bool is = lifecycle_is_reset_command(str_of(v[i].text), &rest);

		if (is != (v[i].rest != NULL) ||
		    (is && !str_eq(rest, str_of(v[i].rest))))
			fail_msg("'%s': %d, '%.*s'", v[i].text, is,
				 STR_ARG(rest));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hour_of_a_plain_day),
		cmocka_unit_test(an_hour_that_a_clock_change_leaves_out),
		cmocka_unit_test(an_hour_that_comes_twice_counts_once),
		cmocka_unit_test(the_next_time_is_the_first_after_now),
		cmocka_unit_test(every_minute_of_a_year),
		cmocka_unit_test(the_day_ends_a_conversation),
		cmocka_unit_test(a_pause_ends_a_conversation),
		cmocka_unit_test(the_end_is_known_before),
		cmocka_unit_test(a_session_expires_when_it_is_said_to),
		cmocka_unit_test(maintenance_runs_once_a_day),
		cmocka_unit_test(maintenance_and_the_change_of_clocks),
		cmocka_unit_test(the_nearest_policy_counts),
		cmocka_unit_test(asking_for_a_new_conversation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

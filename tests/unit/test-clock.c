/* test-clock.c - time as text, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

#define FIRST_MS INT64_C(-62167219200000)
#define LAST_MS  INT64_C(253402300799999)
#define DAY_MS   INT64_C(86400000)
#define CYCLE_MS (146097 * DAY_MS)

static void expect_text(int64_t ms, const char *text)
{
	char out[TIME_CHARS + 1];
	int64_t back;

	time_format(ms, out);
	assert_string_equal(out, text);
	assert_true(time_parse(str_of(text), &back));
	assert_int_equal(back, ms);
}

static void known_times_have_their_text(void **state)
{
	(void)state;
	expect_text(0, "1970-01-01T00:00:00.000Z");
	expect_text(-1, "1969-12-31T23:59:59.999Z");
	expect_text(1, "1970-01-01T00:00:00.001Z");
	expect_text(INT64_C(951782400000), "2000-02-29T00:00:00.000Z");
	expect_text(INT64_C(1794736801234), "2026-11-15T10:00:01.234Z");
	expect_text(INT64_C(-2203891200000), "1900-03-01T00:00:00.000Z");
	expect_text(FIRST_MS, "0000-01-01T00:00:00.000Z");
	expect_text(LAST_MS, "9999-12-31T23:59:59.999Z");
}

/* The calendar repeats after 400 years: every day of the first such cycle and
 * of ours and the last one, some of the others. */
static int64_t next_day(int64_t ms)
{
	bool in_first = ms < FIRST_MS + CYCLE_MS;
	bool in_last = ms > LAST_MS - CYCLE_MS;
	bool in_ours = ms > -CYCLE_MS / 2 && ms < CYCLE_MS / 2;

	return ms + (in_first || in_ours || in_last ? 1 : 97) * DAY_MS;
}

/* The C library counts days in its own way. */
static void every_day_agrees_with_the_c_library(void **state)
{
	(void)state;
	for (int64_t ms = FIRST_MS; ms <= LAST_MS; ms = next_day(ms)) {
		time_t seconds = ms / 1000 + 86399;
		char out[TIME_CHARS + 1], day[11];
		int64_t back;
		struct tm tm;

		time_format(ms + 86399123, out);
		time_format_day(ms + 86399123, day);
		assert_memory_equal(out, day, 10);
		assert_non_null(gmtime_r(&seconds, &tm));
		if ((day[0] - '0') * 1000 + (day[1] - '0') * 100 +
				    (day[2] - '0') * 10 + (day[3] - '0') !=
			    tm.tm_year + 1900 ||
		    (day[5] - '0') * 10 + (day[6] - '0') != tm.tm_mon + 1 ||
		    (day[8] - '0') * 10 + (day[9] - '0') != tm.tm_mday)
			fail_msg("%s", out);
		assert_string_equal(out + 10, "T23:59:59.123Z");
		assert_true(time_parse(str_of(out), &back));
		assert_int_equal(back, ms + 86399123);
	}
}

static void other_years_are_cut_to_the_nearest(void **state)
{
	char out[TIME_CHARS + 1];

	(void)state;
	time_format(FIRST_MS - 1, out);
	assert_string_equal(out, "0000-01-01T00:00:00.000Z");
	time_format(INT64_MIN, out);
	assert_string_equal(out, "0000-01-01T00:00:00.000Z");
	time_format(LAST_MS + 1, out);
	assert_string_equal(out, "9999-12-31T23:59:59.999Z");
	time_format(INT64_MAX, out);
	assert_string_equal(out, "9999-12-31T23:59:59.999Z");
	time_format_day(INT64_MIN, out);
	assert_string_equal(out, "0000-01-01");
	time_format_day(INT64_MAX, out);
	assert_string_equal(out, "9999-12-31");
	time_format_day(-1, out);
	assert_string_equal(out, "1969-12-31");
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"2026-11-15",
		"2026-13-15T10:00:00.000Z",
		"2026-00-15T10:00:00.000Z",
		"2026-11-00T10:00:00.000Z",
		"2026-11-31T10:00:00.000Z",
		"2026-02-29T10:00:00.000Z",
		"1900-02-29T10:00:00.000Z",
		"2000-02-30T10:00:00.000Z",
		"2026-11-15T24:00:00.000Z",
		"2026-11-15T10:60:00.000Z",
		"2026-12-31T23:59:60.000Z",
		"2026-11-15T10:00:00.00aZ",
		"2026-11-15T10:00:00.000",
		"2026-11-15T10:00:00.000ZZ",
		"2026-11-15T10:00:00,000Z",
		"2026-11-15 10:00:00.000Z",
		"2026/11/15T10:00:00.000Z",
		"2026-11-15T10-00-00.000Z",
		"-026-11-15T10:00:00.000Z",
		"+026-11-15T10:00:00.000Z",
		" 2026-11-15T10:00:00.000Z",
		"2026-11-15T10:00:00.000Z ",
		"2026-11-15T1O:00:00.000Z",
	};
	int64_t ms = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (time_parse(str_of(bad[i]), &ms) ||
		    time_parse_rfc3339(str_of(bad[i]), &ms))
			fail_msg("took %s", bad[i]);
	}
	assert_int_equal(ms, 7);
}

static void the_strict_form_is_one_form_only(void **state)
{
	static const char *const other[] = {
		"2026-11-15T10:00:00Z",      "2026-11-15T10:00:00.0Z",
		"2026-11-15T10:00:00.0000Z", "2026-11-15t10:00:00.000Z",
		"2026-11-15T10:00:00.000z",  "2026-11-15T10:00:00+00:00",
		"2026-11-15T10:00:00-0000Z",
	};
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		assert_false(time_parse(str_of(other[i]), &ms));
}

static void expect_ms(const char *text, int64_t expected)
{
	int64_t ms = -7;

	assert_true(time_parse_rfc3339(str_of(text), &ms));
	assert_int_equal(ms, expected);
}

static void any_rfc_3339_time_is_read(void **state)
{
	const int64_t ten = INT64_C(1794736800000); /* 2026-11-15T10:00:00Z */

	(void)state;
	expect_ms("2026-11-15T10:00:00Z", ten);
	expect_ms("2026-11-15t10:00:00z", ten);
	expect_ms("2026-11-15T10:00:00.5Z", ten + 500);
	expect_ms("2026-11-15T10:00:00.0019999999999999999999Z", ten + 1);
	expect_ms("2026-11-15T11:30:00+01:30", ten);
	expect_ms("2026-11-14T11:00:00.25-23:00", ten + 250);
	expect_ms("2026-11-15T10:00:00-00:00", ten);
	expect_ms("1969-12-31T23:59:59.9Z", -100);
}

static void bad_offsets_and_fractions_are_refused(void **state)
{
	static const char *const bad[] = {
		"2026-11-15T10:00:00",        "2026-11-15T10:00:00.Z",
		"2026-11-15T10:00:00+24:00",  "2026-11-15T10:00:00+01:60",
		"2026-11-15T10:00:00+0100",   "2026-11-15T10:00:00+01",
		"2026-11-15T10:00:00+01:00Z", "2026-11-15T10:00:00Z+01:00",
		"2026-11-15T10:00:00.1.2Z",   "2026-11-15T10:00:00+-1:00",
		"0000-01-01T00:00:00+00:01",  "9999-12-31T23:59:59-00:01",
	};
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (time_parse_rfc3339(str_of(bad[i]), &ms))
			fail_msg("took %s", bad[i]);
	}
}

/* A copy without a NUL, so that the sanitizer sees a read behind it. */
static void no_byte_behind_the_text_is_read(void **state)
{
	static const char text[] = "2026-11-15T10:00:00.123+01:00";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		char *copy = mem_alloc(len + 1);
		int64_t ms;

		memcpy(copy + 1, text, len);
		(void)time_parse((struct weft_str){ copy + 1, len }, &ms);
		(void)time_parse_rfc3339((struct weft_str){ copy + 1, len },
					 &ms);
		mem_free(copy);
	}
}

static int64_t fixed_time(void *ctx)
{
	return *(int64_t *)ctx;
}

static void a_clock_can_be_brought(void **state)
{
	int64_t now = 12345;
	const struct clock_source own = { fixed_time, &now };
	const struct clock_source system = { NULL, NULL };
	int64_t seconds = (int64_t)time(NULL);

	(void)state;
	assert_int_equal(clock_now_ms(&own), 12345);
	assert_in_range(clock_now_ms(NULL) / 1000, seconds - 1, seconds + 60);
	assert_in_range(clock_now_ms(&system) / 1000, seconds - 1,
			seconds + 60);
}

static void measured_time_does_not_run_backwards(void **state)
{
	int64_t before = clock_mono_us();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_mono_us();

		assert_true(now >= before);
		before = now;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_times_have_their_text),
		cmocka_unit_test(every_day_agrees_with_the_c_library),
		cmocka_unit_test(other_years_are_cut_to_the_nearest),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(the_strict_form_is_one_form_only),
		cmocka_unit_test(any_rfc_3339_time_is_read),
		cmocka_unit_test(bad_offsets_and_fractions_are_refused),
		cmocka_unit_test(no_byte_behind_the_text_is_read),
		cmocka_unit_test(a_clock_can_be_brought),
		cmocka_unit_test(measured_time_does_not_run_backwards),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}

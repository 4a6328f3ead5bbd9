/*
 * clock.c - wall-clock time and its text form.
 *
 * Dates are counted in the proleptic Gregorian calendar.  A year is taken to
 * begin in March: then the leap day is the last of its year, and the days
 * before a month follow from one formula.
 */
#include "base/clock.h"

#include <time.h>

#define MS_PER_DAY      INT64_C(86400000)
#define DAYS_PER_400    146097 /* days in 400 years, a whole cycle */
#define DAYS_TO_1970    719468 /* from 1 March of the year 0 */
#define TIME_MIN_MS     INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define TIME_MAX_MS     INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */
#define DATE_TIME_CHARS 19                       /* up to the seconds */

struct civil {
	int year, month, day;
};

int64_t clock_now_ms(const struct clock_source *c)
{
	struct timespec now;

	if (c && c->now_ms)
		return c->now_ms(c->ctx);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_mono_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Days from 1970-01-01 to the date, which is in the years 0 to 9999. */
static int64_t days_of_civil(struct civil c)
{
	int shifted = c.month > 2 ? c.month - 3 : c.month + 9; /* March: 0 */
	int64_t year = c.month > 2 ? c.year : c.year - 1;
	int64_t leap_days;

	/* January of the year 0 is in the year -1: begin a cycle earlier. */
	year += 400;
	leap_days = year / 4 - year / 100 + year / 400;
	return year * 365 + leap_days + (153 * shifted + 2) / 5 + c.day - 1 -
	       DAYS_PER_400 - DAYS_TO_1970;
}

static struct civil civil_of_days(int64_t days)
{
	int64_t d = days + DAYS_TO_1970 + DAYS_PER_400; /* never negative */
	int64_t cycle = d / DAYS_PER_400;
	int day_of_year, shifted;
	struct civil c;
	int64_t year;

	d %= DAYS_PER_400;
	/* Taking the leap days out leaves years of 365 days. */
	year = (d - d / 1460 + d / 36524 - d / 146096) / 365;
	day_of_year = (int)(d - (365 * year + year / 4 - year / 100));
	shifted = (5 * day_of_year + 2) / 153;
	c.day = day_of_year - (153 * shifted + 2) / 5 + 1;
	c.month = shifted < 10 ? shifted + 3 : shifted - 9;
	c.year = (int)(year + (cycle - 1) * 400 + (c.month <= 2));
	return c;
}

static int days_in_month(int year, int month)
{
	static const signed char days[12] = { 31, 28, 31, 30, 31, 30,
					      31, 31, 30, 31, 30, 31 };
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && is_leap);
}

static void put_digits(char *to, int n, int digits)
{
	for (int i = digits - 1; i >= 0; i--, n /= 10)
		to[i] = (char)('0' + n % 10);
}

static int64_t clamp_time(int64_t ms)
{
	if (ms < TIME_MIN_MS)
		return TIME_MIN_MS;
	return ms > TIME_MAX_MS ? TIME_MAX_MS : ms;
}

static int64_t floor_day(int64_t ms)
{
	return ms / MS_PER_DAY - (ms % MS_PER_DAY < 0);
}

void time_format_day(int64_t ms, char out[11])
{
	struct civil c = civil_of_days(floor_day(clamp_time(ms)));

	memcpy(out, "0000-00-00", 11);
	put_digits(out, c.year, 4);
	put_digits(out + 5, c.month, 2);
	put_digits(out + 8, c.day, 2);
}

void time_format(int64_t ms, char out[TIME_CHARS + 1])
{
	int rest;

	ms = clamp_time(ms);
	rest = (int)(ms - floor_day(ms) * MS_PER_DAY);
	time_format_day(ms, out);
	memcpy(out + 10, "T00:00:00.000Z", 15);
	put_digits(out + 11, rest / 3600000, 2);
	put_digits(out + 14, rest / 60000 % 60, 2);
	put_digits(out + 17, rest / 1000 % 60, 2);
	put_digits(out + 20, rest % 1000, 3);
}

/* Read `digits` digits; false if there are others. */
static bool get_digits(const char *from, int digits, int *ret)
{
	int n = 0;

	for (int i = 0; i < digits; i++) {
		if (from[i] < '0' || from[i] > '9')
			return false;
		n = n * 10 + (from[i] - '0');
	}
	*ret = n;
	return true;
}

/* The 19 characters of "2026-11-15T10:00:00". */
static bool parse_date_time(const char *p, int64_t *ret_seconds)
{
	int hour, minute, second;
	struct civil c;

	if (p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != 't') ||
	    p[13] != ':' || p[16] != ':')
		return false;
	if (!get_digits(p, 4, &c.year) || !get_digits(p + 5, 2, &c.month) ||
	    !get_digits(p + 8, 2, &c.day) || !get_digits(p + 11, 2, &hour) ||
	    !get_digits(p + 14, 2, &minute) || !get_digits(p + 17, 2, &second))
		return false;
	if (c.month < 1 || c.month > 12 || c.day < 1 ||
	    c.day > days_in_month(c.year, c.month))
		return false;
	/* A leap second has no number of its own: 60 is refused. */
	if (hour > 23 || minute > 59 || second > 59)
		return false;
	*ret_seconds =
		days_of_civil(c) * 86400 + hour * 3600 + minute * 60 + second;
	return true;
}

/* A '.' and digits, if they are there: cut to milliseconds. */
static bool parse_fraction(struct weft_str *s, int *ret_ms)
{
	int ms = 0, unit = 100;
	size_t i;

	*ret_ms = 0;
	if (s->len == 0 || s->ptr[0] != '.')
		return true;
	for (i = 1; i < s->len && s->ptr[i] >= '0' && s->ptr[i] <= '9'; i++) {
		ms += (s->ptr[i] - '0') * unit;
		unit /= 10;
	}
	*s = str_skip(*s, i);
	*ret_ms = ms;
	return i > 1;
}

/* "Z" or "+01:00", which must be all of `s`. */
static bool parse_offset(struct weft_str s, int *ret_seconds)
{
	int hours, minutes, seconds;

	if (s.len == 1 && (s.ptr[0] == 'Z' || s.ptr[0] == 'z')) {
		*ret_seconds = 0;
		return true;
	}
	if (s.len != 6 || (s.ptr[0] != '+' && s.ptr[0] != '-') ||
	    s.ptr[3] != ':')
		return false;
	if (!get_digits(s.ptr + 1, 2, &hours) || hours > 23 ||
	    !get_digits(s.ptr + 4, 2, &minutes) || minutes > 59)
		return false;
	seconds = hours * 3600 + minutes * 60;
	*ret_seconds = s.ptr[0] == '-' ? -seconds : seconds;
	return true;
}

bool time_parse_rfc3339(struct weft_str s, int64_t *ret_ms)
{
	int fraction_ms, offset;
	int64_t seconds, ms;
	struct weft_str rest;

	if (s.len < DATE_TIME_CHARS || !parse_date_time(s.ptr, &seconds))
		return false;
	rest = str_skip(s, DATE_TIME_CHARS);
	if (!parse_fraction(&rest, &fraction_ms) ||
	    !parse_offset(rest, &offset))
		return false;
	ms = (seconds - offset) * 1000 + fraction_ms;
	/* An offset can lead out of the years that can be written. */
	if (ms != clamp_time(ms))
		return false;
	*ret_ms = ms;
	return true;
}

bool time_parse(struct weft_str s, int64_t *ret_ms)
{
	/* That length with a Z leaves room for three digits and nothing else. */
	if (s.len != TIME_CHARS || s.ptr[10] != 'T' ||
	    s.ptr[TIME_CHARS - 1] != 'Z')
		return false;
	return time_parse_rfc3339(s, ret_ms);
}

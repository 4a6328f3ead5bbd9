/*
 * clock.h - wall-clock time in milliseconds, and its one text form.
 *
 * The clock is replaceable: whoever opens a store may bring one.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/base.h"

#define TIME_CHARS 24 /* 2026-11-15T10:00:00.000Z */

/* Where a store gets the time from; NULL function: the system's clock. */
struct clock_source {
	int64_t (*now_ms)(void *ctx);
	void *ctx;
};

int64_t clock_now_ms(const struct clock_source *c); /* c may be NULL */
int64_t clock_mono_us(void);                        /* for measuring */

/* Years 0000 to 9999; anything else is cut to the nearest of these. */
void time_format(int64_t ms, char out[TIME_CHARS + 1]);

/*
 * Exactly the form above.  The second also takes any RFC 3339 time: other
 * offsets, other fractions (cut to milliseconds), lower case t and z.
 */
bool time_parse(struct weft_str s, int64_t *ret_ms);
bool time_parse_rfc3339(struct weft_str s, int64_t *ret_ms);

/* "2026-11-15", the UTC day of `ms`. */
void time_format_day(int64_t ms, char out[11]);

#endif

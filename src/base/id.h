/*
 * id.h - ULIDs for sessions, ULID-shaped ids for events.
 *
 * A session id is a ULID: 48 bits of milliseconds, 80 random bits.  Ids made
 * by one process rise, also within a millisecond; a clock that steps back is
 * followed, since seq is the order and ids are only names.
 *
 * An event id is 48 bits of milliseconds, 40 bits that name the session (its
 * tag), 40 bits of seq: rising within a session, and found without an index.
 */
#ifndef BASE_ID_H
#define BASE_ID_H

#include "base/base.h"

#define ID_SEQ_MAX ((UINT64_C(1) << 40) - 1)

/* A fresh session id for the time `now_ms`.  Thread-safe. */
int id_new(int64_t now_ms, struct weft_id *ret, struct weft_error *err);

/* 26 characters of Crockford's base 32, upper case, and a NUL. */
void id_format(const struct weft_id *id, char out[WEFT_ID_CHARS + 1]);

/* False unless `s` is exactly 26 such characters (either case, first one at
 * most '7', no look-alikes). */
bool id_parse(struct weft_str s, struct weft_id *ret);

/*
 * The smallest and largest id that begins with `prefix`, 1 to 26 characters;
 * false if a character is none of the alphabet.
 */
bool id_prefix_range(struct weft_str prefix, struct weft_id *ret_low,
		     struct weft_id *ret_high);

int64_t id_time_ms(const struct weft_id *id);

/* The 40 bits that stand for a session in its events' ids. */
uint64_t id_session_tag(const struct weft_id *session);

struct weft_id id_of_event(const struct weft_id *session, int64_t ts_ms,
			   uint64_t seq);
uint64_t id_event_tag(const struct weft_id *event);
uint64_t id_event_seq(const struct weft_id *event);

static inline bool id_is_zero(const struct weft_id *id)
{
	static const struct weft_id zero;

	return memcmp(id, &zero, sizeof(zero)) == 0;
}

static inline bool id_eq(const struct weft_id *a, const struct weft_id *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/*
 * For tables that look at the low bits only.  Ids made in one millisecond
 * differ only in their last byte: it must reach every bit.
 */
static inline uint64_t id_hash(const struct weft_id *id)
{
	uint64_t h = (get_le64(id->b) ^ get_le64(id->b + 8)) *
		     UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return h ^ h >> 32;
}

static inline int id_cmp(const struct weft_id *a, const struct weft_id *b)
{
	return memcmp(a, b, sizeof(*a));
}

#endif

/*
 * id.c - ULIDs for sessions, ULID-shaped ids for events.
 *
 * All ids are 128-bit numbers, most significant byte first:
 *
 *   session   6 bytes milliseconds, 10 bytes random
 *   event     6 bytes milliseconds, 5 bytes tag, 5 bytes seq
 *
 * The tag is the last 5 bytes of the session's id.  All of them are random,
 * and sessions made in the same millisecond differ in them.
 */
#include "base/id.h"

#include <endian.h>
#include <pthread.h>
#include <unistd.h>

#include "base/hash.h"

typedef unsigned __int128 u128;

#define MS_MAX    ((INT64_C(1) << 48) - 1)
#define FIRST_MAX 7 /* 26 characters are 130 bits: the first has only 3 */

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* The id that this process made last; zero: none. */
static struct {
	pthread_mutex_t lock;
	struct weft_id id;
	pid_t pid;
} last = { .lock = PTHREAD_MUTEX_INITIALIZER };

static u128 id_number(const struct weft_id *id)
{
	uint64_t high, low;

	memcpy(&high, id->b, 8);
	memcpy(&low, id->b + 8, 8);
	return (u128)be64toh(high) << 64 | be64toh(low);
}

static struct weft_id id_of_number(u128 n)
{
	uint64_t high = htobe64((uint64_t)(n >> 64));
	uint64_t low = htobe64((uint64_t)n);
	struct weft_id id;

	memcpy(id.b, &high, 8);
	memcpy(id.b + 8, &low, 8);
	return id;
}

static uint64_t clamp_ms(int64_t ms)
{
	if (ms < 0)
		return 0;
	return (uint64_t)(ms > MS_MAX ? MS_MAX : ms);
}

static void put_ms(struct weft_id *id, uint64_t ms)
{
	for (int i = 5; i >= 0; i--, ms >>= 8)
		id->b[i] = (unsigned char)ms;
}

int id_new(int64_t now_ms, struct weft_id *ret, struct weft_error *err)
{
	uint64_t ms = clamp_ms(now_ms);
	struct weft_id id;
	pid_t pid = getpid();
	int r = WEFT_OK;

	(void)pthread_mutex_lock(&last.lock);
	/* A forked child has its parent's last id and must not go on from it. */
	if (last.pid == pid && (uint64_t)id_time_ms(&last.id) == ms) {
		id = id_of_number(id_number(&last.id) + 1);
	} else {
		r = random_bytes(id.b + 6, sizeof(id.b) - 6, err);
		/* Half of the range is left for counting up from here. */
		id.b[6] &= 0x7f;
		put_ms(&id, ms);
	}
	if (r == WEFT_OK) {
		last.id = id;
		last.pid = pid;
	}
	(void)pthread_mutex_unlock(&last.lock);
	if (r == WEFT_OK)
		*ret = id;
	return r;
}

/* Write the last `chars` digits of n. */
static void put_digits(char *out, uint64_t n, int chars)
{
	for (int i = chars - 1; i >= 0; i--, n >>= 5)
		out[i] = alphabet[n & 31];
}

/* In pieces that a register holds: every event that is read gets one. */
void id_format(const struct weft_id *id, char out[WEFT_ID_CHARS + 1])
{
	u128 n = id_number(id);

	put_digits(out, (uint64_t)(n >> 120), 2);
	put_digits(out + 2, (uint64_t)(n >> 60), 12);
	put_digits(out + 14, (uint64_t)n, 12);
	out[WEFT_ID_CHARS] = '\0';
}

/* The value of a character, 0 to 31, or -1. */
static int char_value(char c)
{
	const char *found;

	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	found = memchr(alphabet, c, sizeof(alphabet) - 1);
	return found ? (int)(found - alphabet) : -1;
}

/* Read all of `s` as the leading digits of a number. */
static bool parse_digits(struct weft_str s, u128 *ret)
{
	u128 n = 0;

	for (size_t i = 0; i < s.len; i++) {
		int v = char_value(s.ptr[i]);

		if (v < 0 || (i == 0 && v > FIRST_MAX))
			return false;
		n = n << 5 | (unsigned)v;
	}
	*ret = n;
	return true;
}

bool id_parse(struct weft_str s, struct weft_id *ret)
{
	u128 n;

	if (s.len != WEFT_ID_CHARS || !parse_digits(s, &n))
		return false;
	*ret = id_of_number(n);
	return true;
}

bool id_prefix_range(struct weft_str prefix, struct weft_id *ret_low,
		     struct weft_id *ret_high)
{
	unsigned free_bits;
	u128 n;

	if (prefix.len == 0 || prefix.len > WEFT_ID_CHARS ||
	    !parse_digits(prefix, &n))
		return false;
	free_bits = (unsigned)(WEFT_ID_CHARS - prefix.len) * 5;
	*ret_low = id_of_number(n << free_bits);
	*ret_high = id_of_number(n << free_bits | (((u128)1 << free_bits) - 1));
	return true;
}

int64_t id_time_ms(const struct weft_id *id)
{
	return (int64_t)(id_number(id) >> 80);
}

uint64_t id_session_tag(const struct weft_id *session)
{
	return (uint64_t)id_number(session) & ID_SEQ_MAX;
}

struct weft_id id_of_event(const struct weft_id *session, int64_t ts_ms,
			   uint64_t seq)
{
	return id_of_number((u128)clamp_ms(ts_ms) << 80 |
			    (u128)id_session_tag(session) << 40 |
			    (seq & ID_SEQ_MAX));
}

uint64_t id_event_tag(const struct weft_id *event)
{
	return (uint64_t)(id_number(event) >> 40) & ID_SEQ_MAX;
}

uint64_t id_event_seq(const struct weft_id *event)
{
	return (uint64_t)id_number(event) & ID_SEQ_MAX;
}

/*
 * lease.h - the right to write a session, for one owner and for a while.
 *
 * A lease has a token: the number of the event that began it, so that a later
 * one is always larger.  Whether it is still in force is a question of the
 * clock; the events only say until when.
 */
#ifndef MODEL_LEASE_H
#define MODEL_LEASE_H

#include "base/arena.h"
#include "base/buf.h"
#include "weft/store.h"

enum lease_how {
	LEASE_ACQUIRE = 1, /* if nobody has it */
	LEASE_RENEW,
	LEASE_RELEASE,
	LEASE_TAKEOVER /* whoever has it */
};

const char *lease_how_name(uint32_t how);
bool lease_how_parse(struct weft_str s, uint32_t *ret);

static inline bool lease_in_force(const struct session_rec *rec, int64_t now_ms)
{
	return rec->lease_token && rec->lease_expires_at > now_ms;
}

/* EVENT_LEASE: what was done, and what holds from then on. */
struct lease {
	uint32_t how; /* enum lease_how */
	struct weft_str owner;
	uint64_t token;
	int64_t expires_at;
};
void lease_body(struct buf *b, const struct lease *l);

/* The same from a stored body; a `how` of 0 says that it makes no sense.
 * Fails only for want of memory. */
int lease_read(struct weft_str body, struct arena *a, struct lease *ret,
	       struct weft_error *err);

/* For derive(): what holds after it. */
void lease_apply(const struct lease *l, struct session_rec *rec);

#endif

/*
 * retention.h - which sessions have been kept long enough: decisions, as pure
 * functions of what is known of them.
 *
 * Sessions are judged one after the other, the one that was last spoken in
 * first, so that caps keep the latest.  The first rule that fits a session
 * counts, as with rules of routing; one that has no limit keeps what it fits.
 * Where no rule fits, nothing is removed, by hand or by time.
 */
#ifndef ROUTE_RETENTION_H
#define ROUTE_RETENTION_H

#include "model/record.h"
#include "route/config.h"

/* How much one rule has kept so far. */
struct retention_count {
	uint64_t sessions, bytes;
};

/* One pass over all sessions. */
struct retention {
	const struct config_retention *config;
	int64_t now_ms;
	struct retention_count *counts; /* one for each rule */
};

int retention_begin(struct retention *t, const struct config_retention *c,
		    int64_t now_ms, struct arena *a, struct weft_error *err);

enum retention_verdict {
	RETENTION_KEEP,
	RETENTION_REMOVE, /* into the trash */
	RETENTION_PURGE   /* it has been there long enough */
};

/* Judge the next session; *ret_why says which rule decided, unless it is kept. */
enum retention_verdict retention_judge(struct retention *t,
				       const struct session_rec *rec,
				       struct arena *a,
				       struct weft_str *ret_why);

/* It was judged otherwise, but stays: it takes its place among those that are
 * kept. */
void retention_spare(struct retention *t, const struct session_rec *rec,
		     struct arena *a);

/*
 * Why a session must not be removed, whatever the rules say: somebody has
 * pinned it, holds it or is at work in it.  NULL if nothing speaks against it.
 */
const char *retention_protects(const struct session_rec *rec, int64_t now_ms);

/*
 * When somebody last spoke in a session, as far as that can be known: a clock
 * that was wrong, ahead, counts for nothing.  0: not known.
 */
int64_t retention_last_use(const struct session_rec *rec, int64_t now_ms);

#endif

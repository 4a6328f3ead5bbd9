/*
 * pairs.h - where a cut parts no call from its result.
 *
 * People speak while a tool is at work, so a turn may begin between a call and
 * its result.  Who looks for a place to cut goes through the messages from the
 * end, and tells of the results and the calls in each: as long as a result
 * waits for its call, the cut may not fall.
 *
 * A result waits for PAIR_MESSAGES messages and no longer: its call may not be
 * there at all, and the cost of a cut must not depend on that.
 */
#ifndef MODEL_PAIRS_H
#define MODEL_PAIRS_H

#include "base/arena.h"

#define PAIR_MESSAGES 128
#define PAIR_WAITS    1024 /* at once; any further ones do not wait */

struct pair_wait;

struct pairs {
	struct arena *arena;
	struct pair_wait *waits; /* the oldest result first */
	size_t n_waits;
	uint64_t n; /* messages so far */
};

/* What one message has, its last part first; the ids must stay. */
void pairs_result(struct pairs *p, struct weft_str id);
void pairs_call(struct pairs *p, struct weft_str id);

/* The same for the body of a stored message.  Fails for want of memory. */
int pairs_read(struct pairs *p, struct weft_str body, struct weft_error *err);

/* That was the whole message: may the cut fall in front of it? */
bool pairs_may_cut(struct pairs *p);

#endif

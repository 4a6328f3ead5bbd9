/*
 * turn.h - the mark that somebody is at work in a session.
 *
 * A turn begins with what the user said and ends with the answer, tools
 * included.  Whoever carries it out says so before and after, so that others
 * leave the session alone meanwhile, and so that it is known after a crash that
 * an answer is missing.
 */
#ifndef MODEL_TURN_H
#define MODEL_TURN_H

#include "base/arena.h"
#include "base/buf.h"
#include "weft/store.h"

enum turn_state { TURN_BEGUN = 1, TURN_ENDED, TURN_FAILED };

bool turn_state_parse(struct weft_str s, uint32_t *ret);

/* EVENT_TURN */
struct turn {
	uint32_t state;         /* enum turn_state */
	struct weft_str reason; /* FAILED: why, or empty; of one line */
};
void turn_body(struct buf *b, const struct turn *t);

/* Whether such a body says that a turn begins. */
bool turn_body_begins(struct weft_str body);

/* The same from a stored body; a state of 0 says that it makes no sense.
 * Fails only for want of memory. */
int turn_read(struct weft_str body, struct arena *a, struct turn *ret,
	      struct weft_error *err);

/* For derive(): what holds after an event of that time. */
void turn_apply(const struct turn *t, int64_t ts_ms, struct session_rec *rec);

/* Nobody works for so long without writing anything: it was a crash. */
#define TURN_DEAD_MS (INT64_C(24) * 60 * 60 * 1000)

/* Whether a turn is being carried out, as far as the events can tell. */
bool turn_is_running(const struct session_rec *rec, int64_t now_ms);

#endif

/*
 * marker.h - where the window of a session begins.
 *
 * A window is what a model is given: a summary, and the messages from a
 * number on.  Every change of it (compact, truncate, clear, a new history,
 * undo) is an event of type marker that says all of it, so that nobody has to
 * look at more than the marker in force.
 */
#ifndef MODEL_MARKER_H
#define MODEL_MARKER_H

#include "base/arena.h"
#include "base/buf.h"
#include "weft/store.h"

enum marker_how {
	MARKER_COMPACT = 1,
	MARKER_TRUNCATE,
	MARKER_CLEAR,
	MARKER_HISTORY, /* messages follow, in the same atomic group */
	MARKER_UNDO,
	MARKER_REDO /* an undo of an undo */
};

struct marker {
	uint32_t how;            /* enum marker_how; 0: not known */
	uint64_t first_kept;     /* a number; past the last keeps nothing */
	struct weft_str summary; /* of what comes before, or empty */
	uint64_t tokens_saved;   /* as the caller said */
	uint64_t undoes;         /* UNDO, REDO: the marker that is undone */
};

const char *marker_how_name(uint32_t how); /* "compact", ... */

void body_marker(struct buf *b, const struct marker *m);

/*
 * Read the body of a marker.  One that says nothing that can be understood
 * keeps everything.  Fails only for want of memory.
 */
int marker_read(struct weft_str body, struct arena *a, struct marker *ret,
		struct weft_error *err);

/*
 * Where an automatic cut falls: a turn is never cut in two.  A place is asked
 * for, so many messages from the end or a number.  The cut falls where the turn
 * begins that the place is in; if that is the beginning of the window, where
 * the next one begins, unless a summary stands for what is before the place:
 * what is between the two would be nowhere then.  Where nobody begins a turn, it
 * falls where it was asked for.
 */
struct turn_cut {
	uint64_t keep;   /* so many messages from the end, or UINT64_MAX */
	uint64_t before; /* or from this number on, or 0 */
	bool no_less;    /* than what was asked for may be kept */

	uint64_t seen;   /* so many messages, ... */
	uint64_t last;   /* ... and this one last */
	uint64_t target; /* the place that was asked for */
	uint64_t later;  /* the first turn from there on */
	uint64_t turn;   /* the last turn up to there ... */
	bool is_inside;  /* ... which is not where the window begins */
};

/* Tell of the messages of a window, the newest first; true: that will do.  A
 * turn that a cut may not fall in front of (pairs.h) is none. */
bool turn_cut_see(struct turn_cut *c, uint64_t seq, bool starts_turn);
/* The number of the first message that is kept; 0: it cannot be cut;
 * UINT64_MAX: there is nothing at the place or behind it. */
uint64_t turn_cut_end(const struct turn_cut *c);

#endif

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

#endif

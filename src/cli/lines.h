/*
 * lines.h - cut a stream of bytes into lines, each of a limited length.
 *
 * No input or output of its own: bytes are put in as they come, lines are
 * taken out as they become whole.  A line that is too long is dropped as it
 * comes, so that memory stays bounded, and reported in its place.
 */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "base/buf.h"

struct lines {
	struct buf b;     /* what is not taken yet */
	size_t taken;     /* of b: already handed out */
	size_t scanned;   /* of b: known to have no newline */
	size_t max;       /* longest line, without its newline */
	bool dropping;    /* inside of a line that is too long */
	bool ended;       /* no more bytes will come */
	uint64_t dropped; /* bytes of the line being dropped */
	uint64_t number;  /* of the line handed out last, from 1 */
};

struct line {
	struct weft_str text; /* without newline; valid until the next put */
	uint64_t number;
	/* Not 0: it had so many bytes, which is too long; text is empty. */
	uint64_t too_long;
};

void lines_init(struct lines *l, size_t max);
void lines_done(struct lines *l); /* also for CLEANUP */

/* Room for bytes to come, NULL without memory; then say how many came. */
char *lines_room(struct lines *l, size_t n);
void lines_came(struct lines *l, size_t n);
/* The end of the stream; the rest, if there is one, becomes a line. */
void lines_end(struct lines *l);

/* The next whole line, or false if there is none yet. */
bool lines_next(struct lines *l, struct line *ret);

#endif

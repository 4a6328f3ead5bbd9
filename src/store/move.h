/*
 * move.h - copy everything from one store into another.
 *
 * The source is only read.  What the target has of a session already is not
 * copied again, so that a move that was cut short goes on when it is done once
 * more.  Afterwards every session is read from both, and must have the same
 * digest.
 */
#ifndef STORE_MOVE_H
#define STORE_MOVE_H

#include "store/store.h"

#define MOVE_DIGEST_BYTES 32

struct move_report {
	uint64_t sessions, events, bytes; /* what the target now has of it */
	uint64_t copied;                  /* events that were copied */
	/* Over all sessions by their ids; the same for the same events in
	 * any store. */
	unsigned char digest[MOVE_DIGEST_BYTES];
	/* Called now and then; may be NULL. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
};

/*
 * WEFT_EXISTS if the target has a session that the source does not have,
 * WEFT_CONFLICT if it has one of the same id with other events.
 */
int store_move(struct store *from, struct store *to, struct move_report *report,
	       struct weft_error *err);

#endif

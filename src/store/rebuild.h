/*
 * rebuild.h - derive everything that is derived again, from events alone.
 *
 * Hand it every event of every session, those of one session in their order,
 * then let it settle what descendants have spent.  The index then holds what
 * the records, names and marks should be.
 */
#ifndef STORE_REBUILD_H
#define STORE_REBUILD_H

#include "store/index.h"

struct spent;

struct rebuild {
	struct index index;
	struct arena scratch; /* of one event */
	struct arena kept;    /* holds `spent` */
	struct spent *spent;
};

void rebuild_init(struct rebuild *b);
void rebuild_done(struct rebuild *b); /* also for CLEANUP */

int rebuild_event(struct rebuild *b, const struct store_event *e,
		  struct weft_error *err);
/* Once, after the last event. */
int rebuild_settle(struct rebuild *b, struct weft_error *err);

#endif

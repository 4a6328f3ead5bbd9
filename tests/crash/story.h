/*
 * story.h - a story that goes through every part of the session model, told
 * through the door to a store on a simulated disk.
 */
#ifndef CRASH_STORY_H
#define CRASH_STORY_H

#include "crash/lab.h"
#include "weft/weft.h"

struct engine;

struct scene {
	const char *call; /* ' for "; NULL: a checkpoint */
	int64_t later_ms; /* so much time passes before it */
	bool refused;     /* it must be, and changes nothing */
	/* Not one commit but several: what was interrupted is finished by
	 * asking again. */
	bool in_steps;
	/* What it spares because of others it may take when asked again. */
	bool spares;
};

extern const struct scene story[];
extern const size_t story_n;

/* A store on a disk, with an engine and a handle over it. */
struct stage {
	struct lab *l;
	struct weft_store *s;
	struct engine *e;
	struct weft_error err;
};

/* On any disk, with the clock and the limits of the lab. */
int stage_open(struct stage *t, struct lab *l, struct simdisk *disk);
int stage_close(struct stage *t); /* takes one that is not open */

/* What the store said to a step. */
int stage_play(struct stage *t, const struct scene *scene);

/* Everything that can be read, as one number. */
uint64_t stage_digest(struct stage *t);

/* What searches find, as one number; `wait`: from an index that is complete. */
uint64_t stage_found(struct stage *t, bool wait);

/* Nothing is damaged, and a rebuild finds nothing to change. */
void stage_verify(struct stage *t);

#endif

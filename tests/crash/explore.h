/*
 * explore.h - look at a disk before every change that is made to it.
 *
 * A hook clones the disk before each call that changes something.  After each
 * step of the story the clones are cut off their power in several ways, and
 * each outcome that has not been seen is recovered and checked.
 */
#ifndef CRASH_EXPLORE_H
#define CRASH_EXPLORE_H

#include "crash/lab.h"

struct snapshot {
	struct simdisk *disk;
	struct moment at;
	uint64_t no;
};

struct explorer {
	struct lab *l;
	struct snapshot *v;
	size_t n, room;
	unsigned seeds; /* random cuts of each snapshot */
	uint64_t first_seed;
	struct simset states;  /* disks, after the cut */
	struct simset checked; /* disks, with the moment of the truth */
	uint64_t max_checked;  /* then stop; 0: never */
	char problem[1024];    /* the first that was found */
};

void explore_start(struct explorer *x, struct lab *l, unsigned seeds);
void explore_stop(struct explorer *x);
bool explore_is_over(const struct explorer *x);

#endif

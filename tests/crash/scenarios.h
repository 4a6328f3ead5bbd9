/*
 * scenarios.h - crashes that a review of the design thought of, by name.
 *
 * One more of them is about PostgreSQL, which is no part of this store.
 */
#ifndef CRASH_SCENARIOS_H
#define CRASH_SCENARIOS_H

#include "crash/explore.h"

enum { A, B, C, D };

/* Open it in one process, with one session and a first line. */
struct weft_id begin_in(struct lab *l, unsigned process);

extern const struct suite log_scenarios, file_scenarios, other_scenarios,
	behind_scenarios, catalogue_scenarios, room_scenarios;

#endif

/*
 * drop.h - which events of a session may be dropped: the rules of erase,
 * reclaim and purge.
 */
#ifndef MODEL_DROP_H
#define MODEL_DROP_H

#include "model/gone.h"

struct drop_rule {
	uint32_t why; /* enum gone_why */
	/* RECLAIM, PURGE: the last event of the session that a fork has
	 * inherited, or 0. */
	uint64_t inherited;
	uint64_t first_kept; /* RECLAIM: where the window begins */
	/* ERASE: the messages, by rising number. */
	const uint64_t *targets;
	size_t n_targets;
	/* RECLAIM: the last event of each type, all others of some types being
	 * without effect. */
	uint64_t last_of[EVENT_TYPES];
};

enum drop_verdict {
	DROP_KEEP,
	DROP_HELD, /* it would go, but for a fork */
	DROP_GO,
	DROP_BARE /* of the first event of a purged session only what leads on
		     to its parent stays, of the purge only that it was */
};

/*
 * RECLAIM takes the messages before the window, and what is without effect
 * there; PURGE all that no fork sees; ERASE what it is told to.  A session's
 * first event stays in any case.
 */
enum drop_verdict drop_judge(const struct drop_rule *rule,
			     const struct store_event *e,
			     const struct gone_facts *gone);

/* The record of which the first event of a purged session is made. */
struct session_rec drop_bare(const struct session_rec *rec);

#endif

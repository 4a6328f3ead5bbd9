/*
 * hostile.h - logs that nobody should have written, and what must hold for
 * whatever is rendered from them.
 */
#ifndef TESTS_RENDER_HOSTILE_H
#define TESTS_RENDER_HOSTILE_H

#include "base/arena.h"
#include "model/render.h"

/* Where choices come from: bytes of somebody's, and then a seed. */
struct dice {
	const uint8_t *data;
	size_t len;
	uint64_t state;
};

#define HOSTILE_MESSAGES 24
#define HOSTILE_TEXTS    96

struct hostile_log {
	struct weft_str bodies[HOSTILE_MESSAGES];
	size_t n;
	size_t n_texts;
	/* Of text number i, "ti.": may it be looked for?  System texts stay
	 * under any budget, others only without one. */
	bool in_messages[HOSTILE_TEXTS], in_system[HOSTILE_TEXTS];
	size_t last_user; /* the text that begins the last turn, or SIZE_MAX */
	bool damaged;     /* nobody knows what it says */
	struct weft_str summary;
	struct render_options options;
};

void hostile_make(struct hostile_log *log, struct dice *d, struct arena *a);

/*
 * Render, and return what is wrong with the result in `why`, or NULL.  *ret is
 * the result, in the arena.
 */
const char *hostile_check(const struct hostile_log *log, struct arena *a,
			  char why[300], struct weft_str *ret);

#endif

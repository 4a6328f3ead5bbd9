/*
 * memory.h - what is to be remembered beyond the window: short texts.
 *
 * A memory is an event of its session (one that belongs to a project or to the
 * whole store, of a book), and so is forgetting it.  Both say where the one
 * before them is ("prev"), and the record where the last one is, so that the
 * memories of a session are found without reading it.
 */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "base/arena.h"
#include "base/buf.h"
#include "weft/store.h"

/* Both kinds of events, as a bit set. */
#define MEMORY_TYPES (UINT64_C(1) << EVENT_MEMORY | UINT64_C(1) << EVENT_FORGET)

static inline bool memory_is_type(uint32_t type)
{
	return type == EVENT_MEMORY || type == EVENT_FORGET;
}

struct memory {
	struct weft_str title, content, source; /* but for content, or empty */
	uint64_t target;                        /* EVENT_FORGET: which one */
	uint64_t prev;                          /* or 0 */
};

/* Trim it and check it: WEFT_INVALID or WEFT_LIMIT name the field. */
int memory_check(struct memory *m, const struct store_limits *limits,
		 struct weft_error *err);

/* EVENT_MEMORY and EVENT_FORGET, without "prev". */
void memory_body(struct buf *b, const struct memory *m);
void memory_body_forget(struct buf *b, uint64_t target);

/* Put "prev" in front of a body, unless it is 0; and take it away. */
void memory_body_chain(struct buf *b, uint64_t prev, struct weft_str body);
struct weft_str memory_body_unchained(struct weft_str body);

/* From a stored body; what a person has edited away is empty or 0.  Fails only
 * for want of memory. */
int memory_read(struct weft_str body, struct arena *a, struct memory *ret,
		struct weft_error *err);

#endif

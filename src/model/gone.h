/*
 * gone.h - the line that stands for events which were dropped on purpose.
 *
 * Its body is, after "to" (the last number it stands for, if there are
 * several), why they went, and what they had meant for the session's record,
 * so that everything that is derived comes out the same without them:
 *
 *   "to":900,"why":"reclaim","sum":{"messages":450,"turns":200,
 *    "content_seq":899,"said_at":"...","spent":{...},
 *    "first_user":{"seq":2,"text":"..."},"last_user":...,"last_agent":...}
 *
 * A message that was erased says what it was, for who counts on pairs, and
 * keeps no text: "why":"erase","was":"message","role":"user","sum":{...}.
 */
#ifndef MODEL_GONE_H
#define MODEL_GONE_H

#include "base/arena.h"
#include "base/buf.h"
#include "weft/store.h"

enum gone_why { GONE_RECLAIM = 1, GONE_ERASE, GONE_PURGE };

const char *gone_why_name(uint32_t why);

struct gone {
	uint32_t why; /* enum gone_why */
	uint64_t seq, to;
	uint32_t role; /* of an erased message */
	/* What deriving them alone gave, or NULL: it does not matter. */
	const struct session_rec *sum;
};
void gone_body(struct buf *b, const struct gone *g);

/* What a line of type gone says of those it stands for; a role of 0: not of a
 * message. */
struct gone_facts {
	uint32_t role;
	bool has_sum;
};
int gone_facts_read(struct weft_str body, struct arena *a,
		    struct gone_facts *ret, struct weft_error *err);

/* Work the sum of such a line into the record, but for its totals, which are
 * in *ret_own.  CORRUPT if the body makes no sense. */
int gone_apply(struct session_rec *rec, struct weft_str body, struct arena *a,
	       struct totals *ret_own, struct weft_error *err);

#endif

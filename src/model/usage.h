/* usage.h - what a message cost: tokens, and money as an exact number. */
#ifndef MODEL_USAGE_H
#define MODEL_USAGE_H

#include "base/json.h"
#include "weft/store.h"

/*
 * Nano-dollars of a JSON number that stands for dollars, exact in decimal; a
 * half is rounded up.  False if it is negative, or 2^63 nano-dollars or more.
 */
bool money_parse(struct weft_str decimal, uint64_t *ret_nano);

/*
 * Read a "usage" object; `raw` is its text.  Members that are not ours may be
 * anything.  Without a price, ret->unpriced is 1.  WEFT_INVALID names the
 * member.
 */
int usage_read(yyjson_val *usage, struct weft_str raw, struct totals *ret,
	       struct weft_error *err);

/* Read a "spent" object (body_usage): sums of ours, with money as a number. */
void spent_read(yyjson_val *spent, struct totals *ret);

/* True if nothing was spent: there is nothing to write down. */
bool usage_is_nothing(const struct totals *spent);

/* EVENT_USAGE: what a session spent without saying anything; a "usage" object
 * that was read. */
void usage_body(struct buf *b, struct weft_str usage);

#endif

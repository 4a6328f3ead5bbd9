/* parts.h - the parts of a message: their kinds and what each must have. */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "base/json.h"

/*
 * Check a list of parts.  `name` is how errors call it ("parts").  WEFT_INVALID
 * if it is no list or empty, WEFT_LIMIT over `max`, else WEFT_INVALID_PART or
 * WEFT_UNKNOWN_PART_KIND.
 */
int parts_check(yyjson_val *parts, const char *name, uint64_t max,
		struct weft_error *err);

/* The first text that is not empty, and whether there is anything but tool
 * results.  Takes anything. */
void parts_read(yyjson_val *parts, struct weft_str *ret_text,
		bool *ret_more_than_results);

/* Whether there is an image among them, or in a result.  Takes anything. */
bool parts_have_image(yyjson_val *parts);

#endif

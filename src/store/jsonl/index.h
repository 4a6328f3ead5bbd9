/*
 * index.h - every line of one file in memory, sorted by its number.
 *
 * For files that are out of order, and for repair.  Of two lines with one
 * number the one that stands first in the file comes first.
 */
#ifndef STORE_JSONL_INDEX_H
#define STORE_JSONL_INDEX_H

#include "base/file.h"
#include "weft/store.h"

struct index_line {
	uint64_t seq; /* a damaged line has the one after its neighbour's */
	struct weft_str text;
	uint64_t offset;
	uint32_t no; /* which line of the file, from 1 */
};

struct line_index {
	char *bytes; /* the whole file */
	struct index_line *v;
	size_t n;
	bool sorted; /* it was in order as it stood */
};

int line_index_read(struct line_index *x, const struct weft_id *session,
		    struct file *f, uint64_t size, struct weft_error *err);
void line_index_done(struct line_index *x); /* also for CLEANUP */

#endif

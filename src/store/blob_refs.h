/* blob_refs.h - which blobs a line refers to. */
#ifndef STORE_BLOB_REFS_H
#define STORE_BLOB_REFS_H

#include "base/base.h"
#include "weft/store.h"

/*
 * Find the next reference in *rest, and leave in it what follows; false if
 * there are no more.  Its size is 0 where the line does not say it.  Every text
 * that looks like a hash counts, better one too many: a blob that is not there
 * is no damage.
 */
bool blob_ref_next(struct weft_str *rest, struct blob_ref *ret);

/* Say that an event refers to a blob that is not there. */
int report_lost_blob(struct store_report *report, const struct weft_id *session,
		     const char *file, uint64_t line, uint64_t offset,
		     const struct blob_ref *ref, struct weft_error *err);

#endif

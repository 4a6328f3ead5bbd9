/*
 * blob.h - attachments of the JSONL store: blobs/ab/<sha256 in hex>.
 *
 * DESIGN: put writes a temporary file, syncs it, renames it, and always syncs
 * the shard directory, also when the blob was there already: whoever put it
 * may have died before doing so.  A hit touches the file, and so does the
 * write that refers to it, under the store's lock; so collection, which holds
 * that lock and only takes what is older than a day and not referred to before,
 * can race neither.  Between looking at the time and removing the file it is
 * kept out by a lock on the file.
 */
#ifndef STORE_JSONL_BLOB_H
#define STORE_JSONL_BLOB_H

#include "base/arena.h"
#include "base/file.h"
#include "weft/store.h"

/* `dir` is blobs/, and is there. */
int blob_put(struct fs *fs, const char *dir, struct weft_str bytes,
	     struct blob_ref *ret, struct weft_error *err);
/* NOT_FOUND, or CORRUPT if the bytes do not have that hash. */
int blob_get(struct fs *fs, const char *dir, const struct blob_ref *ref,
	     struct arena *a, struct weft_str *ret, struct weft_error *err);
/* 1 if it is there with its size, else 0; its hash is not checked. */
int blob_exists(struct fs *fs, const char *dir, const struct blob_ref *ref);
/* The same for a write that refers to it: it is as young as a new one then. */
int blob_use(struct fs *fs, const char *dir, const struct blob_ref *ref);

/*
 * Call `each` for every blob until it returns other than 0, which is returned.
 * Other files there are problems in the report (NULL: nobody asks), but for
 * temporary ones, which are left to blob_collect.
 */
int blob_each(struct fs *fs, const char *dir, struct store_report *report,
	      int (*each)(void *ctx, const struct blob_ref *ref), void *ctx,
	      struct weft_error *err);

/*
 * Remove blobs older than `before_ms` for which is_used() says 0, and left
 * over temporary files as old.  The report, unless NULL, counts the blobs that
 * are left, in `changed` what was removed.  A negative is_used() ends it.
 */
int blob_collect(struct fs *fs, const char *dir, int64_t before_ms,
		 int (*is_used)(void *ctx, const struct blob_ref *ref),
		 void *ctx, struct store_report *report,
		 struct weft_error *err);

/*
 * Remove one blob, however young; WEFT_OK also if it is not there, or if
 * somebody is putting it just now.  Its name is gone for good on return.
 */
int blob_drop(struct fs *fs, const char *dir, const struct blob_ref *ref,
	      struct store_report *report, struct weft_error *err);

#endif

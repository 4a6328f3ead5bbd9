/*
 * catalog.h - the JSONL store's catalogue: derived rows in SQLite.
 *
 * It can be deleted at any time and comes back from the session files.  All
 * of SQLite is behind this header; its files go through base/file.h.
 *
 * Every page has a checksum: what is read is what was written, or WEFT_CORRUPT.
 *
 * A row carries the log position (lsn) of its last change; an update takes
 * effect only if its lsn is larger, so that a process that lags behind never
 * puts an old row over a newer one.  Names and hidden marks go by their own
 * versions (match_name_wins).
 *
 * A struct catalog may be used by many threads; calls wait for each other.
 * Other processes may read and write the same file.
 */
#ifndef STORE_JSONL_CATALOG_H
#define STORE_JSONL_CATALOG_H

#include "base/arena.h"
#include "base/file.h"
#include "weft/store.h"

struct catalog;

/* What the JSONL store knows of a session besides its record. */
struct catalog_row {
	struct session_rec rec;
	uint64_t lsn;
	uint64_t gen;       /* of its file */
	uint64_t end;       /* size of its file when the row was made */
	uint64_t irregular; /* its numbers do not rise: read it all */
};

struct catalog_name {
	struct name_rec name;
	uint64_t lsn;
};

struct catalog_meta {
	struct weft_id store;
	uint64_t applied;  /* log position up to which everything is in here */
	uint64_t complete; /* 0: being rebuilt, nothing may be relied on */
};

enum catalog_flags {
	CATALOG_READ_ONLY = 1, /* opens also on a read-only file system */
	CATALOG_IN_MEMORY = 2  /* path is ignored; nothing on disk */
};

/*
 * Open or make the catalogue at `path`.  WEFT_CORRUPT if it is damaged, no
 * database, or of another schema: then remove it and make a new one, with
 * meta.complete = 0.  WEFT_NOT_FOUND if it is READ_ONLY and not there, or
 * WEFT_CORRUPT if it would have to be mended first.
 */
int catalog_open(struct fs *fs, const char *path, unsigned flags,
		 struct catalog **ret, struct weft_error *err);
void catalog_close(struct catalog *c); /* takes NULL */

int catalog_get_meta(struct catalog *c, struct catalog_meta *ret,
		     struct weft_error *err);

/* The file that is open; to notice that somebody has removed it. */
int catalog_file_stat(struct catalog *c, struct file_stat *ret);

/*
 * One transaction, synchronous=FULL: begin, put..., set_meta, commit.  Only
 * one thread may have one open.  Reads go on meanwhile and see what was there
 * before; in memory they wait, but for those of the same thread, which see what
 * was put.  After a failure: catalog_rollback.
 */
int catalog_begin(struct catalog *c, struct weft_error *err);
int catalog_put(struct catalog *c, const struct catalog_row *row,
		struct weft_error *err);
int catalog_put_name(struct catalog *c, const struct catalog_name *name,
		     struct weft_error *err);
/* The mark with the largest `by` counts. */
int catalog_put_hide(struct catalog *c, const struct weft_id *session,
		     const struct store_hide *hide, struct weft_error *err);
int catalog_set_meta(struct catalog *c, const struct catalog_meta *meta,
		     struct weft_error *err);
int catalog_clear(struct catalog *c, struct weft_error *err); /* every row */
/* The row of a session and, if it is gone for good, its marks. */
int catalog_drop(struct catalog *c, const struct weft_id *session, bool marks,
		 struct weft_error *err);
int catalog_drop_name(struct catalog *c, struct weft_str name,
		      struct weft_error *err);
int catalog_commit(struct catalog *c, struct weft_error *err);
void catalog_rollback(struct catalog *c);

/*
 * Reads of this thread between these two see one state of the file and lock it
 * once, which is most of what a single one costs.  Other threads wait, so do
 * nothing else meanwhile; not twice.
 *	CLEANUP(catalog_release) struct catalog *held = catalog_hold(c);
 */
struct catalog *catalog_hold(struct catalog *c);
void catalog_release(struct catalog **c);

/* Reads.  WEFT_NOT_FOUND where there is no such row. */
int catalog_get(struct catalog *c, const struct weft_id *id, struct arena *a,
		struct catalog_row *ret, struct weft_error *err);
int catalog_get_name(struct catalog *c, struct weft_str name, struct arena *a,
		     struct catalog_name *ret, struct weft_error *err);
int catalog_names_of(struct catalog *c, const struct weft_id *session,
		     struct arena *a, struct catalog_name **ret, size_t *ret_n,
		     struct weft_error *err);
/* The session that was created with this operation id. */
int catalog_find_op(struct catalog *c, struct weft_str op, struct weft_id *ret,
		    struct weft_error *err);
int catalog_find_tag(struct catalog *c, uint64_t tag, struct arena *a,
		     struct weft_id **ret, size_t *ret_n,
		     struct weft_error *err);
/* Marks of `session` with target in first..last, by rising target. */
int catalog_hidden(struct catalog *c, const struct weft_id *session,
		   uint64_t first, uint64_t last, struct arena *a,
		   struct store_hide **ret, size_t *ret_n,
		   struct weft_error *err);

/*
 * The sessions that match `q` in its order, handed to `each` one by one until
 * it returns other than 0 (its value is returned) or there are no more.  Read
 * backwards they come with the one next to the cursor first.  The limit of the
 * query is not looked at.  The record is valid during the call, and `each` must
 * not wait for a transaction: it holds up the commit.
 */
int catalog_list(struct catalog *c, const struct list_query *q,
		 int (*each)(void *ctx, const struct session_rec *rec),
		 void *ctx, struct weft_error *err);

/* Every session's id in rising order, from behind `after` (NULL: the first),
 * up to `max` of them into out; returns how many, or a negative code. */
int catalog_ids(struct catalog *c, const struct weft_id *after,
		struct weft_id *out, size_t max, struct weft_error *err);

/* A row that has changed: which, where in the order of changes, and what its
 * session has. */
struct catalog_change {
	uint64_t lsn, row;
	struct weft_id id;
	uint64_t head_seq, fork_seq;
};

/* Rows in the order of their last change, from behind `after` on; as
 * catalog_ids. */
int catalog_changes(struct catalog *c, const struct catalog_change *after,
		    struct catalog_change *out, size_t max,
		    struct weft_error *err);

/* How many sessions there are that are neither books nor purged. */
int catalog_count(struct catalog *c, uint64_t *ret, struct weft_error *err);

/* SQLite's own check of the file; CORRUPT with what it says. */
int catalog_check(struct catalog *c, struct weft_error *err);

#endif

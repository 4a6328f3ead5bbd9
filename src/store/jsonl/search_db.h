/*
 * search_db.h - the file search.db: which sessions have which words.
 *
 * Derived: it may be removed at any time, by anybody.  What is damaged, of
 * another version or of another store is removed and made again, empty.
 * Its pages have checksums, as those of the catalogue.
 */
#ifndef STORE_JSONL_SEARCH_DB_H
#define STORE_JSONL_SEARCH_DB_H

#include <pthread.h>

#include "base/arena.h"
#include "base/file.h"
#include "weft/store.h"

struct sqlite3;
struct sums;
struct vfs;

/* How far the catalogue has been looked through, in the order of changes; and
 * the epoch of the words. */
struct search_place {
	uint64_t lsn, row;
	uint64_t epoch;
};

/* All under `lock`. */
struct search_db {
	pthread_mutex_t lock;
	struct vfs *vfs;
	struct sums *sums;
	struct sqlite3 *db; /* NULL: not open */
	struct file *file;  /* to know it by; never read or written */
	bool unusable;      /* and for reading only: there is none */
	/* Nothing is behind up to here; becomes durable with words. */
	struct search_place place;
};

/* Where it is, and who wants it. */
struct search_use {
	struct fs *fs;
	const char *path;
	const struct weft_id *store;
	bool read_only;
	bool make; /* if there is none */
};

void search_db_init(struct search_db *s);
void search_db_done(struct search_db *s);

/*
 * See that it is open and the file that has the name; *ret_none: there is none
 * and none was made.  Call `act` with it.  If that says CORRUPT the file is
 * removed, and CORRUPT returned.
 */
int search_db_use(struct search_db *s, const struct search_use *how,
		  int (*act)(void *ctx, struct sqlite3 *db,
			     struct weft_error *err),
		  void *ctx, bool *ret_none, struct weft_error *err);

/* ---- for `act` ---- */

/* SQLite's code as one of ours; never WEFT_OK. */
int search_db_fail(struct sqlite3 *db, int rc, struct weft_error *err);
int search_db_exec(struct sqlite3 *db, const char *sql, struct weft_error *err);
int search_db_get_place(struct sqlite3 *db, struct search_place *ret,
			struct weft_error *err);
/* But for the epoch, which stays. */
int search_db_set_place(struct sqlite3 *db, const struct search_place *place,
			struct weft_error *err);
/* Up to which event the words of v[i] are there: into its `from`, which stays
 * as it is if there are none. */
int search_db_get_marks(struct sqlite3 *db, struct word_behind *v, size_t n,
			struct weft_error *err);
/* Sessions whose words were dropped: they are behind, whatever the place says.
 * Each with its head of then; with 0 it is gone and noted no more. */
int search_db_drop(struct sqlite3 *db, const struct weft_id *sessions,
		   const uint64_t *heads, size_t n, struct weft_error *err);
/*
 * Sessions whose words must go, since they are about to be rewritten; noted
 * until they are dropped.  Whoever gets them all is told by *ret_last which
 * notes these are: a session may be noted again before its words are dropped.
 */
int search_db_doom(struct sqlite3 *db, const struct weft_id *sessions, size_t n,
		   struct weft_error *err);
int search_db_get_doomed(struct sqlite3 *db, struct arena *a,
			 struct weft_id **ret, size_t *ret_n,
			 uint64_t *ret_last, struct weft_error *err);
int search_db_has_doomed(struct sqlite3 *db, bool *ret, struct weft_error *err);
/* Those notes have done their duty. */
int search_db_spare(struct sqlite3 *db, uint64_t last, struct weft_error *err);
int search_db_get_dropped(struct sqlite3 *db, struct arena *a,
			  struct weft_id **ret, size_t *ret_n,
			  struct weft_error *err);
/* Take in one batch, unless somebody else has been there. */
int search_db_put(struct sqlite3 *db, const struct word_batch *b,
		  struct weft_error *err);
/* But for who is doomed: a rewrite may be under way. */
int search_db_clear(struct sqlite3 *db, struct weft_error *err);

#endif

/*
 * catalog_db.h - what the catalogue's own files share: its connections, their
 * statements, and how SQLite's errors become ours; for search_db.c the
 * checksums of pages.
 */
#ifndef STORE_JSONL_CATALOG_DB_H
#define STORE_JSONL_CATALOG_DB_H

#include <pthread.h>

#include "base/buf.h"
#include "model/record.h"
#include "store/jsonl/catalog.h"

struct sqlite3;
struct sqlite3_stmt;
struct sums;
struct vfs;

#define CATALOG_PAGE_BYTES 4096
#define CATALOG_SUM_BYTES  4 /* at the end of each page */

/* What SQLite keeps of it (cache_size); a larger one is read through
 * catalog_cache.c. */
#define CATALOG_CACHE_KIB 10000

/* Statements whose text never changes; prepared when first used, but for the
 * first three, since a rollback must not need memory. */
enum catalog_sql {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_PUT,
	SQL_PUT_GROWN,
	SQL_PUT_NAME,
	SQL_PUT_NAME_FAR,
	SQL_PUT_HIDE,
	SQL_SET_META,
	SQL_CLEAR_SESSIONS,
	SQL_CLEAR_NAMES,
	SQL_CLEAR_HIDDEN,
	SQL_DROP,
	SQL_DROP_HIDDEN,
	SQL_DROP_NAME,
	SQL_HOLD,
	SQL_GET_META,
	SQL_GET,
	SQL_GET_BY_ID,
	SQL_GET_NAME,
	SQL_GET_NAME_FAR,
	SQL_NAMES_OF,
	SQL_FIND_OP,
	SQL_FIND_TAG,
	SQL_HIDDEN,
	SQL_IDS,
	SQL_CHANGES,
	SQL_COUNT,
	SQL_CHECK,
	SQL_STATEMENTS
};

/* A list query's statement depends on which filters it has. */
#define LIST_STATEMENTS 16

struct list_statement {
	struct sqlite3_stmt *stmt;
	uint32_t shape;
	uint64_t used; /* when, counted in lists */
};

/* A connection; everything in it is for who holds the lock. */
struct conn {
	struct sqlite3 *db;
	pthread_mutex_t lock; /* may be taken again by who holds it */
	struct sqlite3_stmt *stmts[SQL_STATEMENTS];
	struct list_statement lists[LIST_STATEMENTS];
	uint64_t n_lists;
};

struct catalog {
	struct fs *fs;
	struct vfs *vfs;   /* NULL: in memory, as are the next two */
	struct sums *sums; /* on top of it */
	struct file *file; /* to know it by; never read or written */
	char *path;
	unsigned flags;
	bool immutable; /* on a file system that nobody can write to */
	struct conn conns[2];
	struct conn *reads;
	struct conn *writes;  /* NULL: read only; in memory the same as reads */
	bool in_transaction;  /* under writes->lock, as are the next three */
	struct arena scratch; /* of one put, as is the next */
	struct buf packed;
};

/* The lock of a connection for the rest of the block:
 *	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads); */
struct conn *conn_lock(struct conn *k);
void conn_unlock(struct conn **k);

/* Get a statement; give it back with CLEANUP(stmt_release). */
int conn_stmt(struct conn *k, enum catalog_sql which, struct sqlite3_stmt **ret,
	      struct weft_error *err);
void stmt_release(struct sqlite3_stmt **stmt);

/* The VFS that puts checksums on pages and has the VFS `below` do the rest. */
int sums_open(const char *below, struct sums **ret, struct weft_error *err);
const char *sums_name(const struct sums *s);
/* SQLite's code of the last read that failed since sums_forget, or SQLITE_OK,
 * where SQLite itself does not pass it on.  Both take NULL. */
void sums_forget(struct sums *s);
int sums_failed(struct sums *s);
void sums_close(struct sums *s); /* before the one below; takes NULL */

/*
 * Pages that were read and found whole, by their number, for SQLite to look at
 * where they are (catalog_cache.c).  For one thread at a time.
 *
 * What get, add and keep return is pinned: it stays until it is released.  add
 * gives room to read a page into that get has not found; then it is kept, and
 * may be elsewhere, or forgotten.  NULL: not there, no room.
 */
struct page_cache *page_cache_new(void);     /* NULL: no memory */
void page_cache_free(struct page_cache *c);  /* takes NULL */
void page_cache_clear(struct page_cache *c); /* nothing may be pinned */
/* This page is best left to SQLite's own cache. */
bool page_cache_leaves(const struct page_cache *c, uint32_t number);
unsigned char *page_cache_get(struct page_cache *c, uint32_t number);
unsigned char *page_cache_add(struct page_cache *c, uint32_t number);
unsigned char *page_cache_keep(struct page_cache *c, uint32_t number,
			       unsigned char *page);
void page_cache_forget(struct page_cache *c, unsigned char *page);
void page_cache_release(struct page_cache *c, const unsigned char *page);

/* The code and message for what SQLite returned; never WEFT_OK. */
int catalog_fail(struct sqlite3 *db, int rc, struct weft_error *err);

int fail_damaged(struct weft_error *err, const char *what);

/* The fields of a record that are columns too, the id first. */
extern const struct record_field catalog_columns[];
extern const size_t catalog_n_columns;

/*
 * The row where the session with this id is, unless another one was there
 * first: so that it is found without going through an index.  Sessions that
 * were begun one after the other are near each other.
 */
int64_t catalog_place(const struct weft_id *id);

/* The same for a name.  One that finds another in its row is put far from it,
 * and stays so. */
int64_t catalog_name_place(struct weft_str name);

/* Append the schema, a statement. */
#define SQL_BYTES_MAX KIB(64)
void sql_add_schema(struct buf *b);
void sql_add(struct buf *b, enum catalog_sql which);
/* The version of a schema: never 0, which is that of an empty file. */
int sql_version(const struct buf *schema);

/* The record in the first column of the row.  Its text is SQLite's, valid
 * until the next step. */
int decode_record(struct sqlite3_stmt *stmt, struct session_rec *ret,
		  struct weft_error *err);
int decode_id(struct sqlite3_stmt *stmt, int column, struct weft_id *ret,
	      struct weft_error *err);

#endif

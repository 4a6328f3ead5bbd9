/* sqlite.h - the inside of the sqlite: store, shared by its files. */
#ifndef STORE_SQLITE_SQLITE_H
#define STORE_SQLITE_SQLITE_H

#include "store/sql/sql.h"

struct fs;
struct sqlite3;
struct sqlite3_stmt;
struct watch;

/* Statements are kept; of those used longest ago the place is reused. */
#define SQLITE_STATEMENTS 80

struct sqlite_slot {
	struct sqlite3_stmt *stmt;
	uint32_t key;
	uint64_t used;
};

struct sqlite_conn {
	struct sql_conn base; /* first */
	struct sqlite3 *db;
	struct sqlite_slot slots[SQLITE_STATEMENTS];
	uint64_t runs;
	int64_t busy_since_us;
	struct sqlite3_stmt *version; /* asks for what others change */
	int64_t seen;                 /* what it said last */
	bool in_transaction;
};

/*
 * `bell` guards what waiting needs: the connection that counts the changes of
 * everybody else, and what to sleep on.
 */
struct sqlite_store {
	struct sql_store sql; /* first */
	struct fs *fs;
	char *path;
	bool single, immutable;

	pthread_mutex_t bell;
	struct sqlite_conn *counter;
	struct watch *watch;
	uint64_t wakes;   /* one more for each wake() */
	bool wake_unseen; /* no wait was under way: it ends the next */
};

static inline struct sqlite_store *sqlite_of(struct sql_store *s)
{
	return (struct sqlite_store *)(void *)s;
}

extern const struct sql_driver sqlite_driver;

/* What SQLite returned, with the file's name; never WEFT_OK. */
int sqlite_fail(const struct sqlite_store *s, struct sqlite3 *db, int rc,
		struct weft_error *err);

int sqlite_exec(struct sqlite_conn *k, const char *sql, struct weft_error *err);
/* The first column of the first row of `sql`, a number. */
int sqlite_ask(struct sqlite_conn *k, const char *sql, int64_t *ret,
	       struct weft_error *err);

/* Make the tables, or bring them up to date; refuse what is not ours. */
int sqlite_migrate(struct sqlite_conn *k, struct weft_error *err);
int sqlite_check_schema(struct sqlite_conn *k, struct weft_error *err);

int sqlite_make_backup(struct sql_store *s, struct store_report *report,
		       struct weft_error *err);

int sqlite_wait(struct store *s, uint64_t *stamp, int64_t timeout_ms,
		struct weft_error *err);
void sqlite_wake(struct store *s);
/* Let those who wait in this process look. */
void sqlite_ring(struct sql_store *s);

#endif

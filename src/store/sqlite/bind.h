/* bind.h - values into SQLite's statements and out of them, and its errors. */
#ifndef STORE_SQLITE_BIND_H
#define STORE_SQLITE_BIND_H

#include "base/buf.h"
#include "store/sql/value.h"

struct sqlite3;
struct sqlite3_stmt;

/* Bind parameter i, from 1; SQLite's code.  The bytes must stay. */
int sqlite_bind(struct sqlite3_stmt *stmt, int i, const struct sql_value *v);

/* Column i, from 0; its bytes are valid until the next step.  False if there
 * was no memory. */
bool sqlite_column(struct sqlite3_stmt *stmt, int i, struct sql_value *ret);

/* The path as a URI, in which no character of it means anything. */
void sqlite_add_uri(struct buf *b, const char *path, bool immutable);

/* What SQLite returned as one of ours; never WEFT_OK. */
int sqlite_code(int rc);

/*
 * The same in words: SQLite's, and if a call of the system failed, which one
 * and why.  `db` may be NULL; os_error: why, if SQLite has not kept it, or 0.
 */
#define SQLITE_TEXT_BYTES 256
const char *sqlite_text(struct sqlite3 *db, int rc, int os_error,
			char out[SQLITE_TEXT_BYTES]);

#endif

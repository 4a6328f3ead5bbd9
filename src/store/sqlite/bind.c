/* bind.c - values and errors of SQLite; see bind.h. */
#include "store/sqlite/bind.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

int sqlite_bind(struct sqlite3_stmt *stmt, int i, const struct sql_value *v)
{
	const char *bytes = v->s.len ? v->s.ptr : "";

	switch (v->kind) {
	case SQL_INT:
		return sqlite3_bind_int64(stmt, i, v->n);
	case SQL_TEXT:
		return sqlite3_bind_text64(stmt, i, bytes, v->s.len,
					   SQLITE_STATIC, SQLITE_UTF8);
	case SQL_BYTES:
		return sqlite3_bind_blob64(stmt, i, bytes, v->s.len,
					   SQLITE_STATIC);
	case SQL_NULL:
		break;
	}
	return sqlite3_bind_null(stmt, i);
}

/* By way of its value, which costs one look instead of three: a connection
 * belongs to one thread at a time. */
bool sqlite_column(struct sqlite3_stmt *stmt, int i, struct sql_value *ret)
{
	struct sqlite3_value *v = sqlite3_column_value(stmt, i);
	int type = sqlite3_value_type(v);

	switch (type) {
	case SQLITE_NULL:
		*ret = (struct sql_value){ .kind = SQL_NULL };
		return true;
	case SQLITE_INTEGER:
		*ret = sql_int(sqlite3_value_int64(v));
		return true;
	default:
		ret->kind = type == SQLITE_TEXT ? SQL_TEXT : SQL_BYTES;
		ret->s.ptr = sqlite3_value_blob(v);
		ret->s.len = (size_t)sqlite3_value_bytes(v);
		if (!ret->s.ptr && ret->s.len > 0)
			return false;
		if (!ret->s.ptr)
			ret->s.ptr = "";
		return true;
	}
}

int sqlite_code(int rc)
{
	switch (rc) {
	case SQLITE_IOERR_NOMEM:
		return WEFT_NO_MEMORY;
	case SQLITE_IOERR_DATA:        /* a page with a wrong checksum */
	case SQLITE_READONLY_ROLLBACK: /* a hot journal that has to stay */
		return WEFT_CORRUPT;
	default:
		break;
	}
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return WEFT_NO_MEMORY;
	case SQLITE_FULL:
		return WEFT_NO_SPACE;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return WEFT_BUSY;
	case SQLITE_TOOBIG:
		return WEFT_LIMIT;
	case SQLITE_IOERR:
	case SQLITE_PERM:
	case SQLITE_NOLFS:
	case SQLITE_PROTOCOL:
	case SQLITE_CANTOPEN:
		return WEFT_IO;
	case SQLITE_READONLY:
		return WEFT_READ_ONLY;
	default:
		/* Also a schema in which our statements make no sense. */
		return WEFT_CORRUPT;
	}
}

/* What SQLite was doing when the system failed it; NULL: not known. */
static const char *what_failed(int rc)
{
	switch (rc) {
	case SQLITE_IOERR_READ:
		return "reading";
	case SQLITE_IOERR_SHORT_READ:
		return "reading what should be there";
	case SQLITE_IOERR_WRITE:
		return "writing";
	case SQLITE_IOERR_FSYNC:
		return "flushing";
	case SQLITE_IOERR_DIR_FSYNC:
		return "flushing the directory";
	case SQLITE_IOERR_TRUNCATE:
		return "cutting";
	case SQLITE_IOERR_FSTAT:
		return "asking for the size";
	case SQLITE_IOERR_LOCK:
	case SQLITE_IOERR_RDLOCK:
		return "locking";
	case SQLITE_IOERR_UNLOCK:
		return "unlocking";
	case SQLITE_IOERR_CHECKRESERVEDLOCK:
		return "asking who writes";
	case SQLITE_IOERR_ACCESS:
		return "looking for a journal";
	case SQLITE_IOERR_DELETE:
	case SQLITE_IOERR_DELETE_NOENT:
		return "removing a journal";
	default:
		return NULL;
	}
}

const char *sqlite_text(struct sqlite3 *db, int rc, int os_error,
			char out[SQLITE_TEXT_BYTES])
{
	const bool of_system =
		(rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN;
	const char *text = sqlite3_errstr(rc);
	const char *what = what_failed(rc);
	char why[128] = "", reason[100];

	/* The connection knows more, if it speaks of the same failure. */
	if (db && sqlite3_extended_errcode(db) == rc) {
		text = sqlite3_errmsg(db);
		if (sqlite3_system_errno(db))
			os_error = sqlite3_system_errno(db);
	}
	/* Nothing failed where there was only too little to read. */
	if (os_error && rc != SQLITE_IOERR_SHORT_READ)
		(void)snprintf(why, sizeof(why), ": %s",
			       strerror_r(os_error, reason, sizeof(reason)));
	if (!of_system)
		(void)snprintf(out, SQLITE_TEXT_BYTES, "%s", text);
	else if (what)
		(void)snprintf(out, SQLITE_TEXT_BYTES, "%s while %s%s", text,
			       what, why);
	else
		(void)snprintf(out, SQLITE_TEXT_BYTES, "%s (code %d)%s", text,
			       rc, why);
	return out;
}

void sqlite_add_uri(struct buf *b, const char *path, bool immutable)
{
	buf_add_str(b, str_of(path[0] == '/' ? "file://" : "file:"));
	for (const char *p = path; *p; p++) {
		if (*p == '%' || *p == '?' || *p == '#')
			buf_printf(b, "%%%02x", (unsigned)*p);
		else
			buf_add_c(b, *p);
	}
	if (immutable)
		buf_add_lit(b, "?immutable=1");
}

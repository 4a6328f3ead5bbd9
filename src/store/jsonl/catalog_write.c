/* catalog_write.c - the catalogue's transactions. */
#include <assert.h>
#include <sqlite3.h>

#include "base/error.h"
#include "base/id.h"
#include "model/record.h"
#include "store/jsonl/catalog.h"
#include "store/jsonl/catalog_db.h"
#include "store/match.h"
#include "store/sql/columns.h"
#include "store/sqlite/bind.h"

static int step_done(struct catalog *c, struct sqlite3_stmt *stmt,
		     struct weft_error *err)
{
	int rc = sqlite3_step(stmt);

	return rc == SQLITE_DONE ? WEFT_OK :
				   catalog_fail(c->writes->db, rc, err);
}

/* Run a statement without parameters. */
static int run_stmt(struct catalog *c, enum catalog_sql which,
		    struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r = conn_stmt(c->writes, which, &stmt, err);

	return r < 0 ? r : step_done(c, stmt, err);
}

/* The lock of the connection is held from here to commit or rollback. */
int catalog_begin(struct catalog *c, struct weft_error *err)
{
	int r = WEFT_OK;

	if (!c->writes)
		return fail(err, WEFT_READ_ONLY,
			    "catalog.db is open for reading only");
	(void)conn_lock(c->writes);
	assert(!c->in_transaction);
	/* A rollback that failed is still to be done. */
	if (!sqlite3_get_autocommit(c->writes->db))
		r = run_stmt(c, SQL_ROLLBACK, err);
	if (r == WEFT_OK)
		r = run_stmt(c, SQL_BEGIN, err);
	if (r < 0) {
		conn_unlock(&c->writes);
		return r;
	}
	c->in_transaction = true;
	return WEFT_OK;
}

int catalog_commit(struct catalog *c, struct weft_error *err)
{
	int r;

	assert(c->in_transaction);
	r = run_stmt(c, SQL_COMMIT, err);
	if (r < 0)
		return r;
	c->in_transaction = false;
	conn_unlock(&c->writes);
	return WEFT_OK;
}

void catalog_rollback(struct catalog *c)
{
	if (!c->writes)
		return;
	(void)conn_lock(c->writes);
	if (c->in_transaction) {
		/* Some failures have rolled it back already. */
		if (!sqlite3_get_autocommit(c->writes->db))
			(void)run_stmt(c, SQL_ROLLBACK, NULL);
		c->in_transaction = false;
		conn_unlock(&c->writes);
	}
	conn_unlock(&c->writes);
}

/* Bind a number; SQLite's are signed, ours stay below 2^63. */
static void bind_u64(struct sqlite3_stmt *stmt, int i, uint64_t n)
{
	(void)sqlite3_bind_int64(stmt, i, (sqlite3_int64)n);
}

static void bind_id(struct sqlite3_stmt *stmt, int i, const struct weft_id *id)
{
	(void)sqlite3_bind_blob(stmt, i, id, sizeof(*id), SQLITE_STATIC);
}

static int bind_str(struct sqlite3_stmt *stmt, int i, struct weft_str s)
{
	return sqlite3_bind_text64(stmt, i, s.len ? s.ptr : "", s.len,
				   SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_bytes(struct sqlite3_stmt *stmt, int i, struct weft_str s)
{
	return sqlite3_bind_blob64(stmt, i, s.len ? s.ptr : "", s.len,
				   SQLITE_STATIC);
}

static int bind_row(struct sqlite3_stmt *stmt, const struct catalog_row *row,
		    struct weft_str fold, struct weft_str packed)
{
	int i = 0;
	int rc;

	for (size_t f = 0; f < catalog_n_columns; f++) {
		struct sql_value v =
			sql_of_field(&row->rec, &catalog_columns[f]);

		rc = sqlite_bind(stmt, ++i, &v);
		if (rc != SQLITE_OK)
			return rc;
	}
	bind_u64(stmt, ++i, row->lsn);
	bind_u64(stmt, ++i, row->gen);
	bind_u64(stmt, ++i, row->end);
	bind_u64(stmt, ++i, row->irregular);
	bind_u64(stmt, ++i, id_session_tag(&row->rec.id));
	rc = bind_bytes(stmt, ++i, fold);
	if (rc == SQLITE_OK)
		rc = bind_bytes(stmt, ++i, packed);
	return rc == SQLITE_OK ?
		       sqlite3_bind_int64(stmt, ++i,
					  catalog_place(&row->rec.id)) :
		       rc;
}

/* Returns how many rows it has changed. */
static int put_with(struct catalog *c, enum catalog_sql which,
		    const struct catalog_row *row, struct weft_str fold,
		    struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r = conn_stmt(c->writes, which, &stmt, err);
	int rc;

	if (r < 0)
		return r;
	rc = bind_row(stmt, row, fold, buf_str(&c->packed));
	if (rc != SQLITE_OK)
		return catalog_fail(c->writes->db, rc, err);
	r = step_done(c, stmt, err);
	return r < 0 ? r : sqlite3_changes(c->writes->db);
}

int catalog_put(struct catalog *c, const struct catalog_row *row,
		struct weft_error *err)
{
	struct weft_str fold;
	int r;

	assert(c->in_transaction);
	arena_reset(&c->scratch);
	r = match_text(&row->rec, &c->scratch, &fold, err);
	if (r < 0)
		return r;
	buf_reset(&c->packed);
	record_pack(&row->rec, &c->packed);
	r = buf_error(&c->packed, err);
	if (r < 0)
		return r;
	r = put_with(c, SQL_PUT_GROWN, row, fold, err);
	if (r == 0)
		r = put_with(c, SQL_PUT, row, fold, err);
	return r < 0 ? r : WEFT_OK;
}

/* Returns how many rows it has changed. */
static int put_name_with(struct catalog *c, enum catalog_sql which,
			 const struct catalog_name *name,
			 struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r = conn_stmt(c->writes, which, &stmt, err);
	int rc;

	if (r < 0)
		return r;
	rc = bind_str(stmt, 1, name->name.name);
	if (rc != SQLITE_OK)
		return catalog_fail(c->writes->db, rc, err);
	bind_id(stmt, 2, &name->name.session);
	bind_u64(stmt, 3, name->name.ver);
	bind_u64(stmt, 4, name->name.kind);
	bind_u64(stmt, 5, name->lsn);
	(void)sqlite3_bind_int64(stmt, 6, catalog_name_place(name->name.name));
	r = step_done(c, stmt, err);
	return r < 0 ? r : sqlite3_changes(c->writes->db);
}

int catalog_put_name(struct catalog *c, const struct catalog_name *name,
		     struct weft_error *err)
{
	int r;

	assert(c->in_transaction);
	r = put_name_with(c, SQL_PUT_NAME, name, err);
	if (r == 0)
		r = put_name_with(c, SQL_PUT_NAME_FAR, name, err);
	return r < 0 ? r : WEFT_OK;
}

int catalog_put_hide(struct catalog *c, const struct weft_id *session,
		     const struct store_hide *hide, struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r;

	assert(c->in_transaction);
	r = conn_stmt(c->writes, SQL_PUT_HIDE, &stmt, err);
	if (r < 0)
		return r;
	bind_id(stmt, 1, session);
	bind_u64(stmt, 2, hide->target);
	bind_u64(stmt, 3, hide->hidden);
	bind_u64(stmt, 4, hide->by);
	return step_done(c, stmt, err);
}

int catalog_set_meta(struct catalog *c, const struct catalog_meta *meta,
		     struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r;

	assert(c->in_transaction);
	r = conn_stmt(c->writes, SQL_SET_META, &stmt, err);
	if (r < 0)
		return r;
	bind_id(stmt, 1, &meta->store);
	bind_u64(stmt, 2, meta->applied);
	bind_u64(stmt, 3, meta->complete);
	return step_done(c, stmt, err);
}

int catalog_clear(struct catalog *c, struct weft_error *err)
{
	int r;

	assert(c->in_transaction);
	r = run_stmt(c, SQL_CLEAR_SESSIONS, err);
	if (r == WEFT_OK)
		r = run_stmt(c, SQL_CLEAR_NAMES, err);
	if (r == WEFT_OK)
		r = run_stmt(c, SQL_CLEAR_HIDDEN, err);
	return r;
}

static int drop_by_id(struct catalog *c, enum catalog_sql which,
		      const struct weft_id *session, struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r = conn_stmt(c->writes, which, &stmt, err);

	if (r < 0)
		return r;
	bind_id(stmt, 1, session);
	return step_done(c, stmt, err);
}

int catalog_drop(struct catalog *c, const struct weft_id *session, bool marks,
		 struct weft_error *err)
{
	int r;

	assert(c->in_transaction);
	r = drop_by_id(c, SQL_DROP, session, err);
	if (r == WEFT_OK && marks)
		r = drop_by_id(c, SQL_DROP_HIDDEN, session, err);
	return r;
}

int catalog_drop_name(struct catalog *c, struct weft_str name,
		      struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r, rc;

	assert(c->in_transaction);
	r = conn_stmt(c->writes, SQL_DROP_NAME, &stmt, err);
	if (r < 0)
		return r;
	rc = bind_str(stmt, 1, name);
	if (rc != SQLITE_OK)
		return catalog_fail(c->writes->db, rc, err);
	(void)sqlite3_bind_int64(stmt, 2, catalog_name_place(name));
	return step_done(c, stmt, err);
}

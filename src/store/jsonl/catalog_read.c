/* catalog_read.c - reading from the catalogue by key. */
#include <limits.h>
#include <sqlite3.h>

#include "base/error.h"
#include "base/id.h"
#include "model/record.h"
#include "store/jsonl/catalog.h"
#include "store/jsonl/catalog_db.h"

static uint64_t column_u64(struct sqlite3_stmt *stmt, int i)
{
	return (uint64_t)sqlite3_column_int64(stmt, i);
}

static void bind_id(struct sqlite3_stmt *stmt, int i, const struct weft_id *id)
{
	(void)sqlite3_bind_blob(stmt, i, id, sizeof(*id), SQLITE_STATIC);
}

/* Sequence numbers and limits that SQLite cannot hold mean "to the end". */
static void bind_capped(struct sqlite3_stmt *stmt, int i, uint64_t n)
{
	(void)sqlite3_bind_int64(stmt, i, (sqlite3_int64)u64_min(n, INT64_MAX));
}

/* 1: there is a row; 0: there are no more; or a negative code. */
static int step_row(struct conn *k, struct sqlite3_stmt *stmt,
		    struct weft_error *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : catalog_fail(k->db, rc, err);
}

/* Results of unknown number, in the arena of the caller. */
struct rows {
	struct arena *arena;
	char *v;
	size_t n, room, bytes; /* of each */
};

static void *rows_add(struct rows *rows)
{
	if (rows->n == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 8;
		char *v = arena_zero(rows->arena, room, rows->bytes);

		if (!v)
			return NULL;
		if (rows->n > 0)
			memcpy(v, rows->v, rows->n * rows->bytes);
		rows->v = v;
		rows->room = room;
	}
	return rows->v + rows->bytes * rows->n++;
}

/* A failure needs no telling: the transaction is then as it was. */
static void run_quietly(struct conn *k, enum catalog_sql which)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;

	if (conn_stmt(k, which, &stmt, NULL) == WEFT_OK)
		(void)sqlite3_step(stmt);
}

struct catalog *catalog_hold(struct catalog *c)
{
	struct conn *k = conn_lock(c->reads);
	struct sqlite3_stmt *stmt;

	/* In memory there is nothing to lock.  What ends it is made before it
	 * begins, since that must not fail. */
	if (k != c->writes && conn_stmt(k, SQL_COMMIT, &stmt, NULL) == WEFT_OK)
		run_quietly(k, SQL_HOLD);
	return c;
}

void catalog_release(struct catalog **c)
{
	struct conn *k = (*c)->reads;

	if (k != (*c)->writes && !sqlite3_get_autocommit(k->db))
		run_quietly(k, SQL_COMMIT);
	conn_unlock(&k);
}

int catalog_get_meta(struct catalog *c, struct catalog_meta *ret,
		     struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	struct catalog_meta meta;
	int r = conn_stmt(k, SQL_GET_META, &stmt, err);

	if (r == WEFT_OK)
		r = step_row(k, stmt, err);
	if (r < 0)
		return r;
	if (r == 0)
		return catalog_fail(NULL, SQLITE_CORRUPT, err);
	r = decode_id(stmt, 0, &meta.store, err);
	if (r < 0)
		return r;
	meta.applied = column_u64(stmt, 1);
	meta.complete = column_u64(stmt, 2);
	*ret = meta;
	return WEFT_OK;
}

static int fail_not_found(struct weft_error *err, const struct weft_id *id)
{
	char text[WEFT_ID_CHARS + 1];

	id_format(id, text);
	return fail(err, WEFT_NOT_FOUND, "no session %s", text);
}

/* Where it should be, or by its id; 0 if it is not there. */
static int find_row(struct conn *k, enum catalog_sql which,
		    const struct weft_id *id, struct arena *a,
		    struct catalog_row *ret, struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	struct catalog_row row;
	int r = conn_stmt(k, which, &stmt, err);

	if (r < 0)
		return r;
	if (which == SQL_GET)
		(void)sqlite3_bind_int64(stmt, 1, catalog_place(id));
	else
		bind_id(stmt, 1, id);
	r = step_row(k, stmt, err);
	if (r <= 0)
		return r;
	r = decode_record(stmt, &row.rec, err);
	if (r < 0)
		return r;
	if (!id_eq(&row.rec.id, id))
		return 0;
	row.lsn = column_u64(stmt, 1);
	row.gen = column_u64(stmt, 2);
	row.end = column_u64(stmt, 3);
	row.irregular = column_u64(stmt, 4);
	r = record_copy(&row.rec, &row.rec, a, err);
	if (r < 0)
		return r;
	*ret = row;
	return 1;
}

int catalog_get(struct catalog *c, const struct weft_id *id, struct arena *a,
		struct catalog_row *ret, struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	int r = find_row(k, SQL_GET, id, a, ret, err);

	if (r == 0)
		r = find_row(k, SQL_GET_BY_ID, id, a, ret, err);
	if (r == 0)
		return fail_not_found(err, id);
	return r < 0 ? r : WEFT_OK;
}

/* From a row of name, session, ver, kind, lsn. */
static int decode_name(struct sqlite3_stmt *stmt, struct arena *a,
		       struct catalog_name *ret, struct weft_error *err)
{
	struct weft_str name = { .ptr = sqlite3_column_blob(stmt, 0) };
	int r;

	name.len = (size_t)sqlite3_column_bytes(stmt, 0);
	if (!name.ptr && name.len > 0)
		return fail_no_memory(err);
	ret->name.name = arena_str(a, name);
	if (!ret->name.name.ptr)
		return arena_error(a, err);
	r = decode_id(stmt, 1, &ret->name.session, err);
	if (r < 0)
		return r;
	ret->name.ver = column_u64(stmt, 2);
	ret->name.kind = column_u64(stmt, 3);
	ret->lsn = column_u64(stmt, 4);
	return WEFT_OK;
}

/* Where it should be, or far from there; 0 if it is not there. */
static int find_name(struct conn *k, enum catalog_sql which,
		     struct weft_str name, struct arena *a,
		     struct catalog_name *ret, struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	struct catalog_name found = { 0 };
	int r = conn_stmt(k, which, &stmt, err);

	if (r < 0)
		return r;
	r = which == SQL_GET_NAME ?
		    sqlite3_bind_int64(stmt, 1, catalog_name_place(name)) :
		    sqlite3_bind_text64(stmt, 1, name.len ? name.ptr : "",
					name.len, SQLITE_STATIC, SQLITE_UTF8);
	if (r != SQLITE_OK)
		return catalog_fail(k->db, r, err);
	r = step_row(k, stmt, err);
	if (r <= 0)
		return r;
	r = decode_name(stmt, a, &found, err);
	if (r < 0)
		return r;
	if (!str_eq(found.name.name, name))
		return 0;
	*ret = found;
	return 1;
}

int catalog_get_name(struct catalog *c, struct weft_str name, struct arena *a,
		     struct catalog_name *ret, struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	int r = find_name(k, SQL_GET_NAME, name, a, ret, err);

	if (r == 0)
		r = find_name(k, SQL_GET_NAME_FAR, name, a, ret, err);
	if (r == 0)
		return fail(err, WEFT_NOT_FOUND, "no name \"%.*s\"",
			    STR_ARG(name));
	return r < 0 ? r : WEFT_OK;
}

int catalog_names_of(struct catalog *c, const struct weft_id *session,
		     struct arena *a, struct catalog_name **ret, size_t *ret_n,
		     struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	struct rows rows = { .arena = a, .bytes = sizeof(**ret) };
	int r = conn_stmt(k, SQL_NAMES_OF, &stmt, err);

	if (r < 0)
		return r;
	bind_id(stmt, 1, session);
	for (;;) {
		void *next;

		r = step_row(k, stmt, err);
		if (r <= 0)
			break;
		next = rows_add(&rows);
		if (!next)
			return arena_error(a, err);
		r = decode_name(stmt, a, next, err);
		if (r < 0)
			break;
	}
	if (r < 0)
		return r;
	*ret = (struct catalog_name *)(void *)rows.v;
	*ret_n = rows.n;
	return WEFT_OK;
}

int catalog_find_op(struct catalog *c, struct weft_str op, struct weft_id *ret,
		    struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	struct weft_id found;
	int r = conn_stmt(k, SQL_FIND_OP, &stmt, err);

	if (r < 0)
		return r;
	r = sqlite3_bind_text64(stmt, 1, op.len ? op.ptr : "", op.len,
				SQLITE_STATIC, SQLITE_UTF8);
	if (r != SQLITE_OK)
		return catalog_fail(k->db, r, err);
	r = step_row(k, stmt, err);
	if (r < 0)
		return r;
	if (r == 0)
		return fail(err, WEFT_NOT_FOUND,
			    "no session was created with operation \"%.*s\"",
			    STR_ARG(op));
	r = decode_id(stmt, 0, &found, err);
	if (r < 0)
		return r;
	*ret = found;
	return WEFT_OK;
}

int catalog_find_tag(struct catalog *c, uint64_t tag, struct arena *a,
		     struct weft_id **ret, size_t *ret_n,
		     struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	struct rows rows = { .arena = a, .bytes = sizeof(**ret) };
	int r = conn_stmt(k, SQL_FIND_TAG, &stmt, err);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)tag);
	for (;;) {
		void *next;

		r = step_row(k, stmt, err);
		if (r <= 0)
			break;
		next = rows_add(&rows);
		if (!next)
			return arena_error(a, err);
		r = decode_id(stmt, 0, next, err);
		if (r < 0)
			break;
	}
	if (r < 0)
		return r;
	*ret = (struct weft_id *)(void *)rows.v;
	*ret_n = rows.n;
	return WEFT_OK;
}

int catalog_hidden(struct catalog *c, const struct weft_id *session,
		   uint64_t first, uint64_t last, struct arena *a,
		   struct store_hide **ret, size_t *ret_n,
		   struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	struct rows rows = { .arena = a, .bytes = sizeof(**ret) };
	int r = conn_stmt(k, SQL_HIDDEN, &stmt, err);

	if (r < 0)
		return r;
	bind_id(stmt, 1, session);
	bind_capped(stmt, 2, first);
	bind_capped(stmt, 3, last);
	for (;;) {
		struct store_hide *next;

		r = step_row(k, stmt, err);
		if (r <= 0)
			break;
		next = rows_add(&rows);
		if (!next)
			return arena_error(a, err);
		next->target = column_u64(stmt, 0);
		next->hidden = column_u64(stmt, 1);
		next->by = column_u64(stmt, 2);
	}
	if (r < 0)
		return r;
	*ret = (struct store_hide *)(void *)rows.v;
	*ret_n = rows.n;
	return WEFT_OK;
}

int catalog_ids(struct catalog *c, const struct weft_id *after,
		struct weft_id *out, size_t max, struct weft_error *err)
{
	static const struct weft_id none;
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int n = 0;
	int r = conn_stmt(k, SQL_IDS, &stmt, err);

	if (r < 0)
		return r;
	/* No session has the zero id. */
	bind_id(stmt, 1, after ? after : &none);
	bind_capped(stmt, 2, u64_min(max, INT_MAX));
	for (;;) {
		r = step_row(k, stmt, err);
		if (r <= 0)
			return r < 0 ? r : n;
		r = decode_id(stmt, 0, &out[n], err);
		if (r < 0)
			return r;
		n++;
	}
}

int catalog_changes(struct catalog *c, const struct catalog_change *after,
		    struct catalog_change *out, size_t max,
		    struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int n = 0;
	int r = conn_stmt(k, SQL_CHANGES, &stmt, err);

	if (r < 0)
		return r;
	bind_capped(stmt, 1, after->lsn);
	bind_capped(stmt, 2, after->row);
	bind_capped(stmt, 3, u64_min(max, INT_MAX));
	for (;;) {
		struct session_rec rec;

		r = step_row(k, stmt, err);
		if (r <= 0)
			return r < 0 ? r : n;
		r = decode_record(stmt, &rec, err);
		if (r < 0)
			return r;
		out[n++] = (struct catalog_change){
			.lsn = column_u64(stmt, 1),
			.row = column_u64(stmt, 2),
			.id = rec.id,
			.head_seq = rec.head_seq,
			.fork_seq = rec.fork_seq,
		};
	}
}

int catalog_count(struct catalog *c, uint64_t *ret, struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r = conn_stmt(k, SQL_COUNT, &stmt, err);

	if (r == WEFT_OK)
		r = step_row(k, stmt, err);
	if (r < 0)
		return r;
	*ret = column_u64(stmt, 0);
	return WEFT_OK;
}

/*
 * SQLite's check speaks of pages that it could not get as it does of damage.
 * If reading did not fail, there was no memory for them.
 */
static bool is_about_getting(const char *says)
{
	return strstr(says, "get page") || strstr(says, "get the page");
}

int catalog_check(struct catalog *c, struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	const char *says;
	int r = conn_stmt(k, SQL_CHECK, &stmt, err);

	if (r < 0)
		return r;
	sums_forget(c->sums);
	r = step_row(k, stmt, err);
	if (r < 0)
		return r;
	says = (const char *)sqlite3_column_text(stmt, 0);
	if (!says)
		return fail_no_memory(err);
	if (strcmp(says, "ok") == 0)
		return WEFT_OK;
	if (sums_failed(c->sums) != SQLITE_OK)
		return catalog_fail(NULL, sums_failed(c->sums), err);
	return is_about_getting(says) ? fail_no_memory(err) :
					fail_damaged(err, says);
}

/*
 * catalog_list.c - the catalogue's lists; their statements are those of
 * store/sql/list.h, and the last few are kept.
 */
#include <sqlite3.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/jsonl/catalog.h"
#include "store/jsonl/catalog_db.h"
#include "store/sql/list.h"
#include "store/sqlite/bind.h"

/* Instead of a shape: the question whether few match the i-th filter. */
#define ASK_FEW(i) (UINT32_C(1) << 31 | (uint32_t)(i))

/* The slot of this shape, or else the one that was used longest ago. */
static struct list_statement *slot_of(struct conn *k, uint32_t shape)
{
	struct list_statement *oldest = &k->lists[0];

	for (size_t i = 0; i < LIST_STATEMENTS; i++) {
		struct list_statement *l = &k->lists[i];

		if (l->stmt && l->shape == shape)
			return l;
		if (l->used < oldest->used)
			oldest = l;
	}
	return oldest;
}

static int list_stmt(struct conn *k, uint32_t shape, struct sqlite3_stmt **ret,
		     struct weft_error *err)
{
	struct list_statement *l = slot_of(k, shape);

	if (!l->stmt || l->shape != shape) {
		CLEANUP(buf_done) struct buf sql;
		int rc;

		(void)sqlite3_finalize(l->stmt);
		*l = (struct list_statement){ .shape = shape };
		buf_init(&sql, SQL_BYTES_MAX);
		if (shape & ASK_FEW(0)) {
			list_add_few_sql(&sql, shape & ~ASK_FEW(0));
		} else {
			buf_add_lit(&sql, "SELECT rec");
			list_add_sql(&sql, shape, SQL_SQLITE);
		}
		if (buf_error(&sql, NULL) != WEFT_OK)
			return buf_error(&sql, err);
		rc = sqlite3_prepare_v3(k->db, sql.ptr, (int)sql.len,
					SQLITE_PREPARE_PERSISTENT, &l->stmt,
					NULL);
		if (rc != SQLITE_OK)
			return catalog_fail(k->db, rc, err);
	}
	l->used = ++k->n_lists;
	*ret = l->stmt;
	return WEFT_OK;
}

static int bind_list(struct sqlite3_stmt *stmt, const struct list_query *q,
		     uint32_t shape)
{
	struct sql_value v[LIST_PARAMETERS];
	int rc = SQLITE_OK;

	list_parameters(q, shape, v);
	for (int i = 0; i < LIST_PARAMETERS && rc == SQLITE_OK; i++) {
		/* The statement knows only those that it uses. */
		if (v[i].kind != SQL_NULL)
			rc = sqlite_bind(stmt, i + 1, &v[i]);
	}
	return rc;
}

static int ask_few(struct conn *k, const struct sql_value *text, size_t i,
		   bool *ret, struct weft_error *err)
{
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	int r = list_stmt(k, ASK_FEW(i), &stmt, err);
	int rc;

	if (r < 0)
		return r;
	rc = sqlite_bind(stmt, 1, text);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return catalog_fail(k->db, rc, err);
	*ret = sqlite3_column_int(stmt, 0) != 0;
	return WEFT_OK;
}

/* Go by the first filter that few match, if there is one. */
static int choose_filter(struct conn *k, const struct list_query *q,
			 uint32_t *shape, struct weft_error *err)
{
	struct sql_value v[LIST_PARAMETERS];
	bool few = false;
	int r = WEFT_OK;

	list_parameters(q, *shape, v);
	for (size_t i = 0; i < LIST_FILTERS && r == WEFT_OK && !few; i++) {
		if (!list_has_filter(*shape, i))
			continue;
		r = ask_few(k, &v[list_filter_parameter(i) - 1], i, &few, err);
		if (r == WEFT_OK && few)
			*shape = list_shape_by(*shape, i);
	}
	return r;
}

int catalog_list(struct catalog *c, const struct list_query *q,
		 int (*each)(void *ctx, const struct session_rec *rec),
		 void *ctx, struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	uint32_t shape = list_shape(q);
	struct session_rec rec;
	int r, rc;

	if (list_shape_is_empty(shape))
		return WEFT_OK;
	r = choose_filter(k, q, &shape, err);
	if (r == WEFT_OK)
		r = list_stmt(k, shape, &stmt, err);
	if (r < 0)
		return r;
	rc = bind_list(stmt, q, shape);
	if (rc != SQLITE_OK)
		return catalog_fail(k->db, rc, err);
	for (;;) {
		rc = sqlite3_step(stmt);
		if (rc == SQLITE_DONE)
			return WEFT_OK;
		if (rc != SQLITE_ROW)
			return catalog_fail(k->db, rc, err);
		r = decode_record(stmt, &rec, err);
		if (r != WEFT_OK)
			return r;
		r = each(ctx, &rec);
		if (r != 0)
			return r;
	}
}

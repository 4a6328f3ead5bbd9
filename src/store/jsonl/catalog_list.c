/*
 * catalog_list.c - the catalogue's lists: store/match.h in SQL.
 *
 * Which filters a query has is its shape; one statement serves all queries of
 * a shape, and the last few are kept.  A statement names its index, so that
 * what it costs does not depend on what SQLite guesses.
 */
#include <limits.h>
#include <sqlite3.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "store/jsonl/catalog.h"
#include "store/jsonl/catalog_db.h"

#define DAY_MS (24 * 60 * 60 * 1000)

/* Parameters, by number. */
enum {
	P_KINDS = 1,
	P_PARENT,
	P_PROJECT,
	P_AGENT,
	P_CHANNEL,
	P_USER,
	P_SLUG,
	P_FOLDED,
	P_ID_LOW,
	P_ID_HIGH,
	P_CURSOR_MS,
	P_CURSOR_ID,
};

enum shape {
	SHAPE_ONE_KIND = 1 << 0,
	SHAPE_KINDS = 1 << 1,
	SHAPE_PARENT = 1 << 2,
	SHAPE_PROJECT = 1 << 3,
	SHAPE_AGENT = 1 << 4,
	SHAPE_CHANNEL = 1 << 5,
	SHAPE_USER = 1 << 6,
	SHAPE_SLUG = 1 << 7,
	SHAPE_FOLDED = 1 << 8,
	SHAPE_IDS = 1 << 9,
	SHAPE_FEW_IDS = 1 << 10,
	SHAPE_CREATION = 1 << 11,
	SHAPE_DELETED = 1 << 12,
	SHAPE_CURSOR = 1 << 13,
	SHAPE_BACKWARDS = 1 << 14,
};

/* Exact texts: where they are in the query and what to bind them to. */
static const struct {
	size_t offset;
	uint32_t shape;
	int parameter;
	const char *sql;
} texts[] = {
	{ offsetof(struct list_query, project_dir), SHAPE_PROJECT, P_PROJECT,
	  " AND project_dir=?3" },
	{ offsetof(struct list_query, agent), SHAPE_AGENT, P_AGENT,
	  " AND agent=?4" },
	{ offsetof(struct list_query, channel), SHAPE_CHANNEL, P_CHANNEL,
	  " AND channel=?5" },
	{ offsetof(struct list_query, user), SHAPE_USER, P_USER,
	  " AND user=?6" },
	{ offsetof(struct list_query, slug), SHAPE_SLUG, P_SLUG,
	  " AND slug=?7 AND slug<>''" },
};

static struct weft_str text_of(const struct list_query *q, size_t i)
{
	struct weft_str s;

	memcpy(&s, (const char *)q + texts[i].offset, sizeof(s));
	return s;
}

static bool has_ids(const struct list_query *q)
{
	return !id_is_zero(&q->id_low) || !id_is_zero(&q->id_high);
}

/* An id begins with its time: a short span of it holds few sessions. */
static bool has_few_ids(const struct list_query *q)
{
	return id_time_ms(&q->id_high) - id_time_ms(&q->id_low) <= DAY_MS;
}

static uint32_t shape_of(const struct list_query *q)
{
	uint32_t shape = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (text_of(q, i).len > 0)
			shape |= texts[i].shape;
	}
	if (q->kinds)
		shape |= q->kinds & (q->kinds - 1) ? SHAPE_KINDS :
						     SHAPE_ONE_KIND;
	if (!id_is_zero(&q->parent))
		shape |= SHAPE_PARENT;
	if (q->folded.len > 0)
		shape |= SHAPE_FOLDED;
	if (has_ids(q))
		shape |= has_few_ids(q) ? SHAPE_IDS | SHAPE_FEW_IDS : SHAPE_IDS;
	if (q->sort == LIST_BY_CREATION)
		shape |= SHAPE_CREATION;
	if (q->deleted != LIST_LIVE)
		shape |= SHAPE_DELETED;
	if (!id_is_zero(&q->cursor_id))
		shape |= SHAPE_CURSOR;
	if (q->backwards)
		shape |= SHAPE_BACKWARDS;
	return shape;
}

static const char *index_of(uint32_t shape)
{
	bool creation = shape & SHAPE_CREATION;

	if (shape & SHAPE_PARENT)
		return "sessions_parent";
	if (shape & SHAPE_SLUG)
		return "sessions_slug";
	if (shape & SHAPE_FEW_IDS)
		return "sessions_id";
	if (shape & SHAPE_ONE_KIND && !(shape & SHAPE_DELETED))
		return creation ? "live_creation" : "live_interaction";
	return creation ? "all_creation" : "all_interaction";
}

static void add_list(struct buf *b, uint32_t shape)
{
	const char *by =
		shape & SHAPE_CREATION ? "created_at" : "last_interaction_at";
	const char *direction = shape & SHAPE_BACKWARDS ? "" : " DESC";

	buf_add_lit(b, "SELECT ");
	sql_add_columns(b);
	buf_printf(b, " FROM sessions INDEXED BY %s WHERE purged_at=0",
		   index_of(shape));
	if (!(shape & SHAPE_DELETED))
		buf_add_lit(b, " AND deleted_at=0");
	if (shape & SHAPE_ONE_KIND)
		buf_add_lit(b, " AND kind=?1");
	if (shape & SHAPE_KINDS)
		buf_add_lit(b, " AND kind BETWEEN 0 AND 63 AND ?1>>kind&1");
	if (shape & SHAPE_PARENT)
		buf_add_lit(b, " AND parent=?2");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (shape & texts[i].shape)
			buf_add_str(b, str_of(texts[i].sql));
	}
	if (shape & SHAPE_FOLDED)
		buf_add_lit(b, " AND instr(fold,?8)>0");
	if (shape & SHAPE_IDS)
		buf_add_lit(b, " AND id BETWEEN ?9 AND ?10");
	if (shape & SHAPE_CURSOR)
		buf_printf(b, " AND (%s,id)%c(?11,?12)", by,
			   shape & SHAPE_BACKWARDS ? '>' : '<');
	buf_printf(b, " ORDER BY %s%s,id%s", by, direction, direction);
}

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
		add_list(&sql, shape);
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

static void bind_id(struct sqlite3_stmt *stmt, int i, const struct weft_id *id)
{
	(void)sqlite3_bind_blob(stmt, i, id, sizeof(*id), SQLITE_STATIC);
}

static int bind_list(struct sqlite3_stmt *stmt, const struct list_query *q,
		     uint32_t shape)
{
	uint64_t kinds = shape & SHAPE_ONE_KIND ?
				 (uint64_t)__builtin_ctzll(q->kinds) :
				 q->kinds;
	int rc = SQLITE_OK;

	if (shape & (SHAPE_ONE_KIND | SHAPE_KINDS))
		(void)sqlite3_bind_int64(stmt, P_KINDS, (sqlite3_int64)kinds);
	if (shape & SHAPE_PARENT)
		bind_id(stmt, P_PARENT, &q->parent);
	for (size_t i = 0; i < ARRAY_LEN(texts) && rc == SQLITE_OK; i++) {
		struct weft_str s = text_of(q, i);

		if (shape & texts[i].shape)
			rc = sqlite3_bind_text64(stmt, texts[i].parameter,
						 s.ptr, s.len, SQLITE_STATIC,
						 SQLITE_UTF8);
	}
	/* As bytes, like the column: so that instr() does not look for
	 * characters where there may be none. */
	if (shape & SHAPE_FOLDED && rc == SQLITE_OK)
		rc = sqlite3_bind_blob64(stmt, P_FOLDED, q->folded.ptr,
					 q->folded.len, SQLITE_STATIC);
	if (shape & SHAPE_IDS) {
		bind_id(stmt, P_ID_LOW, &q->id_low);
		bind_id(stmt, P_ID_HIGH, &q->id_high);
	}
	if (shape & SHAPE_CURSOR) {
		(void)sqlite3_bind_int64(stmt, P_CURSOR_MS, q->cursor_ms);
		bind_id(stmt, P_CURSOR_ID, &q->cursor_id);
	}
	return rc;
}

int catalog_list(struct catalog *c, const struct list_query *q,
		 int (*each)(void *ctx, const struct session_rec *rec),
		 void *ctx, struct weft_error *err)
{
	CLEANUP(conn_unlock) struct conn *k = conn_lock(c->reads);
	CLEANUP(stmt_release) struct sqlite3_stmt *stmt = NULL;
	uint32_t shape = shape_of(q);
	struct session_rec rec;
	int r, rc;

	/* There is nothing before the top. */
	if (shape & SHAPE_BACKWARDS && !(shape & SHAPE_CURSOR))
		return WEFT_OK;
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

/* driver.c - connections to SQLite and how statements run on them. */
#include <sqlite3.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/sqlite/ahead.h"
#include "store/sqlite/bind.h"
#include "store/sqlite/gather.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/words.h"

/* Waiting for another process: short at first, never long. */
#define BUSY_STEP_US 100
#define BUSY_MAX_US  2000

static struct sqlite_conn *conn_of(struct sql_conn *c)
{
	return (struct sqlite_conn *)(void *)c;
}

/* ---- errors ---- */

int sqlite_fail(const struct sqlite_store *s, struct sqlite3 *db, int rc,
		struct weft_error *err)
{
	char room[SQLITE_TEXT_BYTES];
	const char *text = sqlite_text(db, rc, 0, room);
	int code = sqlite_code(rc);

	switch (code) {
	case WEFT_NO_MEMORY:
		return fail_no_memory(err);
	case WEFT_BUSY:
		return fail(err, code,
			    "%s is locked by another process, for longer than "
			    "busy_ms",
			    s->path);
	case WEFT_NO_SPACE:
		return fail(err, code, "%s: no space left on its disk",
			    s->path);
	case WEFT_CORRUPT:
		if ((rc & 0xff) == SQLITE_NOTADB)
			return fail(err, WEFT_INVALID,
				    "%s is not an SQLite database", s->path);
		return fail(err, code, "%s is damaged: %s", s->path, text);
	default:
		return fail(err, code, "%s: %s", s->path, text);
	}
}

static int conn_fail(struct sqlite_conn *k, int rc, struct weft_error *err)
{
	return sqlite_fail(sqlite_of(k->base.store), k->db, rc, err);
}

/* ---- plain statements ---- */

int sqlite_exec(struct sqlite_conn *k, const char *sql, struct weft_error *err)
{
	int rc = sqlite3_exec(k->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? WEFT_OK : conn_fail(k, rc, err);
}

static void finalize(struct sqlite3_stmt **stmt)
{
	(void)sqlite3_finalize(*stmt);
}

int sqlite_ask(struct sqlite_conn *k, const char *sql, int64_t *ret,
	       struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(k->db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return conn_fail(k, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc,
				 err);
	*ret = sqlite3_column_int64(stmt, 0);
	return WEFT_OK;
}

/* ---- connections ---- */

static int wait_busy(void *ctx, int count)
{
	struct sqlite_conn *k = ctx;
	uint64_t limit_ms = k->base.store->store.limits.busy_ms;
	int64_t now = clock_mono_us();
	struct timespec nap = { 0 };

	if (count == 0)
		k->busy_since_us = now;
	if (now - k->busy_since_us >= (int64_t)limit_ms * 1000)
		return 0;
	nap.tv_nsec = 1000 * (long)u64_min(BUSY_STEP_US * (uint64_t)(count + 1),
					   BUSY_MAX_US);
	(void)nanosleep(&nap, NULL);
	return 1;
}

static int conn_configure(struct sqlite_conn *k, struct weft_error *err)
{
	static const char settings[] = "PRAGMA synchronous=FULL;"
				       "PRAGMA temp_store=MEMORY;"
				       "PRAGMA cache_size=-8000;"
				       "PRAGMA foreign_keys=OFF;"
				       "PRAGMA secure_delete=ON;"
				       "PRAGMA trusted_schema=OFF;"
				       "PRAGMA cell_size_check=ON;"
				       "PRAGMA mmap_size=0;";
	const struct sqlite_store *s = sqlite_of(k->base.store);
	int r = WEFT_OK;

	(void)sqlite3_extended_result_codes(k->db, 1);
	(void)sqlite3_busy_handler(k->db, wait_busy, k);
	/* A damaged schema must not get us to run what is in it. */
	(void)sqlite3_db_config(k->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(k->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(k->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	/* Before the file is looked at, or others could share it. */
	if (s->single)
		r = sqlite_exec(k, "PRAGMA locking_mode=EXCLUSIVE;", err);
	return r < 0 ? r : sqlite_exec(k, settings, err);
}

static void conn_close(struct sql_conn *c)
{
	struct sqlite_conn *k = conn_of(c);

	for (size_t i = 0; i < SQLITE_STATEMENTS; i++)
		finalize(&k->slots[i].stmt);
	finalize(&k->version);
	(void)sqlite3_close(k->db);
	mem_free(k);
}

static int conn_open(struct sql_store *s, enum sql_use use,
		     struct sql_conn **ret, struct weft_error *err)
{
	int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	struct sqlite_conn *k = mem_zero(1, sizeof(*k));
	CLEANUP(buf_done) struct buf uri;
	int r, rc;

	buf_init(&uri, SQL_TEXT_MAX);
	if (!k)
		return fail_no_memory(err);
	k->base.store = s;
	sqlite_add_uri(&uri, sqlite_of(s)->path, sqlite_of(s)->immutable);
	(void)buf_cstr(&uri);
	r = buf_error(&uri, err);
	if (r == WEFT_OK) {
		/* Who reads may have to recover what a dead writer left. */
		flags |= s->read_only ? SQLITE_OPEN_READONLY :
					SQLITE_OPEN_READWRITE;
		rc = sqlite3_open_v2(buf_cstr(&uri), &k->db, flags,
				     use == SQL_FOR_READING ? ahead_vfs() :
							      gather_vfs());
		r = rc == SQLITE_OK ? conn_configure(k, err) :
				      conn_fail(k, rc, err);
	}
	if (r == WEFT_OK && use != SQL_FOR_READING)
		gather_for(k->db);
	/* The longer the log, the fewer times a page that changes often is
	 * written into the file. */
	if (r == WEFT_OK && use == SQL_FOR_WRITING)
		r = sqlite_exec(k, "PRAGMA wal_autocheckpoint=4000", err);
	/* Who reads all of a long session is quicker with a small cache, which
	 * stays in that of the processor; what others need again is in it. */
	if (r == WEFT_OK && use == SQL_FOR_READING)
		r = sqlite_exec(
			k, "PRAGMA query_only=ON;PRAGMA cache_size=-1000", err);
	if (r < 0) {
		conn_close(&k->base);
		return r;
	}
	*ret = &k->base;
	return WEFT_OK;
}

/* ---- transactions ---- */

/* Whether somebody else has written since we have looked; if in doubt, yes. */
static bool others_wrote(struct sqlite_conn *k)
{
	int64_t seen = k->seen;

	if (!k->version && sqlite3_prepare_v3(k->db, "PRAGMA data_version", -1,
					      SQLITE_PREPARE_PERSISTENT,
					      &k->version, NULL) != SQLITE_OK)
		return true;
	k->seen = sqlite3_step(k->version) == SQLITE_ROW ?
			  sqlite3_column_int64(k->version, 0) :
			  -1;
	(void)sqlite3_reset(k->version);
	return k->seen < 0 || k->seen != seen;
}

static int conn_begin(struct sql_conn *c, enum sql_use use,
		      struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(c);
	int r;

	/* A rollback that failed is still to be done. */
	if (!sqlite3_get_autocommit(k->db))
		(void)sqlite3_exec(k->db, "ROLLBACK", NULL, NULL, NULL);
	r = sqlite_exec(k, use == SQL_FOR_WRITING ? "BEGIN IMMEDIATE" : "BEGIN",
			err);
	k->in_transaction = r == WEFT_OK;
	if (r == WEFT_OK && use == SQL_FOR_WRITING && others_wrote(k))
		c->others = true;
	return r;
}

/*
 * What was to be committed may come back from the log if it was written and
 * only the flush failed.
 */
static int conn_commit(struct sql_conn *c, struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(c);
	int r = sqlite_exec(k, "COMMIT", err);

	k->in_transaction = r != WEFT_OK;
	c->stamp = 1;
	if (r != WEFT_IO)
		return r;
	return fail_prefix(err, WEFT_UNKNOWN, "may have been written");
}

static void conn_rollback(struct sql_conn *c)
{
	struct sqlite_conn *k = conn_of(c);

	k->in_transaction = false;
	/* Some failures have rolled it back already. */
	if (!sqlite3_get_autocommit(k->db))
		(void)sqlite3_exec(k->db, "ROLLBACK", NULL, NULL, NULL);
}

/* BEGIN IMMEDIATE has locked everything. */
static int lock_names(struct sql_conn *c, const struct weft_str *names,
		      size_t n, struct weft_error *err)
{
	(void)c;
	(void)names;
	(void)n;
	(void)err;
	return WEFT_OK;
}

/* ---- running ---- */

/* The slot of this statement, or else the one that was used longest ago. */
static struct sqlite_slot *slot_of(struct sqlite_conn *k, uint32_t key)
{
	struct sqlite_slot *oldest = &k->slots[Q_DRIVER];

	/* Those of a fixed text have a place of their own. */
	if (key < Q_DRIVER)
		return &k->slots[key];
	for (size_t i = Q_DRIVER; i < SQLITE_STATEMENTS; i++) {
		struct sqlite_slot *slot = &k->slots[i];

		if (slot->stmt && slot->key == key)
			return slot;
		if (slot->used < oldest->used)
			oldest = slot;
	}
	return oldest;
}

static int prepare(struct sqlite_conn *k, uint32_t key,
		   struct sqlite3_stmt **ret, struct weft_error *err)
{
	struct sqlite_slot *slot = slot_of(k, key);

	if (!slot->stmt || slot->key != key) {
		CLEANUP(sql_text_done) struct sql_text text;
		int rc;

		(void)sqlite3_finalize(slot->stmt);
		*slot = (struct sqlite_slot){ .key = key };
		sql_text_init(&text);
		sql_text_make(&text, key, SQL_SQLITE);
		if (text.sql.error)
			return buf_error(&text.sql, err);
		rc = sqlite3_prepare_v3(k->db, text.sql.ptr, (int)text.sql.len,
					SQLITE_PREPARE_PERSISTENT, &slot->stmt,
					NULL);
		if (rc != SQLITE_OK)
			return conn_fail(k, rc, err);
	}
	slot->used = ++k->runs;
	*ret = slot->stmt;
	return WEFT_OK;
}

static void release(struct sqlite3_stmt **stmt)
{
	/* Its failure was told by the step that failed. */
	(void)sqlite3_reset(*stmt);
}

static int step_all(struct sqlite_conn *k, struct sqlite3_stmt *stmt,
		    sql_each *each, void *ctx, struct weft_error *err)
{
	int n = sqlite3_column_count(stmt);
	struct sql_value row[SQL_PARAMETERS_MAX];

	for (;;) {
		int r, rc = sqlite3_step(stmt);

		if (rc == SQLITE_DONE)
			return WEFT_OK;
		if (rc != SQLITE_ROW)
			return conn_fail(k, rc, err);
		for (int i = 0; i < n; i++) {
			if (!sqlite_column(stmt, i, &row[i]))
				return fail_no_memory(err);
		}
		r = each ? each(ctx, row, err) : WEFT_OK;
		if (r != WEFT_OK)
			return r == SQL_ENOUGH ? WEFT_OK : r;
	}
}

static int run_row(struct sqlite_conn *k, struct sqlite3_stmt *stmt,
		   const struct sql_value *v, size_t width, sql_each *each,
		   void *ctx, struct weft_error *err)
{
	/* One that is only for the other database has no place here. */
	size_t known = (size_t)sqlite3_bind_parameter_count(stmt);
	int r;

	for (size_t i = 0; i < width && i < known; i++) {
		int rc = sqlite_bind(stmt, (int)i + 1, &v[i]);

		if (rc != SQLITE_OK)
			return conn_fail(k, rc, err);
	}
	r = step_all(k, stmt, each, ctx, err);
	(void)sqlite3_reset(stmt);
	return r;
}

static int run_rows(struct sqlite_conn *k, struct sqlite3_stmt *stmt,
		    const struct sql_rows *in, sql_each *each, void *ctx,
		    struct weft_error *err)
{
	int r = WEFT_OK;

	if (!in)
		return run_row(k, stmt, NULL, 0, each, ctx, err);
	for (size_t i = 0; i < in->n && r == WEFT_OK; i++)
		r = run_row(k, stmt, in->v + i * in->width, in->width, each,
			    ctx, err);
	return r;
}

static int conn_run(struct sql_conn *c, uint32_t key, const struct sql_rows *in,
		    sql_each *each, void *ctx, uint64_t *changed,
		    struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(c);
	/* Several rows are several statements, and must see one state. */
	bool wrap = in && in->n > 1 && !k->in_transaction;
	CLEANUP(release) struct sqlite3_stmt *stmt = NULL;
	int64_t before = sqlite3_total_changes64(k->db);
	int r = prepare(k, key, &stmt, err);

	if (r == WEFT_OK && wrap)
		r = conn_begin(c, SQL_FOR_READING, err);
	if (r == WEFT_OK)
		r = run_rows(k, stmt, in, each, ctx, err);
	if (wrap)
		conn_rollback(c);
	if (changed)
		*changed = (uint64_t)(sqlite3_total_changes64(k->db) - before);
	return r;
}

/* ---- health ---- */

static int conn_check(struct sql_conn *c, struct store_report *report,
		      struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(c);
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(k->db, "PRAGMA integrity_check(100)", -1,
				    &stmt, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		const char *said;
		int r;

		rc = sqlite3_step(stmt);
		if (rc != SQLITE_ROW)
			break;
		said = (const char *)sqlite3_column_text(stmt, 0);
		if (!said || strcmp(said, "ok") == 0)
			continue;
		r = report_problem(report, NULL, NULL, 0, 0, err, "%s", said);
		if (r < 0)
			return r;
	}
	return rc == SQLITE_DONE ? WEFT_OK : conn_fail(k, rc, err);
}

/* Deleted rows were overwritten (secure_delete); the log still has them, as
 * far as no reader needs it. */
static int forget(struct sql_store *s, struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(s->write_conn);
	int r;

	(void)pthread_mutex_lock(&s->writer);
	r = sqlite_exec(k, "PRAGMA wal_checkpoint(TRUNCATE)", err);
	(void)pthread_mutex_unlock(&s->writer);
	return r;
}

/* ---- words ---- */

static int conn_put_words(struct sql_conn *c, const struct word_batch *b,
			  struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(c);
	int rc = words_put(k->db, &b->session, b->docs, b->n);

	return rc == SQLITE_OK ? WEFT_OK : conn_fail(k, rc, err);
}

static int conn_find_words(struct sql_conn *c, const struct word_query *q,
			   size_t limit, struct arena *a, struct word_page *ret,
			   struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(c);
	int rc = words_find(k->db, q, limit, a, ret);

	return rc == SQLITE_OK ? WEFT_OK : conn_fail(k, rc, err);
}

static int conn_drop_words(struct sql_conn *c, const struct weft_id *sessions,
			   size_t n, struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(c);
	int rc = words_drop(k->db, sessions, n);

	return rc == SQLITE_OK ? WEFT_OK : conn_fail(k, rc, err);
}

static int conn_clear_words(struct sql_conn *c, struct weft_error *err)
{
	struct sqlite_conn *k = conn_of(c);
	int rc = words_clear(k->db);

	return rc == SQLITE_OK ? WEFT_OK : conn_fail(k, rc, err);
}

const struct sql_driver sqlite_driver = {
	.dialect = SQL_SQLITE,
	.streams = true,
	.conn_open = conn_open,
	.conn_close = conn_close,
	.begin = conn_begin,
	.commit = conn_commit,
	.rollback = conn_rollback,
	.lock_names = lock_names,
	.run = conn_run,
	.forget = forget,
	.check = conn_check,
	.backup = sqlite_make_backup,
	.put_words = conn_put_words,
	.find_words = conn_find_words,
	.drop_words = conn_drop_words,
	.clear_words = conn_clear_words,
	.committed = sqlite_ring,
};

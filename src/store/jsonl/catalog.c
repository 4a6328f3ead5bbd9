/*
 * catalog.c - the catalogue's file: opening, schema, connections, errors.
 *
 * DESIGN
 *
 * There are two connections, one for transactions and one for reads, each
 * under a lock of its own, so that reads go on while a transaction is being
 * filled: it changes only its own cache until it commits (cache_spill is off).
 * The rollback journal is truncated, not deleted; there is no WAL, which a
 * read-only file system could not have.  In memory there is one connection,
 * and reads of other threads wait for the end of a transaction.
 */
#include "store/jsonl/catalog.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/record.h"
#include "store/jsonl/catalog_db.h"
#include "store/jsonl/vfs.h"
#include "store/sql/columns.h"
#include "store/sqlite/bind.h"

#define APPLICATION_ID 0x77656674 /* "weft" */
#define BUSY_US        5000000
#define BUSY_STEP_US   20000

/* ---- errors ---- */

int fail_damaged(struct weft_error *err, const char *what)
{
	return fail(err, WEFT_CORRUPT,
		    "catalog.db is damaged: %s; `weft reindex` makes it again",
		    what);
}

static int fail_replaced(struct weft_error *err)
{
	return fail(err, WEFT_BUSY, "catalog.db is being replaced");
}

int catalog_fail(struct sqlite3 *db, int rc, struct weft_error *err)
{
	char room[SQLITE_TEXT_BYTES];
	const char *text = sqlite_text(db, rc, vfs_last_error(), room);
	int code = sqlite_code(rc);

	if (rc == SQLITE_READONLY_DBMOVED)
		return fail_replaced(err);
	switch (code) {
	case WEFT_NO_MEMORY:
		return fail_no_memory(err);
	case WEFT_CORRUPT:
		if (rc == SQLITE_IOERR_DATA)
			text = "a page has a wrong checksum";
		if (rc == SQLITE_READONLY_ROLLBACK)
			text = "somebody died while writing to it";
		return fail_damaged(err, text);
	default:
		return fail(err, code, "catalog.db: %s", text);
	}
}

/* ---- statements ---- */

int conn_stmt(struct conn *k, enum catalog_sql which, struct sqlite3_stmt **ret,
	      struct weft_error *err)
{
	if (!k->stmts[which]) {
		CLEANUP(buf_done) struct buf sql;
		int rc;

		buf_init(&sql, SQL_BYTES_MAX);
		sql_add(&sql, which);
		if (buf_error(&sql, NULL) != WEFT_OK)
			return buf_error(&sql, err);
		rc = sqlite3_prepare_v3(k->db, sql.ptr, (int)sql.len,
					SQLITE_PREPARE_PERSISTENT,
					&k->stmts[which], NULL);
		if (rc != SQLITE_OK)
			return catalog_fail(k->db, rc, err);
	}
	*ret = k->stmts[which];
	return WEFT_OK;
}

void stmt_release(struct sqlite3_stmt **stmt)
{
	if (!*stmt)
		return;
	/* Its failure was told by the step that failed. */
	(void)sqlite3_reset(*stmt);
	(void)sqlite3_clear_bindings(*stmt);
}

struct conn *conn_lock(struct conn *k)
{
	(void)pthread_mutex_lock(&k->lock);
	return k;
}

void conn_unlock(struct conn **k)
{
	if (*k)
		(void)pthread_mutex_unlock(&(*k)->lock);
}

/* ---- decoding ---- */

int decode_id(struct sqlite3_stmt *stmt, int column, struct weft_id *ret,
	      struct weft_error *err)
{
	const void *bytes = sqlite3_column_blob(stmt, column);
	int n = sqlite3_column_bytes(stmt, column);

	if (n == 0) {
		*ret = (struct weft_id){ .b = { 0 } };
		return WEFT_OK;
	}
	if (!bytes || n != (int)sizeof(*ret))
		return fail_damaged(err, "an id that is not 16 bytes long");
	memcpy(ret, bytes, sizeof(*ret));
	return WEFT_OK;
}

int decode_record(struct sqlite3_stmt *stmt, struct session_rec *ret,
		  struct weft_error *err)
{
	struct sql_value v;

	if (!sqlite_column(stmt, 0, &v))
		return fail_no_memory(err);
	if (v.kind != SQL_BYTES || !record_unpack(v.s, ret))
		return fail_damaged(err, "a record that makes no sense");
	return WEFT_OK;
}

/* ---- opening ---- */

static int run(struct conn *k, const char *sql, struct weft_error *err)
{
	int rc = sqlite3_exec(k->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? WEFT_OK : catalog_fail(k->db, rc, err);
}

static void finalize(struct sqlite3_stmt **stmt)
{
	(void)sqlite3_finalize(*stmt);
}

/* The first column of the first row of `sql`, a number. */
static int ask(struct conn *k, const char *sql, int *ret,
	       struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(k->db, sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return catalog_fail(k->db, rc, err);
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW)
		return catalog_fail(
			k->db, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, err);
	*ret = sqlite3_column_int(stmt, 0);
	return WEFT_OK;
}

/*
 * Wait a little longer each time.  Called without memory of ours: how long it
 * has been follows from the count.
 */
static int wait_busy(void *ctx, int count)
{
	struct catalog *c = ctx;
	unsigned us = count < 8 ? 100u << count : BUSY_STEP_US;

	if (count > BUSY_US / BUSY_STEP_US)
		return 0;
	fs_sleep_us(c->fs, us);
	return 1;
}

static void conn_close(struct conn *k)
{
	for (size_t i = 0; i < SQL_STATEMENTS; i++)
		finalize(&k->stmts[i]);
	for (size_t i = 0; i < LIST_STATEMENTS; i++)
		finalize(&k->lists[i].stmt);
	(void)sqlite3_close(k->db);
	k->db = NULL;
}

/*
 * Reads keep more pages.  In a large catalogue most are looked at in place
 * (catalog_sum.c), though nothing is mapped.  Such a page would be gone through
 * cell by cell each time; it is what was written, as its checksum says.
 */
static const char read_settings[] = "PRAGMA cache_size=-10000;"
				    "PRAGMA mmap_size=1;"
				    "PRAGMA cell_size_check=OFF;";

static int conn_configure(struct catalog *c, struct conn *k,
			  struct weft_error *err)
{
	static const char settings[] = "PRAGMA page_size=4096;"
				       "PRAGMA synchronous=FULL;"
				       "PRAGMA locking_mode=NORMAL;"
				       "PRAGMA temp_store=MEMORY;"
				       "PRAGMA cache_size=-1000;"
				       "PRAGMA cache_spill=OFF;"
				       "PRAGMA foreign_keys=OFF;"
				       "PRAGMA secure_delete=ON;"
				       "PRAGMA trusted_schema=OFF;"
				       "PRAGMA cell_size_check=ON;"
				       "PRAGMA mmap_size=0;"
				       "PRAGMA journal_mode=TRUNCATE;";

	int sum_bytes = CATALOG_SUM_BYTES;
	int r;

	(void)sqlite3_extended_result_codes(k->db, 1);
	(void)sqlite3_busy_handler(k->db, wait_busy, c);
	/* A damaged schema must not get us to run what is in it. */
	(void)sqlite3_db_config(k->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(k->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(k->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	/* Takes effect only when the file is made. */
	if (c->vfs)
		(void)sqlite3_file_control(
			k->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &sum_bytes);
	r = run(k, settings, err);
	return r == WEFT_OK && k == &c->conns[0] ? run(k, read_settings, err) :
						   r;
}

static int conn_open(struct catalog *c, struct conn *k, int flags,
		     struct weft_error *err)
{
	CLEANUP(buf_done) struct buf uri;
	int rc;

	buf_init(&uri, SQL_BYTES_MAX);
	if (c->vfs)
		sqlite_add_uri(&uri, c->path, c->immutable);
	else
		buf_add_lit(&uri, ":memory:");
	(void)buf_cstr(&uri);
	if (buf_error(&uri, NULL) != WEFT_OK)
		return buf_error(&uri, err);
	rc = sqlite3_open_v2(buf_cstr(&uri), &k->db,
			     flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			     c->vfs ? sums_name(c->sums) : NULL);
	if (rc != SQLITE_OK)
		return catalog_fail(k->db, rc, err);
	if (!(flags & SQLITE_OPEN_READONLY) &&
	    sqlite3_db_readonly(k->db, "main") == 1)
		return fail(err, WEFT_READ_ONLY,
			    "catalog.db cannot be written to");
	return conn_configure(c, k, err);
}

enum schema_state { SCHEMA_OURS, SCHEMA_NONE, SCHEMA_OTHER };

static int look_at_schema(struct conn *k, int version, enum schema_state *ret,
			  struct weft_error *err)
{
	int application = 0, found = 0, objects = 0;
	int r;

	r = ask(k, "PRAGMA application_id", &application, err);
	if (r < 0)
		return r;
	r = ask(k, "PRAGMA user_version", &found, err);
	if (r < 0)
		return r;
	r = ask(k, "SELECT count(*) FROM sqlite_schema", &objects, err);
	if (r < 0)
		return r;
	if (application == APPLICATION_ID && found == version)
		*ret = SCHEMA_OURS;
	else if (application == 0 && found == 0 && objects == 0)
		*ret = SCHEMA_NONE;
	else
		*ret = SCHEMA_OTHER;
	return WEFT_OK;
}

static int fail_other_schema(struct weft_error *err)
{
	return fail(err, WEFT_CORRUPT,
		    "catalog.db is of another version; `weft reindex` makes it "
		    "again");
}

/* In a transaction, so that two who make the schema do not both do it. */
static int make_schema(struct conn *k, struct buf *schema,
		       struct weft_error *err)
{
	int version = sql_version(schema);
	enum schema_state state;
	int r;

	r = run(k, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = look_at_schema(k, version, &state, err);
	if (r == WEFT_OK && state == SCHEMA_OTHER)
		r = fail_other_schema(err);
	if (r == WEFT_OK && state == SCHEMA_NONE) {
		buf_printf(schema,
			   "PRAGMA application_id=%d;PRAGMA user_version=%d;",
			   APPLICATION_ID, version);
		r = buf_error(schema, err);
		if (r == WEFT_OK)
			r = run(k, buf_cstr(schema), err);
	}
	if (r == WEFT_OK)
		r = run(k, "COMMIT", err);
	if (r < 0)
		(void)run(k, "ROLLBACK", NULL);
	return r;
}

static int check_schema(struct catalog *c, struct conn *k,
			struct weft_error *err)
{
	CLEANUP(buf_done) struct buf schema;
	enum schema_state state;
	int r, end;

	buf_init(&schema, SQL_BYTES_MAX);
	sql_add_schema(&schema);
	r = buf_error(&schema, err);
	if (r < 0)
		return r;
	r = run(k, "BEGIN", err);
	if (r < 0)
		return r;
	r = look_at_schema(k, sql_version(&schema), &state, err);
	end = run(k, "COMMIT", r < 0 ? NULL : err);
	if (r < 0 || end < 0)
		return r < 0 ? r : end;
	if (state == SCHEMA_OURS)
		return WEFT_OK;
	if (c->flags & CATALOG_READ_ONLY && c->vfs)
		return fail_other_schema(err);
	return make_schema(k, &schema, err);
}

/*
 * The two connections, and whoever asks what file this is, must speak of the
 * same one, though somebody may be replacing it.
 */
static int check_same_file(struct catalog *c, struct weft_error *err)
{
	struct file_stat held, named;
	int r = file_stat(c->file, &held);

	if (r == 0)
		r = fs_stat(c->fs, c->path, &named);
	if (r != 0 && r != -ENOENT)
		return fail_errno(err, r, "catalog.db");
	if (r != 0 || held.dev != named.dev || held.ino != named.ino)
		return fail_replaced(err);
	return WEFT_OK;
}

static int open_file(struct catalog *c, unsigned flags, struct weft_error *err)
{
	int r;

	if (!c->vfs)
		return WEFT_OK;
	r = file_open(c->fs, c->path, flags, &c->file);
	if (r == -ENOENT && !(flags & FILE_CREATE))
		return fail(err, WEFT_NOT_FOUND, "there is no catalog.db");
	return r < 0 ? fail_errno(err, r, "catalog.db") : WEFT_OK;
}

static int open_for_writing(struct catalog *c, struct weft_error *err)
{
	struct sqlite3_stmt *stmt;
	int r = open_file(c, FILE_WRITE | FILE_CREATE, err);

	c->writes = &c->conns[1];
	if (r == WEFT_OK)
		r = conn_open(c, c->writes, SQLITE_OPEN_READWRITE, err);
	if (r == WEFT_OK)
		r = check_schema(c, c->writes, err);
	for (int i = SQL_BEGIN; r == WEFT_OK && i <= SQL_ROLLBACK; i++)
		r = conn_stmt(c->writes, (enum catalog_sql)i, &stmt, err);
	if (r < 0)
		return r;
	if (!c->vfs) {
		c->reads = c->writes;
		return WEFT_OK;
	}
	/* It may have to roll back what another process has left. */
	c->reads = &c->conns[0];
	r = conn_open(c, c->reads, SQLITE_OPEN_READWRITE, err);
	if (r == WEFT_OK)
		r = run(c->reads, "PRAGMA query_only=ON", err);
	return r < 0 ? r : check_same_file(c, err);
}

static int open_reader(struct catalog *c, struct weft_error *err)
{
	int r;

	c->reads = &c->conns[0];
	r = conn_open(c, c->reads, SQLITE_OPEN_READONLY, err);
	if (r == WEFT_OK)
		r = check_schema(c, c->reads, err);
	return r < 0 ? r : check_same_file(c, err);
}

/* True if a transaction was under way when somebody died. */
static bool has_journal(struct catalog *c)
{
	CLEANUP(buf_done) struct buf path;
	struct file_stat st;

	buf_init(&path, SQL_BYTES_MAX);
	buf_printf(&path, "%s-journal", c->path);
	if (path.error)
		return true;
	return fs_stat(c->fs, buf_cstr(&path), &st) == 0 && st.size > 0;
}

/*
 * On a file system that nobody can write to there may be no locks to be had;
 * nor are they needed there.
 */
static int open_for_reading(struct catalog *c, struct weft_error *err)
{
	struct fs_space space;
	int r = open_file(c, FILE_READ, err);

	if (r < 0)
		return r;
	r = open_reader(c, err);
	if (r == WEFT_OK || (r != WEFT_IO && r != WEFT_READ_ONLY))
		return r;
	if (fs_space(c->fs, c->path, &space) < 0 || !space.is_read_only)
		return r;
	conn_close(c->reads);
	if (has_journal(c))
		return fail(err, WEFT_CORRUPT,
			    "catalog.db was being written to and cannot be "
			    "mended here");
	c->immutable = true;
	return open_reader(c, err);
}

static int init_locks(struct catalog *c)
{
	pthread_mutexattr_t again;

	if (pthread_mutexattr_init(&again) != 0)
		return -1;
	(void)pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
	for (size_t i = 0; i < ARRAY_LEN(c->conns); i++)
		(void)pthread_mutex_init(&c->conns[i].lock, &again);
	(void)pthread_mutexattr_destroy(&again);
	return 0;
}

int catalog_open(struct fs *fs, const char *path, unsigned flags,
		 struct catalog **ret, struct weft_error *err)
{
	struct catalog *c = mem_zero(1, sizeof(*c));
	int r = WEFT_OK;

	if (!c)
		return fail_no_memory(err);
	if (init_locks(c) < 0) {
		mem_free(c);
		return fail_no_memory(err);
	}
	c->fs = fs;
	c->flags = flags;
	arena_init(&c->scratch, 0);
	buf_init(&c->packed, 0);
	if (!(flags & CATALOG_IN_MEMORY)) {
		c->path = mem_copy(str_of(path));
		r = c->path ? vfs_open(fs, &c->vfs, err) : fail_no_memory(err);
		if (r == WEFT_OK)
			r = sums_open(vfs_name(c->vfs), &c->sums, err);
	}
	if (r == WEFT_OK)
		r = flags & CATALOG_READ_ONLY && c->vfs ?
			    open_for_reading(c, err) :
			    open_for_writing(c, err);
	if (r < 0) {
		catalog_close(c);
		return r;
	}
	*ret = c;
	return WEFT_OK;
}

void catalog_close(struct catalog *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < ARRAY_LEN(c->conns); i++) {
		conn_close(&c->conns[i]);
		(void)pthread_mutex_destroy(&c->conns[i].lock);
	}
	sums_close(c->sums);
	vfs_close(c->vfs);
	file_close(c->file);
	arena_done(&c->scratch);
	buf_done(&c->packed);
	mem_free(c->path);
	mem_free(c);
}

int catalog_file_stat(struct catalog *c, struct file_stat *ret)
{
	if (c->file)
		return file_stat(c->file, ret);
	*ret = (struct file_stat){ .links = 1, .is_file = true };
	return 0;
}

/* search_db.c - the file search.db; search_db.h has its promises. */
#include "store/jsonl/search_db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "store/jsonl/catalog_db.h"
#include "store/jsonl/vfs.h"
#include "store/sqlite/bind.h"
#include "store/sqlite/words.h"

#define APPLICATION_ID 0x77656678 /* "wefx" */
#define BUSY_MS        5000

/* One more whenever the tables or the tokens of a text become others. */
#define SEARCH_VERSION 3

static const char tables[] =
	"CREATE TABLE search_meta(one INTEGER PRIMARY KEY CHECK(one=1),"
	"store BLOB NOT NULL,lsn INTEGER NOT NULL,row INTEGER NOT NULL,"
	"epoch INTEGER NOT NULL) STRICT;"
	"INSERT INTO search_meta VALUES(1,zeroblob(16),0,0,random()>>2);"
	"CREATE TABLE search_marks(session BLOB PRIMARY KEY NOT NULL,"
	"seq INTEGER NOT NULL) WITHOUT ROWID, STRICT;"
	"CREATE TABLE search_dropped(session BLOB PRIMARY KEY NOT NULL,"
	"head INTEGER NOT NULL) WITHOUT ROWID, STRICT;"
	"CREATE TABLE search_doomed(session BLOB PRIMARY KEY NOT NULL,"
	"epoch INTEGER NOT NULL) WITHOUT ROWID, STRICT;" WORDS_TABLES;

/* ---- statements ---- */

int search_db_fail(struct sqlite3 *db, int rc, struct weft_error *err)
{
	char room[SQLITE_TEXT_BYTES];
	const char *text = sqlite_text(db, rc, vfs_last_error(), room);
	int code = sqlite_code(rc);

	if (rc == SQLITE_READONLY_DBMOVED)
		return fail(err, WEFT_BUSY, "search.db is being replaced");
	/* What the tables do not allow, and what FTS5 does not understand, is
	 * a file that somebody has changed. */
	if ((rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_CONSTRAINT ||
	    (rc & 0xff) == SQLITE_MISMATCH)
		code = WEFT_CORRUPT;
	if (code == WEFT_NO_MEMORY)
		return fail_no_memory(err);
	return fail(err, code, "search.db: %s", text);
}

int search_db_exec(struct sqlite3 *db, const char *sql, struct weft_error *err)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? WEFT_OK : search_db_fail(db, rc, err);
}

static void finalize(struct sqlite3_stmt **stmt)
{
	(void)sqlite3_finalize(*stmt);
}

static int prepare(struct sqlite3 *db, const char *sql,
		   struct sqlite3_stmt **ret, struct weft_error *err)
{
	int rc = sqlite3_prepare_v2(db, sql, -1, ret, NULL);

	return rc == SQLITE_OK ? WEFT_OK : search_db_fail(db, rc, err);
}

static void bind_id(struct sqlite3_stmt *stmt, int i, const struct weft_id *id)
{
	(void)sqlite3_bind_blob(stmt, i, id, sizeof(*id), SQLITE_STATIC);
}

static int step_done(struct sqlite3 *db, struct sqlite3_stmt *stmt,
		     struct weft_error *err)
{
	int rc = sqlite3_step(stmt);

	return rc == SQLITE_DONE ? WEFT_OK : search_db_fail(db, rc, err);
}

/* The first row must be there. */
static int step_row(struct sqlite3 *db, struct sqlite3_stmt *stmt,
		    struct weft_error *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return WEFT_OK;
	return search_db_fail(db, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, err);
}

static int ask(struct sqlite3 *db, const char *sql, int64_t *ret,
	       struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int r = prepare(db, sql, &stmt, err);

	if (r == WEFT_OK)
		r = step_row(db, stmt, err);
	if (r == WEFT_OK)
		*ret = sqlite3_column_int64(stmt, 0);
	return r;
}

int search_db_get_place(struct sqlite3 *db, struct search_place *ret,
			struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int r = prepare(db, "SELECT lsn,row,epoch FROM search_meta", &stmt,
			err);

	if (r == WEFT_OK)
		r = step_row(db, stmt, err);
	if (r < 0)
		return r;
	ret->lsn = (uint64_t)sqlite3_column_int64(stmt, 0);
	ret->row = (uint64_t)sqlite3_column_int64(stmt, 1);
	ret->epoch = (uint64_t)sqlite3_column_int64(stmt, 2);
	return WEFT_OK;
}

int search_db_set_place(struct sqlite3 *db, const struct search_place *place,
			struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int r = prepare(db, "UPDATE search_meta SET lsn=?1,row=?2", &stmt, err);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)place->lsn);
	(void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)place->row);
	return step_done(db, stmt, err);
}

int search_db_get_marks(struct sqlite3 *db, struct word_behind *v, size_t n,
			struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int r = prepare(db, "SELECT seq FROM search_marks WHERE session=?1",
			&stmt, err);

	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		int rc;

		bind_id(stmt, 1, &v[i].session);
		rc = sqlite3_step(stmt);
		if (rc == SQLITE_ROW)
			v[i].from = (uint64_t)sqlite3_column_int64(stmt, 0);
		if (rc != SQLITE_ROW && rc != SQLITE_DONE)
			r = search_db_fail(db, rc, err);
		(void)sqlite3_reset(stmt);
	}
	return r;
}

static int set_mark(struct sqlite3 *db, const struct weft_id *session,
		    uint64_t seq, struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int r = prepare(db,
			"INSERT INTO search_marks VALUES(?1,?2)"
			" ON CONFLICT(session) DO UPDATE SET seq=excluded.seq",
			&stmt, err);

	if (r < 0)
		return r;
	bind_id(stmt, 1, session);
	(void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)seq);
	return step_done(db, stmt, err);
}

/* The words are there again up to what was the head. */
static int forget_dropped(struct sqlite3 *db, const struct weft_id *session,
			  uint64_t seq, struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int r = prepare(db,
			"DELETE FROM search_dropped"
			" WHERE session=?1 AND head<=?2",
			&stmt, err);

	if (r < 0)
		return r;
	bind_id(stmt, 1, session);
	(void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)seq);
	return step_done(db, stmt, err);
}

int search_db_put(struct sqlite3 *db, const struct word_batch *b,
		  struct weft_error *err)
{
	struct word_behind now = { b->session, b->from, b->to };
	int rc, r = search_db_get_marks(db, &now, 1, err);

	if (r < 0 || now.from != b->from)
		return r;
	rc = words_put(db, &b->session, b->docs, b->n);
	if (rc != SQLITE_OK)
		return search_db_fail(db, rc, err);
	r = set_mark(db, &b->session, b->to, err);
	return r == WEFT_OK ? forget_dropped(db, &b->session, b->to, err) : r;
}

static int note_dropped(struct sqlite3 *db, const struct weft_id *session,
			uint64_t head, struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *mark = NULL, *note = NULL;
	int r = prepare(db, "DELETE FROM search_marks WHERE session=?1", &mark,
			err);

	if (r == WEFT_OK)
		r = prepare(db, "REPLACE INTO search_dropped VALUES(?1,?2)",
			    &note, err);
	if (r < 0)
		return r;
	bind_id(mark, 1, session);
	bind_id(note, 1, session);
	(void)sqlite3_bind_int64(note, 2, (sqlite3_int64)head);
	r = step_done(db, mark, err);
	return r == WEFT_OK ? step_done(db, note, err) : r;
}

int search_db_drop(struct sqlite3 *db, const struct weft_id *sessions,
		   const uint64_t *heads, size_t n, struct weft_error *err)
{
	int rc = words_drop(db, sessions, n), r = WEFT_OK;

	if (rc != SQLITE_OK)
		return search_db_fail(db, rc, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = note_dropped(db, &sessions[i], heads[i], err);
	if (r == WEFT_OK)
		r = search_db_exec(db,
				   "DELETE FROM search_dropped WHERE head=0;"
				   "UPDATE search_meta SET epoch=epoch+1;",
				   err);
	return r;
}

/* The sessions of a table: all of them, as they are in one look. */
static int get_sessions(struct sqlite3 *db, const char *count, const char *list,
			struct arena *a, struct weft_id **ret, size_t *ret_n,
			struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int64_t n = 0;
	int rc, r = ask(db, count, &n, err);

	*ret_n = 0;
	if (r == WEFT_OK)
		r = prepare(db, list, &stmt, err);
	if (r < 0)
		return r;
	*ret = ARENA_ARRAY(a, struct weft_id, (size_t)n);
	if (!*ret)
		return arena_error(a, err);
	(void)sqlite3_bind_int64(stmt, 1, n);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct weft_id *id = &(*ret)[(*ret_n)++];

		if (sqlite3_column_bytes(stmt, 0) != (int)sizeof(*id))
			return search_db_fail(db, SQLITE_CORRUPT, err);
		memcpy(id, sqlite3_column_blob(stmt, 0), sizeof(*id));
	}
	return rc == SQLITE_DONE ? WEFT_OK : search_db_fail(db, rc, err);
}

int search_db_get_dropped(struct sqlite3 *db, struct arena *a,
			  struct weft_id **ret, size_t *ret_n,
			  struct weft_error *err)
{
	return get_sessions(db, "SELECT count(*) FROM search_dropped",
			    "SELECT session FROM search_dropped LIMIT ?1", a,
			    ret, ret_n, err);
}

int search_db_doom(struct sqlite3 *db, const struct weft_id *sessions, size_t n,
		   struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int r = search_db_exec(db, "UPDATE search_meta SET epoch=epoch+1", err);

	if (r == WEFT_OK)
		r = prepare(db,
			    "REPLACE INTO search_doomed"
			    " SELECT ?1,epoch FROM search_meta",
			    &stmt, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		bind_id(stmt, 1, &sessions[i]);
		r = step_done(db, stmt, err);
		(void)sqlite3_reset(stmt);
	}
	return r;
}

int search_db_get_doomed(struct sqlite3 *db, struct arena *a,
			 struct weft_id **ret, size_t *ret_n,
			 uint64_t *ret_last, struct weft_error *err)
{
	int64_t last = 0;
	int r = ask(db, "SELECT coalesce(max(epoch),0) FROM search_doomed",
		    &last, err);

	*ret_last = (uint64_t)last;
	if (r < 0)
		return r;
	return get_sessions(db, "SELECT count(*) FROM search_doomed",
			    "SELECT session FROM search_doomed LIMIT ?1", a,
			    ret, ret_n, err);
}

int search_db_has_doomed(struct sqlite3 *db, bool *ret, struct weft_error *err)
{
	int64_t some = 0;
	int r = ask(db, "SELECT EXISTS(SELECT 1 FROM search_doomed)", &some,
		    err);

	*ret = some != 0;
	return r;
}

int search_db_spare(struct sqlite3 *db, uint64_t last, struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int r = prepare(db, "DELETE FROM search_doomed WHERE epoch<=?1", &stmt,
			err);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)last);
	return step_done(db, stmt, err);
}

int search_db_clear(struct sqlite3 *db, struct weft_error *err)
{
	int rc = words_clear(db);

	if (rc != SQLITE_OK)
		return search_db_fail(db, rc, err);
	return search_db_exec(
		db,
		"DELETE FROM search_marks;"
		"DELETE FROM search_dropped;"
		"UPDATE search_meta SET lsn=0,row=0,epoch=epoch+1;",
		err);
}

/* ---- opening ---- */

static void close_db(struct search_db *s)
{
	(void)sqlite3_close(s->db);
	s->db = NULL;
	sums_close(s->sums);
	s->sums = NULL;
	vfs_close(s->vfs);
	s->vfs = NULL;
	file_close(s->file);
	s->file = NULL;
}

void search_db_init(struct search_db *s)
{
	*s = (struct search_db){ .db = NULL };
	(void)pthread_mutex_init(&s->lock, NULL);
}

void search_db_done(struct search_db *s)
{
	close_db(s);
	(void)pthread_mutex_destroy(&s->lock);
}

static int configure(struct sqlite3 *db, struct weft_error *err)
{
	static const char settings[] = "PRAGMA page_size=4096;"
				       "PRAGMA synchronous=FULL;"
				       "PRAGMA temp_store=MEMORY;"
				       "PRAGMA cache_size=-2000;"
				       "PRAGMA foreign_keys=OFF;"
				       "PRAGMA secure_delete=ON;"
				       "PRAGMA trusted_schema=OFF;"
				       "PRAGMA cell_size_check=ON;"
				       "PRAGMA mmap_size=0;"
				       "PRAGMA journal_mode=TRUNCATE;";
	int sum_bytes = CATALOG_SUM_BYTES;

	(void)sqlite3_extended_result_codes(db, 1);
	(void)sqlite3_busy_timeout(db, BUSY_MS);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	/* Takes effect only when the file is made. */
	(void)sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES,
				   &sum_bytes);
	return search_db_exec(db, settings, err);
}

/* Tables in an empty file; whose are those in another? */
static int check_tables(struct sqlite3 *db, const struct search_use *how,
			struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int64_t application = 0, version = 0;
	int r = ask(db, "PRAGMA application_id", &application, err);

	if (r == WEFT_OK)
		r = ask(db, "PRAGMA user_version", &version, err);
	if (r == WEFT_OK &&
	    (application != APPLICATION_ID || version != SEARCH_VERSION))
		return fail(err, WEFT_CORRUPT, "search.db: of another version");
	if (r == WEFT_OK)
		r = prepare(db, "SELECT store FROM search_meta", &stmt, err);
	if (r == WEFT_OK)
		r = step_row(db, stmt, err);
	if (r < 0)
		return r;
	if (sqlite3_column_bytes(stmt, 0) != (int)sizeof(*how->store) ||
	    memcmp(sqlite3_column_blob(stmt, 0), how->store,
		   sizeof(*how->store)) != 0)
		return fail(err, WEFT_CORRUPT, "search.db: of another store");
	return WEFT_OK;
}

/* In a transaction: another process may be at it, too. */
static int make_tables(struct sqlite3 *db, const struct search_use *how,
		       struct weft_error *err)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	CLEANUP(buf_done) struct buf sql;
	int64_t objects = 0;
	int r = search_db_exec(db, "BEGIN IMMEDIATE", err);

	buf_init(&sql, SQL_BYTES_MAX);
	if (r == WEFT_OK)
		r = ask(db, "SELECT count(*) FROM sqlite_schema", &objects,
			err);
	if (r == WEFT_OK && objects == 0) {
		buf_printf(&sql,
			   "%sPRAGMA application_id=%d;PRAGMA user_version=%d;",
			   tables, APPLICATION_ID, SEARCH_VERSION);
		r = search_db_exec(db, buf_cstr(&sql), err);
		if (r == WEFT_OK)
			r = prepare(db, "UPDATE search_meta SET store=?1",
				    &stmt, err);
		if (r == WEFT_OK) {
			bind_id(stmt, 1, how->store);
			r = step_done(db, stmt, err);
			finalize(&stmt);
			stmt = NULL;
		}
	}
	if (r == WEFT_OK)
		r = search_db_exec(db, "COMMIT", err);
	if (r < 0)
		(void)search_db_exec(db, "ROLLBACK", NULL);
	return r;
}

static int connect(struct search_db *s, const struct search_use *how,
		   struct weft_error *err)
{
	int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	CLEANUP(buf_done) struct buf uri;
	struct fs_space space = { 0 };
	int rc, r;

	flags |= how->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	buf_init(&uri, SQL_BYTES_MAX);
	(void)fs_space(how->fs, how->path, &space);
	sqlite_add_uri(&uri, how->path, how->read_only && space.is_read_only);
	(void)buf_cstr(&uri);
	if (uri.error)
		return buf_error(&uri, err);
	r = vfs_open(how->fs, &s->vfs, err);
	if (r == WEFT_OK)
		r = sums_open(vfs_name(s->vfs), &s->sums, err);
	if (r < 0)
		return r;
	rc = sqlite3_open_v2(buf_cstr(&uri), &s->db, flags, sums_name(s->sums));
	if (rc != SQLITE_OK)
		return search_db_fail(s->db, rc, err);
	r = configure(s->db, err);
	if (r == WEFT_OK && !how->read_only)
		r = make_tables(s->db, how, err);
	return r == WEFT_OK ? check_tables(s->db, how, err) : r;
}

/* False if somebody has removed or replaced the file. */
static bool is_the_file(struct search_db *s, const struct search_use *how)
{
	struct file_stat held, named;

	return file_stat(s->file, &held) == 0 &&
	       fs_stat(how->fs, how->path, &named) == 0 &&
	       held.dev == named.dev && held.ino == named.ino;
}

static int open_db(struct search_db *s, const struct search_use *how,
		   bool *ret_none, struct weft_error *err)
{
	unsigned flags = how->read_only ? FILE_READ : FILE_READ | FILE_WRITE;
	int r;

	if (s->db && !is_the_file(s, how))
		close_db(s);
	if (s->db)
		return WEFT_OK;
	if (how->make && !how->read_only)
		flags |= FILE_CREATE;
	r = file_open(how->fs, how->path, flags, &s->file);
	*ret_none = r == -ENOENT;
	if (r < 0)
		return *ret_none ? WEFT_OK : fail_errno(err, -r, "search.db");
	r = connect(s, how, err);
	if (r < 0)
		close_db(s);
	return r;
}

static int use_locked(struct search_db *s, const struct search_use *how,
		      int (*act)(void *ctx, struct sqlite3 *db,
				 struct weft_error *err),
		      void *ctx, bool *ret_none, struct weft_error *err)
{
	int r = open_db(s, how, ret_none, err);

	/* What was there is no good: the next attempt makes a new one. */
	if (r == WEFT_CORRUPT && !how->read_only) {
		(void)vfs_remove_db(how->fs, how->path);
		r = open_db(s, how, ret_none, err);
	}
	if (r < 0 || *ret_none)
		return r;
	r = act(ctx, s->db, err);
	if (r == WEFT_CORRUPT) {
		close_db(s);
		if (!how->read_only)
			(void)vfs_remove_db(how->fs, how->path);
	}
	return r;
}

int search_db_use(struct search_db *s, const struct search_use *how,
		  int (*act)(void *ctx, struct sqlite3 *db,
			     struct weft_error *err),
		  void *ctx, bool *ret_none, struct weft_error *err)
{
	int r = WEFT_OK;

	*ret_none = false;
	(void)pthread_mutex_lock(&s->lock);
	if (s->unusable)
		*ret_none = true;
	else
		r = use_locked(s, how, act, ctx, ret_none, err);
	/* Who may not make a new one does without. */
	if (r < 0 && r != WEFT_NO_MEMORY && how->read_only) {
		s->unusable = true;
		*ret_none = true;
		r = WEFT_OK;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return r;
}

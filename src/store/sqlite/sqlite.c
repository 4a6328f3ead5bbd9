/*
 * sqlite.c - the sqlite: store: everything in one file.
 *
 * What it does is in store/sql; this is opening, closing and health.  SQLite
 * has the file to itself: nothing here may open it and close it again, since
 * that would take away the locks of every connection of the process.
 */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/process.h"
#include "store/place.h"

static struct sqlite_store *store_of(struct store *s)
{
	return sqlite_of(sql_of(s));
}

/* ---- the file ---- */

static struct place place_of(const struct sqlite_store *s)
{
	return (struct place){ s->fs, s->path, s->single, s->sql.read_only };
}

static int check_place(const struct sqlite_store *s, struct weft_error *err)
{
	const struct place place = place_of(s);

	return place_check_fs(&place, err);
}

/* A new file is for nobody else to read; SQLite gives its log the same mode. */
static int make_file(const struct sqlite_store *s, struct weft_error *err)
{
	struct file *f = NULL;
	int r = file_open(s->fs, s->path,
			  FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &f);

	if (r == -EEXIST)
		return WEFT_OK;
	if (r < 0)
		return fail_errno(err, -r, "%s", s->path);
	file_close(f);
	return WEFT_OK;
}

static int find_file(const struct sqlite_store *s, uint32_t flags,
		     struct weft_error *err)
{
	struct file_stat st;
	int r = fs_stat(s->fs, s->path, &st);

	if (r == -ENOENT) {
		if (!(flags & STORE_CREATE) || s->sql.read_only)
			return fail(err, WEFT_NOT_FOUND, "no store at %s",
				    s->path);
		r = make_file(s, err);
		return r < 0 ? r : check_place(s, err);
	}
	if (r < 0)
		return fail_errno(err, -r, "%s", s->path);
	if (!st.is_file)
		return fail(err, WEFT_INVALID, "%s is not a file", s->path);
	return check_place(s, err);
}

int sqlite_check_place(const struct store_open *o, struct weft_error *err)
{
	CLEANUP(mem_cleanup) char *path = mem_copy(o->path);
	const struct place place = {
		.fs = o->fs ? o->fs : fs_real(),
		.path = path,
		.single = (o->flags & STORE_SINGLE) != 0,
		.read_only = (o->flags & STORE_READ_ONLY) != 0,
	};
	struct file_stat st;
	int r;

	if (!path)
		return fail_no_memory(err);
	r = fs_stat(place.fs, path, &st);
	if (r == -ENOENT || r == -ENOTDIR)
		return place_check_new(&place, false, err);
	if (r < 0)
		return fail_errno(err, -r, "look at %s", path);
	if (!st.is_file)
		return fail(err, WEFT_INVALID,
			    "%s is a directory; a sqlite: store is a file",
			    path);
	r = place_check_fs(&place, err);
	return r == WEFT_OK ? place_check_rights(&place, err) : r;
}

/* ---- opening ---- */

/* Turning the log on needs the file alone for a moment, and does not wait. */
static int use_wal(struct sqlite_conn *k, struct weft_error *err)
{
	const struct store_limits *l = &k->base.store->store.limits;
	int64_t end = clock_mono_us() + (int64_t)l->busy_ms * 1000;
	struct timespec nap = { .tv_nsec = 2000000 };
	int rc;

	do {
		rc = sqlite3_exec(k->db, "PRAGMA journal_mode=WAL", NULL, NULL,
				  NULL);
		if ((rc & 0xff) != SQLITE_BUSY)
			break;
		(void)nanosleep(&nap, NULL);
	} while (clock_mono_us() < end);
	return rc == SQLITE_OK ?
		       WEFT_OK :
		       sqlite_fail(sqlite_of(k->base.store), k->db, rc, err);
}

static int open_for_writing(struct sqlite_store *s, struct weft_error *err)
{
	struct sqlite_conn *k;
	int r = sqlite_driver.conn_open(&s->sql, SQL_FOR_WRITING,
					&s->sql.write_conn, err);

	if (r < 0)
		return r;
	k = (struct sqlite_conn *)(void *)s->sql.write_conn;
	if (sqlite3_db_readonly(k->db, "main") == 1)
		return fail(err, WEFT_READ_ONLY,
			    "%s cannot be written to: open it with "
			    "?read_only=1",
			    s->path);
	r = use_wal(k, err);
	return r < 0 ? r : sqlite_migrate(k, err);
}

/* Is there a log that somebody has left, and that may hold something? */
static bool has_log(const struct sqlite_store *s)
{
	char path[4096];
	struct file_stat st;
	int n = snprintf(path, sizeof(path), "%s-wal", s->path);

	if (n < 0 || (size_t)n >= sizeof(path))
		return true;
	return fs_stat(s->fs, path, &st) == 0 && st.size > 0;
}

static int try_to_read(struct sqlite_store *s, struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	int r = sql_reader(&s->sql, &c, err);

	return r < 0 ? r :
		       sqlite_check_schema((struct sqlite_conn *)(void *)c,
					   err);
}

/*
 * SQLite needs a place for its log and an index of it, also for reading.
 * Where there is none, the file can be read as it is if no log belongs to it.
 */
static int open_for_reading(struct sqlite_store *s, struct weft_error *err)
{
	int r = try_to_read(s, err);

	if (r == WEFT_OK || (r != WEFT_IO && r != WEFT_READ_ONLY) || has_log(s))
		return r;
	for (size_t i = 0; i < SQL_READERS; i++) {
		if (s->sql.readers[i])
			sqlite_driver.conn_close(s->sql.readers[i]);
		s->sql.readers[i] = NULL;
	}
	s->immutable = true;
	return try_to_read(s, err);
}

static void destroy(struct sqlite_store *s)
{
	bool ours = s->sql.process == process_generation();

	if (ours && s->counter)
		sqlite_driver.conn_close(&s->counter->base);
	sql_done(&s->sql);
	if (ours) {
		watch_close(s->watch);
		(void)pthread_mutex_destroy(&s->bell);
	}
	mem_free(s->path);
	mem_free(s);
}

static int open_file(struct sqlite_store *s, uint32_t flags,
		     struct weft_error *err)
{
	int r = find_file(s, flags, err);

	if (r < 0)
		return r;
	return s->sql.read_only ? open_for_reading(s, err) :
				  open_for_writing(s, err);
}

static int sqlite_open(const struct store_open *o, struct store **ret,
		       struct weft_error *err)
{
	struct sqlite_store *s;
	int r;

	if (o->fs && o->fs != fs_real())
		return fail(err, WEFT_INVALID,
			    "a sqlite: store is only for real disks");
	s = mem_zero(1, sizeof(*s));
	if (!s)
		return fail_no_memory(err);
	(void)pthread_mutex_init(&s->bell, NULL);
	s->fs = fs_real();
	r = sql_init(&s->sql, o, &store_sqlite, &sqlite_driver, err);
	s->single = o->flags & STORE_SINGLE && !s->sql.read_only;
	s->sql.one_conn = s->single;
	s->sql.store.lone = s->single;
	s->path = mem_copy(o->path);
	if (r == WEFT_OK && !s->path)
		r = fail_no_memory(err);
	if (r == WEFT_OK)
		r = open_file(s, o->flags, err);
	if (r < 0) {
		destroy(s);
		return r;
	}
	*ret = &s->sql.store;
	return WEFT_OK;
}

static int sqlite_close(struct store *store, struct weft_error *err)
{
	(void)err;
	/* The last one out brings the log into the file. */
	destroy(store_of(store));
	return WEFT_OK;
}

/* ---- looking after it ---- */

static int checkpoint(struct sqlite_store *s, struct weft_error *err)
{
	struct sqlite_conn *k = (struct sqlite_conn *)(void *)s->sql.write_conn;
	int rc;

	if (!k)
		return WEFT_OK;
	(void)pthread_mutex_lock(&s->sql.writer);
	rc = sqlite3_wal_checkpoint_v2(k->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
				       NULL, NULL);
	(void)pthread_mutex_unlock(&s->sql.writer);
	/* A reader in the way is nobody's fault. */
	if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY)
		return WEFT_OK;
	return sqlite_fail(s, k->db, rc, err);
}

/* The log has what was in the index, too. */
static int sqlite_drop_words(struct store *store,
			     const struct weft_id *sessions, size_t n,
			     struct weft_error *err)
{
	int r = sql_store_drop_words(store, sessions, n, err);

	return r == WEFT_OK ? checkpoint(store_of(store), err) : r;
}

static int sqlite_maintain(struct store *store, uint32_t task,
			   struct store_report *report, struct weft_error *err)
{
	int r = sql_store_maintain(store, task, report, err);

	if (r == WEFT_OK && task == TASK_CHECKPOINT)
		r = checkpoint(store_of(store), err);
	return r;
}

static int sqlite_health(struct store *store, struct store_health *ret)
{
	struct sqlite_store *s = store_of(store);
	struct fs_space space;
	char path[4096];
	struct file_stat st;
	int r = sql_health(&s->sql, ret);

	if (r < 0)
		return r;
	if (fs_space(s->fs, s->path, &space) == 0)
		ret->free_bytes = space.free_bytes;
	(void)snprintf(path, sizeof(path), "%s-wal", s->path);
	if (fs_stat(s->fs, path, &st) == 0)
		ret->log_bytes = st.size;
	return WEFT_OK;
}

const struct store_ops store_sqlite = {
	.scheme = "sqlite",
	.open = sqlite_open,
	.close = sqlite_close,
	.write = sql_store_write,
	.get_sessions = sql_store_get_sessions,
	.get_names = sql_store_get_names,
	.get_names_of = sql_store_get_names_of,
	.read_events = sql_store_read_events,
	.get_hidden = sql_store_get_hidden,
	.list = sql_store_list,
	.find_tag = sql_store_find_tag,
	.where = sql_store_where,
	.put_blob = sql_store_put_blob,
	.get_blob = sql_store_get_blob,
	.get_behind = sql_store_get_behind,
	.put_words = sql_store_put_words,
	.find_words = sql_store_find_words,
	.drop_words = sqlite_drop_words,
	.wait = sqlite_wait,
	.wake = sqlite_wake,
	.maintain = sqlite_maintain,
	.health = sqlite_health,
};

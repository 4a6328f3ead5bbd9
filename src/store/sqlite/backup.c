/*
 * backup.c - a copy of the store as it is now, while others go on writing.
 *
 * The copy is of one state: a transaction is held open for it, which keeps
 * nobody from writing.  It has its name only when it is whole.
 */
#include <errno.h>
#include <sqlite3.h>

#include "base/error.h"
#include "base/file.h"
#include "store/sqlite/bind.h"
#include "store/sqlite/sqlite.h"

#define PAGES_PER_STEP 256

/* The copy under way. */
struct copying {
	struct sqlite_store *s;
	struct store_report *report;
	struct buf path; /* what it is called until it is whole */
	sqlite3 *db;
	struct weft_error *err;
};

static int copy_pages(struct copying *c, struct sqlite_conn *from)
{
	struct store_report *report = c->report;
	sqlite3_backup *b =
		sqlite3_backup_init(c->db, "main", from->db, "main");
	int rc, end;

	if (!b)
		return sqlite_fail(c->s, c->db, sqlite3_errcode(c->db), c->err);
	do {
		rc = sqlite3_backup_step(b, PAGES_PER_STEP);
		if (report->progress) {
			int total = sqlite3_backup_pagecount(b);
			int left = sqlite3_backup_remaining(b);

			report->progress(report->progress_ctx,
					 (uint64_t)(total - left),
					 (uint64_t)total);
		}
	} while (rc == SQLITE_OK);
	end = sqlite3_backup_finish(b);
	if (rc != SQLITE_DONE || end != SQLITE_OK) {
		rc = rc == SQLITE_DONE ? end : rc;
		if (sqlite_code(rc) == WEFT_NO_SPACE)
			return fail(c->err, WEFT_NO_SPACE,
				    "%s: no space left on its disk",
				    report->file.ptr);
		return fail(c->err, sqlite_code(rc), "%s: %s", report->file.ptr,
			    sqlite3_errstr(rc));
	}
	return WEFT_OK;
}

/* Open the copy, and hold one state of the store while it is made. */
static int copy_state(struct copying *c)
{
	CLEANUP(sql_release) struct sql_conn *from = NULL;
	struct sqlite_conn *k;
	int64_t pages = 0, size = 0, sessions = 0;
	int rc, r = sql_reader(&c->s->sql, &from, c->err);

	if (r < 0)
		return r;
	k = (struct sqlite_conn *)(void *)from;
	rc = sqlite3_open_v2(buf_cstr(&c->path), &c->db, SQLITE_OPEN_READWRITE,
			     NULL);
	if (rc != SQLITE_OK)
		return fail(c->err, sqlite_code(rc), "%s: %s",
			    c->report->file.ptr, sqlite3_errstr(rc));
	r = sqlite_driver.begin(from, SQL_FOR_READING, c->err);
	if (r == WEFT_OK)
		r = sql_number(from, Q_COUNT_SESSIONS, NULL, &sessions, c->err);
	if (r == WEFT_OK)
		r = sqlite_ask(k, "PRAGMA page_size", &size, c->err);
	if (r == WEFT_OK)
		r = sqlite_ask(k, "PRAGMA page_count", &pages, c->err);
	if (r == WEFT_OK)
		r = copy_pages(c, k);
	sqlite_driver.rollback(from);
	c->report->sessions = (uint64_t)sessions;
	c->report->bytes = (uint64_t)(pages * size);
	return r;
}

/* The directory that holds `path`. */
static void add_directory(struct buf *b, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		buf_add(b, path, slash == path ? 1 : (size_t)(slash - path));
	else
		buf_add_c(b, '.');
}

static int give_name(struct copying *c)
{
	CLEANUP(buf_done) struct buf directory;
	struct fs *fs = c->s->fs;
	int r;

	buf_init(&directory, SQL_TEXT_MAX);
	add_directory(&directory, c->report->file.ptr);
	r = fs_rename(fs, buf_cstr(&c->path), c->report->file.ptr);
	if (r == 0)
		r = fs_sync_dir(fs, buf_cstr(&directory));
	return r < 0 ? fail_errno(c->err, -r, "%s", c->report->file.ptr) :
		       WEFT_OK;
}

/* A file of our own, which nobody else may read. */
static int make_file(struct copying *c)
{
	struct file *f = NULL;
	struct file_stat st;
	int r = fs_stat(c->s->fs, c->report->file.ptr, &st);

	if (r == 0)
		return fail(c->err, WEFT_EXISTS,
			    "%s is there already: a backup makes a new file",
			    c->report->file.ptr);
	if (r == -ENOENT)
		r = file_open(c->s->fs, buf_cstr(&c->path),
			      FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &f);
	if (r == -EEXIST)
		return fail(c->err, WEFT_EXISTS,
			    "%s is there already: another backup, or what is "
			    "left of one that was cut short; remove it first",
			    buf_cstr(&c->path));
	if (r < 0)
		return fail_errno(c->err, -r, "%s", c->report->file.ptr);
	file_close(f);
	return WEFT_OK;
}

int sqlite_make_backup(struct sql_store *s, struct store_report *report,
		       struct weft_error *err)
{
	struct copying c = { .s = sqlite_of(s), .report = report, .err = err };
	int r;

	buf_init(&c.path, SQL_TEXT_MAX);
	buf_printf(&c.path, "%s.part", report->file.ptr);
	(void)buf_cstr(&c.path);
	r = buf_error(&c.path, err);
	if (r == WEFT_OK)
		r = make_file(&c);
	if (r == WEFT_OK) {
		r = copy_state(&c);
		/* Flushed by its last transaction. */
		(void)sqlite3_close(c.db);
		if (r == WEFT_OK)
			r = give_name(&c);
		if (r < 0)
			(void)fs_unlink(c.s->fs, buf_cstr(&c.path));
	}
	buf_done(&c.path);
	return r;
}

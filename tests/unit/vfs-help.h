/*
 * vfs-help.h - a database to be torn.
 *
 * It has one table.  The n-th transaction sets v to n in all its rows and
 * adds rows, so that half a transaction shows.
 */
#ifndef UNIT_VFS_HELP_H
#define UNIT_VFS_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "sim/simdisk.h"
#include "store/jsonl/vfs.h"

#define DB           "/d/db"
#define ROWS_FIRST   40
#define ROWS_PER_RUN 3

/* A connection with a VFS of its own, as another process would have. */
struct conn {
	struct vfs *vfs;
	sqlite3 *db;
};

static inline int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static inline void must_run(sqlite3 *db, const char *sql)
{
	if (run(db, sql) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* The first column of the first row, or -1. */
static inline int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;
	int64_t n = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return -1;
	if (sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s);
	return n;
}

static inline int open_db(const char *vfs, const char *path, sqlite3 **ret)
{
	int r = sqlite3_open_v2(
		path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);

	if (r == SQLITE_OK)
		r = run(*ret, "PRAGMA temp_store=MEMORY;"
			      "PRAGMA synchronous=FULL;"
			      /* So that pages are spilled amid transactions,
			       * and several share a sector. */
			      "PRAGMA page_size=1024; PRAGMA cache_size=8;"
			      "PRAGMA journal_mode=TRUNCATE;");
	return r;
}

static inline int connect_to(struct fs *fs, const char *path, struct conn *c)
{
	assert_int_equal(vfs_open(fs, &c->vfs, NULL), WEFT_OK);
	return open_db(vfs_name(c->vfs), path, &c->db);
}

static inline void disconnect(struct conn *c)
{
	(void)sqlite3_close(c->db);
	vfs_close(c->vfs);
	*c = (struct conn){ 0 };
}

static inline int create_table(sqlite3 *db)
{
	char sql[400];

	(void)snprintf(sql, sizeof(sql),
		       "BEGIN; CREATE TABLE t(k INTEGER PRIMARY KEY, v INT,"
		       " fill BLOB); CREATE INDEX i ON t(v, k);"
		       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
		       " SELECT i + 1 FROM n WHERE i < %d)"
		       "INSERT INTO t SELECT i, 0, randomblob(300) FROM n;"
		       "COMMIT",
		       ROWS_FIRST);
	return run(db, sql);
}

/* One more transaction; rolled back if it fails. */
static inline int run_one(sqlite3 *db)
{
	char sql[400];
	int64_t v = ask(db, "SELECT max(v) FROM t") + 1;
	int r;

	(void)snprintf(sql, sizeof(sql),
		       "BEGIN IMMEDIATE; UPDATE t SET v = %d;"
		       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
		       " SELECT i + 1 FROM n WHERE i < %d)"
		       "INSERT INTO t SELECT NULL, %d, randomblob(300) FROM n;"
		       "COMMIT",
		       (int)v, ROWS_PER_RUN, (int)v);
	r = run(db, sql);
	if (r != SQLITE_OK && !sqlite3_get_autocommit(db))
		(void)run(db, "ROLLBACK");
	return r;
}

/* The number of the last transaction; -1: not even the table is there. */
static inline int64_t check_db(sqlite3 *db)
{
	sqlite3_stmt *s;
	int64_t v;

	if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		fail_msg("integrity_check: %s", sqlite3_errmsg(db));
	assert_string_equal((const char *)sqlite3_column_text(s, 0), "ok");
	(void)sqlite3_finalize(s);
	if (ask(db, "SELECT count(*) FROM sqlite_master") == 0)
		return -1;
	v = ask(db, "SELECT max(v) FROM t");
	assert_int_equal(ask(db, "SELECT min(v) FROM t"), v);
	assert_int_equal(ask(db, "SELECT count(*) FROM t"),
			 ROWS_FIRST + ROWS_PER_RUN * v);
	return v;
}

/* The same, as a process that comes later finds it. */
static inline int64_t check_disk(struct simdisk *d)
{
	struct conn c;
	int64_t v;

	if (connect_to(simdisk_process(d), DB, &c) != SQLITE_OK)
		fail_msg("open: %s", sqlite3_errmsg(c.db));
	v = check_db(c.db);
	disconnect(&c);
	return v;
}

/* A disk with the database on it, durable, and no journal. */
static inline struct simdisk *make_disk(void)
{
	struct simdisk *d = simdisk_new();
	struct conn c;

	assert_int_equal(fs_mkdir(simdisk_process(d), "/d"), 0);
	assert_int_equal(connect_to(simdisk_process(d), DB, &c), SQLITE_OK);
	assert_int_equal(create_table(c.db), SQLITE_OK);
	disconnect(&c);
	assert_int_equal(simdisk_remove(d, DB "-journal"), 0);
	simdisk_sync(d);
	return d;
}

#endif

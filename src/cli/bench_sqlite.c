/* bench_sqlite.c - what SQLite does by itself with the tables of a store. */
#include <sqlite3.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/bench.h"

static void close_db(sqlite3 **db)
{
	(void)sqlite3_close(*db);
}

static void finalize(sqlite3_stmt **st)
{
	(void)sqlite3_finalize(*st);
}

static int fail_db(struct bench *b, sqlite3 *db)
{
	return fail(b->err, WEFT_IO, "sqlite: %s", sqlite3_errmsg(db));
}

static int open_db(struct bench *b, const char *url, sqlite3 **db)
{
	const char *path = url + strlen("sqlite:");

	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE, NULL) !=
		    SQLITE_OK ||
	    sqlite3_exec(*db, "PRAGMA synchronous=FULL", NULL, NULL, NULL) !=
		    SQLITE_OK)
		return fail_db(b, *db);
	return WEFT_OK;
}

/* ---- one message in each transaction ---- */

static const char insert_sql[] =
	"INSERT INTO "
	"events(session,seq,last_seq,id,ts_ms,at_ms,marker,said,type,"
	"state,more,background,op,body_at,body_len,bytes)"
	" VALUES(?1,?2,?2,?1,?2,0,0,0,2,1,0,0,'',100,100,?3)";
static const char update_sql[] =
	"UPDATE sessions SET head_seq=?2,content_seq=?2,updated_at=?2,"
	"message_count=message_count+1,last_interaction_at=?2 WHERE id=?1";

static bool step(sqlite3_stmt *st)
{
	bool ok = sqlite3_step(st) == SQLITE_DONE;

	return sqlite3_reset(st) == SQLITE_OK && ok;
}

static bool append_one(sqlite3 *db, sqlite3_stmt *insert, sqlite3_stmt *update,
		       const char *id, uint64_t n)
{
	char text[1100];
	struct weft_str m = bench_message(text, n);
	sqlite3_int64 seq = (sqlite3_int64)n + 1000;

	(void)sqlite3_bind_blob(insert, 1, id, 16, SQLITE_STATIC);
	(void)sqlite3_bind_int64(insert, 2, seq);
	(void)sqlite3_bind_text(insert, 3, m.ptr, (int)m.len, SQLITE_STATIC);
	(void)sqlite3_bind_blob(update, 1, id, 16, SQLITE_STATIC);
	(void)sqlite3_bind_int64(update, 2, seq);
	return sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) ==
		       SQLITE_OK &&
	       step(insert) && step(update) &&
	       sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

static int append_all(struct bench *b, sqlite3 *db, const char *ids,
		      size_t n_ids, struct sample *ret)
{
	CLEANUP(finalize) sqlite3_stmt *insert = NULL, *update = NULL;
	static uint64_t next;
	int64_t start = now_ns(), now = start;
	int64_t until = start + (int64_t)(b->seconds * 1e9);
	uint64_t done = 0;
	struct times t;
	int r;

	if (sqlite3_prepare_v2(db, insert_sql, -1, &insert, NULL) !=
		    SQLITE_OK ||
	    sqlite3_prepare_v2(db, update_sql, -1, &update, NULL) != SQLITE_OK)
		return fail_db(b, db);
	r = times_init(&t, 1000000, b->err);
	while (r == WEFT_OK && now < until) {
		int64_t before = now;
		uint64_t i = next++;

		if (!append_one(db, insert, update,
				ids + 16 * (i * 7919 % n_ids), i))
			r = fail_db(b, db);
		now = now_ns();
		times_add(&t, now - before);
		done++;
	}
	if (r == WEFT_OK)
		*ret = times_sample(&t, done, now - start);
	times_done(&t);
	return r;
}

int raw_sqlite_appends(struct bench *b, const char *url, struct sample *ret)
{
	CLEANUP(close_db) sqlite3 *db = NULL;
	CLEANUP(finalize) sqlite3_stmt *st = NULL;
	static char ids[1000][16];
	size_t n = 0;
	int r = open_db(b, url, &db);

	if (r < 0)
		return r;
	if (sqlite3_prepare_v2(db, "SELECT id FROM sessions LIMIT 1000", -1,
			       &st, NULL) != SQLITE_OK)
		return fail_db(b, db);
	while (n < 1000 && sqlite3_step(st) == SQLITE_ROW)
		memcpy(ids[n++], sqlite3_column_blob(st, 0), 16);
	(void)sqlite3_reset(st);
	if (n == 0)
		return fail(b->err, WEFT_CORRUPT, "no sessions to append to");
	return append_all(b, db, ids[0], n, ret);
}

/* ---- a select ---- */

int raw_sqlite_load(struct bench *b, const char *url, uint64_t messages,
		    struct sample *ret)
{
	CLEANUP(close_db) sqlite3 *db = NULL;
	CLEANUP(finalize) sqlite3_stmt *st = NULL;
	uint64_t n = 0, sum = 0;
	int64_t start;
	int r = open_db(b, url, &db);

	if (r < 0)
		return r;
	start = now_ns();
	if (sqlite3_prepare_v2(db,
			       "SELECT seq,bytes FROM events WHERE session="
			       "(SELECT id FROM sessions) ORDER BY seq",
			       -1, &st, NULL) != SQLITE_OK)
		return fail_db(b, db);
	for (; sqlite3_step(st) == SQLITE_ROW; n++) {
		const unsigned char *bytes = sqlite3_column_text(st, 1);

		sum += bytes[0] + (uint64_t)sqlite3_column_bytes(st, 1);
	}
	*ret = (struct sample){ .p50_us = (double)(now_ns() - start) / 1e3 };
	ret->per_s = (double)n / ret->p50_us * 1e6;
	if (n < messages || sum < messages)
		return fail(b->err, WEFT_CORRUPT, "%llu of %llu messages",
			    (unsigned long long)n,
			    (unsigned long long)messages);
	return WEFT_OK;
}

/*
 * driver.c - transactions on PostgreSQL.
 *
 * DESIGN
 *
 * Every write sets its node's row in the table `commits` to its number.  When
 * the connection is lost while a commit is under way, a new one sets that row
 * to the same number and to `void` if it was not there yet: it has to wait for
 * the old backend, which still holds the row, and then either finds the number
 * there, and the commit has happened, or takes its place, and it never will.
 * Settling writes in both cases, so that it waits for a synchronous standby
 * behind what it tells of.  A backend that gets our statements when we have
 * given up waiting for it finds `void`, or no row at all, and fails.
 *
 * Sessions are locked by their rows, in the order of their ids.  Names that
 * may not be there have no rows: they are locked by a number made from them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "store/pg/pg.h"

/* For the outcome of a commit we wait so many times busy_ms: a failover takes
 * its time, and who gives up has to stop. */
#define SETTLE_TIMES 6

static int conn_open(struct sql_store *s, enum sql_use use,
		     struct sql_conn **ret, struct weft_error *err)
{
	struct pg_conn *k = NULL;
	int r = pg_connect_patiently(pg_of(s), use, &k, err);

	if (r == WEFT_OK)
		*ret = &k->base;
	return r;
}

static void conn_close(struct sql_conn *c)
{
	pg_disconnect(pg_conn_of(c));
}

static int conn_begin(struct sql_conn *c, enum sql_use use,
		      struct weft_error *err)
{
	static const char one_state[] =
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
	struct pg_conn *k = pg_conn_of(c);
	int r = pg_mend(k, err);

	if (r == WEFT_OK && use == SQL_FOR_READING)
		r = pg_exec(k, one_state, NULL, err);
	else if (r == WEFT_OK)
		r = pg_pipe_begin(k, err);
	if (r == WEFT_OK && use == SQL_FOR_WRITING)
		r = pg_pipe_send(k, "BEGIN", err);
	k->in_transaction = r == WEFT_OK;
	if (r < 0 && k->broken) {
		/* Nothing was written: whoever writes may try again. */
		c->replan = true;
		pg_pause();
		return r == WEFT_IO ? fail_prefix(err, WEFT_BUSY, "no server") :
				      r;
	}
	return r;
}

static void conn_rollback(struct sql_conn *c)
{
	struct pg_conn *k = pg_conn_of(c);
	bool replan = c->replan;

	(void)pg_pipe_end(k, NULL);
	if (k->in_transaction && !k->broken)
		(void)pg_exec(k, "ROLLBACK", NULL, NULL);
	k->in_transaction = false;
	c->replan = replan;
}

/* ---- committing ---- */

static int unknown(struct weft_error *err, const char *why)
{
	return fail(err, WEFT_UNKNOWN,
		    "postgres: may have been written: %s; the operation id "
		    "tells after reopening",
		    why);
}

static int take_void(void *ctx, const struct sql_value *row,
		     struct weft_error *err)
{
	(void)err;
	*(bool *)ctx = row[0].n != 0;
	return SQL_ENOUGH;
}

/* The connection was lost: has the commit happened? */
static int settle(struct pg_conn *k, struct weft_error *err)
{
	struct pg_store *s = pg_of(k->base.store);
	uint64_t wait_ms = SETTLE_TIMES * s->sql.store.limits.busy_ms;
	int64_t end = clock_mono_us() + (int64_t)u64_max(wait_ms, 1000) * 1000;
	char node[WEFT_ID_CHARS + 1];
	struct sql_value v[] = { sql_id(&s->node), sql_bytes(node, 26),
				 sql_u64(s->commits),
				 sql_int(clock_now_ms(&s->sql.clock)) };
	struct sql_rows row = { v, 1, 4 };
	bool late = k->late;

	id_format(&s->node, node);
	do {
		bool is_void = false;

		k->warned = false;
		if (pg_mend(k, NULL) < 0 ||
		    pg_run(&k->base, PG_SETTLE, &row, take_void, &is_void, NULL,
			   NULL) < 0) {
			pg_pause();
			continue;
		}
		if (is_void) {
			k->base.replan = true;
			return fail(err, WEFT_BUSY,
				    "postgres: the connection was lost and "
				    "nothing was written");
		}
		k->base.replan = false;
		return k->warned ? unknown(err, k->warning) : WEFT_OK;
	} while (clock_mono_us() < end);
	/* What may have been done is not done again. */
	k->base.replan = false;
	return unknown(err, late ? "the server did not answer in time "
				   "(answer_ms)" :
				   "the connection was lost and the server "
				   "does not come back");
}

/* All that was not sent yet and the commit itself, in one go. */
static int send_commit(struct pg_conn *k, struct weft_error *err)
{
	struct pg_store *s = pg_of(k->base.store);
	int r = pg_run(&k->base, PG_COMMIT,
		       SQL_ROW(sql_id(&s->node), sql_u64(s->commits),
			       sql_int(clock_now_ms(&s->sql.clock))),
		       NULL, NULL, NULL, err);

	if (r == WEFT_OK)
		r = pg_pipe_send(k, "COMMIT", err);
	return r < 0 ? r : pg_pipe_commit(k, &k->base.stamp, err);
}

static int conn_commit(struct sql_conn *c, struct weft_error *err)
{
	struct pg_conn *k = pg_conn_of(c);
	struct pg_store *s = pg_of(c->store);
	int r;

	s->commits++;
	c->stamp = 0;
	r = send_commit(k, err);
	if (r == WEFT_OK || k->broken) {
		k->in_transaction = false;
		(void)pg_pipe_end(k, NULL);
	}
	if (r == WEFT_OK && k->warned)
		return unknown(err, k->warning);
	if (k->broken)
		return settle(k, err);
	if (r < 0)
		s->commits--;
	return r;
}

/* ---- locks ---- */

/* The same number on every node, for ever. */
static int64_t number_of(struct weft_str name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < name.len; i++)
		h = (h ^ (unsigned char)name.ptr[i]) * UINT64_C(0x100000001b3);
	return (int64_t)(h ^ h >> 29);
}

static int by_number(const void *a, const void *b)
{
	const struct sql_value *x = a, *y = b;

	return (x->n > y->n) - (x->n < y->n);
}

static int lock_names(struct sql_conn *c, const struct weft_str *names,
		      size_t n, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena scratch;
	struct sql_value *v;
	size_t kept = 0;

	arena_init(&scratch, 0);
	v = ARENA_ARRAY(&scratch, struct sql_value, n);
	if (!v)
		return arena_error(&scratch, err);
	for (size_t i = 0; i < n; i++)
		v[i] = sql_int(number_of(names[i]));
	SORT(v, n, by_number);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || v[kept - 1].n != v[i].n)
			v[kept++] = v[i];
	}
	return kept == 0 ? WEFT_OK :
			   sql_run(c, PG_LOCK, &(struct sql_rows){ v, kept, 1 },
				   NULL, NULL, err);
}

/* ---- the rest ---- */

static int conn_check(struct sql_conn *c, struct store_report *report,
		      struct weft_error *err)
{
	(void)c;
	(void)report;
	(void)err;
	/* The server's own checks are the server's. */
	return WEFT_OK;
}

/* Rows that nobody can see any more leave the tables; what the server's own
 * log and backups hold is the server's. */
static int forget(struct sql_store *s, struct weft_error *err)
{
	static const char *const all[] = {
		"VACUUM sessions", "VACUUM heads",  "VACUUM recents",
		"VACUUM events",   "VACUUM hidden", "VACUUM names",
		"VACUUM blobs",
	};
	struct pg_conn *k = pg_conn_of(s->write_conn);
	int r = WEFT_OK;

	(void)pthread_mutex_lock(&s->writer);
	k->at_leisure = true;
	for (size_t i = 0; i < ARRAY_LEN(all) && r == WEFT_OK; i++)
		r = pg_exec(k, all[i], NULL, err);
	k->at_leisure = false;
	(void)pthread_mutex_unlock(&s->writer);
	return r;
}

static int no_backup(struct sql_store *s, struct store_report *report,
		     struct weft_error *err)
{
	(void)s;
	(void)report;
	return report_no_backup("use pg_dump or pg_basebackup, or `weft move` "
				"to copy it into another store",
				err);
}

const struct sql_driver pg_driver = {
	.dialect = SQL_POSTGRES,
	.shared = true,
	.conn_open = conn_open,
	.conn_close = conn_close,
	.begin = conn_begin,
	.commit = conn_commit,
	.rollback = conn_rollback,
	.lock_names = lock_names,
	.run = pg_run,
	.forget = forget,
	.check = conn_check,
	.backup = no_backup,
	.put_words = pg_put_words,
	.find_words = pg_find_words,
	.drop_words = pg_drop_words,
	.clear_words = pg_clear_words,
	.committed = pg_committed,
};

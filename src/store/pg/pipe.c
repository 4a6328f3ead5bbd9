/*
 * pipe.c - the statements of a write, sent one behind the other.
 *
 * A write waits for the server only where it needs an answer, and at its end:
 * an append is one round trip.  After a failure the server skips what follows,
 * up to the next place where we wait.
 */
#include <libpq-fe.h>
#include <stdio.h>

#include "base/error.h"
#include "store/pg/pg.h"

/* Answers must not fill the server's side while we fill ours. */
#define PENDING_MAX 64u

static void clear(PGresult **res)
{
	PQclear(*res);
}

static bool is_fine(const PGresult *res)
{
	ExecStatusType status = PQresultStatus(res);

	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* The answer of one statement; NULL if the connection is lost. */
static PGresult *next_answer(struct pg_conn *k)
{
	PGresult *res = pg_next_answer(k), *more;

	while (res && PQstatus(k->pg) == CONNECTION_OK &&
	       (more = pg_next_answer(k)))
		PQclear(more);
	return res;
}

int pg_pipe_wait(struct pg_conn *k, void **ret_last, void **ret_before,
		 struct weft_error *err)
{
	CLEANUP(clear) PGresult *failed = NULL;
	CLEANUP(clear) PGresult *before = NULL;
	CLEANUP(clear) PGresult *last = NULL;
	bool lost;

	k->runs++;
	lost = PQpipelineSync(k->pg) == 0;
	for (; k->pending > 0 && !lost; k->pending--) {
		PQclear(before);
		before = last;
		/* Of warnings those of the last one matter. */
		k->warned = false;
		last = next_answer(k);
		lost = k->late || PQstatus(k->pg) != CONNECTION_OK;
		if (!lost && !is_fine(last) && !failed) {
			failed = last;
			last = NULL;
		}
	}
	k->pending = 0;
	if (!lost)
		PQclear(pg_next_answer(k)); /* of the place where we wait */
	k->slow = false;
	if (lost || k->late || PQstatus(k->pg) != CONNECTION_OK || failed)
		return pg_fail(k, failed, err);
	if (ret_before) {
		*ret_before = before;
		before = NULL;
	}
	if (ret_last) {
		*ret_last = last;
		last = NULL;
	}
	return WEFT_OK;
}

int pg_pipe_sent(struct pg_conn *k, int sent, struct weft_error *err)
{
	if (!sent)
		return pg_fail(k, NULL, err);
	k->pending++;
	return WEFT_OK;
}

int pg_pipe_room(struct pg_conn *k, struct weft_error *err)
{
	return k->pending < PENDING_MAX ? WEFT_OK :
					  pg_pipe_wait(k, NULL, NULL, err);
}

int pg_pipe_send(struct pg_conn *k, const char *sql, struct weft_error *err)
{
	return pg_pipe_sent(
		k, PQsendQueryParams(k->pg, sql, 0, NULL, NULL, NULL, NULL, 1),
		err);
}

int pg_pipe_begin(struct pg_conn *k, struct weft_error *err)
{
	if (!PQenterPipelineMode(k->pg))
		return pg_fail(k, NULL, err);
	k->piped = true;
	k->pending = 0;
	return WEFT_OK;
}

int pg_pipe_commit(struct pg_conn *k, int64_t *ret_stamp,
		   struct weft_error *err)
{
	void *done = NULL, *row = NULL;
	int r = pg_pipe_wait(k, &done, &row, err);

	if (r == WEFT_OK && strcmp(PQcmdStatus(done), "COMMIT") != 0)
		r = fail(err, WEFT_BUSY, "postgres: it was rolled back");
	if (r == WEFT_OK && row && PQntuples(row) == 1)
		*ret_stamp = pg_number(PQgetvalue(row, 0, 0), 8);
	PQclear(row);
	PQclear(done);
	return r;
}

int pg_pipe_end(struct pg_conn *k, struct weft_error *err)
{
	int r = WEFT_OK;

	if (!k->piped)
		return WEFT_OK;
	if (k->pending > 0 && !k->broken)
		r = pg_pipe_wait(k, NULL, NULL, err);
	k->piped = false;
	/* A connection that is lost is made again anyway. */
	if (!k->broken)
		(void)PQexitPipelineMode(k->pg);
	return r;
}

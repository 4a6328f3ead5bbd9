/* bench_postgres.c - what a PostgreSQL server does by itself. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/bench.h"

#define CONNECTIONS 64u

struct plain {
	struct bench *bench;
	PGconn *conns[CONNECTIONS];
	pthread_t threads[CONNECTIONS];
	atomic_uint next; /* connection to be taken */
	atomic_int failed;
	int64_t until;
	pthread_mutex_t mutex;
	struct times times; /* mutex */
	uint64_t done;      /* mutex */
};

/* ---- connections ---- */

/* Without what only a store understands. */
static void plain_url(const struct bench *b, char out[600])
{
	const char *at = strstr(b->store_url, "partitions=");
	size_t n = at ? strcspn(at, "&") : 0;

	if (!at) {
		(void)snprintf(out, 600, "%s", b->store_url);
		return;
	}
	/* One of two separators goes, too; an empty rest is fine. */
	(void)snprintf(out, 600, "%.*s%s", (int)(at - b->store_url),
		       b->store_url, at + n + (at[n] == '&'));
	n = strlen(out);
	if (n > 0 && (out[n - 1] == '&' || out[n - 1] == '?'))
		out[n - 1] = '\0';
}

static bool exec_ok(PGconn *c, const char *sql)
{
	PGresult *res = PQexec(c, sql);
	ExecStatusType status = PQresultStatus(res);

	PQclear(res);
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* What the server says may have the URL in it, and that a password. */
static int fail_server(struct bench *b)
{
	return fail(b->err, WEFT_IO,
		    "postgres: the server refused what bench asked");
}

static PGconn *connect_plain(struct bench *b)
{
	char url[600];
	PGconn *c;

	plain_url(b, url);
	c = PQconnectdb(url);
	if (PQstatus(c) == CONNECTION_OK &&
	    exec_ok(c, "SET synchronous_commit=on;"
		       "SET client_min_messages=warning"))
		return c;
	PQfinish(c);
	(void)fail_server(b);
	return NULL;
}

void raw_postgres_clean(struct bench *b)
{
	static const char *const names[] = { "store", "small", "large",
					     "plain" };
	PGconn *c = connect_plain(b);
	char sql[200];

	for (size_t i = 0; c && i < ARRAY_LEN(names); i++) {
		(void)snprintf(sql, sizeof(sql),
			       "DROP SCHEMA IF EXISTS %s_%s CASCADE", b->schema,
			       names[i]);
		(void)exec_ok(c, sql);
	}
	PQfinish(c);
}

/* ---- one insert and one commit at a time, on each of 64 connections ---- */

static bool insert_one(PGconn *c, const char id[16], uint64_t seq)
{
	char text[1100], be[8];
	struct weft_str m = bench_message(text, seq);
	const char *values[] = { id, be, m.ptr };
	const int lengths[] = { 16, 8, (int)m.len }, formats[] = { 1, 1, 1 };
	PGresult *res;
	bool ok;

	for (int i = 0; i < 8; i++)
		be[i] = (char)(seq >> (56 - 8 * i));
	res = PQexecPrepared(c, "plain", 3, values, lengths, formats, 1);
	ok = PQresultStatus(res) == PGRES_COMMAND_OK;
	PQclear(res);
	return ok;
}

static void *insert_some(void *ctx)
{
	struct plain *p = ctx;
	unsigned me = atomic_fetch_add(&p->next, 1);
	static atomic_ullong next;
	struct times t;
	uint64_t done = 0;

	if (times_init(&t, 100000, NULL) < 0)
		return NULL;
	while (now_ns() < p->until) {
		uint64_t i = atomic_fetch_add(&next, 1);
		char id[16] = { (char)(i * 7919), (char)(i * 7919 >> 8) };
		int64_t before = now_ns();

		if (!insert_one(p->conns[me], id, i)) {
			atomic_store(&p->failed, 1);
			break;
		}
		times_add(&t, now_ns() - before);
		done++;
	}
	(void)pthread_mutex_lock(&p->mutex);
	p->done += done;
	for (size_t i = 0; i < t.n; i++)
		times_add(&p->times, (int64_t)t.us10[i] * 100);
	(void)pthread_mutex_unlock(&p->mutex);
	times_done(&t);
	return NULL;
}

static int make_table(struct bench *b, PGconn *c)
{
	char sql[400];

	(void)snprintf(sql, sizeof(sql),
		       "CREATE SCHEMA IF NOT EXISTS %s_plain;"
		       "CREATE TABLE IF NOT EXISTS %s_plain.plain("
		       "session bytea NOT NULL,seq bigint NOT NULL,"
		       "body bytea NOT NULL,PRIMARY KEY(session,seq))",
		       b->schema, b->schema);
	return exec_ok(c, sql) ? WEFT_OK : fail_server(b);
}

static int connect_all(struct plain *p)
{
	struct bench *b = p->bench;
	char sql[200];

	(void)snprintf(sql, sizeof(sql),
		       "PREPARE plain(bytea,bigint,bytea) AS"
		       " INSERT INTO %s_plain.plain VALUES($1,$2,$3)",
		       b->schema);
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		p->conns[i] = connect_plain(b);
		if (!p->conns[i])
			return b->err ? b->err->code : WEFT_IO;
		if (i == 0 && make_table(b, p->conns[0]) < 0)
			return WEFT_IO;
		if (!exec_ok(p->conns[i], sql))
			return fail_server(b);
	}
	return WEFT_OK;
}

static void insert_all(struct plain *p)
{
	unsigned started = 0;

	while (started < CONNECTIONS &&
	       pthread_create(&p->threads[started], NULL, insert_some, p) == 0)
		started++;
	for (unsigned i = 0; i < started; i++)
		(void)pthread_join(p->threads[i], NULL);
}

int raw_postgres_appends(struct bench *b, const char *url, struct sample *ret)
{
	struct plain p = { .bench = b, .mutex = PTHREAD_MUTEX_INITIALIZER };
	int r = times_init(&p.times, 2000000, b->err);

	(void)url;
	if (r == WEFT_OK)
		r = connect_all(&p);
	if (r == WEFT_OK) {
		int64_t start = now_ns();

		p.until = start + (int64_t)(b->seconds * 1e9);
		insert_all(&p);
		if (atomic_load(&p.failed))
			r = fail_server(b);
		else
			*ret = times_sample(&p.times, p.done, now_ns() - start);
	}
	for (unsigned i = 0; i < CONNECTIONS; i++)
		PQfinish(p.conns[i]);
	times_done(&p.times);
	return r;
}

/* ---- a select ---- */

int raw_postgres_load(struct bench *b, const char *url, uint64_t messages,
		      struct sample *ret)
{
	PGconn *c = connect_plain(b);
	PGresult *res = NULL;
	char sql[300];
	uint64_t n = 0, sum = 0;
	int64_t start;

	(void)url;
	if (!c)
		return WEFT_IO;
	(void)snprintf(sql, sizeof(sql),
		       "SELECT seq,bytes FROM %s_store.events WHERE session="
		       "(SELECT id FROM %s_store.sessions) ORDER BY seq",
		       b->schema, b->schema);
	start = now_ns();
	res = PQexecParams(c, sql, 0, NULL, NULL, NULL, NULL, 1);
	for (; n < (uint64_t)PQntuples(res); n++)
		sum += (uint64_t)PQgetlength(res, (int)n, 1);
	*ret = (struct sample){ .p50_us = (double)(now_ns() - start) / 1e3 };
	ret->per_s = (double)n / ret->p50_us * 1e6;
	PQclear(res);
	PQfinish(c);
	if (n < messages || sum < messages)
		return fail(b->err, WEFT_CORRUPT, "%llu of %llu messages",
			    (unsigned long long)n,
			    (unsigned long long)messages);
	return WEFT_OK;
}

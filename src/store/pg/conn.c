/* conn.c - connections to PostgreSQL, and their settings. */
#include <libpq-fe.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/pg/pg.h"

/* ---- errors ---- */

/* One line, with every copy of the secret blotted out. */
int pg_say(const struct pg_store *s, int code, const char *text,
	   struct weft_error *err)
{
	char line[400];
	size_t n = 0, secret = s->secret ? strlen(s->secret) : 0;

	while (*text && n + 1 < sizeof(line)) {
		if (secret > 0 && strncmp(text, s->secret, secret) == 0) {
			text += secret;
			line[n++] = '*';
		} else if (*text == '\n' || *text == '\t') {
			if (n > 0 && line[n - 1] != ' ')
				line[n++] = ' ';
			text++;
		} else {
			line[n++] = *text++;
		}
	}
	while (n > 0 && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
	return fail(err, code, "postgres: %s", line);
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static int code_of_refusal(const char *text)
{
	size_t read_only = count_of(text, "session is read-only");

	/* There is no code, only words; these are the server's in English. */
	if (strstr(text, "does not exist") && strstr(text, "database"))
		return WEFT_NOT_FOUND;
	/* If one of several is away, it may be that one that takes writes, or
	 * the other is about to be promoted. */
	if (read_only > 0)
		return read_only < count_of(text, " failed: ") ? WEFT_BUSY :
								 WEFT_READ_ONLY;
	if (strstr(text, "too many clients") || strstr(text, "starting up") ||
	    strstr(text, "shutting down"))
		return WEFT_BUSY;
	return WEFT_IO;
}

/* ---- what the server says by the way ---- */

static void take_notice(void *ctx, const PGresult *res)
{
	struct pg_conn *k = ctx;
	const char *severity =
		PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

	if (!severity || strcmp(severity, "WARNING") != 0)
		return;
	k->warned = true;
	(void)snprintf(k->warning, sizeof(k->warning), "%s", text ? text : "");
}

/* ---- connecting ---- */

/*
 * What was acknowledged is on the disk of the server, and of its synchronous
 * standby; whoever waits for a lock gives up in time.
 */
static int set_up(struct pg_conn *k, struct weft_error *err)
{
	/* What writes finds its rows by their keys, in the order in which it
	 * has them, also while a table is small; and is planned once. */
	static const char by_keys[] =
		"SET plan_cache_mode=force_generic_plan;"
		"SET enable_seqscan=off;SET enable_bitmapscan=off;"
		"SET enable_hashjoin=off;SET enable_mergejoin=off;";
	struct pg_store *s = pg_of(k->base.store);
	CLEANUP(buf_done) struct buf sql;
	char *schema = PQescapeIdentifier(k->pg, s->schema, strlen(s->schema));
	char *text = PQescapeLiteral(k->pg, s->schema, strlen(s->schema));
	int r;

	buf_init(&sql, SQL_TEXT_MAX);
	buf_printf(&sql,
		   "SET search_path=%s;SET weft.schema=%s;"
		   "SET synchronous_commit=on;"
		   "SET default_transaction_isolation='read committed';"
		   "SET client_min_messages=warning;"
		   /* For what is done in a millisecond; what has to read all
		    * of a small table counts as dear. */
		   "SET jit=off;SET max_parallel_workers_per_gather=0;"
		   "SET lock_timeout=%llu;"
		   "SET default_transaction_read_only=%s;%s",
		   schema ? schema : "", text ? text : "",
		   (unsigned long long)s->sql.store.limits.busy_ms,
		   k->use == SQL_FOR_READING ? "on" : "off",
		   k->use == SQL_FOR_READING ? "" : by_keys);
	if (!schema || !text)
		sql.error = WEFT_NO_MEMORY;
	PQfreemem(schema);
	PQfreemem(text);
	(void)buf_cstr(&sql);
	r = buf_error(&sql, err);
	return r < 0 ? r : pg_exec(k, buf_cstr(&sql), NULL, err);
}

static int refused(const struct pg_store *s, const char *text,
		   struct weft_error *err)
{
	int r = pg_say(s, code_of_refusal(text), text, err);

	if (r != WEFT_READ_ONLY)
		return r;
	return fail_prefix(err, r,
			   "a standby, or a server that takes no writes: name "
			   "the primary in the URL, or read from it with "
			   "read_only=1&target_session_attrs=any");
}

static int connected(struct pg_conn *k, struct weft_error *err)
{
	struct pg_store *s = pg_of(k->base.store);

	k->broken = PQstatus(k->pg) != CONNECTION_OK;
	k->in_transaction = false;
	k->piped = false;
	k->pending = 0;
	k->late = k->slow = false;
	k->base.others = true; /* it may be another server */
	memset(k->slots, 0, sizeof(k->slots));
	if (k->broken)
		return refused(s, PQerrorMessage(k->pg), err);
	/* Sending must not wait for a server that does not read. */
	if (PQsetnonblocking(k->pg, 1) < 0)
		return pg_fail(k, NULL, err);
	return set_up(k, err);
}

int pg_connect(struct pg_store *s, enum sql_use use, struct pg_conn **ret,
	       struct weft_error *err)
{
	/* What stands before the URL is only for what it does not say; what
	 * stands behind it holds whatever it says. */
	const char *const names[] = {
		"connect_timeout",
		s->sql.read_only ? "target_session_attrs" : "connect_timeout",
		"tcp_user_timeout",
		"keepalives_idle",
		"keepalives_interval",
		"keepalives_count",
		"dbname",
		"fallback_application_name",
		"client_encoding",
		s->sql.read_only ? NULL : "target_session_attrs",
		NULL
	};
	const char *values[] = {
		"10",    s->sql.read_only ? "read-write" : "10",
		"15000", "10",
		"5",     "3",
		s->url,  "weft",
		"UTF8",  "read-write",
		NULL
	};
	struct pg_conn *k = mem_zero(1, sizeof(*k));
	int r;

	if (!k)
		return fail_no_memory(err);
	k->base.store = &s->sql;
	k->use = use;
	/* What a server says while we connect would go to standard error if
	 * nobody listened, and one can listen only to what was begun. */
	k->pg = PQconnectStartParams(names, values, 1);
	if (k->pg) {
		(void)PQsetNoticeReceiver(k->pg, take_notice, k);
		PQreset(k->pg);
	}
	r = k->pg ? connected(k, err) : fail_no_memory(err);
	if (r < 0) {
		pg_disconnect(k);
		return r;
	}
	*ret = k;
	return WEFT_OK;
}

int pg_connect_patiently(struct pg_store *s, enum sql_use use,
			 struct pg_conn **ret, struct weft_error *err)
{
	int64_t end =
		clock_mono_us() + (int64_t)s->sql.store.limits.busy_ms * 1000;
	int r;

	while ((r = pg_connect(s, use, ret, err)) == WEFT_BUSY &&
	       clock_mono_us() < end)
		pg_pause();
	if (r == WEFT_OK)
		(*ret)->patient = true;
	return r;
}

void pg_disconnect(struct pg_conn *k)
{
	if (!k)
		return;
	PQfinish(k->pg);
	mem_free(k);
}

void pg_pause(void)
{
	struct timespec nap = { .tv_nsec = 50 * 1000000L };

	(void)nanosleep(&nap, NULL);
}

int pg_mend(struct pg_conn *k, struct weft_error *err)
{
	struct pg_store *s = pg_of(k->base.store);
	int r;

	if (!k->broken && PQstatus(k->pg) == CONNECTION_OK)
		return WEFT_OK;
	PQreset(k->pg);
	r = connected(k, err);
	/* It may be another server, which has not heard of us. */
	if (r == WEFT_OK && k->use == SQL_FOR_WRITING && !id_is_zero(&s->node))
		r = pg_join(s, k, err);
	return r;
}

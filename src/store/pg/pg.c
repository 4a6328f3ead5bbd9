/* pg.c - the postgres: store: opening, closing, its URL, its health. */
#include "store/pg/pg.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/process.h"

#define PARTITIONS     16
#define ANSWER_MS      60000
#define ANSWER_MAX_MS  (24 * UINT64_C(60) * 60 * 1000)
#define FORGET_NODE_MS (400 * INT64_C(24) * 60 * 60 * 1000)

static struct pg_store *store_of(struct store *s)
{
	return pg_of(sql_of(s));
}

/* ---- the URL ---- */

static int set_own(struct pg_store *s, struct weft_str name,
		   struct weft_str value, struct weft_error *err)
{
	uint64_t n = 0;

	if (str_eq(name, STR("schema"))) {
		if (value.len == 0 || value.len >= sizeof(s->schema))
			return fail(err, WEFT_INVALID,
				    "store URL: schema: expected 1 to %zu "
				    "bytes",
				    sizeof(s->schema) - 1);
		memcpy(s->schema, value.ptr, value.len);
		s->schema[value.len] = '\0';
		return WEFT_OK;
	}
	if (str_eq(name, STR("answer_ms"))) {
		if (!str_to_u64(value, ANSWER_MAX_MS, &s->answer_ms))
			return fail(err, WEFT_INVALID,
				    "store URL: answer_ms: expected 0 to %llu",
				    (unsigned long long)ANSWER_MAX_MS);
		return WEFT_OK;
	}
	if (!str_to_u64(value, 1024, &n) || n == 0)
		return fail(err, WEFT_INVALID,
			    "store URL: partitions: expected 1 to 1024");
	s->partitions = (unsigned)n;
	return WEFT_OK;
}

/*
 * libpq refuses what it does not know: take schema=NAME, partitions=N and
 * answer_ms=N out of what follows the '?'.
 */
static int take_own(struct pg_store *s, struct weft_str url, struct buf *b,
		    struct weft_error *err)
{
	const char *query = memchr(url.ptr, '?', url.len);
	const char *end = url.ptr + url.len, *p;
	char separator = '?';
	int r = WEFT_OK;

	(void)snprintf(s->schema, sizeof(s->schema), "weft");
	s->partitions = PARTITIONS;
	s->answer_ms = ANSWER_MS;
	buf_add(b, url.ptr, query ? (size_t)(query - url.ptr) : url.len);
	for (p = query ? query + 1 : end; p < end && r == WEFT_OK;) {
		const char *amp = memchr(p, '&', (size_t)(end - p));
		const char *stop = amp ? amp : end;
		struct weft_str option = { p, (size_t)(stop - p) };
		const char *is = memchr(p, '=', option.len);
		struct weft_str name = { p,
					 is ? (size_t)(is - p) : option.len };

		if (str_eq(name, STR("schema")) ||
		    str_eq(name, STR("partitions")) ||
		    str_eq(name, STR("answer_ms"))) {
			r = set_own(s, name,
				    str_skip(option, name.len + (is != NULL)),
				    err);
		} else {
			buf_add_c(b, separator);
			buf_add_str(b, option);
			separator = '&';
		}
		p = stop + 1;
	}
	return r < 0 ? r : buf_error(b, err);
}

/* Nothing of a URL that is wrong may be shown: it may hold a password. */
static int read_url(struct pg_store *s, struct weft_str url,
		    struct weft_error *err)
{
	CLEANUP(buf_done) struct buf b;
	PQconninfoOption *options;
	char *why = NULL;
	int r;

	buf_init(&b, SQL_TEXT_MAX);
	r = take_own(s, url, &b, err);
	if (r < 0)
		return r;
	s->url = mem_copy(buf_str(&b));
	if (!s->url)
		return fail_no_memory(err);
	options = PQconninfoParse(s->url, &why);
	PQfreemem(why);
	if (!options)
		return fail(err, WEFT_INVALID,
			    "store URL: not one that PostgreSQL understands; "
			    "expected postgres://USER@HOST/DATABASE");
	for (PQconninfoOption *o = options; o->keyword; o++) {
		if (strcmp(o->keyword, "password") != 0 || !o->val || !*o->val)
			continue;
		s->secret = mem_copy(str_of(o->val));
		/* Without it nothing that is said could be cleaned of it. */
		if (!s->secret)
			r = fail_no_memory(err);
	}
	PQconninfoFree(options);
	return r;
}

int pg_check_url(const struct store_open *o, struct weft_error *err)
{
	struct pg_store s = { .url = NULL };
	int r = read_url(&s, o->path, err);

	mem_free(s.url);
	mem_free(s.secret);
	return r;
}

/* A channel for each schema: letters and digits, whatever its name is. */
static int name_channel(struct pg_store *s, struct weft_error *err)
{
	unsigned char hash[SHA256_BYTES];
	char hex[17];
	int r = sha256(str_of(s->schema), hash, err);

	if (r < 0)
		return r;
	hex_format(hash, 8, hex);
	(void)snprintf(s->channel, sizeof(s->channel), "weft_%s", hex);
	return WEFT_OK;
}

/* ---- opening ---- */

static int check_server(struct pg_conn *k, struct weft_error *err)
{
	char text[64];
	int r = pg_ask(k, "SHOW fsync", text, sizeof(text), err);

	if (r == WEFT_OK && strcmp(text, "on") != 0)
		return fail(err, WEFT_IO,
			    "postgres: the server runs with fsync=%s: what it "
			    "acknowledges may be lost",
			    text);
	return r;
}

int pg_join(struct pg_store *s, struct pg_conn *k, struct weft_error *err)
{
	int64_t now = clock_now_ms(NULL);
	char sql[512], node[WEFT_ID_CHARS + 1], hex[33];

	id_format(&s->node, node);
	hex_format(&s->node, sizeof(s->node), hex);
	(void)snprintf(sql, sizeof(sql),
		       "DELETE FROM commits WHERE at_ms<%lld;"
		       "INSERT INTO commits(node,name,no,at_ms)"
		       " VALUES(decode('%s','hex'),'%s',0,%lld)"
		       " ON CONFLICT DO NOTHING",
		       (long long)(now - FORGET_NODE_MS), hex, node,
		       (long long)now);
	return pg_exec(k, sql, NULL, err);
}

static int join(struct pg_store *s, struct pg_conn *k, struct weft_error *err)
{
	int r = id_new(clock_now_ms(NULL), &s->node, err);

	return r < 0 ? r : pg_join(s, k, err);
}

static int connect_all(struct pg_store *s, uint32_t flags,
		       struct weft_error *err)
{
	struct sql_conn **first =
		s->sql.read_only ? &s->sql.readers[0] : &s->sql.write_conn;
	struct pg_conn *k = NULL;
	int r = pg_connect_patiently(
		s, s->sql.read_only ? SQL_FOR_READING : SQL_FOR_WRITING, &k,
		err);

	if (r < 0)
		return r;
	*first = &k->base;
	r = check_server(k, err);
	if (r == WEFT_OK)
		r = pg_migrate(k, flags, err);
	if (r < 0 || s->sql.read_only)
		return r;
	r = join(s, k, err);
	if (r == WEFT_OK)
		r = pg_connect(s, SQL_FOR_READING, &s->notifier, err);
	return r;
}

/* A server may go away while a store is opened, and another take its place. */
static int connect_in_time(struct pg_store *s, uint32_t flags,
			   struct weft_error *err)
{
	int64_t end =
		clock_mono_us() + (int64_t)s->sql.store.limits.busy_ms * 1000;
	int r;

	while ((r = connect_all(s, flags, err)) == WEFT_BUSY &&
	       clock_mono_us() < end) {
		struct sql_conn **first = s->sql.read_only ?
						  &s->sql.readers[0] :
						  &s->sql.write_conn;

		if (*first)
			pg_disconnect(pg_conn_of(*first));
		*first = NULL;
		pg_disconnect(s->notifier);
		s->notifier = NULL;
		pg_pause();
	}
	return r;
}

/*
 * Our row goes, but what it counted stays in the one of all who have left: who
 * adds up what others have committed must see that there is more.
 */
static void leave(struct pg_store *s)
{
	char sql[400], node[WEFT_ID_CHARS + 1];
	struct pg_conn *k;

	if (!s->sql.write_conn || id_is_zero(&s->node))
		return;
	k = pg_conn_of(s->sql.write_conn);
	id_format(&s->node, node);
	(void)snprintf(sql, sizeof(sql),
		       "DELETE FROM commits WHERE name='%s';"
		       "INSERT INTO commits(node,name,no,at_ms)"
		       " VALUES('','left',%llu,%lld)"
		       " ON CONFLICT(node) DO UPDATE SET"
		       " no=commits.no+excluded.no,at_ms=excluded.at_ms",
		       node, (unsigned long long)s->commits + 1,
		       (long long)clock_now_ms(NULL));
	if (!k->broken)
		(void)pg_exec(k, sql, NULL, NULL);
}

static void destroy(struct pg_store *s)
{
	if (s->sql.process == process_generation()) {
		leave(s);
		pg_wait_done(s);
	}
	sql_done(&s->sql);
	mem_free(s->url);
	mem_free(s->secret);
	mem_free(s);
}

static void init_bell(struct pg_store *s)
{
	pthread_condattr_t attr;

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&s->bell, NULL);
	(void)pthread_cond_init(&s->rung, &attr);
	(void)pthread_condattr_destroy(&attr);
	s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->stamp = 1;
}

static int pg_open(const struct store_open *o, struct store **ret,
		   struct weft_error *err)
{
	struct pg_store *s = mem_zero(1, sizeof(*s));
	int r;

	if (!s)
		return fail_no_memory(err);
	init_bell(s);
	r = sql_init(&s->sql, o, &store_postgres, &pg_driver, err);
	if (r == WEFT_OK && s->wake_fd < 0)
		r = fail(err, WEFT_IO, "cannot make an eventfd");
	if (r == WEFT_OK && o->flags & STORE_SINGLE)
		r = fail(err, WEFT_INVALID,
			 "postgres: single=1 is not for a server; everybody "
			 "may use it at once");
	if (r == WEFT_OK)
		r = read_url(s, o->path, err);
	if (r == WEFT_OK)
		r = name_channel(s, err);
	if (r == WEFT_OK)
		r = connect_in_time(s, o->flags, err);
	if (r < 0) {
		destroy(s);
		return r;
	}
	*ret = &s->sql.store;
	return WEFT_OK;
}

static int pg_close(struct store *store, struct weft_error *err)
{
	(void)err;
	destroy(store_of(store));
	return WEFT_OK;
}

static int pg_health(struct store *store, struct store_health *ret)
{
	return sql_health(sql_of(store), ret);
}

#define POSTGRES_OPS(name)                                                  \
	{                                                                   \
		.scheme = (name), .open = pg_open, .close = pg_close,       \
		.write = sql_store_write,                                   \
		.get_sessions = sql_store_get_sessions,                     \
		.get_names = sql_store_get_names,                           \
		.get_names_of = sql_store_get_names_of,                     \
		.read_events = sql_store_read_events,                       \
		.get_hidden = sql_store_get_hidden, .list = sql_store_list, \
		.find_tag = sql_store_find_tag, .where = sql_store_where,   \
		.put_blob = sql_store_put_blob,                             \
		.get_blob = sql_store_get_blob,                             \
		.get_behind = sql_store_get_behind,                         \
		.put_words = sql_store_put_words,                           \
		.find_words = sql_store_find_words,                         \
		.drop_words = sql_store_drop_words, .wait = pg_wait,        \
		.wake = pg_wake, .maintain = sql_store_maintain,            \
		.health = pg_health,                                        \
	}

/* Both spellings are usual. */
const struct store_ops store_postgres = POSTGRES_OPS("postgres");
const struct store_ops store_postgresql = POSTGRES_OPS("postgresql");

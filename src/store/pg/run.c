/* run.c - statements on a connection to PostgreSQL, and their errors. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/pg/pg.h"

/* The types that we send and get, by their numbers in every server. */
enum {
	OID_BYTEA = 17,
	OID_INT8 = 20,
	OID_INT4 = 23,
	OID_BYTEA_ARRAY = 1001,
	OID_INT8_ARRAY = 1016
};

#define FIND_WORDS(where)                                        \
	"SELECT at_ms,session,seq FROM words WHERE words#@CAST(" \
	"convert_from(?1,'UTF8') AS tsquery)"                    \
	" AND (at_ms,session,seq)<(?2,?3,?4)" where              \
	" ORDER BY at_ms DESC,session DESC,seq DESC LIMIT ?5"

static const struct {
	const char *types, *sql;
	bool rows;
} own[] = {
	[PG_LOCK - Q_DRIVER] = { "i", "SELECT pg_advisory_xact_lock(@1)#F",
				 true },
	[PG_SETTLE -
		Q_DRIVER] = { "bbii",
			      "INSERT INTO commits(node,name,no,void,at_ms)"
			      " VALUES(?1,convert_from(?2,'UTF8'),?3,?3,?4)"
			      " ON CONFLICT(node) DO UPDATE SET"
			      " void=CASE WHEN commits.no<excluded.no"
			      " THEN excluded.no ELSE commits.void END,"
			      "no=excluded.no,at_ms=excluded.at_ms"
			      " RETURNING (void=no)::int",
			      false },
	[PG_OTHERS - Q_DRIVER] = { "b",
				   "SELECT coalesce(sum(no),0)::bigint"
				   " FROM commits WHERE node<>?1",
				   false },
	[PG_COMMIT -
		Q_DRIVER] = { "bii",
			      "WITH u AS (UPDATE commits SET no=?2,at_ms=?3"
			      " WHERE node=?1 AND void<?2 RETURNING 1)"
			      " SELECT txid_current()/"
			      "CAST(count(*)=1 AS integer) FROM u",
			      false },
	[PG_PUT_WORDS - Q_DRIVER] = { "biib",
				      "INSERT INTO words"
				      "(session,seq,at_ms,words)"
				      " SELECT @1,@2,@3,array_to_tsvector("
				      "string_to_array(convert_from(@4,'UTF8'),"
				      "' '))#F ON CONFLICT DO NOTHING",
				      true },
	[PG_FIND_WORDS - Q_DRIVER] = { "bibii", FIND_WORDS(""), false },
	[PG_FIND_WORDS_IN -
		Q_DRIVER] = { "bibiib",
			      FIND_WORDS(" AND session IN (SELECT"
					 " substr(?6,16*i::int+1,16)"
					 " FROM generate_series(0,"
					 "length(?6)/16-1) AS i)"),
			      false },
	[PG_DROP_WORDS - Q_DRIVER] = { "b",
				       "DELETE FROM words WHERE session=?1",
				       false },
	[PG_CLEAR_WORDS - Q_DRIVER] = { "", "DELETE FROM words", false },
};

/* ---- errors ---- */

static bool is_any(const char *state, const char *const *of)
{
	for (; *of; of++) {
		if (strncmp(state, *of, strlen(*of)) == 0)
			return true;
	}
	return false;
}

static int code_of(const char *state)
{
	static const struct {
		const char *state; /* or how it begins */
		int code;
	} codes[] = {
		{ "53100", WEFT_NO_SPACE }, { "53200", WEFT_NO_MEMORY },
		{ "53", WEFT_BUSY },        { "55P03", WEFT_BUSY },
		{ "57014", WEFT_BUSY },     { "40", WEFT_BUSY },
		{ "57P", WEFT_BUSY },       { "08", WEFT_BUSY },
		{ "23505", WEFT_BUSY },     { "25006", WEFT_READ_ONLY },
		{ "22012", WEFT_BUSY }, /* a row with another stamp */
		{ "54", WEFT_LIMIT },       { "XX", WEFT_CORRUPT },
		{ "42P01", WEFT_CORRUPT },  { "42703", WEFT_CORRUPT },
	};

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0)
			return codes[i].code;
	}
	return WEFT_IO;
}

/* After which another attempt may do better. */
static const char *const passing[] = { "40",    "57P",   "08", "53300",
				       "23505", "22012", NULL };

int pg_fail(struct pg_conn *k, const void *result, struct weft_error *err)
{
	const PGresult *res = result;
	const struct pg_store *s = pg_of(k->base.store);
	const char *state =
		res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
	const char *text =
		res ? PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) : NULL;

	/* What is not the server's word is libpq's, about a connection that is
	 * of no more use; where only writing failed, its status does not say so
	 * yet. */
	if (k->late || PQstatus(k->pg) != CONNECTION_OK || !state) {
		k->broken = true;
		k->base.replan = true;
		return pg_say(s, WEFT_BUSY,
			      k->late ? "the server did not answer in time "
					"(answer_ms)" :
					"the connection was lost",
			      err);
	}
	if (is_any(state, passing))
		k->base.replan = true;
	return pg_say(s, code_of(state), text ? text : "no reason given", err);
}

static void clear(PGresult **res)
{
	PQclear(*res);
}

/* ---- without parameters ---- */

int pg_exec(struct pg_conn *k, const char *sql, char tag[32],
	    struct weft_error *err)
{
	CLEANUP(clear) PGresult *res = NULL;
	ExecStatusType status;

	k->runs++;
	res = pg_last_answer(k, PQsendQuery(k->pg, sql));
	status = PQresultStatus(res);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK &&
	    status != PGRES_EMPTY_QUERY)
		return pg_fail(k, res, err);
	if (tag)
		(void)snprintf(tag, 32, "%s", PQcmdStatus(res));
	return WEFT_OK;
}

int pg_ask(struct pg_conn *k, const char *sql, char *ret, size_t size,
	   struct weft_error *err)
{
	CLEANUP(clear) PGresult *res = NULL;

	k->runs++;
	res = pg_last_answer(k, PQsendQuery(k->pg, sql));
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return pg_fail(k, res, err);
	(void)snprintf(ret, size, "%s",
		       PQntuples(res) > 0 ? PQgetvalue(res, 0, 0) : "");
	return WEFT_OK;
}

/* ---- preparing ---- */

static void make_text(struct sql_text *t, uint32_t key)
{
	if (key < Q_DRIVER || key >= Q_LIST) {
		sql_text_make(t, key, SQL_POSTGRES);
		return;
	}
	memcpy(t->types, own[key - Q_DRIVER].types,
	       strlen(own[key - Q_DRIVER].types) + 1);
	t->rows = own[key - Q_DRIVER].rows;
	sql_expand(&t->sql, own[key - Q_DRIVER].sql, t->types, SQL_POSTGRES);
}

static void name_of(uint32_t key, char out[24])
{
	(void)snprintf(out, 24, "weft%u", key);
}

static struct pg_slot *slot_of(struct pg_conn *k, uint32_t key)
{
	struct pg_slot *oldest = &k->slots[0];

	for (size_t i = 0; i < PG_STATEMENTS; i++) {
		struct pg_slot *slot = &k->slots[i];

		if (slot->used && slot->key == key)
			return slot;
		if (slot->used < oldest->used)
			oldest = slot;
	}
	return oldest;
}

static int send_prepare(struct pg_conn *k, uint32_t key, struct sql_text *t,
			struct weft_error *err)
{
	CLEANUP(clear) PGresult *res = NULL;
	size_t n = strlen(t->types);
	Oid types[SQL_PARAMETERS_MAX];
	char name[24];

	/* What an array of rows is the statement itself says. */
	if (t->row_type)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		bool number = t->types[i] == 'i';

		if (t->rows)
			types[i] = number ? OID_INT8_ARRAY : OID_BYTEA_ARRAY;
		else
			types[i] = number ? OID_INT8 : OID_BYTEA;
	}
	name_of(key, name);
	k->runs++;
	res = pg_last_answer(k, PQsendPrepare(k->pg, name, buf_cstr(&t->sql),
					      (int)n, types));
	return PQresultStatus(res) == PGRES_COMMAND_OK ? WEFT_OK :
							 pg_fail(k, res, err);
}

/* Types of ours have another number in every database. */
static int find_row_type(struct pg_conn *k, const char *name, uint32_t *ret,
			 struct weft_error *err)
{
	char sql[64], text[24];
	int r;

	*ret = 0;
	if (!name)
		return WEFT_OK;
	(void)snprintf(sql, sizeof(sql), "SELECT '%s'::regtype::oid", name);
	r = pg_ask(k, sql, text, sizeof(text), err);
	if (r == WEFT_OK)
		*ret = (uint32_t)strtoul(text, NULL, 10);
	return r;
}

/* Make sure that the server knows the statement; *t is its text. */
static int prepare(struct pg_conn *k, uint32_t key, struct sql_text *t,
		   uint32_t *ret_row_type, struct weft_error *err)
{
	struct pg_slot *slot = slot_of(k, key);
	bool piped = k->piped;
	char sql[48], name[24];
	uint32_t row_type = 0;
	int r = WEFT_OK;

	make_text(t, key);
	(void)buf_cstr(&t->sql);
	if (t->sql.error)
		return buf_error(&t->sql, err);
	if (slot->used && slot->key == key) {
		slot->used = ++k->uses;
		*ret_row_type = slot->row_type;
		return WEFT_OK;
	}
	r = pg_pipe_end(k, err);
	if (r == WEFT_OK && slot->used) {
		name_of(slot->key, name);
		(void)snprintf(sql, sizeof(sql), "DEALLOCATE %s", name);
		r = pg_exec(k, sql, NULL, err);
		slot->used = 0;
	}
	if (r == WEFT_OK)
		r = find_row_type(k, t->row_type, &row_type, err);
	if (r == WEFT_OK)
		r = send_prepare(k, key, t, err);
	if (r == WEFT_OK)
		*slot = (struct pg_slot){ .key = key,
					  .used = ++k->uses,
					  .row_type = row_type };
	*ret_row_type = row_type;
	return r == WEFT_OK && piped ? pg_pipe_begin(k, err) : r;
}

/* ---- parameters ---- */

/* All of them, one behind the other; `at` is where each begins. */
struct parameters {
	struct buf bytes;
	size_t at[SQL_PARAMETERS_MAX + 1];
	bool null[SQL_PARAMETERS_MAX];
	size_t n;
};

static void add_be(struct buf *b, uint64_t v, size_t bytes)
{
	for (size_t i = bytes; i-- > 0;)
		buf_add_c(b, (char)(v >> (8 * i)));
}

static void add_value(struct buf *b, const struct sql_value *v)
{
	if (v->kind == SQL_INT)
		add_be(b, (uint64_t)v->n, 8);
	else if (v->kind != SQL_NULL)
		buf_add(b, v->s.ptr, v->s.len);
}

static size_t size_of(const struct sql_value *v)
{
	return v->kind == SQL_INT ? 8 : v->s.len;
}

/* A number in front of a value or row says how long it is. */
static void add_sized(struct buf *b, const struct sql_value *v)
{
	if (v->kind == SQL_NULL) {
		add_be(b, UINT32_MAX, 4);
		return;
	}
	add_be(b, size_of(v), 4);
	add_value(b, v);
}

static void begin_array(struct buf *b, bool nulls, uint32_t of, size_t n)
{
	add_be(b, 1, 4);
	add_be(b, nulls, 4);
	add_be(b, of, 4);
	add_be(b, n, 4);
	add_be(b, 1, 4);
}

/* All rows as one array of rows. */
static void add_row_array(struct buf *b, const struct sql_rows *in,
			  const char *types, uint32_t row_type)
{
	const size_t n = strlen(types);

	begin_array(b, false, row_type, in->n);
	for (size_t row = 0; row < in->n; row++) {
		const struct sql_value *v = &in->v[row * in->width];
		size_t size = 4 + 8 * n;

		for (size_t i = 0; i < n; i++)
			size += size_of(&v[i]);
		add_be(b, size, 4);
		add_be(b, n, 4);
		for (size_t i = 0; i < n; i++) {
			add_be(b, types[i] == 'i' ? OID_INT8 : OID_BYTEA, 4);
			add_sized(b, &v[i]);
		}
	}
}

/* Column `i` of all rows as an array. */
static void add_array(struct buf *b, const struct sql_rows *in, size_t i,
		      bool number)
{
	bool nulls = false;

	for (size_t row = 0; row < in->n; row++)
		nulls |= in->v[row * in->width + i].kind == SQL_NULL;
	begin_array(b, nulls, number ? OID_INT8 : OID_BYTEA, in->n);
	for (size_t row = 0; row < in->n; row++)
		add_sized(b, &in->v[row * in->width + i]);
}

static void add_parameters(struct parameters *p, const struct sql_text *t,
			   uint32_t row_type, const struct sql_rows *in)
{
	p->n = row_type ? 1 : strlen(t->types);
	for (size_t i = 0; i < p->n; i++) {
		p->at[i] = p->bytes.len;
		if (row_type) {
			add_row_array(&p->bytes, in, t->types, row_type);
			continue;
		}
		if (t->rows) {
			add_array(&p->bytes, in, i, t->types[i] == 'i');
			continue;
		}
		p->null[i] = in->v[i].kind == SQL_NULL;
		add_value(&p->bytes, &in->v[i]);
	}
	p->at[p->n] = p->bytes.len;
	/* So that also the address of nothing is one. */
	buf_add_c(&p->bytes, '\0');
}

/* What looks at whole tables, or waits for all who write. */
static bool takes_long(uint32_t key)
{
	switch (key) {
	case Q_BEHIND_EVENTS:
	case Q_CLEAR_HIDDEN:
	case Q_CLEAR_LONE_REFS:
	case Q_CLEAR_NAMES:
	case Q_CLEAR_SESSIONS:
	case Q_COUNT_BLOBS:
	case Q_COUNT_HIDDEN:
	case Q_COUNT_NAMES:
	case Q_COUNT_SESSIONS:
	case Q_DROP_BLOBS:
	case Q_DROP_EVENTS:
	case Q_LOCK_ALL:
	case Q_UNMARK_ALL:
	case PG_CLEAR_WORDS:
		return true;
	default:
		return false;
	}
}

/* Send it, and wait for its answer unless nobody wants one. */
static int send(struct pg_conn *k, uint32_t key, const struct parameters *p,
		bool wanted, PGresult **ret, struct weft_error *err)
{
	const char *values[SQL_PARAMETERS_MAX];
	int lengths[SQL_PARAMETERS_MAX], formats[SQL_PARAMETERS_MAX], r;
	void *answer = NULL;
	char name[24];

	for (size_t i = 0; i < p->n; i++) {
		values[i] = p->null[i] ? NULL : p->bytes.ptr + p->at[i];
		lengths[i] = (int)(p->at[i + 1] - p->at[i]);
		formats[i] = 1;
	}
	name_of(key, name);
	k->slow |= takes_long(key);
	if (!k->piped) {
		k->runs++;
		*ret = pg_last_answer(
			k, PQsendQueryPrepared(k->pg, name, (int)p->n, values,
					       lengths, formats, 1));
		return WEFT_OK;
	}
	r = pg_pipe_room(k, err);
	if (r == WEFT_OK)
		r = pg_pipe_sent(k,
				 PQsendQueryPrepared(k->pg, name, (int)p->n,
						     values, lengths, formats,
						     1),
				 err);
	if (r == WEFT_OK && wanted)
		r = pg_pipe_wait(k, &answer, NULL, err);
	*ret = answer;
	return r;
}

/* ---- answers ---- */

int64_t pg_number(const char *p, int n)
{
	uint64_t v = 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | (unsigned char)p[i];
	return n == 4 ? (int32_t)v : (int64_t)v;
}

static void decode(const PGresult *res, int row, int column,
		   struct sql_value *ret)
{
	const char *bytes = PQgetvalue(res, row, column);
	int n = PQgetlength(res, row, column);

	switch (PQftype(res, column)) {
	case OID_INT8:
	case OID_INT4:
		*ret = sql_int(pg_number(bytes, n));
		break;
	case OID_BYTEA:
		*ret = sql_bytes(bytes, (size_t)n);
		break;
	default:
		*ret = sql_text((struct weft_str){ bytes, (size_t)n });
		break;
	}
	if (PQgetisnull(res, row, column))
		*ret = (struct sql_value){ .kind = SQL_NULL };
}

static int take_rows(const PGresult *res, sql_each *each, void *ctx,
		     struct weft_error *err)
{
	struct sql_value row[SQL_PARAMETERS_MAX];
	int n = PQnfields(res), rows = PQntuples(res);

	for (int i = 0; each && i < rows; i++) {
		int r;

		for (int c = 0; c < n; c++)
			decode(res, i, c, &row[c]);
		r = each(ctx, row, err);
		if (r != WEFT_OK)
			return r == SQL_ENOUGH ? WEFT_OK : r;
	}
	return WEFT_OK;
}

static int run_once(struct pg_conn *k, uint32_t key, const struct sql_rows *in,
		    sql_each *each, void *ctx, uint64_t *changed,
		    struct weft_error *err)
{
	CLEANUP(sql_text_done) struct sql_text text;
	CLEANUP(clear) PGresult *res = NULL;
	struct parameters p = { .n = 0 };
	ExecStatusType status;
	uint32_t row_type = 0;
	int r;

	sql_text_init(&text);
	r = prepare(k, key, &text, &row_type, err);
	if (r < 0)
		return r;
	buf_init(&p.bytes, INT32_MAX);
	if (in)
		add_parameters(&p, &text, row_type, in);
	r = buf_error(&p.bytes, err);
	if (r == WEFT_OK)
		r = send(k, key, &p, each || changed, &res, err);
	buf_done(&p.bytes);
	if (r < 0 || (k->piped && !res))
		return r;
	status = PQresultStatus(res);
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		return pg_fail(k, res, err);
	if (changed)
		*changed = strtoull(PQcmdTuples(res), NULL, 10);
	return take_rows(res, each, ctx, err);
}

int pg_run(struct sql_conn *c, uint32_t key, const struct sql_rows *in,
	   sql_each *each, void *ctx, uint64_t *changed, struct weft_error *err)
{
	struct pg_conn *k = pg_conn_of(c);
	uint64_t busy_ms = k->patient ? c->store->store.limits.busy_ms : 0;
	int64_t end = clock_mono_us() + (int64_t)busy_ms * 1000;
	int r;

	if (k->in_transaction)
		return run_once(k, key, in, each, ctx, changed, err);
	/* A connection may have died while nobody looked. */
	for (bool again = false;; again = true) {
		r = pg_mend(k, err);
		if (r == WEFT_OK)
			r = run_once(k, key, in, each, ctx, changed, err);
		if (r == WEFT_OK || !k->broken ||
		    (again && clock_mono_us() >= end))
			return r;
		if (again)
			pg_pause();
	}
}

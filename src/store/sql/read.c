/* read.c - what a connection reads: records, names, marks, operation ids. */
#include "base/error.h"
#include "base/id.h"
#include "store/sql/columns.h"
#include "store/sql/sql.h"

int sql_fail_row(const char *table, struct weft_error *err)
{
	return fail(err, WEFT_CORRUPT, "a row of %s makes no sense", table);
}

/* One column of parameters: an id for each row. */
static int id_rows(const struct weft_id *ids, size_t n, struct arena *a,
		   struct sql_rows *ret, struct weft_error *err)
{
	struct sql_value *v = ARENA_ARRAY(a, struct sql_value, n);

	if (!v)
		return arena_error(a, err);
	for (size_t i = 0; i < n; i++)
		v[i] = sql_id(&ids[i]);
	*ret = (struct sql_rows){ v, n, 1 };
	return WEFT_OK;
}

/* ---- records ---- */

/* Rows mostly come in the order asked for: `at` is where to look first. */
struct records {
	const struct weft_id *ids;
	size_t n, at;
	struct arena *arena;
	struct session_rec *out; /* or, with their stamps, */
	struct sql_record *locked;
};

static struct session_rec *place_of(const struct records *q, size_t i)
{
	return q->locked ? &q->locked[i].rec : &q->out[i];
}

static int decode_record(const struct sql_value *row, struct session_rec *ret,
			 struct weft_error *err)
{
	*ret = (struct session_rec){ 0 };
	for (size_t i = 0; i < record_n_fields; i++) {
		if (!sql_to_field(ret, &record_fields[i], &row[i]))
			return sql_fail_row("sessions", err);
	}
	return WEFT_OK;
}

static int take_record(void *ctx, const struct sql_value *row,
		       struct weft_error *err)
{
	struct records *q = ctx;
	struct session_rec rec;
	int r = decode_record(row, &rec, err);

	/* Who was asked for twice comes twice. */
	for (size_t k = 0; k < q->n && r == WEFT_OK; k++) {
		size_t i = (q->at + k) % q->n;

		if (!id_eq(&q->ids[i], &rec.id) ||
		    !id_is_zero(&place_of(q, i)->id))
			continue;
		q->at = i + 1;
		if (q->locked)
			q->locked[i].stamp = row[record_n_fields].n;
		return record_copy(place_of(q, i), &rec, q->arena, err);
	}
	return r;
}

static int get_records(struct sql_conn *c, uint32_t key, struct records *q,
		       struct weft_error *err)
{
	struct sql_rows rows;
	int r = id_rows(q->ids, q->n, q->arena, &rows, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < q->n; i++)
		*place_of(q, i) = (struct session_rec){ 0 };
	return q->n == 0 ? WEFT_OK :
			   sql_run(c, key, &rows, take_record, q, err);
}

int sql_get_sessions(struct sql_conn *c, uint32_t key,
		     const struct weft_id *ids, size_t n, struct arena *a,
		     struct session_rec *out, struct weft_error *err)
{
	struct records q = { .ids = ids, .n = n, .arena = a, .out = out };

	return get_records(c, key, &q, err);
}

int sql_lock_sessions(struct sql_conn *c, uint32_t key,
		      const struct weft_id *ids, size_t n, struct arena *a,
		      struct sql_record *out, struct weft_error *err)
{
	struct records q = { .ids = ids, .n = n, .arena = a, .locked = out };

	return get_records(c, key, &q, err);
}

/* ---- names ---- */

static int decode_name(const struct sql_value *row, struct name_rec *ret,
		       struct weft_error *err)
{
	*ret = (struct name_rec){ .name = row[0].s,
				  .ver = (uint64_t)row[2].n,
				  .kind = (uint64_t)row[3].n };
	if (row[0].kind == SQL_NULL || row[0].kind == SQL_INT ||
	    !sql_to_id(&row[1], &ret->session))
		return sql_fail_row("names", err);
	return WEFT_OK;
}

struct names {
	const struct weft_str *wanted;
	size_t n, at;
	struct name_rec *out;
};

static int take_name(void *ctx, const struct sql_value *row,
		     struct weft_error *err)
{
	struct names *q = ctx;
	struct name_rec found;
	int r = decode_name(row, &found, err);

	for (size_t k = 0; k < q->n && r == WEFT_OK; k++) {
		size_t i = (q->at + k) % q->n;

		if (q->out[i].ver > 0 || !str_eq(q->wanted[i], found.name))
			continue;
		q->at = i + 1;
		found.name = q->out[i].name;
		q->out[i] = found;
		break;
	}
	return r;
}

int sql_get_names(struct sql_conn *c, const struct weft_str *names, size_t n,
		  struct arena *a, struct name_rec *out, struct weft_error *err)
{
	struct sql_value *v = ARENA_ARRAY(a, struct sql_value, n);
	struct names q = { names, n, 0, out };

	if (!v)
		return arena_error(a, err);
	for (size_t i = 0; i < n; i++) {
		v[i] = sql_text(names[i]);
		out[i] = (struct name_rec){ .name = arena_str(a, names[i]) };
		if (!out[i].name.ptr)
			return arena_error(a, err);
	}
	if (n == 0)
		return WEFT_OK;
	return sql_run(c, Q_GET_NAMES, &(struct sql_rows){ v, n, 1 }, take_name,
		       &q, err);
}

/* Results of unknown number, in the arena of the caller. */
struct list {
	struct arena *arena;
	char *v;
	size_t n, room, bytes; /* of each */
};

static void *list_add(struct list *l)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 8;
		char *v = arena_zero(l->arena, room, l->bytes);

		if (!v)
			return NULL;
		if (l->n > 0)
			memcpy(v, l->v, l->n * l->bytes);
		l->v = v;
		l->room = room;
	}
	return l->v + l->bytes * l->n++;
}

/* Of several sessions: a list for each. */
struct names_of {
	const struct weft_id *ids;
	size_t n, at; /* the session of the last row */
	struct list *lists;
};

static int add_name(void *ctx, const struct sql_value *row,
		    struct weft_error *err)
{
	struct names_of *q = ctx;
	struct name_rec found, *to;
	size_t tried = 0;
	int r = decode_name(row, &found, err);

	if (r < 0)
		return r;
	while (tried < q->n && !id_eq(&q->ids[q->at], &found.session)) {
		q->at = (q->at + 1) % q->n;
		tried++;
	}
	if (tried == q->n)
		return sql_fail_row("names", err);
	found.name = arena_str(q->lists[q->at].arena, found.name);
	to = list_add(&q->lists[q->at]);
	if (!to || !found.name.ptr)
		return arena_error(q->lists[q->at].arena, err);
	*to = found;
	return WEFT_OK;
}

int sql_get_names_of(struct sql_conn *c, const struct weft_id *ids, size_t n,
		     struct arena *a, struct session_names *out,
		     struct weft_error *err)
{
	struct names_of q = { ids, n, 0, ARENA_ARRAY(a, struct list, n) };
	struct sql_rows rows;
	int r = id_rows(ids, n, a, &rows, err);

	if (r < 0 || !q.lists)
		return r < 0 ? r : arena_error(a, err);
	for (size_t i = 0; i < n; i++)
		q.lists[i] =
			(struct list){ .arena = a, .bytes = sizeof(*out->v) };
	if (n > 0)
		r = sql_run(c, Q_NAMES_OF, &rows, add_name, &q, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		out[i] = (struct session_names){
			(struct name_rec *)(void *)q.lists[i].v, q.lists[i].n
		};
	return r;
}

static int add_child(void *ctx, const struct sql_value *row,
		     struct weft_error *err)
{
	struct list *l = ctx;
	struct session_rec *to = list_add(l), rec;
	int r = to ? decode_record(row, &rec, err) : arena_error(l->arena, err);

	return r < 0 ? r : record_copy(to, &rec, l->arena, err);
}

int sql_get_children(struct sql_conn *c, const struct weft_id *id,
		     struct arena *a, struct session_rec **ret, size_t *ret_n,
		     struct weft_error *err)
{
	struct list l = { .arena = a, .bytes = sizeof(**ret) };
	int r = sql_run(c, Q_CHILDREN, SQL_ROW(sql_id(id)), add_child, &l, err);

	if (r < 0)
		return r;
	*ret = (struct session_rec *)(void *)l.v;
	*ret_n = l.n;
	return WEFT_OK;
}

/* ---- numbers, marks, operation ids ---- */

struct number {
	int64_t n;
	bool found;
};

static int take_number(void *ctx, const struct sql_value *row,
		       struct weft_error *err)
{
	(void)err;
	*(struct number *)ctx = (struct number){ row[0].n, true };
	return SQL_ENOUGH;
}

int sql_number(struct sql_conn *c, uint32_t key, const struct sql_rows *in,
	       int64_t *ret, struct weft_error *err)
{
	struct number n = { 0, false };
	int r = sql_run(c, key, in, take_number, &n, err);

	if (r == WEFT_OK)
		*ret = n.n;
	return r;
}

int sql_is_hidden(struct sql_conn *c, const struct weft_id *session,
		  uint64_t seq, uint32_t *ret, struct weft_error *err)
{
	int64_t hidden = 0;
	int r = sql_number(c, Q_IS_HIDDEN,
			   SQL_ROW(sql_id(session), sql_u64(seq)), &hidden,
			   err);

	if (r == WEFT_OK)
		*ret = hidden != 0;
	return r;
}

static int add_number(void *ctx, const struct sql_value *row,
		      struct weft_error *err)
{
	struct list *l = ctx;
	uint64_t *to = list_add(l);

	if (!to)
		return arena_error(l->arena, err);
	*to = (uint64_t)row[0].n;
	return WEFT_OK;
}

int sql_get_hidden(struct sql_conn *c, const struct weft_id *session,
		   uint64_t first, uint64_t last, struct arena *a,
		   uint64_t **ret, size_t *ret_n, struct weft_error *err)
{
	struct list l = { .arena = a, .bytes = sizeof(**ret) };
	int r = sql_run(c, Q_HIDDEN,
			SQL_ROW(sql_id(session), sql_u64(first), sql_u64(last)),
			add_number, &l, err);

	if (r < 0)
		return r;
	*ret = (uint64_t *)(void *)l.v;
	*ret_n = l.n;
	return WEFT_OK;
}

static int take_hit(void *ctx, const struct sql_value *row,
		    struct weft_error *err)
{
	struct op_hit *hit = ctx;

	if (!sql_to_id(&row[0], &hit->session))
		return sql_fail_row("events", err);
	hit->seq = (uint64_t)row[1].n;
	return SQL_ENOUGH;
}

int sql_find_op(struct sql_conn *c, const struct weft_id *session,
		struct weft_str op, struct op_hit *ret, struct weft_error *err)
{
	struct op_hit hit = { .seq = 0 };
	int r;

	if (session)
		r = sql_run(c, Q_FIND_OP,
			    SQL_ROW(sql_id(session), sql_text(op)), take_hit,
			    &hit, err);
	else
		r = sql_run(c, Q_FIND_CREATION, SQL_ROW(sql_text(op)), take_hit,
			    &hit, err);
	if (r < 0)
		return r;
	if (hit.seq == 0)
		return fail(err, WEFT_NOT_FOUND, "operation id not used yet");
	*ret = hit;
	return WEFT_OK;
}

/* ---- the slots that read ---- */

int sql_store_get_sessions(struct store *s, const struct weft_id *ids, size_t n,
			   struct arena *a, struct session_rec *out,
			   struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	int r = sql_reader(sql_of(s), &c, err);

	return r < 0 ? r :
		       sql_get_sessions(c, Q_GET_SESSIONS, ids, n, a, out, err);
}

int sql_store_get_names(struct store *s, const struct weft_str *names, size_t n,
			struct arena *a, struct name_rec *out,
			struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	int r = sql_reader(sql_of(s), &c, err);

	return r < 0 ? r : sql_get_names(c, names, n, a, out, err);
}

int sql_store_get_names_of(struct store *s, const struct weft_id *ids, size_t n,
			   struct arena *a, struct session_names *out,
			   struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	int r = sql_reader(sql_of(s), &c, err);

	return r < 0 ? r : sql_get_names_of(c, ids, n, a, out, err);
}

int sql_store_get_hidden(struct store *s, const struct weft_id *session,
			 uint64_t first, uint64_t last, struct arena *a,
			 uint64_t **ret, size_t *ret_n, struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	int r = sql_reader(sql_of(s), &c, err);

	return r < 0 ? r :
		       sql_get_hidden(c, session, first, last, a, ret, ret_n,
				      err);
}

static int add_id(void *ctx, const struct sql_value *row,
		  struct weft_error *err)
{
	struct list *l = ctx;
	struct weft_id *to = list_add(l);

	if (!to)
		return arena_error(l->arena, err);
	return sql_to_id(&row[0], to) ? WEFT_OK : sql_fail_row("sessions", err);
}

int sql_store_find_tag(struct store *s, uint64_t tag, struct arena *a,
		       struct weft_id **ret, size_t *ret_n,
		       struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	struct list l = { .arena = a, .bytes = sizeof(**ret) };
	int r = sql_reader(sql_of(s), &c, err);

	if (r == WEFT_OK)
		r = sql_run(c, Q_FIND_TAG, SQL_ROW(sql_u64(tag)), add_id, &l,
			    err);
	if (r < 0)
		return r;
	*ret = (struct weft_id *)(void *)l.v;
	*ret_n = l.n;
	return WEFT_OK;
}

int sql_store_where(struct store *s, const struct weft_id *session,
		    struct arena *a, struct weft_str *ret,
		    struct weft_error *err)
{
	int r = sql_check(sql_of(s), err);

	(void)session;
	(void)a;
	/* No session has a file of its own. */
	if (r == WEFT_OK)
		*ret = STR("");
	return r;
}

/*
 * apply.c - from the ops of a plan to rows.
 *
 * A statement may touch a row once only, so that all rows of a kind can go in
 * one statement; what several ops do to the same thing is put together first.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "store/match.h"
#include "store/sql/columns.h"
#include "store/sql/sql.h"

/* All that happens to one session. */
struct touched {
	struct table_node node;
	struct weft_id id;
	const struct session_rec *rec; /* the last one, or NULL */
	struct totals add, take;       /* what was added, taken after it */
	bool added;
	uint64_t head; /* its last event, while events are checked */
	bool head_known;
};

/* A list of pointers that grows in an arena. */
struct pointers {
	const void **v;
	size_t n, room;
};

struct batch {
	struct sql_conn *c;
	struct sql_view *view;
	struct arena *arena;
	struct table table; /* struct touched */
	struct pointers sessions, events, names, hides, rewrites;
	struct pointers blobs, refs; /* what is referred to, and by whom */
	struct weft_error *err;
};

static bool push(struct batch *b, struct pointers *p, const void *what)
{
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		const void **v = ARENA_ARRAY(b->arena, const void *, room);

		if (!v)
			return false;
		if (p->n > 0)
			memcpy((void *)v, (const void *)p->v,
			       p->n * sizeof(*v));
		p->v = v;
		p->room = room;
	}
	p->v[p->n++] = what;
	return true;
}

static struct touched *touch(struct batch *b, const struct weft_id *id)
{
	uint64_t hash = id_hash(id);
	struct table_node *n = table_first(&b->table, hash);
	struct touched *t;

	for (; n; n = table_next(n)) {
		t = TABLE_ENTRY(n, struct touched, node);
		if (id_eq(&t->id, id))
			return t;
	}
	t = ARENA_NEW(b->arena, struct touched);
	if (!t || !push(b, &b->sessions, t))
		return NULL;
	t->id = *id;
	return table_add(&b->table, &t->node, hash) < 0 ? NULL : t;
}

/* ---- putting together ---- */

/* Is `k` still what the list has for its name? */
static bool take_name(struct batch *b, const struct name_rec *name)
{
	for (size_t i = 0; i < b->names.n; i++) {
		const struct name_rec *other = b->names.v[i];

		if (!str_eq(other->name, name->name))
			continue;
		if (match_name_wins(name, other))
			b->names.v[i] = name;
		return true;
	}
	return push(b, &b->names, name);
}

static bool take_hide(struct batch *b, const struct store_op *op)
{
	for (size_t i = 0; i < b->hides.n; i++) {
		const struct store_op *other = b->hides.v[i];

		if (!id_eq(&other->session, &op->session) ||
		    other->u.hide->target != op->u.hide->target)
			continue;
		if (op->u.hide->by >= other->u.hide->by)
			b->hides.v[i] = op;
		return true;
	}
	return push(b, &b->hides, op);
}

static bool take_blob(struct batch *b, const struct store_op *op)
{
	const struct blob_ref *ref = op->u.blob;
	bool known = false;

	for (size_t i = 0; i < b->refs.n; i++) {
		const struct store_op *other = b->refs.v[i];

		if (memcmp(other->u.blob->sha256, ref->sha256, SHA256_BYTES) !=
		    0)
			continue;
		known = true;
		if (id_eq(&other->session, &op->session))
			return true;
	}
	return (known || push(b, &b->blobs, ref)) && push(b, &b->refs, op);
}

static bool take_op(struct batch *b, const struct store_op *op)
{
	struct touched *t = NULL;

	if (op->kind == OP_EVENT || op->kind == OP_SESSION ||
	    op->kind == OP_ADD || op->kind == OP_TAKE) {
		t = touch(b, &op->session);
		if (!t)
			return false;
	}
	switch ((enum store_op_kind)op->kind) {
	case OP_EVENT:
		return push(b, &b->events, op->u.event);
	case OP_SESSION:
		t->rec = op->u.rec;
		t->add = t->take = (struct totals){ 0 };
		t->added = false;
		return true;
	case OP_ADD:
		totals_add(&t->add, op->u.add);
		t->added = true;
		return true;
	case OP_TAKE:
		totals_add(&t->take, op->u.add);
		t->added = true;
		return true;
	case OP_REWRITE:
	case OP_DROP:
	case OP_UNNAME:
		return push(b, &b->rewrites, op);
	case OP_NAME:
		return take_name(b, op->u.name);
	case OP_HIDE:
		return take_hide(b, op);
	case OP_BLOB:
		return take_blob(b, op);
	}
	return true;
}

/* ---- events ---- */

static int take_head(void *ctx, const struct sql_value *row,
		     struct weft_error *err)
{
	struct batch *b = ctx;
	struct weft_id id;
	struct touched *t;

	if (!sql_to_id(&row[0], &id))
		return sql_fail_row("events", err);
	t = touch(b, &id);
	if (!t)
		return arena_error(b->arena, err);
	t->head = row[1].kind == SQL_INT ? (uint64_t)row[1].n : 0;
	return WEFT_OK;
}

/* What the last events are: known from the records, or asked for. */
static int find_heads(struct batch *b)
{
	struct sql_value *v =
		ARENA_ARRAY(b->arena, struct sql_value, b->events.n);
	size_t n = 0;

	if (!v)
		return arena_error(b->arena, b->err);
	for (size_t i = 0; i < b->events.n; i++) {
		const struct store_event *e = b->events.v[i];
		struct touched *t = touch(b, &e->session);
		const struct sql_known *k =
			sql_view_known(b->view, &e->session);

		if (!t)
			return arena_error(b->arena, b->err);
		if (t->head_known)
			continue;
		t->head_known = true;
		if (k && k->rec)
			t->head = k->rec->head_seq;
		else
			v[n++] = sql_id(&t->id);
	}
	if (n == 0)
		return WEFT_OK;
	return sql_run(b->c, Q_HEADS, &(struct sql_rows){ v, n, 1 }, take_head,
		       b, b->err);
}

static int check_numbers(struct batch *b)
{
	int r = find_heads(b);

	for (size_t i = 0; i < b->events.n && r == WEFT_OK; i++) {
		const struct store_event *e = b->events.v[i];
		struct touched *t = touch(b, &e->session);

		if (e->seq == 0 || (t->head > 0 && e->seq != t->head + 1))
			return fail(b->err, WEFT_INVALID,
				    "event %llu of a session whose last is "
				    "%llu",
				    (unsigned long long)e->seq,
				    (unsigned long long)t->head);
		t->head = e->last;
	}
	return r;
}

#define EVENT_WIDTH 16

static void event_row(const struct store_event *e, struct sql_value *v)
{
	size_t at = e->body.len ? (size_t)(e->body.ptr - e->bytes.ptr) : 0;

	*v++ = sql_id(&e->session);
	*v++ = sql_u64(e->seq);
	*v++ = sql_u64(e->last);
	*v++ = sql_id(&e->id);
	*v++ = sql_int(e->ts_ms);
	*v++ = sql_int(e->at_ms);
	*v++ = sql_u64(e->marker);
	*v++ = sql_u64(e->said);
	*v++ = sql_int(e->type);
	*v++ = sql_int(e->state);
	*v++ = sql_int(e->more);
	*v++ = sql_int(e->background);
	*v++ = sql_text(e->op);
	*v++ = sql_u64(at);
	*v++ = sql_u64(e->body.len);
	*v++ = sql_text(e->bytes);
}

int sql_put_events(struct sql_conn *c, const struct store_event *const *v,
		   size_t n, struct arena *a, struct weft_error *err)
{
	struct sql_value *rows =
		ARENA_ARRAY(a, struct sql_value, n * EVENT_WIDTH);

	if (n == 0)
		return WEFT_OK;
	if (!rows)
		return arena_error(a, err);
	for (size_t i = 0; i < n; i++)
		event_row(v[i], rows + i * EVENT_WIDTH);
	return sql_run(c, Q_PUT_EVENTS,
		       &(struct sql_rows){ rows, n, EVENT_WIDTH }, NULL, NULL,
		       err);
}

static int put_events(struct batch *b)
{
	int r = b->events.n ? check_numbers(b) : WEFT_OK;

	return r < 0 ? r :
		       sql_put_events(
			       b->c,
			       (const struct store_event *const *)b->events.v,
			       b->events.n, b->arena, b->err);
}

/* ---- rewriting ---- */

/* One range after the other leaves; what takes their places comes at once. */
static int rewrite(struct batch *b)
{
	const struct store_event **v = ARENA_ARRAY(
		b->arena, const struct store_event *, b->rewrites.n);
	struct sql_conn *c = b->c;
	size_t n = 0;
	int r = WEFT_OK;

	if (b->rewrites.n && !v)
		return arena_error(b->arena, b->err);
	for (size_t i = 0; i < b->rewrites.n && r == WEFT_OK; i++) {
		const struct store_op *op = b->rewrites.v[i];

		if (op->kind != OP_REWRITE)
			continue;
		v[n++] = op->u.rewrite->with;
		r = sql_run(c, Q_DROP_EVENTS,
			    SQL_ROW(sql_id(&op->session),
				    sql_u64(op->u.rewrite->first),
				    sql_u64(op->u.rewrite->last)),
			    NULL, NULL, b->err);
		if (r == WEFT_OK)
			r = sql_run(c, Q_CLEAR_REFS_OF,
				    SQL_ROW(sql_id(&op->session)), NULL, NULL,
				    b->err);
	}
	return r < 0 ? r : sql_put_events(c, v, n, b->arena, b->err);
}

static int drop(struct batch *b, const struct weft_id *id)
{
	int r = sql_run(b->c, Q_DROP_EVENTS,
			SQL_ROW(sql_id(id), sql_u64(0), sql_u64(UINT64_MAX)),
			NULL, NULL, b->err);

	if (r == WEFT_OK)
		r = sql_run(b->c, Q_DROP_SESSION, SQL_ROW(sql_id(id)), NULL,
			    NULL, b->err);
	if (r == WEFT_OK)
		r = sql_run(b->c, Q_DROP_HIDDEN, SQL_ROW(sql_id(id)), NULL,
			    NULL, b->err);
	if (r == WEFT_OK)
		r = sql_run(b->c, Q_CLEAR_REFS_OF, SQL_ROW(sql_id(id)), NULL,
			    NULL, b->err);
	return r;
}

/* The words of what goes have to go, too; that follows, by whoever does it. */
static int doom_words(struct batch *b)
{
	const struct weft_id *last = NULL;
	int r = WEFT_OK;

	for (size_t i = 0; i < b->rewrites.n && r == WEFT_OK; i++) {
		const struct store_op *op = b->rewrites.v[i];

		if (op->kind == OP_UNNAME ||
		    (last && id_eq(last, &op->session)))
			continue;
		last = &op->session;
		r = sql_run(b->c, Q_DOOM, SQL_ROW(sql_id(last)), NULL, NULL,
			    b->err);
	}
	return r;
}

static int put_rewrites(struct batch *b)
{
	int r = rewrite(b);

	if (r == WEFT_OK)
		r = doom_words(b);

	for (size_t i = 0; i < b->rewrites.n && r == WEFT_OK; i++) {
		const struct store_op *op = b->rewrites.v[i];

		if (op->kind == OP_DROP)
			r = drop(b, &op->session);
		else if (op->kind == OP_UNNAME)
			r = sql_run(b->c, Q_DROP_NAME,
				    SQL_ROW(sql_text(*op->u.unname)), NULL,
				    NULL, b->err);
	}
	return r;
}

/* ---- records ---- */

static int record_row(const struct session_rec *rec, struct sql_value *v,
		      struct arena *a, struct weft_error *err)
{
	struct weft_str fold;
	int r = match_text(rec, a, &fold, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < record_n_fields; i++)
		*v++ = sql_of_field(rec, &record_fields[i]);
	*v++ = sql_u64(id_session_tag(&rec->id));
	*v = sql_bytes(fold.ptr, fold.len);
	return WEFT_OK;
}

int sql_put_records(struct sql_conn *c, const struct session_rec *const *recs,
		    size_t n, bool grown, struct arena *a,
		    struct weft_error *err)
{
	const size_t width = record_n_fields + 2;
	struct sql_value *v = ARENA_ARRAY(a, struct sql_value, n * width);
	struct sql_rows rows = { v, n, width };
	uint64_t changed = 0;
	int r = WEFT_OK;

	if (!v)
		return arena_error(a, err);
	if (n == 0)
		return WEFT_OK;
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = record_row(recs[i], v + i * width, a, err);
	/* Where indexes are written again only if they change, one way does. */
	if (r == WEFT_OK && grown && !c->store->driver->shared)
		r = c->store->driver->run(c, Q_PUT_GROWN, &rows, NULL, NULL,
					  &changed, err);
	if (r == WEFT_OK && changed < n)
		r = sql_run(c, Q_PUT_SESSIONS, &rows, NULL, NULL, err);
	return r;
}

/* Of sessions to which messages were added, and nothing else. */
static int put_hot(struct batch *b, const struct session_rec *const *recs,
		   size_t n)
{
	struct sql_value *v = ARENA_ARRAY(b->arena, struct sql_value,
					  n * (RECORD_COLUMNS_MAX + 2));
	struct sql_value *p = v;

	if (!v)
		return arena_error(b->arena, b->err);
	if (n == 0)
		return WEFT_OK;
	for (size_t i = 0; i < n; i++) {
		const struct sql_known *known =
			sql_view_known(b->view, &recs[i]->id);

		*p++ = sql_id(&recs[i]->id);
		for (size_t k = 0; k < record_n_fields; k++) {
			if (sql_is_hot(&record_fields[k]))
				*p++ = sql_of_field(recs[i], &record_fields[k]);
		}
		*p++ = sql_int(known->stamp);
		*p++ = sql_int(known->rec->last_interaction_at);
	}
	return sql_run(b->c, Q_PUT_HOT,
		       &(struct sql_rows){ v, n, (size_t)(p - v) / n }, NULL,
		       NULL, b->err);
}

static int put_records(struct batch *b)
{
	size_t room = b->sessions.n, n_hot = 0, n_grown = 0, n_new = 0;
	const struct session_rec **hot =
		ARENA_ARRAY(b->arena, const struct session_rec *, room);
	const struct session_rec **grown =
		ARENA_ARRAY(b->arena, const struct session_rec *, room);
	const struct session_rec **fresh =
		ARENA_ARRAY(b->arena, const struct session_rec *, room);
	int r;

	if (!hot || !grown || !fresh)
		return arena_error(b->arena, b->err);
	for (size_t i = 0; i < b->sessions.n; i++) {
		const struct touched *t = b->sessions.v[i];
		const struct sql_known *k = sql_view_known(b->view, &t->id);

		if (t->rec && k && k->rec)
			*(sql_only_hot_changed(k->rec, t->rec) ?
				  &hot[n_hot++] :
				  &grown[n_grown++]) = t->rec;
		else if (t->rec)
			fresh[n_new++] = t->rec;
	}
	/* What is put as hot is compared by that. */
	r = n_hot < sql_view_assumed(b->view) ? sql_view_lock(b->view, b->err) :
						WEFT_OK;
	if (r == WEFT_OK)
		r = put_hot(b, hot, n_hot);
	if (r == WEFT_OK)
		r = sql_put_records(b->c, grown, n_grown, true, b->arena,
				    b->err);
	if (r == WEFT_OK)
		r = sql_put_records(b->c, fresh, n_new, false, b->arena,
				    b->err);
	return r;
}

#define ADD_WIDTH 7

static struct sql_value difference(uint64_t add, uint64_t take)
{
	return sql_int((int64_t)add - (int64_t)take);
}

static int put_additions(struct batch *b)
{
	struct sql_value *v = ARENA_ARRAY(b->arena, struct sql_value,
					  b->sessions.n * ADD_WIDTH);
	struct sql_value *p = v;
	size_t n = 0;

	if (!v)
		return arena_error(b->arena, b->err);
	for (size_t i = 0; i < b->sessions.n; i++) {
		const struct touched *t = b->sessions.v[i];

		if (!t->added)
			continue;
		*p++ = sql_id(&t->id);
		*p++ = difference(t->add.input_tokens, t->take.input_tokens);
		*p++ = difference(t->add.output_tokens, t->take.output_tokens);
		*p++ = difference(t->add.cache_read_tokens,
				  t->take.cache_read_tokens);
		*p++ = difference(t->add.cache_write_tokens,
				  t->take.cache_write_tokens);
		*p++ = difference(t->add.cost_nano, t->take.cost_nano);
		*p++ = difference(t->add.unpriced, t->take.unpriced);
		n++;
	}
	return n == 0 ? WEFT_OK :
			sql_run(b->c, Q_ADD,
				&(struct sql_rows){ v, n, ADD_WIDTH }, NULL,
				NULL, b->err);
}

/* ---- the rest ---- */

static int put_names(struct batch *b)
{
	size_t n = b->names.n;
	struct sql_value *v = ARENA_ARRAY(b->arena, struct sql_value, n * 4);
	struct sql_value *p = v;

	if (!v)
		return arena_error(b->arena, b->err);
	for (size_t i = 0; i < n; i++) {
		const struct name_rec *name = b->names.v[i];

		*p++ = sql_text(name->name);
		*p++ = sql_id(&name->session);
		*p++ = sql_u64(name->ver);
		*p++ = sql_u64(name->kind);
	}
	return n == 0 ?
		       WEFT_OK :
		       sql_run(b->c, Q_PUT_NAMES, &(struct sql_rows){ v, n, 4 },
			       NULL, NULL, b->err);
}

static int put_hides(struct batch *b)
{
	size_t n = b->hides.n;
	struct sql_value *v = ARENA_ARRAY(b->arena, struct sql_value, n * 4);
	struct sql_value *p = v;

	if (!v)
		return arena_error(b->arena, b->err);
	for (size_t i = 0; i < n; i++) {
		const struct store_op *op = b->hides.v[i];

		*p++ = sql_id(&op->session);
		*p++ = sql_u64(op->u.hide->target);
		*p++ = sql_int(op->u.hide->hidden != 0);
		*p++ = sql_u64(op->u.hide->by);
	}
	return n == 0 ? WEFT_OK :
			sql_run(b->c, Q_PUT_HIDDEN,
				&(struct sql_rows){ v, n, 4 }, NULL, NULL,
				b->err);
}

/* Which of them it is that is not there. */
static int name_missing_blob(struct batch *b)
{
	for (size_t i = 0; i < b->blobs.n; i++) {
		const struct blob_ref *ref = b->blobs.v[i];
		int64_t found = 0;
		int r = sql_number(
			b->c, Q_HAS_BLOB,
			SQL_ROW(sql_bytes(ref->sha256, SHA256_BYTES)), &found,
			b->err);

		if (r < 0)
			return r;
		if (!found)
			return sql_no_such_blob(ref, b->err);
	}
	return WEFT_OK;
}

static int use_blobs(struct batch *b)
{
	int64_t now = clock_now_ms(&b->c->store->clock);
	size_t n = b->blobs.n;
	struct sql_value *v = ARENA_ARRAY(b->arena, struct sql_value, 2 * n);
	uint64_t changed = 0;
	int r;

	if (!v)
		return arena_error(b->arena, b->err);
	if (n == 0)
		return WEFT_OK;
	for (size_t i = 0; i < n; i++) {
		v[2 * i] = sql_bytes(
			((const struct blob_ref *)b->blobs.v[i])->sha256,
			SHA256_BYTES);
		v[2 * i + 1] = sql_int(now);
	}
	r = b->c->store->driver->run(b->c, Q_USE_BLOBS,
				     &(struct sql_rows){ v, n, 2 }, NULL, NULL,
				     &changed, b->err);
	return r == WEFT_OK && changed < n ? name_missing_blob(b) : r;
}

static int put_refs(struct batch *b)
{
	size_t n = b->refs.n;
	struct sql_value *v = ARENA_ARRAY(b->arena, struct sql_value, 2 * n);

	if (!v)
		return arena_error(b->arena, b->err);
	for (size_t i = 0; i < n; i++) {
		const struct store_op *op = b->refs.v[i];

		v[2 * i] = sql_id(&op->session);
		v[2 * i + 1] = sql_bytes(op->u.blob->sha256, SHA256_BYTES);
	}
	return n == 0 ? WEFT_OK :
			sql_run(b->c, Q_PUT_REFS, &(struct sql_rows){ v, n, 2 },
				NULL, NULL, b->err);
}

/* Rows are locked in the order of their ids, by whoever writes. */
static int by_id(const void *a, const void *b)
{
	return id_cmp(&(*(const struct touched *const *)a)->id,
		      &(*(const struct touched *const *)b)->id);
}

static int put_all(struct batch *b)
{
	int r = b->rewrites.n ? put_rewrites(b) : WEFT_OK;

	/* Records first: they are what others wait for. */
	SORT(b->sessions.v, b->sessions.n, by_id);
	if (r == WEFT_OK)
		r = put_records(b);
	if (r == WEFT_OK)
		r = put_additions(b);
	/* What a rewrite leaves was there before, and is not fetched again. */
	if (r == WEFT_OK && b->rewrites.n == 0)
		r = use_blobs(b);
	if (r == WEFT_OK)
		r = put_refs(b);
	if (r == WEFT_OK)
		r = put_events(b);
	if (r == WEFT_OK)
		r = put_names(b);
	if (r == WEFT_OK)
		r = put_hides(b);
	return r;
}

/* What is known of the records after this. */
static int list_written(struct batch *b, struct sql_written *ret)
{
	*ret = (struct sql_written){ .all = b->rewrites.n > 0 };
	if (!b->sessions.v)
		return WEFT_OK;
	ret->n = b->sessions.n;
	ret->v = arena_zero(b->arena, ret->n, sizeof(*ret->v));
	if (!ret->v)
		return arena_error(b->arena, b->err);
	for (size_t i = 0; i < ret->n; i++) {
		const struct touched *t = b->sessions.v[i];

		ret->v[i].id = t->id;
		ret->v[i].rec = t->added ? NULL : t->rec;
	}
	return WEFT_OK;
}

int sql_apply(struct sql_conn *c, struct sql_view *v, const struct op_list *ops,
	      struct sql_written *ret, struct weft_error *err)
{
	struct batch b = { .c = c, .view = v, .arena = ops->arena, .err = err };
	int r = WEFT_OK;

	for (size_t i = 0; i < ops->n && r == WEFT_OK; i++) {
		if (!take_op(&b, &ops->v[i]))
			r = b.arena->failed ? arena_error(b.arena, err) :
					      fail_no_memory(err);
	}
	if (r == WEFT_OK)
		r = put_all(&b);
	if (r == WEFT_OK)
		r = list_written(&b, ret);
	table_done(&b.table);
	return r;
}

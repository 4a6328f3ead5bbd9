/* write.c - a write: the transaction, and what a planner sees in it. */
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "store/sql/sql.h"

/* What a planner looks at, and what it has been told. */
struct sql_view {
	struct store_view view; /* first */
	struct sql_conn *c;
	struct arena *arena;
	struct table sessions; /* struct sql_known */
	struct table names;    /* struct known_name */
};

struct known_name {
	struct table_node node;
	struct name_rec rec;
};

static struct sql_view *view_of(struct store_view *v)
{
	return (struct sql_view *)(void *)v;
}

static void view_done(struct sql_view *v)
{
	table_done(&v->sessions);
	table_done(&v->names);
}

/* ---- what is known ---- */

const struct sql_known *sql_view_known(const struct sql_view *v,
				       const struct weft_id *id)
{
	struct table_node *n = table_first(&v->sessions, id_hash(id));

	for (; n; n = table_next(n)) {
		const struct sql_known *k =
			TABLE_ENTRY(n, struct sql_known, node);

		if (id_eq(&k->id, id))
			return k;
	}
	return NULL;
}

static const struct known_name *known_name(const struct sql_view *v,
					   struct weft_str name)
{
	struct table_node *n =
		table_first(&v->names, hash_bytes(name.ptr, name.len));

	for (; n; n = table_next(n)) {
		const struct known_name *k =
			TABLE_ENTRY(n, struct known_name, node);

		if (str_eq(k->rec.name, name))
			return k;
	}
	return NULL;
}

/* Fetch sessions, lock them, and remember what they are. */
static int learn_sessions(struct sql_view *v, uint32_t key,
			  const struct weft_id *ids, size_t n,
			  struct weft_error *err)
{
	struct session_rec *recs = ARENA_ARRAY(v->arena, struct session_rec, n);
	struct sql_known *known = ARENA_ARRAY(v->arena, struct sql_known, n);
	int r;

	if (n == 0)
		return WEFT_OK;
	if (!recs || !known)
		return arena_error(v->arena, err);
	r = sql_get_sessions(v->c, key, ids, n, v->arena, recs, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		if (sql_view_known(v, &ids[i]))
			continue;
		known[i].id = ids[i];
		known[i].rec = id_is_zero(&recs[i].id) ? NULL : &recs[i];
		if (table_add(&v->sessions, &known[i].node, id_hash(&ids[i])) <
		    0)
			r = fail_no_memory(err);
	}
	return r;
}

static int learn_names(struct sql_view *v, const struct weft_str *names,
		       size_t n, struct weft_error *err)
{
	struct name_rec *recs = ARENA_ARRAY(v->arena, struct name_rec, n);
	struct known_name *known = ARENA_ARRAY(v->arena, struct known_name, n);
	int r;

	if (!recs || !known)
		return arena_error(v->arena, err);
	r = v->c->store->driver->lock_names(v->c, names, n, err);
	if (r == WEFT_OK)
		r = sql_get_names(v->c, names, n, v->arena, recs, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		if (known_name(v, names[i]))
			continue;
		known[i].rec = recs[i];
		if (table_add(&v->names, &known[i].node,
			      hash_bytes(names[i].ptr, names[i].len)) < 0)
			r = fail_no_memory(err);
	}
	return r;
}

/* ---- the view ---- */

static int view_get_session(struct store_view *view, const struct weft_id *id,
			    const struct session_rec **ret,
			    struct weft_error *err)
{
	struct sql_view *v = view_of(view);
	const struct sql_known *k = sql_view_known(v, id);

	if (!k) {
		int r = learn_sessions(v, Q_LOCK_SESSIONS, id, 1, err);

		if (r < 0)
			return r;
		k = sql_view_known(v, id);
	}
	if (!k->rec)
		return fail(err, WEFT_NOT_FOUND, "no such session");
	*ret = k->rec;
	return WEFT_OK;
}

static int view_get_name(struct store_view *view, struct weft_str name,
			 struct name_rec *ret, struct weft_error *err)
{
	struct sql_view *v = view_of(view);
	const struct known_name *k = known_name(v, name);

	if (!k) {
		int r = learn_names(v, &name, 1, err);

		if (r < 0)
			return r;
		k = known_name(v, name);
	}
	*ret = k->rec;
	return WEFT_OK;
}

static int view_get_names_of(struct store_view *v, const struct weft_id *id,
			     struct arena *a, struct name_rec **ret,
			     size_t *ret_n, struct weft_error *err)
{
	return sql_get_names_of(view_of(v)->c, id, a, ret, ret_n, err);
}

static int view_find_op(struct store_view *v, const struct weft_id *session,
			struct weft_str op, struct op_hit *ret,
			struct weft_error *err)
{
	struct sql_conn *c = view_of(v)->c;
	int r = WEFT_OK;

	/* Whoever creates with the same operation id waits here. */
	if (!session)
		r = c->store->driver->lock_names(c, &op, 1, err);
	return r < 0 ? r : sql_find_op(c, session, op, ret, err);
}

static int view_is_hidden(struct store_view *v, const struct weft_id *session,
			  uint64_t seq, uint32_t *ret, struct weft_error *err)
{
	return sql_is_hidden(view_of(v)->c, session, seq, ret, err);
}

static int view_read_events(struct store_view *v, const struct event_range *r,
			    struct arena *a, struct event_page *ret,
			    struct weft_error *err)
{
	return sql_read_events(view_of(v)->c, r, a, ret, err);
}

static int view_get_children(struct store_view *v, const struct weft_id *id,
			     struct arena *a, struct session_rec **ret,
			     size_t *ret_n, struct weft_error *err)
{
	return sql_get_children(view_of(v)->c, id, a, ret, ret_n, err);
}

static const struct store_view_ops view_ops = {
	.get_session = view_get_session,
	.get_name = view_get_name,
	.get_names_of = view_get_names_of,
	.find_op = view_find_op,
	.is_hidden = view_is_hidden,
	.read_events = view_read_events,
	.get_children = view_get_children,
};

/* ---- the transaction ---- */

/* A write, and whether its failure means that the store must stop. */
struct writing {
	struct sql_store *s;
	const struct store_want *want;
	store_plan *plan;
	void *ctx;
	bool ours; /* it was not the plan that failed */
};

static int plan_and_apply(struct writing *w, struct arena *a,
			  struct weft_error *err)
{
	struct sql_conn *c = w->s->write_conn;
	CLEANUP(view_done)
	struct sql_view view = { .view.ops = &view_ops, .c = c, .arena = a };
	struct op_list ops = { .arena = a };
	uint32_t lock = w->want->exclusive ? Q_OWN_SESSIONS : Q_LOCK_SESSIONS;
	int r = learn_sessions(&view, lock, w->want->sessions,
			       w->want->n_sessions, err);

	if (r == WEFT_OK)
		r = learn_sessions(&view, Q_SHARE_SESSIONS, w->want->shared,
				   w->want->n_shared, err);
	if (r == WEFT_OK && w->want->n_names > 0)
		r = learn_names(&view, w->want->names, w->want->n_names, err);
	if (r < 0)
		return r;
	w->ours = false;
	r = w->plan(w->ctx, &view.view, &ops, err);
	/* A planner refuses the one request for which it could not look; but
	 * it was the store that failed, for all of them. */
	if (c->replan)
		return fail(err, WEFT_BUSY,
			    "the store could not be looked at while planning");
	if (r == WEFT_OK && ops.failed)
		r = arena_error(a, err);
	if (r < 0)
		return r;
	w->ours = true;
	if (ops.n == 0) {
		w->s->driver->rollback(c);
		return WEFT_OK;
	}
	r = sql_apply(c, &view, &ops, err);
	if (r == WEFT_OK)
		r = w->s->driver->commit(c, err);
	if (r == WEFT_OK) {
		(void)atomic_fetch_add(&w->s->writes, 1);
		w->s->driver->committed(w->s);
	}
	return r;
}

static int try_to_write(struct writing *w, struct weft_error *err)
{
	struct sql_conn *c = w->s->write_conn;
	CLEANUP(arena_done) struct arena arena;
	int r;

	arena_init(&arena, 0);
	c->replan = false;
	w->ours = true;
	r = w->s->driver->begin(c, SQL_FOR_WRITING, err);
	if (r < 0)
		return r;
	r = plan_and_apply(w, &arena, err);
	if (r < 0)
		w->s->driver->rollback(c);
	return r;
}

/* After this nobody can say what is in the database. */
static void stop(struct sql_store *s, const struct weft_error *err)
{
	s->stopped = true;
	(void)snprintf(s->reason, sizeof(s->reason), "%.150s", err->message);
}

static int write_locked(struct writing *w, struct weft_error *err)
{
	struct sql_store *s = w->s;
	int64_t end = clock_mono_us() + (int64_t)s->store.limits.busy_ms * 1000;
	struct weft_error own = { 0 };
	int r;

	if (s->stopped)
		return fail(err, WEFT_IO, "the store has stopped: %s",
			    s->reason);
	do
		r = try_to_write(w, &own);
	while (r < 0 && s->write_conn->replan && clock_mono_us() < end);
	if (w->ours && (r == WEFT_IO || r == WEFT_UNKNOWN))
		stop(s, &own);
	if (r < 0 && err)
		*err = own;
	return r;
}

int sql_store_write(struct store *store, const struct store_want *want,
		    store_plan *plan, void *ctx, struct weft_error *err)
{
	struct sql_store *s = sql_of(store);
	struct writing w = { .s = s, .want = want, .plan = plan, .ctx = ctx };
	int r = sql_check_writable(s, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&s->writer);
	r = write_locked(&w, err);
	(void)pthread_mutex_unlock(&s->writer);
	return r;
}

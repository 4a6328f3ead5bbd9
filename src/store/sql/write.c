/* write.c - a write: the transaction, and what a planner sees in it. */
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "store/sql/columns.h"
#include "store/sql/sql.h"

/* Sessions that a planner looked at and had not named before. */
struct found {
	struct weft_id ids[64];
	size_t n;
};

/*
 * What a planner looks at, and what it has been told.
 *
 * Where others write at the same time, what is wanted is fetched and locked
 * first.  But if all of it is known (cache.c), the planner is given what is
 * known, unlocked, and what it decides is compared when it is written: the rows
 * must have the stamps that we know.  Operation ids and numbers of events hang
 * on the same stamps.  If the planner asks for anything else, or leaves alone
 * what it has seen, then the rows are locked and compared at that moment.  A row
 * with another stamp: all is done again, and fetched.
 */
struct sql_view {
	struct store_view view; /* first */
	struct sql_conn *c;
	struct arena *arena;
	struct sql_cache *cache; /* or NULL: know nothing */
	const struct store_want *want;
	struct found *found;
	bool assuming;         /* what is known is to be compared */
	size_t n_asked;        /* sessions that the planner has seen */
	struct table sessions; /* struct sql_known */
	struct table names;    /* struct known_name */
	struct table ops;      /* struct known_op */
};

struct known_name {
	struct table_node node;
	struct name_rec rec;
};

struct known_op {
	struct table_node node;
	struct weft_id scope; /* zero: creations */
	struct weft_str op;
	struct op_hit hit; /* seq 0: it was never used */
};

static struct sql_view *view_of(struct store_view *v)
{
	return (struct sql_view *)(void *)v;
}

static void view_done(struct sql_view *v)
{
	table_done(&v->sessions);
	table_done(&v->names);
	table_done(&v->ops);
}

/* ---- what is known ---- */

static struct sql_known *find_known(const struct sql_view *v,
				    const struct weft_id *id)
{
	struct table_node *n = table_first(&v->sessions, id_hash(id));

	for (; n; n = table_next(n)) {
		struct sql_known *k = TABLE_ENTRY(n, struct sql_known, node);

		if (id_eq(&k->id, id))
			return k;
	}
	return NULL;
}

const struct sql_known *sql_view_known(const struct sql_view *v,
				       const struct weft_id *id)
{
	return find_known(v, id);
}

size_t sql_view_assumed(const struct sql_view *v)
{
	return v->assuming ? v->n_asked : 0;
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

static uint64_t hash_op(const struct weft_id *scope, struct weft_str op)
{
	return id_hash(scope) * 31 + hash_bytes(op.ptr, op.len);
}

static struct known_op *known_op(const struct sql_view *v,
				 const struct weft_id *scope,
				 struct weft_str op)
{
	struct table_node *n = table_first(&v->ops, hash_op(scope, op));

	for (; n; n = table_next(n)) {
		struct known_op *k = TABLE_ENTRY(n, struct known_op, node);

		if (id_eq(&k->scope, scope) && str_eq(k->op, op))
			return k;
	}
	return NULL;
}

/* ---- sessions ---- */

static int note_session(struct sql_view *v, const struct weft_id *id,
			const struct sql_record *found, struct weft_error *err)
{
	struct sql_known *k = ARENA_NEW(v->arena, struct sql_known);

	if (!k)
		return arena_error(v->arena, err);
	k->id = *id;
	if (!id_is_zero(&found->rec.id)) {
		k->rec = &found->rec;
		k->stamp = found->stamp;
	}
	return table_add(&v->sessions, &k->node, id_hash(id)) < 0 ?
		       fail_no_memory(err) :
		       WEFT_OK;
}

/* Fetch sessions that are not known, lock them, and remember what they are. */
static int learn_sessions(struct sql_view *v, uint32_t key,
			  const struct weft_id *ids, size_t n,
			  struct weft_error *err)
{
	struct weft_id *missing = ARENA_ARRAY(v->arena, struct weft_id, n);
	struct sql_record *recs;
	size_t n_missing = 0;
	int r = WEFT_OK;

	if (!missing)
		return arena_error(v->arena, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		const struct sql_record *known =
			v->cache ? sql_cache_find(v->cache, &ids[i]) : NULL;

		if (find_known(v, &ids[i]))
			continue;
		if (known)
			r = note_session(v, &ids[i], known, err);
		else
			missing[n_missing++] = ids[i];
	}
	if (r < 0 || n_missing == 0)
		return r;
	recs = ARENA_ARRAY(v->arena, struct sql_record, n_missing);
	if (!recs)
		return arena_error(v->arena, err);
	r = sql_lock_sessions(v->c, key, missing, n_missing, v->arena, recs,
			      err);
	for (size_t i = 0; i < n_missing && r == WEFT_OK; i++) {
		if (!find_known(v, &missing[i]))
			r = note_session(v, &missing[i], &recs[i], err);
	}
	return r;
}

/* ---- names ---- */

static int learn_names(struct sql_view *v, const struct weft_str *names,
		       size_t n, struct weft_error *err)
{
	struct name_rec *recs = ARENA_ARRAY(v->arena, struct name_rec, n);
	struct known_name *known = ARENA_ARRAY(v->arena, struct known_name, n);
	int r;

	if (!recs || !known)
		return arena_error(v->arena, err);
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

/* Names, and the operation ids of creations, which wait for each other like
 * names; all at once, so that nobody has one and waits for another. */
static int lock_names(struct sql_view *v, const struct store_want *want,
		      struct weft_error *err)
{
	struct weft_str *all = ARENA_ARRAY(v->arena, struct weft_str,
					   want->n_names + want->n_ops);
	size_t n = want->n_names;

	if (!all)
		return arena_error(v->arena, err);
	if (n > 0)
		memcpy(all, want->names, n * sizeof(*all));
	for (size_t i = 0; i < want->n_ops; i++) {
		if (id_is_zero(&want->ops[i].session))
			all[n++] = want->ops[i].op;
	}
	return n == 0 ? WEFT_OK :
			v->c->store->driver->lock_names(v->c, all, n, err);
}

/* ---- operation ids ---- */

static int take_use(void *ctx, const struct sql_value *row,
		    struct weft_error *err)
{
	static const struct weft_id creation;
	struct sql_view *v = ctx;
	struct op_hit hit = { .seq = (uint64_t)row[2].n };
	struct known_op *k;

	if (!sql_to_id(&row[0], &hit.session))
		return sql_fail_row("events", err);
	k = known_op(v, &hit.session, row[1].s);
	if (!k)
		k = known_op(v, &creation, row[1].s);
	/* The first one counts. */
	if (k &&
	    (k->hit.seq == 0 || id_cmp(&hit.session, &k->hit.session) < 0 ||
	     (id_eq(&hit.session, &k->hit.session) && hit.seq < k->hit.seq)))
		k->hit = hit;
	return WEFT_OK;
}

/* Look for all of one sort at once: of creations, or of sessions. */
static int learn_ops(struct sql_view *v, const struct store_want *want,
		     bool creations, struct weft_error *err)
{
	const size_t width = creations ? 1 : 2;
	struct sql_value *rows =
		ARENA_ARRAY(v->arena, struct sql_value, want->n_ops * width);
	size_t n = 0;

	if (!rows)
		return arena_error(v->arena, err);
	for (size_t i = 0; i < want->n_ops; i++) {
		const struct store_want_op *o = &want->ops[i];
		struct known_op *k;

		if (id_is_zero(&o->session) != creations || o->op.len == 0 ||
		    known_op(v, &o->session, o->op))
			continue;
		k = ARENA_NEW(v->arena, struct known_op);
		if (!k)
			return arena_error(v->arena, err);
		k->scope = o->session;
		k->op = o->op;
		if (table_add(&v->ops, &k->node, hash_op(&k->scope, k->op)) < 0)
			return fail_no_memory(err);
		if (!creations)
			rows[n * width] = sql_id(&o->session);
		rows[n++ * width + width - 1] = sql_text(o->op);
	}
	return n == 0 ? WEFT_OK :
			sql_run(v->c, creations ? Q_FIND_CREATIONS : Q_FIND_OPS,
				&(struct sql_rows){ rows, n, width }, take_use,
				v, err);
}

/* ---- the view ---- */

int sql_view_lock(struct sql_view *v, struct weft_error *err)
{
	size_t n = v->want->n_sessions;
	struct sql_record *recs;
	int r;

	if (!v->assuming)
		return WEFT_OK;
	recs = ARENA_ARRAY(v->arena, struct sql_record, n);
	if (!recs)
		return arena_error(v->arena, err);
	r = sql_lock_sessions(v->c, Q_LOCK_SESSIONS, v->want->sessions, n,
			      v->arena, recs, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		if (recs[i].stamp ==
		    find_known(v, &v->want->sessions[i])->stamp)
			continue;
		v->c->replan = true;
		r = fail(err, WEFT_BUSY, "somebody else has written");
	}
	v->assuming = r < 0;
	/* What is looked at from now on is looked up. */
	if (r == WEFT_OK)
		v->cache = NULL;
	return r;
}

/* The next attempt locks it with the others, in the order of all. */
static void note_found(struct sql_view *v, const struct weft_id *id)
{
	struct found *f = v->found;

	if (f->n < ARRAY_LEN(f->ids))
		f->ids[f->n++] = *id;
}

static int view_get_session(struct store_view *view, const struct weft_id *id,
			    const struct session_rec **ret,
			    struct weft_error *err)
{
	struct sql_view *v = view_of(view);
	struct sql_known *k = find_known(v, id);

	if (!k) {
		int r = sql_view_lock(v, err);

		note_found(v, id);
		if (r == WEFT_OK)
			r = learn_sessions(v, Q_LOCK_SESSIONS, id, 1, err);
		if (r < 0)
			return r;
		k = find_known(v, id);
	}
	v->n_asked += !k->asked;
	k->asked = true;
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
		struct store_want want = { .names = &name, .n_names = 1 };
		int r = sql_view_lock(v, err);

		if (r == WEFT_OK)
			r = lock_names(v, &want, err);
		if (r == WEFT_OK)
			r = learn_names(v, &name, 1, err);
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
	struct session_names names = { 0 };
	int r = sql_view_lock(view_of(v), err);

	if (r == WEFT_OK)
		r = sql_get_names_of(view_of(v)->c, id, 1, a, &names, err);
	*ret = names.v;
	*ret_n = names.n;
	return r;
}

static int find_op_now(struct sql_view *v, const struct weft_id *session,
		       struct weft_str op, struct op_hit *ret,
		       struct weft_error *err)
{
	int r = sql_view_lock(v, err);

	/* Whoever creates with the same operation id waits here. */
	if (r == WEFT_OK && !session)
		r = v->c->store->driver->lock_names(v->c, &op, 1, err);
	return r < 0 ? r : sql_find_op(v->c, session, op, ret, err);
}

static int view_find_op(struct store_view *view, const struct weft_id *session,
			struct weft_str op, struct op_hit *ret,
			struct weft_error *err)
{
	static const struct weft_id creation;
	struct sql_view *v = view_of(view);
	const struct known_op *k =
		known_op(v, session ? session : &creation, op);

	if (!k)
		return find_op_now(v, session, op, ret, err);
	if (k->hit.seq == 0)
		return fail(err, WEFT_NOT_FOUND, "operation id not used yet");
	*ret = k->hit;
	return WEFT_OK;
}

static int view_is_hidden(struct store_view *v, const struct weft_id *session,
			  uint64_t seq, uint32_t *ret, struct weft_error *err)
{
	int r = sql_view_lock(view_of(v), err);

	return r < 0 ? r : sql_is_hidden(view_of(v)->c, session, seq, ret, err);
}

static int view_read_events(struct store_view *v, const struct event_range *r,
			    struct arena *a, struct event_page *ret,
			    struct weft_error *err)
{
	int status = sql_view_lock(view_of(v), err);

	return status < 0 ? status :
			    sql_read_events(view_of(v)->c, r, a, ret, err);
}

static int view_get_children(struct store_view *v, const struct weft_id *id,
			     struct arena *a, struct session_rec **ret,
			     size_t *ret_n, struct weft_error *err)
{
	int r = sql_view_lock(view_of(v), err);

	return r < 0 ? r :
		       sql_get_children(view_of(v)->c, id, a, ret, ret_n, err);
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
	struct found found;
	bool assumed; /* in the last attempt; the next one will not */
	bool ours;    /* it was not the plan that failed */
};

/* May the plan be made from what is known, and be compared afterwards? */
static bool may_assume(const struct writing *w)
{
	const struct store_want *want = w->want;

	if (want->exclusive || want->n_shared > 0 || want->n_names > 0 ||
	    want->n_sessions == 0 || w->found.n > 0)
		return false;
	for (size_t i = 0; i < want->n_ops; i++) {
		if (id_is_zero(&want->ops[i].session))
			return false;
	}
	for (size_t i = 0; i < want->n_sessions; i++) {
		if (!sql_cache_find(&w->s->cache, &want->sessions[i]))
			return false;
	}
	return true;
}

/* The sessions that are wanted, and those that turned out to be in the last
 * attempt: who locks them one by one may have one and wait for another. */
static int learn_wanted(const struct writing *w, struct sql_view *v,
			struct weft_error *err)
{
	const struct store_want *want = w->want;
	uint32_t lock = want->exclusive ? Q_OWN_SESSIONS : Q_LOCK_SESSIONS;
	size_t n = want->n_sessions + w->found.n;
	struct weft_id *ids = ARENA_ARRAY(v->arena, struct weft_id, n);

	if (!ids)
		return arena_error(v->arena, err);
	if (want->n_sessions > 0)
		memcpy(ids, want->sessions, want->n_sessions * sizeof(*ids));
	memcpy(ids + want->n_sessions, w->found.ids, w->found.n * sizeof(*ids));
	return learn_sessions(v, lock, ids, n, err);
}

static int learn_all(const struct writing *w, struct sql_view *v,
		     struct weft_error *err)
{
	const struct store_want *want = w->want;
	/* Names before sessions, since who has only a name finds its session
	 * with it. */
	int r = lock_names(v, want, err);

	if (r == WEFT_OK)
		r = learn_wanted(w, v, err);
	if (r == WEFT_OK)
		r = learn_sessions(v, Q_SHARE_SESSIONS, want->shared,
				   want->n_shared, err);
	if (r == WEFT_OK && want->n_names > 0)
		r = learn_names(v, want->names, want->n_names, err);
	if (r == WEFT_OK && want->n_ops > 0)
		r = learn_ops(v, want, true, err);
	if (r == WEFT_OK && want->n_ops > 0)
		r = learn_ops(v, want, false, err);
	return r;
}

static int commit(const struct writing *w, struct sql_view *v,
		  const struct op_list *ops, struct weft_error *err)
{
	struct sql_store *s = w->s;
	struct sql_written written = { .n = 0 };
	int r = sql_apply(v->c, v, ops, &written, err);

	if (r == WEFT_OK)
		r = s->driver->commit(v->c, err);
	if (r < 0)
		return r;
	sql_cache_take(&s->cache, &written, v->c->stamp);
	(void)atomic_fetch_add(&s->writes, 1);
	s->driver->committed(s);
	return WEFT_OK;
}

static int plan_and_apply(struct writing *w, struct arena *a,
			  struct weft_error *err)
{
	struct sql_conn *c = w->s->write_conn;
	bool shared = w->s->driver->shared, assuming = shared && may_assume(w);
	CLEANUP(view_done)
	struct sql_view view = { .view.ops = &view_ops,
				 .c = c,
				 .arena = a,
				 .cache = assuming || !shared ? &w->s->cache :
								NULL,
				 .want = w->want,
				 .found = &w->found,
				 .assuming = assuming };
	struct op_list ops = { .arena = a };
	int r;

	w->assumed = assuming;
	r = learn_all(w, &view, err);

	if (r < 0)
		return r;
	w->ours = false;
	r = w->plan(w->ctx, &view.view, &ops, err);
	/* What was decided by it, and is not written, is compared now. */
	if (r < 0 || ops.failed || ops.n == 0) {
		int locked = sql_view_lock(&view, err);

		r = r < 0 ? r : locked;
	}
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
	return commit(w, &view, &ops, err);
}

/* Once is enough to be wrong. */
static void forget_wanted(struct writing *w)
{
	for (size_t i = 0; i < w->want->n_sessions; i++)
		sql_cache_drop(&w->s->cache, &w->want->sessions[i]);
}

static int try_to_write(struct writing *w, struct weft_error *err)
{
	struct sql_conn *c = w->s->write_conn;
	CLEANUP(arena_done) struct arena arena;
	int r;

	arena_init(&arena, 0);
	c->replan = false;
	w->ours = true;
	w->assumed = false;
	r = w->s->driver->begin(c, SQL_FOR_WRITING, err);
	if (c->others)
		sql_cache_clear(&w->s->cache);
	c->others = false;
	if (r < 0)
		return r;
	r = plan_and_apply(w, &arena, err);
	if (r < 0)
		w->s->driver->rollback(c);
	if (r < 0 && w->assumed)
		forget_wanted(w);
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
	int r = sql_check_stopped(s, err);

	if (r < 0)
		return r;
	do
		r = try_to_write(w, &own);
	while (r < 0 && s->write_conn->replan &&
	       (w->assumed || clock_mono_us() < end));
	if (w->ours && (r == WEFT_IO || r == WEFT_UNKNOWN)) {
		sql_cache_clear(&s->cache);
		stop(s, &own);
	}
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

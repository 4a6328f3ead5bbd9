/* plan_view.c - what a planner may look at: the plan first, then the store. */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/derive.h"

/* The plan's arena has refused: an error in any case. */
static int no_room(const struct plan *p, struct weft_error *err)
{
	return arena_error(&p->arena, err) == WEFT_LIMIT ? WEFT_LIMIT :
							   WEFT_NO_MEMORY;
}

/* ---- tables ---- */

static int make_table(struct plan *p, struct plan_table *t, size_t n,
		      struct weft_error *err)
{
	size_t buckets = 4;

	while (buckets < n)
		buckets *= 2;
	t->buckets = ARENA_ARRAY(&p->arena, struct plan_node *, buckets);
	t->mask = buckets - 1;
	return t->buckets ? WEFT_OK : no_room(p, err);
}

static struct plan_node *chain_of(const struct plan_table *t, uint64_t hash)
{
	return t->buckets[hash & t->mask];
}

static void put_node(struct plan_table *t, struct plan_node *n, uint64_t hash)
{
	n->hash = hash;
	n->chain = t->buckets[hash & t->mask];
	t->buckets[hash & t->mask] = n;
}

static uint64_t hash_op(const struct weft_id *scope, struct weft_str op)
{
	return id_hash(scope) * 31 + hash_bytes(op.ptr, op.len);
}

int plan_begin(struct plan *p, struct store_view *view, struct op_list *out,
	       struct weft_error *err)
{
	size_t n = 0;
	int r;

	arena_reset(&p->arena);
	buf_reset(&p->body);
	p->view = view;
	p->out = out;
	p->sessions = NULL;
	p->last_session = &p->sessions;
	p->names = NULL;
	p->last_name = &p->names;
	p->n_events = 0;
	p->broken = false;
	p->now_ms = engine_now_ms(p->engine);
	for (struct request *q = p->requests; q; q = q->next)
		n += 1 + q->n_aliases + q->n_targets;
	r = make_table(p, &p->session_table, n, err);
	if (r == WEFT_OK)
		r = make_table(p, &p->name_table, n, err);
	if (r == WEFT_OK)
		r = make_table(p, &p->op_table, n, err);
	if (r == WEFT_OK)
		r = make_table(p, &p->mark_table, n, err);
	return r;
}

/* ---- sessions ---- */

static struct plan_session *known_session(const struct plan *p,
					  const struct weft_id *id,
					  uint64_t hash)
{
	struct plan_node *n = chain_of(&p->session_table, hash);

	for (; n; n = n->chain) {
		struct plan_session *s = (struct plan_session *)n;

		if (n->hash == hash && id_eq(&s->rec.id, id))
			return s;
	}
	return NULL;
}

static struct plan_session *add_session(struct plan *p, uint64_t hash)
{
	struct plan_session *s = ARENA_NEW(&p->arena, struct plan_session);

	if (!s)
		return NULL;
	put_node(&p->session_table, &s->node, hash);
	*p->last_session = s;
	p->last_session = &s->next;
	return s;
}

struct plan_session *plan_new_session(struct plan *p, const struct weft_id *id)
{
	struct plan_session *s = add_session(p, id_hash(id));

	if (s) {
		s->rec.id = *id;
		s->is_new = true;
	}
	return s;
}

static int no_session(const struct weft_id *id, struct weft_error *err)
{
	char text[WEFT_ID_CHARS + 1];

	id_format(id, text);
	return fail(err, WEFT_NOT_FOUND, "no session %s", text);
}

int plan_find(struct plan *p, const struct weft_id *id,
	      struct plan_session **ret, struct weft_error *err)
{
	uint64_t hash = id_hash(id);
	struct plan_session *s = known_session(p, id, hash);
	const struct session_rec *rec = NULL;
	int r;

	if (s) {
		*ret = s;
		return WEFT_OK;
	}
	r = p->view->ops->get_session(p->view, id, &rec, err);
	if (r == WEFT_NOT_FOUND)
		return no_session(id, err);
	if (r != WEFT_OK)
		return r;
	s = add_session(p, hash);
	if (!s)
		return no_room(p, err);
	/* Its text stays the store's until the write is over. */
	s->rec = *rec;
	*ret = s;
	return WEFT_OK;
}

int plan_find_asked(struct plan *p, const struct request *q,
		    struct plan_session **ret, struct weft_error *err)
{
	int r = plan_find(p, &q->session, ret, err);

	if (r == WEFT_OK && (*ret)->rec.purged_at && !q->erase)
		r = no_session(&q->session, err);
	return r;
}

/* ---- names ---- */

int plan_find_name(struct plan *p, struct weft_str name, struct plan_name **ret,
		   struct weft_error *err)
{
	uint64_t hash = hash_bytes(name.ptr, name.len);
	struct plan_node *n = chain_of(&p->name_table, hash);
	struct name_rec rec = { 0 };
	struct plan_name *found;
	int r;

	for (; n; n = n->chain) {
		found = (struct plan_name *)n;
		if (n->hash == hash && str_eq(found->rec.name, name)) {
			*ret = found;
			return WEFT_OK;
		}
	}
	r = p->view->ops->get_name(p->view, name, &rec, err);
	if (r != WEFT_OK)
		return r;
	found = ARENA_NEW(&p->arena, struct plan_name);
	if (!found)
		return no_room(p, err);
	found->rec = rec;
	found->rec.name = name;
	put_node(&p->name_table, &found->node, hash);
	*p->last_name = found;
	p->last_name = &found->next;
	*ret = found;
	return WEFT_OK;
}

/* The store's names of a session; a new one has none there. */
static int stored_names_of(struct plan *p, const struct plan_session *s,
			   struct name_rec **ret, size_t *ret_n,
			   struct weft_error *err)
{
	*ret = NULL;
	*ret_n = 0;
	if (s->is_new)
		return WEFT_OK;
	return p->view->ops->get_names_of(p->view, &s->rec.id, &p->arena, ret,
					  ret_n, err);
}

static void key_first(struct name_rec *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (v[i].kind == NAME_KEY) {
			struct name_rec key = v[i];

			v[i] = v[0];
			v[0] = key;
		}
	}
}

int plan_names_of(struct plan *p, const struct plan_session *s,
		  struct name_rec **ret, size_t *ret_n, struct weft_error *err)
{
	struct name_rec *stored, *v;
	size_t n_stored, room, n = 0;
	int r = stored_names_of(p, s, &stored, &n_stored, err);

	if (r < 0)
		return r;
	room = n_stored;
	for (const struct plan_name *x = p->names; x; x = x->next)
		room++;
	/* Looked up one by one, each is in the plan and seen as it will be. */
	for (size_t i = 0; i < n_stored; i++) {
		struct plan_name *found;

		r = plan_find_name(p, stored[i].name, &found, err);
		if (r < 0)
			return r;
	}
	v = ARENA_ARRAY(&p->arena, struct name_rec, room);
	if (!v)
		return no_room(p, err);
	for (const struct plan_name *x = p->names; x; x = x->next) {
		if (id_eq(&x->rec.session, &s->rec.id))
			v[n++] = x->rec;
	}
	key_first(v, n);
	*ret = v;
	*ret_n = n;
	return WEFT_OK;
}

/* ---- operation ids ---- */

int plan_find_op(struct plan *p, const struct plan_session *s,
		 struct weft_str op, struct op_hit *ret, struct weft_error *err)
{
	static const struct weft_id creation;
	const struct weft_id *scope = s ? &s->rec.id : &creation;
	uint64_t hash = hash_op(scope, op);
	struct plan_node *n = chain_of(&p->op_table, hash);
	int r;

	for (; n; n = n->chain) {
		struct plan_op *found = (struct plan_op *)n;

		if (n->hash == hash && id_eq(&found->scope, scope) &&
		    str_eq(found->op, op)) {
			*ret = found->hit;
			return WEFT_OK;
		}
	}
	if (s && s->is_new)
		return WEFT_NOT_FOUND;
	/* Usually it is not there: no need for a message that says so. */
	r = p->view->ops->find_op(p->view, s ? scope : NULL, op, ret, NULL);
	if (r < 0 && r != WEFT_NOT_FOUND)
		r = p->view->ops->find_op(p->view, s ? scope : NULL, op, ret,
					  err);
	return r;
}

/* ---- events ---- */

/* The first event of a range that is of the type asked for, or of any. */
static int read_one(struct plan *p, struct event_range range,
		    const struct store_event **ret, struct weft_error *err)
{
	while (range.first <= range.last) {
		struct event_page page = { 0 };
		int r = p->view->ops->read_events(p->view, &range, &p->arena,
						  &page, err);

		if (r < 0)
			return r;
		if (page.n == 0)
			break;
		if (!range.types || range.types >> page.v[0].type & 1) {
			*ret = &page.v[0];
			return WEFT_OK;
		}
		/* Damaged or gone: it could have been of any type. */
		range.last = page.v[0].seq - 1;
	}
	return fail(err, WEFT_NOT_FOUND, "no such event");
}

int plan_event_at(struct plan *p, const struct plan_session *s, uint64_t seq,
		  const struct store_event **ret, struct weft_error *err)
{
	const struct event_range range = {
		.session = s->rec.id,
		.first = seq,
		.last = seq,
		.max_events = 1,
	};

	for (const struct plan_event *e = s->events; e; e = e->older) {
		if (e->event.seq == seq) {
			*ret = &e->event;
			return WEFT_OK;
		}
	}
	return read_one(p, range, ret, err);
}

int plan_last_event(struct plan *p, const struct plan_session *s, uint32_t type,
		    const struct store_event **ret, struct weft_error *err)
{
	const struct event_range range = {
		.session = s->rec.id,
		.first = 1,
		.last = s->rec.head_seq,
		.types = UINT64_C(1) << type,
		.backwards = 1,
		.max_events = 1,
	};

	for (const struct plan_event *e = s->events; e; e = e->older) {
		if (e->event.type == type) {
			*ret = &e->event;
			return WEFT_OK;
		}
	}
	return read_one(p, range, ret, err);
}

/* ---- hidden messages ---- */

static uint64_t hash_mark(const struct weft_id *session, uint64_t seq)
{
	return id_hash(session) * 31 + hash_bytes(&seq, sizeof(seq));
}

int plan_is_hidden(struct plan *p, const struct plan_session *s, uint64_t seq,
		   bool *ret, struct weft_error *err)
{
	uint64_t hash = hash_mark(&s->rec.id, seq);
	struct plan_node *n = chain_of(&p->mark_table, hash);
	uint32_t hidden = 0;
	int r;

	for (; n; n = n->chain) {
		struct plan_mark *m = (struct plan_mark *)n;

		/* The newest is the first in its chain. */
		if (n->hash == hash && m->seq == seq &&
		    id_eq(&m->session, &s->rec.id)) {
			*ret = m->hidden;
			return WEFT_OK;
		}
	}
	r = p->view->ops->is_hidden(p->view, &s->rec.id, seq, &hidden, err);
	if (r < 0)
		return r;
	*ret = hidden != 0;
	return WEFT_OK;
}

/* ---- what the plan does ---- */

static int note_op(struct plan *p, const struct store_event *e,
		   struct weft_error *err)
{
	struct plan_op *o = ARENA_NEW(&p->arena, struct plan_op);

	if (!o)
		return no_room(p, err);
	o->op = e->op;
	if (e->type != EVENT_SESSION)
		o->scope = e->session;
	o->hit = (struct op_hit){ .session = e->session, .seq = e->seq };
	put_node(&p->op_table, &o->node, hash_op(&o->scope, o->op));
	return WEFT_OK;
}

static int note_name(struct plan *p, const struct name_rec *rec,
		     struct weft_error *err)
{
	struct plan_name *n = NULL;
	int r = plan_find_name(p, rec->name, &n, err);

	/* As in the store: the highest version wins. */
	if (r == WEFT_OK && rec->ver > n->rec.ver)
		n->rec = *rec;
	return r;
}

static int note_mark(struct plan *p, const struct weft_id *session,
		     const struct store_hide *hide, struct weft_error *err)
{
	struct plan_mark *m = ARENA_NEW(&p->arena, struct plan_mark);

	if (!m)
		return no_room(p, err);
	m->session = *session;
	m->seq = hide->target;
	m->hidden = hide->hidden != 0;
	put_node(&p->mark_table, &m->node, hash_mark(session, m->seq));
	return WEFT_OK;
}

/* Add to the totals of who pays, or take from them; the next payer gets an op
 * of its own. */
static int note_add(struct plan *p, size_t i, struct weft_error *err)
{
	struct op_list *out = p->out;
	struct plan_session *payer = NULL;
	int r = plan_find(p, &out->v[i].session, &payer, err);

	if (r == WEFT_OK && out->v[i].kind == OP_ADD)
		derive_add(&payer->rec, out->v[i].u.add, out);
	else if (r == WEFT_OK)
		derive_take(&payer->rec, out->v[i].u.add, out);
	/* Nobody is left to pay. */
	return r == WEFT_NOT_FOUND ? WEFT_OK : r;
}

int plan_note(struct plan *p, size_t first_op, struct weft_error *err)
{
	struct op_list *out = p->out;
	int r = WEFT_OK;

	/* The list grows while this walks it. */
	for (size_t i = first_op; i < out->n && r == WEFT_OK; i++) {
		const struct store_op *op = &out->v[i];

		switch ((enum store_op_kind)op->kind) {
		case OP_EVENT:
			if (op->u.event->op.len)
				r = note_op(p, op->u.event, err);
			break;
		case OP_NAME:
			r = note_name(p, op->u.name, err);
			break;
		case OP_HIDE:
			r = note_mark(p, &op->session, op->u.hide, err);
			break;
		case OP_ADD:
		case OP_TAKE:
			r = note_add(p, i, err);
			break;
		case OP_SESSION:
		case OP_BLOB:
		case OP_REWRITE:
		case OP_DROP:
		case OP_UNNAME:
			break;
		}
	}
	return r;
}

/* index.c - what is derived, kept in memory; see index.h. */
#include "store/index.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/match.h"

/* Where an operation id was used; seq 0 until it was. */
struct index_op {
	struct table_node node;
	struct op_hit hit;
	struct weft_id scope; /* the session, or zero for a creation */
	struct weft_str op;   /* behind this struct */
};

void index_init(struct index *x)
{
	*x = (struct index){ 0 };
}

static void free_session(void *ctx, struct table_node *node)
{
	struct index_session *s = TABLE_ENTRY(node, struct index_session, node);

	(void)ctx;
	record_own_done(&s->own);
	mem_free(s->hidden);
	mem_free(s);
}

static void free_name(void *ctx, struct table_node *node)
{
	(void)ctx;
	mem_free(TABLE_ENTRY(node, struct index_name, node));
}

static void free_op(void *ctx, struct table_node *node)
{
	(void)ctx;
	mem_free(TABLE_ENTRY(node, struct index_op, node));
}

void index_done(struct index *x)
{
	table_each(&x->sessions, free_session, NULL);
	table_each(&x->names, free_name, NULL);
	table_each(&x->ops, free_op, NULL);
	table_done(&x->sessions);
	table_done(&x->names);
	table_done(&x->ops);
}

/* ---- finding and making ---- */

static struct index_session *find_session(const struct index *x,
					  const struct weft_id *id)
{
	struct table_node *n = table_first(&x->sessions, id_hash(id));

	for (; n; n = table_next(n)) {
		struct index_session *s =
			TABLE_ENTRY(n, struct index_session, node);

		if (id_eq(&s->id, id))
			return s;
	}
	return NULL;
}

static struct index_session *make_session(struct index *x,
					  const struct weft_id *id)
{
	struct index_session *s = find_session(x, id);

	if (s)
		return s;
	s = mem_zero(1, sizeof(*s));
	if (!s)
		return NULL;
	s->id = *id;
	if (table_add(&x->sessions, &s->node, id_hash(id)) < 0) {
		mem_free(s);
		return NULL;
	}
	return s;
}

static struct index_name *find_name(const struct index *x, struct weft_str name)
{
	struct table_node *n =
		table_first(&x->names, hash_bytes(name.ptr, name.len));

	for (; n; n = table_next(n)) {
		struct index_name *found =
			TABLE_ENTRY(n, struct index_name, node);

		if (str_eq(found->rec.name, name))
			return found;
	}
	return NULL;
}

static struct index_name *make_name(struct index *x, struct weft_str name)
{
	struct index_name *made = find_name(x, name);
	char *text;

	if (made)
		return made;
	made = mem_zero(1, sizeof(*made) + name.len);
	if (!made)
		return NULL;
	text = (char *)(made + 1);
	memcpy(text, name.ptr, name.len);
	made->rec.name = (struct weft_str){ text, name.len };
	if (table_add(&x->names, &made->node, hash_bytes(name.ptr, name.len)) <
	    0) {
		mem_free(made);
		return NULL;
	}
	return made;
}

/* Creations have a scope of their own: a session may use the id again. */
static struct weft_id scope_of(const struct store_event *e)
{
	static const struct weft_id creation;

	return e->type == EVENT_SESSION ? creation : e->session;
}

static uint64_t hash_op(const struct weft_id *scope, struct weft_str op)
{
	return id_hash(scope) * 31 + hash_bytes(op.ptr, op.len);
}

static struct index_op *find_op(const struct index *x,
				const struct weft_id *scope, struct weft_str op)
{
	struct table_node *n = table_first(&x->ops, hash_op(scope, op));

	for (; n; n = table_next(n)) {
		struct index_op *found = TABLE_ENTRY(n, struct index_op, node);

		if (id_eq(&found->scope, scope) && str_eq(found->op, op))
			return found;
	}
	return NULL;
}

static struct index_op *make_op(struct index *x, const struct weft_id *scope,
				struct weft_str op)
{
	struct index_op *made = find_op(x, scope, op);
	char *text;

	if (made)
		return made;
	made = mem_zero(1, sizeof(*made) + op.len);
	if (!made)
		return NULL;
	text = (char *)(made + 1);
	memcpy(text, op.ptr, op.len);
	made->op = (struct weft_str){ text, op.len };
	made->scope = *scope;
	if (table_add(&x->ops, &made->node, hash_op(scope, op)) < 0) {
		mem_free(made);
		return NULL;
	}
	return made;
}

/* The first mark with a target of at least `target`. */
static size_t hidden_from(const struct index_session *s, uint64_t target)
{
	size_t low = 0, high = s->n_hidden;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->hidden[middle].target < target)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool make_hidden(struct index_session *s, uint64_t target)
{
	size_t i = hidden_from(s, target);

	if (i < s->n_hidden && s->hidden[i].target == target)
		return true;
	if (s->n_hidden == s->room_hidden) {
		size_t room = s->room_hidden ? s->room_hidden * 2 : 8;
		struct store_hide *v = mem_resize(s->hidden, room * sizeof(*v));

		if (!v)
			return false;
		s->hidden = v;
		s->room_hidden = room;
	}
	memmove(s->hidden + i + 1, s->hidden + i,
		(s->n_hidden - i) * sizeof(*s->hidden));
	s->hidden[i] = (struct store_hide){ .target = target };
	s->n_hidden++;
	return true;
}

/* ---- preparing ---- */

static void *prepare_record(struct index *x, const struct store_op *op,
			    struct weft_error *err)
{
	struct record_own *own;

	if (!make_session(x, &op->session))
		return NULL;
	own = mem_zero(1, sizeof(*own));
	if (own && record_own_update(own, op->u.rec, err) < 0) {
		mem_free(own);
		own = NULL;
	}
	return own;
}

static void *prepare_name(struct index *x, const struct name_rec *name)
{
	if (!id_is_zero(&name->session) && !make_session(x, &name->session))
		return NULL;
	return make_name(x, name->name);
}

static void *prepare_hide(struct index *x, const struct store_op *op)
{
	struct index_session *s = make_session(x, &op->session);

	return s && make_hidden(s, op->u.hide->target) ? s : NULL;
}

static int prepare_op(struct index *x, const struct store_op *op, void **ret,
		      struct weft_error *err)
{
	struct weft_id scope;

	switch ((enum store_op_kind)op->kind) {
	case OP_EVENT:
		if (op->u.event->op.len == 0)
			return WEFT_OK;
		scope = scope_of(op->u.event);
		*ret = make_op(x, &scope, op->u.event->op);
		break;
	case OP_SESSION:
		*ret = prepare_record(x, op, err);
		break;
	case OP_NAME:
		*ret = prepare_name(x, op->u.name);
		break;
	case OP_HIDE:
		*ret = prepare_hide(x, op);
		break;
	case OP_ADD:
	case OP_TAKE:
	case OP_BLOB:
	case OP_REWRITE: /* these three: everything is derived again */
	case OP_DROP:
	case OP_UNNAME:
		return WEFT_OK;
	}
	return *ret ? WEFT_OK : fail_no_memory(err);
}

int index_prepare(struct index *x, const struct op_list *ops, void **prepared,
		  struct weft_error *err)
{
	for (size_t i = 0; i < ops->n; i++) {
		int r = prepare_op(x, &ops->v[i], &prepared[i], err);

		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

void index_discard(const struct op_list *ops, void **prepared)
{
	for (size_t i = 0; i < ops->n; i++) {
		struct record_own *own = prepared[i];

		if (ops->v[i].kind != OP_SESSION || !own)
			continue;
		record_own_done(own);
		mem_free(own);
	}
}

/* ---- committing ---- */

static void commit_op(struct index_op *op, const struct store_event *e)
{
	if (op && op->hit.seq == 0)
		op->hit = (struct op_hit){ e->session, e->seq };
}

static void commit_record(struct index *x, const struct weft_id *id,
			  struct record_own *own)
{
	struct index_session *s = find_session(x, id);

	record_own_done(&s->own);
	s->own = *own;
	mem_free(own);
}

static void commit_add(struct index *x, const struct store_op *op)
{
	struct index_session *s = find_session(x, &op->session);

	/* Without a record there is nobody left to pay. */
	if (!s || id_is_zero(&s->own.rec.id))
		return;
	if (op->kind == OP_ADD)
		totals_add(&s->own.rec.total, op->u.add);
	else
		totals_take(&s->own.rec.total, op->u.add);
}

static void let_go(struct index_name *name)
{
	struct index_name **at;

	if (!name->holder)
		return;
	at = &name->holder->names;
	while (*at != name)
		at = &(*at)->next;
	*at = name->next;
	name->holder = NULL;
	name->next = NULL;
}

static void commit_name(struct index *x, struct index_name *name,
			const struct name_rec *next)
{
	struct index_session *holder;

	if (!match_name_wins(next, &name->rec))
		return;
	let_go(name);
	name->rec.session = next->session;
	name->rec.ver = next->ver;
	name->rec.kind = next->kind;
	if (id_is_zero(&next->session))
		return;
	holder = find_session(x, &next->session);
	name->holder = holder;
	name->next = holder->names;
	holder->names = name;
}

static void commit_hide(struct index_session *s, const struct store_hide *hide)
{
	struct store_hide *mark = &s->hidden[hidden_from(s, hide->target)];

	if (hide->by >= mark->by)
		*mark = *hide;
}

void index_commit(struct index *x, const struct op_list *ops, void **prepared)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct store_op *op = &ops->v[i];

		switch ((enum store_op_kind)op->kind) {
		case OP_EVENT:
			commit_op(prepared[i], op->u.event);
			break;
		case OP_SESSION:
			commit_record(x, &op->session, prepared[i]);
			break;
		case OP_ADD:
		case OP_TAKE:
			commit_add(x, op);
			break;
		case OP_NAME:
			commit_name(x, prepared[i], op->u.name);
			break;
		case OP_HIDE:
			commit_hide(prepared[i], op->u.hide);
			break;
		case OP_BLOB:
		case OP_REWRITE:
		case OP_DROP:
		case OP_UNNAME:
			break;
		}
	}
}

/* ---- reading ---- */

const struct session_rec *index_session(const struct index *x,
					const struct weft_id *id)
{
	const struct index_session *s = find_session(x, id);

	return s && !id_is_zero(&s->own.rec.id) ? &s->own.rec : NULL;
}

struct name_rec index_name(const struct index *x, struct weft_str name)
{
	const struct index_name *found = find_name(x, name);

	return found && found->rec.ver > 0 ? found->rec :
					     (struct name_rec){ .name = name };
}

static int by_name_order(const void *a, const void *b)
{
	return match_name_order(a, b);
}

int index_names_of(const struct index *x, const struct weft_id *id,
		   struct arena *a, struct name_rec **ret, size_t *ret_n,
		   struct weft_error *err)
{
	const struct index_session *s = find_session(x, id);
	const struct index_name *held = s ? s->names : NULL;
	struct name_rec *v;
	size_t n = 0;

	for (const struct index_name *h = held; h; h = h->next)
		n++;
	v = ARENA_ARRAY(a, struct name_rec, n);
	if (!v)
		return arena_error(a, err);
	n = 0;
	for (const struct index_name *h = held; h; h = h->next) {
		v[n] = h->rec;
		v[n].name = arena_str(a, h->rec.name);
		if (!v[n++].name.ptr)
			return arena_error(a, err);
	}
	SORT(v, n, by_name_order);
	*ret = v;
	*ret_n = n;
	return WEFT_OK;
}

bool index_find_op(const struct index *x, const struct weft_id *session,
		   struct weft_str op, struct op_hit *ret)
{
	static const struct weft_id creation;
	const struct index_op *found =
		find_op(x, session ? session : &creation, op);

	if (!found || found->hit.seq == 0)
		return false;
	*ret = found->hit;
	return true;
}

bool index_is_hidden(const struct index *x, const struct weft_id *session,
		     uint64_t seq)
{
	const struct index_session *s = find_session(x, session);
	size_t i = s ? hidden_from(s, seq) : 0;

	return s && i < s->n_hidden && s->hidden[i].target == seq &&
	       s->hidden[i].hidden;
}

int index_hidden(const struct index *x, const struct weft_id *session,
		 uint64_t first, uint64_t last, struct arena *a, uint64_t **ret,
		 size_t *ret_n, struct weft_error *err)
{
	const struct index_session *s = find_session(x, session);
	size_t from = s ? hidden_from(s, first) : 0, n = 0, end = from;
	uint64_t *v;

	while (s && end < s->n_hidden && s->hidden[end].target <= last)
		end++;
	v = ARENA_ARRAY(a, uint64_t, end - from);
	if (!v)
		return arena_error(a, err);
	for (size_t i = from; i < end; i++) {
		if (s->hidden[i].hidden)
			v[n++] = s->hidden[i].target;
	}
	*ret = v;
	*ret_n = n;
	return WEFT_OK;
}

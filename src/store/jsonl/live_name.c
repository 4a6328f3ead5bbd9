/*
 * live_name.c - the names of the overlay, and the operation ids of the sessions
 * that were created in it.
 */
#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

static void lock(struct jsonl *js)
{
	(void)pthread_mutex_lock(&js->mutex);
}

static void unlock(struct jsonl *js)
{
	(void)pthread_mutex_unlock(&js->mutex);
}

/* A name that a session has: only those are in names_of. */
static bool is_held(const struct live_name *n)
{
	return n->kind && !id_is_zero(&n->session);
}

static void drop_name(void *ctx, struct table_node *node)
{
	struct live_name *n = TABLE_ENTRY(node, struct live_name, node);
	struct jsonl *js = ctx;

	table_remove(&js->names, node);
	if (is_held(n))
		table_remove(&js->names_of, &n->of_session);
	mem_free(n);
}

void names_drop_all(struct jsonl *js)
{
	table_each(&js->names, drop_name, js);
}

struct pruning {
	struct jsonl *js;
	uint64_t ckpt;
};

static void prune_name(void *ctx, struct table_node *node)
{
	struct live_name *n = TABLE_ENTRY(node, struct live_name, node);
	struct pruning *p = ctx;

	if ((n->lsn & ~UINT64_C(1)) <= p->ckpt)
		drop_name(p->js, node);
}

void names_prune(struct jsonl *js, uint64_t ckpt)
{
	struct pruning p = { js, ckpt };

	table_each(&js->names, prune_name, &p);
}

static struct live_name *find_name(struct jsonl *js, struct weft_str name,
				   uint64_t kind)
{
	uint64_t hash = hash_bytes(name.ptr, name.len) + (kind == 0);
	struct table_node *node = table_first(&js->names, hash);

	for (; node; node = table_next(node)) {
		struct live_name *n = TABLE_ENTRY(node, struct live_name, node);

		if (str_eq(n->name, name) && (n->kind == 0) == (kind == 0))
			return n;
	}
	return NULL;
}

struct live_name *name_find(struct jsonl *js, struct weft_str name)
{
	return find_name(js, name, NAME_KEY);
}

struct live_name *name_find_op(struct jsonl *js, struct weft_str op)
{
	return find_name(js, op, 0);
}

/* The first from `node` on that is of this session. */
static struct live_name *held_from(struct table_node *node,
				   const struct weft_id *id)
{
	for (; node; node = table_next(node)) {
		struct live_name *n =
			TABLE_ENTRY(node, struct live_name, of_session);

		if (id_eq(&n->session, id))
			return n;
	}
	return NULL;
}

struct live_name *name_first_of(struct jsonl *js, const struct weft_id *id)
{
	return held_from(table_first(&js->names_of, id_hash(id)), id);
}

struct live_name *name_next_of(const struct live_name *n)
{
	return held_from(table_next(&n->of_session), &n->session);
}

static int hold_name(struct jsonl *js, struct live_name *n)
{
	if (!is_held(n))
		return 0;
	return table_add(&js->names_of, &n->of_session, id_hash(&n->session));
}

/* To another session, or to nobody. */
static int move_name(struct jsonl *js, struct live_name *n,
		     const struct live_name *to)
{
	struct live_name before = *n;

	if (is_held(n))
		table_remove(&js->names_of, &n->of_session);
	n->session = to->session;
	n->ver = to->ver;
	n->kind = to->kind;
	n->lsn = to->lsn;
	if (hold_name(js, n) == 0)
		return 0;
	/* A table that has had an entry has room for one: it was nobody's. */
	*n = before;
	return -1;
}

static int add_name(struct jsonl *js, const struct live_name *from,
		    struct weft_error *err)
{
	struct live_name *n = find_name(js, from->name, from->kind);
	char *text;

	if (n) {
		if (from->ver > n->ver && move_name(js, n, from) < 0)
			return fail_no_memory(err);
		return WEFT_OK;
	}
	n = mem_alloc(sizeof(*n) + from->name.len);
	if (!n)
		return fail_no_memory(err);
	*n = *from;
	text = (char *)(n + 1);
	memcpy(text, from->name.ptr, from->name.len);
	n->name.ptr = text;
	if (table_add(&js->names, &n->node,
		      hash_bytes(text, n->name.len) + (n->kind == 0)) < 0) {
		mem_free(n);
		return fail_no_memory(err);
	}
	if (hold_name(js, n) < 0) {
		table_remove(&js->names, &n->node);
		mem_free(n);
		return fail_no_memory(err);
	}
	return WEFT_OK;
}

int name_set(struct jsonl *js, const struct name_rec *name, uint64_t lsn,
	     struct weft_error *err)
{
	struct live_name n = {
		.name = name->name,
		.session = name->session,
		.ver = name->ver,
		.kind = name->kind ? name->kind : NAME_ALIAS,
		.lsn = lsn,
	};
	int r;

	lock(js);
	r = add_name(js, &n, err);
	unlock(js);
	return r;
}

int name_set_op(struct jsonl *js, struct weft_str op,
		const struct weft_id *session, uint64_t lsn,
		struct weft_error *err)
{
	struct live_name n = {
		.name = op, .session = *session, .ver = 1, .lsn = lsn
	};
	int r;

	lock(js);
	r = add_name(js, &n, err);
	unlock(js);
	return r;
}

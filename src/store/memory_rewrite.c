/*
 * memory_rewrite.c - erase, reclaim and purge in the memory: store.
 *
 * DESIGN: the new logs are made beside the old ones and put in their places;
 * everything is derived again from them.  If that fails, the old ones go back.
 * It costs the whole store, and is obviously right.
 */
#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/memory.h"
#include "store/rebuild.h"

/* A log that takes another one's place. */
struct change {
	struct memory_log *old, *fresh; /* fresh NULL: the session goes */
};

struct changes {
	struct memory *m;
	struct change *v;
	size_t n;
};

static struct change *change_of(struct changes *c, const struct weft_id *id)
{
	struct memory_log *old;

	for (size_t i = 0; i < c->n; i++) {
		if (id_eq(&c->v[i].old->session, id))
			return &c->v[i];
	}
	old = memory_log_find(c->m, id);
	if (!old)
		return NULL;
	c->v[c->n] = (struct change){ .old = old };
	return &c->v[c->n++];
}

/* The op that begins with or holds `seq`, if there is one. */
static const struct store_rewrite *rewrite_at(const struct op_list *ops,
					      const struct weft_id *id,
					      uint64_t seq)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct store_op *op = &ops->v[i];

		if (op->kind == OP_REWRITE && id_eq(&op->session, id) &&
		    seq >= op->u.rewrite->first && seq <= op->u.rewrite->last)
			return op->u.rewrite;
	}
	return NULL;
}

static int copy_log(const struct op_list *ops, struct change *c,
		    struct weft_error *err)
{
	int r = WEFT_OK;

	c->fresh = mem_zero(1, sizeof(*c->fresh));
	if (!c->fresh)
		return fail_no_memory(err);
	c->fresh->session = c->old->session;
	for (size_t i = 0; i < c->old->n && r == WEFT_OK; i++) {
		const struct store_event *e = &c->old->v[i];
		const struct store_rewrite *w =
			rewrite_at(ops, &c->old->session, e->seq);

		if (!w)
			r = memory_log_add(c->fresh, e, err);
		else if (w->first == e->seq)
			r = memory_log_add(c->fresh, w->with, err);
	}
	return r;
}

static int prepare(struct changes *c, const struct op_list *ops,
		   struct weft_error *err)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < ops->n && r == WEFT_OK; i++) {
		const struct store_op *op = &ops->v[i];
		struct change *x;

		if (op->kind != OP_REWRITE && op->kind != OP_DROP)
			continue;
		x = change_of(c, &op->session);
		if (!x)
			return fail(err, WEFT_NOT_FOUND, "no such session");
		if (op->kind == OP_REWRITE && !x->fresh)
			r = copy_log(ops, x, err);
	}
	return r;
}

/* Old ones out, new ones in, or the other way round.  Tables do not shrink, so
 * that there is room for what was there before. */
static bool swap(struct changes *c, bool back)
{
	bool ok = true;

	for (size_t i = 0; i < c->n; i++) {
		struct change *x = &c->v[i];
		struct memory_log *out = back ? x->fresh : x->old;
		struct memory_log *in = back ? x->old : x->fresh;

		if (out)
			table_remove(&c->m->logs, &out->node);
		if (in)
			ok = table_add(&c->m->logs, &in->node,
				       hash_bytes(&in->session,
						  sizeof(in->session))) == 0 &&
			     ok;
	}
	return ok;
}

static void free_logs(struct changes *c, bool old)
{
	for (size_t i = 0; i < c->n; i++) {
		struct memory_log *log = old ? c->v[i].old : c->v[i].fresh;

		if (log)
			memory_log_free(log);
	}
}

static int derive(struct memory *m, struct weft_error *err)
{
	CLEANUP(rebuild_done) struct rebuild fresh;
	struct store_report ignored = { .sessions = 0 };
	struct index old;
	int r;

	rebuild_init(&fresh);
	r = memory_derive(m, &fresh, &ignored, err);
	if (r < 0)
		return r;
	old = m->index;
	m->index = fresh.index;
	fresh.index = old;
	return WEFT_OK;
}

bool memory_is_rewrite(const struct op_list *ops)
{
	for (size_t i = 0; i < ops->n; i++) {
		uint32_t kind = ops->v[i].kind;

		if (kind == OP_REWRITE || kind == OP_DROP || kind == OP_UNNAME)
			return true;
	}
	return false;
}

int memory_rewrite(struct memory *m, const struct op_list *ops,
		   struct weft_error *err)
{
	struct changes c = { .m = m };
	int r;

	c.v = ARENA_ARRAY(ops->arena, struct change, ops->n);
	if (!c.v)
		return arena_error(ops->arena, err);
	r = prepare(&c, ops, err);
	if (r < 0) {
		free_logs(&c, false);
		return r;
	}
	(void)pthread_rwlock_wrlock(&m->lock);
	r = swap(&c, false) ? derive(m, err) : fail_no_memory(err);
	if (r < 0)
		(void)swap(&c, true);
	(void)pthread_rwlock_unlock(&m->lock);
	free_logs(&c, r == WEFT_OK);
	return r;
}

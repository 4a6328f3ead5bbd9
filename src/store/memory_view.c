/* memory_view.c - what a plan sees of a memory: store, with `writer` held. */
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "model/record.h"
#include "store/memory.h"

static struct memory *viewed(struct store_view *v)
{
	return ((struct memory_view *)(void *)v)->m;
}

static int view_get_session(struct store_view *v, const struct weft_id *id,
			    const struct session_rec **ret,
			    struct weft_error *err)
{
	const struct session_rec *rec = index_session(&viewed(v)->index, id);

	if (!rec)
		return fail(err, WEFT_NOT_FOUND, "no such session");
	*ret = rec;
	return WEFT_OK;
}

static int view_get_name(struct store_view *v, struct weft_str name,
			 struct name_rec *ret, struct weft_error *err)
{
	(void)err;
	*ret = index_name(&viewed(v)->index, name);
	return WEFT_OK;
}

static int view_get_names_of(struct store_view *v, const struct weft_id *id,
			     struct arena *a, struct name_rec **ret,
			     size_t *ret_n, struct weft_error *err)
{
	return index_names_of(&viewed(v)->index, id, a, ret, ret_n, err);
}

static int view_find_op(struct store_view *v, const struct weft_id *session,
			struct weft_str op, struct op_hit *ret,
			struct weft_error *err)
{
	if (!index_find_op(&viewed(v)->index, session, op, ret))
		return fail(err, WEFT_NOT_FOUND, "operation id not used yet");
	return WEFT_OK;
}

static int view_is_hidden(struct store_view *v, const struct weft_id *session,
			  uint64_t seq, uint32_t *ret, struct weft_error *err)
{
	(void)err;
	*ret = index_is_hidden(&viewed(v)->index, session, seq);
	return WEFT_OK;
}

static int view_read_events(struct store_view *v, const struct event_range *r,
			    struct arena *a, struct event_page *ret,
			    struct weft_error *err)
{
	return memory_log_read(viewed(v), r, a, ret, err);
}

struct children {
	const struct weft_id *parent;
	struct session_rec *v;
	size_t n;
	struct arena *arena;
	struct weft_error *err;
	int status;
};

static void add_child(void *ctx, struct table_node *node)
{
	const struct session_rec *rec =
		&TABLE_ENTRY(node, struct index_session, node)->own.rec;
	struct children *c = ctx;

	if (id_is_zero(&rec->id) || !id_eq(&rec->parent, c->parent))
		return;
	if (c->v && c->status == WEFT_OK)
		c->status = record_copy(&c->v[c->n], rec, c->arena, c->err);
	c->n++;
}

static int by_id(const void *a, const void *b)
{
	return id_cmp(&((const struct session_rec *)a)->id,
		      &((const struct session_rec *)b)->id);
}

static int view_get_children(struct store_view *v, const struct weft_id *id,
			     struct arena *a, struct session_rec **ret,
			     size_t *ret_n, struct weft_error *err)
{
	struct children c = { .parent = id, .arena = a, .err = err };
	struct table *sessions = &viewed(v)->index.sessions;

	/* Once to count, once to fill. */
	table_each(sessions, add_child, &c);
	c.v = ARENA_ARRAY(a, struct session_rec, c.n);
	if (!c.v)
		return arena_error(a, err);
	c.n = 0;
	table_each(sessions, add_child, &c);
	SORT(c.v, c.n, by_id);
	*ret = c.v;
	*ret_n = c.n;
	return c.status;
}

const struct store_view_ops memory_view_ops = {
	.get_session = view_get_session,
	.get_name = view_get_name,
	.get_names_of = view_get_names_of,
	.find_op = view_find_op,
	.is_hidden = view_is_hidden,
	.read_events = view_read_events,
	.get_children = view_get_children,
};

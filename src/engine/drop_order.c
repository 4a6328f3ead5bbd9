/*
 * drop_order.c - which session before which.
 *
 * Whoever has inherited goes before its parent, which is free to go only then;
 * whoever pays for another is purged before it, so that nobody is told what it
 * costs only to be purged.  Ids do not say who came first: clocks jump.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "engine/drop.h"

/* A session, and how many there are above it. */
struct placed {
	struct weft_id id;
	uint64_t depth;
};

static int by_id(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return id_cmp(&x->id, &y->id);
}

static int by_depth(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return id_cmp(&x->id, &y->id);
}

/* The depth of v[i]; v[0..i) know theirs, and are sorted by id. */
static int find_depth(struct dropping *d, struct placed *v, size_t i)
{
	const struct store_limits *limits = engine_limits(d->engine);
	const uint64_t max = limits->fork_depth + limits->subagent_depth;
	struct store *s = d->engine->store;
	struct placed up = { .id = v[i].id };

	for (uint64_t depth = 0; depth <= max; depth++) {
		const struct placed *known = NULL;
		struct session_rec rec = { .kind = 0 };
		int r;

		if (depth && i)
			known = bsearch(&up, v, i, sizeof(*v), by_id);
		v[i].depth = depth + (known ? known->depth : 0);
		if (known)
			break;
		r = s->ops->get_sessions(s, &up.id, 1, d->arena, &rec, d->err);
		if (r < 0)
			return r;
		if (id_is_zero(&rec.id) || id_is_zero(&rec.parent))
			break;
		up.id = rec.parent;
	}
	return WEFT_OK;
}

int dropping_sort(struct dropping *d, struct weft_id *ids, size_t n,
		  bool parents_first)
{
	struct placed *v;
	int r = WEFT_OK;

	if (n < 2)
		return WEFT_OK;
	v = ARENA_ARRAY(d->arena, struct placed, n);
	if (!v)
		return arena_error(d->arena, d->err);
	for (size_t i = 0; i < n; i++)
		v[i].id = ids[i];
	SORT(v, n, by_id);
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = find_depth(d, v, i);
	SORT(v, n, by_depth);
	for (size_t i = 0; i < n; i++)
		ids[i] = v[parents_first ? i : n - 1 - i].id;
	return r;
}

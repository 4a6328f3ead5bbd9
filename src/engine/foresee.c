/*
 * foresee.c - plan a request without writing.
 *
 * Where a store may only be read, what would change nothing can still be
 * answered: what a purge would drop, the session that has a key.  The planner
 * gets a view that is made of the store's own reads.  It is not held still
 * meanwhile, so the answer is as good as that of any other read.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"
#include "model/derive.h"

#include <stdlib.h>

struct reader {
	struct store_view view;
	struct store *store;
	struct arena arena; /* of what the view hands out */
};

static struct reader *reader_of(struct store_view *v)
{
	return (struct reader *)(void *)v;
}

static int get_session(struct store_view *v, const struct weft_id *id,
		       const struct session_rec **ret, struct weft_error *err)
{
	struct reader *x = reader_of(v);
	struct session_rec *rec = ARENA_NEW(&x->arena, struct session_rec);
	int r;

	if (!rec)
		return arena_error(&x->arena, err);
	r = x->store->ops->get_sessions(x->store, id, 1, &x->arena, rec, err);
	*ret = rec;
	if (r == WEFT_OK && id_is_zero(&rec->id))
		r = fail(err, WEFT_NOT_FOUND, "no such session");
	return r;
}

static int get_name(struct store_view *v, struct weft_str name,
		    struct name_rec *ret, struct weft_error *err)
{
	struct reader *x = reader_of(v);

	return x->store->ops->get_names(x->store, &name, 1, &x->arena, ret,
					err);
}

static int get_names_of(struct store_view *v, const struct weft_id *id,
			struct arena *a, struct name_rec **ret, size_t *ret_n,
			struct weft_error *err)
{
	struct store *s = reader_of(v)->store;
	struct session_names names = { 0 };
	int r = s->ops->get_names_of(s, id, 1, a, &names, err);

	*ret = names.v;
	*ret_n = names.n;
	return r;
}

/* Only who writes is told where an operation id was used. */
static int find_op(struct store_view *v, const struct weft_id *session,
		   struct weft_str op, struct op_hit *ret,
		   struct weft_error *err)
{
	(void)v, (void)session, (void)op, (void)ret;
	return fail_read_only(err);
}

static int is_hidden(struct store_view *v, const struct weft_id *session,
		     uint64_t seq, uint32_t *ret, struct weft_error *err)
{
	struct reader *x = reader_of(v);
	uint64_t *hidden;
	size_t n = 0;
	int r = x->store->ops->get_hidden(x->store, session, seq, seq,
					  &x->arena, &hidden, &n, err);

	*ret = n > 0;
	return r;
}

static int read_events(struct store_view *v, const struct event_range *range,
		       struct arena *a, struct event_page *ret,
		       struct weft_error *err)
{
	struct store *s = reader_of(v)->store;

	return s->ops->read_events(s, range, a, ret, err);
}

static int by_id(const void *a, const void *b)
{
	const struct session_rec *x = a, *y = b;

	return memcmp(&x->id, &y->id, sizeof(x->id));
}

static int get_children(struct store_view *v, const struct weft_id *id,
			struct arena *a, struct session_rec **ret,
			size_t *ret_n, struct weft_error *err)
{
	struct list_query q = { .parent = *id,
				.deleted = LIST_WITH_PURGED,
				.sort = LIST_BY_CREATION };
	struct session_page page = { .more = 1 };
	struct store *s = reader_of(v)->store;
	struct session_rec *all = NULL;
	size_t n = 0;

	while (page.more) {
		struct session_rec *more;
		int r = s->ops->list(s, &q, a, &page, err);

		if (r < 0)
			return r;
		if (page.n == 0)
			break;
		more = ARENA_ARRAY(a, struct session_rec, n + page.n);
		if (!more)
			return arena_error(a, err);
		if (n)
			memcpy(more, all, n * sizeof(*all));
		memcpy(more + n, page.v, page.n * sizeof(*all));
		all = more;
		n += page.n;
		q.cursor_ms = all[n - 1].created_at;
		q.cursor_id = all[n - 1].id;
	}
	if (n)
		qsort(all, n, sizeof(*all), by_id);
	*ret = all;
	*ret_n = n;
	return WEFT_OK;
}

static const struct store_view_ops reader_ops = {
	.get_session = get_session,
	.get_name = get_name,
	.get_names_of = get_names_of,
	.find_op = find_op,
	.is_hidden = is_hidden,
	.read_events = read_events,
	.get_children = get_children,
};

int fail_read_only(struct weft_error *err)
{
	return fail(err, WEFT_READ_ONLY,
		    "the store was opened for reading only");
}

bool request_may_change_nothing(const struct request *q)
{
	return q->dry ||
	       (q->kind == REQUEST_CREATE && q->create.key.len && !q->op.len);
}

int engine_foresee(struct engine *e, struct request *q, struct weft_error *err)
{
	struct reader x = { .view.ops = &reader_ops, .store = e->store };
	struct op_list ops = { .arena = &x.arena };
	struct plan p;
	int r;

	arena_init(&x.arena, 0);
	plan_init(&p, e);
	q->next = NULL;
	p.requests = q;
	r = plan_batch(&p, &x.view, &ops, err);
	if (r == WEFT_OK && q->status < 0 && err)
		*err = q->err;
	if (r == WEFT_OK)
		r = q->status;
	if (r == WEFT_OK && ops.n)
		r = fail_read_only(err);
	plan_done(&p);
	arena_done(&x.arena);
	return r;
}

/*
 * verify.c - is everything there that sessions refer to?
 *
 * A store looks at its lines, and knows nothing of forks: whether what a fork
 * has inherited is still there is seen here.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"
#include "store/store.h"

static int report_orphan(const struct session_rec *fork,
			 const struct session_rec *parent,
			 struct store_report *report, struct weft_error *err)
{
	char from[WEFT_ID_CHARS + 1];

	id_format(&fork->parent, from);
	if (id_is_zero(&parent->id))
		return report_problem(report, &fork->id, NULL, 0, 0, err,
				      "session %s, from which it was forked, "
				      "is missing: restore it, then run 'weft "
				      "reindex'",
				      from);
	return report_problem(report, &fork->id, NULL, 0, 0, err,
			      "session %s, from which it was forked at %llu, "
			      "ends at %llu",
			      from, (unsigned long long)fork->fork_seq,
			      (unsigned long long)parent->head_seq);
}

/* The forks among v[0..n): each has a parent, which reaches to its fork point. */
static int check_page(struct engine *e, const struct session_rec *v, size_t n,
		      struct arena *a, struct store_report *report,
		      struct weft_error *err)
{
	struct weft_id *ids = ARENA_ARRAY(a, struct weft_id, n);
	struct session_rec *parents = ARENA_ARRAY(a, struct session_rec, n);
	int r;

	if (n == 0)
		return WEFT_OK;
	if (!ids || !parents)
		return arena_error(a, err);
	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].fork_seq ? v[i].parent : v[i].id;
	r = e->store->ops->get_sessions(e->store, ids, n, a, parents, err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		if (parents[i].head_seq < v[i].fork_seq)
			r = report_orphan(&v[i], &parents[i], report, err);
	}
	return r;
}

static int check_forks(struct engine *e, struct store_report *report,
		       struct weft_error *err)
{
	struct list_query q = { .deleted = LIST_WITH_PURGED,
				.sort = LIST_BY_CREATION };
	struct session_page page = { .more = 1 };
	CLEANUP(arena_done) struct arena a;
	int r = WEFT_OK;

	arena_init(&a, 0);
	while (page.more && r == WEFT_OK) {
		arena_reset(&a);
		r = e->store->ops->list(e->store, &q, &a, &page, err);
		if (r < 0 || page.n == 0)
			break;
		r = check_page(e, page.v, page.n, &a, report, err);
		q.cursor_ms = page.v[page.n - 1].created_at;
		q.cursor_id = page.v[page.n - 1].id;
	}
	return r;
}

int engine_verify(struct engine *e, struct store_report *report,
		  struct weft_error *err)
{
	int r = e->store->ops->maintain(e->store, TASK_VERIFY, report, err);

	return r == WEFT_OK ? check_forks(e, report, err) : r;
}

/*
 * plan_purge.c - the first step of a purge: nobody sees the session any more.
 *
 * Its subagents go with it, being part of the same conversation.  What it has
 * spent is told to whoever pays for it, once and for all: the session that
 * could say so will be gone.  Dropping the lines comes later (plan_rewrite.c);
 * should that not come to pass, maintenance goes on from here.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/body.h"
#include "model/record.h"

/* The sessions to be purged, parents before their subagents. */
struct purge_set {
	struct plan_session **v;
	size_t n, room;
};

static int add_to_set(struct plan *p, struct purge_set *set,
		      struct plan_session *s, struct weft_error *err)
{
	if (set->n == set->room) {
		size_t room = set->room ? 2 * set->room : 8;
		struct plan_session **v =
			ARENA_ARRAY(&p->arena, struct plan_session *, room);

		if (!v)
			return arena_error(&p->arena, err);
		if (set->n)
			memcpy(v, set->v, set->n * sizeof(*v));
		set->v = v;
		set->room = room;
	}
	set->v[set->n++] = s;
	return WEFT_OK;
}

static bool is_subagent(const struct session_rec *rec)
{
	return rec->kind == KIND_SUBAGENT && rec->fork_seq == 0;
}

/* Add the subagents of set->v[i]. */
static int add_subagents(struct plan *p, struct purge_set *set, size_t i,
			 struct weft_error *err)
{
	struct session_rec *children = NULL;
	size_t n = 0;
	int r = p->view->ops->get_children(p->view, &set->v[i]->rec.id,
					   &p->arena, &children, &n, err);

	for (size_t k = 0; k < n && r == WEFT_OK; k++) {
		struct plan_session *s;

		if (!is_subagent(&children[k]))
			continue;
		r = plan_find(p, &children[k].id, &s, err);
		if (r == WEFT_OK)
			r = add_to_set(p, set, s, err);
	}
	return r;
}

/* Whoever pays for it is told; if that was purged too, nobody asks. */
static int tell_payer(struct plan *p, const struct plan_session *s,
		      struct weft_error *err)
{
	const struct weft_str no_op = { NULL, 0 };
	struct plan_session *payer;
	int r;

	if (!is_subagent(&s->rec) || totals_are_zero(&s->rec.total))
		return WEFT_OK;
	r = plan_find(p, &s->rec.parent, &payer, err);
	if (r == WEFT_NOT_FOUND || (r == WEFT_OK && payer->rec.purged_at))
		return WEFT_OK;
	if (r == WEFT_OK)
		r = plan_check_room(payer, 1, err);
	if (r < 0)
		return r;
	buf_reset(&p->body);
	body_usage(&p->body, &s->rec.total);
	return plan_add_body(p, payer, EVENT_USAGE, no_op, 0, err);
}

static int purge_one(struct plan *p, struct plan_session *s,
		     struct weft_error *err)
{
	const struct weft_str no_op = { NULL, 0 };
	struct name_rec *names = NULL;
	size_t n = 0;
	int r;

	if (s->rec.purged_at)
		return WEFT_OK;
	r = tell_payer(p, s, err);
	if (r == WEFT_OK)
		r = plan_names_of(p, s, &names, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		names[i].session = (struct weft_id){ { 0 } };
		names[i].ver++;
	}
	buf_reset(&p->body);
	body_names(&p->body, names, n);
	return plan_add_body(p, s, EVENT_PURGE, no_op, 0, err);
}

static int check(struct plan *p, const struct purge_set *set, size_t i,
		 const struct request *q, struct weft_error *err)
{
	struct request without_token = { .token = 0 };
	const struct plan_session *s = set->v[i];
	int r;

	if (s->rec.purged_at)
		return WEFT_OK;
	/* A token is for the one session that was named. */
	r = plan_check_lease(p, s, i ? &without_token : q, err);
	return r == WEFT_OK ? plan_check_room(s, 1, err) : r;
}

static int answer(struct request *q, const struct purge_set *set,
		  struct weft_error *err)
{
	q->ret_sessions = ARENA_ARRAY(&q->arena, struct weft_id, set->n);
	if (!q->ret_sessions)
		return arena_error(&q->arena, err);
	for (size_t i = 0; i < set->n; i++)
		q->ret_sessions[i] = set->v[i]->rec.id;
	q->n_ret_sessions = set->n;
	return WEFT_OK;
}

int plan_purge(struct plan *p, struct request *q, struct weft_error *err)
{
	struct purge_set set = { .n = 0 };
	struct plan_session *s;
	int r = plan_find(p, &q->session, &s, err);

	if (r == WEFT_OK)
		r = add_to_set(p, &set, s, err);
	for (size_t i = 0; i < set.n && r == WEFT_OK; i++)
		r = add_subagents(p, &set, i, err);
	for (size_t i = 0; i < set.n && r == WEFT_OK; i++)
		r = check(p, &set, i, q, err);
	if (r == WEFT_OK)
		r = answer(q, &set, err);
	for (size_t i = 0; i < set.n && r == WEFT_OK && !q->dry; i++)
		r = purge_one(p, set.v[i], err);
	return r;
}

/*
 * plan_promote.c - take over a conversation that exists only under an older
 * name.
 *
 * DESIGN: nothing is copied.  The new session is a fork of the old one at its
 * last event, so that summary and window are the old one's, and it takes over
 * the old one's names in the same write.  Since the names are gone from there,
 * it happens once.  Whoever goes on writing to the old session by its id talks
 * to nobody; routing says so.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"

/* What the conversation was set to; who speaks where is known better now. */
static void inherit(struct session_rec *rec, const struct session_rec *old)
{
	rec->slug = old->slug;
	rec->project_dir = old->project_dir;
	rec->model_provider = old->model_provider;
	rec->model_name = old->model_name;
	if (!rec->user_role.len)
		rec->user_role = old->user_role;
	rec->tools = old->tools;
	rec->metadata = old->metadata;
	rec->expires_at = old->expires_at;
}

/* The old names as the plan has them now, all as aliases, then the new ones. */
static int join_names(struct plan *p, const struct name_rec *v, size_t n,
		      const struct plan_new_names *more,
		      struct plan_new_names *ret, struct weft_error *err)
{
	*ret = (struct plan_new_names){ .key = more->key };
	ret->aliases = ARENA_ARRAY(&p->arena, struct plan_name *,
				   n + more->n_aliases + 1);
	if (!ret->aliases)
		return arena_error(&p->arena, err);
	for (size_t i = 0; i < n; i++) {
		int r = plan_find_name(p, v[i].name,
				       &ret->aliases[ret->n_aliases++], err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < more->n_aliases; i++) {
		if (!plan_is_taken(ret, more->aliases[i]) &&
		    ret->n_aliases + 1 < p->limits->names)
			ret->aliases[ret->n_aliases++] = more->aliases[i];
	}
	return WEFT_OK;
}

int plan_promote(struct plan *p, struct request *q, struct plan_session *old,
		 const struct plan_new_names *more, struct weft_error *err)
{
	struct session_rec asked = q->create;
	struct weft_id root =
		id_is_zero(&old->rec.root) ? old->rec.id : old->rec.root;
	struct plan_new_names names;
	struct name_rec *v;
	size_t n;
	int r = plan_names_of(p, old, &v, &n, err);

	if (r < 0)
		return r;
	/* The key of the new session is a name, too. */
	if (n >= p->limits->names)
		n = (size_t)p->limits->names - 1;
	inherit(&q->create, &old->rec);
	r = plan_fork_head(p, old, &q->create, err);
	if (r == WEFT_OK)
		r = join_names(p, v, n, more, &names, err);
	if (r == WEFT_OK)
		r = plan_check_room(old, n, err);
	if (r == WEFT_OK)
		r = plan_drop_names(p, old, v, n, err);
	if (r == WEFT_OK) {
		r = plan_add_session(p, q, &root, &names, err);
		/* Half of it is in the plan already. */
		p->broken |= r < 0;
	}
	q->create = asked;
	if (r == WEFT_OK)
		q->ret_promoted = old->rec.id;
	return r;
}

/*
 * plan_route.c - find the session of a route, or make it.
 *
 * Inside the lock: whoever comes second with the same new context finds what
 * the first one made, in whatever process that was.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"

/* Who holds a name; NULL if nobody does. */
static int find_holder(struct plan *p, struct weft_str name,
		       struct plan_name **ret_name, struct plan_session **ret,
		       struct weft_error *err)
{
	int r = plan_find_name(p, name, ret_name, err);

	*ret = NULL;
	if (r < 0 || id_is_zero(&(*ret_name)->rec.session))
		return r;
	return plan_find(p, &(*ret_name)->rec.session, ret, err);
}

/* Those of the request's aliases that are free, as far as there is room beside
 * `n_held` names. */
static int free_aliases(struct plan *p, const struct request *q, size_t n_held,
			struct plan_new_names *names, struct weft_error *err)
{
	names->aliases =
		ARENA_ARRAY(&p->arena, struct plan_name *, q->n_aliases + 1);
	if (!names->aliases)
		return arena_error(&p->arena, err);
	for (size_t i = 0; i < q->n_aliases; i++) {
		struct plan_name *x;
		int r = plan_find_name(p, q->aliases[i], &x, err);

		if (r < 0)
			return r;
		if (id_is_zero(&x->rec.session) && !plan_is_taken(names, x) &&
		    names->n_aliases + n_held < p->limits->names)
			names->aliases[names->n_aliases++] = x;
	}
	return WEFT_OK;
}

/* The person is known from another channel: this key is theirs as well. */
static int join_person(struct plan *p, struct request *q,
		       struct plan_session *s, const struct plan_name *key,
		       struct weft_error *err)
{
	int r = plan_give_name(p, q, s, NULL, key, err);

	plan_answer_existing(q, &s->rec);
	/* Without room for the name they are found the long way again. */
	return r == WEFT_LIMIT ? WEFT_OK : r;
}

/* The names that a session which was never routed is given now. */
static int find_new_names(struct plan *p, const struct request *q,
			  const struct plan_session *s,
			  struct plan_new_names *ret, struct weft_error *err)
{
	struct name_rec *held;
	size_t n;
	int r = plan_names_of(p, s, &held, &n, err);

	return r < 0 ? r : free_aliases(p, q, n, ret, err);
}

/* Write down what a session that was found does not say yet: all of it in one
 * write, or nothing if it says everything. */
static int complete(struct plan *p, struct request *q, struct plan_session *s,
		    struct weft_error *err)
{
	const struct weft_str no_op = { NULL, 0 };
	struct plan_new_names names = { 0 };
	struct route_lacks lacks;
	int r = WEFT_OK;

	route_find_lacks(q->route, &s->rec, &p->arena, &lacks);
	q->ret_several = lacks.several;
	if (lacks.scope) {
		lacks.patch.scope = q->create.scope;
		r = find_new_names(p, q, s, &names, err);
	}
	if (r == WEFT_OK && p->arena.failed)
		r = arena_error(&p->arena, err);
	if (r < 0 || routed_patch_is_empty(&lacks.patch))
		return r;
	r = plan_check_room(s, 1 + names.n_aliases, err);
	if (r < 0)
		return r;
	buf_reset(&p->body);
	body_routed(&p->body, &lacks.patch);
	r = plan_add_body(p, s, EVENT_PATCH, no_op, (uint32_t)names.n_aliases,
			  err);
	return r < 0 ? r : plan_add_aliases(p, s, &names, err);
}

/* Answer with a session that was found, or with the one that follows it. */
static int take_found(struct plan *p, struct request *q, struct plan_session *s,
		      bool holds_person, struct weft_error *err)
{
	int r = route_check_hit(q->route, &s->rec, holds_person, &p->arena,
				err);

	plan_answer_existing(q, &s->rec);
	if (r < 0)
		return r;
	if (!route_is_over(q->route, &s->rec, p->now_ms))
		return complete(p, q, s, err);
	return plan_begin_anew(p, q, s, err);
}

/* The conversation of this route under an older name; NULL if there is none. */
static int find_older(struct plan *p, const struct request *q,
		      struct plan_session **ret, struct weft_error *err)
{
	const struct name_list *l = &q->route->aliases;

	*ret = NULL;
	for (size_t i = 0; i < l->n; i++) {
		struct plan_session *s;
		struct plan_name *x;
		int r;

		if (!route_may_claim(q->route, l->v[i]))
			continue;
		r = find_holder(p, l->v[i], &x, &s, err);
		if (r < 0)
			return r;
		if (s && route_may_promote(&x->rec, &s->rec)) {
			*ret = s;
			return WEFT_OK;
		}
	}
	return WEFT_OK;
}

/* Whoever has the key only as an alias, and is of another conversation, gives
 * it up; *holder is then *ret, and nobody holds it. */
static int find_displaced(struct plan *p, const struct request *q,
			  const struct plan_name *key,
			  struct plan_session **holder,
			  struct plan_session **ret, struct weft_error *err)
{
	bool displaces = false;
	int r = WEFT_OK;

	*ret = NULL;
	if (*holder)
		r = route_displaces(q->route, &key->rec, &(*holder)->rec,
				    &p->arena, &displaces, err);
	if (r < 0 || !displaces)
		return r;
	*ret = *holder;
	*holder = NULL;
	return plan_check_room(*ret, 1, err);
}

/* Make the session, behind the one that goes on, or had its key. */
static int make_session(struct plan *p, struct request *q,
			struct plan_session *displaced,
			struct plan_new_names *names, struct weft_error *err)
{
	const struct weft_id no_root = { { 0 } };
	struct plan_session *older = NULL;
	int r = free_aliases(p, q, 1, names, err);

	if (r == WEFT_OK)
		r = find_older(p, q, &older, err);
	if (r == WEFT_OK && older)
		r = route_check_owner(q->route, &older->rec, &p->arena, err);
	if (r == WEFT_OK && displaced)
		r = plan_drop_names(p, displaced, &names->key->rec, 1, err);
	if (r < 0)
		return r;
	r = older ? plan_promote(p, q, older, names, err) :
		    plan_add_session(p, q, &no_root, names, err);
	if (displaced && r == WEFT_OK)
		q->ret_displaced = displaced->rec.id;
	/* Half of it is in the plan already. */
	p->broken |= displaced && r < 0;
	return r;
}

int plan_route(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *holder, *person = NULL, *displaced = NULL;
	struct plan_new_names names = { 0 };
	struct plan_name *x;
	int r = find_holder(p, q->create.key, &names.key, &holder, err);

	if (r == WEFT_OK && q->route->person.len)
		r = find_holder(p, q->route->person, &x, &person, err);
	if (r == WEFT_OK)
		r = find_displaced(p, q, names.key, &holder, &displaced, err);
	if (r < 0)
		return r;
	if (holder)
		return take_found(p, q, holder, holder == person, err);
	if (person && q->route->linked) {
		r = take_found(p, q, person, true, err);
		return r < 0 || q->ret_created ?
			       r :
			       join_person(p, q, person, names.key, err);
	}
	return make_session(p, q, displaced, &names, err);
}

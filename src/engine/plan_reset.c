/*
 * plan_reset.c - begin anew under the same key.
 *
 * The names go to a new session, in one write, so that everybody who asks for
 * one of them finds either the old session or the new one.  Nothing that was
 * said is touched: the old session is the new one's `previous`, and found by
 * its id.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/body.h"

int plan_drop_names(struct plan *p, struct plan_session *s,
		    const struct name_rec *v, size_t n, struct weft_error *err)
{
	const struct weft_str no_op = { NULL, 0 };
	int r = WEFT_OK;

	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		struct name_rec gone = v[i];

		gone.session = (struct weft_id){ { 0 } };
		gone.ver++;
		buf_reset(&p->body);
		body_name(&p->body, &gone, true);
		r = plan_add_body(p, s, EVENT_NAME, no_op, 0, err);
	}
	return r;
}

/* The same names as the plan has them now, for their new owner. */
static int take_names(struct plan *p, const struct name_rec *v, size_t n,
		      struct plan_new_names *ret, struct weft_error *err)
{
	ret->aliases = ARENA_ARRAY(&p->arena, struct plan_name *, n + 1);
	if (!ret->aliases)
		return arena_error(&p->arena, err);
	for (size_t i = 0; i < n; i++) {
		struct plan_name *x;
		int r = plan_find_name(p, v[i].name, &x, err);

		if (r < 0)
			return r;
		if (v[i].kind == NAME_KEY)
			ret->key = x;
		else
			ret->aliases[ret->n_aliases++] = x;
	}
	return WEFT_OK;
}

/* What a session is set to, but for its title, stays so. */
static struct session_rec heir_of(const struct session_rec *old,
				  const struct session_rec *asked)
{
	struct session_rec rec = *asked;

	rec.kind = old->kind;
	rec.previous = old->id;
	if (old->scope.len)
		rec.scope = old->scope;
	rec.project_dir = old->project_dir;
	rec.model_provider = old->model_provider;
	rec.model_name = old->model_name;
	if (!rec.user_role.len)
		rec.user_role = old->user_role;
	rec.tools = old->tools;
	rec.metadata = old->metadata;
	return rec;
}

int plan_begin_anew(struct plan *p, struct request *q, struct plan_session *old,
		    struct weft_error *err)
{
	const struct weft_id no_root = { { 0 } };
	struct session_rec asked = q->create;
	struct plan_new_names names = { 0 };
	struct name_rec *v;
	size_t n;
	int r = plan_names_of(p, old, &v, &n, err);

	if (r == WEFT_OK)
		r = take_names(p, v, n, &names, err);
	if (r == WEFT_OK)
		r = plan_check_room(old, n, err);
	if (r == WEFT_OK)
		r = plan_drop_names(p, old, v, n, err);
	if (r < 0)
		return r;
	q->create = heir_of(&old->rec, &asked);
	q->create.key = names.key ? names.key->rec.name : STR("");
	r = plan_add_session(p, q, &no_root, &names, err);
	q->create = asked;
	/* Half of it is in the plan already. */
	p->broken |= r < 0;
	return r;
}

/* Whether a session began in the place of the one that is asked for.  Whoever
 * asks again by a name means the new one by now, or one that came after it. */
static bool is_same_reset(const struct request *q,
			  const struct session_rec *made)
{
	if (id_is_zero(&made->previous))
		return false;
	return id_eq(&made->previous, &q->session) ||
	       id_eq(&made->id, &q->session) ||
	       (q->create.key.len && str_eq(made->key, q->create.key));
}

int plan_reset(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	q->create.key = s->rec.key;
	r = plan_replay_creation(p, q, is_same_reset, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = plan_check_live(s, err);
	if (r == WEFT_OK)
		r = plan_check_lease(p, s, q, err);
	if (r < 0)
		return r;
	if (!s->rec.key.len)
		return fail(err, WEFT_CONFLICT,
			    "the session has no key to begin anew under");
	if (s->rec.kind != KIND_PRIMARY)
		return fail(err, WEFT_CONFLICT,
			    "only a conversation can begin anew");
	q->create = (struct session_rec){
		.agent = s->rec.agent,
		.user = s->rec.user,
		.channel = s->rec.channel,
		.scope = s->rec.scope,
	};
	return plan_begin_anew(p, q, s, err);
}

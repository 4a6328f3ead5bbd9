/* plan_names.c - who holds a name: alias, delete, restore. */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/body.h"
#include "model/derive.h"
#include "route/retention.h"

/* `q`: the request that it is the answer to, or NULL. */
static int add_name_event(struct plan *p, struct plan_session *s,
			  const struct name_rec *name, bool gone,
			  const struct request *q, struct weft_error *err)
{
	const struct weft_str no_op = { NULL, 0 };

	buf_reset(&p->body);
	body_name(&p->body, name, gone);
	return q ? plan_add_asked(p, s, EVENT_NAME, q, 0, err) :
		   plan_add_body(p, s, EVENT_NAME, no_op, 0, err);
}

static int name_exists(const struct name_rec *name, struct weft_error *err)
{
	char id[WEFT_ID_CHARS + 1];

	id_format(&name->session, id);
	return fail(err, WEFT_EXISTS, "name '%.*s' belongs to session %s",
		    STR_ARG(name->name), id);
}

/* One more name must fit. */
static int check_name_count(struct plan *p, const struct plan_session *s,
			    struct weft_error *err)
{
	struct name_rec *v;
	size_t n;
	int r = plan_names_of(p, s, &v, &n, err);

	if (r == WEFT_OK && n >= p->limits->names)
		r = fail(err, WEFT_LIMIT,
			 "a session has at most %llu names (limit names)",
			 (unsigned long long)p->limits->names);
	return r;
}

int plan_give_name(struct plan *p, struct request *q, struct plan_session *s,
		   struct plan_session *from, const struct plan_name *x,
		   struct weft_error *err)
{
	struct name_rec name = {
		.name = x->rec.name,
		.ver = x->rec.ver + 1,
		.kind = NAME_ALIAS,
	};
	uint64_t first_seq;
	int r = plan_check_room(s, 1, err);

	if (r == WEFT_OK && from)
		r = plan_check_room(from, 1, err);
	if (r == WEFT_OK)
		r = check_name_count(p, s, err);
	if (r < 0)
		return r;
	/* The later version is the taker's, so that it wins in any order. */
	if (from) {
		r = add_name_event(p, from, &name, true, NULL, err);
		name.ver++;
	}
	name.session = s->rec.id;
	first_seq = s->rec.head_seq + 1;
	if (r == WEFT_OK)
		r = add_name_event(p, s, &name, false, q, err);
	if (r < 0)
		return r;
	plan_answer(q, s, first_seq);
	q->ret_changed += from != NULL;
	return WEFT_OK;
}

static int take_name(struct plan *p, struct request *q, struct plan_session *s,
		     const struct plan_name *x, struct weft_error *err)
{
	struct plan_session *from;
	int r;

	if (id_eq(&x->rec.session, &s->rec.id))
		return WEFT_OK;
	if (id_is_zero(&x->rec.session))
		return plan_give_name(p, q, s, NULL, x, err);
	if (q->name_how != NAME_MOVE)
		return name_exists(&x->rec, err);
	if (x->rec.kind == NAME_KEY)
		return fail(err, WEFT_CONFLICT,
			    "'%.*s' is the key of a session and cannot be "
			    "moved",
			    STR_ARG(q->name));
	r = plan_find(p, &x->rec.session, &from, err);
	return r != WEFT_OK ? r : plan_give_name(p, q, s, from, x, err);
}

static int drop_name(struct plan *p, struct request *q, struct plan_session *s,
		     const struct plan_name *x, struct weft_error *err)
{
	struct name_rec name = {
		.name = x->rec.name,
		.ver = x->rec.ver + 1,
		.kind = NAME_ALIAS,
	};
	uint64_t first_seq = s->rec.head_seq + 1;
	int r;

	if (!id_eq(&x->rec.session, &s->rec.id))
		return fail(err, WEFT_NOT_FOUND,
			    "the session has no name '%.*s'", STR_ARG(q->name));
	if (x->rec.kind == NAME_KEY)
		return fail(err, WEFT_CONFLICT,
			    "'%.*s' is the key of the session and cannot be "
			    "removed",
			    STR_ARG(q->name));
	r = plan_check_room(s, 1, err);
	if (r == WEFT_OK)
		r = add_name_event(p, s, &name, true, q, err);
	if (r == WEFT_OK)
		plan_answer(q, s, first_seq);
	return r;
}

int plan_rename(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	struct plan_name *x = NULL;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, EVENT_NAME, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = plan_check_live(s, err);
	if (r == WEFT_OK)
		r = plan_check_expect(s, q, err);
	if (r == WEFT_OK)
		r = plan_find_name(p, q->name, &x, err);
	if (r != WEFT_OK)
		return r;
	if (q->name_how == NAME_REMOVE)
		return drop_name(p, q, s, x, err);
	return take_name(p, q, s, x, err);
}

/* ---- delete and restore ---- */

/* Write a delete or restore event that names v[0..n). */
static int add_names_event(struct plan *p, struct request *q,
			   struct plan_session *s, uint32_t type,
			   const struct name_rec *v, size_t n,
			   struct weft_error *err)
{
	uint64_t first_seq = s->rec.head_seq + 1;
	int r;

	buf_reset(&p->body);
	body_names(&p->body, v, n);
	r = plan_add_body(p, s, type, q->op, 0, err);
	if (r < 0)
		return r;
	plan_answer(q, s, first_seq);
	q->ret_count = n;
	return WEFT_OK;
}

int plan_delete(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	struct name_rec *v = NULL;
	size_t n = 0;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, EVENT_DELETE, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	if (s->rec.deleted_at ||
	    (q->retire && retention_protects(&s->rec, p->now_ms)))
		return WEFT_OK;
	r = plan_check_lease(p, s, q, err);
	if (r == WEFT_OK)
		r = plan_check_expect(s, q, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, 1, err);
	if (r == WEFT_OK)
		r = plan_names_of(p, s, &v, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		v[i].session = (struct weft_id){ { 0 } };
		v[i].ver++;
	}
	return add_names_event(p, q, s, EVENT_DELETE, v, n, err);
}

/* The names that the last deletion of a session freed, as ops. */
static int freed_names(struct plan *p, const struct plan_session *s,
		       struct op_list *ret, struct weft_error *err)
{
	struct session_rec scratch = s->rec;
	const struct store_event *e;
	int r = plan_last_event(p, s, EVENT_DELETE, &e, err);

	*ret = (struct op_list){ .arena = &p->arena };
	/* A deletion that cannot be read has no names to give back. */
	if (r == WEFT_NOT_FOUND)
		return WEFT_OK;
	return r < 0 ? r : derive_event(&scratch, e, NULL, ret, err);
}

/* Somebody has taken a name since; the answer says who. */
static int note_lost(struct request *q, const struct name_rec *freed,
		     const struct name_rec *now, size_t n_max,
		     struct weft_error *err)
{
	struct name_rec *lost;

	if (!q->ret_lost)
		q->ret_lost = ARENA_ARRAY(&q->arena, struct name_rec, n_max);
	if (!q->ret_lost)
		return arena_error(&q->arena, err);
	lost = &q->ret_lost[q->n_ret_lost++];
	*lost = (struct name_rec){ .name = arena_str(&q->arena, freed->name),
				   .session = now->session,
				   .kind = freed->kind };
	return lost->name.ptr ? WEFT_OK : arena_error(&q->arena, err);
}

/* Those of them that nobody has taken since, with their next version. */
static int names_still_free(struct plan *p, struct request *q,
			    const struct plan_session *s, struct name_rec **ret,
			    size_t *ret_n, struct weft_error *err)
{
	struct op_list freed;
	struct name_rec *v;
	size_t n = 0;
	int r = freed_names(p, s, &freed, err);

	if (r < 0)
		return r;
	v = ARENA_ARRAY(&p->arena, struct name_rec, freed.n);
	if (!v)
		return arena_error(&p->arena, err);
	for (size_t i = 0; i < freed.n; i++) {
		struct plan_name *x;

		if (freed.v[i].kind != OP_NAME)
			continue;
		r = plan_find_name(p, freed.v[i].u.name->name, &x, err);
		if (r < 0)
			return r;
		if (!id_is_zero(&x->rec.session)) {
			r = note_lost(q, freed.v[i].u.name, &x->rec, freed.n,
				      err);
			if (r < 0)
				return r;
			continue;
		}
		v[n] = *freed.v[i].u.name;
		v[n].session = s->rec.id;
		v[n++].ver = x->rec.ver + 1;
	}
	*ret = v;
	*ret_n = n;
	return WEFT_OK;
}

int plan_restore(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	struct name_rec *v = NULL;
	size_t n = 0;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, EVENT_RESTORE, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	if (!s->rec.deleted_at)
		return WEFT_OK;
	r = plan_check_expect(s, q, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, 1, err);
	if (r == WEFT_OK)
		r = names_still_free(p, q, s, &v, &n, err);
	if (r < 0)
		return r;
	return add_names_event(p, q, s, EVENT_RESTORE, v, n, err);
}

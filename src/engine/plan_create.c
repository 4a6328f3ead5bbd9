/* plan_create.c - new sessions, and changes of what is known of one. */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/body.h"
#include "model/derive.h"

void plan_answer_existing(struct request *q, const struct session_rec *rec)
{
	q->ret_session = rec->id;
	q->ret_seq = rec->fork_seq + 1;
	q->ret_id = id_of_event(&rec->id, rec->created_at, q->ret_seq);
}

typedef bool same_creation(const struct request *q,
			   const struct session_rec *made);

/* Whether the session was made by a request like this one. */
static int was_created_so(struct plan *p, const struct request *q,
			  const struct plan_session *s, same_creation *is_same,
			  bool *ret, struct weft_error *err)
{
	struct op_list ignored = { .arena = &p->arena };
	struct session_rec made = { 0 };
	const struct store_event *e;
	bool told = false;
	int r = plan_event_at(p, s, s->rec.fork_seq + 1, &e, err);

	if (r == WEFT_OK)
		r = plan_was_asked(p, q, e, &told, ret, err);
	if (r < 0 || told)
		return r;
	/* The record as its first event made it: the key may have been lost
	 * since. */
	r = derive_event(&made, e, NULL, &ignored, err);
	*ret = r == WEFT_OK && is_same(q, &made);
	return r;
}

int plan_replay_creation(struct plan *p, struct request *q,
			 bool (*is_same)(const struct request *q,
					 const struct session_rec *made),
			 struct weft_error *err)
{
	struct plan_session *s;
	struct op_hit hit = { 0 };
	bool same = false;
	int r;

	if (!q->op.len)
		return 0;
	r = plan_find_op(p, NULL, q->op, &hit, err);
	if (r < 0)
		return r == WEFT_NOT_FOUND ? 0 : r;
	r = plan_find(p, &hit.session, &s, err);
	if (r < 0)
		return r;
	r = was_created_so(p, q, s, is_same, &same, err);
	if (r < 0)
		return r;
	if (!same) {
		char id[WEFT_ID_CHARS + 1];

		id_format(&s->rec.id, id);
		return fail(err, WEFT_OP_MISMATCH,
			    "operation id '%.*s' was used for another "
			    "request, which made session %s",
			    STR_ARG(q->op), id);
	}
	plan_answer_existing(q, &s->rec);
	q->ret_count = 1;
	q->ret_replayed = 1;
	q->ret_created = 1;
	return 1;
}

static bool is_same_session(const struct request *q,
			    const struct session_rec *made)
{
	const struct session_rec *asked = &q->create;

	/* Neither a fork, nor one that began anew. */
	if (made->fork_seq || !id_is_zero(&made->previous))
		return false;
	return made->kind == asked->kind && str_eq(made->key, asked->key) &&
	       id_eq(&made->parent, &asked->parent) &&
	       str_eq(made->parent_tool_use_id, asked->parent_tool_use_id);
}

/* 1 and the session that has the key; 0 if it is free. */
static int find_keyed(struct plan *p, struct request *q,
		      struct plan_name **ret_key, struct weft_error *err)
{
	struct plan_session *s;
	int r;

	*ret_key = NULL;
	if (!q->create.key.len)
		return 0;
	r = plan_find_name(p, q->create.key, ret_key, err);
	if (r < 0)
		return r;
	if (id_is_zero(&(*ret_key)->rec.session))
		return 0;
	r = plan_find(p, &(*ret_key)->rec.session, &s, err);
	if (r < 0)
		return r;
	plan_answer_existing(q, &s->rec);
	return 1;
}

/* How many subagents there are from `s` up to the session at the root. */
static int subagent_depth(struct plan *p, struct plan_session *s, uint64_t *ret,
			  struct weft_error *err)
{
	uint64_t hops_max = p->limits->subagent_depth + p->limits->fork_depth;
	uint64_t depth = 0;

	for (uint64_t hops = 0; hops <= hops_max; hops++) {
		int r;

		if (s->rec.kind != KIND_SUBAGENT ||
		    id_is_zero(&s->rec.parent)) {
			*ret = depth;
			return WEFT_OK;
		}
		/* A fork is as deep as what it was forked from. */
		if (s->rec.fork_seq == 0)
			depth++;
		r = plan_find(p, &s->rec.parent, &s, err);
		if (r < 0)
			return r;
	}
	return fail(err, WEFT_LIMIT, "more than %llu sessions deep",
		    (unsigned long long)hops_max);
}

/* Check the parent of a subagent, and find out its root. */
static int check_parent(struct plan *p, const struct request *q,
			struct weft_id *ret_root, struct weft_error *err)
{
	struct plan_session *parent;
	uint64_t depth = 0;
	int r;

	*ret_root = (struct weft_id){ { 0 } };
	if (id_is_zero(&q->create.parent))
		return WEFT_OK;
	r = plan_find(p, &q->create.parent, &parent, err);
	if (r < 0)
		return r;
	r = plan_check_live(parent, err);
	if (r == WEFT_OK)
		r = subagent_depth(p, parent, &depth, err);
	if (r < 0)
		return r;
	if (depth + 1 > p->limits->subagent_depth)
		return fail(err, WEFT_LIMIT,
			    "more than %llu subagents deep (limit "
			    "subagent_depth)",
			    (unsigned long long)p->limits->subagent_depth);
	*ret_root = id_is_zero(&parent->rec.root) ? parent->rec.id :
						    parent->rec.root;
	return WEFT_OK;
}

bool plan_is_taken(const struct plan_new_names *names,
		   const struct plan_name *x)
{
	if (names->key == x)
		return true;
	for (size_t i = 0; i < names->n_aliases; i++) {
		if (names->aliases[i] == x)
			return true;
	}
	return false;
}

static int check_aliases(struct plan *p, const struct request *q,
			 struct plan_new_names *names, struct weft_error *err)
{
	names->aliases =
		ARENA_ARRAY(&p->arena, struct plan_name *, q->n_aliases);
	if (!names->aliases)
		return arena_error(&p->arena, err);
	for (size_t i = 0; i < q->n_aliases; i++) {
		struct plan_name *x;
		int r = plan_find_name(p, q->aliases[i], &x, err);

		if (r < 0)
			return r;
		if (!id_is_zero(&x->rec.session)) {
			char id[WEFT_ID_CHARS + 1];

			id_format(&x->rec.session, id);
			return fail(err, WEFT_EXISTS,
				    "name '%.*s' belongs to session %s",
				    STR_ARG(q->aliases[i]), id);
		}
		if (!plan_is_taken(names, x))
			names->aliases[names->n_aliases++] = x;
	}
	return WEFT_OK;
}

int plan_add_aliases(struct plan *p, struct plan_session *s,
		     const struct plan_new_names *names, struct weft_error *err)
{
	const struct weft_str no_op = { NULL, 0 };
	int r = WEFT_OK;

	for (size_t i = 0; i < names->n_aliases && r == WEFT_OK; i++) {
		struct name_rec name = {
			.name = names->aliases[i]->rec.name,
			.session = s->rec.id,
			.ver = names->aliases[i]->rec.ver + 1,
			.kind = NAME_ALIAS,
		};

		buf_reset(&p->body);
		body_name(&p->body, &name, false);
		r = plan_add_body(p, s, EVENT_NAME, no_op,
				  (uint32_t)(names->n_aliases - 1 - i), err);
	}
	return r;
}

int plan_add_session(struct plan *p, struct request *q,
		     const struct weft_id *root,
		     const struct plan_new_names *names, struct weft_error *err)
{
	struct session_rec rec = q->create;
	struct plan_session *s;
	struct weft_id id;
	int r = id_new(p->now_ms, &id, err);

	if (r < 0)
		return r;
	s = plan_new_session(p, &id);
	if (!s)
		return arena_error(&p->arena, err);
	rec.id = id;
	rec.root = *root;
	/* Of one that goes on from another: its numbers and its window. */
	s->rec.fork_seq = rec.fork_seq;
	s->rec.window_seq = rec.window_seq;
	buf_reset(&p->body);
	body_session(&p->body, &rec, names->key ? names->key->rec.ver + 1 : 0);
	r = plan_add_asked(p, s, EVENT_SESSION, q, (uint32_t)names->n_aliases,
			   err);
	if (r == WEFT_OK)
		r = plan_add_aliases(p, s, names, err);
	if (r < 0)
		return r;
	plan_answer(q, s, rec.fork_seq + 1);
	q->ret_created = 1;
	return WEFT_OK;
}

int plan_create(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_new_names names = { 0 };
	struct weft_id root;
	int r = plan_replay_creation(p, q, is_same_session, err);

	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = find_keyed(p, q, &names.key, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = check_parent(p, q, &root, err);
	if (r == WEFT_OK)
		r = check_aliases(p, q, &names, err);
	if (r < 0)
		return r;
	return plan_add_session(p, q, &root, &names, err);
}

int plan_patch(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	uint64_t first_seq;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, EVENT_PATCH, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = plan_check_live(s, err);
	if (r == WEFT_OK)
		r = plan_check_expect(s, q, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, 1, err);
	if (r < 0)
		return r;
	buf_reset(&p->body);
	r = body_patch(q->patch, &s->rec, p->limits, &p->body, &p->arena, err);
	if (r < 0)
		return r;
	if (p->body.len == 0 && !p->body.error)
		return WEFT_OK;
	first_seq = s->rec.head_seq + 1;
	r = plan_add_asked(p, s, EVENT_PATCH, q, 0, err);
	if (r == WEFT_OK)
		plan_answer(q, s, first_seq);
	return r;
}

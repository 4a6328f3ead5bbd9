/* plan_append.c - messages, and their redaction. */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/body.h"

int plan_add_messages(struct plan *p, struct plan_session *s,
		      const struct request *q, struct weft_str op,
		      struct weft_error *err)
{
	struct plan_event *v =
		ARENA_ARRAY(&p->arena, struct plan_event, q->n_messages);

	if (!v)
		return arena_error(&p->arena, err);
	for (size_t i = 0; i < q->n_messages; i++) {
		const struct message *m = &q->messages[i];
		struct store_event *e = &v[i].event;
		int r;

		e->type = EVENT_MESSAGE;
		e->body = m->body;
		e->at_ms = m->at_ms;
		e->background = m->background;
		e->more = (uint32_t)(q->n_messages - 1 - i);
		if (i == 0)
			e->op = op;
		r = plan_add(p, s, &v[i], &m->facts, err);
		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

int plan_append(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	uint64_t first_seq;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	/* Before all else: who asks again gets the same answer again. */
	r = plan_replay(p, s, q, EVENT_MESSAGE, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = plan_check_live(s, err);
	if (r == WEFT_OK)
		r = plan_check_lease(p, s, q, err);
	if (r == WEFT_OK)
		r = plan_check_expect(s, q, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, q->n_messages, err);
	if (r < 0)
		return r;
	first_seq = s->rec.head_seq + 1;
	r = plan_add_messages(p, s, q, q->op, err);
	if (r == WEFT_OK)
		plan_answer(q, s, first_seq);
	return r;
}

/* ---- redaction ---- */

/* Check one target; *ret_needed: there is something to write. */
static int check_target(struct plan *p, struct plan_session *s,
			const struct request *q, uint64_t target,
			struct redact *ret, bool *ret_needed,
			struct weft_error *err)
{
	const struct store_event *e = NULL;
	struct message_facts facts = { 0 };
	bool here = false, hidden = false;
	int r;

	if (target == 0 || target > s->rec.head_seq)
		return fail(err, WEFT_NOT_FOUND, "no message %llu",
			    (unsigned long long)target);
	r = plan_is_hidden(p, s, target, &here, err);
	if (r == WEFT_OK)
		r = plan_seen_event(p, s, target, &e, &hidden, err);
	if (r != WEFT_OK)
		return r;
	if (!e || e->type != EVENT_MESSAGE || e->state == STATE_DAMAGED)
		return fail(err, WEFT_INVALID, "event %llu is not a message",
			    (unsigned long long)target);
	r = message_facts_read(e->body, &p->arena, &facts, err);
	if (r < 0)
		return r;
	*ret = (struct redact){
		.target = target,
		.hidden = !q->undo,
		.role = facts.role,
		.own = id_eq(&e->session, &s->rec.id),
		.starts_turn = facts.starts_turn != 0,
	};
	*ret_needed = q->undo ? here : !hidden;
	return WEFT_OK;
}

/* Whether v[0..n) has it already: a target may be named twice. */
static bool is_listed(const struct redact *v, size_t n, uint64_t target)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].target == target)
			return true;
	}
	return false;
}

static int add_redactions(struct plan *p, struct plan_session *s,
			  struct request *q, const struct redact *v, size_t n,
			  struct weft_error *err)
{
	const struct weft_str no_op = { NULL, 0 };
	uint64_t first_seq = s->rec.head_seq + 1;

	for (size_t i = 0; i < n; i++) {
		int r;

		buf_reset(&p->body);
		body_redact(&p->body, &v[i]);
		r = plan_add_body(p, s, EVENT_REDACT, i ? no_op : q->op,
				  (uint32_t)(n - 1 - i), err);
		if (r < 0)
			return r;
	}
	if (n)
		plan_answer(q, s, first_seq);
	return WEFT_OK;
}

int plan_redact(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	struct redact *v;
	size_t n = 0;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, EVENT_REDACT, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	if (!q->erase)
		r = plan_check_live(s, err);
	if (r == WEFT_OK)
		r = plan_check_lease(p, s, q, err);
	if (r == WEFT_OK)
		r = plan_check_expect(s, q, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, q->n_targets, err);
	if (r < 0)
		return r;
	v = ARENA_ARRAY(&p->arena, struct redact, q->n_targets);
	if (!v)
		return arena_error(&p->arena, err);
	for (size_t i = 0; i < q->n_targets; i++) {
		bool needed = false;

		r = check_target(p, s, q, q->targets[i], &v[n], &needed, err);
		if (r < 0)
			return r;
		if (needed && !is_listed(v, n, q->targets[i]))
			n++;
	}
	return add_redactions(p, s, q, v, n, err);
}

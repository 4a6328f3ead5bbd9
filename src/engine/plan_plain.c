/* plan_plain.c - events that need no more than a session to be written to. */
#include "base/error.h"
#include "engine/plan.h"
#include "model/todo.h"
#include "model/turn.h"

static int add_plain(struct plan *p, struct plan_session *s, struct request *q,
		     struct weft_error *err)
{
	struct plan_event *e = ARENA_NEW(&p->arena, struct plan_event);
	uint64_t first_seq = s->rec.head_seq + 1;
	int r;

	if (!e)
		return arena_error(&p->arena, err);
	e->event.type = q->event_type;
	e->event.op = q->op;
	e->event.body = q->body;
	if (memory_is_type(q->event_type)) {
		buf_reset(&p->body);
		memory_body_chain(&p->body, s->rec.memory_seq, q->body);
		if (p->body.error)
			return buf_error(&p->body, err);
		e->event.body = buf_str(&p->body);
	}
	r = plan_add(p, s, e, NULL, err);
	if (r == WEFT_OK)
		plan_answer(q, s, first_seq);
	return r;
}

/* Whether the list of what is to do is this one already, or whether there is no
 * turn that could end. */
static int says_nothing_new(struct plan *p, const struct plan_session *s,
			    const struct request *q, bool *ret,
			    struct weft_error *err)
{
	const struct store_event *e = NULL;
	int r;

	*ret = q->event_type == EVENT_TURN && !turn_body_begins(q->body) &&
	       !s->rec.turn_began_at;
	if (q->event_type != EVENT_TODOS)
		return WEFT_OK;
	if (!s->rec.todos_seq) {
		*ret = str_eq(q->body, TODO_NOTHING);
		return WEFT_OK;
	}
	r = plan_event_at(p, s, s->rec.todos_seq, &e, err);
	if (r == WEFT_OK)
		*ret = e->type == EVENT_TODOS && str_eq(e->body, q->body);
	return r == WEFT_NOT_FOUND ? WEFT_OK : r;
}

int plan_plain(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	bool same = false;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, q->event_type, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = plan_check_live(s, err);
	/* Memories are open to all, whoever holds the session. */
	if (r == WEFT_OK && !memory_is_type(q->event_type))
		r = plan_check_lease(p, s, q, err);
	if (r == WEFT_OK && q->event_type == EVENT_FORGET)
		r = plan_check_memory(p, s, q->target, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, 1, err);
	if (r == WEFT_OK)
		r = says_nothing_new(p, s, q, &same, err);
	return r < 0 || same ? r : add_plain(p, s, q, err);
}

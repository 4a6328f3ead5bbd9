/* plan_plain.c - events that need no more than a session to be written to. */
#include "base/error.h"
#include "engine/plan.h"

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
	r = plan_add(p, s, e, NULL, err);
	if (r == WEFT_OK)
		plan_answer(q, s, first_seq);
	return r;
}

int plan_plain(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	int r = plan_find(p, &q->session, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, q->event_type, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = plan_check_live(s, err);
	if (r == WEFT_OK)
		r = plan_check_lease(p, s, q, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, 1, err);
	return r < 0 ? r : add_plain(p, s, q, err);
}

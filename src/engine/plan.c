/* plan.c - plan a batch of requests, one after the other. */
#include "engine/plan.h"

#include "base/error.h"
#include "base/id.h"
#include "model/derive.h"
#include "model/event.h"

/* What a plan may hold in memory: far more than a batch of the largest size,
 * with its copies, needs. */
#define PLAN_BYTES_MAX MIB(512)

void plan_init(struct plan *p, struct engine *e)
{
	*p = (struct plan){
		.engine = e,
		.limits = engine_limits(e),
	};
	arena_init(&p->arena, PLAN_BYTES_MAX);
	buf_init(&p->body, PLAN_BYTES_MAX);
}

void plan_done(struct plan *p)
{
	arena_done(&p->arena);
	buf_done(&p->body);
}

static int broken(struct plan *p, int code)
{
	p->broken = true;
	return code;
}

int plan_add(struct plan *p, struct plan_session *s, struct plan_event *e,
	     const struct message_facts *facts, struct weft_error *err)
{
	size_t first_op = p->out->n;
	struct store_op *op;
	int r;

	e->event.session = s->rec.id;
	/* A fork's numbers go on behind what it inherited. */
	e->event.seq =
		(s->rec.head_seq ? s->rec.head_seq : s->rec.fork_seq) + 1;
	e->event.last = e->event.seq;
	e->event.ts_ms = p->now_ms;
	e->event.marker = s->rec.window_seq;
	if (e->event.type == EVENT_MESSAGE)
		e->event.said = s->rec.said_count + 1;
	r = event_seal(&e->event, &p->arena, err);
	if (r < 0)
		return broken(p, r);
	op = op_list_add(p->out, OP_EVENT, &e->event.session);
	if (!op)
		return broken(p, arena_error(p->out->arena, err));
	op->u.event = &e->event;
	r = derive_event(&s->rec, &e->event, facts, p->out, err);
	if (r == WEFT_OK)
		r = plan_note(p, first_op, err);
	if (r == WEFT_OK && p->out->failed)
		r = arena_error(p->out->arena, err);
	if (r < 0)
		return broken(p, r);
	e->older = s->events;
	s->events = e;
	s->changed = true;
	p->n_events++;
	return WEFT_OK;
}

int plan_add_body(struct plan *p, struct plan_session *s, uint32_t type,
		  struct weft_str op, uint32_t more, struct weft_error *err)
{
	struct plan_event *e = ARENA_NEW(&p->arena, struct plan_event);

	if (!e)
		return broken(p, arena_error(&p->arena, err));
	if (p->body.error)
		return broken(p, buf_error(&p->body, err));
	e->event.type = type;
	e->event.op = op;
	e->event.more = more;
	e->event.body = buf_str(&p->body);
	return plan_add(p, s, e, NULL, err);
}

void plan_answer(struct request *q, const struct plan_session *s,
		 uint64_t first_seq)
{
	const struct plan_event *e = s->events;

	q->ret_session = s->rec.id;
	q->ret_seq = first_seq;
	q->ret_changed = (uint32_t)(s->rec.head_seq + 1 - first_seq);
	q->ret_count = q->ret_changed;
	while (e && e->event.seq > first_seq)
		e = e->older;
	if (e)
		q->ret_id = e->event.id;
}

/* The store may have had to plan again. */
static void reset_answer(struct request *q)
{
	q->ret_session = q->session;
	q->ret_id = (struct weft_id){ { 0 } };
	q->ret_seq = 0;
	q->ret_count = 0;
	q->ret_replayed = 0;
	q->ret_created = 0;
	q->ret_changed = 0;
	q->ret_promoted = (struct weft_id){ { 0 } };
	q->ret_displaced = (struct weft_id){ { 0 } };
	q->ret_lease = (struct lease){ 0 };
	q->ret_sessions = NULL;
	q->n_ret_sessions = 0;
	q->ret_several = 0;
	q->ret_lost = NULL;
	q->n_ret_lost = 0;
	q->ret_rewrite = (struct rewrite_answer){ 0 };
}

int plan_one(struct plan *p, struct request *q)
{
	reset_answer(q);
	switch ((enum request_kind)q->kind) {
	case REQUEST_CREATE:
		return plan_create(p, q, &q->err);
	case REQUEST_APPEND:
		return plan_append(p, q, &q->err);
	case REQUEST_PATCH:
		return plan_patch(p, q, &q->err);
	case REQUEST_NAME:
		return plan_rename(p, q, &q->err);
	case REQUEST_REDACT:
		return plan_redact(p, q, &q->err);
	case REQUEST_DELETE:
		return plan_delete(p, q, &q->err);
	case REQUEST_RESTORE:
		return plan_restore(p, q, &q->err);
	case REQUEST_PLAIN:
		return plan_plain(p, q, &q->err);
	case REQUEST_LEASE:
		return plan_lease(p, q, &q->err);
	case REQUEST_RESET:
		return plan_reset(p, q, &q->err);
	case REQUEST_ROUTE:
		return plan_route(p, q, &q->err);
	case REQUEST_FORK:
		return plan_fork(p, q, &q->err);
	case REQUEST_MARKER:
		return plan_marker(p, q, &q->err);
	case REQUEST_PURGE:
		return plan_purge(p, q, &q->err);
	case REQUEST_REWRITE:
		return plan_rewrite(p, q, &q->err);
	}
	return fail(&q->err, WEFT_INVALID, "request of unknown kind %u",
		    q->kind);
}

int plan_end(struct plan *p, struct weft_error *err)
{
	for (struct plan_session *s = p->sessions; s; s = s->next) {
		struct store_op *op;

		if (!s->changed)
			continue;
		op = op_list_add(p->out, OP_SESSION, &s->rec.id);
		if (!op)
			return broken(p, arena_error(p->out->arena, err));
		op->u.rec = &s->rec;
	}
	return WEFT_OK;
}

static struct request *after(struct plan *p, struct request *q)
{
	return q->next || !p->more ? q->next : p->more(p);
}

int plan_batch(void *ctx, struct store_view *view, struct op_list *out,
	       struct weft_error *err)
{
	struct plan *p = ctx;
	int r = plan_begin(p, view, out, err);

	if (r < 0)
		return broken(p, r);
	for (struct request *q = p->requests; q; q = after(p, q)) {
		size_t before = out->n;

		q->status = plan_one(p, q);
		/* Half of a request must not be written. */
		if (q->status < 0 && out->n > before)
			(void)broken(p, q->status);
		if (!p->broken)
			continue;
		if (err)
			*err = q->err;
		return q->status;
	}
	return plan_end(p, err);
}

/* planner.c - put the steps of a test together into one write. */
#include <stdio.h>

#include "base/id.h"
#include "conformance/conformance.h"
#include "model/body.h"
#include "model/derive.h"
#include "model/event.h"

#define TOUCHED_MAX 32
#define STEP_MS     1000

/* A plan under way. */
struct planning {
	struct draft *draft;
	struct store_view *view;
	struct op_list *out;
	struct op_list effects; /* of the events, on others */
	struct session_rec touched[TOUCHED_MAX];
	size_t n_touched;
};

struct draft *draft_new(struct fixture *f)
{
	struct draft *d = ARENA_NEW(&f->arena, struct draft);

	assert_non_null(d);
	d->f = f;
	return d;
}

static struct step *add_step(struct draft *d, enum step_kind kind)
{
	struct step *s = &d->steps[d->n++];

	assert_true(d->n <= STEPS_MAX);
	*s = (struct step){ .kind = kind };
	d->f->now_ms += STEP_MS;
	s->event.ts_ms = d->f->now_ms;
	return s;
}

static struct weft_str take_body(struct draft *d, struct buf *b)
{
	struct weft_str body = arena_str(&d->f->arena, buf_str(b));

	assert_ok(d->f, buf_error(b, &d->f->err));
	assert_non_null(body.ptr);
	buf_done(b);
	return body;
}

struct weft_id draft_begin(struct draft *d, const struct session_rec *start)
{
	struct step *s = add_step(d, STEP_BEGIN);
	struct session_rec rec = *start;
	struct buf b;

	if (rec.kind == 0)
		rec.kind = KIND_PRIMARY;
	assert_ok(d->f, id_new(s->event.ts_ms, &s->session, &d->f->err));
	buf_init(&b, MIB(1));
	body_session(&b, &rec, rec.key.len ? 1 : 0);
	s->event.type = EVENT_SESSION;
	s->event.op = rec.op;
	s->event.body = take_body(d, &b);
	s->seq = rec.fork_seq + 1;
	return s->session;
}

struct step *draft_event(struct draft *d, const struct weft_id *session,
			 uint32_t type, const char *body_format, ...)
{
	struct step *s = add_step(d, STEP_EVENT);
	va_list args;
	char *body;
	int n;

	va_start(args, body_format);
	n = vasprintf(&body, body_format, args);
	va_end(args);
	assert_true(n >= 0);
	s->session = *session;
	s->event.type = type;
	s->event.body =
		arena_str(&d->f->arena, (struct weft_str){ body, (size_t)n });
	free(body);
	return s;
}

struct step *draft_say(struct draft *d, const struct weft_id *session,
		       const char *text)
{
	return draft_event(d, session, EVENT_MESSAGE,
			   "\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			   "\"text\":\"%s\"}]",
			   text);
}

void draft_name(struct draft *d, const struct weft_id *session,
		const char *text, uint64_t ver, bool gone)
{
	struct step *s = add_step(d, STEP_EVENT);
	struct name_rec name = { .name = str_of(text),
				 .session = *session,
				 .ver = ver,
				 .kind = NAME_ALIAS };
	struct buf b;

	buf_init(&b, MIB(1));
	body_name(&b, &name, gone);
	s->session = *session;
	s->event.type = EVENT_NAME;
	s->event.body = take_body(d, &b);
}

void draft_hide(struct draft *d, const struct weft_id *session, uint64_t target,
		bool hidden)
{
	struct step *s = add_step(d, STEP_EVENT);
	struct redact redact = { .target = target,
				 .hidden = hidden,
				 .role = ROLE_USER,
				 .own = true,
				 .starts_turn = true };
	struct buf b;

	buf_init(&b, MIB(1));
	body_redact(&b, &redact);
	s->session = *session;
	s->event.type = EVENT_REDACT;
	s->event.body = take_body(d, &b);
}

void draft_refer(struct draft *d, const struct blob_ref *blob)
{
	add_step(d, STEP_REFER)->blob = *blob;
}

void draft_add(struct draft *d, const struct weft_id *session, uint64_t tokens)
{
	struct step *s = add_step(d, STEP_ADD);

	s->session = *session;
	s->add.input_tokens = tokens;
}

void draft_refuse(struct draft *d, int code)
{
	add_step(d, STEP_REFUSE)->code = code;
}

void draft_look(struct draft *d, look_fn *look, void *ctx)
{
	struct step *s = add_step(d, STEP_LOOK);

	s->look = look;
	s->ctx = ctx;
}

/* ---- planning ---- */

/* The session's record as this plan will leave it; all zero for a new one. */
static int touch(struct planning *p, const struct weft_id *id, bool is_new,
		 struct session_rec **ret, struct weft_error *err)
{
	const struct session_rec *found;
	int r;

	for (size_t i = 0; i < p->n_touched; i++) {
		if (id_eq(&p->touched[i].id, id)) {
			*ret = &p->touched[i];
			return WEFT_OK;
		}
	}
	if (p->n_touched == TOUCHED_MAX)
		return WEFT_LIMIT;
	*ret = &p->touched[p->n_touched];
	**ret = (struct session_rec){ 0 };
	if (!is_new) {
		r = p->view->ops->get_session(p->view, id, &found, err);
		if (r < 0)
			return r;
		**ret = *found;
	}
	p->n_touched++;
	return WEFT_OK;
}

static int plan_event(struct planning *p, const struct step *s,
		      struct weft_error *err)
{
	struct store_event *e = ARENA_NEW(p->out->arena, struct store_event);
	struct session_rec *rec;
	struct store_op *op;
	int r;

	r = touch(p, &s->session, s->kind == STEP_BEGIN, &rec, err);
	if (r < 0)
		return r;
	if (!e)
		return arena_error(p->out->arena, err);
	*e = s->event;
	e->session = s->session;
	e->seq = s->seq ? s->seq : rec->head_seq + 1;
	e->last = e->seq;
	e->marker = rec->window_seq;
	r = event_seal(e, p->out->arena, err);
	if (r < 0)
		return r;
	op = op_list_add(p->out, OP_EVENT, &e->session);
	if (op)
		op->u.event = e;
	return derive_event(rec, e, NULL, &p->effects, err);
}

static int plan_step(struct planning *p, const struct step *s,
		     struct weft_error *err)
{
	struct store_op *op;

	switch (s->kind) {
	case STEP_EVENT:
	case STEP_BEGIN:
		return plan_event(p, s, err);
	case STEP_REFER:
		op = op_list_add(p->out, OP_BLOB, &s->session);
		if (op)
			op->u.blob = &s->blob;
		return WEFT_OK;
	case STEP_ADD:
		op = op_list_add(&p->effects, OP_ADD, &s->session);
		if (op)
			op->u.add = &s->add;
		return WEFT_OK;
	case STEP_REFUSE:
		if (err) {
			err->code = s->code;
			(void)snprintf(err->message, sizeof(err->message),
				       "refused by the plan");
		}
		return s->code;
	case STEP_LOOK:
		s->look(p->draft, p->view, s->ctx);
		return WEFT_OK;
	}
	return WEFT_INVALID;
}

/* What one session spends climbs to everybody who pays for it. */
static int climb(struct planning *p, const struct store_op *add,
		 struct weft_error *err)
{
	struct op_list next = { .arena = p->out->arena };
	const struct session_rec *payer;
	struct session_rec copy;
	int r;

	for (const struct store_op *at = add; at;
	     at = next.n ? &next.v[next.n - 1] : NULL) {
		struct store_op *op = op_list_add(p->out, OP_ADD, &at->session);
		size_t n = next.n;

		if (op)
			op->u.add = at->u.add;
		r = p->view->ops->get_session(p->view, &at->session, &payer,
					      err);
		if (r == WEFT_NOT_FOUND)
			break;
		if (r < 0)
			return r;
		copy = *payer;
		derive_add(&copy, at->u.add, &next);
		if (next.n == n)
			break;
	}
	return WEFT_OK;
}

static int plan_end(struct planning *p, struct weft_error *err)
{
	for (size_t i = 0; i < p->n_touched; i++) {
		struct store_op *op =
			op_list_add(p->out, OP_SESSION, &p->touched[i].id);
		struct session_rec *rec =
			ARENA_NEW(p->out->arena, struct session_rec);

		if (!op || !rec)
			return arena_error(p->out->arena, err);
		*rec = p->touched[i];
		op->u.rec = rec;
	}
	for (size_t i = 0; i < p->effects.n; i++) {
		struct store_op *op;
		int r;

		if (p->effects.v[i].kind == OP_ADD) {
			r = climb(p, &p->effects.v[i], err);
			if (r < 0)
				return r;
			continue;
		}
		if (p->effects.v[i].kind == OP_BLOB &&
		    p->draft->f->silent_blobs)
			continue;
		op = op_list_add(p->out, p->effects.v[i].kind,
				 &p->effects.v[i].session);
		if (op)
			*op = p->effects.v[i];
	}
	return WEFT_OK;
}

static int plan(void *ctx, struct store_view *view, struct op_list *out,
		struct weft_error *err)
{
	struct draft *d = ctx;
	struct planning p = { .draft = d,
			      .view = view,
			      .out = out,
			      .effects = { .arena = out->arena } };

	d->planned++;
	for (size_t i = 0; i < d->n; i++) {
		int r = plan_step(&p, &d->steps[i], err);

		if (r < 0)
			return r;
	}
	return plan_end(&p, err);
}

int draft_write_to(struct draft *d, struct store *s)
{
	struct weft_id ids[STEPS_MAX];
	struct store_want want = { .sessions = ids };
	int r;

	for (size_t i = 0; i < d->n; i++) {
		if (d->steps[i].kind == STEP_EVENT ||
		    d->steps[i].kind == STEP_BEGIN)
			ids[want.n_sessions++] = d->steps[i].session;
		want.bytes += d->steps[i].event.body.len + EVENT_HEAD_MAX;
	}
	d->f->writing = true;
	r = s->ops->write(s, &want, plan, d, &d->f->err);
	d->f->writing = false;
	return r;
}

int draft_write(struct draft *d)
{
	return draft_write_to(d, d->f->store);
}

void must_write(struct draft *d)
{
	assert_ok(d->f, draft_write(d));
}

struct weft_id begin_with(struct fixture *f, const struct session_rec *start)
{
	struct draft *d = draft_new(f);
	struct weft_id s = draft_begin(d, start);

	must_write(d);
	return s;
}

struct weft_id begin(struct fixture *f)
{
	return begin_with(f, &(struct session_rec){ 0 });
}

uint64_t say(struct fixture *f, const struct weft_id *s, const char *text)
{
	return say_op(f, s, text, "");
}

uint64_t say_op(struct fixture *f, const struct weft_id *s, const char *text,
		const char *op)
{
	struct draft *d = draft_new(f);

	draft_say(d, s, text)->event.op = str_of(op);
	must_write(d);
	return head(f, s);
}

void name(struct fixture *f, const struct weft_id *s, const char *text,
	  uint64_t ver)
{
	struct draft *d = draft_new(f);

	draft_name(d, s, text, ver, false);
	must_write(d);
}

void hide(struct fixture *f, const struct weft_id *s, uint64_t target,
	  bool hidden)
{
	struct draft *d = draft_new(f);

	draft_hide(d, s, target, hidden);
	must_write(d);
}

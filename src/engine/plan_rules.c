/* plan_rules.c - rules that several kinds of requests share. */
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/body.h"
#include "model/derive.h"
#include "model/marker.h"

int plan_check_live(const struct plan_session *s, struct weft_error *err)
{
	char id[WEFT_ID_CHARS + 1];
	char when[TIME_CHARS + 1];

	if (!s->rec.deleted_at)
		return WEFT_OK;
	id_format(&s->rec.id, id);
	if (s->rec.purged_at)
		return fail(err, WEFT_NOT_FOUND, "no session %s", id);
	time_format(s->rec.deleted_at, when);
	return fail(err, WEFT_DELETED,
		    "session %s was deleted at %s; 'weft restore %s' brings it "
		    "back",
		    id, when, id);
}

int plan_check_expect(const struct plan_session *s, const struct request *q,
		      struct weft_error *err)
{
	if (q->expect == WEFT_NO_EXPECT || q->expect == s->rec.content_seq)
		return WEFT_OK;
	return fail(err, WEFT_STALE,
		    "expected content_seq %llu, but it is %llu",
		    (unsigned long long)q->expect,
		    (unsigned long long)s->rec.content_seq);
}

int plan_check_room(const struct plan_session *s, size_t n,
		    struct weft_error *err)
{
	if (n <= ID_SEQ_MAX - s->rec.head_seq)
		return WEFT_OK;
	return fail(err, WEFT_LIMIT, "a session has at most %llu events",
		    (unsigned long long)ID_SEQ_MAX);
}

int plan_op_mismatch(struct weft_str op, uint64_t seq, struct weft_error *err)
{
	return fail(err, WEFT_OP_MISMATCH,
		    "operation id '%.*s' was used for event %llu, which has "
		    "other content",
		    STR_ARG(op), (unsigned long long)seq);
}

int plan_check_replayed(const struct store_event *e, struct weft_str op,
			struct weft_error *err)
{
	if (e->state == STATE_GONE)
		return fail(err, WEFT_DELETED,
			    "operation id '%.*s' was used for event %llu, "
			    "which was erased or reclaimed",
			    STR_ARG(op), (unsigned long long)e->seq);
	if (e->state == STATE_DAMAGED)
		return fail(err, WEFT_CORRUPT,
			    "operation id '%.*s' was used for event %llu, "
			    "which cannot be read",
			    STR_ARG(op), (unsigned long long)e->seq);
	return WEFT_OK;
}

bool plan_is_message(const struct store_event *e, const struct message *m)
{
	return e->type == EVENT_MESSAGE && str_eq(e->body, m->body) &&
	       e->at_ms == m->at_ms && !e->background == !m->background;
}

static bool is_target(const struct request *q, const struct store_hide *hide)
{
	for (size_t i = 0; i < q->n_targets; i++) {
		if (q->targets[i] == hide->target)
			return (hide->hidden != 0) == !q->undo;
	}
	return false;
}

/* Whether what the event did is what the request asks for. */
static bool is_asked_for(const struct request *q, const struct store_op *op)
{
	bool gone;

	switch ((enum store_op_kind)op->kind) {
	case OP_NAME:
		if (q->kind != REQUEST_NAME)
			return true;
		gone = id_is_zero(&op->u.name->session);
		return str_eq(op->u.name->name, q->name) &&
		       gone == (q->name_how == NAME_REMOVE);
	case OP_HIDE:
		return is_target(q, op->u.hide);
	default:
		return true;
	}
}

/*
 * The same for acts other than messages.  Their bodies depend on what was
 * there before, so the event is applied to a copy of the record and judged by
 * what it does; after it a patch must have nothing left to change.
 */
static int same_act(struct plan *p, const struct plan_session *s,
		    const struct request *q, const struct store_event *e,
		    bool *ret, struct weft_error *err)
{
	struct op_list ops = { .arena = &p->arena };
	struct session_rec rec = s->rec;
	int r = derive_event(&rec, e, NULL, &ops, err);

	*ret = true;
	for (size_t i = 0; i < ops.n && r == WEFT_OK; i++)
		*ret = *ret && is_asked_for(q, &ops.v[i]);
	if (r < 0 || q->kind != REQUEST_PATCH)
		return r;
	buf_reset(&p->body);
	r = body_patch(q->patch, &rec, p->limits, &p->body, &p->arena, err);
	*ret = p->body.len == 0;
	return r;
}

/* Where the window was to begin depends on what was there before. */
static int same_marker(struct plan *p, const struct request *q,
		       const struct store_event *e, bool *ret,
		       struct weft_error *err)
{
	struct marker m;
	int r;

	*ret = false;
	if (e->type != EVENT_MARKER)
		return WEFT_OK;
	r = marker_read(e->body, &p->arena, &m, err);
	*ret = (m.undoes ? MARKER_UNDO : m.how) == q->marker.how &&
	       (!q->marker.has_summary || str_eq(m.summary, q->marker.summary));
	return r;
}

/* Whether event i of the operation is what the request would have written. */
static int same_content(struct plan *p, const struct plan_session *s,
			const struct request *q, size_t i, uint32_t type,
			const struct store_event *e, bool *ret,
			struct weft_error *err)
{
	/* A new history is a marker with its messages behind it. */
	size_t before = q->kind == REQUEST_MARKER ? 1 : 0;
	bool told = false;
	int r = WEFT_OK;

	*ret = false;
	if (i == 0)
		r = plan_was_asked(p, q, e, &told, ret, err);
	if (r < 0 || told)
		return r;
	if (q->kind == REQUEST_MARKER && i == 0)
		return same_marker(p, q, e, ret, err);
	if (before) {
		*ret = plan_is_message(e, &q->messages[i - before]);
		return WEFT_OK;
	}
	if (e->type != type)
		return WEFT_OK;
	if (q->kind == REQUEST_PLAIN) {
		*ret = str_eq(memory_body_unchained(e->body), q->body);
		return WEFT_OK;
	}
	if (q->kind == REQUEST_LEASE)
		return plan_same_lease(p, q, e, ret, err);
	return same_act(p, s, q, e, ret, err);
}

int plan_replay(struct plan *p, const struct plan_session *s, struct request *q,
		uint32_t type, struct weft_error *err)
{
	const struct store_event *e;
	struct weft_id first_id = { { 0 } };
	struct op_hit hit = { 0 };
	size_t n = 1;
	int r;

	if (!q->op.len)
		return 0;
	r = plan_find_op(p, s, q->op, &hit, err);
	if (r < 0)
		return r == WEFT_NOT_FOUND ? 0 : r;
	for (size_t i = 0; i < n; i++) {
		uint64_t seq = hit.seq + i;
		bool same;

		r = plan_event_at(p, s, seq, &e, err);
		if (r < 0)
			return r;
		r = plan_check_replayed(e, q->op, err);
		if (r < 0)
			return r;
		if (i == 0) {
			n = (size_t)e->more + 1;
			first_id = e->id;
		}
		if (q->kind == REQUEST_MARKER && n != q->n_messages + 1)
			return plan_op_mismatch(q->op, hit.seq, err);
		r = same_content(p, s, q, i, type, e, &same, err);
		if (r < 0)
			return r;
		if (!same)
			return plan_op_mismatch(q->op, seq, err);
	}
	q->ret_session = s->rec.id;
	q->ret_id = first_id;
	q->ret_seq = hit.seq;
	q->ret_count = n;
	q->ret_replayed = 1;
	return 1;
}

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
		else if (q->kind == REQUEST_APPEND)
			e->op = m->op;
		r = plan_add(p, s, &v[i], &m->facts, err);
		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

/* ---- asking again ---- */

/*
 * An operation id stands for its message and for those behind it, in the same
 * group, that have none of their own.  So a request is known if one of its ids
 * is, and then all of it must be there as it would be written now, from the
 * first message to the last that they stand for.
 */

static struct weft_str op_of(const struct request *q, size_t i)
{
	return i ? q->messages[i].op : q->op;
}

/* The id that message i is known by; before all others that are known by one,
 * it is the first there is. */
static struct weft_str op_for(const struct request *q, size_t i)
{
	size_t k = i;

	while (k > 0 && !op_of(q, k).len)
		k--;
	while (k + 1 < q->n_messages && !op_of(q, k).len)
		k++;
	return op_of(q, k);
}

static int mismatch(const struct request *q, size_t i, uint64_t seq,
		    struct weft_error *err)
{
	return plan_op_mismatch(op_for(q, i), seq, err);
}

/* Where the messages would begin by the ids that are known; 0: none is. */
static int find_known(struct plan *p, const struct plan_session *s,
		      const struct request *q, uint64_t *ret,
		      struct weft_error *err)
{
	bool any = false, known = false;

	*ret = 0;
	for (size_t i = 0; i < q->n_messages; i++) {
		struct weft_str op = op_of(q, i);
		struct op_hit hit = { 0 };
		int r = op.len ? plan_find_op(p, s, op, &hit, err) : WEFT_OK;

		if (r < 0 && r != WEFT_NOT_FOUND)
			return r;
		if (!op.len)
			continue;
		if (any && known != (r == WEFT_OK))
			return fail(err, WEFT_OP_MISMATCH,
				    "message %zu: operation id '%.*s' is %s, "
				    "unlike the one before it",
				    i + 1, STR_ARG(op),
				    known ? "new" : "known");
		known = r == WEFT_OK;
		if (known && hit.seq <= i)
			return mismatch(q, i, hit.seq, err);
		if (known && !any)
			*ret = hit.seq - i;
		any = true;
	}
	return WEFT_OK;
}

/* Whether the event at `seq` is of the same group as the one before it, and has
 * no operation id of its own. */
static int is_continued(struct plan *p, const struct plan_session *s,
			uint64_t seq, bool *ret, struct weft_error *err)
{
	const struct store_event *before = NULL, *e = NULL;
	int r = plan_event_at(p, s, seq - 1, &before, err);

	*ret = false;
	if (r == WEFT_OK && before->more) {
		r = plan_event_at(p, s, seq, &e, err);
		*ret = r == WEFT_OK && !e->op.len;
	}
	return r == WEFT_NOT_FOUND ? WEFT_OK : r;
}

/* Whether message i is what stands at `seq`, as part of the same request; its
 * id there. */
static int compare(struct plan *p, const struct plan_session *s,
		   const struct request *q, size_t i, uint64_t seq,
		   struct weft_id *ret_id, struct weft_error *err)
{
	const struct store_event *e = NULL;
	struct weft_str op = op_of(q, i);
	bool same = false, continued = false;
	int r = plan_event_at(p, s, seq, &e, err);

	if (r == WEFT_OK)
		r = plan_check_replayed(e, op_for(q, i), err);
	if (r == WEFT_OK && !op.len)
		r = is_continued(p, s, seq, &continued, err);
	if (r < 0 && r != WEFT_NOT_FOUND)
		return r;
	if (r == WEFT_OK) {
		same = plan_is_message(e, &q->messages[i]) &&
		       str_eq(e->op, op) && (op.len || continued == (i > 0));
		*ret_id = e->id;
	}
	return same ? WEFT_OK : mismatch(q, i, seq, err);
}

static int replay(struct plan *p, const struct plan_session *s,
		  struct request *q, struct weft_error *err)
{
	struct weft_id id = { { 0 } };
	bool goes_on = false;
	uint64_t seq;
	int r = find_known(p, s, q, &seq, err);

	if (r < 0 || seq == 0)
		return r;
	for (size_t i = 0; i < q->n_messages && r == WEFT_OK; i++) {
		r = compare(p, s, q, i, seq + i, &id, err);
		if (i == 0)
			q->ret_id = id;
		if (r < 0 && i > 0)
			r = fail_prefix(err, r, "message %zu", i + 1);
	}
	if (r == WEFT_OK)
		r = is_continued(p, s, seq + q->n_messages, &goes_on, err);
	if (r == WEFT_OK && goes_on)
		r = mismatch(q, 0, seq, err);
	if (r < 0)
		return r;
	q->ret_session = s->rec.id;
	q->ret_seq = seq;
	q->ret_count = q->n_messages;
	q->ret_replayed = 1;
	return 1;
}

/* ---- appending ---- */

/* What a message expects that is not the first: the one before it. */
static int check_expected(const struct plan_session *s, const struct request *q,
			  struct weft_error *err)
{
	int r = plan_check_expect(s, q, err);

	for (size_t i = 1; i < q->n_messages && r == WEFT_OK; i++) {
		const struct message *m = &q->messages[i];
		uint64_t by_then = s->rec.head_seq + i;

		if (m->has_expect && m->expect != by_then)
			r = fail(err, WEFT_STALE,
				 "message %zu: expected content_seq %llu, but "
				 "it will be %llu",
				 i + 1, (unsigned long long)m->expect,
				 (unsigned long long)by_then);
	}
	return r;
}

int plan_append(struct plan *p, struct request *q, struct weft_error *err)
{
	struct plan_session *s;
	uint64_t first_seq;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	/* Before all else: who asks again gets the same answer again. */
	r = replay(p, s, q, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = plan_check_live(s, err);
	if (r == WEFT_OK)
		r = plan_check_lease(p, s, q, err);
	if (r == WEFT_OK)
		r = check_expected(s, q, err);
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
		r = i ? plan_add_body(p, s, EVENT_REDACT, no_op,
				      (uint32_t)(n - 1 - i), err) :
			plan_add_asked(p, s, EVENT_REDACT, q, (uint32_t)(n - 1),
				       err);
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

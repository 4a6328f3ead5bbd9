/* rebuild.c - derive everything again from events; see rebuild.h. */
#include "store/rebuild.h"

#include "base/error.h"
#include "base/mem.h"
#include "model/derive.h"

/* What a descendant spent, to be added once every record is there. */
struct spent {
	struct spent *next;
	struct weft_id payer;
	uint32_t kind; /* OP_ADD or OP_TAKE */
	struct totals totals;
};

void rebuild_init(struct rebuild *b)
{
	*b = (struct rebuild){ 0 };
	index_init(&b->index);
	arena_init(&b->scratch, 0);
	arena_init(&b->kept, 0);
}

void rebuild_done(struct rebuild *b)
{
	index_done(&b->index);
	arena_done(&b->scratch);
	arena_done(&b->kept);
}

static int apply(struct index *x, const struct op_list *ops,
		 struct weft_error *err)
{
	void **prepared = ARENA_ARRAY(ops->arena, void *, ops->n);
	int r;

	if (!prepared)
		return arena_error(ops->arena, err);
	r = index_prepare(x, ops, prepared, err);
	if (r == WEFT_OK)
		index_commit(x, ops, prepared);
	else
		index_discard(ops, prepared);
	return r;
}

/* Take the additions out of `ops`: their payer may have no record yet. */
static int put_off_additions(struct rebuild *b, struct op_list *ops,
			     struct weft_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < ops->n; i++) {
		struct spent *s;

		if (ops->v[i].kind != OP_ADD && ops->v[i].kind != OP_TAKE) {
			ops->v[n++] = ops->v[i];
			continue;
		}
		s = ARENA_NEW(&b->kept, struct spent);
		if (!s)
			return arena_error(&b->kept, err);
		s->payer = ops->v[i].session;
		s->kind = ops->v[i].kind;
		s->totals = *ops->v[i].u.add;
		s->next = b->spent;
		b->spent = s;
	}
	ops->n = n;
	return WEFT_OK;
}

/* Add the two ops that an event stands for besides what it has derived. */
static int add_event_ops(struct op_list *ops, const struct store_event *e,
			 const struct session_rec *rec, struct weft_error *err)
{
	struct store_op *op = op_list_add(ops, OP_EVENT, &e->session);

	if (op)
		op->u.event = e;
	op = op_list_add(ops, OP_SESSION, &e->session);
	if (op)
		op->u.rec = rec;
	return ops->failed ? arena_error(ops->arena, err) : WEFT_OK;
}

int rebuild_event(struct rebuild *b, const struct store_event *e,
		  struct weft_error *err)
{
	const struct session_rec *before =
		index_session(&b->index, &e->session);
	struct op_list ops = { .arena = &b->scratch };
	struct session_rec rec = { 0 };
	int r;

	arena_reset(&b->scratch);
	if (before)
		rec = *before;
	r = derive_event(&rec, e, NULL, &ops, err);
	if (r == WEFT_OK)
		r = put_off_additions(b, &ops, err);
	if (r == WEFT_OK)
		r = add_event_ops(&ops, e, &rec, err);
	return r == WEFT_OK ? apply(&b->index, &ops, err) : r;
}

/* Let one addition climb from payer to payer. */
static int pay(struct rebuild *b, const struct spent *s, struct weft_error *err)
{
	struct weft_id payer = s->payer;

	/* No chain is longer than there are sessions. */
	for (size_t i = 0; i <= b->index.sessions.n; i++) {
		const struct session_rec *before =
			index_session(&b->index, &payer);
		struct op_list next = { .arena = &b->scratch };
		struct op_list ops = { .arena = &b->scratch };
		struct store_op *op;
		struct session_rec rec;
		int r;

		if (!before)
			return WEFT_OK;
		arena_reset(&b->scratch);
		rec = *before;
		if (s->kind == OP_ADD)
			derive_add(&rec, &s->totals, &next);
		else
			derive_take(&rec, &s->totals, &next);
		op = op_list_add(&ops, OP_SESSION, &payer);
		if (!op || next.failed)
			return arena_error(&b->scratch, err);
		op->u.rec = &rec;
		r = apply(&b->index, &ops, err);
		if (r < 0 || next.n == 0)
			return r;
		payer = next.v[0].session;
	}
	return fail(err, WEFT_CORRUPT, "a session is its own ancestor");
}

static int pay_all(struct rebuild *b, uint32_t kind, struct weft_error *err)
{
	int r = WEFT_OK;

	for (const struct spent *s = b->spent; s && r == WEFT_OK; s = s->next) {
		if (s->kind == kind)
			r = pay(b, s, err);
	}
	return r;
}

/* What is taken must have been there before. */
int rebuild_settle(struct rebuild *b, struct weft_error *err)
{
	int r = pay_all(b, OP_ADD, err);

	return r == WEFT_OK ? pay_all(b, OP_TAKE, err) : r;
}

/*
 * rewrites.c - lines that give way to others, and sessions that go: OP_REWRITE,
 * OP_DROP, OP_UNNAME, OP_TAKE.
 *
 * What is derived is given to the store as the engine does it: made from the
 * lines that are left.
 */
#include "base/error.h"
#include "base/id.h"
#include "conformance/conformance.h"
#include "model/derive.h"
#include "model/event.h"

/* One exclusive write: some ops, and the lines they put in. */
struct rewriting {
	struct fixture *f;
	struct weft_id session;
	struct store_op ops[8];
	size_t n;
	int code; /* of the plan */
	struct store_rewrite rewrites[8];
	struct store_event with[8];
	size_t n_rewrites;
};

static struct rewriting rewriting_of(struct fixture *f,
				     const struct weft_id *session)
{
	return (struct rewriting){ .f = f, .session = *session };
}

static struct store_op *add_op(struct rewriting *w, uint32_t kind)
{
	struct store_op *op = &w->ops[w->n++];

	assert_true(w->n <= 8);
	*op = (struct store_op){ .kind = kind, .session = w->session };
	return op;
}

/* Let first..last give way to a line of type gone. */
static void replace(struct rewriting *w, uint64_t first, uint64_t last,
		    const char *body)
{
	struct store_event *e = &w->with[w->n_rewrites];
	struct store_rewrite *x = &w->rewrites[w->n_rewrites++];
	struct store_op *op = add_op(w, OP_REWRITE);

	*e = (struct store_event){
		.session = w->session,
		.seq = first,
		.last = last,
		.ts_ms = w->f->now_ms,
		.type = EVENT_GONE,
		.state = STATE_GONE,
		.body = str_of(body),
	};
	*x = (struct store_rewrite){ first, last, e };
	op->u.rewrite = x;
	assert_ok(w->f, event_seal(e, &w->f->arena, &w->f->err));
}

/* The record as the lines that are left say it. */
static int add_record(struct rewriting *w, struct store_view *view,
		      struct op_list *out, struct weft_error *err)
{
	struct event_range range = { .session = w->session,
				     .first = 1,
				     .last = UINT64_MAX };
	struct session_rec *rec = ARENA_NEW(out->arena, struct session_rec);
	struct op_list ignored = { .arena = out->arena };
	struct event_page page;
	struct store_op *op;
	int r = view->ops->read_events(view, &range, out->arena, &page, err);

	for (size_t i = 0; i < page.n && r == WEFT_OK; i++) {
		const struct store_event *e = &page.v[i];

		for (size_t k = 0; k < w->n_rewrites; k++) {
			if (e->seq == w->rewrites[k].first)
				e = w->rewrites[k].with;
			else if (e->seq > w->rewrites[k].first &&
				 e->seq <= w->rewrites[k].last)
				e = NULL;
			if (!e)
				break;
		}
		if (e)
			r = derive_event(rec, e, NULL, &ignored, err);
	}
	op = op_list_add(out, OP_SESSION, &w->session);
	if (op)
		op->u.rec = rec;
	return r;
}

static int plan_rewriting(void *ctx, struct store_view *view,
			  struct op_list *out, struct weft_error *err)
{
	struct rewriting *w = ctx;

	for (size_t i = 0; i < w->n; i++) {
		struct store_op *op =
			op_list_add(out, w->ops[i].kind, &w->ops[i].session);

		if (op)
			*op = w->ops[i];
	}
	if (w->code)
		return (fail)(err, w->code, "the plan says no");
	return w->n_rewrites ? add_record(w, view, out, err) : WEFT_OK;
}

static int try_rewrite(struct rewriting *w)
{
	const struct store_want want = { .sessions = &w->session,
					 .n_sessions = 1,
					 .exclusive = 1 };
	struct store *s = w->f->store;
	int r;

	w->f->writing = true;
	r = s->ops->write(s, &want, plan_rewriting, w, &w->f->err);
	w->f->writing = false;
	return r;
}

static void must_rewrite(struct rewriting *w)
{
	assert_ok(w->f, try_rewrite(w));
}

static void run_task(struct fixture *f, uint32_t task)
{
	struct store_report report = { .arena = &f->arena };

	assert_ok(f, f->store->ops->maintain(f->store, task, &report, &f->err));
	assert_int_equal(report.n_problems, 0);
}

/* The same is there after a rebuild, and in a store that is opened again. */
static void expect_it_lasts(struct fixture *f)
{
	const char *before = dump(f, f->store);

	run_task(f, TASK_VERIFY);
	run_task(f, TASK_REINDEX);
	assert_string_equal(dump(f, f->store), before);
	if (!is_persistent(f))
		return;
	reopen_with(f, NULL);
	assert_string_equal(dump(f, f->store), before);
}

/* A session with five messages: 2 to 6. */
static struct weft_id begin_full(struct fixture *f)
{
	static const char *const said[] = { "one", "two", "three", "four",
					    "five" };
	struct weft_id s = begin(f);

	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		say(f, &s, said[i]);
	return s;
}

#define SUM(n) \
	"\"why\":\"reclaim\",\"sum\":{\"messages\":" #n ",\"turns\":" #n "}"

/* ---- OP_REWRITE ---- */

static void one_line_stands_for_several(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin_full(f);
	struct rewriting w = rewriting_of(f, &s);
	struct event_page page;

	replace(&w, 3, 5, "\"to\":5," SUM(3));
	must_rewrite(&w);
	page = read_all(f, &s);
	assert_string_equal(seqs(f, &page), "1 2 3-5 6");
	assert_int_equal(page.v[2].state, STATE_GONE);
	assert_int_equal(page.v[2].type, EVENT_GONE);
	assert_int_equal(record(f, &s)->message_count, 5);
	assert_int_equal(head(f, &s), 6);
	expect_it_lasts(f);
	/* Numbers go on where they were. */
	assert_int_equal(say(f, &s, "six"), 7);
}

static void several_lines_of_one_session_go_at_once(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin_full(f), other = begin_full(f);
	struct rewriting w = rewriting_of(f, &s);
	struct event_page page;

	replace(&w, 2, 2, SUM(1));
	replace(&w, 4, 5, "\"to\":5," SUM(2));
	must_rewrite(&w);
	page = read_all(f, &s);
	assert_string_equal(seqs(f, &page), "1 2 3 4-5 6");
	assert_int_equal(page.v[1].state, STATE_GONE);
	assert_string_equal(texts(f, &page), "session gone two gone five");
	expect_texts(f, &other, "session one two three four five");
	expect_it_lasts(f);
}

/* A range is met from wherever one comes. */
static void a_range_that_is_gone_is_read_from_any_side(void **state)
{
	static const struct {
		uint64_t first, last;
		uint32_t backwards;
		const char *seqs;
	} cases[] = {
		{ 4, 6, 0, "3-5 6" },   { 1, 4, 0, "1 2 3-5" },
		{ 4, 4, 0, "3-5" },     { 5, 6, 1, "6 3-5" },
		{ 1, 3, 1, "3-5 2 1" },
	};
	struct fixture *f = *state;
	struct weft_id s = begin_full(f);
	struct rewriting w = rewriting_of(f, &s);

	replace(&w, 3, 5, "\"to\":5," SUM(3));
	must_rewrite(&w);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct event_range range = {
			.session = s,
			.first = cases[i].first,
			.last = cases[i].last,
			.types = UINT64_C(1) << EVENT_MESSAGE |
				 UINT64_C(1) << EVENT_SESSION,
			.backwards = cases[i].backwards,
		};
		struct event_page page = read_range(f, &range);

		assert_string_equal(seqs(f, &page), cases[i].seqs);
	}
}

static void a_range_may_grow(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin_full(f);
	struct rewriting w = rewriting_of(f, &s);
	struct event_page page;

	replace(&w, 3, 4, "\"to\":4," SUM(2));
	must_rewrite(&w);
	w = rewriting_of(f, &s);
	replace(&w, 2, 5, "\"to\":5," SUM(4));
	must_rewrite(&w);
	page = read_all(f, &s);
	assert_string_equal(seqs(f, &page), "1 2-5 6");
	assert_int_equal(record(f, &s)->message_count, 5);
	expect_it_lasts(f);
}

/* What stays is what it was, to the byte. */
static void the_other_lines_stay_to_the_byte(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin_full(f);
	struct event_page before = read_all(f, &s), after;
	struct rewriting w = rewriting_of(f, &s);

	replace(&w, 3, 4, "\"to\":4," SUM(2));
	must_rewrite(&w);
	after = read_all(f, &s);
	assert_int_equal(after.n, 5);
	for (size_t i = 0; i < 2; i++)
		assert_true(str_eq(after.v[i].bytes, before.v[i].bytes));
	for (size_t i = 3; i < 5; i++)
		assert_true(str_eq(after.v[i].bytes, before.v[i + 1].bytes));
}

/* An operation id, and the event that has it; 0: none has. */
struct sought {
	const struct weft_id *session;
	const char *op;
	uint64_t seq;
};

static void look_for_op(struct draft *d, struct store_view *v, void *ctx)
{
	const struct sought *x = ctx;
	struct op_hit hit = { .seq = 0 };
	int r = v->ops->find_op(v, x->session, str_of(x->op), &hit, &d->f->err);

	assert_int_equal(r, x->seq ? WEFT_OK : WEFT_NOT_FOUND);
	assert_int_equal(hit.seq, x->seq);
}

static void expect_op(struct fixture *f, const struct weft_id *session,
		      const char *op, uint64_t seq)
{
	struct sought x = { session, op, seq };
	struct draft *d = draft_new(f);

	draft_look(d, look_for_op, &x);
	must_write(d);
}

static void an_operation_id_goes_with_its_line(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct rewriting w = rewriting_of(f, &s);

	say_op(f, &s, "one", "op-1");
	say_op(f, &s, "two", "op-2");
	expect_op(f, &s, "op-1", 2);
	replace(&w, 2, 2, SUM(1));
	must_rewrite(&w);
	expect_op(f, &s, "op-1", 0);
	expect_op(f, &s, "op-2", 3);
	/* It may be used again, and is found where it is then. */
	assert_int_equal(say_op(f, &s, "three", "op-1"), 4);
	expect_op(f, &s, "op-1", 4);
	expect_it_lasts(f);
	expect_op(f, &s, "op-1", 4);
	expect_op(f, &s, "op-2", 3);
}

static void what_was_hidden_stays_hidden(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin_full(f);
	struct rewriting w = rewriting_of(f, &s);
	uint64_t *hidden;
	size_t n;

	hide(f, &s, 6, true);
	replace(&w, 2, 3, "\"to\":3," SUM(2));
	must_rewrite(&w);
	assert_ok(f, f->store->ops->get_hidden(f->store, &s, 1, 100, &f->arena,
					       &hidden, &n, &f->err));
	assert_int_equal(n, 1);
	assert_int_equal(hidden[0], 6);
	expect_it_lasts(f);
}

static void a_plan_that_fails_rewrites_nothing(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin_full(f);
	struct rewriting w = rewriting_of(f, &s);
	const char *before = dump(f, f->store);

	replace(&w, 3, 5, "\"to\":5," SUM(3));
	w.code = WEFT_STALE;
	assert_code(f, try_rewrite(&w), WEFT_STALE);
	assert_string_equal(dump(f, f->store), before);
	expect_it_lasts(f);
}

/* ---- OP_DROP ---- */

static void a_session_that_goes_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct weft_id s =
		begin_with(f, &(struct session_rec){ .op = STR("made-by") });
	struct weft_id other = begin_full(f);
	struct rewriting w = rewriting_of(f, &s);
	const char *before = dump(f, f->store);
	struct weft_id *tagged;
	uint64_t *hidden;
	size_t n;

	say_op(f, &s, "one", "op-1");
	hide(f, &s, 2, true);
	assert_string_not_equal(dump(f, f->store), before);
	(void)add_op(&w, OP_DROP);
	must_rewrite(&w);
	assert_true(id_is_zero(&record(f, &s)->id));
	assert_ok(f, f->store->ops->get_hidden(f->store, &s, 1, 100, &f->arena,
					       &hidden, &n, &f->err));
	assert_int_equal(n, 0);
	assert_ok(f, f->store->ops->find_tag(f->store, id_session_tag(&s),
					     &f->arena, &tagged, &n, &f->err));
	assert_int_equal(n, 0);
	expect_texts(f, &other, "session one two three four five");
	expect_it_lasts(f);
}

static void look_for_the_creation(struct draft *d, struct store_view *v,
				  void *ctx)
{
	struct op_hit hit;

	(void)d;
	(void)ctx;
	assert_int_equal(v->ops->find_op(v, NULL, STR("made-by"), &hit, NULL),
			 WEFT_NOT_FOUND);
}

static void the_operation_that_made_it_goes_too(void **state)
{
	struct fixture *f = *state;
	struct weft_id s =
		begin_with(f, &(struct session_rec){ .op = STR("made-by") });
	struct rewriting w = rewriting_of(f, &s);
	struct draft *d = draft_new(f);

	(void)add_op(&w, OP_DROP);
	must_rewrite(&w);
	draft_look(d, look_for_the_creation, NULL);
	must_write(d);
}

static void a_plan_that_fails_drops_nothing(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin_full(f);
	struct rewriting w = rewriting_of(f, &s);
	const char *before = dump(f, f->store);

	(void)add_op(&w, OP_DROP);
	w.code = WEFT_LEASED;
	assert_code(f, try_rewrite(&w), WEFT_LEASED);
	assert_string_equal(dump(f, f->store), before);
	expect_texts(f, &s, "session one two three four five");
}

/* ---- OP_UNNAME ---- */

static void a_name_goes_with_its_version(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f), next = begin(f);
	struct rewriting w = rewriting_of(f, &s);
	struct weft_str gone = STR("mine");
	struct draft *d;

	name(f, &s, "mine", 1);
	name(f, &s, "other", 1);
	d = draft_new(f);
	draft_name(d, &s, "mine", 2, true);
	must_write(d);
	assert_int_equal(find_name(f, "mine")->ver, 2);

	(void)add_op(&w, OP_DROP);
	add_op(&w, OP_UNNAME)->u.unname = &gone;
	must_rewrite(&w);
	assert_int_equal(find_name(f, "mine")->ver, 0);
	/* As if never used: the first version wins again. */
	name(f, &next, "mine", 1);
	assert_id_equal(&find_name(f, "mine")->session, &next);
	expect_it_lasts(f);
}

/* ---- OP_TAKE ---- */

/* Take from the rolled-up totals of a session. */
static int plan_take(void *ctx, struct store_view *view, struct op_list *out,
		     struct weft_error *err)
{
	static const struct totals taken = { .input_tokens = 3,
					     .output_tokens = 1,
					     .cost_nano = 7,
					     .unpriced = 1 };
	struct store_op *op = op_list_add(out, OP_TAKE, ctx);

	(void)view;
	(void)err;
	if (op)
		op->u.add = &taken;
	return WEFT_OK;
}

static void take(struct fixture *f, struct weft_id *from)
{
	const struct store_want want = { .sessions = from, .n_sessions = 1 };

	assert_ok(f, f->store->ops->write(f->store, &want, plan_take, from,
					  &f->err));
}

static void what_is_taken_is_what_was_added(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f), other = begin(f);
	struct draft *d = draft_new(f);

	draft_add(d, &s, 10);
	d->steps[0].add = (struct totals){ .input_tokens = 10,
					   .output_tokens = 2,
					   .cost_nano = 9,
					   .unpriced = 1 };
	draft_add(d, &other, 10);
	must_write(d);
	take(f, &s);
	assert_int_equal(record(f, &s)->total.input_tokens, 7);
	assert_int_equal(record(f, &s)->total.output_tokens, 1);
	assert_int_equal(record(f, &s)->total.cost_nano, 2);
	assert_int_equal(record(f, &s)->total.unpriced, 0);
	assert_int_equal(record(f, &s)->own.input_tokens, 0);
	assert_int_equal(record(f, &other)->total.input_tokens, 10);
}

static void nothing_is_taken_of_a_session_that_is_not_there(void **state)
{
	struct fixture *f = *state;
	struct weft_id there = begin(f), nobody = there;
	struct draft *d = draft_new(f);
	const char *before;

	/* Something that could be taken. */
	draft_add(d, &there, 10);
	must_write(d);
	before = dump(f, f->store);
	nobody.b[15] ^= 1;
	take(f, &nobody);
	assert_int_equal(record(f, &there)->total.input_tokens, 10);
	assert_string_equal(dump(f, f->store), before);
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(one_line_stands_for_several),
	STORE_TEST(several_lines_of_one_session_go_at_once),
	STORE_TEST(a_range_that_is_gone_is_read_from_any_side),
	STORE_TEST(a_range_may_grow),
	STORE_TEST(the_other_lines_stay_to_the_byte),
	STORE_TEST(an_operation_id_goes_with_its_line),
	STORE_TEST(what_was_hidden_stays_hidden),
	STORE_TEST(a_plan_that_fails_rewrites_nothing),
	STORE_TEST(a_session_that_goes_leaves_nothing),
	STORE_TEST(the_operation_that_made_it_goes_too),
	STORE_TEST(a_plan_that_fails_drops_nothing),
	STORE_TEST(a_name_goes_with_its_version),
	STORE_TEST(what_is_taken_is_what_was_added),
	STORE_TEST(nothing_is_taken_of_a_session_that_is_not_there),
};

const struct suite rewrite_suite = { tests, ARRAY_LEN(tests) };

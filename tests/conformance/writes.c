/* writes.c - writes: all or nothing, on a fresh view; operation ids. */
#include "base/id.h"
#include "base/mem.h"
#include "conformance/conformance.h"

/* ---- all or nothing ---- */

static void a_write_over_several_sessions_is_one(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b;
	struct draft *d = draft_new(f);

	(void)draft_say(d, &a, "a");
	b = draft_begin(d, &(struct session_rec){ .key = STR("b-key") });
	(void)draft_say(d, &b, "b");
	must_write(d);
	assert_int_equal(d->planned, 1);
	expect_texts(f, &a, "session a");
	expect_texts(f, &b, "session b");
	assert_id_equal(&find_name(f, "b-key")->session, &b);
}

/* A draft that would change something of every kind. */
static struct draft *change_everything(struct fixture *f,
				       const struct weft_id *a)
{
	struct draft *d = draft_new(f);
	struct weft_id fresh = draft_begin(
		d, &(struct session_rec){ .key = STR("fresh"),
					  .op = STR("create-fresh") });

	(void)draft_say(d, &fresh, "never");
	draft_say(d, a, "never")->event.op = STR("op-never");
	draft_name(d, a, "never", 1, false);
	draft_hide(d, a, 2, true);
	draft_add(d, a, 7);
	return d;
}

static void look_for_nothing(struct draft *d, struct store_view *v, void *ctx)
{
	const struct weft_id *a = ctx;
	struct op_hit hit;
	uint32_t hidden = 9;

	(void)d;
	assert_int_equal(v->ops->find_op(v, a, STR("op-never"), &hit, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(
		v->ops->find_op(v, NULL, STR("create-fresh"), &hit, NULL),
		WEFT_NOT_FOUND);
	assert_int_equal(v->ops->is_hidden(v, a, 2, &hidden, NULL), WEFT_OK);
	assert_int_equal(hidden, 0);
}

/* Nothing of change_everything() has happened. */
static void expect_nothing_changed(struct fixture *f, struct weft_id *a,
				   const char *before)
{
	struct draft *d = draft_new(f);

	assert_string_equal(dump(f, f->store), before);
	assert_int_equal(find_name(f, "fresh")->ver, 0);
	assert_int_equal(find_name(f, "never")->ver, 0);
	draft_look(d, look_for_nothing, a);
	must_write(d);
}

static void a_plan_that_fails_changes_nothing(void **state)
{
	struct fixture *f = *state;
	const int codes[] = { WEFT_STALE, WEFT_OP_MISMATCH, WEFT_LEASED,
			      WEFT_INVALID };
	struct weft_id a = begin(f);
	const char *before;

	say(f, &a, "there");
	before = dump(f, f->store);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct draft *d = change_everything(f, &a);

		draft_refuse(d, codes[i]);
		assert_code(f, draft_write(d), codes[i]);
		assert_string_equal(f->err.message, "refused by the plan");
		expect_nothing_changed(f, &a, before);
	}
	assert_int_equal(say(f, &a, "again"), 3);
}

static void a_missing_blob_refuses_the_whole_write(void **state)
{
	struct fixture *f = *state;
	struct blob_ref nowhere = { .sha256 = { 1, 2, 3 }, .bytes = 3 };
	struct weft_id a = begin(f);
	struct draft *d;
	const char *before;

	say(f, &a, "there");
	before = dump(f, f->store);
	d = change_everything(f, &a);
	draft_refer(d, &nowhere);
	assert_code(f, draft_write(d), WEFT_NOT_FOUND);
	expect_nothing_changed(f, &a, before);
	assert_int_equal(say(f, &a, "again"), 3);
	expect_texts(f, &a, "session there again");
}

static void a_plan_without_operations_writes_nothing(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f);
	const char *before = dump(f, f->store);
	struct draft *d = draft_new(f);

	must_write(d);
	assert_int_equal(d->planned, 1);
	assert_string_equal(dump(f, f->store), before);
	assert_int_equal(head(f, &a), 1);
}

/* Let the n-th allocation of a write fail; what the write said. */
static int write_without_memory(struct fixture *f, int64_t n)
{
	struct weft_id a = begin(f);
	const char *before;
	struct draft *d;
	int r;

	say(f, &a, "there");
	before = dump(f, f->store);
	d = change_everything(f, &a);
	mem_fault(n, 1);
	r = draft_write(d);
	mem_fault(-1, 0);
	if (r == WEFT_UNKNOWN || r == WEFT_IO) {
		/* It has stopped; only reopening tells. */
		(void)store_close(f->store, NULL);
		assert_ok(f, open_again(f, NULL, 0, &f->store));
	}
	if (r == WEFT_OK || (r == WEFT_UNKNOWN && head(f, &a) > 2)) {
		assert_int_equal(find_name(f, "fresh")->ver, 1);
		assert_int_equal(find_name(f, "never")->ver, 1);
		expect_texts(f, &a, "session there never name redact");
	} else {
		expect_nothing_changed(f, &a, before);
	}
	return r;
}

static void without_memory_a_write_is_whole_or_nothing(void **state)
{
	int r = WEFT_NO_MEMORY;

	(void)state;
	/* One allocation after the other fails, until none does. */
	for (int64_t n = 0; r != WEFT_OK || mem_faults_hit() > 0; n++) {
		void *inner;

		assert_true(n < 10000);
		assert_int_equal(fixture_setup(&inner), 0);
		r = write_without_memory(inner, n);
		assert_true(r == WEFT_OK || r == WEFT_NO_MEMORY ||
			    r == WEFT_UNKNOWN || r == WEFT_IO);
		assert_int_equal(fixture_teardown(&inner), 0);
	}
}

/* ---- the view ---- */

struct looking {
	struct weft_id session;
	uint64_t head;
	struct weft_str slug;
	bool seen;
};

static void look_at_session(struct draft *d, struct store_view *v, void *ctx)
{
	struct looking *l = ctx;
	const struct session_rec *rec;

	assert_ok(d->f, v->ops->get_session(v, &l->session, &rec, &d->f->err));
	assert_id_equal(&rec->id, &l->session);
	assert_int_equal(rec->head_seq, l->head);
	assert_true(str_eq(rec->slug, l->slug));
	l->seen = true;
}

static void a_plan_sees_the_record_as_it_is_now(void **state)
{
	struct fixture *f = *state;
	struct looking l = { .slug = STR("slug") };

	l.session = begin_with(f, &(struct session_rec){ .slug = l.slug });
	for (l.head = 1; l.head < 5; l.head++) {
		struct draft *d = draft_new(f);

		l.seen = false;
		draft_look(d, look_at_session, &l);
		(void)draft_say(d, &l.session, "more");
		must_write(d);
		assert_true(l.seen);
		assert_int_equal(head(f, &l.session), l.head + 1);
	}
}

static void look_for_nobody(struct draft *d, struct store_view *v, void *ctx)
{
	const struct session_rec *rec = ctx;
	struct weft_id nobody = { { 1, 2, 3 } };
	struct name_rec name, *names;
	struct event_page page;
	struct op_hit hit;
	size_t n = 9;

	assert_code(d->f, v->ops->get_session(v, &nobody, &rec, &d->f->err),
		    WEFT_NOT_FOUND);
	assert_code(d->f,
		    v->ops->find_op(v, &nobody, STR("x"), &hit, &d->f->err),
		    WEFT_NOT_FOUND);
	assert_ok(d->f, v->ops->get_name(v, STR("nobody"), &name, &d->f->err));
	assert_int_equal(name.ver, 0);
	assert_true(id_is_zero(&name.session));
	assert_ok(d->f, v->ops->get_names_of(v, &nobody, &d->f->arena, &names,
					     &n, &d->f->err));
	assert_int_equal(n, 0);
	assert_ok(d->f,
		  v->ops->read_events(
			  v, &(struct event_range){ nobody, 1, 9, 0, 0, 0, 0 },
			  &d->f->arena, &page, &d->f->err));
	assert_int_equal(page.n, 0);
	assert_true(page.done);
}

static void a_plan_is_told_what_is_not_there(void **state)
{
	struct fixture *f = *state;
	struct draft *d = draft_new(f);

	draft_look(d, look_for_nobody, NULL);
	must_write(d);
	(void)begin(f);
	must_write(d);
}

static void look_at_names(struct draft *d, struct store_view *v, void *ctx)
{
	const struct weft_id *s = ctx;
	struct name_rec name, *names;
	size_t n;

	assert_ok(d->f, v->ops->get_name(v, STR("alias"), &name, &d->f->err));
	assert_id_equal(&name.session, s);
	assert_int_equal(name.ver, 3);
	assert_int_equal(name.kind, NAME_ALIAS);
	assert_ok(d->f, v->ops->get_names_of(v, s, &d->f->arena, &names, &n,
					     &d->f->err));
	assert_int_equal(n, 2);
	assert_str_is(names[0].name, "the-key");
	assert_int_equal(names[0].kind, NAME_KEY);
	assert_str_is(names[1].name, "alias");
}

static void a_plan_sees_names_as_they_are_now(void **state)
{
	struct fixture *f = *state;
	struct weft_id s =
		begin_with(f, &(struct session_rec){ .key = STR("the-key") });
	struct draft *d = draft_new(f);

	name(f, &s, "alias", 3);
	draft_look(d, look_at_names, &s);
	must_write(d);
}

static void look_at_events(struct draft *d, struct store_view *v, void *ctx)
{
	struct event_range r = { .first = 2,
				 .last = UINT64_MAX,
				 .types = UINT64_C(1) << EVENT_MESSAGE,
				 .backwards = 1 };
	struct event_page page;
	uint32_t hidden;

	r.session = *(const struct weft_id *)ctx;
	assert_ok(d->f,
		  v->ops->read_events(v, &r, &d->f->arena, &page, &d->f->err));
	assert_string_equal(texts(d->f, &page), "c b a");
	for (uint64_t seq = 1; seq < 7; seq++) {
		assert_ok(d->f, v->ops->is_hidden(v, &r.session, seq, &hidden,
						  &d->f->err));
		assert_int_equal(hidden != 0, seq == 3);
	}
}

static void a_plan_sees_events_and_what_is_hidden(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);

	say(f, &s, "a");
	say(f, &s, "b");
	say(f, &s, "c");
	hide(f, &s, 3, true);
	draft_look(d, look_at_events, &s);
	must_write(d);
}

static void look_while_others_read(struct draft *d, struct store_view *v,
				   void *ctx)
{
	const struct weft_id *s = ctx;

	(void)v;
	/* The reader sees nothing of a write that is being planned. */
	assert_int_equal(head(d->f, s), 2);
	expect_texts(d->f, s, "session a");
	assert_int_equal(find_name(d->f, "later")->ver, 0);
}

static void reads_go_on_while_a_write_is_planned(void **state)
{
	struct fixture *f = *state;
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);

	say(f, &s, "a");
	(void)draft_say(d, &s, "b");
	draft_name(d, &s, "later", 1, false);
	draft_look(d, look_while_others_read, &s);
	must_write(d);
	assert_int_equal(head(f, &s), 4);
}

/* ---- operation ids ---- */

struct op_question {
	const struct weft_id *session;
	const char *op;
	struct weft_id found;
	uint64_t seq; /* 0: not found */
};

static void look_for_op(struct draft *d, struct store_view *v, void *ctx)
{
	struct op_question *q = ctx;
	struct op_hit hit;
	int r = v->ops->find_op(v, q->session, str_of(q->op), &hit, &d->f->err);

	if (r == WEFT_NOT_FOUND) {
		q->seq = 0;
		return;
	}
	assert_ok(d->f, r);
	q->found = hit.session;
	q->seq = hit.seq;
}

/* Where `op` was used; 0 if it was not. */
static uint64_t op_seq(struct fixture *f, const struct weft_id *s,
		       const char *op)
{
	struct op_question q = { .session = s, .op = op };
	struct draft *d = draft_new(f);

	draft_look(d, look_for_op, &q);
	must_write(d);
	if (q.seq && s)
		assert_id_equal(&q.found, s);
	return q.seq;
}

static void an_operation_id_leads_to_its_first_event(void **state)
{
	struct fixture *f = *state;
	struct weft_id a = begin(f), b = begin(f);
	struct draft *d = draft_new(f);

	assert_int_equal(say_op(f, &a, "one", "first"), 2);
	draft_say(d, &a, "two")->event = (struct store_event){
		.type = EVENT_MESSAGE,
		.op = STR("group"),
		.more = 1,
		.ts_ms = f->now_ms,
		.body = d->steps[0].event.body,
	};
	(void)draft_say(d, &a, "three");
	must_write(d);
	assert_int_equal(op_seq(f, &a, "first"), 2);
	assert_int_equal(op_seq(f, &a, "group"), 3);
	assert_int_equal(op_seq(f, &a, "other"), 0);
	assert_int_equal(op_seq(f, &b, "first"), 0);
	/* Nothing but the very same id is it. */
	assert_int_equal(op_seq(f, &a, "firs"), 0);
	assert_int_equal(op_seq(f, &a, "first "), 0);
	assert_int_equal(op_seq(f, &a, "First"), 0);
}

static void a_creation_has_a_scope_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct session_rec start = { .op = STR("make it") };
	struct op_question q = { .op = "make it" };
	struct weft_id s = begin_with(f, &start);
	struct draft *d = draft_new(f);

	draft_look(d, look_for_op, &q);
	must_write(d);
	assert_int_equal(q.seq, 1);
	assert_id_equal(&q.found, &s);
	assert_int_equal(op_seq(f, &s, "make it"), 0);
	/* So the session may use the id for itself. */
	say_op(f, &s, "hello", "make it");
	assert_int_equal(op_seq(f, &s, "make it"), 2);
	assert_int_equal(op_seq(f, NULL, "make it"), 1);
	say_op(f, &s, "hello", "mine");
	assert_int_equal(op_seq(f, NULL, "mine"), 0);
}

static void the_last_operation_ids_are_remembered(void **state)
{
	struct fixture *f = *state;
	struct weft_id s;
	char op[16];

	reopen_with(f, "ops_remembered=16");
	s = begin(f);
	for (int i = 0; i < 50; i++) {
		(void)snprintf(op, sizeof(op), "op-%d", i);
		(void)say_op(f, &s, "x", op);
	}
	for (int i = 50 - 16; i < 50; i++) {
		(void)snprintf(op, sizeof(op), "op-%d", i);
		assert_int_equal(op_seq(f, &s, op), i + 2);
	}
	if (!is_persistent(f))
		return;
	reopen_with(f, "ops_remembered=16");
	for (int i = 50 - 16; i < 50; i++) {
		(void)snprintf(op, sizeof(op), "op-%d", i);
		assert_int_equal(op_seq(f, &s, op), i + 2);
	}
}

/* ---- records and totals ---- */

static void totals_climb_by_additions(void **state)
{
	static const char spend[] =
		"\"role\":\"assistant\",\"parts\":[{\"type\":\"text\","
		"\"text\":\"x\"}],\"usage\":{\"input_tokens\":%d,"
		"\"output_tokens\":1,\"cost_usd\":0.5}";
	struct fixture *f = *state;
	struct weft_id root = begin(f), child, grandchild;
	struct draft *d = draft_new(f);

	child = begin_with(f, &(struct session_rec){ .kind = KIND_SUBAGENT,
						     .parent = root,
						     .root = root });
	grandchild = begin_with(f, &(struct session_rec){ .kind = KIND_SUBAGENT,
							  .parent = child,
							  .root = root });
	(void)draft_event(d, &root, EVENT_MESSAGE, spend, 1);
	(void)draft_event(d, &child, EVENT_MESSAGE, spend, 20);
	(void)draft_event(d, &grandchild, EVENT_MESSAGE, spend, 300);
	must_write(d);
	assert_int_equal(record(f, &root)->own.input_tokens, 1);
	assert_int_equal(record(f, &root)->total.input_tokens, 321);
	assert_int_equal(record(f, &root)->total.cost_nano, 1500000000);
	assert_int_equal(record(f, &child)->own.input_tokens, 20);
	assert_int_equal(record(f, &child)->total.input_tokens, 320);
	assert_int_equal(record(f, &grandchild)->total.input_tokens, 300);
	/* An addition is no event of the payer. */
	assert_int_equal(head(f, &root), 2);
}

static void an_addition_to_nobody_is_ignored(void **state)
{
	struct fixture *f = *state;
	struct weft_id nobody;
	struct draft *d = draft_new(f);

	assert_ok(f, id_new(f->now_ms, &nobody, &f->err));
	draft_add(d, &nobody, 5);
	(void)draft_begin(d, &(struct session_rec){ 0 });
	must_write(d);
	assert_true(id_is_zero(&record(f, &nobody)->id));
}

static void a_record_has_what_its_session_began_with(void **state)
{
	struct fixture *f = *state;
	struct session_rec start = {
		.kind = KIND_PRIMARY,
		.key = STR("k\xc3\xa9y"),
		.op = STR("op-1"),
		.agent = STR("main"),
		.slug = STR("a \"slug\""),
		.project_dir = STR("/src/weft"),
		.model_provider = STR("acme"),
		.model_name = STR("m-1"),
		.user = STR("u"),
		.channel = STR("cli"),
		.user_role = STR("owner"),
		.metadata = STR("{\"a\":[1,2,{\"b\":null}]}"),
	};
	struct weft_id s = begin_with(f, &start);
	const struct session_rec *rec = record(f, &s);

	assert_id_equal(&rec->id, &s);
	assert_int_equal(rec->kind, KIND_PRIMARY);
	assert_true(str_eq(rec->key, start.key));
	assert_true(str_eq(rec->op, start.op));
	assert_true(str_eq(rec->agent, start.agent));
	assert_true(str_eq(rec->slug, start.slug));
	assert_true(str_eq(rec->project_dir, start.project_dir));
	assert_true(str_eq(rec->model_provider, start.model_provider));
	assert_true(str_eq(rec->model_name, start.model_name));
	assert_true(str_eq(rec->user, start.user));
	assert_true(str_eq(rec->channel, start.channel));
	assert_true(str_eq(rec->user_role, start.user_role));
	assert_true(str_eq(rec->metadata, start.metadata));
	assert_int_equal(rec->created_at, f->now_ms);
	assert_int_equal(rec->updated_at, f->now_ms);
	assert_int_equal(rec->head_seq, 1);
}

/* ---- operation ids that were announced ---- */

struct announced {
	struct fixture *f;
	const struct weft_id *a;
	unsigned looked;
};

/* What was announced and what was not, used and not used. */
static int look_for_announced(void *ctx, struct store_view *v,
			      struct op_list *out, struct weft_error *err)
{
	struct announced *x = ctx;
	struct op_hit hit;

	(void)out;
	(void)err;
	x->looked++;
	assert_ok(x->f,
		  v->ops->find_op(v, x->a, STR("used"), &hit, &x->f->err));
	assert_int_equal(hit.seq, 2);
	assert_id_equal(&hit.session, x->a);
	assert_ok(x->f,
		  v->ops->find_op(v, x->a, STR("silent"), &hit, &x->f->err));
	assert_int_equal(hit.seq, 3);
	assert_int_equal(v->ops->find_op(v, x->a, STR("never"), &hit, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(v->ops->find_op(v, x->a, STR("make"), &hit, NULL),
			 WEFT_NOT_FOUND);
	assert_ok(x->f,
		  v->ops->find_op(v, NULL, STR("make"), &hit, &x->f->err));
	assert_int_equal(hit.seq, 1);
	assert_id_equal(&hit.session, x->a);
	assert_int_equal(v->ops->find_op(v, NULL, STR("used"), &hit, NULL),
			 WEFT_NOT_FOUND);
	return WEFT_OK;
}

static void announced_operation_ids_are_found_like_others(void **state)
{
	struct fixture *f = *state;
	struct draft *d = draft_new(f);
	struct weft_id a = draft_begin(
		d, &(struct session_rec){ .key = STR("a"), .op = STR("make") });
	const struct store_want_op ops[] = {
		{ .session = a, .op = STR("used") },
		{ .session = a, .op = STR("never") },
		{ .session = a, .op = STR("make") },
		{ .op = STR("make") },
		{ .op = STR("used") },
		{ .op = STR("make") },
		{ .session = a, .op = STR("used") },
	};
	struct announced x = { .f = f, .a = &a };
	struct store_want want = { .sessions = &a,
				   .n_sessions = 1,
				   .ops = ops,
				   .n_ops = ARRAY_LEN(ops) };

	draft_say(d, &a, "one")->event.op = STR("used");
	draft_say(d, &a, "two")->event.op = STR("silent");
	must_write(d);
	assert_ok(f, f->store->ops->write(f->store, &want, look_for_announced,
					  &x, &f->err));
	assert_true(x.looked >= 1);
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(a_write_over_several_sessions_is_one),
	STORE_TEST(a_plan_that_fails_changes_nothing),
	STORE_TEST(a_missing_blob_refuses_the_whole_write),
	STORE_TEST(a_plan_without_operations_writes_nothing),
	STORE_TEST(without_memory_a_write_is_whole_or_nothing),
	STORE_TEST(a_plan_sees_the_record_as_it_is_now),
	STORE_TEST(a_plan_is_told_what_is_not_there),
	STORE_TEST(a_plan_sees_names_as_they_are_now),
	STORE_TEST(a_plan_sees_events_and_what_is_hidden),
	STORE_TEST(reads_go_on_while_a_write_is_planned),
	STORE_TEST(an_operation_id_leads_to_its_first_event),
	STORE_TEST(a_creation_has_a_scope_of_its_own),
	STORE_TEST(the_last_operation_ids_are_remembered),
	STORE_TEST(totals_climb_by_additions),
	STORE_TEST(an_addition_to_nobody_is_ignored),
	STORE_TEST(a_record_has_what_its_session_began_with),
	STORE_TEST(announced_operation_ids_are_found_like_others),
};

const struct suite write_suite = { tests, ARRAY_LEN(tests) };

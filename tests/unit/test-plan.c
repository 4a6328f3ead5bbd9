/*
 * test-plan.c - requests planned together must see each other.
 *
 * Whether two requests share a batch is a matter of timing, so no test through
 * the public functions can show what happens when they do.  Here they are put
 * into one batch by hand, on a memory store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/id.h"
#include "engine/internal.h"

#define REQUESTS_MAX 96

/* A request, and the one whose session it is for. */
struct entry {
	struct request *request;
	struct request *of;
};

struct bench {
	struct engine *engine;
	struct store *store;
	struct plan plan;
	struct entry entries[REQUESTS_MAX];
	size_t n, done; /* entries[done..n) are the next batch */
	bool twice;     /* plan as if the store had to start over */
	size_t n_ops;   /* of the last plan */
	int64_t now_ms;
	struct arena arena; /* what record() returned */
};

static int64_t tell_time(void *ctx)
{
	return ((struct bench *)ctx)->now_ms;
}

static struct bench *bench_open(const char *url)
{
	static struct bench bench;
	struct bench *b = &bench;
	struct weft_open_options o;
	struct weft_error err;

	*b = (struct bench){ .now_ms = INT64_C(1800000000000) };
	weft_open_options_init(&o, sizeof(o));
	o.now_ms = tell_time;
	o.now_ctx = b;
	assert_int_equal(engine_open(url, &o, &b->engine, &err), WEFT_OK);
	b->store = engine_store(b->engine);
	plan_init(&b->plan, b->engine);
	return b;
}

static void bench_close(struct bench *b)
{
	for (size_t i = 0; i < b->n; i++)
		request_free(b->entries[i].request);
	plan_done(&b->plan);
	arena_done(&b->arena);
	assert_int_equal(engine_close(b->engine, NULL), WEFT_OK);
}

/* ---- requests ---- */

static struct request *add(struct bench *b, uint32_t kind, struct request *of)
{
	struct request *q = request_new(kind, NULL);

	assert_non_null(q);
	assert_true(b->n < REQUESTS_MAX);
	b->entries[b->n++] = (struct entry){ .request = q, .of = of };
	return q;
}

static struct request *creates(struct bench *b, const char *key)
{
	struct request *q = add(b, REQUEST_CREATE, NULL);

	q->create.key = str_of(key);
	q->create.kind = KIND_PRIMARY;
	return q;
}

static struct request *creates_named(struct bench *b, const char *key,
				     const char *alias)
{
	struct request *q = creates(b, key);
	struct weft_str *v = ARENA_NEW(&q->arena, struct weft_str);

	*v = str_of(alias);
	q->aliases = v;
	q->n_aliases = 1;
	return q;
}

static struct request *spawns(struct bench *b, struct request *parent)
{
	struct request *q = add(b, REQUEST_CREATE, parent);

	q->create.kind = KIND_SUBAGENT;
	return q;
}

/* One message for each text; NULL ends them. */
static struct request *says_all(struct bench *b, struct request *of,
				const char *op, const char *const *texts)
{
	struct request *q = add(b, REQUEST_APPEND, of);
	size_t n = 0;

	while (texts[n])
		n++;
	q->op = str_of(op);
	q->messages = ARENA_ARRAY(&q->arena, struct message, n);
	q->n_messages = n;
	for (size_t i = 0; i < n; i++) {
		struct weft_str json = arena_printf(
			&q->arena, "{\"role\":\"user\",\"content\":\"%s\"}",
			texts[i]);

		assert_int_equal(message_check(json, engine_limits(b->engine),
					       &q->arena, &q->messages[i],
					       NULL),
				 WEFT_OK);
	}
	return q;
}

static struct request *says_once(struct bench *b, struct request *of,
				 const char *op, const char *text)
{
	return says_all(b, of, op, (const char *const[]){ text, NULL });
}

static struct request *says(struct bench *b, struct request *of,
			    const char *text)
{
	return says_once(b, of, NULL, text);
}

static struct request *names(struct bench *b, struct request *of, uint32_t how,
			     const char *name)
{
	struct request *q = add(b, REQUEST_NAME, of);

	q->name = str_of(name);
	q->name_how = how;
	return q;
}

static struct request *redacts(struct bench *b, struct request *of,
			       uint64_t seq, uint32_t undo)
{
	struct request *q = add(b, REQUEST_REDACT, of);
	uint64_t *v = ARENA_NEW(&q->arena, uint64_t);

	*v = seq;
	q->targets = v;
	q->n_targets = 1;
	q->undo = undo;
	return q;
}

static struct request *patches(struct bench *b, struct request *of,
			       const char *json)
{
	struct request *q = add(b, REQUEST_PATCH, of);

	q->patch = str_of(json);
	return q;
}

/* ---- planning ---- */

static int plan_entries(struct bench *b, struct store_view *view,
			struct op_list *out, struct weft_error *err)
{
	struct plan *p = &b->plan;
	int r = plan_begin(p, view, out, err);

	assert_int_equal(r, WEFT_OK);
	for (size_t i = b->done; i < b->n; i++) {
		struct request *q = b->entries[i].request;
		struct request *of = b->entries[i].of;

		if (of && q->kind == REQUEST_CREATE)
			q->create.parent = of->ret_session;
		else if (of)
			q->session = of->ret_session;
		q->status = plan_one(p, q);
		assert_false(p->broken);
	}
	return plan_end(p, err);
}

static int plan_by_hand(void *ctx, struct store_view *view, struct op_list *out,
			struct weft_error *err)
{
	struct bench *b = ctx;
	int r;

	if (b->twice) {
		r = plan_entries(b, view, out, err);
		assert_int_equal(r, WEFT_OK);
		out->n = 0;
	}
	r = plan_entries(b, view, out, err);
	b->n_ops = out->n;
	return r;
}

/* Write everything that was added since the last time, as one batch. */
static void run(struct bench *b)
{
	struct store_want want = { 0 };
	struct weft_error err = { 0 };

	b->now_ms += 1000;
	if (b->store->ops->write(b->store, &want, plan_by_hand, b, &err) < 0)
		fail_msg("%s", err.message);
	b->done = b->n;
}

static void expect_ok(const struct request *q)
{
	if (q->status < 0)
		fail_msg("refused: %s", q->err.message);
}

static void expect_refused(const struct request *q, int code, const char *part)
{
	assert_int_equal(q->status, code);
	assert_int_equal(q->err.code, code);
	if (!strstr(q->err.message, part))
		fail_msg("'%s' has no '%s'", q->err.message, part);
}

static struct session_rec record(struct bench *b, const struct request *q)
{
	struct session_rec rec = { 0 };
	struct weft_error err;

	if (engine_session(b->engine, &q->ret_session, &b->arena, &rec, &err) <
	    0)
		fail_msg("%s", err.message);
	return rec;
}

static struct weft_id holder(struct bench *b, const char *name)
{
	struct weft_str text = str_of(name);
	struct name_rec rec = { 0 };

	assert_int_equal(b->store->ops->get_names(b->store, &text, 1, &b->arena,
						  &rec, NULL),
			 WEFT_OK);
	return rec.session;
}

static bool holds(struct bench *b, const struct request *q, const char *name)
{
	struct weft_id id = holder(b, name);

	return id_eq(&id, &q->ret_session);
}

static size_t events_of(struct bench *b, const struct request *q)
{
	return (size_t)record(b, q).head_seq;
}

/* ---- tests ---- */

static void a_session_and_its_first_words(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k"), *x = says(b, s, "a");
	struct request *y = says(b, s, "b");

	(void)state;
	run(b);
	expect_ok(x);
	expect_ok(y);
	assert_int_equal(s->ret_created, 1);
	assert_int_equal(s->ret_seq, 1);
	assert_int_equal(x->ret_seq, 2);
	assert_int_equal(y->ret_seq, 3);
	assert_int_equal(id_event_seq(&y->ret_id), 3);
	assert_int_equal(record(b, s).message_count, 2);
	/* Three events, their name, one record. */
	assert_int_equal(b->n_ops, 5);
	bench_close(b);
}

static void an_operation_takes_place_once(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k");
	struct request *first = says_once(b, s, "x", "a");
	struct request *again = says_once(b, s, "x", "a");
	struct request *other = says_once(b, s, "x", "b");
	struct request *later, *later_other;

	(void)state;
	run(b);
	expect_ok(again);
	assert_int_equal(first->ret_replayed, 0);
	assert_int_equal(again->ret_replayed, 1);
	assert_int_equal(again->ret_seq, first->ret_seq);
	assert_true(id_eq(&again->ret_id, &first->ret_id));
	expect_refused(other, WEFT_OP_MISMATCH, "'x'");
	assert_int_equal(events_of(b, s), 2);

	later = says_once(b, s, "x", "a");
	later_other = says_once(b, s, "x", "b");
	run(b);
	expect_ok(later);
	assert_int_equal(later->ret_replayed, 1);
	assert_int_equal(later->ret_seq, 2);
	expect_refused(later_other, WEFT_OP_MISMATCH, "event 2");
	assert_int_equal(b->n_ops, 0);
	bench_close(b);
}

static void an_operation_is_all_of_its_messages(void **state)
{
	const char *const abc[] = { "a", "b", "c", NULL };
	const char *const abd[] = { "a", "b", "d", NULL };
	const char *const ab[] = { "a", "b", NULL };
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k");
	struct request *first = says_all(b, s, "x", abc);

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct request *again = says_all(b, s, "x", abc);
		struct request *changed = says_all(b, s, "x", abd);
		struct request *shorter = says_all(b, s, "x", ab);

		run(b);
		expect_ok(again);
		assert_int_equal(again->ret_replayed, 1);
		assert_int_equal(again->ret_count, 3);
		assert_true(id_eq(&again->ret_id, &first->ret_id));
		expect_refused(changed, WEFT_OP_MISMATCH, "event 4");
		expect_refused(shorter, WEFT_OP_MISMATCH, "event 2");
	}
	assert_int_equal(first->ret_count, 3);
	assert_int_equal(events_of(b, s), 4);
	bench_close(b);
}

static void an_operation_comes_before_what_was_expected(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k");
	struct request *first = says_once(b, s, "x", "a");
	struct request *again = says_once(b, s, "x", "a");
	struct request *gone = add(b, REQUEST_DELETE, s);
	struct request *late = says_once(b, s, "x", "a");

	(void)state;
	first->expect = 0;
	again->expect = 0;
	run(b);
	expect_ok(first);
	expect_ok(again);
	expect_ok(gone);
	expect_ok(late);
	assert_int_equal(late->ret_replayed, 1);
	bench_close(b);
}

static void a_key_is_created_once(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *one = creates(b, "k"), *two = creates(b, "k");
	struct request *three;

	(void)state;
	run(b);
	expect_ok(two);
	assert_int_equal(one->ret_created, 1);
	assert_int_equal(two->ret_created, 0);
	assert_int_equal(two->ret_changed, 0);
	assert_true(id_eq(&one->ret_session, &two->ret_session));
	assert_true(id_eq(&one->ret_id, &two->ret_id));

	three = creates(b, "k");
	run(b);
	assert_true(id_eq(&one->ret_session, &three->ret_session));
	assert_true(id_eq(&one->ret_id, &three->ret_id));
	assert_int_equal(b->n_ops, 0);
	bench_close(b);
}

static void a_creation_is_repeated_by_its_operation(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *one = creates(b, NULL);
	struct request *two, *other;

	(void)state;
	one->op = STR("x");
	for (int round = 0; round < 2; round++) {
		two = creates(b, NULL);
		two->op = STR("x");
		other = creates(b, "other");
		other->op = STR("x");
		run(b);
		expect_ok(two);
		assert_int_equal(two->ret_replayed, 1);
		assert_true(id_eq(&one->ret_session, &two->ret_session));
		expect_refused(other, WEFT_OP_MISMATCH, "'x'");
	}
	/* The scope of an append's operation is its session. */
	two = says_once(b, one, "x", "a");
	run(b);
	expect_ok(two);
	assert_int_equal(two->ret_replayed, 0);
	bench_close(b);
}

static void a_name_has_one_holder(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *one = creates_named(b, "a", "n");
	struct request *two = creates_named(b, "b", "n");
	struct request *three = creates(b, "c");
	struct request *add_n = names(b, three, NAME_ADD, "n");
	struct request *again = names(b, one, NAME_ADD, "n");
	char id[WEFT_ID_CHARS + 1];
	struct weft_id nobody;

	(void)state;
	run(b);
	expect_ok(one);
	assert_int_equal(one->ret_changed, 2);
	id_format(&one->ret_session, id);
	expect_refused(two, WEFT_EXISTS, id);
	expect_refused(add_n, WEFT_EXISTS, id);
	expect_ok(again);
	assert_int_equal(again->ret_changed, 0);
	assert_true(holds(b, one, "n"));
	/* Nothing of what was refused is there. */
	nobody = holder(b, "b");
	assert_true(id_is_zero(&nobody));
	bench_close(b);
}

static void a_name_moves_in_both_sessions(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *one = creates_named(b, "a", "n");
	struct request *two = creates(b, "b");
	struct request *there = names(b, two, NAME_MOVE, "n");
	struct request *back = names(b, one, NAME_MOVE, "n");
	struct request *key = names(b, two, NAME_MOVE, "a");

	(void)state;
	run(b);
	expect_ok(there);
	expect_ok(back);
	assert_int_equal(there->ret_changed, 2);
	expect_refused(key, WEFT_CONFLICT, "'a'");
	assert_true(holds(b, one, "n"));
	assert_int_equal(events_of(b, one), 4);
	assert_int_equal(events_of(b, two), 3);

	there = names(b, two, NAME_MOVE, "n");
	run(b);
	expect_ok(there);
	assert_true(holds(b, two, "n"));
	assert_int_equal(events_of(b, one), 5);
	bench_close(b);
}

static void a_name_is_taken_away(void **state)
{
	struct bench *b = bench_open("memory:?names=3");
	struct request *one = creates_named(b, "k", "n");
	struct request *third = names(b, one, NAME_ADD, "o");
	struct request *fourth = names(b, one, NAME_ADD, "p");
	struct request *gone = names(b, one, NAME_REMOVE, "n");
	struct request *again = names(b, one, NAME_REMOVE, "n");
	struct request *now = names(b, one, NAME_ADD, "p");
	struct request *key = names(b, one, NAME_REMOVE, "k");

	(void)state;
	run(b);
	expect_ok(third);
	expect_refused(fourth, WEFT_LIMIT, "3 names");
	expect_ok(gone);
	expect_refused(again, WEFT_NOT_FOUND, "'n'");
	expect_ok(now);
	expect_refused(key, WEFT_CONFLICT, "'k'");
	/* The same against what the store has. */
	fourth = names(b, one, NAME_ADD, "q");
	run(b);
	expect_refused(fourth, WEFT_LIMIT, "3 names");
	bench_close(b);
}

static void nothing_is_said_in_a_deleted_session(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k"), *before = says(b, s, "a");
	struct request *gone = add(b, REQUEST_DELETE, s),
		       *again = add(b, REQUEST_DELETE, s);
	struct request *refused = says(b, s, "b");
	struct request *title = patches(b, s, "{\"slug\":\"x\"}");
	struct request *back = add(b, REQUEST_RESTORE, s),
		       *twice = add(b, REQUEST_RESTORE, s);
	struct request *after = says(b, s, "c");

	(void)state;
	run(b);
	expect_ok(before);
	assert_int_equal(gone->ret_changed, 1);
	expect_ok(again);
	assert_int_equal(again->ret_changed, 0);
	expect_refused(refused, WEFT_DELETED, "weft restore");
	expect_refused(title, WEFT_DELETED, "weft restore");
	assert_int_equal(back->ret_changed, 1);
	assert_int_equal(back->ret_count, 1);
	assert_int_equal(twice->ret_changed, 0);
	expect_ok(after);
	assert_int_equal(after->ret_seq, 5);
	assert_true(holds(b, s, "k"));
	bench_close(b);
}

static void deletion_frees_the_names(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *old = creates_named(b, "k", "n");
	struct request *gone, *fresh, *back;

	(void)state;
	run(b);
	gone = add(b, REQUEST_DELETE, old);
	fresh = creates(b, "k");
	back = add(b, REQUEST_RESTORE, old);
	run(b);
	expect_ok(gone);
	assert_int_equal(gone->ret_count, 2);
	assert_int_equal(fresh->ret_created, 1);
	expect_ok(back);
	/* Its alias is still free, its key is not. */
	assert_int_equal(back->ret_count, 1);
	assert_true(holds(b, fresh, "k"));
	assert_true(holds(b, old, "n"));
	assert_int_equal(record(b, old).key.len, 0);
	bench_close(b);
}

static void an_expected_version_holds_once(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k");
	struct request *one = says(b, s, "a"), *two = says(b, s, "b");
	struct request *title = patches(b, s, "{\"slug\":\"x\"}");
	struct request *three = says(b, s, "c");

	(void)state;
	one->expect = 0;
	two->expect = 0;
	three->expect = 2;
	run(b);
	expect_ok(one);
	expect_refused(two, WEFT_STALE, "content_seq 0, but it is 2");
	expect_ok(title);
	/* A title says nothing: the version is the same. */
	expect_ok(three);
	bench_close(b);
}

static void a_message_is_hidden_once(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k"), *m = says(b, s, "a");
	struct request *hide = redacts(b, s, 2, 0), *again;
	struct request *header = redacts(b, s, 1, 0);
	struct request *past = redacts(b, s, 9, 0);

	(void)state;
	again = redacts(b, s, 2, 0);
	run(b);
	expect_ok(m);
	assert_int_equal(hide->ret_changed, 1);
	assert_int_equal(again->ret_changed, 0);
	expect_refused(header, WEFT_INVALID, "not a message");
	expect_refused(past, WEFT_NOT_FOUND, "9");
	assert_int_equal(record(b, s).message_count, 0);

	again = redacts(b, s, 2, 0);
	hide = redacts(b, s, 2, 1);
	past = redacts(b, s, 2, 1);
	run(b);
	assert_int_equal(again->ret_changed, 0);
	assert_int_equal(hide->ret_changed, 1);
	assert_int_equal(past->ret_changed, 0);
	assert_int_equal(record(b, s).message_count, 1);
	bench_close(b);
}

static void a_change_of_nothing_is_no_event(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k");
	struct request *one = patches(b, s, "{\"slug\":\"x\"}");
	struct request *same = patches(b, s, "{\"slug\":\"x\"}");
	struct request *two = patches(b, s, "{\"slug\":\"y\",\"pinned\":true}");
	struct request *bad = patches(b, s, "{\"seq\":1}");

	(void)state;
	run(b);
	assert_int_equal(one->ret_changed, 1);
	expect_ok(same);
	assert_int_equal(same->ret_changed, 0);
	assert_int_equal(two->ret_changed, 1);
	expect_refused(bad, WEFT_INVALID, "seq");
	assert_true(str_eq(record(b, s).slug, STR("y")));
	assert_int_equal(events_of(b, s), 3);
	bench_close(b);
}

static void give_usage(struct request *q, uint64_t tokens)
{
	q->messages[0].facts.has_usage = 1;
	q->messages[0].facts.usage.input_tokens = tokens;
}

static void what_is_spent_climbs_to_the_root(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *root = creates(b, "k");
	struct request *child = spawns(b, root), *grand = spawns(b, child);
	struct weft_id top;

	(void)state;
	give_usage(says(b, grand, "a"), 5);
	give_usage(says(b, root, "b"), 1);
	run(b);
	assert_int_equal(record(b, root).total.input_tokens, 6);
	assert_int_equal(record(b, root).own.input_tokens, 1);
	assert_int_equal(record(b, child).total.input_tokens, 5);
	top = record(b, grand).root;
	assert_true(id_eq(&top, &root->ret_session));

	/* Ancestors that nothing else happens to get no new record. */
	give_usage(says(b, grand, "c"), 10);
	give_usage(says(b, grand, "d"), 20);
	run(b);
	assert_int_equal(record(b, root).total.input_tokens, 36);
	assert_int_equal(record(b, child).total.input_tokens, 35);
	assert_int_equal(record(b, child).own.input_tokens, 0);
	assert_int_equal(b->n_ops, 2 + 4 + 1);
	assert_int_equal(events_of(b, root), 2);
	bench_close(b);
}

static void subagents_are_only_so_deep(void **state)
{
	struct bench *b = bench_open("memory:?subagent_depth=2");
	struct request *root = creates(b, "k"), *one = spawns(b, root);
	struct request *two = spawns(b, one), *three = spawns(b, two);
	struct request *gone = add(b, REQUEST_DELETE, one),
		       *orphan = spawns(b, one);

	(void)state;
	run(b);
	expect_ok(two);
	expect_refused(three, WEFT_LIMIT, "2 subagents deep");
	expect_ok(gone);
	expect_refused(orphan, WEFT_DELETED, "restore");
	bench_close(b);
}

static void a_refusal_hurts_nobody_else(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k"), *nowhere = says(b, NULL, "x");
	struct request *one = says(b, s, "a"), *bad = says(b, s, "b");
	struct request *two = says(b, s, "c");

	(void)state;
	bad->expect = 77;
	nowhere->session.b[0] = 1;
	run(b);
	expect_refused(nowhere, WEFT_NOT_FOUND, "no session 0");
	expect_refused(bad, WEFT_STALE, "77");
	assert_int_equal(one->ret_seq, 2);
	assert_int_equal(two->ret_seq, 3);
	/* Nor does it bring back what was planned before it. */
	nowhere = says(b, NULL, "x");
	nowhere->session.b[0] = 1;
	run(b);
	expect_refused(nowhere, WEFT_NOT_FOUND, "no session 0");
	assert_int_equal(b->n_ops, 0);
	bench_close(b);
}

static void planning_again_comes_to_the_same(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates_named(b, "k", "n");
	struct request *child = spawns(b, s), *m = says(b, child, "a");
	struct request *op = says_once(b, s, "x", "b");

	(void)state;
	give_usage(m, 7);
	b->twice = true;
	run(b);
	assert_int_equal(s->ret_created, 1);
	assert_int_equal(op->ret_replayed, 0);
	assert_int_equal(op->ret_seq, 3);
	assert_int_equal(record(b, s).total.input_tokens, 7);
	assert_int_equal(events_of(b, child), 2);
	bench_close(b);
}

static void a_lease_keeps_others_out(void **state)
{
	struct bench *b = bench_open("memory:");
	struct plan_session s = { 0 };
	struct request q = { .expect = WEFT_NO_EXPECT };
	struct weft_error err;

	(void)state;
	b->plan.now_ms = 1000;
	assert_int_equal(plan_check_lease(&b->plan, &s, &q, &err), WEFT_OK);
	q.token = 4;
	assert_int_equal(plan_check_lease(&b->plan, &s, &q, &err), WEFT_STALE);
	s.rec.lease_owner = STR("ann");
	s.rec.lease_token = 5;
	s.rec.lease_expires_at = 1001;
	assert_int_equal(plan_check_lease(&b->plan, &s, &q, &err), WEFT_LEASED);
	assert_non_null(strstr(err.message, "'ann' until 1970-01-01T00:00:01"));
	q.token = 0;
	assert_int_equal(plan_check_lease(&b->plan, &s, &q, &err), WEFT_LEASED);
	q.token = 5;
	assert_int_equal(plan_check_lease(&b->plan, &s, &q, &err), WEFT_OK);
	/* It has run out: its holder must hear of it, others may write. */
	b->plan.now_ms = 1001;
	assert_int_equal(plan_check_lease(&b->plan, &s, &q, &err), WEFT_STALE);
	q.token = 0;
	assert_int_equal(plan_check_lease(&b->plan, &s, &q, &err), WEFT_OK);
	bench_close(b);
}

static void numbers_come_to_an_end(void **state)
{
	struct plan_session s = { .rec = { .head_seq = ID_SEQ_MAX - 2 } };
	struct weft_error err;

	(void)state;
	assert_int_equal(plan_check_room(&s, 2, &err), WEFT_OK);
	assert_int_equal(plan_check_room(&s, 3, &err), WEFT_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_and_its_first_words),
		cmocka_unit_test(an_operation_takes_place_once),
		cmocka_unit_test(an_operation_is_all_of_its_messages),
		cmocka_unit_test(an_operation_comes_before_what_was_expected),
		cmocka_unit_test(a_key_is_created_once),
		cmocka_unit_test(a_creation_is_repeated_by_its_operation),
		cmocka_unit_test(a_name_has_one_holder),
		cmocka_unit_test(a_name_moves_in_both_sessions),
		cmocka_unit_test(a_name_is_taken_away),
		cmocka_unit_test(nothing_is_said_in_a_deleted_session),
		cmocka_unit_test(deletion_frees_the_names),
		cmocka_unit_test(an_expected_version_holds_once),
		cmocka_unit_test(a_message_is_hidden_once),
		cmocka_unit_test(a_change_of_nothing_is_no_event),
		cmocka_unit_test(what_is_spent_climbs_to_the_root),
		cmocka_unit_test(subagents_are_only_so_deep),
		cmocka_unit_test(a_refusal_hurts_nobody_else),
		cmocka_unit_test(planning_again_comes_to_the_same),
		cmocka_unit_test(a_lease_keeps_others_out),
		cmocka_unit_test(numbers_come_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test-plan.c - requests planned together must see each other.
 *
 * Whether two requests share a batch is a matter of timing, so no test through
 * the public functions can show what happens when they do.  Here they are put
 * into one batch by hand, on a memory store.
 */
#include "plan-help.h"

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

static void any_act_takes_place_once(void **state)
{
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k"), *m = says(b, s, "a"), *q[8];

	(void)state;
	(void)m;
	for (int round = 0; round < 2; round++) {
		q[0] = patches(b, s, "{\"slug\":\"x\"}");
		q[1] = names(b, s, NAME_ADD, "n");
		q[2] = redacts(b, s, 2, 0);
		q[3] = patches(b, s, "{\"slug\":\"y\"}");
		q[4] = names(b, s, NAME_ADD, "o");
		q[5] = redacts(b, s, 2, 1);
		q[6] = names(b, s, NAME_REMOVE, "n");
		q[7] = says(b, s, "b");
		q[0]->op = q[3]->op = q[7]->op = STR("p");
		q[1]->op = q[4]->op = q[6]->op = STR("n");
		q[2]->op = q[5]->op = STR("r");
		run(b);
		for (int i = 0; i < 3; i++) {
			expect_ok(q[i]);
			assert_int_equal(q[i]->ret_replayed, round);
			assert_int_equal(q[i]->ret_seq, 3 + i);
		}
		for (int i = 3; i < 8; i++)
			expect_refused(q[i], WEFT_OP_MISMATCH, "other content");
	}
	assert_int_equal(events_of(b, s), 5);
	bench_close(b);
}

static struct request *marks(struct bench *b, struct request *of, uint64_t keep,
			     const char *op)
{
	struct request *q = add(b, REQUEST_MARKER, of);

	q->marker.how = MARKER_TRUNCATE;
	q->marker.keep = keep;
	q->op = str_of(op);
	return q;
}

/* What an act changes depends on what there was before: it is known by all that
 * it was asked for, also by what was there already. */
static void an_act_is_all_that_it_asks_for(void **state)
{
	static const uint64_t targets[] = { 2, 3, 4 };
	struct bench *b = bench_open("memory:");
	struct request *s = creates(b, "k"), *q[10];

	(void)state;
	(void)says(b, s, "a");
	(void)says(b, s, "b");
	(void)says(b, s, "c");
	(void)says(b, s, "d");
	(void)redacts(b, s, 3, 0);
	for (int round = 0; round < 2; round++) {
		/* What a patch finds as it is, somebody may change later. */
		q[0] = patches(b, s, "{\"slug\":\"x\",\"agent\":\"\"}");
		(void)patches(b, s, "{\"agent\":\"other\"}");
		q[1] = names(b, s, NAME_ADD, "n");
		q[2] = redacts(b, s, 0, 0);
		q[2]->targets = targets;
		q[2]->n_targets = 2;
		q[3] = marks(b, s, 1, "m");
		q[4] = patches(b, s, "{\"slug\":\"x\"}");
		q[5] = patches(b, s, "{\"slug\":\"x\",\"agent\":\"other\"}");
		q[6] = names(b, s, NAME_MOVE, "n");
		q[7] = redacts(b, s, 2, 0);
		q[8] = redacts(b, s, 0, 0);
		q[8]->targets = targets;
		q[8]->n_targets = 3;
		q[9] = marks(b, s, 2, "m");
		q[0]->op = q[4]->op = q[5]->op = STR("p");
		q[1]->op = q[6]->op = STR("n");
		q[2]->op = q[7]->op = q[8]->op = STR("r");
		run(b);
		for (int i = 0; i < 4; i++) {
			expect_ok(q[i]);
			assert_int_equal(q[i]->ret_replayed, round);
		}
		for (int i = 4; i < 10; i++)
			expect_refused(q[i], WEFT_OP_MISMATCH, "other content");
	}
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
		cmocka_unit_test(any_act_takes_place_once),
		cmocka_unit_test(an_act_is_all_that_it_asks_for),
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

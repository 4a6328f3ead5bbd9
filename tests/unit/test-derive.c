/* test-derive.c - what each event means for its session's record. */
#include "derive-lab.h"

#include "base/mem.h"
#include "model/record.h"

/* ---- beginnings ---- */

static void a_session_begins(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;
	struct session_rec expected;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	expected = (struct session_rec){
		.id = lab->session,
		.kind = KIND_PRIMARY,
		.root = lab->session,
		.head_seq = 1,
		.created_at = TEST_TIME + 1,
		.updated_at = TEST_TIME + 1,
		.last_interaction_at = TEST_TIME + 1,
	};
	assert_true(record_eq(rec, &expected));
	assert_int_equal(lab->ops.n, 0);
}

static void what_a_session_begins_with_is_found_in_its_record(void **state)
{
	struct lab *lab = *state;
	struct session_rec rec = {
		.id = lab->session,
		.kind = KIND_SUBAGENT,
		.parent = test_id(PARENT),
		.forked_from = test_id("01JCQ5Z8G0ABCDEFGHJKMNPQRC"),
		.root = test_id("01JCQ5Z8G0ABCDEFGHJKMNPQRD"),
		.previous = test_id("01JCQ5Z8G0ABCDEFGHJKMNPQRE"),
		.fork_seq = 12,
		.key = STR("k\"\n\xc3\xa9"),
		.parent_tool_use_id = STR("t"),
		.agent = STR("a"),
		.slug = STR("s\\"),
		.project_dir = STR("/p"),
		.model_provider = STR("mp"),
		.model_name = STR("mn"),
		.user = STR("u"),
		.channel = STR("c"),
		.user_role = STR("r"),
		.scope = STR("{ \"version\":1}"),
		.tools = STR("[]"),
		.metadata = STR("{\"a\":1e999}"),
		.window_seq = 5,
		.inherited_count = 9,
		.expires_at = TEST_TIME + 5000,
	};

	lab->seq = 12;
	body_session(&lab->b, &rec, 4);
	event_of_buf(lab, EVENT_SESSION);
	rec.head_seq = 13;
	rec.content_seq = 12;
	rec.created_at = rec.updated_at = rec.last_interaction_at =
		TEST_TIME + 1;
	assert_true(record_eq(&lab->rec, &rec));

	/* Its key is a name. */
	assert_int_equal(lab->ops.n, 1);
	expect_str(named(lab, 0)->name, "k\"\n\xc3\xa9");
	assert_int_equal(named(lab, 0)->ver, 4);
	assert_int_equal(named(lab, 0)->kind, NAME_KEY);
	assert_memory_equal(&named(lab, 0)->session, &lab->session, 16);
}

static void the_operation_that_made_it_is_in_the_record(void **state)
{
	struct lab *lab = *state;
	struct store_event e = { .session = lab->session,
				 .seq = 1,
				 .type = EVENT_SESSION,
				 .op = STR("op-1"),
				 .body = STR("\"kind\":\"book\"") };

	lab->ops.arena = &lab->a;
	assert_int_equal(derive_event(&lab->rec, &e, NULL, &lab->ops, NULL),
			 WEFT_OK);
	expect_str(lab->rec.op, "op-1");
	assert_int_equal(lab->rec.kind, KIND_BOOK);
}

static void only_the_first_event_says_what_a_session_is(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"book\"");
	event(lab, EVENT_SESSION, "\"kind\":\"subagent\",\"key\":\"k\"");
	assert_int_equal(lab->rec.kind, KIND_BOOK);
	assert_int_equal(lab->rec.created_at, TEST_TIME + 1);
	assert_int_equal(lab->ops.n, 0);
}

static void a_session_without_its_first_event_is_still_one(void **state)
{
	struct lab *lab = *state;

	lab->state = STATE_DAMAGED;
	event(lab, EVENT_OTHER, "");
	assert_memory_equal(&lab->rec.id, &lab->session, 16);
	assert_memory_equal(&lab->rec.root, &lab->session, 16);
	assert_int_equal(lab->rec.kind, KIND_PRIMARY);
	assert_int_equal(lab->rec.created_at, id_time_ms(&lab->session));
	assert_int_equal(lab->rec.updated_at, 0);
	lab->state = STATE_OK;
	say(lab, "user", "hello");
	assert_int_equal(lab->rec.message_count, 1);
	expect_str(lab->rec.first_user, "hello");
}

/* ---- messages ---- */

static void messages_are_counted(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "system", "s");
	say(lab, "user", "u");
	say(lab, "assistant", "a");
	event(lab, EVENT_MESSAGE,
	      "\"role\":\"user\",\"parts\":[{\"type\":\"tool_result\","
	      "\"tool_use_id\":\"i\",\"content\":\"\"}]");
	say(lab, "tool", "t");
	assert_int_equal(rec->message_count, 5);
	assert_int_equal(rec->turn_count, 1);
	assert_int_equal(rec->content_seq, 6);
	assert_int_equal(rec->updated_at, lab->now);
	assert_int_equal(rec->last_interaction_at, lab->now);
	assert_int_equal(rec->created_at, TEST_TIME + 1);
	assert_int_equal(lab->ops.n, 0);
}

static void what_is_said_in_the_background_is_no_interaction(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	lab->background = true;
	say(lab, "user", "u");
	assert_int_equal(lab->rec.updated_at, TEST_TIME + 2);
	assert_int_equal(lab->rec.last_interaction_at, TEST_TIME + 1);
	assert_int_equal(lab->rec.message_count, 1);
}

static void previews_are_the_first_and_the_last(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;
	char text[301];

	memset(text, 'x', 300);
	text[300] = '\0';
	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "");
	assert_int_equal(rec->first_user_seq, 0);
	say(lab, "user", text);
	assert_int_equal(rec->first_user.len, 256);
	assert_int_equal(rec->last_user.len, 160);
	assert_int_equal(rec->first_user_seq, 3);
	assert_int_equal(rec->last_user_seq, 3);
	say(lab, "user", "last");
	say(lab, "user", "");
	say(lab, "system", "not this");
	say(lab, "tool", "nor this");
	assert_int_equal(rec->first_user.len, 256);
	expect_str(rec->last_user, "last");
	assert_int_equal(rec->last_user_seq, 4);
	expect_str(rec->last_agent, "");
	say(lab, "assistant", text);
	say(lab, "assistant", "\\u00e9");
	expect_str(rec->last_agent, "\xc3\xa9");
	assert_int_equal(rec->last_agent_seq, 9);
}

static void facts_that_are_given_are_used(void **state)
{
	struct lab *lab = *state;
	struct message_facts facts = { .role = ROLE_USER,
				       .starts_turn = 1,
				       .has_usage = 1,
				       .usage = { .input_tokens = 5 },
				       .text = STR("from facts") };
	struct store_event e = { .session = lab->session,
				 .seq = 2,
				 .ts_ms = TEST_TIME,
				 .type = EVENT_MESSAGE,
				 .body = STR("not looked at") };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	assert_int_equal(derive_event(&lab->rec, &e, &facts, &lab->ops, NULL),
			 WEFT_OK);
	expect_str(lab->rec.last_user, "from facts");
	assert_int_equal(lab->rec.turn_count, 1);
	assert_int_equal(lab->rec.own.input_tokens, 5);
}

/* ---- money ---- */

static void spending_adds_up_exactly(void **state)
{
	struct lab *lab = *state;
	const struct session_rec *rec = &lab->rec;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	spend(lab, "{\"cost_usd\":0.1,\"input_tokens\":1,\"output_tokens\":2}");
	spend(lab, "{\"cost_usd\":0.2,\"cache_read_tokens\":3,"
		   "\"cache_write_tokens\":4,\"input_tokens\":10}");
	spend(lab, "{\"cost_usd\":1e-9}");
	spend(lab, "{\"cost_usd\":0.0000000005}");
	spend(lab, "{\"cost_usd\":null}");
	spend(lab, "{}");
	assert_int_equal(rec->own.cost_nano, 300000002);
	assert_int_equal(rec->own.input_tokens, 11);
	assert_int_equal(rec->own.output_tokens, 2);
	assert_int_equal(rec->own.cache_read_tokens, 3);
	assert_int_equal(rec->own.cache_write_tokens, 4);
	assert_int_equal(rec->own.unpriced, 2);
	assert_memory_equal(&rec->own, &rec->total, sizeof(rec->own));
	assert_int_equal(lab->ops.n, 0);
}

static void a_subagents_parent_pays(void **state)
{
	struct lab *lab = *state;
	struct weft_id parent = test_id(PARENT);
	const struct store_op *op = NULL;

	event(lab, EVENT_SESSION,
	      "\"kind\":\"subagent\",\"parent\":\"" PARENT "\"");
	say(lab, "user", "nothing spent");
	assert_int_equal(lab->ops.n, 0);
	spend(lab, "{\"cost_usd\":0,\"input_tokens\":0}");
	assert_int_equal(lab->ops.n, 0);
	spend(lab, "{\"cost_usd\":0.5,\"input_tokens\":7}");
	assert_int_equal(lab->ops.n, 1);
	op = lab->ops.v;
	assert_int_equal(op->kind, OP_ADD);
	assert_memory_equal(&op->session, &parent, 16);
	assert_int_equal(op->u.add->cost_nano, 500000000);
	assert_int_equal(op->u.add->input_tokens, 7);
	assert_int_equal(op->u.add->unpriced, 0);
	assert_int_equal(lab->rec.own.cost_nano, 500000000);

	/* Without a price it is the count that climbs. */
	spend(lab, "{}");
	assert_int_equal(lab->ops.v[0].u.add->unpriced, 1);
}

static void nobody_pays_for_a_fork(void **state)
{
	struct lab *lab = *state;

	lab->seq = 3;
	event(lab, EVENT_SESSION,
	      "\"kind\":\"primary\",\"parent\":\"" PARENT "\",\"fork_seq\":3");
	spend(lab, "{\"cost_usd\":0.5}");
	assert_int_equal(lab->ops.n, 0);
	lab->rec.kind = KIND_SUBAGENT;
	spend(lab, "{\"cost_usd\":0.5}");
	assert_int_equal(lab->ops.n, 0);
	assert_int_equal(lab->rec.total.cost_nano, 1000000000);
}

static void what_descendants_spend_climbs(void **state)
{
	struct lab *lab = *state;
	const struct totals spent = { .input_tokens = 3, .unpriced = 1 };
	struct session_rec rec = { .kind = KIND_SUBAGENT,
				   .parent = test_id(PARENT) };

	lab->ops.arena = &lab->a;
	derive_add(&rec, &spent, &lab->ops);
	derive_add(&rec, &spent, &lab->ops);
	assert_int_equal(rec.total.input_tokens, 6);
	assert_int_equal(rec.own.input_tokens, 0);
	assert_int_equal(lab->ops.n, 2);
	assert_memory_equal(&lab->ops.v[1].session, &rec.parent, 16);
	assert_memory_equal(lab->ops.v[1].u.add, &spent, sizeof(spent));

	rec.kind = KIND_PRIMARY;
	derive_add(&rec, &spent, &lab->ops);
	assert_int_equal(rec.total.unpriced, 3);
	assert_int_equal(lab->ops.n, 2);
}

static void what_a_purged_child_spent_is_not_forgotten(void **state)
{
	struct lab *lab = *state;
	const struct totals spent = { 1, 2, 3, 4, INT64_MAX, 6 };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	body_usage(&lab->b, &spent);
	event_of_buf(lab, EVENT_USAGE);
	assert_memory_equal(&lab->rec.total, &spent, sizeof(spent));
	assert_int_equal(lab->rec.own.input_tokens, 0);
}

/* ---- the rest ---- */

static void markers_move_the_window(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "a");
	event(lab, EVENT_MARKER, "\"first_kept\":2,\"summary\":\"s\"");
	assert_int_equal(lab->rec.window_seq, 3);
	assert_int_equal(lab->rec.content_seq, 3);
	assert_int_equal(lab->rec.message_count, 1);
}

static void a_purge_is_noted(void **state)
{
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	event(lab, EVENT_PURGE, "");
	assert_int_equal(lab->rec.purged_at, lab->now);
}

static void what_is_damaged_or_gone_moves_only_the_head(void **state)
{
	struct lab *lab = *state;
	struct session_rec before;
	struct store_event e = { .session = lab->session,
				 .seq = 3,
				 .last = 900,
				 .ts_ms = TEST_TIME + 50,
				 .type = EVENT_GONE,
				 .state = STATE_GONE,
				 .body = STR("\"to\":900") };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	before = lab->rec;
	lab->state = STATE_DAMAGED;
	say(lab, "user", "unreadable");
	before.head_seq = 2;
	assert_true(record_eq(&lab->rec, &before));

	assert_int_equal(derive_event(&lab->rec, &e, NULL, &lab->ops, NULL),
			 WEFT_OK);
	before.head_seq = 900;
	assert_true(record_eq(&lab->rec, &before));
	e.state = STATE_ALTERED;
	e.last = 901;
	assert_int_equal(derive_event(&lab->rec, &e, NULL, &lab->ops, NULL),
			 WEFT_OK);
	before.head_seq = 901;
	assert_true(record_eq(&lab->rec, &before));
}

static void unknown_types_move_head_and_time(void **state)
{
	static const uint32_t types[] = { EVENT_OTHER, EVENT_LEASE, EVENT_TURN,
					  EVENT_TYPES };
	struct lab *lab = *state;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct session_rec before = lab->rec;

		event(lab, types[i], "\"slug\":\"x\",\"role\":\"user\"");
		before.head_seq++;
		before.updated_at = lab->now;
		assert_true(record_eq(&lab->rec, &before));
		assert_int_equal(lab->ops.n, 0);
	}
}

static void nonsense_means_nothing_and_stops_nothing(void **state)
{
	static const char *const bodies[] = {
		"",
		"{",
		"}",
		"\"a\":",
		"\xff",
		"\"kind\":7,\"key\":[],\"key_ver\":-1,\"parent\":{}",
		"\"fork_seq\":\"x\",\"scope\":4,\"metadata\":5,\"tools\":6",
		"\"pinned\":{},\"expires_at\":{},\"slug\":{},\"model\":3",
		"\"name\":7,\"ver\":\"x\"",
		"\"name\":\"n\",\"ver\":1.5,\"kind\":{}",
		"\"target\":\"x\",\"hidden\":7",
		"\"names\":7",
		"\"names\":[7,null,{},{\"name\":\"\",\"ver\":1}]",
		"\"spent\":[]",
		"\"role\":{},\"parts\":7,\"usage\":8",
	};
	struct lab *lab = *state;

	for (uint32_t type = 0; type < EVENT_TYPES; type++) {
		for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
			for (lab->seq = 0; lab->seq < 2;) {
				if (lab->seq == 0)
					lab->rec = (struct session_rec){
						.kind = 0
					};
				assert_int_equal(
					try_event(lab, type, str_of(bodies[i])),
					WEFT_OK);
				assert_int_equal(lab->err.code, 77);
			}
			assert_int_equal(lab->rec.message_count, 0);
		}
	}
}

static void the_same_events_give_the_same_record(void **state)
{
	struct session_rec first;
	struct lab *lab = *state;

	for (int round = 0; round < 2; round++) {
		lab->rec = (struct session_rec){ .kind = 0 };
		lab->seq = 0;
		lab->now = TEST_TIME;
		event(lab, EVENT_SESSION, "\"kind\":\"book\",\"key\":\"k\"");
		say(lab, "user", "u");
		spend(lab, "{\"cost_usd\":0.1}");
		event(lab, EVENT_PATCH, "\"slug\":\"s\"");
		if (round == 0)
			first = lab->rec;
	}
	assert_true(record_eq(&lab->rec, &first));
}

static void lists_of_ops_grow(void **state)
{
	struct lab *lab = *state;

	lab->ops.arena = &lab->a;
	for (uint32_t i = 0; i < 1000; i++)
		assert_non_null(op_list_add(&lab->ops, i, &lab->session));
	assert_int_equal(lab->ops.n, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(lab->ops.v[i].kind, i);
}

static void a_list_that_could_not_grow_has_failed(void **state)
{
	const struct totals spent = { .input_tokens = 1 };
	bool failed = true;

	(void)state;
	for (size_t limit = 16; failed; limit += 16) {
		struct session_rec rec = { .kind = KIND_SUBAGENT,
					   .parent = test_id(PARENT) };
		struct arena a;
		struct op_list ops = { .arena = &a };

		arena_init(&a, limit);
		derive_add(&rec, &spent, &ops);
		failed = a.failed;
		assert_int_equal(ops.failed != 0, failed);
		/* For good: nobody may think that the next one is all. */
		assert_true(!failed || !op_list_add(&ops, OP_ADD, &rec.parent));
		arena_done(&a);
		assert_true(limit < 4096);
	}
}

/* One event on a new record, with so much memory; what is derived must be
 * whole or refused. */
static int derive_within(struct lab *lab, uint32_t type, const char *body,
			 size_t limit)
{
	struct arena a;
	struct op_list ops = { .arena = &a };
	struct session_rec rec = { .kind = 0 };
	struct store_event e = {
		.session = lab->session,
		.seq = 1,
		.type = type,
		.body = str_of(body),
	};
	int r;

	arena_init(&a, limit);
	r = derive_event(&rec, &e, NULL, &ops, &lab->err);
	if (r == WEFT_OK) {
		assert_false(a.failed || ops.failed);
		assert_true(rec.key.len + rec.first_user.len + rec.slug.len +
				    ops.n >
			    0);
		for (size_t i = 0; i < ops.n; i++)
			assert_non_null(ops.v[i].u.name);
	}
	arena_done(&a);
	return r;
}

static void want_of_memory_is_told(void **state)
{
	static const struct {
		uint32_t type;
		const char *body;
	} events[] = {
		{ EVENT_SESSION, "\"kind\":\"primary\",\"key\":\"k\"" },
		{ EVENT_MESSAGE, "\"role\":\"user\",\"parts\":[{\"type\":"
				 "\"text\",\"text\":\"hi\"}],\"usage\":{}" },
		{ EVENT_PATCH, "\"slug\":\"s\"" },
		{ EVENT_REDACT, "\"target\":1" },
		{ EVENT_DELETE, "\"names\":[{\"name\":\"n\",\"ver\":1}]" },
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		size_t limit = 0;
		int r;

		do {
			limit += 16;
			r = derive_within(lab, events[i].type, events[i].body,
					  limit);
			assert_true(r == WEFT_OK || r == WEFT_LIMIT);
			assert_true(limit < 4096);
		} while (r != WEFT_OK);
		mem_fault(0, 0);
		r = derive_within(lab, events[i].type, events[i].body, 0);
		mem_fault(-1, 0);
		assert_int_equal(r, WEFT_NO_MEMORY);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_begins),
		TEST(what_a_session_begins_with_is_found_in_its_record),
		TEST(the_operation_that_made_it_is_in_the_record),
		TEST(only_the_first_event_says_what_a_session_is),
		TEST(a_session_without_its_first_event_is_still_one),
		TEST(messages_are_counted),
		TEST(what_is_said_in_the_background_is_no_interaction),
		TEST(previews_are_the_first_and_the_last),
		TEST(facts_that_are_given_are_used),
		TEST(spending_adds_up_exactly),
		TEST(a_subagents_parent_pays),
		TEST(nobody_pays_for_a_fork),
		TEST(what_descendants_spend_climbs),
		TEST(what_a_purged_child_spent_is_not_forgotten),
		TEST(markers_move_the_window),
		TEST(a_purge_is_noted),
		TEST(what_is_damaged_or_gone_moves_only_the_head),
		TEST(unknown_types_move_head_and_time),
		TEST(nonsense_means_nothing_and_stops_nothing),
		TEST(the_same_events_give_the_same_record),
		TEST(lists_of_ops_grow),
		TEST(a_list_that_could_not_grow_has_failed),
		TEST(want_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("derive", tests, NULL, NULL);
}

/* test-drop.c - which events of a session may be dropped. */
#include "model.h"

#include "model/drop.h"

/* The verdict on one event of a type. */
static enum drop_verdict judge(const struct drop_rule *rule, uint32_t type,
			       uint64_t seq)
{
	const struct store_event e = {
		.type = type,
		.seq = seq,
		.last = seq,
		.state = type == EVENT_GONE ? STATE_GONE : STATE_OK,
	};
	const struct gone_facts gone = { .has_sum = true };

	return drop_judge(rule, &e, &gone);
}

static enum drop_verdict judge_damaged(const struct drop_rule *rule,
				       uint32_t type, uint64_t seq)
{
	const struct store_event e = {
		.type = type, .seq = seq, .last = seq, .state = STATE_DAMAGED
	};
	const struct gone_facts gone = { .role = 0 };

	return drop_judge(rule, &e, &gone);
}

/* ---- erase ---- */

static void erase_takes_the_messages_that_are_named(void **state)
{
	static const uint64_t targets[] = { 2, 5, 900 };
	const struct drop_rule rule = { .why = GONE_ERASE,
					.targets = targets,
					.n_targets = 3,
					.inherited = 1000 };

	(void)state;
	for (uint64_t seq = 1; seq < 1000; seq++) {
		bool named = seq == 2 || seq == 5 || seq == 900;

		assert_int_equal(judge(&rule, EVENT_MESSAGE, seq),
				 named ? DROP_GO : DROP_KEEP);
		for (uint32_t type = 0; type < EVENT_TYPES; type++) {
			if (type != EVENT_MESSAGE)
				assert_int_equal(judge(&rule, type, seq),
						 DROP_KEEP);
		}
	}
}

static void erase_of_nothing_takes_nothing(void **state)
{
	const struct drop_rule rule = { .why = GONE_ERASE };

	(void)state;
	assert_int_equal(judge(&rule, EVENT_MESSAGE, 1), DROP_KEEP);
}

/* ---- reclaim ---- */

static const struct drop_rule reclaim = {
	.why = GONE_RECLAIM,
	.inherited = 5,
	.first_kept = 10,
	.last_of = { [EVENT_TODOS] = 7, [EVENT_LEASE] = 8, [EVENT_TURN] = 9 },
};

static void reclaim_takes_messages_between_the_forks_and_the_window(
	void **state)
{
	static const uint32_t types[] = { EVENT_MESSAGE, EVENT_GONE };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		assert_int_equal(judge(&reclaim, types[i], 1), DROP_HELD);
		assert_int_equal(judge(&reclaim, types[i], 5), DROP_HELD);
		assert_int_equal(judge(&reclaim, types[i], 6), DROP_GO);
		assert_int_equal(judge(&reclaim, types[i], 9), DROP_GO);
		assert_int_equal(judge(&reclaim, types[i], 10), DROP_KEEP);
		assert_int_equal(judge(&reclaim, types[i], 11), DROP_KEEP);
	}
}

static void reclaim_takes_no_range_that_reaches_into_the_window(void **state)
{
	struct store_event e = {
		.type = EVENT_GONE, .state = STATE_GONE, .seq = 6, .last = 9
	};
	const struct gone_facts gone = { .has_sum = true };

	(void)state;
	assert_int_equal(drop_judge(&reclaim, &e, &gone), DROP_GO);
	e.last = 10;
	assert_int_equal(drop_judge(&reclaim, &e, &gone), DROP_KEEP);
}

static void reclaim_keeps_the_last_of_what_only_the_last_counts(void **state)
{
	(void)state;
	assert_int_equal(judge(&reclaim, EVENT_TODOS, 6), DROP_GO);
	assert_int_equal(judge(&reclaim, EVENT_TODOS, 7), DROP_KEEP);
	assert_int_equal(judge(&reclaim, EVENT_LEASE, 7), DROP_GO);
	assert_int_equal(judge(&reclaim, EVENT_LEASE, 8), DROP_KEEP);
	assert_int_equal(judge(&reclaim, EVENT_TURN, 8), DROP_GO);
	assert_int_equal(judge(&reclaim, EVENT_TURN, 9), DROP_KEEP);
	assert_int_equal(judge(&reclaim, EVENT_TODOS, 4), DROP_HELD);
}

static void reclaim_keeps_what_means_something_wherever_it_stands(void **state)
{
	static const uint32_t types[] = {
		EVENT_OTHER,  EVENT_SESSION, EVENT_MARKER, EVENT_REDACT,
		EVENT_PATCH,  EVENT_NAME,    EVENT_MEMORY, EVENT_FORGET,
		EVENT_DELETE, EVENT_RESTORE, EVENT_PURGE,  EVENT_USAGE,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_int_equal(judge(&reclaim, types[i], 6), DROP_KEEP);
	assert_int_equal(judge_damaged(&reclaim, EVENT_MESSAGE, 6), DROP_KEEP);
}

static void without_a_window_reclaim_takes_nothing(void **state)
{
	const struct drop_rule rule = { .why = GONE_RECLAIM };

	(void)state;
	for (uint32_t type = 0; type < EVENT_TYPES; type++)
		assert_int_equal(judge(&rule, type, 1), DROP_KEEP);
}

/* ---- purge ---- */

static const struct drop_rule purge = { .why = GONE_PURGE, .inherited = 5 };

static void purge_keeps_what_a_fork_sees(void **state)
{
	(void)state;
	assert_int_equal(judge(&purge, EVENT_MESSAGE, 5), DROP_HELD);
	assert_int_equal(judge(&purge, EVENT_MESSAGE, 6), DROP_GO);
	assert_int_equal(judge(&purge, EVENT_MARKER, 5), DROP_HELD);
	assert_int_equal(judge(&purge, EVENT_MARKER, 6), DROP_GO);
	/* What was hidden later is hidden from forks, too. */
	assert_int_equal(judge(&purge, EVENT_REDACT, 6), DROP_KEEP);
}

static void purge_bares_the_first_event_and_the_purge(void **state)
{
	(void)state;
	assert_int_equal(judge(&purge, EVENT_SESSION, 1), DROP_BARE);
	assert_int_equal(judge(&purge, EVENT_PURGE, 9), DROP_BARE);
}

static void purge_takes_all_that_is_the_sessions_alone(void **state)
{
	static const uint32_t types[] = {
		EVENT_OTHER,  EVENT_PATCH,   EVENT_NAME,  EVENT_MEMORY,
		EVENT_FORGET, EVENT_TODOS,   EVENT_LEASE, EVENT_TURN,
		EVENT_DELETE, EVENT_RESTORE, EVENT_USAGE,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_int_equal(judge(&purge, types[i], 2), DROP_GO);
}

static void purge_takes_sums_and_leaves_bare_ranges(void **state)
{
	const struct store_event e = {
		.type = EVENT_GONE, .state = STATE_GONE, .seq = 2, .last = 4
	};
	struct gone_facts gone = { .has_sum = true };

	(void)state;
	assert_int_equal(drop_judge(&purge, &e, &gone), DROP_GO);
	gone.has_sum = false;
	assert_int_equal(drop_judge(&purge, &e, &gone), DROP_KEEP);
}

static void purge_takes_what_cannot_be_read(void **state)
{
	static const uint32_t types[] = { EVENT_SESSION, EVENT_PURGE,
					  EVENT_REDACT,  EVENT_MESSAGE,
					  EVENT_MARKER,  EVENT_OTHER };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_int_equal(judge_damaged(&purge, types[i], 2), DROP_GO);
}

static void for_no_reason_nothing_goes(void **state)
{
	const struct drop_rule rule = { .why = 0, .first_kept = 10 };

	(void)state;
	assert_int_equal(judge(&rule, EVENT_MESSAGE, 2), DROP_KEEP);
}

/* ---- what is left of a record ---- */

static void a_bare_record_leads_on_and_says_nothing(void **state)
{
	const struct session_rec rec = {
		.id = { { 1 } },
		.kind = KIND_SUBAGENT,
		.parent = { { 2 } },
		.forked_from = { { 3 } },
		.root = { { 4 } },
		.previous = { { 5 } },
		.fork_seq = 6,
		.inherited_count = 7,
		.window_seq = 8,
		.key = STR("key"),
		.op = STR("op"),
		.slug = STR("slug"),
		.agent = STR("agent"),
		.user = STR("user"),
		.channel = STR("channel"),
		.project_dir = STR("/p"),
		.metadata = STR("{}"),
		.scope = STR("{}"),
		.summary = STR("summary"),
		.first_user = STR("first"),
		.parent_tool_use_id = STR("call"),
	};
	struct session_rec bare = drop_bare(&rec);

	(void)state;
	assert_memory_equal(&bare.id, &rec.id, sizeof(rec.id));
	assert_memory_equal(&bare.parent, &rec.parent, sizeof(rec.parent));
	assert_memory_equal(&bare.forked_from, &rec.forked_from,
			    sizeof(rec.forked_from));
	assert_memory_equal(&bare.root, &rec.root, sizeof(rec.root));
	assert_int_equal(bare.kind, KIND_SUBAGENT);
	assert_int_equal(bare.fork_seq, 6);
	assert_int_equal(bare.inherited_count, 7);
	assert_int_equal(bare.window_seq, 8);
	assert_int_equal(bare.key.len + bare.op.len + bare.slug.len +
				 bare.agent.len + bare.user.len +
				 bare.channel.len + bare.project_dir.len +
				 bare.metadata.len + bare.scope.len +
				 bare.summary.len + bare.first_user.len +
				 bare.parent_tool_use_id.len,
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(erase_takes_the_messages_that_are_named),
		cmocka_unit_test(erase_of_nothing_takes_nothing),
		cmocka_unit_test(
			reclaim_takes_messages_between_the_forks_and_the_window),
		cmocka_unit_test(
			reclaim_takes_no_range_that_reaches_into_the_window),
		cmocka_unit_test(
			reclaim_keeps_the_last_of_what_only_the_last_counts),
		cmocka_unit_test(
			reclaim_keeps_what_means_something_wherever_it_stands),
		cmocka_unit_test(without_a_window_reclaim_takes_nothing),
		cmocka_unit_test(purge_keeps_what_a_fork_sees),
		cmocka_unit_test(purge_bares_the_first_event_and_the_purge),
		cmocka_unit_test(purge_takes_all_that_is_the_sessions_alone),
		cmocka_unit_test(purge_takes_sums_and_leaves_bare_ranges),
		cmocka_unit_test(purge_takes_what_cannot_be_read),
		cmocka_unit_test(for_no_reason_nothing_goes),
		cmocka_unit_test(a_bare_record_leads_on_and_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

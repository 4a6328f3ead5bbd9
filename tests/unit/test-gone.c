/* test-gone.c - the line that stands for events which were dropped. */
#include "derive-lab.h"

#include "model/gone.h"
#include "model/message.h"
#include "model/record.h"

static const char *body_of(struct lab *lab, const struct gone *g)
{
	buf_reset(&lab->b);
	gone_body(&lab->b, g);
	return arena_str(&lab->a, buf_str(&lab->b)).ptr;
}

static struct gone_facts facts_of(struct lab *lab, const char *body)
{
	struct gone_facts facts = { .role = 99 };

	assert_int_equal(
		gone_facts_read(str_of(body), &lab->a, &facts, &lab->err),
		WEFT_OK);
	return facts;
}

static int apply(struct lab *lab, const char *body, struct totals *own)
{
	return gone_apply(&lab->rec, str_of(body), &lab->a, own, &lab->err);
}

/* ---- writing ---- */

static void it_says_up_to_where_if_there_are_several(void **state)
{
	struct lab *lab = *state;
	struct gone g = { .why = GONE_PURGE, .seq = 7, .to = 7 };

	assert_string_equal(body_of(lab, &g), "\"why\":\"purge\"");
	g.to = 9;
	assert_string_equal(body_of(lab, &g), "\"to\":9,\"why\":\"purge\"");
}

static void every_reason_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(gone_why_name(GONE_RECLAIM), "reclaim");
	assert_string_equal(gone_why_name(GONE_ERASE), "erase");
	assert_string_equal(gone_why_name(GONE_PURGE), "purge");
	assert_string_equal(gone_why_name(0), "unknown");
	assert_string_equal(gone_why_name(99), "unknown");
}

static void what_was_erased_keeps_its_role_and_no_text(void **state)
{
	struct lab *lab = *state;
	struct session_rec sum = { .first_user = STR("secret"),
				   .last_user = STR("secret"),
				   .first_user_seq = 2,
				   .last_user_seq = 2,
				   .message_count = 1 };
	struct gone g = { .why = GONE_ERASE,
			  .seq = 2,
			  .to = 2,
			  .role = ROLE_USER,
			  .sum = &sum };
	const char *body = body_of(lab, &g);

	assert_non_null(strstr(body, "\"was\":\"message\",\"role\":\"user\""));
	assert_non_null(strstr(body, "\"first_user\":{\"seq\":2}"));
	assert_null(strstr(body, "secret"));
	assert_int_equal(facts_of(lab, body).role, ROLE_USER);
	assert_true(facts_of(lab, body).has_sum);
}

/* ---- what it is known by ---- */

static void facts_of_nonsense_are_none(void **state)
{
	static const char *const bodies[] = {
		"",
		"\"why\":\"erase\"",
		"\"sum\":[],\"was\":7",
		"\"sum\":{",
		"\"was\":\"message\",\"role\":\"king\"",
		"\"role\":\"user\"",
	};

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct gone_facts facts = facts_of(*state, bodies[i]);

		assert_int_equal(facts.role, 0);
		assert_false(facts.has_sum);
	}
}

/* ---- working it into a record ---- */

/* Some of everything, as events. */
static void live(struct lab *lab)
{
	say(lab, "user", "first");
	spend(lab, "{\"input_tokens\":3,\"output_tokens\":4,\"cost_usd\":0.1}");
	spend(lab, "{\"input_tokens\":1}");
	say(lab, "assistant", "answer");
	lab->background = true;
	say(lab, "user", "last");
	lab->background = false;
}

/* What a record has after some events and what it has if they are gone are the
 * same, whatever was before them. */
static void the_record_comes_out_the_same_without_the_events(void **state)
{
	struct lab *lab = *state;
	struct session_rec sum, expected;
	struct totals own;
	struct gone g = { .why = GONE_RECLAIM, .seq = 3, .to = 7, .sum = &sum };
	const char *body;

	/* Alone, as plan_rewrite does it. */
	lab->rec = (struct session_rec){ .id = lab->session, .head_seq = 2 };
	lab->seq = 2;
	lab->now = TEST_TIME + 10;
	live(lab);
	assert_int_equal(record_copy(&sum, &lab->rec, &lab->a, &lab->err),
			 WEFT_OK);
	body = body_of(lab, &g);

	/* In their place. */
	lab->rec = (struct session_rec){ .id = lab->session };
	lab->seq = 0;
	lab->now = TEST_TIME;
	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "before");
	lab->now = TEST_TIME + 10;
	live(lab);
	assert_int_equal(record_copy(&expected, &lab->rec, &lab->a, &lab->err),
			 WEFT_OK);

	/* And the line instead of them. */
	lab->rec = (struct session_rec){ .id = lab->session };
	lab->seq = 0;
	lab->now = TEST_TIME;
	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "before");
	assert_int_equal(apply(lab, body, &own), WEFT_OK);
	assert_int_equal(lab->rec.message_count, expected.message_count);
	assert_int_equal(lab->rec.turn_count, expected.turn_count);
	assert_int_equal(lab->rec.content_seq, expected.content_seq);
	assert_int_equal(lab->rec.last_interaction_at,
			 expected.last_interaction_at);
	assert_true(str_eq(lab->rec.first_user, STR("before")));
	assert_int_equal(lab->rec.first_user_seq, 2);
	assert_true(str_eq(lab->rec.last_user, STR("last")));
	assert_int_equal(lab->rec.last_user_seq, expected.last_user_seq);
	assert_true(str_eq(lab->rec.last_agent, STR("answer")));
	assert_int_equal(lab->rec.last_agent_seq, expected.last_agent_seq);
	assert_memory_equal(&own, &expected.own, sizeof(own));
	assert_int_equal(own.unpriced, 1);
}

static void the_first_words_come_back_if_nothing_was_before(void **state)
{
	struct lab *lab = *state;
	struct totals own;

	assert_int_equal(apply(lab,
			       "\"why\":\"reclaim\",\"sum\":{\"first_user\":{"
			       "\"seq\":2,\"text\":\"hi\"},\"messages\":1}",
			       &own),
			 WEFT_OK);
	assert_true(str_eq(lab->rec.first_user, STR("hi")));
	assert_int_equal(lab->rec.first_user_seq, 2);
	assert_int_equal(lab->rec.last_user_seq, 0);
	assert_int_equal(lab->rec.message_count, 1);
	assert_int_equal(lab->rec.last_interaction_at, 0);
}

static void a_new_preview_ends_what_was_hidden(void **state)
{
	struct lab *lab = *state;
	struct totals own;

	lab->rec.hidden_last_user = STR("old");
	lab->rec.hidden_last_agent = STR("old");
	assert_int_equal(apply(lab,
			       "\"sum\":{\"last_user\":{\"seq\":4},"
			       "\"last_agent\":{\"seq\":5,\"text\":\"a\"}}",
			       &own),
			 WEFT_OK);
	assert_int_equal(lab->rec.hidden_last_user.len, 0);
	assert_int_equal(lab->rec.hidden_last_agent.len, 0);
	assert_int_equal(lab->rec.last_user.len, 0);
	assert_int_equal(lab->rec.last_user_seq, 4);
}

static void a_line_without_a_sum_changes_nothing(void **state)
{
	struct lab *lab = *state;
	struct session_rec before;
	struct totals own = { .unpriced = 7 };

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "hello");
	before = lab->rec;
	assert_int_equal(apply(lab, "\"to\":9,\"why\":\"purge\"", &own),
			 WEFT_OK);
	assert_true(record_eq(&lab->rec, &before));
	assert_int_equal(own.unpriced, 0);
}

/* Somebody has edited it: numbers that are none mean nothing. */
static void numbers_that_are_none_mean_nothing(void **state)
{
	struct lab *lab = *state;
	struct session_rec before;
	struct totals own;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	before = lab->rec;
	assert_int_equal(apply(lab,
			       "\"sum\":{\"messages\":-1,\"turns\":\"3\","
			       "\"content_seq\":1.5,\"said_at\":\"yesterday\","
			       "\"first_user\":{\"seq\":-2,\"text\":\"x\"},"
			       "\"last_user\":7,\"spent\":[]}",
			       &own),
			 WEFT_OK);
	assert_true(record_eq(&lab->rec, &before));
}

static void a_body_that_is_none_is_refused(void **state)
{
	struct lab *lab = *state;
	struct totals own;

	assert_int_equal(apply(lab, "\"sum\":{", &own), WEFT_CORRUPT);
}

#define LAB_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(it_says_up_to_where_if_there_are_several),
		LAB_TEST(every_reason_has_a_name),
		LAB_TEST(what_was_erased_keeps_its_role_and_no_text),
		LAB_TEST(facts_of_nonsense_are_none),
		LAB_TEST(the_record_comes_out_the_same_without_the_events),
		LAB_TEST(the_first_words_come_back_if_nothing_was_before),
		LAB_TEST(a_new_preview_ends_what_was_hidden),
		LAB_TEST(a_line_without_a_sum_changes_nothing),
		LAB_TEST(numbers_that_are_none_mean_nothing),
		LAB_TEST(a_body_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

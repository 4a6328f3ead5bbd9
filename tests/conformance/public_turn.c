/* public_turn.c - the mark that somebody is at work in a session. */
#include "conformance/public.h"

#define HOUR INT64_C(3600000)

static const char *turn(struct desk *d, const char *members)
{
	return desk_call(d, "{\"method\":\"turn\",\"session\":\"%s\",%s}",
			 d->id, members);
}

static bool is_running(struct desk *d)
{
	const char *shown =
		desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}", d->id);

	return strstr(shown, "\"running_since\":null") == NULL;
}

static void a_turn_begins_and_ends(void **state)
{
	struct desk *d = *state;
	const char *answer;

	assert_false(is_running(d));
	answer = turn(d, "\"state\":\"begun\"");
	assert_non_null(strstr(answer, "\"running_since\":\"20"));
	(void)desk_say(d, d->id, "a");
	assert_true(is_running(d));
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_true(is_running(d));
	answer = turn(d, "\"state\":\"ended\"");
	assert_non_null(strstr(answer, "\"running_since\":null"));
	(void)turn(d, "\"state\":\"begun\"");
	(void)turn(d, "\"state\":\"failed\",\"reason\":\"no model\"");
	assert_false(is_running(d));
	answer = desk_call(d, "{\"method\":\"events\",\"session\":\"%s\"}",
			   d->id);
	assert_non_null(strstr(answer, "\"state\":\"failed\",\"reason\":"
				       "\"no model\""));
	/* Nobody spoke. */
	assert_string_equal(desk_texts(d, d->id), "a");
}

static void what_has_not_begun_does_not_end(void **state)
{
	struct desk *d = *state;
	uint64_t head = desk_head(d, d->id);

	(void)turn(d, "\"state\":\"ended\"");
	(void)turn(d, "\"state\":\"failed\"");
	assert_int_equal(desk_head(d, d->id), head);
	(void)turn(d, "\"state\":\"begun\",\"op\":\"t1\"");
	(void)turn(d, "\"state\":\"begun\",\"op\":\"t1\"");
	assert_int_equal(desk_head(d, d->id), head + 1);
}

/* Who never came back is not waited for. */
static void a_turn_that_fell_silent_is_dead(void **state)
{
	struct desk *d = *state;

	(void)turn(d, "\"state\":\"begun\"");
	d->now_ms += 23 * HOUR;
	(void)desk_say(d, d->id, "still there");
	d->now_ms += 23 * HOUR;
	assert_true(is_running(d));
	d->now_ms += 1 * HOUR;
	assert_false(is_running(d));
}

/* It is nobody's but the lease holder's to say. */
static void a_lease_keeps_others_out(void **state)
{
	struct desk *d = *state;

	(void)desk_call(d,
			"{\"method\":\"lease\",\"how\":\"acquire\","
			"\"session\":\"%s\",\"owner\":\"o\"}",
			d->id);
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"turn\",\"session\":\"%s\","
				 "\"state\":\"begun\"}",
				 d->id),
		   WEFT_LEASED, "'o'");
	assert_false(is_running(d));
}

static void input_that_is_none_is_refused(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"turn\",\"session\":\"%s\","
				 "\"state\":\"over\"}",
				 d->id),
		   WEFT_INVALID, "state");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"turn\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_INVALID, "state");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"turn\",\"session\":\"%s\","
				 "\"state\":\"ended\",\"reason\":\"x\"}",
				 d->id),
		   WEFT_INVALID, "reason");
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_turn_begins_and_ends),
	PUBLIC_TEST(what_has_not_begun_does_not_end),
	PUBLIC_TEST(a_turn_that_fell_silent_is_dead),
	PUBLIC_TEST(a_lease_keeps_others_out),
	PUBLIC_TEST(input_that_is_none_is_refused),
};

const struct suite public_turn_suite = { tests, ARRAY_LEN(tests) };

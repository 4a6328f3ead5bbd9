/*
 * public_render.c - what a model is given when not everything fits: its
 * instructions, and calls with their results.
 */
#include <stdlib.h>

#include "conformance/public.h"

#define TURNS 60

static void says(struct desk *d, const char *session, const char *role,
		 const char *text)
{
	char message[256];

	(void)snprintf(message, sizeof(message),
		       "{\"role\":\"%s\",\"content\":\"%s\"}", role, text);
	desk_ok(d, desk_try(d, session, message, NULL, NULL));
}

static void say_turns(struct desk *d, const char *session, int n)
{
	char text[64];

	for (int i = 0; i < n; i++) {
		(void)snprintf(text, sizeof(text), "question %d", i);
		says(d, session, "user", text);
		says(d, session, "assistant", "answer");
	}
}

/* The session for a provider, with these members in the request. */
static const char *rendered(struct desk *d, const char *session,
			    const char *members)
{
	return desk_call(d,
			 "{\"method\":\"history\",\"session\":\"%s\","
			 "\"format\":\"anthropic\",\"view\":\"window\"%s}",
			 session, members);
}

static void expect_system(struct desk *d, const char *session,
			  const char *members, const char *system)
{
	const char *answer = rendered(d, session, members);

	assert_string_equal(desk_member(d, answer, "system"), system);
}

static const char *const cuts[] = {
	"",
	",\"tokens\":200",
	",\"tokens\":1",
	",\"last\":6",
	",\"last\":1",
	",\"last\":6,\"tokens\":30",
};

static void expect_in_all_cuts(struct desk *d, const char *session,
			       const char *system)
{
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++)
		expect_system(d, session, cuts[i], system);
}

static void instructions_stay_however_little_is_wanted(void **state)
{
	struct desk *d = *state;
	const char *answer;

	says(d, d->id, "system", "Be brief.");
	says(d, d->id, "system", "Be kind.");
	say_turns(d, d->id, TURNS);
	expect_in_all_cuts(d, d->id, "Be brief.\n\nBe kind.");
	answer = rendered(d, d->id, ",\"tokens\":100");
	assert_null(strstr(answer, "question 0"));
	assert_non_null(strstr(answer, "question 59"));
	/* Once, whether or not all of it was read. */
	expect_system(d, d->id, ",\"last\":122", "Be brief.\n\nBe kind.");
	expect_system(d, d->id, ",\"last\":121", "Be brief.\n\nBe kind.");
	expect_system(d, d->id, ",\"tokens\":100000", "Be brief.\n\nBe kind.");
	/* What is stored is not rendered: so many messages, and no more. */
	answer = desk_call(d,
			   "{\"method\":\"history\",\"session\":\"%s\","
			   "\"last\":2}",
			   d->id);
	assert_null(strstr(answer, "Be brief"));
}

/* What the system says in between is part of what was said there. */
static void instructions_on_the_way_are_as_far_as_they_are(void **state)
{
	struct desk *d = *state;

	says(d, d->id, "system", "First.");
	say_turns(d, d->id, TURNS);
	says(d, d->id, "system", "Middle.");
	say_turns(d, d->id, TURNS);
	says(d, d->id, "system", "Last.");
	say_turns(d, d->id, 1);
	expect_system(d, d->id, "", "First.\n\nMiddle.\n\nLast.");
	expect_system(d, d->id, ",\"tokens\":100", "First.\n\nLast.");
	expect_system(d, d->id, ",\"last\":4", "First.\n\nLast.");
	expect_system(d, d->id, ",\"last\":1", "First.");
}

static void a_fork_keeps_its_instructions(void **state)
{
	struct desk *d = *state;
	const char *f;

	says(d, d->id, "system", "Be brief.");
	say_turns(d, d->id, TURNS);
	f = desk_fork(d, desk_fork(d, d->id));
	say_turns(d, f, TURNS);
	expect_in_all_cuts(d, f, "Be brief.");
	/* What was hidden on the way is not said again. */
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[2]}",
			f);
	expect_in_all_cuts(d, f, "");
	expect_in_all_cuts(d, d->id, "Be brief.");
}

static void a_window_begins_with_its_own_instructions(void **state)
{
	struct desk *d = *state;

	says(d, d->id, "system", "Old.");
	say_turns(d, d->id, 3);
	(void)desk_call(d,
			"{\"method\":\"set_history\",\"session\":\"%s\","
			"\"summary\":\"Before.\",\"messages\":["
			"{\"role\":\"system\",\"content\":\"New.\"},"
			"{\"role\":\"user\",\"content\":\"go on\"}]}",
			d->id);
	say_turns(d, d->id, TURNS);
	expect_in_all_cuts(d, d->id,
			   "New.\n\nSummary of the conversation so far:\n\n"
			   "Before.");
	(void)desk_call(d,
			"{\"method\":\"truncate\",\"session\":\"%s\","
			"\"keep\":20}",
			d->id);
	expect_in_all_cuts(d, d->id,
			   "Summary of the conversation so far:\n\nBefore.");
}

/* ---- calls and results ---- */

static void calls(struct desk *d, const char *id)
{
	char message[256];

	(void)snprintf(message, sizeof(message),
		       "{\"role\":\"assistant\",\"parts\":[{\"type\":"
		       "\"tool_use\",\"id\":\"%s\",\"name\":\"t\","
		       "\"input\":{}}]}",
		       id);
	desk_ok(d, desk_try(d, d->id, message, NULL, NULL));
}

static void results(struct desk *d, const char *id, const char *role,
		    const char *more)
{
	char message[256];

	(void)snprintf(message, sizeof(message),
		       "{\"role\":\"%s\",\"parts\":[{\"type\":"
		       "\"tool_result\",\"tool_use_id\":\"%s\","
		       "\"content\":\"result\"}%s]}",
		       role, id, more);
	desk_ok(d, desk_try(d, d->id, message, NULL, NULL));
}

/* Where the window would begin if it were cut so. */
static uint64_t first_kept(struct desk *d, const char *method,
			   const char *members)
{
	const char *answer = desk_call(d,
				       "{\"method\":\"%s\",\"session\":"
				       "\"%s\",\"turn\":true,%s}",
				       method, d->id, members);
	const char *at = strstr(answer, "\"first_kept\":");
	uint64_t first = at ? strtoull(at + 13, NULL, 10) : 0;

	if (strstr(answer, "\"changed\":true"))
		(void)desk_call(d, "{\"method\":\"undo\",\"session\":\"%s\"}",
				d->id);
	return first;
}

/* Somebody speaks while the tool is at work. */
static void a_cut_does_not_part_a_call_from_its_result(void **state)
{
	struct desk *d = *state;
	const char *answer;

	says(d, d->id, "user", "first");      /* 2 */
	says(d, d->id, "assistant", "yes");   /* 3 */
	says(d, d->id, "user", "begin");      /* 4 */
	calls(d, "c1");                       /* 5 */
	says(d, d->id, "user", "done?");      /* 6 */
	results(d, "c1", "tool", "");         /* 7 */
	says(d, d->id, "assistant", "final"); /* 8 */
	answer = rendered(d, d->id, ",\"tokens\":15");
	assert_null(strstr(answer, "first"));
	assert_non_null(strstr(answer, "begin"));
	assert_non_null(strstr(answer, "\"id\":\"c1\""));
	assert_non_null(strstr(answer, "result"));
	assert_non_null(strstr(answer, "done?"));
	assert_int_equal(
		first_kept(d, "compact", "\"keep\":3,\"summary\":\"S\""), 4);
	assert_int_equal(
		first_kept(d, "compact", "\"before\":6,\"summary\":\"S\""), 4);
	assert_int_equal(first_kept(d, "truncate", "\"keep\":3"), 4);
	/* The next one may be cut off again. */
	says(d, d->id, "user", "thanks"); /* the last of all */
	answer = rendered(d, d->id, ",\"tokens\":1");
	assert_null(strstr(answer, "final"));
}

/* Some providers have results and what the user says next in one message. */
static void a_result_may_stand_in_what_the_user_says(void **state)
{
	struct desk *d = *state;

	says(d, d->id, "user", "first");
	says(d, d->id, "assistant", "yes");
	says(d, d->id, "user", "begin"); /* 4 */
	calls(d, "c1");
	results(d, "c1", "user", ",{\"type\":\"text\",\"text\":\"done?\"}");
	says(d, d->id, "assistant", "final");
	assert_non_null(strstr(rendered(d, d->id, ",\"tokens\":1"), "begin"));
	assert_int_equal(first_kept(d, "truncate", "\"keep\":2"), 4);
}

/* Neither a call that was never answered nor a result that nobody called for
 * keeps a window long. */
static void what_has_no_pair_holds_up_nothing(void **state)
{
	struct desk *d = *state;
	uint64_t head;

	says(d, d->id, "user", "begin");
	calls(d, "never");
	calls(d, "late");
	results(d, "nobody", "tool", "");
	says(d, d->id, "user", "go on"); /* 6 */
	says(d, d->id, "assistant", "yes");
	assert_null(strstr(rendered(d, d->id, ",\"tokens\":1"), "begin"));
	assert_int_equal(first_kept(d, "truncate", "\"keep\":2"), 6);
	say_turns(d, d->id, 100);
	results(d, "late", "tool", "");
	results(d, "nobody", "tool", "");
	say_turns(d, d->id, 100);
	assert_null(strstr(rendered(d, d->id, ",\"tokens\":1"), "begin"));
	head = desk_head(d, d->id);
	assert_int_equal(first_kept(d, "truncate", "\"keep\":1"), head - 1);
	/* In between it is held, but for so long only. */
	assert_in_range(first_kept(d, "truncate", "\"keep\":202"), head - 340,
			head - 300);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(instructions_stay_however_little_is_wanted),
	PUBLIC_TEST(instructions_on_the_way_are_as_far_as_they_are),
	PUBLIC_TEST(a_fork_keeps_its_instructions),
	PUBLIC_TEST(a_window_begins_with_its_own_instructions),
	PUBLIC_TEST(a_cut_does_not_part_a_call_from_its_result),
	PUBLIC_TEST(a_result_may_stand_in_what_the_user_says),
	PUBLIC_TEST(what_has_no_pair_holds_up_nothing),
};

const struct suite public_render_suite = { tests, ARRAY_LEN(tests) };

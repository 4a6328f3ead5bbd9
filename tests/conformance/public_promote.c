/*
 * public_promote.c - conversations that exist only under an older name are
 * taken over: once, whole, and without copying anything.
 */
#include <stdio.h>

#include "conformance/public.h"

#define OLD "agent:main:telegram:direct:5"

static const char *route(struct desk *d, const char *more)
{
	return desk_call(d,
			 "{\"method\":\"route\",\"channel\":\"telegram\","
			 "\"chat_type\":\"direct\",\"chat_id\":\"5\","
			 "\"sender_id\":\"5\"%s}",
			 more);
}

static const char *routed(struct desk *d)
{
	return desk_member(d, route(d, ""), "session");
}

static void an_older_conversation_goes_on(void **state)
{
	struct desk *d = *state;
	const char *old = desk_new(d, "\"key\":\"" OLD "\",\"aliases\":"
				      "[\"mine\"],\"slug\":\"trip\","
				      "\"user_role\":\"guest\"");
	const char *answer, *id;

	(void)desk_say(d, old, "one");
	(void)desk_say(d, old, "two");
	answer = route(d, ",\"dry_run\":true");
	assert_non_null(strstr(answer, "\"session\":null"));
	assert_non_null(strstr(answer, "would go on from there"));
	assert_non_null(strstr(answer, old));

	answer = route(d, "");
	assert_non_null(strstr(answer, "\"created\":true"));
	assert_non_null(strstr(answer, "goes on from there"));
	id = desk_member(d, answer, "session");
	assert_string_not_equal(id, old);
	(void)desk_say(d, id, "three");
	assert_string_equal(desk_texts(d, id), "one two three");
	/* The old one is as it was, and has no names. */
	assert_string_equal(desk_texts(d, old), "one two");
	answer = desk_show(d, old);
	assert_non_null(strstr(answer, "\"key\":null"));
	assert_non_null(strstr(answer, "\"aliases\":[]"));
	/* Every name leads to the new one. */
	assert_string_equal(desk_member(d, desk_show(d, OLD), "id"), id);
	answer = desk_show(d, "mine");
	assert_string_equal(desk_member(d, answer, "id"), id);
	assert_string_equal(desk_member(d, answer, "forked_from"), old);
	assert_string_equal(desk_member(d, answer, "slug"), "trip");
	assert_string_equal(desk_member(d, answer, "user_role"), "guest");
	assert_string_equal(desk_member(d, answer, "user"), "telegram:5");
	assert_non_null(strstr(answer, "\"inherited_count\":2"));
	assert_non_null(strstr(answer, "\"scope\":{\"version\":1"));
	/* Once. */
	assert_string_equal(routed(d), id);
	if (d->dir[0])
		desk_reopen(d, NULL);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(routed(d), id);
	assert_string_equal(desk_texts(d, OLD), "one two three");
}

/* A summary that was made after the last message counts, too. */
static void the_summary_is_kept(void **state)
{
	struct desk *d = *state;
	const char *id;

	(void)desk_new(d, "\"key\":\"" OLD "\"");
	(void)desk_say(d, OLD, "one");
	(void)desk_say(d, OLD, "two");
	(void)desk_call(d,
			"{\"method\":\"compact\",\"session\":\"" OLD
			"\",\"keep\":1,\"summary\":\"first there was one\"}");
	id = routed(d);
	assert_string_equal(desk_member(d, desk_show(d, id), "summary"),
			    "first there was one");
	assert_non_null(
		strstr(desk_call(d,
				 "{\"method\":\"history\",\"session\":\"%s\","
				 "\"view\":\"window\"}",
				 id),
		       "\"text\":\"two\""));
	assert_null(strstr(desk_call(d,
				     "{\"method\":\"history\",\"session\":"
				     "\"%s\",\"view\":\"window\"}",
				     id),
			   "\"text\":\"one\""));
	/* Messages that were hidden stay hidden. */
	assert_string_equal(desk_texts(d, id), "one two");
}

/* The agent's own conversation, and what others were routed to, are not the
 * older conversation of anybody. */
static void what_is_not_taken_over(void **state)
{
	struct desk *d = *state;
	const char *own = desk_new(d, "\"key\":\"agent:main:main\"");
	const char *empty = desk_new(d, "\"key\":\"" OLD "\"");
	const char *named =
		desk_new(d, "\"aliases\":[\"agent:main:direct:5\"]");
	const char *id;

	(void)desk_say(d, own, "to myself");
	(void)desk_say(d, named, "only called so");
	id = routed(d);
	assert_string_equal(desk_texts(d, id), "");
	assert_string_equal(
		desk_member(d, desk_show(d, "agent:main:main"), "id"), own);
	assert_string_equal(desk_member(d, desk_show(d, OLD), "id"), empty);
	assert_string_equal(
		desk_member(d, desk_show(d, "agent:main:direct:5"), "id"),
		named);
}

/* What a conversation has is never put in the place of what it says now. */
static void nothing_is_promoted_over_what_is_there(void **state)
{
	struct desk *d = *state;
	const char *old = desk_new(d, "\"key\":\"agent:main:direct:5\"");
	const char *id;

	id = routed(d);
	(void)desk_say(d, old, "late");
	assert_string_equal(routed(d), id);
	assert_string_equal(desk_texts(d, id), "");
	/* Nor after somebody asked for a new conversation. */
	(void)desk_say(d, id, "now");
	(void)desk_call(d, "{\"method\":\"reset\",\"session\":\"%s\"}", id);
	assert_string_equal(desk_texts(d, routed(d)), "");
	assert_string_equal(desk_texts(d, old), "late");
}

static void who_writes_to_the_old_one_is_shown(void **state)
{
	struct desk *d = *state;
	const char *old = desk_new(d, "\"key\":\"" OLD "\"");
	const char *id;

	(void)desk_say(d, old, "one");
	id = routed(d);
	assert_null(strstr(route(d, ""), "written since"));
	(void)desk_say(d, old, "astray");
	assert_non_null(strstr(route(d, ""), "written since"));
	assert_string_equal(desk_texts(d, id), "one");
	assert_string_equal(desk_texts(d, old), "one astray");
}

/* As many names as a session may have. */
static void names_that_have_no_room_stay(void **state)
{
	struct desk *d = *state;
	const char *old, *id;
	char alias[120];

	old = desk_new(d, "\"key\":\"" OLD "\"");
	for (int i = 1; i < 64; i++) {
		(void)snprintf(alias, sizeof(alias), "n%02d", i);
		(void)desk_call(d,
				"{\"method\":\"alias\",\"how\":\"add\","
				"\"session\":\"%s\",\"alias\":\"%s\"}",
				old, alias);
	}
	(void)desk_say(d, old, "one");
	id = routed(d);
	assert_string_equal(desk_texts(d, id), "one");
	assert_string_equal(desk_member(d, desk_show(d, OLD), "id"), id);
	assert_string_equal(desk_member(d, desk_show(d, "n01"), "id"), id);
	assert_string_equal(desk_member(d, desk_show(d, "n63"), "id"), old);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(an_older_conversation_goes_on),
	PUBLIC_TEST(the_summary_is_kept),
	PUBLIC_TEST(what_is_not_taken_over),
	PUBLIC_TEST(nothing_is_promoted_over_what_is_there),
	PUBLIC_TEST(who_writes_to_the_old_one_is_shown),
	PUBLIC_TEST(names_that_have_no_room_stay),
};

const struct suite public_promote_suite = { tests, ARRAY_LEN(tests) };

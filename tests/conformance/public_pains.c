/*
 * public_pains.c - what people complain about in sessions of agents, as
 * scenarios: lost after a restart, reset unasked, removed too early or never,
 * two sessions of one chat, old talks that cannot be reached, strangers in one
 * context, heartbeats that count as talk.
 */
#include "base/json.h"
#include "conformance/public.h"

#define HOUR INT64_C(3600000)
#define DAY  (24 * HOUR)

static void configure(struct desk *d, const char *text)
{
	desk_ok(d, weft_configure(d->store, text, strlen(text), &d->err));
}

static struct weft_routed route(struct desk *d, const char *channel,
				const char *sender)
{
	struct weft_route_options o;
	struct weft_routed ret = { 0 };

	weft_route_options_init(&o, sizeof(o));
	o.channel = str_of(channel);
	o.chat_type = STR("direct");
	o.chat_id = o.sender_id = str_of(sender);
	desk_ok(d, weft_route(d->store, &o, &ret, &d->err));
	return ret;
}

static void a_restart_does_not_begin_an_empty_session(void **state)
{
	struct desk *d = *state;
	struct weft_routed first = route(d, "telegram", "5"), again;

	(void)desk_say(d, first.session, "remember me");
	if (d->dir[0])
		desk_reopen(d, NULL);
	/* Not even if all that is derived had to be made anew. */
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	again = route(d, "telegram", "5");
	assert_int_equal(again.created, 0);
	assert_string_equal(again.session, first.session);
	assert_string_equal(desk_texts(d, again.session), "remember me");
}

static void nothing_is_reset_unasked(void **state)
{
	struct desk *d = *state;
	struct weft_routed first = route(d, "telegram", "5"), next;

	(void)desk_say(d, first.session, "before");
	d->now_ms += 400 * DAY;
	assert_string_equal(route(d, "telegram", "5").session, first.session);
	/* And if it is asked for, an answer that is being given is not cut. */
	configure(d, "{\"lifecycle\":{\"reset\":{\"mode\":\"daily\"}}}");
	(void)desk_call(d,
			"{\"method\":\"turn\",\"session\":\"%s\","
			"\"state\":\"begun\"}",
			first.session);
	assert_string_equal(route(d, "telegram", "5").session, first.session);
	(void)desk_call(d,
			"{\"method\":\"turn\",\"session\":\"%s\","
			"\"state\":\"ended\"}",
			first.session);
	next = route(d, "telegram", "5");
	assert_int_equal(next.created, 1);
	assert_string_equal(desk_texts(d, first.session), "before");
}

static void subagents_go_and_people_stay(void **state)
{
	struct desk *d = *state;
	struct weft_routed person = route(d, "telegram", "5");
	const char *sub = desk_new(
		d, arena_printf(&d->arena,
				"\"kind\":\"subagent\",\"parent\":\"%s\"",
				person.session)
			   .ptr);
	const char *report;

	configure(d, "{\"retention\":{\"rules\":[{\"kind\":\"subagent\","
		     "\"idle_days\":1}]}}");
	d->now_ms += 100 * DAY;
	report = desk_call(d, "{\"method\":\"cleanup\"}");
	assert_non_null(strstr(report, "\"removed\":{\"count\":1,"));
	assert_non_null(strstr(report, sub));
	assert_null(strstr(report, person.session));
}

static void one_chat_has_one_session(void **state)
{
	struct desk *d = *state;
	const char *old = desk_new(d, "\"key\":\"agent:main:telegram:direct:"
				      "alice\"");
	struct weft_routed first;

	(void)desk_say(d, old, "long ago");
	first = route(d, "Telegram ", "Alice");
	assert_string_equal(desk_texts(d, first.session), "long ago");
	assert_string_equal(route(d, "telegram", " ALICE").session,
			    first.session);
	assert_string_equal(route(d, "TELEGRAM", "alice").session,
			    first.session);
}

static void the_old_talk_can_be_reached(void **state)
{
	struct desk *d = *state;
	struct weft_routed first = route(d, "telegram", "5");
	const char *list;

	(void)desk_say(d, first.session, "about lisbon");
	(void)desk_call(d, "{\"method\":\"reset\",\"session\":\"%s\"}",
			first.session);
	/* Listed, by its text and by its key; read; gone on with. */
	list = desk_call(d, "{\"method\":\"list\",\"query\":\"lisbon\"}");
	assert_non_null(strstr(list, first.session));
	list = desk_call(d, "{\"method\":\"list\",\"chain\":true,\"key\":"
			    "\"agent:main:telegram:direct:5\"}");
	assert_non_null(strstr(list, first.session));
	(void)desk_say(d, first.session, "and porto");
	assert_string_equal(desk_texts(d, first.session),
			    "about lisbon and porto");
	/* The new one has nothing of it. */
	assert_string_equal(desk_texts(d, route(d, "telegram", "5").session),
			    "");
}

static void strangers_are_apart_unless_it_is_configured(void **state)
{
	static const char *const apart[] = { "per-agent", "per-channel",
					     "per-peer", "per-channel-peer",
					     "per-account-channel-peer" };
	struct desk *d = *state;
	const char *answer;

	assert_string_not_equal(route(d, "telegram", "1").session,
				route(d, "telegram", "2").session);
	for (size_t i = 0; i < ARRAY_LEN(apart); i++) {
		configure(d, arena_printf(&d->arena,
					  "{\"session\":{\"dm_scope\":"
					  "\"%s\"}}",
					  apart[i])
				     .ptr);
		/* Not those whose names earlier conversations have. */
		assert_string_not_equal(
			route(d, apart[i],
			      arena_printf(&d->arena, "a%zu", i).ptr)
				.session,
			route(d, apart[i],
			      arena_printf(&d->arena, "b%zu", i).ptr)
				.session);
	}
	configure(d, "{\"session\":{\"dm_scope\":\"main\"}}");
	(void)route(d, "telegram", "1");
	answer = desk_call(d, "{\"method\":\"route\",\"channel\":\"telegram\","
			      "\"chat_type\":\"direct\",\"sender_id\":\"2\"}");
	assert_non_null(strstr(answer, "more than one person speaks here"));
}

static void heartbeats_are_no_talk(void **state)
{
	struct desk *d = *state;
	struct weft_routed first;

	configure(d, "{\"lifecycle\":{\"reset\":{\"mode\":\"idle\","
		     "\"idle_minutes\":60}}}");
	first = route(d, "telegram", "5");
	(void)desk_say(d, first.session, "hello");
	for (int i = 0; i < 4; i++) {
		d->now_ms += HOUR / 2;
		desk_ok(d, desk_try(d, first.session,
				    "{\"role\":\"user\",\"content\":\"tick\","
				    "\"background\":true}",
				    NULL, NULL));
		/* Nor does a heartbeat reset anything by itself. */
		assert_int_equal(desk_head(d, first.session), 6 + (uint64_t)i);
	}
	assert_int_equal(route(d, "telegram", "5").created, 1);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_restart_does_not_begin_an_empty_session),
	PUBLIC_TEST(nothing_is_reset_unasked),
	PUBLIC_TEST(subagents_go_and_people_stay),
	PUBLIC_TEST(one_chat_has_one_session),
	PUBLIC_TEST(the_old_talk_can_be_reached),
	PUBLIC_TEST(strangers_are_apart_unless_it_is_configured),
	PUBLIC_TEST(heartbeats_are_no_talk),
};

const struct suite public_pains_suite = { tests, ARRAY_LEN(tests) };

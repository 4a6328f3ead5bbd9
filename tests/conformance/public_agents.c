/*
 * public_agents.c - who answers a person, what they may do, and routing in
 * steps.
 */
#include <stdio.h>

#include "base/json.h"
#include "conformance/public.h"
#include "weft/compat.h"

#define HOUR INT64_C(3600000)

/* Dan is one person, wherever he calls himself so. */
#define STICKY                                                            \
	"{\"session\":{\"dimensions\":[\"chat\"],\"identity_links\":"     \
	"{\"dan\":[\"dan\"]}},\"agents\":{\"list\":[{\"id\":\"nikki\"},{" \
	"\"id\":\"sasha\"}],\"sticky\":true}}"

static const char *used(struct desk *d, const char *user)
{
	return desk_call(d, "{\"method\":\"user_agent\",\"user\":\"%s\"}",
			 user);
}

static void the_agent_used_last_is_kept(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	assert_non_null(strstr(used(d, "dan"), "\"agent\":null"));
	desk_ok(d, weft_chat_save_last_used_agent(d->store, "dan", 3, "Nikki",
						  5, &d->err));
	desk_ok(d, weft_chat_save_last_used_agent(d->store, "Dan ", 4, "Sasha",
						  5, &d->err));
	assert_non_null(strstr(used(d, "dan"), "\"agent\":\"Sasha\""));
	assert_non_null(strstr(used(d, "liz"), "\"agent\":null"));
	if (d->dir[0])
		desk_reopen(d, NULL);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	desk_ok(d, weft_chat_last_used_agent(d->store, "dan", 3, &answer,
					     &d->err));
	assert_string_equal(weft_answer_text(answer, NULL),
			    "{\"user\":\"dan\",\"agent\":\"Sasha\"}");
	weft_answer_free(answer);
	/* The same again writes nothing, and it can be forgotten. */
	{
		uint64_t head = desk_head(d, "book:user:dan");

		desk_ok(d, weft_chat_save_last_used_agent(d->store, "dan", 3,
							  "Sasha", 5, &d->err));
		assert_int_equal(desk_head(d, "book:user:dan"), head);
	}
	desk_ok(d, weft_chat_save_last_used_agent(d->store, "dan", 3, "", 0,
						  &d->err));
	assert_non_null(strstr(used(d, "dan"), "\"agent\":null"));
	desk_fails(d,
		   weft_chat_save_last_used_agent(d->store, "", 0, "Sasha", 5,
						  &d->err),
		   WEFT_INVALID, "user");
	/* It is no conversation. */
	assert_null(
		strstr(desk_call(d, "{\"method\":\"list\"}"), "book:user:dan"));
}

static void a_new_conversation_begins_with_it(void **state)
{
	struct desk *d = *state;
	struct weft_route_options whatsapp = desk_from("whatsapp", "dan");
	struct weft_route_options telegram = desk_from("telegram", "dan");
	struct weft_routed first;

	desk_configure(d, STICKY);
	first = desk_route(d, &whatsapp);
	assert_string_equal(first.agent, "nikki");
	(void)desk_say(d, first.session, "hello");
	(void)desk_call(d, "{\"method\":\"user_agent_set\",\"user\":\"dan\","
			   "\"agent\":\"Sasha\"}");
	/* Where a conversation goes on, it goes on with whom it began. */
	assert_string_equal(desk_route(d, &whatsapp).session, first.session);
	assert_string_equal(desk_route(d, &telegram).agent, "sasha");
	/* One that is not there any more is nobody. */
	(void)desk_call(d, "{\"method\":\"user_agent_set\",\"user\":\"dan\","
			   "\"agent\":\"gone\"}");
	telegram.channel = STR("irc");
	assert_string_equal(desk_route(d, &telegram).agent, "nikki");
}

/* Whoever has the same id elsewhere is somebody else. */
static void an_agent_stays_with_one_person(void **state)
{
	struct desk *d = *state;
	struct weft_route_options telegram = desk_from("telegram", "42");
	struct weft_route_options discord = desk_from("discord", "42");
	struct weft_route_options again = desk_from("telegram", "42");

	desk_configure(d, STICKY);
	telegram.agent = STR("sasha");
	(void)desk_route(d, &telegram);
	assert_non_null(strstr(used(d, "telegram:42"), "\"sasha\""));
	assert_non_null(strstr(used(d, "discord:42"), "null"));
	assert_string_equal(desk_route(d, &discord).agent, "nikki");
	again.account = STR("another");
	assert_string_equal(desk_route(d, &again).agent, "sasha");
}

static void who_asks_for_an_agent_goes_on_with_it(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("whatsapp", "dan");
	struct weft_route_options discord = desk_from("discord", "dan");
	struct weft_routed nikki, sasha;

	desk_configure(d, STICKY);
	nikki = desk_route(d, &o);
	(void)desk_say(d, nikki.session, "a");
	d->now_ms += HOUR;
	o.agent = STR("sasha");
	sasha = desk_route(d, &o);
	assert_int_equal(sasha.created, 1);
	(void)desk_say(d, sasha.session, "b");
	assert_non_null(strstr(used(d, "dan"), "\"agent\":\"sasha\""));
	o.agent = STR("");
	assert_string_equal(desk_route(d, &o).session, sasha.session);
	assert_string_equal(desk_route(d, &discord).agent, "sasha");
	/* And back, by speaking there. */
	d->now_ms += HOUR;
	(void)desk_say(d, nikki.session, "c");
	assert_string_equal(desk_route(d, &o).session, nikki.session);
	/* Nothing of it without being configured. */
	desk_configure(d,
		       "{\"session\":{\"dimensions\":[\"sender\"]},\"agents\":"
		       "{\"list\":[{\"id\":\"nikki\"},{\"id\":\"sasha\"}]}}");
	discord.sender_id = STR("liz");
	discord.agent = STR("sasha");
	(void)desk_route(d, &discord);
	assert_non_null(strstr(used(d, "liz"), "\"agent\":null"));
	discord.agent = STR("");
	assert_string_equal(desk_route(d, &discord).agent, "nikki");
}

static void roles_come_from_the_configuration(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("telegram", "5");
	const char *shown;

	desk_configure(d,
		       "{\"session\":{\"identity_links\":{\"dan\":"
		       "[\"telegram:5\"]},\"roles\":{\"MasterAdmin\":[\"Dan\"],"
		       "\"Partner\":[\"discord:7\"]}}}");
	shown = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
			  desk_route(d, &o).session);
	assert_non_null(strstr(shown, "\"user_role\":\"MasterAdmin\""));
	assert_non_null(strstr(shown, "\"user\":\"dan\""));
	o = desk_from("discord", "7");
	shown = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
			  desk_route(d, &o).session);
	assert_non_null(strstr(shown, "\"user_role\":\"Partner\""));
	o = desk_from("telegram", "7");
	shown = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
			  desk_route(d, &o).session);
	assert_non_null(strstr(shown, "\"user_role\":\"\""));
	/* It is what it is now. */
	desk_configure(d, "{\"session\":{\"roles\":{\"Guest\":[\"7\"]}}}");
	o = desk_from("discord", "7");
	shown = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}",
			  desk_route(d, &o).session);
	assert_non_null(strstr(shown, "\"user_role\":\"Guest\""));
}

/* ---- in steps ---- */

static const char *text(struct weft_conversation *c, const char *name)
{
	size_t len = 0;
	const char *s = weft_conversation_text(c, name, &len);

	assert_true(!s || strlen(s) == len);
	return s ? s : "(none)";
}

static void the_steps_lead_where_the_whole_does(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("slack", "U1");
	struct weft_conversation *c = NULL;
	struct weft_routed r, whole;

	o.chat_type = STR("channel");
	o.chat_id = STR("C001");
	desk_ok(d, weft_resolve_route(d->store, &o, &c, &d->err));
	assert_string_equal(text(c, "agent"), "main");
	assert_string_equal(text(c, "matched_by"), "default");
	assert_string_equal(text(c, "key"), "(none)");
	desk_fails(d, weft_ensure_session(d->store, c, &r, &d->err),
		   WEFT_INVALID, "weft_allocate_session");
	desk_fails(d, weft_resolve_key(c, "agent:x", 7, &d->err), WEFT_INVALID,
		   "weft_allocate_session");
	desk_ok(d, weft_allocate_session(d->store, c, &d->err));
	assert_string_equal(
		text(c, "key"),
		"sk_v1_cc8430454f012a0e85f524edabb9fb846a3f5d848b1fc7738283"
		"3f3d89076841");
	assert_string_equal(
		text(c, "scope"),
		"{\"version\":1,\"agent_id\":\"main\",\"channel\":"
		"\"slack\",\"account\":\"default\",\"dimensions\":"
		"[\"chat\"],\"values\":{\"chat\":\"channel:c001\"}}");
	assert_string_equal(text(c, "aliases"),
			    "[\"agent:main:main\",\"agent:main:slack:channel:"
			    "c001\"]");
	assert_string_equal(text(c, "main_aliases"), "[\"agent:main:main\"]");
	assert_non_null(strstr(text(c, "why"), "dimension chat"));
	assert_string_equal(text(c, "nothing"), "(none)");
	desk_ok(d, weft_resolve_key(c, "", 0, &d->err));
	desk_ok(d, weft_ensure_session(d->store, c, &r, &d->err));
	assert_int_equal(r.created, 1);
	whole = desk_route(d, &o);
	assert_int_equal(whole.created, 0);
	assert_string_equal(whole.session, r.session);
	weft_conversation_free(c);
	weft_conversation_free(NULL);
}

static void a_key_of_ones_own_is_a_step(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("cron", "5");
	struct weft_conversation *c = NULL;
	struct weft_routed r;
	const char *shown;

	desk_ok(d, weft_resolve_route(d->store, &o, &c, &d->err));
	desk_ok(d, weft_allocate_session(d->store, c, &d->err));
	desk_fails(d, weft_resolve_key(c, "a\nb", 3, &d->err), WEFT_INVALID,
		   "session_key");
	desk_ok(d, weft_resolve_key(c, "agent:main:Nightly", 18, &d->err));
	assert_string_equal(text(c, "key"), "agent:main:Nightly");
	desk_ok(d, weft_ensure_session(d->store, c, &r, &d->err));
	shown = desk_call(d, "{\"method\":\"show\",\"session\":"
			     "\"agent:main:Nightly\"}");
	assert_non_null(strstr(shown, r.session));
	weft_conversation_free(c);
	/* Anything else is only another name. */
	desk_ok(d, weft_resolve_route(d->store, &o, &c, &d->err));
	desk_ok(d, weft_allocate_session(d->store, c, &d->err));
	desk_ok(d, weft_resolve_key(c, "cli:default", 11, &d->err));
	assert_non_null(strstr(text(c, "aliases"), "\"cli:default\""));
	desk_ok(d, weft_ensure_session(d->store, c, &r, &d->err));
	shown = desk_call(d, "{\"method\":\"show\",\"session\":"
			     "\"cli:default\"}");
	assert_non_null(strstr(shown, r.session));
	weft_conversation_free(c);
}

static void hostile_callers_are_told(void **state)
{
	struct desk *d = *state;
	struct weft_route_options o = desk_from("cli", "5");
	struct weft_conversation *c = NULL;

	desk_fails(d, weft_resolve_route(d->store, NULL, &c, &d->err),
		   WEFT_INVALID, "message");
	desk_fails(d, weft_resolve_route(d->store, &o, NULL, &d->err),
		   WEFT_INVALID, "place");
	desk_fails(d, weft_allocate_session(d->store, NULL, &d->err),
		   WEFT_INVALID, "conversation");
	desk_fails(d, weft_ensure_session(d->store, NULL, NULL, &d->err),
		   WEFT_INVALID, "conversation");
	desk_fails(d, weft_resolve_key(NULL, "x", 1, &d->err), WEFT_INVALID,
		   "conversation");
	assert_null(weft_conversation_text(NULL, "key", NULL));
	o.flags = 8;
	desk_fails(d, weft_resolve_route(d->store, &o, &c, &d->err),
		   WEFT_INVALID, "flags");
	o.flags = 0;
	o.sender_id = (struct weft_str){ NULL, 5 };
	desk_fails(d, weft_resolve_route(d->store, &o, &c, &d->err),
		   WEFT_INVALID, "text");
	assert_null(c);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(the_agent_used_last_is_kept),
	PUBLIC_TEST(a_new_conversation_begins_with_it),
	PUBLIC_TEST(an_agent_stays_with_one_person),
	PUBLIC_TEST(who_asks_for_an_agent_goes_on_with_it),
	PUBLIC_TEST(roles_come_from_the_configuration),
	PUBLIC_TEST(the_steps_lead_where_the_whole_does),
	PUBLIC_TEST(a_key_of_ones_own_is_a_step),
	PUBLIC_TEST(hostile_callers_are_told),
};

const struct suite public_agents_suite = { tests, ARRAY_LEN(tests) };

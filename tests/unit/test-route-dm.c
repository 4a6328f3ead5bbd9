/* test-route-dm.c - keys by dm_scope: value, type of chat, linked or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "route/route.h"

/* What is configured besides dm_scope. */
enum with { ALONE, LINKED, NAMED, OTHER_STYLE };

static const char *const with_text[] = {
	[ALONE] = "",
	/* As people write it who think of one account as the main one. */
	[LINKED] = ",\"identity_links\":{\"Telegram:123\":[\"discord:987\","
		   "\"slack:U1\"]}",
	[NAMED] = ",\"identity_links\":{\"John\":[\"telegram:123\","
		  "\"discord:987\",\"slack:U1\"]}",
	[OTHER_STYLE] = ",\"dm_scope_style\":\"picoclaw\"",
};

/* channel, account, chat type, chat, topic, sender */
static const struct route_context direct = {
	STR_INIT("Telegram"), STR_INIT("Bot.A"), STR_INIT("direct"),
	STR_INIT("123"),      { NULL, 0 },       { NULL, 0 },
	{ NULL, 0 },          STR_INIT("123"),   false
};
static const struct route_context discord = {
	STR_INIT("discord"), { NULL, 0 },     STR_INIT("Direct"),
	STR_INIT("D9"),      { NULL, 0 },     { NULL, 0 },
	{ NULL, 0 },         STR_INIT("987"), false
};
static const struct route_context group = {
	STR_INIT("telegram"), { NULL, 0 },     STR_INIT("Group"),
	STR_INIT("-100"),     { NULL, 0 },     { NULL, 0 },
	{ NULL, 0 },          STR_INIT("123"), false
};
static const struct route_context forum = {
	STR_INIT("telegram"), { NULL, 0 },     STR_INIT("group"),
	STR_INIT("-100"),     STR_INIT("42"),  { NULL, 0 },
	{ NULL, 0 },          STR_INIT("123"), false
};
static const struct route_context channel = {
	STR_INIT("slack"), STR_INIT("T0AB"), STR_INIT("channel"),
	STR_INIT("C001"),  STR_INIT("17.1"), { NULL, 0 },
	{ NULL, 0 },       STR_INIT("U1"),   false
};
static const struct route_context nobody = {
	STR_INIT("irc"), { NULL, 0 }, STR_INIT("direct"),
	{ NULL, 0 },     { NULL, 0 }, { NULL, 0 },
	{ NULL, 0 },     { NULL, 0 }, false
};

static const struct {
	const char *dm_scope;
	enum with with;
	const struct route_context *context;
	const char *key;
} vectors[] = {
	/* One conversation for all direct messages, of all agents. */
	{ "main", ALONE, &direct, "main" },
	{ "main", ALONE, &discord, "main" },
	{ "main", ALONE, &nobody, "main" },
	{ "main", LINKED, &direct, "main" },
	{ "main", NAMED, &discord, "main" },
	{ "main", ALONE, &group, "telegram:group:-100" },
	{ "main", ALONE, &forum, "telegram:group:-100/42" },
	{ "main", ALONE, &channel, "slack:channel:c001" },
	{ "main", NAMED, &group, "telegram:group:-100" },

	{ "per-agent", ALONE, &direct, "agent:helper:telegram:123" },
	{ "per-agent", ALONE, &discord, "agent:helper:discord:987" },
	{ "per-agent", ALONE, &nobody, "agent:helper:irc:unknown" },
	{ "per-agent", LINKED, &direct, "agent:helper:telegram:123" },
	{ "per-agent", LINKED, &discord, "agent:helper:telegram:123" },
	{ "per-agent", NAMED, &direct, "agent:helper:john" },
	{ "per-agent", NAMED, &discord, "agent:helper:john" },
	{ "per-agent", ALONE, &group, "telegram:group:-100" },
	{ "per-agent", LINKED, &group, "telegram:group:-100" },
	{ "per-agent", ALONE, &forum, "telegram:group:-100/42" },
	{ "per-agent", ALONE, &channel, "slack:channel:c001" },

	{ "per-channel", ALONE, &direct, "telegram:123" },
	{ "per-channel", ALONE, &discord, "discord:987" },
	{ "per-channel", ALONE, &nobody, "irc:unknown" },
	{ "per-channel", LINKED, &direct, "telegram:123" },
	{ "per-channel", LINKED, &discord, "telegram:123" },
	{ "per-channel", NAMED, &direct, "john" },
	{ "per-channel", NAMED, &discord, "john" },
	{ "per-channel", ALONE, &group, "telegram:group:-100" },
	{ "per-channel", NAMED, &forum, "telegram:group:-100/42" },
	{ "per-channel", ALONE, &channel, "slack:channel:c001" },

	{ "per-peer", ALONE, &direct, "agent:helper:direct:123" },
	{ "per-peer", ALONE, &nobody, "agent:helper:main" },
	{ "per-peer", NAMED, &direct, "agent:helper:direct:john" },
	{ "per-peer", NAMED, &discord, "agent:helper:direct:john" },
	/* The name of a link is no id of older programs. */
	{ "per-peer", LINKED, &direct, "agent:helper:direct:123" },
	{ "per-peer", LINKED, &discord, "agent:helper:direct:telegram:123" },
	{ "per-peer", ALONE, &group, "agent:helper:telegram:group:-100" },
	{ "per-peer", ALONE, &channel, "agent:helper:slack:channel:c001/17.1" },

	{ "per-channel-peer", ALONE, &direct,
	  "agent:helper:telegram:direct:123" },
	{ "per-channel-peer", NAMED, &discord,
	  "agent:helper:discord:direct:john" },
	{ "per-channel-peer", ALONE, &nobody, "agent:helper:main" },
	{ "per-channel-peer", NAMED, &forum,
	  "agent:helper:telegram:group:-100/42" },

	{ "per-account-channel-peer", ALONE, &direct,
	  "agent:helper:telegram:bot-a:direct:123" },
	{ "per-account-channel-peer", NAMED, &discord,
	  "agent:helper:discord:default:direct:john" },
	{ "per-account-channel-peer", ALONE, &channel,
	  "agent:helper:slack:channel:c001/17.1" },

	{ "global", ALONE, &direct, "agent:helper:main" },
	{ "global", NAMED, &discord, "agent:helper:main" },
	{ "global", ALONE, &group, "agent:helper:telegram:group:-100" },

	{ "main", OTHER_STYLE, &direct, "agent:helper:main" },
	{ "main", OTHER_STYLE, &group, "agent:helper:telegram:group:-100" },
	{ "per-agent", OTHER_STYLE, &direct, "agent:helper:telegram:123" },
	/* There it means the dimension chat: a key that hides what it is of. */
	{ "per-channel", OTHER_STYLE, &discord,
	  "sk_v1_"
	  "18bbd909813980605abcbe667920b3fb1568fe2e1688c625021f0ba467425771" },
};

static void resolve(const char *dm_scope, enum with with,
		    const struct route_context *context, struct arena *a,
		    struct route *ret)
{
	struct config_input in = { .file = "test" };
	struct route_request q = { .context = *context };
	struct weft_error err = { 0 };
	struct config c;

	in.text = arena_printf(a,
			       "{\"session\":{\"dm_scope\":\"%s\"%s},"
			       "\"agents\":{\"list\":[{\"id\":\"Helper\"}]}}",
			       dm_scope, with_text[with]);
	if (config_read(&c, &in, a, &err) != WEFT_OK)
		fail_msg("%s", err.message);
	assert_int_equal(route_resolve(&c, &q, a, ret, &err), WEFT_OK);
}

static void every_value_and_type_of_chat(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		CLEANUP(arena_done) struct arena a;
		struct route r;

		arena_init(&a, 0);
		resolve(vectors[i].dm_scope, vectors[i].with,
			vectors[i].context, &a, &r);
		if (!str_eq(r.key, str_of(vectors[i].key)))
			fail_msg("row %zu (%s): expected %s, found %.*s", i,
				 vectors[i].dm_scope, vectors[i].key,
				 STR_ARG(r.key));
	}
}

/* A person who is not linked yet keeps the conversation when they are. */
static void adding_a_link_changes_no_scope(void **state)
{
	static const char *const ours[] = { "main", "per-agent",
					    "per-channel" };
	CLEANUP(arena_done) struct arena a;

	(void)state;
	arena_init(&a, 0);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		struct route before, after, there;

		resolve(ours[i], ALONE, &direct, &a, &before);
		resolve(ours[i], LINKED, &direct, &a, &after);
		resolve(ours[i], LINKED, &discord, &a, &there);
		assert_true(str_eq(before.key, after.key));
		assert_true(route_fits(&after, &before.scope, false));
		assert_true(route_fits(&there, &before.scope, false));
	}
}

/* Ids that look like the end of a key: no two of them are one conversation. */
static void ids_with_separators_stay_apart(void **state)
{
	static const struct route_context apart[] = {
		{ .channel = STR_INIT("a"), .sender_id = STR_INIT("b:c") },
		{ .channel = STR_INIT("a:b"), .sender_id = STR_INIT("c") },
		{ .channel = STR_INIT("a%3ab"), .sender_id = STR_INIT("c") },
		{ .channel = STR_INIT("a"), .sender_id = STR_INIT("b%3ac") },
		{ .channel = STR_INIT("a"), .sender_id = STR_INIT("group:7") },
		{ .channel = STR_INIT("a"), .sender_id = STR_INIT("@x:y") },
		{ .channel = STR_INIT("a"),
		  .chat_type = STR_INIT("group"),
		  .chat_id = STR_INIT("7") },
		{ .channel = STR_INIT("a"),
		  .chat_type = STR_INIT("group:7"),
		  .chat_id = STR_INIT("8") },
		{ .channel = STR_INIT("a"),
		  .chat_type = STR_INIT("group"),
		  .chat_id = STR_INIT("7:8") },
		{ .channel = STR_INIT("a:group"), .sender_id = STR_INIT("7") },
	};
	CLEANUP(arena_done) struct arena a;
	struct route r[ARRAY_LEN(apart)];

	(void)state;
	arena_init(&a, 0);
	for (size_t i = 0; i < ARRAY_LEN(apart); i++) {
		resolve("per-channel", ALONE, &apart[i], &a, &r[i]);
		for (size_t k = 0; k < i; k++) {
			assert_false(str_eq(r[i].key, r[k].key));
			assert_false(route_fits(&r[i], &r[k].scope, false));
		}
	}
	/* What is not ambiguous stays as people know it. */
	assert_true(str_eq(r[5].key, STR("a:@x:y")));
}

/* In keys of older programs the scope says what the key does not. */
static void older_keys_are_told_apart_by_their_scope(void **state)
{
	static const struct route_context user = {
		.channel = STR_INIT("direct"),
		.chat_type = STR_INIT("direct"),
		.sender_id = STR_INIT("group:7"),
	};
	static const struct route_context chat = {
		.channel = STR_INIT("direct"),
		.chat_type = STR_INIT("group"),
		.chat_id = STR_INIT("7"),
	};
	CLEANUP(arena_done) struct arena a;
	struct route x, y;

	(void)state;
	arena_init(&a, 0);
	resolve("per-peer", ALONE, &user, &a, &x);
	resolve("per-peer", ALONE, &chat, &a, &y);
	assert_true(str_eq(x.key, y.key));
	assert_false(route_fits(&x, &y.scope, false));
	assert_false(route_fits(&y, &x.scope, false));
}

static void what_people_share_is_said_and_never_named(void **state)
{
	CLEANUP(arena_done) struct arena a;
	struct route r;

	(void)state;
	arena_init(&a, 0);
	resolve("main", ALONE, &direct, &a, &r);
	assert_true(r.shared);
	assert_false(route_may_claim(&r, STR("agent:helper:direct:123")));
	resolve("per-agent", ALONE, &direct, &a, &r);
	assert_false(r.shared);
	assert_true(route_may_claim(&r, STR("agent:helper:direct:123")));
	assert_false(route_may_claim(&r, STR("agent:helper:main")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_and_type_of_chat),
		cmocka_unit_test(adding_a_link_changes_no_scope),
		cmocka_unit_test(ids_with_separators_stay_apart),
		cmocka_unit_test(older_keys_are_told_apart_by_their_scope),
		cmocka_unit_test(what_people_share_is_said_and_never_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test-route.c - who answers, which conversation it is, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "route/route.h"

static struct arena arena;

static int begin(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static void configure(struct config *c, const char *text)
{
	struct config_input in = { .text = str_of(text) };
	struct weft_error err = { 0 };

	if (config_read(c, &in, &arena, &err) != WEFT_OK)
		fail_msg("%s", err.message);
}

static struct route resolve(const struct config *c,
			    const struct route_request *q)
{
	struct weft_error err = { 0 };
	struct route r;

	if (route_resolve(c, q, &arena, &r, &err) != WEFT_OK)
		fail_msg("%s", err.message);
	return r;
}

static void expect(const char *expected, struct weft_str found)
{
	if (!str_eq(str_of(expected), found))
		fail_msg("expected '%s', found '%.*s'", expected,
			 STR_ARG(found));
}

static void expect_why(const struct route *r, const char *line)
{
	for (size_t i = 0; i < r->why.n; i++) {
		if (str_eq(r->why.v[i], str_of(line)))
			return;
	}
	for (size_t i = 0; i < r->why.n; i++)
		print_message("# %.*s\n", STR_ARG(r->why.v[i]));
	fail_msg("not among why: %s", line);
}

/* No line has this in it. */
static void expect_no_why(const struct route *r, const char *text)
{
	for (size_t i = 0; i < r->why.n; i++) {
		if (memmem(r->why.v[i].ptr, r->why.v[i].len, text,
			   strlen(text)))
			fail_msg("among why: %.*s", STR_ARG(r->why.v[i]));
	}
}

#define S(text) STR_INIT(text)

/* The answers that another program gives to the same configuration; the one
 * place where we differ on purpose is said. */
static const struct {
	struct route_context context;
	const char *agent, *matched_by, *dimensions, *key;
} sample[] = {
	{ { .channel = S("telegram"),
	    .chat_id = S("-1009988776655"),
	    .chat_type = S("group"),
	    .sender_id = S("31") },
	  "support",
	  "dispatch.rule:support group",
	  "chat,sender",
	  "sk_v1_f822be0e50b8f0fb8b6db77a49eafdfb"
	  "e446a3942c554e48c4bdde3bdff94314" },
	{ { .channel = S("slack"),
	    .account = S("T0AB"),
	    .chat_id = S("C9"),
	    .chat_type = S("channel"),
	    .sender_id = S("U1"),
	    .space_id = S("T0AB"),
	    .space_type = S("workspace"),
	    .mentioned = true },
	  "support",
	  "dispatch.rule:slack mentions",
	  "chat",
	  "sk_v1_8ca5368372d8994c59c2f88adfe6ed0e"
	  "7d0bbf04b9f9c9e3e39835824fc54e26" },
	{ { .channel = S("telegram"),
	    .chat_id = S("123456789"),
	    .chat_type = S("direct"),
	    .sender_id = S("123456789") },
	  "main",
	  "default",
	  "chat",
	  "sk_v1_67fe19a8ec8fd03673f4b28c2fcddc0a"
	  "2712152896ff962b8eec1b0debfdb4c5" },
	{ { .channel = S("telegram"),
	    .chat_id = S("-1001234567890"),
	    .chat_type = S("group"),
	    .topic_id = S("42"),
	    .sender_id = S("7") },
	  "main",
	  "default",
	  "chat",
	  "sk_v1_36124e6f38d9be96ffea284f78b98fa8"
	  "a2e0e2a6724c3b41986e7f3f1fd908a5" },
};

/* Who a text means, as one says it, with and without a channel. */
static void a_person_has_one_name(void **state)
{
	static const struct weft_str ids[] = { STR_INIT("telegram:42"),
					       STR_INIT("u7") };
	static const struct identity_link link = { STR_INIT("alice"), ids, 2 };
	static const struct {
		const char *channel, *id, *name;
	} v[] = {
		{ "Telegram", " 42", "alice" },
		{ "telegram", "telegram:42", "alice" },
		{ "discord", "42", "discord:42" },
		{ "discord", "discord:42", "discord:42" },
		{ "anywhere", "U7", "alice" },
		{ "slack", "Alice", "slack:alice" },
		{ "a:b", "c", "a%3ab:c" },
		{ "a", "b:c", "a:b:c" },
		{ "slack", "", "" },
	};
	const struct identity_links given = { .v = &link, .n = 1 };
	struct identity_links links = identity_links_clean(&given, &arena);
	struct person alice = person_of_text(&links, STR("u7"), &arena);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct weft_str channel = str_of(v[i].channel);
		struct weft_str id = str_of(v[i].id);
		struct identity who =
			identity_of(&links, channel, id, false, &arena);

		expect(v[i].name, person_of_sender(&who, channel, &arena).name);
		assert_int_equal(person_sent(&alice, id, channel, &arena),
				 who.link != NULL);
	}
	/* Without a channel a program says who it is. */
	assert_true(person_sent(&alice, STR("alice"), STR(""), &arena));
	assert_true(person_is_user(&alice, STR("Alice"), STR("slack"), true,
				   &arena));
	alice = person_of_text(&links, STR("bob"), &arena);
	assert_true(
		person_is_user(&alice, STR("bob"), STR("x"), false, &arena));
	assert_false(
		person_is_user(&alice, STR("bob"), STR("x"), true, &arena));
}

static void the_sample_of_picoclaw(void **state)
{
	const char *data = getenv("WEFT_TEST_DATA");
	char path[4096];
	struct config c;
	char *text;
	size_t len;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/picoclaw_config.json",
		       data ? data : "tests/data");
	assert_int_equal(fs_read_whole(fs_real(), path, MIB(1), &text, &len),
			 0);
	assert_int_equal(
		config_read(&c, &(struct config_input){ .text = { text, len } },
			    &arena, NULL),
		WEFT_OK);
	mem_free(text);
	/* A rule without a condition; what is not for us is left alone. */
	assert_int_equal(c.warnings.n, 1);
	for (size_t i = 0; i < ARRAY_LEN(sample); i++) {
		struct route_request q = { .context = sample[i].context };
		struct route r = resolve(&c, &q);
		char dims[64] = "";

		expect(sample[i].agent, r.agent);
		expect(sample[i].matched_by, r.matched_by);
		expect(sample[i].key, r.key);
		for (size_t k = 0; k < r.scope.n_dims; k++)
			(void)snprintf(dims + strlen(dims),
				       sizeof(dims) - strlen(dims), "%s%.*s",
				       k ? "," : "", STR_ARG(r.scope.dims[k]));
		assert_string_equal(dims, sample[i].dimensions);
	}
	/* A rule that names no account is for all of them. */
	{
		struct route_request q = { .context = sample[0].context };
		struct route r;

		q.context.account = STR("bot2");
		r = resolve(&c, &q);
		expect("support", r.agent);
	}
}

static const char rules[] =
	"{\"agents\":{\"list\":[{\"id\":\"first\"},{\"id\":\"Second One\","
	"\"default\":true},{\"id\":\"third\"}]},"
	"\"dispatch\":{\"rules\":["
	"{\"when\":{}},"
	"{\"name\":\" Broad \",\"agent\":\"First\",\"when\":{\"channel\":"
	"\"SLACK\",\"mentioned\":true}},"
	"{\"name\":\"narrow\",\"agent\":\"third\",\"when\":{\"channel\":"
	"\"slack\",\"account\":\"T.1\",\"space\":\"workspace:t1\",\"chat\":"
	"\"channel:c1\",\"topic\":\"topic:9\",\"sender\":\"U1\"}},"
	"{\"agent\":\"gone\",\"when\":{\"channel\":\"irc\"},"
	"\"session_dimensions\":[\"sender\",\"chat\"]},"
	"{\"when\":{\"mentioned\":false,\"channel\":\"x\"}}]}}";

static const struct route_context slack = {
	.channel = S(" Slack "),
	.account = S("t.1"),
	.space_type = S("Workspace"),
	.space_id = S("T1"),
	.chat_type = S("Channel"),
	.chat_id = S("C1"),
	.topic_id = S("9"),
	.sender_id = S("u1"),
};

static void the_first_rule_that_fits_counts(void **state)
{
	struct route_request q = { .context = slack };
	struct config c;
	struct route r;

	(void)state;
	configure(&c, rules);
	q.context.mentioned = true;
	r = resolve(&c, &q);
	expect("first", r.agent);
	expect("dispatch.rule:broad", r.matched_by);
	expect_why(&r, "rule 1: has no condition, so it is not used");
	expect_why(&r, "rule 2 'broad': fits");

	q.context.mentioned = false;
	r = resolve(&c, &q);
	expect("third", r.agent);
	expect("dispatch.rule:narrow", r.matched_by);
	expect_why(&r, "rule 2 'broad': the agent was not mentioned");
	expect_why(&r, "rule 3 'narrow': fits");
}

static void each_condition_must_hold(void **state)
{
	static const struct {
		size_t at;
		const char *why;
	} v[] = {
		{ offsetof(struct route_context, channel),
		  "rule 3 'narrow': channel is 'other', not 'slack'" },
		{ offsetof(struct route_context, account),
		  "rule 3 'narrow': account is 'other', not 't-1'" },
		{ offsetof(struct route_context, space_id),
		  "rule 3 'narrow': space is 'workspace:other', not "
		  "'workspace:t1'" },
		{ offsetof(struct route_context, chat_type),
		  "rule 3 'narrow': chat is 'other:c1', not 'channel:c1'" },
		{ offsetof(struct route_context, topic_id),
		  "rule 3 'narrow': topic is 'topic:other', not 'topic:9'" },
		{ offsetof(struct route_context, sender_id),
		  "rule 3 'narrow': sender is 'other', not 'u1'" },
	};
	struct config c;

	(void)state;
	configure(&c, rules);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct route_request q = { .context = slack };
		const struct weft_str other = STR("Other");
		struct route r;

		memcpy((char *)&q.context + v[i].at, &other, sizeof(other));
		r = resolve(&c, &q);
		expect("second-one", r.agent);
		expect("default", r.matched_by);
		expect_why(&r, v[i].why);
		expect_why(&r, "no rule fits: the default agent 'second-one' "
			       "answers");
	}
}

static void an_agent_that_is_not_there_is_said(void **state)
{
	struct route_request q = { .context = { .channel = S("IRC"),
						.chat_id = S("x"),
						.sender_id = S("y") } };
	struct config c;
	struct route r;

	(void)state;
	configure(&c, rules);
	r = resolve(&c, &q);
	expect("second-one", r.agent);
	expect("dispatch.rule", r.matched_by);
	expect("v=1|agent=second-one|channel=irc|account=default|sender=y|"
	       "chat=direct:x",
	       r.signature);
	expect_why(&r, "agent 'gone' is not in agents.list: the default agent "
		       "'second-one' answers");
	expect_why(&r, "dimensions: those of the rule");

	q.agent = STR(" Third ");
	r = resolve(&c, &q);
	expect("third", r.agent);
	expect("agent", r.matched_by);
	q.agent = STR("nobody");
	r = resolve(&c, &q);
	expect("second-one", r.agent);
	/* Without a list any agent will do. */
	configure(&c, "{}");
	r = resolve(&c, &q);
	expect("nobody", r.agent);
	expect_why(&r, "agent 'nobody' is given: no rule is asked");
}

#define A62 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void the_default_agent(void **state)
{
	static const struct {
		const char *list, *agent;
	} v[] = {
		{ "[]", "main" },
		{ "[{\"id\":\"A\"},{\"id\":\"B\"}]", "a" },
		{ "[{\"id\":\"A\"},{\"id\":\"B\",\"default\":true}]", "b" },
		{ "[{\"id\":\"@@\"}]", "main" },
		/* Cut to 64 bytes behind a dash, which no scope would keep. */
		{ "[{\"id\":\"_" A62 "-b\"}]", "_" A62 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct route_request q = { 0 };
		struct route r;
		struct config c;

		configure(&c, arena_printf(&arena, "{\"agents\":{\"list\":%s}}",
					   v[i].list)
				      .ptr);
		r = resolve(&c, &q);
		expect(v[i].agent, r.agent);
		expect(v[i].agent, r.scope.agent);
	}
}

/* ---- one person, several channels ---- */

static bool names(const struct name_list *l, struct weft_str name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_eq(l->v[i], name))
			return true;
	}
	return false;
}

#define LINKS \
	"\"identity_links\":{\"John\":[\"telegram:5\",\"discord:7\",\"b\"]}"

static const struct route_request telegram = {
	.context = { .channel = S("telegram"),
		     .chat_type = S("direct"),
		     .chat_id = S("5"),
		     .sender_id = S("5") },
};
static const struct route_request discord = {
	.context = { .channel = S("discord"),
		     .chat_type = S("direct"),
		     .chat_id = S("d1"),
		     .sender_id = S("7") },
};

static void a_linked_person_is_one_on_all_channels(void **state)
{
	struct route_request irc = {
		.context = { .channel = S("irc"), .sender_id = S("B") },
	};
	struct route t, d, i;
	struct config c;

	(void)state;
	configure(&c, "{\"session\":{\"dimensions\":[\"sender\"]," LINKS "}}");
	t = resolve(&c, &telegram);
	d = resolve(&c, &discord);
	i = resolve(&c, &irc);
	/* Each channel has its own key, as ever ... */
	assert_false(str_eq(t.key, d.key));
	expect("v=1|agent=main|channel=telegram|account=default|sender=john",
	       t.signature);
	/* ... and each is a name of the same conversation. */
	assert_true(names(&t.other_keys, d.key));
	assert_true(names(&d.other_keys, t.key));
	assert_true(names(&i.other_keys, t.key));
	assert_true(str_eq(t.person, i.person));
	assert_true(route_fits(&t, &d.scope, true));
	assert_true(route_fits(&i, &t.scope, true));
	/* Only that name proves that a conversation is the person's. */
	assert_false(route_fits(&t, &d.scope, false));
	assert_true(route_fits(&t, &t.scope, false));
	expect("john", d.sender);
}

static void others_stay_who_they_are(void **state)
{
	struct route_request stranger = discord;
	struct route t, d, s;
	struct config c;

	(void)state;
	configure(&c, "{\"session\":{\"dimensions\":[\"sender\"]," LINKS "}}");
	t = resolve(&c, &telegram);
	stranger.context.sender_id = STR("8");
	s = resolve(&c, &stranger);
	assert_false(s.linked);
	assert_false(route_fits(&s, &t.scope, true));
	assert_false(route_fits(&t, &s.scope, false));
	/* Nor is anybody John who calls himself so, even where John is. */
	stranger.context.sender_id = STR("John");
	s = resolve(&c, &stranger);
	d = resolve(&c, &discord);
	assert_true(str_eq(s.key, d.key));
	assert_true(str_eq(s.person, d.person));
	assert_false(route_fits(&s, &d.scope, true));
	assert_false(route_fits(&s, &t.scope, true));
	expect_why(&s, "sender 'john' is called like an identity link and "
		       "could be taken for that person: give the link another "
		       "name");
	assert_int_equal(s.warnings.n, 1);
	assert_int_equal(d.warnings.n, 0);
	/* With the chat among the dimensions a conversation is the chat's. */
	configure(&c,
		  "{\"session\":{\"dimensions\":[\"chat\",\"sender\"]," LINKS
		  "}}");
	t = resolve(&c, &telegram);
	d = resolve(&c, &discord);
	assert_false(t.linked);
	assert_false(route_fits(&t, &d.scope, false));
}

/* ---- keys of the caller's own ---- */

static void explicit_keys_are_kept_as_they_are(void **state)
{
	struct route_request q = telegram;
	struct weft_error err = { 0 };
	struct route plain, r;
	struct config c;

	(void)state;
	configure(&c, "{}");
	plain = resolve(&c, &q);
	q.session_key = STR(" Agent:X:Cron ");
	r = resolve(&c, &q);
	expect(" Agent:X:Cron ", r.key);
	expect_why(&r, "session key ' Agent:X:Cron ' is given and taken as it "
		       "is: neither dimensions nor dm_scope are asked");
	expect_no_why(&r, "dimension chat");
	assert_true(r.own_key);
	assert_true(route_fits(&r, &plain.scope, false));
	assert_false(route_may_claim(&r, STR("agent:main:direct:5")));
	/* The key that it would have had anyway. */
	q.session_key = plain.key;
	r = resolve(&c, &q);
	assert_false(r.own_key);
	expect_why(&r, "dimension chat: 'direct:5'");
	/* Anything else is only another name. */
	q.session_key = STR("My-Talk");
	r = resolve(&c, &q);
	assert_true(str_eq(r.key, plain.key));
	assert_true(names(&r.aliases, STR("my-talk")));
	assert_true(route_may_claim(&r, STR("my-talk")));
	q.session_key = STR("agent:x\ny");
	assert_int_equal(route_resolve(&c, &q, &arena, &r, &err), WEFT_INVALID);
	assert_string_equal(err.message,
			    "session_key has a control character (U+000A)");
}

/* Somebody who names a session is not told about what was not asked. */
static void a_given_key_explains_itself(void **state)
{
	static const char *const configs[] = {
		"{}",
		"{\"session\":{\"dimensions\":[]}}",
		"{\"session\":{\"dimensions\":[\"sender\"]}}",
		"{\"session\":{\"dm_scope\":\"main\"}}",
	};
	struct route_request q = { .context = { .channel = S("cron") },
				   .session_key = S("agent:main:nightly") };
	struct config c;
	struct route r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
		configure(&c, configs[i]);
		r = resolve(&c, &q);
		expect("agent:main:nightly", r.key);
		assert_false(r.shared);
		expect_why(&r, "there are no rules: the default agent 'main' "
			       "answers");
		expect_no_why(&r, "no dimension has a value");
		expect_no_why(&r, "one conversation here");
		assert_int_equal(r.why.n, 2);
	}
}

static void what_has_no_value_is_said(void **state)
{
	struct route_request q = { .context = { .channel = S("web") } };
	struct config c;
	struct route r;

	(void)state;
	configure(&c, "{\"session\":{\"dimensions\":[\"topic\",\"chat\"]}}");
	r = resolve(&c, &q);
	assert_true(r.shared);
	expect("v=1|agent=main|channel=web|account=default", r.signature);
	expect_why(&r, "dimension topic: has no value here");
	expect_why(&r, "no dimension has a value: all of channel 'web' and "
		       "account 'default' is one conversation, whoever speaks");
	q.context.chat_id = STR("c");
	r = resolve(&c, &q);
	assert_false(r.shared);
	expect_why(&r, "dimension chat: 'direct:c'");
}

static void without_memory_it_says_so(void **state)
{
	struct weft_error err = { 0 };
	struct config c;
	struct route r;
	int64_t n = 0;
	int e;

	(void)state;
	configure(&c, "{\"session\":{\"dimensions\":[\"sender\"]," LINKS "}}");
	do {
		CLEANUP(arena_done) struct arena a;

		arena_init(&a, 0);
		mem_fault(n++, 1);
		e = route_resolve(&c, &telegram, &a, &r, &err);
		mem_fault(-1, 0);
		if (e != WEFT_OK)
			assert_int_equal(e, WEFT_NO_MEMORY);
	} while (e != WEFT_OK && n < 1000);
	assert_int_equal(e, WEFT_OK);
	assert_true(n > 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_person_has_one_name),
		TEST(the_sample_of_picoclaw),
		TEST(the_first_rule_that_fits_counts),
		TEST(each_condition_must_hold),
		TEST(an_agent_that_is_not_there_is_said),
		TEST(the_default_agent),
		TEST(a_linked_person_is_one_on_all_channels),
		TEST(others_stay_who_they_are),
		TEST(explicit_keys_are_kept_as_they_are),
		TEST(a_given_key_explains_itself),
		TEST(what_has_no_value_is_said),
		TEST(without_memory_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

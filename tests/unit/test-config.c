/* test-config.c - the configuration file: what is read, and what is said of
 * mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "route/config.h"

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

static int read_text(const char *text, const char *(*env)(const char *),
		     struct config *c, struct weft_error *err)
{
	struct config_input in = {
		.file = "file",
		.text = str_of(text),
		.env = env,
	};

	return config_read(c, &in, &arena, err);
}

static void read_ok(const char *text, struct config *c)
{
	struct weft_error err = { 0 };

	if (read_text(text, NULL, c, &err) != WEFT_OK)
		fail_msg("%s", err.message);
}

static void expect_str(const char *expected, struct weft_str found)
{
	if (!str_eq(str_of(expected), found))
		fail_msg("expected '%s', found '%.*s'", expected,
			 STR_ARG(found));
}

static void nothing_configured_is_the_defaults(void **state)
{
	static const char *const nothing[] = {
		"{}",
		" { } ",
		"{\"session\":{}}",
		"{\"session\":{\"dm_scope\":null}}",
	};
	struct config c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
		read_ok(nothing[i], &c);
		assert_int_equal(c.dimensions.n, 1);
		assert_int_equal(c.dimensions.v[0], DIM_CHAT);
		assert_false(c.session.dimensions.given);
		assert_int_equal(c.session.dm_scope, DM_SCOPE_UNSET);
		assert_int_equal(c.lifecycle.suspend_minutes, 30);
		assert_int_equal(c.lifecycle.maintenance_hour, 3);
		assert_int_equal(c.lifecycle.reset.mode, RESET_UNSET);
		assert_int_equal(c.retention.rules.n, 0);
		assert_int_equal(c.warnings.n, 0);
	}
	assert_int_equal(
		config_read(&c, &(struct config_input){ 0 }, &arena, NULL),
		WEFT_OK);
	assert_int_equal(c.dimensions.n, 1);
}

static void every_section_is_read(void **state)
{
	const struct config_channel_reset *channel;
	const struct config_retention_rule *keep;
	const struct config_agent *agents;
	const struct config_rule *rules;
	struct config c;

	(void)state;
	read_ok("{\"session\":{\"dimensions\":[\"Space\",\" chat \",\"chat\"],"
		"\"identity_links\":{\"J\\u00f6rg\":[\"irc:j\",\"\"]}},"
		"\"agents\":{\"list\":[{\"id\":\"A\",\"name\":\"Nikki\"},"
		"{\"id\":\"B\",\"default\":true}]},"
		"\"dispatch\":{\"rules\":[{\"name\":\"r\",\"agent\":\"B\","
		"\"when\":{\"channel\":\"c\",\"mentioned\":false},"
		"\"session_dimensions\":[\"sender\"]}]},"
		"\"lifecycle\":{\"suspend_minutes\":5,"
		"\"reset\":{\"mode\":\"daily\"},"
		"\"reset_by_type\":{\"group\":{\"mode\":\"none\"}},"
		"\"reset_by_channel\":{\"Slack\":{\"mode\":\"idle\","
		"\"idle_minutes\":60}}},"
		"\"retention\":{\"rules\":[{\"kind\":\"subagent\","
		"\"idle_days\":7,\"max_sessions\":100}],\"trash_days\":2},"
		"\"store\":{\"url\":\"memory:\"},"
		"\"server\":{\"listen\":\"127.0.0.1:80\"}}",
		&c);
	assert_int_equal(c.warnings.n, 0);
	assert_int_equal(c.dimensions.n, 2);
	assert_int_equal(c.dimensions.v[0], DIM_SPACE);
	assert_int_equal(c.links.n, 1);
	expect_str("j\xc3\xb6rg", c.links.v[0].name);
	assert_int_equal(c.links.v[0].n_ids, 1);
	agents = c.agents.v;
	assert_int_equal(c.agents.n, 2);
	expect_str("Nikki", agents[0].name);
	assert_int_equal(agents[0].is_default, CONFIG_UNSET);
	assert_int_equal(agents[1].is_default, CONFIG_TRUE);
	rules = c.rules.v;
	assert_int_equal(c.rules.n, 1);
	expect_str("c", rules[0].when.channel);
	assert_int_equal(rules[0].when.mentioned, CONFIG_FALSE);
	assert_int_equal(rules[0].dimensions.n, 1);
	assert_int_equal(rules[0].dimensions.v[0], DIM_SENDER);
	assert_int_equal(c.lifecycle.suspend_minutes, 5);
	assert_int_equal(c.lifecycle.reset.mode, RESET_DAILY);
	assert_int_equal(c.lifecycle.reset.at_hour, 4);
	assert_int_equal(c.lifecycle.group.mode, RESET_NONE);
	assert_int_equal(c.lifecycle.direct.mode, RESET_UNSET);
	channel = c.lifecycle.by_channel.v;
	assert_int_equal(c.lifecycle.by_channel.n, 1);
	expect_str("Slack", channel[0].channel);
	assert_int_equal(channel[0].reset.mode, RESET_IDLE);
	assert_int_equal(channel[0].reset.idle_minutes, 60);
	assert_int_equal(channel[0].reset.at_hour, 4);
	keep = c.retention.rules.v;
	assert_int_equal(keep[0].kind, 2);
	assert_int_equal(keep[0].idle_days, 7);
	assert_int_equal(keep[0].max_bytes, 0);
	assert_int_equal(c.retention.trash_days, 2);
	expect_str("memory:", c.store_url);
	expect_str("127.0.0.1:80", c.server_listen);
}

static void rules_may_stand_where_picoclaw_has_them(void **state)
{
	const struct config_rule *rules;
	struct weft_error err = { 0 };
	struct config c;

	(void)state;
	read_ok("{\"agents\":{\"dispatch\":{\"rules\":[{\"agent\":\"x\","
		"\"when\":{\"chat\":\"group:1\"}}]}}}",
		&c);
	rules = c.rules.v;
	assert_int_equal(c.rules.n, 1);
	expect_str("x", rules[0].agent);
	/* But not in both places. */
	assert_int_equal(
		read_text("{\"agents\":{\"dispatch\":{\"rules\":[]}},\n"
			  "\"dispatch\":{\"rules\":[]}}",
			  NULL, &c, &err),
		WEFT_INVALID);
	assert_string_equal(
		err.message,
		"file: line 2: dispatch.rules: expected nothing, as "
		"it is given twice, found an array");
}

static const struct {
	const char *text, *message;
} mistakes[] = {
	{ "", "file: line 1: not JSON: nothing there" },
	{ "{\n\"session\"", "file: not JSON: unexpected end at line 2" },
	{ "[]", "file: line 1: expected an object, found array" },
	{ "{\n\"session\":7}",
	  "file: line 2: session: expected an object, found 7" },
	{ "{\"session\":{\n\n\"dm_scope\":\"per-user\"}}",
	  "file: line 3: session.dm_scope: expected one of "
	  "main|per-agent|" },
	{ "{\"session\":{\"dm_scope\":[]}}",
	  "file: line 1: session.dm_scope: expected one of " },
	{ "{\"session\":{\"dimensions\":\"chat\"}}",
	  "file: line 1: session.dimensions: expected an array of "
	  "strings, found \"chat\"" },
	{ "{\"session\":{\"dimensions\":[\"chat\",\n\"chatt\"]}}",
	  "file: line 2: session.dimensions[2]: expected one of "
	  "space|chat|topic|sender, found \"chatt\"" },
	{ "{\"session\":{\"identity_links\":[]}}",
	  "file: line 1: session.identity_links: expected an object "
	  "of names and their ids, found an array" },
	{ "{\"session\":{\"identity_links\":{\"a\":\n\"b\"}}}",
	  "file: line 2: session.identity_links.a: expected an array "
	  "of strings" },
	{ "{\"session\":{\"identity_links\":{\"a\":[{}]}}}",
	  "file: line 1: session.identity_links.a[1]: expected a "
	  "string, found an object" },
	{ "{\"agents\":{\"list\":[{\"id\":\"a\"},\n{\"name\":\"b\"}]}}",
	  "file: line 2: agents.list[2].id: expected a text, found "
	  "nothing" },
	{ "{\"agents\":{\"list\":[{\"id\":\"a\",\"default\":1}]}}",
	  "file: line 1: agents.list[1].default: expected true or "
	  "false, found 1" },
	{ "{\"agents\":{\"list\":{}}}",
	  "file: line 1: agents.list: expected an array, found an "
	  "object" },
	{ "{\"dispatch\":{\"rules\":[{\"when\":{\"chat\":7}}]}}",
	  "file: line 1: dispatch.rules[1].when.chat: expected a "
	  "string, found 7" },
	{ "{\"lifecycle\":{\"maintenance_hour\":24}}",
	  "file: line 1: lifecycle.maintenance_hour: expected a "
	  "number from 0 to 23, found 24" },
	{ "{\"lifecycle\":{\"suspend_minutes\":0}}",
	  "file: line 1: lifecycle.suspend_minutes: expected a number "
	  "from 1 to 527040, found 0" },
	{ "{\"lifecycle\":{\"suspend_minutes\":-1}}",
	  "file: line 1: lifecycle.suspend_minutes: expected a "
	  "number" },
	{ "{\"lifecycle\":{\"suspend_minutes\":1.5}}",
	  "file: line 1: lifecycle.suspend_minutes: expected a "
	  "number" },
	{ "{\"lifecycle\":{\"reset_by_channel\":{\"x\":{\"mode\":"
	  "\"weekly\"}}}}",
	  "file: line 1: lifecycle.reset_by_channel.x.mode: expected "
	  "one of none|daily|idle, found \"weekly\"" },
	{ "{\"store\":{\"url\":\"a\\u0000b\"}}",
	  "file: line 1: store.url has a control character (U+0000)" },
	{ "{\"store\":{},\"store\":{}}",
	  "file: line 1: member \"store\" twice at column " },
	{ "{\"session\":{\n\"identity_links\":{\"a\":[],\n\"a\":[]}}}",
	  "file: member \"a\" twice at line 3, column " },
	/* What is no configuration at all. */
	{ "   ", "file: line 1: not JSON: nothing there" },
	{ "{\"a\":1,}", "file: line 1: not JSON: trailing comma at column 7" },
	{ "{}\n{}", "file: not JSON: something behind the value at line 2" },
	{ "// no\n{}", "file: not JSON: unexpected character at line 1" },
	{ "\xef\xbb\xbf{}",
	  "file: line 1: not JSON: byte order mark at column 1" },
	{ "{\"store\":{\n\"url\":\"\xff\"}}",
	  "file: not JSON: not UTF-8 at line 2" },
	{ "null", "file: line 1: expected an object, found null" },
	{ "\n\"x\"", "file: line 2: expected an object, found string" },
	/* The wrong kind of value. */
	{ "{\"session\":{\"dimensions\":{}}}",
	  "file: line 1: session.dimensions: expected an array of strings, "
	  "found an object" },
	{ "{\"session\":{\"dimensions\":[\"chat\",null]}}",
	  "file: line 1: session.dimensions[2]: expected one of "
	  "space|chat|topic|sender, found null" },
	{ "{\"session\":{\"dm_scope\":true}}",
	  "file: line 1: session.dm_scope: expected one of main|" },
	{ "{\"session\":{\"dm_scope_style\":\"x\"}}",
	  "file: line 1: session.dm_scope_style: expected one of "
	  "weft|picoclaw, found \"x\"" },
	{ "{\"session\":{\"roles\":{\"admin\":\"x\"}}}",
	  "file: line 1: session.roles.admin: expected an array of strings, "
	  "found \"x\"" },
	{ "{\"agents\":{\"list\":[\"a\"]}}",
	  "file: line 1: agents.list[1]: expected an object, found \"a\"" },
	{ "{\"agents\":{\"list\":[{\"id\":7}]}}",
	  "file: line 1: agents.list[1].id: expected a string, found 7" },
	{ "{\"agents\":{\"sticky\":\"yes\"}}",
	  "file: line 1: agents.sticky: expected true or false, found "
	  "\"yes\"" },
	{ "{\"dispatch\":[]}",
	  "file: line 1: dispatch: expected an object, found an array" },
	{ "{\"dispatch\":{\"rules\":[{\"when\":[]}]}}",
	  "file: line 1: dispatch.rules[1].when: expected an object, found "
	  "an array" },
	{ "{\"dispatch\":{\"rules\":[{\"when\":{\"mentioned\":\"no\"}}]}}",
	  "file: line 1: dispatch.rules[1].when.mentioned: expected true or "
	  "false, found \"no\"" },
	{ "{\"dispatch\":{\"rules\":[{\"when\":{\"chat\":\"a:b\"},\n"
	  "\"session_dimensions\":[\"chats\"]}]}}",
	  "file: line 2: dispatch.rules[1].session_dimensions[1]: expected "
	  "one of space|chat|topic|sender, found \"chats\"" },
	{ "{\"lifecycle\":{\"maintenance_hour\":\"3\"}}",
	  "file: line 1: lifecycle.maintenance_hour: expected a number from "
	  "0 to 23, found \"3\"" },
	{ "{\"lifecycle\":{\"maintenance_hour\":1e1}}",
	  "file: line 1: lifecycle.maintenance_hour: expected a number" },
	{ "{\"lifecycle\":{\"reset\":\"daily\"}}",
	  "file: line 1: lifecycle.reset: expected an object, found "
	  "\"daily\"" },
	{ "{\"lifecycle\":{\"reset\":{\"mode\":\"daily\",\n"
	  "\"at_hour\":24}}}",
	  "file: line 2: lifecycle.reset.at_hour: expected a number from 0 "
	  "to 23, found 24" },
	{ "{\"lifecycle\":{\"reset\":{\"idle_minutes\":-5}}}",
	  "file: line 1: lifecycle.reset.idle_minutes: expected a number "
	  "from 0 to 527040, found -5" },
	{ "{\"lifecycle\":{\"reset_by_channel\":[]}}",
	  "file: line 1: lifecycle.reset_by_channel: expected an object, "
	  "found an array" },
	{ "{\"retention\":{\"rules\":[{\"kind\":\"robot\"}]}}",
	  "file: line 1: retention.rules[1].kind: expected one of "
	  "primary|subagent|book, found \"robot\"" },
	{ "{\"retention\":{\"rules\":[{\"max_bytes\":\"10mb\"}]}}",
	  "file: line 1: retention.rules[1].max_bytes: expected a number "
	  "from 0 to 9007199254740991, found \"10mb\"" },
	{ "{\"retention\":{\"trash_days\":99999999}}",
	  "file: line 1: retention.trash_days: expected a number from 0 to "
	  "36600, found 99999999" },
	{ "{\"server\":{\"listen\":true}}",
	  "file: line 1: server.listen: expected a string, found true" },
	/* What is there and yet is not. */
	{ "{\"agents\":{\"list\":[\n{\"id\":\" \"}]}}",
	  "file: line 2: agents.list[1].id: expected a text that is not "
	  "empty, found \" \"" },
	{ "{\"session\":{\"identity_links\":{\"a\\tb\":[\"x\"]}}}",
	  "file: line 1: session.identity_links.a\\tb has a control "
	  "character (U+0009)" },
	/* What would do nothing, or put all people together. */
	{ "{\"session\":{\"dimensions\":[\n\"colour\"]}}",
	  "file: line 2: session.dimensions: expected one of "
	  "space|chat|topic|sender, found \"colour\"" },
	{ "{\"lifecycle\":{\n\"reset\":{\"mode\":\"idle\"}}}",
	  "file: line 2: lifecycle.reset.idle_minutes: expected a number from "
	  "1 with mode idle, found 0" },
	{ "{\"lifecycle\":{\"reset_by_type\":{\"thread\":\n"
	  "{\"idle_minutes\":5}}}}",
	  "file: line 2: lifecycle.reset_by_type.thread.mode: expected one of "
	  "none|daily|idle, found nothing" },
	{ "{\"lifecycle\":{\"reset_by_channel\":{\"Slack\":{\"mode\":"
	  "\"idle\"}}}}",
	  "file: line 1: lifecycle.reset_by_channel.slack.idle_minutes: "
	  "expected a number from 1" },
	/* Contradictions. */
	{ "{\"session\":{\"dimensions\":[\"chat\"],\n\"dm_scope\":"
	  "\"per-peer\"}}",
	  "file: line 2: session.dm_scope: contradicts "
	  "session.dimensions" },
	{ "{\"session\":{\"dimensions\":[],\"dm_scope\":\"main\"}}",
	  "file: line 1: session.dm_scope: contradicts" },
	{ "{\"session\":{\"dimensions\":[\"sender\",\"chat\"],"
	  "\"dm_scope\":\"per-channel-peer\"}}",
	  "file: line 1: session.dm_scope: contradicts" },
};

static void every_mistake_names_line_field_and_what_was_expected(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		struct weft_error err = { 0 };
		struct config c;

		if (read_text(mistakes[i].text, NULL, &c, &err) != WEFT_INVALID)
			fail_msg("not refused: %s", mistakes[i].text);
		if (strncmp(err.message, mistakes[i].message,
			    strlen(mistakes[i].message)) != 0)
			fail_msg("expected '%s', found '%s'",
				 mistakes[i].message, err.message);
	}
}

/* What says the same thing twice is no contradiction; dimensions it is then. */
static void dm_scope_may_agree_with_dimensions(void **state)
{
	static const char *const same[] = {
		("\"dimensions\":[\"chat\",\"sender\"],"
		 "\"dm_scope\":\"per-channel-peer\""),
		"\"dimensions\":[\"chat\"],\"dm_scope\":\"per-channel\"",
		"\"dimensions\":[\"sender\"],\"dm_scope\":\"per-peer\"",
		"\"dimensions\":[],\"dm_scope\":\"global\"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		struct config c;

		read_ok(arena_printf(&arena, "{\"session\":{%s}}", same[i]).ptr,
			&c);
		assert_int_equal(c.session.dm_scope, DM_SCOPE_UNSET);
	}
}

static void expect_warning(const char *text, const char *warning)
{
	struct config c;

	read_ok(text, &c);
	if (c.warnings.n != 1)
		fail_msg("%zu warnings of %s", c.warnings.n, text);
	expect_str(warning, c.warnings.v[0]);
}

static void what_is_not_known_is_warned_about(void **state)
{
	(void)state;
	expect_warning("{\n\"sesion\":{}}", "file: line 2: unknown section "
					    "\"sesion\"; did you mean "
					    "\"session\"?");
	expect_warning("{\"session\":{\n\"dm_scop\":7}}",
		       "file: line 2: unknown field \"session.dm_scop\"; did "
		       "you mean \"dm_scope\"?");
	expect_warning("{\"session\":{\"backlog_limit\":7}}",
		       "file: line 1: unknown field "
		       "\"session.backlog_limit\"");
	expect_warning("{\"dispatch\":{\"rules\":[{\"when\":{\"chat\":\"a:b\","
		       "\n\"sendr\":\"y\"}}]}}",
		       "file: line 2: unknown field "
		       "\"dispatch.rules[1].when.sendr\"; did you mean "
		       "\"sender\"?");
}

static const struct {
	const char *text, *warning;
} surprises[] = {
	{ "{\"dispatch\":{\"rules\":[\n{\"agent\":\"a\",\"when\":{"
	  "\"chat\":\" \"}}]}}",
	  "file: line 2: dispatch.rules[1]: has no condition, so it "
	  "is never used" },
	{ "{\"agents\":{\"list\":[{\"id\":\"A\"}]},\"dispatch\":{"
	  "\"rules\":[{\"agent\":\"b\",\"when\":{\"sender\":"
	  "\"x\"}}]}}",
	  "file: line 1: dispatch.rules[1]: agent \"b\" is not in "
	  "agents.list; the default agent answers" },
	{ "{\"dispatch\":{\"rules\":[{\"agent\":\"a\",\"when\":{"
	  "\"chat\":\"C001\"}}]}}",
	  "file: line 1: dispatch.rules[1].when.chat: expected type "
	  "and id like \"group:C001\", found \"C001\", which nothing "
	  "fits" },
	{ "{\"dispatch\":{\"rules\":[{\"when\":{\"topic\":\"42\"}}"
	  "]}}",
	  "file: line 1: dispatch.rules[1].when.topic: expected type "
	  "and id like \"topic:42\", found \"42\", which nothing "
	  "fits" },
	{ "{\"agents\":{\"list\":[{\"id\":\"a\",\"default\":true},"
	  "\n{\"id\":\"b\",\"default\":true}]}}",
	  "file: line 2: agents.list[2].default: \"a\" is the "
	  "default already; the first counts" },
	{ "{\"agents\":{\"list\":[{\"id\":\"A b\"},\n{\"id\":"
	  "\"a-b\"}]}}",
	  "file: line 2: agents.list[2].id: \"a-b\" is the same as "
	  "agents.list[1].id" },
	{ "{\"agents\":{\"list\":[{\"id\":\"@@\"}]}}",
	  "file: line 1: agents.list[1].id: nothing of \"@@\" can be "
	  "part of an id, so it is \"main\"" },
	{ "{\"session\":{\"identity_links\":{\"a\":[\"X:1\"],"
	  "\n\"b\":[\"x:1\"]}}}",
	  "file: line 2: session.identity_links: \"x:1\" is in \"a\" "
	  "and in \"b\"; the first counts" },
	{ "{\"session\":{\"identity_links\":{\"a\":[\"B \"],"
	  "\"b\":[\"x:1\"]}}}",
	  "file: line 1: session.identity_links.a: \"b\" is the name "
	  "of another link; links are not followed, so give the ids "
	  "themselves" },
	{ "{\"session\":{\"identity_links\":{\" \":[\"b\"]}}}",
	  "file: line 1: session.identity_links: a name is empty, so "
	  "it is not used" },
	{ "{\"session\":{\"identity_links\":{\"a\":[\"\"]}}}",
	  "file: line 1: session.identity_links.a: has no ids" },
	{ "{\"session\":{\"roles\":{\"Admin\":[\"x\"],\"guest\":"
	  "[\"X\"]}}}",
	  "file: line 1: session.roles: \"x\" is in \"admin\" and in "
	  "\"guest\"; the first counts" },
	{ "{\"session\":{\"dimensions\":[\"chat\",\n\"colour\"]}}",
	  "file: line 2: session.dimensions[2]: \"colour\" is left "
	  "out; there are only space|chat|topic|sender" },
	{ "{\"lifecycle\":{\"reset\":{\"mode\":\"none\","
	  "\"idle_minutes\":5}}}",
	  "file: line 1: lifecycle.reset.idle_minutes: does nothing "
	  "with mode none" },
	{ "{\"lifecycle\":{\"reset_by_channel\":{\"slack\":{\"mode\":"
	  "\"none\"},\n\"Slack\":{\"mode\":\"daily\"}}}}",
	  "file: line 2: lifecycle.reset_by_channel: \"slack\" is "
	  "there twice; the first counts" },
	{ "{\"retention\":{\"rules\":[{\"idle_days\":30},\n{\"kind\":"
	  "\"subagent\",\"idle_days\":1}]}}",
	  "file: line 2: retention.rules[2]: is never used, since "
	  "retention.rules[1] comes first and fits all that it fits" },
};

static void what_surprises_people_is_warned_about(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(surprises); i++)
		expect_warning(surprises[i].text, surprises[i].warning);
}

static void what_does_what_it_seems_to_is_not_warned_about(void **state)
{
	static const char *const fine[] = {
		"{\"agents\":{\"list\":[{\"id\":\"main\"},{\"id\":\"b\","
		"\"default\":true}]}}",
		"{\"session\":{\"identity_links\":{\"a\":[\"a\",\"x\"]}}}",
		"{\"retention\":{\"rules\":[{\"idle_days\":30},{\"kind\":"
		"\"book\",\"idle_days\":1}]}}",
		"{\"retention\":{\"rules\":[{\"agent\":\"a\",\"idle_days\":3},"
		"{\"channel\":\"x\"},{\"kind\":\"subagent\"},{}]}}",
		"{\"dispatch\":{\"rules\":[{\"when\":{\"topic\":\"Topic:4\","
		"\"chat\":\"group:1\",\"space\":\"guild:7\"}}]}}",
		"{\"lifecycle\":{\"reset\":{\"mode\":\"daily\","
		"\"idle_minutes\":5}}}",
	};
	struct config c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		read_ok(fine[i], &c);
		if (c.warnings.n)
			fail_msg("%s: %.*s", fine[i], STR_ARG(c.warnings.v[0]));
	}
}

/* That people share is no mistake as long as one speaks: it is told to whoever
 * asks, and when a second one does. */
static void what_people_share_is_noted(void **state)
{
	struct config c;

	(void)state;
	read_ok("{\"session\":{\n\"dm_scope\":\"main\"}}", &c);
	assert_int_equal(c.warnings.n, 0);
	assert_int_equal(c.notes.n, 1);
	expect_str("file: line 2: session.dm_scope: the direct messages of all "
		   "people are one conversation; they read each other's",
		   c.notes.v[0]);
	read_ok("{\"session\":{\"dimensions\":[]}}", &c);
	assert_int_equal(c.notes.n, 1);
	expect_str("file: line 1: session.dimensions: with none, all people on "
		   "a channel are in one conversation; they read each other's",
		   c.notes.v[0]);
	read_ok("{\"session\":{\"dm_scope\":\"per-agent\"}}", &c);
	assert_int_equal(c.notes.n, 0);
	read_ok("{}", &c);
	assert_int_equal(c.notes.n, 0);
}

static void warnings_have_an_end(void **state)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct config c;

	(void)state;
	buf_init(&b, 0);
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%c\"x%d\":1", i ? ',' : '{', i);
	buf_add_c(&b, '}');
	read_ok(buf_cstr(&b), &c);
	assert_int_equal(c.warnings.n, CONFIG_WARNINGS_MAX);
}

/* Nothing here grows with the square of what a file may hold. */
static void lists_that_no_hand_wrote_are_read_in_time(void **state)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct config c;

	(void)state;
	buf_init(&b, 0);
	buf_add_lit(&b, "{\"agents\":{\"list\":[");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, "%s{\"id\":\"a%d\"}", i ? "," : "", i);
	buf_add_lit(&b, "]},\"session\":{\"identity_links\":{");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, "%s\"p%d\":[\"x:%d\"]", i ? "," : "", i, i);
	buf_add_lit(&b, "}},\"retention\":{\"rules\":[");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, "%s{\"agent\":\"a%d\"}", i ? "," : "", i);
	buf_add_lit(&b, "]}}");
	read_ok(buf_cstr(&b), &c);
	assert_int_equal(c.warnings.n, 0);
	assert_int_equal(c.links.n, 20000);
}

/* ---- the environment ---- */

static const char *env_good(const char *name)
{
	if (strcmp(name, "WEFT_SESSION_DM_SCOPE") == 0)
		return "per-peer";
	if (strcmp(name, "WEFT_STORE_URL") == 0)
		return "jsonl:\"odd\"";
	if (strcmp(name, "WEFT_LIFECYCLE_SUSPEND_MINUTES") == 0)
		return "7";
	if (strcmp(name, "WEFT_AGENTS_LIST") == 0)
		return " [{\"id\":\"e\"}] ";
	return NULL;
}

static const char *wrong_name, *wrong_value;

static const char *env_wrong(const char *name)
{
	return strcmp(name, wrong_name) == 0 ? wrong_value : NULL;
}

static void variables_with_a_wrong_value_are_named(void **state)
{
	static const struct {
		const char *name, *value, *message;
	} v[] = {
		{ "WEFT_SESSION_DM_SCOPE", "per",
		  "session.dm_scope: expected one of main|" },
		{ "WEFT_SESSION_DIMENSIONS", "chat",
		  "session.dimensions: expected an array of strings, found "
		  "chat" },
		{ "WEFT_SESSION_DIMENSIONS", "[\"chat\"",
		  "session.dimensions: not JSON: " },
		{ "WEFT_SESSION_DIMENSIONS", "[\"chatt\"]",
		  "session.dimensions[1]: expected one of space|" },
		{ "WEFT_SESSION_IDENTITY_LINKS", "{\"a\":1}",
		  "session.identity_links.a: expected an array of strings, "
		  "found 1" },
		{ "WEFT_AGENTS_LIST", "[{}]",
		  "agents.list[1].id: expected a text, found nothing" },
		{ "WEFT_AGENTS_LIST", "{}",
		  "agents.list: expected an array, found an object" },
		{ "WEFT_AGENTS_STICKY", "1",
		  "agents.sticky: expected true or false, found 1" },
		{ "WEFT_AGENTS_STICKY", "yes",
		  "agents.sticky: expected true or false, found yes" },
		{ "WEFT_DISPATCH_RULES", "[{\"when\":7}]",
		  "dispatch.rules[1].when: expected an object, found 7" },
		{ "WEFT_LIFECYCLE_MAINTENANCE_HOUR", "25",
		  "lifecycle.maintenance_hour: expected a number from 0 to "
		  "23, found 25" },
		{ "WEFT_LIFECYCLE_MAINTENANCE_HOUR", "three",
		  "lifecycle.maintenance_hour: expected a number from 0 to "
		  "23, found three" },
		{ "WEFT_LIFECYCLE_RESET", "{\"mode\":\"idle\"}",
		  "lifecycle.reset.idle_minutes: expected a number from 1" },
		{ "WEFT_LIFECYCLE_RESET", "daily",
		  "lifecycle.reset: expected an object, found daily" },
		{ "WEFT_RETENTION_TRASH_DAYS", "-1",
		  "retention.trash_days: expected a number from 0" },
		{ "WEFT_STORE_URL", "a\tb",
		  "store.url has a control character (U+0009)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct weft_error err = { 0 };
		struct weft_str want = arena_printf(&arena, "$%s: %s",
						    v[i].name, v[i].message);
		struct config c;

		wrong_name = v[i].name;
		wrong_value = v[i].value;
		assert_int_equal(read_text("{}", env_wrong, &c, &err),
				 WEFT_INVALID);
		if (strncmp(err.message, want.ptr, want.len) != 0)
			fail_msg("expected '%s', found '%s'", want.ptr,
				 err.message);
	}
}

static void variables_override_the_file(void **state)
{
	const struct config_agent *agents;
	struct weft_error err = { 0 };
	struct config c;

	(void)state;
	assert_int_equal(read_text("{\"session\":{\"dimensions\":[\"chat\"]},"
				   "\"agents\":{\"list\":[{\"id\":\"f\"}]},"
				   "\"store\":{\"url\":\"memory:\"},"
				   "\"lifecycle\":{\"suspend_minutes\":9,"
				   "\"maintenance_hour\":2}}",
				   env_good, &c, &err),
			 WEFT_OK);
	assert_int_equal(c.session.dm_scope, DM_SCOPE_PER_PEER);
	assert_false(c.session.dimensions.given);
	expect_str("jsonl:\"odd\"", c.store_url);
	assert_int_equal(c.lifecycle.suspend_minutes, 7);
	assert_int_equal(c.lifecycle.maintenance_hour, 2);
	agents = c.agents.v;
	assert_int_equal(c.agents.n, 1);
	expect_str("e", agents[0].id);
}

static void variables_that_override_nothing_are_told(void **state)
{
	struct config c;

	(void)state;
	read_ok("{}", &c);
	config_check_variable(&c, STR("WEFT_SESSION_DM_SCOPE"), &arena);
	config_check_variable(&c, STR("WEFT_STORE"), &arena);
	config_check_variable(&c, STR("WEFT_TEST_DATA"), &arena);
	config_check_variable(&c, STR("PATH"), &arena);
	assert_int_equal(c.warnings.n, 0);
	config_check_variable(&c, STR("WEFT_AGENTS_LISTS"), &arena);
	assert_int_equal(c.warnings.n, 1);
	expect_str("$WEFT_AGENTS_LISTS: agents has no such field; did you mean "
		   "WEFT_AGENTS_LIST?",
		   c.warnings.v[0]);
}

/* ---- writing ---- */

static struct weft_str written(const struct config *c)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_init(&b, 0);
	config_write(&b, c);
	return arena_str(&arena, buf_str(&b));
}

static void what_is_in_force_can_be_read_again(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"session\":{\"dm_scope\":\"per-agent\",\"identity_links\":{"
		"\"a\\\"b\":[\"x:1\"]}}}",
		"{\"session\":{\"dimensions\":[]},\"agents\":{\"list\":[{"
		"\"id\":\"a\",\"default\":false}],\"dispatch\":{\"rules\":[{"
		"\"agent\":\"a\",\"when\":{\"chat\":\"x\",\"mentioned\":true},"
		"\"session_dimensions\":[\"topic\"]}]}}}",
		"{\"lifecycle\":{\"reset_by_channel\":{\"x\":{\"mode\":"
		"\"idle\",\"idle_minutes\":7}},\"reset_by_type\":{\"thread\":{"
		"\"mode\":"
		"\"daily\"}}},\"retention\":{\"rules\":[{\"kind\":\"book\"}]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct config c, again;
		struct weft_str first;

		read_ok(texts[i], &c);
		first = written(&c);
		read_ok(first.ptr, &again);
		expect_str(first.ptr, written(&again));
		assert_int_equal(c.dimensions.n, again.dimensions.n);
		assert_int_equal(c.session.dm_scope, again.session.dm_scope);
		assert_int_equal(c.rules.n, again.rules.n);
		assert_int_equal(c.lifecycle.thread.mode,
				 again.lifecycle.thread.mode);
	}
}

/* docs/config.schema.json is what the reader's tables say. */
static void the_published_schema_is_the_table(void **state)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	const char *data = getenv("WEFT_TEST_DATA");
	char path[4096];
	char *text;
	size_t len;

	(void)state;
	buf_init(&b, 0);
	config_write_schema(&b);
	(void)snprintf(path, sizeof(path), "%s/../../docs/config.schema.json",
		       data ? data : "tests/data");
	assert_int_equal(fs_read_whole(fs_real(), path, MIB(1), &text, &len),
			 0);
	if (!str_eq((struct weft_str){ text, len }, buf_str(&b)))
		fail_msg("print it again: weft config schema "
			 ">docs/config.schema.json");
	mem_free(text);
}

/* Cut anywhere and changed anywhere: an error or a configuration. */
static void no_text_is_read_beyond_its_end(void **state)
{
	static const char text[] =
		"{\"session\":{\"dimensions\":[\"chat\"],\"identity_links\":{"
		"\"a\":[\"x:1\"]}},\"agents\":{\"list\":[{\"id\":\"a\"}]}}";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		for (int change = 0; change < 3; change++) {
			char *copy = mem_alloc(n + 1);
			struct config_input in = {
				.text = { copy, n },
			};
			struct config c;

			memcpy(copy, text, n);
			if (n && change)
				copy[n / (size_t)change] = "{\"["[change];
			arena_reset(&arena);
			(void)config_read(&c, &in, &arena, NULL);
			mem_free(copy);
		}
	}
}

static void without_memory_it_says_so(void **state)
{
	struct weft_error err = { 0 };
	struct config c;
	int64_t n = 0;
	int r;

	(void)state;
	do {
		arena_reset(&arena);
		mem_fault(n++, 1);
		r = read_text("{\"session\":{\"dimensions\":[\"chat\"],"
			      "\"identity_links\":{\"a\":[\"x:1\"]}},\"x\":1}",
			      NULL, &c, &err);
		mem_fault(-1, 0);
		if (r != WEFT_OK)
			assert_int_equal(r, WEFT_NO_MEMORY);
	} while (r != WEFT_OK && n < 1000);
	assert_int_equal(r, WEFT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_configured_is_the_defaults),
		TEST(every_section_is_read),
		TEST(rules_may_stand_where_picoclaw_has_them),
		TEST(every_mistake_names_line_field_and_what_was_expected),
		TEST(dm_scope_may_agree_with_dimensions),
		TEST(what_is_not_known_is_warned_about),
		TEST(what_surprises_people_is_warned_about),
		TEST(what_does_what_it_seems_to_is_not_warned_about),
		TEST(what_people_share_is_noted),
		TEST(lists_that_no_hand_wrote_are_read_in_time),
		TEST(warnings_have_an_end),
		TEST(variables_override_the_file),
		TEST(variables_with_a_wrong_value_are_named),
		TEST(variables_that_override_nothing_are_told),
		TEST(what_is_in_force_can_be_read_again),
		TEST(the_published_schema_is_the_table),
		TEST(no_text_is_read_beyond_its_end),
		TEST(without_memory_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

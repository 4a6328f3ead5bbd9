/* test-config-mistakes.c - what is said of mistakes in a configuration. */
#include "config-help.h"

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
	{ "{\"server\":{\n\"listen\":\"nonsense\"}}",
	  "file: line 2: server.listen: expected an address and a port like "
	  "\"127.0.0.1:8080\", found \"nonsense\"" },
	{ "{\"server\":{\"listen\":\"::1:80\"}}",
	  "file: line 1: server.listen: expected an address" },
	{ "{\"server\":{\"listen\":\"x:65536\"}}",
	  "file: line 1: server.listen: expected an address" },
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

/* ---- the environment ---- */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_mistake_names_line_field_and_what_was_expected),
		TEST(variables_with_a_wrong_value_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

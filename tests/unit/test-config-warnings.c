/* test-config-warnings.c - what is read, and will surprise people. */
#include "base/buf.h"
#include "config-help.h"

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
		       "\"session.backlog_limit\"; there are only dimensions|"
		       "identity_links|dm_scope|dm_scope_style|roles");
	expect_warning("{\"dispatch\":{\"rules\":[{\"agent\":\"a\",\"when\":{"
		       "\"chat\":\"a:b\","
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
	{ "{\"dispatch\":{\"rules\":[\n{\"when\":{\"channel\":\"x\"}}"
	  "]}}",
	  "file: line 2: dispatch.rules[1].agent: expected who answers, "
	  "found nothing; the default agent does" },
	{ "{\"dispatch\":{\"rules\":[{\"agent\":\"a\",\"when\":{"
	  "\"topic\":\"42\"}}]}}",
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
		"{\"version\":3,\"agents\":{\"defaults\":{\"x\":1}}}",
		"{\"dispatch\":{\"rules\":[{\"session_dimensions\":[\"chat\","
		"\"sender\"],\"when\":{\"channel\":\"x\"}}]}}",
		"{\"dispatch\":{\"rules\":[{\"agent\":\"a\",\"when\":{"
		"\"topic\":\"Topic:4\","
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_not_known_is_warned_about),
		TEST(what_surprises_people_is_warned_about),
		TEST(what_does_what_it_seems_to_is_not_warned_about),
		TEST(what_people_share_is_noted),
		TEST(warnings_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

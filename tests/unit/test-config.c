/* test-config.c - the configuration file: what is read, and written again. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "config-help.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_configured_is_the_defaults),
		TEST(every_section_is_read),
		TEST(rules_may_stand_where_picoclaw_has_them),
		TEST(dm_scope_may_agree_with_dimensions),
		TEST(lists_that_no_hand_wrote_are_read_in_time),
		TEST(variables_override_the_file),
		TEST(variables_that_override_nothing_are_told),
		TEST(what_is_in_force_can_be_read_again),
		TEST(the_published_schema_is_the_table),
		TEST(no_text_is_read_beyond_its_end),
		TEST(without_memory_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

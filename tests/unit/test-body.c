/* test-body.c - the bodies of events: their exact form, and what a caller may
 * set. */
#include "model.h"

#include "base/buf.h"
#include "base/mem.h"
#include "model/body.h"
#include "model/message.h"

#define ID_A "01JCQ5Z8G0ABCDEFGHJKMNPQRA"
#define ID_B "01JCQ5Z8G0ABCDEFGHJKMNPQRB"
#define ID_C "01JCQ5Z8G0ABCDEFGHJKMNPQRC"
#define ID_D "01JCQ5Z8G0ABCDEFGHJKMNPQRD"
#define ID_E "01JCQ5Z8G0ABCDEFGHJKMNPQRE"

struct lab {
	struct arena a;
	struct buf b;
	struct store_limits limits;
	struct session_rec rec;
	struct weft_error err;
};

static int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	arena_init(&lab->a, 0);
	buf_init(&lab->b, MIB(1));
	lab->limits = default_limits;
	lab->rec.id = test_id(ID_A);
	lab->rec.kind = KIND_PRIMARY;
	*state = lab;
	return 0;
}

static int tear_down(void **state)
{
	struct lab *lab = *state;

	arena_done(&lab->a);
	buf_done(&lab->b);
	test_free(lab);
	return 0;
}

static void expect_body(struct lab *lab, const char *expected)
{
	assert_int_equal(lab->b.error, 0);
	expect_str(buf_str(&lab->b), expected);
	buf_reset(&lab->b);
}

/* ---- written ---- */

static void a_session_begins_with_what_is_not_empty(void **state)
{
	struct lab *lab = *state;
	struct session_rec *rec = &lab->rec;

	body_session(&lab->b, rec, 7);
	expect_body(lab, "\"kind\":\"primary\"");

	rec->root = rec->id;
	rec->kind = KIND_BOOK;
	rec->key = STR("k\"1\n");
	body_session(&lab->b, rec, 7);
	expect_body(lab, "\"kind\":\"book\",\"key\":\"k\\\"1\\n\","
			 "\"key_ver\":7");
}

static void a_session_begins_with_all_of_this(void **state)
{
	struct lab *lab = *state;
	struct session_rec rec = {
		.id = test_id(ID_A),
		.kind = KIND_SUBAGENT,
		.parent = test_id(ID_B),
		.forked_from = test_id(ID_C),
		.root = test_id(ID_D),
		.previous = test_id(ID_E),
		.fork_seq = 12,
		.key = STR("k"),
		.op = STR("in the head"),
		.parent_tool_use_id = STR("t"),
		.agent = STR("a"),
		.slug = STR("s"),
		.project_dir = STR("/p"),
		.model_name = STR("m"),
		.user = STR("u"),
		.channel = STR("c"),
		.user_role = STR("r"),
		.scope = STR("{ \"version\":1}"),
		.tools = STR("[\n]"),
		.metadata = STR("{\"a\":1.0}"),
		.window_seq = 5,
		.inherited_count = 9,
		.expires_at = TEST_TIME,
	};

	body_session(&lab->b, &rec, 1);
	expect_body(
		lab,
		"\"kind\":\"subagent\",\"key\":\"k\",\"key_ver\":1,"
		"\"parent\":\"" ID_B "\",\"forked_from\":\"" ID_C
		"\",\"fork_seq\":12,\"root\":\"" ID_D "\",\"previous\":\"" ID_E
		"\",\"parent_tool_use_id\":\"t\",\"agent\":\"a\",\"slug\":"
		"\"s\","
		"\"project_dir\":\"/p\",\"model\":{\"provider\":\"\",\"name\":"
		"\"m\"},\"user\":\"u\",\"channel\":\"c\",\"user_role\":\"r\","
		"\"scope\":{ \"version\":1},\"tools\":[],\"metadata\":"
		"{\"a\":1.0},\"inherited_count\":9,\"window_seq\":5,"
		"\"expires_at\":\"2026-11-15T10:00:00.000Z\"");
}

static void names_have_their_kind_and_version(void **state)
{
	struct lab *lab = *state;
	const struct name_rec names[] = {
		{ .name = STR_INIT("k"), .kind = NAME_KEY, .ver = 3 },
		{ .name = STR_INIT("a\\b"), .kind = NAME_ALIAS, .ver = 1 },
	};

	body_name(&lab->b, &names[0], false);
	expect_body(lab, "\"name\":\"k\",\"kind\":\"key\",\"ver\":3");
	body_name(&lab->b, &names[1], true);
	expect_body(lab, "\"name\":\"a\\\\b\",\"kind\":\"alias\",\"ver\":1,"
			 "\"gone\":true");
	body_names(&lab->b, names, 2);
	expect_body(lab,
		    "\"names\":[{\"name\":\"k\",\"kind\":\"key\",\"ver\":3}"
		    ",{\"name\":\"a\\\\b\",\"kind\":\"alias\",\"ver\":1}]");
	body_names(&lab->b, NULL, 0);
	expect_body(lab, "\"names\":[]");
}

static void redactions_say_what_they_hide(void **state)
{
	struct lab *lab = *state;
	struct redact r = { .target = 9,
			    .hidden = true,
			    .role = ROLE_USER,
			    .own = true,
			    .starts_turn = true };

	body_redact(&lab->b, &r);
	expect_body(lab, "\"target\":9,\"hidden\":true,\"role\":\"user\","
			 "\"own\":true,\"turn\":true");
	r = (struct redact){ .target = 1 };
	body_redact(&lab->b, &r);
	expect_body(lab, "\"target\":1,\"hidden\":false,\"own\":false,"
			 "\"turn\":false");
}

static void spending_is_written_in_nano_dollars(void **state)
{
	struct lab *lab = *state;
	const struct totals t = { 1, 2, 3, 4, INT64_MAX, 6 };

	body_usage(&lab->b, &t);
	expect_body(lab, "\"spent\":{\"input_tokens\":1,\"output_tokens\":2,"
			 "\"cache_read_tokens\":3,\"cache_write_tokens\":4,"
			 "\"cost_nano\":9223372036854775807,\"unpriced\":6}");
}

static void a_body_may_follow_something_in_the_buffer(void **state)
{
	struct lab *lab = *state;

	buf_add_lit(&lab->b, "x");
	body_session(&lab->b, &lab->rec, 0);
	expect_body(lab, "x\"kind\":\"primary\"");
}

/* ---- patches ---- */

static int patch(struct lab *lab, const char *json)
{
	buf_reset(&lab->b);
	return body_patch(str_of(json), &lab->rec, &lab->limits, &lab->b,
			  &lab->a, &lab->err);
}

static void expect_patch(struct lab *lab, const char *json,
			 const char *expected)
{
	int r = patch(lab, json);

	if (r != WEFT_OK)
		print_message("# %s\n# refused: %s\n", json, lab->err.message);
	assert_int_equal(r, WEFT_OK);
	expect_body(lab, expected);
}

static void refuse_patch(struct lab *lab, const char *json, int code,
			 const char *message)
{
	int r = patch(lab, json);

	if (r != code)
		print_message("# %s\n", json);
	assert_int_equal(r, code);
	expect_message(&lab->err, message);
}

static void a_patch_has_only_what_changes(void **state)
{
	struct lab *lab = *state;

	lab->rec.slug = STR("old");
	lab->rec.metadata = STR("{\"a\":1}");
	lab->rec.pinned = 1;
	lab->rec.expires_at = TEST_TIME;
	lab->rec.model_provider = STR("p");
	lab->rec.model_name = STR("n");
	expect_patch(lab, "{}", "");
	expect_patch(lab,
		     "{\"slug\":\"o\\u006cd\",\"agent\":\"\",\"user\":null,"
		     "\"metadata\":{\"a\":1},\"pinned\":true,\"tools\":null,"
		     "\"expires_at\":\"2026-11-15T11:00:00+01:00\",\"model\":"
		     "{\"name\":\"n\",\"provider\":\"p\"}}",
		     "");
	lab->rec.tools = STR("[1,2]");
	expect_patch(lab, "{\"tools\":[1,\n 2]}", "");
	lab->rec.tools = STR("");
	expect_patch(lab,
		     "{\"sl\\u0075g\":\"n\\u0065w\", \"agent\":\"a\",\"user\":"
		     "\"u\",\"channel\":\"c\",\"user_role\":\"r\","
		     "\"project_dir\":\"/p\"}",
		     "\"slug\":\"n\\u0065w\",\"agent\":\"a\",\"user\":\"u\","
		     "\"channel\":\"c\",\"user_role\":\"r\","
		     "\"project_dir\":\"/p\"");
	expect_patch(lab,
		     "{\"metadata\":{ \"a\":1.0},\"tools\":[1,\n2],\"pinned\":"
		     "false,\"expires_at\":\"2026-11-15T10:00:00.001Z\","
		     "\"model\":{\"name\":\"n\"}}",
		     "\"metadata\":{ \"a\":1.0},\"tools\":[1,2],\"pinned\":"
		     "false,\"expires_at\":\"2026-11-15T10:00:00.001Z\","
		     "\"model\":{\"provider\":\"\",\"name\":\"n\"}");
}

static void a_patch_can_clear(void **state)
{
	struct lab *lab = *state;

	expect_patch(lab,
		     "{\"metadata\":{},\"tools\":null,\"model\":null,"
		     "\"expires_at\":null,\"slug\":null}",
		     "");
	lab->rec.slug = STR("old");
	lab->rec.metadata = STR("{\"a\":1}");
	lab->rec.tools = STR("[]");
	lab->rec.expires_at = TEST_TIME;
	lab->rec.model_name = STR("n");
	expect_patch(lab,
		     "{\"metadata\":{ },\"tools\":null,\"model\":null,"
		     "\"expires_at\":null,\"slug\":\"\"}",
		     "\"metadata\":null,\"tools\":null,\"model\":{\"provider\":"
		     "\"\",\"name\":\"\"},\"expires_at\":null,\"slug\":\"\"");
	expect_patch(lab, "{\"metadata\":null,\"slug\":null}",
		     "\"metadata\":null,\"slug\":null");
}

static void bad_patches_are_refused_by_name(void **state)
{
	static const struct {
		const char *json;
		int code;
		const char *message;
	} cases[] = {
		{ "", WEFT_INVALID, "not JSON" },
		{ "[]", WEFT_INVALID, "expected an object of changes" },
		{ "{\"slug\":\"a\",\"slug\":\"b\"}", WEFT_INVALID, "\"slug\"" },
		{ "{\"slug\":\"\\ud800\"}", WEFT_INVALID, "not JSON" },
		{ "{\"slug\":7}", WEFT_INVALID,
		  "slug: expected a string, found number" },
		{ "{\"slug\":\"a\\nb\"}", WEFT_INVALID,
		  "slug has a control character" },
		{ "{\"agent\":\"a\\u0000\"}", WEFT_INVALID,
		  "agent has a control character" },
		{ "{\"project_dir\":[]}", WEFT_INVALID,
		  "project_dir: expected a string" },
		{ "{\"user\":true}", WEFT_INVALID, "user: expected a string" },
		{ "{\"channel\":1}", WEFT_INVALID, "channel: expected" },
		{ "{\"user_role\":1}", WEFT_INVALID, "user_role: expected" },
		{ "{\"metadata\":[]}", WEFT_INVALID,
		  "metadata: expected an object, found array" },
		{ "{\"tools\":{}}", WEFT_INVALID,
		  "tools: expected an array or null, found object" },
		{ "{\"pinned\":1}", WEFT_INVALID,
		  "pinned: expected true or false, found number" },
		{ "{\"pinned\":null}", WEFT_INVALID, "pinned: expected" },
		{ "{\"expires_at\":\"soon\"}", WEFT_INVALID,
		  "expires_at: expected a time" },
		{ "{\"expires_at\":7}", WEFT_INVALID, "expires_at: expected" },
		{ "{\"expires_at\":\"1970-01-01T00:00:00Z\"}", WEFT_INVALID,
		  "expires_at: expected" },
		{ "{\"model\":\"m\"}", WEFT_INVALID,
		  "model: expected an object or null, found string" },
		{ "{\"model\":{\"name\":1}}", WEFT_INVALID,
		  "model.name: expected a string" },
		{ "{\"model\":{\"provider\":\"a\\tb\"}}", WEFT_INVALID,
		  "model.provider has a control character" },
		{ "{\"id\":\"x\"}", WEFT_INVALID,
		  "id: no field that can be changed; these can: slug, agent, "
		  "model, project_dir, user, channel, user_role, metadata, "
		  "tools, pinned, expires_at" },
		{ "{\"key\":\"x\"}", WEFT_INVALID, "key: no field" },
		{ "{\"scope\":{}}", WEFT_INVALID, "scope: no field" },
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refuse_patch(lab, cases[i].json, cases[i].code,
			     cases[i].message);
}

static void patches_have_limits(void **state)
{
	struct lab *lab = *state;

	lab->limits.slug_bytes = 3;
	lab->limits.name_bytes = 4;
	lab->limits.metadata_bytes = 7;
	lab->limits.json_depth = 3;
	expect_patch(lab, "{\"slug\":\"abc\"}", "\"slug\":\"abc\"");
	refuse_patch(lab, "{\"slug\":\"abcd\"}", WEFT_LIMIT, "slug has");
	expect_patch(lab, "{\"user\":\"abcd\"}", "\"user\":\"abcd\"");
	refuse_patch(lab, "{\"user\":\"abcde\"}", WEFT_LIMIT, "user has");
	expect_patch(lab, "{\"project_dir\":\"abcde\"}",
		     "\"project_dir\":\"abcde\"");
	refuse_patch(lab, "{\"model\":{\"name\":\"abcde\"}}", WEFT_LIMIT,
		     "model.name has");
	expect_patch(lab, "{\"metadata\":{\"a\":1}}", "\"metadata\":{\"a\":1}");
	refuse_patch(
		lab, "{\"metadata\":{\"a\":12}}", WEFT_LIMIT,
		"metadata has 8 bytes, the limit is 7 (limit metadata_bytes)");
	refuse_patch(lab, "{\"tools\":[1,2,3,4]}", WEFT_LIMIT, "tools has");
	expect_patch(lab, "{\"tools\":[[]]}", "\"tools\":[[]]");
	refuse_patch(lab, "{\"tools\":[[[]]]}", WEFT_LIMIT, "levels deep");
}

static void a_path_may_be_as_long_as_the_system_takes(void **state)
{
	struct lab *lab = *state;
	char *path = test_malloc(4098);

	memset(path, 'p', 4097);
	path[4097] = '\0';
	refuse_patch(
		lab,
		arena_printf(&lab->a, "{\"project_dir\":\"%s\"}", path).ptr,
		WEFT_LIMIT, "project_dir has");
	path[4096] = '\0';
	assert_int_equal(
		patch(lab,
		      arena_printf(&lab->a, "{\"project_dir\":\"%s\"}", path)
			      .ptr),
		WEFT_OK);
	test_free(path);
}

static void want_of_memory_is_told(void **state)
{
	struct lab *lab = *state;
	int r = WEFT_NO_MEMORY;

	for (int n = 0; r != WEFT_OK; n++) {
		arena_done(&lab->a);
		buf_done(&lab->b);
		mem_fault(n, 0);
		r = patch(lab, "{\"slug\":\"a\",\"metadata\":{\"a\":1}}");
		mem_fault(-1, 0);
		assert_true(r == WEFT_OK || r == WEFT_NO_MEMORY);
		assert_true(n < 50);
	}
	expect_body(lab, "\"slug\":\"a\",\"metadata\":{\"a\":1}");
}

/* ---- what a session may begin with ---- */

static void the_beginning_of_a_session_is_checked(void **state)
{
	struct lab *lab = *state;
	struct session_rec *rec = &lab->rec;
	const struct {
		struct weft_str *field;
		const char *text;
		int code;
		const char *message;
	} cases[] = {
		{ &rec->key, "a\nb", WEFT_INVALID, "key has" },
		{ &rec->key, "abcde", WEFT_LIMIT, "key has 5 bytes" },
		{ &rec->op, "abcd", WEFT_LIMIT, "op has" },
		{ &rec->parent_tool_use_id, "\xff", WEFT_INVALID,
		  "parent_tool_use_id is not UTF-8" },
		{ &rec->model_provider, "abcde", WEFT_LIMIT, "model.provider" },
		{ &rec->model_name, "a\tb", WEFT_INVALID, "model.name" },
		{ &rec->slug, "abcdef", WEFT_LIMIT, "slug has" },
		{ &rec->agent, "abcde", WEFT_LIMIT, "agent has" },
		{ &rec->user_role, "a\x7f", WEFT_INVALID, "user_role has" },
		{ &rec->metadata, "{", WEFT_INVALID, "metadata: not JSON" },
		{ &rec->metadata, "[]", WEFT_INVALID,
		  "metadata: expected an object, found array" },
		{ &rec->metadata, "{\"a\":1}   ", WEFT_LIMIT, "metadata: " },
		{ &rec->tools, "{}", WEFT_INVALID, "tools: expected an array" },
		{ &rec->scope, "7", WEFT_INVALID, "scope: expected an object" },
	};

	lab->limits.name_bytes = 4;
	lab->limits.op_bytes = 3;
	lab->limits.slug_bytes = 5;
	lab->limits.metadata_bytes = 9;
	rec->key = STR("abcd");
	rec->op = STR("abc");
	rec->slug = STR("abcde");
	rec->metadata = STR("{\"a\":1}");
	rec->tools = STR("[]");
	rec->scope = STR("{}");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct weft_str good = *cases[i].field;

		assert_int_equal(
			body_session_check(rec, &lab->limits, &lab->err),
			WEFT_OK);
		*cases[i].field = str_of(cases[i].text);
		assert_int_equal(
			body_session_check(rec, &lab->limits, &lab->err),
			cases[i].code);
		expect_message(&lab->err, cases[i].message);
		*cases[i].field = good;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_begins_with_what_is_not_empty),
		TEST(a_session_begins_with_all_of_this),
		TEST(names_have_their_kind_and_version),
		TEST(redactions_say_what_they_hide),
		TEST(spending_is_written_in_nano_dollars),
		TEST(a_body_may_follow_something_in_the_buffer),
		TEST(a_patch_has_only_what_changes),
		TEST(a_patch_can_clear),
		TEST(bad_patches_are_refused_by_name),
		TEST(patches_have_limits),
		TEST(a_path_may_be_as_long_as_the_system_takes),
		TEST(want_of_memory_is_told),
		TEST(the_beginning_of_a_session_is_checked),
	};

	return cmocka_run_group_tests_name("body", tests, NULL, NULL);
}

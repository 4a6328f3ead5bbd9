/* test-message.c - what is taken as a message, and what is kept of it. */
#include "message-lab.h"

#include "base/json.h"
#include "base/mem.h"
#include "model/usage.h"

/* ---- limits, from both sides ---- */

static void a_message_may_be_just_as_long_as_the_limit(void **state)
{
	struct lab *lab = *state;
	const char *json = "{" USER "}";

	lab->limits.message_bytes = strlen(json);
	take(lab, json);
	lab->limits.message_bytes--;
	refuse(lab, json, WEFT_LIMIT, "message has");
}

static void parts_are_counted(void **state)
{
	struct lab *lab = *state;
	const char *three = PART(TEXT "," TEXT "," TEXT);
	const char *inside = PART(
		"{\"type\":\"tool_result\",\"tool_use_id\":\"i\",\"content\":"
		"[" TEXT "," TEXT "," TEXT "]}");

	lab->limits.parts = 3;
	take(lab, three);
	take(lab, inside);
	lab->limits.parts = 2;
	refuse(lab, three, WEFT_LIMIT,
	       "parts has 3 parts, the limit is 2 (limit parts)");
	refuse(lab, inside, WEFT_LIMIT, "parts[0].content has 3 parts");
}

static void short_text_is_measured_in_bytes(void **state)
{
	struct lab *lab = *state;

	lab->limits.op_bytes = 4;
	lab->limits.name_bytes = 4;
	take(lab, "{" USER ",\"op\":\"ab\xc3\xa9\"}");
	expect_str(lab->m.op, "ab\xc3\xa9");
	refuse(lab, "{" USER ",\"op\":\"abc\xc3\xa9\"}", WEFT_LIMIT, "op has");
	take(lab, "{" USER ",\"session\":\"abcd\"}");
	refuse(lab, "{" USER ",\"session\":\"abcde\"}", WEFT_LIMIT, "session");
	take(lab, "{" USER ",\"from\":{\"id\":\"abcd\",\"name\":\"abcd\"}}");
	refuse(lab, "{" USER ",\"from\":{\"name\":\"abcde\"}}", WEFT_LIMIT,
	       "from.name");
	take(lab, "{" USER ",\"model\":{\"provider\":\"abcd\"}}");
	refuse(lab, "{" USER ",\"model\":{\"provider\":\"abcde\"}}", WEFT_LIMIT,
	       "model.provider");
	take(lab, "{" USER ",\"bound\":{\"provider\":\"abcd\",\"data\":null}}");
	refuse(lab, "{" USER ",\"bound\":{\"provider\":\"abcde\",\"data\":1}}",
	       WEFT_LIMIT, "bound.provider");
}

/* A message with `member` nested so deep that all of it is `depth` deep. */
static const char *nested(struct lab *lab, const char *member, size_t depth)
{
	char deep[300];

	memset(deep, '[', depth - 1);
	memset(deep + depth - 1, ']', depth - 1);
	return arena_printf(&lab->a, "{" USER ",\"%s\":%.*s}", member,
			    (int)(2 * (depth - 1)), deep)
		.ptr;
}

static void depth_is_limited(void **state)
{
	struct lab *lab = *state;
	const char *call = PART("{\"type\":\"tool_use\",\"id\":\"i\",\"name\":"
				"\"n\",\"input\":[[1]]}");
	char brackets[JSON_DEPTH_MAX + 2];

	lab->limits.json_depth = 5;
	take(lab, call);
	take(lab, nested(lab, "y", 5));
	lab->limits.json_depth = 4;
	refuse(lab, call, WEFT_LIMIT, "more than 4 levels deep");
	refuse(lab, nested(lab, "y", 5), WEFT_LIMIT, "levels deep");

	/* What goes into "x" gets one level deeper, and a line with it must
	 * still be readable when it was edited. */
	lab->limits.json_depth = 1000;
	take(lab, nested(lab, "y", JSON_DEPTH_MAX - 1));
	refuse(lab, nested(lab, "y", JSON_DEPTH_MAX), WEFT_LIMIT, "y: more");
	refuse(lab, nested(lab, "y", JSON_DEPTH_MAX + 1), WEFT_LIMIT, "deep");
	/* What looks like depth inside a string is none. */
	memset(brackets, '[', sizeof(brackets) - 1);
	brackets[sizeof(brackets) - 1] = '\0';
	take(lab, arena_printf(&lab->a, "{" USER ",\"y\":\"\\\"%s\"}", brackets)
			  .ptr);
	take(lab, "{" USER ",\"y\":\"[[\\\"{\",\"z\":{\"a\":[\"}\"]}}");
}

/* ---- taken ---- */

static void a_message_becomes_this_body(void **state)
{
	static const struct {
		const char *json, *body;
	} cases[] = {
		{ "{\"role\":\"user\",\"content\":\"hi\"}",
		  "\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":"
		  "\"hi\"}]" },
		{ "{\"content\":\"\",\"role\":\"system\"}",
		  "\"role\":\"system\",\"parts\":[{\"type\":\"text\",\"text\":"
		  "\"\"}]" },
		{ "{\"role\":\"user\",\"content\":[" TEXT "]}",
		  "\"role\":\"user\",\"parts\":[" TEXT "]" },
		{ "{" USER ",\"parts\\u0000\":1}",
		  USER ",\"x\":{\"parts\\u0000\":1}" },
		{ "{\"r\\u006fle\":\"\\u0075ser\"," PARTS "}", USER },
		{ "{\"bound\":{\"provider\":\"p\",\"data\":[1e999, 2]},"
		  "\"duration_ms\":12,\"usage\":{\"cost_usd\":0.10,\"more\":[]}"
		  ","
		  "\"model\":{\"name\":\"m\",\"provider\":\"p\"},"
		  "\"from\":{\"name\":\"n\",\"id\":\"i\",\"age\":7}," PARTS
		  ",\"role\":\"assistant\"}",
		  "\"role\":\"assistant\"," PARTS ",\"from\":{\"name\":\"n\","
		  "\"id\":\"i\",\"age\":7},\"model\":{\"name\":\"m\","
		  "\"provider\":\"p\"},\"usage\":{\"cost_usd\":0.10,\"more\":[]"
		  "},"
		  "\"duration_ms\":12,\"bound\":{\"provider\":\"p\",\"data\":"
		  "[1e999, 2]}" },
		{ "{" USER ",\"from\":null,\"model\":null,\"usage\":null,"
		  "\"duration_ms\":null,\"bound\":null,\"op\":null,\"at\":null,"
		  "\"expect\":null,\"background\":null,\"session\":null,"
		  "\"content\":null}",
		  USER },
		{ "{\"a\":1," USER ",\"b\\n\":{ \"c\" :2},\"d\":null}",
		  USER ",\"x\":{\"a\":1,\"b\\n\":{ \"c\" :2},\"d\":null}" },
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_str(take(lab, cases[i].json)->body, cases[i].body);
}

static void bytes_are_kept_unless_they_span_lines(void **state)
{
	static const char parts[] =
		"\"parts\":[ {\"type\":\"text\", \"text\":\"\xe2\x80\xa8 "
		"\\u2028 "
		"\\/ \xf0\x9f\x98\x80 \\ud83d\\ude00 \\u0000\"},\t{\"type\":"
		"\"tool_use\",\"id\":\"i\",\"name\":\"n\",\"input\":{\"n\":"
		"123456789012345678901234567890.10e-5, \"z\":-0}} ]";
	struct lab *lab = *state;
	struct weft_str json = arena_printf(
		&lab->a, "{\"role\":\"user\",%s,\"y\":1.0E+2}", parts);

	take(lab, json.ptr);
	expect_str(lab->m.body, arena_printf(&lab->a,
					     "\"role\":\"user\",%s,"
					     "\"x\":{\"y\":1.0E+2}",
					     parts)
					.ptr);

	/* Line ends between tokens go, those in strings cannot be there. */
	take(lab, "{\r\n  \"role\": \"user\",\r\n  \"parts\": [\n    {\n"
		  "\"type\": \"text\",\r\"text\": \"a  b\" }\n ],\n"
		  "\"y\":\n[1,\n 2 ]\n}\r\n");
	expect_str(lab->m.body,
		   "\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":"
		   "\"a  b\"}],\"x\":{\"y\":[1,2]}");
}

static void every_kind_of_part_is_taken(void **state)
{
	struct lab *lab = *state;
	const char *json = PART(
		"{\"type\":\"text\",\"text\":\"\",\"cache\":{\"a\":1}},"
		"{\"type\":\"thinking\",\"text\":\"hm\",\"signature\":\"s\"},"
		"{\"type\":\"thinking\",\"text\":\"\",\"signature\":null},"
		"{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\","
		"\"input\":null},"
		"{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\","
		"\"input_text\":\"{\",\"input\":null},"
		"{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\","
		"\"input\":[],\"input_text\":null},"
		"{\"type\":\"tool_result\",\"tool_use_id\":\"i\",\"content\":"
		"\"\",\"is_error\":true},"
		"{\"type\":\"tool_result\",\"tool_use_id\":\"i\",\"content\":[]"
		","
		"\"is_error\":null},"
		"{\"type\":\"tool_result\",\"tool_use_id\":\"i\",\"content\":"
		"[{\"type\":\"image\",\"image_mime_type\":\"a/b\","
		"\"image_base64\":\"QQ==\"}," TEXT "]},"
		"{\"type\":\"opaque\",\"format\":\"f\",\"data\":null}");

	take(lab, json);
	expect_in(lab->m.body, "\"cache\":{\"a\":1}");
}

static void options_are_read(void **state)
{
	struct lab *lab = *state;

	take(lab, "{" USER ",\"op\":\"o\\u0070\",\"expect\":0,\"at\":"
		  "\"2026-11-15T11:00:00.0009+01:00\",\"background\":true,"
		  "\"session\":\"s\\\"1\"}");
	expect_str(lab->m.body, USER);
	expect_str(lab->m.op, "op");
	expect_str(lab->m.session, "s\"1");
	assert_int_equal(lab->m.at_ms, TEST_TIME);
	assert_int_equal(lab->m.background, 1);
	assert_int_equal(lab->m.has_expect, 1);
	assert_int_equal(lab->m.expect, 0);

	take(lab, "{" USER ",\"expect\":9007199254740991,"
		  "\"background\":false}");
	assert_int_equal(lab->m.expect, INT64_C(9007199254740991));
	assert_int_equal(lab->m.background, 0);

	take(lab, "{" USER "}");
	assert_int_equal(lab->m.has_expect, 0);
	assert_int_equal(lab->m.op.len, 0);
	assert_int_equal(lab->m.session.len, 0);
	assert_int_equal(lab->m.at_ms, 0);
}

/* ---- facts ---- */

static void a_turn_starts_with_more_than_results(void **state)
{
	struct lab *lab = *state;

#define RESULT \
	"{\"type\":\"tool_result\",\"tool_use_id\":\"i\",\"content\":\"\"}"
	assert_int_equal(take(lab, "{" USER "}")->facts.starts_turn, 1);
	assert_int_equal(take(lab, "{\"role\":\"user\",\"content\":\"\"}")
				 ->facts.starts_turn,
			 1);
	assert_int_equal(take(lab, PART(RESULT))->facts.starts_turn, 0);
	assert_int_equal(take(lab, PART(RESULT "," RESULT))->facts.starts_turn,
			 0);
	assert_int_equal(take(lab, PART(RESULT "," TEXT))->facts.starts_turn,
			 1);
	assert_int_equal(take(lab, "{\"role\":\"assistant\"," PARTS "}")
				 ->facts.starts_turn,
			 0);
	assert_int_equal(lab->m.facts.role, ROLE_ASSISTANT);
	assert_int_equal(
		take(lab, "{\"role\":\"tool\"," PARTS "}")->facts.starts_turn,
		0);
	assert_int_equal(lab->m.facts.role, ROLE_TOOL);
#undef RESULT
}

static void the_first_text_that_is_not_empty_is_the_preview(void **state)
{
	struct lab *lab = *state;
	char long_text[2000] = "";

	take(lab, PART("{\"type\":\"thinking\",\"text\":\"no\"}," TEXT
		       ",{\"type\":\"text\",\"text\":\"\\u00e9\\n\"},"
		       "{\"type\":\"text\",\"text\":\"later\"}"));
	expect_str(lab->m.facts.text, "\xc3\xa9\n");
	take(lab, PART(TEXT));
	expect_str(lab->m.facts.text, "");
	take(lab, "{\"role\":\"user\",\"content\":\"whole\"}");
	expect_str(lab->m.facts.text, "whole");

	/* 300 characters of three bytes, the last of those kept with a mark. */
	for (size_t i = 0; i < 300; i++) {
		size_t at = strlen(long_text);

		(void)snprintf(long_text + at, sizeof(long_text) - at, "%s",
			       i == 255 ? "e\xcc\x81" : "\xe2\x82\xac");
	}
	take(lab,
	     arena_printf(&lab->a, "{\"role\":\"user\",\"content\":\"%s\"}",
			  long_text)
		     .ptr);
	assert_int_equal(lab->m.facts.text.len, 255 * 3 + 3);
}

static void usage_is_read(void **state)
{
	struct lab *lab = *state;
	const struct totals *t = &lab->m.facts.usage;

	take(lab, "{\"role\":\"tool\"," PARTS
		  ",\"usage\":{\"input_tokens\":1,\"output_tokens\":2,"
		  "\"cache_read_tokens\":3,\"cache_write_tokens\":"
		  "9007199254740991,\"cost_usd\":1.5,\"other\":{\"a\":[]}}}");
	assert_int_equal(lab->m.facts.has_usage, 1);
	assert_int_equal(t->input_tokens, 1);
	assert_int_equal(t->output_tokens, 2);
	assert_int_equal(t->cache_read_tokens, 3);
	assert_int_equal(t->cache_write_tokens, INT64_C(9007199254740991));
	assert_int_equal(t->cost_nano, 1500000000);
	assert_int_equal(t->unpriced, 0);

	take(lab, "{" USER ",\"usage\":{\"cost_usd\":null,"
		  "\"input_tokens\":null}}");
	assert_int_equal(lab->m.facts.has_usage, 1);
	assert_int_equal(t->cost_nano, 0);
	assert_int_equal(t->unpriced, 1);
	take(lab, "{" USER ",\"usage\":{}}");
	assert_int_equal(t->unpriced, 1);
	take(lab, "{" USER ",\"usage\":{\"c\\u006fst_usd\":0}}");
	assert_int_equal(t->unpriced, 0);
	take(lab, "{" USER "}");
	assert_int_equal(lab->m.facts.has_usage, 0);
	assert_int_equal(t->unpriced, 0);
}

static void money_is_exact(void **state)
{
	static const struct {
		const char *usd;
		uint64_t nano;
	} good[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "-0.000e5", 0 },
		{ "0.1", 100000000 },
		{ "0.2", 200000000 },
		{ "0.3", 300000000 },
		{ "1", 1000000000 },
		{ "12.345678901", 12345678901 },
		{ "0.000000001", 1 },
		{ "1e-9", 1 },
		{ "1E-9", 1 },
		{ "10e-10", 1 },
		{ "0.0000000005", 1 },
		{ "5e-10", 1 },
		{ "0.00000000049999999999999999999999999999", 0 },
		{ "0.0000000014999999999999999999999", 1 },
		{ "0.0000000015", 2 },
		{ "4e-10", 0 },
		{ "9e-11", 0 },
		{ "1e-400", 0 },
		{ "1e-99999999999999999999999", 0 },
		{ "0e99999999999999999999999", 0 },
		{ "1e+3", 1000000000000 },
		{ "0.00001e5", 1000000000 },
		{ "100000e-5", 1000000000 },
		{ "0000001", 1000000000 },
		{ "9223372036.854775807", INT64_MAX },
		{ "9223372036.8547758074", INT64_MAX },
		{ "9223372036854775807e-9", INT64_MAX },
		{ "92233720368547758070000e-13", INT64_MAX },
	};
	static const char *const bad[] = {
		"-1",
		"-0.1",
		"-1e-400",
		"9223372036.854775808",
		"9223372036.8547758075",
		"99999999999",
		"18446744073.709551616",
		"18446744073.709551617",
		"1e400",
		"1e99999999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		uint64_t nano = 77;

		assert_true(money_parse(str_of(good[i].usd), &nano));
		assert_int_equal(nano, good[i].nano);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint64_t nano;

		assert_false(money_parse(str_of(bad[i]), &nano));
	}
}

static void facts_of_an_edited_body_are_what_can_be_read(void **state)
{
	static const char *const bodies[] = {
		"",
		"\"role\":7,\"parts\":9,\"usage\":[]",
		"\"role\":\"robot\",\"parts\":{\"type\":\"text\"}",
		"\"parts\":[7,null,{\"type\":[]}]",
		"\"parts\":[{\"type\":\"text\",\"text\":1}]",
		"\"usage\":{\"input_tokens\":\"many\"}",
		/* As many elements as a name of a role has letters. */
		"\"role\":[1,2,3,4],\"parts\":[1,2,3,4]",
		"\"parts\":[{\"type\":\"text\",\"text\":[1,2,3,4]}]",
	};
	struct lab *lab = *state;
	struct message_facts facts;

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		assert_int_equal(message_facts_read(str_of(bodies[i]), &lab->a,
						    &facts, &lab->err),
				 WEFT_OK);
		assert_int_equal(facts.role, 0);
		assert_int_equal(facts.starts_turn, 0);
		assert_int_equal(facts.has_usage, 0);
		assert_int_equal(facts.text.len, 0);
	}
	assert_int_equal(message_facts_read(STR("\"role\":"), &lab->a, &facts,
					    &lab->err),
			 WEFT_CORRUPT);
	assert_int_equal(message_facts_read(STR("\"a\":1},{"), &lab->a, &facts,
					    &lab->err),
			 WEFT_CORRUPT);
}

static void roles_have_names(void **state)
{
	static const char *const names[] = { "user", "assistant", "tool",
					     "system" };
	uint32_t role = 0;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_string_equal(role_name(i + 1), names[i]);
		assert_true(role_parse(str_of(names[i]), &role));
		assert_int_equal(role, i + 1);
	}
	assert_string_equal(role_name(0), "unknown");
	assert_string_equal(role_name(5), "unknown");
	assert_false(role_parse(STR(""), &role));
}

/* ---- memory ---- */

static void want_of_memory_is_told(void **state)
{
	struct lab *lab = *state;
	const char *json = "{" USER ",\"op\":\"o\",\"session\":\"s\",\"y\":1}";
	int r = WEFT_NO_MEMORY;

	for (int n = 0; r != WEFT_OK; n++) {
		struct message_facts facts;

		arena_done(&lab->a);
		mem_fault(n, 0);
		r = check(lab, json);
		if (r == WEFT_OK)
			r = message_facts_read(lab->m.body, &lab->a, &facts,
					       &lab->err);
		mem_fault(-1, 0);
		assert_true(r == WEFT_OK || r == WEFT_NO_MEMORY);
		assert_true(n < 50);
	}
	expect_str(lab->m.op, "o");
	expect_str(lab->m.session, "s");
	expect_str(lab->m.body, USER ",\"x\":{\"y\":1}");
	r = WEFT_LIMIT;
	for (size_t limit = 16; r != WEFT_OK; limit += 16) {
		arena_done(&lab->a);
		arena_init(&lab->a, limit);
		r = check(lab, json);
		assert_true(r == (lab->a.failed ? WEFT_LIMIT : WEFT_OK));
		assert_true(limit < 4096);
	}
	expect_str(lab->m.body, USER ",\"x\":{\"y\":1}");
}

/* Too large for the pool: want of memory must not look like bad JSON. */
static void want_of_memory_is_not_taken_for_damage(void **state)
{
	struct lab *lab = *state;
	char text[10000];
	struct weft_str body;
	int r = WEFT_NO_MEMORY;

	memset(text, 'x', sizeof(text));
	body = arena_printf(&lab->a,
			    "\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			    "\"text\":\"%.*s\"}]",
			    (int)sizeof(text), text);
	for (int n = 0; r != WEFT_OK; n++) {
		struct message_facts facts;
		struct arena a;

		arena_init(&a, 0);
		mem_fault(n, 0);
		r = message_facts_read(body, &a, &facts, &lab->err);
		mem_fault(-1, 0);
		assert_true(r == WEFT_OK || r == WEFT_NO_MEMORY);
		assert_true(r != WEFT_OK || facts.text.len == 256);
		assert_true(n < 50);
		arena_done(&a);
	}
}

/* The facts of a large body do not fit the pool, and must be the same. */
static void a_large_message_is_like_a_small_one(void **state)
{
	struct lab *lab = *state;
	size_t len = MIB(10);
	char *json = test_malloc(len + 100);
	size_t at = 0;
	struct message_facts facts;

	at += (size_t)snprintf(json, 100,
			       "{\"role\":\"user\",\"content\":\"start ");
	memset(json + at, 'x', len);
	at += len;
	json[at] = '"';
	json[at + 1] = '}';
	assert_int_equal(message_check((struct weft_str){ json, at + 2 },
				       &lab->limits, &lab->a, &lab->m,
				       &lab->err),
			 WEFT_OK);
	/* The caller's bytes are not needed any more. */
	memset(json, '!', at + 2);
	test_free(json);
	assert_int_equal(
		message_facts_read(lab->m.body, &lab->a, &facts, &lab->err),
		WEFT_OK);
	expect_facts(&facts, &lab->m.facts);
	assert_int_equal(facts.text.len, 256);
	assert_memory_equal(facts.text.ptr, "start xx", 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_may_be_just_as_long_as_the_limit),
		TEST(parts_are_counted),
		TEST(short_text_is_measured_in_bytes),
		TEST(depth_is_limited),
		TEST(a_message_becomes_this_body),
		TEST(bytes_are_kept_unless_they_span_lines),
		TEST(every_kind_of_part_is_taken),
		TEST(options_are_read),
		TEST(a_turn_starts_with_more_than_results),
		TEST(the_first_text_that_is_not_empty_is_the_preview),
		TEST(usage_is_read),
		TEST(money_is_exact),
		TEST(facts_of_an_edited_body_are_what_can_be_read),
		TEST(roles_have_names),
		TEST(want_of_memory_is_told),
		TEST(want_of_memory_is_not_taken_for_damage),
		TEST(a_large_message_is_like_a_small_one),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}

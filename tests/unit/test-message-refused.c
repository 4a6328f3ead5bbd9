/* test-message-refused.c - what is refused, with which words. */
#include "message-lab.h"

static void what_is_no_json_object_is_refused(void **state)
{
	static const struct refused cases[] = {
		{ "", WEFT_INVALID, "not JSON" },
		{ " ", WEFT_INVALID, "not JSON" },
		{ "hello", WEFT_INVALID, "not JSON" },
		{ "{" USER, WEFT_INVALID, "not JSON" },
		{ "{" USER "}}", WEFT_INVALID, "not JSON" },
		{ "{" USER ",}", WEFT_INVALID, "not JSON" },
		{ "{'role':'user'}", WEFT_INVALID, "not JSON" },
		{ "\xef\xbb\xbf{" USER "}", WEFT_INVALID, "not JSON" },
		{ "{\"role\":\"user\",\"content\":\"\xff\"}", WEFT_INVALID,
		  "not JSON" },
		{ "{\"role\":\"user\",\"content\":\"\xc3\"}", WEFT_INVALID,
		  "not JSON" },
		{ "{\"role\":\"user\",\"content\":\"\xed\xa0\x80\"}",
		  WEFT_INVALID, "not JSON" },
		{ "{\"role\":\"user\",\"content\":\"\\ud800\"}", WEFT_INVALID,
		  "not JSON" },
		{ "{\"role\":\"user\",\"content\":\"\\udc00\\ud800\"}",
		  WEFT_INVALID, "not JSON" },
		{ "{\"role\":\"user\",\"content\":\"a\nb\"}", WEFT_INVALID,
		  "not JSON" },
		{ "{\"role\":\"user\",\"content\":\"a\"} x", WEFT_INVALID,
		  "column 31" },
		{ "[]", WEFT_INVALID, "expected a message as an object" },
		{ "\"hi\"", WEFT_INVALID, "found string" },
		{ "null", WEFT_INVALID, "found null" },
	};

	refuse_all(*state, cases, ARRAY_LEN(cases));
}

static void a_nul_byte_is_refused(void **state)
{
	struct lab *lab = *state;
	static const char json[] = "{\"role\":\"user\",\"content\":\"a\0b\"}";

	assert_int_equal(message_check(STR(json), &lab->limits, &lab->a,
				       &lab->m, &lab->err),
			 WEFT_INVALID);
	expect_message(&lab->err, "not JSON");
}

static void members_twice_are_refused_at_any_depth(void **state)
{
	static const struct refused cases[] = {
		{ "{" USER ",\"role\":\"user\"}", WEFT_INVALID, "\"role\"" },
		{ "{" USER ",\"r\\u006fle\":\"user\"}", WEFT_INVALID,
		  "\"role\"" },
		{ "{" USER ",\"y\":1,\"y\":1}", WEFT_INVALID, "\"y\"" },
		{ "{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":"
		  "\"a\",\"text\":\"b\"}]}",
		  WEFT_INVALID, "\"text\" twice at column 51" },
		{ "{" USER ",\"y\":[[{\"z\":{\"q\":1,\"q\":2}}]]}",
		  WEFT_INVALID, "\"q\"" },
	};

	refuse_all(*state, cases, ARRAY_LEN(cases));
}

static void reserved_members_are_refused_by_name(void **state)
{
	static const char *const names[] = {
		"seq",  "ts",       "type", "id",  "w",          "more",
		"crc",  "enc",      "x",    "src", "gen",        "needs",
		"weft", "redacted", "bg",   "to",  "created_at", "recorded_at",
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char json[200], message[64];

		(void)snprintf(json, sizeof(json), "{" USER ",\"%s\":null}",
			       names[i]);
		(void)snprintf(message, sizeof(message),
			       "%s: this name is reserved", names[i]);
		refuse(lab, json, WEFT_INVALID, message);
	}
	refuse(lab, "{" USER ",\"\\u0073eq\":1}", WEFT_INVALID,
	       "seq: this name is reserved; leave it out");
}

static void members_of_a_wrong_type_are_refused_by_name(void **state)
{
	static const struct refused cases[] = {
		{ "{" PARTS "}", WEFT_INVALID,
		  "role: expected user, assistant, tool or system, found "
		  "nothing" },
		{ "{\"role\":null," PARTS "}", WEFT_INVALID, "role: expected" },
		{ "{\"role\":1," PARTS "}", WEFT_INVALID, "found number" },
		{ "{\"role\":\"robot\"," PARTS "}", WEFT_INVALID,
		  "role: expected user, assistant, tool or system, found "
		  "\"robot\"" },
		{ "{\"role\":\"User\"," PARTS "}", WEFT_INVALID, "\"User\"" },
		{ "{\"role\":\"user\"}", WEFT_INVALID,
		  "parts: expected parts or content" },
		{ "{\"role\":\"user\",\"parts\":null,\"content\":null}",
		  WEFT_INVALID, "parts: expected parts or content" },
		{ "{" USER ",\"content\":\"hi\"}", WEFT_INVALID,
		  "content: expected parts or content, not both" },
		{ "{\"role\":\"user\",\"parts\":\"hi\"}", WEFT_INVALID,
		  "parts: expected an array, found string" },
		{ "{\"role\":\"user\",\"parts\":[]}", WEFT_INVALID,
		  "parts: expected at least one part" },
		{ "{\"role\":\"user\",\"content\":[]}", WEFT_INVALID,
		  "content: expected at least one part" },
		{ "{\"role\":\"user\",\"content\":7}", WEFT_INVALID,
		  "content: expected a string or an array, found number" },
		{ "{" USER ",\"from\":\"me\"}", WEFT_INVALID,
		  "from: expected an object, found string" },
		{ "{" USER ",\"from\":{\"id\":7}}", WEFT_INVALID,
		  "from.id: expected a string, found number" },
		{ "{" USER ",\"from\":{\"name\":[]}}", WEFT_INVALID,
		  "from.name: expected a string, found array" },
		{ "{" USER ",\"from\":{\"id\":\"a\\u0000\"}}", WEFT_INVALID,
		  "from.id has a control character" },
		{ "{" USER ",\"model\":[]}", WEFT_INVALID,
		  "model: expected an object" },
		{ "{" USER ",\"model\":{\"provider\":true}}", WEFT_INVALID,
		  "model.provider: expected a string, found boolean" },
		{ "{" USER ",\"model\":{\"name\":\"a\\nb\"}}", WEFT_INVALID,
		  "model.name has a control character" },
		{ "{" USER ",\"bound\":1}", WEFT_INVALID,
		  "bound: expected an object" },
		{ "{" USER ",\"bound\":{\"data\":1}}", WEFT_INVALID,
		  "bound.provider: expected a string, found nothing" },
		{ "{" USER ",\"bound\":{\"provider\":\"p\"}}", WEFT_INVALID,
		  "bound.data: expected a value" },
		{ "{" USER ",\"duration_ms\":-1}", WEFT_INVALID,
		  "duration_ms: expected a whole number" },
		{ "{" USER ",\"duration_ms\":1.5}", WEFT_INVALID,
		  "duration_ms" },
		{ "{" USER ",\"duration_ms\":\"1\"}", WEFT_INVALID,
		  "duration_ms" },
		{ "{" USER ",\"duration_ms\":9007199254740992}", WEFT_INVALID,
		  "duration_ms" },
	};

	refuse_all(*state, cases, ARRAY_LEN(cases));
}

static void options_of_a_wrong_type_are_refused_by_name(void **state)
{
	static const struct refused cases[] = {
		{ "{" USER ",\"op\":7}", WEFT_INVALID,
		  "op: expected a string, found number" },
		{ "{" USER ",\"op\":\"\"}", WEFT_INVALID,
		  "op: expected a string that is not empty" },
		{ "{" USER ",\"op\":\"a\\nb\"}", WEFT_INVALID,
		  "op has a control character (U+000A)" },
		{ "{" USER ",\"op\":\"a\\u0000b\"}", WEFT_INVALID,
		  "op has a control character (U+0000)" },
		{ "{" USER ",\"op\":\"a\\u009fb\"}", WEFT_INVALID,
		  "op has a control character" },
		{ "{" USER ",\"session\":7}", WEFT_INVALID,
		  "session: expected a string" },
		{ "{" USER ",\"session\":\"\"}", WEFT_INVALID,
		  "session: expected a string that is not empty" },
		{ "{" USER ",\"session\":\"a\\nb\"}", WEFT_INVALID,
		  "session has a control character" },
		{ "{" USER ",\"expect\":\"3\"}", WEFT_INVALID,
		  "expect: expected a whole number" },
		{ "{" USER ",\"expect\":-3}", WEFT_INVALID, "expect" },
		{ "{" USER ",\"expect\":1e3}", WEFT_INVALID, "expect" },
		{ "{" USER ",\"at\":5}", WEFT_INVALID,
		  "at: expected a time, found number" },
		{ "{" USER ",\"at\":\"yesterday\"}", WEFT_INVALID,
		  "found \"yesterday\"" },
		{ "{" USER ",\"at\":\"2026-02-30T00:00:00Z\"}", WEFT_INVALID,
		  "at: expected a time" },
		{ "{" USER ",\"at\":\"\"}", WEFT_INVALID, "at: expected" },
		{ "{" USER ",\"background\":1}", WEFT_INVALID,
		  "background: expected true or false, found number" },
		{ "{" USER ",\"background\":\"true\"}", WEFT_INVALID,
		  "background" },
	};

	refuse_all(*state, cases, ARRAY_LEN(cases));
}

static void usage_of_a_wrong_type_is_refused_by_name(void **state)
{
	static const struct refused cases[] = {
		{ "{" USER ",\"usage\":7}", WEFT_INVALID,
		  "usage: expected an object, found number" },
		{ "{" USER ",\"usage\":{\"input_tokens\":-1}}", WEFT_INVALID,
		  "usage.input_tokens: expected a whole number" },
		{ "{" USER ",\"usage\":{\"output_tokens\":1.5}}", WEFT_INVALID,
		  "usage.output_tokens" },
		{ "{" USER ",\"usage\":{\"cache_read_tokens\":\"1\"}}",
		  WEFT_INVALID, "usage.cache_read_tokens" },
		{ "{" USER ",\"usage\":{\"cache_write_tokens\":"
		  "9007199254740992}}",
		  WEFT_INVALID, "usage.cache_write_tokens" },
		{ "{" USER ",\"usage\":{\"cost_usd\":\"0.1\"}}", WEFT_INVALID,
		  "usage.cost_usd: expected a number or null, found string" },
		{ "{" USER ",\"usage\":{\"cost_usd\":-0.1}}", WEFT_INVALID,
		  "usage.cost_usd: expected 0 to 9223372036, found -0.1" },
		{ "{" USER ",\"usage\":{\"cost_usd\":1e400}}", WEFT_INVALID,
		  "usage.cost_usd" },
	};

	refuse_all(*state, cases, ARRAY_LEN(cases));
}

static void bad_parts_are_refused_by_place(void **state)
{
	static const struct refused cases[] = {
		{ PART("7"), WEFT_INVALID_PART,
		  "parts[0]: expected an object, found number" },
		{ PART("null"), WEFT_INVALID_PART, "parts[0]: expected" },
		{ PART(TEXT ",[]"), WEFT_INVALID_PART,
		  "parts[1]: expected an object, found array" },
		{ PART("{}"), WEFT_INVALID_PART,
		  "parts[0].type: expected a string, found nothing" },
		{ PART("{\"text\":\"a\"}"), WEFT_INVALID_PART,
		  "parts[0].type" },
		{ PART("{\"type\":7}"), WEFT_INVALID_PART, "parts[0].type" },
		{ PART("{\"type\":\"\"}"), WEFT_INVALID_PART,
		  "parts[0].type: expected a string that is not empty" },
		{ PART(TEXT "," TEXT ",{\"type\":\"video\"}"),
		  WEFT_UNKNOWN_PART_KIND,
		  "parts[2].type: unknown kind of part \"video\"; there are "
		  "text, thinking, tool_use, tool_result, image, opaque" },
		{ PART("{\"type\":\"Text\",\"text\":\"\"}"),
		  WEFT_UNKNOWN_PART_KIND, "\"Text\"" },
		{ "{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}",
		  WEFT_INVALID_PART,
		  "content[0].text: expected a string, found nothing" },
		{ PART("{\"type\":\"text\"}"), WEFT_INVALID_PART,
		  "parts[0].text: expected a string, found nothing" },
		{ PART("{\"type\":\"text\",\"text\":null}"), WEFT_INVALID_PART,
		  "parts[0].text: expected a string, found null" },
		{ PART("{\"type\":\"text\",\"text\":7}"), WEFT_INVALID_PART,
		  "parts[0].text: expected a string, found number" },
		{ PART("{\"type\":\"text\",\"text\":\"a\",\"blob\":{}}"),
		  WEFT_INVALID_PART, "parts[0].blob: this name is reserved" },
		{ PART("{\"type\":\"thinking\"}"), WEFT_INVALID_PART,
		  "parts[0].text" },
		{ PART("{\"type\":\"thinking\",\"text\":\"\",\"signature\":1}"),
		  WEFT_INVALID_PART, "parts[0].signature: expected a string" },
		{ PART("{\"type\":\"opaque\",\"data\":1}"), WEFT_INVALID_PART,
		  "parts[0].format" },
		{ PART("{\"type\":\"opaque\",\"format\":\"f\"}"),
		  WEFT_INVALID_PART, "parts[0].data: expected a value" },
	};

	refuse_all(*state, cases, ARRAY_LEN(cases));
}

static void bad_calls_and_results_are_refused_by_place(void **state)
{
	static const struct refused cases[] = {
		{ PART("{\"type\":\"tool_use\",\"name\":\"n\",\"input\":1}"),
		  WEFT_INVALID_PART, "parts[0].id: expected a string" },
		{ PART("{\"type\":\"tool_use\",\"id\":\"\",\"name\":\"n\","
		       "\"input\":1}"),
		  WEFT_INVALID_PART, "parts[0].id: expected a string that" },
		{ PART("{\"type\":\"tool_use\",\"id\":\"i\",\"input\":1}"),
		  WEFT_INVALID_PART, "parts[0].name: expected a string" },
		{ PART("{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\"}"),
		  WEFT_INVALID_PART,
		  "parts[0].input: expected input or input_text" },
		{ PART("{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\","
		       "\"input_text\":null}"),
		  WEFT_INVALID_PART, "parts[0].input: expected" },
		{ PART("{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\","
		       "\"input_text\":{}}"),
		  WEFT_INVALID_PART, "parts[0].input_text: expected a string" },
		{ PART("{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"n\","
		       "\"input\":{},\"input_text\":\"\"}"),
		  WEFT_INVALID_PART,
		  "parts[0].input_text: expected input or "
		  "input_text, not both" },
		{ PART("{\"type\":\"tool_result\",\"content\":\"\"}"),
		  WEFT_INVALID_PART, "parts[0].tool_use_id: expected" },
		{ PART(TEXT ",{\"type\":\"tool_result\",\"tool_use_id\":7,"
			    "\"content\":\"\"}"),
		  WEFT_INVALID_PART,
		  "parts[1].tool_use_id: expected a string" },
		{ PART("{\"type\":\"tool_result\",\"tool_use_id\":\"i\"}"),
		  WEFT_INVALID_PART,
		  "parts[0].content: expected a string or an array, found "
		  "nothing" },
		{ PART("{\"type\":\"tool_result\",\"tool_use_id\":\"i\","
		       "\"content\":{}}"),
		  WEFT_INVALID_PART, "parts[0].content: expected a string" },
		{ PART("{\"type\":\"tool_result\",\"tool_use_id\":\"i\","
		       "\"content\":\"\",\"is_error\":0}"),
		  WEFT_INVALID_PART,
		  "parts[0].is_error: expected true or "
		  "false, found number" },
		{ PART("{\"type\":\"tool_result\",\"tool_use_id\":\"i\","
		       "\"content\":[" TEXT ",{\"type\":\"text\"}]}"),
		  WEFT_INVALID_PART,
		  "parts[0].content[1].text: expected a string" },
		{ PART("{\"type\":\"tool_result\",\"tool_use_id\":\"i\","
		       "\"content\":[{\"type\":\"thinking\",\"text\":\"\"}]}"),
		  WEFT_INVALID_PART,
		  "parts[0].content[0].type: expected text "
		  "or image, found thinking" },
		{ PART("{\"type\":\"tool_result\",\"tool_use_id\":\"i\","
		       "\"content\":[{\"type\":\"video\"}]}"),
		  WEFT_UNKNOWN_PART_KIND, "parts[0].content[0].type: unknown" },
		{ PART("{\"type\":\"tool_result\",\"tool_use_id\":\"i\","
		       "\"content\":[7]}"),
		  WEFT_INVALID_PART, "parts[0].content[0]: expected" },
	};

	refuse_all(*state, cases, ARRAY_LEN(cases));
}

static void images_must_be_base64(void **state)
{
	static const char *const good[] = { "QQ==",    "QUI=",     "QUJD",
					    "+/+/",    "QUJDQQ==", "Q\\u0055I=",
					    "+\\/+\\/" };
	static const char *const bad[] = { "",     "Q",        "QQ",
					   "QQ=",  "Q===",     "====",
					   "QQ=A", "QQ==QUJD", "-_-_",
					   "QU D", "QUJD\\n",  "\xc3\xa9QU",
					   "=QUJ", "QUJDQ" };
	struct lab *lab = *state;
	char json[200];

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		(void)snprintf(json, sizeof(json),
			       PART("{\"type\":\"image\",\"image_mime_type\":"
				    "\"image/png\",\"image_base64\":\"%s\"}"),
			       good[i]);
		take(lab, json);
		expect_in(lab->m.body, good[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		(void)snprintf(json, sizeof(json),
			       PART("{\"type\":\"image\",\"image_mime_type\":"
				    "\"image/png\",\"image_base64\":\"%s\"}"),
			       bad[i]);
		refuse(lab, json, WEFT_INVALID_PART,
		       "parts[0].image_base64: expected base64");
	}
	refuse(lab, PART("{\"type\":\"image\",\"image_base64\":\"QQ==\"}"),
	       WEFT_INVALID_PART, "parts[0].image_mime_type: expected");
	refuse(lab, PART("{\"type\":\"image\",\"image_mime_type\":\"a/b\"}"),
	       WEFT_INVALID_PART, "parts[0].image_base64: expected a string");
	refuse(lab,
	       PART("{\"type\":\"tool_result\",\"tool_use_id\":\"i\","
		    "\"content\":"
		    "[{\"type\":\"image\",\"image_mime_type\":\"a/b\","
		    "\"image_base64\":\"?\"}]}"),
	       WEFT_INVALID_PART, "parts[0].content[0].image_base64: expected");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_no_json_object_is_refused),
		TEST(a_nul_byte_is_refused),
		TEST(members_twice_are_refused_at_any_depth),
		TEST(reserved_members_are_refused_by_name),
		TEST(members_of_a_wrong_type_are_refused_by_name),
		TEST(options_of_a_wrong_type_are_refused_by_name),
		TEST(usage_of_a_wrong_type_is_refused_by_name),
		TEST(bad_parts_are_refused_by_place),
		TEST(bad_calls_and_results_are_refused_by_place),
		TEST(images_must_be_base64),
	};

	return cmocka_run_group_tests_name("message-refused", tests, NULL,
					   NULL);
}

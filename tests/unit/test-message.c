/* test-message.c - what is taken as a message, what is refused, and what is
 * kept of it. */
#include "model.h"

#include "base/json.h"
#include "base/mem.h"
#include "model/message.h"
#include "model/usage.h"

/* Text of a message with one text part. */
#define PARTS "\"parts\":[{\"type\":\"text\",\"text\":\"hi\"}]"
#define USER  "\"role\":\"user\"," PARTS

struct lab {
	struct arena a;
	struct store_limits limits;
	struct weft_error err;
	struct message m;
};

static int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	arena_init(&lab->a, 0);
	lab->limits = default_limits;
	*state = lab;
	return 0;
}

static int tear_down(void **state)
{
	struct lab *lab = *state;

	arena_done(&lab->a);
	test_free(lab);
	return 0;
}

static int check(struct lab *lab, const char *json)
{
	return message_check(str_of(json), &lab->limits, &lab->a, &lab->m,
			     &lab->err);
}

static void expect_facts(const struct message_facts *a,
			 const struct message_facts *b)
{
	assert_int_equal(a->role, b->role);
	assert_int_equal(a->starts_turn, b->starts_turn);
	assert_int_equal(a->has_usage, b->has_usage);
	assert_memory_equal(&a->usage, &b->usage, sizeof(a->usage));
	assert_true(str_eq(a->text, b->text));
}

/* Take a message, and find the same facts in the body that is stored. */
static const struct message *take(struct lab *lab, const char *json)
{
	struct message_facts facts;
	int r = check(lab, json);

	if (r != WEFT_OK)
		print_message("# %s\n# refused: %s\n", json, lab->err.message);
	assert_int_equal(r, WEFT_OK);
	assert_null(memchr(lab->m.body.ptr, '\n', lab->m.body.len));
	assert_int_equal(
		message_facts_read(lab->m.body, &lab->a, &facts, &lab->err),
		WEFT_OK);
	expect_facts(&facts, &lab->m.facts);
	return &lab->m;
}

static void refuse(struct lab *lab, const char *json, int code,
		   const char *message)
{
	int r;

	memset(&lab->m, 0x5a, sizeof(lab->m));
	lab->err = (struct weft_error){ .code = 0 };
	r = check(lab, json);
	if (r != code)
		print_message("# %.200s\n# %d: %s\n", json, r,
			      lab->err.message);
	assert_int_equal(r, code);
	assert_int_equal(lab->err.code, code);
	expect_message(&lab->err, message);
	/* Nothing is set on failure. */
	for (size_t i = 0; i < sizeof(lab->m); i++)
		assert_int_equal(((const unsigned char *)&lab->m)[i], 0x5a);
}

struct refused {
	const char *json;
	int code;
	const char *message;
};

static void refuse_all(struct lab *lab, const struct refused *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		refuse(lab, v[i].json, v[i].code, v[i].message);
}

/* ---- refused ---- */

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
		  "line 1, column 31" },
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
		  WEFT_INVALID, "\"text\" twice at line 1, column 51" },
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
	       "seq: this name is reserved");
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

#define PART(members) "{\"role\":\"user\",\"parts\":[" members "]}"
#define TEXT          "{\"type\":\"text\",\"text\":\"\"}"

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
		  "parts[2].type: unknown kind of part \"video\"" },
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
	refuse(lab, three, WEFT_LIMIT, "parts has 3 parts, the limit is 2");
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
		"\"parts\":[7,null,{\"type\":[]},{\"type\":\"text\",\"text\":1}"
		"]",
		"\"usage\":{\"input_tokens\":\"many\"}",
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
	arena_done(&lab->a);
	arena_init(&lab->a, 64);
	assert_int_equal(check(lab, json), WEFT_LIMIT);
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
	memcpy(json + at, "\"}", 2);
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
		TEST(a_large_message_is_like_a_small_one),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}

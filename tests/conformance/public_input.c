/* public_input.c - bad input: a clear error, and nothing has changed. */
#include "conformance/public.h"

/* What a caller may give, and what must be said about it. */
struct bad_input {
	const char *json;
	int code;
	const char *part;
};

static void expect_all_refused(struct desk *d, const struct bad_input *v,
			       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		desk_fails(d, desk_try(d, d->id, v[i].json, NULL, NULL),
			   v[i].code, v[i].part);
		assert_int_equal(desk_head(d, d->id), 1);
	}
	assert_int_equal(desk_say(d, d->id, "still works"), 2);
}

static void what_is_no_json_is_refused(void **state)
{
	static const struct bad_input bad[] = {
		{ "", WEFT_INVALID, "" },
		{ "   ", WEFT_INVALID, "" },
		{ "hello", WEFT_INVALID, "" },
		{ "{\"role\":\"user\"", WEFT_INVALID, "" },
		{ "{\"role\":\"user\",\"content\":\"x\"} x", WEFT_INVALID, "" },
		{ "{\"role\":\"user\",\"content\":\"x\",}", WEFT_INVALID, "" },
		{ "{'role':'user','content':'x'}", WEFT_INVALID, "" },
		{ "{\"role\":\"user\",\"content\":\"a\nb\"}", WEFT_INVALID,
		  "" },
		{ "{\"role\":\"user\",\"content\":NaN}", WEFT_INVALID, "" },
		{ "\"text\"", WEFT_INVALID, "object" },
		{ "17", WEFT_INVALID, "object" },
		{ "null", WEFT_INVALID, "object" },
		{ "[17]", WEFT_INVALID, "object" },
		{ "[[]]", WEFT_INVALID, "object" },
	};

	expect_all_refused(*state, bad, ARRAY_LEN(bad));
}

static void what_is_no_utf8_is_refused(void **state)
{
	static const struct bad_input bad[] = {
		{ "{\"role\":\"user\",\"content\":\"\xff\"}", WEFT_INVALID,
		  "" },
		{ "{\"role\":\"user\",\"content\":\"\xc3\"}", WEFT_INVALID,
		  "" },
		{ "{\"role\":\"user\",\"content\":\"\xc0\xaf\"}", WEFT_INVALID,
		  "" },
		{ "{\"role\":\"user\",\"content\":\"\xed\xa0\x80\"}",
		  WEFT_INVALID, "" },
		{ "{\"role\":\"user\",\"content\":\"\xf4\x90\x80\x80\"}",
		  WEFT_INVALID, "" },
		{ "{\"role\":\"user\",\"content\":\"\\ud800\"}", WEFT_INVALID,
		  "" },
		{ "{\"role\":\"user\",\"content\":\"\\udc00\\ud800\"}",
		  WEFT_INVALID, "" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"from\":{\"id\":"
		  "\"\\ud800\"}}",
		  WEFT_INVALID, "" },
	};

	expect_all_refused(*state, bad, ARRAY_LEN(bad));
}

static void members_that_are_double_or_reserved_are_refused(void **state)
{
	static const struct bad_input bad[] = {
		{ "{\"role\":\"user\",\"role\":\"user\",\"content\":\"x\"}",
		  WEFT_INVALID, "role" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"\\u0072ole\":"
		  "\"user\"}",
		  WEFT_INVALID, "" },
		{ "{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":"
		  "\"a\",\"text\":\"b\"}]}",
		  WEFT_INVALID, "text" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"seq\":7}",
		  WEFT_INVALID, "seq" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"crc\":\"00\"}",
		  WEFT_INVALID, "crc" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"id\":\"y\"}",
		  WEFT_INVALID, "id" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"ts\":\"y\"}",
		  WEFT_INVALID, "ts" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"type\":\"y\"}",
		  WEFT_INVALID, "type" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"x\":{}}",
		  WEFT_INVALID, "x" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"weft\":1}",
		  WEFT_INVALID, "weft" },
	};

	expect_all_refused(*state, bad, ARRAY_LEN(bad));
}

static void wrong_types_and_missing_members_are_refused(void **state)
{
	static const struct bad_input bad[] = {
		{ "{}", WEFT_INVALID, "role" },
		{ "{\"content\":\"x\"}", WEFT_INVALID, "role" },
		{ "{\"role\":\"user\"}", WEFT_INVALID, "" },
		{ "{\"role\":7,\"content\":\"x\"}", WEFT_INVALID, "role" },
		{ "{\"role\":\"King\",\"content\":\"x\"}", WEFT_INVALID,
		  "role" },
		{ "{\"role\":\"user\",\"content\":7}", WEFT_INVALID,
		  "content" },
		{ "{\"role\":\"user\",\"parts\":{}}", WEFT_INVALID, "parts" },
		{ "{\"role\":\"user\",\"parts\":[],\"content\":\"x\"}",
		  WEFT_INVALID, "" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"at\":\"now\"}",
		  WEFT_INVALID, "at" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"background\":1}",
		  WEFT_INVALID, "background" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"from\":\"me\"}",
		  WEFT_INVALID, "from" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"op\":5}",
		  WEFT_INVALID, "op" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"op\":\"a\\nb\"}",
		  WEFT_INVALID, "op" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"op\":\"a\\u0000\"}",
		  WEFT_INVALID, "op" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"expect\":-1}",
		  WEFT_INVALID, "expect" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"usage\":{"
		  "\"input_tokens\":-5}}",
		  WEFT_INVALID, "input_tokens" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"usage\":7}",
		  WEFT_INVALID, "usage" },
	};

	expect_all_refused(*state, bad, ARRAY_LEN(bad));
}

static void bad_parts_are_refused(void **state)
{
	static const struct bad_input bad[] = {
		{ "{\"role\":\"user\",\"parts\":[7]}", WEFT_INVALID_PART,
		  "parts[0]" },
		{ "{\"role\":\"user\",\"parts\":[{}]}", WEFT_INVALID_PART,
		  "type" },
		{ "{\"role\":\"user\",\"parts\":[{\"type\":\"text\"}]}",
		  WEFT_INVALID_PART, "text" },
		{ "{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":"
		  "\"a\"},{\"type\":\"text\",\"text\":5}]}",
		  WEFT_INVALID_PART, "parts[1].text" },
		{ "{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_use\","
		  "\"name\":\"n\",\"input\":{}}]}",
		  WEFT_INVALID_PART, "id" },
		{ "{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_use\","
		  "\"id\":\"i\",\"input\":{}}]}",
		  WEFT_INVALID_PART, "name" },
		{ "{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_result\","
		  "\"content\":\"x\"}]}",
		  WEFT_INVALID_PART, "tool_use_id" },
		{ "{\"role\":\"user\",\"parts\":[{\"type\":\"smell\"}]}",
		  WEFT_UNKNOWN_PART_KIND, "smell" },
	};

	expect_all_refused(*state, bad, ARRAY_LEN(bad));
}

static void bad_sessions_are_refused(void **state)
{
	struct desk *d = *state;
	static const char *const members[] = {
		"\"key\":7",
		"\"key\":\"a\\nb\"",
		"\"key\":\"\\u0000\"",
		"\"key\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\"",
		"\"slug\":\"a\\u0007\"",
		"\"kind\":\"cloud\"",
		"\"kind\":\"subagent\"",
		"\"metadata\":\"x\"",
		"\"aliases\":[\"\"]",
		"\"aliases\":\"x\"",
		"\"colour\":\"red\"",
		"\"expires_at\":\"tomorrow\"",
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		desk_fails(
			d,
			desk_try_call(d, "{\"method\":\"new\",%s}", members[i]),
			WEFT_INVALID, "");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"new\",\"kind\":\"subagent\","
				    "\"parent\":\"nobody\"}"),
		   WEFT_NOT_FOUND, "nobody");
	assert_null(strstr(desk_call(d, "{\"method\":\"list\",\"kind\":"
					"\"all\"}"),
			   "},{\"id\""));
}

static void what_the_caller_sent_is_kept(void **state)
{
	struct desk *d = *state;
	const char *message =
		"{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\","
		"\"text\":\"\\u00e9\\/ \xe2\x80\xa8 1e400\"},{\"type\":"
		"\"tool_use\",\"id\":\"c\",\"name\":\"n\",\"input\":"
		"{\"n\":12345678901234567890123,\"f\":1.10}}],"
		"\"mine\":[1,2]}";
	struct weft_event e = { 0 };
	struct weft_page *page;

	desk_ok(d, desk_try(d, d->id, message, NULL, NULL));
	desk_ok(d, weft_read(d->store, d->id, WEFT_ID_CHARS, NULL, &page,
			     &d->err));
	assert_int_equal(weft_page_event(page, 1, &e), 1);
	/* Its bytes, not what a parser made of them. */
	assert_non_null(memmem(e.body, e.body_len, "\\u00e9\\/ \xe2\x80\xa8",
			       strlen("\\u00e9\\/ \xe2\x80\xa8")));
	assert_non_null(
		memmem(e.body, e.body_len, "12345678901234567890123", 23));
	assert_non_null(memmem(e.body, e.body_len, "1.10", 4));
	/* What is not ours goes into "x". */
	assert_non_null(memmem(e.body, e.body_len, "\"x\":{\"mine\":[1,2]}",
			       strlen("\"x\":{\"mine\":[1,2]}")));
	weft_page_free(page);
}

static void text_need_not_end_where_its_buffer_ends(void **state)
{
	struct desk *d = *state;
	const char json[] = "{\"role\":\"user\",\"content\":\"cut\"}GARBAGE";
	char name[64];

	(void)snprintf(name, sizeof(name), "%sGARBAGE", d->id);
	desk_ok(d, weft_append(d->store, name, WEFT_ID_CHARS, json,
			       sizeof(json) - 8, NULL, NULL, &d->err));
	assert_string_equal(desk_texts(d, d->id), "cut");
	desk_fails(d,
		   weft_append(d->store, NULL, 3, json, 3, NULL, NULL, &d->err),
		   WEFT_INVALID, "session");
	desk_fails(d,
		   weft_append(d->store, d->id, WEFT_ID_CHARS, NULL, 3, NULL,
			       NULL, &d->err),
		   WEFT_INVALID, "");
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(what_is_no_json_is_refused),
	PUBLIC_TEST(what_is_no_utf8_is_refused),
	PUBLIC_TEST(members_that_are_double_or_reserved_are_refused),
	PUBLIC_TEST(wrong_types_and_missing_members_are_refused),
	PUBLIC_TEST(bad_parts_are_refused),
	PUBLIC_TEST(bad_sessions_are_refused),
	PUBLIC_TEST(what_the_caller_sent_is_kept),
	PUBLIC_TEST(text_need_not_end_where_its_buffer_ends),
};

const struct suite public_input_suite = { tests, ARRAY_LEN(tests) };

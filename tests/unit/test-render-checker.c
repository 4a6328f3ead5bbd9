/* test-render-checker.c - the checker of rendered windows sees each fault. */
#include "render/lab.h"

#define U(text)       "{'role':'user','content':'" text "'}"
#define A(text)       "{'role':'assistant','content':'" text "'}"
#define USE(id)       "{'type':'tool_use','id':'" id "','name':'f','input':{}}"
#define RES(id)       "{'type':'tool_result','tool_use_id':'" id "','content':'r'}"
#define TEXT(t)       "{'type':'text','text':'" t "'}"
#define BY(role, ...) "{'role':'" role "','content':[" JOIN(__VA_ARGS__) "]}"
#define ALL(...)      "{'system':null,'messages':[" JOIN(__VA_ARGS__) "]}"

static yyjson_doc *parse(const char *json)
{
	size_t n = strlen(json);
	char *text = test_malloc(n + 1);
	yyjson_doc *doc;

	for (size_t i = 0; i <= n; i++)
		text[i] = (char)(json[i] == '\'' ? '"' : json[i]);
	doc = yyjson_read(text, n, 0);
	if (!doc)
		print_message("# not JSON: %s\n", text);
	assert_non_null(doc);
	test_free(text);
	return doc;
}

typedef bool checker(yyjson_val *root, struct verdict *v);

static void expect_each(checker *check, const char *const *v, size_t n,
			bool valid)
{
	for (size_t i = 0; i < n; i++) {
		yyjson_doc *doc = parse(v[i]);
		struct verdict why;

		if (check(yyjson_doc_get_root(doc), &why) != valid)
			print_message("# %s %s\n", v[i], why.why);
		assert_int_equal(check(yyjson_doc_get_root(doc), &why), valid);
		yyjson_doc_free(doc);
	}
}

static void anthropic(void **state)
{
	static const char *const good[] = {
		ALL(),
		ALL(U("a"), A("b"), U("c")),
		ALL(U("a"), BY("assistant", TEXT("x"), USE("1"), USE("2")),
		    BY("user", RES("1"), RES("2"), TEXT("y")), A("z")),
	};
	static const char *const bad[] = {
		"{'messages':[],'system':''}",
		"{'system':null}",
		ALL(A("first")),
		ALL(U("a"), U("b")),
		ALL(U("a"), A("b"), A("c")),
		ALL(U("a"), "{'role':'system','content':'x'}"),
		ALL(U(" \\n\\u00a0")),
		ALL(U("")),
		ALL("{'role':'user','content':[]}"),
		ALL(BY("user", TEXT("alone"))),
		ALL(BY("user", TEXT("a"), TEXT(" "))),
		ALL(BY("user", USE("1"))),
		ALL(BY("user", RES("1"))),
		ALL(U("a"), BY("assistant", USE("1"))),
		ALL(U("a"), BY("assistant", USE("1")), U("b")),
		ALL(U("a"), BY("assistant", USE("1")), BY("user", RES("2"))),
		ALL(U("a"), BY("assistant", USE("1"), USE("1")),
		    BY("user", RES("1"), RES("1"))),
		ALL(U("a"), BY("assistant", USE("1"), USE("2")),
		    BY("user", RES("2"), RES("1"))),
		ALL(U("a"), BY("assistant", USE("1")),
		    BY("user", RES("1"), RES("1"))),
		ALL(U("a"), BY("assistant", USE("1")),
		    BY("user", TEXT("x"), RES("1"))),
		ALL(U("a"), BY("assistant", USE("1 2")),
		    BY("user", RES("1 2"))),
		ALL(U("a"),
		    BY("assistant", "{'type':'tool_use','id':'1','name':'f',"
				    "'input':[]}"),
		    BY("user", RES("1"))),
		ALL(U("a"), BY("assistant", "{'type':'thinking','thinking':'x',"
					    "'signature':'s'}")),
		ALL(U("a"),
		    BY("assistant", "{'type':'thinking','thinking':'x'}",
		       TEXT("y"))),
		ALL(U("a"), BY("assistant", TEXT("y"),
			       "{'type':'image','source':{'type':'base64',"
			       "'media_type':'image/png','data':'AA=='}}")),
		ALL(BY("user", TEXT("a"), "{'type':'noise'}")),
	};

	(void)state;
	expect_each(valid_anthropic, good, ARRAY_LEN(good), true);
	expect_each(valid_anthropic, bad, ARRAY_LEN(bad), false);
}

#define CHAT(...) "{'messages':[" JOIN(__VA_ARGS__) "]}"
#define CALL(id)                                                   \
	"{'id':'" id "','type':'function','function':{'name':'f'," \
	"'arguments':'{}'}}"
#define CALLS(...)                                                \
	"{'role':'assistant','content':null,'tool_calls':[" JOIN( \
		__VA_ARGS__) "]}"
#define TOOL(id) "{'role':'tool','tool_call_id':'" id "','content':'r'}"

static void openai(void **state)
{
	static const char *const good[] = {
		CHAT(),
		CHAT(A("b"), A("c"), U("d"), U("e")),
		CHAT(U("a"), CALLS(CALL("1"), CALL("2")), TOOL("1"), TOOL("2")),
	};
	static const char *const bad[] = {
		CHAT(U("a"), "{'role':'system','content':'x'}"),
		CHAT("{'role':'assistant'}"),
		CHAT("{'role':'assistant','content':null}"),
		CHAT("{'role':'assistant','content':'x','tool_calls':[]}"),
		CHAT(CALLS(CALL("1"))),
		CHAT(CALLS(CALL("1")), U("a")),
		CHAT(CALLS(CALL("1"), CALL("2")), TOOL("2"), TOOL("1")),
		CHAT(CALLS(CALL("1"), CALL("1")), TOOL("1"), TOOL("1")),
		CHAT(CALLS(CALL("1")), TOOL("1"), TOOL("1")),
		CHAT(TOOL("1")),
		CHAT(CALLS("{'id':'1','type':'function','function':{'name':'f',"
			   "'arguments':{}}}"),
		     TOOL("1")),
	};

	(void)state;
	expect_each(valid_openai, good, ARRAY_LEN(good), true);
	expect_each(valid_openai, bad, ARRAY_LEN(bad), false);
}

#define ITEMS(...) "{'items':[" JOIN(__VA_ARGS__) "]}"
#define SAID(role) "{'type':'message','role':'" role "','content':'x'}"
#define FUN(id)                                                  \
	"{'type':'function_call','call_id':'" id "','name':'f'," \
	"'arguments':''}"
#define OUT(id)                                              \
	"{'type':'function_call_output','call_id':'" id "'," \
	"'output':''}"

static void responses(void **state)
{
	static const char *const good[] = {
		ITEMS(),
		ITEMS(FUN("1"), FUN("2"), OUT("2"), OUT("1")),
		ITEMS(FUN("1"), OUT("1"), SAID("user"), FUN("1"), OUT("1")),
	};
	static const char *const bad[] = {
		ITEMS(FUN("1")),
		ITEMS(FUN("1"), SAID("user"), OUT("1")),
		ITEMS(OUT("1")),
		ITEMS(FUN("1"), OUT("1"), OUT("1")),
		ITEMS(FUN("1"), OUT("1"), FUN("1"), OUT("1")),
		ITEMS(SAID("user"), SAID("system")),
		ITEMS("{'type':'reasoning'}"),
	};

	(void)state;
	expect_each(valid_responses, good, ARRAY_LEN(good), true);
	expect_each(valid_responses, bad, ARRAY_LEN(bad), false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(anthropic),
		cmocka_unit_test(openai),
		cmocka_unit_test(responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test-render.c - messages as each provider wants them. */
#include "render/lab.h"

#define PNG                                              \
	"{'type':'image','image_mime_type':'image/png'," \
	"'image_base64':'AAAA'}"
#define TEXT(text)       "{'type':'text','text':'" text "'}"
#define PARTS(role, ...) "'role':'" role "','parts':[" JOIN(__VA_ARGS__) "]"
#define USE(id, more)    "{'type':'tool_use','id':'" id "','name':'f'," more "}"
#define NO_RESULT        "[no result: this call did not finish]"

/* ---- what was said ---- */

static void plain_talk(void **state)
{
	struct lab *lab = *state;

	say(lab, "system", "Be brief.");
	say(lab, "user", "a\\n\\u00e9 \\\"q\\\"");
	say(lab, "assistant", "b");
	lab->summary = STR("Earlier: \"x\"\n");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':'Be brief.\\n\\nSummary of the conversation so "
	       "far:\\n\\nEarlier: \\'x\\'\\n','messages':[{'role':'user',"
	       "'content':'a\\n\\u00e9 \\'q\\''},{'role':'assistant',"
	       "'content':'b'}]}");
	lab->summary = STR("");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'system','content':'Be brief.'},"
	       "{'role':'user','content':'a\\n\\u00e9 \\'q\\''},"
	       "{'role':'assistant','content':'b'}]}");
	expect(lab, RENDER_RESPONSES,
	       "{'items':[{'type':'message','role':'system','content':"
	       "'Be brief.'},{'type':'message','role':'user','content':"
	       "'a\\n\\u00e9 \\'q\\''},{'type':'message','role':'assistant',"
	       "'content':'b'}]}");
}

static void nothing_at_all(void **state)
{
	struct lab *lab = *state;

	expect(lab, RENDER_ANTHROPIC, "{'system':null,'messages':[]}");
	expect(lab, RENDER_OPENAI, "{'messages':[]}");
	expect(lab, RENDER_RESPONSES, "{'items':[]}");
}

static void neighbours_join_where_they_must(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "a");
	say(lab, "user", "b");
	say(lab, "assistant", "c");
	say(lab, "assistant", "d");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':["
	       "{'type':'text','text':'a'},{'type':'text','text':'b'}]},"
	       "{'role':'assistant','content':[{'type':'text','text':'c'},"
	       "{'type':'text','text':'d'}]}]}");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'a'},"
	       "{'role':'user','content':'b'},"
	       "{'role':'assistant','content':'c'},"
	       "{'role':'assistant','content':'d'}]}");
}

static void somebody_must_begin(void **state)
{
	struct lab *lab = *state;

	say(lab, "assistant", "hi");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':"
	       "'[no message of the user before this]'},"
	       "{'role':'assistant','content':'hi'}]}");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'assistant','content':'hi'}]}");
}

static void blank_text_is_left_out(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "a");
	say(lab, "assistant", " \\t\\r\\n\\u00a0\\u2003\\u3000\xe2\x80\xa8");
	say(lab, "user", "");
	say(lab, "system", " ");
	say(lab, "user", "b");
	lab->summary = STR(" \n");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':["
	       "{'type':'text','text':'a'},{'type':'text','text':'b'}]}]}");
}

static void images_stay_with_the_user(void **state)
{
	struct lab *lab = *state;

	add(lab, PARTS("user", TEXT("look"), PNG));
	add(lab, PARTS("assistant", PNG));
	add(lab, PARTS("user", "{'type':'image','image_mime_type':"
			       "'image/tiff','image_base64':'AAAA'}"));
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':["
	       "{'type':'text','text':'look'},{'type':'image','source':"
	       "{'type':'base64','media_type':'image/png','data':'AAAA'}}]},"
	       "{'role':'assistant','content':'[image left out]'},"
	       "{'role':'user','content':'[image left out]'}]}");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':["
	       "{'type':'text','text':'look'},{'type':'image_url','image_url':"
	       "{'url':'data:image/png;base64,AAAA'}}]},"
	       "{'role':'assistant','content':'[image left out]'},"
	       "{'role':'user','content':'[image left out]'}]}");
	lab->n = 1;
	expect(lab, RENDER_RESPONSES,
	       "{'items':[{'type':'message','role':'user','content':["
	       "{'type':'input_text','text':'look'},{'type':'input_image',"
	       "'image_url':'data:image/png;base64,AAAA'}]}]}");
}

static void names_are_said_in_groups(void **state)
{
	struct lab *lab = *state;

	add(lab, PARTS("user", TEXT("a")) ",'from':{'id':'1','name':'Ann'}");
	add(lab, PARTS("user", TEXT("b")) ",'from':{'id':'1','name':'Ann'}");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'a'},"
	       "{'role':'user','content':'b'}]}");
	add(lab, PARTS("user", TEXT("c"), TEXT("d")) ",'from':{'id':'2'}");
	add(lab, PARTS("user", PNG) ",'from':{'id':'3','name':'\\u00c9va'}");
	add(lab, PARTS("user", TEXT("e")));
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'Ann: a'},"
	       "{'role':'user','content':'Ann: b'},{'role':'user','content':["
	       "{'type':'text','text':'2: c'},{'type':'text','text':'d'}]},"
	       "{'role':'user','content':[{'type':'text','text':'\\u00c9va:'},"
	       "{'type':'image_url','image_url':{'url':"
	       "'data:image/png;base64,AAAA'}}]},"
	       "{'role':'user','content':'e'}]}");
}

/* ---- calls and results ---- */

static void a_turn_with_tools(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "go");
	add(lab, PARTS("assistant", TEXT("ok"), USE("1", "'input':{'p':1e2}"),
		       USE("2", "'input':{}")));
	say_result(lab, "2", "r2");
	say_result(lab, "1", "r1");
	say(lab, "assistant", "done");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':[{'type':'text','text':'ok'},"
	       "{'type':'tool_use','id':'1','name':'f','input':{'p':1e2}},"
	       "{'type':'tool_use','id':'2','name':'f','input':{}}]},"
	       "{'role':'user','content':[{'type':'tool_result',"
	       "'tool_use_id':'1','content':'r1'},{'type':'tool_result',"
	       "'tool_use_id':'2','content':'r2'}]},"
	       "{'role':'assistant','content':'done'}]}");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':'ok','tool_calls':["
	       "{'id':'1','type':'function','function':{'name':'f',"
	       "'arguments':'{\\'p\\':1e2}'}},{'id':'2','type':'function',"
	       "'function':{'name':'f','arguments':'{}'}}]},"
	       "{'role':'tool','tool_call_id':'1','content':'r1'},"
	       "{'role':'tool','tool_call_id':'2','content':'r2'},"
	       "{'role':'assistant','content':'done'}]}");
	expect(lab, RENDER_RESPONSES,
	       "{'items':[{'type':'message','role':'user','content':'go'},"
	       "{'type':'message','role':'assistant','content':'ok'},"
	       "{'type':'function_call','call_id':'1','name':'f','arguments':"
	       "'{\\'p\\':1e2}'},{'type':'function_call','call_id':'2',"
	       "'name':'f','arguments':'{}'},{'type':'function_call_output',"
	       "'call_id':'1','output':'r1'},{'type':'function_call_output',"
	       "'call_id':'2','output':'r2'},"
	       "{'type':'message','role':'assistant','content':'done'}]}");
}

static void what_is_missing_is_answered(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "go");
	say_call(lab, "1", "{}");
	say(lab, "user", "hello?");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':[{'type':'tool_use','id':'1',"
	       "'name':'f','input':{}}]},{'role':'user','content':["
	       "{'type':'tool_result','tool_use_id':'1','content':"
	       "'" NO_RESULT "','is_error':true},"
	       "{'type':'text','text':'hello?'}]}]}");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':null,'tool_calls':[{'id':'1',"
	       "'type':'function','function':{'name':'f','arguments':'{}'}}]},"
	       "{'role':'tool','tool_call_id':'1','content':'" NO_RESULT "'},"
	       "{'role':'user','content':'hello?'}]}");
}

static void orphans_go_and_the_first_double_wins(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "go");
	say_result(lab, "9", "orphan");
	say_call(lab, "1", "{}");
	say_result(lab, "1", "first");
	say_result(lab, "1", "second");
	expect(lab, RENDER_RESPONSES,
	       "{'items':[{'type':'message','role':'user','content':'go'},"
	       "{'type':'function_call','call_id':'1','name':'f','arguments':"
	       "'{}'},{'type':'function_call_output','call_id':'1','output':"
	       "'first'}]}");
}

static void an_id_may_be_used_again(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "go");
	for (int i = 0; i < 2; i++) {
		say_call(lab, "call_0", "{}");
		say_result(lab, "call_0", i ? "two" : "one");
	}
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':[{'type':'tool_use','id':"
	       "'call_0','name':'f','input':{}}]},{'role':'user','content':["
	       "{'type':'tool_result','tool_use_id':'call_0','content':"
	       "'one'}]},"
	       "{'role':'assistant','content':[{'type':'tool_use','id':"
	       "'call_0','name':'f','input':{}}]},{'role':'user','content':["
	       "{'type':'tool_result','tool_use_id':'call_0','content':"
	       "'two'}]}]}");
	/* Where ids must differ, the later one is changed. */
	(void)render(lab, RENDER_RESPONSES);
}

/* A result that was cut off from its call is not another call's. */
static void a_result_behind_the_call_is_its_own(void **state)
{
	struct lab *lab = *state;

	say_result(lab, "call_0", "of a call that is not here");
	say(lab, "user", "go");
	say_call(lab, "call_0", "{}");
	say_result(lab, "call_0", "mine");
	(void)render(lab, RENDER_OPENAI);
	assert_non_null(strstr(buf_cstr(&lab->out), "mine"));
	assert_null(strstr(buf_cstr(&lab->out), "not here"));
}

static void two_calls_with_one_id_are_two_messages(void **state)
{
	struct lab *lab = *state;
	yyjson_val *root;

	say(lab, "user", "go");
	add(lab, PARTS("assistant", USE("1", "'input':{'n':1}"),
		       USE("1", "'input':{'n':2}")));
	say_result(lab, "1", "r");
	root = render(lab, RENDER_ANTHROPIC);
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(root, "messages")), 5);
	(void)render(lab, RENDER_OPENAI);
	(void)render(lab, RENDER_RESPONSES);
}

static void arguments_are_kept_byte_for_byte(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "go");
	add(lab, PARTS("assistant",
		       USE("1", "'input':{ 'b':1.0,  'a':'\\u00e9\\/\\n' , "
				"'n':123456789012345678901234567890 }"),
		       USE("2", "'input_text':'{\\'a\\': tru'"),
		       USE("3", "'input':[1, 2]"), USE("4", "'input':null")));
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':null,'tool_calls':["
	       "{'id':'1','type':'function','function':{'name':'f',"
	       "'arguments':'{ \\'b\\':1.0,  \\'a\\':\\'\\\\u00e9\\\\/\\\\n\\'"
	       " , \\'n\\':123456789012345678901234567890 }'}},"
	       "{'id':'2','type':'function','function':{'name':'f',"
	       "'arguments':'{\\'a\\': tru'}},"
	       "{'id':'3','type':'function','function':{'name':'f',"
	       "'arguments':'[1, 2]'}},"
	       "{'id':'4','type':'function','function':{'name':'f',"
	       "'arguments':'null'}}]},"
	       "{'role':'tool','tool_call_id':'1','content':'" NO_RESULT "'},"
	       "{'role':'tool','tool_call_id':'2','content':'" NO_RESULT "'},"
	       "{'role':'tool','tool_call_id':'3','content':'" NO_RESULT "'},"
	       "{'role':'tool','tool_call_id':'4','content':'" NO_RESULT
	       "'}]}");
	(void)render(lab, RENDER_ANTHROPIC);
	assert_non_null(
		strstr(buf_cstr(&lab->out),
		       "\"input\":{ \"b\":1.0,  \"a\":\"\\u00e9\\/\\n\" , "
		       "\"n\":123456789012345678901234567890 }"));
	assert_non_null(strstr(buf_cstr(&lab->out),
			       "\"input\":{\"_raw\":\"{\\\"a\\\": tru\"}"));
	assert_non_null(
		strstr(buf_cstr(&lab->out), "\"input\":{\"_raw\":[1, 2]}"));
	assert_non_null(
		strstr(buf_cstr(&lab->out), "\"input\":{\"_raw\":null}"));
}

static void ids_and_names_are_mapped(void **state)
{
	struct lab *lab = *state;
	yyjson_val *content, *ids[3];

	say(lab, "user", "go");
	add(lab,
	    PARTS("assistant",
		  "{'type':'tool_use','id':'a.b|c','name':'mcp.fs/read',"
		  "'input':{}}",
		  USE("a b|c", "'input':{'x':1}"), USE("ok", "'input':1")));
	say_result(lab, "a b|c", "second");
	content = yyjson_obj_get(
		yyjson_arr_get(yyjson_obj_get(render(lab, RENDER_ANTHROPIC),
					      "messages"),
			       1),
		"content");
	for (size_t i = 0; i < 3; i++)
		ids[i] = yyjson_obj_get(yyjson_arr_get(content, i), "id");
	assert_false(yyjson_equals(ids[0], ids[1]));
	assert_string_equal(yyjson_get_str(ids[2]), "ok");
	assert_string_equal(yyjson_get_str(yyjson_obj_get(
				    yyjson_arr_get(content, 0), "name")),
			    "mcp_fs_read");
	/* The checker has seen that the result follows. */
	assert_non_null(strstr(buf_cstr(&lab->out), "second"));
}

static void results_of_many_parts(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "go");
	say_call(lab, "1", "{}");
	add(lab,
	    PARTS("tool",
		  "{'type':'tool_result','tool_use_id':'1','is_error':true,"
		  "'content':[" TEXT("a") "," TEXT(" ") "," PNG
							"," TEXT("b") "]}"));
	say_call(lab, "2", "{\"n\":2}");
	say_result(lab, "2", "");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':[{'type':'tool_use','id':'1',"
	       "'name':'f','input':{}}]},{'role':'user','content':["
	       "{'type':'tool_result','tool_use_id':'1','content':["
	       "{'type':'text','text':'a'},{'type':'image','source':{'type':"
	       "'base64','media_type':'image/png','data':'AAAA'}},"
	       "{'type':'text','text':'b'}],'is_error':true}]},"
	       "{'role':'assistant','content':[{'type':'tool_use','id':'2',"
	       "'name':'f','input':{'n':2}}]},{'role':'user','content':["
	       "{'type':'tool_result','tool_use_id':'2','content':"
	       "'[no output]'}]}]}");
	lab->n = 3;
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':null,'tool_calls':[{'id':'1',"
	       "'type':'function','function':{'name':'f','arguments':'{}'}}]},"
	       "{'role':'tool','tool_call_id':'1','content':'a\\nb'},"
	       "{'role':'user','content':[{'type':'text','text':"
	       "'[images of the results above]'},{'type':'image_url',"
	       "'image_url':{'url':'data:image/png;base64,AAAA'}}]}]}");
	expect(lab, RENDER_RESPONSES,
	       "{'items':[{'type':'message','role':'user','content':'go'},"
	       "{'type':'function_call','call_id':'1','name':'f','arguments':"
	       "'{}'},{'type':'function_call_output','call_id':'1','output':["
	       "{'type':'input_text','text':'a'},{'type':'input_image',"
	       "'image_url':'data:image/png;base64,AAAA'},"
	       "{'type':'input_text','text':'b'}]}]}");
}

/* ---- what belongs to one provider ---- */

#define THOUGHT "{'type':'thinking','text':'hm','signature':'s'}"

static void thinking_goes_back_to_who_signed_it(void **state)
{
	struct lab *lab = *state;
	static const char sent[] =
		"{'system':null,'messages':[{'role':'user','content':'go'},"
		"{'role':'assistant','content':[{'type':'thinking','thinking':"
		"'hm','signature':'s'},{'type':'text','text':'a'}]}]}";
	static const char kept[] =
		"{'system':null,'messages':[{'role':'user','content':'go'},"
		"{'role':'assistant','content':'a'}]}";

	say(lab, "user", "go");
	add(lab, PARTS("assistant", THOUGHT, TEXT("a")));
	expect(lab, RENDER_ANTHROPIC, sent);
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':'a'}]}");
	lab->n = 1;
	add(lab, PARTS("assistant", THOUGHT,
		       TEXT("a")) ",'model':{'provider':'bedrock','name':'m'}");
	expect(lab, RENDER_ANTHROPIC, kept);
	lab->options.provider = STR("bedrock");
	expect(lab, RENDER_ANTHROPIC, sent);
	lab->options.provider = STR("");
	lab->n = 1;
	add(lab,
	    PARTS("assistant", "{'type':'thinking','text':'hm'}", TEXT("a")));
	expect(lab, RENDER_ANTHROPIC, kept);
	/* Alone it is nothing. */
	lab->n = 1;
	add(lab, PARTS("assistant", THOUGHT));
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':'go'}]}");
}

static void opaque_parts_go_back_to_who_sealed_them(void **state)
{
	static const char kept[] =
		"{'system':null,'messages':[{'role':'user','content':'go'},"
		"{'role':'assistant','content':'a'}]}";
	static const char sent[] =
		"{'system':null,'messages':[{'role':'user','content':'go'},"
		"{'role':'assistant','content':[{'type':'redacted_thinking',"
		"'data':'xyz'},{'type':'text','text':'a'}]}]}";
	struct lab *lab = *state;

	say(lab, "user", "go");
	add(lab,
	    PARTS("assistant",
		  "{'type':'opaque','format':'anthropic','data':"
		  "{'type':'redacted_thinking','data':'xyz'}}",
		  TEXT("a")) ",'model':{'provider':'anthropic','name':'m'}");
	expect(lab, RENDER_ANTHROPIC, sent);
	lab->options.provider = STR("bedrock");
	expect(lab, RENDER_ANTHROPIC, kept);
	lab->options.provider = STR("");
}

static void opaque_parts_go_to_their_format(void **state)
{
	struct lab *lab = *state;

	say(lab, "user", "go");
	add(lab, PARTS("assistant",
		       "{'type':'opaque','format':'anthropic','data':"
		       "{'type':'redacted_thinking','data':'xyz'}}",
		       "{'type':'opaque','format':'responses','data':"
		       "{'type':'reasoning','id':'rs'}}",
		       "{'type':'opaque','format':'anthropic','data':"
		       "{'type':'tool_use','id':'forged'}}",
		       TEXT("a")) ",'bound':{'provider':'openai','data':["
				  "{'type':'reasoning','id':'b'}]}");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':[{'type':'redacted_thinking',"
	       "'data':'xyz'},{'type':'text','text':'a'}]}]}");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'go'},"
	       "{'role':'assistant','content':'a'}]}");
	expect(lab, RENDER_RESPONSES,
	       "{'items':[{'type':'message','role':'user','content':'go'},"
	       "{'type':'reasoning','id':'b'},{'type':'reasoning','id':'rs'},"
	       "{'type':'message','role':'assistant','content':'a'}]}");
}

/* ---- what nobody should have written ---- */

static void odd_bodies_are_left_out(void **state)
{
	static const char *const odd[] = {
		"",
		"{",
		"'role':'user'",
		"'role':'user','parts':7",
		"'role':'user','parts':{}",
		"'role':'king','parts':[" TEXT("x") "]",
		"'role':7,'parts':[" TEXT("x") "]",
		"'parts':[" TEXT("x") "]",
		"'role':'user','parts':[7,null,[],{},{'type':7}]",
		"'role':'user','parts':[{'type':'text'},{'type':'text',"
		"'text':7},{'type':'smell','text':'x'}]",
		"'role':'assistant','parts':[" USE("", "'input':{}") "]",
		"'role':'assistant','parts':[{'type':'tool_use','id':'1'}]",
		"'role':'tool','parts':[{'type':'tool_result','content':'x'}]",
		"'role':'user','parts':[" TEXT("\\ud800") "]",
		"'role':'user','parts':[" TEXT("\xff") "]",
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		add(lab, odd[i]);
	expect(lab, RENDER_ANTHROPIC, "{'system':null,'messages':[]}");
	expect(lab, RENDER_RESPONSES, "{'items':[]}");
}

static void names_of_members_may_be_escaped(void **state)
{
	struct lab *lab = *state;

	add(lab, "'r\\u006fle':'\\u0075ser','parts':[{'typ\\u0065':'te\\u0078t'"
		 ",'te\\u0078t':'x'}]");
	expect(lab, RENDER_OPENAI,
	       "{'messages':[{'role':'user','content':'x'}]}");
}

static void a_call_is_the_assistants_wherever_it_stands(void **state)
{
	struct lab *lab = *state;

	add(lab, PARTS("user", TEXT("a"), USE("1", "'input':{}"),
		       "{'type':'tool_result','tool_use_id':'1','content':"
		       "'r'}",
		       TEXT("b")));
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':null,'messages':[{'role':'user','content':'a'},"
	       "{'role':'assistant','content':[{'type':'tool_use','id':'1',"
	       "'name':'f','input':{}}]},{'role':'user','content':["
	       "{'type':'tool_result','tool_use_id':'1','content':'r'},"
	       "{'type':'text','text':'b'}]}]}");
}

/* ---- budgets ---- */

static void turns_that_do_not_fit_are_left_out(void **state)
{
	struct lab *lab = *state;

	for (int i = 0; i < 2; i++) {
		lab->options.newest_first = i > 0;
		lab->n = 0;
		say(lab, "user", "one");
		say_call(lab, "1", "{}");
		say_result(lab, "1", "r");
		say(lab, "assistant", "first");
		say(lab, "user", "two");
		say_call(lab, "1", "{}");
		say(lab, "user", "three");
		lab->options.tokens = 1;
		expect(lab, RENDER_OPENAI,
		       "{'messages':[{'role':'user','content':'three'}]}");
		/* "three" is 4 + 2, the missing result 12, the call 4 + 1, and
		 * "two" 4 + 1. */
		lab->options.tokens = 27;
		expect(lab, RENDER_ANTHROPIC,
		       "{'system':null,'messages':[{'role':'user','content':"
		       "'three'}]}");
		lab->options.tokens = 28;
		expect(lab, RENDER_ANTHROPIC,
		       "{'system':null,'messages':[{'role':'user','content':"
		       "'two'},{'role':'assistant','content':[{'type':"
		       "'tool_use','id':'1','name':'f','input':{}}]},"
		       "{'role':'user','content':[{'type':'tool_result',"
		       "'tool_use_id':'1','content':'" NO_RESULT
		       "','is_error':true},{'type':'text','text':'three'}]}]}");
		lab->options.tokens = 1000;
		(void)render(lab, RENDER_ANTHROPIC);
		assert_non_null(strstr(buf_cstr(&lab->out), "\"one\""));
	}
}

static void system_and_summary_always_stay(void **state)
{
	struct lab *lab = *state;

	say(lab, "system", "s");
	say(lab, "user", "one");
	say(lab, "user", "two");
	lab->options.tokens = 10;
	lab->summary = STR("sum");
	expect(lab, RENDER_ANTHROPIC,
	       "{'system':'s\\n\\nSummary of the conversation so far:\\n\\nsum'"
	       ",'messages':[{'role':'user','content':'two'}]}");
}

/* ---- memory ---- */

static void fails_cleanly_without_memory(void **state)
{
	struct lab *lab = *state;
	struct render_options o = { .format = RENDER_RESPONSES };
	struct weft_error err;
	bool done = false;

	say(lab, "user", "go");
	add(lab, PARTS("assistant", USE("a b", "'input':{}"),
		       USE("c", "'input_text':'x'")));
	add(lab, PARTS("tool", "{'type':'tool_result','tool_use_id':'\\u0063',"
			       "'content':[" TEXT("x") "]}"));
	for (int64_t n = 0; !done; n++) {
		struct render r;
		struct arena a;
		struct buf out;
		int code = WEFT_OK;

		mem_fault(n, 0);
		arena_init(&a, 0);
		buf_init(&out, 0);
		render_init(&r, &o, &a);
		for (size_t i = 0; i < lab->n && code == WEFT_OK; i++)
			code = render_add(&r, i + 1, lab->bodies[i], &err);
		if (code == WEFT_OK)
			code = render_write(&r, STR("sum"), &out, &err);
		done = mem_faults_hit() == 0;
		mem_fault(-1, 0);
		assert_int_equal(code, done ? WEFT_OK : WEFT_NO_MEMORY);
		if (!done)
			assert_int_equal(err.code, WEFT_NO_MEMORY);
		render_done(&r);
		buf_done(&out);
		arena_done(&a);
		assert_true(n < 1000);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(plain_talk),
		TEST(nothing_at_all),
		TEST(neighbours_join_where_they_must),
		TEST(somebody_must_begin),
		TEST(blank_text_is_left_out),
		TEST(images_stay_with_the_user),
		TEST(names_are_said_in_groups),
		TEST(a_turn_with_tools),
		TEST(what_is_missing_is_answered),
		TEST(orphans_go_and_the_first_double_wins),
		TEST(an_id_may_be_used_again),
		TEST(a_result_behind_the_call_is_its_own),
		TEST(two_calls_with_one_id_are_two_messages),
		TEST(arguments_are_kept_byte_for_byte),
		TEST(ids_and_names_are_mapped),
		TEST(results_of_many_parts),
		TEST(thinking_goes_back_to_who_signed_it),
		TEST(opaque_parts_go_back_to_who_sealed_them),
		TEST(opaque_parts_go_to_their_format),
		TEST(odd_bodies_are_left_out),
		TEST(names_of_members_may_be_escaped),
		TEST(a_call_is_the_assistants_wherever_it_stands),
		TEST(turns_that_do_not_fit_are_left_out),
		TEST(system_and_summary_always_stay),
		TEST(fails_cleanly_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

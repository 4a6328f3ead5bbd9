/* test-api-messages.c - the door: messages, history, events. */
#include "api-help.h"

static yyjson_val *element(yyjson_val *array, size_t i)
{
	yyjson_val *v = yyjson_arr_get(array, i);

	assert_non_null(v);
	return v;
}

/* The texts of the messages of a page, with a space between them. */
static void expect_texts(yyjson_val *page, const char *texts)
{
	char found[512] = "";
	yyjson_arr_iter it;
	yyjson_val *m;
	size_t n = 0;

	yyjson_arr_iter_init(yyjson_obj_get(page, "messages"), &it);
	while ((m = yyjson_arr_iter_next(&it))) {
		yyjson_val *part =
			yyjson_arr_get_first(yyjson_obj_get(m, "parts"));

		n += (size_t)snprintf(found + n, sizeof(found) - n, "%s%s",
				      n ? " " : "", get_str(part, "text"));
		assert_true(n < sizeof(found));
	}
	assert_string_equal(found, texts);
}

static void say_letters(struct lab *lab, const char *key, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char text[2] = { (char)('a' + i), '\0' };

		(void)say(lab, key, text);
	}
}

/* ---- append ---- */

static void answers_with_a_receipt(void **state)
{
	struct lab *lab = *state;
	char session[32];
	yyjson_val *v;

	keep(session, sizeof(session), call(lab, "{'method':'new','key':'k'}"),
	     "id");
	v = call(lab, "{'method':'append','session':'k','message':"
		      "{'role':'user','content':'x'}}");
	assert_int_equal(get_u64(v, "seq"), 2);
	assert_int_equal(get_u64(v, "count"), 1);
	assert_string_equal(get_str(v, "session"), session);
	assert_int_equal(strlen(get_str(v, "id")), WEFT_ID_CHARS);
	assert_null(yyjson_obj_get(v, "replayed"));

	v = call(lab, "{'method':'append','session':'k','messages':["
		      "{'role':'user','content':'x'},"
		      "{'role':'assistant','content':'y'}]}");
	assert_int_equal(get_u64(v, "seq"), 3);
	assert_int_equal(get_u64(v, "count"), 2);
}

static void appends_once(void **state)
{
	struct lab *lab = *state;

	begin(lab, "k");
	for (int i = 0; i < 2; i++) {
		yyjson_val *v = call(lab, "{'method':'append','session':'k',"
					  "'op':'o','message':{'role':'user',"
					  "'content':'x'}}");

		assert_int_equal(get_u64(v, "seq"), 2);
		assert_int_equal(is_true(v, "replayed"), i);
	}
	assert_int_equal(try_call(lab, "{'method':'append','session':'k',"
				       "'op':'o','message':{'role':'user',"
				       "'content':'y'}}"),
			 WEFT_OP_MISMATCH);
	assert_int_equal(try_call(lab, "{'method':'append','session':'k',"
				       "'expect':1,'message':{'role':'user',"
				       "'content':'y'}}"),
			 WEFT_STALE);
	(void)call(lab, "{'method':'append','session':'k','expect':2,"
			"'message':{'role':'user','content':'y'}}");
}

static void refuses_bad_messages(void **state)
{
	static const struct {
		const char *message;
		int code;
	} bad[] = {
		{ "{'role':'user'}", WEFT_INVALID },
		{ "{'role':'king','content':'x'}", WEFT_INVALID },
		{ "{'content':'x'}", WEFT_INVALID },
		{ "{'role':'user','content':7}", WEFT_INVALID },
		{ "{'role':'user','content':'x','seq':1}", WEFT_INVALID },
		{ "{'role':'user','parts':[{'type':'smell'}]}",
		  WEFT_UNKNOWN_PART_KIND },
		{ "{'role':'user','parts':[{'type':'text'}]}",
		  WEFT_INVALID_PART },
		{ "{'role':'user','content':'x','session':'other'}",
		  WEFT_NOT_FOUND },
	};
	struct lab *lab = *state;

	begin(lab, "k");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(try_call(lab,
					  "{'method':'append','session':'k',"
					  "'message':%s}",
					  bad[i].message),
				 bad[i].code);
	refuse(lab, "{'method':'append','session':'k'}", WEFT_INVALID,
	       "append: give either \"message\" or \"messages\"");
	refuse(lab,
	       "{'method':'append','session':'k','message':{},'messages':[]}",
	       WEFT_INVALID, "append: give either \"message\" or \"messages\"");
	assert_int_equal(try_call(lab, "{'method':'append','session':'k',"
				       "'messages':[]}"),
			 WEFT_INVALID);
	/* One bad message spoils its batch, and names its place. */
	assert_int_equal(try_call(lab, "{'method':'append','session':'k',"
				       "'messages':[{'role':'user','content':"
				       "'x'},{'role':'user'}]}"),
			 WEFT_INVALID);
	assert_ptr_equal(strstr(lab->err.message, "message 2: "),
			 lab->err.message);
	assert_int_equal(get_u64(call(lab, "{'method':'show','session':'k'}"),
				 "head_seq"),
			 1);
}

/* ---- the shape of a message ---- */

static void a_message_has_every_member(void **state)
{
	struct lab *lab = *state;
	char session[32];
	yyjson_val *m;

	keep(session, sizeof(session), call(lab, "{'method':'new','key':'k'}"),
	     "id");
	lab->now_ms += 1500;
	(void)say(lab, "k", "hello");
	m = call(lab, "{'method':'message','session':'k','message':2}");
	assert_int_equal(yyjson_obj_size(m), 13);
	assert_int_equal(get_u64(m, "seq"), 2);
	assert_string_equal(get_str(m, "session"), session);
	assert_string_equal(get_str(m, "role"), "user");
	assert_true(is_null(m, "from") && is_null(m, "model") &&
		    is_null(m, "usage") && is_null(m, "duration_ms"));
	assert_string_equal(get_str(m, "created_at"),
			    "2026-11-15T10:00:01.500Z");
	assert_string_equal(get_str(m, "recorded_at"),
			    "2026-11-15T10:00:01.500Z");
	assert_true(yyjson_is_false(yyjson_obj_get(m, "background")));
	assert_true(yyjson_is_false(yyjson_obj_get(m, "redacted")));
}

static void a_message_keeps_what_was_given(void **state)
{
	struct lab *lab = *state;
	yyjson_val *m;

	begin(lab, "k");
	(void)call(lab, "{'method':'append','session':'k','message':{"
			"'role':'assistant','parts':[{'type':'text',"
			"'text':'\\u00e9'}],'from':{'id':'1','name':'Ann'},"
			"'model':{'provider':'p','name':'n'},'usage':{"
			"'input_tokens':1,'output_tokens':2,"
			"'cost_usd':0.000000001},'duration_ms':12,"
			"'at':'2020-01-02T03:04:05Z','background':true,"
			"'bound':{'provider':'p','data':{'z':1.0}},"
			"'other':[1, 2]}}");
	m = call(lab, "{'method':'message','session':'k','message':2}");
	assert_non_null(strstr(lab->text, "\"text\":\"\\u00e9\""));
	assert_non_null(strstr(lab->text, "\"cost_usd\":0.000000001"));
	assert_non_null(strstr(lab->text, "\"data\":{\"z\":1.0}"));
	assert_string_equal(get_str(yyjson_obj_get(m, "from"), "name"), "Ann");
	assert_int_equal(get_u64(m, "duration_ms"), 12);
	assert_true(is_true(m, "background"));
	assert_string_equal(get_str(m, "created_at"),
			    "2020-01-02T03:04:05.000Z");
	assert_string_equal(get_str(m, "recorded_at"),
			    "2026-11-15T10:00:00.000Z");
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(m, "x"),
							"other")),
			 2);

	/* Money is exact. */
	(void)call(lab, "{'method':'append','session':'k','message':{"
			"'role':'assistant','content':'x','usage':{"
			"'input_tokens':1,'output_tokens':2,"
			"'cost_usd':12.5}}}");
	(void)call(lab, "{'method':'show','session':'k'}");
	assert_non_null(strstr(lab->text, "\"cost_usd\":12.500000001,"
					  "\"unpriced\":0"));
}

static void finds_a_message_by_its_id(void **state)
{
	struct lab *lab = *state;
	char id[32];
	yyjson_val *m;

	begin(lab, "k");
	keep(id, sizeof(id),
	     call(lab, "{'method':'append','session':'k','message':"
		       "{'role':'user','content':'x'}}"),
	     "id");
	m = call(lab, "{'method':'message','message':'%s'}", id);
	assert_int_equal(get_u64(m, "seq"), 2);
	assert_string_equal(get_str(m, "id"), id);
	m = call(lab, "{'method':'message','session':'k','message':'%s'}", id);
	assert_string_equal(get_str(m, "id"), id);

	/* The same place, another time: another message. */
	id[9] = id[9] == '0' ? '1' : '0';
	assert_int_equal(
		try_call(lab, "{'method':'message','message':'%s'}", id),
		WEFT_NOT_FOUND);
	assert_int_equal(try_call(lab,
				  "{'method':'message','session':'k',"
				  "'message':'%s'}",
				  id),
			 WEFT_NOT_FOUND);
	refuse(lab, "{'method':'message','message':2}", WEFT_INVALID,
	       "session: missing; a number counts within one");
	refuse(lab, "{'method':'message','message':'what'}", WEFT_INVALID,
	       "message: expected a message id or a number, found \"what\"");
	refuse(lab, "{'method':'message','session':'k','message':1}",
	       WEFT_NOT_FOUND, "event 1 is no message");
	refuse(lab, "{'method':'message','session':'k','message':0}",
	       WEFT_NOT_FOUND, "the session has no message 0");
	refuse(lab, "{'method':'message','session':'k','message':9}",
	       WEFT_NOT_FOUND, "the session has no message 9");
	refuse(lab,
	       "{'method':'message','message':'01J00000000000000000000000'}",
	       WEFT_NOT_FOUND, "no message 01J00000000000000000000000");
}

/* ---- history ---- */

static void pages_of_a_history(void **state)
{
	struct lab *lab = *state;
	yyjson_val *page;

	begin(lab, "k");
	say_letters(lab, "k", 5);
	page = call(lab, "{'method':'history','session':'k'}");
	expect_texts(page, "a b c d e");
	assert_true(is_null(page, "next"));
	assert_int_equal(get_u64(page, "damaged"), 0);
	page = call(lab, "{'method':'history','session':'k','limit':2}");
	expect_texts(page, "a b");
	page = call(lab,
		    "{'method':'history','session':'k','limit':2,'after':%llu}",
		    (unsigned long long)get_u64(page, "next"));
	expect_texts(page, "c d");
	page = call(lab,
		    "{'method':'history','session':'k','limit':2,'after':%llu}",
		    (unsigned long long)get_u64(page, "next"));
	expect_texts(page, "e");
	assert_true(is_null(page, "next"));
	expect_texts(call(lab, "{'method':'history','session':'k',"
			       "'after':9007199254740991}"),
		     "");
	for (unsigned i = 0; i < 3; i++) {
		static const char *const views[] = { "full", "direct",
						     "window" };

		expect_texts(call(lab,
				  "{'method':'history','session':'k',"
				  "'view':'%s'}",
				  views[i]),
			     "a b c d e");
	}
}

static void the_last_messages(void **state)
{
	static const char *const texts[] = { "",         "e",       "d e",
					     "c d e",    "b c d e", "a b c d e",
					     "a b c d e" };
	struct lab *lab = *state;

	begin(lab, "k");
	say_letters(lab, "k", 5);
	/* Events that are no messages do not count. */
	(void)call(lab, "{'method':'rename','session':'k','slug':'x'}");
	(void)call(lab, "{'method':'pin','session':'k'}");
	for (unsigned n = 0; n < ARRAY_LEN(texts); n++) {
		yyjson_val *page = call(lab,
					"{'method':'history','session':'k',"
					"'last':%u}",
					n);

		expect_texts(page, texts[n]);
		assert_true(is_null(page, "next"));
	}
	expect_texts(call(lab, "{'method':'history','session':'k','last':9,"
			       "'after':4}"),
		     "d e");
}

/* More than one page holds: the first page, and where to go on. */
static void the_last_messages_in_pages(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(weft_close(lab->store, NULL), WEFT_OK);
	lab_open(lab, "memory:?page=2");
	begin(lab, "k");
	say_letters(lab, "k", 8);
	for (unsigned last = 0; last <= 9; last++) {
		unsigned first = last > 8 ? 0 : 8 - last;
		uint64_t after = 0;
		unsigned seen = 0;
		bool more = true;

		while (more) {
			yyjson_val *page =
				after ? call(lab,
					     "{'method':'history','session':"
					     "'k','after':%llu}",
					     (unsigned long long)after) :
					call(lab,
					     "{'method':'history','session':"
					     "'k','last':%u}",
					     last);
			size_t n = yyjson_arr_size(
				yyjson_obj_get(page, "messages"));

			assert_true(n <= 2);
			for (size_t i = 0; i < n; i++, seen++)
				assert_int_equal(
					get_u64(element(yyjson_obj_get(
								page,
								"messages"),
							i),
						"seq"),
					2 + first + seen);
			more = !is_null(page, "next");
			after = more ? get_u64(page, "next") : 0;
		}
		assert_int_equal(seen, last > 8 ? 8 : last);
	}
}

static void redacted_messages_are_hidden(void **state)
{
	struct lab *lab = *state;
	char id[32];
	yyjson_val *v;

	begin(lab, "k");
	say_letters(lab, "k", 3);
	keep(id, sizeof(id),
	     call(lab, "{'method':'message','session':'k','message':4}"), "id");
	v = call(lab, "{'method':'redact','session':'k','messages':[3,'%s']}",
		 id);
	assert_int_equal(get_u64(v, "changed"), 2);
	assert_true(is_true(v, "redacted"));
	expect_texts(call(lab, "{'method':'history','session':'k'}"), "a");
	expect_texts(call(lab, "{'method':'history','session':'k','last':2}"),
		     "a");
	v = call(lab, "{'method':'history','session':'k','redacted':true}");
	expect_texts(v, "a b c");
	assert_true(
		is_true(element(yyjson_obj_get(v, "messages"), 1), "redacted"));
	refuse(lab, "{'method':'message','session':'k','message':3}",
	       WEFT_NOT_FOUND,
	       "message 3 is redacted; the option redacted shows it");
	v = call(lab, "{'method':'message','session':'k','message':3,"
		      "'redacted':true}");
	assert_true(is_true(v, "redacted"));
	/* Again changes nothing. */
	v = call(lab, "{'method':'redact','session':'k','messages':[3]}");
	assert_int_equal(get_u64(v, "changed"), 0);
	v = call(lab, "{'method':'redact','session':'k','messages':[3],"
		      "'undo':true}");
	assert_int_equal(get_u64(v, "changed"), 1);
	assert_false(is_true(v, "redacted"));
	expect_texts(call(lab, "{'method':'history','session':'k'}"), "a b");

	refuse(lab, "{'method':'redact','session':'k','messages':[]}",
	       WEFT_INVALID, "messages: expected one or more");
	refuse(lab, "{'method':'redact','session':'k','messages':[2,99]}",
	       WEFT_NOT_FOUND, "the session has no message 99");
	refuse(lab, "{'method':'redact','session':'k','messages':[1]}",
	       WEFT_NOT_FOUND, "event 1 is no message");
	expect_texts(call(lab, "{'method':'history','session':'k'}"), "a b");
}

/* ---- events ---- */

static void events_of_all_types(void **state)
{
	static const char *const types[] = { "session", "message", "patch",
					     "name", "message" };
	struct lab *lab = *state;
	yyjson_val *page, *events;

	begin(lab, "k");
	(void)call(lab, "{'method':'append','session':'k','op':'o1',"
			"'message':{'role':'user','content':'x',"
			"'at':'2020-01-01T00:00:00Z','background':true}}");
	(void)call(lab, "{'method':'rename','session':'k','slug':'t'}");
	(void)call(lab, "{'method':'alias','session':'k','alias':'n'}");
	(void)say(lab, "k", "y");
	page = call(lab, "{'method':'events','session':'k'}");
	events = yyjson_obj_get(page, "events");
	assert_int_equal(yyjson_arr_size(events), ARRAY_LEN(types));
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		yyjson_val *e = element(events, i);

		assert_int_equal(get_u64(e, "seq"), i + 1);
		assert_string_equal(get_str(e, "type"), types[i]);
		assert_string_equal(get_str(e, "ts"),
				    "2026-11-15T10:00:00.000Z");
		assert_int_equal(strlen(get_str(e, "id")), WEFT_ID_CHARS);
	}
	assert_true(is_null(page, "next"));
	assert_string_equal(get_str(element(events, 1), "op"), "o1");
	assert_string_equal(get_str(element(events, 1), "at"),
			    "2020-01-01T00:00:00.000Z");
	assert_true(is_true(element(events, 1), "background"));
	assert_string_equal(get_str(element(events, 1), "role"), "user");
	assert_string_equal(get_str(element(events, 2), "slug"), "t");

	page = call(lab,
		    "{'method':'events','session':'k','after':2,'limit':2}");
	events = yyjson_obj_get(page, "events");
	assert_int_equal(yyjson_arr_size(events), 2);
	assert_int_equal(get_u64(element(events, 0), "seq"), 3);
	assert_int_equal(get_u64(page, "next"), 4);
	page = call(lab, "{'method':'events','session':'k','after':5}");
	assert_true(is_null(page, "next"));
}

/* ---- rendered ---- */

static void expect_answer(struct lab *lab, const char *request,
			  const char *answer)
{
	char text[2048];
	size_t n = strlen(answer);

	assert_true(n < sizeof(text));
	for (size_t i = 0; i <= n; i++)
		text[i] = (char)(answer[i] == '\'' ? '"' : answer[i]);
	(void)call(lab, "%s", request);
	assert_string_equal(lab->text, text);
}

static void call_a_tool(struct lab *lab, const char *key)
{
	(void)call(lab,
		   "{'method':'append','session':'%s','messages':["
		   "{'role':'user','content':'go'},"
		   "{'role':'assistant','parts':[{'type':'tool_use','id':'1',"
		   "'name':'f','input':{ }}]},"
		   "{'role':'tool','parts':[{'type':'tool_result',"
		   "'tool_use_id':'1','content':'r'}]},"
		   "{'role':'user','content':'thanks'}]}",
		   key);
}

static void a_history_for_each_provider(void **state)
{
	struct lab *lab = *state;

	begin(lab, "k");
	expect_answer(lab,
		      "{'method':'history','session':'k','format':'openai'}",
		      "{'messages':[]}");
	call_a_tool(lab, "k");
	expect_answer(lab,
		      "{'method':'history','session':'k',"
		      "'format':'anthropic'}",
		      "{'system':null,'messages':["
		      "{'role':'user','content':'go'},"
		      "{'role':'assistant','content':[{'type':'tool_use',"
		      "'id':'1','name':'f','input':{ }}]},"
		      "{'role':'user','content':[{'type':'tool_result',"
		      "'tool_use_id':'1','content':'r'},"
		      "{'type':'text','text':'thanks'}]}]}");
	expect_answer(lab,
		      "{'method':'history','session':'k','view':'direct',"
		      "'format':'openai','last':2}",
		      "{'messages':[{'role':'user','content':'thanks'}]}");
	expect_answer(lab,
		      "{'method':'history','session':'k','view':'window',"
		      "'format':'responses','tokens':1}",
		      "{'items':[{'type':'message','role':'user','content':"
		      "'thanks'}]}");
	expect_answer(lab,
		      "{'method':'history','session':'k','format':'openai',"
		      "'after':4}",
		      "{'messages':[{'role':'user','content':'thanks'}]}");
	expect_answer(lab,
		      "{'method':'history','session':'k','format':'openai',"
		      "'last':0}",
		      "{'messages':[]}");
	refuse(lab,
	       "{'method':'history','session':'k','format':'openai',"
	       "'limit':3}",
	       WEFT_INVALID,
	       "limit: what is rendered has no pages; use last or tokens");
	refuse(lab, "{'method':'history','session':'k','tokens':0}",
	       WEFT_INVALID, "tokens: expected 1 or more, found 0");
	assert_int_equal(try_call(lab, "{'method':'history','session':'k',"
				       "'format':'gemini'}"),
			 WEFT_INVALID);
}

/* What is hidden is not sent; what depended on it is mended. */
static void what_is_redacted_is_not_rendered(void **state)
{
	struct lab *lab = *state;

	begin(lab, "k");
	call_a_tool(lab, "k");
	(void)call(lab, "{'method':'redact','session':'k','messages':[3]}");
	expect_answer(lab,
		      "{'method':'history','session':'k','format':'openai'}",
		      "{'messages':[{'role':'user','content':'go'},"
		      "{'role':'user','content':'thanks'}]}");
	(void)call(lab, "{'method':'history','session':'k','format':'openai',"
			"'redacted':true}");
	assert_non_null(strstr(lab->text, "tool_calls"));
}

/* A budget counts whole turns, whatever the format; many pages back too. */
static void a_budget_of_tokens(void **state)
{
	struct lab *lab = *state;
	yyjson_val *page;

	begin(lab, "k");
	call_a_tool(lab, "k");
	page = call(lab, "{'method':'history','session':'k','tokens':13}");
	expect_texts(page, "thanks");
	page = call(lab, "{'method':'history','session':'k','tokens':1000}");
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(page, "messages")), 4);
	for (unsigned i = 0; i < 1500; i++)
		(void)say(lab, "k", "x");
	/* Each is a turn of 5. */
	page = call(lab, "{'method':'history','session':'k','format':'openai',"
			 "'tokens':7000}");
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(page, "messages")),
			 1400);
	page = call(lab, "{'method':'history','session':'k','tokens':7000}");
	assert_int_equal(
		get_u64(element(yyjson_obj_get(page, "messages"), 0), "seq"),
		5 + 1500 - 1400 + 1);
	page = call(lab, "{'method':'history','session':'k','format':'openai',"
			 "'last':1200}");
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(page, "messages")),
			 1200);
	page = call(lab, "{'method':'history','session':'k',"
			 "'format':'anthropic'}");
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(page, "messages")), 3);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(answers_with_a_receipt),
		TEST(appends_once),
		TEST(refuses_bad_messages),
		TEST(a_message_has_every_member),
		TEST(a_message_keeps_what_was_given),
		TEST(finds_a_message_by_its_id),
		TEST(pages_of_a_history),
		TEST(the_last_messages),
		TEST(the_last_messages_in_pages),
		TEST(redacted_messages_are_hidden),
		TEST(events_of_all_types),
		TEST(a_history_for_each_provider),
		TEST(what_is_redacted_is_not_rendered),
		TEST(a_budget_of_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

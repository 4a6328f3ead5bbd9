/* test-api.c - the door: requests, sessions, lists, care. */
#include "api-help.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

/* ---- requests ---- */

static void refuses_what_is_no_request(void **state)
{
	struct lab *lab = *state;

	refuse(lab, "[]", WEFT_INVALID, "a request is an object, not array");
	refuse(lab, "{}", WEFT_INVALID,
	       "method: expected a string, found nothing");
	refuse(lab, "{'method':7}", WEFT_INVALID,
	       "method: expected a string, found number");
	refuse(lab, "{'method':'shwo'}", WEFT_INVALID,
	       "no method \"shwo\"; did you mean \"show\"?");
	refuse(lab, "{'method':'frobnicate'}", WEFT_INVALID,
	       "no method \"frobnicate\"; \"methods\" lists them all");
	refuse(lab, "{'method':'stats','method':'stats'}", WEFT_INVALID,
	       "member \"method\" twice at column 19");
	refuse(lab, "{'method':", WEFT_INVALID,
	       "not JSON: unexpected end at column 11");
	assert_int_equal(try_call(lab, "{'method':'show','session':'\xff'}"),
			 WEFT_INVALID);
	assert_int_equal(call_raw_request(lab, STR("{\"method\":\"show\","
						   "\"session\":\"\\ud800\"}")),
			 WEFT_INVALID);
	assert_int_equal(call_raw_request(lab, STR("")), WEFT_INVALID);
}

static void refuses_a_hostile_caller(void **state)
{
	static const char request[] = "{\"method\":\"stats\"}";
	struct lab *lab = *state;
	struct weft_answer *answer = NULL;
	size_t len = 7;

	assert_int_equal(weft_call(NULL, request, sizeof(request) - 1, &answer,
				   &lab->err),
			 WEFT_INVALID);
	assert_int_equal(weft_call(lab->store, NULL, 4, &answer, &lab->err),
			 WEFT_INVALID);
	assert_int_equal(weft_call(lab->store, request, sizeof(request) - 1,
				   NULL, &lab->err),
			 WEFT_INVALID);
	assert_int_equal(
		weft_call(lab->store, request, SIZE_MAX, &answer, &lab->err),
		WEFT_LIMIT);
	assert_null(answer);
	/* Without a place for the error it fails all the same. */
	assert_int_equal(weft_call(lab->store, "{", 1, &answer, NULL),
			 WEFT_INVALID);
	assert_string_equal(weft_answer_text(NULL, &len), "");
	assert_int_equal(len, 0);
	weft_answer_free(NULL);
}

/* Also methods that ask the store itself, which would be used by two. */
static void refuses_a_child(void **state)
{
	struct lab *lab = *state;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct weft_answer *answer;
		static const char request[] = "{\"method\":\"list\"}";
		int r = weft_call(lab->store, request, sizeof(request) - 1,
				  &answer, NULL);

		_exit(r == WEFT_IO ? 0 : 1);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void checks_fields(void **state)
{
	struct lab *lab = *state;

	begin(lab, "k");
	refuse(lab, "{'method':'show'}", WEFT_INVALID,
	       "show: field \"session\" is missing");
	refuse(lab, "{'method':'show','session':null}", WEFT_INVALID,
	       "show: field \"session\" is missing");
	refuse(lab, "{'method':'show','sesion':'k'}", WEFT_INVALID,
	       "show: unknown field \"sesion\"; did you mean \"session\"?");
	refuse(lab, "{'method':'show','session':'k','zzz':1}", WEFT_INVALID,
	       "show: unknown field \"zzz\"");
	refuse(lab, "{'method':'show','session':7}", WEFT_INVALID,
	       "session: expected a string, found number");
	refuse(lab, "{'method':'history','session':'k','last':'x'}",
	       WEFT_INVALID,
	       "last: expected an integer from 0 to 2^53 - 1, found string");
	refuse(lab, "{'method':'history','session':'k','last':-1}",
	       WEFT_INVALID,
	       "last: expected an integer from 0 to 2^53 - 1, found number");
	refuse(lab,
	       "{'method':'history','session':'k','after':9007199254740992}",
	       WEFT_INVALID,
	       "after: expected an integer from 0 to 2^53 - 1, found number");
	refuse(lab, "{'method':'history','session':'k','redacted':1}",
	       WEFT_INVALID, "redacted: expected true or false, found number");
	refuse(lab, "{'method':'history','session':'k','view':'side'}",
	       WEFT_INVALID,
	       "view: expected one of full|direct|window, found \"side\"");
	refuse(lab, "{'method':'new','aliases':'a'}", WEFT_INVALID,
	       "aliases: expected an array of strings, found string");
	refuse(lab, "{'method':'new','aliases':['a',1]}", WEFT_INVALID,
	       "aliases: expected an array of strings, found number");
	refuse(lab, "{'method':'new','metadata':[]}", WEFT_INVALID,
	       "metadata: expected an object, found array");
	refuse(lab, "{'method':'new','tools':{}}", WEFT_INVALID,
	       "tools: expected an array, found object");
	refuse(lab, "{'method':'new','model':{'provider':'a','x':'b'}}",
	       WEFT_INVALID,
	       "model: expected {\"provider\":\"...\",\"name\":\"...\"}, found "
	       "object");
	refuse(lab, "{'method':'new','expires_at':'tomorrow'}", WEFT_INVALID,
	       "expires_at: expected a time like \"2026-11-15T10:00:00Z\", "
	       "found \"tomorrow\"");
	refuse(lab, "{'method':'redact','session':'k','messages':['x']}",
	       WEFT_INVALID,
	       "messages: expected an array of message ids and numbers, found "
	       "\"x\"");
	/* Nothing of all this has been done. */
	assert_int_equal(get_u64(call(lab, "{'method':'stats'}"), "sessions"),
			 1);
}

static void takes_names_with_escapes(void **state)
{
	struct lab *lab = *state;
	yyjson_val *s;

	s = call(lab,
		 "{'m\\u0065thod':'new','m\\u0065tadata':{'a' : [1,\n2]}}");
	assert_int_equal(yyjson_obj_size(yyjson_obj_get(s, "metadata")), 1);
}

static void knows_limits_of_fields(void **state)
{
	struct lab *lab = *state;
	yyjson_val *limits;

	assert_int_equal(weft_close(lab->store, NULL), WEFT_OK);
	lab_open(lab, "memory:?name_bytes=4&slug_bytes=3&metadata_bytes=8"
		      "&op_bytes=2&page=2");
	limits = yyjson_obj_get(call(lab, "{'method':'limits'}"), "limits");
	assert_int_equal(get_u64(limits, "name_bytes"), 4);
	assert_int_equal(get_u64(limits, "message_bytes"), MIB(16));
	(void)call(lab, "{'method':'new','key':'1234','slug':'123','op':'12',"
			"'metadata':{'a':12}}");
	refuse(lab, "{'method':'new','key':'12345'}", WEFT_LIMIT,
	       "key: 5 bytes, the limit is 4 (limit name_bytes)");
	refuse(lab, "{'method':'new','aliases':['a','12345']}", WEFT_LIMIT,
	       "aliases: 5 bytes, the limit is 4 (limit name_bytes)");
	refuse(lab, "{'method':'new','slug':'1234'}", WEFT_LIMIT,
	       "slug: 4 bytes, the limit is 3 (limit slug_bytes)");
	refuse(lab, "{'method':'new','op':'123'}", WEFT_LIMIT,
	       "op: 3 bytes, the limit is 2 (limit op_bytes)");
	refuse(lab, "{'method':'new','metadata':{'a':123}}", WEFT_LIMIT,
	       "metadata: 9 bytes, the limit is 8 (limit metadata_bytes)");
	refuse(lab, "{'method':'list','limit':3}", WEFT_LIMIT,
	       "limit: expected 1 to 2 (page), found 3");
	refuse(lab, "{'method':'list','limit':0}", WEFT_INVALID,
	       "limit: expected 1 to 2 (page), found 0");
	refuse(lab, "{'method':'history','session':'1234','limit':0}",
	       WEFT_INVALID, "limit: expected 1 or more, found 0");
}

static void describes_itself(void **state)
{
	struct lab *lab = *state;
	yyjson_val *list =
		yyjson_obj_get(call(lab, "{'method':'methods'}"), "methods");
	yyjson_arr_iter it;
	yyjson_val *m;

	assert_true(yyjson_arr_size(list) > 20);
	yyjson_arr_iter_init(list, &it);
	while ((m = yyjson_arr_iter_next(&it))) {
		assert_true(strlen(get_str(m, "about")) > 10);
		assert_true(strlen(get_str(m, "answer")) > 5);
		assert_true(strlen(get_str(m, "right")) > 3);
		assert_true(yyjson_is_arr(yyjson_obj_get(m, "fields")));
	}
}

/* ---- sessions ---- */

static void shows_every_member(void **state)
{
	static const char *const members[] = {
		"id",
		"key",
		"aliases",
		"previous",
		"kind",
		"parent",
		"forked_from",
		"fork_seq",
		"parent_tool_use_id",
		"root",
		"agent",
		"slug",
		"project_dir",
		"model",
		"scope",
		"user",
		"channel",
		"user_role",
		"tools",
		"summary",
		"head_seq",
		"content_seq",
		"window_seq",
		"message_count",
		"own",
		"inherited_count",
		"turn_count",
		"total",
		"first_user",
		"last_user",
		"last_agent",
		"metadata",
		"pinned",
		"expires_at",
		"lease",
		"running_since",
		"path",
		"created_at",
		"updated_at",
		"last_interaction_at",
		"deleted_at",
	};
	struct lab *lab = *state;
	yyjson_val *s = call(lab, "{'method':'new'}");

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		bool there = yyjson_obj_get(s, members[i]) != NULL;

		if (!there)
			print_message("# member %zu is missing\n", i);
		assert_true(there);
	}
	assert_int_equal(yyjson_obj_size(s), ARRAY_LEN(members) + 1);
	assert_true(is_true(s, "created"));
	assert_string_equal(get_str(s, "root"), get_str(s, "id"));
	assert_string_equal(get_str(s, "kind"), "primary");
	assert_string_equal(get_str(s, "agent"), "main");
	assert_string_equal(get_str(s, "created_at"),
			    "2026-11-15T10:00:00.000Z");
	assert_true(is_null(s, "key") && is_null(s, "scope") &&
		    is_null(s, "tools") && is_null(s, "path") &&
		    is_null(s, "lease") && is_null(s, "fork_seq"));
	assert_int_equal(get_u64(s, "window_seq"), 1);
	assert_int_equal(get_u64(s, "head_seq"), 1);
	assert_int_equal(yyjson_obj_size(yyjson_obj_get(s, "own")), 6);
}

static void takes_all_that_a_session_begins_with(void **state)
{
	struct lab *lab = *state;
	yyjson_val *s = call(
		lab,
		"{'method':'new','key':'k','aliases':['b','a'],'slug':'title',"
		"'agent':'coder','project_dir':'/p','model':{'provider':'x',"
		"'name':'y'},'user':'u','channel':'c','user_role':'r',"
		"'metadata':{'n':1.50},'tools':['t'],"
		"'expires_at':'2027-01-01T00:00:00+01:00'}");

	assert_string_equal(get_str(s, "key"), "k");
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(s, "aliases")), 2);
	assert_string_equal(get_str(s, "slug"), "title");
	assert_string_equal(get_str(s, "agent"), "coder");
	assert_string_equal(get_str(s, "project_dir"), "/p");
	assert_string_equal(get_str(yyjson_obj_get(s, "model"), "provider"),
			    "x");
	assert_string_equal(get_str(yyjson_obj_get(s, "model"), "name"), "y");
	assert_string_equal(get_str(s, "user"), "u");
	assert_string_equal(get_str(s, "channel"), "c");
	assert_string_equal(get_str(s, "user_role"), "r");
	assert_string_equal(get_str(s, "expires_at"),
			    "2026-12-31T23:00:00.000Z");
	/* The caller's own bytes. */
	assert_non_null(strstr(lab->text, "\"metadata\":{\"n\":1.50}"));
	assert_non_null(strstr(lab->text, "\"tools\":[\"t\"]"));
}

static void a_key_is_one_session(void **state)
{
	struct lab *lab = *state;
	yyjson_val *s;
	char id[32];

	s = call(lab, "{'method':'new','key':'k','slug':'one'}");
	keep(id, sizeof(id), s, "id");
	s = call(lab, "{'method':'new','key':'k','slug':'two'}");
	assert_string_equal(get_str(s, "id"), id);
	assert_string_equal(get_str(s, "slug"), "one");
	assert_false(is_true(s, "created"));
	assert_int_equal(try_call(lab, "{'method':'new','aliases':['k']}"),
			 WEFT_EXISTS);
	assert_non_null(strstr(lab->err.message, id));
}

static void an_operation_makes_one_session(void **state)
{
	struct lab *lab = *state;
	yyjson_val *s;
	char id[32];

	s = call(lab, "{'method':'new','op':'o','slug':'one'}");
	assert_null(yyjson_obj_get(s, "replayed"));
	keep(id, sizeof(id), s, "id");
	s = call(lab, "{'method':'new','op':'o','slug':'one'}");
	assert_string_equal(get_str(s, "id"), id);
	assert_true(is_true(s, "replayed") && is_true(s, "created"));
	refuse(lab, "{'method':'new','op':''}", WEFT_INVALID,
	       "op: may not be empty");
	refuse(lab, "{'method':'new','key':''}", WEFT_INVALID,
	       "key: may not be empty");
	refuse(lab, "{'method':'new','aliases':['']}", WEFT_INVALID,
	       "aliases: a name may not be empty");
}

static void a_subagent_has_a_parent(void **state)
{
	struct lab *lab = *state;
	yyjson_val *s;
	char parent[32];

	s = call(lab, "{'method':'new','key':'p'}");
	keep(parent, sizeof(parent), s, "id");
	s = call(lab, "{'method':'new','kind':'subagent','parent':'p',"
		      "'parent_tool_use_id':'t1'}");
	assert_string_equal(get_str(s, "parent"), parent);
	assert_string_equal(get_str(s, "root"), parent);
	assert_string_equal(get_str(s, "parent_tool_use_id"), "t1");
	refuse(lab, "{'method':'new','kind':'subagent'}", WEFT_INVALID,
	       "parent: a subagent must have one");
	refuse(lab, "{'method':'new','parent':'p'}", WEFT_INVALID,
	       "parent: only a subagent has one; for that the kind is "
	       "subagent");
	refuse(lab, "{'method':'new','parent_tool_use_id':'t'}", WEFT_INVALID,
	       "parent_tool_use_id: only a subagent has one");
	refuse(lab, "{'method':'new','kind':'subagent','parent':'nobody'}",
	       WEFT_NOT_FOUND, "no session 'nobody'");
}

static void changes_a_session(void **state)
{
	struct lab *lab = *state;
	yyjson_val *s;

	begin(lab, "k");
	s = call(lab, "{'method':'rename','session':'k','slug':'other'}");
	assert_string_equal(get_str(s, "slug"), "other");
	assert_int_equal(get_u64(s, "head_seq"), 2);
	/* What changes nothing writes nothing. */
	s = call(lab, "{'method':'rename','session':'other','slug':'other'}");
	assert_int_equal(get_u64(s, "head_seq"), 2);
	s = call(lab, "{'method':'rename','session':'k','slug':''}");
	assert_string_equal(get_str(s, "slug"), "");
	s = call(lab, "{'method':'pin','session':'k'}");
	assert_true(is_true(s, "pinned"));
	s = call(lab, "{'method':'unpin','session':'k'}");
	assert_false(is_true(s, "pinned"));
	s = call(lab, "{'method':'set','session':'k','changes':{'agent':'a',"
		      "'metadata':{'x':1.0},'model':{'provider':'p',"
		      "'name':'n'}}}");
	assert_string_equal(get_str(s, "agent"), "a");
	assert_non_null(strstr(lab->text, "\"metadata\":{\"x\":1.0}"));
	assert_int_equal(try_call(lab, "{'method':'set','session':'k',"
				       "'changes':{'agent':'b','zzz':1}}"),
			 WEFT_INVALID);
	s = call(lab, "{'method':'show','session':'k'}");
	assert_string_equal(get_str(s, "agent"), "a");
}

static void names_come_and_go(void **state)
{
	struct lab *lab = *state;
	yyjson_val *s;

	begin(lab, "one");
	begin(lab, "two");
	s = call(lab, "{'method':'alias','session':'one','alias':'x'}");
	assert_string_equal(yyjson_get_str(yyjson_arr_get_first(
				    yyjson_obj_get(s, "aliases"))),
			    "x");
	assert_int_equal(
		try_call(lab, "{'method':'alias','session':'two','alias':'x'}"),
		WEFT_EXISTS);
	s = call(lab, "{'method':'alias','session':'two','alias':'x',"
		      "'how':'move'}");
	assert_string_equal(get_str(s, "key"), "two");
	s = call(lab, "{'method':'show','session':'x'}");
	assert_string_equal(get_str(s, "key"), "two");
	(void)call(lab, "{'method':'alias','session':'two','alias':'x',"
			"'how':'remove'}");
	assert_int_equal(try_call(lab, "{'method':'show','session':'x'}"),
			 WEFT_NOT_FOUND);
	refuse(lab, "{'method':'alias','session':'two','alias':''}",
	       WEFT_INVALID, "alias: may not be empty");
}

static void deleted_sessions_come_back(void **state)
{
	struct lab *lab = *state;
	yyjson_val *s;
	char id[32];

	begin(lab, "k");
	s = call(lab, "{'method':'delete','session':'k'}");
	assert_string_equal(get_str(s, "deleted_at"),
			    "2026-11-15T10:00:00.000Z");
	keep(id, sizeof(id), s, "id");
	assert_int_equal(try_call(lab, "{'method':'show','session':'k'}"),
			 WEFT_NOT_FOUND);
	assert_int_equal(try_call(lab,
				  "{'method':'append','session':'%s',"
				  "'message':{'role':'user','content':'x'}}",
				  id),
			 WEFT_DELETED);
	s = call(lab, "{'method':'restore','session':'%s'}", id);
	assert_true(is_null(s, "deleted_at"));
	s = call(lab, "{'method':'show','session':'k'}");
	assert_string_equal(get_str(s, "id"), id);
}

/* ---- lists ---- */

/* Begin sessions s1..sn, a second apart. */
static void begin_many(struct lab *lab, unsigned n)
{
	for (unsigned i = 1; i <= n; i++) {
		lab->now_ms += 1000;
		(void)call(lab,
			   "{'method':'new','key':'s%u','slug':'number %u'}", i,
			   i);
	}
}

static void expect_page(yyjson_val *page, const char *keys)
{
	char found[256] = "";
	yyjson_arr_iter it;
	yyjson_val *s;
	size_t n = 0;

	yyjson_arr_iter_init(yyjson_obj_get(page, "sessions"), &it);
	while ((s = yyjson_arr_iter_next(&it)))
		n += (size_t)snprintf(found + n, sizeof(found) - n, "%s%s",
				      n ? " " : "", get_str(s, "key"));
	assert_string_equal(found, keys);
}

static void pages_go_both_ways(void **state)
{
	struct lab *lab = *state;
	char next[80], prev[80];
	yyjson_val *page;

	begin_many(lab, 5);
	page = call(lab, "{'method':'list','limit':2}");
	expect_page(page, "s5 s4");
	assert_true(is_null(page, "prev"));
	keep(next, sizeof(next), page, "next");
	page = call(lab, "{'method':'list','limit':2,'cursor':'%s'}", next);
	expect_page(page, "s3 s2");
	keep(next, sizeof(next), page, "next");
	keep(prev, sizeof(prev), page, "prev");
	page = call(lab, "{'method':'list','limit':2,'cursor':'%s'}", next);
	expect_page(page, "s1");
	assert_true(is_null(page, "next"));
	page = call(lab, "{'method':'list','limit':2,'cursor':'%s'}", prev);
	expect_page(page, "s5 s4");
	assert_true(is_null(page, "prev"));
	assert_non_null(get_str(page, "next"));

	/* A cursor belongs to its order. */
	assert_int_equal(try_call(lab,
				  "{'method':'list','sort':'created',"
				  "'cursor':'%s'}",
				  next),
			 WEFT_INVALID);
	assert_int_equal(try_call(lab, "{'method':'list','cursor':'x'}"),
			 WEFT_INVALID);
	assert_int_equal(try_call(lab, "{'method':'list','cursor':"
				       "'ni.x.01J00000000000000000000000'}"),
			 WEFT_INVALID);
	assert_int_equal(try_call(lab, "{'method':'list','cursor':"
				       "'ni..01J00000000000000000000000'}"),
			 WEFT_INVALID);
}

static void lists_are_filtered(void **state)
{
	struct lab *lab = *state;

	begin_many(lab, 2);
	(void)call(lab, "{'method':'new','key':'u','user':'anna','channel':'c',"
			"'agent':'b','project_dir':'/p','slug':'Caf\xc3\xa9'}");
	(void)call(lab, "{'method':'new','key':'sub','kind':'subagent',"
			"'parent':'u'}");
	(void)call(lab, "{'method':'new','key':'book','kind':'book'}");
	lab->now_ms += 1000;
	(void)say(lab, "s1", "hello");

	expect_page(call(lab, "{'method':'list'}"), "s1 u s2");
	expect_page(call(lab, "{'method':'list','sort':'created'}"), "u s2 s1");
	expect_page(call(lab, "{'method':'list','query':'cafe'}"), "u");
	expect_page(call(lab, "{'method':'list','query':'HELLO'}"), "s1");
	expect_page(call(lab, "{'method':'list','user':'anna'}"), "u");
	expect_page(call(lab, "{'method':'list','channel':'c'}"), "u");
	expect_page(call(lab, "{'method':'list','agent':'b'}"), "u");
	expect_page(call(lab, "{'method':'list','project_dir':'/p'}"), "u");
	expect_page(call(lab, "{'method':'list','kind':'subagent'}"), "sub");
	expect_page(call(lab, "{'method':'list','kind':'book'}"), "book");
	expect_page(call(lab, "{'method':'list','parent':'u'}"), "sub");
	expect_page(call(lab, "{'method':'list','parent':'u',"
			      "'kind':'primary'}"),
		    "");
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(
				 call(lab, "{'method':'list','kind':'all'}"),
				 "sessions")),
			 5);
	(void)call(lab, "{'method':'delete','session':'s2'}");
	expect_page(call(lab, "{'method':'list'}"), "s1 u");
	expect_page(call(lab, "{'method':'list','deleted':true}"), "s1 u s2");
}

/* ---- care ---- */

static void looks_after_the_store(void **state)
{
	struct lab *lab = *state;
	static const char *const tasks[] = { "verify", "repair", "reindex" };
	yyjson_val *v;

	begin(lab, "k");
	(void)say(lab, "k", "one");
	for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
		v = call(lab, "{'method':'%s'}", tasks[i]);
		assert_true(is_true(v, "ok"));
		assert_int_equal(get_u64(v, "sessions"), 1);
		assert_int_equal(get_u64(v, "events"), 2);
		assert_int_equal(yyjson_arr_size(yyjson_obj_get(v, "damaged")),
				 0);
	}
	v = call(lab, "{'method':'tasks'}");
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(v, "tasks")), 0);
}

static void counts_what_is_there(void **state)
{
	struct lab *lab = *state;
	yyjson_val *v;

	assert_int_equal(weft_close(lab->store, NULL), WEFT_OK);
	lab_open(lab, "memory:?page=2");
	begin_many(lab, 5);
	(void)call(lab, "{'method':'append','session':'s1','message':{"
			"'role':'assistant','content':'x','usage':{"
			"'input_tokens':3,'output_tokens':4,"
			"'cost_usd':0.5}}}");
	(void)call(lab, "{'method':'new','kind':'subagent','parent':'s1'}");
	(void)call(lab, "{'method':'new','kind':'book'}");
	(void)call(lab, "{'method':'delete','session':'s5'}");
	v = call(lab, "{'method':'stats'}");
	assert_int_equal(get_u64(v, "sessions"), 7);
	assert_int_equal(get_u64(v, "primary"), 5);
	assert_int_equal(get_u64(v, "subagents"), 1);
	assert_int_equal(get_u64(v, "books"), 1);
	assert_int_equal(get_u64(v, "deleted"), 1);
	assert_int_equal(get_u64(v, "messages"), 1);
	assert_int_equal(get_u64(v, "events"), 9);
	assert_int_equal(get_u64(yyjson_obj_get(v, "total"), "input_tokens"),
			 3);
	assert_non_null(strstr(lab->text, "\"cost_usd\":0.5,"));
	assert_true(is_true(yyjson_obj_get(v, "health"), "writable"));
	assert_true(get_u64(yyjson_obj_get(v, "engine"), "requests") >= 8);
}

/* ---- without memory ---- */

/* Each request with its n-th allocation failing, for every n. */
static void fails_clearly_without_memory(void **state)
{
	static const char *const requests[] = {
		"{'method':'show','session':'k'}",
		"{'method':'list','query':'x'}",
		"{'method':'history','session':'k','last':2}",
		"{'method':'new','slug':'s','metadata':{'a':1}}",
		("{'method':'append','session':'k','message':{'role':'user',"
		 "'content':'x'}}"),
		"{'method':'redact','session':'k','messages':[2]}",
		"{'method':'rename','session':'k','slug':'y'}",
		"{'method':'methods'}",
	};
	struct lab *lab = *state;

	begin(lab, "k");
	(void)say(lab, "k", "one");
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		char text[256];
		int r = WEFT_NO_MEMORY;

		(void)snprintf(text, sizeof(text), "%s", requests[i]);
		for (char *p = text; *p; p++)
			*p = *p == '\'' ? '"' : *p;
		for (int n = 0; r != WEFT_OK; n++) {
			struct weft_answer *answer = NULL;

			assert_true(n < 1000);
			mem_fault(n, 1);
			r = weft_call(lab->store, text, strlen(text), &answer,
				      &lab->err);
			mem_fault(-1, 0);
			/* Written, and no memory for the answer. */
			if (r == WEFT_UNKNOWN)
				assert_non_null(
					strstr(lab->err.message, "written"));
			else if (r != WEFT_OK)
				assert_int_equal(r, WEFT_NO_MEMORY);
			weft_answer_free(answer);
		}
	}
	/* The store is well; crash/nth_door.c sees that nothing was done. */
	assert_true(is_true(call(lab, "{'method':'verify'}"), "ok"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(refuses_what_is_no_request),
		TEST(refuses_a_hostile_caller),
		TEST(refuses_a_child),
		TEST(checks_fields),
		TEST(takes_names_with_escapes),
		TEST(knows_limits_of_fields),
		TEST(describes_itself),
		TEST(shows_every_member),
		TEST(takes_all_that_a_session_begins_with),
		TEST(a_key_is_one_session),
		TEST(an_operation_makes_one_session),
		TEST(a_subagent_has_a_parent),
		TEST(changes_a_session),
		TEST(names_come_and_go),
		TEST(deleted_sessions_come_back),
		TEST(pages_go_both_ways),
		TEST(lists_are_filtered),
		TEST(looks_after_the_store),
		TEST(counts_what_is_there),
		TEST(fails_clearly_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * public_ops.c - an operation id stands for one request and for no other.
 *
 * One table with every method that takes one: the request again is the same
 * act, and whatever it says otherwise is refused.
 */
#include "conformance/public.h"

#define OTHERS 9

struct act {
	const char *method;
	const char *asked;          /* members; $ is the session */
	const char *others[OTHERS]; /* the same request, but for one member */
};

static const struct act acts[] = {
	{ "new",
	  "'slug':'a','agent':'x','user':'u1','aliases':['n1','n2'],"
	  "'metadata':{'k':1},'model':{'provider':'p','name':'m'}",
	  { "'slug':'b','agent':'x','user':'u1','aliases':['n1','n2'],"
	    "'metadata':{'k':1},'model':{'provider':'p','name':'m'}",
	    "'slug':'a','agent':'y','user':'u1','aliases':['n1','n2'],"
	    "'metadata':{'k':1},'model':{'provider':'p','name':'m'}",
	    "'slug':'a','agent':'x','user':'u2','aliases':['n1','n2'],"
	    "'metadata':{'k':1},'model':{'provider':'p','name':'m'}",
	    "'slug':'a','agent':'x','user':'u1','aliases':['n1'],"
	    "'metadata':{'k':1},'model':{'provider':'p','name':'m'}",
	    "'slug':'a','agent':'x','user':'u1','aliases':['n1','n2'],"
	    "'metadata':{'k':2},'model':{'provider':'p','name':'m'}",
	    "'slug':'a','agent':'x','user':'u1','aliases':['n1','n2'],"
	    "'metadata':{'k':1},'model':{'provider':'p','name':'n'}",
	    "'slug':'a'", "'channel':'c'", "'key':'k'" } },
	{ "new",
	  "'kind':'subagent','parent':'$','parent_tool_use_id':'t'",
	  { "'kind':'subagent','parent':'$','parent_tool_use_id':'u'",
	    "'kind':'subagent','parent':'$','parent_tool_use_id':'t',"
	    "'slug':'s'",
	    "'slug':'s'" } },
	{ "fork",
	  "'session':'$','at':3",
	  { "'session':'$','at':4", "'session':'$','at':2", "'session':'$'",
	    "'session':'$','at':3,'slug':'zz'",
	    "'session':'$','at':3,'model':{'provider':'p','name':'m'}" } },
	{ "append",
	  "'session':'$','message':{'role':'user','content':'x'}",
	  { "'session':'$','message':{'role':'user','content':'y'}",
	    "'session':'$','message':{'role':'assistant','content':'x'}",
	    "'session':'$','message':{'role':'user','content':'x',"
	    "'at':'2026-01-02T03:04:05.000Z'}",
	    "'session':'$','message':{'role':'user','content':'x',"
	    "'background':true}" } },
	{ "compact",
	  "'session':'$','keep':2,'summary':'S'",
	  { "'session':'$','keep':1,'summary':'S'",
	    "'session':'$','keep':2,'summary':'T'",
	    "'session':'$','keep':2,'summary':'S','tokens_saved':7",
	    "'session':'$','keep':2,'summary':'S','turn':true",
	    "'session':'$','before':3,'summary':'S'",
	    "'session':'$','keep':2" } },
	{ "truncate",
	  "'session':'$','keep':1",
	  { "'session':'$','keep':2", "'session':'$','keep':0" } },
	{ "set_summary",
	  "'session':'$','summary':'U'",
	  { "'session':'$','summary':'V'", "'session':'$','summary':''" } },
	{ "set_history",
	  "'session':'$','messages':[{'role':'user','content':'h'}]",
	  { "'session':'$','messages':[{'role':'user','content':'i'}]",
	    "'session':'$','messages':[]",
	    "'session':'$','messages':[{'role':'user','content':'h'}],"
	    "'summary':'S'" } },
	{ "lease",
	  "'session':'$','how':'takeover','owner':'o','ttl':30",
	  { "'session':'$','how':'takeover','owner':'o','ttl':60",
	    "'session':'$','how':'takeover','owner':'p','ttl':30",
	    "'session':'$','how':'acquire','owner':'o','ttl':30" } },
	{ "lease",
	  "'session':'$','how':'release','owner':'o'",
	  { "'session':'$','how':'renew','owner':'o'",
	    "'session':'$','how':'release','owner':'p'" } },
	{ "memory_add",
	  "'session':'$','content':'c','title':'t'",
	  { "'session':'$','content':'d','title':'t'",
	    "'session':'$','content':'c'",
	    "'session':'$','content':'c','title':'t','source':'s'" } },
	{ "todos_set",
	  "'session':'$','todos':[{'content':'c','status':'pending'}]",
	  { "'session':'$','todos':[{'content':'c','status':'completed'}]",
	    "'session':'$','todos':[]" } },
	{ "turn",
	  "'session':'$','state':'begun'",
	  { "'session':'$','state':'ended'" } },
	{ "turn",
	  "'session':'$','state':'failed','reason':'a'",
	  { "'session':'$','state':'failed','reason':'b'",
	    "'session':'$','state':'failed'" } },
	{ "usage_add",
	  "'session':'$','usage':{'input_tokens':1}",
	  { "'session':'$','usage':{'input_tokens':2}",
	    "'session':'$','usage':{'input_tokens':1,'cost_usd':0.1}" } },
};

/* The request as JSON: a quote for each apostrophe, the session for each $. */
static const char *request_of(struct desk *d, const char *method,
			      const char *members, const char *op)
{
	static char text[1024];
	struct buf b;

	buf_init(&b, sizeof(text) - 1);
	buf_add_lit(&b, "{\"method\":\"");
	buf_add_str(&b, str_of(method));
	buf_add_lit(&b, "\",\"op\":\"");
	buf_add_str(&b, str_of(op));
	buf_add_lit(&b, "\",");
	for (const char *p = members; *p; p++) {
		if (*p == '$')
			buf_add_str(&b, str_of(d->id));
		else
			buf_add_c(&b, (char)(*p == '\'' ? '"' : *p));
	}
	buf_add_c(&b, '}');
	assert_int_equal(buf_error(&b, NULL), WEFT_OK);
	memcpy(text, b.ptr, b.len);
	text[b.len] = '\0';
	buf_done(&b);
	return text;
}

static void say_three(struct desk *d)
{
	(void)desk_say(d, d->id, "a");
	(void)desk_say(d, d->id, "b");
	(void)desk_say(d, d->id, "c");
}

static void expect_no_other(struct desk *d, const struct act *act,
			    const char *op)
{
	uint64_t head = desk_head(d, d->id);

	for (size_t i = 0; i < OTHERS && act->others[i]; i++) {
		const char *other =
			request_of(d, act->method, act->others[i], op);
		int r = desk_try_call(d, "%s", other);

		if (r != WEFT_OP_MISMATCH)
			print_error("%s with %s: answered %d\n", act->method,
				    act->others[i], r);
		desk_fails(d, r, WEFT_OP_MISMATCH, op);
	}
	(void)desk_call(d, "%s", request_of(d, act->method, act->asked, op));
	assert_int_equal(desk_head(d, d->id), head);
}

static void an_operation_id_stands_for_one_request(void **state)
{
	struct desk *d = *state;
	char op[16];

	say_three(d);
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		(void)snprintf(op, sizeof(op), "op-%zu", i);
		(void)desk_call(
			d, "%s",
			request_of(d, acts[i].method, acts[i].asked, op));
		expect_no_other(d, &acts[i], op);
	}
	/* All the same later on, and from the log alone. */
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		(void)snprintf(op, sizeof(op), "op-%zu", i);
		expect_no_other(d, &acts[i], op);
	}
}

/* What an act writes depends on what there was; what was asked for does not. */
static void the_same_request_is_known_whatever_has_changed(void **state)
{
	struct desk *d = *state;
	const char *made, *f;
	uint64_t head;

	say_three(d);
	made = desk_new(d, "\"op\":\"n\",\"slug\":\"a\",\"aliases\":[\"x\"]");
	(void)desk_call(d,
			"{\"method\":\"rename\",\"session\":\"%s\","
			"\"slug\":\"b\"}",
			made);
	assert_string_equal(desk_new(d, "\"op\":\"n\",\"slug\":\"a\","
					"\"aliases\":[\"x\"]"),
			    made);
	f = desk_member(
		d,
		desk_call(d, "%s",
			  request_of(d, "fork", "'session':'$','at':4", "f")),
		"id");
	(void)desk_call(
		d, "%s",
		request_of(d, "truncate", "'session':'$','keep':1", "t"));
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[4]}",
			d->id);
	(void)desk_say(d, d->id, "d");
	head = desk_head(d, d->id);
	assert_string_equal(
		desk_member(d,
			    desk_call(d, "%s",
				      request_of(d, "fork",
						 "'session':'$','at':4", "f")),
			    "id"),
		f);
	(void)desk_call(
		d, "%s",
		request_of(d, "truncate", "'session':'$','keep':1", "t"));
	assert_int_equal(desk_head(d, d->id), head);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(an_operation_id_stands_for_one_request),
	PUBLIC_TEST(the_same_request_is_known_whatever_has_changed),
};

const struct suite public_op_suite = { tests, ARRAY_LEN(tests) };

/* route.c - the method that finds the session of a message. */
#include "api/api.h"

#include "base/id.h"
#include "route/route.h"

static struct route_request request_of(const struct call *c)
{
	return (struct route_request){
		.context = {
			.channel = call_str(c, "channel"),
			.account = call_str(c, "account"),
			.chat_type = call_str(c, "chat_type"),
			.chat_id = call_str(c, "chat_id"),
			.topic_id = call_str(c, "topic_id"),
			.space_type = call_str(c, "space_type"),
			.space_id = call_str(c, "space_id"),
			.sender_id = call_str(c, "sender_id"),
			.mentioned = call_bool(c, "mentioned"),
		},
		.agent = call_str(c, "agent"),
		.session_key = call_str(c, "session_key"),
	};
}

static void encode_names(struct buf *b, const struct name_list *l)
{
	buf_add_c(b, '[');
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			buf_add_c(b, ',');
		buf_add_json(b, l->v[i]);
	}
	buf_add_c(b, ']');
}

static void encode_route(struct buf *b, const struct route *r,
			 const struct route_end *end)
{
	buf_add_lit(b, "{\"agent\":");
	buf_add_json(b, r->agent);
	buf_add_lit(b, ",\"matched_by\":");
	buf_add_json(b, r->matched_by);
	buf_add_lit(b, ",\"scope\":");
	scope_encode(b, &r->scope);
	buf_add_lit(b, ",\"signature\":");
	buf_add_json(b, r->signature);
	buf_add_lit(b, ",\"key\":");
	buf_add_json(b, r->key);
	buf_add_lit(b, ",\"aliases\":");
	encode_names(b, &r->aliases);
	buf_add_lit(b, ",\"main_key\":");
	buf_add_json(b, r->main_key);
	buf_add_lit(b, ",\"main_aliases\":");
	encode_names(b, &r->main_aliases);
	buf_add_lit(b, ",\"session\":");
	encode_id(b, &end->session);
	buf_add_str(b, end->created ? STR(",\"created\":true,\"why\":") :
				      STR(",\"created\":false,\"why\":"));
	encode_names(b, &r->why);
	buf_add_lit(b, ",\"warnings\":");
	encode_names(b, &r->warnings);
	buf_add_c(b, '}');
}

static int method_route(struct call *c)
{
	struct route_request q = request_of(c);
	struct route_end end;
	struct route route;
	int r = engine_resolve_route(c->engine, &q, &c->arena, &route, c->err);

	if (r == WEFT_OK)
		r = engine_route(c->engine, &route, call_bool(c, "dry_run"),
				 &c->arena, &end, c->err);
	if (r != WEFT_OK)
		return r;
	encode_route(&c->out, &route, &end);
	return WEFT_OK;
}

static int method_reset(struct call *c)
{
	struct request *q;
	struct weft_id id;
	int r = call_session_id(c, &id);

	if (r != WEFT_OK)
		return r;
	q = request_new(REQUEST_RESET, c->err);
	if (!q)
		return WEFT_NO_MEMORY;
	q->session = id;
	q->token = call_u64(c, "token", 0);
	q->op = call_str(c, "op");
	r = call_run(c, q);
	if (r != WEFT_OK)
		return r;
	id = q->ret_session;
	request_free(q);
	return call_answer_session(c, &id);
}

/* ---- the rows of the table ---- */

#define FIELD_ROUTE(field, text)                                   \
	{                                                          \
		.name = #field, .about = (text), .type = TYPE_TEXT \
	}

static const struct field fields_route[] = {
	FIELD_ROUTE(channel, "where people talk: telegram, slack, ..."),
	FIELD_ROUTE(account, "the account or bot that was written to"),
	FIELD_ROUTE(chat_type, "direct, group, channel, ...; default direct"),
	FIELD_ROUTE(chat_id, "the chat"),
	FIELD_ROUTE(topic_id, "the topic or thread in it"),
	FIELD_ROUTE(space_type, "workspace, guild, ...; default space"),
	FIELD_ROUTE(space_id, "what the chat is part of"),
	FIELD_ROUTE(sender_id, "who speaks"),
	{ .name = "mentioned",
	  .about = "whether the agent is named in the message",
	  .type = TYPE_BOOLEAN },
	FIELD_ROUTE(agent, "who answers; the rules do not count then"),
	FIELD_ROUTE(session_key,
		    "a key of the caller's own, sk_v1_... or agent:..., taken "
		    "as it is; anything else is only another name"),
	{ .name = "dry_run",
	  .about = "only look; make nothing",
	  .type = TYPE_BOOLEAN },
};

static const struct field fields_reset[] = {
	FIELD_SESSION,
	FIELD_OP,
	FIELD_TOKEN,
};

static const struct method rows[] = {
	{ .name = "route",
	  .about = "Find the session that a message belongs to, or make it, "
		   "by the configuration.",
	  .answer = "`{\"agent\",\"matched_by\",\"scope\",\"signature\","
		    "\"key\",\"aliases\",\"main_key\",\"main_aliases\","
		    "\"session\":id|null,\"created\",\"why\":[...],"
		    "\"warnings\":[...]}`; why says in words, step by step, "
		    "how it came to that, and warnings repeats what people "
		    "should see of it; aliases are what older programs call "
		    "it, whether or not they were free",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_route),
	  .run = method_route },
	{ .name = "reset",
	  .about = "Begin a new session under the same key; the old one stays "
		   "as its previous one.",
	  .answer = "the new session",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_reset),
	  .run = method_reset },
};

const struct method_group methods_route = METHOD_GROUP(rows);

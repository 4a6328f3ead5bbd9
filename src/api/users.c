/* users.c - methods about what is known of a user: the agent used last. */
#include "api/api.h"

static int answer_agent(struct call *c)
{
	struct weft_str user = call_str(c, "user"), agent;
	int r = engine_user_agent(c->engine, user, &c->arena, &agent, c->err);

	if (r != WEFT_OK)
		return r;
	buf_add_lit(&c->out, "{\"user\":");
	buf_add_json(&c->out, user);
	buf_add_lit(&c->out, ",\"agent\":");
	encode_text_or_null(&c->out, agent);
	buf_add_c(&c->out, '}');
	return WEFT_OK;
}

static int method_user_agent(struct call *c)
{
	return answer_agent(c);
}

static int method_user_agent_set(struct call *c)
{
	int r = engine_set_user_agent(c->engine, call_str(c, "user"),
				      call_str(c, "agent"), &c->arena, c->err);

	return r == WEFT_OK ? answer_agent(c) : r;
}

/* ---- the rows of the table ---- */

#define FIELD_USER                                                          \
	{                                                                   \
		.name = "user",                                             \
		.about = "the name of an identity link or one of its ids, " \
			 "\"channel:id\", or as a program calls the user",  \
		.type = TYPE_LINE, .required = 1,                           \
	}

static const struct field fields_user[] = { FIELD_USER };

static const struct field fields_user_agent_set[] = {
	FIELD_USER,
	{ .name = "agent",
	  .about = "the agent; empty: forget it",
	  .type = TYPE_LINE,
	  .required = 1,
	  FIELD_LIMIT(name_bytes) },
};

static const struct method rows[] = {
	{ .name = "user_agent",
	  .about = "Say which agent a user used last. It is kept in the book "
		   "of the user, so that it outlives all sessions.",
	  .answer = "`{\"user\",\"agent\":text|null}`",
	  .right = RIGHT_READ,
	  FIELDS(fields_user),
	  .run = method_user_agent },
	{ .name = "user_agent_set",
	  .about = "Remember which agent a user used last. With agents.sticky "
		   "new conversations of the user begin with it, and routing "
		   "to an agent that was asked for sets it.",
	  .answer = "`{\"user\",\"agent\":text|null}`",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_user_agent_set),
	  .run = method_user_agent_set },
};

const struct method_group methods_users = METHOD_GROUP(rows);

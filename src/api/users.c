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

int method_user_agent(struct call *c)
{
	return answer_agent(c);
}

int method_user_agent_set(struct call *c)
{
	int r = engine_set_user_agent(c->engine, call_str(c, "user"),
				      call_str(c, "agent"), &c->arena, c->err);

	return r == WEFT_OK ? answer_agent(c) : r;
}

/* cmd_agent.c - weft agent */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	{ .name = "USER",
	  .about = "the name of an identity link, an id with the channel in "
		   "front, or the user that a program has given" },
	{ .name = "AGENT",
	  .about = "remember this one; empty: forget it",
	  .optional = 1 },
};

static void text_agent(struct cli *c, yyjson_val *answer)
{
	struct weft_str agent = val_str(answer, "agent");

	out_one_line(&c->out, agent.len ? agent : STR("none"));
	out_add(&c->out, STR("\n"));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	const char *agent = cli_arg(c, 1);
	int r = cli_hand_over(c);

	if (r != WEFT_OK)
		return r;
	req_init(&q, c, agent ? "user_agent_set" : "user_agent");
	req_text(&q, "user", "USER", cli_arg(c, 0));
	if (agent)
		req_text(&q, "agent", "AGENT", agent);
	return cli_answer(c, &q, text_agent);
}

const struct command cmd_agent = {
	.name = "agent",
	.summary = "show or set the agent that a user used last",
	.about = "Says which agent a user used last, or remembers it. With "
		 "agents.sticky in the configuration, a new conversation of "
		 "the user begins with that agent where no rule says who "
		 "answers, and 'weft route --agent' sets it.",
	.example = "weft agent dan sasha\n"
		   "weft agent telegram:42",
	ARGS(args),
	.store = STORE_USE_CREATE,
	.run = run,
};

/* cmd_alias.c - weft alias */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	{ .name = "HOW",
	  .about = "add a name that is free, move one here from another "
		   "session, or remove one",
	  .values = "add|move|remove" },
	ARG_SESSION,
	{ .name = "ALIAS", .about = "the name" },
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "alias");
	req_text(&q, "how", "HOW", cli_arg(c, 0));
	req_session(&q, 1);
	req_text(&q, "alias", "ALIAS", cli_arg(c, 2));
	return cli_answer(c, &q, text_session);
}

const struct command cmd_alias = {
	.name = "alias",
	.summary = "give a session a further name, or take one away",
	.about = "Names (keys and aliases) are unique in a store. A name that "
		 "another session has is not taken from it by add, only by "
		 "move.",
	.example = "weft alias add 01JCXQ work\nweft show work",
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

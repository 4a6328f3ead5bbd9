/* cmd_rename.c - weft rename */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	ARG_SESSION,
	{ .name = "TITLE", .about = "the new title; empty takes it away" },
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "rename");
	req_session(&q, 0);
	req_text(&q, "slug", "TITLE", cli_arg(c, 1));
	return cli_answer(c, &q, text_session);
}

const struct command cmd_rename = {
	.name = "rename",
	.summary = "give a session another title",
	.about = "A title is for people. It need not be unique, but a session "
		 "can be named by it as long as it is.",
	.example = "weft rename 01JCXQ 'trip to Lisbon'",
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

/* cmd_show.c - weft show */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "show");
	req_session(&q, 0);
	return cli_answer(c, &q, text_session);
}

const struct command cmd_show = {
	.name = "show",
	.summary = "show a session",
	.about = "Shows what is known of a session: its names, settings, "
		 "counts and times. "
		 "With --json every member is there.",
	ARGS(args),
	.store = STORE_USE_READ,
	.run = run,
};

/* cmd_show.c - weft show */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_session);
}

const struct command cmd_show = {
	.name = "show",
	.summary = "show a session",
	.about = "Shows what is known of a session: its names, settings, "
		 "counts and times. "
		 "With --json every member is there.",
	ARGS(only_session),
	.store = STORE_USE_READ,
	.run = run,
};

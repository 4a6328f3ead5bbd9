/* cmd_restore.c - weft restore */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_session);
}

const struct command cmd_restore = {
	.name = "restore",
	.summary = "bring a deleted session back",
	.about = "A deleted session is found by its id only; weft list "
		 "--deleted shows it. "
		 "It gets those of its names back that are still free.",
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

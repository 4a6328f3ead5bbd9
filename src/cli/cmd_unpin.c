/* cmd_unpin.c - weft unpin */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_session);
}

const struct command cmd_unpin = {
	.name = "unpin",
	.summary = "let a session be cleaned up again",
	.about = "Takes back what weft pin did.",
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

/* cmd_delete.c - weft delete */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_session);
}

const struct command cmd_delete = {
	.name = "delete",
	.summary = "delete a session",
	.about = "The session is no longer listed, takes no more messages and "
		 "gives its "
		 "names free. Nothing is lost: weft restore brings it back.",
	OPTS(only_token),
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

/* cmd_redo.c - weft redo */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_marker);
}

const struct command cmd_redo = {
	.name = "redo",
	.summary = "undo an undo",
	.about = "Does again what the last undo undid.",
	OPTS(token_and_op),
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

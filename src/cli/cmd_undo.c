/* cmd_undo.c - weft undo */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_marker);
}

const struct command cmd_undo = {
	.name = "undo",
	.summary = "undo the last change of a window",
	.about = "Undoes the last compact, truncate, clear or new history: a "
		 "model is given again what it was given before. Undo twice "
		 "is redo.",
	OPTS(token_and_op),
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

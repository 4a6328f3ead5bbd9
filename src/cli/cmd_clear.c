/* cmd_clear.c - weft clear */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_marker);
}

const struct command cmd_clear = {
	.name = "clear",
	.summary = "let a session begin anew",
	.about = "What a model is given of the session is empty from now on, "
		 "the summary included. Nothing is lost: history shows "
		 "everything, and undo takes it back.",
	OPTS(token_and_op),
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

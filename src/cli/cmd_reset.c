/* cmd_reset.c - weft reset */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_session);
}

const struct command cmd_reset = {
	.name = "reset",
	.summary = "begin a new session under the same key",
	.about = "Begins a new session that takes key and aliases of the old "
		 "one, so that the next message goes there. The old session is "
		 "kept whole: the new one names it as its previous one, it is "
		 "listed, and found by its id.",
	.example = "weft reset agent:main:telegram:direct:5",
	OPTS(token_and_op),
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

/* cmd_pin.c - weft pin */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return cli_about_session(c, text_session);
}

const struct command cmd_pin = {
	.name = "pin",
	.summary = "keep a session from being cleaned up",
	.about = "A pinned session is never deleted by retention rules.",
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

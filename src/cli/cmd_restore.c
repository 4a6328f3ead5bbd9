/* cmd_restore.c - weft restore */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	int r = cli_about_session(c, text_session);

	if (r != WEFT_NOT_FOUND)
		return r;
	return fail(c->err, r,
		    "%s; a deleted one is found by its id: 'weft list "
		    "--deleted' shows it",
		    c->err->message);
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

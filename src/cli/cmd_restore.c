/* cmd_restore.c - weft restore */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "restore");
	req_session(&q, 0);
	return cli_answer(c, &q, text_session);
}

const struct command cmd_restore = {
	.name = "restore",
	.summary = "bring a deleted session back",
	.about = "A deleted session is found by its id only; weft list "
		 "--deleted shows it. "
		 "It gets those of its names back that are still free.",
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

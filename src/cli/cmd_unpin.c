/* cmd_unpin.c - weft unpin */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "unpin");
	req_session(&q, 0);
	return cli_answer(c, &q, text_session);
}

const struct command cmd_unpin = {
	.name = "unpin",
	.summary = "let a session be cleaned up again",
	.about = "Takes back what weft pin did.",
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

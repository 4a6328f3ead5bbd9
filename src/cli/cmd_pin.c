/* cmd_pin.c - weft pin */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "pin");
	req_session(&q, 0);
	return cli_answer(c, &q, text_session);
}

const struct command cmd_pin = {
	.name = "pin",
	.summary = "keep a session from being cleaned up",
	.about = "A pinned session is never deleted by retention rules.",
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

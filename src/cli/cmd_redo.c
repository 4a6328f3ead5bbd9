/* cmd_redo.c - weft redo */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "redo");
	req_session(&q, 0);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_marker);
}

const struct command cmd_redo = {
	.name = "redo",
	.summary = "undo an undo",
	.about = "Does again what the last undo undid.",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

/* cmd_undo.c - weft undo */
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

	req_init(&q, c, "undo");
	req_session(&q, 0);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_marker);
}

const struct command cmd_undo = {
	.name = "undo",
	.summary = "undo the last change of a window",
	.about = "Undoes the last compact, truncate, clear or new history: a "
		 "model is given again what it was given before. Undo twice "
		 "is redo.",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

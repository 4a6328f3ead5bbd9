/* cmd_clear.c - weft clear */
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

	req_init(&q, c, "clear");
	req_session(&q, 0);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_marker);
}

const struct command cmd_clear = {
	.name = "clear",
	.summary = "let a session begin anew",
	.about = "What a model is given of the session is empty from now on, "
		 "the summary included. Nothing is lost: history shows "
		 "everything, and undo takes it back.",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

/* cmd_delete.c - weft delete */
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

	req_init(&q, c, "delete");
	req_session(&q, 0);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_session);
}

const struct command cmd_delete = {
	.name = "delete",
	.summary = "delete a session",
	.about = "The session is no longer listed, takes no more messages and "
		 "gives its "
		 "names free. Nothing is lost: weft restore brings it back.",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

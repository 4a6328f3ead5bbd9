/* cmd_reset.c - weft reset */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_TOKEN] = { .name = "token",
			.takes = "N",
			.kind = OPT_NUMBER,
			.about = "the token of a lease on the old session" },
};

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "reset");
	req_session(&q, 0);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_session);
}

const struct command cmd_reset = {
	.name = "reset",
	.summary = "begin a new session under the same key",
	.about = "Begins a new session that takes key and aliases of the old "
		 "one, so that the next message goes there. The old session is "
		 "kept whole: the new one names it as its previous one, it is "
		 "listed, and found by its id.",
	.example = "weft reset agent:main:telegram:direct:5",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

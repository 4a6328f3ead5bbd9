/* cmd_truncate.c - weft truncate */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_KEEP, OPT_TURN, OPT_OP, OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_KEEP] = { .name = "keep",
		       .takes = "N",
		       .kind = OPT_NUMBER,
		       .required = 1,
		       .about = "keep the last N messages; must be given" },
	[OPT_TURN] = { .name = "turn",
		       .about = "let the window begin with a turn: keep more, "
				"or, if that were all of it, less" },
	[OPT_OP] = OPTION_OP,
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "truncate");
	req_session(&q, 0);
	req_number(&q, "keep", OPT_KEEP);
	req_switch(&q, "turn", OPT_TURN);
	req_opt(&q, "op", OPT_OP);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_marker);
}

const struct command cmd_truncate = {
	.name = "truncate",
	.summary = "give models only the last messages",
	.about = "What a model is given of the session is no more than its "
		 "last messages from now on. The summary, if there is one, "
		 "stays. Nothing is lost: history shows everything, and undo "
		 "takes it back.",
	.example = "weft truncate work --keep 20",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

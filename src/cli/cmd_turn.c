/* cmd_turn.c - weft turn */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_REASON, OPT_OP, OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_REASON] = { .name = "reason",
			 .takes = "TEXT",
			 .kind = OPT_TEXT,
			 .about = "failed: why" },
	[OPT_OP] = { .name = "op",
		     .takes = "O",
		     .kind = OPT_TEXT,
		     .about = "operation id: the same one again writes "
			      "nothing" },
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	ARG_SESSION,
	{ .name = "STATE",
	  .about = "what has become of the turn",
	  .values = "begun|ended|failed" },
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "turn");
	req_session(&q, 0);
	req_text(&q, "state", "STATE", cli_arg(c, 1));
	req_opt(&q, "reason", OPT_REASON);
	req_opt(&q, "op", OPT_OP);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_session);
}

const struct command cmd_turn = {
	.name = "turn",
	.summary = "mark that somebody is at work in a session",
	.about = "Whoever answers in a session says so before and after. "
		 "Meanwhile the session shows since when it runs, no reset "
		 "policy begins it anew, and no cleanup removes it. A turn "
		 "that has begun and not ended tells after a crash that an "
		 "answer is missing; after a day without any event it counts "
		 "as dead.",
	.example = "weft turn work begun\n"
		   "weft append work --role assistant 'Done.'\n"
		   "weft turn work ended",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

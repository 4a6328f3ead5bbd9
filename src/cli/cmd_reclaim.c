/* cmd_reclaim.c - weft reclaim */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_DRY_RUN, OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_DRY_RUN] = OPTION_DRY_RUN,
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "reclaim");
	req_session(&q, 0);
	req_switch(&q, "dry_run", OPT_DRY_RUN);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_dropped);
}

const struct command cmd_reclaim = {
	.name = "reclaim",
	.summary = "drop messages before the window",
	.about = "Drops the messages before the window that no fork has "
		 "inherited, to get their space back. Counts, totals and "
		 "previews stay as they are. What is dropped is gone: undo of "
		 "a marker then reaches only what is left, and a fork can "
		 "begin only there.",
	.example = "weft reclaim work --dry-run\nweft reclaim work",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

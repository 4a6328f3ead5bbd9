/* cmd_reindex.c - weft reindex */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return care_call(c, "reindex");
}

const struct command cmd_reindex = {
	.name = "reindex",
	.summary = "make the index again",
	.about = "Everything but the events themselves (lists, names, totals) "
		 "is derived "
		 "from them. This derives it again.",
	.store = STORE_USE_WRITE,
	.run = run,
};

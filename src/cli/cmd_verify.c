/* cmd_verify.c - weft verify */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return care_call(c, "verify");
}

const struct command cmd_verify = {
	.name = "verify",
	.summary = "look for damage",
	.about = "Reads everything that is stored and reports what is wrong "
		 "and where. "
		 "Changes nothing. The exit status is 6 if something is "
		 "wrong; weft repair mends it.",
	.store = STORE_USE_READ,
	.run = run,
};

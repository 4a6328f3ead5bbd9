/* cmd_repair.c - weft repair */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	return care_call(c, "repair");
}

const struct command cmd_repair = {
	.name = "repair",
	.summary = "mend what verify reports",
	.about = "Leaves a store that weft verify calls clean. No line that "
		 "can be read "
		 "is lost, and the bytes of those that cannot are kept aside. "
		 "If something is left that cannot be mended, such as a file "
		 "of a newer weft, it says what, and the exit status is 6.",
	.store = STORE_USE_REPAIR,
	.run = run,
};

/* cmd_man.c - weft man: the source of a man page, for the build. */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"

static const struct arg args[] = {
	{ .name = "COMMAND",
	  .about = "which one; without it the page of the program",
	  .optional = 1 },
};

static int run(struct cli *c)
{
	const char *name = cli_arg(c, 0);
	const struct command *command = name ? command_find(name) : NULL;

	if (name && !command)
		return fail(c->err, WEFT_USAGE, "man: no command '%s'", name);
	man_print(&c->out, command);
	return WEFT_OK;
}

const struct command cmd_man = {
	.name = "man",
	.summary = "print the source of a man page",
	.about = "Prints a page for man(7).",
	ARGS(args),
	.hidden = 1,
	.run = run,
};

/* cmd_help.c - weft help */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"

static const struct arg args[] = {
	{ .name = "COMMAND", .about = "which one", .optional = 1 },
};

static int run(struct cli *c)
{
	const char *name = cli_arg(c, 0);
	const struct command *command = name ? command_find(name) : NULL;

	if (name && !command)
		return fail(c->err, WEFT_USAGE,
			    "help: no command '%s'; 'weft help' lists them",
			    name);
	help_print(&c->out, command);
	return WEFT_OK;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "say what there is",
	.about = "Lists the commands, or says more about one: the same as "
		 "'weft COMMAND --help'.",
	ARGS(args),
	.run = run,
};

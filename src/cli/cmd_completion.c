/* cmd_completion.c - weft completion */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"

static const struct arg args[] = {
	{ .name = "SHELL", .about = "bash or zsh", .values = "bash|zsh" },
};

static int run(struct cli *c)
{
	if (strcmp(cli_arg(c, 0), "zsh") == 0)
		complete_zsh(&c->out);
	else
		complete_bash(&c->out);
	return WEFT_OK;
}

const struct command cmd_completion = {
	.name = "completion",
	.summary = "print completion for a shell",
	.about = "Prints what a shell needs to complete commands, options and "
		 "their values.",
	.example = "source <(weft completion bash)\n"
		   "weft completion zsh >~/.zfunc/_weft",
	ARGS(args),
	.run = run,
};

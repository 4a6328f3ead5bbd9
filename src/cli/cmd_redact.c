/* cmd_redact.c - weft redact */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_UNDO, OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_UNDO] = { .name = "undo", .about = "show them again" },
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	ARG_SESSION,
	ARG_MESSAGES,
};

static void text_redacted(struct cli *c, yyjson_val *answer)
{
	out_printf(&c->out, "%llu %s\n",
		   (unsigned long long)val_u64(answer, "changed"),
		   val_true(answer, "redacted") ? "redacted" : "shown again");
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "redact");
	req_session(&q, 0);
	req_switch(&q, "undo", OPT_UNDO);
	req_number(&q, "token", OPT_TOKEN);
	req_messages(&q, 1);
	return cli_answer(c, &q, text_redacted);
}

const struct command cmd_redact = {
	.name = "redact",
	.summary = "hide messages",
	.about = "Hides messages from a session and from all its forks: "
		 "neither people nor models are shown them. They stay in the "
		 "log, and --undo shows them again.",
	.example = "weft redact work 12 13\nweft redact work 12 --undo",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

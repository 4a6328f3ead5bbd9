/* cmd_erase.c - weft erase */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	ARG_SESSION,
	ARG_MESSAGES,
};

static void text_erased(struct cli *c, yyjson_val *answer)
{
	out_printf(&c->out, "%llu erased, %s\n",
		   (unsigned long long)val_u64(answer, "erased"),
		   COUNT(val_u64(answer, "bytes"), "byte"));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "erase");
	req_session(&q, 0);
	req_number(&q, "token", 0);
	req_messages(&q, 1);
	return cli_answer(c, &q, text_erased);
}

const struct command cmd_erase = {
	.name = "erase",
	.summary = "blank messages for ever",
	.about = "Blanks messages on the disk: nobody sees them again, in the "
		 "session or in any fork, and their text is nowhere in the "
		 "store. Their numbers stay taken. This cannot be undone; "
		 "weft redact only hides them.",
	.example = "weft erase work 12 13",
	OPTS(only_token),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

/* cmd_erase.c - weft erase */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	ARG_SESSION,
	{ .name = "MESSAGE",
	  .about = "the number of a message, or its id",
	  .many = 1 },
};

static void text_erased(struct cli *c, yyjson_val *answer)
{
	out_printf(&c->out, "%llu erased, %llu bytes\n",
		   (unsigned long long)val_u64(answer, "erased"),
		   (unsigned long long)val_u64(answer, "bytes"));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "erase");
	req_session(&q, 0);
	req_number(&q, "token", OPT_TOKEN);
	req_raw(&q, "messages", STR("["));
	for (size_t i = 1; i < c->line.n_args; i++) {
		if (i > 1)
			buf_add_c(&q.b, ',');
		req_ref(&q, c->line.args[i]);
	}
	buf_add_c(&q.b, ']');
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
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

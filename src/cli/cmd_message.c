/* cmd_message.c - weft message */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_SESSION, OPT_REDACTED };

static const struct opt opts[] = {
	[OPT_SESSION] = { .name = "session",
			  .takes = "SESSION",
			  .kind = OPT_TEXT,
			  .about = "the session that MESSAGE is a number of" },
	[OPT_REDACTED] = { .name = "redacted",
			   .about = "show it also if it was redacted" },
};

static const struct arg args[] = {
	{ .name = "MESSAGE",
	  .about = "the id of a message; with --session also its number" },
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	uint64_t n;

	if (!cli_has(c, OPT_SESSION) &&
	    str_to_u64(str_of(cli_arg(c, 0)), UINT64_MAX, &n))
		return fail(c->err, WEFT_USAGE,
			    "message: --session SESSION is missing: a number "
			    "counts within one");
	req_init(&q, c, "message");
	req_raw(&q, "message", STR(""));
	req_ref(&q, cli_arg(c, 0));
	req_opt(&q, "session", OPT_SESSION);
	req_switch(&q, "redacted", OPT_REDACTED);
	return cli_answer(c, &q, text_message);
}

const struct command cmd_message = {
	.name = "message",
	.summary = "show one message",
	.about = "Shows a message. Its id alone is enough: it says in which "
		 "session to look.",
	.example = "weft message 01JCXQ7V9GT2M3K4N5P6Q7R8S9\n"
		   "weft message --session work 12",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_READ,
	.run = run,
};

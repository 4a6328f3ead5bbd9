/* cmd_fork.c - weft fork */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_AT, OPT_SLUG, OPT_MODEL, OPT_OP };

static const struct opt opts[] = {
	[OPT_AT] = { .name = "at",
		     .takes = "MESSAGE",
		     .kind = OPT_TEXT,
		     .about = "the last message that the fork has, by its "
			      "number or id; default the last one" },
	[OPT_SLUG] = { .name = "slug",
		       .takes = "S",
		       .kind = OPT_TEXT,
		       .about = "a title for people" },
	[OPT_MODEL] = { .name = "model",
			.takes = "P/N",
			.kind = OPT_TEXT,
			.about = "the model it is held with, "
				 "PROVIDER/NAME; default that of the "
				 "session" },
	[OPT_OP] = { .name = "op",
		     .takes = "O",
		     .kind = OPT_TEXT,
		     .about = "operation id: the same one again is the same "
			      "fork" },
};

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "fork");
	req_session(&q, 0);
	req_message(&q, "at", OPT_AT);
	req_opt(&q, "slug", OPT_SLUG);
	req_model(&q, "model", "--model", cli_opt(c, OPT_MODEL));
	req_opt(&q, "op", OPT_OP);
	return cli_answer(c, &q, text_session_id);
}

const struct command cmd_fork = {
	.name = "fork",
	.summary = "begin a session where another one was",
	.about = "Begins a session that has everything another one had up to "
		 "a message, and goes on from there. Nothing is copied, and "
		 "nothing that happens to the other session changes what the "
		 "fork has. Prints the id of the new session.",
	.example = "weft fork work --at 12 --slug 'another way'\n"
		   "weft tree work",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

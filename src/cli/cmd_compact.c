/* cmd_compact.c - weft compact */
#include "cli/cli.h"
#include "cli/commands.h"

enum {
	OPT_KEEP,
	OPT_BEFORE,
	OPT_AFTER,
	OPT_TURN,
	OPT_SUMMARY,
	OPT_TOKENS_SAVED,
	OPT_OP,
	OPT_EXPECT,
	OPT_TOKEN
};

static const struct opt opts[] = {
	[OPT_KEEP] = { .name = "keep",
		       .takes = "N",
		       .kind = OPT_NUMBER,
		       .about = "keep the last N messages; with a summary, "
				"default 0" },
	[OPT_BEFORE] = { .name = "before",
			 .takes = "MESSAGE",
			 .kind = OPT_TEXT,
			 .about = "the first message to keep, by its number "
				  "or id; instead of --keep" },
	[OPT_AFTER] = { .name = "after",
			.takes = "MESSAGE",
			.kind = OPT_TEXT,
			.about = "the last message not to keep, instead of "
				 "--keep: what is said while a summary is "
				 "made stays" },
	[OPT_TURN] = { .name = "turn",
		       .about = "keep more, so that the window begins with a "
				"turn; if that is all of it, nothing changes" },
	[OPT_SUMMARY] = { .name = "summary",
			  .takes = "TEXT",
			  .kind = OPT_TEXT,
			  .about = "of what is not kept, not blank; without "
				   "it the summary before it is carried on" },
	[OPT_TOKENS_SAVED] = { .name = "tokens-saved",
			       .takes = "N",
			       .kind = OPT_NUMBER,
			       .about = "how many tokens models are spared by "
					"it; kept with the marker" },
	[OPT_OP] = OPTION_OP,
	[OPT_EXPECT] = { .name = "expect",
			 .takes = "N",
			 .kind = OPT_NUMBER,
			 .about = "refuse if the session's content_seq is "
				  "another" },
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	ARG_SESSION,
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "compact");
	req_session(&q, 0);
	req_number(&q, "keep", OPT_KEEP);
	req_message(&q, "before", OPT_BEFORE);
	req_message(&q, "after", OPT_AFTER);
	req_switch(&q, "turn", OPT_TURN);
	req_opt(&q, "summary", OPT_SUMMARY);
	req_number(&q, "tokens_saved", OPT_TOKENS_SAVED);
	req_opt(&q, "op", OPT_OP);
	req_number(&q, "expect", OPT_EXPECT);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_marker);
}

const struct command cmd_compact = {
	.name = "compact",
	.summary = "let a summary stand for the older messages",
	.about = "What a model is given of the session begins later from now "
		 "on, with a summary of what was before. Nothing is lost: "
		 "history shows everything, and undo takes it back.",
	.example = "weft compact work --keep 20 --summary 'They planned a "
		   "trip.'\nweft history work --view window",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

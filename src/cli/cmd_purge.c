/* cmd_purge.c - weft purge */
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_USER, OPT_DRY_RUN, OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_USER] = { .name = "user",
		       .takes = "USER",
		       .kind = OPT_TEXT,
		       .about = "instead of a session: everything of a "
				"person, such as telegram:42" },
	[OPT_DRY_RUN] = OPTION_DRY_RUN,
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	{ .name = "SESSION",
	  .about = "an id, key, alias or title, or the beginning of an id, 6 "
		   "characters or more",
	  .optional = 1 },
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	/* Who somebody is, the identity links say. */
	int r = cli_hand_over(c);

	if (r != WEFT_OK)
		return r;
	req_init(&q, c, "purge");
	if (c->line.n_args > 0)
		req_session(&q, 0);
	req_opt(&q, "user", OPT_USER);
	req_switch(&q, "dry_run", OPT_DRY_RUN);
	req_number(&q, "token", OPT_TOKEN);
	return progress_report(c, &q, text_dropped);
}

const struct command cmd_purge = {
	.name = "purge",
	.summary = "drop a session, or a person, for good",
	.about =
		"Drops a session with its subagents: its file, its names, "
		"its memories, its attachments, and every trace of them in "
		"log and catalogue. With --user the sessions and the book of "
		"a person go, and what they said in groups and in the sessions "
		"of others, under every id that the configuration links; the "
		"report says which were found. USER is the name of an identity "
		"link or one of its ids, an id with the channel in front, or "
		"the user that a program has given to its sessions. "
		"This cannot be undone. What a fork has inherited stays, for "
		"the fork alone, and the report says so. Of a person, sessions "
		"that somebody has a lease on are left alone; they are listed, "
		"and the exit status is 4.",
	.example = "weft purge work --dry-run\nweft purge --user telegram:42",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

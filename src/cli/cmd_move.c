/* cmd_move.c - weft move */
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	{ .name = "FROM", .about = "the URL of the store to read" },
	{ .name = "TO", .about = "the URL of the store to copy into" },
};

static void text_move(struct cli *c, yyjson_val *report)
{
	struct weft_str digest = val_str(report, "digest");

	out_printf(&c->out, "%s, %s (%llu of them copied), %s\n%.*s\n",
		   COUNT(val_u64(report, "sessions"), "session"),
		   COUNT(val_u64(report, "events"), "event"),
		   (unsigned long long)val_u64(report, "copied"),
		   COUNT(val_u64(report, "bytes"), "byte"), STR_ARG(digest));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	struct weft_open_options o;
	int r;

	weft_open_options_init(&o, sizeof(o));
	o.flags = WEFT_OPEN_READ_ONLY | WEFT_OPEN_NO_CREATE;
	c->url = cli_arg(c, 0);
	r = weft_open(c->url, &o, &c->store, c->err);
	if (r != WEFT_OK)
		return r;
	req_init(&q, c, "move");
	req_text(&q, "to", "TO", cli_arg(c, 1));
	return progress_report(c, &q, text_move);
}

const struct command cmd_move = {
	.name = "move",
	.summary = "copy everything into another store",
	.about = "Copies every session, with its events, names and "
		 "attachments, from any store into any other, which is made if "
		 "it is not there, and compares both afterwards. The store "
		 "that is read stays as it is: use the other one from then "
		 "on.\n\nIf it is cut short, do it again: it goes on.",
	.example = "weft move jsonl:/srv/weft sqlite:weft.db",
	ARGS(args),
	.store = STORE_USE_NONE,
	.run = run,
};

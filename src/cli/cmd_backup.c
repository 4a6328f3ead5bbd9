/* cmd_backup.c - weft backup */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	{ .name = "FILE", .about = "the file to make; it must not be there" },
};

static void text_backup(struct cli *c, yyjson_val *report)
{
	out_printf(&c->out, "%s, %s\n",
		   COUNT(val_u64(report, "sessions"), "session"),
		   COUNT(val_u64(report, "bytes"), "byte"));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "backup");
	req_text(&q, "file", "FILE", cli_arg(c, 0));
	return progress_report(c, &q, text_backup);
}

const struct command cmd_backup = {
	.name = "backup",
	.summary = "copy a store in one file",
	.about = "Copies a sqlite: store as it is now into a new file, while "
		 "others go on writing. The copy is a store of its own. For "
		 "other stores it says what to do instead.",
	.example = "weft backup --store sqlite:weft.db weft-monday.db",
	ARGS(args),
	.store = STORE_USE_READ,
	.run = run,
};

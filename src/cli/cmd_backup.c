/* cmd_backup.c - weft backup */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	{ .name = "FILE", .about = "the file to make; it must not be there" },
};

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *report;
	int r;

	req_init(&q, c, "backup");
	req_text(&q, "file", "FILE", cli_arg(c, 0));
	r = progress_call(c, &q, &a);
	if (r != WEFT_OK)
		return r;
	report = answer_parse(c, &a);
	if (!report)
		return WEFT_NO_MEMORY;
	if (c->json)
		out_json(&c->out, a.text);
	else
		out_printf(&c->out, "%llu sessions, %llu bytes\n",
			   (unsigned long long)val_u64(report, "sessions"),
			   (unsigned long long)val_u64(report, "bytes"));
	return WEFT_OK;
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

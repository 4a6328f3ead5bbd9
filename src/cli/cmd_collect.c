/* cmd_collect.c - weft collect */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

static void text_collected(struct cli *c, yyjson_val *report)
{
	out_printf(&c->out, "%s dropped, %llu left\n",
		   COUNT(val_u64(report, "changed"), "blob"),
		   (unsigned long long)val_u64(report, "blobs"));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "collect");
	return progress_report(c, &q, text_collected);
}

const struct command cmd_collect = {
	.name = "collect",
	.summary = "drop blobs that no message refers to",
	.about = "Images and other large parts of messages are kept once, by "
		 "their hash, as blobs. A blob that no message refers to any "
		 "more, and that nobody has used for a day, is dropped.",
	.store = STORE_USE_WRITE,
	.run = run,
};

/* cmd_reindex.c - weft reindex */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *report;
	int r;

	req_init(&q, c, "reindex");
	r = progress_call(c, &q, &a);
	if (r != WEFT_OK)
		return r;
	report = answer_parse(c, &a);
	if (!report)
		return WEFT_NO_MEMORY;
	if (c->json)
		out_json(&c->out, a.text);
	else
		text_report(c, report);
	return WEFT_OK;
}

const struct command cmd_reindex = {
	.name = "reindex",
	.summary = "make the index again",
	.about = "Everything but the events themselves (lists, names, totals) "
		 "is derived "
		 "from them. This derives it again.",
	.store = STORE_USE_WRITE,
	.run = run,
};

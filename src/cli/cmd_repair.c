/* cmd_repair.c - weft repair */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *report;
	int r;

	req_init(&q, c, "repair");
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

const struct command cmd_repair = {
	.name = "repair",
	.summary = "mend what verify reports",
	.about = "Leaves a store that weft verify calls clean. No line that "
		 "can be read "
		 "is lost, and the bytes of those that cannot are kept aside.",
	.store = STORE_USE_REPAIR,
	.run = run,
};

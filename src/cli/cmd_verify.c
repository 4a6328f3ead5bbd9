/* cmd_verify.c - weft verify */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *report;
	int r;

	req_init(&q, c, "verify");
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
	/* The report has said it all. */
	if (!val_true(report, "ok"))
		c->exit_status = weft_code_exit_status(WEFT_CORRUPT);
	return WEFT_OK;
}

const struct command cmd_verify = {
	.name = "verify",
	.summary = "look for damage",
	.about = "Reads everything that is stored and reports what is wrong "
		 "and where. "
		 "Changes nothing. The exit status is 6 if something is "
		 "wrong; weft repair mends it.",
	.store = STORE_USE_READ,
	.run = run,
};

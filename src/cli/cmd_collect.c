/* cmd_collect.c - weft collect */
#include "cli/cli.h"
#include "cli/commands.h"

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *report;
	int r;

	req_init(&q, c, "collect");
	r = progress_call(c, &q, &a);
	if (r != WEFT_OK)
		return r;
	report = answer_parse(c, &a);
	if (!report)
		return WEFT_NO_MEMORY;
	if (c->json)
		out_json(&c->out, a.text);
	else
		out_printf(&c->out, "%llu blobs dropped, %llu left\n",
			   (unsigned long long)yyjson_get_uint(
				   yyjson_obj_get(report, "changed")),
			   (unsigned long long)yyjson_get_uint(
				   yyjson_obj_get(report, "blobs")));
	return WEFT_OK;
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

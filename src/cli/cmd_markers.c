/* cmd_markers.c - weft markers */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	ARG_SESSION,
};

static void text_markers(struct cli *c, yyjson_val *root)
{
	yyjson_arr_iter it;
	yyjson_val *marker;

	yyjson_arr_iter_init(yyjson_obj_get(root, "markers"), &it);
	while ((marker = yyjson_arr_iter_next(&it)))
		text_one_marker(c, marker);
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "markers");
	req_session(&q, 0);
	return cli_answer(c, &q, text_markers);
}

const struct command cmd_markers = {
	.name = "markers",
	.summary = "list the changes of a window",
	.about = "Lists every compact, truncate, clear, new history and undo "
		 "of a session, oldest first. The last one is in force.",
	ARGS(args),
	.store = STORE_USE_READ,
	.run = run,
};

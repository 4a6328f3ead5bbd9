/* cmd_markers.c - weft markers */
#include "cli/cli.h"
#include "cli/commands.h"

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
	return cli_about_session(c, text_markers);
}

const struct command cmd_markers = {
	.name = "markers",
	.summary = "list the changes of a window",
	.about = "Lists every compact, truncate, clear, new history and undo "
		 "of a session, oldest first. The last one is in force.",
	ARGS(only_session),
	.store = STORE_USE_READ,
	.run = run,
};

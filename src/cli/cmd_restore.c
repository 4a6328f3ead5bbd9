/* cmd_restore.c - weft restore */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"

static void text_restored(struct cli *c, yyjson_val *root)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(yyjson_obj_get(root, "lost"));
	yyjson_val *v;

	text_session(c, root);
	while ((v = yyjson_arr_iter_next(&it))) {
		out_printf(&c->out, "the %.*s '", STR_ARG(val_str(v, "kind")));
		out_one_line(&c->out, val_str(v, "name"));
		out_printf(&c->out, "' is that of session %.*s now\n",
			   STR_ARG(val_str(v, "session")));
	}
}

static int run(struct cli *c)
{
	int r = cli_about_session(c, text_restored);

	if (r != WEFT_NOT_FOUND)
		return r;
	return fail(c->err, r,
		    "%s; a deleted one is found by its id: 'weft list "
		    "--deleted' shows it",
		    c->err->message);
}

const struct command cmd_restore = {
	.name = "restore",
	.summary = "bring a deleted session back",
	.about = "A deleted session is found by its id only; weft list "
		 "--deleted shows it. "
		 "It gets those of its names back that are still free, and the "
		 "answer says which are not.",
	ARGS(only_session),
	.store = STORE_USE_WRITE,
	.run = run,
};

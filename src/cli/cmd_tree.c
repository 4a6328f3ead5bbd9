/* cmd_tree.c - weft tree */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_DELETED };

static const struct opt opts[] = {
	[OPT_DELETED] = { .name = "deleted",
			  .about = "also those that were deleted" },
};

static const struct arg args[] = {
	ARG_SESSION,
};

static void print_session(struct cli *c, yyjson_val *session, unsigned depth)
{
	struct weft_str title = val_str(session, "slug");

	if (title.len == 0)
		title = val_str(session, "first_user");
	out_printf(&c->out, "%*s", (int)(2 * depth), "");
	out_add(&c->out, val_str(session, "id"));
	out_printf(&c->out, "  %-8.*s %15s  ",
		   STR_ARG(val_str(session, "kind")),
		   COUNT(val_u64(session, "message_count"), "message"));
	out_one_line(&c->out, out_cut(title, 40));
	out_add(&c->out, STR("\n"));
}

/* Each below and right of where it comes from. */
static void print_tree(struct cli *c, yyjson_val *tree, unsigned depth)
{
	yyjson_arr_iter it;
	yyjson_val *child;

	print_session(c, yyjson_obj_get(tree, "session"), depth);
	yyjson_arr_iter_init(yyjson_obj_get(tree, "children"), &it);
	while ((child = yyjson_arr_iter_next(&it)))
		print_tree(c, child, depth + 1);
}

static void text_tree(struct cli *c, yyjson_val *root)
{
	print_tree(c, root, 0);
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "tree");
	req_session(&q, 0);
	req_switch(&q, "deleted", OPT_DELETED);
	return cli_answer(c, &q, text_tree);
}

const struct command cmd_tree = {
	.name = "tree",
	.summary = "show a session with its forks and subagents",
	.about = "Shows a session and all that come from it: forks under what "
		 "they were forked from, subagents under what they work for.",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_READ,
	.run = run,
};

/* cmd_todo.c - weft todo */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_OP, OPT_TOKEN };

static const struct opt opts[] = {
	[OPT_OP] = { .name = "op",
		     .takes = "O",
		     .kind = OPT_TEXT,
		     .about = "set: operation id: the same one again writes "
			      "nothing" },
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	{ .name = "HOW",
	  .about = "list what is to do, or set it: the whole list at once",
	  .values = "list|set" },
	ARG_SESSION,
	{ .name = "TODOS",
	  .about = "set: a JSON array of {\"content\",\"status\"}, perhaps "
		   "with \"priority\"; from standard input if it is not given. "
		   "A status is pending, in_progress, completed or cancelled",
	  .optional = 1 },
};

/* How people tick things off. */
static const char *mark_of(struct weft_str status)
{
	if (str_eq(status, STR("completed")))
		return "[x]";
	if (str_eq(status, STR("cancelled")))
		return "[-]";
	return str_eq(status, STR("in_progress")) ? "[>]" : "[ ]";
}

static void text_todos(struct cli *c, yyjson_val *answer)
{
	yyjson_val *summary = yyjson_obj_get(answer, "summary");
	yyjson_arr_iter it;
	yyjson_val *item;

	yyjson_arr_iter_init(yyjson_obj_get(answer, "todos"), &it);
	while ((item = yyjson_arr_iter_next(&it))) {
		struct weft_str priority = val_str(item, "priority");

		out_printf(&c->out, "%s ", mark_of(val_str(item, "status")));
		out_one_line(&c->out, val_str(item, "content"));
		if (priority.len) {
			out_add(&c->out, STR(" ("));
			out_one_line(&c->out, priority);
			out_add(&c->out, STR(")"));
		}
		out_add(&c->out, STR("\n"));
	}
	out_printf(&c->out, "%llu of %llu left\n",
		   (unsigned long long)val_u64(summary, "incomplete"),
		   (unsigned long long)val_u64(summary, "total"));
}

static int run_set(struct cli *c)
{
	CLEANUP(buf_done) struct buf list = { 0 };
	CLEANUP(req_done) struct req q = { 0 };
	int r;

	buf_init(&list, SIZE_MAX);
	r = cli_input(c, cli_arg(c, 2), "TODOS", &list);
	if (r != WEFT_OK)
		return r;
	if (strlen(buf_cstr(&list)) != list.len)
		return fail(c->err, WEFT_INVALID, "TODOS: not JSON");
	req_init(&q, c, "todos_set");
	req_session(&q, 1);
	req_json(&q, "todos", "TODOS", buf_cstr(&list));
	req_opt(&q, "op", OPT_OP);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_todos);
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	if (strcmp(cli_arg(c, 0), "set") == 0)
		return run_set(c);
	if (cli_arg(c, 2) || cli_has(c, OPT_OP) || cli_has(c, OPT_TOKEN))
		return fail(c->err, WEFT_USAGE,
			    "todo: list takes SESSION and nothing else");
	req_init(&q, c, "todos");
	req_session(&q, 1);
	return cli_answer(c, &q, text_todos);
}

const struct command cmd_todo = {
	.name = "todo",
	.summary = "what is left to do in a session",
	.about = "A session has one list of things to do. It is replaced as a "
		 "whole; forks begin without one.",
	.example = "weft todo set work '[{\"content\":\"write tests\","
		   "\"status\":\"in_progress\"}]'\n"
		   "weft todo list work",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.writes = "set",
	.run = run,
};

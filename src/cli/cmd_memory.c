/* cmd_memory.c - weft memory */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum {
	OPT_SCOPE,
	OPT_SESSION,
	OPT_PROJECT,
	OPT_TITLE,
	OPT_SOURCE,
	OPT_OP,
	OPT_DELETED,
	OPT_LIMIT,
	OPT_BEFORE,
};

static const struct opt opts[] = {
	[OPT_SCOPE] = { .name = "scope",
			.takes = "SCOPE",
			.kind = OPT_TEXT,
			.values = "session|project|global",
			.about = "whose memories; without it, add takes the "
				 "session, the project or the whole store, "
				 "whichever is named, and list and search take "
				 "all of them" },
	[OPT_SESSION] = { .name = "session",
			  .takes = "SESSION",
			  .kind = OPT_TEXT,
			  .about = "the session; its project is the project" },
	[OPT_PROJECT] = { .name = "project",
			  .takes = "DIR",
			  .kind = OPT_DIRECTORY,
			  .about = "the project; with --scope project the "
				   "default is the current directory" },
	[OPT_TITLE] = { .name = "title",
			.takes = "T",
			.kind = OPT_TEXT,
			.about = "add: a title; default the first line" },
	[OPT_SOURCE] = { .name = "source",
			 .takes = "S",
			 .kind = OPT_TEXT,
			 .about = "add: where it comes from" },
	[OPT_OP] = { .name = "op",
		     .takes = "O",
		     .kind = OPT_TEXT,
		     .about = "add: operation id: the same one again writes "
			      "nothing" },
	[OPT_DELETED] = { .name = "deleted",
			  .about = "list and search: also what was forgotten" },
	[OPT_LIMIT] = { .name = "limit",
			.takes = "N",
			.kind = OPT_NUMBER,
			.about = "list and search: at most N of each scope, "
				 "the newest" },
	[OPT_BEFORE] = { .name = "before",
			 .takes = "ID",
			 .kind = OPT_TEXT,
			 .about = "list and search: only memories older than "
				  "this one, of its scope" },
};

static const struct arg args[] = {
	{ .name = "HOW",
	  .about = "add a memory, list them, search them for words, or forget "
		   "one",
	  .values = "add|list|search|forget" },
	{ .name = "TEXT",
	  .about = "add: what to remember, from standard input if it is not "
		   "given; search: the words; forget: the id of the memory",
	  .optional = 1 },
};

static void text_memories(struct cli *c, yyjson_val *answer)
{
	yyjson_arr_iter it;
	yyjson_val *m;

	yyjson_arr_iter_init(yyjson_obj_get(answer, "memories"), &it);
	while ((m = yyjson_arr_iter_next(&it))) {
		out_printf(&c->out, "%.*s\t%.*s\t", STR_ARG(val_str(m, "id")),
			   STR_ARG(val_str(m, "scope")));
		out_one_line(&c->out, val_str(m, "content"));
		out_add(&c->out, val_str(m, "deleted_at").len ?
					 STR("\tforgotten\n") :
					 STR("\n"));
	}
}

static int add_place(struct cli *c, struct req *q)
{
	const char *scope = cli_opt(c, OPT_SCOPE);
	char here[PATH_MAX];

	req_opt(q, "scope", OPT_SCOPE);
	req_opt(q, "session", OPT_SESSION);
	req_opt(q, "project_dir", OPT_PROJECT);
	if (!scope || strcmp(scope, "project") != 0 ||
	    cli_has(c, OPT_PROJECT) || cli_has(c, OPT_SESSION))
		return WEFT_OK;
	if (!getcwd(here, sizeof(here)))
		return fail_errno(c->err, errno, "the current directory");
	req_text(q, "project_dir", "the current directory", here);
	return WEFT_OK;
}

static int run_add(struct cli *c)
{
	CLEANUP(buf_done) struct buf text = { 0 };
	CLEANUP(req_done) struct req q = { 0 };
	int r;

	buf_init(&text, SIZE_MAX);
	r = cli_input(c, cli_arg(c, 1), "TEXT", &text);
	if (r != WEFT_OK)
		return r;
	req_init(&q, c, "memory_add");
	r = add_place(c, &q);
	if (r != WEFT_OK)
		return r;
	req_raw(&q, "content", STR(""));
	buf_add_json(&q.b, buf_str(&text));
	req_opt(&q, "title", OPT_TITLE);
	req_opt(&q, "source", OPT_SOURCE);
	req_opt(&q, "op", OPT_OP);
	return cli_answer(c, &q, text_memories);
}

static int run_list(struct cli *c, bool search)
{
	CLEANUP(req_done) struct req q = { 0 };
	int r;

	if (search != (cli_arg(c, 1) != NULL))
		return fail(c->err, WEFT_USAGE,
			    search ? "memory: TEXT to search for is missing" :
				     "memory: list takes no TEXT; search "
				     "does");
	req_init(&q, c, "memories");
	r = add_place(c, &q);
	if (r != WEFT_OK)
		return r;
	req_text(&q, "query", "TEXT", cli_arg(c, 1));
	req_switch(&q, "deleted", OPT_DELETED);
	req_number(&q, "limit", OPT_LIMIT);
	req_opt(&q, "before", OPT_BEFORE);
	return cli_answer(c, &q, text_memories);
}

static int run_forget(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	if (!cli_arg(c, 1))
		return fail(c->err, WEFT_USAGE,
			    "memory: the id of what to forget is missing");
	req_init(&q, c, "memory_forget");
	req_text(&q, "memory", "ID", cli_arg(c, 1));
	req_opt(&q, "scope", OPT_SCOPE);
	req_opt(&q, "session", OPT_SESSION);
	req_opt(&q, "project_dir", OPT_PROJECT);
	return cli_answer(c, &q, text_memories);
}

/* What only one of them takes. */
static int check_opts(struct cli *c, const char *how)
{
	bool adds = strcmp(how, "add") == 0;
	bool lists = strcmp(how, "list") == 0 || strcmp(how, "search") == 0;

	for (size_t i = OPT_TITLE; i <= OPT_BEFORE; i++) {
		bool for_list = i >= OPT_DELETED;

		if (cli_has(c, i) && !(for_list ? lists : adds))
			return fail(c->err, WEFT_USAGE,
				    "memory: --%s does not go with %s",
				    opts[i].name, how);
	}
	return WEFT_OK;
}

static int run(struct cli *c)
{
	const char *how = cli_arg(c, 0);
	int r = check_opts(c, how);

	if (r != WEFT_OK)
		return r;
	if (strcmp(how, "add") == 0)
		return run_add(c);
	if (strcmp(how, "forget") == 0)
		return run_forget(c);
	return run_list(c, strcmp(how, "search") == 0);
}

const struct command cmd_memory = {
	.name = "memory",
	.summary = "what is to be remembered",
	.about = "Memories are short texts that outlive the window: of a "
		 "session, of a project (a directory), or global. list and "
		 "search print id, scope and text, the global ones first; "
		 "search takes what `weft search` takes: words, phrases, "
		 "begin*, -word. What is forgotten is no longer listed; it "
		 "stays in the log.",
	.example = "weft memory add --session work 'prefers short answers'\n"
		   "weft memory add --scope project 'tests: make check'\n"
		   "weft memory list --session work\n"
		   "weft memory search answers --session work",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_CREATE,
	.writes = "add|forget",
	.run = run,
};

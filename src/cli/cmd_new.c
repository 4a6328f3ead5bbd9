/* cmd_new.c - weft new */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum {
	OPT_KEY,
	OPT_ALIAS,
	OPT_SLUG,
	OPT_AGENT,
	OPT_PROJECT,
	OPT_MODEL,
	OPT_KIND,
	OPT_PARENT,
	OPT_PARENT_TOOL_USE_ID,
	OPT_USER,
	OPT_CHANNEL,
	OPT_USER_ROLE,
	OPT_METADATA,
	OPT_OP,
};

static const struct opt opts[] = {
	[OPT_KEY] = { .name = "key",
		      .takes = "K",
		      .kind = OPT_TEXT,
		      .about = "its stable name; if a session has it already, "
			       "that one is shown, unchanged" },
	[OPT_ALIAS] = { .name = "alias",
			.takes = "A",
			.kind = OPT_TEXT,
			.many = 1,
			.about = "a further name; may be given again" },
	[OPT_SLUG] = { .name = "slug",
		       .takes = "S",
		       .kind = OPT_TEXT,
		       .about = "a title for people" },
	[OPT_AGENT] = { .name = "agent",
			.takes = "A",
			.kind = OPT_TEXT,
			.about = "who answers; default main" },
	[OPT_PROJECT] = { .name = "project",
			  .takes = "DIR",
			  .kind = OPT_DIRECTORY,
			  .about = "the directory it is about" },
	[OPT_MODEL] = { .name = "model",
			.takes = "P/N",
			.kind = OPT_TEXT,
			.about = "the model it is held with, as provider and "
				 "name" },
	[OPT_KIND] = { .name = "kind",
		       .takes = "KIND",
		       .kind = OPT_TEXT,
		       .values = "primary|subagent|book",
		       .about = "primary is a conversation (the default), "
				"subagent works for another session, book "
				"keeps what belongs to no conversation" },
	[OPT_PARENT] = { .name = "parent",
			 .takes = "SESSION",
			 .kind = OPT_TEXT,
			 .about = "the session that a subagent works for" },
	[OPT_PARENT_TOOL_USE_ID] = { .name = "parent-tool-use-id",
				     .takes = "ID",
				     .kind = OPT_TEXT,
				     .about = "the tool call that a subagent "
					      "answers" },
	[OPT_USER] = { .name = "user",
		       .takes = "U",
		       .kind = OPT_TEXT,
		       .about = "who speaks" },
	[OPT_CHANNEL] = { .name = "channel",
			  .takes = "C",
			  .kind = OPT_TEXT,
			  .about = "where people talk" },
	[OPT_USER_ROLE] = { .name = "user-role",
			    .takes = "R",
			    .kind = OPT_TEXT,
			    .about = "what the user may do" },
	[OPT_METADATA] = { .name = "metadata",
			   .takes = "JSON",
			   .kind = OPT_TEXT,
			   .about = "an object, kept as it is" },
	[OPT_OP] = { .name = "op",
		     .takes = "O",
		     .kind = OPT_TEXT,
		     .about = "operation id: the same one again is the same "
			      "session, not a second one" },
};

static void add_aliases(struct req *q)
{
	const struct opt_given *given = &q->cli->line.own[OPT_ALIAS];
	const char *comma = "";

	if (given->n == 0)
		return;
	req_raw(q, "aliases", STR("["));
	for (size_t i = 0; i < given->n; i++) {
		buf_printf(&q->b, "%s", comma);
		req_add_text(q, "--alias", given->v[i]);
		comma = ",";
	}
	buf_add_c(&q->b, ']');
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "new");
	req_opt(&q, "key", OPT_KEY);
	add_aliases(&q);
	req_opt(&q, "slug", OPT_SLUG);
	req_opt(&q, "agent", OPT_AGENT);
	req_opt(&q, "project_dir", OPT_PROJECT);
	req_model(&q, "model", "--model", cli_opt(c, OPT_MODEL));
	req_opt(&q, "kind", OPT_KIND);
	req_opt(&q, "parent", OPT_PARENT);
	req_opt(&q, "parent_tool_use_id", OPT_PARENT_TOOL_USE_ID);
	req_opt(&q, "user", OPT_USER);
	req_opt(&q, "channel", OPT_CHANNEL);
	req_opt(&q, "user_role", OPT_USER_ROLE);
	req_json(&q, "metadata", "--metadata", cli_opt(c, OPT_METADATA));
	req_opt(&q, "op", OPT_OP);
	return cli_answer(c, &q, text_session_id);
}

const struct command cmd_new = {
	.name = "new",
	.summary = "begin a session",
	.about = "Begins a session and prints its id; with --json the whole "
		 "session, and whether it was created. The store is made if "
		 "there is none.",
	.example = "session=$(weft new --slug 'trip to Lisbon')\n"
		   "weft new --key main --alias work --model anthropic/claude",
	OPTS(opts),
	.store = STORE_USE_CREATE,
	.run = run,
};

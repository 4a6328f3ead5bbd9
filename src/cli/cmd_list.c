/* cmd_list.c - weft list */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/commands.h"

enum {
	OPT_QUERY,
	OPT_KIND,
	OPT_PARENT,
	OPT_PROJECT,
	OPT_AGENT,
	OPT_CHANNEL,
	OPT_USER,
	OPT_KEY,
	OPT_CHAIN,
	OPT_DELETED,
	OPT_SORT,
	OPT_LIMIT,
	OPT_CURSOR,
};

static const struct opt opts[] = {
	[OPT_QUERY] = { .name = "query",
			.takes = "T",
			.kind = OPT_TEXT,
			.about = "only those with this text in title, project "
				 "or first message; case and accents do not "
				 "count" },
	[OPT_KIND] = { .name = "kind",
		       .takes = "KIND",
		       .kind = OPT_TEXT,
		       .values = "primary|subagent|conversation|book|all",
		       .about = "conversation: primary and subagent; default "
				"primary, or all with --parent" },
	[OPT_PARENT] = { .name = "parent",
			 .takes = "SESSION",
			 .kind = OPT_TEXT,
			 .about = "only forks and subagents of this session" },
	[OPT_PROJECT] = { .name = "project",
			  .takes = "DIR",
			  .kind = OPT_DIRECTORY,
			  .about = "only those about this directory" },
	[OPT_AGENT] = { .name = "agent",
			.takes = "A",
			.kind = OPT_TEXT,
			.about = "only those of this agent" },
	[OPT_CHANNEL] = { .name = "channel",
			  .takes = "C",
			  .kind = OPT_TEXT,
			  .about = "only those on this channel" },
	[OPT_USER] = { .name = "user",
		       .takes = "U",
		       .kind = OPT_TEXT,
		       .about = "only those of this user" },
	[OPT_KEY] = { .name = "key",
		      .takes = "K",
		      .kind = OPT_TEXT,
		      .about = "only the session that has this key" },
	[OPT_CHAIN] = { .name = "chain",
			.about = "with --key: also those that had it before, "
				 "newest first" },
	[OPT_DELETED] = { .name = "deleted",
			  .about = "also those that were deleted" },
	[OPT_SORT] = { .name = "sort",
		       .takes = "ORDER",
		       .kind = OPT_TEXT,
		       .values = "interaction|created",
		       .about = "by the last interaction (the default) or by "
				"creation; newest first" },
	[OPT_LIMIT] = OPTION_LIMIT,
	[OPT_CURSOR] = { .name = "cursor",
			 .takes = "C",
			 .kind = OPT_TEXT,
			 .about = "the page behind or before this one, as "
				  "\"next\" and \"prev\" of --json say" },
};

/* What a session is called: its title, or how it began. */
static struct weft_str title_of(yyjson_val *session)
{
	struct weft_str slug = val_str(session, "slug");

	return slug.len ? slug : val_str(session, "first_user");
}

#define FIXED_COLUMNS (WEFT_ID_CHARS + 2 + 16 + 2 + 8 + 2)

static void row(struct cli *c, yyjson_val *s)
{
	struct weft_str title = title_of(s);
	size_t room = c->out.width > FIXED_COLUMNS + 10 ?
			      c->out.width - FIXED_COLUMNS :
			      10;
	bool gone = val_str(s, "deleted_at").len > 0;
	char when[32];

	text_time(val_str(s, "last_interaction_at"), when, false);
	if (!c->out.terminal) {
		out_printf(&c->out, "%.*s\t%s\t%llu\t",
			   STR_ARG(val_str(s, "id")), when,
			   (unsigned long long)val_u64(s, "message_count"));
		out_one_line(&c->out, title);
		out_add(&c->out, gone ? STR("\tdeleted\n") : STR("\n"));
		return;
	}
	if (gone)
		out_style(&c->out, STYLE_DIM);
	out_printf(&c->out, "%.*s  %-16s  %8llu  ", STR_ARG(val_str(s, "id")),
		   when, (unsigned long long)val_u64(s, "message_count"));
	out_one_line(&c->out, out_cut(title, room));
	out_style(&c->out, STYLE_NONE);
	out_add(&c->out, STR("\n"));
}

static void text_list(struct cli *c, yyjson_val *answer)
{
	yyjson_val *sessions = yyjson_obj_get(answer, "sessions");
	yyjson_arr_iter it;
	yyjson_val *s;

	if (c->out.terminal && yyjson_arr_size(sessions) > 0) {
		out_style(&c->out, STYLE_BOLD);
		out_printf(&c->out, "%-26s  %-16s  %8s  %s\n", "SESSION",
			   "LAST SPOKEN", "MESSAGES", "TITLE");
		out_style(&c->out, STYLE_NONE);
	}
	yyjson_arr_iter_init(sessions, &it);
	while ((s = yyjson_arr_iter_next(&it)))
		row(c, s);
	text_more(c, answer);
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "list");
	req_opt(&q, "query", OPT_QUERY);
	req_opt(&q, "kind", OPT_KIND);
	req_opt(&q, "parent", OPT_PARENT);
	req_opt(&q, "project_dir", OPT_PROJECT);
	req_opt(&q, "agent", OPT_AGENT);
	req_opt(&q, "channel", OPT_CHANNEL);
	req_opt(&q, "user", OPT_USER);
	req_opt(&q, "key", OPT_KEY);
	req_switch(&q, "chain", OPT_CHAIN);
	req_switch(&q, "deleted", OPT_DELETED);
	req_opt(&q, "sort", OPT_SORT);
	req_number(&q, "limit", OPT_LIMIT);
	req_opt(&q, "cursor", OPT_CURSOR);
	return cli_answer(c, &q, text_list);
}

const struct command cmd_list = {
	.name = "list",
	.summary = "list sessions",
	.about = "Lists sessions, newest first: id, when it was last spoken "
		 "in, how many messages it has, its title. Where standard "
		 "output is no terminal there are tabs between them and no "
		 "headings.",
	.example = "weft list --query lisbon\n"
		   "weft list --json --limit 10 | jq -r '.sessions[].id'",
	OPTS(opts),
	.store = STORE_USE_READ,
	.run = run,
};

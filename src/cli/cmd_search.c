/* cmd_search.c - weft search */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum {
	OPT_SESSION,
	OPT_KIND,
	OPT_PROJECT,
	OPT_USER,
	OPT_LIMIT,
	OPT_CURSOR,
	OPT_WAIT,
};

static const struct opt opts[] = {
	[OPT_SESSION] = { .name = "session",
			  .takes = "SESSION",
			  .kind = OPT_TEXT,
			  .about = "only in this session and in what it "
				   "inherits" },
	[OPT_KIND] = { .name = "kind",
		       .takes = "KIND",
		       .kind = OPT_TEXT,
		       .values = "message|title|memory",
		       .about = "only messages, titles of sessions, or "
				"memories" },
	[OPT_PROJECT] = { .name = "project",
			  .takes = "DIR",
			  .kind = OPT_DIRECTORY,
			  .about = "only in sessions about this directory" },
	[OPT_USER] = { .name = "user",
		       .takes = "U",
		       .kind = OPT_TEXT,
		       .about = "only in sessions of this user" },
	[OPT_LIMIT] = OPTION_LIMIT,
	[OPT_CURSOR] = { .name = "cursor",
			 .takes = "C",
			 .kind = OPT_TEXT,
			 .about = "the page behind this one, as \"next\" of "
				  "--json says" },
	[OPT_WAIT] = { .name = "wait",
		       .about = "first index all that is not indexed yet, "
				"however long that takes" },
};

static const struct arg args[] = {
	{ .name = "TEXT",
	  .about = "words, all of which must be there; \"a phrase\"; begin* "
		   "for what begins a word; -word for what must not be there" },
};

/* One line of fields; for people which conversation, and below what was said. */
static void row(struct cli *c, yyjson_val *hit)
{
	struct weft_str what = val_str(hit, "role");
	bool people = c->out.terminal;
	const char *gap = people ? "  " : "\t";
	char when[32];

	if (!what.len)
		what = val_str(hit, "kind");
	text_time(val_str(hit, "created_at"), when, false);
	out_style(&c->out, STYLE_DIM);
	out_printf(&c->out, "%.*s%s%llu%s%s%s%.*s%s",
		   STR_ARG(val_str(hit, "session")), people ? " " : gap,
		   (unsigned long long)val_u64(hit, "seq"), gap, when, gap,
		   STR_ARG(what), gap);
	if (people)
		out_one_line(&c->out, val_str(hit, "slug"));
	out_style(&c->out, STYLE_NONE);
	if (people)
		out_add(&c->out, STR("\n  "));
	out_one_line(&c->out, val_str(hit, "snippet"));
	out_add(&c->out, STR("\n"));
}

static void text_hits(struct cli *c, yyjson_val *answer)
{
	uint64_t behind = val_u64(answer, "behind");
	yyjson_arr_iter it;
	yyjson_val *hit;

	yyjson_arr_iter_init(yyjson_obj_get(answer, "hits"), &it);
	while ((hit = yyjson_arr_iter_next(&it)))
		row(c, hit);
	text_more(c, answer);
	if (!c->out.terminal || !behind)
		return;
	out_style(&c->out, STYLE_DIM);
	out_printf(&c->out, "not indexed yet, and not searched: %s (--wait)\n",
		   COUNT(behind, "event"));
	out_style(&c->out, STYLE_NONE);
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "search");
	req_text(&q, "query", "TEXT", cli_arg(c, 0));
	req_opt(&q, "session", OPT_SESSION);
	req_opt(&q, "kind", OPT_KIND);
	req_opt(&q, "project_dir", OPT_PROJECT);
	req_opt(&q, "user", OPT_USER);
	req_number(&q, "limit", OPT_LIMIT);
	req_opt(&q, "cursor", OPT_CURSOR);
	req_switch(&q, "wait", OPT_WAIT);
	return cli_answer(c, &q, text_hits);
}

const struct command cmd_search = {
	.name = "search",
	.summary = "find what was said",
	.about =
		"Searches messages, the titles of sessions and memories for "
		"words, newest first. Case and accents do not count. Prints "
		"session, number, time, who said it and what is around the "
		"first word. Redacted messages, forgotten memories and deleted "
		"sessions are not found. The index follows what is written; "
		"with --json, behind says how many events it lacks and were "
		"not searched.",
	.example = "weft search lisbon\n"
		   "weft search '\"night train\" ticket* -bus'\n"
		   "weft search --session work --json cafe",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_READ,
	.run = run,
};

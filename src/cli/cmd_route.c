/* cmd_route.c - weft route */
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum {
	OPT_CHANNEL,
	OPT_ACCOUNT,
	OPT_CHAT_TYPE,
	OPT_CHAT_ID,
	OPT_TOPIC_ID,
	OPT_SPACE_TYPE,
	OPT_SPACE_ID,
	OPT_SENDER_ID,
	OPT_MENTIONED,
	OPT_AGENT,
	OPT_SESSION_KEY,
	OPT_DRY_RUN,
};

static const struct opt opts[] = {
	[OPT_CHANNEL] = { .name = "channel",
			  .takes = "C",
			  .kind = OPT_TEXT,
			  .required = 1,
			  .about = "where people talk: telegram, slack, ...; "
				   "must be given" },
	[OPT_ACCOUNT] = { .name = "account",
			  .takes = "A",
			  .kind = OPT_TEXT,
			  .about = "the account or bot that was written to" },
	[OPT_CHAT_TYPE] = { .name = "chat-type",
			    .takes = "T",
			    .kind = OPT_TEXT,
			    .about = "direct, group, channel, ...; default "
				     "direct" },
	[OPT_CHAT_ID] = { .name = "chat-id",
			  .takes = "I",
			  .kind = OPT_TEXT,
			  .about = "the chat" },
	[OPT_TOPIC_ID] = { .name = "topic-id",
			   .takes = "I",
			   .kind = OPT_TEXT,
			   .about = "the topic or thread in it" },
	[OPT_SPACE_TYPE] = { .name = "space-type",
			     .takes = "T",
			     .kind = OPT_TEXT,
			     .about = "workspace, guild, ...; default space" },
	[OPT_SPACE_ID] = { .name = "space-id",
			   .takes = "I",
			   .kind = OPT_TEXT,
			   .about = "what the chat is part of" },
	[OPT_SENDER_ID] = { .name = "sender-id",
			    .takes = "I",
			    .kind = OPT_TEXT,
			    .about = "who speaks" },
	[OPT_MENTIONED] = { .name = "mentioned",
			    .about = "the agent is named in the message" },
	[OPT_AGENT] = { .name = "agent",
			.takes = "A",
			.kind = OPT_TEXT,
			.about = "who answers; the rules do not count then" },
	[OPT_SESSION_KEY] = { .name = "session-key",
			      .takes = "K",
			      .kind = OPT_TEXT,
			      .about = "a key of your own, sk_v1_... or "
				       "agent:..., taken as it is" },
	[OPT_DRY_RUN] = { .name = "dry-run",
			  .about = "only look; make nothing" },
};

/* Whoever only looks makes no store, and needs none to be told. */
static int open_store(struct cli *c)
{
	int r;

	if (!cli_has(c, OPT_DRY_RUN))
		return cli_open_as(c, STORE_USE_CREATE);
	r = cli_open_as(c, STORE_USE_READ);
	if (r != WEFT_NOT_FOUND)
		return r;
	cli_debug(c, "%s; nothing is there", c->err->message);
	return weft_open("memory:", NULL, &c->store, c->err);
}

static void print_why(struct cli *c, yyjson_val *why)
{
	yyjson_arr_iter it;
	yyjson_val *line;

	yyjson_arr_iter_init(why, &it);
	while ((line = yyjson_arr_iter_next(&it))) {
		out_add(&c->out, STR("  "));
		out_one_line(&c->out, json_str(line));
		out_add(&c->out, STR("\n"));
	}
}

/* For whoever looks at nothing else. */
static void print_warnings(yyjson_val *warnings)
{
	CLEANUP(buf_done) struct buf line = { 0 };
	yyjson_arr_iter it;
	yyjson_val *v;

	buf_init(&line, KIB(16));
	yyjson_arr_iter_init(warnings, &it);
	while ((v = yyjson_arr_iter_next(&it))) {
		buf_reset(&line);
		out_neutralise(&line, json_str(v));
		(void)fprintf(stderr, "weft: warning: %s\n", buf_cstr(&line));
	}
}

static void print_row(struct cli *c, const char *label, struct weft_str value,
		      struct weft_str note)
{
	out_style(&c->out, STYLE_DIM);
	out_printf(&c->out, "%-10s", label);
	out_style(&c->out, STYLE_NONE);
	out_one_line(&c->out, value);
	if (note.len) {
		out_add(&c->out, STR(" ("));
		out_one_line(&c->out, note);
		out_add(&c->out, STR(")"));
	}
	out_add(&c->out, STR("\n"));
}

static void print_route(struct cli *c, yyjson_val *root)
{
	struct weft_str session = val_str(root, "session");

	if (session.len)
		print_row(c, "session", session,
			  val_true(root, "created") ? STR("created") : STR(""));
	else
		print_row(c, "session", STR("none yet"),
			  STR("it would be made"));
	print_row(c, "agent", val_str(root, "agent"),
		  val_str(root, "matched_by"));
	print_row(c, "key", val_str(root, "key"), STR(""));
	print_row(c, "signature", val_str(root, "signature"), STR(""));
	out_style(&c->out, STYLE_DIM);
	out_add(&c->out, STR("why\n"));
	out_style(&c->out, STYLE_NONE);
	print_why(c, yyjson_obj_get(root, "why"));
}

/* --debug: how the key came about, also where the answer is for programs. */
static void explain(struct cli *c, yyjson_val *root)
{
	yyjson_arr_iter it;
	yyjson_val *line;

	yyjson_arr_iter_init(yyjson_obj_get(root, "why"), &it);
	while ((line = yyjson_arr_iter_next(&it)))
		cli_debug(c, "%.*s", STR_ARG(json_str(line)));
	cli_debug(c, "signature: %.*s", STR_ARG(val_str(root, "signature")));
	cli_debug(c, "key: %.*s", STR_ARG(val_str(root, "key")));
}

static int answer(struct cli *c, struct req *q)
{
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *root;
	int r = req_call(q, &a);

	if (r != WEFT_OK)
		return r;
	root = answer_parse(c, &a);
	if (!root)
		return WEFT_NO_MEMORY;
	explain(c, root);
	print_warnings(yyjson_obj_get(root, "warnings"));
	if (c->json)
		out_json(&c->out, a.text);
	else
		print_route(c, root);
	return WEFT_OK;
}

static int run(struct cli *c)
{
	static const struct {
		const char *field;
		size_t opt;
	} texts[] = {
		{ "channel", OPT_CHANNEL },
		{ "account", OPT_ACCOUNT },
		{ "chat_type", OPT_CHAT_TYPE },
		{ "chat_id", OPT_CHAT_ID },
		{ "topic_id", OPT_TOPIC_ID },
		{ "space_type", OPT_SPACE_TYPE },
		{ "space_id", OPT_SPACE_ID },
		{ "sender_id", OPT_SENDER_ID },
		{ "agent", OPT_AGENT },
		{ "session_key", OPT_SESSION_KEY },
	};
	CLEANUP(req_done) struct req q = { 0 };
	int r;

	if (text_trim(str_of(cli_opt(c, OPT_CHANNEL))).len == 0)
		return fail(c->err, WEFT_USAGE,
			    "--channel: may not be empty; it is where people "
			    "talk");
	r = open_store(c);
	if (r == WEFT_OK)
		r = cli_hand_over(c);
	if (r != WEFT_OK)
		return r;
	req_init(&q, c, "route");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		req_opt(&q, texts[i].field, texts[i].opt);
	req_switch(&q, "mentioned", OPT_MENTIONED);
	req_switch(&q, "dry_run", OPT_DRY_RUN);
	return answer(c, &q);
}

const struct command cmd_route = {
	.name = "route",
	.summary = "find the session that a message belongs to",
	.about = "Says who answers a message and which session it belongs to, "
		 "by the configuration, and why, rule by rule. The session is "
		 "made if there is none yet, unless with --dry-run.\n\n"
		 "docs/ROUTING.md shows what to configure for which use.",
	.example = "weft route --channel telegram --chat-type direct "
		   "--chat-id 5 --sender-id 5\n"
		   "weft route --dry-run --channel slack --chat-type channel "
		   "--chat-id C001",
	OPTS(opts),
	.run = run,
};

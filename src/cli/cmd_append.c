/* cmd_append.c - weft append */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/jsonl.h"

enum { OPT_ROLE, OPT_OP, OPT_EXPECT, OPT_TOKEN, OPT_JSONL, OPT_ATOMIC };

static const struct opt opts[] = {
	[OPT_ROLE] = { .name = "role",
		       .takes = "R",
		       .kind = OPT_TEXT,
		       .values = "user|assistant|tool|system",
		       .about = "who says it; default user" },
	[OPT_OP] = { .name = "op",
		     .takes = "O",
		     .kind = OPT_TEXT,
		     .about = "operation id: the same one again writes "
			      "nothing and prints what it did the first time" },
	[OPT_EXPECT] = { .name = "expect",
			 .takes = "N",
			 .kind = OPT_NUMBER,
			 .about = "refuse if the session's content_seq is "
				  "another" },
	[OPT_TOKEN] = OPTION_TOKEN,
	[OPT_JSONL] = { .name = "jsonl",
			.about = "messages from standard input, one a line; "
				 "prints one line for each, in order, when it "
				 "is durable" },
	[OPT_ATOMIC] = { .name = "atomic",
			 .about = "with --jsonl: all lines or none" },
};

static const struct arg args[] = {
	{ .name = "SESSION",
	  .about = "an id, key, alias or title, or the beginning of an id; "
		   "with --jsonl it may be left out if each line has "
		   "\"session\"",
	  .optional = 1 },
	{ .name = "TEXT",
	  .about = "what is said; from standard input if it is not given",
	  .optional = 1 },
};

static void text_receipt(struct cli *c, yyjson_val *receipt)
{
	out_printf(&c->out, "%llu %.*s%s\n",
		   (unsigned long long)val_u64(receipt, "seq"),
		   STR_ARG(val_str(receipt, "id")),
		   val_true(receipt, "replayed") ? " replayed" : "");
}

static int append_text(struct cli *c)
{
	CLEANUP(buf_done) struct buf text = { 0 };
	CLEANUP(req_done) struct req q = { 0 };
	const char *role = cli_opt(c, OPT_ROLE);
	int r;

	buf_init(&text, SIZE_MAX);
	r = cli_input(c, cli_arg(c, 1), "TEXT", &text);
	if (r != WEFT_OK)
		return r;
	req_init(&q, c, "append");
	req_session(&q, 0);
	req_open(&q, "message");
	req_text(&q, "role", "--role", role ? role : "user");
	req_raw(&q, "content", STR(""));
	buf_add_json(&q.b, buf_str(&text));
	req_close(&q);
	req_opt(&q, "op", OPT_OP);
	req_number(&q, "expect", OPT_EXPECT);
	req_number(&q, "token", OPT_TOKEN);
	c->out.must_arrive = true;
	return cli_answer(c, &q, text_receipt);
}

/* What --jsonl cannot be combined with. */
static int check_jsonl(struct cli *c, bool atomic)
{
	if (cli_arg(c, 1))
		return fail(c->err, WEFT_USAGE,
			    "append: TEXT and --jsonl do not go together");
	if (cli_has(c, OPT_ROLE))
		return fail(c->err, WEFT_USAGE,
			    "append: with --jsonl each line has its \"role\"; "
			    "leave --role out");
	if (!atomic && (cli_has(c, OPT_OP) || cli_has(c, OPT_EXPECT)))
		return fail(c->err, WEFT_USAGE,
			    "append: with --jsonl each line has its \"op\" and "
			    "\"expect\"; or add --atomic");
	return WEFT_OK;
}

static int append_jsonl(struct cli *c)
{
	bool atomic = cli_has(c, OPT_ATOMIC);
	struct jsonl j = {
		.session = cli_arg(c, 0),
		.token = cli_number(c, OPT_TOKEN, 0),
		.op = cli_opt(c, OPT_OP),
		.expect = cli_number(c, OPT_EXPECT, WEFT_NO_EXPECT),
	};
	int r = check_jsonl(c, atomic);

	/* Once for all lines: an id needs no look-up. */
	if (r == WEFT_OK && j.session)
		r = cli_resolve(c, &j.session);
	if (r != WEFT_OK)
		return r;
	return atomic ? jsonl_atomic(c, &j) : jsonl_each(c, &j);
}

static int run(struct cli *c)
{
	if (cli_has(c, OPT_JSONL))
		return append_jsonl(c);
	if (cli_has(c, OPT_ATOMIC))
		return fail(c->err, WEFT_USAGE,
			    "append: --atomic goes with --jsonl");
	if (!cli_arg(c, 0))
		return fail(c->err, WEFT_USAGE,
			    "append: SESSION is missing; 'weft append --help' "
			    "says more");
	return append_text(c);
}

const struct command cmd_append = {
	.name = "append",
	.summary = "append messages to a session",
	.about = "Appends a message and prints its number and id. When it is "
		 "printed it is durable: it survives a power cut.\n"
		 "\n"
		 "With --jsonl, each line of standard input is a message: "
		 "{\"role\":\"user\",\"content\":\"hello\"}. Many are kept in "
		 "flight, so that they share the disk's flushes. The answers "
		 "come in the order of the lines, {\"seq\",\"id\"} or "
		 "{\"error\",\"line\"}; a line that is wrong does not keep the "
		 "others back, and the exit status is that of the first error. "
		 "With --atomic all lines are appended at once or, if one of "
		 "them is wrong, none.",
	.example = "weft append work 'what did we decide?'\n"
		   "date | weft append work --role system\n"
		   "weft append work --jsonl <messages.jsonl",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.run = run,
};

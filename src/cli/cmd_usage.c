/* cmd_usage.c - weft usage */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum {
	OPT_INPUT,
	OPT_OUTPUT,
	OPT_CACHE_READ,
	OPT_CACHE_WRITE,
	OPT_COST,
	OPT_OP,
	OPT_TOKEN,
	OPTS_ALL
};

static const struct opt opts[] = {
	[OPT_INPUT] = { .name = "input",
			.takes = "N",
			.kind = OPT_NUMBER,
			.about = "add: tokens that a model read" },
	[OPT_OUTPUT] = { .name = "output",
			 .takes = "N",
			 .kind = OPT_NUMBER,
			 .about = "add: tokens that it wrote" },
	[OPT_CACHE_READ] = { .name = "cache-read",
			     .takes = "N",
			     .kind = OPT_NUMBER,
			     .about = "add: tokens read from a cache" },
	[OPT_CACHE_WRITE] = { .name = "cache-write",
			      .takes = "N",
			      .kind = OPT_NUMBER,
			      .about = "add: tokens written to a cache" },
	[OPT_COST] = { .name = "cost",
		       .takes = "DOLLARS",
		       .kind = OPT_TEXT,
		       .about = "add: the price, such as 0.0125; without it "
				"the price is not known" },
	[OPT_OP] = { .name = "op",
		     .takes = "O",
		     .kind = OPT_TEXT,
		     .about = "add: operation id: the same one again adds "
			      "nothing" },
	[OPT_TOKEN] = OPTION_TOKEN,
};

static const struct arg args[] = {
	{ .name = "SESSION|add",
	  .about = "an id, key, alias or title, or the beginning of an id; or "
		   "the word add, with the session behind it" },
	{ .name = "SESSION", .about = "what add adds to", .optional = 1 },
};

static void text_totals(struct cli *c, const char *name, yyjson_val *t)
{
	yyjson_val *cost = yyjson_obj_get(t, "cost_usd");

	out_printf(&c->out,
		   "%-6s %llu in, %llu out, %llu from cache, %llu to cache, ",
		   name, (unsigned long long)val_u64(t, "input_tokens"),
		   (unsigned long long)val_u64(t, "output_tokens"),
		   (unsigned long long)val_u64(t, "cache_read_tokens"),
		   (unsigned long long)val_u64(t, "cache_write_tokens"));
	out_printf(&c->out, "%.9g dollars", yyjson_get_num(cost));
	if (val_u64(t, "unpriced"))
		out_printf(&c->out, ", %llu without a price",
			   (unsigned long long)val_u64(t, "unpriced"));
	out_add(&c->out, STR("\n"));
}

static void text_usage(struct cli *c, yyjson_val *answer)
{
	text_totals(c, "own", yyjson_obj_get(answer, "own"));
	text_totals(c, "total", yyjson_obj_get(answer, "total"));
}

static bool has_amount(const struct cli *c)
{
	for (size_t i = OPT_INPUT; i <= OPT_COST; i++) {
		if (cli_has(c, i))
			return true;
	}
	return false;
}

static int run_show(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	if (cli_arg(c, 1))
		return fail(c->err, WEFT_USAGE,
			    "usage: '%s' is too much; or did you mean 'weft "
			    "usage add SESSION'?",
			    cli_arg(c, 1));
	for (size_t i = 0; i < OPTS_ALL; i++) {
		if (cli_has(c, i))
			return fail(c->err, WEFT_USAGE,
				    "usage: --%s goes with add", opts[i].name);
	}
	req_init(&q, c, "usage");
	req_session(&q, 0);
	return cli_answer(c, &q, text_usage);
}

static int check_cost(struct cli *c)
{
	const char *cost = cli_opt(c, OPT_COST);

	if (!cost || (*cost && strspn(cost, "+-.0123456789eE") == strlen(cost)))
		return WEFT_OK;
	return fail(c->err, WEFT_USAGE,
		    "--cost: expected dollars, such as 0.0125, got '%s'", cost);
}

static int run_add(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	int r = check_cost(c);

	if (r != WEFT_OK)
		return r;

	if (!cli_arg(c, 1))
		return fail(c->err, WEFT_USAGE,
			    "usage: SESSION is missing behind add");
	if (!has_amount(c))
		return fail(c->err, WEFT_USAGE,
			    "usage: nothing to add; give --input, --output, "
			    "--cache-read, --cache-write or --cost");
	req_init(&q, c, "usage_add");
	req_session(&q, 1);
	req_open(&q, "usage");
	req_number(&q, "input_tokens", OPT_INPUT);
	req_number(&q, "output_tokens", OPT_OUTPUT);
	req_number(&q, "cache_read_tokens", OPT_CACHE_READ);
	req_number(&q, "cache_write_tokens", OPT_CACHE_WRITE);
	req_json(&q, "cost_usd", "--cost", cli_opt(c, OPT_COST));
	req_close(&q);
	req_opt(&q, "op", OPT_OP);
	req_number(&q, "token", OPT_TOKEN);
	return cli_answer(c, &q, text_usage);
}

static int run(struct cli *c)
{
	return strcmp(cli_arg(c, 0), "add") == 0 ? run_add(c) : run_show(c);
}

const struct command cmd_usage = {
	.name = "usage",
	.summary = "what a session has spent",
	.about = "Prints what a session has spent: own is what its messages "
		 "say and what was added by hand, total has everything in it "
		 "that its subagents spent, and theirs. A fork pays for "
		 "itself. What has no known price is counted.\n"
		 "\n"
		 "With add, writes down what was spent without a message, and "
		 "prints the new numbers.",
	.example = "weft usage work\n"
		   "weft usage add work --input 1200 --output 80 --cost 0.0048",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_WRITE,
	.writes = "add",
	.run = run,
};

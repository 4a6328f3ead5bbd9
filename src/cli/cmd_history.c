/* cmd_history.c - weft history */
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_VIEW, OPT_LAST, OPT_TOKENS, OPT_FORMAT, OPT_PROVIDER, OPT_REDACTED };

static const struct opt opts[] = {
	[OPT_VIEW] = { .name = "view",
		       .takes = "V",
		       .kind = OPT_TEXT,
		       .values = "window|full|direct",
		       .about = "full: all that was said (the default); "
				"direct: without what a fork inherited; "
				"window: what a model is given" },
	[OPT_LAST] = { .name = "last",
		       .takes = "N",
		       .kind = OPT_NUMBER,
		       .about = "only the last N messages" },
	[OPT_TOKENS] = { .name = "tokens",
			 .takes = "N",
			 .kind = OPT_NUMBER,
			 .about = "only as many of the last turns as are "
				  "estimated to have no more than N tokens; "
				  "the last turn always stays" },
	[OPT_FORMAT] = { .name = "format",
			 .takes = "F",
			 .kind = OPT_TEXT,
			 .values = "weft|anthropic|openai|responses|text",
			 .about = "weft: one message a line, as JSON (the "
				  "default); anthropic, openai, responses: "
				  "one JSON object that this provider "
				  "accepts; text: for people" },
	[OPT_PROVIDER] = { .name = "provider",
			   .takes = "P",
			   .kind = OPT_TEXT,
			   .about = "with a provider's format: whose "
				    "signatures and other bound data are sent "
				    "back; default anthropic or openai" },
	[OPT_REDACTED] = { .name = "redacted",
			   .about = "also what was redacted" },
};

static const struct arg args[] = {
	ARG_SESSION,
};

static void print_text(struct cli *c, struct weft_str message, bool first)
{
	yyjson_doc *doc = json_parse_trusted(message, NULL, 0);

	if (!doc)
		return;
	if (!first)
		out_add(&c->out, STR("\n"));
	text_message(c, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}

/* What came before the window, above everything else. */
static void print_summary(struct cli *c, struct weft_str json, bool text)
{
	yyjson_doc *doc;

	if (!text) {
		CLEANUP(buf_done) struct buf b = { 0 };

		buf_init(&b, SIZE_MAX);
		buf_add_lit(&b, "{\"summary\":");
		buf_add_str(&b, json);
		buf_add_c(&b, '}');
		out_json(&c->out, buf_str(&b));
		return;
	}
	doc = json_parse_trusted(json, NULL, 0);
	if (!doc)
		return;
	out_add(&c->out, STR("Summary\n"));
	out_text(&c->out, json_str(yyjson_doc_get_root(doc)));
	out_add(&c->out, STR("\n\n"));
	yyjson_doc_free(doc);
}

/* Print the messages of a page. */
static void print_page(struct cli *c, struct weft_str page, bool text,
		       bool *first)
{
	struct weft_str messages = raw_member(page, "messages"), message;
	struct weft_str summary = raw_member(page, "summary");
	size_t pos = 0;

	if (summary.len && *first)
		print_summary(c, summary, text);

	while (json_next_element(messages, &pos, &message)) {
		if (text)
			print_text(c, message, *first);
		else
			out_json(&c->out, message);
		*first = false;
	}
}

/* What all requests say. */
static void request_begin(struct req *q, struct cli *c)
{
	req_init(q, c, "history");
	req_session(q, 0);
	req_opt(q, "view", OPT_VIEW);
	req_switch(q, "redacted", OPT_REDACTED);
}

/* As a provider wants it: one object. */
static int print_rendered(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	int r;

	request_begin(&q, c);
	req_opt(&q, "format", OPT_FORMAT);
	req_opt(&q, "provider", OPT_PROVIDER);
	req_number(&q, "last", OPT_LAST);
	req_number(&q, "tokens", OPT_TOKENS);
	r = req_call(&q, &a);
	if (r == WEFT_OK)
		out_json(&c->out, a.text);
	return r;
}

/* Where reading goes on. */
struct place {
	uint64_t after;
	uint64_t damaged;
	bool more;
};

static int next_page(struct cli *c, struct place *p, bool text, bool *first)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	uint64_t n;
	int r;

	request_begin(&q, c);
	if (p->after) {
		req_u64(&q, "after", p->after);
	} else {
		req_number(&q, "last", OPT_LAST);
		req_number(&q, "tokens", OPT_TOKENS);
	}
	r = req_call(&q, &a);
	if (r != WEFT_OK)
		return r;
	print_page(c, a.text, text, first);
	if (str_to_u64(raw_member(a.text, "damaged"), UINT64_MAX, &n))
		p->damaged += n;
	p->more = str_to_u64(raw_member(a.text, "next"), UINT64_MAX, &p->after);
	return WEFT_OK;
}

static int run(struct cli *c)
{
	const char *format = cli_opt(c, OPT_FORMAT);
	bool text = format && strcmp(format, "text") == 0;
	struct place p = { 0 };
	bool first = true;

	if (text && c->json)
		return fail(c->err, WEFT_USAGE,
			    "history: --json and --format text do not go "
			    "together");
	if (format && !text && strcmp(format, "weft") != 0)
		return print_rendered(c);
	do {
		int r = next_page(c, &p, text, &first);

		if (r == WEFT_OK)
			r = out_flush(&c->out, c->err);
		if (r != WEFT_OK)
			return r;
	} while (p.more && !out_closed(&c->out));
	if (p.damaged)
		(void)fprintf(stderr,
			      "weft: %s left out; 'weft verify' says where\n",
			      COUNT(p.damaged, "damaged event"));
	return WEFT_OK;
}

const struct command cmd_history = {
	.name = "history",
	.summary = "print what was said in a session",
	.about = "Prints the messages of a session, oldest first: one JSON "
		 "object a line, text for people, or all of them as one "
		 "object that a model's provider accepts, whatever happened "
		 "to the session.",
	.example = "weft history work --format text\n"
		   "weft history work --format anthropic --tokens 50000\n"
		   "weft history work --last 20 | jq -r .role",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_READ,
	.run = run,
};

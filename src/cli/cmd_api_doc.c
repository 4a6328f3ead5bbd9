/*
 * cmd_api_doc.c - weft api-doc: docs/API.md and docs/LIMITS.md, from what the
 * door says about itself.
 */
#include "cli/cli.h"
#include "cli/commands.h"

static const struct arg args[] = {
	{ .name = "PAGE", .about = "which page", .values = "api|limits" },
};

static const char api_head[] =
	"<!-- Made by 'weft api-doc api'; a test compares. -->\n"
	"# The door\n"
	"\n"
	"For programs that use Weft: every method of `weft_call`, which\n"
	"`weft --json` goes through too.\n"
	"\n"
	"A request is a JSON object: `\"method\"` and the fields of that "
	"method.\n"
	"The answer is JSON. A field that is `null` counts as not given; one "
	"that\n"
	"the method does not have is an error. Errors have a code and a "
	"message:\n"
	"see `enum weft_code` in `weft/types.h`.\n"
	"\n"
	"    {\"method\":\"append\",\"session\":\"work\",\n"
	"     \"message\":{\"role\":\"user\",\"content\":\"hello\"}}\n"
	"\n"
	"The method `methods` gives this page as JSON.\n"
	"\n"
	"## Types of fields\n"
	"\n"
	"| type | what it is |\n"
	"|---|---|\n"
	"| line | a string without control characters |\n"
	"| choice | one of the words listed |\n"
	"| integer | 0 to 2^53 - 1 |\n"
	"| boolean | true or false |\n"
	"| time | RFC 3339, such as `\"2026-11-15T10:00:00Z\"` |\n"
	"| object, array | JSON |\n"
	"| lines | an array of lines |\n"
	"| model | `{\"provider\":\"...\",\"name\":\"...\"}` |\n"
	"| message | the id of a message, or its number in the session |\n"
	"| messages | an array of these |\n"
	"\n"
	"## Session\n"
	"\n"
	"Every member is always there.\n"
	"\n"
	"    "
	"{\"id\",\"key\":text|null,\"aliases\":[...],\"previous\":id|null,\n"
	"     \"kind\":\"primary|subagent|book\",\"parent\":id|null,\n"
	"     \"forked_from\":id|null,\"fork_seq\":n|null,\n"
	"     "
	"\"parent_tool_use_id\":text|null,\"root\":id,\"agent\",\"slug\",\n"
	"     "
	"\"project_dir\",\"model\":{\"provider\",\"name\"},\"scope\":{...}|"
	"null,\n"
	"     "
	"\"user\",\"channel\",\"user_role\",\"tools\":[...]|null,\"summary\",\n"
	"     \"metadata\":{...},\"pinned\",\"head_seq\",\"content_seq\",\n"
	"     "
	"\"window_seq\",\"message_count\",\"inherited_count\",\"turn_count\",\n"
	"     "
	"\"own\":T,\"total\":T,\"first_user\",\"last_user\",\"last_agent\",\n"
	"     \"path\":text|null,\"expires_at\":time|null,\n"
	"     \"running_since\":time|null,\n"
	"     "
	"\"lease\":{\"owner\",\"token\",\"expires_at\"}|null,\"created_at\",\n"
	"     "
	"\"updated_at\",\"last_interaction_at\",\"deleted_at\":time|null}\n"
	"\n"
	"`head_seq` is the number of the last event; `content_seq` that of the "
	"last\n"
	"one that changed what was said, and what `expect` compares with;\n"
	"`window_seq` where the window begins, or 1. T is "
	"`{\"input_tokens\",\n"
	"\"output_tokens\",\"cache_read_tokens\",\"cache_write_tokens\",\"cost_"
	"usd\",\n"
	"\"unpriced\"}`: `own` is what this session spent, `total` with its\n"
	"subagents; a message without a price is counted in `unpriced`.\n"
	"\n"
	"## Message\n"
	"\n"
	"    "
	"{\"id\",\"seq\",\"session\",\"role\":\"user|assistant|tool|system\",\n"
	"     \"parts\":[...],\"from\":{\"id\",\"name\"}|null,\n"
	"     \"model\":{\"provider\",\"name\"}|null,\"usage\":{...}|null,\n"
	"     "
	"\"duration_ms\":n|null,\"created_at\",\"recorded_at\",\"background\","
	"\n"
	"     \"redacted\"}\n"
	"\n"
	"`session` is the one where it was said, also when a fork shows it. "
	"`bound`\n"
	"and `x` are there if they were given. A line that somebody has edited "
	"has\n"
	"`\"integrity\":\"altered\"`. To append one, `content` may stand for "
	"`parts`\n"
	"(a string is one text part), and there may be `op`, `expect`, `at`,\n"
	"`background` and `session`.\n"
	"\n"
	"## Methods\n";

static const char limits_head[] =
	"<!-- Made by 'weft api-doc limits'; a test compares. -->\n"
	"# Limits\n"
	"\n"
	"For everyone who runs Weft: nothing grows without a bound. Each limit "
	"has\n"
	"a default and is an option of the store's URL:\n"
	"\n"
	"    weft --store 'jsonl:/srv/weft?message_bytes=1000000&queue=64' "
	"list\n"
	"\n"
	"What goes over a limit is refused with the code `limit` (a full "
	"queue:\n"
	"`busy`), and nothing is written. The method `limits` says which are "
	"in\n"
	"force.\n"
	"\n"
	"| limit | default | of what |\n"
	"|---|---:|---|\n";

/* A cell of a table: "a|b" would end it. */
static void cell(struct cli *c, struct weft_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '|')
			out_add(&c->out, STR("\\"));
		out_add(&c->out, (struct weft_str){ &s.ptr[i], 1 });
	}
}

static void print_field(struct cli *c, yyjson_val *f)
{
	struct weft_str values = val_str(f, "values");
	struct weft_str limit = val_str(f, "limit");

	out_add(&c->out, STR("| `"));
	cell(c, val_str(f, "name"));
	out_add(&c->out, STR("` | "));
	cell(c, values.len ? values : val_str(f, "type"));
	out_add(&c->out,
		val_true(f, "required") ? STR(" | yes | ") : STR(" | | "));
	cell(c, val_str(f, "about"));
	if (limit.len) {
		out_add(&c->out, STR("; at most `"));
		cell(c, limit);
		out_add(&c->out, STR("`"));
	}
	out_add(&c->out, STR(" |\n"));
}

static void print_method(struct cli *c, yyjson_val *m)
{
	yyjson_val *fields = yyjson_obj_get(m, "fields");
	yyjson_arr_iter it;
	yyjson_val *f;

	out_printf(&c->out, "\n### %.*s\n\n", STR_ARG(val_str(m, "name")));
	out_add(&c->out, val_str(m, "about"));
	out_printf(&c->out, " Right: %.*s.\n", STR_ARG(val_str(m, "right")));
	if (yyjson_arr_size(fields) > 0)
		out_add(&c->out, STR("\n| field | type | required | what |\n"
				     "|---|---|---|---|\n"));
	yyjson_arr_iter_init(fields, &it);
	while ((f = yyjson_arr_iter_next(&it)))
		print_field(c, f);
	out_add(&c->out, STR("\nAnswer: "));
	out_add(&c->out, val_str(m, "answer"));
	out_add(&c->out, STR(".\n"));
}

static void print_api(struct cli *c, yyjson_val *root)
{
	yyjson_arr_iter it;
	yyjson_val *m;

	out_add(&c->out, STR(api_head));
	yyjson_arr_iter_init(yyjson_obj_get(root, "methods"), &it);
	while ((m = yyjson_arr_iter_next(&it)))
		print_method(c, m);
}

static void print_limits(struct cli *c, yyjson_val *root)
{
	yyjson_val *about = yyjson_obj_get(root, "about");
	yyjson_obj_iter it;
	yyjson_val *key;

	out_add(&c->out, STR(limits_head));
	yyjson_obj_iter_init(yyjson_obj_get(root, "limits"), &it);
	while ((key = yyjson_obj_iter_next(&it))) {
		const char *name = yyjson_get_str(key);
		yyjson_val *n = yyjson_obj_iter_get_val(key);

		out_printf(&c->out, "| `%s` | %llu | %.*s |\n", name,
			   (unsigned long long)yyjson_get_uint(n),
			   STR_ARG(val_str(about, name)));
	}
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	bool limits = strcmp(cli_arg(c, 0), "limits") == 0;
	yyjson_val *root;
	int r;

	/* Of no store in particular: the defaults. */
	r = weft_open("memory:", NULL, &c->store, c->err);
	if (r != WEFT_OK)
		return r;
	req_init(&q, c, limits ? "limits" : "methods");
	r = req_call(&q, &a);
	if (r != WEFT_OK)
		return r;
	root = answer_parse(c, &a);
	if (!root)
		return WEFT_NO_MEMORY;
	if (limits)
		print_limits(c, root);
	else
		print_api(c, root);
	return WEFT_OK;
}

const struct command cmd_api_doc = {
	.name = "api-doc",
	.summary = "print docs/API.md or docs/LIMITS.md",
	.about = "Prints a page of the documents.",
	ARGS(args),
	.hidden = 1,
	.run = run,
};

/* cmd_stats.c - weft stats */
#include "cli/cli.h"
#include "cli/commands.h"

static void count(struct cli *c, const char *label, uint64_t n)
{
	out_printf(&c->out, "%-14s%llu\n", label, (unsigned long long)n);
}

static void text_stats(struct cli *c, yyjson_val *s)
{
	yyjson_val *health = yyjson_obj_get(s, "health");
	bool well = val_true(health, "writable") && !val_true(health, "failed");

	count(c, "sessions", val_u64(s, "sessions"));
	count(c, "  primary", val_u64(s, "primary"));
	count(c, "  subagents", val_u64(s, "subagents"));
	count(c, "  books", val_u64(s, "books"));
	count(c, "  deleted", val_u64(s, "deleted"));
	count(c, "messages", val_u64(s, "messages"));
	count(c, "events", val_u64(s, "events"));
	count(c, "bytes", val_u64(s, "bytes"));
	count(c, "in the log", val_u64(health, "log_bytes"));
	count(c, "free", val_u64(health, "free_bytes"));
	out_printf(&c->out, "%-14s", "health");
	out_style(&c->out, well ? STYLE_GREEN : STYLE_RED);
	out_add(&c->out, well ? STR("writable") : STR("not writable"));
	out_style(&c->out, STYLE_NONE);
	if (!val_true(health, "complete"))
		out_add(&c->out, STR(", index not complete"));
	if (val_str(health, "reason").len) {
		out_add(&c->out, STR(": "));
		out_one_line(&c->out, val_str(health, "reason"));
	}
	out_add(&c->out, STR("\n"));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, "stats");
	return cli_answer(c, &q, text_stats);
}

const struct command cmd_stats = {
	.name = "stats",
	.summary = "count what is stored",
	.about = "Counts sessions, events and bytes, and says whether the "
		 "store is well.",
	.store = STORE_USE_READ,
	.run = run,
};

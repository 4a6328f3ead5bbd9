/* cmd_cleanup.c - weft cleanup */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"

enum { OPT_DRY_RUN, OPT_IF_DUE };

static const struct opt opts[] = {
	[OPT_DRY_RUN] = { .name = "dry-run",
			  .about = "only say what would be removed" },
	[OPT_IF_DUE] = { .name = "if-due",
			 .about = "only if lifecycle.maintenance_hour has "
				  "passed since it last ran" },
};

static void text_items(struct cli *c, const char *what, yyjson_val *list)
{
	yyjson_arr_iter it;
	yyjson_val *item;

	out_printf(&c->out, "%s: %s, %s\n", what,
		   COUNT(val_u64(list, "count"), "session"),
		   COUNT(val_u64(list, "bytes"), "byte"));
	yyjson_arr_iter_init(yyjson_obj_get(list, "sessions"), &it);
	while ((item = yyjson_arr_iter_next(&it))) {
		struct weft_str title = val_str(item, "slug");

		out_printf(&c->out, "  %.*s  ", STR_ARG(val_str(item, "id")));
		out_one_line(&c->out, title.len ? title : val_str(item, "key"));
		out_add(&c->out, STR("  ("));
		out_one_line(&c->out, val_str(item, "why"));
		out_add(&c->out, STR(")\n"));
	}
}

static void text_cleanup(struct cli *c, yyjson_val *answer)
{
	bool dry = val_true(answer, "dry_run");

	if (!val_true(answer, "ran")) {
		out_add(&c->out, STR("nothing was done: "));
		out_one_line(&c->out, val_str(answer, "why_not"));
		out_add(&c->out, STR("\n"));
		return;
	}
	text_items(c, dry ? "would be removed" : "removed",
		   yyjson_obj_get(answer, "removed"));
	text_items(c, dry ? "would be purged" : "purged",
		   yyjson_obj_get(answer, "purged"));
	text_items(c, "spared", yyjson_obj_get(answer, "spared"));
}

static int run(struct cli *c)
{
	CLEANUP(req_done) struct req q = { 0 };
	int r = cli_hand_over(c);

	if (r != WEFT_OK)
		return r;
	req_init(&q, c, "cleanup");
	req_switch(&q, "dry_run", OPT_DRY_RUN);
	req_switch(&q, "if_due", OPT_IF_DUE);
	return cli_answer(c, &q, text_cleanup);
}

const struct command cmd_cleanup = {
	.name = "cleanup",
	.summary = "remove what the rules of retention say",
	.about = "Puts sessions into the trash that the rules in the section "
		 "retention of the configuration say, and purges what has been "
		 "there for trash_days. Without rules nothing is removed. A "
		 "session that is pinned, leased, forked, or in which a turn "
		 "is running, is spared, and listed as such. What is in the "
		 "trash is brought back with 'weft restore'.\n"
		 "\n"
		 "With --if-due it is for a timer: it does nothing before "
		 "lifecycle.maintenance_hour, runs once a day, and only one "
		 "of several at a time.",
	.example = "weft cleanup --dry-run",
	OPTS(opts),
	.store = STORE_USE_WRITE,
	.run = run,
};

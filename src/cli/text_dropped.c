/* text_dropped.c - what was dropped for good, for people. */
#include "base/text.h"
#include "cli/cli.h"

void text_dropped(struct cli *c, yyjson_val *report)
{
	yyjson_arr_iter it =
		yyjson_arr_iter_with(yyjson_obj_get(report, "forks"));
	yyjson_val *v;

	out_printf(&c->out, "%s %s, %s, %s, %s\n",
		   val_true(report, "dry_run") ? "would drop" : "dropped",
		   COUNT(val_u64(report, "sessions"), "session"),
		   COUNT(val_u64(report, "events"), "event"),
		   COUNT(val_u64(report, "bytes"), "byte"),
		   COUNT(val_u64(report, "blobs"), "attachment"));
	while ((v = yyjson_arr_iter_next(&it)))
		out_printf(&c->out, "fork %.*s holds %s of %.*s\n",
			   STR_ARG(val_str(v, "session")),
			   COUNT(val_u64(v, "events"), "event"),
			   STR_ARG(val_str(v, "of")));
	it = yyjson_arr_iter_with(yyjson_obj_get(report, "identities"));
	while ((v = yyjson_arr_iter_next(&it))) {
		out_add(&c->out, STR("as "));
		out_one_line(&c->out, val_str(v, "id"));
		out_printf(&c->out, ": %s, %s in those of others\n",
			   COUNT(val_u64(v, "sessions"), "session"),
			   COUNT(val_u64(v, "messages"), "message"));
	}
	it = yyjson_arr_iter_with(yyjson_obj_get(report, "refused"));
	while ((v = yyjson_arr_iter_next(&it)))
		out_printf(&c->out, "left %.*s alone: %.*s\n",
			   STR_ARG(val_str(v, "session")),
			   STR_ARG(val_str(v, "message")));
}

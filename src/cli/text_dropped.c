/* text_dropped.c - what was dropped for good, for people. */
#include "cli/cli.h"

static unsigned long long val_n(yyjson_val *object, const char *name)
{
	return (unsigned long long)val_u64(object, name);
}

void text_dropped(struct cli *c, yyjson_val *report)
{
	yyjson_arr_iter it =
		yyjson_arr_iter_with(yyjson_obj_get(report, "forks"));
	yyjson_val *v;

	out_printf(&c->out,
		   "%s %llu sessions, %llu events, %llu bytes, %llu "
		   "attachments\n",
		   val_true(report, "dry_run") ? "would drop" : "dropped",
		   val_n(report, "sessions"), val_n(report, "events"),
		   val_n(report, "bytes"), val_n(report, "blobs"));
	while ((v = yyjson_arr_iter_next(&it)))
		out_printf(&c->out, "fork %.*s holds %llu events of %.*s\n",
			   STR_ARG(val_str(v, "session")), val_n(v, "events"),
			   STR_ARG(val_str(v, "of")));
	it = yyjson_arr_iter_with(yyjson_obj_get(report, "refused"));
	while ((v = yyjson_arr_iter_next(&it)))
		out_printf(&c->out, "left %.*s alone: %.*s\n",
			   STR_ARG(val_str(v, "session")),
			   STR_ARG(val_str(v, "message")));
}

/* text_dropped.c - what was dropped for good, for people. */
#include "cli/cli.h"

void text_dropped(struct cli *c, yyjson_val *report)
{
	static const struct {
		const char *name, *one;
	} counts[] = {
		{ "sessions", "session" },
		{ "events", "event" },
		{ "bytes", "byte" },
		{ "blobs", "attachment" },
	};
	yyjson_arr_iter it =
		yyjson_arr_iter_with(yyjson_obj_get(report, "forks"));
	yyjson_val *v;

	out_add(&c->out, val_true(report, "dry_run") ? STR("would drop ") :
						       STR("dropped "));
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		out_count(&c->out, val_u64(report, counts[i].name),
			  counts[i].one);
		out_add(&c->out,
			i + 1 < ARRAY_LEN(counts) ? STR(", ") : STR("\n"));
	}
	while ((v = yyjson_arr_iter_next(&it))) {
		out_printf(&c->out, "fork %.*s holds ",
			   STR_ARG(val_str(v, "session")));
		out_count(&c->out, val_u64(v, "events"), "event");
		out_printf(&c->out, " of %.*s\n", STR_ARG(val_str(v, "of")));
	}
	it = yyjson_arr_iter_with(yyjson_obj_get(report, "refused"));
	while ((v = yyjson_arr_iter_next(&it)))
		out_printf(&c->out, "left %.*s alone: %.*s\n",
			   STR_ARG(val_str(v, "session")),
			   STR_ARG(val_str(v, "message")));
}

/* text.c - sessions, messages and reports in words for people. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/cli.h"

void text_time(struct weft_str time, char out[32], bool seconds)
{
	struct tm tm;
	int64_t ms;
	time_t s;

	out[0] = '\0';
	if (!time_parse(time, &ms))
		return;
	s = (time_t)(ms / 1000);
	if (localtime_r(&s, &tm))
		(void)strftime(out, 32,
			       seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M",
			       &tm);
}

void text_session_id(struct cli *c, yyjson_val *session)
{
	out_add(&c->out, val_str(session, "id"));
	out_add(&c->out, STR("\n"));
}

/* ---- a window ---- */

void text_one_marker(struct cli *c, yyjson_val *marker)
{
	char when[32];

	text_time(val_str(marker, "created_at"), when, false);
	out_printf(&c->out, "%llu  %s  %-8.*s ",
		   (unsigned long long)val_u64(marker, "seq"), when,
		   STR_ARG(val_str(marker, "how")));
	/* What is to be said yet is always kept. */
	if (val_u64(marker, "first_kept") >= val_u64(marker, "seq"))
		out_add(&c->out, STR("nothing before it is kept"));
	else
		out_printf(&c->out, "from message %llu",
			   (unsigned long long)val_u64(marker, "first_kept"));
	if (val_str(marker, "summary").len) {
		out_add(&c->out, STR("  "));
		out_one_line(&c->out, out_cut(val_str(marker, "summary"), 40));
	}
	out_add(&c->out, STR("\n"));
}

void text_marker(struct cli *c, yyjson_val *answer)
{
	yyjson_val *marker = yyjson_obj_get(answer, "marker");

	if (!val_true(answer, "changed"))
		out_add(&c->out, STR("nothing to change\n"));
	else
		text_one_marker(c, marker);
}

/* ---- a session ---- */

static void label(struct cli *c, const char *name)
{
	out_style(&c->out, STYLE_DIM);
	out_printf(&c->out, "%-13s", name);
	out_style(&c->out, STYLE_NONE);
}

static void row_text(struct cli *c, const char *name, struct weft_str text)
{
	if (text.len == 0)
		return;
	label(c, name);
	out_one_line(&c->out, text);
	out_add(&c->out, STR("\n"));
}

static void row_time(struct cli *c, const char *name, struct weft_str time)
{
	char text[32];

	text_time(time, text, true);
	row_text(c, name, str_of(text));
}

static void row_lease(struct cli *c, yyjson_val *lease)
{
	char until[32];

	if (!yyjson_is_obj(lease))
		return;
	label(c, "lease");
	out_one_line(&c->out, val_str(lease, "owner"));
	text_time(val_str(lease, "expires_at"), until, true);
	out_printf(&c->out, ", until %s (token %llu)\n", until,
		   (unsigned long long)val_u64(lease, "token"));
}

/* A member that is JSON of its own: shown as such, if there is something. */
static void row_json(struct cli *c, const char *name, yyjson_val *v)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	if (!v || yyjson_is_null(v) ||
	    (yyjson_is_ctn(v) && unsafe_yyjson_get_len(v) == 0))
		return;
	buf_init(&b, SIZE_MAX);
	buf_add_val(&b, v);
	row_text(c, name, buf_str(&b));
}

static void row_aliases(struct cli *c, yyjson_val *aliases)
{
	yyjson_arr_iter it;
	yyjson_val *v;

	yyjson_arr_iter_init(aliases, &it);
	while ((v = yyjson_arr_iter_next(&it)))
		row_text(c, "alias", json_str(v));
}

static void row_model(struct cli *c, yyjson_val *model)
{
	struct weft_str provider = val_str(model, "provider");
	struct weft_str name = val_str(model, "name");
	struct weft_str text = arena_printf(&c->arena, "%.*s/%.*s",
					    STR_ARG(provider), STR_ARG(name));

	if (text.len > 1)
		row_text(c, "model", text);
}

static void row_totals(struct cli *c, const char *name, yyjson_val *t)
{
	double cost = yyjson_get_num(yyjson_obj_get(t, "cost_usd"));

	if (val_u64(t, "input_tokens") + val_u64(t, "output_tokens") +
		    val_u64(t, "unpriced") ==
	    0)
		return;
	label(c, name);
	out_printf(&c->out, "%llu in, %llu out, %.9g dollars",
		   (unsigned long long)val_u64(t, "input_tokens"),
		   (unsigned long long)val_u64(t, "output_tokens"), cost);
	if (val_u64(t, "unpriced"))
		out_printf(&c->out, ", %llu without a price",
			   (unsigned long long)val_u64(t, "unpriced"));
	out_add(&c->out, STR("\n"));
}

static void rows_origin(struct cli *c, yyjson_val *s)
{
	row_text(c, "kind", val_str(s, "kind"));
	row_text(c, "parent", val_str(s, "parent"));
	row_text(c, "forked from", val_str(s, "forked_from"));
	row_text(c, "previous", val_str(s, "previous"));
	row_text(c, "agent", val_str(s, "agent"));
	row_model(c, yyjson_obj_get(s, "model"));
	row_text(c, "project", val_str(s, "project_dir"));
	row_text(c, "user", val_str(s, "user"));
	row_text(c, "user role", val_str(s, "user_role"));
	row_text(c, "channel", val_str(s, "channel"));
	row_json(c, "metadata", yyjson_obj_get(s, "metadata"));
	row_json(c, "tools", yyjson_obj_get(s, "tools"));
	row_lease(c, yyjson_obj_get(s, "lease"));
	row_time(c, "running", val_str(s, "running_since"));
	if (val_true(s, "pinned"))
		row_text(c, "pinned", STR("yes"));
}

void text_session(struct cli *c, yyjson_val *s)
{
	row_text(c, "id", val_str(s, "id"));
	row_text(c, "title", val_str(s, "slug"));
	row_text(c, "key", val_str(s, "key"));
	row_aliases(c, yyjson_obj_get(s, "aliases"));
	rows_origin(c, s);
	label(c, "messages");
	out_printf(&c->out, "%llu in %s",
		   (unsigned long long)val_u64(s, "message_count"),
		   COUNT(val_u64(s, "turn_count"), "turn"));
	if (val_u64(s, "inherited_count"))
		out_printf(&c->out, ", %llu inherited",
			   (unsigned long long)val_u64(s, "inherited_count"));
	out_printf(&c->out, "; last event %llu\n",
		   (unsigned long long)val_u64(s, "head_seq"));
	row_totals(c, "spent", yyjson_obj_get(s, "total"));
	row_text(c, "first user", val_str(s, "first_user"));
	row_text(c, "last user", val_str(s, "last_user"));
	row_text(c, "last agent", val_str(s, "last_agent"));
	row_time(c, "created", val_str(s, "created_at"));
	row_time(c, "last spoken", val_str(s, "last_interaction_at"));
	row_time(c, "expires", val_str(s, "expires_at"));
	row_time(c, "deleted", val_str(s, "deleted_at"));
	row_text(c, "file", val_str(s, "path"));
}

/* ---- a message ---- */

/* As much of a value as fits on the line, on one line. */
static void one_line_value(struct cli *c, yyjson_val *v)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct weft_str text, cut;

	buf_init(&b, SIZE_MAX);
	if (yyjson_is_str(v))
		buf_add_str(&b, json_str(v));
	else
		buf_add_val(&b, v);
	text = buf_str(&b);
	cut = out_cut(text, c->out.width > 60 ? c->out.width - 30 : 30);
	out_one_line(&c->out, cut);
	if (cut.len < text.len)
		out_add(&c->out, STR("..."));
}

static void part_tool_use(struct cli *c, yyjson_val *part)
{
	yyjson_val *input = yyjson_obj_get(part, "input");

	out_add(&c->out, STR("  > "));
	out_one_line(&c->out, val_str(part, "name"));
	out_add(&c->out, STR(" "));
	one_line_value(c, input ? input : yyjson_obj_get(part, "input_text"));
	out_add(&c->out, STR("\n"));
}

/* The text of a result: itself, or that of its first text part. */
static yyjson_val *result_text(yyjson_val *content)
{
	yyjson_arr_iter it;
	yyjson_val *part;

	if (!yyjson_is_arr(content))
		return content;
	yyjson_arr_iter_init(content, &it);
	while ((part = yyjson_arr_iter_next(&it))) {
		if (yyjson_is_str(yyjson_obj_get(part, "text")))
			return yyjson_obj_get(part, "text");
	}
	return content;
}

static void part_tool_result(struct cli *c, yyjson_val *part)
{
	out_add(&c->out,
		val_true(part, "is_error") ? STR("  < error: ") : STR("  < "));
	one_line_value(c, result_text(yyjson_obj_get(part, "content")));
	out_add(&c->out, STR("\n"));
}

static void part_other(struct cli *c, yyjson_val *part)
{
	struct weft_str type = val_str(part, "type");

	out_add(&c->out, STR("  ["));
	out_one_line(&c->out, type);
	if (str_eq(type, STR("image"))) {
		out_add(&c->out, STR(" "));
		out_one_line(&c->out, val_str(part, "image_mime_type"));
	} else if (str_eq(type, STR("thinking"))) {
		out_add(&c->out, STR("] "));
		one_line_value(c, yyjson_obj_get(part, "text"));
		out_add(&c->out, STR("\n"));
		return;
	}
	out_add(&c->out, STR("]\n"));
}

static void text_part(struct cli *c, yyjson_val *part)
{
	struct weft_str type = val_str(part, "type");
	struct weft_str text = val_str(part, "text");

	if (str_eq(type, STR("text"))) {
		out_text(&c->out, text);
		if (text.len == 0 || text.ptr[text.len - 1] != '\n')
			out_add(&c->out, STR("\n"));
		return;
	}
	out_style(&c->out, STYLE_DIM);
	if (str_eq(type, STR("tool_use")))
		part_tool_use(c, part);
	else if (str_eq(type, STR("tool_result")))
		part_tool_result(c, part);
	else
		part_other(c, part);
	out_style(&c->out, STYLE_NONE);
}

void text_message(struct cli *c, yyjson_val *m)
{
	yyjson_val *from = yyjson_obj_get(m, "from");
	struct weft_str name = val_str(from, "name");
	yyjson_arr_iter it;
	yyjson_val *part;
	char when[32];

	text_time(val_str(m, "created_at"), when, true);
	out_style(&c->out, STYLE_BOLD);
	out_one_line(&c->out, val_str(m, "role"));
	out_style(&c->out, STYLE_NONE);
	if (name.len) {
		out_add(&c->out, STR(" ("));
		out_one_line(&c->out, name);
		out_add(&c->out, STR(")"));
	}
	out_style(&c->out, STYLE_DIM);
	out_printf(&c->out, "  %s  #%llu%s%s", when,
		   (unsigned long long)val_u64(m, "seq"),
		   val_true(m, "background") ? "  background" : "",
		   val_true(m, "redacted") ? "  redacted" : "");
	out_style(&c->out, STYLE_NONE);
	out_add(&c->out, STR("\n"));
	yyjson_arr_iter_init(yyjson_obj_get(m, "parts"), &it);
	while ((part = yyjson_arr_iter_next(&it)))
		text_part(c, part);
}

void text_more(struct cli *c, yyjson_val *answer)
{
	struct weft_str next = val_str(answer, "next");

	if (!c->out.terminal || !next.len)
		return;
	out_style(&c->out, STYLE_DIM);
	out_printf(&c->out, "more: --cursor %.*s\n", STR_ARG(next));
	out_style(&c->out, STYLE_NONE);
}

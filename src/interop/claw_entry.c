/* claw_entry.c - lines and blocks of claw0; see claw_entry.h. */
#include "interop/claw_entry.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

static void add_or(struct buf *out, struct weft_str raw, const char *otherwise)
{
	if (raw.len)
		buf_add_one_line(out, raw);
	else
		buf_add_str(out, str_of(otherwise));
}

/* ---- lines ---- */

static void add_text(struct buf *out, struct weft_str entry)
{
	struct weft_str content = json_member(entry, "content");

	/* A newer generation writes blocks here. */
	if (content.len && content.ptr[0] == '[') {
		buf_add_one_line(out, content);
		return;
	}
	buf_add_lit(out, "[{\"type\":\"text\",\"text\":");
	add_or(out, content, "\"\"");
	buf_add_lit(out, "}]");
}

static void add_call(struct buf *out, struct weft_str entry)
{
	buf_add_lit(out, "[{\"type\":\"tool_use\",\"id\":");
	add_or(out, json_member(entry, "tool_use_id"), "\"\"");
	buf_add_lit(out, ",\"name\":");
	add_or(out, json_member(entry, "name"), "\"\"");
	buf_add_lit(out, ",\"input\":");
	add_or(out, json_member(entry, "input"), "{}");
	buf_add_lit(out, "}]");
}

static void add_result(struct buf *out, struct weft_str entry)
{
	struct weft_str output = json_member(entry, "output");

	buf_add_lit(out, "[{\"type\":\"tool_result\",\"tool_use_id\":");
	add_or(out, json_member(entry, "tool_use_id"), "\"\"");
	buf_add_lit(out, ",\"content\":");
	add_or(out, output.len ? output : json_member(entry, "content"),
	       "\"\"");
	buf_add_lit(out, "}]");
}

static const struct line_type {
	const char *type, *role;
	void (*add)(struct buf *out, struct weft_str entry);
} line_types[] = {
	{ "user", "user", add_text },
	{ "assistant", "assistant", add_text },
	{ "tool_use", "assistant", add_call },
	{ "tool_result", "tool", add_result },
};

static int add_time(struct buf *out, yyjson_val *ts, struct weft_error *err)
{
	char text[TIME_CHARS + 1];

	if (!ts || yyjson_is_null(ts))
		return WEFT_OK;
	if (yyjson_is_str(ts)) {
		buf_add_lit(out, ",\"at\":");
		buf_add_json(out, json_str(ts));
		return WEFT_OK;
	}
	/* Up to the year 9999. */
	if (!yyjson_is_num(ts) || !(yyjson_get_num(ts) >= 0) ||
	    yyjson_get_num(ts) > 253402300799.0)
		return fail(err, WEFT_INVALID,
			    "ts: expected a time or seconds since 1970, found "
			    "%s",
			    json_kind(ts));
	time_format((int64_t)(yyjson_get_num(ts) * 1000.0), text);
	buf_printf(out, ",\"at\":\"%s\"", text);
	return WEFT_OK;
}

int claw_entry_in(struct weft_str json, struct buf *out, struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	yyjson_val *root, *type;
	int r = json_parse(json, NULL, &doc, err);

	if (r != WEFT_OK)
		return r;
	root = yyjson_doc_get_root(doc);
	type = yyjson_obj_get(root, "type");
	if (!yyjson_is_str(type))
		return fail(err, WEFT_INVALID,
			    "type: expected a string, found %s",
			    type ? json_kind(type) : "nothing");
	if (yyjson_equals_str(type, "session"))
		return WEFT_OK;
	for (size_t i = 0; i < ARRAY_LEN(line_types); i++) {
		if (!yyjson_equals_str(type, line_types[i].type))
			continue;
		buf_printf(out,
			   "{\"role\":\"%s\",\"parts\":", line_types[i].role);
		line_types[i].add(out, json);
		r = add_time(out, yyjson_obj_get(root, "ts"), err);
		buf_add_c(out, '}');
		return r == WEFT_OK ? buf_error(out, err) : r;
	}
	return fail(err, WEFT_INVALID,
		    "type: expected session, user, assistant, tool_use or "
		    "tool_result, found \"%.*s\"",
		    STR_ARG(json_str(type)));
}

/* ---- blocks ---- */

static bool is_type(struct weft_str block, const char *type)
{
	struct weft_str raw = json_member(block, "type"), name = str_of(type);

	return raw.len == name.len + 2 &&
	       memcmp(raw.ptr + 1, name.ptr, name.len) == 0;
}

static void add_block(struct buf *out, struct weft_str block)
{
	struct weft_str signature = json_member(block, "signature");

	if (is_type(block, "text") || is_type(block, "tool_use") ||
	    is_type(block, "tool_result")) {
		buf_add_one_line(out, block);
	} else if (is_type(block, "thinking")) {
		buf_add_lit(out, "{\"type\":\"thinking\",\"text\":");
		add_or(out, json_member(block, "thinking"), "\"\"");
		if (signature.len) {
			buf_add_lit(out, ",\"signature\":");
			buf_add_one_line(out, signature);
		}
		buf_add_c(out, '}');
	} else {
		buf_add_lit(out, "{\"type\":\"opaque\",\"format\":\"anthropic\""
				 ",\"data\":");
		buf_add_one_line(out, block);
		buf_add_c(out, '}');
	}
}

static const char *role_of(struct weft_str block)
{
	return is_type(block, "tool_result") ? "tool" : "assistant";
}

static int add_blocks(struct buf *out, struct weft_str blocks,
		      struct weft_error *err)
{
	const char *role = NULL; /* of the message being written */
	bool called = false;     /* it has calls */
	struct weft_str block;
	size_t pos = 0, n = 0;

	for (; json_next_element(blocks, &pos, &block); n++) {
		if (block.len == 0 || block.ptr[0] != '{')
			return fail(err, WEFT_INVALID,
				    "blocks[%zu]: expected an object", n);
		if (role && (strcmp(role, role_of(block)) != 0 ||
			     (called && !is_type(block, "tool_use")))) {
			buf_add_lit(out, "]}");
			role = NULL;
			called = false;
		}
		if (!role) {
			role = role_of(block);
			buf_printf(out, ",{\"role\":\"%s\",\"parts\":[", role);
		} else {
			buf_add_c(out, ',');
		}
		called = called || is_type(block, "tool_use");
		add_block(out, block);
	}
	if (role)
		buf_add_lit(out, "]}");
	return WEFT_OK;
}

int claw_turn_in(struct weft_str user, struct weft_str blocks, struct buf *out,
		 struct weft_error *err)
{
	int r;

	if (blocks.len == 0 || blocks.ptr[0] != '[')
		return fail(err, WEFT_INVALID, "blocks: expected an array");
	buf_add_lit(out, "[{\"role\":\"user\",\"content\":");
	buf_add_json(out, user);
	buf_add_c(out, '}');
	r = add_blocks(out, blocks, err);
	buf_add_c(out, ']');
	return r == WEFT_OK ? buf_error(out, err) : r;
}

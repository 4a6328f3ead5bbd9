/* pico_message.c - messages of PicoClaw's shape; see pico_message.h. */
#include "interop/pico_message.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

#define DATA_IMAGE "data:image/"
#define BASE64     ";base64,"

/* ---- in ---- */

/* A message of theirs on its way in. */
struct incoming {
	yyjson_val *root;
	struct weft_str role, content, reasoning, call_id;
	yyjson_val *calls, *media;
	struct buf *out;
	bool first; /* no part was written yet */
	struct weft_error *err;
};

static bool is_there(yyjson_val *v)
{
	return v && !yyjson_is_null(v);
}

static int take_str(const struct incoming *m, const char *name,
		    struct weft_str *ret)
{
	yyjson_val *v = yyjson_obj_get(m->root, name);

	if (is_there(v) && !yyjson_is_str(v))
		return fail(m->err, WEFT_INVALID,
			    "%s: expected a string, found %s", name,
			    json_kind(v));
	*ret = json_str(v);
	return WEFT_OK;
}

static int take_list(const struct incoming *m, const char *name,
		     yyjson_val **ret)
{
	yyjson_val *v = yyjson_obj_get(m->root, name);

	if (is_there(v) && !yyjson_is_arr(v))
		return fail(m->err, WEFT_INVALID,
			    "%s: expected an array, found %s", name,
			    json_kind(v));
	*ret = v;
	return WEFT_OK;
}

static int take_members(struct incoming *m)
{
	int r = take_str(m, "role", &m->role);

	if (r == WEFT_OK)
		r = take_str(m, "content", &m->content);
	if (r == WEFT_OK)
		r = take_str(m, "reasoning_content", &m->reasoning);
	if (r == WEFT_OK)
		r = take_str(m, "tool_call_id", &m->call_id);
	if (r == WEFT_OK)
		r = take_list(m, "tool_calls", &m->calls);
	if (r == WEFT_OK)
		r = take_list(m, "media", &m->media);
	return r;
}

/* What a model thought before it said anything, and then did not. */
static bool is_thought(const struct incoming *m)
{
	return str_eq(m->role, STR("assistant")) && text_is_blank(m->content) &&
	       !text_is_blank(m->reasoning) && text_is_blank(m->call_id) &&
	       yyjson_arr_size(m->calls) == 0 &&
	       yyjson_arr_size(m->media) == 0 &&
	       yyjson_arr_size(yyjson_obj_get(m->root, "attachments")) == 0;
}

static void begin_part(struct incoming *m, const char *type)
{
	if (!m->first)
		buf_add_c(m->out, ',');
	m->first = false;
	buf_printf(m->out, "{\"type\":\"%s\"", type);
}

static void text_part(struct incoming *m, const char *type, struct weft_str s)
{
	begin_part(m, type);
	buf_add_lit(m->out, ",\"text\":");
	buf_add_json(m->out, s);
	buf_add_c(m->out, '}');
}

/* Arguments are kept byte for byte; what is no JSON stays text. */
static void add_arguments(struct incoming *m, struct weft_str s)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;

	if (s.len && json_parse(s, NULL, &doc, NULL) == WEFT_OK) {
		buf_add_lit(m->out, ",\"input\":");
		buf_add_one_line(m->out, s);
	} else if (s.len) {
		buf_add_lit(m->out, ",\"input_text\":");
		buf_add_json(m->out, s);
	} else {
		buf_add_lit(m->out, ",\"input\":{}");
	}
}

/*
 * What else stands in a call, or in its function and not in the call.  Id,
 * name and arguments have been taken, and the other names are our own.
 */
static void add_others(struct incoming *m, yyjson_val *object, yyjson_val *call)
{
	static const char *const taken[] = { "id",        "type",  "function",
					     "name",      "input", "input_text",
					     "arguments", "blob" };
	yyjson_obj_iter it = yyjson_obj_iter_with(object);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&it))) {
		bool ours = call && yyjson_obj_getn(call, yyjson_get_str(key),
						    yyjson_get_len(key));

		for (size_t i = 0; i < ARRAY_LEN(taken); i++)
			ours = ours || yyjson_equals_str(key, taken[i]);
		if (ours)
			continue;
		buf_add_c(m->out, ',');
		buf_add_json(m->out, json_str(key));
		buf_add_c(m->out, ':');
		buf_add_val(m->out, yyjson_obj_iter_get_val(key));
	}
}

static int call_part(struct incoming *m, yyjson_val *call, size_t i)
{
	yyjson_val *function = yyjson_obj_get(call, "function");
	yyjson_val *arguments = yyjson_obj_get(function, "arguments");

	if (!yyjson_is_obj(function))
		return fail(m->err, WEFT_INVALID,
			    "tool_calls[%zu].function: expected an object, "
			    "found %s",
			    i, json_kind(function));
	if (is_there(arguments) && !yyjson_is_str(arguments))
		return fail(m->err, WEFT_INVALID,
			    "tool_calls[%zu].function.arguments: expected a "
			    "string, found %s",
			    i, json_kind(arguments));
	begin_part(m, "tool_use");
	buf_add_lit(m->out, ",\"id\":");
	buf_add_json(m->out, json_str(yyjson_obj_get(call, "id")));
	buf_add_lit(m->out, ",\"name\":");
	buf_add_json(m->out, json_str(yyjson_obj_get(function, "name")));
	add_arguments(m, json_str(arguments));
	add_others(m, call, NULL);
	add_others(m, function, call);
	buf_add_c(m->out, '}');
	return WEFT_OK;
}

/* "data:image/png;base64,iVBO..." as an image; false if it is none. */
static bool image_part(struct incoming *m, struct weft_str s)
{
	const char *mark;
	struct weft_str mime;

	if (!str_starts(s, STR(DATA_IMAGE)))
		return false;
	mark = memmem(s.ptr, s.len, BASE64, sizeof(BASE64) - 1);
	if (!mark)
		return false;
	mime = (struct weft_str){ s.ptr + 5, (size_t)(mark - s.ptr) - 5 };
	begin_part(m, "image");
	buf_add_lit(m->out, ",\"image_mime_type\":");
	buf_add_json(m->out, mime);
	buf_add_lit(m->out, ",\"image_base64\":");
	buf_add_json(m->out,
		     str_skip(s, (size_t)(mark - s.ptr) + sizeof(BASE64) - 1));
	buf_add_c(m->out, '}');
	return true;
}

static void result_part(struct incoming *m)
{
	begin_part(m, "tool_result");
	buf_add_lit(m->out, ",\"tool_use_id\":");
	buf_add_json(m->out, m->call_id);
	buf_add_lit(m->out, ",\"content\":");
	buf_add_json(m->out, m->content);
	buf_add_c(m->out, '}');
}

static int add_parts(struct incoming *m)
{
	bool result = str_eq(m->role, STR("tool")) && m->call_id.len;
	yyjson_arr_iter it;
	yyjson_val *v;
	int r = WEFT_OK;

	buf_add_lit(m->out, ",\"parts\":[");
	if (m->reasoning.len)
		text_part(m, "thinking", m->reasoning);
	if (result)
		result_part(m);
	else if (m->content.len)
		text_part(m, "text", m->content);
	yyjson_arr_iter_init(m->calls, &it);
	for (size_t i = 0; r == WEFT_OK && (v = yyjson_arr_iter_next(&it)); i++)
		r = call_part(m, v, i);
	yyjson_arr_iter_init(m->media, &it);
	while ((v = yyjson_arr_iter_next(&it)))
		(void)image_part(m, json_str(v));
	if (m->first)
		text_part(m, "text", STR(""));
	buf_add_c(m->out, ']');
	return r;
}

/* Media that is no image of ours; theirs may also be a path or a reference. */
static void add_media(struct incoming *m)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(m->media);
	const char *separator = ",\"media\":[";
	yyjson_val *v;

	while ((v = yyjson_arr_iter_next(&it))) {
		struct weft_str s = json_str(v);

		if (str_starts(s, STR(DATA_IMAGE)) &&
		    memmem(s.ptr, s.len, BASE64, sizeof(BASE64) - 1))
			continue;
		buf_add_str(m->out, str_of(separator));
		buf_add_val(m->out, v);
		separator = ",";
	}
	if (separator[1] == '\0')
		buf_add_c(m->out, ']');
}

/* Everything that is not said with parts. */
static int add_rest(struct incoming *m, struct weft_str json)
{
	static const char *const taken[] = {
		"role",       "content", "reasoning_content",
		"tool_calls", "media",   "tool_call_id",
		"created_at", "at",      "model_name",
	};
	struct weft_str key, raw, at = { NULL, 0 }, model = { NULL, 0 };
	size_t pos = 0;
	int r = take_str(m, "created_at", &at);

	if (r == WEFT_OK)
		r = take_str(m, "model_name", &model);
	if (r != WEFT_OK)
		return r;
	if (at.len) {
		buf_add_lit(m->out, ",\"at\":");
		buf_add_json(m->out, at);
	}
	if (model.len) {
		buf_add_lit(m->out, ",\"model\":{\"name\":");
		buf_add_json(m->out, model);
		buf_add_c(m->out, '}');
	}
	add_media(m);
	while (json_next_member(json, &pos, &key, &raw)) {
		bool ours = false;

		for (size_t i = 0; i < ARRAY_LEN(taken); i++)
			ours = ours || str_eq(key, str_of(taken[i]));
		if (ours)
			continue;
		buf_add_lit(m->out, ",\"");
		buf_add_str(m->out, key);
		buf_add_lit(m->out, "\":");
		buf_add_one_line(m->out, raw);
	}
	return WEFT_OK;
}

int pico_message_in(struct weft_str json, struct buf *out, bool *ret_thought,
		    struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct incoming m = { .out = out, .first = true, .err = err };
	int r = json_parse(json, NULL, &doc, err);

	*ret_thought = false;
	if (r != WEFT_OK)
		return r;
	m.root = yyjson_doc_get_root(doc);
	if (!yyjson_is_obj(m.root))
		return fail(err, WEFT_INVALID,
			    "expected a message as an object, found %s",
			    json_kind(m.root));
	if (yyjson_obj_get(m.root, "parts")) {
		buf_add_one_line(out, json);
		return buf_error(out, err);
	}
	r = take_members(&m);
	if (r != WEFT_OK)
		return r;
	*ret_thought = is_thought(&m);
	if (*ret_thought)
		return WEFT_OK;
	buf_add_lit(out, "{\"role\":");
	buf_add_json(out, m.role);
	r = add_parts(&m);
	if (r == WEFT_OK)
		r = add_rest(&m, json);
	buf_add_c(out, '}');
	return r == WEFT_OK ? buf_error(out, err) : r;
}

/* ---- out ---- */

/* One message of ours on its way out: each member of theirs as it grows. */
struct outgoing {
	struct buf content, reasoning, calls, media;
	bool has_text; /* or anything else that is no result */
};

static void outgoing_done(struct outgoing *o)
{
	buf_done(&o->content);
	buf_done(&o->reasoning);
	buf_done(&o->calls);
	buf_done(&o->media);
}

/* What is between the quotes of a JSON string. */
static struct weft_str inside(struct weft_str raw)
{
	if (raw.len < 2 || raw.ptr[0] != '"')
		return (struct weft_str){ "", 0 };
	return (struct weft_str){ raw.ptr + 1, raw.len - 2 };
}

/* Texts one after another are lines. */
static void add_line(struct buf *b, struct weft_str raw)
{
	if (b->len)
		buf_add_lit(b, "\\n");
	buf_add_str(b, inside(raw));
}

/* A member of a function; every other one is the call's. */
#define SIGNATURE "thought_signature"

static void call_others_out(struct buf *calls, struct weft_str part)
{
	static const char *const ours[] = { "type",  "id",         "name",
					    "input", "input_text", SIGNATURE };
	struct weft_str key, raw;
	size_t pos = 0;

	while (json_next_member(part, &pos, &key, &raw)) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_LEN(ours); i++)
			known = known || str_eq(key, str_of(ours[i]));
		if (known)
			continue;
		buf_add_lit(calls, ",\"");
		buf_add_str(calls, key);
		buf_add_lit(calls, "\":");
		buf_add_str(calls, raw);
	}
}

static void call_out(struct outgoing *o, struct weft_str part)
{
	struct weft_str input = json_member(part, "input");
	struct weft_str signature = json_member(part, SIGNATURE);
	struct buf *b = &o->calls;

	buf_add_str(b, b->len ? STR(",{\"id\":") : STR("{\"id\":"));
	buf_add_str(b, json_member(part, "id"));
	buf_add_lit(b, ",\"type\":\"function\",\"function\":{\"name\":");
	buf_add_str(b, json_member(part, "name"));
	buf_add_lit(b, ",\"arguments\":");
	if (input.len)
		buf_add_json(b, input);
	else
		buf_add_str(b, json_member(part, "input_text"));
	if (signature.len) {
		buf_add_lit(b, ",\"" SIGNATURE "\":");
		buf_add_str(b, signature);
	}
	buf_add_c(b, '}');
	call_others_out(b, part);
	buf_add_c(b, '}');
}

static void image_out(struct outgoing *o, struct weft_str part)
{
	buf_add_str(&o->media, o->media.len ? STR(",\"data:") : STR("\"data:"));
	buf_add_str(&o->media, inside(json_member(part, "image_mime_type")));
	buf_add_lit(&o->media, BASE64);
	buf_add_str(&o->media, inside(json_member(part, "image_base64")));
	buf_add_c(&o->media, '"');
}

static void begin_message(struct buf *out, struct weft_str role)
{
	if (out->len && out->ptr[out->len - 1] != '[')
		buf_add_c(out, ',');
	buf_add_lit(out, "{\"role\":");
	buf_add_str(out, role);
	buf_add_lit(out, ",\"content\":\"");
}

/* A result is a message of its own. */
static void result_out(struct buf *out, struct weft_str message,
		       struct weft_str part)
{
	struct weft_str content = json_member(part, "content"), one;
	struct buf text;
	size_t pos = 0;

	buf_init(&text, 0);
	if (content.len && content.ptr[0] == '"')
		buf_add_str(&text, inside(content));
	else
		while (json_next_element(content, &pos, &one)) {
			struct weft_str s = json_member(one, "text");

			if (s.len)
				add_line(&text, s);
		}
	begin_message(out, STR("\"tool\""));
	buf_add_str(out, buf_str(&text));
	buf_add_lit(out, "\",\"tool_call_id\":");
	buf_add_str(out, json_member(part, "tool_use_id"));
	buf_add_lit(out, ",\"created_at\":");
	buf_add_str(out, json_member(message, "created_at"));
	buf_add_c(out, '}');
	if (text.error && !out->error)
		out->error = text.error;
	buf_done(&text);
}

static void part_out(struct outgoing *o, struct buf *out,
		     struct weft_str message, struct weft_str part)
{
	struct weft_str type = inside(json_member(part, "type"));

	if (str_eq(type, STR("tool_result"))) {
		result_out(out, message, part);
		return;
	}
	o->has_text = true;
	if (str_eq(type, STR("text")))
		add_line(&o->content, json_member(part, "text"));
	else if (str_eq(type, STR("thinking")))
		add_line(&o->reasoning, json_member(part, "text"));
	else if (str_eq(type, STR("tool_use")))
		call_out(o, part);
	else if (str_eq(type, STR("image")))
		image_out(o, part);
}

/* A member that is a list or a text, if there is anything in it. */
static void add_member(struct buf *out, const char *name, const struct buf *b,
		       char open, char close)
{
	if (b->error && !out->error)
		out->error = b->error;
	if (b->len == 0)
		return;
	buf_printf(out, ",\"%s\":%c", name, open);
	buf_add_str(out, buf_str(b));
	buf_add_c(out, close);
}

/* What was kept of theirs. */
static void kept_out(struct outgoing *o, struct buf *out,
		     struct weft_str message)
{
	struct weft_str x = json_member(message, "x"), key, raw;
	size_t pos = 0;

	while (json_next_member(x, &pos, &key, &raw)) {
		if (str_eq(key, STR("media")) && raw.len > 2) {
			if (o->media.len)
				buf_add_c(&o->media, ',');
			buf_add(&o->media, raw.ptr + 1, raw.len - 2);
			continue;
		}
		buf_add_lit(out, ",\"");
		buf_add_str(out, key);
		buf_add_lit(out, "\":");
		buf_add_str(out, raw);
	}
}

static void rest_out(struct outgoing *o, struct buf *out,
		     struct weft_str message)
{
	struct weft_str model =
		json_member(json_member(message, "model"), "name");

	begin_message(out, json_member(message, "role"));
	buf_add_str(out, buf_str(&o->content));
	buf_add_c(out, '"');
	if (model.len > 2) {
		buf_add_lit(out, ",\"model_name\":");
		buf_add_str(out, model);
	}
	buf_add_lit(out, ",\"created_at\":");
	buf_add_str(out, json_member(message, "created_at"));
	kept_out(o, out, message);
	add_member(out, "media", &o->media, '[', ']');
	add_member(out, "reasoning_content", &o->reasoning, '"', '"');
	add_member(out, "tool_calls", &o->calls, '[', ']');
	buf_add_c(out, '}');
}

int pico_message_out(struct weft_str message, struct buf *out,
		     struct weft_error *err)
{
	CLEANUP(outgoing_done) struct outgoing o = { .has_text = false };
	struct weft_str parts = json_member(message, "parts"), part;
	size_t pos = 0, n = 0;

	buf_init(&o.content, 0);
	buf_init(&o.reasoning, 0);
	buf_init(&o.calls, 0);
	buf_init(&o.media, 0);
	for (; json_next_element(parts, &pos, &part); n++)
		part_out(&o, out, message, part);
	if (o.has_text || n == 0)
		rest_out(&o, out, message);
	return buf_error(out, err);
}

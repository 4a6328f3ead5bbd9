/*
 * render_parts.c - from the parts of a message to items.
 *
 * An edited line may say anything, so nothing is taken for granted: what is
 * not as it should be is left out.
 */
#include "base/text.h"
#include "model/message.h"
#include "model/render_item.h"

/* What stands for an image that the format cannot have. */
static const struct weft_str no_image = STR_INIT("[image left out]");

/* The members of parts, all kinds together. */
enum member {
	MEMBER_TYPE,
	MEMBER_TEXT,
	MEMBER_SIGNATURE,
	MEMBER_ID,
	MEMBER_NAME,
	MEMBER_INPUT,
	MEMBER_INPUT_TEXT,
	MEMBER_TOOL_USE_ID,
	MEMBER_CONTENT,
	MEMBER_IS_ERROR,
	MEMBER_MIME_TYPE,
	MEMBER_BASE64,
	MEMBER_FORMAT,
	MEMBER_DATA,
	MEMBERS
};

static const struct weft_str member_names[MEMBERS] = {
	[MEMBER_TYPE] = STR_INIT("type"),
	[MEMBER_TEXT] = STR_INIT("text"),
	[MEMBER_SIGNATURE] = STR_INIT("signature"),
	[MEMBER_ID] = STR_INIT("id"),
	[MEMBER_NAME] = STR_INIT("name"),
	[MEMBER_INPUT] = STR_INIT("input"),
	[MEMBER_INPUT_TEXT] = STR_INIT("input_text"),
	[MEMBER_TOOL_USE_ID] = STR_INIT("tool_use_id"),
	[MEMBER_CONTENT] = STR_INIT("content"),
	[MEMBER_IS_ERROR] = STR_INIT("is_error"),
	[MEMBER_MIME_TYPE] = STR_INIT("image_mime_type"),
	[MEMBER_BASE64] = STR_INIT("image_base64"),
	[MEMBER_FORMAT] = STR_INIT("format"),
	[MEMBER_DATA] = STR_INIT("data"),
};

struct member_value {
	yyjson_val *value; /* NULL: not there, or null */
	yyjson_val *key;
};

/* A slice of the copy, where it is in the body. */
static struct weft_str in_body(const struct render_scan *s,
			       struct weft_str slice)
{
	size_t at = (size_t)(slice.ptr - s->text.ptr) - 1;

	return (struct weft_str){ s->body.ptr + at, slice.len };
}

/* A value as it was written. */
static struct weft_str raw_of(const struct render_scan *s,
			      const struct member_value *m)
{
	return in_body(s, json_raw_value(s->doc, s->text, m->key));
}

/* The inside of a string as it was written. */
static struct weft_str inside(const struct render_scan *s,
			      const struct member_value *m)
{
	struct weft_str raw = raw_of(s, m);

	return (struct weft_str){ raw.ptr + 1, raw.len - 2 };
}

/* What a string says; without escapes that is the inside of it. */
static struct weft_str decoded(const struct render_scan *s,
			       const struct member_value *m)
{
	struct weft_str raw = inside(s, m);

	if (raw.len == yyjson_get_len(m->value))
		return raw;
	return arena_str(s->render->arena, json_str(m->value));
}

/* ---- kinds of parts ---- */

static bool is_string(const struct member_value *m)
{
	return yyjson_is_str(m->value);
}

static bool is_filled(const struct member_value *m)
{
	return yyjson_get_len(m->value) > 0 && is_string(m);
}

static void read_members(yyjson_val *object, struct member_value m[MEMBERS])
{
	yyjson_obj_iter it = yyjson_obj_iter_with(object);
	yyjson_val *key;

	memset(m, 0, MEMBERS * sizeof(*m));
	while ((key = yyjson_obj_iter_next(&it))) {
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		for (size_t i = 0; i < MEMBERS; i++) {
			if (!str_eq(json_str(key), member_names[i]))
				continue;
			if (!yyjson_is_null(value) || i == MEMBER_INPUT)
				m[i] = (struct member_value){ value, key };
			break;
		}
	}
}

static bool scan_text(struct render_scan *s, const struct member_value *m,
		      struct render_item *ret)
{
	if (!is_string(&m[MEMBER_TEXT]) ||
	    text_is_blank(json_str(m[MEMBER_TEXT].value)))
		return false;
	ret->kind = ITEM_TEXT;
	ret->value = inside(s, &m[MEMBER_TEXT]);
	return true;
}

static bool scan_thinking(struct render_scan *s, const struct member_value *m,
			  struct render_item *ret)
{
	if (s->render->options.format != RENDER_ANTHROPIC || !s->own_model ||
	    s->said->role != ROLE_ASSISTANT || !is_string(&m[MEMBER_TEXT]) ||
	    !is_string(&m[MEMBER_SIGNATURE]) ||
	    text_is_blank(json_str(m[MEMBER_SIGNATURE].value)))
		return false;
	ret->kind = ITEM_THINKING;
	ret->value = inside(s, &m[MEMBER_TEXT]);
	ret->mark = inside(s, &m[MEMBER_SIGNATURE]);
	return true;
}

static bool scan_call(struct render_scan *s, const struct member_value *m,
		      struct render_item *ret)
{
	const struct member_value *input = &m[MEMBER_INPUT];

	if (!is_filled(&m[MEMBER_ID]) || !is_filled(&m[MEMBER_NAME]))
		return false;
	ret->kind = ITEM_CALL;
	ret->id = decoded(s, &m[MEMBER_ID]);
	ret->name = decoded(s, &m[MEMBER_NAME]);
	ret->is_text = is_string(&m[MEMBER_INPUT_TEXT]);
	if (ret->is_text)
		ret->value = inside(s, &m[MEMBER_INPUT_TEXT]);
	else
		ret->value = input->value ? raw_of(s, input) : STR("{}");
	return true;
}

/* Types that all providers take. */
static bool is_known_image(struct weft_str type)
{
	static const struct weft_str known[] = {
		STR_INIT("image/png"),
		STR_INIT("image/jpeg"),
		STR_INIT("image/gif"),
		STR_INIT("image/webp"),
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_eq(type, known[i]))
			return true;
	}
	return false;
}

static bool scan_image(struct render_scan *s, const struct member_value *m,
		       struct render_item *ret)
{
	bool may_have =
		s->said->role == ROLE_USER || s->said->role == ROLE_TOOL;

	if (may_have && is_filled(&m[MEMBER_BASE64]) &&
	    !text_is_blank(json_str(m[MEMBER_BASE64].value)) &&
	    is_known_image(json_str(m[MEMBER_MIME_TYPE].value))) {
		ret->kind = ITEM_IMAGE;
		ret->value = inside(s, &m[MEMBER_BASE64]);
		ret->mark = inside(s, &m[MEMBER_MIME_TYPE]);
		return true;
	}
	if (s->said->role == ROLE_SYSTEM)
		return false;
	ret->kind = ITEM_TEXT;
	ret->value = no_image;
	return true;
}

/* A part of the list in a result: text or image, whoever's message it is. */
static bool scan_inner(struct render_scan *s, yyjson_val *part,
		       struct render_item *ret)
{
	uint32_t role = s->said->role;
	struct member_value m[MEMBERS];
	bool found = false;

	if (!yyjson_is_obj(part))
		return false;
	read_members(part, m);
	s->said->role = ROLE_TOOL;
	if (yyjson_equals_str(m[MEMBER_TYPE].value, "text"))
		found = scan_text(s, m, ret);
	else if (yyjson_equals_str(m[MEMBER_TYPE].value, "image"))
		found = scan_image(s, m, ret);
	s->said->role = role;
	return found;
}

/* False only if there is no memory, which the arena remembers. */
static bool scan_list(struct render_scan *s, const struct member_value *list,
		      struct render_item *ret)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(list->value);
	struct render_item *inner;
	yyjson_val *part;
	size_t n = 0;

	inner = ARENA_ARRAY(s->render->arena, struct render_item,
			    yyjson_arr_size(list->value));
	if (!inner)
		return false;
	while ((part = yyjson_arr_iter_next(&it)))
		n += scan_inner(s, part, &inner[n]);
	ret->is_list = true;
	ret->inner = inner;
	ret->n_inner = n;
	return true;
}

static bool scan_result(struct render_scan *s, const struct member_value *m,
			struct render_item *ret)
{
	const struct member_value *content = &m[MEMBER_CONTENT];

	if (!is_filled(&m[MEMBER_TOOL_USE_ID]))
		return false;
	ret->kind = ITEM_RESULT;
	ret->id = decoded(s, &m[MEMBER_TOOL_USE_ID]);
	ret->is_error = yyjson_is_true(m[MEMBER_IS_ERROR].value);
	ret->value = STR("");
	if (is_string(content) && !text_is_blank(json_str(content->value)))
		ret->value = inside(s, content);
	if (yyjson_is_arr(content->value))
		return scan_list(s, content, ret);
	return true;
}

/*
 * Data in a provider's own form goes to that provider, where it stood, if it
 * is of a kind that may stand there whatever else there is.
 */
static bool scan_opaque(struct render_scan *s, yyjson_val *data,
			struct weft_str raw, struct render_item *ret)
{
	static const struct {
		uint32_t format, role;
		const char *type;
	} known[] = {
		{ RENDER_ANTHROPIC, ROLE_ASSISTANT, "redacted_thinking" },
		{ RENDER_ANTHROPIC, ROLE_USER, "document" },
		{ RENDER_OPENAI, ROLE_USER, "file" },
		{ RENDER_RESPONSES, ROLE_ASSISTANT, "reasoning" },
	};
	yyjson_val *type = yyjson_obj_get(data, "type");

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i].format != s->render->options.format ||
		    known[i].role != s->said->role ||
		    !yyjson_equals_str(type, known[i].type))
			continue;
		ret->kind = ITEM_OPAQUE;
		ret->value = raw;
		return true;
	}
	return false;
}

static bool scan_opaque_part(struct render_scan *s,
			     const struct member_value *m,
			     struct render_item *ret)
{
	uint32_t format;

	/* What one provider has sealed, another one that speaks the same format
	 * cannot open. */
	if (!s->own_model || !is_string(&m[MEMBER_FORMAT]) ||
	    !render_format_parse(json_str(m[MEMBER_FORMAT].value), &format) ||
	    format != s->render->options.format)
		return false;
	return m[MEMBER_DATA].value &&
	       scan_opaque(s, m[MEMBER_DATA].value, raw_of(s, &m[MEMBER_DATA]),
			   ret);
}

bool render_scan_part(struct render_scan *s, yyjson_val *part,
		      struct render_item *ret)
{
	static const struct {
		const char *type;
		bool (*scan)(struct render_scan *s,
			     const struct member_value *m,
			     struct render_item *ret);
	} kinds[] = {
		{ "text", scan_text },          { "tool_use", scan_call },
		{ "tool_result", scan_result }, { "thinking", scan_thinking },
		{ "image", scan_image },        { "opaque", scan_opaque_part },
	};
	struct member_value m[MEMBERS];

	if (!yyjson_is_obj(part))
		return false;
	read_members(part, m);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (yyjson_equals_str(m[MEMBER_TYPE].value, kinds[i].type))
			return kinds[i].scan(s, m, ret);
	}
	return false;
}

/* ---- what belongs to the whole message ---- */

void render_scan_sender(struct render_scan *s, yyjson_val *from)
{
	struct member_value m[MEMBERS];
	bool has_name, has_id;

	if (!yyjson_is_obj(from) || s->said->role != ROLE_USER)
		return;
	read_members(from, m);
	has_name = is_string(&m[MEMBER_NAME]) &&
		   !text_is_blank(json_str(m[MEMBER_NAME].value));
	has_id = is_string(&m[MEMBER_ID]) &&
		 !text_is_blank(json_str(m[MEMBER_ID].value));
	if (has_id)
		s->said->sender_id = inside(s, &m[MEMBER_ID]);
	if (has_name)
		s->said->sender = inside(s, &m[MEMBER_NAME]);
	else
		s->said->sender = s->said->sender_id;
	if (!has_id)
		s->said->sender_id = s->said->sender;
}

size_t render_bound_count(const struct render_scan *s, yyjson_val *bound)
{
	yyjson_val *data = yyjson_obj_get(bound, "data");
	struct weft_str provider = json_str(yyjson_obj_get(bound, "provider"));

	if (!str_eq(provider, s->render->options.provider))
		return 0;
	return yyjson_is_arr(data) ? yyjson_arr_size(data) : 1;
}

size_t render_scan_bound(struct render_scan *s, yyjson_val *bound,
			 struct render_item *items)
{
	struct member_value m[MEMBERS];
	struct weft_str raw, element;
	yyjson_arr_iter it;
	yyjson_val *v;
	size_t pos = 0, n = 0;

	if (render_bound_count(s, bound) == 0)
		return 0;
	read_members(bound, m);
	if (!m[MEMBER_DATA].value)
		return 0;
	raw = raw_of(s, &m[MEMBER_DATA]);
	if (!yyjson_is_arr(m[MEMBER_DATA].value))
		return scan_opaque(s, m[MEMBER_DATA].value, raw, items);
	it = yyjson_arr_iter_with(m[MEMBER_DATA].value);
	while ((v = yyjson_arr_iter_next(&it)) &&
	       json_next_element(raw, &pos, &element))
		n += scan_opaque(s, v, element, &items[n]);
	return n;
}

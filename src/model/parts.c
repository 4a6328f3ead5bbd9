/*
 * parts.c - the parts of a message: their kinds and what each must have.
 *
 * A kind is a row of a table.  Members that its row does not name are kept as
 * they are, but for those that the stored form will use itself.
 */
#include "model/parts.h"

#include "base/error.h"
#include "base/text.h"

#define NAME_SHOWN 32 /* characters of a name in a message */

enum rule {
	RULE_STRING,
	RULE_FILLED, /* a string that is not empty */
	RULE_BOOL,
	RULE_ANY,     /* also null */
	RULE_BASE64,  /* a string, and what it must be */
	RULE_CONTENT, /* of a tool's result: a string, or texts and images */
};

struct part_field {
	const char *name;
	uint8_t rule; /* enum rule */
	bool required;
};

#define FIELDS_MAX 4

struct part_kind {
	struct weft_str name;
	struct part_field fields[FIELDS_MAX];
	bool in_result; /* may be content of a tool's result */
	bool is_call;   /* has either input or input_text */
};

static const struct part_kind kinds[] = {
	{ .name = STR_INIT("text"),
	  .fields = { { "text", RULE_STRING, true } },
	  .in_result = true },
	{ .name = STR_INIT("thinking"),
	  .fields = { { "text", RULE_STRING, true },
		      { "signature", RULE_STRING, false } } },
	{ .name = STR_INIT("tool_use"),
	  .fields = { { "id", RULE_FILLED, true },
		      { "name", RULE_FILLED, true },
		      { "input", RULE_ANY, false },
		      { "input_text", RULE_STRING, false } },
	  .is_call = true },
	{ .name = STR_INIT("tool_result"),
	  .fields = { { "tool_use_id", RULE_FILLED, true },
		      { "content", RULE_CONTENT, true },
		      { "is_error", RULE_BOOL, false } } },
	{ .name = STR_INIT("image"),
	  .fields = { { "image_mime_type", RULE_FILLED, true },
		      { "image_base64", RULE_BASE64, true } },
	  .in_result = true },
	{ .name = STR_INIT("opaque"),
	  .fields = { { "format", RULE_FILLED, true },
		      { "data", RULE_ANY, true } } },
};

/* Where a large part's bytes are kept once they are stored by hash. */
static const char *const reserved[] = { "blob" };

/* Where in the message something is: parts[3], or parts[3].content[1]. */
struct place {
	const char *list;
	size_t index;
	bool in_result;
	size_t inner;
	uint64_t max; /* parts in a list */
};

static int fail_part(const struct place *p, int code, const char *field,
		     const char *problem, struct weft_error *err)
{
	const char *dot = field[0] ? "." : "";

	if (p->in_result)
		return fail(err, code, "%s[%zu].content[%zu]%s%s: %s", p->list,
			    p->index, p->inner, dot, field, problem);
	return fail(err, code, "%s[%zu]%s%s: %s", p->list, p->index, dot, field,
		    problem);
}

static int fail_expected(const struct place *p, const char *field,
			 const char *expected, yyjson_val *found,
			 struct weft_error *err)
{
	char problem[160];

	(void)snprintf(problem, sizeof(problem), "expected %s, found %s",
		       expected, json_kind(found));
	return fail_part(p, WEFT_INVALID_PART, field, problem, err);
}

static bool is_base64(struct weft_str s)
{
	/* Zero for what may not be there. */
	static const unsigned char allowed[256] = {
		['A' ... 'Z'] = 1, ['a' ... 'z'] = 1, ['0' ... '9'] = 1,
		['+'] = 1,         ['/'] = 1,
	};
	size_t padding = 0;
	unsigned char all = 1;

	if (s.len == 0 || s.len % 4 != 0)
		return false;
	while (padding < 2 && s.ptr[s.len - 1] == '=') {
		s.len--;
		padding++;
	}
	for (size_t i = 0; i < s.len; i++)
		all &= allowed[(unsigned char)s.ptr[i]];
	return all;
}

static int check_part(const struct place *p, yyjson_val *part,
		      struct weft_error *err);

static int check_content(const struct place *p, yyjson_val *content,
			 struct weft_error *err)
{
	struct place inside = *p;
	yyjson_arr_iter it;
	yyjson_val *part;

	if (yyjson_is_str(content))
		return WEFT_OK;
	if (!yyjson_is_arr(content))
		return fail_expected(p, "content", "a string or an array",
				     content, err);
	if (yyjson_arr_size(content) > p->max)
		return fail(err, WEFT_LIMIT,
			    "%s[%zu].content has %zu parts, the limit is %llu "
			    "(limit parts)",
			    p->list, p->index, yyjson_arr_size(content),
			    (unsigned long long)p->max);
	inside.in_result = true;
	it = yyjson_arr_iter_with(content);
	for (; (part = yyjson_arr_iter_next(&it)); inside.inner++) {
		int r = check_part(&inside, part, err);

		if (r != WEFT_OK)
			return r;
	}
	return WEFT_OK;
}

static int check_field(const struct place *p, const struct part_field *f,
		       yyjson_val *v, struct weft_error *err)
{
	switch (f->rule) {
	case RULE_ANY:
		return WEFT_OK;
	case RULE_BOOL:
		if (yyjson_is_bool(v))
			return WEFT_OK;
		return fail_expected(p, f->name, "true or false", v, err);
	case RULE_CONTENT:
		return check_content(p, v, err);
	default:
		break;
	}
	if (!yyjson_is_str(v))
		return fail_expected(p, f->name, "a string", v, err);
	if (f->rule == RULE_FILLED && yyjson_get_len(v) == 0)
		return fail_part(p, WEFT_INVALID_PART, f->name,
				 "expected a string that is not empty", err);
	if (f->rule == RULE_BASE64 && !is_base64(json_str(v)))
		return fail_part(p, WEFT_INVALID_PART, f->name,
				 "expected base64 with its padding", err);
	return WEFT_OK;
}

/* Arguments are JSON or, if they are none, text; never both. */
static int check_call(const struct place *p, yyjson_val *part,
		      struct weft_error *err)
{
	yyjson_val *input = yyjson_obj_get(part, "input");
	yyjson_val *text = yyjson_obj_get(part, "input_text");
	bool has_text = text && !yyjson_is_null(text);

	if (!has_text && !input)
		return fail_part(p, WEFT_INVALID_PART, "input",
				 "expected input or input_text", err);
	if (has_text && input && !yyjson_is_null(input))
		return fail_part(p, WEFT_INVALID_PART, "input_text",
				 "expected input or input_text, not both", err);
	return WEFT_OK;
}

static int check_fields(const struct place *p, const struct part_kind *kind,
			yyjson_val *part, struct weft_error *err)
{
	for (size_t i = 0; i < FIELDS_MAX && kind->fields[i].name; i++) {
		const struct part_field *f = &kind->fields[i];
		yyjson_val *v = yyjson_obj_get(part, f->name);
		int r;

		if (!f->required && (!v || yyjson_is_null(v)))
			continue;
		if (!v && f->rule == RULE_ANY)
			return fail_expected(p, f->name, "a value", v, err);
		r = check_field(p, f, v, err);
		if (r != WEFT_OK)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
		if (yyjson_obj_get(part, reserved[i]))
			return fail_part(p, WEFT_INVALID_PART, reserved[i],
					 "this name is reserved; leave it out, "
					 "or give it another name",
					 err);
	}
	return kind->is_call ? check_call(p, part, err) : WEFT_OK;
}

static const struct part_kind *find_kind(struct weft_str name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (str_eq(name, kinds[i].name))
			return &kinds[i];
	}
	return NULL;
}

static int fail_kind(const struct place *p, struct weft_str name,
		     struct weft_error *err)
{
	char problem[320];
	int n = snprintf(problem, sizeof(problem),
			 "unknown kind of part \"%.*s\"; there are",
			 STR_ARG(text_cut(name, NAME_SHOWN)));

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		n += snprintf(problem + n, sizeof(problem) - (size_t)n,
			      i ? ", %s" : " %s", kinds[i].name.ptr);
	return fail_part(p, WEFT_UNKNOWN_PART_KIND, "type", problem, err);
}

static int check_part(const struct place *p, yyjson_val *part,
		      struct weft_error *err)
{
	static const struct part_field type_field = { "type", RULE_FILLED,
						      true };
	yyjson_val *type = yyjson_obj_get(part, "type");
	const struct part_kind *kind;
	char problem[160];
	int r;

	if (!yyjson_is_obj(part))
		return fail_expected(p, "", "an object", part, err);
	r = check_field(p, &type_field, type, err);
	if (r != WEFT_OK)
		return r;
	kind = find_kind(json_str(type));
	if (!kind)
		return fail_kind(p, json_str(type), err);
	if (p->in_result && !kind->in_result) {
		(void)snprintf(problem, sizeof(problem),
			       "expected text or image, found %s",
			       kind->name.ptr);
		return fail_part(p, WEFT_INVALID_PART, "type", problem, err);
	}
	return check_fields(p, kind, part, err);
}

int parts_check(yyjson_val *parts, const char *name, uint64_t max,
		struct weft_error *err)
{
	struct place p = { .list = name, .max = max };
	yyjson_arr_iter it;
	yyjson_val *part;

	if (!yyjson_is_arr(parts))
		return fail(err, WEFT_INVALID,
			    "%s: expected an array, found %s", name,
			    json_kind(parts));
	if (yyjson_arr_size(parts) == 0)
		return fail(err, WEFT_INVALID, "%s: expected at least one part",
			    name);
	if (yyjson_arr_size(parts) > max)
		return fail(err, WEFT_LIMIT,
			    "%s has %zu parts, the limit is %llu (limit parts)",
			    name, yyjson_arr_size(parts),
			    (unsigned long long)max);
	it = yyjson_arr_iter_with(parts);
	for (; (part = yyjson_arr_iter_next(&it)); p.index++) {
		int r = check_part(&p, part, err);

		if (r != WEFT_OK)
			return r;
	}
	return WEFT_OK;
}

/* The text of a part, or the beginning of it if the rest is kept apart. */
static struct weft_str text_of(yyjson_val *part)
{
	yyjson_val *text = yyjson_obj_get(part, "text");

	if (!text)
		text = yyjson_obj_get(yyjson_obj_get(part, "blob"), "head");
	return json_str(text);
}

void parts_read(yyjson_val *parts, struct weft_str *ret_text,
		bool *ret_more_than_results)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(parts);
	struct weft_str text = { "", 0 };
	bool more = false;
	yyjson_val *part;

	while ((part = yyjson_arr_iter_next(&it))) {
		yyjson_val *type = yyjson_obj_get(part, "type");

		more |= !yyjson_equals_str(type, "tool_result");
		if (text.len == 0 && yyjson_equals_str(type, "text"))
			text = text_of(part);
	}
	*ret_text = text.len ? text : STR("");
	*ret_more_than_results = more;
}

bool parts_have_image(yyjson_val *parts)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(parts);
	yyjson_val *part;

	while ((part = yyjson_arr_iter_next(&it))) {
		yyjson_val *type = yyjson_obj_get(part, "type");

		if (yyjson_equals_str(type, "image"))
			return true;
		/* Those have nothing in them that has parts. */
		if (yyjson_equals_str(type, "tool_result") &&
		    parts_have_image(yyjson_obj_get(part, "content")))
			return true;
	}
	return false;
}

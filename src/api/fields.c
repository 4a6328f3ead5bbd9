/* fields.c - check a request against its method's row, and read it. */
#include "api/api.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/near.h"
#include "base/text.h"

#define VALUE_SHOWN 64 /* bytes of a wrong value in a message */

static const char *type_expected(uint32_t type)
{
	switch (type) {
	case TYPE_INTEGER:
		return "an integer from 0 to 2^53 - 1";
	case TYPE_BOOLEAN:
		return "true or false";
	case TYPE_TIME:
		return "a time like \"2026-11-15T10:00:00Z\"";
	case TYPE_OBJECT:
		return "an object";
	case TYPE_ARRAY:
		return "an array";
	case TYPE_LINES:
		return "an array of strings";
	case TYPE_MODEL:
		return "{\"provider\":\"...\",\"name\":\"...\"}";
	case TYPE_REF:
		return "a message id or a number";
	case TYPE_REFS:
		return "an array of message ids and numbers";
	default:
		return "a string";
	}
}

static int fail_type(struct call *c, const struct field *f, yyjson_val *v)
{
	/* A string may be right there, but not this one. */
	if (yyjson_is_str(v) && (f->type == TYPE_REF || f->type == TYPE_REFS ||
				 f->type == TYPE_TIME))
		return fail(c->err, WEFT_INVALID,
			    "%s: expected %s, found \"%.*s\"", f->name,
			    type_expected(f->type),
			    STR_ARG(text_cut(json_str(v), VALUE_SHOWN)));
	return fail(c->err, WEFT_INVALID, "%s: expected %s, found %s", f->name,
		    type_expected(f->type), json_kind(v));
}

static uint64_t limit_of(const struct call *c, const struct field *f)
{
	uint64_t n;

	if (!f->limit)
		return UINT64_MAX;
	memcpy(&n, (const char *)c->limits + f->limit_at, sizeof(n));
	return n;
}

static int check_limit(struct call *c, const struct field *f, size_t bytes)
{
	uint64_t max = limit_of(c, f);

	if (bytes > max)
		return fail(c->err, WEFT_LIMIT,
			    "%s: %zu bytes, the limit is %llu (limit %s)",
			    f->name, bytes, (unsigned long long)max, f->limit);
	return WEFT_OK;
}

static int check_line(struct call *c, const struct field *f, yyjson_val *v)
{
	int r;

	if (!yyjson_is_str(v))
		return fail_type(c, f, v);
	r = check_limit(c, f, yyjson_get_len(v));
	if (r != WEFT_OK)
		return r;
	return text_check_line(json_str(v), SIZE_MAX, f->name, c->err);
}

/* Is `s` one of the words in "one|two"? */
static bool is_choice(const char *values, struct weft_str s)
{
	struct weft_str rest = str_of(values);

	while (rest.len > 0) {
		const char *bar = memchr(rest.ptr, '|', rest.len);
		size_t n = bar ? (size_t)(bar - rest.ptr) : rest.len;

		if (str_eq(s, (struct weft_str){ rest.ptr, n }))
			return true;
		rest = str_skip(rest, bar ? n + 1 : n);
	}
	return false;
}

static int check_choice(struct call *c, const struct field *f, yyjson_val *v)
{
	struct weft_str s = json_str(v);

	if (!yyjson_is_str(v))
		return fail_type(c, f, v);
	if (!is_choice(f->values, s))
		return fail(c->err, WEFT_INVALID,
			    "%s: expected one of %s, found \"%.*s\"", f->name,
			    f->values, STR_ARG(text_cut(s, VALUE_SHOWN)));
	return WEFT_OK;
}

static bool is_integer(yyjson_val *v)
{
	return yyjson_is_uint(v) && yyjson_get_uint(v) <= API_INTEGER_MAX;
}

static bool is_ref(yyjson_val *v)
{
	struct weft_id id;

	return is_integer(v) ||
	       (yyjson_is_str(v) && id_parse(json_str(v), &id));
}

static int check_array(struct call *c, const struct field *f, yyjson_val *v)
{
	yyjson_arr_iter it;
	yyjson_val *element;
	int r = WEFT_OK;

	if (!yyjson_is_arr(v))
		return fail_type(c, f, v);
	yyjson_arr_iter_init(v, &it);
	while (r == WEFT_OK && (element = yyjson_arr_iter_next(&it))) {
		if (f->type == TYPE_LINES)
			r = check_line(c, f, element);
		else if (f->type == TYPE_REFS && !is_ref(element))
			r = fail_type(c, f, element);
	}
	return r;
}

static int check_model(struct call *c, const struct field *f, yyjson_val *v)
{
	yyjson_obj_iter it;
	yyjson_val *key;

	if (!yyjson_is_obj(v))
		return fail_type(c, f, v);
	yyjson_obj_iter_init(v, &it);
	while ((key = yyjson_obj_iter_next(&it))) {
		yyjson_val *value = yyjson_obj_iter_get_val(key);
		int r;

		if (!yyjson_equals_str(key, "provider") &&
		    !yyjson_equals_str(key, "name"))
			return fail_type(c, f, v);
		r = check_line(c, f, value);
		if (r != WEFT_OK)
			return r;
	}
	return WEFT_OK;
}

static int check_time(struct call *c, const struct field *f, yyjson_val *v)
{
	int64_t ms;

	if (!yyjson_is_str(v) || !time_parse_rfc3339(json_str(v), &ms))
		return fail_type(c, f, v);
	return WEFT_OK;
}

static int check_value(struct call *c, const struct field *f, yyjson_val *v)
{
	bool good = true;

	switch (f->type) {
	case TYPE_LINE:
		return check_line(c, f, v);
	case TYPE_CHOICE:
		return check_choice(c, f, v);
	case TYPE_MODEL:
		return check_model(c, f, v);
	case TYPE_TIME:
		return check_time(c, f, v);
	case TYPE_ARRAY:
	case TYPE_LINES:
	case TYPE_REFS:
		return check_array(c, f, v);
	case TYPE_TEXT:
		if (!yyjson_is_str(v))
			return fail_type(c, f, v);
		return check_limit(c, f, yyjson_get_len(v));
	case TYPE_INTEGER:
		good = is_integer(v);
		break;
	case TYPE_BOOLEAN:
		good = yyjson_is_bool(v);
		break;
	case TYPE_OBJECT:
		good = yyjson_is_obj(v);
		break;
	case TYPE_REF:
		good = is_ref(v);
		break;
	default:
		break;
	}
	if (!good)
		return fail_type(c, f, v);
	if (f->limit)
		return check_limit(c, f, call_raw(c, f->name).len);
	return WEFT_OK;
}

static const struct field *field_find(const struct method *m,
				      struct weft_str name)
{
	for (size_t i = 0; i < m->n_fields; i++) {
		if (str_eq(name, str_of(m->fields[i].name)))
			return &m->fields[i];
	}
	return NULL;
}

static int fail_unknown(struct call *c, struct weft_str name)
{
	const char *words[32];
	const char *near;
	size_t n = 0;

	for (; n < c->method->n_fields && n < ARRAY_LEN(words); n++)
		words[n] = c->method->fields[n].name;
	near = near_word(name, words, n);
	name = text_cut(name, VALUE_SHOWN);
	if (near)
		return fail(c->err, WEFT_INVALID,
			    "%s: unknown field \"%.*s\"; did you mean \"%s\"?",
			    c->method->name, STR_ARG(name), near);
	return fail(c->err, WEFT_INVALID, "%s: unknown field \"%.*s\"",
		    c->method->name, STR_ARG(name));
}

int fields_check(struct call *c)
{
	yyjson_obj_iter it;
	yyjson_val *key;

	yyjson_obj_iter_init(c->root, &it);
	while ((key = yyjson_obj_iter_next(&it))) {
		yyjson_val *v = yyjson_obj_iter_get_val(key);
		const struct field *f;
		int r;

		if (yyjson_equals_str(key, "method"))
			continue;
		f = field_find(c->method, json_str(key));
		if (!f)
			return fail_unknown(c, json_str(key));
		if (yyjson_is_null(v))
			continue;
		r = check_value(c, f, v);
		if (r != WEFT_OK)
			return r;
	}
	for (size_t i = 0; i < c->method->n_fields; i++) {
		const struct field *f = &c->method->fields[i];

		if (f->required && !call_has(c, f->name))
			return fail(c->err, WEFT_INVALID,
				    "%s: field \"%s\" is missing",
				    c->method->name, f->name);
	}
	return WEFT_OK;
}

yyjson_val *call_val(const struct call *c, const char *name)
{
	yyjson_val *v = yyjson_obj_get(c->root, name);

	return yyjson_is_null(v) ? NULL : v;
}

bool call_has(const struct call *c, const char *name)
{
	return call_val(c, name) != NULL;
}

struct weft_str call_str(const struct call *c, const char *name)
{
	yyjson_val *v = call_val(c, name);

	return v ? json_str(v) : STR("");
}

uint64_t call_u64(const struct call *c, const char *name, uint64_t otherwise)
{
	yyjson_val *v = call_val(c, name);

	return v ? yyjson_get_uint(v) : otherwise;
}

bool call_bool(const struct call *c, const char *name)
{
	return yyjson_get_bool(call_val(c, name));
}

int64_t call_time(const struct call *c, const char *name)
{
	int64_t ms = 0;

	(void)time_parse_rfc3339(call_str(c, name), &ms);
	return ms;
}

struct weft_str call_raw(const struct call *c, const char *name)
{
	struct weft_str key, raw;
	yyjson_obj_iter it;
	size_t pos = 0;

	if (!call_has(c, name))
		return STR("");
	/* By place, not by name: a name may be written with escapes. */
	yyjson_obj_iter_init(c->root, &it);
	while (json_next_member(c->request, &pos, &key, &raw)) {
		if (yyjson_equals_str(yyjson_obj_iter_next(&it), name))
			return raw;
	}
	return STR("");
}

int call_json(struct call *c, const char *name, struct weft_str *ret)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	struct weft_str raw = call_raw(c, name);
	int r;

	buf_init(&b, SIZE_MAX);
	buf_add_one_line(&b, raw);
	r = buf_error(&b, c->err);
	if (r != WEFT_OK)
		return r;
	*ret = arena_str(&c->arena, buf_str(&b));
	return ret->ptr ? WEFT_OK : arena_error(&c->arena, c->err);
}

int call_lines(struct call *c, const char *name, struct weft_str **ret,
	       size_t *ret_n)
{
	yyjson_val *array = call_val(c, name);
	size_t n = yyjson_arr_size(array);
	struct weft_str *lines = ARENA_ARRAY(&c->arena, struct weft_str, n + 1);
	yyjson_arr_iter it;

	if (!lines)
		return arena_error(&c->arena, c->err);
	yyjson_arr_iter_init(array, &it);
	for (size_t i = 0; i < n; i++)
		lines[i] = json_str(yyjson_arr_iter_next(&it));
	*ret = lines;
	*ret_n = n;
	return WEFT_OK;
}

void call_model(const struct call *c, const char *name,
		struct weft_str *ret_provider, struct weft_str *ret_name)
{
	yyjson_val *model = call_val(c, name);
	yyjson_val *provider = yyjson_obj_get(model, "provider");
	yyjson_val *model_name = yyjson_obj_get(model, "name");

	*ret_provider = provider ? json_str(provider) : STR("");
	*ret_name = model_name ? json_str(model_name) : STR("");
}

int call_session_id(struct call *c, struct weft_id *ret)
{
	return engine_resolve(c->engine, call_str(c, "session"), ret, c->err);
}

int call_session(struct call *c, struct session_rec *ret)
{
	struct weft_id id;
	int r = call_session_id(c, &id);

	if (r != WEFT_OK)
		return r;
	return engine_session(c->engine, &id, &c->arena, ret, c->err);
}

/* object.c - read a JSON object by its values and by its bytes at once. */
#include "model/object.h"

#include "base/error.h"

void object_walk_init(struct object_walk *w, yyjson_val *object,
		      struct weft_str text)
{
	*w = (struct object_walk){
		.values = yyjson_obj_iter_with(object),
		.text = text,
	};
}

bool object_walk_next(struct object_walk *w, struct object_member *m)
{
	yyjson_val *key = yyjson_obj_iter_next(&w->values);

	if (!key || !json_next_member(w->text, &w->pos, &m->raw_name, &m->raw))
		return false;
	m->name = json_str(key);
	m->value = yyjson_obj_iter_get_val(key);
	return true;
}

void object_add_raw(struct buf *b, const struct object_member *m)
{
	if (b->len)
		buf_add_c(b, ',');
	buf_add_c(b, '"');
	buf_add_str(b, m->raw_name);
	buf_add_lit(b, "\":");
	buf_add_one_line(b, m->raw);
}

bool value_u64(yyjson_val *v, uint64_t max, uint64_t *ret)
{
	if (!yyjson_is_uint(v) || yyjson_get_uint(v) > max)
		return false;
	*ret = yyjson_get_uint(v);
	return true;
}

struct weft_str value_text(yyjson_val *v, struct arena *a)
{
	if (!yyjson_is_str(v) || yyjson_get_len(v) == 0)
		return (struct weft_str){ "", 0 };
	return arena_str(a, json_str(v));
}

int body_object_parse(struct body_object *o, struct weft_str body,
		      struct arena *a, struct weft_error *err)
{
	char *text = arena_alloc(a, body.len + 2);
	int r;

	o->doc = NULL;
	o->root = NULL;
	if (!text)
		return arena_error(a, err);
	text[0] = '{';
	if (body.len)
		memcpy(text + 1, body.ptr, body.len);
	text[body.len + 1] = '}';
	o->text = (struct weft_str){ text, body.len + 2 };
	o->doc = json_parse_trusted(o->text, o->pool, sizeof(o->pool));
	if (!o->doc) {
		/* Only this one tells bad JSON from want of memory. */
		r = json_parse(o->text, NULL, &o->doc, err);
		if (r == WEFT_NO_MEMORY)
			return r;
		if (r != WEFT_OK)
			return fail(err, WEFT_CORRUPT,
				    "the body of an event is not JSON");
	}
	o->root = yyjson_doc_get_root(o->doc);
	return WEFT_OK;
}

void body_object_done(struct body_object *o)
{
	yyjson_doc_free(o->doc);
	o->doc = NULL;
}

/* search_doc.c - what of an event can be found. */
#include "model/blob_part.h"
#include "model/object.h"
#include "model/search.h"

#include "base/error.h"
#include "base/text.h"

#define TEXTS_MAX 4096 /* of one event */

/* 1 January 1900 and 2170. */
#define TIME_MIN INT64_C(-2208988800000)
#define TIME_MAX INT64_C(6311433600000)

struct collector {
	struct arena *arena;
	const struct blob_place *blobs;
	struct search_doc *doc;
	size_t room;
	size_t bytes; /* what may still be taken */
	int status;
	struct weft_error *err;
};

/* Take a text, as much of it as there is room for, whole characters. */
static void take(struct collector *c, struct weft_str s)
{
	struct search_doc *d = c->doc;
	size_t n = s.len < c->bytes ? s.len : c->bytes;

	while (n && n < s.len && ((unsigned char)s.ptr[n] & 0xc0) == 0x80)
		n--;
	if (!n || d->n == TEXTS_MAX)
		return;
	if (d->n == c->room) {
		size_t room = c->room ? 2 * c->room : 8;
		struct weft_str *v = arena_alloc(c->arena, room * sizeof(*v));

		if (!v)
			return;
		if (d->n)
			memcpy(v, d->texts, d->n * sizeof(*v));
		d->texts = v;
		c->room = room;
	}
	c->bytes -= n;
	d->texts[d->n++] = arena_str(c->arena, (struct weft_str){ s.ptr, n });
}

/* The strings and names of any JSON; it is as deep as we let it in. */
static void take_json(struct collector *c, yyjson_val *v, unsigned depth)
{
	size_t i, n;
	yyjson_val *key, *item;

	if (depth > JSON_DEPTH_MAX)
		return;
	if (yyjson_is_str(v)) {
		take(c, json_str(v));
	} else if (yyjson_is_arr(v)) {
		yyjson_arr_foreach(v, i, n, item) take_json(c, item, depth + 1);
	} else if (yyjson_is_obj(v)) {
		yyjson_obj_foreach(v, i, n, key, item)
		{
			take(c, json_str(key));
			take_json(c, item, depth + 1);
		}
	} else if (yyjson_is_raw(v)) {
		take(c,
		     (struct weft_str){ yyjson_get_raw(v), yyjson_get_len(v) });
	} else if (yyjson_is_int(v)) {
		struct weft_str s =
			yyjson_is_sint(v) ?
				arena_printf(c->arena, "%lld",
					     (long long)yyjson_get_sint(v)) :
				arena_printf(
					c->arena, "%llu",
					(unsigned long long)yyjson_get_uint(v));

		take(c, s);
	}
}

static void take_texts(struct collector *c, yyjson_val *parts);

static void take_input(struct collector *c, struct weft_str json)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;

	if (json_parse(json, NULL, &doc, NULL) == WEFT_OK)
		take_json(c, yyjson_doc_get_root(doc), 0);
}

/* The field of a part that is kept apart. */
static void take_blob(struct collector *c, const struct blob_note *note)
{
	struct weft_str bytes = { NULL, 0 };
	int r;

	if (!note->readable || !c->bytes)
		return;
	r = c->blobs->get(c->blobs->ctx, &note->ref, c->arena, &bytes, c->err);
	if (r == WEFT_NOT_FOUND || r == WEFT_CORRUPT)
		return;
	c->status = r;
	if (r == WEFT_OK && note->enc == ENC_TEXT)
		take(c, bytes);
	else if (r == WEFT_OK && note->enc == ENC_JSON)
		take_input(c, bytes);
}

static bool is_searched(yyjson_val *type)
{
	return yyjson_equals_str(type, "text") ||
	       yyjson_equals_str(type, "tool_use") ||
	       yyjson_equals_str(type, "tool_result");
}

static void take_part(struct collector *c, yyjson_val *part)
{
	yyjson_val *type = yyjson_obj_get(part, "type");
	struct blob_note note;

	if (c->blobs && is_searched(type) && blob_note_read(part, &note))
		take_blob(c, &note);

	if (yyjson_equals_str(type, "text")) {
		take(c, json_str(yyjson_obj_get(part, "text")));
	} else if (yyjson_equals_str(type, "tool_use")) {
		take(c, json_str(yyjson_obj_get(part, "name")));
		take_json(c, yyjson_obj_get(part, "input"), 0);
		take(c, json_str(yyjson_obj_get(part, "input_text")));
	} else if (yyjson_equals_str(type, "tool_result")) {
		yyjson_val *content = yyjson_obj_get(part, "content");

		take(c, json_str(content));
		take_texts(c, content);
	}
}

/* Of a tool's result: its texts. */
static void take_texts(struct collector *c, yyjson_val *parts)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(parts);
	yyjson_val *part;

	while ((part = yyjson_arr_iter_next(&it))) {
		if (yyjson_equals_str(yyjson_obj_get(part, "type"), "text"))
			take(c, json_str(yyjson_obj_get(part, "text")));
	}
}

static void take_message(struct collector *c, yyjson_val *root)
{
	yyjson_arr_iter it =
		yyjson_arr_iter_with(yyjson_obj_get(root, "parts"));
	yyjson_val *part;

	c->doc->role = value_text(yyjson_obj_get(root, "role"), c->arena);
	while (c->status == WEFT_OK && (part = yyjson_arr_iter_next(&it)))
		take_part(c, part);
}

static uint32_t kind_of(uint32_t type)
{
	switch (type) {
	case EVENT_MESSAGE:
		return SEARCH_MESSAGE;
	case EVENT_MEMORY:
		return SEARCH_MEMORY;
	case EVENT_SESSION:
	case EVENT_PATCH:
		return SEARCH_TITLE;
	default:
		return SEARCH_NOTHING;
	}
}

int search_doc_read(const struct store_event *e, const struct blob_place *blobs,
		    struct arena *a, struct search_doc *ret,
		    struct weft_error *err)
{
	struct collector c = {
		.arena = a,
		.blobs = blobs,
		.doc = ret,
		.bytes = SEARCH_TEXT_MAX,
		.err = err,
	};
	CLEANUP(body_object_done) struct body_object o = { .doc = NULL };
	uint32_t kind = kind_of(e->type);
	int r;

	*ret = (struct search_doc){ .kind = SEARCH_NOTHING };
	if (kind == SEARCH_NOTHING || e->state >= STATE_DAMAGED)
		return WEFT_OK;
	r = body_object_parse(&o, e->body, a, err);
	if (r != WEFT_OK)
		return r == WEFT_CORRUPT ? WEFT_OK : r;
	if (kind == SEARCH_MESSAGE) {
		take_message(&c, o.root);
	} else if (kind == SEARCH_MEMORY) {
		take(&c, json_str(yyjson_obj_get(o.root, "title")));
		take(&c, json_str(yyjson_obj_get(o.root, "content")));
	} else {
		take(&c, json_str(yyjson_obj_get(o.root, "slug")));
	}
	if (ret->n)
		ret->kind = kind;
	return a->failed ? arena_error(a, err) : c.status;
}

int64_t search_time(const struct store_event *e)
{
	int64_t ms = e->at_ms ? e->at_ms : e->ts_ms;

	if (ms < TIME_MIN)
		return TIME_MIN;
	return ms > TIME_MAX ? TIME_MAX : ms;
}

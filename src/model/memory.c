/* memory.c - what is to be remembered beyond the window: short texts. */
#include "model/memory.h"

#include "base/error.h"
#include "base/text.h"
#include "model/object.h"

int memory_check(struct memory *m, const struct store_limits *limits,
		 struct weft_error *err)
{
	int r;

	m->content = text_trim(m->content);
	m->title = text_trim(m->title);
	if (!m->content.len)
		return fail(err, WEFT_INVALID, "content: may not be blank");
	if (m->content.len > limits->memory_bytes)
		return fail(err, WEFT_LIMIT,
			    "content: %zu bytes, the limit is %llu (limit "
			    "memory_bytes)",
			    m->content.len,
			    (unsigned long long)limits->memory_bytes);
	if (!text_is_utf8(m->content))
		return fail(err, WEFT_INVALID, "content: not UTF-8");
	r = text_check_line(m->title, (size_t)limits->slug_bytes, "title", err);
	if (r == WEFT_OK)
		r = text_check_line(m->source, (size_t)limits->name_bytes,
				    "source", err);
	return r;
}

void memory_body(struct buf *b, const struct memory *m)
{
	buf_add_lit(b, "\"content\":");
	buf_add_json(b, m->content);
	if (m->title.len) {
		buf_add_lit(b, ",\"title\":");
		buf_add_json(b, m->title);
	}
	if (m->source.len) {
		buf_add_lit(b, ",\"source\":");
		buf_add_json(b, m->source);
	}
}

void memory_body_forget(struct buf *b, uint64_t target)
{
	buf_add_lit(b, "\"target\":");
	buf_add_u64(b, target);
}

void memory_body_chain(struct buf *b, uint64_t prev, struct weft_str body)
{
	if (prev) {
		buf_add_lit(b, "\"prev\":");
		buf_add_u64(b, prev);
		buf_add_c(b, ',');
	}
	buf_add_str(b, body);
}

struct weft_str memory_body_unchained(struct weft_str body)
{
	const struct weft_str prev = STR("\"prev\":");
	size_t n = prev.len;

	if (!str_starts(body, prev))
		return body;
	while (n < body.len && body.ptr[n] >= '0' && body.ptr[n] <= '9')
		n++;
	return n < body.len && body.ptr[n] == ',' ? str_skip(body, n + 1) :
						    body;
}

int memory_read(struct weft_str body, struct arena *a, struct memory *ret,
		struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o;
	int r = body_object_parse(&o, body, a, err);

	*ret = (struct memory){ .prev = 0 };
	if (r != WEFT_OK)
		return r == WEFT_CORRUPT ? WEFT_OK : r;
	ret->content = value_text(yyjson_obj_get(o.root, "content"), a);
	ret->title = value_text(yyjson_obj_get(o.root, "title"), a);
	ret->source = value_text(yyjson_obj_get(o.root, "source"), a);
	(void)value_u64(yyjson_obj_get(o.root, "target"), NUMBER_MAX,
			&ret->target);
	(void)value_u64(yyjson_obj_get(o.root, "prev"), NUMBER_MAX, &ret->prev);
	return a->failed ? arena_error(a, err) : WEFT_OK;
}

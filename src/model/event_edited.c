/*
 * event_edited.c - read a line that somebody has edited.
 *
 * Such a line is not trusted: it is parsed as JSON.  If its common fields are
 * still where they belong it is used as it is; otherwise it is written again
 * in the usual form, and its other members keep their bytes.
 */
#include "base/clock.h"
#include "base/id.h"
#include "model/line.h"
#include "model/object.h"

/* An edited line, apart. */
struct edited {
	struct weft_str line;
	yyjson_val *root;
	size_t n_common; /* members that belong to the head */
	bool has_crc;    /* somewhere, right or wrong */
};

static bool is_common(struct weft_str name)
{
	static const struct weft_str names[] = {
		STR_INIT("seq"), STR_INIT("ts"), STR_INIT("type"),
		STR_INIT("id"),  STR_INIT("w"),  STR_INIT("more"),
		STR_INIT("op"),  STR_INIT("at"), STR_INIT("bg"),
		STR_INIT("n"),
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_eq(name, names[i]))
			return true;
	}
	return false;
}

static void count_common(struct edited *d)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(d->root);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&it))) {
		struct weft_str name = json_str(key);

		d->n_common += is_common(name);
		d->has_crc |= str_eq(name, STR("crc"));
	}
}

/* Use the line as it is; false if it is not in the usual form. */
static bool read_in_place(const struct edited *d, const struct weft_id *session,
			  struct arena *a, struct store_event *ret)
{
	size_t tail = d->has_crc ? EVENT_CRC_CHARS : 1;
	struct store_event e;
	struct line_head h;

	if (d->has_crc && !line_has_crc(d->line))
		return false;
	if (!line_head_parse(d->line, &h) ||
	    !line_fill(&h, session, d->line, tail, a, &e))
		return false;
	/* A field that somebody moved into the body belongs to the head. */
	if (d->n_common != (size_t)5 + (h.said > 0) + (h.more > 0) +
				   (h.op.len > 0) + (h.at_ms != 0) +
				   h.background)
		return false;
	if (d->line.ptr[d->line.len - 1] != '}' ||
	    (e.body.len && e.body.ptr[0] != '"'))
		return false;
	/* Escapes that nobody needs would hide a type that we know. */
	if (memchr(h.type.ptr, '\\', h.type.len) || !id_parse(h.id, &e.id))
		return false;
	*ret = e;
	return true;
}

static int64_t member_time(yyjson_val *root, const char *name)
{
	yyjson_val *v = yyjson_obj_get(root, name);
	int64_t ms;

	if (!yyjson_is_str(v) || !time_parse_rfc3339(json_str(v), &ms))
		return 0;
	return ms;
}

/* Set the common fields from wherever they are; what is unusable is left
 * out. */
static void read_common(yyjson_val *root, struct arena *a,
			struct store_event *e)
{
	uint64_t more = 0;

	(void)value_u64(yyjson_obj_get(root, "w"), ID_SEQ_MAX, &e->marker);
	(void)value_u64(yyjson_obj_get(root, "n"), ID_SEQ_MAX, &e->said);
	(void)value_u64(yyjson_obj_get(root, "more"), UINT32_MAX, &more);
	e->more = (uint32_t)more;
	e->ts_ms = member_time(root, "ts");
	e->at_ms = member_time(root, "at");
	e->background = yyjson_is_true(yyjson_obj_get(root, "bg"));
	e->op = value_text(yyjson_obj_get(root, "op"), a);
	if (!id_parse(json_str(yyjson_obj_get(root, "id")), &e->id))
		e->id = id_of_event(&e->session, e->ts_ms, e->seq);
}

/* Gather the members that make up the body. */
static bool gather_body(const struct edited *d, struct arena *a,
			struct weft_str *ret)
{
	/* A comma more than the line had, and one byte that is never used. */
	size_t room = d->line.len + 2;
	char *memory = arena_alloc(a, room);
	struct object_member m;
	struct object_walk w;
	struct buf body;

	if (!memory)
		return false;
	body = buf_over(memory, room);
	object_walk_init(&w, d->root, d->line);
	while (object_walk_next(&w, &m)) {
		if (!is_common(m.name) && !str_eq(m.name, STR("crc")))
			object_add_raw(&body, &m);
	}
	*ret = buf_str(&body);
	return !body.error;
}

/* A type's name with no more escapes than it needs. */
static bool escape_type(struct weft_str name, struct arena *a,
			struct weft_str *ret)
{
	size_t room = 6 * name.len + 3;
	char *memory = arena_alloc(a, room);
	struct buf b;

	if (!memory)
		return false;
	b = buf_over(memory, room);
	buf_add_json(&b, name);
	*ret = (struct weft_str){ b.ptr + 1, b.len - 2 };
	return !b.error;
}

static bool write_again(const struct edited *d, const struct weft_id *session,
			uint64_t seq, struct arena *a, struct store_event *ret)
{
	struct store_event e = { .session = *session, .seq = seq, .last = seq };
	yyjson_val *given = yyjson_obj_get(d->root, "type");
	struct weft_str type = yyjson_is_str(given) ? json_str(given) : STR("");

	e.type = event_type_parse(type);
	read_common(d->root, a, &e);
	if (!escape_type(type, a, &type) || !gather_body(d, a, &e.body) ||
	    line_make(&e, type, a, NULL) != WEFT_OK)
		return false;
	*ret = e;
	return true;
}

void line_read_edited(const struct weft_id *session, struct weft_str line,
		      struct arena *a, struct store_event *ret)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct edited d = { .line = line };
	uint64_t seq, to;
	int r;

	*ret = (struct store_event){
		.session = *session,
		.state = STATE_DAMAGED,
		.bytes = line,
	};
	/* White space to JSON, but two lines to everybody else. */
	if (line.len == 0 || memchr(line.ptr, '\n', line.len))
		return;
	r = json_parse(line, NULL, &doc, NULL);
	if (r == WEFT_NO_MEMORY)
		a->failed = a->no_memory = true;
	if (r != WEFT_OK)
		return;
	d.root = yyjson_doc_get_root(doc);
	if (!value_u64(yyjson_obj_get(d.root, "seq"), ID_SEQ_MAX, &seq) ||
	    seq == 0)
		return;
	count_common(&d);
	if (!read_in_place(&d, session, a, ret) &&
	    !write_again(&d, session, seq, a, ret))
		return;
	ret->state = d.has_crc ? STATE_ALTERED : STATE_UNSEALED;
	if (ret->type == EVENT_GONE &&
	    value_u64(yyjson_obj_get(d.root, "to"), ID_SEQ_MAX, &to) &&
	    to > seq)
		ret->last = to;
}

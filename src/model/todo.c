/* todo.c - what is left to do in a session: one list, replaced as a whole. */
#include "model/todo.h"

#include "base/error.h"
#include "base/text.h"
#include "model/object.h"

#define STATUS_SHOWN 32 /* characters of a wrong status in a message */
#define FIELD_MAX    64

/* An item being checked. */
struct item {
	size_t index;
	struct weft_str content, status, priority;
};

static bool is_status(struct weft_str s)
{
	return str_eq(s, STR("pending")) || str_eq(s, STR("in_progress")) ||
	       str_eq(s, STR("completed")) || str_eq(s, STR("cancelled"));
}

static int take_member(struct item *t, struct weft_str name, yyjson_val *v,
		       struct weft_error *err)
{
	struct weft_str *to;

	if (str_eq(name, STR("content")))
		to = &t->content;
	else if (str_eq(name, STR("status")))
		to = &t->status;
	else if (str_eq(name, STR("priority")))
		to = &t->priority;
	else
		return fail(err, WEFT_INVALID,
			    "todos[%zu]: unknown member \"%.*s\"; there are "
			    "content, status and priority",
			    t->index, STR_ARG(text_cut(name, STATUS_SHOWN)));
	if (yyjson_is_null(v) && to == &t->priority)
		return WEFT_OK;
	if (!yyjson_is_str(v))
		return fail(err, WEFT_INVALID,
			    "todos[%zu].%.*s: expected a string, found %s",
			    t->index, STR_ARG(name), json_kind(v));
	*to = json_str(v);
	return WEFT_OK;
}

static int check_item(struct item *t, const struct store_limits *limits,
		      struct weft_error *err)
{
	char field[FIELD_MAX];

	t->content = text_trim(t->content);
	if (!t->content.len)
		return fail(err, WEFT_INVALID,
			    "todos[%zu].content: may not be blank", t->index);
	if (!is_status(t->status))
		return fail(err, WEFT_INVALID,
			    "todos[%zu].status: expected pending, "
			    "in_progress, completed or cancelled, found "
			    "\"%.*s\"",
			    t->index,
			    STR_ARG(text_cut(t->status, STATUS_SHOWN)));
	(void)snprintf(field, sizeof(field), "todos[%zu].priority", t->index);
	return text_check_line(t->priority, (size_t)limits->name_bytes, field,
			       err);
}

static void add_item(struct buf *b, const struct item *t)
{
	buf_add_str(b, t->index ? STR(",{\"content\":") : STR("{\"content\":"));
	buf_add_json(b, t->content);
	buf_add_lit(b, ",\"status\":");
	buf_add_json(b, t->status);
	if (t->priority.len) {
		buf_add_lit(b, ",\"priority\":");
		buf_add_json(b, t->priority);
	}
	buf_add_c(b, '}');
}

static int take_item(yyjson_val *object, const struct store_limits *limits,
		     struct item *t, struct weft_error *err)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(object);
	yyjson_val *key;

	if (!yyjson_is_obj(object))
		return fail(err, WEFT_INVALID,
			    "todos[%zu]: expected an object, found %s",
			    t->index, json_kind(object));
	while ((key = yyjson_obj_iter_next(&it))) {
		int r = take_member(t, json_str(key),
				    yyjson_obj_iter_get_val(key), err);

		if (r != WEFT_OK)
			return r;
	}
	return check_item(t, limits, err);
}

int todo_body(yyjson_val *list, const struct store_limits *limits,
	      struct buf *b, struct weft_error *err)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(list);
	size_t start = b->len;
	yyjson_val *object;

	if (!yyjson_is_arr(list))
		return fail(err, WEFT_INVALID,
			    "todos: expected an array, found %s",
			    json_kind(list));
	if (yyjson_arr_size(list) > limits->todos)
		return fail(err, WEFT_LIMIT,
			    "%zu todos, the limit is %llu (limit todos)",
			    yyjson_arr_size(list),
			    (unsigned long long)limits->todos);
	buf_add_lit(b, "\"todos\":[");
	for (size_t i = 0; (object = yyjson_arr_iter_next(&it)); i++) {
		struct item t = { .index = i };
		int r = take_item(object, limits, &t, err);

		if (r != WEFT_OK)
			return r;
		add_item(b, &t);
	}
	buf_add_c(b, ']');
	if (b->len - start > limits->message_bytes)
		return fail(err, WEFT_LIMIT,
			    "todos of %zu bytes, the limit is %llu (limit "
			    "message_bytes)",
			    b->len - start,
			    (unsigned long long)limits->message_bytes);
	return buf_error(b, err);
}

static void summarise(yyjson_val *list, struct todo_summary *s)
{
	yyjson_arr_iter it = yyjson_arr_iter_with(list);
	yyjson_val *item;

	while ((item = yyjson_arr_iter_next(&it))) {
		yyjson_val *status = yyjson_obj_get(item, "status");

		s->total++;
		if (yyjson_equals_str(status, "completed"))
			s->completed++;
		else if (yyjson_equals_str(status, "cancelled"))
			s->cancelled++;
		else
			s->incomplete++;
		if (yyjson_equals_str(status, "in_progress"))
			s->in_progress++;
	}
}

int todo_read(struct weft_str body, struct arena *a, struct weft_str *ret_list,
	      struct todo_summary *ret, struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o;
	struct object_member m;
	struct object_walk w;
	int r = body_object_parse(&o, body, a, err);

	*ret_list = STR("[]");
	*ret = (struct todo_summary){ 0 };
	if (r != WEFT_OK)
		return r == WEFT_CORRUPT ? WEFT_OK : r;
	object_walk_init(&w, o.root, o.text);
	while (object_walk_next(&w, &m)) {
		if (!str_eq(m.name, STR("todos")) || !yyjson_is_arr(m.value))
			continue;
		*ret_list = m.raw;
		summarise(m.value, ret);
		break;
	}
	return WEFT_OK;
}

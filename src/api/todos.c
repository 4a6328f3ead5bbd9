/* todos.c - methods about what is left to do in a session. */
#include "api/api.h"

#include "model/todo.h"

static int answer_todos(struct call *c, struct weft_str body)
{
	struct todo_summary s;
	struct weft_str list;
	int r = todo_read(body, &c->arena, &list, &s, c->err);

	if (r != WEFT_OK)
		return r;
	buf_add_lit(&c->out, "{\"todos\":");
	buf_add_str(&c->out, list);
	buf_printf(&c->out,
		   ",\"summary\":{\"total\":%llu,\"incomplete\":%llu,"
		   "\"in_progress\":%llu,\"completed\":%llu,"
		   "\"cancelled\":%llu}}",
		   (unsigned long long)s.total,
		   (unsigned long long)s.incomplete,
		   (unsigned long long)s.in_progress,
		   (unsigned long long)s.completed,
		   (unsigned long long)s.cancelled);
	return WEFT_OK;
}

static int method_todos(struct call *c)
{
	struct event_range range = { .max_events = 1 };
	struct event_page page = { 0 };
	struct session_rec rec;
	int r = call_session(c, &rec);

	if (r != WEFT_OK)
		return r;
	range.session = rec.id;
	range.first = rec.todos_seq;
	range.last = rec.todos_seq;
	if (rec.todos_seq)
		r = c->store->ops->read_events(c->store, &range, &c->arena,
					       &page, c->err);
	if (r != WEFT_OK)
		return r;
	/* None were set, or their line cannot be read any more. */
	if (page.n == 0 || page.v[0].type != EVENT_TODOS)
		return answer_todos(c, TODO_NOTHING);
	return answer_todos(c, page.v[0].body);
}

static int method_todos_set(struct call *c)
{
	CLEANUP(buf_done) struct buf body = { 0 };
	struct request *q = NULL;
	struct weft_id id;
	int r = call_session_id(c, &id);

	if (r != WEFT_OK)
		return r;
	buf_init(&body, SIZE_MAX);
	r = todo_body(call_val(c, "todos"), c->limits, &body, c->err);
	if (r == WEFT_OK)
		r = call_plain(c, &id, EVENT_TODOS, buf_str(&body), &q);
	if (r != WEFT_OK)
		return r;
	r = answer_todos(c, q->body);
	request_free(q);
	return r;
}

/* ---- the rows of the table ---- */

static const struct field fields_session[] = {
	FIELD_SESSION,
};

static const struct field fields_todos_set[] = {
	FIELD_SESSION,
	{ .name = "todos",
	  .about = "the whole list: objects with content, status (pending, "
		   "in_progress, completed, cancelled) and perhaps priority",
	  .type = TYPE_ARRAY,
	  .required = 1 },
	FIELD_OP,
	FIELD_TOKEN,
};

#define ANSWER_TODOS                                               \
	"`{\"todos\":[...],\"summary\":{\"total\",\"incomplete\"," \
	"\"in_progress\",\"completed\",\"cancelled\"}}`"

static const struct method rows[] = {
	{ .name = "todos",
	  .about = "Say what is left to do in a session.",
	  .answer = ANSWER_TODOS,
	  .right = RIGHT_READ,
	  FIELDS(fields_session),
	  .run = method_todos },
	{ .name = "todos_set",
	  .about = "Replace the list of what is to do.",
	  .answer = ANSWER_TODOS,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_todos_set),
	  .run = method_todos_set },
};

const struct method_group methods_todos = METHOD_GROUP(rows);

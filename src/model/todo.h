/* todo.h - what is left to do in a session: one list, replaced as a whole. */
#ifndef MODEL_TODO_H
#define MODEL_TODO_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "weft/store.h"

struct todo_summary {
	uint64_t total;
	uint64_t incomplete; /* pending and in progress */
	uint64_t in_progress, completed, cancelled;
};

/*
 * EVENT_TODOS: check a list as a caller gave it and make the body of it.  Each
 * item has content (not blank; trimmed), a status (pending, in_progress,
 * completed, cancelled) and perhaps a priority, and nothing else.  Refused
 * with WEFT_INVALID or WEFT_LIMIT, naming the item: "todos[2].status".
 */
int todo_body(yyjson_val *list, const struct store_limits *limits,
	      struct buf *b, struct weft_error *err);

/*
 * The list in a stored body, as JSON, and its summary.  What a person has
 * edited into something else than a list is an empty one; a status that is
 * not known counts as incomplete.  Fails only for want of memory.
 */
int todo_read(struct weft_str body, struct arena *a, struct weft_str *ret_list,
	      struct todo_summary *ret, struct weft_error *err);

/* The body of an empty list. */
#define TODO_NOTHING STR("\"todos\":[]")

#endif

/*
 * api.h - behind the door: the table of methods, and one call of one of them.
 *
 * DESIGN
 *
 * A method is a row of a table: its name, its fields with types and limits,
 * the right that it needs, what it answers, and a function.  The door checks a
 * request against the row before the function sees it, so that a function only
 * has to know what its fields mean.  The same rows describe the door to
 * programs (method "methods"), to people (docs/API.md) and later to HTTP.
 *
 * A function writes its answer into call->out, as one JSON value, and returns
 * WEFT_OK or a code with its message.  It may use call->arena for all that
 * need not outlive the call.
 */
#ifndef API_API_H
#define API_API_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/engine.h"
#include "weft/store.h"
#include "weft/weft.h"

/* Every number that goes through the door: what a double can hold. */
#define API_INTEGER_MAX ((UINT64_C(1) << 53) - 1)

enum field_type {
	TYPE_LINE,    /* string without control characters */
	TYPE_TEXT,    /* any string */
	TYPE_CHOICE,  /* one of the words in `values` */
	TYPE_INTEGER, /* 0 to API_INTEGER_MAX */
	TYPE_BOOLEAN,
	TYPE_TIME,   /* RFC 3339 */
	TYPE_OBJECT, /* the function looks into it */
	TYPE_ARRAY,
	TYPE_LINES, /* array of TYPE_LINE */
	TYPE_MODEL, /* {"provider":"...","name":"..."} */
	TYPE_REF,   /* a message: its id, or its number */
	TYPE_REFS   /* array of TYPE_REF */
};

struct field {
	const char *name;
	const char *about; /* for people: what it means, its default */
	uint32_t type;     /* enum field_type */
	uint32_t required;
	const char *values; /* TYPE_CHOICE: "one|two" */
	const char *limit;  /* name of a limit on its bytes, or NULL */
	size_t limit_at;    /* where that is in struct store_limits */
};

/* Fields whose bytes are limited by an option of the store. */
#define FIELD_LIMIT(option) \
	.limit = #option, .limit_at = offsetof(struct store_limits, option)

enum right { RIGHT_READ, RIGHT_WRITE, RIGHT_ADMIN };

struct call;

struct method {
	const char *name;
	const char *about;
	const char *answer; /* for people: what comes back */
	uint32_t right;     /* enum right */
	const struct field *fields;
	size_t n_fields;
	int (*run)(struct call *c);
};

extern const struct method methods[];
extern const size_t n_methods;

const struct method *method_find(struct weft_str name);

/* One call.  Belongs to the thread that makes it. */
struct call {
	struct weft_store *handle;
	struct engine *engine;
	struct store *store;
	const struct store_limits *limits;
	const struct method *method;
	struct weft_str request; /* our own copy: nobody else changes it */
	yyjson_val *root;        /* the request, parsed and checked */
	struct arena arena;
	struct buf out;
	bool written; /* something was, or may have been: settle() in door.c */
	struct weft_error *err; /* never NULL */
};

/* fields.c: check a request against its method's row. */
int fields_check(struct call *c);

/* Fields of a checked request; null counts as not there. */
bool call_has(const struct call *c, const char *name);
struct weft_str call_str(const struct call *c, const char *name); /* or empty */
uint64_t call_u64(const struct call *c, const char *name, uint64_t otherwise);
bool call_bool(const struct call *c, const char *name);
int64_t call_time(const struct call *c, const char *name); /* or 0 */
yyjson_val *call_val(const struct call *c, const char *name);
/* The field's own bytes, or empty. */
struct weft_str call_raw(const struct call *c, const char *name);
/* The same on one line, in the arena. */
int call_json(struct call *c, const char *name, struct weft_str *ret);
int call_lines(struct call *c, const char *name, struct weft_str **ret,
	       size_t *ret_n);
void call_model(const struct call *c, const char *name,
		struct weft_str *ret_provider, struct weft_str *ret_name);

/* The session that the field "session" names: its id, or its record too. */
int call_session_id(struct call *c, struct weft_id *ret);
int call_session(struct call *c, struct session_rec *ret);

/*
 * The number, in `session`'s numbering, of the message that `ref` (TYPE_REF)
 * is, which must be there for the session to see.
 */
int call_ref(struct call *c, const struct session_rec *session, yyjson_val *ref,
	     uint64_t *ret);

/* The numbers of all messages in the field "messages", in the arena `a`. */
int call_refs(struct call *c, const struct session_rec *session,
	      struct arena *a, const uint64_t **ret, size_t *ret_n);

/*
 * Submit a request and wait for it.  On success the request is the caller's
 * to free; on failure it is gone.
 */
int call_run(struct call *c, struct request *q);

/*
 * Write an event of this type and body to a session, with the "op" and the
 * "token" of the call.  *ret is the caller's to free.
 */
int call_plain(struct call *c, const struct weft_id *session, uint32_t type,
	       struct weft_str body, struct request **ret);

/* encode.c: the shapes that all methods share. */
int encode_session(struct call *c, const struct session_rec *rec);
void encode_message(struct buf *b, const struct view_event *v);
void encode_event(struct buf *b, const struct view_event *v);
/* All null if there is none. */
void encode_lease(struct buf *b, const struct lease *l);
void encode_totals(struct buf *b, const struct totals *t);
void encode_id(struct buf *b, const struct weft_id *id); /* zero: null */
void encode_time(struct buf *b, int64_t ms);             /* 0: null */
void encode_text_or_null(struct buf *b, struct weft_str s);
/* Money in dollars, every digit of it: 1.5, 0.000000001. */
void encode_nano(struct buf *b, uint64_t nano);
const char *state_name(uint32_t state);

/* sessions.c */
int method_new(struct call *c);
int method_show(struct call *c);
int method_rename(struct call *c);
int method_set(struct call *c);
int method_pin(struct call *c);
int method_unpin(struct call *c);
int method_alias(struct call *c);
int method_delete(struct call *c);
int method_restore(struct call *c);

/* messages.c */
int method_append(struct call *c);
int method_history(struct call *c);
int method_message(struct call *c);
int method_redact(struct call *c);
int method_events(struct call *c);

/* drop.c */
int method_erase(struct call *c);
int method_reclaim(struct call *c);
int method_purge(struct call *c);

/* forks.c */
int method_fork(struct call *c);
int method_tree(struct call *c);

/* markers.c */
int method_compact(struct call *c);
int method_truncate(struct call *c);
int method_clear(struct call *c);
int method_set_summary(struct call *c);
int method_set_history(struct call *c);
int method_undo(struct call *c);
int method_redo(struct call *c);
int method_markers(struct call *c);

/* chain.c */
int list_chain(struct call *c);

/* list.c */
int method_list(struct call *c);

/* search.c */
int method_search(struct call *c);

/* usage.c */
int method_usage(struct call *c);
int method_usage_add(struct call *c);

/* memories.c */
int method_memory_add(struct call *c);
int method_memories(struct call *c);
int method_memory_forget(struct call *c);

/* todos.c */
int method_todos(struct call *c);
int method_todos_set(struct call *c);
int method_turn(struct call *c);
int method_user_agent(struct call *c);
int method_user_agent_set(struct call *c);
int method_cleanup(struct call *c);

/* lease.c */
int method_lease(struct call *c);

/* care.c */
int method_verify(struct call *c);
int method_repair(struct call *c);
int method_reindex(struct call *c);
int method_collect(struct call *c);
int method_backup(struct call *c);
int method_move(struct call *c);
int method_stats(struct call *c);
int method_tasks(struct call *c);

/* route.c */
int method_route(struct call *c);
int method_reset(struct call *c);

/* limits.c */
int method_limits(struct call *c);

/* describe.c */
int method_methods(struct call *c);

#endif

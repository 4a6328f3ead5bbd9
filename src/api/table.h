/*
 * table.h - the table of methods.
 *
 * DESIGN
 *
 * A method is a row: its name, its fields with types and limits, the right
 * that it needs, what it answers, and a function.  The rows stand at the end
 * of the file that has their functions, as a group; methods.c lists the
 * groups.  The texts are for people: docs/API.md is made from them.
 */
#ifndef API_TABLE_H
#define API_TABLE_H

#include "base/base.h"
#include "weft/store.h"

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

/* A file's methods, in the order in which they are documented. */
struct method_group {
	const struct method *rows;
	size_t n;
};

#define METHOD_GROUP(list)                            \
	{                                             \
		.rows = (list), .n = ARRAY_LEN(list), \
	}

/* methods.c: all groups.  The i-th method there is, or NULL behind the last. */
const struct method *method_at(size_t i);
const struct method *method_find(struct weft_str name);

/* ---- what several rows share ---- */

#define SESSION_ABOUT \
	"the session: id, key, alias, slug, or the beginning of an id"

#define FIELD_SESSION                                                         \
	{                                                                     \
		.name = "session", .about = SESSION_ABOUT, .type = TYPE_LINE, \
		.required = 1,                                                \
	}

#define FIELD_OP                                                            \
	{                                                                   \
		.name = "op",                                               \
		.about = "operation id: the same one again writes nothing", \
		.type = TYPE_LINE, FIELD_LIMIT(op_bytes),                   \
	}

#define FIELD_TOKEN                                               \
	{                                                         \
		.name = "token", .about = "the token of a lease", \
		.type = TYPE_INTEGER,                             \
	}

#define FIELD_EXPECT                                             \
	{                                                        \
		.name = "expect",                                \
		.about = "the content_seq that must still hold", \
		.type = TYPE_INTEGER,                            \
	}

#define FIELDS(list) .fields = (list), .n_fields = ARRAY_LEN(list)

#define ANSWER_SESSION "the session"

/* ---- the groups ---- */

extern const struct method_group methods_sessions;
extern const struct method_group methods_list;
extern const struct method_group methods_route;
extern const struct method_group methods_messages;
extern const struct method_group methods_drop;
extern const struct method_group methods_forks;
extern const struct method_group methods_markers;
extern const struct method_group methods_lease;
extern const struct method_group methods_memories;
extern const struct method_group methods_search;
extern const struct method_group methods_todos;
extern const struct method_group methods_turns;
extern const struct method_group methods_usage;
extern const struct method_group methods_users;
extern const struct method_group methods_cleanup;
extern const struct method_group methods_care;
extern const struct method_group methods_limits;
extern const struct method_group methods_describe;

#endif

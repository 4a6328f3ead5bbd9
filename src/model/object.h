/*
 * object.h - read a JSON object by its values and by its bytes at once.
 *
 * What callers gave is kept byte for byte, while the rules look at values:
 * both are needed of each member.  For the files of model/ only.
 */
#ifndef MODEL_OBJECT_H
#define MODEL_OBJECT_H

#include "base/json.h"

#define NUMBER_MAX ((UINT64_C(1) << 53) - 1) /* what every JSON reader holds */

struct object_walk {
	yyjson_obj_iter values;
	struct weft_str text;
	size_t pos;
};

struct object_member {
	struct weft_str name;     /* unescaped; belongs to the document */
	struct weft_str raw_name; /* as written, between the quotes */
	struct weft_str raw;      /* the value as written */
	yyjson_val *value;
};

/* `text` is what `object` was parsed from. */
void object_walk_init(struct object_walk *w, yyjson_val *object,
		      struct weft_str text);
bool object_walk_next(struct object_walk *w, struct object_member *m);

/* Append "name":value as it was written, and a comma in front unless it is
 * the first thing in `b`. */
void object_add_raw(struct buf *b, const struct object_member *m);

/* A buffer over memory that is large enough; it never grows. */
static inline struct buf buf_over(char *memory, size_t room)
{
	return (struct buf){ .ptr = memory, .room = room, .max = room - 1 };
}

static inline bool value_is(yyjson_val *v, const char *literal, size_t len)
{
	return yyjson_equals_strn(v, literal, len);
}

/* A whole number of at most `max`; false leaves *ret alone. */
bool value_u64(yyjson_val *v, uint64_t max, uint64_t *ret);

/* A string, copied; anything else is empty.  Look at the arena afterwards. */
struct weft_str value_text(yyjson_val *v, struct arena *a);

/* The body of an event as an object. */
struct body_object {
	struct weft_str text; /* the body in braces, in the arena */
	yyjson_doc *doc;
	yyjson_val *root;
	char pool[KIB(8)]; /* of the document, if it is small */
};

/*
 * WEFT_CORRUPT if it is no JSON.  Free with body_object_done; `o` may not be
 * moved meanwhile.
 */
int body_object_parse(struct body_object *o, struct weft_str body,
		      struct arena *a, struct weft_error *err);
void body_object_done(struct body_object *o); /* also for CLEANUP */

#endif

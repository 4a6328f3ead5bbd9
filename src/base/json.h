/*
 * json.h - a thin layer on yyjson.
 *
 * Reading is strict: one value, UTF-8, no lone surrogates, no duplicate
 * members at any depth, at most JSON_DEPTH_MAX deep.  Numbers that no double
 * or 64-bit integer holds are kept as text.  Errors name the place.
 *
 * The documents own their text: a copy is made first and then checked, since
 * another thread may change the caller's bytes.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"

#define JSON_DEPTH_MAX 128

struct json_limits {
	size_t bytes_max;   /* 0: none */
	unsigned depth_max; /* 0: JSON_DEPTH_MAX, which is also the most */
};

/* yyjson's allocator on mem.h; hand it to every yyjson call that takes one. */
extern const yyjson_alc json_alc;

/*
 * Parse `text`.  On failure: WEFT_INVALID ("not JSON: unexpected character at
 * line 2, column 7", "member \"role\" twice at column 20" if the text is a
 * single line) or WEFT_LIMIT.  Columns count bytes, from 1.  `limits` may be NULL: none but
 * JSON_DEPTH_MAX.  Free with yyjson_doc_free.
 */
int json_parse(struct weft_str text, const struct json_limits *limits,
	       yyjson_doc **ret, struct weft_error *err);
void json_doc_cleanup(yyjson_doc **doc); /* for CLEANUP */

/*
 * Parse what Weft itself wrote, in a pool of the caller's when that is large
 * enough: no check of depth or duplicates.  NULL if it is no JSON.
 */
yyjson_doc *json_parse_trusted(struct weft_str text, void *pool,
			       size_t pool_bytes);

/* What a string says; of anything else nothing.  (yyjson_get_len alone is also
 * how many elements a container has.) */
static inline struct weft_str json_str(yyjson_val *v)
{
	if (!yyjson_is_str(v))
		return (struct weft_str){ NULL, 0 };
	return (struct weft_str){ yyjson_get_str(v), yyjson_get_len(v) };
}

/* "object", "string", "null", ... for error messages. */
const char *json_kind(yyjson_val *v);

/*
 * Step through the members of the JSON object `text`, which must be valid
 * JSON.  `raw` are the value's own bytes, exactly as written; `key` is
 * between the quotes, not unescaped.  Start with pos = 0; false at the end,
 * or where it turns out to be no JSON.
 */
bool json_next_member(struct weft_str text, size_t *pos, struct weft_str *key,
		      struct weft_str *raw);
/* The same for the elements of an array. */
bool json_next_element(struct weft_str text, size_t *pos, struct weft_str *raw);

/* The bytes of the value of the member `name`, which must be written without
 * escapes; nothing if it is not there. */
struct weft_str json_member(struct weft_str text, const char *name);

/*
 * The bytes of the value of a member, by its key, in the `text` that `doc` was
 * parsed from.  Quick: a string is not read again.
 */
struct weft_str json_raw_value(const yyjson_doc *doc, struct weft_str text,
			       yyjson_val *key);

/* Append valid JSON without the white space between its tokens. */
void buf_add_minified(struct buf *b, struct weft_str json);
/* Append valid JSON as it is, minified only if it spans lines. */
void buf_add_one_line(struct buf *b, struct weft_str json);
/* Append a yyjson value as compact JSON. */
void buf_add_val(struct buf *b, yyjson_val *v);

/* Decode the inside of a JSON string (between its quotes) into the arena;
 * without escapes it is `raw` itself. */
int json_unescape(struct weft_str raw, struct arena *a, struct weft_str *ret,
		  struct weft_error *err);

#endif

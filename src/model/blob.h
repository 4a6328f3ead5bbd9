/*
 * blob.h - what is large in a message is kept apart, once, by its hash.
 *
 * DESIGN
 *
 * A message is packed before it is written and unpacked when it is read; in
 * between, in events, in the log and in every store, stands the packed form.
 *
 *   {"type":"image","image_mime_type":"image/png",
 *    "blob":{"sha256":"9f86...","bytes":1234,"enc":"b64"}}
 *
 * One field of a part goes: every image, and any of those below that is over
 * the limit blob_bytes.  In its place stands "blob", with the hash and size of
 * the bytes that were put into the store, and how the field is made of them:
 *
 *   text   image_base64 and texts: the string itself
 *   b64    image_base64, decoded; only if encoding gives the same text again
 *   json   input, data: the bytes of the value
 *
 *   text.text  thinking.text  tool_use.input  tool_use.input_text
 *   tool_result.content (a string)  image.image_base64  opaque.data
 *
 * What was a string comes back equal, though maybe with other escapes; JSON
 * comes back byte for byte.  "head" has the first characters of a text, for
 * previews and for people.  A body with references ends with "blobs":N, how
 * many there are, so that one look at its end tells whether there are any; a
 * caller's member of that name is in "x".
 *
 * A blob that cannot be had leaves a text in its place that says so, and
 * "lost" in the part; see blob_unpack.
 */
#ifndef MODEL_BLOB_H
#define MODEL_BLOB_H

#include "base/arena.h"
#include "base/json.h"
#include "weft/store.h"

/* Where blobs are kept: the slots of a store. */
struct blob_place {
	int (*put)(void *ctx, struct weft_str bytes, struct blob_ref *ret,
		   struct weft_error *err);
	int (*get)(void *ctx, const struct blob_ref *ref, struct arena *a,
		   struct weft_str *ret, struct weft_error *err);
	void *ctx;
};

struct blob_refs {
	struct blob_ref *v;
	size_t n;
};

/*
 * Pack the body of a checked message; what is over `max` bytes goes.  Without
 * anything to pack *ret is `body` itself.  Blobs are put one after the other;
 * if one cannot be, that error is returned.
 */
int blob_pack(struct weft_str body, uint64_t max,
	      const struct blob_place *place, struct arena *a,
	      struct weft_str *ret, struct blob_refs *ret_refs,
	      struct weft_error *err);

/* Whether there may be references in the body of a message that was stored;
 * quick, unless somebody has edited the line. */
bool blob_is_packed(struct weft_str body, uint32_t state);

/*
 * Make a body whole again; `max` is how long it may get.  A blob that is
 * missing or damaged (the store says NOT_FOUND or CORRUPT), or that would make
 * the body too long, is replaced: in text, results and arguments by a text in
 * brackets that says so; images, thinking and opaque parts, which a model's
 * provider would refuse then, become a text part.  Either has
 * "lost":{"sha256","bytes","why"}.  Any other error is returned.
 */
int blob_unpack(struct weft_str body, size_t max,
		const struct blob_place *place, struct arena *a,
		struct weft_str *ret, struct weft_error *err);

/* The references in a body, whether packed or not.  A body that is no JSON has
 * none.  Fails for want of memory only. */
int blob_list(struct weft_str body, struct arena *a, struct blob_refs *ret,
	      struct weft_error *err);
/* The same of the value of "parts", which may be anything. */
int blob_list_parts(yyjson_val *parts, struct arena *a, struct blob_refs *ret,
		    struct weft_error *err);

#endif

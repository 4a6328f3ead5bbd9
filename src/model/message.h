/*
 * message.h - check what a caller gave as a message, and make a body of it.
 */
#ifndef MODEL_MESSAGE_H
#define MODEL_MESSAGE_H

#include "base/buf.h"
#include "base/json.h"
#include "model/blob.h"
#include "weft/store.h"

enum message_role { ROLE_USER = 1, ROLE_ASSISTANT, ROLE_TOOL, ROLE_SYSTEM };

/* What derive() needs to know of a message. */
struct message_facts {
	uint32_t role;        /* enum message_role */
	uint32_t starts_turn; /* a user message that is more than results */
	uint32_t has_usage;
	struct totals usage;
	struct weft_str text;   /* its first non-empty text part, cut to 256 */
	struct blob_refs blobs; /* that its stored form refers to */
};

/* A message as a caller gave it, checked. */
struct message {
	struct message_facts facts;
	struct weft_str body; /* "role":...,"parts":... and so on */
	struct weft_str op;
	struct weft_str session; /* "session" member, or empty */
	int64_t at_ms;
	uint32_t background;
	uint32_t has_expect;
	uint64_t expect;
	/* Something of it may have to be kept apart: message_pack. */
	uint32_t is_large;
};

const char *role_name(uint32_t role);
bool role_parse(struct weft_str s, uint32_t *ret);

/*
 * Check one message object as JSON text, as contract.md has it, and put the
 * stored form into *ret, with everything in the arena.
 *
 * The caller's bytes are kept: parts, from, model, usage, bound go into the
 * body as they were written (minified only if they span lines); `content` is
 * turned into parts; unknown members go into "x".  Refused with WEFT_INVALID,
 * WEFT_INVALID_PART, WEFT_UNKNOWN_PART_KIND or WEFT_LIMIT, naming the field
 * ("parts[2].tool_use_id: expected a string"): anything that is not as the
 * contract says, duplicate members, reserved members (seq, ts, type, id, w,
 * more, crc, enc, x, src, gen, needs, weft, redacted, created_at, ...; "blob"
 * in a part).  null stands for a member that is not there.
 */
int message_check(struct weft_str json, const struct store_limits *limits,
		  struct arena *a, struct message *ret, struct weft_error *err);

/*
 * Put what is large into blobs (blob.h), and turn the body and its facts into
 * what is stored.  Does nothing the second time.
 */
int message_pack(struct message *m, const struct store_limits *limits,
		 const struct blob_place *place, struct arena *a,
		 struct weft_error *err);

/*
 * The same facts from the body of a stored message; for derive().  What an
 * edited body does not say is left out: a role of 0 is none.  WEFT_CORRUPT if
 * it is not JSON.
 */
int message_facts_read(struct weft_str body, struct arena *a,
		       struct message_facts *ret, struct weft_error *err);

/* The id of who sent it (`from`), or nothing; from the body of a stored
 * message. */
int message_sender(struct weft_str body, struct arena *a, struct weft_str *ret,
		   struct weft_error *err);

#endif

/*
 * scope.h - which conversation a message belongs to, and what it is called.
 *
 * An inbound message comes with a context: channel, account, chat, sender.
 * The chosen dimensions of it, normalised, are the scope of the conversation;
 * the scope in one line is its signature, and the hash of that its key.
 *
 * Everything here is a pure function.  Results live in the arena; when that
 * fails they are empty, and the caller looks at it once, at the end.
 */
#ifndef ROUTE_SCOPE_H
#define ROUTE_SCOPE_H

#include "base/arena.h"
#include "base/buf.h"

#define SCOPE_VERSION    1
#define SCOPE_KEY_PREFIX "sk_v1_"
#define SCOPE_KEY_CHARS  70 /* the prefix and a SHA-256 */

/* What a channel knows of a message; empty where it knows nothing. */
struct route_context {
	struct weft_str channel, account;
	struct weft_str chat_type, chat_id, topic_id;
	struct weft_str space_type, space_id;
	struct weft_str sender_id;
	bool mentioned;
};

/* ---- dimensions ---- */

enum dimension { DIM_SPACE, DIM_CHAT, DIM_TOPIC, DIM_SENDER, DIMENSIONS };

/* Some dimensions in an order, each at most once. */
struct dimensions {
	uint8_t v[DIMENSIONS]; /* enum dimension */
	uint8_t n;
};

extern const struct weft_str dimension_names[DIMENSIONS];

/* Add the dimension of this name; false if there is none. */
bool dimensions_add(struct dimensions *d, struct weft_str name,
		    struct arena *a);
bool dimensions_has(const struct dimensions *d, enum dimension dim);

/* ---- identity links: several ids of one person (identity.c) ---- */

struct identity_link {
	struct weft_str name;       /* of the person */
	const struct weft_str *ids; /* "telegram:123", or "123" anywhere */
	size_t n_ids;
};

/* An id, or the name of a link, where a hash finds it. */
struct identity_slot {
	const struct weft_str *text; /* NULL: nothing */
	uint32_t link;
	uint32_t is_name;
};

/* In the order of the configuration: the first that fits counts. */
struct identity_links {
	const struct identity_link *v;
	size_t n;
	const struct identity_slot *slots; /* of identity_links_clean */
	size_t mask;
};

/* The same, normalised as all functions below want it; blank names and ids
 * are left out. */
struct identity_links identity_links_clean(const struct identity_links *from,
					   struct arena *a);

/* The first link that has this id, or NULL. */
const struct identity_link *identity_find(const struct identity_links *links,
					  struct weft_str id);
/* The link of this name, or NULL. */
const struct identity_link *identity_named(const struct identity_links *links,
					   struct weft_str name);

struct identity {
	struct weft_str name;             /* empty: nobody is known to speak */
	const struct identity_link *link; /* through which, or NULL */
};

/*
 * Who `id` on `channel` is.  With `own_name` the name of a link counts as one
 * of its ids.
 */
struct identity identity_of(const struct identity_links *links,
			    struct weft_str channel, struct weft_str id,
			    bool own_name, struct arena *a);

/* ---- scopes (scope.c) ---- */

struct scope_value {
	struct weft_str name, value;
};

struct scope {
	uint64_t version;
	struct weft_str agent, channel, account;
	const struct weft_str *dims; /* those that have a value, in order */
	size_t n_dims;
	const struct scope_value *values;
	size_t n_values;
};

/* The value of one dimension in a context; empty if it has none.
 * `topic_in_chat`: forum topics are chats of their own. */
struct weft_str scope_value(enum dimension dim, const struct route_context *c,
			    const struct identity *sender, bool topic_in_chat,
			    struct arena *a);

struct scope scope_build(struct weft_str agent, const struct route_context *c,
			 const struct dimensions *dims,
			 const struct identity *sender, struct arena *a);

/* The scope in one line: "v=1|agent=main|channel=...". */
struct weft_str scope_signature(const struct scope *s, struct arena *a);

/* The key of a signature (or of any other text); empty for an empty one. */
struct weft_str scope_key(struct weft_str signature, struct arena *a);

/* The same in all fields, as they are written. */
bool scope_eq(const struct scope *x, const struct scope *y);

/* {"version":1,"agent_id":"main",...} */
void scope_encode(struct buf *b, const struct scope *s);

/* "direct", "group", ...: what kind of chat it is of; empty if it is of none. */
struct weft_str scope_chat_type(const struct scope *s);

/* Whether several people may talk in it: it is no direct message, and not of
 * one sender alone.  Such a conversation is nobody's own. */
bool scope_is_shared(const struct scope *s);
/* The same of one as it is stored; false if that is none. */
bool scope_text_is_shared(struct weft_str json, struct arena *a);

/* Read that again.  CORRUPT if it is no scope. */
int scope_parse(struct weft_str json, struct arena *a, struct scope *ret,
		struct weft_error *err);

/* ---- names (names.c) ---- */

struct name_list {
	struct weft_str *v;
	size_t n, room;
};

void name_list_push(struct name_list *l, struct weft_str name, struct arena *a);
/* The same, unless it is there already. */
void name_list_add(struct name_list *l, struct weft_str name, struct arena *a);

/* "agent:main:main", the name of an agent's own conversation. */
struct weft_str names_main(struct weft_str agent, struct arena *a);
/* Whether a name is one of these, for any agent. */
bool names_is_main(struct weft_str name);

/* What older programs call the conversation of this context. */
struct name_list names_legacy(struct weft_str agent,
			      const struct route_context *c,
			      const struct identity *sender, struct arena *a);

/* Whether a caller's key is taken as it is: sk_v1_... and agent:... */
bool names_is_explicit(struct weft_str key, struct arena *a);

/* Take "agent:sales:telegram:direct:5" apart. */
bool names_parse_legacy(struct weft_str key, struct weft_str *ret_agent,
			struct weft_str *ret_rest);

#endif

/*
 * api.h - behind the door: one call of a method.
 *
 * DESIGN
 *
 * The door checks a request against the row of its method (table.h) before
 * the method's function sees it, so that a function only has to know what its
 * fields mean.  The same rows describe the door to programs (method
 * "methods"), to people (docs/API.md) and later to HTTP.
 *
 * A function writes its answer into call->out, as one JSON value, and returns
 * WEFT_OK or a code with its message.  It may use call->arena for all that
 * need not outlive the call.
 */
#ifndef API_API_H
#define API_API_H

#include "api/table.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/engine.h"
#include "weft/store.h"
#include "weft/weft.h"

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
/* Several, with commas between them. */
int encode_sessions(struct call *c, const struct session_rec *v, size_t n);
/* The session as it is stored now. */
int call_answer_session(struct call *c, const struct weft_id *id);
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

/* chain.c */
int list_chain(struct call *c);

#endif

/*
 * body.h - the bodies of all events but messages, both ways.
 *
 * A body is the type's own members, without the braces.  docs/FORMAT-JSONL.md
 * lists them; what is written here is what derive() reads.
 */
#ifndef MODEL_BODY_H
#define MODEL_BODY_H

#include "base/arena.h"
#include "base/buf.h"
#include "weft/store.h"

/*
 * Check what a caller wants a session to begin with: no control characters in
 * short text, JSON where JSON belongs, every limit.  The error names the
 * field.
 */
int body_session_check(const struct session_rec *rec,
		       const struct store_limits *limits,
		       struct weft_error *err);

/* EVENT_SESSION: the fields of `rec` that a session begins with; only those
 * that are not empty.  key_ver is the version of its key's name. */
void body_session(struct buf *b, const struct session_rec *rec,
		  uint64_t key_ver);

/* EVENT_NAME: this session takes (or, gone, loses) a name. */
void body_name(struct buf *b, const struct name_rec *name, bool gone);

/* EVENT_REDACT */
struct redact {
	uint64_t target;
	bool hidden;      /* false: undone */
	uint32_t role;    /* of the target, 0 if it is no message */
	bool own;         /* the target is this session's own event */
	bool starts_turn; /* the target started a turn */
};
void body_redact(struct buf *b, const struct redact *r);

/* EVENT_DELETE, EVENT_RESTORE and EVENT_PURGE: the names freed or taken back,
 * each with its next version. */
void body_names(struct buf *b, const struct name_rec *names, size_t n);

/* EVENT_USAGE: what a purged descendant had spent. */
void body_usage(struct buf *b, const struct totals *spent);

/* EVENT_PATCH: what routing has found out of a session.  A text that is NULL is
 * left as it is. */
struct routed_patch {
	struct weft_str scope; /* JSON */
	struct weft_str user, channel, user_role;
};
bool routed_patch_is_empty(const struct routed_patch *p);
void body_routed(struct buf *b, const struct routed_patch *p);

/*
 * EVENT_PATCH: a JSON object of changes as a caller gave it, checked against
 * the fields that may change (slug, agent, model, project_dir, user, channel,
 * user_role, metadata, tools, pinned, expires_at), and the record they change.
 * Members that would change nothing are left out; an empty body means that
 * there is nothing to write.
 */
int body_patch(struct weft_str json, const struct session_rec *rec,
	       const struct store_limits *limits, struct buf *b,
	       struct arena *a, struct weft_error *err);

#endif

/* drop.h - what the files drop*.c share: one act of dropping events. */
#ifndef ENGINE_DROP_H
#define ENGINE_DROP_H

#include "engine/internal.h"

/* Sessions that one erase, reclaim or purge is about, and what came of it. */
struct dropping {
	struct engine *engine;
	struct arena *arena; /* the caller's: of the report */
	struct drop_report *ret;
	bool dry;
	uint64_t token;
	struct weft_id *ids; /* what is to be rewritten, each once */
	size_t n_ids, room_ids;
	struct weft_id *gone; /* of which nothing is left */
	size_t n_gone, room_gone;
	struct swept *swept; /* and of which something is, for forks */
	size_t n_swept, room_swept;
	struct blob_use *blobs; /* that may be of no use any more */
	size_t n_blobs, room_blobs;
	bool changed, names_shared;
	struct weft_error *err;
};

/* A purged session of which a part stays: up to this event. */
struct swept {
	struct weft_id id;
	uint64_t inherited;
};

void dropping_init(struct dropping *d, struct engine *e, struct arena *a,
		   struct drop_report *ret, struct weft_error *err);

/* Every session there is, also deleted and purged ones. */
typedef int dropping_visit(struct dropping *d, const struct session_rec *rec,
			   void *arg);
int dropping_each(struct dropping *d, dropping_visit *visit, void *arg);

/* Room for one more of an array in the arena; NULL if there is none. */
void *dropping_grow(struct dropping *d, void *v, size_t n, size_t *room,
		    size_t bytes);

/* Let nobody see a session and its subagents any more, and add them to ids. */
int dropping_purge(struct dropping *d, const struct weft_id *session);
/* Drop the lines of all of ids for good. */
int dropping_sweep(struct dropping *d);
/* The last event of a session that is left once it is purged; UINT64_MAX if it
 * is not to be. */
uint64_t dropping_last(const struct dropping *d, const struct weft_id *session);
/* Blank messages of a session's own; by rising number. */
int dropping_erase(struct dropping *d, const struct weft_id *session,
		   const uint64_t *targets, size_t n);
/* Leave no bytes of it anywhere. */
int dropping_end(struct dropping *d);
/* Drop the blobs that nothing refers to any more, or count them. */
int dropping_blobs(struct dropping *d);
/* Put parents before those below them, or behind. */
int dropping_sort(struct dropping *d, struct weft_id *ids, size_t n,
		  bool parents_first);
int dropping_refuse(struct dropping *d, const struct weft_id *session,
		    const struct weft_error *why);

/* ---- drop_whom.c: a person ---- */

/* Whom the caller means: INVALID, AMBIGUOUS. */
int whom_find(struct dropping *d, struct weft_str user, struct person *ret);
/* Whether a session is theirs alone. */
bool whom_owns(const struct person *p, const struct session_rec *rec,
	       struct arena *a);
/* Count in the report what was found under one of their ids. */
int whom_note(struct dropping *d, struct weft_str id, uint64_t sessions,
	      uint64_t messages);
/* Every message of a session's own that says whom it is from. */
typedef int whom_visit(struct dropping *d, uint64_t seq, struct weft_str from,
		       struct arena *a, void *arg);
int whom_each_message(struct dropping *d, const struct weft_id *session,
		      whom_visit *visit, void *arg);

#endif

/*
 * world.h - a store and the oracle beside it, and acts done to both.
 *
 * An act is a handful of random numbers that mean something only in the state
 * it finds ("the 7th of the sessions there are"), so that a sequence of acts
 * makes sense after any of them has been left out.
 */
#ifndef WORLD_H
#define WORLD_H

#include "base/arena.h"
#include "base/json.h"
#include "engine/engine.h"
#include "model/oracle.h"
#include "weft/weft.h"

#define ACT_NUMBERS 10

struct act {
	uint32_t kind; /* index into the table of acts */
	uint32_t r[ACT_NUMBERS];
};

struct world {
	const char *base_url; /* as on the command line */
	char dir[256];        /* made for this world, or empty */
	char url[512];
	struct weft_store *store;
	struct engine *engine;
	struct oracle *oracle;
	struct weft_id *ids; /* of the oracle's sessions */
	int64_t now_ms;
	uint32_t policy;    /* of those in act_keep.c */
	struct arena arena; /* for one act */
	struct weft_error err;
	bool talk;      /* say what is done, on standard output */
	char why[2048]; /* what went wrong, or empty */
};

/* How often an act comes up, and what it does. */
struct act_kind {
	const char *name;
	unsigned weight;
	void (*run)(struct world *w, const uint32_t *r);
};

extern const struct act_kind act_kinds[];
extern const size_t n_act_kinds;

/*
 * Do the acts to a new world and look at everything at the end.  0, or 1 +
 * the number of the act at which the two no longer agree; then `why` says in
 * what.
 */
size_t world_run(const char *base_url, const struct act *v, size_t n, bool talk,
		 char why[2048]);

/* Note that something is wrong, unless something was before. */
void world_wrong(struct world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void world_say(struct world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The result must be what the oracle says; true if both say success. */
bool world_agree(struct world *w, const char *what, int r, int oracle_code);

/* The number of a session that is there, or -1 for one that is not. */
int world_pick(const struct world *w, uint32_t r);
/* The id of a session that is there, or of one that is not. */
struct weft_id world_id(const struct world *w, int session);

/* What to show as the token of its lease: mostly the right one. */
int world_token(const struct world *w, int session, uint32_t r);
/* A session was made that the oracle has, too. */
void world_note_id(struct world *w, const struct weft_id *id);
struct request *world_request(struct world *w, uint32_t kind, int session);
struct weft_str world_keep(struct request *q, const char *text);
/* Run the request and compare its answer; it is used up. */
void world_request_run(struct world *w, const char *what, struct request *q,
		       int expected, const struct oracle_answer *answer);
/* Call a method; the answer, or NULL if the call failed with *ret. */
yyjson_doc *world_call(struct world *w, int *ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* acts.c */
extern const char *const world_names[];
extern const size_t n_world_names;
extern const char *const world_values[]; /* of settings */
extern const size_t n_world_values;
extern const char *const world_words[];
extern const size_t n_world_words;
void act_create(struct world *w, const uint32_t *r);
void act_append(struct world *w, const uint32_t *r);
void act_patch(struct world *w, const uint32_t *r);
void act_rename(struct world *w, const uint32_t *r);
void act_redact(struct world *w, const uint32_t *r);
void act_fork(struct world *w, const uint32_t *r);
void act_window(struct world *w, const uint32_t *r);
void act_delete(struct world *w, const uint32_t *r);
void act_restore(struct world *w, const uint32_t *r);

/* act_drop.c */
void act_erase(struct world *w, const uint32_t *r);
void act_reclaim(struct world *w, const uint32_t *r);
void act_purge(struct world *w, const uint32_t *r);
void act_purge_user(struct world *w, const uint32_t *r);

/* act_notes.c */
void act_lease(struct world *w, const uint32_t *r);
void act_todos(struct world *w, const uint32_t *r);
void act_remember(struct world *w, const uint32_t *r);
void act_forget(struct world *w, const uint32_t *r);
void look_notes(struct world *w, const uint32_t *r);

/* act_route.c */
void act_reset(struct world *w, const uint32_t *r);
void act_route(struct world *w, const uint32_t *r);
void act_legacy(struct world *w, const uint32_t *r);

/* act_keep.c */
void world_configure(struct world *w);
void act_configure(struct world *w, const uint32_t *r);
void act_expire(struct world *w, const uint32_t *r);
void act_maintain(struct world *w, const uint32_t *r);

/* looks.c */
void look_read(struct world *w, const uint32_t *r);
void look_record(struct world *w, const uint32_t *r);
void look_names(struct world *w, const uint32_t *r);
void look_list(struct world *w, const uint32_t *r);
void look_everything(struct world *w, const uint32_t *r);

/* look_search.c */
void look_search(struct world *w, const uint32_t *r);

#endif

/* internal.h - the inside of the engine, shared by its files. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include <stdatomic.h>
#include <unistd.h>

#include "engine/options.h"
#include "engine/plan.h"
#include "engine/queue.h"
#include "engine/watch.h"
#include "model/body.h"

/* See committer.c. */
struct committer {
	pthread_t thread; /* of engine_open and engine_close */
	bool started;

	/* Of the holder of the queue's baton. */
	struct plan plan;
	struct batch *growing; /* that is being planned, if it may */
	struct arena scratch;

	/* Once `failed` is set, `failure` says why and does not change. */
	_Atomic bool failed;
	struct weft_error failure;

	/* Counters that anybody may read. */
	_Atomic uint64_t requests, batches, events, refused;
};

/* See indexer.c. */
struct indexer {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread; /* once `started`, which is set under the lock */
	bool closing;     /* under the lock */
	_Atomic bool started, asleep;
	_Atomic uint64_t writes; /* how many there were */
};

/* See route.c. */
struct routing {
	pthread_rwlock_t lock;
	/* Under `lock`; NULL: nothing is configured. */
	struct routing_config *config;
	/* How long a session rests before it leaves memory; 0: as the store's
	 * limits say. */
	_Atomic uint64_t suspend_ms;
};

struct engine {
	/* Constant while it is open. */
	struct store *store;
	struct clock_source clock;
	uint64_t process; /* that opened it */
	bool read_only;

	struct routing routing;
	struct queue queue;
	struct committer committer;
	struct watchers watchers;
	struct indexer indexer;
};

/* Start a thread that the program's signals leave alone. */
int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx,
		 struct weft_error *err);

/* ---- handle.c ---- */

/* The engine behind a public handle; WEFT_INVALID if it was closed. */
int handle_engine(struct weft_store *s, struct engine **ret,
		  struct weft_error *err);

/* ---- request.c ---- */

/* The rules that need no look at the store. */
int request_check(struct request *q, const struct store_limits *limits,
		  struct weft_error *err);

/* Whether `name` may be the name of a session. */
int request_check_name(struct weft_str name, const char *field,
		       const struct store_limits *limits,
		       struct weft_error *err);

/* ---- foresee.c ---- */

int fail_read_only(struct weft_error *err);

/* Whether there may be an answer to it where nothing can be written. */
bool request_may_change_nothing(const struct request *q);

/* Answer a request that changes nothing, by reading; READ_ONLY if it would
 * change something. */
int engine_foresee(struct engine *e, struct request *q, struct weft_error *err);

/* ---- route_hit.c ---- */

/* CONFLICT unless a session that was found is the one that is meant. */
int route_check_hit(const struct route *r, const struct session_rec *rec,
		    bool holds_person, struct arena *a, struct weft_error *err);

/* CONFLICT if a session that was never routed is another person's. */
int route_check_owner(const struct route *r, const struct session_rec *rec,
		      struct arena *a, struct weft_error *err);

/* Whose the conversation of a route is; empty: nobody's own. */
struct weft_str route_owner(const struct route *r);

/* What a session that was found does not say yet. */
struct route_lacks {
	struct routed_patch patch; /* but for the scope */
	bool scope;   /* and derived names, as far as they are free */
	bool several; /* more than one person was heard in it */
};
void route_find_lacks(const struct route *r, const struct session_rec *rec,
		      struct arena *a, struct route_lacks *ret);

/* ---- route.c ---- */

/* Whether a session that has the key of a route for an alias loses it: see
 * route_outranks(). */
int route_displaces(const struct route *r, const struct name_rec *name,
		    const struct session_rec *rec, struct arena *a, bool *ret,
		    struct weft_error *err);

/*
 * Whether a session that has one of a route's older names is the conversation
 * that is meant, from before routing knew it: the name is its key, something
 * was said in it, and it was never routed itself.
 */
bool route_may_promote(const struct name_rec *name,
		       const struct session_rec *rec);

/* Whether a conversation is over by its expiry or by a policy, and nobody is at
 * work in it. */
bool session_is_over(const struct session_rec *rec,
		     const struct config_reset *policy, int64_t now_ms);

/* When conversations of one person on a channel begin anew by themselves. */
struct config_reset routing_policy(struct engine *e, struct weft_str channel);

/* Whether a message that arrives now begins a new conversation. */
bool route_is_over(const struct route *r, const struct session_rec *rec,
		   int64_t now_ms);

/* public_route.c: the caller's message, and flags unless they are NULL. */
int route_options_take(const struct weft_route_options *options,
		       struct route_request *ret, uint32_t *ret_flags,
		       struct weft_error *err);
void routed_fill(const struct route *r, const struct route_end *end,
		 struct weft_routed *ret);

/* agents.c: who answers, where the rules leave it open. */
int agents_choose(struct engine *e, const struct config *c,
		  const struct route_request *q, struct arena *a,
		  struct route *r, struct weft_error *err);

/* Whom a text means, and whoever has this id on this channel or, of the name of
 * a link, is called so: by the links that are configured now. */
struct person routing_person(struct engine *e, struct weft_str text,
			     struct arena *a);
struct person routing_sender(struct engine *e, struct weft_str channel,
			     struct weft_str id, struct arena *a);

/* What maintenance goes by, as it is configured now. */
struct upkeep {
	unsigned hour;
	struct config_retention retention;
};
int routing_upkeep(struct engine *e, struct arena *a, struct upkeep *ret,
		   struct weft_error *err);

void routing_init(struct routing *r);
void routing_done(struct routing *r);

/* ---- indexer.c ---- */

void indexer_init(struct indexer *x);
void indexer_done(struct indexer *x);
/* Something was written, or is behind. */
void indexer_note(struct engine *e);
void indexer_stop(struct engine *e);

/* ---- committer.c ---- */

int committer_start(struct engine *e, struct weft_error *err);
void committer_stop(struct engine *e); /* answers all that was accepted */
void committer_done(struct engine *e);

/* IO, if writing has stopped. */
int committer_check(struct engine *e, struct weft_error *err);

/* Write one request; the caller holds the baton. */
void committer_run(struct engine *e, struct request *q);

/* ---- blobs.c ---- */

/* Where blobs are kept. */
struct blob_place engine_blobs(struct engine *e);

/* Put what is large in the messages of a request into blobs. */
int request_pack(struct engine *e, struct request *q, struct weft_error *err);

/* ---- engine.c ---- */

/* The same as engine_session, but of purged ones too: forks go through what
 * is left of them. */
int engine_record(struct engine *e, const struct weft_id *id, struct arena *a,
		  struct session_rec *ret, struct weft_error *err);

/* ---- read.c ---- */

#define READ_PAGE_BYTES MIB(16)

/* A page of events as a session sees them. */
struct seen_page {
	struct store_event *v;
	size_t n;
	bool done;
	const unsigned char *redacted; /* of v[i]; NULL: of none */
};

/* The same as engine_read, without a copy where nothing needs one. */
int read_whole(struct engine *e, const struct event_range *r, bool redacted,
	       struct arena *a, struct seen_page *ret, struct weft_error *err);
/* The same, with messages as they are stored: what is large is elsewhere. */
int read_seen(struct engine *e, const struct event_range *r, bool redacted,
	      struct arena *a, struct seen_page *ret, struct weft_error *err);

/* ---- resolve.c ---- */

/* The same as engine_resolve, but an id is not looked up: what follows will
 * say if there is no such session. */
int resolve_quickly(struct engine *e, struct weft_str name, struct weft_id *ret,
		    struct weft_error *err);

#endif

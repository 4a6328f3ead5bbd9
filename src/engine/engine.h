/*
 * engine.h - requests in, durable events out.
 *
 * DESIGN
 *
 * Whoever wants something written fills a struct request and submits it.  The
 * submitting thread has already checked and copied everything (message.h), so
 * that the committer only plans and writes.
 *
 * One committer thread takes all that has gathered (up to a batch), and calls
 * the store's write() with plan_batch: inside the store's lock each request is
 * planned against the store and those before it in the batch, bad ones are
 * refused alone, and the rest is made durable with one flush.  Then each
 * request is answered once, in order.  There is no timer: while one flush
 * runs, the next batch gathers.  A thread in engine_run that finds nothing else
 * going on does the committer's work for its own request (queue.h).
 *
 * Which thread may touch what is said at each field.  Locks are never nested.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/clock.h"
#include "model/lease.h"
#include "model/memory.h"
#include "model/message.h"
#include "model/render.h"
#include "model/search.h"
#include "route/route.h"
#include "weft/store.h"
#include "weft/weft.h"

struct engine;

enum request_kind {
	REQUEST_CREATE,
	REQUEST_APPEND,
	REQUEST_PATCH, /* slug, metadata, pinned, ... */
	REQUEST_NAME,  /* give, move or take away an alias */
	REQUEST_REDACT,
	REQUEST_DELETE,
	REQUEST_RESTORE,
	REQUEST_LEASE,
	REQUEST_PLAIN, /* an event whose body says all that there is to it */
	REQUEST_RESET, /* begin anew under the same key */
	REQUEST_ROUTE, /* find the session of a route, or make it */
	REQUEST_FORK,
	REQUEST_MARKER,
	REQUEST_PURGE,  /* nobody sees the session from here on */
	REQUEST_REWRITE /* drop events; in a write of its own */
};

enum name_how { NAME_ADD, NAME_MOVE, NAME_REMOVE };

/* A change of a session's window (model/marker.h). */
struct marker_ask {
	uint32_t how; /* enum marker_how */
	/* COMPACT, TRUNCATE: where it is to begin, one of the two. */
	uint64_t keep;    /* messages from the end; WINDOW_NO_KEEP: `before` */
	uint64_t before;  /* the first message that is kept, or AS_IT_IS */
	uint32_t at_turn; /* where a turn begins: struct turn_cut */
	uint32_t has_summary; /* 0: the summary in force is carried on */
	struct weft_str summary;
	uint64_t tokens_saved;
	uint32_t redo; /* UNDO: only if what is in force is an undo */
};
#define WINDOW_NO_KEEP  UINT64_MAX
#define WINDOW_AS_IT_IS 0

/* A fork that keeps events of a session from being dropped. */
struct fork_hold {
	struct weft_id fork, of;
	uint64_t events, bytes;
};

/* A blob, and how often it is referred to. */
struct blob_use {
	struct blob_ref ref;
	uint64_t n;
};

/* What one rewrite drops, or would drop. */
struct rewrite_answer {
	uint64_t events, bytes;
	bool all;               /* nothing of the session is left */
	uint64_t inherited;     /* the last event that a fork needs, or 0 */
	bool names_shared;      /* names of it may be known elsewhere */
	struct blob_use *blobs; /* what that referred to, each once */
	size_t n_blobs, room_blobs;
	struct fork_hold *holds;
	size_t n_holds;
};

/*
 * One thing to be written.  Memory: everything in it lives in `arena`, which
 * belongs to the request.  The submitter fills it in, the committer answers,
 * and from submit to done() only the committer may touch it.
 */
struct request {
	uint32_t kind; /* enum request_kind */
	struct arena arena;
	struct request *next;      /* the queue's */
	struct request *followers; /* the queue's: to be woken by this one */
	uint32_t slot;             /* the queue's: where it is waited for */
	_Atomic uint32_t answered; /* the queue's: for engine_run */

	struct weft_id session; /* of all kinds but CREATE */
	struct weft_str op;
	uint64_t expect; /* WEFT_NO_EXPECT: nothing is expected */
	uint64_t token;

	/* CREATE: what the session begins with (kind, parent, key, agent,
	 * slug, ...; no id) and further names. */
	struct session_rec create;
	const struct weft_str *aliases;
	size_t n_aliases;

	/* ROUTE: the same, with those of `aliases` that are free. */
	const struct route *route;

	/* APPEND */
	struct message *messages;
	size_t n_messages;
	size_t bytes; /* of all bodies together */

	uint32_t retire;       /* DELETE: by a rule, so only what nobody uses */
	struct weft_str patch; /* PATCH: a JSON object */
	struct weft_str name;  /* NAME */
	uint32_t name_how;     /* enum name_how */
	const uint64_t *targets; /* REDACT: seqs */
	size_t n_targets;
	uint32_t undo;  /* REDACT */
	uint32_t erase; /* REDACT: what is to be erased next, also where
			   nothing can be said any more */

	/* LEASE: how, and the owner; for how long */
	struct lease lease;
	int64_t lease_ms;

	/* PLAIN: checked by whoever made it; what to forget */
	uint64_t target;
	uint32_t event_type;
	struct weft_str body;
	/* FORK, of `session`: `create` has what it does not inherit. */
	uint64_t fork_at;        /* the last message it inherits; 0: the last */
	uint64_t fork_inherited; /* how many that are, if fork_at is not 0 */
	uint64_t fork_hidden;    /* the first that `session` itself hides ... */
	uint64_t fork_content;   /* ... as long as this is its content_seq */

	struct marker_ask marker; /* MARKER; HISTORY: with `messages` */

	/* PURGE, REWRITE (ERASE: of `targets`, by rising number). */
	uint32_t why; /* enum gone_why */
	uint32_t dry; /* only say what would happen */
	/* REWRITE, dry: sessions that would be purged by then, and those of
	 * them that would be gone. */
	const struct weft_id *purged, *ignored;
	size_t n_purged, n_ignored;

	/* The answer. */
	int status;
	struct weft_error err;
	struct weft_id ret_session;
	struct weft_id ret_id; /* event id of the first event */
	uint64_t ret_seq;
	uint64_t ret_count;
	uint32_t ret_replayed; /* known op: nothing was written */
	uint32_t ret_created;  /* CREATE, ROUTE: 0 if the key existed already */
	uint32_t ret_changed;  /* how many events were written */
	uint32_t ret_several;  /* ROUTE: more than one person speaks */
	struct weft_id ret_promoted; /* ROUTE: it goes on from this one */
	struct weft_id
		ret_displaced;  /* and this one had its key for an alias */
	struct lease ret_lease; /* LEASE: what was given; token 0: nothing */
	struct weft_id *ret_sessions; /* PURGE: with its subagents */
	size_t n_ret_sessions;
	struct name_rec *ret_lost; /* RESTORE: names that are others' now */
	size_t n_ret_lost;
	struct rewrite_answer ret_rewrite;

	/* Owns the request from here on; engine_run leaves it NULL. */
	void (*done)(struct request *q);
	void *ctx;
};

struct request *request_new(uint32_t kind, struct weft_error *err);
void request_free(struct request *q); /* takes NULL */
/* Check a caller's message, or array of them, into the request. */
int request_take_messages(struct request *q, struct weft_str json,
			  const struct store_limits *limits,
			  struct weft_error *err);

int engine_open(const char *url, const struct weft_open_options *o,
		struct engine **ret, struct weft_error *err);
int engine_close(struct engine *e, struct weft_error *err);

/* The same for a store that is open already, a decorated one for example.
 * The engine owns it from here on, also if this fails.  `clock` may be NULL
 * and must outlive the engine. */
int engine_start(struct store *store, const struct clock_source *clock,
		 uint32_t flags, struct engine **ret, struct weft_error *err);

/* IO in a process that did not open the store: for whoever goes on to use
 * engine_store() directly. */
int engine_check_process(const struct engine *e, struct weft_error *err);

struct store *engine_store(struct engine *e);
const struct store_limits *engine_limits(const struct engine *e);
int64_t engine_now_ms(const struct engine *e);

/* Queue a request; BUSY if the queue is full, and then it is still yours. */
int engine_submit(struct engine *e, struct request *q, struct weft_error *err);

/* Submit, waiting for room, and wait for the answer.  Returns its status;
 * the request stays yours. */
int engine_run(struct engine *e, struct request *q, struct weft_error *err);

/*
 * Find a session as people name it: id, key, alias, slug, then unique prefix
 * of an id (6 characters or more); the first kind with a hit wins, two hits
 * are AMBIGUOUS and listed.  Deleted sessions are found by id only.
 */
int engine_resolve(struct engine *e, struct weft_str name, struct weft_id *ret,
		   struct weft_error *err);

/* ---- routing (route.c) ---- */

/* Replace the configuration that routing goes by. */
int engine_configure(struct engine *e, struct weft_str text,
		     struct weft_error *err);

/* Where a message belongs by that configuration; INVALID or LIMIT names the
 * field of the context that is no name. */
int engine_resolve_route(struct engine *e, const struct route_request *q,
			 struct arena *a, struct route *ret,
			 struct weft_error *err);
/* Its first steps: who answers, and which conversation it is. */
int engine_choose(struct engine *e, const struct route_request *q,
		  struct arena *a, struct route *ret, struct weft_error *err);
int engine_allocate(struct engine *e, const struct route_request *q,
		    struct arena *a, struct route *r, struct weft_error *err);

/* The agent that a user used last; empty if nothing is known. */
int engine_user_agent(struct engine *e, struct weft_str user, struct arena *a,
		      struct weft_str *ret, struct weft_error *err);
/* Remember it; an empty one is forgotten. */
int engine_set_user_agent(struct engine *e, struct weft_str user,
			  struct weft_str agent, struct arena *a,
			  struct weft_error *err);

/* The conversation that a user was in last on a channel, and that is not over;
 * zero if there is none. */
int engine_last_session(struct engine *e, struct weft_str user,
			struct weft_str channel, struct weft_id *ret,
			struct weft_error *err);

/* How long each text of a message's context may be. */
#define ROUTE_TEXT_MAX KIB(4)

/* What a route led to. */
struct route_end {
	struct weft_id session; /* zero: there is none */
	bool created;
	bool over;    /* it was found, and a new one follows it */
	bool lacks;   /* it was found, and does not say all yet */
	bool several; /* more than one person speaks there */
	/* The one with an older name that it goes on from, or would. */
	struct weft_id promoted;
	/* The one that had its key for an alias, and loses it. */
	struct weft_id displaced;
};

/*
 * Find the session of a route, or make it unless `dry`.  One that is over by
 * its expiry or the reset policy is followed by a new one.  CONFLICT: the key is
 * that of another conversation.  May add to r->why.
 */
int engine_route(struct engine *e, struct route *r, bool dry, struct arena *a,
		 struct route_end *ret, struct weft_error *err);

/* ---- maintenance (maintain.c) ---- */

struct maintain_ask {
	int64_t now_ms; /* 0: the store's clock says */
	bool if_due; /* only if its hour has come, and nobody else is at it */
	bool dry;    /* only say what would be done */
};

/* One session that was removed, purged or spared, and why. */
struct maintain_item {
	struct weft_id session;
	struct weft_str key, slug, why;
	uint64_t bytes;
	int64_t last_use_at;
};
struct maintain_list {
	struct maintain_item *v; /* the first MAINTAIN_ITEMS of them */
	size_t n;
	uint64_t count, bytes; /* of all */
};
#define MAINTAIN_ITEMS 1000

struct maintain_report {
	bool ran;
	struct weft_str why_not; /* if it did not run */
	uint64_t looked;         /* at so many sessions */
	uint64_t suspended;
	uint64_t blobs; /* that nothing refers to were dropped */
	struct maintain_list removed, purged, spared;
	int64_t last_run_at, next_run_at;
};

/* Let idle sessions go, do what the rules of retention say, and drop blobs that
 * nothing refers to. */
int engine_maintain(struct engine *e, const struct maintain_ask *ask,
		    struct arena *a, struct maintain_report *ret,
		    struct weft_error *err);

/* TASK_VERIFY of the store, and whether all that forks have inherited is there. */
int engine_verify(struct engine *e, struct store_report *report,
		  struct weft_error *err);

/* Read one record; NOT_FOUND. */
int engine_session(struct engine *e, const struct weft_id *id, struct arena *a,
		   struct session_rec *ret, struct weft_error *err);

/*
 * Read events as the session sees them: inherited ones through its parents,
 * hidden ones marked (or left out).
 */
struct view_event {
	struct store_event event;
	uint32_t redacted;
};
struct view_page {
	struct view_event *v;
	size_t n;
	uint32_t done;
};
int engine_read(struct engine *e, const struct event_range *r, bool redacted,
		struct arena *a, struct view_page *ret, struct weft_error *err);

/*
 * Read messages as the session sees them, and render them for a provider
 * (render.h).  `out` gets one JSON object.
 */
struct render_query {
	struct weft_id session;
	uint64_t first, last;          /* seqs, inclusive */
	uint64_t messages_max;         /* the newest ones; UINT64_MAX: all */
	bool redacted;                 /* also those that were redacted */
	struct weft_str summary;       /* of what was before them, or empty */
	struct render_options options; /* but for newest_first */
};
int engine_render(struct engine *e, const struct render_query *q,
		  struct buf *out, struct weft_error *err);
/* The number of the first message that the budget has room for; 0: of all. */
int engine_first_kept(struct engine *e, const struct render_query *q,
		      uint64_t *ret, struct weft_error *err);

/* The window of a session: from which number on, and what came before. */
struct window {
	uint64_t marker;     /* the event that says so, or 0 */
	uint64_t first_kept; /* 1 if there is no marker */
	struct weft_str summary;
};
int engine_window(struct engine *e, const struct session_rec *rec,
		  struct arena *a, struct window *ret, struct weft_error *err);

/* Fill in where a fork of `rec` begins, 0: behind its last message, and what
 * has to be looked up for that. */
int engine_fork_at(struct engine *e, const struct session_rec *rec, uint64_t at,
		   struct request *q, struct weft_error *err);

/*
 * The memories that a session (or a book) itself has, newest first, those
 * that were forgotten too.
 */
struct memory_rec {
	struct weft_id id;
	uint64_t seq;
	int64_t created_at;
	int64_t deleted_at; /* 0: not forgotten */
	struct memory memory;
};
struct memory_list {
	struct memory_rec *v;
	size_t n;
};
int engine_memories(struct engine *e, const struct session_rec *rec,
		    struct arena *a, struct memory_list *ret,
		    struct weft_error *err);

/* ---- erase, reclaim, purge (drop.c) ---- */

/* A session that could not be purged, and why. */
struct drop_refusal {
	struct weft_id session;
	struct weft_error err;
};

/* What was found of a person under one of their identities. */
struct drop_identity {
	struct weft_str id;
	uint64_t sessions, messages;
};

/* What went, or would go. */
struct drop_report {
	uint64_t sessions, events, bytes, blobs;
	struct fork_hold *holds; /* forks that still hold some */
	size_t n_holds;
	struct drop_refusal *refused;
	size_t n_refused;
	struct drop_identity *identities; /* of a person */
	size_t n_identities, room_identities;
};

/*
 * Blank messages on the disk, for ever, where they were said: `targets` are
 * numbers as `session` sees them.  Not for who lacks the token of a lease.
 */
int engine_erase(struct engine *e, const struct weft_id *session,
		 const uint64_t *targets, size_t n, uint64_t token,
		 struct arena *a, struct drop_report *ret,
		 struct weft_error *err);

/* Drop what neither the window nor a fork needs. */
int engine_reclaim(struct engine *e, const struct weft_id *session,
		   uint64_t token, bool dry, struct arena *a,
		   struct drop_report *ret, struct weft_error *err);

/*
 * Purge sessions with all their subagents: nothing of them is left but what
 * forks still need.  Those that are refused are in the report, the others go;
 * if it is a single one, that is the error.
 */
int engine_purge(struct engine *e, const struct weft_id *sessions, size_t n,
		 uint64_t token, bool dry, struct arena *a,
		 struct drop_report *ret, struct weft_error *err);

/*
 * Purge a person: the conversations and the book that are theirs alone, and
 * what they said in those of others and of groups.  `user` is the name of an
 * identity link or one of its ids, "channel:id", or what a program has called
 * them; AMBIGUOUS: an id that is known on several channels.
 */
int engine_purge_user(struct engine *e, struct weft_str user, bool dry,
		      struct arena *a, struct drop_report *ret,
		      struct weft_error *err);

/* Finish what an earlier purge or erase has begun, and no more. */
int engine_finish_purges(struct engine *e, struct arena *a,
			 struct drop_report *ret, struct weft_error *err);

/* ---- search (search.c, index.c, indexer.c) ---- */

struct search_ask {
	struct search_query query;
	struct weft_id session; /* and what it inherits; zero: all sessions */
	uint64_t kinds;         /* bit set by enum search_kind, 0: all */
	struct weft_str user, project_dir; /* of the session, or empty */
	const struct word_hit *after;      /* where to go on, or NULL */
	size_t limit;
	bool wait; /* until nothing is behind, however long that takes */
};

struct search_hit {
	struct word_hit place;
	struct weft_id id;
	uint32_t kind;           /* enum search_kind */
	struct weft_str role;    /* of a message */
	struct session_rec *rec; /* of the session that it belongs to */
	struct weft_str snippet;
};

struct search_page {
	struct search_hit *v; /* newest first */
	size_t n;
	bool more;
	struct word_hit last; /* where to go on, if there is more */
	uint64_t behind;      /* events that were not searched */
};

/*
 * Find messages, titles and memories: those that are there to be seen, not
 * hidden, forgotten or of deleted sessions.  Words that the index lacks are
 * added to it first, or read, up to a bound.  A page may have less than its
 * limit and still more behind it.
 */
int engine_search(struct engine *e, const struct search_ask *ask,
		  struct arena *a, struct search_page *ret,
		  struct weft_error *err);

/* Bring the index on by about `max` events; *ret_behind is what it lacks then.
 * It is made if it is not there and `make` says so. */
int engine_index(struct engine *e, bool make, uint64_t max,
		 uint64_t *ret_behind, struct weft_error *err);

/* Wait for an event of `id` after `seq`; BUSY at the time-out. */
int engine_wait(struct engine *e, const struct weft_id *id, uint64_t seq,
		int64_t timeout_ms, uint64_t *ret_head, struct weft_error *err);

/* Counters for `weft stats` and health. */
struct engine_stats {
	uint64_t requests, batches, events, refused, queued, queue_max;
	uint64_t watchers;
};
void engine_get_stats(struct engine *e, struct engine_stats *ret);

/* The engine behind a public handle, for api/; NULL if it was closed. */
struct engine *weft_store_engine(struct weft_store *s);

/* A public handle for an engine that was started by hand, which owns it from
 * here on, also if this fails. */
int weft_store_around(struct engine *e, struct weft_store **ret,
		      struct weft_error *err);

#endif

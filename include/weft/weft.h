/*
 * weft.h - sessions for agents: keep every conversation, give it back.
 *
 * A store holds sessions.  A session is an append-only stream of events,
 * numbered from 1; most of them are messages.  Everything that can be done to
 * a store can be done through one door, weft_call(), with JSON in and JSON
 * out; what must be fast (appending, reading, waiting) also has functions of
 * its own.
 *
 * Rules that hold for every function in this file:
 *
 *  - It returns WEFT_OK (0) or a negative enum weft_code, unless it says
 *    otherwise.  On failure *err, unless it is NULL, says what went wrong, and
 *    outputs are left untouched.
 *  - Text goes in as a pointer and a length, and is copied if it is kept.
 *    Text that comes out is NUL-terminated behind its length, belongs to the
 *    object it came from, and dies with it.
 *  - An object returned through `struct weft_foo **` is yours; give it back
 *    with the function named there, which takes NULL.
 *  - A struct weft_store and a struct weft_queue may be used by many threads
 *    at once.  Any other object belongs to one thread at a time.
 *  - Option structs are set up by their init function, with
 *    sizeof(struct ...) as the second argument, before fields are changed.
 *    That is how a program that was built with an older header goes on
 *    working.
 *  - What is given back is gone: use it no more.  Of a store that was closed
 *    this is noticed: closing it again does nothing, and every other call
 *    fails with WEFT_INVALID (until hundreds of others have been closed).
 *  - A store does not survive fork(): in the child every call fails with
 *    WEFT_IO, and only weft_close may be used.
 *  - The library touches no signals, no locale, no standard streams and not
 *    the working directory.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include "weft/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct weft_store;
struct weft_answer;
struct weft_page;
struct weft_queue;

/* "0.1.0" */
WEFT_API const char *weft_version(void);

/* ---- opening ---- */

#define WEFT_OPEN_READ_ONLY 1u
#define WEFT_OPEN_NO_CREATE 2u /* an error if there is no store yet */
#define WEFT_OPEN_SINGLE    4u /* keep everybody else out */
/* Mend what keeps a store from being opened; implies NO_CREATE and SINGLE.
 * The rest is mended by the method "repair". */
#define WEFT_OPEN_REPAIR 8u

struct weft_open_options {
	size_t size;
	uint32_t flags;
	uint32_t reserved;
	/* The clock, in milliseconds since 1970; NULL: the system's. */
	int64_t (*now_ms)(void *ctx);
	void *now_ctx;
};

/* No flags, the system's clock. */
WEFT_API void weft_open_options_init(struct weft_open_options *o, size_t size);

/*
 * Open the store that `url` names: "jsonl:DIR", "sqlite:FILE",
 * "postgres://HOST/DATABASE", "memory:" (docs/STORES.md).  Options may follow
 * behind '?': "jsonl:DIR?queue=64&message_bytes=1000" (every limit in
 * docs/LIMITS.md).  A place that does not begin with a slash is found from the
 * working directory, once: the program may go elsewhere afterwards.
 * `options` may be NULL.
 *
 * Errors: INVALID (bad URL), NOT_FOUND (NO_CREATE and none there), IO (of a
 * newer format, of somebody else, on a network file system), READ_ONLY (you
 * may not write it; open it with WEFT_OPEN_READ_ONLY), BUSY, CORRUPT.
 */
WEFT_API int weft_open(const char *url, const struct weft_open_options *options,
		       struct weft_store **ret, struct weft_error *err);

/*
 * Whether weft_open could open `url`, as far as can be told without making
 * anything and without asking a server.  INVALID if it names no store.  If it does,
 * but the store cannot be there (a file where a directory is needed, of somebody
 * else, on a network file system), WEFT_OK, and *place has the error that
 * opening it would meet; otherwise place->code is 0.
 */
WEFT_API int weft_check_url(const char *url, struct weft_error *place,
			    struct weft_error *err);

/*
 * Wait for everything submitted to be answered, bring the store to rest and
 * free it.  Takes NULL.  No other call may be under way.  An error
 * says that the last checkpoint failed; what was acknowledged is safe all the
 * same, and is found again when the store is next opened.
 */
WEFT_API int weft_close(struct weft_store *store, struct weft_error *err);

/* ---- the door ---- */

/*
 * Call a method with a JSON object: {"method":"show","session":"..."}.
 * docs/API.md lists the methods.  *ret holds the answer, which is JSON; free
 * it with weft_answer_free.
 */
WEFT_API int weft_call(struct weft_store *store, const char *request,
		       size_t request_len, struct weft_answer **ret,
		       struct weft_error *err);
/* The answer, and its length unless ret_len is NULL. */
WEFT_API const char *weft_answer_text(const struct weft_answer *answer,
				      size_t *ret_len);
/* Give an answer back; takes NULL. */
WEFT_API void weft_answer_free(struct weft_answer *answer);

/* ---- routing ---- */

/*
 * Say how messages find their session: the text of a configuration file
 * (docs/ROUTING.md, docs/config.schema.json).  It counts for this store as
 * long as it is open here.  INVALID names line and field; nothing changes then.
 */
WEFT_API int weft_configure(struct weft_store *store, const char *text,
			    size_t text_len, struct weft_error *err);

#define WEFT_ROUTE_DRY_RUN 1u /* only look; make nothing */

/* What a channel knows of a message; empty where it knows nothing. */
struct weft_route_options {
	size_t size;
	uint32_t flags;
	uint32_t mentioned; /* 1: the agent is named in the message */
	struct weft_str channel, account;
	struct weft_str chat_type, chat_id, topic_id;
	struct weft_str space_type, space_id;
	struct weft_str sender_id;
	struct weft_str agent; /* who answers; the rules do not count */
	struct weft_str
		session_key; /* the caller's own: sk_v1_..., agent:... */
};

/* Nothing is known, and a session is made if there is none. */
WEFT_API void weft_route_options_init(struct weft_route_options *o,
				      size_t size);

/* Where a message belongs. */
struct weft_routed {
	uint32_t created;  /* 1: it is new */
	uint32_t warnings; /* so many: people who do not know of each other
			    * share it, for example.  The method "route" and
			    * weft_conversation_text have the texts */
	char session[WEFT_ID_CHARS + 2]; /* empty: there is none (dry run) */
	char agent[72];                  /* who answers */
};

/*
 * Find the session that a message belongs to, or make it: the agent by rules,
 * the scope by dimensions or dm_scope, key and aliases from that.  The method
 * "route" does the same and says why.
 *
 * Errors: INVALID, LIMIT, and CONFLICT: the key is that of another
 * conversation, or of a session that was given to another user; it is left
 * alone.
 */
WEFT_API int weft_route(struct weft_store *store,
			const struct weft_route_options *options,
			struct weft_routed *ret, struct weft_error *err);

/*
 * The same in steps, for a program that has its own to do between them: who
 * answers, which conversation it is, a key of the caller's own, the session.
 */
struct weft_conversation;

/* Who answers: the texts "agent" and "matched_by".  *ret is freed with
 * weft_conversation_free.  options->session_key is for step three. */
WEFT_API int weft_resolve_route(struct weft_store *store,
				const struct weft_route_options *options,
				struct weft_conversation **ret,
				struct weft_error *err);

/* Which conversation it is: "scope", "signature", "key", "aliases",
 * "main_key", "main_aliases". */
WEFT_API int weft_allocate_session(struct weft_store *store,
				   struct weft_conversation *c,
				   struct weft_error *err);

/*
 * Go by a key of the caller's own: "sk_v1_..." and "agent:..." become "key",
 * exactly as they are; anything else is one more alias, and an empty one
 * changes nothing.
 */
WEFT_API int weft_resolve_key(struct weft_conversation *c, const char *key,
			      size_t key_len, struct weft_error *err);

/*
 * See to it that the session is there, with its scope, user and channel and as
 * many of its names as are free, also if it was made by hand under its key.  A conversation that exists only under one of the aliases is
 * taken over.  Errors as weft_route's.
 */
WEFT_API int weft_ensure_session(struct weft_store *store,
				 struct weft_conversation *c,
				 struct weft_routed *ret,
				 struct weft_error *err);

/*
 * One of the texts above, "why" or "warnings"; NULL for any other, or before its
 * step.
 * The scope is JSON, and where there are several, it is a JSON array of
 * strings.
 */
WEFT_API const char *weft_conversation_text(struct weft_conversation *c,
					    const char *name, size_t *ret_len);
/* Give it back; takes NULL. */
WEFT_API void weft_conversation_free(struct weft_conversation *c);

/*
 * Whether a message asks for a new conversation: "/new" or "/reset", whatever
 * the case, alone or before the first words of it, which *ret_rest is then.
 * Returns 1 if so, else 0; ret_rest may be NULL.  Whether who speaks may do that
 * is the caller's to know; the method "reset" does it.
 */
WEFT_API int weft_asks_reset(const char *text, size_t text_len,
			     struct weft_str *ret_rest);

/* ---- maintenance ---- */

/* What came of it.  weft_call with "cleanup" also says which sessions, and
 * why. */
struct weft_maintenance {
	uint32_t ran; /* 0: it was not due, or somebody else is at it */
	uint32_t reserved;
	uint64_t looked;    /* at so many sessions */
	uint64_t suspended; /* left memory */
	uint64_t removed;   /* went into the trash */
	uint64_t purged;    /* were in the trash long enough */
	uint64_t spared;    /* a rule fits, but they are in use */
	int64_t last_run_ms, next_run_ms;
};

/*
 * Do what is to be done once a day, if it is due: after
 * lifecycle.maintenance_hour, local time (03:00), or later if the machine was
 * off then.  Idle sessions leave memory, and retention rules are carried out;
 * without a rule nothing is ever removed.  Call it at the start and whenever
 * next_run_ms has come; however many threads, processes and machines call it,
 * one of them runs.  now_ms is the time to go by, 0: the store's clock.  `ret`
 * may be NULL.
 *
 * A clock that is a year ahead of everything in the store is not believed.
 */
WEFT_API int weft_maintain(struct weft_store *store, int64_t now_ms,
			   struct weft_maintenance *ret,
			   struct weft_error *err);

/* ---- appending ---- */

#define WEFT_NO_EXPECT UINT64_MAX

struct weft_append_options {
	size_t size;
	uint64_t expect; /* content_seq that must still hold, or NO_EXPECT */
	uint64_t token;  /* of a lease, or 0 */
	const char *op;  /* operation id, or NULL */
	size_t op_len;
};

/* Nothing expected, no lease, no operation id. */
WEFT_API void weft_append_options_init(struct weft_append_options *o,
				       size_t size);

/* What an append came to. */
struct weft_receipt {
	uint64_t seq;      /* of the first message */
	uint64_t count;    /* how many there are */
	uint32_t replayed; /* 1: the operation id was known; nothing written */
	uint32_t reserved;
	char id[WEFT_ID_CHARS + 2];      /* of the first message */
	char session[WEFT_ID_CHARS + 2]; /* where it went */
};

/*
 * Append one message (a JSON object) or several at once (a JSON array: all or
 * none) to `session`, which is an id, a name or what else `weft show` takes.
 * Durable when this returns: it survives a power cut.
 *
 * Of several, each may have an `op` of its own: all of them are known, for the
 * same messages in a row, or none is; anything else is OP_MISMATCH.  What a
 * later one says it expects is the number of the one before it.
 *
 * Errors: INVALID, INVALID_PART, UNKNOWN_PART_KIND, NOT_FOUND, AMBIGUOUS,
 * DELETED, STALE (expect), OP_MISMATCH, LEASED, LIMIT, NO_SPACE, BUSY, IO, and
 * UNKNOWN: it may have been written; ask again with the same operation id.
 */
WEFT_API int weft_append(struct weft_store *store, const char *session,
			 size_t session_len, const char *json, size_t json_len,
			 const struct weft_append_options *options,
			 struct weft_receipt *ret, struct weft_error *err);

/*
 * What came of a submission: `receipt` if code is WEFT_OK, else `err`; both
 * are valid during the call only.  It must be quick and must not call the
 * library, except weft_submit.
 */
typedef void weft_done(void *ctx, int code, const struct weft_receipt *receipt,
		       const struct weft_error *err);

/*
 * Append without waiting.  If this returns WEFT_OK, `done` is called exactly
 * once, on a thread of the library, in the order in which the appends of one
 * session took place; if not, never.  BUSY: the queue is full, nothing was
 * taken.
 */
WEFT_API int weft_submit(struct weft_store *store, const char *session,
			 size_t session_len, const char *json, size_t json_len,
			 const struct weft_append_options *options,
			 weft_done *done, void *ctx, struct weft_error *err);

/*
 * A queue of completions, for event loops: hand weft_queue_done as `done` and
 * a struct weft_ticket as `ctx`, which stays where it is until it comes back;
 * poll the descriptor for reading and take what is there.
 */
struct weft_ticket {
	struct weft_queue *queue; /* set this, and what follows if you like */
	void *user;
	struct weft_ticket *next; /* the queue's own */
	int code;
	struct weft_receipt receipt;
	struct weft_error error;
};

/* Make a queue; *ret is freed with weft_queue_free. */
WEFT_API int weft_queue_new(struct weft_queue **ret, struct weft_error *err);
/* A descriptor that is readable while there may be a finished ticket; it is
 * the queue's: do not read from it, do not close it.  -1 for NULL. */
WEFT_API int weft_queue_fd(const struct weft_queue *q);
/* The next finished ticket, or NULL if there is none now. */
WEFT_API struct weft_ticket *weft_queue_next(struct weft_queue *q);
/* Free a queue that no ticket in flight belongs to any more: after the last
 * answer, or after weft_close.  Takes NULL. */
WEFT_API void weft_queue_free(struct weft_queue *q);
/* Put a struct weft_ticket into its queue: a weft_done for weft_submit. */
WEFT_API void weft_queue_done(void *ticket, int code,
			      const struct weft_receipt *receipt,
			      const struct weft_error *err);

/* ---- reading ---- */

#define WEFT_READ_BACKWARDS 1u /* newest first */
#define WEFT_READ_MESSAGES  2u /* messages only */
#define WEFT_READ_REDACTED  4u /* also those that were redacted */

struct weft_read_options {
	size_t size;
	uint64_t first, last; /* seqs, inclusive; default 1 to the end */
	uint32_t flags;
	uint32_t max; /* events; 0: as many as a page holds */
};

/* Everything from the first event on that was not redacted. */
WEFT_API void weft_read_options_init(struct weft_read_options *o, size_t size);

/*
 * One event of a page; text is valid as long as the page.  body and line are
 * parts of what was read, so there is no NUL behind them.  The body of a message
 * is whole; its line refers to what is kept apart (docs/BLOBS.md).
 */
struct weft_event {
	uint64_t seq;
	uint64_t last;     /* = seq, but for a range that is gone */
	int64_t ts_ms;     /* recorded */
	int64_t at_ms;     /* said; = ts_ms if nothing else was given */
	const char *type;  /* "message", ... */
	const char *state; /* "ok", "altered", "unsealed", "damaged", "gone" */
	const char *body;  /* "role":"user","parts":[...] */
	size_t body_len;
	const char *line; /* the whole line, or NULL if damaged or gone */
	size_t line_len;
	uint32_t redacted;
	uint32_t background;
	char id[WEFT_ID_CHARS + 2];
};

/* Read a page of events; *ret is freed with weft_page_free. */
WEFT_API int weft_read(struct weft_store *store, const char *session,
		       size_t session_len,
		       const struct weft_read_options *options,
		       struct weft_page **ret, struct weft_error *err);
/* How many events there are in a page; 0 for NULL. */
WEFT_API size_t weft_page_count(const struct weft_page *page);
/* The i-th event, from 0: 1, or 0 if i is past the end. */
WEFT_API int weft_page_event(const struct weft_page *page, size_t i,
			     struct weft_event *ret);
/* 1 if nothing of the range is left behind this page. */
WEFT_API int weft_page_done(const struct weft_page *page);
/* Give a page back, and with it all text of its events; takes NULL. */
WEFT_API void weft_page_free(struct weft_page *page);

/*
 * Wait until `session` has an event after `seq`; *ret_head is its last one
 * then.  timeout_ms < 0: for ever.  WEFT_BUSY at the time-out.
 */
WEFT_API int weft_wait(struct weft_store *store, const char *session,
		       size_t session_len, uint64_t seq, int64_t timeout_ms,
		       uint64_t *ret_head, struct weft_error *err);

#ifdef __cplusplus
}
#endif

#endif

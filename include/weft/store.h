/*
 * store.h - the contract between the engine and a store.
 *
 * A store keeps records; the model and the engine own their meaning.  A store
 * knows nothing of forks, windows, totals or the rules of names.  It keeps
 *
 *   events    the truth: per session a run of numbered lines, changed only by
 *             erase, reclaim and purge, which leave a line that says so
 *   records   one derived record per session
 *   names     derived: name -> session, with a version
 *   hidden    derived: which events a session has redacted
 *   blobs     bytes, by their SHA-256
 *   words     derived, and behind: which events have which tokens, for search
 *
 * and changes them, but for the words, only through write(): the store takes its lock, hands the
 * planner a fresh view, gets ops back and makes them durable, all or none.
 * What is derived can be rebuilt from the events at any time with derive()
 * (model/derive.h); a store that keeps only events may do just that.
 *
 * Rules for every slot:
 *
 *  - All slots are mandatory.  They return WEFT_OK or a negative code and
 *    then fill *err, unless it is NULL; outputs are set on success only.
 *  - Reads may be called from any thread at any time, also during a write.
 *    They see whole writes or nothing of them, and never anything that could
 *    still vanish.  What they return is copied into the caller's arena.
 *  - write() is called by one thread at a time for one open store; other
 *    processes may have the same store open.
 *  - Zero ids, empty strings and zero times stand for "none".
 */
#ifndef WEFT_STORE_H
#define WEFT_STORE_H

#include "weft/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct arena;
struct clock_source;
struct fs;

/* ---- what a session consists of ---- */

enum event_type {
	EVENT_OTHER, /* a type this version does not know: kept and ignored */
	EVENT_SESSION,
	EVENT_MESSAGE,
	EVENT_MARKER,
	EVENT_REDACT,
	EVENT_PATCH,
	EVENT_NAME,
	EVENT_MEMORY,
	EVENT_FORGET,
	EVENT_TODOS,
	EVENT_LEASE,
	EVENT_TURN,
	EVENT_DELETE,
	EVENT_RESTORE,
	EVENT_PURGE,
	EVENT_USAGE,
	EVENT_GONE,
	EVENT_TYPES
};

enum event_state {
	STATE_OK,
	STATE_ALTERED,  /* readable, right number, wrong checksum: served */
	STATE_UNSEALED, /* readable, no checksum: served */
	STATE_DAMAGED,  /* unreadable: keeps its number, has no content */
	STATE_GONE      /* dropped on purpose: seq..last */
};

/* One event: opaque bytes, and what a store may need without parsing them. */
struct store_event {
	struct weft_id session;
	struct weft_id id;
	uint64_t seq;
	uint64_t last;   /* = seq, but for a range that is GONE */
	int64_t ts_ms;   /* when it was recorded */
	int64_t at_ms;   /* when it was said, if that is another time; or 0 */
	uint64_t marker; /* seq of the marker in force at this event, or 0 */
	uint64_t said;   /* MESSAGE: the session's own up to and with this one,
			    hidden ones too; 0: not known */
	uint32_t type;   /* enum event_type */
	uint32_t state;  /* enum event_state */
	uint32_t more;   /* lines still to come of its atomic group */
	uint32_t background;
	struct weft_str op;    /* operation id, unescaped, or empty */
	struct weft_str bytes; /* the whole line, without its newline */
	struct weft_str body;  /* the part of it behind the common fields, up
				  to the checksum: "role":...,"parts":... */
};

/* Money is an integer of nano-dollars; a message without a price is counted
 * in `unpriced` instead. */
struct totals {
	uint64_t input_tokens, output_tokens;
	uint64_t cache_read_tokens, cache_write_tokens;
	uint64_t cost_nano;
	uint64_t unpriced;
};

enum session_kind { KIND_PRIMARY = 1, KIND_SUBAGENT, KIND_BOOK };

/*
 * What is known of a session; derived from its events.  model/record.h has a
 * table of these fields, from which stores make columns and programs JSON.
 */
struct session_rec {
	struct weft_id id;
	uint64_t kind; /* enum session_kind */
	struct weft_id parent, forked_from, root, previous;
	uint64_t fork_seq;
	struct weft_str key;
	uint64_t aliased;   /* it has, or has had, names besides its key */
	struct weft_str op; /* operation id of its creation */
	struct weft_str parent_tool_use_id;
	struct weft_str agent, slug, project_dir;
	struct weft_str model_provider, model_name;
	struct weft_str user, channel, user_role;
	struct weft_str scope, tools, metadata; /* JSON, or empty */
	uint64_t head_seq;                      /* the last event */
	uint64_t content_seq; /* the last message, marker or redaction */
	uint64_t window_seq;  /* the marker in force, or 0 */
	/* What that marker says, so that nobody has to read it; a long summary
	 * is not kept, and has more bytes than are here. */
	uint64_t window_first; /* the first message kept; 0: not known */
	struct weft_str summary;
	uint64_t summary_bytes;
	uint64_t message_count, inherited_count, turn_count;
	uint64_t said_count; /* own messages, hidden ones too */
	struct totals own, total;
	struct weft_str first_user, last_user, last_agent; /* previews */
	/* The same while their message is redacted; for derive() alone. */
	struct weft_str hidden_first_user, hidden_last_user, hidden_last_agent;
	uint64_t first_user_seq, last_user_seq, last_agent_seq;
	uint64_t todos_seq;  /* the last event that set them, or 0 */
	uint64_t memory_seq; /* the last memory or forget, or 0 */
	uint64_t pinned;
	struct weft_str lease_owner;
	uint64_t lease_token;
	int64_t lease_expires_at;
	uint64_t bytes;        /* of its own lines, without their ends */
	int64_t turn_began_at; /* 0: nobody says to be at work */
	int64_t expires_at, created_at, updated_at, last_interaction_at;
	int64_t deleted_at, purged_at;
};

enum name_kind { NAME_KEY = 1, NAME_ALIAS };

/* A name, also one that nobody holds: it keeps its version for ever. */
struct name_rec {
	struct weft_str name;
	struct weft_id session; /* zero: nobody's */
	uint64_t ver;           /* 0: never used */
	uint64_t kind;          /* enum name_kind */
};

/* The names of one session. */
struct session_names {
	struct name_rec *v;
	size_t n;
};

struct blob_ref {
	unsigned char sha256[32];
	uint64_t bytes;
};

/* ---- writing ---- */

enum store_op_kind {
	OP_EVENT,   /* append an event, numbered behind the last; the truth */
	OP_SESSION, /* replace the derived record, or make it */
	OP_ADD,     /* add to the rolled-up totals of a session, if it is
		       there; commutes */
	OP_NAME,    /* set a name; the highest version wins */
	OP_HIDE,    /* hide or show one event to a session and its forks */
	OP_BLOB,    /* this write refers to a blob, which must be there: else
		       NOT_FOUND, and nothing is written */
	OP_TAKE,    /* take from the rolled-up totals of a session, if it is
		       there; the opposite of OP_ADD */

	/* Only in an exclusive write (struct store_want), and without OP_EVENT
	 * beside them: */
	OP_REWRITE, /* put another line in the place of some; the write has
		       an OP_BLOB for each reference that is left */
	OP_DROP,    /* a session goes: events, record, marks; its names must
		       be nobody's by then */
	OP_UNNAME   /* a name goes with its version, as if never used */
};

struct store_hide {
	uint64_t target; /* seq */
	uint64_t hidden; /* 0: shown again */
	uint64_t by;     /* seq of the event that says so */
};

/*
 * The events first..last of a session leave; in their place there is one that
 * covers the same numbers: a range that is GONE or, if it is a single one, any
 * event.  Everything else stays to the byte.
 */
struct store_rewrite {
	uint64_t first, last;
	const struct store_event *with;
};

struct store_op {
	uint32_t kind;
	struct weft_id session;
	union {
		const struct store_event *event;
		const struct session_rec *rec;
		const struct totals *add;
		const struct name_rec *name;
		const struct store_hide *hide;
		const struct blob_ref *blob;
		const struct store_rewrite *rewrite;
		const struct weft_str *unname;
	} u;
};

/* Ops take effect in their order.  Grows in an arena; `failed` is sticky, so that planners check once. */
struct op_list {
	struct store_op *v;
	size_t n, room;
	struct arena *arena;
	int failed;
};

/* An operation id that a write will look for. */
struct store_want_op {
	struct weft_id session; /* zero: of a creation */
	struct weft_str op;
};

/* What a write will look at and change; a hint for what to lock and fetch. */
struct store_want {
	const struct weft_id *sessions;
	size_t n_sessions;
	const struct weft_str *names;
	size_t n_names;
	const struct store_want_op *ops;
	size_t n_ops;
	size_t bytes; /* about how much will be appended */
	/* Sessions that must stay as they are, but may grow: what a fork
	 * inherits.  Others may want them shared at the same time, but nobody
	 * exclusively. */
	const struct weft_id *shared;
	size_t n_shared;
	/* The plan may rewrite and drop `sessions`: nobody else looks at them
	 * in a write meanwhile, nor holds what it has seen of them.  BUSY if
	 * what is derived is not complete. */
	uint32_t exclusive;
};

/* Where an operation id was used. */
struct op_hit {
	struct weft_id session;
	uint64_t seq; /* its first event */
};

struct event_range {
	struct weft_id session;
	uint64_t first, last; /* inclusive; last may be past the end */
	uint64_t types;       /* bit set by enum event_type, 0: all */
	uint32_t backwards;   /* newest first */
	uint32_t max_events;  /* at most, and by default, limits.page */
	size_t max_bytes;     /* 0: 16 MiB; one event is always returned */
};

/* Events of one session, in the order asked for; ranges that are GONE and
 * lines that are DAMAGED take their place among them. */
struct event_page {
	struct store_event *v;
	size_t n;
	uint32_t done; /* there is nothing more in the range; 0 if unsure */
};

/*
 * What a planner may look at: fresh, inside the write.  What it is handed is
 * valid until the write is over, so that ops may point into it.
 */
struct store_view {
	const struct store_view_ops *ops;
};

struct store_view_ops {
	/* WEFT_NOT_FOUND if there is none. */
	int (*get_session)(struct store_view *v, const struct weft_id *id,
			   const struct session_rec **ret,
			   struct weft_error *err);
	/* A name never used is a record with ver 0. */
	int (*get_name)(struct store_view *v, struct weft_str name,
			struct name_rec *ret, struct weft_error *err);
	/* The names a session holds now, key first, then by bytes. */
	int (*get_names_of)(struct store_view *v, const struct weft_id *id,
			    struct arena *a, struct name_rec **ret,
			    size_t *ret_n, struct weft_error *err);
	/* `session` NULL: the creation of a session, which is a scope of its
	 * own: not found under its session.  WEFT_NOT_FOUND. */
	int (*find_op)(struct store_view *v, const struct weft_id *session,
		       struct weft_str op, struct op_hit *ret,
		       struct weft_error *err);
	int (*is_hidden)(struct store_view *v, const struct weft_id *session,
			 uint64_t seq, uint32_t *ret, struct weft_error *err);
	int (*read_events)(struct store_view *v, const struct event_range *r,
			   struct arena *a, struct event_page *ret,
			   struct weft_error *err);
	/* The sessions whose parent is `id`, forks and subagents, by id; also
	 * those that were deleted or purged. */
	int (*get_children)(struct store_view *v, const struct weft_id *id,
			    struct arena *a, struct session_rec **ret,
			    size_t *ret_n, struct weft_error *err);
};

/*
 * Turn requests into ops.  Called with the store's lock held, once, or again
 * after the store's own serialization failure; so it must not change anything
 * but `out` and its own memory.
 */
typedef int store_plan(void *ctx, struct store_view *view, struct op_list *out,
		       struct weft_error *err);

/* ---- reading ---- */

enum list_sort { LIST_BY_INTERACTION, LIST_BY_CREATION };
/* Purged sessions are for those who copy a store, or finish a purge. */
enum list_deleted { LIST_LIVE, LIST_WITH_DELETED, LIST_WITH_PURGED };

struct list_query {
	uint64_t kinds; /* bit set by enum session_kind, 0: all */
	struct weft_id parent;
	struct weft_str project_dir, agent, channel, user; /* exact, or empty */
	struct weft_str slug;                              /* exact, or empty */
	struct weft_str
		folded; /* text_fold()ed; in slug, project, first user */
	struct weft_id id_low, id_high; /* a range of ids; both zero: all */
	uint32_t sort;                  /* enum list_sort; newest first */
	uint32_t deleted;               /* enum list_deleted */
	uint32_t limit;     /* at most, and by default, limits.page */
	uint32_t backwards; /* the page before the cursor instead of after */
	int64_t cursor_ms;  /* where to go on; with a zero id: at the top,
			       before which there is nothing */
	struct weft_id cursor_id;
};

struct session_page {
	struct session_rec *v; /* newest first, also when read backwards */
	size_t n;
	uint32_t more; /* there is more in the direction of reading */
};

/* ---- words, for search ---- */

/*
 * An index of tokens follows the events, apart from the commit: somebody asks
 * what is behind, makes tokens of it (model/search.h) and puts them.  It is
 * there from the first time that it was asked to be made, may be lost at any
 * time, and begins anew then; a store may have none and read the events
 * instead, and is never behind.  A store matches tokens and knows nothing of
 * their meaning: what it finds may be hidden, deleted or gone by now.
 */

/* The tokens of one event: spaces between them, no other ASCII than lower case
 * letters and digits. */
struct word_doc {
	uint64_t seq;
	int64_t at_ms; /* search_time() of the event */
	struct weft_str words;
};

/* All that events from + 1 to `to` of a session have. */
struct word_batch {
	struct weft_id session;
	uint64_t from, to;
	const struct word_doc *docs; /* by rising seq */
	size_t n;
};

struct word_behind {
	struct weft_id session;
	uint64_t from, to; /* the words of from + 1 to `to` are missing; what
			      a fork inherits are its parent's */
};

struct behind_page {
	struct word_behind *v; /* some of the sessions that are behind */
	size_t n;
	uint64_t events; /* that are missing, of all; 0: none */
	uint64_t epoch;  /* one more whenever words were dropped */
	uint32_t none;   /* there is no index, and none was to be made */
	uint32_t doomed; /* it has words that drop_words is to take away */
};

struct word_term {
	struct weft_str word;
	uint32_t prefix; /* or anything that begins like this */
};

struct word_hit {
	int64_t at_ms;
	struct weft_id session;
	uint64_t seq;
};

/* What has all terms: newest first, that is by at_ms, session and seq, each
 * falling. */
struct word_query {
	const struct word_term *terms;
	size_t n_terms;
	const struct weft_id *sessions; /* only in these; none: in all */
	size_t n_sessions;
	const struct word_hit *after; /* only what comes after it, or NULL */
	uint32_t limit;
};

struct word_page {
	struct word_hit *v;
	size_t n;
	uint32_t more;
};

/* ---- looking after a store ---- */

enum store_task {
	TASK_CHECKPOINT, /* leave nothing that only the log knows */
	TASK_VERIFY,     /* read everything, change nothing */
	TASK_REPAIR,     /* leave a store that VERIFY calls clean */
	TASK_REINDEX,    /* derive everything that is derived again */
	TASK_BLOBS,      /* drop blobs that nothing refers to; see below */
	TASK_SUSPEND,    /* let go of sessions that nobody has used lately */
	TASK_BACKUP,     /* a copy of everything as it is now, in report.file */
	TASK_FORGET      /* leave no bytes of what was rewritten or dropped:
			    in the log, in free pages, set aside */
};

/*
 * TASK_BLOBS drops blobs to which no event refers, if nobody has put them, or
 * referred to them, for a day: who puts a blob has so long to write what refers
 * to it.  With report.only it looks at those blobs alone and drops what nothing
 * refers to, however young it is.  That is for whoever has just removed
 * events for good (erase, reclaim, purge): list the references of what is to
 * go with blob_list (model/blob.h), remove the events, then call this.  If
 * somebody is about to refer to one of them again, his write fails with
 * NOT_FOUND, which the engine makes BUSY: no event is ever left without its
 * blob.
 */
#define STORE_BLOB_REST_MS (24 * 60 * 60 * INT64_C(1000))

struct store_problem {
	struct weft_id session; /* zero: the store itself */
	struct weft_str file;   /* relative to the store, or empty */
	uint64_t line;          /* from 1, or 0 */
	uint64_t offset;
	struct weft_str reason;
};

struct store_report {
	struct arena *arena;  /* from the caller: where problems are put */
	struct weft_str file; /* BACKUP: what to make, ends with a NUL */
	const struct blob_ref *only; /* BLOBS: NULL, or those to look at */
	size_t n_only;
	uint64_t idle_ms; /* SUSPEND: how long is long; 0: limits.idle_ms */
	/* FORGET: the sessions whose bytes are to go. */
	const struct weft_id *forget;
	size_t n_forget;
	uint64_t sessions, events, bytes, blobs;
	uint64_t changed; /* what the task mended or dropped */
	struct store_problem *problems;
	size_t n_problems, room;
	/* Called now and then; may be NULL. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
};

struct store_health {
	uint32_t writable;
	uint32_t failed;     /* fail-stop: no writes until a lone opener */
	uint32_t complete;   /* derived data can be relied on */
	uint64_t log_bytes;  /* what only the log knows */
	uint64_t free_bytes; /* on its file system; 0: not known */
	uint64_t active;     /* sessions held in memory */
	uint64_t open_files;
	uint64_t flushes, frames, checkpoints; /* since opening */
	char reason[160]; /* why it is not writable, or empty */
};

enum store_open_flags {
	STORE_READ_ONLY = 1,
	STORE_CREATE = 2,     /* make it if it is not there */
	STORE_SINGLE = 4,     /* one exclusive opener; network file systems */
	STORE_BY_HAND = 8,    /* no thread of its own: tests call maintain */
	STORE_UNCHECKED = 16, /* leave out what only repair may look at */
	STORE_LAGGING = 32 /* BY_HAND: leave behind what need not be written */
};

/* Every limit is an option; 0 stands for its default. */
struct store_limits {
	uint64_t message_bytes;     /* 16 MiB */
	uint64_t batch_messages;    /* 1,024 */
	uint64_t parts;             /* 1,024 */
	uint64_t json_depth;        /* 128 */
	uint64_t name_bytes;        /* 512 */
	uint64_t slug_bytes;        /* 256 */
	uint64_t names;             /* 64 per session */
	uint64_t metadata_bytes;    /* 64 KiB */
	uint64_t op_bytes;          /* 128 */
	uint64_t ops_remembered;    /* 4,096 events */
	uint64_t queue;             /* 4,096 requests */
	uint64_t page;              /* 1,000 */
	uint64_t active_sessions;   /* 10,000 */
	uint64_t open_files;        /* 512 */
	uint64_t idle_ms;           /* 30 min until a session is suspended */
	uint64_t fork_depth;        /* 4,096 */
	uint64_t subagent_depth;    /* 32 */
	uint64_t segment_bytes;     /* 1 MiB, the first size of a segment */
	uint64_t segment_bytes_max; /* 64 MiB */
	uint64_t busy_ms;           /* 5,000: how long to wait for the lock */
	uint64_t lease_ms;          /* 60 s, unless somebody asks for another */
	uint64_t lease_ms_min;      /* 5 s */
	uint64_t lease_ms_max;      /* 1 h */
	uint64_t todos;             /* 1,000 per session */
	uint64_t memory_bytes;      /* 64 KiB */
	uint64_t blob_bytes;        /* 64 KiB; what is larger is kept apart */
	uint64_t summary_bytes;     /* 1 MiB */
	uint64_t window_messages;   /* as many as there are */
};

struct store_open {
	struct weft_str path; /* what follows the scheme, unescaped */
	uint32_t flags;       /* enum store_open_flags */
	struct store_limits limits;
	const struct clock_source *clock; /* NULL: the system's */
	struct fs *fs;                    /* NULL: the real one */
};

struct store {
	const struct store_ops *ops;
	struct store_limits limits; /* with every default filled in */
	uint32_t lone;              /* nobody but this opener can write it */
	uint32_t by_hand;           /* nothing happens in the background */
	uint32_t read_only;         /* store_open_url's: it was asked for */
	/* It has no use for store_want: a plan may grow while it is made, over
	 * its bytes, too. */
	uint32_t unhinted;
};

struct store_ops {
	const char *scheme; /* "jsonl" in jsonl:DIR */

	int (*open)(const struct store_open *o, struct store **ret,
		    struct weft_error *err);
	/* Takes everything that was acknowledged to rest; frees `s` whatever
	 * it returns. */
	int (*close)(struct store *s, struct weft_error *err);

	/*
	 * Lock, plan, write, flush.  Answers: OK, durable · the plan's own
	 * error, nothing written · NO_SPACE, BUSY, READ_ONLY, LIMIT, nothing
	 * written · IO, nothing written, the store has stopped · UNKNOWN, may
	 * have been written, the store has stopped; the operation id tells
	 * after reopening.  A plan without ops is OK and writes nothing.
	 */
	int (*write)(struct store *s, const struct store_want *want,
		     store_plan *plan, void *ctx, struct weft_error *err);

	/* out[i].id is zero where there is no such session. */
	int (*get_sessions)(struct store *s, const struct weft_id *ids,
			    size_t n, struct arena *a, struct session_rec *out,
			    struct weft_error *err);
	/* out[i].ver is 0 where the name was never used. */
	int (*get_names)(struct store *s, const struct weft_str *names,
			 size_t n, struct arena *a, struct name_rec *out,
			 struct weft_error *err);
	/* out[i] is what ids[i] holds now, as a view tells it. */
	int (*get_names_of)(struct store *s, const struct weft_id *ids,
			    size_t n, struct arena *a,
			    struct session_names *out, struct weft_error *err);
	/* Never follows parents.  A session that is not there is empty. */
	int (*read_events)(struct store *s, const struct event_range *r,
			   struct arena *a, struct event_page *ret,
			   struct weft_error *err);
	/* The seqs in first..last that `session` itself has hidden, rising. */
	int (*get_hidden)(struct store *s, const struct weft_id *session,
			  uint64_t first, uint64_t last, struct arena *a,
			  uint64_t **ret, size_t *ret_n,
			  struct weft_error *err);
	int (*list)(struct store *s, const struct list_query *q,
		    struct arena *a, struct session_page *ret,
		    struct weft_error *err);
	/* Sessions whose events carry this tag in their ids (base/id.h). */
	int (*find_tag)(struct store *s, uint64_t tag, struct arena *a,
			struct weft_id **ret, size_t *ret_n,
			struct weft_error *err);
	/* Where this session's file is, for people; empty if there is none. */
	int (*where)(struct store *s, const struct weft_id *session,
		     struct arena *a, struct weft_str *ret,
		     struct weft_error *err);

	/* Durable on return; the same bytes are kept once.  What is there and
	 * damaged is replaced. */
	int (*put_blob)(struct store *s, struct weft_str bytes,
			struct blob_ref *ret, struct weft_error *err);
	/* The whole blob, its hash checked; WEFT_CORRUPT if it is wrong. */
	int (*get_blob)(struct store *s, const struct blob_ref *ref,
			struct arena *a, struct weft_str *ret,
			struct weft_error *err);

	/* What the index of words lacks, at most `max` sessions of it; an
	 * index is made if there is none and `make` says so. */
	int (*get_behind)(struct store *s, uint32_t make, size_t max,
			  struct arena *a, struct behind_page *ret,
			  struct weft_error *err);
	/*
	 * Take words into the index, all of this or none.  A batch whose
	 * session is no longer behind from `from` on is left out: somebody
	 * else has been there.  So is all if the epoch is another than when
	 * get_behind was asked: the words may be of what is gone by now.
	 */
	int (*put_words)(struct store *s, uint64_t epoch,
			 const struct word_batch *v, size_t n,
			 struct weft_error *err);
	int (*find_words)(struct store *s, const struct word_query *q,
			  struct arena *a, struct word_page *ret,
			  struct weft_error *err);
	/*
	 * For whoever erases or purges: when this returns, no word of these
	 * sessions is left in the index or in its files, and each is behind
	 * from its beginning.  The same goes for every session that was
	 * rewritten or dropped since words were last dropped: the index
	 * remembers them, so that it can be done later by anybody if whoever
	 * rewrote did not get that far.  Other sessions keep their words.
	 */
	int (*drop_words)(struct store *s, const struct weft_id *sessions,
			  size_t n, struct weft_error *err);

	/*
	 * Wait until something was written since *stamp (0 at first) or for
	 * timeout_ms (< 0: for ever); 1 and a new stamp, or 0.  A hint: look
	 * before you trust it.  wake() ends waits early, from any thread; if
	 * none is under way, the next.
	 */
	int (*wait)(struct store *s, uint64_t *stamp, int64_t timeout_ms,
		    struct weft_error *err);
	void (*wake)(struct store *s);

	int (*maintain)(struct store *s, uint32_t task,
			struct store_report *report, struct weft_error *err);
	int (*health)(struct store *s, struct store_health *ret);
};

#ifdef __cplusplus
}
#endif

#endif

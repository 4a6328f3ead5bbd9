/*
 * plan.h - requests in, store operations out.
 *
 * DESIGN
 *
 * A plan is made inside the store's write, on a view of the store that nobody
 * else can change meanwhile.  Its requests are planned one after the other,
 * and each must see what those before it will have done.  So planning code
 * never asks the view itself: it reads through the functions below, which
 * look into the plan first.  Records are edited in copies of the plan's own
 * and handed to the store once, at the end.
 *
 * Check, then change: a request is refused before plan_add has been called
 * for it, and then nothing of it is in the plan.  If plan_add itself fails,
 * the plan is `broken` and worth nothing.
 *
 * The memory of a plan lives until it is begun again; so do the operations
 * it made.
 */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include "base/buf.h"
#include "engine/engine.h"
#include "model/marker.h"
#include "model/pairs.h"

struct marker;

/* In front of everything that is found by a hash. */
struct plan_node {
	struct plan_node *chain;
	uint64_t hash;
};

/* Nodes by their hash; the buckets are in the plan's arena. */
struct plan_table {
	struct plan_node **buckets;
	size_t mask;
};

/* An event that was planned. */
struct plan_event {
	struct store_event event;
	struct plan_event *older; /* of the same session */
};

/* A session that was looked at. */
struct plan_session {
	struct plan_node node;
	struct plan_session *next; /* in the order of looking */
	struct session_rec rec;    /* as the plan will leave it */
	struct plan_event *events; /* newest first */
	bool is_new;               /* the store does not know it yet */
	bool changed;              /* it gets a new record */
};

/* A name that was looked at. */
struct plan_name {
	struct plan_node node;
	struct plan_name *next;
	struct name_rec rec; /* as the plan will leave it */
};

/* An operation id that was used. */
struct plan_op {
	struct plan_node node;
	struct weft_str op;
	struct weft_id scope; /* zero: the creation of a session */
	struct op_hit hit;
};

/* A message that was hidden or shown again. */
struct plan_mark {
	struct plan_node node;
	struct weft_id session;
	uint64_t seq;
	bool hidden;
};

struct plan {
	/* Set before the write. */
	struct engine *engine;
	const struct store_limits *limits;
	struct request *requests; /* linked by `next` */
	/* More of them, that have come meanwhile, linked behind the last one;
	 * NULL: none.  Or NULL itself. */
	struct request *(*more)(struct plan *p);

	/* Of the planning that was last begun. */
	struct store_view *view;
	struct op_list *out;
	int64_t now_ms;
	struct arena arena;
	struct buf body; /* of the event that is being made */
	struct plan_table session_table, name_table, op_table, mark_table;
	struct plan_session *sessions, **last_session;
	struct plan_name *names, **last_name;
	size_t n_events;
	bool broken; /* plan_add failed */
};

void plan_init(struct plan *p, struct engine *e);
void plan_done(struct plan *p);

/*
 * A store_plan for the requests of `ctx`, a struct plan.  The answer of each
 * request is filled in as it will be if the write succeeds; those that are
 * refused have a status and an error, and nothing of them is written.
 */
int plan_batch(void *ctx, struct store_view *view, struct op_list *out,
	       struct weft_error *err);

/* The same in steps: begin, each request in its turn, end. */
int plan_one(struct plan *p, struct request *q);
int plan_end(struct plan *p, struct weft_error *err);

/* ---- looking (plan_view.c) ---- */

/* Forget everything, and make room for a batch of requests. */
int plan_begin(struct plan *p, struct store_view *view, struct op_list *out,
	       struct weft_error *err);

/* NOT_FOUND names the session. */
int plan_find(struct plan *p, const struct weft_id *id,
	      struct plan_session **ret, struct weft_error *err);

/* The session that a request is about: NOT_FOUND also if it was purged, unless
 * messages of it are to be erased. */
int plan_find_asked(struct plan *p, const struct request *q,
		    struct plan_session **ret, struct weft_error *err);

/* A name, also one that was never used: it has version 0 then. */
int plan_find_name(struct plan *p, struct weft_str name, struct plan_name **ret,
		   struct weft_error *err);

/* The names a session holds, key first. */
int plan_names_of(struct plan *p, const struct plan_session *s,
		  struct name_rec **ret, size_t *ret_n, struct weft_error *err);

/* `s` NULL: the creation of a session.  NOT_FOUND. */
int plan_find_op(struct plan *p, const struct plan_session *s,
		 struct weft_str op, struct op_hit *ret,
		 struct weft_error *err);

/* An event of the session's own; NOT_FOUND. */
int plan_event_at(struct plan *p, const struct plan_session *s, uint64_t seq,
		  const struct store_event **ret, struct weft_error *err);

/* The session's own last event of one type; NOT_FOUND. */
int plan_last_event(struct plan *p, const struct plan_session *s, uint32_t type,
		    const struct store_event **ret, struct weft_error *err);

/* Whether this session itself has hidden what it sees at `seq`. */
int plan_is_hidden(struct plan *p, const struct plan_session *s, uint64_t seq,
		   bool *ret, struct weft_error *err);

/* Let the ops from first_op on be seen by all of the above. */
int plan_note(struct plan *p, size_t first_op, struct weft_error *err);

/* ---- what a session sees, also of its parents (plan_seen.c) ---- */

/*
 * The event that `s` sees at `seq`, its own or one it has inherited.
 * *ret_hidden: somebody on the way to it has hidden it.
 */
int plan_seen_event(struct plan *p, struct plan_session *s, uint64_t seq,
		    const struct store_event **ret, bool *ret_hidden,
		    struct weft_error *err);

/* Look for the n-th message from the end of first..last that nobody has
 * hidden; or go on until `cut` has seen enough of them. */
struct seen_look {
	uint64_t first, last;
	uint64_t n;
	struct turn_cut *cut; /* or NULL */
	struct pairs *pairs;  /* with `cut` */
};
struct seen_found {
	uint64_t n;   /* how many were looked at, less than asked for at the
			 beginning */
	uint64_t seq; /* the last one looked at; 0 if there was none */
	const struct store_event *event;
};
int plan_look_back(struct plan *p, struct plan_session *s,
		   const struct seen_look *ask, struct seen_found *ret,
		   struct weft_error *err);

/* ---- changing (plan.c) ---- */

/*
 * Add an event to a session: `e` has its type, body, op, more, at and
 * background; number, times and ids are given to it.  Whatever it means for
 * records and names is planned as well.  Breaks the plan if it fails.
 */
int plan_add(struct plan *p, struct plan_session *s, struct plan_event *e,
	     const struct message_facts *facts, struct weft_error *err);

/* The same for an event whose body was written to p->body. */
int plan_add_body(struct plan *p, struct plan_session *s, uint32_t type,
		  struct weft_str op, uint32_t more, struct weft_error *err);

/* The same for the event that has the operation id of a request: it is to tell
 * what was asked for (plan_asked.c). */
int plan_add_asked(struct plan *p, struct plan_session *s, uint32_t type,
		   const struct request *q, uint32_t more,
		   struct weft_error *err);

/* A session that is to be, with this id and nothing else. */
struct plan_session *plan_new_session(struct plan *p, const struct weft_id *id);

/* Fill in the answer: the events from `first_seq` on are what was written. */
void plan_answer(struct request *q, const struct plan_session *s,
		 uint64_t first_seq);

/* ---- rules that several kinds of requests share (plan_rules.c) ---- */

/* DELETED, and how to get it back. */
int plan_check_live(const struct plan_session *s, struct weft_error *err);

/* STALE, if something was said since. */
int plan_check_expect(const struct plan_session *s, const struct request *q,
		      struct weft_error *err);

/* LIMIT, if the session cannot take n more events. */
int plan_check_room(const struct plan_session *s, size_t n,
		    struct weft_error *err);

/*
 * If the request's operation id is known in the session: 1 if it is this very
 * request, with the answer filled in; OP_MISMATCH if it is another.  0 if it
 * is not known.
 */
int plan_replay(struct plan *p, const struct plan_session *s, struct request *q,
		uint32_t type, struct weft_error *err);

/*
 * Whether an event was asked for by a request like this one.  *ret_told: the
 * event tells; those from before there was a digest, and those that need none,
 * do not.
 */
int plan_was_asked(struct plan *p, const struct request *q,
		   const struct store_event *e, bool *ret_told, bool *ret,
		   struct weft_error *err);

/* Parts of that: DELETED or CORRUPT if the event cannot be compared any more;
 * whether a message is this one; and the refusal. */
int plan_check_replayed(const struct store_event *e, struct weft_str op,
			struct weft_error *err);
bool plan_is_message(const struct store_event *e, const struct message *m);
int plan_op_mismatch(struct weft_str op, uint64_t seq, struct weft_error *err);

/* Answer with a session that is there already. */
void plan_answer_existing(struct request *q, const struct session_rec *rec);

/* The names a new session takes: its key, if it has one, is not among its
 * aliases. */
struct plan_new_names {
	struct plan_name *key;      /* or NULL */
	struct plan_name **aliases; /* each once */
	size_t n_aliases;
};
bool plan_is_taken(const struct plan_new_names *names,
		   const struct plan_name *x);

/* Give a session the aliases among these names, as the end of a group of
 * events. */
int plan_add_aliases(struct plan *p, struct plan_session *s,
		     const struct plan_new_names *names,
		     struct weft_error *err);

/* Make the session of q->create, with these names. */
int plan_add_session(struct plan *p, struct request *q,
		     const struct weft_id *root,
		     const struct plan_new_names *names,
		     struct weft_error *err);

/* Give a name to a session; `from` is who loses it, or NULL. */
int plan_give_name(struct plan *p, struct request *q, struct plan_session *s,
		   struct plan_session *from, const struct plan_name *x,
		   struct weft_error *err);
/*
 * The same for a session that the request would create.  If the event that made
 * it does not tell what was asked for, `is_same` compares the session, as it
 * was then.
 */
int plan_replay_creation(struct plan *p, struct request *q,
			 bool (*is_same)(const struct request *q,
					 const struct session_rec *made),
			 struct weft_error *err);

/* The messages of a request, as one group; `op` goes to the first, and each
 * message of an append may have its own. */
int plan_add_messages(struct plan *p, struct plan_session *s,
		      const struct request *q, struct weft_str op,
		      struct weft_error *err);

/* ---- markers (plan_marker.c) ---- */

/* The marker that `s` sees at `seq`, and the one in force before it; seq 0:
 * there is none, and everything is kept. */
int plan_read_marker(struct plan *p, struct plan_session *s, uint64_t seq,
		     struct marker *ret, uint64_t *ret_before,
		     struct weft_error *err);

/* ---- leases (plan_lease.c) ---- */

/* LEASED or STALE, for acts that need the lease if there is one. */
int plan_check_lease(const struct plan *p, const struct plan_session *s,
		     const struct request *q, struct weft_error *err);

/* Whether the event is what the request asks for. */
int plan_same_lease(struct plan *p, const struct request *q,
		    const struct store_event *e, bool *ret,
		    struct weft_error *err);

/* Let `rec`, of a session that is to be made, go on where `s` is now: behind
 * its very last event, so that nothing that holds there is lost. */
int plan_fork_head(struct plan *p, struct plan_session *s,
		   struct session_rec *rec, struct weft_error *err);

/*
 * Make the session of q->create go on where `old` is, and give it the names of
 * that and `more`, as far as there is room (plan_promote.c).
 */
int plan_promote(struct plan *p, struct request *q, struct plan_session *old,
		 const struct plan_new_names *more, struct weft_error *err);

/* Take names from a session; the plan has their next versions then. */
int plan_drop_names(struct plan *p, struct plan_session *s,
		    const struct name_rec *v, size_t n, struct weft_error *err);

/*
 * Make the session of q->create in the place of `old`: it takes all names of
 * that, and what it was set to; `old` stays as its previous one.
 */
int plan_begin_anew(struct plan *p, struct request *q, struct plan_session *old,
		    struct weft_error *err);

/* ---- memories (plan_memory.c) ---- */

/* MEMORY_NOT_FOUND, unless the event is a memory that was not forgotten. */
int plan_check_memory(struct plan *p, const struct plan_session *s,
		      uint64_t target, struct weft_error *err);

/* ---- the kinds of requests ---- */

int plan_create(struct plan *p, struct request *q, struct weft_error *err);
int plan_append(struct plan *p, struct request *q, struct weft_error *err);
int plan_patch(struct plan *p, struct request *q, struct weft_error *err);
int plan_rename(struct plan *p, struct request *q, struct weft_error *err);
int plan_redact(struct plan *p, struct request *q, struct weft_error *err);
int plan_delete(struct plan *p, struct request *q, struct weft_error *err);
int plan_restore(struct plan *p, struct request *q, struct weft_error *err);
int plan_plain(struct plan *p, struct request *q, struct weft_error *err);
int plan_reset(struct plan *p, struct request *q, struct weft_error *err);
int plan_route(struct plan *p, struct request *q, struct weft_error *err);
int plan_lease(struct plan *p, struct request *q, struct weft_error *err);
int plan_fork(struct plan *p, struct request *q, struct weft_error *err);
int plan_marker(struct plan *p, struct request *q, struct weft_error *err);
int plan_purge(struct plan *p, struct request *q, struct weft_error *err);
int plan_rewrite(struct plan *p, struct request *q, struct weft_error *err);

#endif

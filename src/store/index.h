/*
 * index.h - what is derived, kept in memory: records, names, hidden marks and
 * operation ids.
 *
 * DESIGN
 *
 * A write has two steps, so that it happens whole or not at all.  index_prepare
 * makes everything that needs memory and may fail.  What it makes means nothing
 * yet (a session without a record, a name never used, a mark that hides
 * nothing, an operation id without an event), so that a write which is given
 * up needs no undoing but index_discard.  index_commit fills it in and cannot
 * fail.
 *
 * No locks: reading may go on in many threads while nobody prepares or
 * commits.
 */
#ifndef STORE_INDEX_H
#define STORE_INDEX_H

#include "base/arena.h"
#include "base/table.h"
#include "model/record.h"
#include "weft/store.h"

struct index {
	struct table sessions; /* struct index_session */
	struct table names;    /* struct index_name */
	struct table ops;      /* struct index_op */
};

struct index_session {
	struct table_node node;
	struct weft_id id;
	struct record_own own;     /* with a zero id until there is a record */
	struct index_name *names;  /* what it holds, in no order */
	struct store_hide *hidden; /* by rising target; also undone ones */
	size_t n_hidden, room_hidden;
};

struct index_name {
	struct table_node node;
	struct name_rec rec; /* its text is behind this struct */
	struct index_session *holder;
	struct index_name *next; /* of the same holder */
};

void index_init(struct index *x);
void index_done(struct index *x);

/* ops[i] has its preparations in prepared[i], all NULL at first. */
int index_prepare(struct index *x, const struct op_list *ops, void **prepared,
		  struct weft_error *err);
void index_commit(struct index *x, const struct op_list *ops, void **prepared);
void index_discard(const struct op_list *ops, void **prepared);

/* The record, or NULL if there is no such session. */
const struct session_rec *index_session(const struct index *x,
					const struct weft_id *id);
/* A name never used has ver 0; its text is the caller's then. */
struct name_rec index_name(const struct index *x, struct weft_str name);
/* What the session holds, in the order of match_name_order(). */
int index_names_of(const struct index *x, const struct weft_id *id,
		   struct arena *a, struct name_rec **ret, size_t *ret_n,
		   struct weft_error *err);
/* False if it is not known.  `session` NULL: a creation. */
bool index_find_op(const struct index *x, const struct weft_id *session,
		   struct weft_str op, struct op_hit *ret);
bool index_is_hidden(const struct index *x, const struct weft_id *session,
		     uint64_t seq);
int index_hidden(const struct index *x, const struct weft_id *session,
		 uint64_t first, uint64_t last, struct arena *a, uint64_t **ret,
		 size_t *ret_n, struct weft_error *err);

#endif

/*
 * sql.h - a store in tables: what sqlite: and postgres: share.
 *
 * DESIGN
 *
 * Everything a store does is written once, in this directory, as statements
 * that both databases understand; a driver knows how to run them.  The few
 * places where the databases differ are marked in the text of a statement
 * (text.h).
 *
 * A statement runs for a number of rows.  SQLite runs it once for each; in
 * PostgreSQL the columns become arrays, and one statement does all of them, so
 * that the number of statements of a batch does not grow with its size.
 *
 * There is one connection for writing, under `writer`, and a few for reading,
 * handed out under `pool`.  A write begins a transaction, fetches and locks
 * what is wanted, plans, writes and commits.  When the database says that
 * another one was in the way, all of that is done again.
 */
#ifndef STORE_SQL_SQL_H
#define STORE_SQL_SQL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/table.h"
#include "store/sql/text.h"
#include "store/store.h"

struct sql_store;

/* A connection; drivers put it first in their own. */
struct sql_conn {
	struct sql_store *store;
	bool replan;   /* the last failure was another one's doing: try again */
	bool others;   /* since the last write somebody else may have written */
	int64_t stamp; /* of the rows of the last commit; 0: not known */
	bool busy;     /* under sql_store.pool */
};

/* Rows that a statement is to run for: n rows of `width` values. */
struct sql_rows {
	const struct sql_value *v;
	size_t n, width;
};

/* Called with each row of an answer; its values are valid during the call.
 * 0: go on; SQL_ENOUGH: no more rows are wanted; or a negative code. */
typedef int sql_each(void *ctx, const struct sql_value *row,
		     struct weft_error *err);
#define SQL_ENOUGH 1

enum sql_use { SQL_FOR_READING, SQL_FOR_WRITING };

struct sql_driver {
	enum sql_dialect dialect;
	/* A write keeps others out only from the rows that it has locked: what
	 * was known before has to be compared with them. */
	bool shared;
	/* Rows come as they are asked for: those that are not wanted any more
	 * cost nothing. */
	bool streams;
	int (*conn_open)(struct sql_store *s, enum sql_use use,
			 struct sql_conn **ret, struct weft_error *err);
	void (*conn_close)(struct sql_conn *c);
	/* For reading: what follows sees one state of the store.  For
	 * writing: sets `others`. */
	int (*begin)(struct sql_conn *c, enum sql_use use,
		     struct weft_error *err);
	/* UNKNOWN if nobody can tell.  Sets `stamp`. */
	int (*commit)(struct sql_conn *c, struct weft_error *err);
	void (*rollback)(struct sql_conn *c); /* also if none was begun */
	/* Keep other writers away from these names, which may not be there. */
	int (*lock_names)(struct sql_conn *c, const struct weft_str *names,
			  size_t n, struct weft_error *err);
	/* Run statement `key` of text.h; *changed is how many rows it has
	 * changed.  `in`, `each` and `changed` may be NULL; in a write, what
	 * has neither may be done later, and fail at the commit. */
	int (*run)(struct sql_conn *c, uint32_t key, const struct sql_rows *in,
		   sql_each *each, void *ctx, uint64_t *changed,
		   struct weft_error *err);
	/* Leave no bytes of what was deleted where we can help it. */
	int (*forget)(struct sql_store *s, struct weft_error *err);
	/* What the database itself has to say about its health. */
	int (*check)(struct sql_conn *c, struct store_report *report,
		     struct weft_error *err);
	int (*backup)(struct sql_store *s, struct store_report *report,
		      struct weft_error *err);
	/* The index of words (weft/store.h); in a transaction, but for
	 * reading. */
	int (*put_words)(struct sql_conn *c, const struct word_batch *b,
			 struct weft_error *err);
	int (*find_words)(struct sql_conn *c, const struct word_query *q,
			  size_t limit, struct arena *a, struct word_page *ret,
			  struct weft_error *err);
	int (*drop_words)(struct sql_conn *c, const struct weft_id *sessions,
			  size_t n, struct weft_error *err);
	int (*clear_words)(struct sql_conn *c, struct weft_error *err);
	/* Tell others that something was committed. */
	void (*committed)(struct sql_store *s);
};

#define SQL_READERS 4

/* A record, and the stamp of its row. */
struct sql_record {
	struct session_rec rec;
	int64_t stamp;
};

struct sql_cached;

/* Records that are known (cache.c). */
struct sql_cache {
	struct table table;
	struct sql_cached *newest, *oldest;
	size_t max;
};

struct sql_store {
	struct store store; /* first */
	const struct sql_driver *driver;
	struct clock_source clock; /* our own copy */
	uint64_t process;          /* process_generation() of who opened it */
	bool read_only;
	bool one_conn; /* reads go through the writer */

	pthread_mutex_t writer;
	struct sql_conn *write_conn; /* NULL: read only */
	struct sql_cache cache;      /* under `writer` */
	bool stopped;                /* fail-stop, under `writer` */
	char reason[160];

	pthread_mutex_t pool;
	pthread_cond_t freed;
	struct sql_conn *readers[SQL_READERS];

	atomic_ullong writes; /* since opening */
};

static inline struct sql_store *sql_of(struct store *s)
{
	return (struct sql_store *)(void *)s;
}

/* ---- life ---- */

int sql_init(struct sql_store *s, const struct store_open *o,
	     const struct store_ops *ops, const struct sql_driver *driver,
	     struct weft_error *err);
/* The connections and what sql_init made; not what the driver made. */
void sql_done(struct sql_store *s);

/* WEFT_IO in a process that did not open the store. */
int sql_check(const struct sql_store *s, struct weft_error *err);
/* The same, and WEFT_READ_ONLY if nothing may be changed. */
int sql_check_writable(const struct sql_store *s, struct weft_error *err);
/* Under `writer`: WEFT_IO once nobody can say what is in the database. */
int sql_check_stopped(const struct sql_store *s, struct weft_error *err);

/*
 * `act` in a transaction of its own on the connection that writes, and again
 * while that may do better.  For what is not planned and may be done twice: its
 * failure stops nothing.
 */
typedef int sql_act(struct sql_conn *c, void *ctx, struct weft_error *err);
int sql_transaction(struct sql_store *s, sql_act *act, void *ctx,
		    struct weft_error *err);
/* Records that were known are fetched again. */
void sql_forget_records(struct sql_store *s);

/* A connection to read with, until sql_release. */
int sql_reader(struct sql_store *s, struct sql_conn **ret,
	       struct weft_error *err);
void sql_release(struct sql_conn **c); /* for CLEANUP; takes NULL */

/* ---- running statements ---- */

static inline int sql_run(struct sql_conn *c, uint32_t key,
			  const struct sql_rows *in, sql_each *each, void *ctx,
			  struct weft_error *err)
{
	return c->store->driver->run(c, key, in, each, ctx, NULL, err);
}

/* One row of parameters. */
#define SQL_ROW(...)                                                       \
	(&(struct sql_rows){ (struct sql_value[]){ __VA_ARGS__ }, 1,       \
			     sizeof((struct sql_value[]){ __VA_ARGS__ }) / \
				     sizeof(struct sql_value) })

/* ---- what connections read; for stores and for planners ---- */

int sql_get_sessions(struct sql_conn *c, uint32_t key,
		     const struct weft_id *ids, size_t n, struct arena *a,
		     struct session_rec *out, struct weft_error *err);
/* The same, with the stamps of their rows; key is one that locks. */
int sql_lock_sessions(struct sql_conn *c, uint32_t key,
		      const struct weft_id *ids, size_t n, struct arena *a,
		      struct sql_record *out, struct weft_error *err);
int sql_get_children(struct sql_conn *c, const struct weft_id *id,
		     struct arena *a, struct session_rec **ret, size_t *ret_n,
		     struct weft_error *err);
int sql_get_names(struct sql_conn *c, const struct weft_str *names, size_t n,
		  struct arena *a, struct name_rec *out,
		  struct weft_error *err);
int sql_get_names_of(struct sql_conn *c, const struct weft_id *ids, size_t n,
		     struct arena *a, struct session_names *out,
		     struct weft_error *err);
int sql_find_op(struct sql_conn *c, const struct weft_id *session,
		struct weft_str op, struct op_hit *ret, struct weft_error *err);
int sql_is_hidden(struct sql_conn *c, const struct weft_id *session,
		  uint64_t seq, uint32_t *ret, struct weft_error *err);
int sql_read_events(struct sql_conn *c, const struct event_range *r,
		    struct arena *a, struct event_page *ret,
		    struct weft_error *err);
int sql_get_hidden(struct sql_conn *c, const struct weft_id *session,
		   uint64_t first, uint64_t last, struct arena *a,
		   uint64_t **ret, size_t *ret_n, struct weft_error *err);
/* The first column of the first row, a number; 0 if there is none. */
int sql_number(struct sql_conn *c, uint32_t key, const struct sql_rows *in,
	       int64_t *ret, struct weft_error *err);
/* A row that makes no sense. */
int sql_fail_row(const char *table, struct weft_error *err);

/* ---- writing ---- */

/* What a write knows of a session before it. */
struct sql_known {
	struct table_node node;
	struct weft_id id;
	const struct session_rec *rec; /* NULL: there is none */
	int64_t stamp;
	bool asked; /* the planner has looked at it */
};

struct sql_view;
const struct sql_known *sql_view_known(const struct sql_view *v,
				       const struct weft_id *id);
/*
 * How many records the planner has seen that nobody has locked: each of them
 * must be compared, or the plan may be wrong.
 */
size_t sql_view_assumed(const struct sql_view *v);
/* Lock and compare them now: BUSY and `replan` if one is another. */
int sql_view_lock(struct sql_view *v, struct weft_error *err);

/* The records that a write has left; NULL: not known. */
struct sql_written {
	struct {
		struct weft_id id;
		const struct session_rec *rec;
	} * v;
	size_t n;
	bool all; /* any may be another now */
};

/* Put what was planned into the tables.  *ret is in the arena of the ops. */
int sql_apply(struct sql_conn *c, struct sql_view *v, const struct op_list *ops,
	      struct sql_written *ret, struct weft_error *err);

/* Valid until something is taken; NULL if it is not known. */
const struct sql_record *sql_cache_find(struct sql_cache *c,
					const struct weft_id *id);
void sql_cache_take(struct sql_cache *c, const struct sql_written *w,
		    int64_t stamp);
void sql_cache_drop(struct sql_cache *c, const struct weft_id *id);
void sql_cache_clear(struct sql_cache *c);
/* Replace or make records; those with `grown` are there already. */
int sql_put_records(struct sql_conn *c, const struct session_rec *const *recs,
		    size_t n, bool grown, struct arena *a,
		    struct weft_error *err);
/* Derive again all that is derived, in the transaction that was begun. */
int sql_rebuild(struct sql_conn *c, struct weft_error *err);
/* Put events into their table whose numbers nobody else has. */
int sql_put_events(struct sql_conn *c, const struct store_event *const *v,
		   size_t n, struct arena *a, struct weft_error *err);
/* Take all words out of the index; inside a transaction. */
int sql_clear_words(struct sql_conn *c, struct weft_error *err);
int sql_no_such_blob(const struct blob_ref *ref, struct weft_error *err);

/* ---- references to blobs ---- */

struct sql_refs {
	struct blob_ref *v;
	size_t n, room;
};

/* Add what an event refers to. */
int sql_refs_add(struct sql_refs *refs, const struct store_event *e,
		 struct arena *a, struct weft_error *err);
/* Make the rows of a session say this, which is sorted; *ret_changed is 1 if
 * they said something else. */
int sql_refs_settle(struct sql_conn *c, const struct weft_id *session,
		    struct sql_refs *refs, struct arena *a,
		    uint64_t *ret_changed, struct weft_error *err);

/* ---- slots of struct store_ops ---- */

int sql_store_write(struct store *s, const struct store_want *want,
		    store_plan *plan, void *ctx, struct weft_error *err);
int sql_store_get_sessions(struct store *s, const struct weft_id *ids, size_t n,
			   struct arena *a, struct session_rec *out,
			   struct weft_error *err);
int sql_store_get_names(struct store *s, const struct weft_str *names, size_t n,
			struct arena *a, struct name_rec *out,
			struct weft_error *err);
int sql_store_get_names_of(struct store *s, const struct weft_id *ids, size_t n,
			   struct arena *a, struct session_names *out,
			   struct weft_error *err);
int sql_store_read_events(struct store *s, const struct event_range *r,
			  struct arena *a, struct event_page *ret,
			  struct weft_error *err);
int sql_store_get_hidden(struct store *s, const struct weft_id *session,
			 uint64_t first, uint64_t last, struct arena *a,
			 uint64_t **ret, size_t *ret_n, struct weft_error *err);
int sql_store_list(struct store *s, const struct list_query *q, struct arena *a,
		   struct session_page *ret, struct weft_error *err);
int sql_store_find_tag(struct store *s, uint64_t tag, struct arena *a,
		       struct weft_id **ret, size_t *ret_n,
		       struct weft_error *err);
int sql_store_where(struct store *s, const struct weft_id *session,
		    struct arena *a, struct weft_str *ret,
		    struct weft_error *err);
int sql_store_put_blob(struct store *s, struct weft_str bytes,
		       struct blob_ref *ret, struct weft_error *err);
int sql_store_get_blob(struct store *s, const struct blob_ref *ref,
		       struct arena *a, struct weft_str *ret,
		       struct weft_error *err);
int sql_store_get_behind(struct store *s, uint32_t make, size_t max,
			 struct arena *a, struct behind_page *ret,
			 struct weft_error *err);
int sql_store_put_words(struct store *s, uint64_t epoch,
			const struct word_batch *v, size_t n,
			struct weft_error *err);
int sql_store_find_words(struct store *s, const struct word_query *q,
			 struct arena *a, struct word_page *ret,
			 struct weft_error *err);
int sql_store_drop_words(struct store *s, const struct weft_id *sessions,
			 size_t n, struct weft_error *err);
int sql_store_maintain(struct store *s, uint32_t task,
		       struct store_report *report, struct weft_error *err);
/* What both databases can say of their health. */
int sql_health(struct sql_store *s, struct store_health *ret);

#endif

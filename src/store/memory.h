/* memory.h - the inside of the memory: store, shared by its files. */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include <pthread.h>

#include "base/clock.h"
#include "base/table.h"
#include "store/index.h"
#include "store/store.h"

/* The events of one session, in their order. */
struct memory_log {
	struct table_node node;
	struct weft_id session;
	struct store_event *v; /* bytes and op of each are one allocation */
	size_t n, room;
	size_t coming; /* v[n..n + coming): prepared, not yet written */
};

struct memory_blob {
	struct table_node node;
	struct blob_ref ref;
	int64_t at_ms; /* when somebody put it or referred to it last */
	bool used;     /* while blobs are collected: an event refers to it */
	char bytes[];
};

/*
 * DESIGN
 *
 * `writer` is held by a write from planning to publishing, and by tasks that
 * change something.  `lock` guards all data: shared for reading, exclusive
 * only while a planned write is put in place.  Whoever holds `writer` may read
 * without `lock`, except blobs, which come and go without a write.  `bell`
 * guards what waiting needs.  Order: writer, lock; bell is never held with
 * another.
 */
struct memory {
	struct store store;
	uint64_t process; /* process_generation() of who opened it */
	bool read_only;
	struct clock_source clock;

	pthread_mutex_t writer;
	pthread_rwlock_t lock;
	struct table logs;  /* the truth */
	struct table blobs; /* by their hash */
	struct index index; /* derived from the logs */

	pthread_mutex_t bell;
	pthread_cond_t rung;
	uint64_t stamp;   /* one more for each write */
	uint64_t wakes;   /* one more for each wake() */
	bool wake_unseen; /* no wait was under way: it ends the next */
	uint64_t writes;
};

static inline struct memory *memory_of(struct store *s)
{
	return (struct memory *)(void *)s;
}

/* What a plan is shown (memory_view.c). */
struct memory_view {
	struct store_view view;
	struct memory *m;
};
extern const struct store_view_ops memory_view_ops;

/* WEFT_IO in a process that did not open the store. */
int memory_check_process(const struct memory *m, struct weft_error *err);

/* The same, and WEFT_READ_ONLY if nothing may be changed. */
int memory_check_writable(const struct memory *m, struct weft_error *err);

/* The blob with this hash, or NULL. */
struct memory_blob *memory_blob_find(const struct memory *m,
				     const struct blob_ref *ref);

/* The session's log, or NULL. */
struct memory_log *memory_log_find(const struct memory *m,
				   const struct weft_id *session);
/*
 * Put a copy of `e` behind its session's log, where nobody sees it before
 * memory_log_commit; WEFT_INVALID unless its number is the next one.  A
 * session's first event may have any number.
 */
int memory_log_prepare(struct memory *m, const struct store_event *e,
		       struct weft_error *err);
void memory_log_commit(struct memory *m, const struct weft_id *session);
void memory_log_discard(struct memory *m, const struct weft_id *session);
int memory_log_read(const struct memory *m, const struct event_range *r,
		    struct arena *a, struct event_page *ret,
		    struct weft_error *err);
void memory_log_free(struct memory_log *log);

/* Whether there are ops that memory_rewrite is for. */
bool memory_is_rewrite(const struct op_list *ops);

/*
 * Put other lines into logs, or let logs go, and derive everything again;
 * all of it or nothing.  Needs `writer`.
 */
int memory_rewrite(struct memory *m, const struct op_list *ops,
		   struct weft_error *err);

/* A log of this session that is in no table, with a copy of `e` at its end. */
int memory_log_add(struct memory_log *log, const struct store_event *e,
		   struct weft_error *err);

/* Derive everything from the logs into `fresh`. */
struct rebuild;
int memory_derive(struct memory *m, struct rebuild *fresh,
		  struct store_report *report, struct weft_error *err);

/* ---- memory_words.c: search without an index ---- */

int memory_get_behind(struct store *s, uint32_t make, size_t max,
		      struct arena *a, struct behind_page *ret,
		      struct weft_error *err);
int memory_put_words(struct store *s, uint64_t epoch,
		     const struct word_batch *v, size_t n,
		     struct weft_error *err);
int memory_find_words(struct store *s, const struct word_query *q,
		      struct arena *a, struct word_page *ret,
		      struct weft_error *err);
int memory_drop_words(struct store *s, const struct weft_id *sessions, size_t n,
		      struct weft_error *err);

int memory_maintain(struct store *s, uint32_t task, struct store_report *report,
		    struct weft_error *err);

#endif

/* store.h - find a store by its URL, and call it without writing ops->. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/arena.h"
#include "weft/store.h"

/*
 * Open "scheme:path?option=value&...".  Options are the names of the fields
 * of struct store_limits, and read_only, single, create (0 or 1).  What a URL
 * says goes over what `o` says.  o->path is set from the URL.
 */
int store_open_url(const char *url, const struct store_open *o,
		   struct store **ret, struct weft_error *err);

/*
 * Whether a URL names a store: WEFT_INVALID if not.  If it does, but the store
 * cannot be there, *ret_place says why; else its code is 0.  Nothing is made, and
 * no server is asked.
 */
int store_check_url(const char *url, struct weft_error *ret_place,
		    struct weft_error *err);

/* Fill in the default of every limit that is 0; WEFT_INVALID if one is out
 * of what the formats can hold. */
int store_limits_fill(struct store_limits *l, struct weft_error *err);

/* Note a problem in a report, and go on. */
int report_problem(struct store_report *r, const struct weft_id *session,
		   const char *file, uint64_t line, uint64_t offset,
		   struct weft_error *err, const char *format, ...)
	__attribute__((format(printf, 7, 8)));

/* The answer of stores that have no way of their own to BACKUP. */
int report_no_backup(const char *advice, struct weft_error *err);

extern const struct store_ops store_memory;
extern const struct store_ops store_jsonl;
extern const struct store_ops store_sqlite;
extern const struct store_ops store_postgres, store_postgresql;

/* For store_check_url: whether a store that was asked for like this can be. */
int jsonl_check_place(const struct store_open *o, struct weft_error *err);
int sqlite_check_place(const struct store_open *o, struct weft_error *err);
int pg_check_url(const struct store_open *o, struct weft_error *err);

/* Decorators: they own what they wrap. */

/* Tell `tell` about every call in one line: "write sessions=1 -> ok 212us". */
int store_trace(struct store *inner, void (*tell)(void *ctx, const char *line),
		void *ctx, struct store **ret, struct weft_error *err);

/* Let `after` calls of the slots in `mask` through, then fail `count` of them
 * with `code` (0 = all that follow). */
enum fault_slot {
	FAULT_WRITE = 1,      /* before anything happened */
	FAULT_WRITE_LATE = 2, /* after the write was done: UNKNOWN */
	FAULT_READ = 4,       /* every read slot */
	FAULT_BLOB = 8,
	FAULT_MAINTAIN = 16,
	FAULT_WORDS = 32 /* the slots of the index for search */
};
int store_fault(struct store *inner, struct store **ret,
		struct weft_error *err);
void store_fault_set(struct store *s, unsigned mask, uint64_t after,
		     uint64_t count, int code);
uint64_t store_fault_hits(struct store *s);

static inline int store_close(struct store *s, struct weft_error *err)
{
	return s ? s->ops->close(s, err) : WEFT_OK;
}

#endif

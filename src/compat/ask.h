/*
 * ask.h - requests to the door, written and answered, one after another.
 *
 * A function of compat.h fills in a request field by field and calls; the
 * first error sticks, so that it checks once.  What is a rule is behind the
 * door, or in the engine; here are only names of fields.
 */
#ifndef COMPAT_ASK_H
#define COMPAT_ASK_H

#include "base/arena.h"
#include "base/buf.h"
#include "weft/weft.h"

struct ask {
	struct weft_store *store;
	struct weft_error *err; /* never NULL */
	struct weft_error unheard;
	struct buf request;
	struct arena arena; /* of answers that are looked into */
	int error;          /* sticky */
};

void ask_init(struct ask *a, struct weft_store *store, struct weft_error *err);
void ask_done(struct ask *a); /* also for CLEANUP */

/* `len` bytes of the caller's; the error names `field`. */
struct weft_str ask_text(struct ask *a, const char *field, const char *text,
			 size_t len);
/* The same, not empty. */
struct weft_str ask_filled(struct ask *a, const char *field, const char *text,
			   size_t len);
/* The same, an id; what is none is NOT_FOUND. */
struct weft_str ask_id(struct ask *a, const char *field, const char *text,
		       size_t len);
/* A caller's JSON: one value, copied. */
struct weft_str ask_json(struct ask *a, const char *field, const char *text,
			 size_t len);
/* INVALID if there is no place for the answer. */
void ask_place(struct ask *a, struct weft_answer **ret);

/* Begin a request, and add to it.  Empty text is added only by ask_add_any. */
void ask_method(struct ask *a, const char *method);
void ask_about(struct ask *a, const char *method, struct weft_str session);
void ask_add_text(struct ask *a, const char *field, struct weft_str s);
void ask_add_any(struct ask *a, const char *field, struct weft_str s);
void ask_add_raw(struct ask *a, const char *field, struct weft_str json);
void ask_add_u64(struct ask *a, const char *field, uint64_t n);
void ask_add_true(struct ask *a, const char *field);
void ask_add_model(struct ask *a, struct weft_str provider,
		   struct weft_str name);

/* Call; the answer is the caller's, or ends up in the arena. */
int ask_call(struct ask *a, struct weft_answer **ret);
struct weft_str ask_answer(struct ask *a);
int ask_do(struct ask *a); /* the answer does not matter */

/* A string in an answer, without quotes; empty for null. */
struct weft_str answer_str(struct weft_str object, const char *name);
uint64_t answer_u64(struct weft_str object, const char *name);

/* The id of the session that has this name; empty if there is none. */
struct weft_str ask_named(struct ask *a, struct weft_str name);
/* The same, made if there is none. */
struct weft_str ask_named_or_new(struct ask *a, struct weft_str name);

/* ask_init and ask_filled, for calls by key. */
struct weft_str ask_by_key(struct ask *a, struct weft_store *store,
			   const char *key, size_t key_len,
			   struct weft_error *err);

/* Append `json`, a message or an array of them. */
int ask_append(struct ask *a, struct weft_str id, const struct buf *json);

/*
 * All messages of a view, page by page, as members of an array; the answer of
 * the first page is in *ret_first unless it is NULL.
 */
void ask_messages(struct ask *a, struct weft_str session, const char *view,
		  struct buf *out, struct weft_str *ret_first);

/* Give back what was written; the request's error, if there was one. */
int ask_end(struct ask *a, struct buf *text, struct weft_answer **ret);

#endif

/*
 * buf.h - growing bytes with a maximum and a sticky error.
 *
 * Write ten fields, check once: after a failure every call does nothing, and
 * buf_error() says what happened.  The bytes are not NUL-terminated; buf_cstr
 * ends them with one that is not counted.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/base.h"

struct buf {
	char *ptr;
	size_t len;
	size_t room;
	size_t max; /* of len */
	int error;  /* 0, WEFT_LIMIT or WEFT_NO_MEMORY */
};

void buf_init(struct buf *b, size_t max); /* 0: no maximum */
void buf_done(struct buf *b);             /* also for CLEANUP */
void buf_reset(struct buf *b); /* empty and without error, keeps its memory */

/* Make room for n more bytes and return where they go; NULL on failure.
 * What is written there counts after b->len += n. */
char *buf_reserve(struct buf *b, size_t n);

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_add_str(struct buf *b, struct weft_str s);
void buf_add_c(struct buf *b, char c);
void buf_add_u64(struct buf *b, uint64_t n);
void buf_add_i64(struct buf *b, int64_t n);
void buf_printf(struct buf *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define buf_add_lit(b, literal) buf_add((b), (literal), sizeof(literal) - 1)

/*
 * `s` as a JSON string with its quotes; only what must be escaped is.  A byte
 * that is not UTF-8 becomes U+FFFD, so that the result is JSON whatever `s`
 * is.
 */
void buf_add_json(struct buf *b, struct weft_str s);
void buf_add_json_inside(struct buf *b, struct weft_str s); /* no quotes */

static inline struct weft_str buf_str(const struct buf *b)
{
	return (struct weft_str){ b->ptr, b->len };
}

const char *buf_cstr(struct buf *b); /* "" on failure */

/* The sticky error with its message, or WEFT_OK. */
int buf_error(const struct buf *b, struct weft_error *err);

#endif

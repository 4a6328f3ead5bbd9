/* error.h - fill the caller's struct weft_error and return its code. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/base.h"

/*
 * Write the message and return `code`, so that a failing line reads as one
 * thing: return fail(err, WEFT_LIMIT, "more than %d forks deep", max);
 *
 * Messages: one line, lower case, no full stop, no function names, the value
 * that caused it in, secrets out.  `err` may be NULL.  Control characters in
 * the finished text are replaced by '?'.
 */
int fail(struct weft_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same for a failed system call: the code follows from errno (ENOSPC and
 * EDQUOT: no_space, ENOMEM: no_memory, EROFS: read_only, else io), and its
 * text is added behind ": ".  A negative errno, as base/file.h returns it, is
 * taken for the positive one.
 */
int fail_errno(struct weft_error *err, int os_error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static inline int fail_no_memory(struct weft_error *err)
{
	return fail(err, WEFT_NO_MEMORY, "out of memory");
}

/* Put "context: " in front of the message that is there; keeps the code. */
int fail_prefix(struct weft_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

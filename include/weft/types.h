/*
 * types.h - the few types that every part of Weft shares: text, ids, errors.
 *
 * Everything else builds on this file, and it includes nothing of Weft.
 */
#ifndef WEFT_TYPES_H
#define WEFT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

/* Bytes and a length.  Not NUL-terminated unless a function says so. */
struct weft_str {
	const char *ptr;
	size_t len;
};

/* A session's or an event's id: 128 bits, written as 26 characters. */
struct weft_id {
	unsigned char b[16];
};

#define WEFT_ID_CHARS 26

/*
 * Every result, once: constant, value, name on the wire, exit status, HTTP
 * status, what it means.  The name is what `weft --json`, HTTP and the door
 * put into "code".
 */
#define WEFT_CODES(X)                                                         \
	X(OK, 0, "ok", 0, 200, "success")                                     \
	X(INVALID, -1, "invalid", 2, 400, "invalid input")                    \
	X(INVALID_PART, -2, "invalid_part", 2, 400, "invalid message part")   \
	X(UNKNOWN_PART_KIND, -3, "unknown_part_kind", 2, 400,                 \
	  "unknown kind of message part")                                     \
	X(USAGE, -4, "usage", 2, 400, "wrong use of a command")               \
	X(NOT_FOUND, -5, "not_found", 3, 404, "not found")                    \
	X(MEMORY_NOT_FOUND, -6, "memory_not_found", 3, 404, "no such memory") \
	X(EXISTS, -7, "exists", 4, 409, "already exists")                     \
	X(CONFLICT, -8, "conflict", 4, 409, "conflicts with what is stored")  \
	X(STALE, -9, "stale", 4, 412, "the expected version is gone")         \
	X(OP_MISMATCH, -10, "op_mismatch", 4, 409,                            \
	  "operation id used before with other content")                      \
	X(LEASED, -11, "leased", 4, 409, "leased by somebody else")           \
	X(DELETED, -12, "deleted", 4, 409, "the session is deleted")          \
	X(AMBIGUOUS, -13, "ambiguous", 4, 409, "matches more than one")       \
	X(LIMIT, -14, "limit", 5, 413, "a limit was reached")                 \
	X(BUSY, -15, "busy", 5, 503, "busy, try again")                       \
	X(NO_SPACE, -16, "no_space", 5, 507, "no space left")                 \
	X(CORRUPT, -17, "corrupt", 6, 500, "stored data is damaged")          \
	X(IO, -18, "io", 7, 503, "storage failed")                            \
	X(READ_ONLY, -19, "read_only", 7, 503, "opened for reading only")     \
	X(UNKNOWN, -20, "unknown", 7, 503, "may have been written")           \
	X(NO_MEMORY, -21, "no_memory", 8, 503, "out of memory")

enum weft_code {
#define WEFT_CODE_ENUM(name, value, wire, exit_status, http, text) \
	WEFT_##name = (value),
	WEFT_CODES(WEFT_CODE_ENUM)
#undef WEFT_CODE_ENUM
};

/*
 * What went wrong.  It belongs to the caller, is the last argument, may be
 * NULL, and is left untouched on success.
 */
struct weft_error {
	int code;          /* one of enum weft_code */
	int os_error;      /* the errno behind it, or 0 */
	char message[504]; /* one line, no full stop, never empty on failure */
};

/* The name of a code on the wire, "not_found"; "unknown" for no code. */
WEFT_API const char *weft_code_name(int code);
/* What a program that ends with this code exits with; 0 for WEFT_OK. */
WEFT_API int weft_code_exit_status(int code);
/* What a server answers with. */
WEFT_API int weft_code_http_status(int code);

#ifdef __cplusplus
}
#endif

#endif

/* base.h - what every file needs: text views, clean-up, small arithmetic. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weft/types.h"

/*
 * Run `fn` on the variable when it goes out of scope.  Use it for what a
 * function borrows and must give back on every path; use a `fail:` label for
 * an object under construction that is handed over on success.
 */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Sort `n` elements; qsort() wants a place even for none. */
#define SORT(v, n, order)                                               \
	do {                                                            \
		if ((n) > 1)                                            \
			qsort((void *)(v), (n), sizeof((v)[0]), order); \
	} while (0)

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

/* A view of a string literal, also usable in static initialisers. */
#define STR(literal) ((struct weft_str){ (literal), sizeof(literal) - 1 })
#define STR_INIT(literal)                      \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

/* For printf("%.*s", STR_ARG(s)): never prints more than an int can say. */
#define STR_ARG(s) (int)((s).len > 4096 ? 4096 : (s).len), (s).ptr

static inline struct weft_str str_of(const char *cstr)
{
	return (struct weft_str){ cstr, cstr ? strlen(cstr) : 0 };
}

static inline bool str_eq(struct weft_str a, struct weft_str b)
{
	return a.len == b.len &&
	       (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_starts(struct weft_str s, struct weft_str prefix)
{
	return s.len >= prefix.len &&
	       (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

/* `s` without its first n bytes. */
static inline struct weft_str str_skip(struct weft_str s, size_t n)
{
	return (struct weft_str){ s.ptr + n, s.len - n };
}

/* Order by bytes, shorter first among equals. */
static inline int str_cmp(struct weft_str a, struct weft_str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int r = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return r ? r : (a.len > b.len) - (a.len < b.len);
}

/* A 64-bit hash for tables in memory; never written to disk. */
uint64_t hash_bytes(const void *data, size_t len);
/* The same everywhere and for ever.  Whoever wants to finds keys that collide:
 * for places where that is no more than one step more. */
uint64_t hash_stable(const void *data, size_t len);

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* `n` rounded up to a multiple of `unit`, a power of two. */
static inline uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) & ~(unit - 1);
}

static inline void put_le32(void *to, uint32_t v)
{
	unsigned char *p = to;

	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

static inline void put_le64(void *to, uint64_t v)
{
	unsigned char *p = to;

	for (int i = 0; i < 8; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

static inline uint32_t get_le32(const void *from)
{
	const unsigned char *p = from;
	uint32_t v = 0;

	for (int i = 3; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

static inline uint64_t get_le64(const void *from)
{
	const unsigned char *p = from;
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

/*
 * Parse a decimal number that takes up all of `s`; false when it is not one,
 * or is over `max`.
 */
bool str_to_u64(struct weft_str s, uint64_t max, uint64_t *ret);

#endif

/*
 * arena.h - memory that is given back all at once.
 *
 * One result, one request, one batch: one arena, one free.  An arena has a
 * limit, so that a huge read is an error and not the end of the process.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/base.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	char *next;                 /* free room in the newest */
	size_t room;
	size_t used;    /* bytes held by all blocks */
	size_t limit;   /* of used; 0: none */
	bool failed;    /* sticky: refused one, refuses all until a reset */
	bool no_memory; /* it was malloc that refused, not the limit */
};

void arena_init(struct arena *a, size_t limit);
void arena_done(struct arena *a);  /* also for CLEANUP */
void arena_reset(struct arena *a); /* empty; keeps one block for reuse */

/* Aligned to 16 bytes, not cleared; NULL at the limit or without memory. */
void *arena_alloc(struct arena *a, size_t bytes);
void *arena_zero(struct arena *a, size_t count, size_t bytes);

/* A copy with a NUL behind it; ptr is NULL when there was no memory. */
struct weft_str arena_str(struct arena *a, struct weft_str s);
struct weft_str arena_printf(struct arena *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* WEFT_LIMIT or WEFT_NO_MEMORY with its message, for an arena that failed. */
int arena_error(const struct arena *a, struct weft_error *err);

#define ARENA_NEW(a, type)      ((type *)arena_zero((a), 1, sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_zero((a), (n), sizeof(type)))

#endif

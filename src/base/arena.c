/*
 * arena.c - memory that is given back all at once.
 *
 * Blocks double from BLOCK_MIN to BLOCK_MAX, so that a small result costs
 * little and a large one few calls; what is larger has a block to itself.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"

#define ALIGN_BYTES 16
#define BLOCK_MIN   KIB(4)
#define BLOCK_MAX   MIB(1)

struct arena_block {
	struct arena_block *older;
	size_t bytes; /* with this header */
	_Alignas(ALIGN_BYTES) char room[];
};

void arena_init(struct arena *a, size_t limit)
{
	*a = (struct arena){ .limit = limit };
}

void arena_done(struct arena *a)
{
	struct arena_block *b = a->blocks;

	while (b) {
		struct arena_block *older = b->older;

		mem_free(b);
		b = older;
	}
	arena_init(a, a->limit);
}

void arena_reset(struct arena *a)
{
	struct arena_block *kept = a->blocks;

	/* A block made for one huge thing is not worth holding on to. */
	while (kept && kept->bytes > BLOCK_MAX)
		kept = kept->older;
	for (struct arena_block *b = a->blocks, *older; b; b = older) {
		older = b->older;
		if (b != kept)
			mem_free(b);
	}
	arena_init(a, a->limit);
	if (!kept)
		return;
	kept->older = NULL;
	a->blocks = kept;
	a->used = kept->bytes;
	a->next = kept->room;
	a->room = kept->bytes - sizeof(*kept);
}

static void *refuse(struct arena *a, bool no_memory)
{
	a->failed = true;
	a->no_memory = no_memory;
	return NULL;
}

/* Get a block with room for `need` bytes, already rounded. */
static bool add_block(struct arena *a, size_t need)
{
	size_t least = need + sizeof(struct arena_block);
	size_t bytes = a->used;
	struct arena_block *b;

	if (bytes < BLOCK_MIN)
		bytes = BLOCK_MIN;
	if (bytes > BLOCK_MAX)
		bytes = BLOCK_MAX;
	if (bytes < least)
		bytes = least;
	if (a->limit) {
		size_t left = a->limit > a->used ? a->limit - a->used : 0;

		if (least > left) {
			(void)refuse(a, false);
			return false;
		}
		if (bytes > left)
			bytes = left & ~(size_t)(ALIGN_BYTES - 1);
		if (bytes < least)
			bytes = least;
	}
	b = mem_alloc(bytes);
	if (!b) {
		(void)refuse(a, true);
		return false;
	}
	b->older = a->blocks;
	b->bytes = bytes;
	a->blocks = b;
	a->used += bytes;
	a->next = b->room;
	a->room = bytes - sizeof(*b);
	return true;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	size_t need;
	void *p;

	if (a->failed)
		return NULL;
	/* Far from where rounding up could wrap around. */
	if (bytes > SIZE_MAX / 2)
		return refuse(a, a->limit == 0);
	need = (size_t)round_up(bytes ? bytes : 1, ALIGN_BYTES);
	if (need > a->room && !add_block(a, need))
		return NULL;
	p = a->next;
	a->next += need;
	a->room -= need;
	return p;
}

void *arena_zero(struct arena *a, size_t count, size_t bytes)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(count, bytes, &total))
		total = SIZE_MAX;
	p = arena_alloc(a, total);
	if (p)
		memset(p, 0, total);
	return p;
}

struct weft_str arena_str(struct arena *a, struct weft_str s)
{
	char *p = arena_alloc(a, s.len == SIZE_MAX ? s.len : s.len + 1);

	if (!p)
		return (struct weft_str){ NULL, 0 };
	if (s.len)
		memcpy(p, s.ptr, s.len);
	p[s.len] = '\0';
	return (struct weft_str){ p, s.len };
}

struct weft_str arena_printf(struct arena *a, const char *format, ...)
{
	const struct weft_str none = { NULL, 0 };
	char small[256];
	va_list args;
	char *p;
	int n;

	va_start(args, format);
	n = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if (n < 0) {
		(void)refuse(a, true);
		return none;
	}
	if ((size_t)n < sizeof(small))
		return arena_str(a, (struct weft_str){ small, (size_t)n });
	p = arena_alloc(a, (size_t)n + 1);
	if (!p)
		return none;
	va_start(args, format);
	(void)vsnprintf(p, (size_t)n + 1, format, args);
	va_end(args);
	return (struct weft_str){ p, (size_t)n };
}

int arena_error(const struct arena *a, struct weft_error *err)
{
	if (!a->failed)
		return WEFT_OK;
	if (a->no_memory)
		return fail_no_memory(err);
	return fail(err, WEFT_LIMIT, "the result needs more than %zu bytes",
		    a->limit);
}

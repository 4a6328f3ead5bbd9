/* lines.c - cut a stream of bytes into lines. */
#include "cli/lines.h"

void lines_init(struct lines *l, size_t max)
{
	*l = (struct lines){ .max = max };
	buf_init(&l->b, SIZE_MAX);
}

void lines_done(struct lines *l)
{
	buf_done(&l->b);
}

/* Forget what was handed out, so that the buffer does not grow for ever. */
static void move_up(struct lines *l)
{
	if (l->taken == 0)
		return;
	l->b.len -= l->taken;
	l->scanned -= l->taken;
	memmove(l->b.ptr, l->b.ptr + l->taken, l->b.len);
	l->taken = 0;
}

char *lines_room(struct lines *l, size_t n)
{
	move_up(l);
	return buf_reserve(&l->b, n);
}

void lines_came(struct lines *l, size_t n)
{
	l->b.len += n;
}

void lines_end(struct lines *l)
{
	l->ended = true;
}

/* Drop what there is of a line that is too long; true if its end is there. */
static bool drop(struct lines *l, const char *newline)
{
	size_t end = newline ? (size_t)(newline - l->b.ptr) : l->b.len;

	l->dropped += end - l->taken;
	l->taken = newline ? end + 1 : end;
	l->scanned = l->taken;
	l->dropping = !newline;
	return newline || l->ended;
}

bool lines_next(struct lines *l, struct line *ret)
{
	size_t left = l->b.len - l->scanned;
	char *newline = left ? memchr(l->b.ptr + l->scanned, '\n', left) : NULL;
	size_t end = newline ? (size_t)(newline - l->b.ptr) : l->b.len;

	if (l->dropping || end - l->taken > l->max) {
		if (!drop(l, newline))
			return false;
		*ret = (struct line){ .text = STR(""),
				      .number = ++l->number,
				      .too_long = l->dropped };
		l->dropped = 0;
		l->dropping = false;
		return true;
	}
	if (!newline && (!l->ended || l->taken == l->b.len)) {
		l->scanned = l->b.len;
		return false;
	}
	*ret = (struct line){
		.text = { l->b.ptr + l->taken, end - l->taken },
		.number = ++l->number,
	};
	l->taken = newline ? end + 1 : end;
	l->scanned = l->taken;
	return true;
}

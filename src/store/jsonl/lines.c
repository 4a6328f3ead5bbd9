/* lines.c - see lines.h. */
#include "store/jsonl/lines.h"

#include <errno.h>

#include "base/mem.h"
#include "model/event.h"

#define FIRST_ROOM     KIB(256)
#define FILE_LINE_ROOM 512

void line_reader_init(struct line_reader *l, struct file *f, uint64_t from,
		      uint64_t end)
{
	*l = (struct line_reader){ .f = f, .at = from, .end = end };
}

void line_reader_done(struct line_reader *l)
{
	mem_free(l->buf);
	l->buf = NULL;
}

/* Move what is left to the front and read more behind it. */
static int fill(struct line_reader *l)
{
	uint64_t from;
	ssize_t n;

	if (l->pos > 0) {
		memmove(l->buf, l->buf + l->pos, l->len - l->pos);
		l->at += l->pos;
		l->len -= l->pos;
		l->pos = 0;
	}
	if (l->len == l->room) {
		size_t room = l->room ? l->room * 2 : FIRST_ROOM;
		char *more = mem_resize(l->buf, room);

		if (!more)
			return -ENOMEM;
		l->buf = more;
		l->room = room;
	}
	from = l->at + l->len;
	if (from >= l->end)
		return 0;
	n = file_read(l->f, l->buf + l->len,
		      (size_t)u64_min(l->room - l->len, l->end - from), from);
	if (n < 0)
		return (int)n;
	l->len += (size_t)n;
	return n > 0;
}

int line_reader_next(struct line_reader *l, struct line *ret)
{
	size_t looked = 0;

	for (;;) {
		size_t have = l->len - l->pos;
		char *start = have ? l->buf + l->pos : NULL;
		char *nl = have > looked ?
				   memchr(start + looked, '\n', have - looked) :
				   NULL;
		int r;

		if (nl) {
			*ret = (struct line){
				.text = { start, (size_t)(nl - start) },
				.offset = l->at + l->pos,
			};
			l->pos += ret->text.len + 1;
			return 1;
		}
		looked = have;
		r = fill(l);
		if (r < 0)
			return r;
		if (r == 0)
			break;
	}
	if (l->len == l->pos)
		return 0;
	*ret = (struct line){
		.text = { l->buf + l->pos, l->len - l->pos },
		.offset = l->at + l->pos,
		.torn = true,
	};
	l->pos = l->len;
	return 1;
}

int file_line_of(struct file *f, struct file_line *ret, uint64_t *ret_bytes)
{
	char bytes[FILE_LINE_ROOM];
	ssize_t n = file_read(f, bytes, sizeof(bytes), 0);
	char *nl = n > 0 ? memchr(bytes, '\n', (size_t)n) : NULL;
	struct weft_str line = { bytes, nl ? (size_t)(nl - bytes) : 0 };

	*ret_bytes = 0;
	if (n < 0)
		return (int)n;
	if (!nl || !file_line_read(line, ret))
		return 0;
	*ret_bytes = line.len + 1;
	return 1;
}

/* lines.h - a file, line by line, with a buffer that grows with its lines. */
#ifndef STORE_JSONL_LINES_H
#define STORE_JSONL_LINES_H

#include "base/file.h"

struct line_reader {
	struct file *f;
	uint64_t at;  /* where the buffer begins in the file */
	uint64_t end; /* read no further */
	char *buf;
	size_t room, len, pos;
};

struct line {
	struct weft_str text; /* without its newline; valid until the next */
	uint64_t offset;
	bool torn; /* the file ends without a newline */
};

void line_reader_init(struct line_reader *l, struct file *f, uint64_t from,
		      uint64_t end);
void line_reader_done(struct line_reader *l); /* also for CLEANUP */
/* 1 and a line, 0 at the end, or a negative errno. */
int line_reader_next(struct line_reader *l, struct line *ret);

struct file_line;

/*
 * The file line, and how many bytes it takes with its newline: 1, or 0 if the
 * file does not begin with one, or a negative errno.
 */
int file_line_of(struct file *f, struct file_line *ret, uint64_t *ret_bytes);

#endif

/*
 * out.h - standard output, for people or for programs.
 *
 * Everything a command prints goes through here, so that there is one place
 * that knows whether a terminal is on the other side: only then are there
 * colours, and only then are characters that a terminal obeys made visible.
 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include "base/buf.h"

enum out_style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN };

struct out {
	int fd;
	struct buf b;
	bool terminal;
	bool colour;
	unsigned width; /* columns; 80 where there is no terminal */
	int error;      /* errno of the first failed write, sticky */
	/* A program waits for what is printed: a closed pipe is an error. */
	bool must_arrive;
};

void out_init(struct out *o, int fd);
void out_done(struct out *o);

/* As it is. */
void out_add(struct out *o, struct weft_str s);
void out_printf(struct out *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Text that somebody else wrote, with its newlines. */
void out_text(struct out *o, struct weft_str s);
/* The same on one line: white space becomes a space. */
void out_one_line(struct out *o, struct weft_str s);
/* One line of JSON and its newline. */
void out_json(struct out *o, struct weft_str json);

void out_style(struct out *o, enum out_style style); /* NONE: back to plain */

/*
 * Write what has gathered.  WEFT_OK also when the reader has gone away, unless
 * must_arrive: check out_closed() where it makes sense to stop early.
 */
int out_flush(struct out *o, struct weft_error *err);
bool out_closed(const struct out *o);

/*
 * Make visible what a terminal would obey: control characters, and those that
 * change the direction of text.  Newlines and tabs stay.
 */
void out_neutralise(struct buf *to, struct weft_str s);
/* The same inside of JSON, where it means the same as before. */
void out_neutralise_json(struct buf *to, struct weft_str json);

/* How many columns `s` takes, and the beginning of it that takes `max`. */
size_t out_columns(struct weft_str s);
struct weft_str out_cut(struct weft_str s, size_t max);

#endif

/* out.c - standard output, for people or for programs. */
#include "cli/out.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include "base/error.h"
#include "base/text.h"

#define GATHER_BYTES KIB(64) /* written when there is that much */

static unsigned columns_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (columns && str_to_u64(str_of(columns), 10000, &n) && n > 0)
		return (unsigned)n;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

void out_init(struct out *o, int fd)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	*o = (struct out){ .fd = fd, .width = 80 };
	buf_init(&o->b, SIZE_MAX);
	o->terminal = isatty(fd) == 1;
	if (!o->terminal)
		return;
	o->width = columns_of(fd);
	o->colour =
		!(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
}

void out_done(struct out *o)
{
	buf_done(&o->b);
}

/* All of it, also to a descriptor that somebody has made non-blocking. */
static int write_all(int fd, struct weft_str s)
{
	while (s.len > 0) {
		ssize_t n = write(fd, s.ptr, s.len);

		if (n >= 0) {
			s = str_skip(s, (size_t)n);
		} else if (errno == EAGAIN) {
			struct pollfd p = { .fd = fd, .events = POLLOUT };

			(void)poll(&p, 1, -1);
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

static void write_gathered(struct out *o)
{
	if (o->b.error) {
		o->error = o->error ? o->error : ENOMEM;
		return;
	}
	if (!o->error)
		o->error = write_all(o->fd, buf_str(&o->b));
	buf_reset(&o->b);
}

static void gathered(struct out *o)
{
	if (o->b.len >= GATHER_BYTES)
		write_gathered(o);
}

void out_add(struct out *o, struct weft_str s)
{
	buf_add_str(&o->b, s);
	gathered(o);
}

void out_printf(struct out *o, const char *format, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		out_add(o, str_of(text));
}

/* A character that a terminal obeys instead of showing it. */
static bool is_obeyed(utf8proc_int32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x200e ||
	       c == 0x200f || c == 0x061c || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* The character that `s` begins with, or -1, and its length, 1 at least. */
static utf8proc_int32_t next_char(struct weft_str s, size_t *ret_len)
{
	utf8proc_int32_t c = -1;
	utf8proc_ssize_t n =
		utf8proc_iterate((const utf8proc_uint8_t *)s.ptr,
				 (utf8proc_ssize_t)(s.len > 4 ? 4 : s.len), &c);

	*ret_len = n > 0 ? (size_t)n : 1;
	return n > 0 ? c : -1;
}

void out_neutralise(struct buf *to, struct weft_str s)
{
	while (s.len > 0) {
		size_t n;
		utf8proc_int32_t c = next_char(s, &n);

		if (c == '\n' || c == '\t' || (c >= 0 && !is_obeyed(c)))
			buf_add(to, s.ptr, n);
		else if (c < 0)
			buf_printf(to, "\\x%02x", (unsigned char)s.ptr[0]);
		else if (c < 0x20)
			buf_printf(to, "^%c", (char)(c + '@'));
		else
			buf_printf(to, "\\u%04x", (unsigned)c);
		s = str_skip(s, n);
	}
}

void out_neutralise_json(struct buf *to, struct weft_str json)
{
	while (json.len > 0) {
		size_t n;
		utf8proc_int32_t c = next_char(json, &n);

		/* Between tokens there may be white space, and in strings
		 * nothing below it that is not escaped already. */
		if (c >= 0x20 && is_obeyed(c))
			buf_printf(to, "\\u%04x", (unsigned)c);
		else
			buf_add(to, json.ptr, n);
		json = str_skip(json, n);
	}
}

void out_text(struct out *o, struct weft_str s)
{
	if (o->terminal)
		out_neutralise(&o->b, s);
	else
		buf_add_str(&o->b, s);
	gathered(o);
}

void out_one_line(struct out *o, struct weft_str s)
{
	bool gap = false;

	while (s.len > 0) {
		size_t n = 0;

		while (n < s.len && s.ptr[n] != '\n' && s.ptr[n] != '\t' &&
		       s.ptr[n] != '\r' && s.ptr[n] != ' ')
			n++;
		if (n > 0) {
			if (gap)
				buf_add_c(&o->b, ' ');
			gap = true;
			out_text(o, (struct weft_str){ s.ptr, n });
		}
		s = str_skip(s, n < s.len ? n + 1 : n);
	}
}

void out_json(struct out *o, struct weft_str json)
{
	if (o->terminal)
		out_neutralise_json(&o->b, json);
	else
		buf_add_str(&o->b, json);
	buf_add_c(&o->b, '\n');
	gathered(o);
}

void out_style(struct out *o, enum out_style style)
{
	static const char *const codes[] = {
		[STYLE_NONE] = "\033[0m",   [STYLE_BOLD] = "\033[1m",
		[STYLE_DIM] = "\033[2m",    [STYLE_RED] = "\033[31m",
		[STYLE_GREEN] = "\033[32m",
	};

	if (o->colour)
		buf_add_str(&o->b, str_of(codes[style]));
}

int out_flush(struct out *o, struct weft_error *err)
{
	write_gathered(o);
	if (!o->error || (o->error == EPIPE && !o->must_arrive))
		return WEFT_OK;
	return fail_errno(err, o->error, "standard output");
}

bool out_closed(const struct out *o)
{
	return o->error != 0;
}

size_t out_columns(struct weft_str s)
{
	size_t columns = 0;

	while (s.len > 0) {
		size_t n;
		utf8proc_int32_t c = next_char(s, &n);

		columns += c < 0 ? 1 : (size_t)utf8proc_charwidth(c);
		s = str_skip(s, n);
	}
	return columns;
}

struct weft_str out_cut(struct weft_str s, size_t max)
{
	size_t bytes = 0, columns = 0;

	while (bytes < s.len) {
		size_t n;
		utf8proc_int32_t c = next_char(str_skip(s, bytes), &n);

		columns += c < 0 ? 1 : (size_t)utf8proc_charwidth(c);
		if (columns > max)
			break;
		bytes += n;
	}
	return (struct weft_str){ s.ptr, bytes };
}

/* buf.c - growing bytes with a maximum and a sticky error. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#define ROOM_MIN 128

void buf_init(struct buf *b, size_t max)
{
	/* Half of all there is, so that room and its NUL never overflow. */
	*b = (struct buf){ .max = max ? max : SIZE_MAX / 2 };
}

void buf_done(struct buf *b)
{
	mem_free(b->ptr);
	buf_init(b, b->max);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->error = 0;
}

/* Room for `total` bytes and a NUL behind them. */
static bool grow(struct buf *b, size_t total)
{
	size_t room = b->room < ROOM_MIN ? ROOM_MIN : b->room;
	char *ptr;

	while (room <= total) {
		if (room > SIZE_MAX / 2) {
			b->error = WEFT_NO_MEMORY;
			return false;
		}
		room *= 2;
	}
	/* Doubling past the maximum would only waste memory. */
	if (room - 1 > b->max)
		room = b->max + 1;
	ptr = mem_resize(b->ptr, room);
	if (!ptr) {
		b->error = WEFT_NO_MEMORY;
		return false;
	}
	b->ptr = ptr;
	b->room = room;
	return true;
}

char *buf_reserve(struct buf *b, size_t n)
{
	if (b->error)
		return NULL;
	if (n > b->max || b->len > b->max - n) {
		b->error = WEFT_LIMIT;
		return NULL;
	}
	if (b->len + n >= b->room && !grow(b, b->len + n))
		return NULL;
	return b->ptr + b->len;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
	char *to = buf_reserve(b, n);

	if (!to || n == 0)
		return;
	memcpy(to, bytes, n);
	b->len += n;
}

void buf_add_str(struct buf *b, struct weft_str s)
{
	buf_add(b, s.ptr, s.len);
}

void buf_add_c(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_add_u64(struct buf *b, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	buf_add(b, digits + at, sizeof(digits) - at);
}

void buf_add_i64(struct buf *b, int64_t n)
{
	if (n >= 0) {
		buf_add_u64(b, (uint64_t)n);
		return;
	}
	buf_add_c(b, '-');
	buf_add_u64(b, -(uint64_t)n);
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	char *to = buf_reserve(b, 0);
	size_t room;
	int n;

	if (!to)
		return;
	room = b->room - b->len;
	va_start(args, format);
	n = vsnprintf(to, room, format, args);
	va_end(args);
	if (n < 0) {
		b->error = WEFT_NO_MEMORY;
		return;
	}
	if ((size_t)n >= room) {
		to = buf_reserve(b, (size_t)n);
		if (!to)
			return;
		va_start(args, format);
		(void)vsnprintf(to, (size_t)n + 1, format, args);
		va_end(args);
	}
	b->len += (size_t)n;
}

static void add_escape(struct buf *b, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
	size_t len = 2;

	switch (c) {
	case '"':
	case '\\':
		text[1] = (char)c;
		break;
	case '\b':
		text[1] = 'b';
		break;
	case '\f':
		text[1] = 'f';
		break;
	case '\n':
		text[1] = 'n';
		break;
	case '\r':
		text[1] = 'r';
		break;
	case '\t':
		text[1] = 't';
		break;
	default:
		len = sizeof(text);
	}
	buf_add(b, text, len);
}

/* How many bytes at the beginning of `s` go into a JSON string as they are. */
static size_t plain_len(struct weft_str s)
{
	size_t i = 0;

	while (i < s.len) {
		unsigned char c = (unsigned char)s.ptr[i];
		size_t n = 1;

		if (c < 0x20 || c == '"' || c == '\\')
			break;
		if (c >= 0x80)
			n = text_char_len(str_skip(s, i));
		if (n == 0)
			break;
		i += n;
	}
	return i;
}

void buf_add_json_inside(struct buf *b, struct weft_str s)
{
	/* One step of growth for the usual text, which needs no escapes. */
	if (!buf_reserve(b, s.len))
		return;
	while (s.len) {
		size_t n = plain_len(s);

		buf_add(b, s.ptr, n);
		s = str_skip(s, n);
		if (s.len == 0)
			break;
		if ((unsigned char)s.ptr[0] >= 0x80)
			buf_add_lit(b, "\xef\xbf\xbd");
		else
			add_escape(b, (unsigned char)s.ptr[0]);
		s = str_skip(s, 1);
	}
}

void buf_add_json(struct buf *b, struct weft_str s)
{
	buf_add_c(b, '"');
	buf_add_json_inside(b, s);
	buf_add_c(b, '"');
}

const char *buf_cstr(struct buf *b)
{
	char *end = buf_reserve(b, 0);

	if (!end)
		return "";
	*end = '\0';
	return b->ptr;
}

int buf_error(const struct buf *b, struct weft_error *err)
{
	switch (b->error) {
	case 0:
		return WEFT_OK;
	case WEFT_LIMIT:
		return fail(err, WEFT_LIMIT, "more than %zu bytes", b->max);
	default:
		return fail_no_memory(err);
	}
}

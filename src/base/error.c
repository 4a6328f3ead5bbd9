/* error.c - fill the caller's struct weft_error. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

#define MESSAGE_BYTES sizeof(((struct weft_error *)NULL)->message)

static const char *code_text(int code)
{
	switch (code) {
#define TEXT_CASE(name, value, wire, exit_status, http, text) \
	case value:                                           \
		return text;
		WEFT_CODES(TEXT_CASE)
#undef TEXT_CASE
	default:
		return "unknown error";
	}
}

/* Drop the beginning of a character that did not fit. */
static void trim_cut_character(char *message)
{
	size_t len = strlen(message);
	size_t start = len;

	while (start > 0 && len - start < 4) {
		unsigned char c = (unsigned char)message[--start];

		if (c < 0x80)
			return;
		if (c < 0xc0)
			continue;
		if (text_char_len(str_of(message + start)) == 0)
			message[start] = '\0';
		return;
	}
}

static void replace_controls(char *message)
{
	for (unsigned char *p = (unsigned char *)message; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
		/* U+0080 to U+009F: a terminal may obey these, too. */
		if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) {
			*p++ = '?';
			*p = '?';
		}
	}
}

/* `message` may be made from err->message: it is written last. */
static void set_message(struct weft_error *err, int code, bool cut,
			char message[MESSAGE_BYTES])
{
	if (cut)
		trim_cut_character(message);
	replace_controls(message);
	if (message[0] == '\0')
		(void)snprintf(message, MESSAGE_BYTES, "%s", code_text(code));
	memcpy(err->message, message, MESSAGE_BYTES);
	err->code = code;
}

/* Append to message[*len..); true if it did not fit. */
static bool add_text(char message[MESSAGE_BYTES], size_t *len,
		     const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static bool add_text(char message[MESSAGE_BYTES], size_t *len,
		     const char *format, va_list args)
{
	size_t room = MESSAGE_BYTES - *len;
	int n = vsnprintf(message + *len, room, format, args);

	if (n < 0) {
		message[*len] = '\0';
		return false;
	}
	if ((size_t)n >= room) {
		*len = MESSAGE_BYTES - 1;
		return true;
	}
	*len += (size_t)n;
	return false;
}

static bool add_plain(char message[MESSAGE_BYTES], size_t *len,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool add_plain(char message[MESSAGE_BYTES], size_t *len,
		      const char *format, ...)
{
	va_list args;
	bool cut;

	va_start(args, format);
	cut = add_text(message, len, format, args);
	va_end(args);
	return cut;
}

int fail(struct weft_error *err, int code, const char *format, ...)
{
	char message[MESSAGE_BYTES] = "";
	size_t len = 0;
	va_list args;
	bool cut;

	if (!err)
		return code;
	va_start(args, format);
	cut = add_text(message, &len, format, args);
	va_end(args);
	err->os_error = 0;
	set_message(err, code, cut, message);
	return code;
}

static int code_of_errno(int os_error)
{
	switch (os_error) {
	case ENOSPC:
	case EDQUOT:
		return WEFT_NO_SPACE;
	case ENOMEM:
		return WEFT_NO_MEMORY;
	case EROFS:
		return WEFT_READ_ONLY;
	default:
		return WEFT_IO;
	}
}

int fail_errno(struct weft_error *err, int os_error, const char *format, ...)
{
	int positive = os_error < 0 ? -os_error : os_error;
	int code = code_of_errno(positive);
	char message[MESSAGE_BYTES] = "";
	char text[128];
	size_t len = 0;
	va_list args;
	bool cut;

	if (!err)
		return code;
	va_start(args, format);
	cut = add_text(message, &len, format, args);
	va_end(args);
	if (!cut)
		cut = add_plain(message, &len, "%s%s", len ? ": " : "",
				strerror_r(positive, text, sizeof(text)));
	err->os_error = positive;
	set_message(err, code, cut, message);
	return code;
}

int fail_prefix(struct weft_error *err, int code, const char *format, ...)
{
	char message[MESSAGE_BYTES] = "";
	size_t len = 0;
	va_list args;
	bool cut;

	if (!err)
		return code;
	va_start(args, format);
	cut = add_text(message, &len, format, args);
	va_end(args);
	if (!cut && err->message[0])
		cut = add_plain(message, &len, "%s%s", len ? ": " : "",
				err->message);
	set_message(err, code, cut, message);
	return code;
}

/* text.c - rules for text that people write: UTF-8, folding, cutting. */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <utf8proc.h>

#include "base/buf.h"
#include "base/error.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* How many bytes at the beginning of `s` are ASCII for sure: whole words. */
static size_t ascii_words(struct weft_str s)
{
	size_t i = 0;

	for (; s.len - i >= 32; i += 32) {
		uint64_t w[4];

		memcpy(w, s.ptr + i, sizeof(w));
		if ((w[0] | w[1] | w[2] | w[3]) & HIGH_BITS)
			break;
	}
	for (; s.len - i >= 8; i += 8) {
		uint64_t w;

		memcpy(&w, s.ptr + i, sizeof(w));
		if (w & HIGH_BITS)
			break;
	}
	return i;
}

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t text_char_len(struct weft_str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	unsigned char low = 0x80, high = 0xbf; /* bounds of the second byte */
	size_t n;

	if (s.len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	/* C0, C1 and what E0, F0 exclude below are overlong forms. */
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = 2 + (size_t)(p[0] >= 0xe0) + (size_t)(p[0] >= 0xf0);
	if (s.len < n)
		return 0;
	switch (p[0]) {
	case 0xe0:
		low = 0xa0;
		break;
	case 0xed: /* surrogates */
		high = 0x9f;
		break;
	case 0xf0:
		low = 0x90;
		break;
	case 0xf4: /* over U+10FFFF */
		high = 0x8f;
		break;
	default:
		break;
	}
	if (p[1] < low || p[1] > high)
		return 0;
	if ((n > 2 && !is_tail(p[2])) || (n > 3 && !is_tail(p[3])))
		return 0;
	return n;
}

bool text_is_utf8(struct weft_str s)
{
	while (s.len) {
		size_t n = ascii_words(s);

		s = str_skip(s, n);
		/* Until the text looks like ASCII again. */
		for (size_t i = 0; s.len && i < 16; i++) {
			n = text_char_len(s);
			if (n == 0)
				return false;
			s = str_skip(s, n);
		}
	}
	return true;
}

/* The code point of the well-formed character of n bytes at p. */
static int32_t code_point(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	switch (n) {
	case 1:
		return u[0];
	case 2:
		return (u[0] & 0x1f) << 6 | (u[1] & 0x3f);
	case 3:
		return (u[0] & 0x0f) << 12 | (u[1] & 0x3f) << 6 | (u[2] & 0x3f);
	default:
		return (u[0] & 0x07) << 18 | (u[1] & 0x3f) << 12 |
		       (u[2] & 0x3f) << 6 | (u[3] & 0x3f);
	}
}

/* White space as Unicode has it, separators among the controls, and the mark
 * that some put in front of a text. */
static bool is_white(int32_t c)
{
	return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) ||
	       c == 0x85 || c == 0xa0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff;
}

bool text_is_blank(struct weft_str s)
{
	while (s.len) {
		size_t n = text_char_len(s);

		if (n == 0 || !is_white(code_point(s.ptr, n)))
			return false;
		s = str_skip(s, n);
	}
	return true;
}

/* True if a reader sees a boundary between the two. */
static bool is_break(int32_t before, int32_t after, int32_t *state)
{
	if (before < 0x80 && after < 0x80) {
		*state = 0; /* nothing that joins characters goes on */
		return before != '\r' || after != '\n';
	}
	return utf8proc_grapheme_break_stateful(before, after, state);
}

/* Characters of one byte that nothing joins: the first n of `s`, and the one
 * behind them. */
static bool is_plain(struct weft_str s, size_t n)
{
	const uint64_t ones = UINT64_MAX / 255, tops = ones * 0x80;
	size_t i = 0;

	/* Eight at once: none has its top bit, nor gets it below 0x20. */
	for (; i + 8 <= n + 1; i += 8) {
		uint64_t v;

		memcpy(&v, s.ptr + i, sizeof(v));
		if ((v | ((v - ones * 0x20) & ~v)) & tops)
			return false;
	}
	while (i <= n && (signed char)s.ptr[i] >= 0x20)
		i++;
	return i > n;
}

struct weft_str text_cut(struct weft_str s, size_t max)
{
	int32_t before = -1, state = 0;
	size_t at = 0, seen = 0;

	/* A character has at least a byte. */
	if (s.len <= max)
		return s;
	/* The usual case, quickly: this is done to every message. */
	if (is_plain(s, max))
		return (struct weft_str){ s.ptr, max };
	while (at < s.len) {
		size_t n = text_char_len(str_skip(s, at));
		int32_t cp = n ? code_point(s.ptr + at, n) : 0xfffd;

		if (before < 0 || is_break(before, cp, &state)) {
			if (seen == max)
				break;
			seen++;
		}
		before = cp;
		at += n ? n : 1;
	}
	return (struct weft_str){ s.ptr, at };
}

static bool fold_ascii(struct weft_str s, struct arena *a, struct weft_str *ret)
{
	char *p = arena_alloc(a, s.len + 1);

	if (!p)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		p[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	p[s.len] = '\0';
	*ret = (struct weft_str){ p, s.len };
	return true;
}

static void add_code_point(struct buf *b, int32_t cp)
{
	unsigned char bytes[4];
	utf8proc_ssize_t n = utf8proc_encode_char(cp, bytes);

	buf_add(b, bytes, (size_t)n);
}

/*
 * Each character by itself: the order of marks, which is all that folding the
 * text as a whole would add, does not matter as marks are dropped.
 */
static void add_folded(struct buf *b, struct weft_str s)
{
	const utf8proc_option_t options = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT |
					  UTF8PROC_CASEFOLD |
					  UTF8PROC_STRIPMARK;

	while (s.len && !b->error) {
		size_t n = text_char_len(s);
		int32_t out[32]; /* the longest decomposition has 18 */
		int boundary = 0;
		utf8proc_ssize_t count = -1;

		if (n)
			count = utf8proc_decompose_char(code_point(s.ptr, n),
							out, ARRAY_LEN(out),
							options, &boundary);
		if (count < 0 || (size_t)count > ARRAY_LEN(out)) {
			buf_add(b, s.ptr, n ? n : 1);
			count = 0;
		}
		for (utf8proc_ssize_t i = 0; i < count; i++)
			add_code_point(b, out[i]);
		s = str_skip(s, n ? n : 1);
	}
}

static bool is_ascii(struct weft_str s)
{
	for (size_t i = ascii_words(s); i < s.len; i++) {
		if ((unsigned char)s.ptr[i] >= 0x80)
			return false;
	}
	return true;
}

int text_fold(struct weft_str s, struct arena *a, struct weft_str *ret,
	      struct weft_error *err)
{
	CLEANUP(buf_done) struct buf b;
	struct weft_str folded = { NULL, 0 };

	buf_init(&b, SIZE_MAX / 2);
	if (is_ascii(s)) {
		if (!fold_ascii(s, a, &folded))
			return arena_error(a, err);
	} else {
		add_folded(&b, s);
		if (b.error)
			return buf_error(&b, err);
		folded = arena_str(a, buf_str(&b));
		if (!folded.ptr)
			return arena_error(a, err);
	}
	*ret = folded;
	return WEFT_OK;
}

int text_check_line(struct weft_str s, size_t max, const char *field,
		    struct weft_error *err)
{
	if (s.len > max)
		return fail(err, WEFT_LIMIT,
			    "%s has %zu bytes, the limit is %zu", field, s.len,
			    max);
	for (size_t i = 0, n; i < s.len; i += n) {
		int32_t cp;

		n = text_char_len(str_skip(s, i));
		if (n == 0)
			return fail(err, WEFT_INVALID,
				    "%s is not UTF-8 at byte %zu", field,
				    i + 1);
		cp = code_point(s.ptr + i, n);
		if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
			return fail(err, WEFT_INVALID,
				    "%s has a control character (U+%04X)",
				    field, (unsigned)cp);
	}
	return WEFT_OK;
}

/* ---- white space ---- */

/* Whether the character that `s` begins with, n bytes, is white space. */
static bool is_space(struct weft_str s, size_t n)
{
	utf8proc_int32_t code = -1;

	(void)utf8proc_iterate((const utf8proc_uint8_t *)s.ptr,
			       (utf8proc_ssize_t)n, &code);
	switch (code) {
	case ' ':
	case 0x85:
	case 0xa0:
	case 0x1680:
	case 0x2028:
	case 0x2029:
	case 0x202f:
	case 0x205f:
	case 0x3000:
		return true;
	default:
		return (code >= '\t' && code <= '\r') ||
		       (code >= 0x2000 && code <= 0x200a);
	}
}

/* How many bytes of white space `s` ends with, at most one character. */
static size_t last_space(struct weft_str s)
{
	for (size_t n = 1; n <= 3 && n <= s.len; n++) {
		struct weft_str tail = str_skip(s, s.len - n);

		if (text_char_len(tail) == n)
			return is_space(tail, n) ? n : 0;
	}
	return 0;
}

struct weft_str text_trim(struct weft_str s)
{
	size_t n;

	while ((n = text_char_len(s)) > 0 && is_space(s, n))
		s = str_skip(s, n);
	while ((n = last_space(s)) > 0)
		s.len -= n;
	return s;
}

const char *text_count(char room[COUNT_CHARS], uint64_t n, const char *noun)
{
	(void)snprintf(room, COUNT_CHARS, "%" PRIu64 " %s%s", n, noun,
		       n == 1 ? "" : "s");
	return room;
}

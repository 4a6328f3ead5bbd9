/* norm.c - text as keys are made of it. */
#include "route/norm.h"

#include "base/text.h"
#include "route/lower_table.h"

#define ID_BYTES_MAX 64

/* For a byte that is no character. */
#define REPLACEMENT 0xfffd

/* The code point of the well-formed character of n bytes at p. */
static int32_t decode(const char *p, size_t n)
{
	static const unsigned char first_mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	int32_t code = (unsigned char)p[0] & first_mask[n];

	for (size_t i = 1; i < n; i++)
		code = code << 6 | ((unsigned char)p[i] & 0x3f);
	return code;
}

static size_t encode(int32_t code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* ---- lower case ---- */

static int32_t lower(int32_t code)
{
	size_t low = 0, high = ARRAY_LEN(lower_runs);

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct lower_run *run = &lower_runs[middle];

		if (code > run->last)
			low = middle + 1;
		else if (code < run->first)
			high = middle;
		else
			return (code - run->first) % run->step ?
				       code :
				       code + run->delta;
	}
	return code;
}

static bool is_ascii(struct weft_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.ptr[i] >= 0x80)
			return false;
	}
	return true;
}

static size_t lower_to(char *to, struct weft_str s)
{
	size_t len = 0;

	while (s.len) {
		size_t n = text_char_len(s);

		if (n == 0) {
			len += encode(REPLACEMENT, to + len);
			n = 1;
		} else {
			len += encode(lower(decode(s.ptr, n)), to + len);
		}
		s = str_skip(s, n);
	}
	return len;
}

struct weft_str norm_lower(struct weft_str s, struct arena *a)
{
	/* A byte that is no character becomes three; no letter grows more. */
	size_t room = is_ascii(s) ? s.len : 3 * s.len;
	char *to = arena_alloc(a, room + 1);
	size_t len;

	if (!to)
		return STR("");
	len = lower_to(to, s);
	to[len] = '\0';
	return (struct weft_str){ to, len };
}

struct weft_str norm_clean(struct weft_str s, struct arena *a)
{
	return norm_lower(norm_trim(s), a);
}

/* ---- ids ---- */

static bool is_id_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-';
}

static bool is_id(struct weft_str s)
{
	if (s.len == 0 || s.len > ID_BYTES_MAX || s.ptr[0] == '-' ||
	    s.ptr[0] == '_')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_id_char(s.ptr[i]))
			return false;
	}
	return true;
}

/* Each run of other characters as one dash, in place. */
static size_t dash_others(char *p, size_t len)
{
	bool in_run = false;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = p[i];

		if (is_id_char(c))
			p[n++] = c;
		else if (!in_run)
			p[n++] = '-';
		in_run = !is_id_char(c);
	}
	return n;
}

struct weft_str norm_id(struct weft_str s, struct weft_str otherwise,
			struct arena *a)
{
	struct weft_str small = norm_clean(s, a);
	char *p;

	if (small.len == 0)
		return otherwise;
	if (is_id(small))
		return small;
	p = arena_alloc(a, small.len);
	if (!p)
		return STR("");
	memcpy(p, small.ptr, small.len);
	small = (struct weft_str){ p, dash_others(p, small.len) };
	while (small.len && small.ptr[0] == '-')
		small = str_skip(small, 1);
	while (small.len && small.ptr[small.len - 1] == '-')
		small.len--;
	if (small.len > ID_BYTES_MAX)
		small.len = ID_BYTES_MAX;
	return small.len ? small : otherwise;
}

struct weft_str norm_agent(struct weft_str s, struct arena *a)
{
	return norm_id(s, STR("main"), a);
}

struct weft_str norm_account(struct weft_str s, struct arena *a)
{
	return norm_id(s, STR("default"), a);
}

struct weft_str norm_no_colon(struct weft_str s, struct arena *a)
{
	char *to = arena_alloc(a, 3 * s.len + 1);
	size_t n = 0;

	if (!to)
		return STR("");
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == ':' || s.ptr[i] == '%') {
			memcpy(to + n, s.ptr[i] == ':' ? "%3a" : "%25", 3);
			n += 3;
		} else {
			to[n++] = s.ptr[i];
		}
	}
	to[n] = '\0';
	return (struct weft_str){ to, n };
}

struct weft_str norm_concat(struct arena *a, const struct weft_str *v, size_t n)
{
	size_t len = 0;
	char *to, *p;

	for (size_t i = 0; i < n; i++)
		len += v[i].len;
	to = p = arena_alloc(a, len + 1);
	if (!to)
		return STR("");
	for (size_t i = 0; i < n; i++) {
		if (v[i].len)
			memcpy(p, v[i].ptr, v[i].len);
		p += v[i].len;
	}
	*p = '\0';
	return (struct weft_str){ to, len };
}

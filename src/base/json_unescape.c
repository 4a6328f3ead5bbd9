/* json_unescape.c - from the text of a JSON string to what it says. */
#include "base/error.h"
#include "base/json.h"

/* Four hexadecimal digits, or -1. */
static int32_t parse_hex4(struct weft_str s)
{
	int32_t n = 0;

	if (s.len < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		char c = s.ptr[i];

		if (c >= '0' && c <= '9')
			n = n << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			n = n << 4 | (c - 'A' + 10);
		else
			return -1;
	}
	return n;
}

/* What \u stands for, with its other half; `s` is behind the u.  -1: bad. */
static int32_t parse_u_escape(struct weft_str s, size_t *ret_used)
{
	int32_t high = parse_hex4(s), low;

	*ret_used = 4;
	if (high < 0xd800 || high > 0xdfff)
		return high;
	if (high > 0xdbff || s.len < 10 || s.ptr[4] != '\\' || s.ptr[5] != 'u')
		return -1;
	low = parse_hex4(str_skip(s, 6));
	if (low < 0xdc00 || low > 0xdfff)
		return -1;
	*ret_used = 10;
	return 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
}

static char *put_utf8(char *to, int32_t cp)
{
	unsigned n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (unsigned i = n; i-- > 1; cp >>= 6)
		to[i] = (char)(0x80 | (cp & 0x3f));
	to[0] = (char)(lead[n] | cp);
	return to + n;
}

/* Decode the escape behind a backslash; 0 if it is none, else its length. */
static size_t decode_escape(struct weft_str s, char **to)
{
	static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	const char *found;
	size_t used;
	int32_t cp;

	if (s.len == 0)
		return 0;
	if (s.ptr[0] == 'u') {
		cp = parse_u_escape(str_skip(s, 1), &used);
		if (cp < 0)
			return 0;
		*to = put_utf8(*to, cp);
		return 1 + used;
	}
	found = memchr(from, s.ptr[0], sizeof(from) - 1);
	if (!found)
		return 0;
	*(*to)++ = plain[found - from];
	return 1;
}

int json_unescape(struct weft_str raw, struct arena *a, struct weft_str *ret,
		  struct weft_error *err)
{
	const char *escape = raw.len ? memchr(raw.ptr, '\\', raw.len) : NULL;
	char *start, *to;

	if (!escape) {
		*ret = raw;
		return WEFT_OK;
	}
	/* No escape is shorter than what it stands for. */
	start = to = arena_alloc(a, raw.len + 1);
	if (!start)
		return arena_error(a, err);
	while (escape) {
		size_t plain = (size_t)(escape - raw.ptr), used;

		memcpy(to, raw.ptr, plain);
		to += plain;
		raw = str_skip(raw, plain + 1);
		used = decode_escape(raw, &to);
		if (used == 0)
			return fail(err, WEFT_INVALID,
				    "invalid escape in a JSON string");
		raw = str_skip(raw, used);
		escape = raw.len ? memchr(raw.ptr, '\\', raw.len) : NULL;
	}
	if (raw.len)
		memcpy(to, raw.ptr, raw.len);
	to += raw.len;
	*to = '\0';
	*ret = (struct weft_str){ start, (size_t)(to - start) };
	return WEFT_OK;
}

/* base64.c - bytes as text. */
#include "base/base64.h"

#define NONE 0xff

static const char alphabet[64] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* What a character stands for, or NONE. */
static unsigned value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0') + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : NONE;
}

/* All values, so that decoding is a look into a table. */
static void fill(unsigned char table[256])
{
	for (unsigned i = 0; i < 256; i++)
		table[i] = (unsigned char)value_of((char)i);
}

/* The last four characters, which may be padded. */
static bool decode_last(const unsigned char table[256], const char *in,
			char *out, size_t *ret_len)
{
	unsigned pads = in[3] != '=' ? 0 : in[2] != '=' ? 1 : 2;
	uint32_t bits = 0, unused = pads == 2 ? 0xffff : 0xff;
	unsigned bad = 0;

	for (unsigned i = 0; i < 4 - pads; i++) {
		unsigned v = table[(unsigned char)in[i]];

		bad |= v & 0xc0;
		bits |= (uint32_t)v << (18 - 6 * i);
	}
	if (bad || (pads && bits & unused))
		return false;
	for (unsigned i = 0; i < 3 - pads; i++)
		out[i] = (char)(bits >> (16 - 8 * i));
	*ret_len += 3 - pads;
	return true;
}

bool base64_decode(struct weft_str s, char *out, size_t *ret_len)
{
	unsigned char table[256];
	unsigned bad = 0;
	size_t n = 0;

	*ret_len = 0;
	if (s.len % 4 != 0)
		return false;
	if (s.len == 0)
		return true;
	fill(table);
	for (; s.len > 4; s = str_skip(s, 4), n += 3) {
		unsigned a = table[(unsigned char)s.ptr[0]];
		unsigned b = table[(unsigned char)s.ptr[1]];
		unsigned c = table[(unsigned char)s.ptr[2]];
		unsigned d = table[(unsigned char)s.ptr[3]];

		bad |= (a | b | c | d) & 0xc0;
		out[n] = (char)(a << 2 | b >> 4);
		out[n + 1] = (char)(b << 4 | c >> 2);
		out[n + 2] = (char)(c << 6 | d);
	}
	*ret_len = n;
	return !bad && decode_last(table, s.ptr, out + n, ret_len);
}

void base64_encode(struct buf *b, struct weft_str bytes)
{
	const unsigned char *in = (const unsigned char *)bytes.ptr;
	size_t left = bytes.len, n = base64_chars(bytes.len);
	char *out = buf_reserve(b, n);

	if (!out)
		return;
	for (; left >= 3; left -= 3, in += 3, out += 4) {
		out[0] = alphabet[in[0] >> 2];
		out[1] = alphabet[(in[0] << 4 | in[1] >> 4) & 63];
		out[2] = alphabet[(in[1] << 2 | in[2] >> 6) & 63];
		out[3] = alphabet[in[2] & 63];
	}
	if (left > 0) {
		unsigned first = in[0], second = left > 1 ? in[1] : 0;

		out[0] = alphabet[first >> 2];
		out[1] = alphabet[(first << 4 | second >> 4) & 63];
		out[2] = left > 1 ? alphabet[second << 2 & 63] : '=';
		out[3] = '=';
	}
	b->len += n;
}

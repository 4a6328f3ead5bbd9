/* base64.h - bytes as text, with the padding and the alphabet of RFC 4648. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

/* How many characters `n` bytes become. */
static inline size_t base64_chars(size_t n)
{
	return (n + 2) / 3 * 4;
}

/* The most bytes that `n` characters stand for. */
static inline size_t base64_bytes(size_t n)
{
	return n / 4 * 3;
}

/*
 * Decode into `out`, which has room for base64_bytes(s.len).  False unless
 * encoding the result gives `s` again: other characters, wrong padding, and
 * bits behind the last byte that are not zero are refused.
 */
bool base64_decode(struct weft_str s, char *out, size_t *ret_len);

/* Append the bytes as text. */
void base64_encode(struct buf *b, struct weft_str bytes);

#endif

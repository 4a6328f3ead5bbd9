/* hash.c - SHA-256, hexadecimal text, randomness. */
#include "base/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include "base/error.h"

int sha256(struct weft_str data, unsigned char out[SHA256_BYTES],
	   struct weft_error *err)
{
	if (EVP_Digest(data.len ? data.ptr : "", data.len, out, NULL,
		       EVP_sha256(), NULL) != 1)
		return fail_no_memory(err);
	return WEFT_OK;
}

void hex_format(const void *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[p[i] >> 4];
		*out++ = digits[p[i] & 15];
	}
	*out = '\0';
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool hex_parse(struct weft_str s, void *out, size_t n)
{
	unsigned char *p = out;

	if (s.len % 2 != 0 || s.len / 2 != n)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (hex_value(s.ptr[i]) < 0)
			return false;
	}
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(hex_value(s.ptr[2 * i]) * 16 +
				       hex_value(s.ptr[2 * i + 1]));
	return true;
}

int random_bytes(void *out, size_t n, struct weft_error *err)
{
	unsigned char *p = out;

	/* The kernel's, as it is the same after fork() and needs no start. */
	while (n) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno(err, errno, "random numbers");
		p += got;
		n -= (size_t)got;
	}
	return WEFT_OK;
}

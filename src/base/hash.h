/* hash.h - SHA-256 from libcrypto, randomness from the kernel. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/base.h"

#define SHA256_BYTES 32

int sha256(struct weft_str data, unsigned char out[SHA256_BYTES],
	   struct weft_error *err);
void hex_format(const void *bytes, size_t n, char *out); /* 2n chars + NUL */
bool hex_parse(struct weft_str s, void *out, size_t n);  /* lower case only */

int random_bytes(void *out, size_t n, struct weft_error *err);

#endif

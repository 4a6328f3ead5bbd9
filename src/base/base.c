/* base.c - the table of codes, numbers in text, a hash for tables. */
#include "base/base.h"

#include <endian.h>
#include <pthread.h>
#include <sys/random.h>
#include <time.h>

struct code_row {
	int code;
	const char *name;
	int exit_status, http_status;
};

static const struct code_row code_rows[] = {
#define CODE_ROW(name, value, wire, exit_status, http, text) \
	{ (value), (wire), (exit_status), (http) },
	WEFT_CODES(CODE_ROW)
#undef CODE_ROW
};

/*
 * A code that is none of ours is a bug, and then nobody knows what happened:
 * that is what "unknown" says.
 */
static const struct code_row *find_code(int code)
{
	const struct code_row *unknown = &code_rows[0];

	for (size_t i = 0; i < ARRAY_LEN(code_rows); i++) {
		if (code_rows[i].code == code)
			return &code_rows[i];
		if (code_rows[i].code == WEFT_UNKNOWN)
			unknown = &code_rows[i];
	}
	return unknown;
}

const char *weft_code_name(int code)
{
	return find_code(code)->name;
}

int weft_code_exit_status(int code)
{
	return find_code(code)->exit_status;
}

int weft_code_http_status(int code)
{
	return find_code(code)->http_status;
}

bool str_to_u64(struct weft_str s, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned digit = (unsigned char)s.ptr[i] - (unsigned)'0';

		if (digit > 9 || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, digit, &n))
			return false;
	}
	if (n > max)
		return false;
	*ret = n;
	return true;
}

/*
 * The hash multiplies 64 x 64 to 128 bits and folds the halves together.  It
 * starts from a random number of this process, so that nobody outside can
 * choose keys that collide.
 */
static uint64_t hash_seed;
static pthread_once_t hash_once = PTHREAD_ONCE_INIT;

static void choose_hash_seed(void)
{
	struct timespec now;

	if (getrandom(&hash_seed, sizeof(hash_seed), GRND_NONBLOCK) ==
	    (ssize_t)sizeof(hash_seed))
		return;
	/* Early in boot: the time and our address are better than nothing. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	hash_seed = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^
		    (uint64_t)(uintptr_t)&now;
}

static uint64_t fold_multiply(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_from(uint64_t seed, const void *data, size_t len)
{
	/* Odd numbers without a pattern: the fractions of sqrt(2), sqrt(3). */
	const uint64_t k1 = UINT64_C(0x6a09e667f3bcc909);
	const uint64_t k2 = UINT64_C(0xbb67ae8584caa73b);
	const unsigned char *p = data;
	uint64_t h, word;
	size_t left = len;

	h = seed ^ k1;
	for (; left >= sizeof(word); left -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = fold_multiply(h ^ le64toh(word), k2 ^ seed);
	}
	word = 0;
	if (left)
		memcpy(&word, p, left);
	h = fold_multiply(h ^ le64toh(word), k1);
	return fold_multiply(h ^ len, k2);
}

uint64_t hash_bytes(const void *data, size_t len)
{
	(void)pthread_once(&hash_once, choose_hash_seed);
	return hash_from(hash_seed, data, len);
}

uint64_t hash_stable(const void *data, size_t len)
{
	return hash_from(0, data, len);
}

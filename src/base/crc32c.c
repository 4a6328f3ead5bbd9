/*
 * crc32c.c - the Castagnoli checksum, with the processor's help.
 *
 * The instruction takes 8 bytes and can start every cycle, but its result
 * comes three cycles later: one chain of them runs at a third of the speed.
 * So long input is cut into three streams of n bytes that run side by side.
 * The checksum of the whole is then
 *
 *     A * x^(16n) + B * x^(8n) + C    modulo the polynomial,
 *
 * with the checksums A, B, C of the streams (B and C begun from zero).  To
 * multiply a checksum by x^k: the carry-less product with the constant
 * x^(k-33), run through the instruction again, which multiplies by x^32 and
 * reduces; the 33rd comes from the order of bits, the lowest being the
 * highest power.
 */
#include "base/crc32c.h"

#include <pthread.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define POLYNOMIAL 0x82f63b78u /* lowest bit first */

/* tables[k][b]: the byte b with k zero bytes behind it. */
static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][b] = crc;
	}
	for (size_t k = 1; k < 8; k++) {
		for (size_t b = 0; b < 256; b++) {
			uint32_t crc = tables[k - 1][b];

			tables[k][b] = crc >> 8 ^ tables[0][crc & 255];
		}
	}
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *p = data;

	(void)pthread_once(&tables_once, make_tables);
	crc = ~crc;
	for (; len >= 8; len -= 8, p += 8) {
		uint32_t low = crc ^ get_le32(p);

		crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^
		      tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
		      tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
		      tables[0][p[7]];
	}
	for (; len; len--, p++)
		crc = crc >> 8 ^ tables[0][(crc ^ *p) & 255];
	return ~crc;
}

#if defined(__x86_64__)

#define HW __attribute__((target("sse4.2,pclmul")))

/* Bytes per stream, and x^(8n-33), x^(16n-33) for them. */
#define LONG_BYTES  2048
#define LONG_BY_1   0xa51b6135u
#define LONG_BY_2   0x82f89c77u
#define SHORT_BYTES 128
#define SHORT_BY_1  0x0d3b6092u
#define SHORT_BY_2  0xb9e02b86u

static inline uint64_t load_u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

HW static inline uint64_t multiply(uint64_t crc, uint32_t by)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
					       _mm_cvtsi64_si128(by), 0);

	return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* Three streams of n bytes, a multiple of 8. */
HW static inline uint64_t three_streams(uint64_t crc, const unsigned char *p,
					size_t n, uint32_t by_1, uint32_t by_2)
{
	uint64_t b = 0, c = 0;

	for (size_t i = 0; i < n; i += 8) {
		crc = _mm_crc32_u64(crc, load_u64(p + i));
		b = _mm_crc32_u64(b, load_u64(p + n + i));
		c = _mm_crc32_u64(c, load_u64(p + 2 * n + i));
	}
	return multiply(crc, by_2) ^ multiply(b, by_1) ^ c;
}

HW static uint32_t crc32c_hw(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t c = ~crc;

	for (; len >= 3 * LONG_BYTES; len -= 3 * LONG_BYTES) {
		c = three_streams(c, p, LONG_BYTES, LONG_BY_1, LONG_BY_2);
		p += 3 * LONG_BYTES;
	}
	for (; len >= 3 * SHORT_BYTES; len -= 3 * SHORT_BYTES) {
		c = three_streams(c, p, SHORT_BYTES, SHORT_BY_1, SHORT_BY_2);
		p += 3 * SHORT_BYTES;
	}
	for (; len >= 8; len -= 8, p += 8)
		c = _mm_crc32_u64(c, load_u64(p));
	for (; len; len--, p++)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return ~(uint32_t)c;
}

static bool has_hw(void)
{
	return __builtin_cpu_supports("sse4.2") &&
	       __builtin_cpu_supports("pclmul");
}

#elif defined(__aarch64__)

#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif

/*
 * As assembler text, since compilers do not agree on how to ask for the
 * intrinsics in one function only.
 */
static inline uint32_t step_8(uint32_t crc, uint64_t bytes)
{
	__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1"
		: "+r"(crc)
		: "r"(bytes));
	return crc;
}

static inline uint32_t step_1(uint32_t crc, uint32_t byte)
{
	__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1"
		: "+r"(crc)
		: "r"(byte));
	return crc;
}

static uint32_t crc32c_hw(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *p = data;

	crc = ~crc;
	for (; len >= 8; len -= 8, p += 8)
		crc = step_8(crc, get_le64(p));
	for (; len; len--, p++)
		crc = step_1(crc, *p);
	return ~crc;
}

static bool has_hw(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}

#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#if defined(__x86_64__) || defined(__aarch64__)
	if (has_hw())
		return crc32c_hw(crc, data, len);
#endif
	return crc32c_portable(crc, data, len);
}

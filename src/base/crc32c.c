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
 *
 * Processors that multiply eight pairs of 64 bits at once do better: 128 bits of
 * input, L * x^64 + H, stand for the same as what follows d bits later if that
 * is added to
 *
 *     L * x^(d+64) + H * x^d    modulo the polynomial.
 *
 * So 256 bytes are kept, and moved on over the next 256 until there are no
 * more; then the first of them over the others, until 16 bytes are left that
 * have the checksum of all.  A product of 64 and 64 bits is x too large, again
 * from the order of bits: the constants are x^(d+63) and x^(d-1).
 */
#include "base/crc32c.h"

#include <pthread.h>

#if defined(__x86_64__)
#include <immintrin.h>
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

/* The rest, up to 64 bytes of it. */
HW static inline uint32_t finish(uint64_t c, const unsigned char *p, size_t len)
{
	for (; len >= 8; len -= 8, p += 8)
		c = _mm_crc32_u64(c, load_u64(p));
	for (; len; len--, p++)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return ~(uint32_t)c;
}

#define WIDE __attribute__((target("sse4.2,avx512f,vpclmulqdq")))

/* x^(d+63) and x^(d-1) for 128 bits that are moved on by d. */
#define MOVE_2048 0x1426a81500000000, (int64_t)0xe9a5d8be00000000
#define MOVE_512  0x75bba45b00000000, 0x1c19243b00000000
#define MOVE_384  0x6051243f00000000, (int64_t)0xa46ef4aa00000000
#define MOVE_256  (int64_t)0xa2158b3400000000, 0x33ccbbbc00000000
#define MOVE_128  0x3171d43000000000, 0x3743f7bd00000000

/* Four times 128 bits, each moved on by its constants, and what is there. */
WIDE static inline __m512i move_on(__m512i v, __m512i by, __m512i there)
{
	__m512i low = _mm512_clmulepi64_epi128(v, by, 0x00);
	__m512i high = _mm512_clmulepi64_epi128(v, by, 0x11);

	return _mm512_ternarylogic_epi64(low, high, there, 0x96); /* xor */
}

/* 64 bytes into one, of which the last 16 stay where they are. */
WIDE static inline __m128i move_together(__m512i v)
{
	const __m512i by = _mm512_set_epi64(0, 0, MOVE_128, MOVE_256, MOVE_384);
	const __m512i last = _mm512_maskz_mov_epi64(0xc0, v);
	const __m512i moved = move_on(v, by, last);
	const __m256i half =
		_mm256_xor_si256(_mm512_castsi512_si256(moved),
				 _mm512_extracti64x4_epi64(moved, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(half),
			     _mm256_extracti128_si256(half, 1));
}

/* At least 256 bytes. */
WIDE static uint32_t crc32c_wide(uint32_t crc, const void *data, size_t len)
{
	const __m512i by_2048 =
		_mm512_broadcast_i32x4(_mm_set_epi64x(MOVE_2048));
	const __m512i by_512 = _mm512_broadcast_i32x4(_mm_set_epi64x(MOVE_512));
	const unsigned char *p = data;
	__m512i v[4];
	__m128i end;
	uint64_t c;

	for (size_t i = 0; i < 4; i++)
		v[i] = _mm512_loadu_si512(p + 64 * i);
	v[0] = _mm512_xor_si512(
		v[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
	for (p += 256, len -= 256; len >= 256; len -= 256, p += 256) {
		for (size_t i = 0; i < 4; i++)
			v[i] = move_on(v[i], by_2048,
				       _mm512_loadu_si512(p + 64 * i));
	}
	for (size_t i = 1; i < 4; i++)
		v[i] = move_on(v[i - 1], by_512, v[i]);
	for (; len >= 64; len -= 64, p += 64)
		v[3] = move_on(v[3], by_512, _mm512_loadu_si512(p));
	end = move_together(v[3]);
	c = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(end));
	c = _mm_crc32_u64(c, (uint64_t)_mm_extract_epi64(end, 1));
	return finish(c, p, len);
}

static bool has_wide(void)
{
	return __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("vpclmulqdq");
}

HW static uint32_t crc32c_hw(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t c = ~crc;

	if (len >= 256 && has_wide())
		return crc32c_wide(crc, data, len);
	for (; len >= 3 * LONG_BYTES; len -= 3 * LONG_BYTES) {
		c = three_streams(c, p, LONG_BYTES, LONG_BY_1, LONG_BY_2);
		p += 3 * LONG_BYTES;
	}
	for (; len >= 3 * SHORT_BYTES; len -= 3 * SHORT_BYTES) {
		c = three_streams(c, p, SHORT_BYTES, SHORT_BY_1, SHORT_BY_2);
		p += 3 * SHORT_BYTES;
	}
	return finish(c, p, len);
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

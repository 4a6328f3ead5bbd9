/* frame.c - see frame.h. */
#include "store/jsonl/frame.h"

#include <assert.h>

#include "base/crc32c.h"

static const char magic[8] = { 'W', 'E', 'F', 'T', 'F', 'R', 'M', '1' };

enum {
	AT_SALT = 8,
	AT_LSN = 16,
	AT_PREV = 24,
	AT_LEN = 32,
	AT_N = 40,
	AT_CRC = 44
};

enum {
	REC_GEN = 16,
	REC_SEQ = 24,
	REC_OFFSET = 32,
	REC_LEN = 40,
	REC_LINES = 44
};

/* Zeros up to the next multiple of `unit`. */
static void pad(struct buf *b, size_t unit)
{
	size_t n = (size_t)round_up(b->len, unit) - b->len;
	char *p = n ? buf_reserve(b, n) : NULL;

	if (!p)
		return;
	memset(p, 0, n);
	b->len += n;
}

void frame_begin(struct buf *b)
{
	char *p = buf_reserve(b, FRAME_HEAD);

	assert(b->len == 0);
	if (!p)
		return;
	memset(p, 0, FRAME_HEAD);
	b->len += FRAME_HEAD;
}

size_t frame_record_begin(struct buf *b, const struct weft_id *session,
			  uint64_t gen, uint64_t seq, uint64_t offset)
{
	size_t at = b->len;
	char *p = buf_reserve(b, FRAME_RECORD_HEAD);

	if (!p)
		return 0;
	memcpy(p, session, sizeof(*session));
	put_le64(p + REC_GEN, gen);
	put_le64(p + REC_SEQ, seq);
	put_le64(p + REC_OFFSET, offset);
	put_le32(p + REC_LEN, 0);
	put_le32(p + REC_LINES, 0);
	b->len += FRAME_RECORD_HEAD;
	return at;
}

void frame_record_end(struct buf *b, size_t record, uint32_t lines)
{
	if (b->error)
		return;
	put_le32(b->ptr + record + REC_LEN,
		 (uint32_t)(b->len - record - FRAME_RECORD_HEAD));
	put_le32(b->ptr + record + REC_LINES, lines);
	pad(b, 8);
}

static uint32_t checksum(const char *bytes, uint64_t len)
{
	char head[FRAME_HEAD];

	memcpy(head, bytes, sizeof(head));
	put_le32(head + AT_CRC, 0);
	return crc32c(crc32c(0, head, sizeof(head)), bytes + FRAME_HEAD,
		      (size_t)len);
}

void frame_seal(struct buf *b, uint64_t salt, uint64_t lsn, uint64_t prev,
		uint32_t n)
{
	uint64_t len = b->len - FRAME_HEAD;

	pad(b, FRAME_UNIT);
	if (b->error)
		return;
	memcpy(b->ptr, magic, sizeof(magic));
	put_le64(b->ptr + AT_SALT, salt);
	put_le64(b->ptr + AT_LSN, lsn);
	put_le64(b->ptr + AT_PREV, prev);
	put_le64(b->ptr + AT_LEN, len);
	put_le32(b->ptr + AT_N, n);
	put_le32(b->ptr + AT_CRC, checksum(b->ptr, len));
}

bool frame_read_head(const void *head, uint64_t salt, uint64_t lsn,
		     struct frame *ret)
{
	const char *p = head;

	if (memcmp(p, magic, sizeof(magic)) != 0 ||
	    get_le64(p + AT_SALT) != salt || get_le64(p + AT_LSN) != lsn)
		return false;
	*ret = (struct frame){
		.lsn = lsn,
		.prev = get_le64(p + AT_PREV),
		.len = get_le64(p + AT_LEN),
		.n = get_le32(p + AT_N),
		.crc = get_le32(p + AT_CRC),
	};
	if (ret->len > UINT32_MAX)
		return false;
	ret->end = lsn + round_up(FRAME_HEAD + ret->len, FRAME_UNIT);
	return true;
}

bool frame_check(const void *bytes, struct frame *f)
{
	f->records = (const char *)bytes + FRAME_HEAD;
	return checksum(bytes, f->len) == f->crc;
}

bool frame_next(const struct frame *f, size_t *pos, struct frame_record *ret)
{
	const char *p = f->records + *pos;
	uint64_t left = f->len - *pos;
	uint32_t len;

	if (left < FRAME_RECORD_HEAD)
		return false;
	len = get_le32(p + REC_LEN);
	ret->lines = get_le32(p + REC_LINES);
	if (len > left - FRAME_RECORD_HEAD || ret->lines > len)
		return false;
	memcpy(&ret->session, p, sizeof(ret->session));
	ret->gen = get_le64(p + REC_GEN);
	ret->seq = get_le64(p + REC_SEQ);
	ret->offset = get_le64(p + REC_OFFSET);
	ret->bytes = (struct weft_str){ p + FRAME_RECORD_HEAD, len };
	*pos += (size_t)u64_min(FRAME_RECORD_HEAD + round_up(len, 8), left);
	return true;
}

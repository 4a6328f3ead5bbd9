/*
 * frame.h - one batch as one frame of the log.
 *
 * A frame is a header of FRAME_HEAD bytes and its records, padded with zeros
 * to FRAME_UNIT.  All numbers are little endian.
 *
 *   header   magic[8] salt:8 lsn:8 prev:8 len:8 n:4 crc:4, zeros up to 64
 *   record   session:16 gen:8 seq:8 offset:8 len:4 lines:4, then the lines,
 *            each with its newline, padded with zeros to 8
 *
 * lsn is the frame's own place in the endless log, prev the end of the frame
 * before it, len the bytes of all records, crc crc32c over the header (with
 * crc as 0) and the records.  A frame is valid only in its place and with the
 * log's current salt, so that neither an older frame in a recycled segment
 * nor a message that imitates one can be taken for it.
 */
#ifndef STORE_JSONL_FRAME_H
#define STORE_JSONL_FRAME_H

#include "base/buf.h"
#include "weft/store.h"

#define FRAME_UNIT        4096u
#define FRAME_HEAD        64u
#define FRAME_RECORD_HEAD 48u

struct frame {
	uint64_t lsn, prev, end; /* end: where the next one may start */
	uint64_t len;
	uint32_t n;
	uint32_t crc;
	const char *records; /* len bytes */
};

/* Lines of one session, to be found at `offset` of its file. */
struct frame_record {
	struct weft_id session;
	uint64_t gen;
	uint64_t seq; /* of the first line; 0 if that is the file line */
	uint64_t offset;
	uint32_t lines;
	struct weft_str bytes;
};

/* Start a frame in an empty buffer. */
void frame_begin(struct buf *b);
/* Open a record; add its bytes to the buffer; then close it. */
size_t frame_record_begin(struct buf *b, const struct weft_id *session,
			  uint64_t gen, uint64_t seq, uint64_t offset);
void frame_record_end(struct buf *b, size_t record, uint32_t lines);
/* Pad and seal what is in the buffer; check the buffer's error before. */
void frame_seal(struct buf *b, uint64_t salt, uint64_t lsn, uint64_t prev,
		uint32_t n);

/* Read a header: false unless it is one for this salt and place. */
bool frame_read_head(const void *head, uint64_t salt, uint64_t lsn,
		     struct frame *ret);
/* Check the frame whose header and records are at `bytes`. */
bool frame_check(const void *bytes, struct frame *f);

/* Step through the records; start with *pos = 0.  False at the end, or where
 * a record does not fit. */
bool frame_next(const struct frame *f, size_t *pos, struct frame_record *ret);

#endif

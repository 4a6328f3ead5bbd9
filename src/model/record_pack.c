/*
 * record_pack.c - a record as bytes.
 *
 * Numbers are in groups of seven bits, the lowest first, with the high bit set
 * in all but the last.  Text is its length and its bytes; an id is a text that
 * is empty if there is none.
 */
#include "base/buf.h"
#include "base/id.h"
#include "model/record.h"

#define NUMBER_BYTES_MAX 10

static void pack_number(struct buf *out, uint64_t n)
{
	unsigned char bytes[NUMBER_BYTES_MAX];
	size_t len = 0;

	while (n >= 0x80) {
		bytes[len++] = (unsigned char)(n | 0x80);
		n >>= 7;
	}
	bytes[len++] = (unsigned char)n;
	buf_add(out, bytes, len);
}

static bool unpack_number(struct weft_str *in, uint64_t *ret)
{
	uint64_t n = 0;

	for (size_t i = 0; i < in->len && i < NUMBER_BYTES_MAX; i++) {
		unsigned char c = (unsigned char)in->ptr[i];

		n |= (uint64_t)(c & 0x7f) << (7 * i);
		if (c < 0x80) {
			*in = str_skip(*in, i + 1);
			*ret = n;
			return true;
		}
	}
	return false;
}

static void pack_text(struct buf *out, struct weft_str s)
{
	pack_number(out, s.len);
	buf_add_str(out, s);
}

static bool unpack_text(struct weft_str *in, struct weft_str *ret)
{
	uint64_t len;

	if (!unpack_number(in, &len) || len > in->len)
		return false;
	*ret = (struct weft_str){ len ? in->ptr : "", (size_t)len };
	*in = str_skip(*in, (size_t)len);
	return true;
}

static bool unpack_id(struct weft_str *in, struct weft_id *ret)
{
	struct weft_str s;

	if (!unpack_text(in, &s) || (s.len && s.len != sizeof(*ret)))
		return false;
	*ret = (struct weft_id){ .b = { 0 } };
	if (s.len)
		memcpy(ret, s.ptr, sizeof(*ret));
	return true;
}

void record_pack(const struct session_rec *rec, struct buf *out)
{
	for (size_t i = 0; i < record_n_fields; i++) {
		const void *from = record_at_const(rec, &record_fields[i]);

		switch (record_fields[i].kind) {
		case FIELD_ID:
			pack_text(
				out,
				id_is_zero(from) ?
					STR("") :
					(struct weft_str){
						from, sizeof(struct weft_id) });
			break;
		case FIELD_U64:
		case FIELD_TIME:
			pack_number(out, *(const uint64_t *)from);
			break;
		default:
			pack_text(out, *(const struct weft_str *)from);
			break;
		}
	}
}

bool record_unpack(struct weft_str bytes, struct session_rec *ret)
{
	bool good = true;

	for (size_t i = 0; i < record_n_fields && good; i++) {
		void *to = record_at(ret, &record_fields[i]);

		switch (record_fields[i].kind) {
		case FIELD_ID:
			good = unpack_id(&bytes, to);
			break;
		case FIELD_U64:
		case FIELD_TIME:
			good = unpack_number(&bytes, to);
			break;
		default:
			good = unpack_text(&bytes, to);
			break;
		}
	}
	return good && bytes.len == 0;
}

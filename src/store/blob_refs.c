/* blob_refs.c - which blobs a line refers to. */
#include "store/blob_refs.h"

#include "base/hash.h"
#include "store/store.h"

static struct weft_str behind(struct weft_str s, const char *mark)
{
	size_t n = strlen(mark);
	const char *at = memmem(s.ptr, s.len, mark, n);

	if (!at)
		return (struct weft_str){ NULL, 0 };
	return str_skip(s, (size_t)(at - s.ptr) + n);
}

/* "bytes":N, right behind the hash. */
static uint64_t size_of(struct weft_str s)
{
	static const char before[] = "\",\"bytes\":";
	size_t n = 0;
	uint64_t size = 0;

	if (!str_starts(s, STR(before)))
		return 0;
	s = str_skip(s, sizeof(before) - 1);
	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	(void)str_to_u64((struct weft_str){ s.ptr, n }, UINT64_MAX, &size);
	return size;
}

bool blob_ref_next(struct weft_str *rest, struct blob_ref *ret)
{
	const size_t hex = (size_t)SHA256_BYTES * 2;

	for (;;) {
		struct weft_str s = behind(*rest, "\"sha256\":\"");

		if (!s.ptr || s.len < hex)
			return false;
		*rest = s;
		*ret = (struct blob_ref){ .bytes = size_of(str_skip(s, hex)) };
		if (hex_parse((struct weft_str){ s.ptr, hex }, ret->sha256,
			      SHA256_BYTES))
			return true;
	}
}

int report_lost_blob(struct store_report *report, const struct weft_id *session,
		     const char *file, uint64_t line, uint64_t offset,
		     const struct blob_ref *ref, struct weft_error *err)
{
	char hex[2 * SHA256_BYTES + 1];

	hex_format(ref->sha256, SHA256_BYTES, hex);
	return report_problem(report, session, file, line, offset, err,
			      "blob %s, which it refers to, is missing", hex);
}

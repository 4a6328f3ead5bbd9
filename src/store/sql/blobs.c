/* blobs.c - blobs in a table: by their hash, checked when they are read. */
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/sql/sql.h"

int sql_no_such_blob(const struct blob_ref *ref, struct weft_error *err)
{
	char hex[2 * SHA256_BYTES + 1];

	hex_format(ref->sha256, SHA256_BYTES, hex);
	return fail(err, WEFT_NOT_FOUND, "no blob %s", hex);
}

struct putting {
	const struct blob_ref *ref;
	struct weft_str bytes;
};

static int put_blob(struct sql_conn *c, void *ctx, struct weft_error *err)
{
	const struct putting *p = ctx;

	return sql_run(c, Q_PUT_BLOB,
		       SQL_ROW(sql_bytes(p->ref->sha256, SHA256_BYTES),
			       sql_u64(p->ref->bytes),
			       sql_int(clock_now_ms(&c->store->clock)),
			       sql_bytes(p->bytes.ptr, p->bytes.len)),
		       NULL, NULL, err);
}

int sql_store_put_blob(struct store *store, struct weft_str bytes,
		       struct blob_ref *ret, struct weft_error *err)
{
	struct blob_ref ref = { .bytes = bytes.len };
	struct putting p = { &ref, bytes };
	int r = sha256(bytes, ref.sha256, err);

	if (r == WEFT_OK)
		r = sql_transaction(sql_of(store), put_blob, &p, err);
	if (r == WEFT_OK)
		*ret = ref;
	return r;
}

struct fetching {
	const struct blob_ref *ref;
	struct arena *arena;
	struct weft_str bytes;
};

static int take_blob(void *ctx, const struct sql_value *row,
		     struct weft_error *err)
{
	struct fetching *f = ctx;

	if ((uint64_t)row[0].n != f->ref->bytes)
		return fail(err, WEFT_CORRUPT,
			    "a blob has %lld bytes, expected %llu",
			    (long long)row[0].n,
			    (unsigned long long)f->ref->bytes);
	f->bytes = arena_str(f->arena, row[1].s);
	return f->bytes.ptr ? SQL_ENOUGH : arena_error(f->arena, err);
}

int sql_store_get_blob(struct store *s, const struct blob_ref *ref,
		       struct arena *a, struct weft_str *ret,
		       struct weft_error *err)
{
	CLEANUP(sql_release) struct sql_conn *c = NULL;
	struct fetching f = { .ref = ref, .arena = a };
	unsigned char actual[SHA256_BYTES];
	int r = sql_reader(sql_of(s), &c, err);

	if (r == WEFT_OK)
		r = sql_run(c, Q_GET_BLOB,
			    SQL_ROW(sql_bytes(ref->sha256, SHA256_BYTES)),
			    take_blob, &f, err);
	if (r < 0)
		return r;
	if (!f.bytes.ptr)
		return sql_no_such_blob(ref, err);
	r = sha256(f.bytes, actual, err);
	if (r < 0)
		return r;
	if (memcmp(actual, ref->sha256, SHA256_BYTES) != 0)
		return fail(err, WEFT_CORRUPT,
			    "a blob does not have the hash it is kept under");
	*ret = f.bytes;
	return WEFT_OK;
}

/*
 * refs.c - which session refers to which blobs: rows of blob_refs.
 *
 * A write adds what its messages refer to, and one that takes events away says
 * what is left (apply.c).  Here all of it is found again from the events.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "model/blob.h"
#include "store/sql/sql.h"

static int by_hash(const void *a, const void *b)
{
	return memcmp(((const struct blob_ref *)a)->sha256,
		      ((const struct blob_ref *)b)->sha256, SHA256_BYTES);
}

static int push(struct sql_refs *refs, const struct blob_ref *ref,
		struct arena *a, struct weft_error *err)
{
	if (refs->n == refs->room) {
		size_t room = refs->room ? 2 * refs->room : 16;
		struct blob_ref *v = ARENA_ARRAY(a, struct blob_ref, room);

		if (!v)
			return arena_error(a, err);
		if (refs->n)
			memcpy(v, refs->v, refs->n * sizeof(*v));
		refs->v = v;
		refs->room = room;
	}
	refs->v[refs->n++] = *ref;
	return WEFT_OK;
}

int sql_refs_add(struct sql_refs *refs, const struct store_event *e,
		 struct arena *a, struct weft_error *err)
{
	struct blob_refs found = { 0 };
	int r;

	if (e->type != EVENT_MESSAGE || e->state == STATE_DAMAGED ||
	    !blob_is_packed(e->body, e->state))
		return WEFT_OK;
	r = blob_list(e->body, a, &found, err);
	for (size_t i = 0; i < found.n && r == WEFT_OK; i++)
		r = push(refs, &found.v[i], a, err);
	return r;
}

/* Each once, in order. */
static void sort(struct sql_refs *refs)
{
	size_t n = 0;

	if (refs->n == 0)
		return;
	SORT(refs->v, refs->n, by_hash);
	for (size_t i = 1; i < refs->n; i++) {
		if (by_hash(&refs->v[n], &refs->v[i]) != 0)
			refs->v[++n] = refs->v[i];
	}
	refs->n = n + 1;
}

struct reading {
	struct sql_refs refs;
	struct arena *arena;
};

static int take_ref(void *ctx, const struct sql_value *row,
		    struct weft_error *err)
{
	struct reading *d = ctx;
	struct blob_ref ref = { .bytes = 0 };

	if (row[0].kind != SQL_BYTES || row[0].s.len != SHA256_BYTES)
		return sql_fail_row("blob_refs", err);
	memcpy(ref.sha256, row[0].s.ptr, SHA256_BYTES);
	return push(&d->refs, &ref, d->arena, err);
}

static bool is_same(const struct sql_refs *a, const struct sql_refs *b)
{
	for (size_t i = 0; i < a->n && a->n == b->n; i++) {
		if (by_hash(&a->v[i], &b->v[i]) != 0)
			return false;
	}
	return a->n == b->n;
}

static int put_rows(struct sql_conn *c, const struct weft_id *session,
		    const struct sql_refs *refs, struct arena *a,
		    struct weft_error *err)
{
	struct sql_value *v = ARENA_ARRAY(a, struct sql_value, 2 * refs->n + 1);

	if (!v)
		return arena_error(a, err);
	for (size_t i = 0; i < refs->n; i++) {
		v[2 * i] = sql_id(session);
		v[2 * i + 1] = sql_bytes(refs->v[i].sha256, SHA256_BYTES);
	}
	return refs->n == 0 ? WEFT_OK :
			      sql_run(c, Q_PUT_REFS,
				      &(struct sql_rows){ v, refs->n, 2 }, NULL,
				      NULL, err);
}

int sql_refs_settle(struct sql_conn *c, const struct weft_id *session,
		    struct sql_refs *refs, struct arena *a,
		    uint64_t *ret_changed, struct weft_error *err)
{
	struct reading d = { .arena = a };
	int r;

	*ret_changed = 0;
	sort(refs);
	r = sql_run(c, Q_REFS_OF, SQL_ROW(sql_id(session)), take_ref, &d, err);
	if (r < 0)
		return r;
	sort(&d.refs);
	if (is_same(&d.refs, refs))
		return WEFT_OK;
	*ret_changed = 1;
	r = sql_run(c, Q_CLEAR_REFS_OF, SQL_ROW(sql_id(session)), NULL, NULL,
		    err);
	return r == WEFT_OK ? put_rows(c, session, refs, a, err) : r;
}

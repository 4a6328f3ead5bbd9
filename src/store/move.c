/* move.c - copy everything from one store into another; see move.h. */
#include "store/move.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"
#include "model/blob.h"
#include "model/derive.h"
#include "model/record.h"

/* Small enough for every store's largest write. */
#define PAGE_EVENTS 256
#define PAGE_BYTES  KIB(128)

/* A session that is to be moved. */
struct moving {
	struct weft_id id;
	int64_t created_at;
	uint64_t head; /* up to here it is copied and compared */
	unsigned char digest[SHA256_BYTES];
};

struct move {
	struct store *from, *to;
	struct move_report *report;
	struct moving *v;
	size_t n, room;
	bool totals_differ;
	struct arena scratch; /* of one page */
	struct weft_error *err;
};

/* ---- which sessions there are ---- */

static int add_session(struct move *m, const struct session_rec *rec)
{
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 256;
		struct moving *v = mem_resize(m->v, room * sizeof(*v));

		if (!v)
			return fail_no_memory(m->err);
		m->v = v;
		m->room = room;
	}
	m->v[m->n++] = (struct moving){ .id = rec->id,
					.created_at = rec->created_at,
					.head = rec->head_seq };
	return WEFT_OK;
}

static int by_id(const void *a, const void *b)
{
	return id_cmp(&((const struct moving *)a)->id,
		      &((const struct moving *)b)->id);
}

static int must_be_ours(struct move *m, const struct session_rec *rec)
{
	struct moving key = { .id = rec->id };
	char id[WEFT_ID_CHARS + 1];

	if (m->n > 0 && bsearch(&key, m->v, m->n, sizeof(*m->v), by_id))
		return WEFT_OK;
	id_format(&rec->id, id);
	return fail(m->err, WEFT_EXISTS,
		    "the target has session %s, which the source does not "
		    "have: move into an empty store",
		    id);
}

/* Every session of a store, deleted ones too, and what forks still need of
 * those that were purged. */
static int each_session(struct move *m, struct store *s,
			int (*each)(struct move *m,
				    const struct session_rec *rec))
{
	struct list_query q = { .deleted = LIST_WITH_PURGED,
				.sort = LIST_BY_CREATION };
	struct session_page page = { .more = 1 };

	while (page.more) {
		int r;

		arena_reset(&m->scratch);
		r = s->ops->list(s, &q, &m->scratch, &page, m->err);
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++) {
			q.cursor_ms = page.v[i].created_at;
			q.cursor_id = page.v[i].id;
			r = each(m, &page.v[i]);
		}
		if (r < 0)
			return r;
		if (page.n == 0)
			break;
	}
	return WEFT_OK;
}

/* ---- copying ---- */

/* One write: some events of one session. */
struct chunk {
	struct move *m;
	const struct weft_id *id;
	const struct store_event *v;
	size_t n;
	struct blob_ref *blobs; /* that the target has by now */
	size_t n_blobs;
	bool over; /* another one has written here meanwhile */
};

static bool was_copied(const struct chunk *c, const struct blob_ref *ref)
{
	for (size_t i = 0; i < c->n_blobs; i++) {
		if (memcmp(c->blobs[i].sha256, ref->sha256, SHA256_BYTES) == 0)
			return true;
	}
	return false;
}

/* A message whose blob the source has lost is moved all the same, as it is. */
static void drop_lost(const struct chunk *c, struct op_list *out, size_t from)
{
	size_t kept = from;

	for (size_t i = from; i < out->n; i++) {
		if (out->v[i].kind != OP_BLOB ||
		    was_copied(c, out->v[i].u.blob))
			out->v[kept++] = out->v[i];
	}
	out->n = kept;
}

/* What a session spends climbs to who pays, and to who pays for those. */
static int climb(struct store_view *view, struct op_list *out, size_t from,
		 struct weft_error *err)
{
	for (size_t i = from; i < out->n; i++) {
		const struct session_rec *payer;
		struct session_rec copy;
		int r;

		if (out->v[i].kind != OP_ADD && out->v[i].kind != OP_TAKE)
			continue;
		r = view->ops->get_session(view, &out->v[i].session, &payer,
					   err);
		if (r == WEFT_NOT_FOUND)
			continue;
		if (r < 0)
			return r;
		copy = *payer;
		if (out->v[i].kind == OP_ADD)
			derive_add(&copy, out->v[i].u.add, out);
		else
			derive_take(&copy, out->v[i].u.add, out);
	}
	return WEFT_OK;
}

static int plan_chunk(void *ctx, struct store_view *view, struct op_list *out,
		      struct weft_error *err)
{
	struct chunk *c = ctx;
	struct session_rec *rec = ARENA_NEW(out->arena, struct session_rec);
	const struct session_rec *before;
	struct store_op *op;
	int r = view->ops->get_session(view, c->id, &before, err);

	if (!rec)
		return arena_error(out->arena, err);
	if (r == WEFT_OK)
		*rec = *before;
	else if (r != WEFT_NOT_FOUND)
		return r;
	c->over = rec->head_seq >= c->v[0].seq;
	if (c->over)
		return WEFT_OK;
	for (size_t i = 0; i < c->n; i++) {
		size_t from = out->n;

		op = op_list_add(out, OP_EVENT, c->id);
		if (op)
			op->u.event = &c->v[i];
		r = derive_event(rec, &c->v[i], NULL, out, err);
		drop_lost(c, out, from);
		if (r == WEFT_OK)
			r = climb(view, out, from, err);
		if (r < 0)
			return r;
	}
	op = op_list_add(out, OP_SESSION, c->id);
	if (op)
		op->u.rec = rec;
	return WEFT_OK;
}

static bool keep_blob(struct chunk *c, const struct blob_ref *ref)
{
	/* Grows by doubling: its room is a power of two. */
	if ((c->n_blobs & (c->n_blobs - 1)) == 0) {
		size_t room = c->n_blobs ? 2 * c->n_blobs : 1;
		struct blob_ref *v =
			ARENA_ARRAY(&c->m->scratch, struct blob_ref, room);

		if (!v)
			return false;
		if (c->n_blobs > 0)
			memcpy(v, c->blobs, c->n_blobs * sizeof(*v));
		c->blobs = v;
	}
	c->blobs[c->n_blobs++] = *ref;
	return true;
}

/* One that the source has lost stays lost. */
static int copy_blob(struct chunk *c, const struct blob_ref *ref)
{
	CLEANUP(arena_done) struct arena a;
	struct move *m = c->m;
	struct blob_ref copied;
	struct weft_str bytes;
	int r;

	arena_init(&a, 0);
	if (was_copied(c, ref))
		return WEFT_OK;
	r = m->from->ops->get_blob(m->from, ref, &a, &bytes, m->err);

	if (r == WEFT_NOT_FOUND || r == WEFT_CORRUPT)
		return WEFT_OK;
	if (r == WEFT_OK)
		r = m->to->ops->put_blob(m->to, bytes, &copied, m->err);
	if (r == WEFT_OK && !keep_blob(c, ref))
		r = arena_error(&m->scratch, m->err);
	return r;
}

static int copy_blobs(struct chunk *c)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < c->n && r == WEFT_OK; i++) {
		const struct store_event *e = &c->v[i];
		struct blob_refs refs = { 0 };

		if (e->type != EVENT_MESSAGE || e->state == STATE_DAMAGED ||
		    !blob_is_packed(e->body, e->state))
			continue;
		r = blob_list(e->body, &c->m->scratch, &refs, c->m->err);
		for (size_t k = 0; k < refs.n && r == WEFT_OK; k++)
			r = copy_blob(c, &refs.v[k]);
	}
	return r;
}

static int copy_session(struct move *m, struct moving *s)
{
	struct event_range range = { .session = s->id,
				     .last = s->head,
				     .max_events = PAGE_EVENTS,
				     .max_bytes = PAGE_BYTES };
	struct session_rec there;
	int r;

	arena_reset(&m->scratch);
	r = m->to->ops->get_sessions(m->to, &s->id, 1, &m->scratch, &there,
				     m->err);
	range.first = there.head_seq + 1;
	while (r == WEFT_OK && range.first <= s->head) {
		struct event_page page;
		struct store_want want = { .sessions = &s->id,
					   .n_sessions = 1,
					   .bytes = PAGE_BYTES };
		struct chunk c = { .m = m, .id = &s->id };

		arena_reset(&m->scratch);
		r = m->from->ops->read_events(m->from, &range, &m->scratch,
					      &page, m->err);
		if (r < 0 || page.n == 0)
			break;
		c.v = page.v;
		c.n = page.n;
		r = copy_blobs(&c);
		if (r == WEFT_OK)
			r = m->to->ops->write(m->to, &want, plan_chunk, &c,
					      m->err);
		if (r == WEFT_OK && c.over)
			r = fail(m->err, WEFT_BUSY,
				 "somebody else writes to the target");
		m->report->copied += page.n;
		range.first = page.v[page.n - 1].last + 1;
	}
	return r;
}

/* ---- comparing ---- */

/* Events of a session up to its head, one by one: where a page ends must not
 * matter. */
static int digest_session(struct move *m, struct store *s,
			  const struct moving *of, unsigned char *out,
			  uint64_t *events, uint64_t *bytes)
{
	struct event_range range = { .session = of->id,
				     .first = 1,
				     .last = of->head };
	struct event_page page = { .done = 0 };
	unsigned char both[2 * SHA256_BYTES];

	memset(both, 0, sizeof(both));
	memcpy(both, &of->id, sizeof(of->id));
	while (!page.done) {
		int r;

		arena_reset(&m->scratch);
		r = s->ops->read_events(s, &range, &m->scratch, &page, m->err);
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++) {
			struct weft_str all = { (const char *)both,
						sizeof(both) };

			*events += 1;
			*bytes += page.v[i].bytes.len + 1;
			range.first = page.v[i].last + 1;
			r = sha256(page.v[i].bytes, both + SHA256_BYTES,
				   m->err);
			if (r == WEFT_OK)
				r = sha256(all, both, m->err);
		}
		if (r < 0)
			return r;
		if (page.n == 0)
			break;
	}
	memcpy(out, both, SHA256_BYTES);
	return WEFT_OK;
}

static int compare_totals(struct move *m, const struct moving *s)
{
	struct session_rec a, b;
	int r;

	arena_reset(&m->scratch);
	r = m->from->ops->get_sessions(m->from, &s->id, 1, &m->scratch, &a,
				       m->err);
	if (r == WEFT_OK)
		r = m->to->ops->get_sessions(m->to, &s->id, 1, &m->scratch, &b,
					     m->err);
	if (r == WEFT_OK && memcmp(&a.total, &b.total, sizeof(a.total)) != 0)
		m->totals_differ = true;
	return r;
}

static int compare_session(struct move *m, struct moving *s)
{
	struct move_report *report = m->report;
	uint64_t events = 0, events_there = 0, bytes = 0, bytes_there = 0;
	unsigned char there[SHA256_BYTES];
	char id[WEFT_ID_CHARS + 1];
	int r = digest_session(m, m->from, s, s->digest, &events, &bytes);

	if (r == WEFT_OK)
		r = digest_session(m, m->to, s, there, &events_there,
				   &bytes_there);
	if (r == WEFT_OK)
		r = compare_totals(m, s);
	if (r < 0)
		return r;
	id_format(&s->id, id);
	if (events != events_there || bytes != bytes_there ||
	    memcmp(there, s->digest, sizeof(there)) != 0)
		return fail(m->err, WEFT_CONFLICT,
			    "session %s is not the same in the target: %llu "
			    "events, %llu bytes instead of %llu, %llu",
			    id, (unsigned long long)events_there,
			    (unsigned long long)bytes_there,
			    (unsigned long long)events,
			    (unsigned long long)bytes);
	report->sessions++;
	report->events += events;
	report->bytes += bytes;
	return WEFT_OK;
}

/* ---- all of it ---- */

static void tell(struct move *m, size_t done)
{
	if (m->report->progress)
		m->report->progress(m->report->progress_ctx, done, 2 * m->n);
}

/* Oldest first: who pays should be there before who spends. */
static int oldest_first(const void *a, const void *b)
{
	const struct moving *x = a, *y = b;

	if (x->created_at != y->created_at)
		return x->created_at < y->created_at ? -1 : 1;
	return by_id(a, b);
}

static int copy_all(struct move *m)
{
	int r = WEFT_OK;

	SORT(m->v, m->n, oldest_first);
	for (size_t i = 0; i < m->n && r == WEFT_OK; i++) {
		r = copy_session(m, &m->v[i]);
		tell(m, i + 1);
	}
	return r;
}

static int compare_all(struct move *m)
{
	unsigned char both[2 * SHA256_BYTES] = { 0 };
	int r = WEFT_OK;

	SORT(m->v, m->n, by_id);
	for (size_t i = 0; i < m->n && r == WEFT_OK; i++) {
		struct weft_str all = { (const char *)both, sizeof(both) };

		r = compare_session(m, &m->v[i]);
		memcpy(both + SHA256_BYTES, m->v[i].digest, SHA256_BYTES);
		if (r == WEFT_OK)
			r = sha256(all, both, m->err);
		tell(m, m->n + i + 1);
	}
	memcpy(m->report->digest, both, sizeof(m->report->digest));
	return r;
}

/* Clocks that disagree: somebody spent before who pays was there. */
static int settle_totals(struct move *m)
{
	struct store_report report = { .arena = &m->scratch };

	if (!m->totals_differ)
		return WEFT_OK;
	arena_reset(&m->scratch);
	return m->to->ops->maintain(m->to, TASK_REINDEX, &report, m->err);
}

int store_move(struct store *from, struct store *to, struct move_report *report,
	       struct weft_error *err)
{
	struct move m = {
		.from = from, .to = to, .report = report, .err = err
	};
	int r;

	arena_init(&m.scratch, 0);
	r = each_session(&m, from, add_session);
	if (r == WEFT_OK)
		SORT(m.v, m.n, by_id);
	if (r == WEFT_OK)
		r = each_session(&m, to, must_be_ours);
	if (r == WEFT_OK)
		r = copy_all(&m);
	if (r == WEFT_OK)
		r = compare_all(&m);
	if (r == WEFT_OK)
		r = settle_totals(&m);
	arena_done(&m.scratch);
	mem_free(m.v);
	return r;
}

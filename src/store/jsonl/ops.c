/*
 * ops.c - the operation ids of a session.
 *
 * DESIGN: the file is the index.  When the first operation id is asked for,
 * the last events are read backwards once, and their ids are remembered by
 * hash; from then on new ones are added as they are written.  A hit is only a
 * hint: the caller reads the event and compares.
 */
#include <assert.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

struct op_slot {
	uint64_t hash; /* 0: free */
	uint64_t seq;
};

struct op_set {
	struct op_slot *v;
	size_t room; /* a power of two */
	size_t n;
};

void ops_free(struct op_set *s)
{
	if (!s)
		return;
	mem_free(s->v);
	mem_free(s);
}

static uint64_t hash_op(struct weft_str op)
{
	uint64_t h = hash_bytes(op.ptr, op.len);

	return h ? h : 1;
}

static void put(struct op_set *s, uint64_t hash, uint64_t seq)
{
	size_t i = (size_t)hash & (s->room - 1);

	while (s->v[i].hash && s->v[i].hash != hash)
		i = (i + 1) & (s->room - 1);
	if (!s->v[i].hash)
		s->n++;
	s->v[i] = (struct op_slot){ hash, seq };
}

/* Make room, leaving out what need not be remembered any longer. */
static bool rehash(struct op_set *s, uint64_t oldest)
{
	struct op_set fresh = { .room = 64 };

	while (fresh.room < s->n * 4)
		fresh.room *= 2;
	fresh.v = mem_zero(fresh.room, sizeof(*fresh.v));
	if (!fresh.v)
		return false;
	for (size_t i = 0; i < s->room; i++) {
		if (s->v[i].hash && s->v[i].seq >= oldest)
			put(&fresh, s->v[i].hash, s->v[i].seq);
	}
	mem_free(s->v);
	*s = fresh;
	return true;
}

static bool note(struct op_set *s, struct weft_str op, uint64_t seq,
		 uint64_t remembered)
{
	uint64_t oldest = seq > remembered ? seq - remembered : 0;

	if ((s->n + 1) * 2 > s->room && !rehash(s, oldest))
		return false;
	put(s, hash_op(op), seq);
	return true;
}

/* The operation id of a session's creation is not one of the session's. */
static bool has_op(const struct store_event *e)
{
	return e->op.len > 0 && e->type != EVENT_SESSION;
}

void ops_note(struct jsonl *js, struct live *l, const struct store_event *e)
{
	if (!l->ops || !has_op(e))
		return;
	/* A set that cannot grow is read again when it is next needed. */
	if (!note(l->ops, e->op, e->seq, js->store.limits.ops_remembered)) {
		ops_free(l->ops);
		l->ops = NULL;
	}
}

/* Read the last events backwards, page by page. */
static int fill(struct jsonl *js, struct live *l, struct op_set *s,
		struct weft_error *err)
{
	uint64_t keep = js->store.limits.ops_remembered;
	struct page_source src = {
		.session = l->id,
		.file = l->file,
		.end = l->end,
		.fork_seq = l->own.rec.fork_seq,
		.head_seq = l->own.rec.head_seq,
		.irregular = l->irregular,
	};
	uint64_t head = l->own.rec.head_seq;
	struct event_range r = {
		.session = l->id,
		.first = head > keep ? head - keep + 1 : 1,
		.last = head,
		.backwards = 1,
	};
	int status = behind_settle(js, &l->id, err);
	bool done = head <= src.fork_seq;

	while (!done && status == WEFT_OK) {
		CLEANUP(arena_done) struct arena a;
		struct event_page page;

		arena_init(&a, 0);
		status = page_read(&src, &r, 1000, &a, &page, err);
		if (status < 0)
			break;
		for (size_t i = 0; i < page.n; i++) {
			const struct store_event *e = &page.v[i];

			if (has_op(e) && !note(s, e->op, e->seq, keep))
				return fail_no_memory(err);
		}
		done = page.done || page.n == 0;
		if (!done)
			r.last = page.v[page.n - 1].seq - 1;
		done = done || r.last < r.first;
	}
	return status;
}

static int read_ops(struct jsonl *js, struct live *l, struct weft_error *err)
{
	struct op_set *s = mem_zero(1, sizeof(*s));
	int r;

	if (!s)
		return fail_no_memory(err);
	r = live_check_file(js, l, err);
	if (r == WEFT_OK && !rehash(s, 0))
		r = fail_no_memory(err);
	if (r == WEFT_OK)
		r = fill(js, l, s, err);
	if (r < 0) {
		ops_free(s);
		return r;
	}
	l->ops = s;
	return WEFT_OK;
}

int ops_find(struct jsonl *js, struct live *l, struct weft_str op,
	     struct op_hit *ret, struct weft_error *err)
{
	uint64_t hash = hash_op(op);
	size_t i;

	if (!l->ops) {
		int r = read_ops(js, l, err);

		if (r < 0)
			return r;
	}
	assert(l->ops);
	i = (size_t)hash & (l->ops->room - 1);
	while (l->ops->v[i].hash && l->ops->v[i].hash != hash)
		i = (i + 1) & (l->ops->room - 1);
	if (!l->ops->v[i].hash)
		return fail(err, WEFT_NOT_FOUND, "no such operation");
	*ret = (struct op_hit){ l->id, l->ops->v[i].seq };
	return WEFT_OK;
}

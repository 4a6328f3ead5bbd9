/* memory_log.c - the events of the memory: store. */
#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/memory.h"

#define PAGE_BYTES MIB(16)

static void free_event(struct store_event *e)
{
	/* Only a copy of ours, whose bytes we own; see copy_event. */
	mem_free((char *)(uintptr_t)e->bytes.ptr);
}

void memory_log_free(struct memory_log *log)
{
	for (size_t i = 0; i < log->n; i++)
		free_event(&log->v[i]);
	mem_free(log->v);
	mem_free(log);
}

struct memory_log *memory_log_find(const struct memory *m,
				   const struct weft_id *session)
{
	struct table_node *n =
		table_first(&m->logs, hash_bytes(session, sizeof(*session)));

	for (; n; n = table_next(n)) {
		struct memory_log *log =
			TABLE_ENTRY(n, struct memory_log, node);

		if (id_eq(&log->session, session))
			return log;
	}
	return NULL;
}

/* Find or make it; an empty one means nothing. */
static struct memory_log *make_log(struct memory *m,
				   const struct weft_id *session)
{
	struct memory_log *log = memory_log_find(m, session);

	if (log)
		return log;
	log = mem_zero(1, sizeof(*log));
	if (!log)
		return NULL;
	log->session = *session;
	if (table_add(&m->logs, &log->node,
		      hash_bytes(session, sizeof(*session))) < 0) {
		mem_free(log);
		return NULL;
	}
	return log;
}

/* `part` of `from`, which was copied to `to`. */
static struct weft_str part_of_copy(struct weft_str part, struct weft_str from,
				    const char *to)
{
	if (part.len == 0)
		return (struct weft_str){ to, 0 };
	return (struct weft_str){ to + (part.ptr - from.ptr), part.len };
}

/* One allocation: the bytes, a NUL, the op, a NUL.  The body is part of the
 * bytes. */
static bool copy_event(struct store_event *to, const struct store_event *from)
{
	size_t n = from->bytes.len, n_op = from->op.len;
	char *bytes = mem_zero(1, n + 1 + n_op + 1);

	if (!bytes)
		return false;
	memcpy(bytes, from->bytes.ptr, n);
	if (n_op > 0)
		memcpy(bytes + n + 1, from->op.ptr, n_op);
	*to = *from;
	to->bytes = (struct weft_str){ bytes, n };
	to->op = (struct weft_str){ bytes + n + 1, n_op };
	to->body = part_of_copy(from->body, from->bytes, bytes);
	return true;
}

/* Put a copy at v[at], which is the end. */
static int put_copy(struct memory_log *log, size_t at,
		    const struct store_event *e, struct weft_error *err)
{
	if (at == log->room) {
		size_t room = log->room ? log->room * 2 : 8;
		struct store_event *v = mem_resize(log->v, room * sizeof(*v));

		if (!v)
			return fail_no_memory(err);
		log->v = v;
		log->room = room;
	}
	return copy_event(&log->v[at], e) ? WEFT_OK : fail_no_memory(err);
}

int memory_log_add(struct memory_log *log, const struct store_event *e,
		   struct weft_error *err)
{
	int r = put_copy(log, log->n, e, err);

	log->n += r == WEFT_OK;
	return r;
}

int memory_log_prepare(struct memory *m, const struct store_event *e,
		       struct weft_error *err)
{
	struct memory_log *log = make_log(m, &e->session);
	size_t n;
	int r;

	if (!log)
		return fail_no_memory(err);
	n = log->n + log->coming;
	if (e->seq == 0 || (n > 0 && e->seq != log->v[n - 1].last + 1))
		return fail(err, WEFT_INVALID,
			    "event %llu of a session whose last is %llu",
			    (unsigned long long)e->seq,
			    (unsigned long long)(n ? log->v[n - 1].last : 0));
	r = put_copy(log, n, e, err);
	log->coming += r == WEFT_OK;
	return r;
}

void memory_log_commit(struct memory *m, const struct weft_id *session)
{
	struct memory_log *log = memory_log_find(m, session);

	log->n += log->coming;
	log->coming = 0;
}

void memory_log_discard(struct memory *m, const struct weft_id *session)
{
	struct memory_log *log = memory_log_find(m, session);

	while (log && log->coming > 0)
		free_event(&log->v[log->n + --log->coming]);
}

/* The index of the first event that ends at `seq` or behind it. */
static size_t first_at(const struct memory_log *log, uint64_t seq)
{
	size_t low = 0, high = log->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (log->v[middle].last < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_asked_for(const struct event_range *r,
			 const struct store_event *e)
{
	/* What cannot be read may have been of any type. */
	return r->types == 0 || e->state == STATE_DAMAGED ||
	       e->state == STATE_GONE || (r->types >> e->type & 1);
}

static bool add_to_page(struct event_page *page, const struct store_event *e,
			struct arena *a)
{
	struct store_event *to = &page->v[page->n++];

	*to = *e;
	to->bytes = arena_str(a, e->bytes);
	to->op = arena_str(a, e->op);
	if (!to->bytes.ptr || !to->op.ptr)
		return false;
	to->body = part_of_copy(e->body, e->bytes, to->bytes.ptr);
	return true;
}

/* The events v[from..to) of the log, as far as they fit. */
static int fill_page(const struct memory_log *log, size_t from, size_t to,
		     const struct event_range *r, size_t max, struct arena *a,
		     struct event_page *ret, struct weft_error *err)
{
	size_t max_bytes = r->max_bytes ? r->max_bytes : PAGE_BYTES, bytes = 0;
	struct event_page page = { .done = 1 };

	if (max > to - from)
		max = to - from;
	page.v = ARENA_ARRAY(a, struct store_event, max);
	if (!page.v)
		return arena_error(a, err);
	for (size_t i = from; i < to; i++) {
		const struct store_event *e =
			&log->v[r->backwards ? to - 1 - (i - from) : i];

		if (!is_asked_for(r, e))
			continue;
		if (page.n == max ||
		    (page.n > 0 && e->bytes.len > max_bytes - bytes)) {
			page.done = 0;
			break;
		}
		if (!add_to_page(&page, e, a))
			return arena_error(a, err);
		bytes += (size_t)u64_min(e->bytes.len, max_bytes - bytes);
	}
	*ret = page;
	return WEFT_OK;
}

int memory_log_read(const struct memory *m, const struct event_range *r,
		    struct arena *a, struct event_page *ret,
		    struct weft_error *err)
{
	static const struct memory_log empty;
	const struct memory_log *log = memory_log_find(m, &r->session);
	uint64_t page = m->store.limits.page;
	size_t from, to;

	if (!log)
		log = &empty;
	from = first_at(log, r->first);
	/* What lies at the end, or reaches over it because it is gone. */
	to = first_at(log, r->last);
	if (to < log->n && log->v[to].seq <= r->last)
		to++;
	if (r->first > r->last)
		to = from;
	if (r->max_events > 0)
		page = u64_min(page, r->max_events);
	return fill_page(log, from, to, r, (size_t)page, a, ret, err);
}

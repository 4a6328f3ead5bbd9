/*
 * memory.c - the memory: store, for sub-turns and tests: gone when closed.
 *
 * It is meant to be obviously right, so that other stores can be held against
 * it; memory.h has its design.
 */
#include "store/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/process.h"
#include "store/match.h"

int memory_check_process(const struct memory *m, struct weft_error *err)
{
	if (m->process != process_generation())
		return fail(err, WEFT_IO,
			    "the store was opened before fork(): open it again "
			    "in this process");
	return WEFT_OK;
}

int memory_check_writable(const struct memory *m, struct weft_error *err)
{
	int r = memory_check_process(m, err);

	if (r < 0)
		return r;
	if (m->read_only)
		return fail(err, WEFT_READ_ONLY,
			    "the store was opened for reading only");
	return WEFT_OK;
}

/* ---- opening and closing ---- */

static int init_locks(struct memory *m)
{
	pthread_rwlockattr_t lock_attr;
	pthread_condattr_t cond_attr;

	/* None of these can fail on Linux with valid attributes. */
	(void)pthread_rwlockattr_init(&lock_attr);
	/* Or a stream of readers keeps writers out for ever. */
	(void)pthread_rwlockattr_setkind_np(
		&lock_attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	(void)pthread_condattr_init(&cond_attr);
	(void)pthread_condattr_setclock(&cond_attr, CLOCK_MONOTONIC);
	if (pthread_mutex_init(&m->writer, NULL) != 0 ||
	    pthread_mutex_init(&m->bell, NULL) != 0 ||
	    pthread_rwlock_init(&m->lock, &lock_attr) != 0 ||
	    pthread_cond_init(&m->rung, &cond_attr) != 0)
		return -1;
	(void)pthread_rwlockattr_destroy(&lock_attr);
	(void)pthread_condattr_destroy(&cond_attr);
	return 0;
}

static int memory_open(const struct store_open *o, struct store **ret,
		       struct weft_error *err)
{
	struct memory *m;
	int r;

	/* Who only wants to read finds nothing in it, and that is true. */
	if (!(o->flags & (STORE_CREATE | STORE_READ_ONLY)))
		return fail(err, WEFT_NOT_FOUND,
			    "a memory: store is always a new one");
	m = mem_zero(1, sizeof(*m));
	if (!m)
		return fail_no_memory(err);
	m->store.ops = &store_memory;
	m->store.limits = o->limits;
	m->store.lone = 1;
	m->store.by_hand = 1; /* there is nothing to follow */
	r = store_limits_fill(&m->store.limits, err);
	if (r == WEFT_OK && init_locks(m) < 0)
		r = fail_no_memory(err);
	if (r < 0) {
		mem_free(m);
		return r;
	}
	m->process = process_generation();
	m->read_only = o->flags & STORE_READ_ONLY;
	if (o->clock)
		m->clock = *o->clock;
	m->stamp = 1;
	index_init(&m->index);
	*ret = &m->store;
	return WEFT_OK;
}

static void free_log(void *ctx, struct table_node *node)
{
	(void)ctx;
	memory_log_free(TABLE_ENTRY(node, struct memory_log, node));
}

static void free_blob(void *ctx, struct table_node *node)
{
	(void)ctx;
	mem_free(TABLE_ENTRY(node, struct memory_blob, node));
}

static int memory_close(struct store *s, struct weft_error *err)
{
	struct memory *m = memory_of(s);

	(void)err;
	table_each(&m->logs, free_log, NULL);
	table_done(&m->logs);
	table_each(&m->blobs, free_blob, NULL);
	table_done(&m->blobs);
	index_done(&m->index);
	/* After fork() somebody may hold them who does not exist here. */
	if (m->process == process_generation()) {
		(void)pthread_mutex_destroy(&m->writer);
		(void)pthread_mutex_destroy(&m->bell);
		(void)pthread_rwlock_destroy(&m->lock);
		(void)pthread_cond_destroy(&m->rung);
	}
	mem_free(m);
	return WEFT_OK;
}

/* Lock for reading; the error says that this process may not. */
static int lock_shared(struct memory *m, struct weft_error *err)
{
	int r = memory_check_process(m, err);

	if (r == WEFT_OK)
		(void)pthread_rwlock_rdlock(&m->lock);
	return r;
}

static void unlock(struct memory *m)
{
	(void)pthread_rwlock_unlock(&m->lock);
}

/* ---- writing ---- */

struct memory_blob *memory_blob_find(const struct memory *m,
				     const struct blob_ref *ref)
{
	struct table_node *n = table_first(
		&m->blobs, hash_bytes(ref->sha256, sizeof(ref->sha256)));

	for (; n; n = table_next(n)) {
		struct memory_blob *b =
			TABLE_ENTRY(n, struct memory_blob, node);

		if (memcmp(b->ref.sha256, ref->sha256, SHA256_BYTES) == 0)
			return b;
	}
	return NULL;
}

static int no_such_blob(const struct blob_ref *ref, struct weft_error *err)
{
	char hex[2 * SHA256_BYTES + 1];

	hex_format(ref->sha256, SHA256_BYTES, hex);
	return fail(err, WEFT_NOT_FOUND, "no blob %s", hex);
}

static int prepare(struct memory *m, const struct op_list *ops, void **prepared,
		   struct weft_error *err)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct store_op *op = &ops->v[i];
		int r = WEFT_OK;

		if (op->kind == OP_BLOB && !memory_blob_find(m, op->u.blob))
			r = no_such_blob(op->u.blob, err);
		else if (op->kind == OP_EVENT)
			r = memory_log_prepare(m, op->u.event, err);
		if (r < 0)
			return r;
	}
	return index_prepare(&m->index, ops, prepared, err);
}

static void discard(struct memory *m, const struct op_list *ops,
		    void **prepared)
{
	for (size_t i = 0; i < ops->n; i++) {
		if (ops->v[i].kind == OP_EVENT)
			memory_log_discard(m, &ops->v[i].u.event->session);
	}
	index_discard(ops, prepared);
}

static void commit(struct memory *m, const struct op_list *ops, void **prepared)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct store_op *op = &ops->v[i];

		if (op->kind == OP_EVENT)
			memory_log_commit(m, &op->u.event->session);
		else if (op->kind == OP_BLOB)
			memory_blob_find(m, op->u.blob)->at_ms =
				clock_now_ms(&m->clock);
	}
	index_commit(&m->index, ops, prepared);
}

static void ring(struct memory *m)
{
	(void)pthread_mutex_lock(&m->bell);
	m->stamp++;
	m->writes++;
	(void)pthread_cond_broadcast(&m->rung);
	(void)pthread_mutex_unlock(&m->bell);
}

/* Put what was planned in place, all of it or nothing. */
static int put_in_place(struct memory *m, const struct op_list *ops,
			struct weft_error *err)
{
	void **prepared = ARENA_ARRAY(ops->arena, void *, ops->n);
	int r;

	if (!prepared)
		return arena_error(ops->arena, err);
	(void)pthread_rwlock_wrlock(&m->lock);
	r = prepare(m, ops, prepared, err);
	if (r == WEFT_OK)
		commit(m, ops, prepared);
	else
		discard(m, ops, prepared);
	unlock(m);
	return r;
}

static int memory_write(struct store *s, const struct store_want *want,
			store_plan *plan, void *ctx, struct weft_error *err)
{
	struct memory *m = memory_of(s);
	struct memory_view view = { { &memory_view_ops }, m };
	CLEANUP(arena_done) struct arena arena;
	struct op_list ops = { .arena = &arena };
	int r;

	(void)want;
	arena_init(&arena, 0);
	r = memory_check_writable(m, err);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&m->writer);
	r = plan(ctx, &view.view, &ops, err);
	if (r == WEFT_OK && ops.failed)
		r = arena_error(&arena, err);
	if (r == WEFT_OK && ops.n > 0) {
		r = memory_is_rewrite(&ops) ? memory_rewrite(m, &ops, err) :
					      put_in_place(m, &ops, err);
		if (r == WEFT_OK)
			ring(m);
	}
	(void)pthread_mutex_unlock(&m->writer);
	return r;
}

/* ---- reading ---- */

static int memory_get_sessions(struct store *s, const struct weft_id *ids,
			       size_t n, struct arena *a,
			       struct session_rec *out, struct weft_error *err)
{
	struct memory *m = memory_of(s);
	int r = lock_shared(m, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		const struct session_rec *rec =
			index_session(&m->index, &ids[i]);

		if (rec)
			r = record_copy(&out[i], rec, a, err);
		else
			out[i] = (struct session_rec){ 0 };
	}
	unlock(m);
	return r;
}

static int memory_get_names(struct store *s, const struct weft_str *names,
			    size_t n, struct arena *a, struct name_rec *out,
			    struct weft_error *err)
{
	struct memory *m = memory_of(s);
	int r = lock_shared(m, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		out[i] = index_name(&m->index, names[i]);
		out[i].name = arena_str(a, names[i]);
		if (!out[i].name.ptr)
			r = arena_error(a, err);
	}
	unlock(m);
	return r;
}

static int memory_get_names_of(struct store *s, const struct weft_id *ids,
			       size_t n, struct arena *a,
			       struct session_names *out,
			       struct weft_error *err)
{
	struct memory *m = memory_of(s);
	int r = lock_shared(m, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = index_names_of(&m->index, &ids[i], a, &out[i].v, &out[i].n,
				   err);
	unlock(m);
	return r;
}

static int memory_read_events(struct store *s, const struct event_range *range,
			      struct arena *a, struct event_page *ret,
			      struct weft_error *err)
{
	struct memory *m = memory_of(s);
	int r = lock_shared(m, err);

	if (r < 0)
		return r;
	r = memory_log_read(m, range, a, ret, err);
	unlock(m);
	return r;
}

static int memory_get_hidden(struct store *s, const struct weft_id *session,
			     uint64_t first, uint64_t last, struct arena *a,
			     uint64_t **ret, size_t *ret_n,
			     struct weft_error *err)
{
	struct memory *m = memory_of(s);
	int r = lock_shared(m, err);

	if (r < 0)
		return r;
	r = index_hidden(&m->index, session, first, last, a, ret, ret_n, err);
	unlock(m);
	return r;
}

/* What a walk over all records gathers. */
struct gathering {
	const struct list_query *q;
	const struct session_rec **v;
	size_t n;
	struct arena scratch;
	int status;
	struct weft_error *err;
};

static void gather(void *ctx, struct table_node *node)
{
	struct gathering *g = ctx;
	const struct session_rec *rec =
		&TABLE_ENTRY(node, struct index_session, node)->own.rec;
	bool found = false;

	if (g->status < 0 || id_is_zero(&rec->id) || !match_cursor(g->q, rec))
		return;
	arena_reset(&g->scratch);
	g->status = match_record(g->q, rec, &g->scratch, &found, g->err);
	if (g->status == WEFT_OK && found)
		g->v[g->n++] = rec;
}

static int by_list_order(const void *a, const void *b, void *sort)
{
	return match_order(*(const uint32_t *)sort,
			   *(const struct session_rec *const *)a,
			   *(const struct session_rec *const *)b);
}

/* The page of what was gathered: its beginning, or backwards its end. */
static int copy_records(const struct gathering *g, size_t limit,
			struct arena *a, struct session_page *ret,
			struct weft_error *err)
{
	size_t n = g->n < limit ? g->n : limit;
	size_t from = g->q->backwards ? g->n - n : 0;
	struct session_page page = { .n = n, .more = g->n > n };

	page.v = ARENA_ARRAY(a, struct session_rec, n);
	if (!page.v)
		return arena_error(a, err);
	for (size_t i = 0; i < n; i++) {
		int r = record_copy(&page.v[i], g->v[from + i], a, err);

		if (r < 0)
			return r;
	}
	*ret = page;
	return WEFT_OK;
}

static int memory_list(struct store *s, const struct list_query *q,
		       struct arena *a, struct session_page *ret,
		       struct weft_error *err)
{
	struct memory *m = memory_of(s);
	struct gathering g = { .q = q, .err = err };
	uint32_t sort = q->sort;
	int r = lock_shared(m, err);

	if (r < 0)
		return r;
	arena_init(&g.scratch, 0);
	g.v = mem_zero(m->index.sessions.n + 1, sizeof(*g.v));
	if (!g.v) {
		unlock(m);
		return fail_no_memory(err);
	}
	table_each(&m->index.sessions, gather, &g);
	r = g.status;
	if (r == WEFT_OK) {
		qsort_r(g.v, g.n, sizeof(*g.v), by_list_order, &sort);
		r = copy_records(&g, match_limit(q, &s->limits), a, ret, err);
	}
	unlock(m);
	mem_free(g.v);
	arena_done(&g.scratch);
	return r;
}

struct tag_search {
	uint64_t tag;
	struct weft_id *v;
	size_t n;
};

static void note_tag(void *ctx, struct table_node *node)
{
	struct tag_search *search = ctx;
	const struct session_rec *rec =
		&TABLE_ENTRY(node, struct index_session, node)->own.rec;

	if (id_is_zero(&rec->id) || id_session_tag(&rec->id) != search->tag)
		return;
	if (search->v)
		search->v[search->n] = rec->id;
	search->n++;
}

static int memory_find_tag(struct store *s, uint64_t tag, struct arena *a,
			   struct weft_id **ret, size_t *ret_n,
			   struct weft_error *err)
{
	struct memory *m = memory_of(s);
	struct tag_search search = { .tag = tag };
	int r = lock_shared(m, err);

	if (r < 0)
		return r;
	/* Once to count, once to fill. */
	table_each(&m->index.sessions, note_tag, &search);
	search.v = ARENA_ARRAY(a, struct weft_id, search.n);
	if (search.v) {
		search.n = 0;
		table_each(&m->index.sessions, note_tag, &search);
		*ret = search.v;
		*ret_n = search.n;
	} else {
		r = arena_error(a, err);
	}
	unlock(m);
	return r;
}

static int memory_where(struct store *s, const struct weft_id *session,
			struct arena *a, struct weft_str *ret,
			struct weft_error *err)
{
	int r = memory_check_process(memory_of(s), err);

	(void)session;
	(void)a;
	if (r == WEFT_OK)
		*ret = STR("");
	return r;
}

/* ---- blobs ---- */

static int memory_put_blob(struct store *s, struct weft_str bytes,
			   struct blob_ref *ret, struct weft_error *err)
{
	struct memory *m = memory_of(s);
	struct blob_ref ref = { .bytes = bytes.len };
	struct memory_blob *fresh, *known;
	int r = memory_check_writable(m, err);

	if (r < 0)
		return r;
	r = sha256(bytes, ref.sha256, err);
	if (r < 0)
		return r;
	fresh = mem_zero(1, sizeof(*fresh) + bytes.len);
	if (!fresh)
		return fail_no_memory(err);
	fresh->ref = ref;
	fresh->at_ms = clock_now_ms(&m->clock);
	if (bytes.len > 0)
		memcpy(fresh->bytes, bytes.ptr, bytes.len);

	(void)pthread_rwlock_wrlock(&m->lock);
	known = memory_blob_find(m, &ref);
	if (known) {
		known->at_ms = fresh->at_ms;
		mem_free(fresh);
	} else if (table_add(&m->blobs, &fresh->node,
			     hash_bytes(ref.sha256, SHA256_BYTES)) < 0) {
		mem_free(fresh);
		r = fail_no_memory(err);
	}
	unlock(m);
	if (r == WEFT_OK)
		*ret = ref;
	return r;
}

/* Copy the bytes of a blob and check that they are what was asked for. */
static int copy_blob(const struct memory_blob *b, const struct blob_ref *ref,
		     struct arena *a, struct weft_str *ret,
		     struct weft_error *err)
{
	unsigned char actual[SHA256_BYTES];
	struct weft_str bytes;
	int r;

	if (b->ref.bytes != ref->bytes)
		return fail(err, WEFT_CORRUPT,
			    "a blob has %llu bytes, expected %llu",
			    (unsigned long long)b->ref.bytes,
			    (unsigned long long)ref->bytes);
	bytes = arena_str(a,
			  (struct weft_str){ b->bytes, (size_t)b->ref.bytes });
	if (!bytes.ptr)
		return arena_error(a, err);
	r = sha256(bytes, actual, err);
	if (r < 0)
		return r;
	if (memcmp(actual, ref->sha256, SHA256_BYTES) != 0)
		return fail(err, WEFT_CORRUPT,
			    "a blob does not have the hash it is kept under");
	*ret = bytes;
	return WEFT_OK;
}

static int memory_get_blob(struct store *s, const struct blob_ref *ref,
			   struct arena *a, struct weft_str *ret,
			   struct weft_error *err)
{
	struct memory *m = memory_of(s);
	const struct memory_blob *b;
	int r = lock_shared(m, err);

	if (r < 0)
		return r;
	b = memory_blob_find(m, ref);
	r = b ? copy_blob(b, ref, a, ret, err) : no_such_blob(ref, err);
	unlock(m);
	return r;
}

/* ---- waiting and health ---- */

static struct timespec deadline_in(int64_t ms)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)(ms / 1000);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static int memory_wait(struct store *s, uint64_t *stamp, int64_t timeout_ms,
		       struct weft_error *err)
{
	struct memory *m = memory_of(s);
	struct timespec deadline = deadline_in(timeout_ms < 0 ? 0 : timeout_ms);
	uint64_t wakes;
	int r = memory_check_process(m, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&m->bell);
	wakes = m->wakes - m->wake_unseen;
	while (m->stamp == *stamp && m->wakes == wakes && r == 0) {
		if (timeout_ms < 0)
			r = pthread_cond_wait(&m->rung, &m->bell);
		else
			r = pthread_cond_timedwait(&m->rung, &m->bell,
						   &deadline);
	}
	if (m->wakes != wakes)
		m->wake_unseen = false;
	r = m->stamp != *stamp;
	*stamp = m->stamp;
	(void)pthread_mutex_unlock(&m->bell);
	return r;
}

static void memory_wake(struct store *s)
{
	struct memory *m = memory_of(s);

	if (m->process != process_generation())
		return;
	(void)pthread_mutex_lock(&m->bell);
	m->wakes++;
	m->wake_unseen = true;
	(void)pthread_cond_broadcast(&m->rung);
	(void)pthread_mutex_unlock(&m->bell);
}

static int memory_health(struct store *s, struct store_health *ret)
{
	struct memory *m = memory_of(s);
	struct store_health health = { .complete = 1 };
	int r = lock_shared(m, NULL);

	if (r < 0)
		return r;
	health.active = m->index.sessions.n;
	unlock(m);
	(void)pthread_mutex_lock(&m->bell);
	health.frames = m->writes;
	(void)pthread_mutex_unlock(&m->bell);
	health.writable = !m->read_only;
	if (m->read_only)
		(void)snprintf(health.reason, sizeof(health.reason),
			       "opened for reading only");
	*ret = health;
	return WEFT_OK;
}

const struct store_ops store_memory = {
	.scheme = "memory",
	.open = memory_open,
	.close = memory_close,
	.write = memory_write,
	.get_sessions = memory_get_sessions,
	.get_names = memory_get_names,
	.get_names_of = memory_get_names_of,
	.read_events = memory_read_events,
	.get_hidden = memory_get_hidden,
	.list = memory_list,
	.find_tag = memory_find_tag,
	.where = memory_where,
	.put_blob = memory_put_blob,
	.get_blob = memory_get_blob,
	.get_behind = memory_get_behind,
	.put_words = memory_put_words,
	.find_words = memory_find_words,
	.drop_words = memory_drop_words,
	.wait = memory_wait,
	.wake = memory_wake,
	.maintain = memory_maintain,
	.health = memory_health,
};

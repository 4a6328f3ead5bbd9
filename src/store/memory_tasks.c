/* memory_tasks.c - looking after a memory: store: verify, reindex, blobs. */
#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"
#include "model/blob.h"
#include "model/event.h"
#include "store/blob_refs.h"
#include "store/memory.h"
#include "store/rebuild.h"

/* One walk over a table, and what came of it so far. */
struct walk {
	struct memory *m;
	struct store_report *report;
	struct arena scratch;
	struct rebuild *fresh; /* reindex: what is being built */
	uint64_t logs_done;
	int status;
	struct weft_error *err;
};

static void walk_init(struct walk *w, struct memory *m,
		      struct store_report *report, struct weft_error *err)
{
	*w = (struct walk){ .m = m, .report = report, .err = err };
	arena_init(&w->scratch, 0);
}

static void walk_done(struct walk *w)
{
	arena_done(&w->scratch);
}

static struct memory_log *log_of(struct table_node *node)
{
	return TABLE_ENTRY(node, struct memory_log, node);
}

/* Count a log in the report and tell how far the walk has come. */
static void count_log(struct walk *w, const struct memory_log *log)
{
	struct store_report *report = w->report;

	w->logs_done++;
	if (log->n == 0)
		return;
	report->sessions++;
	report->events += log->n;
	for (size_t i = 0; i < log->n; i++)
		report->bytes += log->v[i].bytes.len + 1;
	if (report->progress)
		report->progress(report->progress_ctx, w->logs_done,
				 w->m->logs.n);
}

/* ---- verify ---- */

static const char *wrong_with(const struct store_event *kept,
			      const struct store_event *read)
{
	if (read->state != STATE_OK && read->state != STATE_GONE)
		return "the checksum is wrong";
	if (read->seq != kept->seq || !id_eq(&read->id, &kept->id) ||
	    read->type != kept->type)
		return "the line says other than what was written";
	return NULL;
}

/* A message must have all that it refers to. */
static int verify_refs(struct walk *w, const struct memory_log *log, size_t i)
{
	const struct store_event *e = &log->v[i];
	struct blob_refs refs = { 0 };
	int r = WEFT_OK;

	if (e->type != EVENT_MESSAGE || !blob_is_packed(e->body, e->state))
		return WEFT_OK;
	r = blob_list(e->body, &w->scratch, &refs, w->err);
	for (size_t k = 0; k < refs.n && r == WEFT_OK; k++) {
		if (!memory_blob_find(w->m, &refs.v[k]))
			r = report_lost_blob(w->report, &log->session, NULL,
					     i + 1, 0, &refs.v[k], w->err);
	}
	return r;
}

static void count_only(void *ctx, struct table_node *node)
{
	const struct memory_log *log = log_of(node);
	struct walk *w = ctx;

	count_log(w, log);
	for (size_t i = 0; i < log->n && w->status == WEFT_OK; i++)
		w->status = verify_refs(w, log, i);
}

static void verify_log(void *ctx, struct table_node *node)
{
	struct walk *w = ctx;
	const struct memory_log *log = log_of(node);

	count_log(w, log);
	for (size_t i = 0; i < log->n && w->status == WEFT_OK; i++) {
		const struct store_event *e = &log->v[i];
		struct store_event again;
		const char *wrong;

		arena_reset(&w->scratch);
		event_read(&log->session, e->bytes, &w->scratch, &again);
		wrong = wrong_with(e, &again);
		if (!wrong && i > 0 && e->seq != log->v[i - 1].last + 1)
			wrong = "the number is not the next one";
		if (wrong)
			w->status =
				report_problem(w->report, &log->session, NULL,
					       i + 1, 0, w->err, "%s", wrong);
		if (w->status == WEFT_OK)
			w->status = verify_refs(w, log, i);
	}
}

static void verify_blob(void *ctx, struct table_node *node)
{
	const struct memory_blob *b =
		TABLE_ENTRY(node, struct memory_blob, node);
	unsigned char actual[SHA256_BYTES];
	struct walk *w = ctx;

	w->report->blobs++;
	if (w->status < 0)
		return;
	w->status = sha256((struct weft_str){ b->bytes, (size_t)b->ref.bytes },
			   actual, w->err);
	if (w->status == WEFT_OK &&
	    memcmp(actual, b->ref.sha256, SHA256_BYTES) != 0)
		w->status = report_problem(w->report, NULL, NULL, 0, 0, w->err,
					   "a blob has another hash");
}

static int verify(struct memory *m, struct store_report *report,
		  struct weft_error *err)
{
	CLEANUP(walk_done) struct walk w;

	walk_init(&w, m, report, err);
	(void)pthread_rwlock_rdlock(&m->lock);
	table_each(&m->logs, verify_log, &w);
	table_each(&m->blobs, verify_blob, &w);
	(void)pthread_rwlock_unlock(&m->lock);
	return w.status;
}

/* ---- reindex ---- */

static void derive_log(void *ctx, struct table_node *node)
{
	struct walk *w = ctx;
	const struct memory_log *log = log_of(node);

	count_log(w, log);
	for (size_t i = 0; i < log->n && w->status == WEFT_OK; i++)
		w->status = rebuild_event(w->fresh, &log->v[i], w->err);
}

/* What of `of` is not the same in `other`; for counting. */
struct comparison {
	const struct index *other;
	uint64_t differences;
};

static void compare_session(void *ctx, struct table_node *node)
{
	struct comparison *c = ctx;
	const struct index_session *s =
		TABLE_ENTRY(node, struct index_session, node);
	const struct session_rec *other = index_session(c->other, &s->id);

	if (!id_is_zero(&s->own.rec.id) &&
	    (!other || !record_eq(&s->own.rec, other)))
		c->differences++;
	for (size_t i = 0; i < s->n_hidden; i++) {
		if (index_is_hidden(c->other, &s->id, s->hidden[i].target) !=
		    (s->hidden[i].hidden != 0))
			c->differences++;
	}
}

static void compare_name(void *ctx, struct table_node *node)
{
	struct comparison *c = ctx;
	const struct name_rec *name =
		&TABLE_ENTRY(node, struct index_name, node)->rec;
	struct name_rec other = index_name(c->other, name->name);

	if (other.ver != name->ver || other.kind != name->kind ||
	    !id_eq(&other.session, &name->session))
		c->differences++;
}

static uint64_t differences(struct index *of, const struct index *other)
{
	struct comparison c = { .other = other };

	table_each(&of->sessions, compare_session, &c);
	table_each(&of->names, compare_name, &c);
	return c.differences;
}

int memory_derive(struct memory *m, struct rebuild *fresh,
		  struct store_report *report, struct weft_error *err)
{
	CLEANUP(walk_done) struct walk w;

	walk_init(&w, m, report, err);
	w.fresh = fresh;
	table_each(&m->logs, derive_log, &w);
	return w.status == WEFT_OK ? rebuild_settle(fresh, err) : w.status;
}

static int reindex(struct memory *m, struct store_report *report,
		   struct weft_error *err)
{
	CLEANUP(rebuild_done) struct rebuild fresh;
	struct index old;
	int r;

	rebuild_init(&fresh);
	(void)pthread_mutex_lock(&m->writer);
	r = memory_derive(m, &fresh, report, err);
	if (r == WEFT_OK) {
		report->changed = u64_max(differences(&m->index, &fresh.index),
					  differences(&fresh.index, &m->index));
		(void)pthread_rwlock_wrlock(&m->lock);
		old = m->index;
		m->index = fresh.index;
		(void)pthread_rwlock_unlock(&m->lock);
		fresh.index = old;
	}
	(void)pthread_mutex_unlock(&m->writer);
	return r;
}

/* ---- the rest ---- */

/* Mark what the events of a log refer to. */
static void mark_used(void *ctx, struct table_node *node)
{
	const struct memory_log *log = log_of(node);
	struct walk *w = ctx;

	for (size_t i = 0; i < log->n && w->status == WEFT_OK; i++) {
		const struct store_event *e = &log->v[i];
		struct blob_refs refs = { 0 };

		if (e->type != EVENT_MESSAGE ||
		    !blob_is_packed(e->body, e->state))
			continue;
		arena_reset(&w->scratch);
		w->status = blob_list(e->body, &w->scratch, &refs, w->err);
		for (size_t k = 0; k < refs.n; k++) {
			struct memory_blob *b =
				memory_blob_find(w->m, &refs.v[k]);

			if (b)
				b->used = true;
		}
	}
}

static void mark_unused(void *ctx, struct table_node *node)
{
	(void)ctx;
	TABLE_ENTRY(node, struct memory_blob, node)->used = false;
}

static void drop_blob(struct walk *w, struct memory_blob *b)
{
	table_remove(&w->m->blobs, &b->node);
	mem_free(b);
	w->report->changed++;
}

static void drop_if_old(void *ctx, struct table_node *node)
{
	struct memory_blob *b = TABLE_ENTRY(node, struct memory_blob, node);
	struct walk *w = ctx;
	int64_t now = clock_now_ms(&w->m->clock);

	if (!b->used && b->at_ms < now - STORE_BLOB_REST_MS)
		drop_blob(w, b);
}

static void drop_only(struct walk *w)
{
	for (size_t i = 0; i < w->report->n_only; i++) {
		struct memory_blob *b =
			memory_blob_find(w->m, &w->report->only[i]);

		if (b && !b->used)
			drop_blob(w, b);
	}
}

static int drop_blobs(struct memory *m, struct store_report *report,
		      struct weft_error *err)
{
	CLEANUP(walk_done) struct walk w;

	walk_init(&w, m, report, err);
	(void)pthread_rwlock_wrlock(&m->lock);
	table_each(&m->blobs, mark_unused, &w);
	table_each(&m->logs, mark_used, &w);
	if (w.status == WEFT_OK && report->only)
		drop_only(&w);
	else if (w.status == WEFT_OK)
		table_each(&m->blobs, drop_if_old, &w);
	report->blobs = m->blobs.n;
	(void)pthread_rwlock_unlock(&m->lock);
	return w.status;
}

static int count_all(struct memory *m, struct store_report *report,
		     struct weft_error *err)
{
	CLEANUP(walk_done) struct walk w;

	walk_init(&w, m, report, err);
	(void)pthread_rwlock_rdlock(&m->lock);
	table_each(&m->logs, count_only, &w);
	report->blobs = m->blobs.n;
	(void)pthread_rwlock_unlock(&m->lock);
	return w.status;
}

int memory_maintain(struct store *s, uint32_t task, struct store_report *report,
		    struct weft_error *err)
{
	struct memory *m = memory_of(s);
	bool changes = task == TASK_REPAIR || task == TASK_REINDEX ||
		       task == TASK_BLOBS;
	int r = changes ? memory_check_writable(m, err) :
			  memory_check_process(m, err);

	if (r < 0)
		return r;
	switch ((enum store_task)task) {
	case TASK_CHECKPOINT:
	case TASK_SUSPEND:
	case TASK_FORGET: /* what was dropped was freed */
		return WEFT_OK;
	case TASK_VERIFY:
		return verify(m, report, err);
	case TASK_REPAIR:
		return count_all(m, report, err);
	case TASK_REINDEX:
		return reindex(m, report, err);
	case TASK_BLOBS:
		return drop_blobs(m, report, err);
	case TASK_BACKUP:
		return report_no_backup("`weft move` copies it into another "
					"store",
					err);
	}
	return fail(err, WEFT_INVALID, "unknown task %u", task);
}

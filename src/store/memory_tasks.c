/* memory_tasks.c - looking after a memory: store: verify, reindex, blobs. */
#include "base/error.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"
#include "model/derive.h"
#include "model/event.h"
#include "store/memory.h"

/* What a descendant spent, to be added once every record is there. */
struct spent {
	struct spent *next;
	struct weft_id payer;
	struct totals totals;
};

/* One walk over a table, and what came of it so far. */
struct walk {
	struct memory *m;
	struct store_report *report;
	struct arena scratch;
	struct index *fresh; /* reindex: what is being built */
	struct arena kept;   /* reindex: holds `spent` */
	struct spent *spent;
	uint64_t logs_done;
	int status;
	struct weft_error *err;
};

static void walk_init(struct walk *w, struct memory *m,
		      struct store_report *report, struct weft_error *err)
{
	*w = (struct walk){ .m = m, .report = report, .err = err };
	arena_init(&w->scratch, 0);
	arena_init(&w->kept, 0);
}

static void walk_done(struct walk *w)
{
	arena_done(&w->scratch);
	arena_done(&w->kept);
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

static void count_only(void *ctx, struct table_node *node)
{
	count_log(ctx, log_of(node));
}

/* ---- verify ---- */

static const char *wrong_with(const struct store_event *kept,
			      const struct store_event *read)
{
	if (read->state != STATE_OK)
		return "the checksum is wrong";
	if (read->seq != kept->seq || !id_eq(&read->id, &kept->id) ||
	    read->type != kept->type)
		return "the line says other than what was written";
	return NULL;
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

static int apply(struct index *x, const struct op_list *ops,
		 struct weft_error *err)
{
	void **prepared = ARENA_ARRAY(ops->arena, void *, ops->n);
	int r;

	if (!prepared)
		return arena_error(ops->arena, err);
	r = index_prepare(x, ops, prepared, err);
	if (r == WEFT_OK)
		index_commit(x, ops, prepared);
	else
		index_discard(ops, prepared);
	return r;
}

/* Take the additions out of `ops`: their payer may have no record yet. */
static int put_off_additions(struct walk *w, struct op_list *ops)
{
	size_t n = 0;

	for (size_t i = 0; i < ops->n; i++) {
		struct spent *s;

		if (ops->v[i].kind != OP_ADD) {
			ops->v[n++] = ops->v[i];
			continue;
		}
		s = ARENA_NEW(&w->kept, struct spent);
		if (!s)
			return arena_error(&w->kept, w->err);
		s->payer = ops->v[i].session;
		s->totals = *ops->v[i].u.add;
		s->next = w->spent;
		w->spent = s;
	}
	ops->n = n;
	return WEFT_OK;
}

/* Add the two ops that an event stands for besides what it has derived. */
static int add_event_ops(struct op_list *ops, const struct store_event *e,
			 const struct session_rec *rec, struct weft_error *err)
{
	struct store_op *op = op_list_add(ops, OP_EVENT, &e->session);

	if (op)
		op->u.event = e;
	op = op_list_add(ops, OP_SESSION, &e->session);
	if (op)
		op->u.rec = rec;
	return ops->failed ? arena_error(ops->arena, err) : WEFT_OK;
}

static int derive_again(struct walk *w, const struct store_event *e)
{
	const struct session_rec *before = index_session(w->fresh, &e->session);
	struct op_list ops = { .arena = &w->scratch };
	struct session_rec rec = { 0 };
	int r;

	arena_reset(&w->scratch);
	if (before)
		rec = *before;
	r = derive_event(&rec, e, NULL, &ops, w->err);
	if (r == WEFT_OK)
		r = put_off_additions(w, &ops);
	if (r == WEFT_OK)
		r = add_event_ops(&ops, e, &rec, w->err);
	return r == WEFT_OK ? apply(w->fresh, &ops, w->err) : r;
}

static void derive_log(void *ctx, struct table_node *node)
{
	struct walk *w = ctx;
	const struct memory_log *log = log_of(node);

	count_log(w, log);
	for (size_t i = 0; i < log->n && w->status == WEFT_OK; i++)
		w->status = derive_again(w, &log->v[i]);
}

/* Let one addition climb from payer to payer. */
static int pay(struct walk *w, const struct spent *s)
{
	struct weft_id payer = s->payer;

	/* No chain is longer than there are sessions. */
	for (size_t i = 0; i <= w->m->logs.n; i++) {
		const struct session_rec *before =
			index_session(w->fresh, &payer);
		struct op_list next = { .arena = &w->scratch };
		struct op_list ops = { .arena = &w->scratch };
		struct store_op *op;
		struct session_rec rec;
		int r;

		if (!before)
			return WEFT_OK;
		arena_reset(&w->scratch);
		rec = *before;
		derive_add(&rec, &s->totals, &next);
		op = op_list_add(&ops, OP_SESSION, &payer);
		if (!op || next.failed)
			return arena_error(&w->scratch, w->err);
		op->u.rec = &rec;
		r = apply(w->fresh, &ops, w->err);
		if (r < 0 || next.n == 0)
			return r;
		payer = next.v[0].session;
	}
	return fail(w->err, WEFT_CORRUPT, "a session is its own ancestor");
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

static int reindex(struct memory *m, struct store_report *report,
		   struct weft_error *err)
{
	CLEANUP(walk_done) struct walk w;
	struct index fresh, old;

	index_init(&fresh);
	walk_init(&w, m, report, err);
	w.fresh = &fresh;
	(void)pthread_mutex_lock(&m->writer);
	table_each(&m->logs, derive_log, &w);
	for (const struct spent *s = w.spent; s && w.status == WEFT_OK;
	     s = s->next)
		w.status = pay(&w, s);
	if (w.status == WEFT_OK) {
		report->changed = u64_max(differences(&m->index, &fresh),
					  differences(&fresh, &m->index));
		(void)pthread_rwlock_wrlock(&m->lock);
		old = m->index;
		m->index = fresh;
		(void)pthread_rwlock_unlock(&m->lock);
		fresh = old;
	}
	(void)pthread_mutex_unlock(&m->writer);
	index_done(&fresh);
	return w.status;
}

/* ---- the rest ---- */

static void drop_if_unused(void *ctx, struct table_node *node)
{
	struct memory_blob *b = TABLE_ENTRY(node, struct memory_blob, node);
	struct walk *w = ctx;

	if (b->used) {
		w->report->blobs++;
		return;
	}
	table_remove(&w->m->blobs, node);
	mem_free(b);
	w->report->changed++;
}

static int drop_blobs(struct memory *m, struct store_report *report,
		      struct weft_error *err)
{
	CLEANUP(walk_done) struct walk w;

	walk_init(&w, m, report, err);
	(void)pthread_rwlock_wrlock(&m->lock);
	table_each(&m->blobs, drop_if_unused, &w);
	(void)pthread_rwlock_unlock(&m->lock);
	return WEFT_OK;
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
	return WEFT_OK;
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
		return WEFT_OK;
	case TASK_VERIFY:
		return verify(m, report, err);
	case TASK_REPAIR:
		return count_all(m, report, err);
	case TASK_REINDEX:
		return reindex(m, report, err);
	case TASK_BLOBS:
		return drop_blobs(m, report, err);
	}
	return fail(err, WEFT_INVALID, "unknown task %u", task);
}

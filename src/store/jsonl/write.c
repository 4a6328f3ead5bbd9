/*
 * write.c - one batch: lock, plan, log, flush, apply.
 *
 * DESIGN: nothing is believed before the frame is flushed, and nothing is
 * undone after it.  Everything that may be refused (space, limits, missing
 * blobs) is refused before the log is touched.
 */
#include <errno.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/event.h"
#include "store/jsonl/blob.h"
#include "store/jsonl/jsonl.h"

/* Fewer sessions are not worth a call. */
#define PREPARE_FROM 8
#define SPACE_MARGIN KIB(256)
/* With so much left over it is enough to look every so often. */
#define SPACE_PLENTY   MIB(1024)
#define PLENTY_US      20000
#define SPACE_PER_FILE KIB(8)
#define SEGMENT_TRIES  50

/* ---- what the planner sees ---- */

struct view {
	struct store_view view; /* first */
	struct jsonl *js;
};

static struct jsonl *js_of(struct store_view *v)
{
	return ((struct view *)(void *)v)->js;
}

static struct arena *arena_of(struct store_view *v)
{
	return &js_of(v)->arena;
}

static int view_get_session(struct store_view *v, const struct weft_id *id,
			    const struct session_rec **ret,
			    struct weft_error *err)
{
	struct jsonl *js = js_of(v);
	struct live *l;
	int r = live_load(js, id, &l, err);

	if (r == WEFT_OK)
		r = live_check_file(js, l, err);
	if (r == WEFT_OK)
		*ret = &l->own.rec;
	return r;
}

static int view_get_name(struct store_view *v, struct weft_str name,
			 struct name_rec *ret, struct weft_error *err)
{
	return lookup_name(js_of(v), name, arena_of(v), ret, err);
}

static int view_get_names_of(struct store_view *v, const struct weft_id *id,
			     struct arena *a, struct name_rec **ret,
			     size_t *ret_n, struct weft_error *err)
{
	struct session_names names = { 0 };
	int r = lookup_names_of(js_of(v), id, 1, a, &names, err);

	*ret = names.v;
	*ret_n = names.n;
	return r;
}

static int view_read_events(struct store_view *v, const struct event_range *r,
			    struct arena *a, struct event_page *ret,
			    struct weft_error *err)
{
	struct jsonl *js = js_of(v);
	struct live *l;
	int status = live_load(js, &r->session, &l, err);

	*ret = (struct event_page){ .done = 1 };
	if (status == WEFT_NOT_FOUND)
		return WEFT_OK;
	if (status == WEFT_OK)
		status = live_check_file(js, l, err);
	if (status == WEFT_OK)
		status = behind_settle(js, &l->id, err);
	if (status < 0)
		return status;
	return page_read(&(struct page_source){ .session = l->id,
						.file = l->file,
						.end = l->end,
						.fork_seq = l->own.rec.fork_seq,
						.head_seq = l->own.rec.head_seq,
						.irregular = l->irregular },
			 r, js->store.limits.page, a, ret, err);
}

static int find_creation(struct jsonl *js, struct weft_str op,
			 struct op_hit *ret, struct weft_error *err)
{
	struct live_name *n;
	int r = WEFT_OK;

	*ret = (struct op_hit){ .seq = 1 };
	(void)pthread_mutex_lock(&js->mutex);
	n = name_find_op(js, op);
	if (n)
		ret->session = n->session;
	(void)pthread_mutex_unlock(&js->mutex);
	if (n)
		return WEFT_OK;
	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_find_op(js->catalog, op, &ret->session, err);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return r;
}

/* The hash of an operation id is a hint; the event itself tells. */
static int view_find_op(struct store_view *v, const struct weft_id *session,
			struct weft_str op, struct op_hit *ret,
			struct weft_error *err)
{
	struct event_range range = { 0 };
	struct event_page page;
	struct op_hit hit = { 0 };
	struct live *l;
	int r;

	if (!session)
		return find_creation(js_of(v), op, ret, err);
	r = live_load(js_of(v), session, &l, err);
	if (r == WEFT_OK)
		r = ops_find(js_of(v), l, op, &hit, err);
	if (r < 0)
		return r;
	range.session = *session;
	range.first = range.last = hit.seq;
	r = view_read_events(v, &range, arena_of(v), &page, err);
	if (r < 0)
		return r;
	if (page.n == 0 || !str_eq(page.v[0].op, op))
		return fail(err, WEFT_NOT_FOUND, "no such operation");
	*ret = hit;
	return WEFT_OK;
}

static int view_is_hidden(struct store_view *v, const struct weft_id *session,
			  uint64_t seq, uint32_t *ret, struct weft_error *err)
{
	uint64_t *seqs;
	size_t n;
	int r = lookup_hidden(js_of(v), session, seq, seq, arena_of(v), &seqs,
			      &n, err);

	if (r == WEFT_OK)
		*ret = n > 0;
	return r;
}

static int view_get_children(struct store_view *v, const struct weft_id *id,
			     struct arena *a, struct session_rec **ret,
			     size_t *ret_n, struct weft_error *err)
{
	return lookup_children(js_of(v), id, a, ret, ret_n, err);
}

static const struct store_view_ops view_ops = {
	.get_session = view_get_session,
	.get_name = view_get_name,
	.get_names_of = view_get_names_of,
	.find_op = view_find_op,
	.is_hidden = view_is_hidden,
	.read_events = view_read_events,
	.get_children = view_get_children,
};

int call_plan(struct jsonl *js, store_plan *plan, void *ctx,
	      struct op_list *ops, struct weft_error *err)
{
	struct view v = { .view.ops = &view_ops, .js = js };
	int r;

	arena_reset(&js->arena);
	js->write_no++;
	r = plan(ctx, &v.view, ops, err);
	return r == WEFT_OK && ops->failed ? fail_no_memory(err) : r;
}

/* ---- the frame ---- */

/* The lines of one session in this batch. */
struct run {
	struct weft_id session;
	struct live *l;     /* NULL: begins with this batch */
	size_t first, last; /* 1 + index into `next`; 0: none */
	uint32_t lines;
	uint64_t bytes;
	uint64_t gen, offset, seq;
	size_t at; /* in the frame */
};

struct batch {
	struct run *runs;
	size_t n_runs;
	size_t *next; /* the op after this one of the same session, + 1 */
	const struct op_list *ops;
	struct arena *arena;
};

/* The run of a session; sessions in memory know theirs by number.  Needs M. */
static struct run *run_of(struct jsonl *js, struct batch *b,
			  const struct weft_id *session)
{
	struct live *l = live_find(js, session);
	struct run *run;

	if (l && l->batch)
		return &b->runs[l->batch - 1];
	for (size_t i = b->n_runs; !l && i > 0; i--) {
		if (id_eq(&b->runs[i - 1].session, session))
			return &b->runs[i - 1];
	}
	run = &b->runs[b->n_runs++];
	*run = (struct run){ .session = *session, .l = l, .gen = 1 };
	if (l) {
		l->batch = b->n_runs;
		run->gen = l->gen;
		run->offset = l->end;
	}
	return run;
}

static void forget_runs(struct batch *b)
{
	for (size_t i = 0; i < b->n_runs; i++) {
		if (b->runs[i].l)
			b->runs[i].l->batch = 0;
	}
}

/* Others that the plan changes must be in memory before it is too late to
 * refuse. */
static int load_touched(struct jsonl *js, const struct op_list *ops,
			struct weft_error *err)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < ops->n && r == WEFT_OK; i++) {
		struct live *l;

		if (ops->v[i].kind == OP_ADD || ops->v[i].kind == OP_TAKE ||
		    ops->v[i].kind == OP_HIDE)
			r = live_load(js, &ops->v[i].session, &l, err);
		if (r == WEFT_NOT_FOUND)
			r = WEFT_OK;
	}
	return r;
}

/* Sort the events of the plan by session, in their order. */
static int group(struct jsonl *js, struct batch *b, struct weft_error *err)
{
	size_t n = b->ops->n;

	b->runs = arena_alloc(b->arena, (n + 1) * sizeof(*b->runs));
	b->next = ARENA_ARRAY(b->arena, size_t, n + 1);
	if (!b->runs || !b->next)
		return arena_error(b->arena, err);
	(void)pthread_mutex_lock(&js->mutex);
	for (size_t i = 0; i < n; i++) {
		const struct store_op *op = &b->ops->v[i];
		struct run *run;

		if (op->kind != OP_EVENT)
			continue;
		run = run_of(js, b, &op->session);
		if (run->lines == 0) {
			run->first = i + 1;
			run->seq = op->u.event->seq;
		} else {
			b->next[run->last - 1] = i + 1;
		}
		run->last = i + 1;
		run->lines++;
	}
	(void)pthread_mutex_unlock(&js->mutex);
	return WEFT_OK;
}

static void add_run(struct buf *f, const struct batch *b, struct run *run)
{
	size_t start = frame_record_begin(f, &run->session, run->gen, run->seq,
					  run->offset);

	run->at = f->len;
	if (!run->l)
		file_line_write(f, &run->session, run->gen);
	if (!run->l || run->l->torn)
		buf_add_c(f, '\n');
	for (size_t i = run->first; i; i = b->next[i - 1]) {
		const struct store_event *e = b->ops->v[i - 1].u.event;

		buf_add(f, e->bytes.ptr, e->bytes.len);
		buf_add_c(f, '\n');
	}
	run->bytes = f->len - run->at;
	frame_record_end(f, start, run->lines);
}

static int build_frame(struct jsonl *js, struct batch *b,
		       struct weft_error *err)
{
	struct buf *f = &js->frame;

	buf_reset(f);
	frame_begin(f);
	for (size_t i = 0; i < b->n_runs; i++)
		add_run(f, b, &b->runs[i]);
	if (f->error == WEFT_LIMIT)
		return fail(err, WEFT_LIMIT,
			    "a batch of more than %zu bytes does not fit into "
			    "the log: append it in parts",
			    f->max);
	return buf_error(f, err);
}

/* ---- admission ---- */

int check_space(struct jsonl *js, uint64_t bytes, struct weft_error *err)
{
	uint64_t need = js->st.end - js->st.ckpt +
			SPACE_PER_FILE * (js->n_dirty + 1) + bytes +
			SPACE_MARGIN;
	int64_t now = clock_mono_us();
	struct fs_space space;
	int r;

	/* No disk fills so fast. */
	if (now < js->plenty_until_us && js->plenty_bytes >= need)
		return WEFT_OK;
	r = fs_space(js->fs, js->dir, &space);
	if (r < 0)
		return fail_errno(err, -r, "look at the free space of %s",
				  js->dir);
	js->plenty_bytes =
		space.free_bytes - u64_min(space.free_bytes, SPACE_PLENTY);
	js->plenty_until_us = now + PLENTY_US;
	if (space.free_bytes < need)
		return fail(err, WEFT_NO_SPACE,
			    "the disk of %s is full: %llu bytes are free, %llu "
			    "are needed; nothing was written",
			    js->dir, (unsigned long long)space.free_bytes,
			    (unsigned long long)need);
	return WEFT_OK;
}

static int check_blobs(struct jsonl *js, const struct op_list *ops,
		       struct weft_error *err)
{
	char dir[PATH_BYTES];
	int r = path_join(dir, js->dir, "blobs", err);

	for (size_t i = 0; i < ops->n && r == WEFT_OK; i++) {
		if (ops->v[i].kind == OP_BLOB &&
		    !blob_use(js->fs, dir, ops->v[i].u.blob))
			r = fail(err, WEFT_NOT_FOUND,
				 "a blob that the write refers to is not in "
				 "the store");
	}
	return r;
}

/* ---- after the flush ---- */

static int take_over_session(struct jsonl *js, const struct session_rec *rec,
			     uint64_t lsn, struct weft_error *err)
{
	struct live *l = live_find(js, &rec->id);
	int r = l ? WEFT_OK : live_add(js, &rec->id, &l, err);

	if (r == WEFT_OK)
		r = live_set(js, l, rec, lsn, err);
	if (r == WEFT_OK && l->end == 0) {
		l->created = true;
		if (rec->op.len)
			r = name_set_op(js, rec->op, &rec->id, lsn, err);
	}
	return r;
}

static void take_over_run(struct jsonl *js, const struct batch *b,
			  const struct run *run)
{
	struct live *l = run->l ? run->l : live_find(js, &run->session);

	if (!l)
		return;
	l->end = run->offset + run->bytes;
	l->torn = false;
	for (size_t i = run->first; i; i = b->next[i - 1])
		ops_note(js, l, b->ops->v[i - 1].u.event);
}

/* Make the plan's outcome the overlay's, so that it shows at once; only
 * memory can fail here. */
static int take_over(struct jsonl *js, const struct batch *b, uint64_t lsn,
		     struct weft_error *err)
{
	const struct op_list *ops = b->ops;
	int r = WEFT_OK;

	(void)pthread_mutex_lock(&js->mutex);
	for (size_t i = 0; i < b->n_runs && r == WEFT_OK; i++) {
		struct live *l;

		if (!b->runs[i].l && !live_find(js, &b->runs[i].session))
			r = live_add(js, &b->runs[i].session, &l, err);
	}
	for (size_t i = 0; i < ops->n && r == WEFT_OK; i++) {
		if (ops->v[i].kind == OP_SESSION)
			r = take_over_session(js, ops->v[i].u.rec, lsn, err);
		else
			r = apply_effect(js, &ops->v[i], lsn, err);
	}
	for (size_t i = 0; i < b->n_runs; i++)
		take_over_run(js, b, &b->runs[i]);
	(void)pthread_mutex_unlock(&js->mutex);
	return r;
}

/* The frame is durable: from here on it is true, whatever fails. */
static int publish(struct jsonl *js, const struct batch *b,
		   const struct frame *f, struct weft_error *err)
{
	int r = take_over(js, b, f->end, err);

	js->st.end = js->st.prev = f->end;
	behind_tell(js);
	if (r < 0)
		live_drop_all(js); /* without memory: read it again, later */
	(void)pthread_mutex_lock(&js->mutex);
	js->mine = r < 0 ? 0 : f->end;
	(void)pthread_mutex_unlock(&js->mutex);
	return put_state(js, err);
}

/* ---- the whole ---- */

enum { NEED_SEGMENT = 1 }; /* besides the codes */

struct outcome {
	uint64_t need; /* bytes of log, with NEED_SEGMENT */
	bool due;      /* there should be a checkpoint */
};

/* What a failed step means for whoever asked, and for the store. */
static int give_up(struct jsonl *js, int code, bool broken,
		   struct weft_error *err)
{
	if (err && err->code != code)
		err->code = code;
	/* The frame may be there: the next one to enter looks. */
	js->entered = false;
	if (broken)
		stop(js);
	else
		leave(js);
	return code;
}

/*
 * What can be done before the frame is durable is done while the disk writes
 * it.  Nothing of that shows if it never is.
 */
static int flush(struct jsonl *js, const struct batch *b, uint64_t lsn,
		 struct weft_error *err)
{
	if (js->may_lag && b->n_runs >= PREPARE_FROM) {
		wal_begin_flush(&js->wal, lsn, js->frame.len);
		for (size_t i = 0; i < b->n_runs; i++) {
			const struct run *run = &b->runs[i];
			const struct weft_str lines = { js->frame.ptr + run->at,
							run->bytes };

			if (run->l)
				behind_prepare(js, run->l, lines, lsn);
		}
	}
	return wal_flush_frame(&js->wal, lsn, err);
}

/* Log, flush and apply the frame in js->frame.  Leaves. */
static int commit(struct jsonl *js, struct batch *b, struct outcome *ret,
		  struct weft_error *err)
{
	struct frame f = { .n = (uint32_t)b->n_runs, .prev = js->st.prev };
	uint64_t bytes = round_up(js->frame.len, FRAME_UNIT);
	int r;

	f.len = js->frame.len - FRAME_HEAD;
	if (wal_place(&js->wal, &js->st, bytes, &f.lsn) < 0) {
		ret->need = bytes;
		leave(js);
		return NEED_SEGMENT;
	}
	r = check_space(js, bytes, err);
	if (r == WEFT_OK)
		r = check_blobs(js, b->ops, err);
	if (r == WEFT_OK) {
		frame_seal(&js->frame, js->wal.control.salt, f.lsn, f.prev,
			   f.n);
		r = buf_error(&js->frame, err);
	}
	if (r < 0)
		return give_up(js, r, false, err);
	f.end = f.lsn + bytes;
	f.records = js->frame.ptr + FRAME_HEAD;
	r = wal_put_frame(&js->wal, f.lsn, buf_str(&js->frame), err);
	if (r == WEFT_OK)
		r = flush(js, b, f.lsn, err);
	if (r < 0)
		return give_up(js, r, r != WEFT_NO_SPACE, err);
	r = apply_frame(js, &f, behind_may_add(js, b->n_runs), err);
	/* It stays at the end of the log, where the next one to enter finds
	 * it; only a disk that fails ends all writing. */
	if (r < 0)
		return give_up(js, WEFT_UNKNOWN, r != WEFT_NO_SPACE, err);
	r = publish(js, b, &f, err);
	if (r < 0)
		return give_up(js, WEFT_UNKNOWN, true, err);
	ret->due = checkpoint_is_due(js);
	leave(js);
	return WEFT_OK;
}

static int write_planned(struct jsonl *js, store_plan *plan, void *ctx,
			 struct outcome *ret, struct weft_error *err)
{
	struct op_list ops = { .arena = &js->arena };
	struct batch b = { .ops = &ops, .arena = &js->arena };
	int r = call_plan(js, plan, ctx, &ops, err);

	if (r == WEFT_OK)
		r = load_touched(js, &ops, err);
	if (r == WEFT_OK)
		r = group(js, &b, err);
	if (r == WEFT_OK && b.n_runs)
		r = build_frame(js, &b, err);
	forget_runs(&b);
	if (r == WEFT_OK && b.n_runs) {
		r = commit(js, &b, ret, err);
	} else {
		/* Records may change without an event: lease renewals. */
		if (r == WEFT_OK && ops.n)
			r = take_over(js, &b, js->mine | 1, err);
		leave(js);
	}
	return r;
}

static int write_once(struct jsonl *js, const struct store_want *want,
		      store_plan *plan, void *ctx, struct outcome *ret,
		      struct weft_error *err)
{
	uint64_t place;
	int r = enter(js, err);

	if (r < 0)
		return r;
	r = catch_up_inside(js, err);
	if (r < 0) {
		leave(js);
		return r;
	}
	/* What could not be written to its file goes first. */
	r = behind_check(js, err);
	if (r < 0)
		return give_up(js, r, r == WEFT_IO, err);
	(void)live_evict(js, 0);
	/* Better to look for room before the work of planning. */
	ret->need = round_up(want->bytes + FRAME_HEAD, FRAME_UNIT);
	if (wal_place(&js->wal, &js->st, ret->need, &place) < 0) {
		leave(js);
		return NEED_SEGMENT;
	}
	return write_planned(js, plan, ctx, ret, err);
}

/* Room for a frame: a longer log or, if it may not grow, a checkpoint. */
static int make_room(struct jsonl *js, uint64_t bytes, struct weft_error *err)
{
	int r = extend_log(js, bytes, err);

	return r == WEFT_BUSY ? checkpoint_for_room(js, bytes, err) : r;
}

int jsonl_write(struct store *s, const struct store_want *want,
		store_plan *plan, void *ctx, struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	int64_t until =
		clock_mono_us() + (int64_t)js->store.limits.busy_ms * 1000;
	struct outcome out = { 0 };
	int r;

	if (want->exclusive)
		return rewrite_planned(js, plan, ctx, err);
	if (want->bytes > js->frame.max)
		return fail(err, WEFT_LIMIT,
			    "a batch of more than %zu bytes does not fit into "
			    "the log: append it in parts",
			    js->frame.max);
	atomic_store(&js->behind.more, true);
	while ((r = write_once(js, want, plan, ctx, &out, err)) ==
	       NEED_SEGMENT) {
		r = make_room(js, out.need, err);
		if (r == WEFT_BUSY && clock_mono_us() < until)
			fs_sleep_us(js->fs, 500);
		else if (r < 0)
			break;
	}
	atomic_store(&js->behind.more, false);
	if (r == WEFT_OK && !js->by_hand)
		checkpoint_ask(js, out.due);
	return r;
}

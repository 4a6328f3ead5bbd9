/*
 * follow.c - entering the log, and what others have written to it.
 *
 * DESIGN: wal/state says where the log ends.  Whoever enters and finds a valid
 * frame right there knows that its writer died before it could say so; that
 * frame may not be durable yet, so it is written and flushed again before
 * anybody believes it ("adopted").
 *
 * The overlay is brought up to date by working the frames from `mine` to the
 * end into it, one event after the other, with the same derive_event() that
 * planned them.  A record that already holds a frame (because the catalogue
 * row that it came from is younger) is left alone by its log position.
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/derive.h"
#include "model/event.h"
#include "store/jsonl/jsonl.h"

int js_check(const struct jsonl *js, struct weft_error *err)
{
	if (process_generation() != js->process)
		return fail(err, WEFT_IO,
			    "this store was opened before fork(): open it "
			    "again in the child process");
	return WEFT_OK;
}

void leave(struct jsonl *js)
{
	js->inside = false;
	(void)pthread_mutex_unlock(&js->writer);
	wal_unlock(&js->wal, WAL_BATCH);
	gate_leave(&js->gate);
}

int put_state(struct jsonl *js, struct weft_error *err)
{
	int r = wal_put_state(&js->wal, &js->st, err);

	if (r == WEFT_OK)
		js->behind.told = js->behind.forgotten ? 0 : js->st.behind;
	else
		js->entered = false;
	return r;
}

void stop(struct jsonl *js)
{
	js->st.failed = 1;
	(void)put_state(js, NULL);
	leave(js);
}

/* Take over the frames whose writers died before telling. */
static int adopt(struct jsonl *js, struct weft_error *err)
{
	for (;;) {
		struct buf *b = &js->frame_read;
		struct frame f;
		int r = wal_read_frame(&js->wal, js->st.end, b, &f, err);

		if (r <= 0)
			return r;
		r = wal_write_frame(&js->wal, f.lsn, buf_str(b), err);
		if (r == WEFT_OK)
			r = replay_frame(js, &f, err);
		if (r < 0)
			return r;
		js->st.end = js->st.prev = f.end;
		r = put_state(js, err);
		if (r < 0)
			return r;
	}
}

/* Nobody was inside since we were: what is there is what we know. */
static bool is_as_left(const struct jsonl *js)
{
	return js->wal.undisturbed && js->entered && !js->st.failed &&
	       !js->behind.forgotten;
}

static int enter_locked(struct jsonl *js, struct weft_error *err)
{
	int r;

	if (is_as_left(js)) {
		behind_tell(js);
		return WEFT_OK;
	}
	js->entered = false;
	r = wal_get_state(&js->wal, &js->st, err);
	if (r < 0)
		return r;
	if (js->st.failed)
		return fail(err, WEFT_IO,
			    "%s is closed to writing since a flush failed: "
			    "close all programs that use it and open it again",
			    js->dir);
	if (js->st.control_no > js->wal.control.no) {
		r = wal_reload(&js->wal, js->st.control_no, err);
		if (r < 0)
			return r;
	}
	r = behind_replay(js, err);
	if (r == WEFT_OK)
		r = adopt(js, err);
	js->entered = r == WEFT_OK;
	return r;
}

int enter(struct jsonl *js, struct weft_error *err)
{
	int r = js_check(js, err);

	if (r < 0)
		return r;
	if (js->read_only)
		return fail(err, WEFT_READ_ONLY, "%s is open for reading only",
			    js->dir);
	gate_enter(&js->gate);
	r = wal_lock_batch(&js->wal, js->store.limits.busy_ms, err);
	if (r < 0) {
		gate_leave(&js->gate);
		return r;
	}
	(void)pthread_mutex_lock(&js->writer);
	js->inside = true;
	r = enter_locked(js, err);
	if (r == WEFT_UNKNOWN) {
		stop(js);
		return r;
	}
	if (r < 0)
		leave(js);
	return r;
}

/* ---- the overlay ---- */

/* Is this frame in the session's record already? */
static bool is_known(struct jsonl *js, struct live *l, uint64_t frame_end)
{
	if (l->pass != js->pass) {
		l->pass = js->pass;
		l->skip = l->lsn >= frame_end;
	}
	return l->skip;
}

/* A plan has loaded all that it changes before the tables were locked. */
static int find_touched(struct jsonl *js, const struct weft_id *id,
			bool following, struct live **ret,
			struct weft_error *err)
{
	if (following)
		return live_load(js, id, ret, err);
	*ret = live_find(js, id);
	return *ret ? WEFT_OK :
		      fail(err, WEFT_NOT_FOUND, "there is no such session");
}

/* Add to a payer (or take from it) and, when following, to those above it; a plan has an op
 * for each of them. */
static int apply_add(struct jsonl *js, const struct store_op *op, uint64_t lsn,
		     bool following, struct weft_error *err)
{
	struct weft_id id = op->session;
	CLEANUP(arena_done) struct arena a;

	arena_init(&a, 0);
	for (;;) {
		struct op_list next = { .arena = &a };
		struct session_rec rec;
		struct live *l;
		int r = find_touched(js, &id, following, &l, err);

		/* A payer that is gone pays nothing. */
		if (r == WEFT_NOT_FOUND)
			return WEFT_OK;
		if (r < 0)
			return r;
		if (following && is_known(js, l, lsn))
			return WEFT_OK;
		rec = l->own.rec;
		if (op->kind == OP_ADD)
			derive_add(&rec, op->u.add, &next);
		else
			derive_take(&rec, op->u.add, &next);
		if (next.failed)
			return fail_no_memory(err);
		r = live_set(js, l, &rec, lsn, err);
		if (r < 0 || next.n == 0 || !following)
			return r;
		id = next.v[0].session;
	}
}

static int apply_one(struct jsonl *js, const struct store_op *op, uint64_t lsn,
		     bool following, struct weft_error *err)
{
	struct live *l;
	int r;

	switch (op->kind) {
	case OP_NAME:
		return name_set(js, op->u.name, lsn, err);
	case OP_ADD:
	case OP_TAKE:
		return apply_add(js, op, lsn, following, err);
	case OP_HIDE:
		r = find_touched(js, &op->session, following, &l, err);
		return r < 0 ? r : live_hide(js, l, op->u.hide, err);
	default:
		return WEFT_OK;
	}
}

int apply_effect(struct jsonl *js, const struct store_op *op, uint64_t lsn,
		 struct weft_error *err)
{
	return apply_one(js, op, lsn, false, err);
}

/* The session of a record, made if the record begins it. */
static int live_of_record(struct jsonl *js, const struct frame_record *rec,
			  struct live **ret, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a;
	struct catalog_row row;
	int r;

	arena_init(&a, 0);
	if (rec->offset > 0)
		return live_load(js, &rec->session, ret, err);
	(void)pthread_mutex_lock(&js->mutex);
	*ret = live_find(js, &rec->session);
	(void)pthread_mutex_unlock(&js->mutex);
	if (*ret)
		return WEFT_OK;
	/* It may be in a younger catalogue; if not, it begins here. */
	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_get(js->catalog, &rec->session, &a, &row, NULL);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	if (r == WEFT_OK)
		return live_load(js, &rec->session, ret, err);
	return live_add(js, &rec->session, ret, err);
}

/* The lines of one record, worked into a copy of its session's record. */
struct run {
	const struct frame_record *from;
	struct session_rec rec;
	struct op_list effects;
	struct store_event *events; /* those with an operation id */
	size_t n_events;
	struct arena arena;
};

static int run_event(struct run *run, const struct store_event *e,
		     struct weft_error *err)
{
	if (derive_event(&run->rec, e, NULL, &run->effects, err) ==
		    WEFT_NO_MEMORY ||
	    run->effects.failed)
		return fail_no_memory(err);
	run->rec.id = run->from->session;
	run->rec.head_seq = u64_max(run->rec.head_seq, e->last);
	if (e->op.len)
		run->events[run->n_events++] = *e;
	return WEFT_OK;
}

/* Not what the record says: it may have been made up. */
static size_t count_lines(struct weft_str bytes)
{
	const char *nl;
	size_t n = 1;

	while (bytes.len && (nl = memchr(bytes.ptr, '\n', bytes.len))) {
		bytes = str_skip(bytes, (size_t)(nl - bytes.ptr) + 1);
		n++;
	}
	return n;
}

static int run_lines(struct run *run, struct weft_error *err)
{
	struct weft_str bytes = run->from->bytes;
	size_t pos = 0;

	run->events = ARENA_ARRAY(&run->arena, struct store_event,
				  count_lines(bytes));
	if (!run->events)
		return fail_no_memory(err);
	while (pos < bytes.len) {
		const char *start = bytes.ptr + pos;
		const char *nl = memchr(start, '\n', bytes.len - pos);
		size_t len = nl ? (size_t)(nl - start) : bytes.len - pos;
		struct weft_str text = { start, len };
		struct store_event e;
		struct file_line head;
		int r;

		pos += len + 1;
		if (len == 0 || (run->from->offset == 0 && start == bytes.ptr &&
				 file_line_read(text, &head)))
			continue;
		event_read(&run->from->session, text, &run->arena, &e);
		if (e.seq <= run->rec.head_seq)
			continue;
		r = run_event(run, &e, err);
		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

/* Readers see a record and the lines it counts at once. */
static int show_run(struct jsonl *js, struct live *l, const struct run *run,
		    uint64_t lsn, struct weft_error *err)
{
	const struct frame_record *from = run->from;
	int r;

	(void)pthread_mutex_lock(&js->mutex);
	r = live_set(js, l, &run->rec, lsn, err);
	if (r == WEFT_OK) {
		l->gen = from->gen;
		/* Its writer found the file other than the log left it. */
		l->edited = l->edited || from->offset != l->end;
		l->end = from->offset + from->bytes.len;
		l->created = l->created || from->offset == 0;
		l->torn = false;
	}
	(void)pthread_mutex_unlock(&js->mutex);
	return r;
}

static int follow_record(struct jsonl *js, struct live *l,
			 const struct frame_record *from, uint64_t lsn,
			 struct weft_error *err)
{
	struct run run = { .from = from, .rec = l->own.rec };
	int r;

	arena_init(&run.arena, 0);
	run.effects.arena = &run.arena;
	r = run_lines(&run, err);
	for (size_t i = 0; i < run.effects.n && r == WEFT_OK; i++)
		r = apply_one(js, &run.effects.v[i], lsn, true, err);
	if (r == WEFT_OK && from->offset == 0 && run.rec.op.len)
		r = name_set_op(js, run.rec.op, &run.rec.id, lsn, err);
	if (r == WEFT_OK)
		r = show_run(js, l, &run, lsn, err);
	for (size_t i = 0; i < run.n_events && r == WEFT_OK; i++)
		ops_note(js, l, &run.events[i]);
	arena_done(&run.arena);
	return r;
}

int follow_frame(struct jsonl *js, const struct frame *f,
		 struct weft_error *err)
{
	struct frame_record rec;
	size_t pos = 0;

	js->pass++;
	while (frame_next(f, &pos, &rec)) {
		struct live *l;
		int r = live_of_record(js, &rec, &l, err);

		/* Its file is gone: a person's doing; the others go on. */
		if (r == WEFT_NOT_FOUND || r == WEFT_CORRUPT)
			continue;
		if (r < 0)
			return r;
		if (is_known(js, l, f->end)) {
			/* What it says is known; its file must be synced all
			 * the same, before the log forgets it. */
			(void)pthread_mutex_lock(&js->mutex);
			live_mark_dirty(js, l);
			l->created = l->created || rec.offset == 0;
			(void)pthread_mutex_unlock(&js->mutex);
			continue;
		}
		r = follow_record(js, l, &rec, f->end, err);
		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

int get_applied(struct jsonl *js, uint64_t *ret, struct weft_error *err)
{
	struct catalog_meta meta = { 0 };
	int r;

	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_get_meta(js->catalog, &meta, err);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	*ret = meta.applied;
	return r;
}

/* Start again from what the catalogue has. */
static int start_over(struct jsonl *js, uint64_t ckpt, struct weft_error *err)
{
	uint64_t applied;
	int r;

	live_drop_all(js);
	r = get_applied(js, &applied, err);
	/* One that lacks what the log has forgotten is not the store's any
	 * more: somebody removed it, and another process made a new one. */
	if (r == WEFT_OK && applied < ckpt) {
		r = reload_catalog(js, err);
		if (r == WEFT_OK)
			r = get_applied(js, &applied, err);
	}
	if (r == WEFT_OK && applied < ckpt)
		r = fail(err, WEFT_CORRUPT,
			 "the catalogue of %s is older than its log: close all "
			 "programs that use it and open it again",
			 js->dir);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&js->mutex);
	js->mine = applied;
	(void)pthread_mutex_unlock(&js->mutex);
	return WEFT_OK;
}

static void set_mine(struct jsonl *js, const struct wal_state *st,
		     uint64_t mine)
{
	(void)pthread_mutex_lock(&js->mutex);
	js->mine = mine;
	js->my_ckpt = st->ckpt;
	js->my_rewrites = st->rewrites;
	(void)pthread_mutex_unlock(&js->mutex);
}

/* One attempt, with the state as it is now: 1 if it must be made again. */
static int try_catch_up(struct jsonl *js, struct weft_error *err)
{
	struct wal_state st, after;
	uint64_t at;
	int r = wal_get_state(&js->wal, &st, err);

	if (r == WEFT_OK && st.control_no > js->wal.control.no)
		r = wal_reload(&js->wal, st.control_no, err);
	if (r == WEFT_OK &&
	    (st.ckpt > js->mine || st.rewrites != js->my_rewrites))
		r = start_over(js, st.ckpt, err);
	else if (r == WEFT_OK && st.ckpt > js->my_ckpt)
		live_prune(js, st.ckpt);
	at = js->mine;
	/* Behind the last frame the log may have moved on to another segment. */
	while (r == WEFT_OK && at < st.prev) {
		struct frame f;

		r = wal_read_frame(&js->wal, at, &js->frame_read, &f, err);
		if (r <= 0) {
			r = r < 0 ? r : 1; /* the segment was used again */
			break;
		}
		r = follow_frame(js, &f, err);
		at = f.end;
	}
	if (r < 0)
		return r;
	if (r == 1) {
		int s = wal_get_state(&js->wal, &after, err);

		if (s < 0)
			return s;
		if (after.ckpt > st.ckpt || after.control_no != st.control_no)
			return 1;
		return fail(err, WEFT_CORRUPT,
			    "the log of %s is damaged at %llu: close all "
			    "programs that use it and open it again",
			    js->dir, (unsigned long long)at);
	}
	set_mine(js, &st, u64_max(js->mine, st.end));
	return WEFT_OK;
}

int catch_up(struct jsonl *js, struct weft_error *err)
{
	int r = 1;

	for (int tries = 0; tries < 100 && r == 1; tries++)
		r = try_catch_up(js, err);
	return r == 1 ? fail(err, WEFT_BUSY,
			     "others write to %s faster than it can be read",
			     js->dir) :
			r;
}

int catch_up_inside(struct jsonl *js, struct weft_error *err)
{
	if (js->st.end == js->mine && js->st.ckpt == js->my_ckpt &&
	    js->st.rewrites == js->my_rewrites)
		return WEFT_OK;
	return catch_up(js, err);
}

int refresh(struct jsonl *js, struct weft_error *err)
{
	struct wal_state st;
	bool fresh;
	int r = js_check(js, err);

	if (r < 0 || js->is_frozen)
		return r;
	r = wal_get_state(&js->wal, &st, err);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&js->mutex);
	fresh = st.end <= js->mine && st.rewrites == js->my_rewrites;
	(void)pthread_mutex_unlock(&js->mutex);
	if (fresh)
		return WEFT_OK;
	(void)pthread_mutex_lock(&js->writer);
	r = catch_up(js, err);
	(void)pthread_mutex_unlock(&js->writer);
	return r;
}

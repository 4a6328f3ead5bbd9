/*
 * rewrite.c - writes that put other lines into session files, or let files go.
 *
 * DESIGN: the right to checkpoint is held all the time, and the log is held
 * while it is decided and done what goes.  The log has no record of the file
 * by then, or everything begins again with a checkpoint: what is dropped must
 * not come back from there.
 *
 * That the words of the session must leave the index for search is noted there
 * before the file changes, so that it happens even if nobody lives to do it.
 *
 * The new file, with the next generation, is made beside the old one and takes
 * its name.  The catalogue says meanwhile that it is not complete: should the
 * machine stop in between, it is made again from the files, whichever they
 * are by then.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/event.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/lines.h"

#define COPY_BYTES MIB(1)
#define TRIES      100 /* for a moment in which the log is clean */

/* One file that changes. */
struct target {
	struct weft_id id;
	const struct session_rec *rec; /* afterwards; NULL: it goes */
	const struct store_op *ops;    /* all of the write, by rising range */
	size_t n_ops;
	char path[PATH_BYTES], fresh[PATH_BYTES];
	uint64_t gen, end; /* of the new file */
};

struct rewriting {
	struct jsonl *js;
	const struct op_list *ops;
	struct target *v;
	size_t n;
	struct weft_error *err;
};

/* ---- a copy of a file, but for what goes ---- */

struct copying {
	struct target *t;
	struct file *to;
	struct buf buf;
	uint64_t before; /* the last number */
	size_t next;     /* the op to look at */
	bool said;       /* its line is there */
	struct arena arena;
	struct weft_error *err;
};

static int flush(struct copying *c, bool all)
{
	ssize_t n;

	if (c->buf.len == 0 || (!all && c->buf.len < COPY_BYTES))
		return buf_error(&c->buf, c->err);
	n = file_write(c->to, c->buf.ptr, c->buf.len, c->t->end);
	if (n < 0)
		return fail_errno(c->err, (int)-n, "write %s", c->t->fresh);
	c->t->end += c->buf.len;
	buf_reset(&c->buf);
	return buf_error(&c->buf, c->err);
}

/* The op that `seq` falls to, or NULL. */
static const struct store_rewrite *rewrite_of(struct copying *c, uint64_t seq)
{
	for (; c->next < c->t->n_ops; c->next++, c->said = false) {
		const struct store_op *op = &c->t->ops[c->next];

		if (op->kind != OP_REWRITE || !id_eq(&op->session, &c->t->id) ||
		    op->u.rewrite->last < seq)
			continue;
		return seq >= op->u.rewrite->first ? op->u.rewrite : NULL;
	}
	return NULL;
}

static int copy_line(struct copying *c, struct weft_str text)
{
	const struct store_rewrite *w;
	struct store_event e;

	arena_reset(&c->arena);
	event_read(&c->t->id, text, &c->arena, &e);
	if (e.state == STATE_DAMAGED && e.seq == 0)
		e.seq = e.last = u64_max(event_peek_seq(text), c->before + 1);
	if (c->arena.failed)
		return arena_error(&c->arena, c->err);
	if (e.seq <= c->before)
		return fail(c->err, WEFT_CORRUPT,
			    "the lines of %s are not in order: run 'weft "
			    "repair' first",
			    c->t->path);
	c->before = u64_max(e.seq, e.last);
	w = rewrite_of(c, e.seq);
	if (!w || !c->said) {
		struct weft_str line = w ? w->with->bytes : text;

		buf_add_str(&c->buf, line);
		buf_add_c(&c->buf, '\n');
		c->said = w != NULL;
	}
	return flush(c, false);
}

static int copy_lines(struct copying *c, struct file *from)
{
	CLEANUP(line_reader_done) struct line_reader in;
	struct file_line head;
	struct file_stat st;
	struct line line;
	int got, r = file_stat(from, &st);

	line_reader_init(&in, from, 0, r < 0 ? 0 : st.size);
	if (r < 0)
		return fail_errno(c->err, -r, "look at %s", c->t->path);
	c->t->gen = 2;
	while (r == WEFT_OK && (got = line_reader_next(&in, &line)) != 0) {
		if (got < 0)
			return fail_errno(c->err, -got, "read %s", c->t->path);
		if (line.offset == 0) {
			bool is_head = file_line_read(line.text, &head);

			if (is_head)
				c->t->gen = head.gen + 1;
			file_line_write(&c->buf, &c->t->id, c->t->gen);
			buf_add_c(&c->buf, '\n');
			if (is_head)
				continue;
		}
		if (line.text.len > 0)
			r = copy_line(c, line.text);
	}
	return r == WEFT_OK ? flush(c, true) : r;
}

/* Make the new file, durably, under a name of its own. */
static int make_fresh(struct rewriting *w, struct target *t)
{
	CLEANUP(file_cleanup) struct file *from = NULL;
	CLEANUP(file_cleanup) struct file *to = NULL;
	struct copying c = { .t = t, .err = w->err };
	struct fs *fs = w->js->fs;
	int r = file_open(fs, t->path, FILE_READ, &from);

	if (r < 0)
		return fail_errno(w->err, -r, "open %s", t->path);
	r = file_open(fs, t->fresh, FILE_WRITE | FILE_CREATE, &to);
	if (r == 0)
		r = file_truncate(to, 0);
	if (r < 0)
		return fail_errno(w->err, -r, "make %s", t->fresh);
	t->end = 0;
	c.to = to;
	buf_init(&c.buf, 0);
	arena_init(&c.arena, 0);
	r = copy_lines(&c, from);
	arena_done(&c.arena);
	buf_done(&c.buf);
	if (r == WEFT_OK) {
		r = file_sync(to);
		if (r < 0)
			r = fail_errno(w->err, -r, "flush %s", t->fresh);
	}
	if (r < 0)
		(void)fs_unlink(fs, t->fresh);
	return r;
}

/* ---- what is to be done ---- */

static struct target *target_of(struct rewriting *w, const struct weft_id *id)
{
	for (size_t i = 0; i < w->n; i++) {
		if (id_eq(&w->v[i].id, id))
			return &w->v[i];
	}
	w->v[w->n] = (struct target){ .id = *id,
				      .ops = w->ops->v,
				      .n_ops = w->ops->n };
	return &w->v[w->n++];
}

static int find_targets(struct rewriting *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->ops->n; i++)
		n += w->ops->v[i].kind == OP_SESSION ||
		     w->ops->v[i].kind == OP_DROP;
	w->v = ARENA_ARRAY(w->ops->arena, struct target, n);
	if (!w->v)
		return arena_error(w->ops->arena, w->err);
	for (size_t i = 0; i < w->ops->n; i++) {
		const struct store_op *op = &w->ops->v[i];
		struct target *t;
		int r, len;

		if (op->kind == OP_EVENT)
			return fail(w->err, WEFT_INVALID,
				    "events cannot be appended while others "
				    "are rewritten");
		if (op->kind != OP_SESSION && op->kind != OP_DROP)
			continue;
		t = target_of(w, &op->session);
		t->rec = op->kind == OP_SESSION ? op->u.rec : NULL;
		r = path_session(w->js, &t->id, t->path, w->err);
		if (r < 0)
			return r;
		len = snprintf(t->fresh, sizeof(t->fresh), "%s.new", t->path);
		if (len < 0 || (size_t)len >= sizeof(t->fresh))
			return fail(w->err, WEFT_INVALID, "path too long: %s",
				    t->path);
	}
	return WEFT_OK;
}

/* Does the log have lines of them?  Then they could come back from there. */
static bool is_in_log(struct rewriting *w)
{
	bool found = false;

	(void)pthread_mutex_lock(&w->js->mutex);
	for (size_t i = 0; i < w->n && !found; i++) {
		struct live *l = live_find(w->js, &w->v[i].id);

		found = l && l->is_dirty;
	}
	(void)pthread_mutex_unlock(&w->js->mutex);
	return found;
}

/* ---- doing it ---- */

static int set_complete(struct rewriting *w, struct catalog_meta *meta,
			bool complete)
{
	struct catalog *c = w->js->catalog;
	int r = WEFT_OK;

	meta->complete = complete;
	if (!complete)
		r = catalog_begin(c, w->err);
	if (r == WEFT_OK)
		r = catalog_set_meta(c, meta, w->err);
	if (r == WEFT_OK)
		r = catalog_commit(c, w->err);
	if (r < 0)
		catalog_rollback(c);
	return r;
}

static int change_file(struct rewriting *w, struct target *t)
{
	struct fs *fs = w->js->fs;
	int r = t->rec ? fs_rename(fs, t->fresh, t->path) :
			 fs_unlink(fs, t->path);

	if (r == -ENOENT && !t->rec)
		r = 0;
	if (r == 0 && !t->rec)
		(void)fs_unlink(fs, t->fresh);
	if (r == 0) {
		char *slash = strrchr(t->path, '/');

		*slash = '\0';
		r = fs_sync_dir(fs, t->path);
		*slash = '/';
	}
	return r < 0 ? fail_errno(w->err, -r, "replace %s", t->path) : WEFT_OK;
}

/* From here on every process reads everything again. */
static int tell(struct rewriting *w)
{
	struct jsonl *js = w->js;
	struct live *l;

	js->st.rewrites++;
	for (size_t i = 0; i < w->n; i++) {
		(void)pthread_mutex_lock(&js->mutex);
		l = live_find(js, &w->v[i].id);
		(void)pthread_mutex_unlock(&js->mutex);
		if (l)
			live_drop(js, l);
	}
	return put_state(js, w->err);
}

/* In a transaction that has begun. */
static int change_rows(struct rewriting *w)
{
	struct catalog *c = w->js->catalog;
	int r = WEFT_OK;

	for (size_t i = 0; i < w->n && r == WEFT_OK; i++) {
		const struct target *t = &w->v[i];
		struct catalog_row row = { .lsn = w->js->st.end | 1,
					   .gen = t->gen,
					   .end = t->end };

		r = catalog_drop(c, &t->id, t->rec == NULL, w->err);
		if (r < 0 || !t->rec)
			continue;
		row.rec = *t->rec;
		r = catalog_put(c, &row, w->err);
	}
	for (size_t i = 0; i < w->ops->n && r == WEFT_OK; i++) {
		if (w->ops->v[i].kind == OP_UNNAME)
			r = catalog_drop_name(c, *w->ops->v[i].u.unname,
					      w->err);
	}
	return r;
}

static int change_catalog(struct rewriting *w, struct catalog_meta *meta)
{
	struct catalog *c = w->js->catalog;
	int r = catalog_begin(c, w->err);

	if (r < 0)
		return r;
	r = change_rows(w);
	if (r == WEFT_OK)
		return set_complete(w, meta, true);
	catalog_rollback(c);
	return r;
}

/* Everything that may refuse has been done. */
static int carry_out(struct rewriting *w)
{
	struct jsonl *js = w->js;
	struct catalog_meta meta;
	int r = catalog_get_meta(js->catalog, &meta, w->err);

	if (r == WEFT_OK && !meta.complete)
		r = fail(w->err, WEFT_BUSY,
			 "the catalogue of %s is not complete: run 'weft "
			 "reindex'",
			 js->dir);
	if (r == WEFT_OK)
		r = set_complete(w, &meta, false);
	for (size_t i = 0; i < w->n && r == WEFT_OK; i++)
		r = change_file(w, &w->v[i]);
	if (r == WEFT_OK)
		r = tell(w);
	return r == WEFT_OK ? change_catalog(w, &meta) : r;
}

static void remove_fresh(struct rewriting *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->v[i].rec)
			(void)fs_unlink(w->js->fs, w->v[i].fresh);
	}
}

/* The words of what goes must go, too, whatever becomes of us. */
static int doom_words(struct rewriting *w)
{
	struct weft_id *ids = ARENA_ARRAY(w->ops->arena, struct weft_id, w->n);

	if (!ids)
		return arena_error(w->ops->arena, w->err);
	for (size_t i = 0; i < w->n; i++)
		ids[i] = w->v[i].id;
	return search_doom(w->js, ids, w->n, w->err);
}

enum { AGAIN = 1 };

/* With the log held. */
static int try_rewrite(struct jsonl *js, store_plan *plan, void *ctx,
		       struct weft_error *err)
{
	struct op_list ops = { .arena = &js->arena };
	struct rewriting w = { .js = js, .ops = &ops, .err = err };
	int r = catch_up_inside(js, err);

	if (r == WEFT_OK)
		r = call_plan(js, plan, ctx, &ops, err);
	if (r < 0 || ops.n == 0)
		return r;
	r = find_targets(&w);
	if (r < 0)
		return r;
	if (is_in_log(&w))
		return AGAIN;
	for (size_t i = 0; i < w.n && r == WEFT_OK; i++) {
		if (w.v[i].rec)
			r = make_fresh(&w, &w.v[i]);
	}
	if (r == WEFT_OK)
		r = doom_words(&w);
	if (r == WEFT_OK) {
		(void)pthread_rwlock_rdlock(&js->catalog_lock);
		r = carry_out(&w);
		(void)pthread_rwlock_unlock(&js->catalog_lock);
	}
	if (r < 0)
		remove_fresh(&w);
	return r;
}

static int rewrite_paused(struct jsonl *js, store_plan *plan, void *ctx,
			  struct weft_error *err)
{
	int r = checkpoint_wait(js, err);

	if (r < 0)
		return r;
	r = AGAIN;
	for (int tries = 0; tries < TRIES && r == AGAIN; tries++) {
		r = checkpoint_locked(js, err);
		if (r == WEFT_OK)
			r = enter(js, err);
		if (r < 0)
			break;
		r = try_rewrite(js, plan, ctx, err);
		leave(js);
	}
	checkpoint_unlock(js);
	return r == AGAIN ? fail(err, WEFT_BUSY,
				 "others write to the session without a pause: "
				 "try again later") :
			    r;
}

int rewrite_planned(struct jsonl *js, store_plan *plan, void *ctx,
		    struct weft_error *err)
{
	int r;

	if (js->read_only)
		return fail(err, WEFT_READ_ONLY, "%s is open for reading only",
			    js->dir);
	/* What is in the files is what is there. */
	r = behind_pause(js, err);
	if (r == WEFT_OK)
		r = rewrite_paused(js, plan, ctx, err);
	behind_resume(js);
	return r;
}

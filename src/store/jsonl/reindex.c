/*
 * reindex.c - the catalogue: opening it, and making it again from the files.
 *
 * DESIGN: writers go on meanwhile.  A row made here says that it holds
 * everything up to the log position at which the work began (and maybe more:
 * lines that were applied since).  Frames behind that position are worked in
 * afterwards as always, and an event that a row holds already is known by its
 * number.
 */
#include <errno.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/vfs.h"

/* ---- opening ---- */

static int catalog_path(const struct jsonl *js, char out[PATH_BYTES],
			struct weft_error *err)
{
	return path_join(out, js->dir, "catalog.db", err);
}

int remove_catalog(struct jsonl *js, struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = catalog_path(js, path, err);

	if (r < 0)
		return r;
	r = vfs_remove_db(js->fs, path);
	if (r == -EAGAIN)
		return fail(err, WEFT_BUSY,
			    "catalog.db has to be made again, and another "
			    "process does not let go of it");
	return r < 0 ? fail_errno(err, -r, "remove %s", path) : WEFT_OK;
}

/* A new and empty one, which says that it is not complete. */
static int new_catalog(struct jsonl *js, struct catalog **ret,
		       struct weft_error *err)
{
	struct catalog_meta meta = { .store = js->id };
	struct catalog *c = NULL;
	char path[PATH_BYTES];
	int r = catalog_path(js, path, err);

	if (r == WEFT_OK && !js->read_only)
		r = remove_catalog(js, err);
	if (r == WEFT_OK)
		r = catalog_open(js->fs, path,
				 js->read_only ? CATALOG_IN_MEMORY : 0, &c,
				 err);
	if (r == WEFT_OK)
		r = catalog_begin(c, err);
	if (r == WEFT_OK) {
		r = catalog_set_meta(c, &meta, err);
		if (r == WEFT_OK)
			r = catalog_commit(c, err);
		if (r < 0)
			catalog_rollback(c);
	}
	if (r < 0) {
		catalog_close(c);
		return r;
	}
	*ret = c;
	return WEFT_OK;
}

/*
 * Is it of this store, and does it know all that the log has forgotten?  One
 * that is not complete will do for who can complete it: another process may be
 * at it.
 */
static int check_catalog(struct jsonl *js, struct catalog *c, bool *ret_usable,
			 struct weft_error *err)
{
	struct catalog_meta meta;
	int r = catalog_get_meta(c, &meta, err);

	*ret_usable = false;
	if (r < 0)
		return r == WEFT_CORRUPT ? WEFT_OK : r;
	if (meta.complete)
		*ret_usable = id_eq(&meta.store, &js->id) &&
			      meta.applied >= js->wal.control.ckpt;
	else
		*ret_usable = !js->read_only && (id_eq(&meta.store, &js->id) ||
						 id_is_zero(&meta.store));
	return WEFT_OK;
}

bool catalog_is_complete(struct jsonl *js)
{
	struct catalog_meta meta;
	bool complete;

	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	complete = catalog_get_meta(js->catalog, &meta, NULL) == WEFT_OK &&
		   meta.complete;
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return complete;
}

/* The one that is there, or a new one if that is of no use. */
static int find_catalog(struct jsonl *js, struct catalog **ret,
			struct weft_error *err)
{
	struct catalog *c = NULL;
	char path[PATH_BYTES];
	struct file_stat st;
	bool usable = false;
	int r = catalog_path(js, path, err);

	if (r < 0)
		return r;
	if (fs_stat(js->fs, path, &st) == 0) {
		r = catalog_open(js->fs, path,
				 js->read_only ? CATALOG_READ_ONLY : 0, &c,
				 err);
		if (r == WEFT_OK)
			r = check_catalog(js, c, &usable, err);
		if (usable) {
			*ret = c;
			return WEFT_OK;
		}
		catalog_close(c);
		if (r < 0 && r != WEFT_CORRUPT)
			return r;
	}
	return new_catalog(js, ret, err);
}

int open_catalog(struct jsonl *js, struct weft_error *err)
{
	return find_catalog(js, &js->catalog, err);
}

/* From now on use `fresh`, unless it could not be had. */
static int change_catalog(struct jsonl *js, struct catalog *fresh, int r)
{
	if (r < 0)
		return r;
	catalog_close(js->catalog);
	js->catalog = fresh;
	return WEFT_OK;
}

int replace_catalog(struct jsonl *js, struct weft_error *err)
{
	struct catalog *fresh = NULL;
	int r;

	(void)pthread_rwlock_wrlock(&js->catalog_lock);
	r = new_catalog(js, &fresh, err);
	r = change_catalog(js, fresh, r);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return r;
}

int reload_catalog(struct jsonl *js, struct weft_error *err)
{
	struct catalog *fresh = NULL;
	char path[PATH_BYTES];
	int r = catalog_path(js, path, err);

	if (r < 0)
		return r;
	(void)pthread_rwlock_wrlock(&js->catalog_lock);
	r = catalog_open(js->fs, path, js->read_only ? CATALOG_READ_ONLY : 0,
			 &fresh, err);
	r = change_catalog(js, fresh, r);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return r;
}

int reopen_catalog(struct jsonl *js, struct weft_error *err)
{
	struct catalog *fresh = NULL;
	struct file_stat open, named;
	char path[PATH_BYTES];
	int r = catalog_path(js, path, err);

	if (r < 0)
		return r;
	(void)pthread_rwlock_wrlock(&js->catalog_lock);
	if (catalog_file_stat(js->catalog, &open) != 0 ||
	    fs_stat(js->fs, path, &named) != 0 || open.ino != named.ino) {
		r = find_catalog(js, &fresh, err);
		r = change_catalog(js, fresh, r);
	}
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return r;
}

/* ---- making it again ---- */

/* A subagent, and who pays for it. */
struct payer {
	struct table_node node;
	struct weft_id id;
	struct weft_id parent; /* zero: this one pays for itself */
	struct totals own;     /* what it spent, and the purged below it */
	struct totals below;   /* what those below it spent */
};

struct rebuild {
	struct jsonl *js;
	struct store_report *report; /* or NULL */
	uint64_t ckpt;               /* of the log */
	uint64_t lsn;
	struct table payers;
	struct weft_error *err;
	int failed;
};

static struct payer *find_payer(struct rebuild *b, const struct weft_id *id)
{
	struct table_node *n = table_first(&b->payers, id_hash(id));

	for (; n; n = table_next(n)) {
		struct payer *p = TABLE_ENTRY(n, struct payer, node);

		if (id_eq(&p->id, id))
			return p;
	}
	return NULL;
}

static struct payer *get_payer(struct rebuild *b, const struct weft_id *id)
{
	struct payer *p = find_payer(b, id);

	if (p)
		return p;
	p = mem_zero(1, sizeof(*p));
	if (!p)
		return NULL;
	p->id = *id;
	if (table_add(&b->payers, &p->node, id_hash(id)) < 0) {
		mem_free(p);
		return NULL;
	}
	return p;
}

static int note_subagent(struct rebuild *b, const struct session_rec *rec)
{
	struct payer *p;

	if (rec->kind != KIND_SUBAGENT || id_is_zero(&rec->parent))
		return WEFT_OK;
	p = get_payer(b, &rec->id);
	if (!p || !get_payer(b, &rec->parent))
		return fail_no_memory(b->err);
	/* Whoever paid for one that was purged has been told by an event. */
	if (!rec->purged_at)
		p->parent = rec->parent;
	p->own = rec->total;
	return WEFT_OK;
}

static int put_effect(void *ctx, const struct store_op *op)
{
	struct rebuild *b = ctx;
	struct catalog_name name;

	if (op->kind == OP_HIDE)
		return catalog_put_hide(b->js->catalog, &op->session,
					op->u.hide, b->err);
	if (op->kind != OP_NAME)
		return WEFT_OK;
	name = (struct catalog_name){ *op->u.name, b->lsn };
	return catalog_put_name(b->js->catalog, &name, b->err);
}

/* Fold one session's file into its row; `below` is added to its total. */
static int put_row(struct rebuild *b, const struct weft_id *id,
		   const struct totals *below, uint64_t lsn)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	struct fold fold = { .effect = put_effect, .ctx = b };
	struct catalog_row row;
	char path[PATH_BYTES];
	int r = path_session(b->js, id, path, b->err);

	if (r < 0)
		return r;
	r = file_open(b->js->fs, path, FILE_READ, &f);
	if (r == -ENOENT)
		return WEFT_OK;
	if (r < 0)
		return fail_errno(b->err, -r, "open %s", path);
	r = fold_file(b->js, id, f, &fold, b->err);
	if (r == WEFT_OK) {
		row = (struct catalog_row){
			.rec = fold.own.rec,
			.lsn = lsn,
			.gen = fold.gen,
			.end = fold.end,
			.irregular = fold.irregular,
		};
		if (below)
			totals_add(&row.rec.total, below);
		else
			r = note_subagent(b, &row.rec);
		if (r == WEFT_OK)
			r = catalog_put(b->js->catalog, &row, b->err);
		if (b->report && !below) {
			b->report->sessions++;
			b->report->events += fold.events;
			b->report->bytes += fold.end;
		}
	}
	fold_done(&fold);
	return r;
}

static int each_session(void *ctx, const struct weft_id *id)
{
	struct rebuild *b = ctx;
	char local[80];
	int r = put_row(b, id, NULL, b->lsn);

	/* A file that nobody can read costs itself, not the others. */
	if (r == WEFT_CORRUPT) {
		path_session_local(id, local);
		r = b->report ? report_problem(b->report, id, local, 0, 0,
					       b->err, "no session line") :
				WEFT_OK;
	}
	if (r == WEFT_OK && b->report && b->report->progress &&
	    b->report->sessions % 256 == 0)
		b->report->progress(b->report->progress_ctx,
				    b->report->sessions, 0);
	return r;
}

/* What a subagent spent climbs to everybody above it. */
static void climb(void *ctx, struct table_node *node)
{
	const struct payer *spender = TABLE_ENTRY(node, struct payer, node);
	struct rebuild *b = ctx;
	const struct payer *at = spender;

	for (uint64_t hops = 0; hops < b->js->store.limits.subagent_depth &&
				at && !id_is_zero(&at->parent);
	     hops++) {
		struct payer *above = find_payer(b, &at->parent);

		if (above)
			totals_add(&above->below, &spender->own);
		at = above;
	}
}

static void put_payer(void *ctx, struct table_node *node)
{
	static const struct totals nothing;
	struct payer *p = TABLE_ENTRY(node, struct payer, node);
	struct rebuild *b = ctx;

	if (b->failed == WEFT_OK &&
	    memcmp(&p->below, &nothing, sizeof(nothing)) != 0)
		b->failed = put_row(b, &p->id, &p->below, b->lsn + 2);
}

static void free_payer(void *ctx, struct table_node *node)
{
	struct rebuild *b = ctx;

	table_remove(&b->payers, node);
	mem_free(TABLE_ENTRY(node, struct payer, node));
}

static int rebuild_rows(struct rebuild *b)
{
	int r = path_each_session(b->js, each_session, b, b->err);

	if (r == WEFT_OK) {
		table_each(&b->payers, climb, b);
		table_each(&b->payers, put_payer, b);
		r = b->failed == WEFT_CORRUPT ? WEFT_OK : b->failed;
	}
	table_each(&b->payers, free_payer, b);
	table_done(&b->payers);
	return r;
}

/*
 * It counts as complete up to the last checkpoint only: what the log still has
 * is worked in once more, so that every process knows whose files to sync.
 */
static int rebuild_catalog(struct rebuild *b)
{
	struct catalog_meta meta = { b->js->id, b->ckpt, 1 };
	int r = catalog_begin(b->js->catalog, b->err);

	if (r < 0)
		return r;
	r = catalog_clear(b->js->catalog, b->err);
	if (r == WEFT_OK)
		r = rebuild_rows(b);
	if (r == WEFT_OK)
		r = catalog_set_meta(b->js->catalog, &meta, b->err);
	if (r == WEFT_OK)
		r = catalog_commit(b->js->catalog, b->err);
	if (r < 0)
		catalog_rollback(b->js->catalog);
	return r;
}

/* Where the log ends now; everything before is in the files. */
static int log_position(struct rebuild *b, uint64_t *ret)
{
	struct jsonl *js = b->js;
	int r;

	if (js->read_only) {
		*ret = b->ckpt = js->wal.control.ckpt;
		return WEFT_OK;
	}
	r = enter(js, b->err);
	if (r < 0)
		return r;
	*ret = js->st.end;
	b->ckpt = js->st.ckpt;
	leave(js);
	return WEFT_OK;
}

static int reindex_files(struct jsonl *js, struct store_report *report,
			 struct weft_error *err)
{
	struct rebuild b = { .js = js, .report = report, .err = err };
	uint64_t position;
	int r = log_position(&b, &position);

	if (r < 0)
		return r;
	b.lsn = position | 1;
	search_rescan(js);
	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = rebuild_catalog(&b);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	/* One too damaged to be emptied is thrown away. */
	if (r == WEFT_CORRUPT) {
		r = replace_catalog(js, err);
		(void)pthread_rwlock_rdlock(&js->catalog_lock);
		if (r == WEFT_OK)
			r = rebuild_catalog(&b);
		(void)pthread_rwlock_unlock(&js->catalog_lock);
	}
	if (r < 0)
		return r;
	/* What was in memory may come from the rows that were wrong. */
	(void)pthread_mutex_lock(&js->writer);
	live_drop_all(js);
	(void)pthread_mutex_lock(&js->mutex);
	js->mine = b.ckpt;
	(void)pthread_mutex_unlock(&js->mutex);
	if (!js->read_only)
		r = catch_up(js, err);
	(void)pthread_mutex_unlock(&js->writer);
	return r;
}

int reindex(struct jsonl *js, struct store_report *report,
	    struct weft_error *err)
{
	int r = behind_pause(js, err);

	/* Not into a file that somebody has removed. */
	if (r == WEFT_OK && !js->read_only)
		r = reopen_catalog(js, err);
	if (r == WEFT_OK)
		r = reindex_files(js, report, err);
	behind_resume(js);
	return r;
}

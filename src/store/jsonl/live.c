/* live.c - sessions in memory: records and open files. */
#include <assert.h>
#include <errno.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/event.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/lines.h"

/* How many sessions are looked at for a file to close, or to be let go. */
#define CLOSE_LOOK 64
#define EVICT_LOOK 64

static void lock(struct jsonl *js)
{
	(void)pthread_mutex_lock(&js->mutex);
}

static void unlock(struct jsonl *js)
{
	(void)pthread_mutex_unlock(&js->mutex);
}

/* ---- open files ---- */

struct live_file *live_file_ref(struct live_file *f)
{
	(void)atomic_fetch_add(&f->refs, 1);
	return f;
}

void live_file_unref(struct live_file *f)
{
	if (f && atomic_fetch_sub(&f->refs, 1) == 1) {
		file_close(f->f);
		mem_free(f);
	}
}

void live_file_cleanup(struct live_file **f)
{
	live_file_unref(*f);
}

void live_close_file(struct jsonl *js, struct live *l)
{
	if (!l->file)
		return;
	live_file_unref(l->file);
	l->file = NULL;
	js->n_files--;
}

/*
 * Close files that were not used for longest.  Those of the overlay stay open
 * until they are synced, since an error of a closed file could be lost, but
 * for when half of all descriptors are in use.
 */
static void close_some(struct jsonl *js, const struct live *keep)
{
	const size_t limits[] = { js->store.limits.open_files,
				  u64_max(js->files_max,
					  js->store.limits.open_files) };

	for (int dirty_too = 0; dirty_too < 2; dirty_too++) {
		struct live *l = js->oldest;

		for (int looked = 0; l && looked < CLOSE_LOOK &&
				     js->n_files >= limits[dirty_too];
		     looked++) {
			if (l != keep && (dirty_too || !l->is_dirty))
				live_close_file(js, l);
			l = l->newer;
		}
	}
}

/* What its first line says: a file that needs more than we know is left
 * alone, and one may have been rewritten, even to the same size. */
static int check_head(struct live *l, struct file *f, const char *path,
		      struct weft_error *err)
{
	struct file_line head;
	uint64_t bytes;

	if (file_line_of(f, &head, &bytes) != 1)
		return WEFT_OK;
	/* Without its seal it is no more than damage. */
	if (head.sealed && head.version > EVENT_FORMAT)
		return fail(err, WEFT_IO,
			    "%s is of a newer format: update weft", path);
	if (head.sealed && !head.known_needs)
		return fail(err, WEFT_IO,
			    "%s needs \"%s\", which this weft does not know: "
			    "update weft",
			    path, head.first_need);
	l->strange = l->strange || head.gen != l->gen;
	return WEFT_OK;
}

/* No row says whether its last line is closed: a person may have left it open
 * before the catalogue was made. */
static int check_end(struct live *l, struct file *f, const char *path,
		     struct weft_error *err)
{
	struct file_stat st;
	char last = '\n';
	ssize_t n = file_stat(f, &st);

	if (n == 0 && st.size > 0)
		n = file_read(f, &last, 1, st.size - 1);
	if (n < 0)
		return fail_errno(err, (int)-n, "look at the end of %s", path);
	l->torn = last != '\n';
	return WEFT_OK;
}

bool is_no_file(struct jsonl *js, const char *path)
{
	struct file_stat st;
	int r = fs_stat(js->fs, path, &st);

	return r == -ENOENT || (r == 0 && !st.is_file);
}

int live_open_file(struct jsonl *js, struct live *l, unsigned flags,
		   struct weft_error *err)
{
	struct live_file *f = mem_zero(1, sizeof(*f));
	char path[PATH_BYTES];
	int r;

	if (!f)
		return fail_no_memory(err);
	atomic_init(&f->refs, 1);
	r = path_session(js, &l->id, path, err);
	if (r == WEFT_OK) {
		r = file_open(js->fs, path, flags, &f->f);
		if (r < 0)
			r = is_no_file(js, path) ?
				    fail(err, WEFT_NOT_FOUND,
					 "%s is missing: restore it, or run "
					 "'weft reindex'",
					 path) :
				    fail_errno(err, -r, "open %s", path);
		else
			r = check_head(l, f->f, path, err);
	}
	if (r == WEFT_OK)
		r = check_end(l, f->f, path, err);
	if (r < 0) {
		file_close(f->f);
		mem_free(f);
		return r;
	}
	lock(js);
	live_close_file(js, l);
	close_some(js, l);
	l->file = f;
	js->n_files++;
	unlock(js);
	return WEFT_OK;
}

/* ---- the table ---- */

struct live *live_find(struct jsonl *js, const struct weft_id *id)
{
	struct table_node *n = table_first(&js->sessions, id_hash(id));

	for (; n; n = table_next(n)) {
		struct live *l = TABLE_ENTRY(n, struct live, node);

		if (id_eq(&l->id, id))
			return l;
	}
	return NULL;
}

static void unlink_use(struct jsonl *js, struct live *l)
{
	if (l->newer)
		l->newer->older = l->older;
	else if (js->newest == l)
		js->newest = l->older;
	if (l->older)
		l->older->newer = l->newer;
	else if (js->oldest == l)
		js->oldest = l->newer;
	l->newer = l->older = NULL;
}

void live_use(struct jsonl *js, struct live *l)
{
	l->used_ms = clock_mono_us() / 1000;
	if (js->newest == l)
		return;
	unlink_use(js, l);
	l->older = js->newest;
	if (js->newest)
		js->newest->newer = l;
	js->newest = l;
	if (!js->oldest)
		js->oldest = l;
}

static void live_free(struct live *l)
{
	live_file_unref(l->file);
	record_own_done(&l->own);
	ops_free(l->ops);
	mem_free(l->hides);
	mem_free(l);
}

/* Needs W+M. */
static void remove_live(struct jsonl *js, struct live *l)
{
	if (l->is_dirty)
		js->n_dirty--;
	if (l->file)
		js->n_files--;
	table_remove(&js->sessions, &l->node);
	unlink_use(js, l);
	js->drops++;
	live_free(l);
}

void live_drop(struct jsonl *js, struct live *l)
{
	assert(!behind_has(js, l));
	lock(js);
	remove_live(js, l);
	unlock(js);
}

static struct live *live_new(const struct weft_id *id)
{
	struct live *l = mem_zero(1, sizeof(*l));

	if (l) {
		l->id = *id;
		l->gen = 1;
	}
	return l;
}

/* Frees it on failure. */
static int live_insert(struct jsonl *js, struct live *l, struct weft_error *err)
{
	lock(js);
	if (table_add(&js->sessions, &l->node, id_hash(&l->id)) < 0) {
		if (l->file)
			js->n_files--;
		unlock(js);
		live_free(l);
		return fail_no_memory(err);
	}
	live_use(js, l);
	if (l->is_dirty)
		js->n_dirty++;
	unlock(js);
	return WEFT_OK;
}

int live_add(struct jsonl *js, const struct weft_id *id, struct live **ret,
	     struct weft_error *err)
{
	struct live *l = live_new(id);
	int r = l ? live_insert(js, l, err) : fail_no_memory(err);

	if (r == WEFT_OK)
		*ret = l;
	return r;
}

struct live *live_next_dirty(struct jsonl *js, struct live *l, size_t *left)
{
	if (*left == 0)
		return NULL;
	for (l = l ? l->older : js->newest; l; l = l->older) {
		if (l->is_dirty) {
			--*left;
			return l;
		}
	}
	return NULL;
}

void live_mark_dirty(struct jsonl *js, struct live *l)
{
	lock(js);
	if (!l->is_dirty) {
		l->is_dirty = true;
		js->n_dirty++;
	}
	unlock(js);
}

int live_set(struct jsonl *js, struct live *l, const struct session_rec *rec,
	     uint64_t lsn, struct weft_error *err)
{
	int r;

	lock(js);
	r = record_own_update(&l->own, rec, err);
	if (r == WEFT_OK) {
		l->lsn = u64_max(l->lsn, lsn);
		if (!l->is_dirty) {
			l->is_dirty = true;
			js->n_dirty++;
		}
		live_use(js, l);
	}
	unlock(js);
	return r;
}

int live_hide(struct jsonl *js, struct live *l, const struct store_hide *h,
	      struct weft_error *err)
{
	struct store_hide *v;

	for (size_t i = 0; i < l->n_hides; i++) {
		if (l->hides[i].target != h->target)
			continue;
		lock(js);
		if (h->by > l->hides[i].by)
			l->hides[i] = *h;
		unlock(js);
		return WEFT_OK;
	}
	v = mem_alloc((l->n_hides + 1) * sizeof(*v));
	if (!v)
		return fail_no_memory(err);
	lock(js);
	if (l->n_hides)
		memcpy(v, l->hides, l->n_hides * sizeof(*v));
	v[l->n_hides++] = *h;
	mem_free(l->hides);
	l->hides = v;
	unlock(js);
	return WEFT_OK;
}

/* ---- loading ---- */

struct refolding {
	struct jsonl *js;
	struct live *l;
};

/* What a file read again says of a name is mostly what the catalogue has, or
 * older: the name may have moved on to another session. */
static int name_set_if_news(struct jsonl *js, const struct name_rec *name)
{
	CLEANUP(arena_done) struct arena a;
	struct catalog_name row;
	int r;

	arena_init(&a, 0);
	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_get_name(js->catalog, name->name, &a, &row, NULL);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	if (r == WEFT_OK && row.name.ver >= name->ver)
		return WEFT_OK;
	return r == WEFT_NO_MEMORY ? r : name_set(js, name, js->mine | 1, NULL);
}

static int effect_on_overlay(void *ctx, const struct store_op *op)
{
	struct refolding *g = ctx;

	if (op->kind == OP_NAME)
		return name_set_if_news(g->js, op->u.name);
	if (op->kind == OP_HIDE)
		return live_hide(g->js, g->l, op->u.hide, NULL);
	return WEFT_OK;
}

/* What the descendants of `rec` have spent. */
static struct totals spent_below(const struct session_rec *rec)
{
	struct totals t = rec->total;

	t.input_tokens -= rec->own.input_tokens;
	t.output_tokens -= rec->own.output_tokens;
	t.cache_read_tokens -= rec->own.cache_read_tokens;
	t.cache_write_tokens -= rec->own.cache_write_tokens;
	t.cost_nano -= rec->own.cost_nano;
	t.unpriced -= rec->own.unpriced;
	return t;
}

/*
 * Read the session's file from its first line.  What its descendants spent is
 * not in it, and is kept.
 */
static int refold(struct jsonl *js, struct live *l, bool listed,
		  struct weft_error *err)
{
	struct refolding g = { js, l };
	struct fold fold = { .effect = effect_on_overlay, .ctx = &g };
	struct totals below = spent_below(&l->own.rec);
	struct session_rec rec;
	int r = fold_file(js, &l->id, l->file->f, &fold, err);

	if (r == WEFT_OK) {
		rec = fold.own.rec;
		/* That has what those who were purged had spent, if there was
		 * a record before. */
		if (l->own.rec.head_seq)
			rec.total = rec.own;
		totals_add(&rec.total, &below);
		/* A number that was given out is not given out again. */
		rec.head_seq = u64_max(rec.head_seq, l->own.rec.head_seq);
		lock(js);
		r = record_own_update(&l->own, &rec, err);
		l->lsn = u64_max(l->lsn, js->mine | 1);
		l->gen = fold.gen;
		l->end = fold.end;
		l->irregular = fold.irregular;
		l->torn = fold.torn;
		l->strange = false;
		if (!l->is_dirty && listed)
			js->n_dirty++;
		l->is_dirty = true;
		atomic_store(&l->file->verified, 0);
		unlock(js);
		ops_free(l->ops);
		l->ops = NULL;
	}
	fold_done(&fold);
	return r;
}

/* Throw away one that is in no table yet. */
static void discard(struct jsonl *js, struct live *l)
{
	lock(js);
	if (l->file)
		js->n_files--;
	unlock(js);
	live_free(l);
}

/* Readers look at the table too: it gets sessions that are complete. */
int live_load_row(struct jsonl *js, const struct catalog_row *row,
		  struct live **ret, struct weft_error *err)
{
	struct live *l = live_new(&row->rec.id);
	int r;

	if (!l)
		return fail_no_memory(err);
	l->lsn = row->lsn;
	l->gen = row->gen;
	l->end = row->end;
	l->irregular = row->irregular != 0;
	r = record_own_update(&l->own, &row->rec, err);
	if (r < 0) {
		discard(js, l);
		return r;
	}
	r = live_insert(js, l, err);
	if (r == WEFT_OK)
		*ret = l;
	return r;
}

static int load_row(struct jsonl *js, const struct weft_id *id,
		    struct live **ret, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a;
	struct glimpse *seen = glimpse_take(js, id);
	struct catalog_row row;
	int r;

	arena_init(&a, 0);
	if (seen) {
		r = live_load_row(js, glimpse_row(seen), ret, err);
		glimpse_end(js, seen);
		return r;
	}
	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_get(js->catalog, id, &a, &row, err);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return r < 0 ? r : live_load_row(js, &row, ret, err);
}

/* A session that no catalogue knows may still have a file. */
static int load_file(struct jsonl *js, const struct weft_id *id,
		     struct live **ret, struct weft_error *err)
{
	struct live *l = live_new(id);
	char text[WEFT_ID_CHARS + 1];
	struct weft_error e;
	int r;

	if (!l)
		return fail_no_memory(err);
	r = live_open_file(js, l, js->read_only ? FILE_READ : FILE_WRITE, &e);
	if (r == WEFT_OK)
		r = refold(js, l, false, &e);
	if (r == WEFT_OK) {
		r = live_insert(js, l, err);
		if (r == WEFT_OK)
			*ret = l;
		return r;
	}
	discard(js, l);
	if (r == WEFT_NOT_FOUND) {
		id_format(id, text);
		return fail(err, WEFT_NOT_FOUND, "there is no session %s",
			    text);
	}
	if (err)
		*err = e;
	return r;
}

int live_load_known(struct jsonl *js, const struct weft_id *id,
		    struct live **ret, struct weft_error *err)
{
	lock(js);
	*ret = live_find(js, id);
	if (*ret)
		live_use(js, *ret);
	unlock(js);
	return *ret ? WEFT_OK : load_row(js, id, ret, err);
}

int live_load(struct jsonl *js, const struct weft_id *id, struct live **ret,
	      struct weft_error *err)
{
	struct weft_error e;
	int r = live_load_known(js, id, ret, &e);

	if (r == WEFT_NOT_FOUND || r == WEFT_CORRUPT)
		return load_file(js, id, ret, err);
	if (r < 0 && err)
		*err = e;
	return r;
}

/* Somebody has edited the file, or put an older copy in its place: what only
 * the log has goes into it first, as soon as nobody else can write. */
static int take_edits(struct jsonl *js, struct live *l, struct weft_error *err)
{
	int r = js->inside && l->is_dirty ? replay_session(js, &l->id, err) :
					    WEFT_OK;
	bool dirty = l->is_dirty;

	if (r == WEFT_OK)
		r = refold(js, l, true, err);
	lock(js);
	l->edited = l->edited || dirty;
	unlock(js);
	return r;
}

/* There is such a session: without its file it is not a new one. */
static int fail_missing(struct jsonl *js, const struct live *l,
			struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = path_session(js, &l->id, path, err);

	return r < 0 ? r :
		       fail(err, WEFT_CORRUPT,
			    "%s is missing: restore it, or run 'weft reindex' "
			    "to forget it",
			    path);
}

int live_check_file(struct jsonl *js, struct live *l, struct weft_error *err)
{
	struct file_stat st = { 0 };
	int r;

	if (l->checked == js->write_no && l->file)
		return WEFT_OK;
	if (behind_has(js, l)) {
		/* The file of one that has lines behind is looked at with
		 * them. */
		if (l->file && !atomic_load(&l->odd)) {
			l->checked = js->write_no;
			return WEFT_OK;
		}
		r = behind_settle(js, &l->id, err);
		if (r < 0)
			return r;
	}
	l->strange = atomic_exchange(&l->odd, false) || l->strange;
	r = l->file ? file_stat(l->file->f, &st) : -1;
	if (r < 0 || st.links == 0) {
		l->strange = l->strange || l->file;
		r = live_open_file(js, l,
				   js->read_only ? FILE_READ : FILE_WRITE, err);
		if (r == WEFT_NOT_FOUND && l->own.rec.head_seq)
			return fail_missing(js, l, err);
		if (r < 0)
			return r;
		assert(l->file);
		r = file_stat(l->file->f, &st);
		if (r < 0)
			return fail_errno(err, -r, "look at a session's file");
	}
	if (l->strange || st.size != l->end) {
		r = take_edits(js, l, err);
		if (r < 0)
			return r;
	}
	l->checked = js->write_no;
	return WEFT_OK;
}

/* ---- letting go ---- */

/* Behind all others, but not as used. */
static void put_last(struct jsonl *js, struct live *l)
{
	int64_t used_ms = l->used_ms;

	live_use(js, l);
	l->used_ms = used_ms;
}

/*
 * Those that only the log knows stay.  When there are many of them they are
 * put out of the way, a few each time: whoever writes to a great many sessions
 * would else pass by all of them again and again.
 */
uint64_t live_evict(struct jsonl *js, uint64_t idle_ms)
{
	int64_t now = clock_mono_us() / 1000;
	uint64_t dropped = 0;
	unsigned passed = 0;
	struct live *l;

	lock(js);
	l = js->oldest;
	while (l && passed < EVICT_LOOK) {
		struct live *next = l->newer;
		bool idle = idle_ms && now - l->used_ms >= (int64_t)idle_ms;
		bool many = js->sessions.n > js->store.limits.active_sessions;

		if (!idle && !many)
			break;
		if (!l->is_dirty) {
			remove_live(js, l);
			dropped++;
		} else if (!idle) {
			put_last(js, l);
			passed++;
		}
		l = next;
	}
	unlock(js);
	return dropped;
}

void live_drop_all(struct jsonl *js)
{
	struct weft_error ignored; /* the log still has them */

	(void)behind_settle_all(js, &ignored);
	behind_forget_all(js);
	lock(js);
	while (js->oldest)
		remove_live(js, js->oldest);
	names_drop_all(js);
	unlock(js);
}

void live_prune(struct jsonl *js, uint64_t ckpt)
{
	lock(js);
	for (struct live *l = js->oldest; l; l = l->newer) {
		/* An odd position is that of a file read again. */
		if (!l->is_dirty || (l->lsn & ~UINT64_C(1)) > ckpt)
			continue;
		l->is_dirty = false;
		l->created = false;
		l->edited = false;
		js->n_dirty--;
		mem_free(l->hides);
		l->hides = NULL;
		l->n_hides = 0;
	}
	names_prune(js, ckpt);
	js->drops++;
	unlock(js);
}

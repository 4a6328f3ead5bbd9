/* settle.c - the steps of a checkpoint: files, directories, catalogue. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

/* From so many files on, one flush of the whole file system is quicker. */
#define SYNC_ALL_FROM 256

/* ---- which ---- */

int settle_collect(struct jsonl *js, struct settle_item **ret, size_t *ret_n,
		   struct weft_error *err)
{
	struct settle_item *v;
	size_t n = 0;

	(void)pthread_mutex_lock(&js->mutex);
	v = mem_zero(js->n_dirty + 1, sizeof(*v));
	for (struct live *l = js->oldest; l && v; l = l->newer) {
		if (!l->is_dirty)
			continue;
		v[n++] = (struct settle_item){
			.id = l->id,
			.file = l->file ? live_file_ref(l->file) : NULL,
			.created = l->created,
			.edited = l->edited,
			.end = l->end,
		};
	}
	(void)pthread_mutex_unlock(&js->mutex);
	if (!v)
		return fail_no_memory(err);
	*ret = v;
	*ret_n = n;
	return WEFT_OK;
}

void settle_free(struct settle_item *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		live_file_unref(v[i].file);
	mem_free(v);
}

/* ---- files ---- */

int replay_session(struct jsonl *js, const struct weft_id *id,
		   struct weft_error *err)
{
	uint64_t at = js->wal.control.ckpt;
	struct frame f;
	int r;

	while ((r = wal_read_frame(&js->wal, at, &js->frame_read, &f, err)) ==
	       1) {
		struct frame_record rec;
		size_t pos = 0;

		while (r == 1 && frame_next(&f, &pos, &rec)) {
			if (id_eq(&rec.session, id) &&
			    replay_record(js, &rec, err) < 0)
				return WEFT_IO;
		}
		at = f.end;
	}
	return r;
}

/*
 * Is the named file what we wrote to, as long as we left it or longer?  If
 * not, somebody saved a copy over it, and what was written may have gone into
 * a file without a name: its lines in the log are put into the new one.
 */
static int check_name(struct jsonl *js, struct settle_item *item,
		      const char *path, struct weft_error *err)
{
	struct file_stat named, open;
	int r = fs_stat(js->fs, path, &named);

	if (r == 0 && !item->edited && named.size >= item->end &&
	    (!item->file || (file_stat(item->file->f, &open) == 0 &&
			     named.ino == open.ino && named.dev == open.dev)))
		return WEFT_OK;
	if (r == -ENOENT && !item->file) /* removed by a person */
		return WEFT_OK;
	/* Nobody may append meanwhile. */
	r = enter(js, err);
	if (r < 0)
		return r;
	r = replay_session(js, &item->id, err);
	leave(js);
	if (r < 0)
		return r;
	live_file_unref(item->file);
	item->file = NULL;
	return WEFT_OK;
}

static int sync_item(struct jsonl *js, struct settle_item *item,
		     struct weft_error *err)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	char path[PATH_BYTES];
	int r = path_session(js, &item->id, path, err);

	if (r == WEFT_OK)
		r = check_name(js, item, path, err);
	if (r < 0)
		return r;
	if (!item->file) {
		r = file_open(js->fs, path, FILE_WRITE, &f);
		if (r == -ENOENT) /* removed by a person */
			return WEFT_OK;
		if (r < 0)
			return fail_errno(err, -r, "open %s", path);
	}
	r = file_datasync(item->file ? item->file->f : f);
	if (r < 0) {
		(void)fail_errno(err, -r, "flush %s", path);
		return WEFT_UNKNOWN; /* the page cache cannot be believed */
	}
	return WEFT_OK;
}

/* ---- directories ---- */

static int by_directory(const void *x, const void *y)
{
	const struct settle_item *a = x, *b = y;
	int64_t day_a = id_time_ms(&a->id) / 86400000;
	int64_t day_b = id_time_ms(&b->id) / 86400000;

	if (day_a != day_b)
		return day_a < day_b ? -1 : 1;
	return a->id.b[15] - b->id.b[15];
}

static int sync_dir(struct jsonl *js, char *path, struct weft_error *err)
{
	int r = fs_sync_dir(js->fs, path);

	if (r == -ENOENT)
		return WEFT_OK;
	if (r < 0) {
		(void)fail_errno(err, -r, "flush directory %s", path);
		return WEFT_UNKNOWN;
	}
	return WEFT_OK;
}

/* Sync the directory of a new file, or (up = 2) the one above that. */
static int sync_dir_of(struct jsonl *js, const struct weft_id *id, int up,
		       struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = path_session(js, id, path, err);

	for (int i = 0; i < up && r == WEFT_OK; i++)
		*strrchr(path, '/') = '\0';
	return r == WEFT_OK ? sync_dir(js, path, err) : r;
}

static bool is_same_day(const struct settle_item *a,
			const struct settle_item *b)
{
	return id_time_ms(&a->id) / 86400000 == id_time_ms(&b->id) / 86400000;
}

/*
 * The directory of every file, each once: also that of an old file may have
 * been given its name by somebody who died before it was durable, by repair
 * or in an editor.  For new files also its day, and all days.
 */
static int sync_names(struct jsonl *js, struct settle_item *v, size_t n,
		      struct weft_error *err)
{
	const struct settle_item *last = NULL; /* that was created */
	int r = WEFT_OK;

	SORT(v, n, by_directory);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		if (i == 0 || by_directory(&v[i - 1], &v[i]) != 0)
			r = sync_dir_of(js, &v[i].id, 1, err);
		if (!v[i].created || r < 0)
			continue;
		if (!last || !is_same_day(last, &v[i]))
			r = sync_dir_of(js, &v[i].id, 2, err);
		last = &v[i];
	}
	if (last && r == WEFT_OK)
		r = sync_dir_of(js, &last->id, 3, err);
	return r;
}

/*
 * One flush for all; -ENOSYS: there is none.  Most is written before, file by
 * file, so that those who flush the log meanwhile wait for one write and not
 * for all of them.
 */
static int sync_at_once(struct jsonl *js, const struct settle_item *v, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (v[i].file)
			r = file_write_back(v[i].file->f);
	}
	return r == 0 ? file_sync_all(js->sync_file) : r;
}

static int check_names(struct jsonl *js, struct settle_item *v, size_t n,
		       struct weft_error *err)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		char path[PATH_BYTES];

		r = path_session(js, &v[i].id, path, err);
		if (r == WEFT_OK)
			r = check_name(js, &v[i], path, err);
	}
	return r;
}

int settle_files(struct jsonl *js, struct settle_item *v, size_t n,
		 struct weft_error *err)
{
	int r = WEFT_OK;

	if (n >= SYNC_ALL_FROM && js->sync_file) {
		r = check_names(js, v, n, err);
		if (r < 0)
			return r;
		r = sync_at_once(js, v, n);
		if (r == 0)
			return WEFT_OK;
		if (r != -ENOSYS) {
			(void)fail_errno(err, -r, "flush the file system");
			return WEFT_UNKNOWN;
		}
	}
	for (size_t i = 0; i < n; i++) {
		r = sync_item(js, &v[i], err);
		if (r < 0)
			return r;
	}
	return sync_names(js, v, n, err);
}

/* ---- catalogue ---- */

/* Copy one session's row and marks out of memory, then write them. */
static int put_session(struct jsonl *js, const struct weft_id *id,
		       struct arena *a, struct weft_error *err)
{
	struct catalog_row row = { 0 };
	struct store_hide *hides = NULL;
	size_t n_hides = 0;
	struct live *l;
	int r = WEFT_OK;

	arena_reset(a);
	(void)pthread_mutex_lock(&js->mutex);
	l = live_find(js, id);
	if (l && !id_is_zero(&l->own.rec.id)) {
		r = record_copy(&row.rec, &l->own.rec, a, err);
		row.lsn = l->lsn;
		row.gen = l->gen;
		row.end = l->end;
		row.irregular = l->irregular;
		n_hides = l->n_hides;
		hides = ARENA_ARRAY(a, struct store_hide, n_hides + 1);
		if (hides && n_hides)
			memcpy(hides, l->hides, n_hides * sizeof(*hides));
		else if (!hides)
			r = arena_error(a, err);
	}
	(void)pthread_mutex_unlock(&js->mutex);
	if (r < 0 || id_is_zero(&row.rec.id))
		return r;
	r = catalog_put(js->catalog, &row, err);
	for (size_t i = 0; i < n_hides && r == WEFT_OK; i++)
		r = catalog_put_hide(js->catalog, id, &hides[i], err);
	return r;
}

struct name_list {
	struct catalog_name *v;
	size_t n, room;
	struct arena arena;
	bool failed;
};

static void list_name(void *ctx, struct table_node *node)
{
	struct live_name *n = TABLE_ENTRY(node, struct live_name, node);
	struct name_list *list = ctx;
	struct catalog_name *to;

	if (n->kind == 0 || list->failed || list->n == list->room)
		return;
	to = &list->v[list->n++];
	to->lsn = n->lsn;
	to->name = (struct name_rec){ arena_str(&list->arena, n->name),
				      n->session, n->ver, n->kind };
	list->failed = !to->name.name.ptr;
}

static int put_names(struct jsonl *js, struct weft_error *err)
{
	struct name_list list = { 0 };
	int r = WEFT_OK;

	arena_init(&list.arena, 0);
	(void)pthread_mutex_lock(&js->mutex);
	list.room = js->names.n;
	list.v = ARENA_ARRAY(&list.arena, struct catalog_name, list.room + 1);
	if (list.v)
		table_each(&js->names, list_name, &list);
	(void)pthread_mutex_unlock(&js->mutex);
	if (!list.v || list.failed)
		r = fail_no_memory(err);
	for (size_t i = 0; i < list.n && r == WEFT_OK; i++)
		r = catalog_put_name(js->catalog, &list.v[i], err);
	arena_done(&list.arena);
	return r;
}

static int put_overlay(struct jsonl *js, const struct settle_item *v, size_t n,
		       uint64_t applied, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a;
	struct catalog_meta meta;
	int r = catalog_get_meta(js->catalog, &meta, err);

	arena_init(&a, 0);
	if (r == WEFT_OK)
		r = catalog_begin(js->catalog, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = put_session(js, &v[i].id, &a, err);
	if (r == WEFT_OK)
		r = put_names(js, err);
	meta.applied = u64_max(meta.applied, applied);
	if (r == WEFT_OK)
		r = catalog_set_meta(js->catalog, &meta, err);
	if (r == WEFT_OK)
		r = catalog_commit(js->catalog, err);
	if (r < 0)
		catalog_rollback(js->catalog);
	return r;
}

int settle_catalog(struct jsonl *js, const struct settle_item *v, size_t n,
		   uint64_t applied, struct weft_error *err)
{
	int r;

	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = put_overlay(js, v, n, applied, err);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return r;
}

/* ---- space for what is already durable ---- */

void settle_reserve(struct jsonl *js)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	CLEANUP(mem_cleanup) char *zeros = NULL;
	char path[PATH_BYTES];
	struct file_stat st;

	if (path_join(path, js->dir, "wal/reserve", NULL) < 0 ||
	    fs_stat(js->fs, path, &st) == 0)
		return;
	zeros = mem_zero(1, WAL_RESERVE_BYTES);
	if (!zeros || file_open(js->fs, path, FILE_WRITE | FILE_CREATE, &f) < 0)
		return;
	/* A disk too full for it is refused writes before it is needed. */
	if (file_write(f, zeros, WAL_RESERVE_BYTES, 0) < 0)
		(void)fs_unlink(js->fs, path);
}

/*
 * repair_log.c - what keeps a store from being opened at all.
 *
 * DESIGN: weft.json and wal/control both name the store; each can be made
 * again from the other, and control has a checksum, so that it is believed if
 * they differ.  A log whose control cannot be read is of no use to us: nobody
 * knows which of its frames count.  It is put into damaged/, for people, and a
 * new one begins.  Positions in it begin anew, too, so the catalogue, which
 * remembers positions, goes with it and is derived again.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "store/jsonl/verify.h"

struct setting_aside {
	struct jsonl *js;
	unsigned no; /* which time this is */
	struct weft_error *err;
	int failed; /* a code of ours, while -1 stops the listing */
};

/* DIR/damaged/NAME.NO, where nothing is yet. */
static int find_place(struct jsonl *js, const char *name, unsigned *no,
		      char out[PATH_BYTES], struct weft_error *err)
{
	for (;; (*no)++) {
		struct file_stat st;
		char local[96];
		int r;

		(void)snprintf(local, sizeof(local), "damaged/%.64s.%u", name,
			       *no);
		r = path_join(out, js->dir, local, err);
		if (r < 0)
			return r;
		r = fs_stat(js->fs, out, &st);
		if (r == -ENOENT)
			return WEFT_OK;
		if (r < 0)
			return fail_errno(err, -r, "look at %s", out);
	}
}

static int set_aside(struct setting_aside *a, const char *local,
		     const char *name)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	int r = path_join(from, a->js->dir, local, a->err);

	if (r == WEFT_OK)
		r = find_place(a->js, name, &a->no, to, a->err);
	if (r < 0)
		return r;
	r = fs_rename(a->js->fs, from, to);
	return r < 0 ? fail_errno(a->err, -r, "rename %s", from) : WEFT_OK;
}

/* The locks are held, and the reserve holds nothing. */
static int set_log_file_aside(void *ctx, const char *name)
{
	struct setting_aside *a = ctx;
	char local[80], to[80];

	if (strcmp(name, "lock") == 0 || strcmp(name, "reserve") == 0)
		return 0;
	(void)snprintf(local, sizeof(local), "wal/%.64s", name);
	(void)snprintf(to, sizeof(to), "wal-%.64s", name);
	a->failed = set_aside(a, local, to);
	return a->failed < 0 ? -1 : 0;
}

static int sync_moved(struct jsonl *js, const char *from,
		      struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = path_join(path, js->dir, "damaged", err);

	if (r < 0)
		return r;
	r = fs_sync_dir(js->fs, path);
	if (r == 0)
		r = fs_sync_dir(js->fs, from);
	return r < 0 ? fail_errno(err, -r, "flush directory %s", path) :
		       WEFT_OK;
}

static int begin_new_log(struct jsonl *js, struct weft_error *err)
{
	struct setting_aside a = { .js = js, .no = 1, .err = err };
	int r = fs_list(js->fs, js->wal.dir, set_log_file_aside, &a);

	if (a.failed < 0)
		return a.failed;
	if (r < 0)
		return fail_errno(err, -r, "list %s", js->wal.dir);
	r = sync_moved(js, js->wal.dir, err);
	if (r == WEFT_OK)
		r = remove_catalog(js, err);
	return r == WEFT_OK ? wal_create(js->fs, js->wal.dir, &js->id,
					 js->store.limits.segment_bytes, err) :
			      r;
}

static int mend_format(struct jsonl *js, bool exists, struct weft_error *err)
{
	struct setting_aside a = { .js = js, .no = 1, .err = err };
	int r = exists ? set_aside(&a, "weft.json", "weft.json") : WEFT_OK;

	if (r == WEFT_OK && exists)
		r = sync_moved(js, js->dir, err);
	return r == WEFT_OK ? layout_write_format(js, err) : r;
}

int repair_log(struct jsonl *js, struct weft_error *err)
{
	struct weft_id store;
	struct weft_error ignored;
	char path[PATH_BYTES];
	struct file_stat st;
	bool exists, readable, differs;
	int log, r = path_join(path, js->dir, "weft.json", err);

	if (r == WEFT_OK)
		r = layout_make_dirs(js, err);
	if (r < 0)
		return r;
	exists = fs_stat(js->fs, path, &st) == 0;
	r = exists ? layout_read_format(js, &ignored) : WEFT_CORRUPT;
	if (r < 0 && r != WEFT_CORRUPT) {
		if (err)
			*err = ignored;
		return r;
	}
	readable = r == WEFT_OK;
	log = wal_mend(&js->wal, &store, err);
	if (log < 0)
		return log;
	r = WEFT_OK;
	differs = log == 1 && !(readable && id_eq(&store, &js->id));
	if (differs)
		js->id = store;
	else if (!readable)
		r = id_new(clock_now_ms(js->clock), &js->id, err);
	if (r == WEFT_OK && (differs || !readable))
		r = mend_format(js, exists, err);
	return r == WEFT_OK && log == 0 ? begin_new_log(js, err) : r;
}

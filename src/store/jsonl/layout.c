/* layout.c - where the parts of a JSONL store are, and what it says it is. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/event.h"
#include "store/jsonl/jsonl.h"
#include "store/place.h"

#define FORMAT_FILE_MAX KIB(64)

int path_join(char out[PATH_BYTES], const char *dir, const char *name,
	      struct weft_error *err)
{
	int n = snprintf(out, PATH_BYTES, "%s/%s", dir, name);

	if (n < 0 || n >= PATH_BYTES)
		return fail(err, WEFT_INVALID, "path too long: %s", dir);
	return WEFT_OK;
}

void path_session_local(const struct weft_id *id, char out[80])
{
	char day[11], text[WEFT_ID_CHARS + 1];

	time_format_day(id_time_ms(id), day);
	id_format(id, text);
	(void)snprintf(out, 80, "sessions/%s/%02x/%s.jsonl", day, id->b[15],
		       text);
}

int path_session(const struct jsonl *js, const struct weft_id *id,
		 char out[PATH_BYTES], struct weft_error *err)
{
	char local[80];

	path_session_local(id, local);
	return path_join(out, js->dir, local, err);
}

static int make_dir(struct jsonl *js, const char *path, struct weft_error *err)
{
	int r = fs_mkdir(js->fs, path);

	return r < 0 && r != -EEXIST ?
		       fail_errno(err, -r, "make directory %s", path) :
		       WEFT_OK;
}

int path_make_dirs(struct jsonl *js, const struct weft_id *id,
		   struct weft_error *err)
{
	char path[PATH_BYTES], day[11], local[48];
	int r;

	time_format_day(id_time_ms(id), day);
	(void)snprintf(local, sizeof(local), "sessions/%s", day);
	r = path_join(path, js->dir, local, err);
	if (r == WEFT_OK)
		r = make_dir(js, path, err);
	(void)snprintf(local, sizeof(local), "sessions/%s/%02x", day,
		       id->b[15]);
	if (r == WEFT_OK)
		r = path_join(path, js->dir, local, err);
	return r == WEFT_OK ? make_dir(js, path, err) : r;
}

/* ---- every session ---- */

struct walk {
	struct jsonl *js;
	int (*each)(void *ctx, const struct weft_id *id);
	void *ctx;
	struct weft_error *err;
	char path[PATH_BYTES];
	size_t len;
	int depth;
	int failed; /* a code of ours, while -1 stops the listing */
};

static int walk_dir(struct walk *w);

/* A copy that somebody has put elsewhere, or a directory, is not ours. */
static bool is_in_place(const struct walk *w, const struct weft_id *id)
{
	char path[PATH_BYTES];
	struct file_stat st;

	return path_session(w->js, id, path, NULL) == WEFT_OK &&
	       strncmp(path, w->path, w->len) == 0 && path[w->len] == '/' &&
	       !strchr(path + w->len + 1, '/') &&
	       (fs_stat(w->js->fs, path, &st) < 0 || st.is_file);
}

/* Session files are told by their names; what else lies there is not ours. */
static int walk_file(struct walk *w, const char *name)
{
	struct weft_str s = str_of(name);
	struct weft_id id;

	if (s.len != WEFT_ID_CHARS + 6 ||
	    !str_eq(str_skip(s, WEFT_ID_CHARS), STR(".jsonl")) ||
	    !id_parse((struct weft_str){ s.ptr, WEFT_ID_CHARS }, &id) ||
	    !is_in_place(w, &id))
		return 0;
	w->failed = w->each(w->ctx, &id);
	return w->failed < 0 ? -1 : 0;
}

static int walk_name(void *ctx, const char *name)
{
	struct walk *w = ctx;
	size_t len = w->len;
	int r, n;

	if (w->depth == 2)
		return walk_file(w, name);
	n = snprintf(w->path + len, sizeof(w->path) - len, "/%s", name);
	if (n < 0 || (size_t)n >= sizeof(w->path) - len)
		return 0;
	w->len += (size_t)n;
	w->depth++;
	r = walk_dir(w);
	w->depth--;
	w->len = len;
	w->path[len] = '\0';
	return r;
}

static int walk_dir(struct walk *w)
{
	int r = fs_list(w->js->fs, w->path, walk_name, w);

	if (w->failed < 0)
		return -1;
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0) {
		w->failed = fail_errno(w->err, -r, "list %s", w->path);
		return -1;
	}
	return 0;
}

int path_each_session(struct jsonl *js,
		      int (*each)(void *ctx, const struct weft_id *id),
		      void *ctx, struct weft_error *err)
{
	struct walk w = { .js = js, .each = each, .ctx = ctx, .err = err };
	int r = path_join(w.path, js->dir, "sessions", err);

	if (r < 0)
		return r;
	w.len = strlen(w.path);
	(void)walk_dir(&w);
	return w.failed;
}

/* ---- weft.json ---- */

static const char *const parts[] = { "blobs", "damaged", "sessions", "trash" };

static int first_name(void *ctx, const char *name)
{
	char *out = ctx;

	(void)snprintf(out, 64, "%s", name);
	return 1;
}

/* Whoever makes a store may be killed at it: what it leaves is no hindrance. */
static int first_strange_name(void *ctx, const char *name)
{
	if (strcmp(name, "wal") == 0 || strcmp(name, "weft.json.new") == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strcmp(name, parts[i]) == 0)
			return 0;
	}
	return first_name(ctx, name);
}

/* A store that has lost its weft.json is not begun anew. */
static int check_lost(struct jsonl *js, struct weft_error *err)
{
	char name[64] = "", path[PATH_BYTES];
	int r = path_join(path, js->dir, "sessions", err);

	if (r < 0 || fs_list(js->fs, path, first_name, name) <= 0)
		return r;
	if (js->unchecked)
		return WEFT_OK;
	return fail(err, WEFT_CORRUPT,
		    "%s has lost its weft.json: run 'weft repair'", js->dir);
}

/* A directory with other things in it is not turned into a store. */
static int check_empty(struct jsonl *js, struct weft_error *err)
{
	char name[64] = "";
	int r = fs_list(js->fs, js->dir, first_strange_name, name);

	if (r < 0)
		return fail_errno(err, -r, "list %s", js->dir);
	if (r > 0)
		return fail(err, WEFT_INVALID,
			    "%s holds other things (%s) and no weft.json: "
			    "choose an empty directory",
			    js->dir, name);
	return WEFT_OK;
}

static struct place place_of(const struct jsonl *js)
{
	return (struct place){ js->fs, js->dir, js->single, js->read_only };
}

static int check_place(struct jsonl *js, const struct file_stat *st,
		       struct weft_error *err)
{
	const struct place place = place_of(js);

	if (!st->is_dir)
		return fail(err, WEFT_INVALID,
			    "%s is a file; a jsonl: store is a directory",
			    js->dir);
	if (st->uid != (uint32_t)geteuid())
		return fail(err, WEFT_IO,
			    "%s belongs to user %u, and you are user %u: run "
			    "weft as its owner",
			    js->dir, st->uid, (unsigned)geteuid());
	return place_check_fs(&place, err);
}

/* Make the directory and those above it. */
static int make_path(struct jsonl *js, struct weft_error *err)
{
	char path[PATH_BYTES];
	size_t n = strlen(js->dir);
	struct file_stat st;

	if (n >= sizeof(path))
		return fail(err, WEFT_INVALID, "path too long: %s", js->dir);
	memcpy(path, js->dir, n + 1);
	for (size_t i = 1; i <= n; i++) {
		char c = path[i];

		if (c != '/' && c != '\0')
			continue;
		path[i] = '\0';
		if (fs_stat(js->fs, path, &st) < 0) {
			int r = make_dir(js, path, err);

			if (r < 0)
				return r;
		}
		path[i] = c;
	}
	return WEFT_OK;
}

int layout_check(struct jsonl *js, bool create, bool *ret_exists,
		 struct weft_error *err)
{
	char path[PATH_BYTES];
	struct file_stat st;
	int r = fs_stat(js->fs, js->dir, &st);

	if (r == -ENOENT && create) {
		r = make_path(js, err);
		if (r < 0)
			return r;
		r = fs_stat(js->fs, js->dir, &st);
	}
	if (r == -ENOENT)
		return fail(err, WEFT_NOT_FOUND, "there is no store at %s",
			    js->dir);
	if (r < 0)
		return fail_errno(err, -r, "look at %s", js->dir);
	r = check_place(js, &st, err);
	if (r == WEFT_OK)
		r = path_join(path, js->dir, "weft.json", err);
	if (r < 0)
		return r;
	r = fs_stat(js->fs, path, &st);
	*ret_exists = r == 0;
	if (r == 0)
		return WEFT_OK;
	if (r != -ENOENT)
		return fail_errno(err, -r, "look at %s", path);
	r = check_lost(js, err);
	if (r < 0 || js->unchecked)
		return r;
	if (!create)
		return fail(err, WEFT_NOT_FOUND, "there is no store at %s",
			    js->dir);
	return check_empty(js, err);
}

int layout_look(struct jsonl *js, struct weft_error *err)
{
	const struct place place = place_of(js);
	struct file_stat st;
	bool exists;
	int r = fs_stat(js->fs, js->dir, &st);

	if (r == -ENOENT || r == -ENOTDIR)
		return place_check_new(&place, true, err);
	r = layout_check(js, !js->read_only, &exists, err);
	return r == WEFT_OK ? place_check_rights(&place, err) : r;
}

int layout_write_format(struct jsonl *js, struct weft_error *err)
{
	char path[PATH_BYTES], text[128], id[WEFT_ID_CHARS + 1];
	int r = path_join(path, js->dir, "weft.json", err);

	if (r < 0)
		return r;
	id_format(&js->id, id);
	(void)snprintf(text, sizeof(text),
		       "{\"weft\":%d,\"store\":\"%s\",\"needs\":[],"
		       "\"hints\":[]}\n",
		       EVENT_FORMAT, id);
	r = fs_replace(js->fs, js->dir, path, str_of(text));
	return r < 0 ? fail_errno(err, -r, "write %s", path) : WEFT_OK;
}

/*
 * The names in the store's directory, then its own, and those of each above
 * it, which one that was killed at this may have made.  A directory that
 * cannot be opened is not ours.
 */
static int sync_upwards(struct jsonl *js, struct weft_error *err)
{
	char path[PATH_BYTES];
	size_t n = strlen(js->dir);

	if (n >= sizeof(path))
		return fail(err, WEFT_INVALID, "path too long: %s", js->dir);
	memcpy(path, js->dir, n + 1);
	for (;;) {
		int r = fs_sync_dir(js->fs, path);
		char *slash = strrchr(path, '/');

		if (r == -EIO)
			return fail_errno(err, EIO, "flush directory %s", path);
		if (strcmp(path, ".") == 0 || strcmp(path, "/") == 0)
			return WEFT_OK;
		if (!slash)
			memcpy(path, ".", 2);
		else
			slash[slash == path] = '\0';
	}
}

int layout_make_dirs(struct jsonl *js, struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = WEFT_OK;

	for (size_t i = 0; i < ARRAY_LEN(parts) && r == WEFT_OK; i++) {
		r = path_join(path, js->dir, parts[i], err);
		if (r == WEFT_OK)
			r = make_dir(js, path, err);
	}
	return r;
}

int layout_create(struct jsonl *js, uint64_t segment_bytes,
		  struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = id_new(clock_now_ms(js->clock), &js->id, err);

	if (r == WEFT_OK)
		r = layout_make_dirs(js, err);
	if (r == WEFT_OK)
		r = path_join(path, js->dir, "wal", err);
	if (r == WEFT_OK)
		r = wal_create(js->fs, path, &js->id, segment_bytes, err);
	if (r == WEFT_OK)
		r = sync_upwards(js, err);
	/* weft.json comes last: a store that has one is complete. */
	return r == WEFT_OK ? layout_write_format(js, err) : r;
}

static int check_needs(struct jsonl *js, yyjson_val *needs,
		       struct weft_error *err)
{
	yyjson_val *need = yyjson_arr_get_first(needs);

	if (!need)
		return WEFT_OK;
	return fail(err, WEFT_IO,
		    "%s/weft.json needs \"%s\", which this weft does not know: "
		    "update weft",
		    js->dir, yyjson_is_str(need) ? yyjson_get_str(need) : "?");
}

int layout_read_format(struct jsonl *js, struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(mem_cleanup) char *text = NULL;
	char path[PATH_BYTES];
	struct weft_error bad;
	yyjson_val *root, *version;
	size_t len;
	int r = path_join(path, js->dir, "weft.json", err);

	if (r < 0)
		return r;
	r = fs_read_whole(js->fs, path, FORMAT_FILE_MAX, &text, &len);
	if (r < 0)
		return fail_errno(err, -r, "read %s", path);
	r = json_parse((struct weft_str){ text, len }, NULL, &doc, &bad);
	if (r == WEFT_NO_MEMORY)
		return fail_no_memory(err);
	root = doc ? yyjson_doc_get_root(doc) : NULL;
	version = yyjson_obj_get(root, "weft");
	if (!yyjson_is_uint(version) ||
	    !id_parse(json_str(yyjson_obj_get(root, "store")), &js->id))
		return fail(err, WEFT_CORRUPT,
			    "%s is damaged: it should say "
			    "{\"weft\":1,\"store\":\"ID\",...}; run 'weft "
			    "repair'",
			    path);
	if (yyjson_get_uint(version) > EVENT_FORMAT)
		return fail(err, WEFT_IO,
			    "%s has format %llu, newer than this weft knows "
			    "(%d): update weft",
			    js->dir,
			    (unsigned long long)yyjson_get_uint(version),
			    EVENT_FORMAT);
	return check_needs(js, yyjson_obj_get(root, "needs"), err);
}

/*
 * blob.c - attachments of the JSONL store.
 *
 * A put and a collection that meet at one file settle it by the file's lock:
 * who writes or touches it shares the lock, who removes it holds it alone, and
 * both look again at name and time once they have it.
 */
#include "store/jsonl/blob.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "store/store.h"

#define PATH_BYTES  4096
#define HEX_CHARS   (2 * SHA256_BYTES)
#define SHARD_CHARS 2
#define TEMP_PREFIX "tmp-"
#define COMPARE     KIB(16)

/* How long to wait for a collection to decide about one blob. */
#define LOCK_TRIES   1000
#define LOCK_WAIT_US 1000

/* Where a blob is. */
struct place {
	char hex[HEX_CHARS + 1];
	char shard[PATH_BYTES]; /* DIR/ab */
	char path[PATH_BYTES];  /* DIR/ab/abcd... */
};

static int join(char out[PATH_BYTES], const char *dir, const char *name,
		struct weft_error *err)
{
	int n = snprintf(out, PATH_BYTES, "%s/%s", dir, name);

	if (n < 0 || n >= PATH_BYTES)
		return fail(err, WEFT_LIMIT, "path too long: %s", dir);
	return WEFT_OK;
}

static int find_place(const char *dir, const struct blob_ref *ref,
		      struct place *ret, struct weft_error *err)
{
	char shard[SHARD_CHARS + 1];
	int r;

	hex_format(ref->sha256, SHA256_BYTES, ret->hex);
	(void)snprintf(shard, sizeof(shard), "%.2s", ret->hex);
	r = join(ret->shard, dir, shard, err);
	return r < 0 ? r : join(ret->path, ret->shard, ret->hex, err);
}

/* ---- putting ---- */

static bool is_same_file(const struct file_stat *a, const struct file_stat *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* 1: the file holds these bytes; 0: it holds others; or a negative errno. */
static int holds(struct file *f, struct weft_str bytes)
{
	char part[COMPARE];
	size_t at = 0;

	for (;;) {
		ssize_t n = file_read(f, part, sizeof(part), at);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return at == bytes.len;
		if ((size_t)n > bytes.len - at ||
		    memcmp(part, bytes.ptr + at, (size_t)n) != 0)
			return 0;
		at += (size_t)n;
	}
}

/*
 * Open the blob that is at `path`, and keep collection away from it while it
 * is open.  -ENOENT: there is none.
 */
static int open_shared(struct fs *fs, const char *path, struct file **ret)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		struct file_stat held, named;
		struct file *f;
		int r = file_open(fs, path, FILE_WRITE, &f);

		if (r < 0)
			return r;
		r = file_lock(f, 0, 1, FILE_SHARED);
		if (r == 0)
			r = file_stat(f, &held);
		if (r == 0)
			r = fs_stat(fs, path, &named);
		if (r == 0 && is_same_file(&held, &named)) {
			*ret = f;
			return 0;
		}
		file_close(f);
		if (r < 0 && r != -EAGAIN && r != -ENOENT)
			return r;
		if (r == -EAGAIN)
			fs_sleep_us(fs, LOCK_WAIT_US);
	}
	return -EAGAIN;
}

/* Set the time of a file of that size: this cuts nothing off. */
static int touch(struct file *f, uint64_t size)
{
	return file_truncate(f, size);
}

/*
 * From here on nobody will think that it was left over, however long it takes.
 * -EAGAIN: somebody has thought so already.
 */
static int claim(struct file *f)
{
	struct file_stat st;
	int r = file_lock(f, 0, 1, FILE_SHARED);

	if (r == 0)
		r = file_stat(f, &st);
	if (r == 0 && st.links == 0)
		r = -EAGAIN;
	return r;
}

/* Make the file that has no other name yet; its name goes to `path`. */
static int create_temp(struct fs *fs, const char *shard, char path[PATH_BYTES],
		       struct file **ret)
{
	static _Atomic(uint64_t) count;
	struct file *f;
	char name[64];
	int r;

	do {
		(void)snprintf(name, sizeof(name), TEMP_PREFIX "%ld-%llu",
			       (long)getpid(),
			       (unsigned long long)atomic_fetch_add(&count, 1));
		if (join(path, shard, name, NULL) < 0)
			return -ENAMETOOLONG;
		r = file_open(fs, path,
			      FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &f);
		/* Left over from a process that had the same number. */
		if (r == -EEXIST)
			continue;
		if (r < 0)
			return r;
		r = claim(f);
		if (r < 0)
			file_close(f);
	} while (r == -EEXIST || r == -EAGAIN);
	if (r < 0)
		(void)fs_unlink(fs, path);
	else
		*ret = f;
	return r;
}

static int write_blob(struct fs *fs, const struct place *p,
		      struct weft_str bytes)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	char temp[PATH_BYTES];
	ssize_t n = 0;
	int r = create_temp(fs, p->shard, temp, &f);

	if (r < 0)
		return r;
	if (bytes.len > 0)
		n = file_write(f, bytes.ptr, bytes.len, 0);
	r = n < 0 ? (int)n : file_sync(f);
	if (r == 0)
		r = fs_rename(fs, temp, p->path);
	if (r < 0) {
		(void)fs_unlink(fs, temp);
		return r;
	}
	/* It may have replaced what somebody put meanwhile, and the time of
	 * writing it be long ago. */
	return touch(f, bytes.len);
}

/* The same bytes again, or others that must not be there. */
static int put_again(struct fs *fs, const struct place *p, struct file *f,
		     struct weft_str bytes)
{
	int r = holds(f, bytes);

	if (r < 0)
		return r;
	if (r == 0)
		return write_blob(fs, p, bytes);
	return touch(f, bytes.len);
}

static int put_at(struct fs *fs, const char *dir, const struct place *p,
		  struct weft_str bytes)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	int r = fs_mkdir(fs, p->shard);

	if (r < 0 && r != -EEXIST)
		return r;
	r = open_shared(fs, p->path, &f);
	if (r == -ENOENT)
		r = write_blob(fs, p, bytes);
	else if (r == 0)
		r = put_again(fs, p, f, bytes);
	if (r < 0)
		return r;
	/* Whoever made the names may have died before this. */
	r = fs_sync_dir(fs, p->shard);
	return r < 0 ? r : fs_sync_dir(fs, dir);
}

int blob_put(struct fs *fs, const char *dir, struct weft_str bytes,
	     struct blob_ref *ret, struct weft_error *err)
{
	struct blob_ref ref = { .bytes = bytes.len };
	struct place p;
	int r = sha256(bytes, ref.sha256, err);

	if (r < 0)
		return r;
	r = find_place(dir, &ref, &p, err);
	if (r < 0)
		return r;
	r = put_at(fs, dir, &p, bytes);
	if (r == -EAGAIN)
		return fail(err, WEFT_BUSY, "blob %s is locked", p.hex);
	if (r < 0)
		return fail_errno(err, r, "blob %s", p.hex);
	*ret = ref;
	return WEFT_OK;
}

/* ---- getting ---- */

static int read_blob(struct file *f, const struct place *p,
		     const struct blob_ref *ref, struct arena *a,
		     struct weft_str *ret, struct weft_error *err)
{
	unsigned char found[SHA256_BYTES];
	struct file_stat st;
	struct weft_str s;
	char *bytes;
	ssize_t n;
	int r = file_stat(f, &st);

	if (r < 0)
		return fail_errno(err, r, "blob %s", p->hex);
	/* Before there is room for it: a wrong reference may say anything. */
	if (st.size != ref->bytes)
		return fail(err, WEFT_CORRUPT,
			    "blob %s has %llu bytes and should have %llu",
			    p->hex, (unsigned long long)st.size,
			    (unsigned long long)ref->bytes);
	bytes = arena_alloc(a, (size_t)st.size + 1);
	if (!bytes)
		return arena_error(a, err);
	n = file_read(f, bytes, (size_t)st.size, 0);
	if (n < 0)
		return fail_errno(err, (int)n, "blob %s", p->hex);
	bytes[n] = '\0';
	s = (struct weft_str){ bytes, (size_t)n };
	r = sha256(s, found, err);
	if (r < 0)
		return r;
	if (memcmp(found, ref->sha256, sizeof(found)) != 0)
		return fail(err, WEFT_CORRUPT,
			    "blob %s is damaged: its bytes have another hash",
			    p->hex);
	*ret = s;
	return WEFT_OK;
}

int blob_get(struct fs *fs, const char *dir, const struct blob_ref *ref,
	     struct arena *a, struct weft_str *ret, struct weft_error *err)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	struct place p;
	int r = find_place(dir, ref, &p, err);

	if (r < 0)
		return r;
	r = file_open(fs, p.path, FILE_READ, &f);
	if (r == -ENOENT)
		return fail(err, WEFT_NOT_FOUND, "no blob %s", p.hex);
	if (r < 0)
		return fail_errno(err, r, "blob %s", p.hex);
	return read_blob(f, &p, ref, a, ret, err);
}

int blob_exists(struct fs *fs, const char *dir, const struct blob_ref *ref)
{
	struct file_stat st;
	struct place p;

	return find_place(dir, ref, &p, NULL) == WEFT_OK &&
	       fs_stat(fs, p.path, &st) == 0 && st.is_file &&
	       st.size == ref->bytes;
}

int blob_use(struct fs *fs, const char *dir, const struct blob_ref *ref)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	struct file_stat st;
	struct place p;

	return find_place(dir, ref, &p, NULL) == WEFT_OK &&
	       open_shared(fs, p.path, &f) == 0 && file_stat(f, &st) == 0 &&
	       st.size == ref->bytes && touch(f, st.size) == 0;
}

/* ---- going through all ---- */

/* A file below the directory of blobs. */
struct found {
	const char *path;
	const char *name; /* "ab/abcd...", for people */
	struct file_stat st;
	struct blob_ref ref; /* if it is one */
};

enum found_kind { FOUND_BLOB, FOUND_TEMP, FOUND_OTHER };

struct walk {
	struct fs *fs;
	const char *dir;
	char shard[SHARD_CHARS + 1]; /* which one it is in */
	int (*each)(struct walk *w, enum found_kind kind,
		    const struct found *found);
	struct store_report *report; /* NULL: nobody wants one */
	struct weft_error *err;
	int result;
	/* of the caller */
	int (*call)(void *ctx, const struct blob_ref *ref);
	void *ctx;
	int64_t before_ms;
};

static enum found_kind kind_of(const struct walk *w, const char *name,
			       struct found *found)
{
	if (!found->st.is_file)
		return FOUND_OTHER;
	if (str_starts(str_of(name), STR(TEMP_PREFIX)))
		return FOUND_TEMP;
	found->ref.bytes = found->st.size;
	return str_starts(str_of(name), str_of(w->shard)) &&
			       hex_parse(str_of(name), found->ref.sha256,
					 SHA256_BYTES) ?
		       FOUND_BLOB :
		       FOUND_OTHER;
}

/* For fs_list: other than 0 stops it, with the reason in w->result. */
static int visit_file(void *ctx, const char *name)
{
	struct walk *w = ctx;
	char shard[PATH_BYTES], path[PATH_BYTES], relative[PATH_BYTES];
	struct found found = { .path = path, .name = relative };
	int r = join(shard, w->dir, w->shard, w->err);

	if (r == WEFT_OK)
		r = join(path, shard, name, w->err);
	if (r == WEFT_OK)
		r = join(relative, w->shard, name, w->err);
	if (r == WEFT_OK) {
		r = fs_stat(w->fs, path, &found.st);
		if (r == -ENOENT) /* somebody has just removed it */
			return 0;
		if (r < 0)
			r = fail_errno(w->err, r, "blob %s", name);
	}
	if (r == WEFT_OK)
		r = w->each(w, kind_of(w, name, &found), &found);
	w->result = r;
	return r != 0;
}

static int tell_other(struct walk *w, const char *name)
{
	if (!w->report)
		return WEFT_OK;
	return report_problem(w->report, NULL, name, 0, 0, w->err,
			      "not a blob");
}

static int visit_shard(void *ctx, const char *name)
{
	struct walk *w = ctx;
	char path[PATH_BYTES];
	unsigned char number;
	int r;

	if (!hex_parse(str_of(name), &number, 1)) {
		w->result = tell_other(w, name);
		return w->result != 0;
	}
	memcpy(w->shard, name, sizeof(w->shard));
	r = join(path, w->dir, name, w->err);
	if (r == WEFT_OK) {
		r = fs_list(w->fs, path, visit_file, w);
		if (r == -ENOTDIR) {
			w->result = tell_other(w, name);
			return w->result != 0;
		}
		if (r > 0)
			return r;
		if (r < 0)
			r = fail_errno(w->err, r, "blobs in %s", name);
	}
	w->result = r;
	return r != 0;
}

static int walk_all(struct walk *w)
{
	int r = fs_list(w->fs, w->dir, visit_shard, w);

	if (r > 0)
		return w->result;
	if (r < 0 && r != -ENOENT)
		return fail_errno(w->err, r, "blobs");
	return WEFT_OK;
}

static int hand_out(struct walk *w, enum found_kind kind,
		    const struct found *found)
{
	if (kind == FOUND_OTHER)
		return tell_other(w, found->name);
	return kind == FOUND_BLOB ? w->call(w->ctx, &found->ref) : WEFT_OK;
}

int blob_each(struct fs *fs, const char *dir, struct store_report *report,
	      int (*each)(void *ctx, const struct blob_ref *ref), void *ctx,
	      struct weft_error *err)
{
	struct walk w = {
		.fs = fs,
		.dir = dir,
		.each = hand_out,
		.report = report,
		.err = err,
		.call = each,
		.ctx = ctx,
	};

	return walk_all(&w);
}

/*
 * Remove the file, unless somebody has touched, replaced or removed it since,
 * or is about to.
 */
static int remove_old(struct walk *w, const struct found *found,
		      bool *ret_removed)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	struct file_stat held, named;
	int r = file_open(w->fs, found->path, FILE_WRITE, &f);

	*ret_removed = false;
	if (r == 0)
		r = file_lock(f, 0, 1, FILE_LOCKED);
	if (r == 0)
		r = file_stat(f, &held);
	if (r == 0)
		r = fs_stat(w->fs, found->path, &named);
	if (r == -ENOENT || r == -EAGAIN)
		return WEFT_OK;
	if (r == 0 &&
	    (!is_same_file(&held, &named) || held.mtime_ms >= w->before_ms))
		return WEFT_OK;
	if (r == 0)
		r = fs_unlink(w->fs, found->path);
	if (r == -ENOENT)
		return WEFT_OK;
	if (r < 0)
		return fail_errno(w->err, r, "remove %s", found->name);
	if (w->report)
		w->report->changed++;
	*ret_removed = true;
	return WEFT_OK;
}

static int collect(struct walk *w, enum found_kind kind,
		   const struct found *found)
{
	bool is_blob = kind == FOUND_BLOB, removed = false;
	int r = WEFT_OK;

	if (kind == FOUND_OTHER)
		return tell_other(w, found->name);
	if (found->st.mtime_ms < w->before_ms) {
		int used = is_blob ? w->call(w->ctx, &found->ref) : 0;

		if (used < 0)
			return used;
		if (!used)
			r = remove_old(w, found, &removed);
	}
	if (w->report && is_blob && !removed)
		w->report->blobs++;
	return r;
}

int blob_collect(struct fs *fs, const char *dir, int64_t before_ms,
		 int (*is_used)(void *ctx, const struct blob_ref *ref),
		 void *ctx, struct store_report *report, struct weft_error *err)
{
	struct walk w = {
		.fs = fs,
		.dir = dir,
		.each = collect,
		.report = report,
		.err = err,
		.call = is_used,
		.ctx = ctx,
		.before_ms = before_ms,
	};

	return walk_all(&w);
}

int blob_drop(struct fs *fs, const char *dir, const struct blob_ref *ref,
	      struct store_report *report, struct weft_error *err)
{
	struct walk w = {
		.fs = fs, .report = report, .err = err, .before_ms = INT64_MAX
	};
	struct place p;
	struct found found = { .path = p.path, .name = p.hex };
	bool removed;
	int r = find_place(dir, ref, &p, err);

	if (r == WEFT_OK)
		r = remove_old(&w, &found, &removed);
	if (r < 0)
		return r;
	r = fs_sync_dir(fs, p.shard);
	return r < 0 && r != -ENOENT ? fail_errno(err, r, "blob %s", p.hex) :
				       WEFT_OK;
}

/* wal.c - see wal.h. */
#include "store/jsonl/wal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#define CONTROL_BYTES 4096u
#define STATE_BYTES   80u
#define ZERO_CHUNK    MIB(1)
#define SEGMENTS_MIN  2u
#define SEGMENT_MAX   MIB(1024)

static const char control_magic[8] = { 'W', 'E', 'F', 'T', 'C', 'T', 'L', '1' };
static const char state_magic[8] = { 'W', 'E', 'F', 'T', 'S', 'T', 'A', '1' };

struct wal_path {
	char s[4096];
};

static int path_of(const struct wal *w, const char *name, struct wal_path *ret,
		   struct weft_error *err)
{
	int n = snprintf(ret->s, sizeof(ret->s), "%s/%s", w->dir, name);

	if (n < 0 || (size_t)n >= sizeof(ret->s))
		return fail(err, WEFT_INVALID, "path too long: %s", w->dir);
	return WEFT_OK;
}

static int segment_path(const struct wal *w, uint32_t file,
			struct wal_path *ret, struct weft_error *err)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%08u", file);
	return path_of(w, name, ret, err);
}

static int open_file(const struct wal *w, const char *name, unsigned flags,
		     struct file **ret, struct weft_error *err)
{
	struct wal_path path;
	int r = path_of(w, name, &path, err);

	if (r < 0)
		return r;
	r = file_open(w->fs, path.s, flags, ret);
	return r < 0 ? fail_errno(err, -r, "open %s", path.s) : WEFT_OK;
}

/* ---- control ---- */

static void encode_control(const struct wal_control *c, char out[CONTROL_BYTES])
{
	memset(out, 0, CONTROL_BYTES);
	memcpy(out, control_magic, sizeof(control_magic));
	memcpy(out + 8, &c->store, sizeof(c->store));
	put_le64(out + 24, c->salt);
	put_le64(out + 32, c->no);
	put_le64(out + 40, c->ckpt);
	put_le32(out + 48, c->next_file);
	put_le32(out + 52, c->n);
	for (uint32_t i = 0; i < c->n; i++) {
		char *p = out + 64 + (size_t)i * 24;

		put_le64(p, c->seg[i].base);
		put_le64(p + 8, c->seg[i].size);
		put_le32(p + 16, c->seg[i].file);
	}
	put_le32(out + CONTROL_BYTES - 4, crc32c(0, out, CONTROL_BYTES - 4));
}

/* Segments that follow each other, of a size that somebody would choose. */
static bool are_segments_sane(const struct wal_control *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct wal_segment *s = &c->seg[i];

		if (s->size == 0 || s->size > SEGMENT_MAX ||
		    s->size % FRAME_UNIT || s->base % FRAME_UNIT ||
		    s->base > UINT64_MAX / 2)
			return false;
		if (i > 0 && s->base < s[-1].base + s[-1].size)
			return false;
	}
	return true;
}

static bool decode_control(const char in[CONTROL_BYTES], struct wal_control *c)
{
	if (memcmp(in, control_magic, sizeof(control_magic)) != 0 ||
	    get_le32(in + CONTROL_BYTES - 4) !=
		    crc32c(0, in, CONTROL_BYTES - 4))
		return false;
	*c = (struct wal_control){
		.salt = get_le64(in + 24),
		.no = get_le64(in + 32),
		.ckpt = get_le64(in + 40),
		.next_file = get_le32(in + 48),
		.n = get_le32(in + 52),
	};
	memcpy(&c->store, in + 8, sizeof(c->store));
	if (c->n < 1 || c->n > WAL_SEGMENTS_MAX)
		return false;
	for (uint32_t i = 0; i < c->n; i++) {
		const char *p = in + 64 + (size_t)i * 24;

		c->seg[i].base = get_le64(p);
		c->seg[i].size = get_le64(p + 8);
		c->seg[i].file = get_le32(p + 16);
	}
	return are_segments_sane(c);
}

/*
 * Is `c` to be preferred to `than`?  The younger one is, but none that is
 * younger than `no`: its writer has died before it was durable, and nobody
 * goes by it.  If both are, the control has changed since `no` was read.
 */
static bool is_better(const struct wal_control *c,
		      const struct wal_control *than, uint64_t no)
{
	if (than->no > no)
		return c->no < than->no;
	return c->no > than->no && c->no <= no;
}

static int read_control(struct wal *w, uint64_t no, struct wal_control *ret,
			struct weft_error *err)
{
	bool found = false;

	for (unsigned slot = 0; slot < 2; slot++) {
		char bytes[CONTROL_BYTES];
		struct wal_control c = { 0 };
		ssize_t n = file_read(w->control_file, bytes, sizeof(bytes),
				      slot * CONTROL_BYTES);

		if (n < 0)
			return fail_errno(err, (int)-n, "read %s/control",
					  w->dir);
		if ((size_t)n == sizeof(bytes) && decode_control(bytes, &c) &&
		    (!found || is_better(&c, ret, no))) {
			*ret = c;
			found = true;
		}
	}
	if (!found)
		return fail(err, WEFT_CORRUPT,
			    "%s/control is damaged: the log cannot be read; "
			    "run 'weft repair'",
			    w->dir);
	return WEFT_OK;
}

int wal_put_control(struct wal *w, const struct wal_control *c,
		    struct weft_error *err)
{
	char bytes[CONTROL_BYTES];
	ssize_t n;
	int r;

	encode_control(c, bytes);
	n = file_write(w->control_file, bytes, sizeof(bytes),
		       (c->no & 1) * CONTROL_BYTES);
	if (n < 0)
		return fail_errno(err, (int)-n, "write %s/control", w->dir);
	r = file_datasync(w->control_file);
	return r < 0 ? fail_errno(err, -r, "flush %s/control", w->dir) :
		       WEFT_OK;
}

/* Open the files that `c` names; keep those that are open already. */
int wal_install(struct wal *w, const struct wal_control *c,
		struct weft_error *err)
{
	struct file *files[WAL_SEGMENTS_MAX] = { NULL };
	bool kept[WAL_SEGMENTS_MAX] = { false };
	int r = WEFT_OK;

	for (uint32_t i = 0; i < c->n && r == WEFT_OK; i++) {
		struct wal_path path;

		for (uint32_t k = 0; k < w->control.n; k++) {
			if (w->control.seg[k].file == c->seg[i].file) {
				files[i] = w->files[k];
				kept[k] = files[i] != NULL;
			}
		}
		if (files[i])
			continue;
		r = segment_path(w, c->seg[i].file, &path, err);
		if (r == WEFT_OK) {
			r = file_open(w->fs, path.s,
				      w->read_only ? FILE_READ : FILE_WRITE,
				      &files[i]);
			/* A read-only opener makes do without. */
			if (r == -ENOENT && w->read_only)
				r = WEFT_OK;
			else if (r == -ENOENT)
				r = fail(err, WEFT_CORRUPT,
					 "%s is missing: run 'weft repair'",
					 path.s);
			else if (r < 0)
				r = fail_errno(err, -r, "open %s", path.s);
		}
	}
	for (uint32_t k = 0; k < w->control.n; k++) {
		if (!kept[k] && r == WEFT_OK)
			file_close(w->files[k]);
	}
	if (r < 0) {
		for (uint32_t i = 0; i < c->n; i++) {
			bool ours = files[i] != NULL;

			for (uint32_t k = 0; k < w->control.n; k++)
				ours = ours && files[i] != w->files[k];
			if (ours)
				file_close(files[i]);
		}
		return r;
	}
	memcpy(w->files, files, sizeof(files));
	w->control = *c;
	return WEFT_OK;
}

int wal_reload(struct wal *w, uint64_t no, struct weft_error *err)
{
	struct wal_control c = { 0 };
	int r = read_control(w, no, &c, err);

	return r < 0 ? r : wal_install(w, &c, err);
}

/* ---- segments ---- */

static int write_zeros(struct file *f, uint64_t bytes)
{
	char *zeros = mem_zero(1, ZERO_CHUNK);
	int r = 0;

	if (!zeros)
		return -ENOMEM;
	for (uint64_t at = 0; at < bytes && r >= 0; at += ZERO_CHUNK) {
		ssize_t n = file_write(
			f, zeros, (size_t)u64_min(ZERO_CHUNK, bytes - at), at);
		if (n < 0)
			r = (int)n;
	}
	mem_free(zeros);
	return r < 0 ? r : file_sync(f);
}

/* A file of written zeros under the next free number; its name is not
 * durable yet. */
static int make_segment(struct wal *w, uint64_t bytes, uint32_t *file,
			struct weft_error *err)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	struct wal_path path;
	int r;

	do {
		r = segment_path(w, ++*file, &path, err);
		if (r < 0)
			return r;
		r = file_open(w->fs, path.s,
			      FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &f);
	} while (r == -EEXIST);
	if (r >= 0) {
		r = write_zeros(f, bytes);
		if (r < 0)
			(void)fs_unlink(w->fs, path.s);
	}
	return r < 0 ? fail_errno(err, -r, "make log segment %s", path.s) :
		       WEFT_OK;
}

static int sync_dir(struct wal *w, struct weft_error *err)
{
	int r = fs_sync_dir(w->fs, w->dir);

	return r < 0 ? fail_errno(err, -r, "flush directory %s", w->dir) :
		       WEFT_OK;
}

static int fill_new_log(struct wal *w, const struct weft_id *store,
			uint64_t segment_bytes, struct weft_error *err)
{
	struct wal_control c = { .store = *store, .no = 2, .n = 2 };
	int r = random_bytes(&c.salt, sizeof(c.salt), err);

	for (uint32_t i = 0; i < c.n && r == WEFT_OK; i++) {
		r = make_segment(w, segment_bytes, &c.next_file, err);
		c.seg[i] = (struct wal_segment){
			.base = (uint64_t)i * segment_bytes,
			.size = segment_bytes,
			.file = c.next_file,
		};
	}
	if (r == WEFT_OK)
		r = wal_put_control(w, &c, err);
	if (r == WEFT_OK)
		r = wal_put_state(w, &(struct wal_state){ .control_no = c.no },
				  err);
	return r == WEFT_OK ? sync_dir(w, err) : r;
}

int wal_create(struct fs *fs, const char *dir, const struct weft_id *store,
	       uint64_t segment_bytes, struct weft_error *err)
{
	struct wal w = { .fs = fs };
	const unsigned flags = FILE_WRITE | FILE_CREATE;
	int r = WEFT_OK;

	w.dir = mem_copy(str_of(dir));
	if (!w.dir)
		return fail_no_memory(err);
	r = open_file(&w, "control", flags, &w.control_file, err);
	if (r == WEFT_OK)
		r = open_file(&w, "state", flags, &w.state_file, err);
	if (r == WEFT_OK)
		r = fill_new_log(&w, store, segment_bytes, err);
	wal_close(&w);
	return r;
}

int wal_open(struct wal *w, struct fs *fs, const char *dir, bool read_only,
	     struct weft_error *err)
{
	struct weft_error e = { 0 };
	int r;

	*w = (struct wal){ .fs = fs, .read_only = read_only };
	w->dir = mem_copy(str_of(dir));
	if (!w->dir)
		return fail_no_memory(err);
	if (read_only) {
		/* A reader can do without locks. */
		(void)open_file(w, "lock", FILE_READ, &w->lock_file, NULL);
		return WEFT_OK;
	}
	r = open_file(w, "lock", FILE_WRITE | FILE_CREATE, &w->lock_file, &e);
	if (r == WEFT_OK)
		return WEFT_OK;
	wal_close(w);
	/* Who may not write it may still read it. */
	if (e.os_error == EACCES || e.os_error == EPERM)
		r = e.code = WEFT_READ_ONLY;
	if (err)
		*err = e;
	return r;
}

int wal_load(struct wal *w, struct weft_error *err)
{
	unsigned flags = w->read_only ? FILE_READ : FILE_WRITE | FILE_CREATE;
	struct wal_control c = { 0 };
	struct weft_error e = { 0 };
	int r = open_file(w, "control", w->read_only ? FILE_READ : FILE_WRITE,
			  &w->control_file, &e);

	if (r < 0 && e.os_error == ENOENT)
		return fail(err, WEFT_CORRUPT,
			    "%s/control is missing: run 'weft repair'", w->dir);
	if (r < 0 && err)
		*err = e;
	if (r == WEFT_OK)
		r = open_file(w, "state", flags, &w->state_file,
			      w->read_only ? NULL : err);
	/* A reader can do without state: it looks at every frame. */
	if (r < 0 && w->read_only && w->control_file)
		r = WEFT_OK;
	if (r == WEFT_OK)
		r = read_control(w, UINT64_MAX, &c, err);
	return r == WEFT_OK ? wal_install(w, &c, err) : r;
}

static int mend_segments(struct wal *w, const struct wal_control *c,
			 struct weft_error *err)
{
	for (uint32_t i = 0; i < c->n; i++) {
		CLEANUP(file_cleanup) struct file *f = NULL;
		struct wal_path path;
		int r = segment_path(w, c->seg[i].file, &path, err);

		if (r < 0)
			return r;
		r = file_open(w->fs, path.s,
			      FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, &f);
		if (r == 0)
			r = write_zeros(f, c->seg[i].size);
		if (r < 0 && r != -EEXIST)
			return fail_errno(err, -r, "make log segment %s",
					  path.s);
	}
	return sync_dir(w, err);
}

int wal_mend(struct wal *w, struct weft_id *ret_store, struct weft_error *err)
{
	struct weft_error bad;
	struct wal_control c = { 0 };
	int r = open_file(w, "control", FILE_WRITE, &w->control_file, &bad);

	if (r == WEFT_OK)
		r = read_control(w, UINT64_MAX, &c, &bad);
	file_close(w->control_file);
	w->control_file = NULL;
	if (r == WEFT_CORRUPT || (r < 0 && bad.os_error == ENOENT))
		return 0;
	if (r < 0) {
		if (err)
			*err = bad;
		return r;
	}
	*ret_store = c.store;
	r = mend_segments(w, &c, err);
	return r < 0 ? r : 1;
}

void wal_close(struct wal *w)
{
	for (uint32_t i = 0; i < WAL_SEGMENTS_MAX; i++)
		file_close(w->files[i]);
	file_close(w->state_file);
	file_close(w->control_file);
	file_close(w->lock_file);
	mem_free(w->dir);
	*w = (struct wal){ 0 };
}

/* ---- state ---- */

static void encode_state(const struct wal_state *st, char out[STATE_BYTES])
{
	memset(out, 0, STATE_BYTES);
	memcpy(out, state_magic, sizeof(state_magic));
	put_le64(out + 8, st->end);
	put_le64(out + 16, st->prev);
	put_le64(out + 24, st->ckpt);
	put_le64(out + 32, st->control_no);
	put_le64(out + 40, st->rewrites);
	put_le64(out + 48, st->boot);
	put_le32(out + 56, st->failed);
	put_le64(out + 60, st->behind);
	put_le32(out + 76, crc32c(0, out, 76));
}

static bool decode_state(const char in[STATE_BYTES], struct wal_state *st)
{
	if (memcmp(in, state_magic, sizeof(state_magic)) != 0 ||
	    get_le32(in + 76) != crc32c(0, in, 76))
		return false;
	*st = (struct wal_state){
		.end = get_le64(in + 8),
		.prev = get_le64(in + 16),
		.ckpt = get_le64(in + 24),
		.control_no = get_le64(in + 32),
		.rewrites = get_le64(in + 40),
		.boot = get_le64(in + 48),
		.failed = get_le32(in + 56),
		.behind = get_le64(in + 60),
	};
	return true;
}

static int fail_damaged(const struct wal *w, struct weft_error *err)
{
	return fail(err, WEFT_CORRUPT,
		    "%s/state is damaged: close all users of "
		    "the store and open it again",
		    w->dir);
}

/* 1, 0 if it is damaged or being written, or a negative code. */
static int look_at_state(struct wal *w, struct wal_state *ret,
			 struct weft_error *err)
{
	char bytes[STATE_BYTES];
	ssize_t n;

	if (!w->state_file)
		return fail(err, WEFT_NOT_FOUND, "%s has no state", w->dir);
	n = file_read(w->state_file, bytes, sizeof(bytes), 0);
	if (n < 0)
		return fail_errno(err, (int)-n, "read %s/state", w->dir);
	if (n == 0)
		return fail_damaged(w, err);
	return (size_t)n == sizeof(bytes) && decode_state(bytes, ret);
}

bool wal_peek_state(struct wal *w, struct wal_state *ret)
{
	return look_at_state(w, ret, NULL) == 1;
}

/* A reader may catch a writer in the middle of its few bytes: look again. */
int wal_get_state(struct wal *w, struct wal_state *ret, struct weft_error *err)
{
	for (int tries = 0; tries < 1000; tries++) {
		int r = look_at_state(w, ret, err);

		if (r != 0)
			return r == 1 ? WEFT_OK : r;
		if (tries > 10)
			fs_sleep_us(w->fs, 10);
	}
	return fail_damaged(w, err);
}

int wal_put_state(struct wal *w, const struct wal_state *st,
		  struct weft_error *err)
{
	char bytes[STATE_BYTES];
	ssize_t n;

	encode_state(st, bytes);
	n = file_write(w->state_file, bytes, sizeof(bytes), 0);
	return n < 0 ? fail_errno(err, (int)-n, "write %s/state", w->dir) :
		       WEFT_OK;
}

/* ---- checkpoints ---- */

void wal_plan_control(const struct wal *w, uint64_t ckpt,
		      struct wal_control *ret)
{
	const struct wal_control *old = &w->control;
	uint64_t top = old->seg[old->n - 1].base + old->seg[old->n - 1].size;
	uint64_t largest = wal_largest_segment(w);
	uint32_t n = 0, freed = 0;

	*ret = *old;
	ret->no = old->no + 1;
	ret->ckpt = ckpt;
	for (uint32_t i = 0; i < old->n; i++) {
		if (old->seg[i].base + old->seg[i].size > ckpt)
			ret->seg[n++] = old->seg[i];
		else
			freed++;
	}
	for (uint32_t i = 0; i < old->n; i++) {
		struct wal_segment s = old->seg[i];

		if (s.base + s.size > ckpt)
			continue;
		/* The log has outgrown it. */
		if (s.size < largest && n + freed > SEGMENTS_MIN) {
			freed--;
			continue;
		}
		freed--;
		s.base = top;
		top += s.size;
		ret->seg[n++] = s;
	}
	ret->n = n;
}

int wal_make_segment(struct wal *w, uint64_t bytes, uint32_t *ret_file,
		     struct weft_error *err)
{
	uint32_t file = w->control.next_file;
	int r = make_segment(w, bytes, &file, err);

	if (r == WEFT_OK)
		r = sync_dir(w, err);
	if (r == WEFT_OK)
		*ret_file = file;
	return r;
}

void wal_add_segment(const struct wal *w, uint32_t file, uint64_t bytes,
		     struct wal_control *ret)
{
	const struct wal_segment *last;

	*ret = w->control;
	last = &ret->seg[ret->n - 1];
	ret->seg[ret->n] = (struct wal_segment){
		.base = last->base + last->size,
		.size = bytes,
		.file = file,
	};
	ret->n++;
	ret->no++;
	if (file > ret->next_file)
		ret->next_file = file;
}

void wal_remove_segment(struct wal *w, uint32_t file)
{
	struct wal_path path;

	if (segment_path(w, file, &path, NULL) == WEFT_OK)
		(void)fs_unlink(w->fs, path.s);
}

void wal_remove_unused(struct wal *w, const struct wal_control *old)
{
	for (uint32_t i = 0; i < old->n; i++) {
		bool used = false;

		for (uint32_t k = 0; k < w->control.n; k++)
			used = used ||
			       w->control.seg[k].file == old->seg[i].file;
		if (!used)
			wal_remove_segment(w, old->seg[i].file);
	}
}

/*
 * replay.c - lines of the log into their files.
 *
 * DESIGN: apply_frame writes what was just flushed into files that were looked
 * at before the batch was planned: one write a session.  replay_record is for
 * frames found in the log, when nothing is known of the files: somebody may
 * have edited, replaced or removed them since.  It always writes, also what
 * seems to be there: after a failed flush the page cache shows bytes that the
 * disk does not have.  It never writes over a whole line of somebody else's.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/event.h"
#include "store/jsonl/index.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/lines.h"

/* ---- replay ---- */

/* Lines whose file is gone are kept where a person can find them. */
static int set_aside(struct jsonl *js, const struct frame_record *r,
		     struct weft_error *err)
{
	char path[PATH_BYTES], name[80], id[WEFT_ID_CHARS + 1];
	CLEANUP(file_cleanup) struct file *f = NULL;
	ssize_t n;
	int status;

	id_format(&r->session, id);
	(void)snprintf(name, sizeof(name), "damaged/%s.%llu.lines", id,
		       (unsigned long long)r->seq);
	status = path_join(path, js->dir, name, err);
	if (status < 0)
		return status;
	status = file_open(js->fs, path, FILE_WRITE | FILE_CREATE, &f);
	if (status < 0)
		return fail_errno(err, -status, "create %s", path);
	n = file_write(f, r->bytes.ptr, r->bytes.len, 0);
	status = n < 0 ? (int)n : file_sync(f);
	return status < 0 ? fail_errno(err, -status, "write %s", path) :
			    WEFT_OK;
}

static int open_for_replay(struct jsonl *js, const struct frame_record *r,
			   struct file **ret, struct weft_error *err)
{
	char path[PATH_BYTES];
	int status = path_session(js, &r->session, path, err);

	*ret = NULL;
	if (status < 0)
		return status;
	status = file_open(js->fs, path, FILE_WRITE, ret);
	if (status == -ENOENT && r->offset > 0)
		return set_aside(js, r, err);
	if (status == -ENOENT) {
		status = path_make_dirs(js, &r->session, err);
		if (status < 0)
			return status;
		status = file_open(js->fs, path, FILE_WRITE | FILE_CREATE, ret);
	}
	return status < 0 ? fail_errno(err, -status, "open %s", path) : WEFT_OK;
}

/*
 * Is it ours, as far as it came to the disk?  What did not is missing, or zeros
 * over whole sectors: also in the middle of a number, which reads as another
 * one then.
 */
static bool is_torn_one(struct weft_str there, struct weft_str ours)
{
	for (size_t i = 0; i < there.len; i++) {
		if (there.ptr[i] != ours.ptr[i] && there.ptr[i] != '\0')
			return false;
	}
	return true;
}

/* Is there a whole, readable line in `there` that is not the one in `ours`? */
static bool is_foreign(const struct weft_id *session, struct weft_str there,
		       struct weft_str ours)
{
	struct arena a;
	bool foreign = false;
	size_t pos = 0;

	if (is_torn_one(there, ours))
		return false;
	arena_init(&a, 0);
	while (pos < there.len && !foreign) {
		char *nl = memchr(there.ptr + pos, '\n', there.len - pos);
		struct weft_str line = { there.ptr + pos, 0 };
		struct store_event e;
		uint64_t seq;

		if (!nl) {
			/* It ends behind our place, or is a torn one of ours,
			 * which would have our number. */
			line.len = there.len - pos;
			seq = event_peek_seq(line);
			foreign = seq > 0 &&
				  seq != event_peek_seq(str_skip(ours, pos));
			break;
		}
		line.len = (size_t)(nl - line.ptr);
		event_read(session, line, &a, &e);
		foreign = e.state != STATE_DAMAGED &&
			  (pos + line.len > ours.len ||
			   memcmp(ours.ptr + pos, line.ptr, line.len) != 0);
		pos += line.len + 1;
	}
	arena_done(&a);
	return foreign;
}

/* Is there a line with this number that can be read?  It is ours, even if
 * somebody has edited it. */
static bool has_number(const struct line_index *x, const struct weft_id *id,
		       uint64_t seq)
{
	struct arena a;
	bool found = false;

	arena_init(&a, 0);
	for (size_t i = 0; i < x->n && !found; i++) {
		struct store_event e;

		if (x->v[i].seq != seq)
			continue;
		arena_reset(&a);
		event_read(id, x->v[i].text, &a, &e);
		found = e.state != STATE_DAMAGED;
	}
	arena_done(&a);
	return found;
}

static int write_at(struct file *f, struct weft_str bytes, uint64_t *at,
		    struct weft_error *err)
{
	ssize_t n = file_write(f, bytes.ptr, bytes.len, *at);

	if (n < 0)
		return fail_errno(err, (int)-n, "write a session's file");
	*at += bytes.len;
	return WEFT_OK;
}

/* Put the record's lines at the end, unless they stand in the file. */
static int replay_at_end(struct file *f, uint64_t size,
			 const struct frame_record *r, struct weft_error *err)
{
	CLEANUP(line_index_done) struct line_index x = { 0 };
	struct weft_str rest = r->bytes;
	int status = line_index_read(&x, &r->session, f, size, err);

	if (status == WEFT_OK && size > 0 && x.bytes[size - 1] != '\n')
		status = write_at(f, STR("\n"), &size, err);
	while (rest.len > 0 && status == WEFT_OK) {
		char *nl = memchr(rest.ptr, '\n', rest.len);
		size_t len = nl ? (size_t)(nl - rest.ptr) + 1 : rest.len;
		struct weft_str line = { rest.ptr, len };
		uint64_t seq = event_peek_seq(line);

		/* Neither the file line nor an empty one. */
		if (seq > 0 && !has_number(&x, &r->session, seq))
			status = write_at(f, line, &size, err);
		rest = str_skip(rest, len);
	}
	return status;
}

/* Does a line begin where the record's place begins? */
static bool is_at_line(struct file *f, const struct frame_record *r)
{
	char before;

	if (r->offset == 0 || (r->bytes.len > 0 && r->bytes.ptr[0] == '\n'))
		return true;
	return file_read(f, &before, 1, r->offset - 1) == 1 && before == '\n';
}

int replay_into(struct file *f, const struct frame_record *r,
		struct weft_error *err)
{
	CLEANUP(mem_cleanup) char *there = NULL;
	struct file_line head;
	struct file_stat st;
	uint64_t bytes;
	ssize_t n;
	int status = file_stat(f, &st);

	if (status < 0)
		return fail_errno(err, -status, "look at a session's file");
	/* Rewritten since: what is there was kept on purpose. */
	if (file_line_of(f, &head, &bytes) == 1 && r->gen < head.gen)
		return WEFT_OK;
	there = mem_alloc(r->bytes.len + 1);
	if (!there)
		return fail_no_memory(err);
	n = file_read(f, there, r->bytes.len, r->offset);
	if (n < 0)
		return fail_errno(err, (int)-n, "read a session's file");
	if (st.size < r->offset || !is_at_line(f, r) ||
	    is_foreign(&r->session, (struct weft_str){ there, (size_t)n },
		       r->bytes))
		return replay_at_end(f, st.size, r, err);
	n = file_write(f, r->bytes.ptr, r->bytes.len, r->offset);
	return n < 0 ? fail_errno(err, (int)-n, "write a session's file") :
		       WEFT_OK;
}

int replay_record(struct jsonl *js, const struct frame_record *r,
		  struct weft_error *err)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	int status = open_for_replay(js, r, &f, err);

	return status < 0 || !f ? status : replay_into(f, r, err);
}

int replay_frame(struct jsonl *js, const struct frame *f,
		 struct weft_error *err)
{
	struct frame_record r;
	size_t pos = 0;

	while (frame_next(f, &pos, &r)) {
		int status = replay_record(js, &r, err);

		if (status < 0)
			return status;
	}
	return WEFT_OK;
}

/* ---- apply ---- */

void give_up_reserve(struct jsonl *js)
{
	char path[PATH_BYTES];

	if (path_join(path, js->dir, "wal/reserve", NULL) == WEFT_OK)
		(void)fs_unlink(js->fs, path);
}

/* Directories are made only when they turn out to be missing. */
static int open_for_apply(struct jsonl *js, struct live *l, bool begins,
			  struct weft_error *err)
{
	unsigned flags = FILE_WRITE | (begins ? FILE_CREATE : 0);
	int r = live_open_file(js, l, flags, err);

	if (r != WEFT_NOT_FOUND || !begins)
		return r;
	r = path_make_dirs(js, &l->id, err);
	return r == WEFT_OK ? live_open_file(js, l, flags, err) : r;
}

/* Write one record; where there is no room it gets the reserve. */
static int write_record(struct jsonl *js, struct live *l,
			const struct frame_record *r, struct weft_error *err)
{
	struct file *f = l->file->f;
	ssize_t n = file_write(f, r->bytes.ptr, r->bytes.len, r->offset);

	if (n == -ENOSPC || n == -EDQUOT) {
		give_up_reserve(js);
		n = file_write(f, r->bytes.ptr, r->bytes.len, r->offset);
	}
	return n < 0 ? fail_errno(err, (int)-n, "write a session's file") :
		       WEFT_OK;
}

/* Into its file or, where nothing is known of that, by replaying it. */
static int apply_record(struct jsonl *js, const struct frame_record *r,
			const uint64_t *behind, struct weft_error *err)
{
	struct live *l;
	int status = WEFT_OK;

	(void)pthread_mutex_lock(&js->mutex);
	l = live_find(js, &r->session);
	(void)pthread_mutex_unlock(&js->mutex);
	if (!l)
		return replay_record(js, r, err);
	if (behind && behind_add(js, l, r, *behind))
		return WEFT_OK;
	if (behind)
		status = behind_settle(js, &r->session, err);
	if (status == WEFT_OK && !l->file)
		status = open_for_apply(js, l, r->offset == 0, err);
	return status < 0 ? status : write_record(js, l, r, err);
}

int apply_frame(struct jsonl *js, const struct frame *f, bool may_lag,
		struct weft_error *err)
{
	const uint64_t *behind = may_lag ? &f->lsn : NULL;
	struct frame_record rec;
	size_t pos = 0;
	int r = may_lag ? WEFT_OK : behind_settle_all(js, err);

	while (r == WEFT_OK && frame_next(f, &pos, &rec)) {
		r = apply_record(js, &rec, behind, err);
		if (r == WEFT_NO_SPACE) {
			give_up_reserve(js);
			r = apply_record(js, &rec, behind, err);
		}
	}
	return r;
}

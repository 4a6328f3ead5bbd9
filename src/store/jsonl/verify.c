/* verify.c - read everything, change nothing, tell what is wrong. */
#include "store/jsonl/verify.h"

#include <errno.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "model/blob.h"
#include "model/event.h"
#include "store/blob_refs.h"
#include "store/jsonl/blob.h"
#include "store/jsonl/lines.h"

/* One file under scrutiny. */
struct scrutiny {
	struct store_report *report;
	struct store_report
		*lost;     /* that blobs are missing; NULL: never mind */
	const char *blobs; /* where they are */
	struct fs *fs;
	struct weft_id session;
	const char *file;
	struct arena arena;
	uint64_t line, offset;
	uint64_t before; /* the last number */
	uint32_t more;   /* lines to come of the group under way */
	struct weft_error *err;
};

static int problem(struct scrutiny *s, const char *reason)
{
	return report_problem(s->report, &s->session, s->file, s->line,
			      s->offset, s->err, "%s", reason);
}

static int check_file_line(struct scrutiny *s, struct weft_str text,
			   bool *ret_is)
{
	struct file_line head;

	*ret_is = file_line_read(text, &head);
	if (!*ret_is)
		return problem(s, "the file does not begin with a file line");
	if (!id_eq(&head.session, &s->session))
		return problem(s, "the file line is that of another session");
	if (head.version > EVENT_FORMAT)
		return problem(s, "written by a newer weft");
	if (!head.known_needs)
		return problem(s, "needs what this weft does not know");
	return head.sealed ? WEFT_OK : problem(s, "the file line was altered");
}

static int check_number(struct scrutiny *s, const struct store_event *e)
{
	if (s->before && e->seq > s->before + 1)
		return report_problem(s->report, &s->session, s->file, s->line,
				      s->offset, s->err,
				      "events %llu to %llu are missing",
				      (unsigned long long)s->before + 1,
				      (unsigned long long)e->seq - 1);
	if (e->seq <= s->before)
		return report_problem(s->report, &s->session, s->file, s->line,
				      s->offset, s->err,
				      "event %llu is out of order",
				      (unsigned long long)e->seq);
	return WEFT_OK;
}

/* A message must have all that it refers to. */
static int check_refs(struct scrutiny *s, const struct store_event *e)
{
	struct blob_refs refs = { 0 };
	int r;

	if (!s->lost || e->type != EVENT_MESSAGE || e->state == STATE_DAMAGED ||
	    !blob_is_packed(e->body, e->state))
		return WEFT_OK;
	r = blob_list(e->body, &s->arena, &refs, s->err);
	for (size_t i = 0; i < refs.n && r == WEFT_OK; i++) {
		if (!blob_exists(s->fs, s->blobs, &refs.v[i]))
			r = report_lost_blob(s->lost, &s->session, s->file,
					     s->line, s->offset, &refs.v[i],
					     s->err);
	}
	return r;
}

static int check_event(struct scrutiny *s, struct weft_str text)
{
	struct store_event e;
	int r = WEFT_OK;

	if (text.len == 0)
		return problem(s, "an empty line");
	arena_reset(&s->arena);
	event_read(&s->session, text, &s->arena, &e);
	s->report->events++;
	if (e.state == STATE_DAMAGED) {
		if (e.seq == 0)
			e.seq = event_peek_seq(text);
		if (e.seq <= s->before)
			e.seq = s->before + 1;
		e.last = e.seq;
		r = problem(s, "the line cannot be read");
	} else if (e.state == STATE_ALTERED) {
		r = problem(s, "the line was altered since it was written");
	} else if (e.state == STATE_UNSEALED) {
		r = problem(s, "the line has no checksum");
	}
	if (r == WEFT_OK)
		r = check_number(s, &e);
	if (r == WEFT_OK && s->more && e.state == STATE_OK &&
	    e.more != s->more - 1)
		r = problem(s, "a group of lines is not whole");
	if (r == WEFT_OK)
		r = check_refs(s, &e);
	s->more = e.more;
	s->before = u64_max(s->before, e.last);
	return r;
}

static int check_lines(struct scrutiny *s, struct file *f, uint64_t end)
{
	CLEANUP(line_reader_done) struct line_reader in;
	struct line line;
	int r = WEFT_OK, got;

	line_reader_init(&in, f, 0, end);
	while ((got = line_reader_next(&in, &line)) == 1) {
		bool is_file_line = false;

		s->line++;
		s->offset = line.offset;
		if (s->line == 1)
			r = check_file_line(s, line.text, &is_file_line);
		if (r == WEFT_OK && !is_file_line)
			r = check_event(s, line.text);
		if (r == WEFT_OK && line.torn)
			r = problem(s, "the last line is not complete");
		if (r < 0)
			return r;
	}
	if (got < 0)
		return fail_errno(s->err, -got, "read %s", s->file);
	if (s->line == 0)
		return problem(s, "the file is empty");
	if (s->before == 0)
		return problem(s, "there is no event in the file");
	if (s->more)
		return problem(s, "a group of lines at the end is not whole");
	return WEFT_OK;
}

int verify_file(struct jsonl *js, const struct weft_id *id, struct file *f,
		uint64_t end, struct store_report *report,
		struct store_report *lost, struct weft_error *err)
{
	char local[80], blobs[PATH_BYTES];
	struct scrutiny s = { .report = report,
			      .lost = lost,
			      .blobs = blobs,
			      .fs = js->fs,
			      .session = *id,
			      .file = local,
			      .err = err };
	int r = path_join(blobs, js->dir, "blobs", err);

	path_session_local(id, local);
	arena_init(&s.arena, 0);
	if (r == WEFT_OK)
		r = check_lines(&s, f, end);
	arena_done(&s.arena);
	report->sessions++;
	report->bytes += end;
	return r;
}

/* ---- the catalogue ---- */

struct comparison {
	struct jsonl *js;
	struct arena arena;
	bool differs;
};

static int compare_name(void *ctx, const struct store_op *op)
{
	struct comparison *c = ctx;
	struct name_rec name;

	if (op->kind == OP_NAME &&
	    lookup_name(c->js, op->u.name->name, &c->arena, &name, NULL) ==
		    WEFT_OK)
		c->differs = c->differs || name.ver < op->u.name->ver;
	return WEFT_OK;
}

/* Is what is known of a session what its file says?  A session that is being
 * written to is left alone. */
static int compare_record(struct jsonl *js, const struct weft_id *id,
			  struct file *f, struct store_report *report,
			  struct weft_error *err)
{
	struct comparison c = { .js = js };
	struct fold fold = { .effect = compare_name, .ctx = &c };
	struct session_rec before, after, folded;
	char local[80];
	int r;

	arena_init(&c.arena, 0);
	r = jsonl_get_sessions(&js->store, id, 1, &c.arena, &before, err);
	if (r == WEFT_OK)
		r = fold_file(js, id, f, &fold, err);
	if (r == WEFT_OK)
		r = jsonl_get_sessions(&js->store, id, 1, &c.arena, &after,
				       err);
	if (r == WEFT_CORRUPT) {
		r = WEFT_OK; /* told line by line */
	} else if (r == WEFT_OK && fold.own.rec.head_seq) {
		folded = fold.own.rec;
		folded.total = before.total; /* children are elsewhere */
		folded.head_seq = u64_max(folded.head_seq, before.head_seq);
		path_session_local(id, local);
		if ((c.differs || !record_eq(&folded, &before)) &&
		    record_eq(&before, &after))
			r = report_problem(report, id, local, 0, 0, err,
					   "the catalogue differs from the "
					   "file: run 'weft reindex'");
	}
	fold_done(&fold);
	arena_done(&c.arena);
	return r;
}

/* ---- everything ---- */

struct walk {
	struct jsonl *js;
	struct store_report *report;
	struct weft_error *err;
};

static int each_session(void *ctx, const struct weft_id *id)
{
	struct walk *w = ctx;
	struct page_source src = { 0 };
	struct weft_error e;
	char local[80];
	int r = lookup_source(w->js, id, &src, &e);

	if (r == WEFT_CORRUPT || r == WEFT_NOT_FOUND) {
		path_session_local(id, local);
		w->report->sessions++;
		return report_problem(w->report, id, local, 0, 0, w->err,
				      "no line of it can be read");
	}
	/* One file that is not for us costs the others nothing. */
	if (r == WEFT_IO) {
		path_session_local(id, local);
		w->report->sessions++;
		return report_problem(w->report, id, local, 0, 0, w->err, "%s",
				      e.message);
	}
	if (r < 0) {
		if (w->err)
			*w->err = e;
		return r;
	}
	CLEANUP(live_file_cleanup) struct live_file *file = src.file;

	r = verify_file(w->js, id, file->f, src.end, w->report, w->report,
			w->err);
	if (r == WEFT_OK)
		r = compare_record(w->js, id, src.file->f, w->report, w->err);
	if (r == WEFT_OK && w->report->progress &&
	    w->report->sessions % 256 == 0)
		w->report->progress(w->report->progress_ctx,
				    w->report->sessions, 0);
	return r;
}

static int each_blob(void *ctx, const struct blob_ref *ref)
{
	struct walk *w = ctx;
	CLEANUP(arena_done) struct arena a;
	char dir[PATH_BYTES], hex[2 * SHA256_BYTES + 1], file[96];
	struct weft_str bytes;
	struct weft_error e;
	int r = path_join(dir, w->js->dir, "blobs", w->err);

	hex_format(ref->sha256, SHA256_BYTES, hex);
	(void)snprintf(file, sizeof(file), "blobs/%.2s/%s", hex, hex);
	arena_init(&a, 0);
	if (r < 0)
		return r;
	w->report->blobs++;
	r = blob_get(w->js->fs, dir, ref, &a, &bytes, &e);
	if (r < 0)
		return report_problem(w->report, NULL, file, 0, 0, w->err, "%s",
				      e.message);
	return WEFT_OK;
}

static bool is_nowhere(struct jsonl *js, const char *path)
{
	struct file_stat st;
	int r = fs_stat(js->fs, path, &st);

	return r == -ENOENT || (r == 0 && !st.is_file);
}

int verify_rows(struct jsonl *js, struct store_report *report,
		struct weft_error *err)
{
	struct weft_id ids[256];
	const struct weft_id *after = NULL;
	struct weft_id last;
	int n, r = WEFT_OK;

	for (;;) {
		(void)pthread_rwlock_rdlock(&js->catalog_lock);
		n = catalog_ids(js->catalog, after, ids, ARRAY_LEN(ids), err);
		(void)pthread_rwlock_unlock(&js->catalog_lock);
		if (n <= 0 || r < 0)
			return n < 0 ? n : r;
		for (int i = 0; i < n && r == WEFT_OK; i++) {
			char path[PATH_BYTES], local[80];

			r = path_session(js, &ids[i], path, err);
			path_session_local(&ids[i], local);
			if (r == WEFT_OK && is_nowhere(js, path))
				r = report_problem(
					report, &ids[i], local, 0, 0, err,
					"the file is missing: restore it, or "
					"run 'weft reindex' to forget it");
		}
		last = ids[n - 1];
		after = &last;
	}
}

int verify_all(struct jsonl *js, struct store_report *report,
	       struct weft_error *err)
{
	struct walk w = { js, report, err };
	struct weft_error e;
	char dir[PATH_BYTES];
	int r = refresh(js, err);

	if (r == WEFT_OK)
		r = path_each_session(js, each_session, &w, err);
	if (r == WEFT_OK)
		r = verify_rows(js, report, err);
	if (r == WEFT_OK)
		r = path_join(dir, js->dir, "blobs", err);
	if (r == WEFT_OK)
		r = blob_each(js->fs, dir, report, each_blob, &w, err);
	if (r < 0)
		return r;
	(void)pthread_rwlock_rdlock(&js->catalog_lock);
	r = catalog_check(js->catalog, &e);
	(void)pthread_rwlock_unlock(&js->catalog_lock);
	return r < 0 ? report_problem(report, NULL, "catalog.db", 0, 0, err,
				      "%s", e.message) :
		       WEFT_OK;
}

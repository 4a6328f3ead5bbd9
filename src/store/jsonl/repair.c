/*
 * repair.c - leave a store that verify calls clean.
 *
 * DESIGN: a file that is not clean is written anew, with the next generation
 * number, and takes the old one's place by rename.  Good lines are kept to the
 * byte, altered ones get a fresh checksum, a number without a readable line
 * becomes a `gone` line.  What could not be kept is in damaged/ first.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/body.h"
#include "model/event.h"
#include "store/jsonl/index.h"
#include "store/jsonl/lines.h"
#include "store/jsonl/verify.h"

struct repair {
	struct jsonl *js;
	struct store_report *report;
	struct weft_id session;
	struct buf out, bad;
	struct arena arena;
	uint64_t gen;
	uint64_t before; /* the last number written */
	uint64_t first;  /* the header's number, if the catalogue knows it */
	bool has_header;
	struct weft_error *err;
};

/* ---- lines ---- */

static void put_line(struct repair *p, struct weft_str text)
{
	buf_add_str(&p->out, text);
	buf_add_c(&p->out, '\n');
}

static int seal(struct repair *p, struct store_event *e)
{
	int r = event_seal(e, &p->arena, p->err);

	if (r == WEFT_OK)
		put_line(p, e->bytes);
	return r;
}

/* Numbers that are nowhere, or whose line is lost: first..last. */
static int put_gone(struct repair *p, uint64_t first, uint64_t last)
{
	struct store_event e = {
		.session = p->session,
		.seq = first,
		.last = last,
		.ts_ms = clock_now_ms(p->js->clock),
		.type = EVENT_GONE,
	};

	e.body = arena_printf(&p->arena, "\"to\":%llu,\"why\":\"damaged\"",
			      (unsigned long long)last);
	return e.body.ptr ? seal(p, &e) : arena_error(&p->arena, p->err);
}

/* The first line is lost: say what is known of the session. */
static int put_header(struct repair *p, uint64_t seq)
{
	CLEANUP(buf_done) struct buf body;
	struct catalog_row row = { 0 };
	struct store_event e = {
		.session = p->session,
		.seq = seq,
		.last = seq,
		.ts_ms = id_time_ms(&p->session),
		.type = EVENT_SESSION,
	};
	uint64_t key_ver = 0;
	struct name_rec key;

	buf_init(&body, 0);
	(void)pthread_rwlock_rdlock(&p->js->catalog_lock);
	if (catalog_get(p->js->catalog, &p->session, &p->arena, &row, NULL) < 0)
		row.rec = (struct session_rec){ .id = p->session,
						.kind = KIND_PRIMARY };
	(void)pthread_rwlock_unlock(&p->js->catalog_lock);
	if (row.rec.key.len &&
	    lookup_name(p->js, row.rec.key, &p->arena, &key, NULL) == WEFT_OK)
		key_ver = key.ver;
	if (row.rec.created_at)
		e.ts_ms = row.rec.created_at;
	body_session(&body, &row.rec, key_ver);
	buf_add_lit(&body, ",\"repaired\":true");
	if (buf_error(&body, p->err) < 0)
		return WEFT_NO_MEMORY;
	e.op = row.rec.op;
	e.body = buf_str(&body);
	p->has_header = true;
	return seal(p, &e);
}

static void keep_bad(struct repair *p, struct weft_str text)
{
	buf_add_str(&p->bad, text);
	buf_add_c(&p->bad, '\n');
}

/* Close the gap before `seq`; the first number of a session is its header. */
static int put_gap(struct repair *p, uint64_t seq)
{
	int r = WEFT_OK;

	if (!p->has_header && seq > 1 && p->before == 0) {
		/* A fork begins behind its fork point: its header tells. */
		p->before = p->first && p->first < seq ? p->first : seq - 1;
		r = put_header(p, p->before);
	}
	if (r == WEFT_OK && p->before && seq > p->before + 1)
		r = put_gone(p, p->before + 1, seq - 1);
	return r;
}

/* The first line was the header, whatever it says now. */
static bool was_header(const struct repair *p, const struct store_event *e,
		       uint64_t seq)
{
	return !p->has_header && p->before == 0 && e->state != STATE_GONE &&
	       (seq == 1 || seq == p->first);
}

static int mend_line(struct repair *p, const struct index_line *line)
{
	struct store_event e;
	int r;

	arena_reset(&p->arena);
	event_read(&p->session, line->text, &p->arena, &e);
	if (line->seq <= p->before && p->before) {
		keep_bad(p, line->text); /* a second line with one number */
		return WEFT_OK;
	}
	if (e.type == EVENT_SESSION && e.state != STATE_DAMAGED)
		p->has_header = true;
	if (was_header(p, &e, line->seq)) {
		p->before = line->seq;
		keep_bad(p, line->text);
		return put_header(p, line->seq);
	}
	r = put_gap(p, line->seq);
	if (r < 0)
		return r;
	p->before = u64_max(line->seq, e.state == STATE_GONE ? e.last : 0);
	if (e.state == STATE_OK || e.state == STATE_GONE) {
		put_line(p, e.bytes);
		return WEFT_OK;
	}
	if (e.state != STATE_DAMAGED) {
		keep_bad(p, line->text);
		return seal(p, &e);
	}
	keep_bad(p, line->text);
	return p->has_header ? put_gone(p, line->seq, line->seq) :
			       put_header(p, line->seq);
}

/* ---- files ---- */

static int write_new(struct repair *p, const char *path, struct weft_str bytes)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	ssize_t n;
	int r = file_open(p->js->fs, path, FILE_WRITE | FILE_CREATE, &f);

	if (r >= 0)
		r = file_truncate(f, 0);
	n = r < 0 ? r : file_write(f, bytes.ptr, bytes.len, 0);
	r = n < 0 ? (int)n : file_sync(f);
	return r < 0 ? fail_errno(p->err, -r, "write %s", path) : WEFT_OK;
}

static int sync_parent(struct repair *p, char path[PATH_BYTES])
{
	int r;

	*strrchr(path, '/') = '\0';
	r = fs_sync_dir(p->js->fs, path);
	return r < 0 ? fail_errno(p->err, -r, "flush directory %s", path) :
		       WEFT_OK;
}

static int damaged_path(struct repair *p, const char *suffix,
			char out[PATH_BYTES])
{
	char name[96], id[WEFT_ID_CHARS + 1];

	id_format(&p->session, id);
	(void)snprintf(name, sizeof(name), "damaged/%s.%llu.%s", id,
		       (unsigned long long)p->gen, suffix);
	return path_join(out, p->js->dir, name, p->err);
}

static int save_bad(struct repair *p)
{
	char path[PATH_BYTES];
	int r;

	if (p->bad.len == 0)
		return WEFT_OK;
	r = damaged_path(p, "lines", path);
	if (r == WEFT_OK)
		r = write_new(p, path, buf_str(&p->bad));
	return r == WEFT_OK ? sync_parent(p, path) : r;
}

/* The mended file takes the name of the old one. */
static int put_in_place(struct repair *p, const char *path)
{
	char fresh[PATH_BYTES], dir[PATH_BYTES];
	int n = snprintf(fresh, sizeof(fresh), "%s.new", path);
	int r;

	if (n < 0 || (size_t)n >= sizeof(fresh))
		return fail(p->err, WEFT_INVALID, "path too long: %s", path);
	memcpy(dir, path, strlen(path) + 1);
	r = write_new(p, fresh, buf_str(&p->out));
	if (r == WEFT_OK) {
		r = fs_rename(p->js->fs, fresh, path);
		if (r < 0)
			r = fail_errno(p->err, -r, "rename %s", fresh);
	}
	return r == WEFT_OK ? sync_parent(p, dir) : r;
}

/* Nothing of it can be used: it leaves, as it is. */
static int put_away(struct repair *p, const char *path)
{
	char to[PATH_BYTES], dir[PATH_BYTES];
	int r = damaged_path(p, "jsonl", to);

	if (r < 0)
		return r;
	r = fs_rename(p->js->fs, path, to);
	if (r < 0)
		return fail_errno(p->err, -r, "rename %s", path);
	memcpy(dir, path, strlen(path) + 1);
	r = sync_parent(p, to);
	return r == WEFT_OK ? sync_parent(p, dir) : r;
}

static bool has_readable(const struct line_index *x, const struct weft_id *id)
{
	struct arena a;
	bool found = false;

	arena_init(&a, 0);
	for (size_t i = 0; i < x->n && !found; i++) {
		struct store_event e;

		arena_reset(&a);
		event_read(id, x->v[i].text, &a, &e);
		found = e.state != STATE_DAMAGED;
	}
	arena_done(&a);
	return found;
}

static int mend(struct repair *p, struct file *f, uint64_t size,
		const char *path)
{
	CLEANUP(line_index_done) struct line_index x = { 0 };
	struct catalog_row row;
	int r = line_index_read(&x, &p->session, f, size, p->err);

	if (r < 0)
		return r;
	if (!has_readable(&x, &p->session))
		return put_away(p, path);
	(void)pthread_rwlock_rdlock(&p->js->catalog_lock);
	if (catalog_get(p->js->catalog, &p->session, &p->arena, &row, NULL) ==
	    WEFT_OK)
		p->first = row.rec.fork_seq + 1;
	(void)pthread_rwlock_unlock(&p->js->catalog_lock);
	file_line_write(&p->out, &p->session, p->gen + 1);
	buf_add_c(&p->out, '\n');
	for (size_t i = 0; i < x.n && r == WEFT_OK; i++)
		r = mend_line(p, &x.v[i]);
	if (r == WEFT_OK)
		r = buf_error(&p->out, p->err);
	if (r == WEFT_OK)
		r = buf_error(&p->bad, p->err);
	if (r == WEFT_OK)
		r = save_bad(p);
	return r == WEFT_OK ? put_in_place(p, path) : r;
}

/* With the log held, so that nobody appends meanwhile. */
static int repair_file(struct repair *p, struct file *f, const char *path)
{
	struct file_stat st;
	struct live *l;
	int r = enter(p->js, p->err);

	if (r < 0)
		return r;
	r = file_stat(f, &st);
	if (r < 0)
		r = fail_errno(p->err, -r, "look at %s", path);
	if (r == WEFT_OK)
		r = mend(p, f, st.size, path);
	if (r == WEFT_OK) {
		p->js->st.rewrites++;
		r = put_state(p->js, p->err);
		(void)pthread_mutex_lock(&p->js->mutex);
		l = live_find(p->js, &p->session);
		(void)pthread_mutex_unlock(&p->js->mutex);
		if (l)
			live_drop(p->js, l);
		p->report->changed++;
	}
	leave(p->js);
	return r;
}

struct walk {
	struct jsonl *js;
	struct store_report *report;
	struct weft_error *err;
};

static uint64_t gen_of(struct file *f)
{
	struct file_line head;
	uint64_t bytes;

	return file_line_of(f, &head, &bytes) == 1 ? head.gen : 1;
}

/* Whatever it needs would be lost. */
static bool is_newer(struct file *f)
{
	struct file_line head;
	uint64_t bytes;

	return file_line_of(f, &head, &bytes) == 1 && head.sealed &&
	       (head.version > EVENT_FORMAT || !head.known_needs);
}

static int each_session(void *ctx, const struct weft_id *id)
{
	struct walk *w = ctx;
	CLEANUP(file_cleanup) struct file *f = NULL;
	struct store_report found = { .arena = w->report->arena };
	struct repair p = {
		.js = w->js, .report = w->report, .session = *id, .err = w->err
	};
	char path[PATH_BYTES], local[80];
	struct file_stat st = { 0 };
	int r = path_session(w->js, id, path, w->err);

	if (r < 0)
		return r;
	path_session_local(id, local);
	r = file_open(w->js->fs, path, FILE_READ, &f);
	if (r == 0)
		r = file_stat(f, &st);
	if (r < 0)
		return fail_errno(w->err, -r, "open %s", path);
	r = verify_file(w->js, id, f, st.size, &found, w->report, w->err);
	w->report->sessions++;
	w->report->events += found.events;
	if (r < 0 || found.n_problems == 0)
		return r;
	if (is_newer(f))
		return report_problem(w->report, id, local, 1, 0, w->err,
				      "written by a newer weft: left alone");
	p.gen = gen_of(f);
	buf_init(&p.out, 0);
	buf_init(&p.bad, 0);
	arena_init(&p.arena, 0);
	r = repair_file(&p, f, path);
	arena_done(&p.arena);
	buf_done(&p.bad);
	buf_done(&p.out);
	return r;
}

int repair_all(struct jsonl *js, struct store_report *report,
	       struct weft_error *err)
{
	struct walk w = { js, report, err };
	struct store_report lost = { .arena = report->arena };
	struct store_report ignored = { .arena = report->arena };
	int r = path_each_session(js, each_session, &w, err);

	/* Sessions without a file are forgotten by the next step, and so is
	 * whatever the catalogue itself may suffer from. */
	if (r == WEFT_OK && verify_rows(js, &lost, NULL) == WEFT_OK)
		report->changed += lost.n_problems;
	return r == WEFT_OK ? reindex(js, &ignored, err) : r;
}

/*
 * recover.c - after a crash: the log into files and catalogue.
 *
 * DESIGN: only whoever is alone does this, holding the lock, trusting nothing
 * but what is on disk.  The last frame is written and flushed again before it
 * is believed: its writer may have died before its own flush.  A frame that
 * is invalid and has no valid one behind it is the torn tail of a write that
 * was never acknowledged; one with valid ones behind it is damage, which is
 * stepped over and told.  In the end the log is empty and has a new salt, so
 * that nothing in its segments can be taken for a frame again.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

struct sweep {
	struct jsonl *js;
	int (*each)(struct sweep *s, const struct frame *f);
	uint64_t end;  /* behind the last valid frame */
	uint64_t last; /* where that begins */
	uint64_t n;
	bool damaged; /* something was stepped over */
	struct settle_item *items;
	size_t n_items, room;
	struct weft_error *err;
};

static bool is_of_now(const struct jsonl *js, const struct wal_state *st)
{
	return js->boot != 0 && st->boot == js->boot &&
	       st->control_no == js->wal.control.no;
}

bool recover_state(struct jsonl *js, struct wal_state *ret)
{
	return wal_get_state(&js->wal, ret, NULL) == WEFT_OK &&
	       is_of_now(js, ret);
}

/* The same for who is alone. */
static bool last_state(struct jsonl *js, struct wal_state *ret)
{
	return wal_peek_state(&js->wal, ret) && is_of_now(js, ret);
}

/*
 * No frame at `at`: is there one behind it?  A whole log is looked through for
 * that, unless its writers have left word that it ends here.
 */
static int find_later(struct sweep *s, uint64_t *at)
{
	struct wal_state st;

	if (last_state(s->js, &st) && *at >= st.end)
		return 0;
	return wal_find_later(&s->js->wal, *at, at, s->err);
}

/* Every valid frame from control.ckpt on. */
static int sweep(struct sweep *s)
{
	struct wal *w = &s->js->wal;
	uint64_t at = w->control.ckpt;
	int r = WEFT_OK;

	s->end = at;
	s->n = 0;
	while (r == WEFT_OK) {
		struct frame f;
		int found =
			wal_read_frame(w, at, &s->js->frame_read, &f, s->err);

		if (found == 0) {
			found = find_later(s, &at);
			if (found == 1) {
				s->damaged = true;
				continue; /* step over the damage */
			}
		}
		if (found <= 0)
			return found;
		s->n++;
		s->last = f.lsn;
		s->end = at = f.end;
		r = s->each ? s->each(s, &f) : WEFT_OK;
	}
	return r;
}

/* Write the last frame again, so that it is durable whoever wrote it. */
static int adopt_last(struct jsonl *js, uint64_t last, struct weft_error *err)
{
	struct frame f;
	int r = wal_read_frame(&js->wal, last, &js->frame_read, &f, err);

	if (r < 0)
		return r;
	r = wal_write_frame(&js->wal, last, buf_str(&js->frame_read), err);
	return r == WEFT_UNKNOWN ? WEFT_IO : r;
}

static int note_items(struct sweep *s, const struct frame *f)
{
	struct frame_record rec;
	size_t pos = 0;

	while (frame_next(f, &pos, &rec)) {
		if (s->n_items == s->room) {
			size_t room = s->room ? s->room * 2 : 64;
			void *v =
				mem_resize(s->items, room * sizeof(*s->items));

			if (!v)
				return fail_no_memory(s->err);
			s->items = v;
			s->room = room;
		}
		s->items[s->n_items++] =
			(struct settle_item){ .id = rec.session,
					      .created = rec.offset == 0 };
	}
	return WEFT_OK;
}

static int replay_and_follow(struct sweep *s, const struct frame *f)
{
	int r = note_items(s, f);

	if (r == WEFT_OK)
		r = replay_frame(s->js, f, s->err);
	/* What is read from a file now holds everything up to here. */
	s->js->mine = f->end;
	/* Without a catalogue everything is read again anyway. */
	if (r == WEFT_OK && catalog_is_complete(s->js))
		r = follow_frame(s->js, f, s->err);
	return r;
}

/* The log is empty from here on. */
static int begin_anew(struct jsonl *js, uint64_t end, struct weft_error *err)
{
	struct wal_control c;
	int r;

	wal_plan_control(&js->wal, end, &c);
	r = random_bytes(&c.salt, sizeof(c.salt), err);
	if (r == WEFT_OK)
		r = wal_put_control(&js->wal, &c, err);
	return r == WEFT_OK ? wal_install(&js->wal, &c, err) : r;
}

static int reset_state(struct jsonl *js, uint64_t end, struct weft_error *err)
{
	js->st = (struct wal_state){
		.end = end,
		.prev = end,
		.ckpt = js->wal.control.ckpt,
		.control_no = js->wal.control.no,
		.boot = js->boot,
	};
	js->mine = end;
	js->my_ckpt = js->st.ckpt;
	js->my_rewrites = 0;
	return put_state(js, err);
}

static int settle_overlay(struct jsonl *js, uint64_t end,
			  struct weft_error *err)
{
	struct settle_item *v;
	size_t n;
	int r = settle_collect(js, &v, &n, err);

	if (r < 0)
		return r;
	r = settle_catalog(js, v, n, end, err);
	settle_free(v, n);
	return r;
}

/*
 * Whoever was here before may have died between writing and flushing, or its
 * flush may have failed.  What is only in the cache is made durable before
 * anything rests on it: the store's name for itself, the files of the log,
 * and the control in force, which is written again like a frame.
 */
static int firm_ground(struct jsonl *js, struct weft_error *err)
{
	int r = fs_sync_dir(js->fs, js->dir);

	if (r < 0)
		return fail_errno(err, -r, "flush directory %s", js->dir);
	r = fs_sync_dir(js->fs, js->wal.dir);
	if (r < 0)
		return fail_errno(err, -r, "flush directory %s", js->wal.dir);
	return wal_put_control(&js->wal, &js->wal.control, err);
}

/*
 * Do the frames end before the place that the state names?  Its writers have
 * seen them, so they were damaged since.
 */
static bool is_end_missing(struct jsonl *js, uint64_t end)
{
	struct wal_state st;

	return last_state(js, &st) && st.prev > end;
}

/*
 * Where the log goes on.  A checkpoint leaves the rest of a segment unused, and
 * may have told the catalogue of that before it died: a place that the
 * catalogue has seen is not used again, or what is written there would be taken
 * for known.
 */
static int find_end(struct jsonl *js, uint64_t *end, struct weft_error *err)
{
	uint64_t applied;
	int r;

	if (!catalog_is_complete(js))
		return WEFT_OK;
	r = get_applied(js, &applied, err);
	if (r < 0 || applied <= *end)
		return r;
	/* Not from this log: somebody has put files back. */
	if (!wal_has(&js->wal, applied))
		return replace_catalog(js, err);
	*end = applied;
	return WEFT_OK;
}

/* What a lost frame made of its lines is known from the files only. */
static int find_damage(struct sweep *s)
{
	int r = sweep(s);

	/* Whoever repairs believes nothing that is derived. */
	if (r == WEFT_OK &&
	    (s->damaged || s->js->unchecked || is_end_missing(s->js, s->end)))
		r = replace_catalog(s->js, s->err);
	return r;
}

int recover(struct jsonl *js, struct weft_error *err)
{
	struct sweep s = { .js = js, .err = err };
	uint64_t end = 0;
	int r = firm_ground(js, err);

	if (r == WEFT_OK)
		r = find_damage(&s);
	end = s.end;
	if (r == WEFT_OK)
		r = find_end(js, &end, err);
	if (r == WEFT_OK && s.n == 0 && end == s.end)
		return reset_state(js, end, err);
	if (r == WEFT_OK && s.n > 0)
		r = adopt_last(js, s.last, err);
	s.each = replay_and_follow;
	if (r == WEFT_OK)
		r = sweep(&s);
	if (r == WEFT_OK)
		r = settle_files(js, s.items, s.n_items, err);
	if (r == WEFT_UNKNOWN)
		r = WEFT_IO;
	if (r == WEFT_OK && catalog_is_complete(js))
		r = settle_overlay(js, end, err);
	if (r == WEFT_OK)
		r = begin_anew(js, end, err);
	if (r == WEFT_OK)
		r = reset_state(js, end, err);
	live_drop_all(js);
	mem_free(s.items);
	return r;
}

/* ---- read only ---- */

/* Give the session of a record a file in memory, and put the lines in. */
static int image(struct jsonl *js, const struct frame_record *rec,
		 struct weft_error *err)
{
	struct live *l = live_find(js, &rec->session);
	struct live_file *f;
	int r = WEFT_OK;

	if (!l && rec->offset > 0)
		r = live_load(js, &rec->session, &l, err);
	else if (!l)
		r = live_add(js, &rec->session, &l, err);
	if (r == WEFT_NOT_FOUND)
		return WEFT_OK;
	if (r < 0)
		return r;
	if (!l->image) {
		(void)live_open_file(js, l, FILE_READ, NULL);
		f = mem_zero(1, sizeof(*f));
		if (!f)
			return fail_no_memory(err);
		atomic_init(&f->refs, 1);
		r = memfile_open(l->file ? l->file->f : NULL, &f->f, err);
		if (r < 0) {
			mem_free(f);
			return r;
		}
		live_close_file(js, l);
		l->file = f;
		js->n_files++;
		l->image = true;
	}
	return replay_into(l->file->f, rec, err);
}

static int image_and_follow(struct sweep *s, const struct frame *f)
{
	struct frame_record rec;
	size_t pos = 0;
	int r = WEFT_OK;

	s->js->mine = f->end;
	while (r == WEFT_OK && frame_next(f, &pos, &rec))
		r = image(s->js, &rec, s->err);
	return r == WEFT_OK ? follow_frame(s->js, f, s->err) : r;
}

int recover_in_memory(struct jsonl *js, struct weft_error *err)
{
	struct sweep s = { .js = js, .each = image_and_follow, .err = err };
	int r = sweep(&s);

	js->is_frozen = true;
	js->mine = s.end;
	return r;
}

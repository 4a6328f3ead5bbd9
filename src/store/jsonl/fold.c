/*
 * fold.c - a session's record from its file, first line to last.
 *
 * DESIGN: a line that cannot be read keeps its number, which is the one after
 * the line before it; so does a number that is missing.  A file whose numbers
 * do not rise (somebody moved lines, or recovery had to put one at the end)
 * is folded in the order of its numbers, the first of two equal ones wins.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/derive.h"
#include "model/event.h"
#include "store/jsonl/index.h"
#include "store/jsonl/jsonl.h"
#include "store/jsonl/lines.h"

void fold_done(struct fold *fold)
{
	record_own_done(&fold->own);
}

struct folding {
	struct fold *fold;
	struct weft_id session;
	struct arena arena; /* of one event */
	uint64_t head;      /* the last number */
	bool has_header;
	struct weft_error *err;
};

static int hand_on(struct folding *g, const struct op_list *ops)
{
	for (size_t i = 0; i < ops->n; i++) {
		int r;

		/* What a descendant spent is added up by whoever folds all. */
		if (ops->v[i].kind == OP_ADD || !g->fold->effect)
			continue;
		r = g->fold->effect(g->fold->ctx, &ops->v[i]);
		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

/* Work one event into the record; its number is settled by now. */
static int fold_event(struct folding *g, const struct store_event *e)
{
	struct op_list ops = { .arena = &g->arena };
	struct session_rec rec = g->fold->own.rec;
	int r = WEFT_OK;

	g->head = e->last;
	g->fold->events++;
	if (e->type == EVENT_SESSION && e->state != STATE_DAMAGED)
		g->has_header = true;
	if (id_is_zero(&rec.id))
		rec.id = g->session;
	/* A body that makes no sense costs its meaning, not the session. */
	if (derive_event(&rec, e, NULL, &ops, g->err) == WEFT_NO_MEMORY ||
	    ops.failed)
		return fail_no_memory(g->err);
	rec.head_seq = u64_max(rec.head_seq, e->last);
	r = record_own_update(&g->fold->own, &rec, g->err);
	if (r == WEFT_OK)
		r = hand_on(g, &ops);
	if (r == WEFT_OK && g->fold->each)
		r = g->fold->each(g->fold->ctx, e);
	return r;
}

/* Numbers between the last one and `seq` are nowhere: they stay taken. */
static int fold_gap(struct folding *g, uint64_t seq)
{
	struct store_event gap = {
		.session = g->session,
		.seq = g->head + 1,
		.last = seq - 1,
		.state = STATE_DAMAGED,
	};

	if (g->head == 0 || seq <= g->head + 1)
		return WEFT_OK;
	return fold_event(g, &gap);
}

static int fold_line(struct folding *g, struct weft_str text)
{
	struct store_event e;
	int r;

	arena_reset(&g->arena);
	event_read(&g->session, text, &g->arena, &e);
	if (e.state == STATE_DAMAGED && e.seq == 0) {
		e.seq = event_peek_seq(text);
		if (e.seq <= g->head)
			e.seq = g->head + 1;
		e.last = e.seq;
	}
	if (e.seq <= g->head)
		return 1; /* out of order: the caller starts over */
	r = fold_gap(g, e.seq);
	return r == WEFT_OK ? fold_event(g, &e) : r;
}

static int fold_sorted(struct folding *g, struct file *f, uint64_t size)
{
	CLEANUP(line_index_done) struct line_index index = { 0 };
	int r = line_index_read(&index, &g->session, f, size, g->err);

	g->fold->irregular = true;
	g->fold->events = 0;
	g->head = 0;
	record_own_done(&g->fold->own);
	for (size_t i = 0; i < index.n && r == WEFT_OK; i++) {
		r = fold_line(g, index.v[i].text);
		if (r == 1)
			r = WEFT_OK; /* an equal number: the first one won */
	}
	return r;
}

static int fold_in_order(struct folding *g, struct line_reader *in)
{
	struct line line;
	int r;

	while ((r = line_reader_next(in, &line)) == 1) {
		struct file_line head;

		g->fold->torn = line.torn;
		if (line.offset == 0 && file_line_read(line.text, &head)) {
			g->fold->gen = head.gen;
			continue;
		}
		if (line.text.len == 0)
			continue;
		r = fold_line(g, line.text);
		if (r != WEFT_OK)
			return r;
	}
	return r < 0 ? fail_errno(g->err, -r, "read a session's file") : r;
}

int fold_file(struct jsonl *js, const struct weft_id *id, struct file *f,
	      struct fold *fold, struct weft_error *err)
{
	struct folding g = { .fold = fold, .session = *id, .err = err };
	CLEANUP(line_reader_done) struct line_reader in;
	struct file_stat st;
	char local[80];
	int r = file_stat(f, &st);

	line_reader_init(&in, f, 0, st.size);
	if (r < 0)
		return fail_errno(err, -r, "look at a session's file");
	arena_init(&g.arena, 0);
	fold->end = st.size;
	fold->gen = 1;
	r = fold_in_order(&g, &in);
	if (r == 1)
		r = fold_sorted(&g, f, st.size);
	arena_done(&g.arena);
	if (r == WEFT_OK && (!g.has_header || g.head == 0)) {
		path_session_local(id, local);
		r = fail(err, WEFT_CORRUPT,
			 "%s/%s has no session line that can be read; run "
			 "'weft repair'",
			 js->dir, local);
	}
	return r;
}

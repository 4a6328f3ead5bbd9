/*
 * plan_marker.c - changes of a session's window.
 *
 * DESIGN: every change is a marker that says all about the window, so that
 * undoing one is writing the one before it again.  Nothing that was said is
 * touched.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/marker.h"

int plan_read_marker(struct plan *p, struct plan_session *s, uint64_t seq,
		     struct marker *ret, uint64_t *ret_before,
		     struct weft_error *err)
{
	const struct store_event *e = NULL;
	bool hidden;
	int r;

	*ret = (struct marker){ .first_kept = 1 };
	*ret_before = 0;
	if (!seq)
		return WEFT_OK;
	r = plan_seen_event(p, s, seq, &e, &hidden, err);
	if (r == WEFT_NOT_FOUND)
		return WEFT_OK;
	/* Damaged or gone: what it said is not known; keep everything. */
	if (r < 0 || e->type != EVENT_MARKER)
		return r;
	*ret_before = e->marker;
	return marker_read(e->body, &p->arena, ret, err);
}

static int undo(struct plan *p, struct plan_session *s,
		const struct marker_ask *ask, const struct marker *now,
		uint64_t before, struct marker *ret, struct weft_error *err)
{
	struct marker was;
	uint64_t ignored;
	int r;

	if (ask->redo && now->how != MARKER_UNDO)
		return fail(err, WEFT_INVALID,
			    "there is nothing to redo: the last change of the "
			    "window was not undone");
	if (!s->rec.window_seq)
		return fail(err, WEFT_INVALID,
			    "there is nothing to undo: the window was never "
			    "changed");
	r = plan_read_marker(p, s, before, &was, &ignored, err);
	if (r < 0)
		return r;
	ret->how = now->how == MARKER_UNDO ? MARKER_REDO : MARKER_UNDO;
	ret->first_kept = was.first_kept;
	ret->summary = was.summary;
	ret->undoes = s->rec.window_seq;
	return WEFT_OK;
}

/* The same where a turn begins; 0: the window cannot be cut so. */
static int find_turn(struct plan *p, struct plan_session *s,
		     const struct marker_ask *ask, uint64_t window_first,
		     uint64_t *ret, struct weft_error *err)
{
	bool by_number = ask->keep == WINDOW_NO_KEEP;
	struct turn_cut cut = {
		.keep = by_number ? UINT64_MAX : ask->keep,
		.before = by_number ? ask->before : 0,
		.no_less = ask->how == MARKER_COMPACT,
	};
	struct pairs pairs = { .arena = &p->arena };
	const struct seen_look look = {
		.first = window_first,
		.last = s->rec.head_seq,
		.n = 1,
		.cut = &cut,
		.pairs = &pairs,
	};
	struct seen_found found;
	int r = plan_look_back(p, s, &look, &found, err);

	*ret = u64_min(turn_cut_end(&cut), s->rec.head_seq + 1);
	return r;
}

/* The number of the first message that is kept; 0: nothing is to change. */
static int find_first(struct plan *p, struct plan_session *s,
		      const struct marker_ask *ask, uint64_t window_first,
		      uint64_t *ret, struct weft_error *err)
{
	const struct seen_look look = {
		.first = window_first,
		.last = s->rec.head_seq,
		.n = ask->keep,
	};
	bool by_number = ask->keep == WINDOW_NO_KEEP;
	struct seen_found found;
	int r;

	if (by_number && ask->before == WINDOW_AS_IT_IS) {
		*ret = window_first;
		return WEFT_OK;
	}
	if (ask->keep == 0 || (by_number && ask->before > s->rec.head_seq)) {
		*ret = s->rec.head_seq + 1;
		return WEFT_OK;
	}
	if (ask->at_turn)
		return find_turn(p, s, ask, window_first, ret, err);
	if (by_number) {
		*ret = ask->before;
		return WEFT_OK;
	}
	r = plan_look_back(p, s, &look, &found, err);
	if (r < 0)
		return r;
	/* There are fewer: the window stays as it is. */
	*ret = found.n < look.n ? window_first : found.seq;
	return WEFT_OK;
}

/* What the window is to be. */
static int new_marker(struct plan *p, struct plan_session *s,
		      const struct marker_ask *ask, const struct marker *now,
		      uint64_t before, struct marker *ret,
		      struct weft_error *err)
{
	int r;

	*ret = (struct marker){
		.how = ask->how,
		.summary = ask->has_summary ? ask->summary : now->summary,
		.tokens_saved = ask->tokens_saved,
	};
	switch ((enum marker_how)ask->how) {
	case MARKER_COMPACT:
	case MARKER_TRUNCATE:
		r = find_first(p, s, ask, now->first_kept, &ret->first_kept,
			       err);
		if (r == WEFT_OK && ret->first_kept == 0) {
			ret->first_kept = now->first_kept;
			ret->summary = now->summary;
		}
		return r;
	case MARKER_CLEAR:
		ret->summary = STR("");
		ret->first_kept = s->rec.head_seq + 1;
		return WEFT_OK;
	case MARKER_HISTORY:
		ret->first_kept = s->rec.head_seq + 1;
		return WEFT_OK;
	case MARKER_UNDO:
	case MARKER_REDO:
		return undo(p, s, ask, now, before, ret, err);
	}
	return fail(err, WEFT_INVALID, "a marker of unknown kind %u", ask->how);
}

/* Whether the window would be what it is: nothing is between the last message
 * and what was kept then. */
static int is_same_window(struct plan *p, struct plan_session *s,
			  const struct marker *now, const struct marker *then,
			  bool *ret, struct weft_error *err)
{
	uint64_t low = u64_min(now->first_kept, then->first_kept);
	uint64_t high = u64_max(now->first_kept, then->first_kept);
	const struct seen_look ask = { .first = low, .last = high - 1, .n = 1 };
	struct seen_found found = { 0 };
	int r = WEFT_OK;

	*ret = false;
	if (!str_eq(now->summary, then->summary) ||
	    then->how == MARKER_HISTORY || then->undoes)
		return WEFT_OK;
	if (low < high)
		r = plan_look_back(p, s, &ask, &found, err);
	*ret = found.n == 0;
	return r;
}

static int add_marker(struct plan *p, struct plan_session *s, struct request *q,
		      const struct marker *m, struct weft_error *err)
{
	uint64_t first_seq = s->rec.head_seq + 1;
	int r;

	buf_reset(&p->body);
	body_marker(&p->body, m);
	r = plan_add_asked(p, s, EVENT_MARKER, q, (uint32_t)q->n_messages, err);
	if (r == WEFT_OK && q->n_messages)
		r = plan_add_messages(p, s, q, STR(""), err);
	if (r == WEFT_OK)
		plan_answer(q, s, first_seq);
	return r;
}

static int check(struct plan *p, struct plan_session *s, struct request *q,
		 struct weft_error *err)
{
	int r = plan_check_live(s, err);

	if (r == WEFT_OK)
		r = plan_check_lease(p, s, q, err);
	if (r == WEFT_OK)
		r = plan_check_expect(s, q, err);
	if (r == WEFT_OK)
		r = plan_check_room(s, q->n_messages + 1, err);
	if (r == WEFT_OK && q->marker.keep == WINDOW_NO_KEEP &&
	    q->marker.before > s->rec.head_seq + 1)
		r = fail(err, WEFT_NOT_FOUND, "the session has no message %llu",
			 (unsigned long long)q->marker.before);
	return r;
}

int plan_marker(struct plan *p, struct request *q, struct weft_error *err)
{
	struct marker now, then;
	struct plan_session *s;
	uint64_t before = 0;
	bool same = false;
	int r = plan_find_asked(p, q, &s, err);

	if (r < 0)
		return r;
	r = plan_replay(p, s, q, EVENT_MARKER, err);
	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = check(p, s, q, err);
	if (r == WEFT_OK)
		r = plan_read_marker(p, s, s->rec.window_seq, &now, &before,
				     err);
	if (r == WEFT_OK)
		r = new_marker(p, s, &q->marker, &now, before, &then, err);
	if (r == WEFT_OK)
		r = is_same_window(p, s, &now, &then, &same, err);
	if (r < 0)
		return r;
	if (same)
		return WEFT_OK; /* an act that changes nothing is none */
	return add_marker(p, s, q, &then, err);
}

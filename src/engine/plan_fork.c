/*
 * plan_fork.c - a session that goes on where another one was.
 *
 * DESIGN: nothing is copied but what is known of the session now.  A session
 * of which a fork would see nothing, because the fork begins before all that
 * the session itself has said, is not made its parent: it would only be on the
 * way of every later read, and whoever tries an answer again and again would
 * end up thousands of forks deep.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/body.h"
#include "model/marker.h"
#include "model/record.h"

/* Where a fork begins. */
struct fork_point {
	struct plan_session *parent;
	uint64_t seq;
	uint64_t marker; /* in force there */
};

/* Somebody may have taken it away since it was looked up. */
static int check_there(struct plan *p, struct plan_session *s, uint64_t at,
		       struct weft_error *err)
{
	const struct store_event *e;
	bool hidden;
	int r = plan_seen_event(p, s, at, &e, &hidden, err);

	if (r == WEFT_OK && e->state == STATE_GONE)
		r = fail(err, WEFT_NOT_FOUND, "event %llu is gone for good",
			 (unsigned long long)at);
	return r;
}

/* The point itself, or the last message before it that can be seen. */
static int find_point(struct plan *p, struct plan_session *s, uint64_t at,
		      struct fork_point *ret, struct weft_error *err)
{
	const struct seen_look ask = {
		.first = 1,
		.last = at ? at : s->rec.head_seq,
		.n = 1,
	};
	struct seen_found found;
	int r;

	if (at > s->rec.head_seq)
		return fail(err, WEFT_NOT_FOUND,
			    "the session has no message %llu",
			    (unsigned long long)at);
	r = plan_look_back(p, s, &ask, &found, err);
	if (r == WEFT_OK && at && found.seq != at)
		r = check_there(p, s, at, err);
	if (r < 0)
		return r;
	if (found.n == 0)
		return fail(err, WEFT_INVALID,
			    "there is nothing to fork: the session has no "
			    "message that can be seen");
	ret->seq = found.seq;
	ret->marker = found.event->marker;
	return WEFT_OK;
}

/*
 * Is nothing of the session itself to be seen at `seq`?  What it has hidden of
 * what it inherited counts too; that was looked up for the session that `q` is
 * about, and holds if nothing was said or hidden since.
 */
static bool adds_nothing(const struct session_rec *rec, uint64_t seq,
			 const struct request *q)
{
	if (seq > rec->fork_seq)
		return false;
	if (rec->head_seq == rec->fork_seq + 1)
		return true;
	return q && id_eq(&q->session, &rec->id) &&
	       q->fork_content == rec->content_seq && seq < q->fork_hidden;
}

/* Find the session that the fork goes on from, and see that a fork of it can
 * be read. */
static int find_parent(struct plan *p, struct plan_session *s,
		       const struct request *q, struct fork_point *point,
		       struct weft_error *err)
{
	uint64_t depth = 1;

	point->parent = NULL;
	for (;;) {
		int r;

		if (!point->parent && !adds_nothing(&s->rec, point->seq, q))
			point->parent = s;
		if (s->rec.fork_seq == 0)
			return WEFT_OK;
		if (point->parent && ++depth > p->limits->fork_depth)
			return fail(err, WEFT_LIMIT,
				    "more than %llu forks deep (limit "
				    "fork_depth)",
				    (unsigned long long)p->limits->fork_depth);
		r = plan_find(p, &s->rec.parent, &s, err);
		if (r < 0)
			return r;
	}
}

int plan_fork_head(struct plan *p, struct plan_session *s,
		   struct session_rec *rec, struct weft_error *err)
{
	struct fork_point point = {
		.seq = s->rec.head_seq,
		.marker = s->rec.window_seq,
	};
	int r = find_parent(p, s, NULL, &point, err);

	if (r < 0)
		return r;
	rec->parent = point.parent->rec.id;
	rec->forked_from = s->rec.id;
	rec->fork_seq = point.seq;
	rec->window_seq = point.marker;
	rec->inherited_count = s->rec.inherited_count + s->rec.message_count;
	return WEFT_OK;
}

/* What the fork begins with: what is known of `from` now, but for its names,
 * and what the request says instead. */
static struct session_rec fork_record(const struct session_rec *from,
				      const struct session_rec *instead)
{
	struct session_rec rec = {
		.kind = from->kind == KIND_BOOK ? KIND_BOOK : KIND_PRIMARY,
		.forked_from = from->id,
		.root = id_is_zero(&from->root) ? from->id : from->root,
		.agent = from->agent,
		.slug = instead->slug,
		.project_dir = from->project_dir,
		.model_provider = from->model_provider,
		.model_name = from->model_name,
		.user = from->user,
		.channel = from->channel,
		.user_role = from->user_role,
		.tools = from->tools,
		.metadata = from->metadata,
	};

	if (instead->model_name.len) {
		rec.model_provider = instead->model_provider;
		rec.model_name = instead->model_name;
	}
	return rec;
}

/* What the marker says that is in force where the fork begins. */
static int inherit_window(struct plan *p, struct plan_session *s,
			  uint64_t marker, struct session_rec *rec,
			  struct weft_error *err)
{
	struct marker m;
	uint64_t ignored;
	int r;

	rec->window_seq = marker;
	if (!marker)
		return WEFT_OK;
	if (marker == s->rec.window_seq && s->rec.window_first) {
		record_set_window(rec, s->rec.window_first, s->rec.summary,
				  s->rec.summary_bytes);
		return WEFT_OK;
	}
	r = plan_read_marker(p, s, marker, &m, &ignored, err);
	if (r == WEFT_OK)
		record_set_window(rec, m.first_kept, m.summary, m.summary.len);
	return r;
}

static bool is_same_fork(const struct request *q,
			 const struct session_rec *made)
{
	/* A point that was hidden had become an earlier one. */
	return id_eq(&made->forked_from, &q->session) &&
	       (!q->fork_at || q->fork_at >= made->fork_seq);
}

static int add_fork(struct plan *p, struct request *q,
		    const struct session_rec *rec, struct weft_error *err)
{
	struct plan_session *s = plan_new_session(p, &rec->id);
	int r;

	if (!s)
		return arena_error(&p->arena, err);
	s->rec.fork_seq = rec->fork_seq;
	s->rec.window_seq = rec->window_seq;
	buf_reset(&p->body);
	body_session(&p->body, rec, 0);
	r = plan_add_asked(p, s, EVENT_SESSION, q, 0, err);
	if (r < 0)
		return r;
	plan_answer(q, s, rec->fork_seq + 1);
	q->ret_created = 1;
	return WEFT_OK;
}

int plan_fork(struct plan *p, struct request *q, struct weft_error *err)
{
	struct fork_point point = { .parent = NULL };
	struct session_rec rec;
	struct plan_session *s;
	int r = plan_replay_creation(p, q, is_same_fork, err);

	if (r != 0)
		return r < 0 ? r : WEFT_OK;
	r = plan_find_asked(p, q, &s, err);
	if (r == WEFT_OK)
		r = find_point(p, s, q->fork_at, &point, err);
	if (r == WEFT_OK)
		r = find_parent(p, s, q, &point, err);
	if (r < 0 || !point.parent)
		return r;
	rec = fork_record(&s->rec, &q->create);
	rec.parent = point.parent->rec.id;
	rec.fork_seq = point.seq;
	rec.inherited_count =
		q->fork_at ? q->fork_inherited :
			     s->rec.inherited_count + s->rec.message_count;
	r = inherit_window(p, s, point.marker, &rec, err);
	if (r == WEFT_OK)
		r = id_new(p->now_ms, &rec.id, err);
	return r < 0 ? r : add_fork(p, q, &rec, err);
}

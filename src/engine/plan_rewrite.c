/*
 * plan_rewrite.c - which lines of a session go, and what stands for them.
 *
 * DESIGN: the session is read once, from its first event to its last, with the
 * store's lock held.  Each event is judged by the rules of model/drop.h.  Those
 * that go are folded by themselves, neighbours together, and the line that
 * takes their place keeps what came of that (model/gone.h).  The record of the
 * session is folded from what is left: it is, by the way it was made, what a
 * rebuild would make of it.
 */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"
#include "model/body.h"
#include "model/derive.h"
#include "model/drop.h"
#include "model/event.h"
#include "model/marker.h"
#include "model/record.h"

/* A name that events of the session speak of. */
struct name_trace {
	struct name_trace *next;
	struct weft_str name;
	uint64_t ver; /* the last */
	bool lost;    /* by that: maybe to another session */
	bool shared;  /* events of another one may speak of it, too */
};

/* Neighbours that go. */
struct range {
	struct store_event first; /* without its text */
	struct weft_str op;       /* in the plan's arena */
	uint64_t last, marker;
	uint64_t n, events, bytes; /* lines, and what is counted of them */
	uint32_t role;
	struct record_own sum;
};

struct rewriting {
	struct plan *plan;
	struct request *q;
	struct plan_session *s;
	struct drop_rule rule;
	struct session_rec *forks; /* that have inherited from it */
	struct record_own own;     /* the record as it will be */
	struct range range;        /* open if n > 0 */
	struct name_trace *names;
	size_t n_rewrites;
	uint64_t events, bytes;     /* of all lines, as they are counted */
	struct arena page, scratch; /* of some events, of one */
	struct weft_error *err;
};

/* ---- names ---- */

static struct name_trace *trace_of(struct rewriting *w, struct weft_str name)
{
	struct name_trace *t = w->names;

	while (t && !str_eq(t->name, name))
		t = t->next;
	if (t)
		return t;
	t = ARENA_NEW(&w->plan->arena, struct name_trace);
	if (!t)
		return NULL;
	t->name = arena_str(&w->plan->arena, name);
	t->next = w->names;
	w->names = t;
	return t;
}

/*
 * Every version of a name is said by who gets or frees it and, if it was moved,
 * by who loses it.  If this session has said all of them, and never lost the
 * name before the last, then nobody else speaks of it.
 */
static void trace_name(struct rewriting *w, const struct store_event *e,
		       const struct name_rec *name)
{
	struct name_trace *t = trace_of(w, name->name);

	if (!t)
		return; /* the arena has failed */
	t->shared = t->shared || t->lost || name->ver != t->ver + 1;
	t->lost = e->type == EVENT_NAME && id_is_zero(&name->session);
	t->ver = name->ver;
}

static void note_names(struct rewriting *w, const struct store_event *e,
		       const struct op_list *ops)
{
	for (size_t i = 0; i < ops->n; i++) {
		if (ops->v[i].kind == OP_NAME)
			trace_name(w, e, ops->v[i].u.name);
	}
}

/* ---- blobs ---- */

static struct blob_use *use_of(struct rewriting *w, const struct blob_ref *ref)
{
	struct rewrite_answer *ret = &w->q->ret_rewrite;

	for (size_t i = 0; i < ret->n_blobs; i++) {
		if (memcmp(ret->blobs[i].ref.sha256, ref->sha256,
			   sizeof(ref->sha256)) == 0)
			return &ret->blobs[i];
	}
	if (ret->n_blobs == ret->room_blobs) {
		size_t room = ret->room_blobs ? 2 * ret->room_blobs : 8;
		struct blob_use *v =
			ARENA_ARRAY(&w->q->arena, struct blob_use, room);

		if (!v)
			return NULL;
		if (ret->n_blobs)
			memcpy(v, ret->blobs, ret->n_blobs * sizeof(*v));
		ret->blobs = v;
		ret->room_blobs = room;
	}
	ret->blobs[ret->n_blobs] = (struct blob_use){ .ref = *ref };
	return &ret->blobs[ret->n_blobs++];
}

/* A reference that goes is counted, one that stays is said again. */
static int note_blob(struct rewriting *w, const struct blob_ref *ref,
		     bool stays)
{
	struct op_list *out = w->plan->out;
	struct blob_ref *kept;
	struct blob_use *use;
	struct store_op *op;

	if (!stays) {
		use = use_of(w, ref);
		if (!use)
			return arena_error(&w->q->arena, w->err);
		use->n++;
		return WEFT_OK;
	}
	if (w->q->dry)
		return WEFT_OK;
	kept = ARENA_NEW(out->arena, struct blob_ref);
	op = kept ? op_list_add(out, OP_BLOB, &w->s->rec.id) : NULL;
	if (!op)
		return arena_error(out->arena, w->err);
	*kept = *ref;
	op->u.blob = kept;
	return WEFT_OK;
}

static int note_blobs(struct rewriting *w, const struct op_list *ops,
		      bool stays)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < ops->n && r == WEFT_OK; i++) {
		if (ops->v[i].kind == OP_BLOB)
			r = note_blob(w, ops->v[i].u.blob, stays);
	}
	return r;
}

/* ---- deriving ---- */

static int derive_into(struct rewriting *w, struct record_own *own,
		       const struct store_event *e)
{
	struct op_list ops = { .arena = &w->scratch };
	struct session_rec rec = own->rec;
	int r;

	arena_reset(&w->scratch);
	r = derive_event(&rec, e, NULL, &ops, w->err);
	if (r == WEFT_OK) {
		note_names(w, e, &ops);
		r = note_blobs(w, &ops, own == &w->own);
	}
	if (r == WEFT_OK && w->plan->arena.failed)
		r = arena_error(&w->plan->arena, w->err);
	return r < 0 ? r : record_own_update(own, &rec, w->err);
}

/* ---- what goes ---- */

static int add_rewrite(struct rewriting *w, uint64_t first, uint64_t last,
		       const struct store_event *with)
{
	struct op_list *out = w->plan->out;
	struct store_rewrite *x = ARENA_NEW(out->arena, struct store_rewrite);
	struct store_op *op;

	w->n_rewrites++;
	if (w->q->dry)
		return WEFT_OK;
	if (!x)
		return arena_error(out->arena, w->err);
	*x = (struct store_rewrite){ first, last, with };
	op = op_list_add(out, OP_REWRITE, &w->s->rec.id);
	if (!op)
		return arena_error(out->arena, w->err);
	op->u.rewrite = x;
	return WEFT_OK;
}

/* Of previews only those are kept that the session still shows. */
static void trim_previews(struct session_rec *sum,
			  const struct session_rec *rec)
{
	if (sum->first_user_seq != rec->first_user_seq)
		sum->first_user_seq = 0;
	if (sum->last_user_seq != rec->last_user_seq)
		sum->last_user_seq = 0;
	if (sum->last_agent_seq != rec->last_agent_seq)
		sum->last_agent_seq = 0;
}

/* The line that stands for the range. */
static int make_gone(struct rewriting *w, struct store_event **ret)
{
	struct range *g = &w->range;
	struct store_event *e = ARENA_NEW(&w->plan->arena, struct store_event);
	const bool alone = w->rule.why == GONE_ERASE;
	struct session_rec sum = g->sum.rec;
	struct gone gone = {
		.why = w->rule.why,
		.seq = g->first.seq,
		.to = g->last,
		.role = alone ? g->role : 0,
		.sum = w->rule.why == GONE_PURGE ? NULL : &sum,
	};

	if (!e)
		return arena_error(&w->plan->arena, w->err);
	*e = (struct store_event){
		.session = w->s->rec.id,
		.seq = g->first.seq,
		.last = g->last,
		.ts_ms = g->first.ts_ms,
		.marker = g->marker,
		.said = g->sum.rec.said_count,
		.type = EVENT_GONE,
		.state = STATE_GONE,
		/* Who sends it again must not bring it back. */
		.op = alone ? g->op : (struct weft_str){ NULL, 0 },
		.more = alone ? g->first.more : 0,
	};
	trim_previews(&sum, &w->s->rec);
	buf_reset(&w->plan->body);
	gone_body(&w->plan->body, &gone);
	if (w->plan->body.error)
		return buf_error(&w->plan->body, w->err);
	e->body = buf_str(&w->plan->body);
	*ret = e;
	return event_seal(e, &w->plan->arena, w->err);
}

/* Neither what stands for others nor the purge itself was said by anybody. */
static bool counts(const struct store_event *e)
{
	return e->type != EVENT_GONE && e->type != EVENT_PURGE;
}

/* A line that stands for others already need not be replaced by another. */
static bool is_as_before(const struct rewriting *w)
{
	return w->range.n == 1 && w->range.first.type == EVENT_GONE &&
	       w->rule.why == GONE_RECLAIM;
}

static int end_range(struct rewriting *w)
{
	struct rewrite_answer *ret = &w->q->ret_rewrite;
	struct range *g = &w->range;
	struct store_event *e = NULL;
	int r;

	if (g->n == 0)
		return WEFT_OK;
	r = make_gone(w, &e);
	if (r == WEFT_OK && !is_as_before(w)) {
		ret->events += g->events;
		ret->bytes += g->bytes;
		r = add_rewrite(w, g->first.seq, g->last, e);
	}
	if (r == WEFT_OK)
		r = derive_into(w, &w->own, e);
	/* Of the same length on the disk, if it stays. */
	if (r == WEFT_OK && e && is_as_before(w))
		w->own.rec.bytes += g->first.bytes.len - e->bytes.len;
	record_own_done(&g->sum);
	*g = (struct range){ .n = 0 };
	return r;
}

static int begin_range(struct rewriting *w, const struct store_event *e)
{
	struct message_facts facts = { 0 };
	struct range *g = &w->range;
	int r = WEFT_OK;

	g->first = *e;
	g->op = arena_str(&w->plan->arena, e->op);
	if (!g->op.ptr)
		return arena_error(&w->plan->arena, w->err);
	/* As if others were before it: it is not the first of the session. */
	g->sum.rec = (struct session_rec){ .id = e->session,
					   .head_seq = e->seq - 1 };
	g->sum.rec.said_count = w->own.rec.said_count;
	if (e->type == EVENT_MESSAGE && e->state != STATE_DAMAGED) {
		arena_reset(&w->scratch);
		r = message_facts_read(e->body, &w->scratch, &facts, w->err);
		g->role = facts.role;
	}
	return r == WEFT_CORRUPT ? WEFT_OK : r;
}

/* Behind it the numbers of a fork go on by themselves. */
static bool is_fork_point(const struct rewriting *w, uint64_t seq)
{
	for (size_t i = 0; i < w->q->ret_rewrite.n_holds; i++) {
		if (w->forks[i].fork_seq == seq)
			return true;
	}
	return false;
}

static int drop_event(struct rewriting *w, const struct store_event *e)
{
	struct range *g = &w->range;
	int r = WEFT_OK;

	/* An erased message has a line of its own. */
	if (w->rule.why == GONE_ERASE)
		r = end_range(w);
	if (r == WEFT_OK && g->n == 0)
		r = begin_range(w, e);
	if (r == WEFT_OK)
		r = derive_into(w, &g->sum, e);
	g->n++;
	g->last = e->last;
	g->marker = e->marker;
	g->events += counts(e);
	g->bytes += e->bytes.len + 1;
	if (r == WEFT_OK && is_fork_point(w, e->last))
		r = end_range(w);
	return r;
}

/* The body of an event of a purged session, with no more than is needed; what
 * it says of names is noted. */
static int bare_body(struct rewriting *w, const struct store_event *e)
{
	struct op_list ops = { .arena = &w->scratch };
	struct session_rec said = { .head_seq =
					    e->type == EVENT_PURGE ? 1 : 0 };
	struct session_rec bare;
	int r;

	arena_reset(&w->scratch);
	r = derive_event(&said, e, NULL, &ops, w->err);
	if (r < 0)
		return r;
	note_names(w, e, &ops);
	buf_reset(&w->plan->body);
	bare = drop_bare(&said);
	/* Who sent what is left may only be known together with it. */
	bare.channel = w->s->rec.channel;
	if (e->type == EVENT_PURGE)
		body_names(&w->plan->body, NULL, 0);
	else
		body_session(&w->plan->body, &bare, 0);
	return buf_error(&w->plan->body, w->err);
}

/* Its first event, or its purge: both may speak of names. */
static int take_bare(struct rewriting *w, const struct store_event *e)
{
	struct store_event *bare =
		ARENA_NEW(&w->plan->arena, struct store_event);
	int r;

	if (!bare)
		return arena_error(&w->plan->arena, w->err);
	*bare = (struct store_event){
		.session = e->session,
		.seq = e->seq,
		.last = e->seq,
		.ts_ms = e->ts_ms,
		.marker = e->marker,
		.type = e->type,
	};
	r = bare_body(w, e);
	if (r < 0)
		return r;
	bare->body = buf_str(&w->plan->body);
	r = event_seal(bare, &w->plan->arena, w->err);
	if (r == WEFT_OK && !str_eq(bare->bytes, e->bytes))
		r = add_rewrite(w, e->seq, e->last, bare);
	return r == WEFT_OK ? derive_into(w, &w->own, bare) : r;
}

/* ---- what stays ---- */

static void note_hold(struct rewriting *w, const struct store_event *e)
{
	struct rewrite_answer *ret = &w->q->ret_rewrite;

	for (size_t i = 0; i < ret->n_holds; i++) {
		if (e->seq > w->forks[i].fork_seq)
			continue;
		ret->holds[i].events++;
		ret->holds[i].bytes += e->bytes.len + 1;
	}
}

static int take_event(struct rewriting *w, const struct store_event *e)
{
	struct gone_facts gone = { .role = 0 };
	enum drop_verdict verdict;
	int r = WEFT_OK;

	w->events += counts(e);
	w->bytes += e->type == EVENT_PURGE ? 0 : e->bytes.len + 1;
	if (e->type == EVENT_GONE) {
		arena_reset(&w->scratch);
		r = gone_facts_read(e->body, &w->scratch, &gone, w->err);
	}
	if (r < 0)
		return r;
	verdict = drop_judge(&w->rule, e, &gone);
	if (e->seq == w->s->rec.fork_seq + 1 && verdict == DROP_GO)
		return fail(w->err, WEFT_CORRUPT,
			    "the first event of the session cannot be read: "
			    "run 'weft repair' first");
	if (verdict == DROP_GO)
		return drop_event(w, e);
	r = end_range(w);
	if (r < 0)
		return r;
	if (verdict == DROP_BARE)
		return take_bare(w, e);
	if (verdict == DROP_HELD)
		note_hold(w, e);
	return derive_into(w, &w->own, e);
}

static int take_all(struct rewriting *w)
{
	struct event_range range = {
		.session = w->s->rec.id,
		.first = 1,
		.last = w->s->rec.head_seq,
	};
	struct event_page page = { .done = 0 };
	int r = WEFT_OK;

	while (r == WEFT_OK && !page.done) {
		arena_reset(&w->page);
		r = w->plan->view->ops->read_events(w->plan->view, &range,
						    &w->page, &page, w->err);
		if (r < 0 || page.n == 0)
			break;
		for (size_t i = 0; i < page.n && r == WEFT_OK; i++)
			r = take_event(w, &page.v[i]);
		range.first = page.v[page.n - 1].last + 1;
	}
	return r == WEFT_OK ? end_range(w) : r;
}

/* ---- before ---- */

static bool has_id(const struct weft_id *v, size_t n, const struct weft_id *id)
{
	for (size_t i = 0; i < n; i++) {
		if (id_eq(&v[i], id))
			return true;
	}
	return false;
}

static bool is_ignored(const struct request *q, const struct weft_id *id)
{
	return has_id(q->ignored, q->n_ignored, id);
}

static bool is_purged(const struct request *q, const struct session_rec *rec)
{
	return rec->purged_at || has_id(q->purged, q->n_purged, &rec->id);
}

/*
 * How far a fork has inherited from its parent.  Of one that was purged only
 * what its own forks see counts.
 */
static int needed_by(struct rewriting *w, const struct session_rec *fork,
		     uint64_t depth, uint64_t *ret)
{
	struct session_rec *v = NULL;
	uint64_t needed = 0;
	size_t n = 0;
	int r;

	*ret = fork->fork_seq;
	if (!is_purged(w->q, fork) || depth > w->plan->limits->fork_depth)
		return WEFT_OK;
	r = w->plan->view->ops->get_children(w->plan->view, &fork->id,
					     &w->plan->arena, &v, &n, w->err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		uint64_t one = 0;

		if (v[i].fork_seq && !is_ignored(w->q, &v[i].id))
			r = needed_by(w, &v[i], depth + 1, &one);
		needed = u64_max(needed, one);
	}
	*ret = u64_min(needed, fork->fork_seq);
	return r;
}

/* Forks hold what they have inherited, also those that were deleted. */
static int find_forks(struct rewriting *w)
{
	struct rewrite_answer *ret = &w->q->ret_rewrite;
	size_t n = 0;
	int r;

	if (w->rule.why == GONE_ERASE)
		return WEFT_OK;
	r = w->plan->view->ops->get_children(w->plan->view, &w->s->rec.id,
					     &w->plan->arena, &w->forks, &n,
					     w->err);
	if (r < 0)
		return r;
	ret->holds = ARENA_ARRAY(&w->q->arena, struct fork_hold, n);
	if (!ret->holds)
		return arena_error(&w->q->arena, w->err);
	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		struct session_rec *fork = &w->forks[i];

		if (fork->fork_seq == 0 || is_ignored(w->q, &fork->id))
			continue;
		r = needed_by(w, fork, 0, &fork->fork_seq);
		w->rule.inherited = u64_max(w->rule.inherited, fork->fork_seq);
		ret->holds[ret->n_holds] =
			(struct fork_hold){ .fork = fork->id,
					    .of = w->s->rec.id };
		w->forks[ret->n_holds++] = *fork;
	}
	return r;
}

static int find_window(struct rewriting *w)
{
	const struct session_rec *rec = &w->s->rec;
	const struct store_event *e = NULL;
	struct marker m;
	bool hidden;
	int r;

	w->rule.first_kept = rec->window_first;
	if (!rec->window_seq || rec->window_first)
		return WEFT_OK;
	r = plan_seen_event(w->plan, w->s, rec->window_seq, &e, &hidden,
			    w->err);
	if (r < 0 || e->type != EVENT_MARKER)
		return r == WEFT_NOT_FOUND ? WEFT_OK : r;
	r = marker_read(e->body, &w->plan->arena, &m, w->err);
	w->rule.first_kept = m.first_kept;
	return r;
}

static int find_last(struct rewriting *w)
{
	static const uint32_t types[] = { EVENT_TURN, EVENT_TODOS,
					  EVENT_LEASE };

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const struct store_event *e;
		int r = plan_last_event(w->plan, w->s, types[i], &e, w->err);

		if (r < 0 && r != WEFT_NOT_FOUND)
			return r;
		if (r == WEFT_OK)
			w->rule.last_of[types[i]] = e->seq;
	}
	return WEFT_OK;
}

static int check_rewrite(struct rewriting *w)
{
	const struct session_rec *rec = &w->s->rec;
	char id[WEFT_ID_CHARS + 1];

	id_format(&rec->id, id);
	if (w->rule.why == GONE_PURGE)
		return rec->purged_at || w->q->dry ?
			       WEFT_OK :
			       fail(w->err, WEFT_CONFLICT,
				    "session %s is not purged", id);
	if (rec->purged_at && w->rule.why == GONE_RECLAIM)
		return fail(w->err, WEFT_NOT_FOUND, "no session %s", id);
	return plan_check_lease(w->plan, w->s, w->q, w->err);
}

static int prepare(struct rewriting *w)
{
	int r = plan_find(w->plan, &w->q->session, &w->s, w->err);

	if (r == WEFT_OK)
		r = check_rewrite(w);
	if (r == WEFT_OK)
		r = find_forks(w);
	if (r == WEFT_OK && w->rule.why == GONE_RECLAIM) {
		r = find_window(w);
		if (r == WEFT_OK)
			r = find_last(w);
	}
	return r;
}

/* ---- after ---- */

/* Names that were only this session's are forgotten with it. */
static int forget_names(struct rewriting *w)
{
	struct op_list *out = w->plan->out;

	for (struct name_trace *t = w->names; t; t = t->next) {
		struct plan_name *x;
		struct store_op *op;
		int r = plan_find_name(w->plan, t->name, &x, w->err);

		if (r < 0)
			return r;
		/* Another one's by now, or forgotten already. */
		if (!id_is_zero(&x->rec.session) || x->rec.ver == 0)
			continue;
		if (t->shared || t->ver != x->rec.ver) {
			w->q->ret_rewrite.names_shared = true;
			continue;
		}
		op = op_list_add(out, OP_UNNAME, &w->s->rec.id);
		if (!op)
			return arena_error(out->arena, w->err);
		op->u.unname = &t->name;
	}
	return WEFT_OK;
}

static int finish_record(struct rewriting *w)
{
	struct session_rec rec = w->own.rec;

	/* Nothing that was spent is spent no more, and those below it count
	 * as before. */
	if (w->rule.why != GONE_PURGE)
		rec.total = w->s->rec.total;
	rec.head_seq = u64_max(rec.head_seq, w->s->rec.head_seq);
	w->s->changed = true;
	return record_copy(&w->s->rec, &rec, &w->plan->arena, w->err);
}

static int finish(struct rewriting *w)
{
	struct rewrite_answer *ret = &w->q->ret_rewrite;
	bool purge = w->rule.why == GONE_PURGE;

	ret->all = purge && ret->n_holds == 0;
	ret->inherited = w->rule.inherited;
	if (ret->all) {
		ret->events = w->events;
		ret->bytes = w->bytes;
	}
	if (w->q->dry || (w->n_rewrites == 0 && !ret->all))
		return WEFT_OK;
	if (ret->all) {
		w->plan->out->n = 0; /* no line of it stays */
		if (!op_list_add(w->plan->out, OP_DROP, &w->s->rec.id))
			return arena_error(w->plan->out->arena, w->err);
	} else {
		int r = finish_record(w);

		if (r < 0)
			return r;
	}
	return purge ? forget_names(w) : WEFT_OK;
}

static int run(struct rewriting *w)
{
	int r = prepare(w);

	if (r == WEFT_OK)
		r = take_all(w);
	return r == WEFT_OK ? finish(w) : r;
}

int plan_rewrite(struct plan *p, struct request *q, struct weft_error *err)
{
	struct rewriting w = {
		.plan = p,
		.q = q,
		.rule = { .why = q->why,
			  .targets = q->targets,
			  .n_targets = q->n_targets },
		.err = err,
	};
	int r;

	arena_init(&w.page, 0);
	arena_init(&w.scratch, 0);
	r = run(&w);
	record_own_done(&w.own);
	record_own_done(&w.range.sum);
	arena_done(&w.page);
	arena_done(&w.scratch);
	/* What was planned so far is of no use by itself. */
	if (r < 0)
		p->out->n = 0;
	return r;
}

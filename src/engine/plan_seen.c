/* plan_seen.c - what a session sees: its own events, and those it inherited. */
#include "base/error.h"
#include "base/id.h"
#include "engine/plan.h"

#define PAGE 64 /* events read at once when looking back */

static int too_deep(const struct plan *p, struct weft_error *err)
{
	return fail(err, WEFT_LIMIT,
		    "more than %llu forks deep (limit fork_depth)",
		    (unsigned long long)p->limits->fork_depth);
}

int plan_seen_event(struct plan *p, struct plan_session *s, uint64_t seq,
		    const struct store_event **ret, bool *ret_hidden,
		    struct weft_error *err)
{
	bool hidden = false;
	int r;

	for (uint64_t hops = 0; hops <= p->limits->fork_depth; hops++) {
		bool here;

		r = plan_is_hidden(p, s, seq, &here, err);
		if (r < 0)
			return r;
		hidden = hidden || here;
		if (seq > s->rec.fork_seq || id_is_zero(&s->rec.parent)) {
			*ret_hidden = hidden;
			return plan_event_at(p, s, seq, ret, err);
		}
		r = plan_find(p, &s->rec.parent, &s, err);
		if (r < 0)
			return r;
	}
	return too_deep(p, err);
}

/* Looking back through the messages of a session and those it inherited. */
struct look {
	struct plan *plan;
	const struct seen_look *ask;
	struct plan_session **way; /* from the reader to where it looks */
	size_t depth, room;
	uint64_t last; /* of what is left */
	struct seen_found *found;
	struct weft_error *err;
};

/* Is it hidden by a session on the way to it? */
static int is_hidden(struct look *k, uint64_t seq, bool *ret)
{
	*ret = false;
	for (size_t i = 0; i < k->depth && !*ret; i++) {
		int r = plan_is_hidden(k->plan, k->way[i], seq, ret, k->err);

		if (r < 0)
			return r;
	}
	return WEFT_OK;
}

/* Take one message into account; 1 if there is no need to go on. */
static int look_at(struct look *k, const struct store_event *e)
{
	struct message_facts facts = { 0 };
	bool hidden, whole;
	int r;

	if (e->type != EVENT_MESSAGE || e->state == STATE_DAMAGED ||
	    e->state == STATE_GONE)
		return 0;
	r = is_hidden(k, e->seq, &hidden);
	if (r < 0 || hidden)
		return r;
	k->found->n++;
	k->found->seq = e->seq;
	k->found->event = e;
	if (k->found->n < k->ask->n)
		return 0;
	if (!k->ask->cut)
		return 1;
	r = message_facts_read(e->body, &k->plan->arena, &facts, k->err);
	if (r == WEFT_OK)
		r = pairs_read(k->ask->pairs, e->body, k->err);
	if (r < 0)
		return r;
	whole = pairs_may_cut(k->ask->pairs);
	return turn_cut_see(k->ask->cut, e->seq, facts.starts_turn && whole) ?
		       1 :
		       0;
}

/* The events of one session, the planned ones first: they are the newest. */
static int look_in(struct look *k, struct plan_session *s)
{
	struct event_range range = {
		.session = s->rec.id,
		.first = u64_max(s->rec.fork_seq + 1, k->ask->first),
		.last = k->last,
		.types = UINT64_C(1) << EVENT_MESSAGE,
		.backwards = 1,
		.max_events = (uint32_t)u64_min(k->ask->n, PAGE),
	};
	int r = 0;

	for (struct plan_event *e = s->events; e && r == 0; e = e->older) {
		if (e->event.seq <= range.last && e->event.seq >= range.first)
			r = look_at(k, &e->event);
		range.last = u64_min(range.last, e->event.seq - 1);
	}
	while (r == 0 && !s->is_new && range.first <= range.last) {
		struct event_page page = { 0 };

		r = k->plan->view->ops->read_events(
			k->plan->view, &range, &k->plan->arena, &page, k->err);
		if (r < 0 || page.n == 0)
			break;
		for (size_t i = 0; i < page.n && r == 0; i++)
			r = look_at(k, &page.v[i]);
		range.last = page.v[page.n - 1].seq - 1;
		range.max_events = PAGE;
		if (page.done)
			break;
	}
	return r;
}

static int look_further(struct look *k, struct plan_session *s)
{
	if (k->depth > k->plan->limits->fork_depth)
		return too_deep(k->plan, k->err);
	if (k->depth == k->room) {
		size_t room = k->room ? 2 * k->room : 8;
		struct plan_session **way = ARENA_ARRAY(
			&k->plan->arena, struct plan_session *, room);

		if (!way)
			return arena_error(&k->plan->arena, k->err);
		if (k->depth)
			memcpy(way, k->way, k->depth * sizeof(*way));
		k->way = way;
		k->room = room;
	}
	k->way[k->depth++] = s;
	return WEFT_OK;
}

int plan_look_back(struct plan *p, struct plan_session *s,
		   const struct seen_look *ask, struct seen_found *ret,
		   struct weft_error *err)
{
	struct look k = { .plan = p, .ask = ask, .found = ret, .err = err };
	int r = 0;

	*ret = (struct seen_found){ 0 };
	k.last = u64_min(ask->last, s->rec.head_seq);
	while (r == 0 && ask->n > 0) {
		r = look_further(&k, s);
		if (r == 0)
			r = look_in(&k, s);
		k.last = u64_min(k.last, s->rec.fork_seq);
		if (r != 0 || k.last < u64_max(ask->first, 1))
			break;
		r = plan_find(p, &s->rec.parent, &s, err);
	}
	return r < 0 ? r : WEFT_OK;
}

/* plan_memory.c - is there a memory to forget? */
#include "base/error.h"
#include "engine/plan.h"
#include "model/memory.h"

static int not_found(uint64_t seq, struct weft_error *err)
{
	return fail(err, WEFT_MEMORY_NOT_FOUND, "no memory at event %llu",
		    (unsigned long long)seq);
}

/* Whether it was forgotten.  A chain that is broken on the way says no. */
static int was_forgotten(struct plan *p, const struct plan_session *s,
			 uint64_t target, bool *ret, struct weft_error *err)
{
	uint64_t at = s->rec.memory_seq;

	*ret = false;
	while (at > target && !*ret) {
		const struct store_event *e;
		struct memory m;
		int r = plan_event_at(p, s, at, &e, err);

		if (r == WEFT_NOT_FOUND ||
		    (r == WEFT_OK && !memory_is_type(e->type)))
			return WEFT_OK;
		if (r == WEFT_OK)
			r = memory_read(e->body, &p->arena, &m, err);
		if (r != WEFT_OK)
			return r;
		*ret = e->type == EVENT_FORGET && m.target == target;
		/* What was edited must not lead us in a circle. */
		at = m.prev < at ? m.prev : 0;
	}
	return WEFT_OK;
}

int plan_check_memory(struct plan *p, const struct plan_session *s,
		      uint64_t target, struct weft_error *err)
{
	const struct store_event *e = NULL;
	bool forgotten = false;
	int r;

	if (target <= s->rec.fork_seq || target > s->rec.head_seq)
		return not_found(target, err);
	r = plan_event_at(p, s, target, &e, err);
	if (r == WEFT_NOT_FOUND || (r == WEFT_OK && e->type != EVENT_MEMORY))
		return not_found(target, err);
	if (r == WEFT_OK)
		r = was_forgotten(p, s, target, &forgotten, err);
	return r == WEFT_OK && forgotten ? not_found(target, err) : r;
}

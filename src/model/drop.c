/* drop.c - which events of a session may be dropped; see drop.h. */
#include "model/drop.h"

#include "base/id.h"

static bool is_target(const struct drop_rule *rule, uint64_t seq)
{
	size_t low = 0, high = rule->n_targets;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rule->targets[middle] < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < rule->n_targets && rule->targets[low] == seq;
}

/* Names, settings, memories, markers and marks mean something wherever they
 * stand. */
static enum drop_verdict judge_reclaim(const struct drop_rule *rule,
				       const struct store_event *e)
{
	if (e->last >= rule->first_kept || e->state == STATE_DAMAGED)
		return DROP_KEEP;
	switch (e->type) {
	case EVENT_MESSAGE:
	case EVENT_GONE:
		break;
	case EVENT_TURN:
	case EVENT_TODOS:
	case EVENT_LEASE:
		if (e->seq == rule->last_of[e->type])
			return DROP_KEEP;
		break;
	default:
		return DROP_KEEP;
	}
	return e->seq <= rule->inherited ? DROP_HELD : DROP_GO;
}

/* A fork sees messages and markers, and what hides messages from it, also if
 * that was said later. */
static enum drop_verdict judge_purge(const struct drop_rule *rule,
				     const struct store_event *e,
				     const struct gone_facts *gone)
{
	switch (e->type) {
	case EVENT_SESSION:
	case EVENT_PURGE:
		return e->state == STATE_DAMAGED ? DROP_GO : DROP_BARE;
	case EVENT_REDACT:
		return e->state == STATE_DAMAGED ? DROP_GO : DROP_KEEP;
	case EVENT_GONE:
		/* Nobody needs to know what they meant. */
		return gone->has_sum ? DROP_GO : DROP_KEEP;
	case EVENT_MESSAGE:
	case EVENT_MARKER:
		if (e->state == STATE_DAMAGED)
			return DROP_GO;
		return e->seq <= rule->inherited ? DROP_HELD : DROP_GO;
	default:
		return DROP_GO;
	}
}

enum drop_verdict drop_judge(const struct drop_rule *rule,
			     const struct store_event *e,
			     const struct gone_facts *gone)
{
	switch ((enum gone_why)rule->why) {
	case GONE_ERASE:
		return e->type == EVENT_MESSAGE && is_target(rule, e->seq) ?
			       DROP_GO :
			       DROP_KEEP;
	case GONE_RECLAIM:
		return judge_reclaim(rule, e);
	case GONE_PURGE:
		return judge_purge(rule, e, gone);
	}
	return DROP_KEEP;
}

struct session_rec drop_bare(const struct session_rec *rec)
{
	return (struct session_rec){
		.id = rec->id,
		.kind = rec->kind,
		.parent = rec->parent,
		.forked_from = rec->forked_from,
		.root = rec->root,
		.fork_seq = rec->fork_seq,
		.inherited_count = rec->inherited_count,
		.window_seq = rec->window_seq,
	};
}

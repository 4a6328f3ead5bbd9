/*
 * derive.h - what an event means for the records: the one place.
 *
 * Used when planning a write, in recovery, when catching up with another
 * process and when rebuilding, so that all of them come to the same result.
 */
#ifndef MODEL_DERIVE_H
#define MODEL_DERIVE_H

#include "model/message.h"
#include "weft/store.h"

/*
 * Apply event `e` to `rec`, its session's record before it (all zero for the
 * session's first event), in place.  Text in `rec` afterwards points into `e`,
 * into `facts` or into out->arena.  Effects on others are added to `out`:
 * OP_NAME, OP_HIDE, OP_BLOB for each reference, and at most one OP_ADD or
 * OP_TAKE for the parent that pays.
 *
 * `facts` may be NULL; then they are read from the event.  Damaged events move
 * head_seq and nothing else; those that are gone besides that mean what their
 * line has kept of them (gone.h).  Unknown types, and bodies that say
 * nothing that can be understood, move head_seq and updated_at.  A session
 * whose first event is damaged is a primary one, begun when its id was made.
 *
 * Fails only for want of memory; `rec` and `out` are then of no use.
 */
int derive_event(struct session_rec *rec, const struct store_event *e,
		 const struct message_facts *facts, struct op_list *out,
		 struct weft_error *err);

/* Add what a descendant spent to `rec`; adds an OP_ADD for the next payer, if
 * there is one. */
void derive_add(struct session_rec *rec, const struct totals *spent,
		struct op_list *out);

/* The opposite: what a descendant had spent is counted elsewhere. */
void derive_take(struct session_rec *rec, const struct totals *spent,
		 struct op_list *out);

/* Grow the list by one op, or mark it failed. */
struct store_op *op_list_add(struct op_list *out, uint32_t kind,
			     const struct weft_id *session);

#endif

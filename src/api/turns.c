/* turns.c - the method that says that somebody is at work in a session. */
#include "api/api.h"

#include "base/error.h"
#include "model/turn.h"

static int take_turn(struct call *c, struct turn *ret)
{
	*ret = (struct turn){ .reason = call_str(c, "reason") };
	(void)turn_state_parse(call_str(c, "state"), &ret->state);
	if (ret->reason.len && ret->state != TURN_FAILED)
		return fail(c->err, WEFT_INVALID,
			    "reason: only a turn that failed has one");
	return WEFT_OK;
}

static int method_turn(struct call *c)
{
	CLEANUP(buf_done) struct buf body = { 0 };
	struct request *q = NULL;
	struct weft_id id;
	struct turn turn;
	int r = call_session_id(c, &id);

	if (r == WEFT_OK)
		r = take_turn(c, &turn);
	if (r != WEFT_OK)
		return r;
	buf_init(&body, SIZE_MAX);
	turn_body(&body, &turn);
	r = buf_error(&body, c->err);
	if (r == WEFT_OK)
		r = call_plain(c, &id, EVENT_TURN, buf_str(&body), &q);
	if (r != WEFT_OK)
		return r;
	request_free(q);
	return call_answer_session(c, &id);
}

/* ---- the rows of the table ---- */

static const struct field fields_turn[] = {
	FIELD_SESSION,
	{ .name = "state",
	  .about = "what has become of the turn",
	  .type = TYPE_CHOICE,
	  .values = "begun|ended|failed",
	  .required = 1 },
	{ .name = "reason",
	  .about = "failed: why, in one line",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	FIELD_OP,
	FIELD_TOKEN,
};

static const struct method rows[] = {
	{ .name = "turn",
	  .about = "Mark that somebody is at work in a session, or no longer. "
		   "Meanwhile running_since says since when; neither reset "
		   "policies nor retention touch it. A turn that began and "
		   "has written nothing for a day counts as dead. To end what "
		   "has not begun writes nothing.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_turn),
	  .run = method_turn },
};

const struct method_group methods_turns = METHOD_GROUP(rows);

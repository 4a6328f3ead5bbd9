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

int method_turn(struct call *c)
{
	CLEANUP(buf_done) struct buf body = { 0 };
	struct request *q = NULL;
	struct session_rec rec;
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
	r = engine_session(c->engine, &id, &c->arena, &rec, c->err);
	return r == WEFT_OK ? encode_session(c, &rec) : r;
}

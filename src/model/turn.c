/* turn.c - the mark that somebody is at work in a session. */
#include "model/turn.h"

#include "model/object.h"

static const struct weft_str state_names[] = {
	[TURN_BEGUN] = STR_INIT("begun"),
	[TURN_ENDED] = STR_INIT("ended"),
	[TURN_FAILED] = STR_INIT("failed"),
};

bool turn_state_parse(struct weft_str s, uint32_t *ret)
{
	for (uint32_t i = TURN_BEGUN; i < ARRAY_LEN(state_names); i++) {
		if (str_eq(s, state_names[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

void turn_body(struct buf *b, const struct turn *t)
{
	buf_add_lit(b, "\"state\":");
	buf_add_json(b, state_names[t->state]);
	if (!t->reason.len)
		return;
	buf_add_lit(b, ",\"reason\":");
	buf_add_json(b, t->reason);
}

bool turn_body_begins(struct weft_str body)
{
	return str_eq(body, STR("\"state\":\"begun\""));
}

int turn_read(struct weft_str body, struct arena *a, struct turn *ret,
	      struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o;
	int r = body_object_parse(&o, body, a, err);

	*ret = (struct turn){ 0 };
	if (r != WEFT_OK)
		return r == WEFT_CORRUPT ? WEFT_OK : r;
	if (turn_state_parse(json_str(yyjson_obj_get(o.root, "state")),
			     &ret->state))
		ret->reason = value_text(yyjson_obj_get(o.root, "reason"), a);
	return WEFT_OK;
}

void turn_apply(const struct turn *t, int64_t ts_ms, struct session_rec *rec)
{
	if (t->state)
		rec->turn_began_at = t->state == TURN_BEGUN ? ts_ms : 0;
}

bool turn_is_running(const struct session_rec *rec, int64_t now_ms)
{
	return rec->turn_began_at && now_ms - rec->updated_at < TURN_DEAD_MS;
}

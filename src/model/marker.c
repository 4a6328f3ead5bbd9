/* marker.c - the body of a marker, both ways. */
#include "model/marker.h"

#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "model/object.h"

static const char *const names[] = {
	[MARKER_COMPACT] = "compact", [MARKER_TRUNCATE] = "truncate",
	[MARKER_CLEAR] = "clear",     [MARKER_HISTORY] = "history",
	[MARKER_UNDO] = "undo",       [MARKER_REDO] = "redo",
};

const char *marker_how_name(uint32_t how)
{
	return how && how < ARRAY_LEN(names) ? names[how] : "unknown";
}

void body_marker(struct buf *b, const struct marker *m)
{
	buf_add_lit(b, "\"how\":\"");
	buf_add_str(b, str_of(marker_how_name(m->how)));
	buf_add_lit(b, "\",\"first_kept\":");
	buf_add_u64(b, m->first_kept);
	if (m->summary.len) {
		buf_add_lit(b, ",\"summary\":");
		buf_add_json(b, m->summary);
	}
	if (m->tokens_saved) {
		buf_add_lit(b, ",\"tokens_saved\":");
		buf_add_u64(b, m->tokens_saved);
	}
	if (m->undoes) {
		buf_add_lit(b, ",\"undoes\":");
		buf_add_u64(b, m->undoes);
	}
}

static uint32_t how_parse(yyjson_val *v)
{
	for (uint32_t i = 1; i < ARRAY_LEN(names); i++) {
		if (yyjson_equals_str(v, names[i]))
			return i;
	}
	return 0;
}

int marker_read(struct weft_str body, struct arena *a, struct marker *ret,
		struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o = { .doc = NULL };
	int r = body_object_parse(&o, body, a, err);

	*ret = (struct marker){ .first_kept = 1 };
	if (r == WEFT_CORRUPT)
		return WEFT_OK;
	if (r < 0)
		return r;
	ret->how = how_parse(yyjson_obj_get(o.root, "how"));
	ret->summary = value_text(yyjson_obj_get(o.root, "summary"), a);
	(void)value_u64(yyjson_obj_get(o.root, "first_kept"), ID_SEQ_MAX + 1,
			&ret->first_kept);
	(void)value_u64(yyjson_obj_get(o.root, "tokens_saved"), INT64_MAX,
			&ret->tokens_saved);
	(void)value_u64(yyjson_obj_get(o.root, "undoes"), ID_SEQ_MAX,
			&ret->undoes);
	return a->failed ? arena_error(a, err) : WEFT_OK;
}

bool turn_cut_see(struct turn_cut *c, uint64_t seq, bool starts_turn)
{
	if (!c->target && (c->seen == c->keep || seq < c->before)) {
		c->target = c->seen ? c->last : UINT64_MAX;
		c->turn = c->later == c->target ? c->target : 0;
	}
	c->is_inside = c->turn != 0;
	if (c->is_inside || c->target == UINT64_MAX)
		return true;
	if (starts_turn && c->target)
		c->turn = seq;
	else if (starts_turn)
		c->later = seq;
	c->last = seq;
	c->seen++;
	return false;
}

uint64_t turn_cut_end(const struct turn_cut *c)
{
	if (c->is_inside)
		return c->turn;
	if (c->target && c->later)
		return c->no_less ? 0 : c->later;
	return c->turn ? 0 : c->target;
}

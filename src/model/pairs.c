/* pairs.c - where a cut parts no call from its result. */
#include "model/pairs.h"

#include "base/error.h"
#include "model/object.h"

struct pair_wait {
	struct pair_wait *next; /* a newer result */
	struct weft_str id;
	uint64_t since; /* so many messages had been seen */
};

void pairs_result(struct pairs *p, struct weft_str id)
{
	struct pair_wait *w;

	if (p->n_waits == PAIR_WAITS)
		return;
	w = ARENA_NEW(p->arena, struct pair_wait);
	if (!w)
		return; /* the arena remembers */
	*w = (struct pair_wait){ p->waits, id, p->n };
	p->waits = w;
	p->n_waits++;
}

void pairs_call(struct pairs *p, struct weft_str id)
{
	struct pair_wait **at = &p->waits;

	while (*at) {
		if (str_eq((*at)->id, id)) {
			*at = (*at)->next;
			p->n_waits--;
		} else {
			at = &(*at)->next;
		}
	}
}

bool pairs_may_cut(struct pairs *p)
{
	p->n++;
	/* Those behind the first have waited longer. */
	if (p->waits && p->n - p->waits->since > PAIR_MESSAGES) {
		p->waits = NULL;
		p->n_waits = 0;
	}
	return !p->waits;
}

static void read_part(struct pairs *p, yyjson_val *part)
{
	yyjson_val *type = yyjson_obj_get(part, "type");

	if (yyjson_equals_str(type, "tool_result"))
		pairs_result(p, value_text(yyjson_obj_get(part, "tool_use_id"),
					   p->arena));
	else if (yyjson_equals_str(type, "tool_use"))
		pairs_call(p, json_str(yyjson_obj_get(part, "id")));
}

int pairs_read(struct pairs *p, struct weft_str body, struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o = { .doc = NULL };
	yyjson_val *parts;
	int r = body_object_parse(&o, body, p->arena, err);

	if (r == WEFT_CORRUPT)
		return WEFT_OK;
	if (r < 0)
		return r;
	parts = yyjson_obj_get(o.root, "parts");
	for (size_t i = yyjson_arr_size(parts); i-- > 0;)
		read_part(p, yyjson_arr_get(parts, i));
	return p->arena->failed ? arena_error(p->arena, err) : WEFT_OK;
}

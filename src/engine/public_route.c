/* public_route.c - routing as programs call it. */
#include "base/error.h"
#include "base/id.h"
#include "engine/internal.h"
#include "route/lifecycle.h"

#define ROUTE_BYTES_MAX MIB(64)

int weft_configure(struct weft_store *store, const char *text, size_t text_len,
		   struct weft_error *err)
{
	struct engine *e;
	int r = handle_engine(store, &e, err);

	if (r != WEFT_OK)
		return r;
	if (!text || text_len > PTRDIFF_MAX)
		return fail(err, WEFT_INVALID, "configuration: not a text");
	return engine_configure(e, (struct weft_str){ text, text_len }, err);
}

int weft_asks_reset(const char *text, size_t text_len,
		    struct weft_str *ret_rest)
{
	struct weft_str rest;

	if (!text || !lifecycle_is_reset_command(
			     (struct weft_str){ text, text_len }, &rest))
		return 0;
	if (ret_rest)
		*ret_rest = rest;
	return 1;
}

void weft_route_options_init(struct weft_route_options *o, size_t size)
{
	const struct weft_route_options preset = { .size = size };

	options_init(o, size, &preset, sizeof(preset));
}

int route_options_take(const struct weft_route_options *options,
		       struct route_request *ret, uint32_t *ret_flags,
		       struct weft_error *err)
{
	struct weft_route_options o;
	int r;

	if (!options)
		return fail(err, WEFT_INVALID, "no message to route given");
	r = options_take(&o, sizeof(o), options, err);
	if (r != WEFT_OK)
		return r;
	/* Who goes step by step decides for itself how far. */
	if (o.flags & ~(ret_flags ? WEFT_ROUTE_DRY_RUN : 0))
		return fail(err, WEFT_INVALID, "unknown flags 0x%x for routing",
			    o.flags);
	if (ret_flags)
		*ret_flags = o.flags;
	*ret = (struct route_request){
		.context = {
			.channel = o.channel,
			.account = o.account,
			.chat_type = o.chat_type,
			.chat_id = o.chat_id,
			.topic_id = o.topic_id,
			.space_type = o.space_type,
			.space_id = o.space_id,
			.sender_id = o.sender_id,
			.mentioned = o.mentioned != 0,
		},
		.agent = o.agent,
		.session_key = o.session_key,
	};
	return WEFT_OK;
}

void routed_fill(const struct route *r, const struct route_end *end,
		 struct weft_routed *ret)
{
	*ret = (struct weft_routed){ .created = end->created,
				     .warnings = (uint32_t)r->warnings.n };
	if (!id_is_zero(&end->session))
		id_format(&end->session, ret->session);
	/* An agent's id has at most 64 bytes. */
	memcpy(ret->agent, r->agent.ptr, r->agent.len);
}

int weft_route(struct weft_store *store,
	       const struct weft_route_options *options,
	       struct weft_routed *ret, struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a;
	struct route_request q;
	struct route_end end;
	struct route route;
	struct engine *e;
	uint32_t flags = 0;
	int r = handle_engine(store, &e, err);

	arena_init(&a, ROUTE_BYTES_MAX);
	if (r == WEFT_OK)
		r = route_options_take(options, &q, &flags, err);
	if (r == WEFT_OK)
		r = engine_resolve_route(e, &q, &a, &route, err);
	if (r == WEFT_OK)
		r = engine_route(e, &route, flags & WEFT_ROUTE_DRY_RUN, &a,
				 &end, err);
	if (r == WEFT_OK && ret)
		routed_fill(&route, &end, ret);
	return r;
}

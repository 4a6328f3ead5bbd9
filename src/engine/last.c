/*
 * last.c - the conversation that a person was in last, for programs that know
 * who speaks where and keep no key of their own.
 *
 * What is over is passed over: a message that arrives now would not go on with
 * it either.
 */
#include "base/id.h"
#include "engine/internal.h"

#define PAGE       32u
#define PAGE_BYTES MIB(16)

/* The first of a page that goes on; false if none does. */
static bool find_open(const struct session_page *page,
		      const struct config_reset *policy, int64_t now_ms,
		      struct weft_id *ret)
{
	for (size_t i = 0; i < page->n; i++) {
		if (session_is_over(&page->v[i], policy, now_ms))
			continue;
		*ret = page->v[i].id;
		return true;
	}
	return false;
}

int engine_last_session(struct engine *e, struct weft_str user,
			struct weft_str channel, struct weft_id *ret,
			struct weft_error *err)
{
	struct config_reset policy = routing_policy(e, channel);
	struct list_query q = {
		.kinds = UINT64_C(1) << KIND_PRIMARY,
		.user = user,
		.channel = channel,
		.sort = LIST_BY_INTERACTION,
		.limit = PAGE,
	};
	bool more = true;
	int r = engine_check_process(e, err);

	*ret = (struct weft_id){ { 0 } };
	while (r == WEFT_OK && more) {
		CLEANUP(arena_done) struct arena a;
		struct session_page page;

		arena_init(&a, PAGE_BYTES);
		r = e->store->ops->list(e->store, &q, &a, &page, err);
		if (r != WEFT_OK ||
		    find_open(&page, &policy, engine_now_ms(e), ret))
			return r;
		more = page.more && page.n;
		if (more) {
			q.cursor_ms = page.v[page.n - 1].last_interaction_at;
			q.cursor_id = page.v[page.n - 1].id;
		}
	}
	return r;
}

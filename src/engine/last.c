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

/* Whether it is somebody's own, and goes on. */
static bool is_open(const struct session_rec *rec,
		    const struct config_reset *policy, int64_t now_ms,
		    struct arena *a)
{
	return !session_is_over(rec, policy, now_ms) &&
	       !scope_text_is_shared(rec->scope, a);
}

/* The last one of a user; *ret stays if there is none that is newer. */
struct last {
	struct config_reset policy;
	struct weft_id id;
	int64_t at; /* of the last interaction */
};

static int look_for(struct engine *e, struct weft_str user,
		    struct weft_str channel, struct last *ret,
		    struct weft_error *err)
{
	struct list_query q = {
		.kinds = UINT64_C(1) << KIND_PRIMARY,
		.user = user,
		.channel = channel,
		.sort = LIST_BY_INTERACTION,
		.limit = PAGE,
	};
	struct session_page page = { .more = 1 };

	while (page.more) {
		CLEANUP(arena_done) struct arena a;
		int r;

		arena_init(&a, PAGE_BYTES);
		r = e->store->ops->list(e->store, &q, &a, &page, err);
		if (r != WEFT_OK || page.n == 0)
			return r;
		for (size_t i = 0; i < page.n; i++) {
			const struct session_rec *rec = &page.v[i];

			if (!is_open(rec, &ret->policy, engine_now_ms(e), &a))
				continue;
			if (id_is_zero(&ret->id) ||
			    rec->last_interaction_at > ret->at) {
				ret->id = rec->id;
				ret->at = rec->last_interaction_at;
			}
			return WEFT_OK;
		}
		q.cursor_ms = page.v[page.n - 1].last_interaction_at;
		q.cursor_id = page.v[page.n - 1].id;
	}
	return WEFT_OK;
}

int engine_last_session(struct engine *e, struct weft_str user,
			struct weft_str channel, struct weft_id *ret,
			struct weft_error *err)
{
	CLEANUP(arena_done) struct arena a;
	struct last last = { .policy = routing_policy(e, channel) };
	struct name_list names = { 0 };
	struct person p;
	int r = engine_check_process(e, err);

	*ret = (struct weft_id){ { 0 } };
	arena_init(&a, MIB(1));
	if (r != WEFT_OK)
		return r;
	/* As the program calls them, as routing does, and as it did before
	 * they were linked. */
	p = routing_sender(e, channel, user, &a);
	if (!str_eq(user, STR(PERSON_SEVERAL)))
		name_list_add(&names, user, &a);
	name_list_add(&names, p.name, &a);
	for (size_t i = 0; i < p.ids.n; i++)
		name_list_add(&names, person_id(channel, p.ids.v[i], &a), &a);
	if (a.failed)
		return arena_error(&a, err);
	for (size_t i = 0; i < names.n && r == WEFT_OK; i++) {
		if (names.v[i].len)
			r = look_for(e, names.v[i], channel, &last, err);
	}
	*ret = last.id;
	return r;
}

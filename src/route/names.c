/* names.c - what conversations are called besides their key. */
#include "route/norm.h"
#include "route/scope.h"

void name_list_push(struct name_list *l, struct weft_str name, struct arena *a)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		struct weft_str *v = ARENA_ARRAY(a, struct weft_str, room);

		if (!v)
			return;
		if (l->n)
			memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
		l->room = room;
	}
	l->v[l->n++] = name;
}

void name_list_add(struct name_list *l, struct weft_str name, struct arena *a)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_eq(l->v[i], name))
			return;
	}
	name_list_push(l, name, a);
}

struct weft_str names_main(struct weft_str agent, struct arena *a)
{
	return NORM_JOIN(a, STR("agent:"), norm_agent(agent, a), STR(":main"));
}

bool names_is_main(struct weft_str name)
{
	struct weft_str agent, rest;

	return names_parse_legacy(name, &agent, &rest) &&
	       str_eq(rest, STR("main"));
}

/* The three forms in which a person was the name of a direct conversation. */
static void add_direct(struct name_list *l, const struct scope_value *place,
		       struct weft_str agent, struct weft_str peer,
		       struct arena *a)
{
	struct weft_str channel = place->name, account = place->value;

	if (peer.len == 0)
		return;
	name_list_add(l,
		      NORM_JOIN(a, STR("agent:"), agent, STR(":direct:"), peer),
		      a);
	name_list_add(l,
		      NORM_JOIN(a, STR("agent:"), agent, STR(":"), channel,
				STR(":direct:"), peer),
		      a);
	name_list_add(l,
		      NORM_JOIN(a, STR("agent:"), agent, STR(":"), channel,
				STR(":"), account, STR(":direct:"), peer),
		      a);
}

/* A group, channel, thread, ...: its topic is part of it everywhere. */
static void add_other(struct name_list *l, struct weft_str channel,
		      struct weft_str agent, const struct route_context *c,
		      struct arena *a)
{
	struct weft_str kind = norm_clean(c->chat_type, a);
	struct weft_str chat = norm_clean(c->chat_id, a);
	struct weft_str topic = norm_clean(c->topic_id, a);

	if (chat.len == 0)
		return;
	if (topic.len)
		chat = NORM_JOIN(a, chat, STR("/"), topic);
	name_list_add(l,
		      NORM_JOIN(a, STR("agent:"), agent, STR(":"), channel,
				STR(":"), kind.len ? kind : STR("unknown"),
				STR(":"), chat),
		      a);
}

struct name_list names_legacy(struct weft_str agent,
			      const struct route_context *c,
			      const struct identity *sender, struct arena *a)
{
	struct weft_str id = norm_agent(agent, a);
	struct scope_value place = {
		.name = norm_clean(c->channel, a),
		.value = norm_account(c->account, a),
	};
	struct name_list l = { 0 };

	if (place.name.len == 0)
		place.name = STR("unknown");
	name_list_add(&l, names_main(id, a), a);
	if (!str_eq(norm_clean(c->chat_type, a), STR("direct"))) {
		add_other(&l, place.name, id, c, a);
		return l;
	}
	add_direct(&l, &place, id, norm_clean(c->sender_id, a), a);
	add_direct(&l, &place, id, sender->name, a);
	add_direct(&l, &place, id, norm_clean(c->chat_id, a), a);
	return l;
}

bool names_is_explicit(struct weft_str key, struct arena *a)
{
	struct weft_str clean = norm_clean(key, a);

	return str_starts(clean, STR(SCOPE_KEY_PREFIX)) ||
	       str_starts(clean, STR("agent:"));
}

bool names_parse_legacy(struct weft_str key, struct weft_str *ret_agent,
			struct weft_str *ret_rest)
{
	const struct weft_str prefix = STR("agent:");
	struct weft_str s = norm_trim(key), agent;
	const char *colon;

	if (!str_starts(s, prefix))
		return false;
	s = str_skip(s, prefix.len);
	colon = s.len ? memchr(s.ptr, ':', s.len) : NULL;
	if (!colon)
		return false;
	agent = (struct weft_str){ s.ptr, (size_t)(colon - s.ptr) };
	s = str_skip(s, agent.len + 1);
	if (norm_trim(agent).len == 0 || s.len == 0)
		return false;
	*ret_agent = agent;
	*ret_rest = s;
	return true;
}

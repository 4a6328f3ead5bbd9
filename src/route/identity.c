/* identity.c - several ids of one person. */
#include "route/norm.h"
#include "route/scope.h"

static struct identity_link clean_link(const struct identity_link *from,
				       struct arena *a)
{
	struct weft_str *ids = ARENA_ARRAY(a, struct weft_str, from->n_ids + 1);
	struct identity_link link = {
		.name = norm_clean(from->name, a),
		.ids = ids,
	};

	for (size_t i = 0; ids && i < from->n_ids; i++) {
		struct weft_str id = norm_clean(from->ids[i], a);

		if (id.len)
			ids[link.n_ids++] = id;
	}
	return link;
}

struct identity_links identity_links_clean(const struct identity_links *from,
					   struct arena *a)
{
	struct identity_link *v =
		ARENA_ARRAY(a, struct identity_link, from->n + 1);
	struct identity_links links = { .v = v };

	for (size_t i = 0; v && i < from->n; i++) {
		struct identity_link link = clean_link(&from->v[i], a);

		if (link.name.len)
			v[links.n++] = link;
	}
	return links;
}

#define CANDIDATES 3

static bool is_one_of(struct weft_str id, const struct weft_str v[CANDIDATES])
{
	for (size_t i = 0; i < CANDIDATES; i++) {
		if (v[i].len && str_eq(id, v[i]))
			return true;
	}
	return false;
}

static bool link_has(const struct identity_link *link, bool own_name,
		     const struct weft_str candidates[CANDIDATES])
{
	if (own_name && is_one_of(link->name, candidates))
		return true;
	for (size_t i = 0; i < link->n_ids; i++) {
		if (is_one_of(link->ids[i], candidates))
			return true;
	}
	return false;
}

/* What is behind the first colon, if there is something on both sides. */
static struct weft_str behind_colon(struct weft_str id)
{
	const char *colon = id.len ? memchr(id.ptr, ':', id.len) : NULL;
	size_t at = colon ? (size_t)(colon - id.ptr) : 0;

	return at > 0 && at + 1 < id.len ? str_skip(id, at + 1) : STR("");
}

struct identity identity_of(const struct identity_links *links,
			    struct weft_str channel, struct weft_str id,
			    bool own_name, struct arena *a)
{
	struct identity who = { .name = norm_clean(id, a) };
	struct weft_str on = norm_clean(channel, a);
	struct weft_str candidates[CANDIDATES] = { who.name };

	if (who.name.len == 0)
		return who;
	if (on.len)
		candidates[1] = NORM_JOIN(a, on, STR(":"), who.name);
	candidates[2] = behind_colon(who.name);
	for (size_t i = 0; i < links->n; i++) {
		if (link_has(&links->v[i], own_name, candidates)) {
			who.name = links->v[i].name;
			who.link = &links->v[i];
			break;
		}
	}
	return who;
}

/* person.c - which person a text means. */
#include "route/person.h"

#include "route/norm.h"

struct weft_str person_id(struct weft_str channel, struct weft_str id,
			  struct arena *a)
{
	struct weft_str clean = norm_clean(id, a);
	struct weft_str before = NORM_JOIN(
		a, norm_no_colon(norm_clean(channel, a), a), STR(":"));

	if (clean.len == 0 || before.len <= 1 || str_starts(clean, before))
		return clean;
	return NORM_JOIN(a, before, clean);
}

/* Whether a channel stands in front of an id. */
static bool has_channel(struct weft_str id)
{
	const char *colon = id.len ? memchr(id.ptr, ':', id.len) : NULL;

	return colon && colon > id.ptr && colon < id.ptr + id.len - 1;
}

static struct person person_of_link(const struct identity_link *link,
				    struct arena *a)
{
	struct person p = { .name = arena_str(a, link->name) };

	for (size_t i = 0; i < link->n_ids; i++)
		name_list_add(&p.ids, arena_str(a, link->ids[i]), a);
	/* A link that is called like an id is that id, too. */
	if (has_channel(p.name))
		name_list_add(&p.ids, p.name, a);
	return p;
}

struct person person_of_sender(const struct identity *who,
			       struct weft_str channel, struct arena *a)
{
	struct person p = { .bare = false };

	if (who->name.len == 0)
		return p;
	if (who->link)
		return person_of_link(who->link, a);
	p.name = person_id(channel, who->name, a);
	name_list_add(&p.ids, p.name, a);
	return p;
}

struct person person_of_text(const struct identity_links *links,
			     struct weft_str text, struct arena *a)
{
	struct weft_str clean = norm_clean(text, a);
	const struct identity_link *link = identity_named(links, clean);
	struct person p = { .name = clean };

	if (!link)
		link = identity_find(links, clean);
	if (link)
		return person_of_link(link, a);
	p.bare = !has_channel(clean);
	if (!p.bare)
		name_list_add(&p.ids, clean, a);
	return p;
}

bool person_sent(const struct person *p, struct weft_str id,
		 struct weft_str channel, struct arena *a)
{
	struct weft_str bare = norm_clean(id, a);
	struct weft_str full = person_id(channel, bare, a);

	if (bare.len == 0)
		return false;
	for (size_t i = 0; i < p->ids.n; i++) {
		if (str_eq(p->ids.v[i], full) || str_eq(p->ids.v[i], bare))
			return true;
	}
	/* Where there is no channel, a program says who it is. */
	return channel.len == 0 && str_eq(bare, p->name);
}

bool person_is_user(const struct person *p, struct weft_str user,
		    struct weft_str channel, bool routed, struct arena *a)
{
	if (user.len == 0 || p->name.len == 0)
		return false;
	if (str_eq(norm_clean(user, a), p->name) && !(p->bare && routed))
		return true;
	return person_sent(p, user, channel, a);
}

struct weft_str person_shown(const struct person *p, struct weft_str user,
			     struct weft_str channel, struct arena *a)
{
	struct weft_str clean = norm_clean(user, a);

	return str_eq(clean, p->name) ? clean : person_id(channel, clean, a);
}

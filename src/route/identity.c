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

/* ---- finding an id among many ---- */

static void put_slot(struct identity_slot *slots, size_t mask,
		     const struct identity_slot *what)
{
	size_t i = hash_bytes(what->text->ptr, what->text->len) & mask;

	for (; slots[i].text; i = (i + 1) & mask) {
		/* It is the first one's. */
		if (slots[i].is_name == what->is_name &&
		    str_eq(*slots[i].text, *what->text))
			return;
	}
	slots[i] = *what;
}

static void make_slots(struct identity_links *links, struct arena *a)
{
	struct identity_slot *slots;
	size_t n = links->n, room = 8;

	for (size_t i = 0; i < links->n; i++)
		n += links->v[i].n_ids;
	while (room < 2 * n)
		room *= 2;
	slots = ARENA_ARRAY(a, struct identity_slot, room);
	if (!slots) {
		links->n = 0;
		return;
	}
	for (uint32_t i = 0; i < links->n; i++) {
		const struct identity_link *link = &links->v[i];

		put_slot(slots, room - 1,
			 &(struct identity_slot){ &link->name, i, 1 });
		for (size_t k = 0; k < link->n_ids; k++)
			put_slot(
				slots, room - 1,
				&(struct identity_slot){ &link->ids[k], i, 0 });
	}
	links->slots = slots;
	links->mask = room - 1;
}

/* The number of the first link that has `text`, or links->n. */
static size_t first_link(const struct identity_links *links,
			 struct weft_str text, bool own_name)
{
	size_t first = links->n, i;

	if (links->n == 0 || text.len == 0)
		return first;
	i = hash_bytes(text.ptr, text.len) & links->mask;
	for (; links->slots[i].text; i = (i + 1) & links->mask) {
		const struct identity_slot *slot = &links->slots[i];

		if (slot->link < first && (own_name || !slot->is_name) &&
		    str_eq(*slot->text, text))
			first = slot->link;
	}
	return first;
}

const struct identity_link *identity_find(const struct identity_links *links,
					  struct weft_str id)
{
	size_t i = first_link(links, id, false);

	return i < links->n ? &links->v[i] : NULL;
}

const struct identity_link *identity_named(const struct identity_links *links,
					   struct weft_str name)
{
	size_t i;

	if (links->n == 0 || name.len == 0)
		return NULL;
	i = hash_bytes(name.ptr, name.len) & links->mask;
	for (; links->slots[i].text; i = (i + 1) & links->mask) {
		const struct identity_slot *slot = &links->slots[i];

		if (slot->is_name && str_eq(*slot->text, name))
			return &links->v[slot->link];
	}
	return NULL;
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
	make_slots(&links, a);
	return links;
}

/* ---- who somebody is ---- */

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
	size_t first, other;

	if (who.name.len == 0)
		return who;
	first = first_link(links, who.name, own_name);
	if (on.len) {
		on = NORM_JOIN(a, on, STR(":"), who.name);
		other = first_link(links, on, own_name);
		first = other < first ? other : first;
	}
	other = first_link(links, behind_colon(who.name), own_name);
	first = other < first ? other : first;
	if (first < links->n) {
		who.name = links->v[first].name;
		who.link = &links->v[first];
	}
	return who;
}

/*
 * render_ids.c - names and ids that a provider takes.
 *
 * An id stays as it is where that may be.  Others get one that is made of what
 * can be kept of them and a checksum of all of it, so that the same log always
 * gives the same ids.
 */
#include "base/crc32c.h"
#include "base/error.h"
#include "model/render_item.h"

#define NAME_MAX_CHARS 64
#define SUFFIX_CHARS   9 /* _xxxxxxxx */
#define ID_MAX_CHARS   64

/* An id that is taken. */
struct sent_id {
	struct table_node node;
	struct weft_str id;
	size_t scope; /* where: the group that makes the call, or 0 */
	uint32_t uses;
};

struct id_rules {
	size_t max;
	bool any_char;    /* not only A-Z a-z 0-9 _ - */
	bool once_in_all; /* not only within a message */
};

static const struct id_rules rules[] = {
	[RENDER_ANTHROPIC] = { .max = 64 },
	[RENDER_OPENAI] = { .max = 40, .any_char = true },
	[RENDER_RESPONSES] = { .max = 64,
			       .any_char = true,
			       .once_in_all = true },
};

static bool is_token_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool is_token(struct weft_str s, size_t max)
{
	if (s.len == 0 || s.len > max)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_token_char(s.ptr[i]))
			return false;
	}
	return true;
}

void render_add_name(struct buf *b, struct weft_str name)
{
	if (is_token(name, NAME_MAX_CHARS)) {
		buf_add_str(b, name);
		return;
	}
	for (size_t i = 0; i < name.len && i < NAME_MAX_CHARS; i++)
		buf_add_c(b, is_token_char(name.ptr[i]) ? name.ptr[i] : '_');
}

/* ---- ids ---- */

struct ids {
	struct render_tidy *tidy;
	const struct id_rules *rules;
	struct table sent;
};

static void ids_done(struct ids *s)
{
	table_done(&s->sent);
}

static struct sent_id *find_sent(const struct ids *s, struct weft_str id,
				 size_t scope)
{
	struct table_node *n =
		table_first(&s->sent, hash_bytes(id.ptr, id.len));

	for (; n; n = table_next(n)) {
		struct sent_id *found = TABLE_ENTRY(n, struct sent_id, node);

		if (found->scope == scope && str_eq(found->id, id))
			return found;
	}
	return NULL;
}

/* NULL: no memory. */
static struct sent_id *add_sent(struct ids *s, struct weft_str id, size_t scope)
{
	struct sent_id *n = ARENA_NEW(s->tidy->render->arena, struct sent_id);

	if (!n || table_add(&s->sent, &n->node, hash_bytes(id.ptr, id.len)) < 0)
		return NULL;
	n->id = id;
	n->scope = scope;
	return n;
}

/* The n-th way to write an id that cannot stay. */
static struct weft_str other_id(struct ids *s, struct weft_str id, uint32_t n)
{
	char kept[ID_MAX_CHARS];
	size_t room = s->rules->max - SUFFIX_CHARS, len = 0;
	uint32_t sum = crc32c(0, id.ptr, id.len) + n;

	for (; len < id.len && len < room; len++)
		kept[len] = is_token_char(id.ptr[len]) ? id.ptr[len] : '_';
	return arena_printf(s->tidy->render->arena, "%.*s_%08x", (int)len, kept,
			    sum);
}

static bool may_stay(const struct ids *s, struct weft_str id)
{
	if (s->rules->any_char)
		return id.len <= s->rules->max;
	return is_token(id, s->rules->max);
}

/* Take the ids that may stay as they are; count those that may not. */
static int keep_ids(struct ids *s, const struct render_group *g, size_t scope,
		    size_t *ret_left, struct weft_error *err)
{
	for (size_t i = g->first; i < g->first + g->n; i++) {
		struct render_item *call = s->tidy->blocks[i].item;

		if (call->kind != ITEM_CALL)
			continue;
		call->sent_id = (struct weft_str){ NULL, 0 };
		if (!may_stay(s, call->id) || find_sent(s, call->id, scope)) {
			++*ret_left;
			continue;
		}
		call->sent_id = call->id;
		if (!add_sent(s, call->id, scope))
			return fail_no_memory(err);
	}
	return WEFT_OK;
}

/* Find an id that is free for a call that could not keep its own. */
static int change_id(struct ids *s, struct render_item *call, size_t scope,
		     struct weft_error *err)
{
	struct sent_id *own = find_sent(s, call->id, scope);

	if (!own)
		own = add_sent(s, call->id, scope);
	if (!own)
		return fail_no_memory(err);
	/* Counted, so that the same id many times is not tried many times. */
	do {
		call->sent_id = other_id(s, call->id, own->uses++);
		if (!call->sent_id.ptr)
			return fail_no_memory(err);
	} while (find_sent(s, call->sent_id, scope));
	return add_sent(s, call->sent_id, scope) ? WEFT_OK :
						   fail_no_memory(err);
}

static int group_ids(struct ids *s, const struct render_group *g, size_t scope,
		     struct weft_error *err)
{
	size_t left = 0;
	int r = keep_ids(s, g, scope, &left, err);

	for (size_t i = g->first; left && i < g->first + g->n && r == WEFT_OK;
	     i++) {
		struct render_item *call = s->tidy->blocks[i].item;

		if (call->kind == ITEM_CALL && !call->sent_id.ptr) {
			r = change_id(s, call, scope, err);
			left--;
		}
	}
	return r;
}

int render_ids(struct render_tidy *t, struct weft_error *err)
{
	CLEANUP(ids_done)
	struct ids s = {
		.tidy = t,
		.rules = &rules[t->render->options.format],
	};
	int r = WEFT_OK;

	for (size_t i = 0; i < t->n_groups && r == WEFT_OK; i++) {
		if (!t->groups[i].user)
			r = group_ids(&s, &t->groups[i],
				      s.rules->once_in_all ? 0 : i + 1, err);
	}
	return r;
}

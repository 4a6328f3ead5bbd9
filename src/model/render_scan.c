/*
 * render_scan.c - from the body of a message to what may be sent of it.
 *
 * A copy of the body in braces is parsed for its values; what is kept are
 * their bytes in the body itself.
 */
#include "base/error.h"
#include "model/message.h"
#include "model/render_item.h"

#define POOL_BYTES   KIB(8)
#define IMAGE_TOKENS 1500
#define ITEM_TOKENS  4

uint64_t render_item_tokens(const struct render_item *item)
{
	uint64_t bytes = item->value.len + item->mark.len;
	uint64_t tokens = ITEM_TOKENS;

	if (item->kind == ITEM_IMAGE)
		return ITEM_TOKENS + IMAGE_TOKENS;
	for (size_t i = 0; i < item->n_inner; i++)
		tokens += render_item_tokens(&item->inner[i]);
	return tokens + (bytes + item->name.len + 2) / 3;
}

static bool is_own_model(const struct render_scan *s, yyjson_val *root)
{
	yyjson_val *provider =
		yyjson_obj_get(yyjson_obj_get(root, "model"), "provider");

	return yyjson_get_len(provider) == 0 ||
	       str_eq(json_str(provider), s->render->options.provider);
}

static int scan_message(struct render_scan *s, yyjson_val *root,
			struct weft_error *err)
{
	struct arena *a = s->render->arena;
	yyjson_val *parts = yyjson_obj_get(root, "parts"), *part;
	yyjson_val *bound = yyjson_obj_get(root, "bound");
	yyjson_arr_iter it = yyjson_arr_iter_with(parts);
	struct render_said *said = s->said;

	s->own_model = is_own_model(s, root);
	render_scan_sender(s, yyjson_obj_get(root, "from"));
	said->items = ARENA_ARRAY(a, struct render_item,
				  yyjson_arr_size(parts) +
					  render_bound_count(s, bound));
	if (!said->items)
		return arena_error(a, err);
	said->n_items = render_scan_bound(s, bound, said->items);
	while ((part = yyjson_arr_iter_next(&it)))
		said->n_items +=
			render_scan_part(s, part, &said->items[said->n_items]);
	return a->failed ? arena_error(a, err) : WEFT_OK;
}

/* Put it behind, or in front of, what is there. */
static void link_said(struct render *r, struct render_said *said)
{
	bool front = r->options.newest_first;

	said->next = front ? r->first : NULL;
	said->before = front ? NULL : r->last;
	if (said->next)
		said->next->before = said;
	else
		r->last = said;
	if (said->before)
		said->before->next = said;
	else
		r->first = said;
}

/* Count it, and see whether it may be the first that is kept. */
static void weigh_said(struct render *r, const struct render_said *said)
{
	bool begins = false;

	for (size_t i = said->n_items; i-- > 0;) {
		const struct render_item *item = &said->items[i];

		r->tokens += render_item_tokens(item);
		if (item->kind == ITEM_RESULT)
			pairs_result(&r->pairs, item->id);
		else if (item->kind == ITEM_CALL)
			pairs_call(&r->pairs, item->id);
		else
			begins = said->role == ROLE_USER;
	}
	r->turn_seen |= pairs_may_cut(&r->pairs) && begins;
}

static void add_said(struct render *r, struct render_said *said)
{
	if (said->n_items == 0)
		return;
	link_said(r, said);
	r->n_items += said->n_items;
	if (r->options.tokens)
		weigh_said(r, said);
}

/* NULL without an error: it is no JSON. */
static int parse(struct weft_str text, void *pool, yyjson_doc **ret,
		 struct weft_error *err)
{
	struct weft_error unheard;
	int r;

	*ret = json_parse_trusted(text, pool, POOL_BYTES);
	if (*ret)
		return WEFT_OK;
	/* Only this one tells bad JSON from want of memory. */
	r = json_parse(text, NULL, ret, &unheard);
	return r == WEFT_NO_MEMORY ? fail_no_memory(err) : WEFT_OK;
}

int render_add(struct render *r, uint64_t seq, struct weft_str body,
	       struct weft_error *err)
{
	char pool[POOL_BYTES]; /* outlives the document in it */
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct render_scan s = { .render = r, .body = body };
	yyjson_val *root;
	int code;

	buf_reset(&r->scratch);
	buf_add_c(&r->scratch, '{');
	buf_add_str(&r->scratch, body);
	buf_add_c(&r->scratch, '}');
	code = buf_error(&r->scratch, err);
	s.text = buf_str(&r->scratch);
	if (code == WEFT_OK)
		code = parse(s.text, pool, &doc, err);
	if (code != WEFT_OK || !doc)
		return code;
	s.said = ARENA_NEW(r->arena, struct render_said);
	if (!s.said)
		return arena_error(r->arena, err);
	s.doc = doc;
	s.said->seq = seq;
	root = yyjson_doc_get_root(doc);
	if (!role_parse(json_str(yyjson_obj_get(root, "role")), &s.said->role))
		return WEFT_OK;
	code = scan_message(&s, root, err);
	if (code == WEFT_OK)
		add_said(r, s.said);
	return code == WEFT_OK && r->arena->failed ?
		       arena_error(r->arena, err) :
		       code;
}

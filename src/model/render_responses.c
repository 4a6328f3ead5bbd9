/*
 * render_responses.c - {"items":[...]} for OpenAI's Responses.
 *
 * Calls and results are items of their own, beside the messages.
 */
#include "model/render_item.h"

static void add_image(struct buf *b, const struct render_item *image)
{
	buf_add_lit(b, "{\"type\":\"input_image\",\"image_url\":");
	render_add_data_url(b, image);
	buf_add_c(b, '}');
}

static void add_part(struct buf *b, const struct render_block *block, bool user)
{
	if (block->item->kind == ITEM_IMAGE) {
		add_image(b, block->item);
		return;
	}
	buf_add_str(b, user ? STR("{\"type\":\"input_text\",\"text\":") :
			      STR("{\"type\":\"output_text\",\"text\":"));
	render_add_text(b, block);
	buf_add_c(b, '}');
}

static void add_message(struct buf *b, const struct render_block *v, size_t n,
			bool user)
{
	buf_add_str(b, user ? STR("{\"type\":\"message\",\"role\":\"user\","
				  "\"content\":") :
			      STR("{\"type\":\"message\",\"role\":"
				  "\"assistant\",\"content\":"));
	if (n == 1 && v->item->kind == ITEM_TEXT) {
		render_add_text(b, v);
		buf_add_c(b, '}');
		return;
	}
	for (size_t i = 0; i < n; i++) {
		buf_add_c(b, i ? ',' : '[');
		add_part(b, &v[i], user);
	}
	buf_add_lit(b, "]}");
}

static void add_call(struct buf *b, const struct render_item *call)
{
	buf_add_lit(b, "{\"type\":\"function_call\",\"call_id\":");
	buf_add_json(b, call->sent_id);
	buf_add_lit(b, ",\"name\":\"");
	render_add_name(b, call->name);
	buf_add_lit(b, "\",\"arguments\":");
	render_add_arguments(b, call);
	buf_add_c(b, '}');
}

static bool has_image(const struct render_item *result)
{
	for (size_t i = 0; i < result->n_inner; i++) {
		if (result->inner[i].kind == ITEM_IMAGE)
			return true;
	}
	return false;
}

static void add_output(struct buf *b, const struct render_item *call)
{
	const struct render_item *answer = call->answer;

	buf_add_lit(b, "{\"type\":\"function_call_output\",\"call_id\":");
	buf_add_json(b, call->sent_id);
	buf_add_lit(b, ",\"output\":");
	if (answer && has_image(answer))
		render_add_parts(b, answer, "input_text", add_image);
	else
		render_add_answer(b, answer);
	buf_add_c(b, '}');
}

static bool is_message(const struct render_block *b)
{
	return b->item->kind != ITEM_CALL && b->item->kind != ITEM_OPAQUE;
}

static void add_group(struct buf *b, const struct render_tidy *t,
		      const struct render_group *g, bool *first)
{
	const struct render_block *v = &t->blocks[g->first];
	size_t i = 0;

	for (; i < g->n_results; i++) {
		render_comma(b, first);
		add_output(b, v[i].item);
	}
	while (i < g->n) {
		size_t to = i + 1;

		render_comma(b, first);
		if (!is_message(&v[i])) {
			if (v[i].item->kind == ITEM_CALL)
				add_call(b, v[i].item);
			else
				buf_add_str(b, v[i].item->value);
			i++;
			continue;
		}
		/* A name of its own belongs to what follows. */
		while (to < g->n && is_message(&v[to]) &&
		       (v[to].said == v[to - 1].said || !v[to - 1].said))
			to++;
		add_message(b, v + i, to - i, g->user);
		i = to;
	}
}

void render_responses(struct buf *b, const struct render_tidy *t,
		      struct weft_str summary)
{
	bool first = true;

	buf_add_lit(b, "{\"items\":[");
	if (t->n_system || summary.len) {
		first = false;
		buf_add_lit(b, "{\"type\":\"message\",\"role\":\"system\","
			       "\"content\":");
		(void)render_add_system(b, t, summary);
		buf_add_c(b, '}');
	}
	for (size_t i = 0; i < t->n_groups; i++)
		add_group(b, t, &t->groups[i], &first);
	buf_add_lit(b, "]}");
}

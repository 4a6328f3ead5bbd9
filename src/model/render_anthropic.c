/*
 * render_anthropic.c - {"system":...,"messages":[...]} of Anthropic's Messages.
 *
 * A group is a message.
 */
#include "model/render_item.h"

static void add_image(struct buf *b, const struct render_item *image)
{
	buf_add_lit(b, "{\"type\":\"image\",\"source\":{\"type\":\"base64\","
		       "\"media_type\":\"");
	buf_add_str(b, image->mark);
	buf_add_lit(b, "\",\"data\":\"");
	buf_add_str(b, image->value);
	buf_add_lit(b, "\"}}");
}

/* The arguments of a call: an object, whatever they were. */
static void add_input(struct buf *b, const struct render_item *call)
{
	if (call->is_text) {
		buf_add_lit(b, "{\"_raw\":");
		render_add_string(b, call->value);
		buf_add_c(b, '}');
	} else if (call->value.ptr[0] == '{') {
		buf_add_str(b, call->value);
	} else {
		buf_add_lit(b, "{\"_raw\":");
		buf_add_str(b, call->value);
		buf_add_c(b, '}');
	}
}

static void add_call(struct buf *b, const struct render_item *call)
{
	buf_add_lit(b, "{\"type\":\"tool_use\",\"id\":");
	buf_add_json(b, call->sent_id);
	buf_add_lit(b, ",\"name\":\"");
	render_add_name(b, call->name);
	buf_add_lit(b, "\",\"input\":");
	add_input(b, call);
	buf_add_c(b, '}');
}

static void add_content(struct buf *b, const struct render_item *result)
{
	if (!result->is_list) {
		render_add_string(b, result->value.len ? result->value :
							 render_no_output);
		return;
	}
	if (result->n_inner == 0) {
		render_add_string(b, render_no_output);
		return;
	}
	render_add_parts(b, result, "text", add_image);
}

static void add_result(struct buf *b, const struct render_item *call)
{
	const struct render_item *answer = call->answer;

	buf_add_lit(b, "{\"type\":\"tool_result\",\"tool_use_id\":");
	buf_add_json(b, call->sent_id);
	buf_add_lit(b, ",\"content\":");
	if (answer)
		add_content(b, answer);
	else
		render_add_string(b, render_no_result);
	if (!answer || answer->is_error)
		buf_add_lit(b, ",\"is_error\":true");
	buf_add_c(b, '}');
}

static void add_block(struct buf *b, const struct render_block *block)
{
	const struct render_item *item = block->item;

	switch (item->kind) {
	case ITEM_CALL:
		add_call(b, item);
		break;
	case ITEM_IMAGE:
		add_image(b, item);
		break;
	case ITEM_OPAQUE:
		buf_add_str(b, item->value);
		break;
	case ITEM_THINKING:
		buf_add_lit(b, "{\"type\":\"thinking\",\"thinking\":");
		render_add_string(b, item->value);
		buf_add_lit(b, ",\"signature\":");
		render_add_string(b, item->mark);
		buf_add_c(b, '}');
		break;
	default:
		buf_add_lit(b, "{\"type\":\"text\",\"text\":");
		render_add_text(b, block);
		buf_add_c(b, '}');
		break;
	}
}

static void add_message(struct buf *b, const struct render_tidy *t,
			const struct render_group *g)
{
	const struct render_block *v = &t->blocks[g->first];

	buf_add_str(b, g->user ? STR("{\"role\":\"user\",\"content\":") :
				 STR("{\"role\":\"assistant\",\"content\":"));
	if (g->n == 1 && v->item->kind == ITEM_TEXT) {
		render_add_text(b, v);
		buf_add_c(b, '}');
		return;
	}
	for (size_t i = 0; i < g->n; i++) {
		buf_add_c(b, i ? ',' : '[');
		if (i < g->n_results)
			add_result(b, v[i].item);
		else
			add_block(b, &v[i]);
	}
	buf_add_lit(b, "]}");
}

void render_anthropic(struct buf *b, const struct render_tidy *t,
		      struct weft_str summary)
{
	buf_add_lit(b, "{\"system\":");
	if (!render_add_system(b, t, summary))
		buf_add_lit(b, "null");
	buf_add_lit(b, ",\"messages\":[");
	if (t->n_groups && !t->groups[0].user) {
		buf_add_lit(b, "{\"role\":\"user\",\"content\":");
		render_add_string(b, render_no_user);
		buf_add_lit(b, "},");
	}
	for (size_t i = 0; i < t->n_groups; i++) {
		if (i)
			buf_add_c(b, ',');
		add_message(b, t, &t->groups[i]);
	}
	buf_add_lit(b, "]}");
}

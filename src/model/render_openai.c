/*
 * render_openai.c - {"messages":[...]} of OpenAI's Chat Completions.
 *
 * The two sides need not take turns here, so what was said in several messages
 * stays several messages; only calls join the text that led to them.
 */
#include "model/render_item.h"

static void add_part(struct buf *b, const struct render_block *block)
{
	switch (block->item->kind) {
	case ITEM_IMAGE:
		buf_add_lit(b, "{\"type\":\"image_url\",\"image_url\":"
			       "{\"url\":");
		render_add_data_url(b, block->item);
		buf_add_lit(b, "}}");
		break;
	case ITEM_OPAQUE:
		buf_add_str(b, block->item->value);
		break;
	default:
		buf_add_lit(b, "{\"type\":\"text\",\"text\":");
		render_add_text(b, block);
		buf_add_c(b, '}');
		break;
	}
}

/* What was said in v[0..n), calls left out; null if there is nothing else. */
static void add_content(struct buf *b, const struct render_block *v, size_t n)
{
	const struct render_block *last = NULL;
	size_t parts = 0;
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		if (v[i].item->kind == ITEM_CALL)
			continue;
		last = &v[i];
		parts++;
	}
	if (!last) {
		buf_add_lit(b, "null");
		return;
	}
	if (parts == 1 && last->item->kind == ITEM_TEXT) {
		render_add_text(b, last);
		return;
	}
	buf_add_c(b, '[');
	for (size_t i = 0; i < n; i++) {
		if (v[i].item->kind == ITEM_CALL)
			continue;
		render_comma(b, &first);
		add_part(b, &v[i]);
	}
	buf_add_c(b, ']');
}

static void add_calls(struct buf *b, const struct render_block *v, size_t n)
{
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		const struct render_item *call = v[i].item;

		if (call->kind != ITEM_CALL)
			continue;
		buf_add_str(b, first ? STR(",\"tool_calls\":[") : STR(","));
		first = false;
		buf_add_lit(b, "{\"id\":");
		buf_add_json(b, call->sent_id);
		buf_add_lit(b, ",\"type\":\"function\",\"function\":"
			       "{\"name\":\"");
		render_add_name(b, call->name);
		buf_add_lit(b, "\",\"arguments\":");
		render_add_arguments(b, call);
		buf_add_lit(b, "}}");
	}
	if (!first)
		buf_add_c(b, ']');
}

static void add_assistant(struct buf *b, const struct render_block *v, size_t n,
			  bool *first)
{
	size_t from = 0;

	while (from < n) {
		size_t to = from;
		bool calls = false;

		/* Up to where another message says something. */
		for (; to < n; to++) {
			calls |= v[to].item->kind == ITEM_CALL;
			if (!calls && v[to].said != v[from].said)
				break;
		}
		render_comma(b, first);
		buf_add_lit(b, "{\"role\":\"assistant\",\"content\":");
		add_content(b, v + from, to - from);
		add_calls(b, v + from, to - from);
		buf_add_c(b, '}');
		from = to;
	}
}

/* ---- the user's side ---- */

static void add_result(struct buf *b, const struct render_item *call)
{
	const struct render_item *answer = call->answer;

	buf_add_lit(b, "{\"role\":\"tool\",\"tool_call_id\":");
	buf_add_json(b, call->sent_id);
	buf_add_lit(b, ",\"content\":");
	render_add_answer(b, answer);
	buf_add_c(b, '}');
}

/* Images may not be in a tool's message: the user shows them behind it. */
static void add_result_images(struct buf *b, const struct render_block *v,
			      size_t n, bool *first)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const struct render_item *answer = v[i].item->answer;

		for (size_t k = 0; answer && k < answer->n_inner; k++) {
			struct render_item image = answer->inner[k];
			struct render_block block = { .item = &image };

			if (image.kind != ITEM_IMAGE)
				continue;
			if (!any) {
				render_comma(b, first);
				buf_add_lit(b, "{\"role\":\"user\",\"content\":"
					       "[{\"type\":\"text\",\"text\":"
					       "\"[images of the results "
					       "above]\"}");
			}
			any = true;
			buf_add_c(b, ',');
			add_part(b, &block);
		}
	}
	if (any)
		buf_add_lit(b, "]}");
}

static void add_user(struct buf *b, const struct render_block *v, size_t n,
		     bool *first)
{
	size_t from = 0;

	while (from < n) {
		size_t to = from + 1;

		/* A name of its own belongs to what follows. */
		while (to < n &&
		       (v[to].said == v[to - 1].said || !v[to - 1].said))
			to++;
		render_comma(b, first);
		buf_add_lit(b, "{\"role\":\"user\",\"content\":");
		add_content(b, v + from, to - from);
		buf_add_c(b, '}');
		from = to;
	}
}

static void add_group(struct buf *b, const struct render_tidy *t,
		      const struct render_group *g, bool *first)
{
	const struct render_block *v = &t->blocks[g->first];

	if (!g->user) {
		add_assistant(b, v, g->n, first);
		return;
	}
	for (size_t i = 0; i < g->n_results; i++) {
		render_comma(b, first);
		add_result(b, v[i].item);
	}
	add_result_images(b, v, g->n_results, first);
	add_user(b, v + g->n_results, g->n - g->n_results, first);
}

void render_openai(struct buf *b, const struct render_tidy *t,
		   struct weft_str summary)
{
	bool first = true;

	buf_add_lit(b, "{\"messages\":[");
	if (t->n_system || summary.len) {
		first = false;
		buf_add_lit(b, "{\"role\":\"system\",\"content\":");
		(void)render_add_system(b, t, summary);
		buf_add_c(b, '}');
	}
	for (size_t i = 0; i < t->n_groups; i++)
		add_group(b, t, &t->groups[i], &first);
	buf_add_lit(b, "]}");
}

/* render.c - messages as a model's provider wants them: the way through, and
 * what the formats share. */
#include "model/render.h"

#include "base/error.h"
#include "base/text.h"
#include "model/render_item.h"

#define BLOCK_BYTES 64 /* around what was said */

static const struct weft_str format_names[] = {
	[RENDER_ANTHROPIC] = STR_INIT("anthropic"),
	[RENDER_OPENAI] = STR_INIT("openai"),
	[RENDER_RESPONSES] = STR_INIT("responses"),
};

/* Stands in front of a summary. */
static const struct weft_str summary_label =
	STR_INIT("Summary of the conversation so far:\\n\\n");

const struct weft_str render_no_result =
	STR_INIT("[no result: this call did not finish]");
const struct weft_str render_no_output = STR_INIT("[no output]");
const struct weft_str render_no_user =
	STR_INIT("[no message of the user before this]");

bool render_format_parse(struct weft_str name, uint32_t *ret)
{
	for (uint32_t i = RENDER_ANTHROPIC; i < ARRAY_LEN(format_names); i++) {
		if (str_eq(name, format_names[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

void render_init(struct render *r, const struct render_options *o,
		 struct arena *a)
{
	*r = (struct render){ .options = *o, .arena = a };
	if (o->provider.len == 0)
		r->options.provider = o->format == RENDER_ANTHROPIC ?
					      STR("anthropic") :
					      STR("openai");
	r->pairs.arena = a;
	buf_init(&r->scratch, 0);
}

void render_done(struct render *r)
{
	buf_done(&r->scratch);
}

bool render_enough(struct render *r)
{
	if (!r->options.newest_first || !r->options.tokens || !r->turn_seen ||
	    r->tokens <= r->options.tokens)
		return false;
	r->cut_short = true;
	return true;
}

static uint64_t system_tokens(const struct render_tidy *t,
			      struct weft_str summary)
{
	uint64_t sum = (summary.len + 2) / 3;

	for (size_t i = 0; i < t->n_system; i++)
		sum += render_item_tokens(t->system[i]);
	return sum;
}

/* About what it will take: growing step by step costs more than it holds. */
static size_t size_of(const struct render_tidy *t, struct weft_str summary)
{
	size_t sum = KIB(1) + summary.len;

	for (size_t i = 0; i < t->n_blocks; i++)
		sum += t->blocks[i].item->value.len + BLOCK_BYTES;
	return sum;
}

int render_first_kept(struct render *r, struct weft_str summary, uint64_t *ret,
		      struct weft_error *err)
{
	CLEANUP(render_tidy_done) struct render_tidy t = { .render = r };
	const struct render_block *b;
	int code = render_tidy(&t, r, err);

	if (code != WEFT_OK)
		return code;
	*ret = 0;
	if (!render_cut(&t, system_tokens(&t, summary)))
		return WEFT_OK;
	b = &t.blocks[t.groups[0].first];
	/* A name of its own stands in front of what was said. */
	*ret = b->said ? b->said->seq : b[1].said->seq;
	return WEFT_OK;
}

int render_write(struct render *r, struct weft_str summary, struct buf *out,
		 struct weft_error *err)
{
	CLEANUP(render_tidy_done) struct render_tidy t = { .render = r };
	int code = render_tidy(&t, r, err);

	if (code != WEFT_OK)
		return code;
	if (text_is_blank(summary))
		summary = STR("");
	(void)render_cut(&t, system_tokens(&t, summary));
	code = render_ids(&t, err);
	if (code != WEFT_OK)
		return code;
	(void)buf_reserve(out, size_of(&t, summary));
	if (r->options.format == RENDER_ANTHROPIC)
		render_anthropic(out, &t, summary);
	else if (r->options.format == RENDER_OPENAI)
		render_openai(out, &t, summary);
	else
		render_responses(out, &t, summary);
	return buf_error(out, err);
}

/* ---- what the formats share ---- */

/* Is this what its message begins with? */
static bool is_beginning(const struct render_block *b)
{
	const struct render_item *item = b->said->items;

	while (item->kind == ITEM_CALL || item->kind == ITEM_RESULT)
		item++;
	return item == b->item;
}

void render_add_text(struct buf *b, const struct render_block *block)
{
	buf_add_c(b, '"');
	if (block->said && block->said->names_sender && is_beginning(block)) {
		buf_add_str(b, block->said->sender);
		buf_add_lit(b, ": ");
	}
	buf_add_str(b, block->item->value);
	buf_add_c(b, '"');
}

void render_add_string(struct buf *b, struct weft_str raw)
{
	buf_add_c(b, '"');
	buf_add_str(b, raw);
	buf_add_c(b, '"');
}

static void add_joined(struct buf *b, const struct render_item *result)
{
	bool first = true;

	buf_add_c(b, '"');
	for (size_t i = 0; i < result->n_inner; i++) {
		if (result->inner[i].kind != ITEM_TEXT)
			continue;
		if (!first)
			buf_add_lit(b, "\\n");
		first = false;
		buf_add_str(b, result->inner[i].value);
	}
	buf_add_c(b, '"');
}

void render_add_answer(struct buf *b, const struct render_item *answer)
{
	if (answer && answer->is_list)
		add_joined(b, answer);
	else
		render_add_string(b, answer ? answer->value : render_no_result);
}

void render_add_parts(struct buf *b, const struct render_item *result,
		      const char *type,
		      void (*add_image)(struct buf *b,
					const struct render_item *image))
{
	for (size_t i = 0; i < result->n_inner; i++) {
		const struct render_item *part = &result->inner[i];

		buf_add_c(b, i ? ',' : '[');
		if (part->kind == ITEM_IMAGE) {
			add_image(b, part);
			continue;
		}
		buf_add_lit(b, "{\"type\":\"");
		buf_add_str(b, str_of(type));
		buf_add_lit(b, "\",\"text\":");
		render_add_string(b, part->value);
		buf_add_c(b, '}');
	}
	buf_add_c(b, ']');
}

void render_add_data_url(struct buf *b, const struct render_item *image)
{
	buf_add_lit(b, "\"data:");
	buf_add_str(b, image->mark);
	buf_add_lit(b, ";base64,");
	buf_add_str(b, image->value);
	buf_add_c(b, '"');
}

void render_add_arguments(struct buf *b, const struct render_item *call)
{
	if (!call->is_text) {
		buf_add_json(b, call->value);
		return;
	}
	buf_add_c(b, '"');
	buf_add_str(b, call->value);
	buf_add_c(b, '"');
}

bool render_add_system(struct buf *b, const struct render_tidy *t,
		       struct weft_str summary)
{
	if (t->n_system == 0 && summary.len == 0)
		return false;
	buf_add_c(b, '"');
	for (size_t i = 0; i < t->n_system; i++) {
		if (i)
			buf_add_lit(b, "\\n\\n");
		buf_add_str(b, t->system[i]->value);
	}
	if (summary.len) {
		if (t->n_system)
			buf_add_lit(b, "\\n\\n");
		buf_add_str(b, summary_label);
		buf_add_json_inside(b, summary);
	}
	buf_add_c(b, '"');
	return true;
}

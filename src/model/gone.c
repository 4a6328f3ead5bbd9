/* gone.c - the line that stands for events which were dropped; see gone.h. */
#include "model/gone.h"

#include "base/clock.h"
#include "base/id.h"
#include "model/body.h"
#include "model/message.h"
#include "model/object.h"
#include "model/record.h"
#include "model/usage.h"

static const char *const why_names[] = {
	[GONE_RECLAIM] = "reclaim",
	[GONE_ERASE] = "erase",
	[GONE_PURGE] = "purge",
};

const char *gone_why_name(uint32_t why)
{
	return why && why < ARRAY_LEN(why_names) ? why_names[why] : "unknown";
}

/* ---- writing ---- */

static void add_number(struct buf *b, const char *name, uint64_t n)
{
	buf_printf(b, "\"%s\":%llu,", name, (unsigned long long)n);
}

static void add_preview(struct buf *b, const char *name, uint64_t seq,
			struct weft_str text)
{
	if (!seq)
		return;
	buf_printf(b, "\"%s\":{\"seq\":%llu", name, (unsigned long long)seq);
	if (text.len) {
		buf_add_lit(b, ",\"text\":");
		buf_add_json(b, text);
	}
	buf_add_lit(b, "},");
}

static void add_sum(struct buf *b, const struct session_rec *sum, bool text)
{
	const struct weft_str none = STR_INIT("");
	char when[TIME_CHARS + 1];

	buf_add_lit(b, ",\"sum\":{");
	if (sum->last_interaction_at) {
		time_format(sum->last_interaction_at, when);
		buf_printf(b, "\"said_at\":\"%s\",", when);
	}
	/* Also what cost nothing but has no price. */
	if (!totals_are_zero(&sum->own)) {
		body_usage(b, &sum->own);
		buf_add_c(b, ',');
	}
	add_preview(b, "first_user", sum->first_user_seq,
		    text ? sum->first_user : none);
	add_preview(b, "last_user", sum->last_user_seq,
		    text ? sum->last_user : none);
	add_preview(b, "last_agent", sum->last_agent_seq,
		    text ? sum->last_agent : none);
	add_number(b, "content_seq", sum->content_seq);
	add_number(b, "messages", sum->message_count);
	buf_printf(b, "\"turns\":%llu}", (unsigned long long)sum->turn_count);
}

void gone_body(struct buf *b, const struct gone *g)
{
	if (g->to > g->seq)
		add_number(b, "to", g->to);
	buf_printf(b, "\"why\":\"%s\"", gone_why_name(g->why));
	if (g->role)
		buf_printf(b, ",\"was\":\"message\",\"role\":\"%s\"",
			   role_name(g->role));
	if (g->sum)
		add_sum(b, g->sum, g->why == GONE_RECLAIM);
}

/* ---- reading ---- */

int gone_facts_read(struct weft_str body, struct arena *a,
		    struct gone_facts *ret, struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o = { .doc = NULL };
	int r = body_object_parse(&o, body, a, err);

	*ret = (struct gone_facts){ .role = 0 };
	if (r == WEFT_CORRUPT)
		return WEFT_OK;
	if (r < 0)
		return r;
	ret->has_sum = yyjson_is_obj(yyjson_obj_get(o.root, "sum"));
	if (yyjson_equals_str(yyjson_obj_get(o.root, "was"), "message"))
		(void)role_parse(json_str(yyjson_obj_get(o.root, "role")),
				 &ret->role);
	return WEFT_OK;
}

/* A preview that the dropped events had; `seq` 0: they had none. */
struct preview {
	uint64_t seq;
	struct weft_str text;
};

static struct preview get_preview(yyjson_val *sum, const char *name,
				  struct arena *a)
{
	yyjson_val *v = yyjson_obj_get(sum, name);
	struct preview p = { .seq = 0 };

	(void)value_u64(yyjson_obj_get(v, "seq"), ID_SEQ_MAX, &p.seq);
	p.text = value_text(yyjson_obj_get(v, "text"), a);
	return p;
}

static void apply_previews(struct session_rec *rec, yyjson_val *sum,
			   struct arena *a)
{
	struct preview first = get_preview(sum, "first_user", a);
	struct preview user = get_preview(sum, "last_user", a);
	struct preview agent = get_preview(sum, "last_agent", a);

	if (first.seq && !rec->first_user_seq) {
		rec->first_user = first.text;
		rec->first_user_seq = first.seq;
	}
	if (user.seq) {
		rec->last_user = user.text;
		rec->hidden_last_user = STR("");
		rec->last_user_seq = user.seq;
	}
	if (agent.seq) {
		rec->last_agent = agent.text;
		rec->hidden_last_agent = STR("");
		rec->last_agent_seq = agent.seq;
	}
}

static void get_number(yyjson_val *sum, const char *name, uint64_t *ret)
{
	(void)value_u64(yyjson_obj_get(sum, name), INT64_MAX, ret);
}

int gone_apply(struct session_rec *rec, struct weft_str body, struct arena *a,
	       struct totals *ret_own, struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o = { .doc = NULL };
	uint64_t messages = 0, turns = 0, content = 0;
	yyjson_val *sum;
	int64_t said;
	int r = body_object_parse(&o, body, a, err);

	*ret_own = (struct totals){ .unpriced = 0 };
	if (r < 0)
		return r;
	sum = yyjson_obj_get(o.root, "sum");
	get_number(sum, "messages", &messages);
	get_number(sum, "turns", &turns);
	get_number(sum, "content_seq", &content);
	rec->message_count += messages;
	rec->turn_count += turns;
	if (content)
		rec->content_seq = content;
	if (time_parse(json_str(yyjson_obj_get(sum, "said_at")), &said))
		rec->last_interaction_at = said;
	apply_previews(rec, sum, a);
	spent_read(yyjson_obj_get(sum, "spent"), ret_own);
	return WEFT_OK;
}

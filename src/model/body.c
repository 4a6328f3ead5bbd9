/* body.c - the bodies of all events but messages. */
#include "model/body.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/text.h"
#include "model/message.h"
#include "model/object.h"
#include "model/record.h"
#include "model/setting.h"

#define PATH_BYTES 4096 /* of project_dir: what the system takes */
#define NAME_SHOWN 32   /* characters of a name in a message */

/* A body being written; nothing of what was in the buffer belongs to it. */
struct writer {
	struct buf *b;
	size_t start;
};

static struct writer writer_of(struct buf *b)
{
	return (struct writer){ b, b->len };
}

static void add_name(struct writer *w, const char *name)
{
	if (w->b->len > w->start)
		buf_add_c(w->b, ',');
	buf_add_c(w->b, '"');
	buf_add_str(w->b, str_of(name));
	buf_add_lit(w->b, "\":");
}

static void add_text(struct writer *w, const char *name, struct weft_str s)
{
	add_name(w, name);
	buf_add_json(w->b, s);
}

static void add_raw(struct writer *w, const char *name, struct weft_str json)
{
	add_name(w, name);
	buf_add_one_line(w->b, json);
}

/* Nothing, if it would be written as `before` was. */
static void add_raw_unless(struct writer *w, const char *name,
			   struct weft_str json, struct weft_str before)
{
	struct buf *b = w->b;
	size_t start = b->len, value;

	add_name(w, name);
	value = b->len;
	buf_add_one_line(b, json);
	if (!b->error &&
	    str_eq((struct weft_str){ b->ptr + value, b->len - value }, before))
		b->len = start;
}

static void add_number(struct writer *w, const char *name, uint64_t n)
{
	add_name(w, name);
	buf_add_u64(w->b, n);
}

static void add_bool(struct writer *w, const char *name, bool value)
{
	add_raw(w, name, value ? STR("true") : STR("false"));
}

static void add_time(struct writer *w, const char *name, int64_t ms)
{
	char text[TIME_CHARS + 1];

	time_format(ms, text);
	add_text(w, name, (struct weft_str){ text, TIME_CHARS });
}

static void add_model(struct writer *w, struct weft_str provider,
		      struct weft_str name)
{
	add_raw(w, "model", STR("{\"provider\":"));
	buf_add_json(w->b, provider);
	buf_add_lit(w->b, ",\"name\":");
	buf_add_json(w->b, name);
	buf_add_c(w->b, '}');
}

/* The same, unless there is nothing to say. */

static void add_id_if(struct writer *w, const char *name,
		      const struct weft_id *id)
{
	char text[WEFT_ID_CHARS + 1];

	if (id_is_zero(id))
		return;
	id_format(id, text);
	add_text(w, name, (struct weft_str){ text, WEFT_ID_CHARS });
}

static void add_text_if(struct writer *w, const char *name, struct weft_str s)
{
	if (s.len)
		add_text(w, name, s);
}

static void add_raw_if(struct writer *w, const char *name, struct weft_str json)
{
	if (json.len)
		add_raw(w, name, json);
}

static void add_number_if(struct writer *w, const char *name, uint64_t n)
{
	if (n)
		add_number(w, name, n);
}

void body_session(struct buf *b, const struct session_rec *rec,
		  uint64_t key_ver)
{
	struct writer w = writer_of(b);

	add_text(&w, "kind", str_of(session_kind_name(rec->kind)));
	if (rec->key.len) {
		add_text(&w, "key", rec->key);
		add_number(&w, "key_ver", key_ver);
	}
	add_id_if(&w, "parent", &rec->parent);
	add_id_if(&w, "forked_from", &rec->forked_from);
	add_number_if(&w, "fork_seq", rec->fork_seq);
	if (!id_eq(&rec->root, &rec->id))
		add_id_if(&w, "root", &rec->root);
	add_id_if(&w, "previous", &rec->previous);
	add_text_if(&w, "parent_tool_use_id", rec->parent_tool_use_id);
	add_text_if(&w, "agent", rec->agent);
	add_text_if(&w, "slug", rec->slug);
	add_text_if(&w, "project_dir", rec->project_dir);
	if (rec->model_provider.len || rec->model_name.len)
		add_model(&w, rec->model_provider, rec->model_name);
	add_text_if(&w, "user", rec->user);
	add_text_if(&w, "channel", rec->channel);
	add_text_if(&w, "user_role", rec->user_role);
	add_raw_if(&w, "scope", rec->scope);
	add_raw_if(&w, "tools", rec->tools);
	add_raw_if(&w, "metadata", rec->metadata);
	add_number_if(&w, "inherited_count", rec->inherited_count);
	add_number_if(&w, "window_seq", rec->window_seq);
	add_number_if(&w, "window_first", rec->window_first);
	add_text_if(&w, "summary", rec->summary);
	if (rec->summary.len != rec->summary_bytes)
		add_number(&w, "summary_bytes", rec->summary_bytes);
	if (rec->expires_at)
		add_time(&w, "expires_at", rec->expires_at);
}

bool routed_patch_is_empty(const struct routed_patch *p)
{
	return !p->scope.ptr && !p->user.ptr && !p->channel.ptr &&
	       !p->user_role.ptr;
}

void body_routed(struct buf *b, const struct routed_patch *p)
{
	struct writer w = writer_of(b);

	if (p->user.ptr)
		add_text(&w, "user", p->user);
	if (p->channel.ptr)
		add_text(&w, "channel", p->channel);
	if (p->user_role.ptr)
		add_text(&w, "user_role", p->user_role);
	if (p->scope.ptr)
		add_raw(&w, "scope", p->scope);
}

static void add_name_rec(struct writer *w, const struct name_rec *name)
{
	add_text(w, "name", name->name);
	add_text(w, "kind", name->kind == NAME_KEY ? STR("key") : STR("alias"));
	add_number(w, "ver", name->ver);
}

void body_name(struct buf *b, const struct name_rec *name, bool gone)
{
	struct writer w = writer_of(b);

	add_name_rec(&w, name);
	if (gone)
		add_bool(&w, "gone", true);
}

void body_redact(struct buf *b, const struct redact *r)
{
	struct writer w = writer_of(b);

	add_number(&w, "target", r->target);
	add_bool(&w, "hidden", r->hidden);
	if (r->role)
		add_text(&w, "role", str_of(role_name(r->role)));
	add_bool(&w, "own", r->own);
	add_bool(&w, "turn", r->starts_turn);
}

void body_names(struct buf *b, const struct name_rec *names, size_t n)
{
	struct writer w = writer_of(b);

	add_raw(&w, "names", STR("["));
	for (size_t i = 0; i < n; i++) {
		struct writer inner;

		buf_add_str(b, i ? STR(",{") : STR("{"));
		inner = writer_of(b);
		add_name_rec(&inner, &names[i]);
		buf_add_c(b, '}');
	}
	buf_add_c(b, ']');
}

void body_usage(struct buf *b, const struct totals *spent)
{
	struct writer w = writer_of(b);
	struct writer inner;

	add_raw(&w, "spent", STR("{"));
	inner = writer_of(b);
	add_number(&inner, "input_tokens", spent->input_tokens);
	add_number(&inner, "output_tokens", spent->output_tokens);
	add_number(&inner, "cache_read_tokens", spent->cache_read_tokens);
	add_number(&inner, "cache_write_tokens", spent->cache_write_tokens);
	add_number(&inner, "cost_nano", spent->cost_nano);
	add_number(&inner, "unpriced", spent->unpriced);
	buf_add_c(b, '}');
}

/* ---- what callers may set ---- */

#define SETTING(name, rule, member)                                          \
	{                                                                    \
		(name), SETTING_##rule, offsetof(struct session_rec, member) \
	}

static const struct setting settings[] = {
	SETTING("slug", LINE, slug),
	SETTING("agent", LINE, agent),
	SETTING("model", MODEL, model_provider),
	SETTING("project_dir", LINE, project_dir),
	SETTING("user", LINE, user),
	SETTING("channel", LINE, channel),
	SETTING("user_role", LINE, user_role),
	SETTING("metadata", OBJECT, metadata),
	SETTING("tools", ARRAY, tools),
	SETTING("pinned", BOOL, pinned),
	SETTING("expires_at", TIME, expires_at),
};

const struct setting *setting_find(struct weft_str name)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		if (str_eq(name, str_of(settings[i].name)))
			return &settings[i];
	}
	return NULL;
}

static struct weft_str text_of(const struct session_rec *rec,
			       const struct setting *s)
{
	return *(const struct weft_str *)(const void *)((const char *)rec +
							s->offset);
}

static uint64_t line_max(const struct setting *s,
			 const struct store_limits *limits)
{
	switch (s->offset) {
	case offsetof(struct session_rec, slug):
		return limits->slug_bytes;
	case offsetof(struct session_rec, project_dir):
		return PATH_BYTES;
	default:
		return limits->name_bytes;
	}
}

static int check_json(const char *name, struct weft_str json, bool is_object,
		      const struct store_limits *limits, struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct json_limits json_limits = {
		.bytes_max = limits->metadata_bytes,
		.depth_max = (unsigned)u64_min(limits->json_depth,
					       JSON_DEPTH_MAX - 1),
	};
	yyjson_val *root;
	int r;

	if (!json.len)
		return WEFT_OK;
	r = json_parse(json, &json_limits, &doc, err);
	if (r != WEFT_OK)
		return fail_prefix(err, r, "%s", name);
	root = yyjson_doc_get_root(doc);
	if (is_object ? yyjson_is_obj(root) : yyjson_is_arr(root))
		return WEFT_OK;
	return fail(err, WEFT_INVALID, "%s: expected an %s, found %s", name,
		    is_object ? "object" : "array", json_kind(root));
}

int body_session_check(const struct session_rec *rec,
		       const struct store_limits *limits,
		       struct weft_error *err)
{
	const struct {
		const char *name;
		struct weft_str text;
		uint64_t max;
	} lines[] = {
		{ "key", rec->key, limits->name_bytes },
		{ "op", rec->op, limits->op_bytes },
		{ "parent_tool_use_id", rec->parent_tool_use_id,
		  limits->name_bytes },
		{ "model.provider", rec->model_provider, limits->name_bytes },
		{ "model.name", rec->model_name, limits->name_bytes },
	};
	int r = WEFT_OK;

	for (size_t i = 0; i < ARRAY_LEN(lines) && r == WEFT_OK; i++)
		r = text_check_line(lines[i].text, lines[i].max, lines[i].name,
				    err);
	for (size_t i = 0; i < ARRAY_LEN(settings) && r == WEFT_OK; i++) {
		const struct setting *s = &settings[i];

		if (s->rule == SETTING_LINE)
			r = text_check_line(text_of(rec, s),
					    line_max(s, limits), s->name, err);
		else if (s->rule == SETTING_OBJECT || s->rule == SETTING_ARRAY)
			r = check_json(s->name, text_of(rec, s),
				       s->rule == SETTING_OBJECT, limits, err);
	}
	return r == WEFT_OK ?
		       check_json("scope", rec->scope, true, limits, err) :
		       r;
}

static int fail_setting(const char *name, const char *expected,
			yyjson_val *found, struct weft_error *err)
{
	return fail(err, WEFT_INVALID, "%s: expected %s, found %s", name,
		    expected, json_kind(found));
}

/* A change that is being checked, and where it is written if it is one. */
struct change {
	const struct setting *setting;
	const struct object_member *member;
	const struct session_rec *rec;
	const struct store_limits *limits;
	struct writer *w;
};

static int change_line(const struct change *c, struct weft_error *err)
{
	yyjson_val *v = c->member->value;
	const char *name = c->setting->name;
	struct weft_str s = STR("");
	int r;

	if (!yyjson_is_null(v)) {
		if (!yyjson_is_str(v))
			return fail_setting(name, "a string", v, err);
		s = json_str(v);
	}
	r = text_check_line(s, line_max(c->setting, c->limits), name, err);
	if (r == WEFT_OK && !str_eq(s, text_of(c->rec, c->setting)))
		add_raw(c->w, name, c->member->raw);
	return r;
}

static int change_json(const struct change *c, struct weft_error *err)
{
	yyjson_val *v = c->member->value;
	const char *name = c->setting->name;
	bool is_object = c->setting->rule == SETTING_OBJECT;
	struct weft_str raw = c->member->raw;
	struct weft_str before = text_of(c->rec, c->setting);

	if (yyjson_is_null(v) ||
	    (is_object && yyjson_is_obj(v) && yyjson_obj_size(v) == 0)) {
		if (before.len)
			add_raw(c->w, name, STR("null"));
		return WEFT_OK;
	}
	if (is_object ? !yyjson_is_obj(v) : !yyjson_is_arr(v))
		return fail_setting(
			name, is_object ? "an object" : "an array or null", v,
			err);
	if (raw.len > c->limits->metadata_bytes)
		return fail(err, WEFT_LIMIT,
			    "%s has %zu bytes, the limit is %llu (limit "
			    "metadata_bytes)",
			    name, raw.len,
			    (unsigned long long)c->limits->metadata_bytes);
	add_raw_unless(c->w, name, raw, before);
	return WEFT_OK;
}

static int model_member(yyjson_val *model, const char *member,
			const char *field, uint64_t max, struct weft_str *ret,
			struct weft_error *err)
{
	yyjson_val *v = yyjson_obj_get(model, member);

	*ret = STR("");
	if (!v || yyjson_is_null(v))
		return WEFT_OK;
	if (!yyjson_is_str(v))
		return fail_setting(field, "a string", v, err);
	*ret = json_str(v);
	return text_check_line(*ret, max, field, err);
}

static int change_model(const struct change *c, struct weft_error *err)
{
	yyjson_val *v = c->member->value;
	struct weft_str provider, name;
	int r;

	if (!yyjson_is_obj(v) && !yyjson_is_null(v))
		return fail_setting("model", "an object or null", v, err);
	r = model_member(v, "provider", "model.provider", c->limits->name_bytes,
			 &provider, err);
	if (r != WEFT_OK)
		return r;
	r = model_member(v, "name", "model.name", c->limits->name_bytes, &name,
			 err);
	if (r != WEFT_OK)
		return r;
	if (!str_eq(provider, c->rec->model_provider) ||
	    !str_eq(name, c->rec->model_name))
		add_model(c->w, provider, name);
	return WEFT_OK;
}

static int change_pinned(const struct change *c, struct weft_error *err)
{
	yyjson_val *v = c->member->value;

	if (!yyjson_is_bool(v))
		return fail_setting("pinned", "true or false", v, err);
	if (yyjson_get_bool(v) != (c->rec->pinned != 0))
		add_bool(c->w, "pinned", yyjson_get_bool(v));
	return WEFT_OK;
}

static int change_expires_at(const struct change *c, struct weft_error *err)
{
	yyjson_val *v = c->member->value;
	int64_t ms = 0;

	if (yyjson_is_null(v)) {
		if (c->rec->expires_at)
			add_raw(c->w, "expires_at", STR("null"));
		return WEFT_OK;
	}
	/* Zero stands for none, so 1970 is refused rather than turned into
	 * its opposite. */
	if (!yyjson_is_str(v) || !time_parse_rfc3339(json_str(v), &ms) ||
	    ms <= 0)
		return fail(err, WEFT_INVALID,
			    "expires_at: expected a time such as "
			    "2026-11-15T10:00:00Z, or null");
	if (ms != c->rec->expires_at)
		add_time(c->w, "expires_at", ms);
	return WEFT_OK;
}

static int check_change(const struct change *c, struct weft_error *err)
{
	switch (c->setting->rule) {
	case SETTING_LINE:
		return change_line(c, err);
	case SETTING_OBJECT:
	case SETTING_ARRAY:
		return change_json(c, err);
	case SETTING_MODEL:
		return change_model(c, err);
	case SETTING_BOOL:
		return change_pinned(c, err);
	default:
		return change_expires_at(c, err);
	}
}

static int fail_unknown(struct weft_str name, struct weft_error *err)
{
	char known[256];
	struct buf b = buf_over(known, sizeof(known));

	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		buf_printf(&b, "%s%s", i ? ", " : "", settings[i].name);
	name = text_cut(name, NAME_SHOWN);
	return fail(err, WEFT_INVALID,
		    "%.*s: no field that can be changed; these can: %.*s",
		    STR_ARG(name), STR_ARG(buf_str(&b)));
}

int body_patch(struct weft_str json, const struct session_rec *rec,
	       const struct store_limits *limits, struct buf *b,
	       struct arena *a, struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct json_limits json_limits = {
		.bytes_max = limits->message_bytes,
		.depth_max =
			(unsigned)u64_min(limits->json_depth, JSON_DEPTH_MAX),
	};
	struct writer w = writer_of(b);
	struct weft_str text = arena_str(a, json);
	struct object_member m;
	struct object_walk walk;
	int r;

	if (!text.ptr)
		return arena_error(a, err);
	r = json_parse(text, &json_limits, &doc, err);
	if (r != WEFT_OK)
		return r;
	if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
		return fail(err, WEFT_INVALID,
			    "expected an object of changes, found %s",
			    json_kind(yyjson_doc_get_root(doc)));
	object_walk_init(&walk, yyjson_doc_get_root(doc), text);
	while (object_walk_next(&walk, &m)) {
		struct change c = { setting_find(m.name), &m, rec, limits, &w };

		if (!c.setting)
			return fail_unknown(m.name, err);
		r = check_change(&c, err);
		if (r != WEFT_OK)
			return r;
	}
	return buf_error(b, err);
}

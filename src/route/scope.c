/* scope.c - the structured identity of a conversation, and its key. */
#include "route/scope.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "route/norm.h"

const struct weft_str dimension_names[DIMENSIONS] = {
	[DIM_SPACE] = STR_INIT("space"),
	[DIM_CHAT] = STR_INIT("chat"),
	[DIM_TOPIC] = STR_INIT("topic"),
	[DIM_SENDER] = STR_INIT("sender"),
};

bool dimensions_has(const struct dimensions *d, enum dimension dim)
{
	for (size_t i = 0; i < d->n; i++) {
		if (d->v[i] == dim)
			return true;
	}
	return false;
}

bool dimensions_add(struct dimensions *d, struct weft_str name, struct arena *a)
{
	struct weft_str clean = norm_clean(name, a);

	for (unsigned i = 0; i < DIMENSIONS; i++) {
		if (!str_eq(clean, dimension_names[i]))
			continue;
		if (!dimensions_has(d, (enum dimension)i))
			d->v[d->n++] = (uint8_t)i;
		return true;
	}
	return false;
}

/* ---- building one ---- */

static struct weft_str typed(struct weft_str type, struct weft_str otherwise,
			     struct weft_str id, struct arena *a)
{
	struct weft_str clean = norm_clean(type, a);

	return NORM_JOIN(a, clean.len ? clean : otherwise, STR(":"),
			 norm_lower(id, a));
}

static struct weft_str chat_value(const struct route_context *c,
				  bool topic_in_chat, struct arena *a)
{
	struct weft_str id = norm_trim(c->chat_id);
	struct weft_str topic = norm_trim(c->topic_id);

	if (id.len == 0)
		return STR("");
	if (topic_in_chat && topic.len)
		id = NORM_JOIN(a, id, STR("/"), topic);
	return typed(c->chat_type, STR("direct"), id, a);
}

struct weft_str scope_value(enum dimension dim, const struct route_context *c,
			    const struct identity *sender, bool topic_in_chat,
			    struct arena *a)
{
	struct weft_str id;

	switch (dim) {
	case DIM_SPACE:
		id = norm_trim(c->space_id);
		return id.len ? typed(c->space_type, STR("space"), id, a) : id;
	case DIM_CHAT:
		return chat_value(c, topic_in_chat, a);
	case DIM_TOPIC:
		id = norm_trim(c->topic_id);
		return id.len ? typed(STR("topic"), STR(""), id, a) : id;
	case DIM_SENDER:
		return sender->name;
	case DIMENSIONS:
		break;
	}
	return STR("");
}

struct scope scope_build(struct weft_str agent, const struct route_context *c,
			 const struct dimensions *dims,
			 const struct identity *sender, struct arena *a)
{
	struct weft_str *names = ARENA_ARRAY(a, struct weft_str, DIMENSIONS);
	struct scope_value *values =
		ARENA_ARRAY(a, struct scope_value, DIMENSIONS);
	struct scope s = {
		.version = SCOPE_VERSION,
		.agent = norm_agent(agent, a),
		.channel = norm_clean(c->channel, a),
		.account = norm_account(c->account, a),
		.dims = names,
		.values = values,
	};
	/* Topics of a Telegram forum are conversations of their own. */
	bool topic_in_chat = str_eq(s.channel, STR("telegram")) &&
			     !dimensions_has(dims, DIM_TOPIC);

	if (s.channel.len == 0)
		s.channel = STR("unknown");
	for (size_t i = 0; names && values && i < dims->n; i++) {
		enum dimension dim = (enum dimension)dims->v[i];
		struct weft_str value =
			scope_value(dim, c, sender, topic_in_chat, a);

		if (value.len == 0)
			continue;
		names[s.n_dims++] = dimension_names[dim];
		values[s.n_values++] =
			(struct scope_value){ dimension_names[dim], value };
	}
	return s;
}

/* ---- its names ---- */

static struct weft_str value_of(const struct scope *s, struct weft_str name)
{
	for (size_t i = 0; i < s->n_values; i++) {
		if (str_eq(s->values[i].name, name))
			return s->values[i].value;
	}
	return STR("");
}

struct weft_str scope_signature(const struct scope *s, struct arena *a)
{
	struct weft_str line = NORM_JOIN(
		a, arena_printf(a, "v=%llu", (unsigned long long)s->version),
		STR("|agent="), norm_clean(s->agent, a), STR("|channel="),
		norm_clean(s->channel, a), STR("|account="),
		norm_clean(s->account, a));

	for (size_t i = 0; i < s->n_dims; i++) {
		struct weft_str dim = norm_clean(s->dims[i], a);

		if (dim.len)
			line = NORM_JOIN(a, line, STR("|"), dim, STR("="),
					 norm_clean(value_of(s, dim), a));
	}
	return line;
}

struct weft_str scope_key(struct weft_str signature, struct arena *a)
{
	struct weft_str clean = norm_clean(signature, a);
	unsigned char hash[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];

	if (clean.len == 0)
		return STR("");
	if (sha256(clean, hash, NULL) != WEFT_OK) {
		a->failed = a->no_memory = true;
		return STR("");
	}
	hex_format(hash, sizeof(hash), hex);
	return NORM_JOIN(a, STR(SCOPE_KEY_PREFIX), str_of(hex));
}

struct weft_str scope_chat_type(const struct scope *s)
{
	struct weft_str chat = value_of(s, dimension_names[DIM_CHAT]);
	const char *colon = chat.len ? memchr(chat.ptr, ':', chat.len) : NULL;

	if (colon)
		return (struct weft_str){ chat.ptr,
					  (size_t)(colon - chat.ptr) };
	/* What is one person's alone is no group's. */
	return value_of(s, dimension_names[DIM_SENDER]).len ? STR("direct") :
							      STR("");
}

bool scope_is_shared(const struct scope *s)
{
	bool shared = false;

	for (size_t i = 0; i < s->n_values; i++) {
		struct weft_str name = s->values[i].name;

		if (str_eq(name, STR("sender")))
			return false;
		if (str_eq(name, STR("chat")) &&
		    str_starts(s->values[i].value, STR("direct:")))
			return false;
		shared = true;
	}
	return shared;
}

bool scope_eq(const struct scope *x, const struct scope *y)
{
	if (x->version != y->version || !str_eq(x->agent, y->agent) ||
	    !str_eq(x->channel, y->channel) ||
	    !str_eq(x->account, y->account) || x->n_dims != y->n_dims ||
	    x->n_values != y->n_values)
		return false;
	for (size_t i = 0; i < x->n_dims; i++) {
		if (!str_eq(x->dims[i], y->dims[i]))
			return false;
	}
	for (size_t i = 0; i < x->n_values; i++) {
		const struct scope_value *v = &x->values[i];

		if (!str_eq(v->value, value_of(y, v->name)))
			return false;
	}
	return true;
}

/* ---- as JSON ---- */

/* The value whose name comes next after `last`; values are few. */
static const struct scope_value *next_value(const struct scope *s,
					    const struct scope_value *last)
{
	const struct scope_value *best = NULL;

	for (size_t i = 0; i < s->n_values; i++) {
		const struct scope_value *v = &s->values[i];

		if ((!last || str_cmp(v->name, last->name) > 0) &&
		    (!best || str_cmp(v->name, best->name) < 0))
			best = v;
	}
	return best;
}

static void encode_dims(struct buf *b, const struct scope *s)
{
	if (s->n_dims == 0) {
		buf_add_lit(b, "null");
		return;
	}
	for (size_t i = 0; i < s->n_dims; i++) {
		buf_add_c(b, i ? ',' : '[');
		buf_add_json(b, s->dims[i]);
	}
	buf_add_c(b, ']');
}

static void encode_values(struct buf *b, const struct scope *s)
{
	const struct scope_value *v = next_value(s, NULL);
	char before = '{';

	if (!v) {
		buf_add_lit(b, "null");
		return;
	}
	for (; v; v = next_value(s, v)) {
		buf_add_c(b, before);
		buf_add_json(b, v->name);
		buf_add_c(b, ':');
		buf_add_json(b, v->value);
		before = ',';
	}
	buf_add_c(b, '}');
}

void scope_encode(struct buf *b, const struct scope *s)
{
	buf_add_lit(b, "{\"version\":");
	buf_add_u64(b, s->version);
	buf_add_lit(b, ",\"agent_id\":");
	buf_add_json(b, s->agent);
	buf_add_lit(b, ",\"channel\":");
	buf_add_json(b, s->channel);
	buf_add_lit(b, ",\"account\":");
	buf_add_json(b, s->account);
	buf_add_lit(b, ",\"dimensions\":");
	encode_dims(b, s);
	buf_add_lit(b, ",\"values\":");
	encode_values(b, s);
	buf_add_c(b, '}');
}

static bool parse_text(yyjson_val *v, struct arena *a, struct weft_str *ret)
{
	if (!yyjson_is_str(v))
		return false;
	*ret = arena_str(a, json_str(v));
	return true;
}

static bool parse_dims(yyjson_val *array, struct arena *a, struct scope *s)
{
	struct weft_str *dims =
		ARENA_ARRAY(a, struct weft_str, yyjson_arr_size(array) + 1);
	yyjson_arr_iter it;
	yyjson_val *v;

	s->dims = dims;
	if (!array || yyjson_is_null(array))
		return true;
	if (!yyjson_arr_iter_init(array, &it))
		return false;
	while (dims && (v = yyjson_arr_iter_next(&it))) {
		if (!parse_text(v, a, &dims[s->n_dims++]))
			return false;
	}
	return true;
}

static bool parse_values(yyjson_val *object, struct arena *a, struct scope *s)
{
	struct scope_value *values =
		ARENA_ARRAY(a, struct scope_value, yyjson_obj_size(object) + 1);
	yyjson_obj_iter it;
	yyjson_val *key;

	s->values = values;
	if (!object || yyjson_is_null(object))
		return true;
	if (!yyjson_obj_iter_init(object, &it))
		return false;
	while (values && (key = yyjson_obj_iter_next(&it))) {
		struct scope_value *v = &values[s->n_values++];

		v->name = arena_str(a, json_str(key));
		if (!parse_text(yyjson_obj_iter_get_val(key), a, &v->value))
			return false;
	}
	return true;
}

int scope_parse(struct weft_str json, struct arena *a, struct scope *ret,
		struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct scope s = { 0 };
	yyjson_val *root, *version;
	int r = json_parse(json, NULL, &doc, err);

	if (r != WEFT_OK)
		return r == WEFT_INVALID ?
			       fail_prefix(err, WEFT_CORRUPT, "scope") :
			       r;
	root = yyjson_doc_get_root(doc);
	version = yyjson_obj_get(root, "version");
	s.version = yyjson_get_uint(version);
	if (!yyjson_is_uint(version) ||
	    !parse_text(yyjson_obj_get(root, "agent_id"), a, &s.agent) ||
	    !parse_text(yyjson_obj_get(root, "channel"), a, &s.channel) ||
	    !parse_text(yyjson_obj_get(root, "account"), a, &s.account) ||
	    !parse_dims(yyjson_obj_get(root, "dimensions"), a, &s) ||
	    !parse_values(yyjson_obj_get(root, "values"), a, &s))
		return fail(err, WEFT_CORRUPT, "scope: not one");
	if (a->failed)
		return arena_error(a, err);
	*ret = s;
	return WEFT_OK;
}

bool scope_text_is_shared(struct weft_str json, struct arena *a)
{
	struct scope s = { .version = 0 };

	return json.len > 0 && scope_parse(json, a, &s, NULL) == WEFT_OK &&
	       scope_is_shared(&s);
}

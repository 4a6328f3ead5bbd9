/*
 * message.c - check what a caller gave as a message, and make a body of it.
 *
 * The text is copied first and everything after that looks at the copy, since
 * another thread may change the caller's bytes.  The copy is parsed once for
 * the rules; the body is put together from slices of it.
 */
#include "model/message.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "model/object.h"
#include "model/parts.h"
#include "model/usage.h"

#define TEXT_CHARS 256 /* of the first text, for previews */
#define NAME_SHOWN 32  /* characters of a name in a message */
#define BODY_EXTRA 128 /* what a body has and the caller's text had not */

/* The members a caller may give; those up to BOUND go into the body, in this
 * order. */
enum member {
	MEMBER_ROLE,
	MEMBER_PARTS,
	MEMBER_FROM,
	MEMBER_MODEL,
	MEMBER_USAGE,
	MEMBER_DURATION,
	MEMBER_BOUND,
	MEMBER_CONTENT,
	MEMBER_OP,
	MEMBER_EXPECT,
	MEMBER_AT,
	MEMBER_BACKGROUND,
	MEMBER_SESSION,
	MEMBERS
};

static const struct weft_str member_names[MEMBERS] = {
	[MEMBER_ROLE] = STR_INIT("role"),
	[MEMBER_PARTS] = STR_INIT("parts"),
	[MEMBER_FROM] = STR_INIT("from"),
	[MEMBER_MODEL] = STR_INIT("model"),
	[MEMBER_USAGE] = STR_INIT("usage"),
	[MEMBER_DURATION] = STR_INIT("duration_ms"),
	[MEMBER_BOUND] = STR_INIT("bound"),
	[MEMBER_CONTENT] = STR_INIT("content"),
	[MEMBER_OP] = STR_INIT("op"),
	[MEMBER_EXPECT] = STR_INIT("expect"),
	[MEMBER_AT] = STR_INIT("at"),
	[MEMBER_BACKGROUND] = STR_INIT("background"),
	[MEMBER_SESSION] = STR_INIT("session"),
};

/*
 * Members that a caller may not give: the common fields of a line (seq to to),
 * what the format keeps for itself (enc to weft), and what a message has only
 * when it is read (redacted to recorded_at).
 */
static const struct weft_str reserved_names[] = {
	STR_INIT("seq"),         STR_INIT("ts"),       STR_INIT("type"),
	STR_INIT("id"),          STR_INIT("w"),        STR_INIT("n"),
	STR_INIT("more"),        STR_INIT("bg"),       STR_INIT("crc"),
	STR_INIT("to"),          STR_INIT("enc"),      STR_INIT("x"),
	STR_INIT("src"),         STR_INIT("gen"),      STR_INIT("needs"),
	STR_INIT("weft"),        STR_INIT("redacted"), STR_INIT("created_at"),
	STR_INIT("recorded_at"),
};

static const struct weft_str roles[] = {
	[ROLE_USER] = STR_INIT("user"),
	[ROLE_ASSISTANT] = STR_INIT("assistant"),
	[ROLE_TOOL] = STR_INIT("tool"),
	[ROLE_SYSTEM] = STR_INIT("system"),
};

const char *role_name(uint32_t role)
{
	return role >= ROLE_USER && role < ARRAY_LEN(roles) ? roles[role].ptr :
							      "unknown";
}

bool role_parse(struct weft_str s, uint32_t *ret)
{
	for (uint32_t i = ROLE_USER; i < ARRAY_LEN(roles); i++) {
		if (str_eq(s, roles[i])) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* A message on its way in. */
struct draft {
	const struct store_limits *limits;
	struct arena *arena;
	struct weft_str text; /* our copy of what the caller gave */
	yyjson_val *root;
	struct object_member given[MEMBERS]; /* value NULL: not given */
	size_t n_unknown;
};

static yyjson_val *given(const struct draft *d, enum member m)
{
	return d->given[m].value;
}

static int fail_member(enum member m, const char *expected, yyjson_val *found,
		       struct weft_error *err)
{
	return fail(err, WEFT_INVALID, "%s: expected %s, found %s",
		    member_names[m].ptr, expected, json_kind(found));
}

static enum member find_member(struct weft_str name)
{
	for (enum member m = 0; m < MEMBERS; m++) {
		if (str_eq(name, member_names[m]))
			return m;
	}
	return MEMBERS;
}

static bool is_reserved(struct weft_str name)
{
	for (size_t i = 0; i < ARRAY_LEN(reserved_names); i++) {
		if (str_eq(name, reserved_names[i]))
			return true;
	}
	return false;
}

/* Unknown members get one level deeper than they were: into "x". */
static bool fits_deeper(struct weft_str raw)
{
	unsigned depth = 1, deepest = 1;
	bool in_string = false;

	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.ptr[i];

		if (in_string) {
			i += c == '\\';
			in_string = c != '"';
			continue;
		}
		in_string = c == '"';
		depth += c == '[' || c == '{';
		depth -= c == ']' || c == '}';
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest < JSON_DEPTH_MAX;
}

/* Sort the members into those we know, those we refuse and the rest. */
static int take_members(struct draft *d, struct weft_error *err)
{
	struct object_member m;
	struct object_walk w;

	object_walk_init(&w, d->root, d->text);
	while (object_walk_next(&w, &m)) {
		enum member which = find_member(m.name);

		if (which != MEMBERS) {
			if (!yyjson_is_null(m.value))
				d->given[which] = m;
			continue;
		}
		if (is_reserved(m.name))
			return fail(err, WEFT_INVALID,
				    "%.*s: this name is reserved; leave it "
				    "out, or give it another name, and it is "
				    "kept in x",
				    STR_ARG(m.name));
		if (!fits_deeper(m.raw))
			return fail(err, WEFT_LIMIT,
				    "%.*s: more than %d levels deep",
				    STR_ARG(text_cut(m.name, NAME_SHOWN)),
				    JSON_DEPTH_MAX - 2);
		d->n_unknown++;
	}
	return WEFT_OK;
}

/* ---- the rules, member by member ---- */

static int check_role(const struct draft *d, uint32_t *ret,
		      struct weft_error *err)
{
	static const char expected[] = "user, assistant, tool or system";
	yyjson_val *v = given(d, MEMBER_ROLE);

	if (!yyjson_is_str(v))
		return fail_member(MEMBER_ROLE, expected, v, err);
	if (!role_parse(json_str(v), ret))
		return fail(err, WEFT_INVALID,
			    "role: expected %s, found \"%.*s\"", expected,
			    STR_ARG(text_cut(json_str(v), NAME_SHOWN)));
	return WEFT_OK;
}

static int check_parts(const struct draft *d, struct weft_error *err)
{
	yyjson_val *parts = given(d, MEMBER_PARTS);
	yyjson_val *content = given(d, MEMBER_CONTENT);

	if (parts && content)
		return fail(err, WEFT_INVALID,
			    "content: expected parts or content, not both");
	if (parts)
		return parts_check(parts, "parts", d->limits->parts, err);
	if (!content)
		return fail(err, WEFT_INVALID,
			    "parts: expected parts or content");
	if (yyjson_is_str(content))
		return WEFT_OK;
	if (yyjson_is_arr(content))
		return parts_check(content, "content", d->limits->parts, err);
	return fail_member(MEMBER_CONTENT, "a string or an array", content,
			   err);
}

/* A member of from, model or bound: short text, absent or null at will. */
static int check_name(const struct draft *d, enum member m, const char *name,
		      bool required, struct weft_error *err)
{
	yyjson_val *v = yyjson_obj_get(given(d, m), name);
	char field[64];

	if (!required && (!v || yyjson_is_null(v)))
		return WEFT_OK;
	(void)snprintf(field, sizeof(field), "%s.%s", member_names[m].ptr,
		       name);
	if (!yyjson_is_str(v))
		return fail(err, WEFT_INVALID,
			    "%s: expected a string, found %s", field,
			    json_kind(v));
	return text_check_line(json_str(v), d->limits->name_bytes, field, err);
}

/* from {id, name} and model {provider, name}. */
static int check_pair(const struct draft *d, enum member m, const char *first,
		      struct weft_error *err)
{
	int r;

	if (!given(d, m))
		return WEFT_OK;
	if (!yyjson_is_obj(given(d, m)))
		return fail_member(m, "an object", given(d, m), err);
	r = check_name(d, m, first, false, err);
	return r == WEFT_OK ? check_name(d, m, "name", false, err) : r;
}

static int check_bound(const struct draft *d, struct weft_error *err)
{
	yyjson_val *v = given(d, MEMBER_BOUND);
	int r;

	if (!v)
		return WEFT_OK;
	if (!yyjson_is_obj(v))
		return fail_member(MEMBER_BOUND, "an object", v, err);
	r = check_name(d, MEMBER_BOUND, "provider", true, err);
	if (r != WEFT_OK)
		return r;
	if (!yyjson_obj_get(v, "data"))
		return fail(err, WEFT_INVALID,
			    "bound.data: expected a value, found nothing");
	return WEFT_OK;
}

/* Short text of a caller's, checked and copied; empty if it is not given. */
static int take_line(const struct draft *d, enum member m, uint64_t max,
		     struct weft_str *ret, struct weft_error *err)
{
	yyjson_val *v = given(d, m);
	int r;

	*ret = STR("");
	if (!v)
		return WEFT_OK;
	if (!yyjson_is_str(v))
		return fail_member(m, "a string", v, err);
	if (yyjson_get_len(v) == 0)
		return fail(err, WEFT_INVALID,
			    "%s: expected a string that is not empty",
			    member_names[m].ptr);
	r = text_check_line(json_str(v), max, member_names[m].ptr, err);
	if (r != WEFT_OK)
		return r;
	*ret = arena_str(d->arena, json_str(v));
	return ret->ptr ? WEFT_OK : arena_error(d->arena, err);
}

static int take_number(const struct draft *d, enum member m, uint64_t *ret,
		       struct weft_error *err)
{
	if (given(d, m) && !value_u64(given(d, m), NUMBER_MAX, ret))
		return fail(err, WEFT_INVALID,
			    "%s: expected a whole number from 0 to 2^53 - 1",
			    member_names[m].ptr);
	return WEFT_OK;
}

static int take_time(const struct draft *d, int64_t *ret,
		     struct weft_error *err)
{
	yyjson_val *v = given(d, MEMBER_AT);

	if (!v)
		return WEFT_OK;
	if (!yyjson_is_str(v))
		return fail_member(MEMBER_AT, "a time", v, err);
	if (!time_parse_rfc3339(json_str(v), ret))
		return fail(err, WEFT_INVALID,
			    "at: expected a time such as 2026-11-15T10:00:00Z, "
			    "found \"%.*s\"",
			    STR_ARG(text_cut(json_str(v), NAME_SHOWN)));
	return WEFT_OK;
}

/* What does not go into the body. */
static int take_options(const struct draft *d, struct message *ret,
			struct weft_error *err)
{
	yyjson_val *background = given(d, MEMBER_BACKGROUND);
	int r;

	r = take_line(d, MEMBER_OP, d->limits->op_bytes, &ret->op, err);
	if (r != WEFT_OK)
		return r;
	r = take_line(d, MEMBER_SESSION, d->limits->name_bytes, &ret->session,
		      err);
	if (r != WEFT_OK)
		return r;
	r = take_number(d, MEMBER_EXPECT, &ret->expect, err);
	if (r != WEFT_OK)
		return r;
	ret->has_expect = given(d, MEMBER_EXPECT) != NULL;
	if (background && !yyjson_is_bool(background))
		return fail_member(MEMBER_BACKGROUND, "true or false",
				   background, err);
	ret->background = yyjson_is_true(background);
	return take_time(d, &ret->at_ms, err);
}

static int check_body(const struct draft *d, struct message_facts *facts,
		      struct weft_error *err)
{
	const struct object_member *usage = &d->given[MEMBER_USAGE];
	uint64_t duration;
	int r;

	r = check_role(d, &facts->role, err);
	if (r == WEFT_OK)
		r = check_parts(d, err);
	if (r == WEFT_OK)
		r = check_pair(d, MEMBER_FROM, "id", err);
	if (r == WEFT_OK)
		r = check_pair(d, MEMBER_MODEL, "provider", err);
	if (r == WEFT_OK)
		r = take_number(d, MEMBER_DURATION, &duration, err);
	if (r == WEFT_OK)
		r = check_bound(d, err);
	if (r != WEFT_OK || !usage->value)
		return r;
	facts->has_usage = 1;
	return usage_read(usage->value, usage->raw, &facts->usage, err);
}

/* ---- facts ---- */

/* `parts` may also be the text that stands for one text part. */
static int read_parts(yyjson_val *parts, struct arena *a,
		      struct message_facts *facts, struct weft_error *err)
{
	struct weft_str text = json_str(parts);
	bool more_than_results = true;

	if (!yyjson_is_str(parts))
		parts_read(parts, &text, &more_than_results);
	facts->starts_turn = facts->role == ROLE_USER && more_than_results;
	facts->text = STR("");
	if (text.len == 0)
		return WEFT_OK;
	facts->text = arena_str(a, text_cut(text, TEXT_CHARS));
	return facts->text.ptr ? WEFT_OK : arena_error(a, err);
}

int message_facts_read(struct weft_str body, struct arena *a,
		       struct message_facts *ret, struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o;
	struct message_facts facts = { .role = 0 };
	struct object_member m;
	struct object_walk w;
	int r;

	r = body_object_parse(&o, body, a, err);
	if (r != WEFT_OK)
		return r;
	(void)role_parse(json_str(yyjson_obj_get(o.root, "role")), &facts.role);
	object_walk_init(&w, o.root, o.text);
	while (object_walk_next(&w, &m)) {
		/* An edited line may say anything: then it spent nothing. */
		if (str_eq(m.name, STR("usage")))
			facts.has_usage =
				usage_read(m.value, m.raw, &facts.usage,
					   NULL) == WEFT_OK;
	}
	r = read_parts(yyjson_obj_get(o.root, "parts"), a, &facts, err);
	if (r == WEFT_OK)
		r = blob_list_parts(yyjson_obj_get(o.root, "parts"), a,
				    &facts.blobs, err);
	if (r != WEFT_OK)
		return r;
	*ret = facts;
	return WEFT_OK;
}

/* ---- the body ---- */

static void add_unknown(const struct draft *d, struct buf *b)
{
	const char *separator = ",\"x\":{";
	struct object_member m;
	struct object_walk w;

	object_walk_init(&w, d->root, d->text);
	while (object_walk_next(&w, &m)) {
		if (find_member(m.name) != MEMBERS)
			continue;
		buf_add_str(b, str_of(separator));
		buf_add_c(b, '"');
		buf_add_str(b, m.raw_name);
		buf_add_lit(b, "\":");
		buf_add_one_line(b, m.raw);
		separator = ",";
	}
	buf_add_c(b, '}');
}

static void add_parts(const struct draft *d, struct buf *b)
{
	const struct object_member *content = &d->given[MEMBER_CONTENT];

	buf_add_lit(b, ",\"parts\":");
	if (!content->value) {
		buf_add_one_line(b, d->given[MEMBER_PARTS].raw);
	} else if (yyjson_is_arr(content->value)) {
		buf_add_one_line(b, content->raw);
	} else {
		buf_add_lit(b, "[{\"type\":\"text\",\"text\":");
		buf_add_str(b, content->raw);
		buf_add_lit(b, "}]");
	}
}

static int make_body(const struct draft *d, uint32_t role, struct weft_str *ret,
		     struct weft_error *err)
{
	size_t room = d->text.len + BODY_EXTRA;
	char *memory = arena_alloc(d->arena, room);
	struct buf b;

	if (!memory)
		return arena_error(d->arena, err);
	b = buf_over(memory, room);
	buf_add_lit(&b, "\"role\":\"");
	buf_add_str(&b, roles[role]);
	buf_add_c(&b, '"');
	add_parts(d, &b);
	for (enum member m = MEMBER_FROM; m <= MEMBER_BOUND; m++) {
		if (!given(d, m))
			continue;
		buf_add_lit(&b, ",\"");
		buf_add_str(&b, member_names[m]);
		buf_add_lit(&b, "\":");
		buf_add_one_line(&b, d->given[m].raw);
	}
	if (d->n_unknown)
		add_unknown(d, &b);
	*ret = buf_str(&b);
	return buf_error(&b, err);
}

int message_pack(struct message *m, const struct store_limits *limits,
		 const struct blob_place *place, struct arena *a,
		 struct weft_error *err)
{
	int r;

	if (!m->is_large)
		return WEFT_OK;
	r = blob_pack(m->body, limits->blob_bytes, place, a, &m->body,
		      &m->facts.blobs, err);
	if (r == WEFT_OK)
		m->is_large = 0;
	return r;
}

/* Everything about a message whose text has been parsed. */
static int check_draft(struct draft *d, struct message *ret,
		       struct weft_error *err)
{
	yyjson_val *parts;
	int r;

	if (!yyjson_is_obj(d->root))
		return fail(err, WEFT_INVALID,
			    "expected a message as an object, found %s",
			    json_kind(d->root));
	r = take_members(d, err);
	if (r != WEFT_OK)
		return r;
	r = check_body(d, &ret->facts, err);
	if (r != WEFT_OK)
		return r;
	r = take_options(d, ret, err);
	if (r != WEFT_OK)
		return r;
	parts = given(d, MEMBER_PARTS);
	parts = parts ? parts : given(d, MEMBER_CONTENT);
	r = read_parts(parts, d->arena, &ret->facts, err);
	if (r != WEFT_OK)
		return r;
	ret->is_large =
		d->text.len > d->limits->blob_bytes || parts_have_image(parts);
	return make_body(d, ret->facts.role, &ret->body, err);
}

int message_check(struct weft_str json, const struct store_limits *limits,
		  struct arena *a, struct message *ret, struct weft_error *err)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct json_limits json_limits = {
		.depth_max =
			(unsigned)u64_min(limits->json_depth, JSON_DEPTH_MAX),
	};
	struct draft d = { .limits = limits, .arena = a };
	struct message m = { .facts = { .role = 0 } };
	int r;

	if (json.len > limits->message_bytes)
		return fail(err, WEFT_LIMIT,
			    "message has %zu bytes, the limit is %llu (limit "
			    "message_bytes)",
			    json.len,
			    (unsigned long long)limits->message_bytes);
	d.text = arena_str(a, json);
	if (!d.text.ptr)
		return arena_error(a, err);
	r = json_parse(d.text, &json_limits, &doc, err);
	if (r != WEFT_OK)
		return r;
	d.root = yyjson_doc_get_root(doc);
	r = check_draft(&d, &m, err);
	if (r != WEFT_OK)
		return r;
	*ret = m;
	return WEFT_OK;
}

int message_sender(struct weft_str body, struct arena *a, struct weft_str *ret,
		   struct weft_error *err)
{
	CLEANUP(body_object_done) struct body_object o = { .doc = NULL };
	int r;

	*ret = STR("");
	/* Most say nothing of the kind. */
	if (!memmem(body.ptr, body.len, "\"from\":", 7))
		return WEFT_OK;
	r = body_object_parse(&o, body, a, err);
	if (r == WEFT_CORRUPT)
		return WEFT_OK;
	if (r == WEFT_OK)
		*ret = value_text(
			yyjson_obj_get(yyjson_obj_get(o.root, "from"), "id"),
			a);
	return a->failed ? arena_error(a, err) : r;
}

/* sessions.c - methods that make, show and change a session. */
#include "api/api.h"

#include "base/error.h"
#include "base/id.h"
#include "model/record.h"

/* ---- new ---- */

static struct weft_str keep(struct request *q, struct weft_str s)
{
	return s.len ? arena_str(&q->arena, s) : (struct weft_str){ "", 0 };
}

/* What a session begins with that is plain text, and its field here. */
static const struct {
	const char *field;
	size_t at;
} texts[] = {
	{ "key", offsetof(struct session_rec, key) },
	{ "op", offsetof(struct session_rec, op) },
	{ "parent_tool_use_id",
	  offsetof(struct session_rec, parent_tool_use_id) },
	{ "agent", offsetof(struct session_rec, agent) },
	{ "slug", offsetof(struct session_rec, slug) },
	{ "project_dir", offsetof(struct session_rec, project_dir) },
	{ "user", offsetof(struct session_rec, user) },
	{ "channel", offsetof(struct session_rec, channel) },
	{ "user_role", offsetof(struct session_rec, user_role) },
};

static int new_texts(struct call *c, struct request *q)
{
	struct weft_str provider, name;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct weft_str s = keep(q, call_str(c, texts[i].field));

		memcpy((char *)&q->create + texts[i].at, &s, sizeof(s));
	}
	if (!call_has(c, "agent"))
		q->create.agent = STR("main");
	q->op = q->create.op;
	call_model(c, "model", &provider, &name);
	q->create.model_provider = keep(q, provider);
	q->create.model_name = keep(q, name);
	q->create.expires_at = call_time(c, "expires_at");

	for (size_t i = 0; i < 2; i++) {
		const char *field = i ? "op" : "key";

		if (call_has(c, field) && call_str(c, field).len == 0)
			return fail(c->err, WEFT_INVALID,
				    "%s: may not be empty", field);
	}
	return WEFT_OK;
}

static int new_json(struct call *c, struct request *q)
{
	struct weft_str s;
	int r;

	r = call_json(c, "metadata", &s);
	if (r != WEFT_OK)
		return r;
	q->create.metadata = keep(q, s);
	r = call_json(c, "tools", &s);
	if (r == WEFT_OK)
		q->create.tools = keep(q, s);
	return r;
}

static int new_aliases(struct call *c, struct request *q)
{
	struct weft_str *from, *to;
	size_t n;
	int r = call_lines(c, "aliases", &from, &n);

	if (r != WEFT_OK)
		return r;
	to = ARENA_ARRAY(&q->arena, struct weft_str, n + 1);
	for (size_t i = 0; to && i < n; i++) {
		if (from[i].len == 0)
			return fail(c->err, WEFT_INVALID,
				    "aliases: a name may not be empty");
		to[i] = keep(q, from[i]);
	}
	q->aliases = to;
	q->n_aliases = n;
	return WEFT_OK;
}

static int new_kind(struct call *c, struct request *q)
{
	q->create.kind = KIND_PRIMARY;
	if (call_has(c, "kind"))
		(void)session_kind_parse(call_str(c, "kind"), &q->create.kind);
	if (q->create.kind == KIND_SUBAGENT && !call_has(c, "parent"))
		return fail(c->err, WEFT_INVALID,
			    "parent: a subagent must have one");
	if (q->create.kind != KIND_SUBAGENT && call_has(c, "parent"))
		return fail(c->err, WEFT_INVALID,
			    "parent: only a subagent has one; for that the "
			    "kind is subagent");
	if (q->create.kind != KIND_SUBAGENT &&
	    call_has(c, "parent_tool_use_id"))
		return fail(c->err, WEFT_INVALID,
			    "parent_tool_use_id: only a subagent has one");
	if (!call_has(c, "parent"))
		return WEFT_OK;
	return engine_resolve(c->engine, call_str(c, "parent"),
			      &q->create.parent, c->err);
}

static int new_fill(struct call *c, struct request *q)
{
	int r = new_kind(c, q);

	if (r == WEFT_OK)
		r = new_texts(c, q);
	if (r == WEFT_OK)
		r = new_json(c, q);
	if (r == WEFT_OK)
		r = new_aliases(c, q);
	return r;
}

static int method_new(struct call *c)
{
	struct request *q = request_new(REQUEST_CREATE, c->err);
	struct weft_id id;
	bool created, replayed;
	int r;

	if (!q)
		return WEFT_NO_MEMORY;
	r = new_fill(c, q);
	if (r != WEFT_OK) {
		request_free(q);
		return r;
	}
	r = call_run(c, q);
	if (r != WEFT_OK)
		return r;
	id = q->ret_session;
	created = q->ret_created != 0;
	replayed = q->ret_replayed != 0;
	request_free(q);

	r = call_answer_session(c, &id);
	if (r != WEFT_OK)
		return r;
	c->out.len -= c->out.len ? 1 : 0; /* the closing brace */
	buf_add_str(&c->out, created ? STR(",\"created\":true") :
				       STR(",\"created\":false"));
	if (replayed)
		buf_add_lit(&c->out, ",\"replayed\":true");
	buf_add_c(&c->out, '}');
	return WEFT_OK;
}

static int method_show(struct call *c)
{
	struct session_rec rec;
	int r = call_session(c, &rec);

	return r == WEFT_OK ? encode_session(c, &rec) : r;
}

/* ---- changing one ---- */

/* Resolve the session, begin a request about it. */
static int change_begin(struct call *c, uint32_t kind, struct request **ret)
{
	struct weft_id id;
	struct request *q;
	int r = call_session_id(c, &id);

	if (r != WEFT_OK)
		return r;
	q = request_new(kind, c->err);
	if (!q)
		return WEFT_NO_MEMORY;
	q->session = id;
	q->expect = WEFT_NO_EXPECT;
	q->token = call_u64(c, "token", 0);
	*ret = q;
	return WEFT_OK;
}

/* Carry it out and show what became of the session. */
static int change_end(struct call *c, struct request *q)
{
	struct weft_id id = q->session;
	int r = call_run(c, q);

	if (r != WEFT_OK)
		return r;
	request_free(q);
	return call_answer_session(c, &id);
}

static int change_fields(struct call *c, struct weft_str patch)
{
	struct request *q;
	int r = change_begin(c, REQUEST_PATCH, &q);

	if (r != WEFT_OK)
		return r;
	q->patch = arena_str(&q->arena, patch);
	return change_end(c, q);
}

static int method_rename(struct call *c)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	int r;

	buf_init(&b, SIZE_MAX);
	buf_add_lit(&b, "{\"slug\":");
	buf_add_json(&b, call_str(c, "slug"));
	buf_add_c(&b, '}');
	r = buf_error(&b, c->err);
	return r == WEFT_OK ? change_fields(c, buf_str(&b)) : r;
}

static int method_set(struct call *c)
{
	return change_fields(c, call_raw(c, "changes"));
}

static int method_pin(struct call *c)
{
	return change_fields(c, STR("{\"pinned\":true}"));
}

static int method_unpin(struct call *c)
{
	return change_fields(c, STR("{\"pinned\":false}"));
}

static int method_alias(struct call *c)
{
	struct weft_str name = call_str(c, "alias");
	struct weft_str how = call_str(c, "how");
	struct request *q;
	int r;

	if (name.len == 0)
		return fail(c->err, WEFT_INVALID, "alias: may not be empty");
	r = change_begin(c, REQUEST_NAME, &q);
	if (r != WEFT_OK)
		return r;
	q->name = arena_str(&q->arena, name);
	if (str_eq(how, STR("move")))
		q->name_how = NAME_MOVE;
	else if (str_eq(how, STR("remove")))
		q->name_how = NAME_REMOVE;
	else
		q->name_how = NAME_ADD;
	return change_end(c, q);
}

static int method_delete(struct call *c)
{
	struct request *q;
	int r = change_begin(c, REQUEST_DELETE, &q);

	return r == WEFT_OK ? change_end(c, q) : r;
}

/* Names that could not be given back, and who has them. */
static void encode_lost(struct buf *b, const struct request *q)
{
	buf_add_lit(b, ",\"lost\":[");
	for (size_t i = 0; i < q->n_ret_lost; i++) {
		const struct name_rec *x = &q->ret_lost[i];

		buf_add_str(b, i ? STR(",{\"name\":") : STR("{\"name\":"));
		buf_add_json(b, x->name);
		buf_add_str(b, x->kind == NAME_KEY ?
				       STR(",\"kind\":\"key\"") :
				       STR(",\"kind\":\"alias\""));
		buf_add_lit(b, ",\"session\":");
		encode_id(b, &x->session);
		buf_add_c(b, '}');
	}
	buf_add_c(b, ']');
}

static int method_restore(struct call *c)
{
	struct weft_id id;
	struct request *q;
	int r = change_begin(c, REQUEST_RESTORE, &q);

	if (r != WEFT_OK)
		return r;
	id = q->session;
	r = call_run(c, q);
	if (r != WEFT_OK)
		return r;
	r = call_answer_session(c, &id);
	if (r == WEFT_OK && c->out.len) {
		c->out.len--; /* the end of the session */
		encode_lost(&c->out, q);
		buf_add_c(&c->out, '}');
	}
	request_free(q);
	return r;
}

/* ---- the rows of the table ---- */

static const struct field fields_new[] = {
	{ .name = "key",
	  .about = "its stable name; if a session has it already, that one is "
		   "the answer, unchanged",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "aliases",
	  .about = "further names",
	  .type = TYPE_LINES,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "slug",
	  .about = "a title for people",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(slug_bytes) },
	{ .name = "agent",
	  .about = "who answers; default main",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "project_dir",
	  .about = "the directory it is about",
	  .type = TYPE_LINE },
	{ .name = "model",
	  .about = "the model it is held with",
	  .type = TYPE_MODEL,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "kind",
	  .about = "default primary",
	  .type = TYPE_CHOICE,
	  .values = "primary|subagent|book" },
	{ .name = "parent",
	  .about = "the session that a subagent works for",
	  .type = TYPE_LINE },
	{ .name = "parent_tool_use_id",
	  .about = "the tool call that a subagent answers",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "user",
	  .about = "who speaks",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "channel",
	  .about = "where people talk",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "user_role",
	  .about = "what the user may do",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "metadata",
	  .about = "anything, kept as it is",
	  .type = TYPE_OBJECT,
	  FIELD_LIMIT(metadata_bytes) },
	{ .name = "tools",
	  .about = "the tools that it may use",
	  .type = TYPE_ARRAY,
	  FIELD_LIMIT(metadata_bytes) },
	{ .name = "expires_at",
	  .about = "when it ends by itself",
	  .type = TYPE_TIME },
	{ .name = "op",
	  .about = "operation id: the same one again is the same session",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(op_bytes) },
};

static const struct field fields_session[] = {
	FIELD_SESSION,
};

static const struct field fields_rename[] = {
	FIELD_SESSION,
	{ .name = "slug",
	  .about = "the new title; empty takes it away",
	  .type = TYPE_LINE,
	  .required = 1,
	  FIELD_LIMIT(slug_bytes) },
};

static const struct field fields_set[] = {
	FIELD_SESSION,
	{ .name = "changes",
	  .about = "what to change: slug, agent, model, project_dir, user, "
		   "channel, user_role, metadata, tools, pinned, expires_at",
	  .type = TYPE_OBJECT,
	  .required = 1 },
};

static const struct field fields_alias[] = {
	FIELD_SESSION,
	{ .name = "alias",
	  .about = "the name",
	  .type = TYPE_LINE,
	  .required = 1,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "how",
	  .about = "add a free name, move one from another session, or remove "
		   "it; default add",
	  .type = TYPE_CHOICE,
	  .values = "add|move|remove" },
};

static const struct field fields_delete[] = {
	FIELD_SESSION,
	FIELD_TOKEN,
};

static const struct method rows[] = {
	{ .name = "new",
	  .about = "Begin a session, or find the one that has the key.",
	  .answer = "the session, and `\"created\":true` or `false`; "
		    "`\"replayed\":true` if the operation id was known",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_new),
	  .run = method_new },
	{ .name = "show",
	  .about = "Show a session.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_READ,
	  FIELDS(fields_session),
	  .run = method_show },
	{ .name = "rename",
	  .about = "Give a session another title.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_rename),
	  .run = method_rename },
	{ .name = "set",
	  .about = "Change what a session is set to.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_set),
	  .run = method_set },
	{ .name = "alias",
	  .about = "Give a session a further name, or take one away.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_alias),
	  .run = method_alias },
	{ .name = "pin",
	  .about = "Keep a session from being cleaned up.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_session),
	  .run = method_pin },
	{ .name = "unpin",
	  .about = "Let a session be cleaned up again.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_session),
	  .run = method_unpin },
	{ .name = "delete",
	  .about = "Delete a session; restore brings it back.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_delete),
	  .run = method_delete },
	{ .name = "restore",
	  .about = "Bring a deleted session back; name it by its id. It gets "
		   "back those of its names that nobody has taken since.",
	  .answer = ANSWER_SESSION
	  " + `\"lost\":[{\"name\",\"kind\",\"session\"}]`: names that "
	  "others have now",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_session),
	  .run = method_restore },
};

const struct method_group methods_sessions = METHOD_GROUP(rows);

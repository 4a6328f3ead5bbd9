/* hygge.c - hygge's store of sessions: making, finding, changing them. */
#include "weft/compat.h"

#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "compat/ask.h"
#include "engine/engine.h"
#include "engine/options.h"

#define LIST_DEFAULT 50
#define HOPS_MAX     32 /* from a session up to its ancestors */

/* ---- options ---- */

void weft_hygge_new_options_init(struct weft_hygge_new_options *o, size_t size)
{
	const struct weft_hygge_new_options preset = { .size = size };

	options_init(o, size, &preset, sizeof(preset));
}

void weft_hygge_fork_options_init(struct weft_hygge_fork_options *o,
				  size_t size)
{
	const struct weft_hygge_fork_options preset = { .size = size };

	options_init(o, size, &preset, sizeof(preset));
}

void weft_hygge_list_options_init(struct weft_hygge_list_options *o,
				  size_t size)
{
	const struct weft_hygge_list_options preset = { .size = size };

	options_init(o, size, &preset, sizeof(preset));
}

static void take_options(struct ask *a, void *to, size_t bytes,
			 const void *from)
{
	if (a->error)
		return;
	if (!from)
		a->error = fail(a->err, WEFT_INVALID, "no options given");
	else
		a->error = options_take(to, bytes, from, a->err);
}

/* A text of the caller's options: checked where it is. */
static void check_text(struct ask *a, const char *field, struct weft_str *s)
{
	*s = ask_text(a, field, s->ptr, s->len);
}

static void need(struct ask *a, const char *field, struct weft_str s)
{
	if (!a->error && s.len == 0)
		a->error = fail(a->err, WEFT_INVALID, "%s: may not be empty",
				field);
}

/* ---- making sessions ---- */

/* The fork, and its project if that is to be another one. */
static int fork_at(struct ask *a, const struct weft_hygge_fork_options *o,
		   struct weft_str project_dir, struct weft_answer **ret)
{
	struct weft_str made, id;

	ask_about(a, "fork", o->from_session);
	ask_add_text(a, "at", o->from_message);
	ask_add_model(a, o->provider, o->model);
	ask_add_text(a, "slug", o->slug);
	if (!project_dir.len)
		return ask_call(a, ret);
	made = ask_answer(a);
	id = answer_str(made, "id");
	ask_about(a, "set", id);
	buf_add_lit(&a->request, ",\"changes\":{\"project_dir\":");
	buf_add_json(&a->request, project_dir);
	buf_add_c(&a->request, '}');
	return ask_call(a, ret);
}

static void check_fork(struct ask *a, struct weft_hygge_fork_options *o)
{
	o->from_session = ask_id(a, "from_session", o->from_session.ptr,
				 o->from_session.len);
	o->from_message = ask_id(a, "from_message", o->from_message.ptr,
				 o->from_message.len);
	check_text(a, "provider", &o->provider);
	check_text(a, "model", &o->model);
	check_text(a, "slug", &o->slug);
	need(a, "provider", o->provider);
	need(a, "model", o->model);
}

int weft_hygge_fork_session(struct weft_store *store,
			    const struct weft_hygge_fork_options *options,
			    struct weft_answer **ret, struct weft_error *err)
{
	struct weft_hygge_fork_options o = { .size = sizeof(o) };
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	take_options(&a, &o, sizeof(o), options);
	check_fork(&a, &o);
	return fork_at(&a, &o, STR(""), ret);
}

static void check_new(struct ask *a, struct weft_hygge_new_options *o)
{
	bool subagent;

	check_text(a, "project_dir", &o->project_dir);
	check_text(a, "provider", &o->provider);
	check_text(a, "model", &o->model);
	check_text(a, "slug", &o->slug);
	check_text(a, "parent_id", &o->parent_id);
	check_text(a, "fork_message_id", &o->fork_message_id);
	check_text(a, "parent_tool_use_id", &o->parent_tool_use_id);
	check_text(a, "kind", &o->kind);
	need(a, "project_dir", o->project_dir);
	need(a, "provider", o->provider);
	need(a, "model", o->model);
	if (a->error)
		return;
	subagent = str_eq(o->kind, STR("subagent"));
	if (o->kind.len && !subagent && !str_eq(o->kind, STR("primary")))
		a->error = fail(a->err, WEFT_INVALID,
				"kind: expected primary or subagent, found "
				"\"%.*s\"",
				STR_ARG(o->kind));
	else if (o->parent_id.len && !subagent && !o->fork_message_id.len)
		a->error = fail(a->err, WEFT_INVALID,
				"fork_message_id: needed with a parent, unless "
				"it is a subagent");
	else if (o->fork_message_id.len && (subagent || !o->parent_id.len))
		a->error = fail(a->err, WEFT_INVALID,
				"fork_message_id: only a fork has one; a "
				"subagent begins with nothing said");
	if (o->parent_id.len)
		(void)ask_id(a, "parent_id", o->parent_id.ptr,
			     o->parent_id.len);
}

int weft_hygge_create_session(struct weft_store *store,
			      const struct weft_hygge_new_options *options,
			      struct weft_answer **ret, struct weft_error *err)
{
	struct weft_hygge_new_options o = { .size = sizeof(o) };
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	take_options(&a, &o, sizeof(o), options);
	check_new(&a, &o);
	if (o.fork_message_id.len) {
		struct weft_hygge_fork_options f = {
			.size = sizeof(f),
			.from_session = o.parent_id,
			.from_message = o.fork_message_id,
			.provider = o.provider,
			.model = o.model,
			.slug = o.slug,
		};

		check_fork(&a, &f);
		return fork_at(&a, &f, o.project_dir, ret);
	}
	ask_method(&a, "new");
	ask_add_text(&a, "project_dir", o.project_dir);
	ask_add_model(&a, o.provider, o.model);
	ask_add_text(&a, "slug", o.slug);
	ask_add_text(&a, "kind", o.kind);
	ask_add_text(&a, "parent", o.parent_id);
	ask_add_text(&a, "parent_tool_use_id", o.parent_tool_use_id);
	return ask_call(&a, ret);
}

/* ---- looking ---- */

int weft_hygge_get_session(struct weft_store *store, const char *id,
			   size_t id_len, struct weft_answer **ret,
			   struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	ask_about(&a, "show", ask_id(&a, "id", id, id_len));
	return ask_call(&a, ret);
}

/* One page of the list; what stands for its cursor comes back. */
static struct weft_str list_page(struct ask *a,
				 const struct weft_hygge_list_options *o,
				 uint64_t limit, struct weft_str cursor)
{
	ask_method(a, "list");
	ask_add_text(a, "sort", STR("created"));
	ask_add_text(a, "kind", o->kind.len ? o->kind : STR("conversation"));
	ask_add_text(a, "project_dir", o->project_dir);
	ask_add_text(a, "parent", o->parent_id);
	ask_add_text(a, "query", o->query);
	if (o->include_deleted)
		ask_add_true(a, "deleted");
	ask_add_u64(a, "limit", limit);
	ask_add_raw(a, "cursor", cursor);
	return ask_answer(a);
}

static size_t add_sessions(struct buf *out, struct weft_str sessions)
{
	struct weft_str one;
	size_t pos = 0, n = 0;

	for (; json_next_element(sessions, &pos, &one); n++) {
		if (out->len > 1)
			buf_add_c(out, ',');
		buf_add_str(out, one);
	}
	return n;
}

static void check_list(struct ask *a, struct weft_hygge_list_options *o)
{
	check_text(a, "project_dir", &o->project_dir);
	check_text(a, "kind", &o->kind);
	check_text(a, "query", &o->query);
	if (o->parent_id.len)
		o->parent_id = ask_id(a, "parent_id", o->parent_id.ptr,
				      o->parent_id.len);
	if (!a->error && o->kind.len && !str_eq(o->kind, STR("primary")) &&
	    !str_eq(o->kind, STR("subagent")))
		a->error = fail(a->err, WEFT_INVALID,
				"kind: expected primary or subagent, found "
				"\"%.*s\"",
				STR_ARG(o->kind));
}

int weft_hygge_list_sessions(struct weft_store *store,
			     const struct weft_hygge_list_options *options,
			     struct weft_answer **ret, struct weft_error *err)
{
	struct weft_hygge_list_options o = { .size = sizeof(o) };
	struct engine *e = weft_store_engine(store);
	uint64_t left, most = e ? engine_limits(e)->page : 1;
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str cursor = STR("");

	ask_init(&a, store, err);
	ask_place(&a, ret);
	if (options)
		take_options(&a, &o, sizeof(o), options);
	check_list(&a, &o);
	left = o.limit > 0 ? (uint64_t)o.limit : LIST_DEFAULT;
	buf_init(&out, 0);
	buf_add_c(&out, '[');
	while (!a.error && left > 0) {
		struct weft_str page =
			list_page(&a, &o, u64_min(left, most), cursor);

		left -= add_sessions(&out, json_member(page, "sessions"));
		cursor = json_member(page, "next");
		if (!cursor.len || cursor.ptr[0] != '"')
			break;
	}
	buf_add_c(&out, ']');
	return ask_end(&a, &out, ret);
}

/* Copy an id from an answer to where the caller wants it. */
static void give_id(struct ask *a, struct weft_str id, char *ret)
{
	if (a->error)
		return;
	memset(ret, 0, WEFT_ID_CHARS + 2);
	memcpy(ret, id.ptr, (size_t)u64_min(id.len, WEFT_ID_CHARS));
}

int weft_hygge_resolve_root_session_id(struct weft_store *store, const char *id,
				       size_t id_len,
				       char ret[WEFT_ID_CHARS + 2],
				       struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, store, err);
	if (!ret)
		return fail(a.err, WEFT_INVALID, "no place for the answer");
	ask_about(&a, "show", ask_id(&a, "id", id, id_len));
	give_id(&a, answer_str(ask_answer(&a), "root"), ret);
	return a.error;
}

/* ---- changing ---- */

int weft_hygge_soft_delete_session(struct weft_store *store, const char *id,
				   size_t id_len, struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, store, err);
	ask_about(&a, "delete", ask_id(&a, "id", id, id_len));
	return ask_do(&a);
}

int weft_hygge_rename_session(struct weft_store *store, const char *id,
			      size_t id_len, const char *slug, size_t slug_len,
			      struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str s;

	ask_init(&a, store, err);
	ask_about(&a, "rename", ask_id(&a, "id", id, id_len));
	s = ask_text(&a, "slug", slug, slug_len);
	ask_add_any(&a, "slug", s);
	return ask_do(&a);
}

/* ---- totals ---- */

static void add_usage(struct ask *a, struct weft_str session,
		      struct weft_str usage)
{
	ask_about(a, "usage_add", session);
	ask_add_raw(a, "usage", usage);
	(void)ask_answer(a);
}

int weft_hygge_update_session_totals(struct weft_store *store, const char *id,
				     size_t id_len, const char *delta,
				     size_t delta_len, struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str session;

	ask_init(&a, store, err);
	session = ask_id(&a, "id", id, id_len);
	add_usage(&a, session, ask_json(&a, "delta", delta, delta_len));
	return a.error;
}

/* The session above that pays, or nothing. */
static struct weft_str payer(struct weft_str session)
{
	if (!str_eq(answer_str(session, "kind"), STR("subagent")))
		return (struct weft_str){ "", 0 };
	return answer_str(session, "parent");
}

int weft_hygge_propagate_totals(struct weft_store *store, const char *id,
				size_t id_len, const char *delta,
				size_t delta_len, struct weft_answer **ret,
				struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str session;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	session = ask_id(&a, "id", id, id_len);
	add_usage(&a, session, ask_json(&a, "delta", delta, delta_len));
	buf_init(&out, 0);
	buf_add_c(&out, '[');
	for (int i = 0; i <= HOPS_MAX && !a.error && session.len; i++) {
		struct weft_str record;

		ask_about(&a, "show", session);
		record = ask_answer(&a);
		buf_add_str(&out, i ? STR(",{\"id\":") : STR("{\"id\":"));
		buf_add_str(&out, json_member(record, "id"));
		buf_add_lit(&out, ",\"total\":");
		buf_add_str(&out, json_member(record, "total"));
		buf_add_c(&out, '}');
		session = payer(record);
	}
	buf_add_c(&out, ']');
	return ask_end(&a, &out, ret);
}

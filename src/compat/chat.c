/* chat.c - an assistant's ChatSession: new, saved, loaded, the last one; and the
 * agent that was used last. */
#include "weft/compat.h"

#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "compat/ask.h"
#include "engine/engine.h"
#include "engine/options.h"
#include "route/norm.h"

void weft_chat_options_init(struct weft_chat_options *o, size_t size)
{
	const struct weft_chat_options preset = { .size = size };

	options_init(o, size, &preset, sizeof(preset));
}

/* ---- new ---- */

/* A list of tools, or an object of them by name, as a list. */
static void add_tools(struct ask *a, struct weft_str json)
{
	struct weft_str key, raw;
	size_t pos = 0;
	bool first = true;

	if (json.len == 0 || json.ptr[0] != '{') {
		ask_add_raw(a, "tools", json);
		return;
	}
	buf_add_lit(&a->request, ",\"tools\":[");
	while (json_next_member(json, &pos, &key, &raw)) {
		buf_add_str(&a->request,
			    first ? STR("{\"name\":\"") : STR(",{\"name\":\""));
		first = false;
		buf_add_str(&a->request, key);
		buf_add_lit(&a->request, "\",\"definition\":");
		buf_add_str(&a->request, raw);
		buf_add_c(&a->request, '}');
	}
	buf_add_c(&a->request, ']');
}

static void take_options(struct ask *a, struct weft_chat_options *o,
			 const struct weft_chat_options *options)
{
	if (a->error)
		return;
	if (!options) {
		a->error = fail(a->err, WEFT_INVALID, "no options given");
		return;
	}
	a->error = options_take(o, sizeof(*o), options, a->err);
	o->user = ask_text(a, "user", o->user.ptr, o->user.len);
	o->agent = ask_text(a, "agent", o->agent.ptr, o->agent.len);
	o->user_role =
		ask_text(a, "user_role", o->user_role.ptr, o->user_role.len);
	o->prompt = ask_text(a, "prompt", o->prompt.ptr, o->prompt.len);
	o->platform = ask_text(a, "platform", o->platform.ptr, o->platform.len);
	o->platform = norm_clean(o->platform, &a->arena);
	if (o->tools.len)
		o->tools = ask_json(a, "tools", o->tools.ptr, o->tools.len);
}

static void say_prompt(struct ask *a, struct weft_str session,
		       struct weft_str prompt)
{
	ask_about(a, "append", session);
	buf_add_lit(&a->request, ",\"message\":{\"role\":\"system\","
				 "\"content\":");
	buf_add_json(&a->request, prompt);
	buf_add_c(&a->request, '}');
	(void)ask_answer(a);
}

/* Who answers if nobody was asked for: whom the user talked to last. */
static struct weft_str agent_of(struct ask *a, struct weft_str user)
{
	struct weft_str raw, agent = STR("");
	int r;

	if (a->error || user.len == 0)
		return agent;
	ask_method(a, "user_agent");
	ask_add_text(a, "user", user);
	raw = answer_str(ask_answer(a), "agent");
	if (a->error)
		return agent;
	r = json_unescape(raw, &a->arena, &agent, a->err);
	if (r != WEFT_OK)
		a->error = r;
	return agent;
}

int weft_chat_new_session(struct weft_store *store,
			  const struct weft_chat_options *options,
			  struct weft_answer **ret, struct weft_error *err)
{
	struct weft_chat_options o = { .size = sizeof(o) };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	take_options(&a, &o, options);
	if (!o.agent.len)
		o.agent = agent_of(&a, o.user);
	ask_method(&a, "new");
	ask_add_text(&a, "agent", o.agent);
	ask_add_text(&a, "user", o.user);
	ask_add_text(&a, "channel", o.platform);
	ask_add_text(&a, "user_role", o.user_role);
	add_tools(&a, o.tools);
	if (!o.prompt.len)
		return ask_call(&a, ret);
	id = answer_str(ask_answer(&a), "id");
	say_prompt(&a, id, o.prompt);
	ask_about(&a, "show", id);
	return ask_call(&a, ret);
}

/* ---- load ---- */

static int give_loaded(struct ask *a, struct weft_str session,
		       struct weft_answer **ret)
{
	CLEANUP(buf_done) struct buf out = { 0 };

	buf_init(&out, 0);
	buf_add_lit(&out, "{\"session\":");
	buf_add_str(&out, session);
	buf_add_lit(&out, ",\"history\":[");
	ask_messages(a, answer_str(session, "id"), "full", &out, NULL);
	buf_add_lit(&out, "]}");
	return ask_end(a, &out, ret);
}

static struct weft_str show(struct ask *a, struct weft_str id)
{
	ask_about(a, "show", id);
	return ask_answer(a);
}

int weft_chat_load_session(struct weft_store *store, const char *id,
			   size_t id_len, struct weft_answer **ret,
			   struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	return give_loaded(&a, show(&a, ask_id(&a, "id", id, id_len)), ret);
}

int weft_chat_load_last_session(struct weft_store *store, const char *user,
				size_t user_len, const char *platform,
				size_t platform_len, struct weft_answer **ret,
				struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct engine *e = weft_store_engine(store);
	struct weft_str who, where;
	char text[WEFT_ID_CHARS + 1];
	struct weft_id id;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	who = ask_filled(&a, "user", user, user_len);
	where = ask_filled(&a, "platform", platform, platform_len);
	if (!a.error && !e)
		return fail(a.err, WEFT_INVALID,
			    store ? "the store has been closed" :
				    "no store given");
	if (!a.error)
		a.error = engine_last_session(
			e, who, norm_clean(where, &a.arena), &id, a.err);
	if (a.error)
		return a.error;
	if (id_is_zero(&id))
		return fail(a.err, WEFT_NOT_FOUND,
			    "'%.*s' has no session on '%.*s' that goes on",
			    STR_ARG(who), STR_ARG(where));
	id_format(&id, text);
	return give_loaded(&a, show(&a, str_of(text)), ret);
}

/* ---- save ---- */

static bool is_stored(struct weft_str message)
{
	return json_member(message, "id").len > 0;
}

/* What was said since it was loaded: the messages without an id. */
static void new_messages(struct ask *a, struct weft_str history,
			 struct buf *out)
{
	struct weft_str one;
	size_t pos = 0, n = 0;

	if (!a->error && (history.len == 0 || history.ptr[0] != '['))
		a->error = fail(a->err, WEFT_INVALID,
				"history: expected an array");
	buf_add_c(out, '[');
	for (; !a->error && json_next_element(history, &pos, &one); n++) {
		if (is_stored(one) && out->len > 1)
			a->error = fail(a->err, WEFT_INVALID,
					"history[%zu]: a stored message behind "
					"a new one",
					n);
		if (is_stored(one))
			continue;
		if (out->len > 1)
			buf_add_c(out, ',');
		buf_add_str(out, one);
	}
	buf_add_c(out, ']');
}

static void append_new(struct ask *a, struct weft_str session,
		       const struct buf *messages)
{
	if (a->error || messages->len <= 2)
		return;
	ask_about(a, "append", answer_str(session, "id"));
	ask_add_raw(a, "messages", buf_str(messages));
	ask_add_raw(a, "expect", json_member(session, "content_seq"));
	(void)ask_answer(a);
}

/* What is another than what is stored. */
static void set_changes(struct ask *a, struct weft_str id,
			struct weft_str session)
{
	static const char *const fields[] = { "agent", "slug",    "model",
					      "user",  "channel", "user_role",
					      "tools", "metadata" };
	struct weft_str now = show(a, id);
	bool first = true;

	ask_about(a, "set", id);
	buf_add_lit(&a->request, ",\"changes\":{");
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		struct weft_str raw = json_member(session, fields[i]);

		if (!raw.len || str_eq(raw, json_member(now, fields[i])))
			continue;
		buf_printf(&a->request, "%s\"%s\":", first ? "" : ",",
			   fields[i]);
		buf_add_str(&a->request, raw);
		first = false;
	}
	buf_add_c(&a->request, '}');
	if (!first)
		(void)ask_answer(a);
}

int weft_chat_save_session(struct weft_store *store, const char *chat,
			   size_t chat_len, struct weft_answer **ret,
			   struct weft_error *err)
{
	CLEANUP(buf_done) struct buf messages = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str json, session, id;

	ask_init(&a, store, err);
	json = ask_json(&a, "chat", chat, chat_len);
	session = json_member(json, "session");
	id = answer_str(session, "id");
	id = ask_id(&a, "session.id", id.ptr, id.len);
	buf_init(&messages, 0);
	new_messages(&a, json_member(json, "history"), &messages);
	if (!a.error)
		a.error = buf_error(&messages, a.err);
	append_new(&a, session, &messages);
	if (!a.error)
		set_changes(&a, id, session);
	if (a.error || !ret)
		return a.error;
	return give_loaded(&a, show(&a, id), ret);
}

/* ---- the agent used last ---- */

int weft_chat_save_last_used_agent(struct weft_store *store, const char *user,
				   size_t user_len, const char *agent,
				   size_t agent_len, struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str who, what;

	ask_init(&a, store, err);
	who = ask_filled(&a, "user", user, user_len);
	what = ask_text(&a, "agent", agent, agent_len);
	ask_method(&a, "user_agent_set");
	ask_add_text(&a, "user", who);
	ask_add_any(&a, "agent", what);
	return ask_do(&a);
}

int weft_chat_last_used_agent(struct weft_store *store, const char *user,
			      size_t user_len, struct weft_answer **ret,
			      struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str who;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	who = ask_filled(&a, "user", user, user_len);
	ask_method(&a, "user_agent");
	ask_add_text(&a, "user", who);
	return ask_call(&a, ret);
}

/*
 * subturn.c - a throw-away store for a subagent that nobody will look up.
 *
 * In it stands a session for the parent, whose key is "parent:" and its id.
 * The subagent works for that: so it has a parent and a root, what it spends
 * adds up there, and its own subagents are below it.  The durable store is
 * only read.
 */
#include "weft/compat.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "compat/ask.h"

#define KEEP_DEFAULT 50
#define SUBTURN_KEY  "subturn"
#define PARENT_KEY   "parent:"

/* What a subagent has from the session that it works for. */
static void add_settings(struct ask *a, struct weft_str parent)
{
	static const char *const fields[] = {
		"agent",     "project_dir", "user",  "channel",
		"user_role", "tools",       "model",
	};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		struct weft_str raw = json_member(parent, fields[i]);

		if (raw.len && !str_eq(raw, STR("null")) &&
		    !str_eq(raw, STR("\"\"")) &&
		    !str_eq(raw, STR("{\"provider\":\"\",\"name\":\"\"}")))
			ask_add_raw(a, fields[i], raw);
	}
}

/* The two sessions of the throw-away store. */
static int furnish(struct weft_store *made, struct weft_str parent,
		   struct weft_str tool_use_id, struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str stand_in;

	ask_init(&a, made, err);
	ask_method(&a, "new");
	buf_add_lit(&a.request, ",\"key\":\"" PARENT_KEY);
	buf_add_str(&a.request, answer_str(parent, "id"));
	buf_add_c(&a.request, '"');
	stand_in = answer_str(ask_answer(&a), "id");
	ask_method(&a, "new");
	ask_add_text(&a, "key", STR(SUBTURN_KEY));
	ask_add_text(&a, "kind", STR("subagent"));
	ask_add_text(&a, "parent", stand_in);
	ask_add_text(&a, "parent_tool_use_id", tool_use_id);
	add_settings(&a, parent);
	return ask_do(&a);
}

int weft_pico_open_subturn(struct weft_store *store, const char *parent,
			   size_t parent_len, const char *tool_use_id,
			   size_t tool_use_id_len, uint64_t keep,
			   struct weft_store **ret, struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str session, call, record;
	struct weft_store *made = NULL;
	char url[64];

	ask_init(&a, store, err);
	if (!ret)
		return fail(a.err, WEFT_INVALID, "no place for the store");
	session = ask_filled(&a, "parent", parent, parent_len);
	call = ask_text(&a, "tool_use_id", tool_use_id, tool_use_id_len);
	ask_about(&a, "show", session);
	record = ask_answer(&a);
	(void)snprintf(url, sizeof(url), "memory:?window_messages=%llu",
		       (unsigned long long)(keep ? keep : KEEP_DEFAULT));
	if (!a.error)
		a.error = weft_open(url, NULL, &made, a.err);
	if (!a.error)
		a.error = furnish(made, record, call, a.err);
	if (a.error) {
		(void)weft_close(made, NULL);
		return a.error;
	}
	*ret = made;
	return WEFT_OK;
}

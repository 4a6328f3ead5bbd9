/* claw.c - claw0's SessionStore: sessions by key, turns, rebuilt histories. */
#include "weft/compat.h"

#include "base/error.h"
#include "base/json.h"
#include "compat/ask.h"
#include "interop/claw_entry.h"

int weft_claw_create_session(struct weft_store *store, const char *key,
			     size_t key_len, struct weft_answer **ret,
			     struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str k, id;

	k = ask_by_key(&a, store, key, key_len, err);
	ask_place(&a, ret);
	id = ask_named(&a, k);
	if (id.len) {
		ask_about(&a, "reset", id);
	} else {
		ask_method(&a, "new");
		ask_add_text(&a, "key", k);
	}
	return ask_call(&a, ret);
}

/* What a model is to be given: {"system":...,"messages":[...]}. */
static struct weft_str rebuilt(struct ask *a, struct weft_str id)
{
	ask_about(a, "history", id);
	ask_add_text(a, "view", STR("window"));
	ask_add_text(a, "format", STR("anthropic"));
	return ask_answer(a);
}

int weft_claw_load_session(struct weft_store *store, const char *key,
			   size_t key_len, struct weft_answer **ret,
			   struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str session, history;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	ask_method(&a, "new");
	ask_add_text(&a, "key", ask_filled(&a, "key", key, key_len));
	session = ask_answer(&a);
	history = rebuilt(&a, answer_str(session, "id"));
	buf_init(&out, 0);
	buf_add_lit(&out, "{\"metadata\":");
	buf_add_str(&out, session);
	buf_add_lit(&out, ",\"system\":");
	buf_add_str(&out, json_member(history, "system"));
	buf_add_lit(&out, ",\"history\":");
	buf_add_str(&out, json_member(history, "messages"));
	buf_add_c(&out, '}');
	return ask_end(&a, &out, ret);
}

int weft_claw_save_turn(struct weft_store *store, const char *key,
			size_t key_len, const char *user, size_t user_len,
			const char *blocks, size_t blocks_len,
			struct weft_error *err)
{
	CLEANUP(buf_done) struct buf turn = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str k, text, json;

	k = ask_by_key(&a, store, key, key_len, err);
	text = ask_text(&a, "user", user, user_len);
	json = ask_json(&a, "blocks", blocks, blocks_len);
	buf_init(&turn, 0);
	if (!a.error)
		a.error = claw_turn_in(text, json, &turn, a.err);
	return ask_append(&a, ask_named_or_new(&a, k), &turn);
}

int weft_claw_append_transcript(struct weft_store *store, const char *key,
				size_t key_len, const char *entry,
				size_t entry_len, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf message = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str k, json, id;

	k = ask_by_key(&a, store, key, key_len, err);
	json = ask_json(&a, "entry", entry, entry_len);
	id = ask_named(&a, k);
	if (!a.error && !id.len)
		a.error = fail(a.err, WEFT_NOT_FOUND,
			       "no session has the key '%.*s'", STR_ARG(k));
	buf_init(&message, 0);
	if (!a.error)
		a.error = claw_entry_in(json, &message, a.err);
	return message.len ? ask_append(&a, id, &message) : a.error;
}

int weft_claw_rebuild_history(struct weft_store *store, const char *key,
			      size_t key_len, struct weft_answer **ret,
			      struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, messages = STR("[]");

	id = ask_named(&a, ask_by_key(&a, store, key, key_len, err));
	ask_place(&a, ret);
	if (id.len)
		messages = json_member(rebuilt(&a, id), "messages");
	buf_init(&out, 0);
	buf_add_str(&out, messages);
	return ask_end(&a, &out, ret);
}

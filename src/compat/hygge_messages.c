/* hygge_messages.c - hygge's store of sessions: what was said, and windows. */
#include "weft/compat.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "compat/ask.h"

int weft_hygge_append_message(struct weft_store *store, const char *session,
			      size_t session_len, const char *message,
			      size_t message_len, struct weft_answer **ret,
			      struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, json, receipt;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	json = ask_json(&a, "message", message, message_len);
	ask_about(&a, "append", id);
	ask_add_raw(&a, "message", json);
	receipt = ask_answer(&a);
	ask_method(&a, "message");
	ask_add_text(&a, "message", answer_str(receipt, "id"));
	return ask_call(&a, ret);
}

int weft_hygge_get_message(struct weft_store *store, const char *id,
			   size_t id_len, struct weft_answer **ret,
			   struct weft_error *err)
{
	CLEANUP(ask_done) struct ask a;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	ask_method(&a, "message");
	ask_add_text(&a, "message", ask_id(&a, "id", id, id_len));
	ask_add_true(&a, "redacted");
	return ask_call(&a, ret);
}

static int all_messages(struct weft_store *store, const char *session,
			size_t session_len, const char *view,
			struct weft_answer **ret, struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	buf_init(&out, 0);
	buf_add_c(&out, '[');
	ask_messages(&a, id, view, &out, NULL);
	buf_add_c(&out, ']');
	return ask_end(&a, &out, ret);
}

int weft_hygge_messages_for_session(struct weft_store *store,
				    const char *session, size_t session_len,
				    struct weft_answer **ret,
				    struct weft_error *err)
{
	return all_messages(store, session, session_len, "full", ret, err);
}

int weft_hygge_messages_direct_for_session(struct weft_store *store,
					   const char *session,
					   size_t session_len,
					   struct weft_answer **ret,
					   struct weft_error *err)
{
	return all_messages(store, session, session_len, "direct", ret, err);
}

/* ---- the user's last message ---- */

/* Whether an event is a message of the user: its body begins with the role. */
static bool by_user(const struct weft_event *e)
{
	static const char role[] = "\"role\":\"user\"";

	return e->body && e->body_len >= sizeof(role) - 1 &&
	       memcmp(e->body, role, sizeof(role) - 1) == 0;
}

/* Look backwards through the session's own messages, page by page. */
static int find_latest(struct weft_store *store, struct weft_str session,
		       uint64_t first, char *ret, struct weft_error *err)
{
	struct weft_read_options o;
	bool done = false;

	weft_read_options_init(&o, sizeof(o));
	o.first = first;
	o.flags = WEFT_READ_BACKWARDS | WEFT_READ_MESSAGES;
	while (!done) {
		struct weft_page *page = NULL;
		struct weft_event e;
		int r = weft_read(store, session.ptr, session.len, &o, &page,
				  err);

		if (r != WEFT_OK)
			return r;
		done = weft_page_done(page) || weft_page_count(page) == 0;
		for (size_t i = 0; weft_page_event(page, i, &e); i++) {
			o.last = e.seq - 1;
			if (!by_user(&e))
				continue;
			memcpy(ret, e.id, WEFT_ID_CHARS + 1);
			done = true;
			break;
		}
		weft_page_free(page);
		done = done || o.last < o.first;
	}
	return WEFT_OK;
}

int weft_hygge_latest_user_message_id(struct weft_store *store,
				      const char *session, size_t session_len,
				      char ret[WEFT_ID_CHARS + 2],
				      struct weft_error *err)
{
	char found[WEFT_ID_CHARS + 2] = "";
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, record;

	ask_init(&a, store, err);
	if (!ret)
		return fail(a.err, WEFT_INVALID, "no place for the answer");
	id = ask_id(&a, "session", session, session_len);
	ask_about(&a, "show", id);
	record = ask_answer(&a);
	if (!a.error)
		a.error = find_latest(store, id,
				      answer_u64(record, "fork_seq") + 1, found,
				      a.err);
	if (!a.error)
		memcpy(ret, found, sizeof(found));
	return a.error;
}

/* ---- markers ---- */

/*
 * The marker in force, or null.  One that takes everything back (an undo of
 * the first) is none: nothing stands in front of the messages.
 */
static struct weft_str in_force(struct ask *a, struct weft_str session)
{
	struct weft_str list, marker;
	size_t pos = 0;

	ask_about(a, "markers", session);
	ask_add_true(a, "in_force");
	list = json_member(ask_answer(a), "markers");
	if (a->error || !json_next_element(list, &pos, &marker))
		return STR("null");
	if (answer_u64(marker, "first_kept") <= 1 &&
	    answer_str(marker, "summary").len == 0)
		return STR("null");
	return marker;
}

int weft_hygge_messages_since_latest_marker(struct weft_store *store,
					    const char *session,
					    size_t session_len,
					    struct weft_answer **ret,
					    struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	buf_init(&out, 0);
	buf_add_lit(&out, "{\"messages\":[");
	ask_messages(&a, id, "window", &out, NULL);
	buf_add_lit(&out, "],\"marker\":");
	buf_add_str(&out, in_force(&a, id));
	buf_add_c(&out, '}');
	return ask_end(&a, &out, ret);
}

/* NOLINTNEXTLINE(readability-function-size) */
int weft_hygge_add_compaction_marker(struct weft_store *store,
				     const char *session, size_t session_len,
				     const char *before, size_t before_len,
				     const char *summary, size_t summary_len,
				     uint64_t tokens_saved,
				     struct weft_answer **ret,
				     struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id, last, text, answer;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	last = ask_id(&a, "before_message_id", before, before_len);
	text = ask_text(&a, "summary", summary, summary_len);
	ask_about(&a, "compact", id);
	ask_add_text(&a, "after", last);
	if (!text_is_blank(text))
		ask_add_any(&a, "summary", text);
	ask_add_u64(&a, "tokens_saved", tokens_saved);
	answer = ask_answer(&a);
	buf_init(&out, 0);
	buf_add_str(&out, json_member(answer, "marker"));
	return ask_end(&a, &out, ret);
}

int weft_hygge_latest_marker(struct weft_store *store, const char *session,
			     size_t session_len, struct weft_answer **ret,
			     struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str id;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	id = ask_id(&a, "session", session, session_len);
	buf_init(&out, 0);
	buf_add_str(&out, in_force(&a, id));
	return ask_end(&a, &out, ret);
}

int weft_hygge_list_markers_for_session(struct weft_store *store,
					const char *session, size_t session_len,
					struct weft_answer **ret,
					struct weft_error *err)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(ask_done) struct ask a;
	struct weft_str answer;

	ask_init(&a, store, err);
	ask_place(&a, ret);
	ask_method(&a, "markers");
	ask_add_text(&a, "session",
		     ask_id(&a, "session", session, session_len));
	answer = ask_answer(&a);
	buf_init(&out, 0);
	buf_add_str(&out, json_member(answer, "markers"));
	return ask_end(&a, &out, ret);
}

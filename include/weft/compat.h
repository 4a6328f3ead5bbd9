/*
 * compat.h - the calls of other session stores, over a Weft store.
 *
 * For programs that were written for PicoClaw's SessionStore, for claw0's
 * SessionStore, for an assistant with ChatSession, or for hygge's package
 * `session`.  Each function here is a few calls of weft.h; it says which, and
 * where it does something else than the original, on purpose.  Nothing is kept
 * here: all of it may be mixed with weft_call and everything in weft.h.
 *
 * The rules of weft.h hold.  Besides:
 *
 *  - What is large goes in and comes out as JSON.  An answer is freed with
 *    weft_answer_free; sessions, messages, markers, memories and todos in it
 *    are those of docs/API.md, unless a function says otherwise.
 *  - Every write is durable when the function returns, and every failure is
 *    returned: none of the originals does both.
 *  - Text must be UTF-8: anything else is WEFT_INVALID, and nothing changes.
 *
 * docs/COMPAT.md has all of it as tables.
 */
#ifndef WEFT_COMPAT_H
#define WEFT_COMPAT_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- PicoClaw: SessionStore ----
 *
 * A key is the key or an alias of a session, taken as it is; slugs and the
 * beginnings of ids do not count.  Keys that differ are different sessions:
 * "a:b", "a/b" and "a_b" do not share a file.
 *
 * Messages have PicoClaw's shape: {"role","content","reasoning_content",
 * "tool_calls":[{"id","function":{"name","arguments":text}}],"tool_call_id",
 * "media","created_at","model_name", ...}.  One with "parts" is taken for a
 * message of Weft's.  Members that Weft has no use for are kept and given back.
 */

/*
 * The session with this key, made if there is none: "new".  The answer is the
 * session, and "created".
 */
WEFT_API int weft_pico_get_or_create(struct weft_store *store, const char *key,
				     size_t key_len, struct weft_answer **ret,
				     struct weft_error *err);

/*
 * Append a message of one text, making the session if need be: "append".
 * INVALID for a role that is not user, assistant, tool or system.
 */
WEFT_API int weft_pico_add_message(struct weft_store *store, const char *key,
				   size_t key_len, const char *role,
				   size_t role_len, const char *content,
				   size_t content_len, struct weft_error *err);

/*
 * Append a message with tool calls and all, making the session if need be:
 * "append".  One that is only a thought (an assistant's reasoning without
 * text, calls or media) is left out, as in the original.  A result is a
 * message of the role tool with a tool_call_id.  INVALID names the member.
 */
WEFT_API int weft_pico_add_full_message(struct weft_store *store,
					const char *key, size_t key_len,
					const char *message, size_t message_len,
					struct weft_error *err);

/*
 * The messages of the window, as an array: "history" with the view window.
 * A key without a session has an empty one, and is not made.  As in the
 * original nothing is repaired: use rendering for a model.  A damaged line is
 * left out; a line of any length is read.
 */
WEFT_API int weft_pico_get_history(struct weft_store *store, const char *key,
				   size_t key_len, struct weft_answer **ret,
				   struct weft_error *err);

/*
 * Let the window be these messages (an array), making the session if need be:
 * "set_history".  All or none, at any moment.  The summary stays.  The old
 * messages are not lost: they are before the window, and undo brings them back.
 */
WEFT_API int weft_pico_set_history(struct weft_store *store, const char *key,
				   size_t key_len, const char *messages,
				   size_t messages_len, struct weft_error *err);

/* The summary as a JSON string; "" if there is none, or no session. */
WEFT_API int weft_pico_get_summary(struct weft_store *store, const char *key,
				   size_t key_len, struct weft_answer **ret,
				   struct weft_error *err);

/*
 * Set the summary alone, making the session if need be: "set_summary".  The
 * window stays as it is.  It is a marker: it can be listed and undone.
 */
WEFT_API int weft_pico_set_summary(struct weft_store *store, const char *key,
				   size_t key_len, const char *summary,
				   size_t summary_len, struct weft_error *err);

/*
 * Let the window be no more than its last messages, 0 or less: none:
 * "truncate".  Whoever made a summary meanwhile should call "compact" with
 * "after" instead, so that what was said since stays.  A key without a session
 * is not made.
 */
WEFT_API int weft_pico_truncate_history(struct weft_store *store,
					const char *key, size_t key_len,
					int64_t keep_last,
					struct weft_error *err);

/*
 * Wait until everything that was submitted before is durable or refused, and
 * say if the store can still be written.  It never takes anything away:
 * reclaiming is an act of its own.  A key without a session is fine.
 */
WEFT_API int weft_pico_save(struct weft_store *store, const char *key,
			    size_t key_len, struct weft_error *err);

/* ---- claw0: SessionStore ----
 *
 * A key is the key or an alias of a session, exactly.  Histories are messages
 * of Anthropic's, repaired: a result stands behind its call, a call without a
 * result is answered, neighbours are joined (docs/RENDERING.md).
 */

/*
 * Begin a session under this key: "new", or "reset" if there is one.  The old
 * one is not forgotten: it is the new one's previous one, and can be found.
 * The answer is the session.
 */
WEFT_API int weft_claw_create_session(struct weft_store *store, const char *key,
				      size_t key_len, struct weft_answer **ret,
				      struct weft_error *err);

/*
 * The session with this key, made if there is none, and what a model is to be
 * given of it: {"metadata":session,"system":text or null,"history":[...]}:
 * "new" and "history", view window, as anthropic.
 */
WEFT_API int weft_claw_load_session(struct weft_store *store, const char *key,
				    size_t key_len, struct weft_answer **ret,
				    struct weft_error *err);

/*
 * Append a whole turn, making the session if need be: the user's text, and all
 * blocks of the model's answers (a JSON array of Anthropic's).  "append", all
 * or none.  Thinking is kept, and every other block too.  Better still: append
 * the user's message before the model is asked, so that no crash loses it.
 */
WEFT_API int weft_claw_save_turn(struct weft_store *store, const char *key,
				 size_t key_len, const char *user,
				 size_t user_len, const char *blocks,
				 size_t blocks_len, struct weft_error *err);

/*
 * Append one line of a transcript: {"type":"user|assistant|tool_use|
 * tool_result",...}: "append".  One that begins a session writes nothing.
 * NOT_FOUND for a key without a session, where the original did nothing in
 * silence; INVALID for a type that it would have written and ignored.
 */
WEFT_API int weft_claw_append_transcript(struct weft_store *store,
					 const char *key, size_t key_len,
					 const char *entry, size_t entry_len,
					 struct weft_error *err);

/*
 * What a model is to be given, as an array of messages: "history", view
 * window, as anthropic.  A key without a session has an empty one, and is not
 * made.  The summary, if there is one, is in weft_claw_load_session's "system".
 */
WEFT_API int weft_claw_rebuild_history(struct weft_store *store,
				       const char *key, size_t key_len,
				       struct weft_answer **ret,
				       struct weft_error *err);

#ifdef __cplusplus
}
#endif

#endif

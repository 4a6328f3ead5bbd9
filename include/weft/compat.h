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

/*
 * The store of a sub-turn: in memory, thrown away by weft_close, and never
 * written to `store`, which is only read.  All calls of weft.h and of this
 * file work on it.  A window in it has no more than the last `keep` messages
 * (0: 50), whatever was said; its log keeps them all until it is closed.
 *
 * There are two sessions in it.  One has the key "subturn": a subagent with
 * the settings of `parent` (agent, model, project, user, channel, role, tools)
 * and nothing said.  It works for the other one, whose key is "parent:" and
 * the id of `parent`, and whose total is what the sub-turn has spent: add that
 * to `parent` by "usage_add", with the sub-turn's id as the operation id,
 * before closing.
 * The original has one conversation, whatever the key; here any key is one.
 *
 * `parent` is any name of a session of `store`; tool_use_id may be empty.
 * *ret is closed with weft_close.
 */
WEFT_API int weft_pico_open_subturn(struct weft_store *store,
				    const char *parent, size_t parent_len,
				    const char *tool_use_id,
				    size_t tool_use_id_len, uint64_t keep,
				    struct weft_store **ret,
				    struct weft_error *err);

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

/* ---- an assistant: ChatSession ----
 *
 * A chat is {"session":session,"history":[messages]}.  Where people talk is a
 * platform there and a channel here; it is trimmed and in small letters.
 */

/* What a chat begins with; empty where there is nothing to say. */
struct weft_chat_options {
	size_t size;
	struct weft_str agent; /* default: whom the user used last, or main */
	struct weft_str user, platform, user_role;
	struct weft_str tools;  /* JSON: a list, or an object by name */
	struct weft_str prompt; /* becomes the first message, the system's */
};

/* Nothing to say. */
WEFT_API void weft_chat_options_init(struct weft_chat_options *o, size_t size);

/*
 * NewChatSession: "new", and "append" for the prompt.  The answer is the
 * session.  The stored tools are for people to see: what a user may do is
 * decided by who asks, each time.
 */
WEFT_API int weft_chat_new_session(struct weft_store *store,
				   const struct weft_chat_options *options,
				   struct weft_answer **ret,
				   struct weft_error *err);

/*
 * SaveChatSession: write down what was changed in a chat since it was loaded.
 * Messages at the end of its history that have no id are new: "append".  Then
 * "set" for agent, slug, model, user, channel, user_role, tools and metadata
 * that are others than those stored.  The answer, unless ret is NULL, is the
 * chat as it is now.  The original writes the whole file; here two who save
 * the same chat do not overwrite each other: the second is STALE, and loads
 * again.
 */
WEFT_API int weft_chat_save_session(struct weft_store *store, const char *chat,
				    size_t chat_len, struct weft_answer **ret,
				    struct weft_error *err);

/* LoadChatSession: "show" and "history".  NOT_FOUND if there is none. */
WEFT_API int weft_chat_load_session(struct weft_store *store, const char *id,
				    size_t id_len, struct weft_answer **ret,
				    struct weft_error *err);

/*
 * The chat that a user was in last on a platform, by user and channel, newest
 * interaction first: one that a program or routing has made for them alone,
 * never one of a group.  What has expired, and what is over by the reset policy
 * (docs/LIFECYCLE.md), is passed over.  NOT_FOUND if there is none that goes on.
 */
WEFT_API int weft_chat_load_last_session(struct weft_store *store,
					 const char *user, size_t user_len,
					 const char *platform,
					 size_t platform_len,
					 struct weft_answer **ret,
					 struct weft_error *err);

/*
 * SaveLastUsedAgent: "user_agent_set".  One for each user, on all platforms; it
 * outlives the chats.  An empty agent is forgotten.
 */
WEFT_API int weft_chat_save_last_used_agent(struct weft_store *store,
					    const char *user, size_t user_len,
					    const char *agent, size_t agent_len,
					    struct weft_error *err);
/* What it was: "user_agent"; the answer has "agent", null if nothing is known. */
WEFT_API int weft_chat_last_used_agent(struct weft_store *store,
				       const char *user, size_t user_len,
				       struct weft_answer **ret,
				       struct weft_error *err);

/* ---- hygge: package session ----
 *
 * Ids are whole ids; an empty one is INVALID, an unknown one NOT_FOUND, also
 * where the original has an empty answer or another error.  Sessions, messages,
 * markers, memories and todos are those of docs/API.md: ParentID is "parent",
 * ForkMessageID "fork_seq", Totals "total", OwnTotals "own",
 * FirstMessagePreview "first_user", LastUserMessage "last_user".
 * Opening and closing are weft_open and weft_close.
 */

/* What a session begins with. */
struct weft_hygge_new_options {
	size_t size;
	struct weft_str project_dir;     /* must be there */
	struct weft_str provider, model; /* must be there */
	struct weft_str slug;
	struct weft_str parent_id;       /* of a fork or a subagent */
	struct weft_str fork_message_id; /* of a fork: the last it has */
	struct weft_str parent_tool_use_id;
	struct weft_str kind; /* primary (default) or subagent */
};

/* Nothing set. */
WEFT_API void weft_hygge_new_options_init(struct weft_hygge_new_options *o,
					  size_t size);

/*
 * CreateSession: "new", or "fork" if there is a fork_message_id.  The answer is
 * the session.  The message must be one that the parent shows; a subagent
 * begins with nothing said.
 */
WEFT_API int weft_hygge_create_session(
	struct weft_store *store, const struct weft_hygge_new_options *options,
	struct weft_answer **ret, struct weft_error *err);

/* GetSession: "show"; a deleted one too. */
WEFT_API int weft_hygge_get_session(struct weft_store *store, const char *id,
				    size_t id_len, struct weft_answer **ret,
				    struct weft_error *err);

struct weft_hygge_list_options {
	size_t size;
	int64_t limit; /* 0 or less: 50 */
	uint32_t include_deleted;
	uint32_t reserved;
	struct weft_str project_dir;
	struct weft_str kind; /* primary or subagent; empty: both */
	struct weft_str parent_id;
	struct weft_str query;
};

/* Everything, 50 of it. */
WEFT_API void weft_hygge_list_options_init(struct weft_hygge_list_options *o,
					   size_t size);

/*
 * ListSessions: "list" by creation, newest first; an array.  `options` may be
 * NULL.  The query is applied before the limit, and accents do not count.
 */
WEFT_API int weft_hygge_list_sessions(
	struct weft_store *store, const struct weft_hygge_list_options *options,
	struct weft_answer **ret, struct weft_error *err);

/*
 * UpdateSessionTotals: "usage_add".  `delta` is JSON, as the usage of a
 * message.  What a subagent spends is its parents' too, at once; nothing can
 * be taken back, so that a negative number is INVALID.
 */
WEFT_API int weft_hygge_update_session_totals(struct weft_store *store,
					      const char *id, size_t id_len,
					      const char *delta,
					      size_t delta_len,
					      struct weft_error *err);

/*
 * PropagateTotals: the same, with the totals afterwards of all who pay, the
 * session first: [{"id","total"}, ...], at most 33.  A message's own usage has
 * been counted, for all of them, when it was appended: do not add it again.
 * A fork pays for itself, so that its parent is not among them.
 */
WEFT_API int weft_hygge_propagate_totals(struct weft_store *store,
					 const char *id, size_t id_len,
					 const char *delta, size_t delta_len,
					 struct weft_answer **ret,
					 struct weft_error *err);

/* SoftDeleteSession: "delete".  Twice is once.  A deleted session takes no
 * more messages; restore brings it back. */
WEFT_API int weft_hygge_soft_delete_session(struct weft_store *store,
					    const char *id, size_t id_len,
					    struct weft_error *err);

/* RenameSession: "rename".  Empty takes the title away; the same one again is
 * no act. */
WEFT_API int weft_hygge_rename_session(struct weft_store *store, const char *id,
				       size_t id_len, const char *slug,
				       size_t slug_len, struct weft_error *err);

/*
 * LatestUserMessageID: the last message of the user that was said in the
 * session itself and is not redacted; empty if there is none.
 */
WEFT_API int weft_hygge_latest_user_message_id(struct weft_store *store,
					       const char *session,
					       size_t session_len,
					       char ret[WEFT_ID_CHARS + 2],
					       struct weft_error *err);

/* Of what, up to and with which message, for which model. */
struct weft_hygge_fork_options {
	size_t size;
	struct weft_str from_session, from_message; /* must be there */
	struct weft_str provider, model;            /* must be there */
	struct weft_str slug;
};

/* Nothing set. */
WEFT_API void weft_hygge_fork_options_init(struct weft_hygge_fork_options *o,
					   size_t size);

/*
 * ForkSession: "fork".  The answer is the new session.  A fork at a message
 * that its parent has inherited sees exactly what was before that; it may be
 * 4,096 deep; it begins with the window of its fork point.
 */
WEFT_API int weft_hygge_fork_session(
	struct weft_store *store, const struct weft_hygge_fork_options *options,
	struct weft_answer **ret, struct weft_error *err);

/*
 * AppendMessage: "append"; `message` is JSON, as docs/API.md has it.  The
 * answer is the message.  Parts are checked when they are written, not when
 * they are read, and there must be one.  The session's updated_at is that of
 * its last event, also of a message.  DELETED for a deleted session.
 */
WEFT_API int weft_hygge_append_message(struct weft_store *store,
				       const char *session, size_t session_len,
				       const char *message, size_t message_len,
				       struct weft_answer **ret,
				       struct weft_error *err);

/* GetMessage: "message", redacted or not; of a deleted session too. */
WEFT_API int weft_hygge_get_message(struct weft_store *store, const char *id,
				    size_t id_len, struct weft_answer **ret,
				    struct weft_error *err);

/*
 * MessagesForSession: "history", view full; an array.  In the order in which
 * they were recorded, whatever the clock said.
 */
WEFT_API int weft_hygge_messages_for_session(struct weft_store *store,
					     const char *session,
					     size_t session_len,
					     struct weft_answer **ret,
					     struct weft_error *err);

/* MessagesDirectForSession: "history", view direct; an array. */
WEFT_API int weft_hygge_messages_direct_for_session(struct weft_store *store,
						    const char *session,
						    size_t session_len,
						    struct weft_answer **ret,
						    struct weft_error *err);

/*
 * MessagesSinceLatestMarker: "history", view window, and the marker in force:
 * {"messages":[...],"marker":marker or null}.  A fork inherits the window of
 * its fork point: what was summed up does not come back.
 */
WEFT_API int weft_hygge_messages_since_latest_marker(struct weft_store *store,
						     const char *session,
						     size_t session_len,
						     struct weft_answer **ret,
						     struct weft_error *err);

/*
 * AddCompactionMarker: "compact" with "after": `before` is the last message
 * that the summary stands for, and must be one that the session shows.  A blank
 * summary is none: the last one is carried on, where hygge would forget what
 * it stood for.  The answer is the marker in force.
 */
WEFT_API int weft_hygge_add_compaction_marker(
	struct weft_store *store, const char *session, size_t session_len,
	const char *before, size_t before_len, const char *summary,
	size_t summary_len, uint64_t tokens_saved, struct weft_answer **ret,
	struct weft_error *err);

/* LatestMarker: the marker in force, an inherited one too; or null. */
WEFT_API int weft_hygge_latest_marker(struct weft_store *store,
				      const char *session, size_t session_len,
				      struct weft_answer **ret,
				      struct weft_error *err);

/* ListMarkersForSession: "markers"; an array, oldest first, every change of
 * the window in it. */
WEFT_API int weft_hygge_list_markers_for_session(struct weft_store *store,
						 const char *session,
						 size_t session_len,
						 struct weft_answer **ret,
						 struct weft_error *err);

/* RememberSessionMemory: "memory_add"; the memory.  The text is trimmed, and
 * INVALID if nothing is left; it has a limit (docs/LIMITS.md). */
WEFT_API int weft_hygge_remember_session_memory(
	struct weft_store *store, const char *session, size_t session_len,
	const char *content, size_t content_len, struct weft_answer **ret,
	struct weft_error *err);

/* ListSessionMemories: "memories" of the session; an array, oldest first, all
 * that are not forgotten.  A fork does not inherit them. */
WEFT_API int weft_hygge_list_session_memories(struct weft_store *store,
					      const char *session,
					      size_t session_len,
					      struct weft_answer **ret,
					      struct weft_error *err);

/* ForgetSessionMemory: "memory_forget"; the memory, with deleted_at.
 * MEMORY_NOT_FOUND if it is not there, not of this session, or forgotten. */
WEFT_API int weft_hygge_forget_session_memory(
	struct weft_store *store, const char *session, size_t session_len,
	const char *memory, size_t memory_len, struct weft_answer **ret,
	struct weft_error *err);

/* ReplaceSessionTodos: "todos_set"; the summary.  Items are checked; null is
 * the empty list. */
WEFT_API int weft_hygge_replace_session_todos(
	struct weft_store *store, const char *session, size_t session_len,
	const char *items, size_t items_len, struct weft_answer **ret,
	struct weft_error *err);

/* GetSessionTodos: "todos"; {"todos":[...],"summary":{...}}. */
WEFT_API int weft_hygge_get_session_todos(struct weft_store *store,
					  const char *session,
					  size_t session_len,
					  struct weft_answer **ret,
					  struct weft_error *err);

/*
 * MarshalParts: parts as they are stored, after they have been checked; "[]"
 * for none, also for NULL.  INVALID_PART, UNKNOWN_PART_KIND.
 */
WEFT_API int weft_hygge_marshal_parts(const char *parts, size_t parts_len,
				      struct weft_answer **ret,
				      struct weft_error *err);

/* UnmarshalParts: the same of what was stored; no text is INVALID_PART. */
WEFT_API int weft_hygge_unmarshal_parts(const char *parts, size_t parts_len,
					struct weft_answer **ret,
					struct weft_error *err);

/*
 * NewSessionID, NewMessageID, NewMarkerID, NewMemoryID: a fresh id, larger than
 * those before it.  The store makes the ids of what it keeps itself; these are
 * for the program's own use, as operation ids for example.
 */
WEFT_API int weft_hygge_new_id(char ret[WEFT_ID_CHARS + 2],
			       struct weft_error *err);

/* ResolveRootSessionID: "show", root.  One look, however deep it is. */
WEFT_API int weft_hygge_resolve_root_session_id(struct weft_store *store,
						const char *id, size_t id_len,
						char ret[WEFT_ID_CHARS + 2],
						struct weft_error *err);

#ifdef __cplusplus
}
#endif

#endif

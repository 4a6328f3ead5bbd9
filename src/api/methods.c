/*
 * methods.c - every method there is, as a table.
 *
 * The texts are for people; docs/API.md is made from them.
 */
#include "api/api.h"

#define SESSION_ABOUT \
	"the session: id, key, alias, slug, or the beginning of an id"

#define FIELD_SESSION                                                         \
	{                                                                     \
		.name = "session", .about = SESSION_ABOUT, .type = TYPE_LINE, \
		.required = 1,                                                \
	}

#define FIELD_REDACTED                                                 \
	{                                                              \
		.name = "redacted", .about = "also what was redacted", \
		.type = TYPE_BOOLEAN,                                  \
	}

#define FIELD_AFTER                                                        \
	{                                                                  \
		.name = "after", .about = "only what has a higher number", \
		.type = TYPE_INTEGER,                                      \
	}

#define FIELD_PAGE                                                     \
	{                                                              \
		.name = "limit",                                       \
		.about = "at most so many; default and maximum: page", \
		.type = TYPE_INTEGER,                                  \
	}

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

#define FIELD_OP                                                            \
	{                                                                   \
		.name = "op",                                               \
		.about = "operation id: the same one again writes nothing", \
		.type = TYPE_LINE, FIELD_LIMIT(op_bytes),                   \
	}

#define FIELD_TOKEN                                               \
	{                                                         \
		.name = "token", .about = "the token of a lease", \
		.type = TYPE_INTEGER,                             \
	}

static const struct field fields_session[] = {
	FIELD_SESSION,
};

static const struct field fields_delete[] = {
	FIELD_SESSION,
	FIELD_TOKEN,
};

static const struct field fields_lease[] = {
	FIELD_SESSION,
	{ .name = "how",
	  .about =
		  "acquire it if nobody has it, renew or release one's own, or "
		  "takeover: from whoever has it",
	  .type = TYPE_CHOICE,
	  .values = "acquire|renew|release|takeover",
	  .required = 1 },
	{ .name = "owner",
	  .about = "who holds it: a name that nobody else uses; needed to "
		   "acquire and to take over",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "ttl",
	  .about = "for how many seconds; default lease_ms",
	  .type = TYPE_INTEGER },
	{ .name = "token",
	  .about = "the token of the lease to renew or release",
	  .type = TYPE_INTEGER },
	FIELD_OP,
};

#define FIELD_SCOPE                                                      \
	{                                                                \
		.name = "scope", .about = "whose memories they are",     \
		.type = TYPE_CHOICE, .values = "session|project|global", \
	}

#define FIELD_MEMORY_SESSION                                        \
	{                                                           \
		.name = "session",                                  \
		.about = "the session; its project is the project", \
		.type = TYPE_LINE,                                  \
	}

#define FIELD_MEMORY_PROJECT                                               \
	{                                                                  \
		.name = "project_dir", .about = "the project's directory", \
		.type = TYPE_LINE,                                         \
	}

static const struct field fields_memory_add[] = {
	FIELD_SCOPE,
	FIELD_MEMORY_SESSION,
	FIELD_MEMORY_PROJECT,
	{ .name = "content",
	  .about = "what to remember; trimmed, not blank",
	  .type = TYPE_TEXT,
	  .required = 1,
	  FIELD_LIMIT(memory_bytes) },
	{ .name = "title",
	  .about = "default the first line of the content",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(slug_bytes) },
	{ .name = "source",
	  .about = "where it comes from",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	FIELD_OP,
};

static const struct field fields_memories[] = {
	FIELD_SCOPE,
	FIELD_MEMORY_SESSION,
	FIELD_MEMORY_PROJECT,
	{ .name = "query",
	  .about = "only those that a search for this would find; empty: all",
	  .type = TYPE_LINE },
	{ .name = "deleted",
	  .about = "also those that were forgotten",
	  .type = TYPE_BOOLEAN },
	{ .name = "limit",
	  .about = "at most so many of each scope, the newest; default and "
		   "maximum: page",
	  .type = TYPE_INTEGER },
};

static const struct field fields_memory_forget[] = {
	{ .name = "memory",
	  .about = "its id",
	  .type = TYPE_LINE,
	  .required = 1 },
	FIELD_SCOPE,
	FIELD_MEMORY_SESSION,
	FIELD_MEMORY_PROJECT,
};

static const struct field fields_search[] = {
	{ .name = "query",
	  .about =
		  "words, all of which must be there; \"a phrase\"; begin* for "
		  "what begins a word; -word for what must not be there",
	  .type = TYPE_TEXT,
	  .required = 1 },
	{ .name = "session",
	  .about = "only in this session and in what it inherits",
	  .type = TYPE_LINE },
	{ .name = "kind",
	  .about = "only messages, titles of sessions, or memories",
	  .type = TYPE_CHOICE,
	  .values = "message|title|memory" },
	{ .name = "project_dir",
	  .about = "only in sessions about this directory",
	  .type = TYPE_LINE },
	{ .name = "user",
	  .about = "only in sessions of this user",
	  .type = TYPE_LINE },
	{ .name = "limit",
	  .about = "at most so many; default 50, at most page",
	  .type = TYPE_INTEGER },
	{ .name = "cursor",
	  .about = "go on behind this page, as next says",
	  .type = TYPE_LINE },
	{ .name = "wait",
	  .about = "first index all that is not indexed yet, however long "
		   "that takes",
	  .type = TYPE_BOOLEAN },
};

static const struct field fields_todos_set[] = {
	FIELD_SESSION,
	{ .name = "todos",
	  .about = "the whole list: objects with content, status (pending, "
		   "in_progress, completed, cancelled) and perhaps priority",
	  .type = TYPE_ARRAY,
	  .required = 1 },
	FIELD_OP,
	FIELD_TOKEN,
};

static const struct field fields_turn[] = {
	FIELD_SESSION,
	{ .name = "state",
	  .about = "what has become of the turn",
	  .type = TYPE_CHOICE,
	  .values = "begun|ended|failed",
	  .required = 1 },
	{ .name = "reason",
	  .about = "failed: why, in one line",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(name_bytes) },
	FIELD_OP,
	FIELD_TOKEN,
};

#define FIELD_USER                                     \
	{                                              \
		.name = "user",                        \
		.about = "the id of the user, or the " \
			 "name of an identity link",   \
		.type = TYPE_LINE, .required = 1,      \
	}

static const struct field fields_user[] = { FIELD_USER };

static const struct field fields_user_agent_set[] = {
	FIELD_USER,
	{ .name = "agent",
	  .about = "the agent; empty: forget it",
	  .type = TYPE_LINE,
	  .required = 1,
	  FIELD_LIMIT(name_bytes) },
};

static const struct field fields_cleanup[] = {
	{ .name = "dry_run",
	  .about = "only say what would be removed",
	  .type = TYPE_BOOLEAN },
	{ .name = "if_due",
	  .about = "only if lifecycle.maintenance_hour has passed since it "
		   "last ran",
	  .type = TYPE_BOOLEAN },
};

static const struct field fields_usage_add[] = {
	FIELD_SESSION,
	{ .name = "usage",
	  .about = "what was spent, as in a message: input_tokens, "
		   "output_tokens, cache_read_tokens, cache_write_tokens, "
		   "cost_usd (left out or null: not known)",
	  .type = TYPE_OBJECT,
	  .required = 1,
	  FIELD_LIMIT(metadata_bytes) },
	FIELD_OP,
	FIELD_TOKEN,
};

static const struct field fields_backup[] = {
	{ .name = "file",
	  .about = "the file to make; it must not be there yet",
	  .type = TYPE_LINE,
	  .required = 1 },
};

static const struct field fields_move[] = {
	{ .name = "to",
	  .about = "the URL of the store to copy into; it is made if it is not "
		   "there",
	  .type = TYPE_LINE,
	  .required = 1 },
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

#define FIELD_EXPECT                                             \
	{                                                        \
		.name = "expect",                                \
		.about = "the content_seq that must still hold", \
		.type = TYPE_INTEGER,                            \
	}

static const struct field fields_append[] = {
	FIELD_SESSION,
	{ .name = "message", .about = "one message", .type = TYPE_OBJECT },
	{ .name = "messages",
	  .about = "several, all or none; instead of message",
	  .type = TYPE_ARRAY },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_fork[] = {
	FIELD_SESSION,
	{ .name = "at",
	  .about = "the last message that the fork has; default the last",
	  .type = TYPE_REF },
	{ .name = "slug",
	  .about = "a title for people",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(slug_bytes) },
	{ .name = "model",
	  .about = "the model it is held with; default that of the session",
	  .type = TYPE_MODEL,
	  FIELD_LIMIT(name_bytes) },
	{ .name = "op",
	  .about = "operation id: the same one again is the same fork",
	  .type = TYPE_LINE,
	  FIELD_LIMIT(op_bytes) },
};

static const struct field fields_tree[] = {
	FIELD_SESSION,
	{ .name = "deleted",
	  .about = "also those that were deleted",
	  .type = TYPE_BOOLEAN },
};

static const struct field fields_compact[] = {
	FIELD_SESSION,
	{ .name = "keep",
	  .about = "keep so many messages from the end; with a summary, "
		   "default 0",
	  .type = TYPE_INTEGER },
	{ .name = "before",
	  .about = "the first message to keep, instead of keep",
	  .type = TYPE_REF },
	{ .name = "after",
	  .about = "the last message not to keep, instead of keep: what is "
		   "said while a summary is made stays",
	  .type = TYPE_REF },
	{ .name = "turn",
	  .about = "keep more, so that the window begins with a turn",
	  .type = TYPE_BOOLEAN },
	{ .name = "summary",
	  .about = "of what is not kept; without one the summary before it "
		   "is carried on",
	  .type = TYPE_TEXT,
	  FIELD_LIMIT(summary_bytes) },
	{ .name = "tokens_saved",
	  .about = "how many, if the caller knows",
	  .type = TYPE_INTEGER },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_truncate[] = {
	FIELD_SESSION,
	{ .name = "keep",
	  .about = "keep so many messages from the end",
	  .type = TYPE_INTEGER,
	  .required = 1 },
	{ .name = "turn",
	  .about = "keep more, so that the window begins with a turn",
	  .type = TYPE_BOOLEAN },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_window[] = {
	FIELD_SESSION,
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_markers[] = {
	FIELD_SESSION,
	{ .name = "in_force",
	  .about = "only the one that says what the window is",
	  .type = TYPE_BOOLEAN },
};

static const struct field fields_set_summary[] = {
	FIELD_SESSION,
	{ .name = "summary",
	  .about = "of what came before the window; empty: none",
	  .type = TYPE_TEXT,
	  .required = 1,
	  FIELD_LIMIT(summary_bytes) },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_set_history[] = {
	FIELD_SESSION,
	{ .name = "messages",
	  .about = "what the window is to be; may be empty",
	  .type = TYPE_ARRAY,
	  .required = 1 },
	{ .name = "summary",
	  .about = "of what came before; without one the summary in force is "
		   "carried on",
	  .type = TYPE_TEXT,
	  FIELD_LIMIT(summary_bytes) },
	FIELD_OP,
	FIELD_EXPECT,
	FIELD_TOKEN,
};

static const struct field fields_history[] = {
	FIELD_SESSION,
	{ .name = "view",
	  .about = "full: all that was said; direct: only in this session, "
		   "nothing inherited; window: what a model is given; "
		   "default full",
	  .type = TYPE_CHOICE,
	  .values = "full|direct|window" },
	{ .name = "last",
	  .about = "only the last so many messages",
	  .type = TYPE_INTEGER },
	{ .name = "tokens",
	  .about = "only as many of the last turns as are estimated to have "
		   "no more than so many tokens; the last turn always stays",
	  .type = TYPE_INTEGER },
	{ .name = "format",
	  .about = "weft: messages as they are stored; anthropic, openai, "
		   "responses: what that provider's model is sent, repaired "
		   "so that it is accepted; default weft",
	  .type = TYPE_CHOICE,
	  .values = "weft|anthropic|openai|responses" },
	{ .name = "provider",
	  .about = "with a provider's format: whose signatures and other "
		   "bound data are sent back; default anthropic or openai",
	  .type = TYPE_LINE },
	FIELD_AFTER,
	FIELD_PAGE,
	FIELD_REDACTED,
};

static const struct field fields_message[] = {
	{ .name = "message",
	  .about = "its id; or, with session, its number",
	  .type = TYPE_REF,
	  .required = 1 },
	{ .name = "session", .about = SESSION_ABOUT, .type = TYPE_LINE },
	FIELD_REDACTED,
};

static const struct field fields_redact[] = {
	FIELD_SESSION,
	{ .name = "messages",
	  .about = "which ones",
	  .type = TYPE_REFS,
	  .required = 1 },
	{ .name = "undo", .about = "show them again", .type = TYPE_BOOLEAN },
	FIELD_TOKEN,
};

static const struct field fields_erase[] = {
	FIELD_SESSION,
	{ .name = "messages",
	  .about = "which ones",
	  .type = TYPE_REFS,
	  .required = 1 },
	FIELD_TOKEN,
};

#define FIELD_DRY_RUN                                                  \
	{                                                              \
		.name = "dry_run",                                     \
		.about = "only say what would go; nothing is changed", \
		.type = TYPE_BOOLEAN                                   \
	}

static const struct field fields_reclaim[] = {
	FIELD_SESSION,
	FIELD_DRY_RUN,
	FIELD_TOKEN,
};

static const struct field fields_purge[] = {
	{ .name = "session",
	  .about = "id, key, alias, slug, or beginning of an id",
	  .type = TYPE_LINE },
	{ .name = "user",
	  .about = "instead of a session: everything of this person",
	  .type = TYPE_LINE },
	FIELD_DRY_RUN,
	FIELD_TOKEN,
};

static const struct field fields_events[] = {
	FIELD_SESSION,
	FIELD_AFTER,
	FIELD_PAGE,
	FIELD_REDACTED,
};

static const struct field fields_list[] = {
	{ .name = "query",
	  .about = "text in title, project or first message of the user; "
		   "case and accents do not count",
	  .type = TYPE_LINE },
	{ .name = "kind",
	  .about = "conversation: primary and subagent; default primary, "
		   "with parent all",
	  .type = TYPE_CHOICE,
	  .values = "primary|subagent|conversation|book|all" },
	{ .name = "parent",
	  .about = "only forks and subagents of this session",
	  .type = TYPE_LINE },
	{ .name = "project_dir",
	  .about = "only those about this directory",
	  .type = TYPE_LINE },
	{ .name = "agent",
	  .about = "only those of this agent",
	  .type = TYPE_LINE },
	{ .name = "channel",
	  .about = "only those on this channel",
	  .type = TYPE_LINE },
	{ .name = "user",
	  .about = "only those of this user",
	  .type = TYPE_LINE },
	{ .name = "key",
	  .about = "only the session that has this key; only chain, deleted, "
		   "limit and cursor count besides",
	  .type = TYPE_LINE },
	{ .name = "chain",
	  .about = "with key: also those that had it before, newest first",
	  .type = TYPE_BOOLEAN },
	{ .name = "deleted",
	  .about = "also those that were deleted",
	  .type = TYPE_BOOLEAN },
	{ .name = "sort",
	  .about = "by the last interaction or by creation, newest first; "
		   "default interaction",
	  .type = TYPE_CHOICE,
	  .values = "interaction|created" },
	{ .name = "limit",
	  .about = "at most so many; default 50, maximum: page",
	  .type = TYPE_INTEGER },
	{ .name = "cursor",
	  .about = "next or prev of another page of the same list",
	  .type = TYPE_LINE },
};

#define FIELD_ROUTE(field, text)                                   \
	{                                                          \
		.name = #field, .about = (text), .type = TYPE_LINE \
	}

static const struct field fields_route[] = {
	FIELD_ROUTE(channel, "where people talk: telegram, slack, ..."),
	FIELD_ROUTE(account, "the account or bot that was written to"),
	FIELD_ROUTE(chat_type, "direct, group, channel, ...; default direct"),
	FIELD_ROUTE(chat_id, "the chat"),
	FIELD_ROUTE(topic_id, "the topic or thread in it"),
	FIELD_ROUTE(space_type, "workspace, guild, ...; default space"),
	FIELD_ROUTE(space_id, "what the chat is part of"),
	FIELD_ROUTE(sender_id, "who speaks"),
	{ .name = "mentioned",
	  .about = "whether the agent is named in the message",
	  .type = TYPE_BOOLEAN },
	FIELD_ROUTE(agent, "who answers; the rules do not count then"),
	FIELD_ROUTE(session_key,
		    "a key of the caller's own, sk_v1_... or agent:..., taken "
		    "as it is; anything else is only another name"),
	{ .name = "dry_run",
	  .about = "only look; make nothing",
	  .type = TYPE_BOOLEAN },
};

static const struct field fields_reset[] = {
	FIELD_SESSION,
	{ .name = "token",
	  .about = "the token of a lease",
	  .type = TYPE_INTEGER },
};

#define FIELDS(list) .fields = (list), .n_fields = ARRAY_LEN(list)

#define ANSWER_DROPPED                                                       \
	"`{\"dry_run\",\"sessions\",\"events\",\"bytes\",\"blobs\","         \
	"\"forks\":[{\"session\",\"of\",\"events\",\"bytes\"}],"             \
	"\"refused\":[{\"session\",\"code\",\"message\"}]}`: what went, or " \
	"would go; which forks still hold how much of which session; what "  \
	"was "                                                               \
	"left alone, and why"
#define ANSWER_SESSION "the session"
#define ANSWER_USAGE   "`{\"own\":{...},\"total\":{...}}`, totals both"
#define ANSWER_MARKER                                                      \
	"`{\"marker\":{\"id\",\"seq\",\"session\",\"how\",\"first_kept\"," \
	"\"summary\",\"tokens_saved\",\"undoes\",\"created_at\"},"         \
	"\"changed\"}`; the marker in force, or null if there is none"
#define ANSWER_MEMORIES                                                  \
	"`{\"memories\":[{\"id\",\"scope\",\"session\",\"project_dir\"," \
	"\"title\",\"content\",\"source\",\"created_at\","               \
	"\"updated_at\",\"deleted_at\"}],\"more\"}`"
#define ANSWER_TODOS                                               \
	"`{\"todos\":[...],\"summary\":{\"total\",\"incomplete\"," \
	"\"in_progress\",\"completed\",\"cancelled\"}}`"
#define ANSWER_REPORT                                                          \
	"`{\"ok\",\"sessions\",\"events\",\"bytes\",\"blobs\",\"changed\","    \
	"\"damaged\":[{\"session\",\"file\",\"line\",\"offset\",\"reason\"}]}" \
	"`"

const struct method methods[] = {
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
	{ .name = "list",
	  .about = "List sessions, newest first.",
	  .answer = "`{\"sessions\":[...],\"next\",\"prev\"}`; next and prev "
		    "are cursors, or null",
	  .right = RIGHT_READ,
	  FIELDS(fields_list),
	  .run = method_list },
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
	  .about = "Bring a deleted session back; name it by its id.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_session),
	  .run = method_restore },
	{ .name = "route",
	  .about = "Find the session that a message belongs to, or make it, "
		   "by the configuration.",
	  .answer = "`{\"agent\",\"matched_by\",\"scope\",\"signature\","
		    "\"key\",\"aliases\",\"main_key\",\"main_aliases\","
		    "\"session\":id|null,\"created\",\"why\":[...]}`; why says "
		    "in words, step by step, how it came to that; aliases are "
		    "what older programs call it, whether or not they were "
		    "free",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_route),
	  .run = method_route },
	{ .name = "reset",
	  .about = "Begin a new session under the same key; the old one stays "
		   "as its previous one.",
	  .answer = "the new session",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_reset),
	  .run = method_reset },
	{ .name = "append",
	  .about = "Append messages; durable when it answers.",
	  .answer = "`{\"seq\",\"id\",\"session\",\"count\"}` of the first, "
		    "and `\"replayed\":true` if the operation id was known",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_append),
	  .run = method_append },
	{ .name = "history",
	  .about = "Read messages, oldest first.",
	  .answer = "`{\"messages\":[...],\"next\",\"damaged\"}`; next is "
		    "the after of the next page, or null; damaged is how many "
		    "events could not be read; a window with a summary has "
		    "`\"summary\"` in front. With a provider's format all "
		    "at once: `{\"system\":text|null,\"messages\":[...]}` "
		    "(anthropic), `{\"messages\":[...]}` (openai), "
		    "`{\"items\":[...]}` (responses); see docs/RENDERING.md",
	  .right = RIGHT_READ,
	  FIELDS(fields_history),
	  .run = method_history },
	{ .name = "message",
	  .about = "Show one message.",
	  .answer = "the message",
	  .right = RIGHT_READ,
	  FIELDS(fields_message),
	  .run = method_message },
	{ .name = "redact",
	  .about = "Hide messages from a session and its forks; they stay in "
		   "the log.",
	  .answer = "`{\"session\",\"messages\":[numbers],\"redacted\","
		    "\"changed\"}`",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_redact),
	  .run = method_redact },
	{ .name = "erase",
	  .about = "Blank messages on the disk, for the session and all its "
		   "forks. This cannot be undone.",
	  .answer = "`{\"session\",\"messages\":[numbers],\"erased\","
		    "\"bytes\",\"blobs\"}`: how many were, the bytes of "
		    "their lines, and attachments that nothing else refers to",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_erase),
	  .run = method_erase },
	{ .name = "reclaim",
	  .about = "Drop the messages that neither the window nor a fork "
		   "needs. Undoing a marker then reaches only what is left.",
	  .answer = ANSWER_DROPPED,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_reclaim),
	  .run = method_reclaim },
	{ .name = "purge",
	  .about = "Drop a session and its subagents for good, or everything "
		   "of a person: their sessions and their book, and what they "
		   "said in those of others.",
	  .answer = ANSWER_DROPPED,
	  .right = RIGHT_ADMIN,
	  FIELDS(fields_purge),
	  .run = method_purge },
	{ .name = "fork",
	  .about = "Begin a session that goes on where another one was; "
		   "nothing is copied.",
	  .answer = "the new session",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_fork),
	  .run = method_fork },
	{ .name = "tree",
	  .about = "Show a session with its forks and subagents.",
	  .answer = "`{\"session\":{...},\"children\":[...]}`, each child "
		    "alike, newest first",
	  .right = RIGHT_READ,
	  FIELDS(fields_tree),
	  .run = method_tree },
	{ .name = "compact",
	  .about = "Let the window begin later, with a summary of what was "
		   "before.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_compact),
	  .run = method_compact },
	{ .name = "truncate",
	  .about = "Let the window be no more than the last messages.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_truncate),
	  .run = method_truncate },
	{ .name = "clear",
	  .about = "Empty the window, and drop the summary; the history "
		   "stays.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_window),
	  .run = method_clear },
	{ .name = "set_summary",
	  .about = "Change the summary alone; the window stays as it is.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_set_summary),
	  .run = method_set_summary },
	{ .name = "set_history",
	  .about = "Let the window be these messages, all or none.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_set_history),
	  .run = method_set_history },
	{ .name = "undo",
	  .about = "Undo the last change of the window; twice is redo.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_window),
	  .run = method_undo },
	{ .name = "redo",
	  .about = "Undo an undo.",
	  .answer = ANSWER_MARKER,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_window),
	  .run = method_redo },
	{ .name = "markers",
	  .about = "List the changes of the window, oldest first, inherited "
		   "ones too.",
	  .answer = "`{\"markers\":[...]}`, each as compact answers it",
	  .right = RIGHT_READ,
	  FIELDS(fields_markers),
	  .run = method_markers },
	{ .name = "events",
	  .about = "Read events of all types, oldest first.",
	  .answer = "`{\"events\":[{\"seq\",\"ts\",\"type\",\"id\",...}],"
		    "\"next\"}`; next is the after of the next page, or null",
	  .right = RIGHT_READ,
	  FIELDS(fields_events),
	  .run = method_events },
	{ .name = "lease",
	  .about = "Give out the right to write a session: acquire, renew, "
		   "release, takeover.",
	  .answer = "the lease: `{\"owner\",\"token\",\"expires_at\"}`, all "
		    "null after release",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_lease),
	  .run = method_lease },
	{ .name = "memory_add",
	  .about = "Remember something: in the scope given, else for the "
		   "session, the project or the whole store, whichever is "
		   "named.",
	  .answer = ANSWER_MEMORIES ", with the new one",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_memory_add),
	  .run = method_memory_add },
	{ .name = "memories",
	  .about = "List or search memories: those of the scope given, else "
		   "the global ones, then the project's, then the session's.",
	  .answer = ANSWER_MEMORIES "; more says whether some were left out",
	  .right = RIGHT_READ,
	  FIELDS(fields_memories),
	  .run = method_memories },
	{ .name = "search",
	  .about = "Find messages, titles and memories by their words, newest "
		   "first.",
	  .answer = "`{\"hits\":[{\"session\",\"seq\",\"id\",\"kind\","
		    "\"role\",\"scope\",\"slug\",\"project_dir\","
		    "\"created_at\",\"snippet\"}],\"next\",\"behind\"}`; next "
		    "is a cursor, or null; behind is how many events are not "
		    "indexed yet and were not searched",
	  .right = RIGHT_READ,
	  FIELDS(fields_search),
	  .run = method_search },
	{ .name = "memory_forget",
	  .about = "Forget a memory; it stays in the log. Scope, session and "
		   "project_dir, if given, must be its own.",
	  .answer = ANSWER_MEMORIES ", with the one that was forgotten",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_memory_forget),
	  .run = method_memory_forget },
	{ .name = "todos",
	  .about = "Say what is left to do in a session.",
	  .answer = ANSWER_TODOS,
	  .right = RIGHT_READ,
	  FIELDS(fields_session),
	  .run = method_todos },
	{ .name = "todos_set",
	  .about = "Replace the list of what is to do.",
	  .answer = ANSWER_TODOS,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_todos_set),
	  .run = method_todos_set },
	{ .name = "turn",
	  .about = "Mark that somebody is at work in a session, or no longer. "
		   "Meanwhile running_since says since when; neither reset "
		   "policies nor retention touch it. A turn that began and "
		   "has written nothing for a day counts as dead. To end what "
		   "has not begun writes nothing.",
	  .answer = ANSWER_SESSION,
	  .right = RIGHT_WRITE,
	  FIELDS(fields_turn),
	  .run = method_turn },
	{ .name = "usage",
	  .about = "Say what a session has spent, by itself and with all that "
		   "worked for it.",
	  .answer = ANSWER_USAGE,
	  .right = RIGHT_READ,
	  FIELDS(fields_session),
	  .run = method_usage },
	{ .name = "usage_add",
	  .about = "Write down what was spent without a message.",
	  .answer = ANSWER_USAGE "; `\"replayed\":true` if the operation id "
				 "was known",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_usage_add),
	  .run = method_usage_add },
	{ .name = "user_agent",
	  .about = "Say which agent a user used last. It is kept in the book "
		   "of the user, so that it outlives all sessions.",
	  .answer = "`{\"user\",\"agent\":text|null}`",
	  .right = RIGHT_READ,
	  FIELDS(fields_user),
	  .run = method_user_agent },
	{ .name = "user_agent_set",
	  .about = "Remember which agent a user used last. With agents.sticky "
		   "new conversations of the user begin with it, and routing "
		   "to an agent that was asked for sets it.",
	  .answer = "`{\"user\",\"agent\":text|null}`",
	  .right = RIGHT_WRITE,
	  FIELDS(fields_user_agent_set),
	  .run = method_user_agent_set },
	{ .name = "cleanup",
	  .about = "Let idle sessions leave memory, and carry out the rules of "
		   "retention: put into the trash what they say, purge what "
		   "was there long enough. Never touches a session that is "
		   "pinned, leased, running or forked. One runs at a time.",
	  .answer = "`{\"ran\",\"why_not\",\"dry_run\",\"looked\","
		    "\"suspended\",\"blobs\",\"removed\":L,\"purged\":L,"
		    "\"spared\":L,"
		    "\"last_run_at\",\"next_run_at\"}`; L is `{\"count\","
		    "\"bytes\",\"sessions\":[{\"id\",\"key\",\"slug\","
		    "\"why\",\"bytes\",\"last_use_at\"}]}` with the first "
		    "1,000",
	  .right = RIGHT_ADMIN,
	  FIELDS(fields_cleanup),
	  .run = method_cleanup },
	{ .name = "verify",
	  .about = "Read everything and report what is wrong; change nothing.",
	  .answer = ANSWER_REPORT,
	  .right = RIGHT_ADMIN,
	  .run = method_verify },
	{ .name = "repair",
	  .about = "Mend what verify reports; damaged bytes are kept aside.",
	  .answer = ANSWER_REPORT "; damaged is what could not be mended",
	  .right = RIGHT_ADMIN,
	  .run = method_repair },
	{ .name = "reindex",
	  .about = "Make everything that is derived again from the events.",
	  .answer = ANSWER_REPORT,
	  .right = RIGHT_ADMIN,
	  .run = method_reindex },
	{ .name = "collect",
	  .about = "Drop blobs that no message refers to, if nobody has put "
		   "them, or referred to them, for a day.",
	  .answer = ANSWER_REPORT "; blobs is how many are left, changed how "
				  "many were dropped",
	  .right = RIGHT_ADMIN,
	  .run = method_collect },
	{ .name = "backup",
	  .about = "Copy the whole store as it is now into a new file, while "
		   "others go on writing. For stores in one file; others say "
		   "what to do instead.",
	  .answer = ANSWER_REPORT,
	  .right = RIGHT_ADMIN,
	  FIELDS(fields_backup),
	  .run = method_backup },
	{ .name = "move",
	  .about = "Copy everything into another store and compare what is "
		   "there then. The source is only read. Done again, it goes "
		   "on where it was cut short.",
	  .answer = "`{\"sessions\",\"events\",\"bytes\",\"copied\","
		    "\"digest\"}`; copied is how many events were not there "
		    "yet, digest the same for the same events in any store",
	  .right = RIGHT_ADMIN,
	  FIELDS(fields_move),
	  .run = method_move },
	{ .name = "stats",
	  .about = "Count what is in the store, and say how it is.",
	  .answer = "`{\"sessions\",\"primary\",\"subagents\",\"books\","
		    "\"deleted\",\"events\",\"messages\",\"bytes\",\"total\","
		    "\"health\":{...},\"engine\":{...}}`",
	  .right = RIGHT_READ,
	  .run = method_stats },
	{ .name = "tasks",
	  .about = "List verify, repair, reindex, collect, backup and move "
		   "under way in "
		   "this process.",
	  .answer = "`{\"tasks\":[{\"task\",\"done\",\"total\","
		    "\"seconds\"}]}`; total is 0 while not known",
	  .right = RIGHT_READ,
	  .run = method_tasks },
	{ .name = "limits",
	  .about = "Say which limits the store has.",
	  .answer = "`{\"limits\":{name: number},\"about\":{name: text}}`",
	  .right = RIGHT_READ,
	  .run = method_limits },
	{ .name = "methods",
	  .about = "Describe every method: this page, as JSON.",
	  .answer = "`{\"methods\":[{\"name\",\"right\",\"about\",\"answer\","
		    "\"fields\":[{\"name\",\"type\",\"required\",\"values\","
		    "\"limit\",\"about\"}]}]}`",
	  .right = RIGHT_READ,
	  .run = method_methods },
};

const size_t n_methods = ARRAY_LEN(methods);

const struct method *method_find(struct weft_str name)
{
	for (size_t i = 0; i < n_methods; i++) {
		if (str_eq(name, str_of(methods[i].name)))
			return &methods[i];
	}
	return NULL;
}

/* config_table.c - everything there is to configure. */
#include "route/config.h"

#define MINUTES_MAX (UINT64_C(366) * 24 * 60)
#define DAYS_MAX    UINT64_C(36600)
#define NUMBER_MAX  ((UINT64_C(1) << 53) - 1)

#define DIMENSION_WORDS "space|chat|topic|sender"

#define FIELDS(list) .fields = (list), .n_fields = ARRAY_LEN(list)

/* ---- session ---- */

static const struct config_field session_fields[] = {
	{ .name = "dimensions",
	  .about = "what makes a conversation one of its own, in this order",
	  .type = CONFIG_WORDS,
	  .values = DIMENSION_WORDS,
	  .otherwise = "[\"chat\"]",
	  .at = offsetof(struct config, session.dimensions) },
	{ .name = "identity_links",
	  .about = "several ids of one person: a name, and ids like "
		   "\"telegram:123456789\"",
	  .type = CONFIG_LINKS,
	  .at = offsetof(struct config, session.identity_links) },
	{ .name = "dm_scope",
	  .about = "instead of dimensions: which direct messages are one "
		   "conversation",
	  .type = CONFIG_WORD,
	  .values = DM_SCOPE_WORDS,
	  .at = offsetof(struct config, session.dm_scope) },
	{ .name = "dm_scope_style",
	  .about = "picoclaw: main and per-channel mean what they mean there",
	  .type = CONFIG_WORD,
	  .values = "weft|picoclaw",
	  .otherwise = "\"weft\"",
	  .at = offsetof(struct config, session.dm_scope_style) },
	{ .name = "roles",
	  .about = "what people may do: a role, and the ids or links of those "
		   "who have it",
	  .type = CONFIG_LINKS,
	  .at = offsetof(struct config, session.roles) },
};
static const struct config_object session = { FIELDS(session_fields) };

/* ---- agents and dispatch ---- */

static const struct config_field agent_fields[] = {
	{ .name = "id",
	  .about = "what rules and sessions call it",
	  .type = CONFIG_TEXT,
	  .needed = 1,
	  .at = offsetof(struct config_agent, id) },
	{ .name = "name",
	  .about = "what people call it",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config_agent, name) },
	{ .name = "default",
	  .about = "answers where no rule says who; else the first does",
	  .type = CONFIG_BOOL,
	  .at = offsetof(struct config_agent, is_default) },
};
static const struct config_object agent = {
	FIELDS(agent_fields),
	.bytes = sizeof(struct config_agent),
	.place = offsetof(struct config_agent, place),
};

#define WHEN(field, text)                                             \
	{                                                             \
		.name = #field, .about = (text), .type = CONFIG_TEXT, \
		.at = offsetof(struct config_when, field)             \
	}

static const struct config_field when_fields[] = {
	WHEN(channel, "telegram, slack, ..."),
	WHEN(account, "the account or bot; any if it is left out"),
	WHEN(space, "type and id: \"workspace:t001\", \"guild:42\""),
	WHEN(chat, "type and id: \"group:-1001234567890\""),
	WHEN(topic, "\"topic:42\""),
	WHEN(sender, "the id, or the name of an identity link"),
	{ .name = "mentioned",
	  .about = "whether the agent was named in the message",
	  .type = CONFIG_BOOL,
	  .at = offsetof(struct config_when, mentioned) },
};
static const struct config_object when = { FIELDS(when_fields) };

static const struct config_field rule_fields[] = {
	{ .name = "name",
	  .about = "for matched_by",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config_rule, name) },
	{ .name = "agent",
	  .about = "who answers; the default agent if it is left out",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config_rule, agent) },
	{ .name = "when",
	  .about = "what must be so; all that is given counts",
	  .type = CONFIG_OBJECT,
	  .object = &when,
	  .at = offsetof(struct config_rule, when) },
	{ .name = "session_dimensions",
	  .about = "instead of session.dimensions",
	  .type = CONFIG_WORDS,
	  .values = DIMENSION_WORDS,
	  .at = offsetof(struct config_rule, session_dimensions) },
};
static const struct config_object rule = {
	FIELDS(rule_fields),
	.bytes = sizeof(struct config_rule),
	.place = offsetof(struct config_rule, place),
};

static const struct config_field dispatch_fields[] = {
	{ .name = "rules",
	  .about = "who answers what: the first rule that fits counts",
	  .type = CONFIG_LIST,
	  .object = &rule,
	  .at = offsetof(struct config, rules) },
};
static const struct config_object dispatch = { FIELDS(dispatch_fields) };

static const struct config_field agents_fields[] = {
	{ .name = "list",
	  .about = "the agents there are",
	  .type = CONFIG_LIST,
	  .object = &agent,
	  .at = offsetof(struct config, agents) },
	{ .name = "sticky",
	  .about = "where no rule says who answers: the agent that the person "
		   "talks to already, else the one they used last",
	  .type = CONFIG_BOOL,
	  .at = offsetof(struct config, sticky_agent) },
	{ .name = "dispatch",
	  .about = "the same as the section dispatch",
	  .type = CONFIG_OBJECT,
	  .again = 1,
	  .object = &dispatch },
};
/* What a model is asked with is PicoClaw's matter. */
static const struct config_object agents = { FIELDS(agents_fields),
					     .ignored = "defaults" };

/* ---- lifecycle ---- */

static const struct config_field reset_fields[] = {
	{ .name = "mode",
	  .about = "when a message begins a new conversation under the same "
		   "key: never, after at_hour of each day, or after a pause",
	  .type = CONFIG_WORD,
	  .values = "none|daily|idle",
	  .at = offsetof(struct config_reset, mode) },
	{ .name = "at_hour",
	  .about = "of the day, local time",
	  .type = CONFIG_NUMBER,
	  .otherwise = "4",
	  .max = 23,
	  .at = offsetof(struct config_reset, at_hour) },
	{ .name = "idle_minutes",
	  .about = "how long a pause may last; with daily, whichever comes "
		   "first",
	  .type = CONFIG_NUMBER,
	  .otherwise = "0",
	  .max = MINUTES_MAX,
	  .at = offsetof(struct config_reset, idle_minutes) },
};
static const struct config_object reset = {
	FIELDS(reset_fields),
	.place = offsetof(struct config_reset, place),
};
static const struct config_object channel_reset = {
	FIELDS(reset_fields),
	.bytes = sizeof(struct config_channel_reset),
	.place = offsetof(struct config_reset, place),
};

#define BY_TYPE(field, text)                                            \
	{                                                               \
		.name = #field, .about = (text), .type = CONFIG_OBJECT, \
		.object = &reset,                                       \
		.at = offsetof(struct config, lifecycle.field)          \
	}

static const struct config_field by_type_fields[] = {
	BY_TYPE(direct, "one person and the agent"),
	BY_TYPE(group, "groups and channels"),
	BY_TYPE(thread, "threads and topics"),
};
static const struct config_object by_type = { FIELDS(by_type_fields) };

static const struct config_field lifecycle_fields[] = {
	{ .name = "suspend_minutes",
	  .about = "a session that rests so long leaves memory",
	  .type = CONFIG_NUMBER,
	  .otherwise = "30",
	  .min = 1,
	  .max = MINUTES_MAX,
	  .at = offsetof(struct config, lifecycle.suspend_minutes) },
	{ .name = "maintenance_hour",
	  .about = "of the day, local time: when to clean up",
	  .type = CONFIG_NUMBER,
	  .otherwise = "3",
	  .max = 23,
	  .at = offsetof(struct config, lifecycle.maintenance_hour) },
	{ .name = "reset",
	  .about = "when a conversation begins anew by itself; never if it is "
		   "left out",
	  .type = CONFIG_OBJECT,
	  .object = &reset,
	  .at = offsetof(struct config, lifecycle.reset) },
	{ .name = "reset_by_type",
	  .about = "the same for a type of chat, instead of reset",
	  .type = CONFIG_OBJECT,
	  .object = &by_type },
	{ .name = "reset_by_channel",
	  .about = "the same for a channel, instead of all others",
	  .type = CONFIG_BY_NAME,
	  .object = &channel_reset,
	  .at = offsetof(struct config, lifecycle.by_channel) },
};
static const struct config_object lifecycle = { FIELDS(lifecycle_fields) };

/* ---- retention, store, server ---- */

static const struct config_field retention_rule_fields[] = {
	{ .name = "kind",
	  .about = "only sessions of this kind",
	  .type = CONFIG_WORD,
	  .values = "primary|subagent|book",
	  .at = offsetof(struct config_retention_rule, kind) },
	{ .name = "agent",
	  .about = "only those of this agent",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config_retention_rule, agent) },
	{ .name = "channel",
	  .about = "only those on this channel",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config_retention_rule, channel) },
	{ .name = "account",
	  .about = "only those whose scope has this account",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config_retention_rule, account) },
	{ .name = "chat_type",
	  .about = "only those of this type of chat: direct, group, ...",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config_retention_rule, chat_type) },
	{ .name = "idle_days",
	  .about = "remove those without interaction for so long; 0: none",
	  .type = CONFIG_NUMBER,
	  .otherwise = "0",
	  .max = DAYS_MAX,
	  .at = offsetof(struct config_retention_rule, idle_days) },
	{ .name = "max_sessions",
	  .about = "keep at most so many, the latest; 0: all",
	  .type = CONFIG_NUMBER,
	  .otherwise = "0",
	  .max = NUMBER_MAX,
	  .at = offsetof(struct config_retention_rule, max_sessions) },
	{ .name = "max_bytes",
	  .about = "keep at most so many bytes; 0: all",
	  .type = CONFIG_NUMBER,
	  .otherwise = "0",
	  .max = NUMBER_MAX,
	  .at = offsetof(struct config_retention_rule, max_bytes) },
};
static const struct config_object retention_rule = {
	FIELDS(retention_rule_fields),
	.bytes = sizeof(struct config_retention_rule),
	.place = offsetof(struct config_retention_rule, place),
};

static const struct config_field retention_fields[] = {
	{ .name = "rules",
	  .about = "what may be removed; nothing if there are none",
	  .type = CONFIG_LIST,
	  .object = &retention_rule,
	  .at = offsetof(struct config, retention.rules) },
	{ .name = "trash_days",
	  .about = "what was removed can be restored for so long",
	  .type = CONFIG_NUMBER,
	  .otherwise = "30",
	  .max = DAYS_MAX,
	  .at = offsetof(struct config, retention.trash_days) },
};
static const struct config_object retention = { FIELDS(retention_fields) };

static const struct config_field store_fields[] = {
	{ .name = "url",
	  .about = "where sessions are kept: \"jsonl:DIR\", "
		   "\"sqlite:FILE\", \"postgres://USER@HOST/DATABASE\"",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config, store_url) },
};
static const struct config_object store = { FIELDS(store_fields) };

static const struct config_field server_fields[] = {
	{ .name = "listen",
	  .about = "the address and port that the server answers on",
	  .type = CONFIG_TEXT,
	  .at = offsetof(struct config, server_listen) },
};
static const struct config_object server = { FIELDS(server_fields) };

/* ---- all of it ---- */

#define SECTION(section, text)                                            \
	{                                                                 \
		.name = #section, .about = (text), .type = CONFIG_OBJECT, \
		.object = &(section)                                      \
	}

static const struct config_field sections[] = {
	SECTION(session, "which messages are one conversation"),
	SECTION(agents, "who answers"),
	SECTION(dispatch, "who answers what"),
	SECTION(lifecycle, "when conversations rest and begin anew"),
	SECTION(retention, "what is removed, and when"),
	SECTION(store, "where sessions are kept"),
	SECTION(server, "how the server is reached"),
};

/* The version is that of the file's other reader. */
const struct config_object config_root = { FIELDS(sections),
					   .ignored = "version" };

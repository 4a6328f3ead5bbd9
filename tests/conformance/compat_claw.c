/* compat_claw.c - claw0's SessionStore, and an assistant's ChatSession. */
#include <stdio.h>
#include <stdlib.h>

#include "conformance/compat.h"

static const char *create(struct desk *d, const char *key)
{
	struct weft_answer *answer;

	return CALL(
		d, answer,
		weft_claw_create_session(d->store, T(key), &answer, &d->err));
}

static const char *load(struct desk *d, const char *key)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_claw_load_session(d->store, T(key), &answer, &d->err));
}

static const char *rebuild(struct desk *d, const char *key)
{
	struct weft_answer *answer;

	return CALL(
		d, answer,
		weft_claw_rebuild_history(d->store, T(key), &answer, &d->err));
}

static void append(struct desk *d, const char *key, const char *entry)
{
	desk_ok(d, weft_claw_append_transcript(d->store, T(key), T(entry),
					       &d->err));
}

/* Loading makes what is not there, so that nobody need tell "create" from
 * "restore". */
static void loading_makes_a_session(void **state)
{
	struct desk *d = *state;
	const char *first = load(d, "main:cli:c1");

	assert_string_equal(at(d, first, "metadata.key"), "main:cli:c1");
	assert_string_equal(at(d, first, "metadata.created"), "true");
	assert_string_equal(at(d, first, "history"), "[]");
	assert_string_equal(at(d, first, "system"), "null");
	assert_string_equal(at(d, load(d, "main:cli:c1"), "metadata.id"),
			    at(d, first, "metadata.id"));
}

/* There the old session is an orphan file; here it is the previous one. */
static void creating_again_keeps_the_old(void **state)
{
	struct desk *d = *state;
	const char *first = create(d, "main:cli:c2"), *second;

	append(d, "main:cli:c2", "{\"type\":\"user\",\"content\":\"old\"}");
	second = create(d, "main:cli:c2");
	assert_string_not_equal(at(d, first, "id"), at(d, second, "id"));
	assert_string_equal(at(d, second, "previous"), at(d, first, "id"));
	assert_string_equal(rebuild(d, "main:cli:c2"), "[]");
	assert_string_equal(desk_texts(d, at(d, first, "id")), "old");
}

#define BLOCKS                                                              \
	"[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}," \
	"{\"type\":\"text\",\"text\":\"I look.\"},"                         \
	"{\"type\":\"tool_use\",\"id\":\"tu_1\",\"name\":\"read\","         \
	"\"input\":{\"path\":\"a\"}},"                                      \
	"{\"type\":\"tool_use\",\"id\":\"tu_2\",\"name\":\"read\","         \
	"\"input\":{\"path\":\"b\"}},"                                      \
	"{\"type\":\"text\",\"text\":\"Both are there.\"}]"

#define REBUILT                                                               \
	"[{\"role\":\"user\",\"content\":\"Are they there?\"},"               \
	"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","        \
	"\"thinking\":\"hm\",\"signature\":\"s\"},"                           \
	"{\"type\":\"text\",\"text\":\"I look.\"},"                           \
	"{\"type\":\"tool_use\",\"id\":\"tu_1\",\"name\":\"read\","           \
	"\"input\":{\"path\":\"a\"}},{\"type\":\"tool_use\",\"id\":\"tu_2\"," \
	"\"name\":\"read\",\"input\":{\"path\":\"b\"}}]},"                    \
	"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","          \
	"\"tool_use_id\":\"tu_1\",\"content\":\"A\"},"                        \
	"{\"type\":\"tool_result\",\"tool_use_id\":\"tu_2\","                 \
	"\"content\":\"B\"}]},"                                               \
	"{\"role\":\"assistant\",\"content\":\"Both are there.\"}]"

/* As the original writes it: results while the turn runs, in the order in
 * which they come; the user's text and the calls at its end.  There such a
 * session cannot be continued; here it can. */
static void a_turn_with_tools_can_be_continued(void **state)
{
	struct desk *d = *state;

	(void)create(d, "main:cli:c3");
	append(d, "main:cli:c3",
	       "{\"type\":\"tool_result\",\"tool_use_id\":\"tu_2\","
	       "\"output\":\"B\",\"ts\":\"2026-01-01T00:00:01+00:00\"}");
	append(d, "main:cli:c3",
	       "{\"type\":\"tool_result\",\"tool_use_id\":\"tu_1\","
	       "\"content\":\"A\",\"ts\":1767225602.5}");
	desk_ok(d,
		weft_claw_save_turn(d->store, T("main:cli:c3"),
				    T("Are they there?"), T(BLOCKS), &d->err));
	assert_string_equal(rebuild(d, "main:cli:c3"), REBUILT);
	assert_string_equal(at(d, load(d, "main:cli:c3"), "history"), REBUILT);
	assert_string_equal(
		at(d,
		   desk_call(d, "{\"method\":\"history\",\"session\":"
				"\"main:cli:c3\"}"),
		   "messages.1.created_at"),
		"2026-01-01T00:00:02.500Z");
}

/* A turn is there whole or not at all. */
static void a_bad_block_saves_nothing(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   weft_claw_save_turn(d->store, T("main:cli:c4"), T("q"),
				       T("[{\"type\":\"text\",\"text\":\"a\"},"
					 "{\"type\":\"tool_use\"}]"),
				       &d->err),
		   WEFT_INVALID_PART, "id");
	desk_fails(d,
		   weft_claw_save_turn(d->store, T("main:cli:c4"), T("q"),
				       T("[1]"), &d->err),
		   WEFT_INVALID, "blocks[0]");
	desk_fails(d,
		   weft_claw_save_turn(d->store, T("main:cli:c4"), T("q"),
				       T("{}"), &d->err),
		   WEFT_INVALID, "blocks");
	assert_string_equal(rebuild(d, "main:cli:c4"), "[]");
	/* What Weft has no part for is kept. */
	desk_ok(d, weft_claw_save_turn(d->store, T("main:cli:c4"), T("q"),
				       T("[{\"type\":\"redacted_thinking\","
					 "\"data\":\"zz\"},{\"type\":\"text\","
					 "\"text\":\"a\"}]"),
				       &d->err));
	assert_non_null(strstr(rebuild(d, "main:cli:c4"),
			       "{\"type\":\"redacted_thinking\",\"data\":"
			       "\"zz\"}"));
}

static void lines_of_a_transcript(void **state)
{
	static const char *const lines[] = {
		"{\"type\":\"session\",\"id\":\"abc\",\"key\":\"k\"}",
		"{\"type\":\"user\",\"content\":\"hello\",\"ts\":"
		"\"2025-01-01T00:00:01Z\"}",
		"{\"type\":\"assistant\",\"content\":\"Hi there!\"}",
		"{\"type\":\"user\",\"content\":\"read it\"}",
		"{\"type\":\"tool_use\",\"name\":\"read_file\","
		"\"tool_use_id\":\"tu_001\",\"input\":{\"path\":"
		"\"config.json\"}}",
		"{\"type\":\"tool_result\",\"tool_use_id\":\"tu_001\","
		"\"output\":\"{\\\"key\\\": \\\"value\\\"}\"}",
	};
	struct desk *d = *state;

	(void)create(d, "main:cli:c5");
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		append(d, "main:cli:c5", lines[i]);
	assert_string_equal(
		rebuild(d, "main:cli:c5"),
		"[{\"role\":\"user\",\"content\":\"hello\"},"
		"{\"role\":\"assistant\",\"content\":\"Hi there!\"},"
		"{\"role\":\"user\",\"content\":\"read it\"},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\","
		"\"id\":\"tu_001\",\"name\":\"read_file\",\"input\":{\"path\":"
		"\"config.json\"}}]},{\"role\":\"user\",\"content\":[{\"type\":"
		"\"tool_result\",\"tool_use_id\":\"tu_001\",\"content\":"
		"\"{\\\"key\\\": \\\"value\\\"}\"}]}]");
}

static void what_is_no_line_is_named(void **state)
{
	static const struct {
		const char *entry;
		int code;
		const char *part;
	} wrong[] = {
		{ "42", WEFT_INVALID, "type" },
		{ "{\"type\":\"note\",\"content\":\"x\"}", WEFT_INVALID,
		  "note" },
		{ "{\"content\":\"x\"}", WEFT_INVALID, "type" },
		{ "{\"type\":\"user\",\"content\":1}", WEFT_INVALID_PART,
		  "text" },
		{ "{\"type\":\"tool_use\",\"name\":\"f\"}", WEFT_INVALID_PART,
		  "id" },
		{ "{\"type\":\"user\",\"content\":\"x\",\"ts\":-1}",
		  WEFT_INVALID, "ts" },
		{ "{\"type\":\"user\",\"content\":\"x\",\"ts\":1e300}",
		  WEFT_INVALID, "ts" },
		{ "{\"type\":\"user\",\"content\":\"x\",\"ts\":\"noon\"}",
		  WEFT_INVALID, "at" },
		{ "{\"type\":\"user\"", WEFT_INVALID, "entry" },
	};
	struct desk *d = *state;

	desk_fails(d,
		   weft_claw_append_transcript(d->store, T("main:cli:c6"),
					       T("{\"type\":\"user\","
						 "\"content\":\"x\"}"),
					       &d->err),
		   WEFT_NOT_FOUND, "main:cli:c6");
	(void)create(d, "main:cli:c6");
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		desk_fails(
			d,
			weft_claw_append_transcript(d->store, T("main:cli:c6"),
						    T(wrong[i].entry), &d->err),
			wrong[i].code, wrong[i].part);
	assert_string_equal(rebuild(d, "main:cli:c6"), "[]");
}

static void hostile_callers_are_told(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	desk_fails(d, weft_claw_create_session(NULL, T("k"), &answer, &d->err),
		   WEFT_INVALID, "store");
	desk_fails(d,
		   weft_claw_create_session(d->store, T(""), &answer, &d->err),
		   WEFT_INVALID, "key");
	desk_fails(d, weft_claw_load_session(d->store, T("k"), NULL, &d->err),
		   WEFT_INVALID, "answer");
	desk_fails(d, weft_claw_load_session(NULL, T("k"), &answer, &d->err),
		   WEFT_INVALID, "store");
	desk_fails(d,
		   weft_claw_rebuild_history(d->store, "\xff", 1, &answer,
					     &d->err),
		   WEFT_INVALID, "key");
	desk_fails(d,
		   weft_claw_save_turn(d->store, T("main:cli:c7"), NULL, 5,
				       T("[]"), &d->err),
		   WEFT_INVALID, "user");
	desk_fails(d,
		   weft_claw_save_turn(d->store, T("main:cli:c7"), T("q"), NULL,
				       0, &d->err),
		   WEFT_INVALID, "blocks");
	assert_null(answer);
}

/* ---- an assistant's ChatSession ---- */

static const char *new_chat(struct desk *d, const char *user,
			    const char *platform)
{
	struct weft_chat_options o;
	struct weft_answer *answer;

	weft_chat_options_init(&o, sizeof(o));
	o.agent = (struct weft_str){ T("Nikki") };
	o.user = (struct weft_str){ user, strlen(user) };
	o.platform = (struct weft_str){ platform, strlen(platform) };
	o.user_role = (struct weft_str){ T("MasterAdmin") };
	o.tools = (struct weft_str){ T("{\"calendar\":{\"roles\":[1]}}") };
	o.prompt = (struct weft_str){ T("You are Nikki.") };
	return CALL(d, answer,
		    weft_chat_new_session(d->store, &o, &answer, &d->err));
}

static const char *load_chat(struct desk *d, const char *id)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_chat_load_session(d->store, T(id), &answer, &d->err));
}

static int try_last(struct desk *d, const char *user, const char *platform,
		    struct weft_answer **ret)
{
	return weft_chat_load_last_session(d->store, T(user), T(platform), ret,
					   &d->err);
}

static void a_chat_begins_with_its_prompt(void **state)
{
	struct desk *d = *state;
	const char *s = new_chat(d, "ann-1", " WhatsApp"), *chat;

	assert_string_equal(at(d, s, "agent"), "Nikki");
	assert_string_equal(at(d, s, "channel"), "whatsapp");
	assert_string_equal(at(d, s, "user_role"), "MasterAdmin");
	assert_string_equal(at(d, s, "tools"),
			    "[{\"name\":\"calendar\",\"definition\":{\"roles\":"
			    "[1]}}]");
	chat = load_chat(d, at(d, s, "id"));
	assert_string_equal(at(d, chat, "session.user"), "ann-1");
	assert_string_equal(each(d, chat, "history", "role"), "system");
	assert_string_equal(each(d, chat, "history", "parts.0.text"),
			    "You are Nikki.");
}

/* The chat with `from` replaced by `to`. */
static const char *edited(struct desk *d, const char *chat, const char *from,
			  const char *to)
{
	const char *found = strstr(chat, from);
	size_t n = strlen(chat) + strlen(to) + 1;
	char *out = arena_alloc(&d->arena, n);

	assert_non_null(found);
	assert_non_null(out);
	(void)snprintf(out, n, "%.*s%s%s", (int)(found - chat), chat, to,
		       found + strlen(from));
	return out;
}

static const char *with_more(struct desk *d, const char *chat,
			     const char *messages)
{
	char *end;
	size_t n = strlen(chat) + strlen(messages) + 4;

	end = arena_alloc(&d->arena, n);
	assert_non_null(end);
	(void)snprintf(end, n, "%.*s,%s]}", (int)strlen(chat) - 2, chat,
		       messages);
	return end;
}

static void saving_writes_what_is_new(void **state)
{
	struct desk *d = *state;
	const char *id = at(d, new_chat(d, "ann-2", "discord"), "id");
	const char *chat = load_chat(d, id), *mine, *theirs;
	struct weft_answer *answer;

	mine = with_more(d, chat,
			 "{\"role\":\"user\",\"content\":\"What is on?\"},"
			 "{\"role\":\"assistant\",\"content\":\"Nothing.\"}");
	mine = edited(d, mine, "\"agent\":\"Nikki\"", "\"agent\":\"Sasha\"");
	theirs = with_more(d, chat,
			   "{\"role\":\"user\",\"content\":\"Also me!\"}");
	chat = CALL(
		d, answer,
		weft_chat_save_session(d->store, T(mine), &answer, &d->err));
	assert_string_equal(each(d, chat, "history", "parts.0.text"),
			    "You are Nikki. What is on? Nothing.");
	assert_string_equal(at(d, chat, "session.agent"), "Sasha");
	/* Who saves an older state is told, and overwrites nothing. */
	desk_fails(d,
		   weft_chat_save_session(d->store, T(theirs), NULL, &d->err),
		   WEFT_STALE, "content_seq");
	assert_string_equal(load_chat(d, id), chat);
	/* Nothing new is nothing written. */
	desk_ok(d, weft_chat_save_session(d->store, T(chat), NULL, &d->err));
	assert_string_equal(load_chat(d, id), chat);
}

static void the_last_chat_of_a_user(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;
	const char *first = at(d, new_chat(d, "ann-3", "irc"), "id");
	const char *second;

	d->now_ms += 1000;
	second = at(d, new_chat(d, "ann-3", "irc"), "id");
	d->now_ms += 1000;
	(void)new_chat(d, "ann-3", "telegram");
	(void)new_chat(d, "bob-3", "irc");
	assert_string_equal(
		at(d, CALL(d, answer, try_last(d, "ann-3", "IRC", &answer)),
		   "session.id"),
		second);
	d->now_ms += 1000;
	(void)desk_say(d, first, "again");
	assert_string_equal(
		at(d, CALL(d, answer, try_last(d, "ann-3", "irc", &answer)),
		   "session.id"),
		first);
	desk_fails(d, try_last(d, "ann-3", "web", &answer), WEFT_NOT_FOUND,
		   "ann-3");
	desk_fails(d, try_last(d, "nobody-3", "irc", &answer), WEFT_NOT_FOUND,
		   "nobody-3");
	desk_fails(d, try_last(d, "", "irc", &answer), WEFT_INVALID, "user");
	assert_null(answer);
}

/* A chat that is over is not the one to go on with. */
static void the_last_chat_that_goes_on(void **state)
{
	static const char idle[] =
		"{\"lifecycle\":{\"reset_by_channel\":{\"irc\":{\"mode\":"
		"\"idle\",\"idle_minutes\":60}}}}";
	struct desk *d = *state;
	struct weft_answer *answer = NULL;
	const char *first = at(d, new_chat(d, "ann-6", "irc"), "id");
	const char *second;

	d->now_ms += 1000;
	second = at(d, new_chat(d, "ann-6", "irc"), "id");
	(void)desk_call(d,
			"{\"method\":\"set\",\"session\":\"%s\",\"changes\":"
			"{\"expires_at\":\"2099-01-01T00:00:00Z\"}}",
			second);
	assert_string_equal(
		at(d, CALL(d, answer, try_last(d, "ann-6", "irc", &answer)),
		   "session.id"),
		second);
	d->now_ms = INT64_C(4070908800000); /* that very moment */
	assert_string_equal(
		at(d, CALL(d, answer, try_last(d, "ann-6", "irc", &answer)),
		   "session.id"),
		first);
	desk_ok(d, weft_configure(d->store, idle, strlen(idle), &d->err));
	desk_fails(d, try_last(d, "ann-6", "irc", &answer), WEFT_NOT_FOUND,
		   "that goes on");
	(void)desk_say(d, first, "here");
	d->now_ms += INT64_C(3600000);
	assert_string_equal(
		at(d, CALL(d, answer, try_last(d, "ann-6", "irc", &answer)),
		   "session.id"),
		first);
	d->now_ms++;
	desk_fails(d, try_last(d, "ann-6", "irc", &answer), WEFT_NOT_FOUND,
		   "that goes on");
	/* Nobody's turn is cut in two. */
	(void)desk_call(d,
			"{\"method\":\"turn\",\"session\":\"%s\","
			"\"state\":\"begun\"}",
			first);
	assert_string_equal(
		at(d, CALL(d, answer, try_last(d, "ann-6", "irc", &answer)),
		   "session.id"),
		first);
	assert_null(answer);
}

/* Whom the user talked to last answers, unless somebody else is asked for. */
static void a_chat_goes_to_the_agent_used_last(void **state)
{
	struct desk *d = *state;
	struct weft_chat_options o;
	struct weft_answer *answer;
	const char *last;

	weft_chat_options_init(&o, sizeof(o));
	o.user = (struct weft_str){ T("ann-5") };
	assert_string_equal(
		at(d,
		   CALL(d, answer,
			weft_chat_new_session(d->store, &o, &answer, &d->err)),
		   "agent"),
		"main");
	desk_ok(d, weft_chat_save_last_used_agent(d->store, T("ann-5"),
						  T("Sasha"), &d->err));
	last = at(d,
		  CALL(d, answer,
		       weft_chat_last_used_agent(d->store, T("ann-5"), &answer,
						 &d->err)),
		  "agent");
	assert_string_not_equal(last, "main");
	assert_string_equal(
		at(d,
		   CALL(d, answer,
			weft_chat_new_session(d->store, &o, &answer, &d->err)),
		   "agent"),
		last);
	assert_string_equal(at(d, new_chat(d, "ann-5", "web"), "agent"),
			    "Nikki");
}

static void what_is_no_chat_is_named(void **state)
{
	struct desk *d = *state;
	struct weft_chat_options o;
	struct weft_answer *answer = NULL;
	const char *id = at(d, new_chat(d, "ann-4", "web"), "id"), *chat;

	weft_chat_options_init(&o, sizeof(o));
	o.tools = (struct weft_str){ T("{\"a\":") };
	desk_fails(d, weft_chat_new_session(d->store, &o, &answer, &d->err),
		   WEFT_INVALID, "tools");
	desk_fails(d, weft_chat_new_session(d->store, NULL, &answer, &d->err),
		   WEFT_INVALID, "options");
	desk_fails(
		d,
		weft_chat_load_session(d->store, T("../x"), &answer, &d->err),
		WEFT_NOT_FOUND, "../x");
	desk_fails(d, weft_chat_save_session(d->store, T("{}"), NULL, &d->err),
		   WEFT_INVALID, "session.id");
	desk_fails(d, weft_chat_save_session(d->store, T("[]"), NULL, &d->err),
		   WEFT_INVALID, "session.id");
	chat = load_chat(d, id);
	desk_fails(d,
		   weft_chat_save_session(
			   d->store,
			   T(edited(d, chat, "\"history\":[",
				    "\"history\":[{\"role\":\"user\","
				    "\"content\":\"x\"},")),
			   NULL, &d->err),
		   WEFT_INVALID, "history[1]");
	desk_fails(d,
		   weft_chat_save_session(
			   d->store,
			   T(with_more(d, chat, "{\"role\":\"bot\"}")), NULL,
			   &d->err),
		   WEFT_INVALID, "role");
	desk_fails(d, weft_chat_save_session(NULL, T(chat), NULL, &d->err),
		   WEFT_INVALID, "store");
	assert_string_equal(load_chat(d, id), chat);
	assert_null(answer);
}

static const struct CMUnitTest tests[] = {
	CASE("claw0: loading makes a session", loading_makes_a_session),
	CASE("claw0: creating again keeps the old one (differs)",
	     creating_again_keeps_the_old),
	CASE("claw0: a turn with tools can be continued (differs)",
	     a_turn_with_tools_can_be_continued),
	CASE("claw0: a bad block saves nothing", a_bad_block_saves_nothing),
	CASE("claw0: lines of a transcript", lines_of_a_transcript),
	CASE("claw0: what is no line is named (differs)",
	     what_is_no_line_is_named),
	CASE("claw0: hostile callers are told", hostile_callers_are_told),
	CASE("assistant: a chat begins with its prompt",
	     a_chat_begins_with_its_prompt),
	CASE("assistant: saving writes what is new (differs)",
	     saving_writes_what_is_new),
	CASE("assistant: the last chat of a user", the_last_chat_of_a_user),
	CASE("assistant: the last chat that goes on",
	     the_last_chat_that_goes_on),
	CASE("assistant: a chat goes to the agent used last",
	     a_chat_goes_to_the_agent_used_last),
	CASE("assistant: what is no chat is named", what_is_no_chat_is_named),
};

const struct suite compat_claw_suite = { tests, ARRAY_LEN(tests) };

/* compat_pico.c - PicoClaw's SessionStore: its own cases, and ours. */
#include <pthread.h>

#include "conformance/compat_pico.h"

static void set_history(struct desk *d, const char *key, const char *json)
{
	desk_ok(d, weft_pico_set_history(d->store, T(key), T(json), &d->err));
}

static void cut(struct desk *d, const char *key, int64_t keep)
{
	desk_ok(d, weft_pico_truncate_history(d->store, T(key), keep, &d->err));
}

static void save(struct desk *d, const char *key)
{
	desk_ok(d, weft_pico_save(d->store, T(key), &d->err));
}

static const char *get_or_create(struct desk *d, const char *key)
{
	struct weft_answer *answer;

	return CALL(
		d, answer,
		weft_pico_get_or_create(d->store, T(key), &answer, &d->err));
}

/* All that was ever said under a key, whatever the window is. */
static const char *everything(struct desk *d, const char *key)
{
	return desk_texts(d, key);
}

/* ---- their cases ---- */

static void truncate_4(void **state)
{
	struct desk *d = *state;

	add_all(d, "p01", "abcdefghij");
	cut(d, "p01", 4);
	assert_string_equal(contents(d, "p01"), "g h i j");
	/* The file is untouched. */
	assert_string_equal(everything(d, "p01"), "a b c d e f g h i j");
}

static void truncate_0(void **state)
{
	struct desk *d = *state;

	add_all(d, "p02", "abcde");
	cut(d, "p02", 0);
	assert_string_equal(contents(d, "p02"), "");
	add_all(d, "p02", "f");
	cut(d, "p02", -3);
	assert_string_equal(contents(d, "p02"), "");
}

static void truncate_100(void **state)
{
	struct desk *d = *state;

	add_all(d, "p03", "abc");
	cut(d, "p03", 100);
	assert_string_equal(contents(d, "p03"), "a b c");
}

/* There, another process had appended a line that the metadata did not count.
 * Here nothing is counted beside the log. */
static void truncate_after_another_writer(void **state)
{
	struct desk *d = *state;
	struct weft_store *other = d->store;

	add_all(d, "p04", "abcdefghij");
	if (is_place(d->url))
		desk_ok(d, desk_open_again(d, NULL, 0, &other));
	desk_ok(d, weft_pico_add_message(other, T("p04"), T("user"),
					 T("orphan"), &d->err));
	if (other != d->store)
		desk_ok(d, weft_close(other, &d->err));
	cut(d, "p04", 4);
	assert_string_equal(contents(d, "p04"), "h i j orphan");
}

/* A thought that is in the log all the same is a message like others: it was
 * put there by somebody who has no such rule. */
static void truncate_counts_what_is_seen(void **state)
{
	struct desk *d = *state;

	add_all(d, "p05", "ab");
	add_full(d, "p05",
		 "{\"role\":\"assistant\",\"content\":\" \","
		 "\"reasoning_content\":\"hm\"}");
	add_all(d, "p05", "cd");
	cut(d, "p05", 2);
	assert_string_equal(contents(d, "p05"), "c d");
}

static void a_new_history_after_a_cut(void **state)
{
	struct desk *d = *state;

	add_all(d, "p06", "abcdefghij");
	cut(d, "p06", 3);
	set_history(d, "p06", "[{\"role\":\"user\",\"content\":\"fresh\"}]");
	assert_string_equal(contents(d, "p06"), "fresh");
	set_history(d, "p06", "[]");
	assert_string_equal(contents(d, "p06"), "");
}

/* There 10 lines become 3.  Here saving takes nothing away: what a model is
 * not given any more is still what was said. */
static void saving_is_no_reclaim(void **state)
{
	struct desk *d = *state;

	add_all(d, "p07", "abcdefghij");
	cut(d, "p07", 3);
	save(d, "p07");
	assert_string_equal(contents(d, "p07"), "h i j");
	assert_string_equal(everything(d, "p07"), "a b c d e f g h i j");
}

static void a_message_after_saving(void **state)
{
	struct desk *d = *state;

	add_all(d, "p08", "abcdefgh");
	cut(d, "p08", 2);
	save(d, "p08");
	add(d, "p08", "user", "new");
	assert_string_equal(contents(d, "p08"), "g h new");
}

/* A torn tail, and the next append behind it, are the crash suite's: it cuts
 * real files at every byte.  Here: what was refused leaves nothing. */
static void half_a_message_is_none(void **state)
{
	struct desk *d = *state;

	add(d, "p09", "user", "valid");
	desk_fails(d,
		   weft_pico_add_full_message(d->store, T("p09"),
					      T("{\"role\":\"user\",\"cont"),
					      &d->err),
		   WEFT_INVALID, "message");
	assert_string_equal(contents(d, "p09"), "valid");
	add(d, "p09", "user", "next");
	assert_string_equal(contents(d, "p09"), "valid next");
}

static void a_thought_is_not_kept(void **state)
{
	struct desk *d = *state;

	add_full(d, "p10",
		 "{\"role\":\"assistant\",\"content\":\"\","
		 "\"reasoning_content\":\"let me see\"}");
	assert_string_equal(history(d, "p10"), "[]");
}

static void a_new_history_without_thoughts(void **state)
{
	struct desk *d = *state;

	set_history(d, "p11",
		    "[{\"role\":\"user\",\"content\":\"q\"},"
		    "{\"role\":\"assistant\",\"content\":\"\","
		    "\"reasoning_content\":\"only thinking\"},"
		    "{\"role\":\"assistant\",\"content\":\"answer\","
		    "\"reasoning_content\":\"why\"}]");
	assert_string_equal(contents(d, "p11"), "q answer");
	assert_string_equal(at(d, history(d, "p11"), "1.reasoning_content"),
			    "why");
	assert_int_equal(count_at(d,
				  desk_call(d, "{\"method\":\"history\","
					       "\"session\":\"p11\"}"),
				  "messages"),
			 2);
}

/* To the millisecond, and in UTC. */
static void times_are_now_or_as_given(void **state)
{
	struct desk *d = *state;
	const char *h;

	add_full(d, "p12", "{\"role\":\"user\",\"content\":\"a\"}");
	add_full(d, "p12",
		 "{\"role\":\"user\",\"content\":\"b\",\"created_at\":"
		 "\"2026-01-02T03:04:05.678901234+01:00\"}");
	h = history(d, "p12");
	assert_non_null(strstr(at(d, h, "0.created_at"), "2026-11-15T10:"));
	assert_string_equal(at(d, h, "1.created_at"),
			    "2026-01-02T02:04:05.678Z");
	set_history(d, "p12",
		    "[{\"role\":\"user\",\"content\":\"c\",\"created_at\":"
		    "\"2026-01-02T02:04:05Z\"}]");
	assert_string_equal(at(d, history(d, "p12"), "0.created_at"),
			    "2026-01-02T02:04:05.000Z");
}

/* A name is of one session; one that is the session's own key, or its alias
 * already, is no further one. */
static void an_alias_is_there_once(void **state)
{
	struct desk *d = *state;

	(void)get_or_create(d, "p13");
	for (int i = 0; i < 2; i++)
		(void)desk_call(d, "{\"method\":\"alias\",\"session\":\"p13\","
				   "\"alias\":\"p13-x\"}");
	(void)desk_try_call(d, "{\"method\":\"alias\",\"session\":\"p13\","
			       "\"alias\":\"p13\"}");
	assert_string_equal(at(d, get_or_create(d, "p13"), "aliases"),
			    "[\"p13-x\"]");
}

/* There the alias of one wins over the file of another.  Here no name can have
 * both: the second claim is refused, and says whose it is. */
static void an_alias_leads_to_its_session(void **state)
{
	struct desk *d = *state;

	(void)get_or_create(d, "p14");
	(void)get_or_create(d, "p14-legacy");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"alias\",\"session\":"
				    "\"p14\",\"alias\":\"p14-legacy\"}"),
		   WEFT_EXISTS, "p14-legacy");
	(void)desk_call(d, "{\"method\":\"alias\",\"session\":\"p14\","
			   "\"alias\":\"p14-free\"}");
	add(d, "p14-free", "user", "by alias");
	assert_string_equal(contents(d, "p14"), "by alias");
	assert_string_equal(at(d, get_or_create(d, "p14-free"), "key"), "p14");
	assert_string_equal(at(d, get_or_create(d, "p14-free"), "created"),
			    "false");
}

/* Names are looked up in one index; another session cannot be in the way.
 * (Damaged files are the corrupt suite's.) */
static void names_do_not_read_other_sessions(void **state)
{
	struct desk *d = *state;

	add(d, "p15-other", "user", "x");
	add(d, "p15", "user", "a");
	assert_string_equal(contents(d, "p15"), "a");
}

static void twenty_and_a_summary(void **state)
{
	struct desk *d = *state;

	for (int i = 0; i < 20; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "msg-%d", i);
		add(d, "p16", i % 2 ? "assistant" : "user", text);
	}
	set_summary(d, "p16", "what was said");
	assert_string_equal(summary(d, "p16"), "\"what was said\"");
	assert_int_equal(count_at(d, history(d, "p16"), ""), 20);
	cut(d, "p16", 4);
	save(d, "p16");
	assert_string_equal(contents(d, "p16"), "msg-16 msg-17 msg-18 msg-19");
	assert_string_equal(summary(d, "p16"), "\"what was said\"");
	set_summary(d, "p16", "");
	assert_string_equal(summary(d, "p16"), "\"\"");
	assert_string_equal(contents(d, "p16"), "msg-16 msg-17 msg-18 msg-19");
}

static void *append_twenty(void *ctx)
{
	struct desk *d = ctx;

	for (int i = 0; i < 20; i++) {
		if (weft_pico_add_message(d->store, T("p20"), T("user"), T("x"),
					  NULL) < 0)
			return d;
	}
	return NULL;
}

static void ten_writers(void **state)
{
	struct desk *d = *state;
	pthread_t threads[10];
	void *failed = NULL;

	for (size_t i = 0; i < 10; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, append_twenty, d), 0);
	for (size_t i = 0; i < 10; i++) {
		void *one;

		assert_int_equal(pthread_join(threads[i], &one), 0);
		failed = one ? one : failed;
	}
	assert_null(failed);
	assert_int_equal(count_at(d, history(d, "p20"), ""), 200);
}

static void keys_do_not_share_files(void **state)
{
	struct desk *d = *state;

	add(d, "p21:a", "user", "1");
	add(d, "p21/a", "user", "2");
	add(d, "p21_a", "user", "3");
	add(d, "P21_A", "user", "4");
	assert_string_equal(contents(d, "p21:a"), "1");
	assert_string_equal(contents(d, "p21/a"), "2");
	assert_string_equal(contents(d, "p21_a"), "3");
	assert_string_equal(contents(d, "P21_A"), "4");
}

/* Neither a title nor the beginning of an id is a key. */
static void a_key_is_no_title(void **state)
{
	struct desk *d = *state;
	const char *id = at(d, get_or_create(d, "p22"), "id");
	char start[11];

	(void)snprintf(start, sizeof(start), "%.10s", id);
	(void)desk_call(d, "{\"method\":\"rename\",\"session\":\"p22\","
			   "\"slug\":\"p22-title\"}");
	add(d, "p22", "user", "a");
	assert_string_equal(history(d, "p22-title"), "[]");
	assert_string_equal(history(d, start), "[]");
	add(d, "p22-title", "user", "b");
	assert_string_equal(contents(d, "p22"), "a");
	assert_string_equal(contents(d, "p22-title"), "b");
}

static void looking_makes_nothing(void **state)
{
	struct desk *d = *state;

	assert_string_equal(history(d, "p23"), "[]");
	assert_string_equal(summary(d, "p23"), "\"\"");
	cut(d, "p23", 1);
	save(d, "p23");
	assert_string_equal(at(d, get_or_create(d, "p23"), "created"), "true");
}

static void setting_makes_the_session(void **state)
{
	struct desk *d = *state;

	set_summary(d, "p24", "s");
	assert_string_equal(summary(d, "p24"), "\"s\"");
	set_history(d, "p24-h", "[{\"role\":\"user\",\"content\":\"x\"}]");
	assert_string_equal(contents(d, "p24-h"), "x");
}

#define FULL                                                               \
	"{\"role\":\"assistant\",\"content\":\"looking <&>\","             \
	"\"reasoning_content\":\"first this\",\"model_name\":\"m-1\","     \
	"\"media\":[\"media://1\",\"data:image/png;base64,AAAA\"],"        \
	"\"attachments\":[{\"type\":\"file\",\"ref\":\"r\"}],"             \
	"\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\","            \
	"\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"n\\\": 1.0"  \
	"}\",\"thought_signature\":\"sig\"},\"extra_content\":{\"g\":1}}," \
	"{\"id\":\"c2\",\"function\":{\"name\":\"run\",\"arguments\":"     \
	"\"not json\"}},{\"id\":\"c3\",\"function\":{\"name\":\"noop\"}}]}"

static void a_full_message_comes_back(void **state)
{
	struct desk *d = *state;
	const char *h;

	add_full(d, "p25", FULL);
	add_full(d, "p25",
		 "{\"role\":\"tool\",\"content\":\"42\",\"tool_call_id\":"
		 "\"c1\"}");
	h = history(d, "p25");
	assert_int_equal(count_at(d, h, ""), 2);
	assert_string_equal(at(d, h, "0.content"), "looking <&>");
	assert_string_equal(at(d, h, "0.reasoning_content"), "first this");
	assert_string_equal(at(d, h, "0.model_name"), "m-1");
	assert_string_equal(at(d, h, "0.media"),
			    "[\"data:image/png;base64,AAAA\",\"media://1\"]");
	assert_string_equal(at(d, h, "0.attachments"),
			    "[{\"type\":\"file\",\"ref\":\"r\"}]");
	assert_string_equal(each(d, h, "0.tool_calls", "id"), "c1 c2 c3");
	/* Byte for byte. */
	assert_string_equal(at(d, h, "0.tool_calls.0.function.arguments"),
			    "{\"n\": 1.0}");
	assert_string_equal(at(d, h, "0.tool_calls.1.function.arguments"),
			    "not json");
	assert_string_equal(at(d, h, "0.tool_calls.0.extra_content"),
			    "{\"g\":1}");
	assert_string_equal(
		at(d, h, "0.tool_calls.0.function.thought_signature"), "sig");
	assert_string_equal(at(d, h, "1.role"), "tool");
	assert_string_equal(at(d, h, "1.tool_call_id"), "c1");
	assert_string_equal(at(d, h, "1.content"), "42");
	/* What came out goes in again, and is the same. */
	set_history(d, "p25-copy", h);
	assert_string_equal(history(d, "p25-copy"), h);
}

static void what_is_no_message_is_named(void **state)
{
	static const struct {
		const char *message;
		int code;
		const char *part;
	} wrong[] = {
		{ "[]", WEFT_INVALID, "object" },
		{ "null", WEFT_INVALID, "object" },
		{ "", WEFT_INVALID, "message" },
		{ "{}", WEFT_INVALID, "role" },
		{ "{\"role\":\"bot\",\"content\":\"x\"}", WEFT_INVALID,
		  "role" },
		{ "{\"role\":\"user\",\"content\":1}", WEFT_INVALID,
		  "content" },
		{ "{\"role\":\"user\",\"content\":\"x\"},{}", WEFT_INVALID,
		  "message" },
		{ "{\"role\":\"assistant\",\"tool_calls\":{}}", WEFT_INVALID,
		  "tool_calls" },
		{ "{\"role\":\"assistant\",\"tool_calls\":[1]}", WEFT_INVALID,
		  "tool_calls[0].function" },
		{ "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\","
		  "\"function\":{\"name\":\"f\",\"arguments\":{}}}]}",
		  WEFT_INVALID, "tool_calls[0].function.arguments" },
		{ "{\"role\":\"assistant\",\"tool_calls\":[{"
		  "\"function\":{\"name\":\"f\"}}]}",
		  WEFT_INVALID_PART, "id" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"created_at\":"
		  "\"yesterday\"}",
		  WEFT_INVALID, "at" },
		{ "{\"role\":\"user\",\"content\":\"x\",\"seq\":1}",
		  WEFT_INVALID, "seq" },
		{ "{\"role\":\"user\",\"content\":\"\\ud800\"}", WEFT_INVALID,
		  "message" },
	};
	struct desk *d = *state;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		desk_fails(d,
			   weft_pico_add_full_message(d->store, T("p26"),
						      T(wrong[i].message),
						      &d->err),
			   wrong[i].code, wrong[i].part);
	assert_string_equal(history(d, "p26"), "[]");
	desk_fails(d,
		   weft_pico_set_history(d->store, T("p26"),
					 T("[{\"role\":\"user\",\"content\":"
					   "\"x\"},{\"role\":1}]"),
					 &d->err),
		   WEFT_INVALID, "message 2");
	desk_fails(d,
		   weft_pico_set_history(d->store, T("p26"), T("{}"), &d->err),
		   WEFT_INVALID, "array");
	assert_string_equal(history(d, "p26"), "[]");
}

static void hostile_callers_are_told(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;
	char long_key[600];

	memset(long_key, 'k', sizeof(long_key));
	desk_fails(d, weft_pico_get_or_create(NULL, T("k"), &answer, &d->err),
		   WEFT_INVALID, "store");
	desk_fails(d, weft_pico_get_history(NULL, T("k"), &answer, &d->err),
		   WEFT_INVALID, "store");
	desk_fails(d, weft_pico_get_or_create(d->store, T("k"), NULL, &d->err),
		   WEFT_INVALID, "answer");
	desk_fails(d,
		   weft_pico_get_or_create(d->store, NULL, 3, &answer, &d->err),
		   WEFT_INVALID, "key");
	desk_fails(d,
		   weft_pico_get_or_create(d->store, NULL, 0, &answer, &d->err),
		   WEFT_INVALID, "key");
	desk_fails(d,
		   weft_pico_add_message(d->store, "a\xff", 2, T("user"),
					 T("x"), &d->err),
		   WEFT_INVALID, "key");
	desk_fails(d,
		   weft_pico_add_message(d->store, "a\0b", 3, T("user"), T("x"),
					 &d->err),
		   WEFT_INVALID, "key");
	desk_fails(d,
		   weft_pico_add_message(d->store, T("p27"), T("user"), "x\xc3",
					 2, &d->err),
		   WEFT_INVALID, "content");
	desk_fails(d,
		   weft_pico_add_message(d->store, T("p27"), T("user"), "x",
					 SIZE_MAX, &d->err),
		   WEFT_INVALID, "content");
	desk_fails(d,
		   weft_pico_get_summary(d->store, long_key, sizeof(long_key),
					 &answer, &d->err),
		   WEFT_LIMIT, "key");
	desk_fails(d,
		   weft_pico_add_message(d->store, long_key, sizeof(long_key),
					 T("user"), T("x"), &d->err),
		   WEFT_LIMIT, "key");
	assert_null(answer);
	/* Nobody need listen. */
	assert_int_equal(weft_pico_save(NULL, T("k"), NULL), WEFT_INVALID);
	/* Text is text: no way out of the request. */
	add(d, "p27\",\"slug\":\"x", "user", "a\",\"role\":\"system");
	assert_string_equal(contents(d, "p27\",\"slug\":\"x"),
			    "a\",\"role\":\"system");
}

static const struct CMUnitTest tests[] = {
	CASE("picoclaw 01 truncate 10 to 4", truncate_4),
	CASE("picoclaw 02 truncate to 0 or less", truncate_0),
	CASE("picoclaw 03 truncate to more than there are", truncate_100),
	CASE("picoclaw 04 truncate after another writer",
	     truncate_after_another_writer),
	CASE("picoclaw 05 truncate counts what is seen",
	     truncate_counts_what_is_seen),
	CASE("picoclaw 06 a new history after a cut",
	     a_new_history_after_a_cut),
	CASE("picoclaw 07 saving takes nothing away (differs)",
	     saving_is_no_reclaim),
	CASE("picoclaw 08 a message after saving", a_message_after_saving),
	CASE("picoclaw 09 half a message is none", half_a_message_is_none),
	CASE("picoclaw 10 a thought is not kept", a_thought_is_not_kept),
	CASE("picoclaw 11 a new history without thoughts",
	     a_new_history_without_thoughts),
	CASE("picoclaw 12 times are now or as given",
	     times_are_now_or_as_given),
	CASE("picoclaw 13 an alias is there once", an_alias_is_there_once),
	CASE("picoclaw 14 an alias leads to its session (differs)",
	     an_alias_leads_to_its_session),
	CASE("picoclaw 15 names do not read other sessions",
	     names_do_not_read_other_sessions),
	CASE("picoclaw 16 twenty messages, a summary, a cut, saved",
	     twenty_and_a_summary),
	CASE("picoclaw 19 ten writers of twenty messages", ten_writers),
	CASE("picoclaw: keys do not share files (differs)",
	     keys_do_not_share_files),
	CASE("picoclaw: a key is no title", a_key_is_no_title),
	CASE("picoclaw: looking makes nothing", looking_makes_nothing),
	CASE("picoclaw: setting makes the session", setting_makes_the_session),
	CASE("picoclaw: a full message comes back", a_full_message_comes_back),
	CASE("picoclaw: what is no message is named",
	     what_is_no_message_is_named),
	CASE("picoclaw: hostile callers are told", hostile_callers_are_told),
};

const struct suite compat_pico_suite = { tests, ARRAY_LEN(tests) };

/* compat_pico_turns.c - PicoClaw's store: where turns begin, and older keys. */
#include "conformance/compat_pico.h"

/* ---- boundaries of turns ---- */

static void add_turns(struct desk *d, const char *key, const char *letters)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'a':
			add(d, key, "assistant", "a");
			break;
		case 'c':
			add_full(d, key,
				 "{\"role\":\"assistant\",\"content\":\"c\","
				 "\"tool_calls\":[{\"id\":\"i\",\"function\":"
				 "{\"name\":\"f\",\"arguments\":\"{}\"}}]}");
			break;
		case 't':
			add_full(d, key,
				 "{\"role\":\"tool\",\"content\":\"t\","
				 "\"tool_call_id\":\"i\"}");
			break;
		default:
			add(d, key, "user", "u");
		}
	}
}

/*
 * A cut that a machine makes falls where a turn begins.  Compacting with a
 * summary differs: see the next case.
 */
static void automatic_cuts_fall_where_a_turn_begins(void **state)
{
	static const struct {
		const char *turns;
		unsigned at;  /* the place asked for */
		unsigned cut; /* how many are */
	} rows[] = {
		{ "uaua", 2, 2 },     { "uauau", 3, 2 }, { "uaucttau", 4, 2 },
		{ "uaucttau", 5, 2 }, { "ctau", 1, 3 },  { "uauctctaua", 5, 2 },
		{ "aaa", 1, 1 },      { "ucta", 2, 0 },
	};
	struct desk *d = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].turns);
		char key[16];

		(void)snprintf(key, sizeof(key), "p28-%zu", i);
		add_turns(d, key, rows[i].turns);
		(void)desk_call(d,
				"{\"method\":\"truncate\",\"session\":\"%s\","
				"\"keep\":%zu,\"turn\":true}",
				key, n - rows[i].at);
		assert_int_equal(count_at(d, history(d, key), ""),
				 n - rows[i].cut);
	}
}

/*
 * A summary stands for what is before the place.  There, where no turn begins
 * before it, the next one behind it is taken, which also throws away what
 * nobody has summed up; here nothing changes then.
 */
static void what_nobody_has_summed_up_stays(void **state)
{
	struct desk *d = *state;

	add_turns(d, "p28", "ctau");
	(void)desk_call(d, "{\"method\":\"compact\",\"session\":\"p28\","
			   "\"keep\":3,\"turn\":true,\"summary\":\"c\"}");
	assert_int_equal(count_at(d, history(d, "p28"), ""), 4);
	assert_string_equal(summary(d, "p28"), "\"\"");
}

/* A summary takes time.  There, "keep the last N" was computed before the call
 * of the model, and what came meanwhile pushed out what nobody had summed up. */
static void what_comes_while_a_summary_is_made_stays(void **state)
{
	struct desk *d = *state;
	const char *list;

	add_all(d, "p29", "abcdef");
	list = desk_call(d, "{\"method\":\"history\",\"session\":\"p29\"}");
	/* a to d are given to a model, and meanwhile: */
	add_all(d, "p29", "gh");
	(void)desk_call(d,
			"{\"method\":\"compact\",\"session\":\"p29\","
			"\"after\":\"%s\",\"summary\":\"a-d\"}",
			at(d, list, "messages.3.id"));
	assert_string_equal(contents(d, "p29"), "e f g h");
	assert_string_equal(summary(d, "p29"), "\"a-d\"");
	/* All that there is, and one more. */
	(void)desk_call(d,
			"{\"method\":\"compact\",\"session\":\"p29\","
			"\"after\":%s,\"summary\":\"a-h\"}",
			at(d,
			   desk_call(d, "{\"method\":\"history\","
					"\"session\":\"p29\",\"last\":1}"),
			   "messages.0.seq"));
	add_all(d, "p29", "i");
	assert_string_equal(contents(d, "p29"), "i");
	/* Without a place: a summary of everything. */
	(void)desk_call(d, "{\"method\":\"compact\",\"session\":\"p29\","
			   "\"summary\":\"all\"}");
	assert_string_equal(contents(d, "p29"), "");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"compact\",\"session\":"
				    "\"p29\"}"),
		   WEFT_INVALID, "summary");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"compact\",\"session\":\"p29\","
				 "\"keep\":1,\"after\":2}"),
		   WEFT_INVALID, "one of");
}

/* ---- older keys ---- */

/* Route a message of a chat on Telegram: the answer. */
static const char *routed(struct desk *d, const char *type, const char *id)
{
	return desk_call(d,
			 "{\"method\":\"route\",\"channel\":\"telegram\","
			 "\"chat_type\":\"%s\",\"chat_id\":\"%s\","
			 "\"sender_id\":\"%s\"}",
			 type, id, id);
}

/* There it is copied.  Here the new session goes on from the old one, and
 * nothing is copied. */
static void an_older_key_is_taken_over(void **state)
{
	struct desk *d = *state;
	const char *key;

	add_all(d, "agent:main:telegram:direct:p17", "ab");
	set_summary(d, "agent:main:telegram:direct:p17", "before a");
	key = at(d, routed(d, "direct", "p17"), "key");
	assert_memory_equal(key, "sk_v1_", 6);
	assert_string_equal(contents(d, key), "a b");
	assert_string_equal(summary(d, key), "\"before a\"");
	add_all(d, key, "c");
	/* The older name leads there too. */
	assert_string_equal(contents(d, "agent:main:telegram:direct:p17"),
			    "a b c");
}

static void a_session_that_is_there_is_left_alone(void **state)
{
	struct desk *d = *state;
	const char *key = at(d, routed(d, "direct", "p18"), "key");

	add_all(d, key, "a");
	(void)routed(d, "direct", "p18");
	assert_string_equal(contents(d, key), "a");
}

/* In a group it is always said who speaks, even when only one is heard in
 * what is sent; in a direct message never, if there is only one. */
static void in_a_group_it_is_said_who_speaks(void **state)
{
	static const char ann[] =
		"{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":"
		"\"hello\"}],\"from\":{\"id\":\"1\",\"name\":\"Ann\"}}";
	struct desk *d = *state;
	const char *types[] = { "direct", "group", "channel" };
	const char *said[] = { "hello", "Ann: hello", "Ann: hello" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const char *answer = routed(d, types[i], "p34");

		add_full(d, at(d, answer, "key"), ann);
		assert_string_equal(
			at(d,
			   desk_call(d,
				     "{\"method\":\"history\",\"session\":"
				     "\"%s\",\"format\":\"anthropic\"}",
				     at(d, answer, "session")),
			   "messages.0.content"),
			said[i]);
	}
}

static const struct CMUnitTest tests[] = {
	CASE("picoclaw 17 an older key is taken over (differs)",
	     an_older_key_is_taken_over),
	CASE("picoclaw 18 a session that is there is left alone",
	     a_session_that_is_there_is_left_alone),
	CASE("picoclaw: in a group it is said who speaks (differs)",
	     in_a_group_it_is_said_who_speaks),
	CASE("picoclaw: automatic cuts fall where a turn begins",
	     automatic_cuts_fall_where_a_turn_begins),
	CASE("picoclaw: what nobody has summed up stays (differs)",
	     what_nobody_has_summed_up_stays),
	CASE("picoclaw: what comes while a summary is made stays",
	     what_comes_while_a_summary_is_made_stays),
};

const struct suite compat_pico_turn_suite = { tests, ARRAY_LEN(tests) };

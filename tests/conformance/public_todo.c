/* public_todo.c - what is left to do: one list, replaced as a whole. */
#include "conformance/public.h"

#define NOTHING                                                    \
	"{\"todos\":[],\"summary\":{\"total\":0,\"incomplete\":0," \
	"\"in_progress\":0,\"completed\":0,\"cancelled\":0}}"

static const char *todos(struct desk *d, const char *session)
{
	return desk_call(d, "{\"method\":\"todos\",\"session\":\"%s\"}",
			 session);
}

/* Set the list of the desk's session. */
static const char *set(struct desk *d, const char *list)
{
	return desk_call(d,
			 "{\"method\":\"todos_set\",\"session\":\"%s\","
			 "\"todos\":%s}",
			 d->id, list);
}

static int try_set(struct desk *d, const char *list)
{
	return desk_try_call(d,
			     "{\"method\":\"todos_set\",\"session\":\"%s\","
			     "\"todos\":%s}",
			     d->id, list);
}

static void a_new_session_has_nothing_to_do(void **state)
{
	struct desk *d = *state;

	assert_string_equal(todos(d, d->id), NOTHING);
}

static void a_list_comes_back_with_its_summary(void **state)
{
	static const char expected[] =
		"{\"todos\":[{\"content\":\"write\",\"status\":\"in_progress\","
		"\"priority\":\"high\"},{\"content\":\"test\",\"status\":"
		"\"pending\"},{\"content\":\"plan\",\"status\":\"completed\"},"
		"{\"content\":\"rest\",\"status\":\"cancelled\"}],"
		"\"summary\":{\"total\":4,\"incomplete\":2,\"in_progress\":1,"
		"\"completed\":1,\"cancelled\":1}}";
	struct desk *d = *state;

	assert_string_equal(
		set(d,
		    "[{\"content\":\" write\\n\",\"status\":\"in_progress\","
		    "\"priority\":\"high\"},{\"status\":\"pending\","
		    "\"content\":\"test\",\"priority\":\"\"},{\"content\":"
		    "\"plan\",\"status\":\"completed\",\"priority\":null},"
		    "{\"content\":\"\\u3000rest\",\"status\":\"cancelled\"}]"),
		expected);
	desk_say(d, d->id, "a");
	assert_string_equal(todos(d, d->id), expected);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(todos(d, d->id), expected);
}

static void the_whole_list_is_replaced(void **state)
{
	struct desk *d = *state;

	(void)set(d, "[{\"content\":\"a\",\"status\":\"pending\"},"
		     "{\"content\":\"b\",\"status\":\"pending\"}]");
	(void)set(d, "[{\"content\":\"c\",\"status\":\"completed\"}]");
	assert_string_equal(
		todos(d, d->id),
		"{\"todos\":[{\"content\":\"c\",\"status\":\"completed\"}],"
		"\"summary\":{\"total\":1,\"incomplete\":0,\"in_progress\":0,"
		"\"completed\":1,\"cancelled\":0}}");
	assert_string_equal(set(d, "[]"), NOTHING);
	assert_string_equal(todos(d, d->id), NOTHING);
}

static void the_same_list_again_is_not_written(void **state)
{
	static const char list[] =
		"[{\"content\":\"a\",\"status\":\"pending\"}]";
	struct desk *d = *state;
	uint64_t head = desk_head(d, d->id);

	(void)set(d, "[]");
	assert_int_equal(desk_head(d, d->id), head);
	(void)set(d, list);
	assert_int_equal(desk_head(d, d->id), head + 1);
	(void)set(d, list);
	(void)set(d, "[ {\"status\":\"pending\", \"content\":\" a \"} ]");
	assert_int_equal(desk_head(d, d->id), head + 1);
	(void)set(d, "[{\"content\":\"a\",\"status\":\"completed\"}]");
	(void)set(d, list);
	assert_int_equal(desk_head(d, d->id), head + 3);
}

static void each_session_has_its_own(void **state)
{
	struct desk *d = *state;
	const char *other = desk_new(d, "");

	(void)set(d, "[{\"content\":\"a\",\"status\":\"pending\"}]");
	assert_string_equal(todos(d, other), NOTHING);
}

static void a_fork_begins_without_them(void **state)
{
	struct desk *d = *state;

	desk_say(d, d->id, "a");
	(void)set(d, "[{\"content\":\"a\",\"status\":\"pending\"}]");
	desk_say(d, d->id, "b");
	assert_string_equal(todos(d, desk_fork(d, d->id)), NOTHING);
}

static void setting_changes_no_version(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o;

	weft_append_options_init(&o, sizeof(o));
	o.expect = desk_say(d, d->id, "a");
	(void)set(d, "[{\"content\":\"a\",\"status\":\"pending\"}]");
	desk_ok(d, desk_try(d, d->id, "{\"role\":\"user\",\"content\":\"b\"}",
			    &o, NULL));
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *list, *part;
	} wrong[] = {
		{ "{}", "todos" },
		{ "null", "todos" },
		{ "[7]", "todos[0]: expected an object" },
		{ "[{\"content\":\"a\",\"status\":\"pending\"},{}]",
		  "todos[1].content" },
		{ "[{\"status\":\"pending\"}]", "todos[0].content" },
		{ "[{\"content\":\" \\t\",\"status\":\"pending\"}]",
		  "todos[0].content" },
		{ "[{\"content\":1,\"status\":\"pending\"}]",
		  "todos[0].content" },
		{ "[{\"content\":null,\"status\":\"pending\"}]",
		  "todos[0].content" },
		{ "[{\"content\":\"a\"}]", "todos[0].status" },
		{ "[{\"content\":\"a\",\"status\":\"blocked\"}]",
		  "found \"blocked\"" },
		{ "[{\"content\":\"a\",\"status\":\"Pending\"}]",
		  "todos[0].status" },
		{ "[{\"content\":\"a\",\"status\":\"pending\","
		  "\"priority\":1}]",
		  "todos[0].priority" },
		{ "[{\"content\":\"a\",\"status\":\"pending\","
		  "\"priority\":\"a\\nb\"}]",
		  "todos[0].priority" },
		{ "[{\"content\":\"a\",\"status\":\"pending\",\"id\":1}]",
		  "unknown member \"id\"" },
	};
	struct desk *d = *state;
	uint64_t head = desk_head(d, d->id);

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		desk_fails(d, try_set(d, wrong[i].list), WEFT_INVALID,
			   wrong[i].part);
	assert_int_equal(desk_head(d, d->id), head);
}

static void there_may_be_so_many(void **state)
{
	struct desk *d = *state;

	desk_reopen(d, "todos=2");
	desk_fails(d,
		   try_set(d, "[{\"content\":\"a\",\"status\":\"pending\"},"
			      "{\"content\":\"b\",\"status\":\"pending\"},"
			      "{\"content\":\"c\",\"status\":\"pending\"}]"),
		   WEFT_LIMIT, "limit todos");
	(void)set(d, "[{\"content\":\"a\",\"status\":\"pending\"},"
		     "{\"content\":\"b\",\"status\":\"pending\"}]");
}

static void a_lease_and_a_deletion_keep_them_as_they_are(void **state)
{
	struct desk *d = *state;

	(void)desk_call(d,
			"{\"method\":\"lease\",\"how\":\"acquire\","
			"\"owner\":\"ann\",\"session\":\"%s\",\"ttl\":5}",
			d->id);
	desk_fails(d, try_set(d, "[]"), WEFT_LEASED, "'ann'");
	d->now_ms += 5000;
	(void)set(d, "[{\"content\":\"a\",\"status\":\"pending\"}]");
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", d->id);
	desk_fails(d, try_set(d, "[]"), WEFT_DELETED, "restore");
}

static void the_same_operation_twice_is_one(void **state)
{
	struct desk *d = *state;
	char once[256];

	(void)snprintf(once, sizeof(once),
		       "{\"method\":\"todos_set\",\"session\":\"%s\",\"op\":"
		       "\"o\",\"todos\":[{\"content\":\"a\",\"status\":"
		       "\"pending\"}]}",
		       d->id);
	(void)desk_call(d, "%s", once);
	(void)set(d, "[]");
	/* It took place once, before. */
	(void)desk_call(d, "%s", once);
	assert_string_equal(todos(d, d->id), NOTHING);
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"todos_set\",\"session\":\"%s\","
				 "\"op\":\"o\",\"todos\":[]}",
				 d->id),
		   WEFT_OP_MISMATCH, "'o'");
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_new_session_has_nothing_to_do),
	PUBLIC_TEST(a_list_comes_back_with_its_summary),
	PUBLIC_TEST(the_whole_list_is_replaced),
	PUBLIC_TEST(the_same_list_again_is_not_written),
	PUBLIC_TEST(each_session_has_its_own),
	PUBLIC_TEST(a_fork_begins_without_them),
	PUBLIC_TEST(setting_changes_no_version),
	PUBLIC_TEST(what_is_wrong_is_named),
	PUBLIC_TEST(there_may_be_so_many),
	PUBLIC_TEST(a_lease_and_a_deletion_keep_them_as_they_are),
	PUBLIC_TEST(the_same_operation_twice_is_one),
};

const struct suite public_todo_suite = { tests, ARRAY_LEN(tests) };

/* public_memory.c - what is to be remembered: of a session, of a project, of
 * all; found again, and forgotten. */
#include "base/json.h"
#include "conformance/public.h"

/* Add a memory; its id.  `more` are members with a comma behind each. */
static const char *add(struct desk *d, const char *more, const char *content)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	const char *answer =
		desk_call(d, "{\"method\":\"memory_add\",%s\"content\":\"%s\"}",
			  more, content);
	yyjson_val *list;

	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	list = yyjson_obj_get(yyjson_doc_get_root(doc), "memories");
	return arena_str(&d->arena, json_str(yyjson_obj_get(
					    yyjson_arr_get_first(list), "id")))
		.ptr;
}

/* What is listed: "a b c".  `more` are members with a comma before each. */
static const char *list(struct desk *d, const char *more)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(buf_done) struct buf b;
	const char *answer = desk_call(d, "{\"method\":\"memories\"%s}", more);
	yyjson_arr_iter it;
	yyjson_val *m;

	buf_init(&b, 0);
	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	yyjson_arr_iter_init(
		yyjson_obj_get(yyjson_doc_get_root(doc), "memories"), &it);
	while ((m = yyjson_arr_iter_next(&it))) {
		if (b.len)
			buf_add_c(&b, ' ');
		buf_add_str(&b, json_str(yyjson_obj_get(m, "content")));
	}
	return arena_str(&d->arena, buf_str(&b)).ptr;
}

/* The member "session", between the commas that are asked for. */
static const char *of(struct desk *d, const char *session)
{
	return arena_printf(&d->arena, "\"session\":\"%s\",", session).ptr;
}

static const char *in(struct desk *d, const char *session)
{
	return arena_printf(&d->arena,
			    ",\"scope\":\"session\",\"session\":\"%s\"",
			    session)
		.ptr;
}

static int try_forget(struct desk *d, const char *id, const char *more)
{
	return desk_try_call(
		d, "{\"method\":\"memory_forget\",\"memory\":\"%s\"%s}", id,
		more);
}

static void nothing_is_remembered_at_first(void **state)
{
	struct desk *d = *state;

	assert_string_equal(desk_call(d, "{\"method\":\"memories\"}"),
			    "{\"memories\":[],\"more\":false}");
	assert_string_equal(list(d, in(d, d->id)), "");
	assert_string_equal(list(d, ",\"project_dir\":\"/srv/x\""), "");
}

static void a_memory_comes_back_as_it_was_given(void **state)
{
	struct desk *d = *state;
	const char *id =
		add(d, of(d, d->id), "  prefers focused diffs\\nand tests \\n");
	char expected[512];

	(void)snprintf(
		expected, sizeof(expected),
		"{\"memories\":[{\"id\":\"%s\",\"scope\":\"session\","
		"\"session\":\"%s\",\"project_dir\":null,\"title\":"
		"\"prefers focused diffs\",\"content\":\"prefers focused "
		"diffs\\nand tests\",\"source\":null,\"created_at\":"
		"\"2026-11-15T10:00:00.000Z\",\"updated_at\":"
		"\"2026-11-15T10:00:00.000Z\",\"deleted_at\":null}],"
		"\"more\":false}",
		id, d->id);
	assert_string_equal(
		desk_call(d, "{\"method\":\"memories\"%s}", in(d, d->id)),
		expected);
	(void)add(d,
		  "\"project_dir\":\"/srv/x/\",\"title\":\"T\",\"source\":"
		  "\"user\",",
		  "c");
	assert_non_null(strstr(
		desk_call(d, "{\"method\":\"memories\",\"scope\":\"project\","
			     "\"project_dir\":\"/srv/x\"}"),
		"\"scope\":\"project\",\"session\":null,\"project_dir\":"
		"\"/srv/x\",\"title\":\"T\",\"content\":\"c\",\"source\":"
		"\"user\""));
}

static void each_scope_has_its_own(void **state)
{
	struct desk *d = *state;
	const char *one = desk_new(d, "\"project_dir\":\"/srv/x\"");
	const char *two = desk_new(d, "\"project_dir\":\"/srv/y\"");
	char all[128];

	(void)add(d, of(d, one), "one");
	(void)add(d, of(d, two), "two");
	(void)add(d, "\"project_dir\":\"/srv/x\",", "x");
	(void)add(d, "\"scope\":\"project\",\"project_dir\":\"/srv/y\",", "y");
	(void)add(d, "", "all");
	/* Without a scope: what a turn in this session is told. */
	(void)snprintf(all, sizeof(all), ",\"session\":\"%s\"", one);
	assert_string_equal(list(d, all), "all x one");
	(void)snprintf(all, sizeof(all), ",\"session\":\"%s\"", two);
	assert_string_equal(list(d, all), "all y two");
	assert_string_equal(list(d, ",\"project_dir\":\"/srv/x/\""), "all x");
	assert_string_equal(list(d, ""), "all");
	assert_string_equal(list(d, in(d, one)), "one");
	/* By the project of a session. */
	(void)snprintf(all, sizeof(all),
		       ",\"session\":\"%s\",\"scope\":\"project\"", two);
	assert_string_equal(list(d, all), "y");
	/* Books are no conversations. */
	assert_null(strstr(desk_call(d, "{\"method\":\"list\"}"), "book"));
}

static void they_outlive_everything(void **state)
{
	struct desk *d = *state;
	const char *id = desk_new(d, "\"project_dir\":\"/p\"");
	char all[128];

	(void)snprintf(all, sizeof(all), ",\"session\":\"%s\"", id);
	(void)add(d, "", "global");
	(void)add(d, "\"project_dir\":\"/p\",", "project");
	(void)add(d, of(d, id), "own");
	assert_string_equal(list(d, all), "global project own");
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(list(d, all), "global project own");
	if (!d->dir[0])
		return;
	desk_reopen(d, NULL);
	assert_string_equal(list(d, all), "global project own");
}

/* Whatever lies between them, and however much. */
static void they_are_found_among_many_events(void **state)
{
	struct desk *d = *state;
	const char *seventh = "";
	struct buf b;

	buf_init(&b, 0);
	for (int i = 0; i < 150; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "m%d", i);
		/* Dense, then sparse. */
		if (i < 100 || i % 25 == 0) {
			const char *id = add(d, of(d, d->id), text);

			if (i == 7)
				seventh = id;
			else
				buf_printf(&b, "%s%s", b.len ? " " : "", text);
		}
		for (int n = 0; i >= 100 && n < 3; n++)
			desk_say(d, d->id, "words");
	}
	desk_ok(d, try_forget(d, seventh, ""));
	assert_string_equal(list(d, in(d, d->id)), buf_cstr(&b));
	buf_done(&b);
}

static void a_fork_does_not_inherit_them(void **state)
{
	struct desk *d = *state;
	const char *id = add(d, of(d, d->id), "parent's");
	const char *fork;

	desk_say(d, d->id, "a");
	fork = desk_fork(d, d->id);
	assert_string_equal(list(d, in(d, fork)), "");
	(void)add(d, of(d, fork), "fork's");
	assert_string_equal(list(d, in(d, fork)), "fork's");
	assert_string_equal(list(d, in(d, d->id)), "parent's");
	desk_fails(
		d,
		try_forget(d, id,
			   arena_printf(&d->arena, ",\"session\":\"%s\"", fork)
				   .ptr),
		WEFT_MEMORY_NOT_FOUND, id);
}

static void what_is_forgotten_is_gone_until_asked_for(void **state)
{
	struct desk *d = *state;
	const char *a = add(d, of(d, d->id), "a");
	char all[160];

	(void)add(d, of(d, d->id), "b");
	d->now_ms += 5000;
	assert_non_null(strstr(
		desk_call(d, "{\"method\":\"memory_forget\",\"memory\":\"%s\"}",
			  a),
		"\"content\":\"a\",\"source\":null,\"created_at\":"
		"\"2026-11-15T10:00:00.000Z\",\"updated_at\":"
		"\"2026-11-15T10:00:05.000Z\",\"deleted_at\":"
		"\"2026-11-15T10:00:05.000Z\"}"));
	assert_string_equal(list(d, in(d, d->id)), "b");
	(void)snprintf(all, sizeof(all), "%s,\"deleted\":true", in(d, d->id));
	assert_string_equal(list(d, all), "a b");
	desk_fails(d, try_forget(d, a, ""), WEFT_MEMORY_NOT_FOUND, a);
	(void)add(d, of(d, d->id), "c");
	desk_fails(d, try_forget(d, a, ""), WEFT_MEMORY_NOT_FOUND, a);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(list(d, in(d, d->id)), "b c");
}

static void only_a_memory_can_be_forgotten(void **state)
{
	struct desk *d = *state;
	const char *global = add(d, "", "g");
	struct weft_receipt said;

	desk_ok(d, desk_try(d, d->id, "{\"role\":\"user\",\"content\":\"x\"}",
			    NULL, &said));
	desk_fails(d, try_forget(d, said.id, ""), WEFT_MEMORY_NOT_FOUND,
		   said.id);
	desk_fails(d, try_forget(d, "", ""), WEFT_MEMORY_NOT_FOUND, "memory");
	desk_fails(d, try_forget(d, "7", ""), WEFT_MEMORY_NOT_FOUND, "7");
	desk_fails(d, try_forget(d, d->id, ""), WEFT_MEMORY_NOT_FOUND, d->id);
	/* And not one of another place. */
	desk_fails(d, try_forget(d, global, ",\"scope\":\"session\""),
		   WEFT_MEMORY_NOT_FOUND, global);
	desk_fails(d, try_forget(d, global, ",\"project_dir\":\"/p\""),
		   WEFT_MEMORY_NOT_FOUND, global);
	desk_ok(d, try_forget(d, global, ",\"scope\":\"global\""));
}

static void words_are_found_whatever_their_case_and_accents(void **state)
{
	struct desk *d = *state;

	(void)add(d, "", "Café\\nin_Lisbon");
	(void)add(d, "\"title\":\"Tests\",", "make_check");
	assert_string_equal(list(d, ",\"query\":\"CAFE\""), "Café\nin_Lisbon");
	assert_string_equal(list(d, ",\"query\":\"lisbon  cafe\""),
			    "Café\nin_Lisbon");
	assert_string_equal(list(d, ",\"query\":\"tests check\""),
			    "make_check");
	assert_string_equal(list(d, ",\"query\":\"cafe check\""), "");
	assert_string_equal(list(d, ",\"query\":\"\""),
			    "Café\nin_Lisbon make_check");
}

static void the_newest_are_kept_where_there_are_too_many(void **state)
{
	struct desk *d = *state;

	(void)add(d, "", "a");
	(void)add(d, "", "b");
	(void)add(d, "", "c");
	assert_string_equal(list(d, ",\"limit\":2"), "b c");
	assert_non_null(
		strstr(desk_call(d, "{\"method\":\"memories\",\"limit\":2}"),
		       "\"more\":true"));
	assert_non_null(
		strstr(desk_call(d, "{\"method\":\"memories\",\"limit\":3}"),
		       "\"more\":false"));
	desk_fails(d, desk_try_call(d, "{\"method\":\"memories\",\"limit\":0}"),
		   WEFT_INVALID, "limit");
}

static void the_same_operation_twice_is_one(void **state)
{
	struct desk *d = *state;
	const char *id;

	(void)add(d, "", "first");
	id = add(d, "\"op\":\"o\",", "a");
	(void)add(d, "", "b");
	assert_string_equal(add(d, "\"op\":\"o\",", "a"), id);
	assert_string_equal(list(d, ""), "first a b");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"memory_add\",\"content\":"
				    "\"z\",\"op\":\"o\"}"),
		   WEFT_OP_MISMATCH, "'o'");
}

static void a_lease_does_not_keep_people_from_remembering(void **state)
{
	struct desk *d = *state;

	(void)desk_call(d,
			"{\"method\":\"lease\",\"session\":\"%s\",\"how\":"
			"\"acquire\",\"owner\":\"ann\"}",
			d->id);
	(void)add(d, of(d, d->id), "a");
	assert_string_equal(list(d, in(d, d->id)), "a");
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *members, *part;
	} wrong[] = {
		{ "\"content\":\"\"", "content" },
		{ "\"content\":\" \\n\\u00a0\"", "content" },
		{ "\"content\":7", "content" },
		{ "\"title\":\"t\"", "content" },
		{ "\"content\":\"a\",\"title\":\"a\\nb\"", "title" },
		{ "\"content\":\"a\",\"scope\":\"session\"", "session" },
		{ "\"content\":\"a\",\"scope\":\"project\"", "project_dir" },
		{ "\"content\":\"a\",\"scope\":\"team\"", "scope" },
	};
	struct desk *d = *state;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		desk_fails(d,
			   desk_try_call(d, "{\"method\":\"memory_add\",%s}",
					 wrong[i].members),
			   WEFT_INVALID, wrong[i].part);
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"memory_add\",\"content\":"
				    "\"a\",\"session\":\"nobody\"}"),
		   WEFT_NOT_FOUND, "nobody");
	assert_string_equal(list(d, ""), "");
	/* A name that somebody else has is not written to. */
	(void)desk_new(d, "\"key\":\"book:global\"");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"memory_add\",\"content\":"
				    "\"a\"}"),
		   WEFT_CONFLICT, "book:global");
}

static void it_may_be_so_long(void **state)
{
	struct desk *d = *state;

	desk_reopen(d, "memory_bytes=5&name_bytes=30");
	(void)add(d, "", "12345");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"memory_add\",\"content\":"
				    "\"123456\"}"),
		   WEFT_LIMIT, "memory_bytes");
	(void)add(d, "\"project_dir\":\"/2345678901234567\",", "a");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"memory_add\",\"content\":\"a\","
				 "\"project_dir\":\"/23456789012345678\"}"),
		   WEFT_LIMIT, "name_bytes");
}

/* However many there are, all can be listed: page by page, from the newest. */
static void older_ones_are_on_the_next_page(void **state)
{
	struct desk *d = *state;
	const char *ids[5], *more;
	char one[2] = "a";

	for (size_t i = 0; i < 5; i++, one[0]++)
		ids[i] = add(d, of(d, d->id), one);
	(void)add(d, "", "global");
	assert_string_equal(
		list(d, arena_printf(&d->arena, "%s,\"limit\":2", in(d, d->id))
				.ptr),
		"d e");
	more = arena_printf(&d->arena, "%s,\"limit\":2,\"before\":\"%s\"",
			    in(d, d->id), ids[3])
		       .ptr;
	assert_string_equal(list(d, more), "b c");
	/* One that is forgotten meanwhile still says where to go on. */
	assert_int_equal(try_forget(d, ids[3], ""), WEFT_OK);
	assert_string_equal(list(d, more), "b c");
	more = arena_printf(&d->arena, "%s,\"before\":\"%s\"", in(d, d->id),
			    ids[1])
		       .ptr;
	assert_string_equal(list(d, more), "a");
	/* Of its scope, and of no other. */
	more = arena_printf(&d->arena, ",\"session\":\"%s\",\"before\":\"%s\"",
			    d->id, ids[1])
		       .ptr;
	assert_string_equal(list(d, more), "a");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"memories\",\"before\":\"%s\"}",
				 ids[1]),
		   WEFT_MEMORY_NOT_FOUND, ids[1]);
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"memories\",\"before\":"
				    "\"x\"}"),
		   WEFT_MEMORY_NOT_FOUND, "no memory x");
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(nothing_is_remembered_at_first),
	PUBLIC_TEST(a_memory_comes_back_as_it_was_given),
	PUBLIC_TEST(each_scope_has_its_own),
	PUBLIC_TEST(they_outlive_everything),
	PUBLIC_TEST(they_are_found_among_many_events),
	PUBLIC_TEST(a_fork_does_not_inherit_them),
	PUBLIC_TEST(what_is_forgotten_is_gone_until_asked_for),
	PUBLIC_TEST(only_a_memory_can_be_forgotten),
	PUBLIC_TEST(words_are_found_whatever_their_case_and_accents),
	PUBLIC_TEST(the_newest_are_kept_where_there_are_too_many),
	PUBLIC_TEST(the_same_operation_twice_is_one),
	PUBLIC_TEST(a_lease_does_not_keep_people_from_remembering),
	PUBLIC_TEST(what_is_wrong_is_named),
	PUBLIC_TEST(it_may_be_so_long),
	PUBLIC_TEST(older_ones_are_on_the_next_page),
};

const struct suite public_memory_suite = { tests, ARRAY_LEN(tests) };

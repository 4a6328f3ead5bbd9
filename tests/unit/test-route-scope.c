/* test-route-scope.c - scopes, keys and names, by vectors that another program
 * agrees with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "route/norm.h"
#include "route/scope.h"

static struct weft_str member(yyjson_val *object, const char *name)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	return yyjson_is_str(v) ? json_str(v) : STR("");
}

static void expect_text(const char *vector, const char *what,
			struct weft_str expected, struct weft_str found)
{
	if (!str_eq(expected, found))
		fail_msg("%s: %s: expected '%.*s', found '%.*s'", vector, what,
			 STR_ARG(expected), STR_ARG(found));
}

static void expect_names(const char *vector, yyjson_val *expected,
			 const struct name_list *found)
{
	yyjson_arr_iter it;
	size_t n = yyjson_arr_size(expected);

	yyjson_arr_iter_init(expected, &it);
	if (found->n != n)
		fail_msg("%s: %zu aliases expected, %zu found", vector, n,
			 found->n);
	for (size_t i = 0; i < n; i++)
		expect_text(vector, "alias",
			    json_str(yyjson_arr_iter_next(&it)), found->v[i]);
}

static struct identity_links links_of(yyjson_val *object, struct arena *a)
{
	struct identity_link *v =
		ARENA_ARRAY(a, struct identity_link, yyjson_obj_size(object));
	struct identity_links links = { .v = v };
	yyjson_obj_iter it;
	yyjson_val *key;

	yyjson_obj_iter_init(object, &it);
	while ((key = yyjson_obj_iter_next(&it))) {
		yyjson_val *ids = yyjson_obj_iter_get_val(key);
		struct weft_str *to =
			ARENA_ARRAY(a, struct weft_str, yyjson_arr_size(ids));
		struct identity_link *link = &v[links.n++];
		yyjson_arr_iter in;
		yyjson_val *id;

		*link = (struct identity_link){ .name = json_str(key),
						.ids = to };
		yyjson_arr_iter_init(ids, &in);
		while ((id = yyjson_arr_iter_next(&in)))
			to[link->n_ids++] = json_str(id);
	}
	return identity_links_clean(&links, a);
}

/* The same scope, in whatever order its values are written; and what we write
 * ourselves is read again. */
static void expect_scope(const char *vector, yyjson_val *expected,
			 const struct scope *found, struct arena *a)
{
	CLEANUP(buf_done) struct buf want = { 0 }, have = { 0 };
	struct scope again;

	buf_init(&want, 0);
	buf_init(&have, 0);
	buf_add_val(&want, expected);
	scope_encode(&have, found);
	assert_int_equal(scope_parse(buf_str(&want), a, &again, NULL), WEFT_OK);
	if (!scope_eq(found, &again))
		fail_msg("%s: expected scope %s, found %s", vector,
			 buf_cstr(&want), buf_cstr(&have));
	assert_int_equal(scope_parse(buf_str(&have), a, &again, NULL), WEFT_OK);
	assert_true(scope_eq(found, &again));
}

static void check_allocate(const char *name, yyjson_val *v, struct arena *a)
{
	yyjson_val *input = yyjson_obj_get(v, "input");
	yyjson_val *context = yyjson_obj_get(input, "context");
	struct route_context c = {
		.channel = member(context, "channel"),
		.account = member(context, "account"),
		.chat_type = member(context, "chat_type"),
		.chat_id = member(context, "chat_id"),
		.topic_id = member(context, "topic_id"),
		.space_type = member(context, "space_type"),
		.space_id = member(context, "space_id"),
		.sender_id = member(context, "sender_id"),
	};
	struct weft_str agent = member(input, "agent_id"), main_name;
	struct identity_links links =
		links_of(yyjson_obj_get(input, "identity_links"), a);
	struct identity who =
		identity_of(&links, c.channel, c.sender_id, false, a);
	struct name_list names = names_legacy(agent, &c, &who, a);
	struct dimensions dims = { 0 };
	struct scope scope;
	yyjson_arr_iter it;
	yyjson_val *dim;

	yyjson_arr_iter_init(yyjson_obj_get(input, "configured_dimensions"),
			     &it);
	while ((dim = yyjson_arr_iter_next(&it)))
		(void)dimensions_add(&dims, json_str(dim), a);
	scope = scope_build(agent, &c, &dims, &who, a);
	expect_scope(name, yyjson_obj_get(v, "scope"), &scope, a);
	expect_text(name, "signature", member(v, "signature"),
		    scope_signature(&scope, a));
	expect_text(name, "key", member(v, "key"),
		    scope_key(scope_signature(&scope, a), a));
	expect_names(name, yyjson_obj_get(v, "session_aliases"), &names);
	main_name = names_main(agent, a);
	expect_text(name, "main key", member(v, "main_session_key"),
		    scope_key(main_name, a));
	expect_names(name, yyjson_obj_get(v, "main_aliases"),
		     &(struct name_list){ .v = &main_name, .n = 1 });
}

static void check_scope_only(const char *name, yyjson_val *v, struct arena *a)
{
	CLEANUP(buf_done) struct buf json = { 0 };
	struct scope scope;

	buf_init(&json, 0);
	buf_add_val(&json, yyjson_obj_get(v, "scope"));
	assert_int_equal(scope_parse(buf_str(&json), a, &scope, NULL), WEFT_OK);
	expect_text(name, "signature", member(v, "signature"),
		    scope_signature(&scope, a));
	expect_text(name, "key", member(v, "key"),
		    scope_key(scope_signature(&scope, a), a));
}

static void check_alias(const char *name, yyjson_val *v, struct arena *a)
{
	expect_text(name, "signature", member(v, "signature"),
		    norm_clean(member(v, "alias"), a));
	expect_text(name, "key", member(v, "key"),
		    scope_key(member(v, "alias"), a));
}

/* Every vector of a file, counted, so that none is left out. */
static void check_vectors(const char *file, size_t allocates, size_t scopes,
			  size_t aliases)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(arena_done) struct arena a;
	const char *data = getenv("WEFT_TEST_DATA");
	size_t allocate = 0, scope_only = 0, alias = 0;
	char path[4096];
	yyjson_arr_iter it;
	yyjson_val *v;
	char *text;
	size_t len;

	arena_init(&a, 0);
	(void)snprintf(path, sizeof(path), "%s/%s", data ? data : "tests/data",
		       file);
	assert_int_equal(fs_read_whole(fs_real(), path, MIB(1), &text, &len),
			 0);
	assert_int_equal(
		json_parse((struct weft_str){ text, len }, NULL, &doc, NULL),
		WEFT_OK);
	mem_free(text);
	assert_true(yyjson_arr_iter_init(yyjson_doc_get_root(doc), &it));
	while ((v = yyjson_arr_iter_next(&it))) {
		const char *name = yyjson_get_str(yyjson_obj_get(v, "name"));
		struct weft_str kind = member(v, "kind");

		if (str_eq(kind, STR("allocate"))) {
			check_allocate(name, v, &a);
			allocate++;
		} else if (str_eq(kind, STR("scope_only"))) {
			check_scope_only(name, v, &a);
			scope_only++;
		} else if (str_eq(kind, STR("opaque_from_alias"))) {
			check_alias(name, v, &a);
			alias++;
		} else {
			fail_msg("%s: a kind that nothing checks", name);
		}
	}
	assert_int_equal(allocate, allocates);
	assert_int_equal(scope_only, scopes);
	assert_int_equal(alias, aliases);
	assert_false(a.failed);
}

static void all_vectors_pass(void **state)
{
	(void)state;
	check_vectors("picoclaw_vectors.json", 20, 2, 3);
}

/* White space, letters, ids, links, topics, types of chats, separators: made by
 * a model of the same rules in another language. */
static void all_vectors_of_our_own_pass(void **state)
{
	(void)state;
	check_vectors("route_vectors.json", 135, 0, 0);
}

/* Two scopes can have one signature; that they are two is seen all the same. */
static void scopes_with_one_key_can_be_told_apart(void **state)
{
	CLEANUP(arena_done) struct arena a;
	const struct identity b = { .name = STR("b") };
	const struct dimensions one = { .v = { DIM_CHAT }, .n = 1 };
	const struct dimensions two = { .v = { DIM_CHAT, DIM_SENDER }, .n = 2 };
	struct scope forged, honest;

	(void)state;
	arena_init(&a, 0);
	forged = scope_build(
		STR("main"),
		&(struct route_context){ .channel = STR("irc"),
					 .chat_id = STR("a|sender=b") },
		&one, &b, &a);
	honest = scope_build(STR("main"),
			     &(struct route_context){ .channel = STR("irc"),
						      .chat_id = STR("a") },
			     &two, &b, &a);
	expect_text("forged", "signature", scope_signature(&honest, &a),
		    scope_signature(&forged, &a));
	assert_false(scope_eq(&forged, &honest));
	assert_true(scope_eq(&honest, &honest));
}

static void a_scope_is_written_with_its_values_in_order(void **state)
{
	CLEANUP(arena_done) struct arena a;
	CLEANUP(buf_done) struct buf b = { 0 };
	const struct identity six = { .name = STR("6") };
	const struct dimensions dims = { .v = { DIM_SENDER, DIM_CHAT },
					 .n = 2 };
	struct scope s;

	(void)state;
	arena_init(&a, 0);
	buf_init(&b, 0);
	s = scope_build(STR(""),
			&(struct route_context){ .chat_id = STR("\"Q") }, &dims,
			&six, &a);
	scope_encode(&b, &s);
	assert_string_equal(buf_cstr(&b),
			    "{\"version\":1,\"agent_id\":\"main\",\"channel\":"
			    "\"unknown\",\"account\":\"default\","
			    "\"dimensions\":[\"sender\",\"chat\"],\"values\":{"
			    "\"chat\":\"direct:\\\"q\",\"sender\":\"6\"}}");
	s = scope_build(STR(""), &(struct route_context){ .channel = STR("a") },
			&dims, &(struct identity){ .link = NULL }, &a);
	buf_reset(&b);
	scope_encode(&b, &s);
	assert_non_null(
		strstr(buf_cstr(&b), "\"dimensions\":null,\"values\":null}"));
}

static void the_first_link_of_the_configuration_counts(void **state)
{
	CLEANUP(arena_done) struct arena a;
	const struct weft_str ids[] = { STR_INIT(" Telegram:5 "),
					STR_INIT("") };
	const struct identity_link v[] = {
		{ .name = STR(" "), .ids = ids, .n_ids = 2 },
		{ .name = STR("Zoe"), .ids = ids, .n_ids = 2 },
		{ .name = STR("Adam"), .ids = ids, .n_ids = 2 },
	};
	struct identity_links links;
	struct identity who;

	(void)state;
	arena_init(&a, 0);
	links = identity_links_clean(
		&(struct identity_links){ .v = v, .n = ARRAY_LEN(v) }, &a);
	assert_int_equal(links.n, 2);
	who = identity_of(&links, STR("TELEGRAM"), STR(" 5"), false, &a);
	expect_text("links", "name", STR("zoe"), who.name);
	assert_ptr_equal(who.link, &links.v[0]);
	/* Its own name is an id only where that is asked for. */
	who = identity_of(&links, STR("irc"), STR("ADAM"), false, &a);
	assert_null(who.link);
	who = identity_of(&links, STR("irc"), STR("ADAM"), true, &a);
	assert_ptr_equal(who.link, &links.v[1]);
	/* What is behind the first colon counts, an empty id does not. */
	who = identity_of(&links, STR(""), STR("x:telegram:5"), false, &a);
	assert_ptr_equal(who.link, &links.v[0]);
	who = identity_of(&links, STR("telegram"), STR(" "), true, &a);
	assert_null(who.link);
	assert_int_equal(who.name.len, 0);
}

static void keys_that_are_taken_as_they_are(void **state)
{
	CLEANUP(arena_done) struct arena a;
	struct weft_str agent, rest;

	(void)state;
	arena_init(&a, 0);
	assert_true(names_is_explicit(STR("sk_v1_abc"), &a));
	assert_true(names_is_explicit(STR(" SK_V1_abc"), &a));
	assert_true(names_is_explicit(STR("agent:main:direct:user123"), &a));
	assert_false(names_is_explicit(STR("custom-key"), &a));
	assert_false(names_is_explicit(STR(""), &a));

	assert_true(names_parse_legacy(STR("agent:sales:telegram:direct:u1"),
				       &agent, &rest));
	expect_text("legacy", "agent", STR("sales"), agent);
	expect_text("legacy", "rest", STR("telegram:direct:u1"), rest);
	assert_false(names_parse_legacy(STR("sk_v1_abc"), &agent, &rest));
	assert_false(names_parse_legacy(STR("Agent:a:b"), &agent, &rest));
	assert_false(names_parse_legacy(STR("agent::b"), &agent, &rest));
	assert_false(names_parse_legacy(STR("agent:a:"), &agent, &rest));
	assert_false(names_parse_legacy(STR("agent:a"), &agent, &rest));
	assert_true(names_is_main(STR("agent:x:main")));
	assert_false(names_is_main(STR("agent:x:main:y")));
}

static void what_is_no_scope_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"null",
		"{\"version\":1}",
		"{\"version\":1,\"agent_id\":\"a\",\"channel\":\"c\","
		"\"account\":7,\"dimensions\":null,\"values\":null}",
		"{\"version\":1,\"agent_id\":\"a\",\"channel\":\"c\","
		"\"account\":\"d\",\"dimensions\":{},\"values\":null}",
		"{\"version\":1,\"agent_id\":\"a\",\"channel\":\"c\","
		"\"account\":\"d\",\"dimensions\":[7],\"values\":null}",
		"{\"version\":1,\"agent_id\":\"a\",\"channel\":\"c\","
		"\"account\":\"d\",\"dimensions\":null,\"values\":[]}",
		"{\"version\":1,\"agent_id\":\"a\",\"channel\":\"c\","
		"\"account\":\"d\",\"dimensions\":null,\"values\":{\"a\":7}}",
	};
	CLEANUP(arena_done) struct arena a;

	(void)state;
	arena_init(&a, 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct weft_error err = { 0 };
		struct scope s;

		assert_int_equal(scope_parse(str_of(bad[i]), &a, &s, &err),
				 WEFT_CORRUPT);
		assert_non_null(strstr(err.message, "scope"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_vectors_pass),
		cmocka_unit_test(all_vectors_of_our_own_pass),
		cmocka_unit_test(a_scope_is_written_with_its_values_in_order),
		cmocka_unit_test(scopes_with_one_key_can_be_told_apart),
		cmocka_unit_test(the_first_link_of_the_configuration_counts),
		cmocka_unit_test(keys_that_are_taken_as_they_are),
		cmocka_unit_test(what_is_no_scope_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

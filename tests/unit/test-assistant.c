/*
 * test-assistant.c - the sessions of an assistant that kept them in chat files:
 * who was last where, which agent stays, and what is removed at 03:00.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "weft/compat.h"

#define CHATS "assistant/chats/"

static const char *const files[] = {
	"0d0d0d0d-1111-4222-8333-444455556666",
	"5b1f7c1e-3a52-4d0b-9d6f-7a1c0e2b4d11",
	"99999999-aaaa-4bbb-8ccc-dddddddddddd",
	"c2a9e0d4-6f1b-4f7e-8b7a-90d1e2f3a4b5",
	"e7d6c5b4-a392-4817-9c0d-1e2f3a4b5c6d",
};

static const char config[] =
	"{\"session\":{\"dimensions\":[\"sender\"],\"identity_links\":"
	"{\"dan\":[\"dan\"]}},\"agents\":{\"sticky\":true,"
	"\"list\":[{\"id\":\"nikki\"},{\"id\":\"sasha\"}]},"
	"\"retention\":{\"rules\":[{\"idle_days\":30}]}}";

struct lab {
	struct weft_store *store;
	struct weft_error err;
	struct arena arena;
	int64_t now_ms;
};

static int64_t now(void *ctx)
{
	const struct lab *lab = ctx;

	return lab->now_ms;
}

static void ok(struct lab *lab, int r)
{
	if (r != WEFT_OK)
		print_message("# %s\n", lab->err.message);
	assert_int_equal(r, WEFT_OK);
}

/* A file of the sample; freed by the caller. */
static yyjson_doc *load(struct lab *lab, const char *name)
{
	char path[512], *text;
	yyjson_doc *doc = NULL;
	size_t len;

	(void)snprintf(path, sizeof(path), "%s/%s", getenv("WEFT_TEST_DATA"),
		       name);
	assert_int_equal(fs_read_whole(fs_real(), path, MIB(1), &text, &len),
			 0);
	ok(lab,
	   json_parse((struct weft_str){ text, len }, NULL, &doc, &lab->err));
	mem_free(text);
	return doc;
}

static void set_clock(struct lab *lab, yyjson_val *time)
{
	assert_true(time_parse_rfc3339(json_str(time), &lab->now_ms));
}

static const char *call(struct lab *lab, struct buf *request)
{
	struct weft_answer *answer = NULL;
	struct weft_str text;

	ok(lab, weft_call(lab->store, request->ptr, request->len, &answer,
			  &lab->err));
	text = arena_str(&lab->arena, str_of(weft_answer_text(answer, NULL)));
	weft_answer_free(answer);
	buf_reset(request);
	return text.ptr;
}

static void add(struct buf *b, const char *name, yyjson_val *value)
{
	buf_printf(b, ",\"%s\":", name);
	buf_add_json(b, json_str(value));
}

/* One chat, said again at the times at which it was said. */
static void replay(struct lab *lab, const char *id)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	yyjson_arr_iter it;
	yyjson_val *chat, *m;
	char name[128];

	(void)snprintf(name, sizeof(name), CHATS "%s.json", id);
	doc = load(lab, name);
	chat = yyjson_doc_get_root(doc);
	buf_init(&b, MIB(1));
	set_clock(lab, yyjson_obj_get(chat, "createdAt"));
	buf_printf(&b, "{\"method\":\"new\",\"aliases\":[\"%s\"]", id);
	add(&b, "user", yyjson_obj_get(chat, "userId"));
	add(&b, "channel", yyjson_obj_get(chat, "platform"));
	add(&b, "agent", yyjson_obj_get(chat, "agent"));
	add(&b, "user_role", yyjson_obj_get(chat, "userRole"));
	add(&b, "slug", yyjson_obj_get(chat, "title"));
	buf_add_c(&b, '}');
	(void)call(lab, &b);
	yyjson_arr_iter_init(yyjson_obj_get(chat, "history"), &it);
	while ((m = yyjson_arr_iter_next(&it))) {
		struct weft_str text = json_str(yyjson_obj_get(m, "content"));
		bool tool =
			yyjson_equals_str(yyjson_obj_get(m, "role"), "tool");

		set_clock(lab, yyjson_obj_get(m, "timestamp"));
		buf_printf(&b,
			   "{\"method\":\"append\",\"session\":\"%s\","
			   "\"message\":{\"role\":\"%s\",\"content\":",
			   id,
			   tool ? "user" :
				  yyjson_get_str(yyjson_obj_get(m, "role")));
		buf_add_json(&b, text.len ? text : STR("(calls a tool)"));
		buf_add_lit(&b, "}}");
		(void)call(lab, &b);
	}
}

static int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));
	struct weft_open_options o;

	(void)setenv("TZ", "UTC0", 1);
	tzset();
	arena_init(&lab->arena, 0);
	weft_open_options_init(&o, sizeof(o));
	o.now_ms = now;
	o.now_ctx = lab;
	lab->now_ms = 1;
	ok(lab, weft_open("memory:", &o, &lab->store, &lab->err));
	ok(lab, weft_configure(lab->store, config, strlen(config), &lab->err));
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		replay(lab, files[i]);
	assert_true(
		time_parse_rfc3339(STR("2026-04-11T03:00:00Z"), &lab->now_ms));
	*state = lab;
	return 0;
}

static int tear_down(void **state)
{
	struct lab *lab = *state;

	(void)weft_close(lab->store, NULL);
	arena_done(&lab->arena);
	test_free(lab);
	return 0;
}

static void each_user_has_a_last_session(void **state)
{
	struct lab *lab = *state;
	CLEANUP(json_doc_cleanup)
	yyjson_doc *doc = load(lab, "assistant/expected.json");
	yyjson_val *list =
		yyjson_obj_get(yyjson_doc_get_root(doc), "last_session");
	yyjson_obj_iter it = yyjson_obj_iter_with(list);
	yyjson_val *key;

	assert_int_equal(yyjson_obj_size(list), 6);
	while ((key = yyjson_obj_iter_next(&it))) {
		const char *who = yyjson_get_str(key);
		const char *slash = strchr(who, '/');
		yyjson_val *want = yyjson_obj_iter_get_val(key);
		struct weft_answer *answer = NULL;
		int r = weft_chat_load_last_session(
			lab->store, who, (size_t)(slash - who), slash + 1,
			strlen(slash + 1), &answer, &lab->err);

		if (yyjson_is_null(want)) {
			assert_int_equal(r, WEFT_NOT_FOUND);
			continue;
		}
		ok(lab, r);
		assert_non_null(strstr(weft_answer_text(answer, NULL),
				       arena_printf(&lab->arena, "\"%.36s\"",
						    yyjson_get_str(want))
					       .ptr));
		weft_answer_free(answer);
	}
}

static void keep_agents(struct lab *lab)
{
	CLEANUP(json_doc_cleanup)
	yyjson_doc *doc = load(lab, CHATS "last_agents.json");
	yyjson_obj_iter it = yyjson_obj_iter_with(yyjson_doc_get_root(doc));
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&it))) {
		struct weft_str agent = json_str(
			yyjson_obj_get(yyjson_obj_iter_get_val(key), "agent"));

		ok(lab,
		   weft_chat_save_last_used_agent(
			   lab->store, yyjson_get_str(key), yyjson_get_len(key),
			   agent.ptr, agent.len, &lab->err));
	}
}

static void agents_stay(void **state)
{
	struct lab *lab = *state;
	CLEANUP(json_doc_cleanup)
	yyjson_doc *doc = load(lab, "assistant/expected.json");
	yyjson_val *root = yyjson_doc_get_root(doc), *key;
	yyjson_obj_iter it =
		yyjson_obj_iter_with(yyjson_obj_get(root, "sticky_agent"));
	struct weft_answer *fresh = NULL;
	struct weft_chat_options chat;
	struct weft_route_options o;
	struct weft_routed r;

	keep_agents(lab);
	while ((key = yyjson_obj_iter_next(&it))) {
		const char *want = yyjson_get_str(yyjson_obj_iter_get_val(key));
		struct weft_answer *answer = NULL;

		ok(lab, weft_chat_last_used_agent(
				lab->store, yyjson_get_str(key),
				yyjson_get_len(key), &answer, &lab->err));
		assert_non_null(
			strstr(weft_answer_text(answer, NULL),
			       want ? arena_printf(&lab->arena,
						   "\"agent\":\"%s\"", want)
					       .ptr :
				      "\"agent\":null"));
		weft_answer_free(answer);
	}
	/* "Sasha" is who answers Dan in a place that is new to him. */
	assert_string_equal(
		yyjson_get_str(yyjson_obj_get(
			root, "new_session_agent_for_dan_on_telegram")),
		"Sasha");
	weft_chat_options_init(&chat, sizeof(chat));
	chat.user = STR("dan");
	chat.platform = STR("telegram");
	ok(lab, weft_chat_new_session(lab->store, &chat, &fresh, &lab->err));
	assert_non_null(
		strstr(weft_answer_text(fresh, NULL), "\"agent\":\"Sasha\""));
	weft_answer_free(fresh);
	/* Routing knows him by a link. */
	weft_route_options_init(&o, sizeof(o));
	o.channel = STR("telegram");
	o.chat_type = STR("direct");
	o.sender_id = o.chat_id = STR("dan");
	ok(lab, weft_route(lab->store, &o, &r, &lab->err));
	assert_string_equal(r.agent, "sasha");
	o.sender_id = o.chat_id = STR("nobody");
	ok(lab, weft_route(lab->store, &o, &r, &lab->err));
	assert_string_equal(r.agent, "nikki");
}

static void what_is_stale_goes_at_three(void **state)
{
	struct lab *lab = *state;
	CLEANUP(buf_done) struct buf b = { 0 };
	CLEANUP(json_doc_cleanup)
	yyjson_doc *doc = load(lab, "assistant/expected.json");
	yyjson_val *want = yyjson_obj_get(yyjson_doc_get_root(doc),
					  "cleanup_at_now_removes");
	struct weft_maintenance m = { 0 };
	const char *shown;

	keep_agents(lab);
	ok(lab, weft_maintain(lab->store, 0, &m, &lab->err));
	assert_int_equal(m.ran, 1);
	assert_int_equal(m.removed, yyjson_arr_size(want));
	buf_init(&b, MIB(1));
	buf_add_lit(&b, "{\"method\":\"list\",\"deleted\":true,\"limit\":100,"
			"\"kind\":\"all\"}");
	shown = call(lab, &b);
	assert_non_null(strstr(shown, "\"slug\":\"old question\""));
	buf_add_lit(&b, "{\"method\":\"list\",\"limit\":100}");
	shown = call(lab, &b);
	assert_null(strstr(shown, "\"slug\":\"old question\""));
	for (size_t i = 1; i < ARRAY_LEN(files); i++)
		assert_non_null(strstr(shown, files[i]));
	/* What stays with a user outlives the sessions. */
	buf_add_lit(&b, "{\"method\":\"user_agent\",\"user\":\"dan\"}");
	assert_non_null(strstr(call(lab, &b), "Sasha"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_user_has_a_last_session,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(agents_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_stale_goes_at_three,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

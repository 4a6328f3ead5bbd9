/* compat_pico_subturn.c - PicoClaw's sub-turns: a store that is thrown away. */
#include "conformance/compat.h"

static const char *stats(struct desk *d, struct weft_store *store,
			 const char *path)
{
	struct weft_answer *answer;

	return at(d,
		  CALL(d, answer,
		       weft_call(store, T("{\"method\":\"stats\"}"), &answer,
				 &d->err)),
		  path);
}

static const char *shown(struct desk *d, struct weft_store *store,
			 const char *key)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_pico_get_or_create(store, T(key), &answer, &d->err));
}

/* What stands for the parent of a sub-turn. */
static const char *stand_in(struct desk *d, struct weft_store *sub,
			    const char *parent)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "parent:%s", parent);
	return shown(d, sub, key);
}

static void a_sub_turn_is_thrown_away(void **state)
{
	struct desk *d = *state;
	struct weft_store *sub = NULL;
	struct weft_answer *answer;
	const char *parent, *before, *s, *list;

	parent =
		desk_new(d, "\"key\":\"p31\",\"agent\":\"nikki\",\"model\":{"
			    "\"provider\":\"x\",\"name\":\"y\"},\"tools\":[1]");
	(void)desk_say(d, "p31", "do it");
	before = stats(d, d->store, "events");
	desk_ok(d, weft_pico_open_subturn(d->store, T("p31"), T("toolu_1"), 0,
					  &sub, &d->err));
	for (int i = 0; i < 60; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%d", i);
		desk_ok(d, weft_pico_add_message(sub, T("subturn"), T("user"),
						 T(text), &d->err));
	}
	/* The last 50, by any way of asking. */
	list = CALL(d, answer,
		    weft_pico_get_history(sub, T("subturn"), &answer, &d->err));
	assert_int_equal(count_at(d, list, ""), 50);
	assert_string_equal(at(d, list, "0.content"), "10");
	list = CALL(d, answer,
		    weft_call(sub,
			      T("{\"method\":\"history\",\"session\":"
				"\"subturn\",\"view\":\"window\",\"format\":"
				"\"openai\"}"),
			      &answer, &d->err));
	assert_int_equal(count_at(d, list, "messages"), 50);
	list = CALL(d, answer,
		    weft_call(sub,
			      T("{\"method\":\"history\",\"session\":"
				"\"subturn\",\"view\":\"window\",\"last\":2}"),
			      &answer, &d->err));
	assert_string_equal(each(d, list, "messages", "parts.0.text"), "58 59");
	/* The log has them all. */
	s = shown(d, sub, "subturn");
	assert_string_equal(at(d, s, "message_count"), "60");
	assert_string_equal(at(d, s, "kind"), "subagent");
	assert_string_equal(at(d, s, "parent_tool_use_id"), "toolu_1");
	assert_string_equal(at(d, s, "agent"), "nikki");
	assert_string_equal(at(d, s, "model.name"), "y");
	assert_string_equal(at(d, s, "tools"), "[1]");
	/* Its parent stands there by name. */
	assert_string_equal(at(d, stand_in(d, sub, parent), "id"),
			    at(d, s, "parent"));
	assert_string_equal(at(d, stand_in(d, sub, parent), "root"),
			    at(d, s, "root"));
	desk_ok(d, weft_close(sub, &d->err));
	/* And nothing of it is anywhere else. */
	assert_string_equal(stats(d, d->store, "events"), before);
}

static void a_sub_turn_is_paid_for_once(void **state)
{
	struct desk *d = *state;
	struct weft_store *sub = NULL;
	const char *parent = desk_new(d, "\"key\":\"p32\""), *id;
	char request[256];

	desk_ok(d, weft_pico_open_subturn(d->store, T(parent), NULL, 0, 3, &sub,
					  &d->err));
	id = at(d, shown(d, sub, "subturn"), "id");
	desk_ok(d,
		weft_hygge_update_session_totals(
			sub, T(id), T("{\"input_tokens\":7,\"cost_usd\":0.5}"),
			&d->err));
	assert_string_equal(at(d, stand_in(d, sub, parent), "total.cost_usd"),
			    "0.5");
	assert_string_equal(at(d, shown(d, d->store, "p32"), "total.cost_usd"),
			    "0");
	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"usage_add\",\"session\":\"p32\","
		       "\"usage\":{\"input_tokens\":%s,\"cost_usd\":%s},"
		       "\"op\":\"%s\"}",
		       at(d, stand_in(d, sub, parent), "total.input_tokens"),
		       at(d, stand_in(d, sub, parent), "total.cost_usd"), id);
	for (int i = 0; i < 2; i++)
		(void)desk_call(d, "%s", request);
	assert_string_equal(at(d, shown(d, d->store, "p32"), "total.cost_usd"),
			    "0.5");
	desk_ok(d, weft_close(sub, &d->err));
}

static void a_sub_turn_of_nobody(void **state)
{
	struct desk *d = *state;
	struct weft_store *sub = NULL;

	desk_fails(d,
		   weft_pico_open_subturn(d->store, T("p33-nobody"), NULL, 0, 0,
					  &sub, &d->err),
		   WEFT_NOT_FOUND, "p33-nobody");
	desk_fails(d,
		   weft_pico_open_subturn(d->store, T(""), NULL, 0, 0, &sub,
					  &d->err),
		   WEFT_INVALID, "parent");
	desk_fails(d,
		   weft_pico_open_subturn(d->store, T(d->id), NULL, 0,
					  UINT64_MAX, &sub, &d->err),
		   WEFT_INVALID, "window_messages");
	desk_fails(
		d,
		weft_pico_open_subturn(NULL, T("x"), NULL, 0, 0, &sub, &d->err),
		WEFT_INVALID, "store");
	desk_fails(d,
		   weft_pico_open_subturn(d->store, T(d->id), NULL, 0, 0, NULL,
					  &d->err),
		   WEFT_INVALID, "place");
	desk_fails(d,
		   weft_pico_open_subturn(d->store, T(d->id), NULL, 4, 0, &sub,
					  &d->err),
		   WEFT_INVALID, "tool_use_id");
	assert_null(sub);
}

static const struct CMUnitTest tests[] = {
	CASE("picoclaw: a sub-turn is thrown away", a_sub_turn_is_thrown_away),
	CASE("picoclaw: a sub-turn is paid for once (differs)",
	     a_sub_turn_is_paid_for_once),
	CASE("picoclaw: a sub-turn of nobody", a_sub_turn_of_nobody),
};

const struct suite compat_pico_subturn_suite = { tests, ARRAY_LEN(tests) };

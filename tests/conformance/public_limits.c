/*
 * public_limits.c - every limit, set small and hit from both sides: what is
 * exactly as large as allowed goes through, one more does not, and then
 * nothing has changed.
 */
#include "conformance/public.h"

/* `n` times `what`, with `between` in between. */
static const char *times(struct desk *d, size_t n, const char *what,
			 const char *between)
{
	struct weft_str text;
	struct buf b;

	buf_init(&b, MIB(64));
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_add_str(&b, str_of(between));
		buf_add_str(&b, str_of(what));
	}
	text = arena_str(&d->arena, buf_str(&b));
	buf_done(&b);
	assert_non_null(text.ptr);
	return text.ptr;
}

static const char *with(struct desk *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static const char *with(struct desk *d, const char *format, ...)
{
	struct weft_str text;
	va_list args;
	char *made;

	va_start(args, format);
	assert_true(vasprintf(&made, format, args) >= 0);
	va_end(args);
	text = arena_str(&d->arena, str_of(made));
	free(made);
	return text.ptr;
}

/* A message with a text of so many bytes. */
static const char *message_of(struct desk *d, size_t bytes)
{
	return with(d, "{\"role\":\"user\",\"content\":\"%s\"}",
		    times(d, bytes, "x", ""));
}

static void expect_refused(struct desk *d, const char *json)
{
	uint64_t before = desk_head(d, d->id);

	desk_fails(d, desk_try(d, d->id, json, NULL, NULL), WEFT_LIMIT, "");
	assert_int_equal(desk_head(d, d->id), before);
}

static void a_message_may_be_so_large(void **state)
{
	struct desk *d = *state;
	size_t frame = strlen(message_of(d, 0));

	desk_reopen(d, "message_bytes=2000");
	desk_ok(d, desk_try(d, d->id, message_of(d, 2000 - frame), NULL, NULL));
	expect_refused(d, message_of(d, 2001 - frame));
	expect_refused(d, message_of(d, 200000));
	desk_say(d, d->id, "small");
}

static void large_messages_go_through_where_they_may(void **state)
{
	struct desk *d = *state;
	const char *large = message_of(d, MIB(3));

	desk_ok(d, desk_try(d, d->id, large, NULL, NULL));
	desk_say(d, d->id, "small");
	assert_int_equal(strlen(desk_texts(d, d->id)), MIB(3) + 6);
}

static void a_batch_may_have_so_many_messages(void **state)
{
	struct desk *d = *state;
	const char *one = message_of(d, 1);

	desk_reopen(d, "batch_messages=4");
	expect_refused(d, with(d, "[%s]", times(d, 5, one, ",")));
	desk_ok(d, desk_try(d, d->id, with(d, "[%s]", times(d, 4, one, ",")),
			    NULL, NULL));
	assert_int_equal(desk_head(d, d->id), 5);
}

static void a_message_may_have_so_many_parts(void **state)
{
	struct desk *d = *state;
	const char *part = "{\"type\":\"text\",\"text\":\"x\"}";

	desk_reopen(d, "parts=3");
	expect_refused(d, with(d, "{\"role\":\"user\",\"parts\":[%s]}",
			       times(d, 4, part, ",")));
	desk_ok(d, desk_try(d, d->id,
			    with(d, "{\"role\":\"user\",\"parts\":[%s]}",
				 times(d, 3, part, ",")),
			    NULL, NULL));
}

static const char *deep(struct desk *d, size_t levels)
{
	/* The message, its parts and the part are the first three. */
	return with(d,
		    "{\"role\":\"assistant\",\"parts\":[{\"type\":"
		    "\"tool_use\",\"id\":\"c\",\"name\":\"n\",\"input\":"
		    "%s%s}]}",
		    times(d, levels - 3, "[", ""),
		    times(d, levels - 3, "]", ""));
}

static void json_may_be_so_deep(void **state)
{
	struct desk *d = *state;

	desk_ok(d, desk_try(d, d->id, deep(d, 128), NULL, NULL));
	expect_refused(d, deep(d, 129));
	expect_refused(d, deep(d, 100000));
	desk_reopen(d, "json_depth=6");
	desk_ok(d, desk_try(d, d->id, deep(d, 6), NULL, NULL));
	expect_refused(d, deep(d, 7));
}

static void names_may_be_so_long(void **state)
{
	struct desk *d = *state;
	const char *eight = times(d, 8, "n", ""), *nine = times(d, 9, "n", "");

	desk_reopen(d, "name_bytes=8");
	desk_fails(
		d,
		desk_try_call(d, "{\"method\":\"new\",\"key\":\"%s\"}", nine),
		WEFT_LIMIT, "");
	(void)desk_new(d, with(d, "\"key\":\"%s\"", eight));
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"alias\",\"session\":\"%s\","
				 "\"alias\":\"%s\"}",
				 d->id, nine),
		   WEFT_LIMIT, "");
	assert_int_equal(desk_head(d, d->id), 1);
}

static void slugs_may_be_so_long(void **state)
{
	struct desk *d = *state;

	desk_reopen(d, "slug_bytes=8");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"rename\",\"session\":\"%s\","
				 "\"slug\":\"%s\"}",
				 d->id, times(d, 9, "s", "")),
		   WEFT_LIMIT, "");
	assert_int_equal(desk_head(d, d->id), 1);
	(void)desk_call(d,
			"{\"method\":\"rename\",\"session\":\"%s\","
			"\"slug\":\"%s\"}",
			d->id, times(d, 8, "s", ""));
}

static int add_alias(struct desk *d, const char *alias)
{
	return desk_try_call(d,
			     "{\"method\":\"alias\",\"session\":\"%s\","
			     "\"alias\":\"%s\"}",
			     d->id, alias);
}

static void a_session_may_have_so_many_names(void **state)
{
	struct desk *d = *state;

	desk_reopen(d, "names=3");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"new\",\"key\":\"k\","
				    "\"aliases\":[\"1\",\"2\",\"3\"]}"),
		   WEFT_LIMIT, "names");
	(void)desk_new(d, "\"key\":\"k\",\"aliases\":[\"1\",\"2\"]");
	desk_ok(d, add_alias(d, "a"));
	desk_ok(d, add_alias(d, "b"));
	desk_ok(d, add_alias(d, "c"));
	desk_fails(d, add_alias(d, "d"), WEFT_LIMIT, "names");
	assert_int_equal(desk_head(d, d->id), 4);
	(void)desk_call(d,
			"{\"method\":\"alias\",\"session\":\"%s\",\"alias\":"
			"\"b\",\"how\":\"remove\"}",
			d->id);
	desk_ok(d, add_alias(d, "d"));
}

static int set_metadata(struct desk *d, size_t bytes)
{
	size_t frame = strlen("{\"m\":\"\"}");

	return desk_try_call(d,
			     "{\"method\":\"set\",\"session\":\"%s\","
			     "\"changes\":{\"metadata\":{\"m\":\"%s\"}}}",
			     d->id, times(d, bytes - frame, "m", ""));
}

static void metadata_may_be_so_large(void **state)
{
	struct desk *d = *state;

	desk_reopen(d, "metadata_bytes=100");
	desk_fails(d, set_metadata(d, 101), WEFT_LIMIT, "metadata");
	assert_int_equal(desk_head(d, d->id), 1);
	desk_ok(d, set_metadata(d, 100));
}

static int set_summary(struct desk *d, size_t bytes)
{
	return desk_try_call(d,
			     "{\"method\":\"set_summary\",\"session\":\"%s\","
			     "\"summary\":\"%s\"}",
			     d->id, times(d, bytes, "s", ""));
}

static void a_summary_may_be_so_large(void **state)
{
	struct desk *d = *state;

	desk_reopen(d, "summary_bytes=100");
	desk_fails(d, set_summary(d, 101), WEFT_LIMIT, "summary");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"compact\",\"session\":\"%s\","
				 "\"summary\":\"%s\"}",
				 d->id, times(d, 101, "s", "")),
		   WEFT_LIMIT, "summary");
	assert_int_equal(desk_head(d, d->id), 1);
	desk_ok(d, set_summary(d, 100));
}

static void a_window_has_so_many_messages(void **state)
{
	struct desk *d = *state;
	const char *answer;

	desk_reopen(d, "window_messages=2");
	(void)desk_say(d, d->id, "a");
	for (int i = 0; i < 2; i++)
		(void)desk_say(d, d->id, i ? "c" : "b");
	answer = desk_call(d,
			   "{\"method\":\"history\",\"session\":\"%s\","
			   "\"view\":\"window\"}",
			   d->id);
	assert_null(strstr(answer, "\"text\":\"a\""));
	assert_non_null(strstr(answer, "\"text\":\"b\""));
	/* Page by page it is the same window. */
	answer = desk_call(d,
			   "{\"method\":\"history\",\"session\":\"%s\","
			   "\"view\":\"window\",\"limit\":1}",
			   d->id);
	assert_non_null(strstr(answer, "\"text\":\"b\""));
	assert_non_null(strstr(answer, "\"next\":3"));
	answer = desk_call(d,
			   "{\"method\":\"history\",\"session\":\"%s\","
			   "\"view\":\"window\",\"limit\":1,\"after\":3}",
			   d->id);
	assert_non_null(strstr(answer, "\"text\":\"c\""));
	/* Of other views it says nothing. */
	assert_string_equal(desk_texts(d, d->id), "a b c");
}

static void operation_ids_may_be_so_long(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o;

	desk_reopen(d, "op_bytes=10");
	weft_append_options_init(&o, sizeof(o));
	o.op = "0123456789A";
	o.op_len = 11;
	desk_fails(d, desk_try(d, d->id, message_of(d, 1), &o, NULL),
		   WEFT_LIMIT, "op");
	assert_int_equal(desk_head(d, d->id), 1);
	o.op_len = 10;
	desk_ok(d, desk_try(d, d->id, message_of(d, 1), &o, NULL));
}

static void a_page_holds_so_much(void **state)
{
	struct desk *d = *state;
	struct weft_page *page;

	desk_reopen(d, "page=4");
	for (int i = 0; i < 3; i++)
		desk_say(d, d->id, "x");
	desk_ok(d, weft_read(d->store, d->id, WEFT_ID_CHARS, NULL, &page,
			     &d->err));
	assert_int_equal(weft_page_count(page), 4);
	assert_int_equal(weft_page_done(page), 1);
	weft_page_free(page);
	desk_say(d, d->id, "x");
	desk_ok(d, weft_read(d->store, d->id, WEFT_ID_CHARS, NULL, &page,
			     &d->err));
	assert_int_equal(weft_page_count(page), 4);
	assert_int_equal(weft_page_done(page), 0);
	weft_page_free(page);
}

static void subagents_go_so_deep(void **state)
{
	struct desk *d = *state;
	const char *parent;

	desk_reopen(d, "subagent_depth=3");
	parent = d->id;
	for (int i = 0; i < 3; i++)
		parent = desk_new(d, with(d,
					  "\"kind\":\"subagent\","
					  "\"parent\":\"%s\"",
					  parent));
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"new\",\"kind\":\"subagent\","
				 "\"parent\":\"%s\"}",
				 parent),
		   WEFT_LIMIT, "subagent_depth");
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_message_may_be_so_large),
	PUBLIC_TEST(large_messages_go_through_where_they_may),
	PUBLIC_TEST(a_batch_may_have_so_many_messages),
	PUBLIC_TEST(a_message_may_have_so_many_parts),
	PUBLIC_TEST(json_may_be_so_deep),
	PUBLIC_TEST(names_may_be_so_long),
	PUBLIC_TEST(slugs_may_be_so_long),
	PUBLIC_TEST(a_session_may_have_so_many_names),
	PUBLIC_TEST(metadata_may_be_so_large),
	PUBLIC_TEST(a_summary_may_be_so_large),
	PUBLIC_TEST(a_window_has_so_many_messages),
	PUBLIC_TEST(operation_ids_may_be_so_long),
	PUBLIC_TEST(a_page_holds_so_much),
	PUBLIC_TEST(subagents_go_so_deep),
};

const struct suite public_limit_suite = { tests, ARRAY_LEN(tests) };

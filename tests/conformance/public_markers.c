/* public_markers.c - windows: what a model is given, and taking it back. */
#include "conformance/public.h"

/* The window of a session: "[summary] a b c". */
static const char *window_of(struct desk *d, const char *session)
{
	const char *answer = desk_call(d,
				       "{\"method\":\"history\",\"view\":"
				       "\"window\",\"session\":\"%s\"}",
				       session);
	const char *summary = strstr(answer, "{\"summary\":\"");
	char *out = arena_alloc(&d->arena, 1000);
	size_t n = 0;

	assert_non_null(out);
	out[0] = '\0';
	if (summary == answer) {
		const char *from = answer + 12;

		n = (size_t)snprintf(out, 1000, "[%.*s]",
				     (int)strcspn(from, "\""), from);
	}
	for (const char *p = answer; (p = strstr(p, "\"text\":\"")); p++) {
		size_t len = strcspn(p + 8, "\"");

		n += (size_t)snprintf(out + n, 1000 - n, "%s%.*s", n ? " " : "",
				      (int)len, p + 8);
		assert_true(n < 1000);
	}
	return out;
}

static const char *change(struct desk *d, const char *method,
			  const char *members)
{
	return desk_call(d, "{\"method\":\"%s\",\"session\":\"%s\"%s%s}",
			 method, d->id, members[0] ? "," : "", members);
}

static void say_all(struct desk *d, const char *texts)
{
	for (; *texts; texts++) {
		char one[2] = { *texts, '\0' };

		(void)desk_say(d, d->id, one);
	}
}

static void compacting_leaves_the_last_and_a_summary(void **state)
{
	struct desk *d = *state;

	say_all(d, "abcde");
	assert_string_equal(window_of(d, d->id), "a b c d e");
	(void)change(d, "compact", "\"keep\":2,\"summary\":\"abc\"");
	assert_string_equal(window_of(d, d->id), "[abc] d e");
	say_all(d, "f");
	assert_string_equal(window_of(d, d->id), "[abc] d e f");
	/* By the first message to keep; others may have come meanwhile. */
	(void)change(d, "compact", "\"before\":6,\"summary\":\"abcd\"");
	assert_string_equal(window_of(d, d->id), "[abcd] e f");
	/* Nothing is lost. */
	assert_string_equal(desk_texts(d, d->id), "a b c d e f");
}

static void truncating_keeps_the_summary_and_clearing_does_not(void **state)
{
	struct desk *d = *state;

	say_all(d, "abcd");
	(void)change(d, "compact", "\"keep\":3,\"summary\":\"A\"");
	(void)change(d, "truncate", "\"keep\":1");
	assert_string_equal(window_of(d, d->id), "[A] d");
	(void)change(d, "truncate", "\"keep\":0");
	assert_string_equal(window_of(d, d->id), "[A]");
	(void)change(d, "clear", "");
	assert_string_equal(window_of(d, d->id), "");
	say_all(d, "e");
	assert_string_equal(window_of(d, d->id), "e");
}

static void a_window_never_grows_by_truncating(void **state)
{
	struct desk *d = *state;
	uint64_t head;

	say_all(d, "abcd");
	(void)change(d, "truncate", "\"keep\":2");
	head = desk_head(d, d->id);
	assert_non_null(strstr(change(d, "truncate", "\"keep\":3"),
			       "\"changed\":false"));
	/* An act that changes nothing writes nothing. */
	assert_int_equal(desk_head(d, d->id), head);
	assert_string_equal(window_of(d, d->id), "c d");
}

static void hidden_messages_do_not_count(void **state)
{
	struct desk *d = *state;

	say_all(d, "abcd");
	(void)change(d, "redact", "\"messages\":[4]"); /* c */
	(void)change(d, "truncate", "\"keep\":2");
	assert_string_equal(window_of(d, d->id), "b d");
}

static void a_new_history_is_the_window(void **state)
{
	struct desk *d = *state;

	say_all(d, "abc");
	(void)change(d, "set_history",
		     "\"messages\":[{\"role\":\"user\",\"content\":\"x\"},"
		     "{\"role\":\"assistant\",\"content\":\"y\"}]");
	assert_string_equal(window_of(d, d->id), "x y");
	assert_string_equal(desk_texts(d, d->id), "a b c x y");
	(void)change(d, "undo", "");
	assert_string_equal(window_of(d, d->id), "a b c x y");
	(void)change(d, "set_history", "\"messages\":[]");
	assert_string_equal(window_of(d, d->id), "");
	/* All or none. */
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"set_history\",\"session\":"
				 "\"%s\",\"messages\":[{\"role\":\"user\","
				 "\"content\":\"x\"},{\"role\":\"nobody\"}]}",
				 d->id),
		   WEFT_INVALID, "message 2");
	assert_string_equal(window_of(d, d->id), "");
}

static void undo_twice_is_redo(void **state)
{
	struct desk *d = *state;

	say_all(d, "abcd");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"undo\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_INVALID, "nothing to undo");
	(void)change(d, "compact", "\"keep\":2,\"summary\":\"A\"");
	(void)change(d, "compact", "\"keep\":1,\"summary\":\"B\"");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"redo\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_INVALID, "nothing to redo");
	(void)change(d, "undo", "");
	assert_string_equal(window_of(d, d->id), "[A] c d");
	(void)change(d, "redo", "");
	assert_string_equal(window_of(d, d->id), "[B] d");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"redo\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_INVALID, "nothing to redo");
	(void)change(d, "undo", "");
	(void)change(d, "undo", "");
	assert_string_equal(window_of(d, d->id), "[B] d");
}

static void a_fork_has_the_window_of_its_message(void **state)
{
	struct desk *d = *state;
	const char *f;
	char id[WEFT_ID_CHARS + 1] = "";

	say_all(d, "abc");                                           /* 2 3 4 */
	(void)change(d, "compact", "\"keep\":1,\"summary\":\"ab\""); /* 5 */
	say_all(d, "d");                                             /* 6 */
	(void)change(d, "clear", "");
	f = change(d, "fork", "\"at\":6");
	memcpy(id, strstr(f, "\"id\":\"") + 6, WEFT_ID_CHARS);
	assert_string_equal(window_of(d, id), "[ab] c d");
	/* Its own changes are its own. */
	(void)desk_call(d,
			"{\"method\":\"truncate\",\"session\":\"%s\","
			"\"keep\":1}",
			id);
	assert_string_equal(window_of(d, id), "[ab] d");
	(void)desk_call(d, "{\"method\":\"undo\",\"session\":\"%s\"}", id);
	assert_string_equal(window_of(d, id), "[ab] c d");
	/* A fork from before the marker has everything. */
	f = change(d, "fork", "\"at\":3");
	memcpy(id, strstr(f, "\"id\":\"") + 6, WEFT_ID_CHARS);
	assert_string_equal(window_of(d, id), "a b");
}

static void a_cut_may_go_up_to_where_a_turn_begins(void **state)
{
	struct desk *d = *state;
	struct weft_receipt receipt;

	say_all(d, "a");
	desk_ok(d, desk_try(d, d->id,
			    "{\"role\":\"assistant\",\"parts\":[{\"type\":"
			    "\"tool_use\",\"id\":\"t\",\"name\":\"n\","
			    "\"input\":{}}]}",
			    NULL, &receipt));
	desk_ok(d, desk_try(d, d->id,
			    "{\"role\":\"tool\",\"parts\":[{\"type\":"
			    "\"tool_result\",\"tool_use_id\":\"t\","
			    "\"content\":\"r\"}]}",
			    NULL, &receipt));
	(void)change(d, "compact", "\"keep\":1,\"turn\":true");
	assert_string_equal(window_of(d, d->id), "a");
	(void)change(d, "compact", "\"keep\":1,\"summary\":\"S\"");
	assert_string_equal(window_of(d, d->id), "[S]");
}

static void a_cut_that_would_keep_everything_goes_to_the_next_turn(void **state)
{
	struct desk *d = *state;
	struct weft_receipt receipt;

	say_all(d, "a");
	desk_ok(d,
		desk_try(d, d->id, "{\"role\":\"assistant\",\"content\":\"b\"}",
			 NULL, &receipt));
	/* It is the only turn: neither window nor summary change. */
	(void)change(d, "compact",
		     "\"keep\":1,\"turn\":true,\"summary\":\"S\"");
	assert_string_equal(window_of(d, d->id), "a b");
	say_all(d, "c");
	/* What is between the place and the next turn would be nowhere. */
	(void)change(d, "compact",
		     "\"keep\":2,\"turn\":true,\"summary\":\"S\"");
	assert_string_equal(window_of(d, d->id), "a b c");
	(void)change(d, "truncate", "\"keep\":2,\"turn\":true");
	assert_string_equal(window_of(d, d->id), "c");
	/* What was said while the summary was made stays. */
	say_all(d, "d");
	say_all(d, "e");
	(void)change(d, "compact",
		     "\"after\":4,\"turn\":true,\"summary\":\"T\"");
	assert_string_equal(window_of(d, d->id), "[T] d e");
}

static void markers_are_listed_oldest_first(void **state)
{
	struct desk *d = *state;
	const char *all;

	say_all(d, "abc");
	(void)change(d, "compact",
		     "\"keep\":2,\"summary\":\"one\",\"tokens_saved\":7");
	(void)change(d, "clear", "");
	all = desk_call(d, "{\"method\":\"markers\",\"session\":\"%s\"}",
			d->id);
	assert_non_null(strstr(all, "\"how\":\"compact\",\"first_kept\":3,"
				    "\"summary\":\"one\",\"tokens_saved\":7"));
	assert_true(strstr(all, "\"compact\"") < strstr(all, "\"clear\""));
	assert_non_null(strstr(all, "\"how\":\"clear\""));
	all = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}", d->id);
	assert_non_null(strstr(all, "\"window_seq\":6"));
	(void)change(d, "undo", "");
	all = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}", d->id);
	assert_non_null(strstr(all, "\"window_seq\":3"));
	assert_non_null(strstr(all, "\"summary\":\"one\""));
}

static void a_summary_is_shown_whole_however_long(void **state)
{
	struct desk *d = *state;
	const char *const shown[] = { d->id, "fork" };
	char summary[3100], members[3200];

	for (size_t len = 1; len <= 3001; len += 1000) {
		memset(summary, 's', len);
		summary[len] = '\0';
		say_all(d, "ab");
		(void)snprintf(members, sizeof(members),
			       "\"keep\":1,\"summary\":\"%s\"", summary);
		(void)change(d, "compact", members);
		say_all(d, "c");
		(void)change(d, "fork", "\"slug\":\"fork\"");
		(void)snprintf(members, sizeof(members), "\"summary\":\"%s\"",
			       summary);
		for (size_t i = 0; i < ARRAY_LEN(shown); i++)
			assert_non_null(strstr(
				desk_call(d,
					  "{\"method\":\"show\",\"session\":"
					  "\"%s\"}",
					  shown[i]),
				members));
		(void)desk_call(d,
				"{\"method\":\"delete\",\"session\":\"fork\"}");
	}
}

static void a_change_is_made_once(void **state)
{
	struct desk *d = *state;
	uint64_t head;

	say_all(d, "abcd");
	(void)change(d, "truncate", "\"keep\":2,\"op\":\"t\"");
	head = desk_head(d, d->id);
	say_all(d, "e");
	assert_non_null(strstr(change(d, "truncate", "\"keep\":2,\"op\":\"t\""),
			       "\"replayed\":true"));
	assert_int_equal(desk_head(d, d->id), head + 1);
	assert_string_equal(window_of(d, d->id), "c d e");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"clear\",\"session\":\"%s\","
				 "\"op\":\"t\"}",
				 d->id),
		   WEFT_OP_MISMATCH, "'t'");
	/* A summary made of an older state is refused if somebody asks. */
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"compact\",\"session\":\"%s\","
				 "\"keep\":1,\"summary\":\"S\",\"expect\":2}",
				 d->id),
		   WEFT_STALE, "content_seq");
}

/* A model that failed says nothing: what the last one said must not go. */
static void a_blank_summary_is_none(void **state)
{
	struct desk *d = *state;
	const char *const blank[] = { "", " ", "\\n\\t " };
	uint64_t head;

	say_all(d, "abcd");
	(void)change(d, "compact", "\"keep\":3,\"summary\":\"A\"");
	head = desk_head(d, d->id);
	for (size_t i = 0; i < ARRAY_LEN(blank); i++) {
		desk_fails(
			d,
			desk_try_call(d,
				      "{\"method\":\"compact\",\"session\":"
				      "\"%s\",\"keep\":1,\"summary\":\"%s\"}",
				      d->id, blank[i]),
			WEFT_INVALID, "summary");
		desk_fails(d,
			   desk_try_call(d,
					 "{\"method\":\"compact\",\"session\":"
					 "\"%s\",\"summary\":\"%s\"}",
					 d->id, blank[i]),
			   WEFT_INVALID, "clear");
	}
	assert_int_equal(desk_head(d, d->id), head);
	assert_string_equal(window_of(d, d->id), "[A] b c d");
	(void)change(d, "compact", "\"keep\":1");
	assert_string_equal(window_of(d, d->id), "[A] d");
}

static void what_makes_no_sense_is_refused(void **state)
{
	struct desk *d = *state;

	say_all(d, "abc");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"compact\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_INVALID, "keep");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"compact\",\"session\":\"%s\","
				 "\"keep\":1,\"before\":2}",
				 d->id),
		   WEFT_INVALID, "keep");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"compact\",\"session\":\"%s\","
				 "\"before\":1}",
				 d->id),
		   WEFT_NOT_FOUND, "no message");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"truncate\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_INVALID, "keep");
	(void)change(d, "delete", "");
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"clear\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_DELETED, "restore");
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(compacting_leaves_the_last_and_a_summary),
	PUBLIC_TEST(truncating_keeps_the_summary_and_clearing_does_not),
	PUBLIC_TEST(a_window_never_grows_by_truncating),
	PUBLIC_TEST(hidden_messages_do_not_count),
	PUBLIC_TEST(a_new_history_is_the_window),
	PUBLIC_TEST(undo_twice_is_redo),
	PUBLIC_TEST(a_fork_has_the_window_of_its_message),
	PUBLIC_TEST(a_cut_may_go_up_to_where_a_turn_begins),
	PUBLIC_TEST(a_cut_that_would_keep_everything_goes_to_the_next_turn),
	PUBLIC_TEST(markers_are_listed_oldest_first),
	PUBLIC_TEST(a_summary_is_shown_whole_however_long),
	PUBLIC_TEST(a_change_is_made_once),
	PUBLIC_TEST(a_blank_summary_is_none),
	PUBLIC_TEST(what_makes_no_sense_is_refused),
};

const struct suite public_marker_suite = { tests, ARRAY_LEN(tests) };

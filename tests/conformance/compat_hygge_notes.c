/* compat_hygge_notes.c - hygge's cases 114 to 125: memories and todos. */
#include <stdio.h>
#include <stdlib.h>

#include "conformance/compat_hygge.h"

/* ---- 114 to 117: memories ---- */

static const char *remember(struct desk *d, const char *session,
			    const char *content)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_remember_session_memory(d->store, T(session),
						       T(content), &answer,
						       &d->err));
}

static const char *forget(struct desk *d, const char *session, const char *id)
{
	struct weft_answer *answer;

	return CALL(d, answer,
		    weft_hygge_forget_session_memory(d->store, T(session),
						     T(id), &answer, &d->err));
}

static const char *memories(struct desk *d, const char *session)
{
	struct weft_answer *answer;

	return each(d,
		    CALL(d, answer,
			 weft_hygge_list_session_memories(d->store, T(session),
							  &answer, &d->err)),
		    "", "content");
}

static void h114(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/114");
	const char *one = remember(d, s, "  prefers focused diffs  ");
	const char *two = remember(d, s, "tabs");

	assert_string_equal(at(d, one, "content"), "prefers focused diffs");
	assert_string_equal(at(d, one, "scope"), "session");
	assert_string_not_equal(at(d, one, "id"), at(d, two, "id"));
	assert_string_equal(memories(d, s), "prefers focused diffs tabs");
}

/* However many there are, and however few the door gives at a time. */
static void all_memories_are_listed(void **state)
{
	struct desk *d = *state;
	const char *s;

	desk_reopen(d, "page=2");
	s = hygge_new(d, "/h/pages");
	assert_string_equal(memories(d, s), "");
	for (const char *one = "a\0b\0c\0d\0e\0"; *one; one += 2)
		(void)remember(d, s, one);
	assert_string_equal(memories(d, s), "a b c d e");
}

static void h115(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/115");
	const char *id = at(d, remember(d, s, "one"), "id");

	(void)remember(d, s, "two");
	assert_string_not_equal(at(d, forget(d, s, id), "deleted_at"), "null");
	assert_string_equal(memories(d, s), "two");
}

static void h116(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;
	const char *s = hygge_new(d, "/h/116");
	const char *id = at(d, remember(d, s, "one"), "id");

	/* Of another session it is not there. */
	desk_fails(d,
		   weft_hygge_forget_session_memory(d->store,
						    T(hygge_new(d, "/h/116")),
						    T(id), &answer, &d->err),
		   WEFT_MEMORY_NOT_FOUND, id);
	(void)forget(d, s, id);
	desk_fails(d,
		   weft_hygge_forget_session_memory(d->store, T(s), T(id),
						    &answer, &d->err),
		   WEFT_MEMORY_NOT_FOUND, id);
	assert_int_not_equal(WEFT_MEMORY_NOT_FOUND, WEFT_NOT_FOUND);
	assert_null(answer);
}

static void h117(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;
	const char *s = hygge_new(d, "/h/117");

	desk_fails(d,
		   weft_hygge_remember_session_memory(d->store, T(""), T("x"),
						      &answer, &d->err),
		   WEFT_INVALID, "session");
	desk_fails(d,
		   weft_hygge_remember_session_memory(d->store, T(s), T(" \n"),
						      &answer, &d->err),
		   WEFT_INVALID, "content");
	desk_fails(d,
		   weft_hygge_forget_session_memory(d->store, T(s), T("  "),
						    &answer, &d->err),
		   WEFT_INVALID, "memory");
	desk_fails(d,
		   weft_hygge_list_session_memories(d->store, T(NOBODY),
						    &answer, &d->err),
		   WEFT_NOT_FOUND, NOBODY);
	assert_null(answer);
}

/* ---- 118 to 125: todos and tools ---- */

#define TODOS                                                              \
	"[{\"content\":\"write\",\"status\":\"in_progress\",\"priority\":" \
	"\"high\"},{\"content\":\"test\",\"status\":\"pending\"},"         \
	"{\"content\":\"plan\",\"status\":\"completed\"}]"

static void h118(void **state)
{
	struct desk *d = *state;
	const char *sum = hygge_set_todos(d, hygge_new(d, "/h/118"), TODOS);

	assert_string_equal(at(d, sum, "incomplete"), "2");
	assert_string_equal(at(d, sum, "in_progress"), "1");
	assert_string_equal(at(d, sum, "completed"), "1");
	assert_string_equal(at(d, sum, "total"), "3");
}

static void h119(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/119"), *list;

	(void)hygge_set_todos(d, s, TODOS);
	list = hygge_todos(d, s);
	assert_int_equal(count_at(d, list, "todos"), 3);
	assert_string_equal(at(d, list, "todos.0.content"), "write");
	assert_string_equal(at(d, list, "todos.0.priority"), "high");
	assert_string_equal(at(d, list, "summary.incomplete"), "2");
}

static void h120(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/120");

	(void)hygge_set_todos(d, s, TODOS);
	assert_string_equal(at(d, hygge_set_todos(d, s, "[]"), "total"), "0");
	assert_string_equal(at(d, hygge_todos(d, s), "todos"), "[]");
	assert_string_equal(at(d, hygge_set_todos(d, s, "null"), "total"), "0");
}

/* The store is as strict as the tool. */
static void h121(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	desk_fails(d,
		   weft_hygge_replace_session_todos(
			   d->store, T(hygge_new(d, "/h/121")),
			   T("[{\"content\":\"x\",\"status\":\"blocked\"}]"),
			   &answer, &d->err),
		   WEFT_INVALID, "blocked");
	assert_null(answer);
}

/* What may be remembered is for the tool to ask; a store that guesses at
 * secrets would lose what people told it to keep. */
static void h122(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/122");

	(void)remember(d, s, "api_key=abc");
	assert_string_equal(memories(d, s), "api_key=abc");
}

static void h123(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/123");

	(void)desk_call(d,
			"{\"method\":\"memory_add\",\"scope\":\"project\","
			"\"session\":\"%s\",\"content\":\"make check\"}",
			s);
	/* A project's memory is none of the session's. */
	assert_string_equal(memories(d, s), "");
}

static void h124(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/124");
	const char *id = at(d, remember(d, s, "x"), "id");

	(void)desk_call(d, "{\"method\":\"memory_forget\",\"memory\":\"%s\"}",
			id);
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"memory_forget\","
				 "\"memory\":\"%s\"}",
				 id),
		   WEFT_MEMORY_NOT_FOUND, id);
}

static void h125(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"compact\",\"session\":\"%s\","
				 "\"summary\":\"s\",\"bogus\":1}",
				 hygge_new(d, "/h/125")),
		   WEFT_INVALID, "bogus");
}

static const struct CMUnitTest tests[] = {
	CASE("hygge 114 memories are trimmed and in order", h114),
	CASE("hygge: all memories are listed", all_memories_are_listed),
	CASE("hygge 115 a forgotten memory", h115),
	CASE("hygge 116 forgetting twice", h116),
	CASE("hygge 117 a memory of nothing", h117),
	CASE("hygge 118 the summary of todos", h118),
	CASE("hygge 119 todos are read back", h119),
	CASE("hygge 120 no todos", h120),
	CASE("hygge 121 an unknown status", h121),
	CASE("hygge 122 what looks like a secret is kept (differs)", h122),
	CASE("hygge 123 a project's memory (differs)", h123),
	CASE("hygge 124 forgetting twice by the door", h124),
	CASE("hygge 125 an unknown member", h125),
};

const struct suite compat_hygge_note_suite = { tests, ARRAY_LEN(tests) };

/* compat_hygge_sessions.c - hygge's cases 030 to 062: sessions. */
#include <pthread.h>
#include <stdio.h>

#include "conformance/compat_hygge.h"

/* ---- 030 to 062: sessions ---- */

static void h030(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/projects/foo");
	const char *s = hygge_create(d, &o);

	assert_int_equal(strlen(at(d, s, "id")), 26);
	assert_string_equal(at(d, s, "project_dir"), "/projects/foo");
	assert_string_equal(at(d, s, "parent"), "null");
	assert_string_equal(at(d, s, "fork_seq"), "null");
	assert_string_equal(at(d, s, "deleted_at"), "null");
	assert_string_equal(at(d, s, "metadata"), "{}");
}

static void h031(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("");

	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "project_dir");
}

static void h032(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/032");

	o.model.len = 0;
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "model");
	o = hygge_options("/h/032");
	o.provider.len = 0;
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "provider");
}

static void h033(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/033");

	o.parent_id = S(hygge_new(d, "/h/033"));
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "fork_message_id");
}

static void h034(void **state)
{
	struct desk *d = *state;
	const char *parent = hygge_new(d, "/h/034");
	const char *s = hygge_subagent(d, parent);

	assert_string_equal(hygge_is(d, s, "parent"), parent);
	assert_string_equal(hygge_is(d, s, "fork_seq"), "null");
	assert_string_equal(hygge_is(d, s, "kind"), "subagent");
}

static void h035(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/035");
	const char *s;

	o.kind = S("subagent");
	o.parent_id = S(hygge_new(d, "/h/035"));
	o.parent_tool_use_id = S("toolu_123");
	s = hygge_create(d, &o);
	assert_string_equal(at(d, s, "parent_tool_use_id"), "toolu_123");
	assert_string_equal(hygge_is(d, at(d, s, "id"), "parent_tool_use_id"),
			    "toolu_123");
}

static void h036(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/036");

	o.kind = S("bogus");
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "kind");
	o.kind = S("book"); /* is no conversation */
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "kind");
}

static void h037(void **state)
{
	struct desk *d = *state;

	assert_string_equal(hygge_is(d, hygge_new(d, "/h/037"), "kind"),
			    "primary");
}

static void h038(void **state)
{
	struct desk *d = *state;

	assert_string_equal(hygge_is(d, hygge_new(d, "/h/038"), "deleted_at"),
			    "null");
}

static void h039(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	desk_fails(
		d,
		weft_hygge_get_session(d->store, T(NOBODY), &answer, &d->err),
		WEFT_NOT_FOUND, NOBODY);
	/* Only whole ids. */
	desk_fails(d,
		   weft_hygge_get_session(d->store, T("01ABCDEF"), &answer,
					  &d->err),
		   WEFT_NOT_FOUND, "01ABCDEF");
	desk_fails(d, weft_hygge_get_session(d->store, T(""), &answer, &d->err),
		   WEFT_INVALID, "id");
}

static void h040(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_list_options o = hygge_all();

	for (int i = 0; i < 5; i++) {
		d->now_ms += 2;
		(void)hygge_new(d, i < 3 ? "/h/040/a" : "/h/040/b");
	}
	o.query = S("/h/040/");
	assert_int_equal(strlen(hygge_list(d, o, "")), 5 * 27 - 1);
	assert_int_equal(strlen(hygge_list(d, hygge_all(), "/h/040/a")),
			 3 * 27 - 1);
	o.limit = 2;
	assert_int_equal(strlen(hygge_list(d, o, "")), 2 * 27 - 1);
}

static void h041(void **state)
{
	struct desk *d = *state;
	const char *kept = hygge_new(d, "/h/041");
	struct weft_hygge_list_options o = hygge_all();

	hygge_delete(d, hygge_new(d, "/h/041"));
	assert_string_equal(hygge_list(d, o, "/h/041"), kept);
	o.include_deleted = 1;
	assert_int_equal(strlen(hygge_list(d, o, "/h/041")), 2 * 27 - 1);
}

static void h042(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/042");

	hygge_delete(d, s);
	assert_string_not_equal(hygge_is(d, s, "deleted_at"), "null");
}

/* The second is no act: nothing is written. */
static void h043(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/043"), *once;

	hygge_delete(d, s);
	once = hygge_get(d, s);
	d->now_ms += 2;
	hygge_delete(d, s);
	assert_string_equal(hygge_get(d, s), once);
}

static void h044(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   weft_hygge_soft_delete_session(d->store, T(NOBODY), &d->err),
		   WEFT_NOT_FOUND, NOBODY);
}

static void h045(void **state)
{
	struct desk *d = *state;
	const char *first = hygge_new(d, "/h/045"), *second;
	char both[64];

	d->now_ms += 2;
	second = hygge_new(d, "/h/045");
	(void)snprintf(both, sizeof(both), "%s %s", second, first);
	assert_string_equal(hygge_list(d, hygge_all(), "/h/045"), both);
	/* By creation, not by what was said last. */
	d->now_ms += 2;
	(void)hygge_say(d, first, "newer");
	assert_string_equal(hygge_list(d, hygge_all(), "/h/045"), both);
}

static void h046(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options n = hygge_options("/h/046");
	struct weft_hygge_list_options o = hygge_all();
	const char *parent = hygge_new(d, "/h/046"), *child;

	n.kind = S("subagent");
	n.parent_id = S(parent);
	child = at(d, hygge_create(d, &n), "id");
	o.kind = S("primary");
	assert_string_equal(hygge_list(d, o, "/h/046"), parent);
	o.kind = S("subagent");
	assert_string_equal(hygge_list(d, o, "/h/046"), child);
	assert_int_equal(strlen(hygge_list(d, hygge_all(), "/h/046")),
			 2 * 27 - 1);
	/* Books are no conversations, and in no list. */
	(void)desk_call(d, "{\"method\":\"new\",\"kind\":\"book\","
			   "\"project_dir\":\"/h/046\"}");
	assert_int_equal(strlen(hygge_list(d, hygge_all(), "/h/046")),
			 2 * 27 - 1);
	o.kind = S("book");
	o.project_dir = S("/h/046");
	{
		struct weft_answer *answer = NULL;

		desk_fails(d,
			   weft_hygge_list_sessions(d->store, &o, &answer,
						    &d->err),
			   WEFT_INVALID, "kind");
	}
}

static void h047(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_list_options o = hygge_all();
	const char *p = hygge_new(d, "/h/047"), *q = hygge_new(d, "/h/047");
	const char *a = hygge_subagent(d, p), *b;
	char both[64];

	d->now_ms += 2;
	b = hygge_subagent(d, p);
	(void)hygge_subagent(d, q);
	o.parent_id = S(p);
	(void)snprintf(both, sizeof(both), "%s %s", b, a);
	assert_string_equal(hygge_list(d, o, ""), both);
}

static void with_slug(struct desk *d, const char *id, const char *slug)
{
	desk_ok(d,
		weft_hygge_rename_session(d->store, T(id), T(slug), &d->err));
}

static const char *asked(struct desk *d, const char *project, const char *query)
{
	struct weft_hygge_list_options o = hygge_all();

	o.query = S(query);
	return hygge_list(d, o, project);
}

static void h048(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/048");

	with_slug(d, s, "investigation-bug");
	with_slug(d, hygge_new(d, "/h/048"), "something-else");
	assert_string_equal(asked(d, "/h/048", "invest"), s);
}

static void h049(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/049/frontend");

	(void)hygge_new(d, "/h/049/backend");
	assert_string_equal(asked(d, "", "049/frontend"), s);
}

static void h050(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/050");

	(void)hygge_say(d, s, "please refactor this");
	(void)hygge_say(d, hygge_new(d, "/h/050"), "hello");
	assert_string_equal(asked(d, "/h/050", "refactor"), s);
}

static void h051(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/051");

	with_slug(d, s, "MyProject");
	assert_string_equal(asked(d, "/h/051", "myproject"), s);
	assert_string_equal(asked(d, "/h/051", "MYPROJECT"), s);
	assert_string_equal(asked(d, "/h/051", "MyPrOjEcT"), s);
}

static void h052(void **state)
{
	struct desk *d = *state;

	for (int i = 0; i < 3; i++)
		(void)hygge_new(d, "/h/052");
	assert_int_equal(strlen(asked(d, "/h/052", "")), 3 * 27 - 1);
}

static void h053(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/053");

	(void)hygge_say(d, s, "u1");
	(void)hygge_say_as(d, s, "assistant", "a1");
	(void)hygge_say(d, s, "u2");
	(void)hygge_say_as(d, s, "assistant", "a2");
	assert_string_equal(hygge_is(d, s, "last_user"), "u2");
	assert_string_equal(hygge_is(d, s, "last_agent"), "a2");
}

static void h054(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/054");
	const char *before = hygge_is(d, s, "updated_at");

	d->now_ms += 2;
	with_slug(d, s, "new-slug");
	assert_string_equal(hygge_is(d, s, "slug"), "new-slug");
	assert_true(strcmp(hygge_is(d, s, "updated_at"), before) > 0);
}

static void h055(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/055");

	with_slug(d, s, "x");
	with_slug(d, s, "");
	assert_string_equal(hygge_is(d, s, "slug"), "");
}

static void h056(void **state)
{
	struct desk *d = *state;

	desk_fails(
		d,
		weft_hygge_rename_session(d->store, T(NOBODY), T("x"), &d->err),
		WEFT_NOT_FOUND, NOBODY);
	desk_fails(d,
		   weft_hygge_rename_session(d->store, T(""), T("x"), &d->err),
		   WEFT_INVALID, "id");
}

static void h057(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/057"), *before;

	with_slug(d, s, "same");
	before = hygge_get(d, s);
	d->now_ms += 2;
	with_slug(d, s, "same");
	assert_string_equal(hygge_get(d, s), before);
}

static void h058(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/058");

	(void)hygge_say(d, s, "first words");
	assert_string_equal(hygge_is(d, s, "first_user"), "first words");
}

static void h059(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/059");

	(void)hygge_say(d, s, "one");
	(void)hygge_say(d, s, "two");
	assert_string_equal(hygge_is(d, s, "first_user"), "one");
}

static void h060(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/060");

	(void)hygge_say_as(d, s, "assistant", "hello");
	assert_string_equal(hygge_is(d, s, "first_user"), "");
}

static const char *latest_user(struct desk *d, const char *session)
{
	char *id = arena_zero(&d->arena, 1, WEFT_ID_CHARS + 2);

	assert_non_null(id);
	desk_ok(d, weft_hygge_latest_user_message_id(d->store, T(session), id,
						     &d->err));
	return id;
}

static void h061(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/061"), *second, *fork;
	char id[WEFT_ID_CHARS + 2];

	assert_string_equal(latest_user(d, s), "");
	(void)hygge_say_as(d, s, "assistant", "a");
	assert_string_equal(latest_user(d, s), "");
	(void)hygge_say(d, s, "b");
	second = hygge_say(d, s, "c");
	(void)hygge_say_as(d, s, "assistant", "d");
	assert_string_equal(latest_user(d, s), second);
	/* Inherited messages do not count, hidden ones neither. */
	fork = hygge_fork(d, s, second);
	assert_string_equal(latest_user(d, fork), "");
	hygge_hide(d, s, second);
	assert_string_not_equal(latest_user(d, s), second);
	desk_fails(
		d,
		weft_hygge_latest_user_message_id(d->store, T(""), id, &d->err),
		WEFT_INVALID, "session");
	/* There: nothing.  Here nobody is told that a session is empty which
	 * is not there. */
	desk_fails(d,
		   weft_hygge_latest_user_message_id(d->store, T(NOBODY), id,
						     &d->err),
		   WEFT_NOT_FOUND, NOBODY);
}

/* There, a parent that is deleted for good leaves a child without a past.  Here
 * a fork keeps what it has: a deleted parent is still its parent, and what it
 * inherits stays. */
static void h062(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/062");
	const char *fork = hygge_fork(d, s, hygge_say(d, s, "a"));

	hygge_delete(d, s);
	assert_string_equal(hygge_is(d, fork, "parent"), s);
	assert_string_equal(hygge_texts(d, fork), "a");
}

static const struct CMUnitTest tests[] = {
	CASE("hygge 030 a new session", h030),
	CASE("hygge 031 a session without a project", h031),
	CASE("hygge 032 a session without a model", h032),
	CASE("hygge 033 a parent without a fork message", h033),
	CASE("hygge 034 a subagent needs no fork message", h034),
	CASE("hygge 035 the tool call of a subagent", h035),
	CASE("hygge 036 an unknown kind of session", h036),
	CASE("hygge 037 the default kind", h037),
	CASE("hygge 038 a session is not deleted", h038),
	CASE("hygge 039 an unknown session", h039),
	CASE("hygge 040 lists by project and limit", h040),
	CASE("hygge 041 lists with and without the deleted", h041),
	CASE("hygge 042 a deleted session is found", h042),
	CASE("hygge 043 deleting twice is once", h043),
	CASE("hygge 044 deleting an unknown session", h044),
	CASE("hygge 045 lists begin with the newest", h045),
	CASE("hygge 046 lists by kind", h046),
	CASE("hygge 047 lists by parent", h047),
	CASE("hygge 048 a query in the title", h048),
	CASE("hygge 049 a query in the project", h049),
	CASE("hygge 050 a query in the first message", h050),
	CASE("hygge 051 a query in any case", h051),
	CASE("hygge 052 an empty query", h052),
	CASE("hygge 053 the last of the user and of the agent", h053),
	CASE("hygge 054 renaming moves updated_at", h054),
	CASE("hygge 055 an empty slug clears", h055),
	CASE("hygge 056 renaming an unknown session", h056),
	CASE("hygge 057 rename to the same slug is no act", h057),
	CASE("hygge 058 the first message is the preview", h058),
	CASE("hygge 059 the preview stays the first", h059),
	CASE("hygge 060 an assistant's message is no preview", h060),
	CASE("hygge 061 the latest message of the user", h061),
	CASE("hygge 062 a fork outlives its parent (differs)", h062),
};

const struct suite compat_hygge_session_suite = { tests, ARRAY_LEN(tests) };

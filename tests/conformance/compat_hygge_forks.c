/* compat_hygge_forks.c - hygge's cases 079 to 099: messages and forks. */
#include <pthread.h>
#include <stdio.h>

#include "conformance/compat_hygge.h"

/* ---- 079 to 099: messages and forks ---- */

static void h079(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/079");
	const char *m = hygge_append(
		d, s,
		"{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":"
		"\"hi\"}]}");
	struct weft_answer *answer;

	assert_int_equal(strlen(at(d, m, "id")), 26);
	assert_string_not_equal(at(d, m, "created_at"), "null");
	m = CALL(d, answer,
		 weft_hygge_get_message(d->store, T(at(d, m, "id")), &answer,
					&d->err));
	assert_string_equal(at(d, m, "session"), s);
	assert_int_equal(count_at(d, m, "parts"), 1);
	/* Hidden or not. */
	hygge_hide(d, s, at(d, m, "id"));
	m = CALL(d, answer,
		 weft_hygge_get_message(d->store, T(at(d, m, "id")), &answer,
					&d->err));
	assert_string_equal(at(d, m, "redacted"), "true");
}

static void h080(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/080");

	desk_fails(d,
		   hygge_try_append(
			   d, s, "{\"role\":\"user\",\"parts\":\"not json\"}"),
		   WEFT_INVALID, "parts");
	desk_fails(d, hygge_try_append(d, s, "not json"), WEFT_INVALID,
		   "message");
	assert_string_equal(hygge_texts(d, s), "");
}

static void h081(void **state)
{
	struct desk *d = *state;

	desk_fails(
		d,
		hygge_try_append(d, hygge_new(d, "/h/081"),
				 "{\"role\":\"bogus_role\",\"content\":\"x\"}"),
		WEFT_INVALID, "bogus_role");
}

static void h082(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   hygge_try_append(d, NOBODY,
				    "{\"role\":\"user\",\"content\":\"x\"}"),
		   WEFT_NOT_FOUND, NOBODY);
}

static void h083(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   hygge_try_append(d, "",
				    "{\"role\":\"user\",\"content\":\"x\"}"),
		   WEFT_INVALID, "session");
	desk_fails(d,
		   hygge_try_append(d, hygge_new(d, "/h/083"),
				    "{\"role\":\"\",\"content\":\"x\"}"),
		   WEFT_INVALID, "role");
}

/* There it is stored.  Here a message has a part: one without says nothing to
 * anybody. */
static void h084(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/084");

	desk_fails(d,
		   hygge_try_append(d, s, "{\"role\":\"system\",\"parts\":[]}"),
		   WEFT_INVALID, "parts");
	assert_string_equal(
		at(d,
		   hygge_append(d, s, "{\"role\":\"system\",\"content\":\"\"}"),
		   "role"),
		"system");
}

static void h085(void **state)
{
	static const char usage[] =
		"{\"input_tokens\":11,\"output_tokens\":22,"
		"\"cache_read_tokens\":33,\"cache_write_tokens\":44,"
		"\"cost_usd\":0.05}";
	struct desk *d = *state;
	struct weft_answer *answer;
	char json[512];
	const char *m;

	(void)snprintf(json, sizeof(json),
		       "{\"role\":\"assistant\",\"content\":\"x\","
		       "\"duration_ms\":120,\"usage\":%s}",
		       usage);
	m = hygge_append(d, hygge_new(d, "/h/085"), json);
	m = CALL(d, answer,
		 weft_hygge_get_message(d->store, T(at(d, m, "id")), &answer,
					&d->err));
	assert_string_equal(at(d, m, "usage"), usage);
	assert_string_equal(at(d, m, "duration_ms"), "120");
}

static void h086(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	desk_fails(
		d,
		weft_hygge_get_message(d->store, T(NOBODY), &answer, &d->err),
		WEFT_NOT_FOUND, NOBODY);
	assert_null(answer);
}

static void h087(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	desk_fails(d,
		   weft_hygge_messages_for_session(d->store, T(""), &answer,
						   &d->err),
		   WEFT_INVALID, "session");
	desk_fails(d,
		   weft_hygge_messages_direct_for_session(d->store, T(""),
							  &answer, &d->err),
		   WEFT_INVALID, "session");
	desk_fails(d,
		   weft_hygge_messages_since_latest_marker(d->store, T(""),
							   &answer, &d->err),
		   WEFT_INVALID, "session");
	assert_null(answer);
}

static const char *direct(struct desk *d, const char *session)
{
	struct weft_answer *answer;
	const char *list =
		CALL(d, answer,
		     weft_hygge_messages_direct_for_session(
			     d->store, T(session), &answer, &d->err));

	return each(d, list, "", "parts.0.text");
}

static void h088(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/088");

	(void)hygge_say_all(d, s, "abcd", 0);
	assert_string_equal(hygge_texts(d, s), "a b c d");
}

static void h089(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/089");
	const char *fork = hygge_fork(d, s, hygge_say_all(d, s, "12345", 3));

	(void)hygge_say_all(d, fork, "ab", 0);
	assert_string_equal(hygge_texts(d, fork), "1 2 3 a b");
	assert_string_equal(direct(d, fork), "a b");
	assert_string_equal(hygge_texts(d, s), "1 2 3 4 5");
}

static void h090(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/090");
	const char *one = hygge_fork(d, s, hygge_say_all(d, s, "123", 2));
	const char *two = hygge_fork(d, one, hygge_say_all(d, one, "ab", 2));

	(void)hygge_say_all(d, two, "c", 0);
	assert_string_equal(hygge_texts(d, two), "1 2 a b c");
}

static void h091(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/091");
	const char *one = hygge_fork(d, s, hygge_say_all(d, s, "12", 2));
	const char *two = hygge_fork(d, one, hygge_say_all(d, one, "ab", 2));
	const char *three = hygge_fork(d, two, hygge_say_all(d, two, "cd", 2));

	(void)hygge_say_all(d, three, "e", 0);
	assert_string_equal(hygge_texts(d, three), "1 2 a b c d e");
}

static void h092(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/092");
	const char *fork = hygge_fork(d, s, hygge_say_all(d, s, "123", 2));

	(void)hygge_say_all(d, fork, "ab", 0);
	(void)hygge_say_all(d, s, "4", 0);
	assert_string_equal(hygge_texts(d, fork), "1 2 a b");
}

/* A chain of `n` sessions, a message in each: the last one. */
static const char *chain(struct desk *d, const char *first, int n)
{
	const char *s = first;

	for (int i = 1; i < n; i++)
		s = hygge_fork(d, s, hygge_say(d, s, "x"));
	(void)hygge_say(d, s, "x");
	return s;
}

/* There more than 8 ancestors are an error.  Here the limit is 4,096, and it
 * is the fork that is refused, not the reading. */
static void h093(void **state)
{
	struct desk *d = *state;

	assert_string_equal(
		hygge_texts(d, chain(d, hygge_new(d, "/h/093"), 11)),
		"x x x x x x x x x x x");
}

static void h094(void **state)
{
	struct desk *d = *state;
	const char *p = hygge_new(d, "/h/094"), *c;

	(void)hygge_say_all(d, p, "123", 0);
	c = hygge_subagent(d, p);
	(void)hygge_say_all(d, c, "ab", 0);
	assert_string_equal(hygge_texts(d, c), "a b");
	assert_string_equal(hygge_texts(d, p), "1 2 3");
}

static void h095(void **state)
{
	struct desk *d = *state;
	const char *p = hygge_new(d, "/h/095");
	const char *fork = hygge_fork(d, p, hygge_say(d, p, "1"));
	const char *c = hygge_subagent(d, fork);

	(void)hygge_say(d, c, "a");
	assert_string_equal(hygge_texts(d, c), "a");
}

/* Deleting for good is purge, which has tests of its own.  A deleted session
 * keeps its messages and markers. */
static void h096(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/096");

	(void)hygge_mark(d, s, hygge_say_all(d, s, "ab", 1), "A");
	hygge_delete(d, s);
	assert_string_equal(hygge_window(d, s), "[A] b");
}

struct readers {
	struct desk *d;
	const char *session;
	_Atomic int done;
};

static void *read_on(void *ctx)
{
	struct readers *x = ctx;

	do {
		struct weft_answer *answer = NULL;

		if (weft_hygge_messages_for_session(x->d->store, T(x->session),
						    &answer, NULL) < 0)
			return ctx;
		weft_answer_free(answer);
	} while (!x->done);
	return NULL;
}

static void h097(void **state)
{
	struct desk *d = *state;
	struct readers x = { .d = d, .session = hygge_new(d, "/h/097") };
	struct weft_answer *answer;
	pthread_t threads[4];
	void *failed = NULL;

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &x),
				 0);
	for (int i = 0; i < 100; i++)
		(void)hygge_say(d, x.session, "x");
	x.done = 1;
	for (size_t i = 0; i < 4; i++) {
		void *one;

		assert_int_equal(pthread_join(threads[i], &one), 0);
		failed = one ? one : failed;
	}
	assert_null(failed);
	assert_int_equal(count_at(d,
				  CALL(d, answer,
				       weft_hygge_messages_for_session(
					       d->store, T(x.session), &answer,
					       &d->err)),
				  ""),
			 100);
}

static void h098(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/098");
	const char *m = hygge_say(d, s, "a");

	desk_fails(d, hygge_try_fork(d, "", m), WEFT_INVALID, "from_session");
	desk_fails(d, hygge_try_fork(d, s, ""), WEFT_INVALID, "from_message");
}

static void h099(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/099");
	const char *m = hygge_say(d, s, "a");

	desk_fails(d, hygge_try_fork(d, NOBODY, m), WEFT_NOT_FOUND, NOBODY);
	desk_fails(d, hygge_try_fork(d, s, NOBODY), WEFT_NOT_FOUND, NOBODY);
}

static const struct CMUnitTest tests[] = {
	CASE("hygge 079 a message is read back", h079),
	CASE("hygge 080 parts that are no JSON", h080),
	CASE("hygge 081 an unknown role", h081),
	CASE("hygge 082 a message to an unknown session", h082),
	CASE("hygge 083 no session, no role", h083),
	CASE("hygge 084 a message without parts (differs)", h084),
	CASE("hygge 085 usage is read back", h085),
	CASE("hygge 086 an unknown message", h086),
	CASE("hygge 087 the history of no session", h087),
	CASE("hygge 088 messages in order", h088),
	CASE("hygge 089 a fork and its parent", h089),
	CASE("hygge 090 a fork of a fork", h090),
	CASE("hygge 091 three levels of forks", h091),
	CASE("hygge 092 a fork does not see what came later", h092),
	CASE("hygge 093 eleven sessions deep (differs)", h093),
	CASE("hygge 094 a subagent begins with nothing", h094),
	CASE("hygge 095 a subagent of a fork", h095),
	CASE("hygge 096 a deleted session keeps all (differs)", h096),
	CASE("hygge 097 four readers and a writer", h097),
	CASE("hygge 098 a fork of nothing", h098),
	CASE("hygge 099 a fork of what is not there", h099),
};

const struct suite compat_hygge_fork_suite = { tests, ARRAY_LEN(tests) };

/* compat_hygge_rest.c - hygge's cases 126 to 158: what its tests do not say. */
#include <stdio.h>
#include <stdlib.h>

#include "conformance/compat_hygge.h"

/* ---- 126 to 158: what its tests do not say ---- */

/* A chain of `n` sessions, a message in each: the last one. */
static const char *chain(struct desk *d, const char *first, int n)
{
	const char *s = first;

	for (int i = 1; i < n; i++)
		s = hygge_fork(d, s, hygge_say(d, s, "x"));
	(void)hygge_say(d, s, "y");
	return s;
}

static void h126(void **state)
{
	struct desk *d = *state;

	assert_string_equal(hygge_texts(d, chain(d, hygge_new(d, "/h/126"), 9)),
			    "x x x x x x x x y");
}

/* There: too deep. */
static void h127(void **state)
{
	struct desk *d = *state;

	assert_string_equal(
		hygge_texts(d, chain(d, hygge_new(d, "/h/127"), 10)),
		"x x x x x x x x x y");
}

/* There: too deep, which is a false alarm. */
static void h128(void **state)
{
	struct desk *d = *state;
	const char *p = hygge_new(d, "/h/128");

	(void)hygge_say(d, p, "p");
	assert_string_equal(hygge_texts(d, chain(d, hygge_subagent(d, p), 9)),
			    "x x x x x x x x y");
}

static void h129(void **state)
{
	struct desk *d = *state;
	const char *p = hygge_new(d, "/h/129"), *c, *fork;

	(void)hygge_say(d, p, "p");
	c = hygge_subagent(d, p);
	fork = hygge_fork(d, c, hygge_say(d, c, "c"));
	(void)hygge_say(d, fork, "f");
	assert_string_equal(hygge_texts(d, fork), "c f");
}

/* There it inherits its parent's history, which is what a fork is for.  Here a
 * subagent begins with nothing said, always. */
static void h130(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/130");
	const char *p = hygge_new(d, "/h/130");

	o.kind = S("subagent");
	o.parent_id = S(p);
	o.fork_message_id = S(hygge_say(d, p, "p"));
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "fork_message_id");
	/* Of a primary one it makes a fork. */
	o.kind.len = 0;
	assert_string_equal(hygge_texts(d, at(d, hygge_create(d, &o), "id")),
			    "p");
}

/* There the grandparent shows too much. */
static void h131(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/131"), *first, *fork, *again;

	first = hygge_say(d, s, "1");
	(void)hygge_say(d, s, "2");
	fork = hygge_fork(d, s, hygge_say(d, s, "3"));
	(void)hygge_say(d, fork, "a");
	again = hygge_fork(d, fork, first);
	(void)hygge_say(d, again, "z");
	assert_string_equal(hygge_texts(d, again), "1 z");
}

static void h132(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/132"), *point, *fork;

	(void)hygge_say(d, s, "1");
	point = hygge_say(d, s, "2");
	(void)hygge_say(d, s, "3");
	fork = hygge_fork(d, s, point);
	hygge_hide(d, s, point);
	(void)hygge_say(d, fork, "a");
	assert_string_equal(hygge_texts(d, fork), "1 a");
}

static void h133(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/133"), *m = hygge_say(d, s, "1");
	const char *fork;

	hygge_delete(d, s);
	fork = hygge_fork(d, s, m);
	(void)hygge_say(d, fork, "a");
	assert_string_equal(hygge_texts(d, fork), "1 a");
}

/* There any message's id is a bound.  Here it must be one of the session's. */
static void h134(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/134"), *other;

	(void)hygge_say(d, s, "1");
	other = hygge_say(d, hygge_new(d, "/h/134"), "2");
	desk_fails(d, hygge_try_fork(d, s, other), WEFT_NOT_FOUND, other);
}

static void h135(void **state)
{
	struct desk *d = *state;
	struct weft_answer *answer = NULL;

	desk_fails(d,
		   weft_hygge_messages_for_session(d->store, T(NOBODY), &answer,
						   &d->err),
		   WEFT_NOT_FOUND, NOBODY);
	desk_fails(d,
		   weft_hygge_messages_direct_for_session(d->store, T(NOBODY),
							  &answer, &d->err),
		   WEFT_NOT_FOUND, NOBODY);
	assert_null(answer);
}

/* There 33 rows are paid for and those above them not.  Here a subagent may
 * not be deeper than 32, so that everybody above it pays. */
static void h136(void **state)
{
	struct desk *d = *state;
	const char *root = hygge_new(d, "/h/136"), *s = root;
	struct weft_hygge_new_options o = hygge_options("/h/136");
	struct weft_answer *answer;

	for (int i = 0; i < 32; i++)
		s = hygge_subagent(d, s);
	o.kind = S("subagent");
	o.parent_id = S(s);
	desk_fails(d, hygge_try_create(d, &o), WEFT_LIMIT, "subagent_depth");
	assert_int_equal(
		count_at(d,
			 CALL(d, answer,
			      weft_hygge_propagate_totals(
				      d->store, T(s), T("{\"input_tokens\":7}"),
				      &answer, &d->err)),
			 ""),
		33);
	assert_string_equal(hygge_is(d, root, "total.input_tokens"), "7");
	assert_string_equal(hygge_is(d, root, "own.input_tokens"), "0");
}

/* A parent is there before its child and is never another one: there are no
 * cycles. */
static void h137(void **state)
{
	struct desk *d = *state;
	const char *p = hygge_new(d, "/h/137"), *c = hygge_subagent(d, p);

	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"set\",\"session\":\"%s\","
				 "\"changes\":{\"parent\":\"%s\"}}",
				 p, c),
		   WEFT_INVALID, "parent");
}

static void h138(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/138");
	const char *fork = hygge_fork(d, s, hygge_say(d, s, "1"));

	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"set\",\"session\":\"%s\","
				 "\"changes\":{\"forked_from\":\"%s\"}}",
				 s, fork),
		   WEFT_INVALID, "forked_from");
}

/* There a clock that was set back changes the order.  Here what was recorded
 * later is later. */
static void h139(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/139");
	int64_t now = d->now_ms;

	(void)hygge_say(d, s, "first");
	d->now_ms -= 500;
	(void)hygge_say(d, s, "second");
	d->now_ms = now;
	assert_string_equal(hygge_texts(d, s), "first second");
}

/* Deleting for good is purge, which keeps what a fork needs; a deleted parent
 * is as good as any. */
static void h140(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/140");
	const char *fork = hygge_fork(d, s, hygge_say(d, s, "1"));

	(void)hygge_say(d, fork, "a");
	hygge_delete(d, s);
	assert_string_equal(hygge_texts(d, fork), "1 a");
	assert_string_equal(hygge_is(d, fork, "fork_seq"), "2");
}

/* There any id is taken.  Here a summary stands for messages that are there. */
static void h141(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/141");
	struct weft_answer *answer = NULL;

	(void)hygge_say(d, s, "1");
	desk_fails(d,
		   weft_hygge_add_compaction_marker(d->store, T(s), T(NOBODY),
						    T("s"), 0, &answer,
						    &d->err),
		   WEFT_NOT_FOUND, NOBODY);
	assert_string_equal(hygge_window(d, s), "1");
}

/* There a blank summary is taken, and the one before it is seen no more. */
static void a_blank_summary_forgets_nothing(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/blank"), *two;

	(void)hygge_mark(d, s, hygge_say(d, s, "1"), "one");
	two = hygge_say(d, s, "2");
	(void)hygge_say(d, s, "3");
	(void)hygge_mark(d, s, two, " ");
	assert_string_equal(hygge_window(d, s), "[one] 3");
}

static void h142(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   hygge_try_append(d, hygge_new(d, "/h/142"),
				    "{\"role\":\"user\",\"parts\":{}}"),
		   WEFT_INVALID, "parts");
}

static void h143(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   hygge_try_append(d, hygge_new(d, "/h/143"),
				    "{\"role\":\"user\",\"parts\":null}"),
		   WEFT_INVALID, "parts");
}

static void h144(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/144"), *before;

	before = hygge_get(d, s);
	(void)hygge_set_todos(d, s, "[]");
	assert_string_equal(at(d, hygge_todos(d, s), "todos"), "[]");
	/* No list is the empty list: nothing was written. */
	assert_string_equal(hygge_get(d, s), before);
}

/* Previews follow from the events, so that there is nothing to fill in later:
 * the first text that a user said, wherever in the message it stands. */
static void h145(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/145");

	(void)hygge_append(
		d, s,
		"{\"role\":\"user\",\"parts\":[{\"type\":\"image\","
		"\"image_mime_type\":\"image/png\",\"image_base64\":\"AAAA\"},"
		"{\"type\":\"text\",\"text\":\"look\"}]}");
	assert_string_equal(hygge_is(d, s, "first_user"), "look");
}

/* `n` times the sign of the euro, three bytes each. */
static const char *euros(struct desk *d, size_t n)
{
	static const unsigned char euro[3] = { 0xe2, 0x82, 0xac };
	char *s = arena_zero(&d->arena, 1, 3 * n + 1);

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		memcpy(s + 3 * i, euro, sizeof(euro));
	return s;
}

static void h146(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/146");

	(void)hygge_say(d, s, euros(d, 300));
	assert_string_equal(hygge_is(d, s, "first_user"), euros(d, 256));
	assert_string_equal(hygge_is(d, s, "last_user"), euros(d, 160));
}

/* There the next one takes its place.  Here the preview is that of the first
 * message, or nothing while that is hidden: what a list shows does not change
 * its meaning. */
static void h147(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/147"), *first = hygge_say(d, s, "one");

	(void)hygge_say(d, s, "two");
	hygge_hide(d, s, first);
	assert_string_equal(hygge_is(d, s, "first_user"), "");
	assert_string_equal(hygge_is(d, s, "last_user"), "two");
}

/* There: 256 bytes, and half a character. */
static void h148(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/148");
	char text[16 + 3 * 300];

	(void)snprintf(text, sizeof(text), "x%s", euros(d, 300));
	(void)hygge_say(d, s, text);
	text[1 + 3 * 255] = '\0';
	assert_string_equal(hygge_is(d, s, "first_user"), text);
}

static void h149(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/149");

	(void)hygge_say(d, s, "words");
	(void)hygge_append(d, s,
			   "{\"role\":\"user\",\"parts\":[{\"type\":\"image\","
			   "\"image_mime_type\":\"image/png\",\"image_base64\":"
			   "\"AAAA\"}]}");
	assert_string_equal(hygge_is(d, s, "last_user"), "words");
}

/* There a query looks only among the newest ones. */
static void h150(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_list_options o = hygge_all();
	const char *old = hygge_new(d, "/h/150");

	(void)hygge_say(d, old, "needle");
	for (int i = 0; i < 3; i++) {
		d->now_ms += 2;
		(void)hygge_new(d, "/h/150");
	}
	o.limit = 2;
	o.query = S("needle");
	assert_string_equal(hygge_list(d, o, "/h/150"), old);
}

/* 60 sessions, and how many a limit gives. */
static void h151(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_list_options o = hygge_all();

	for (int i = 0; i < 60; i++)
		(void)hygge_new(d, "/h/151");
	o.limit = -1;
	assert_int_equal(strlen(hygge_list(d, o, "/h/151")), 50 * 27 - 1);
	o.limit = 0;
	assert_int_equal(strlen(hygge_list(d, o, "/h/151")), 50 * 27 - 1);
	/* There is no cap: more than a page is several pages. */
	o.limit = 5000;
	assert_int_equal(strlen(hygge_list(d, o, "/h/151")), 60 * 27 - 1);
}

static void h152(void **state)
{
	struct desk *d = *state;
	const char *a = hygge_new(d, "/h/152"), *b = hygge_new(d, "/h/152");
	char both[64];

	assert_true(strcmp(b, a) > 0);
	(void)snprintf(both, sizeof(both), "%s %s", b, a);
	assert_string_equal(hygge_list(d, hygge_all(), "/h/152"), both);
}

/* There it leaves own and stays in total.  Here it was spent: hiding a message
 * gives no money back. */
static void h153(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/153");
	const char *m = hygge_append(
		d, s,
		"{\"role\":\"assistant\",\"content\":\"x\",\"usage\":{"
		"\"cost_usd\":0.5}}");

	hygge_hide(d, s, at(d, m, "id"));
	assert_string_equal(hygge_is(d, s, "own.cost_usd"), "0.5");
	assert_string_equal(hygge_is(d, s, "total.cost_usd"), "0.5");
}

/* There the parent of a fork pays as well. */
static void h154(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/154");
	const char *fork = hygge_fork(d, s, hygge_say(d, s, "1")), *forked;
	struct weft_answer *answer;

	assert_string_equal(
		each(d,
		     CALL(d, answer,
			  weft_hygge_propagate_totals(d->store, T(fork),
						      T("{\"cost_usd\":0.1}"),
						      &answer, &d->err)),
		     "", "id"),
		fork);
	assert_string_equal(hygge_is(d, s, "total.cost_usd"), "0");
	assert_string_equal(hygge_is(d, fork, "total.cost_usd"), "0.1");
	/* Nor does whom the forked subagent works for. */
	forked = hygge_subagent(d, s);
	forked = hygge_fork(d, forked, hygge_say(d, forked, "1"));
	assert_string_equal(
		each(d,
		     CALL(d, answer,
			  weft_hygge_propagate_totals(d->store, T(forked),
						      T("{\"cost_usd\":0.1}"),
						      &answer, &d->err)),
		     "", "id"),
		forked);
	assert_string_equal(hygge_is(d, s, "total.cost_usd"), "0");
}

/* There it works.  Here what is deleted takes nothing more until it is
 * restored. */
static void h155(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/155");

	hygge_delete(d, s);
	desk_fails(
		d,
		hygge_try_append(d, s, "{\"role\":\"user\",\"content\":\"x\"}"),
		WEFT_DELETED, "restore");
	(void)desk_call(d, "{\"method\":\"restore\",\"session\":\"%s\"}", s);
	(void)hygge_say(d, s, "x");
}

static void h156(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/156");
	const char *first = hygge_say(d, s, "1");

	(void)hygge_say(d, s, "2");
	(void)hygge_mark(d, s, hygge_say(d, s, "3"), "1-3");
	assert_string_equal(hygge_window(d, s), "[1-3] ");
	(void)hygge_mark(d, s, first, "1");
	assert_string_equal(hygge_window(d, s), "[1] 2 3");
}

/* There the whole history comes back, and no longer fits.  Here a fork has the
 * window of its fork point; a fork before the marker has none. */
static void h157(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/157");
	const char *first = hygge_say(d, s, "1"), *last;

	(void)hygge_mark(d, s, hygge_say(d, s, "2"), "1-2");
	last = hygge_say(d, s, "3");
	assert_string_equal(hygge_window(d, hygge_fork(d, s, last)), "[1-2] 3");
	assert_string_equal(hygge_window(d, hygge_fork(d, s, first)), "1");
	assert_string_equal(hygge_texts(d, hygge_fork(d, s, last)), "1 2 3");
}

static void h158(void **state)
{
	struct desk *d = *state;
	const char *s = hygge_new(d, "/h/158");
	const char *first = hygge_say(d, s, "1"), *fork;

	fork = hygge_fork(d, s, hygge_say(d, s, "2"));
	(void)hygge_say(d, fork, "a");
	(void)hygge_mark(d, fork, first, "1");
	assert_string_equal(hygge_window(d, fork), "[1] 2 a");
	assert_string_equal(hygge_window(d, s), "1 2");
}

static void hostile_callers_are_told(void **state)
{
	struct desk *d = *state;
	struct weft_hygge_new_options o = hygge_options("/h/x");
	struct weft_hygge_list_options l = hygge_all();
	struct weft_answer *answer = NULL;

	desk_fails(d, weft_hygge_create_session(NULL, &o, &answer, &d->err),
		   WEFT_INVALID, "store");
	desk_fails(d,
		   weft_hygge_create_session(d->store, NULL, &answer, &d->err),
		   WEFT_INVALID, "options");
	desk_fails(d, weft_hygge_create_session(d->store, &o, NULL, &d->err),
		   WEFT_INVALID, "place");
	o.size = 3;
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "init");
	o = hygge_options("/h/\xff");
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "project_dir");
	o = hygge_options("/h/x");
	o.slug = (struct weft_str){ NULL, 7 };
	desk_fails(d, hygge_try_create(d, &o), WEFT_INVALID, "slug");
	desk_fails(d, weft_hygge_list_sessions(NULL, &l, &answer, &d->err),
		   WEFT_INVALID, "store");
	l.parent_id = S("no id");
	desk_fails(d, weft_hygge_list_sessions(d->store, &l, &answer, &d->err),
		   WEFT_NOT_FOUND, "parent_id");
	desk_fails(d, hygge_try_append(d, "\xff\xfe", "{}"), WEFT_INVALID,
		   "session");
	desk_fails(d,
		   weft_hygge_append_message(d->store, T(NOBODY), NULL, 9,
					     &answer, &d->err),
		   WEFT_INVALID, "message");
	/* More than a value is no value. */
	desk_fails(d,
		   weft_hygge_update_session_totals(
			   d->store, T(hygge_new(d, "/h/x")),
			   T("{\"input_tokens\":1},\"session\":\"x\""),
			   &d->err),
		   WEFT_INVALID, "delta");
	desk_fails(d, weft_hygge_marshal_parts(T("[]"), NULL, &d->err),
		   WEFT_INVALID, "place");
	assert_null(answer);
	/* Nobody need listen, and everything is optional in a list. */
	assert_int_equal(weft_hygge_soft_delete_session(d->store, T(""), NULL),
			 WEFT_INVALID);
	desk_ok(d, weft_hygge_list_sessions(d->store, NULL, &answer, &d->err));
	weft_answer_free(answer);
}

static const struct CMUnitTest tests[] = {
	CASE("hygge 126 nine sessions deep", h126),
	CASE("hygge 127 ten sessions deep (differs)", h127),
	CASE("hygge 128 eight forks of a subagent (differs)", h128),
	CASE("hygge 129 a fork of a subagent", h129),
	CASE("hygge 130 a subagent with a fork message (differs)", h130),
	CASE("hygge 131 a fork at an inherited message (differs)", h131),
	CASE("hygge 132 a hidden fork point", h132),
	CASE("hygge 133 a fork of a deleted session", h133),
	CASE("hygge 134 a fork at another's message (differs)", h134),
	CASE("hygge 135 the history of an unknown session (differs)", h135),
	CASE("hygge 136 propagating from the deepest (differs)", h136),
	CASE("hygge 137 no cycle of parents (differs)", h137),
	CASE("hygge 138 no cycle of forks (differs)", h138),
	CASE("hygge 139 a clock that is set back (differs)", h139),
	CASE("hygge 140 a fork without its parent (differs)", h140),
	CASE("hygge 141 a marker at an unknown message (differs)", h141),
	CASE("hygge 142 parts that are an object (differs)", h142),
	CASE("hygge 143 parts that are null (differs)", h143),
	CASE("hygge 144 todos replaced with nothing (differs)", h144),
	CASE("hygge 145 a preview behind an image (differs)", h145),
	CASE("hygge 146 a preview is cut at characters", h146),
	CASE("hygge 147 a preview of a hidden message (differs)", h147),
	CASE("hygge 148 a preview has whole characters (differs)", h148),
	CASE("hygge 149 an image is no preview", h149),
	CASE("hygge 150 a query before the limit (differs)", h150),
	CASE("hygge 151 limits of a list", h151),
	CASE("hygge 152 two of one millisecond", h152),
	CASE("hygge 153 hiding gives no money back (differs)", h153),
	CASE("hygge 154 a fork pays for itself (differs)", h154),
	CASE("hygge 155 a deleted session takes nothing (differs)", h155),
	CASE("hygge 156 a newer marker further back", h156),
	CASE("hygge 157 a fork of a compacted session (differs)", h157),
	CASE("hygge 158 a marker at an inherited message", h158),
	CASE("hygge: a blank summary forgets nothing (differs)",
	     a_blank_summary_forgets_nothing),
	CASE("hygge: hostile callers are told", hostile_callers_are_told),
};

const struct suite compat_hygge_rest_suite = { tests, ARRAY_LEN(tests) };

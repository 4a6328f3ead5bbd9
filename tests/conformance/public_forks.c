/* public_forks.c - forks: what they have, and what nothing can take away. */
#include "conformance/public.h"

/* A fork with these members; its id. */
static const char *fork_of(struct desk *d, const char *session,
			   const char *members)
{
	const char *answer = desk_call(d,
				       "{\"method\":\"fork\",\"session\":\"%s\""
				       "%s%s}",
				       session, members[0] ? "," : "", members);
	const char *id = strstr(answer, "\"id\":\"");
	char *copy = arena_alloc(&d->arena, WEFT_ID_CHARS + 1);

	assert_non_null(id);
	assert_non_null(copy);
	memcpy(copy, id + 6, WEFT_ID_CHARS);
	copy[WEFT_ID_CHARS] = '\0';
	return copy;
}

static void shows(struct desk *d, const char *session, const char *member)
{
	const char *answer = desk_call(
		d, "{\"method\":\"show\",\"session\":\"%s\"}", session);

	if (!strstr(answer, member))
		print_error("no %s in %s\n", member, answer);
	assert_non_null(strstr(answer, member));
}

static void a_b_c(struct desk *d)
{
	(void)desk_say(d, d->id, "a"); /* 2 */
	(void)desk_say(d, d->id, "b"); /* 3 */
	(void)desk_say(d, d->id, "c"); /* 4 */
}

static void a_fork_goes_on_from_its_message(void **state)
{
	struct desk *d = *state;
	const char *f, *g;

	a_b_c(d);
	f = fork_of(d, d->id, "\"at\":3");
	assert_int_equal(desk_say(d, f, "d"), 5); /* 4 began the fork */
	assert_string_equal(desk_texts(d, f), "a b d");
	assert_string_equal(desk_texts(d, d->id), "a b c");
	shows(d, f, "\"fork_seq\":3");
	shows(d, f, "\"inherited_count\":2");
	shows(d, f, "\"message_count\":1");
	/* Without a message: at the last. */
	g = fork_of(d, f, "");
	assert_string_equal(desk_texts(d, g), "a b d");
	shows(d, g, "\"inherited_count\":3");
	shows(d, g, "\"fork_seq\":5");
}

/* Neither what is hidden nor what is no message counts. */
static void a_fork_in_the_past_counts_what_it_inherits(void **state)
{
	struct desk *d = *state;
	const char *f;

	a_b_c(d);
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[3]}",
			d->id);        /* 5 */
	(void)desk_say(d, d->id, "d"); /* 6 */
	(void)desk_call(d, "{\"method\":\"clear\",\"session\":\"%s\"}", d->id);
	(void)desk_say(d, d->id, "e"); /* 8 */
	shows(d, fork_of(d, d->id, "\"at\":2"), "\"inherited_count\":1");
	shows(d, fork_of(d, d->id, "\"at\":4"), "\"inherited_count\":2");
	shows(d, fork_of(d, d->id, "\"at\":6"), "\"inherited_count\":3");
	f = fork_of(d, d->id, "\"at\":8");
	shows(d, f, "\"inherited_count\":4");
	(void)desk_say(d, f, "f"); /* 10 */
	(void)desk_say(d, f, "g"); /* 11 */
	f = fork_of(d, f, "\"at\":10");
	shows(d, f, "\"inherited_count\":5");
	/* What it has only inherited. */
	shows(d, fork_of(d, f, "\"at\":6"), "\"inherited_count\":3");
}

static void the_cut_off_is_the_least_on_the_way(void **state)
{
	struct desk *d = *state;
	const char *f, *g, *h;
	char parent[64];

	a_b_c(d);
	f = fork_of(d, d->id, "");
	(void)desk_say(d, f, "d");
	(void)desk_say(d, d->id, "e");
	/* At a message that it has inherited. */
	g = fork_of(d, f, "\"at\":2");
	assert_string_equal(desk_texts(d, g), "a");
	(void)snprintf(parent, sizeof(parent), "\"parent\":\"%s\"", d->id);
	shows(d, g, parent);
	(void)snprintf(parent, sizeof(parent), "\"forked_from\":\"%s\"", f);
	shows(d, g, parent);
	(void)snprintf(parent, sizeof(parent), "\"root\":\"%s\"", d->id);
	shows(d, g, parent);
	(void)desk_say(d, g, "x");
	h = fork_of(d, g, "");
	assert_string_equal(desk_texts(d, h), "a x");
}

static void nothing_that_happens_to_its_parent_changes_a_fork(void **state)
{
	struct desk *d = *state;
	const char *f, *g;

	a_b_c(d);
	f = fork_of(d, d->id, "");
	(void)desk_call(d, "{\"method\":\"clear\",\"session\":\"%s\"}", d->id);
	(void)desk_say(d, d->id, "e");
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", d->id);
	assert_string_equal(desk_texts(d, f), "a b c");
	/* Also a deleted session can be forked, by its id. */
	g = fork_of(d, d->id, "\"at\":3");
	assert_string_equal(desk_texts(d, g), "a b");
	assert_int_equal(desk_say(d, g, "z"), 5);
}

static void a_redaction_reaches_the_forks(void **state)
{
	struct desk *d = *state;
	const char *f, *g;

	a_b_c(d);
	f = fork_of(d, d->id, "");
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[4]}",
			d->id);
	assert_string_equal(desk_texts(d, f), "a b");
	/* Who forks at a hidden message forks at the one before. */
	g = fork_of(d, d->id, "\"at\":4");
	shows(d, g, "\"fork_seq\":3");
	shows(d, g, "\"inherited_count\":2");
	assert_string_equal(desk_texts(d, g), "a b");
	/* And the other way round it does not. */
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[2]}",
			f);
	assert_string_equal(desk_texts(d, f), "b");
	assert_string_equal(desk_texts(d, d->id), "a b");
	/* What a fork has hidden, its own forks do not see either. */
	assert_string_equal(desk_texts(d, fork_of(d, f, "\"at\":3")), "b");
}

/* How many parents there are up to the root. */
static int depth_of(struct desk *d, const char *session)
{
	char id[WEFT_ID_CHARS + 1] = "";
	const char *parent;
	int depth = -1;

	memcpy(id, session, WEFT_ID_CHARS);
	do {
		parent = strstr(desk_call(d,
					  "{\"method\":\"show\","
					  "\"session\":\"%s\"}",
					  id),
				",\"parent\":");
		assert_non_null(parent);
		parent += strlen(",\"parent\":");
		depth++;
		if (parent[0] == '"')
			memcpy(id, parent + 1, WEFT_ID_CHARS);
	} while (parent[0] == '"');
	return depth;
}

static void trying_again_and_again_is_not_deep(void **state)
{
	struct desk *d = *state;
	const char *f = d->id, *hiding, *g;

	a_b_c(d);
	for (int i = 0; i < 10; i++) {
		f = fork_of(d, f, "\"at\":3");
		assert_int_equal(desk_say(d, f, "x"), 5);
		assert_string_equal(desk_texts(d, f), "a b x");
	}
	assert_int_equal(depth_of(d, f), 1);
	/* Of what it said itself, and of what it has hidden, a fork must know.
	 */
	g = fork_of(d, f, "");
	assert_int_equal(depth_of(d, g), 2);
	assert_string_equal(desk_texts(d, g), "a b x");
	hiding = fork_of(d, d->id, "\"at\":4");
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[2]}",
			hiding);
	g = fork_of(d, hiding, "\"at\":3");
	assert_string_equal(desk_texts(d, g), "b");
	assert_int_equal(depth_of(d, g), 2);
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[2],\"undo\":true}",
			hiding);
	assert_int_equal(depth_of(d, fork_of(d, hiding, "\"at\":3")), 1);
}

static void a_fork_takes_over_what_is_set(void **state)
{
	struct desk *d = *state;
	const char *s =
		desk_new(d, "\"key\":\"k\",\"slug\":\"title\",\"agent\":\"x\","
			    "\"model\":{\"provider\":\"p\",\"name\":\"n\"},"
			    "\"user\":\"u\",\"metadata\":{\"m\":1},"
			    "\"project_dir\":\"/p\",\"tools\":[\"t\"]");
	const char *f;

	(void)desk_say(d, s, "a");
	f = fork_of(d, s, "");
	shows(d, f, "\"agent\":\"x\"");
	shows(d, f, "\"model\":{\"provider\":\"p\",\"name\":\"n\"}");
	shows(d, f, "\"user\":\"u\"");
	shows(d, f, "\"metadata\":{\"m\":1}");
	shows(d, f, "\"project_dir\":\"/p\"");
	shows(d, f, "\"tools\":[\"t\"]");
	/* But neither its names nor what it has spent. */
	shows(d, f, "\"key\":null");
	shows(d, f, "\"slug\":\"\"");
	shows(d, f, "\"first_user\":\"\"");
	f = fork_of(d, s,
		    "\"slug\":\"other\",\"model\":{\"provider\":\"q\","
		    "\"name\":\"m\"}");
	shows(d, f, "\"slug\":\"other\"");
	shows(d, f, "\"model\":{\"provider\":\"q\",\"name\":\"m\"}");
}

static void what_cannot_be_forked_is_said(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"fork\",\"session\":\"%s\"}",
				 d->id),
		   WEFT_INVALID, "nothing to fork");
	a_b_c(d);
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"fork\",\"session\":\"%s\","
				 "\"at\":9}",
				 d->id),
		   WEFT_NOT_FOUND, "no message 9");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"fork\",\"session\":\"%s\","
				 "\"at\":1}",
				 d->id),
		   WEFT_NOT_FOUND, "no message");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"fork\",\"session\":\"%s\","
				 "\"at\":\"01ARYZ6S41TSV4RRFFQ69G5FAV\"}",
				 d->id),
		   WEFT_NOT_FOUND, "01ARYZ6S41TSV4RRFFQ69G5FAV");
}

static void a_fork_is_made_once(void **state)
{
	struct desk *d = *state;
	const char *f, *s;

	a_b_c(d);
	f = fork_of(d, d->id, "\"op\":\"one\"");
	(void)desk_say(d, d->id, "d");
	assert_string_equal(fork_of(d, d->id, "\"op\":\"one\""), f);
	assert_string_equal(desk_texts(d, f), "a b c");
	s = desk_new(d, "");
	(void)desk_say(d, s, "a");
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"fork\",\"session\":\"%s\","
				 "\"op\":\"one\"}",
				 s),
		   WEFT_OP_MISMATCH, "'one'");
	desk_fails(d, desk_try_call(d, "{\"method\":\"new\",\"op\":\"one\"}"),
		   WEFT_OP_MISMATCH, "'one'");
}

static void forks_have_a_depth(void **state)
{
	struct desk *d = *state;
	const char *s;

	desk_reopen(d, "fork_depth=3");
	s = d->id;
	for (int i = 0; i < 3; i++) {
		(void)desk_say(d, s, "a");
		s = fork_of(d, s, "");
	}
	/* A fork that adds nothing is no step further. */
	s = fork_of(d, s, "");
	assert_string_equal(desk_texts(d, s), "a a a");
	(void)desk_say(d, s, "b");
	desk_fails(
		d,
		desk_try_call(d, "{\"method\":\"fork\",\"session\":\"%s\"}", s),
		WEFT_LIMIT, "fork_depth");
}

static void a_tree_shows_who_comes_from_whom(void **state)
{
	struct desk *d = *state;
	const char *f, *g, *h, *tree, *at_f, *at_g, *at_h;
	char members[128];

	a_b_c(d);
	f = fork_of(d, d->id, "");
	g = fork_of(d, f, "\"at\":2");
	(void)snprintf(members, sizeof(members),
		       "\"kind\":\"subagent\",\"parent\":\"%s\"", f);
	h = desk_new(d, members);
	tree = desk_call(d, "{\"method\":\"tree\",\"session\":\"%s\"}", f);
	at_f = strstr(tree, f);
	at_g = strstr(tree, g);
	at_h = strstr(tree, h);
	assert_non_null(at_f);
	assert_non_null(at_g);
	assert_non_null(at_h);
	assert_true(at_f < at_g && at_f < at_h);
	assert_int_equal(strncmp(tree, "{\"session\":{\"id\":\"", 18), 0);
	assert_int_equal(strncmp(tree + 18, f, WEFT_ID_CHARS), 0);
	tree = desk_call(d, "{\"method\":\"tree\",\"session\":\"%s\"}", g);
	assert_null(strstr(tree, h));
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_fork_goes_on_from_its_message),
	PUBLIC_TEST(a_fork_in_the_past_counts_what_it_inherits),
	PUBLIC_TEST(the_cut_off_is_the_least_on_the_way),
	PUBLIC_TEST(nothing_that_happens_to_its_parent_changes_a_fork),
	PUBLIC_TEST(a_redaction_reaches_the_forks),
	PUBLIC_TEST(trying_again_and_again_is_not_deep),
	PUBLIC_TEST(a_fork_takes_over_what_is_set),
	PUBLIC_TEST(what_cannot_be_forked_is_said),
	PUBLIC_TEST(a_fork_is_made_once),
	PUBLIC_TEST(forks_have_a_depth),
	PUBLIC_TEST(a_tree_shows_who_comes_from_whom),
};

const struct suite public_fork_suite = { tests, ARRAY_LEN(tests) };

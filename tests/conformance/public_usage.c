/* public_usage.c - what a session has spent: exact, counted once, and paid by
 * every session above it. */
#include "conformance/public.h"

#define NOTHING                                                            \
	"{\"input_tokens\":0,\"output_tokens\":0,\"cache_read_tokens\":0," \
	"\"cache_write_tokens\":0,\"cost_usd\":0,\"unpriced\":0}"

/* Input tokens, dollars and how many have no price; nothing else was spent. */
#define SPENT(input, cost, unpriced)                                          \
	"{\"input_tokens\":" input ",\"output_tokens\":0,"                    \
	"\"cache_read_tokens\":0,\"cache_write_tokens\":0,\"cost_usd\":" cost \
	",\"unpriced\":" unpriced "}"

#define BOTH(own, total) "{\"own\":" own ",\"total\":" total "}"

static const char *usage(struct desk *d, const char *session)
{
	return desk_call(d, "{\"method\":\"usage\",\"session\":\"%s\"}",
			 session);
}

static const char *spend(struct desk *d, const char *session,
			 const char *amount)
{
	return desk_call(
		d,
		"{\"method\":\"usage_add\",\"session\":\"%s\",\"usage\":{%s}}",
		session, amount);
}

static const char *subagent_of(struct desk *d, const char *parent)
{
	char members[128];

	(void)snprintf(members, sizeof(members),
		       "\"kind\":\"subagent\",\"parent\":\"%s\"", parent);
	return desk_new(d, members);
}

static void a_new_session_has_spent_nothing(void **state)
{
	struct desk *d = *state;

	assert_string_equal(usage(d, d->id), BOTH(NOTHING, NOTHING));
}

static void every_kind_of_token_is_counted_by_itself(void **state)
{
	static const char all[] =
		"{\"input_tokens\":1,\"output_tokens\":2,"
		"\"cache_read_tokens\":3,\"cache_write_tokens\":4,"
		"\"cost_usd\":5.000000006,\"unpriced\":0}";
	struct desk *d = *state;
	char expected[512];

	(void)snprintf(expected, sizeof(expected), "{\"own\":%s,\"total\":%s}",
		       all, all);
	assert_string_equal(
		spend(d, d->id,
		      "\"input_tokens\":1,\"output_tokens\":2,"
		      "\"cache_read_tokens\":3,\"cache_write_tokens\":4,"
		      "\"cost_usd\":5.000000006"),
		expected);
	assert_string_equal(usage(d, d->id), expected);
}

/* In binary floating point 0.1 + 0.2 is not 0.3. */
static void money_is_exact(void **state)
{
	struct desk *d = *state;

	(void)spend(d, d->id, "\"cost_usd\":0.1");
	(void)spend(d, d->id, "\"cost_usd\":0.2");
	for (int i = 0; i < 10; i++)
		(void)spend(d, d->id, "\"cost_usd\":1e-9");
	assert_string_equal(usage(d, d->id),
			    BOTH(SPENT("0", "0.30000001", "0"),
				 SPENT("0", "0.30000001", "0")));
}

static void messages_and_what_was_added_are_one_sum(void **state)
{
	struct desk *d = *state;

	desk_ok(d, desk_try(d, d->id,
			    "{\"role\":\"assistant\",\"content\":\"x\","
			    "\"usage\":{\"input_tokens\":7,\"cost_usd\":0.5}}",
			    NULL, NULL));
	(void)spend(d, d->id, "\"input_tokens\":3,\"cost_usd\":0.25");
	assert_string_equal(usage(d, d->id), BOTH(SPENT("10", "0.75", "0"),
						  SPENT("10", "0.75", "0")));
	/* It is no message. */
	assert_string_equal(desk_texts(d, d->id), "x");
}

static void an_unknown_price_is_counted_and_not_zero(void **state)
{
	struct desk *d = *state;

	(void)spend(d, d->id, "\"input_tokens\":1");
	(void)spend(d, d->id, "\"input_tokens\":1,\"cost_usd\":null");
	(void)spend(d, d->id, "\"input_tokens\":1,\"cost_usd\":0");
	assert_string_equal(usage(d, d->id),
			    BOTH(SPENT("3", "0", "2"), SPENT("3", "0", "2")));
}

static void what_nobody_spent_is_not_written(void **state)
{
	struct desk *d = *state;
	uint64_t head = desk_head(d, d->id);

	(void)spend(d, d->id, "");
	(void)spend(d, d->id, "\"input_tokens\":0,\"cost_usd\":0");
	assert_string_equal(usage(d, d->id), BOTH(NOTHING, NOTHING));
	assert_int_equal(desk_head(d, d->id), head);
}

/* Look, derive everything anew, open again, and look. */
static void expect_for_ever(struct desk *d, const char *session,
			    const char *expected)
{
	assert_string_equal(usage(d, session), expected);
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	assert_string_equal(usage(d, session), expected);
	if (strncmp(d->url, "memory:", 7) == 0)
		return;
	desk_reopen(d, NULL);
	assert_string_equal(usage(d, session), expected);
}

static void a_subagent_is_paid_for_by_all_above_it(void **state)
{
	struct desk *d = *state;
	const char *root = desk_new(d, "");
	const char *middle = subagent_of(d, root);
	const char *leaf = subagent_of(d, middle);
	const char *other = subagent_of(d, root);

	(void)spend(d, leaf, "\"input_tokens\":30,\"cost_usd\":0.14");
	(void)spend(d, other, "\"input_tokens\":4");
	desk_ok(d, desk_try(d, root,
			    "{\"role\":\"assistant\",\"content\":\"x\","
			    "\"usage\":{\"input_tokens\":1,"
			    "\"cost_usd\":0.04}}",
			    NULL, NULL));
	desk_ok(d, desk_try(d, middle,
			    "{\"role\":\"assistant\",\"content\":\"x\","
			    "\"usage\":{\"input_tokens\":2,\"cost_usd\":0}}",
			    NULL, NULL));
	expect_for_ever(
		d, leaf,
		BOTH(SPENT("30", "0.14", "0"), SPENT("30", "0.14", "0")));
	expect_for_ever(d, middle,
			BOTH(SPENT("2", "0", "0"), SPENT("32", "0.14", "0")));
	expect_for_ever(
		d, root,
		BOTH(SPENT("1", "0.04", "0"), SPENT("37", "0.18", "1")));
}

static void a_deleted_ancestor_pays_as_well(void **state)
{
	struct desk *d = *state;
	const char *root = desk_new(d, "");
	const char *leaf = subagent_of(d, root);

	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", root);
	(void)spend(d, leaf, "\"input_tokens\":5,\"cost_usd\":1");
	assert_string_equal(usage(d, root),
			    BOTH(NOTHING, SPENT("5", "1", "0")));
}

#define ONCE                                            \
	"{\"method\":\"usage_add\",\"session\":\"%s\"," \
	"\"usage\":{\"input_tokens\":%d,\"cost_usd\":1},\"op\":\"o\"}"

static void a_fork_pays_for_itself(void **state)
{
	struct desk *d = *state;
	const char *from = desk_new(d, "");
	const char *fork;

	(void)spend(d, from, "\"input_tokens\":5,\"cost_usd\":1");
	desk_say(d, from, "a");
	fork = desk_fork(d, from);
	assert_string_equal(usage(d, fork), BOTH(NOTHING, NOTHING));
	(void)spend(d, fork, "\"input_tokens\":2,\"cost_usd\":3");
	expect_for_ever(d, fork,
			BOTH(SPENT("2", "3", "0"), SPENT("2", "3", "0")));
	expect_for_ever(d, from,
			BOTH(SPENT("5", "1", "0"), SPENT("5", "1", "0")));
}

static void the_same_operation_twice_is_spent_once(void **state)
{
	struct desk *d = *state;
	char request[256], other[256];

	(void)snprintf(request, sizeof(request), ONCE, d->id, 5);
	(void)snprintf(other, sizeof(other), ONCE, d->id, 6);
	(void)desk_call(d, "%s", request);
	assert_string_equal(
		desk_call(d, "%s", request),
		"{\"own\":" SPENT("5", "1", "0") ",\"total\":" SPENT(
			"5", "1", "0") ",\"replayed\":true}");
	desk_fails(d, desk_try_call(d, "%s", other), WEFT_OP_MISMATCH, "'o'");
	assert_string_equal(usage(d, d->id),
			    BOTH(SPENT("5", "1", "0"), SPENT("5", "1", "0")));
}

/* Spending is no word: who expects the last one still gets through. */
static void spending_changes_no_version(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o;

	weft_append_options_init(&o, sizeof(o));
	o.expect = desk_say(d, d->id, "a");
	(void)spend(d, d->id, "\"input_tokens\":5");
	desk_ok(d, desk_try(d, d->id, "{\"role\":\"user\",\"content\":\"b\"}",
			    &o, NULL));
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *usage, *part;
	} wrong[] = {
		{ "{\"input_tokens\":-1}", "usage.input_tokens" },
		{ "{\"output_tokens\":1.5}", "usage.output_tokens" },
		{ "{\"cache_read_tokens\":\"1\"}", "usage.cache_read_tokens" },
		{ "{\"cost_usd\":-0.1}", "usage.cost_usd" },
		{ "{\"cost_usd\":\"1\"}", "usage.cost_usd" },
		{ "{\"cost_usd\":1e30}", "usage.cost_usd" },
		{ "[]", "usage" },
		{ "null", "usage" },
	};
	struct desk *d = *state;
	uint64_t head = desk_head(d, d->id);

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		desk_fails(d,
			   desk_try_call(d,
					 "{\"method\":\"usage_add\","
					 "\"session\":\"%s\",\"usage\":%s}",
					 d->id, wrong[i].usage),
			   WEFT_INVALID, wrong[i].part);
	assert_int_equal(desk_head(d, d->id), head);
	desk_fails(d,
		   desk_try_call(d, "{\"method\":\"usage_add\",\"session\":"
				    "\"nobody\",\"usage\":{\"cost_usd\":1}}"),
		   WEFT_NOT_FOUND, "nobody");
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", d->id);
	desk_fails(d,
		   desk_try_call(d,
				 "{\"method\":\"usage_add\",\"session\":\"%s\","
				 "\"usage\":{\"cost_usd\":1}}",
				 d->id),
		   WEFT_DELETED, "restore");
}

/* ---- two handles ---- */

/*
 * What one handle remembers of a session is no longer true when another one
 * has written: not what it may append to, and not what it has to pay.
 */
static void what_another_handle_wrote_counts(void **state)
{
	struct desk *d = *state;
	struct weft_store *mine = d->store, *other = NULL;
	struct weft_append_options o;
	const char *child;
	uint64_t seq;

	if (!is_place(d->url))
		return;
	child = subagent_of(d, d->id);
	desk_ok(d, desk_open_again(d, NULL, 0, &other));
	(void)desk_say(d, d->id, "one");
	(void)desk_say(d, d->id, "two");

	d->store = other;
	seq = desk_say(d, d->id, "three");
	d->store = mine;
	weft_append_options_init(&o, sizeof(o));
	o.expect = seq - 1;
	desk_fails(d,
		   desk_try(d, d->id, "{\"role\":\"user\",\"content\":\"x\"}",
			    &o, NULL),
		   WEFT_STALE, "");
	(void)desk_say(d, d->id, "four");

	d->store = other;
	seq = desk_say(d, d->id, "five");
	d->store = mine;
	o.expect = seq;
	desk_ok(d, desk_try(d, d->id, "{\"role\":\"user\",\"content\":\"six\"}",
			    &o, NULL));

	/* Nothing is said in the one that pays. */
	d->store = other;
	(void)spend(d, child, "\"input_tokens\":7,\"cost_usd\":0.5");
	d->store = mine;
	(void)desk_say(d, d->id, "seven");
	assert_string_equal(usage(d, d->id),
			    BOTH(NOTHING, SPENT("7", "0.5", "0")));
	assert_string_equal(desk_texts(d, d->id),
			    "one two three four five six seven");
	desk_ok(d, weft_close(other, &d->err));
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_new_session_has_spent_nothing),
	PUBLIC_TEST(every_kind_of_token_is_counted_by_itself),
	PUBLIC_TEST(money_is_exact),
	PUBLIC_TEST(messages_and_what_was_added_are_one_sum),
	PUBLIC_TEST(an_unknown_price_is_counted_and_not_zero),
	PUBLIC_TEST(what_nobody_spent_is_not_written),
	PUBLIC_TEST(a_subagent_is_paid_for_by_all_above_it),
	PUBLIC_TEST(a_deleted_ancestor_pays_as_well),
	PUBLIC_TEST(a_fork_pays_for_itself),
	PUBLIC_TEST(the_same_operation_twice_is_spent_once),
	PUBLIC_TEST(spending_changes_no_version),
	PUBLIC_TEST(what_is_wrong_is_named),
	PUBLIC_TEST(what_another_handle_wrote_counts),
};

const struct suite public_usage_suite = { tests, ARRAY_LEN(tests) };

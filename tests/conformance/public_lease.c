/* public_lease.c - one writer at a time: who holds a lease, for how long, and
 * what becomes of those who held it. */
#include "base/json.h"
#include "conformance/public.h"

#define HELLO "{\"role\":\"user\",\"content\":\"hello\"}"

/* Try something with the lease of the desk's session; `more` are members. */
static int try_lease(struct desk *d, const char *how, const char *more)
{
	return desk_try_call(d,
			     "{\"method\":\"lease\",\"session\":\"%s\","
			     "\"how\":\"%s\",%s}",
			     d->id, how, more);
}

/* The same, which must succeed; the token that it answers with. */
static uint64_t lease(struct desk *d, const char *how, const char *more)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	const char *answer = desk_call(d,
				       "{\"method\":\"lease\",\"session\":"
				       "\"%s\",\"how\":\"%s\",%s}",
				       d->id, how, more);

	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	return yyjson_get_uint(
		yyjson_obj_get(yyjson_doc_get_root(doc), "token"));
}

static const char *with_token(struct desk *d, uint64_t token)
{
	return arena_printf(&d->arena, "\"token\":%llu",
			    (unsigned long long)token)
		.ptr;
}

static int append(struct desk *d, uint64_t token)
{
	struct weft_append_options o;

	weft_append_options_init(&o, sizeof(o));
	o.token = token;
	return desk_try(d, d->id, HELLO, &o, NULL);
}

/* What `show` says: the member with its value. */
static void expect_lease(struct desk *d, const char *expected)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	CLEANUP(buf_done) struct buf b;
	const char *answer =
		desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}", d->id);

	buf_init(&b, 0);
	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	buf_add_val(&b, yyjson_obj_get(yyjson_doc_get_root(doc), "lease"));
	assert_string_equal(buf_cstr(&b), expected);
}

static void who_holds_it_writes_and_nobody_else(void **state)
{
	struct desk *d = *state;
	uint64_t token = lease(d, "acquire", "\"owner\":\"ann\",\"ttl\":10");
	uint64_t head = desk_head(d, d->id);

	desk_fails(d, append(d, 0), WEFT_LEASED, "'ann'");
	desk_fails(d, append(d, token + 1), WEFT_LEASED, "'ann'");
	desk_fails(d, append(d, token - 1), WEFT_LEASED, "'ann'");
	assert_int_equal(desk_head(d, d->id), head);
	desk_ok(d, append(d, token));
	desk_ok(d, append(d, token));
	assert_string_equal(desk_texts(d, d->id), "hello hello");
}

static void the_session_says_who_holds_it(void **state)
{
	struct desk *d = *state;

	expect_lease(d, "null");
	assert_int_equal(lease(d, "acquire", "\"owner\":\"ann\",\"ttl\":10"),
			 2);
	expect_lease(d, "{\"owner\":\"ann\",\"token\":2,\"expires_at\":"
			"\"2026-11-15T10:00:10.000Z\"}");
	/* Everything is derived: it comes back the same. */
	(void)desk_call(d, "{\"method\":\"reindex\"}");
	expect_lease(d, "{\"owner\":\"ann\",\"token\":2,\"expires_at\":"
			"\"2026-11-15T10:00:10.000Z\"}");
	d->now_ms += 10000;
	expect_lease(d, "null");
}

static void it_ends_by_the_clock_of_the_store(void **state)
{
	struct desk *d = *state;
	uint64_t token = lease(d, "acquire", "\"owner\":\"ann\",\"ttl\":10");

	d->now_ms += 9999;
	desk_ok(d, append(d, token));
	desk_fails(d, append(d, 0), WEFT_LEASED, "'ann'");
	d->now_ms += 1;
	desk_fails(d, append(d, token), WEFT_STALE, "lease");
	desk_fails(d, try_lease(d, "renew", with_token(d, token)), WEFT_STALE,
		   "acquire");
	desk_ok(d, append(d, 0));
	assert_true(lease(d, "acquire", "\"owner\":\"ben\"") > token);
	desk_fails(d, append(d, token), WEFT_LEASED, "'ben'");
}

static void a_minute_is_what_nobody_asks_for(void **state)
{
	struct desk *d = *state;

	(void)lease(d, "acquire", "\"owner\":\"ann\"");
	expect_lease(d, "{\"owner\":\"ann\",\"token\":2,\"expires_at\":"
			"\"2026-11-15T10:01:00.000Z\"}");
}

static void nobody_acquires_what_is_held(void **state)
{
	struct desk *d = *state;
	uint64_t token = lease(d, "acquire", "\"owner\":\"ann\"");

	desk_fails(d, try_lease(d, "acquire", "\"owner\":\"ben\""), WEFT_LEASED,
		   "'ann' until 2026-11-15T10:01:00");
	/* Not even under the same name: it may be another process. */
	desk_fails(d, try_lease(d, "acquire", "\"owner\":\"ann\""), WEFT_LEASED,
		   "'ann'");
	desk_ok(d, append(d, token));
}

static void renewing_keeps_the_token(void **state)
{
	struct desk *d = *state;
	uint64_t token = lease(d, "acquire", "\"owner\":\"ann\",\"ttl\":10");

	d->now_ms += 9000;
	assert_int_equal(lease(d, "renew", with_token(d, token)), token);
	d->now_ms += 59999;
	desk_ok(d, append(d, token));
	/* By name, for who has not kept the token. */
	assert_int_equal(lease(d, "renew", "\"owner\":\"ann\""), token);
	d->now_ms += 59999;
	desk_ok(d, append(d, token));
	desk_fails(d, try_lease(d, "renew", "\"owner\":\"ben\""), WEFT_LEASED,
		   "'ann'");
	desk_fails(d, try_lease(d, "renew", with_token(d, token + 1)),
		   WEFT_LEASED, "'ann'");
}

static void a_released_one_is_free_at_once(void **state)
{
	struct desk *d = *state;
	uint64_t token = lease(d, "acquire", "\"owner\":\"ann\"");
	uint64_t head;

	desk_fails(d, try_lease(d, "release", "\"owner\":\"ben\""), WEFT_LEASED,
		   "'ann'");
	desk_fails(d, try_lease(d, "release", with_token(d, token + 7)),
		   WEFT_LEASED, "'ann'");
	assert_int_equal(lease(d, "release", with_token(d, token)), 0);
	expect_lease(d, "null");
	desk_fails(d, append(d, token), WEFT_STALE, "lease");
	desk_ok(d, append(d, 0));
	/* To release it again changes nothing. */
	head = desk_head(d, d->id);
	assert_int_equal(lease(d, "release", with_token(d, token)), 0);
	assert_int_equal(desk_head(d, d->id), head);
}

static void a_takeover_fences_the_old_owner_out(void **state)
{
	struct desk *d = *state;
	uint64_t old = lease(d, "acquire", "\"owner\":\"ann\"");
	uint64_t new = lease(d, "takeover", "\"owner\":\"ben\"");

	assert_true(new > old);
	desk_fails(d, append(d, old), WEFT_LEASED, "'ben'");
	desk_fails(d, try_lease(d, "renew", with_token(d, old)), WEFT_LEASED,
		   "'ben'");
	desk_fails(d, try_lease(d, "release", with_token(d, old)), WEFT_LEASED,
		   "'ben'");
	desk_ok(d, append(d, new));
	/* Also one that was called the same, as after a restart. */
	old = new;
	new = lease(d, "takeover", "\"owner\":\"ben\"");
	desk_fails(d, append(d, old), WEFT_LEASED, "'ben'");
	desk_ok(d, append(d, new));
	assert_string_equal(desk_texts(d, d->id), "hello hello");
}

static void it_keeps_others_from_all_that_changes_what_is_said(void **state)
{
	static const char *const acts[] = {
		"\"redact\",\"messages\":[2]",
		"\"usage_add\",\"usage\":{\"cost_usd\":1}",
		"\"delete\"",
	};
	struct desk *d = *state;
	uint64_t token, head;

	desk_say(d, d->id, "a");
	token = lease(d, "acquire", "\"owner\":\"ann\"");
	head = desk_head(d, d->id);
	for (size_t i = 0; i < ARRAY_LEN(acts); i++)
		desk_fails(d,
			   desk_try_call(d,
					 "{\"session\":\"%s\",\"method\":%s}",
					 d->id, acts[i]),
			   WEFT_LEASED, "'ann'");
	assert_int_equal(desk_head(d, d->id), head);
	for (size_t i = 0; i < ARRAY_LEN(acts); i++)
		(void)desk_call(d, "{\"session\":\"%s\",\"method\":%s,%s}",
				d->id, acts[i], with_token(d, token));
	/* The lease of what is deleted can only be let go. */
	desk_fails(d, try_lease(d, "renew", with_token(d, token)), WEFT_DELETED,
		   "restore");
	assert_int_equal(lease(d, "release", with_token(d, token)), 0);
	desk_fails(d, try_lease(d, "acquire", "\"owner\":\"ann\""),
		   WEFT_DELETED, "restore");
}

/* Names and settings are for people, who need not wait for a program. */
static void people_may_still_name_and_set_it(void **state)
{
	struct desk *d = *state;

	(void)lease(d, "acquire", "\"owner\":\"ann\"");
	(void)desk_call(d,
			"{\"method\":\"rename\",\"session\":\"%s\","
			"\"slug\":\"title\"}",
			d->id);
	(void)desk_call(d,
			"{\"method\":\"alias\",\"session\":\"%s\","
			"\"alias\":\"al\"}",
			d->id);
}

static void one_session_is_not_another(void **state)
{
	struct desk *d = *state;
	const char *other = desk_new(d, "");
	uint64_t token = lease(d, "acquire", "\"owner\":\"ann\"");
	struct weft_append_options o;

	desk_say(d, other, "a");
	weft_append_options_init(&o, sizeof(o));
	o.token = token;
	desk_fails(d, desk_try(d, other, HELLO, &o, NULL), WEFT_STALE, "");
}

/* Lease events are no words: who expects the last one still gets through. */
static void holding_changes_no_version(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o;

	weft_append_options_init(&o, sizeof(o));
	o.expect = desk_say(d, d->id, "a");
	o.token = lease(d, "acquire", "\"owner\":\"ann\"");
	(void)lease(d, "renew", with_token(d, o.token));
	desk_ok(d, desk_try(d, d->id, HELLO, &o, NULL));
}

/* A lost answer may be asked for again, also when somebody else has it. */
static void the_same_operation_gets_the_same_token(void **state)
{
	struct desk *d = *state;
	uint64_t head;
	uint64_t token = lease(d, "acquire", "\"owner\":\"ann\",\"op\":\"o\"");

	assert_int_equal(lease(d, "acquire", "\"owner\":\"ann\",\"op\":\"o\""),
			 token);
	(void)lease(d, "takeover", "\"owner\":\"ben\"");
	head = desk_head(d, d->id);
	assert_int_equal(lease(d, "acquire", "\"owner\":\"ann\",\"op\":\"o\""),
			 token);
	assert_int_equal(desk_head(d, d->id), head);
	desk_fails(d, append(d, token), WEFT_LEASED, "'ben'");
	desk_fails(d, try_lease(d, "acquire", "\"owner\":\"ben\",\"op\":\"o\""),
		   WEFT_OP_MISMATCH, "'o'");
	desk_fails(d,
		   try_lease(d, "takeover", "\"owner\":\"ann\",\"op\":\"o\""),
		   WEFT_OP_MISMATCH, "'o'");
}

static void what_makes_no_sense_is_refused(void **state)
{
	struct desk *d = *state;
	uint64_t head = desk_head(d, d->id);

	desk_fails(d, try_lease(d, "acquire", "\"ttl\":10"), WEFT_INVALID,
		   "owner");
	desk_fails(d, try_lease(d, "takeover", "\"owner\":\"\""), WEFT_INVALID,
		   "owner");
	desk_fails(d, try_lease(d, "acquire", "\"owner\":\"a\\nb\""),
		   WEFT_INVALID, "owner");
	desk_fails(d, try_lease(d, "renew", "\"ttl\":10"), WEFT_INVALID,
		   "token");
	desk_fails(d, try_lease(d, "release", "\"token\":0"), WEFT_INVALID,
		   "token");
	desk_fails(d, try_lease(d, "borrow", "\"owner\":\"ann\""), WEFT_INVALID,
		   "how");
	desk_fails(d, try_lease(d, "acquire", "\"owner\":\"ann\",\"ttl\":0"),
		   WEFT_INVALID, "ttl");
	desk_fails(d, try_lease(d, "acquire", "\"owner\":\"ann\",\"ttl\":4"),
		   WEFT_INVALID, "ttl");
	desk_fails(d, try_lease(d, "acquire", "\"owner\":\"ann\",\"ttl\":3601"),
		   WEFT_INVALID, "ttl");
	desk_fails(d,
		   try_lease(d, "acquire",
			     "\"owner\":\"ann\",\"ttl\":9007199254740991"),
		   WEFT_INVALID, "ttl");
	assert_int_equal(desk_head(d, d->id), head);
	(void)lease(d, "acquire", "\"owner\":\"ann\",\"ttl\":3600");
	(void)lease(d, "renew", "\"owner\":\"ann\",\"ttl\":5");
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(who_holds_it_writes_and_nobody_else),
	PUBLIC_TEST(the_session_says_who_holds_it),
	PUBLIC_TEST(it_ends_by_the_clock_of_the_store),
	PUBLIC_TEST(a_minute_is_what_nobody_asks_for),
	PUBLIC_TEST(nobody_acquires_what_is_held),
	PUBLIC_TEST(renewing_keeps_the_token),
	PUBLIC_TEST(a_released_one_is_free_at_once),
	PUBLIC_TEST(a_takeover_fences_the_old_owner_out),
	PUBLIC_TEST(it_keeps_others_from_all_that_changes_what_is_said),
	PUBLIC_TEST(people_may_still_name_and_set_it),
	PUBLIC_TEST(one_session_is_not_another),
	PUBLIC_TEST(holding_changes_no_version),
	PUBLIC_TEST(the_same_operation_gets_the_same_token),
	PUBLIC_TEST(what_makes_no_sense_is_refused),
};

const struct suite public_lease_suite = { tests, ARRAY_LEN(tests) };

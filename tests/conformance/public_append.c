/* public_append.c - appending: where to, all or none, exactly once. */
#include "base/id.h"
#include "conformance/public.h"

#define SAY(text) "{\"role\":\"user\",\"content\":\"" text "\"}"

static struct weft_append_options options(void)
{
	struct weft_append_options o;

	weft_append_options_init(&o, sizeof(o));
	return o;
}

static struct weft_append_options with_op(const char *op)
{
	struct weft_append_options o = options();

	o.op = op;
	o.op_len = strlen(op);
	return o;
}

static struct weft_append_options expecting(uint64_t seq)
{
	struct weft_append_options o = options();

	o.expect = seq;
	return o;
}

static void a_receipt_says_where_it_went(void **state)
{
	struct desk *d = *state;
	struct weft_receipt receipt;
	struct weft_event e;
	struct weft_page *page;

	desk_ok(d, desk_try(d, d->id, SAY("hello"), NULL, &receipt));
	assert_int_equal(receipt.seq, 2);
	assert_int_equal(receipt.count, 1);
	assert_int_equal(receipt.replayed, 0);
	assert_string_equal(receipt.session, d->id);
	desk_ok(d, weft_read(d->store, d->id, WEFT_ID_CHARS, NULL, &page,
			     &d->err));
	assert_int_equal(weft_page_event(page, 1, &e), 1);
	assert_string_equal(e.id, receipt.id);
	weft_page_free(page);
}

static void nobody_has_to_want_receipt_or_error(void **state)
{
	struct desk *d = *state;
	const char *hello = SAY("hello");

	assert_int_equal(weft_append(d->store, d->id, WEFT_ID_CHARS, hello,
				     strlen(hello), NULL, NULL, NULL),
			 WEFT_OK);
	assert_int_equal(weft_append(d->store, "none", 4, hello, strlen(hello),
				     NULL, NULL, NULL),
			 WEFT_NOT_FOUND);
}

static void several_messages_are_one(void **state)
{
	struct desk *d = *state;
	struct weft_receipt receipt;

	desk_ok(d, desk_try(d, d->id,
			    " [" SAY("a") "," SAY("b") ",\n" SAY("c") "]\n",
			    NULL, &receipt));
	assert_int_equal(receipt.seq, 2);
	assert_int_equal(receipt.count, 3);
	assert_string_equal(desk_texts(d, d->id), "a b c");
}

static void one_bad_message_refuses_them_all(void **state)
{
	struct desk *d = *state;

	desk_fails(d,
		   desk_try(d, d->id,
			    "[" SAY("a") ",{\"role\":\"user\"}," SAY("c") "]",
			    NULL, NULL),
		   WEFT_INVALID, "message 2");
	desk_fails(d, desk_try(d, d->id, "[]", NULL, NULL), WEFT_INVALID, "");
	assert_int_equal(desk_head(d, d->id), 1);
}

static void a_session_goes_by_id_key_alias_slug_and_prefix(void **state)
{
	struct desk *d = *state;
	const char *id = desk_new(d, "\"key\":\"the key\",\"slug\":\"title\","
				     "\"aliases\":[\"al\"]");
	char prefix[WEFT_ID_CHARS + 1], lower[WEFT_ID_CHARS + 1];
	const char *const names[] = { id,      "the key", "al",
				      "title", lower,     prefix };

	for (size_t i = 0; i <= WEFT_ID_CHARS; i++)
		lower[i] = id[i] >= 'A' ? (char)(id[i] + 32) : id[i];
	/* Another session was made in the same millisecond. */
	memcpy(prefix, id, sizeof(prefix));
	prefix[WEFT_ID_CHARS - 1] = '\0';
	d->now_ms += 1;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct weft_receipt receipt = { 0 };
		int r = desk_try(d, names[i], SAY("x"), NULL, &receipt);

		/* Both ids may begin with these 25 characters. */
		if (names[i] == prefix && r == WEFT_AMBIGUOUS)
			continue;
		desk_ok(d, r);
		assert_string_equal(receipt.session, id);
	}
}

static void a_name_of_nobody_or_of_two_is_refused(void **state)
{
	struct desk *d = *state;
	char prefix[7];

	(void)desk_new(d, "\"slug\":\"twin\"");
	(void)desk_new(d, "\"slug\":\"twin\"");
	memcpy(prefix, d->id, 6);
	prefix[6] = '\0';
	desk_fails(d, desk_try(d, "twin", SAY("x"), NULL, NULL), WEFT_AMBIGUOUS,
		   "twin");
	desk_fails(d, desk_try(d, prefix, SAY("x"), NULL, NULL), WEFT_AMBIGUOUS,
		   prefix);
	prefix[5] = '\0';
	desk_fails(d, desk_try(d, prefix, SAY("x"), NULL, NULL), WEFT_NOT_FOUND,
		   prefix);
	desk_fails(d, desk_try(d, "nobody", SAY("x"), NULL, NULL),
		   WEFT_NOT_FOUND, "nobody");
	desk_fails(d, desk_try(d, "", SAY("x"), NULL, NULL), WEFT_INVALID,
		   "session");
	desk_fails(
		d,
		desk_try(d, "01ARZ3NDEKTSV4RRFFQ69G5FAV", SAY("x"), NULL, NULL),
		WEFT_NOT_FOUND, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
}

static void the_message_may_name_its_session(void **state)
{
	struct desk *d = *state;
	const char *id = desk_new(d, "\"key\":\"k\"");
	const char *message =
		"{\"role\":\"user\",\"content\":\"x\",\"session\":\"k\"}";

	desk_ok(d, desk_try(d, "", message, NULL, NULL));
	desk_ok(d, desk_try(d, id, message, NULL, NULL));
	assert_string_equal(desk_texts(d, id), "x x");
	desk_fails(d, desk_try(d, d->id, message, NULL, NULL), WEFT_INVALID,
		   "session");
}

static void a_deleted_session_takes_nothing(void **state)
{
	struct desk *d = *state;
	const char *id = desk_new(d, "\"key\":\"k\"");

	desk_say(d, id, "a");
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"k\"}");
	desk_fails(d, desk_try(d, id, SAY("x"), NULL, NULL), WEFT_DELETED,
		   "restore");
	desk_fails(d, desk_try(d, "k", SAY("x"), NULL, NULL), WEFT_NOT_FOUND,
		   "k");
	(void)desk_call(d, "{\"method\":\"restore\",\"session\":\"%s\"}", id);
	desk_say(d, "k", "b");
	assert_string_equal(desk_texts(d, id), "a b");
}

/* ---- exactly once ---- */

static void the_same_operation_twice_is_one_event(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o = with_op("op-1");
	struct weft_receipt first, again;

	desk_ok(d, desk_try(d, d->id, SAY("once"), &o, &first));
	desk_say(d, d->id, "more");
	d->now_ms += 5000;
	desk_ok(d, desk_try(d, d->id, SAY("once"), &o, &again));
	assert_int_equal(again.replayed, 1);
	assert_int_equal(again.seq, first.seq);
	assert_int_equal(again.count, first.count);
	assert_string_equal(again.id, first.id);
	assert_string_equal(again.session, first.session);
	assert_string_equal(desk_texts(d, d->id), "once more");
	/* Also where the rest would not be allowed any more. */
	o.expect = 77;
	desk_ok(d, desk_try(d, d->id, SAY("once"), &o, &again));
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", d->id);
	desk_ok(d, desk_try(d, d->id, SAY("once"), &o, &again));
	assert_int_equal(again.replayed, 1);
}

static void the_same_operation_with_other_content_is_refused(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o = with_op("op-1");
	const char *const others[] = {
		SAY("other"),
		"{\"role\":\"assistant\",\"content\":\"once\"}",
		"[" SAY("once") "," SAY("once") "]",
		"{\"role\":\"user\",\"content\":\"once\",\"x-more\":1}",
	};

	desk_ok(d, desk_try(d, d->id, SAY("once"), &o, NULL));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		desk_fails(d, desk_try(d, d->id, others[i], &o, NULL),
			   WEFT_OP_MISMATCH, "op-1");
	assert_string_equal(desk_texts(d, d->id), "once");
}

static void an_operation_of_several_is_replayed_whole(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o = with_op("many");
	const char *three = "[" SAY("a") "," SAY("b") "," SAY("c") "]";
	struct weft_receipt receipt;

	desk_ok(d, desk_try(d, d->id, three, &o, NULL));
	desk_ok(d, desk_try(d, d->id, three, &o, &receipt));
	assert_int_equal(receipt.replayed, 1);
	assert_int_equal(receipt.seq, 2);
	assert_int_equal(receipt.count, 3);
	desk_fails(d,
		   desk_try(d, d->id, "[" SAY("a") "," SAY("b") "]", &o, NULL),
		   WEFT_OP_MISMATCH, "many");
	assert_string_equal(desk_texts(d, d->id), "a b c");
}

#define OP(text, op) \
	"{\"role\":\"user\",\"content\":\"" text "\",\"op\":\"" op "\"}"

static void expect_replayed(struct desk *d, const char *json, uint64_t seq,
			    uint64_t count)
{
	struct weft_receipt receipt;

	desk_ok(d, desk_try(d, d->id, json, NULL, &receipt));
	assert_int_equal(receipt.replayed, 1);
	assert_int_equal(receipt.seq, seq);
	assert_int_equal(receipt.count, count);
}

static void each_of_several_may_have_its_operation(void **state)
{
	struct desk *d = *state;
	const char *all = "[" OP("a", "1") "," OP("b", "2") "," SAY("c") "]";
	const char *late = "[" SAY("d") "," OP("e", "5") "]";
	const char *const others[] = {
		/* other content, or not all of it */
		"[" OP("a", "1") "," OP("x", "2") "," SAY("c") "]",
		"[" OP("a", "1") "," OP("b", "2") "," SAY("x") "]",
		"[" OP("a", "1") "," OP("b", "2") "]",
		"[" OP("a", "1") "," SAY("b") "," SAY("c") "]",
		"[" OP("b", "2") "," OP("a", "1") "," SAY("c") "]",
		OP("b", "2"),
		"[" OP("x", "1") "]",
		/* known and new */
		"[" OP("a", "1") "," OP("b", "9") "," SAY("c") "]",
		"[" OP("a", "9") "," OP("b", "2") "," SAY("c") "]",
		/* more than there was */
		"[" OP("a", "1") "," OP("b", "2") "," SAY("c") "," SAY("d") "]",
		"[" SAY("c") "," SAY("d") "," OP("e", "5") "]",
		"[" SAY("x") "," OP("e", "5") "]",
	};

	desk_ok(d, desk_try(d, d->id, all, NULL, NULL));
	desk_ok(d, desk_try(d, d->id, late, NULL, NULL));
	for (int round = 0; round < 2; round++) {
		expect_replayed(d, all, 2, 3);
		expect_replayed(d, late, 5, 2);
		/* Each id stands for its own message, if the next has one. */
		expect_replayed(d, OP("a", "1"), 2, 1);
		expect_replayed(d, "[" OP("b", "2") "," SAY("c") "]", 3, 2);
		for (size_t i = 0; i < ARRAY_LEN(others); i++)
			desk_fails(d, desk_try(d, d->id, others[i], NULL, NULL),
				   WEFT_OP_MISMATCH, "operation id");
		(void)desk_call(d, "{\"method\":\"reindex\"}");
	}
	assert_string_equal(desk_texts(d, d->id), "a b c d e");
	desk_fails(d,
		   desk_try(d, d->id, "[" OP("x", "7") "," OP("y", "7") "]",
			    NULL, NULL),
		   WEFT_INVALID, "message 2: op");
}

/* As if they came one by one. */
static void each_of_several_may_expect_the_one_before(void **state)
{
	struct desk *d = *state;
	uint64_t head = desk_say(d, d->id, "a");
	char json[512];

	for (uint64_t off = 0; off < 2; off++) {
		(void)snprintf(json, sizeof(json),
			       "[{\"role\":\"user\",\"content\":\"b\","
			       "\"expect\":%llu},{\"role\":\"user\","
			       "\"content\":\"c\",\"expect\":%llu}]",
			       (unsigned long long)head,
			       (unsigned long long)(head + 2 - off));
		if (off == 0)
			desk_fails(d, desk_try(d, d->id, json, NULL, NULL),
				   WEFT_STALE, "message 2");
		else
			desk_ok(d, desk_try(d, d->id, json, NULL, NULL));
	}
	assert_string_equal(desk_texts(d, d->id), "a b c");
}

static void an_operation_id_belongs_to_its_session(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o = with_op("op");
	const char *other = desk_new(d, "\"op\":\"op\"");

	desk_ok(d, desk_try(d, d->id, SAY("a"), &o, NULL));
	desk_ok(d, desk_try(d, other, SAY("b"), &o, NULL));
	assert_string_equal(desk_texts(d, d->id), "a");
	assert_string_equal(desk_texts(d, other), "b");
	assert_string_equal(desk_new(d, "\"op\":\"op\""), other);
}

static void an_operation_is_known_after_reopening(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o = with_op("op");
	struct weft_receipt receipt;
	char id[WEFT_ID_CHARS + 1];

	if (!is_place(d->url))
		return;
	memcpy(id, d->id, sizeof(id));
	desk_ok(d, desk_try(d, id, SAY("a"), &o, NULL));
	desk_reopen(d, NULL);
	desk_ok(d, desk_try(d, id, SAY("a"), &o, &receipt));
	assert_int_equal(receipt.replayed, 1);
	desk_fails(d, desk_try(d, id, SAY("b"), &o, NULL), WEFT_OP_MISMATCH,
		   "op");
}

static void an_expected_version_must_still_hold(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o = expecting(0);

	desk_ok(d, desk_try(d, d->id, SAY("a"), &o, NULL));
	desk_fails(d, desk_try(d, d->id, SAY("x"), &o, NULL), WEFT_STALE, "2");
	o = expecting(2);
	/* A new title is nothing that was said. */
	(void)desk_call(d,
			"{\"method\":\"rename\",\"session\":\"%s\","
			"\"slug\":\"s\"}",
			d->id);
	desk_ok(d, desk_try(d, d->id, SAY("b"), &o, NULL));
	desk_fails(d, desk_try(d, d->id, SAY("x"), &o, NULL), WEFT_STALE, "4");
	o = expecting(99);
	desk_fails(d, desk_try(d, d->id, SAY("x"), &o, NULL), WEFT_STALE, "");
	assert_string_equal(desk_texts(d, d->id), "a b");
	/* A redaction is. */
	(void)desk_call(d,
			"{\"method\":\"redact\",\"session\":\"%s\","
			"\"messages\":[2]}",
			d->id);
	o = expecting(4);
	desk_fails(d, desk_try(d, d->id, SAY("x"), &o, NULL), WEFT_STALE, "");
}

static void op_and_expect_may_stand_in_the_message(void **state)
{
	struct desk *d = *state;
	const char *message = "{\"role\":\"user\",\"content\":\"a\","
			      "\"op\":\"o\",\"expect\":0}";
	struct weft_append_options o = with_op("another");
	struct weft_receipt receipt;

	desk_ok(d, desk_try(d, d->id, message, NULL, NULL));
	desk_ok(d, desk_try(d, d->id, message, NULL, &receipt));
	assert_int_equal(receipt.replayed, 1);
	desk_fails(d, desk_try(d, d->id, message, &o, NULL), WEFT_INVALID,
		   "op");
	desk_fails(d,
		   desk_try(d, d->id,
			    "{\"role\":\"user\",\"content\":\"b\","
			    "\"expect\":0}",
			    NULL, NULL),
		   WEFT_STALE, "");
}

static void a_token_without_a_lease_is_refused(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o = options();
	int r;

	o.token = 5;
	r = desk_try(d, d->id, SAY("x"), &o, NULL);
	assert_true(r == WEFT_STALE || r == WEFT_LEASED);
	assert_int_equal(desk_head(d, d->id), 1);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(a_receipt_says_where_it_went),
	PUBLIC_TEST(nobody_has_to_want_receipt_or_error),
	PUBLIC_TEST(several_messages_are_one),
	PUBLIC_TEST(one_bad_message_refuses_them_all),
	PUBLIC_TEST(a_session_goes_by_id_key_alias_slug_and_prefix),
	PUBLIC_TEST(a_name_of_nobody_or_of_two_is_refused),
	PUBLIC_TEST(the_message_may_name_its_session),
	PUBLIC_TEST(a_deleted_session_takes_nothing),
	PUBLIC_TEST(the_same_operation_twice_is_one_event),
	PUBLIC_TEST(the_same_operation_with_other_content_is_refused),
	PUBLIC_TEST(an_operation_of_several_is_replayed_whole),
	PUBLIC_TEST(each_of_several_may_have_its_operation),
	PUBLIC_TEST(each_of_several_may_expect_the_one_before),
	PUBLIC_TEST(an_operation_id_belongs_to_its_session),
	PUBLIC_TEST(an_operation_is_known_after_reopening),
	PUBLIC_TEST(an_expected_version_must_still_hold),
	PUBLIC_TEST(op_and_expect_may_stand_in_the_message),
	PUBLIC_TEST(a_token_without_a_lease_is_refused),
};

const struct suite public_append_suite = { tests, ARRAY_LEN(tests) };

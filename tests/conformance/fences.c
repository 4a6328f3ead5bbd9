/*
 * fences.c - a lease taken over while its old owner is asleep.
 *
 * The old owner is stopped at the two places that matter: when it is sure that
 * it may write and has not begun to, and when its write has been planned and
 * is not done.  In the first case it must be refused when it wakes up; in the
 * second the one that takes over has to wait, and comes after it.  A store that
 * plans before it locks may let the other one pass, and refuses then.
 *
 * It takes two handles on one store, so that a store that is gone when it is
 * closed has nothing to show here.
 */
#include <time.h>

#include "base/json.h"
#include "conformance/stops.h"

static void *append(void *ctx)
{
	static const char hello[] = "{\"role\":\"user\",\"content\":\"hello\"}";
	struct act *a = ctx;
	struct weft_append_options o;
	struct weft_receipt receipt = { 0 };

	weft_append_options_init(&o, sizeof(o));
	o.token = a->token;
	a->result = weft_append(a->store, a->session, strlen(a->session), hello,
				strlen(hello), &o, &receipt, &a->err);
	a->seq = receipt.seq;
	a->done = true;
	return NULL;
}

/* Acquire, or take over: the token, or 0. */
static uint64_t take(struct weft_store *store, const char *session,
		     const char *how, struct weft_error *err)
{
	struct weft_answer *answer = NULL;
	uint64_t token = 0;
	yyjson_doc *doc;
	char request[256];

	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"lease\",\"session\":\"%s\",\"how\":"
		       "\"%s\",\"owner\":\"%s\"}",
		       session, how, how);
	if (weft_call(store, request, strlen(request), &answer, err) ==
	    WEFT_OK) {
		const char *text = weft_answer_text(answer, NULL);

		doc = yyjson_read(text, strlen(text), 0);
		token = yyjson_get_uint(
			yyjson_obj_get(yyjson_doc_get_root(doc), "token"));
		yyjson_doc_free(doc);
	}
	weft_answer_free(answer);
	return token;
}

static void *take_over(void *ctx)
{
	struct act *a = ctx;

	a->token = take(a->store, a->session, "takeover", &a->err);
	a->done = true;
	return NULL;
}

static void who_wakes_up_too_late_is_refused(void **state)
{
	struct desk *d = *state;
	struct weft_store *other = NULL;
	struct act old = { .store = d->store, .session = d->id };
	uint64_t token;

	if (!is_place(d->url))
		return;
	desk_ok(d, desk_open_again(d, NULL, 0, &other));
	old.token = take(d->store, d->id, "acquire", &d->err);
	assert_true(old.token > 0);

	stop_writes_of(d->store);
	stop_at(BEFORE_THE_WRITE);
	act_begin(&old, append);
	assert_true(stop_until_asleep(&old));
	token = take(other, d->id, "takeover", &d->err);
	stop_at(NOWHERE);
	act_end(&old);
	stop_no_more();

	assert_true(token > old.token);
	assert_int_equal(old.result, WEFT_LEASED);
	assert_int_equal(desk_head(d, d->id), token);
	assert_string_equal(desk_texts(d, d->id), "");
	desk_ok(d, weft_close(other, &d->err));
}

static void who_was_first_is_waited_for(void **state)
{
	const struct timespec a_while = { .tv_nsec = 50000000 };
	struct desk *d = *state;
	struct weft_store *other = NULL;
	struct act old = { .store = d->store, .session = d->id };
	struct act new = { .session = d->id };
	bool waited;

	if (!is_place(d->url))
		return;
	desk_ok(d, desk_open_again(d, "busy_ms=60000", 0, &other));
	new.store = other;
	old.token = take(d->store, d->id, "acquire", &d->err);
	assert_true(old.token > 0);

	stop_writes_of(d->store);
	stop_at(AFTER_THE_PLAN);
	act_begin(&old, append);
	assert_true(stop_until_asleep(&old));
	act_begin(&new, take_over);
	(void)nanosleep(&a_while, NULL);
	waited = !new.done;
	stop_at(NOWHERE);
	act_end(&old);
	act_end(&new);
	stop_no_more();

	assert_true(waited);
	assert_int_equal(old.result, WEFT_OK);
	assert_true(new.token > old.seq);
	/* And then never again. */
	(void)append(&old);
	assert_int_equal(old.result, WEFT_LEASED);
	assert_string_equal(desk_texts(d, d->id), "hello");
	desk_ok(d, weft_close(other, &d->err));
}

static void who_has_only_guessed_is_waited_for_or_refused(void **state)
{
	const struct timespec a_while = { .tv_nsec = 50000000 };
	struct desk *d = *state;
	struct weft_store *other = NULL;
	struct act old = { .store = d->store, .session = d->id };
	struct act new = { .session = d->id };

	if (!is_place(d->url))
		return;
	desk_ok(d, desk_open_again(d, "busy_ms=60000", 0, &other));
	new.store = other;
	old.token = take(d->store, d->id, "acquire", &d->err);
	/* What is said first changes more than what follows. */
	(void)append(&old);
	assert_int_equal(old.result, WEFT_OK);
	old.done = false;

	stop_writes_of(d->store);
	stop_at(AFTER_A_GUESS);
	act_begin(&old, append);
	assert_true(stop_until_asleep(&old));
	act_begin(&new, take_over);
	(void)nanosleep(&a_while, NULL);
	stop_at(NOWHERE);
	act_end(&old);
	act_end(&new);
	stop_no_more();

	if (old.result == WEFT_OK) {
		assert_true(new.token > old.seq);
		assert_string_equal(desk_texts(d, d->id), "hello hello");
	} else {
		assert_int_equal(old.result, WEFT_LEASED);
		assert_string_equal(desk_texts(d, d->id), "hello");
	}
	desk_ok(d, weft_close(other, &d->err));
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(who_wakes_up_too_late_is_refused),
	PUBLIC_TEST(who_was_first_is_waited_for),
	PUBLIC_TEST(who_has_only_guessed_is_waited_for_or_refused),
};

const struct suite fence_suite = { tests, ARRAY_LEN(tests) };

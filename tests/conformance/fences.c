/*
 * fences.c - a lease taken over while its old owner is asleep.
 *
 * The old owner is stopped at the two places that matter: when it is sure that
 * it may write and has not begun to, and when its write has been planned and
 * is not done.  In the first case it must be refused when it wakes up; in the
 * second the one that takes over has to wait, and comes after it.
 *
 * It takes two handles on one store, so that a store that is gone when it is
 * closed has nothing to show here.
 */
#include <pthread.h>
#include <time.h>

#include "base/json.h"
#include "conformance/public.h"
#include "engine/engine.h"

/* Where the old owner stops. */
enum place { NOWHERE, BEFORE_THE_WRITE, AFTER_THE_PLAN };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum place place;
	bool asleep;
	struct store *store; /* whose writes are stopped */
	const struct store_ops *ops;
	struct store_ops stopping; /* the same, but for write */
	store_plan *plan;          /* of the write that is under way */
} stop = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .changed = PTHREAD_COND_INITIALIZER };

static void sleep_at(enum place place)
{
	(void)pthread_mutex_lock(&stop.lock);
	if (stop.place == place) {
		stop.asleep = true;
		(void)pthread_cond_broadcast(&stop.changed);
		while (stop.place == place)
			(void)pthread_cond_wait(&stop.changed, &stop.lock);
		stop.asleep = false;
	}
	(void)pthread_mutex_unlock(&stop.lock);
}

static void wait_until_asleep(void)
{
	(void)pthread_mutex_lock(&stop.lock);
	while (!stop.asleep)
		(void)pthread_cond_wait(&stop.changed, &stop.lock);
	(void)pthread_mutex_unlock(&stop.lock);
}

static void set_place(enum place place)
{
	(void)pthread_mutex_lock(&stop.lock);
	stop.place = place;
	(void)pthread_cond_broadcast(&stop.changed);
	(void)pthread_mutex_unlock(&stop.lock);
}

static int plan_and_sleep(void *ctx, struct store_view *view,
			  struct op_list *out, struct weft_error *err)
{
	int r = stop.plan(ctx, view, out, err);

	sleep_at(AFTER_THE_PLAN);
	return r;
}

static int write_and_sleep(struct store *s, const struct store_want *want,
			   store_plan *plan, void *ctx, struct weft_error *err)
{
	sleep_at(BEFORE_THE_WRITE);
	stop.plan = plan;
	return stop.ops->write(s, want, plan_and_sleep, ctx, err);
}

static void stop_writes_of(struct weft_store *handle)
{
	stop.store = engine_store(weft_store_engine(handle));
	stop.ops = stop.store->ops;
	stop.stopping = *stop.ops;
	stop.stopping.write = write_and_sleep;
	stop.store->ops = &stop.stopping;
}

static void stop_no_more(void)
{
	stop.store->ops = stop.ops;
}

/* Something that is done on a thread of its own. */
struct act {
	struct weft_store *store;
	const char *session;
	uint64_t token; /* of an append, or what a takeover was given */
	uint64_t seq;
	int result;
	struct weft_error err;
	pthread_t thread;
	_Atomic bool done;
};

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

static void act_begin(struct act *a, void *(*run)(void *ctx))
{
	assert_int_equal(pthread_create(&a->thread, NULL, run, a), 0);
}

static void act_end(struct act *a)
{
	assert_int_equal(pthread_join(a->thread, NULL), 0);
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
	set_place(BEFORE_THE_WRITE);
	act_begin(&old, append);
	wait_until_asleep();
	token = take(other, d->id, "takeover", &d->err);
	set_place(NOWHERE);
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
	set_place(AFTER_THE_PLAN);
	act_begin(&old, append);
	wait_until_asleep();
	act_begin(&new, take_over);
	(void)nanosleep(&a_while, NULL);
	waited = !new.done;
	set_place(NOWHERE);
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

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(who_wakes_up_too_late_is_refused),
	PUBLIC_TEST(who_was_first_is_waited_for),
};

const struct suite fence_suite = { tests, ARRAY_LEN(tests) };

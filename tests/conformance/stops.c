/* stops.c - writes that sleep in the middle; see stops.h. */
#include "conformance/stops.h"

#include <stdio.h>
#include <time.h>

#include "engine/engine.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum place place;
	bool asleep;
	struct store *store; /* whose writes are stopped */
	const struct store_ops *ops;
	struct store_ops stopping;     /* the same, but for write */
	store_plan *plan;              /* of the write that is under way */
	const struct store_want *want; /* of the same */
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

bool stop_until_asleep(const struct act *who)
{
	const struct timespec a_while = { .tv_nsec = 1000000 };
	bool asleep = false;

	while (!asleep && !who->done) {
		(void)nanosleep(&a_while, NULL);
		(void)pthread_mutex_lock(&stop.lock);
		asleep = stop.asleep;
		(void)pthread_mutex_unlock(&stop.lock);
	}
	return asleep;
}

void stop_at(enum place place)
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
	uint32_t hidden;

	sleep_at(AFTER_A_GUESS);
	/* A store may plan by what it knows, and lock when it is asked for
	 * what it does not. */
	if (r == WEFT_OK && stop.want->n_sessions > 0)
		r = view->ops->is_hidden(view, &stop.want->sessions[0], 1,
					 &hidden, err);
	sleep_at(AFTER_THE_PLAN);
	if (stop.want->exclusive)
		sleep_at(AFTER_A_DROP);
	return r;
}

static int write_and_sleep(struct store *s, const struct store_want *want,
			   store_plan *plan, void *ctx, struct weft_error *err)
{
	sleep_at(BEFORE_THE_WRITE);
	stop.plan = plan;
	stop.want = want;
	return stop.ops->write(s, want, plan_and_sleep, ctx, err);
}

void stop_writes_of(struct weft_store *handle)
{
	stop.store = engine_store(weft_store_engine(handle));
	stop.ops = stop.store->ops;
	stop.stopping = *stop.ops;
	stop.stopping.write = write_and_sleep;
	stop.store->ops = &stop.stopping;
}

void stop_no_more(void)
{
	stop.store->ops = stop.ops;
}

void act_begin(struct act *a, void *(*run)(void *ctx))
{
	assert_int_equal(pthread_create(&a->thread, NULL, run, a), 0);
}

void act_end(struct act *a)
{
	assert_int_equal(pthread_join(a->thread, NULL), 0);
}

void *act_call(void *ctx)
{
	struct act *a = ctx;
	struct weft_answer *answer = NULL;

	a->result = weft_call(a->store, a->request, strlen(a->request), &answer,
			      &a->err);
	if (a->result == WEFT_OK)
		(void)snprintf(a->answer, sizeof(a->answer), "%s",
			       weft_answer_text(answer, NULL));
	weft_answer_free(answer);
	a->done = true;
	return NULL;
}

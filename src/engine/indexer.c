/*
 * indexer.c - the index for search follows what is written, when nothing else
 * is going on.
 *
 * DESIGN
 *
 * One thread, started by the first write.  It sleeps until there is something
 * new and then until nothing was written for a while; only then it works, a
 * small step at a time, and stops as soon as somebody writes.  Under a load that
 * never ends the index falls behind, and a search catches up.  A store in which
 * nobody has searched has no index, and nothing is done.
 *
 * A failure is forgotten: the next write, or the next search, tries again.
 */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/internal.h"

#define IDLE_US   1000000
#define STEP_SIZE 512 /* events */

void indexer_init(struct indexer *x)
{
	pthread_condattr_t attr;

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&x->lock, NULL);
	(void)pthread_cond_init(&x->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
}

void indexer_done(struct indexer *x)
{
	(void)pthread_cond_destroy(&x->wake);
	(void)pthread_mutex_destroy(&x->lock);
}

/* Sleep until there is something new; false when closing. */
static bool wait_for_news(struct indexer *x, uint64_t *seen)
{
	bool closing;

	(void)pthread_mutex_lock(&x->lock);
	atomic_store(&x->asleep, true);
	while (!x->closing && atomic_load(&x->writes) == *seen)
		(void)pthread_cond_wait(&x->wake, &x->lock);
	atomic_store(&x->asleep, false);
	closing = x->closing;
	(void)pthread_mutex_unlock(&x->lock);
	return !closing;
}

/* Sleep until nothing was written for a while; false when closing. */
static bool wait_for_rest(struct indexer *x, uint64_t *seen)
{
	bool closing = false;

	do {
		int64_t end_us = clock_mono_us() + IDLE_US;
		const struct timespec end = {
			.tv_sec = (time_t)(end_us / 1000000),
			.tv_nsec = (long)(end_us % 1000000) * 1000,
		};
		int r = 0;

		*seen = atomic_load(&x->writes);
		(void)pthread_mutex_lock(&x->lock);
		while (!x->closing && r != ETIMEDOUT)
			r = pthread_cond_timedwait(&x->wake, &x->lock, &end);
		closing = x->closing;
		(void)pthread_mutex_unlock(&x->lock);
	} while (!closing && atomic_load(&x->writes) != *seen);
	return !closing;
}

static bool is_closing(struct indexer *x)
{
	bool closing;

	(void)pthread_mutex_lock(&x->lock);
	closing = x->closing;
	(void)pthread_mutex_unlock(&x->lock);
	return closing;
}

static void *indexer_main(void *arg)
{
	struct engine *e = arg;
	struct indexer *x = &e->indexer;
	uint64_t seen = 0;

	while (wait_for_news(x, &seen) && wait_for_rest(x, &seen)) {
		uint64_t behind = 1;

		while (behind && atomic_load(&x->writes) == seen &&
		       !is_closing(x)) {
			if (engine_index(e, false, STEP_SIZE, &behind, NULL) <
			    0)
				break;
		}
	}
	return NULL;
}

/* Without a thread the index only follows when somebody searches. */
static void start(struct engine *e)
{
	struct indexer *x = &e->indexer;

	(void)pthread_mutex_lock(&x->lock);
	if (!atomic_load(&x->started) && !x->closing &&
	    thread_start(&x->thread, indexer_main, e, NULL) == WEFT_OK)
		atomic_store(&x->started, true);
	(void)pthread_mutex_unlock(&x->lock);
}

void indexer_note(struct engine *e)
{
	struct indexer *x = &e->indexer;

	if (e->read_only || e->store->by_hand)
		return;
	(void)atomic_fetch_add(&x->writes, 1);
	if (!atomic_load(&x->started))
		start(e);
	if (!atomic_load(&x->asleep))
		return;
	(void)pthread_mutex_lock(&x->lock);
	(void)pthread_cond_signal(&x->wake);
	(void)pthread_mutex_unlock(&x->lock);
}

void indexer_stop(struct engine *e)
{
	struct indexer *x = &e->indexer;
	bool started;

	(void)pthread_mutex_lock(&x->lock);
	x->closing = true;
	started = atomic_load(&x->started);
	(void)pthread_cond_broadcast(&x->wake);
	(void)pthread_mutex_unlock(&x->lock);
	if (started)
		(void)pthread_join(x->thread, NULL);
}

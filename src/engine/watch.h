/*
 * watch.h - wait for what comes after an event.
 *
 * DESIGN
 *
 * Who waits is in a table by session.  The committer tells it which sessions
 * it has written and how far they reach now, and wakes just those that waited
 * for them.
 *
 * What other processes write is noticed by one thread that sits in the
 * store's wait().  It is started by the first waiter, unless nobody else can
 * write the store, and sleeps while there are no waiters.  Then it reads the
 * records of all sessions that are waited for, at once, and wakes whom it
 * concerns.  While nothing happens, nobody makes a system call.
 *
 * A waiter joins the table before it looks at the store, so that what is
 * written meanwhile wakes it.
 */
#ifndef ENGINE_WATCH_H
#define ENGINE_WATCH_H

#include <pthread.h>

#include "base/table.h"
#include "weft/store.h"

struct engine;

/* One thread that waits; on its stack. */
struct waiter {
	struct table_node node;
	struct waiter *next, **at; /* all of them */
	struct weft_id session;
	uint64_t seq;  /* waits for an event after this */
	uint64_t head; /* the last event of the session, once known */
	pthread_cond_t wake;
};

struct watchers {
	struct store *store; /* constant */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for the thread, and for closing */

	/* Under `lock`. */
	struct table table; /* struct waiter */
	struct waiter *waiters;
	size_t n_waiters;
	pthread_t thread;
	bool started; /* the thread is there */
	bool ended;   /* it is about to return */
	bool closing;
};

void watchers_init(struct watchers *w, struct store *store);

/* End all waits and the thread. */
void watchers_close(struct watchers *w);
void watchers_done(struct watchers *w);

/* Session `id` has been written up to `head`; a hint that may come late. */
void watchers_tell(struct watchers *w, const struct weft_id *id, uint64_t head);

size_t watchers_count(struct watchers *w);

#endif

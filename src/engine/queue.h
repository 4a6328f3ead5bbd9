/*
 * queue.h - requests on their way to the committer, and who may commit.
 *
 * The queue is bounded by `max` requests that are accepted and not answered.
 *
 * Whoever holds the baton may take requests, write and answer; there is one.
 * The committer thread takes it when there is work.  A thread that wants one
 * thing written while nothing else is going on takes it itself (queue_join)
 * and saves two hand-offs; it never takes more than its own request, so that
 * done() is called on a thread of ours.
 *
 * To wake a thread takes as long as to plan for it.  So of many that are blocked
 * in queue_wait the committer wakes one and goes on; that one wakes some, and
 * each of those a few others, first of all.  They sleep on words of the queue, since a request may
 * be gone as soon as it is answered.
 *
 * A request that was submitted is freed by whoever submits the next one, if
 * that is soon: the thread that took the memory gives it back, and the
 * committer does not wait for its lock.
 */
#ifndef ENGINE_QUEUE_H
#define ENGINE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/engine.h"

#define QUEUE_SLOTS 64

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t work; /* the committer waits here */
	pthread_cond_t room; /* queue_join waits here */

	/* Under `lock`. */
	struct request *head, **tail;
	size_t pending; /* accepted and not answered */
	size_t pending_max;
	size_t waiting;    /* threads waiting for room */
	uint32_t slot;     /* of the one that joined last */
	size_t last_batch; /* how many were written the last time */
	int64_t used_us;   /* when that was; clock_mono_us */
	int64_t idle_us;   /* 0: never tidy up */
	int64_t rested_us; /* when the committer was last told to tidy up */
	bool busy;         /* somebody holds the baton */
	bool asleep;       /* the committer waits for work */
	bool untimed;      /* ... and nothing but a signal ends that */
	bool closing;

	/* Of the holder of the baton: taken from `head`, not in a batch yet. */
	struct request *ready, **ready_tail;

	size_t max; /* constant */
	_Atomic uint32_t words[QUEUE_SLOTS];

	_Atomic(struct request *) spent; /* to be freed; linked by `next` */
	atomic_size_t n_spent;
};

/* What the committer holds the baton for. */
enum queue_what {
	QUEUE_BATCH, /* requests to be written */
	QUEUE_TIDY,  /* there has been work, and idle_us have passed */
	QUEUE_CLOSED /* closing, and nothing is left */
};

/* Some requests to be written together, linked by `next`. */
struct batch {
	struct request *first;
	size_t n;
	size_t bytes; /* about what they append */
};

void queue_init(struct queue *q, size_t max, int64_t idle_us);
void queue_done(struct queue *q);

/* Tidy up sooner or later than before. */
void queue_set_idle(struct queue *q, int64_t idle_us);

/* Join the queue; BUSY if it is full, IO once it closes. */
int queue_push(struct queue *q, struct request *r, struct weft_error *err);

/*
 * The same for a thread that will wait: for room if the queue is full, and
 * then in queue_wait.  *ret_leads: nothing else was going on, it has the baton
 * instead and is not in the queue.
 */
int queue_join(struct queue *q, struct request *r, bool *ret_leads,
	       struct weft_error *err);

/* Sleep until a request that has joined is answered. */
void queue_wait(struct queue *q, struct request *r);

/*
 * Wait for something to do, and take the baton.  A batch has at most max_n
 * requests and, unless it is a single one, max_bytes bytes.
 */
enum queue_what queue_take(struct queue *q, size_t max_n, size_t max_bytes,
			   struct batch *ret);

/* The holder of the baton adds what has come since to a batch, as far as there
 * is room; requests that want one of their own are left.  Returns the first of
 * them, or NULL. */
struct request *queue_take_more(struct queue *q, size_t max_n, size_t max_bytes,
				struct batch *b);

/* Give the baton back after writing n requests; 0: it was for tidying up. */
void queue_release(struct queue *q, size_t n);

/*
 * Say that all requests of a batch have their answers: make room, call done()
 * of each in order, wake those in queue_wait.  The requests are gone then.
 */
void queue_answer(struct queue *q, const struct batch *b);

/* Free a request that was answered, now or when the next one comes. */
void queue_spend(struct queue *q, struct request *r);
/* Free those that wait for that. */
void queue_clear(struct queue *q);

/* Let nobody in from here on. */
void queue_close(struct queue *q);

/* About how many bytes the request will append. */
size_t request_cost(const struct request *r);

#endif

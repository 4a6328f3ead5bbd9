/* completion.c - finished tickets, for event loops. */
#include "engine/completion.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "weft/weft.h"

struct weft_queue {
	int fd; /* constant; readable while `first` is there, or was */
	pthread_mutex_t lock;
	/* Under `lock`. */
	struct weft_ticket *first, *last;
	int signalled; /* the descriptor has been made readable */
};

/* How many queues one burst delivers to at once; more are flushed early. */
#define BURST_QUEUES 8

/* Tickets for one queue, linked by `next`. */
struct chain {
	struct weft_queue *queue;
	struct weft_ticket *first, *last;
};

/* The burst of this thread, if it is in one. */
static _Thread_local struct {
	int active;
	size_t n;
	struct chain chains[BURST_QUEUES];
} burst;

/*
 * Hand a chain over.  The descriptor is written to with the lock held: once
 * the reader has its last ticket, it may free the queue.
 */
static void deliver(const struct chain *c)
{
	struct weft_queue *q = c->queue;
	const uint64_t one = 1;

	(void)pthread_mutex_lock(&q->lock);
	if (q->last)
		q->last->next = c->first;
	else
		q->first = c->first;
	q->last = c->last;
	if (!q->signalled) {
		q->signalled = 1;
		/* Cannot fail: the counter is at 0. */
		while (write(q->fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	}
	(void)pthread_mutex_unlock(&q->lock);
}

void completion_begin(void)
{
	burst.active = 1;
}

void completion_end(void)
{
	for (size_t i = 0; i < burst.n; i++)
		deliver(&burst.chains[i]);
	burst.n = 0;
	burst.active = 0;
}

static void gather(struct weft_ticket *t)
{
	struct chain *c = burst.chains;
	size_t i = 0;

	while (i < burst.n && c[i].queue != t->queue)
		i++;
	if (i < burst.n) {
		c[i].last->next = t;
		c[i].last = t;
		return;
	}
	if (burst.n == BURST_QUEUES) {
		deliver(&c[0]);
		i = 0;
	} else {
		burst.n++;
	}
	c[i] = (struct chain){ .queue = t->queue, .first = t, .last = t };
}

void weft_queue_done(void *ticket, int code, const struct weft_receipt *receipt,
		     const struct weft_error *err)
{
	struct weft_ticket *t = ticket;

	if (!t || !t->queue)
		return;
	t->next = NULL;
	t->code = code;
	if (code == WEFT_OK && receipt)
		t->receipt = *receipt;
	else if (err)
		t->error = *err;
	if (burst.active)
		gather(t);
	else
		deliver(&(struct chain){ t->queue, t, t });
}

int weft_queue_new(struct weft_queue **ret, struct weft_error *err)
{
	struct weft_queue *q;

	if (!ret)
		return fail(err, WEFT_INVALID, "no place for the queue");
	q = mem_zero(1, sizeof(*q));
	if (!q)
		return fail_no_memory(err);
	q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->fd < 0) {
		int e = errno;

		mem_free(q);
		return fail_errno(err, e, "cannot make an event descriptor");
	}
	(void)pthread_mutex_init(&q->lock, NULL);
	*ret = q;
	return WEFT_OK;
}

int weft_queue_fd(const struct weft_queue *q)
{
	return q ? q->fd : -1;
}

struct weft_ticket *weft_queue_next(struct weft_queue *q)
{
	struct weft_ticket *t;

	if (!q)
		return NULL;
	(void)pthread_mutex_lock(&q->lock);
	t = q->first;
	if (t) {
		q->first = t->next;
		if (!q->first)
			q->last = NULL;
		t->next = NULL;
	} else if (q->signalled) {
		uint64_t count;

		/* Empty: only now is there nothing to be woken for. */
		while (read(q->fd, &count, sizeof(count)) < 0 && errno == EINTR)
			;
		q->signalled = 0;
	}
	(void)pthread_mutex_unlock(&q->lock);
	return t;
}

void weft_queue_free(struct weft_queue *q)
{
	if (!q)
		return;
	(void)close(q->fd);
	(void)pthread_mutex_destroy(&q->lock);
	mem_free(q);
}

/*
 * spread.h - many small writes, shared with a second thread.
 *
 * Writing a batch into its session files takes longer than flushing it, and
 * nothing about it needs an order.
 */
#ifndef STORE_JSONL_SPREAD_H
#define STORE_JSONL_SPREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/file.h"

struct piece {
	struct file *file;
	struct weft_str bytes;
	uint64_t offset;
	int result; /* 0, or -errno */
};

struct spread {
	bool allowed; /* to start a thread */
	bool started;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t work, done;
	struct piece *v;  /* mutex; NULL: nothing to join */
	size_t n;         /* mutex */
	bool busy, stop;  /* mutex: the second thread's */
	atomic_size_t at; /* the next piece that nobody has taken */
};

/* Threads are started only if `allowed`, and with the first large batch. */
void spread_init(struct spread *s, bool allowed);
void spread_done(struct spread *s);
/* Write all of them; each has its result afterwards. */
void spread_writes(struct spread *s, struct piece *v, size_t n);

#endif

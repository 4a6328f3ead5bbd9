/* spread.c - see spread.h. */
#include "store/jsonl/spread.h"

#include <signal.h>
#include <unistd.h>

/* With fewer it is not worth waking anybody: where many threads want the
 * cores, the second one comes late and is waited for. */
#define SPREAD_FROM 96
/* So many are taken at once: few, so that nobody waits long at the end. */
#define TAKE 4

static void write_some(struct spread *s, struct piece *v, size_t n)
{
	size_t i;

	while ((i = atomic_fetch_add(&s->at, TAKE)) < n) {
		size_t end = i + TAKE < n ? i + TAKE : n;

		for (; i < end; i++) {
			ssize_t r = file_write(v[i].file, v[i].bytes.ptr,
					       v[i].bytes.len, v[i].offset);

			v[i].result = r < 0 ? (int)r : 0;
		}
	}
}

static void *run_thread(void *arg)
{
	struct spread *s = arg;

	(void)pthread_mutex_lock(&s->mutex);
	while (!s->stop) {
		struct piece *v = s->v;
		size_t n = s->n;

		if (!v) {
			(void)pthread_cond_wait(&s->work, &s->mutex);
			continue;
		}
		s->v = NULL;
		s->busy = true;
		(void)pthread_mutex_unlock(&s->mutex);
		write_some(s, v, n);
		(void)pthread_mutex_lock(&s->mutex);
		s->busy = false;
		(void)pthread_cond_signal(&s->done);
	}
	(void)pthread_mutex_unlock(&s->mutex);
	return NULL;
}

void spread_init(struct spread *s, bool allowed)
{
	*s = (struct spread){ .allowed = allowed &&
					 sysconf(_SC_NPROCESSORS_ONLN) > 1 };
	(void)pthread_mutex_init(&s->mutex, NULL);
	(void)pthread_cond_init(&s->work, NULL);
	(void)pthread_cond_init(&s->done, NULL);
}

void spread_done(struct spread *s)
{
	if (s->started) {
		(void)pthread_mutex_lock(&s->mutex);
		s->stop = true;
		(void)pthread_cond_signal(&s->work);
		(void)pthread_mutex_unlock(&s->mutex);
		(void)pthread_join(s->thread, NULL);
		s->started = false;
	}
	(void)pthread_cond_destroy(&s->done);
	(void)pthread_cond_destroy(&s->work);
	(void)pthread_mutex_destroy(&s->mutex);
}

/* Without a second thread everything still works. */
static bool has_thread(struct spread *s)
{
	sigset_t all, before;

	if (s->started || !s->allowed)
		return s->started;
	/* Signals are for the program's own threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	s->started = pthread_create(&s->thread, NULL, run_thread, s) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->allowed = s->started;
	return s->started;
}

void spread_writes(struct spread *s, struct piece *v, size_t n)
{
	bool shared = n >= SPREAD_FROM && has_thread(s);

	atomic_store(&s->at, 0);
	if (shared) {
		(void)pthread_mutex_lock(&s->mutex);
		s->v = v;
		s->n = n;
		(void)pthread_mutex_unlock(&s->mutex);
		(void)pthread_cond_signal(&s->work);
	}
	write_some(s, v, n);
	if (!shared)
		return;
	(void)pthread_mutex_lock(&s->mutex);
	s->v = NULL; /* too late to join */
	while (s->busy)
		(void)pthread_cond_wait(&s->done, &s->mutex);
	(void)pthread_mutex_unlock(&s->mutex);
}

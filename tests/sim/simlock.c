/* simlock.c - locks, watches and the death of those who hold them. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "sim/simimpl.h"

static bool overlap(const struct simlock *l, uint64_t from, uint64_t end)
{
	return l->from < end && from < l->end;
}

static void add_lock(struct simdisk *d, struct simlock l)
{
	d->locks = sim_grow(d->locks, d->n_locks, &d->room_locks,
			    sizeof(*d->locks));
	d->locks[d->n_locks++] = l;
}

/* Take [from, end) out of what `h` holds. */
static void carve(struct simdisk *d, const struct handle *h, uint64_t from,
		  uint64_t end)
{
	size_t i = 0;

	while (i < d->n_locks) {
		struct simlock l = d->locks[i];

		if (l.owner != h || !overlap(&l, from, end)) {
			i++;
			continue;
		}
		d->locks[i] = d->locks[--d->n_locks];
		/* What is left on either side does not overlap any more. */
		if (l.from < from)
			add_lock(d, (struct simlock){ l.owner, l.from, from,
						      l.exclusive });
		if (l.end > end)
			add_lock(d, (struct simlock){ l.owner, end, l.end,
						      l.exclusive });
	}
}

int disk_lock(struct handle *h, uint64_t at, uint64_t n,
	      enum file_lock_mode mode)
{
	struct simdisk *d = h->process->disk;
	uint64_t end = n == 0 || n > UINT64_MAX - at ? UINT64_MAX : at + n;

	/* As Linux has it: who cannot write cannot keep others away. */
	if (mode == FILE_LOCKED && !h->writable)
		return -EBADF;
	for (size_t i = 0; mode != FILE_UNLOCK && i < d->n_locks; i++) {
		const struct simlock *l = &d->locks[i];

		if (l->owner != h && l->owner->inode == h->inode &&
		    overlap(l, at, end) &&
		    (l->exclusive || mode != FILE_SHARED))
			return -EAGAIN;
	}
	if (mode == FILE_LOCK_LOOK)
		return 0;
	carve(d, h, at, end);
	if (mode != FILE_UNLOCK)
		add_lock(d,
			 (struct simlock){ h, at, end, mode == FILE_LOCKED });
	return 0;
}

void disk_unlock_all(struct simdisk *d, const struct handle *h)
{
	carve(d, h, 0, UINT64_MAX);
}

void process_die(struct process *p)
{
	struct simdisk *d = p->disk;

	p->dead = true;
	for (struct handle *h = d->handles; h; h = h->next)
		if (h->process == p)
			disk_unlock_all(d, h);
	pthread_cond_broadcast(&d->changed);
}

void watches_hit(struct simdisk *d, uint32_t ino)
{
	bool any = false;

	for (struct simwatch *w = d->watches; w; w = w->next)
		if (w->ino == ino) {
			w->hit = true;
			any = true;
		}
	if (any)
		pthread_cond_broadcast(&d->changed);
}

int sim_watch_open(struct fs *fs, const char *path, struct watch **ret)
{
	struct process *p = process_of(fs);
	struct simdisk *d = p->disk;
	struct inode *n;
	int r;

	pthread_mutex_lock(&d->lock);
	r = p->dead ? -EIO : path_find(d, path, &n);
	if (r == 0) {
		struct simwatch *w = sim_alloc(sizeof(*w));

		*w = (struct simwatch){ .base = { &sim_ops },
					.process = p,
					.ino = n->ino,
					.next = d->watches };
		d->watches = w;
		*ret = &w->base;
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

static struct simwatch *watch_of(struct watch *w)
{
	return (struct simwatch *)(void *)w;
}

static struct timespec deadline_in(int64_t ms)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

int sim_watch_wait(struct watch *watch, int64_t timeout_ms)
{
	struct simwatch *w = watch_of(watch);
	struct simdisk *d = w->process->disk;
	struct timespec until = deadline_in(timeout_ms < 0 ? 0 : timeout_ms);
	int late = 0, r;

	pthread_mutex_lock(&d->lock);
	while (!w->hit && !w->process->dead && !late) {
		if (timeout_ms < 0)
			pthread_cond_wait(&d->changed, &d->lock);
		else
			late = pthread_cond_timedwait(&d->changed, &d->lock,
						      &until);
	}
	r = w->process->dead ? -EIO : w->hit;
	w->hit = false;
	pthread_mutex_unlock(&d->lock);
	return r;
}

void sim_watch_wake(struct watch *watch)
{
	struct simwatch *w = watch_of(watch);
	struct simdisk *d = w->process->disk;

	pthread_mutex_lock(&d->lock);
	w->hit = true;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

void sim_watch_close(struct watch *watch)
{
	struct simwatch *w = watch_of(watch);
	struct simdisk *d = w->process->disk;
	struct simwatch **at = &d->watches;

	pthread_mutex_lock(&d->lock);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_mutex_unlock(&d->lock);
	free(w);
}

/* simtool.c - knobs of the simulated disk, and what people do to its files. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/simimpl.h"

#define SET_FIRST 1024

uint64_t simdisk_open_files(struct simdisk *d)
{
	uint64_t n = 0;

	pthread_mutex_lock(&d->lock);
	for (const struct handle *h = d->handles; h; h = h->next)
		n++;
	pthread_mutex_unlock(&d->lock);
	return n;
}

void simdisk_kill(struct fs *fs)
{
	struct process *p = process_of(fs);

	pthread_mutex_lock(&p->disk->lock);
	process_die(p);
	pthread_mutex_unlock(&p->disk->lock);
}

bool simdisk_is_dead(struct fs *fs)
{
	struct process *p = process_of(fs);
	bool dead;

	pthread_mutex_lock(&p->disk->lock);
	dead = p->dead;
	pthread_mutex_unlock(&p->disk->lock);
	return dead;
}

void simdisk_kill_at(struct fs *fs, uint64_t n)
{
	simdisk_kill_in_write(fs, n, 0);
}

void simdisk_kill_in_write(struct fs *fs, uint64_t n, uint64_t bytes)
{
	struct process *p = process_of(fs);

	pthread_mutex_lock(&p->disk->lock);
	p->kill_in = n;
	p->kill_bytes = bytes;
	pthread_mutex_unlock(&p->disk->lock);
}

uint64_t simdisk_pending(struct simdisk *d)
{
	uint64_t n;

	pthread_mutex_lock(&d->lock);
	n = d->n_names;
	for (size_t i = 0; i < d->n_inodes; i++)
		n += d->inodes[i] ? d->inodes[i]->n_pending : 0;
	pthread_mutex_unlock(&d->lock);
	return n;
}

void simdisk_sync(struct simdisk *d)
{
	pthread_mutex_lock(&d->lock);
	disk_sync(d);
	pthread_mutex_unlock(&d->lock);
}

void simdisk_on_call(struct simdisk *d, simdisk_hook *hook, void *ctx)
{
	pthread_mutex_lock(&d->lock);
	d->hook = hook;
	d->hook_ctx = ctx;
	d->hooked = 0;
	pthread_mutex_unlock(&d->lock);
}

void simdisk_fail_at(struct simdisk *d, unsigned calls, uint64_t n, int error,
		     bool repeat)
{
	assert(n == 0 || error < 0);
	pthread_mutex_lock(&d->lock);
	d->fail_calls = calls;
	d->fail_in = n;
	d->fail_error = error;
	d->fail_repeat = repeat;
	pthread_mutex_unlock(&d->lock);
}

void simdisk_fail_part(struct simdisk *d, uint64_t bytes)
{
	pthread_mutex_lock(&d->lock);
	d->fail_part = bytes;
	pthread_mutex_unlock(&d->lock);
}

void simdisk_fail_sync(struct simdisk *d, uint64_t n, int error)
{
	assert(n == 0 || error < 0);
	pthread_mutex_lock(&d->lock);
	d->fail_sync_in = n;
	d->fail_sync_error = error;
	pthread_mutex_unlock(&d->lock);
}

uint64_t simdisk_faults_hit(struct simdisk *d)
{
	uint64_t n;

	pthread_mutex_lock(&d->lock);
	n = d->faults_hit;
	pthread_mutex_unlock(&d->lock);
	return n;
}

void simdisk_set_free(struct simdisk *d, uint64_t bytes)
{
	pthread_mutex_lock(&d->lock);
	d->free_bytes = bytes;
	pthread_mutex_unlock(&d->lock);
}

void simdisk_set_kind(struct simdisk *d, const char *kind, bool is_network,
		      bool is_read_only)
{
	size_t n = strlen(kind);

	assert(n < sizeof(d->kind));
	pthread_mutex_lock(&d->lock);
	memcpy(d->kind, kind, n + 1);
	d->is_network = is_network;
	d->is_read_only = is_read_only;
	pthread_mutex_unlock(&d->lock);
}

void simdisk_set_sync_all(struct simdisk *d, bool works)
{
	pthread_mutex_lock(&d->lock);
	d->no_sync_all = !works;
	pthread_mutex_unlock(&d->lock);
}

void simdisk_forget_syncs(struct simdisk *d, const char *pattern)
{
	pthread_mutex_lock(&d->lock);
	free(d->forgotten);
	d->forgotten = NULL;
	if (pattern) {
		d->forgotten = sim_alloc(strlen(pattern) + 1);
		memcpy(d->forgotten, pattern, strlen(pattern) + 1);
	}
	pthread_mutex_unlock(&d->lock);
}

void simdisk_set_time(struct simdisk *d, int64_t ms)
{
	pthread_mutex_lock(&d->lock);
	d->time_ms = ms;
	pthread_mutex_unlock(&d->lock);
}

uint64_t simcounts_of(const struct simcounts *c, unsigned calls)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < SIM_CALLS; i++)
		n += calls >> i & 1 ? c->calls[i] : 0;
	return n;
}

void simdisk_counts(struct simdisk *d, struct simcounts *ret)
{
	pthread_mutex_lock(&d->lock);
	*ret = d->counts;
	pthread_mutex_unlock(&d->lock);
}

void simdisk_process_counts(struct fs *fs, struct simcounts *ret)
{
	struct process *p = process_of(fs);

	pthread_mutex_lock(&p->disk->lock);
	*ret = p->counts;
	pthread_mutex_unlock(&p->disk->lock);
}

/* Find a file and take the lock, whatever it returns. */
static int edit(struct simdisk *d, const char *path, struct inode **ret)
{
	int r;

	pthread_mutex_lock(&d->lock);
	r = path_find(d, path, ret);
	if (r == 0 && (*ret)->is_dir)
		r = -EISDIR;
	return r;
}

static int edited(struct simdisk *d, int r)
{
	pthread_mutex_unlock(&d->lock);
	return r;
}

static void put(struct simdisk *d, struct inode *n, uint64_t at,
		struct weft_str bytes)
{
	struct fileop *op;

	if (bytes.len == 0)
		return;
	op = fileop_new(at, bytes.len);
	memcpy(op->bytes, bytes.ptr, bytes.len);
	inode_write(d, n, op);
}

int simdisk_set_owner(struct simdisk *d, const char *path, uint32_t uid)
{
	struct inode *n;
	int r = edit(d, path, &n);

	if (r == -EISDIR)
		r = 0;
	if (r == 0)
		n->uid = uid;
	return edited(d, r);
}

int simdisk_replace(struct simdisk *d, const char *path, struct weft_str bytes)
{
	struct inode *dir, *n;
	struct weft_str last;
	int r;

	pthread_mutex_lock(&d->lock);
	r = path_parent(d, path, &dir, &last);
	if (r == 0 && path_find(d, path, &n) == 0 && n->is_dir)
		r = -EISDIR;
	if (r == 0) {
		n = inode_new(d, false);
		put(d, n, 0, bytes);
		disk_rename(d, &(struct meaning){ dir, last, n->ino }, 1);
	}
	return edited(d, r);
}

int simdisk_overwrite(struct simdisk *d, const char *path, uint64_t at,
		      struct weft_str bytes)
{
	struct inode *n;
	int r = edit(d, path, &n);

	if (r == 0)
		put(d, n, at, bytes);
	return edited(d, r);
}

int simdisk_append(struct simdisk *d, const char *path, struct weft_str bytes)
{
	struct inode *n;
	int r = edit(d, path, &n);

	if (r == 0)
		put(d, n, n->cache.size, bytes);
	return edited(d, r);
}

int simdisk_resize(struct simdisk *d, const char *path, uint64_t size)
{
	struct inode *n;
	int r = edit(d, path, &n);

	if (r == 0)
		inode_cut(d, n, size);
	return edited(d, r);
}

int simdisk_flip(struct simdisk *d, const char *path, uint64_t at,
		 unsigned char mask)
{
	struct inode *n;
	char c;
	int r = edit(d, path, &n);

	if (r == 0 && content_read(&n->cache, &c, 1, at) == 0)
		r = -EINVAL;
	if (r == 0) {
		c = (char)(c ^ mask);
		put(d, n, at, (struct weft_str){ &c, 1 });
	}
	return edited(d, r);
}

int simdisk_remove(struct simdisk *d, const char *path)
{
	pthread_mutex_lock(&d->lock);
	return edited(d, path_remove(d, path, false));
}

char *simdisk_read(struct simdisk *d, const char *path, size_t *ret_len)
{
	struct inode *n;
	char *bytes = NULL;

	if (edit(d, path, &n) == 0) {
		size_t len = (size_t)n->cache.size;

		bytes = sim_alloc(len + 1);
		(void)content_read(&n->cache, bytes, len, 0);
		if (ret_len)
			*ret_len = len;
	}
	(void)edited(d, 0);
	return bytes;
}

struct path_list {
	char **paths;
	size_t n, room;
};

static void add_path(void *ctx, const char *path, const struct inode *n)
{
	struct path_list *l = ctx;
	size_t len = strlen(path) + 1;

	(void)n;
	l->paths = sim_grow(l->paths, l->n, &l->room, sizeof(char *));
	l->paths[l->n] = sim_alloc(len);
	memcpy(l->paths[l->n++], path, len);
}

void simdisk_each_path(struct simdisk *d,
		       void (*each)(void *ctx, const char *path), void *ctx)
{
	struct path_list l = { 0 };

	pthread_mutex_lock(&d->lock);
	tree_walk(d, add_path, &l);
	pthread_mutex_unlock(&d->lock);
	for (size_t i = 0; i < l.n; i++) {
		each(ctx, l.paths[i]);
		free(l.paths[i]);
	}
	free(l.paths);
}

/* Where `n` is, or would be. */
static size_t set_place(const struct simset *s, uint64_t n)
{
	size_t i = (size_t)sim_mix(n, 0) & (s->room - 1);

	while (s->slots[i] != 0 && s->slots[i] != n)
		i = (i + 1) & (s->room - 1);
	return i;
}

static void set_grow(struct simset *s)
{
	struct simset old = *s;

	s->room = old.room ? 2 * old.room : SET_FIRST;
	s->slots = sim_alloc(s->room * sizeof(*s->slots));
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i])
			s->slots[set_place(s, old.slots[i])] = old.slots[i];
	free(old.slots);
}

bool simset_has(const struct simset *s, uint64_t n)
{
	if (n == 0)
		return s->has_zero;
	return s->room > 0 && s->slots[set_place(s, n)] == n;
}

bool simset_add(struct simset *s, uint64_t n)
{
	if (simset_has(s, n))
		return false;
	s->count++;
	if (n == 0) {
		s->has_zero = true;
		return true;
	}
	if (2 * s->count >= s->room)
		set_grow(s);
	s->slots[set_place(s, n)] = n;
	return true;
}

void simset_done(struct simset *s)
{
	free(s->slots);
	*s = (struct simset){ 0 };
}

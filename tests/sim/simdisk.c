/*
 * simdisk.c - the simulated disk behind base/file.h.
 *
 * DESIGN
 *
 * A disk is a table of inodes.  An inode is in two places at once:
 *
 *   cache   what every process sees; all calls read and change this
 *   disk    what a power cut cannot take away; only syncs change this
 *
 * and between them stands what is pending, in the order in which it was done:
 * writes and truncations per file, changes of names in one list for the whole
 * disk.  Invariants:
 *
 *   1. disk + all that is pending = cache, unless a sync has failed.
 *   2. A sync applies the pending changes of its object to `disk` and forgets
 *      them.  It never copies the cache, so what a failed sync forgot stays
 *      off the disk until it is written again (that is how Linux treats pages
 *      whose write-back failed: clean, visible, lost).
 *   3. A power cut applies some of the pending changes, in order, and makes
 *      the cache a copy of the disk (simcrash.c).
 *   4. What a file system does in one go stays whole: a sector, and a rename.
 *      A kept sector holds all that the cache held in it at the time of the
 *      kept write.  A kept change of a name keeps the earlier ones of that
 *      name.  All else is independent: data of sizes, files of their names,
 *      a directory of its parent.  That is weaker than any file system in
 *      use, so code that survives here relies on no particular one.
 *
 * Bytes are in reference-counted pages, pending changes and names are
 * immutable and counted too: a clone copies pointers, which makes ten
 * thousand crash states affordable.
 *
 * Every call of a process goes through enter() and leave(): the lock, the
 * hook, counting, death and planned failures are there and nowhere else.
 *
 *   simpage.c    bytes                   simlock.c   locks, watches, death
 *   siminode.c   inodes, names, paths    simcrash.c  clones, power cuts
 *   simsync.c    what syncs do           simtool.c   knobs, people's edits
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "sim/simimpl.h"

struct process *process_of(struct fs *fs)
{
	assert(fs->ops == &sim_ops);
	return (struct process *)(void *)fs;
}

static struct handle *handle_of(struct file *f)
{
	assert(f->ops == &sim_ops);
	return (struct handle *)(void *)f;
}

static void count(struct simcounts *c, unsigned calls)
{
	for (unsigned i = 0; i < SIM_CALLS; i++)
		c->calls[i] += calls >> i & 1;
}

/* Is this the call that was to kill its process? */
static bool dies_now(struct process *p, unsigned calls)
{
	if (!(calls & SIM_MUTATING) || p->kill_in == 0)
		return false;
	return --p->kill_in == 0;
}

/* The planned failure of this call, or 0. */
static int planned_failure(struct simdisk *d, unsigned calls)
{
	if (!(calls & d->fail_calls) || d->fail_in == 0)
		return 0;
	if (--d->fail_in > 0)
		return 0;
	if (d->fail_repeat)
		d->fail_in = 1;
	d->faults_hit++;
	return d->fail_error;
}

/*
 * Begin a call of `p`: takes the lock, whatever it returns.  On failure
 * *ret_part (may be NULL) says how many bytes a write is to leave behind.
 */
static int enter(struct process *p, unsigned calls, uint64_t *ret_part)
{
	struct simdisk *d = p->disk;
	uint64_t ignored;
	int r;

	if (!ret_part)
		ret_part = &ignored;
	*ret_part = 0;
	pthread_mutex_lock(&d->lock);
	if (!p->dead && d->hook &&
	    calls & (SIM_MUTATING | SIM_LOCK | SIM_SLEEP)) {
		simdisk_hook *hook = d->hook;
		void *ctx = d->hook_ctx;
		uint64_t n = ++d->hooked;

		pthread_mutex_unlock(&d->lock);
		hook(ctx, d, calls, n);
		pthread_mutex_lock(&d->lock);
	}
	if (p->dead)
		return -EIO;
	if (dies_now(p, calls)) {
		*ret_part = p->kill_bytes;
		process_die(p);
		return -EIO;
	}
	count(&p->counts, calls);
	count(&d->counts, calls);
	if (d->is_read_only && calls & SIM_MUTATING & ~(unsigned)SIM_SYNCS)
		return -EROFS;
	r = planned_failure(d, calls);
	if (r < 0)
		*ret_part = d->fail_part;
	return r;
}

static int leave(const struct process *p, int r)
{
	pthread_mutex_unlock(&p->disk->lock);
	return r;
}

static int open_inode(struct process *p, const char *path, unsigned flags,
		      struct file **ret)
{
	struct simdisk *d = p->disk;
	struct inode *n;
	struct handle *h;
	int r = path_find(d, path, &n);

	if (r == 0 && flags & FILE_CREATE && flags & FILE_EXCLUSIVE)
		return -EEXIST;
	if (r == -ENOENT && flags & FILE_CREATE)
		r = path_create(d, path, false, &n);
	if (r < 0)
		return r;
	if (n->is_dir && flags & (FILE_WRITE | FILE_CREATE))
		return -EISDIR;
	if (d->is_read_only && flags & FILE_WRITE)
		return -EROFS;
	h = sim_alloc(sizeof(*h));
	*h = (struct handle){ .base = { &sim_ops },
			      .process = p,
			      .inode = n,
			      .writable = flags & FILE_WRITE,
			      .next = d->handles };
	n->handles++;
	d->handles = h;
	*ret = &h->base;
	return 0;
}

static int sim_open(struct fs *fs, const char *path, unsigned flags,
		    struct file **ret)
{
	struct process *p = process_of(fs);
	unsigned calls = SIM_OPEN;
	struct inode *n;
	int r;

	pthread_mutex_lock(&p->disk->lock);
	if (flags & FILE_CREATE && path_find(p->disk, path, &n) == -ENOENT)
		calls |= SIM_CREATE;
	pthread_mutex_unlock(&p->disk->lock);
	r = enter(p, calls, NULL);
	if (r == 0)
		r = open_inode(p, path, flags, ret);
	return leave(p, r);
}

static void sim_close(struct file *f)
{
	struct handle *h = handle_of(f);
	struct simdisk *d = h->process->disk;
	struct handle **at = &d->handles;

	pthread_mutex_lock(&d->lock);
	disk_unlock_all(d, h);
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	if (h->inode) {
		h->inode->handles--;
		inode_release_space(d, h->inode);
	}
	pthread_mutex_unlock(&d->lock);
	free(h);
}

static ssize_t sim_read(struct file *f, void *to, size_t n, uint64_t at)
{
	struct handle *h = handle_of(f);
	ssize_t got = 0;
	int r = enter(h->process, SIM_READ, NULL);

	if (r == 0 && h->inode->is_dir)
		r = -EISDIR;
	if (r == 0) {
		got = (ssize_t)content_read(&h->inode->cache, to, n, at);
		h->process->counts.bytes_read += (uint64_t)got;
		h->process->disk->counts.bytes_read += (uint64_t)got;
	}
	r = leave(h->process, r);
	return r < 0 ? r : got;
}

/* All of `v` as one pending write. */
static struct fileop *gather(const struct iovec *v, int n, uint64_t at)
{
	struct fileop *op;
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += v[i].iov_len;
	op = fileop_new(at, len);
	len = 0;
	for (int i = 0; i < n; i++) {
		if (v[i].iov_len)
			memcpy(op->bytes + len, v[i].iov_base, v[i].iov_len);
		len += v[i].iov_len;
	}
	return op;
}

/* How much of a write the free space allows. */
static size_t space_for(const struct simdisk *d, const struct inode *n,
			const struct fileop *op)
{
	uint64_t left = d->free_bytes / SIM_PAGE;
	uint64_t end = op->at + op->len;

	for (uint64_t page = op->at / SIM_PAGE; page * SIM_PAGE < end; page++) {
		if (content_has_page(&n->cache, page))
			continue;
		if (left == 0)
			return (size_t)(u64_max(page * SIM_PAGE, op->at) -
					op->at);
		left--;
	}
	return op->len;
}

/* `r` < 0: it fails, but for its first `part` bytes.  Takes over `op`. */
static int do_write(struct handle *h, struct fileop *op, int r, uint64_t part)
{
	struct process *p = h->process;
	size_t room;

	if (r == 0 && !h->writable)
		r = -EBADF;
	else if (r == 0 && op->at + op->len > SIM_FILE_MAX)
		r = -EFBIG;
	else if (r == 0)
		part = op->len;
	room = part > 0 ? space_for(p->disk, h->inode, op) : 0;
	if (r == 0 && room < op->len)
		r = -ENOSPC;
	op->len = (size_t)u64_min(u64_min(op->len, part), room);
	if (op->len == 0) {
		fileop_unref(op);
		return r;
	}
	p->counts.bytes_written += op->len;
	p->disk->counts.bytes_written += op->len;
	inode_write(p->disk, h->inode, op);
	return r;
}

static ssize_t sim_write(struct file *f, const struct iovec *v, int n,
			 uint64_t at)
{
	struct handle *h = handle_of(f);
	struct fileop *op = gather(v, n, at);
	size_t len = op->len;
	uint64_t part;
	int r = enter(h->process, SIM_WRITE, &part);

	r = leave(h->process, do_write(h, op, r, part));
	return r < 0 ? r : (ssize_t)len;
}

static int sim_truncate(struct file *f, uint64_t size)
{
	struct handle *h = handle_of(f);
	int r = enter(h->process, SIM_TRUNCATE, NULL);

	if (r == 0 && !h->writable)
		r = -EBADF;
	if (r == 0 && size > SIM_FILE_MAX)
		r = -EFBIG;
	if (r == 0)
		inode_cut(h->process->disk, h->inode, size);
	return leave(h->process, r);
}

/* Is this the sync that was to fail and lose what it was to write? */
static int planned_loss(struct simdisk *d)
{
	if (d->fail_sync_in == 0 || --d->fail_sync_in > 0)
		return 0;
	d->faults_hit++;
	return d->fail_sync_error;
}

static int sync_inode(struct simdisk *d, struct inode *n)
{
	int r = planned_loss(d);

	assert(n); /* only the dead have handles without one */
	if (sync_is_forgotten(d, n)) {
		d->faults_hit++;
		return 0;
	}
	if (n->is_dir && r < 0)
		dir_lose(d, n);
	else if (n->is_dir)
		dir_sync(d, n);
	else if (r < 0)
		inode_lose(n);
	else
		inode_sync(n);
	return r;
}

static int sim_sync(struct file *f, bool data_only)
{
	struct handle *h = handle_of(f);
	unsigned call = SIM_SYNC;
	int r;

	(void)data_only; /* sizes go with the data, and there is no more */
	pthread_mutex_lock(&h->process->disk->lock);
	if (h->inode && h->inode->is_dir)
		call = SIM_SYNC_DIR;
	pthread_mutex_unlock(&h->process->disk->lock);
	r = enter(h->process, call, NULL);
	if (r == 0)
		r = sync_inode(h->process->disk, h->inode);
	return leave(h->process, r);
}

static int sim_sync_all(struct file *f)
{
	struct handle *h = handle_of(f);
	struct simdisk *d = h->process->disk;
	int r = enter(h->process, SIM_SYNC_ALL, NULL);

	if (r == 0 && d->no_sync_all)
		r = -ENOSYS;
	else if (r == 0) {
		r = planned_loss(d);
		if (r < 0)
			disk_lose(d);
		else
			disk_sync(d);
	}
	return leave(h->process, r);
}

/* What it writes is still pending: a power cut may keep it or not, as ever. */
static int sim_write_back(struct file *f)
{
	struct handle *h = handle_of(f);
	int r = enter(h->process, SIM_WRITE_BACK, NULL);

	if (r == 0) {
		r = planned_loss(h->process->disk);
		if (r < 0)
			inode_lose(h->inode);
	}
	return leave(h->process, r);
}

static void fill_stat(const struct inode *n, struct file_stat *ret)
{
	*ret = (struct file_stat){ .dev = 1,
				   .ino = n->ino,
				   .size = n->cache.size,
				   .links = n->links,
				   .mtime_ms = n->mtime_ms,
				   .uid = n->uid,
				   .mode = n->is_dir ? 0700 : 0600,
				   .is_dir = n->is_dir,
				   .is_file = !n->is_dir };
}

static int sim_fstat(struct file *f, struct file_stat *ret)
{
	struct handle *h = handle_of(f);
	int r = enter(h->process, SIM_STAT, NULL);

	if (r == 0)
		fill_stat(h->inode, ret);
	return leave(h->process, r);
}

static int sim_stat(struct fs *fs, const char *path, struct file_stat *ret)
{
	struct process *p = process_of(fs);
	struct inode *n;
	int r = enter(p, SIM_STAT, NULL);

	if (r == 0)
		r = path_find(p->disk, path, &n);
	if (r == 0)
		fill_stat(n, ret);
	return leave(p, r);
}

static int sim_lock(struct file *f, uint64_t at, uint64_t n,
		    enum file_lock_mode mode)
{
	struct handle *h = handle_of(f);
	int r = enter(h->process, SIM_LOCK, NULL);

	if (r == 0)
		r = disk_lock(h, at, n, mode);
	return leave(h->process, r);
}

static int sim_mkdir(struct fs *fs, const char *path)
{
	struct process *p = process_of(fs);
	int r = enter(p, SIM_MKDIR, NULL);

	if (r == 0)
		r = path_create(p->disk, path, true, NULL);
	return leave(p, r);
}

static int sim_rename(struct fs *fs, const char *from, const char *to)
{
	struct process *p = process_of(fs);
	int r = enter(p, SIM_RENAME, NULL);

	if (r == 0)
		r = path_rename(p->disk, from, to);
	return leave(p, r);
}

static int sim_unlink(struct fs *fs, const char *path)
{
	struct process *p = process_of(fs);
	int r = enter(p, SIM_UNLINK, NULL);

	if (r == 0)
		r = path_remove(p->disk, path, false);
	return leave(p, r);
}

static int sim_rmdir(struct fs *fs, const char *path)
{
	struct process *p = process_of(fs);
	int r = enter(p, SIM_UNLINK, NULL);

	if (r == 0)
		r = path_remove(p->disk, path, true);
	return leave(p, r);
}

static int sim_sync_dir(struct fs *fs, const char *path)
{
	struct process *p = process_of(fs);
	struct inode *n;
	int r = enter(p, SIM_SYNC_DIR, NULL);

	if (r == 0)
		r = path_find(p->disk, path, &n);
	if (r == 0 && !n->is_dir)
		r = -ENOTDIR;
	if (r == 0)
		r = sync_inode(p->disk, n);
	return leave(p, r);
}

static int sim_list(struct fs *fs, const char *path,
		    int (*each)(void *ctx, const char *name), void *ctx)
{
	struct process *p = process_of(fs);
	struct entries names = { 0 };
	struct inode *n;
	int r = enter(p, SIM_LIST, NULL);

	if (r == 0)
		r = path_find(p->disk, path, &n);
	if (r == 0 && !n->is_dir)
		r = -ENOTDIR;
	if (r == 0)
		entries_copy(&names, &n->cache_names);
	r = leave(p, r);
	/* Without the lock: `each` may well look at what it is told of. */
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = each(ctx, names.at[i].name->text);
	entries_done(&names);
	return r;
}

static int sim_space(struct fs *fs, const char *path, struct fs_space *ret)
{
	struct process *p = process_of(fs);
	struct simdisk *d = p->disk;
	struct inode *n;
	int r = enter(p, SIM_STAT, NULL);

	if (r == 0)
		r = path_find(d, path, &n);
	if (r == 0) {
		*ret = (struct fs_space){ .free_bytes = d->free_bytes,
					  .total_bytes = (uint64_t)1 << 42,
					  .is_network = d->is_network,
					  .is_read_only = d->is_read_only };
		memcpy(ret->kind, d->kind, sizeof(ret->kind));
	}
	return leave(p, r);
}

static void sim_sleep_us(struct fs *fs, unsigned us)
{
	struct process *p = process_of(fs);
	struct timespec t = { us / 1000000, (long)(us % 1000000) * 1000 };

	/* In real time: it is other threads that it waits for. */
	if (leave(p, enter(p, SIM_SLEEP, NULL)) == 0)
		(void)nanosleep(&t, NULL);
}

const struct fs_ops sim_ops = {
	.open = sim_open,
	.close = sim_close,
	.read = sim_read,
	.write = sim_write,
	.truncate = sim_truncate,
	.sync = sim_sync,
	.sync_all = sim_sync_all,
	.write_back = sim_write_back,
	.fstat = sim_fstat,
	.lock = sim_lock,
	.stat = sim_stat,
	.mkdir = sim_mkdir,
	.rename = sim_rename,
	.unlink = sim_unlink,
	.rmdir = sim_rmdir,
	.sync_dir = sim_sync_dir,
	.list = sim_list,
	.space = sim_space,
	.sleep_us = sim_sleep_us,
	.watch_open = sim_watch_open,
	.watch_wait = sim_watch_wait,
	.watch_wake = sim_watch_wake,
	.watch_close = sim_watch_close,
};

struct fs *simdisk_process(struct simdisk *d)
{
	struct process *p = sim_alloc(sizeof(*p));

	p->base.ops = &sim_ops;
	p->disk = d;
	pthread_mutex_lock(&d->lock);
	p->next = d->processes;
	d->processes = p;
	pthread_mutex_unlock(&d->lock);
	return &p->base;
}

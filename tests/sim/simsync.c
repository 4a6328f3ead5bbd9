/* simsync.c - what syncs make durable, and what failed ones lose. */
#include <fnmatch.h>
#include <stdlib.h>

#include "sim/simimpl.h"

void inode_sync(struct inode *n)
{
	/*
	 * Not simply the cache's content: what an earlier sync failed to
	 * write is in the cache and must stay off the disk.
	 */
	for (size_t i = 0; i < n->n_pending; i++) {
		const struct fileop *op = n->pending[i];

		if (op->is_cut) {
			content_cut(&n->disk, op->at);
			continue;
		}
		content_put(&n->disk, op->at, op->bytes, op->len);
		n->disk.size = u64_max(n->disk.size, op->at + op->len);
	}
	inode_forget_pending(n);
}

void inode_lose(struct inode *n)
{
	inode_forget_pending(n);
}

/* Does any of its names appear in a change that is kept later on? */
static bool is_needed(const struct nameop *op, const struct simset *needed)
{
	for (unsigned i = 0; i < op->n; i++)
		if (simset_has(needed, op->slot[i].key))
			return true;
	return false;
}

/*
 * A file system that has written a later change of a name has written the
 * earlier ones: a file moved twice is never at both its old places.
 */
static void keep_what_is_needed(const struct simdisk *d, bool *keep)
{
	struct simset needed = { 0 };

	for (size_t i = d->n_names; i-- > 0;) {
		const struct nameop *op = d->names[i].op;

		keep[i] = keep[i] || is_needed(op, &needed);
		for (unsigned k = 0; keep[i] && k < op->n; k++)
			(void)simset_add(&needed, op->slot[k].key);
	}
	simset_done(&needed);
}

/* Make the kept ones durable and forget those that are `gone`. */
static void settle(struct simdisk *d, const bool *keep, const bool *gone)
{
	size_t out = 0;

	for (size_t i = 0; i < d->n_names; i++) {
		if (keep[i])
			nameop_apply(d, d->names[i].op);
		if (keep[i] || gone[i])
			nameop_unref(d->names[i].op);
		else
			d->names[out++] = d->names[i];
	}
	d->n_names = out;
}

void names_settle(struct simdisk *d, bool *keep)
{
	bool *gone = sim_alloc(d->n_names + 1);

	keep_what_is_needed(d, keep);
	memset(gone, true, d->n_names);
	settle(d, keep, gone);
	free(gone);
}

void dir_sync(struct simdisk *d, const struct inode *dir)
{
	bool *keep = sim_alloc(d->n_names + 1);
	bool *gone = sim_alloc(d->n_names + 1);

	for (size_t i = 0; i < d->n_names; i++) {
		struct pending_name *p = &d->names[i];

		keep[i] = true;
		for (unsigned k = 0; k < p->op->n; k++) {
			if (p->op->slot[k].dir == dir->ino)
				p->synced[k] = true;
			keep[i] = keep[i] && p->synced[k];
		}
	}
	keep_what_is_needed(d, keep);
	settle(d, keep, gone);
	free(keep);
	free(gone);
	if (d->unlinks > 64)
		disk_sweep(d);
}

void dir_lose(struct simdisk *d, const struct inode *dir)
{
	bool *keep = sim_alloc(d->n_names + 1);
	bool *gone = sim_alloc(d->n_names + 1);

	for (size_t i = 0; i < d->n_names; i++)
		for (unsigned k = 0; k < d->names[i].op->n; k++)
			if (d->names[i].op->slot[k].dir == dir->ino)
				gone[i] = true;
	settle(d, keep, gone);
	free(keep);
	free(gone);
}

void disk_sync(struct simdisk *d)
{
	bool *keep = sim_alloc(d->n_names + 1);

	memset(keep, true, d->n_names);
	names_settle(d, keep);
	free(keep);
	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i])
			inode_sync(d->inodes[i]);
}

void disk_lose(struct simdisk *d)
{
	bool *keep = sim_alloc(d->n_names + 1);
	bool *gone = sim_alloc(d->n_names + 1);

	memset(gone, true, d->n_names);
	settle(d, keep, gone);
	free(keep);
	free(gone);
	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i])
			inode_lose(d->inodes[i]);
}

struct naming {
	const struct inode *wanted;
	const char *pattern;
	bool found;
};

static void look_for(void *ctx, const char *path, const struct inode *n)
{
	struct naming *g = ctx;

	if (n == g->wanted && fnmatch(g->pattern, path, 0) == 0)
		g->found = true;
}

bool sync_is_forgotten(struct simdisk *d, const struct inode *n)
{
	struct naming g = { n, d->forgotten, false };

	if (d->forgotten)
		tree_walk(d, look_for, &g);
	return g.found;
}

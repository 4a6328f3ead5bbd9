/* simcrash.c - disks made, copied and cut off from their power. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/simimpl.h"

/* Nine minutes past midnight on 15 November 2026. */
#define TIME_AT_FIRST INT64_C(1794701340000)

static struct simdisk *new_disk(void)
{
	struct simdisk *d = sim_alloc(sizeof(*d));
	pthread_condattr_t attr;

	(void)pthread_mutex_init(&d->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&d->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	return d;
}

struct simdisk *simdisk_new(void)
{
	struct simdisk *d = new_disk();

	d->free_bytes = (uint64_t)1 << 40;
	d->time_ms = TIME_AT_FIRST;
	memcpy(d->kind, "sim", 4);
	d->inodes = sim_grow(NULL, 0, &d->room_inodes, sizeof(struct inode *));
	d->inodes[d->n_inodes++] = NULL; /* number 0 means none */
	inode_new(d, true)->links = 1;   /* SIM_ROOT */
	return d;
}

void simdisk_free(struct simdisk *d)
{
	if (!d)
		return;
	assert(!d->handles && !d->watches);
	while (d->processes) {
		struct process *next = d->processes->next;

		free(d->processes);
		d->processes = next;
	}
	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i])
			inode_free(d->inodes[i]);
	for (size_t i = 0; i < d->n_names; i++)
		nameop_unref(d->names[i].op);
	free(d->inodes);
	free(d->names);
	free(d->locks);
	free(d->forgotten);
	(void)pthread_cond_destroy(&d->changed);
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
}

static struct inode *clone_inode(const struct inode *from)
{
	struct inode *n = sim_alloc(sizeof(*n));

	n->ino = from->ino;
	n->is_dir = from->is_dir;
	n->uid = from->uid;
	n->links = from->links;
	n->mtime_ms = from->mtime_ms;
	content_share(&n->cache, &from->cache);
	content_share(&n->disk, &from->disk);
	entries_copy(&n->cache_names, &from->cache_names);
	entries_copy(&n->disk_names, &from->disk_names);
	if (from->n_pending == 0)
		return n;
	n->pending = sim_alloc(from->n_pending * sizeof(struct fileop *));
	n->n_pending = n->room_pending = from->n_pending;
	for (size_t i = 0; i < from->n_pending; i++) {
		n->pending[i] = from->pending[i];
		atomic_fetch_add(&n->pending[i]->refs, 1);
	}
	return n;
}

static void clone_names(struct simdisk *to, const struct simdisk *from)
{
	if (from->n_names == 0)
		return;
	to->names = sim_alloc(from->n_names * sizeof(*to->names));
	to->n_names = to->room_names = from->n_names;
	for (size_t i = 0; i < from->n_names; i++) {
		to->names[i] = from->names[i];
		atomic_fetch_add(&to->names[i].op->refs, 1);
	}
}

struct simdisk *simdisk_clone(struct simdisk *d)
{
	struct simdisk *c = new_disk();

	pthread_mutex_lock(&d->lock);
	c->inodes = sim_alloc(d->n_inodes * sizeof(struct inode *));
	c->n_inodes = c->room_inodes = d->n_inodes;
	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i])
			c->inodes[i] = clone_inode(d->inodes[i]);
	clone_names(c, d);
	c->free_bytes = d->free_bytes;
	/* What only an open file held on to, nobody holds on to here. */
	for (size_t i = 0; i < c->n_inodes; i++)
		if (c->inodes[i])
			inode_release_space(c, c->inodes[i]);
	c->time_ms = d->time_ms;
	c->boot_ino = d->boot_ino;
	c->boots = d->boots;
	memcpy(c->kind, d->kind, sizeof(c->kind));
	c->is_network = d->is_network;
	c->is_read_only = d->is_read_only;
	c->no_sync_all = d->no_sync_all;
	pthread_mutex_unlock(&d->lock);
	return c;
}

struct fingerprint {
	uint64_t hash;
};

static void add_to_fingerprint(void *ctx, const char *path,
			       const struct inode *n)
{
	struct fingerprint *f = ctx;

	f->hash = sim_mix(f->hash, sim_hash(path, strlen(path)));
	f->hash = sim_mix(f->hash, content_hash(&n->cache));
}

static uint64_t fingerprint(struct simdisk *d)
{
	struct fingerprint f = { 0 };

	tree_walk(d, add_to_fingerprint, &f);
	return f.hash;
}

uint64_t simdisk_fingerprint(struct simdisk *d)
{
	uint64_t hash;

	pthread_mutex_lock(&d->lock);
	hash = fingerprint(d);
	pthread_mutex_unlock(&d->lock);
	return hash;
}

/* What becomes of one pending write. */
enum fate {
	FATE_LOST,
	FATE_KEPT,
	FATE_SIZE,   /* the size grows over zeros */
	FATE_PREFIX, /* its first sectors */
	FATE_SUBSET, /* any of its sectors */
	FATE_ASKED,  /* any of its sectors, as the index says */
};

struct chooser {
	enum simcut how;
	uint64_t number; /* SIM_INDEX: the answers; SIM_RANDOM: the state */
	uint64_t luck;   /* of 16 changes so many are kept whole */
	struct simcut_report said;
};

static uint64_t draw(struct chooser *c, uint64_t below)
{
	c->number = sim_mix(c->number, 1);
	return c->number % below;
}

static bool coin(struct chooser *c)
{
	return draw(c, 2) == 1;
}

/* Answer one question of SIM_INDEX. */
static bool ask(struct chooser *c)
{
	uint64_t i = c->said.questions++;

	return i < 64 && (c->number >> i & 1);
}

/* Keep something that is whole or gone? */
static bool keeps(struct chooser *c)
{
	bool kept = c->how == SIM_KEEP_ALL;

	if (c->how == SIM_RANDOM)
		kept = draw(c, 16) < c->luck;
	if (c->how == SIM_INDEX)
		kept = ask(c);
	else
		c->said.questions++;
	c->said.kept += kept ? 1 : 0;
	c->said.lost += kept ? 0 : 1;
	return kept;
}

static enum fate fate_of_write(struct chooser *c)
{
	switch (c->how) {
	case SIM_LOSE_ALL:
		return FATE_LOST;
	case SIM_KEEP_ALL:
		return FATE_KEPT;
	case SIM_INDEX:
		return FATE_ASKED;
	case SIM_RANDOM:
		break;
	}
	if (draw(c, 16) < c->luck)
		return FATE_KEPT;
	switch (draw(c, 5)) {
	case 0:
		return FATE_SIZE;
	case 1:
		return FATE_PREFIX;
	case 2:
		return FATE_SUBSET;
	default:
		return FATE_LOST;
	}
}

/* Is its i-th sector kept?  `prefix` is how many a prefix has. */
static bool keeps_sector(struct chooser *c, enum fate fate, uint64_t i,
			 uint64_t prefix)
{
	switch (fate) {
	case FATE_KEPT:
		return true;
	case FATE_PREFIX:
		return i < prefix;
	case FATE_SUBSET:
		return coin(c);
	case FATE_ASKED:
		return ask(c);
	case FATE_LOST:
	case FATE_SIZE:
		break;
	}
	return false;
}

static bool keeps_size(struct chooser *c, enum fate fate)
{
	switch (fate) {
	case FATE_KEPT:
	case FATE_SIZE:
		return true;
	case FATE_PREFIX:
	case FATE_SUBSET:
		return coin(c);
	case FATE_ASKED:
		return ask(c);
	case FATE_LOST:
		break;
	}
	return false;
}

/*
 * The cache had `seen` after this write; decide what of it `out` gets.
 * Whether it `grows` must not hang on earlier answers, or there would be no
 * saying how many questions there are.
 */
static void cut_write(struct chooser *c, const struct fileop *op, bool grows,
		      const struct content *seen, struct content *out)
{
	uint64_t first = op->at / SIM_SECTOR, end = op->at + op->len;
	uint64_t n = (end - 1) / SIM_SECTOR + 1 - first, kept = 0;
	enum fate fate = fate_of_write(c);
	uint64_t prefix = fate == FATE_PREFIX ? draw(c, n + 1) : 0;

	for (uint64_t i = 0; i < n; i++)
		if (keeps_sector(c, fate, i, prefix)) {
			content_copy_sector(out, seen, first + i);
			kept++;
		}
	if (grows && keeps_size(c, fate))
		out->size = u64_max(out->size, end);
	if (c->how != SIM_INDEX)
		c->said.questions += n + (grows ? 1 : 0);
	c->said.kept += kept == n ? 1 : 0;
	c->said.lost += kept == 0 ? 1 : 0;
	c->said.torn += kept > 0 && kept < n ? 1 : 0;
}

static void cut_file(struct chooser *c, struct inode *n)
{
	uint64_t least = n->disk.size; /* that it may have on the way */
	struct content seen;

	for (size_t i = 0; i < n->n_pending; i++)
		if (n->pending[i]->is_cut)
			least = u64_min(least, n->pending[i]->at);
	/* Replays what the cache looked like, to take whole sectors from. */
	content_share(&seen, &n->disk);
	for (size_t i = 0; i < n->n_pending; i++) {
		const struct fileop *op = n->pending[i];

		if (!op->is_cut) {
			content_put(&seen, op->at, op->bytes, op->len);
			seen.size = u64_max(seen.size, op->at + op->len);
			cut_write(c, op, op->at + op->len > least, &seen,
				  &n->disk);
			continue;
		}
		content_cut(&seen, op->at);
		if (keeps(c))
			content_cut(&n->disk, op->at);
	}
	content_done(&seen);
	content_cut(&n->disk, n->disk.size);
	inode_forget_pending(n);
}

static void cut_names(struct chooser *c, struct simdisk *d)
{
	bool *keep = sim_alloc(d->n_names + 1);

	for (size_t i = 0; i < d->n_names; i++)
		keep[i] = keeps(c);
	names_settle(d, keep);
	free(keep);
}

static void count_links(struct simdisk *d)
{
	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i])
			d->inodes[i]->links = i == SIM_ROOT;
	for (size_t i = 0; i < d->n_inodes; i++) {
		const struct inode *dir = d->inodes[i];

		for (size_t k = 0; dir && k < dir->cache_names.n; k++)
			d->inodes[dir->cache_names.at[k].ino]->links++;
	}
}

/* The cache starts over from the disk; nobody has anything open. */
static void start_over(struct simdisk *d)
{
	for (struct handle *h = d->handles; h; h = h->next)
		h->inode = NULL;
	for (size_t i = 0; i < d->n_inodes; i++) {
		struct inode *n = d->inodes[i];

		if (!n)
			continue;
		d->free_bytes += (uint64_t)n->cache.used * SIM_PAGE;
		content_done(&n->cache);
		entries_done(&n->cache_names);
		content_share(&n->cache, &n->disk);
		entries_copy(&n->cache_names, &n->disk_names);
		n->handles = 0;
	}
	disk_sweep(d);
	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i])
			d->free_bytes -= u64_min(
				d->free_bytes,
				(uint64_t)d->inodes[i]->cache.used * SIM_PAGE);
	count_links(d);
}

/* Nothing of it is ever pending: no disk is behind that file. */
static void write_boots(struct simdisk *d)
{
	struct inode *n = d->inodes[d->boot_ino];
	char text[24];
	int len = snprintf(text, sizeof(text), "%020" PRIu64, d->boots);

	content_put(&n->disk, 0, text, (size_t)len);
	n->disk.size = (uint64_t)len;
	content_done(&n->cache);
	content_share(&n->cache, &n->disk);
}

void simdisk_tell_boots(struct simdisk *d, const char *path)
{
	struct fs *fs = simdisk_process(d);
	struct inode *n = NULL;
	struct file *f = NULL;
	char part[256];

	for (const char *at = strchr(path + 1, '/'); at;
	     at = strchr(at + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(at - path),
			       path);
		(void)fs_mkdir(fs, part);
	}
	if (file_open(fs, path, FILE_WRITE | FILE_CREATE, &f) < 0)
		abort();
	file_close(f);
	simdisk_sync(d);
	pthread_mutex_lock(&d->lock);
	(void)path_find(d, path, &n);
	d->boot_ino = n->ino;
	write_boots(d);
	pthread_mutex_unlock(&d->lock);
}

uint64_t simdisk_power_cut(struct simdisk *d, enum simcut how, uint64_t number,
			   struct simcut_report *ret)
{
	/* From "nearly nothing is kept" to "all but one or two". */
	static const uint64_t luck[] = { 1, 4, 8, 12, 15 };
	struct chooser c = { .how = how, .number = number };

	if (how == SIM_RANDOM)
		c.luck = luck[draw(&c, ARRAY_LEN(luck))];
	pthread_mutex_lock(&d->lock);
	for (struct process *p = d->processes; p; p = p->next)
		process_die(p);
	cut_names(&c, d);
	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i])
			cut_file(&c, d->inodes[i]);
	start_over(d);
	d->boots++;
	if (d->boot_ino)
		write_boots(d);
	c.said.state = fingerprint(d);
	pthread_mutex_unlock(&d->lock);
	if (ret)
		*ret = c.said;
	return c.said.state;
}

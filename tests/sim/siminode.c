/* siminode.c - inodes, names and paths of the simulated disk. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/simimpl.h"

#define NAME_BYTES_MAX 255
#define PATH_BYTES_MAX 4096

/* A file that is overwritten in place and never synced, such as a shared
 * counter, keeps about this many versions: enough to lose any of them. */
#define VERSIONS_MANY 512
#define VERSIONS_KEPT 32

struct inode *inode_at(struct simdisk *d, uint32_t ino)
{
	return ino < d->n_inodes ? d->inodes[ino] : NULL;
}

struct inode *inode_new(struct simdisk *d, bool is_dir)
{
	struct inode *n = sim_alloc(sizeof(*n));

	d->inodes = sim_grow(d->inodes, d->n_inodes, &d->room_inodes,
			     sizeof(struct inode *));
	n->ino = (uint32_t)d->n_inodes;
	d->inodes[d->n_inodes++] = n;
	n->is_dir = is_dir;
	n->uid = geteuid();
	n->mtime_ms = d->time_ms;
	return n;
}

void inode_forget_pending(struct inode *n)
{
	for (size_t i = 0; i < n->n_pending; i++)
		fileop_unref(n->pending[i]);
	n->n_pending = 0;
}

void inode_free(struct inode *n)
{
	inode_forget_pending(n);
	free(n->pending);
	content_done(&n->cache);
	content_done(&n->disk);
	entries_done(&n->cache_names);
	entries_done(&n->disk_names);
	free(n);
}

void inode_release_space(struct simdisk *d, struct inode *n)
{
	if (n->links > 0 || n->handles > 0)
		return;
	d->free_bytes += (uint64_t)n->cache.used * SIM_PAGE;
	content_done(&n->cache);
}

static void reach(struct simdisk *d, uint32_t ino, uint32_t *queue, size_t *n)
{
	struct inode *found = inode_at(d, ino);

	if (!found || found->reached)
		return;
	found->reached = true;
	queue[(*n)++] = ino;
}

void disk_sweep(struct simdisk *d)
{
	uint32_t *queue = sim_alloc(d->n_inodes * sizeof(*queue));
	size_t n = 0;

	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i])
			d->inodes[i]->reached = false;
	reach(d, SIM_ROOT, queue, &n);
	for (size_t i = 0; i < d->n_names; i++)
		for (unsigned k = 0; k < d->names[i].op->n; k++) {
			reach(d, d->names[i].op->slot[k].ino, queue, &n);
			reach(d, d->names[i].op->slot[k].dir, queue, &n);
		}
	for (struct handle *h = d->handles; h; h = h->next)
		if (h->inode)
			reach(d, h->inode->ino, queue, &n);
	for (size_t i = 0; i < n; i++) {
		const struct inode *dir = d->inodes[queue[i]];

		for (size_t k = 0; k < dir->cache_names.n; k++)
			reach(d, dir->cache_names.at[k].ino, queue, &n);
		for (size_t k = 0; k < dir->disk_names.n; k++)
			reach(d, dir->disk_names.at[k].ino, queue, &n);
	}
	for (size_t i = 0; i < d->n_inodes; i++)
		if (d->inodes[i] && !d->inodes[i]->reached) {
			inode_free(d->inodes[i]);
			d->inodes[i] = NULL;
		}
	free(queue);
	d->unlinks = 0;
}

struct fileop *fileop_new(uint64_t at, size_t len)
{
	struct fileop *op = sim_alloc(sizeof(*op) + len);

	atomic_init(&op->refs, 1);
	op->at = at;
	op->len = len;
	return op;
}

void fileop_unref(struct fileop *op)
{
	if (atomic_fetch_sub(&op->refs, 1) == 1)
		free(op);
}

/* Drop the oldest versions of exactly the bytes that `op` writes again. */
static void drop_old_versions(struct inode *n, const struct fileop *op)
{
	size_t out = 0;

	for (size_t i = 0; i < n->n_pending; i++) {
		struct fileop *old = n->pending[i];

		if (i + VERSIONS_KEPT < n->n_pending && !old->is_cut &&
		    old->at == op->at && old->len == op->len &&
		    op->at + op->len <= n->disk.size)
			fileop_unref(old);
		else
			n->pending[out++] = old;
	}
	n->n_pending = out;
}

static void add_pending(struct inode *n, struct fileop *op)
{
	if (n->n_pending >= VERSIONS_MANY && !op->is_cut)
		drop_old_versions(n, op);
	n->pending = sim_grow(n->pending, n->n_pending, &n->room_pending,
			      sizeof(struct fileop *));
	n->pending[n->n_pending++] = op;
}

void inode_write(struct simdisk *d, struct inode *n, struct fileop *op)
{
	size_t used = n->cache.used;

	content_put(&n->cache, op->at, op->bytes, op->len);
	n->cache.size = u64_max(n->cache.size, op->at + op->len);
	d->free_bytes -= u64_min(d->free_bytes,
				 (uint64_t)(n->cache.used - used) * SIM_PAGE);
	n->mtime_ms = d->time_ms;
	add_pending(n, op);
	watches_hit(d, n->ino);
}

void inode_cut(struct simdisk *d, struct inode *n, uint64_t size)
{
	size_t used = n->cache.used;
	struct fileop *op = fileop_new(size, 0);

	op->is_cut = true;
	content_cut(&n->cache, size);
	d->free_bytes += (uint64_t)(used - n->cache.used) * SIM_PAGE;
	n->mtime_ms = d->time_ms;
	add_pending(n, op);
	watches_hit(d, n->ino);
}

struct weft_str simname_str(const struct simname *name)
{
	return (struct weft_str){ name->text, name->len };
}

static struct simname *simname_new(struct weft_str s)
{
	struct simname *name = sim_alloc(sizeof(*name) + s.len + 1);

	atomic_init(&name->refs, 1);
	name->len = s.len;
	memcpy(name->text, s.ptr, s.len);
	return name;
}

struct simname *simname_ref(struct simname *name)
{
	atomic_fetch_add(&name->refs, 1);
	return name;
}

void simname_unref(struct simname *name)
{
	if (atomic_fetch_sub(&name->refs, 1) == 1)
		free(name);
}

/* Where `name` is, or would be. */
static size_t entries_place(const struct entries *e, struct weft_str name)
{
	size_t low = 0, high = e->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (str_cmp(simname_str(e->at[mid].name), name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct entry *entries_find(struct entries *e, struct weft_str name)
{
	size_t i = entries_place(e, name);

	if (i < e->n && str_eq(simname_str(e->at[i].name), name))
		return &e->at[i];
	return NULL;
}

void entries_set(struct entries *e, struct simname *name, uint32_t ino)
{
	struct entry *old = entries_find(e, simname_str(name));
	size_t i = entries_place(e, simname_str(name));

	if (old && ino) {
		old->ino = ino;
	} else if (old) {
		simname_unref(old->name);
		e->n--;
		memmove(e->at + i, e->at + i + 1, (e->n - i) * sizeof(*e->at));
	} else if (ino) {
		e->at = sim_grow(e->at, e->n, &e->room, sizeof(*e->at));
		memmove(e->at + i + 1, e->at + i, (e->n - i) * sizeof(*e->at));
		e->at[i] = (struct entry){ simname_ref(name), ino };
		e->n++;
	}
}

void entries_copy(struct entries *to, const struct entries *from)
{
	*to = (struct entries){ 0 };
	if (from->n == 0)
		return;
	to->at = sim_alloc(from->n * sizeof(*to->at));
	to->n = to->room = from->n;
	for (size_t i = 0; i < from->n; i++)
		to->at[i] = (struct entry){ simname_ref(from->at[i].name),
					    from->at[i].ino };
}

void entries_done(struct entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		simname_unref(e->at[i].name);
	free(e->at);
	*e = (struct entries){ 0 };
}

void nameop_unref(struct nameop *op)
{
	if (atomic_fetch_sub(&op->refs, 1) != 1)
		return;
	for (unsigned i = 0; i < op->n; i++)
		simname_unref(op->slot[i].name);
	free(op);
}

void nameop_apply(struct simdisk *d, const struct nameop *op)
{
	for (unsigned i = 0; i < op->n; i++) {
		struct inode *dir = inode_at(d, op->slot[i].dir);

		if (dir)
			entries_set(&dir->disk_names, op->slot[i].name,
				    op->slot[i].ino);
	}
}

/* What the name meant may have lost its last link. */
static void drop_link(struct simdisk *d, uint32_t ino)
{
	struct inode *n = inode_at(d, ino);

	assert(n->links > 0);
	n->links--;
	d->unlinks++;
	inode_release_space(d, n);
}

void disk_rename(struct simdisk *d, const struct meaning *m, unsigned n)
{
	struct nameop *op = sim_alloc(sizeof(*op));
	uint32_t gone[2] = { 0 };

	atomic_init(&op->refs, 1);
	op->n = n;
	for (unsigned i = 0; i < n; i++) {
		struct inode *dir = m[i].dir;
		struct entry *old = entries_find(&dir->cache_names, m[i].name);
		struct slot *s = &op->slot[i];

		gone[i] = old ? old->ino : 0;
		*s = (struct slot){ .dir = dir->ino, .ino = m[i].ino };
		s->name = simname_new(m[i].name);
		s->key =
			sim_mix(s->dir, sim_hash(m[i].name.ptr, m[i].name.len));
		entries_set(&dir->cache_names, s->name, s->ino);
		if (s->ino)
			inode_at(d, s->ino)->links++;
		dir->mtime_ms = d->time_ms;
	}
	for (unsigned i = 0; i < n; i++)
		if (gone[i])
			drop_link(d, gone[i]);
	d->names = sim_grow(d->names, d->n_names, &d->room_names,
			    sizeof(*d->names));
	d->names[d->n_names++] = (struct pending_name){ .op = op };
}

/* The next part of a path and what follows; empty parts and "." are none. */
static struct weft_str next_part(const char **path)
{
	struct weft_str s = { *path, 0 };

	do {
		s.ptr = *path + strspn(*path, "/");
		s.len = strcspn(s.ptr, "/");
		*path = s.ptr + s.len;
	} while (str_eq(s, STR(".")));
	return s;
}

int path_parent(struct simdisk *d, const char *path, struct inode **ret_dir,
		struct weft_str *ret_last)
{
	struct inode *dir = d->inodes[SIM_ROOT];
	struct weft_str part = next_part(&path), then;

	for (;; part = then) {
		struct entry *e;

		then = next_part(&path);
		if (part.len > NAME_BYTES_MAX)
			return -ENAMETOOLONG;
		if (str_eq(part, STR("..")))
			return -EINVAL;
		if (then.len == 0)
			break;
		e = entries_find(&dir->cache_names, part);
		if (!e)
			return -ENOENT;
		dir = d->inodes[e->ino];
		if (!dir->is_dir)
			return -ENOTDIR;
	}
	*ret_dir = dir;
	*ret_last = part;
	return 0;
}

int path_find(struct simdisk *d, const char *path, struct inode **ret)
{
	struct inode *dir;
	struct weft_str last;
	struct entry *e;
	int r = path_parent(d, path, &dir, &last);

	if (r < 0)
		return r;
	if (last.len == 0) {
		*ret = dir; /* the root */
		return 0;
	}
	e = entries_find(&dir->cache_names, last);
	if (!e)
		return -ENOENT;
	*ret = d->inodes[e->ino];
	return 0;
}

int path_create(struct simdisk *d, const char *path, bool is_dir,
		struct inode **ret)
{
	struct inode *dir, *n;
	struct weft_str last;
	int r = path_parent(d, path, &dir, &last);

	if (r < 0)
		return r;
	if (last.len == 0 || entries_find(&dir->cache_names, last))
		return -EEXIST;
	n = inode_new(d, is_dir);
	disk_rename(d, &(struct meaning){ dir, last, n->ino }, 1);
	if (ret)
		*ret = n;
	return 0;
}

/* Is `inside` the directory `dir`, or somewhere below it? */
static bool is_within(struct simdisk *d, const char *inside,
		      const struct inode *dir)
{
	struct inode *at = d->inodes[SIM_ROOT];

	while (at->is_dir && at != dir) {
		struct weft_str part = next_part(&inside);
		struct entry *e = entries_find(&at->cache_names, part);

		if (!e)
			return false;
		at = d->inodes[e->ino];
	}
	return at == dir;
}

static int check_rename(const struct inode *from, const struct inode *to)
{
	if (to->is_dir && !from->is_dir)
		return -EISDIR;
	if (!to->is_dir && from->is_dir)
		return -ENOTDIR;
	return to->cache_names.n > 0 ? -ENOTEMPTY : 0;
}

int path_rename(struct simdisk *d, const char *from, const char *to)
{
	struct inode *from_dir, *to_dir, *n;
	struct weft_str from_last, to_last;
	struct entry *e;
	int r = path_find(d, from, &n);

	if (r == 0)
		r = path_parent(d, from, &from_dir, &from_last);
	if (r == 0)
		r = path_parent(d, to, &to_dir, &to_last);
	if (r < 0)
		return r;
	if (from_last.len == 0 || to_last.len == 0)
		return -EBUSY;
	if (n->is_dir && is_within(d, to, n))
		return -EINVAL;
	e = entries_find(&to_dir->cache_names, to_last);
	if (e && e->ino == n->ino)
		return 0;
	if (e)
		r = check_rename(n, d->inodes[e->ino]);
	if (r < 0)
		return r;
	disk_rename(d,
		    (struct meaning[]){ { from_dir, from_last, 0 },
					{ to_dir, to_last, n->ino } },
		    2);
	return 0;
}

int path_remove(struct simdisk *d, const char *path, bool is_dir)
{
	struct inode *dir, *n;
	struct weft_str last;
	int r = path_find(d, path, &n);

	if (r == 0)
		r = path_parent(d, path, &dir, &last);
	if (r < 0)
		return r;
	if (n->is_dir != is_dir)
		return is_dir ? -ENOTDIR : -EISDIR;
	if (last.len == 0)
		return -EBUSY;
	if (n->cache_names.n > 0)
		return -ENOTEMPTY;
	disk_rename(d, &(struct meaning){ dir, last, 0 }, 1);
	return 0;
}

/* Where a walk is: the next entry of each directory it is in. */
struct walk_level {
	const struct inode *dir;
	size_t next, path_len;
};

void tree_walk(struct simdisk *d, tree_visit *visit, void *ctx)
{
	struct walk_level level[SIM_DEPTH_MAX];
	char path[PATH_BYTES_MAX] = "/";
	size_t depth = 0;

	visit(ctx, path, d->inodes[SIM_ROOT]);
	level[depth++] = (struct walk_level){ d->inodes[SIM_ROOT], 0, 1 };
	while (depth > 0) {
		struct walk_level *l = &level[depth - 1];
		const struct entry *e;
		const struct inode *n;
		size_t len = l->path_len;

		if (l->next == l->dir->cache_names.n) {
			depth--;
			continue;
		}
		e = &l->dir->cache_names.at[l->next++];
		n = d->inodes[e->ino];
		if (len + e->name->len + 2 > sizeof(path))
			continue;
		memcpy(path + len, e->name->text, e->name->len);
		len += e->name->len;
		if (n->is_dir)
			path[len++] = '/';
		path[len] = '\0';
		visit(ctx, path, n);
		if (n->is_dir && depth < SIM_DEPTH_MAX)
			level[depth++] = (struct walk_level){ n, 0, len };
	}
}

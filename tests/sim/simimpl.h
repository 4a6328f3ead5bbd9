/* simimpl.h - what the parts of the simulated disk know of each other. */
#ifndef SIM_SIMIMPL_H
#define SIM_SIMIMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "sim/simdisk.h"

#define SIM_PAGE      4096U
#define SIM_SECTOR    512U
#define SIM_FILE_MAX  ((uint64_t)1 << 34)
#define SIM_DEPTH_MAX 64 /* directories inside each other */
#define SIM_ROOT      1U /* the root's inode number; 0 is none */

/* All memory of the simulation; never NULL, aborts instead. */
void *sim_alloc(size_t bytes); /* cleared */
void *sim_resize(void *old, size_t bytes);

/* Room for one more: doubles `*room` when `count` has reached it. */
void *sim_grow(void *array, size_t count, size_t *room, size_t bytes);

uint64_t sim_mix(uint64_t a, uint64_t b);
uint64_t sim_hash(const void *bytes, size_t n);

/* simpage.c: bytes of a file, in pages shared until one is written to. */
struct simpage {
	_Atomic(unsigned) refs;
	_Atomic(uint64_t) hash; /* 0: not known */
	unsigned char bytes[SIM_PAGE];
};

/* Beyond `size` there may be bytes only while a power cut is being decided. */
struct content {
	uint64_t size;
	struct simpage **pages; /* NULL: a hole */
	size_t n;
	size_t used; /* pages that are not holes */
};

void content_share(struct content *to, const struct content *from);
void content_done(struct content *c);
size_t content_read(const struct content *c, void *to, size_t n, uint64_t at);
void content_put(struct content *c, uint64_t at, const void *bytes, size_t n);
void content_cut(struct content *c, uint64_t size); /* drops what is beyond */

/* `from` must have been written to there. */
void content_copy_sector(struct content *to, const struct content *from,
			 uint64_t sector);
bool content_has_page(const struct content *c, uint64_t page);
uint64_t content_hash(const struct content *c);

/* siminode.c: inodes, paths, names. */

/* A write (is_cut false) or truncation to `at`; immutable, shared by clones. */
struct fileop {
	_Atomic(unsigned) refs;
	bool is_cut;
	uint64_t at;
	size_t len;
	unsigned char bytes[];
};

struct simname {
	_Atomic(unsigned) refs;
	size_t len;
	char text[];
};

struct entry {
	struct simname *name;
	uint32_t ino;
};

/* Sorted by name. */
struct entries {
	struct entry *at;
	size_t n, room;
};

/* One name of one directory gets a new meaning. */
struct slot {
	uint32_t dir;
	uint32_t ino; /* 0: the name is gone */
	struct simname *name;
	uint64_t key; /* stands for (dir, name) */
};

/* One or, for a rename, two of them; immutable, shared by clones. */
struct nameop {
	_Atomic(unsigned) refs;
	unsigned n;
	struct slot slot[2];
};

struct pending_name {
	struct nameop *op;
	bool synced[2]; /* that slot's directory was synced */
};

struct inode {
	uint32_t ino;
	bool is_dir;
	uint32_t uid;
	uint32_t links;   /* in the cache; 0 once it has no name */
	uint32_t handles; /* open files */
	int64_t mtime_ms;
	struct content cache, disk; /* of a file */
	struct fileop **pending;    /* what turns disk into cache, in order */
	size_t n_pending, room_pending;
	struct entries cache_names, disk_names; /* of a directory */
	bool reached;                           /* by the sweep under way */
};

struct process {
	struct fs base;
	struct simdisk *disk;
	struct process *next;
	bool dead;
	uint64_t kill_in; /* mutating calls left, itself included; 0: never */
	uint64_t kill_bytes;
	struct simcounts counts;
};

struct handle {
	struct file base;
	struct process *process;
	struct inode *inode; /* NULL after a power cut */
	bool writable;
	struct handle *next;
};

struct simlock {
	struct handle *owner;
	uint64_t from, end;
	bool exclusive;
};

struct simwatch {
	struct watch base;
	struct process *process;
	uint32_t ino;
	bool hit;
	struct simwatch *next;
};

struct simdisk {
	pthread_mutex_t lock;   /* of everything below */
	pthread_cond_t changed; /* a watch was hit, or a process died */

	struct inode **inodes; /* by number; NULL: gone */
	size_t n_inodes, room_inodes;
	struct pending_name *names; /* of all directories, in order */
	size_t n_names, room_names;
	size_t unlinks; /* since the last sweep */

	struct process *processes;
	struct handle *handles;
	struct simwatch *watches;
	struct simlock *locks;
	size_t n_locks, room_locks;

	simdisk_hook *hook;
	void *hook_ctx;
	uint64_t hooked; /* calls it was told of */

	unsigned fail_calls;
	uint64_t fail_in; /* 0: never */
	int fail_error;
	bool fail_repeat;
	uint64_t fail_part;
	uint64_t fail_sync_in;
	int fail_sync_error;
	char *forgotten; /* syncs below this path are not done */
	uint64_t faults_hit;

	uint64_t free_bytes;
	char kind[16];
	bool is_network, is_read_only, no_sync_all;
	int64_t time_ms;
	uint32_t boot_ino; /* the file that tells them, or 0 */
	uint64_t boots;
	struct simcounts counts;
};

/* All of these want d->lock held. */
struct inode *inode_at(struct simdisk *d, uint32_t ino);
struct inode *inode_new(struct simdisk *d, bool is_dir);
void inode_free(struct inode *n);
void inode_forget_pending(struct inode *n);

/* The last handle or name may be gone: its space is free again. */
void inode_release_space(struct simdisk *d, struct inode *n);

/* Drop what no name, pending name or handle leads to. */
void disk_sweep(struct simdisk *d);

struct fileop *fileop_new(uint64_t at, size_t len);
void fileop_unref(struct fileop *op);

/* Do it in the cache and leave it pending; takes over `op`. */
void inode_write(struct simdisk *d, struct inode *n, struct fileop *op);
void inode_cut(struct simdisk *d, struct inode *n, uint64_t size);

struct entry *entries_find(struct entries *e, struct weft_str name);
void entries_set(struct entries *e, struct simname *name, uint32_t ino);
void entries_copy(struct entries *to, const struct entries *from);
void entries_done(struct entries *e);
struct weft_str simname_str(const struct simname *name);
struct simname *simname_ref(struct simname *name);
void simname_unref(struct simname *name);

/* Give n names new meanings, at once and as one pending change. */
struct meaning {
	struct inode *dir;
	struct weft_str name;
	uint32_t ino;
};
void disk_rename(struct simdisk *d, const struct meaning *m, unsigned n);
void nameop_apply(struct simdisk *d, const struct nameop *op);
void nameop_unref(struct nameop *op);

int path_find(struct simdisk *d, const char *path, struct inode **ret);

/* The directory that `path` is in; its last part may be there or not. */
int path_parent(struct simdisk *d, const char *path, struct inode **ret_dir,
		struct weft_str *ret_last);

/* Make a file or directory and its name. */
int path_create(struct simdisk *d, const char *path, bool is_dir,
		struct inode **ret);
int path_rename(struct simdisk *d, const char *from, const char *to);
int path_remove(struct simdisk *d, const char *path, bool is_dir);

/* The tree in order of paths; a directory's ends with "/". */
typedef void tree_visit(void *ctx, const char *path, const struct inode *n);
void tree_walk(struct simdisk *d, tree_visit *visit, void *ctx);

/* simsync.c: what is durable. */
void inode_sync(struct inode *n);
void inode_lose(struct inode *n); /* clean but lost */
void dir_sync(struct simdisk *d, const struct inode *dir);
void dir_lose(struct simdisk *d, const struct inode *dir);
void disk_sync(struct simdisk *d);
void disk_lose(struct simdisk *d);
bool sync_is_forgotten(struct simdisk *d, const struct inode *n);

/* Keep the marked ones, with those that they rest on, and lose the others. */
void names_settle(struct simdisk *d, bool *keep);

/* simlock.c */
int disk_lock(struct handle *h, uint64_t at, uint64_t n,
	      enum file_lock_mode mode);
void disk_unlock_all(struct simdisk *d, const struct handle *h);
void process_die(struct process *p);
void watches_hit(struct simdisk *d, uint32_t ino);
int sim_watch_open(struct fs *fs, const char *path, struct watch **ret);
int sim_watch_wait(struct watch *w, int64_t timeout_ms);
void sim_watch_wake(struct watch *w);
void sim_watch_close(struct watch *w);

/* simdisk.c */
extern const struct fs_ops sim_ops;
struct process *process_of(struct fs *fs);

#endif

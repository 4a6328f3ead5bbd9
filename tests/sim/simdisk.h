/*
 * simdisk.h - a disk in memory that a test can tear.
 *
 * A simdisk is a small file system, root "/" included, which several
 * "processes" share: each is a struct fs of base/file.h with handles, locks
 * and watches of its own.  All of them see every write at once, as through a
 * page cache; what would survive a power cut is kept apart and follows only
 * from syncs:
 *
 *   file_sync, file_datasync   the content and size of that file, not its name
 *   fs_sync_dir                the names in that directory, not what they name;
 *                              a rename between two directories needs both
 *   file_sync_all              everything
 *
 * Nothing is random but what a seed says.  Everything may be called from any
 * thread.  The disk's memory comes straight from the C library, so that
 * mem_fault() counts and fails only the allocations of the code under test.
 *
 * A run that looks at the state before every sync:
 *
 *	static void at_call(void *ctx, struct simdisk *d, unsigned call,
 *			    uint64_t n)
 *	{
 *		if (call & SIM_SYNCS)
 *			keep(ctx, simdisk_clone(d));
 *	}
 *	...
 *	simdisk_on_call(disk, at_call, ctx);
 *	scenario(simdisk_process(disk));
 *	for each kept clone, for (seed = 0; seed < 50; seed++) {
 *		struct simdisk *d = simdisk_clone(kept);
 *
 *		simset_add(&seen, simdisk_power_cut(d, SIM_RANDOM, seed, NULL));
 *		recover_and_check(simdisk_process(d));
 *		simdisk_free(d);
 *	}
 */
#ifndef SIM_SIMDISK_H
#define SIM_SIMDISK_H

#include "base/file.h"

struct simdisk;

/* Kinds of calls; an open that makes a file is both OPEN and CREATE. */
enum simcall {
	SIM_OPEN = 1 << 0,
	SIM_CREATE = 1 << 1,
	SIM_READ = 1 << 2,
	SIM_WRITE = 1 << 3,
	SIM_TRUNCATE = 1 << 4,
	SIM_SYNC = 1 << 5, /* of one file; of a directory's handle: SYNC_DIR */
	SIM_SYNC_DIR = 1 << 6,
	SIM_SYNC_ALL = 1 << 7,
	SIM_RENAME = 1 << 8,
	SIM_UNLINK = 1 << 9, /* and rmdir */
	SIM_MKDIR = 1 << 10,
	SIM_LIST = 1 << 11,
	SIM_STAT = 1 << 12,
	SIM_LOCK = 1 << 13,
	SIM_SLEEP = 1 << 14,
	SIM_WRITE_BACK =
		1 << 15, /* fails like a sync, and makes nothing durable */
};
#define SIM_CALLS 16
#define SIM_SYNCS (SIM_SYNC | SIM_SYNC_DIR | SIM_SYNC_ALL)
#define SIM_MUTATING                                                      \
	(SIM_CREATE | SIM_WRITE | SIM_TRUNCATE | SIM_SYNCS | SIM_RENAME | \
	 SIM_UNLINK | SIM_MKDIR | SIM_WRITE_BACK)

struct simdisk *simdisk_new(void);

/*
 * The same disk as it is this instant: cache, disk, what is pending, size and
 * kind; without processes, faults, hook and counts.  Costs little: pages are
 * shared until one side writes.
 */
struct simdisk *simdisk_clone(struct simdisk *d);

/* Every file and watch of its processes must have been closed.  Takes NULL. */
void simdisk_free(struct simdisk *d);

/* How many files are open, those of the dead included. */
uint64_t simdisk_open_files(struct simdisk *d);

/* A new process; lives as long as the disk. */
struct fs *simdisk_process(struct simdisk *d);

/*
 * kill -9: from now on every call fails with -EIO and changes nothing, its
 * locks are gone, what it wrote stays in the cache.  Its handles must still
 * be closed.
 */
void simdisk_kill(struct fs *fs);
bool simdisk_is_dead(struct fs *fs);

/* Kill it just before its n-th (1: next) mutating call; 0: call it off. */
void simdisk_kill_at(struct fs *fs, uint64_t n);

/* The same, but if that call is a write, its first `bytes` bytes are done. */
void simdisk_kill_in_write(struct fs *fs, uint64_t n, uint64_t bytes);

enum simcut {
	SIM_LOSE_ALL,
	SIM_KEEP_ALL,
	SIM_RANDOM, /* number: a seed */
	SIM_INDEX,  /* number: bit i answers the i-th question, 1 is "kept" */
};

struct simcut_report {
	uint64_t state;     /* simdisk_fingerprint afterwards */
	uint64_t questions; /* SIM_INDEX below 1 << questions gives them all;
			     * those from the 65th on are answered "lost" */
	uint64_t kept, lost, torn; /* pending writes, truncations and names */
};

/*
 * Pull the plug: all processes die, and the cache becomes what is on disk
 * plus a choice of what is pending.  Each write is lost, kept, torn by
 * sectors of 512 bytes, or only its size is kept (over zeros); each
 * truncation and each change of names is lost or kept, a rename as one.  A
 * sector that is kept has all that was in the cache then, and a name that is
 * kept brings earlier changes of the same name along.  Returns a fingerprint
 * of the outcome; `ret` may be NULL.
 */
uint64_t simdisk_power_cut(struct simdisk *d, enum simcut how, uint64_t number,
			   struct simcut_report *ret);

/* Names, kinds, sizes and bytes of all that the cache shows, as one number. */
uint64_t simdisk_fingerprint(struct simdisk *d);

/* How many writes, truncations and changes of names no sync has reached. */
uint64_t simdisk_pending(struct simdisk *d);

/* Make everything durable, as time would; no process does it. */
void simdisk_sync(struct simdisk *d);

/*
 * Called before each mutating call of a living process, each lock that it asks
 * for or gives back and each sleep (with the kinds of that call and the number
 * of such calls so far), with no lock held: it may clone, kill, cut or edit the
 * disk.  NULL: none.
 */
typedef void simdisk_hook(void *ctx, struct simdisk *d, unsigned calls,
			  uint64_t n);
void simdisk_on_call(struct simdisk *d, simdisk_hook *hook, void *ctx);

/*
 * The n-th (1: next) call of the given kinds fails with `error` (-EIO,
 * -ENOSPC) and does nothing, but for a write, which leaves its first
 * simdisk_fail_part bytes (0 unless told).  With `repeat` all later ones fail,
 * too.  n = 0: call it off.  A sync that fails like this leaves the writes
 * pending; see simdisk_fail_sync for the usual, worse kind.
 */
void simdisk_fail_at(struct simdisk *d, unsigned calls, uint64_t n, int error,
		     bool repeat);
void simdisk_fail_part(struct simdisk *d, uint64_t bytes);

/*
 * The n-th sync of any kind fails with `error`, and what it was to write is
 * clean but lost: everybody still sees it, later syncs succeed without
 * writing it, a power cut takes it away.
 */
void simdisk_fail_sync(struct simdisk *d, uint64_t n, int error);

/*
 * A program that forgot a sync: one of a file whose path matches `pattern`
 * (see fnmatch(3); a directory's ends with "/") says that it succeeded and
 * does nothing.  NULL: none is forgotten.
 */
void simdisk_forget_syncs(struct simdisk *d, const char *pattern);

/* How many calls one of these made fail or forget. */
uint64_t simdisk_faults_hit(struct simdisk *d);

/* So many bytes (in pages of 4 KiB) may still be allocated.  A write that
 * needs more does what fits and fails with -ENOSPC. */
void simdisk_set_free(struct simdisk *d, uint64_t bytes);

/* What fs_space says; with read_only, changes fail with -EROFS. */
void simdisk_set_kind(struct simdisk *d, const char *kind, bool is_network,
		      bool is_read_only);
void simdisk_set_sync_all(struct simdisk *d, bool works); /* else -ENOSYS */

/* The mtime of what is written from now on; it does not move by itself. */
void simdisk_set_time(struct simdisk *d, int64_t ms);

/* Make this file, with its directories, which says how often the machine was
 * started: every power cut changes what is in it. */
void simdisk_tell_boots(struct simdisk *d, const char *path);

/* Whose a file is; everything is the caller's own unless told. */
int simdisk_set_owner(struct simdisk *d, const char *path, uint32_t uid);

struct simcounts {
	uint64_t calls[SIM_CALLS]; /* by bit; see simcounts_of */
	uint64_t bytes_read, bytes_written;
};

/* The sum of the given kinds; an open that makes a file is one of each. */
uint64_t simcounts_of(const struct simcounts *c, unsigned calls);
void simdisk_counts(struct simdisk *d, struct simcounts *ret);
void simdisk_process_counts(struct fs *fs, struct simcounts *ret);

/*
 * What people and other programs do to files.  Not counted, never failed, no
 * hook; seen by all at once and pending like any other write.  0 or a
 * negative errno.
 */
int simdisk_replace(struct simdisk *d, const char *path,
		    struct weft_str bytes); /* new inode, renamed over it */
int simdisk_overwrite(struct simdisk *d, const char *path, uint64_t at,
		      struct weft_str bytes);
int simdisk_append(struct simdisk *d, const char *path, struct weft_str bytes);
int simdisk_resize(struct simdisk *d, const char *path, uint64_t size);
int simdisk_flip(struct simdisk *d, const char *path, uint64_t at,
		 unsigned char mask);
int simdisk_remove(struct simdisk *d, const char *path);

/* A whole file with a NUL behind it, for free(); NULL if there is none. */
char *simdisk_read(struct simdisk *d, const char *path, size_t *ret_len);

/* Every path in order, directories with a "/" at the end. */
void simdisk_each_path(struct simdisk *d,
		       void (*each)(void *ctx, const char *path), void *ctx);

/* A set of 64-bit numbers, for counting distinct states. */
struct simset {
	uint64_t *slots; /* 0: free */
	size_t room, count;
	bool has_zero;
};
bool simset_add(struct simset *s, uint64_t n); /* true: was not in it */
bool simset_has(const struct simset *s, uint64_t n);
void simset_done(struct simset *s);

#endif

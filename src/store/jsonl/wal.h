/*
 * wal.h - the shared log of a JSONL store: segments, control, state, locks.
 *
 * DESIGN
 *
 * The log is endless; a position in it (an lsn) is a number of bytes.  It is
 * kept in a few segments, files of written zeros that are used again and
 * again.  wal/control says durably which file holds which range of positions
 * and where the oldest frame that still matters begins (ckpt).  It has two
 * slots that are written in turn, so that one is always whole.
 *
 * wal/state says where the log ends now.  It is never synced: whoever has the
 * store open may trust it, and whoever opens it alone makes it anew.
 *
 * wal/lock is a file of which single bytes are locked:
 *
 *   OPEN   shared by every opener for as long as it lives; who gets it
 *          exclusively is alone, and may recover
 *   READ   shared by every opener that only reads
 *   BATCH  held while a batch is planned, written and flushed
 *   CKPT   held by the one who checkpoints or rewrites files
 *
 * in the order CKPT, BATCH.  The holder of BATCH writes its process id behind
 * them, for the error message of those who wait too long; behind that are the
 * places of the queue for BATCH (wal_lock.c).
 *
 * A segment's frames follow each other without a gap.  Where the next frame
 * does not fit, or at a checkpoint, the log goes on at the start of the next
 * segment that has room for it; a frame there whose `prev` is not behind the end
 * of the last one continues it.
 */
#ifndef STORE_JSONL_WAL_H
#define STORE_JSONL_WAL_H

#include "base/buf.h"
#include "base/file.h"
#include "store/jsonl/frame.h"

#define WAL_STAMP_BYTES   16
#define WAL_SEGMENTS_MAX  8
#define WAL_RESERVE_BYTES KIB(256)

enum wal_lock { WAL_OPEN, WAL_READ, WAL_BATCH, WAL_CKPT };

struct wal_segment {
	uint64_t base, size; /* positions base .. base + size */
	uint32_t file;       /* its name: wal/NNNNNNNN */
};

struct wal_control {
	struct weft_id store;
	uint64_t salt;
	uint64_t no;   /* the larger one of two valid slots counts */
	uint64_t ckpt; /* everything before this is in the session files */
	uint32_t next_file;
	uint32_t n;
	struct wal_segment seg[WAL_SEGMENTS_MAX]; /* by rising base */
};

struct wal_state {
	uint64_t end;  /* where the next frame goes, if it fits there */
	uint64_t prev; /* the end of the last frame */
	uint64_t ckpt;
	uint64_t control_no;
	uint64_t rewrites; /* how often a session file was replaced */
	uint64_t boot;     /* of the machine, 0: not known */
	uint64_t behind;   /* the oldest frame that is not in its files, or 0 */
	uint32_t failed;   /* no more writes until a lone opener */
};

/*
 * Who may call: everything that reads or changes `control` or the segments
 * needs the store's writer mutex; wal_get_state is for any thread.
 */
struct wal {
	struct fs *fs;
	char *dir; /* DIR/wal */
	bool read_only;
	struct file *lock_file, *control_file, *state_file;
	struct file *files[WAL_SEGMENTS_MAX]; /* open ones, as control.seg */
	struct wal_control control;
	uint64_t flushes, frames;
	unsigned char stamp[WAL_STAMP_BYTES]; /* who holds BATCH: this one */
	bool undisturbed; /* under BATCH: nobody else had it since we did */
	bool alone;       /* nobody else was there when we last looked */
};

/* Make an empty log in the directory `dir`, which must be there and empty
 * but for its lock file. */
int wal_create(struct fs *fs, const char *dir, const struct weft_id *store,
	       uint64_t segment_bytes, struct weft_error *err);
/* Open its lock file (made if need be), then the rest. */
int wal_open(struct wal *w, struct fs *fs, const char *dir, bool read_only,
	     struct weft_error *err);
int wal_load(struct wal *w, struct weft_error *err);
/* Before loading: 1 if control can be read, whose store it is, and segments
 * that were missing are there again, empty; 0 if it cannot be read. */
int wal_mend(struct wal *w, struct weft_id *ret_store, struct weft_error *err);
void wal_close(struct wal *w);

/* Lock without waiting: WEFT_BUSY if somebody is in the way. */
int wal_try_lock(struct wal *w, enum wal_lock which, bool shared,
		 struct weft_error *err);
void wal_unlock(struct wal *w, enum wal_lock which);

/* Whether nobody else has the store open; needs BATCH, so that it stays so. */
bool wal_is_alone(struct wal *w);

/* Whether somebody has it open who may write; also if that cannot be told. */
bool wal_may_have_writer(struct wal *w);

/* Queue up and take BATCH; WEFT_BUSY after busy_ms, naming the holder. */
int wal_lock_batch(struct wal *w, uint64_t busy_ms, struct weft_error *err);

int wal_get_state(struct wal *w, struct wal_state *ret, struct weft_error *err);
/* The same where nobody can be writing it: a damaged one stays so. */
bool wal_peek_state(struct wal *w, struct wal_state *ret);
int wal_put_state(struct wal *w, const struct wal_state *st,
		  struct weft_error *err);

/* Read control again: number `no`, which the state says is in force. */
int wal_reload(struct wal *w, uint64_t no, struct weft_error *err);
/* Write `c` durably into the other slot; install it with wal_install. */
int wal_put_control(struct wal *w, const struct wal_control *c,
		    struct weft_error *err);
int wal_install(struct wal *w, const struct wal_control *c,
		struct weft_error *err);

/*
 * The next control after a checkpoint at `ckpt`: segments that lie before it
 * are put behind the others; of those the small ones are left out, if enough
 * are left.
 */
void wal_plan_control(const struct wal *w, uint64_t ckpt,
		      struct wal_control *ret);
/*
 * Make a file for one more segment, durably.  wal_add_segment then makes it
 * the last one of the log; *c is the control to be put and installed.
 */
int wal_make_segment(struct wal *w, uint64_t bytes, uint32_t *ret_file,
		     struct weft_error *err);
void wal_add_segment(const struct wal *w, uint32_t file, uint64_t bytes,
		     struct wal_control *ret);
void wal_remove_segment(struct wal *w, uint32_t file);
/* Remove the files that `old` has and the current control has not. */
void wal_remove_unused(struct wal *w, const struct wal_control *old);

/*
 * Read the valid frame that continues the log at `at` into `b`.
 * Returns 1, or 0 if there is none, or a negative code.
 */
int wal_read_frame(struct wal *w, uint64_t at, struct buf *b, struct frame *ret,
		   struct weft_error *err);
/* The first valid frame behind `at`, where there is none; 1, 0 or a code. */
int wal_find_later(struct wal *w, uint64_t at, uint64_t *ret_lsn,
		   struct weft_error *err);

/* Where a frame of `bytes` would go, given the state; 0 and *ret, or BUSY if
 * no segment has room for it. */
int wal_place(const struct wal *w, const struct wal_state *st, uint64_t bytes,
	      uint64_t *ret);
/* The start of the segment behind the one that holds `at`; BUSY if none. */
int wal_next_segment(const struct wal *w, uint64_t at, uint64_t *ret);
uint64_t wal_largest_segment(const struct wal *w);
/* Whether the log has this place. */
bool wal_has(const struct wal *w, uint64_t lsn);
uint64_t wal_total_bytes(const struct wal *w);

/*
 * Write a sealed frame at its place and flush it.  NO_SPACE: nothing counts,
 * the place can be used again.  IO: the write failed.  UNKNOWN: the flush
 * failed.  After the last two the store must stop.
 */
int wal_write_frame(struct wal *w, uint64_t lsn, struct weft_str frame,
		    struct weft_error *err);
/* The same in steps; what is between them is done while the disk writes, if
 * wal_begin_flush says so. */
int wal_put_frame(struct wal *w, uint64_t lsn, struct weft_str frame,
		  struct weft_error *err);
void wal_begin_flush(struct wal *w, uint64_t lsn, uint64_t len);
int wal_flush_frame(struct wal *w, uint64_t lsn, struct weft_error *err);

/*
 * Write zeros over everything in the segments but the frames from ckpt to end,
 * and flush it.  Needs BATCH.
 */
int wal_wipe(struct wal *w, const struct wal_state *st, struct weft_error *err);

#endif

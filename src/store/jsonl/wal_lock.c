/*
 * wal_lock.c - the locks of the log, and the queue before them.
 *
 * DESIGN: waiting for a lock must have a deadline, so locks are tried again
 * and again instead of waited for; and whoever tries again at the right moment
 * gets it, which is not always whoever came first.  So there is a queue: a row
 * of places, each of which only one process can hold.  Whoever comes takes the
 * last place and moves up one by one; from the first place it takes BATCH.
 * Who stands behind somebody cannot overtake.  If nobody waits, all places are
 * taken with one lock and given back with another.  Who was alone a moment ago
 * tries BATCH first: somebody who comes then waits for one batch at most.
 *
 * Whoever gets BATCH puts its stamp into the file: its process, for people, and
 * a random number.  Who finds its own there knows that nobody else has been
 * inside since, not even one that died: all is as it was left.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/jsonl/wal.h"

#define STAMP_OFFSET 16u
#define STAMP_RANDOM 8u /* in the stamp; before it is the process, as text */
#define QUEUE_OFFSET 32u
#define QUEUE_PLACES 8u

/* How long to sleep between two tries: short at first and in front. */
#define SLEEP_US     50u
#define SLEEP_MAX_US 1000u

int wal_try_lock(struct wal *w, enum wal_lock which, bool shared,
		 struct weft_error *err)
{
	int r;

	if (!w->lock_file)
		return fail(err, WEFT_BUSY, "%s has no lock file", w->dir);
	r = file_lock(w->lock_file, which, 1,
		      shared ? FILE_SHARED : FILE_LOCKED);
	if (r == -EAGAIN)
		return fail(err, WEFT_BUSY, "another process is at work in %s",
			    w->dir);
	return r < 0 ? fail_errno(err, -r, "lock %s/lock", w->dir) : WEFT_OK;
}

void wal_unlock(struct wal *w, enum wal_lock which)
{
	if (w->lock_file)
		(void)file_lock(w->lock_file, which, 1, FILE_UNLOCK);
}

bool wal_is_alone(struct wal *w)
{
	w->alone = file_lock(w->lock_file, WAL_OPEN, WAL_READ - WAL_OPEN + 1,
			     FILE_LOCK_LOOK) == 0;
	return w->alone;
}

bool wal_may_have_writer(struct wal *w)
{
	return !w->lock_file ||
	       file_lock(w->lock_file, WAL_OPEN, 1, FILE_LOCK_LOOK) != 0;
}

/* ---- who holds it ---- */

static long holder_of(struct wal *w)
{
	char text[STAMP_RANDOM + 1] = { 0 };
	uint64_t pid;
	ssize_t n = file_read(w->lock_file, text, STAMP_RANDOM, STAMP_OFFSET);

	if (n <= 0 || !str_to_u64(str_of(text), INT32_MAX, &pid))
		return 0;
	return (long)pid;
}

static int make_stamp(struct wal *w, struct weft_error *err)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%ld", (long)getpid());

	memset(w->stamp, 0, sizeof(w->stamp));
	memcpy(w->stamp, text, (size_t)n < STAMP_RANDOM ? (size_t)n : 0);
	return random_bytes(w->stamp + STAMP_RANDOM,
			    sizeof(w->stamp) - STAMP_RANDOM, err);
}

/* BATCH is ours.  What others must notice has to be there before anything
 * else is done. */
static int sign_lock(struct wal *w, struct weft_error *err)
{
	unsigned char there[WAL_STAMP_BYTES];
	ssize_t n = file_read(w->lock_file, there, sizeof(there), STAMP_OFFSET);

	w->undisturbed = n == (ssize_t)sizeof(there) && w->stamp[0] &&
			 memcmp(there, w->stamp, sizeof(there)) == 0;
	if (w->undisturbed)
		return WEFT_OK;
	if (!w->stamp[0] && make_stamp(w, err) < 0)
		return WEFT_IO;
	n = file_write(w->lock_file, w->stamp, sizeof(w->stamp), STAMP_OFFSET);
	return n < 0 ? fail_errno(err, (int)-n, "write %s/lock", w->dir) :
		       WEFT_OK;
}

/* ---- the queue ---- */

struct queue {
	struct wal *w;
	int64_t from_us, until_us;
	struct weft_error *err;
};

static void give_up(const struct queue *q, uint64_t place, uint64_t n)
{
	(void)file_lock(q->w->lock_file, QUEUE_OFFSET + place, n, FILE_UNLOCK);
}

/* Try until one byte is ours; `ahead`: how many may stand before us. */
static int wait_for(const struct queue *q, uint64_t byte, unsigned ahead)
{
	struct wal *w = q->w;

	for (;;) {
		unsigned sleep_us = SLEEP_US * (ahead + 1);
		int r = file_lock(w->lock_file, byte, 1, FILE_LOCKED);
		int64_t now;

		if (r == 0)
			return WEFT_OK;
		if (r != -EAGAIN)
			return fail_errno(q->err, -r, "lock %s/lock", w->dir);
		now = clock_mono_us();
		if (now >= q->until_us)
			return fail(q->err, WEFT_BUSY,
				    "%s is held by process %ld; is it stopped?",
				    w->dir, holder_of(w));
		/* After a while nobody minds another millisecond. */
		if (now - q->from_us > 100 * SLEEP_MAX_US)
			sleep_us = SLEEP_MAX_US;
		fs_sleep_us(w->fs, sleep_us);
	}
}

/* From the last place to the first. */
static int move_up(const struct queue *q)
{
	uint64_t place = QUEUE_PLACES - 1;
	int r = wait_for(q, QUEUE_OFFSET + place, QUEUE_PLACES);

	while (r == WEFT_OK && place > 0) {
		r = wait_for(q, QUEUE_OFFSET + place - 1, (unsigned)place);
		give_up(q, place, 1);
		place--;
	}
	return r;
}

static int queue_for_batch(struct wal *w, uint64_t busy_ms,
			   struct weft_error *err)
{
	int64_t now = clock_mono_us();
	struct queue q = { w, now, now + (int64_t)busy_ms * 1000, err };
	int r = file_lock(w->lock_file, QUEUE_OFFSET, QUEUE_PLACES,
			  FILE_LOCKED);

	if (r == 0) {
		/* The first in the queue; others may come behind it. */
		r = file_lock(w->lock_file, WAL_BATCH, 1, FILE_LOCKED);
		if (r == -EAGAIN) {
			give_up(&q, 1, QUEUE_PLACES - 1);
			r = wait_for(&q, WAL_BATCH, 0);
		} else if (r < 0) {
			r = fail_errno(err, -r, "lock %s/lock", w->dir);
		}
	} else if (r == -EAGAIN) {
		r = move_up(&q);
		if (r == WEFT_OK)
			r = wait_for(&q, WAL_BATCH, 0);
		else if (r != WEFT_BUSY)
			return r;
	} else {
		return fail_errno(err, -r, "lock %s/lock", w->dir);
	}
	give_up(&q, 0, QUEUE_PLACES);
	return r;
}

int wal_lock_batch(struct wal *w, uint64_t busy_ms, struct weft_error *err)
{
	bool first = w->alone;
	int r;

	w->alone = false;
	if (!first || file_lock(w->lock_file, WAL_BATCH, 1, FILE_LOCKED) < 0) {
		r = queue_for_batch(w, busy_ms, err);
		if (r < 0)
			return r;
	}
	r = sign_lock(w, err);
	if (r < 0)
		wal_unlock(w, WAL_BATCH);
	return r;
}

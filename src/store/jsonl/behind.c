/*
 * behind.c - durable lines that are not in their files yet.
 *
 * DESIGN: when the log has flushed a frame, its lines are safe; that they also
 * stand in their session files is for people, for other processes and for the
 * next checkpoint.  A process that has the store for itself and is under load
 * leaves its lines behind for a tenth of a second or so.  A thread writes them
 * out, so that the next frame is planned and flushed meanwhile, and lines that
 * a session got in several batches become one write.
 *
 * Nobody notices.  Who reads a session of this process has its lines written
 * out first (behind_settle).  wal/state says where the oldest frame begins
 * that is not in the files (`behind`): whoever joins while there is one, or
 * after this process died, brings the files up to date from the log before
 * anything else (behind_replay).  From then on this process sees that it is
 * not alone, writes every batch out at once, and hurries with what is behind.
 * A reader that may not write holds READ, and waits until there is nothing.
 *
 * What is behind of a session is a stretch of its file: an entry in a queue by
 * age.  While its lines are being written a new entry takes the next ones.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

#define BEHIND_US     160000  /* no line stays behind for longer, */
#define BEHIND_BYTES  MIB(32) /* and no more than this, */
#define QUIET_US      1000    /* and nothing when nobody has written so long */
#define RETRY_US      100000  /* after a write that failed */
#define WRITE_AT_ONCE 16      /* entries, until somebody else may write one */
/* This part of all entries is written each QUIET_US, so that they are written
 * evenly, before they are so old that they must be. */
#define PACE_PART 128
/* A batch of fewer sessions is written out at once, unless others wait. */
#define BEHIND_FROM 8

struct behind {
	struct behind *older, *newer;
	struct live *l;
	struct live_file *file;
	struct frame_record at; /* where its lines belong */
	char *lines;
	size_t len, room;
	uint64_t lsn;      /* of the frame that the first is from */
	uint64_t next_lsn; /* whose lines stand behind the others already; 0 */
	int64_t since_us;
	bool writing;
};

static void lock(struct behind_queue *q)
{
	(void)pthread_mutex_lock(&q->mutex);
}

static void unlock(struct behind_queue *q)
{
	(void)pthread_mutex_unlock(&q->mutex);
}

/* ---- the queue: all of these need its mutex ---- */

static void put_in(struct behind_queue *q, struct behind *b)
{
	b->older = q->newest;
	if (q->newest)
		q->newest->newer = b;
	else
		q->oldest = b;
	q->newest = b;
	q->n++;
	b->l->behind = b;
}

static void take_out(struct behind_queue *q, struct behind *b)
{
	if (b->older)
		b->older->newer = b->newer;
	else
		q->oldest = b->newer;
	if (b->newer)
		b->newer->older = b->older;
	else
		q->newest = b->older;
	if (b->l->behind == b)
		b->l->behind = NULL;
	q->bytes -= b->len;
	q->n--;
	atomic_store(&q->some, q->oldest != NULL);
}

static void free_entry(struct behind *b)
{
	live_file_unref(b->file);
	mem_free(b->lines);
	mem_free(b);
}

/* ---- adding ---- */

static struct behind *new_entry(struct live *l, const struct frame_record *r,
				uint64_t lsn, int64_t now_us)
{
	struct behind *b = mem_zero(1, sizeof(*b));

	if (!b)
		return NULL;
	b->lines = mem_alloc(r->bytes.len);
	if (!b->lines) {
		mem_free(b);
		return NULL;
	}
	b->room = r->bytes.len;
	b->l = l;
	b->file = live_file_ref(l->file);
	b->at = *r;
	b->lsn = lsn;
	b->since_us = now_us;
	return b;
}

static bool make_room(struct behind *b, size_t n)
{
	size_t room = 2 * (b->len + n);
	char *lines;

	if (b->len + n <= b->room)
		return true;
	lines = mem_alloc(room);
	if (!lines)
		return false;
	memcpy(lines, b->lines, b->len);
	mem_free(b->lines);
	b->lines = lines;
	b->room = room;
	return true;
}

void behind_prepare(struct jsonl *js, struct live *l, struct weft_str lines,
		    uint64_t lsn)
{
	struct behind_queue *q = &js->behind;
	struct behind *b;

	lock(q);
	b = l->behind;
	if (b && !b->writing && make_room(b, lines.len)) {
		memcpy(b->lines + b->len, lines.ptr, lines.len);
		b->next_lsn = lsn;
	}
	unlock(q);
}

bool behind_add(struct jsonl *js, struct live *l, const struct frame_record *r,
		uint64_t lsn)
{
	struct behind_queue *q = &js->behind;
	struct behind *b, *fresh = NULL;
	bool was_empty, done = false;

	/* A session that begins gets its file first. */
	if (r->offset == 0)
		return false;
	lock(q);
	b = l->behind;
	if ((!b || b->writing) && l->file)
		b = fresh = new_entry(l, r, lsn, q->last_us);
	if (b && !b->writing && make_room(b, r->bytes.len)) {
		if (b->next_lsn != lsn)
			memcpy(b->lines + b->len, r->bytes.ptr, r->bytes.len);
		b->next_lsn = 0;
		b->len += r->bytes.len;
		q->bytes += r->bytes.len;
		if (fresh)
			put_in(q, fresh);
		done = true;
	}
	was_empty = done && !atomic_exchange(&q->some, true);
	unlock(q);
	if (was_empty)
		(void)pthread_cond_signal(&q->work);
	return done;
}

/* ---- writing ---- */

/* Are the lines in the file already?  Another process may have joined. */
static bool is_there(const struct behind *b)
{
	CLEANUP(mem_cleanup) char *there = mem_alloc(b->len);

	return there &&
	       file_read(b->file->f, there, b->len, b->at.offset) ==
		       (ssize_t)b->len &&
	       memcmp(there, b->lines, b->len) == 0;
}

static int write_lines(struct jsonl *js, struct behind *b,
		       struct weft_error *err)
{
	struct file_stat st;
	ssize_t n = file_stat(b->file->f, &st);

	b->at.bytes = (struct weft_str){ b->lines, b->len };
	if (n < 0)
		return fail_errno(err, (int)-n, "look at a session's file");
	if (st.links > 0 && st.size == b->at.offset) {
		n = file_write(b->file->f, b->lines, b->len, b->at.offset);
		if (n == -ENOSPC || n == -EDQUOT) {
			give_up_reserve(js);
			n = file_write(b->file->f, b->lines, b->len,
				       b->at.offset);
		}
		return n < 0 ? fail_errno(err, (int)-n,
					  "write a session's file") :
			       WEFT_OK;
	}
	if (is_there(b))
		return WEFT_OK;
	/* Somebody has edited it: what is known of it is not true any more. */
	atomic_store(&b->l->odd, true);
	return replay_record(js, &b->at, err);
}

/* Needs the gate; `b` is marked as being written. */
static int write_out(struct jsonl *js, struct behind *b, struct weft_error *err)
{
	struct behind_queue *q = &js->behind;
	int r = write_lines(js, b, err);

	lock(q);
	q->failed = r;
	b->writing = false;
	if (r == WEFT_OK)
		take_out(q, b);
	unlock(q);
	if (r == WEFT_OK)
		free_entry(b);
	return r;
}

/* The oldest, if it is not younger than this. */
static struct behind *take_oldest(struct behind_queue *q, int64_t until_us)
{
	struct behind *b;

	lock(q);
	b = q->oldest && q->oldest->since_us <= until_us ? q->oldest : NULL;
	if (b)
		b->writing = true;
	unlock(q);
	return b;
}

/* Write up to *n entries; how many were not there is left in it. */
static int write_some(struct jsonl *js, int64_t until_us, size_t *n,
		      struct weft_error *err)
{
	struct behind *b;
	int r = WEFT_OK;

	gate_enter(&js->behind.gate);
	while (r == WEFT_OK && *n > 0 &&
	       (b = take_oldest(&js->behind, until_us))) {
		r = write_out(js, b, err);
		--*n;
	}
	gate_leave(&js->behind.gate);
	return r;
}

int behind_settle_all(struct jsonl *js, struct weft_error *err)
{
	size_t all = SIZE_MAX;

	if (!atomic_load(&js->behind.some))
		return WEFT_OK;
	return write_some(js, clock_mono_us(), &all, err);
}

void behind_settle_most(struct jsonl *js)
{
	struct weft_error ignored; /* who needs all of it is told */

	/* Each time less has come meanwhile. */
	for (int i = 0; i < 4; i++)
		(void)behind_settle_all(js, &ignored);
}

int behind_settle(struct jsonl *js, const struct weft_id *id,
		  struct weft_error *err)
{
	struct behind_queue *q = &js->behind;
	struct behind *b;
	int r = WEFT_OK;

	if (!atomic_load(&q->some))
		return WEFT_OK;
	gate_enter(&q->gate);
	do {
		struct live *l;

		(void)pthread_mutex_lock(&js->mutex);
		l = live_find(js, id);
		lock(q);
		b = l ? l->behind : NULL;
		if (b)
			b->writing = true;
		unlock(q);
		(void)pthread_mutex_unlock(&js->mutex);
		if (b)
			r = write_out(js, b, err);
	} while (b && r == WEFT_OK);
	gate_leave(&q->gate);
	return r;
}

int behind_check(struct jsonl *js, struct weft_error *err)
{
	bool failed;

	if (!atomic_load(&js->behind.some))
		return WEFT_OK;
	lock(&js->behind);
	failed = js->behind.failed < 0;
	unlock(&js->behind);
	return failed ? behind_settle_all(js, err) : WEFT_OK;
}

bool behind_has(struct jsonl *js, const struct live *l)
{
	struct behind_queue *q = &js->behind;
	bool has;

	if (!atomic_load(&q->some))
		return false;
	lock(q);
	has = l->behind != NULL;
	unlock(q);
	return has;
}

void behind_forget_all(struct jsonl *js)
{
	struct behind_queue *q = &js->behind;
	struct behind *b;

	gate_enter(&q->gate);
	do {
		lock(q);
		b = q->oldest;
		if (b)
			take_out(q, b);
		unlock(q);
		if (b) {
			free_entry(b);
			/* They are replayed like another's. */
			q->forgotten = true;
			q->told = 0;
		}
	} while (b);
	gate_leave(&q->gate);
}

/* ---- what others are told ---- */

/* Needs W. */
void behind_tell(struct jsonl *js)
{
	struct behind_queue *q = &js->behind;

	/* What it says is older than all that was forgotten. */
	if (q->forgotten)
		return;
	lock(q);
	js->st.behind = q->oldest ? q->oldest->lsn : 0;
	unlock(q);
}

int behind_replay(struct jsonl *js, struct weft_error *err)
{
	uint64_t at = js->st.behind;
	int r;

	if (at == 0) {
		js->behind.forgotten = false;
		return WEFT_OK;
	}
	/* Our own is in memory, and will be written from there. */
	if (at == js->behind.told) {
		behind_tell(js);
		return WEFT_OK;
	}
	while (at < js->st.prev) {
		struct frame f;

		r = wal_read_frame(&js->wal, at, &js->frame_read, &f, err);
		if (r == 0)
			r = fail(err, WEFT_CORRUPT,
				 "the log of %s is damaged at %llu: close all "
				 "programs that use it and open it again",
				 js->dir, (unsigned long long)at);
		if (r < 0)
			return r;
		r = replay_frame(js, &f, err);
		if (r < 0)
			return r;
		at = f.end;
	}
	js->behind.forgotten = false;
	js->st.behind = 0;
	return put_state(js, err);
}

int behind_pause(struct jsonl *js, struct weft_error *err)
{
	int r;

	(void)atomic_fetch_add(&js->behind.paused, 1);
	if (js->read_only || !atomic_load(&js->behind.some))
		return WEFT_OK;
	/* Who is adding is done when the log is ours. */
	r = enter(js, err);
	if (r < 0)
		return r;
	r = behind_settle_all(js, err);
	leave(js);
	return r;
}

void behind_resume(struct jsonl *js)
{
	(void)atomic_fetch_sub(&js->behind.paused, 1);
}

/* ---- the thread ---- */

/* Nothing is left behind: say so, that nobody looks for it in the log. */
static void tell_settled(struct jsonl *js)
{
	struct weft_error ignored;

	if (enter(js, &ignored) < 0)
		return;
	behind_tell(js);
	if (js->st.behind == 0)
		(void)put_state(js, &ignored);
	leave(js);
}

static void sleep_us(struct behind_queue *q, int64_t us)
{
	int64_t at = clock_mono_us() + us;
	const struct timespec ts = { .tv_sec = at / 1000000,
				     .tv_nsec = at % 1000000 * 1000 };

	(void)pthread_cond_timedwait(&q->work, &q->mutex, &ts);
}

/* Nobody has written for a while, nor is about to have written: the flush of a
 * large batch takes longer than that.  Needs the mutex. */
static bool is_quiet(const struct behind_queue *q)
{
	return !atomic_load(&q->more) &&
	       clock_mono_us() - q->last_us >= QUIET_US;
}

/* Wait until there is something to write: how many entries; 0: stop. */
static size_t wait_for_work(struct behind_queue *q)
{
	size_t n = 0;

	lock(q);
	while (!q->stop && n == 0) {
		if (!q->oldest) {
			(void)pthread_cond_wait(&q->work, &q->mutex);
			continue;
		}
		sleep_us(q, q->failed < 0 ? RETRY_US : QUIET_US);
		if (q->failed < 0 || q->hurry || q->bytes >= BEHIND_BYTES / 2 ||
		    is_quiet(q)) {
			n = q->n;
		} else {
			q->owed += q->n;
			n = q->owed / PACE_PART;
			q->owed %= PACE_PART;
		}
	}
	unlock(q);
	return n;
}

/* Write some entries that are not younger than this; false: there are no
 * more, or it failed, of which the next writer is told. */
static bool write_part(struct jsonl *js, int64_t until_us, size_t max)
{
	struct weft_error ignored;
	size_t n = max < WRITE_AT_ONCE ? max : WRITE_AT_ONCE;

	return write_some(js, until_us, &n, &ignored) == WEFT_OK && n == 0;
}

static void *run_thread(void *arg)
{
	struct jsonl *js = arg;
	size_t n;

	while ((n = wait_for_work(&js->behind)) > 0) {
		int64_t now = clock_mono_us();
		bool all = true;

		for (size_t i = 0; i < n && all; i += WRITE_AT_ONCE)
			all = write_part(js, now, n - i);
		/* No faster than this, but no line gets too old. */
		while (all && write_part(js, now - BEHIND_US, WRITE_AT_ONCE))
			;
		if (!atomic_load(&js->behind.some))
			tell_settled(js);
	}
	return NULL;
}

static bool has_thread(struct jsonl *js)
{
	struct behind_queue *q = &js->behind;
	sigset_t all, before;

	if (q->started || js->by_hand)
		return true;
	/* Signals are for the program's own threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	q->started = pthread_create(&q->thread, NULL, run_thread, js) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return q->started;
}

static bool is_full(struct behind_queue *q)
{
	bool full;

	lock(q);
	full = q->bytes >= BEHIND_BYTES;
	unlock(q);
	return full;
}

/* The thread cannot keep up: help with as many entries as come, and until there
 * is room, for those that come may be larger. */
static bool help(struct jsonl *js, size_t sessions)
{
	struct weft_error ignored; /* the next batch is told */
	bool ok = true;

	while (ok && is_full(&js->behind)) {
		size_t n = sessions;

		ok = write_some(js, INT64_MAX, &n, &ignored) == WEFT_OK;
	}
	return ok;
}

bool behind_may_add(struct jsonl *js, size_t sessions)
{
	struct behind_queue *q = &js->behind;
	bool alone, some;

	if (!js->may_lag || atomic_load(&q->paused))
		return false;
	alone = js->single || wal_is_alone(&js->wal);
	lock(q);
	q->last_us = clock_mono_us();
	q->hurry = !alone;
	some = q->oldest != NULL;
	unlock(q);
	if ((sessions < BEHIND_FROM && !some && !js->by_hand) || !alone ||
	    !has_thread(js))
		return false;
	return help(js, sessions);
}

void behind_init(struct behind_queue *q)
{
	pthread_condattr_t attr;

	gate_init(&q->gate);
	(void)pthread_mutex_init(&q->mutex, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&q->work, &attr);
	(void)pthread_condattr_destroy(&attr);
}

int behind_stop(struct jsonl *js, struct weft_error *err)
{
	struct behind_queue *q = &js->behind;
	int r = behind_pause(js, err);

	if (q->started) {
		lock(q);
		q->stop = true;
		unlock(q);
		(void)pthread_cond_signal(&q->work);
		(void)pthread_join(q->thread, NULL);
		q->started = false;
	}
	return r;
}

void behind_done(struct behind_queue *q)
{
	(void)pthread_cond_destroy(&q->work);
	(void)pthread_mutex_destroy(&q->mutex);
	gate_done(&q->gate);
}

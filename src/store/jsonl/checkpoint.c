/*
 * checkpoint.c - leave nothing that only the log knows.
 *
 * DESIGN: in this order, each step durable before the next: session files,
 * their directories, the catalogue, control.  Then the segments before the
 * target are free.  Writers go on meanwhile, in the next segment.  One process
 * does it at a time, for all of them: what must be synced is what the frames
 * name, and every process has read those.
 *
 * A thread of its own does it when a third of the log is full, when it has been
 * quiet for a second, and when the last process closes.  If that much is
 * full again soon after a checkpoint, it makes the log longer instead.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

#define QUIET_MS 1000
#define SOON_US  2000000
#define DUE_PART 3 /* of the log, until one is due */

int checkpoint_lock(struct jsonl *js, struct weft_error *err)
{
	int r = js_check(js, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&js->ckpt_mutex);
	r = wal_try_lock(&js->wal, WAL_CKPT, false, err);
	if (r < 0)
		(void)pthread_mutex_unlock(&js->ckpt_mutex);
	return r;
}

void checkpoint_unlock(struct jsonl *js)
{
	wal_unlock(&js->wal, WAL_CKPT);
	(void)pthread_mutex_unlock(&js->ckpt_mutex);
}

int checkpoint_wait(struct jsonl *js, struct weft_error *err)
{
	int64_t until =
		clock_mono_us() + (int64_t)js->store.limits.busy_ms * 1000;
	int r;

	while ((r = checkpoint_lock(js, err)) == WEFT_BUSY &&
	       clock_mono_us() < until)
		fs_sleep_us(js->fs, 1000);
	return r;
}

/* What a checkpoint works on, settled while the log was held. */
struct plan {
	uint64_t target;
	struct settle_item *items;
	size_t n;
	bool nothing_to_do;
};

/* With the log held: where it ends, and go on in the next segment. */
static int plan_checkpoint(struct jsonl *js, struct plan *p,
			   struct weft_error *err)
{
	uint64_t next;
	int r = behind_settle_all(js, err);

	if (r == WEFT_OK)
		r = catch_up_inside(js, err);
	if (r < 0)
		return r;
	behind_tell(js);
	if (js->st.end == js->wal.control.ckpt && js->n_dirty == 0) {
		p->nothing_to_do = true;
		return WEFT_OK;
	}
	if (js->st.end > js->wal.control.ckpt &&
	    wal_next_segment(&js->wal, js->st.end - 1, &next) == WEFT_OK &&
	    next != js->st.end) {
		js->st.end = next;
		r = put_state(js, err);
		if (r < 0)
			return r;
		(void)pthread_mutex_lock(&js->mutex);
		js->mine = next;
		(void)pthread_mutex_unlock(&js->mutex);
	}
	p->target = js->st.end;
	return settle_collect(js, &p->items, &p->n, err);
}

/* With the log held again, since others may have made it longer: control,
 * then tell everybody. */
static int finish_checkpoint(struct jsonl *js, const struct plan *p,
			     struct weft_error *err)
{
	struct wal_control c;
	int r;

	wal_plan_control(&js->wal, p->target, &c);
	r = wal_put_control(&js->wal, &c, err);
	if (r == WEFT_OK)
		r = wal_install(&js->wal, &c, err);
	if (r < 0)
		return r;
	js->st.ckpt = p->target;
	js->st.control_no = c.no;
	r = put_state(js, err);
	if (r < 0)
		return r;
	live_prune(js, p->target);
	(void)pthread_mutex_lock(&js->mutex);
	js->my_ckpt = p->target;
	(void)pthread_mutex_unlock(&js->mutex);
	return WEFT_OK;
}

/* A flush that failed ends all writing, in every process. */
static int fail_stop(struct jsonl *js, int code, struct weft_error *err)
{
	struct weft_error ignored;

	if (code != WEFT_UNKNOWN)
		return code;
	if (enter(js, &ignored) == WEFT_OK)
		stop(js);
	if (err)
		err->code = WEFT_IO;
	return WEFT_IO;
}

static int settle(struct jsonl *js, const struct plan *p,
		  struct weft_error *err)
{
	int r = settle_files(js, p->items, p->n, err);

	if (r < 0)
		return r;
	r = reopen_catalog(js, err);
	if (r == WEFT_OK && !catalog_is_complete(js))
		r = reindex(js, NULL, err);
	if (r == WEFT_OK)
		r = settle_catalog(js, p->items, p->n, p->target, err);
	if (r != WEFT_CORRUPT)
		return r;
	/* What is derived must not keep the log from being freed. */
	r = replace_catalog(js, err);
	if (r == WEFT_OK)
		r = reindex(js, NULL, err);
	return r == WEFT_OK ?
		       settle_catalog(js, p->items, p->n, p->target, err) :
		       r;
}

int checkpoint_locked(struct jsonl *js, struct weft_error *err)
{
	struct plan p = { 0 };
	struct wal_control old;
	int r;

	behind_settle_most(js);
	r = enter(js, err);
	if (r < 0)
		return r;
	r = plan_checkpoint(js, &p, err);
	leave(js);
	if (r < 0 || p.nothing_to_do)
		return r;
	r = settle(js, &p, err);
	settle_free(p.items, p.n);
	if (r < 0)
		return fail_stop(js, r, err);
	r = enter(js, err);
	if (r < 0)
		return r;
	old = js->wal.control;
	r = finish_checkpoint(js, &p, err);
	if (r == WEFT_OK)
		wal_remove_unused(&js->wal, &old);
	leave(js);
	if (r == WEFT_OK) {
		settle_reserve(js);
		(void)atomic_fetch_add(&js->checkpoints, 1);
	}
	return r;
}

int checkpoint(struct jsonl *js, struct weft_error *err)
{
	int r;

	if (js->read_only)
		return fail(err, WEFT_READ_ONLY, "%s is open for reading only",
			    js->dir);
	r = checkpoint_lock(js, err);
	if (r < 0)
		return r;
	r = checkpoint_locked(js, err);
	checkpoint_unlock(js);
	return r;
}

int checkpoint_for_room(struct jsonl *js, uint64_t bytes,
			struct weft_error *err)
{
	uint64_t place;
	bool room;
	int r = checkpoint_lock(js, err);

	if (r < 0)
		return r;
	/* The one that was under way may have made it. */
	r = enter(js, err);
	if (r == WEFT_OK) {
		room = wal_place(&js->wal, &js->st, bytes, &place) == WEFT_OK;
		leave(js);
		if (!room)
			r = checkpoint_locked(js, err);
	}
	checkpoint_unlock(js);
	return r;
}

bool checkpoint_is_due(const struct jsonl *js)
{
	return js->st.end - u64_min(js->st.end, js->st.ckpt) >=
	       wal_total_bytes(&js->wal) / DUE_PART;
}

/* ---- the thread ---- */

static bool is_still_due(struct jsonl *js)
{
	bool due;

	(void)pthread_mutex_lock(&js->writer);
	due = checkpoint_is_due(js);
	(void)pthread_mutex_unlock(&js->writer);
	return due;
}

static void deadline(struct timespec *ts, int64_t ms)
{
	(void)clock_gettime(CLOCK_MONOTONIC, ts);
	ts->tv_sec += ms / 1000;
	ts->tv_nsec += (ms % 1000) * 1000000;
	if (ts->tv_nsec >= 1000000000) {
		ts->tv_nsec -= 1000000000;
		ts->tv_sec++;
	}
}

/*
 * Wait until there is something to do: at once if it was asked for, else a
 * second after the last write.  False: stop.
 */
static bool wait_for_work(struct jsonl *js, bool *ret_asked)
{
	bool go;

	(void)pthread_mutex_lock(&js->thread_mutex);
	while (!js->stop && !js->asked) {
		struct timespec ts;

		if (!js->active) {
			js->asleep = true;
			(void)pthread_cond_wait(&js->thread_cond,
						&js->thread_mutex);
			js->asleep = false;
			continue;
		}
		js->active = false;
		deadline(&ts, QUIET_MS);
		if (pthread_cond_timedwait(&js->thread_cond, &js->thread_mutex,
					   &ts) == ETIMEDOUT &&
		    !js->active)
			break;
	}
	go = !js->stop;
	*ret_asked = js->asked;
	js->asked = false;
	js->active = false;
	(void)pthread_mutex_unlock(&js->thread_mutex);
	return go;
}

static void *run_thread(void *arg)
{
	struct jsonl *js = arg;
	int64_t last_us = 0;
	bool asked;

	while (wait_for_work(js, &asked)) {
		struct weft_error err;

		/* It was asked for while the last one was going on: now it
		 * has time until nobody writes. */
		if (asked && !is_still_due(js)) {
			checkpoint_ask(js, false);
			continue;
		}
		if (asked && last_us && clock_mono_us() - last_us < SOON_US &&
		    extend_log_ahead(js, &err) == WEFT_OK)
			continue;
		/* Whatever is wrong, the next writer is told; BUSY means that
		 * another process does it. */
		(void)checkpoint(js, &err);
		last_us = clock_mono_us();
	}
	return NULL;
}

int checkpoint_start(struct jsonl *js, struct weft_error *err)
{
	sigset_t all, before;
	int r;

	if (js->read_only || js->by_hand)
		return WEFT_OK;
	/* Signals are for the program's own threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&js->thread, NULL, run_thread, js);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		return fail(err, WEFT_NO_MEMORY, "cannot start a thread");
	js->has_thread = true;
	return WEFT_OK;
}

void checkpoint_stop(struct jsonl *js)
{
	if (!js->has_thread)
		return;
	(void)pthread_mutex_lock(&js->thread_mutex);
	js->stop = true;
	(void)pthread_cond_signal(&js->thread_cond);
	(void)pthread_mutex_unlock(&js->thread_mutex);
	(void)pthread_join(js->thread, NULL);
	js->has_thread = false;
}

void checkpoint_ask(struct jsonl *js, bool now)
{
	(void)pthread_mutex_lock(&js->thread_mutex);
	/* In its timed wait the thread looks at `active` by itself. */
	if ((now && !js->asked) || (js->asleep && !js->active))
		(void)pthread_cond_signal(&js->thread_cond);
	js->asked = js->asked || now;
	js->active = true;
	(void)pthread_mutex_unlock(&js->thread_mutex);
}

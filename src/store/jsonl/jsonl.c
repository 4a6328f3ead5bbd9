/* jsonl.c - the store of plain files: opening, closing, and its slots. */
#include "store/jsonl/jsonl.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/blob.h"
#include "store/jsonl/verify.h"

/* How long a reader waits for lines to come into their files. */
#define BEHIND_WAIT_US  2000000
#define FRAME_BYTES_MAX MIB(17) /* the largest message, and some */

/* ---- opening ---- */

/* Which start of the machine this is; 0 if that cannot be told. */
static uint64_t read_boot(struct fs *fs)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	CLEANUP(file_cleanup) struct file *f = NULL;
	char text[64];
	ssize_t n;

	if (file_open(fs, path, FILE_READ, &f) < 0)
		return 0;
	n = file_read(f, text, sizeof(text), 0);
	if (n <= 0)
		return 0;
	/* The same for every process, unlike hash_bytes(). */
	return (uint64_t)crc32c(0, text, (size_t)n) << 32 |
	       crc32c(1, text, (size_t)n) | 1;
}

static void init_locks(struct jsonl *js)
{
	pthread_condattr_t attr;
	pthread_mutexattr_t recursive;

	(void)pthread_mutex_init(&js->ckpt_mutex, NULL);
	gate_init(&js->gate);
	behind_init(&js->behind);
	(void)pthread_mutex_init(&js->writer, NULL);
	(void)pthread_rwlock_init(&js->catalog_lock, NULL);
	(void)pthread_mutexattr_init(&recursive);
	(void)pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(&js->mutex, &recursive);
	(void)pthread_mutexattr_destroy(&recursive);
	(void)pthread_mutex_init(&js->thread_mutex, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&js->thread_cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	(void)pthread_mutex_init(&js->watch_mutex, NULL);
	search_db_init(&js->search);
}

/* Takes one that is half built. */
static void js_free(struct jsonl *js)
{
	live_drop_all(js);
	table_done(&js->sessions);
	table_done(&js->names);
	table_done(&js->names_of);
	glimpses_done(js);
	search_db_done(&js->search);
	catalog_close(js->catalog);
	file_close(js->sync_file);
	watch_close(js->watch);
	wal_close(&js->wal);
	buf_done(&js->frame);
	buf_done(&js->frame_read);
	behind_done(&js->behind);
	arena_done(&js->arena);
	(void)pthread_mutex_destroy(&js->watch_mutex);
	(void)pthread_cond_destroy(&js->thread_cond);
	(void)pthread_mutex_destroy(&js->thread_mutex);
	(void)pthread_mutex_destroy(&js->mutex);
	(void)pthread_rwlock_destroy(&js->catalog_lock);
	(void)pthread_mutex_destroy(&js->writer);
	gate_done(&js->gate);
	(void)pthread_mutex_destroy(&js->ckpt_mutex);
	mem_free(js->dir);
	mem_free(js);
}

static size_t half_of_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 0;
	return (size_t)u64_min(l.rlim_cur, 65536) / 2;
}

static struct jsonl *js_new(const struct store_open *o)
{
	struct jsonl *js = mem_zero(1, sizeof(*js));

	if (!js)
		return NULL;
	init_locks(js);
	js->store.ops = &store_jsonl;
	js->store.limits = o->limits;
	js->fs = o->fs ? o->fs : fs_real();
	if (o->clock)
		js->own_clock = *o->clock;
	js->clock = &js->own_clock;
	js->process = process_generation();
	js->read_only = (o->flags & STORE_READ_ONLY) != 0;
	js->by_hand = (o->flags & STORE_BY_HAND) != 0;
	js->unchecked = (o->flags & STORE_UNCHECKED) != 0;
	js->single = js->unchecked || (o->flags & STORE_SINGLE) != 0;
	js->store.lone = js->single && !js->read_only;
	js->store.by_hand = js->by_hand;
	js->store.unhinted = 1;
	js->boot = read_boot(js->fs);
	js->files_max = half_of_descriptors();
	buf_init(&js->frame, FRAME_BYTES_MAX);
	buf_init(&js->frame_read, 0);
	arena_init(&js->arena, 0);
	js->may_lag = !js->read_only &&
		      (!js->by_hand || (o->flags & STORE_LAGGING) != 0);
	js->dir = mem_copy(o->path);
	if (!js->dir) {
		js_free(js);
		return NULL;
	}
	for (size_t n = strlen(js->dir); n > 1 && js->dir[n - 1] == '/'; n--)
		js->dir[n - 1] = '\0';
	return js;
}

int jsonl_check_place(const struct store_open *o, struct weft_error *err)
{
	struct jsonl *js = js_new(o);
	int r;

	if (!js)
		return fail_no_memory(err);
	r = layout_look(js, err);
	js_free(js);
	return r;
}

static int open_wal_lock(struct jsonl *js, struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = path_join(path, js->dir, "wal", err);

	if (r < 0)
		return r;
	if (!js->read_only) {
		r = fs_mkdir(js->fs, path);
		if (r < 0 && r != -EEXIST)
			return fail_errno(err, -r, "make directory %s", path);
	}
	return wal_open(&js->wal, js->fs, path, js->read_only, err);
}

static int load(struct jsonl *js, struct weft_error *err)
{
	int r = layout_read_format(js, err);

	if (r == WEFT_OK)
		r = wal_load(&js->wal, err);
	if (r == WEFT_OK && !id_eq(&js->wal.control.store, &js->id))
		r = fail(err, WEFT_CORRUPT,
			 "%s/wal belongs to another store than %s/weft.json",
			 js->dir, js->dir);
	return r == WEFT_OK ? open_catalog(js, err) : r;
}

/* Go by the same control as the others, whatever a dead one has left. */
static int agree(struct jsonl *js, struct weft_error *err)
{
	struct wal_state st;
	int r = wal_get_state(&js->wal, &st, err);

	if (r < 0 || st.control_no == js->wal.control.no)
		return r;
	return wal_reload(&js->wal, st.control_no, err);
}

/* Whoever is alone recovers; the others trust what it left. */
static int join(struct jsonl *js, struct weft_error *err)
{
	struct catalog_meta meta = { 0 };
	struct weft_error busy;
	int r = wal_try_lock(&js->wal, WAL_OPEN, false, &busy);

	if (r == WEFT_BUSY && js->single)
		return fail(err, WEFT_BUSY,
			    "%s is in use by another process, and single=1 "
			    "asks for it alone",
			    js->dir);
	if (r < 0 && r != WEFT_BUSY) {
		if (err)
			*err = busy;
		return r;
	}
	if (r == WEFT_OK)
		r = recover(js, err);
	else
		r = agree(js, err);
	if (r == WEFT_OK && !js->single)
		r = wal_try_lock(&js->wal, WAL_OPEN, true, err);
	if (r == WEFT_OK)
		r = wal_get_state(&js->wal, &js->st, err);
	if (r == WEFT_OK)
		r = behind_replay(js, err);
	if (r == WEFT_OK)
		r = catalog_get_meta(js->catalog, &meta, err);
	if (r < 0)
		return r;
	js->mine = meta.applied;
	if (meta.complete)
		r = catch_up(js, err);
	return r;
}

/* Before anything is believed; nobody else may have it open. */
static int mend_first(struct jsonl *js, struct weft_error *err)
{
	int r = wal_try_lock(&js->wal, WAL_OPEN, false, err);

	if (r == WEFT_BUSY)
		return fail(err, WEFT_BUSY,
			    "%s is in use: close all programs that use it "
			    "before it is repaired",
			    js->dir);
	return r == WEFT_OK ? repair_log(js, err) : r;
}

/* Everything that must be done while nobody else opens or writes. */
static int open_locked(struct jsonl *js, bool create, struct weft_error *err)
{
	bool exists = false;
	int r = layout_check(js, create, &exists, err);

	if (r == WEFT_OK && js->unchecked)
		r = mend_first(js, err);
	else if (r == WEFT_OK && !exists)
		r = layout_create(js, js->store.limits.segment_bytes, err);
	if (r == WEFT_OK)
		r = load(js, err);
	return r == WEFT_OK ? join(js, err) : r;
}

/* A new or unusable catalogue is made from the files before anybody asks. */
static int complete(struct jsonl *js, struct weft_error *err)
{
	int r;

	if (catalog_is_complete(js))
		return WEFT_OK;
	r = checkpoint_wait(js, err);
	if (r == WEFT_BUSY)
		return fail(err, WEFT_BUSY,
			    "the catalogue of %s is being made anew by another "
			    "process, for longer than busy_ms (%llu): try "
			    "again later",
			    js->dir,
			    (unsigned long long)js->store.limits.busy_ms);
	if (r < 0)
		return r;
	if (!catalog_is_complete(js))
		r = reindex(js, NULL, err);
	checkpoint_unlock(js);
	return r;
}

static int open_writable(struct jsonl *js, bool create, struct weft_error *err)
{
	char path[PATH_BYTES];
	bool exists;
	int r = layout_check(js, create, &exists, err);

	/* What is not for us is not touched, not even by taking its lock. */
	if (r == WEFT_OK && exists) {
		r = layout_read_format(js, err);
		if (r == WEFT_CORRUPT && js->unchecked)
			r = WEFT_OK;
	}
	if (r == WEFT_OK)
		r = open_wal_lock(js, err);
	if (r == WEFT_OK)
		r = wal_lock_batch(&js->wal, js->store.limits.busy_ms, err);
	if (r < 0)
		return r;
	r = open_locked(js, create, err);
	wal_unlock(&js->wal, WAL_BATCH);
	if (r == WEFT_OK)
		r = complete(js, err);
	if (r == WEFT_OK)
		r = path_join(path, js->dir, "weft.json", err);
	if (r == WEFT_OK) {
		(void)file_open(js->fs, path, FILE_READ, &js->sync_file);
		settle_reserve(js);
		r = checkpoint_start(js, err);
	}
	return r;
}

/*
 * Whoever writes sees by READ that lines must not be left behind any more; then
 * those that are come into their files.  False if nobody is left who would do
 * that, or the state is not to be believed.
 */
static bool wait_for_files(struct jsonl *js)
{
	int64_t until = clock_mono_us() + BEHIND_WAIT_US;
	struct weft_error ignored;
	struct wal_state st;

	(void)wal_try_lock(&js->wal, WAL_READ, true, &ignored);
	while (recover_state(js, &st)) {
		if (st.behind == 0)
			return true;
		if (!wal_may_have_writer(&js->wal) || clock_mono_us() >= until)
			return false;
		fs_sleep_us(js->fs, 1000);
	}
	return false;
}

static int open_read_only(struct jsonl *js, struct weft_error *err)
{
	struct catalog_meta meta = { 0 };
	bool exists, is_live;
	int r = layout_check(js, false, &exists, err);

	if (r == WEFT_OK)
		r = open_wal_lock(js, err);
	if (r == WEFT_OK)
		r = load(js, err);
	is_live = r == WEFT_OK && wait_for_files(js);
	if (r == WEFT_OK && !catalog_is_complete(js))
		r = reindex(js, NULL, err);
	if (r == WEFT_OK)
		r = catalog_get_meta(js->catalog, &meta, err);
	if (r < 0)
		return r;
	js->mine = meta.applied;
	return is_live ? catch_up(js, err) : recover_in_memory(js, err);
}

static int jsonl_open(const struct store_open *o, struct store **ret,
		      struct weft_error *err)
{
	struct jsonl *js;
	int r;

	if (o->path.len == 0)
		return fail(err, WEFT_INVALID,
			    "jsonl: needs a directory: jsonl:DIR");
	js = js_new(o);
	if (!js)
		return fail_no_memory(err);
	r = js->read_only ?
		    open_read_only(js, err) :
		    open_writable(js, (o->flags & STORE_CREATE) != 0, err);
	if (r < 0) {
		checkpoint_stop(js);
		js_free(js);
		return r;
	}
	*ret = &js->store;
	return WEFT_OK;
}

/* ---- closing ---- */

/* The last one out leaves plain files that need nothing else. */
static int close_cleanly(struct jsonl *js, struct weft_error *err)
{
	struct weft_error busy;
	bool alone;
	int r = wal_lock_batch(&js->wal, js->store.limits.busy_ms, err);

	if (r < 0)
		return r;
	alone = js->single ||
		wal_try_lock(&js->wal, WAL_OPEN, false, &busy) == WEFT_OK;
	/* Whoever opens it meanwhile holds BATCH and wants OPEN. */
	if (alone && !js->single)
		(void)wal_try_lock(&js->wal, WAL_OPEN, true, &busy);
	wal_unlock(&js->wal, WAL_BATCH);
	return alone ? checkpoint(js, err) : WEFT_OK;
}

static int jsonl_close(struct store *s, struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	int r = WEFT_OK;

	/* In a child of fork() the thread does not exist, and any lock may be
	 * held for ever.  Only what keeps others out is given back. */
	if (process_generation() != js->process) {
		file_close(js->wal.lock_file);
		return WEFT_OK;
	}
	if (!js->read_only) {
		checkpoint_stop(js);
		r = behind_stop(js, err);
		if (r == WEFT_OK)
			r = close_cleanly(js, err);
	}
	js_free(js);
	return r;
}

/* ---- small slots ---- */

static int jsonl_where(struct store *s, const struct weft_id *session,
		       struct arena *a, struct weft_str *ret,
		       struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = js_check(jsonl_of(s), err);

	if (r == WEFT_OK)
		r = path_session(jsonl_of(s), session, path, err);
	if (r < 0)
		return r;
	*ret = arena_str(a, str_of(path));
	return ret->ptr ? WEFT_OK : arena_error(a, err);
}

static int jsonl_put_blob(struct store *s, struct weft_str bytes,
			  struct blob_ref *ret, struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	char dir[PATH_BYTES];
	int r = js_check(js, err);

	if (r == WEFT_OK && js->read_only)
		r = fail(err, WEFT_READ_ONLY, "%s is open for reading only",
			 js->dir);
	if (r == WEFT_OK)
		r = path_join(dir, js->dir, "blobs", err);
	return r == WEFT_OK ? blob_put(js->fs, dir, bytes, ret, err) : r;
}

static int jsonl_get_blob(struct store *s, const struct blob_ref *ref,
			  struct arena *a, struct weft_str *ret,
			  struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	char dir[PATH_BYTES];
	int r = js_check(js, err);

	if (r == WEFT_OK)
		r = path_join(dir, js->dir, "blobs", err);
	return r == WEFT_OK ? blob_get(js->fs, dir, ref, a, ret, err) : r;
}

static int get_watch(struct jsonl *js, struct watch **ret,
		     struct weft_error *err)
{
	char path[PATH_BYTES];
	int r = path_join(path, js->dir, "wal/state", err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&js->watch_mutex);
	if (!js->watch)
		r = watch_open(js->fs, path, &js->watch);
	*ret = js->watch;
	(void)pthread_mutex_unlock(&js->watch_mutex);
	return r < 0 ? fail_errno(err, -r, "watch %s", path) : WEFT_OK;
}

/* The stamp is where the log ends, with the number of rewrites above it. */
static int jsonl_wait(struct store *s, uint64_t *stamp, int64_t timeout_ms,
		      struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	struct wal_state st = { 0 };
	struct watch *w = NULL;
	int r = js_check(js, err);

	if (r == WEFT_OK)
		r = get_watch(js, &w, err);
	if (r == WEFT_OK)
		r = wal_get_state(&js->wal, &st, err);
	if (r < 0 || !w)
		return r;
	if (st.prev + 1 == *stamp) {
		r = watch_wait(w, timeout_ms);
		if (r < 0)
			return fail_errno(err, -r, "watch %s", js->dir);
		if (r == 0)
			return 0;
		r = wal_get_state(&js->wal, &st, err);
		if (r < 0)
			return r;
	}
	*stamp = st.prev + 1;
	return 1;
}

static void jsonl_store_wake(struct store *s)
{
	struct jsonl *js = jsonl_of(s);

	(void)pthread_mutex_lock(&js->watch_mutex);
	if (js->watch)
		watch_wake(js->watch);
	(void)pthread_mutex_unlock(&js->watch_mutex);
}

static int jsonl_health(struct store *s, struct store_health *ret)
{
	struct jsonl *js = jsonl_of(s);
	struct wal_state st = { 0 };
	struct fs_space space = { 0 };
	int r = js_check(js, NULL);

	if (r < 0)
		return r;
	*ret = (struct store_health){
		.complete = catalog_is_complete(js),
		.checkpoints = atomic_load(&js->checkpoints),
	};
	(void)wal_get_state(&js->wal, &st, NULL);
	(void)fs_space(js->fs, js->dir, &space);
	ret->failed = st.failed;
	ret->log_bytes = st.end - u64_min(st.end, st.ckpt);
	ret->free_bytes = space.free_bytes;
	(void)pthread_mutex_lock(&js->mutex);
	ret->active = js->sessions.n;
	ret->open_files = js->n_files;
	(void)pthread_mutex_unlock(&js->mutex);
	(void)pthread_mutex_lock(&js->writer);
	ret->flushes = js->wal.flushes;
	ret->frames = js->wal.frames;
	(void)pthread_mutex_unlock(&js->writer);
	ret->writable = !js->read_only && !st.failed;
	if (js->read_only)
		(void)memcpy(ret->reason, "opened for reading only",
			     sizeof("opened for reading only"));
	else if (st.failed)
		(void)memcpy(ret->reason, "a flush failed; open it anew",
			     sizeof("a flush failed; open it anew"));
	return WEFT_OK;
}

const struct store_ops store_jsonl = {
	.scheme = "jsonl",
	.open = jsonl_open,
	.close = jsonl_close,
	.write = jsonl_write,
	.get_sessions = jsonl_get_sessions,
	.get_names = jsonl_get_names,
	.get_names_of = jsonl_get_names_of,
	.read_events = jsonl_read_events,
	.get_hidden = jsonl_get_hidden,
	.list = jsonl_list,
	.find_tag = jsonl_find_tag,
	.where = jsonl_where,
	.put_blob = jsonl_put_blob,
	.get_blob = jsonl_get_blob,
	.get_behind = jsonl_get_behind,
	.put_words = jsonl_put_words,
	.find_words = jsonl_find_words,
	.drop_words = jsonl_drop_words,
	.wait = jsonl_wait,
	.wake = jsonl_store_wake,
	.maintain = jsonl_maintain,
	.health = jsonl_health,
};

/*
 * vfs.c - SQLite's way to the file system, through base/file.h.
 *
 * DESIGN
 *
 * Locks.  SQLite's five states stand for locks on bytes far behind the data,
 * at the places where its own Unix VFS has them, so that the two exclude each
 * other:
 *
 *   SHARED     shared on the SHARED range
 *   RESERVED   and exclusive on the RESERVED byte: one is going to write
 *   PENDING    and exclusive on the PENDING byte: no new readers
 *   EXCLUSIVE  and exclusive on the SHARED range: no readers at all
 *
 * A reader passes through the PENDING byte, so that a writer that waits for
 * the readers to go is not kept waiting by new ones.  Locks belong to the
 * open file: connections of one process exclude each other like those of two.
 *
 * Durability.  A journal protects nothing while its name can vanish, so the
 * directory is synced with the first sync of a journal that this connection
 * may have made; the name of a new database becomes durable with it.  Errors
 * of syncs are passed on and nothing is tried again.
 *
 * Removal.  A journal is found by the name of its database, a lock by the open
 * file.  Whoever still has a database open that was removed must not take the
 * journal of the next one of that name for its own: it would find nobody at
 * work, roll it back into the wrong file and leave the right one without.  So
 * a journal is only there for who has the file that has the name; the others
 * read what they have, and may not write.
 */
#include "store/jsonl/vfs.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#define PENDING_AT   0x40000000
#define RESERVED_AT  (PENDING_AT + 1)
#define SHARED_AT    (PENDING_AT + 2)
#define SHARED_BYTES 510
#define ALL_BYTES    (2 + SHARED_BYTES) /* from PENDING_AT on */

#define REMOVE_WAIT_US 5000000
#define REMOVE_STEP_US 1000

#define PATH_BYTES_MAX 4096
#define SECTOR_BYTES   4096

/* Milliseconds from noon of 24 November 4714 BC to 1970, as SQLite counts. */
#define JULIAN_1970_MS INT64_C(210866760000000)
#define DAY_MS         86400000.0

struct vfs {
	sqlite3_vfs base;
	struct fs *fs;
	pthread_mutex_t lock;
	struct vfs_file *mains; /* lock: the databases that are open */
	char name[32];
};

struct vfs_file {
	sqlite3_file base; /* first: SQLite knows only this */
	struct vfs *vfs;
	struct vfs_file *next; /* of a database */
	struct fs *fs;
	struct file *file;
	const char *path; /* SQLite keeps it while the file is open */
	int level;        /* SQLITE_LOCK_... */
	bool sync_dir;    /* its name may not be durable yet */
};

static struct vfs_file *file_of(sqlite3_file *f)
{
	return (struct vfs_file *)(void *)f;
}

static struct vfs *vfs_of(sqlite3_vfs *v)
{
	return v->pAppData;
}

static struct fs *fs_of(sqlite3_vfs *v)
{
	return vfs_of(v)->fs;
}

/* Why the last call of this thread failed, for messages. */
static _Thread_local int last_error;

/* SQLite's code for a failure (a negative errno) of the kind `io_code`. */
static int sqlite_code(int os_error, int io_code)
{
	last_error = -os_error;
	switch (-os_error) {
	case ENOSPC:
	case EDQUOT:
		return SQLITE_FULL;
	case ENOMEM:
		return SQLITE_IOERR_NOMEM;
	default:
		return io_code;
	}
}

static int sync_dir_of(struct fs *fs, const char *path)
{
	CLEANUP(mem_cleanup) char *dir = NULL;
	const char *slash = strrchr(path, '/');
	struct weft_str s = STR(".");
	int r;

	if (slash)
		s = (struct weft_str){ path, (size_t)(slash - path) };
	if (slash == path)
		s = STR("/");
	dir = mem_copy(s);
	if (!dir)
		return SQLITE_IOERR_NOMEM;
	r = fs_sync_dir(fs, dir);
	return r < 0 ? sqlite_code(r, SQLITE_IOERR_DIR_FSYNC) : SQLITE_OK;
}

/* ---- what was removed ---- */

static void add_main(struct vfs_file *f)
{
	(void)pthread_mutex_lock(&f->vfs->lock);
	f->next = f->vfs->mains;
	f->vfs->mains = f;
	(void)pthread_mutex_unlock(&f->vfs->lock);
}

static void drop_main(struct vfs_file *f)
{
	struct vfs_file **at = &f->vfs->mains;

	(void)pthread_mutex_lock(&f->vfs->lock);
	while (*at && *at != f)
		at = &(*at)->next;
	if (*at)
		*at = f->next;
	(void)pthread_mutex_unlock(&f->vfs->lock);
}

/* The database of a journal; NULL if the path is none that SQLite made. */
static struct vfs_file *main_of(struct vfs *v, const char *journal)
{
	struct vfs_file *f;

	(void)pthread_mutex_lock(&v->lock);
	f = v->mains;
	while (f && sqlite3_filename_journal(f->path) != journal)
		f = f->next;
	(void)pthread_mutex_unlock(&v->lock);
	return f;
}

/* 1: another file has its name now, or none; 0: not; or a negative errno. */
static int has_moved(const struct vfs_file *f)
{
	struct file_stat held, named;
	int r = file_stat(f->file, &held);

	if (r < 0)
		return r;
	r = fs_stat(f->fs, f->path, &named);
	if (r == -ENOENT)
		return 1;
	if (r < 0)
		return r;
	return held.dev != named.dev || held.ino != named.ino;
}

/* ---- a file ---- */

static int vfs_file_close(sqlite3_file *f)
{
	struct vfs_file *v = file_of(f);

	drop_main(v);
	file_close(v->file); /* its locks go with it */
	v->file = NULL;
	return SQLITE_OK;
}

static int vfs_file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	ssize_t got = file_read(file_of(f)->file, to, (size_t)n, (uint64_t)at);

	if (got < 0)
		return sqlite_code((int)got, SQLITE_IOERR_READ);
	if (got == n)
		return SQLITE_OK;
	memset((char *)to + got, 0, (size_t)(n - got));
	return SQLITE_IOERR_SHORT_READ;
}

static int vfs_file_write(sqlite3_file *f, const void *bytes, int n,
			  sqlite3_int64 at)
{
	ssize_t r =
		file_write(file_of(f)->file, bytes, (size_t)n, (uint64_t)at);

	return r < 0 ? sqlite_code((int)r, SQLITE_IOERR_WRITE) : SQLITE_OK;
}

static int vfs_file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int r = file_truncate(file_of(f)->file, (uint64_t)size);

	return r < 0 ? sqlite_code(r, SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
}

static int vfs_file_sync(sqlite3_file *f, int flags)
{
	struct vfs_file *v = file_of(f);
	int r = flags & SQLITE_SYNC_DATAONLY ? file_datasync(v->file) :
					       file_sync(v->file);

	if (r < 0)
		return sqlite_code(r, SQLITE_IOERR_FSYNC);
	if (!v->sync_dir)
		return SQLITE_OK;
	r = sync_dir_of(v->fs, v->path);
	if (r == SQLITE_OK)
		v->sync_dir = false;
	return r;
}

static int vfs_file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	struct file_stat st;
	int r = file_stat(file_of(f)->file, &st);

	if (r < 0)
		return sqlite_code(r, SQLITE_IOERR_FSTAT);
	*ret = (sqlite3_int64)st.size;
	return SQLITE_OK;
}

static int lock_code(int r)
{
	if (r == -EAGAIN)
		return SQLITE_BUSY;
	return r < 0 ? sqlite_code(r, SQLITE_IOERR_LOCK) : SQLITE_OK;
}

static int lock_shared(struct vfs_file *v)
{
	int r = file_lock(v->file, PENDING_AT, 1, FILE_SHARED);
	int left;

	if (r < 0)
		return lock_code(r);
	r = file_lock(v->file, SHARED_AT, SHARED_BYTES, FILE_SHARED);
	left = file_lock(v->file, PENDING_AT, 1, FILE_UNLOCK);
	if (r == 0 && left < 0) {
		/* To keep it would lock every writer out. */
		(void)file_lock(v->file, SHARED_AT, SHARED_BYTES, FILE_UNLOCK);
		return lock_code(left);
	}
	if (r == 0)
		v->level = SQLITE_LOCK_SHARED;
	return lock_code(r);
}

static int lock_reserved(struct vfs_file *v)
{
	int r = file_lock(v->file, RESERVED_AT, 1, FILE_LOCKED);

	if (r == 0)
		v->level = SQLITE_LOCK_RESERVED;
	return lock_code(r);
}

static int lock_exclusive(struct vfs_file *v)
{
	int r;

	if (v->level < SQLITE_LOCK_PENDING) {
		r = file_lock(v->file, PENDING_AT, 1, FILE_LOCKED);
		if (r < 0)
			return lock_code(r);
		/* Stays when the next step fails: SQLite tries again, and
		 * meanwhile the readers get fewer. */
		v->level = SQLITE_LOCK_PENDING;
	}
	r = file_lock(v->file, SHARED_AT, SHARED_BYTES, FILE_LOCKED);
	if (r == 0)
		v->level = SQLITE_LOCK_EXCLUSIVE;
	return lock_code(r);
}

static int vfs_file_lock(sqlite3_file *f, int level)
{
	struct vfs_file *v = file_of(f);

	if (v->level >= level)
		return SQLITE_OK;
	switch (level) {
	case SQLITE_LOCK_SHARED:
		return lock_shared(v);
	case SQLITE_LOCK_RESERVED:
		return lock_reserved(v);
	case SQLITE_LOCK_EXCLUSIVE:
		return lock_exclusive(v);
	default:
		return SQLITE_MISUSE; /* PENDING is not asked for by itself */
	}
}

static int vfs_file_unlock(sqlite3_file *f, int level)
{
	struct vfs_file *v = file_of(f);
	int r = 0;

	if (v->level <= level)
		return SQLITE_OK;
	if (level == SQLITE_LOCK_NONE) {
		r = file_lock(v->file, PENDING_AT, ALL_BYTES, FILE_UNLOCK);
	} else {
		/* Sharing first: at no time may a writer slip in between. */
		if (v->level == SQLITE_LOCK_EXCLUSIVE)
			r = file_lock(v->file, SHARED_AT, SHARED_BYTES,
				      FILE_SHARED);
		if (r == 0)
			r = file_lock(v->file, PENDING_AT, 2, FILE_UNLOCK);
	}
	if (r < 0)
		return sqlite_code(r, SQLITE_IOERR_UNLOCK);
	v->level = level;
	return SQLITE_OK;
}

static int vfs_file_is_reserved(sqlite3_file *f, int *ret)
{
	struct vfs_file *v = file_of(f);
	int r;

	if (v->level >= SQLITE_LOCK_RESERVED) {
		*ret = 1;
		return SQLITE_OK;
	}
	/* There is no asking without taking; two that share do not mind each
	 * other, and a file opened for reading can share. */
	r = file_lock(v->file, RESERVED_AT, 1, FILE_SHARED);
	if (r == 0)
		r = file_lock(v->file, RESERVED_AT, 1, FILE_UNLOCK);
	if (r < 0 && r != -EAGAIN)
		return sqlite_code(r, SQLITE_IOERR_CHECKRESERVEDLOCK);
	*ret = r == -EAGAIN;
	return SQLITE_OK;
}

/* SQLite asks whether the file was moved before it begins a journal. */
static int vfs_file_control(sqlite3_file *f, int op, void *arg)
{
	int r;

	if (op != SQLITE_FCNTL_HAS_MOVED)
		return SQLITE_NOTFOUND;
	r = has_moved(file_of(f));
	if (r < 0)
		return sqlite_code(r, SQLITE_IOERR_FSTAT);
	*(int *)arg = r;
	return SQLITE_OK;
}

static int vfs_sector_size(sqlite3_file *f)
{
	(void)f;
	return SECTOR_BYTES;
}

/* No promises: not that writes are atomic, nor that appended data are there
 * before the size, nor that a torn write leaves its neighbours alone. */
static int vfs_characteristics(sqlite3_file *f)
{
	(void)f;
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = vfs_file_close,
	.xRead = vfs_file_read,
	.xWrite = vfs_file_write,
	.xTruncate = vfs_file_truncate,
	.xSync = vfs_file_sync,
	.xFileSize = vfs_file_size,
	.xLock = vfs_file_lock,
	.xUnlock = vfs_file_unlock,
	.xCheckReservedLock = vfs_file_is_reserved,
	.xFileControl = vfs_file_control,
	.xSectorSize = vfs_sector_size,
	.xDeviceCharacteristics = vfs_characteristics,
};

/* ---- names ---- */

static unsigned file_flags_of(int flags)
{
	unsigned how = FILE_READ;

	if (flags & SQLITE_OPEN_READWRITE)
		how |= FILE_WRITE;
	if (flags & SQLITE_OPEN_CREATE)
		how |= FILE_CREATE;
	if (flags & SQLITE_OPEN_EXCLUSIVE)
		how |= FILE_EXCLUSIVE;
	return how;
}

static bool may_still_be_read(int r)
{
	return r == -EACCES || r == -EPERM || r == -EROFS;
}

/*
 * A journal was opened: is it that of its database?  It was looked for before,
 * so the database was removed this moment; who reads is to look again.
 */
static int check_journal(struct vfs_file *v, int flags)
{
	struct vfs_file *db = main_of(v->vfs, v->path);
	int r = db ? has_moved(db) : 0;

	if (r == 0)
		return SQLITE_OK;
	file_close(v->file);
	v->file = NULL;
	if (r < 0)
		return sqlite_code(r, SQLITE_IOERR_FSTAT);
	return flags & SQLITE_OPEN_CREATE ? SQLITE_READONLY_DBMOVED :
					    SQLITE_BUSY;
}

static int vfs_open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *f,
			 int flags, int *ret_flags)
{
	const int journals =
		SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
	struct vfs_file *v = file_of(f);
	int r;

	*v = (struct vfs_file){ .vfs = vfs_of(vfs),
				.fs = fs_of(vfs),
				.path = path };
	if (!path)
		return SQLITE_CANTOPEN; /* no temporary files */
	r = file_open(v->fs, path, file_flags_of(flags), &v->file);
	if (may_still_be_read(r) && flags & SQLITE_OPEN_READWRITE &&
	    !(flags & SQLITE_OPEN_EXCLUSIVE)) {
		flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
		flags |= SQLITE_OPEN_READONLY;
		r = file_open(v->fs, path, FILE_READ, &v->file);
	}
	if (r < 0)
		return sqlite_code(r, SQLITE_CANTOPEN);
	if (flags & SQLITE_OPEN_MAIN_JOURNAL) {
		r = check_journal(v, flags);
		if (r != SQLITE_OK)
			return r;
	}
	v->sync_dir = flags & SQLITE_OPEN_CREATE && flags & journals;
	v->base.pMethods = &methods;
	if (flags & SQLITE_OPEN_MAIN_DB)
		add_main(v);
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_dir)
{
	struct vfs_file *db = main_of(vfs_of(vfs), path);
	int r = db ? has_moved(db) : 0;

	if (r == 1)
		return SQLITE_OK; /* not its journal */
	if (r == 0)
		r = fs_unlink(fs_of(vfs), path);
	if (r == -ENOENT)
		return SQLITE_IOERR_DELETE_NOENT;
	if (r < 0)
		return sqlite_code(r, SQLITE_IOERR_DELETE);
	return sync_dir ? sync_dir_of(fs_of(vfs), path) : SQLITE_OK;
}

/* SQLite asks for one before every read; without shared memory there is
 * none. */
static bool is_wal(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && strcmp(path + n - 4, "-wal") == 0;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int what, int *ret)
{
	struct vfs_file *db;
	struct file_stat st;
	int r;

	if (is_wal(path)) {
		*ret = 0;
		return SQLITE_OK;
	}
	r = fs_stat(fs_of(vfs), path, &st);
	/* Any other failure must not pass for "no journal": it might be hot. */
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return sqlite_code(r, SQLITE_IOERR_ACCESS);
	*ret = r == 0;
	/* An empty journal is as good as none; so SQLite need not open it. */
	if (r == 0 && what == SQLITE_ACCESS_EXISTS && st.is_file)
		*ret = st.size > 0;
	db = *ret ? main_of(vfs_of(vfs), path) : NULL;
	r = db ? has_moved(db) : 0;
	if (r < 0)
		return sqlite_code(r, SQLITE_IOERR_ACCESS);
	if (r == 1)
		*ret = 0;
	return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int room,
			 char *out)
{
	size_t n = strlen(path) + 1;

	(void)vfs;
	if (room < 0 || n > (size_t)room)
		return SQLITE_CANTOPEN;
	memcpy(out, path, n);
	return SQLITE_OK;
}

static void *vfs_no_library(sqlite3_vfs *vfs, const char *path)
{
	(void)vfs;
	(void)path;
	return NULL;
}

static void vfs_no_library_text(sqlite3_vfs *vfs, int room, char *out)
{
	(void)vfs;
	(void)snprintf(out, (size_t)room, "extensions are not loaded here");
}

static int vfs_random(sqlite3_vfs *vfs, int n, char *out)
{
	(void)vfs;
	return random_bytes(out, (size_t)n, NULL) == WEFT_OK ? n : 0;
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	fs_sleep_us(fs_of(vfs), (unsigned)us);
	return us;
}

static int vfs_time_ms(sqlite3_vfs *vfs, sqlite3_int64 *ret)
{
	(void)vfs;
	*ret = clock_now_ms(NULL) + JULIAN_1970_MS;
	return SQLITE_OK;
}

static int vfs_time_days(sqlite3_vfs *vfs, double *ret)
{
	sqlite3_int64 ms;
	int r = vfs_time_ms(vfs, &ms);

	*ret = (double)ms / DAY_MS;
	return r;
}

static int vfs_get_last_error(sqlite3_vfs *vfs, int room, char *out)
{
	(void)vfs;
	(void)room;
	(void)out;
	return last_error;
}

int vfs_open(struct fs *fs, struct vfs **ret, struct weft_error *err)
{
	static _Atomic(unsigned) count;
	struct vfs *v = mem_zero(1, sizeof(*v));
	int r;

	if (!v)
		return fail_no_memory(err);
	v->fs = fs;
	(void)pthread_mutex_init(&v->lock, NULL);
	(void)snprintf(v->name, sizeof(v->name), "weft-%u",
		       atomic_fetch_add(&count, 1) + 1);
	v->base = (sqlite3_vfs){
		.iVersion = 2,
		.szOsFile = sizeof(struct vfs_file),
		.mxPathname = PATH_BYTES_MAX,
		.zName = v->name,
		.pAppData = v,
		.xOpen = vfs_open_file,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_path,
		.xDlOpen = vfs_no_library,
		.xDlError = vfs_no_library_text,
		.xRandomness = vfs_random,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time_days,
		.xGetLastError = vfs_get_last_error,
		.xCurrentTimeInt64 = vfs_time_ms,
	};
	r = sqlite3_vfs_register(&v->base, 0);
	if (r != SQLITE_OK) {
		(void)pthread_mutex_destroy(&v->lock);
		mem_free(v);
		return fail(err, r == SQLITE_NOMEM ? WEFT_NO_MEMORY : WEFT_IO,
			    "cannot register with sqlite: %s",
			    sqlite3_errstr(r));
	}
	*ret = v;
	return WEFT_OK;
}

const char *vfs_name(const struct vfs *v)
{
	return v->name;
}

void vfs_close(struct vfs *v)
{
	if (!v)
		return;
	(void)sqlite3_vfs_unregister(&v->base);
	(void)pthread_mutex_destroy(&v->lock);
	mem_free(v);
}

int vfs_last_error(void)
{
	return last_error;
}

int vfs_db_stat(struct sqlite3 *db, struct file_stat *ret)
{
	sqlite3_file *f = NULL;
	int r = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f);

	if (r != SQLITE_OK || !f || f->pMethods != &methods)
		return -EBADF;
	return file_stat(file_of(f)->file, ret);
}

/* As a writer does, so that none is at work; without waiting. */
static int lock_all(struct file *f)
{
	int r = file_lock(f, PENDING_AT, 1, FILE_LOCKED);

	return r < 0 ? r : file_lock(f, PENDING_AT, ALL_BYTES, FILE_LOCKED);
}

static int unlink_both(struct fs *fs, const char *path, const char *journal)
{
	/* The journal first: it must not be taken for that of a new file. */
	int r = fs_unlink(fs, journal);

	if (r == 0 || r == -ENOENT)
		r = fs_unlink(fs, path);
	return r == -ENOENT ? 0 : r;
}

int vfs_remove_db(struct fs *fs, const char *path)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	CLEANUP(buf_done) struct buf journal;
	struct file_stat held, named;
	unsigned waited = 0;
	int r;

	buf_init(&journal, PATH_BYTES_MAX);
	buf_printf(&journal, "%s-journal", path);
	(void)buf_cstr(&journal);
	if (journal.error)
		return -ENOMEM;
	r = file_open(fs, path, FILE_WRITE, &f);
	if (r == -ENOENT)
		return unlink_both(fs, path, buf_cstr(&journal));
	if (r < 0)
		return r;
	while ((r = lock_all(f)) == -EAGAIN && waited < REMOVE_WAIT_US) {
		fs_sleep_us(fs, REMOVE_STEP_US);
		waited += REMOVE_STEP_US;
	}
	if (r == 0)
		r = file_stat(f, &held);
	if (r == 0)
		r = fs_stat(fs, path, &named);
	/* Somebody else has done it meanwhile. */
	if (r == -ENOENT ||
	    (r == 0 && (held.dev != named.dev || held.ino != named.ino)))
		return 0;
	return r < 0 ? r : unlink_both(fs, path, buf_cstr(&journal));
}

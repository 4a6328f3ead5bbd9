/*
 * ahead.c - larger reads for SQLite; see ahead.h.
 *
 * DESIGN
 *
 * What was read ahead is believed as long as the connection holds the lock
 * under which it was read.  Under such a lock nobody changes a page of the
 * file that its holder may ask for: what a checkpoint writes meanwhile are
 * pages that the holder takes from the log, as far as its snapshot goes, and
 * it goes no farther.  Such a page may well be among what was read ahead, old
 * or torn; it is not asked for before the next lock, with which all is
 * forgotten.  A connection that writes the file itself forgets, too.
 *
 * This is the system's VFS with other methods for the main file; what they
 * need follows the file in memory.
 */
#include "store/sqlite/ahead.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

#include "base/base.h"
#include "base/mem.h"

#define PIECE_BYTES KIB(64)
/* So many pages that follow each other closely, and it is worth it. */
#define STEADY 4

struct ahead {
	sqlite3_io_methods methods; /* first: the file leads here by them */
	const sqlite3_io_methods *below;
	char *piece;      /* NULL: none was needed yet */
	sqlite3_int64 at; /* where it is from */
	sqlite3_int64 n;  /* how much of it there is; 0: nothing to believe */
	sqlite3_int64 last;
	unsigned run; /* reads that followed each other closely */
};

static sqlite3_vfs ahead_base;
static sqlite3_vfs *system_vfs;

static struct ahead *ahead_of(sqlite3_file *f)
{
	return (struct ahead *)(uintptr_t)f->pMethods;
}

/* ---- reading ---- */

static bool copy_piece(const struct ahead *a, void *to, int n, sqlite3_int64 at)
{
	sqlite3_int64 skip = at - a->at;

	if (skip < 0 || skip >= a->n || n > a->n - skip)
		return false;
	memcpy(to, a->piece + skip, (size_t)n);
	return true;
}

/* False if there is nothing to gain, or it failed: the read itself will tell. */
static bool read_piece(sqlite3_file *f, int n, sqlite3_int64 at)
{
	struct ahead *a = ahead_of(f);
	sqlite3_int64 size = 0, want = PIECE_BYTES;

	a->n = 0;
	if (a->below->xFileSize(f, &size) != SQLITE_OK)
		return false;
	if (size - at < want)
		want = size - at;
	if (want <= n)
		return false;
	if (!a->piece)
		a->piece = mem_alloc(PIECE_BYTES);
	if (!a->piece ||
	    a->below->xRead(f, a->piece, (int)want, at) != SQLITE_OK)
		return false;
	a->at = at;
	a->n = want;
	return true;
}

static int read_ahead(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	struct ahead *a = ahead_of(f);
	bool close = at > a->last && at - a->last <= (sqlite3_int64)PIECE_BYTES;

	a->run = close ? a->run + 1 : 0;
	a->last = at;
	if (copy_piece(a, to, n, at))
		return SQLITE_OK;
	if (a->run >= STEADY && read_piece(f, n, at) &&
	    copy_piece(a, to, n, at))
		return SQLITE_OK;
	return a->below->xRead(f, to, n, at);
}

/* ---- forgetting ---- */

static int write_through(sqlite3_file *f, const void *bytes, int n,
			 sqlite3_int64 at)
{
	struct ahead *a = ahead_of(f);

	a->n = 0;
	return a->below->xWrite(f, bytes, n, at);
}

static int truncate_through(sqlite3_file *f, sqlite3_int64 size)
{
	struct ahead *a = ahead_of(f);

	a->n = 0;
	return a->below->xTruncate(f, size);
}

static int lock_anew(sqlite3_file *f, int level)
{
	struct ahead *a = ahead_of(f);

	a->n = 0;
	return a->below->xLock(f, level);
}

/* A transaction begins and ends with one of these. */
static int lock_log_anew(sqlite3_file *f, int offset, int n, int flags)
{
	struct ahead *a = ahead_of(f);

	a->n = 0;
	return a->below->xShmLock(f, offset, n, flags);
}

static int close_file(sqlite3_file *f)
{
	struct ahead *a = ahead_of(f);
	int rc = a->below->xClose(f);

	mem_free(a->piece);
	return rc;
}

/* ---- opening ---- */

static int open_ahead(sqlite3_vfs *vfs, const char *path, sqlite3_file *f,
		      int flags, int *ret_flags)
{
	struct ahead *a = (void *)((char *)f + vfs->szOsFile - sizeof(*a));
	int rc = system_vfs->xOpen(system_vfs, path, f, flags, ret_flags);

	if (rc != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB))
		return rc;
	*a = (struct ahead){ .methods = *f->pMethods, .below = f->pMethods };
	a->methods.xRead = read_ahead;
	a->methods.xWrite = write_through;
	a->methods.xTruncate = truncate_through;
	a->methods.xLock = lock_anew;
	a->methods.xShmLock = lock_log_anew;
	a->methods.xClose = close_file;
	f->pMethods = &a->methods;
	return SQLITE_OK;
}

static void register_once(void)
{
	system_vfs = sqlite3_vfs_find(NULL);
	if (!system_vfs)
		return;
	/* With its pAppData: that is what the functions below go by. */
	ahead_base = *system_vfs;
	ahead_base.pNext = NULL;
	ahead_base.zName = "weft-ahead";
	ahead_base.szOsFile = (int)(round_up((uint64_t)system_vfs->szOsFile,
					     _Alignof(max_align_t)) +
				    sizeof(struct ahead));
	ahead_base.xOpen = open_ahead;
	if (sqlite3_vfs_register(&ahead_base, 0) != SQLITE_OK)
		ahead_base.zName = NULL;
}

const char *ahead_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, register_once);
	return ahead_base.zName;
}

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
 */
#include "store/sqlite/ahead.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

#include "base/base.h"
#include "base/mem.h"
#include "store/sqlite/shim.h"

#define PIECE_BYTES KIB(64)
/* So many pages that follow each other closely, and it is worth it. */
#define STEADY 4

struct ahead {
	char *piece;      /* NULL: none was needed yet */
	sqlite3_int64 at; /* where it is from */
	sqlite3_int64 n;  /* how much of it there is; 0: nothing to believe */
	sqlite3_int64 last;
	unsigned run; /* reads that followed each other closely */
};

static struct ahead *ahead_of(sqlite3_file *f)
{
	return shim_own(f);
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
	if (shim_below(f)->xFileSize(f, &size) != SQLITE_OK)
		return false;
	if (size - at < want)
		want = size - at;
	if (want <= n)
		return false;
	if (!a->piece)
		a->piece = mem_alloc(PIECE_BYTES);
	if (!a->piece ||
	    shim_below(f)->xRead(f, a->piece, (int)want, at) != SQLITE_OK)
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
	return shim_below(f)->xRead(f, to, n, at);
}

/* ---- forgetting ---- */

static int write_through(sqlite3_file *f, const void *bytes, int n,
			 sqlite3_int64 at)
{
	ahead_of(f)->n = 0;
	return shim_below(f)->xWrite(f, bytes, n, at);
}

static int truncate_through(sqlite3_file *f, sqlite3_int64 size)
{
	ahead_of(f)->n = 0;
	return shim_below(f)->xTruncate(f, size);
}

static int lock_anew(sqlite3_file *f, int level)
{
	ahead_of(f)->n = 0;
	return shim_below(f)->xLock(f, level);
}

/* A transaction begins and ends with one of these. */
static int lock_log_anew(sqlite3_file *f, int offset, int n, int flags)
{
	ahead_of(f)->n = 0;
	return shim_below(f)->xShmLock(f, offset, n, flags);
}

static int close_file(sqlite3_file *f)
{
	char *piece = ahead_of(f)->piece;
	int rc = shim_below(f)->xClose(f);

	mem_free(piece);
	return rc;
}

/* ---- opening ---- */

static void set_methods(struct sqlite3_io_methods *m)
{
	m->xRead = read_ahead;
	m->xWrite = write_through;
	m->xTruncate = truncate_through;
	m->xLock = lock_anew;
	m->xShmLock = lock_log_anew;
	m->xClose = close_file;
}

static const char *vfs_name;

static void register_once(void)
{
	static const struct shim shim = { "weft-ahead", SQLITE_OPEN_MAIN_DB,
					  sizeof(struct ahead), set_methods };

	vfs_name = shim_register(&shim);
}

const char *ahead_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, register_once);
	return vfs_name;
}

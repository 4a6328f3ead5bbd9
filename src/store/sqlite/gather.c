/*
 * gather.c - larger writes into SQLite's log; see gather.h.
 *
 * DESIGN
 *
 * Others read of the log what its index in shared memory says, and the index is
 * told of a transaction when its sync has returned: until then only we look at
 * what was gathered, and looking writes it.  A write that fails is told by the
 * sync, with the code that the write had; SQLite takes either for the end of the
 * transaction.  What failed is forgotten: whoever goes on writes it anew.
 *
 * What was gathered for a transaction that is then rolled back must be forgotten,
 * too: with the lock the place in the log is anybody's, and to write it later
 * would be to write over what somebody else has committed there.
 *
 * This is the system's VFS with other methods for the log; what they need
 * follows the file in memory.
 */
#include "store/sqlite/gather.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

#include "base/base.h"
#include "base/mem.h"

/* SQLite's own way to the system takes less than 128 KiB at a time. */
#define ROOM_BYTES KIB(120)

struct gather {
	sqlite3_io_methods methods; /* first: the file leads here by them */
	const sqlite3_io_methods *below;
	char *bytes;      /* NULL: none were written yet */
	sqlite3_int64 at; /* where they belong */
	int n;
};

static sqlite3_vfs gather_base;
static sqlite3_vfs *system_vfs;

static struct gather *gather_of(sqlite3_file *f)
{
	return (struct gather *)(uintptr_t)f->pMethods;
}

static int write_out(sqlite3_file *f)
{
	struct gather *g = gather_of(f);
	int n = g->n;

	g->n = 0;
	return n == 0 ? SQLITE_OK : g->below->xWrite(f, g->bytes, n, g->at);
}

/* ---- the methods ---- */

static int gather_write(sqlite3_file *f, const void *bytes, int n,
			sqlite3_int64 at)
{
	struct gather *g = gather_of(f);

	if (g->n > 0 && (at != g->at + g->n || n > (int)ROOM_BYTES - g->n)) {
		int rc = write_out(f);

		if (rc != SQLITE_OK)
			return rc;
	}
	if (!g->bytes)
		g->bytes = mem_alloc(ROOM_BYTES);
	if (!g->bytes || n > (int)ROOM_BYTES)
		return g->below->xWrite(f, bytes, n, at);
	if (g->n == 0)
		g->at = at;
	memcpy(g->bytes + g->n, bytes, (size_t)n);
	g->n += n;
	return SQLITE_OK;
}

static int gather_sync(sqlite3_file *f, int flags)
{
	int rc = write_out(f);

	return rc == SQLITE_OK ? gather_of(f)->below->xSync(f, flags) : rc;
}

static int gather_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	int rc = write_out(f);

	return rc == SQLITE_OK ? gather_of(f)->below->xRead(f, to, n, at) : rc;
}

static int gather_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = write_out(f);

	return rc == SQLITE_OK ? gather_of(f)->below->xTruncate(f, size) : rc;
}

static int gather_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	int rc = write_out(f);

	return rc == SQLITE_OK ? gather_of(f)->below->xFileSize(f, ret) : rc;
}

/* What is left was never committed. */
static int gather_close(sqlite3_file *f)
{
	struct gather *g = gather_of(f);
	int rc = g->below->xClose(f);

	mem_free(g->bytes);
	return rc;
}

static void forget(void *ctx)
{
	sqlite3_file *f = NULL;

	if (sqlite3_file_control(ctx, "main", SQLITE_FCNTL_JOURNAL_POINTER,
				 (void *)&f) == SQLITE_OK &&
	    f && f->pMethods && f->pMethods->xWrite == gather_write)
		gather_of(f)->n = 0;
}

void gather_for(struct sqlite3 *db)
{
	(void)sqlite3_rollback_hook(db, forget, db);
}

/* ---- opening ---- */

static int open_gathering(sqlite3_vfs *vfs, const char *path, sqlite3_file *f,
			  int flags, int *ret_flags)
{
	struct gather *g = (void *)((char *)f + vfs->szOsFile - sizeof(*g));
	int rc = system_vfs->xOpen(system_vfs, path, f, flags, ret_flags);

	if (rc != SQLITE_OK || !(flags & SQLITE_OPEN_WAL))
		return rc;
	*g = (struct gather){ .methods = *f->pMethods, .below = f->pMethods };
	g->methods.xRead = gather_read;
	g->methods.xWrite = gather_write;
	g->methods.xTruncate = gather_truncate;
	g->methods.xSync = gather_sync;
	g->methods.xFileSize = gather_size;
	g->methods.xClose = gather_close;
	f->pMethods = &g->methods;
	return SQLITE_OK;
}

static void register_once(void)
{
	system_vfs = sqlite3_vfs_find(NULL);
	if (!system_vfs)
		return;
	/* With its pAppData: that is what the functions below go by. */
	gather_base = *system_vfs;
	gather_base.pNext = NULL;
	gather_base.zName = "weft-gather";
	gather_base.szOsFile = (int)(round_up((uint64_t)system_vfs->szOsFile,
					      _Alignof(max_align_t)) +
				     sizeof(struct gather));
	gather_base.xOpen = open_gathering;
	if (sqlite3_vfs_register(&gather_base, 0) != SQLITE_OK)
		gather_base.zName = NULL;
}

const char *gather_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, register_once);
	return gather_base.zName;
}

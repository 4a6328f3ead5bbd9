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
 */
#include "store/sqlite/gather.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

#include "base/base.h"
#include "base/mem.h"
#include "store/sqlite/shim.h"

/* SQLite's own way to the system takes less than 128 KiB at a time. */
#define ROOM_BYTES KIB(120)

struct gather {
	char *bytes;      /* NULL: none were written yet */
	sqlite3_int64 at; /* where they belong */
	int n;
};

static struct gather *gather_of(sqlite3_file *f)
{
	return shim_own(f);
}

static int write_out(sqlite3_file *f)
{
	struct gather *g = gather_of(f);
	int n = g->n;

	g->n = 0;
	return n == 0 ? SQLITE_OK :
			shim_below(f)->xWrite(f, g->bytes, n, g->at);
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
		return shim_below(f)->xWrite(f, bytes, n, at);
	if (g->n == 0)
		g->at = at;
	memcpy(g->bytes + g->n, bytes, (size_t)n);
	g->n += n;
	return SQLITE_OK;
}

static int gather_sync(sqlite3_file *f, int flags)
{
	int rc = write_out(f);

	return rc == SQLITE_OK ? shim_below(f)->xSync(f, flags) : rc;
}

static int gather_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	int rc = write_out(f);

	return rc == SQLITE_OK ? shim_below(f)->xRead(f, to, n, at) : rc;
}

static int gather_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = write_out(f);

	return rc == SQLITE_OK ? shim_below(f)->xTruncate(f, size) : rc;
}

static int gather_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	int rc = write_out(f);

	return rc == SQLITE_OK ? shim_below(f)->xFileSize(f, ret) : rc;
}

/* What is left was never committed. */
static int gather_close(sqlite3_file *f)
{
	char *bytes = gather_of(f)->bytes;
	int rc = shim_below(f)->xClose(f);

	mem_free(bytes);
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

static void set_methods(struct sqlite3_io_methods *m)
{
	m->xRead = gather_read;
	m->xWrite = gather_write;
	m->xTruncate = gather_truncate;
	m->xSync = gather_sync;
	m->xFileSize = gather_size;
	m->xClose = gather_close;
}

static const char *vfs_name;

static void register_once(void)
{
	static const struct shim shim = { "weft-gather", SQLITE_OPEN_WAL,
					  sizeof(struct gather), set_methods };

	vfs_name = shim_register(&shim);
}

const char *gather_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, register_once);
	return vfs_name;
}

/* shim.c - a VFS that is the system's but for some methods; see shim.h. */
#include "store/sqlite/shim.h"

#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "base/mem.h"

/* Behind a file in memory; what is the shim's own follows. */
struct shim_file {
	sqlite3_io_methods methods; /* first: the file leads here by them */
	const sqlite3_io_methods *below;
	uint64_t own[]; /* SQLite aligns files no better */
};

struct shim_vfs {
	sqlite3_vfs vfs; /* first: SQLite hands it to xOpen */
	sqlite3_vfs *system;
	const struct shim *shim;
};

static struct shim_file *shim_of(sqlite3_file *f)
{
	return (struct shim_file *)(uintptr_t)f->pMethods;
}

void *shim_own(struct sqlite3_file *f)
{
	return shim_of(f)->own;
}

const struct sqlite3_io_methods *shim_below(struct sqlite3_file *f)
{
	return shim_of(f)->below;
}

static size_t file_bytes(const struct shim_vfs *v)
{
	return round_up((uint64_t)v->system->szOsFile, sizeof(uint64_t));
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *f,
		     int flags, int *ret_flags)
{
	struct shim_vfs *v = (void *)vfs;
	struct shim_file *x = (void *)((char *)f + file_bytes(v));
	int rc = v->system->xOpen(v->system, path, f, flags, ret_flags);

	if (rc != SQLITE_OK || !(flags & v->shim->files))
		return rc;
	memset(x, 0, sizeof(*x) + v->shim->bytes);
	x->methods = *f->pMethods;
	x->below = f->pMethods;
	v->shim->set(&x->methods);
	f->pMethods = &x->methods;
	return SQLITE_OK;
}

const char *shim_register(const struct shim *s)
{
	sqlite3_vfs *system = sqlite3_vfs_find(NULL);
	struct shim_vfs *v = system ? mem_zero(1, sizeof(*v)) : NULL;

	if (!v)
		return NULL;
	/* With its pAppData: that is what the system's functions go by. */
	*v = (struct shim_vfs){ *system, system, s };
	v->vfs.pNext = NULL;
	v->vfs.zName = s->name;
	v->vfs.szOsFile =
		(int)(file_bytes(v) + sizeof(struct shim_file) + s->bytes);
	v->vfs.xOpen = open_file;
	if (sqlite3_vfs_register(&v->vfs, 0) == SQLITE_OK)
		return s->name;
	mem_free(v);
	return NULL;
}

/*
 * catalog_sum.c - a checksum on every page of the catalogue.
 *
 * SQLite notices when a file makes no sense, not when it says something else
 * than it did: a changed digit in a row, an index entry that leads elsewhere.
 * So the last bytes of each page, which SQLite leaves alone when told to, hold
 * a checksum over the rest of it and its place.  It is set by every write and
 * checked by every read; other programs may read such a file, and after they
 * have written to it, it is damaged.
 *
 * This is a VFS that differs from the one below it in how the main file is
 * read and written, and shares everything else with it.
 */
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/catalog_db.h"

#define COVERED_BYTES (CATALOG_PAGE_BYTES - CATALOG_SUM_BYTES)

/* Reads of the file's header, which come before its size of pages is known. */
#define HEADER_BYTES 100

struct sums {
	sqlite3_vfs base;
	sqlite3_vfs *below;
	/* Of a main file; set when the first one is opened. */
	const sqlite3_io_methods *below_methods;
	sqlite3_io_methods methods;
	atomic_int failed; /* how reading went wrong, or SQLITE_OK */
	char name[40];
};

/* The file is the one below, with our methods: these lead back to us. */
static struct sums *sums_of(sqlite3_file *f)
{
	uintptr_t methods = (uintptr_t)f->pMethods;

	return (struct sums *)(methods - offsetof(struct sums, methods));
}

static bool is_page(int n, sqlite3_int64 at)
{
	return n == CATALOG_PAGE_BYTES && at % CATALOG_PAGE_BYTES == 0;
}

static void sum_page(const void *page, sqlite3_int64 at,
		     unsigned char out[CATALOG_SUM_BYTES])
{
	unsigned char place[8];
	uint32_t crc;

	put_le64(place, (uint64_t)at);
	crc = crc32c(crc32c(0, place, sizeof(place)), page, COVERED_BYTES);
	put_le32(out, crc);
}

static int read_page(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	unsigned char sum[CATALOG_SUM_BYTES];
	int rc;

	if (n > HEADER_BYTES && !is_page(n, at))
		return SQLITE_IOERR_DATA; /* its header says other pages */
	rc = sums_of(f)->below_methods->xRead(f, to, n, at);
	if (n <= HEADER_BYTES)
		return rc;
	/* SQLite would take what is missing for zeros. */
	if (rc == SQLITE_IOERR_SHORT_READ)
		return SQLITE_IOERR_DATA;
	if (rc != SQLITE_OK)
		return rc;
	sum_page(to, at, sum);
	if (memcmp((const char *)to + COVERED_BYTES, sum, sizeof(sum)) != 0)
		return SQLITE_IOERR_DATA;
	return SQLITE_OK;
}

static int read_summed(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	int rc = read_page(f, to, n, at);

	if (rc != SQLITE_OK && rc != SQLITE_IOERR_SHORT_READ)
		atomic_store(&sums_of(f)->failed, rc);
	return rc;
}

static int write_summed(sqlite3_file *f, const void *bytes, int n,
			sqlite3_int64 at)
{
	unsigned char page[CATALOG_PAGE_BYTES];

	if (!is_page(n, at))
		return SQLITE_IOERR_DATA;
	memcpy(page, bytes, COVERED_BYTES);
	sum_page(page, at, page + COVERED_BYTES);
	return sums_of(f)->below_methods->xWrite(f, page, n, at);
}

static int open_summed(sqlite3_vfs *vfs, const char *path, sqlite3_file *f,
		       int flags, int *ret_flags)
{
	struct sums *s = (struct sums *)(void *)vfs;
	int rc = s->below->xOpen(s->below, path, f, flags, ret_flags);

	if (rc != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB))
		return rc;
	if (!s->below_methods) {
		s->below_methods = f->pMethods;
		s->methods = *f->pMethods;
		s->methods.xRead = read_summed;
		s->methods.xWrite = write_summed;
	}
	f->pMethods = &s->methods;
	return SQLITE_OK;
}

int sums_open(const char *below, struct sums **ret, struct weft_error *err)
{
	static _Atomic(unsigned) count;
	struct sums *s = mem_zero(1, sizeof(*s));
	int rc;

	if (!s)
		return fail_no_memory(err);
	s->below = sqlite3_vfs_find(below);
	if (!s->below) {
		mem_free(s);
		return fail_no_memory(err);
	}
	(void)snprintf(s->name, sizeof(s->name), "weft-sums-%u",
		       atomic_fetch_add(&count, 1) + 1);
	/* With its pAppData: that is what the functions below go by. */
	s->base = *s->below;
	s->base.pNext = NULL;
	s->base.zName = s->name;
	s->base.xOpen = open_summed;
	rc = sqlite3_vfs_register(&s->base, 0);
	if (rc != SQLITE_OK) {
		mem_free(s);
		return fail(err, WEFT_IO, "cannot register with sqlite: %s",
			    sqlite3_errstr(rc));
	}
	*ret = s;
	return WEFT_OK;
}

const char *sums_name(const struct sums *s)
{
	return s->name;
}

void sums_forget(struct sums *s)
{
	if (s)
		atomic_store(&s->failed, SQLITE_OK);
}

int sums_failed(struct sums *s)
{
	return s ? atomic_load(&s->failed) : SQLITE_OK;
}

void sums_close(struct sums *s)
{
	if (!s)
		return;
	(void)sqlite3_vfs_unregister(&s->base);
	mem_free(s);
}

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
 * read and written, and shares everything else with it.  What it has found to
 * be whole may stay (catalog_cache.c), and what it writes waits for its
 * neighbours.
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

/* Pages that follow each other, to be written with one call. */
struct gathered {
	unsigned char *bytes; /* NULL: none */
	sqlite3_int64 at;
	int n;
};

/* Behind the file of the VFS below. */
struct tail {
	struct page_cache *cache; /* NULL: not needed so far, or no memory */
	bool asked;               /* is_large is known */
	bool is_large;            /* too large for SQLite's own cache */
	struct gathered gathered;
};

/* The file is the one below, with our methods: these lead back to us. */
static struct sums *sums_of(sqlite3_file *f)
{
	uintptr_t methods = (uintptr_t)f->pMethods;

	return (struct sums *)(methods - offsetof(struct sums, methods));
}

static struct tail *tail_of(sqlite3_file *f)
{
	return (struct tail *)(void *)((char *)f + sums_of(f)->below->szOsFile);
}

static int write_gathered(sqlite3_file *f);

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
	rc = write_gathered(f);
	if (rc != SQLITE_OK)
		return rc;
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

/* ---- pages that SQLite looks at where they are ---- */

/*
 * SQLite calls fetch to look at a file that is mapped into memory.  Ours never
 * is, as that would kill us if somebody cut the file: what it gets are pages of
 * our cache, and where it gets none it reads.  When somebody else has changed
 * the file it calls unfetch without a page.
 */
static void forget_pages(sqlite3_file *f)
{
	struct tail *t = tail_of(f);

	t->asked = false;
	if (t->cache)
		page_cache_clear(t->cache);
}

static bool wants_cache(sqlite3_file *f)
{
	struct tail *t = tail_of(f);
	sqlite3_int64 bytes;

	if (!t->asked) {
		t->asked = true;
		t->is_large = f->pMethods->xFileSize(f, &bytes) == SQLITE_OK &&
			      bytes > CATALOG_CACHE_KIB * (sqlite3_int64)1024;
	}
	if (t->is_large && !t->cache)
		t->cache = page_cache_new();
	return t->is_large && t->cache;
}

static int fetch(sqlite3_file *f, sqlite3_int64 at, int n, void **ret)
{
	uint32_t number = (uint32_t)(at / CATALOG_PAGE_BYTES) + 1;
	struct page_cache *cache;
	unsigned char *page;
	int rc;

	*ret = NULL;
	if (!is_page(n, at) || !wants_cache(f))
		return SQLITE_OK;
	cache = tail_of(f)->cache;
	if (page_cache_leaves(cache, number))
		return SQLITE_OK;
	*ret = page_cache_get(cache, number);
	if (*ret)
		return SQLITE_OK;
	page = page_cache_add(cache, number);
	if (!page)
		return SQLITE_OK;
	rc = read_summed(f, page, n, at);
	if (rc == SQLITE_OK)
		*ret = page_cache_keep(cache, number, page);
	else
		page_cache_forget(cache, page);
	return rc;
}

static int unfetch(sqlite3_file *f, sqlite3_int64 at, void *page)
{
	(void)at;
	if (page)
		page_cache_release(tail_of(f)->cache, page);
	else
		forget_pages(f);
	return SQLITE_OK;
}

/* ---- writing ---- */

/*
 * A transaction that makes the file longer writes its new pages one after the
 * other.  Written with one call the system keeps them as one piece, too, in
 * which it finds a page much sooner than among a million pieces.
 *
 * SQLite syncs what it has written before anybody relies on it.  A write that
 * fails is told by the sync, which it takes for the end of the transaction as
 * well, and what failed is forgotten.
 */
#define GATHER_BYTES MIB(1)

static int write_gathered(sqlite3_file *f)
{
	struct gathered *g = &tail_of(f)->gathered;
	int n = g->n;

	g->n = 0;
	return n == 0 ?
		       SQLITE_OK :
		       sums_of(f)->below_methods->xWrite(f, g->bytes, n, g->at);
}

static void gather_done(sqlite3_file *f)
{
	struct gathered *g = &tail_of(f)->gathered;

	mem_free(g->bytes);
	*g = (struct gathered){ 0 };
}

/* A rollback must not need memory: without, it is written at once. */
static int gather(sqlite3_file *f, const unsigned char *page, sqlite3_int64 at)
{
	struct gathered *g = &tail_of(f)->gathered;

	if (g->n > 0 && (at != g->at + g->n || g->n == (int)GATHER_BYTES)) {
		int rc = write_gathered(f);

		if (rc != SQLITE_OK)
			return rc;
	}
	if (!g->bytes)
		g->bytes = mem_alloc(GATHER_BYTES);
	if (!g->bytes)
		return sums_of(f)->below_methods->xWrite(
			f, page, CATALOG_PAGE_BYTES, at);
	if (g->n == 0)
		g->at = at;
	memcpy(g->bytes + g->n, page, CATALOG_PAGE_BYTES);
	g->n += CATALOG_PAGE_BYTES;
	return SQLITE_OK;
}

static int write_summed(sqlite3_file *f, const void *bytes, int n,
			sqlite3_int64 at)
{
	unsigned char page[CATALOG_PAGE_BYTES];

	if (!is_page(n, at))
		return SQLITE_IOERR_DATA;
	memcpy(page, bytes, COVERED_BYTES);
	sum_page(page, at, page + COVERED_BYTES);
	return gather(f, page, at);
}

static int sync_summed(sqlite3_file *f, int flags)
{
	int rc = write_gathered(f);

	gather_done(f);
	return rc == SQLITE_OK ? sums_of(f)->below_methods->xSync(f, flags) :
				 rc;
}

static int truncate_summed(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = write_gathered(f);

	return rc == SQLITE_OK ? sums_of(f)->below_methods->xTruncate(f, size) :
				 rc;
}

static int size_summed(sqlite3_file *f, sqlite3_int64 *ret)
{
	int rc = write_gathered(f);

	return rc == SQLITE_OK ? sums_of(f)->below_methods->xFileSize(f, ret) :
				 rc;
}

/* What is left was never committed. */
static int close_summed(sqlite3_file *f)
{
	gather_done(f);
	page_cache_free(tail_of(f)->cache);
	return sums_of(f)->below_methods->xClose(f);
}

/* ---- opening ---- */

/* Methods of our own where we differ. */
static void make_methods(struct sums *s, const sqlite3_io_methods *below)
{
	s->below_methods = below;
	s->methods = *below;
	s->methods.iVersion = 3;
	s->methods.xClose = close_summed;
	s->methods.xRead = read_summed;
	s->methods.xWrite = write_summed;
	s->methods.xTruncate = truncate_summed;
	s->methods.xSync = sync_summed;
	s->methods.xFileSize = size_summed;
	s->methods.xFetch = fetch;
	s->methods.xUnfetch = unfetch;
}

static int open_summed(sqlite3_vfs *vfs, const char *path, sqlite3_file *f,
		       int flags, int *ret_flags)
{
	struct sums *s = (struct sums *)(void *)vfs;
	int rc = s->below->xOpen(s->below, path, f, flags, ret_flags);

	if (rc != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB))
		return rc;
	if (!s->below_methods)
		make_methods(s, f->pMethods);
	f->pMethods = &s->methods;
	*tail_of(f) = (struct tail){ 0 };
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
	s->base.szOsFile += (int)sizeof(struct tail);
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

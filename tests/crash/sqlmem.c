/* sqlmem.c - see sqlmem.h. */
#include "crash/sqlmem.h"

#include <sqlite3.h>
#include <stdatomic.h>

static sqlite3_mem_methods plain;
static atomic_bool counting;
static atomic_ullong seen, fails_at; /* 0: never */

static bool must_fail(void)
{
	return atomic_load(&counting) &&
	       atomic_fetch_add(&seen, 1) + 1 == atomic_load(&fails_at);
}

static void *failing_malloc(int n)
{
	return must_fail() ? NULL : plain.xMalloc(n);
}

static void *failing_realloc(void *p, int n)
{
	return must_fail() ? NULL : plain.xRealloc(p, n);
}

int sqlmem_install(void **state)
{
	sqlite3_mem_methods mine;

	(void)state;
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK)
		return -1;
	mine = plain;
	mine.xMalloc = failing_malloc;
	mine.xRealloc = failing_realloc;
	/* Small pieces must not come from a pool of its own. */
	(void)sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &mine) == SQLITE_OK ? 0 :
									  -1;
}

void sqlmem_fail_at(uint64_t n)
{
	atomic_store(&seen, 0);
	atomic_store(&fails_at, n);
}

bool sqlmem_count(bool on)
{
	return atomic_exchange(&counting, on);
}

uint64_t sqlmem_seen(void)
{
	return atomic_load(&seen);
}

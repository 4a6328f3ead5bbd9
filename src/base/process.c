/* process.c - see process.h. */
#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_ullong generation = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
	(void)atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, in_child);
}

uint64_t process_generation(void)
{
	(void)pthread_once(&once, watch_forks);
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

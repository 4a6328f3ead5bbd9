/*
 * mem.c - the one way to the heap.
 *
 * Every allocation is counted.  The counter is split into slots of one cache
 * line each and every thread adds to one of them, so that threads do not wait
 * for each other's cache line.
 */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

#define COUNTER_SLOTS 16

static struct {
	_Alignas(64) atomic_uint_least64_t count;
} counters[COUNTER_SLOTS];

static atomic_uint next_slot;
static _Thread_local unsigned own_slot; /* 0: not chosen yet, else slot + 1 */

/* Fault injection: `seen` counts allocations since mem_fault. */
static atomic_bool fault_on;
static atomic_uint_least64_t fault_seen;
static atomic_uint_least64_t fault_first;
static atomic_uint_least64_t fault_count; /* 0: all */
static atomic_uint_least64_t fault_hits;

static bool is_faulty(void)
{
	uint64_t n =
		atomic_fetch_add_explicit(&fault_seen, 1, memory_order_relaxed);
	uint64_t first =
		atomic_load_explicit(&fault_first, memory_order_relaxed);
	uint64_t count =
		atomic_load_explicit(&fault_count, memory_order_relaxed);

	if (n < first || (count && n - first >= count))
		return false;
	(void)atomic_fetch_add_explicit(&fault_hits, 1, memory_order_relaxed);
	return true;
}

/* Count an allocation; false if a test wants it to fail. */
static bool begin_allocation(void)
{
	if (!own_slot)
		own_slot = atomic_fetch_add_explicit(&next_slot, 1,
						     memory_order_relaxed) %
				   COUNTER_SLOTS +
			   1;
	(void)atomic_fetch_add_explicit(&counters[own_slot - 1].count, 1,
					memory_order_relaxed);
	return !atomic_load_explicit(&fault_on, memory_order_relaxed) ||
	       !is_faulty();
}

void *mem_alloc(size_t bytes)
{
	if (!begin_allocation())
		return NULL;
	return malloc(bytes ? bytes : 1);
}

void *mem_zero(size_t count, size_t bytes)
{
	size_t total;

	/* calloc would see it, too, but under a sanitizer that ends us. */
	if (__builtin_mul_overflow(count, bytes, &total) || !begin_allocation())
		return NULL;
	return calloc(1, total ? total : 1);
}

void *mem_resize(void *old, size_t bytes)
{
	if (!begin_allocation())
		return NULL;
	return realloc(old, bytes ? bytes : 1);
}

char *mem_copy(struct weft_str s)
{
	char *copy;

	if (s.len == SIZE_MAX)
		return NULL;
	copy = mem_alloc(s.len + 1);
	if (!copy)
		return NULL;
	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	return copy;
}

void mem_free(void *p)
{
	free(p);
}

void mem_cleanup(void *pointer_to_pointer)
{
	void *p;

	/* Not through a void **: the variable has a type of its own. */
	memcpy(&p, pointer_to_pointer, sizeof(p));
	mem_free(p);
}

void mem_fault(int64_t after, uint64_t count)
{
	atomic_store(&fault_on, false);
	if (after < 0)
		return;
	atomic_store(&fault_seen, 0);
	atomic_store(&fault_hits, 0);
	atomic_store(&fault_first, (uint64_t)after);
	atomic_store(&fault_count, count);
	atomic_store(&fault_on, true);
}

uint64_t mem_faults_hit(void)
{
	return atomic_load(&fault_hits);
}

uint64_t mem_allocations(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < COUNTER_SLOTS; i++)
		sum += atomic_load_explicit(&counters[i].count,
					    memory_order_relaxed);
	return sum;
}

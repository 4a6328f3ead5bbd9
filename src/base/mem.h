/*
 * mem.h - the one way to the heap, so that tests can make the n-th call fail.
 *
 * All return NULL when there is no memory.  mem_free takes NULL.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/base.h"

void *mem_alloc(size_t bytes); /* not cleared */
void *mem_zero(size_t count, size_t bytes);
void *mem_resize(void *old, size_t bytes);
char *mem_copy(struct weft_str s); /* NUL-terminated behind its bytes */
void mem_free(void *p);
void mem_cleanup(void *pointer_to_pointer); /* for CLEANUP */

/*
 * For tests: let `after` more allocations of this process succeed and fail
 * `count` (0: all) of those that follow; after < 0 turns it off.
 * mem_faults_hit says how many failed since then.
 */
void mem_fault(int64_t after, uint64_t count);
uint64_t mem_faults_hit(void);

/* How many allocations there have been; for counting them per append. */
uint64_t mem_allocations(void);

#endif

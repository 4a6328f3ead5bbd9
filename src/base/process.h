/* process.h - telling a process from its children, without a system call. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdint.h>

/*
 * A number that is another one in every child of fork(): remember it when a
 * resource is opened, and compare before it is used.
 */
uint64_t process_generation(void);

#endif

/*
 * sqlmem.h - let the n-th allocation of SQLite fail.
 *
 * For programs that have not used SQLite before sqlmem_install.
 */
#ifndef CRASH_SQLMEM_H
#define CRASH_SQLMEM_H

#include <stdbool.h>
#include <stdint.h>

int sqlmem_install(void **state); /* as a group's set-up */

/* Start counting from 0; the n-th fails, 0: none. */
void sqlmem_fail_at(uint64_t n);
/* Only what is allocated meanwhile counts; whether it did so before. */
bool sqlmem_count(bool on);
uint64_t sqlmem_seen(void);

#endif

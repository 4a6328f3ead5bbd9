/*
 * gather.h - SQLite's way to its log, with larger writes.
 *
 * SQLite writes each page of a transaction into its log with two calls.  A file
 * opened through this VFS gathers what is written one behind the other, and
 * writes it at once when it is to be synced or read.  It is for the connection
 * that writes, with synchronous=FULL: what was committed has been synced before
 * anybody is told of it.
 */
#ifndef STORE_SQLITE_GATHER_H
#define STORE_SQLITE_GATHER_H

/* Its name, for sqlite3_open_v2(); NULL, which is SQLite's own, if it cannot be
 * had. */
const char *gather_vfs(void);

/* Every connection that was opened through it needs this, once: what it rolls
 * back is never written. */
struct sqlite3;
void gather_for(struct sqlite3 *db);

#endif

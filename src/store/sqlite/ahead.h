/*
 * ahead.h - SQLite's way to a file, with larger reads.
 *
 * SQLite asks for one page at a time, and a system call for each is a good part
 * of what it costs to read a long session.  Files opened through this VFS are
 * read in larger pieces where one page after the other is asked for.  It is for
 * connections that share the file with others, in WAL mode.
 */
#ifndef STORE_SQLITE_AHEAD_H
#define STORE_SQLITE_AHEAD_H

/* Its name, for sqlite3_open_v2(); NULL, which is SQLite's own, if it cannot be
 * had. */
const char *ahead_vfs(void);

#endif

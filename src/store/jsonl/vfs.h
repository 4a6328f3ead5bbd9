/*
 * vfs.h - SQLite's way to the file system, through base/file.h.
 *
 * For databases with a rollback journal: journal_mode=TRUNCATE with
 * synchronous=FULL (with DELETE, only EXTRA makes a commit durable).  There
 * is no shared memory, so no WAL mode; no mmap; and no temporary files: set
 * temp_store=MEMORY.  Paths are taken as they are.
 */
#ifndef STORE_JSONL_VFS_H
#define STORE_JSONL_VFS_H

#include "base/file.h"

struct sqlite3;
struct vfs;

/*
 * Register a VFS that works on `fs`, under a name of its own to hand to
 * sqlite3_open_v2.  Many connections may use it, from any thread.
 */
int vfs_open(struct fs *fs, struct vfs **ret, struct weft_error *err);
const char *vfs_name(const struct vfs *v);
void vfs_close(struct vfs *v); /* after its last connection; takes NULL */

/* file_stat of the main database of a connection that uses such a VFS; it
 * has no links once somebody has removed it.  A negative errno on failure. */
int vfs_db_stat(struct sqlite3 *db, struct file_stat *ret);

/* Why the last call of this thread through such a VFS failed that did. */
int vfs_last_error(void);

/*
 * Remove a database and its journal.  Whoever reads or writes it is waited
 * for, and can go on reading what was removed; -EAGAIN if that takes too long.
 */
int vfs_remove_db(struct fs *fs, const char *path);

#endif

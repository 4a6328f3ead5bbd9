/*
 * shim.h - SQLite's own way to files, with other methods for some of them.
 *
 * What the methods need for a file follows it in memory; what they leave to the
 * system they call as shim_below(f)->xRead(f, ...).
 */
#ifndef STORE_SQLITE_SHIM_H
#define STORE_SQLITE_SHIM_H

#include <stddef.h>

struct sqlite3_file;
struct sqlite3_io_methods;

struct shim {
	const char *name;
	int files;    /* SQLITE_OPEN_...: those that it is for */
	size_t bytes; /* that follow each of them, zero when it is opened */
	/* Put our methods in place of the system's. */
	void (*set)(struct sqlite3_io_methods *methods);
};

/* Make it known, once; for ever.  Its name, for sqlite3_open_v2(), or NULL, which
 * is SQLite's own, if it cannot be had. */
const char *shim_register(const struct shim *s);

void *shim_own(struct sqlite3_file *f);
const struct sqlite3_io_methods *shim_below(struct sqlite3_file *f);

#endif

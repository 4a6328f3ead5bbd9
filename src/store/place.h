/*
 * place.h - whether a store can be where its URL says; nothing is made.
 */
#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include "base/file.h"
#include "weft/types.h"

/* Who wants to be there. */
struct place {
	struct fs *fs;
	const char *path;
	bool single;    /* one process only */
	bool read_only; /* nothing is to be written */
};

/* The file system of what is there. */
int place_check_fs(const struct place *p, struct weft_error *err);

/* Whether we may write to the file or directory that is there. */
int place_check_rights(const struct place *p, struct weft_error *err);

/* There is nothing yet: whether it can be made in the directory above or, if
 * `parents` are made as well, in the nearest that is there. */
int place_check_new(const struct place *p, bool parents,
		    struct weft_error *err);

#endif

/* place.c - see place.h. */
#include "store/place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/error.h"

int place_check_fs(const struct place *p, struct weft_error *err)
{
	struct fs_space space;
	int r = fs_space(p->fs, p->path, &space);

	if (r < 0)
		return fail_errno(err, -r, "look at the file system of %s",
				  p->path);
	if (space.is_network && !p->single && !p->read_only)
		return fail(err, WEFT_IO,
			    "%s is on a network file system (%s), where "
			    "several hosts would destroy it: use a local disk, "
			    "or add ?single=1 if only this process uses it",
			    p->path, space.kind);
	if (space.is_read_only && !p->read_only)
		return fail(err, WEFT_READ_ONLY,
			    "%s is on a read-only file system: open it with "
			    "?read_only=1",
			    p->path);
	return WEFT_OK;
}

int place_check_rights(const struct place *p, struct weft_error *err)
{
	if (p->read_only || p->fs != fs_real() || fs_real_may_write(p->path))
		return WEFT_OK;
	return fail(err, WEFT_IO,
		    "%s may not be written to by you: change its permissions, "
		    "or choose another place",
		    p->path);
}

/* Cut the last name of a path off; false if there is no more. */
static bool cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

int place_check_new(const struct place *p, bool parents, struct weft_error *err)
{
	char above[PATH_MAX];
	struct place at = *p;
	struct file_stat st;
	int r = -ENOENT;

	if (p->read_only)
		return fail(err, WEFT_NOT_FOUND, "there is no store at %s",
			    p->path);
	if (snprintf(above, sizeof(above), "%s", p->path) >= PATH_MAX)
		return fail(err, WEFT_INVALID, "path too long: %s", p->path);
	at.path = above;
	while ((r == -ENOENT || r == -ENOTDIR) && cut_name(above)) {
		r = fs_stat(p->fs, above, &st);
		if (r == -ENOENT && !parents)
			return fail(err, WEFT_IO,
				    "there is no directory %s: make it first",
				    above);
	}
	if (r < 0)
		return fail_errno(err, -r, "look at %s", above);
	if (!st.is_dir)
		return fail(err, WEFT_INVALID,
			    "%s is a file, and would have to be a directory: "
			    "choose another place",
			    above);
	r = place_check_fs(&at, err);
	return r == WEFT_OK ? place_check_rights(&at, err) : r;
}

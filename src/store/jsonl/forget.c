/*
 * forget.c - leave no bytes of what was rewritten or dropped.
 *
 * The files themselves are new by now, and the catalogue overwrites what it
 * deletes.  What may still hold the old lines is the log, where its segments
 * are free, what repair and recovery have set aside, and a file that somebody
 * was writing when the machine stopped.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/jsonl/jsonl.h"

#define SEARCH_BYTES KIB(64)

struct sweep {
	struct jsonl *js;
	const struct weft_id *ids;
	size_t n;
	const char *dir; /* relative to the store */
	struct weft_error *err;
	int failed; /* a code of ours, while -1 stops the listing */
};

static int remove_file(struct jsonl *js, const char *path,
		       struct weft_error *err)
{
	int r = fs_unlink(js->fs, path);

	return r < 0 && r != -ENOENT ? fail_errno(err, -r, "remove %s", path) :
				       WEFT_OK;
}

/* A log that was set aside names its sessions by the bytes of their ids. */
static int file_has(struct jsonl *js, const char *path,
		    const struct weft_id *id, bool *ret, struct weft_error *err)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	CLEANUP(mem_cleanup) char *buf = mem_alloc(SEARCH_BYTES);
	uint64_t at = 0;
	ssize_t n = 0;
	int r = file_open(js->fs, path, FILE_READ, &f);

	*ret = false;
	if (!buf)
		return fail_no_memory(err);
	while (r == 0 && !*ret) {
		n = file_read(f, buf, SEARCH_BYTES, at);
		if (n < (ssize_t)sizeof(*id))
			break;
		*ret = memmem(buf, (size_t)n, id, sizeof(*id)) != NULL;
		/* It may lie across the end of what was read. */
		at += (uint64_t)n - sizeof(*id) + 1;
	}
	if (r == 0 && n < 0)
		r = (int)n;
	return r < 0 ? fail_errno(err, -r, "read %s", path) : WEFT_OK;
}

static bool is_about(const char *name, const struct weft_id *id)
{
	char text[WEFT_ID_CHARS + 1];

	id_format(id, text);
	return strncmp(name, text, WEFT_ID_CHARS) == 0;
}

static int sweep_file(struct sweep *s, const char *name)
{
	bool is_log = strncmp(name, "wal-", 4) == 0, found = false;
	char local[128], path[PATH_BYTES];
	int r;

	(void)snprintf(local, sizeof(local), "%s/%.96s", s->dir, name);
	r = path_join(path, s->js->dir, local, s->err);
	for (size_t i = 0; i < s->n && r == WEFT_OK && !found; i++) {
		found = is_about(name, &s->ids[i]);
		if (!found && is_log)
			r = file_has(s->js, path, &s->ids[i], &found, s->err);
	}
	return r == WEFT_OK && found ? remove_file(s->js, path, s->err) : r;
}

static int each_file(void *ctx, const char *name)
{
	struct sweep *s = ctx;

	s->failed = sweep_file(s, name);
	return s->failed < 0 ? -1 : 0;
}

static int sweep_dir(struct sweep *s, const char *dir)
{
	char path[PATH_BYTES];
	int r = path_join(path, s->js->dir, dir, s->err);

	s->dir = dir;
	if (r < 0)
		return r;
	r = fs_list(s->js->fs, path, each_file, s);
	if (s->failed < 0)
		return s->failed;
	if (r == -ENOENT)
		return WEFT_OK;
	if (r == 0)
		r = fs_sync_dir(s->js->fs, path);
	return r < 0 ? fail_errno(s->err, -r, "sweep %s", path) : WEFT_OK;
}

static int remove_unfinished(struct sweep *s)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < s->n && r == WEFT_OK; i++) {
		char path[PATH_BYTES];
		size_t len;

		r = path_session(s->js, &s->ids[i], path, s->err);
		if (r < 0)
			break;
		len = strlen(path);
		(void)snprintf(path + len, sizeof(path) - len, ".new");
		r = remove_file(s->js, path, s->err);
	}
	return r;
}

static int wipe_log(struct jsonl *js, struct weft_error *err)
{
	int r = checkpoint_locked(js, err);

	if (r == WEFT_OK)
		r = enter(js, err);
	if (r < 0)
		return r;
	r = wal_wipe(&js->wal, &js->st, err);
	leave(js);
	return r;
}

int forget(struct jsonl *js, const struct store_report *report,
	   struct weft_error *err)
{
	struct sweep s = { .js = js,
			   .ids = report->forget,
			   .n = report->n_forget,
			   .err = err };
	int r = wipe_log(js, err);

	if (r == WEFT_OK)
		r = remove_unfinished(&s);
	if (r == WEFT_OK)
		r = sweep_dir(&s, "damaged");
	return r == WEFT_OK ? sweep_dir(&s, "trash") : r;
}

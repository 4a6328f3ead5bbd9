/* tasks.c - looking after a store. */
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/blob_refs.h"
#include "store/jsonl/blob.h"
#include "store/jsonl/lines.h"
#include "store/jsonl/verify.h"

/* How often to look for references while others write. */
#define DROP_TRIES 8

/* ---- blobs that nothing refers to ---- */

struct used_blob {
	struct table_node node;
	unsigned char sha256[SHA256_BYTES];
};

struct blob_search {
	struct jsonl *js;
	struct table used;
	struct weft_error *err;
};

static int is_used(void *ctx, const struct blob_ref *ref)
{
	struct blob_search *b = ctx;
	struct table_node *n = table_first(&b->used, get_le64(ref->sha256));

	for (; n; n = table_next(n)) {
		struct used_blob *u = TABLE_ENTRY(n, struct used_blob, node);

		if (memcmp(u->sha256, ref->sha256, SHA256_BYTES) == 0)
			return 1;
	}
	return 0;
}

static int note_used(struct blob_search *b, const struct blob_ref *ref)
{
	struct used_blob *u;

	if (is_used(b, ref))
		return WEFT_OK;
	u = mem_alloc(sizeof(*u));
	if (!u)
		return fail_no_memory(b->err);
	memcpy(u->sha256, ref->sha256, SHA256_BYTES);
	if (table_add(&b->used, &u->node, get_le64(u->sha256)) < 0) {
		mem_free(u);
		return fail_no_memory(b->err);
	}
	return WEFT_OK;
}

static int search_line(struct blob_search *b, struct weft_str line)
{
	struct blob_ref ref;
	int r = WEFT_OK;

	while (r == WEFT_OK && blob_ref_next(&line, &ref))
		r = note_used(b, &ref);
	return r;
}

static int search_session(void *ctx, const struct weft_id *id)
{
	struct blob_search *b = ctx;
	struct page_source src = { 0 };
	struct line line;
	int got, r = lookup_source(b->js, id, &src, b->err);

	/* A file that cannot be read may refer to anything. */
	if (r < 0)
		return r;
	CLEANUP(live_file_cleanup) struct live_file *file = src.file;
	CLEANUP(line_reader_done) struct line_reader in;

	line_reader_init(&in, file->f, 0, src.end);
	while ((got = line_reader_next(&in, &line)) == 1) {
		r = search_line(b, line.text);
		if (r < 0)
			return r;
	}
	return got < 0 ? fail_errno(b->err, -got, "read a session's file") :
			 WEFT_OK;
}

static void free_used(void *ctx, struct table_node *node)
{
	struct blob_search *b = ctx;

	table_remove(&b->used, node);
	mem_free(TABLE_ENTRY(node, struct used_blob, node));
}

static void forget_used(struct blob_search *b)
{
	table_each(&b->used, free_used, b);
	table_done(&b->used);
}

/* Note all that is referred to; *ret_end is how far the log was known. */
static int search_all(struct blob_search *b, uint64_t *ret_end)
{
	int r = refresh(b->js, b->err);

	(void)pthread_mutex_lock(&b->js->mutex);
	*ret_end = b->js->mine;
	(void)pthread_mutex_unlock(&b->js->mutex);
	return r == WEFT_OK ?
		       path_each_session(b->js, search_session, b, b->err) :
		       r;
}

/* For a first look at what is there: all of it may be in use. */
static int count_old(void *ctx, const struct blob_ref *ref)
{
	(void)ref;
	++*(uint64_t *)ctx;
	return 1;
}

/*
 * What is written between the search and the lock has touched the blobs that it
 * refers to, and nothing is written while the log is held.
 */
static int collect_blobs(struct jsonl *js, struct store_report *report,
			 struct weft_error *err)
{
	struct blob_search b = { .js = js, .err = err };
	char dir[PATH_BYTES];
	int64_t before = clock_now_ms(js->clock) - STORE_BLOB_REST_MS;
	uint64_t end, old = 0;
	int r = path_join(dir, js->dir, "blobs", err);

	/* Nothing is old: no need to read every session. */
	if (r == WEFT_OK)
		r = blob_collect(js->fs, dir, before, count_old, &old, report,
				 err);
	if (r < 0 || old == 0)
		return r;
	report->blobs = 0; /* what was found is found again */
	report->n_problems = 0;
	r = search_all(&b, &end);
	if (r == WEFT_OK)
		r = enter(js, err);
	if (r == WEFT_OK) {
		r = blob_collect(js->fs, dir, before, is_used, &b, report, err);
		leave(js);
	}
	forget_used(&b);
	return r;
}

static int drop_listed(struct blob_search *b, struct store_report *report)
{
	char dir[PATH_BYTES];
	int r = path_join(dir, b->js->dir, "blobs", b->err);

	for (size_t i = 0; i < report->n_only && r == WEFT_OK; i++) {
		if (!is_used(b, &report->only[i]))
			r = blob_drop(b->js->fs, dir, &report->only[i], report,
				      b->err);
	}
	return r;
}

/*
 * Here age says nothing: if anything was written since the search began, it is
 * done again.  In a store that never rests this gives up, and what is left is
 * collected when it is old enough.
 */
static int drop_blobs(struct jsonl *js, struct store_report *report,
		      struct weft_error *err)
{
	bool done = report->n_only == 0;
	int r = WEFT_OK;

	for (int i = 0; i < DROP_TRIES && !done && r == WEFT_OK; i++) {
		struct blob_search b = { .js = js, .err = err };
		uint64_t end;

		r = search_all(&b, &end);
		if (r == WEFT_OK)
			r = enter(js, err);
		if (r == WEFT_OK) {
			done = js->st.end == end;
			if (done)
				r = drop_listed(&b, report);
			leave(js);
		}
		forget_used(&b);
	}
	return r;
}

/* ---- the slot ---- */

static int suspend(struct jsonl *js, struct store_report *report)
{
	uint64_t idle_ms =
		report->idle_ms ? report->idle_ms : js->store.limits.idle_ms;

	(void)pthread_mutex_lock(&js->writer);
	report->changed += live_evict(js, idle_ms);
	(void)pthread_mutex_unlock(&js->writer);
	return WEFT_OK;
}

/* Tasks that change files wait for one another. */
static int do_alone(struct jsonl *js, uint32_t task,
		    struct store_report *report, struct weft_error *err)
{
	int r;

	if (js->read_only)
		return fail(err, WEFT_READ_ONLY, "%s is open for reading only",
			    js->dir);
	/* No live record of a file that is to be rewritten. */
	if (task == TASK_REPAIR) {
		r = checkpoint(js, err);
		if (r < 0)
			return r;
	}
	r = checkpoint_wait(js, err);
	if (r < 0)
		return r;
	if (task == TASK_REPAIR)
		r = repair_all(js, report, err);
	else if (task == TASK_REINDEX)
		r = reindex(js, report, err);
	else if (task == TASK_FORGET)
		r = forget(js, report, err);
	else if (report->only)
		r = drop_blobs(js, report, err);
	else
		r = collect_blobs(js, report, err);
	checkpoint_unlock(js);
	/* The words follow again, when somebody searches. */
	if (r == WEFT_OK && (task == TASK_REPAIR || task == TASK_REINDEX))
		r = search_clear(js, err);
	return r;
}

static int do_task(struct jsonl *js, uint32_t task, struct store_report *report,
		   struct weft_error *err)
{
	switch ((enum store_task)task) {
	case TASK_CHECKPOINT:
		return js->read_only ? WEFT_OK : checkpoint(js, err);
	case TASK_VERIFY:
		return verify_all(js, report, err);
	case TASK_SUSPEND:
		return suspend(js, report);
	case TASK_REPAIR:
	case TASK_REINDEX:
	case TASK_BLOBS:
	case TASK_FORGET:
		return do_alone(js, task, report, err);
	case TASK_BACKUP:
		return report_no_backup(
			"copy its directory while no process has it open, or "
			"use `weft move` to copy it into another store",
			err);
	}
	return fail(err, WEFT_INVALID, "no such task: %u", task);
}

int jsonl_maintain(struct store *s, uint32_t task, struct store_report *report,
		   struct weft_error *err)
{
	struct jsonl *js = jsonl_of(s);
	int r = js_check(js, err);

	if (r < 0)
		return r;
	if (task == TASK_SUSPEND || task == TASK_CHECKPOINT)
		return do_task(js, task, report, err);
	/* They look at the files. */
	r = behind_pause(js, err);
	if (r == WEFT_OK)
		r = do_task(js, task, report, err);
	behind_resume(js);
	return r;
}

/*
 * care.c - methods that look after a store: verify, repair, reindex, stats.
 *
 * Tasks that take long can be watched from another thread with the method
 * "tasks": each one under way is in a list, from its start to its end.
 */
#include "api/api.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "model/record.h"
#include "store/move.h"

/* A task under way; lives on the stack of the thread that carries it out. */
struct running {
	const struct store *store;
	const char *name;
	int64_t since_us;
	uint64_t done, total;
	struct running *next;
};

/* Guards the list and everything in it; never held while anything is done. */
static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;
static struct running *running_list;

static void running_begin(struct running *t)
{
	pthread_mutex_lock(&running_lock);
	t->next = running_list;
	running_list = t;
	pthread_mutex_unlock(&running_lock);
}

static void running_end(struct running *t)
{
	pthread_mutex_lock(&running_lock);
	for (struct running **p = &running_list; *p; p = &(*p)->next) {
		if (*p == t) {
			*p = t->next;
			break;
		}
	}
	pthread_mutex_unlock(&running_lock);
}

static void running_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct running *t = ctx;

	pthread_mutex_lock(&running_lock);
	t->done = done;
	t->total = total;
	pthread_mutex_unlock(&running_lock);
}

static int method_tasks(struct call *c)
{
	int64_t now = clock_mono_us();
	bool first = true;

	buf_add_lit(&c->out, "{\"tasks\":[");
	pthread_mutex_lock(&running_lock);
	for (const struct running *t = running_list; t; t = t->next) {
		if (t->store != c->store)
			continue;
		buf_printf(&c->out,
			   "%s{\"task\":\"%s\",\"done\":%llu,\"total\":%llu,"
			   "\"seconds\":%lld}",
			   first ? "" : ",", t->name,
			   (unsigned long long)t->done,
			   (unsigned long long)t->total,
			   (long long)((now - t->since_us) / 1000000));
		first = false;
	}
	pthread_mutex_unlock(&running_lock);
	buf_add_lit(&c->out, "]}");
	return WEFT_OK;
}

static void encode_problem(struct buf *b, const struct store_problem *p)
{
	buf_add_lit(b, "{\"session\":");
	encode_id(b, &p->session);
	buf_add_lit(b, ",\"file\":");
	encode_text_or_null(b, p->file);
	buf_add_lit(b, ",\"line\":");
	if (p->line)
		buf_add_u64(b, p->line);
	else
		buf_add_lit(b, "null");
	buf_add_lit(b, ",\"offset\":");
	buf_add_u64(b, p->offset);
	buf_add_lit(b, ",\"reason\":");
	buf_add_json(b, p->reason);
	buf_add_c(b, '}');
}

static void encode_report(struct buf *b, const struct store_report *r)
{
	buf_add_lit(b, "{\"ok\":");
	buf_add_str(b, r->n_problems == 0 ? STR("true") : STR("false"));
	buf_add_lit(b, ",\"sessions\":");
	buf_add_u64(b, r->sessions);
	buf_add_lit(b, ",\"events\":");
	buf_add_u64(b, r->events);
	buf_add_lit(b, ",\"bytes\":");
	buf_add_u64(b, r->bytes);
	buf_add_lit(b, ",\"blobs\":");
	buf_add_u64(b, r->blobs);
	buf_add_lit(b, ",\"changed\":");
	buf_add_u64(b, r->changed);
	buf_add_lit(b, ",\"damaged\":[");
	for (size_t i = 0; i < r->n_problems; i++) {
		if (i > 0)
			buf_add_c(b, ',');
		encode_problem(b, &r->problems[i]);
	}
	buf_add_lit(b, "]}");
}

static int do_task(struct call *c, uint32_t task, struct store_report *report)
{
	struct running t = {
		.store = c->store,
		.name = c->method->name,
		.since_us = clock_mono_us(),
	};
	int r;

	report->arena = &c->arena;
	report->progress = running_progress;
	report->progress_ctx = &t;
	running_begin(&t);
	r = task == TASK_VERIFY ?
		    engine_verify(c->engine, report, c->err) :
		    c->store->ops->maintain(c->store, task, report, c->err);
	running_end(&t);
	return r;
}

/* Let the store do `task`, and answer with its report. */
static int maintain(struct call *c, uint32_t task, struct weft_str file)
{
	struct store_report report = { .file = file };
	int r = do_task(c, task, &report);

	if (r == WEFT_OK)
		encode_report(&c->out, &report);
	return r;
}

static int method_verify(struct call *c)
{
	return maintain(c, TASK_VERIFY, STR(""));
}

/* Not everything can be mended: what the answer lists is what is left. */
static int method_repair(struct call *c)
{
	struct store_report mended = { 0 }, left = { 0 };
	int r = do_task(c, TASK_REPAIR, &mended);

	if (r == WEFT_OK)
		r = do_task(c, TASK_VERIFY, &left);
	if (r != WEFT_OK)
		return r;
	left.changed = mended.changed;
	encode_report(&c->out, &left);
	return WEFT_OK;
}

static int method_reindex(struct call *c)
{
	return maintain(c, TASK_REINDEX, STR(""));
}

static int method_collect(struct call *c)
{
	return maintain(c, TASK_BLOBS, STR(""));
}

static int method_backup(struct call *c)
{
	struct weft_str file = arena_str(&c->arena, call_str(c, "file"));

	if (!file.ptr)
		return arena_error(&c->arena, c->err);
	return maintain(c, TASK_BACKUP, file);
}

static int move_to(struct call *c, struct store *to, struct move_report *ret)
{
	struct running t = {
		.store = c->store,
		.name = c->method->name,
		.since_us = clock_mono_us(),
	};
	int r;

	ret->progress = running_progress;
	ret->progress_ctx = &t;
	running_begin(&t);
	r = store_move(c->store, to, ret, c->err);
	running_end(&t);
	return r;
}

static int method_move(struct call *c)
{
	struct weft_str url = arena_str(&c->arena, call_str(c, "to"));
	struct store_open open = { .flags = STORE_CREATE };
	struct move_report report = { 0 };
	char digest[2 * MOVE_DIGEST_BYTES + 1];
	struct store *to;
	int r, closed;

	if (!url.ptr)
		return arena_error(&c->arena, c->err);
	r = store_open_url(url.ptr, &open, &to, c->err);
	if (r < 0)
		return r;
	r = move_to(c, to, &report);
	closed = store_close(to, r < 0 ? NULL : c->err);
	if (r < 0 || closed < 0)
		return r < 0 ? r : closed;
	hex_format(report.digest, MOVE_DIGEST_BYTES, digest);
	buf_printf(&c->out,
		   "{\"sessions\":%llu,\"events\":%llu,\"bytes\":%llu,"
		   "\"copied\":%llu,\"digest\":\"%s\"}",
		   (unsigned long long)report.sessions,
		   (unsigned long long)report.events,
		   (unsigned long long)report.bytes,
		   (unsigned long long)report.copied, digest);
	return WEFT_OK;
}

/* ---- stats ---- */

struct counts {
	uint64_t kinds[KIND_BOOK + 1];
	uint64_t sessions, deleted, events, messages, bytes;
	struct totals spent;
};

static void count_session(const struct session_rec *rec, struct counts *n)
{
	n->sessions++;
	n->deleted += rec->deleted_at != 0;
	if (rec->kind <= KIND_BOOK)
		n->kinds[rec->kind]++;
	/* A fork's numbers go on from its fork point. */
	n->events += rec->head_seq - rec->fork_seq;
	n->messages += rec->message_count;
	n->bytes += rec->bytes;
	totals_add(&n->spent, &rec->own);
}

static int count_sessions(struct call *c, struct counts *n)
{
	CLEANUP(arena_done) struct arena scratch = { 0 };
	struct list_query q = {
		.sort = LIST_BY_CREATION,
		.deleted = LIST_WITH_DELETED,
		.limit = (uint32_t)u64_min(c->limits->page, UINT32_MAX),
	};
	struct session_page page;

	arena_init(&scratch, c->arena.limit);
	do {
		int r;

		arena_reset(&scratch);
		r = c->store->ops->list(c->store, &q, &scratch, &page, c->err);
		if (r != WEFT_OK)
			return r;
		for (size_t i = 0; i < page.n; i++)
			count_session(&page.v[i], n);
		if (page.n > 0) {
			q.cursor_ms = page.v[page.n - 1].created_at;
			q.cursor_id = page.v[page.n - 1].id;
		}
	} while (page.more && page.n > 0);
	return WEFT_OK;
}

static void encode_counts(struct buf *b, const struct counts *n)
{
	buf_printf(b,
		   "{\"sessions\":%llu,\"primary\":%llu,\"subagents\":%llu,"
		   "\"books\":%llu,\"deleted\":%llu,",
		   (unsigned long long)n->sessions,
		   (unsigned long long)n->kinds[KIND_PRIMARY],
		   (unsigned long long)n->kinds[KIND_SUBAGENT],
		   (unsigned long long)n->kinds[KIND_BOOK],
		   (unsigned long long)n->deleted);
	buf_printf(b, "\"events\":%llu,\"messages\":%llu,\"bytes\":%llu",
		   (unsigned long long)n->events,
		   (unsigned long long)n->messages,
		   (unsigned long long)n->bytes);
	buf_add_lit(b, ",\"total\":");
	encode_totals(b, &n->spent);
}

static const char *yes_no(bool yes)
{
	return yes ? "true" : "false";
}

static void encode_health(struct buf *b, const struct store_health *h)
{
	buf_printf(b,
		   ",\"health\":{\"writable\":%s,\"failed\":%s,"
		   "\"complete\":%s,\"reason\":",
		   yes_no(h->writable != 0), yes_no(h->failed != 0),
		   yes_no(h->complete != 0));
	encode_text_or_null(b, str_of(h->reason));
	buf_printf(b,
		   ",\"log_bytes\":%llu,\"free_bytes\":%llu,\"active\":%llu,"
		   "\"open_files\":%llu,",
		   (unsigned long long)h->log_bytes,
		   (unsigned long long)h->free_bytes,
		   (unsigned long long)h->active,
		   (unsigned long long)h->open_files);
	buf_printf(b, "\"flushes\":%llu,\"frames\":%llu,\"checkpoints\":%llu}",
		   (unsigned long long)h->flushes,
		   (unsigned long long)h->frames,
		   (unsigned long long)h->checkpoints);
}

static void encode_engine(struct buf *b, const struct engine_stats *s)
{
	buf_printf(
		b,
		",\"engine\":{\"requests\":%llu,\"batches\":%llu,"
		"\"events\":%llu,\"refused\":%llu,",
		(unsigned long long)s->requests, (unsigned long long)s->batches,
		(unsigned long long)s->events, (unsigned long long)s->refused);
	buf_printf(b, "\"queued\":%llu,\"queue_max\":%llu,\"watchers\":%llu}}",
		   (unsigned long long)s->queued,
		   (unsigned long long)s->queue_max,
		   (unsigned long long)s->watchers);
}

static int method_stats(struct call *c)
{
	struct counts n = { 0 };
	struct engine_stats engine;
	struct store_health health = { 0 };
	int r = count_sessions(c, &n);

	if (r != WEFT_OK)
		return r;
	r = c->store->ops->health(c->store, &health);
	if (r != WEFT_OK)
		return fail(c->err, r, "the store does not say how it is");
	engine_get_stats(c->engine, &engine);
	encode_counts(&c->out, &n);
	encode_health(&c->out, &health);
	encode_engine(&c->out, &engine);
	return WEFT_OK;
}

/* ---- the rows of the table ---- */

static const struct field fields_backup[] = {
	{ .name = "file",
	  .about = "the file to make; it must not be there yet",
	  .type = TYPE_LINE,
	  .required = 1 },
};

static const struct field fields_move[] = {
	{ .name = "to",
	  .about = "the URL of the store to copy into; it is made if it is not "
		   "there",
	  .type = TYPE_LINE,
	  .required = 1 },
};

#define ANSWER_REPORT                                                          \
	"`{\"ok\",\"sessions\",\"events\",\"bytes\",\"blobs\",\"changed\","    \
	"\"damaged\":[{\"session\",\"file\",\"line\",\"offset\",\"reason\"}]}" \
	"`"

static const struct method rows[] = {
	{ .name = "verify",
	  .about = "Read everything and report what is wrong; change nothing.",
	  .answer = ANSWER_REPORT,
	  .right = RIGHT_ADMIN,
	  .run = method_verify },
	{ .name = "repair",
	  .about = "Mend what verify reports; damaged bytes are kept aside.",
	  .answer = ANSWER_REPORT "; damaged is what could not be mended",
	  .right = RIGHT_ADMIN,
	  .run = method_repair },
	{ .name = "reindex",
	  .about = "Make everything that is derived again from the events.",
	  .answer = ANSWER_REPORT,
	  .right = RIGHT_ADMIN,
	  .run = method_reindex },
	{ .name = "collect",
	  .about = "Drop blobs that no message refers to, if nobody has put "
		   "them, or referred to them, for a day.",
	  .answer = ANSWER_REPORT "; blobs is how many are left, changed how "
				  "many were dropped",
	  .right = RIGHT_ADMIN,
	  .run = method_collect },
	{ .name = "backup",
	  .about = "Copy the whole store as it is now into a new file, while "
		   "others go on writing. For stores in one file; others say "
		   "what to do instead.",
	  .answer = ANSWER_REPORT,
	  .right = RIGHT_ADMIN,
	  FIELDS(fields_backup),
	  .run = method_backup },
	{ .name = "move",
	  .about = "Copy everything into another store and compare what is "
		   "there then. The source is only read. Done again, it goes "
		   "on where it was cut short.",
	  .answer = "`{\"sessions\",\"events\",\"bytes\",\"copied\","
		    "\"digest\"}`; copied is how many events were not there "
		    "yet, digest the same for the same events in any store",
	  .right = RIGHT_ADMIN,
	  FIELDS(fields_move),
	  .run = method_move },
	{ .name = "stats",
	  .about = "Count what is in the store, and say how it is.",
	  .answer = "`{\"sessions\",\"primary\",\"subagents\",\"books\","
		    "\"deleted\",\"events\",\"messages\",\"bytes\",\"total\","
		    "\"health\":{...},\"engine\":{...}}`; bytes are "
		    "those of the events, without attachments",
	  .right = RIGHT_READ,
	  .run = method_stats },
	{ .name = "tasks",
	  .about = "List verify, repair, reindex, collect, backup and move "
		   "under way in "
		   "this process.",
	  .answer = "`{\"tasks\":[{\"task\",\"done\",\"total\","
		    "\"seconds\"}]}`; total is 0 while not known",
	  .right = RIGHT_READ,
	  .run = method_tasks },
};

const struct method_group methods_care = METHOD_GROUP(rows);

/* world.c - a store and the oracle beside it; see world.h. */
#include "model/world.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/mem.h"

/* 2026-11-15T10:00:00.000Z */
#define BEGIN_MS INT64_C(1794736800000)

void world_wrong(struct world *w, const char *format, ...)
{
	va_list args;

	if (w->why[0])
		return;
	va_start(args, format);
	(void)vsnprintf(w->why, sizeof(w->why), format, args);
	va_end(args);
}

void world_say(struct world *w, const char *format, ...)
{
	va_list args;

	if (!w->talk)
		return;
	va_start(args, format);
	(void)printf("#   ");
	(void)vprintf(format, args);
	(void)printf("\n");
	va_end(args);
	(void)fflush(stdout);
}

static int code_of(int oracle_code)
{
	static const int codes[] = {
		[ORACLE_OK] = WEFT_OK,
		[ORACLE_INVALID] = WEFT_INVALID,
		[ORACLE_NOT_FOUND] = WEFT_NOT_FOUND,
		[ORACLE_EXISTS] = WEFT_EXISTS,
		[ORACLE_CONFLICT] = WEFT_CONFLICT,
		[ORACLE_STALE] = WEFT_STALE,
		[ORACLE_OP_MISMATCH] = WEFT_OP_MISMATCH,
		[ORACLE_DELETED] = WEFT_DELETED,
		[ORACLE_AMBIGUOUS] = WEFT_AMBIGUOUS,
		[ORACLE_LEASED] = WEFT_LEASED,
		[ORACLE_MEMORY_NOT_FOUND] = WEFT_MEMORY_NOT_FOUND,
	};

	return codes[oracle_code];
}

bool world_agree(struct world *w, const char *what, int r, int oracle_code)
{
	int expected = code_of(oracle_code);

	if (r != expected)
		world_wrong(w, "%s: %s%s%s, expected %s", what,
			    weft_code_name(r), r < 0 ? ": " : "",
			    r < 0 ? w->err.message : "",
			    weft_code_name(expected));
	return r == expected && r == WEFT_OK;
}

int world_pick(const struct world *w, uint32_t r)
{
	/* One in 16 is nobody. */
	if (w->oracle->n == 0 || r % 16 == 0)
		return -1;
	return (int)(r / 16 % (uint32_t)w->oracle->n);
}

struct weft_id world_id(const struct world *w, int session)
{
	static const struct weft_id nobody = { { 1, 0x9f, 3, 4, 5 } };

	return session < 0 ? nobody : w->ids[session];
}

yyjson_doc *world_call(struct world *w, int *ret, const char *format, ...)
{
	struct weft_answer *answer = NULL;
	yyjson_doc *doc = NULL;
	char request[4096];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(request, sizeof(request), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(request)) {
		world_wrong(w, "a call of %d bytes", n);
		n = 0;
	}
	*ret = weft_call(w->store, request, (size_t)n, &answer, &w->err);
	if (*ret == WEFT_OK &&
	    json_parse(str_of(weft_answer_text(answer, NULL)), NULL, &doc,
		       &w->err) < 0)
		world_wrong(w, "answer to %.100s: %s", request, w->err.message);
	weft_answer_free(answer);
	return doc;
}

/* ---- opening and closing ---- */

static int64_t now(void *ctx)
{
	return ((const struct world *)ctx)->now_ms;
}

static bool open_store(struct world *w)
{
	struct weft_open_options o;

	weft_open_options_init(&o, sizeof(o));
	o.now_ms = now;
	o.now_ctx = w;
	if (weft_open(w->url, &o, &w->store, &w->err) < 0) {
		world_wrong(w, "open: %s", w->err.message);
		return false;
	}
	w->engine = weft_store_engine(w->store);
	world_configure(w);
	return true;
}

static void close_store(struct world *w)
{
	if (weft_close(w->store, &w->err) < 0)
		world_wrong(w, "close: %s", w->err.message);
	w->store = NULL;
}

static bool make_directory(struct world *w)
{
	const char *colon = strchr(w->base_url, ':');
	const char *base = colon[1] ? colon + 1 : getenv("TMPDIR");

	(void)snprintf(w->dir, sizeof(w->dir), "%s/weft-model-XXXXXX",
		       base ? base : "/tmp");
	if (!mkdtemp(w->dir)) {
		world_wrong(w, "cannot make %s", w->dir);
		w->dir[0] = '\0';
		return false;
	}
	(void)snprintf(w->url, sizeof(w->url), "%.*s%s/store",
		       (int)(colon + 1 - w->base_url), w->base_url, w->dir);
	return true;
}

/* In a database: a schema of its own.  Its server is thrown away. */
static void make_schema(struct world *w)
{
	static unsigned count;

	(void)snprintf(w->url, sizeof(w->url), "%s%cschema=m%d_%u", w->base_url,
		       strchr(w->base_url, '?') ? '&' : '?', (int)getpid(),
		       ++count);
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static bool world_begin(struct world *w)
{
	size_t n;

	w->now_ms = BEGIN_MS;
	arena_init(&w->arena, 0);
	w->oracle = oracle_new();
	if (strncmp(w->base_url, "memory:", 7) == 0)
		(void)snprintf(w->url, sizeof(w->url), "%s", w->base_url);
	else if (strncmp(w->base_url, "postgres", 8) == 0)
		make_schema(w);
	else if (!make_directory(w))
		return false;
	/* Long texts are to be blobs, too. */
	n = strlen(w->url);
	(void)snprintf(w->url + n, sizeof(w->url) - n, "%cblob_bytes=500",
		       strchr(w->url, '?') ? '&' : '?');
	return open_store(w);
}

static void world_end(struct world *w)
{
	if (w->store)
		close_store(w);
	if (w->dir[0])
		(void)nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	oracle_free(w->oracle);
	mem_free(w->ids);
	arena_done(&w->arena);
}

/* ---- acts that must change nothing ---- */

static void act_reopen(struct world *w, const uint32_t *r)
{
	(void)r;
	/* What is gone when it is closed cannot be reopened. */
	if (strncmp(w->url, "memory:", 7) == 0)
		return;
	world_say(w, "reopen");
	close_store(w);
	(void)open_store(w);
}

static void run_task(struct world *w, uint32_t task, const char *name)
{
	struct store *s = engine_store(w->engine);
	struct store_report report = { .arena = &w->arena };

	world_say(w, "%s", name);
	if (s->ops->maintain(s, task, &report, &w->err) < 0)
		world_wrong(w, "%s: %s", name, w->err.message);
	else if (report.n_problems > 0)
		world_wrong(w, "%s: %.*s", name,
			    STR_ARG(report.problems[0].reason));
}

/* Somebody sets it, forwards or back, or an hour comes at which something ends. */
static void act_clock(struct world *w, const uint32_t *r)
{
	static const int64_t hour = 3600 * 1000, day = 24 * hour;
	static const int64_t jumps[] = { hour,    5 * hour, 13 * hour, day,
					 2 * day, -1,       -60000,    -hour };
	static const int64_t hours[] = { 3, 4, 11 };
	int64_t to = hours[r[0] / 16 % 3] * hour, jump = jumps[r[0] % 8];

	if (r[0] / 8 % 2)
		jump = (to + day - w->now_ms % day) % day;
	w->now_ms += jump;
	world_say(w, "clock %+lld ms", (long long)jump);
}

static void act_checkpoint(struct world *w, const uint32_t *r)
{
	(void)r;
	run_task(w, TASK_CHECKPOINT, "checkpoint");
}

static void act_reindex(struct world *w, const uint32_t *r)
{
	(void)r;
	run_task(w, TASK_REINDEX, "reindex");
}

static void act_verify(struct world *w, const uint32_t *r)
{
	(void)r;
	run_task(w, TASK_VERIFY, "verify");
}

static void act_suspend(struct world *w, const uint32_t *r)
{
	/* Nothing has been used since. */
	w->now_ms += (int64_t)(r[0] % 2) * 3600 * 1000;
	run_task(w, TASK_SUSPEND, "suspend");
}

const struct act_kind act_kinds[] = {
	{ "create", 12, act_create },    { "append", 35, act_append },
	{ "patch", 8, act_patch },       { "rename", 10, act_rename },
	{ "fork", 8, act_fork },         { "window", 8, act_window },
	{ "redact", 8, act_redact },     { "delete", 6, act_delete },
	{ "restore", 5, act_restore },   { "read", 8, look_read },
	{ "record", 8, look_record },    { "names", 4, look_names },
	{ "list", 8, look_list },        { "everything", 1, look_everything },
	{ "reopen", 2, act_reopen },     { "checkpoint", 2, act_checkpoint },
	{ "reindex", 2, act_reindex },   { "verify", 1, act_verify },
	{ "suspend", 1, act_suspend },   { "search", 3, look_search },
	{ "erase", 3, act_erase },       { "reclaim", 3, act_reclaim },
	{ "purge", 2, act_purge },       { "purge_user", 1, act_purge_user },
	{ "lease", 6, act_lease },       { "todos", 4, act_todos },
	{ "remember", 5, act_remember }, { "forget", 3, act_forget },
	{ "reset", 3, act_reset },       { "route", 4, act_route },
	{ "legacy", 2, act_legacy },     { "notes", 3, look_notes },
	{ "clock", 3, act_clock },       { "configure", 3, act_configure },
	{ "expire", 3, act_expire },     { "maintain", 5, act_maintain },
};
const size_t n_act_kinds = ARRAY_LEN(act_kinds);

static void do_act(struct world *w, const struct act *a)
{
	/* Time stands still now and then. */
	w->now_ms += a->r[ACT_NUMBERS - 1] % 3 * 500;
	act_kinds[a->kind].run(w, a->r);
	arena_reset(&w->arena);
}

static void look_at_the_end(struct world *w)
{
	static const uint32_t r[ACT_NUMBERS];
	void (*const last[])(struct world *, const uint32_t *) = {
		look_everything, act_reindex,     look_everything,
		act_reopen,      look_everything, act_verify,
	};

	for (size_t i = 0; i < ARRAY_LEN(last) && !w->why[0]; i++)
		last[i](w, r);
}

size_t world_run(const char *base_url, const struct act *v, size_t n, bool talk,
		 char why[2048])
{
	struct world w = { .base_url = base_url, .talk = talk };
	size_t i = 0;

	if (world_begin(&w)) {
		for (; i < n && !w.why[0]; i++)
			do_act(&w, &v[i]);
		if (!w.why[0])
			look_at_the_end(&w);
	}
	world_end(&w);
	memcpy(why, w.why, sizeof(w.why));
	if (!w.why[0])
		return 0;
	return i ? i : 1;
}

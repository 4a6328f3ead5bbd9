/*
 * progress.c - call a method that may take long, and print its report.
 *
 * On a terminal the call is made by a second thread, while this one asks the
 * door how far it is, after the first second, and shows it on one line.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"

#define FIRST_MS 1000
#define THEN_MS  200

/* The call under way.  Only its thread touches it until `done`, and that is
 * guarded by the lock. */
struct work {
	struct req *req;
	struct answer *answer;
	int code;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
};

static void *work_thread(void *ctx)
{
	struct work *w = ctx;
	int code = req_call(w->req, w->answer);

	pthread_mutex_lock(&w->lock);
	w->code = code;
	w->done = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* True if the work is done within that time. */
static bool wait_ms(struct work *w, unsigned ms)
{
	struct timespec until;
	bool done;
	int r = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&w->lock);
	while (!w->done && r == 0)
		r = pthread_cond_timedwait(&w->changed, &w->lock, &until);
	done = w->done;
	pthread_mutex_unlock(&w->lock);
	return done;
}

/* One line that is written over again and again. */
static void show(struct weft_store *store)
{
	static const char request[] = "{\"method\":\"tasks\"}";
	struct answer a = { 0 };
	yyjson_val *task;
	uint64_t done, total;

	if (weft_call(store, request, sizeof(request) - 1, &a.handle, NULL) !=
	    WEFT_OK)
		return;
	a.text.ptr = weft_answer_text(a.handle, &a.text.len);
	a.doc = json_parse_trusted(a.text, NULL, 0);
	task = yyjson_arr_get_first(
		yyjson_obj_get(yyjson_doc_get_root(a.doc), "tasks"));
	done = val_u64(task, "done");
	total = val_u64(task, "total");
	if (task)
		(void)fprintf(stderr, "\rweft: %.*s: %llu s",
			      STR_ARG(val_str(task, "task")),
			      (unsigned long long)val_u64(task, "seconds"));
	if (total > 0)
		(void)fprintf(stderr, ", %llu of %llu (%llu%%)",
			      (unsigned long long)done,
			      (unsigned long long)total,
			      (unsigned long long)(done * 100 / total));
	else if (done > 0)
		(void)fprintf(stderr, ", %llu", (unsigned long long)done);
	(void)fprintf(stderr, "\033[K");
	answer_done(&a);
}

int progress_call(struct cli *c, struct req *q, struct answer *ret)
{
	struct work w = {
		.req = q,
		.answer = ret,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	pthread_t thread;
	bool shown = false;

	if (isatty(STDERR_FILENO) != 1 ||
	    pthread_create(&thread, NULL, work_thread, &w) != 0)
		return req_call(q, ret);
	while (!wait_ms(&w, shown ? THEN_MS : FIRST_MS)) {
		show(c->store);
		shown = true;
	}
	(void)pthread_join(thread, NULL);
	if (shown)
		(void)fprintf(stderr, "\r\033[K");
	return w.code;
}

int progress_report(struct cli *c, struct req *q,
		    void (*text)(struct cli *c, yyjson_val *report))
{
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *report;
	int r = progress_call(c, q, &a);

	if (r != WEFT_OK)
		return r;
	report = answer_parse(c, &a);
	if (!report)
		return WEFT_NO_MEMORY;
	if (c->json)
		out_json(&c->out, a.text);
	else
		text(c, report);
	/* The report has said it all: damage, or what was left alone. */
	if (yyjson_is_false(yyjson_obj_get(report, "ok")))
		c->exit_status = weft_code_exit_status(WEFT_CORRUPT);
	if (yyjson_arr_size(yyjson_obj_get(report, "refused")) > 0)
		c->exit_status = weft_code_exit_status(WEFT_LEASED);
	return WEFT_OK;
}

/* ---- looking after a store ---- */

static void text_problem(struct cli *c, yyjson_val *p)
{
	struct weft_str file = val_str(p, "file");
	struct weft_str where = file.len ? file : val_str(p, "session");

	out_style(&c->out, STYLE_RED);
	out_one_line(&c->out, where.len ? where : STR("store"));
	if (val_u64(p, "line"))
		out_printf(&c->out, ":%llu",
			   (unsigned long long)val_u64(p, "line"));
	out_style(&c->out, STYLE_NONE);
	if (file.len)
		out_printf(&c->out, ": offset %llu",
			   (unsigned long long)val_u64(p, "offset"));
	out_add(&c->out, STR(": "));
	out_one_line(&c->out, val_str(p, "reason"));
	out_add(&c->out, STR("\n"));
}

static void text_report(struct cli *c, yyjson_val *report)
{
	yyjson_val *damaged = yyjson_obj_get(report, "damaged");
	yyjson_arr_iter it;
	yyjson_val *p;

	yyjson_arr_iter_init(damaged, &it);
	while ((p = yyjson_arr_iter_next(&it)))
		text_problem(c, p);
	out_printf(&c->out, "%s, %s, %s",
		   COUNT(val_u64(report, "sessions"), "session"),
		   COUNT(val_u64(report, "events"), "event"),
		   COUNT(val_u64(report, "bytes"), "byte"));
	if (val_u64(report, "changed"))
		out_printf(&c->out, ", %llu changed",
			   (unsigned long long)val_u64(report, "changed"));
	out_printf(&c->out, ": %s\n", val_true(report, "ok") ? "ok" : "not ok");
}

int care_call(struct cli *c, const char *method)
{
	CLEANUP(req_done) struct req q = { 0 };

	req_init(&q, c, method);
	return progress_report(c, &q, text_report);
}

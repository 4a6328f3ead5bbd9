/*
 * bench_steps.c - what bench scale does in a small store and in a large one.
 *
 * A new row is one function and one entry in the table.
 */
#include <stdio.h>

#include "base/error.h"
#include "cli/bench.h"

/* The i-th session to be looked at, from 0; far from the one before, so that
 * none is near by chance. */
static uint64_t nth(const struct bench_place *p, uint64_t i)
{
	return i * 7919 % (p->size->sessions - 1);
}

/* One call of the door, whose answer nobody looks at. */
static int call(struct bench_place *p, const char *request, int64_t *ret_ns,
		struct weft_error *err)
{
	struct weft_answer *answer;
	int64_t start = now_ns();
	int r = weft_call(p->store, request, strlen(request), &answer, err);

	*ret_ns = now_ns() - start;
	if (r == WEFT_OK)
		weft_answer_free(answer);
	return r;
}

/* ---- finding a session ---- */

/* By one of its names, and its head: there is something after 0. */
static int step_name(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		     struct weft_error *err)
{
	char name[BENCH_NAME_BYTES];
	uint64_t head;
	int64_t start;
	int r;

	bench_alias(name, nth(p, i));
	start = now_ns();
	r = weft_wait(p->store, name, strlen(name), 0, 0, &head, err);
	*ret_ns = now_ns() - start;
	return r;
}

/* By what a channel knows of a message. */
static int step_route(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		      struct weft_error *err)
{
	struct bench_context c;
	struct weft_routed ret;
	int64_t start;
	int r;

	bench_context(&c, nth(p, i));
	start = now_ns();
	r = weft_route(p->store, &c.options, &ret, err);
	*ret_ns = now_ns() - start;
	return r == WEFT_OK && ret.created ?
		       fail(err, WEFT_CORRUPT, "a session is not found") :
		       r;
}

static int step_open(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		     struct weft_error *err)
{
	int r = weft_close(p->store, err);
	int64_t start = now_ns();

	(void)i;
	p->store = NULL;
	if (r == WEFT_OK)
		r = weft_open(p->url, NULL, &p->store, err);
	*ret_ns = now_ns() - start;
	return r;
}

/* ---- lists ---- */

static int list(struct bench_place *p, const char *filter, int64_t *ret_ns,
		struct weft_error *err)
{
	char request[200];

	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"list\",\"limit\":50%s}", filter);
	return call(p, request, ret_ns, err);
}

static int step_list50(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	(void)i;
	return list(p, "", ret_ns, err);
}

static int step_list_created(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			     struct weft_error *err)
{
	(void)i;
	return list(p, ",\"sort\":\"created\"", ret_ns, err);
}

static int step_list_user(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			  struct weft_error *err)
{
	char filter[80];

	(void)snprintf(filter, sizeof(filter), ",\"user\":\"u%llu\"",
		       (unsigned long long)nth(p, i));
	return list(p, filter, ret_ns, err);
}

static int step_list_project(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			     struct weft_error *err)
{
	char filter[80];

	(void)snprintf(filter, sizeof(filter),
		       ",\"project_dir\":\"/srv/bench/%llu\"",
		       (unsigned long long)(nth(p, i) / 1000));
	return list(p, filter, ret_ns, err);
}

/* A fifth of all sessions. */
static int step_list_channel(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			     struct weft_error *err)
{
	(void)i;
	return list(p, ",\"channel\":\"slack\"", ret_ns, err);
}

/* Very few of them, and of the next, too. */
static int step_list_rare(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			  struct weft_error *err)
{
	(void)i;
	return list(p, ",\"channel\":\"sms\"", ret_ns, err);
}

static int step_list_agent(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			   struct weft_error *err)
{
	(void)i;
	return list(p, ",\"agent\":\"rare\"", ret_ns, err);
}

/* ---- reading ---- */

static int last50(struct bench_place *p, const char *name, int64_t *ret_ns,
		  struct weft_error *err)
{
	struct weft_read_options o;
	struct weft_page *page;
	int64_t start = now_ns();
	int r;

	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES | WEFT_READ_BACKWARDS;
	o.max = 50;
	r = weft_read(p->store, name, strlen(name), &o, &page, err);
	*ret_ns = now_ns() - start;
	if (r < 0)
		return r;
	if (weft_page_count(page) != 50)
		r = fail(err, WEFT_CORRUPT, "%zu messages instead of 50",
			 weft_page_count(page));
	weft_page_free(page);
	return r;
}

static int step_last50(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	(void)i;
	return last50(p, BENCH_LONG, ret_ns, err);
}

static int step_deep_last50(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			    struct weft_error *err)
{
	(void)i;
	return last50(p, BENCH_DEEP, ret_ns, err);
}

static int step_window(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	(void)i;
	return call(p,
		    "{\"method\":\"history\",\"session\":\"" BENCH_LONG
		    "\",\"view\":\"window\",\"last\":50}",
		    ret_ns, err);
}

static int step_deep_window(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			    struct weft_error *err)
{
	(void)i;
	return call(p,
		    "{\"method\":\"history\",\"session\":\"" BENCH_DEEP
		    "\",\"view\":\"window\",\"last\":50}",
		    ret_ns, err);
}

/* ---- writing ---- */

static int step_append(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	char text[1100];
	struct weft_str m = bench_message(text, i);
	int64_t start = now_ns();
	int r = weft_append(p->store, BENCH_LONG, strlen(BENCH_LONG), m.ptr,
			    m.len, NULL, NULL, err);

	*ret_ns = now_ns() - start;
	return r;
}

static int step_fork(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		     struct weft_error *err)
{
	(void)i;
	return call(p, "{\"method\":\"fork\",\"session\":\"" BENCH_LONG "\"}",
		    ret_ns, err);
}

/* In the first tenth of what was said: the first event is the session's own,
 * and every so many messages there is a marker. */
static int step_fork_past(struct bench_place *p, uint64_t i, int64_t *ret_ns,
			  struct weft_error *err)
{
	uint64_t part = u64_max(p->size->messages / p->size->markers, 1);
	uint64_t message = i * 7919 % (p->size->messages / 10);
	uint64_t seq = 2 + message + message / part;
	char request[160];

	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"fork\",\"session\":\"" BENCH_LONG
		       "\",\"at\":%llu}",
		       (unsigned long long)seq);
	return call(p, request, ret_ns, err);
}

/* A window of 50 messages from now on, begun with each step anew. */
static int step_marker(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	char request[160];

	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"compact\",\"session\":\"" BENCH_LONG
		       "\",\"keep\":50,\"summary\":\"step %llu\"}",
		       (unsigned long long)i);
	return call(p, request, ret_ns, err);
}

/* ---- all of them ---- */

const struct bench_step bench_steps[BENCH_STEPS] = {
	{ "name", step_name, "ratio 1.5" },
	{ "route", step_route, "ratio 1.5" },
	{ "last50", step_last50, "100 us" },
	{ "deep_last50", step_deep_last50, "" },
	{ "deep_window", step_deep_window, "" },
	{ "list50", step_list50, "300 us" },
	{ "list_created", step_list_created, "" },
	{ "list_user", step_list_user, "" },
	{ "list_project", step_list_project, "" },
	{ "list_channel", step_list_channel, "" },
	{ "list_rare", step_list_rare, "" },
	{ "list_agent", step_list_agent, "" },
	{ "open", step_open, "50000 us" },
	/* These leave something behind, which the others should not find. */
	{ "append", step_append, "" },
	{ "fork", step_fork, "ratio 1.5" },
	{ "fork_past", step_fork_past, "ratio 1.5" },
	{ "marker", step_marker, "ratio 1.5" },
	{ "window", step_window, "" },
};

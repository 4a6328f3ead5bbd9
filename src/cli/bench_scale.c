/*
 * bench_scale.c - does a step cost the same in a large store as in a small
 * one?
 *
 * Two stores, one much larger than the other; the same step in both by turns.
 * A new row is one function and one entry in the table.
 */
#include <stdio.h>

#include "base/error.h"
#include "cli/bench.h"

/* One of the two stores. */
struct place {
	char url[700];
	struct weft_store *store;
	const struct bench_size *size;
	struct bench_built built;
};

/* ---- steps: one each, and how long it took ---- */

static int step_append(struct place *p, uint64_t i, int64_t *ret_ns,
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

/* Finding a session by its name, and its head: there is something after 0. */
static int step_name(struct place *p, uint64_t i, int64_t *ret_ns,
		     struct weft_error *err)
{
	char key[BENCH_KEY_BYTES];
	uint64_t head;
	int64_t start;
	int r;

	/* Far from each other, so that none is near by chance. */
	bench_key(key, i * 7919 % (p->size->sessions - 1));
	start = now_ns();
	r = weft_wait(p->store, key, strlen(key), 0, 0, &head, err);
	*ret_ns = now_ns() - start;
	return r;
}

static int step_last50(struct place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	struct weft_read_options o;
	struct weft_page *page;
	int64_t start = now_ns();
	int r;

	(void)i;
	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES | WEFT_READ_BACKWARDS;
	o.max = 50;
	r = weft_read(p->store, BENCH_LONG, strlen(BENCH_LONG), &o, &page, err);
	*ret_ns = now_ns() - start;
	if (r < 0)
		return r;
	if (weft_page_count(page) != 50)
		r = fail(err, WEFT_CORRUPT, "%zu messages instead of 50",
			 weft_page_count(page));
	weft_page_free(page);
	return r;
}

/* One call of the door, whose answer nobody looks at. */
static int step_call(struct place *p, const char *request, int64_t *ret_ns,
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

static int step_list50(struct place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	(void)i;
	return step_call(p, "{\"method\":\"list\",\"limit\":50}", ret_ns, err);
}

static int step_fork(struct place *p, uint64_t i, int64_t *ret_ns,
		     struct weft_error *err)
{
	(void)i;
	return step_call(p,
			 "{\"method\":\"fork\",\"session\":\"" BENCH_LONG "\"}",
			 ret_ns, err);
}

/* A window of 50 messages from now on, begun with each step anew. */
static int step_marker(struct place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	char request[160];

	(void)snprintf(request, sizeof(request),
		       "{\"method\":\"compact\",\"session\":\"" BENCH_LONG
		       "\",\"keep\":50,\"summary\":\"step %llu\"}",
		       (unsigned long long)i);
	return step_call(p, request, ret_ns, err);
}

static int step_window(struct place *p, uint64_t i, int64_t *ret_ns,
		       struct weft_error *err)
{
	(void)i;
	return step_call(p,
			 "{\"method\":\"history\",\"session\":\"" BENCH_LONG
			 "\",\"view\":\"window\",\"last\":50}",
			 ret_ns, err);
}

static int step_open(struct place *p, uint64_t i, int64_t *ret_ns,
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

static const struct row {
	const char *name;
	int (*step)(struct place *p, uint64_t i, int64_t *ret_ns,
		    struct weft_error *err);
	const char *must; /* what we promise, on a quiet machine */
} rows[] = {
	{ "name", step_name, "ratio 1.5" },
	{ "last50", step_last50, "100 us" },
	{ "list50", step_list50, "300 us" },
	{ "open", step_open, "50000 us" },
	/* These leave something behind, which the others should not find. */
	{ "append", step_append, "" },
	{ "fork", step_fork, "ratio 1.5" },
	{ "marker", step_marker, "ratio 1.5" },
	{ "window", step_window, "" },
};

/* ---- measuring ---- */

#define STEPS_MAX 2000u

enum { SMALL, LARGE, PLACES };

struct scale {
	struct bench *bench;
	struct place places[PLACES];
	struct sample samples[ARRAY_LEN(rows)][PLACES][BENCH_ROUNDS_MAX];
	uint64_t steps; /* so far, so that each is another one */
};

/* The median of as many steps as there is time for. */
static int measure(struct scale *x, const struct row *row, struct place *p,
		   struct sample *ret)
{
	struct weft_error *err = x->bench->err;
	int64_t start = now_ns();
	int64_t until = start + (int64_t)(x->bench->seconds * 1e9);
	struct times t;
	int r = times_init(&t, STEPS_MAX, err);

	while (r == WEFT_OK && t.n < STEPS_MAX) {
		int64_t ns;

		r = row->step(p, x->steps++, &ns, err);
		times_add(&t, ns);
		if (now_ns() >= until)
			break;
	}
	if (r == WEFT_OK)
		*ret = times_sample(&t, t.n, now_ns() - start);
	times_done(&t);
	return r;
}

static int measure_rounds(struct scale *x)
{
	int r = WEFT_OK;

	size_t rounds = x->bench->rounds;

	for (size_t n = 0; n < ARRAY_LEN(rows) * rounds; n++) {
		size_t k = n / rounds, i = n % rounds;

		bench_show_round(x->bench, n / ARRAY_LEN(rows));
		for (int p = 0; p < PLACES && r == WEFT_OK; p++)
			r = measure(x, &rows[k], &x->places[p],
				    &x->samples[k][p][i]);
	}
	bench_show_round(x->bench, rounds);
	return r;
}

/* ---- showing ---- */

static void show_json(const struct scale *x, const struct line_result *small,
		      const struct line_result *large)
{
	static const char *const names[PLACES] = { "small", "large" };
	struct out *o = &x->bench->cli->out;

	for (int p = 0; p < PLACES; p++) {
		const struct place *place = &x->places[p];

		out_printf(o,
			   "%s\"%s\":{\"sessions\":%llu,\"messages\":%llu,"
			   "\"bytes\":%llu,\"build_s\":%.3f}",
			   p ? "," : "{", names[p],
			   (unsigned long long)place->size->sessions,
			   (unsigned long long)place->size->messages,
			   (unsigned long long)place->built.bytes,
			   place->built.seconds);
	}
	for (size_t k = 0; k < ARRAY_LEN(rows); k++)
		out_printf(o,
			   ",\"%s\":{\"small_us\":%.1f,\"large_us\":%.1f,"
			   "\"ratio\":%.3f}",
			   rows[k].name, small[k].p50_us, large[k].p50_us,
			   large[k].ratio);
	out_add(o, STR("}\n"));
}

static void show_text(const struct scale *x, const struct line_result *small,
		      const struct line_result *large)
{
	struct out *o = &x->bench->cli->out;

	for (int p = 0; p < PLACES; p++) {
		const struct place *place = &x->places[p];

		out_printf(o,
			   "%s: %llu sessions, one of them of %llu messages, "
			   "%.1f MB, built in %.1f s\n",
			   p ? "large" : "small",
			   (unsigned long long)place->size->sessions,
			   (unsigned long long)place->size->messages,
			   (double)place->built.bytes / 1e6,
			   place->built.seconds);
	}
	out_printf(o, "%-14s %12s %12s %8s  %s\n", "", "small us", "large us",
		   "ratio", "at most");
	for (size_t k = 0; k < ARRAY_LEN(rows); k++)
		out_printf(o, "%-14s %12.1f %12.1f %8.3f  %s\n", rows[k].name,
			   small[k].p50_us, large[k].p50_us, large[k].ratio,
			   rows[k].must);
}

static void show(const struct scale *x)
{
	struct line_result small[ARRAY_LEN(rows)], large[ARRAY_LEN(rows)];

	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		const struct sample *by = x->samples[k][SMALL];

		small[k] = bench_median(rows[k].name, by, by, x->bench->rounds,
					true);
		large[k] = bench_median(rows[k].name, x->samples[k][LARGE], by,
					x->bench->rounds, true);
	}
	if (x->bench->cli->json)
		show_json(x, small, large);
	else
		show_text(x, small, large);
}

static int prepare(struct scale *x, int which, const struct bench_size *size)
{
	struct place *p = &x->places[which];
	struct bench *b = x->bench;
	int r;

	bench_url(b, which == SMALL ? "small" : "large", p->url);
	p->size = size;
	r = bench_build(p->url, size, &p->built, b->err);
	if (r == WEFT_OK)
		r = weft_open(p->url, NULL, &p->store, b->err);
	return r;
}

int bench_scale(struct bench *b)
{
	static struct scale x;
	int r;

	x.bench = b;
	r = prepare(&x, SMALL, &b->small);
	if (r == WEFT_OK)
		r = prepare(&x, LARGE, &b->large);
	if (r == WEFT_OK)
		r = measure_rounds(&x);
	for (int p = 0; p < PLACES; p++)
		(void)weft_close(x.places[p].store, NULL);
	if (r == WEFT_OK)
		show(&x);
	return r;
}

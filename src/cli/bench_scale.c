/*
 * bench_scale.c - does a step cost the same in a large store as in a small
 * one?
 *
 * Two stores, one much larger than the other; the same step in both by turns.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/bench.h"

/* ---- measuring ---- */

#define STEPS_MAX 2000u

enum { SMALL, LARGE, PLACES };

struct scale {
	struct bench *bench;
	struct bench_place places[PLACES];
	struct sample samples[BENCH_STEPS][PLACES][BENCH_ROUNDS_MAX];
	uint64_t steps; /* so far, so that each is another one */
};

/* The median of as many steps as there is time for. */
static int measure(struct scale *x, const struct bench_step *step,
		   struct bench_place *p, struct sample *ret)
{
	struct weft_error *err = x->bench->err;
	int64_t start = now_ns();
	int64_t until = start + (int64_t)(x->bench->seconds * 1e9);
	struct times t;
	int r = times_init(&t, STEPS_MAX, err);

	while (r == WEFT_OK && t.n < STEPS_MAX) {
		int64_t ns;

		r = step->run(p, x->steps++, &ns, err);
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

	for (size_t n = 0; n < BENCH_STEPS * rounds; n++) {
		size_t k = n / rounds, i = n % rounds;

		bench_show_round(x->bench, n / BENCH_STEPS);
		for (int p = 0; p < PLACES && r == WEFT_OK; p++)
			r = measure(x, &bench_steps[k], &x->places[p],
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
		const struct bench_place *place = &x->places[p];
		unsigned long long aliases = 3 * place->size->sessions;

		out_printf(o,
			   "%s\"%s\":{\"sessions\":%llu,\"messages\":%llu,"
			   "\"aliases\":%llu,\"forks\":%llu,"
			   "\"markers\":%llu,\"bytes\":%llu,"
			   "\"build_s\":%.3f}",
			   p ? "," : "{", names[p],
			   (unsigned long long)place->size->sessions,
			   (unsigned long long)place->size->messages, aliases,
			   (unsigned long long)place->size->forks,
			   (unsigned long long)place->size->markers,
			   (unsigned long long)place->built.bytes,
			   place->built.seconds);
	}
	for (size_t k = 0; k < BENCH_STEPS; k++)
		out_printf(o,
			   ",\"%s\":{\"small_us\":%.1f,\"large_us\":%.1f,"
			   "\"ratio\":%.3f}",
			   bench_steps[k].name, small[k].p50_us,
			   large[k].p50_us, large[k].ratio);
	out_add(o, STR("}\n"));
}

static void show_text(const struct scale *x, const struct line_result *small,
		      const struct line_result *large)
{
	struct out *o = &x->bench->cli->out;

	for (int p = 0; p < PLACES; p++) {
		const struct bench_place *place = &x->places[p];

		out_printf(o,
			   "%s: %llu sessions with 3 aliases each, one of them "
			   "of %llu messages and %llu markers with %llu forks "
			   "behind it, %.1f MB, built in %.1f s\n",
			   p ? "large" : "small",
			   (unsigned long long)place->size->sessions,
			   (unsigned long long)place->size->messages,
			   (unsigned long long)place->size->markers,
			   (unsigned long long)place->size->forks,
			   (double)place->built.bytes / 1e6,
			   place->built.seconds);
	}
	out_printf(o, "%-14s %12s %12s %8s  %s\n", "", "small us", "large us",
		   "ratio", "at most");
	for (size_t k = 0; k < BENCH_STEPS; k++)
		out_printf(o, "%-14s %12.1f %12.1f %8.3f  %s\n",
			   bench_steps[k].name, small[k].p50_us,
			   large[k].p50_us, large[k].ratio,
			   bench_steps[k].must);
}

static void show(const struct scale *x)
{
	struct line_result small[BENCH_STEPS], large[BENCH_STEPS];

	for (size_t k = 0; k < BENCH_STEPS; k++) {
		const struct sample *by = x->samples[k][SMALL];

		small[k] = bench_median(bench_steps[k].name, by, by,
					x->bench->rounds, true);
		large[k] =
			bench_median(bench_steps[k].name, x->samples[k][LARGE],
				     by, x->bench->rounds, true);
	}
	if (x->bench->cli->json)
		show_json(x, small, large);
	else
		show_text(x, small, large);
}

/* ---- the stores ---- */

/* A note beside a store that is kept: that it is whole, and how large. */
static void note_path(const struct bench *b, const char *name, char out[600])
{
	(void)snprintf(out, 600, "%s/%s.built", b->dir, name);
}

static bool read_note(const char *path, const struct bench_size *size,
		      struct bench_built *ret)
{
	unsigned long long v[5] = { 0 };
	FILE *f = fopen(path, "re");
	bool same;

	if (!f)
		return false;
	same = fscanf(f, "%llu %llu %llu %llu %llu %lf", &v[0], &v[1], &v[2],
		      &v[3], &v[4], &ret->seconds) == 6;
	(void)fclose(f);
	ret->bytes = v[4];
	return same && v[0] == size->sessions && v[1] == size->messages &&
	       v[2] == size->forks && v[3] == size->markers;
}

static int write_note(const char *path, const struct bench_size *size,
		      const struct bench_built *built, struct weft_error *err)
{
	FILE *f = fopen(path, "we");
	bool good = f && fprintf(f, "%llu %llu %llu %llu %llu %.3f\n",
				 (unsigned long long)size->sessions,
				 (unsigned long long)size->messages,
				 (unsigned long long)size->forks,
				 (unsigned long long)size->markers,
				 (unsigned long long)built->bytes,
				 built->seconds) > 0;

	if (f && fclose(f) != 0)
		good = false;
	return good ? WEFT_OK : fail_errno(err, errno, "write %s", path);
}

/* A store that was made long ago is as near as one that was just made: what a
 * disk has to fetch is not what is measured here. */
static void warm(const char *path)
{
	char bytes[1 << 16];
	FILE *f = fopen(path, "re");

	while (f && fread(bytes, 1, sizeof(bytes), f) == sizeof(bytes))
		;
	if (f)
		(void)fclose(f);
}

/* A store with a note is whole, and one without was not finished. */
static int build_kept(const struct bench *b, const char *name,
		      struct bench_place *p)
{
	const struct bench_size *size = p->size;
	char note[600], path[600], db[620];
	int r;

	note_path(b, name, note);
	(void)snprintf(path, sizeof(path), "%s/%s%s", b->dir, name,
		       b->plain ? ".db" : "");
	(void)snprintf(db, sizeof(db), "%s%s", path,
		       b->plain ? "" : "/catalog.db");
	if (read_note(note, size, &p->built)) {
		warm(db);
		return WEFT_OK;
	}
	if (access(path, F_OK) == 0)
		return fail(b->err, WEFT_EXISTS,
			    "%s is a store of another size, or was not "
			    "finished: remove it",
			    path);
	r = bench_build(p->url, size, &p->built, b->err);
	return r == WEFT_OK ? write_note(note, size, &p->built, b->err) : r;
}

static int prepare(struct scale *x, int which, const struct bench_size *size)
{
	const char *name = which == SMALL ? "small" : "large";
	struct bench_place *p = &x->places[which];
	struct bench *b = x->bench;
	int r;

	bench_url(b, name, p->url);
	p->size = size;
	r = b->keep ? build_kept(b, name, p) :
		      bench_build(p->url, size, &p->built, b->err);
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

/* cmd_bench.c - weft bench: our speed as a ratio to the machine's. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/bench.h"
#include "cli/commands.h"

/* ---- measuring ---- */

int64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int times_init(struct times *t, size_t room, struct weft_error *err)
{
	*t = (struct times){ .room = room };
	t->us10 = mem_alloc(room * sizeof(*t->us10));
	return t->us10 ? WEFT_OK : fail_no_memory(err);
}

void times_done(struct times *t)
{
	mem_free(t->us10);
	*t = (struct times){ 0 };
}

void times_add(struct times *t, int64_t ns)
{
	if (t->n < t->room)
		t->us10[t->n++] = (uint32_t)(ns / 100);
}

static int by_u32(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

struct sample times_sample(struct times *t, uint64_t n, int64_t ns)
{
	struct sample s = { .per_s = (double)n * 1e9 / (double)ns };
	size_t half, late;

	if (t->n == 0)
		return s;
	qsort(t->us10, t->n, sizeof(*t->us10), by_u32);
	half = t->n / 2;
	late = t->n - 1 - t->n / 100;
	s.p50_us = t->us10[half] / 10.0;
	s.p99_us = t->us10[late] / 10.0;
	return s;
}

static int by_double(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_double);
	return v[n / 2];
}

/* In a round that was too short nothing was done: that is no number, and JSON
 * has none for it. */
static double ratio_of(double ours, double theirs)
{
	return theirs > 0 ? ours / theirs : 0;
}

struct line_result bench_median(const char *name, const struct sample *v,
				const struct sample *raw, size_t n,
				bool by_time)
{
	double rate[BENCH_ROUNDS_MAX], ratio[BENCH_ROUNDS_MAX];
	double p50[BENCH_ROUNDS_MAX], p99[BENCH_ROUNDS_MAX];

	for (size_t i = 0; i < n; i++) {
		rate[i] = v[i].per_s;
		p50[i] = v[i].p50_us;
		p99[i] = v[i].p99_us;
		ratio[i] = by_time ? ratio_of(v[i].p50_us, raw[i].p50_us) :
				     ratio_of(v[i].per_s, raw[i].per_s);
	}
	return (struct line_result){
		.name = name,
		.per_s = median(rate, n),
		.ratio = median(ratio, n),
		.p50_us = median(p50, n),
		.p99_us = median(p99, n),
	};
}

/* ---- what is measured ---- */

struct weft_str bench_message(char out[1100], uint64_t i)
{
	static const char text[] = "the quick brown fox jumps over the lazy "
				   "dog and says \\\"hello\\\" to it; ";
	const size_t step = sizeof(text) - 1;
	int n = snprintf(out, 1100,
			 "{\"role\":\"%s\",\"parts\":[{\"type\":\"text\","
			 "\"text\":\"%llu ",
			 i % 2 ? "assistant" : "user", (unsigned long long)i);
	size_t len = (size_t)n;

	while (len + step < 1020) {
		memcpy(out + len, text, step);
		len += step;
	}
	memcpy(out + len, "\"}]}", 5);
	return (struct weft_str){ out, len + 4 };
}

int bench_id_of(const struct weft_answer *answer, char out[27],
		struct weft_error *err)
{
	size_t len;
	const char *text = weft_answer_text(answer, &len);
	const char *id = memmem(text, len, "\"id\":\"", 6);

	if (!id || id + 6 + 26 > text + len)
		return fail(err, WEFT_CORRUPT, "no id in the answer");
	memcpy(out, id + 6, 26);
	out[26] = '\0';
	return WEFT_OK;
}

int bench_sessions(struct weft_store *s, size_t n, char (*ids)[27],
		   struct weft_error *err)
{
	static const char request[] = "{\"method\":\"new\"}";
	int r = WEFT_OK;

	for (size_t i = 0; i < n && r == WEFT_OK; i++) {
		struct weft_answer *a;

		r = weft_call(s, request, sizeof(request) - 1, &a, err);
		if (r < 0)
			break;
		r = bench_id_of(a, ids[i], err);
		weft_answer_free(a);
	}
	return r;
}

/* ---- which store ---- */

static const struct bench_plain plains[] = {
	{ "sqlite:", raw_sqlite_appends, raw_sqlite_load, NULL },
	{ "postgres:", raw_postgres_appends, raw_postgres_load,
	  raw_postgres_clean },
	{ "postgresql:", raw_postgres_appends, raw_postgres_load,
	  raw_postgres_clean },
};

static int choose_store(struct bench *b)
{
	const struct opt_given *given = &b->cli->line.global[GLOBAL_STORE];
	const char *url = given->n ? given->v[0] : "jsonl:";

	for (size_t i = 0; i < ARRAY_LEN(plains); i++) {
		if (strncmp(url, plains[i].scheme, strlen(plains[i].scheme)) ==
		    0)
			b->plain = &plains[i];
	}
	b->store_url = url;
	(void)snprintf(b->schema, sizeof(b->schema), "weft_bench_%ld",
		       (long)getpid());
	if (strcmp(url, "jsonl:") == 0 || strcmp(url, "sqlite:") == 0 ||
	    (b->plain && b->plain->clean && strlen(url) < 500 && !b->keep &&
	     !strstr(url, "schema=")))
		return WEFT_OK;
	return fail(b->err, WEFT_USAGE,
		    "--store: bench makes its own store: expected jsonl:, "
		    "sqlite: or postgres://... without a schema");
}

void bench_url(const struct bench *b, const char *name, char out[700])
{
	if (!b->plain)
		(void)snprintf(out, 700, "jsonl:%s/%s", b->dir, name);
	else if (!b->plain->clean)
		(void)snprintf(out, 700, "sqlite:%s/%s.db", b->dir, name);
	else
		(void)snprintf(out, 700, "%s%cschema=%s_%s", b->store_url,
			       strchr(b->store_url, '?') ? '&' : '?', b->schema,
			       name);
}

/* ---- showing ---- */

void bench_show_round(const struct bench *b, size_t i)
{
	if (isatty(STDERR_FILENO) != 1)
		return;
	if (i < b->rounds)
		(void)fprintf(stderr, "\rweft: round %zu of %llu\033[K", i + 1,
			      (unsigned long long)b->rounds);
	else
		(void)fprintf(stderr, "\r\033[K");
}

static void print_json(struct out *o, const struct line_result *v, size_t n,
		       const char *note)
{
	for (size_t i = 0; i < n; i++)
		out_printf(o,
			   "%s\"%s\":{\"per_s\":%.0f,\"ratio\":%.3f,"
			   "\"p50_us\":%.1f,\"p99_us\":%.1f}",
			   i ? "," : "{", v[i].name, v[i].per_s, v[i].ratio,
			   v[i].p50_us, v[i].p99_us);
	if (note)
		out_printf(o, ",\"note\":\"%s\"", note);
	out_add(o, STR("}\n"));
}

void bench_print(struct bench *b, const struct line_result *v, size_t n,
		 const char *note)
{
	struct out *o = &b->cli->out;

	if (b->cli->json) {
		print_json(o, v, n, note);
		return;
	}
	out_printf(o, "%-14s %12s %8s %10s %10s\n", "", "per second", "ratio",
		   "p50 us", "p99 us");
	for (size_t i = 0; i < n; i++)
		out_printf(o, "%-14s %12.0f %8.3f %10.1f %10.1f\n", v[i].name,
			   v[i].per_s, v[i].ratio, v[i].p50_us, v[i].p99_us);
	if (note)
		out_printf(o, "%s\n", note);
}

/* ---- the command ---- */

/* What bench scale may be asked for; the last 50 messages must be there. */
#define SIZE_MIN   50u
#define SIZE_LIMIT 100000000u

/* So many forks in a row, and markers; fewer where there are few messages. */
#define SCALE_FORKS 100u

enum {
	OPT_DIR,
	OPT_ROUNDS,
	OPT_SECONDS,
	OPT_SMALL_SESSIONS,
	OPT_SMALL_MESSAGES,
	OPT_SESSIONS,
	OPT_MESSAGES,
	OPT_KEEP,
	N_OPTS
};

static const struct opt opts[N_OPTS] = {
	[OPT_DIR] = { .name = "dir",
		      .takes = "DIR",
		      .kind = OPT_DIRECTORY,
		      .about = "measure on the disk of DIR; default the "
			       "current directory" },
	[OPT_ROUNDS] = { .name = "rounds",
			 .takes = "N",
			 .kind = OPT_NUMBER,
			 .about = "take the median of N rounds; default 5, at "
				  "most 31" },
	[OPT_SECONDS] = { .name = "milliseconds",
			  .takes = "N",
			  .kind = OPT_NUMBER,
			  .about = "how long one measurement takes; default "
				   "500" },
	[OPT_SMALL_SESSIONS] = { .name = "small-sessions",
				 .takes = "N",
				 .kind = OPT_NUMBER,
				 .about = "scale: sessions of the small store; "
					  "default 1000" },
	[OPT_SMALL_MESSAGES] = { .name = "small-messages",
				 .takes = "N",
				 .kind = OPT_NUMBER,
				 .about = "scale: messages of its long "
					  "session; default 1000" },
	[OPT_SESSIONS] = { .name = "sessions",
			   .takes = "N",
			   .kind = OPT_NUMBER,
			   .about = "scale: sessions of the large store; "
				    "default 1000000" },
	[OPT_MESSAGES] = { .name = "messages",
			   .takes = "N",
			   .kind = OPT_NUMBER,
			   .about = "scale: messages of its long session; "
				    "default 1000000" },
	[OPT_KEEP] = { .name = "keep",
		       .takes = "DIR",
		       .kind = OPT_DIRECTORY,
		       .about = "scale: make the stores in DIR, leave them "
				"there, and use those that are there already "
				"if they have the sizes asked for" },
};

static const struct arg args[] = {
	{ .name = "WHAT",
	  .about = "append: durable writes; load: reading back; scale: a "
		   "large store against a small one",
	  .values = "append|load|scale" },
};

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static const struct {
	const char *name;
	int (*run)(struct bench *b);
} kinds[] = {
	{ "append", bench_append },
	{ "load", bench_load },
	{ "scale", bench_scale },
};

static int take_options(struct cli *c, struct bench *b)
{
	static const size_t sizes[] = { OPT_SMALL_SESSIONS, OPT_SMALL_MESSAGES,
					OPT_SESSIONS, OPT_MESSAGES };
	bool scale = strcmp(cli_arg(c, 0), "scale") == 0;

	b->rounds = cli_number(c, OPT_ROUNDS, 5);
	b->seconds = (double)cli_number(c, OPT_SECONDS, 500) / 1e3;
	if (b->rounds < 1 || b->rounds > BENCH_ROUNDS_MAX || b->seconds <= 0 ||
	    b->seconds > 60)
		return fail(c->err, WEFT_USAGE,
			    "--rounds takes 1 to %d, --milliseconds 1 to 60000",
			    BENCH_ROUNDS_MAX);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint64_t n = cli_number(c, sizes[i], SIZE_MIN);

		if (cli_has(c, sizes[i]) && !scale)
			return fail(c->err, WEFT_USAGE,
				    "--%s goes with bench scale",
				    opts[sizes[i]].name);
		if (n < SIZE_MIN || n > SIZE_LIMIT)
			return fail(c->err, WEFT_USAGE, "--%s takes %u to %u",
				    opts[sizes[i]].name, SIZE_MIN, SIZE_LIMIT);
	}
	b->small.sessions = cli_number(c, OPT_SMALL_SESSIONS, 1000);
	b->small.messages = cli_number(c, OPT_SMALL_MESSAGES, 1000);
	b->large.sessions = cli_number(c, OPT_SESSIONS, 1000000);
	b->large.messages = cli_number(c, OPT_MESSAGES, 1000000);
	b->small.forks = u64_min(SCALE_FORKS, b->small.messages / 10);
	b->large.forks = u64_min(SCALE_FORKS, b->large.messages / 10);
	b->small.markers = b->small.forks;
	b->large.markers = b->large.forks;
	if (!cli_has(c, OPT_KEEP))
		return WEFT_OK;
	if (!scale || cli_has(c, OPT_DIR))
		return fail(c->err, WEFT_USAGE,
			    "--keep goes with bench scale, and instead of "
			    "--dir");
	b->keep = true;
	return WEFT_OK;
}

/* Where the stores are made. */
static int make_dir(struct cli *c, struct bench *b)
{
	const char *dir = cli_has(c, OPT_DIR) ? cli_opt(c, OPT_DIR) : ".";
	int n = b->keep ? snprintf(b->dir, sizeof(b->dir), "%s",
				   cli_opt(c, OPT_KEEP)) :
			  snprintf(b->dir, sizeof(b->dir),
				   "%s/weft-bench-XXXXXX", dir);

	if (n < 0 || (size_t)n >= sizeof(b->dir))
		return fail(c->err, WEFT_USAGE, "--%s: the path is too long",
			    b->keep ? "keep" : "dir");
	if (!b->keep && !mkdtemp(b->dir))
		return fail_errno(c->err, errno, "make a directory in %s", dir);
	if (b->keep && mkdir(b->dir, 0700) != 0 && errno != EEXIST)
		return fail_errno(c->err, errno, "make %s", b->dir);
	return WEFT_OK;
}

static int run(struct cli *c)
{
	struct bench b = { .cli = c, .err = c->err };
	int r = take_options(c, &b);

	if (r == WEFT_OK)
		r = choose_store(&b);
	if (r == WEFT_OK)
		r = make_dir(c, &b);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(cli_arg(c, 0), kinds[i].name) == 0)
			r = kinds[i].run(&b);
	}
	if (b.plain && b.plain->clean)
		b.plain->clean(&b);
	if (!b.keep)
		(void)nftw(b.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return r;
}

const struct command cmd_bench = {
	.name = "bench",
	.summary = "measure speed against the machine's own",
	.about = "Measures in a fresh directory, which is removed afterwards.  "
		 "Every figure is the median of several rounds, and a ratio to "
		 "a raw limit taken in the same round: raw1 is one write and "
		 "one flush at a time, raw64 are batches of 64 KB into a file "
		 "of zeros, ref is reading a file and looking for its lines.  "
		 "For append a ratio is of rates (more is better), for load of "
		 "times (less is better).\n\n"
		 "With --store sqlite: the measure is SQLite itself with the "
		 "same tables, one message in each transaction; with --store "
		 "postgres://... it is that server, 64 connections that each "
		 "insert and commit one row at a time, in schemas that are "
		 "dropped afterwards.  load is compared with a plain select "
		 "of the same events.\n\n"
		 "scale makes two stores and does the same in both by turns; a "
		 "ratio is the time in the large one to that in the small one, "
		 "and near 1 if a step costs what is new in it.  Each session "
		 "has a key and three aliases; one has all the messages, with "
		 "100 markers and a fork at each, and another (deep_) is the "
		 "last of 100 forks, each of the one before.  name and route "
		 "look for any of the sessions; most of the large store are "
		 "not in memory then.  list_rare and list_agent have a filter "
		 "that one session in 20,000 matches.  The default sizes take "
		 "about five minutes to make and 6 GB of disk; with --keep "
		 "they are made once.",
	.example = "weft bench append --dir /var/tmp\n"
		   "weft bench load --json\n"
		   "weft bench append --store sqlite:\n"
		   "weft bench scale --sessions 10000 --messages 10000\n"
		   "weft bench scale --keep /var/tmp/weft-scale",
	OPTS(opts),
	ARGS(args),
	.store = STORE_USE_NONE,
	.run = run,
};

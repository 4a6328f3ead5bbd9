/*
 * bench.h - how fast we are, next to what the machine can do.
 *
 * A measurement is a ratio: a rate (or a time) of ours to a raw one that was
 * taken in the same round.  Rounds are interleaved and medians are shown, for
 * machines are noisy.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/cli.h"

#define BENCH_ROUNDS_MAX 31

/* One line of the table in one round. */
struct sample {
	double per_s;
	double p50_us, p99_us;
};

/* Latencies of one measurement. */
struct times {
	uint32_t *us10; /* tenths of a microsecond */
	size_t n, room;
};

struct line_result {
	const char *name;
	double per_s, ratio, p50_us, p99_us; /* medians */
};

struct bench;

/* How large a store is to be. */
struct bench_size {
	uint64_t sessions; /* 2 or more */
	uint64_t messages; /* of one of them */
	uint64_t forks;    /* on the way to another one */
	uint64_t markers;  /* of the long one, with a fork at each */
};

/* What our store is compared with when it is one in SQL: the database by
 * itself. */
struct bench_plain {
	const char *scheme;
	/* Appends into tables of its own or of the store with this URL. */
	int (*appends)(struct bench *b, const char *url, struct sample *ret);
	/* All events of the only session of the store with this URL. */
	int (*load)(struct bench *b, const char *url, uint64_t messages,
		    struct sample *ret);
	void (*clean)(struct bench *b); /* or NULL */
};

struct bench {
	struct cli *cli;
	const struct bench_plain *plain; /* NULL: jsonl */
	const char *store_url;           /* postgres: as it was given */
	char schema[40];                 /* postgres: how new schemas begin */
	char dir[512]; /* a fresh directory, removed at the end */
	bool keep;     /* it is not: stores that are there are used again */
	uint64_t rounds;
	double seconds; /* of one measurement */
	struct bench_size small, large;
	struct weft_error *err;
};

int bench_append(struct bench *b);
int bench_load(struct bench *b);
int bench_scale(struct bench *b);

/* The URL of a fresh store called `name`. */
void bench_url(const struct bench *b, const char *name, char out[700]);

/* Raw limits (bench_raw.c). */
int raw_appends(struct bench *b, struct sample *ret);
int raw_batches(struct bench *b, unsigned batch, struct sample *ret);

/* The databases by themselves (bench_sqlite.c, bench_postgres.c). */
int raw_sqlite_appends(struct bench *b, const char *url, struct sample *ret);
int raw_sqlite_load(struct bench *b, const char *url, uint64_t messages,
		    struct sample *ret);
int raw_postgres_appends(struct bench *b, const char *url, struct sample *ret);
int raw_postgres_load(struct bench *b, const char *url, uint64_t messages,
		      struct sample *ret);
void raw_postgres_clean(struct bench *b);

/* ---- measuring ---- */

int times_init(struct times *t, size_t room, struct weft_error *err);
void times_done(struct times *t);
void times_add(struct times *t, int64_t ns);
/* A sample of `n` things in `ns`, with the percentiles of the times. */
struct sample times_sample(struct times *t, uint64_t n, int64_t ns);
int64_t now_ns(void);

/* The median over rounds of every field; `raw` is what ratio goes by, or
 * NULL.  by_time: ratio of times instead of rates. */
struct line_result bench_median(const char *name, const struct sample *v,
				const struct sample *raw, size_t n,
				bool by_time);
/* On a terminal: a line about the i-th round, from 0, until the last. */
void bench_show_round(const struct bench *b, size_t i);
void bench_print(struct bench *b, const struct line_result *v, size_t n,
		 const char *note);

/* A message of about 1 KB as JSON; different for every i. */
struct weft_str bench_message(char out[1100], uint64_t i);
/* Make n sessions in the store; their ids, 27 bytes each. */
int bench_sessions(struct weft_store *s, size_t n, char (*ids)[27],
		   struct weft_error *err);

/* The id in the answer: of a session, if that is what it is. */
int bench_id_of(const struct weft_answer *answer, char out[27],
		struct weft_error *err);

/* ---- a store of a certain size (bench_build.c) ---- */

struct bench_built {
	double seconds;
	uint64_t bytes;
};
int bench_build(const char *url, const struct bench_size *size,
		struct bench_built *ret, struct weft_error *err);

/* The names of its sessions: the long one, and the one that has all forks
 * between itself and that. */
#define BENCH_LONG "bench:long"
#define BENCH_DEEP "bench:deep"

/* One session in so many came through a channel of its own, and one in so many
 * has an agent of its own. */
#define BENCH_RARE 20000u

/* An alias of the i-th of the others. */
#define BENCH_NAME_BYTES 64
void bench_alias(char out[BENCH_NAME_BYTES], uint64_t i);

/* A message that belongs to the i-th, or the one before it. */
struct bench_context {
	struct weft_route_options options;
	char user[24];
};
void bench_context(struct bench_context *c, uint64_t i);

/* ---- what is done in it (bench_steps.c) ---- */

/* One of the two stores. */
struct bench_place {
	char url[700];
	struct weft_store *store;
	const struct bench_size *size;
	struct bench_built built;
};

/* Something that is done once in the store, the i-th time, and how long it
 * took. */
struct bench_step {
	const char *name;
	int (*run)(struct bench_place *p, uint64_t i, int64_t *ret_ns,
		   struct weft_error *err);
	const char *must; /* what we promise, on a quiet machine */
};

#define BENCH_STEPS 18
extern const struct bench_step bench_steps[BENCH_STEPS];

#endif

/*
 * drops.c - erase, reclaim and purge, stopped before every change they make to
 * the disk, with the lines of the session still in the log.
 *
 * Whatever is left then can be opened; other sessions and forks have what they
 * had; the session has it, or has lost what was to go.  What was begun can be
 * finished, and after that the word that was to go is nowhere on the disk.  From
 * the index for search it goes even if nobody asks again: whoever maintains or
 * searches the store next takes away the words of lines that are gone.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "crash/lab.h"
#include "engine/engine.h"
#include "model/marker.h"
#include "model/record.h"

#define DIR  "/s"
#define WORD "zanzibar"

enum act { ERASE, RECLAIM, PURGE, ACTS };

/* A store on the disk, with an engine over it. */
struct bench {
	struct engine *e;
	struct arena arena;
	struct weft_error err;
};

static int64_t now(void *ctx)
{
	(void)ctx;
	return TEST_BEGIN_MS;
}

static const struct clock_source fixed = { .now_ms = now };

static int bench_open(struct bench *b, struct simdisk *disk)
{
	struct store_open o = {
		.path = str_of(DIR),
		.flags = STORE_CREATE | STORE_BY_HAND,
		.clock = &fixed,
		.fs = simdisk_process(disk),
	};
	struct store *s;
	int r;

	*b = (struct bench){ .e = NULL };
	arena_init(&b->arena, 0);
	o.limits.segment_bytes = KIB(64);
	r = store_limits_fill(&o.limits, &b->err);
	if (r == WEFT_OK)
		r = store_jsonl.open(&o, &s, &b->err);
	return r == WEFT_OK ? engine_start(s, &fixed, 0, &b->e, &b->err) : r;
}

static void bench_close(struct bench *b)
{
	if (b->e)
		(void)engine_close(b->e, NULL);
	arena_done(&b->arena);
}

static void ok(struct bench *b, int r)
{
	if (r < 0)
		print_error("%s\n", b->err.message);
	assert_true(r >= 0);
}

static struct weft_id run(struct bench *b, struct request *q)
{
	struct weft_id id;

	q->expect = WEFT_NO_EXPECT;
	ok(b, engine_run(b->e, q, &b->err));
	id = q->ret_session;
	request_free(q);
	return id;
}

static struct weft_id begin_session(struct bench *b, const char *key)
{
	struct request *q = request_new(REQUEST_CREATE, &b->err);

	q->create.key = str_of(key);
	return run(b, q);
}

static void speak(struct bench *b, const struct weft_id *s, const char *text)
{
	struct request *q = request_new(REQUEST_APPEND, &b->err);
	char json[128];

	(void)snprintf(json, sizeof(json),
		       "{\"role\":\"user\",\"content\":\"%s\"}", text);
	q->session = *s;
	ok(b, request_take_messages(q, str_of(json), engine_limits(b->e),
				    &b->err));
	(void)run(b, q);
}

/* What a session shows: "one two", or "-" if there is no such session. */
static const char *shown(struct bench *b, const struct weft_id *s)
{
	struct event_range range = { .session = *s,
				     .first = 1,
				     .last = UINT64_MAX,
				     .types = UINT64_C(1) << EVENT_MESSAGE };
	struct view_page page;
	struct buf out;
	int r = engine_read(b->e, &range, false, &b->arena, &page, &b->err);

	if (r == WEFT_NOT_FOUND)
		return "-";
	ok(b, r);
	buf_init(&out, 0);
	for (size_t i = 0; i < page.n; i++) {
		struct message_facts facts;

		if (page.v[i].event.type != EVENT_MESSAGE)
			continue;
		ok(b, message_facts_read(page.v[i].event.body, &b->arena,
					 &facts, &b->err));
		if (out.len)
			buf_add_c(&out, ' ');
		buf_add_str(&out, facts.text);
	}
	r = buf_error(&out, &b->err);
	ok(b, r);
	{
		const char *copy = arena_str(&b->arena, buf_str(&out)).ptr;

		buf_done(&out);
		return copy;
	}
}

/* ---- the story ---- */

struct story {
	struct weft_id s, fork, other;
};

static void tell(struct bench *b, struct story *t)
{
	struct request *q;

	t->s = begin_session(b, "key-" WORD);
	t->other = begin_session(b, "other");
	speak(b, &t->other, "kept");
	speak(b, &t->s, "one");
	speak(b, &t->s, "two");
	speak(b, &t->s, WORD);
	speak(b, &t->s, "four");
	q = request_new(REQUEST_FORK, &b->err);
	q->session = t->s;
	q->fork_at = 3;
	q->fork_inherited = 2;
	t->fork = run(b, q);
	q = request_new(REQUEST_MARKER, &b->err);
	q->session = t->s;
	q->marker = (struct marker_ask){ .how = MARKER_TRUNCATE, .keep = 1 };
	(void)run(b, q);
}

/* All words into the index; with them go those that have to. */
static void index_all(struct bench *b)
{
	uint64_t behind = 0;

	ok(b, engine_index(b->e, true, UINT64_MAX, &behind, &b->err));
	assert_int_equal(behind, 0);
}

static int act_on(struct bench *b, const struct story *t, enum act act)
{
	struct drop_report report;
	const uint64_t target = 4;

	switch (act) {
	case ERASE:
		return engine_erase(b->e, &t->s, &target, 1, 0, &b->arena,
				    &report, &b->err);
	case RECLAIM:
		return engine_reclaim(b->e, &t->s, 0, false, &b->arena, &report,
				      &b->err);
	default:
		return engine_purge(b->e, &t->s, 1, 0, false, &b->arena,
				    &report, &b->err);
	}
}

static const char *after_of(enum act act)
{
	return act == PURGE ? "-" : "one two four";
}

/* ---- looking ---- */

struct search {
	struct simdisk *disk;
	enum act act;
	char problem[256];
	bool in_lines, in_index;
};

static void look_for_words(void *ctx, const char *path)
{
	struct search *x = ctx;
	size_t n = 0;
	char *bytes = path[strlen(path) - 1] == '/' ?
			      NULL :
			      simdisk_read(x->disk, path, &n);

	if (bytes && strstr(path, ".jsonl"))
		x->in_lines |= memmem(bytes, n, "\"" WORD "\"",
				      strlen(WORD) + 2) != NULL;
	if (bytes && strstr(path, "search.db"))
		x->in_index |= memmem(bytes, n, WORD, strlen(WORD)) != NULL;
	free(bytes);
}

/* The index knows the word only if there is a line with it. */
static void words_are_of_lines(struct simdisk *disk)
{
	struct search search = { .disk = disk };

	simdisk_each_path(disk, look_for_words, &search);
	assert_true(search.in_lines || !search.in_index);
}

/* What was stopped, and who takes the words away afterwards. */
enum who { MAINTENANCE, SEARCH, WHO };

static void words_follow(struct simdisk *disk, enum who who)
{
	struct drop_report report;
	struct bench b;

	ok(&b, bench_open(&b, disk));
	if (who == SEARCH)
		index_all(&b);
	else
		ok(&b, engine_finish_purges(b.e, &b.arena, &report, &b.err));
	words_are_of_lines(disk);
	bench_close(&b);
}

static void look_into(void *ctx, const char *path)
{
	struct search *x = ctx;
	const char *word = x->act == PURGE ? WORD : "\"" WORD "\"";
	size_t n;
	char *bytes;

	if (path[strlen(path) - 1] == '/')
		return;
	bytes = simdisk_read(x->disk, path, &n);
	if (bytes && memmem(bytes, n, word, strlen(word)))
		(void)snprintf(x->problem, sizeof(x->problem),
			       "%s is still in %.200s", word, path);
	free(bytes);
}

static void is_clean(struct bench *b)
{
	struct store *s = engine_store(b->e);
	struct store_report report = { .arena = &b->arena };

	ok(b, s->ops->maintain(s, TASK_VERIFY, &report, &b->err));
	for (size_t i = 0; i < report.n_problems; i++)
		print_error("%.*s\n", STR_ARG(report.problems[i].reason));
	assert_int_equal(report.n_problems, 0);
}

/* A rebuild comes to what is there. */
static void is_derived(struct bench *b, const struct weft_id *id)
{
	struct store *s = engine_store(b->e);
	struct store_report report = { .arena = &b->arena };
	struct session_rec before, after;

	ok(b, s->ops->get_sessions(s, id, 1, &b->arena, &before, &b->err));
	ok(b, s->ops->maintain(s, TASK_REINDEX, &report, &b->err));
	ok(b, s->ops->get_sessions(s, id, 1, &b->arena, &after, &b->err));
	assert_true(id_is_zero(&before.id) == id_is_zero(&after.id));
	assert_true(id_is_zero(&before.id) || record_eq(&before, &after));
}

static void check_all(struct simdisk *disk, const struct story *t, enum act act)
{
	struct search search = { .disk = disk, .act = act };
	struct drop_report report;
	struct bench b;
	const char *said;

	ok(&b, bench_open(&b, disk));
	/* First of all: whoever reads a session mends what is known of it. */
	is_clean(&b);
	assert_string_equal(shown(&b, &t->other), "kept");
	assert_string_equal(shown(&b, &t->fork), "one two");
	said = shown(&b, &t->s);
	assert_true(strcmp(said, "one two " WORD " four") == 0 ||
		    strcmp(said, after_of(act)) == 0);
	is_clean(&b);
	/* Again, from wherever it was. */
	ok(&b, engine_finish_purges(b.e, &b.arena, &report, &b.err));
	if (act != PURGE || said[0] != '-') {
		int r = act_on(&b, t, act);

		assert_true(r == WEFT_OK ||
			    (act == ERASE && r == WEFT_NOT_FOUND));
	}
	assert_string_equal(shown(&b, &t->s), after_of(act));
	assert_string_equal(shown(&b, &t->fork), "one two");
	is_clean(&b);
	is_derived(&b, &t->s);
	simdisk_each_path(disk, look_into, &search);
	if (search.problem[0])
		print_error("%s\n", search.problem);
	assert_false(search.problem[0]);
	bench_close(&b);
}

static void check(struct simdisk *disk, const struct story *t, enum act act)
{
	/* Each on a disk of its own, for both make it as it should be. */
	for (enum who who = 0; who < WHO; who++) {
		struct simdisk *d = simdisk_clone(disk);

		words_follow(d, who);
		simdisk_free(d);
	}
	check_all(disk, t, act);
}

/* ---- stopping it everywhere ---- */

struct kept {
	struct simdisk **v;
	size_t n, room;
};

static void keep(void *ctx, struct simdisk *d, unsigned calls, uint64_t n)
{
	struct kept *k = ctx;

	(void)n;
	if (!(calls & SIM_MUTATING))
		return;
	if (k->n == k->room) {
		k->room = k->room ? 2 * k->room : 64;
		k->v = realloc((void *)k->v, k->room * sizeof(*k->v));
		assert_non_null(k->v);
	}
	k->v[k->n++] = simdisk_clone(d);
}

static void look_at_all(struct kept *k, const struct story *t, enum act act)
{
	struct simset seen = { .room = 0 };
	unsigned cuts = rounds(10) >= 10 ? 4 : 2;

	for (size_t i = 0; i < k->n; i++) {
		for (unsigned c = 0; c < cuts; c++) {
			struct simdisk *d = simdisk_clone(k->v[i]);
			enum simcut how = c == 0 ? SIM_LOSE_ALL :
					  c == 1 ? SIM_KEEP_ALL :
						   SIM_RANDOM;

			if (simset_add(&seen,
				       simdisk_power_cut(d, how, i * 10 + c,
							 NULL)))
				check(d, t, act);
			simdisk_free(d);
		}
		simdisk_free(k->v[i]);
	}
	print_message("# %zu changes, %zu disks\n", k->n, seen.count);
	assert_true(k->n > 10);
	simset_done(&seen);
	free((void *)k->v);
}

static void stop_everywhere(enum act act)
{
	struct simdisk *disk = simdisk_new();
	struct kept kept = { .n = 0 };
	struct story t;
	struct bench b;

	simdisk_tell_boots(disk, "/proc/sys/kernel/random/boot_id");
	ok(&b, bench_open(&b, disk));
	tell(&b, &t);
	index_all(&b);
	simdisk_on_call(disk, keep, &kept);
	ok(&b, act_on(&b, &t, act));
	simdisk_on_call(disk, NULL, NULL);
	assert_string_equal(shown(&b, &t.s), after_of(act));
	bench_close(&b);
	look_at_all(&kept, &t, act);
	simdisk_free(disk);
}

static void erase_can_stop_anywhere(void **state)
{
	(void)state;
	stop_everywhere(ERASE);
}

static void reclaim_can_stop_anywhere(void **state)
{
	(void)state;
	stop_everywhere(RECLAIM);
}

static void purge_can_stop_anywhere(void **state)
{
	(void)state;
	stop_everywhere(PURGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(erase_can_stop_anywhere),
		cmocka_unit_test(reclaim_can_stop_anywhere),
		cmocka_unit_test(purge_can_stop_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test-blob.c - attachments: put once, checked on reading, collected late. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "sim/simdisk.h"
#include "store/jsonl/blob.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define DIR     "/store/blobs"
#define NOW_MS  INT64_C(1800000000000)
#define HOUR_MS INT64_C(3600000)
#define DAY_MS  (24 * HOUR_MS)

#define MUST(call)                                                          \
	do {                                                                \
		struct weft_error err = { 0 };                              \
		int must_r_ = (call);                                       \
		if (must_r_ != WEFT_OK)                                     \
			fail_msg("%s: %d %s", #call, must_r_, err.message); \
	} while (0)

struct fixture {
	struct simdisk *disk;
	struct fs *fs;
	struct arena a;
};

static struct simdisk *make_disk(void)
{
	struct simdisk *d = simdisk_new();
	struct fs *fs = simdisk_process(d);

	assert_int_equal(fs_mkdir(fs, "/store"), 0);
	assert_int_equal(fs_mkdir(fs, DIR), 0);
	simdisk_sync(d);
	simdisk_set_time(d, NOW_MS);
	return d;
}

static int setup(void **state)
{
	struct fixture *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->disk = make_disk();
	t->fs = simdisk_process(t->disk);
	arena_init(&t->a, 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *t = *state;

	arena_done(&t->a);
	assert_int_equal(simdisk_open_files(t->disk), 0);
	simdisk_free(t->disk);
	free(t);
	return 0;
}

static struct blob_ref put(struct fs *fs, struct weft_str bytes)
{
	struct blob_ref ref;

	MUST(blob_put(fs, DIR, bytes, &ref, &err));
	return ref;
}

static void path_of(const struct blob_ref *ref, char out[128])
{
	char hex[65];

	hex_format(ref->sha256, 32, hex);
	(void)snprintf(out, 128, DIR "/%.2s/%s", hex, hex);
}

static void expect_blob(struct fixture *t, const struct blob_ref *ref,
			struct weft_str bytes)
{
	struct weft_str got;

	MUST(blob_get(t->fs, DIR, ref, &t->a, &got, &err));
	assert_int_equal(got.len, bytes.len);
	assert_memory_equal(got.ptr, bytes.ptr, bytes.len);
	assert_int_equal(blob_exists(t->fs, DIR, ref), 1);
}

static void count_path(void *ctx, const char *path)
{
	/* Files have no slash at the end. */
	*(int *)ctx += strncmp(path, DIR "/", sizeof(DIR)) == 0 &&
		       path[strlen(path) - 1] != '/';
}

static int files_of(struct simdisk *d)
{
	int n = 0;

	simdisk_each_path(d, count_path, &n);
	return n;
}

static void what_is_put_is_got(void **state)
{
	struct fixture *t = *state;
	char *large = malloc(300001);
	struct blob_ref a, b, c;

	assert_non_null(large);
	for (size_t i = 0; i < 300001; i++)
		large[i] = (char)(i * 7 >> 2);
	a = put(t->fs, STR("a\0b"));
	b = put(t->fs, STR(""));
	c = put(t->fs, (struct weft_str){ large, 300001 });
	expect_blob(t, &a, STR("a\0b"));
	expect_blob(t, &b, STR(""));
	expect_blob(t, &c, (struct weft_str){ large, 300001 });
	assert_int_equal(files_of(t->disk), 3);
	free(large);
}

static void its_name_is_its_hash(void **state)
{
	struct fixture *t = *state;
	char *bytes;

	(void)put(t->fs, STR("abc"));
	bytes = simdisk_read(
		t->disk,
		DIR "/ba/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410"
		    "ff61f20015ad",
		NULL);
	assert_non_null(bytes);
	assert_string_equal(bytes, "abc");
	free(bytes);
}

static void the_same_bytes_are_one_file(void **state)
{
	struct fixture *t = *state;
	struct blob_ref a = put(t->fs, STR("same")), b;
	struct file_stat before, after;
	char path[128];

	path_of(&a, path);
	assert_int_equal(fs_stat(t->fs, path, &before), 0);
	simdisk_set_time(t->disk, NOW_MS + DAY_MS);
	b = put(t->fs, STR("same"));
	assert_memory_equal(a.sha256, b.sha256, 32);
	assert_int_equal(a.bytes, b.bytes);
	assert_int_equal(files_of(t->disk), 1);
	assert_int_equal(fs_stat(t->fs, path, &after), 0);
	/* The same file, touched. */
	assert_int_equal(after.ino, before.ino);
	assert_int_equal(before.mtime_ms, NOW_MS);
	assert_int_equal(after.mtime_ms, NOW_MS + DAY_MS);
	expect_blob(t, &a, STR("same"));
}

static void what_is_not_there_is_not_found(void **state)
{
	struct fixture *t = *state;
	struct blob_ref ref = put(t->fs, STR("x"));
	struct weft_str got;

	ref.sha256[31] ^= 1;
	assert_int_equal(blob_get(t->fs, DIR, &ref, &t->a, &got, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(blob_exists(t->fs, DIR, &ref), 0);
	ref.sha256[0] ^= 1;
	assert_int_equal(blob_get(t->fs, DIR, &ref, &t->a, &got, NULL),
			 WEFT_NOT_FOUND);
	assert_int_equal(blob_exists(t->fs, DIR, &ref), 0);
}

static void damage_is_noticed_and_mended_by_putting_again(void **state)
{
	struct fixture *t = *state;
	struct blob_ref ref = put(t->fs, STR("some bytes")), wrong = ref;
	struct weft_error err;
	struct weft_str got;
	char path[128];

	path_of(&ref, path);
	for (uint64_t at = 0; at < 10; at++) {
		assert_int_equal(simdisk_flip(t->disk, path, at, 4), 0);
		assert_int_equal(blob_get(t->fs, DIR, &ref, &t->a, &got, &err),
				 WEFT_CORRUPT);
		assert_non_null(strstr(err.message, "blob"));
		/* Its size is all that this looks at. */
		assert_int_equal(blob_exists(t->fs, DIR, &ref), 1);
		(void)put(t->fs, STR("some bytes"));
		expect_blob(t, &ref, STR("some bytes"));
	}
	for (uint64_t size = 0; size < 14; size += 3) {
		assert_int_equal(simdisk_resize(t->disk, path, size), 0);
		assert_int_equal(blob_get(t->fs, DIR, &ref, &t->a, &got, NULL),
				 WEFT_CORRUPT);
		assert_int_equal(blob_exists(t->fs, DIR, &ref), 0);
		(void)put(t->fs, STR("some bytes"));
		expect_blob(t, &ref, STR("some bytes"));
	}
	assert_int_equal(files_of(t->disk), 1);
	/* A reference that claims another size, however large. */
	wrong.bytes = UINT64_MAX;
	assert_int_equal(blob_get(t->fs, DIR, &wrong, &t->a, &got, NULL),
			 WEFT_CORRUPT);
	assert_int_equal(blob_exists(t->fs, DIR, &wrong), 0);
}

static void an_arena_that_is_too_small_is_an_error(void **state)
{
	struct fixture *t = *state;
	struct blob_ref ref;
	struct weft_str got;
	struct arena small;
	char *large = calloc(1, MIB(1));

	assert_non_null(large);
	ref = put(t->fs, (struct weft_str){ large, MIB(1) });
	arena_init(&small, KIB(64));
	assert_int_equal(blob_get(t->fs, DIR, &ref, &small, &got, NULL),
			 WEFT_LIMIT);
	arena_done(&small);
	free(large);
}

/* ---- going through all ---- */

struct seen {
	int n, stop_at;
	uint64_t bytes;
	const struct blob_ref *used; /* the only one that is */
	struct fixture *t;
};

static int see(void *ctx, const struct blob_ref *ref)
{
	struct seen *s = ctx;

	s->bytes += ref->bytes;
	return ++s->n == s->stop_at ? 77 : 0;
}

static void keep(struct simdisk *d, const char *path)
{
	assert_int_equal(simdisk_replace(d, path, STR("?")), 0);
}

static void every_blob_is_handed_out_and_what_is_none_reported(void **state)
{
	struct fixture *t = *state;
	struct store_report report = { .arena = &t->a };
	struct seen s = { .n = 0 };
	char text[16];

	for (int i = 0; i < 20; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		(void)put(t->fs, str_of(text));
	}
	MUST(blob_each(t->fs, DIR, &report, see, &s, &err));
	assert_int_equal(s.n, 20);
	assert_int_equal(s.bytes, 10 + 2 * 10);
	assert_int_equal(report.n_problems, 0);

	(void)fs_mkdir(t->fs, DIR "/ab");
	(void)fs_mkdir(t->fs, DIR "/abc");
	assert_int_equal(fs_mkdir(t->fs, DIR "/ab/dir"), 0);
	keep(t->disk, DIR "/file");
	keep(t->disk, DIR "/cd.jpg");
	keep(t->disk, DIR "/ab/tmp-1-1");
	keep(t->disk, DIR "/ab/notes.txt");
	/* A hash, but in the wrong place; and one in upper case. */
	keep(t->disk, DIR "/ab/cd7816bf8f01cfea414140de5dae2223b00361a396177a9"
			  "cb410ff61f20015ad");
	keep(t->disk, DIR "/ab/AB7816bf8f01cfea414140de5dae2223b00361a396177a9"
			  "cb410ff61f20015ad");
	s = (struct seen){ .n = 0 };
	MUST(blob_each(t->fs, DIR, &report, see, &s, &err));
	assert_int_equal(s.n, 20);
	assert_int_equal(report.n_problems, 7);
	assert_string_equal(report.problems[0].file.ptr,
			    "ab/AB7816bf8f01cfea414140de5dae2223b00361a396177a"
			    "9cb410ff61f20015ad");
	MUST(blob_each(t->fs, DIR, NULL, see, &s, &err));
	assert_int_equal(s.n, 40);
	s = (struct seen){ .stop_at = 3 };
	assert_int_equal(blob_each(t->fs, DIR, NULL, see, &s, NULL), 77);
	assert_int_equal(s.n, 3);
}

static int is_used(void *ctx, const struct blob_ref *ref)
{
	struct seen *s = ctx;

	s->n++;
	if (s->stop_at)
		return WEFT_IO;
	return s->used && memcmp(s->used->sha256, ref->sha256, 32) == 0 &&
	       s->used->bytes == ref->bytes;
}

static void what_is_old_and_unused_is_collected(void **state)
{
	struct fixture *t = *state;
	struct store_report report = { .arena = &t->a };
	struct blob_ref used = put(t->fs, STR("used")),
			unused = put(t->fs, STR("unused")), young, touched;
	struct seen s = { .used = &used };

	touched = put(t->fs, STR("touched"));
	assert_int_equal(fs_mkdir(t->fs, DIR "/77"), 0);
	keep(t->disk, DIR "/77/tmp-9-9");
	simdisk_set_time(t->disk, NOW_MS + 1);
	keep(t->disk, DIR "/77/tmp-9-8");
	young = put(t->fs, STR("young"));
	(void)put(t->fs, STR("touched"));
	/* Not older than this, though as old. */
	MUST(blob_collect(t->fs, DIR, NOW_MS, is_used, &s, &report, &err));
	assert_int_equal(report.changed, 0);
	assert_int_equal(s.n, 0);
	MUST(blob_collect(t->fs, DIR, NOW_MS + 1, is_used, &s, &report, &err));
	assert_int_equal(report.changed, 2);
	assert_int_equal(report.blobs, 7);
	assert_int_equal(s.n, 2);
	assert_int_equal(blob_exists(t->fs, DIR, &used), 1);
	assert_int_equal(blob_exists(t->fs, DIR, &unused), 0);
	assert_int_equal(blob_exists(t->fs, DIR, &young), 1);
	assert_int_equal(blob_exists(t->fs, DIR, &touched), 1);
	assert_int_equal(files_of(t->disk), 4);
	/* Who cannot tell whether it is used must not lose it. */
	s.stop_at = 1;
	assert_int_equal(blob_collect(t->fs, DIR, NOW_MS + DAY_MS, is_used, &s,
				      NULL, NULL),
			 WEFT_IO);
	assert_int_equal(files_of(t->disk), 4);
}

static int put_meanwhile(void *ctx, const struct blob_ref *ref)
{
	struct seen *s = ctx;

	(void)ref;
	simdisk_set_time(s->t->disk, NOW_MS + DAY_MS);
	(void)put(simdisk_process(s->t->disk), STR("x"));
	return 0;
}

static void what_is_put_while_it_is_judged_stays(void **state)
{
	struct fixture *t = *state;
	struct blob_ref ref = put(t->fs, STR("x"));
	struct seen s = { .t = t };
	char path[128];

	MUST(blob_collect(t->fs, DIR, NOW_MS + 1, put_meanwhile, &s, NULL,
			  &err));
	expect_blob(t, &ref, STR("x"));
	/* The same for one that has to be mended. */
	path_of(&ref, path);
	simdisk_set_time(t->disk, NOW_MS);
	assert_int_equal(simdisk_flip(t->disk, path, 0, 1), 0);
	MUST(blob_collect(t->fs, DIR, NOW_MS + 1, put_meanwhile, &s, NULL,
			  &err));
	expect_blob(t, &ref, STR("x"));
}

struct meeting {
	struct fs *other;
	int r; /* of its put, or 1 */
};

static void put_before_removal(void *ctx, struct simdisk *d, unsigned calls,
			       uint64_t n)
{
	struct meeting *m = ctx;
	struct blob_ref ref;

	(void)d;
	(void)n;
	if (calls & SIM_UNLINK && m->r == 1)
		m->r = blob_put(m->other, DIR, STR("x"), &ref, NULL);
}

/* In the last moment, when nothing can stop it from being removed. */
static void what_is_put_while_it_is_removed_is_not_acknowledged(void **state)
{
	struct fixture *t = *state;
	struct meeting m = { simdisk_process(t->disk), 1 };
	struct blob_ref ref = put(t->fs, STR("x"));
	struct seen s = { .n = 0 };

	simdisk_fail_at(t->disk, SIM_SLEEP, 1, -EINTR, true);
	simdisk_on_call(t->disk, put_before_removal, &m);
	MUST(blob_collect(t->fs, DIR, NOW_MS + 1, is_used, &s, NULL, &err));
	simdisk_on_call(t->disk, NULL, NULL);
	/* Here it can only give up; in life it would have waited. */
	assert_int_equal(m.r, WEFT_BUSY);
	assert_int_equal(blob_exists(t->fs, DIR, &ref), 0);
	(void)put(t->fs, STR("x"));
	expect_blob(t, &ref, STR("x"));
}

static void a_store_without_blobs_is_fine(void **state)
{
	struct fixture *t = *state;
	struct seen s = { .n = 0 };

	MUST(blob_each(t->fs, "/store/none", NULL, see, &s, &err));
	MUST(blob_collect(t->fs, "/store/none", NOW_MS, see, &s, NULL, &err));
	MUST(blob_each(t->fs, DIR, NULL, see, &s, &err));
	assert_int_equal(s.n, 0);
}

/* ---- when things fail ---- */

static void a_failing_disk_leaves_no_half_blob(void **state)
{
	uint64_t hit = 1;

	(void)state;
	for (uint64_t n = 1; hit; n++) {
		for (int error = 0; error < 2; error++) {
			struct simdisk *d = make_disk();
			struct fs *fs = simdisk_process(d);
			struct blob_ref ref = { .bytes = 0 };
			struct weft_str got;
			struct arena a;
			int r;

			arena_init(&a, 0);
			simdisk_fail_part(d, 3);
			simdisk_fail_at(d, SIM_MUTATING | SIM_OPEN | SIM_STAT,
					n, error ? -ENOSPC : -EIO, false);
			r = blob_put(fs, DIR, STR("whole blob"), &ref, NULL);
			hit = simdisk_faults_hit(d);
			assert_true(r == WEFT_OK ||
				    r == (error ? WEFT_NO_SPACE : WEFT_IO));
			assert_int_equal(r != WEFT_OK, hit > 0);
			assert_int_equal(simdisk_open_files(d), 0);
			(void)sha256(STR("whole blob"), ref.sha256, NULL);
			ref.bytes = 10;
			if (blob_exists(fs, DIR, &ref))
				MUST(blob_get(fs, DIR, &ref, &a, &got, &err));
			/* No rest of it but where removing failed, too. */
			assert_int_equal(files_of(d),
					 blob_exists(fs, DIR, &ref));
			simdisk_fail_at(d, 0, 0, 0, false);
			MUST(blob_put(fs, DIR, STR("whole blob"), &ref, &err));
			assert_int_equal(files_of(d), 1);
			arena_done(&a);
			simdisk_free(d);
		}
	}
}

static void no_memory_is_said(void **state)
{
	uint64_t hit = 1;

	(void)state;
	for (int64_t n = 0; hit; n++) {
		struct simdisk *d = make_disk();
		struct fs *fs = simdisk_process(d);
		struct store_report report = { .arena = NULL };
		struct blob_ref ref;
		struct weft_str got;
		struct arena a;
		struct seen s = { .n = 0 };
		int r;

		arena_init(&a, 0);
		report.arena = &a;
		keep(d, DIR "/odd");
		mem_fault(n, 1);
		r = blob_put(fs, DIR, STR("x"), &ref, NULL);
		if (r == WEFT_OK)
			r = blob_get(fs, DIR, &ref, &a, &got, NULL);
		if (r == WEFT_OK)
			r = blob_collect(fs, DIR, NOW_MS + 1, is_used, &s,
					 &report, NULL);
		hit = mem_faults_hit();
		mem_fault(-1, 0);
		assert_int_equal(r, hit ? WEFT_NO_MEMORY : WEFT_OK);
		assert_int_equal(simdisk_open_files(d), 0);
		arena_done(&a);
		simdisk_free(d);
	}
}

/* ---- death ---- */

struct cuts {
	struct simset states;
	uint64_t there, none;
	bool must_be_there;
};

/* After a cut there is the whole blob or none, and a put works. */
static void look_after_cut(struct simdisk *d, struct cuts *cuts)
{
	struct fs *fs = simdisk_process(d);
	struct blob_ref ref = { .bytes = 5000 };
	struct weft_str got;
	struct arena a;
	char bytes[5000];
	int r;

	memset(bytes, 'b', sizeof(bytes));
	arena_init(&a, 0);
	MUST(sha256((struct weft_str){ bytes, 5000 }, ref.sha256, &err));
	r = blob_get(fs, DIR, &ref, &a, &got, NULL);
	assert_true(r == WEFT_OK || r == WEFT_NOT_FOUND);
	assert_int_equal(blob_exists(fs, DIR, &ref), r == WEFT_OK);
	if (cuts->must_be_there)
		assert_int_equal(r, WEFT_OK);
	cuts->there += r == WEFT_OK;
	cuts->none += r != WEFT_OK;
	MUST(blob_put(fs, DIR, (struct weft_str){ bytes, 5000 }, &ref, &err));
	(void)simdisk_power_cut(d, SIM_LOSE_ALL, 0, NULL);
	MUST(blob_get(simdisk_process(d), DIR, &ref, &a, &got, &err));
	arena_done(&a);
}

static void cut_here(struct simdisk *at, struct cuts *cuts)
{
	for (uint64_t i = 0; i < 64; i++) {
		struct simdisk *d = simdisk_clone(at);

		if (simset_add(&cuts->states,
			       simdisk_power_cut(d, SIM_INDEX, i * 37, NULL)))
			look_after_cut(d, cuts);
		simdisk_free(d);
	}
}

static void at_each_call(void *ctx, struct simdisk *d, unsigned calls,
			 uint64_t n)
{
	(void)n;
	if (calls & SIM_MUTATING)
		cut_here(d, ctx);
}

static void put_b(struct fs *fs)
{
	char bytes[5000];

	memset(bytes, 'b', sizeof(bytes));
	(void)put(fs, (struct weft_str){ bytes, 5000 });
}

static void a_power_cut_leaves_the_whole_blob_or_none(void **state)
{
	struct fixture *t = *state;
	struct cuts cuts = { .there = 0 };

	simdisk_on_call(t->disk, at_each_call, &cuts);
	put_b(t->fs);
	simdisk_on_call(t->disk, NULL, NULL);
	assert_true(cuts.none > 0 && cuts.there > 0);
	/* Acknowledged: it stays. */
	simset_done(&cuts.states);
	cuts = (struct cuts){ .must_be_there = true };
	cut_here(t->disk, &cuts);
	assert_true(cuts.there > 0);
	simset_done(&cuts.states);
}

/* The first one dies at each of its calls; the second one's put must last,
 * whatever the first has left to be done. */
static void a_put_over_somebodys_rest_is_durable(void **state)
{
	bool died = true;

	(void)state;
	for (uint64_t n = 1; died; n++) {
		struct simdisk *d = make_disk();
		struct fs *first = simdisk_process(d);
		struct cuts cuts = { .must_be_there = true };
		struct blob_ref ref;
		char bytes[5000];

		memset(bytes, 'b', sizeof(bytes));
		simdisk_kill_in_write(first, n, 700);
		(void)blob_put(first, DIR, (struct weft_str){ bytes, 5000 },
			       &ref, NULL);
		died = simdisk_is_dead(first);
		put_b(simdisk_process(d));
		cut_here(d, &cuts);
		assert_true(cuts.there > 0);
		simset_done(&cuts.states);
		simdisk_free(d);
	}
}

/* ---- several at once, on real files ---- */

#define ROUNDS    200
#define MOMENT_MS 30

struct race {
	char dir[64];
	atomic_int lost;
	atomic_bool done;
};

static int not_used(void *ctx, const struct blob_ref *ref)
{
	(void)ctx;
	(void)ref;
	return 0;
}

/* Collects what nobody has put for a moment, over and over. */
static void *collect_always(void *ctx)
{
	struct race *r = ctx;

	while (!atomic_load(&r->done)) {
		if (blob_collect(fs_real(), r->dir,
				 clock_now_ms(NULL) - MOMENT_MS, not_used, NULL,
				 NULL, NULL) != WEFT_OK)
			atomic_fetch_add(&r->lost, 1);
	}
	return NULL;
}

static void *put_always(void *ctx)
{
	struct race *r = ctx;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t begun = clock_mono_us();
		struct blob_ref ref;
		char text[8];

		(void)snprintf(text, sizeof(text), "%d", i % 40);
		if (blob_put(fs_real(), r->dir, str_of(text), &ref, NULL) !=
		    WEFT_OK)
			atomic_fetch_add(&r->lost, 1);
		/* Unless it took so long that it may be gone by now; files
		 * have a clock that is a little behind. */
		if (!blob_exists(fs_real(), r->dir, &ref) &&
		    clock_mono_us() - begun < (MOMENT_MS - 10) * 1000)
			atomic_fetch_add(&r->lost, 1);
	}
	return NULL;
}

static int remove_file(void *ctx, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", (const char *)ctx, name);
	return unlink(path);
}

static int remove_shard(void *ctx, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", (const char *)ctx, name);
	(void)fs_list(fs_real(), path, remove_file, path);
	return rmdir(path);
}

static void many_may_put_and_collect(void **state)
{
	struct race r = { .dir = "/tmp/test-blob-XXXXXX" };
	pthread_t threads[3];

	(void)state;
	assert_non_null(mkdtemp(r.dir));
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						i ? put_always : collect_always,
						&r),
				 0);
	for (int i = 1; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	atomic_store(&r.done, true);
	assert_int_equal(pthread_join(threads[0], NULL), 0);
	assert_int_equal(atomic_load(&r.lost), 0);
	assert_int_equal(fs_list(fs_real(), r.dir, remove_shard, r.dir), 0);
	assert_int_equal(rmdir(r.dir), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_put_is_got),
		T(its_name_is_its_hash),
		T(the_same_bytes_are_one_file),
		T(what_is_not_there_is_not_found),
		T(damage_is_noticed_and_mended_by_putting_again),
		T(an_arena_that_is_too_small_is_an_error),
		T(every_blob_is_handed_out_and_what_is_none_reported),
		T(what_is_old_and_unused_is_collected),
		T(what_is_put_while_it_is_judged_stays),
		T(what_is_put_while_it_is_removed_is_not_acknowledged),
		T(a_store_without_blobs_is_fine),
		cmocka_unit_test(a_failing_disk_leaves_no_half_blob),
		cmocka_unit_test(no_memory_is_said),
		T(a_power_cut_leaves_the_whole_blob_or_none),
		cmocka_unit_test(a_put_over_somebodys_rest_is_durable),
		cmocka_unit_test(many_may_put_and_collect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* blobs.c - blobs: kept once, by their hash, as long as they are needed. */
#include "base/clock.h"
#include "base/hash.h"
#include "conformance/conformance.h"

static struct blob_ref put(struct fixture *f, struct weft_str bytes)
{
	struct blob_ref ref;

	assert_ok(f, f->store->ops->put_blob(f->store, bytes, &ref, &f->err));
	return ref;
}

static void expect_blob(struct fixture *f, const struct blob_ref *ref,
			struct weft_str bytes)
{
	struct weft_str got;

	assert_ok(f, f->store->ops->get_blob(f->store, ref, &f->arena, &got,
					     &f->err));
	assert_int_equal(got.len, bytes.len);
	if (bytes.len > 0)
		assert_memory_equal(got.ptr, bytes.ptr, bytes.len);
}

static int get(struct fixture *f, const struct blob_ref *ref)
{
	struct weft_str got;

	return f->store->ops->get_blob(f->store, ref, &f->arena, &got, &f->err);
}

static uint64_t count_blobs(struct fixture *f)
{
	struct store_report report = { .arena = &f->arena };

	assert_ok(f, f->store->ops->maintain(f->store, TASK_VERIFY, &report,
					     &f->err));
	assert_int_equal(report.n_problems, 0);
	return report.blobs;
}

static void bytes_come_back_by_their_hash(void **state)
{
	struct fixture *f = *state;
	const struct weft_str bytes[] = { STR(""), STR("a"), STR("a\0b\n\xff"),
					  STR("{\"seq\":1}\n{\"seq\":2}\n") };

	for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
		struct blob_ref ref = put(f, bytes[i]);
		unsigned char hash[SHA256_BYTES];

		assert_ok(f, sha256(bytes[i], hash, &f->err));
		assert_memory_equal(ref.sha256, hash, SHA256_BYTES);
		assert_int_equal(ref.bytes, bytes[i].len);
		expect_blob(f, &ref, bytes[i]);
	}
}

static void a_large_blob_comes_back_whole(void **state)
{
	struct fixture *f = *state;
	size_t n = MIB(3) + 17;
	char *bytes = ARENA_ARRAY(&f->arena, char, n);
	struct blob_ref ref;

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)(i * 31 + (i >> 12));
	ref = put(f, (struct weft_str){ bytes, n });
	expect_blob(f, &ref, (struct weft_str){ bytes, n });
}

static void the_same_bytes_are_kept_once(void **state)
{
	struct fixture *f = *state;
	struct blob_ref a = put(f, STR("same"));
	struct blob_ref b = put(f, STR("same"));

	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(count_blobs(f), 1);
	(void)put(f, STR("other"));
	assert_int_equal(count_blobs(f), 2);
}

static void an_unknown_blob_is_not_found(void **state)
{
	struct fixture *f = *state;
	struct blob_ref ref = put(f, STR("there"));

	ref.sha256[31] ^= 1;
	assert_code(f, get(f, &ref), WEFT_NOT_FOUND);
}

static void a_blob_of_another_size_is_not_what_was_meant(void **state)
{
	struct fixture *f = *state;
	struct blob_ref ref = put(f, STR("there"));

	ref.bytes++;
	assert_code(f, get(f, &ref), WEFT_CORRUPT);
}

static void a_write_may_refer_to_what_is_there(void **state)
{
	struct fixture *f = *state;
	struct blob_ref ref = put(f, STR("attached"));
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);

	(void)draft_say(d, &s, "see attachment");
	draft_refer(d, &ref);
	must_write(d);
	expect_texts(f, &s, "session see attachment");
	expect_blob(f, &ref, STR("attached"));
}

/* ---- references ---- */

/* A message that refers to a blob, as it is stored. */
static void refer(struct fixture *f, const struct weft_id *s,
		  const struct blob_ref *ref)
{
	struct draft *d = draft_new(f);
	char hex[2 * SHA256_BYTES + 1];

	hex_format(ref->sha256, SHA256_BYTES, hex);
	(void)draft_event(d, s, EVENT_MESSAGE,
			  "\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			  "\"blob\":{\"sha256\":\"%s\",\"bytes\":%llu,"
			  "\"enc\":\"text\"}}],\"blobs\":1",
			  hex, (unsigned long long)ref->bytes);
	must_write(d);
}

static struct store_report run_task(struct fixture *f, uint32_t task,
				    const struct blob_ref *only, size_t n)
{
	struct store_report report = { .arena = &f->arena,
				       .only = only,
				       .n_only = n };

	assert_ok(f, f->store->ops->maintain(f->store, task, &report, &f->err));
	return report;
}

static void collecting_leaves_what_is_referred_to(void **state)
{
	struct fixture *f = *state;
	struct blob_ref used = put(f, STR("used")),
			unused = put(f, STR("unused"));
	struct weft_id s = begin(f);

	refer(f, &s, &used);
	/* Somebody may be about to refer to it. */
	assert_int_equal(run_task(f, TASK_BLOBS, NULL, 0).changed, 0);
	expect_blob(f, &unused, STR("unused"));
	/* Files have the times of the system. */
	if (f->now_ms < clock_now_ms(NULL))
		f->now_ms = clock_now_ms(NULL);
	f->now_ms += 2 * STORE_BLOB_REST_MS;
	assert_int_equal(run_task(f, TASK_BLOBS, NULL, 0).changed, 1);
	assert_code(f, get(f, &unused), WEFT_NOT_FOUND);
	expect_blob(f, &used, STR("used"));
	assert_int_equal(count_blobs(f), 1);
}

static void a_write_that_refers_to_nothing_is_refused(void **state)
{
	struct fixture *f = *state;
	struct blob_ref ref = put(f, STR("there"));
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);

	ref.sha256[0] ^= 1;
	(void)draft_say(d, &s, "see attachment");
	draft_refer(d, &ref);
	assert_code(f, draft_write(d), WEFT_NOT_FOUND);
	expect_texts(f, &s, "session");
}

static void certain_blobs_are_dropped_however_young(void **state)
{
	struct fixture *f = *state;
	struct blob_ref v[] = { put(f, STR("used")), put(f, STR("unused")),
				put(f, STR("other")), put(f, STR("never")) };
	struct weft_id s = begin(f);
	struct store_report report;

	refer(f, &s, &v[0]);
	v[3].sha256[0] ^= 1;
	report = run_task(f, TASK_BLOBS,
			  (struct blob_ref[]){ v[0], v[1], v[3] }, 3);
	assert_int_equal(report.changed, 1);
	expect_blob(f, &v[0], STR("used"));
	assert_code(f, get(f, &v[1]), WEFT_NOT_FOUND);
	expect_blob(f, &v[2], STR("other"));
	/* An empty list is not no list, which would have it go by now. */
	if (f->now_ms < clock_now_ms(NULL))
		f->now_ms = clock_now_ms(NULL);
	f->now_ms += 2 * STORE_BLOB_REST_MS;
	report = run_task(f, TASK_BLOBS, v, 0);
	assert_int_equal(report.changed, 0);
	expect_blob(f, &v[2], STR("other"));
	/* What was dropped may come again. */
	v[1] = put(f, STR("unused"));
	expect_blob(f, &v[1], STR("unused"));
	refer(f, &s, &v[1]);
	report = run_task(f, TASK_BLOBS, v, 3);
	assert_int_equal(report.changed, 1);
	expect_blob(f, &v[1], STR("unused"));
}

/* Two sessions, or two messages of one, refer to the same. */
static void who_else_refers_counts(void **state)
{
	struct fixture *f = *state;
	struct blob_ref ref = put(f, STR("used"));
	struct weft_id a = begin(f), b = begin(f);
	struct store_report report;

	refer(f, &a, &ref);
	refer(f, &a, &ref);
	refer(f, &b, &ref);
	report = run_task(f, TASK_BLOBS, &ref, 1);
	assert_int_equal(report.changed, 0);
	assert_int_equal(run_task(f, TASK_REINDEX, NULL, 0).changed, 0);
	report = run_task(f, TASK_BLOBS, &ref, 1);
	assert_int_equal(report.changed, 0);
	expect_blob(f, &ref, STR("used"));
}

static void a_missing_blob_is_reported(void **state)
{
	struct fixture *f = *state;
	struct blob_ref ref = put(f, STR("there"));
	struct weft_id s = begin(f);
	struct store_report report;

	refer(f, &s, &ref);
	assert_int_equal(run_task(f, TASK_VERIFY, NULL, 0).n_problems, 0);
	/* Somebody's write that did not say what it refers to. */
	ref.sha256[0] ^= 1;
	f->silent_blobs = true;
	refer(f, &s, &ref);
	f->silent_blobs = false;
	for (int i = 0; i < 2; i++) {
		report = run_task(f, i ? TASK_REPAIR : TASK_VERIFY, NULL, 0);
		assert_int_equal(report.n_problems, 1);
		assert_id_equal(&report.problems[0].session, &s);
		assert_non_null(
			strstr(report.problems[0].reason.ptr, "missing"));
	}
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(bytes_come_back_by_their_hash),
	STORE_TEST(a_large_blob_comes_back_whole),
	STORE_TEST(the_same_bytes_are_kept_once),
	STORE_TEST(an_unknown_blob_is_not_found),
	STORE_TEST(a_blob_of_another_size_is_not_what_was_meant),
	STORE_TEST(a_write_may_refer_to_what_is_there),
	STORE_TEST(collecting_leaves_what_is_referred_to),
	STORE_TEST(a_write_that_refers_to_nothing_is_refused),
	STORE_TEST(certain_blobs_are_dropped_however_young),
	STORE_TEST(who_else_refers_counts),
	STORE_TEST(a_missing_blob_is_reported),
};

const struct suite blob_suite = { tests, ARRAY_LEN(tests) };

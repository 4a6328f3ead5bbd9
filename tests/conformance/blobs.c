/* blobs.c - blobs: kept once, by their hash, as long as they are needed. */
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

static void collecting_leaves_what_is_referred_to(void **state)
{
	struct fixture *f = *state;
	struct blob_ref used = put(f, STR("used"));
	struct weft_id s = begin(f);
	struct draft *d = draft_new(f);
	struct store_report report = { .arena = &f->arena };
	char hex[2 * SHA256_BYTES + 1];

	(void)put(f, STR("unused"));
	hex_format(used.sha256, SHA256_BYTES, hex);
	(void)draft_event(d, &s, EVENT_MESSAGE,
			  "\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			  "\"blob\":{\"sha256\":\"%s\",\"bytes\":4,"
			  "\"enc\":\"text\"}}]",
			  hex);
	draft_refer(d, &used);
	must_write(d);
	assert_ok(f, f->store->ops->maintain(f->store, TASK_BLOBS, &report,
					     &f->err));
	expect_blob(f, &used, STR("used"));
	/* What nothing refers to may be kept for a while, but only that. */
	assert_int_equal(count_blobs(f) + report.changed, 2);
}

static const struct CMUnitTest tests[] = {
	STORE_TEST(bytes_come_back_by_their_hash),
	STORE_TEST(a_large_blob_comes_back_whole),
	STORE_TEST(the_same_bytes_are_kept_once),
	STORE_TEST(an_unknown_blob_is_not_found),
	STORE_TEST(a_blob_of_another_size_is_not_what_was_meant),
	STORE_TEST(a_write_may_refer_to_what_is_there),
	STORE_TEST(collecting_leaves_what_is_referred_to),
};

const struct suite blob_suite = { tests, ARRAY_LEN(tests) };

/*
 * public_blobs.c - what is large in a message is kept once, apart from it, and
 * nobody can tell when it is read.
 */
#include "conformance/public.h"

#include <time.h>

#include "base/base64.h"
#include "base/json.h"

#define SMALL_LIMIT 1000
#define DAY_MS      (24 * 3600 * INT64_C(1000))

/* ---- making messages ---- */

/* Text of `n` bytes, with all that JSON escapes. */
static struct weft_str text_of(struct desk *d, size_t n, unsigned seed)
{
	static const char some[] = "a\"\\\n\t\0\x01 /\xc3\xa4z";
	char *s = ARENA_ARRAY(&d->arena, char, n + 1);

	for (size_t i = 0; i < n; i++)
		s[i] = (char)('a' + (i * 7 + i / 31 + seed) % 26);
	for (size_t i = 0; n >= 64 && i < sizeof(some) - 1; i++)
		s[i + 3] = some[i];
	return (struct weft_str){ s, n };
}

/* Base64 of `n` characters, a multiple of 4. */
static struct weft_str base64_of(struct desk *d, size_t n, unsigned seed)
{
	struct weft_str bytes = text_of(d, n / 4 * 3, seed);
	struct buf b;
	struct weft_str s;

	buf_init(&b, 0);
	base64_encode(&b, bytes);
	s = arena_str(&d->arena, buf_str(&b));
	buf_done(&b);
	assert_int_equal(s.len, n);
	return s;
}

static const char *with_json(struct desk *d, const char *before,
			     struct weft_str s, const char *after)
{
	const char *made;
	struct buf b;

	buf_init(&b, 0);
	buf_add_str(&b, str_of(before));
	buf_add_json(&b, s);
	buf_add_str(&b, str_of(after));
	made = arena_str(&d->arena, buf_str(&b)).ptr;
	buf_done(&b);
	return made;
}

static const char *image(struct desk *d, size_t n, unsigned seed)
{
	return with_json(d,
			 "{\"type\":\"image\",\"image_mime_type\":\"image/png\""
			 ",\"image_base64\":",
			 base64_of(d, n, seed), "}");
}

/* A message of the user with these parts. */
static const char *message(struct desk *d, const char *parts)
{
	return arena_printf(&d->arena, "{\"role\":\"user\",\"parts\":[%s]}",
			    parts)
		.ptr;
}

static uint64_t append(struct desk *d, const char *session, const char *json)
{
	struct weft_receipt receipt;

	desk_ok(d, desk_try(d, session, json, NULL, &receipt));
	return receipt.seq;
}

/* ---- looking ---- */

static uint64_t number_in(struct desk *d, const char *answer, const char *name)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;

	desk_ok(d, json_parse(str_of(answer), NULL, &doc, &d->err));
	return yyjson_get_uint(yyjson_obj_get(yyjson_doc_get_root(doc), name));
}

static uint64_t count_blobs(struct desk *d)
{
	const char *report = desk_call(d, "{\"method\":\"verify\"}");

	assert_non_null(strstr(report, "\"ok\":true"));
	return number_in(d, report, "blobs");
}

/* Is `answer`, somewhere below, what `json` has as "parts"? */
static void expect_parts(struct desk *d, const char *json, struct weft_str got)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *a = NULL;
	CLEANUP(json_doc_cleanup) yyjson_doc *b = NULL;

	desk_ok(d, json_parse(str_of(json), NULL, &a, &d->err));
	desk_ok(d, json_parse(got, NULL, &b, &d->err));
	assert_true(
		yyjson_equals(yyjson_obj_get(yyjson_doc_get_root(a), "parts"),
			      yyjson_obj_get(yyjson_doc_get_root(b), "parts")));
}

/* What programs read of one message: its body in braces, and its line. */
static struct weft_str body_at(struct desk *d, const char *session,
			       uint64_t seq, struct weft_str *ret_line)
{
	struct weft_read_options o;
	struct weft_page *page;
	struct weft_event e;
	struct weft_str body;

	weft_read_options_init(&o, sizeof(o));
	o.first = o.last = seq;
	desk_ok(d, weft_read(d->store, session, strlen(session), &o, &page,
			     &d->err));
	assert_int_equal(weft_page_event(page, 0, &e), 1);
	body = arena_printf(&d->arena, "{%.*s}", (int)e.body_len, e.body);
	if (ret_line)
		*ret_line = arena_str(&d->arena,
				      (struct weft_str){ e.line, e.line_len });
	weft_page_free(page);
	return body;
}

/* Append, and read it back through every door. */
static struct weft_str round_trip(struct desk *d, const char *json)
{
	uint64_t seq = append(d, d->id, json);
	struct weft_str line;
	const char *got;

	expect_parts(d, json, body_at(d, d->id, seq, &line));
	got = desk_call(d,
			"{\"method\":\"message\",\"session\":\"%s\","
			"\"message\":%llu}",
			d->id, (unsigned long long)seq);
	expect_parts(d, json, str_of(got));
	assert_null(strstr(got, "\"blobs\":"));
	return line;
}

/* ---- every kind of part ---- */

struct kind {
	const char *before, *after; /* around a string */
	bool is_json; /* what counts is the string with its quotes */
};

static const struct kind kinds[] = {
	{ "{\"type\":\"text\",\"text\":", "}", false },
	{ "{\"type\":\"thinking\",\"text\":", ",\"signature\":\"s\"}", false },
	{ "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\",\"input_text\":",
	  "}", false },
	{ "{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":",
	  ",\"is_error\":false}", false },
	{ "{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":["
	  "{\"type\":\"text\",\"text\":\"-\"},{\"type\":\"text\",\"text\":",
	  "}]}", false },
	{ "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\",\"input\":", "}",
	  true },
	{ "{\"type\":\"opaque\",\"format\":\"x\",\"data\":", "}", true },
};

/* A part of this kind whose large field has so many bytes. */
static const char *part_of(struct desk *d, const struct kind *kind, size_t n)
{
	if (!kind->is_json)
		return with_json(d, kind->before, text_of(d, n, 0),
				 kind->after);
	/* Without escapes the string is as long as it looks. */
	return with_json(d, kind->before, base64_of(d, (n - 2) / 4 * 4, 0),
			 kind->after);
}

static void every_kind_comes_back_as_it_was(void **state)
{
	struct desk *d = *state;
	char options[64];

	(void)snprintf(options, sizeof(options), "blob_bytes=%d",
		       SMALL_LIMIT + 2);
	desk_reopen(d, options);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		static const int more[] = { -1, 0, 1 };

		for (size_t k = 0; k < ARRAY_LEN(more); k++) {
			size_t step = kinds[i].is_json ? 4 : 1;
			size_t n = SMALL_LIMIT + 2 + step * (size_t)more[k];
			struct weft_str line = round_trip(
				d, message(d, part_of(d, &kinds[i], n)));
			bool apart = strstr(line.ptr, "\"blob\":{") != NULL;

			assert_int_equal(apart, more[k] > 0);
			assert_int_equal(line.len<SMALL_LIMIT, more[k]> 0);
		}
	}
}

static void every_image_is_kept_apart(void **state)
{
	struct desk *d = *state;
	const char *result =
		arena_printf(
			&d->arena,
			"{\"type\":\"tool_result\",\"tool_use_id\":\"1\","
			"\"content\":[{\"type\":\"text\",\"text\":\"-\"},%s]}",
			image(d, 400, 3))
			.ptr;

	assert_non_null(strstr(round_trip(d, message(d, image(d, 4, 1))).ptr,
			       "\"enc\":\"b64\""));
	assert_non_null(strstr(round_trip(d, message(d, result)).ptr,
			       "\"enc\":\"b64\""));
	/* Bits that no byte has: only the text itself gives it back. */
	assert_non_null(strstr(
		round_trip(d, message(d, "{\"type\":\"image\","
					 "\"image_mime_type\":\"image/gif\","
					 "\"image_base64\":\"QR==\"}"))
			.ptr,
		"\"enc\":\"text\""));
	assert_int_equal(count_blobs(d), 3);
}

static void a_text_given_as_content_is_a_part(void **state)
{
	struct desk *d = *state;
	const char *json = with_json(d, "{\"role\":\"user\",\"content\":",
				     text_of(d, 70000, 1), "}");
	uint64_t seq = append(d, d->id, json);
	struct weft_str line;

	expect_parts(d,
		     message(d, with_json(d, "{\"type\":\"text\",\"text\":",
					  text_of(d, 70000, 1), "}")),
		     body_at(d, d->id, seq, &line));
	assert_true(line.len < 2000);
	assert_int_equal(count_blobs(d), 1);
}

/* ---- once ---- */

static void the_same_image_is_kept_once(void **state)
{
	struct desk *d = *state;
	const char *json = message(d, image(d, 40000, 0));

	for (int i = 0; i < 3; i++) {
		const char *s = desk_new(d, "");

		expect_parts(d, json, body_at(d, s, append(d, s, json), NULL));
	}
	assert_int_equal(count_blobs(d), 1);
}

static void forks_and_markers_add_kilobytes(void **state)
{
	struct desk *d = *state;
	const char *last = d->id;
	uint64_t before, seq = 0;

	for (unsigned i = 0; i < 20; i++)
		seq = append(d, d->id, message(d, image(d, 40000, i)));
	before = number_in(d, desk_call(d, "{\"method\":\"verify\"}"), "bytes");
	for (int i = 0; i < 100; i++) {
		last = desk_fork(d, i % 2 ? last : d->id);
		if (i % 2)
			(void)desk_call(d,
					"{\"method\":\"compact\",\"session\":"
					"\"%s\",\"keep\":%d,\"summary\":\"s\"}",
					last, i % 20);
	}
	assert_int_equal(count_blobs(d), 20);
	assert_in_range(
		number_in(d, desk_call(d, "{\"method\":\"verify\"}"), "bytes"),
		before, before + 100000);
	expect_parts(d, message(d, image(d, 40000, 19)),
		     body_at(d, last, seq, NULL));
}

/* ---- collecting ---- */

/* Later by so much, for every store: some go by the time of the system. */
static void wait_for(struct desk *d, int64_t ms)
{
	int64_t now = (int64_t)time(NULL) * 1000;

	d->now_ms = (d->now_ms > now ? d->now_ms : now) + ms;
}

static const char *collect(struct desk *d)
{
	return desk_call(d, "{\"method\":\"collect\"}");
}

static void what_is_referred_to_stays(void **state)
{
	struct desk *d = *state;
	const char *json = message(d, image(d, 4000, 0));
	const char *other = message(d, image(d, 4000, 1));
	struct weft_append_options o;
	uint64_t seq = append(d, d->id, json);
	const char *fork = desk_fork(d, d->id);
	const char *report;

	/* Put, and then refused: nothing refers to it. */
	weft_append_options_init(&o, sizeof(o));
	o.expect = 77;
	desk_fails(d, desk_try(d, d->id, other, &o, NULL), WEFT_STALE, "77");
	assert_int_equal(count_blobs(d), 2);
	assert_int_equal(number_in(d, collect(d), "changed"), 0);
	wait_for(d, 2 * DAY_MS);
	report = collect(d);
	assert_int_equal(number_in(d, report, "changed"), 1);
	assert_int_equal(number_in(d, report, "blobs"), 1);
	(void)desk_call(d, "{\"method\":\"delete\",\"session\":\"%s\"}", d->id);
	assert_int_equal(number_in(d, collect(d), "changed"), 0);
	expect_parts(d, json, body_at(d, fork, seq, NULL));
	/* What was dropped can come again. */
	expect_parts(d, other, body_at(d, fork, append(d, fork, other), NULL));
	assert_int_equal(count_blobs(d), 2);
}

/* Who removes messages for good removes what only they had. */
static void what_is_erased_takes_its_blobs_along(void **state)
{
	struct desk *d = *state;
	const char *shared = message(d, image(d, 4000, 0));
	const char *other = desk_new(d, "");
	uint64_t seq = append(d, d->id, shared);
	uint64_t own = append(d, d->id, message(d, image(d, 4000, 1)));

	(void)append(d, d->id, message(d, image(d, 4000, 2)));
	(void)append(d, other, shared);
	assert_int_equal(count_blobs(d), 3);
	(void)desk_call(d,
			"{\"method\":\"erase\",\"session\":\"%s\","
			"\"messages\":[%llu,%llu]}",
			d->id, (unsigned long long)seq,
			(unsigned long long)own);
	assert_int_equal(count_blobs(d), 2);
	assert_int_equal(number_in(d, desk_call(d, "{\"method\":\"reindex\"}"),
				   "changed"),
			 0);
	(void)desk_call(d, "{\"method\":\"purge\",\"session\":\"%s\"}", d->id);
	assert_int_equal(count_blobs(d), 1);
	expect_parts(d, shared, body_at(d, other, desk_head(d, other), NULL));
}

static void cleaning_up_collects_too(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o;

	weft_append_options_init(&o, sizeof(o));
	o.expect = 77;
	desk_fails(d,
		   desk_try(d, d->id, message(d, image(d, 4000, 1)), &o, NULL),
		   WEFT_STALE, "77");
	wait_for(d, 2 * DAY_MS);
	assert_int_equal(number_in(d,
				   desk_call(d, "{\"method\":\"cleanup\","
						"\"dry_run\":true}"),
				   "blobs"),
			 0);
	assert_int_equal(
		number_in(d, desk_call(d, "{\"method\":\"cleanup\"}"), "blobs"),
		1);
	assert_int_equal(count_blobs(d), 0);
}

static void references_are_found_again(void **state)
{
	struct desk *d = *state;
	const char *json = message(d, image(d, 4000, 0));
	uint64_t seq = append(d, d->id, json);

	assert_int_equal(number_in(d, desk_call(d, "{\"method\":\"reindex\"}"),
				   "changed"),
			 0);
	wait_for(d, 2 * DAY_MS);
	assert_int_equal(number_in(d, collect(d), "blobs"), 1);
	expect_parts(d, json, body_at(d, d->id, seq, NULL));
}

/* ---- the rest of the rules ---- */

static void an_operation_can_be_repeated(void **state)
{
	struct desk *d = *state;
	struct weft_append_options o;
	struct weft_receipt receipt;
	const char *json = message(d, image(d, 4000, 0));

	weft_append_options_init(&o, sizeof(o));
	o.op = "op-1";
	o.op_len = 4;
	desk_ok(d, desk_try(d, d->id, json, &o, &receipt));
	assert_int_equal(receipt.replayed, 0);
	desk_ok(d, desk_try(d, d->id, json, &o, &receipt));
	assert_int_equal(receipt.replayed, 1);
	desk_fails(d,
		   desk_try(d, d->id, message(d, image(d, 4000, 1)), &o, NULL),
		   WEFT_OP_MISMATCH, "op-1");
}

static void a_blob_of_the_callers_is_refused(void **state)
{
	struct desk *d = *state;
	uint64_t head = desk_head(d, d->id);
	static const char blob[] =
		"\"blob\":{\"sha256\":"
		"\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f0"
		"0a08\",\"bytes\":4,\"enc\":\"text\"}";

	desk_fails(
		d,
		desk_try(d, d->id,
			 message(d, arena_printf(&d->arena,
						 "{\"type\":\"text\",%s}", blob)
					    .ptr),
			 NULL, NULL),
		WEFT_INVALID_PART, "parts[0].text");
	desk_fails(d,
		   desk_try(d, d->id,
			    message(d, arena_printf(&d->arena,
						    "{\"type\":\"text\","
						    "\"text\":\"a\",%s}",
						    blob)
					       .ptr),
			    NULL, NULL),
		   WEFT_INVALID_PART, "parts[0].blob");
	assert_int_equal(desk_head(d, d->id), head);
	/* Elsewhere it is anybody's word. */
	(void)round_trip(d, message(d, arena_printf(&d->arena,
						    "{\"type\":\"tool_use\","
						    "\"id\":\"1\",\"name\":"
						    "\"f\",\"input\":{%s}}",
						    blob)
					       .ptr));
	(void)append(d, d->id,
		     "{\"role\":\"user\",\"content\":\"a\",\"blobs\":3}");
	assert_int_equal(count_blobs(d), 0);
}

static void a_preview_needs_no_blob(void **state)
{
	struct desk *d = *state;
	struct weft_str text = base64_of(d, 70000, 5);
	const char *shown, *again;

	(void)append(d, d->id,
		     message(d, with_json(d, "{\"type\":\"text\",\"text\":",
					  text, "}")));
	shown = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}", d->id);
	assert_non_null(strstr(
		shown, with_json(d, "\"first_user\":",
				 (struct weft_str){ text.ptr, 256 }, "")));
	assert_int_equal(number_in(d, desk_call(d, "{\"method\":\"reindex\"}"),
				   "changed"),
			 0);
	again = desk_call(d, "{\"method\":\"show\",\"session\":\"%s\"}", d->id);
	assert_string_equal(again, shown);
}

static void providers_get_it_whole(void **state)
{
	static const char *const formats[] = { "anthropic", "openai",
					       "responses" };
	struct desk *d = *state;
	struct weft_str base64 = base64_of(d, 4000, 0);
	struct weft_str text = base64_of(d, 80000, 9);

	(void)append(d, d->id, message(d, image(d, 4000, 0)));
	(void)append(d, d->id,
		     message(d, with_json(d, "{\"type\":\"text\",\"text\":",
					  text, "}")));
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		const char *got =
			desk_call(d,
				  "{\"method\":\"history\",\"session\":\"%s\","
				  "\"format\":\"%s\"}",
				  d->id, formats[i]);

		assert_non_null(strstr(got, base64.ptr));
		assert_non_null(strstr(got, text.ptr));
	}
}

static void a_new_history_may_have_images(void **state)
{
	struct desk *d = *state;
	const char *json = message(d, image(d, 4000, 0));

	(void)desk_call(d,
			"{\"method\":\"set_history\",\"session\":\"%s\","
			"\"messages\":[%s,%s]}",
			d->id, json, json);
	assert_int_equal(count_blobs(d), 1);
	expect_parts(d, json, body_at(d, d->id, desk_head(d, d->id), NULL));
}

static void the_limit_is_for_what_was_given(void **state)
{
	struct desk *d = *state;
	struct buf b;

	/* Eight parts of nearly 2 MiB, and one byte too many. */
	buf_init(&b, 0);
	for (unsigned i = 0; i < 8; i++) {
		if (i)
			buf_add_c(&b, ',');
		buf_add_str(&b, str_of(image(d, MIB(2) - 100, i)));
	}
	(void)round_trip(d, message(d, buf_cstr(&b)));
	assert_int_equal(count_blobs(d), 8);
	buf_add_c(&b, ',');
	buf_add_str(&b, str_of(image(d, 4000, 0)));
	desk_fails(d, desk_try(d, d->id, message(d, buf_cstr(&b)), NULL, NULL),
		   WEFT_LIMIT, "limit");
	buf_done(&b);
}

/* However much a page of small lines unpacks to. */
static void a_page_has_an_end(void **state)
{
	struct desk *d = *state;
	const char *json =
		message(d, with_json(d, "{\"type\":\"text\",\"text\":",
				     text_of(d, MIB(6), 0), "}"));
	struct weft_page *page;
	size_t n = 0, pages = 0;
	struct weft_read_options o;

	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES;
	for (int i = 0; i < 5; i++)
		(void)append(d, d->id, json);
	assert_int_equal(count_blobs(d), 1);
	for (bool done = false; !done; pages++) {
		struct weft_event e = { 0 };
		size_t k;

		desk_ok(d, weft_read(d->store, d->id, strlen(d->id), &o, &page,
				     &d->err));
		for (k = 0; weft_page_event(page, k, &e); k++)
			assert_true(e.body_len > MIB(6));
		assert_in_range(k, 0, 2);
		n += k;
		o.first = e.seq + 1;
		done = weft_page_done(page);
		weft_page_free(page);
	}
	assert_int_equal(n, 5);
	assert_int_equal(pages, 3);
}

static const struct CMUnitTest tests[] = {
	PUBLIC_TEST(every_kind_comes_back_as_it_was),
	PUBLIC_TEST(every_image_is_kept_apart),
	PUBLIC_TEST(a_text_given_as_content_is_a_part),
	PUBLIC_TEST(the_same_image_is_kept_once),
	PUBLIC_TEST(forks_and_markers_add_kilobytes),
	PUBLIC_TEST(what_is_referred_to_stays),
	PUBLIC_TEST(what_is_erased_takes_its_blobs_along),
	PUBLIC_TEST(cleaning_up_collects_too),
	PUBLIC_TEST(references_are_found_again),
	PUBLIC_TEST(an_operation_can_be_repeated),
	PUBLIC_TEST(a_blob_of_the_callers_is_refused),
	PUBLIC_TEST(a_preview_needs_no_blob),
	PUBLIC_TEST(providers_get_it_whole),
	PUBLIC_TEST(a_new_history_may_have_images),
	PUBLIC_TEST(the_limit_is_for_what_was_given),
	PUBLIC_TEST(a_page_has_an_end),
};

const struct suite public_blob_suite = { tests, ARRAY_LEN(tests) };

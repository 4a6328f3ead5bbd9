/* test-blob-parts.c - messages with large parts: packed, and whole again. */
#include "message-lab.h"

#undef fail /* ours has arguments */

#include "base/base64.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "model/blob.h"

/* ---- a place for blobs ---- */

struct kept {
	struct blob_ref ref;
	struct weft_str bytes;
};

struct shelf {
	struct arena a;
	struct kept v[64];
	size_t n;
	int fail; /* what every call answers, or 0 */
};

static int put(void *ctx, struct weft_str bytes, struct blob_ref *ret,
	       struct weft_error *err)
{
	struct shelf *s = ctx;
	struct kept *k = &s->v[s->n];

	if (s->fail)
		return fail(err, s->fail, "as told");
	assert_in_range(s->n, 0, ARRAY_LEN(s->v) - 1);
	k->bytes = arena_str(&s->a, bytes);
	k->ref.bytes = bytes.len;
	assert_int_equal(sha256(bytes, k->ref.sha256, err), WEFT_OK);
	*ret = k->ref;
	s->n++;
	return WEFT_OK;
}

static int get(void *ctx, const struct blob_ref *ref, struct arena *a,
	       struct weft_str *ret, struct weft_error *err)
{
	struct shelf *s = ctx;

	if (s->fail)
		return fail(err, s->fail, "as told");
	for (size_t i = 0; i < s->n; i++) {
		if (memcmp(&s->v[i].ref, ref, sizeof(*ref)) == 0) {
			*ret = arena_str(a, s->v[i].bytes);
			return WEFT_OK;
		}
	}
	return fail(err, WEFT_NOT_FOUND, "not here");
}

/* ---- */

struct bench {
	struct lab *lab;
	struct shelf shelf;
	struct blob_place place;
	struct weft_str whole; /* the body before it was packed */
};

static int bench_up(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));

	assert_int_equal(set_up((void **)&b->lab), 0);
	arena_init(&b->shelf.a, 0);
	b->place = (struct blob_place){ put, get, &b->shelf };
	b->lab->limits.blob_bytes = 16;
	*state = b;
	return 0;
}

static int bench_down(void **state)
{
	struct bench *b = *state;

	arena_done(&b->shelf.a);
	(void)tear_down((void **)&b->lab);
	test_free(b);
	return 0;
}

/* Take a message and pack it; its stored body. */
static const char *pack(struct bench *b, const char *json)
{
	struct lab *lab = b->lab;
	struct message *m = &lab->m;
	struct message_facts facts;

	assert_int_equal(check(lab, json), WEFT_OK);
	b->whole = m->body;
	assert_int_equal(
		message_pack(m, &lab->limits, &b->place, &lab->a, &lab->err),
		WEFT_OK);
	/* What is stored says the same. */
	assert_int_equal(message_facts_read(m->body, &lab->a, &facts, NULL),
			 WEFT_OK);
	expect_facts(&facts, &m->facts);
	assert_int_equal(facts.blobs.n, m->facts.blobs.n);
	for (size_t i = 0; i < facts.blobs.n; i++)
		assert_memory_equal(&facts.blobs.v[i], &m->facts.blobs.v[i],
				    sizeof(struct blob_ref));
	assert_int_equal(blob_is_packed(m->body, STATE_OK), facts.blobs.n > 0);
	return arena_str(&lab->a, m->body).ptr;
}

static const char *unpack(struct bench *b, const char *body)
{
	struct weft_str whole;

	assert_int_equal(blob_unpack(str_of(body), MIB(1), &b->place,
				     &b->lab->a, &whole, &b->lab->err),
			 WEFT_OK);
	return arena_str(&b->lab->a, whole).ptr;
}

/* There and back: so many blobs, and the same bytes. */
static void expect_same(struct bench *b, const char *json, size_t blobs)
{
	size_t before = b->shelf.n;
	const char *packed = pack(b, json);

	assert_int_equal(b->shelf.n - before, blobs);
	assert_string_equal(unpack(b, packed),
			    arena_str(&b->lab->a, b->whole).ptr);
}

#define LONG "seventeen letters"
#define A16  "AAAAAAAAAAAAAAAA"

static void what_is_small_stays_as_it_is(void **state)
{
	struct bench *b = *state;

	expect_same(b,
		    PART("{\"type\":\"text\",\"text\":\"sixteen letters!\"}"),
		    0);
	assert_ptr_equal(b->lab->m.body.ptr, b->whole.ptr);
	/* Much of it, but nothing large. */
	expect_same(b,
		    PART("{\"type\":\"text\",\"text\":\"a\",\"cache\":\"" LONG
			 "\"}," TEXT "," TEXT "," TEXT),
		    0);
}

static void one_field_goes_and_its_place_is_kept(void **state)
{
	struct bench *b = *state;
	const char *packed =
		pack(b, "{\"role\":\"user\",\"parts\":[{\"before\":1,\"type\":"
			"\"text\",\"text\":\"" LONG "\",\"after\":[ ]}],"
			"\"bound\":{\"provider\":\"p\",\"data\":7},\"z\":1}");

	assert_non_null(strstr(packed, "{\"before\":1,\"type\":\"text\","
				       "\"blob\":{\"sha256\":\""));
	assert_non_null(strstr(packed, "\"bytes\":17,\"enc\":\"text\",\"head\":"
				       "\"" LONG "\"},\"after\":"));
	assert_string_equal(packed + strlen(packed) - 10, ",\"blobs\":1");
	assert_string_equal(unpack(b, packed),
			    arena_str(&b->lab->a, b->whole).ptr);
}

static void every_kind_goes_both_ways(void **state)
{
	struct bench *b = *state;

	expect_same(b, "{\"role\":\"user\",\"content\":\"" LONG "\"}", 1);
	expect_same(b,
		    PART("{\"type\":\"thinking\",\"text\":\"" LONG
			 "\",\"signature\":\"" LONG LONG "\"}"),
		    1);
	expect_same(b,
		    PART("{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\","
			 "\"input\":{\"a\": 1.50, \"b\":\"\\u0041\\/\"}}"),
		    1);
	expect_same(b,
		    PART("{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\","
			 "\"input\":null,\"input_text\":\"" LONG "\"}"),
		    1);
	expect_same(b,
		    PART("{\"type\":\"tool_result\",\"tool_use_id\":\"1\","
			 "\"content\":\"" LONG "\"}"),
		    1);
	expect_same(b,
		    PART("{\"type\":\"tool_result\",\"tool_use_id\":\"1\","
			 "\"content\":[{\"type\":\"text\",\"text\":\"" LONG
			 "\"},{\"type\":\"image\",\"image_mime_type\":\"i/p\","
			 "\"image_base64\":\"QUJD\"}],\"is_error\":true}"),
		    2);
	expect_same(b,
		    PART("{\"type\":\"opaque\",\"format\":\"f\",\"data\":"
			 "[1,2,3,4,5,6,7,8,9]}"),
		    1);
	expect_same(b,
		    PART("{\"type\":\"image\",\"image_mime_type\":\"i/p\","
			 "\"image_base64\":\"" A16 "\"}"),
		    1);
}

static void strings_come_back_by_value(void **state)
{
	struct bench *b = *state;
	const char *packed = pack(
		b, "{\"role\":\"user\",\"content\":\"\\u0041\\u0000\\n\\\"\\\\"
		   "\\ud83d\\ude00\\u00e4 and so on\"}");

	assert_non_null(strstr(unpack(b, packed),
			       "\"text\":\"A\\u0000\\n\\\"\\\\\xf0\x9f\x98\x80"
			       "\xc3\xa4 and so on\""));
	assert_memory_equal(b->shelf.v[0].bytes.ptr, "A\0\n\"\\\xf0", 6);
}

/* ---- base64 ---- */

static void base64_goes_both_ways(void **state)
{
	char bytes[70], back[80];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 37 + 200);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct buf text;
		size_t got;

		buf_init(&text, 0);
		base64_encode(&text, (struct weft_str){ bytes, n });
		assert_int_equal(text.len, base64_chars(n));
		assert_in_range(n, base64_bytes(text.len) - (n ? 2 : 0),
				base64_bytes(text.len));
		assert_true(base64_decode(buf_str(&text), back, &got));
		assert_int_equal(got, n);
		if (n)
			assert_memory_equal(back, bytes, n);
		buf_done(&text);
	}
}

static void only_what_encodes_to_the_same_is_decoded(void **state)
{
	static const char *const bad[] = {
		"A",    "AB",       "ABC",   "AB=C",  "A===",  "====",
		"=AAA", "AB==AAAA", "QR==",  "QUJ=",  "QUJ\n", "QU J",
		"QU-_", "AAA\xc3",  "AAAAA", "AA=\0",
	};
	static const char *const good[] = { "", "QQ==", "QUI=", "QUJD",
					    "+/+/" };
	char out[16];
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(base64_decode(str_of(bad[i]), out, &n));
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(base64_decode(str_of(good[i]), out, &n));
}

static void other_base64_is_kept_as_text(void **state)
{
	struct bench *b = *state;

	expect_same(b,
		    PART("{\"type\":\"image\",\"image_mime_type\":\"i/p\","
			 "\"image_base64\":\"AAAAQR==\"}"),
		    1);
	assert_memory_equal(b->shelf.v[0].bytes.ptr, "AAAAQR==", 8);
	assert_non_null(strstr(b->lab->m.body.ptr, "\"enc\":\"text\""));
	assert_null(strstr(b->lab->m.body.ptr, "\"head\""));
}

/* ---- what is lost ---- */

static void what_is_lost_is_said(void **state)
{
	static const struct {
		const char *part, *found;
	} cases[] = {
		{ "{\"type\":\"text\",\"text\":\"" LONG "\",\"a\":1}",
		  "{\"type\":\"text\",\"text\":\"" LONG
		  "... [lost: text of 17 bytes, blob 4" },
		{ "{\"type\":\"thinking\",\"text\":\"" LONG
		  "\",\"signature\":\"s\"}",
		  "[{\"type\":\"text\",\"text\":\"[lost: thinking of 17" },
		{ "{\"type\":\"image\",\"image_mime_type\":\"i/p\","
		  "\"image_base64\":\"AAAA\"}",
		  "[{\"type\":\"text\",\"text\":\"[lost: image of 3 bytes" },
		{ "{\"type\":\"opaque\",\"format\":\"f\",\"data\":"
		  "[1,2,3,4,5,6,7,8,9]}",
		  "[{\"type\":\"text\",\"text\":\"[lost: opaque of 19 bytes" },
		{ "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\","
		  "\"input\":{\"a\":[1,2,3,4,5,6]}}",
		  "\"input\":{\"_lost\":\"[lost: tool_use of 19 bytes" },
		{ "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\","
		  "\"input_text\":\"" LONG "\"}",
		  "\"input_text\":\"" LONG "... [lost: tool_use of 17 bytes" },
		{ "{\"type\":\"tool_result\",\"tool_use_id\":\"1\","
		  "\"content\":[{\"type\":\"text\",\"text\":\"" LONG "\"}]}",
		  "\"content\":[{\"type\":\"text\",\"text\":\"" LONG
		  "... [lost: text" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *packed = pack(
			b, arena_printf(&b->lab->a,
					"{\"role\":\"user\",\"parts\":[%s]}",
					cases[i].part)
				   .ptr);
		const char *whole;

		b->shelf.n = 0;
		whole = unpack(b, packed);
		if (!strstr(whole, cases[i].found))
			print_error("%s\n", whole);
		assert_non_null(strstr(whole, cases[i].found));
		assert_non_null(strstr(whole, " is missing]\""));
		assert_non_null(strstr(whole, "\"lost\":{\"sha256\":\""));
		assert_non_null(strstr(whole, "\"why\":\"missing\"}}"));
		assert_null(strstr(whole, "\"blob"));
		/* It is a message that can be given again. */
		assert_int_equal(
			check(b->lab,
			      arena_printf(&b->lab->a, "{%s}", whole).ptr),
			WEFT_OK);
	}
}

static void damage_is_told_from_trouble(void **state)
{
	struct bench *b = *state;
	const char *packed =
		pack(b, "{\"role\":\"user\",\"content\":\"" LONG "\"}");
	struct weft_str whole;

	b->shelf.fail = WEFT_CORRUPT;
	assert_non_null(strstr(unpack(b, packed), "\"why\":\"damaged\""));
	b->shelf.fail = WEFT_IO;
	assert_int_equal(blob_unpack(str_of(packed), MIB(1), &b->place,
				     &b->lab->a, &whole, &b->lab->err),
			 WEFT_IO);
	assert_string_equal(b->lab->err.message, "as told");
	assert_int_equal(
		check(b->lab, "{\"role\":\"user\",\"content\":\"" LONG "\"}"),
		WEFT_OK);
	assert_int_equal(message_pack(&b->lab->m, &b->lab->limits, &b->place,
				      &b->lab->a, &b->lab->err),
			 WEFT_IO);
}

/* What a line may say that we have not written. */
static void hostile_references_do_no_harm(void **state)
{
	static const char sha[] =
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a"
		"08"; /* of "test" */
	static const struct {
		const char *part, *found;
	} cases[] = {
		/* Not what it says it is. */
		{ "{\"type\":\"opaque\",\"format\":\"f\",\"blob\":{\"sha256\":"
		  "\"%s\",\"bytes\":4,\"enc\":\"json\"}}",
		  "\"why\":\"damaged\"" },
		{ "{\"type\":\"text\",\"blob\":{\"sha256\":\"%s\",\"bytes\":"
		  "9007199254740991,\"enc\":\"text\"}}",
		  "\"why\":\"too large\"" },
		{ "{\"type\":\"text\",\"blob\":{\"sha256\":\"%s\",\"bytes\":5,"
		  "\"enc\":\"text\"}}",
		  "\"why\":\"missing\"" },
		{ "{\"type\":\"text\",\"blob\":{\"sha256\":\"%s\",\"bytes\":4,"
		  "\"enc\":\"b64\"}}",
		  "\"why\":\"not to be understood\"" },
		{ "{\"type\":\"text\",\"blob\":{\"sha256\":\"%s\"}}",
		  "\"why\":\"not to be understood\"" },
		{ "{\"type\":\"text\",\"blob\":{\"sha256\":7,\"x\":\"%s\"}}",
		  "\"why\":\"not to be understood\"" },
		/* Left as they are. */
		{ "{\"type\":\"text\",\"text\":\"a\",\"blob\":{\"sha256\":"
		  "\"%s\",\"bytes\":4,\"enc\":\"text\"}}",
		  "\"text\":\"a\",\"blob\":{" },
		{ "{\"type\":\"strange\",\"blob\":{\"sha256\":\"%s\",\"bytes\":"
		  "4,\"enc\":\"text\"}}",
		  "{\"type\":\"strange\",\"blob\":{" },
		{ "{\"type\":\"text\",\"blob\":\"%s\"}", "\"blob\":\"" },
		{ "7,\"%s\",null,[],{}", "[7,\"" },
		/* And this one is fine. */
		{ "{\"type\":\"text\",\"blob\":{\"sha256\":\"%s\",\"bytes\":4,"
		  "\"enc\":\"text\",\"more\":[]}}",
		  "{\"type\":\"text\",\"text\":\"test\"}" },
	};
	struct bench *b = *state;
	struct blob_ref ref;

	assert_int_equal(put(&b->shelf, STR("test"), &ref, NULL), WEFT_OK);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char part[400];
		const char *body, *whole;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(part, sizeof(part), cases[i].part, sha);
#pragma GCC diagnostic pop
		body = arena_printf(&b->lab->a,
				    "\"role\":\"user\",\"parts\":[%s],"
				    "\"blobs\":1",
				    part)
			       .ptr;
		whole = unpack(b, body);
		if (!strstr(whole, cases[i].found))
			print_error("%s\n", whole);
		assert_non_null(strstr(whole, cases[i].found));
	}
	assert_string_equal(unpack(b, "no json \"blob\""), "no json \"blob\"");
	assert_non_null(strstr(unpack(b, "\"parts\":\"blob\",\"blobs\":1"),
			       "\"parts\":\"blob\""));
}

/* A thousand times the same blob is not a thousand times its size. */
static void a_message_has_an_end(void **state)
{
	struct bench *b = *state;
	char *large = test_calloc(1, KIB(300) + 1);
	const char *packed, *whole;
	struct buf body;

	memset(large, 'a', KIB(300));
	packed = pack(b, arena_printf(&b->lab->a,
				      "{\"role\":\"user\",\"content\":\"%s\"}",
				      large)
				 .ptr);
	packed = strstr(packed, "{\"type\"");
	buf_init(&body, 0);
	buf_add_lit(&body, "\"role\":\"user\",\"parts\":[");
	for (int i = 0; i < 1000; i++) {
		buf_add(&body, packed, strcspn(packed, "]"));
		buf_add_str(&body, i < 999 ? STR(",") : STR("]"));
	}
	buf_add_lit(&body, ",\"blobs\":1000");
	whole = unpack(b, buf_cstr(&body));
	assert_in_range(strlen(whole), 3 * KIB(300), MIB(2));
	assert_non_null(strstr(whole, "\"why\":\"too large\""));
	buf_done(&body);
	test_free(large);
}

static void an_edited_line_is_looked_through(void **state)
{
	(void)state;
	assert_true(blob_is_packed(STR("\"parts\":[{\"blob\":{}}]"),
				   STATE_ALTERED));
	assert_true(blob_is_packed(STR("\"parts\":[{\"blob\":{}}]"),
				   STATE_UNSEALED));
	assert_false(
		blob_is_packed(STR("\"parts\":[{\"blob\":{}}]"), STATE_OK));
	assert_false(blob_is_packed(STR("\"role\":\"user\""), STATE_ALTERED));
	assert_false(blob_is_packed(STR(",\"blobs\":"), STATE_OK));
	assert_false(blob_is_packed(STR("\"blobs\":1"), STATE_OK));
	assert_false(blob_is_packed(STR("7"), STATE_OK));
	assert_false(blob_is_packed(STR(""), STATE_OK));
	assert_true(blob_is_packed(STR("a,\"blobs\":12"), STATE_OK));
}

#define T(test) cmocka_unit_test_setup_teardown(test, bench_up, bench_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_small_stays_as_it_is),
		T(one_field_goes_and_its_place_is_kept),
		T(every_kind_goes_both_ways),
		T(strings_come_back_by_value),
		T(base64_goes_both_ways),
		T(only_what_encodes_to_the_same_is_decoded),
		T(other_base64_is_kept_as_text),
		T(what_is_lost_is_said),
		T(damage_is_told_from_trouble),
		T(hostile_references_do_no_harm),
		T(a_message_has_an_end),
		T(an_edited_line_is_looked_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

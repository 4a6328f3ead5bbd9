/* test-record.c - the table of fields, copies, comparison, owned records. */
#include "model.h"

#include "base/buf.h"
#include "base/mem.h"
#include "model/record.h"

static size_t field_bytes(const struct record_field *f)
{
	switch (f->kind) {
	case FIELD_ID:
		return sizeof(struct weft_id);
	case FIELD_U64:
	case FIELD_TIME:
		return sizeof(uint64_t);
	default:
		return sizeof(struct weft_str);
	}
}

static bool holds_text(const struct record_field *f)
{
	return f->kind == FIELD_STR || f->kind == FIELD_JSON;
}

/* A record in which every field is different from every other. */
static void fill(struct session_rec *rec, char text[][16])
{
	*rec = (struct session_rec){ .kind = 0 };
	for (size_t i = 0; i < record_n_fields; i++) {
		void *p = record_at(rec, &record_fields[i]);

		if (holds_text(&record_fields[i])) {
			int n = snprintf(text[i], 16, "text %zu", i);

			*(struct weft_str *)p =
				(struct weft_str){ text[i], (size_t)n };
		} else {
			memset(p, (int)i + 1, field_bytes(&record_fields[i]));
		}
	}
}

static void the_table_has_every_byte_of_a_record_once(void **state)
{
	unsigned char seen[sizeof(struct session_rec)] = { 0 };

	(void)state;
	for (size_t i = 0; i < record_n_fields; i++) {
		const struct record_field *f = &record_fields[i];

		for (size_t k = 0; k < field_bytes(f); k++)
			assert_int_equal(seen[f->offset + k]++, 0);
	}
	for (size_t i = 0; i < sizeof(seen); i++)
		assert_int_equal(seen[i], 1);
}

static void names_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < record_n_fields; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(record_fields[i].name,
						record_fields[k].name);
	}
}

static void a_copy_shares_nothing_with_its_original(void **state)
{
	CLEANUP(arena_done) struct arena a;
	struct session_rec rec, copy, again;
	char text[100][16];

	(void)state;
	arena_init(&a, 0);
	fill(&rec, text);
	assert_int_equal(record_copy(&copy, &rec, &a, NULL), WEFT_OK);
	assert_true(record_eq(&copy, &rec));
	assert_int_equal(copy.slug.ptr[copy.slug.len], '\0');
	memset(arena_alloc(&a, 800), '?', 800);
	assert_true(record_eq(&copy, &rec));
	memset(text, '!', sizeof(text));
	assert_false(record_eq(&copy, &rec));
	fill(&again, text);
	assert_true(record_eq(&copy, &again));
}

static void an_empty_record_can_be_copied(void **state)
{
	CLEANUP(arena_done) struct arena a;
	struct session_rec rec = { .kind = 0 }, copy;

	(void)state;
	arena_init(&a, 0);
	assert_int_equal(record_copy(&copy, &rec, &a, NULL), WEFT_OK);
	assert_true(record_eq(&copy, &rec));
	assert_string_equal(copy.slug.ptr, "");
}

static void a_copy_into_a_full_arena_fails(void **state)
{
	CLEANUP(arena_done) struct arena a;
	struct session_rec rec, copy = { .kind = 77 };
	struct weft_error err;
	char text[100][16];

	(void)state;
	arena_init(&a, 16);
	fill(&rec, text);
	assert_int_equal(record_copy(&copy, &rec, &a, &err), WEFT_LIMIT);
	assert_int_equal(copy.kind, 77);
}

static void every_field_counts_in_a_comparison(void **state)
{
	struct session_rec a, b;
	char text[100][16];

	(void)state;
	fill(&a, text);
	for (size_t i = 0; i < record_n_fields; i++) {
		void *p = record_at(&b, &record_fields[i]);

		b = a;
		assert_true(record_eq(&a, &b));
		if (holds_text(&record_fields[i]))
			((struct weft_str *)p)->len--;
		else
			((unsigned char *)
				 p)[field_bytes(&record_fields[i]) - 1] ^= 1;
		assert_false(record_eq(&a, &b));
	}
}

static void numbers_change_without_an_allocation(void **state)
{
	CLEANUP(record_own_done)
	struct record_own own = { .rec = { .kind = 0 } };
	struct session_rec rec, same_text;
	char text[100][16], other[100][16];
	uint64_t before;

	(void)state;
	fill(&rec, text);
	assert_int_equal(record_own_update(&own, &rec, NULL), WEFT_OK);
	assert_true(record_eq(&own.rec, &rec));
	before = mem_allocations();

	/* Text of its own, changed numbers. */
	rec = own.rec;
	rec.head_seq++;
	assert_int_equal(record_own_update(&own, &rec, NULL), WEFT_OK);
	assert_true(record_eq(&own.rec, &rec));

	/* The same text elsewhere. */
	fill(&same_text, other);
	assert_int_equal(record_own_update(&own, &same_text, NULL), WEFT_OK);
	assert_true(record_eq(&own.rec, &same_text));
	assert_int_equal(mem_allocations(), before);

	/* One text that is another. */
	same_text.last_user = STR("something else");
	assert_int_equal(record_own_update(&own, &same_text, NULL), WEFT_OK);
	assert_true(record_eq(&own.rec, &same_text));
	assert_int_equal(mem_allocations(), before + 1);
}

static void an_owned_record_owns_what_it_shows(void **state)
{
	CLEANUP(record_own_done)
	struct record_own own = { .rec = { .kind = 0 } };
	struct session_rec rec = { .kind = 1 };
	char text[] = "first";

	(void)state;
	rec.slug = (struct weft_str){ text, 5 };
	assert_int_equal(record_own_update(&own, &rec, NULL), WEFT_OK);
	memset(text, 'x', 5);
	expect_str(own.rec.slug, "first");

	/* A part of what it owns, and text that moves between fields. */
	rec = own.rec;
	rec.agent = own.rec.slug;
	rec.slug = (struct weft_str){ own.rec.slug.ptr + 1, 3 };
	assert_int_equal(record_own_update(&own, &rec, NULL), WEFT_OK);
	expect_str(own.rec.slug, "irs");
	expect_str(own.rec.agent, "first");

	rec = own.rec;
	rec.slug = STR("");
	assert_int_equal(record_own_update(&own, &rec, NULL), WEFT_OK);
	expect_str(own.rec.slug, "");
}

static void without_memory_an_owned_record_stays_as_it_was(void **state)
{
	CLEANUP(record_own_done)
	struct record_own own = { .rec = { .kind = 0 } };
	struct session_rec rec, before;
	char text[100][16], other[100][16];
	int r = WEFT_NO_MEMORY;

	(void)state;
	fill(&before, text);
	assert_int_equal(record_own_update(&own, &before, NULL), WEFT_OK);
	fill(&rec, other);
	for (size_t i = 0; i < record_n_fields; i++)
		other[i][0] = 'T';
	for (int n = 0; r != WEFT_OK; n++) {
		mem_fault(n, 1);
		r = record_own_update(&own, &rec, NULL);
		mem_fault(-1, 0);
		assert_true(record_eq(&own.rec, r == WEFT_OK ? &rec : &before));
		assert_true(n < 100);
	}
}

static void totals_stop_at_what_a_store_can_hold(void **state)
{
	const struct totals big = { .input_tokens = INT64_MAX - 1,
				    .output_tokens = 5,
				    .cache_read_tokens = 6,
				    .cache_write_tokens = 7,
				    .cost_nano = INT64_MAX,
				    .unpriced = 1 };
	struct totals t = { .input_tokens = 1, .cost_nano = 1 };

	(void)state;
	totals_add(&t, &big);
	assert_int_equal(t.input_tokens, INT64_MAX);
	assert_int_equal(t.output_tokens, 5);
	assert_int_equal(t.cache_read_tokens, 6);
	assert_int_equal(t.cache_write_tokens, 7);
	assert_int_equal(t.cost_nano, INT64_MAX);
	assert_int_equal(t.unpriced, 1);
	totals_add(&t, &big);
	assert_int_equal(t.input_tokens, INT64_MAX);
	assert_int_equal(t.output_tokens, 10);
	t.unpriced = UINT64_MAX;
	totals_add(&t, &big);
	assert_int_equal(t.unpriced, INT64_MAX);
}

static void check_packed(const struct session_rec *rec)
{
	CLEANUP(buf_done) struct buf b;
	struct session_rec back;

	memset(&back, 0xee, sizeof(back));
	buf_init(&b, 0);
	record_pack(rec, &b);
	assert_int_equal(buf_error(&b, NULL), WEFT_OK);
	assert_true(record_unpack(buf_str(&b), &back));
	assert_true(record_eq(&back, rec));
}

static void a_packed_record_comes_back(void **state)
{
	struct session_rec rec = { .kind = 0 };
	char text[100][16];

	(void)state;
	check_packed(&rec);
	fill(&rec, text);
	check_packed(&rec);
	rec.head_seq = UINT64_MAX;
	rec.content_seq = 127;
	rec.window_seq = 128;
	rec.created_at = INT64_MIN;
	rec.slug = STR("a\0b");
	check_packed(&rec);
}

/* In memory of just its size, so that a read behind it is seen. */
static bool unpacks(struct weft_str bytes)
{
	char *copy = mem_alloc(bytes.len + 1);
	struct session_rec rec;
	bool good;

	assert_non_null(copy);
	memcpy(copy + 1, bytes.ptr, bytes.len);
	good = record_unpack((struct weft_str){ copy + 1, bytes.len }, &rec);
	mem_free(copy);
	return good;
}

static void bytes_that_are_no_record_are_refused(void **state)
{
	CLEANUP(buf_done) struct buf b;
	struct session_rec rec;
	char text[100][16];

	(void)state;
	buf_init(&b, 0);
	fill(&rec, text);
	record_pack(&rec, &b);
	assert_true(unpacks(buf_str(&b)));
	for (size_t n = 0; n < b.len; n++)
		assert_false(unpacks((struct weft_str){ b.ptr, n }));
	/* The first field is an id, of 16 bytes or none. */
	for (int n = 0; n < 256; n++) {
		b.ptr[0] = (char)n;
		assert_int_equal(unpacks(buf_str(&b)), n == 16);
	}
	b.ptr[0] = 16;
	buf_add_c(&b, '\0');
	assert_false(unpacks(buf_str(&b)));
	/* A number without an end, and a text that is longer than all. */
	buf_reset(&b);
	for (int i = 0; i < 2000; i++)
		buf_add_c(&b, (char)0xff);
	assert_false(unpacks(buf_str(&b)));
}

static void kinds_have_names(void **state)
{
	uint64_t kind = 0;

	(void)state;
	for (uint64_t i = KIND_PRIMARY; i <= KIND_BOOK; i++) {
		assert_true(session_kind_parse(str_of(session_kind_name(i)),
					       &kind));
		assert_int_equal(kind, i);
	}
	assert_string_equal(session_kind_name(KIND_PRIMARY), "primary");
	assert_string_equal(session_kind_name(KIND_SUBAGENT), "subagent");
	assert_string_equal(session_kind_name(KIND_BOOK), "book");
	assert_string_equal(session_kind_name(0), "unknown");
	assert_string_equal(session_kind_name(4), "unknown");
	assert_false(session_kind_parse(STR("Primary"), &kind));
	assert_false(session_kind_parse(STR(""), &kind));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_has_every_byte_of_a_record_once),
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(a_copy_shares_nothing_with_its_original),
		cmocka_unit_test(an_empty_record_can_be_copied),
		cmocka_unit_test(a_copy_into_a_full_arena_fails),
		cmocka_unit_test(every_field_counts_in_a_comparison),
		cmocka_unit_test(numbers_change_without_an_allocation),
		cmocka_unit_test(an_owned_record_owns_what_it_shows),
		cmocka_unit_test(
			without_memory_an_owned_record_stays_as_it_was),
		cmocka_unit_test(totals_stop_at_what_a_store_can_hold),
		cmocka_unit_test(a_packed_record_comes_back),
		cmocka_unit_test(bytes_that_are_no_record_are_refused),
		cmocka_unit_test(kinds_have_names),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}

/* test-id.c - ids: text form, order, ranges, events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id.h"

#define NOW        INT64_C(1794736800000)
#define THREADS    4
#define PER_THREAD 2000

static struct weft_id new_id(int64_t now_ms)
{
	struct weft_id id;

	assert_int_equal(id_new(now_ms, &id, NULL), WEFT_OK);
	return id;
}

static void the_text_form_is_that_of_a_ulid(void **state)
{
	/* The example of the ULID specification: 1469918176385 ms. */
	struct weft_id id;
	char text[WEFT_ID_CHARS + 1];

	(void)state;
	assert_true(id_parse(STR("01ARYZ6S41TSV4RRFFQ69G5FAV"), &id));
	assert_int_equal(id_time_ms(&id), INT64_C(1469918176385));
	id_format(&id, text);
	assert_string_equal(text, "01ARYZ6S41TSV4RRFFQ69G5FAV");
}

static void the_ends_of_the_range_can_be_written(void **state)
{
	struct weft_id id = { { 0 } };
	char text[WEFT_ID_CHARS + 1];

	(void)state;
	id_format(&id, text);
	assert_string_equal(text, "00000000000000000000000000");
	assert_true(id_is_zero(&id));
	memset(&id, 0xff, sizeof(id));
	id_format(&id, text);
	assert_string_equal(text, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
	assert_false(id_is_zero(&id));
}

static void every_bit_survives_text(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 128; bit++) {
		struct weft_id id = { { 0 } }, back;
		char text[WEFT_ID_CHARS + 1];

		id.b[bit / 8] = (unsigned char)(1 << bit % 8);
		id_format(&id, text);
		assert_true(id_parse(str_of(text), &back));
		assert_true(id_eq(&id, &back));
	}
}

static void either_case_is_read(void **state)
{
	struct weft_id upper, lower;

	(void)state;
	assert_true(id_parse(STR("01ARYZ6S41TSV4RRFFQ69G5FAV"), &upper));
	assert_true(id_parse(STR("01aryz6s41tsv4rrffq69g5fav"), &lower));
	assert_true(id_eq(&upper, &lower));
}

static void what_is_no_id_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"01ARYZ6S41TSV4RRFFQ69G5FA",   /* 25 */
		"01ARYZ6S41TSV4RRFFQ69G5FAVX", /* 27 */
		"81ARYZ6S41TSV4RRFFQ69G5FAV",  /* more than 128 bits */
		"Z1ARYZ6S41TSV4RRFFQ69G5FAV",
		"01ARYZ6S41TSV4RRFFQ69G5FAI", /* look-alikes */
		"01ARYZ6S41TSV4RRFFQ69G5FAl",
		"01ARYZ6S41TSV4RRFFQ69G5FAO",
		"01ARYZ6S41TSV4RRFFQ69G5FAU",
		"01ARYZ6S41-TSV4RRFFQ69G5FA",
		"01ARYZ6S41TSV4RRFFQ69G5FA ",
		"01ARYZ6S41TSV4RRFFQ69G5FA\xc3",
	};
	struct weft_id id;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(id_parse(str_of(bad[i]), &id));
	/* A NUL is in no alphabet, though it ends the string that holds it. */
	assert_false(id_parse(
		(struct weft_str){ "01ARYZ6S41TSV4RRFFQ69G5FA", WEFT_ID_CHARS },
		&id));
}

static void ids_of_one_millisecond_rise(void **state)
{
	struct weft_id before = new_id(NOW);

	(void)state;
	for (int i = 0; i < 100000; i++) {
		struct weft_id id = new_id(NOW);

		assert_true(id_cmp(&before, &id) < 0);
		assert_int_equal(id_time_ms(&id), NOW);
		before = id;
	}
}

static void ids_of_one_millisecond_have_different_tags(void **state)
{
	struct weft_id a = new_id(NOW), b = new_id(NOW);

	(void)state;
	assert_true(id_session_tag(&a) != id_session_tag(&b));
}

static void a_clock_that_steps_back_is_followed(void **state)
{
	struct weft_id late = new_id(NOW + 5000), early = new_id(NOW);

	(void)state;
	assert_int_equal(id_time_ms(&late), NOW + 5000);
	assert_int_equal(id_time_ms(&early), NOW);
}

static void times_outside_of_48_bits_are_cut(void **state)
{
	struct weft_id id = new_id(-1);

	(void)state;
	assert_int_equal(id_time_ms(&id), 0);
	id = new_id(INT64_MAX);
	assert_int_equal(id_time_ms(&id), (INT64_C(1) << 48) - 1);
	id = new_id((INT64_C(1) << 48) + 5);
	assert_int_equal(id_time_ms(&id), (INT64_C(1) << 48) - 1);
}

static void ids_are_random(void **state)
{
	struct weft_id a, b, ones = { { 0 } }, zeros = { { 0 } };

	(void)state;
	/* Other milliseconds: each has new random bits. */
	for (int i = 0; i < 200; i++) {
		a = new_id(NOW + 2 * i);
		b = new_id(NOW + 2 * i + 1);
		assert_true(memcmp(a.b + 6, b.b + 6, 10) != 0);
		for (size_t k = 6; k < 16; k++) {
			ones.b[k] |= a.b[k];
			zeros.b[k] |= (unsigned char)~a.b[k];
		}
	}
	/* The highest bit is kept free for counting. */
	assert_int_equal(ones.b[6], 0x7f);
	assert_int_equal(zeros.b[6], 0xff);
	for (size_t k = 7; k < 16; k++) {
		assert_int_equal(ones.b[k], 0xff);
		assert_int_equal(zeros.b[k], 0xff);
	}
}

static void *make_ids(void *ctx)
{
	struct weft_id *ids = ctx;

	for (int i = 0; i < PER_THREAD; i++)
		(void)id_new(NOW, &ids[i], NULL);
	return NULL;
}

static int compare_ids(const void *a, const void *b)
{
	return id_cmp(a, b);
}

static void threads_never_get_the_same_id(void **state)
{
	static struct weft_id ids[THREADS * PER_THREAD];
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_ids,
						ids + i * PER_THREAD),
				 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	qsort(ids, ARRAY_LEN(ids), sizeof(ids[0]), compare_ids);
	for (size_t i = 1; i < ARRAY_LEN(ids); i++)
		assert_true(id_cmp(&ids[i - 1], &ids[i]) < 0);
}

static void a_forked_child_does_not_repeat_its_parent(void **state)
{
	struct weft_id mine, theirs;
	int ends[2], status;
	pid_t child;

	(void)state;
	(void)new_id(NOW);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (id_new(NOW, &theirs, NULL) != WEFT_OK ||
		    write(ends[1], &theirs, sizeof(theirs)) != sizeof(theirs))
			_exit(1);
		_exit(0);
	}
	mine = new_id(NOW);
	assert_int_equal(read(ends[0], &theirs, sizeof(theirs)),
			 sizeof(theirs));
	assert_int_equal(waitpid(child, &status, 0), child);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_false(id_eq(&mine, &theirs));
	assert_int_equal(id_time_ms(&theirs), NOW);
}

static void a_prefix_stands_for_a_range(void **state)
{
	struct weft_id low, high, id;
	char text[WEFT_ID_CHARS + 1];

	(void)state;
	assert_true(id_prefix_range(STR("01ar"), &low, &high));
	id_format(&low, text);
	assert_string_equal(text, "01AR0000000000000000000000");
	id_format(&high, text);
	assert_string_equal(text, "01ARZZZZZZZZZZZZZZZZZZZZZZ");
	assert_true(id_parse(STR("01ARYZ6S41TSV4RRFFQ69G5FAV"), &id));
	assert_true(id_cmp(&low, &id) < 0 && id_cmp(&id, &high) < 0);

	assert_true(id_prefix_range(STR("7"), &low, &high));
	id_format(&high, text);
	assert_string_equal(text, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");

	assert_true(id_prefix_range(STR("01ARYZ6S41TSV4RRFFQ69G5FAV"), &low,
				    &high));
	assert_true(id_eq(&low, &id) && id_eq(&high, &id));
}

static void what_begins_no_id_is_no_prefix(void **state)
{
	struct weft_id low, high;

	(void)state;
	assert_false(id_prefix_range(STR(""), &low, &high));
	assert_false(id_prefix_range(STR("8"), &low, &high));
	assert_false(id_prefix_range(STR("01U"), &low, &high));
	assert_false(id_prefix_range(STR("01ARYZ6S41TSV4RRFFQ69G5FAVX"), &low,
				     &high));
}

static void an_event_id_says_when_where_and_which(void **state)
{
	struct weft_id session, event;

	(void)state;
	assert_true(id_parse(STR("01ARYZ6S41TSV4RRFFQ69G5FAV"), &session));
	event = id_of_event(&session, NOW, 0x123456789a);
	assert_int_equal(id_time_ms(&event), NOW);
	assert_int_equal(id_event_seq(&event), 0x123456789a);
	assert_true(id_event_tag(&event) == id_session_tag(&session));
	assert_memory_equal(event.b + 6, session.b + 11, 5);
	assert_memory_equal(event.b + 11, "\x12\x34\x56\x78\x9a", 5);

	event = id_of_event(&session, NOW, ID_SEQ_MAX);
	assert_true(id_event_seq(&event) == ID_SEQ_MAX);
	assert_true(id_event_tag(&event) == id_session_tag(&session));
}

static void event_ids_rise_with_seq(void **state)
{
	struct weft_id session = new_id(NOW);
	struct weft_id a = id_of_event(&session, NOW, 255);
	struct weft_id b = id_of_event(&session, NOW, 256);
	struct weft_id c = id_of_event(&session, NOW + 1, 1);

	(void)state;
	assert_true(id_cmp(&a, &b) < 0);
	assert_true(id_cmp(&b, &c) < 0);
}

static void ids_of_one_millisecond_spread_over_a_table(void **state)
{
	static unsigned buckets[1024];

	(void)state;
	for (int i = 0; i < 4096; i++) {
		struct weft_id id = new_id(NOW);

		assert_true(++buckets[id_hash(&id) % ARRAY_LEN(buckets)] <= 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_form_is_that_of_a_ulid),
		cmocka_unit_test(the_ends_of_the_range_can_be_written),
		cmocka_unit_test(every_bit_survives_text),
		cmocka_unit_test(either_case_is_read),
		cmocka_unit_test(what_is_no_id_is_refused),
		cmocka_unit_test(ids_of_one_millisecond_rise),
		cmocka_unit_test(ids_of_one_millisecond_have_different_tags),
		cmocka_unit_test(a_clock_that_steps_back_is_followed),
		cmocka_unit_test(times_outside_of_48_bits_are_cut),
		cmocka_unit_test(ids_are_random),
		cmocka_unit_test(threads_never_get_the_same_id),
		cmocka_unit_test(a_forked_child_does_not_repeat_its_parent),
		cmocka_unit_test(a_prefix_stands_for_a_range),
		cmocka_unit_test(what_begins_no_id_is_no_prefix),
		cmocka_unit_test(an_event_id_says_when_where_and_which),
		cmocka_unit_test(event_ids_rise_with_seq),
		cmocka_unit_test(ids_of_one_millisecond_spread_over_a_table),
	};

	return cmocka_run_group_tests_name("id", tests, NULL, NULL);
}

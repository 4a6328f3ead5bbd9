/* test-arena.c - arenas: alignment, limits, sticky failure, reuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/mem.h"

static void everything_is_aligned_and_apart(void **state)
{
	CLEANUP(arena_done) struct arena a;
	unsigned char *p[200];

	(void)state;
	arena_init(&a, 0);
	for (size_t i = 0; i < ARRAY_LEN(p); i++) {
		p[i] = arena_alloc(&a, i);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % 16, 0);
		memset(p[i], (int)i, i);
	}
	for (size_t i = 0; i < ARRAY_LEN(p); i++) {
		for (size_t k = 0; k < i; k++)
			assert_int_equal(p[i][k], i);
	}
}

static void zeroed_memory_is_zero_after_a_reset_too(void **state)
{
	CLEANUP(arena_done) struct arena a;
	uint64_t *p;

	(void)state;
	arena_init(&a, 0);
	memset(arena_alloc(&a, 800), 0xff, 800);
	arena_reset(&a);
	p = ARENA_ARRAY(&a, uint64_t, 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(p[i], 0);
}

static void a_product_that_overflows_is_refused(void **state)
{
	CLEANUP(arena_done) struct arena a;

	(void)state;
	arena_init(&a, 0);
	assert_null(arena_zero(&a, SIZE_MAX / 2 + 1, 2));
	assert_true(a.failed);
	arena_reset(&a);
	assert_null(arena_alloc(&a, SIZE_MAX));
	arena_reset(&a);
	assert_null(arena_str(&a, (struct weft_str){ "", SIZE_MAX }).ptr);
}

static void the_limit_is_kept_and_can_be_used_up(void **state)
{
	CLEANUP(arena_done) struct arena a;
	struct weft_error err;
	size_t got = 0;

	(void)state;
	arena_init(&a, KIB(100));
	while (arena_alloc(&a, 100)) {
		got += 100;
		assert_true(a.used <= KIB(100));
	}
	/* Blocks and rounding cost something, but not much. */
	assert_true(got > KIB(80));
	assert_int_equal(arena_error(&a, &err), WEFT_LIMIT);
	assert_string_equal(err.message,
			    "the result needs more than 102400 bytes");
}

static void one_thing_just_under_the_limit_fits(void **state)
{
	CLEANUP(arena_done) struct arena a;

	(void)state;
	arena_init(&a, MIB(2));
	assert_non_null(arena_alloc(&a, MIB(2) - 64));
	arena_reset(&a);
	assert_null(arena_alloc(&a, MIB(2)));
}

static void failure_is_sticky_until_a_reset(void **state)
{
	CLEANUP(arena_done) struct arena a;
	struct weft_error err;

	(void)state;
	arena_init(&a, KIB(8));
	assert_int_equal(arena_error(&a, &err), WEFT_OK);
	assert_null(arena_alloc(&a, KIB(16)));
	assert_null(arena_alloc(&a, 1));
	assert_null(arena_str(&a, STR("x")).ptr);
	assert_null(arena_printf(&a, "x").ptr);
	assert_true(a.failed);
	arena_reset(&a);
	assert_false(a.failed);
	assert_non_null(arena_alloc(&a, 1));
}

static void without_memory_the_error_says_so(void **state)
{
	CLEANUP(arena_done) struct arena a;
	struct weft_error err;

	(void)state;
	arena_init(&a, MIB(1));
	mem_fault(0, 1);
	assert_null(arena_alloc(&a, 1));
	mem_fault(-1, 0);
	assert_int_equal(arena_error(&a, &err), WEFT_NO_MEMORY);
	assert_string_equal(err.message, "out of memory");
}

static void strings_are_copies_that_end_with_a_nul(void **state)
{
	CLEANUP(arena_done) struct arena a;
	char text[] = "hello";
	struct weft_str s, empty;

	(void)state;
	arena_init(&a, 0);
	s = arena_str(&a, (struct weft_str){ text, 5 });
	empty = arena_str(&a, (struct weft_str){ NULL, 0 });
	text[0] = 'j';
	assert_string_equal(s.ptr, "hello");
	assert_int_equal(s.len, 5);
	assert_string_equal(empty.ptr, "");
	assert_int_equal(empty.len, 0);
}

static void printing_takes_short_and_long_text(void **state)
{
	CLEANUP(arena_done) struct arena a;

	(void)state;
	arena_init(&a, 0);
	for (int width = 250; width < 260; width++) {
		struct weft_str s = arena_printf(&a, "%*d", width, 42);

		assert_int_equal(s.len, width);
		assert_int_equal(strlen(s.ptr), width);
		assert_memory_equal(s.ptr + width - 2, "42", 2);
	}
}

static void a_reset_arena_allocates_nothing_for_the_same_work(void **state)
{
	CLEANUP(arena_done) struct arena a;
	uint64_t before;

	(void)state;
	arena_init(&a, 0);
	for (int i = 0; i < 50; i++)
		assert_non_null(arena_alloc(&a, 1000));
	arena_reset(&a);
	before = mem_allocations();
	for (int i = 0; i < 20; i++)
		assert_non_null(arena_alloc(&a, 1000));
	assert_int_equal(mem_allocations(), before);
}

static void a_huge_block_is_not_kept(void **state)
{
	CLEANUP(arena_done) struct arena a;

	(void)state;
	arena_init(&a, 0);
	assert_non_null(arena_alloc(&a, 10));
	assert_non_null(arena_alloc(&a, MIB(8)));
	arena_reset(&a);
	assert_true(a.used <= MIB(1));
	assert_true(a.used > 0);
}

static void blocks_grow_so_that_calls_stay_few(void **state)
{
	CLEANUP(arena_done) struct arena a;
	uint64_t before = mem_allocations();

	(void)state;
	arena_init(&a, 0);
	for (int i = 0; i < 10000; i++)
		assert_non_null(arena_alloc(&a, 100));
	assert_true(mem_allocations() - before < 20);
}

static void done_can_be_done_twice(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 100000);
	assert_non_null(arena_alloc(&a, 10));
	arena_done(&a);
	arena_done(&a);
	assert_int_equal(a.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_aligned_and_apart),
		cmocka_unit_test(zeroed_memory_is_zero_after_a_reset_too),
		cmocka_unit_test(a_product_that_overflows_is_refused),
		cmocka_unit_test(the_limit_is_kept_and_can_be_used_up),
		cmocka_unit_test(one_thing_just_under_the_limit_fits),
		cmocka_unit_test(failure_is_sticky_until_a_reset),
		cmocka_unit_test(without_memory_the_error_says_so),
		cmocka_unit_test(strings_are_copies_that_end_with_a_nul),
		cmocka_unit_test(printing_takes_short_and_long_text),
		cmocka_unit_test(
			a_reset_arena_allocates_nothing_for_the_same_work),
		cmocka_unit_test(a_huge_block_is_not_kept),
		cmocka_unit_test(blocks_grow_so_that_calls_stay_few),
		cmocka_unit_test(done_can_be_done_twice),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}

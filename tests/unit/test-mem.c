/* test-mem.c - the heap: counting, and failing on demand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/mem.h"

#define THREADS    4
#define PER_THREAD 1000

static void zero_bytes_are_memory_too(void **state)
{
	void *p = mem_alloc(0), *q = mem_zero(0, 8), *r = mem_resize(NULL, 0);

	(void)state;
	assert_non_null(p);
	assert_non_null(q);
	assert_non_null(r);
	r = mem_resize(r, 0);
	assert_non_null(r);
	mem_free(p);
	mem_free(q);
	mem_free(r);
	mem_free(NULL);
}

static void zeroed_memory_is_zero_and_its_size_is_checked(void **state)
{
	unsigned char *p = mem_zero(100, 3);
	volatile size_t huge = SIZE_MAX / 2;

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(p[i], 0);
	mem_free(p);
	assert_null(mem_zero(huge, 3));
}

static void a_copy_ends_with_a_nul(void **state)
{
	char *p = mem_copy((struct weft_str){ "abcdef", 3 });
	char *empty = mem_copy((struct weft_str){ NULL, 0 });

	(void)state;
	assert_string_equal(p, "abc");
	assert_string_equal(empty, "");
	assert_null(mem_copy((struct weft_str){ "", SIZE_MAX }));
	mem_free(p);
	mem_free(empty);
}

static void cleanup_frees_what_the_variable_points_to(void **state)
{
	CLEANUP(mem_cleanup) char *p = mem_alloc(10);
	CLEANUP(mem_cleanup) char *none = NULL;

	(void)state;
	(void)none;
	assert_non_null(p); /* the leak checker sees the rest */
}

static void faults_begin_and_end_where_they_were_asked_to(void **state)
{
	void *p[6];

	(void)state;
	mem_fault(2, 2);
	for (size_t i = 0; i < ARRAY_LEN(p); i++)
		p[i] = mem_alloc(1);
	mem_fault(-1, 0);
	assert_non_null(p[0]);
	assert_non_null(p[1]);
	assert_null(p[2]);
	assert_null(p[3]);
	assert_non_null(p[4]);
	assert_non_null(p[5]);
	assert_int_equal(mem_faults_hit(), 2);
	for (size_t i = 0; i < ARRAY_LEN(p); i++)
		mem_free(p[i]);
}

static void every_kind_of_allocation_can_fail(void **state)
{
	void *p = mem_alloc(1);

	(void)state;
	mem_fault(0, 0);
	assert_null(mem_alloc(1));
	assert_null(mem_zero(1, 1));
	assert_null(mem_resize(p, 100));
	assert_null(mem_copy(STR("x")));
	assert_int_equal(mem_faults_hit(), 4);
	mem_fault(-1, 0);
	mem_free(p); /* a failed resize leaves the old one */
	p = mem_alloc(1);
	assert_non_null(p);
	assert_int_equal(mem_faults_hit(), 4);
	mem_fault(5, 1);
	assert_int_equal(mem_faults_hit(), 0);
	mem_fault(-1, 0);
	mem_free(p);
}

static void *allocate_often(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < PER_THREAD; i++)
		mem_free(mem_alloc(8));
	return NULL;
}

static void allocations_of_all_threads_are_counted(void **state)
{
	uint64_t before = mem_allocations();
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, allocate_often, NULL),
			0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(mem_allocations() - before, THREADS * PER_THREAD);
}

static void freeing_is_not_counted(void **state)
{
	uint64_t before = mem_allocations();
	void *p = mem_alloc(1);

	(void)state;
	p = mem_resize(p, 100);
	mem_free(p);
	assert_int_equal(mem_allocations() - before, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_bytes_are_memory_too),
		cmocka_unit_test(zeroed_memory_is_zero_and_its_size_is_checked),
		cmocka_unit_test(a_copy_ends_with_a_nul),
		cmocka_unit_test(cleanup_frees_what_the_variable_points_to),
		cmocka_unit_test(faults_begin_and_end_where_they_were_asked_to),
		cmocka_unit_test(every_kind_of_allocation_can_fail),
		cmocka_unit_test(allocations_of_all_threads_are_counted),
		cmocka_unit_test(freeing_is_not_counted),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}

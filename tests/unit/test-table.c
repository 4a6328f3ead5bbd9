/* test-table.c - a hash table of nodes in their objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/table.h"

struct thing {
	int no;
	struct table_node node;
};

static struct thing *find(const struct table *t, uint64_t hash, int no)
{
	struct table_node *n = table_first(t, hash);

	for (; n; n = table_next(n)) {
		struct thing *x = TABLE_ENTRY(n, struct thing, node);

		if (x->no == no)
			return x;
	}
	return NULL;
}

static void what_was_added_is_found_until_it_is_removed(void **state)
{
	static struct thing things[1000];
	struct table t = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		things[i].no = i;
		/* Few hashes, so that many share one. */
		assert_int_equal(
			table_add(&t, &things[i].node, (uint64_t)i % 37), 0);
	}
	assert_int_equal(t.n, 1000);
	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(find(&t, (uint64_t)i % 37, i), &things[i]);
	for (int i = 0; i < 1000; i += 2)
		table_remove(&t, &things[i].node);
	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(find(&t, (uint64_t)i % 37, i),
				 i % 2 ? &things[i] : NULL);
	assert_int_equal(t.n, 500);
	table_done(&t);
}

static void an_empty_table_has_nothing(void **state)
{
	struct table t = { 0 };

	(void)state;
	assert_null(table_first(&t, 0));
	table_done(&t);
}

static void remove_it(void *ctx, struct table_node *node)
{
	table_remove(ctx, node);
}

static void each_may_remove_what_it_is_handed(void **state)
{
	struct thing things[100];
	struct table t = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(table_add(&t, &things[i].node, (uint64_t)i),
				 0);
	table_each(&t, remove_it, &t);
	assert_int_equal(t.n, 0);
	for (int i = 0; i < 100; i++)
		assert_null(table_first(&t, (uint64_t)i));
	table_done(&t);
}

static void without_memory_it_goes_on_with_longer_chains(void **state)
{
	struct thing things[64];
	struct table t = { 0 };

	(void)state;
	mem_fault(0, 0);
	assert_int_equal(table_add(&t, &things[0].node, 0), -1);
	mem_fault(-1, 0);
	assert_int_equal(table_add(&t, &things[0].node, 0), 0);
	mem_fault(0, 0);
	for (int i = 1; i < 64; i++) {
		things[i].no = i;
		assert_int_equal(table_add(&t, &things[i].node, (uint64_t)i),
				 0);
	}
	mem_fault(-1, 0);
	for (int i = 1; i < 64; i++)
		assert_ptr_equal(find(&t, (uint64_t)i, i), &things[i]);
	table_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_found_until_it_is_removed),
		cmocka_unit_test(an_empty_table_has_nothing),
		cmocka_unit_test(each_may_remove_what_it_is_handed),
		cmocka_unit_test(without_memory_it_goes_on_with_longer_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

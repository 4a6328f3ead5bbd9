/* test-spread.c - many writes, with and without a second thread. */
#include "file-help.h"
#include "store/jsonl/spread.h"

#define MANY 200

/* Piece i is its number in decimal, at 10 * i; every tenth goes to `bad`. */
static void write_many(struct spread *s, struct file *good, struct file *bad)
{
	static char text[MANY][16];
	struct piece v[MANY];

	for (int i = 0; i < MANY; i++) {
		int n = snprintf(text[i], sizeof(text[i]), "%09d\n", i);

		v[i] = (struct piece){
			.file = bad && i % 10 == 3 ? bad : good,
			.bytes = { text[i], (size_t)n },
			.offset = (uint64_t)i * 10,
			.result = 1,
		};
	}
	spread_writes(s, v, MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(v[i].result, bad && i % 10 == 3 ? -EBADF : 0);
}

static void check_many(struct file *f, bool some_bad)
{
	char got[MANY * 10 + 1] = "";

	assert_int_equal(file_read(f, got, sizeof(got), 0), MANY * 10);
	for (int i = 0; i < MANY; i++) {
		char want[16];

		(void)snprintf(want, sizeof(want), "%09d\n", i);
		if (some_bad && i % 10 == 3)
			assert_int_equal(got[(size_t)i * 10], '\0');
		else
			assert_memory_equal(got + (size_t)i * 10, want, 10);
	}
}

static void everything_is_written(void **state)
{
	(void)state;
	for (int allowed = 0; allowed < 2; allowed++) {
		struct file *f = open_file("a", FILE_WRITE | FILE_CREATE);
		struct spread s;

		spread_init(&s, allowed);
		for (int round = 0; round < 50; round++) {
			assert_int_equal(file_truncate(f, 0), 0);
			write_many(&s, f, NULL);
			check_many(f, false);
		}
		assert_int_equal(s.started, s.allowed);
		spread_done(&s);
		file_close(f);
	}
}

static void each_has_its_own_result(void **state)
{
	struct file *good = open_file("good", FILE_WRITE | FILE_CREATE);
	struct file *bad;
	struct spread s;

	(void)state;
	file_close(open_file("bad", FILE_WRITE | FILE_CREATE));
	bad = open_file("bad", FILE_READ);
	spread_init(&s, true);
	for (int round = 0; round < 20; round++) {
		assert_int_equal(file_truncate(good, 0), 0);
		write_many(&s, good, bad);
		check_many(good, true);
	}
	spread_done(&s);
	file_close(bad);
	file_close(good);
}

static void a_few_start_no_thread(void **state)
{
	struct file *f = open_file("few", FILE_WRITE | FILE_CREATE);
	struct piece p = { .file = f, .bytes = STR("x") };
	struct spread s;

	(void)state;
	spread_init(&s, true);
	spread_writes(&s, &p, 1);
	spread_writes(&s, &p, 0);
	assert_int_equal(p.result, 0);
	assert_false(s.started);
	spread_done(&s);
	file_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_written),
		cmocka_unit_test(each_has_its_own_result),
		cmocka_unit_test(a_few_start_no_thread),
	};

	return cmocka_run_group_tests_name("spread", tests, make_dir,
					   remove_dir);
}

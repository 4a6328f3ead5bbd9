/* test-sql-columns.c - which columns of a record an append changes. */
#include "derive-lab.h"

#include "store/sql/columns.h"

/* One that has been spoken in; `lab->rec` goes on, the copy stays. */
static struct session_rec begun(struct lab *lab)
{
	struct session_rec copy;

	event(lab, EVENT_SESSION, "\"kind\":\"primary\"");
	say(lab, "user", "first");
	assert_int_equal(record_copy(&copy, &lab->rec, &lab->a, NULL), WEFT_OK);
	return copy;
}

/* Whoever appends must not pay for columns, and indexes, that stay. */
static void a_message_changes_only_hot_columns(void **state)
{
	struct lab *lab = *state;
	struct session_rec before = begun(lab);
	struct store_event e = {
		.session = lab->session,
		.seq = lab->seq + 1,
		.last = lab->seq + 1,
		.ts_ms = lab->now + 1000,
		.type = EVENT_MESSAGE,
		.body = STR("\"role\":\"assistant\",\"parts\":[{\"type\":"
			    "\"text\",\"text\":\"yes\"}],\"usage\":{"
			    "\"input_tokens\":3,\"output_tokens\":4}"),
		.bytes = STR("as if this were its line"),
	};

	lab->ops = (struct op_list){ .arena = &lab->a };
	assert_int_equal(derive_event(&lab->rec, &e, NULL, &lab->ops, NULL),
			 WEFT_OK);
	assert_int_equal(lab->rec.bytes, before.bytes + e.bytes.len);
	assert_false(record_eq(&before, &lab->rec));
	assert_true(sql_only_hot_changed(&before, &lab->rec));
}

static void a_title_changes_another(void **state)
{
	struct lab *lab = *state;
	struct session_rec before = begun(lab);

	event(lab, EVENT_PATCH, "\"slug\":\"a title\"");
	assert_false(sql_only_hot_changed(&before, &lab->rec));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_changes_only_hot_columns),
		TEST(a_title_changes_another),
	};

	return cmocka_run_group_tests_name("sql-columns", tests, NULL, NULL);
}

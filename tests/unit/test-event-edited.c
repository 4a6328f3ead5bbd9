/* test-event-edited.c - lines that somebody else wrote or edited. */
#include "event-lab.h"

static void unknown_types_keep_their_bytes(void **state)
{
	struct lab *lab = *state;
	struct weft_str line = with_crc(
		lab, "{\"seq\":9,\"ts\":\"2026-11-15T10:00:00.000Z\",\"type\":"
		     "\"dream\",\"id\":\"01JCQ5Z8G0ABCDEFGHJKMNPQRT\",\"w\":0,"
		     "\"of\":[\"sheep\"]");
	struct store_event e = read_line(lab, line);

	assert_int_equal(e.state, STATE_OK);
	assert_int_equal(e.type, EVENT_OTHER);
	assert_int_equal(e.seq, 9);
	assert_true(str_eq(e.bytes, line));
	expect_str(e.body, "\"of\":[\"sheep\"]");

	/* Sealed again, it is still a dream. */
	e.seq = 10;
	seal(lab, &e);
	assert_non_null(
		memmem(e.bytes.ptr, e.bytes.len, "\"type\":\"dream\"", 14));
	assert_int_equal(read_line(lab, e.bytes).state, STATE_OK);
}

static void a_line_in_another_sessions_file_is_not_ok(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab);
	struct weft_str line = seal(lab, &e);

	lab->session = test_id(OTHERS);
	assert_int_equal(read_line(lab, line).state, STATE_ALTERED);
}

static void a_gone_line_stands_for_a_range(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab), back;

	e.type = EVENT_GONE;
	e.body = STR("\"to\":900,\"why\":\"reclaim\"");
	back = read_line(lab, seal(lab, &e));
	assert_int_equal(back.state, STATE_GONE);
	assert_int_equal(back.last, 900);

	/* One event, and ranges that are none. */
	e.body = STR("\"was\":\"message\"");
	assert_int_equal(read_line(lab, seal(lab, &e)).last, 7);
	e.body = STR("\"to\":6");
	assert_int_equal(read_line(lab, seal(lab, &e)).last, 7);
	e.body = STR("");
	back = read_line(lab, seal(lab, &e));
	assert_int_equal(back.state, STATE_GONE);
	assert_int_equal(back.last, 7);

	/* Edited, it is still known how far it reaches. */
	back = read_text(lab, "{\"seq\":2,\"type\":\"gone\",\"a\":1,\"to\":9}");
	assert_int_equal(back.state, STATE_UNSEALED);
	assert_int_equal(back.type, EVENT_GONE);
	assert_int_equal(back.last, 9);
}

static void a_mended_typo_is_altered_and_served(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab), back;
	struct weft_str line = seal(lab, &e);
	char *text = arena_alloc(&lab->a, line.len);
	char *at;

	memcpy(text, line.ptr, line.len);
	at = memmem(text, line.len, "\"hi\"", 4);
	at[2] = 'o';
	back = read_line(lab, (struct weft_str){ text, line.len });
	assert_int_equal(back.state, STATE_ALTERED);
	assert_ptr_equal(back.bytes.ptr, text);
	assert_int_equal(back.seq, 7);
	assert_memory_equal(&back.id, &e.id, sizeof(e.id));
	expect_str(back.body, "\"role\":\"user\",\"parts\":[{\"type\":\"text\","
			      "\"text\":\"ho\"}]");
}

static void a_checksum_has_lower_case_digits_only(void **state)
{
	struct lab *lab = *state;
	struct store_event back;

	back = read_text(lab, HEAD ",\"a\":1,\"crc\":\"ABCDEF01\"}");
	assert_int_equal(back.state, STATE_ALTERED);
	expect_str(back.body, "\"a\":1");
	back = read_text(lab, HEAD ",\"a\":1,\"crc\":7}");
	assert_int_equal(back.state, STATE_ALTERED);
	expect_str(back.body, "\"a\":1");
	/* As long as a checksum, but two members. */
	back = read_text(lab, HEAD ",\"a\":1,\"crc\":\"\",\"b\":\"1\"}");
	assert_int_equal(back.state, STATE_ALTERED);
	expect_str(back.body, "\"a\":1,\"b\":\"1\"");
	back = read_text(lab, HEAD ",\"crc\":\"00000000\",\"a\":1}");
	assert_int_equal(back.state, STATE_ALTERED);
	expect_str(back.body, "\"a\":1");
}

static void a_line_without_checksum_is_unsealed_and_served(void **state)
{
	struct lab *lab = *state;
	const char *line = HEAD ",\"a\":1e400}";
	struct store_event back = read_text(lab, line);

	assert_int_equal(back.state, STATE_UNSEALED);
	expect_str(back.bytes, line);
	expect_str(back.body, "\"a\":1e400");
	back = read_text(lab, HEAD "}");
	assert_int_equal(back.state, STATE_UNSEALED);
	expect_str(back.body, "");
	assert_int_equal(back.type, EVENT_MESSAGE);
}

/* What is read from a line that is out of the usual form: read again, the
 * line made of it is whole and says the same. */
static struct store_event read_remade(struct lab *lab, const char *line)
{
	struct store_event e = read_text(lab, line), back;

	assert_true(e.state == STATE_ALTERED || e.state == STATE_UNSEALED);
	assert_true(e.bytes.ptr != line);
	back = read_line(lab, e.bytes);
	assert_int_equal(back.state, STATE_OK);
	/* On reading, the id follows from session, time and number. */
	back.id = e.id;
	expect_equal(&back, &e);
	return e;
}

static void members_in_another_order_are_put_in_order(void **state)
{
	struct lab *lab = *state;
	struct store_event e = read_remade(
		lab,
		"{\"role\":\"user\", \"w\" : 4, \"op\":\"a\\u0062\", "
		"\"k\":1e999, \"n\":6, "
		"\"bg\":true,\"more\":3, \"id\":\"01JCQ5Z8G0ABCDEFGHJKMNPQRT\","
		"\"t\\u0065xt\":\"\\u00e9 \\/\", \"type\":\"m\\u0065ssage\", "
		"\"at\":\"2026-11-15T11:00:00+01:00\", "
		"\"ts\":\"2026-11-15T10:00:00Z\",\"seq\":7 , \"crc\":\"0\"} ");

	assert_int_equal(e.state, STATE_ALTERED);
	assert_int_equal(e.seq, 7);
	assert_int_equal(e.last, 7);
	assert_int_equal(e.type, EVENT_OTHER + 2);
	assert_int_equal(e.marker, 4);
	assert_int_equal(e.said, 6);
	assert_int_equal(e.more, 3);
	assert_int_equal(e.background, 1);
	assert_int_equal(e.ts_ms, TEST_TIME);
	assert_int_equal(e.at_ms, TEST_TIME);
	expect_str(e.op, "ab");
	expect_str(e.body, "\"role\":\"user\",\"k\":1e999,"
			   "\"t\\u0065xt\":\"\\u00e9 \\/\"");
}

static void a_field_that_was_moved_is_found(void **state)
{
	struct lab *lab = *state;
	struct store_event e;

	e = read_remade(lab, HEAD ",\"a\":1,\"op\":\"x\"}");
	expect_str(e.op, "x");
	expect_str(e.body, "\"a\":1");
	e = read_remade(lab, HEAD ", \"a\":1}");
	expect_str(e.body, "\"a\":1");
	e = read_remade(lab, HEAD ",\"a\":1} ");
	expect_str(e.body, "\"a\":1");
	e = read_remade(lab, HEAD ",\"a\":1 ,\"crc\":\"12345678\" }");
	expect_str(e.body, "\"a\":1");
}

static void an_edited_line_has_the_id_that_it_says(void **state)
{
	struct lab *lab = *state;
	struct weft_id id = test_id("01JCQ5Z8G0ABCDEFGHJKMNPQRT");
	struct store_event e = read_text(lab, HEAD "}");

	assert_memory_equal(&e.id, &id, sizeof(id));
	e = read_remade(lab, HEAD " }");
	assert_memory_equal(&e.id, &id, sizeof(id));

	/* One that is no id is made again. */
	e = read_remade(lab, "{\"seq\":7,\"ts\":\"2026-11-15T10:00:00.000Z\","
			     "\"type\":\"message\",\"id\":\"01JCQ5Z8G0ABCDEF"
			     "GHJKMNPQR!\",\"w\":0}");
	id = id_of_event(&lab->session, TEST_TIME, 7);
	assert_memory_equal(&e.id, &id, sizeof(id));
}

static void a_type_is_known_by_what_it_says(void **state)
{
	struct lab *lab = *state;
	struct store_event e = read_remade(
		lab, "{\"seq\":7,\"ts\":\"2026-11-15T10:00:00.000Z\",\"type\":"
		     "\"m\\u0065ssage\",\"id\":\"01JCQ5Z8G0ABCDEFGHJKMNPQRT\","
		     "\"w\":0}");

	assert_int_equal(e.type, EVENT_MESSAGE);
	expect_in(e.bytes, "\"type\":\"message\"");

	/* Escapes that are needed stay. */
	e = read_remade(lab, "{\"seq\":7,\"type\":\"a\\\"b\\u000a\\\\\"}");
	assert_int_equal(e.type, EVENT_OTHER);
	expect_in(e.bytes, "\"type\":\"a\\\"b\\n\\\\\"");
}

static void a_line_written_by_hand_needs_only_a_number(void **state)
{
	struct lab *lab = *state;
	struct store_event e = read_remade(lab, "{\"seq\":5}");
	struct weft_id id = id_of_event(&lab->session, 0, 5);

	assert_int_equal(e.state, STATE_UNSEALED);
	assert_int_equal(e.seq, 5);
	assert_int_equal(e.type, EVENT_OTHER);
	assert_int_equal(e.ts_ms, 0);
	assert_memory_equal(&e.id, &id, sizeof(id));
	expect_str(e.body, "");

	/* Nonsense in the other fields is left out. */
	e = read_remade(lab, "{\"seq\":5,\"ts\":1,\"type\":[],\"id\":\"x\","
			     "\"w\":-1,\"more\":\"3\",\"op\":9,\"at\":\"noon\","
			     "\"bg\":1,\"a\":{\"b\":[]}}");
	assert_int_equal(e.marker, 0);
	assert_int_equal(e.more, 0);
	assert_int_equal(e.op.len, 0);
	assert_int_equal(e.background, 0);
	expect_str(e.body, "\"a\":{\"b\":[]}");
}

static void a_right_checksum_does_not_excuse_another_form(void **state)
{
	struct lab *lab = *state;
	struct weft_str line = with_crc(lab, "{\"seq\":5 ,\"a\":1");
	struct store_event e = read_line(lab, line);

	assert_int_equal(e.state, STATE_ALTERED);
	assert_int_equal(e.seq, 5);
	expect_str(e.body, "\"a\":1");
}

static void expect_damaged(struct lab *lab, const char *line)
{
	struct store_event e = read_text(lab, line);

	if (e.state != STATE_DAMAGED)
		print_message("# %s\n", line);
	assert_int_equal(e.state, STATE_DAMAGED);
	assert_int_equal(e.seq, 0);
	assert_int_equal(e.body.len, 0);
	event_read_again(&lab->session, str_of(line), &lab->a, &e);
	assert_int_equal(e.state, STATE_DAMAGED);
}

static void what_cannot_be_read_is_damaged(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"\r",
		"x",
		"{",
		"{}",
		"[]",
		"7",
		"null",
		"\"seq\"",
		"{\"seq\":0}",
		"{\"seq\":-1}",
		"{\"seq\":\"7\"}",
		"{\"seq\":1.5}",
		"{\"seq\":7.0}",
		"{\"seq\":1099511627776}",
		"{\"seq\":99999999999999999999999}",
		"{\"seq\":7,\"seq\":7}",
		"{\"seq\":7,\"a\":{\"b\":1,\"b\":1}}",
		"{\"seq\":7}{",
		"{\"seq\":7}\n{\"seq\":8}",
		"{\"seq\":7,\n\"a\":1}",
		"{\"seq\":7,\"a\":\"\xff\"}",
		"{\"seq\":7,\"a\":\"\\ud800\"}",
		"{\"seq\":7,\"a\":\"\t\"}",
		"{\"seq\":7,}",
		"{\"seq\":07}",
		",\"crc\":\"12345678\"}",
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		expect_damaged(lab, lines[i]);
	expect_damaged(lab, HEAD);
	expect_damaged(lab, HEAD ",");
	expect_damaged(lab, HEAD ",}");
	expect_damaged(lab, HEAD ",\"crc\":\"12345678\"");
}

static void carriage_returns_are_not_part_of_a_line(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab), back;
	struct weft_str line = seal(lab, &e);
	char *text = arena_alloc(&lab->a, line.len + 1);

	memcpy(text, line.ptr, line.len);
	text[line.len] = '\r';
	back = read_line(lab, (struct weft_str){ text, line.len + 1 });
	assert_int_equal(back.state, STATE_OK);
	expect_equal(&back, &e);

	/* Edited besides, it is altered. */
	text[line.len - 4] ^= 1;
	back = read_line(lab, (struct weft_str){ text, line.len + 1 });
	assert_int_equal(back.state, STATE_ALTERED);
	assert_int_equal(back.bytes.len, line.len);
	assert_int_equal(read_text(lab, "{\"seq\":3}\r").state, STATE_UNSEALED);
}

static void line_separators_inside_strings_are_text(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab), back;

	e.body = STR("\"t\":\"a\xe2\x80\xa8"
		     "b\xe2\x80\xa9"
		     "c\xc2\x85"
		     "\"");
	back = read_line(lab, seal(lab, &e));
	assert_int_equal(back.state, STATE_OK);
	assert_true(str_eq(back.body, e.body));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unknown_types_keep_their_bytes),
		TEST(a_line_in_another_sessions_file_is_not_ok),
		TEST(a_gone_line_stands_for_a_range),
		TEST(a_mended_typo_is_altered_and_served),
		TEST(a_checksum_has_lower_case_digits_only),
		TEST(a_line_without_checksum_is_unsealed_and_served),
		TEST(members_in_another_order_are_put_in_order),
		TEST(a_field_that_was_moved_is_found),
		TEST(an_edited_line_has_the_id_that_it_says),
		TEST(a_type_is_known_by_what_it_says),
		TEST(a_line_written_by_hand_needs_only_a_number),
		TEST(a_right_checksum_does_not_excuse_another_form),
		TEST(what_cannot_be_read_is_damaged),
		TEST(carriage_returns_are_not_part_of_a_line),
		TEST(line_separators_inside_strings_are_text),
	};

	return cmocka_run_group_tests_name("event-edited", tests, NULL, NULL);
}

/* test-event.c - lines as we write them, and what damage does to them. */
#include "event-lab.h"

#include "base/mem.h"

/* ---- sealing ---- */

static void a_line_has_exactly_this_form(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab);
	struct weft_id id = id_of_event(&lab->session, TEST_TIME, 7);
	char text[WEFT_ID_CHARS + 1], expected[400];
	struct weft_str line = seal(lab, &e);
	uint32_t crc;
	int n;

	id_format(&id, text);
	n = snprintf(expected, sizeof(expected),
		     "{\"seq\":7,\"ts\":\"2026-11-15T10:00:00.000Z\",\"type\":"
		     "\"message\",\"id\":\"%s\",\"w\":0," BODY,
		     text);
	crc = crc32c_portable(0, lab->session.b, 16);
	crc = crc32c_portable(crc, expected, (size_t)n);
	(void)snprintf(expected + n, sizeof(expected) - (size_t)n,
		       ",\"crc\":\"%08x\"}", crc);
	expect_str(line, expected);
	assert_int_equal(line.ptr[line.len], '\n');
	expect_str(e.body, BODY);
	assert_memory_equal(&e.id, &id, sizeof(id));
}

static void common_fields_are_left_out_when_they_say_nothing(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab);
	struct weft_str line;

	e.marker = 3;
	e.said = 5;
	e.more = 2;
	e.op = STR("op-1");
	e.at_ms = TEST_TIME - 1;
	e.background = 1;
	line = seal(lab, &e);
	expect_in(line, "\"w\":3,\"n\":5,\"more\":2,\"op\":\"op-1\",\"at\":"
			"\"2026-11-15T09:59:59."
			"999Z\",\"bg\":true,\"role\"");
}

static void what_is_sealed_is_read_back(void **state)
{
	struct lab *lab = *state;
	const char *const ops[] = { "",
				    "plain",
				    "a\"b\\c",
				    "\\",
				    "\"",
				    "\xc3\xa9\xe2\x80\xa8",
				    "tab\tand\x01" };
	const char *const bodies[] = { BODY, "", "\"k\":[1,{}]",
				       "\"t\":\"\\\",\\\"crc\\\":\\\"\"" };

	for (unsigned bits = 0; bits < 32; bits++) {
		for (size_t i = 0; i < ARRAY_LEN(ops) * ARRAY_LEN(bodies);
		     i++) {
			struct store_event e = simple_event(lab), back;

			e.op = str_of(ops[i / ARRAY_LEN(bodies)]);
			e.body = str_of(bodies[i % ARRAY_LEN(bodies)]);
			e.more = bits & 1 ? UINT32_MAX : 0;
			e.at_ms = bits & 2 ? -1 : 0;
			e.background = bits >> 2 & 1;
			e.marker = bits & 8 ? 1234567 : 0;
			e.said = bits & 16 ? 7654321 : 0;
			back = read_line(lab, seal(lab, &e));
			assert_int_equal(back.state, STATE_OK);
			assert_int_equal(back.last, e.seq);
			expect_equal(&back, &e);
			event_read_again(&lab->session, e.bytes, &lab->a,
					 &back);
			assert_int_equal(back.state, STATE_OK);
			expect_equal(&back, &e);
			assert_int_equal(event_peek_seq(e.bytes), e.seq);
		}
	}
}

static void the_longest_head_fits(void **state)
{
	struct lab *lab = *state;
	char op[128];
	struct store_event e = simple_event(lab), back;

	memset(op, 1, sizeof(op));
	e.seq = ID_SEQ_MAX;
	e.ts_ms = INT64_MAX;
	e.marker = ID_SEQ_MAX;
	e.said = ID_SEQ_MAX;
	e.more = UINT32_MAX;
	e.op = (struct weft_str){ op, sizeof(op) };
	e.at_ms = INT64_MIN;
	e.background = 1;
	e.type = EVENT_RESTORE;
	assert_true(seal(lab, &e).len <=
		    sizeof(BODY) + 6 * sizeof(op) + EVENT_HEAD_MAX);
	back = read_line(lab, e.bytes);
	assert_int_equal(back.state, STATE_OK);
	assert_int_equal(back.seq, ID_SEQ_MAX);
	assert_true(str_eq(back.op, e.op));
}

static void what_has_no_number_or_type_is_not_sealed(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab);

	e.seq = 0;
	assert_int_equal(event_seal(&e, &lab->a, &lab->err), WEFT_LIMIT);
	e.seq = ID_SEQ_MAX + 1;
	assert_int_equal(event_seal(&e, &lab->a, &lab->err), WEFT_LIMIT);
	e = simple_event(lab);
	e.type = EVENT_OTHER;
	assert_int_equal(event_seal(&e, &lab->a, &lab->err), WEFT_INVALID);
	e.type = EVENT_TYPES;
	assert_int_equal(event_seal(&e, &lab->a, &lab->err), WEFT_INVALID);
}

static void sealing_fails_in_a_full_arena(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab);
	struct arena small;

	arena_init(&small, 64);
	assert_int_equal(event_seal(&e, &small, &lab->err), WEFT_LIMIT);
	arena_done(&small);
}

static void types_have_names(void **state)
{
	static const char *const names[] = {
		"session", "message", "marker", "redact", "patch", "name",
		"memory",  "forget",  "todos",  "lease",  "turn",  "delete",
		"restore", "purge",   "usage",  "gone",
	};

	(void)state;
	assert_int_equal(ARRAY_LEN(names), EVENT_TYPES - 1);
	for (uint32_t i = 1; i < EVENT_TYPES; i++) {
		assert_string_equal(event_type_name(i), names[i - 1]);
		assert_int_equal(event_type_parse(str_of(names[i - 1])), i);
	}
	assert_int_equal(event_type_parse(STR("Message")), EVENT_OTHER);
	assert_int_equal(event_type_parse(STR("")), EVENT_OTHER);
	assert_string_equal(event_type_name(EVENT_OTHER), "other");
	assert_string_equal(event_type_name(EVENT_TYPES), "other");
}

/* ---- damage, everywhere ---- */

static void any_other_byte_anywhere_is_noticed(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab);
	char whole[400], text[400];
	struct weft_str line;

	e.op = STR("o\"p");
	e.more = 1;
	e.at_ms = 1;
	e.background = 1;
	e.body = STR("\"t\":\"a b\", \"n\":[1, 2]");
	line = seal(lab, &e);
	assert_true(line.len <= sizeof(whole));
	memcpy(whole, line.ptr, line.len);
	for (size_t i = 0; i < line.len; i++) {
		for (unsigned c = 0; c < 256; c++) {
			struct store_event back;

			memcpy(text, whole, line.len);
			if ((unsigned char)text[i] == c)
				continue;
			text[i] = (char)c;
			back = read_line(lab,
					 (struct weft_str){ text, line.len });
			assert_true(back.state == STATE_ALTERED ||
				    back.state == STATE_DAMAGED ||
				    /* Another name than "crc". */
				    (back.state == STATE_UNSEALED &&
				     i >= line.len - 16 && i < line.len - 13));
			assert_true(back.state != STATE_DAMAGED ||
				    back.seq == 0);
			arena_reset(&lab->a);
		}
	}
}

static void any_cut_is_damage(void **state)
{
	struct lab *lab = *state;
	struct store_event e = simple_event(lab);
	struct weft_str line = seal(lab, &e);

	for (size_t len = 0; len < line.len; len++) {
		/* A copy of its size, for the sanitizers to see its end. */
		char *text = test_malloc(len ? len : 1);
		struct store_event back;

		memcpy(text, line.ptr, len);
		back = read_line(lab, (struct weft_str){ text, len });
		assert_int_equal(back.state, STATE_DAMAGED);
		test_free(text);
	}
}

static void a_checksum_is_not_trusted_further_than_memory(void **state)
{
	/* Rightly sealed, but the head ends in the middle of something. */
	static const char *const heads[] = {
		"{\"seq\":7",
		"{\"seq\":7,\"ts\":\"2026-11-15T10:00:00.000Z",
		HEAD ",\"op\":\"",
		HEAD ",\"op\":\"a\\",
		HEAD ",\"op\":\"a\\\"",
		HEAD ",\"op\":\"\\x\"",
		HEAD ",\"more\":",
		HEAD ",\"at\":\"2026",
		HEAD "8",
		HEAD "\"a\":1",
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct weft_str line = with_crc(lab, heads[i]);
		char *text = test_malloc(line.len);
		struct store_event e;

		memcpy(text, line.ptr, line.len);
		e = read_line(lab, (struct weft_str){ text, line.len });
		assert_true(e.state != STATE_OK ||
			    e.body.len <= line.len - EVENT_CRC_CHARS);
		event_read_again(&lab->session,
				 (struct weft_str){ text, line.len }, &lab->a,
				 &e);
		test_free(text);
	}
}

static void want_of_memory_is_not_taken_for_damage(void **state)
{
	struct lab *lab = *state;
	const char *line = "{\"seq\":5, \"op\":\"\\u0061\", \"a\":1}";
	bool failed = true;

	for (int n = 0; failed; n++) {
		struct store_event e;
		struct arena a;

		arena_init(&a, 0);
		mem_fault(n, 1);
		event_read(&lab->session, str_of(line), &a, &e);
		mem_fault(-1, 0);
		failed = a.failed;
		if (failed)
			assert_int_equal(arena_error(&a, NULL), WEFT_NO_MEMORY);
		else
			assert_int_equal(e.state, STATE_UNSEALED);
		arena_done(&a);
		assert_true(n < 50);
	}
}

static void a_number_is_found_by_the_first_bytes(void **state)
{
	(void)state;
	assert_int_equal(event_peek_seq(STR("{\"seq\":12,")), 12);
	assert_int_equal(event_peek_seq(STR("{\"seq\":1099511627775,")),
			 ID_SEQ_MAX);
	assert_int_equal(event_peek_seq(STR("{\"seq\":1099511627776,")), 0);
	assert_int_equal(event_peek_seq(STR("{\"seq\":123456789012345678")), 0);
	assert_int_equal(event_peek_seq(STR("{\"seq\":012,")), 0);
	assert_int_equal(event_peek_seq(STR("{\"seq\":")), 0);
	assert_int_equal(event_peek_seq(STR("{\"seq\": 12,")), 0);
	assert_int_equal(event_peek_seq(STR("")), 0);
	assert_int_equal(event_peek_seq((struct weft_str){ NULL, 0 }), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_has_exactly_this_form),
		TEST(common_fields_are_left_out_when_they_say_nothing),
		TEST(what_is_sealed_is_read_back),
		TEST(the_longest_head_fits),
		TEST(what_has_no_number_or_type_is_not_sealed),
		TEST(sealing_fails_in_a_full_arena),
		TEST(types_have_names),
		TEST(any_other_byte_anywhere_is_noticed),
		TEST(any_cut_is_damage),
		TEST(a_checksum_is_not_trusted_further_than_memory),
		TEST(want_of_memory_is_not_taken_for_damage),
		TEST(a_number_is_found_by_the_first_bytes),
	};

	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}

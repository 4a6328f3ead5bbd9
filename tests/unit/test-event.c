/* test-event.c - lines: sealing, reading, editing, damage; the file line. */
#include "model.h"

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/event.h"

#define SESSION "01JCQ5Z8G0ABCDEFGHJKMNPQRS"
#define OTHERS  "01JCQ5Z8G0ABCDEFGHJKMNPQRT"
#define BODY    "\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"hi\"}]"

/* An arena and a session for each test. */
struct lab {
	struct arena a;
	struct weft_id session;
	struct weft_error err;
};

static int set_up(void **state)
{
	struct lab *lab = test_calloc(1, sizeof(*lab));

	arena_init(&lab->a, 0);
	lab->session = test_id(SESSION);
	*state = lab;
	return 0;
}

static int tear_down(void **state)
{
	struct lab *lab = *state;

	arena_done(&lab->a);
	test_free(lab);
	return 0;
}

static struct store_event simple_event(const struct lab *lab)
{
	return (struct store_event){
		.session = lab->session,
		.seq = 7,
		.ts_ms = TEST_TIME,
		.type = EVENT_MESSAGE,
		.body = STR(BODY),
	};
}

static struct weft_str seal(struct lab *lab, struct store_event *e)
{
	assert_int_equal(event_seal(e, &lab->a, &lab->err), WEFT_OK);
	return e->bytes;
}

static struct store_event read_line(struct lab *lab, struct weft_str line)
{
	struct store_event e;

	event_read(&lab->session, line, &lab->a, &e);
	return e;
}

static struct store_event read_text(struct lab *lab, const char *line)
{
	return read_line(lab, str_of(line));
}

static void expect_equal(const struct store_event *a,
			 const struct store_event *b)
{
	assert_memory_equal(&a->session, &b->session, sizeof(a->session));
	assert_memory_equal(&a->id, &b->id, sizeof(a->id));
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->ts_ms, b->ts_ms);
	assert_int_equal(a->at_ms, b->at_ms);
	assert_int_equal(a->marker, b->marker);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->more, b->more);
	assert_int_equal(a->background, b->background);
	assert_true(str_eq(a->op, b->op));
	assert_true(str_eq(a->bytes, b->bytes));
	assert_true(str_eq(a->body, b->body));
}

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
	e.more = 2;
	e.op = STR("op-1");
	e.at_ms = TEST_TIME - 1;
	e.background = 1;
	line = seal(lab, &e);
	expect_in(line, "\"w\":3,\"more\":2,\"op\":\"op-1\",\"at\":"
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
	const char *const bodies[] = { BODY, "", "\"n\":[1,{}]",
				       "\"t\":\"\\\",\\\"crc\\\":\\\"\"" };

	for (unsigned bits = 0; bits < 16; bits++) {
		for (size_t i = 0; i < ARRAY_LEN(ops) * ARRAY_LEN(bodies);
		     i++) {
			struct store_event e = simple_event(lab), back;

			e.op = str_of(ops[i / ARRAY_LEN(bodies)]);
			e.body = str_of(bodies[i % ARRAY_LEN(bodies)]);
			e.more = bits & 1 ? UINT32_MAX : 0;
			e.at_ms = bits & 2 ? -1 : 0;
			e.background = bits >> 2 & 1;
			e.marker = bits & 8 ? 1234567 : 0;
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

/* ---- lines of others ---- */

/* Seal the bytes of a line that has everything but its checksum. */
static struct weft_str with_crc(struct lab *lab, const char *text)
{
	uint32_t crc = crc32c(0, lab->session.b, 16);

	crc = crc32c(crc, text, strlen(text));
	return arena_printf(&lab->a, "%s,\"crc\":\"%08x\"}", text, crc);
}

#define HEAD                                                       \
	"{\"seq\":7,\"ts\":\"2026-11-15T10:00:00.000Z\",\"type\":" \
	"\"message\",\"id\":\"01JCQ5Z8G0ABCDEFGHJKMNPQRT\",\"w\":0"

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
	memcpy(at, "\"ho\"", 4);
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
		"\"n\":1e999, "
		"\"bg\":true,\"more\":3, \"id\":\"01JCQ5Z8G0ABCDEFGHJKMNPQRT\","
		"\"t\\u0065xt\":\"\\u00e9 \\/\", \"type\":\"m\\u0065ssage\", "
		"\"at\":\"2026-11-15T11:00:00+01:00\", "
		"\"ts\":\"2026-11-15T10:00:00Z\",\"seq\":7 , \"crc\":\"0\"} ");

	assert_int_equal(e.state, STATE_ALTERED);
	assert_int_equal(e.seq, 7);
	assert_int_equal(e.last, 7);
	assert_int_equal(e.type, EVENT_OTHER + 2);
	assert_int_equal(e.marker, 4);
	assert_int_equal(e.more, 3);
	assert_int_equal(e.background, 1);
	assert_int_equal(e.ts_ms, TEST_TIME);
	assert_int_equal(e.at_ms, TEST_TIME);
	expect_str(e.op, "ab");
	expect_str(e.body, "\"role\":\"user\",\"n\":1e999,"
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
		HEAD,
		HEAD ",",
		HEAD ",}",
		HEAD ",\"crc\":\"12345678\"",
		",\"crc\":\"12345678\"}",
	};
	struct lab *lab = *state;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct store_event e = read_text(lab, lines[i]);

		if (e.state != STATE_DAMAGED)
			print_message("# %s\n", lines[i]);
		assert_int_equal(e.state, STATE_DAMAGED);
		assert_int_equal(e.seq, 0);
		assert_int_equal(e.body.len, 0);
		event_read_again(&lab->session, str_of(lines[i]), &lab->a, &e);
		assert_int_equal(e.state, STATE_DAMAGED);
	}
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

/* ---- the file line ---- */

static struct weft_str file_line(struct lab *lab, uint64_t gen)
{
	CLEANUP(buf_done) struct buf b;

	buf_init(&b, 1000);
	file_line_write(&b, &lab->session, gen);
	assert_int_equal(b.error, 0);
	return arena_str(&lab->a, buf_str(&b));
}

static void a_file_line_has_exactly_this_form(void **state)
{
	struct lab *lab = *state;
	struct weft_str line = file_line(lab, 3);
	struct file_line f;

	expect_str(line, with_crc(lab, "{\"weft\":1,\"session\":\"" SESSION
				       "\",\"gen\":3,\"needs\":[]")
				 .ptr);
	assert_true(file_line_read(line, &f));
	assert_true(f.sealed);
	assert_true(f.known_needs);
	assert_int_equal(f.version, 1);
	assert_int_equal(f.gen, 3);
	assert_memory_equal(&f.session, &lab->session, 16);

	line = file_line(lab, UINT64_C(1) << 52);
	assert_true(file_line_read(line, &f));
	assert_int_equal(f.gen, UINT64_C(1) << 52);
}

static void an_edited_file_line_is_read_but_not_sealed(void **state)
{
	struct lab *lab = *state;
	struct weft_str line = file_line(lab, 3);
	char *text = arena_alloc(&lab->a, line.len + 1);
	struct file_line f;

	memcpy(text, line.ptr, line.len);
	text[line.len] = '\r';
	assert_true(
		file_line_read((struct weft_str){ text, line.len + 1 }, &f));
	assert_true(f.sealed);
	*(char *)memmem(text, line.len, "\"gen\":3", 7) = '"';
	text[line.len - 3] = text[line.len - 3] == '0' ? '1' : '0';
	assert_true(file_line_read((struct weft_str){ text, line.len }, &f));
	assert_false(f.sealed);
	assert_true(file_line_read(
		STR("{ \"session\":\"" SESSION "\", \"weft\":2 }"), &f));
	assert_false(f.sealed);
	assert_true(f.known_needs);
	assert_int_equal(f.version, 2);
	assert_int_equal(f.gen, 0);
}

static void unknown_needs_are_told(void **state)
{
	struct file_line f;

	(void)state;
	assert_true(file_line_read(STR("{\"weft\":1,\"session\":\"" SESSION
				       "\",\"needs\":[\"encryption\",\"b\"]}"),
				   &f));
	assert_false(f.known_needs);
	assert_string_equal(f.first_need, "encryption");
	assert_true(file_line_read(
		STR("{\"weft\":1,\"session\":\"" SESSION
		    "\",\"needs\":[\"a need with a name of more than 32 "
		    "bytes\"]}"),
		&f));
	assert_string_equal(f.first_need, "a need with a name of more than");
	assert_true(file_line_read(
		STR("{\"weft\":1,\"session\":\"" SESSION "\",\"needs\":7}"),
		&f));
	assert_false(f.known_needs);
	assert_string_equal(f.first_need, "?");
}

static void other_lines_are_no_file_lines(void **state)
{
	static const char *const lines[] = {
		"",
		"\r",
		"x",
		"{}",
		"[]",
		"{\"weft\":1}",
		"{\"weft\":\"1\",\"session\":\"" SESSION "\"}",
		"{\"weft\":-1,\"session\":\"" SESSION "\"}",
		"{\"weft\":1,\"session\":\"01J\"}",
		"{\"weft\":1,\"session\":7}",
		"{\"session\":\"" SESSION "\"}",
		HEAD "}",
	};
	struct file_line f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_false(file_line_read(str_of(lines[i]), &f));
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
		TEST(unknown_types_keep_their_bytes),
		TEST(a_line_in_another_sessions_file_is_not_ok),
		TEST(a_gone_line_stands_for_a_range),
		TEST(a_mended_typo_is_altered_and_served),
		TEST(a_checksum_has_lower_case_digits_only),
		TEST(a_line_without_checksum_is_unsealed_and_served),
		TEST(members_in_another_order_are_put_in_order),
		TEST(a_field_that_was_moved_is_found),
		TEST(a_line_written_by_hand_needs_only_a_number),
		TEST(a_right_checksum_does_not_excuse_another_form),
		TEST(what_cannot_be_read_is_damaged),
		TEST(carriage_returns_are_not_part_of_a_line),
		TEST(line_separators_inside_strings_are_text),
		TEST(any_other_byte_anywhere_is_noticed),
		TEST(any_cut_is_damage),
		TEST(a_checksum_is_not_trusted_further_than_memory),
		TEST(want_of_memory_is_not_taken_for_damage),
		TEST(a_number_is_found_by_the_first_bytes),
		TEST(a_file_line_has_exactly_this_form),
		TEST(an_edited_file_line_is_read_but_not_sealed),
		TEST(unknown_needs_are_told),
		TEST(other_lines_are_no_file_lines),
	};

	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}

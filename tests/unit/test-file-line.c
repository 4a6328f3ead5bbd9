/* test-file-line.c - the first line of a session's file. */
#include "event-lab.h"

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
		TEST(a_file_line_has_exactly_this_form),
		TEST(an_edited_file_line_is_read_but_not_sealed),
		TEST(unknown_needs_are_told),
		TEST(other_lines_are_no_file_lines),
	};

	return cmocka_run_group_tests_name("file-line", tests, NULL, NULL);
}

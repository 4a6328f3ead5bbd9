/*
 * test-render-sample.c - what an older program left on disk, damage included,
 * becomes what it should have been; and the checker refuses what that program
 * itself made of it.
 */
#include <stdlib.h>

#include "render/lab.h"

/* A file of the samples; `name` is its last part. */
static const char *sample(char path[512], const char *where, const char *name)
{
	const char *data = getenv("WEFT_TEST_DATA");
	int n = snprintf(path, 512, "%s/%s%s", data ? data : "tests/data",
			 where, name);

	assert_true(n > 0 && n < 512);
	return path;
}

static yyjson_doc *read_expected(const char *where)
{
	char path[512];
	yyjson_doc *doc = yyjson_read_file(sample(path, where, "expected.json"),
					   0, NULL, NULL);

	assert_non_null(doc);
	return doc;
}

/* ---- from a line of theirs to a message of ours ---- */

static void add_string_member(struct buf *b, const char *name, yyjson_val *v)
{
	buf_printf(b, ",\"%s\":", name);
	buf_add_json(b, yyjson_is_str(v) ? json_str(v) : STR(""));
}

static void convert_parts(struct buf *b, yyjson_val *line)
{
	yyjson_val *type = yyjson_obj_get(line, "type");
	yyjson_val *content = yyjson_obj_get(line, "content");
	yyjson_val *output = yyjson_obj_get(line, "output");

	if (yyjson_equals_str(type, "tool_use")) {
		buf_add_lit(b, "[{\"type\":\"tool_use\"");
		add_string_member(b, "id", yyjson_obj_get(line, "tool_use_id"));
		add_string_member(b, "name", yyjson_obj_get(line, "name"));
		buf_add_lit(b, ",\"input\":");
		buf_add_val(b, yyjson_obj_get(line, "input"));
		buf_add_lit(b, "}]");
	} else if (yyjson_equals_str(type, "tool_result")) {
		buf_add_lit(b, "[{\"type\":\"tool_result\"");
		add_string_member(b, "tool_use_id",
				  yyjson_obj_get(line, "tool_use_id"));
		add_string_member(b, "content", output ? output : content);
		buf_add_lit(b, "}]");
	} else if (yyjson_is_arr(content)) {
		buf_add_val(b, content);
	} else {
		buf_add_lit(b, "[{\"type\":\"text\"");
		add_string_member(b, "text", content);
		buf_add_lit(b, "}]");
	}
}

/* A line that is no message is left out, as it would be on import. */
static void convert(struct lab *lab, yyjson_val *line)
{
	static const struct {
		const char *type, *role;
	} roles[] = {
		{ "user", "user" },
		{ "assistant", "assistant" },
		{ "tool_use", "assistant" },
		{ "tool_result", "tool" },
	};
	yyjson_val *type = yyjson_obj_get(line, "type");
	struct buf b;

	buf_init(&b, 0);
	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		if (!yyjson_equals_str(type, roles[i].type))
			continue;
		buf_printf(&b, "\"role\":\"%s\",\"parts\":", roles[i].role);
		convert_parts(&b, line);
		add_body(lab, buf_str(&b));
	}
	buf_done(&b);
}

static void read_transcript(struct lab *lab, const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	assert_non_null(f);
	lab->n = 0;
	while ((n = getline(&line, &room, f)) > 0) {
		yyjson_doc *doc = yyjson_read(line, (size_t)n, 0);

		convert(lab, yyjson_doc_get_root(doc));
		yyjson_doc_free(doc);
	}
	free(line);
	(void)fclose(f);
}

/* ---- the target ---- */

/* How a missing result is worded is our own affair. */
static bool same_block(yyjson_val *ours, yyjson_val *theirs)
{
	if (!yyjson_equals_str(yyjson_obj_get(theirs, "content"),
			       "[missing tool result]"))
		return yyjson_equals(ours, theirs);
	return yyjson_is_true(yyjson_obj_get(ours, "is_error")) &&
	       yyjson_equals(yyjson_obj_get(ours, "tool_use_id"),
			     yyjson_obj_get(theirs, "tool_use_id"));
}

static bool same_message(yyjson_val *ours, yyjson_val *theirs)
{
	yyjson_val *a = yyjson_obj_get(ours, "content");
	yyjson_val *b = yyjson_obj_get(theirs, "content");

	if (!yyjson_equals(yyjson_obj_get(ours, "role"),
			   yyjson_obj_get(theirs, "role")))
		return false;
	if (!yyjson_is_arr(b))
		return yyjson_equals(a, b);
	if (yyjson_arr_size(a) != yyjson_arr_size(b))
		return false;
	for (size_t i = 0; i < yyjson_arr_size(b); i++) {
		if (!same_block(yyjson_arr_get(a, i), yyjson_arr_get(b, i)))
			return false;
	}
	return true;
}

static void expect_target(struct lab *lab, const char *path, yyjson_val *target)
{
	yyjson_val *ours;
	bool same;

	read_transcript(lab, path);
	ours = yyjson_obj_get(render(lab, RENDER_ANTHROPIC), "messages");
	same = yyjson_arr_size(ours) == yyjson_arr_size(target);
	for (size_t i = 0; same && i < yyjson_arr_size(target); i++)
		same = same_message(yyjson_arr_get(ours, i),
				    yyjson_arr_get(target, i));
	if (!same)
		print_message("# %s: %s\n", path, buf_cstr(&lab->out));
	assert_true(same);
	(void)render(lab, RENDER_OPENAI);
	(void)render(lab, RENDER_RESPONSES);
}

static void becomes_what_it_should_have_been(void **state)
{
	struct lab *lab = *state;
	yyjson_doc *doc = read_expected("claw0/");
	yyjson_val *root = yyjson_doc_get_root(doc), *key, *session;
	yyjson_obj_iter it =
		yyjson_obj_iter_with(yyjson_obj_get(root, "sessions"));
	size_t n = 0;
	char path[512];

	for (; (key = yyjson_obj_iter_next(&it)); n++) {
		session = yyjson_obj_iter_get_val(key);
		(void)sample(path, "claw0/workspace/.sessions/transcripts/",
			     yyjson_get_str(yyjson_obj_get(session,
							   "transcript_file")));
		expect_target(lab, path, yyjson_obj_get(session, "messages"));
	}
	assert_int_equal(n, 3);
	expect_target(
		lab, sample(path, "claw0/hostile/", "hostile.jsonl"),
		yyjson_obj_get(yyjson_obj_get(root, "hostile"), "messages"));
	yyjson_doc_free(doc);
}

static void calls_written_twice_are_made_once(void **state)
{
	struct lab *lab = *state;
	yyjson_doc *doc = read_expected("claw0_head/");
	yyjson_val *key, *root = yyjson_doc_get_root(doc);
	yyjson_obj_iter it =
		yyjson_obj_iter_with(yyjson_obj_get(root, "sessions"));
	char path[512];

	while ((key = yyjson_obj_iter_next(&it))) {
		char name[64];

		(void)snprintf(name, sizeof(name), "%s.jsonl",
			       yyjson_get_str(key));
		(void)sample(path,
			     "claw0_head/workspace/.sessions/agents/claw0/"
			     "sessions/",
			     name);
		expect_target(lab, path,
			      yyjson_obj_get(yyjson_obj_iter_get_val(key),
					     "messages"));
	}
	yyjson_doc_free(doc);
}

/* ---- the checker ---- */

static bool is_valid(yyjson_val *messages)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc);
	struct verdict v;
	yyjson_doc *copy;
	bool valid;

	yyjson_mut_doc_set_root(doc, root);
	yyjson_mut_obj_add_null(doc, root, "system");
	yyjson_mut_obj_add_val(doc, root, "messages",
			       yyjson_val_mut_copy(doc, messages));
	copy = yyjson_mut_doc_imut_copy(doc, NULL);
	valid = valid_anthropic(yyjson_doc_get_root(copy), &v);
	yyjson_doc_free(copy);
	yyjson_mut_doc_free(doc);
	return valid;
}

static void the_checker_refuses_what_the_provider_refuses(void **state)
{
	yyjson_doc *doc = read_expected("claw0/");
	yyjson_val *root = yyjson_doc_get_root(doc), *key;
	yyjson_obj_iter it =
		yyjson_obj_iter_with(yyjson_obj_get(root, "sessions"));
	size_t refused = 0;

	(void)state;
	while ((key = yyjson_obj_iter_next(&it))) {
		yyjson_val *s = yyjson_obj_iter_get_val(key);

		assert_true(is_valid(yyjson_obj_get(s, "messages")));
		if (yyjson_arr_size(
			    yyjson_obj_get(s, "verbatim_api_problems")) == 0)
			continue;
		assert_false(is_valid(yyjson_obj_get(s, "messages_verbatim")));
		refused++;
	}
	assert_int_equal(refused, 2);
	yyjson_doc_free(doc);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			becomes_what_it_should_have_been, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			calls_written_twice_are_made_once, set_up, tear_down),
		cmocka_unit_test(the_checker_refuses_what_the_provider_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

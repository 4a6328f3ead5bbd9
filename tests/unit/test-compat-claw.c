/*
 * test-compat-claw.c - transcripts that claw0 left on disk, damage included,
 * line by line through weft_claw_append_transcript: what is rebuilt of them is
 * what the samples say it should be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json.h"
#include "weft/compat.h"

#define MISSING "[missing tool result]" /* as the samples word it */

static const char *sample(char path[512], const char *where, const char *name)
{
	const char *data = getenv("WEFT_TEST_DATA");
	int n = snprintf(path, 512, "%s/claw0/%s%s", data ? data : "tests/data",
			 where, name);

	assert_true(n > 0 && n < 512);
	return path;
}

/* Lines that are none are left out, as the original does. */
static void replay(struct weft_store *store, const char *key, const char *path)
{
	FILE *f = fopen(path, "r");
	struct weft_answer *answer = NULL;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	assert_non_null(f);
	assert_int_equal(weft_claw_create_session(store, key, strlen(key),
						  &answer, NULL),
			 WEFT_OK);
	weft_answer_free(answer);
	while ((n = getline(&line, &room, f)) > 0)
		(void)weft_claw_append_transcript(store, key, strlen(key), line,
						  (size_t)n, NULL);
	free(line);
	(void)fclose(f);
}

/* How a missing result is worded is our own affair. */
static bool same_block(yyjson_val *ours, yyjson_val *theirs)
{
	if (!yyjson_equals_str(yyjson_obj_get(theirs, "content"), MISSING))
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
	if (!yyjson_is_arr(b) || yyjson_arr_size(a) != yyjson_arr_size(b))
		return yyjson_equals(a, b);
	for (size_t i = 0; i < yyjson_arr_size(b); i++) {
		if (!same_block(yyjson_arr_get(a, i), yyjson_arr_get(b, i)))
			return false;
	}
	return true;
}

static void expect(struct weft_store *store, const char *key,
		   yyjson_val *target)
{
	struct weft_answer *answer = NULL;
	struct weft_str text;
	yyjson_doc *doc;
	yyjson_val *ours;

	assert_int_equal(weft_claw_rebuild_history(store, key, strlen(key),
						   &answer, NULL),
			 WEFT_OK);
	text.ptr = weft_answer_text(answer, &text.len);
	doc = yyjson_read(text.ptr, text.len, 0);
	ours = yyjson_doc_get_root(doc);
	assert_int_equal(yyjson_arr_size(ours), yyjson_arr_size(target));
	for (size_t i = 0; i < yyjson_arr_size(target); i++) {
		if (!same_message(yyjson_arr_get(ours, i),
				  yyjson_arr_get(target, i)))
			fail_msg("%s: message %zu of %s", key, i, text.ptr);
	}
	yyjson_doc_free(doc);
	weft_answer_free(answer);
}

static void transcripts_become_what_they_should_be(void **state)
{
	struct weft_store *store = NULL;
	char path[512];
	yyjson_doc *doc = yyjson_read_file(sample(path, "", "expected.json"), 0,
					   NULL, NULL);
	yyjson_val *root = yyjson_doc_get_root(doc), *key;
	yyjson_obj_iter it =
		yyjson_obj_iter_with(yyjson_obj_get(root, "sessions"));
	size_t n = 0;

	(void)state;
	assert_non_null(root);
	assert_int_equal(weft_open("memory:", NULL, &store, NULL), WEFT_OK);
	for (; (key = yyjson_obj_iter_next(&it)); n++) {
		yyjson_val *session = yyjson_obj_iter_get_val(key);
		const char *file = yyjson_get_str(
			yyjson_obj_get(session, "transcript_file"));

		replay(store, yyjson_get_str(key),
		       sample(path, "workspace/.sessions/transcripts/", file));
		expect(store, yyjson_get_str(key),
		       yyjson_obj_get(session, "messages"));
	}
	assert_int_equal(n, 3);
	replay(store, "hostile", sample(path, "hostile/", "hostile.jsonl"));
	expect(store, "hostile",
	       yyjson_obj_get(yyjson_obj_get(root, "hostile"), "messages"));
	assert_int_equal(weft_close(store, NULL), WEFT_OK);
	yyjson_doc_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transcripts_become_what_they_should_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

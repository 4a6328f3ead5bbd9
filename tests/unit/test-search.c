/*
 * test-search.c - search.db under a program that has it open: removed, replaced
 * or damaged at any time, and everything is found again; and the thread that
 * follows what is written.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api-help.h"
#include "base/buf.h"

#define MESSAGES 400 /* more than is read without an index */

struct place {
	char dir[64], file[128];
	struct lab lab;
};

/* Call the door; the answer must be a success. */
static yyjson_val *ask(struct place *p, const char *request)
{
	struct weft_answer *answer = NULL;
	size_t n = 0;
	const char *text;

	yyjson_doc_free(p->lab.doc);
	p->lab.doc = NULL;
	if (weft_call(p->lab.store, request, strlen(request), &answer,
		      &p->lab.err) != WEFT_OK)
		fail_msg("%s: %s", request, p->lab.err.message);
	text = weft_answer_text(answer, &n);
	p->lab.doc = yyjson_read(text, n, 0);
	weft_answer_free(answer);
	assert_non_null(p->lab.doc);
	return yyjson_doc_get_root(p->lab.doc);
}

/* One of the messages is found, and no other. */
static void is_found(struct place *p)
{
	yyjson_val *hits = yyjson_obj_get(
		ask(p, "{\"method\":\"search\",\"query\":\"n321\"}"), "hits");

	assert_int_equal(yyjson_arr_size(hits), 1);
	assert_int_equal(yyjson_get_uint(yyjson_obj_get(
				 yyjson_arr_get_first(hits), "seq")),
			 323);
}

static void say_many(struct place *p)
{
	CLEANUP(buf_done) struct buf b;

	buf_init(&b, 0);
	(void)ask(p, "{\"method\":\"new\",\"key\":\"k\"}");
	buf_add_lit(&b, "{\"method\":\"append\",\"session\":\"k\","
			"\"messages\":[");
	for (int i = 0; i < MESSAGES; i++)
		buf_printf(&b, "%s{\"role\":\"user\",\"content\":\"n%d word\"}",
			   i ? "," : "", i);
	buf_add_lit(&b, "]}");
	(void)ask(p, buf_cstr(&b));
}

static int open_place(void **state)
{
	struct place *p = test_calloc(1, sizeof(*p));
	char url[96];

	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/weft-search-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	(void)snprintf(p->file, sizeof(p->file), "%s/s/search.db", p->dir);
	(void)snprintf(url, sizeof(url), "jsonl:%s/s", p->dir);
	p->lab.now_ms = START_MS;
	lab_open(&p->lab, url);
	say_many(p);
	*state = p;
	return 0;
}

static int close_place(void **state)
{
	struct place *p = *state;
	char command[128];

	yyjson_doc_free(p->lab.doc);
	assert_int_equal(weft_close(p->lab.store, &p->lab.err), WEFT_OK);
	(void)snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	assert_int_equal(system(command), 0);
	test_free(p);
	return 0;
}

static off_t size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 ? st.st_size : 0;
}

static void removed_it_comes_back(void **state)
{
	struct place *p = *state;

	for (int i = 0; i < 3; i++) {
		is_found(p);
		assert_true(size_of(p->file) > 0);
		assert_int_equal(unlink(p->file), 0);
	}
	is_found(p);
}

static void replaced_it_is_made_again(void **state)
{
	struct place *p = *state;
	int fd;

	is_found(p);
	assert_int_equal(unlink(p->file), 0);
	fd = open(p->file, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "nothing", 7), 7);
	(void)close(fd);
	is_found(p);
	is_found(p);
}

static void change_byte(const char *file, off_t at, size_t n)
{
	CLEANUP(buf_done) struct buf b;
	int fd = open(file, O_RDWR);

	buf_init(&b, 0);
	for (size_t i = 0; i < n; i++) {
		char c = 0;

		assert_int_equal(pread(fd, &c, 1, at + (off_t)i), 1);
		buf_add_c(&b, (char)(c ^ 0x5a));
	}
	assert_int_equal(pwrite(fd, b.ptr, b.len, at), (ssize_t)b.len);
	(void)close(fd);
}

/* Also in what SQLite has in its memory already. */
static void damaged_it_is_made_again(void **state)
{
	struct place *p = *state;

	is_found(p);
	for (int i = 0; i < 40; i++) {
		off_t size = size_of(p->file);

		change_byte(p->file, (size - 8) * i / 40 + i * 131 % 3000 % 8,
			    i % 2 ? 1 : 8);
		is_found(p);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(truncate(p->file, size_of(p->file) * i / 4),
				 0);
		is_found(p);
	}
}

/* What is written later gets into the index without anybody searching. */
static void the_index_follows_when_idle(void **state)
{
	struct place *p = *state;
	off_t before;
	int i;

	is_found(p);
	before = size_of(p->file);
	for (i = 0; i < 4; i++)
		say_many(p);
	for (i = 0; i < 300 && size_of(p->file) == before; i++)
		(void)usleep(100000);
	assert_true(size_of(p->file) > before);
}

int main(void)
{
#define SEARCH_TEST(test) \
	cmocka_unit_test_setup_teardown(test, open_place, close_place)
	const struct CMUnitTest tests[] = {
		SEARCH_TEST(removed_it_comes_back),
		SEARCH_TEST(replaced_it_is_made_again),
		SEARCH_TEST(damaged_it_is_made_again),
		SEARCH_TEST(the_index_follows_when_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

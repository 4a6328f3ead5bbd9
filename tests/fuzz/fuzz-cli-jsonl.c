/*
 * What comes in on standard input of `weft append --jsonl`, in pieces of any
 * size: the lines are those that a simple loop finds, and each is appended or
 * refused with an error, and then the next.
 */
#include "fuzz.h"

#include <assert.h>

#include "base/json.h"
#include "weft/weft.h"

/* Part of the program, not of the library. */
#include "cli/lines.c"

#define LINE_MAX_BYTES 256
#define RUNS_PER_STORE 512

static struct weft_store *store;
static char session[WEFT_ID_CHARS + 1];

/* A store that does not grow for ever. */
static void open_store(void)
{
	static const char request[] = "{\"method\":\"new\",\"key\":\"k\"}";
	static unsigned runs;
	struct weft_answer *answer;
	int r;

	if (runs++ % RUNS_PER_STORE)
		return;
	(void)weft_close(store, NULL);
	r = weft_open("memory:?message_bytes=200&json_depth=16", NULL, &store,
		      NULL);
	assert(r == WEFT_OK);
	r = weft_call(store, request, sizeof(request) - 1, &answer, NULL);
	assert(r == WEFT_OK);
	/* {"id":"... */
	memcpy(session, weft_answer_text(answer, NULL) + 7, WEFT_ID_CHARS);
	weft_answer_free(answer);
}

/* The next line of `rest`, by the simple loop; false at the end. */
static bool simple_next(struct weft_str *rest, struct weft_str *ret)
{
	size_t n = 0;

	if (rest->len == 0)
		return false;
	while (n < rest->len && rest->ptr[n] != '\n')
		n++;
	*ret = (struct weft_str){ rest->ptr, n };
	*rest = str_skip(*rest, n < rest->len ? n + 1 : n);
	return true;
}

static void append(struct weft_str line)
{
	struct weft_error err = { 0 };
	struct weft_receipt receipt = { 0 };
	int r = weft_append(store, session, WEFT_ID_CHARS, line.ptr, line.len,
			    NULL, &receipt, &err);

	if (r == WEFT_OK) {
		assert(receipt.seq > 1 && receipt.count > 0);
		return;
	}
	assert(err.code == r && err.message[0]);
	assert(weft_code_exit_status(r) >= 2 && weft_code_exit_status(r) <= 5);
}

static void check_line(const struct line *line, struct weft_str *rest)
{
	struct weft_str expected;
	bool there = simple_next(rest, &expected);

	assert(there);
	if (line->too_long) {
		assert(expected.len == line->too_long);
		assert(expected.len > LINE_MAX_BYTES);
		return;
	}
	assert(str_eq(line->text, expected));
	append(line->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct weft_str rest = { (const char *)data, size };
	struct weft_str unread = rest;
	struct lines l;
	struct line line;
	size_t step = size % 61 + 1;

	open_store();
	lines_init(&l, LINE_MAX_BYTES);
	while (unread.len > 0) {
		size_t n = unread.len < step ? unread.len : step;
		char *room = lines_room(&l, n);

		assert(room);
		memcpy(room, unread.ptr, n);
		lines_came(&l, n);
		unread = str_skip(unread, n);
		while (lines_next(&l, &line))
			check_line(&line, &rest);
		step = step * 7 % 127 + 1;
	}
	lines_end(&l);
	while (lines_next(&l, &line))
		check_line(&line, &rest);
	assert(rest.len == 0);
	lines_done(&l);
	return 0;
}

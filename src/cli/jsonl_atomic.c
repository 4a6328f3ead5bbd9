/* jsonl_atomic.c - append messages from standard input, all or none. */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/jsonl.h"
#include "cli/lines.h"

#define READ_BYTES  KIB(64)
#define BATCH_BYTES MIB(256)

struct batch {
	struct cli *cli;
	const struct jsonl *what;
	struct lines lines;
	struct buf array;  /* the messages as one JSON array */
	size_t n;          /* how many there are */
	size_t n_max;      /* batch_messages */
	uint64_t bad_line; /* the line at fault, if an error is one's */
};

static int add_line(struct batch *b, const struct line *line)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct cli *c = b->cli;
	int r;

	b->bad_line = line->number;
	if (line->too_long)
		return fail(c->err, WEFT_LIMIT,
			    "a line of %llu bytes is longer than any message",
			    (unsigned long long)line->too_long);
	if (b->n == b->n_max)
		return fail(c->err, WEFT_LIMIT,
			    "more than %zu messages at once (batch_messages)",
			    b->n_max);
	r = json_parse(line->text, NULL, &doc, c->err);
	if (r == WEFT_OK && !yyjson_is_obj(yyjson_doc_get_root(doc)))
		r = fail(c->err, WEFT_INVALID, "a message is an object, not %s",
			 json_kind(yyjson_doc_get_root(doc)));
	if (r != WEFT_OK)
		return r;
	buf_add_c(&b->array, b->n ? ',' : '[');
	buf_add_str(&b->array, line->text);
	b->n++;
	return buf_error(&b->array, c->err);
}

static int read_lines(struct batch *b)
{
	for (;;) {
		struct line line;
		char *to;
		ssize_t n;

		while (lines_next(&b->lines, &line)) {
			int r = add_line(b, &line);

			if (r != WEFT_OK)
				return r;
		}
		if (b->lines.ended)
			break;
		to = lines_room(&b->lines, READ_BYTES);
		if (!to)
			return fail_no_memory(b->cli->err);
		n = read(STDIN_FILENO, to, READ_BYTES);
		if (n > 0)
			lines_came(&b->lines, (size_t)n);
		else if (n == 0)
			lines_end(&b->lines);
		else if (errno != EINTR)
			return fail_errno(b->cli->err, errno, "standard input");
	}
	buf_add_c(&b->array, ']');
	return buf_error(&b->array, b->cli->err);
}

/*
 * Which line is at fault, after the append as a whole was refused: its error
 * begins with "message N: " if it is about one.
 */
static void find_bad_line(struct batch *b, struct weft_error *err)
{
	static const struct weft_str prefix = STR_INIT("message ");
	struct weft_str text = { err->message, strlen(err->message) };
	const char *colon = strstr(err->message, ": ");
	struct weft_str number;

	b->bad_line = 1;
	if (!colon || !str_starts(text, prefix))
		return;
	number = (struct weft_str){ text.ptr + prefix.len,
				    (size_t)(colon - text.ptr) - prefix.len };
	if (!str_to_u64(number, b->n, &b->bad_line))
		return;
	memmove(err->message, colon + 2, strlen(colon + 2) + 1);
}

static int append_all(struct batch *b, struct weft_receipt *ret)
{
	struct weft_append_options options;
	struct weft_str session = str_of(b->what->session);
	struct cli *c = b->cli;
	int r;

	weft_append_options_init(&options, sizeof(options));
	options.token = b->what->token;
	options.expect = b->what->expect;
	if (b->what->op) {
		options.op = b->what->op;
		options.op_len = strlen(b->what->op);
	}
	r = weft_append(c->store, session.ptr, session.len, b->array.ptr,
			b->array.len, &options, ret, c->err);
	if (r != WEFT_OK)
		find_bad_line(b, c->err);
	return r;
}

/* One line for each message; their ids are in the store. */
static int print_all(struct batch *b, const struct weft_receipt *receipt)
{
	struct cli *c = b->cli;
	uint64_t next = receipt->seq, end = next + receipt->count;

	while (next < end) {
		struct weft_read_options options;
		struct weft_page *page;
		struct weft_event e;
		int r;

		weft_read_options_init(&options, sizeof(options));
		options.first = next;
		options.last = end - 1;
		options.flags = WEFT_READ_REDACTED;
		r = weft_read(c->store, receipt->session, WEFT_ID_CHARS,
			      &options, &page, c->err);
		if (r != WEFT_OK)
			return r;
		for (size_t i = 0; weft_page_event(page, i, &e); i++)
			jsonl_print_receipt(c, e.seq, e.id,
					    b->what->session ? NULL :
							       receipt->session,
					    receipt->replayed != 0);
		next = weft_page_count(page) ? e.seq + 1 : end;
		weft_page_free(page);
	}
	return WEFT_OK;
}

static void batch_done(struct batch *b)
{
	lines_done(&b->lines);
	buf_done(&b->array);
}

static int limits(struct batch *b)
{
	CLEANUP(req_done) struct req q = { 0 };
	CLEANUP(answer_done) struct answer a = { 0 };
	yyjson_val *root;
	int r;

	req_init(&q, b->cli, "limits");
	r = req_call(&q, &a);
	if (r != WEFT_OK)
		return r;
	root = answer_parse(b->cli, &a);
	if (!root)
		return WEFT_NO_MEMORY;
	b->n_max = (size_t)val_u64(yyjson_obj_get(root, "limits"),
				   "batch_messages");
	return WEFT_OK;
}

int jsonl_atomic(struct cli *c, const struct jsonl *j)
{
	CLEANUP(batch_done)
	struct batch b = {
		.cli = c,
		.what = j,
	};
	struct weft_receipt receipt;
	size_t line_max;
	int r = jsonl_line_max(c, &line_max);

	if (r == WEFT_OK)
		r = limits(&b);
	if (r != WEFT_OK)
		return r;
	lines_init(&b.lines, line_max);
	buf_init(&b.array, BATCH_BYTES);
	c->out.must_arrive = true;
	r = read_lines(&b);
	if (r == WEFT_OK && b.n == 0)
		return WEFT_OK;
	if (r == WEFT_OK)
		r = append_all(&b, &receipt);
	if (r == WEFT_OK)
		return print_all(&b, &receipt);
	jsonl_print_error(c, c->err, b.bad_line);
	return WEFT_OK;
}

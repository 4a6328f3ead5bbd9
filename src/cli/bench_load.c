/* bench_load.c - reading back: all of a session, and its end. */
#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/bench.h"

#define MESSAGES 10000u
#define TAIL     50u
/* What the shortest of them is rendered to has more. */
#define MESSAGE_BYTES_MIN 900u

struct loading {
	struct bench *bench;
	char url[700];
	char path[600];
	char id[1][27];
	char *buf; /* for the reference */
	size_t room;
};

/* ---- the reference: read the file and look for its lines ---- */

static int load_raw(struct loading *g, struct sample *ret)
{
	CLEANUP(file_cleanup) struct file *f = NULL;
	int64_t start = now_ns();
	struct file_stat st = { 0 };
	size_t lines = 0;
	ssize_t n;
	int r = file_open(fs_real(), g->path, FILE_READ, &f);

	if (r == 0)
		r = file_stat(f, &st);
	if (r < 0)
		return fail_errno(g->bench->err, -r, "open %s", g->path);
	if (st.size > g->room) {
		mem_free(g->buf);
		g->room = (size_t)st.size;
		g->buf = mem_alloc(g->room);
	}
	if (!g->buf)
		return fail_no_memory(g->bench->err);
	n = file_read(f, g->buf, (size_t)st.size, 0);
	for (const char *p = g->buf, *end = p + n; n > 0 && p < end; lines++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		p = nl ? nl + 1 : end;
	}
	*ret = (struct sample){ .p50_us = (double)(now_ns() - start) / 1e3 };
	ret->per_s = (double)lines / ret->p50_us * 1e6;
	return WEFT_OK;
}

static int load_ref(struct loading *g, struct sample *ret)
{
	struct bench *b = g->bench;

	return b->plain ? b->plain->load(b, g->url, MESSAGES, ret) :
			  load_raw(g, ret);
}

/* ---- ours ---- */

static int load_all(struct loading *g, struct weft_store *s, struct sample *ret)
{
	struct weft_read_options o;
	int64_t start = now_ns();
	uint64_t n = 0;
	int r = WEFT_OK, done = 0;

	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES;
	while (!done && r == WEFT_OK) {
		struct weft_page *page;
		struct weft_event e;

		r = weft_read(s, g->id[0], 26, &o, &page, g->bench->err);
		if (r < 0)
			break;
		for (size_t i = 0; weft_page_event(page, i, &e); i++) {
			n++;
			o.first = e.last + 1;
		}
		done = weft_page_done(page);
		weft_page_free(page);
	}
	*ret = (struct sample){ .p50_us = (double)(now_ns() - start) / 1e3 };
	ret->per_s = (double)n / ret->p50_us * 1e6;
	if (r == WEFT_OK && n != MESSAGES)
		r = fail(g->bench->err, WEFT_CORRUPT, "%llu of %u messages",
			 (unsigned long long)n, MESSAGES);
	return r;
}

/* All of it, as a provider wants it. */
static int load_rendered(struct loading *g, struct weft_store *s,
			 struct sample *ret)
{
	struct weft_answer *a = NULL;
	char request[120];
	int n = snprintf(request, sizeof(request),
			 "{\"method\":\"history\",\"session\":\"%s\","
			 "\"format\":\"anthropic\"}",
			 g->id[0]);
	int64_t start = now_ns();
	size_t bytes = 0;
	int r = weft_call(s, request, (size_t)n, &a, g->bench->err);

	if (r == WEFT_OK)
		(void)weft_answer_text(a, &bytes);
	*ret = (struct sample){ .p50_us = (double)(now_ns() - start) / 1e3 };
	ret->per_s = MESSAGES / ret->p50_us * 1e6;
	if (r == WEFT_OK && bytes < (size_t)MESSAGES * MESSAGE_BYTES_MIN)
		r = fail(g->bench->err, WEFT_CORRUPT,
			 "%u messages rendered to %zu bytes", MESSAGES, bytes);
	weft_answer_free(a);
	return r;
}

static int load_tail(struct loading *g, struct weft_store *s,
		     struct sample *ret)
{
	struct weft_read_options o;
	struct times t;
	int r = times_init(&t, 1000, g->bench->err);
	int64_t start = now_ns();

	weft_read_options_init(&o, sizeof(o));
	o.flags = WEFT_READ_MESSAGES | WEFT_READ_BACKWARDS;
	o.max = TAIL;
	for (int i = 0; i < 1000 && r == WEFT_OK; i++) {
		struct weft_page *page;
		int64_t before = now_ns();

		r = weft_read(s, g->id[0], 26, &o, &page, g->bench->err);
		if (r < 0)
			break;
		times_add(&t, now_ns() - before);
		weft_page_free(page);
	}
	*ret = times_sample(&t, (uint64_t)TAIL * 1000, now_ns() - start);
	times_done(&t);
	return r;
}

/* ---- rounds ---- */

enum { REF, OWN_FIRST, OWN, RENDERED, LAST50, LINES };

static int measure_round(struct loading *g, struct sample *v[LINES], size_t i)
{
	struct weft_store *s = NULL;
	int r = load_ref(g, &v[REF][i]);

	if (r == WEFT_OK)
		r = load_ref(g, &v[REF][i]); /* the first warms the cache */
	if (r == WEFT_OK)
		r = weft_open(g->url, NULL, &s, g->bench->err);
	if (r == WEFT_OK)
		r = load_all(g, s, &v[OWN_FIRST][i]);
	if (r == WEFT_OK)
		r = load_all(g, s, &v[OWN][i]);
	if (r == WEFT_OK)
		r = load_rendered(g, s, &v[RENDERED][i]);
	if (r == WEFT_OK)
		r = load_tail(g, s, &v[LAST50][i]);
	(void)weft_close(s, NULL);
	return r;
}

static int fill(struct loading *g)
{
	struct weft_store *s = NULL;
	CLEANUP(buf_done) struct buf batch;
	int r = weft_open(g->url, NULL, &s, g->bench->err);

	buf_init(&batch, 0);
	if (r == WEFT_OK)
		r = bench_sessions(s, 1, g->id, g->bench->err);
	for (uint64_t i = 0; i < MESSAGES && r == WEFT_OK; i += 500) {
		struct weft_receipt receipt;
		char text[1100];

		buf_reset(&batch);
		for (uint64_t k = 0; k < 500; k++) {
			buf_add_c(&batch, k ? ',' : '[');
			buf_add_str(&batch, bench_message(text, i + k));
		}
		buf_add_c(&batch, ']');
		r = weft_append(s, g->id[0], 26, batch.ptr, batch.len, NULL,
				&receipt, g->bench->err);
	}
	if (r == WEFT_OK)
		r = weft_close(s, g->bench->err);
	else
		(void)weft_close(s, NULL);
	return r;
}

/* Where the file is; the door knows. */
static int find_file(struct loading *g)
{
	CLEANUP(json_doc_cleanup) yyjson_doc *doc = NULL;
	struct weft_store *s = NULL;
	struct weft_answer *a = NULL;
	char request[100];
	struct weft_str text = { 0 };
	int n = snprintf(request, sizeof(request),
			 "{\"method\":\"show\",\"session\":\"%s\"}", g->id[0]);
	int r = weft_open(g->url, NULL, &s, g->bench->err);

	if (r == WEFT_OK)
		r = weft_call(s, request, (size_t)n, &a, g->bench->err);
	if (r == WEFT_OK) {
		text.ptr = weft_answer_text(a, &text.len);
		r = json_parse(text, NULL, &doc, g->bench->err);
	}
	if (r == WEFT_OK)
		(void)snprintf(
			g->path, sizeof(g->path), "%.*s",
			STR_ARG(val_str(yyjson_doc_get_root(doc), "path")));
	weft_answer_free(a);
	(void)weft_close(s, NULL);
	return r;
}

int bench_load(struct bench *b)
{
	static const char *const names[LINES] = { "ref", "own_10k_first",
						  "own_10k", "anthropic_10k",
						  "last50" };
	struct sample v[LINES][BENCH_ROUNDS_MAX] = { 0 };
	struct sample *rows[LINES] = { v[REF], v[OWN_FIRST], v[OWN],
				       v[RENDERED], v[LAST50] };
	struct loading g = { .bench = b };
	struct line_result lines[LINES];
	int r;

	bench_url(b, "store", g.url);
	r = fill(&g);
	if (r == WEFT_OK && !b->plain)
		r = find_file(&g);
	for (size_t i = 0; i < b->rounds && r == WEFT_OK; i++) {
		bench_show_round(b, i);
		r = measure_round(&g, rows, i);
	}
	bench_show_round(b, b->rounds);
	mem_free(g.buf);
	if (r < 0)
		return r;
	for (int k = 0; k < LINES; k++)
		lines[k] =
			bench_median(names[k], v[k], v[REF], b->rounds, true);
	bench_print(b, lines, LINES, NULL);
	return WEFT_OK;
}

/*
 * words.c - the index for search in PostgreSQL: a tsvector of our own tokens
 * for each event, and a GIN index of them.
 *
 * A database may have any encoding, so that a byte of a token that is not ASCII
 * is written as _ and two digits; what begins alike still does.
 */
#include "base/error.h"
#include "base/id.h"
#include "store/match.h"
#include "store/pg/pg.h"
#include "store/sql/columns.h"

static void add_ascii(struct buf *b, struct weft_str s)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c < 0x80) {
			buf_add_c(b, (char)c);
			continue;
		}
		buf_add_c(b, '_');
		buf_add_c(b, digits[c >> 4]);
		buf_add_c(b, digits[c & 15]);
	}
}

int pg_put_words(struct sql_conn *c, const struct word_batch *b,
		 struct weft_error *err)
{
	CLEANUP(arena_done) struct arena arena;
	CLEANUP(buf_done) struct buf text;
	struct sql_value *v;

	arena_init(&arena, 0);
	buf_init(&text, 0);
	v = ARENA_ARRAY(&arena, struct sql_value, 4 * b->n);
	for (size_t i = 0; v && i < b->n; i++) {
		const struct word_doc *d = &b->docs[i];

		buf_reset(&text);
		add_ascii(&text, d->words);
		v[4 * i] = sql_id(&b->session);
		v[4 * i + 1] = sql_u64(d->seq);
		v[4 * i + 2] = sql_int(d->at_ms);
		v[4 * i + 3] = sql_text(arena_str(&arena, buf_str(&text)));
	}
	if (text.error || arena.failed)
		return fail_no_memory(err);
	return sql_run(c, PG_PUT_WORDS, &(struct sql_rows){ v, b->n, 4 }, NULL,
		       NULL, err);
}

/* The query as text that the server reads as one. */
static void add_query(struct buf *b, const struct word_query *q)
{
	for (size_t i = 0; i < q->n_terms; i++) {
		buf_add_str(b, i > 0 ? STR("&'") : STR("'"));
		add_ascii(b, q->terms[i].word);
		buf_add_str(b, q->terms[i].prefix ? STR("':*") : STR("'"));
	}
}

struct filling {
	struct word_page page;
	size_t limit;
};

static int take_hit(void *ctx, const struct sql_value *row,
		    struct weft_error *err)
{
	struct filling *f = ctx;
	struct word_hit *hit = &f->page.v[f->page.n];

	if (f->page.n == f->limit) {
		f->page.more = 1;
		return SQL_ENOUGH;
	}
	hit->at_ms = row[0].n;
	hit->seq = (uint64_t)row[2].n;
	if (!sql_to_id(&row[1], &hit->session))
		return sql_fail_row("words", err);
	f->page.n++;
	return WEFT_OK;
}

int pg_find_words(struct sql_conn *c, const struct word_query *q, size_t limit,
		  struct arena *a, struct word_page *ret,
		  struct weft_error *err)
{
	static const struct word_hit newest = { .at_ms = INT64_MAX };
	const struct word_hit *after = q->after ? q->after : &newest;
	struct filling f = { .limit = limit };
	CLEANUP(buf_done) struct buf text;
	int r;

	buf_init(&text, 0);
	add_query(&text, q);
	f.page.v = ARENA_ARRAY(a, struct word_hit, limit);
	if (text.error || !f.page.v)
		return fail_no_memory(err);
	r = sql_run(c, q->n_sessions ? PG_FIND_WORDS_IN : PG_FIND_WORDS,
		    SQL_ROW(sql_text(buf_str(&text)), sql_int(after->at_ms),
			    sql_id(&after->session), sql_u64(after->seq),
			    sql_u64(limit + 1),
			    sql_bytes(q->sessions,
				      q->n_sessions * sizeof(*q->sessions))),
		    take_hit, &f, err);
	if (r == WEFT_OK)
		*ret = f.page;
	return r;
}

int pg_drop_words(struct sql_conn *c, const struct weft_id *sessions, size_t n,
		  struct weft_error *err)
{
	int r = WEFT_OK;

	for (size_t i = 0; i < n && r == WEFT_OK; i++)
		r = sql_run(c, PG_DROP_WORDS, SQL_ROW(sql_id(&sessions[i])),
			    NULL, NULL, err);
	return r;
}

int pg_clear_words(struct sql_conn *c, struct weft_error *err)
{
	return sql_run(c, PG_CLEAR_WORDS, NULL, NULL, NULL, err);
}

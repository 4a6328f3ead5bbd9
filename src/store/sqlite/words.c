/* words.c - an index of words in an SQLite file; words.h has its design. */
#include "store/sqlite/words.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/id.h"
#include "store/match.h"

/* 43 bits of milliseconds since 1900, 20 bits of those within one. */
#define EPOCH_MS   INT64_C(-2208988800000)
#define COUNT_BITS 20
#define COUNT_MASK ((INT64_C(1) << COUNT_BITS) - 1)

/* More sessions than this are sorted out afterwards. */
#define SESSION_TOKENS_MAX 64

static void finalize(struct sqlite3_stmt **stmt)
{
	(void)sqlite3_finalize(*stmt);
}

static int64_t first_doc(int64_t at_ms)
{
	return (at_ms - EPOCH_MS) << COUNT_BITS;
}

static int64_t time_of(int64_t doc)
{
	return (doc >> COUNT_BITS) + EPOCH_MS;
}

static void add_session(struct buf *b, const struct weft_id *id)
{
	char text[WEFT_ID_CHARS + 1];

	id_format(id, text);
	for (size_t i = 0; i < WEFT_ID_CHARS; i++)
		buf_add_c(b, text[i] >= 'A' ? (char)(text[i] - 'A' + 'a') :
					      text[i]);
}

static int bind_id(struct sqlite3_stmt *stmt, int i, const struct weft_id *id)
{
	return sqlite3_bind_blob(stmt, i, id, sizeof(*id), SQLITE_STATIC);
}

/* ---- putting ---- */

struct putting {
	struct sqlite3 *db;
	const struct weft_id *session;
	struct sqlite3_stmt *last, *place, *words;
	struct buf text;
};

static void putting_done(struct putting *p)
{
	finalize(&p->last);
	finalize(&p->place);
	finalize(&p->words);
	buf_done(&p->text);
}

static int prepare(struct sqlite3 *db, const char *sql,
		   struct sqlite3_stmt **ret)
{
	return sqlite3_prepare_v2(db, sql, -1, ret, NULL);
}

static int run(struct sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	(void)sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The next number of this time, or of the next with room. */
static int next_doc(struct putting *p, int64_t at_ms, int64_t *ret)
{
	for (;; at_ms++) {
		int64_t first = first_doc(at_ms), doc = first;
		int rc;

		(void)sqlite3_bind_int64(p->last, 1, first);
		(void)sqlite3_bind_int64(p->last, 2, first + COUNT_MASK);
		rc = sqlite3_step(p->last);
		if (rc == SQLITE_ROW &&
		    sqlite3_column_type(p->last, 0) == SQLITE_INTEGER)
			doc = sqlite3_column_int64(p->last, 0) + 1;
		(void)sqlite3_reset(p->last);
		if (rc != SQLITE_ROW)
			return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
		*ret = doc;
		if (doc <= first + COUNT_MASK)
			return SQLITE_OK;
	}
}

static int put_doc(struct putting *p, const struct word_doc *d)
{
	int64_t doc = 0;
	int rc = next_doc(p, d->at_ms, &doc);

	if (rc != SQLITE_OK)
		return rc;
	buf_reset(&p->text);
	add_session(&p->text, p->session);
	buf_add_c(&p->text, ' ');
	buf_add_str(&p->text, d->words);
	if (p->text.error)
		return SQLITE_NOMEM;
	(void)sqlite3_bind_int64(p->place, 1, doc);
	(void)sqlite3_bind_int64(p->place, 3, (sqlite3_int64)d->seq);
	rc = bind_id(p->place, 2, p->session);
	if (rc == SQLITE_OK)
		rc = run(p->place);
	(void)sqlite3_bind_int64(p->words, 1, doc);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text64(p->words, 2, p->text.ptr, p->text.len,
					 SQLITE_STATIC, SQLITE_UTF8);
	return rc == SQLITE_OK ? run(p->words) : rc;
}

int words_put(struct sqlite3 *db, const struct weft_id *session,
	      const struct word_doc *docs, size_t n)
{
	CLEANUP(putting_done)
	struct putting p = { .db = db, .session = session };
	int rc;

	if (n == 0)
		return SQLITE_OK;
	buf_init(&p.text, 0);
	rc = prepare(db,
		     "SELECT max(doc) FROM search_docs"
		     " WHERE doc BETWEEN ?1 AND ?2",
		     &p.last);
	if (rc == SQLITE_OK)
		rc = prepare(db, "INSERT INTO search_docs VALUES(?1,?2,?3)",
			     &p.place);
	if (rc == SQLITE_OK)
		rc = prepare(db,
			     "INSERT INTO search_words(rowid,words)"
			     " VALUES(?1,?2)",
			     &p.words);
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = put_doc(&p, &docs[i]);
	return rc;
}

int words_clear(struct sqlite3 *db)
{
	return sqlite3_exec(db,
			    "INSERT INTO search_words(search_words)"
			    " VALUES('delete-all');"
			    "DELETE FROM search_docs;",
			    NULL, NULL, NULL);
}

/* ---- finding ---- */

/* A page being filled, from the newest on. */
struct filling {
	const struct word_query *query;
	size_t limit;
	struct arena *arena;
	struct word_hit *v;
	size_t n, room;
};

/* The query in FTS5's words. */
static void add_match(struct buf *b, const struct word_query *q)
{
	bool few = q->n_sessions <= SESSION_TOKENS_MAX;

	for (size_t i = 0; i < q->n_terms; i++) {
		buf_add_str(b, i > 0 ? STR(" AND \"") : STR("\""));
		buf_add_str(b, q->terms[i].word);
		buf_add_str(b, q->terms[i].prefix ? STR("\"*") : STR("\""));
	}
	for (size_t i = 0; few && i < q->n_sessions; i++) {
		buf_add_str(b, i > 0 ? STR(" OR \"") : STR(" AND (\""));
		add_session(b, &q->sessions[i]);
		buf_add_c(b, '"');
	}
	if (few && q->n_sessions)
		buf_add_c(b, ')');
}

static bool add_hit(struct filling *f, const struct word_hit *hit)
{
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct word_hit *v = arena_alloc(f->arena, room * sizeof(*v));

		if (!v)
			return false;
		if (f->n)
			memcpy(v, f->v, f->n * sizeof(*v));
		f->v = v;
		f->room = room;
	}
	f->v[f->n++] = *hit;
	return true;
}

/* Take a row; SQLITE_DONE when the page is full, and with it all that was
 * said in the millisecond of its last. */
static int take_row(struct filling *f, struct sqlite3_stmt *stmt)
{
	const void *id = sqlite3_column_blob(stmt, 1);
	struct word_hit hit = {
		.at_ms = time_of(sqlite3_column_int64(stmt, 0)),
		.seq = (uint64_t)sqlite3_column_int64(stmt, 2),
	};

	if (!id || sqlite3_column_bytes(stmt, 1) != (int)sizeof(hit.session))
		return SQLITE_CORRUPT;
	memcpy(&hit.session, id, sizeof(hit.session));
	if (f->n > f->limit && f->v[f->n - 1].at_ms != hit.at_ms)
		return SQLITE_DONE;
	if ((f->query->after && match_hit_order(f->query->after, &hit) >= 0) ||
	    !match_hit_session(f->query, &hit.session))
		return SQLITE_OK;
	return add_hit(f, &hit) ? SQLITE_OK : SQLITE_NOMEM;
}

static int take_rows(struct filling *f, struct sqlite3_stmt *stmt)
{
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		rc = take_row(f, stmt);
		if (rc != SQLITE_OK)
			break;
	}
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int words_find(struct sqlite3 *db, const struct word_query *q, size_t limit,
	       struct arena *a, struct word_page *ret)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	CLEANUP(buf_done) struct buf match;
	struct filling f = { .query = q, .limit = limit, .arena = a };
	int64_t newest =
		q->after ? first_doc(q->after->at_ms) + COUNT_MASK : INT64_MAX;
	int rc;

	buf_init(&match, 0);
	add_match(&match, q);
	if (match.error)
		return SQLITE_NOMEM;
	rc = prepare(db,
		     "SELECT d.doc,d.session,d.seq FROM search_words AS w"
		     " CROSS JOIN search_docs AS d WHERE w.search_words"
		     " MATCH ?1 AND w.rowid<=?2 AND d.doc=w.rowid"
		     " ORDER BY w.rowid DESC",
		     &stmt);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text64(stmt, 1, match.ptr, match.len,
					 SQLITE_STATIC, SQLITE_UTF8);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 2, newest);
	if (rc == SQLITE_OK)
		rc = take_rows(&f, stmt);
	if (rc != SQLITE_OK)
		return rc;
	SORT(f.v, f.n, match_hit_compare);
	*ret = (struct word_page){
		.v = f.v,
		.n = f.n < limit ? f.n : limit,
		.more = f.n > limit,
	};
	return SQLITE_OK;
}

/* words.c - an index of words in an SQLite file; words.h has its design. */
#include "store/sqlite/words.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
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

/* ---- shards ---- */

struct shard {
	int64_t number, docs;
	int64_t newest; /* no document has a higher number */
};

#define SHARD_SQL_BYTES 1024

/* Statements on the table of a shard; `@` stands for its number. */
static void shard_sql(char sql[SHARD_SQL_BYTES], const char *pattern,
		      const struct shard *shard)
{
	size_t n = 0;

	for (; *pattern && n + 24 < SHARD_SQL_BYTES; pattern++) {
		if (*pattern == '@')
			n += (size_t)snprintf(sql + n, SHARD_SQL_BYTES - n,
					      "%lld", (long long)shard->number);
		else
			sql[n++] = *pattern;
	}
	assert(!*pattern);
	sql[n] = '\0';
}

static int shard_prepare(struct sqlite3 *db, const char *pattern,
			 const struct shard *shard, struct sqlite3_stmt **ret)
{
	char sql[SHARD_SQL_BYTES];

	shard_sql(sql, pattern, shard);
	return prepare(db, sql, ret);
}

static int shard_exec(struct sqlite3 *db, const char *pattern,
		      const struct shard *shard)
{
	char sql[SHARD_SQL_BYTES];

	shard_sql(sql, pattern, shard);
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* All of them, the newest first. */
static int get_shards(struct sqlite3 *db, struct arena *a, struct shard **ret,
		      size_t *ret_n)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	size_t n = 0, room = 0;
	struct shard *v = NULL;
	int rc = prepare(db,
			 "SELECT shard,docs,newest FROM search_shards"
			 " ORDER BY newest DESC",
			 &stmt);

	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (n == room) {
			struct shard *more;

			room = room ? 2 * room : 16;
			more = ARENA_ARRAY(a, struct shard, room);
			if (!more)
				return SQLITE_NOMEM;
			if (n)
				memcpy(more, v, n * sizeof(*v));
			v = more;
		}
		v[n++] = (struct shard){
			.number = sqlite3_column_int64(stmt, 0),
			.docs = sqlite3_column_int64(stmt, 1),
			.newest = sqlite3_column_int64(stmt, 2),
		};
	}
	*ret = v;
	*ret_n = n;
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int remove_shard(struct sqlite3 *db, const struct shard *shard)
{
	return shard_exec(db,
			  "DROP TABLE search_words_@;"
			  "DELETE FROM search_shards WHERE shard=@;",
			  shard);
}

/* The last one, or a new one behind it if that is full. */
static int open_shard(struct sqlite3 *db, struct shard *ret)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int rc = prepare(db,
			 "SELECT shard,docs,newest FROM search_shards"
			 " ORDER BY shard DESC LIMIT 1",
			 &stmt);

	*ret = (struct shard){ .docs = WORDS_SHARD_DOCS };
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = (struct shard){
			.number = sqlite3_column_int64(stmt, 0),
			.docs = sqlite3_column_int64(stmt, 1),
			.newest = sqlite3_column_int64(stmt, 2),
		};
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	if (ret->docs < WORDS_SHARD_DOCS)
		return SQLITE_OK;
	finalize(&stmt);
	stmt = NULL;
	*ret = (struct shard){ .number = ret->number + 1 };
	return shard_exec(db,
			  "CREATE VIRTUAL TABLE search_words_@ USING fts5("
			  "words,content='',detail=none,columnsize=0,"
			  "tokenize='ascii');"
			  "INSERT INTO search_shards VALUES(@,0,0);",
			  ret);
}

/* ---- putting ---- */

struct putting {
	struct sqlite3 *db;
	const struct weft_id *session;
	struct shard shard;
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
	if (rc == SQLITE_OK)
		rc = run(p->words);
	p->shard.docs++;
	if (doc > p->shard.newest)
		p->shard.newest = doc;
	return rc;
}

static int save_shard(struct sqlite3 *db, const struct shard *shard)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int rc = prepare(db,
			 "UPDATE search_shards SET docs=?2,newest=?3"
			 " WHERE shard=?1",
			 &stmt);

	if (rc != SQLITE_OK)
		return rc;
	(void)sqlite3_bind_int64(stmt, 1, shard->number);
	(void)sqlite3_bind_int64(stmt, 2, shard->docs);
	(void)sqlite3_bind_int64(stmt, 3, shard->newest);
	return run(stmt);
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
	rc = open_shard(db, &p.shard);
	if (rc == SQLITE_OK)
		rc = prepare(db,
			     "SELECT max(doc) FROM search_docs"
			     " WHERE doc BETWEEN ?1 AND ?2",
			     &p.last);
	if (rc == SQLITE_OK)
		rc = prepare(db, "INSERT INTO search_docs VALUES(?1,?2,?3)",
			     &p.place);
	if (rc == SQLITE_OK)
		rc = shard_prepare(db,
				   "INSERT INTO search_words_@(rowid,words)"
				   " VALUES(?1,?2)",
				   &p.shard, &p.words);
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = put_doc(&p, &docs[i]);
	return rc == SQLITE_OK ? save_shard(db, &p.shard) : rc;
}

/* ---- finding ---- */

/* A page being filled, from the newest on, a shard at a time. */
struct filling {
	const struct word_query *query;
	size_t limit;
	struct arena *arena;
	struct word_hit *v;
	size_t n, room;
	size_t before;          /* of them, from other shards */
	int64_t oldest, newest; /* documents that can still be of use */
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

/* Take a row; SQLITE_DONE when the shard alone fills the page, and with it all
 * that was said in the millisecond of its last. */
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
	if (f->n - f->before > f->limit && f->v[f->n - 1].at_ms != hit.at_ms)
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

/* What the shards have had up to now, in order, and no more than a page. */
static void settle(struct filling *f)
{
	SORT(f->v, f->n, match_hit_compare);
	if (f->n > f->limit) {
		f->n = f->limit + 1;
		f->oldest = first_doc(f->v[f->limit].at_ms);
	}
	f->before = f->n;
}

static int find_in(struct sqlite3 *db, const struct shard *shard,
		   const struct buf *match, struct filling *f)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	int rc = shard_prepare(db,
			       "SELECT d.doc,d.session,d.seq"
			       " FROM search_words_@ AS w"
			       " CROSS JOIN search_docs AS d"
			       " WHERE w.search_words_@ MATCH ?1"
			       " AND w.rowid<=?2 AND w.rowid>=?3"
			       " AND d.doc=w.rowid ORDER BY w.rowid DESC",
			       shard, &stmt);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text64(stmt, 1, match->ptr, match->len,
					 SQLITE_STATIC, SQLITE_UTF8);
	if (rc != SQLITE_OK)
		return rc;
	(void)sqlite3_bind_int64(stmt, 2, f->newest);
	(void)sqlite3_bind_int64(stmt, 3, f->oldest);
	rc = take_rows(f, stmt);
	settle(f);
	return rc;
}

int words_find(struct sqlite3 *db, const struct word_query *q, size_t limit,
	       struct arena *a, struct word_page *ret)
{
	struct filling f = {
		.query = q,
		.limit = limit,
		.arena = a,
		.oldest = INT64_MIN,
		.newest = q->after ? first_doc(q->after->at_ms) + COUNT_MASK :
				     INT64_MAX,
	};
	CLEANUP(buf_done) struct buf match;
	struct shard *shards = NULL;
	size_t n_shards = 0;
	int rc;

	buf_init(&match, 0);
	add_match(&match, q);
	if (match.error)
		return SQLITE_NOMEM;
	rc = get_shards(db, a, &shards, &n_shards);
	for (size_t i = 0; i < n_shards && rc == SQLITE_OK; i++) {
		if (shards[i].newest < f.oldest)
			break;
		rc = find_in(db, &shards[i], &match, &f);
	}
	if (rc != SQLITE_OK)
		return rc;
	*ret = (struct word_page){
		.v = f.v,
		.n = f.n < limit ? f.n : limit,
		.more = f.n > limit,
	};
	return SQLITE_OK;
}

/* ---- dropping ---- */

/* The documents of the sessions in a shard, into search_gone. */
static int note_docs(struct sqlite3 *db, const struct shard *shard,
		     const struct weft_id *sessions, size_t n, int64_t *ret_n)
{
	CLEANUP(finalize) struct sqlite3_stmt *stmt = NULL;
	CLEANUP(buf_done) struct buf token;
	int rc = shard_prepare(db,
			       "INSERT INTO temp.search_gone SELECT rowid"
			       " FROM main.search_words_@"
			       " WHERE search_words_@ MATCH ?1",
			       shard, &stmt);

	*ret_n = 0;
	buf_init(&token, 0);
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++) {
		buf_reset(&token);
		add_session(&token, &sessions[i]);
		if (token.error)
			return SQLITE_NOMEM;
		rc = sqlite3_bind_text64(stmt, 1, token.ptr, token.len,
					 SQLITE_STATIC, SQLITE_UTF8);
		if (rc == SQLITE_OK)
			rc = run(stmt);
		if (rc == SQLITE_OK)
			*ret_n += sqlite3_changes64(db);
	}
	return rc;
}

/* FTS5 wants to be told each word of what it deletes; what it has deleted is
 * gone when the segments have become one. */
static int delete_docs(struct sqlite3 *db, const struct shard *shard)
{
	return shard_exec(
		db,
		"CREATE VIRTUAL TABLE temp.search_vocabulary"
		" USING fts5vocab(main,search_words_@,instance);"
		"CREATE TABLE temp.search_gone_words AS SELECT doc,"
		"group_concat(term,' ') AS words FROM temp.search_vocabulary"
		" WHERE doc IN (SELECT doc FROM temp.search_gone) GROUP BY doc;"
		"DROP TABLE temp.search_vocabulary;"
		"INSERT INTO search_words_@(search_words_@,rowid,words)"
		" SELECT 'delete',doc,words FROM temp.search_gone_words;"
		"DROP TABLE temp.search_gone_words;"
		"INSERT INTO search_words_@(search_words_@) "
		"VALUES('optimize');",
		shard);
}

static int drop_in(struct sqlite3 *db, struct shard *shard,
		   const struct weft_id *sessions, size_t n)
{
	int64_t docs = 0;
	int rc = sqlite3_exec(db, "DELETE FROM temp.search_gone", NULL, NULL,
			      NULL);

	if (rc == SQLITE_OK)
		rc = note_docs(db, shard, sessions, n, &docs);
	if (rc != SQLITE_OK || docs == 0)
		return rc;
	rc = sqlite3_exec(db,
			  "DELETE FROM search_docs WHERE doc IN"
			  " (SELECT doc FROM temp.search_gone)",
			  NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return rc;
	if (docs >= shard->docs)
		return remove_shard(db, shard);
	shard->docs -= docs;
	rc = delete_docs(db, shard);
	return rc == SQLITE_OK ? save_shard(db, shard) : rc;
}

int words_drop(struct sqlite3 *db, const struct weft_id *sessions, size_t n)
{
	CLEANUP(arena_done) struct arena a;
	struct shard *shards = NULL;
	size_t n_shards = 0;
	int rc;

	arena_init(&a, 0);
	rc = get_shards(db, &a, &shards, &n_shards);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db,
				  "CREATE TABLE IF NOT EXISTS"
				  " temp.search_gone(doc INTEGER PRIMARY KEY)",
				  NULL, NULL, NULL);
	for (size_t i = 0; i < n_shards && rc == SQLITE_OK; i++)
		rc = drop_in(db, &shards[i], sessions, n);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "DROP TABLE temp.search_gone", NULL, NULL,
				  NULL);
	return rc;
}

int words_clear(struct sqlite3 *db)
{
	CLEANUP(arena_done) struct arena a;
	struct shard *shards = NULL;
	size_t n_shards = 0;
	int rc;

	arena_init(&a, 0);
	rc = get_shards(db, &a, &shards, &n_shards);
	for (size_t i = 0; i < n_shards && rc == SQLITE_OK; i++)
		rc = remove_shard(db, &shards[i]);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "DELETE FROM search_docs", NULL, NULL,
				  NULL);
	return rc;
}

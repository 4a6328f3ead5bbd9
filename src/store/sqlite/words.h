/*
 * words.h - an index of words in an SQLite file, for whoever has one open.
 *
 * DESIGN
 *
 * FTS5 keeps which documents have which tokens, and nothing else: not the text,
 * not where in it.  A document's number is the time it is found by, so that
 * FTS5, which goes through them in the order of their numbers, finds the newest
 * first and can stop; the low bits number those of one millisecond as they come.
 * Within a millisecond the order is made when reading.
 *
 * Each document also has its session's id as a token.
 *
 * FTS5 before SQLite 3.42 cannot delete without leaving words behind, so that
 * an index is emptied as a whole and fills again.
 */
#ifndef STORE_SQLITE_WORDS_H
#define STORE_SQLITE_WORDS_H

#include "base/arena.h"
#include "weft/store.h"

struct sqlite3;

#define WORDS_TABLES                                                     \
	"CREATE TABLE search_docs(doc INTEGER PRIMARY KEY,"              \
	"session BLOB NOT NULL,seq INTEGER NOT NULL) STRICT;"            \
	"CREATE VIRTUAL TABLE search_words USING fts5(words,content=''," \
	"detail=none,columnsize=0,tokenize='ascii');"

/* All return SQLite's code; put and clear belong into a transaction. */
int words_put(struct sqlite3 *db, const struct weft_id *session,
	      const struct word_doc *docs, size_t n);
int words_find(struct sqlite3 *db, const struct word_query *q, size_t limit,
	       struct arena *a, struct word_page *ret);
int words_clear(struct sqlite3 *db);

#endif

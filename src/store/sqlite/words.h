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
 * What FTS5 deletes stays in its segments until they are merged, which costs as
 * much as there is.  So the words are in shards, each an FTS5 table of at most
 * so many documents: who drops a session deletes its documents in the shards
 * that have some, and merges only those.  FTS5 keeps no text and wants to be
 * told the words that it is to delete; its own vocabulary tells them.
 *
 * New documents go into the last shard, so that shards are one after the other
 * in time, more or less: a query goes through them from the newest, and stops
 * when its page is full and nothing newer can follow.
 */
#ifndef STORE_SQLITE_WORDS_H
#define STORE_SQLITE_WORDS_H

#include "base/arena.h"
#include "weft/store.h"

struct sqlite3;

/* After so many documents a new shard begins. */
#define WORDS_SHARD_DOCS 32768

/* A shard's words are in the table search_words_<shard>; `newest` is the highest
 * number of its documents. */
#define WORDS_TABLES                                            \
	"CREATE TABLE search_docs(doc INTEGER PRIMARY KEY,"     \
	"session BLOB NOT NULL,seq INTEGER NOT NULL) STRICT;"   \
	"CREATE TABLE search_shards(shard INTEGER PRIMARY KEY," \
	"docs INTEGER NOT NULL,newest INTEGER NOT NULL) STRICT;"

/* All return SQLite's code; but for find they belong into a transaction, with
 * no other statement of the connection under way. */
int words_put(struct sqlite3 *db, const struct weft_id *session,
	      const struct word_doc *docs, size_t n);
int words_find(struct sqlite3 *db, const struct word_query *q, size_t limit,
	       struct arena *a, struct word_page *ret);
/* No word of these sessions is left, in no page of the file. */
int words_drop(struct sqlite3 *db, const struct weft_id *sessions, size_t n);
int words_clear(struct sqlite3 *db);

#endif

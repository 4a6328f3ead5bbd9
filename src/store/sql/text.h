/*
 * text.h - the tables and statements of stores in SQL, as text.
 *
 * Statements are written once, for both databases:
 *
 *   ?N        a parameter, of a statement that runs for one row
 *   @N        column N of the row that a statement runs for
 *   #V        what to insert: VALUES(...), or SELECT * FROM the rows
 *   #F, #J    where @N comes from: " FROM rows" or ",rows"; nothing in SQLite
 *   #@        the operator @@ of PostgreSQL
 *   [[a|b]]   a in SQLite, b in PostgreSQL
 *   %I %B %T  the types of whole numbers, of bytes and of text
 */
#ifndef STORE_SQL_TEXT_H
#define STORE_SQL_TEXT_H

#include "base/buf.h"
#include "store/sql/value.h"

enum sql_statement {
	Q_GET_SESSIONS,
	Q_LOCK_SESSIONS,  /* the same, and keep other writers away */
	Q_SHARE_SESSIONS, /* ..., and keep those away who rewrite */
	Q_OWN_SESSIONS,   /* ..., and keep everybody away */
	Q_CHILDREN,
	Q_GET_NAMES,
	Q_NAMES_OF,
	Q_FIND_OP,
	Q_FIND_CREATION,
	Q_FIND_OPS, /* of several sessions */
	Q_FIND_CREATIONS,
	Q_IS_HIDDEN,
	Q_HIDDEN,
	Q_EVENTS, /* of all types */
	Q_EVENTS_BACKWARDS,
	Q_EVENTS_OF, /* of some types */
	Q_EVENTS_OF_BACKWARDS,
	Q_EVENT, /* all that is known of one */
	Q_HEADS,
	Q_FIND_TAG,
	Q_PUT_EVENTS,
	Q_PUT_SESSIONS,
	Q_PUT_GROWN, /* of sessions that are there and have only grown */
	Q_PUT_HOT,   /* of those, only what a message changes */
	Q_ADD,
	Q_PUT_NAMES,
	Q_PUT_HIDDEN,
	Q_USE_BLOBS,
	Q_PUT_REFS,
	Q_REFS_OF,
	Q_CLEAR_REFS_OF,
	Q_CLEAR_LONE_REFS, /* of sessions without an event */
	Q_PUT_BLOB,
	Q_GET_BLOB,
	Q_HAS_BLOB,
	Q_LOCK_BLOB,
	Q_DROP_BLOB,
	Q_DROP_BLOBS,
	Q_NEXT_BLOB,
	Q_NEXT_SESSION,
	Q_COUNT_SESSIONS,
	Q_COUNT_SOME, /* sessions, up to a thousand */
	Q_COUNT_NAMES,
	Q_COUNT_HIDDEN,
	Q_COUNT_BLOBS,
	Q_CLEAR_SESSIONS,
	Q_CLEAR_NAMES,
	Q_CLEAR_HIDDEN,
	Q_LOCK_ALL,    /* let nobody else write */
	Q_DROP_EVENTS, /* some numbers of a session */
	Q_DROP_SESSION,
	Q_DROP_HIDDEN,
	Q_DROP_NAME,
	Q_HAS_WORDS, /* whether there are any */
	Q_BEHIND,
	Q_BEHIND_EVENTS,
	Q_MARK, /* how far the words of a session are there */
	Q_UNMARK,
	Q_UNMARK_ALL,
	Q_EPOCH,      /* of the words */
	Q_HOLD_EPOCH, /* the same, and let nobody change it */
	Q_NEXT_EPOCH,
	Q_DOOM, /* a session: its words have to go */
	Q_HAS_DOOMED,
	Q_DOOMED,
	Q_SPARE,          /* they are gone */
	Q_DRIVER,         /* from here on: what a driver has for itself */
	Q_LIST = 1 << 16, /* and above: a list, by its shape */
	Q_FEW = 1 << 20   /* and above: whether few match a filter (list.h) */
};

#define SQL_PARAMETERS_MAX 80
#define SQL_TEXT_MAX       KIB(64)

/* Of a version's tables; what an open store must have. */
#define SQL_SCHEMA_VERSION 7

struct sql_text {
	struct buf sql; /* as the database wants it */
	/* One letter for each parameter: i number, b bytes, t text. */
	char types[SQL_PARAMETERS_MAX + 1];
	bool rows; /* it runs for rows: parameters are arrays */
	/* They are one array of rows of this type (split.h), or NULL. */
	const char *row_type;
};

void sql_text_init(struct sql_text *t);
void sql_text_done(struct sql_text *t); /* also for CLEANUP */

/* The text of a statement of ours; look at t->sql for errors. */
void sql_text_make(struct sql_text *t, uint32_t key, enum sql_dialect dialect);

/* The letters of a statement that puts events or records. */
void sql_row_types(uint32_t key, char types[SQL_PARAMETERS_MAX + 1]);

/* Append `pattern`, written as above, in the words of the dialect. */
void sql_expand(struct buf *b, const char *pattern, const char *types,
		enum sql_dialect dialect);

/*
 * The statements that bring tables from version `from`, or from nothing (0),
 * to SQL_SCHEMA_VERSION; in PostgreSQL events are in so many partitions.  The
 * tables that are derived are made anew, empty: unless there was nothing,
 * sql_rebuild() has to follow.
 */
void sql_add_migrations(struct buf *b, int from, enum sql_dialect dialect,
			unsigned partitions);

#endif
